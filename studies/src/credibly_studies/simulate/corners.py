"""Truths beyond a hull: from the ensemble mean to a corner of the simplex, some way past the hull's boundary.

M23 (Algorithm 2) starts at the mean of the prior, which is in the hull in 1 to 4 % of cases at 10 members and
10 classes; here the ray starts at the mean of the members. Its boundary point is exact: one linear program.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from credibly._arrays.errors import UnsupportedError
from credibly._arrays.namespace import HostArray
from credibly._arrays.notes import counted
from credibly.credal import boundary
from credibly.predictions import Ensemble

VOID = 1e-6
"""A corner nearer to the hull than this (in total variation) leaves no room for a truth outside."""

_MOST_ROUNDS = 100


def boundary_point(members: HostArray, corners: HostArray) -> HostArray:
    """Return b (n, k), where rays from the mean of members (n, m, k) to corners (n,) leave the hulls."""
    return np.asarray(boundary(Ensemble(members, member_axis=1), corners))


def beyond(boundary: HostArray, corners: HostArray, step: HostArray | float) -> HostArray:
    """Return (1 - step) b + step e_c, (n, k), for boundary points b; `step` is a number or (n,)."""
    share = np.broadcast_to(np.asarray(step, dtype=float), corners.shape)[:, None]
    return np.asarray((1.0 - share) * boundary + share * np.eye(boundary.shape[1])[corners])


def average_over_corners(members: HostArray, step: float) -> HostArray:
    """Return the mean truth over all corners outside the hull, each as likely, (n, k)."""
    n, _, k = members.shape
    open_ = room(members) > VOID
    total = np.zeros((n, k))
    for corner in range(k):
        rows = np.flatnonzero(open_[:, corner])
        if rows.size:
            corners = np.full(rows.size, corner)
            total[rows] += beyond(boundary_point(members[rows], corners), corners, step)
    return np.asarray(total / open_.sum(axis=1, keepdims=True))


def room(members: HostArray) -> HostArray:
    """Return the total variation between each corner and the hull, (n, k): 1 - max_m P_mc."""
    return np.asarray(1.0 - members.max(axis=1))


def closest_corners(members: HostArray) -> HostArray:
    """Return the corner nearest to the mean of the members, (n,)."""
    return np.asarray(members.mean(axis=1).argmax(axis=1))


def corners_along(x: HostArray, x_range: tuple[float, float], order: HostArray) -> HostArray:
    """Return a corner as a function of x: the range is cut into as many pieces as classes, in this order."""
    low, high = x_range
    piece = np.floor(order.size * (x - low) / (high - low)).astype(np.int64)
    return np.asarray(order[np.clip(piece, 0, order.size - 1)])


def draw_with_room(
    draw: Callable[[HostArray], HostArray],
    choose: Callable[[HostArray, HostArray], HostArray],
    n: int,
) -> tuple[HostArray, HostArray, int]:
    """Draw members and corners, again where the corner is in the hull and a truth outside cannot be.

    Parameters
    ----------
    draw : callable
        From the indices of instances to their members, (rows, m, k).
    choose : callable
        From indices and members to corners, (rows,).
    n : int
        Number of instances.

    Returns
    -------
    members : ndarray (n, m, k)
        Members.
    corners : ndarray (n,)
        Corners, all outside the hulls.
    redrawn : int
        How many instances had to be drawn again.
    """
    rows = np.arange(n)
    members = draw(rows)
    corners = choose(rows, members)
    redrawn = 0
    for _ in range(_MOST_ROUNDS):
        rows = np.flatnonzero(room(members)[np.arange(n), corners] <= VOID)
        if not rows.size:
            return members, corners, redrawn
        redrawn = redrawn or rows.size
        members[rows] = draw(rows)
        corners[rows] = choose(rows, members[rows])
    raise UnsupportedError(
        "a truth outside the hull",
        "needs members that leave a corner of the simplex outside",
        f"{rows.size} of {n} instances had a member at their corner in all of {_MOST_ROUNDS} draws",
        "Use a smaller `spread`, a larger `prior_concentration` or fewer members.",
    )


def redraw_notes(redrawn: int) -> tuple[str, ...]:
    """Say how many instances were drawn again."""
    if not redrawn:
        return ()
    return (
        (
            f"{counted(redrawn, 'instance was', 'instances were')} drawn again, because the corner was in "
            "the hull, which leaves no truth outside"
        ),
    )
