"""Errors over a triangle: where three-class predictions are wrong, which weights are best (J25 Fig. 6-7)."""

from __future__ import annotations

import dataclasses
import functools
from typing import TYPE_CHECKING, Any

import numpy as np

from credibly._arrays.checks import require_integer
from credibly._arrays.errors import InputError, InputTypeError, UnsupportedError
from credibly._arrays.namespace import HostArray, like, namespace, softmax, to_host
from credibly._arrays.notes import counted
from credibly.evaluation import shown, title
from credibly.plots.display import INK, VERMILION, Display, Words
from credibly.plots.simplex import draw_triangle, in_triangle, mark
from credibly.predictions import Ensemble, Point, as_labels, as_point, as_predictions, paired
from credibly.results.base import Result
from credibly.statistics.batches import label_values
from credibly.statistics.kde import KdeCe
from credibly.statistics.pairwise import BandwidthPlan
from credibly.statistics.protocol import Statistic
from credibly.statistics.registry import as_statistic
from credibly.statistics.smoother import kernel_keys, with_one

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LEAST_SUPPORT = 5.0


@dataclasses.dataclass(frozen=True)
class SimplexMap(Result):
    """Values over the 2-simplex.

    Attributes
    ----------
    name : str
        What was computed.
    over : {"predictions", "weights"}
        What a point of the triangle is: a distribution over three classes, or weights of three members.
    corners : tuple of str
        Names of the corners.
    points : ndarray (g, 3)
        Barycentric coordinates.
    values : ndarray (g,)
        The number at each point; may be infinite.
    support : ndarray (g,) or None
        Effective number of instances behind each value; None if every value uses all instances.
    n : int
        Number of instances.
    settings : dict
        What the values were computed with.
    notes : tuple of str
        What was accepted, converted or left out on the way.
    """

    name: str
    over: str
    corners: tuple[str, str, str]
    points: np.ndarray[Any, Any]
    values: np.ndarray[Any, Any]
    support: np.ndarray[Any, Any] | None
    n: int
    settings: dict[str, Any] = dataclasses.field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def smallest(self) -> np.ndarray[Any, Any]:
        """The point with the smallest value."""
        found: np.ndarray[Any, Any] = self.points[int(np.argmin(self.values))]
        return found


def lattice(n_steps: int, *, inner: bool = False) -> np.ndarray[Any, Any]:
    """Return evenly spaced points of the triangle, (g, 3); `inner` keeps them off the edges."""
    first, second = np.meshgrid(np.arange(n_steps + 1), np.arange(n_steps + 1), indexing="ij")
    kept = first + second <= n_steps
    whole = np.stack([first[kept], second[kept], n_steps - first[kept] - second[kept]], axis=1)
    points: np.ndarray[Any, Any] = (whole + 1 / 3) / (n_steps + 1) if inner else whole / n_steps
    return points


def error_over_simplex(
    predictions: Any, labels: Any, *, bandwidth: float | str = "likelihood", n_steps: int = 40
) -> SimplexMap:
    """Estimate how far observed frequencies are from a prediction, at every point of the simplex.

    Parameters
    ----------
    predictions : Predictions or array
        Class predictions with three classes; a set is represented by its mean.
    labels : array (n,) or LabelCounts
        What was observed.
    bandwidth : float or "likelihood"
        Spread of the Dirichlet kernel, as in `kde_ce`.
    n_steps : int
        Number of points per edge, minus one.

    Returns
    -------
    SimplexMap
        || E[y | f] - f ||_2 at every point f, and how many instances are behind it.

    References
    ----------
    Jürgens et al., *A calibration test for evaluating set-based epistemic uncertainty representations*,
    2025.

    Examples
    --------
    >>> import numpy as np
    >>> from credibly_studies.simplex_maps import error_over_simplex
    >>> probs = np.random.default_rng(0).dirichlet(np.ones(3), size=200)
    >>> error_over_simplex(probs, probs.argmax(axis=1), n_steps=10).values.shape
    (66,)
    """
    predictions, labels = paired(predictions, labels)
    require_integer(n_steps, "n_steps", 1)
    given = as_predictions(predictions)
    statistic = KdeCe(bandwidth=bandwidth)  # type: ignore[arg-type]
    batch = statistic.labels(given, labels)
    point, notes = as_point(given)
    probs = to_host(point.probs).astype(np.float64, copy=False)
    if probs.shape[1] != 3:
        raise InputError(
            "a map over the simplex",
            "needs three classes",
            f"got {probs.shape[1]}",
            "Merge classes until three are left.",
        )
    plan = statistic.plan(Point(probs))
    assert isinstance(plan, BandwidthPlan)
    points = lattice(n_steps, inner=True)
    # points of the inner lattice have no zeros
    weights = softmax(with_one(np.log(points)) @ kernel_keys(probs, plan.number).T)
    observed = to_host(label_values(batch, namespace(point.probs), namespace(point.probs).float64))[0]
    gap = weights @ observed.T - points
    return SimplexMap(
        name="local calibration error",
        over="predictions",
        corners=("class 0", "class 1", "class 2"),
        points=points,
        values=np.sqrt(np.sum(gap**2, axis=1)),
        support=1.0 / np.sum(weights**2, axis=1),
        n=len(probs),
        settings={"bandwidth": plan.number, "n_steps": n_steps},
        notes=(*notes, *plan.notes),
    )


def error_over_weights(
    predictions: Any, labels: Any, *, statistic: str | Statistic = "skce", n_steps: int = 20
) -> SimplexMap:
    """Compute a statistic of every weighted mean of three members.

    Parameters
    ----------
    predictions : Ensemble or array (n, 3, k)
        Three members.
    labels : array (n,) or LabelCounts
        What was observed.
    statistic : str or Statistic
        What to compute. A bandwidth that follows a rule is chosen once, from the equal-weight mean, so that
        all weights are compared by the same error.
    n_steps : int
        Number of points per edge, minus one.

    Returns
    -------
    SimplexMap
        The statistic at every weight vector.

    References
    ----------
    Jürgens et al., *A calibration test for evaluating set-based epistemic uncertainty representations*,
    2025.

    Examples
    --------
    >>> import numpy as np
    >>> from credibly_studies.simplex_maps import error_over_weights
    >>> members = np.random.default_rng(0).dirichlet(np.ones(4), size=(50, 3))
    >>> error_over_weights(members, members[:, 0].argmax(axis=1), statistic="brier", n_steps=4).smallest
    array([1., 0., 0.])
    """
    predictions, labels = paired(predictions, labels)
    require_integer(n_steps, "n_steps", 1)
    given = as_predictions(predictions)
    if not isinstance(given, Ensemble) or given.n_members != 3:
        raise InputTypeError(
            "a map over weights",
            "needs an ensemble of three members",
            f"got {given!r}",
            "Select three members: `Ensemble(probs[:, [0, 1, 2]])`.",
        )
    chosen = as_statistic(statistic)
    batch = chosen.labels(given, labels)
    settled = chosen.bind(given.mean()).statistic
    xp = namespace(given.probs)
    points = lattice(n_steps)
    values = []
    for weights in points:
        mixed = xp.sum(given.probs * like(weights, given.probs, given.probs.dtype)[None, :, None], axis=1)
        values.append(float(to_host(settled.bind(Point(mixed))(as_labels(given, batch)))[0]))
    return SimplexMap(
        name=settled.name,
        over="weights",
        corners=("member 0", "member 1", "member 2"),
        points=points,
        values=np.array(values),
        support=None,
        n=len(given),
        settings={**settled.settings(), "n_steps": n_steps},
        notes=given.notes,
    )


class SimplexMapDisplay(Display, kind="map", of=SimplexMap):
    """A heat map over the triangle: an error at every prediction, or at every weight of three members.

    Points without a finite value, or with fewer than 5 instances behind them, stay blank.

    Attributes
    ----------
    found : SimplexMap
        From `error_over_simplex` or `error_over_weights`.
    """

    size = (5.2, 4.2)

    found: SimplexMap

    def _require(self) -> None:
        if np.isnan(self.values).all():
            raise UnsupportedError(
                f"the map of `{self.found.name}`",
                f"needs points with a finite value and at least {_LEAST_SUPPORT:g} instances",
                f"none of {self.values.size} has",
                "Use a larger bandwidth or a statistic that stays finite.",
            )

    @functools.cached_property
    def values(self) -> HostArray:
        """The number at each point; NaN where it is not drawn."""
        own = self.found
        drawn = np.isfinite(own.values) & (own.support is None or own.support >= _LEAST_SUPPORT)
        return np.where(drawn, own.values, np.nan)

    @property
    def marked(self) -> HostArray:
        """The point worth a mark: where predictions are worst, which weights are best."""
        extreme = np.nanargmax if self.found.over == "predictions" else np.nanargmin
        return np.asarray(self.found.points[int(extreme(self.values))])

    @property
    def finding(self) -> str:
        """The picture in one sentence."""
        low, high = float(np.nanmin(self.values)), float(np.nanmax(self.values))
        where = ", ".join(f"{share:.2f}" for share in self.marked)
        hidden = int(np.isnan(self.values).sum())
        left = counted(hidden, "point without enough instances is", "points without enough instances are")
        blank = f" {left} left blank." if hidden else ""
        which = "largest at" if self.found.over == "predictions" else "smallest at weights"
        return f"{title(self.found.name)} runs from {shown(low)} to {shown(high)}, {which} ({where}).{blank}"

    @property
    def words(self) -> Words:
        """Title and axis labels."""
        return Words(title(self.found.name))

    def _marks(self, ax: Axes, small: bool) -> None:
        """Draw filled contours, the triangle, and a mark at the point the finding names."""
        from matplotlib.tri import Triangulation

        drawn = np.isfinite(self.values)
        mesh = Triangulation(*in_triangle(self.found.points).T)
        mesh.set_mask(~drawn[mesh.triangles].all(axis=1))
        filled = ax.tripcolor(mesh, np.where(drawn, self.values, 0.0), shading="gouraud", cmap="cividis")
        filled.set_clim(float(np.nanmin(self.values)), float(np.nanmax(self.values)))
        draw_triangle(ax, self.found.corners)
        mark(ax, self.marked, "D", VERMILION, markersize=6, fillstyle="none")
        bar = ax.figure.colorbar(filled, ax=ax, shrink=0.7)
        bar.set_label(title(self.found.name), color=INK)

    def _columns(self) -> dict[str, Any]:
        """Return the points that are drawn."""
        drawn = np.isfinite(self.values)
        corners = dict(zip(self.found.corners, self.found.points[drawn].T, strict=True))
        return {**corners, title(self.found.name): self.values[drawn]}
