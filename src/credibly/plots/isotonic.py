"""The isotonic reliability curve with its bands."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from credibly._arrays.namespace import HostArray
from credibly.evaluation import shown
from credibly.plots.display import (
    BLUE,
    INK,
    SKY,
    Display,
    Style,
    Words,
    diagonal,
    model_line,
    models_on,
    ranges,
)
from credibly.results.curves import CorpCurve

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class CorpDisplay(Display, kind="corp", of=CorpCurve):
    """Predicted probability against isotonic recalibration, with consistency and confidence band.

    A curve that leaves the consistency band is more than chance at that prediction; where the diagonal leaves
    the confidence band, the predictions there are wrong, at the level of the whole picture.

    Attributes
    ----------
    curve : CorpCurve
        From `credibly.corp_curve`.
    """

    curve: CorpCurve

    @property
    def outside(self) -> HostArray:
        """At which predictions the diagonal is outside the confidence band."""
        if self.curve.confidence_band is None:
            return np.zeros(self.curve.at.shape, dtype=bool)
        low, high = self.curve.confidence_band
        return (self.curve.at < low - 1e-12) | (self.curve.at > high + 1e-12)

    @property
    def finding(self) -> str:
        """The picture in one sentence."""
        own = self.curve
        score = {"brier": "Brier score", "log_loss": "log loss"}[own.score]
        said = (
            f"Of a {score} of {shown(own.loss.value)}, recalibration would remove "
            f"{shown(own.miscalibration.value)}; telling instances apart saves "
            f"{shown(own.discrimination.value)} of the {shown(own.uncertainty.value)} that one prediction "
            "for all would cost"
        )
        if own.gap_interval is None or own.level is None:
            return f"{said}."
        low, high = own.gap_interval
        return (
            f"{said}. Predictions are {shown(own.gap)} from observed frequencies on average; with "
            f"{100 * own.level:.4g} % confidence the true mean gap is between {shown(low)} and {shown(high)}."
        )

    @property
    def words(self) -> Words:
        """Title and axis labels."""
        if self.curve.name == "top label":
            return Words("Confidence against accuracy", "confidence of the model", "how often it was right")
        return Words(self.curve.name, "predicted probability", "observed frequency")

    @property
    def line(self) -> tuple[HostArray, HostArray]:
        """Corners of the curve, linear between its constant pieces."""
        own = self.curve
        return np.stack([own.low, own.high], axis=1).ravel(), np.repeat(own.recalibrated, 2)

    def _marks(self, ax: Axes, small: bool) -> None:
        own = self.curve
        diagonal(ax, 1.0, "exactly as said")
        level = f"{100 * (own.level or 0):.4g} %"
        if own.confidence_band is not None:
            style: Style = {"color": INK, "alpha": 0.1, "linewidth": 0}
            ax.fill_between(own.at, *own.confidence_band, label=f"holds the truth: {level}", **style)
        if own.band is not None:
            style = {"color": SKY, "alpha": 0.4, "linewidth": 0}
            ax.fill_between(own.at, *own.band, label=f"where {level} of the draws fall", **style)
        ax.plot(*self.line, color=BLUE, linewidth=1.4, label="observed, isotonic")
        ax.set_xlim(-0.02, 1.02)
        ax.set_ylim(-0.02, 1.02)

    def _model(self, ax: Axes, label: str) -> None:
        if not models_on(ax):
            diagonal(ax)
        model_line(ax, *self.line, label, marker=None)
        ax.set_xlim(-0.02, 1.02)
        ax.set_ylim(-0.02, 1.02)

    def _columns(self) -> dict[str, Any]:
        own = self.curve
        return {
            "predictions": ranges(own.low, own.high),
            "instances": own.weight,
            "observed": own.recalibrated,
        }
