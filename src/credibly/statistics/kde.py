"""Calibration errors with a kernel estimate of what labels follow a prediction: distance and divergence.

    CE_p = (mean_j || E[y | f_j] - f_j ||_p^p)^(1/p)

with the estimate E[y | f_j] of `smoother`. Popordanoska, Sayer and Blaschko 2022; J25 eq. 5-7.

The Kullback-Leibler error is the part of the log loss that recalibration could remove:

    CE_KL = mean_j sum_c E[y | f_j]_c log(E[y | f_j]_c / f_jc),   0 log 0 = 0

with the kernel estimate of `kde_ce`. Infinite where a class of predicted probability 0 has a positive
estimate. Popordanoska et al. 2024; J25 eq. 8.
"""

from __future__ import annotations

import dataclasses
from abc import abstractmethod
from typing import ClassVar, Literal

import numpy as np

from credibly._arrays.checks import require_below_one
from credibly._arrays.errors import is_number, require
from credibly._arrays.namespace import Array, is_numpy, namespace
from credibly.predictions import Predictions, Rows, as_point
from credibly.statistics.kernels import as_number, check_bandwidth, spaced_probs
from credibly.statistics.pairwise import BandwidthPlan, PairStatistic
from credibly.statistics.protocol import CLASS_LABELS, Story, Traits
from credibly.statistics.smoother import LIKELIHOOD_ROWS, SmootherBound, likelihood_bandwidth, safe_log


@dataclasses.dataclass(frozen=True)
class SmoothedError(PairStatistic):
    """Base of the calibration errors that smooth labels over neighbouring predictions."""

    bandwidth: float | Literal["likelihood"] = "likelihood"

    def __post_init__(self) -> None:
        check_bandwidth(self.bandwidth, "likelihood")

    def _plan(self, rows: Rows) -> BandwidthPlan:
        """Return the number of instances and the bandwidth."""
        if self.bandwidth != "likelihood":
            return BandwidthPlan(rows.n, None, float(self.bandwidth))
        return BandwidthPlan(rows.n, None, *likelihood_bandwidth(spaced_probs(rows, LIKELIHOOD_ROWS)))

    def bound(self, predictions: Predictions, plan: BandwidthPlan, notes: tuple[str, ...]) -> SmootherBound:
        """Return the statistic bound to some rows, even to a single one."""
        probs = as_point(predictions)[0].probs
        return SmootherBound(dataclasses.replace(self, bandwidth=plan.number), probs, plan, notes)

    def size_of_terms(self, logs: Array) -> float:
        """Return the size of what cancels in a deviation, given log f: frequencies, less predictions."""
        return 1.0

    @abstractmethod
    def deviation(self, estimate: Array, probs: Array) -> Array:
        """Return how far estimates are from predictions, (b, k, rows), (k, rows) -> (b, rows)."""

    def error(self, mean: Array) -> Array:
        """Return the error from the mean deviation."""
        return mean


_TRAITS = Traits(
    tail="greater", labels=CLASS_LABELS, reduction="smoother", differentiable=True, duplicate_invariant=False
)


@dataclasses.dataclass(frozen=True)
class KdeCe(SmoothedError):
    """L^p calibration error of the whole distribution, with a Dirichlet kernel estimate of label frequencies.

    Parameters
    ----------
    bandwidth : float or "likelihood"
        Spread of the Dirichlet kernel; "likelihood" chooses the value with the largest leave-one-out
        likelihood of the predictions over a grid, on at most 1000 evenly spaced rows.
    p : float
        Exponent, at least 1. The square of the error at p = 2 is the calibration term of the Brier score.

    Notes
    -----
    Costs one (n, n) matrix product per class and label vector, in tiles. The estimate is biased upwards at
    small n or bandwidth; compare it with its null distribution (`calibration_test`), not with 0. Weights of
    instances are multiplicities: a weight of 2 is the same as listing the instance twice.

    Examples
    --------
    >>> import credibly as cr
    >>> round(float(cr.kde_ce([[0.8, 0.2], [0.7, 0.3], [0.1, 0.9]], [0, 1, 1], bandwidth=0.1)), 6)
    0.699164
    """

    p: float = 2.0
    name: ClassVar[str] = "kde_ce"
    traits: ClassVar[Traits] = dataclasses.replace(_TRAITS, range=(0.0, 2.0))
    reference: ClassVar[str] = "Popordanoska et al. 2022"
    story: ClassVar[Story] = Story(
        title="KDE calibration error",
        meaning=(
            "Distance between predictions and the label frequencies near them, smoothed by a Dirichlet "
            "kernel."
        ),
        formula="(mean over j of ‖m(pⱼ) − pⱼ‖ᵖ)^(1/p), m(pⱼ) = Σᵢ≠ⱼ wⱼᵢ e_yᵢ",
        above="label frequencies near the predictions differ from them by more than chance explains",
        citation="Popordanoska, Sayer and Blaschko, A consistent and differentiable Lp canonical calibration "
        "error estimator, NeurIPS 2022.",
        aliases={"ece_kde": "", "canonical_calibration_error": ""},
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        require(
            is_number(self.p) and 1 <= self.p < float("inf"),
            "must be at least 1 and finite",
            "Use 1 or 2.",
            p=self.p,
        )

    def deviation(self, estimate: Array, probs: Array) -> Array:
        """sum_c |E_c - f_c|^p."""
        if is_numpy(estimate):
            gap = np.subtract(estimate, probs[None, :, :], out=estimate)
        else:
            gap = estimate - probs[None, :, :]
        if self.p == 2 and is_numpy(gap):
            return np.einsum("bkn,bkn->bn", gap, gap)
        return namespace(gap).sum(gap * gap if self.p == 2 else abs(gap) ** self.p, axis=1)

    def error(self, mean: Array) -> Array:
        """The p-th root."""
        return mean if self.p == 1 else mean ** (1.0 / self.p)


kde_ce = KdeCe()


@dataclasses.dataclass(frozen=True)
class KlCe(SmoothedError):
    """Kullback-Leibler calibration error of the whole distribution, with a Dirichlet kernel estimate.

    Parameters
    ----------
    bandwidth : float or "likelihood"
        Spread of the Dirichlet kernel; "likelihood" chooses the value with the largest leave-one-out
        likelihood of the predictions over a grid, on at most 1000 evenly spaced rows.
    clip : float
        Probabilities below this count as this in the divergence; 0 (the default) clips nothing.

    Notes
    -----
    Costs one (n, n) matrix product per class and label vector, in tiles. Weights of instances are
    multiplicities.

    Examples
    --------
    >>> import credibly as cr
    >>> round(float(cr.kl_ce([[0.8, 0.2], [0.7, 0.3], [0.1, 0.9]], [0, 1, 1], bandwidth=0.1)), 6)
    0.662314
    """

    clip: float = 0.0
    name: ClassVar[str] = "kl_ce"
    traits: ClassVar[Traits] = _TRAITS
    reference: ClassVar[str] = "Popordanoska et al. 2024"
    story: ClassVar[Story] = Story(
        title="KL calibration error",
        meaning="The part of the log loss that recalibration could remove, with frequencies m of labels near "
        "predictions, smoothed by a Dirichlet kernel.",
        formula="mean over j of Σ_c m_c(pⱼ) log(m_c(pⱼ) / pⱼ_c)",
        above="recalibration would save more log loss than chance explains",
        citation="Popordanoska et al., Consistent and asymptotically unbiased estimation of proper "
        "calibration errors, AISTATS 2024.",
        aliases={"kl_calibration_error": ""},
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        require_below_one(self.clip, "clip", "Use 0 for none.")

    def size_of_terms(self, logs: Array) -> float:
        """Of logarithms, which are subtracted."""
        xp = namespace(logs)
        return 1.0 + max(1.0, as_number(xp.max(xp.abs(logs))))

    def deviation(self, estimate: Array, probs: Array) -> Array:
        """sum_c E_c log E_c - E_c log f_c."""
        xp = namespace(estimate)
        if self.clip:
            probs = xp.clip(probs, self.clip, None)
        # E log E is 0 at E = 0 with any finite logarithm, so the clipped one is exact
        divergence = xp.sum(estimate * (safe_log(estimate) - safe_log(probs)[None, :, :]), axis=1)
        impossible = probs == 0
        if not bool(xp.any(impossible)):
            return divergence
        return xp.where(xp.any((estimate > 0) & impossible[None, :, :], axis=1), xp.inf, divergence)


kl_ce = KlCe()
