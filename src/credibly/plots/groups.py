"""Groups: effects of an audit with intervals that hold together, and what sets hold in parts of the data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from credibly.plots.display import BLUE, INK, ORANGE, VERMILION, Display, Words, dots, printable
from credibly.results.audit import AuditGroup, AuditResult
from credibly.results.coverage import SetCoverage
from credibly.results.estimates import Estimate

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


class ClaimedCoverageDisplay(Display, kind="claims", of=SetCoverage):
    """Coverage of sets or intervals: over all instances, by size and by group, with the claimed coverage.

    Attributes
    ----------
    result : SetCoverage
        From `credibly.hypotests.set_coverage` or an evaluation.
    limit : int
        Maximum number of groups shown, those farthest from the claim first.
    """

    size = (5.4, 3.8)
    key_below = 0.26  # a report draws it low: 0.2 would touch the label of the axis

    result: SetCoverage
    limit: int = 10

    @property
    def parts(self) -> tuple[tuple[str, int, float], ...]:
        """Name, instances and coverage of every line, from the top."""
        own = self.result
        what = "width" if own.kind == "intervals" else "size"
        found = [("all", own.n, float(own.coverage.value))]
        for by, strata in ((what, own.by_size), ("group", own.by_group)):
            if strata is None or len(strata.names) < 2:
                continue
            away = np.abs(strata.coverage - own.claimed) * np.sqrt(strata.n)
            chosen = np.arange(len(away)) if by != "group" else np.argsort(-away, kind="stable")[: self.limit]
            found += [
                (f"{by} {strata.names[at]}", int(strata.n[at]), float(strata.coverage[at])) for at in chosen
            ]
        return tuple(found)

    @property
    def intervals(self) -> tuple[tuple[float, float], ...]:
        """Wilson's 95 % interval of every line."""
        return tuple(
            Estimate(
                "coverage", share, (share * (1 - share) / n) ** 0.5, n, {}, (), None, "wilson"
            ).interval()
            for _, n, share in self.parts
        )

    @property
    def finding(self) -> str:
        """The picture in one sentence."""
        own, lines = self.result, self.parts
        off = sum(not low <= own.claimed <= high for low, high in self.intervals[1:])
        said = (
            f"{100 * own.claimed:.4g} % {own.kind} contain {100 * own.coverage.value:.1f} % of {own.n} labels"
        )
        return said + (f"; the intervals of {off} of {len(lines) - 1} parts miss the claim." if off else ".")

    @property
    def words(self) -> Words:
        """Title and axis labels."""
        return Words(
            f"Coverage of {100 * self.result.claimed:.4g} % {self.result.kind}", "share of labels covered"
        )

    def _marks(self, ax: Axes, small: bool) -> None:
        """Draw one line per part, and the claim."""
        ax.axvline(self.result.claimed, color=INK, linewidth=0.8, linestyle=(0, (4, 3)), label="claimed")
        places, ends = np.arange(len(self.parts)), np.array(self.intervals)
        missed = (self.result.claimed < ends[:, 0]) | (self.result.claimed > ends[:, 1])
        shares = np.array([share for _, _, share in self.parts])
        kinds = {
            False: ("o", BLUE, "observed, 95 % interval"),
            True: ("s", VERMILION, "interval excludes the claim"),
        }
        for far, (marker, color, label) in kinds.items():
            some = missed == far
            if some.any():
                ax.hlines(places[some], ends[some, 0], ends[some, 1], color=color, linewidth=1.4)
                dots(ax, shares[some], places[some], marker, color, label, markersize=5)
        style: dict[str, Any] = {"fontsize": 6 if small else 7, "parse_math": False}
        names = [f"{printable(name)[:_LONGEST]} (n = {n})" for name, n, _ in self.parts]
        ax.set_yticks(places, names, **style)
        ax.set_ylim(len(places) - 0.5, -0.5)
        ax.set_xlim(max(0.0, min(ends[:, 0].min(), self.result.claimed) - 0.03), 1.01)

    def _columns(self) -> dict[str, Any]:
        return {
            "part": [name for name, _, _ in self.parts],
            "n": [n for _, n, _ in self.parts],
            "held": [share for _, _, share in self.parts],
            "interval": list(self.intervals),
        }
