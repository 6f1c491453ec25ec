"""The triangle of all distributions over three classes: a set, weights at predictions."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from credibly._arrays.errors import InputError
from credibly._arrays.namespace import HostArray
from credibly.evaluation import shown
from credibly.plots.display import (
    BLUE,
    INK,
    ORANGE,
    SKY,
    VERMILION,
    Display,
    Style,
    Words,
    dots,
    host_vector,
    shortened,
)
from credibly.results.credal import SimplexPicture, WeightsDetails
from credibly.results.tests import HypotestResult

if TYPE_CHECKING:
    from matplotlib.axes import Axes

CORNERS = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, 3**0.5 / 2]])
"""Where the three classes are drawn."""


def in_triangle(probs: HostArray) -> HostArray:
    """Return where distributions (..., 3) lie in an equilateral triangle, (..., 2)."""
    return np.asarray(probs @ CORNERS)


def mark(ax: Axes, probs: HostArray, marker: str, color: str, label: str | None = None, **style: Any) -> None:
    """Draw distributions, (3,) or (v, 3), as marks."""
    x, y = in_triangle(probs).T
    dots(ax, x, y, marker, color, label, **style)


def draw_triangle(ax: Axes, names: Sequence[str]) -> None:
    """Draw the triangle and the names of its corners, in which a dollar sign is literal."""
    ax.plot(*CORNERS[[0, 1, 2, 0]].T, color=INK, linewidth=1.0)
    for (x, y), name, align in zip(CORNERS, names, ("right", "left", "center"), strict=True):
        style: Style = {"ha": align, "color": INK, "fontsize": 9, "parse_math": False}
        ax.text(x, y + (0.03 if y > 0 else -0.07), shortened(name), **style)
    ax.set_xlim(-0.12, 1.12)
    ax.set_ylim(-0.12, 0.98)
    ax.set_aspect("equal")
    ax.set_axis_off()


class SimplexDisplay(Display, kind="simplex", of=SimplexPicture):
    """One set of distributions over three classes: members, hull, envelope, mean and what was observed.

    Attributes
    ----------
    picture : SimplexPicture
        From `credibly.credal.pictures.simplex_picture`.
    class_names : sequence of str
        Names of the three corners.
    """

    size = (4.6, 4.6)

    picture: SimplexPicture
    class_names: Sequence[str] = ("class 0", "class 1", "class 2")

    def _require(self) -> None:
        if len(self.class_names) != 3:
            got = f"got {len(self.class_names)}"
            raise InputError("`class_names`", "must be three names", got, "Name every corner.")

    @property
    def observed(self) -> HostArray | None:
        """The observed distribution of labels; a corner where there is one label."""
        own = self.picture
        return own.target if own.label is None else np.asarray(np.eye(3)[own.label])

    @property
    def area(self) -> float:
        """Area of the set as a share of the triangle."""
        return _area(self.picture.hull)

    @property
    def envelope_area(self) -> float:
        """Area within the lower and upper probabilities as a share of the triangle."""
        return _area(self.picture.envelope)

    @property
    def finding(self) -> str:
        """The picture in one sentence."""
        return (
            f"The set fills {shown(100 * self.area)} % of all distributions; its lower and upper "
            f"probabilities alone would allow {shown(100 * self.envelope_area)} %."
        )

    @property
    def words(self) -> Words:
        """Title and axis labels."""
        return Words(f"{self.picture.kind}, instance {self.picture.row}")

    def _marks(self, ax: Axes, small: bool) -> None:
        """Draw triangle, envelope, set, members, mean and what was observed."""
        from matplotlib.patches import Polygon

        own = self.picture
        draw_triangle(ax, self.class_names)
        outline: Style = {
            "facecolor": "none",
            "edgecolor": ORANGE,
            "linestyle": (0, (4, 2)),
            "linewidth": 1.4,
        }
        label = "within lower and upper probabilities"
        ax.add_patch(Polygon(in_triangle(own.envelope), label=label, **outline))
        inside: Style = {"facecolor": SKY, "edgecolor": BLUE, "alpha": 0.45, "linewidth": 1.4}
        ax.add_patch(Polygon(in_triangle(own.hull), label="the set", **inside))
        if len(own.members):
            mark(ax, own.members, "o", BLUE, "members", markersize=4)
        mark(ax, own.mean, "s", INK, "mean", markersize=6)
        if self.observed is not None:
            mark(ax, self.observed, "*", VERMILION, "observed", markersize=12)

    def _columns(self) -> dict[str, Any]:
        """Return every distribution drawn."""
        own = self.picture
        named = {"mean": own.mean[None, :], "member": own.members, "corner of the set": own.hull}
        if self.observed is not None:
            named = {"observed": self.observed[None, :], **named}
        names = [name for name, points in named.items() for _ in points]
        points = np.concatenate(list(named.values()))
        return {"distribution": names, **dict(zip(self.class_names, points.T, strict=True))}


def _area(corners: HostArray) -> float:
    """Return the area of a polygon of distributions as a share of the triangle: 0 for a point or a line."""
    x, y = in_triangle(corners).T
    return float(abs(np.sum(x * np.roll(y, -1) - y * np.roll(x, -1)))) / (3**0.5 / 2)  # shoelace formula


def weights_per_instance(result: HypotestResult[WeightsDetails], n: int, name: str) -> HostArray:
    """Return weights per instance, (n, a); one vector for all is repeated."""
    weights = np.asarray(result.details.weights, dtype=np.float64)
    weights = np.broadcast_to(weights, (n, weights.shape[-1])) if weights.ndim == 1 else weights
    if len(weights) != n:
        raise InputError(
            f"`{name}`",
            f"must have one row per instance that was tested ({len(weights)})",
            f"got {n}",
            "Pass those of the data that the test was run on.",
        )
    return weights


class SimplexWeightsDisplay(Display, kind="simplex_weights", of=HypotestResult[WeightsDetails]):
    """The weight of one point of the set, at the place of every prediction in the triangle.

    Attributes
    ----------
    result : HypotestResult of WeightsDetails
        From `credibly.hypotests.weights_test` or `credibly.credal_test`.
    probs : array (n, 3)
        One distribution over three classes per instance that the test was given, such as its mean prediction.
    weight : int, optional
        Which entry of `weight_names`. Default: the heaviest.
    class_names : sequence of str, optional
        Names of the classes. Default: their indices.
    """

    size = (4.6, 4.2)

    result: HypotestResult[WeightsDetails]
    probs: Any
    weight: int | None = None
    class_names: Sequence[str] | None = None

    def _require(self) -> None:
        if self.places.shape[1] != 3:
            raise InputError(
                "`probs`",
                "must have three classes to lie in a triangle",
                f"got {self.places.shape[1]}",
                'Use `kind="weights"` along the probability of one class.',
            )
        count = self._all.shape[1]
        if not isinstance(self._chosen, int) or not 0 <= self._chosen < count:
            must = f"must lie between 0 and {count - 1}"
            raise InputError("`weight`", must, f"got {self.weight!r}", "Leave it out.")

    @functools.cached_property
    def places(self) -> HostArray:
        """Where instances are drawn, (n, 3)."""
        return host_vector(self.probs, "probs", 2)

    @functools.cached_property
    def _all(self) -> HostArray:
        return weights_per_instance(self.result, len(self.places), "probs")

    @property
    def _chosen(self) -> int:
        return int(np.argmax(self._all.mean(axis=0))) if self.weight is None else self.weight

    @property
    def weights(self) -> HostArray:
        """Weights of the one that is shown, (n,)."""
        return np.asarray(self._all[:, self._chosen])

    @property
    def name(self) -> str:
        """What is weighed."""
        return self.result.details.weight_names[self._chosen]

    @property
    def _classes(self) -> tuple[str, ...]:
        return tuple(map(str, range(3) if self.class_names is None else self.class_names))

    def _means(self) -> dict[str, float]:
        """Return the mean weight where each class leads."""
        corner = self.places.argmax(axis=1)
        held = {name: self.weights[corner == c] for c, name in enumerate(self._classes)}
        return {name: float(own.mean()) for name, own in held.items() if own.size}

    @property
    def finding(self) -> str:
        """The picture in one sentence."""
        told = ", ".join(f"{shown(mean)} where class {name} leads" for name, mean in self._means().items())
        return f"{self.name} has mean weight {told}."

    @property
    def words(self) -> Words:
        """Title and axis labels."""
        return Words(f"Weight of {self.name}")

    def _marks(self, ax: Axes, small: bool) -> None:
        """Draw the triangle, a dot per instance and the scale of weights."""
        draw_triangle(ax, self._classes)
        style: Style = {"s": 12, "cmap": "cividis", "vmin": 0.0, "vmax": 1.0, "linewidths": 0}
        x, y = in_triangle(self.places).T
        points = ax.scatter(x, y, c=self.weights, **style)
        if not small:
            bar = ax.figure.colorbar(points, ax=ax, shrink=0.7, label="weight")
            bar.outline.set_visible(False)

    def _columns(self) -> dict[str, Any]:
        return {"where this class leads": self._means(), "mean weight": self._means().values()}
