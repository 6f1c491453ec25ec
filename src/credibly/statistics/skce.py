"""Squared kernel calibration error: do residuals of similar predictions point the same way?

    h_ij = k(p_i, p_j) <r_i, r_j>,   r = onehot(y) - p
    skce = mean of h over pairs i != j, which is unbiased

Widmann, Lindsten and Zachariah 2019. The matrix-valued kernel is k times the identity. It is also the squared
maximum mean discrepancy between (p, y) and (p, y~), y~ drawn from p, with the kernel k(p, p') 1[y = y'].
Marx, Zalouk and Ermon 2023.
"""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar, Literal

import numpy as np

from credibly._arrays.errors import UnsupportedError, one_of
from credibly._arrays.namespace import Array, as_float64, is_numpy, namespace
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
    as_number,
    check_bandwidth,
    check_kernel,
    median_distance,
    spaced_probs,
)
from credibly.statistics.pairwise import (
    BandwidthPlan,
    PairBound,
    PairStatistic,
    Sides,
    require_pairs,
    require_same_n,
)
from credibly.statistics.protocol import ALL_LABELS, Bound, Plan, Story, Traits, label_values
from credibly.statistics.real_kernels import (
    STANDARDISED,
    RealPlan,
    centred,
    plan_of,
    sides_of,
    standardises,
    with_labels,
)
from credibly.statistics.seen import SeenBound


def of_classes(probs: Array) -> Sides:
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

    return Sides(exact, probs.shape[1], residuals)


@dataclasses.dataclass(frozen=True)
class Skce(PairStatistic):
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

    kernel: KernelName = "exponential"
    bandwidth: float | Literal["median"] = "median"
    label_bandwidth: float | Literal["median", "standardised"] = "standardised"
    name: ClassVar[str] = "skce"
    # Values lie in -2 / (n - 1) to 2, but only an n-free range could be compared with an acceptance region.
    traits: ClassVar[Traits] = Traits(
        tail="greater",
        labels=ALL_LABELS,
        reduction="pairwise",
        differentiable=True,
        duplicate_invariant=False,
    )
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
        aliases={
            **dict.fromkeys(("kce", "kernel_calibration_error"), "which is the square of it"),
            **dict.fromkeys(("mmd", "mmd_ce"), "which it is with the delta kernel on labels"),
        },
    )

    def __post_init__(self) -> None:
        check_kernel(self.kernel, self.bandwidth, "median")
        if isinstance(self.label_bandwidth, str):
            one_of("`label_bandwidth`", self.label_bandwidth, (STANDARDISED, "median"))
        else:
            check_bandwidth(self.label_bandwidth, "median", "`label_bandwidth`")

    def _plan(self, rows: Rows) -> BandwidthPlan:
        """Return the number of instances and the bandwidths."""
        if isinstance(rows.sample.predictions, (RealPredictions, Pool)):
            return plan_of(rows, self.bandwidth, self.label_bandwidth, self._single)
        if self.bandwidth != "median":
            return BandwidthPlan(rows.n, None, float(self.bandwidth))
        return BandwidthPlan(rows.n, None, *median_distance(spaced_probs(rows, MEDIAN_ROWS)))

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
            return self._of_draws(predictions, plan.n)
        return self.bound(predictions, plan, (*predictions.notes, *plan.notes))

    def bound(self, predictions: Predictions, plan: BandwidthPlan, notes: tuple[str, ...]) -> PairBound:
        """Return the statistic bound to some rows, of draws to pools with their labels."""
        settings: dict[str, Any] = {"bandwidth": plan.number}
        if isinstance(plan, RealPlan):
            sides = centred(sides_of(predictions, plan), plan, self.kernel)
            # of quantiles cells of labels are compared, and standardised labels need no number
            if not isinstance(predictions, Quantiles) and not standardises(plan.label_bandwidth):
                settings["label_bandwidth"] = as_number(plan.label_bandwidth)
        else:
            sides = of_classes(as_point(predictions)[0].probs)
        return PairBound(dataclasses.replace(self, **settings), sides, plan, notes)

    def _of_draws(self, draws: Samples, n: int) -> SeenBound:
        """Return the statistic of draws, which get their places together with the label."""

        def pools(pool: Pool, weights: Array | None) -> PairBound:
            own = None if weights is None else weights[0, :]
            plan = self.plan(InMemory(Dataset(pool, None, weights=own)))
            assert isinstance(plan, RealPlan)
            return self.bound(pool, plan, (*draws.notes, *plan.notes))

        def see(labels: Labels) -> tuple[Bound, Labels]:
            require_same_n(labels, n)
            rows = with_labels(Dataset(draws, labels))
            assert isinstance(rows.predictions, Pool)
            return pools(rows.predictions, labels.weights), rows.batch

        return SeenBound(self, n, draws.notes, see, pools)


skce = Skce()
