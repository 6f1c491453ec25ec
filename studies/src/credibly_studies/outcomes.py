"""What numbers say about a claim: shares with their intervals, and the outcome that follows from them."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

from credibly._arrays.binomial import clopper_pearson
from credibly.evaluation import shown, shown_range
from credibly_studies.results import Outcome

SLACK = 0.05
"""How far above a bound the interval of a share may reach that is said to keep it."""

ALIKE = 0.1
"""How far two shares may lie apart that are said to be the same."""


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


def at_most(share: Share, bound: float) -> Outcome:
    """Return whether a share keeps a bound: no if it is shown to be above, unknown if it may be far above."""
    low, high = share.interval
    if low > bound:
        return "not confirmed"
    return "confirmed" if high <= bound + SLACK else "cannot tell"


def more_than(share: Share, bound: float) -> Outcome:
    """Return whether the data show that a share is above a bound; no if they show that it is below."""
    low, high = share.interval
    if low > bound:
        return "confirmed"
    return "not confirmed" if high <= bound else "cannot tell"


def near(share: Share, value: float, error: float = 0.0) -> Outcome:
    """Return whether the interval of a share holds a value that is itself known up to an error."""
    low, high = share.interval
    return "confirmed" if low - error <= value <= high + error else "not confirmed"


def larger(first: Share, second: Share) -> Outcome:
    """Return whether one share is larger than another: intervals that overlap do not tell, nor do ties."""
    if first.interval[0] > second.interval[1]:
        return "confirmed"
    return "not confirmed" if first.interval[1] < second.interval[0] else "cannot tell"


Curve = Mapping[float, Share]
"""Rejections at each level."""


def exceeds(curve: Curve) -> Outcome:
    """Return whether a curve of rejections rises above its levels: anywhere for sure, or surely nowhere."""
    if any(share.interval[0] > level for level, share in curve.items()):
        return "confirmed"
    keeps = all(share.rate <= level for level, share in curve.items())
    seen = any(share.interval[1] < level for level, share in curve.items())
    return "not confirmed" if keeps and seen else "cannot tell"


def keeps_level(curve: Curve) -> Outcome:
    """Return whether a curve follows its levels: not if it is surely more than `SLACK` above one of them.

    Confirmed if it cannot be more than `ALIKE` above any.
    """
    if any(share.interval[0] > level + SLACK for level, share in curve.items()):
        return "not confirmed"
    close = all(share.interval[1] <= min(level + ALIKE, 1.0) for level, share in curve.items())
    return "confirmed" if close else "cannot tell"


def stays_below(curve: Curve) -> Outcome:
    """Return whether a curve lies below its levels: surely at most of the levels that tell, or surely above.

    Levels at which the interval of the share holds the level decide nothing.
    """
    below = sum(share.interval[1] < level for level, share in curve.items())
    above = sum(share.interval[0] > level for level, share in curve.items())
    if below == above:
        return "cannot tell"
    return "confirmed" if below > above else "not confirmed"


def lower_curves(first: Sequence[Curve], second: Sequence[Curve]) -> Outcome:
    """Return whether curves lie lower than others, pair by pair: the mean over the levels is compared.

    A sign test over the pairs that differ; ties decide nothing.
    """
    gaps = [height(other) - height(one) for one, other in zip(first, second, strict=True)]
    differ = [gap for gap in gaps if abs(gap) > 1e-12]
    return more_than(Share(sum(gap > 0 for gap in differ), len(differ)), 0.5) if differ else "cannot tell"


def height(curve: Curve) -> float:
    """Return the mean of a curve over its levels."""
    return sum(share.rate for share in curve.values()) / len(curve)


def same_curves(first: Curve, second: Curve) -> Outcome:
    """Return whether two curves are the same: no if they surely differ, yes if they cannot differ by much."""
    outcome: Outcome = "confirmed"
    for level, estimate in first.items():
        (low, high), (other_low, other_high) = estimate.interval, second[level].interval
        if low > other_high or high < other_low:
            return "not confirmed"
        if max(high - other_low, other_high - low) > ALIKE:
            outcome = "cannot tell"
    return outcome


def most_of(*outcomes: Outcome) -> Outcome:
    """Return what became of a claim about most of several cases."""
    for outcome in ("confirmed", "not confirmed"):
        if 2 * outcomes.count(outcome) > len(outcomes):
            return outcome
    return "cannot tell"


def any_of(*outcomes: Outcome) -> Outcome:
    """Return what became of a claim that something exists: one case is enough, and no case denies it."""
    return "confirmed" if "confirmed" in outcomes else "cannot tell"


def those_that_decide(*outcomes: Outcome) -> Outcome:
    """Return what became of a claim about all of several cases: those that decide nothing are left out."""
    decided = [outcome for outcome in outcomes if outcome != "cannot tell"]
    return all_of(*decided) if decided else "cannot tell"


def all_of(*outcomes: Outcome) -> Outcome:
    """Return what became of a claim with several parts: the worst of them."""
    for outcome in ("not confirmed", "cannot tell"):
        if outcome in outcomes:
            return outcome
    return "confirmed"
