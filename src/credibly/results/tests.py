"""What a test returns: p-value, null distribution, effect size; more for predictive checks."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from credibly._arrays.namespace import HostArray
from credibly.results.base import Result, Tail, Tested, require_level

if TYPE_CHECKING:
    pass


def smallest_pvalue(n_clusters: int) -> float:
    """Return the smallest p-value that signs of clusters can reach: an observation and its mirror image."""
    return float(2.0 ** (1 - min(n_clusters, 1000)))


def _alike(values: HostArray, one: float) -> HostArray:
    """Tell which values are equal up to rounding, as ties of p-values are."""
    return np.isclose(values, one, rtol=1e-12, atol=0.0)


@dataclasses.dataclass(frozen=True)
class HypotestResult(Tested, Result):
    """A null hypothesis, a statistic and a p-value.

    Attributes
    ----------
    name : str
        The test.
    hypothesis : str
        The null hypothesis in words.
    statistic_name : str
        What was computed.
    statistic : float
        Its value on the observed labels.
    pvalue : float
        Probability, under the hypothesis, of a statistic at least as extreme.
    pvalue_interval : tuple of float or None
        95 % Monte-Carlo interval of the p-value; None if it is not simulated.
    tail : {"greater", "two-sided", "less"}
        Which deviations count as extreme; "less" for the test that an error is within a margin.
    null_distribution : ndarray or None
        The replicates' statistics.
    acceptance_region : tuple of float
        Values the test would not reject at 5 %.
    effect_size : float
        Observed value minus the mean under the hypothesis, in the statistic's own unit.
    z_score : float
        The same in standard deviations of the null.
    n : int
        Number of instances.
    n_resamples : int
        Number of replicates.
    statistic_range : tuple of float or None
        Smallest and largest value the statistic can take; None if unbounded.
    settings : mapping
        Everything needed to repeat the test, including the seed.
    notes : tuple of str
        What was accepted, converted or left out on the way.
    adjusted_pvalue : float or None
        Westfall-Young adjustment, if several statistics were tested together.
    components : mapping of str to HypotestResult
        Per-statistic results of an omnibus test.
    n_clusters : int or None
        Number of independent clusters, if rows belong together.
    """

    name: str
    hypothesis: str
    statistic_name: str
    statistic: float
    pvalue: float
    pvalue_interval: tuple[float, float] | None
    tail: Tail
    null_distribution: np.ndarray[Any, Any] | None
    acceptance_region: tuple[float, float]
    effect_size: float
    z_score: float
    n: int
    n_resamples: int
    statistic_range: tuple[float, float] | None = None
    settings: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    notes: tuple[str, ...] = ()
    adjusted_pvalue: float | None = None
    components: Mapping[str, HypotestResult] = dataclasses.field(default_factory=dict)
    n_clusters: int | None = None

    @property
    def is_beyond_replicates(self) -> bool:
        """Whether the statistic is more extreme than every replicate: no p-value could be smaller."""
        null = self.null_distribution
        if null is None:
            return False
        above = self.statistic > null.max()
        return bool(above or (self.tail == "two-sided" and self.statistic < null.min()))

    @property
    def deciding_pvalue(self) -> float:
        """The p-value behind the verdict: the adjusted one if several statistics were tested together."""
        return self.pvalue if self.adjusted_pvalue is None else self.adjusted_pvalue

    def rejects(self, level: float = 0.05) -> bool:
        """Tell whether the test's own p-value, not adjusted for any other, is at most `level`."""
        require_level(level)
        return self.pvalue <= level

    def verdict(self, level: float = 0.05) -> Literal["conflict", "no conflict found", "cannot tell"]:
        """Return the test's answer in one of three words.

        "conflict" is a rejection by `deciding_pvalue`. "cannot tell" means that a rejection was impossible,
        for the reason that `why_not` gives, or that the statistic lies beyond all replicates but its adjusted
        p-value is still too large. Everything else is "no conflict found".
        """
        require_level(level)
        if self.deciding_pvalue <= level:
            return "conflict"
        return "cannot tell" if self.is_beyond_replicates or self.why_not(level) else "no conflict found"

    def why_not(self, level: float = 0.05) -> str:
        """Return why no labels could have been rejected at `level`, or "" if some could.

        Parameters
        ----------
        level : float
            Level of the test.

        Returns
        -------
        str
            A clause: too few clusters or replicates, a statistic whose most extreme values are frequent by
            chance, or an acceptance region that spans more than half of all values.
        """
        require_level(level)
        if self.n_clusters is not None and smallest_pvalue(self.n_clusters) > level:
            return f"{self.n_clusters} clusters give no p-value below {smallest_pvalue(self.n_clusters):.3g}"
        sides = 2 if self.tail == "two-sided" else 1
        if self.n_resamples and sides / (self.n_resamples + 1) > level:
            return f"{self.n_resamples} replicates give no p-value below {sides / (self.n_resamples + 1):.3g}"
        null = self.null_distribution
        if null is not None and null.size:
            if _alike(null, self.statistic).all():
                return "these predictions allow no other value"
            ends = (null.max(), null.min())[:sides]
            least = sides * min(int(_alike(null, end).sum()) for end in ends) / (self.n_resamples + 1)
            if self.n_resamples and least > level:
                return f"no labels could give a p-value below {least:.2g}"
        low, high = self.acceptance_region
        span = self.statistic_range
        if span is not None and high - low > 0.5 * (span[1] - span[0]):
            return f"this check would accept anything from {low:.3g} to {high:.3g}"
        return ""

    def __str__(self) -> str:
        low, high = self.acceptance_region
        error = ""
        if self.pvalue_interval is not None:
            error = f" (Monte-Carlo {self.pvalue_interval[0]:.3g} to {self.pvalue_interval[1]:.3g})"
        adjusted = "" if self.adjusted_pvalue is None else f", adjusted {self.adjusted_pvalue:.3g}"
        return (
            f"{self.statistic_name} {self.statistic:.4g}, 95 % acceptance {low:.4g} to {high:.4g}, "
            f"p = {self.pvalue:.3g}{error}{adjusted}: {self.verdict()}"
        )


Word = Literal["conflict", "no conflict found", "cannot tell"]

_LONG = ("null_distribution", "components")

_BY_MEMBER = ("member_counts", "member_below", "member_above")


@dataclasses.dataclass(frozen=True)
class CheckResult(HypotestResult):
    """One statistic of a predictive check under one hypothesis.

    The p-value is two-sided, whatever the statistic's own tail: a value that is too good contradicts a model
    as much as one that is too bad.

    Attributes
    ----------
    name, hypothesis, statistic_name : str
        The check, the hypothesis in words, and the statistic.
    statistic : float
        Its value on the observed labels.
    pvalue : float
        Two-sided p-value.
    pvalue_interval : tuple of float or None
        Its 95 % Monte-Carlo interval.
    tail : {"greater", "two-sided"}
        Always two-sided.
    null_distribution : ndarray or None
        The replicates' statistics.
    acceptance_region : tuple of float
        Values the check would not reject at 5 %.
    effect_size, z_score : float
        Observed value minus the mean of the replicates, in the statistic's own unit and in their spread.
    n, n_resamples : int
        Number of instances and of replicates.
    statistic_range : tuple of float or None
        Smallest and largest value the statistic can take.
    settings : mapping
        Everything needed to repeat the check.
    notes : tuple of str
        What was accepted, converted or left out on the way.
    adjusted_pvalue : float or None
        Adjusted over the statistics, or over groups and statistics.
    components : mapping of str to HypotestResult
        Empty: a check has no parts.
    n_clusters : int or None
        Number of independent clusters, if rows belong together.
    paper_pvalue : float
        P21's p: share of the replicates strictly below the observation (its Algorithm 3).
    upper_pvalue, lower_pvalue : float
        One-sided p-values, ``(1 + #{null >= observed}) / (1 + n_resamples)`` and with ``<=``.
    direction : {"above", "below"}
        On which side of the replicates the observation lies: the side of the smaller one-sided p-value.
    sharpness : float
        Distance between the 5 % and the 95 % quantile of the replicates: how much the check would accept.
    n_members : int
        Members of the ensemble.
    member_counts : ndarray (m,) or None
        Number of replicates drawn by each member; None if no member is drawn.
    member_below, member_above : ndarray (m,) or None
        The share of these at most, and at least, as large as the observation; NaN if there are none.
    member_pvalue : float or None
        Two-sided p-value that counts the truth as one more member: members are then a sample from a larger
        population, and no p-value is below 2 / (m + 1). A conflict requires this p-value to be small as well.
    paper_rules : mapping of str to bool
        Whether P21's rules fail the model; empty outside its paper mode.
    group : str or None
        Which group of instances; None for all.
    """

    paper_pvalue: float = float("nan")
    upper_pvalue: float = float("nan")
    lower_pvalue: float = float("nan")
    direction: Literal["above", "below"] = "above"
    sharpness: float = float("nan")
    n_members: int = 1
    member_counts: HostArray | None = None
    member_below: HostArray | None = None
    member_above: HostArray | None = None
    member_pvalue: float | None = None
    paper_rules: Mapping[str, bool] = dataclasses.field(default_factory=dict)
    group: str | None = None

    @property
    def deciding_pvalue(self) -> float:
        """The p-value behind the verdict: adjusted and, with several members, not below `member_pvalue`."""
        usual = super().deciding_pvalue
        return usual if self.member_pvalue is None or self.n_members < 2 else max(usual, self.member_pvalue)

    def is_beyond_members(self, level: float = 0.05) -> bool:
        """Tell whether these members did not draw the labels, but one more like them might have."""
        return super().deciding_pvalue <= level < self.deciding_pvalue

    def verdict(self, level: float = 0.05) -> Word:
        """Return the answer in one of three words; in paper mode a conflict is beyond all replicates.

        If only `member_pvalue` prevents a rejection, there are too few members: "cannot tell".
        """
        if self.paper_rules:
            return "conflict" if self.paper_rules["outside the replicates"] else "no conflict found"
        require_level(level)
        return "cannot tell" if self.is_beyond_members(level) else super().verdict(level)

    def summary(self) -> dict[str, Any]:
        """Return the JSON-safe fields without replicates and members: what a table of groups needs."""
        found = self.to_dict()
        return {name: value for name, value in found.items() if name not in (*_LONG, *_BY_MEMBER)}
