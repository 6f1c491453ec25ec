"""Stated spread against observed errors, and against z-scores."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import numpy as np

from credibly._arrays.namespace import HostArray
from credibly._arrays.notes import capital
from credibly.evaluation import shown
from credibly.plots.curves import BinnedDisplay, Bins
from credibly.plots.display import BLUE, INK, SKY, Display, Words, draw_boxes, ranges, sorted_dots
from credibly.results.curves import SpreadCurve

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class _ByStatedSpread(Display):
    """What both diagrams share: bins of the stated spread, and the bin that is farthest off in words."""

    curve: SpreadCurve

    def _bins(self, observed: HostArray, band: tuple[HostArray, HostArray] | None) -> Bins:
        own = self.curve
        # the outermost bins have no end of their own
        left = np.where(own.left > 0, own.left, own.stated)
        right = np.where(np.isfinite(own.right), own.right, own.stated)
        return Bins(left, np.maximum(left, right), own.stated, observed, own.weight, *(band or ()))

    def _told(self, own: Bins, ratio: HostArray, unit: str) -> str:
        """Say where errors are farthest from the stated spread, and how many bins leave their band."""
        off = np.abs(np.log(np.clip(ratio, 1e-300, None)))
        worst = int(np.argmax(np.where(own.outside, 2.0, 1.0) * own.count * off))
        said = (
            f"where it states a spread of {shown(float(own.predicted[worst]))}, its errors are "
            f"{shown(float(own.observed[worst]))}{unit} ({own.count[worst]:g} of {self.curve.n} instances)"
        )
        if self.curve.level is None:
            return f"{capital(said)}."
        bins, out = len(own.count), int(own.outside.sum())
        verb = "lies outside its" if out == 1 else "lie outside their"
        chance = (1 - self.curve.level) * bins
        return (
            f"{out} of {bins} bins {verb} {100 * self.curve.level:.4g} % band (about {chance:.1f} would by "
            f"chance); {said}."
        )


class ErrorSpreadDisplay(_ByStatedSpread, BinnedDisplay, kind="spread", of=SpreadCurve):
    """Root mean squared error against stated spread, in bins of the stated spread, with the band of chance.

    The band of a bin contains the errors of labels drawn from the predictions themselves; above the diagonal,
    errors are larger than stated.

    Attributes
    ----------
    curve : SpreadCurve
        From `credibly.hypotests.spread_curve` or an evaluation.
    """

    curve: SpreadCurve

    @functools.cached_property
    def bins(self) -> Bins:
        """The bins that hold instances."""
        return self._bins(self.curve.observed, self.curve.band)

    @property
    def finding(self) -> str:
        """The diagram in one sentence."""
        return self._told(self.bins, self.bins.observed / self.bins.predicted, "")

    @property
    def words(self) -> Words:
        """Title and axis labels."""
        return Words("Stated spread against errors", "stated spread", "root mean squared error")

    def _marks(self, ax: Axes, small: bool) -> None:
        """Draw band, diagonal and points."""
        own = self.bins
        highest = [own.predicted.max(), own.observed.max(), *([] if own.high is None else [own.high.max()])]
        top = 1.05 * float(max(highest))
        self._draw_bins(ax, small, top, f"{100 * (self.curve.level or 0):.4g} % band of chance")
        ax.set_xlim(0, top)
        ax.set_ylim(0, top)


class ZScoreDisplay(_ByStatedSpread, kind="z", of=SpreadCurve):
    """Errors in units of the stated spread, in bins of the stated spread, with the band of chance.

    z = (label - mean) / stated spread has a root mean square of 1 wherever the spread is right: above it the
    model is too sure there, below it too unsure.

    Attributes
    ----------
    curve : SpreadCurve
        From `credibly.hypotests.spread_curve` or an evaluation.
    """

    curve: SpreadCurve

    @functools.cached_property
    def bins(self) -> Bins:
        """The bins that hold instances, with the z-scores."""
        return self._bins(self.curve.z, self.curve.z_band)

    @property
    def finding(self) -> str:
        """The diagram in one sentence."""
        return self._told(self.bins, self.bins.observed, " times that")

    @property
    def words(self) -> Words:
        """Title and axis labels."""
        return Words("z-scores by stated spread", "stated spread", "root mean squared z-score")

    def _marks(self, ax: Axes, small: bool) -> None:
        """Draw band, the line of 1, and points."""
        own = self.bins
        ax.axhline(1.0, color=INK, linewidth=0.8, linestyle=(0, (4, 3)), label="perfect calibration")
        if own.low is not None and own.high is not None:
            label = f"{100 * (self.curve.level or 0):.4g} % band of chance"
            style: Any = {"facecolor": SKY, "alpha": 0.35, "edgecolor": BLUE, "linewidth": 0.6, "zorder": 1}
            draw_boxes(ax, own.left, own.right, own.low, own.high, label=label, **style)
        words = ("observed" if own.low is None else "inside its band", "outside its band")
        size = 4.0 if small else 6.0
        sorted_dots(ax, own.predicted, own.observed, own.outside, words, markersize=size, zorder=3)
        ax.set_ylim(bottom=0.0)

    def _columns(self) -> dict[str, Any]:
        own = self.bins
        columns = {
            "stated spread": ranges(own.left, own.right),
            "instances": own.count,
            "z": own.observed,
        }
        if own.low is None or own.high is None:
            return columns
        return {**columns, "band": ranges(own.low, own.high), "outside": own.outside}
