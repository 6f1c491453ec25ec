"""Does coverage depend on the width of the interval? The Hilbert-Schmidt independence criterion of the two.

    hsic  2/n^2 sum_ij (h_i - mean h) (h_j - mean h) exp(-((w_i - w_j) / s)^2 / 2)

h is 1 where the interval contains the label and w its width. Two hits are compared by 1[h = h'], whose
centred matrix is 2 (h - mean h)(h' - mean h), so that one sum over pairs is left; s is in units of the
standard deviation of the widths.   Gretton et al. 2005; Feldman, Bates and Romano 2021.
"""

from __future__ import annotations

import dataclasses
from typing import ClassVar

from credibly._arrays.checks import require_positive_number
from credibly._arrays.namespace import namespace, rows_within_budget, tiles
from credibly.predictions import Labels, Predictions, RealPredictions
from credibly.results.base import require_level
from credibly.statistics.coverage import picp
from credibly.statistics.protocol import (
    BIASED_UPWARDS,
    REAL_LABELS,
    Bound,
    Plan,
    State,
    Statistic,
    Story,
    Traits,
)
from credibly.statistics.regression import central_interval

_SAME = 1e-9  # of the mean width: what quantiles found by search leave between equal ones


@dataclasses.dataclass(frozen=True)
class WidthCoverageHSIC(Statistic):
    """Dependence of coverage on the width of the central interval; 0 if coverage is the same at all widths.

    Parameters
    ----------
    level : float
        Stated coverage of the interval.
    bandwidth : float
        Width of the Gaussian that compares widths, in standard deviations of the widths.

    Notes
    -----
    By chance alone it is above 0: read it beside its test. Cost: n squared per label vector, in tiles.

    Examples
    --------
    >>> import credibly as cr
    >>> given = cr.Gaussian([0.0, 0.0, 0.0, 0.0], [1.0, 1.0, 3.0, 3.0])
    >>> round(float(cr.statistics.hsic(given, [5.0, 5.0, 0.0, 0.0])), 4)  # 2 (1/4)^2 2 (1 - exp(-2)) 2
    0.2162
    """

    level: float = 0.9
    bandwidth: float = 1.0
    name: ClassVar[str] = "hsic"
    traits: ClassVar[Traits] = Traits(
        tail="greater", labels=REAL_LABELS, reduction="opaque", multiplicities=False, range=(0.0, 0.5)
    )
    reference: ClassVar[str] = "Feldman et al. 2021"
    story: ClassVar[Story] = Story(
        title="HSIC of widths and coverage",
        meaning="Dependence of coverage on the width of intervals; 0 if all widths cover equally often.",
        formula="2/n² Σ_ij (h_i − h̄)(h_j − h̄) exp(−((w_i − w_j)/s)²/2), h = 1[l ≤ y ≤ u], w = u − l",
        above="coverage depends on the width of the intervals more than chance explains",
        citation="Feldman, Bates and Romano, Improving conditional coverage via orthogonal quantile "
        "regression, NeurIPS 2021; Gretton et al., ALT 2005.",
        aliases={"hilbert_schmidt": "", "width_coverage_dependence": ""},
    )
    in_evaluations: ClassVar[bool] = False

    def __post_init__(self) -> None:
        require_level(self.level)
        require_positive_number(self.bandwidth, "bandwidth", "Leave it out: it is then 1.")

    def _bind(self, predictions: Predictions, plan: Plan) -> Bound:
        assert isinstance(predictions, RealPredictions)
        return WidthBound(self, predictions)


class WidthBound(Bound):
    """Widths, whose kernel is made in tiles for every batch of label vectors."""

    statistic: WidthCoverageHSIC
    refusal = BIASED_UPWARDS
    term_size = 1.0

    def __init__(self, statistic: WidthCoverageHSIC, predictions: RealPredictions) -> None:
        super().__init__(statistic, len(predictions), predictions.notes)
        low, high = central_interval(predictions, statistic.level)
        xp, width = namespace(low), high - low
        self.hits = picp.with_(level=statistic.level).loss(predictions)
        least = _SAME * xp.mean(xp.abs(width))  # widths that are all equal stay so
        spread = xp.std(width)
        self.places = width / xp.where(spread > least, statistic.bandwidth * spread, 1.0 / _SAME)

    def state(self, labels: Labels) -> State:
        """Return the values themselves: the mean hit is that of all rows."""
        hits, places = self.hits(labels.values), self.places
        xp = namespace(hits)
        weight = xp.ones_like(hits[:1, :]) if labels.weights is None else labels.weights
        total = xp.sum(weight, axis=1)
        beyond = weight * (hits - (xp.sum(weight * hits, axis=1) / total)[:, None])
        value = xp.zeros_like(beyond[:, 0])
        for rows in tiles(self.n, rows_within_budget(16 * self.n, 0.25)):
            kernel = xp.exp(-0.5 * (places[rows][:, None] - places[None, :]) ** 2)
            value = value + xp.sum((beyond[:, rows] @ kernel) * beyond, axis=1)
        return State(value=xp.clip(2.0 * value / total**2, 0.0, None))


hsic = WidthCoverageHSIC()
