"""How large a distortion must be before a check notices it."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np

from credibly._arrays.errors import InputError, nearest, one_of
from credibly._arrays.results import Result

HostArray = np.ndarray[Any, Any]


@dataclasses.dataclass(frozen=True)
class PowerCurve(Result):
    """How often a predictive check would notice a distortion of a known size.

    Attributes
    ----------
    injection : str
        The distortion.
    neutral : float
        The amount that changes nothing.
    grid : ndarray (g,)
        Amounts.
    power : mapping of str to mapping of str to ndarray (g,)
        Per hypothesis and statistic: share of simulated data sets with p at most `level`.
    interval : mapping of str to mapping of str to ndarray (g, 2)
        95 % Clopper-Pearson intervals of the power.
    n_repeats : int
        Simulated data sets per amount.
    level, wanted : float
        Level of the check, and the power at which a distortion counts as noticed.
    """

    injection: str
    neutral: float
    grid: HostArray
    power: Mapping[str, Mapping[str, HostArray]]
    interval: Mapping[str, Mapping[str, HostArray]]
    n_repeats: int
    level: float
    wanted: float

    def smallest(self, statistic: str, hypothesis: str | None = None) -> tuple[float | None, float | None]:
        """Return the amounts closest to neutral, below and above it, from which on power is reached.

        Parameters
        ----------
        statistic : str
            Which statistic.
        hypothesis : {"bayesian", "independent"}, optional
            Which hypothesis; where not given the independent one, or the only one that was checked.

        Returns
        -------
        tuple of (float or None)
            Largest amount below `neutral` and smallest above with power of at least `wanted` there and at all
            amounts beyond; None where the grid has none.
        """
        if hypothesis is None:
            hypothesis = "independent" if "independent" in self.power else next(iter(self.power))
        one_of("`hypothesis`", hypothesis, self.power)
        power = self.power[hypothesis]
        if statistic not in power:
            raise InputError(
                "`statistic`", "must be one of the check", f"got {statistic!r}", nearest(statistic, power)
            )
        noticed = power[statistic] >= self.wanted
        below, above = None, None
        for amount, found in sorted(zip(self.grid, noticed, strict=True), key=lambda pair: pair[0]):
            if amount >= self.neutral or not found:
                break
            below = float(amount)
        for amount, found in sorted(zip(self.grid, noticed, strict=True), key=lambda pair: -pair[0]):
            if amount <= self.neutral or not found:
                break
            above = float(amount)
        return below, above

    def __str__(self) -> str:
        head = f"Power of {self.injection} (level {self.level:g}, {self.n_repeats} data sets per amount)"
        noticed = [
            f"  {hypothesis}, {statistic}: power {self.wanted:g} from {self._noticed(statistic, hypothesis)}"
            for hypothesis, own in self.power.items()
            for statistic in own
        ]
        return "\n".join([head, *noticed])

    def _noticed(self, statistic: str, hypothesis: str) -> str:
        """Return the smallest amounts that are noticed, in words."""
        below, above = self.smallest(statistic, hypothesis)
        ends = ["" if below is None else f"{below:g} or less", "" if above is None else f"{above:g} or more"]
        return " and ".join(filter(None, ends)) or "on: nothing on the grid"
