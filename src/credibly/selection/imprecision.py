"""What counts as imprecision inside the score: measures that are 0 for a point."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

from credibly._arrays.errors import InputError, UnsupportedError, one_of
from credibly._arrays.namespace import Array, as_float64
from credibly._arrays.notes import Note
from credibly._arrays.philox import Seed
from credibly.credal import (
    decision,
    nonspecificity_estimate,
    size,
    uncertainty,
)
from credibly.credal.entropy import log_base
from credibly.credal.masses import Negative
from credibly.credal.sets import CredalSet
from credibly.predictions import (
    Point,
)

ScoreMeasure = Literal["hartley", "dubois_prade", "koerner", "entropy_gap", "credal_size", "u65", "u80"]

MEASURES = ("hartley", "dubois_prade", "koerner", "entropy_gap", "credal_size", "u65", "u80")

ON_MASSES = ("dubois_prade", "koerner")
"""Measures that a budget of focal sets means something for."""

_REFUSED = {
    "smets": "is an information content: large for precise predictions, infinite where all classes together "
    "have no mass",
    "pal": "is a specificity: 1 for a point, smaller for larger sets",
}

_DISCOUNTS = {"u65": (1.6, 0.6), "u80": (2.2, 1.2)}


def require_measure(
    measure: str, budget: object, negative: str, paper: str | None = None, *, subject: str = "measure"
) -> None:
    """Raise unless `measure` is 0 for points and grows with the set, and fits the budget."""
    if measure in _REFUSED:
        raise UnsupportedError(
            f'`measure="{measure}"`',
            "cannot be added to a distance",
            f"it {_REFUSED[measure]}",
            'Use "hartley", or look at it alone with `nonspecificity`.',
        )
    one_of(f"`{subject}`", measure, MEASURES)
    if measure not in ON_MASSES and (budget is not None or negative == "clamp" or paper is not None):
        raise InputError(
            f'`measure="{measure}"`',
            "looks at the whole set, not at masses on a budget",
            f"got budget={'None' if budget is None else 'given'}, negative={negative!r}, paper={paper!r}",
            'Use `measure="dubois_prade"` or "koerner" with a budget.',
        )


def imprecision_of(
    credal: CredalSet,
    measure: ScoreMeasure,
    *,
    budget: Sequence[Iterable[int]] | None,
    negative: Negative,
    base: float | None,
    seed: Seed,
) -> tuple[Array, tuple[str, ...]]:
    """Return the imprecision of every set, (n,), and how it was made.

    Logarithmic measures follow `base`; sizes and discounts have no unit. ``u65`` and ``u80`` are what a right
    answer loses by naming all classes that maximality leaves instead of one: 1 - (a x - b x^2), x = 1 / size.
    """
    xp = credal.xp
    if isinstance(credal, Point):
        # also where two classes tie and a decision would name both: a point is precise
        return 0.0 * xp.sum(as_float64(credal.probs), axis=-1), ()
    if measure in ("hartley", "dubois_prade", "koerner"):
        found = nonspecificity_estimate(credal, measure=measure, budget=budget, negative=negative, rng=seed)
        notes = found.notes
        if not found.exact:
            error = f", standard error {found.mean_stderr:.2g}"
            notes = (*notes, Note("sampled", f"{found.n_events} random events", detail=error))
        if measure == "koerner":
            return found.values - 1.0, (*notes, "Koerner's measure is 1 for a point and enters as value - 1")
        return found.values / log_base(base), notes
    if measure == "entropy_gap":
        parts = uncertainty(credal, decomposition="credal", base=base)
        return parts.epistemic, ("imprecision is upper minus lower entropy",)
    if measure == "credal_size":
        return size(credal), ("imprecision is upper minus lower probability, the mean over classes",)
    answers = decision(credal, rule="maximality")
    x = 1.0 / xp.sum(xp.astype(answers, xp.float64), axis=-1)
    a, b = _DISCOUNTS[measure]
    return 1.0 - (a * x - b * x**2), (
        f"imprecision is what {measure} takes off for answering several classes",
    )
