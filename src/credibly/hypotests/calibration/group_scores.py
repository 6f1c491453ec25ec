"""What an instance adds to the sums of its group: terms whose law is known under the hypothesis.

    confidence   1 where the label is the predicted class            mean: the confidence
    class c      1 where the label is c                              mean: its probability
    rank         F(y), of draws and quantiles its middle             mean: 1/2
    coverage     1 where y is in the central interval                mean: what the interval holds
    of sets      1 where the label is c, or is not                   mean: the most that the set allows

Terms are split by the cell of a row. Sums are taken where rows are, in chunks and on other machines; of
replicates too, whose labels depend on the seed and the number of the row alone.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from functools import partial, reduce
from operator import add
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
from credibly._arrays.sums import State
from credibly.credal.bounds import singleton_bounds
from credibly.credal.sets import as_set
from credibly.hypotests.resampling.choices import Drawn
from credibly.hypotests.resampling.loop import label_tiles
from credibly.hypotests.resampling.replicates import Drawing, Replicates, consistent
from credibly.predictions import (
    Classes,
    ClassPredictions,
    Dataset,
    Gaussian,
    Labels,
    Predictions,
    Quantiles,
    Reals,
    as_point,
)
from credibly.predictions.samples import Pool
from credibly.statistics.coverage import symmetric_levels
from credibly.statistics.events import Events
from credibly.statistics.proper import top_label
from credibly.statistics.terms import Losses, Terms

HELD = 0.9
"""What the central interval of a real value holds."""


@dataclasses.dataclass(frozen=True)
class AuditMeasure:
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

    kind: str
    label: int | None = None
    bound: Literal["", "upper", "lower"] = ""

    def named(self, classes: Sequence[str] | None = None) -> str:
        """Return "confidence", "class 1" or "class 1 above"; a class by its name where classes have names."""
        if self.label is not None:
            what = f"class {self.label if classes is None else classes[self.label]}"
        else:
            what = self.kind
        return what + {"": "", "upper": " above", "lower": " below"}[self.bound]


_BYTES_OF_SUMS = 64  # of a row and class: moments, deviations and their powers
_NEEDS = frozenset({"expected", "variance", "third"})
_LAWS = {
    "rank": (0.5, 1.0 / 12.0, 0.0),
    "coverage": (HELD, HELD * (1.0 - HELD), HELD * (1.0 - HELD) * (1.0 - 2.0 * HELD)),
}
"""Mean, variance and third central moment of scores of a uniform number."""


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

    measures: tuple[AuditMeasure, ...]
    n_cells: int
    seed: Seed
    as_sets: bool = False

    def sums(self, chunk: Dataset) -> State:
        """Return what was observed in every cell and what the hypothesis says about it, (measures, cells)."""
        predictions, width = chunk.predictions, 1
        if isinstance(predictions, ClassPredictions):
            width = predictions.n_classes
            predictions = predictions if self.as_sets else as_point(predictions)[0]
        chunk = dataclasses.replace(chunk, predictions=predictions)
        every = tiles(len(chunk), max(self.n_cells, rows_within_budget(_BYTES_OF_SUMS * width, 1 / 16)))
        return reduce(add, (self._sums(chunk.rows(rows)) for rows in every))

    def _sums(self, chunk: Dataset) -> State:
        parts = []
        for scores in self._scores(chunk):
            states = []
            for terms in scores.split(self.n_cells):
                square, cube = terms.powers(scores.observed)
                seen = {"observed": terms.observed(scores.observed), "square": square, "cube": cube}
                states.append(State(terms.fixed(None, _NEEDS), **seen))
            by_name = {name: [state[name] for state in states] for name in states[0]}
            parts.append({name: scores.by_measure(sums)[0] for name, sums in by_name.items()})
        return State({name: np.concatenate([part[name] for part in parts]) for name in parts[0]})

    def replicated(self, reps: slice, chunk: Dataset) -> HostArray:
        """Return the sums of labels drawn under the hypothesis, (b, measures, cells)."""
        totals = np.empty((reps.stop - reps.start, len(self.measures), self.n_cells))
        first = 0
        for scores in self._scores(chunk):
            columns = slice(first, first + len(scores.columns))
            first, terms = columns.stop, scores.split(self.n_cells)
            sums = [
                scores.by_measure([term.observed(batch) for term in terms])
                for _, batch in label_tiles(scores.observed, scores.draw(), reps)
            ]
            totals[:, columns] = np.concatenate(sums)[-len(totals) :]  # without the observation
        return totals

    def _scores(self, chunk: Dataset) -> Iterator[_Scores]:
        if not isinstance(chunk.predictions, ClassPredictions):
            yield _of_reals(self, chunk)
        elif self.as_sets:
            yield from _of_sets(self, chunk)
        else:
            yield _of_classes(self, chunk)


@dataclasses.dataclass(frozen=True)
class _Scores:
    """Labels as replicates see them, where those come from, and what they add.

    Attributes
    ----------
    observed : Labels
        The labels of the rows.
    draw : callable
        Returns labels under the hypothesis.
    terms : list of Terms
        What labels add, by measure or of all classes at once.
    columns : list of int
        Which sum of all terms belongs to every measure.
    part : array (n,)
        The cell of every row.
    """

    observed: Labels
    draw: Callable[[], Drawing]
    terms: Sequence[Terms]
    columns: Sequence[int]
    part: Array

    def split(self, n_cells: int) -> list[Terms]:
        """Return the terms with sums for every cell."""
        return [term.split(self.part, n_cells) for term in self.terms]

    def by_measure(self, sums: Sequence[Array]) -> HostArray:
        """Return sums of all terms as (b, measures, cells)."""
        wide = [
            to_host(total).reshape(len(total), -1, terms.n_cells)
            for total, terms in zip(sums, self.terms, strict=True)
        ]
        return np.moveaxis(np.concatenate(wide, axis=2)[:, :, self.columns], 2, 1)


def _of_classes(scoring: Scoring, chunk: Dataset) -> _Scores:
    """Return scores of classes whose labels are drawn from the mean prediction."""
    point = as_point(chunk.predictions)[0]
    probs, labels = point.probs, chunk.batch.values
    on_device = on_accelerator(probs)
    if not on_device:
        probs, labels = to_host(probs), to_host(labels)
        point = point.replace_rows(probs=probs)
    cells = _cells(chunk)
    draw: Callable[[], Drawing] = partial(Replicates, probs, scoring.seed, chunk.start)
    if on_device:  # rows in the order of their cells are counted by one running sum
        short = np.uint16 if scoring.n_cells <= 2**16 else np.intp  # short numbers are sorted by digits
        order = like(np.argsort(cells.astype(short), kind="stable"), probs)
        probs, labels, cells = probs[order, :], labels[:, order], like(cells, probs)[order]
        point = point.replace_rows(probs=probs)
        draw = partial(_in_order, draw(), order)
    confidence, predicted = top_label(point)
    terms = [Events(probs)] if any(measure.kind == "class" for measure in scoring.measures) else []
    width = sum(term.n_cells for term in terms)
    columns = [width if measure.label is None else measure.label for measure in scoring.measures]
    if width in columns:
        terms.append(Events(confidence, event=predicted))
    return _Scores(Classes(labels, int(probs.shape[1])), draw, terms, columns, cells)


def _in_order(drawing: Drawing, order: Array) -> Drawn:
    """Return labels that a device draws, rows in another order."""
    return Drawn(lambda reps: drawing.labels(reps).take(order), on_device=True)


def _cells(chunk: Dataset) -> Array:
    return np.asarray(chunk.groups).astype(np.intp)


def _of_sets(scoring: Scoring, chunk: Dataset) -> Iterator[_Scores]:
    """Yield scores of sets: the more of an event than the most probable distribution of the set allows.

    A count is largest, in all groups at once, where every row has the upper probability of the event, so that
    replicates drawn there bound the tail of every truth in the set. All events see the same uniform numbers.
    """
    lower, upper = (to_host(as_float64(bound)) for bound in singleton_bounds(as_set(chunk.predictions)))
    predicted = to_host(top_label(as_point(chunk.predictions)[0])[1]).astype(np.intp)
    labels, rows = to_host(chunk.batch.values), np.arange(len(chunk))
    for measure in scoring.measures:
        column: Any = predicted if measure.label is None else measure.label
        above = measure.bound == "upper"
        most = np.clip(upper[rows, column] if above else 1.0 - lower[rows, column], 0.0, 1.0)
        terms = Events(most, event=np.ones(len(chunk), dtype=np.uint8))
        happened = Classes(((labels == column) == above).astype(np.uint8), 2)
        coins = np.stack([1.0 - most, most], axis=1)
        draw = partial(Replicates, coins, scoring.seed, chunk.start)
        yield _Scores(happened, draw, [terms], [0], _cells(chunk))


@dataclasses.dataclass(frozen=True)
class RankDrawing:
    """Where labels lie in their predicted distributions, and where drawn ones lie.

    Attributes
    ----------
    observed : array (1, n)
        F(y), of draws and quantiles its middle.
    drawing : Drawing
        The same of labels drawn from the predictions.
    table, weights : ndarray (n or 1, choices) and (choices,), or None
        The places a drawn label can have and how often it has each; None where they are uniform.
    """

    observed: Array
    drawing: Drawing
    table: HostArray | None
    weights: HostArray | None


def drawn_ranks(chunk: Dataset, seed: Seed) -> RankDrawing:
    """Return the places of labels, and of labels drawn from real-valued predictions."""
    predictions = chunk.predictions
    if isinstance(predictions, Gaussian):
        observed = as_float64(predictions.cdf(chunk.batch.values))
        on_device = on_accelerator(observed)
        observed = observed if on_device else to_host(observed)
        uniforms, rows = Uniforms(seed, Stream.RESTS), slice(chunk.start, chunk.start + len(chunk))
        place = partial(uniforms.draw, instances=rows, reference=observed if on_device else None)
        return RankDrawing(observed, Drawn(lambda reps: Reals(place(reps)), on_device), None, None)
    source = consistent(seed)
    seen = source.pose(chunk)
    table, weights = _choices(seen.predictions)
    choices = source(seen)
    drawing = Drawn(lambda reps: Reals(_looked_up(table, choices.labels(reps))))
    return RankDrawing(_looked_up(table, seen.batch), drawing, table, weights)


def _of_reals(scoring: Scoring, chunk: Dataset) -> _Scores:
    """Return scores of real values: where the label lies in its predicted distribution."""
    cells = _cells(chunk)
    low, high = central_levels(chunk.predictions) or (0.0, 1.0)
    ranks = drawn_ranks(chunk, scoring.seed)
    observed, table, weights = ranks.observed, ranks.table, ranks.weights
    cells = cells if isinstance(observed, np.ndarray) else like(cells, observed)

    def score(measure: AuditMeasure, values: Array) -> Array:
        if measure.kind == "rank":
            return values
        inside = (values >= low) & (values <= high)
        return namespace(values).astype(inside, namespace(values).float64)

    def law(measure: AuditMeasure) -> HostArray:
        if table is None or weights is None:
            return np.array(_LAWS[measure.kind])
        amount = score(measure, table)
        mean = amount @ weights
        deviation = amount - mean[:, None]
        square = deviation * deviation
        return np.stack([mean, square @ weights, (square * deviation) @ weights])

    terms = [Losses(partial(score, measure), cells, partial(law, measure)) for measure in scoring.measures]
    return _Scores(Reals(observed), lambda: ranks.drawing, terms, range(len(terms)), cells)


def _choices(predictions: Predictions) -> tuple[HostArray, HostArray]:
    """Return F(y) of every label that may be chosen, (n or 1, choices), and how often each is, (choices,)."""
    if isinstance(predictions, Pool):
        table = middle_ranks(to_host(predictions.values))
        return table, np.full(table.shape[1], 1.0 / table.shape[1])
    assert isinstance(predictions, Quantiles)
    edges = np.concatenate([[0.0], to_host(as_float64(predictions.levels)), [1.0]])
    # codes are (first cell, last cell): they differ where a label equals a quantile
    table = 0.5 * (edges[:-1, None] + edges[None, 1:]).reshape(1, -1)
    return table, np.diag(np.diff(edges)).ravel()


def _looked_up(table: HostArray, choices: Labels) -> HostArray:
    """Return entries of a table (n or 1, choices), (b, n)."""
    rows = np.arange(len(table))[None, :] if len(table) > 1 else 0
    return np.asarray(table[rows, to_host(choices.values).astype(np.intp)])


def middle_ranks(pool: HostArray) -> HostArray:
    """Return the place of every number of a pool (n, p) among all, 0 to 1; of equal ones the middle."""
    n, p = pool.shape
    order = np.argsort(pool, axis=1, kind="stable")
    ordered = np.take_along_axis(pool, order, axis=1)
    new = np.concatenate([np.ones((n, 1), dtype=bool), ordered[:, 1:] != ordered[:, :-1]], axis=1)
    positions = np.arange(p)
    first = np.maximum.accumulate(np.where(new, positions, 0), axis=1)
    ends = np.concatenate([new[:, 1:], np.ones((n, 1), dtype=bool)], axis=1)
    last = np.minimum.accumulate(np.where(ends, positions, p)[:, ::-1], axis=1)[:, ::-1]
    ranks = np.empty((n, p))
    np.put_along_axis(ranks, order, (first + last + 1) / (2.0 * p), axis=1)
    return ranks


def central_levels(predictions: Predictions) -> tuple[float, float] | None:
    """Return the levels of the central interval; for quantiles the one nearest to 90 %, None without any."""
    if not isinstance(predictions, Quantiles):
        return (1.0 - HELD) / 2, (1.0 + HELD) / 2
    low, high = symmetric_levels(predictions)
    if not low.size:
        return None
    levels = to_host(as_float64(predictions.levels))
    nearest = int(np.abs(levels[high] - levels[low] - HELD).argmin())
    return float(levels[low[nearest]]), float(levels[high[nearest]])
