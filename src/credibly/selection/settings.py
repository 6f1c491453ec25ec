"""How a score is made: settings that all compared models share, and their checks."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from typing import Any, Literal

from credibly._arrays.checks import require_integer
from credibly._arrays.errors import InputTypeError, one_of
from credibly._arrays.philox import Seed, as_seed
from credibly.credal.distances import Divergence
from credibly.credal.entropy import log_base
from credibly.credal.masses import Negative
from credibly.credal.sets import DIRICHLET_SAMPLES
from credibly.selection.imprecision import ScoreMeasure, require_measure
from credibly.selection.standings import require_tradeoff

Paper = Literal["C25"]


@dataclasses.dataclass(frozen=True)
class ScoreSettings:
    """How a set is made of predictions and measured; the same for all models that are compared."""

    tradeoff: float = 1.0
    measure: ScoreMeasure = "hartley"
    divergence: Divergence = "kl"
    budget: tuple[frozenset[int], ...] | None = None
    negative: Negative = "keep"
    base: float | None = None
    paper: Paper | None = None
    n_samples: int = DIRICHLET_SAMPLES
    seed: Seed = (0, 0)

    def shown(self) -> dict[str, Any]:
        """Return the settings as a result carries them."""
        found = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        if self.budget is not None:
            found["budget"] = [sorted(members) for members in self.budget]
        return {**found, "seed": list(self.seed), "base": "e" if self.base is None else self.base}


def checked_settings(
    *,
    tradeoff: float,
    measure: ScoreMeasure | None,
    divergence: Divergence,
    budget: Sequence[Iterable[int]] | None,
    negative: Negative,
    base: float | None,
    paper: Paper | None,
    n_samples: int,
    rng: Any,
) -> ScoreSettings:
    """Return the settings of a score, or raise where they do not fit each other."""
    one_of("`divergence`", divergence, ("kl", "js", "sqrt_js"))
    one_of("`negative`", negative, ("keep", "clamp"))
    one_of("`paper`", paper, (None, "C25"))
    require_tradeoff(tradeoff)
    log_base(base)
    # the exact envelope, or masses where something asks for masses
    exact = budget is None and negative == "keep" and paper is None
    chosen = measure or ("hartley" if exact else "dubois_prade")
    require_measure(chosen, budget, negative, paper)
    return ScoreSettings(
        float(tradeoff),
        chosen,
        divergence,
        as_budget(budget),
        negative,
        base,
        paper,
        require_integer(n_samples, "n_samples", 1),
        as_seed(rng),
    )


def as_budget(budget: Sequence[Iterable[int]] | None) -> tuple[frozenset[int], ...] | None:
    """Return focal sets as sets; what is no collection of collections is refused where masses are made."""
    if budget is None:
        return None
    try:
        return tuple(frozenset(members) for members in budget)
    except TypeError:
        raise InputTypeError(
            "`budget`",
            "must be a sequence of sets of class indices",
            f"got {budget!r:.60}",
            "Write `[{0}, {1}, {0, 1}]`, or make one with `focal_budget`.",
        ) from None
