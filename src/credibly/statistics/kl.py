"""Kullback-Leibler calibration error: the part of the log loss that recalibration could remove.

    CE_KL = mean_j sum_c E[y | f_j]_c log(E[y | f_j]_c / f_jc),   0 log 0 = 0

with the kernel estimate of `kde_ce`. Infinite where a class of predicted probability 0 has a positive
estimate. Popordanoska et al. 2024; J25 eq. 8.
"""

from __future__ import annotations

import dataclasses
import math
from typing import Any, ClassVar

from credibly._arrays.errors import InputError
from credibly._arrays.namespace import Array, namespace
from credibly.predictions import Labels
from credibly.statistics.dirichlet_kernel import safe_log
from credibly.statistics.kde import SmoothedError, smoother_traits
from credibly.statistics.pairwise import as_number
from credibly.statistics.protocol import Traits
from credibly.statistics.smoother import SmootherBound


class KlBound(SmootherBound):
    """The smoother, with a word on why the error is infinite where it is."""

    def label_notes(self, labels: Labels) -> tuple[str, ...]:
        """Return where infinity comes from."""
        xp = namespace(self.probs)
        return self.value_notes(as_number(self(labels)[0]), int(xp.sum(xp.astype(self.probs == 0, xp.int64))))

    def value_notes(self, value: float, zeros: int) -> tuple[str, ...]:
        """Say that predictions of probability 0 make it infinite, where they do."""
        if math.isfinite(value):
            return ()
        cause = f"{zeros} predicted probabilities are 0 and neighbours of such a prediction had that label"
        return (f"infinite: {cause}; `clip` reads them as a small number",)


@dataclasses.dataclass(frozen=True)
class KlCe(SmoothedError):
    """Kullback-Leibler calibration error of the whole distribution, with a Dirichlet kernel estimate.

    Parameters
    ----------
    bandwidth : float or "likelihood"
        Spread of the Dirichlet kernel; "likelihood" takes the largest leave-one-out likelihood of the
        predictions over a grid, on at most 1000 evenly spaced rows.
    precision : {"float64", "float32", "tf32"}
        Of weights and matrix product; "tf32" needs torch on CUDA. Sums are always double.
    clip : float
        Probabilities below this are read as this in the divergence; 0 (the default) clips nothing.

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
    _made: ClassVar[type[SmootherBound]] = KlBound
    name: ClassVar[str] = "kl_ce"
    traits: ClassVar[Traits] = smoother_traits(None)
    reference: ClassVar[str] = "Popordanoska et al. 2024"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 <= self.clip < 1:
            raise InputError(
                "`clip`", "must be at least 0 and below 1", f"got {self.clip!r}", "Use 0 for none."
            )

    def deviation(self, estimate: Array, probs: Array) -> Array:
        """sum_c E_c log E_c - E_c log f_c."""
        xp = namespace(estimate)
        if self.clip:
            probs = xp.clip(probs, self.clip, None)
        # E log E is 0 at E = 0 with any finite logarithm, so the clipped one is exact
        own, _ = safe_log(estimate, estimate.dtype)
        other, _ = safe_log(probs, probs.dtype)
        divergence = xp.sum(estimate * (own - other[None, :, :]), axis=1)
        return _infinite_where(divergence, estimate, probs == 0)


def _infinite_where(divergence: Array, estimate: Array, impossible: Array) -> Any:
    """Return the divergence, infinite where an impossible class has a positive estimate."""
    xp = namespace(divergence)
    if not bool(xp.any(impossible)):
        return divergence
    seen = xp.any((estimate > 0) & impossible[None, :, :], axis=1)
    return xp.where(seen, xp.full_like(divergence, xp.inf), divergence)


kl_ce = KlCe()
