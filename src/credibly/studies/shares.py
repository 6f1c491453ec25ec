"""How often something happened, with its interval, and what that says about a number that a paper gives."""

from __future__ import annotations

import dataclasses

from credibly.evaluation import shown, shown_range
from credibly.hypotests.pvalues import clopper_pearson
from credibly.studies.results import Outcome


@dataclasses.dataclass(frozen=True)
class Share:
    """Cases among trials.

    Parameters
    ----------
    cases, trials : int
        How often it happened, and how often it could have.

    Examples
    --------
    >>> from credibly.studies.shares import Share
    >>> str(Share(3, 20)), Share(3, 20).equals(0.05), Share(3, 20).exceeds(0.05)
    ('0.15 (0.0321 to 0.379)', 'confirmed', 'cannot tell')
    """

    cases: int
    trials: int

    @property
    def rate(self) -> float:
        """Cases over trials."""
        return self.cases / self.trials

    @property
    def interval(self) -> tuple[float, float]:
        """Exact 95 % interval (Clopper-Pearson) of independent trials."""
        return clopper_pearson(self.cases, self.trials)

    def equals(self, value: float) -> Outcome:
        """Return whether the interval holds a value."""
        low, high = self.interval
        return "confirmed" if low <= value <= high else "not confirmed"

    def exceeds(self, value: float) -> Outcome:
        """Return whether the whole interval lies above a value, or the whole of it below."""
        low, high = self.interval
        if low > value:
            return "confirmed"
        return "not confirmed" if high < value else "cannot tell"

    def falls_below(self, value: float) -> Outcome:
        """Return whether the whole interval lies below a value, or the whole of it above."""
        return Share(self.trials - self.cases, self.trials).exceeds(1.0 - value)

    def __str__(self) -> str:
        return f"{shown(self.rate)} ({shown_range(self.interval)})"


def weakest(*outcomes: Outcome) -> Outcome:
    """Return the outcome of a claim with several parts: one that fails fails it."""
    order: tuple[Outcome, ...] = ("not confirmed", "cannot tell", "confirmed")
    return min(outcomes, key=order.index)
