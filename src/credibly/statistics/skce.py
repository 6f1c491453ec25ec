"""Squared kernel calibration error: do residuals of similar predictions point the same way?

    h_ij = k(p_i, p_j) <r_i, r_j>,   r = onehot(y) - p
    skce = mean of h over pairs i != j, which is unbiased

Widmann, Lindsten and Zachariah 2019. The matrix-valued kernel is k times the identity.
"""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar, Literal, Self

import numpy as np

from credibly._arrays.errors import InputError, UnsupportedError, one_of
from credibly._arrays.namespace import (
    Array,
    HostArray,
    as_float64,
    is_numpy,
    namespace,
    rows_within_budget,
    tiles,
)
from credibly.predictions import (
    Dataset,
    InMemory,
    Labels,
    Predictions,
    Quantiles,
    RealPredictions,
    Rows,
    Samples,
    as_point,
)
from credibly.predictions.samples import Pool
from credibly.statistics.kernels import (
    MEDIAN_ROWS,
    KernelName,
    check_bandwidth,
    check_kernel,
    largest_term,
    median_distance,
    spaced_rows,
)
from credibly.statistics.pairwise import (
    BandwidthPlan,
    ClusterSums,
    PairStatistic,
    PairwiseBound,
    as_number,
    by_clusters,
    require_pairs,
    require_same_n,
)
from credibly.statistics.protocol import (
    ALL_LABELS,
    CLASS_LABELS,
    Bound,
    Plan,
    State,
    Story,
    Traits,
    label_values,
    replicates,
    total_weight,
)
from credibly.statistics.real_kernels import (
    STANDARDISED,
    RealPlan,
    Sides,
    centred,
    plan_of,
    sides_of,
    standardises,
    with_labels,
)

_DEGENERATE = (
    "a quadratic estimate has no normal limit under calibration, so no normal interval can be trusted there"
)


def of_classes(probs: Array, label_kernel: Array | None) -> Sides:
    """Return what a kernel error sees of classes: probabilities, and one-hot labels less these."""
    exact = as_float64(probs)
    xp = namespace(exact)
    # classes first, like labels, and next to each other in memory
    by_class = np.ascontiguousarray(exact.T) if is_numpy(exact) else exact.T

    def residuals(labels: Labels, rows: slice, dtype: Any) -> Array:
        found = label_values(labels, xp, dtype)
        if is_numpy(found):
            found -= by_class[:, rows]
            return found
        return found - xp.astype(by_class[:, rows], dtype)[None, :, :]

    return Sides(exact, probs.shape[1], residuals, largest_term(label_kernel))


class QuadraticBound(PairwiseBound):
    """Sums of k_ij <r_i, r_j> over all pairs, from tiles on and above the diagonal."""

    symmetric = True
    statistic: KernelError

    def __init__(
        self,
        statistic: KernelError,
        sides: Sides,
        plan: BandwidthPlan,
        label_kernel: Array | None,
        notes: tuple[str, ...],
    ) -> None:
        super().__init__(statistic, sides.points, plan, notes)
        self.bandwidth, self.label_kernel, self.sides = plan.bandwidth, label_kernel, sides
        self.term_size = sides.largest
        if statistic._single:
            # Values of label vectors that differ only in the order of equal predictions were found up to
            # 90 eps / n apart, neighbours among a thousand replicates some 5000 eps / n.
            self.rounding = 200 * float(np.finfo(np.float32).eps) / plan.n**1.5

    @property
    def width(self) -> int:
        """Numbers per residual."""
        return self.sides.width

    def tile(self, rows: slice, weighted: bool) -> Array:
        """Return the kernel of these rows with themselves and twice that with all later rows."""
        made = self._kernel(self.probs[rows, :], self.probs[rows.start :, :])
        return _doubled(made, rows.stop - rows.start)

    def _kernel(self, left: Array, right: Array) -> Array:
        return self.sides.kernel(left, right, self.statistic.kernel, self.bandwidth)

    def values(self, labels: Labels) -> Array:
        """Return residuals times weights, (b k, n)."""
        return self._residuals(labels, slice(None), weighted=True)

    def _residuals(self, labels: Labels, rows: slice, weighted: bool) -> Array:
        xp = namespace(self.probs)
        chosen = labels.rows(rows)
        residual = self.sides.residuals(chosen, rows, self.dtype)
        if weighted and chosen.weights is not None:
            residual = residual * xp.astype(chosen.weights, self.dtype)[:, None, :]
        return xp.reshape(residual, (-1, residual.shape[-1]))

    def contribution(self, tile: Array, rows: slice, values: Array, labels: Labels) -> State:
        """Add <r_i, (K r)_i> over the rows, and the diagonal that the unbiased estimate leaves out."""
        xp = namespace(values)
        b, k = len(labels), self.width
        own = values[:, rows]
        product = self.product(values[:, rows.start :], tile)
        product = self.between_labels(product, b)
        pairs = xp.sum(xp.reshape(as_float64(xp.vecdot(own, product)), (b, k)), axis=1)
        # k(p, p) = 1; a row of weight w stands for w rows, which differ from each other
        plain = own if labels.weights is None else self._residuals(labels, rows, weighted=False)
        squares = as_float64(xp.vecdot(own, self.between_labels(plain, b)))
        return State(
            pairs=pairs,
            diagonal=xp.sum(xp.reshape(squares, (b, k)), axis=1),
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
        xp, kernel = namespace(self.probs), self._kernel(self.probs, other.probs)
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
        apart = xp.reshape(values, (b, self.width, -1))
        return xp.reshape(xp.matmul(xp.astype(self.label_kernel, self.dtype), apart), values.shape)

    def pair_terms(self, residual: Array, rows: slice) -> Array:
        """Return h_ij of one label vector (k, n), (rows, later rows); pairs with other rows count twice."""
        between = self.between_labels(residual, 1)[:, rows.start :]
        return as_float64(self.tile(rows, False) * (residual[:, rows].T @ between))

    def wild_sums(self, labels: Labels, codes: HostArray, number: int) -> tuple[State, State]:
        """Return how many pairs are of different clusters, and the sums of h_ij between every two of them."""
        residual, n = self.values(labels), self.n  # (k, n), times the weights
        sums = ClusterSums(number)
        for rows in tiles(n, rows_within_budget(32 * n, 0.5)):
            sums.add(*by_clusters(self.pair_terms(residual, rows), codes[rows], codes[rows.start :]))
        sums.weigh(codes, labels)
        return sums.states()

    def meet_clusters(
        self, other: Self, labels: Labels, other_labels: Labels, codes: HostArray, other_codes: HostArray
    ) -> tuple[HostArray, HostArray, HostArray]:
        """Return clusters of these rows, clusters of another block, and the sums of h_ij between them.

        Both orders of a pair count, as in `meet`.
        """
        if other is self:
            terms = self.pair_terms(self.values(labels), slice(0, self.n))
        else:
            right = self.between_labels(other.values(other_labels), 1)
            kernel = self._kernel(self.probs, other.probs)
            terms = as_float64(2.0 * kernel * (self.values(labels).T @ right))
        return by_clusters(terms, codes, other_codes)

    def wild_values(self, expected: State, added: State, signs: HostArray) -> Array:
        """Return s' B s over the number of pairs."""
        return np.einsum("bc,bc->b", signs @ added["between"], signs) / expected["pairs"]

    def finish(self, state: State) -> Array:
        """Divide by the number of pairs."""
        return divided(self.statistic, state)

    def stderr(self, sums: State, labels: Labels) -> tuple[float | None, str | None]:
        """Refuse: U- and V-statistics are degenerate under calibration."""
        return None, _DEGENERATE


def divided(statistic: KernelError, state: State) -> Array:
    """Return sums over pairs divided by the number of pairs."""
    weight = state["weight"]
    xp = namespace(weight)
    if bool(xp.any(weight <= 1)):
        raise InputError(
            "`sample_weight`",
            f"counts occurrences; `{statistic.name}` needs a sum above 1",
            f"got a sum of {float(xp.min(weight)):.6g}",
            "Give multiplicities.",
        )
    return (state["pairs"] - state["diagonal"]) / (weight * (weight - 1.0))


def _doubled(tile: Array, n_rows: int) -> Array:
    """Return the tile with everything right of the diagonal block counted twice."""
    if is_numpy(tile):
        tile[:, n_rows:] *= 2.0
        return tile
    xp = namespace(tile)
    return xp.concat([tile[:, :n_rows], 2.0 * tile[:, n_rows:]], axis=1)


@dataclasses.dataclass(frozen=True)
class KernelError(PairStatistic):
    """Base of the kernel calibration errors."""

    kernel: KernelName = "exponential"
    bandwidth: float | Literal["median"] = "median"

    def __post_init__(self) -> None:
        check_kernel(self.kernel, self.bandwidth, "median")

    def _plan(self, rows: Rows) -> BandwidthPlan:
        """Return the number of instances and the bandwidth."""
        if self.bandwidth != "median":
            return BandwidthPlan(rows.n, None, float(self.bandwidth))
        return BandwidthPlan(rows.n, None, *median_distance(as_float64(spaced_rows(rows, MEDIAN_ROWS))))

    def label_kernel_matrix(self, probs: Array) -> Array | None:
        """Return the kernel between labels, (k, k); None where it is the identity."""
        return None

    def bound(self, predictions: Predictions, plan: BandwidthPlan, notes: tuple[str, ...]) -> QuadraticBound:
        """Return the statistic bound to some rows, even to a single one."""
        probs = as_point(predictions)[0].probs
        labels = self.label_kernel_matrix(probs)
        return self.bound_to_sides(of_classes(probs, labels), plan, labels, notes)

    def bound_to_sides(
        self,
        sides: Sides,
        plan: BandwidthPlan,
        label_kernel: Array | None,
        notes: tuple[str, ...],
        **settings: Any,
    ) -> QuadraticBound:
        """Return the statistic bound to places of predictions; `settings` are what rules became."""
        resolved = dataclasses.replace(self, bandwidth=plan.number, **settings)
        return QuadraticBound(resolved, sides, plan, label_kernel, notes)


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
    kernel : {"exponential", "gaussian"}
        exp(-d / bandwidth), or exp(-d^2 / (2 bandwidth^2)). The distance d between predictions is euclidean
        for classes, the Wasserstein distance for Gaussians and quantiles, MMD for several members and for
        draws.
    bandwidth : float or "median"
        "median" uses the median distance between at most 1000 evenly spaced rows.
    label_bandwidth : float, "median" or "standardised"
        For real labels, the standard deviation of the Gaussian kernel that compares them. "median" uses the
        median distance between predicted labels. "standardised" is for Gaussians: labels are compared in
        units of the predicted spread, and the kernel of predictions is centred, which detects more; for
        `Samples` it means "median". `Quantiles` compare cells of labels and need no bandwidth.

    Notes
    -----
    Real labels replace one-hot labels through their kernel: r = f(y) - E f(Y), with Y drawn from the
    prediction. For `Samples`, the mean over the draws estimates E f(Y), and label and draws together
    determine the position of a prediction; so the unbiased estimate for calibrated draws is 0 on average, for
    any number of draws (weighted draws count as 1 / sum of squared weights). A label beyond the predicted
    range counts as if it were at the end of that range.

    Costs one (n, n) matrix product per class and label vector, in tiles. Rows in chunks are compared two
    blocks at a time, with the same values up to the rounding of sums. Weights of instances are
    multiplicities: a weight of 2 is the same as listing the instance twice.

    Examples
    --------
    >>> import credibly as cr
    >>> round(float(cr.skce([[0.8, 0.2], [0.8, 0.2], [0.1, 0.9]], [1, 1, 1], bandwidth=1.0)), 6)
    0.466304
    >>> normal = cr.Gaussian([0.0, 0.0], [1.0, 1.0])
    >>> round(float(cr.skce(normal, [0.0, 0.0], label_bandwidth=1.0)), 6)  # 1 - sqrt(2) + 1 / sqrt(3)
    0.163137
    """

    label_bandwidth: float | Literal["median", "standardised"] = "standardised"
    name: ClassVar[str] = "skce"
    traits: ClassVar[Traits] = dataclasses.replace(KERNEL_TRAITS, labels=ALL_LABELS)
    reference: ClassVar[str] = "Widmann et al. 2019"
    story: ClassVar[Story] = Story(
        title="SKCE",
        meaning=(
            "Do errors of similar predictions point in the same direction? Unbiased, so it may be "
            "slightly negative."
        ),
        formula="mean over i ≠ j of k(pᵢ, pⱼ) ⟨e_yᵢ − pᵢ, e_yⱼ − pⱼ⟩",
        real_formula="mean over i ≠ j of k(Pᵢ, Pⱼ) ⟨rᵢ, rⱼ⟩, rᵢ = f(yᵢ) − E f(Yᵢ)",
        above="similar predictions err in the same direction by more than chance explains",
        citation="Widmann, Lindsten and Zachariah, Calibration tests in multi-class classification, NeurIPS "
        "2019.",
        aliases={"kce": "which is the square of it", "kernel_calibration_error": "which is the square of it"},
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.label_bandwidth, str):
            one_of("`label_bandwidth`", self.label_bandwidth, (STANDARDISED, "median"))
        else:
            check_bandwidth(self.label_bandwidth, "median", "`label_bandwidth`")

    def _plan(self, rows: Rows) -> BandwidthPlan:
        """Return the number of instances and the bandwidths."""
        if not isinstance(rows.sample.predictions, (RealPredictions, Pool)):
            return super()._plan(rows)
        return plan_of(rows, self.bandwidth, self.label_bandwidth, self._single)

    def _bind(self, predictions: Predictions, plan: Plan) -> Bound:
        if not isinstance(predictions, RealPredictions):
            if not standardises(self.label_bandwidth):
                raise UnsupportedError(
                    "`label_bandwidth`",
                    "is the bandwidth of real labels",
                    f"got it for {type(predictions).__name__}, whose labels are classes",
                    "Leave it out.",
                    argument="label_bandwidth",
                )
            return super()._bind(predictions, plan)
        assert isinstance(plan, RealPlan)
        require_pairs(self.name, plan.n)
        if isinstance(predictions, Samples):
            return DrawsBound(self, predictions, plan)
        return self.bound(predictions, plan, (*predictions.notes, *plan.notes))

    def bound(self, predictions: Predictions, plan: BandwidthPlan, notes: tuple[str, ...]) -> QuadraticBound:
        """Return the statistic bound to some rows, of draws to pools with their labels."""
        if not isinstance(plan, RealPlan):
            return super().bound(predictions, plan, notes)
        sides = centred(sides_of(predictions, plan), plan, self.kernel)
        # of quantiles cells of labels are compared, and standardised labels need no number
        compared = not isinstance(predictions, Quantiles) and not standardises(plan.label_bandwidth)
        found = {"label_bandwidth": as_number(plan.label_bandwidth)} if compared else {}
        return self.bound_to_sides(sides, plan, None, notes, **found)


skce = Skce()


class DrawsBound(Bound):
    """Draws, which get their places together with the labels: bound again to every label vector."""

    term_size = 2.0

    def __init__(self, statistic: Skce, predictions: Samples, plan: RealPlan) -> None:
        super().__init__(statistic, plan.n, predictions.notes)
        self.asked = statistic
        self.draws = predictions
        self._last: QuadraticBound | None = None

    def of_pool(self, pool: Pool, weights: Array | None = None) -> QuadraticBound:
        """Bind to pools, of which a choice is the label."""
        own = None if weights is None else weights[0, :]
        plan = self.asked.plan(InMemory(Dataset(pool, None, weights=own)))
        assert isinstance(plan, RealPlan)
        return self.asked.bound(pool, plan, (*self.draws.notes, *plan.notes))

    def with_labels(self, labels: Labels) -> tuple[QuadraticBound, Labels]:
        """Return the statistic bound to draws and one label vector, and that vector as a choice."""
        rows = with_labels(Dataset(self.draws, labels))
        assert isinstance(rows.predictions, Pool)
        self._last = self.of_pool(rows.predictions, labels.weights)
        self.statistic, self.notes = self._last.statistic, self._last.notes  # what the rules became
        return self._last, rows.batch

    def state(self, labels: Labels, rows: slice | None = None) -> State:
        """Return the sums of every label vector, each with the places that it gives the predictions."""
        require_same_n(labels, self.n)
        states = []
        for at in range(len(labels)):
            bound, choice = self.with_labels(replicates(labels, slice(at, at + 1)))
            states.append(bound.state(choice, rows=rows))
        xp = self.draws.xp
        return State({name: xp.concat([one[name] for one in states], axis=0) for name in states[0]})

    def finish(self, state: State) -> Array:
        """Divide by the number of pairs."""
        return divided(self.asked, state)

    def wild_sums(self, labels: Labels, codes: HostArray, number: int) -> tuple[State, State]:
        """Return the sums between clusters of the statistic bound to pools, where residuals expect 0."""
        bound, choice = self.with_labels(labels)
        return bound.wild_sums(choice, codes, number)

    def wild_values(self, expected: State, added: State, signs: HostArray) -> Array:
        """Return what the statistic bound to pools makes of signs."""
        assert self._last is not None
        return self._last.wild_values(expected, added, signs)

    def stderr(self, sums: State, labels: Labels) -> tuple[float | None, str | None]:
        """Return what the statistic bound to pools says."""
        assert self._last is not None
        return self._last.stderr(sums, labels)
