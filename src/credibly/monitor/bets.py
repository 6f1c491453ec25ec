"""What can be bet on against predictions of every kind, and what a bet pays when a label is known.

    e_a(y) = g_a(y) / max over p in C of sum_c p_c g_a(c)             C = {p} for a single distribution

Whatever law in C the label has, e_a pays at most 1 on average. Everything below is this, with a g_a that
depends on the prediction alone:

    temperature    g(c) = p_c^b                        divided by p_c, so that b = 1 pays 1
    class          g(c) = exp(d) if c = j, else 1
    confidence     g(c) = exp(d) if c is the top class and its probability lies in a range
    real values    the cell of the label between levels (of the distribution function, ranks among draws, or
                   quantiles), whose chances are known; normal scores moved, stretched, or more in a tail
    coverage       g = exp(d) if the set misses its label

Several raters of one row count as the mean of what their labels pay. A label whose stated probability is 0
refutes the predictions by itself; it is counted, and bets nothing.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri

from credibly._arrays.errors import InputError, UnsupportedError, one_of
from credibly._arrays.namespace import HostArray, as_float64, to_host
from credibly._arrays.philox import Seed
from credibly.credal.bounds import singleton_bounds, support_of
from credibly.credal.sets import as_set
from credibly.hypotests.resampling.choices import as_pools
from credibly.predictions import (
    Belief,
    ClassPredictions,
    Confidence,
    Counts,
    Dataset,
    Dirichlet,
    Ensemble,
    Intervals,
    PredictionIntervals,
    Predictions,
    PredictionSets,
    Quantiles,
    RealPredictions,
    Samples,
)
from credibly.results.monitor import Bet
from credibly.statistics.real_kernels import cells_of

HYPOTHESES = ("independent", "bayesian", "set")

CUT = 7.0
"""Nats beyond which a log loss counts no more: a mean without a largest value has no interval."""

_POWERS = {
    0.5: (1,),
    0.625: (1, 3),
    0.75: (1, 2),
    0.875: (4, 3),
    1.125: (0, 3),
    1.25: (0, 2),
    1.5: (0, 1),
    2.0: (0, 0),
}
"""Powers of p, as products of p (0), its second, fourth and eighth roots (1, 2, 3), and p^(3/4) (4)."""
_TILT = 0.4
_MOST_CLASSES = 20
_RANGES = (0.0, 0.5, 0.75, 0.9, 1.0)
_SHIFTS = (-0.5, -0.25, -0.1, 0.1, 0.25, 0.5)
_SCALES = (0.67, 0.8, 0.9, 1.12, 1.25, 1.5)
_TAIL = 0.1
_ODDS = (0.5, 2.0)
_MISSES = (0.4, 0.6, 0.8, 1.25, 1.6, 2.5)
_SCORES = np.linspace(-3.5, 3.5, 57)
_DRAWS = 30


class Payoffs(NamedTuple):
    """What rows pay: logarithms (a, n), stated and observed measures (q, n), labels that cannot be (n,)."""

    logs: HostArray
    expected: HostArray
    observed: HostArray
    impossible: HostArray


@dataclasses.dataclass(frozen=True)
class Book:
    """The bets that one monitor makes, chosen before the first label.

    Attributes
    ----------
    kind : str
        Name of the type of the predictions.
    hypothesis : str
        What the labels are compared with.
    n_classes : int
        Number of classes; 0 for real values.
    tilted : tuple of int
        Classes that are bet on by themselves: those that the first rows predict most.
    """

    kind: str
    hypothesis: str
    n_classes: int = 0
    tilted: tuple[int, ...] = ()

    @classmethod
    def of(cls, predictions: Predictions, hypothesis: str | None) -> Book:
        """Choose the bets for predictions like these."""
        kind, sets = type(predictions).__name__, isinstance(predictions, (Intervals, Belief))
        chosen = hypothesis or ("set" if sets else "independent")
        one_of("`hypothesis`", chosen, HYPOTHESES)
        allowed = {
            "independent": True,
            "bayesian": isinstance(predictions, Ensemble),
            "set": isinstance(predictions, (Ensemble, Dirichlet)) or sets,
        }
        if not allowed[chosen]:
            whose = "an Ensemble" if chosen == "bayesian" else "an Ensemble, Dirichlet, Intervals or Belief"
            raise UnsupportedError(
                f'`hypothesis="{chosen}"`', f"is about {whose}", f"got {kind}", "Leave it out."
            )
        if not isinstance(predictions, ClassPredictions):
            return cls(kind, chosen)
        k = predictions.n_classes
        expected = to_host(predictions.mean().probs).sum(axis=0)
        most = sorted(np.argsort(-expected, kind="stable")[:_MOST_CLASSES].tolist())
        return cls(kind, chosen, k, (1,) if k == 2 else tuple(most))

    @property
    def bets(self) -> tuple[Bet, ...]:
        """All bets, in the order of what they pay."""
        if self.n_classes:
            both = (-_TILT, _TILT)
            return (
                *(Bet("temperature", power) for power in _POWERS),
                *(Bet("class", tilt, j) for tilt in both for j in self.tilted),
                *(Bet("confidence", tilt, at) for tilt in both for at in range(len(_RANGES) - 1)),
            )
        if self.kind in ("PredictionSets", "PredictionIntervals"):
            return tuple(Bet("misses", odds) for odds in _MISSES)
        return (
            *(Bet("shift", by) for by in _SHIFTS),
            *(Bet("scale", by) for by in _SCALES),
            *(Bet(tail, odds) for tail in ("lower tail", "upper tail") for odds in _ODDS),
        )

    @property
    def prior(self) -> HostArray:
        """Weights of the bets (a,): every family has as much as any other."""
        families = [bet.family for bet in self.bets]
        sizes = np.array([families.count(family) for family in families])
        return 1.0 / (sizes * len(set(families)))

    @property
    def measures(self) -> tuple[tuple[str, float], ...]:
        """Names and largest values of what is tracked."""
        if self.n_classes:
            event = (("event", 1.0),) if self.n_classes == 2 else ()
            return (("accuracy", 1.0), ("log loss", CUT), *event)
        if self.kind in ("PredictionSets", "PredictionIntervals"):
            return (("coverage", 1.0),)
        return (("central share", 1.0), ("lower share", 1.0))

    def payoffs(self, rows: Dataset, seed: Seed, posterior: HostArray | None) -> Payoffs:
        """Return what labels pay; `posterior` of members (m,), logarithms, learns from them row by row."""
        predictions = rows.predictions
        if isinstance(predictions, (PredictionSets, PredictionIntervals)):
            return _of_coverage(predictions, rows)
        if isinstance(predictions, RealPredictions):
            return _of_values(predictions, rows, seed)
        assert isinstance(predictions, ClassPredictions)
        shares = _shares(rows)
        if self.hypothesis == "set":
            return self._of_sets(predictions, shares, seed)
        if isinstance(predictions, Ensemble) and posterior is not None:
            probs = _predictive(predictions, shares, posterior)
        else:
            probs = to_host(as_float64(predictions.mean().probs))
            if isinstance(predictions, Ensemble) and predictions.holds_drawn_labels:
                # a drawn class and the label are exchangeable: the label is any of their pool
                probs = (predictions.n_members * probs + shares.table()) / (predictions.n_members + 1.0)
        columns = np.ascontiguousarray(probs.T)
        logs, seen = np.empty((len(self.bets), len(probs))), shares.of(columns)
        possible = seen > 0
        _temperatures(logs, columns, shares)
        answers = isinstance(predictions, Confidence)  # each is predicted to be right, however sure it is
        top = np.ones(len(probs), dtype=np.intp) if answers else columns.argmax(axis=0)
        self._tilts(logs, columns, columns, top, columns, shares)
        logs[:, ~possible] = 0.0
        return Payoffs(logs, *self._tracked(columns, top, shares), ~possible)

    def _of_sets(self, predictions: ClassPredictions, shares: _Shares, seed: Seed) -> Payoffs:
        """Return what labels pay against the law of the set that is best for the set."""
        sets = as_set(predictions, n_samples=_DRAWS, rng=seed)
        credal = sets.replace_rows(
            **{name: to_host(as_float64(array)) for name, array in sets.row_arrays().items()}
        )
        centre = np.maximum(to_host(as_float64(predictions.mean().probs)), 1e-12)
        lower, upper = (np.ascontiguousarray(to_host(bound).T) for bound in singleton_bounds(credal))
        logs = np.empty((len(self.bets), len(centre)))
        for row, power in zip(logs, _POWERS, strict=False):
            payoff = centre ** (power - 1.0)
            row[:] = np.log(shares.of(payoff.T) / to_host(support_of(credal, payoff[None])[0])[0])
        columns = np.ascontiguousarray(centre.T)
        top = columns.argmax(axis=0)
        self._tilts(logs, lower, upper, top, columns, shares)
        possible = shares.of(upper) > 0
        logs[:, ~possible] = 0.0
        return Payoffs(logs, *self._tracked(columns, top, shares), ~possible)

    def _tilts(
        self,
        logs: HostArray,
        lower: HostArray,
        upper: HostArray,
        top: HostArray,
        columns: HostArray,
        shares: _Shares,
    ) -> None:
        """Fill in bets on classes, and on the top class by its probability; bounds are (k, n)."""
        at, n = len(_POWERS), np.arange(len(top))
        seen = shares.at(top)
        part = np.searchsorted(_RANGES[1:-1], columns[top, n], side="right")
        logs[at + 2 * len(self.tilted) :] = 0.0
        for direction, bound in enumerate((lower, upper)):
            gain = np.expm1(_TILT * (2 * direction - 1))
            rows = logs[at + direction * len(self.tilted) :][: len(self.tilted)]
            np.log1p(gain * bound[list(self.tilted)], out=rows)
            np.negative(rows, out=rows)
            shares.add(rows, self.tilted, gain)
            place = at + 2 * len(self.tilted) + direction * (len(_RANGES) - 1) + part
            logs[place, n] = np.log1p(gain * seen) - np.log1p(gain * bound[top, n])

    def _tracked(self, columns: HostArray, top: HostArray, shares: _Shares) -> tuple[HostArray, HostArray]:
        """Return stated and observed accuracy, log loss, and the share of class 1 of two, (q, n) each."""
        cost = np.minimum(-np.log(np.maximum(columns, 1e-300)), CUT)
        expected = [columns[top, shares.rows], np.einsum("kn,kn->n", columns, cost) / CUT]
        observed = [shares.at(top), shares.of(cost) / CUT]
        if self.n_classes == 2:
            expected.append(columns[1])
            observed.append(shares.at(np.ones_like(top)))
        return np.stack(expected), np.stack(observed)


class _Shares:
    """What was observed of rows over classes: one class each (n,), or shares of raters (n, k)."""

    def __init__(self, labels: HostArray, n_classes: int) -> None:
        self.labels, self.n_classes = labels, n_classes
        self.rows = np.arange(len(labels))

    def of(self, values: HostArray) -> HostArray:
        """Return the mean of values (k, n) at what was observed, (n,)."""
        if self.labels.ndim == 1:
            return np.asarray(values[self.labels, self.rows])
        return np.asarray(np.einsum("kn,nk->n", np.where(self.labels.T > 0, values, 0.0), self.labels))

    def at(self, classes: HostArray) -> HostArray:
        """Return the share of labels that are the class of each row, (n,)."""
        if self.labels.ndim == 1:
            return np.asarray(self.labels == classes, dtype=np.float64)
        return np.asarray(self.labels[self.rows, classes])

    def add(self, rows: HostArray, classes: tuple[int, ...], gain: float) -> None:
        """Add log(1 + gain share) to rows (classes, n)."""
        if self.labels.ndim == 1:
            place = np.full(self.n_classes, -1)
            place[list(classes)] = np.arange(len(classes))
            where = place[self.labels]
            bet = where >= 0
            rows[where[bet], self.rows[bet]] += np.log1p(gain)
        else:
            rows += np.log1p(gain * self.labels[:, list(classes)].T)

    def table(self) -> HostArray:
        """Return the shares (n, k)."""
        return self.labels if self.labels.ndim > 1 else np.asarray(np.eye(self.n_classes)[self.labels])


def _shares(rows: Dataset) -> _Shares:
    values = to_host(rows.batch.values)[0]
    if isinstance(rows.batch, Counts):
        return _Shares(values / values.sum(axis=1, keepdims=True), values.shape[1])
    return _Shares(values.astype(np.intp), rows.predictions.n_classes)  # type: ignore[attr-defined]


def _temperatures(logs: HostArray, columns: HostArray, shares: _Shares) -> None:
    """Fill in p_y^(b - 1) / sum_c p_c^b, from square roots alone."""
    roots = [columns]
    for _ in range(3):
        roots.append(np.sqrt(roots[-1]))
    roots.append(roots[1] * roots[2])
    logarithm = np.log(np.maximum(shares.of(columns), 1e-300)) if shares.labels.ndim == 1 else None
    for row, (power, factors) in zip(logs, _POWERS.items(), strict=False):
        total = np.einsum(",".join(["kn"] * len(factors)) + "->n", *(roots[at] for at in factors))
        if logarithm is None:
            paid = np.log(np.maximum(shares.of(np.maximum(columns, 1e-300) ** (power - 1.0)), 1e-300))
            np.subtract(paid, np.log(total), out=row)
        else:
            np.log(total, out=row)
            np.subtract((power - 1.0) * logarithm, row, out=row)


def _predictive(predictions: Ensemble, shares: _Shares, posterior: HostArray) -> HostArray:
    """Return what the ensemble predicts (n, k) if one member draws all labels, with what labels say of it.

    Conditional on all labels before row i, the label of row i has the law sum_j w_ij p_ij.
    """
    if shares.labels.ndim != 1:
        raise UnsupportedError(
            '`hypothesis="bayesian"`',
            "needs one label per row",
            "these have several raters",
            "Leave it out, or draw one rater: `labels.draw(rng=0)`.",
        )
    probs = to_host(as_float64(predictions.probs))
    likelihood = np.log(np.maximum(probs[shares.rows, :, shares.labels], 1e-300))
    path = np.cumsum(np.vstack([posterior, likelihood]), axis=0)
    posterior[:] = path[-1] - path[-1].max()
    weights = np.exp(path[:-1] - path[:-1].max(axis=1, keepdims=True))
    weights /= weights.sum(axis=1, keepdims=True)
    return np.asarray(np.einsum("nm,nmk->nk", weights, probs))


def _of_values(predictions: RealPredictions, rows: Dataset, seed: Seed) -> Payoffs:
    """Return what real labels pay: over the cells that a label may lie in, the mean or the least."""
    levels, first, last = _cells(predictions, rows, seed)
    chances = np.diff(levels, prepend=0.0, append=1.0)
    table = np.array(list(_cell_bets(levels, chances)))
    paid = _least if isinstance(predictions, Quantiles) else _means
    upper = np.append(levels, 1.0)
    lower = upper - chances
    low, high = upper <= 0.5 + 1e-9, np.minimum(lower, 1.0 - upper) >= 0.05 - 1e-9
    events = np.stack([high, low]).astype(np.float64)
    expected = np.repeat((events @ chances)[:, None], len(first), axis=1)
    logs = np.log(paid(table, chances, first, last + 1))
    return Payoffs(logs, expected, _means(events, chances, first, last + 1), np.zeros(len(first), dtype=bool))


def _means(table: HostArray, chances: HostArray, first: HostArray, end: HostArray) -> HostArray:
    """Return the means (a, n) of a table over cells from `first` to before `end`, weighted by chances."""
    weighted = np.concatenate([np.zeros((len(table), 1)), np.cumsum(table * chances, axis=1)], axis=1)
    total = np.append(0.0, np.cumsum(chances))
    return np.asarray((weighted[:, end] - weighted[:, first]) / (total[end] - total[first]))


def _least(table: HostArray, chances: HostArray, first: HostArray, end: HostArray) -> HostArray:
    """Return the least (a, n) that labels pay which equal quantiles.

    A value with a chance of its own holds all cells between its quantiles, and unknown parts of the two
    around them. The least that any parts pay is found with each of them whole or empty.
    """
    least = _means(table, chances, first, end)
    for skipped, left in ((1, 0), (0, 1), (1, 1)):
        tied = end - first > skipped + left
        part = _means(table, chances, first[tied] + skipped, end[tied] - left)
        least[:, tied] = np.minimum(least[:, tied], part)
    return least


def _cells(predictions: RealPredictions, rows: Dataset, seed: Seed) -> tuple[HostArray, HostArray, HostArray]:
    """Return levels between cells, and the first and last cell that every label may lie in."""
    if isinstance(predictions, Quantiles):
        first, last = cells_of(rows.batch, predictions.values)
        return to_host(as_float64(predictions.levels)), to_host(first)[0], to_host(last)[0]
    if isinstance(predictions, Samples):
        pool = to_host(as_pools(rows, seed, shared=False).predictions.values)  # type: ignore[attr-defined]
        label, draws = pool[:, :1], pool[:, 1:]
        s = draws.shape[1]
        return np.arange(1, s + 1) / (s + 1), (draws < label).sum(axis=1), (draws <= label).sum(axis=1)
    levels = ndtr(_SCORES)
    cell = np.searchsorted(levels, to_host(predictions.cdf(rows.batch.values[0])))
    return levels, cell, cell


def _cell_bets(levels: HostArray, chances: HostArray) -> Iterator[HostArray]:
    """Yield what every bet pays in each cell."""
    edges = np.concatenate([[-np.inf], ndtri(levels), [np.inf]])
    for shift, scale in (*((by, 1.0) for by in _SHIFTS), *((0.0, by) for by in _SCALES)):
        paid = np.maximum(np.diff(ndtr((edges - shift) / scale)) / chances, 1e-12)
        yield paid / (paid @ chances)  # 1 on average, whatever rounding did to a tail
    upper = np.append(levels, 1.0)
    for depth in (upper, 1.0 - upper + chances):
        tail = depth <= max(_TAIL, depth.min()) + 1e-9
        for odds in _ODDS:
            yield np.where(tail, odds, 1.0) / (1.0 + (odds - 1.0) * chances[tail].sum())


def _of_coverage(predictions: PredictionSets | PredictionIntervals, rows: Dataset) -> Payoffs:
    """Return what sets with a claimed coverage pay when they miss."""
    batch = rows.batch
    if isinstance(batch, Counts):
        covered = _shares(rows).of(to_host(predictions._leading).T.astype(np.float64))
    else:
        covered = to_host(predictions.covers(batch))[0].astype(np.float64)  # type: ignore[arg-type]
    gains = np.array(_MISSES)[:, None] - 1.0
    logs = np.log1p(gains * (1.0 - covered)) - np.log1p(gains * (1.0 - predictions.claimed))
    return Payoffs(
        logs,
        np.full((1, len(covered)), predictions.claimed),
        covered[None],
        np.zeros(len(covered), dtype=bool),
    )


def require_like(predictions: Predictions, book: Book) -> None:
    """Raise where rows are of another kind than the first ones."""
    k = predictions.n_classes if isinstance(predictions, ClassPredictions) else 0
    if (type(predictions).__name__, k) != (book.kind, book.n_classes):
        seen = f"{type(predictions).__name__} with {k} classes" if k else type(predictions).__name__
        first = f"{book.kind} with {book.n_classes} classes" if book.n_classes else book.kind
        raise InputError(
            "predictions", f"must be like those before: {first}", f"got {seen}", "Begin another monitor."
        )
