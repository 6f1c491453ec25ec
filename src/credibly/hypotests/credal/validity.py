"""Is the distribution of labels itself in the set? A test for several labels per instance.

With one label per instance only averages over instances can be tested. With several, the truth of every
instance can: H0 says that P(y | x) of each lies in its set. The deviance

    G_i = 2 n_i min over the set of KL(c_i / n_i || p)

is twice the log likelihood ratio between all distributions and those of the set. It judges instances one by
one. Over all instances it cannot be summed without harm: its mean depends on where in the set the truth is.
What is summed instead has a mean of at most 0 wherever the truth is in the set,

    S_i = sum over raters r of  g(y_r) / pi(y_r) - 1,    g from the other raters, pi nearest to g in the set:

g / pi is an e-variable (reverse information projection), so E g(y) / pi(y) <= 1 for every distribution of the
set, with equality where pi lies on a face that holds the truth.

For a single instance, "the truth is somewhere in the set" has one null distribution per distribution of the
set. Counts are drawn from an equal mixture of candidates and reweighted to each of them,

    P_v(deviance >= g)  ~  mean_d w_v(c_d) [deviance_d >= g],    w_v(c) = P_v(c) / mean_u P_u(c),

so that one set of draws, each projected onto the set once, serves all candidates.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from credibly._arrays.checks import as_array
from credibly._arrays.errors import InputError, UnsupportedError, require
from credibly._arrays.namespace import (
    Array,
    HostArray,
    as_float64,
    beside,
    like,
    logsumexp,
    memory_budget,
    namespace,
    tiles,
    to_host,
)
from credibly._arrays.philox import Seed, Stream, Uniforms, as_seed, takes_rng
from credibly._arrays.progress import Progress, as_progress, tell
from credibly._arrays.sums import count_cells
from credibly.credal.bounds import singleton_bounds
from credibly.credal.extreme_points import vertices
from credibly.credal.filling import nearest_distribution
from credibly.credal.newton import value
from credibly.credal.sets import CredalSet, as_set
from credibly.hypotests.resampling.pvalues import (
    acceptance_region,
    monte_carlo_pvalue,
    require_resamples,
    result_of,
)
from credibly.hypotests.resampling.replicates import Replicates
from credibly.predictions import (
    Belief,
    Counts,
    Dirichlet,
    Ensemble,
    Intervals,
    LabelCounts,
    Point,
    as_labels,
    as_pair,
    as_predictions,
    require_independent,
)
from credibly.predictions.passes import without_graph
from credibly.results.credal import ValidityDetails
from credibly.results.tests import HypotestResult

ALL_CORNERS = 4
"""Up to this many classes every corner of intervals and beliefs is a candidate (24), beyond that 2k are."""

TOLERANCE = 1e-9
"""Certified error of a divergence per rater."""

PRIOR_RATERS = 2.0
"""Imagined raters that are added to the others of an instance when its direction is estimated."""

PRIOR_FLATNESS = 0.25
"""Their labels: this share spread evenly over the possible classes, the rest as the mean prediction."""

_IMPOSSIBLE = -1e12  # stands for log 0, so that 0 raters times log 0 is 0

_LABELS_AT_ONCE = 2**22


def candidate_number(credal: CredalSet) -> int:
    """Return how many distributions of each set stand for all of it."""
    if isinstance(credal, Point):
        return 1
    if isinstance(credal, Ensemble):
        return credal.n_members + 2
    k = credal.n_classes
    return (math.factorial(k) if k <= ALL_CORNERS else 2 * k) + 2


def candidates(credal: CredalSet, fitted: Array) -> Array:
    """Return corners of each set, its mean and the distribution nearest to the observed labels, (n, c, k).

    Where deviances behave like squared distances the least favourable distribution is a corner: the
    probability of a convex region is log-concave in the centre. For few raters it need not be.
    """
    if isinstance(credal, Point):
        return fitted[:, None, :]
    xp = credal.xp
    few = isinstance(credal, Intervals | Belief) and credal.n_classes <= ALL_CORNERS
    corners = vertices(credal, which="all" if few else "C25")
    middle = credal.mean().probs
    points = xp.concat([corners, xp.astype(middle, xp.float64)[:, None, :], fitted[:, None, :]], axis=1)
    return xp.where(points > 0, points, xp.zeros_like(points))  # rounding below 0 has no logarithm


def deviances(credal: CredalSet, counts: HostArray) -> HostArray:
    """2 n min over the set of KL(counts / n || p), (b, n) from counts (b, n, k).

    Equal counts of one instance are projected once: few raters have few possible counts.
    """
    b, n, k = counts.shape
    rows, table = np.tile(np.arange(n), b), counts.reshape(b * n, k)
    back: Any = slice(None)
    if not isinstance(credal, Point):  # for a point there is nothing to search, and nothing to save
        first, back = _distinct(rows, table)
        rows, table = rows[first], table[first]
    raters = table.sum(axis=1)
    target = like(table / raters[:, None], credal._leading)
    nearest = nearest_distribution(credal[rows], target, "kl", TOLERANCE)
    divergences = 2.0 * raters * to_host(value(nearest, target))
    return np.asarray(divergences[back].reshape(b, n))


def evidence(credal: CredalSet, counts: HostArray) -> HostArray:
    """S = sum over raters of g(y) / pi(y) - 1, with g from the other raters; (b, n) from counts (b, n, k).

    Infinite where a rater gave a label that no distribution of the set allows.
    """
    b, n, k = counts.shape
    first, back = _distinct(np.tile(np.arange(n), b), counts.reshape(b * n, k))
    rows, table = first % n, counts.reshape(b * n, k)[first]
    possible = to_host(as_float64(singleton_bounds(credal)[1])) > 0
    middle = np.where(possible, to_host(as_float64(credal.mean().probs)), 0.0)
    even = possible / possible.sum(axis=1, keepdims=True)
    prior = PRIOR_RATERS * ((1 - PRIOR_FLATNESS) * middle + PRIOR_FLATNESS * even)
    gained = np.where((table * ~possible[rows]).any(axis=1), np.inf, 0.0)
    for part in tiles(len(table), max(1, _LABELS_AT_ONCE // (k * k))):
        gained[part] += _left_out(credal, rows[part], table[part] * possible[rows[part]], prior)
    return np.asarray(gained[back].reshape(b, n))


def _left_out(credal: CredalSet, rows: HostArray, table: HostArray, prior: HostArray) -> HostArray:
    """sum_j c_j (g_j / pi_j - 1), g and pi without one rater of class j, (d,) from counts (d, k)."""
    which, label = np.nonzero(table)
    others = table[which]
    others[np.arange(len(which)), label] -= 1
    first, back = _distinct(rows[which], others)
    whose = rows[which][first]
    g = others[first] + prior[whose]
    g /= g.sum(axis=1, keepdims=True)
    nearest = to_host(nearest_distribution(credal[whose], like(g, credal._leading), "kl", TOLERANCE))
    ratio = np.where(g > 0, g / np.where(nearest > 0, nearest, 1.0), 0.0)
    gained = table[which, label] * (ratio[back, label] - 1.0)
    return np.bincount(which, weights=gained, minlength=len(table))


def _distinct(rows: HostArray, table: HostArray) -> tuple[HostArray, HostArray]:
    """Return where each distinct (row, counts) stands first, and which of them every entry is.

    Sorted by a hash, which is seven times as fast as sorting whole rows; a collision is found and sorted out.
    """
    factors = np.random.default_rng(0).integers(1, 2**63, size=table.shape[1] + 1, dtype=np.uint64) | 1
    keys = rows.astype(np.uint64) * factors[0]
    for column, factor in zip(table.T, factors[1:], strict=True):
        keys ^= (column.astype(np.uint64) + np.uint64(1)) * factor
        keys *= factors[0]
    _, first, back = np.unique(keys, return_index=True, return_inverse=True)
    same = (rows[first[back]] == rows) & (table[first[back]] == table).all(axis=1)
    if not same.all():
        whole = np.concatenate([rows[:, None], table], axis=1)
        _, first, back = np.unique(whole, axis=0, return_index=True, return_inverse=True)
    return first, back


def draw_counts(probs: Array, raters: HostArray, seed: Seed, reps: slice, first_rater: int) -> HostArray:
    """Draw the raters of every instance, (replicates, n, k) from probs (n, k), on the host.

    A rater's label depends on the seed, its number among all raters and the replicate only.
    """
    xp = namespace(probs)
    n, k = probs.shape
    who = np.repeat(np.arange(n), raters)
    drawn = Replicates(xp.take(probs, like(who, probs), axis=0), seed, first_rater)
    counts = np.empty((reps.stop - reps.start, n, k), dtype=np.int64)
    offsets = like(who * k, probs)
    for part in tiles(len(counts), max(1, _LABELS_AT_ONCE // who.size)):
        labels = drawn.labels(slice(reps.start + part.start, reps.start + part.stop)).values
        cells = xp.astype(labels, xp.int64) + offsets
        counts[part] = to_host(count_cells(cells, n * k)).reshape(-1, n, k)
    return counts


def draw_from_candidates(
    points: Array, raters: HostArray, seed: Seed, n_resamples: int, first_rater: int
) -> tuple[HostArray, HostArray]:
    """Draw every candidate's share of the replicates; return counts (b, n, k) and shares (c,)."""
    number = points.shape[1]
    stops = np.arange(1, number + 1) * n_resamples // number
    starts = np.append(0, stops[:-1])
    parts = [
        draw_counts(points[:, c, :], raters, seed, slice(int(start), int(stop)), first_rater)
        for c, (start, stop) in enumerate(zip(starts, stops, strict=True))
    ]
    return np.concatenate(parts), (stops - starts) / n_resamples


def candidate_weights(points: HostArray, shares: HostArray, counts: HostArray) -> HostArray:
    """w_v(c) = P_v(c) / sum_u share_u P_u(c), (b, n, candidates) from points (n, candidates, k)."""
    logs = np.where(points > 0, np.log(np.where(points > 0, points, 1.0)), _IMPOSSIBLE)
    likely = np.moveaxis(np.moveaxis(counts, 1, 0) @ np.moveaxis(logs, 2, 1), 0, 1)
    return np.asarray(np.exp(likely - logsumexp(likely + np.log(shares))[..., None]))


TRUTH_IN_EVERY_SET = "the labels of every instance were drawn from a distribution in its predicted set"

_BYTES_PER_COUNT = 80  # a drawn count with its copies while equal counts are found

_SAME = 1e-6  # means closer than this, relative, are equal: another array library must choose the same one

_PILOTS = 25  # draws per candidate that say where evidence is largest; those that are compared are others

_Z = 1.645  # the level that most verdicts use, in standard deviations


@takes_rng
def validity_test(
    predictions: Any,
    counts: Any = None,
    *,
    n_resamples: int = 999,
    rng: Any = None,
    progress: Progress | bool | None = None,
) -> HypotestResult[ValidityDetails]:
    """Test whether the distribution of labels of each instance lies in its predicted set.

    Parameters
    ----------
    predictions : Point, Ensemble, Intervals, Belief or array
        The sets: a point, the hull of the members, all distributions between bounds, or all that a belief
        function allows.
    counts : LabelCounts or array (n, k) of int
        How many raters gave each label to each instance.
    n_resamples : int
        ...
    rng : None, int or Generator
        ...
    progress : callable or True, optional
        Called with (done, total) instances; True writes to standard error after one second.

    Returns
    -------
    HypotestResult of ValidityDetails
        One p-value over all instances (sum of the raters' evidence) and, per instance in ``details``,
        deviance, p-value, the p-value adjusted for all instances (largest deviance, Westfall-Young; never
        below the p-value itself) and the nearest distribution.

    Notes
    -----
    This is not calibration: a calibrated model gives the right frequencies over instances that look alike to
    it; a valid model gives the right distribution for each instance. Raters are treated as independent draws
    from P(y | x); raters with individual habits can lead to rejection.

    For a point the p-values are exact. The evidence of a rater is g(y) / pi(y) - 1, where g is the
    distribution of the other raters of the instance (plus two pseudo-raters, who follow the mean prediction
    flattened by a quarter) and pi is the distribution in the set nearest to g. Its mean is at most 0 for
    every distribution of the set, and near 0 where the truth is on the boundary, so the sum over instances
    neither rewards truths inside their sets nor punishes those at the boundary (studies/pages/validity.md).
    Its null is drawn at the hardest of the corners of each set, its mean and the distribution nearest to the
    observed labels; the p-value of an instance is the largest over these. Corners of intervals and beliefs
    with more than 4 classes: each class first and last, 2k of them.

    Cost: one convex minimisation per distinct (instance, counts) drawn, and one more for every class that
    raters gave: at most ``n * n_resamples * (1 + k)``, and far fewer where raters are few or agree.

    References
    ----------
    Mimori et al., *Diagnostic uncertainty calibration*, AISTATS 2021; Grunwald, de Heide and Koolen, *Safe
    testing*, 2024 (e-variables by reverse information projection); Harrison, *Conservative hypothesis
    tests and confidence intervals using importance sampling*, Biometrika 2012.

    Examples
    --------
    >>> import numpy as np
    >>> import credibly as cr
    >>> rng = np.random.default_rng(1)
    >>> members = rng.dirichlet(np.ones(3), size=(50, 4))
    >>> counts = cr.LabelCounts(rng.multinomial(20, members.mean(axis=1)))
    >>> cr.validity_test(members, counts, rng=0).verdict()
    'no conflict found'
    >>> single = cr.validity_test(members[:, 0], counts, rng=0)  # one member is not the truth
    >>> single.verdict(), bool(len(single.details.failing()) > 5)
    ('conflict', True)
    """
    require_resamples(n_resamples)
    report = as_progress(progress)
    require_independent(predictions, "`validity_test`")
    predictions, counts = as_pair(predictions, counts)
    credal, seed = _as_set(predictions), as_seed(rng)
    observed = counts
    if not isinstance(counts, LabelCounts):
        observed = LabelCounts(beside(as_array(counts, "counts"), counts, credal._leading))
    table = _whole_counts(credal, observed)
    number = candidate_number(credal)
    rule = f"must be at least {number}, one for each of the distributions that represent the set"
    require(n_resamples >= number, rule, "Use 999.", n_resamples=n_resamples)
    raters = table.sum(axis=1)
    n = len(credal)
    totals, largest = np.zeros(1 + n_resamples), np.zeros(n_resamples)
    deviance, pvalues = np.empty(n), np.empty(n)
    fitted = []
    first = np.append(0, np.cumsum(raters))
    for rows in tiles(n, _rows_at_once(credal, raters, n_resamples)):
        part = _Instances(credal[rows], table[rows], seed, n_resamples, (rows.start, int(first[rows.start])))
        deviance[rows], pvalues[rows] = part.deviance, part.pvalues()
        fitted.append(part.fitted)
        totals += part.evidence(n).sum(axis=1)
        largest = np.maximum(largest, part.replicates().max(axis=1))
        tell(report, rows.stop, n)
    slack = _slack(raters)
    below = np.searchsorted(np.sort(largest), deviance - slack, side="left")
    # the largest deviance has another null distribution than the deviance of one instance
    adjusted = np.maximum((1 + n_resamples - below) / (1 + n_resamples), pvalues)
    ties = _EVIDENCE_ERROR * float(np.sqrt((raters.astype(np.float64) ** 2).sum()))
    pvalue, interval = monte_carlo_pvalue(float(totals[0]) - ties, totals[1:], "greater")
    least_probable = credal.xp.min(as_float64(singleton_bounds(credal)[1]), axis=-1)
    reachable = to_host(least_probable) ** raters
    return result_of(
        totals,
        "greater",
        None,
        name="validity_test",
        hypothesis=TRUTH_IN_EVERY_SET,
        statistic_name="evidence",
        pvalue=pvalue,
        pvalue_interval=interval,
        n=n,
        settings={"seed": list(seed), "candidates": number},
        notes=(*credal.notes, *observed.notes, *_out_of_reach(reachable)),
        details=ValidityDetails(
            deviance=like(deviance, credal._leading),
            pvalues=like(pvalues, credal._leading),
            adjusted_pvalues=like(adjusted, credal._leading),
            nearest=credal.xp.concat(fitted, axis=0),
            raters=like(raters, credal._leading),
            smallest_pvalues=like(reachable, credal._leading),
            largest_explained=acceptance_region(largest, "greater", None)[1],
        ),
    )


class _Instances:
    """Consecutive instances: what was observed, and draws that serve every candidate of their sets."""

    def __init__(
        self, credal: CredalSet, counts: HostArray, seed: Seed, n_resamples: int, first: tuple[int, int]
    ) -> None:
        self.credal, self.seed, self.n_resamples = credal, seed, n_resamples
        self.first_row, self.first_rater = first
        self.raters = raters = counts.sum(axis=1)
        target = like(counts / raters[:, None], credal._leading)
        self.fitted: Array = nearest_distribution(credal, target, "kl", TOLERANCE)
        self.points = candidates(credal, self.fitted)
        drawn, shares = draw_from_candidates(self.points, raters, seed, n_resamples, first[1])
        self.counts = both = np.concatenate([counts[None], drawn])
        values = deviances(credal, both)
        self.deviance, self.drawn = values[0], values[1:]
        self.slack = _slack(raters)
        self.weights = candidate_weights(to_host(self.points), shares, both)

    def pvalues(self) -> HostArray:
        """Max over v of (w_v(observed) + sum_d w_v(c_d) [G_d >= G]) / (1 + b): Harrison 2012."""
        extreme = self.drawn >= self.deviance - self.slack
        tail = np.einsum("bn,bnc->nc", extreme, self.weights[1:])
        return np.asarray(np.minimum(1.0, (self.weights[0] + tail).max(axis=1) / (1 + self.n_resamples)))

    def evidence(self, n: int) -> HostArray:
        """Return the evidence against each instance, (1 + b, n), the observation first; `n` of all parts."""
        both, number = self.counts, self.points.shape[1]
        if number > 1:
            step = max(1, self.n_resamples // (_PILOTS * number))
            chosen = self._hardest(evidence(self.credal, both[1::step]), self.weights[1::step], n)
            xp = namespace(self.points)
            at = like(np.arange(len(chosen)) * number + chosen, self.points)
            hardest = xp.take(xp.reshape(self.points, (-1, self.points.shape[2])), at, axis=0)
            # draws of their own: the largest of several means is too large on the draws that chose it
            fresh = slice(self.n_resamples, 2 * self.n_resamples)
            drawn = draw_counts(hardest, self.raters, self.seed, fresh, self.first_rater)
            both = np.concatenate([both[:1], drawn])
        return evidence(self.credal, both)

    @staticmethod
    def _hardest(values: HostArray, weights: HostArray, n: int) -> HostArray:
        """Return the candidate of each instance that lifts the upper quantile of the sum most, (instances,).

        A sum of n has the quantile sum of means + z sqrt(sum of variances), so a variance counts by
        z / (2 sqrt(sum of variances)); the others are taken to be as variable as this instance can be.
        """
        shares = weights / weights.sum(axis=0)
        means = np.einsum("bn,bnc->nc", values, shares)
        variances = np.maximum(np.einsum("bn,bnc->nc", values**2, shares) - means**2, 0.0)
        spread = np.sqrt(n * variances.max(axis=1, keepdims=True))
        lifts = means + _Z / 2 * variances / np.where(spread > 0, spread, 1.0)
        best = lifts.max(axis=1, keepdims=True)
        return np.asarray(np.argmax(lifts >= best - _SAME * (1.0 + np.abs(best)), axis=1))

    def replicates(self) -> HostArray:
        """Return replicates (b, n) of the deviances at the candidate with the largest mean."""
        if self.weights.shape[2] == 1:
            return self.drawn
        means = np.einsum("bn,bnc->nc", self.drawn, self.weights[1:])
        chosen = np.argmax(means >= (1 - _SAME) * means.max(axis=1, keepdims=True), axis=1)
        weights = np.take_along_axis(self.weights[1:], chosen[None, :, None], axis=2)[..., 0]
        steps = np.cumsum(weights, axis=0)
        b, n = weights.shape
        uniform = Uniforms(self.seed, Stream.CHOICES).draw(
            slice(0, b), slice(self.first_row, self.first_row + n)
        )
        picked = [np.searchsorted(steps[:, i], uniform[:, i] * steps[-1, i], side="right") for i in range(n)]
        return np.take_along_axis(self.drawn, np.minimum(np.stack(picked, axis=1), b - 1), axis=0)


_EVIDENCE_ERROR = 1e-4
"""Of one rater, where the divergence of pi is within `TOLERANCE` of the least: about its square root."""


def _slack(raters: HostArray) -> HostArray:
    """Deviances closer than their certified error are ties."""
    return 4.0 * TOLERANCE * raters


def _as_set(predictions: Any) -> CredalSet:
    predictions = as_predictions(predictions)
    if isinstance(predictions, Dirichlet):
        raise UnsupportedError(
            "`validity_test`",
            "needs a set of distributions per instance",
            "a Dirichlet is not a set",
            "Choose which set you mean: `credal.as_set(predictions, n_samples=...)`.",
        )
    credal: CredalSet = as_set(without_graph(predictions))
    return credal


def _whole_counts(credal: CredalSet, observed: LabelCounts) -> HostArray:
    """Return counts (n, k) on the host; frequencies that are not counts are refused."""
    batch = as_labels(credal, observed)
    assert isinstance(batch, Counts)
    table = to_host(batch.values[0, ...])
    if table.dtype.kind == "f":
        raise InputError(
            "`counts`",
            "must be whole numbers of raters to be resampled",
            "got soft labels that do not correspond to a whole number of raters",
            "Use the counts themselves.",
        )
    return table.astype(np.int64)


def _rows_at_once(credal: CredalSet, raters: HostArray, n_resamples: int) -> int:
    """Return how many instances keep labels, counts and weights within the memory budget."""
    size = 2 * _BYTES_PER_COUNT * (credal.n_classes + candidate_number(credal)) * (n_resamples + 1)
    labels = max(1, int(_LABELS_AT_ONCE / (n_resamples * float(raters.mean()))))
    return max(1, min(labels, memory_budget() // (2 * size)))


def _out_of_reach(smallest: HostArray) -> tuple[str, ...]:
    number = int((smallest > 0.05).sum())
    if not number:
        return ()
    note = (
        f"{number} of {smallest.size} instances could not have been rejected individually, whatever their "
        f"raters said: there are too few raters, or the set is too wide"
    )
    return (note,)
