"""Groups of an audit by their effect, with intervals that hold together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from credibly.plots.display import BLUE, INK, ORANGE, VERMILION, Display, Words, dots, printable
from credibly.results.audit import AuditGroup, AuditResult

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LONGEST = 38


class AuditDisplay(Display, kind="audit", of=AuditResult):
    """The clearest groups of an audit: effects in points with simultaneous intervals.

    Groups that are off come first, then those that they explain, then the clearest of the others.

    Attributes
    ----------
    result : AuditResult
        From `credibly.audit`.
    limit : int
        Maximum number of groups shown.
    """

    size = (6.4, 4.6)
    key_below = 0.2

    result: AuditResult
    limit: int = 15

    @property
    def shown(self) -> tuple[AuditGroup, ...]:
        """The groups in the picture, from the top."""
        result = self.result
        explained = tuple(one for one in result.rejected if one.explained_by is not None)
        others = tuple(one for one in result.groups if one.verdict != "conflict")
        return (*result.findings, *explained, *others)[: self.limit]

    @property
    def finding(self) -> str:
        """The picture in one sentence."""
        return self.result.headline

    @property
    def words(self) -> Words:
        """Title and axis labels."""
        return Words("Effect by group", "observed minus predicted, points")

    def _marks(self, ax: Axes, small: bool) -> None:
        """Draw one line per group and measure, and the line of no effect."""
        ax.axvline(0, color=INK, linewidth=0.8, linestyle=(0, (4, 3)))
        places = np.arange(len(self.shown))
        colors = {"off": VERMILION, "explained by another": ORANGE, "no conflict found": BLUE}
        markers = {"off": "o", "explained by another": "s", "no conflict found": "D"}
        kinds = [self._kind(one) for one in self.shown]
        for place, one, kind in zip(places, self.shown, kinds, strict=True):
            ax.plot([100 * one.low, 100 * one.high], [place, place], color=colors[kind], linewidth=1.4)
        effects = np.array([100 * one.effect for one in self.shown])
        for kind in dict.fromkeys(kinds):
            some = np.array([own == kind for own in kinds])
            dots(ax, effects[some], places[some], markers[kind], colors[kind], kind, markersize=5)
        style: dict[str, Any] = {"fontsize": 6 if small else 7, "parse_math": False}
        ax.set_yticks(places, [self._name(one) for one in self.shown], **style)
        ax.set_ylim(len(places) - 0.5, -0.5)

    def _name(self, one: AuditGroup) -> str:
        line = printable(f"{one.group}: {one.measure}" if len(self.result.measures) > 1 else one.group)
        return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"

    @staticmethod
    def _kind(one: AuditGroup) -> str:
        if one.verdict != "conflict":
            return "no conflict found"
        return "off" if one.explained_by is None else "explained by another"

    def _columns(self) -> dict[str, Any]:
        every = self.shown
        return {
            "group": [one.group for one in every],
            "measure": [one.measure for one in every],
            "n": [one.n for one in every],
            "effect": [one.effect for one in every],
            "interval": [(one.low, one.high) for one in every],
            "adjusted p": [one.adjusted_pvalue for one in every],
            "smallest detectable effect": [one.detectable for one in every],
            "explained by": [one.explained_by or "" for one in every],
        }
