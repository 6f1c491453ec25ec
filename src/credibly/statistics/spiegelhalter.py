"""Spiegelhalter's z: the Brier score minus what the predictions expect of it, in units of its spread.

    z = sum_i (b_i - E b_i) / sqrt(sum_i Var b_i),   b = ||p - e_y||^2,   E b = 1 - ||p||^2,
    Var b = 4 sum_c p_c (p_c - ||p||^2)^2

For two classes this is sum (y - p)(1 - 2 p) / sqrt(sum (1 - 2 p)^2 p (1 - p)).   Spiegelhalter 1986.
"""

from __future__ import annotations

import dataclasses
import math
from functools import partial
from typing import Any, ClassVar

import numpy as np

from credibly._arrays.namespace import Array, as_float64, namespace
from credibly.statistics.linear import LinearStatistic
from credibly.statistics.protocol import LabelKind, Plan, State, Story, Traits
from credibly.statistics.terms import Outcomes, Terms

_REFUSAL = (
    "it is a test statistic: it grows with n if the model is miscalibrated, so its value is not a "
    "property of the model that an interval could enclose"
)


@dataclasses.dataclass(frozen=True)
class SpiegelhalterZ(LinearStatistic):
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
    needs: ClassVar[frozenset[str]] = frozenset({"variance"})
    refusal: ClassVar[str | None] = _REFUSAL
    has_moments: ClassVar[bool] = False

    def terms(self, predictions: Any, plan: Plan) -> Terms:
        """Return the Brier score of every label minus what is expected of it."""
        p = as_float64(predictions.probs)
        return Outcomes(p, partial(_deviations, p))

    def value(self, sums: State) -> Array:
        """Divide by the root of the variance; 0 / 0 is 0, and what cannot happen is infinite."""
        total, variance = sums["observed"][:, 0], sums["variance"][:, 0]
        xp = namespace(total)
        varies = variance > 0
        z = total / xp.where(varies, variance, xp.ones_like(variance)) ** 0.5
        impossible = xp.where(total > 0, xp.full_like(total, xp.inf), xp.zeros_like(total))
        return xp.where(varies, z, impossible)

    def size_of_terms(self, n: int, n_cells: int) -> float:
        """Return that of single deviations, in units of the root of n of them."""
        return math.sqrt(n)


_ROUNDING = 64 * float(np.finfo(np.float64).eps)


def _deviations(p: Array) -> Array:
    """Return |p|^2 - 2 p_y + 1 - (1 - |p|^2), (n, k); of uniform predictions nothing but rounding is left."""
    xp = namespace(p)
    square = xp.sum(p * p, axis=-1)
    table = 2.0 * (square[:, None] - p)
    return xp.where(xp.abs(table) > _ROUNDING * square[:, None], table, xp.zeros_like(table))


spiegelhalter_z = SpiegelhalterZ()
