"""Predictive checks on one strip: what the model expects of its statistics, and what was observed."""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from credibly._arrays.errors import InputError
from credibly._arrays.namespace import HostArray
from credibly.evaluation import shown, shown_range, title
from credibly.plots.display import Display, Table, Words, drawing_of
from credibly.plots.style import BLUE, INK, SKY, VERMILION
from credibly.results.predictive import PredictiveCheck
from credibly.results.tests import CheckResult

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_FURTHEST = 3.0


@dataclasses.dataclass(frozen=True)
class CheckDisplay(Display):
    """One line per statistic and hypothesis, each on the scale of its own acceptance region.

    Attributes
    ----------
    labels : tuple of str
        What each line is about.
    observed : ndarray (r,)
        Observed values.
    low, high : ndarray (r,)
        Acceptance regions.
    pvalues : ndarray (r,)
        p-values, adjusted where several statistics were checked.
    places : ndarray (r,)
        Observed value on a scale where the acceptance region is -1 to 1; at most 3 away from 0.
    outside : ndarray (r,) of bool
        Whether the observation lies outside.
    heading : str
        What is shown.
    """

    size: ClassVar[tuple[float, float]] = (6.4, 3.4)
    key_below: ClassVar[float] = 0.2

    labels: tuple[str, ...]
    observed: HostArray
    low: HostArray
    high: HostArray
    pvalues: HostArray
    places: HostArray
    outside: HostArray
    heading: str

    @property
    def finding(self) -> str:
        """The picture in one sentence."""
        far = [name for name, out in zip(self.labels, self.outside, strict=True) if out]
        total = len(self.labels)
        if not far:
            return f"All {total} observed values lie inside their acceptance regions."
        return (
            f"{len(far)} of {total} observed values lie outside their acceptance regions: {'; '.join(far)}."
        )

    @property
    def words(self) -> Words:
        """Title and axis labels."""
        return Words(self.heading, "observed value; the acceptance region is -1 to 1")

    def _marks(self, ax: Axes, small: bool) -> None:
        """Draw acceptance regions as bars, observed values as marks with their numbers beside."""
        lines = np.arange(len(self.labels))[::-1]
        ax.barh(lines, 2.0, left=-1.0, height=0.5, color=SKY, alpha=0.6, label="acceptance region")
        for out, marker, color, text in (
            (False, "o", BLUE, "observed, inside"),
            (True, "D", VERMILION, "observed, outside"),
        ):
            chosen = self.outside == out
            if chosen.any():
                ax.plot(
                    self.places[chosen],
                    lines[chosen],
                    linestyle="none",
                    marker=marker,
                    color=color,
                    label=text,
                )
        ax.set_yticks(lines, self.labels, color=INK, fontsize=7 if small else 8, parse_math=False)
        for line, value, low, high in zip(lines, self.observed, self.low, self.high, strict=True):
            ax.annotate(
                f"{shown(value)} ({shown_range((float(low), float(high)))})",
                (1.0, line),
                xycoords=("axes fraction", "data"),
                xytext=(4, 0),
                textcoords="offset points",
                va="center",
                fontsize=7,
                color=INK,
                annotation_clip=False,
            )
        ax.set_xlim(-_FURTHEST - 0.2, _FURTHEST + 0.2)
        ax.set_ylim(-0.6, len(lines) - 0.4)

    def table(self) -> Table:
        """Return observed values, acceptance regions and p-values."""
        rows = tuple(
            (name, shown(value), shown_range((float(low), float(high))), shown(p))
            for name, value, low, high, p in zip(
                self.labels, self.observed, self.low, self.high, self.pvalues, strict=True
            )
        )
        return Table(("check", "observed", "acceptance", "p"), rows)


def check_data(check: PredictiveCheck) -> CheckDisplay:
    """Return what the strip of a predictive check shows.

    Parameters
    ----------
    check : PredictiveCheck
        The check.

    Returns
    -------
    CheckDisplay
        The data; `draw` draws them.
    """
    lines = [
        (f"{title(name)}, {part.name}", part.checks[name])
        for name in check.statistics
        for part in check.hypotheses.values()
    ]
    return _display(lines, "What the model expects")


@drawing_of(check_data)
def check_strip(check: PredictiveCheck, *, ax: Axes | None = None) -> Axes:
    """Draw acceptance regions and observed values of a predictive check, both hypotheses side by side."""
    return check_data(check).draw(ax)


def before_after_data(
    before: PredictiveCheck, after: PredictiveCheck, hypothesis: str | None = None
) -> CheckDisplay:
    """Return what the picture of checks before and after recalibration shows (P21 Fig. 9).

    Parameters
    ----------
    before, after : PredictiveCheck
        Checks of the same statistics on the same data.
    hypothesis : {"bayesian", "independent"}, optional
        Which hypothesis; the Bayesian one where both checks tested it.

    Returns
    -------
    CheckDisplay
        The data; `draw` draws them.
    """
    if before.statistics != after.statistics:
        raise InputError(
            "`before` and `after`",
            "must check the same statistics",
            f"got {before.statistics} and {after.statistics}",
            "Run both checks with the same `statistics`.",
        )
    shared = [name for name in before.hypotheses if name in after.hypotheses]
    if hypothesis is None and not shared:
        raise InputError(
            "`before` and `after`",
            "must test a common hypothesis",
            f"got {list(before.hypotheses)} and {list(after.hypotheses)}",
            "Run both checks under one hypothesis.",
        )
    chosen = shared[0] if hypothesis is None else hypothesis
    lines = [
        (f"{title(name)}, {when}", check.under(chosen).checks[name])
        for name in before.statistics
        for when, check in (("before", before), ("after", after))
    ]
    return _display(lines, f"Recalibration, {chosen}")


@drawing_of(before_after_data)
def before_after_strip(
    before: PredictiveCheck, after: PredictiveCheck, hypothesis: str | None = None, *, ax: Axes | None = None
) -> Axes:
    """Draw checks before and after recalibration."""
    return before_after_data(before, after, hypothesis).draw(ax)


def _display(lines: list[tuple[str, CheckResult]], heading: str) -> CheckDisplay:
    results = [result for _, result in lines]
    low, high = (np.array([one.acceptance_region[side] for one in results]) for side in (0, 1))
    observed = np.array([one.statistic for one in results])
    outside = (observed < low) | (observed > high)
    places = [
        _place(*numbers) for numbers in zip(observed.tolist(), low.tolist(), high.tolist(), strict=True)
    ]
    return CheckDisplay(
        labels=tuple(name for name, _ in lines),
        observed=observed,
        low=low,
        high=high,
        pvalues=np.array([one.deciding_pvalue for one in results]),
        places=np.array(places),
        outside=outside,
        heading=heading,
    )


def _place(value: float, low: float, high: float) -> float:
    """Return a value on the scale where low is -1 and high 1, cut at the edge of the picture."""
    if low <= value <= high and not (math.isfinite(low) and math.isfinite(high) and high > low):
        return 0.0  # a region without ends or without width
    if not (math.isfinite(low) and math.isfinite(high) and high > low and math.isfinite(value)):
        return math.copysign(_FURTHEST, value - (high if value > high else low))
    place = (2 * value - low - high) / (high - low)
    return max(-_FURTHEST, min(_FURTHEST, place))
