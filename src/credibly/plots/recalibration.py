"""Before and after recalibration: reliability curves, and paired differences with intervals."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from credibly._arrays.errors import InputError, nearest
from credibly._arrays.namespace import HostArray
from credibly.evaluation import shown, shown_range, title
from credibly.evaluation.curves import mean_gap
from credibly.plots.display import Display, Table, Words
from credibly.plots.rater_loss import interval_or_nan
from credibly.plots.style import BLUE, INK, ORANGE, SKY, VERMILION
from credibly.results.curves import ReliabilityCurve
from credibly.results.recalibration import RecalibrationReport

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MARKS = (("o", BLUE, "-"), ("D", VERMILION, "--"), ("s", ORANGE, "-."), ("^", SKY, ":"))


@dataclasses.dataclass(frozen=True)
class RecalibratedCurvesDisplay(Display):
    """Confidence against accuracy, before and after each recalibration.

    Attributes
    ----------
    names : tuple of str
        "before", then the methods.
    curves : tuple of ReliabilityCurve
        One per name.
    """

    names: tuple[str, ...]
    curves: tuple[ReliabilityCurve, ...]

    @property
    def finding(self) -> str:
        """The picture in one sentence."""
        first, *others = (shown(mean_gap(curve)) for curve in self.curves)
        after = " and ".join(f"{gap} after {name}" for gap, name in zip(others, self.names[1:], strict=True))
        return f"The mean gap between confidence and accuracy is {first} before recalibration, {after}."

    @property
    def words(self) -> Words:
        """Title and axis labels."""
        return Words("Before and after", "confidence", "accuracy")

    def _marks(self, ax: Axes, small: bool) -> None:
        """Draw the diagonal and one line per curve."""
        ax.plot([0, 1], [0, 1], color=INK, linewidth=0.8, linestyle=(0, (4, 3)))
        for place, (name, curve) in enumerate(zip(self.names, self.curves, strict=True)):
            marker, colour, dash = _MARKS[place % len(_MARKS)]
            filled = curve.weight > 0
            ax.plot(
                curve.predicted[filled],
                curve.observed[filled],
                marker=marker,
                color=colour,
                linestyle=dash,
                markersize=3 if small else 5,
                linewidth=1.1,
                label=name,
            )
        ax.set_xlim(0, 1)
        ax.set_ylim(0, 1)
        ax.set_aspect("equal")

    def table(self) -> Table:
        """Return every filled bin of every curve."""
        rows = [
            (
                name,
                f"{shown(curve.edges[at])} to {shown(curve.edges[at + 1])}",
                f"{curve.weight[at]:g}",
                shown(curve.predicted[at]),
                shown(curve.observed[at]),
            )
            for name, curve in zip(self.names, self.curves, strict=True)
            for at in np.flatnonzero(curve.weight > 0)
        ]
        return Table(("curve", "bin", "instances", "predicted", "observed"), tuple(rows))


@dataclasses.dataclass(frozen=True)
class RecalibrationChangesDisplay(Display):
    """How far each method moves one statistic, with the interval of the paired difference.

    Attributes
    ----------
    statistic : str
        What is compared.
    methods : tuple of str
        The recalibrations.
    before : float
        The statistic before.
    after, difference : ndarray (s,)
        The statistic after, and the change.
    low, high : ndarray (s,)
        95 % interval of the change; NaN where there is none.
    """

    size: ClassVar[tuple[float, float]] = (5.0, 2.8)
    key_below: ClassVar[float] = 0.3

    statistic: str
    methods: tuple[str, ...]
    before: float
    after: HostArray
    difference: HostArray
    low: HostArray
    high: HostArray

    @property
    def finding(self) -> str:
        """The picture in one sentence."""
        best = int(np.argmin(self.difference))
        moved = f"from {shown(self.before)} to {shown(float(self.after[best]))}"
        interval = ""
        if np.isfinite(self.low[best]):
            ends = (float(self.low[best]), float(self.high[best]))
            interval = f" (95 % interval of the change {shown_range(ends)})"
        return f"{title(self.statistic)}: {self.methods[best]} moves it {moved}{interval}."

    @property
    def words(self) -> Words:
        """Title and axis labels."""
        return Words(f"Change of {title(self.statistic)}", "after minus before", "")

    def _marks(self, ax: Axes, small: bool) -> None:
        """Draw one point per method with its interval, and the line of no change."""
        ax.axvline(0, color=INK, linewidth=0.8, linestyle=(0, (4, 3)))
        places = np.arange(len(self.methods))
        for place in places:
            ax.plot([self.low[place], self.high[place]], [place, place], color=BLUE, linewidth=1.4)
        known = np.isfinite(self.low)
        for some, marker, label in ((known, "o", "with 95 % interval"), (~known, "D", "without interval")):
            if some.any():
                ax.plot(
                    self.difference[some],
                    places[some],
                    linestyle="none",
                    marker=marker,
                    color=BLUE,
                    markersize=5,
                    label=label,
                )
        ax.set_yticks(places, self.methods)
        ax.set_ylim(len(self.methods) - 0.5, -0.5)


def recalibrated_curves_data(report: RecalibrationReport) -> RecalibratedCurvesDisplay:
    """Return the reliability curves before and after every method that could be fitted.

    Parameters
    ----------
    report : RecalibrationReport
        From `recalibration_report`.

    Returns
    -------
    RecalibratedCurvesDisplay
        The data; `draw` draws them.
    """
    fitted = {name: one.curve for name, one in report.methods.items() if one.curve is not None}
    return RecalibratedCurvesDisplay(("before", *fitted), (report.curve, *fitted.values()))


def recalibration_changes_data(
    report: RecalibrationReport, statistic: str = "log_loss"
) -> RecalibrationChangesDisplay:
    """Return the changes of one statistic under every method that could be fitted.

    Parameters
    ----------
    report : RecalibrationReport
        From `recalibration_report`.
    statistic : str
        What to show.

    Returns
    -------
    RecalibrationChangesDisplay
        The data; `draw` draws them.
    """
    known = {name for one in report.methods.values() for name in one.changes}
    if statistic not in known:
        raise InputError(
            "`statistic`", "must be one of the report", f"got {statistic!r}", nearest(statistic, known)
        )
    found = {name: one.changes[statistic] for name, one in report.methods.items() if statistic in one.changes}
    ends = np.array([interval_or_nan(change.difference) for change in found.values()])
    return RecalibrationChangesDisplay(
        statistic,
        tuple(found),
        next(iter(found.values())).before.value,
        np.array([change.after.value for change in found.values()]),
        np.array([change.difference.value for change in found.values()]),
        ends[:, 0],
        ends[:, 1],
    )
