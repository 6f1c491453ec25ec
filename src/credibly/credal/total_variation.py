"""The total variation between a distribution and the nearest one in a hull.

    min over w of 1/2 |p - sum_m w_m P_m|_1,   w >= 0, sum w = 1

With p = sum_m w_m P_m + s - t, s and t >= 0, the sum of all unknowns is 1 + 2 TV: one linear program whose
costs are all 1, pivoted for all instances together.
"""

from __future__ import annotations

import numpy as np

from credibly._arrays.namespace import HostArray
from credibly.credal.rays import on_simplex
from credibly.credal.simplex_method import least_total


def distance_to_hull(members: HostArray, probs: HostArray) -> HostArray:
    """Return the total variation between `probs` (n, k) and the hulls of `members` (n, m, k), (n,)."""
    members, probs = on_simplex(members), on_simplex(probs)
    n, m, k = members.shape
    columns = np.zeros((n, k + 1, m + 2 * k))
    columns[:, :k, :m] = np.swapaxes(members, 1, 2)
    columns[:, k, :m] = 1.0
    columns[:, :k, m : m + k] = np.eye(k)
    columns[:, :k, m + k :] = -np.eye(k)
    totals = least_total(columns, np.concatenate([probs, np.ones((n, 1))], axis=1))
    return np.asarray(np.maximum(0.5 * (totals - 1.0), 0.0))
