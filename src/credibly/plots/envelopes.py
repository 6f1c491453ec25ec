"""Shares of labels against levels with a simultaneous envelope: PIT difference-ECDF and coverage curve.

The difference-ECDF shows shares minus levels, where a departure that the eye would miss along the diagonal
fills the picture.   Saeilynoja, Buerkner and Vehtari 2022.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from credibly._arrays.errors import InputError
from credibly._arrays.namespace import HostArray
from credibly.evaluation import shown
from credibly.plots.display import Display, Words, drawing_of
from credibly.plots.style import BLUE, INK, SKY, VERMILION
from credibly.results.curves import EnvelopeCurve

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclasses.dataclass(frozen=True)
class EnvelopeDisplay(Display):
    """What a curve with an envelope shows.

    Attributes
    ----------
    level, observed : ndarray (l,)
        Stated probabilities and shares of labels.
    lower, upper : ndarray (l,)
        Envelope of the shares.
    coverage : float
        Probability that the curve of a replicate stays inside everywhere.
    pvalue : float
        p-value of the whole curve.
    hypothesis : str
        What the envelope was simulated under.
    """

    size: ClassVar[tuple[float, float]] = (5.0, 4.0)

    level: HostArray
    observed: HostArray
    lower: HostArray
    upper: HostArray
    coverage: float
    pvalue: float
    hypothesis: str

    @property
    def outside(self) -> HostArray:
        """Which levels lie outside the envelope."""
        return (self.observed < self.lower) | (self.observed > self.upper)

    @property
    def finding(self) -> str:
        """The picture in one sentence."""
        gap = self.observed - self.level
        # the largest of those outside, where there are any
        worst = int(np.argmax(np.abs(gap) + 2.0 * self.outside))
        more = "more" if gap[worst] > 0 else "fewer"
        count, out = len(self.level), int(self.outside.sum())
        where = f"leaves its {100 * self.coverage:.4g} % envelope at {out} of {count} levels"
        if not out and self.pvalue <= 1.0 - self.coverage:
            where = f"runs along the edge of its {100 * self.coverage:.4g} % envelope"
        elif not out:
            where = f"stays inside its {100 * self.coverage:.4g} % envelope at all {count} levels"
        return (
            f"The curve {where}, p = {shown(self.pvalue)}; at level {shown(float(self.level[worst]))}, "
            f"{shown(float(self.observed[worst]))} of the labels lie {self._place}, {more} than stated."
        )

    @property
    def _place(self) -> str:
        return "at or below the quantile"

    @property
    def words(self) -> Words:
        """Title and axis labels."""
        return Words(
            "Labels below quantiles", "level of the quantile", "share of labels below it, minus level"
        )

    def _baseline(self) -> HostArray:
        """Return what is subtracted from every share."""
        return self.level

    def _marks(self, ax: Axes, small: bool) -> None:
        base = self._baseline()
        ax.fill_between(
            self.level,
            self.lower - base,
            self.upper - base,
            color=SKY,
            alpha=0.4,
            linewidth=0,
            label=f"{100 * self.coverage:.4g} % envelope of the whole curve",
        )
        stated = self.level - base
        ax.plot(self.level, stated, linestyle=(0, (4, 3)), linewidth=0.8, color=INK, label="as stated")
        marker = "o" if len(self.level) < 20 else None
        ax.plot(
            self.level,
            self.observed - base,
            linewidth=1.4,
            color=BLUE,
            marker=marker,
            markersize=4,
            label="observed",
        )
        if self.outside.any():
            ax.plot(
                self.level[self.outside],
                (self.observed - base)[self.outside],
                linestyle="none",
                marker="D",
                markersize=3 if small else 4,
                color=VERMILION,
                label="outside",
            )
        ax.set_xlim(0, 1)


class CoverageDisplay(EnvelopeDisplay):
    """What a coverage curve shows: shares of labels inside central intervals."""

    @property
    def _place(self) -> str:
        return "inside the central interval"

    @property
    def words(self) -> Words:
        """Title and axis labels."""
        return Words("Coverage of intervals", "stated coverage", "observed coverage")

    def _baseline(self) -> HostArray:
        return 0.0 * self.level


def pit_data(curve: EnvelopeCurve) -> EnvelopeDisplay:
    """Return what the difference-ECDF of a PIT test shows.

    Parameters
    ----------
    curve : EnvelopeCurve
        From :func:`credibly.pit_test`.

    Returns
    -------
    EnvelopeDisplay
        The data; `draw` draws them.
    """
    return EnvelopeDisplay(*_fields(curve, "pit", "pit_test"))


def coverage_data(curve: EnvelopeCurve) -> CoverageDisplay:
    """Return what a coverage curve shows.

    Parameters
    ----------
    curve : EnvelopeCurve
        From :func:`credibly.coverage_curve`.

    Returns
    -------
    CoverageDisplay
        The data; `draw` draws them.
    """
    return CoverageDisplay(*_fields(curve, "coverage", "coverage_curve"))


def _fields(curve: EnvelopeCurve, name: str, maker: str) -> tuple[Any, ...]:
    if curve.name != name:
        raise InputError(
            "`curve`", f"must be one of `{maker}`", f"got a {curve.name} curve", f"Make it with `cr.{maker}`."
        )
    return (
        curve.levels,
        curve.observed,
        curve.lower,
        curve.upper,
        curve.coverage,
        curve.pvalue,
        curve.hypothesis,
    )


@drawing_of(pit_data)
def pit_diagram(curve: EnvelopeCurve, *, ax: Axes | None = None) -> Axes:
    """Draw shares of labels below quantiles, minus levels, with their envelope."""
    return pit_data(curve).draw(ax)


@drawing_of(coverage_data)
def coverage_diagram(curve: EnvelopeCurve, *, ax: Axes | None = None) -> Axes:
    """Draw observed against stated coverage of central intervals, with the envelope."""
    return coverage_data(curve).draw(ax)
