"""Reliability diagrams: predicted probability against observed frequency, with band and counts.

The band of a bin holds the frequencies that labels drawn from the predictions themselves show there
(Broecker and Smith 2007): a point outside its band is more than chance in that bin.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import numpy as np

from credibly._arrays.namespace import HostArray
from credibly.evaluation import shown
from credibly.evaluation.curves import mean_gap
from credibly.plots.display import Display, Table, Words, drawing_of
from credibly.plots.style import BLUE, INK, SKY, VERMILION, draw_boxes
from credibly.results.curves import ReliabilityCurve

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_ROUNDING = 1e-12
_COUNTS_DEPTH = 0.17  # how far the bars of the counts reach below zero


@dataclasses.dataclass(frozen=True)
class ReliabilityDisplay(Display):
    """What a reliability diagram shows; only bins that hold instances.

    Attributes
    ----------
    name : str
        What is predicted.
    n : int
        Number of instances.
    left, right : ndarray (b,)
        Edges of the bins.
    predicted, observed : ndarray (b,)
        Mean predicted probability and observed frequency.
    count : ndarray (b,)
        Instances (or total weight) per bin.
    low, high : ndarray (b,) or None
        The consistency band.
    level : float or None
        Coverage of the band in each bin.
    error : float
        Mean gap, weighted by the counts: the binned calibration error.
    """

    name: str
    n: int
    left: HostArray
    right: HostArray
    predicted: HostArray
    observed: HostArray
    count: HostArray
    low: HostArray | None
    high: HostArray | None
    level: float | None
    error: float

    @property
    def outside(self) -> HostArray:
        """Which bins lie outside their band; none where there is no band."""
        if self.low is None or self.high is None:
            return np.zeros(self.observed.shape, dtype=bool)
        return (self.observed < self.low - _ROUNDING) | (self.observed > self.high + _ROUNDING)

    @property
    def error_outside(self) -> float:
        """The part of the error that bins outside their band bring: what chance does not explain."""
        gap = np.abs(self.observed - self.predicted) * self.outside
        return float(np.sum(self.count * gap) / self.count.sum())

    @property
    def is_top_label(self) -> bool:
        """Whether confidence and accuracy are shown, not the probability of one class."""
        return self.name == "top label"

    @property
    def finding(self) -> str:
        """The diagram in one sentence."""
        gap = np.abs(self.observed - self.predicted)
        worst = int(np.argmax(np.where(self.outside, 2.0, 1.0) * self.count * gap))
        what = "confidence" if self.is_top_label else "predicted probability"
        side = "above" if self.observed[worst] > self.predicted[worst] else "below"
        largest = (
            f"the gap that weighs most is at {what} {shown(float(self.predicted[worst]))}, where the "
            f"observed frequency is {shown(float(gap[worst]))} {side} it "
            f"({self.count[worst]:g} of {self.n} instances)"
        )
        if self.low is None or self.level is None:
            return f"{largest[0].upper()}{largest[1:]}."
        bins, out = len(self.count), int(self.outside.sum())
        chance = (1 - self.level) * bins
        verb = "lies outside its" if out == 1 else "lie outside their"
        return (
            f"{out} of {bins} filled bins {verb} {100 * self.level:.4g} % band "
            f"(about {chance:.1f} would by chance); {largest}."
        )

    @property
    def summary(self) -> str:
        """The diagram in a few words, for small multiples."""
        error = f"Error {shown(self.error)}"
        if self.low is None:
            return f"{error}."
        out = int(self.outside.sum())
        return (
            f"{error}; {out} of {len(self.count)} filled bins outside {'its' if out == 1 else 'their'} band."
        )

    @property
    def words(self) -> Words:
        """Title and axis labels."""
        if self.is_top_label:
            return Words("Confidence against accuracy", "confidence of the model", "how often it was right")
        return Words(self.name, "predicted probability", "observed frequency")

    def _marks(self, ax: Axes, small: bool) -> None:
        """Draw band, diagonal, points and counts."""
        ax.plot(
            [0, 1],
            [0, 1],
            color=INK,
            linestyle=(0, (4, 3)),
            linewidth=0.9,
            zorder=2,
            label="exactly as said",
        )
        if self.low is not None and self.high is not None and self.level is not None:
            # a band of no height still has to be seen
            draw_boxes(
                ax,
                self.left,
                self.right,
                self.low,
                np.maximum(self.high, self.low + 0.006),
                facecolor=SKY,
                alpha=0.35,
                edgecolor=BLUE,
                linewidth=0.6,
                zorder=1,
                label=f"where {100 * self.level:.4g} % of the draws fall",
            )
        self._draw_points(ax, small)
        self._draw_counts(ax, small)
        ax.set_xlim(-0.02, 1.02)
        ax.set_ylim(-_COUNTS_DEPTH - (0.03 if small else 0.08), 1.03)
        ticks = [0, 0.5, 1] if small else [0, 0.2, 0.4, 0.6, 0.8, 1]
        ax.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
        ax.set_yticks(ticks, [f"{tick:g}" for tick in ticks])

    def _draw_points(self, ax: Axes, small: bool) -> None:
        size = 4.0 if small else 6.0
        for chosen, marker, color, label in (
            (~self.outside, "o", BLUE, "inside its band" if self.low is not None else "observed"),
            (self.outside, "D", VERMILION, "outside its band"),
        ):
            if chosen.any():
                ax.plot(
                    self.predicted[chosen],
                    self.observed[chosen],
                    linestyle="none",
                    marker=marker,
                    markersize=size,
                    color=color,
                    label=label,
                    zorder=3,
                )

    def _draw_counts(self, ax: Axes, small: bool) -> None:
        """Bars that hang from zero, the numbers in one row below them."""
        middle, half = (self.left + self.right) / 2, 0.45 * (self.right - self.left)
        depth = _COUNTS_DEPTH * self.count / float(self.count.max())
        ax.axhline(0, color=INK, linewidth=0.6)
        draw_boxes(
            ax, middle - half, middle + half, -depth, 0 * depth, color=INK, alpha=0.3, linewidth=0, zorder=1
        )
        if small:
            return
        for x, count in zip(middle, self.count, strict=True):
            ax.text(x, -_COUNTS_DEPTH - 0.015, f"{count:.4g}", ha="center", va="top", fontsize=6.5, color=INK)

    def table(self) -> Table:
        """Return the bins."""
        return bins_table(self)


def bins_table(bins: Any) -> Table:
    """Return one row per bin, with the band where there is one."""
    columns: tuple[str, ...] = ("bin", "instances", "predicted", "observed")
    rows: list[tuple[str, ...]] = [
        (
            f"{shown(bins.left[i])} to {shown(bins.right[i])}",
            f"{bins.count[i]:g}",
            shown(bins.predicted[i]),
            shown(bins.observed[i]),
        )
        for i in range(len(bins.count))
    ]
    if bins.low is not None and bins.high is not None:
        columns = (*columns, "band", "outside")
        rows = [
            (*row, f"{shown(bins.low[i])} to {shown(bins.high[i])}", "yes" if bins.outside[i] else "")
            for i, row in enumerate(rows)
        ]
    return Table(columns, tuple(rows))


def reliability_data(curve: ReliabilityCurve) -> ReliabilityDisplay:
    """Return what the diagram of `curve` shows.

    Parameters
    ----------
    curve : ReliabilityCurve
        From `reliability_curve` or an evaluation.

    Returns
    -------
    ReliabilityDisplay
        The data; `draw` draws them.
    """
    filled = curve.weight > 0
    low, high = (None, None) if curve.band is None else (end[filled] for end in curve.band)
    return ReliabilityDisplay(
        name=curve.name,
        n=curve.n,
        left=curve.edges[:-1][filled],
        right=curve.edges[1:][filled],
        predicted=curve.predicted[filled],
        observed=curve.observed[filled],
        count=curve.weight[filled],
        low=low,
        high=high,
        level=curve.level,
        error=mean_gap(curve),
    )


@drawing_of(reliability_data)
def reliability_diagram(curve: ReliabilityCurve, *, ax: Axes | None = None) -> Axes:
    """Draw predicted probability against observed frequency, with consistency band and counts."""
    return reliability_data(curve).draw(ax)
