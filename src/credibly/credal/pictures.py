"""What a picture of one set in the simplex of three classes needs: points and polygons, nothing drawn."""

from __future__ import annotations

from typing import Any

import numpy as np

from credibly._arrays.checks import require_integer
from credibly._arrays.errors import InputError, require
from credibly._arrays.namespace import HostArray, as_float64, to_host
from credibly.credal.bounds import singleton_bounds
from credibly.credal.distances import soft_target
from credibly.credal.extreme_points import vertices
from credibly.credal.sets import DIRICHLET_SAMPLES, as_set
from credibly.predictions import Classes, Ensemble, Intervals, as_labels
from credibly.results.credal import SimplexPicture


def simplex_picture(
    predictions: Any,
    labels: Any = None,
    *,
    row: int = 0,
    n_samples: int = DIRICHLET_SAMPLES,
    rng: Any = None,
) -> SimplexPicture:
    """Return the points and polygons that show the set of one instance.

    Parameters
    ----------
    predictions : Predictions or array
        Class predictions over three classes, read as sets by :func:`as_set`.
    labels : array (n,), LabelCounts, Point or array (n, k), optional
        What was observed.
    row : int
        Which instance.
    n_samples : int
        Draws, if the predictions are a Dirichlet.
    rng : None, int or Generator
        Seed of these draws.

    Returns
    -------
    SimplexPicture
        Members, corners of the set and of its lower envelope, mean, and what was observed.

    Notes
    -----
    With three classes the lower probability of a pair is 1 minus the upper probability of the third class, so
    the set of the lower envelope is that of the intervals.

    Examples
    --------
    >>> from credibly.credal.pictures import simplex_picture
    >>> picture = simplex_picture([[[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.4, 0.4, 0.2]]], [0])
    >>> picture.hull.shape, picture.envelope.shape, picture.label
    ((3, 3), (4, 3), 0)
    """
    credal = as_set(predictions, n_samples=n_samples, rng=rng)
    if credal.n_classes != 3:
        rule, evidence = "must have 3 classes, the corners of a triangle", f"got {credal.n_classes}"
        raise InputError("`predictions`", rule, evidence, "Merge classes, or plot `credal.size`.")
    row = require_integer(row, "row", 0)
    require(row < len(credal), f"must be below {len(credal)}", "Count instances from 0.", row=row)
    single = credal[row : row + 1]
    lower, upper = (to_host(bound) for bound in singleton_bounds(single))
    corners = to_host(vertices(single))[0]
    bounds = to_host(vertices(Intervals(lower, np.maximum(upper, lower))))[0]
    members = to_host(as_float64(single.probs))[0] if isinstance(single, Ensemble) else np.empty((0, 3))
    label, target = None, None
    if labels is not None:
        soft = soft_target(credal, labels)
        if soft is None:
            checked = as_labels(credal, labels)
            assert isinstance(checked, Classes)
            label = int(checked.values[0, row])
        else:
            target = to_host(soft)[row]
    return SimplexPicture(
        kind=type(credal).__name__,
        row=row,
        members=members,
        hull=convex_order(corners),
        envelope=convex_order(bounds),
        mean=to_host(single.mean().probs)[0],
        label=label,
        target=target,
    )


def convex_order(points: HostArray) -> HostArray:
    """Return the corners of the hull of points (v, 3), counter-clockwise (Andrew's monotone chain)."""
    distinct = np.unique(np.round(points[:, :2], 12), axis=0)
    chain: list[HostArray] = []
    for ordered in (distinct, distinct[::-1]):
        half: list[HostArray] = []
        for point in ordered:
            while len(half) > 1 and _turn(half[-2], half[-1], point) <= 1e-14:
                half.pop()
            half.append(point)
        chain.extend(half[:-1])
    flat = np.array(chain if chain else distinct)
    return np.concatenate([flat, 1.0 - flat.sum(axis=1, keepdims=True)], axis=1)


def _turn(first: HostArray, second: HostArray, third: HostArray) -> float:
    """Return twice the signed area of a triangle: positive for a left turn."""
    side, other = second - first, third - first
    return float(side[0] * other[1] - side[1] * other[0])
