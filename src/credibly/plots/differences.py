"""Differences with their intervals: before and after recalibration, and between models of real values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from credibly._arrays.errors import InputError, nearest
from credibly._arrays.namespace import HostArray
from credibly.evaluation import shown, title
from credibly.plots.curves import EnvelopeDisplay, ReliabilityDisplay, interval_or_nan
from credibly.plots.display import BLUE, INK, Display, Words, dots, ranges
from credibly.results.curves import EnvelopeCurve, ReliabilityCurve
from credibly.results.recalibration import RecalibrationReport
from credibly.selection.real_models import ScoreRanking, ScoreStanding

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class RecalibratedCurvesDisplay(Display, kind="curves", of=RecalibrationReport):
    """Confidence against accuracy, or stated against observed coverage, before and after recalibrations.

    Attributes
    ----------
    report : RecalibrationReport
        From `credibly.recalibration_report`.
    """

    report: RecalibrationReport

    @property
    def _is_real(self) -> bool:
        return not isinstance(self.report.curve, ReliabilityCurve)

    @property
    def words(self) -> Words:
        """Title and axis labels."""
        axes = ("stated coverage", "observed coverage") if self._is_real else ("confidence", "accuracy")
        return Words("Before and after", *axes)

    @property
    def curves(self) -> dict[str, ReliabilityDisplay | EnvelopeDisplay]:
        """The diagrams by name, "before" first; empty for quantiles without symmetric levels."""
        found = {
            "before": self.report.curve,
            **{name: one.curve for name, one in self.report.methods.items()},
        }
        return {
            name: EnvelopeDisplay(one) if isinstance(one, EnvelopeCurve) else ReliabilityDisplay(one)
            for name, one in found.items()
            if one is not None
        }

    @property
    def finding(self) -> str:
        """The picture in one sentence."""
        gaps = {name: shown(_mean_distance(one)) for name, one in self.curves.items()}
        before = gaps.pop("before", "unknown")
        after = " and ".join(f"{gap} after {name}" for name, gap in gaps.items())
        what = "stated and observed coverage" if self._is_real else "confidence and accuracy"
        return f"The mean gap between {what} is {before} before recalibration, {after}."

    def _marks(self, ax: Axes, small: bool) -> None:
        for name, one in self.curves.items():
            one._model(ax, name)
        ax.set_aspect("equal")

    def _columns(self) -> dict[str, Any]:
        tables = {name: one._columns() for name, one in self.curves.items()}
        shared = ("level", "observed") if self._is_real else ("bin", "instances", "predicted", "observed")
        names = [name for name, one in tables.items() for _ in one["observed"]]
        return {
            "curve": names,
            **{key: [cell for one in tables.values() for cell in one[key]] for key in shared},
        }


def _mean_distance(display: ReliabilityDisplay | EnvelopeDisplay) -> float:
    """Return the mean gap between what a curve states and what was observed."""
    if isinstance(display, EnvelopeDisplay):
        return float(np.abs(display.curve.difference).mean())
    return display.error


class RecalibrationChangesDisplay(Display, kind="changes", of=RecalibrationReport):
    """How far each method moves one statistic, with the interval of the paired difference.

    Attributes
    ----------
    report : RecalibrationReport
        From `credibly.recalibration_report`.
    statistic : str, optional
        What to compare. Default: log loss, or CRPS for real values.
    """

    size = (5.0, 2.8)
    key_below = 0.3

    report: RecalibrationReport
    statistic: str | None = None

    def _require(self) -> None:
        known = {name for one in self.report.methods.values() for name in one.changes}
        if self.statistic is None:
            object.__setattr__(self, "statistic", "crps" if "crps" in known else "log_loss")
            return
        if self.statistic not in known:
            remedy = nearest(self.statistic, known)
            raise InputError("`statistic`", "must be one of the report", f"got {self.statistic!r}", remedy)

    @property
    def changes(self) -> dict[str, Any]:
        """The changes by method."""
        methods, own = self.report.methods.items(), str(self.statistic)
        return {name: one.changes[own] for name, one in methods if own in one.changes}

    @property
    def difference(self) -> HostArray:
        """After minus before, (s,)."""
        return np.array([one.difference.value for one in self.changes.values()])

    @property
    def interval(self) -> HostArray:
        """95 % intervals of the differences, (s, 2); NaN where there is none."""
        return np.array([interval_or_nan(one.difference) for one in self.changes.values()])

    @property
    def finding(self) -> str:
        """The picture in one sentence."""
        best = int(np.argmin(self.difference))
        name, change = list(self.changes.items())[best]
        (ends,) = ranges(*self.interval[best : best + 1].T)
        interval = "" if ends == "none" else f" (95 % interval of the change {ends})"
        moved = f"from {shown(change.before.value)} to {shown(change.after.value)}"
        return f"{title(str(self.statistic))}: {name} changes it {moved}{interval}."

    @property
    def words(self) -> Words:
        """Title and axis labels."""
        return Words(f"Change of {title(str(self.statistic))}", "after minus before")

    def _marks(self, ax: Axes, small: bool) -> None:
        """Draw one point per method with its interval, and the line of no change."""
        ax.axvline(0, color=INK, linewidth=0.8, linestyle=(0, (4, 3)))
        places = np.arange(len(self.changes))
        for place, ends in zip(places, self.interval, strict=True):
            ax.plot(ends, [place, place], color=BLUE, linewidth=1.4)
        known = np.isfinite(self.interval[:, 0])
        for some, marker, label in ((known, "o", "with 95 % interval"), (~known, "D", "without interval")):
            if some.any():
                dots(ax, self.difference[some], places[some], marker, BLUE, label, markersize=5)
        ax.set_yticks(places, list(self.changes))
        ax.set_ylim(len(places) - 0.5, -0.5)

    def _columns(self) -> dict[str, Any]:
        after = [one.after.value for one in self.changes.values()]
        low, high = self.interval.T
        return {
            "methods": self.changes, "after": after, "difference": self.difference, "low": low, "high": high
        }  # fmt: skip


class ScoreDifferencesDisplay(Display, kind="differences", of=ScoreRanking):
    """How far every model is behind the first by one score, with joint intervals.

    Attributes
    ----------
    ranking : ScoreRanking
        From `credibly.rank_models` for real values.
    statistic : str, optional
        The score. Default: the first of the ranking.
    """

    size = (5.0, 2.8)
    key_below = 0.3

    ranking: ScoreRanking
    statistic: str | None = None

    def _require(self) -> None:
        self.ranking.at(self.statistic)

    @property
    def standing(self) -> ScoreStanding:
        """The models by the score, best first."""
        return self.ranking.at(self.statistic)

    @property
    def finding(self) -> str:
        """The picture in one sentence."""
        own = self.standing
        tied = own.tied_with_first
        rest = f"; {', '.join(tied)} {'are' if len(tied) > 1 else 'is'} statistically tied with it"
        return f"{own.names[0]} has the smallest {title(own.statistic)}{rest if tied else ''}."

    @property
    def words(self) -> Words:
        """Title and axis labels."""
        return Words(f"Behind the first by {title(self.standing.statistic)}", "mean score minus the first's")

    def _marks(self, ax: Axes, small: bool) -> None:
        """Draw one point per model with its interval, and the line of no difference."""
        own = self.standing
        ax.axvline(0, color=INK, linewidth=0.8, linestyle=(0, (4, 3)))
        places = np.arange(len(own.names))
        for place, ends in zip(places, own.intervals, strict=True):
            ax.plot(ends, [place, place], color=BLUE, linewidth=1.4)
        label = f"with {100 * own.level:g} % joint interval"
        dots(ax, own.differences, places, "o", BLUE, label, markersize=5)
        ax.set_yticks(places, list(own.names))
        ax.set_ylim(len(places) - 0.5, -0.5)

    def _columns(self) -> dict[str, Any]:
        own = self.standing
        low, high = own.intervals.T
        return {
            "model": own.names, "score": own.scores, "difference": own.differences, "low": low, "high": high
        }  # fmt: skip
