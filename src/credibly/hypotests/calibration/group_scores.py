"""What an instance adds to the sums of its group: scores whose law is known under the hypothesis.

    score a(y) with mean, variance and third central moment under the hypothesis; the residual is a - mean

    confidence   a = 1 where the label is the predicted class            mean: the confidence
    class c      a = 1 where the label is c                              mean: its probability
    rank         a = F(y), of draws and quantiles its middle             mean: 1/2
    coverage     a = 1 where y is in the central interval                mean: what the interval holds
    of sets      a = 1 where the label is c, or is not                   mean: the most that the set allows

Sums over cells are taken where rows are, in chunks and on other machines; of replicates too, whose labels
depend on the seed and the number of the row alone.
"""

from __future__ import annotations

import dataclasses
from functools import cached_property
from typing import Any, Literal

import numpy as np

from credibly._arrays.namespace import (
    Array,
    HostArray,
    as_float64,
    like,
    namespace,
    on_accelerator,
    rows_within_budget,
    tiles,
    to_host,
)
from credibly._arrays.philox import Seed, Stream, Uniforms
from credibly._arrays.sums import group_sums, sums_in_order
from credibly.credal.bounds import singleton_bounds
from credibly.credal.sets import as_set
from credibly.hypotests.resampling.replicates import Replicates, consistent
from credibly.predictions import (
    ClassPredictions,
    Dataset,
    Gaussian,
    Predictions,
    Quantiles,
    as_point,
)
from credibly.predictions.samples import Pool
from credibly.statistics.coverage import symmetric_levels
from credibly.statistics.proper import top_label

HELD = 0.9
"""What the central interval of a real value holds."""

_TILE_LABELS = 2**20
_MOST_COLUMNS = 2**13  # cells of a product with an indicator on a device; more are summed on the host
_DEVICE_BYTES = 48  # of a label drawn on a device: its random words and the temporaries


@dataclasses.dataclass(frozen=True)
class Measure:
    """One way to be off.

    Attributes
    ----------
    kind : {"confidence", "class", "rank", "coverage"}
        What is counted.
    label : int or None
        The class that is counted.
    bound : {"", "upper", "lower"}
        Of sets: which bound may be broken.
    """

    kind: Literal["confidence", "class", "rank", "coverage"]
    label: int | None = None
    bound: Literal["", "upper", "lower"] = ""

    @property
    def name(self) -> str:
        """For example "confidence", "class 1", "class 1 above"."""
        own = self.kind if self.label is None else f"class {self.label}"
        return own + {"": "", "upper": " above", "lower": " below"}[self.bound]


@dataclasses.dataclass(frozen=True)
class Moments:
    """Sums over the rows of every cell, measures in front, (measures, cells)."""

    score: HostArray
    mean: HostArray
    variance: HostArray
    third: HostArray
    square: HostArray
    cube: HostArray
    """Of squared residuals, and of their third powers."""
    rows: HostArray
    """Number of rows, (cells,)."""

    def __add__(self, other: Moments) -> Moments:
        own, others = dataclasses.astuple(self), dataclasses.astuple(other)
        return Moments(*(one + another for one, another in zip(own, others, strict=True)))


@dataclasses.dataclass(frozen=True)
class Scoring:
    """From rows to sums of scores over cells; it is sent to other processes.

    Attributes
    ----------
    measures : tuple of Measure
        What is counted.
    n_cells : int
        Number of cells; the cell of a row stands in place of its group.
    seed : tuple of int
        Key of the counters.
    as_sets : bool
        Whether every distribution of a set is allowed, not its mean alone.
    """

    measures: tuple[Measure, ...]
    n_cells: int
    seed: Seed
    as_sets: bool = False

    def of(self, chunk: Dataset) -> ClassScores | SetScores | RealScores:
        """Return the scores of some rows."""
        if not isinstance(chunk.predictions, ClassPredictions):
            return RealScores(self, chunk)
        return SetScores(self, chunk) if self.as_sets else ClassScores(self, chunk)

    def moments(self, chunk: Dataset) -> Moments:
        """Return what was observed in every cell and what the hypothesis says about it."""
        scores = self.of(chunk)
        found = []
        for measure in self.measures:
            score, mean, variance, third = scores.law(measure)
            apart = score - mean
            parts = (score, mean, variance, third, apart**2, apart**3)
            stacked = namespace(apart).stack([apart * 0.0 + one for one in parts])
            cells = scores.places_of_cells
            if self.n_cells > _MOST_COLUMNS:
                stacked, cells = to_host(stacked), scores.cells
            found.append(to_host(group_sums(stacked, cells, self.n_cells)))
        score, mean, variance, third, square, cube = np.stack(found, axis=1)
        rows = np.bincount(np.asarray(chunk.groups), minlength=self.n_cells)
        return Moments(score, mean, variance, third, square, cube, rows)

    def replicated(self, reps: slice, chunk: Dataset) -> HostArray:
        """Return the sums of scores of labels drawn under the hypothesis, (b, measures, cells)."""
        scores = self.of(chunk)
        found = np.empty((reps.stop - reps.start, len(self.measures), self.n_cells))
        most = max(1, _TILE_LABELS // len(chunk))
        if scores.on_device:
            # every operation is a launch of its own: a larger `memory_limit` gives fewer and larger tiles
            most = rows_within_budget(_DEVICE_BYTES * len(chunk), 0.5)
        for tile in tiles(len(found), most):
            own = slice(reps.start + tile.start, reps.start + tile.stop)
            found[tile] = scores.drawn(own)
        return found


Law = tuple[Array, Any, Any, Any]
"""Scores of the labels (n,), and their mean, variance and third central moment under the hypothesis."""


def _event(happened: Array, probs: Array) -> Law:
    """Return the law of an event with probabilities (n,)."""
    variance = probs * (1.0 - probs)
    xp = namespace(probs)
    return xp.astype(happened, xp.float64), probs, variance, variance * (1.0 - 2.0 * probs)


class _Cells:
    """The cells of some rows, and sums over them."""

    def __init__(self, scoring: Scoring, chunk: Dataset) -> None:
        self.scoring, self.start, self.n = scoring, chunk.start, len(chunk)
        self.cells = np.asarray(chunk.groups).astype(np.intp)
        self.on_device = on_accelerator(chunk.predictions._leading)
        self.reference = chunk.predictions._leading

    def here(self, array: Array) -> Array:
        """Return an array where sums are taken: on the device, else on the host."""
        return array if self.on_device else to_host(array)

    @property
    def places_of_cells(self) -> Array:
        """The cells, where sums are taken."""
        return like(self.cells, self.reference) if self.on_device else self.cells

    @cached_property
    def order(self) -> tuple[Array, Array]:
        """Rows by their cells, and how many rows the cells up to each hold; on the device."""
        ends = np.cumsum(np.bincount(self.cells, minlength=self.scoring.n_cells))
        short = np.uint16 if self.scoring.n_cells <= 2**16 else np.intp  # short numbers are sorted by digits
        order = np.argsort(self.cells.astype(short), kind="stable")
        return like(order, self.reference), like(ends, self.reference)

    def counted(self, events: Array) -> HostArray:
        """Count events (b, n) in every cell, (b, cells); on a device those of rows in the order of cells."""
        if self.on_device:
            return np.asarray(to_host(sums_in_order(events, self.order[1])), dtype=np.float64)
        size = self.scoring.n_cells
        counts = [np.bincount(self.cells[row], minlength=size) for row in to_host(events)]
        return np.stack(counts).astype(np.float64)


class ClassScores(_Cells):
    """Scores of classes whose labels are drawn from the mean prediction."""

    def __init__(self, scoring: Scoring, chunk: Dataset) -> None:
        super().__init__(scoring, chunk)
        self.probs = as_point(chunk.predictions)[0].probs
        self.confidence, self.predicted = top_label(self.probs)
        self.labels = chunk.batch.values[0, :]

    def law(self, measure: Measure) -> Law:
        """Return scores and their law."""
        if measure.kind == "confidence":
            return _event(self.here(self.labels == self.predicted), self.here(as_float64(self.confidence)))
        probs = self.here(as_float64(self.probs[:, measure.label]))
        return _event(self.here(self.labels == measure.label), probs)

    @cached_property
    def replicates(self) -> Replicates:
        """Labels of all replicates."""
        return Replicates(self.probs, self.scoring.seed, self.start)

    @cached_property
    def places(self) -> HostArray:
        """The first place of every row's cell in a table of cells and classes."""
        return np.asarray(self.cells * self.probs.shape[1])

    def drawn(self, reps: slice) -> HostArray:
        """Return sums over cells, (b, measures, cells)."""
        labels, predicted = self.replicates.labels(reps).values, self.predicted
        if self.on_device:  # put in order once for all measures
            labels, predicted = labels[:, self.order[0]], predicted[self.order[0]]
        measures = self.scoring.measures
        found = np.empty((labels.shape[0], len(measures), self.scoring.n_cells))
        classes = [at for at, one in enumerate(measures) if one.kind == "class"]
        for at, one in enumerate(measures):
            if one.kind == "confidence":
                found[:, at] = self.counted(labels == predicted[None, :])
            elif self.on_device:
                found[:, at] = self.counted(labels == one.label)
        if classes and not self.on_device:
            own, k = [measures[at].label or 0 for at in classes], self.probs.shape[1]
            for into, row in zip(found, to_host(labels), strict=True):  # all classes are counted at once
                counts = np.bincount(self.places + row, minlength=self.scoring.n_cells * k)
                into[classes] = counts.reshape(-1, k).T[own]
        return found


class SetScores(_Cells):
    """Scores of sets: the more of an event than the most probable distribution of the set allows.

    A count is largest, in all groups at once, where every row has the upper probability of the event, so that
    replicates drawn there bound the tail of every truth in the set.
    """

    def __init__(self, scoring: Scoring, chunk: Dataset) -> None:
        super().__init__(scoring, chunk)
        lower, upper = singleton_bounds(as_set(chunk.predictions))
        self.lower, self.upper = to_host(as_float64(lower)), to_host(as_float64(upper))
        self.predicted = to_host(top_label(as_point(chunk.predictions)[0].probs)[1]).astype(np.intp)
        self.labels = to_host(chunk.batch.values)[0]
        self.on_device = False  # bounds of a few classes are not worth a device

    def _most(self, measure: Measure) -> tuple[HostArray, HostArray]:
        """Return where the event happened, and its largest probability in every set."""
        rows = np.arange(self.n)
        column: Any = self.predicted if measure.label is None else measure.label
        happened = self.labels == column
        if measure.bound == "upper":
            return happened, np.clip(self.upper[rows, column], 0.0, 1.0)
        return ~happened, np.clip(1.0 - self.lower[rows, column], 0.0, 1.0)

    def law(self, measure: Measure) -> Law:
        """Return scores and their law."""
        return _event(*self._most(measure))

    @cached_property
    def replicates(self) -> list[Replicates]:
        """Events of all replicates, of every measure from the same uniform numbers."""
        most = [self._most(measure)[1] for measure in self.scoring.measures]
        return [Replicates(np.stack([1.0 - q, q], axis=1), self.scoring.seed, self.start) for q in most]

    def drawn(self, reps: slice) -> HostArray:
        """Return sums over cells, (b, measures, cells)."""
        return np.stack([self.counted(one.labels(reps).values > 0) for one in self.replicates], axis=1)


class RealScores(_Cells):
    """Scores of real values: where the label lies in its predicted distribution."""

    def __init__(self, scoring: Scoring, chunk: Dataset) -> None:
        super().__init__(scoring, chunk)
        given = chunk.predictions
        self.table: HostArray | None = None  # (n or 1, choices): F(y) of every label that may be chosen
        self.weights: HostArray | None = None  # (choices,): how often each is chosen
        self.observed: Array
        self.interval = central_interval(given)
        self.uniforms = Uniforms(scoring.seed, Stream.RESTS)
        if isinstance(given, Gaussian):
            self.observed = self.here(as_float64(given.cdf(chunk.batch.values[0, :])))
            return
        self.on_device = False  # tables of choices are looked up on the host
        source = consistent(scoring.seed)
        posed = source.pose(chunk)
        self.drawing = source(posed)
        codes = to_host(posed.batch.values)[0].astype(np.intp)
        if isinstance(posed.predictions, Pool):
            self.table = _middle_ranks(to_host(posed.predictions.values))
            self.weights = np.full(self.table.shape[1], 1.0 / self.table.shape[1])
            self.observed = self.table[np.arange(self.n), codes]
        else:
            assert isinstance(given, Quantiles)
            edges = np.concatenate([[0.0], to_host(as_float64(given.levels)), [1.0]])
            # codes are (first cell, last cell): they differ where a label equals a quantile
            self.table = 0.5 * (edges[:-1, None] + edges[None, 1:]).reshape(1, -1)
            self.weights = np.diag(np.diff(edges)).ravel()
            self.observed = self.table[0, codes]

    def _score(self, measure: Measure, values: Array) -> Array:
        if measure.kind == "rank":
            return values
        low, high = self.interval or (0.0, 1.0)
        inside = (values >= low) & (values <= high)
        return namespace(values).astype(inside, namespace(values).float64)

    def law(self, measure: Measure) -> Law:
        """Return scores and their law."""
        score = self._score(measure, self.observed)
        if self.table is None or self.weights is None:
            if measure.kind == "rank":
                return score, 0.5, 1.0 / 12.0, 0.0
            return _event(score, score * 0.0 + HELD)
        values = self._score(measure, self.table)
        mean = values @ self.weights
        apart = values - mean[:, None]
        return score, mean, apart**2 @ self.weights, apart**3 @ self.weights

    def drawn(self, reps: slice) -> HostArray:
        """Return sums over cells, (b, measures, cells)."""
        rows = slice(self.start, self.start + self.n)
        if self.table is None:
            values = self.uniforms.block(reps, rows, self.reference if self.on_device else None)
        else:
            codes = to_host(self.drawing.labels(reps).values).astype(np.intp)
            values = self.table[np.arange(self.n)[None, :] if len(self.table) > 1 else 0, codes]
        cells, size = self.places_of_cells, self.scoring.n_cells
        sums = [
            to_host(group_sums(self._score(measure, values), cells, size))
            for measure in self.scoring.measures
        ]
        return np.stack(sums, axis=1)


def _middle_ranks(pool: HostArray) -> HostArray:
    """Return the place of every number of a pool (n, p) among all, 0 to 1; of equal ones the middle."""
    n, p = pool.shape
    order = np.argsort(pool, axis=1, kind="stable")
    ordered = np.take_along_axis(pool, order, axis=1)
    new = np.concatenate([np.ones((n, 1), dtype=bool), ordered[:, 1:] != ordered[:, :-1]], axis=1)
    places = np.arange(p)
    first = np.maximum.accumulate(np.where(new, places, 0), axis=1)
    ends = np.concatenate([new[:, 1:], np.ones((n, 1), dtype=bool)], axis=1)
    last = np.minimum.accumulate(np.where(ends, places, p)[:, ::-1], axis=1)[:, ::-1]
    ranks = np.empty((n, p))
    np.put_along_axis(ranks, order, (first + last + 1) / (2.0 * p), axis=1)
    return ranks


def central_interval(predictions: Predictions) -> tuple[float, float] | None:
    """Return the levels of the central interval; for quantiles the one nearest to 90 %, None without any."""
    if not isinstance(predictions, Quantiles):
        return (1.0 - HELD) / 2, (1.0 + HELD) / 2
    low, high = symmetric_levels(predictions)
    if not low.size:
        return None
    levels = to_host(as_float64(predictions.levels))
    nearest = int(np.abs(levels[high] - levels[low] - HELD).argmin())
    return float(levels[low[nearest]]), float(levels[high[nearest]])
