"""Is the distribution of the label, given what a witness sees, in the set? Valid for every truth in it.

Dual form. If P(y | x) is in C(x) for all x, then for every function v of instance and class

    E[ v(x, Y) - h(x) ] <= 0,    h(x) = max over p in C(x) of sum_c p_c v(x, c)   (the support function).

A witness v is learned from the labels of other instances; nothing is assumed about which combination is true.

    u(x, c) > 0, divided by its support function: E[u(x, Y)] <= 1 for every truth in the set, an e-variable
    E = prod_i u_i(y_i)                exact: P(E >= 1 / level) <= level at every n
    T = sum_i v_i(y_i),  v = log u     tail by saddlepoint at the worst law of the set:
    K(s) = sum_i log max over p in C_i of sum_c p_c exp(s v_i(c)),   K'(s) = T

The tail of T is linear in the law of every row, so the worst law has an extreme point of the set in each row.
Every block of rows is tested with a witness learned from the blocks before it, in several random orders.

Clusters. Blocks hold whole clusters. Whatever the dependence inside, cluster c has

    E[ mean over its rows of u_i(y_i) ] <= 1,      S_c = sum over its rows of v_i(y_i) - h_i,  E[S_c] <= 0,

so the product over clusters of the means is an exact e-value, and sum S_c over its standard error, which is
at least that of independent rows, is compared with Student's t.

The experts behind u are in `experts`. The witness at a row did not see its label, so frequencies among the
rows it points at are not chosen.

Gruenwald, de Heide and Koolen, Safe testing, 2024. Lugannani and Rice, Saddle point approximation, 1980.
"""

from __future__ import annotations

import dataclasses
from typing import Any, Literal

import numpy as np
from scipy.special import ndtr, ndtri, stdtr

from credibly._arrays.namespace import Array, HostArray, as_float64, like, to_host
from credibly._arrays.philox import Seed, Stream, Uniforms, takes_rng
from credibly._arrays.progress import Progress, as_progress, tell
from credibly._arrays.standard_errors import degrees_of_freedom
from credibly.credal.bounds import singleton_bounds, support_of
from credibly.credal.sets import CredalSet, as_set
from credibly.hypotests.credal.combinations import Combination, features_as_tested
from credibly.hypotests.credal.experts import PENALTIES, TINY, Bets, View, nearest_to, regression, witness_of
from credibly.hypotests.credal.task import SetTask
from credibly.learners.basis import check_features
from credibly.learners.points import DRAWS
from credibly.predictions import Dirichlet, Ensemble, Point, as_predictions
from credibly.results.tests import HypotestResult, smallest_pvalue
from credibly.results.witness import WitnessDetails, WitnessDirection

ConditionedOn = Literal["predictions", "features"]

TRUTH_IN_SET: dict[str, str] = {
    "predictions": "the distribution of the label given the predictions is in the set",
    "features": "the distribution of the label given predictions and features is in the set",
}

ORDERS = 5
"""Random orders of the instances; the mean of their scores decides."""

_LOWEST, _HIGHEST = -5.0, 38.0  # scores of an order; the normal tail beyond 38 is 0
_SAME = 1e-9

Column = tuple[str, int | None, HostArray]
"""What a condition may be about: its name, the class in it, a value per instance."""

_NOTICEABLE = 0.02  # log odds of a bet below which a row is not said to point anywhere
_LEAST_ROWS = 5  # of a direction that is reported
_CLEAR_CUT = 0.35  # share of rows inside minus outside of a condition, above which it is reported


@takes_rng
def witness_test(
    predictions: Any,
    labels: Any = None,
    *,
    features: Any = None,
    n_draws: int = DRAWS,
    clusters: Any = None,
    blocks: int | None = None,
    rng: Any = None,
    progress: Progress | bool | None = None,
) -> HypotestResult[WitnessDetails]:
    """Test whether the distribution of the label is in a set of distributions.

    Parameters
    ----------
    predictions : Ensemble, Intervals, Belief, Dirichlet, Point or array
        Sets of distributions: the hull of the members, all distributions between bounds, all that a belief
        function allows; for a Dirichlet, the hull of `n_draws` draws.
    labels : array (n,) or LabelCounts
        Observed classes, one per instance; with several raters, one is drawn with the seed.
    features : array (n, d), optional
        What the witness may use besides the predictions. With features the claim is stronger: a calibrated
        model that ignores an informative feature is then in conflict.
    n_draws : int
        ...
    clusters : array (n,), optional
        ... Rows of one cluster may then depend on each other in any way.
    blocks : int, optional
        ...
    rng : None, int or Generator
        ...
    progress : callable or True, optional
        ...

    Returns
    -------
    HypotestResult of WitnessDetails
        The p-value and, in ``details``, an exact e-value and where the truth lies outside the set:
        ``sentence()`` says it in words. ``details.combine`` gives the points of any sets nearest to what was
        learned about the labels.

    Notes
    -----
    The test holds its level for every truth in the set; nothing is assumed about which combination is true.
    The tail of its statistic is computed, so it draws no replicates.

    With clusters, the witness for a cluster is learned from other clusters. The e-value is exact: that of a
    cluster is the mean over its rows. The p-value compares sums over clusters with Student's t and is never
    below 2^(1 - C) with C clusters.

    References
    ----------
    Grünwald, de Heide and Koolen, *Safe testing*, JRSS B 2024; Lugannani and Rice, *Saddle point
    approximation for the distribution of the sum of independent random variables*, 1980.

    Examples
    --------
    >>> import numpy as np
    >>> import credibly as cr
    >>> rng = np.random.default_rng(1)
    >>> members = rng.dirichlet(np.ones(3), size=(300, 4))
    >>> labels = (rng.random((300, 1)) > members[:, 2].cumsum(axis=1)).sum(axis=1)
    >>> cr.hypotests.witness_test(cr.Ensemble(members), labels, rng=0).verdict()
    'no conflict found'
    >>> cr.hypotests.witness_test(cr.Ensemble(members), np.zeros(300, dtype=int), rng=0).verdict()
    'conflict'
    """
    report = as_progress(progress)
    sets = SetTask.of(predictions, labels, n_draws, clusters, blocks, rng)
    columns = None if features is None else check_features(features, sets.predictions)
    return tested_witness(sets, columns, report)


def tested_witness(
    sets: SetTask, features: Array | None = None, report: Progress | None = None
) -> HypotestResult[WitnessDetails]:
    """Test whether the truth is in checked sets at every instance, given them and `features`."""
    credal, seed, codes = sets.points.credal, sets.seed, sets.codes
    labels = to_host(sets.observed.values)[0].astype(np.int64)
    hosted = _on_host(credal)
    n, k = len(hosted), hosted.n_classes
    columns = None if features is None else to_host(as_float64(features))
    view = View.of(hosted, columns)
    condition: ConditionedOn = "predictions" if features is None else "features"
    scores = view.scores(hosted, columns)
    lower, upper = singleton_bounds(hosted)
    bets = Bets.of(lower, upper, scores.mean)
    number = n if codes is None else int(codes.max()) + 1
    ranks = Uniforms(seed, Stream.ORDERS).draw(slice(0, ORDERS), slice(0, number))
    shuffled = np.argsort(ranks if codes is None else ranks[:, codes], axis=1, kind="stable")
    logs, tested, summed = np.zeros((n, k)), np.zeros(n), np.zeros(n)
    tails: list[WorstTail] = []
    evalues = []
    for at, order in enumerate(shuffled):
        rows, u = witness_of(hosted, scores, bets, labels, order, codes)
        if not rows.size:
            break
        tested_set, seen = hosted[rows], labels[rows]
        v = np.log(u)
        tail = worst_tail(tested_set, v, seen)
        paid = v[np.arange(rows.size), seen]
        if codes is not None:
            tail = _of_clusters(tail, codes[rows])
            paid = np.log(_cluster_means(np.exp(paid), codes[rows]))
        tails.append(tail)
        evalues.append(float(paid.sum()))
        logs[rows] += v
        summed[rows] += tail.excess
        tested[rows] += 1
        tell(report, at + 1, ORDERS)
    ruled_out = upper[np.arange(n), labels] <= 0  # by every law in the set: no truth in it explains them
    evalue = float(np.exp(np.minimum(evalues, 700.0)).mean()) if evalues else 1.0
    order_scores = [tail.score for tail in tails]
    if ruled_out.any():
        order_scores, evalue = [_HIGHEST], np.inf
    looked_at = np.maximum(tested, 1)
    logs, excess = logs / looked_at[:, None], np.where(tested > 0, summed / looked_at, np.nan)
    score = float(np.mean(order_scores)) if order_scores else _LOWEST
    statistic = float(np.mean([tail.excess.mean() for tail in tails])) if tails else 0.0
    # what no distribution allows is no matter of chance, however few clusters there are
    least = 0.0 if codes is None or ruled_out.any() else smallest_pvalue(number)
    spread = float(np.mean([tail.spread / tail.excess.size for tail in tails])) if tails else 0.0
    blank = np.zeros(scores.columns.shape[2])
    slopes = tuple(regression(scores, labels, penalty, blank) for penalty in PENALTIES)
    # notes about corners concern weights; a witness knows the whole set
    notes = (
        sets.points.notes if isinstance(sets.predictions, Ensemble | Dirichlet) else sets.predictions.notes
    )
    return HypotestResult(
        name="witness_test",
        hypothesis=TRUTH_IN_SET[condition],
        statistic_name="witness",
        statistic=statistic,
        pvalue=max(float(ndtr(-score)) if order_scores else 1.0, least),
        tail="greater",
        acceptance_region=(-np.inf, _normal_score(0.05) * spread),
        effect_size=statistic,
        z_score=score,
        n=n,
        settings={"given": condition, "orders": ORDERS, "n_draws": sets.n_draws, "seed": list(seed)},
        notes=(*notes, *sets.notes),
        n_clusters=None if codes is None else number,
        details=WitnessDetails(
            test_rows=np.flatnonzero(tested),
            combination=WitnessCombination(view, slopes, sets.n_draws, seed),
            given=condition,
            evalue=evalue,
            exact_pvalue=min(1.0, 1.0 / max(evalue, 1e-300)),
            scores=np.array(order_scores),
            excess=excess,
            smallest_pvalue=min((tail.smallest for tail in tails), default=1.0),
            directions=directions(hosted, view.classes, columns, logs, tested > 0, labels),
            impossible_rows=np.flatnonzero(ruled_out),
        ),
    )


def _on_host(credal: CredalSet) -> CredalSet:
    """Return the set in NumPy arrays of float64: regressions of a few columns are not worth a device."""
    host: CredalSet = credal.replace_rows(
        **{name: to_host(as_float64(getattr(credal, name))) for name in credal.row_fields}
    )
    return host


def _cluster_means(values: HostArray, codes: HostArray) -> HostArray:
    """Return the mean of every cluster that has rows, by its code."""
    sizes = np.bincount(codes)
    return np.asarray(np.bincount(codes, values)[sizes > 0] / sizes[sizes > 0])


@dataclasses.dataclass(frozen=True)
class WorstTail:
    """Of one order: normal score, smallest possible p-value, v(y) - h per row, spread of their sum."""

    score: float
    smallest: float
    excess: HostArray
    spread: float


def worst_tail(credal: CredalSet, v: HostArray, labels: HostArray) -> WorstTail:
    """Return the upper tail of sum v_i(y_i) at the worst law of the set, as a standard normal score.

    For intervals and beliefs one law is worst for every s: the maximiser depends on the order of v alone.
    """
    at = np.arange(len(labels))
    support, law = (part[0] for part in support_of(credal, v[None, ...]))
    laws = credal.probs if isinstance(credal, Ensemble) else law[:, None, :]
    v = v - support[:, None]
    excess = v[at, labels]
    possible = to_host(singleton_bounds(credal)[1]) > 0  # the worst law alone may leave out what others allow
    lowest = np.where(possible, v, np.inf).min(axis=1, keepdims=True)
    v = np.where(possible, v, lowest)  # what no law allows has no part in any tail
    kept = np.ptp(v, axis=1) > _SAME
    top = v.max(axis=1, keepdims=True)
    likeliest = np.log((laws * (v >= top)[:, None, :]).sum(axis=2).max(axis=1))
    smallest = float(np.exp(likeliest[kept].sum())) if kept.any() else 1.0
    if not possible[at, labels].all():
        return WorstTail(_HIGHEST, smallest, excess, 0.0)
    if not kept.any():
        return WorstTail(_LOWEST, 1.0, excess, 0.0)
    v, laws, total = v[kept], laws[kept], float(excess[kept].sum())
    rows = np.arange(len(v))

    def cumulant(s: float) -> tuple[float, float, float]:
        powers = s * v
        most = powers.max(axis=1, keepdims=True)
        raised = np.exp(powers - most)
        sums = np.matmul(laws, raised[:, :, None])[:, :, 0]
        worst = sums.argmax(axis=1)
        tilted = laws[rows, worst] * raised / sums[rows, worst][:, None]
        means = (tilted * v).sum(axis=1)
        bend = float(((tilted * v**2).sum(axis=1) - means**2).sum())
        return float((np.log(sums[rows, worst]) + most[:, 0]).sum()), float(means.sum()), bend

    _, mean, variance = cumulant(1e-6)
    spread = float(np.sqrt(max(variance, 1e-300)))
    if total <= mean:
        return WorstTail(max((total - mean) / spread, _LOWEST), smallest, excess, spread)
    value = _signed_root(cumulant, total, (total - mean) / max(variance, 1e-300))
    most = _normal_score(smallest)  # no p-value is below the probability of the most extreme labels
    return WorstTail(min(value, most), smallest, excess, spread)


def _of_clusters(tail: WorstTail, codes: HostArray) -> WorstTail:
    """Return the tail of rows in clusters: their sums against a standard error, by Student's t.

    The error is at least that of independent rows at the worst law: sums that vary little by chance, as where
    few rows have a witness, are no certainty.
    """
    if not tail.spread:
        return tail
    sizes = np.bincount(codes).astype(np.float64)
    sums = np.bincount(codes, tail.excess)[sizes > 0]
    number = sums.size
    if number < 2:
        return dataclasses.replace(tail, score=_LOWEST, smallest=1.0)
    seen = float(np.sqrt(number / (number - 1) * np.sum((sums - sums.mean()) ** 2)))
    error = max(seen, tail.spread)
    degrees = max(1.0, degrees_of_freedom(sizes[sizes > 0], error, tail.spread))
    score = _normal_score(float(stdtr(degrees, -sums.sum() / error)))
    return WorstTail(max(score, _LOWEST), smallest_pvalue(number), tail.excess, error)


def _signed_root(cumulant: Any, total: float, start: float) -> float:
    """r* = r + log(q / r) / r, r = sqrt(2 (s T - K(s))), q = s sqrt(K''(s)), where K'(s) = T."""
    low, high = 0.0, max(start, 1e-3)
    while cumulant(high)[1] < total and high < 1e6:
        low, high = high, 4 * high
    s = min(max(start, low), high)
    for _ in range(100):
        value, slope, bend = cumulant(s)
        bend = max(bend, 0.0)  # a variance, which rounding may leave below 0
        low, high = (s, high) if slope < total else (low, s)
        if abs(slope - total) <= 1e-6 * np.sqrt(bend) or high - low <= 1e-9 * high:
            break
        step = s - (slope - total) / max(bend, 1e-300)
        s = step if low < step < high else (low + high) / 2
    root, scale = np.sqrt(max(2 * (s * total - value), 0.0)), s * np.sqrt(bend)
    return float(root if root < 1e-3 or scale <= 0 else root + np.log(scale / root) / root)


def _normal_score(pvalue: float) -> float:
    return min(float(-ndtri(pvalue)), _HIGHEST)


def directions(
    credal: CredalSet,
    classes: HostArray,
    features: HostArray | None,
    logs: HostArray,
    tested: HostArray,
    labels: HostArray,
) -> tuple[WitnessDirection, ...]:
    """Compare labels with the bounds of the set where the witness points at a class, the clearest first."""
    lower, upper = (to_host(bound) for bound in singleton_bounds(credal))
    mean = to_host(credal.mean().probs)
    k = mean.shape[1]
    columns: list[Column] = [(f"the mean probability of class {j}", int(j), mean[:, j]) for j in classes]
    columns.append(("the largest mean probability", None, mean.max(axis=1)))
    if features is not None:
        columns += [(f"feature {j}", None, column) for j, column in enumerate(features.T)]
    pointing = []
    for more in (True, False):
        signed = logs if more else -logs
        pointed = np.where(tested & (signed.max(axis=1) > _NOTICEABLE), signed.argmax(axis=1), -1)
        for j in range(k):
            rows = pointed == j
            count = int(rows.sum())
            if count < _LEAST_ROWS:
                continue
            bound = upper[rows, j] if more else lower[rows, j]
            observed = float((labels[rows] == j).mean())
            gap = observed - float(bound.mean()) if more else float(bound.mean()) - observed
            spread = np.sqrt(max(float((bound * (1 - bound)).sum()), 1e-12)) / count
            width = (f"the width of the set for class {j}", j, upper[:, j] - lower[:, j])
            where, about = _condition([*columns, width], rows)
            pointing.append(
                WitnessDirection(
                    label=j,
                    more=more,
                    n=count,
                    observed=observed,
                    lower=float(lower[rows, j].mean()),
                    upper=float(upper[rows, j].mean()),
                    score=float(gap / spread),
                    where=where,
                    where_label=about,
                )
            )
    return tuple(sorted(pointing, key=lambda direction: -direction.score))


def _condition(columns: list[Column], rows: HostArray) -> tuple[str, int | None]:
    """Return the cut of one column that separates `rows` best and its class, or "" where none does."""
    best, words, about = _CLEAR_CUT, "", None
    if rows.all():
        return words, about
    for name, label, values in columns:
        # values that occur: between huge ones nothing can be interpolated
        cuts = np.unique(np.quantile(values, np.arange(1, 10) / 10, method="inverted_cdf"))
        above = values > cuts[:, None]
        gains = above[:, rows].mean(axis=1) - above[:, ~rows].mean(axis=1)
        at = int(np.abs(gains).argmax())
        gain, threshold = float(gains[at]), float(cuts[at])
        if abs(gain) > best:
            best, about = abs(gain), label
            words = f"{name} is {'above' if gain > 0 else 'at most'} {threshold:.2g}"
            if label is not None and 0 <= threshold < 0.001:  # of a probability 4.6e-05 says nothing more
                words = f"{name} is {'not ' if gain > 0 else ''}nearly 0"
    return words, about


@dataclasses.dataclass(frozen=True)
class WitnessCombination(Combination):
    """The points of the sets nearest to what was learned about the labels."""

    view: View
    slopes: tuple[HostArray, ...]
    n_draws: int
    seed: Seed

    def apply(self, predictions: Any, features: Any = None) -> Point:
        """Return one distribution per instance, a member of its set."""
        predictions = as_predictions(predictions)
        credal = as_set(predictions, n_samples=self.n_draws, rng=self.seed)
        hosted = _on_host(credal)
        n_features = None if self.view.centre is None else len(self.view.centre)
        chosen = features_as_tested(features, n_features, predictions)
        scores = self.view.scores(hosted, None if chosen is None else to_host(as_float64(chosen)))
        g = np.mean([scores.probs(slopes) for slopes in self.slopes], axis=0)
        return Point._trusted(like(nearest_to(hosted, np.maximum(g, TINY)), credal._leading))

    def to_dict(self) -> dict[str, Any]:
        """Return what it is."""
        return {"combination": "nearest to what was learned"}
