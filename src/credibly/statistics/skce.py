"""Squared kernel calibration error: do residuals of similar predictions point the same way?

    h_ij = k(p_i, p_j) <r_i, r_j>,   r = onehot(y) - p
    skce = mean of h over pairs i != j, which is unbiased

    MMD^2 between (p, y) and (p, y~), y~ drawn from p, with the kernel k(p, p') l(y, y')
    mmd_ce = mean over i != j of  k_ij  r_i' L r_j,   which is skce where L is the identity

Widmann, Lindsten and Zachariah 2019; Marx, Zalouk and Ermon 2023; J25 eq. 11.
"""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar, Literal

import numpy as np

from credibly._arrays.errors import InputError, UnsupportedError, one_of, require
from credibly._arrays.namespace import (
    Array,
    HostArray,
    as_float64,
    is_array,
    is_numpy,
    like,
    namespace,
    to_host,
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
from credibly.statistics.batches import one_hot, replicates, stacked
from credibly.statistics.kernels import (
    KERNELS,
    MEDIAN_ROWS,
    KernelName,
    as_number,
    check_bandwidth,
    largest_term,
    median_distance,
    spaced_probs,
)
from credibly.statistics.label_pairs import MANY, ManyClasses
from credibly.statistics.pairwise import (
    DEGENERATE,
    BandwidthPlan,
    PairBound,
    PairStatistic,
    Sides,
    require_pairs,
    require_same_n,
)
from credibly.statistics.protocol import ALL_LABELS, CLASS_LABELS, Bound, Plan, State, Story, Traits
from credibly.statistics.real_kernels import (
    STANDARDISED,
    RealPlan,
    centred,
    plan_of,
    sides_of,
    standardises,
    with_labels,
)


def of_classes(probs: Array, label_kernel: HostArray | None = None) -> Sides:
    """Return what a kernel error sees of classes: probabilities, and one-hot labels less these.

    With a kernel L = F F between labels, F r takes the place of r.
    """
    exact = as_float64(probs)
    xp = namespace(exact)
    # classes first, like labels, and next to each other in memory
    by_class = np.ascontiguousarray(exact.T) if is_numpy(exact) else exact.T
    root = None if label_kernel is None else like(square_root(label_kernel), exact)

    def residuals(labels: Labels, rows: slice, dtype: Any) -> Array:
        residual = one_hot(labels, xp, dtype)
        if is_numpy(residual):
            residual -= by_class[:, rows]
        else:
            residual = residual - xp.astype(by_class[:, rows], dtype)[None, :, :]
        return residual if root is None else xp.matmul(xp.astype(root, dtype), residual)

    return Sides(exact, probs.shape[1], residuals, largest_term(label_kernel))


def square_root(kernel: HostArray) -> HostArray:
    """Return the symmetric F with F F = L."""
    sizes, vectors = np.linalg.eigh(kernel)
    return np.asarray((vectors * np.sqrt(np.clip(sizes, 0.0, None))) @ vectors.T)


@dataclasses.dataclass(frozen=True)
class KernelError(PairStatistic):
    """Base of the kernel calibration errors."""

    kernel: KernelName = "exponential"
    bandwidth: float | Literal["median"] = "median"

    def __post_init__(self) -> None:
        one_of("`kernel`", self.kernel, KERNELS)
        check_bandwidth(self.bandwidth, "median")

    def _plan(self, rows: Rows) -> BandwidthPlan:
        """Return the number of instances and the bandwidth."""
        if self.bandwidth != "median":
            return BandwidthPlan(rows.n, None, float(self.bandwidth))
        return BandwidthPlan(rows.n, None, *median_distance(spaced_probs(rows, MEDIAN_ROWS)))

    def label_kernel_matrix(self, k: int) -> HostArray | None:
        """Return the kernel between labels, (k, k); None where it is the identity."""
        return None

    def bound(self, predictions: Predictions, plan: BandwidthPlan, notes: tuple[str, ...]) -> PairBound:
        """Return the statistic bound to some rows, even to a single one."""
        probs = as_point(predictions)[0].probs
        kernel = self.label_kernel_matrix(probs.shape[1])
        result = self.bound_to_sides(of_classes(probs, kernel), plan, notes)
        if kernel is None and probs.shape[1] >= MANY:
            return ManyClasses(result.statistic, result.sides, plan, notes)
        return result

    def bound_to_sides(
        self, sides: Sides, plan: BandwidthPlan, notes: tuple[str, ...], **settings: Any
    ) -> PairBound:
        """Return the statistic bound to places of predictions; `settings` hold resolved values."""
        resolved = dataclasses.replace(self, bandwidth=plan.number, **settings)
        return PairBound(resolved, sides, plan, notes)


# Values lie in -2 / (n - 1) to 2, but only an n-free range could be compared with an acceptance region.
KERNEL_TRAITS = Traits(
    tail="greater", labels=CLASS_LABELS, reduction="pairwise", differentiable=True, duplicate_invariant=False
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
    any number of draws. A label beyond the predicted range counts as if it were at the end of that range.

    Costs one (n, n) matrix product per class and label vector, in tiles. Rows in chunks are compared two
    chunks at a time, with the same values up to the rounding of sums. Weights of instances are
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
        if not isinstance(rows.example.predictions, (RealPredictions, Pool)):
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
            return DrawsBound(self, predictions, plan.n)
        return self.bound(predictions, plan, (*predictions.notes, *plan.notes))

    def bound(self, predictions: Predictions, plan: BandwidthPlan, notes: tuple[str, ...]) -> PairBound:
        """Return the statistic bound to some rows, of draws to pools with their labels."""
        if not isinstance(plan, RealPlan):
            return super().bound(predictions, plan, notes)
        sides = centred(sides_of(predictions, plan), plan, self.kernel)
        # of quantiles cells of labels are compared, and standardised labels need no number
        compared = not isinstance(predictions, Quantiles) and not standardises(plan.label_bandwidth)
        resolved = {"label_bandwidth": as_number(plan.label_bandwidth)} if compared else {}
        return self.bound_to_sides(sides, plan, notes, **resolved)


class DrawsBound(Bound):
    """Draws, which get their places together with the label: every label vector is bound anew."""

    term_size = 2.0
    refusal = DEGENERATE

    def __init__(self, statistic: Skce, draws: Samples, n: int) -> None:
        super().__init__(statistic, n, draws.notes)
        self.unresolved, self.draws = statistic, draws

    def of_pool(self, pool: Pool, weights: Array | None) -> PairBound:
        """Bind to pools of draws and labels."""
        own_weights = None if weights is None else weights[0, :]
        plan = self.unresolved.plan(InMemory(Dataset(pool, None, weights=own_weights)))
        assert isinstance(plan, RealPlan)
        return self.unresolved.bound(pool, plan, (*self.draws.notes, *plan.notes))

    def pooled(self, labels: Labels) -> tuple[PairBound, Labels]:
        """Bind to pools with these labels, and return them as choices."""
        require_same_n(labels, self.n)
        rows = with_labels(Dataset(self.draws, labels))
        assert isinstance(rows.predictions, Pool)
        self.latest = self.of_pool(rows.predictions, labels.weights)
        self.statistic, self.notes = self.latest.statistic, self.latest.notes  # what the rules became
        return self.latest, rows.batch

    def state(self, labels: Labels, rows: slice | None = None) -> State:
        """Return the sums of every label vector, one by one."""
        each = (self.pooled(replicates(labels, slice(at, at + 1))) for at in range(len(labels)))
        return stacked([bound.state(choices, rows) for bound, choices in each])

    def finish(self, state: State) -> Array:
        """Turn sums into values, (b,)."""
        return self.latest.finish(state)

    def wild_sums(self, labels: Labels, codes: HostArray, number: int) -> tuple[State, State]:
        """Return what predictions expect, and what labels add per cluster."""
        bound, choices = self.pooled(labels)
        return bound.wild_sums(choices, codes, number)

    def wild_values(self, expected: State, added: State, signs: HostArray) -> Array:
        """Return the values of pseudo-labels."""
        return self.latest.wild_values(expected, added, signs)


LABEL_KERNELS = ("delta", "ordinal")


@dataclasses.dataclass(frozen=True)
class MmdCe(KernelError):
    """Squared maximum mean discrepancy between observed labels and labels drawn from the predictions.

    Parameters
    ----------
    kernel : {"exponential", "gaussian"}
        exp(-d / bandwidth), or exp(-d^2 / (2 bandwidth^2)), d the euclidean distance between predictions.
    bandwidth : float or "median"
        "median" uses the median distance between at most 1000 evenly spaced rows.
    label_kernel : {"delta", "ordinal"} or nested sequence (k, k)
        Similarity of labels. "delta" is 1 for equal labels and makes this `skce`; "ordinal" is
        ``exp(-|c - c'|)``, for classes in an order; a matrix must be symmetric and positive semidefinite.

    Notes
    -----
    A label kernel says which mistakes are alike: residuals that confuse similar classes partly cancel. The
    cost is that of `skce`.

    Examples
    --------
    >>> import credibly as cr
    >>> probs, labels = [[0.8, 0.2, 0.0], [0.7, 0.2, 0.1], [0.1, 0.1, 0.8]], [1, 1, 2]
    >>> round(float(cr.mmd_ce(probs, labels, bandwidth=1.0, label_kernel="ordinal")), 6)
    0.21987
    """

    label_kernel: Any = "delta"
    name: ClassVar[str] = "mmd_ce"
    traits: ClassVar[Traits] = KERNEL_TRAITS
    reference: ClassVar[str] = "Marx et al. 2023"
    story: ClassVar[Story] = Story(
        title="MMD calibration error",
        meaning=(
            "Distance between observed labels and labels drawn from the predictions, with a kernel L "
            "on labels."
        ),
        formula="mean over i ≠ j of k(pᵢ, pⱼ) (e_yᵢ − pᵢ)ᵀ L (e_yⱼ − pⱼ)",
        above="labels differ from labels drawn from the predictions",
        citation="Marx, Zalouk and Ermon, Calibration by distribution matching, NeurIPS 2023.",
        aliases={"mmd": ""},
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.label_kernel, str):
            one_of("`label_kernel`", self.label_kernel, LABEL_KERNELS)
            return
        matrix = np.asarray(to_host(self.label_kernel) if is_array(self.label_kernel) else self.label_kernel)
        check_label_kernel(matrix)
        # nested tuples: settings stay hashable, comparable and JSON-safe
        object.__setattr__(self, "label_kernel", tuple(tuple(map(float, row)) for row in matrix))

    def label_kernel_matrix(self, k: int) -> HostArray | None:
        """Return the kernel between labels, (k, k); None where it is the identity."""
        if self.label_kernel == "delta":
            return None
        if self.label_kernel == "ordinal":
            return np.exp(-np.abs(np.subtract.outer(np.arange(k), np.arange(k))).astype(np.float64))
        matrix = np.asarray(self.label_kernel)
        fits = matrix.shape[0] == k
        remedy = "Give one row and one column per class."
        require(fits, f"must be ({k}, {k}) for {k} classes", remedy, label_kernel=matrix.shape)
        return matrix


def check_label_kernel(matrix: HostArray) -> None:
    """Raise unless the matrix is a kernel: square, finite, symmetric, no negative eigenvalue."""
    square = matrix.ndim == 2 and matrix.shape[0] == matrix.shape[1]
    finite = square and np.isfinite(matrix.astype(np.float64)).all()
    remedy = 'Use "delta", "ordinal" or a (k, k) matrix.'
    require(finite, "must be a square matrix of finite numbers", remedy, label_kernel=matrix)
    scale = max(1.0, float(np.abs(matrix).max()))
    if not np.allclose(matrix, matrix.T, rtol=0, atol=1e-12 * scale):
        raise InputError("`label_kernel`", "must be symmetric", "it is not", "Use `(L + L.T) / 2`.")
    lowest = float(np.linalg.eigvalsh(matrix.astype(np.float64)).min())
    if lowest < -1e-10 * scale:
        raise InputError(
            "`label_kernel`",
            "must have no negative eigenvalue",
            f"the smallest is {lowest:.3g}",
            "Use `F @ F.T` of features F (k, d) of the classes.",
        )


skce = Skce()
mmd_ce = MmdCe()
