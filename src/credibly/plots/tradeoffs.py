"""Models over the trade-off: their mean scores as lines, and where these cross."""

from __future__ import annotations

import dataclasses
import itertools
import math
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from credibly._arrays.errors import InputError
from credibly._arrays.namespace import HostArray
from credibly.evaluation import shown
from credibly.plots.display import Display, Table, Words, drawing_of, require_kind
from credibly.plots.style import INK, VERMILION, series, shortened
from credibly.selection.standings import Ranking

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclasses.dataclass(frozen=True)
class TradeoffDisplay(Display):
    """Mean score against trade-off, one line per model, with the places where the leader changes.

    Attributes
    ----------
    names : tuple of str
        The models, the best at the largest trade-off shown first.
    distance, imprecision : ndarray (m,)
        Where each line starts, and its slope.
    crossings : ndarray (c,)
        Trade-offs at which two models change places.
    scores : ndarray (c,)
        Mean score there.
    is_leader : ndarray (c,)
        Whether the first place changes.
    most : float
        Largest trade-off shown.
    leaders : tuple of (float, float, str)
        Who is first between which trade-offs.
    """

    size: ClassVar[tuple[float, float]] = (6.4, 4.2)

    names: tuple[str, ...]
    distance: HostArray
    imprecision: HostArray
    crossings: HostArray
    scores: HostArray
    is_leader: HostArray
    most: float
    leaders: tuple[tuple[float, float, str], ...]

    @property
    def finding(self) -> str:
        """The lines in one sentence."""
        if len(self.leaders) == 1:
            return f"{self.leaders[0][2]} has the smallest mean score at every trade-off."
        parts = [
            f"{name} {'to ' + shown(high) if math.isfinite(high) else 'beyond'}"
            for _, high, name in self.leaders
        ]
        return f"Smallest mean score by trade-off: {', '.join(parts)}."

    @property
    def words(self) -> Words:
        """Title and axis labels."""
        return Words("Score against trade-off", "trade-off", "mean score E")

    def _marks(self, ax: Axes, small: bool) -> None:
        """Draw lines with their names at the end, and crossings as dots; leader changes are filled."""
        ends = self.distance + self.most * self.imprecision
        top = 1.05 * float(ends[np.isfinite(ends)].max(initial=1e-9))
        for place, (start, end) in enumerate(zip(self.distance, ends, strict=True)):
            color, _, dashes = series(place)
            ax.plot([0, self.most], [start, end], color=color, linestyle=dashes, linewidth=1.5)
        if not small:
            finite = np.flatnonzero(np.isfinite(ends))
            for place, height in zip(finite.tolist(), _apart(ends[finite], 0.05 * top, top), strict=True):
                ax.annotate(
                    shortened(self.names[place]),
                    (self.most, ends[place]),
                    xytext=(1.06 * self.most, height),
                    fontsize=7,
                    color=INK,
                    va="center",
                    annotation_clip=False,
                    parse_math=False,
                    # a thread to the end of its line: names of lines that end together are moved apart
                    arrowprops={
                        "arrowstyle": "-",
                        "linewidth": 0.4,
                        "color": INK,
                        "shrinkA": 1,
                        "relpos": (0, 0.5),
                    },
                )
        kept = self.crossings <= self.most
        for leader, face in ((False, "none"), (True, VERMILION)):
            chosen = kept & (self.is_leader == leader)
            ax.plot(
                self.crossings[chosen],
                self.scores[chosen],
                linestyle="none",
                marker="o",
                markersize=6 if leader else 3.5,
                markerfacecolor=face,
                markeredgecolor=VERMILION if leader else INK,
                markeredgewidth=0.8,
            )
        ax.set_xlim(0, self.most)
        ax.set_ylim(0, top)

    def table(self) -> Table:
        """Return the lines."""
        rows = tuple(
            (name, shown(float(d)), shown(float(i)), shown(float(d + self.most * i)))
            for name, d, i in zip(self.names, self.distance, self.imprecision, strict=True)
        )
        return Table(("model", "distance", "imprecision", f"score at {self.most:g}"), rows)


def _apart(heights: HostArray, gap: float, top: float) -> HostArray:
    """Return heights moved apart so that labels do not overlap: up, then down where they leave the top."""
    placed = np.array(heights, dtype=np.float64)
    order = np.argsort(placed, kind="stable").tolist()
    for lower, upper in itertools.pairwise(order):
        placed[upper] = max(placed[upper], placed[lower] + gap)
    ceiling = top
    for place in reversed(order):
        placed[place] = min(placed[place], ceiling)
        ceiling = placed[place] - gap
    return placed


def tradeoff_data(ranking: Ranking, *, most: float | None = None, points: bool = True) -> TradeoffDisplay:
    """Return what the picture of scores over trade-offs shows.

    Parameters
    ----------
    ranking : Ranking
        From ``credibly.rank_models``.
    most : float, optional
        Largest trade-off shown; beyond the largest one asked for and all changes of the leader where not
        given.
    points : bool
        Whether models that predict one distribution are shown.

    Returns
    -------
    TradeoffDisplay
        The data; `draw` draws them.
    """
    require_kind(
        ranking, Ranking, "ranking", "Pass what `rank_models` found; `compare` has it in `.ranking`."
    )
    leaders = ranking.leaders(points=points)
    if most is None:
        asked = [one for one in ranking.tradeoffs if math.isfinite(one)]
        most = max([1.0, *asked, *(1.15 * low for low, _, _ in leaders if low <= 10)])
    if not 0 < most < math.inf:
        raise InputError("`most`", "must be a positive number", f"got {most!r}", "Use 2.")
    names = ranking.order(most, points=points)
    chosen = [ranking.names.index(name) for name in names]
    held = [one for one in ranking.crossings if {one.below, one.beyond} <= set(names)]
    at = np.array([one.tradeoff for one in held])
    places = [ranking.names.index(one.below) for one in held]
    slope = ranking.imprecision * ranking.scale
    lines = ranking.distance[places] + at * slope[places] if held else np.empty(0)
    changes = {low for low, _, _ in leaders[1:]}
    return TradeoffDisplay(
        names=names,
        distance=ranking.distance[chosen],
        imprecision=slope[chosen],
        crossings=at,
        scores=lines,
        is_leader=np.array([one.tradeoff in changes for one in held], dtype=bool),
        most=float(most),
        leaders=leaders,
    )


@drawing_of(tradeoff_data)
def tradeoff_lines(
    ranking: Ranking, *, most: float | None = None, points: bool = True, ax: Axes | None = None
) -> Axes:
    """Draw mean scores over trade-offs with the places where models change order."""
    return tradeoff_data(ranking, most=most, points=points).draw(ax)
