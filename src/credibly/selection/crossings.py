"""Where models change places: exact crossing points of their lines over the trade-off."""

from __future__ import annotations

import math

import numpy as np

from credibly._arrays.namespace import HostArray
from credibly.selection.standings import Crossing


def crossings(
    names: tuple[str, ...],
    distance: HostArray,
    imprecision: HostArray,
    draws: tuple[HostArray, HostArray],
    scale: float,
    level: float,
) -> tuple[Crossing, ...]:
    """Return all positive trade-offs at which two lines meet, in order.

    Lines ``d_a + t i_a`` and ``d_b + t i_b`` meet at ``t = (d_b - d_a) / (i_a - i_b)``. `draws` are the means
    (b, m) on bootstrapped instances.
    """
    found = []
    for a in range(len(names)):
        for b in range(len(names)):
            # a is the more imprecise one, nearer to the labels: better below the crossing
            if not (distance[a] < distance[b] < math.inf and imprecision[a] > imprecision[b]):
                continue
            at = (distance[b] - distance[a]) / (imprecision[a] - imprecision[b])
            lines = distance + at * imprecision
            others = np.delete(lines, [a, b])
            rank = 1 + int((others < lines[a] - 1e-12 * max(1.0, abs(lines[a]))).sum())
            ends = _interval(draws[0][:, [a, b]], draws[1][:, [a, b]], level)
            interval = (ends[0] / scale, ends[1] / scale)
            found.append(Crossing(float(at / scale), names[a], names[b], rank, interval))
    return tuple(sorted(found, key=lambda one: one.tradeoff))


def _interval(distance: HostArray, imprecision: HostArray, level: float) -> tuple[float, float]:
    """Return percentiles of the crossing over draws; where there is none it lies at 0 or at infinity."""
    nearer = distance[:, 1] - distance[:, 0]  # how much nearer a is
    wider = imprecision[:, 0] - imprecision[:, 1]
    # Without a crossing a is always better where it is nearer, and b elsewhere.
    at = np.where(nearer > 0, math.inf, 0.0)
    meets = (nearer > 0) & (wider > 0) & np.isfinite(nearer)
    at[meets] = nearer[meets] / wider[meets]
    tail = (1 - level) / 2
    low, high = np.quantile(at, [tail, 1 - tail], method="nearest")
    return float(low), float(high)
