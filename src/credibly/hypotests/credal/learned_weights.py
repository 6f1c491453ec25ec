"""Tests with weights learned on a part of the data (J25): a split, or cross-fitting over folds.

With `refit` the null is a parametric bootstrap: labels of all instances are drawn from the combination that
was found, less the spread that is noise, weights are learned again from them, and the statistic
is computed as for the observed labels; so the error of learning is in the null too. Without it only labels of
the tested part change.

That spread is known from held-out labels. Learned f = truth + error, and the error is independent of what the
truth says about held-out instances. So f is spread out more than the truth, and labels follow only a share of
it (regression dilution):

    share = argmax over s in [0, 1] of  sum_i log( s f(x_i)_y + (1 - s) mean(x_i)_y ),    i held out,
          ~ S / (S + E),    S the spread of the truth around the mean prediction, E that of the error.

Replicates drawn from f itself have a truth of spread S + E and again an error of spread E: the share looks
larger in them than it is, and a test finds them better calibrated than the observation. Drawn from
sqrt(share) f + (1 - sqrt(share)) mean, their truth has spread S.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

from credibly._arrays.errors import InputError, UnsupportedError
from credibly._arrays.namespace import (
    Array,
    HostArray,
    as_float64,
    like,
    namespace,
    rows_within_budget,
    tiles,
    to_host,
)
from credibly._arrays.philox import Seed, Stream, Uniforms
from credibly.hypotests.credal.combinations import LearnedCombination
from credibly.hypotests.credal.task import WeightsTask, values_of_pairs
from credibly.hypotests.resampling.replicates import Replicates
from credibly.learners.basis import check_features, set_features
from credibly.learners.linear import FittedWeights, GatingLearner, Learner, Lesson, LinearFit
from credibly.learners.mixing import mixed
from credibly.predictions import Classes, Point, as_point
from credibly.results.credal import WeightsDetails
from credibly.results.tests import HypotestResult

_LEAST = 1e-200

LEAST_LEARNED_FROM = 2


class Split(NamedTuple):
    """Which instances weights are learned on and which are tested, as sorted indices."""

    learn: HostArray
    test: HostArray


def random_parts(
    n: int, split: float | None, cv: int | None, seed: Seed, codes: HostArray | None = None
) -> list[Split]:
    """Cut instances at random, clusters whole: a split (`split` is the share to learn on), or `cv` folds."""
    if codes is not None:
        number = int(codes.max()) + 1
        require_enough(number, cv, "clusters")
        every = random_parts(number, split, cv, seed)
        return [Split(*(np.flatnonzero(np.isin(codes, clusters)) for clusters in part)) for part in every]
    order = np.argsort(Uniforms(seed, Stream.FOLDS).draw(slice(0, 1), slice(0, n))[0], kind="stable")
    if cv is None:
        assert split is not None
        learned = min(max(round(split * n), LEAST_LEARNED_FROM), n - 2)
        return [Split(np.sort(order[:learned]), np.sort(order[learned:]))]
    folds = np.array_split(order, cv)
    return [
        Split(np.sort(np.concatenate([f for j, f in enumerate(folds) if j != at])), np.sort(folds[at]))
        for at in range(cv)
    ]


def require_enough(n: int, cv: int | None, what: str = "instances") -> None:
    """Raise unless both parts of every split have instances, or clusters, to learn from and to test."""
    least = 2 * (2 if cv is None else cv)
    if n < least:
        raise InputError(
            "learned weights",
            f"need at least {least} {what}, 2 per part",
            f"got {n}",
            'Use `witness_test`, which has no folds, or weights="constant", which does not split the data.',
        )


def held_out_share(learned: HostArray, mean: HostArray) -> float:
    """Return the share of `learned` in its likeliest mixture with `mean`; both hold f(x_i)_y, (n,)."""
    from scipy.optimize import brentq  # slow to load, and few tests need it

    learned, mean = np.maximum(learned, _LEAST), np.maximum(mean, _LEAST)

    def slope(share: float) -> float:  # falls with the share: the likelihood is concave in it
        return float(((learned - mean) / (share * learned + (1.0 - share) * mean)).sum())

    if slope(1.0) >= 0:
        return 1.0
    if slope(0.0) <= 0:
        return 0.0
    return float(brentq(slope, 0.0, 1.0, xtol=1e-9))


def _kept_spread(tested: Array, mean: Array, seen: Classes) -> float:
    """Return the factor that gives deviations of the learned combination from the mean their true spread."""
    labels = to_host(seen.values)[0].astype(np.int64)[:, None]
    likely = (np.take_along_axis(to_host(probs), labels, axis=1)[:, 0] for probs in (tested, mean))
    return math.sqrt(held_out_share(*likely))


_ARRAYS = 3  # of (replicates, n, k) alive at once while combinations of folds are put in order


class PartFit(NamedTuple):
    """Weights that were learned on one part, at all instances."""

    part: Split
    fit: FittedWeights
    weights: Array  # (n, a)
    probs: Array  # (n, k), the combination


def _learned(learner: Learner, lesson: Lesson, parts: Sequence[Split]) -> list[PartFit]:
    """Learn the weights of every part."""
    fits = learner.learn_parts(lesson, [part.learn for part in parts])
    weights = [fit.weights(lesson.points, lesson.features) for fit in fits]
    probs = [mixed(part_weights[None, ...], lesson.points.probs)[0, ...] for part_weights in weights]
    return [PartFit(*fields) for fields in zip(parts, fits, weights, probs, strict=True)]


def learned_test(
    task: WeightsTask, features: Any, learner: Learner, split: float | None, cv: int | None, refit: bool
) -> HypotestResult[WeightsDetails]:
    """Learn weights, test the combination on instances it was not learned on."""
    n = len(task.predictions)
    require_enough(n, cv)
    if refit and not isinstance(learner, GatingLearner):
        raise UnsupportedError(
            "`refit`",
            "learns again for every replicate, which this learner cannot do",
            f"got refit=True with the {learner.name} learner",
            "Use refit=False, or a light learner.",
        )
    columns = (
        set_features(task.points.probs) if features is None else check_features(features, task.predictions)
    )
    points, labels = learner.points(task.points), task.observed.values[0, :]
    lesson = Lesson(points, columns, labels, task.seed, task.codes, task.progress)
    parts, whole = random_parts(n, split, cv, task.seed, task.codes), np.arange(n)
    *fits, source = _learned(learner, lesson, parts if cv is None else [*parts, Split(whole, whole)])
    fits = fits or [source]
    unfinished, kept = 0, 1.0
    if task.codes is not None:
        result = _signed(task, fits, task.codes)
    elif refit:
        result, unfinished, kept = _refitted(task, lesson, source, fits)
    elif cv is None:
        result = _resampled(task, fits[0])
    else:
        result = fold_result([_resampled(task, fit) for fit in fits])
    combination = LearnedCombination(
        task.points.names,
        task.predictions.n_classes,
        task.n_draws,
        task.seed,
        learner,
        source.fit,
        None if features is None else int(columns.shape[1]),
    )
    rows = np.sort(np.concatenate([fit.part.test for fit in fits]))
    notes = [*task.points.notes]
    if features is None:
        notes.append(
            "weights depend on the mean, upper and lower log-probabilities of the set, because no "
            "features were given"
        )
    notes += [*source.fit.notes, *_absent(task, fits, "learn"), *_absent(task, fits, "test")]
    if kept < 1.0:
        notes.append(
            f"labels of replicates are drawn {1.0 - kept:.0%} of the way from the learned combination to "
            f"the mean of the set, because held-out labels support no more spread"
        )
    if unfinished:
        notes.append(f"{unfinished} of {task.n_resamples * len(fits)} refits stopped before they converged")
    return task.with_weights(result, combination, to_host(source.weights), points.names, rows, notes)


def _absent(task: WeightsTask, fits: Sequence[PartFit], what: Literal["learn", "test"]) -> Iterator[str]:
    """Say which classes have no label in a part."""
    labels, every = to_host(task.observed.values)[0], set(range(task.predictions.n_classes))
    absent = sorted(set().union(*(every - set(labels[getattr(fit.part, what)].tolist()) for fit in fits)))
    if absent:
        word = "learned on" if what == "learn" else "tested"
        yield f"classes without a label in a part that is {word}: {', '.join(map(str, absent[:10]))}"


def _tested(task: WeightsTask, fits: Sequence[PartFit]) -> tuple[Point, Classes, Array, Array]:
    """Return the combination at the tested instances, their labels, their indices and the order of parts."""
    xp = namespace(task.points.probs)
    tests = np.concatenate([fit.part.test for fit in fits])
    order = like(np.argsort(tests), task.points.probs)
    rows = like(np.sort(tests), task.points.probs)
    tested_probs = [xp.take(fit.probs, like(fit.part.test, task.points.probs), axis=0) for fit in fits]
    tested = Point._trusted(xp.take(xp.concat(tested_probs, axis=0), order, axis=0))
    return tested, task.observed.take(rows), rows, order


def _resampled(task: WeightsTask, fit: PartFit) -> HypotestResult:
    """Draw labels of the tested part from the combination: exact where it is calibrated, rows kept."""
    tested, seen, _, _ = _tested(task, [fit])
    bounds = [statistic.bind(tested) for statistic in task.statistics]
    return task.result(bounds, task.values(bounds, tested, seen))


def _signed(task: WeightsTask, fits: Sequence[PartFit], codes: HostArray) -> HypotestResult:
    """Draw a sign per cluster for the residuals around combinations learned on other clusters.

    The error of learning is not in the replicates. It need not be: what a cluster has too much of, the fits
    of all other folds have too little of, which makes sums over all of them smaller, not larger.
    """
    tested, seen, rows, _ = _tested(task, fits)
    return task.calibration(tested, seen, codes[to_host(rows)])


def _refitted(
    task: WeightsTask, lesson: Lesson, source: PartFit, fits: Sequence[PartFit]
) -> tuple[HypotestResult, int, float]:
    """Draw labels of all instances from one combination and learn again in every replicate.

    Also return how many refits did not end and how far the combination was from the mean, as a share.
    """
    points = lesson.points
    xp = namespace(task.points.probs)
    tested, seen, rows, order = _tested(task, fits)
    bounds = [statistic.bind(tested) for statistic in task.statistics]
    light = [(fit.part, fit.fit) for fit in fits if isinstance(fit.fit, LinearFit)]
    columns = [fit.columns(points, lesson.features) for _, fit in light]
    mean = as_float64(as_point(task.predictions)[0].probs)
    kept = _kept_spread(tested.probs, xp.take(mean, rows, axis=0), seen)
    replicates = Replicates(kept * source.probs + (1.0 - kept) * mean, task.seed)
    n, k = len(task.predictions), task.predictions.n_classes
    unfinished = 0

    def pairs() -> Iterator[tuple[Array, Classes]]:
        nonlocal unfinished
        yield tested.probs[None, ...], seen
        for reps in tiles(task.n_resamples, rows_within_budget(_ARRAYS * 8 * n * k, 0.25)):
            drawn = replicates.labels(reps)
            again = []
            for (part, fit), part_columns in zip(light, columns, strict=True):
                refitted, left = fit.refitted(part_columns, points.probs, drawn.values, *part)
                again.append(refitted)
                unfinished += left
            # (reps, tested, k)
            yield xp.take(xp.concat(again, axis=1), order, axis=1), drawn.take(rows)

    values = values_of_pairs(bounds, pairs(), task.n_resamples + 1, task.progress)
    return task.result(bounds, values), unfinished, kept


def fold_result(folds: Sequence[HypotestResult]) -> HypotestResult:
    """Combine p-values of folds, which depend on each other: K / r times the r-th smallest, r = ceil(K / 2).

    Valid whatever the dependence (Rueger 1978); with two folds it is Bonferroni's twice the smaller.
    """
    count = len(folds)
    rank = math.ceil(count / 2)
    ordered = sorted(folds, key=lambda fold: fold.pvalue)
    decisive = ordered[rank - 1]
    factor = count / rank
    interval = decisive.pvalue_interval
    note = f"p is {factor:g} times p-value {rank} of {count} folds; the statistic is that fold's"
    return dataclasses.replace(
        decisive,
        pvalue=min(1.0, factor * decisive.pvalue),
        pvalue_interval=None
        if interval is None
        else (min(1.0, factor * interval[0]), min(1.0, factor * interval[1])),
        n=sum(fold.n for fold in folds),
        notes=(*decisive.notes, note),
        components={f"fold {at}": fold for at, fold in enumerate(folds)},
    )
