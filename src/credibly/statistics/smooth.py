"""Smooth calibration error: residuals smoothed by a Gaussian whose width is the error itself.

    smECE_s = integral over t in [0, 1] of |(1 / n) sum_i K_s(t, p_i) (event_i - p_i)| dt
    smECE   = the s with smECE_s = s

K_s is the Gaussian of width s, reflected at 0 and 1. Wider smoothing lets more cancel, so smECE_s falls as s
grows and meets s once. This is smECE_* of Blasiok and Nakkiran 2024, and `relplot.smECE` (without its logit
scaling) up to the 1/1024 to which that searches the width.

Residuals are collected in 1024 cells of [0, 1]. Cosines are the eigenfunctions of the reflected Gaussian,
which multiplies the m-th by exp(-(pi m s)^2 / 2), so every width costs one product with a matrix of cosines
that has about 3 / s columns.
"""

from __future__ import annotations

import dataclasses
import math
from functools import cache
from typing import Any, ClassVar

import numpy as np

from credibly._arrays.errors import is_number, require
from credibly._arrays.namespace import Array, HostArray, like, namespace, one_blas_thread
from credibly.statistics.batches import positive
from credibly.statistics.cells import CellStatistic, TargetName, check_target, dyadic_cells
from credibly.statistics.events import Events
from credibly.statistics.protocol import Plan, State, Story

_CELLS = 1024
_NARROWEST = 9  # widths are searched down to 2^-9, two cells
_REACH = 2.8  # (pi m s)^2 / 2 is 38 at m = 2.8 / s, where nothing is left of a cosine in double precision
_STEPS = 60
_CLOSE = 1e-14


@dataclasses.dataclass(frozen=True)
class SmoothECE(CellStatistic):
    """Smooth calibration error of the top label: no bins, and a bandwidth equal to the error itself.

    Parameters
    ----------
    bandwidth : float, optional
        Width of the smoothing Gaussian; default: the width that equals the error.
    target : {"top_label", "classwise"} or int
        The confidence of the predicted class, the mean over the errors of all classes' probabilities, or the
        probability of one class.

    Notes
    -----
    A sum over instances: 1024 numbers per label vector are kept for any n, plus one product with a matrix of
    cosines. Predictions are rounded to 1/1024. Miscalibration that changes its sign within the bandwidth
    cancels, as it would for anyone who rounds predictions to that precision. An error below 1/512 is computed
    at this bandwidth.

    Examples
    --------
    >>> import credibly as cr
    >>> float(cr.smooth_ece([[0.75, 0.25], [0.75, 0.25]], [0, 1]))  # one residual of 1/4, however smooth
    0.25
    """

    bandwidth: float | None = None
    target: TargetName = "top_label"
    name: ClassVar[str] = "smooth_ece"
    reference: ClassVar[str] = "Blasiok and Nakkiran 2024"
    story: ClassVar[Story] = Story(
        title="Smooth ECE",
        meaning="Gap between confidence and accuracy after smoothing over confidences as far apart as the "
        "error itself.",
        formula="the s with ∫ |1/n Σ K_s(t, confidence) (hit − confidence)| dt = s",
        above="smoothed confidence and accuracy differ by more than chance explains",
        notion="confidence",
        citation="Blasiok and Nakkiran, Smooth ECE: principled reliability diagrams via kernel smoothing, "
        "ICLR 2024.",
        aliases={"smece": "", "smooth_calibration_error": "by a kernel, not over Lipschitz functions"},
    )
    in_evaluations: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_target(self, "top_label", "classwise")
        bandwidth, remedy = self.bandwidth, "Leave it out: it is then the error itself."
        inside = bandwidth is None or (is_number(bandwidth) and 2.0**-_NARROWEST <= bandwidth <= 1)
        require(inside, f"must be from 1/{2**_NARROWEST} to 1", remedy, bandwidth=bandwidth)

    def terms(self, predictions: Any, plan: Plan) -> Events:
        """Return events in the 1024 cells of the confidence, of one class, or of every class."""
        return dyadic_cells(predictions, _CELLS, self.target)

    def value(self, sums: State) -> Array:
        """Return the error of every replicate, the mean over classes."""
        gap = sums["observed"] - sums["expected"]
        xp = namespace(gap)
        classes = gap.shape[1] // _CELLS
        total = xp.sum(sums["size"], axis=-1)[:, None] / classes
        residual = xp.reshape(gap / total, (-1, _CELLS))
        bandwidth = self.bandwidth
        with one_blas_thread():  # a product of one row: starting a second thread costs more than it saves
            smooth = _SmoothError(residual)
            errors = (
                _fixed_point(smooth) if bandwidth is None else smooth(xp.full_like(residual[:, 0], bandwidth))
            )
        return xp.mean(xp.reshape(errors, (gap.shape[0], classes)), axis=1)


@cache
def _cosines() -> HostArray:
    """Return cos(pi m t) at the centres t of the cells, (cells, waves), as many as any width needs."""
    centres = (np.arange(_CELLS) + 0.5) / _CELLS
    waves = np.arange(min(_CELLS, math.ceil(_REACH * 2**_NARROWEST)))
    return np.cos(np.pi * centres[:, None] * waves)


class _SmoothError:
    """smECE_s of residuals per cell, (b, cells): from a width of every row to its error, (b,) -> (b,)."""

    def __init__(self, residual: Array) -> None:
        xp = namespace(residual)
        self.cosines = like(_cosines(), residual)
        waves = xp.arange(self.cosines.shape[1], dtype=xp.float64, device=self.cosines.device)
        self.exponent = -((math.pi * waves) ** 2) / 2.0
        # 1 + 2 sum over m of cos cos is the delta function
        self.amplitudes = (residual @ self.cosines) * xp.where(waves == 0, xp.ones_like(waves), 2.0)[None, :]

    def __call__(self, width: Array) -> Array:
        xp = namespace(width)
        waves = min(self.cosines.shape[1], math.ceil(_REACH / float(xp.min(width))))
        damped = self.amplitudes[:, :waves] * xp.exp(self.exponent[None, :waves] * (width**2)[:, None])
        return xp.mean(xp.abs(damped @ self.cosines[:, :waves].T), axis=1)


def _fixed_point(smooth: _SmoothError) -> Any:
    """Return the widths that equal their error; of smaller errors, those at the narrowest width.

    error - width falls at least as fast as the width grows, so it is no smaller than the distance from the
    root. It is halved until it changes its sign, then Illinois' false position ends within a few steps.
    """
    first = smooth.amplitudes[:, 0]
    xp = namespace(first)
    high = xp.ones_like(first)
    above = smooth(high) - high  # never positive
    low, below = high, above
    for level in range(1, _NARROWEST + 1):
        searched = below < 0
        if not bool(xp.any(searched)):
            break
        width = xp.full_like(first, 2.0**-level)
        excess = smooth(width) - width
        high, above = xp.where(searched, low, high), xp.where(searched, below, above)
        low, below = xp.where(searched, width, low), xp.where(searched, excess, below)
    smallest = low + below  # the error at the narrowest width, where it is below that
    beyond = below < 0
    best = xp.where(below <= -above, low, high)
    distance = xp.where(beyond, xp.zeros_like(low), xp.minimum(xp.abs(below), xp.abs(above)))
    moved = above > 0  # which end moved last: the high one nowhere yet
    for _ in range(_STEPS):
        if bool(xp.all(distance <= _CLOSE)):
            break
        width = xp.clip((low * -above + high * below) / positive(below - above), low, high)
        excess = smooth(width) - width
        nearer = (xp.abs(excess) < distance) & ~beyond
        best, distance = xp.where(nearer, width, best), xp.where(nearer, xp.abs(excess), distance)
        right = excess < 0
        # an end that stays twice counts half, or it would never move
        stays = xp.where(right == moved, 0.5, xp.ones_like(low))
        above, below = xp.where(right, excess, stays * above), xp.where(right, stays * below, excess)
        high, low, moved = xp.where(right, width, high), xp.where(right, low, width), right
    return xp.where(beyond, smallest, best)


smooth_ece = SmoothECE()
