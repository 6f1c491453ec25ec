"""Spiegelhalter's z: the Brier score minus what the predictions expect of it, in units of its spread.

    z = sum_i (b_i - E b_i) / sqrt(sum_i Var b_i),   b = ||p - e_y||^2,   E b = 1 - ||p||^2,
    Var b = 4 sum_c p_c (p_c - ||p||^2)^2

For two classes this is sum (y - p)(1 - 2 p) / sqrt(sum (1 - 2 p)^2 p (1 - p)).   Spiegelhalter 1986.
"""

from __future__ import annotations

import dataclasses
import math
from typing import ClassVar

import numpy as np

from credibly._arrays.namespace import Array, HostArray, as_float64, namespace, to_host
from credibly.predictions import Labels, Predictions, as_point
from credibly.statistics.proper import MeanBound
from credibly.statistics.protocol import Bound, LabelKind, Plan, State, Statistic, Story, Traits

_REFUSAL = (
    "it is a test statistic: it grows with n if the model is miscalibrated, so its value is not a "
    "property of the model that an interval could enclose"
)


class ZBound(MeanBound):
    """Sums of deviations from the expected score, and of their variances."""

    def __init__(
        self, statistic: Statistic, table: Array, variance: Array, plan: Plan, notes: tuple[str, ...]
    ) -> None:
        super().__init__(statistic, table, plan, notes)
        self.variance = variance

    @property
    def term_size(self) -> float:  # type: ignore[override]
        """Of single deviations, in units of the root of n of them."""
        return math.sqrt(self.n)

    def _state(self, labels: Labels) -> State:
        state = super()._state(labels)
        xp = namespace(self.variance)
        weights = labels.weights
        spread = xp.sum(self.variance if weights is None else weights * self.variance, axis=-1)
        state["variance"] = spread + xp.zeros_like(state["total"])
        return state

    def _expected_state(self, weight: HostArray, expected: HostArray) -> State:
        spread = np.array([weight @ to_host(self.variance)])
        return State(super()._expected_state(weight, expected), variance=spread)

    def scatter(self) -> Array:
        """Return the variance of every deviation, (n,)."""
        return self.variance

    def cluster_sums(self, labels: Labels, codes: HostArray, number: int) -> State | None:
        """Return None: it has no standard error that clusters could change."""
        return None

    def finish(self, state: State) -> Array:
        """Divide by the root of the variance; 0 / 0 is 0, and what cannot happen is infinite."""
        total, variance = state["total"], state["variance"]
        xp = namespace(total)
        varies = variance > 0
        z = total / xp.where(varies, variance, xp.ones_like(variance)) ** 0.5
        impossible = xp.where(total > 0, xp.full_like(total, xp.inf), xp.zeros_like(total))
        return xp.where(varies, z, impossible)

    def observed_sums(self, labels: Labels) -> State:
        """Return the state: there is no standard error to prepare."""
        return self.state(labels)

    def stderr(self, sums: State, labels: Labels) -> tuple[float | None, str | None]:
        """Return no standard error, and why."""
        return None, _REFUSAL


@dataclasses.dataclass(frozen=True)
class SpiegelhalterZ(Statistic):
    """Spiegelhalter's z of the Brier score: above 0 if it is worse than the predictions expect.

    Notes
    -----
    A sum over instances. Any calibrated predictions give a mean of 0 and a variance of 1, and nearly a normal
    distribution if many instances have predictions that are neither certain nor uniform. The test is
    two-sided: overconfident models are above 0, underconfident ones below. Deviations that do not change the
    expected Brier score are not detected.

    Examples
    --------
    >>> import credibly as cr
    >>> round(float(cr.spiegelhalter_z([[0.8, 0.2], [0.8, 0.2]], [1, 1])), 6)  # 2 (.8)(.6) / sqrt(2 .36 .16)
    2.828427
    """

    name: ClassVar[str] = "spiegelhalter_z"
    traits: ClassVar[Traits] = Traits(
        reduction="sum",
        tail="two-sided",
        labels=frozenset[LabelKind]({"classes"}),
        differentiable=True,
        multiplicities=True,
        duplicate_invariant=False,
    )
    reference: ClassVar[str] = "Spiegelhalter 1986"
    story: ClassVar[Story] = Story(
        title="Spiegelhalter's z",
        meaning="Brier score minus what the predictions expect of it, in standard deviations.",
        formula="Σ (b − E b) / √Σ Var b, b = ‖p − e_y‖²",
        above="its probabilities are further from the labels than they say",
        below="its probabilities are closer to the labels than they say",
        citation="Spiegelhalter, Probabilistic prediction in patient management and clinical trials, "
        "Statistics in Medicine, 1986.",
        aliases={"spiegelhalter": "", "spiegelhalter_test": ""},
    )
    in_evaluations: ClassVar[bool] = False

    def _bind(self, predictions: Predictions, plan: Plan) -> Bound:
        point, notes = as_point(predictions)
        p = as_float64(point.probs)
        xp = namespace(p)
        square = xp.sum(p * p, axis=-1)
        # |p|^2 - 2 p_y + 1 - (1 - |p|^2); of uniform predictions nothing but rounding is left
        table = 2.0 * (square[:, None] - p)
        table = xp.where(xp.abs(table) > _ROUNDING * square[:, None], table, xp.zeros_like(table))
        variance = xp.sum(p * table**2, axis=-1)
        return ZBound(self, table, variance, plan, notes)


_ROUNDING = 64 * float(np.finfo(np.float64).eps)

spiegelhalter_z = SpiegelhalterZ()
