"""Curves without bins: the isotonic reliability curve with its bands, and Murphy curves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from credibly._arrays.namespace import HostArray
from credibly._arrays.notes import capital
from credibly.evaluation import shown
from credibly.plots.display import (
    BLUE,
    COUNTS_DEPTH,
    INK,
    SKY,
    VERMILION,
    Display,
    Style,
    Words,
    diagonal,
    hang_counts,
    model_line,
    models_on,
    ranges,
    unit_square,
)
from credibly.results.curves import CorpCurve, MurphyCurve

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class CorpDisplay(Display, kind="corp", of=CorpCurve):
    """Predicted probability against isotonic recalibration, with consistency and confidence band.

    Where the curve leaves the consistency band, it deviates by more than chance explains at that prediction;
    where the diagonal leaves the confidence band, the predictions are wrong, at the level of the whole
    picture.

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
    def is_top_label(self) -> bool:
        """Whether confidence and accuracy are shown, not the probability of one class."""
        return self.curve.name == "top label"

    @property
    def widest(self) -> tuple[float, float, str] | None:
        """Where the curve is beyond chance: the run with most instances, from and to, and on which side."""
        side = self.curve.beyond
        if not side.any():
            return None
        ends = np.flatnonzero(np.append(np.diff(side) != 0, True))
        starts = np.append(0, ends[:-1] + 1)
        length = np.where(side[ends] != 0, ends - starts + 1, 0)
        at, run = self.curve.at, int(np.argmax(length))
        return float(at[starts[run]]), float(at[ends[run]]), "below" if side[ends[run]] < 0 else "above"

    @property
    def finding(self) -> str:
        """The picture in one sentence."""
        own = self.curve
        score = {"brier": "Brier score", "log_loss": "log loss"}.get(own.score, own.score)
        saved = shown(own.miscalibration.value)
        parts = [f"of a {score} of {shown(own.loss.value)}, recalibration would remove {saved}"]
        if own.band is not None and own.level is not None:
            what = "confidence" if self.is_top_label else "predicted probability"
            told = f"the curve stays inside its {100 * own.level:.4g} % band of chance"
            if self.widest is not None:
                low, high, side = self.widest
                at = shown(low) if shown(low) == shown(high) else f"{shown(low)} to {shown(high)}"
                told = (
                    f"at {what} {at} the observed frequency is {side} its {100 * own.level:.4g} % band "
                    "of chance"
                )
            parts.insert(0, told)
        if own.gap_interval is not None and own.level is not None:
            low, high = own.gap_interval
            parts.append(
                f"the mean gap to the curve is {shown(own.gap)}, and the true mean gap is {shown(low)} to "
                f"{shown(high)} ({100 * own.level:.4g} % sure, if the true curve is increasing)"
            )
        said = "; ".join(parts)
        return f"{capital(said)}."

    @property
    def words(self) -> Words:
        """Title and axis labels."""
        if self.is_top_label:
            return Words("Confidence against accuracy", "confidence of the model", "how often it was right")
        return Words(self.curve.name, "predicted probability", "observed frequency")

    @property
    def line(self) -> tuple[HostArray, HostArray]:
        """Corners of the curve, linear between its constant pieces."""
        own = self.curve
        return np.stack([own.low, own.high], axis=1).ravel(), np.repeat(own.recalibrated, 2)

    def _marks(self, ax: Axes, small: bool) -> None:
        own = self.curve
        diagonal(ax, 1.0, "perfect calibration")
        level = f"{100 * (own.level or 0):.4g} %"
        if own.confidence_band is not None:
            style: Style = {"color": INK, "alpha": 0.1, "linewidth": 0}
            ax.fill_between(
                own.at, *own.confidence_band, label=f"true curve lies here, {level} sure", **style
            )
        if own.band is not None:
            style = {"color": SKY, "alpha": 0.4, "linewidth": 0}
            ax.fill_between(own.at, *own.band, label=f"{level} band of chance", **style)
        far = own.beyond != 0
        if far.any():  # broader than the curve, not only of another colour
            style = {"color": VERMILION, "linewidth": 2.5 if small else 4.0, "solid_capstyle": "round"}
            # a place by itself is a line of no length, which a round end still shows
            places = np.flatnonzero(far)
            apart = np.flatnonzero(np.diff(places) > 1) + 1
            for run in np.split(places, apart):
                ax.plot(np.repeat(own.at[run], 2), np.repeat(own.values[run], 2), **style)
            ax.plot([], [], label="outside that band", **style)
        ax.plot(*self.line, color=BLUE, linewidth=1.4, label="observed, isotonic")
        edges = np.linspace(0, 1, len(own.counts) + 1)
        hang_counts(ax, edges[:-1], edges[1:], own.counts)
        unit_square(ax, small, COUNTS_DEPTH + 0.03)

    def _model(self, ax: Axes, label: str) -> None:
        if not models_on(ax):
            diagonal(ax)
        model_line(ax, *self.line, label, marker=None)
        ax.set_xlim(-0.02, 1.02)
        ax.set_ylim(-0.02, 1.02)

    def _columns(self) -> dict[str, Any]:
        own = self.curve
        columns = {
            "predictions": ranges(own.low, own.high),
            "instances": own.weight,
            "observed": own.recalibrated,
        }
        middle = (own.low + own.high) / 2
        for name, band in (("band", own.band), ("true curve", own.confidence_band)):
            if band is not None:
                columns[name] = ranges(*(np.interp(middle, own.at, end) for end in band))
        return columns


class MurphyDisplay(Display, kind="murphy", of=MurphyCurve):
    """Mean cost of decisions against the threshold above which one acts.

    Attributes
    ----------
    curve : MurphyCurve
        From `credibly.selection.murphy_curve`.
    """

    size = (5.0, 3.8)

    curve: MurphyCurve

    @property
    def finding(self) -> str:
        """The picture in one sentence."""
        own = self.curve
        saved = own.constant - own.cost
        best, share = int(saved.argmax()), float((saved > 0).mean())
        return (
            f"Acting on these predictions costs less than one prediction for all at {100 * share:.0f} % of "
            f"the thresholds, and saves most at {shown(float(own.thresholds[best]))}: "
            f"{shown(float(own.cost[best]))} instead of {shown(float(own.constant[best]))}."
        )

    @property
    def words(self) -> Words:
        """Title and axis labels."""
        return Words(f"Murphy curve, {self.curve.name}", "threshold: cost of a false alarm", "mean cost")

    def _marks(self, ax: Axes, small: bool) -> None:
        own = self.curve
        style: Style = {"linestyle": (0, (4, 3)), "linewidth": 0.9, "color": INK}
        ax.plot(own.thresholds, own.constant, label="one prediction for all", **style)
        band: Style = {"color": SKY, "alpha": 0.4, "linewidth": 0}
        ax.fill_between(own.thresholds, *own.band, label=f"{100 * own.level:.4g} % at each", **band)
        ax.plot(own.thresholds, own.cost, color=BLUE, linewidth=1.4, label="these predictions")
        self._limits(ax)

    def _model(self, ax: Axes, label: str) -> None:
        model_line(ax, self.curve.thresholds, self.curve.cost, label, marker=None)
        self._limits(ax)

    def _limits(self, ax: Axes) -> None:
        ax.set_xlim(0, 1)
        ax.set_ylim(bottom=0)

    def _columns(self) -> dict[str, Any]:
        own = self.curve
        some = np.unique(np.linspace(0, len(own.thresholds) - 1, 11).round().astype(np.int64))
        return {
            "threshold": own.thresholds[some],
            "cost": own.cost[some],
            "interval": ranges(*(end[some] for end in own.band)),
            "one prediction for all": own.constant[some],
        }
