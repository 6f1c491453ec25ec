"""How often tests reject, against the level, one panel per world (M23 Fig. 1, J25 Figs. 3 and 4)."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from credibly._arrays.errors import InputError
from credibly._arrays.namespace import HostArray
from credibly.evaluation import shown, shown_range
from credibly.plots.display import Display, Table, Words, drawing_of, require_kind
from credibly.plots.style import INK, line_style, new_figure
from credibly.results.power import PowerStudy

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_SPOKEN_LEVEL = 0.05


@dataclasses.dataclass(frozen=True)
class RejectionDisplay(Display):
    """Rejection rates of all tests in one world, against the level.

    Attributes
    ----------
    world : str
        The world.
    null : bool or None
        Whether the hypothesis is true there.
    tests : tuple of str
        The tests.
    levels : ndarray (l,)
        Levels.
    rates, low, high : ndarray (tests, l)
        Rejection rates and the ends of their 95 % intervals.
    repetitions : int
        Data sets behind every rate.
    """

    size: ClassVar[tuple[float, float]] = (5.0, 5.0)

    world: str
    null: bool | None
    tests: tuple[str, ...]
    levels: HostArray
    rates: HostArray
    low: HostArray
    high: HostArray
    repetitions: int

    @property
    def finding(self) -> str:
        """The picture in one sentence."""
        place = int(np.argmin(np.abs(self.levels - _SPOKEN_LEVEL)))
        best = int(np.argmax(self.rates[:, place]))
        words = {True: "is true", False: "is false", None: "is true for some instances or for none"}
        truth = f"The hypothesis {words[self.null]}"
        interval = shown_range((float(self.low[best, place]), float(self.high[best, place])))
        return (
            f"{truth}; at level {shown(float(self.levels[place]))} the most rejections are those of "
            f"'{self.tests[best]}': {shown(float(self.rates[best, place]))} ({interval})."
        )

    @property
    def words(self) -> Words:
        """Title and axis labels."""
        return Words(self.world, "level", "share of data sets rejected")

    def _marks(self, ax: Axes, small: bool) -> None:
        """Draw the diagonal and one line with its band per test."""
        ax.plot([0, 1], [0, 1], color=INK, linestyle=":", linewidth=1.0)
        for place, name in enumerate(self.tests):
            style = line_style(place)
            ax.fill_between(
                self.levels, self.low[place], self.high[place], color=style["color"], alpha=0.08, linewidth=0
            )
            ax.plot(
                self.levels,
                self.rates[place],
                label=name,
                linewidth=1.3,
                markersize=2.5 if small else 4,
                **style,
            )
        ax.set_xlim(0.0, 1.0)
        ax.set_ylim(-0.02, 1.02)

    def table(self) -> Table:
        """Return one row per test and level."""
        rows = tuple(
            (
                name,
                shown(float(level)),
                *(shown(float(values[t, place])) for values in (self.rates, self.low, self.high)),
            )
            for t, name in enumerate(self.tests)
            for place, level in enumerate(self.levels)
        )
        return Table(("test", "level", "rate", "low", "high"), rows)


def rejection_data(study: PowerStudy, world: str) -> RejectionDisplay:
    """Return what the picture of one world shows.

    Parameters
    ----------
    study : PowerStudy
        What `power_study` found.
    world : str
        Name of a world.

    Returns
    -------
    RejectionDisplay
        The data; `draw` draws them.
    """
    require_kind(study, PowerStudy, "study", "Pass what `power_study` found.")
    place, _ = study.place(world, study.tests[0])
    return RejectionDisplay(
        world=world,
        null=study.null[place],
        tests=study.tests,
        levels=study.levels,
        rates=study.rates[place],
        low=study.low[place],
        high=study.high[place],
        repetitions=study.repetitions,
    )


@drawing_of(rejection_data)
def rejection_diagram(study: PowerStudy, world: str, *, ax: Axes | None = None) -> Axes:
    """Draw the rejection rates of all tests in one world."""
    return rejection_data(study, world).draw(ax)


def rejection_diagrams(study: PowerStudy, *, columns: int = 4) -> Figure:
    """Draw one small diagram per world, side by side, with one key for all (M23 Fig. 1, J25 Figs. 3 and 4).

    Parameters
    ----------
    study : PowerStudy
        What `power_study` found.
    columns : int
        Panels per row.

    Returns
    -------
    Figure
        A new figure.
    """
    require_kind(study, PowerStudy, "study", "Pass what `power_study` found.")
    if columns < 1:
        raise InputError("`columns`", "must be at least 1", f"got {columns!r}", "Use 4.")
    panels = [rejection_data(study, world) for world in study.worlds]
    columns = min(columns, len(panels))
    rows = -(-len(panels) // columns)
    figure = new_figure(2.6 * columns + 0.4, 2.5 * rows + 0.25 * -(-len(study.tests) // 2) + 0.4)
    for place, panel in enumerate(panels):
        panel.draw(figure.add_subplot(rows, columns, 1 + place), small=True)
    for place, (panel, ax) in enumerate(zip(panels, figure.axes, strict=True)):
        if place + columns >= len(panels):
            ax.set_xlabel(panel.words.xlabel, color=INK, fontsize=8)
        if place % columns == 0:
            ax.set_ylabel(panel.words.ylabel, color=INK, fontsize=8)
    lines = figure.axes[0].get_legend_handles_labels()
    legend = figure.legend(*lines, loc="outside lower center", ncols=2, fontsize=8, frameon=False)
    for text in legend.get_texts():
        text.set_color(INK)
    return figure
