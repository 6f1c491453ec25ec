"""How often a check would detect a distortion, and how many labels a plan asks for."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Mapping

from credibly._arrays.errors import nearest, one_of, require
from credibly._arrays.namespace import HostArray
from credibly.results.base import Result
from credibly.results.numbers import points_as_given


@dataclasses.dataclass(frozen=True)
class PowerCurve(Result):
    """How often a predictive check would detect a distortion of a known size.

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
        Level of the check, and the power at which a distortion counts as detected.
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
        """Return the amounts closest to neutral, below and above it, beyond which the power is reached.

        Parameters
        ----------
        statistic : str
            Which statistic.
        hypothesis : {"bayesian", "independent"}, optional
            Which hypothesis. Default: the independent one, or the only one that was checked.

        Returns
        -------
        tuple of (float or None)
            Largest amount below `neutral` and smallest above it with a power of at least `wanted` there and
            at all amounts beyond; None if the grid has none.
        """
        if hypothesis is None:
            hypothesis = "independent" if "independent" in self.power else next(iter(self.power))
        one_of("`hypothesis`", hypothesis, self.power)
        power = self.power[hypothesis]
        require(
            statistic in power, "must be one of the check", nearest(statistic, power), statistic=statistic
        )
        ordered = sorted(zip(self.grid.tolist(), power[statistic] >= self.wanted, strict=True))
        below = [amount for amount, reached in itertools.takewhile(lambda at: at[1], ordered)]
        above = [amount for amount, reached in itertools.takewhile(lambda at: at[1], reversed(ordered))]
        return (
            max((amount for amount in below if amount < self.neutral), default=None),
            min((amount for amount in above if amount > self.neutral), default=None),
        )

    def __str__(self) -> str:
        head = f"Power of {self.injection} (level {self.level:g}, {self.n_repeats} data sets per amount)"
        noticed = [
            f"  {hypothesis}, {statistic}: power {self.wanted:g} from {self._noticed(statistic, hypothesis)}"
            for hypothesis, by_statistic in self.power.items()
            for statistic in by_statistic
        ]
        return "\n".join([head, *noticed])

    def _noticed(self, statistic: str, hypothesis: str) -> str:
        """Return the smallest amounts that are noticed, in words."""
        below, above = self.smallest(statistic, hypothesis)
        ends = ["" if below is None else f"{below:g} or less", "" if above is None else f"{above:g} or more"]
        return " and ".join(filter(None, ends)) or "on: nothing on the grid"


@dataclasses.dataclass(frozen=True)
class LabelPlan(Result):
    """How many instances to label, for each aim and for all aims together.

    Attributes
    ----------
    aims : mapping of str to int
        Instances needed for the ``"width"`` of the interval, the ``"gap"`` to be detected, and the
        ``"margin"`` within which a calibrated model is shown to be.
    width, gap, margin : float or None
        These sizes; None if not requested.
    level, power : float
        Confidence of the interval and the certificate, and probability of reaching the aim.
    confidence : float
        Mean confidence of the predictions.
    n : int
        Number of predictions that the plan was made from.
    notes : tuple of str
        What was converted on the way.
    """

    aims: Mapping[str, int]
    width: float | None
    gap: float | None
    margin: float | None
    level: float
    power: float
    confidence: float
    n: int
    notes: tuple[str, ...] = ()

    @property
    def instances(self) -> int:
        """Number of instances that is enough for every aim."""
        return max(self.aims.values())

    def sentence(self) -> str:
        """Return the plan in words.

        Returns
        -------
        str
            How many instances, for what, and whether enough were given.
        """
        sure, likely = f"{100 * self.level:.4g} %", f"{100 * self.power:.4g} %"
        width, gap, margin = (points_as_given(size or 0.0) for size in (self.width, self.gap, self.margin))
        words = {
            "width": f"a {sure} interval for the average gap that is {width} wide",
            "gap": f"a test that detects an average gap of {gap} ({likely} of the time)",
            "margin": f"a certificate that a calibrated model is within {margin} ({sure} sure, "
            f"reached {likely} of the time)",
        }
        aims = " and for ".join(words[name] for name in self.aims)
        sentence = f"Label {self.instances} instances: enough for {aims}."
        if self.instances > self.n:
            sentence += f" These are only {self.n}: find {self.instances - self.n} more like them."
        return sentence

    def __str__(self) -> str:
        return self.sentence()
