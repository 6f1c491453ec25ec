"""How a score is made: settings that all compared models share, and their checks."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from typing import Any, Literal

from credibly._arrays.errors import InputTypeError
from credibly._arrays.philox import Seed
from credibly.credal.distance import Divergence
from credibly.credal.masses import Negative
from credibly.credal.sets import DIRICHLET_SAMPLES
from credibly.selection.imprecision import ScoreMeasure

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


def default_measure(budget: object, negative: str, paper: Paper | None) -> ScoreMeasure:
    """Return the measure of the exact envelope, or the one on masses where something asks for masses."""
    return "hartley" if budget is None and negative == "keep" and paper is None else "dubois_prade"


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
