"""Errors over a triangle: where three-class predictions are wrong, which weights are best (J25 Fig. 6-7)."""

from __future__ import annotations

from typing import Any

import numpy as np

from credibly._arrays.checks import require_integer
from credibly._arrays.errors import InputError, InputTypeError
from credibly._arrays.namespace import like, namespace, softmax, to_host
from credibly.predictions import Ensemble, Point, as_labels, as_point, as_predictions, paired
from credibly.results.curves import SimplexMap, lattice
from credibly.statistics.kde import KdeCe
from credibly.statistics.pairwise import BandwidthPlan
from credibly.statistics.protocol import Statistic, label_values
from credibly.statistics.registry import as_statistic
from credibly.statistics.smoother import kernel_keys, with_one


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
    >>> import credibly as cr
    >>> probs = np.random.default_rng(0).dirichlet(np.ones(3), size=200)
    >>> cr.statistics.error_over_simplex(probs, probs.argmax(axis=1), n_steps=10).values.shape
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
    >>> import credibly as cr
    >>> members = np.random.default_rng(0).dirichlet(np.ones(4), size=(50, 3))
    >>> cr.statistics.error_over_weights(
    ...     members, members[:, 0].argmax(axis=1), statistic="brier", n_steps=4
    ... ).smallest
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
