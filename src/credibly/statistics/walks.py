"""Calibration errors without bins or bandwidth: the walk of the cumulative differences.

    W_j = (1 / n) sum over the j smallest predictions of (event - predicted),   W_0 = 0

    ecce          max_j |W_j|,  or  max_j W_j - min_j W_j          (Kolmogorov-Smirnov, Kuiper)
    truthful_ce   integral over t in [0, 1] of W(t)^2 + (W_n - W(t))^2,  W(t) = the walk over p < t

The first is the largest sum of residuals over a range of predictions, so no choice of bins can hide it. The
second is the squared error of two bins whose border t is anywhere, which equals

    (1 / n^2) sum_ij r_i r_j (1 - |p_i - p_j|),   r = event - predicted

Its expectation is the same integral of the expected residuals plus (1 / n^2) sum of the variances of the
events, which no prediction changes: nothing has a smaller expectation than the true probabilities.

Arrieta-Ibarra et al. 2022; Hartline, Hu and Wu 2026.
"""

from __future__ import annotations

import dataclasses
from abc import abstractmethod
from collections.abc import Iterable
from typing import Any, ClassVar, Literal

import numpy as np

from credibly._arrays.errors import one_of
from credibly._arrays.namespace import (
    CACHE_ELEMENTS,
    Array,
    HostArray,
    as_float64,
    device,
    like,
    namespace,
    tiles,
    to_host,
)
from credibly.predictions import Labels, Predictions, Rows, as_point
from credibly.statistics.batches import in_cache, widening
from credibly.statistics.cells import (
    CELL_TRAITS,
    PLUGIN_REFUSAL,
    TargetName,
    check_target,
    event_of,
    events_of,
)
from credibly.statistics.events import Events
from credibly.statistics.over_rows import gathered
from credibly.statistics.protocol import Bound, Plan, State, Statistic, Story, Traits

_ROUNDING = 1e-12  # means of members in another order differ in their last digits and are still equal
_TRAITS = dataclasses.replace(CELL_TRAITS, reduction="opaque")


@dataclasses.dataclass(frozen=True)
class _Column:
    """Predictions of one event in increasing order.

    Attributes
    ----------
    order : array (n,)
        Which instance comes first, second, ...
    values : array (n,)
        The predictions in that order.
    ends : array (n,) of bool
        Whether the next prediction is larger: the walk is read there, since equal ones have no order.
    events : Events
        That the label is the class whose probability was predicted.
    """

    order: Array
    values: Array
    ends: Array
    events: Events

    @classmethod
    def of(cls, probs: Array, event: Array) -> _Column:
        """Sort the predictions of one class per instance."""
        xp = namespace(probs)
        order = xp.argsort(probs, stable=True)
        values = xp.take(as_float64(probs), order)
        last = xp.ones((1,), dtype=xp.bool, device=device(probs))
        ends = xp.concat([values[1:] - values[:-1] > _ROUNDING, last])
        return cls(order, values, ends, Events(probs, event=event))


def _columns(predictions: Any, target: TargetName) -> list[_Column]:
    """Return the confidence, the probability of one class, or that of every class."""
    chance, event = events_of(predictions, target)
    if event is not None:
        return [_Column.of(chance, event)]
    return [_Column.of(*event_of(chance, c)) for c in range(chance.shape[1])]


class WalkStatistic(Statistic):
    """Base of the statistics of the walk."""

    target: TargetName

    def _bind(self, predictions: Predictions, plan: Plan) -> Bound:
        point, notes = as_point(predictions)
        return WalkBound(self, _columns(point, self.target), plan, notes)

    def bound_at_once(self, rows: Rows) -> tuple[Bound, Labels]:
        """Bind to all rows, or to the mean predictions of chunks, and return the labels."""
        point, labels = gathered(rows)
        return self.bind(point), labels

    @abstractmethod
    def of_walk(self, walk: Array, column: _Column) -> Array:
        """Return the error from walks (b, n), one step after every instance."""


class WalkBound(Bound):
    """Sorted predictions; the walks of whole batches of label vectors are sums along them."""

    statistic: WalkStatistic
    refusal = PLUGIN_REFUSAL
    term_size = 1.0  # shares of labels and mean predictions, whose difference a walk is

    def __init__(
        self, statistic: WalkStatistic, columns: list[_Column], plan: Plan, notes: tuple[str, ...]
    ) -> None:
        super().__init__(statistic, plan.n, notes)
        self.columns = columns

    def state(self, labels: Labels) -> State:
        """Return the values themselves, replicates in tiles that stay in cache."""
        return in_cache(self._state, labels)

    def _state(self, labels: Labels) -> State:
        return State(value=self._mean(self.walk(labels, column) for column in self.columns))

    def _mean(self, walks: Iterable[Array]) -> Array:
        """Return the mean over columns of the errors of their walks, (b,)."""
        both = zip(walks, self.columns, strict=True)
        errors = [self.statistic.of_walk(walk, column) for walk, column in both]
        return sum(errors[1:], errors[0]) / len(errors)

    def walk(self, labels: Labels, column: _Column) -> Array:
        """Return W_1, ..., W_n, (b, n)."""
        event = column.events.contributions(labels)
        xp = namespace(event)
        residual = xp.take(event, column.order, axis=1) - column.values
        weights = labels.weights
        if weights is None:
            return xp.cumulative_sum(residual, axis=1) / residual.shape[1]
        steps = xp.take(weights, column.order, axis=1) * residual
        return xp.cumulative_sum(steps, axis=1) / xp.sum(weights, axis=1, keepdims=True)

    def wild_sums(self, labels: Labels, codes: HostArray, number: int) -> tuple[State, State]:
        """Return the steps of every walk in its order, (columns, n), and the cluster of each."""
        weight = labels.row_weights()
        steps, step_codes, scatter = [], [], []
        for column in self.columns:
            order, values = to_host(column.order), to_host(column.values)
            share = weight[order] / weight.sum()
            steps.append(share * (to_host(column.events.contributions(labels))[0][order] - values))
            step_codes.append(codes[order])
            scatter.append(share**2 @ (values * (1.0 - values)))
        return State(steps=np.stack(steps), scatter=np.array(scatter)), State(codes=np.stack(step_codes))

    def widened_states(self, expected: State, added: State) -> tuple[State, State]:
        """Return steps, widened so that clusters scatter no less than independent rows, by column."""
        pairs = zip(added["codes"], expected["steps"], strict=True)
        ends = [np.bincount(codes, steps) for codes, steps in pairs]
        seen = np.array([sums @ sums for sums in ends])
        wider = widening(expected["scatter"], seen)
        return State(expected, steps=wider[:, None] * expected["steps"]), added

    def wild_values(self, expected: State, added: State, signs: HostArray) -> Array:
        """Return the values of walks whose steps have the sign of their cluster."""
        steps, codes = expected["steps"], added["codes"]
        parts = []
        for reps in tiles(len(signs), max(1, CACHE_ELEMENTS // self.n)):
            pairs = zip(codes, steps, strict=True)
            walks = (np.cumsum(signs[reps][:, codes] * steps, axis=1) for codes, steps in pairs)
            walks = (like(walk, self.columns[0].values) for walk in walks)
            parts.append(to_host(self._mean(walks)))
        return np.concatenate(parts)


@dataclasses.dataclass(frozen=True)
class Ecce(WalkStatistic):
    """Cumulative calibration error: the largest sum of residuals over a range of predictions, divided by n.

    Parameters
    ----------
    kind : {"max", "range"}
        "max": the largest distance of the walk from its start (Kolmogorov-Smirnov), over ranges that begin at
        the smallest prediction. "range": its largest minus its smallest value (Kuiper), over any range. The
        start, 0, counts as a value of the walk.
    target : {"top_label", "classwise"} or int
        The confidence of the predicted class, the mean over the errors of all classes' probabilities, or the
        probability of one class: ``kind="max", target=1`` is the Kolmogorov-Smirnov error of an event.

    Notes
    -----
    Costs a sort of the predictions and one pass per label vector. The error of a calibrated model falls like
    1 / sqrt(n) for any predictions, so nothing needs to be chosen. Errors whose signs alternate over short
    ranges cancel. Equal predictions are one step.

    Examples
    --------
    >>> import credibly as cr
    >>> float(cr.ecce([[0.75, 0.25], [0.75, 0.25]], [0, 1]))
    0.25
    """

    kind: Literal["max", "range"] = "range"
    target: TargetName = "top_label"
    name: ClassVar[str] = "ecce"
    traits: ClassVar[Traits] = _TRAITS
    reference: ClassVar[str] = "Arrieta-Ibarra et al. 2022"
    story: ClassVar[Story] = Story(
        title="Cumulative calibration error",
        meaning="Largest sum of differences between hits and confidence over any range of confidence, per "
        "instance; no bins.",
        formula="max_j W_j − min_j W_j, W_j = 1/n Σ_{i≤j} (hit − confidence), sorted by confidence",
        above="over some range of confidence, hits and confidence differ by more than chance explains",
        notion="confidence",
        citation="Arrieta-Ibarra et al., Metrics of calibration for probabilistic predictions, Journal of "
        "Machine Learning Research, 2022.",
        aliases={
            **dict.fromkeys(
                ("ks", "ks_calibration_error", "kolmogorov_smirnov"), 'with kind="max"; of an event, target=1'
            ),
            "kuiper": "",
            "cumulative_calibration_error": "",
        },
    )
    in_evaluations: ClassVar[bool] = False

    def __post_init__(self) -> None:
        one_of("`kind`", self.kind, ("max", "range"))
        check_target(self, "top_label", "classwise")

    def of_walk(self, walk: Array, column: _Column) -> Array:
        """Return the distance that the walk, with its start, covers."""
        xp = namespace(walk)
        # between equal predictions the walk is nowhere; the start, which counts anyhow, stands in
        walk = xp.where(column.ends[None, :], walk, xp.zeros_like(walk))
        start = xp.zeros((walk.shape[0],), dtype=walk.dtype, device=device(walk))
        highest = xp.maximum(xp.max(walk, axis=1), start)
        lowest = xp.minimum(xp.min(walk, axis=1), start)
        return xp.maximum(highest, -lowest) if self.kind == "max" else highest - lowest


@dataclasses.dataclass(frozen=True)
class TruthfulCE(WalkStatistic):
    """Averaged two-bin calibration error, the mean over classes: smallest, in expectation, for the truth.

    On a finite sample, other calibration errors can be lowered by predictions that are known to be wrong,
    such as the same number everywhere. This one cannot, so models may be ranked by it.

    Parameters
    ----------
    target : "classwise" or int
        The mean over the errors of all classes' probabilities, or the probability of one class.

    Notes
    -----
    It is a squared error. Even the true probabilities have an expectation above 0, the mean variance of a
    label over n. For two classes both classes have the same error, which is that of the paper. Costs a sort
    per class and one pass per label vector and class. Residuals of opposite signs at neighbouring predictions
    cancel.

    Examples
    --------
    >>> import credibly as cr
    >>> float(cr.truthful_ce([[0.75, 0.25], [0.75, 0.25]], [0, 1]))  # (1/2 - 3/4)^2, in one bin for every t
    0.0625
    """

    target: Literal["classwise"] | int = "classwise"
    name: ClassVar[str] = "truthful_ce"
    traits: ClassVar[Traits] = _TRAITS
    reference: ClassVar[str] = "Hartline et al. 2026"
    story: ClassVar[Story] = Story(
        title="Truthful calibration error",
        meaning="Squared error of two bins of a class's probability, averaged over all borders between them "
        "and over classes; the true probabilities have the smallest expectation.",
        formula="1/k Σ_c ∫ W_c(t)² + (W_c(1) − W_c(t))² dt, W_c(t) = 1/n Σ_{p_c < t} (hit − p_c)",
        above=(
            "below or above some threshold, frequencies and probabilities differ by more than chance explains"
        ),
        notion="classwise",
        citation="Hartline, Hu and Wu, A perfectly truthful calibration measure, COLT 2026.",
        aliases={"atb": "", "averaged_two_bin_calibration_error": ""},
    )
    in_evaluations: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_target(self, "classwise")

    def of_walk(self, walk: Array, column: _Column) -> Array:
        """Return the sum over thresholds between neighbouring predictions; equal ones have none."""
        values = column.values
        xp = namespace(walk)
        # the walk as it is from a prediction to the next, or to 1; before the first it is 0
        width = xp.concat([values[1:], xp.ones_like(values[:1])]) - values
        whole = walk[:, -1]
        between = walk**2 + (whole[:, None] - walk) ** 2
        return xp.sum(between * width[None, :], axis=1) + values[0] * whole**2


ecce = Ecce()
truthful_ce = TruthfulCE()
