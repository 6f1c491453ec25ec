"""Weights of a combination: along a feature, and over the simplex of predictions."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from credibly._arrays.errors import InputError
from credibly._arrays.namespace import HostArray
from credibly.evaluation import shown
from credibly.plots.display import Display, Words, drawing_of, host_vector
from credibly.plots.style import BLUE, INK, ORANGE, SKY, VERMILION
from credibly.results.tests import CredalTestResult

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_COLORS = (BLUE, VERMILION, ORANGE, SKY, INK)
_MARKERS = ("o", "D", "s", "^", "v")
_HEIGHT = 3**0.5 / 2


@dataclasses.dataclass(frozen=True)
class CombinationDisplay(Display):
    """Weights of the heaviest points of the set against a feature.

    Attributes
    ----------
    name : str
        The feature.
    values : ndarray (n,)
        The feature, sorted.
    weights : ndarray (n, s)
        Weights in that order.
    labels : tuple of str
        What they weigh, heaviest first.
    hidden : float
        Mean weight of all others together.
    """

    size: ClassVar[tuple[float, float]] = (5.4, 3.6)

    name: str
    values: HostArray
    weights: HostArray
    labels: tuple[str, ...]
    hidden: float

    @property
    def finding(self) -> str:
        """The picture in one sentence."""
        means, low, high = self.weights.mean(axis=0), self.weights[:, 0].min(), self.weights[:, 0].max()
        rest = f"; all that is not drawn has {shown(self.hidden)}" if self.hidden > 0.005 else ""
        return (
            f"{self.labels[0]} is heaviest with mean weight {shown(float(means[0]))}, between "
            f"{shown(float(low))} and {shown(float(high))}{rest}."
        )

    @property
    def words(self) -> Words:
        """Title and axis labels."""
        return Words("Weights of the combination", self.name, "weight")

    def _marks(self, ax: Axes, small: bool) -> None:
        """Draw one series of marks per point of the set."""
        for column, label in enumerate(self.labels):
            ax.plot(
                self.values,
                self.weights[:, column],
                linestyle="none",
                marker=_MARKERS[column % len(_MARKERS)],
                markersize=2.5,
                alpha=0.7,
                color=_COLORS[column % len(_COLORS)],
                label=label,
            )
        ax.set_ylim(-0.03, 1.03)


@dataclasses.dataclass(frozen=True)
class SimplexWeightsDisplay(Display):
    """The weight of one point of the set, at the place of every mean prediction in the simplex.

    Attributes
    ----------
    label : str
        What is weighed.
    probs : ndarray (n, 3)
        Where instances are drawn.
    weights : ndarray (n,)
        Its weights.
    class_names : tuple of str
        Names of the three classes.
    """

    size: ClassVar[tuple[float, float]] = (4.6, 4.2)

    label: str
    probs: HostArray
    weights: HostArray
    class_names: tuple[str, ...]

    @property
    def finding(self) -> str:
        """The picture in one sentence."""
        corner = self.probs.argmax(axis=1)
        means = {
            name: float(self.weights[corner == c].mean())
            for c, name in enumerate(self.class_names)
            if (corner == c).any()
        }
        told = ", ".join(f"{shown(mean)} where class {name} leads" for name, mean in means.items())
        return f"{self.label} has mean weight {told}."

    @property
    def words(self) -> Words:
        """Title and axis labels."""
        return Words(f"Weight of {self.label}")

    def _marks(self, ax: Axes, small: bool) -> None:
        """Draw the triangle, a dot per instance and the scale of weights."""
        places = self.probs @ np.array([[0.0, 0.0], [1.0, 0.0], [0.5, _HEIGHT]])
        ax.plot([0, 1, 0.5, 0], [0, 0, _HEIGHT, 0], color=INK, linewidth=0.8)
        dots = ax.scatter(
            places[:, 0], places[:, 1], c=self.weights, s=12, cmap="cividis", vmin=0.0, vmax=1.0, linewidths=0
        )
        for (x, y), name, side in zip(
            ((0, -0.05), (1, -0.05), (0.5, _HEIGHT + 0.02)),
            self.class_names,
            ("top", "top", "bottom"),
            strict=True,
        ):
            ax.text(x, y, name, ha="center", va=side, color=INK, fontsize=8, parse_math=False)
        if not small:
            bar = ax.figure.colorbar(dots, ax=ax, shrink=0.7, label="weight")
            bar.outline.set_visible(False)
        ax.set_aspect("equal")
        ax.axis("off")
        ax.set_xlim(-0.08, 1.08)
        ax.set_ylim(-0.14, _HEIGHT + 0.12)


def _weights(result: CredalTestResult, n: int, name: str) -> HostArray:
    """Return weights per instance, (n, a); one vector for all is repeated."""
    weights = np.asarray(result.weights, dtype=np.float64)
    weights = np.broadcast_to(weights, (n, weights.shape[-1])) if weights.ndim == 1 else weights
    if len(weights) != n:
        raise InputError(
            f"`{name}`",
            f"must have one row per instance that was tested ({len(weights)})",
            f"got {n}",
            "Pass those of the data that the test was run on.",
        )
    return weights


def combination_data(
    result: CredalTestResult, feature: Any, *, name: str = "feature", limit: int = 5
) -> CombinationDisplay:
    """Return what the picture of weights along a feature shows.

    Parameters
    ----------
    result : CredalTestResult
        From ``credibly.credal_test``.
    feature : array (n,)
        One value per instance that the test was given.
    name : str
        Its name.
    limit : int
        Most series drawn, heaviest first, at most 5.

    Returns
    -------
    CombinationDisplay
        The data; `draw` draws them.
    """
    values = host_vector(feature, "feature")
    weights = _weights(result, len(values), "feature")
    if not isinstance(limit, int) or not 1 <= limit <= len(_COLORS):
        raise InputError("`limit`", f"must lie between 1 and {len(_COLORS)}", f"got {limit!r}", "Use 5.")
    heaviest = np.argsort(-weights.mean(axis=0), kind="stable")[:limit]
    order = np.argsort(values, kind="stable")
    return CombinationDisplay(
        name=name,
        values=values[order],
        weights=weights[order][:, heaviest],
        labels=tuple(result.weight_names[a] for a in heaviest),
        hidden=float(1.0 - weights[:, heaviest].sum(axis=1).mean()),
    )


@drawing_of(combination_data)
def combination_diagram(
    result: CredalTestResult, feature: Any, *, name: str = "feature", limit: int = 5, ax: Axes | None = None
) -> Axes:
    """Draw weights along a feature."""
    return combination_data(result, feature, name=name, limit=limit).draw(ax)


def simplex_weights_data(
    result: CredalTestResult,
    probs: Any,
    *,
    weight: int | None = None,
    class_names: Sequence[str] | None = None,
) -> SimplexWeightsDisplay:
    """Return what the picture of weights over the simplex shows.

    Parameters
    ----------
    result : CredalTestResult
        From ``credibly.credal_test``.
    probs : array (n, 3)
        One distribution over three classes per instance that the test was given: its mean prediction, say.
    weight : int, optional
        Which entry of `weight_names`; the heaviest where not given.
    class_names : sequence of str, optional
        Names of the classes; their numbers where not given.

    Returns
    -------
    SimplexWeightsDisplay
        The data; `draw` draws them.
    """
    places = host_vector(probs, "probs", 2)
    if places.shape[1] != 3:
        raise InputError(
            "`probs`",
            "must have three classes to lie in a triangle",
            f"got {places.shape[1]}",
            "Use `combination_diagram` along the probability of one class.",
        )
    weights = _weights(result, len(places), "probs")
    chosen = int(np.argmax(weights.mean(axis=0))) if weight is None else weight
    if not isinstance(chosen, int) or not 0 <= chosen < weights.shape[1]:
        raise InputError(
            "`weight`", f"must lie between 0 and {weights.shape[1] - 1}", f"got {weight!r}", "Leave it out."
        )
    names = tuple(map(str, range(3) if class_names is None else class_names))
    return SimplexWeightsDisplay(result.weight_names[chosen], places, weights[:, chosen], names)


@drawing_of(simplex_weights_data)
def simplex_weights(
    result: CredalTestResult,
    probs: Any,
    *,
    weight: int | None = None,
    class_names: Sequence[str] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the weight of one point of the set over the simplex."""
    return simplex_weights_data(result, probs, weight=weight, class_names=class_names).draw(ax)
