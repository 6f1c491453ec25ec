"""Errors over a triangle: where three-class predictions are wrong, which weights are best (J25 Fig. 6-7)."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import numpy as np

from credibly._arrays.checks import require_integer
from credibly._arrays.errors import InputError, InputTypeError, UnsupportedError
from credibly._arrays.namespace import HostArray, like, namespace, softmax, to_host
from credibly._arrays.notes import counted
from credibly.evaluation import shown, title
from credibly.plots import INK, Picture, draws, mark
from credibly.plots.simplex import TRIANGLE_AXES, in_triangle, triangle
from credibly.predictions import Ensemble, Point, as_labels, as_point, as_predictions, paired
from credibly.results.base import Result
from credibly.statistics.batches import one_hot
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
        point: np.ndarray[Any, Any] = self.points[int(np.argmin(self.values))]
        return point


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
    readable = as_predictions(predictions)
    statistic = KdeCe(bandwidth=bandwidth)  # type: ignore[arg-type]
    batch = statistic.labels(readable, labels)
    point, notes = as_point(readable)
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
    observed = to_host(one_hot(batch, namespace(point.probs), namespace(point.probs).float64))[0]
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
    readable = as_predictions(predictions)
    if not isinstance(readable, Ensemble) or readable.n_members != 3:
        raise InputTypeError(
            "a map over weights",
            "needs an ensemble of three members",
            f"got {readable!r}",
            "Select three members: `Ensemble(probs[:, [0, 1, 2]])`.",
        )
    chosen = as_statistic(statistic)
    batch = chosen.labels(readable, labels)
    settled = chosen.bind(readable.mean()).statistic
    xp = namespace(readable.probs)
    points = lattice(n_steps)
    values = []
    for weights in points:
        mixed = xp.sum(
            readable.probs * like(weights, readable.probs, readable.probs.dtype)[None, :, None], axis=1
        )
        values.append(float(to_host(settled.bind(Point(mixed))(as_labels(readable, batch)))[0]))
    return SimplexMap(
        name=settled.name,
        over="weights",
        corners=("member 0", "member 1", "member 2"),
        points=points,
        values=np.array(values),
        support=None,
        n=len(readable),
        settings={**settled.settings(), "n_steps": n_steps},
        notes=readable.notes,
    )


@draws(SimplexMap, "map")
def simplex_map(found: SimplexMap) -> Picture:
    """A heat map over the triangle: an error at every prediction, or at every weight of three members.

    Points without a finite value, or with fewer than 5 instances behind them, stay blank.

    Parameters
    ----------
    found : SimplexMap
        From `error_over_simplex` or `error_over_weights`.
    """
    drawn = np.isfinite(found.values) & (found.support is None or found.support >= _LEAST_SUPPORT)
    if not drawn.any():
        raise UnsupportedError(
            f"the map of `{found.name}`",
            f"needs points with a finite value and at least {_LEAST_SUPPORT:g} instances",
            f"none of {drawn.size} has",
            "Use a larger bandwidth or a statistic that stays finite.",
        )
    values, points = found.values[drawn], found.points[drawn]
    # the point worth a mark: where predictions are worst, which weights are best
    worst, what = found.over == "predictions", title(found.name)
    marked = points[int(np.argmax(values) if worst else np.argmin(values))]
    where = ", ".join(f"{share:.2f}" for share in marked)
    hidden = int((~drawn).sum())
    left = counted(hidden, "point without enough instances is", "points without enough instances are")
    return Picture(
        what,
        f"{what} runs from {shown(float(values.min()))} to {shown(float(values.max()))}, "
        f"{'largest at' if worst else 'smallest at weights'} ({where})."
        f"{f' {left} left blank.' if hidden else ''}",
        {**dict(zip(found.corners, points.T, strict=True)), what: values},
        [
            mark(_heat, "chance", in_triangle(found.points), found.values, drawn, what),
            *triangle(found.corners),
            mark("dots", "far", *in_triangle(marked).T, markersize=6, fillstyle="none"),
        ],
        size=(5.2, 4.2),
        axes=TRIANGLE_AXES,
    )


def _heat(ax: Axes, places: HostArray, values: HostArray, drawn: HostArray, name: str) -> None:
    """Fill the triangles between points that are drawn, and draw the scale of values."""
    from matplotlib.tri import Triangulation

    mesh = Triangulation(*places.T)
    mesh.set_mask(~drawn[mesh.triangles].all(axis=1))
    filled = ax.tripcolor(mesh, np.where(drawn, values, 0.0), shading="gouraud", cmap="cividis")
    filled.set_clim(float(values[drawn].min()), float(values[drawn].max()))
    bar = ax.figure.colorbar(filled, ax=ax, shrink=0.7)
    bar.set_label(name, color=INK)
