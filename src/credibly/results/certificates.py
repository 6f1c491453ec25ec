"""Upper confidence bounds of calibration errors, and the test that an error is within a margin."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from typing import Any

from credibly.results.base import Result


@dataclasses.dataclass(frozen=True)
class Certificate(Result):
    """An upper confidence bound of a calibration error, which holds at calibration too.

    Attributes
    ----------
    statistic_name : str
        Which error.
    value : float
        The error of the labels.
    level : float
        Confidence of `upper`.
    n : int
        Number of instances.
    settings : mapping
        Bins or bandwidth: part of what is certified.
    notes : tuple of str
        What was accepted, converted or left out on the way.
    largest_change : float
        n times the most by which one label moves the error.
    hits, confidence : int and float, or None
        Of the mean confidence gap: right answers and mean confidence, whose binomial bounds are used.
    """

    statistic_name: str
    value: float
    level: float
    n: int
    settings: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    notes: tuple[str, ...] = ()
    largest_change: float = 1.0
    hits: int | None = None
    confidence: float | None = None

    @property
    def upper(self) -> float:
        """The error is at most this, with confidence `level`."""
        alpha = 1.0 - self.level
        if self.hits is None or self.confidence is None:
            return self.value + self.largest_change * math.sqrt(-math.log(alpha) / (2 * self.n))
        low = _at_least(self.hits, self.n, alpha)
        high = 1.0 - _at_least(self.n - self.hits, self.n, alpha)
        # the gap has one sign, so each side has the whole alpha
        return max(self.confidence - low, high - self.confidence)

    def pvalue(self, margin: float) -> float:
        """Return the p-value of the hypothesis that the error is `margin` or more.

        Parameters
        ----------
        margin : float
            The smallest error that matters.

        Returns
        -------
        float
            Small where the error is certainly smaller.
        """
        if margin <= self.value:
            return 1.0
        if self.hits is None or self.confidence is None:
            return math.exp(-2 * self.n * ((margin - self.value) / self.largest_change) ** 2)
        fewer = _chance_of_as_many(self.hits, self.n, self.confidence - margin)
        more = _chance_of_as_many(self.n - self.hits, self.n, 1.0 - self.confidence - margin)
        return max(fewer, more)

    def within(self, margin: float) -> bool:
        """Tell whether the error is smaller than `margin`, with confidence `level`.

        Parameters
        ----------
        margin : float
            The smallest error that matters.

        Returns
        -------
        bool
            Whether the equivalence test rejects.
        """
        return self.pvalue(margin) <= 1.0 - self.level

    def __str__(self) -> str:
        return (
            f"{self.statistic_name} {self.value:.4g}, at most {self.upper:.4g} with {100 * self.level:.4g} % "
            f"confidence (n = {self.n})"
        )


def _at_least(events: int, n: int, alpha: float) -> float:
    """Return the exact lower bound of the mean probability of n independent events.

    The tail of their number beyond its mean by one or more is inside that of a binomial (Hoeffding 1956); one
    event is the case where it may be less, and the sum of all probabilities bounds its chance.
    """
    from scipy.special import betaincinv

    if events <= 1:
        return events * alpha / n
    return float(betaincinv(events, n - events + 1, alpha))


def _chance_of_as_many(events: int, n: int, mean: float) -> float:
    """Return the largest chance of so many of n independent events whose mean probability is `mean`."""
    from scipy.special import betainc

    if mean <= 0 or events == 0:
        return float(mean >= 0 and events == 0)
    return min(1.0, n * mean) if events == 1 else float(betainc(events, n - events + 1, mean))
