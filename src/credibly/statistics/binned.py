"""Binned calibration errors: how far observed frequencies are from predicted ones, bin by bin.

    error = sum over cells of |cell| / n * |observed - predicted|^p          ** (1 / p)

A cell is a bin (`confidence_ece`), a bin of one class's probability (`classwise_ece`) or a bin among the rows
with one predicted class (`top_label_ece`). Given predictions, cells, sizes and predicted sums are fixed and a
label vector only decides the observed counts, so a batch of label vectors costs one count.

Naeini et al. 2015; Guo et al. 2017; Kull et al. 2019; Kumar et al. 2019 for the debiased squared error.
"""

from __future__ import annotations

import dataclasses
from abc import abstractmethod
from typing import Any, ClassVar

from credibly._arrays.errors import InputError
from credibly._arrays.namespace import Array, as_float64, device, is_numpy, namespace
from credibly._arrays.sums import count_cells, group_sums, indicator
from credibly.predictions import Classes, Counts, Labels, Predictions, as_point
from credibly.statistics.bins import Binning, Closed, bin_edges, bin_index, check_bins
from credibly.statistics.debiased import influence, standard_error
from credibly.statistics.protocol import CLASS_LABELS, Bound, Plan, State, Statistic, Traits
from credibly.statistics.top_label import top_label

_PLUGIN_REFUSAL = (
    "the plug-in error is biased upwards near calibration, where the coverage of such intervals is 0"
)


@dataclasses.dataclass(frozen=True)
class Cells:
    """Where every instance counts: `groups` are its cells whatever the label, (n,) or (n, k).

    `probs` of the same shape is the predicted probability of the event the cell counts. With one group per
    instance the event is "the label is `predicted`", with k of them "the label is this class".
    """

    groups: Array
    probs: Array
    n_cells: int
    predicted: Array | None = None


class BinnedBound(Bound):
    """Cells, their sizes and predicted sums, and the count of labels over them."""

    def __init__(self, statistic: BinnedError, cells: Cells, plan: Plan, notes: tuple[str, ...]) -> None:
        super().__init__(statistic, plan.n, notes)
        self.cells = cells
        self._fixed: dict[str, Array] | None = None
        self._indicator: Array | None = None

    def state(self, labels: Labels) -> State:
        """Return per cell: size, predicted sum, observed sum (and squares where the debiased error needs them)."""
        fixed = self._fixed_sums(labels.weights)
        state = State(fixed)
        state["observed"] = self._observed(labels, None)
        if self.statistic.debiased:  # type: ignore[attr-defined]
            # (hit - p)^2 = hit (1 - 2 p) + p^2 for a hit of 0 or 1
            state["hit_slope"] = self._observed(labels, 1.0 - 2.0 * as_float64(self.cells.probs))
        return state

    def _fixed_sums(self, weights: Array | None) -> dict[str, Array]:
        """Sizes, sums and sums of squares of the predicted probabilities; kept where weights are not given."""
        if weights is None and self._fixed is not None:
            return dict(self._fixed)
        groups, probs = self.cells.groups, as_float64(self.cells.probs)
        xp = namespace(probs)
        one = xp.ones((1, probs.shape[0]), dtype=xp.float64, device=device(probs))
        w = one if weights is None else weights
        names = ["size", "predicted"] + ["square"] * self.statistic.debiased  # type: ignore[attr-defined]
        sums = dict.fromkeys(names, 0.0)
        b, k = w.shape[0], 1 if groups.ndim == 1 else groups.shape[1]
        flat = xp.broadcast_to(xp.reshape(groups, (1, -1)), (b, probs.shape[0] * k))
        p = xp.reshape(probs, (1, -1, k))
        for name, value in zip(
            names, (w[:, :, None] * p**0, w[:, :, None] * p, w[:, :, None] * p**2), strict=False
        ):
            sums[name] = count_cells(flat, self.cells.n_cells, xp.reshape(value, (b, -1)))
        if weights is None:
            self._fixed = dict(sums)
        return sums

    def _observed(self, labels: Labels, slope: Array | None) -> Array:
        """Count the events per cell, (b, n_cells), each times `slope` where given."""
        cells = self.cells
        if isinstance(labels, Counts):
            return self._observed_counts(labels, slope)
        assert isinstance(labels, Classes)
        if cells.predicted is None:
            from credibly.statistics.proper import gather

            where = gather(cells.groups, labels.values)
            weights = labels.weights
            if slope is not None:
                factor = gather(slope, labels.values)
                weights = factor if weights is None else factor * weights
            return count_cells(where, cells.n_cells, weights)
        hits = labels.values == cells.predicted[None, :]
        return self._hits_per_cell(hits, labels.weights, slope)

    def _hits_per_cell(self, hits: Array, weights: Array | None, slope: Array | None) -> Array:
        cells, xp = self.cells, namespace(self.cells.groups)
        if is_numpy(hits) and weights is None and slope is None and len(hits) > 1 and cells.n_cells <= 64:
            import numpy as np

            # Whole numbers below 2^24 are exact in single precision, which halves the product's cost.
            if self._indicator is None:
                self._indicator = indicator(cells.groups, cells.n_cells, np.float32)
            if hits.shape[1] < 2**24:
                return (hits.astype(np.float32) @ self._indicator).astype(np.float64)
        values = xp.astype(hits, xp.float64)
        if slope is not None:
            values = values * slope[None, :]
        if weights is not None:
            values = values * weights
        return group_sums(values, cells.groups, cells.n_cells)

    def _observed_counts(self, labels: Counts, slope: Array | None) -> Array:
        cells = self.cells
        xp = namespace(labels.values)
        rows, reps = slice(None), slice(None)
        frequency = labels.block(rows, reps)  # (b, n, k)
        if cells.predicted is not None:
            columns = xp.arange(frequency.shape[2], device=device(frequency))
            chosen = xp.astype(cells.predicted, columns.dtype)[:, None] == columns
            event = xp.sum(xp.where(chosen[None, ...], frequency, xp.zeros_like(frequency)), axis=-1)
            if slope is not None:
                event = event * slope[None, :]
            return group_sums(event, cells.groups, cells.n_cells)
        values = frequency if slope is None else frequency * slope[None, ...]
        b = values.shape[0]
        flat = xp.broadcast_to(
            xp.reshape(cells.groups, (1, -1)), (b, cells.groups.shape[0] * cells.groups.shape[1])
        )
        return count_cells(flat, cells.n_cells, xp.reshape(values, (b, -1)))

    def finish(self, state: State) -> Array:
        """Return the error of every replicate."""
        return self.statistic.error(state)  # type: ignore[attr-defined]

    def stderr(self, labels: Labels) -> tuple[float | None, str | None]:
        """Return the standard error of the debiased squared error; the plug-in error has none to trust."""
        if not self.statistic.debiased:  # type: ignore[attr-defined]
            return None, _PLUGIN_REFUSAL
        if isinstance(labels, Counts) or labels.weights is not None or self.n < 2:
            return None, "the standard error is known for one unweighted label per instance only"
        return standard_error(influence(self.cells, labels)), None


@dataclasses.dataclass(frozen=True)
class BinnedError(Statistic):
    """Base of the binned calibration errors."""

    n_bins: int = 15
    binning: Binning = "equal_width"
    closed: Closed = "left"
    p: float = 1.0
    debiased: bool = False

    def __post_init__(self) -> None:
        check_bins(self.n_bins, self.binning, self.closed)
        if not self.p >= 1:
            raise InputError("`p`", "must be at least 1", f"got {self.p!r}", "Use 1 or 2.")
        if self.debiased and self.p != 2:
            raise InputError(
                "`debiased=True`",
                "is known for the squared error only (p=2)",
                f"got p={self.p!r}",
                "Pass `p=2, debiased=True`; the value is then the squared error and may be negative.",
            )

    def plan(self, predictions: Predictions) -> Plan:
        """Return the number of instances and the bin edges."""
        values = self.binned_values(as_point(predictions)[0].probs)  # type: ignore[arg-type]
        return Plan(len(predictions), bin_edges(values, self.n_bins, self.binning))

    def _bind(self, predictions: Predictions, plan: Plan) -> Bound:
        point, notes = as_point(predictions)  # type: ignore[arg-type]
        return BinnedBound(self, self.cells(point.probs, plan), plan, notes)

    @abstractmethod
    def binned_values(self, probs: Array) -> Array:
        """Return the numbers that are binned, (n,) or (n, k)."""

    @abstractmethod
    def cells(self, probs: Array, plan: Plan) -> Cells:
        """Return where every instance counts."""

    def error(self, state: State) -> Array:
        """Return (sum |cell| / n |observed - predicted|^p)^(1/p), or the debiased squared error."""
        size, gap = state["size"], state["observed"] - state["predicted"]
        xp = namespace(gap)
        total = self._total_weight(state)
        filled = xp.where(size > 0, size, xp.ones_like(size))
        if self.debiased:
            # sum over i != j of d_i d_j / (|cell| - 1), d = event - predicted; a single instance gives 0
            square = state["hit_slope"] + state["square"]
            pairs = (gap**2 - square) / xp.where(size > 1, size - 1.0, xp.ones_like(size))
            return xp.sum(xp.where(size > 1, pairs, xp.zeros_like(pairs)), axis=-1) / total
        if self.p == 1:
            return xp.sum(xp.abs(gap), axis=-1) / total
        per_cell = size * (xp.abs(gap) / filled) ** self.p
        return (xp.sum(per_cell, axis=-1) / total) ** (1.0 / self.p)

    def _total_weight(self, state: State) -> Array:
        return namespace(state["size"]).sum(state["size"], axis=-1)


def _traits(duplicate_invariant: bool = True) -> Traits:
    return Traits(
        reduction="sum",
        tail="greater",
        labels=CLASS_LABELS,
        differentiable=False,
        multiplicities=True,
        duplicate_invariant=duplicate_invariant,
        range=(0.0, 1.0),
    )


_C25: dict[str, dict[str, Any]] = {"C25": {"n_bins": 10, "closed": "right"}}
_M23: dict[str, dict[str, Any]] = {"M23": {"n_bins": 10}}


@dataclasses.dataclass(frozen=True)
class ConfidenceECE(BinnedError):
    """Expected calibration error of the top label: confidence against accuracy in bins of confidence.

    Parameters
    ----------
    n_bins : int
        Number of bins.
    binning : {"equal_width", "equal_mass"}
        Bins of equal width on [0, 1], or of equal numbers of instances (ties stay together).
    closed : {"left", "right"}
        Which end of a bin belongs to it.
    p : float
        Exponent; 1 is the usual error, 2 the root mean square.
    debiased : bool
        With ``p=2``: the unbiased estimate of the squared error, which may be negative.
    """

    name: ClassVar[str] = "confidence_ece"
    traits: ClassVar[Traits] = _traits()
    reference: ClassVar[str] = "Guo et al. 2017"
    papers: ClassVar[dict[str, dict[str, Any]]] = {
        **_C25,
        **_M23,
        "P21": {"n_bins": 10, "closed": "right"},
    }

    def binned_values(self, probs: Array) -> Array:
        """The confidence."""
        return top_label(probs)[0]

    def plan(self, predictions: Predictions) -> Plan:
        """Return the number of instances and the bin edges; equal-width edges need no look at the data."""
        if self.binning == "equal_width":
            import numpy as np

            return Plan(len(predictions), np.arange(self.n_bins + 1) / self.n_bins)
        return super().plan(predictions)

    def cells(self, probs: Array, plan: Plan) -> Cells:
        """The bin of the confidence."""
        confidence, predicted = top_label(probs)
        return Cells(bin_index(confidence, plan.edges, self.closed), confidence, self.n_bins, predicted)


@dataclasses.dataclass(frozen=True)
class TopLabelECE(ConfidenceECE):
    """Calibration error of the top label given the predicted class: bins of confidence within each class.

    Parameters
    ----------
    n_bins : int
        Number of bins per predicted class.
    binning : {"equal_width", "equal_mass"}
        Bins of equal width on [0, 1], or of equal numbers of instances over all classes.
    closed : {"left", "right"}
        Which end of a bin belongs to it.
    p : float
        Exponent; 1 is the usual error, 2 the root mean square.
    debiased : bool
        With ``p=2``: the unbiased estimate of the squared error, which may be negative.
    """

    name: ClassVar[str] = "top_label_ece"
    traits: ClassVar[Traits] = _traits()
    reference: ClassVar[str] = "Gupta and Ramdas 2022"
    papers: ClassVar[dict[str, dict[str, Any]]] = {}

    def cells(self, probs: Array, plan: Plan) -> Cells:
        """The pair of predicted class and bin."""
        cells = super().cells(probs, plan)
        xp = namespace(probs)
        assert cells.predicted is not None
        groups = xp.astype(cells.predicted, xp.int64) * self.n_bins + xp.astype(cells.groups, xp.int64)
        return Cells(groups, cells.probs, self.n_bins * probs.shape[1], cells.predicted)


@dataclasses.dataclass(frozen=True)
class ClasswiseECE(BinnedError):
    """Calibration error of every class's probability, averaged over classes.

    Parameters
    ----------
    n_bins : int
        Number of bins per class.
    binning : {"equal_width", "equal_mass"}
        Bins of equal width on [0, 1], or of equal numbers of instances per class.
    closed : {"left", "right"}
        Which end of a bin belongs to it.
    p : float
        Exponent; 1 is the usual error, 2 the root mean square.
    debiased : bool
        With ``p=2``: the unbiased estimate of the squared error, which may be negative.
    """

    name: ClassVar[str] = "classwise_ece"
    traits: ClassVar[Traits] = _traits()
    reference: ClassVar[str] = "Kull et al. 2019"
    papers: ClassVar[dict[str, dict[str, Any]]] = {**_C25, **_M23}

    def binned_values(self, probs: Array) -> Array:
        """Every class's probability."""
        return probs

    def cells(self, probs: Array, plan: Plan) -> Cells:
        """The pair of class and bin."""
        xp = namespace(probs)
        k = probs.shape[1]
        bins = xp.astype(bin_index(probs, plan.edges, self.closed), xp.int32)
        columns = xp.arange(k, dtype=xp.int32, device=device(probs)) * self.n_bins
        return Cells(bins + columns[None, :], probs, self.n_bins * k)

    # |cells| of all classes sum to n k, so the average over classes needs no factor of its own.


confidence_ece = ConfidenceECE()
top_label_ece = TopLabelECE()
classwise_ece = ClasswiseECE()
