"""Tests with one weight vector for all instances: the library's own and M23's Algorithm 1."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from credibly._arrays.namespace import like
from credibly._arrays.philox import Stream, Uniforms
from credibly.hypotests.combinations import ConstantCombination
from credibly.hypotests.constant import Minimiser, WeightSearch, combined, on_host
from credibly.hypotests.credal_tasks import CredalTask, Finding
from credibly.hypotests.replicates import Replicates
from credibly.hypotests.resampling import paired_values, resampled_values
from credibly.predictions import Classes, Point
from credibly.results.tests import HypotestResult
from credibly.statistics import log_loss

"""Of random weights and starts, apart from the streams of labels and features."""


def constant_test(task: CredalTask, refit: bool) -> Finding:
    """Minimise over the weights, then compare with labels drawn from the minimiser.

    Several statistics have no one minimum, so the log loss is minimised for them. Without `refit` the weights
    of the observed labels serve all replicates, which is conservative: the observed value was minimised and
    theirs were not.
    """
    objective = log_loss if task.several else task.statistics[0]
    search = WeightSearch(task.points.probs, objective)
    best = search.minimum(task.observed, np.random.default_rng([*task.seed, Stream.WEIGHTS]))
    probs = like(search.at(best.weights).probs, task.points.probs)
    tested = Point._trusted(probs)
    statistics = task.statistics if task.several else (search.statistic,)
    bounds = [one.bind(tested) for one in statistics]
    replicates = Replicates(probs, task.seed)
    notes: tuple[str, ...] = (f"{objective.name} {best.value:.4g} is the smallest found, from {best.start}",)
    if not refit:
        values = resampled_values(bounds, task.observed, replicates, task.n_resamples, task.progress)
        notes = (*notes, "weights were learned on the tested labels and kept in replicates: conservative")
    else:
        settled = [bound.statistic for bound in bounds]
        pairs = _refitted_pairs(task, search, best, replicates)
        values = paired_values(settled, pairs, task.n_resamples + 1, task.progress)
    return _finding(task, task.result(bounds, values), best, notes)


def _refitted_pairs(
    task: CredalTask, search: WeightSearch, best: Minimiser, replicates: Replicates
) -> Iterator[tuple[Point, Classes]]:
    """Yield the observation, then labels of replicates with the weights that are smallest for them."""
    yield Point._trusted(like(search.at(best.weights).probs, task.points.probs)), task.observed
    for d in range(task.n_resamples):
        drawn = replicates.labels(slice(d, d + 1))
        weights = search.local_minimum(on_host(drawn), best.weights).weights
        yield Point._trusted(like(search.at(weights).probs, task.points.probs)), drawn


def m23_test(task: CredalTask) -> Finding:
    """Compare the minimum with bootstrapped instances labelled by combinations with random known weights."""
    statistic = task.statistics[0]
    search = WeightSearch(task.points.probs, statistic)
    best = search.local_minimum(on_host(task.observed), search.centre, "the centre")
    pairs = _random_pairs(task, search, best)
    values = paired_values([search.statistic], pairs, task.n_resamples + 1, task.progress)
    bound = search.statistic.bind(search.at(best.weights))
    notes = (f"{statistic.name} {best.value:.4g} is the smallest found, from {best.start}",)
    return _finding(task, task.result([bound], values), best, notes)


def _random_pairs(task: CredalTask, search: WeightSearch, best: Minimiser) -> Iterator[tuple[Point, Classes]]:
    n, a, _ = search.points.shape
    yield search.at(best.weights), on_host(task.observed)
    weights = np.random.default_rng([*task.seed, Stream.WEIGHTS]).dirichlet(np.ones(a), size=task.n_resamples)
    rows_of = Uniforms(task.seed, Stream.ROWS)
    for d in range(task.n_resamples):
        rows = (rows_of.block(slice(d, d + 1), slice(0, n))[0] * n).astype(np.int64)
        probs = combined(search.points[rows], weights[d])
        yield Point._trusted(probs), Replicates(probs, task.seed).labels(slice(d, d + 1))


def _finding(task: CredalTask, result: HypotestResult, best: Minimiser, notes: tuple[str, ...]) -> Finding:
    combination = ConstantCombination(
        task.statistics,
        task.points.names,
        task.given.n_classes,
        task.n_draws,
        task.seed,
        weights=best.weights,
    )
    rows = np.arange(len(task.given))
    return Finding(result, combination, best.weights, task.points.names, rows, (*task.points.notes, *notes))
