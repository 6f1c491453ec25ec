"""The kernel error of disjoint pairs of rows, which the papers' experiments use.

    mean over i = 1, 3, 5, ... of  exp(-|p_i - p_i+1| / bandwidth) <r_i, r_i+1>,   r = onehot(y) - p

It costs n, and n / 2 pairs tell less than all of them: `credibly.skce` has the higher power.
Widmann, Lindsten and Zachariah 2019; M23 eq. 7; J25 eq. 9.
"""

from __future__ import annotations

import dataclasses
from typing import ClassVar, Literal

from credibly._arrays.errors import UnsupportedError
from credibly._arrays.namespace import Array, as_float64, device, namespace
from credibly.predictions import Labels, Predictions, Rows, as_point
from credibly.statistics import Statistic
from credibly.statistics.batches import one_hot
from credibly.statistics.kernels import MEDIAN_ROWS, median_distance, spaced_probs
from credibly.statistics.pairwise import BandwidthPlan, require_pairs
from credibly.statistics.protocol import CLASS_LABELS, Bound, Plan, State, Story, Traits


@dataclasses.dataclass(frozen=True)
class LinearSkce(Statistic):
    """Squared kernel calibration error over rows 1 and 2, 3 and 4, ...; an odd last row is left out.

    Parameters
    ----------
    distance : {"euclidean", "tv"}
        Distance between predictions; "tv" is total variation.
    bandwidth : float or "median"
        "median" uses the median euclidean distance between at most 1000 evenly spaced rows.

    Examples
    --------
    >>> found = linear_skce([[0.8, 0.2], [0.8, 0.2], [0.1, 0.9]], [1, 1, 1], bandwidth=1.0)
    >>> round(float(found), 6)
    1.28
    """

    distance: Literal["euclidean", "tv"] = "euclidean"
    bandwidth: float | Literal["median"] = "median"
    name: ClassVar[str] = "linear_skce"
    traits: ClassVar[Traits] = Traits(
        reduction="opaque",
        tail="greater",
        labels=CLASS_LABELS,
        differentiable=True,
        multiplicities=False,
        duplicate_invariant=False,
        range=None,
    )
    reference: ClassVar[str] = "Widmann et al. 2019"
    story: ClassVar[Story] = Story(
        title="linear SKCE",
        meaning="Do errors of similar predictions point in the same direction? Every row meets one other.",
        formula="mean over i = 1, 3, 5, ... of k(pᵢ, pᵢ₊₁) ⟨e_yᵢ − pᵢ, e_yᵢ₊₁ − pᵢ₊₁⟩",
        above="similar predictions err in the same direction by more than chance explains",
        citation="Widmann, Lindsten and Zachariah, Calibration tests in multi-class classification, NeurIPS "
        "2019.",
    )

    def _plan(self, rows: Rows) -> BandwidthPlan:
        if self.bandwidth != "median":
            return BandwidthPlan(rows.n, None, float(self.bandwidth))
        return BandwidthPlan(rows.n, None, *median_distance(spaced_probs(rows, MEDIAN_ROWS)))

    def _bind(self, predictions: Predictions, plan: Plan) -> Bound:
        assert isinstance(plan, BandwidthPlan)
        require_pairs(self.name, plan.n)
        point, notes = as_point(predictions)
        resolved = dataclasses.replace(self, bandwidth=plan.number)
        return _PairsInOrder(resolved, as_float64(point.probs), plan, (*notes, *plan.notes))


class _PairsInOrder(Bound):
    """Kernels of pairs of rows that follow each other."""

    term_size = 2.0

    def __init__(
        self, statistic: LinearSkce, probs: Array, plan: BandwidthPlan, notes: tuple[str, ...]
    ) -> None:
        super().__init__(statistic, plan.n, notes)
        self.probs, self.even = probs, plan.n - plan.n % 2
        xp, gap = namespace(probs), probs[0 : self.even : 2, :] - probs[1 : self.even : 2, :]
        if statistic.distance == "tv":
            distance = 0.5 * xp.sum(xp.abs(gap), axis=1)
        else:
            square = xp.sum(gap * gap, axis=1)
            apart = square > 0  # the root has no derivative at 0
            distance = xp.where(apart, xp.sqrt(xp.where(apart, square, xp.ones_like(square))), square)
        self.kernel = xp.exp(-distance / plan.bandwidth)  # (pairs,)

    def state(self, labels: Labels) -> State:
        if labels.weights is not None:
            raise UnsupportedError(
                "`sample_weight`",
                "has no meaning if rows are paired by their order",
                "got weights",
                "Leave it out, or use `skce`.",
            )
        xp = namespace(self.probs)
        residual = one_hot(labels, xp, xp.float64) - self.probs.T[None, :, :]  # (b, k, n)
        products = xp.sum(residual[:, :, 0 : self.even : 2] * residual[:, :, 1 : self.even : 2], axis=1)
        total = xp.sum(self.kernel * products, axis=1)
        pairs = xp.full((1,), self.even / 2.0, dtype=xp.float64, device=device(total))
        return State(total=total, pairs=pairs)

    def finish(self, state: State) -> Array:
        return state["total"] / state["pairs"]


linear_skce = LinearSkce()
