"""Larger sets around given ones: mixtures with all distributions, and hulls of points moved by a distance.

    vacuous   (1 - r) C + r {all distributions}
    ball      the hull of every member moved by the total variation r towards each class

Both are C at r = 0 and everything at r = 1, and grow with r.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from credibly._arrays.errors import UnsupportedError, is_number, one_of, require
from credibly._arrays.namespace import Array, as_float64, like, namespace
from credibly.credal.bounds import tight_bounds
from credibly.credal.sets import CredalSet
from credibly.predictions import Belief, Ensemble, Intervals

By = Literal["vacuous", "ball"]


def enlarged(credal: CredalSet, radius: float, by: By) -> CredalSet:
    """Return the sets enlarged by `radius`; radius 0 gives them back as they are.

    Intervals mixed with all distributions are no longer intervals: the narrowest around them are returned.
    """
    one_of("`by`", by, ("vacuous", "ball"))
    require(is_number(radius) and 0 <= radius <= 1, "must lie between 0 and 1", "Try 0.1.", radius=radius)
    if radius == 0:
        return credal
    xp = credal.xp
    if isinstance(credal, Belief):
        if by == "ball":
            raise UnsupportedError(
                'by="ball"',
                "moves members or bounds",
                "a Belief has masses",
                'Use by="vacuous", which gives the radius to the set of all classes.',
            )
        return _with_mass_on_everything(credal, radius)
    if isinstance(credal, Intervals):
        lower, upper = tight_bounds(credal)
        if by == "vacuous":
            return Intervals((1 - radius) * lower, (1 - radius) * upper + radius)
        return Intervals(xp.clip(lower - radius, 0.0, 1.0), xp.clip(upper + radius, 0.0, 1.0))
    members = as_float64(credal.probs)
    if not isinstance(credal, Ensemble):
        return Ensemble(_towards_classes(members[:, None, :], radius, by), member_axis=1)
    moved = _towards_classes(members, radius, by)
    k = credal.n_classes
    if credal.weights is None:
        ensemble = Ensemble(moved, member_axis=1)
        # sets of all distributions have k corners; a corner for every member would look like drawn labels
        return Ensemble(moved[:, :k, :], member_axis=1) if ensemble.holds_drawn_labels else ensemble
    each = xp.broadcast_to(as_float64(credal.weights)[:, None] / k, (credal.n_members, k))
    return Ensemble(moved, xp.reshape(each, (-1,)), member_axis=1)


def _towards_classes(members: Array, radius: float, by: By) -> Array:
    """Move every member (n, m, k) towards every class, (n, m k, k): by a share, or by total variation."""
    xp = namespace(members)
    n, m, k = members.shape
    corners = like(np.eye(k), members, dtype=xp.float64)
    share = xp.full_like(members, radius)
    if by == "ball":  # the whole way to class j is a total variation of 1 - p_j
        far = 1.0 - members
        share = xp.where(far > radius, radius / xp.where(far > radius, far, xp.ones_like(far)), 1.0)
    share = share[:, :, :, None]
    moved = (1.0 - share) * members[:, :, None, :] + share * corners
    return xp.reshape(moved, (n, m * k, k))


def _with_mass_on_everything(credal: Belief, radius: float) -> Belief:
    """(1 - r) m, and r more on the set of all classes."""
    xp = credal.xp
    masses = (1 - radius) * as_float64(credal.masses)
    everything = frozenset(range(credal.n_classes))
    extra = xp.full_like(masses[:, :1], radius)
    sets = tuple(frozenset(members) for members in credal.focal_sets)
    if everything not in sets:
        return Belief(xp.concat([masses, extra], axis=1), (*sets, everything), credal.n_classes)
    at = like(np.array([members == everything for members in sets], dtype=np.float64), masses)
    return Belief(masses + extra * at, sets, credal.n_classes)
