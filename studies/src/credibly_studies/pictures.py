"""Numbers with their intervals side by side: the figure of a study that is a table of estimates."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from credibly._arrays.namespace import HostArray
from credibly.evaluation import shown
from credibly.plots import INK, Display, Words
from credibly.plots.style import line_style, name_ticks
from credibly_studies.judging import Interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes


Series = Mapping[str, Mapping[str, tuple[float, Interval | None]]]
"""Values with intervals, by series and by name below the axis."""


@dataclasses.dataclass(frozen=True)
class IntervalsDisplay(Display):
    """Values with intervals, several series beside each other over common names.

    Attributes
    ----------
    title, quantity : str
        Title, and what is on the axis.
    names : tuple of str
        Places on the axis.
    series : tuple of str
        Names of the series.
    values, low, high : ndarray (series, names)
        Values and ends of their intervals; NaN where there are none.
    zero : bool
        Whether a line marks zero.
    """

    size: ClassVar[tuple[float, float]] = (6.4, 4.8)
    key_below: ClassVar[float] = 0.3

    title: str
    quantity: str
    names: tuple[str, ...]
    series: tuple[str, ...]
    values: HostArray
    low: HostArray
    high: HostArray
    zero: bool = False

    @property
    def finding(self) -> str:
        """The picture in one sentence."""
        place = np.unravel_index(np.nanargmin(self.values), self.values.shape)
        smallest = shown(float(self.values[place]))
        return f"{self.quantity} is smallest for {self.names[place[1]]}, {self.series[place[0]]}: {smallest}."

    @property
    def words(self) -> Words:
        """Title and axis labels."""
        return Words(self.title, "", self.quantity)

    def _marks(self, ax: Axes, small: bool) -> None:
        """Draw every series a little beside the one before."""
        count = len(self.series)
        if self.zero:
            ax.axhline(0, color=INK, linewidth=0.6)
        for place, name in enumerate(self.series):
            style = line_style(place) | {"linestyle": "none"}
            at = np.arange(len(self.names)) + (place - (count - 1) / 2) * min(0.12, 0.7 / count)
            ends = np.stack([self.values[place] - self.low[place], self.high[place] - self.values[place]])
            ax.errorbar(at, self.values[place], yerr=np.nan_to_num(ends), markersize=4.5, label=name, **style)
        name_ticks(ax, self.names)


def intervals_data(title: str, quantity: str, series: Series, *, zero: bool = False) -> IntervalsDisplay:
    """Return what a picture of values with intervals shows.

    Parameters
    ----------
    title, quantity : str
        Title, and what is on the axis.
    series : mapping of str to mapping of str to (float, interval or None)
        Values by series and name; a name that a series lacks is left out there.
    zero : bool
        Whether a line marks zero.

    Returns
    -------
    IntervalsDisplay
        The data; `draw` draws them.
    """
    names = tuple(dict.fromkeys(name for one in series.values() for name in one))
    cells = np.full((3, len(series), len(names)), np.nan)
    for row, one in enumerate(series.values()):
        for name, (value, ends) in one.items():
            cells[:, row, names.index(name)] = (value, *(ends or (np.nan, np.nan)))
    return IntervalsDisplay(title, quantity, names, tuple(series), cells[0], cells[1], cells[2], zero)
