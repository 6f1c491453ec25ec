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

Three experts make u, weighted by what each has earned in the blocks before:

    g / pi     g a ridge regression of the label on scores of the set (and features), pi the point of the set
               nearest to g (reverse information projection): 1 where g is inside the set. Two penalties.
    portfolio  bets on a class at its upper probability and against it at its lower one, in the shares that
               would have earned most so far (Cover 1984)

Gruenwald, de Heide and Koolen, Safe testing, 2024. Lugannani and Rice, Saddle point approximation, 1980.
"""

from __future__ import annotations

import dataclasses
import itertools
from typing import Any, Literal

import numpy as np
from scipy.special import ndtr, ndtri, stdtr

from credibly._arrays.errors import InputError, UnsupportedError
from credibly._arrays.namespace import Array, HostArray, as_float64, like, to_host
from credibly._arrays.philox import Seed, Stream, Uniforms
from credibly.credal.bounds import singleton_bounds, support_of
from credibly.credal.distances import nearest_distribution
from credibly.credal.sets import CredalSet, as_set
from credibly.hypotests.credal.combinations import Combination
from credibly.hypotests.credal.directions import directions
from credibly.hypotests.credal.task import CredalTask
from credibly.learners.basis import centre_and_spread, check_features
from credibly.predictions import Dirichlet, Ensemble, Point, as_predictions
from credibly.results.estimates import degrees_of_freedom
from credibly.results.tests import smallest_pvalue
from credibly.results.witness import WitnessResult

Given = Literal["predictions", "features"]

HYPOTHESES: dict[str, str] = {
    "predictions": "the distribution of the label given the predictions is in the set",
    "features": "the distribution of the label given predictions and features is in the set",
}

ORDERS = 5
"""Random orders of the instances; the mean of their scores decides."""

START, BLOCKS = 0.15, 6  # learn from 15 % of the rows first, then from more, in equal ratios

_PENALTIES = ((4.0, 5.0), (20.0, 50.0))  # of scores of the set and of features: a weak one and a strong one
_CASH = 3.0  # rows that a portfolio imagines on which only keeping the money pays
_STAKE = 0.5  # share that is put on g / pi: a wrong g costs little
_FEW = 6  # classes with coefficients of their own, the most frequently predicted ones
_CELLS = 40_000  # instances x classes that one regression learns from
_CONTAMINATION = 0.05
_FLOOR, _TINY = 1e-4, 1e-12  # probabilities below are read as these, in scores and in ratios
_LOWEST, _HIGHEST = -5.0, 38.0  # scores of an order; the normal tail beyond 38 is 0
_NEWTON_STEPS, _NEWTON_GAIN = 5, 1e-3
_EM_STEPS = 60
_BELIEF_TOLERANCE = 1e-3
_SAME = 1e-9


def witness_test(
    task: CredalTask, features: Array | None, codes: HostArray | None = None
) -> tuple[WitnessResult, WitnessCombination]:
    """Test whether the truth is in the set at every instance, given it and `features`.

    `codes` (n,) are the clusters of the rows, None where all are independent.
    """
    credal, seed = task.points.credal, task.seed
    labels = to_host(task.observed.values)[0].astype(np.int64)
    hosted = _on_host(credal)
    n, k = len(hosted), hosted.n_classes
    columns = None if features is None else to_host(as_float64(features))
    view = View.of(hosted, columns)
    given: Given = "predictions" if features is None else "features"
    scores = view.scores(hosted, columns)
    lower, upper = singleton_bounds(hosted)
    bets = Bets.of(lower, upper, scores.mean)
    number = n if codes is None else int(codes.max()) + 1
    ranks = Uniforms(seed, Stream.ORDERS).block(slice(0, ORDERS), slice(0, number))
    shuffled = np.argsort(ranks if codes is None else ranks[:, codes], axis=1, kind="stable")
    logs, tested, summed = np.zeros((n, k)), np.zeros(n), np.zeros(n)
    tails: list[Tail] = []
    evalues = []
    for order in shuffled:
        rows, u = _witness(hosted, scores, bets, labels, order, codes)
        if not rows.size:
            break
        own, seen = hosted[rows], labels[rows]
        v = np.log(u)
        tail = worst_tail(own, v, seen)
        paid = v[np.arange(rows.size), seen]
        if codes is not None:
            tail = _of_clusters(tail, codes[rows])
            paid = np.log(_cluster_means(np.exp(paid), codes[rows]))
        tails.append(tail)
        evalues.append(float(paid.sum()))
        logs[rows] += v
        summed[rows] += tail.excess
        tested[rows] += 1
    running = _running(hosted, scores, bets, labels, codes)
    ruled_out = upper[np.arange(n), labels] <= 0  # by every law in the set: no truth in it explains them
    evalue = float(np.exp(np.minimum(evalues, 700.0)).mean()) if evalues else 1.0
    found = [one.score for one in tails]
    if ruled_out.any():
        found, evalue = [_HIGHEST], np.inf
        running[int(ruled_out.argmax()) :] = np.inf
    looked_at = np.maximum(tested, 1)
    logs, excess = logs / looked_at[:, None], np.where(tested > 0, summed / looked_at, np.nan)
    score = float(np.mean(found)) if found else _LOWEST
    statistic = float(np.mean([one.excess.mean() for one in tails])) if tails else 0.0
    # what no distribution allows is no matter of chance, however few clusters there are
    least = 0.0 if codes is None or ruled_out.any() else smallest_pvalue(number)
    spread = float(np.mean([one.spread / one.excess.size for one in tails])) if tails else 0.0
    result = WitnessResult(
        name="credal_test",
        hypothesis=HYPOTHESES[given],
        statistic_name="witness",
        statistic=statistic,
        pvalue=max(float(ndtr(-score)) if found else 1.0, least),
        pvalue_interval=None,
        tail="greater",
        null_distribution=None,
        acceptance_region=(-np.inf, _normal_score(0.05) * spread),
        effect_size=statistic,
        z_score=score,
        n=n,
        n_resamples=0,
        settings={"method": "witness", "given": given, "orders": ORDERS, "seed": list(seed)},
        # notes about corners concern weights; a witness knows the whole set
        notes=task.points.notes if isinstance(task.given, Ensemble | Dirichlet) else task.given.notes,
        n_clusters=None if codes is None else number,
        given=given,
        evalue=evalue,
        exact_pvalue=min(1.0, 1.0 / max(evalue, 1e-300)),
        anytime_pvalue=float(min(1.0, np.exp(-running.max(initial=0.0)))),
        log_evalues=running,
        scores=np.array(found),
        excess=excess,
        smallest_pvalue=min((one.smallest for one in tails), default=1.0),
        directions=directions(hosted, view.classes, columns, logs, tested > 0, labels),
        impossible_rows=np.flatnonzero(ruled_out),
    )
    slopes = tuple(
        _regression(scores, labels, penalty, np.zeros(scores.columns.shape[2])) for penalty in _PENALTIES
    )
    return result, WitnessCombination(task.statistics, view, slopes, task.n_draws, seed)


def _on_host(credal: CredalSet) -> CredalSet:
    """Return the set in NumPy arrays of float64: regressions of a few columns are not worth a device."""
    host: CredalSet = credal.replace_rows(
        **{name: to_host(as_float64(getattr(credal, name))) for name in credal.row_fields}
    )
    return host


# What a witness sees


@dataclasses.dataclass(frozen=True)
class Scores:
    """What a regression sees of some instances: columns (n, k, d) of which `n_own` come from the set."""

    mean: HostArray  # (n, k), the offset
    columns: HostArray
    n_own: int

    def rows(self, rows: HostArray) -> Scores:
        """Return those of some instances."""
        return Scores(self.mean[rows], self.columns[rows], self.n_own)

    def probs(self, slopes: HostArray) -> HostArray:
        """Return g = mean * exp(columns @ slopes), normalised."""
        logits = np.log(np.maximum(self.mean, _TINY)) + self.columns @ slopes
        raised = np.exp(logits - logits.max(axis=1, keepdims=True))
        return np.asarray(raised / raised.sum(axis=1, keepdims=True))


@dataclasses.dataclass(frozen=True)
class View:
    """How columns are made of sets and features: scales that were taken without looking at labels."""

    scales: HostArray  # (5,)
    classes: HostArray  # those with coefficients of their own
    centre: HostArray | None  # (d,)
    width: HostArray | None

    @classmethod
    def of(cls, credal: CredalSet, features: HostArray | None) -> View:
        """Take the scales of all instances."""
        own = _set_scores(credal)
        scales = np.array([max(float(one.std()), _SAME) for one in own])
        mean = to_host(credal.mean().probs)
        classes = np.sort(np.argsort(-mean.mean(axis=0), kind="stable")[:_FEW])
        if features is None:
            return cls(scales, classes, None, None)
        centre, spread, varies = centre_and_spread(features)
        return cls(scales, classes, centre, np.where(varies, spread, np.inf))  # what is constant says nothing

    def scores(self, credal: CredalSet, features: HostArray | None) -> Scores:
        """Return the columns: the same whatever the order of the members."""
        own = [one / scale for one, scale in zip(_set_scores(credal), self.scales, strict=True)]
        n, k = own[0].shape

        def of_class(values: HostArray, j: int) -> HostArray:
            column = np.zeros((n, k))
            column[:, j] = values
            return np.asarray(column - column.mean(axis=1, keepdims=True))

        columns = [*own]
        columns += [0.7 * of_class(one[:, j], j) for one in (own[0], own[3]) for j in self.classes]
        columns += [of_class(np.ones(n), j) for j in self.classes]
        n_own = len(columns)
        if self.centre is not None:
            assert features is not None
            scaled = features / self.width - self.centre / self.width
            columns += [of_class(one, j) for one in scaled.T for j in self.classes]
        return Scores(to_host(credal.mean().probs), np.stack(columns, axis=2), n_own)


def _set_scores(credal: CredalSet) -> list[HostArray]:
    """Log-probabilities of the set, and how much a small share of a foreign law raises each class."""
    lower, upper = (to_host(one) for one in singleton_bounds(credal))
    mean = to_host(credal.mean().probs)
    logs = np.log(np.maximum(mean, _FLOOR))
    kept = 1.0 - _CONTAMINATION
    made = [
        logs,
        np.log(np.maximum(upper, _FLOOR)) - logs,
        np.log(np.maximum(lower, _FLOOR)) - logs,
        np.log(kept + _CONTAMINATION / np.maximum(upper, _FLOOR)),
        np.log(kept + _CONTAMINATION / np.maximum(1.0 - lower, _FLOOR)),
    ]
    return [one - one.mean(axis=1, keepdims=True) for one in made]


# Experts


def _regression(
    scores: Scores, labels: HostArray, penalty: tuple[float, float], start: HostArray
) -> HostArray:
    """Minimise the log loss of g plus half the penalty times squared slopes, by Newton's method."""
    n, k, d = scores.columns.shape
    most = max(50, _CELLS // k)
    if n > most:  # evenly among the rows, which are in random order
        chosen = np.linspace(0, n - 1, most).astype(int)
        scores, labels = scores.rows(chosen), labels[chosen]
    columns = scores.columns
    flat = columns.reshape(-1, d)
    wanted = columns[np.arange(len(labels)), labels].sum(axis=0)
    ridge = np.where(np.arange(d) < scores.n_own, *penalty)

    def loss(slopes: HostArray) -> tuple[float, HostArray]:
        g = scores.probs(slopes)
        likely = np.maximum(g[np.arange(len(labels)), labels], 1e-300)
        return float(0.5 * (ridge * slopes**2).sum() - np.log(likely).sum()), g

    slopes = start
    value, g = loss(slopes)
    for _ in range(_NEWTON_STEPS):
        weighted = columns * g[:, :, None]
        means = weighted.sum(axis=1)
        gradient = means.sum(axis=0) - wanted + ridge * slopes
        bends = weighted.reshape(-1, d).T @ flat - means.T @ means
        bends[np.diag_indices(d)] += ridge
        step = np.linalg.solve(bends, gradient)
        gain = float(gradient @ step)
        if gain < _NEWTON_GAIN:
            break
        share = 1.0
        while share > 1e-3:
            tried, at = loss(slopes - share * step)
            if tried <= value - 1e-4 * share * gain:
                slopes, value, g = slopes - share * step, tried, at
                break
            share /= 2
        else:
            break
    return slopes


def nearest_to(credal: CredalSet, g: HostArray) -> HostArray:
    """Return pi, about the KL-nearest point of each set to g; what is missing costs power, never validity."""
    if isinstance(credal, Ensemble):
        weights = np.full(credal.probs.shape[:2], 1.0 / credal.probs.shape[1])
        for _ in range(_EM_STEPS):  # EM for the weights of a mixture
            pi = np.matmul(weights[:, None, :], credal.probs)[:, 0, :]
            weights = weights * np.matmul(credal.probs, (g / np.maximum(pi, 1e-300))[:, :, None])[:, :, 0]
        weights /= weights.sum(axis=1, keepdims=True)
        return np.asarray(np.matmul(weights[:, None, :], credal.probs)[:, 0, :])
    try:
        return to_host(nearest_distribution(credal, g, "kl", _BELIEF_TOLERANCE))
    except UnsupportedError:  # beliefs of many classes: any point of the set will do
        return to_host(credal.mean().probs)


@dataclasses.dataclass(frozen=True)
class Bets:
    """What bets pay, each at most 1 on average under every law in the set.

    Keep the money; for every class, and for the one and two most probable ones of each instance: bet on it at
    1 / upper, and against it at 1 / (1 - lower).
    """

    on: HostArray  # (n, k)
    against: HostArray
    ranked: HostArray  # (n, r)

    @classmethod
    def of(cls, lower: HostArray, upper: HostArray, mean: HostArray) -> Bets:
        """Return the odds that the bounds of the set give."""
        ranked = np.argsort(-mean, axis=1, kind="stable")[:, : min(2, mean.shape[1] - 1)]
        return cls(1.0 / np.maximum(upper, _TINY), 1.0 / np.maximum(1.0 - lower, _TINY), ranked)

    def rows(self, rows: HostArray) -> Bets:
        """Return those of some instances."""
        return Bets(self.on[rows], self.against[rows], self.ranked[rows])

    def paid(self, labels: HostArray) -> HostArray:
        """Return what every bet pays for these labels, (n, 1 + 2 k + 2 r)."""
        happens = np.zeros(self.on.shape)
        happens[np.arange(len(labels)), labels] = 1.0
        at_rank = np.take_along_axis(happens, self.ranked, axis=1)
        return np.concatenate(
            [
                np.ones((len(labels), 1)),
                self.on * happens,
                self.against * (1.0 - happens),
                np.take_along_axis(self.on, self.ranked, axis=1) * at_rank,
                np.take_along_axis(self.against, self.ranked, axis=1) * (1.0 - at_rank),
            ],
            axis=1,
        )

    def values(self, shares: HostArray) -> HostArray:
        """Return what a portfolio pays for every class, (n, k)."""
        k, r = self.on.shape[1], self.ranked.shape[1]
        kept, on, against, on_rank, against_rank = np.split(shares, np.cumsum([1, k, k, r]))
        lost = self.against * against
        values = kept + self.on * on + lost.sum(axis=1, keepdims=True) - lost
        at = np.arange(len(values))
        for j, classes in enumerate(self.ranked.T):
            values += against_rank[j] * self.against[at, classes][:, None]
            values[at, classes] += on_rank[j] * self.on[at, classes]
            values[at, classes] -= against_rank[j] * self.against[at, classes]
        return np.asarray(values)


def _portfolio(paid: HostArray) -> HostArray:
    """Return the constant shares (j,) that would have earned most from paid (n, j), mostly cash at first."""
    count = paid.shape[1]
    shares = np.full(count, 0.5 / (count - 1))
    shares[0] = 0.5
    for _ in range(_EM_STEPS):
        shares = shares * (paid.T @ (1.0 / (paid @ shares)))
        shares[0] += _CASH
        shares /= shares.sum()
    return shares


def _cuts(n: int, ordered: HostArray | None = None) -> HostArray:
    """Return where blocks begin and end; clusters `ordered` (n,), which stand together, stay whole."""
    cuts = np.unique(np.round(np.geomspace(max(START * n, 1.0), n, BLOCKS + 1)).astype(int))
    if ordered is None:
        return cuts
    ends = np.append(np.flatnonzero(np.diff(ordered)) + 1, n)
    return np.unique(ends[np.searchsorted(ends, cuts)])


def _witness(
    credal: CredalSet,
    scores: Scores,
    bets: Bets,
    labels: HostArray,
    order: HostArray,
    codes: HostArray | None = None,
) -> tuple[HostArray, HostArray]:
    """Return the tested rows in their order and u (t, k): of each from the labels of earlier blocks alone."""
    n, k = scores.mean.shape
    cuts = _cuts(n, None if codes is None else codes[order])
    rows = order[cuts[0] :]
    if not rows.size:
        return rows, np.empty((0, k))
    slopes = [np.zeros(scores.columns.shape[2])] * len(_PENALTIES)
    made = np.empty((len(_PENALTIES) + 1, rows.size, k))
    for begin, end in itertools.pairwise(cuts):
        past, now = order[:begin], order[begin:end]
        place = slice(begin - cuts[0], end - cuts[0])
        learned, looked = scores.rows(past), scores.rows(now)
        for j, penalty in enumerate(_PENALTIES):
            slopes[j] = _regression(learned, labels[past], penalty, slopes[j])
            made[j, place] = looked.probs(slopes[j])
        made[-1, place] = bets.rows(now).values(_portfolio(bets.rows(past).paid(labels[past])))
    own = credal[rows]
    for j in range(len(_PENALTIES)):
        g = np.maximum(made[j], _TINY)
        made[j] = 1.0 - _STAKE + _STAKE * g / np.maximum(nearest_to(own, g), _TINY)
    made /= support_of(own, made)[0][:, :, None]  # e-variables, whatever pi is
    earned = np.log(np.maximum(made[:, np.arange(rows.size), labels[rows]], 1e-300)).cumsum(axis=1)
    u = np.empty((rows.size, k))
    for begin, end in itertools.pairwise(cuts - cuts[0]):
        before = earned[:, begin - 1] if begin else np.zeros(len(made))
        shares = np.exp(before - before.max())
        u[begin:end] = np.tensordot(shares / shares.sum(), made[:, begin:end], axes=1)
    return rows, np.maximum(u / support_of(own, u[None, ...])[0][0][:, None], _TINY)


def _running(
    credal: CredalSet, scores: Scores, bets: Bets, labels: HostArray, codes: HostArray | None
) -> HostArray:
    """Return the logarithm of the e-value after each row, in the order of the rows: a test at any time.

    Clusters come in the order of their last rows, and pay there.
    """
    n = len(labels)
    order, last = np.arange(n), np.arange(n)
    if codes is not None:
        last = np.zeros(int(codes.max()) + 1, dtype=np.intp)
        np.maximum.at(last, codes, np.arange(n))
        order = np.argsort(last[codes], kind="stable")
    rows, u = _witness(credal, scores, bets, labels, order, codes)
    logs, paid = np.zeros(n), u[np.arange(rows.size), labels[rows]]
    if codes is None:
        logs[rows] = np.log(paid)
    else:
        logs[last[np.unique(codes[rows])]] = np.log(_cluster_means(paid, codes[rows]))
    return logs.cumsum()


def _cluster_means(values: HostArray, codes: HostArray) -> HostArray:
    """Return the mean of every cluster that has rows, by its code."""
    sizes = np.bincount(codes)
    return np.asarray(np.bincount(codes, values)[sizes > 0] / sizes[sizes > 0])


# The tail


@dataclasses.dataclass(frozen=True)
class Tail:
    """Of one order: normal score, smallest possible p-value, v(y) - h per row, spread of their sum."""

    score: float
    smallest: float
    excess: HostArray
    spread: float


def worst_tail(credal: CredalSet, v: HostArray, labels: HostArray) -> Tail:
    """Return the upper tail of sum v_i(y_i) at the worst law of the set, as a standard normal score.

    For intervals and beliefs one law is worst for every s: the maximiser depends on the order of v alone.
    """
    at = np.arange(len(labels))
    support, law = (one[0] for one in support_of(credal, v[None, ...]))
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
        return Tail(_HIGHEST, smallest, excess, 0.0)
    if not kept.any():
        return Tail(_LOWEST, 1.0, excess, 0.0)
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
        return Tail(max((total - mean) / spread, _LOWEST), smallest, excess, spread)
    value = _signed_root(cumulant, total, (total - mean) / max(variance, 1e-300))
    most = _normal_score(smallest)  # no p-value is below the probability of the most extreme labels
    return Tail(min(value, most), smallest, excess, spread)


def _of_clusters(tail: Tail, codes: HostArray) -> Tail:
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
    return Tail(max(score, _LOWEST), smallest_pvalue(number), tail.excess, error)


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


# What was learned, for any instances


@dataclasses.dataclass(frozen=True)
class WitnessCombination(Combination):
    """The points of the sets nearest to what was learned about the labels."""

    view: View
    slopes: tuple[HostArray, ...]
    n_draws: int
    seed: Seed

    def apply(self, predictions: Any, features: Any = None) -> Point:
        """Return one distribution per instance, a member of its set."""
        given = as_predictions(predictions)
        credal = as_set(given, n_samples=self.n_draws, rng=self.seed)
        hosted = _on_host(credal)
        columns = None
        if self.view.centre is not None:
            if features is None:
                raise InputError(
                    "`features`",
                    f"are needed: the witness used {len(self.view.centre)} features",
                    "got none",
                    "Pass the features of these instances.",
                )
            columns = to_host(as_float64(check_features(features, given)))
        scores = self.view.scores(hosted, columns)
        g = np.mean([scores.probs(slopes) for slopes in self.slopes], axis=0)
        return Point._trusted(like(nearest_to(hosted, np.maximum(g, _TINY)), credal._leading))

    def to_dict(self) -> dict[str, Any]:
        """Return what it is."""
        return {"combination": "nearest to what was learned"}
