"""A heat map over the 2-simplex: an error at every prediction, or at every weight of three members."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from credibly._arrays.errors import UnsupportedError
from credibly._arrays.namespace import HostArray
from credibly.evaluation import shown, title
from credibly.plots.display import Display, Table, Words, drawing_of
from credibly.plots.simplex import CORNERS, from_triangle, in_triangle
from credibly.plots.style import INK, VERMILION
from credibly.results.curves import SimplexMap

if TYPE_CHECKING:
    from matplotlib.axes import Axes


_LEAST_SUPPORT = 5.0


@dataclasses.dataclass(frozen=True)
class SimplexMapDisplay(Display):
    """What a heat map over the simplex shows.

    Attributes
    ----------
    name : str
        What the colour means.
    over : {"predictions", "weights"}
        What a point of the triangle is.
    corners : tuple of str
        Names of the corners.
    xy : ndarray (g, 2)
        Points in the plane.
    values : ndarray (g,)
        The number at each point; NaN where it is not drawn.
    n_hidden : int
        Points without a finite value or with fewer than 5 instances behind them.
    smallest, largest : tuple of float
        Barycentric coordinates of the extreme values.
    """

    size: ClassVar[tuple[float, float]] = (5.2, 4.2)

    name: str
    over: str
    corners: tuple[str, str, str]
    xy: HostArray
    values: HostArray
    n_hidden: int
    smallest: tuple[float, ...]
    largest: tuple[float, ...]

    @property
    def marked(self) -> tuple[float, ...]:
        """The point worth a mark: where predictions are worst, which weights are best."""
        return self.largest if self.over == "predictions" else self.smallest

    @property
    def finding(self) -> str:
        """The picture in one sentence."""
        low, high = float(np.nanmin(self.values)), float(np.nanmax(self.values))
        where = ", ".join(f"{share:.2f}" for share in self.marked)
        hidden = f" {self.n_hidden} points without enough instances are left blank." if self.n_hidden else ""
        which = "largest at" if self.over == "predictions" else "smallest at weights"
        return f"{title(self.name)} runs from {shown(low)} to {shown(high)}, {which} ({where}).{hidden}"

    @property
    def words(self) -> Words:
        """Title and axis labels."""
        return Words(title(self.name))

    def _marks(self, ax: Axes, small: bool) -> None:
        """Draw filled contours, the triangle, and a mark at the point the finding names."""
        from matplotlib.tri import Triangulation

        drawn = np.isfinite(self.values)
        mesh = Triangulation(self.xy[:, 0], self.xy[:, 1])
        mesh.set_mask(~drawn[mesh.triangles].all(axis=1))
        filled = ax.tripcolor(mesh, np.where(drawn, self.values, 0.0), shading="gouraud", cmap="cividis")
        filled.set_clim(float(np.nanmin(self.values)), float(np.nanmax(self.values)))
        outline = CORNERS[[0, 1, 2, 0]]
        ax.plot(outline[:, 0], outline[:, 1], color=INK, linewidth=0.8)
        at = np.asarray(self.marked) @ CORNERS
        ax.plot(*at, linestyle="none", marker="D", markersize=6, color=VERMILION, fillstyle="none")
        for name, place, below in zip(self.corners, CORNERS, (True, True, False), strict=True):
            offset = (0, -6) if below else (0, 4)
            ax.annotate(
                name,
                place,
                xytext=offset,
                textcoords="offset points",
                ha="center",
                va="top" if below else "bottom",
                fontsize=9,
                color=INK,
            )
        ax.set_aspect("equal")
        ax.set_axis_off()
        bar = ax.figure.colorbar(filled, ax=ax, shrink=0.7)
        bar.set_label(title(self.name), color=INK)

    def table(self) -> Table:
        """Return the points that are drawn."""
        drawn = np.isfinite(self.values)
        rows = tuple(
            (*map(shown, place), shown(value))
            for place, value in zip(from_triangle(self.xy[drawn]), self.values[drawn], strict=True)
        )
        return Table((*self.corners, title(self.name)), rows)


def simplex_map_data(found: SimplexMap) -> SimplexMapDisplay:
    """Return what the heat map of a `SimplexMap` shows.

    Parameters
    ----------
    found : SimplexMap
        From `error_over_simplex` or `error_over_weights`.

    Returns
    -------
    SimplexMapDisplay
        The data; `draw` draws them.
    """
    values = np.array(found.values, dtype=np.float64)
    hidden = ~np.isfinite(values)
    if found.support is not None:
        hidden |= found.support < _LEAST_SUPPORT
    if hidden.all():
        raise UnsupportedError(
            f"the map of `{found.name}`",
            f"needs points with a finite value and at least {_LEAST_SUPPORT:g} instances",
            f"none of {values.size} has",
            "Use a larger bandwidth or a statistic that stays finite.",
        )
    values[hidden] = np.nan
    return SimplexMapDisplay(
        name=found.name,
        over=found.over,
        corners=found.corners,
        xy=in_triangle(found.points),
        values=values,
        n_hidden=int(hidden.sum()),
        smallest=tuple(float(share) for share in found.points[int(np.nanargmin(values))]),
        largest=tuple(float(share) for share in found.points[int(np.nanargmax(values))]),
    )


@drawing_of(simplex_map_data)
def simplex_heat_map(found: SimplexMap, ax: Axes | None = None) -> Axes:
    """Draw an error over the 2-simplex."""
    return simplex_map_data(found).draw(ax)
