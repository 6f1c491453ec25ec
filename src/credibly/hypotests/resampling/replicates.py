"""Label vectors drawn from predictions, addressed by counters: no tile, worker or device changes a label.

A label is the number of steps of its distribution that a uniform number u has passed. For few classes u is
taken in two parts, u = (piece + rest) / 2^16: the 16-bit piece decides almost every comparison, at a quarter
of the cost of doubles, and only where it ties with a step is the 53-bit rest drawn. Nothing is rounded.

A real label is the quantile, at a uniform number, of one member's distribution: of a member drawn for every
instance (together a draw from the mixture) or of one member drawn for all instances of a replicate. Nothing
is drawn between draws or quantiles: of these a replicate chooses the label among its draws, or its cell; see
`choices`.

The two hypotheses of a predictive check are one member for all rows, or the mean of each row:

bayesian      j ~ weights once per replicate, then y_i ~ member j of every instance i
independent   y_i ~ the mean prediction of instance i

Both take the label of instance i in replicate d from the same uniform number, so with one member they
are the same replicates, and those of the consistency test.   P21 section 3.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Hashable
from functools import cached_property, lru_cache, partial
from typing import Any, Literal, Protocol

import numpy as np

from credibly._arrays import label_kernels
from credibly._arrays.errors import InputTypeError
from credibly._arrays.namespace import (
    CACHE_ELEMENTS,
    Array,
    HostArray,
    as_float64,
    clip,
    device,
    is_numpy,
    like,
    namespace,
    ndtri,
    on_accelerator,
    rows_within_budget,
    tiles,
    to_host,
)
from credibly._arrays.philox import Seed, Stream, Uniforms, torch_pieces
from credibly._arrays.sums import add_mask
from credibly.hypotests.resampling.choices import (
    Drawn,
    as_pools,
    cell_codes,
    drawn_cells,
    drawn_choices,
    in_cells,
    is_joint,
    is_stratified,
)
from credibly.predictions import (
    Classes,
    ClassPredictions,
    Dataset,
    Dirichlet,
    Ensemble,
    Gaussian,
    InMemory,
    Predictions,
    Quantiles,
    RealPredictions,
    Reals,
    Samples,
    as_point,
    label_dtype,
    one_rater,
)
from credibly.predictions.given import require_classes
from credibly.predictions.quantiles import positions
from credibly.predictions.samples import Pool
from credibly.statistics.mixture_tables import TABLE_BYTES

_FEW_CLASSES = 48

_PIECE_VALUES = 2**16

_TILE = 4 * CACHE_ELEMENTS

_SMALLEST = 2.0**-54
"""Stands for a uniform number of exactly 0, whose quantile would be infinite."""


class Drawing(Protocol):
    """Where label vectors come from: replicates of some rows, the same for any tile that asks."""

    @property
    def on_device(self) -> bool:
        """Whether labels are made on a device, where large tiles pay."""

    def labels(self, reps: slice, /) -> Classes | Reals:
        """Return replicates `reps` of all its rows."""


Draw = Callable[[Dataset], Drawing]
"""From some rows to their labels under a hypothesis; it is sent to other processes."""


class Replicates:
    """Labels y[d, i] ~ probs[i], independent over instances and replicates.

    Parameters
    ----------
    probs : array (n, k)
        The distribution labels are drawn from.
    seed : tuple of int
        Key of the counters.
    first_row : int
        Index of row 0 among all instances, for chunks of a larger whole.
    """

    def __init__(self, probs: Array, seed: Seed, first_row: int = 0) -> None:
        self.probs, self.first_row = probs, first_row
        self.n, self.k = probs.shape
        self.pieces, self.rests = Uniforms(seed, Stream.PIECES), Uniforms(seed, Stream.RESTS)
        self.on_device = on_accelerator(probs)
        self.steps = _steps(as_float64(probs) if self.on_device else to_host(as_float64(probs)))
        if self.k <= _FEW_CLASSES:
            self.steps *= _PIECE_VALUES
            if self.on_device:
                xp = namespace(probs)
                self.floors = xp.astype(xp.floor(self.steps), xp.int32)
            else:
                floors = np.minimum(np.floor(self.steps), _PIECE_VALUES - 1)
                self.floors = floors.astype(np.uint16)

    def labels(self, reps: slice) -> Classes:
        """Return replicates `reps` of all rows."""
        if self.on_device:
            return Classes(self._draw_on_device(reps), self.k)
        shape = (reps.stop - reps.start, self.n)
        out = np.zeros(shape, dtype=label_dtype(np, self.k))
        width = min(shape[1], _TILE // 4)  # several replicates share the steps in cache
        height = max(1, _TILE // width)
        few, tied = self.k <= _FEW_CLASSES, []
        for part in tiles(shape[0], height):
            for span in tiles(shape[1], width):
                drawn, replicate = out[part, span], reps.start + part.start
                if not few:
                    self._draw_many(drawn, replicate, span.start)
                    continue
                d, i, piece = self._draw_few(drawn, replicate, span.start)
                if i.size:
                    tied.append((d + part.start, i + span.start, piece))
        if tied:
            d, i, piece = map(np.concatenate, zip(*tied, strict=True))
            out[d, i] = self._settled(piece, d + reps.start, i)
        return Classes(like(out, self.probs), self.k)

    def _draw_few(self, out: Array, replicate: int, row: int) -> tuple[HostArray, HostArray, HostArray]:
        """Count passed steps by comparing 16-bit pieces with each of them; `out` starts at zero.

        Return where a piece does not decide, and the piece.
        """
        pieces = np.empty(out.shape, dtype=np.uint16)
        self.pieces.fill_pieces(pieces, replicate, self.first_row + row)
        reached = np.zeros_like(out)
        passed = np.empty(out.shape, dtype=bool)
        for floor in self.floors[:, row : row + out.shape[1]]:
            add_mask(out, np.greater(pieces, floor, out=passed))
            add_mask(reached, np.greater_equal(pieces, floor, out=passed))
        d, i = np.divmod(np.flatnonzero(np.not_equal(out, reached, out=passed)), out.shape[1])
        return d, i, pieces[d, i]

    def _settled(self, piece: HostArray, replicate: HostArray, row: HostArray) -> HostArray:
        """Return the labels where the rest of a uniform decides, (t,)."""
        rest = self.rests.at(replicate, self.first_row + row)
        steps = self.steps[:, row]
        floor = np.floor(steps)
        passed = (piece > floor) | ((piece == floor) & (rest >= steps - floor))
        labels: HostArray = np.add.reduce(passed, axis=0)
        return labels

    def _draw_many(self, out: Array, replicate: int, row: int) -> None:
        """Find the number of passed steps by bisection."""
        uniform = np.empty(out.shape)
        self.rests.fill(uniform, replicate, self.first_row + row)
        steps = self.steps[:, row : row + out.shape[1]]
        columns = np.arange(out.shape[1])
        last = steps.shape[0]
        low = np.zeros(out.shape, dtype=np.intp)
        stride = 1 << (last.bit_length() - 1)
        while stride:
            probe = low + stride
            value = steps[np.minimum(probe, last) - 1, columns]
            np.copyto(low, probe, where=(probe <= last) & (uniform >= value))
            stride >>= 1
        out[...] = low

    def _draw_on_device(self, reps: slice) -> Array:
        """Draw the same labels with tensors, in the same two parts."""
        xp, steps = namespace(self.probs), self.steps
        shifted = slice(self.first_row, self.first_row + self.n)
        kernels, dtype = label_kernels.usable(steps), label_dtype(xp, self.k)
        if self.k > _FEW_CLASSES:
            if kernels:
                return label_kernels.searched(steps, self.rests, reps, self.first_row, dtype)
            rest = self.rests.draw(reps, shifted, reference=self.probs)
            passed_steps = xp.searchsorted(steps.T.contiguous(), rest.T.contiguous(), side="right").T
            return xp.astype(passed_steps, dtype)
        if kernels:
            return label_kernels.drawn(steps, self.floors, self.pieces, self.rests, reps, self.first_row)
        pieces = torch_pieces(self.pieces, reps, shifted, self.probs.device)
        out = xp.zeros(pieces.shape, dtype=dtype, device=pieces.device)
        reached = xp.zeros_like(out)
        for floor in self.floors:
            out += pieces > floor
            reached += pieces >= floor
        j, i = xp.nonzero(out != reached)
        rest = self.rests.at(j + reps.start, i + shifted.start)
        steps_of_ties, piece = steps[:, i], as_float64(pieces[j, i])
        floor = xp.floor(steps_of_ties)
        passed = (piece > floor) | ((piece == floor) & (rest >= steps_of_ties - floor))
        out[j, i] = xp.astype(xp.sum(xp.astype(passed, xp.int64), axis=0), out.dtype)
        return out


def _steps(probs: Array) -> Array:
    """Return P(label <= c) for all but the last class, (k - 1, n), scaled so that rounding makes no class."""
    if not is_numpy(probs):
        xp = namespace(probs)
        # class by class, as on the host: a parallel sum has another rounding, and on CUDA not one order
        sums = [probs[:, 0]]
        for c in range(1, probs.shape[1]):
            sums.append(sums[-1] + probs[:, c])
        return xp.stack(sums[:-1], axis=0) / sums[-1][None, :]
    n, k = probs.shape
    steps = np.empty((k - 1, n))
    for rows in tiles(n, CACHE_ELEMENTS // k):
        cumulative = np.array(probs[rows].T, order="C")
        for c in range(1, k):  # along contiguous rows, where `cumsum` would go across them
            cumulative[c] += cumulative[c - 1]
        np.divide(cumulative[:-1], cumulative[-1], out=steps[:, rows])
    return steps


class RealReplicates:
    """Labels y[d, i] drawn from real-valued predictions, independent over replicates.

    Parameters
    ----------
    predictions : Gaussian or Quantiles
        Where labels are drawn from; of `Quantiles`, by the interpolated quantile function. That is a guess
        about what lies between and beyond them, good enough to see what a test would notice, and no test
        rests on it.
    seed : tuple of int
        Key of the counters.
    members : ndarray (n_resamples,), optional
        The member behind all instances of every replicate. Default: one is drawn for every instance.
    first_row : int
        Index of row 0 among all instances, for chunks of a larger whole.
    """

    def __init__(
        self,
        predictions: RealPredictions,
        seed: Seed,
        *,
        members: HostArray | None = None,
        first_row: int = 0,
    ) -> None:
        leading = predictions._leading
        self.reference, self.first_row, self.members = leading, first_row, members
        self.n, self.m = len(predictions), predictions.n_members
        self.uniforms, self.choices = Uniforms(seed, Stream.RESTS), Uniforms(seed, Stream.MEMBERS)
        self.on_device = on_accelerator(leading)
        self.steps: Array | None = None  # of weights: where each member but the last ends, (1 or n, m - 1)
        self._quantile = self._normal if isinstance(predictions, Gaussian) else self._tabled
        if isinstance(predictions, Gaussian):
            self.mean, self.std = (self._here(part) for part in predictions.members())
            shares = predictions.shares
            if shares is not None:
                self.steps = self._here(namespace(shares).cumulative_sum(shares, axis=1)[:, :-1])
        else:
            assert isinstance(predictions, Quantiles)
            self.levels, self.table = self._here(predictions.levels), self._here(predictions.values)

    def _here(self, array: Array) -> Array:
        """Return an array in double precision where labels are drawn: on the device, else on the host."""
        return as_float64(array) if self.on_device else to_host(as_float64(array))

    def labels(self, reps: slice) -> Reals:
        """Return replicates `reps` of all rows."""
        if self.on_device:
            return Reals(self._draw(reps, slice(0, self.n)))
        # rests that hypotheses share are drawn again: new memory for all of them costs more
        out = np.empty((reps.stop - reps.start, self.n))
        width = min(self.n, CACHE_ELEMENTS)
        for part in tiles(len(out), CACHE_ELEMENTS // width):
            which = slice(reps.start + part.start, reps.start + part.stop)
            for span in tiles(self.n, width):
                out[part, span] = self._draw(which, span)
        return Reals(like(out, self.reference))

    def _member(self, uniform: Array, rows: slice) -> Array:
        """Return which members uniform numbers (b, rows) choose, by their weights."""
        xp = namespace(uniform)
        if self.steps is None:
            return xp.astype(uniform * self.m, xp.int64)
        ends = self.steps if self.steps.shape[0] == 1 else self.steps[rows, :]
        member = xp.zeros_like(uniform, dtype=xp.int64)
        for j in range(self.m - 1):
            member = member + xp.astype(uniform >= ends[:, j], xp.int64)
        return member

    def _block(self, uniforms: Uniforms, reps: slice, rows: slice) -> Array:
        shifted = slice(self.first_row + rows.start, self.first_row + rows.stop)
        return uniforms.draw(reps, shifted, self.reference if self.on_device else None)

    def _draw(self, reps: slice, rows: slice) -> Array:
        """Return quantiles, at uniform numbers, of the members that are drawn."""
        if self.m == 1 or self.members is not None:
            chosen = np.zeros(1, dtype=np.int64) if self.members is None else self.members[reps]
            member = (like(chosen, self.reference) if self.on_device else chosen)[:, None]
        else:
            member = self._member(self._block(self.choices, reps, rows), rows)
        return self._quantile(clip(self._block(self.uniforms, reps, rows), _SMALLEST), rows, member)

    def _normal(self, uniform: Array, rows: slice, member: Array) -> Array:
        """Return normal quantiles of the members (b, n) or, of whole rows, (b, 1)."""
        score = ndtri(uniform)
        if member.shape[1] > 1:
            at = self._at(rows, member)
            return _taken(self.mean, at) + _taken(self.std, at) * score
        xp, chosen = namespace(score), member[:, 0]
        mean, std = (xp.take(part[:, rows], chosen, axis=0) for part in self._by_member)
        return mean + std * score

    @cached_property
    def _by_member(self) -> tuple[Array, Array]:
        """Means and standard deviations, (m, n), on the host every member next to itself in memory."""
        mean, std = self.mean.T, self.std.T
        return (mean, std) if self.on_device else (np.ascontiguousarray(mean), np.ascontiguousarray(std))

    def _at(self, rows: slice, member: Array) -> Array:
        """Return flat indices of members among all, (b, n)."""
        xp = namespace(member)
        return xp.arange(rows.start, rows.stop, device=device(member))[None, :] * self.m + member

    def _tabled(self, uniform: Array, rows: slice, member: Array) -> Array:
        """Return quantiles of the tables of the members."""
        cell, position = positions(self.levels, uniform)
        at, q = self._at(rows, member), self.table.shape[-1]
        start = _taken(self.table, at * q + cell)
        return start + position * (_taken(self.table, at * q + cell + 1) - start)


def _taken(values: Array, index: Array) -> Array:
    """Return entries of the flattened values in the shape of the index."""
    xp = namespace(values)
    return xp.reshape(xp.take(xp.reshape(values, (-1,)), xp.reshape(index, (-1,))), index.shape)


_BYTES_PER_NUMBER = 24  # of a member's prediction: itself in double precision, its steps and their floors


def rows_at_once(predictions: Predictions, n_targets: int) -> int:
    """Return how many rows fit the memory budget with all that is made of their members or draws."""
    numbers = math.prod(predictions._leading.shape[1:]) * len(predictions.row_arrays())
    tables = n_targets if isinstance(predictions, Samples) else 0  # what every draw adds, were it the label
    losses = n_targets * TABLE_BYTES if isinstance(predictions, Gaussian) and predictions.n_members > 1 else 0
    return rows_within_budget((_BYTES_PER_NUMBER + 8 * tables) * numbers + losses, 0.25)


Hypothesis = Literal["bayesian", "independent"]


def drawn_members(predictions: Predictions, seed: Seed, n_resamples: int) -> HostArray:
    """Return the member that draws the labels of every replicate, (n_resamples,).

    Replicates are exchangeable, so their order is free. Of classes they come in the order of their members,
    so that each member is set up once.
    """
    uniform: HostArray = Uniforms(seed, Stream.MEMBERS).draw(slice(0, n_resamples), slice(0, 1))[:, 0]
    weights = getattr(predictions, "weights", None)
    m = predictions.n_members
    if isinstance(predictions, Samples) and is_joint(predictions):
        return (uniform * (m + 1)).astype(np.intp)  # 0 chooses the labels themselves
    chosen = (uniform * m).astype(np.intp)
    if weights is not None:
        steps = np.cumsum(to_host(as_float64(weights)))
        chosen = np.searchsorted(steps[:-1] / steps[-1], uniform, side="right")
    return chosen if isinstance(predictions, RealPredictions) else np.sort(chosen)


@dataclasses.dataclass(frozen=True)
class LabelSource:
    """Labels under one hypothesis, of any rows that are asked for.

    Attributes
    ----------
    hypothesis : {"bayesian", "independent"}
        How they are drawn.
    seed : tuple of int
        Key of the counters.
    members : ndarray (n_resamples,) or None
        The member behind every replicate; None under "independent". Of `Samples` with one joint draw per
        member, the draws chosen from the labels (0) and all of them.
    predictions : Predictions, optional
        Predictions to draw labels from, all rows. Default: those of the dataset itself.
    """

    hypothesis: Hypothesis
    seed: Seed
    members: HostArray | None
    predictions: Predictions | None = None

    @classmethod
    def under(
        cls,
        hypothesis: Hypothesis,
        seed: Seed,
        n_resamples: int,
        few: Predictions,
        predictions: Predictions | None = None,
    ) -> LabelSource:
        """Draw the members of all replicates; `few` rows tell how many members there are."""
        members = drawn_members(few, seed, n_resamples) if hypothesis == "bayesian" else None
        return cls(hypothesis, seed, members, predictions)

    @classmethod
    def each(
        cls, hypothesis: Hypothesis, seed: Seed, n_resamples: int, few: Predictions
    ) -> list[LabelSource]:
        """Return the sources that a hypothesis is rejected with, all of them: one, or one for each member.

        Several draws of a member tell its labels only together with it, so members are taken one by one.
        """
        if hypothesis == "bayesian" and is_stratified(few):
            every = [np.full(n_resamples, j, dtype=np.intp) for j in range(few.n_members)]
            return [cls(hypothesis, seed, members) for members in every]
        return [cls.under(hypothesis, seed, n_resamples, few)]

    def view(self, rows: Dataset) -> Hashable:
        """Return what `pose` depends on besides the rows: equal for sources that see the same."""
        # sources that differ only in their members see the same rows; draws are pooled by their hypothesis
        pooled_anew = isinstance(rows.predictions, Samples) and self.members is None
        return id(self.predictions), pooled_anew and self.seed

    def pose(self, rows: Dataset) -> Dataset:
        """Return the rows as replicates see them: draws pooled with their labels, labels in cells."""
        if isinstance(rows.predictions, Samples):
            changed = self._source_of(rows) if self.predictions is not None else None
            assert changed is None or isinstance(changed, Samples)
            return as_pools(rows, self.seed, shared=self.members is not None, changed=changed)
        return in_cells(rows) if isinstance(rows.predictions, Quantiles) else rows

    def _source_of(self, rows: Dataset) -> Predictions:
        """Return what the labels of these rows are drawn from."""
        if self.predictions is None:
            return rows.predictions
        whole = len(self.predictions) == len(rows)
        return self.predictions if whole else self.predictions[rows.start : rows.start + len(rows)]

    def __call__(self, rows: Dataset) -> Drawing:
        """Return the labels of rows that `pose` returned; they do not depend on how rows are cut."""
        if isinstance(rows.predictions, Pool):
            return drawn_choices(rows.predictions, self.seed, self.members, rows.start)
        drawn_from = self._source_of(rows)
        if isinstance(drawn_from, Quantiles):
            if self.predictions is None:
                return drawn_cells(drawn_from, self.seed, rows.start)
            assert isinstance(rows.predictions, Quantiles)
            drawn = RealReplicates(drawn_from, self.seed, first_row=rows.start)
            cells = partial(cell_codes, rows.predictions)
            return Drawn(lambda reps: cells(drawn.labels(reps).values), drawn.on_device)
        if isinstance(drawn_from, RealPredictions):
            return RealReplicates(drawn_from, self.seed, members=self.members, first_row=rows.start)
        assert isinstance(drawn_from, ClassPredictions)
        if self.members is None:
            return Replicates(as_point(drawn_from)[0].probs, self.seed, rows.start)
        return drawn_by_members(member_probs(drawn_from), self.members, self.seed, rows.start)


def consistent(seed: Seed) -> LabelSource:
    """Return labels drawn from what is predicted for their row."""
    return LabelSource("independent", seed, None)


def member_probs(predictions: ClassPredictions) -> Array:
    """Return what every member predicts, (n, m, k)."""
    if isinstance(predictions, Ensemble):
        return predictions.probs
    if isinstance(predictions, Dirichlet):
        # one label drawn from a distribution that is itself drawn is a label drawn from the mean
        means = predictions.member_means()
        return means if means.ndim == 3 else means[:, None, :]
    raise InputTypeError(
        "members",
        "exist only in Ensemble and Dirichlet predictions",
        f"got {type(predictions).__name__}",
        "Use one.",
    )


def drawn_by_members(probs: Array, members: HostArray, seed: Seed, first_row: int = 0) -> Drawn:
    """Return labels y[d, i] ~ probs[i, members[d]]: all instances of a replicate share the member.

    Parameters
    ----------
    probs : array (n, m, k)
        What every member predicts.
    members : ndarray (n_resamples,)
        The member behind every replicate.
    seed : tuple of int
        Key of the counters.
    first_row : int
        Index of row 0 among all instances.

    Returns
    -------
    Drawn
        The labels.
    """

    @lru_cache(maxsize=1)  # replicates come in the order of their members
    def of_member(member: int) -> Replicates:
        return Replicates(probs[:, member, :], seed, first_row)

    def labels(reps: slice) -> Classes:
        chosen = members[reps]
        ends = [*(np.flatnonzero(np.diff(chosen)) + 1).tolist(), chosen.size]
        drawn, begin = [], 0
        for end in ends:  # runs of replicates with one member
            run = slice(reps.start + begin, reps.start + end)
            drawn.append(of_member(int(chosen[begin])).labels(run).values)
            begin = end
        return Classes(namespace(probs).concat(drawn, axis=0), int(probs.shape[-1]))

    return Drawn(labels, on_accelerator(probs))


def observed_classes(
    predictions: Predictions, labels: Any, test: str, seed: Seed
) -> tuple[Classes, tuple[str, ...]]:
    """Return one class per instance, and a note if it was drawn from several raters."""
    remedy = "Test real-valued predictions with `calibration_test` or `predictive_check`."
    predictions = require_classes(predictions, f"`{test}`", remedy)
    rows, notes = one_rater(InMemory(Dataset(predictions, labels)), seed)
    batch = rows.example.batch
    assert isinstance(batch, Classes)
    return batch, notes
