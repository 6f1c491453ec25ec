"""A world over its feature: members, their band, the truth and the labels, and the weights (J25 Fig. 9)."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from credibly._arrays.errors import UnsupportedError
from credibly._arrays.namespace import HostArray
from credibly.evaluation import shown, shown_range
from credibly.plots.display import Display, Table, Words, require_kind
from credibly.plots.style import INK, SKY, VERMILION, line_style, new_figure
from credibly.results.power import WorldPicture

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_NAMED_MEMBERS = 5


@dataclasses.dataclass(frozen=True)
class WorldDisplay(Display):
    """Members, the band they span, the truth and the labels over x.

    Attributes
    ----------
    name : str
        The world.
    of : int
        The class whose probability is shown.
    x : ndarray (n,)
        The feature, increasing.
    members : ndarray (n, m)
        Probability each member gives.
    lower, upper : ndarray (n,)
        The band of members.
    truth : ndarray (n,)
        Probability labels were drawn with.
    inside : ndarray (n,) of bool
        Whether the truth is in the set.
    labels : ndarray (n,) of bool
        Whether the class was observed.
    """

    size: ClassVar[tuple[float, float]] = (6.0, 4.0)
    key_below: ClassVar[float] = 0.15

    name: str
    of: int
    x: HostArray
    members: HostArray
    lower: HostArray
    upper: HostArray
    truth: HostArray
    inside: HostArray
    labels: HostArray

    @property
    def finding(self) -> str:
        """The picture in one sentence."""
        count, total = int(self.inside.sum()), self.inside.size
        probabilities = shown_range((float(self.truth.min()), float(self.truth.max())))
        return (
            f"The truth lies in the set of predictions for {count} of {total} instances; "
            f"class {self.of} has probability {probabilities}."
        )

    @property
    def words(self) -> Words:
        """Title and axis labels."""
        return Words(self.name, "x", f"probability of class {self.of}")

    def _marks(self, ax: Axes, small: bool) -> None:
        """Draw the band, a line per member, the truth, and labels as ticks at 0 and 1."""
        ax.fill_between(self.x, self.lower, self.upper, color=SKY, alpha=0.3, linewidth=0, label="band")
        _member_lines(ax, self.x, self.members)
        ax.plot(self.x, self.truth, color=INK, linewidth=1.8, label="truth")
        for value in (False, True):
            places = self.x[self.labels == value]
            ax.plot(
                places, np.full(places.size, float(value)), linestyle="none", marker="|", markersize=5,
                color=VERMILION, alpha=0.5, label="labels" if value else None,
            )  # fmt: skip
        ax.set_ylim(-0.05, 1.05)

    def table(self) -> Table:
        """Return band and truth in ten parts of the instances."""
        rows = []
        for part in np.array_split(np.arange(self.x.size), min(10, self.x.size)):
            columns = (self.x, self.lower, self.upper, self.truth)
            rows.append(
                (
                    *(shown(float(one[part].mean())) for one in columns),
                    f"{int(self.inside[part].sum())} of {part.size}",
                )
            )
        return Table(("mean x", "lower", "upper", "truth", "inside"), tuple(rows))


@dataclasses.dataclass(frozen=True)
class WeightsDisplay(Display):
    """True weights of the members over x.

    Attributes
    ----------
    name : str
        The world.
    x : ndarray (n,)
        The feature, increasing.
    weights : ndarray (n, m)
        Weights.
    """

    size: ClassVar[tuple[float, float]] = (6.0, 2.6)
    key_below: ClassVar[float] = 0.22

    name: str
    x: HostArray
    weights: HostArray

    @property
    def finding(self) -> str:
        """The picture in one sentence."""
        change = float((self.weights.max(axis=0) - self.weights.min(axis=0)).max())
        return (
            "The weights are constant."
            if change == 0
            else f"A weight changes by up to {shown(change)} over x."
        )

    @property
    def words(self) -> Words:
        """Title and axis labels."""
        return Words("Weights", "x", "weight")

    def _marks(self, ax: Axes, small: bool) -> None:
        """Draw a line per member."""
        _member_lines(ax, self.x, self.weights)
        ax.set_ylim(-0.05, 1.05)

    def table(self) -> Table:
        """Return range and mean of every member's weight."""
        rows = tuple(
            (f"member {place + 1}", *(shown(float(value)) for value in (own.min(), own.mean(), own.max())))
            for place, own in enumerate(self.weights.T)
        )
        return Table(("member", "smallest", "mean", "largest"), rows)


def _member_lines(ax: Axes, x: HostArray, values: HostArray) -> None:
    """Draw a line per member; few are named, many are pale."""
    few = values.shape[1] <= _NAMED_MEMBERS
    for place, own in enumerate(values.T):
        style = {**line_style(place), "marker": None}
        ax.plot(
            x,
            own,
            linewidth=1.1,
            alpha=1.0 if few else 0.4,
            label=f"member {place + 1}" if few else None,
            **style,
        )


def world_data(picture: WorldPicture) -> WorldDisplay:
    """Return what the picture of a world shows.

    Parameters
    ----------
    picture : WorldPicture
        From `world_picture`.

    Returns
    -------
    WorldDisplay
        The data; `draw` draws them.
    """
    require_kind(picture, WorldPicture, "picture", "Make one with `world_picture(sample)`.")
    return WorldDisplay(
        name=picture.name,
        of=picture.of,
        x=picture.x,
        members=picture.members,
        lower=picture.members.min(axis=1),
        upper=picture.members.max(axis=1),
        truth=picture.truth,
        inside=picture.inside,
        labels=picture.labels,
    )


def weights_data(picture: WorldPicture) -> WeightsDisplay:
    """Return what the picture of a world's weights shows.

    Parameters
    ----------
    picture : WorldPicture
        From `world_picture`, of a world that drew weights.

    Returns
    -------
    WeightsDisplay
        The data; `draw` draws them.
    """
    require_kind(picture, WorldPicture, "picture", "Make one with `world_picture(sample)`.")
    if picture.weights is None:
        raise UnsupportedError(
            "a picture of weights",
            "needs a world that drew weights",
            f"got {picture.name!r}",
            "Draw the world alone, `world_data(picture).draw()`.",
        )
    return WeightsDisplay(picture.name, picture.x, picture.weights)


def world_diagram(picture: WorldPicture) -> Figure:
    """Draw a world over its feature and, where it drew weights, the weights below (J25 Fig. 9).

    Parameters
    ----------
    picture : WorldPicture
        From `world_picture`.

    Returns
    -------
    Figure
        A new figure.
    """
    world = world_data(picture)
    if picture.weights is None:
        figure = new_figure(*world.size)
        world.draw(figure.add_subplot())
        return figure
    weights = weights_data(picture)
    figure = new_figure(world.size[0], world.size[1] + weights.size[1])
    grid = figure.add_gridspec(2, 1, height_ratios=[world.size[1], weights.size[1]])
    world.draw(figure.add_subplot(grid[0]))
    weights.draw(figure.add_subplot(grid[1]))
    return figure
