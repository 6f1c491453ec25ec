"""Tests with weights learned on a part of the data (J25): a split, or cross-fitting over folds.

With `refit` the null is a parametric bootstrap: labels of all instances are drawn from the combination that
was found, less the spread that is noise (`dilution`), weights are learned again from them, and the statistic
is computed as for the observed labels; so the error of learning is in the null too. Without it only labels of
the tested part change.

How much of what a learned combination says about instances is noise it was learned from.

Learned f = truth + error, and the error is independent of what the truth says about held-out instances. So f
is spread out more than the truth, and labels follow only a share of it (regression dilution):

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
from typing import Any

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
from credibly.hypotests.calibration.calibration_test import calibration_test
from credibly.hypotests.credal.combinations import Finding, FittedLearner, LearnedCombination
from credibly.hypotests.credal.task import CredalTask
from credibly.hypotests.resampling.loop import paired_values
from credibly.hypotests.resampling.replicates import Replicates
from credibly.learners.basis import check_features, set_features
from credibly.learners.linear import Learner, LinearLearner, Part
from credibly.learners.mixing import Columns, fit_weights, mixed
from credibly.learners.neural import NeuralLearner, NeuralPartFit, learn_network
from credibly.learners.points import Points
from credibly.predictions import Classes, Point, as_point
from credibly.results.tests import HypotestResult

_LEAST = 1e-200

_REFIT_STEPS = 60

_PATIENCE = 2  # smaller penalties that are no better before the search ends: weaker ones take long to fit

LEAST_LEARNED_FROM = 2


def random_parts(
    n: int, split: float | None, cv: int | None, seed: Seed, codes: HostArray | None = None
) -> list[Part]:
    """Cut instances at random, clusters whole: a split (`split` is the share to learn on), or `cv` folds."""
    if codes is not None:
        number = int(codes.max()) + 1
        require_enough(number, cv, "clusters")
        every = random_parts(number, split, cv, seed)
        return [Part(*(np.flatnonzero(np.isin(codes, own)) for own in part)) for part in every]
    order = np.argsort(Uniforms(seed, Stream.FOLDS).block(slice(0, 1), slice(0, n))[0], kind="stable")
    if cv is None:
        assert split is not None
        learned = min(max(round(split * n), LEAST_LEARNED_FROM), n - 2)
        return [Part(np.sort(order[:learned]), np.sort(order[learned:]))]
    folds = np.array_split(order, cv)
    return [
        Part(np.sort(np.concatenate([f for j, f in enumerate(folds) if j != at])), np.sort(folds[at]))
        for at in range(cv)
    ]


@dataclasses.dataclass(frozen=True)
class PartFit:
    """The fit of one part, and what refits it to other labels."""

    part: Part
    fitted: FittedLearner
    columns: Columns  # of all instances
    points: Points
    penalty: Array  # (p,)
    notes: tuple[str, ...]

    def weights(self) -> Array:
        """Return the weights at all instances, (n, a)."""
        return self.columns.weights(self.fitted.parameters)[0, ...]

    def probs(self) -> Array:
        """Return the combination at all instances, (n, k)."""
        return mixed(self.weights()[None, ...], self.points.probs)[0, ...]

    def refitted(self, labels: Array) -> tuple[Array, int]:
        """Learn from replicates (b, n) and return the combinations at the tested instances, (b, t, k)."""
        xp = namespace(self.points.probs)
        learn, test = (like(rows, self.points.probs) for rows in self.part)
        found = fit_weights(
            self.columns.rows(learn),
            xp.take(self.points.probs, learn, axis=0),
            xp.take(labels, learn, axis=1),
            self.penalty,
            start=self.fitted.parameters,
            max_steps=_REFIT_STEPS,
        )
        weights = self.columns.rows(test).weights(found.parameters)
        return mixed(weights, xp.take(self.points.probs, test, axis=0)), found.n_unfinished


def learn_part(
    learner: LinearLearner,
    points: Points,
    features: Array,
    labels: Array,
    part: Part,
    seed: Seed,
    codes: HostArray | None = None,
) -> PartFit:
    """Choose the penalty and learn the weights of one part.

    `points` are those the learner mixes, `labels` (n,) the observed ones, `codes` (n,) their clusters.
    """
    xp = namespace(points.probs)
    basis = learner.basis.fit(features, seed)
    rows = like(part.learn, points.probs)
    chosen = xp.take(points.probs, rows, axis=0)
    observed = xp.take(labels, rows, axis=0)[None, :]
    candidates = [value for value in learner.penalties if basis.kept.size or np.isinf(value)] or [np.inf]
    columns, scales = {}, {}
    for flexible in {bool(np.isfinite(value)) for value in candidates}:
        made = basis.columns(features)
        plain = learner.columns(points, made if flexible else made[:, :1])
        scales[flexible] = _root_mean_square(plain)
        columns[flexible] = learner.scaled_columns(points, basis, features, flexible, scales[flexible])
    own = None if codes is None else codes[part.learn]
    value = _best_penalty(learner, candidates, columns, chosen, observed, rows, own)
    flexible = bool(np.isfinite(value))
    penalty = like(learner.penalty(columns[flexible], value), chosen)
    found = fit_weights(columns[flexible].rows(rows), chosen, observed, penalty)
    fitted = FittedLearner(learner, basis, flexible, scales[flexible], found.parameters, value)
    chosen_as = "weights do not depend on features" if np.isinf(value) else f"penalty {value:g} on features"
    notes = [f"{chosen_as}, by cross-validation", *basis.notes]
    if found.n_unfinished:
        notes.append(f"learning stopped after {found.steps} steps before it converged")
    return PartFit(part, fitted, columns[flexible], points, penalty, tuple(notes))


def _root_mean_square(columns: Columns) -> HostArray:
    own = to_host(columns.own)
    scale = np.sqrt((own**2).mean(axis=(0, 1)))
    return np.where(scale > 1e-12, scale, 1.0)


def _best_penalty(
    learner: LinearLearner,
    candidates: list[float],
    columns: dict[bool, Columns],
    points: Array,
    labels: Array,
    rows: Array,
    codes: HostArray | None,
) -> float:
    """Return the penalty with the smallest log loss of held-out folds, all folds in one batch."""
    xp = namespace(points)
    n = points.shape[0]
    folds = min(learner.n_folds, n)
    if len(candidates) == 1 or folds < 2:
        return candidates[0]
    # every fourth one: the order of instances may mean something; of clusters every fourth one
    places = np.arange(n) if codes is None else np.unique(codes, return_inverse=True)[1]
    held_out = places[None, :] % folds == np.arange(folds)[:, None]
    counted = like((~held_out).astype(np.float64), points)
    best, least, worse = candidates[0], np.inf, 0
    start: dict[bool, Array] = {}
    for value in sorted(candidates, reverse=True):
        flexible = bool(np.isfinite(value))
        kept = columns[flexible].rows(rows)
        penalty = like(learner.penalty(kept, value), points)
        # each penalty starts where the larger one ended
        found = fit_weights(kept, points, labels, penalty, start=start.get(flexible), counted=counted)
        start[flexible] = found.parameters
        mixtures = mixed(kept.weights(found.parameters), points)
        index = xp.broadcast_to(xp.astype(labels, xp.int64)[0, None, :, None], (*mixtures.shape[:2], 1))
        likely = to_host(xp.take_along_axis(mixtures, index, axis=2))[:, :, 0]
        loss = float((-np.log(np.maximum(likely, 1e-300)) * held_out).sum())
        if loss < least:
            best, least, worse = value, loss, 0
            continue
        worse += 1
        if worse == _PATIENCE:
            break
    return best


def require_enough(n: int, cv: int | None, what: str = "instances") -> None:
    """Raise unless both parts of every split have instances, or clusters, to learn from and to test."""
    least = 2 * (2 if cv is None else cv)
    if n < least:
        raise InputError(
            "learned weights",
            f"need at least {least} {what}, 2 per part",
            f"got {n}",
            'Use method="witness", which has no folds, or weights="constant", which does not split the data.',
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


def kept_spread(learned: HostArray, mean: HostArray) -> float:
    """Return the factor that gives deviations of the learned combination from the mean their true spread."""
    return math.sqrt(held_out_share(learned, mean))


AnyFit = PartFit | NeuralPartFit

_ARRAYS = 3  # of (replicates, n, k) alive at once while combinations of folds are put in order


def learned_test(
    task: CredalTask,
    features: Any,
    learner: Learner,
    split: float | None,
    cv: int | None,
    refit: bool,
    codes: HostArray | None = None,
) -> Finding:
    """Learn weights, test the combination on instances it was not learned on.

    `codes` (n,) are the clusters of the rows, None where all are independent.
    """
    n = len(task.given)
    require_enough(n, cv)
    if refit and not isinstance(learner, LinearLearner):
        raise UnsupportedError(
            "`refit`",
            "learns again for every replicate, which this learner cannot do",
            f"got refit=True with the {learner.name} learner",
            "Use refit=False, or a light learner.",
        )
    made = set_features(task.points.probs) if features is None else check_features(features, task.given)
    points = learner.points(task.points)
    labels = task.observed.values[0, :]

    def learn(part: Part) -> AnyFit:
        if isinstance(learner, NeuralLearner):
            return learn_network(learner, points, made, labels, part, task.seed, task.progress)
        assert isinstance(learner, LinearLearner)
        return learn_part(learner, points, made, labels, part, task.seed, codes)

    fits = [learn(part) for part in random_parts(n, split, cv, task.seed, codes)]
    whole = np.arange(n)
    source = fits[0] if cv is None else learn(Part(whole, whole))
    if codes is not None:
        result, unfinished, kept = _signed(task, fits, codes), 0, 1.0
    elif refit:
        result, unfinished, kept = _refitted(task, source, fits)
    elif cv is None:
        result, unfinished, kept = _resampled(task, fits[0]), 0, 1.0
    else:
        result, unfinished, kept = fold_result([_resampled(task, fit) for fit in fits]), 0, 1.0
    combination = LearnedCombination(
        task.statistics,
        task.points.names,
        task.given.n_classes,
        task.n_draws,
        task.seed,
        fits=(source.fitted,),
        n_features=None if features is None else int(made.shape[1]),
    )
    rows = np.sort(np.concatenate([fit.part.test for fit in fits]))
    notes = (*task.points.notes, *_notes(task, fits, source, unfinished, kept, features is None))
    return Finding(result, combination, to_host(source.weights()), points.names, rows, notes)


def _notes(
    task: CredalTask,
    fits: Sequence[AnyFit],
    source: AnyFit,
    unfinished: int,
    kept: float,
    own_features: bool,
) -> Iterator[str]:
    if own_features:
        yield (
            "weights depend on the mean, upper and lower log-probabilities of the set, because no "
            "features were given"
        )
    yield from source.notes
    labels = to_host(task.observed.values)[0]
    for what in ("learn", "test"):
        missing = [
            set(range(task.given.n_classes)) - set(labels[getattr(fit.part, what)].tolist()) for fit in fits
        ]
        absent = sorted(set.union(*missing))
        if absent:
            word = "learned on" if what == "learn" else "tested"
            shown = ", ".join(map(str, absent[:10]))
            yield f"classes without a label in a part that is {word}: {shown}"
    if kept < 1.0:
        yield (
            f"labels of replicates are drawn {1.0 - kept:.0%} of the way from the learned combination to "
            f"the mean of the set, because held-out labels support no more spread"
        )
    if unfinished:
        yield f"{unfinished} of {task.n_resamples * len(fits)} refits stopped before they converged"


def _tested(task: CredalTask, fits: Sequence[AnyFit]) -> tuple[Point, Classes, Array, Array]:
    """Return the combination at the tested instances, their labels, their indices and the order of parts."""
    xp = namespace(task.points.probs)
    tests = np.concatenate([fit.part.test for fit in fits])
    order = like(np.argsort(tests), task.points.probs)
    rows = like(np.sort(tests), task.points.probs)
    own = [xp.take(fit.probs(), like(fit.part.test, task.points.probs), axis=0) for fit in fits]
    tested = Point._trusted(xp.take(xp.concat(own, axis=0), order, axis=0))
    return tested, _labels_at(task.observed, rows), rows, order


def _labels_at(labels: Classes, rows: Array) -> Classes:
    xp = namespace(labels.values)
    return Classes(xp.take(labels.values, rows, axis=1), labels.n_classes)


def _resampled(task: CredalTask, fit: AnyFit) -> HypotestResult:
    """Draw labels of the tested part from the combination: exact where it is calibrated, rows kept."""
    tested, seen, _, _ = _tested(task, [fit])
    bounds = [one.bind(tested) for one in task.statistics]
    return task.result(bounds, task.values(bounds, tested, seen))


def _signed(task: CredalTask, fits: Sequence[AnyFit], codes: HostArray) -> HypotestResult:
    """Draw a sign per cluster for the residuals around combinations learned on other clusters.

    The error of learning is not in the replicates. It need not be: what a cluster has too much of, the fits
    of all other folds have too little of, which makes sums over all of them smaller, not larger.
    """
    tested, seen, rows, _ = _tested(task, fits)
    return calibration_test(
        tested,
        seen,
        statistics=task.statistics if task.several else task.statistics[0],
        n_resamples=task.n_resamples,
        clusters=codes[to_host(rows)],
        rng=task.seed,
        progress=task.progress,
    )


def _refitted(task: CredalTask, source: AnyFit, fits: Sequence[AnyFit]) -> tuple[HypotestResult, int, float]:
    """Draw labels of all instances from one combination and learn again in every replicate.

    Also return how many refits did not end and how far the combination was from the mean, as a share.
    """
    xp = namespace(task.points.probs)
    tested, seen, rows, order = _tested(task, fits)
    bounds = [one.bind(tested) for one in task.statistics]
    mean = as_float64(as_point(task.given)[0].probs)
    kept = _kept_spread(tested, xp.take(mean, rows, axis=0), seen)
    replicates = Replicates(kept * source.probs() + (1.0 - kept) * mean, task.seed)
    n, k = len(task.given), task.given.n_classes
    unfinished = 0

    def pairs() -> Iterator[tuple[Point, Classes]]:
        nonlocal unfinished
        yield tested, seen
        for reps in tiles(task.n_resamples, rows_within_budget(_ARRAYS * 8 * n * k, 0.25)):
            drawn = replicates.labels(reps)
            again = []
            for fit in fits:
                assert isinstance(fit, PartFit)
                found, left = fit.refitted(drawn.values)
                again.append(found)
                unfinished += left
            combinations = xp.take(xp.concat(again, axis=1), order, axis=1)  # (reps, tested, k)
            labels = _labels_at(drawn, rows)
            for d in range(combinations.shape[0]):
                own = Classes(labels.values[d : d + 1, :], labels.n_classes)
                yield Point._trusted(combinations[d, ...]), own

    settled = [bound.statistic for bound in bounds]  # bandwidths stay what they were for the observation
    values = paired_values(settled, pairs(), task.n_resamples + 1, task.progress)
    return task.result(bounds, values), unfinished, kept


def _kept_spread(tested: Point, mean: Array, seen: Classes) -> float:
    labels = to_host(seen.values)[0].astype(np.int64)[:, None]
    own, equal = (np.take_along_axis(to_host(one), labels, axis=1)[:, 0] for one in (tested.probs, mean))
    return kept_spread(own, equal)


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
