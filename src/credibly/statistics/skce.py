"""Squared kernel calibration error: do residuals of similar predictions point the same way?

    h_ij = k(p_i, p_j) <r_i, r_j>,   r = onehot(y) - p
    unbiased  mean of h over pairs i != j       biased  mean over all i, j
    linear    mean over (1, 2), (3, 4), ...     block   mean over blocks of the unbiased estimate in each

Widmann, Lindsten and Zachariah 2019. The matrix-valued kernel is k times the identity.
"""

from __future__ import annotations

import dataclasses
import math
from typing import Any, ClassVar, Literal, Self

import numpy as np

from credibly._arrays.errors import InputError, one_of
from credibly._arrays.namespace import Array, as_float64, is_numpy, namespace
from credibly.predictions import Labels, Predictions, Rows, as_point
from credibly.statistics.kernels import (
    MEDIAN_ROWS,
    KernelName,
    Norm,
    check_kernel,
    kernel_matrix,
    largest_term,
    median_distance,
    spaced_rows,
)
from credibly.statistics.label_rows import label_values, total_weight
from credibly.statistics.pairwise import (
    PRECISIONS,
    BandwidthPlan,
    PairwiseBound,
    Precision,
    require_pairs,
)
from credibly.statistics.protocol import CLASS_LABELS, Bound, Plan, State, Statistic, Story, Traits

Estimator = Literal["unbiased", "biased", "linear", "block"]
ESTIMATORS = ("unbiased", "biased", "linear", "block")

_DEGENERATE = "a quadratic estimate has no normal limit under calibration, so no normal interval covers there"


class QuadraticBound(PairwiseBound):
    """Sums of k_ij <r_i, r_j> over all pairs, from tiles on and above the diagonal."""

    symmetric = True
    statistic: KernelError

    def __init__(
        self,
        statistic: KernelError,
        probs: Array,
        plan: BandwidthPlan,
        label_kernel: Array | None,
        notes: tuple[str, ...],
    ) -> None:
        super().__init__(statistic, probs, plan, statistic.precision, notes)
        self.bandwidth, self.label_kernel = plan.bandwidth, label_kernel
        self.term_size = largest_term(label_kernel)
        # classes first, like values, and next to each other in memory
        self.by_class = np.ascontiguousarray(self.probs.T) if is_numpy(self.probs) else self.probs.T

    def tile(self, rows: slice, weighted: bool) -> Array:
        """Return the kernel of these rows with themselves and twice that with all later rows."""
        right = self.probs[rows.start :, :]
        made = kernel_matrix(
            self.probs[rows, :], right, self.statistic.kernel, self.statistic.norm, self.bandwidth
        )
        return _doubled(made, rows.stop - rows.start)

    def values(self, labels: Labels) -> Array:
        """Return residuals times weights, (b k, n)."""
        return self._residuals(labels, slice(None), weighted=True)

    def _residuals(self, labels: Labels, rows: slice, weighted: bool) -> Array:
        xp = namespace(self.probs)
        chosen = labels.rows(rows)
        residual = label_values(chosen, xp, self.dtype)
        if is_numpy(residual):
            residual -= self.by_class[:, rows]
        else:
            residual = residual - self.by_class[:, rows][None, :, :]
        if weighted and chosen.weights is not None:
            residual = residual * xp.astype(chosen.weights, self.dtype)[:, None, :]
        return xp.reshape(residual, (-1, residual.shape[-1]))

    def contribution(self, tile: Array, rows: slice, values: Array, labels: Labels) -> State:
        """Add <r_i, (K r)_i> over the rows, and the diagonal that the unbiased estimate leaves out."""
        xp = namespace(values)
        b, k = len(labels), self.probs.shape[1]
        own = values[:, rows]
        product = self.product(values[:, rows.start :], tile)
        product = self.between_labels(product, b)
        pairs = xp.sum(xp.reshape(as_float64(xp.vecdot(own, product)), (b, k)), axis=1)
        plain = own if labels.weights is None else self._residuals(labels, rows, weighted=False)
        # k(p, p) = 1
        squares = xp.sum(xp.reshape(plain * self.between_labels(plain, b), (b, k, -1)), axis=1)
        if labels.weights is not None:
            squares = squares * xp.astype(labels.weights[:, rows], self.dtype)
        return State(
            pairs=pairs,
            diagonal=xp.sum(as_float64(squares), axis=1),
            weight=total_weight(labels, rows, values),
        )

    def meet(self, before: State | None, other: Self, labels: Labels, other_labels: Labels) -> State:
        """Add the sums over pairs of these rows with those of another block, both orders of each."""
        found = self.state(labels) if other is self else self._across(other, labels, other_labels)
        return found if before is None else before + found

    def met(self, sums: State, labels: Labels) -> State:
        """Return the sums: every pair has been counted."""
        return sums

    def _across(self, other: Self, labels: Labels, other_labels: Labels) -> State:
        xp, chosen = namespace(self.probs), self.statistic
        kernel = kernel_matrix(self.probs, other.probs, chosen.kernel, chosen.norm, self.bandwidth)
        b = len(labels)
        product = self.between_labels(self.product(other.values(other_labels), kernel), b)
        pairs = xp.reshape(as_float64(xp.vecdot(self.values(labels), product)), (b, -1))
        twice = 2.0 * xp.sum(pairs, axis=1)
        nothing = xp.zeros_like(twice)  # the diagonal and the weights are counted where a block meets itself
        return State(pairs=twice, diagonal=nothing, weight=nothing)

    def between_labels(self, values: Array, b: int) -> Array:
        """Apply the label kernel, (b k, n) -> (b k, n)."""
        if self.label_kernel is None:
            return values
        xp = namespace(values)
        apart = xp.reshape(values, (b, self.probs.shape[1], -1))
        return xp.reshape(xp.matmul(xp.astype(self.label_kernel, self.dtype), apart), values.shape)

    def kernel_rows(self, rows: slice) -> Array:
        """Return the kernel of these rows with all rows, (rows, n)."""
        chosen = self.statistic
        return kernel_matrix(self.probs[rows, :], self.probs, chosen.kernel, chosen.norm, self.bandwidth)

    def pair_terms(self, residual: Array, rows: slice) -> Array:
        """Return h_ij of these rows with all rows for one label vector, (k, n) -> (rows, n)."""
        return as_float64(self.kernel_rows(rows) * (residual[:, rows].T @ self.between_labels(residual, 1)))

    def finish(self, state: State) -> Array:
        """Divide by the number of pairs."""
        weight = state["weight"]
        if self.statistic.estimator == "biased":
            return state["pairs"] / (weight * weight)
        xp = namespace(weight)
        if bool(xp.any(weight <= 1)):
            raise InputError(
                "`sample_weight`",
                f"counts occurrences; the unbiased `{self.statistic.name}` needs a sum above 1",
                f"got a sum of {float(xp.min(weight)):.6g}",
                'Give multiplicities, or use estimator="biased".',
            )
        return (state["pairs"] - state["diagonal"]) / (weight * (weight - 1.0))

    def stderr(self, sums: State, labels: Labels) -> tuple[float | None, str | None]:
        """Refuse: U- and V-statistics are degenerate under calibration."""
        return None, _DEGENERATE


def _doubled(tile: Array, n_rows: int) -> Array:
    """Return the tile with everything right of the diagonal block counted twice."""
    if is_numpy(tile):
        tile[:, n_rows:] *= 2.0
        return tile
    xp = namespace(tile)
    return xp.concat([tile[:, :n_rows], 2.0 * tile[:, n_rows:]], axis=1)


@dataclasses.dataclass(frozen=True)
class KernelError(Statistic):
    """Base of the kernel calibration errors."""

    estimator: Estimator = "unbiased"
    kernel: KernelName = "exponential"
    norm: Norm = "euclidean"
    bandwidth: float | Literal["median"] = "median"
    block_size: int | None = None
    precision: Precision = "float64"

    def __post_init__(self) -> None:
        one_of("`estimator`", self.estimator, ESTIMATORS)
        one_of("`precision`", self.precision, PRECISIONS)
        check_kernel(self.kernel, self.norm, self.bandwidth, "median")
        if self.block_size is not None:
            if self.estimator != "block":
                raise InputError(
                    "`block_size`",
                    'belongs to estimator="block"',
                    f"got estimator={self.estimator!r}",
                    "Leave it out.",
                )
            if self.block_size < 2:
                raise InputError(
                    "`block_size`",
                    "must be at least 2",
                    f"got {self.block_size}",
                    'Blocks of 2 are estimator="linear".',
                )

    def _plan(self, rows: Rows) -> BandwidthPlan:
        """Return the number of instances and the bandwidth."""
        if self.bandwidth != "median":
            return BandwidthPlan(rows.n, None, float(self.bandwidth))
        return BandwidthPlan(
            rows.n, None, *median_distance(as_float64(spaced_rows(rows, MEDIAN_ROWS)), self.norm)
        )

    def label_kernel_matrix(self, probs: Array) -> Array | None:
        """Return the kernel between labels, (k, k); None where it is the identity."""
        return None

    @property
    def meets_in_blocks(self) -> bool:
        """Whether blocks of rows can be bound each on its own: not where rows are paired by their order."""
        return self.estimator in ("unbiased", "biased")

    def _bind(self, predictions: Predictions, plan: Plan) -> Bound:
        assert isinstance(plan, BandwidthPlan)
        point, notes = as_point(predictions)
        require_pairs(self.name, plan.n)
        return self.bound(point.probs, plan, (*notes, *plan.notes))

    def bound(self, probs: Array, plan: BandwidthPlan, notes: tuple[str, ...]) -> Bound:
        """Return the statistic bound to predictions."""
        from credibly.statistics.skce_blocks import BlockBound

        size = self.block_size
        if self.estimator == "block" and size is None:
            size = max(2, math.isqrt(plan.n))
        resolved = dataclasses.replace(self, bandwidth=plan.number, block_size=size)
        labels = self.label_kernel_matrix(probs)
        if self.estimator in ("linear", "block"):
            return BlockBound(resolved, probs, plan, labels, notes)
        return QuadraticBound(resolved, probs, plan, labels, notes)


KERNEL_TRAITS = Traits(
    reduction="pairwise",
    tail="greater",
    labels=CLASS_LABELS,
    differentiable=True,
    multiplicities=True,
    duplicate_invariant=False,
    # Values lie in -2 / (n - 1) to 2, but only an n-free range could be compared with an acceptance region.
    range=None,
)


@dataclasses.dataclass(frozen=True)
class Skce(KernelError):
    """Squared kernel calibration error of the whole distribution; unbiased estimates may be negative.

    Parameters
    ----------
    estimator : {"unbiased", "biased", "linear", "block"}
        Over all pairs of different instances; over all pairs; over disjoint pairs; over blocks.
    kernel : {"exponential", "gaussian"}
        exp(-d / bandwidth), or exp(-d^2 / (2 bandwidth^2)).
    norm : {"euclidean", "l1", "tv"}
        What distance d between predictions means; total variation is half of l1.
    bandwidth : float or "median"
        "median" takes the median distance of at most 1000 evenly spaced rows.
    block_size : int, optional
        Rows per block of ``estimator="block"``; the root of n where not given.
    precision : {"float64", "float32", "tf32"}
        Of the matrix product; "tf32" needs torch on CUDA. Sums are always double.

    Notes
    -----
    Costs one (n, n) matrix product per class and label vector, in tiles; "linear" and "block" cost n and n
    times the block size. Weights of instances are multiplicities: a weight of 2 is the instance listed twice.

    Examples
    --------
    >>> import credibly as cr
    >>> round(float(cr.skce([[0.8, 0.2], [0.8, 0.2], [0.1, 0.9]], [1, 1, 1], bandwidth=1.0)), 6)
    0.466304
    """

    name: ClassVar[str] = "skce"
    traits: ClassVar[Traits] = KERNEL_TRAITS
    reference: ClassVar[str] = "Widmann et al. 2019"
    story: ClassVar[Story] = Story(
        title="SKCE",
        meaning="Do errors of similar predictions point in one direction? Unbiased, so it may be slightly "
        "negative.",
        formula="mean over i ≠ j of k(pᵢ, pⱼ) ⟨e_yᵢ − pᵢ, e_yⱼ − pⱼ⟩",
        above="similar predictions err in one direction by more than chance explains",
        citation="Widmann, Lindsten and Zachariah, Calibration tests in multi-class classification, NeurIPS "
        "2019.",
        aliases={"kce": "which is the square of it", "kernel_calibration_error": "which is the square of it"},
    )
    papers: ClassVar[dict[str, dict[str, Any]]] = {
        "M23": {"estimator": "linear", "kernel": "exponential", "norm": "tv", "bandwidth": 2.0}
    }


skce = Skce()
