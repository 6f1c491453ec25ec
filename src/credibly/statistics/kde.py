"""Calibration error with a kernel estimate of what labels follow a prediction.

    E[y | f_j] = sum_{i != j} w_ji onehot(y_i),   w_j = softmax over i != j of log K(f_j; f_i)
    CE_p = (mean_j || E[y | f_j] - f_j ||_p^p)^(1/p)

Popordanoska, Sayer and Blaschko 2022; J25 eq. 5-7. The weights do not depend on labels.
"""

from __future__ import annotations

import dataclasses
from abc import abstractmethod
from typing import ClassVar, Literal, NamedTuple

import numpy as np

from credibly._arrays.errors import InputError, one_of
from credibly._arrays.namespace import Array, as_float64, device, is_numpy, is_torch, namespace
from credibly._arrays.special import softmax
from credibly.predictions import Labels, Predictions, as_point
from credibly.statistics.dirichlet_kernel import likelihood_bandwidth, queries_and_keys
from credibly.statistics.kernels import check_bandwidth
from credibly.statistics.pairwise import (
    PRECISIONS,
    BandwidthPlan,
    PairwiseBound,
    Precision,
    exponential,
    flushed,
    label_values,
    matrix_product_precision,
    set_diagonal,
    total_weight,
)
from credibly.statistics.protocol import CLASS_LABELS, Bound, Plan, State, Statistic, Traits

_SMOOTHED = "smoothing and resampling noise bias it upwards near calibration, where no interval of it covers"


class SmootherTile(NamedTuple):
    """Kernel weights of some rows, largest 1, their sums, and the weight a row would give itself."""

    weights: Array  # (rows, n), zero on the diagonal
    totals: Array  # (rows,)
    own: Array | None  # (rows,), where instances have multiplicities


class SmootherBound(PairwiseBound):
    """Kernel weights in tiles, and the estimate of E[y | f] for all label vectors."""

    statistic: SmoothedError

    def __init__(
        self, statistic: SmoothedError, probs: Array, plan: BandwidthPlan, notes: tuple[str, ...]
    ) -> None:
        super().__init__(statistic, probs, plan, statistic.precision, notes)
        self.queries, self.keys, touched = queries_and_keys(self.exact, plan.number, self.dtype)
        if touched:
            least = float(namespace(probs).finfo(self.dtype).smallest_normal)
            note = f"{touched} of {probs.shape[0] * probs.shape[1]} probabilities are read as {least:.2g}"
            self.notes = (*self.notes, f"{note} inside the logarithm of the kernel")

    def tile(self, rows: slice, weighted: bool) -> SmootherTile:
        """Return exp(log K - largest) of these rows, each row without itself."""
        xp = namespace(self.probs)
        with matrix_product_precision("float32", self.keys):  # exponents need every digit, also for TF32
            logs = self.queries[rows, :] @ self.keys.T
        own = None
        if weighted:
            own = xp.vecdot(self.queries[rows, :], self.keys[rows, :])
        logs = set_diagonal(logs, rows.start, -float("inf"))
        top = xp.max(logs, axis=1)
        if own is not None:
            top = xp.maximum(top, own)
            own = xp.exp(own - top)
        weights = flushed(exponential(_shifted(logs, top)))
        return SmootherTile(weights, xp.sum(weights, axis=1), own)

    def values(self, labels: Labels) -> Array:
        """Return label frequencies times multiplicities, (b k, n)."""
        xp = namespace(self.probs)
        values = label_values(labels, xp, self.dtype)
        if labels.weights is not None:
            values = values * xp.astype(labels.weights, self.dtype)[:, None, :]
        return xp.reshape(values, (-1, values.shape[-1]))

    def estimate(self, tile: SmootherTile, rows: slice, values: Array, labels: Labels) -> Array:
        """Return E[y | f_j] for these rows, (b, k, rows)."""
        xp = namespace(values)
        b = len(labels)
        shape = (b, self.probs.shape[1], rows.stop - rows.start)
        found = xp.reshape(self.product(values, tile.weights), shape)
        if labels.weights is None:
            return _divided(found, tile.totals[None, None, :])
        assert tile.own is not None
        # one copy of a row is left out; its other copies stay
        counted = xp.astype(labels.weights, self.dtype)
        others = xp.clip(counted[:, rows] - 1.0, 0.0, None) * tile.own[None, :]
        found = found + others[:, None, :] * label_values(labels.rows(rows), xp, self.dtype)
        totals = self.product(counted, tile.weights) + others
        filled = xp.where(totals > 0, totals, xp.ones_like(totals))
        return self._rescued(found / filled[:, None, :], totals, rows, labels)

    def _rescued(self, found: Array, totals: Array, rows: slice, labels: Labels) -> Array:
        """Fill in rows whose weights all vanished next to that of instances with weight zero."""
        xp = namespace(found)
        counted = labels.weights
        assert counted is not None
        present = counted[:, rows] > 0
        lost = (totals <= 0) & present
        if not bool(xp.any(lost)):
            return found
        parts = []
        at = xp.arange(self.n, device=device(found))
        for d in range(found.shape[0]):
            columns = []
            weights = counted[d if counted.shape[0] > 1 else 0, :]
            onehot = label_values(labels, xp, xp.float64)[d, :, :]
            for j in range(found.shape[2]):
                if not bool(lost[d if lost.shape[0] > 1 else 0, j]):
                    columns.append(found[d, :, j])
                    continue
                row = rows.start + j
                left = xp.where(at == row, xp.clip(weights - 1.0, 0.0, None), weights)
                if not bool(xp.any(left > 0)):
                    raise InputError(
                        f"`{self.statistic.name}`",
                        "learns the labels of a prediction from other instances",
                        "only one instance has a positive weight",
                        "Give at least two.",
                    )
                logs = as_float64(self.keys @ self.queries[row, :])
                logs = xp.where(
                    left > 0, logs + xp.log(xp.where(left > 0, left, xp.ones_like(left))), -xp.inf
                )
                columns.append(xp.astype(onehot @ softmax(logs), found.dtype))
            parts.append(xp.stack(columns, axis=1))
        return xp.stack(parts, axis=0)

    def contribution(self, tile: SmootherTile, rows: slice, values: Array, labels: Labels) -> State:
        """Add the deviation of every row's estimate from its prediction."""
        xp = namespace(values)
        estimate = self.estimate(tile, rows, values, labels)
        deviation = self.statistic.deviation(estimate, self.probs[rows, :].T)  # (b, rows)
        if labels.weights is not None:
            weights = labels.weights[:, rows]
            # an instance of weight zero is not there, also where its deviation would be infinite
            deviation = xp.where(weights > 0, weights * as_float64(deviation), xp.zeros_like(weights))
        return State(
            deviation=xp.sum(as_float64(deviation), axis=1), weight=total_weight(labels, rows, values)
        )

    def finish(self, state: State) -> Array:
        """Average over instances."""
        return self.statistic.error(state["deviation"] / state["weight"])

    def stderr(self, labels: Labels) -> tuple[float | None, str | None]:
        """Refuse: rows share their neighbours, and the estimate is biased near calibration."""
        return None, _SMOOTHED


def _shifted(logs: Array, top: Array) -> Array:
    """Return logs - top, in place where nothing else needs them."""
    if is_numpy(logs):
        return np.subtract(logs, top[:, None], out=logs)
    if is_torch(logs) and not logs.requires_grad:
        return logs.sub_(top[:, None])
    return logs - top[:, None]


def _divided(found: Array, totals: Array) -> Array:
    if is_numpy(found):
        return np.divide(found, totals, out=found)
    return found / totals


@dataclasses.dataclass(frozen=True)
class SmoothedError(Statistic):
    """Base of the calibration errors that smooth labels over neighbouring predictions."""

    bandwidth: float | Literal["likelihood"] = "likelihood"
    precision: Precision = "float64"

    def __post_init__(self) -> None:
        one_of("`precision`", self.precision, PRECISIONS)
        check_bandwidth(self.bandwidth, "likelihood")

    def plan(self, predictions: Predictions) -> BandwidthPlan:
        """Return the number of instances and the bandwidth."""
        if self.bandwidth != "likelihood":
            return BandwidthPlan(len(predictions), None, float(self.bandwidth))
        point, _ = as_point(predictions)
        found, notes = likelihood_bandwidth(point.probs)
        return BandwidthPlan(len(predictions), None, found, notes)

    def _bind(self, predictions: Predictions, plan: Plan) -> Bound:
        assert isinstance(plan, BandwidthPlan)
        point, notes = as_point(predictions)
        resolved = dataclasses.replace(self, bandwidth=plan.number)
        return resolved.bound(point.probs, plan, (*notes, *plan.notes))

    def bound(self, probs: Array, plan: BandwidthPlan, notes: tuple[str, ...]) -> Bound:
        """Return the statistic bound to predictions."""
        return SmootherBound(self, probs, plan, notes)

    @abstractmethod
    def deviation(self, estimate: Array, probs: Array) -> Array:
        """Return how far estimates are from predictions, (b, k, rows), (k, rows) -> (b, rows)."""

    def error(self, mean: Array) -> Array:
        """Return the error from the mean deviation."""
        return mean


def smoother_traits(bounds: tuple[float, float] | None) -> Traits:
    """Return the traits of the smoothed errors."""
    return Traits(
        reduction="smoother",
        tail="greater",
        labels=CLASS_LABELS,
        differentiable=True,
        multiplicities=True,
        duplicate_invariant=False,
        range=bounds,
    )


@dataclasses.dataclass(frozen=True)
class KdeCe(SmoothedError):
    """L^p calibration error of the whole distribution, with a Dirichlet kernel estimate of label frequencies.

    Parameters
    ----------
    bandwidth : float or "likelihood"
        Spread of the Dirichlet kernel; "likelihood" takes the largest leave-one-out likelihood of the
        predictions over a grid, on at most 1000 evenly spaced rows.
    precision : {"float64", "float32", "tf32"}
        Of weights and matrix product; "tf32" needs torch on CUDA. Sums are always double.
    p : float
        Exponent, at least 1. The square of the error at p = 2 is the calibration term of the Brier score.

    Notes
    -----
    Costs one (n, n) matrix product per class and label vector, in tiles. The estimate is biased upwards at
    small n or bandwidth; compare it with its null distribution (`calibration_test`), not with 0. Weights of
    instances are multiplicities: a weight of 2 is the instance listed twice.

    Examples
    --------
    >>> import credibly as cr
    >>> round(float(cr.kde_ce([[0.8, 0.2], [0.7, 0.3], [0.1, 0.9]], [0, 1, 1], bandwidth=0.1)), 6)
    0.699164
    """

    p: float = 2.0
    name: ClassVar[str] = "kde_ce"
    traits: ClassVar[Traits] = smoother_traits((0.0, 2.0))
    reference: ClassVar[str] = "Popordanoska et al. 2022"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 1 <= self.p < float("inf"):
            raise InputError("`p`", "must be at least 1 and finite", f"got {self.p!r}", "Use 1 or 2.")

    def deviation(self, estimate: Array, probs: Array) -> Array:
        """sum_c |E_c - f_c|^p."""
        xp = namespace(estimate)
        if is_numpy(estimate):
            gap = np.subtract(estimate, probs[None, :, :], out=estimate)
        else:
            gap = estimate - probs[None, :, :]
        if self.p == 2:
            return xp.sum(gap * gap, axis=1) if not is_numpy(gap) else np.einsum("bkn,bkn->bn", gap, gap)
        if self.p == 1:
            return xp.sum(xp.abs(gap), axis=1)
        return xp.sum(xp.abs(gap) ** self.p, axis=1)

    def error(self, mean: Array) -> Array:
        """The p-th root."""
        return mean if self.p == 1 else mean ** (1.0 / self.p)


kde_ce = KdeCe()
