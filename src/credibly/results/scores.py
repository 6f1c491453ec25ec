"""Results of the unified score."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from typing import Any, Literal

from credibly._arrays.namespace import Array
from credibly.results.base import Result

Group = Literal["all", "right", "wrong"]

GROUPS: tuple[Group, ...] = ("all", "right", "wrong")

PARTS = ("distance", "imprecision", "total")


@dataclasses.dataclass(frozen=True)
class Spread(Result):
    """Mean and standard deviation of one part of the score over some instances.

    Attributes
    ----------
    mean : float
        Mean; NaN without instances, infinite if an instance is.
    std : float
        Standard deviation of the instances (n - 1 in the denominator, as in C25's tables); NaN for fewer than
        two instances and if the mean is not finite.
    n : int
        Number of instances.
    """

    mean: float
    std: float
    n: int

    @property
    def stderr(self) -> float:
        """Standard error of the mean; NaN for fewer than two instances."""
        return self.std / math.sqrt(self.n) if self.n else math.nan

    def __str__(self) -> str:
        return f"{self.mean:.3f} ± {self.std:.3f}"


@dataclasses.dataclass(frozen=True)
class Dependence(Result):
    """How much the mean score depends on the number of members, which is not part of the model.

    Attributes
    ----------
    used, other : str
        What was chosen, and what it is compared with.
    score, other_score : float
        Mean score with each choice, over the same `n` instances.
    n : int
        Number of instances compared.
    """

    used: str
    other: str
    score: float
    other_score: float
    n: int

    @property
    def share(self) -> float:
        """The change as a share of the score; infinite if the score is 0 and its change is not."""
        change = self.other_score - self.score
        if change == 0:
            return 0.0
        return change / self.score if self.score else math.copysign(math.inf, change)

    def __str__(self) -> str:
        return (
            f"E depends on the number of members: {self.score:.4g} with {self.used}, "
            f"{self.other_score:.4g} with {self.other} ({100 * self.share:+.0f} %, {self.n} instances)"
        )


@dataclasses.dataclass(frozen=True)
class EpistemicScore(Result):
    """The unified score E = distance + trade-off * imprecision of every instance.

    Attributes
    ----------
    kind : str
        Type of the predictions.
    tradeoff : float
        Weight of the imprecision.
    distance : array (n,)
        Distance of the label to the nearest distribution of the set.
    imprecision : array (n,)
        How large the set is; 0 for a point.
    total : array (n,)
        Their sum, the imprecision weighted.
    right : array (n,)
        Whether the mean prediction puts the label first.
    confidence, entropy : array (n,)
        Largest probability and entropy of the mean prediction.
    summary : mapping of str to mapping of str to Spread
        ``summary["distance"]["wrong"]``: part, then "all", "right" or "wrong" predictions.
    n : int
        Number of instances.
    n_infinite : int
        Instances at infinite distance: every distribution in the set gives their label probability 0.
    settings : mapping
        Measure, number of members or samples, seed.
    dependences : tuple of Dependence
        How much the mean depends on the number of members.
    average : EpistemicScore or None
        The score of the mean prediction alone; None if the predictions are points.
    notes : tuple of str
        How sets were made.
    """

    kind: str
    tradeoff: float
    distance: Array
    imprecision: Array
    total: Array
    right: Array
    confidence: Array
    entropy: Array
    summary: Mapping[str, Mapping[Group, Spread]]
    n: int
    n_infinite: int
    settings: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    dependences: tuple[Dependence, ...] = ()
    average: EpistemicScore | None = None
    notes: tuple[str, ...] = ()

    def __float__(self) -> float:
        return self.summary["total"]["all"].mean

    def summary_dict(self) -> dict[str, Any]:
        """Return what `to_dict` does without the arrays over instances: short for any n."""
        written = self.to_dict()
        for score in (written, written["average"]):
            for name in (*PARTS, "right", "confidence", "entropy"):
                if score is not None:
                    score.pop(name)
        return written

    def __str__(self) -> str:
        used = f", measure {self.settings['measure']}" if "measure" in self.settings else ""
        distance, imprecision, total = (self.summary[part]["all"] for part in PARTS)
        return (
            f"E {total} = distance {distance} + {self.tradeoff:g} x imprecision {imprecision} "
            f"({self.kind}{used}; n = {self.n})"
        )
