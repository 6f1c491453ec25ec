"""A set of distributions over three classes in the triangle of all of them."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from credibly._arrays.errors import InputError
from credibly._arrays.namespace import HostArray
from credibly.evaluation import shown
from credibly.plots.display import Display, Table, Words, drawing_of
from credibly.plots.style import BLUE, INK, ORANGE, SKY, VERMILION, shortened
from credibly.results.tests import SimplexPicture

if TYPE_CHECKING:
    from matplotlib.axes import Axes


CORNERS = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, 3**0.5 / 2]])
"""Where the three classes are drawn."""


def in_triangle(probs: HostArray) -> HostArray:
    """Return where distributions (v, 3) lie in an equilateral triangle, (v, 2)."""
    return np.asarray(probs @ CORNERS)


def from_triangle(points: HostArray) -> HostArray:
    """Return the distributions (v, 3) drawn at points (v, 2)."""
    return np.asarray(
        np.column_stack([points, np.ones(len(points))])
        @ np.linalg.inv(np.column_stack([CORNERS, np.ones(3)]))
    )


@dataclasses.dataclass(frozen=True)
class SimplexDisplay(Display):
    """What the triangle shows, in its own coordinates.

    Attributes
    ----------
    name : str
        The prediction.
    members : ndarray (m, 2)
        Members of an ensemble.
    hull, envelope : ndarray (v, 2)
        Corners of the set and of the distributions within its lower and upper probabilities.
    mean : ndarray (2,)
        The mean prediction.
    observed : ndarray (2,) or None
        The label's corner, or the observed distribution of labels.
    distance : float or None
        Euclidean way, in probabilities, from what was observed to the mean.
    class_names : tuple of str
        Names of the corners.
    """

    size: ClassVar[tuple[float, float]] = (4.6, 4.6)

    name: str
    members: HostArray
    hull: HostArray
    envelope: HostArray
    mean: HostArray
    observed: HostArray | None
    distance: float | None
    class_names: tuple[str, str, str]

    @property
    def area(self) -> float:
        """Area of the set as a share of the triangle."""
        return _area(self.hull) / _area(CORNERS)

    @property
    def envelope_area(self) -> float:
        """Area within the lower and upper probabilities as a share of the triangle."""
        return _area(self.envelope) / _area(CORNERS)

    @property
    def finding(self) -> str:
        """The picture in one sentence."""
        return (
            f"The set fills {shown(100 * self.area)} % of all distributions; its lower and upper "
            f"probabilities alone would leave {shown(100 * self.envelope_area)} %."
        )

    @property
    def words(self) -> Words:
        """Title and axis labels."""
        return Words(self.name)

    def _marks(self, ax: Axes, small: bool) -> None:
        """Draw triangle, envelope, set, members, mean and what was observed."""
        from matplotlib.patches import Polygon

        ax.add_patch(Polygon(CORNERS, closed=True, fill=False, edgecolor=INK, linewidth=1.0))
        for corners, style in (
            (self.envelope, {"facecolor": "none", "edgecolor": ORANGE, "linestyle": (0, (4, 2))}),
            (self.hull, {"facecolor": SKY, "edgecolor": BLUE, "alpha": 0.45}),
        ):
            label = "the set" if corners is self.hull else "within lower and upper probabilities"
            ax.add_patch(Polygon(corners, closed=True, linewidth=1.4, label=label, **style))
        if len(self.members):
            ax.plot(*self.members.T, linestyle="none", marker="o", markersize=4, color=BLUE, label="members")
        ax.plot(*self.mean, linestyle="none", marker="s", markersize=6, color=INK, label="mean")
        if self.observed is not None:
            ax.plot(
                *self.observed, linestyle="none", marker="*", markersize=12, color=VERMILION, label="observed"
            )
        for corner, name, align in zip(CORNERS, self.class_names, ("right", "left", "center"), strict=True):
            shift = 0.03 if corner[1] > 0 else -0.07
            ax.text(
                corner[0],
                corner[1] + shift,
                shortened(name),
                ha=align,
                color=INK,
                fontsize=9,
                parse_math=False,
            )
        ax.set_xlim(-0.12, 1.12)
        ax.set_ylim(-0.12, 0.98)
        ax.set_aspect("equal")
        ax.set_axis_off()

    def table(self) -> Table:
        """Return every distribution drawn."""
        named = [("mean", self.mean[None, :]), ("member", self.members), ("corner of the set", self.hull)]
        if self.observed is not None:
            named.insert(0, ("observed", self.observed[None, :]))
        rows = tuple((name, *map(shown, probs)) for name, points in named for probs in from_triangle(points))
        return Table(("distribution", *self.class_names), rows)


def simplex_data(
    picture: SimplexPicture, *, class_names: Sequence[str] = ("class 0", "class 1", "class 2")
) -> SimplexDisplay:
    """Return what the triangle of one set shows.

    Parameters
    ----------
    picture : SimplexPicture
        From ``credibly.credal.simplex_picture``.
    class_names : sequence of str
        Names of the three corners.

    Returns
    -------
    SimplexDisplay
        The data; `draw` draws them.
    """
    if len(class_names) != 3:
        raise InputError(
            "`class_names`", "must be three names", f"got {len(class_names)}", "Name every corner."
        )
    observed = picture.target
    if picture.label is not None:
        observed = np.eye(3)[picture.label]
    first, second, third = map(str, class_names)
    return SimplexDisplay(
        name=f"{picture.kind}, instance {picture.row}",
        members=in_triangle(picture.members),
        hull=in_triangle(picture.hull),
        envelope=in_triangle(picture.envelope),
        mean=in_triangle(picture.mean[None, :])[0],
        observed=None if observed is None else in_triangle(observed[None, :])[0],
        distance=None if observed is None else float(np.sqrt(((observed - picture.mean) ** 2).sum())),
        class_names=(first, second, third),
    )


@drawing_of(simplex_data)
def simplex_diagram(
    picture: SimplexPicture,
    *,
    class_names: Sequence[str] = ("class 0", "class 1", "class 2"),
    ax: Axes | None = None,
) -> Axes:
    """Draw one set of distributions over three classes."""
    return simplex_data(picture, class_names=class_names).draw(ax)


def _area(corners: HostArray) -> float:
    """Return the area of a polygon (shoelace formula), 0 for a point or a line."""
    x, y = corners.T
    return 0.5 * abs(float(np.sum(x * np.roll(y, -1) - y * np.roll(x, -1))))
