"""Shares of labels inside central intervals of many levels, ends included: `picp` for a whole curve."""

from __future__ import annotations

import numpy as np

from credibly._arrays.checks import require_integer
from credibly._arrays.errors import UnsupportedError
from credibly._arrays.namespace import Array, as_float64, like, namespace, to_host
from credibly._arrays.row_search import count_at_most
from credibly._arrays.sums import count_cells
from credibly.predictions import Labels, Quantiles, RealPredictions
from credibly.statistics.coverage import CoverageShares, picp
from credibly.statistics.protocol import State

_SAME_LEVEL = 1e-9


class CentralShares(CoverageShares):
    """How many labels lie inside each of nested intervals, the widest first."""

    def __init__(self, ends: tuple[Array, Array], levels: Array, notes: tuple[str, ...]) -> None:
        super().__init__(picp, ends[0].shape[0], notes)
        (self.lower, self.upper), self.levels = ends, levels

    def state(self, labels: Labels) -> State:
        """Count labels by the number of lower ends they reach and of upper ends they exceed."""
        size = self.lower.shape[1] + 1
        reached = count_at_most(self.lower, labels.values)
        exceeded = count_at_most(self.upper, labels.values, strict=True)
        counts = count_cells(reached, size, labels.weights)
        return State(
            reached=counts,
            exceeded=count_cells(exceeded, size, labels.weights),
            weight=namespace(counts).sum(counts, axis=1),
        )

    def shares(self, state: State) -> Array:
        """Return 1 minus the shares below and above each interval, by rising level."""
        xp = namespace(state["reached"])
        # interval j, the widest first, has lower end j and upper end l - 1 - j
        below = xp.cumulative_sum(state["reached"], axis=1)[:, :-1]
        not_above = xp.cumulative_sum(state["exceeded"], axis=1)[:, :-1]
        inside = xp.flip(not_above, axis=1) - below
        return xp.flip(inside, axis=1) / state["weight"][:, None]


def central_coverage(predictions: RealPredictions, levels: int) -> CentralShares:
    """Bind intervals that hold j / M of the probability, or those between symmetric quantiles.

    Parameters
    ----------
    predictions : RealPredictions
        What the intervals are of.
    levels : int
        M; `Quantiles` have their own levels.

    Returns
    -------
    CentralShares
        Bound shares, by rising level.
    """
    number = require_integer(levels, "levels", 2)
    if isinstance(predictions, Quantiles):
        own = to_host(as_float64(predictions.levels))
        partner = np.abs(1.0 - own[:, None] - own[None, :]) <= _SAME_LEVEL
        low = np.flatnonzero(partner.any(axis=1) & (own < 0.5 - _SAME_LEVEL))
        if not low.size:
            raise UnsupportedError(
                "central intervals of `Quantiles`",
                "lie between two levels l and 1 - l",
                f"got levels {', '.join(f'{one:g}' for one in own[:8])}",
                "Predict symmetric levels, 0.05 and 0.95 say.",
            )
        high = partner[low].argmax(axis=1)[::-1]
        table = as_float64(predictions.values)
        xp = namespace(table)
        ends = tuple(xp.take(table, like(np.ascontiguousarray(at), table), axis=1) for at in (low, high))
        held = like(np.ascontiguousarray(1.0 - 2.0 * own[low][::-1]), table)
        note = f"the {low.size} intervals between symmetric levels of the quantiles are used"
        return CentralShares((ends[0], ends[1]), held, (*predictions.notes, note))
    tails = [(number - j) / (2 * number) for j in range(number - 1, 0, -1)]  # rising
    both = predictions.quantile([*tails, *(1.0 - tail for tail in reversed(tails))])
    held = like([j / number for j in range(1, number)], both)
    return CentralShares((both[:, : number - 1], both[:, number - 1 :]), held, predictions.notes)
