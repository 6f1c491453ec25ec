"""How a score is made: settings that all compared models share, and what counts as imprecision.

Measures of imprecision are 0 for a point, and they may be functions of the set.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, Literal, get_args

from credibly._arrays.checks import require_integer
from credibly._arrays.errors import InputError, UnsupportedError, one_of
from credibly._arrays.namespace import Array, as_float64
from credibly._arrays.notes import Note
from credibly._arrays.philox import Seed, as_seed
from credibly.credal import decision, nonspecificity_estimate, size, uncertainty
from credibly.credal.sets import DIRICHLET_SAMPLES, CredalSet
from credibly.predictions import Point
from credibly.selection.lines import require_tradeoff

MeasureName = Literal["hartley", "dubois_prade", "koerner", "entropy_gap", "credal_size", "u65", "u80"]
ScoreMeasure = MeasureName | Callable[[CredalSet], Array]
MEASURES: tuple[MeasureName, ...] = get_args(MeasureName)

_REFUSED = {
    "smets": "is an information content: large for precise predictions, infinite where all classes together "
    "have no mass",
    "pal": "is a specificity: 1 for a point, smaller for larger sets",
}

_DISCOUNTS = {"u65": (1.6, 0.6), "u80": (2.2, 1.2)}


@dataclasses.dataclass(frozen=True)
class ScoreSettings:
    """How a set is made of predictions and measured; the same for all models that are compared."""

    tradeoff: float = 1.0
    measure: ScoreMeasure = "hartley"
    n_samples: int = DIRICHLET_SAMPLES
    seed: Seed = (0, 0)

    def shown(self) -> dict[str, Any]:
        """Return the settings as a result carries them, a function by its name."""
        named = isinstance(self.measure, str)
        return {
            "tradeoff": self.tradeoff,
            "measure": self.measure if named else getattr(self.measure, "__name__", "own measure"),
            "n_samples": self.n_samples,
            "seed": list(self.seed),
        }


def checked_settings(
    *, tradeoff: float, measure: ScoreMeasure | None, n_samples: int, rng: Any
) -> ScoreSettings:
    """Return the settings of a score, or raise where they cannot be those of one."""
    require_tradeoff(tradeoff)
    if isinstance(measure, str) and measure in _REFUSED:
        raise UnsupportedError(
            f'`measure="{measure}"`',
            "cannot be added to a distance",
            f"it {_REFUSED[measure]}",
            'Use "hartley", or look at it alone with `nonspecificity`.',
        )
    if measure is not None and not callable(measure):
        one_of("`measure`", measure, MEASURES)
    draws = require_integer(n_samples, "n_samples", 1)
    return ScoreSettings(float(tradeoff), "hartley" if measure is None else measure, draws, as_seed(rng))


def imprecision_of(credal: CredalSet, measure: ScoreMeasure, seed: Seed) -> tuple[Array, tuple[str, ...]]:
    """Return the imprecision of every set, (n,), and how it was made.

    ``u65`` and ``u80`` are what a right answer loses by naming all classes that maximality leaves instead of
    one: 1 - (a x - b x^2), x = 1 / size.
    """
    xp = credal.xp
    if isinstance(credal, Point):
        # also where two classes tie and a decision would name both: a point is precise
        return 0.0 * xp.sum(as_float64(credal.probs), axis=-1), ()
    if callable(measure):
        values = measure(credal)
        if tuple(getattr(values, "shape", ())) != (len(credal),):
            raise InputError(
                "`measure`",
                "must return one number per set",
                f"got shape {getattr(values, 'shape', None)} for {len(credal)} sets",
                "Return an array (n,).",
            )
        return as_float64(values), ()
    if measure in ("hartley", "dubois_prade", "koerner"):
        result = nonspecificity_estimate(credal, measure=measure, rng=seed)
        notes = result.notes
        if not result.exact:
            error = f", standard error {result.mean_stderr:.2g}"
            notes = (*notes, Note("sampled", f"{result.n_events} random events", detail=error))
        if measure == "koerner":
            notes = (*notes, "Koerner's measure is 1 for a point and enters as value - 1")
            return result.values - 1.0, notes
        return result.values, notes
    if measure == "entropy_gap":
        parts = uncertainty(credal, decomposition="credal")
        return parts.epistemic, ("imprecision is upper minus lower entropy",)
    if measure == "credal_size":
        return size(credal), ("imprecision is upper minus lower probability, the mean over classes",)
    answers = decision(credal, rule="maximality")
    x = 1.0 / xp.sum(xp.astype(answers, xp.float64), axis=-1)
    a, b = _DISCOUNTS[measure]
    return 1.0 - (a * x - b * x**2), (
        f"imprecision is the discount of {measure} for answering several classes",
    )
