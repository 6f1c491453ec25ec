"""Many small dense linear programs at once: the simplex method, pivoting all of them together, on the host.

One call of a general solver costs milliseconds, far more than the arithmetic of a program with ten rows. Here
the tableaux of all instances are one array and each step pivots every unfinished one.
"""

from __future__ import annotations

import numpy as np

from credibly._arrays.errors import UnsupportedError
from credibly._arrays.namespace import HostArray, tiles

_TILE = 2**16  # doubles of tableaux that are pivoted together and stay in cache
_PIVOT = 1e-10  # smaller entries are rounding (data are scaled to about 1)
_COST = 1e-10
_ARTIFICIAL = -1
_STEPS_PER_ROW = 50


def least_total(columns: HostArray, right: HostArray) -> HostArray:
    """Return min sum(u) subject to columns u = right, u >= 0, for each of n programs; inf where infeasible.

    `columns` is (n, r, v) and `right` (n, r), scaled to entries of about 1.
    """
    n, r, v = columns.shape
    totals = np.empty(n)
    for rows in tiles(n, max(1, _TILE // ((r + 1) * (v + 1)))):
        sign = np.where(right[rows] < 0, -1.0, 1.0)
        tableau = np.empty((sign.shape[0], r + 1, v + 1))
        tableau[:, :r, :v] = columns[rows] * sign[:, :, None]
        tableau[:, :r, v] = right[rows] * sign
        # First make the sum of artificial variables, which start as the basis, as small as possible.
        tableau[:, r, :] = -tableau[:, :r, :].sum(axis=1)
        basis = np.full((sign.shape[0], r), _ARTIFICIAL)
        _pivot_to_optimum(tableau, basis)
        infeasible = -tableau[:, r, v] > 1e-8
        real = basis != _ARTIFICIAL
        tableau[:, r, :v] = 1.0
        tableau[:, r, v] = 0.0
        tableau[:, r, :] -= (tableau[:, :r, :] * real[:, :, None]).sum(axis=1)
        _pivot_to_optimum(tableau, basis, skip=infeasible)
        totals[rows] = np.where(infeasible, np.inf, -tableau[:, r, v])
    return totals


def _pivot_to_optimum(tableau: HostArray, basis: HostArray, skip: HostArray | None = None) -> None:
    """Pivot every tableau (last row: reduced costs, last column: right side) to its optimum, in place."""
    n, r = basis.shape
    active = np.arange(n) if skip is None else np.flatnonzero(~skip)
    if active.size == 0:
        return
    work, bases = tableau[active], basis[active]
    limit = _STEPS_PER_ROW * (r + 1)
    for step in range(limit):
        costs = work[:, r, :-1]
        # The steepest column is quick; the first one (Bland) cannot cycle, so it takes over in the end.
        entering = np.argmin(costs, axis=1) if step < limit // 2 else np.argmax(costs < -_COST, axis=1)
        running = np.arange(active.size)
        open_ = costs[running, entering] < -_COST
        if not open_.all():
            done = ~open_
            tableau[active[done]], basis[active[done]] = work[done], bases[done]
            active, work, bases, entering = active[open_], work[open_], bases[open_], entering[open_]
            if active.size == 0:
                return
            running = np.arange(active.size)
        column = work[running, :, entering]
        leaving, bounded = _leaving_rows(column[:, :r], work[:, :r, -1], bases)
        if not bounded.all():
            # A column without a bounding row is rounding: both phases are bounded. Its cost is set to 0.
            work[running[~bounded], r, entering[~bounded]] = 0.0
        moving = running[bounded]
        if moving.size == 0:
            continue
        chosen, entered = leaving[moving], entering[moving]
        pivot_rows = work[moving, chosen] / column[moving, chosen][:, None]
        factors = column[moving]
        factors[np.arange(moving.size), chosen] = 0.0
        if moving.size == active.size:
            work -= factors[:, :, None] * pivot_rows[:, None, :]
        else:
            work[moving] -= factors[:, :, None] * pivot_rows[:, None, :]
        work[moving, chosen] = pivot_rows
        bases[moving, chosen] = entered
    raise UnsupportedError(
        "a linear program",
        f"must end within {limit} pivots",
        f"{active.size} of {n} did not",
        "Check for members that differ only by rounding.",
    )


def _leaving_rows(column: HostArray, right: HostArray, basis: HostArray) -> tuple[HostArray, HostArray]:
    """Return which row leaves the basis, and whether any can; artificial rows at 0 go first."""
    usable = column > _PIVOT
    ratios = np.where(usable, np.maximum(right, 0.0) / np.where(usable, column, 1.0), np.inf)
    stuck = (basis == _ARTIFICIAL) & (right <= _PIVOT) & (np.abs(column) > 1e3 * _PIVOT)
    ratios = np.where(stuck, 0.0, ratios)
    # Of rows with the same ratio the one with the largest pivot is the most accurate.
    least = ratios.min(axis=1, keepdims=True)
    ties = np.where(ratios <= least + 1e-12, np.abs(column), -1.0)
    return np.argmax(ties, axis=1), np.isfinite(least[:, 0])
