"""What a witness against a set is made of: three experts, learned from the labels of earlier instances.

Three experts make u, weighted by what each has earned in the blocks before:

    g / pi     g a ridge regression of the label on scores of the set (and features), pi the point of the set
               nearest to g (reverse information projection): 1 where g is inside the set. Two penalties.
    portfolio  bets on a class at its upper probability and against it at its lower one, in the shares that
               would have earned most so far (Cover 1984)
"""

from __future__ import annotations

import dataclasses
import itertools

import numpy as np

from credibly._arrays.errors import UnsupportedError
from credibly._arrays.namespace import HostArray, to_host
from credibly.credal.bounds import singleton_bounds, support_of
from credibly.credal.filling import nearest_distribution
from credibly.credal.sets import CredalSet
from credibly.learners.basis import centre_and_spread
from credibly.predictions import Ensemble

START, BLOCKS = 0.15, 6  # learn from 15 % of the rows first, then from more, in equal ratios

PENALTIES = ((4.0, 5.0), (20.0, 50.0))  # of scores of the set and of features: a weak one and a strong one
TINY = 1e-12  # probabilities below are read as this in ratios
_CASH = 3.0  # rows that a portfolio imagines on which only keeping the money pays
_STAKE = 0.5  # share that is put on g / pi: a wrong g costs little
_FEW = 6  # classes with coefficients of their own, the most frequently predicted ones
_CELLS = 40_000  # instances x classes that one regression learns from
_CONTAMINATION = 0.05
_FLOOR = 1e-4  # probabilities below are read as this in scores
_NEWTON_STEPS, _NEWTON_GAIN = 5, 1e-3
_EM_STEPS = 60
_BELIEF_TOLERANCE = 1e-3
_SAME = 1e-9


@dataclasses.dataclass(frozen=True)
class ExpertColumns:
    """Columns (n, k, d) that a regression uses; the first `n_own` come from the set."""

    mean: HostArray  # (n, k), the offset
    columns: HostArray
    n_own: int

    def rows(self, rows: HostArray) -> ExpertColumns:
        """Return the part of some instances."""
        return ExpertColumns(self.mean[rows], self.columns[rows], self.n_own)

    def probs(self, slopes: HostArray) -> HostArray:
        """Return g = mean * exp(columns @ slopes), normalised."""
        logits = np.log(np.maximum(self.mean, TINY)) + self.columns @ slopes
        raised = np.exp(logits - np.maximum.reduce(logits, axis=1, keepdims=True))
        return np.asarray(raised / np.add.reduce(raised, axis=1, keepdims=True))


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
        columns = _set_scores(credal)
        scales = np.array([max(float(column.std()), _SAME) for column in columns])
        mean = to_host(credal.mean().probs)
        classes = np.sort(np.argsort(-mean.mean(axis=0), kind="stable")[:_FEW])
        if features is None:
            return cls(scales, classes, None, None)
        centre, spread, varies = centre_and_spread(features)
        return cls(scales, classes, centre, np.where(varies, spread, np.inf))  # what is constant says nothing

    def scores(self, credal: CredalSet, features: HostArray | None) -> ExpertColumns:
        """Return the columns: the same whatever the order of the members."""
        pairs = zip(_set_scores(credal), self.scales, strict=True)
        columns = [column / scale for column, scale in pairs]
        n, k = columns[0].shape

        def of_class(values: HostArray, j: int) -> HostArray:
            column = np.zeros((n, k))
            column[:, j] = values
            return np.asarray(column - column.mean(axis=1, keepdims=True))

        ends = columns[0], columns[3]
        columns += [0.7 * of_class(column[:, j], j) for column in ends for j in self.classes]
        columns += [of_class(np.ones(n), j) for j in self.classes]
        n_own = len(columns)
        if self.centre is not None:
            assert features is not None
            scaled = features / self.width - self.centre / self.width
            columns += [of_class(column, j) for column in scaled.T for j in self.classes]
        return ExpertColumns(to_host(credal.mean().probs), np.stack(columns, axis=2), n_own)


def _set_scores(credal: CredalSet) -> list[HostArray]:
    """Log-probabilities of the set, and how much a small share of a foreign law raises each class."""
    lower, upper = (to_host(bound) for bound in singleton_bounds(credal))
    mean = to_host(credal.mean().probs)
    logs = np.log(np.maximum(mean, _FLOOR))
    kept = 1.0 - _CONTAMINATION
    scores = [
        logs,
        np.log(np.maximum(upper, _FLOOR)) - logs,
        np.log(np.maximum(lower, _FLOOR)) - logs,
        np.log(kept + _CONTAMINATION / np.maximum(upper, _FLOOR)),
        np.log(kept + _CONTAMINATION / np.maximum(1.0 - lower, _FLOOR)),
    ]
    return [column - column.mean(axis=1, keepdims=True) for column in scores]


def regression(
    scores: ExpertColumns, labels: HostArray, penalty: tuple[float, float], start: HostArray
) -> HostArray:
    """Minimise the log loss of g plus half the penalty times squared slopes, by Newton's method."""
    from scipy.linalg.lapack import dposv  # slow to load

    n, k, d = scores.columns.shape
    most = max(50, _CELLS // k)
    if n > most:  # evenly among the rows, which are in random order
        chosen = np.linspace(0, n - 1, most).astype(int)
        scores, labels = scores.rows(chosen), labels[chosen]
    columns = scores.columns
    flat = columns.reshape(-1, d)
    observed_sums = columns[np.arange(len(labels)), labels].sum(axis=0)
    ridge = np.where(np.arange(d) < scores.n_own, *penalty)
    rows, at = np.arange(len(labels)), np.arange(d)

    def loss(slopes: HostArray) -> tuple[float, HostArray]:
        g = scores.probs(slopes)
        likely = np.maximum(g[rows, labels], 1e-300)
        return float(0.5 * (ridge @ slopes**2) - np.add.reduce(np.log(likely))), g

    slopes = start
    value, g = loss(slopes)
    for _ in range(_NEWTON_STEPS):
        weighted = columns * g[:, :, None]
        means = np.add.reduce(weighted, axis=1)
        gradient = np.add.reduce(means) - observed_sums + ridge * slopes
        bends = weighted.reshape(-1, d).T @ flat - means.T @ means
        bends[at, at] += ridge
        step = dposv(bends, gradient)[1]  # a positive definite system
        gain = float(gradient @ step)
        if gain < _NEWTON_GAIN:
            break
        share = 1.0
        while share > 1e-3:
            tried, tried_probs = loss(slopes - share * step)
            if tried <= value - 1e-4 * share * gain:
                slopes, value, g = slopes - share * step, tried, tried_probs
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
        return cls(1.0 / np.maximum(upper, TINY), 1.0 / np.maximum(1.0 - lower, TINY), ranked)

    def rows(self, rows: HostArray) -> Bets:
        """Return the part of some instances."""
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
        shares /= np.add.reduce(shares)
    return shares


def _cuts(n: int, ordered: HostArray | None = None) -> HostArray:
    """Return where blocks begin and end; clusters `ordered` (n,), which stand together, stay whole."""
    cuts = np.unique(np.round(np.geomspace(max(START * n, 1.0), n, BLOCKS + 1)).astype(int))
    if ordered is None:
        return cuts
    ends = np.append(np.flatnonzero(np.diff(ordered)) + 1, n)
    return np.unique(ends[np.searchsorted(ends, cuts)])


def witness_of(
    credal: CredalSet,
    scores: ExpertColumns,
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
    slopes = [np.zeros(scores.columns.shape[2])] * len(PENALTIES)
    values = np.empty((len(PENALTIES) + 1, rows.size, k))
    for begin, end in itertools.pairwise(cuts):
        past, now = order[:begin], order[begin:end]
        place = slice(begin - cuts[0], end - cuts[0])
        learned, looked = scores.rows(past), scores.rows(now)
        for j, penalty in enumerate(PENALTIES):
            slopes[j] = regression(learned, labels[past], penalty, slopes[j])
            values[j, place] = looked.probs(slopes[j])
        values[-1, place] = bets.rows(now).values(_portfolio(bets.rows(past).paid(labels[past])))
    sets = credal[rows]
    for j in range(len(PENALTIES)):
        g = np.maximum(values[j], TINY)
        values[j] = 1.0 - _STAKE + _STAKE * g / np.maximum(nearest_to(sets, g), TINY)
    values /= support_of(sets, values)[0][:, :, None]  # e-variables, whatever pi is
    earned = np.log(np.maximum(values[:, np.arange(rows.size), labels[rows]], 1e-300)).cumsum(axis=1)
    u = np.empty((rows.size, k))
    for begin, end in itertools.pairwise(cuts - cuts[0]):
        before = earned[:, begin - 1] if begin else np.zeros(len(values))
        shares = np.exp(before - before.max())
        u[begin:end] = np.tensordot(shares / shares.sum(), values[:, begin:end], axes=1)
    return rows, np.maximum(u / support_of(sets, u[None, ...])[0][0][:, None], TINY)
