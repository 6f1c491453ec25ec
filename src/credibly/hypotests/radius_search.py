"""The smallest radius that a test does not reject: doubling, then bisection, with a quick look first.

Far from the decision a fifth of the replicates tells as much as all of them. They are the first ones of the
whole test, and both ends of what is returned are tested in full.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from credibly._arrays.errors import UnsupportedError
from credibly.results.tests import CredalTestResult

_FIRST = 1 / 32  # the search begins here and doubles: most sets lack little
_CLEAR = 4.0  # a quick p-value of so many times the level is not looked at again

Test = Callable[[float, bool], CredalTestResult]
"""From a radius, and whether a quick look is enough, to the test."""


class Bracket(NamedTuple):
    """A radius that is not rejected, its test, and one just below it that is (None at radius 0)."""

    radius: float
    result: CredalTestResult
    rejected: float | None


def smallest_radius(test: Test, level: float, resolution: float, *, quick: bool) -> Bracket:
    """Find a radius that is not rejected next to one that is.

    Parameters
    ----------
    test : callable
        The test at a radius; its second argument asks for fewer replicates.
    level : float
        Level of the decision.
    resolution : float
        How close the two radii have to be.
    quick : bool
        Whether to look with fewer replicates first.

    Returns
    -------
    Bracket
        Both decisions are those of all replicates.
    """
    whole: set[float] = set()
    rejected: set[float] = set()

    def decide(radius: float, quick: bool) -> CredalTestResult:
        if quick:
            found = test(radius, True)
            smallest = (1.0 + 1e-9) / (found.n_resamples + 1)
            if found.pvalue > _CLEAR * level or found.pvalue <= smallest:
                return found
        whole.add(radius)
        return test(radius, False)

    low, high = 0.0, 0.0
    result = decide(0.0, quick)
    while True:
        while result.rejects(level):
            if high == 1.0:
                raise UnsupportedError(
                    "the set of all distributions",
                    "holds a calibrated combination, yet the test rejects it",
                    f"p = {result.pvalue:.3g} at radius 1",
                    "These weights cannot represent it: give `features`, or another `learner`.",
                )
            rejected.add(high)
            low, high = high, min(1.0, max(_FIRST, 2 * high))
            result = decide(high, quick)
        while high > 0 and high - low > resolution:
            middle = (low + high) / 2
            found = decide(middle, quick)
            if found.rejects(level):
                rejected.add(middle)
                low = middle
            else:
                high, result = middle, found
        if high not in whole:
            result = decide(high, False)
        elif high > 0 and low not in whole:
            found = decide(low, False)
            if not found.rejects(level):
                rejected.discard(low)
                high, result = low, found
                low = max((radius for radius in rejected if radius < high), default=0.0)
        else:
            return Bracket(high, result, low if high > 0 else None)
