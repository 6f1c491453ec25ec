"""Numbers with their intervals side by side: the figure of a study that is a table of estimates."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from credibly._arrays.namespace import HostArray
from credibly.evaluation import shown
from credibly.plots import INK, Display, Words
from credibly.plots.display import line_style, name_ticks
from credibly_studies.judging import Interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes


Series = Mapping[str, Mapping[str, tuple[float, Interval | None]]]
"""Values with intervals, by series and by name below the axis."""


class IntervalsDisplay(Display):
    """Values with intervals, several series beside each other over common names.

    Attributes
    ----------
    title, quantity : str
        Title, and what is on the axis.
    series : mapping of str to mapping of str to (float, interval or None)
        Values by series and name; a name that a series lacks is left out there.
    zero : bool
        Whether a line marks zero.
    """

    size = (6.4, 4.8)
    key_below = 0.3

    title: str
    quantity: str
    series: Series
    zero: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """Places on the axis."""
        return tuple(dict.fromkeys(name for one in self.series.values() for name in one))

    @functools.cached_property
    def cells(self) -> HostArray:
        """Values and both ends of their intervals, (3, series, names); NaN where there are none."""
        cells = np.full((3, len(self.series), len(self.names)), np.nan)
        for row, one in enumerate(self.series.values()):
            for name, (value, ends) in one.items():
                cells[:, row, self.names.index(name)] = (value, *(ends or (np.nan, np.nan)))
        return cells

    @property
    def finding(self) -> str:
        """The picture in one sentence."""
        values = self.cells[0]
        row, column = np.unravel_index(np.nanargmin(values), values.shape)
        smallest = shown(float(values[row, column]))
        where = f"{self.names[column]}, {list(self.series)[row]}"
        return f"{self.quantity} is smallest for {where}: {smallest}."

    @property
    def words(self) -> Words:
        """Title and axis labels."""
        return Words(self.title, "", self.quantity)

    def _marks(self, ax: Axes, small: bool) -> None:
        """Draw every series a little beside the one before."""
        count = len(self.series)
        if self.zero:
            ax.axhline(0, color=INK, linewidth=0.6)
        for place, (name, (values, low, high)) in enumerate(
            zip(self.series, self.cells.swapaxes(0, 1), strict=True)
        ):
            style = line_style(place) | {"linestyle": "none"}
            at = np.arange(len(self.names)) + (place - (count - 1) / 2) * min(0.12, 0.7 / count)
            ends = np.nan_to_num(np.stack([values - low, high - values]))
            ax.errorbar(at, values, yerr=ends, markersize=4.5, label=name, **style)
        name_ticks(ax, self.names)

    def _columns(self) -> dict[str, Any]:
        return {"name": self.names, **dict(zip(self.series, self.cells[0], strict=True))}
