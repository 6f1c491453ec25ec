"""Upper confidence bounds of calibration errors, and the test that an error is within a margin."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Any

from credibly._arrays.binomial import chance_of_as_many, least_mean
from credibly.results.base import Result, require_level
from credibly.results.numbers import points_up
from credibly.results.tests import Details, HypotestResult, Word

BINOMIAL = 0.25
"""The largest level at which binomial bounds hold for events of unlike probability."""


@dataclasses.dataclass(frozen=True)
class Certificate(Result):
    """An upper confidence bound for a calibration error, valid also at perfect calibration.

    Attributes
    ----------
    statistic_name : str
        Which error.
    value : float
        The error of the labels.
    level : float
        Confidence level of `upper`.
    n : int
        Number of instances.
    settings : mapping
        Bins or bandwidth: part of what is certified.
    notes : tuple of str
        What was accepted, converted or left out on the way.
    largest_change : float
        n times the largest change of the error that one label can cause; for clusters, also times the root of
        the mean size of a row's cluster.
    hits, confidence : int and float, or None
        For the mean confidence gap: number of right answers and mean confidence, from which the binomial
        bounds follow; for the error of P(event): number of events and their mean probability.
    is_mean : bool
        Whether the error is the size of a mean difference, which is not biased and has a lower bound too.
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
    is_mean: bool = False

    @property
    def upper(self) -> float:
        """The error is at most this, with confidence `level`."""
        alpha = 1.0 - self.level  # the gap has one sign, so each side has the whole alpha
        ends = self._mean_beyond_confidence(alpha)
        return self.value + self._reach(alpha) if ends is None else max(-ends[0], ends[1])

    @property
    def lower(self) -> float:
        """The error is at least this, with confidence `level`; 0 for errors that chance alone makes large."""
        alpha = (1.0 - self.level) / 2.0  # the gap may have either sign
        ends = self._mean_beyond_confidence(alpha)
        if ends is not None:
            return max(0.0, ends[0], -ends[1])
        return max(0.0, self.value - self._reach(alpha)) if self.is_mean else 0.0

    def _mean_beyond_confidence(self, alpha: float) -> tuple[float, float] | None:
        """Return the binomial bounds, each of error `alpha`, of the mean beyond what is stated."""
        if self.hits is None or self.confidence is None or alpha > BINOMIAL:
            return None
        low, missed = (least_mean(events, self.n, alpha) for events in (self.hits, self.n - self.hits))
        return low - self.confidence, 1.0 - missed - self.confidence

    def _reach(self, alpha: float) -> float:
        """Return by how much chance alone may move the error, but for an `alpha` of all labels."""
        return self.largest_change * math.sqrt(-math.log(alpha) / (2 * self.n))

    def pvalue(self, margin: float) -> float:
        """Return the p-value of the hypothesis that the error is `margin` or more.

        Parameters
        ----------
        margin : float
            The smallest error that matters.

        Returns
        -------
        float
            Small if the data show that the error is smaller. The binomial p-value is exact up to 25 %, and 1
            beyond.
        """
        if margin <= self.value:
            return 1.0
        if self.hits is None or self.confidence is None or 1.0 - self.level > BINOMIAL:
            return math.exp(-2 * self.n * ((margin - self.value) / self.largest_change) ** 2)
        fewer = chance_of_as_many(self.hits, self.n, self.confidence - margin)
        more = chance_of_as_many(self.n - self.hits, self.n, 1.0 - self.confidence - margin)
        larger = max(fewer, more)
        return larger if larger <= BINOMIAL else 1.0

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


@dataclasses.dataclass(frozen=True)
class EquivalenceDetails(Details):
    """The margin of a test that a calibration error is smaller, and the bound behind its p-value.

    The hypothesis of this test is reversed: the error is the margin or more, so a small p-value speaks for
    the predictions; the effect size is the observed error minus the margin, and the acceptance region begins
    as far below the margin as the bound is above the observed error. For several errors, the p-value is the
    largest one and the bound is that of its error: if this one is within the margin, all are.

    Attributes
    ----------
    margin : float
        The smallest error that matters.
    certificate : Certificate
        The upper bound behind the p-value.
    """

    margin: float
    certificate: Certificate

    def upper(self, level: float = 0.05) -> float:
        """Return what the error is at most, with confidence 1 - `level`."""
        require_level(level)
        return dataclasses.replace(self.certificate, level=1.0 - level).upper

    def lower(self, level: float = 0.05) -> float:
        """Return what the error is at least, with confidence 1 - `level`."""
        require_level(level)
        return dataclasses.replace(self.certificate, level=1.0 - level).lower

    def _verdict(self, test: HypotestResult[Any], level: float) -> Word:
        if test.rejects(level):
            return "no conflict found"
        return "conflict" if self.lower(level) > self.margin else "cannot tell"

    def _sentence(self, test: HypotestResult[Any], level: float, class_names: Sequence[str] | None) -> str:
        sure, most = f"{100 * (1 - level):.4g} % sure", points_up(self.upper(level))
        if test.rejects(level):
            return f"{test.statistic_name} is within {points_up(self.margin)}, {sure}: it is at most {most}."
        least = self.lower(level)
        if least > self.margin:
            return (
                f"{test.statistic_name} is beyond {points_up(self.margin)}, {sure}: it is at least "
                f"{math.floor(1e4 * least) / 100:g} points."
            )
        return (
            f"Not shown that {test.statistic_name} is within {points_up(self.margin)}: it is at most {most}, "
            f"{sure}."
        )

    def _text(self, test: HypotestResult[Any]) -> str:
        return f"{test.sentence()} (observed {test.statistic:.4g}, p = {test.pvalue:.3g}, n = {test.n})"
