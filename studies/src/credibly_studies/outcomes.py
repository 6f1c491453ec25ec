"""What numbers say about a claim: shares with their intervals, and the outcome that follows from them."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from credibly.evaluation import shown, shown_range
from credibly.hypotests.resampling.pvalues import clopper_pearson
from credibly_studies.results import Outcome

SLACK = 0.05
"""How far above a bound the interval of a share may reach that is said to keep it."""


@dataclasses.dataclass(frozen=True)
class Share:
    """How many of how many.

    Parameters
    ----------
    count, total : int
        Such as rejections and data sets.
    of : str
        What was counted.
    """

    count: int
    total: int
    of: str = "data sets"

    @property
    def rate(self) -> float:
        """The share."""
        return self.count / self.total

    @property
    def interval(self) -> tuple[float, float]:
        """Its 95 % interval (Clopper-Pearson)."""
        low, high = clopper_pearson(self.count, self.total)
        return float(low), float(high)

    def __str__(self) -> str:
        return f"{shown(self.rate)} ({shown_range(self.interval)}, {self.total} {self.of})"


def at_most(found: Share, bound: float) -> Outcome:
    """Return whether a share keeps a bound: no if it is shown to be above, unknown if it may be far above."""
    low, high = found.interval
    if low > bound:
        return "not confirmed"
    return "confirmed" if high <= bound + SLACK else "cannot tell"


def more_than(found: Share, bound: float) -> Outcome:
    """Return whether the data show that a share is above a bound; no if they show that it is below."""
    low, high = found.interval
    if low > bound:
        return "confirmed"
    return "not confirmed" if high <= bound else "cannot tell"


def near(found: Share, value: float, error: float = 0.0) -> Outcome:
    """Return whether the interval of a share holds a value that is itself known up to an error."""
    low, high = found.interval
    return "confirmed" if low - error <= value <= high + error else "not confirmed"


def larger(first: Share, second: Share) -> Outcome:
    """Return whether one share is larger than another: intervals that overlap do not tell."""
    if first.interval[0] > second.interval[1]:
        return "confirmed"
    return "not confirmed" if first.interval[1] < second.interval[0] else "cannot tell"


def more_often(first: Sequence[bool], second: Sequence[bool]) -> Outcome:
    """Return whether one event occurs more often than another: the cases in which they differ decide."""
    differ = [one for one, other in zip(first, second, strict=True) if one != other]
    return more_than(Share(sum(differ), len(differ)), 0.5) if differ else "cannot tell"


def most_of(*outcomes: Outcome) -> Outcome:
    """Return what became of a claim about most of several cases."""
    for outcome in ("confirmed", "not confirmed"):
        if 2 * outcomes.count(outcome) > len(outcomes):
            return outcome
    return "cannot tell"


def all_of(*outcomes: Outcome) -> Outcome:
    """Return what became of a claim with several parts: the worst of them."""
    for outcome in ("not confirmed", "cannot tell"):
        if outcome in outcomes:
            return outcome
    return "confirmed"
