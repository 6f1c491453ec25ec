"""Adaptive test of calibration: the debiased squared error at many bin counts, in units of its own spread.

    T_B = (1 / n) sum over the B bins of sum_{i != j in bin} d_i d_j / (|bin| - 1),   d = event - predicted

    T = max over B = 1, 2, 4, ... of T_B / sd(T_B)

sd is the standard deviation that a calibrated model has with these predictions; labels are independent, so
sum_{i != j} d_i d_j has variance 2 ((sum v)^2 - sum v^2) with v = p (1 - p). Few bins see broad deviations,
many bins narrow ones, and the largest in units of sd needs no choice between them: compared with the largest
of every replicate it is the step of Westfall and Young for the family of all bin counts.

Lee, Huang, Hassani and Dobriban 2023; Westfall and Young 1993.
"""

from __future__ import annotations

import dataclasses
import math
from typing import Any, ClassVar

from credibly._arrays.errors import is_whole, require
from credibly._arrays.namespace import Array, namespace
from credibly.statistics.batches import positive
from credibly.statistics.cells import CellStatistic, TargetName, check_target, dyadic_cells
from credibly.statistics.events import Events
from credibly.statistics.protocol import ONE_CLASS, Plan, State, Story, Traits

_REFUSAL = (
    "it is a test statistic in units of its own spread: its value is not a property of the model that an "
    "interval could enclose"
)


@dataclasses.dataclass(frozen=True)
class TCal(CellStatistic):
    """Largest debiased squared calibration error over dyadic bin counts, in units of its spread by chance.

    Parameters
    ----------
    most_bins : int
        The largest number of bins, a power of two; 1, 2, 4, ... bins of equal width are used.
    target : {"top_label", "classwise"} or int
        Bins of the confidence of the predicted class, of every class's probability, or of one class's.

    Notes
    -----
    A sum over instances: coarse bins are sums of fine ones. It is meant for testing; its value grows with n
    if the model is miscalibrated. Deviations that cancel within every one of the finest bins are not
    detected.

    Examples
    --------
    >>> import credibly as cr
    >>> round(float(cr.t_cal([[0.75, 0.25]] * 3, [1, 1, 1], most_bins=1)), 4)  # 6 9/16 / sqrt(2 6 9/256)
    5.1962
    """

    most_bins: int = 64
    target: TargetName = "top_label"
    name: ClassVar[str] = "t_cal"
    traits: ClassVar[Traits] = Traits(tail="greater", labels=ONE_CLASS, range=None, duplicate_invariant=False)
    reference: ClassVar[str] = "Lee et al. 2023"
    story: ClassVar[Story] = Story(
        title="Adaptive T-Cal",
        meaning="Largest debiased squared gap between confidence and accuracy over 1, 2, 4, ... bins, in "
        "units of its spread by chance.",
        formula="max over B of T_B / sd(T_B), T_B = 1/n Σ_b Σ_{i≠j in b} dᵢ dⱼ / (|b| − 1)",
        above="confidence and accuracy differ by more than chance explains in bins of some width",
        notion="confidence",
        citation="Lee, Huang, Hassani and Dobriban, T-Cal: an optimal test for the calibration of predictive "
        "models, Journal of Machine Learning Research, 2023.",
        aliases={"tcal": "", "adaptive_t_cal": ""},
    )
    in_evaluations: ClassVar[bool] = False
    needs: ClassVar[frozenset[str]] = frozenset({"expected", "variance", "square", "fourth"})
    refusal: ClassVar[str | None] = _REFUSAL

    def __post_init__(self) -> None:
        check_target(self, "top_label", "classwise")
        bins = self.most_bins
        power = is_whole(bins) and 1 <= bins <= 2**13 and not bins & (bins - 1)
        require(power, "must be a power of two from 1 to 8192", "Try 64.", most_bins=bins)

    def terms(self, predictions: Any, plan: Plan) -> Events:
        """Return the events of the finest bins."""
        return dyadic_cells(predictions, self.most_bins, self.target)

    def size_of_terms(self, n: int, n_cells: int) -> float:
        """Return the magnitude of squared sums over a bin, less n, in units of about their root."""
        return math.sqrt(n)

    def value(self, sums: State) -> Array:
        """Return the largest over bin counts; 0 where chance leaves nothing to vary."""
        gap = sums["observed"] - sums["expected"]
        bins = [sums["size"], gap, sums["square"], sums["variance"], sums["fourth"]]
        xp = namespace(gap)
        largest = xp.full_like(gap[:, 0], -xp.inf)
        for _ in range(self.most_bins.bit_length()):
            largest = xp.maximum(largest, _in_its_spread(*bins))
            if bins[0].shape[1] % 2 == 0:
                bins = [xp.sum(xp.reshape(column, (column.shape[0], -1, 2)), axis=-1) for column in bins]
        return xp.where(largest == -xp.inf, 0.0, largest)


def _in_its_spread(size: Array, gap: Array, square: Array, variance: Array, fourth: Array) -> Array:
    """Return T_B / sd(T_B), (b,); -inf where nothing varies and nothing is off."""
    xp = namespace(gap)
    several, pairs = size > 1, positive(size - 1.0)
    value = xp.sum(xp.where(several, (gap**2 - square) / pairs, 0.0), axis=-1)
    spread = 2.0 * (variance**2 - fourth) / pairs**2
    spread = xp.sum(xp.where(several & (spread > 0), spread, 0.0), axis=-1)
    # events that were certain: any pair of misses is impossible, and none says nothing
    certain = xp.where(value > 0, xp.full_like(value, xp.inf), -xp.inf)
    return xp.where(spread > 0, value / positive(spread) ** 0.5, certain)


t_cal = TCal()
