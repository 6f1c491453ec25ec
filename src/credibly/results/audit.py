"""What an audit found: for which groups predictions are off, by how much, and what could have been seen."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, Literal

from credibly._arrays.notes import counted
from credibly.results.base import Result, WithPvalue, jsonable, require_level, require_margin
from credibly.results.numbers import points_to_a_tenth, tenths
from credibly.results.tests import Word

WIDE = 0.5
"""A group in which only larger effects could have been seen cannot tell anything."""

_MOST_LISTED = 8
_MOST_SUMMARISED = 100


_BOUNDS = {"upper": (" above", "at most"), "lower": (" below", "at least")}
"""How a measure that compares with a bound of a set ends, and what the sets say about it."""


@dataclasses.dataclass(frozen=True)
class AuditGroup(Result):
    """One group, measured in one way.

    Attributes
    ----------
    group : str
        The group in words, "age 31 to 45, sex F".
    conditions : tuple of (str, str)
        Attribute and level, one pair per condition; none for all rows.
    n : int
        Number of rows.
    measure : str
        What was counted: "confidence", "class 1", "rank" or "coverage"; for sets, which bound was broken.
    observed, expected : float
        Mean of what was counted, and its expected value under the predictions; for sets, their bound.
    effect : float
        Observed minus expected, as a share: 0.067 is 6.7 points.
    low, high : float
        Interval of the effect; the intervals of all groups and measures hold simultaneously.
    pvalue : float
        P-value of this group and measure alone.
    adjusted_pvalue : float
        Adjusted for all groups and measures (Westfall-Young, step-down).
    detectable : float
        The smallest effect that would have been detected here in 80 % of all cases, given all other groups; 1
        if none would.
    explained_by : str or None
        For a rejected group that is not listed: the listed group that explains it.
    verdict : {"conflict", "no conflict found", "cannot tell"}
        The answer at the level of the audit.
    n_clusters : int or None
        Number of clusters that its rows belong to; None if rows are independent. A group that is one cluster
        cannot tell anything.
    bound : {"", "upper", "lower"}
        For sets: the bound that the measure compares with.
    """

    group: str
    conditions: tuple[tuple[str, str], ...]
    n: int
    measure: str
    observed: float
    expected: float
    effect: float
    low: float
    high: float
    pvalue: float
    adjusted_pvalue: float
    detectable: float
    explained_by: str | None
    verdict: Word
    n_clusters: int | None = None
    bound: Literal["", "upper", "lower"] = ""

    @property
    def words(self) -> str:
        """What is off, in a clause: "too sure by 6.7 points: it says 97.0 % and is right in 90.3 %"."""
        size = points_to_a_tenth(self.effect)
        seen, promised = tenths(self.observed), tenths(self.expected)
        if self.measure == "confidence":
            sure = "too sure" if self.effect < 0 else "not sure enough"
            return f"{sure} by {size}: it says {promised} and is right in {seen}"
        if self.measure == "rank":
            side = "higher" if self.effect > 0 else "lower"
            return (
                f"values are {side} than predicted: on average at the {seen[:-2]}th percentile, not the 50th"
            )
        if self.measure == "coverage":
            width = "narrow" if self.effect < 0 else "wide"
            return f"intervals are too {width} by {size}: they promise {promised} and contain {seen}"
        if self.bound:
            suffix, limit = _BOUNDS[self.bound]
            name = self.measure.removesuffix(suffix)
            what = "the answer is right" if name == "confidence" else f"{name} occurs"
            return f"{what} in {seen}, but the sets say {limit} {promised}"
        often = "more" if self.effect > 0 else "less"
        return f"{self.measure} occurs {size} {often} often than predicted: {seen} instead of {promised}"

    def judged(self, level: float) -> AuditGroup:
        """Return the same group with its verdict at another level.

        Parameters
        ----------
        level : float
            Level of the verdict.

        Returns
        -------
        AuditGroup
            The group.
        """
        if self.adjusted_pvalue <= level:
            return dataclasses.replace(self, verdict="conflict")
        word: Word = "cannot tell" if self.detectable > WIDE else "no conflict found"
        return dataclasses.replace(self, verdict=word, explained_by=None)

    def __str__(self) -> str:
        ends = f"{100 * self.low:+.1f} to {100 * self.high:+.1f} points"
        return (
            f"{self.group} (n = {self.n}): {self.words}, "
            f"simultaneous interval {ends}, adjusted p = {self.adjusted_pvalue:.3g}"
        )


@dataclasses.dataclass(frozen=True)
class AuditResult(WithPvalue, Result):
    """Whether the predictions are calibrated for everyone.

    Attributes
    ----------
    hypothesis : str
        The null hypothesis in words.
    pvalue : float
        Family-wise p-value: the probability, under the hypothesis, that any group deviates as much as the
        worst one did.
    pvalue_interval : tuple of float
        95 % Monte-Carlo interval of the p-value.
    level : float
        Level of the verdicts; the intervals hold simultaneously with probability 1 - ``settings["level"]``.
    groups : tuple of AuditGroup
        All groups and measures, the clearest first; ``pandas.DataFrame(result.groups)`` is a table of them.
    n, n_groups, n_cells : int
        Number of rows, of groups examined (all rows are one), and of cells that make up the groups.
    attributes : tuple of str
        What the groups are made of.
    measures : tuple of str
        What was counted.
    n_clusters : int or None
        Number of clusters whose signs were drawn; None if rows are independent.
    n_resamples : int
        Number of replicates.
    smallest_pvalue : float
        The smallest adjusted p-value that these replicates could have given.
    settings : mapping
        Everything needed to repeat the audit, including the seed.
    notes : tuple of str
        What was merged, split or left out.
    """

    hypothesis: str
    pvalue: float
    pvalue_interval: tuple[float, float]
    level: float
    groups: tuple[AuditGroup, ...]
    n: int
    n_groups: int
    n_cells: int
    attributes: tuple[str, ...]
    measures: tuple[str, ...]
    n_clusters: int | None
    n_resamples: int
    smallest_pvalue: float
    settings: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def rejected(self) -> tuple[AuditGroup, ...]:
        """Groups in conflict, the clearest first, including those that others explain."""
        return tuple(group for group in self.groups if group.verdict == "conflict")

    @property
    def findings(self) -> tuple[AuditGroup, ...]:
        """Groups in conflict that no other group of this list explains."""
        return tuple(group for group in self.rejected if group.explained_by is None)

    def verdict(self, level: float | None = None) -> Word:
        """Return the answer in one of three words.

        Parameters
        ----------
        level : float, optional
            Level of the test. Default: that of the audit.

        Returns
        -------
        {"conflict", "no conflict found", "cannot tell"}
            "cannot tell" if no labels could have been rejected: too few replicates or clusters, or groups
            that are single clusters or in which only effects above 50 points would have been detected.
        """
        chosen_level = self.level if level is None else level
        require_level(chosen_level)
        if self.pvalue <= chosen_level:
            return "conflict"
        blind = all(group.detectable > WIDE for group in self._named)
        return "cannot tell" if self.smallest_pvalue > chosen_level or blind else "no conflict found"

    def not_within(self, margin: float) -> tuple[AuditGroup, ...]:
        """Return the groups and measures whose effect is not shown to be smaller than a margin.

        Parameters
        ----------
        margin : float
            The smallest effect that matters, as a share: 0.02 is two points.

        Returns
        -------
        tuple of AuditGroup
            Those whose simultaneous interval reaches beyond the margin; none if all are within it.
        """
        require_margin(margin)
        return tuple(group for group in self.groups if max(-group.low, group.high) >= margin)

    def judged(self, level: float) -> AuditResult:
        """Return the same audit with verdicts at another level, for example at a share of it.

        Parameters
        ----------
        level : float
            Level of the verdicts.

        Returns
        -------
        AuditResult
            P-values and intervals are unchanged; groups that are no longer off are explained by no other.
        """
        require_level(level)
        if level == self.level:
            return self
        return dataclasses.replace(
            self, level=float(level), groups=tuple(group.judged(level) for group in self.groups)
        )

    @property
    def _named(self) -> tuple[AuditGroup, ...]:
        """The groups that attributes define, without the one of all rows."""
        return tuple(group for group in self.groups if group.conditions) or self.groups

    @property
    def _untold(self) -> str:
        """How many groups cannot be judged because each is a single cluster, in words."""
        number = len({group.group for group in self._named if group.n_clusters == 1})
        if not number:
            return ""
        which = "1 group is one cluster" if number == 1 else f"{number} groups are one cluster each"
        return (
            f" {which}, whose rows may all err together, so it cannot be told whether they are off; "
            "without clusters, rows of a group are tested as independent."
        )

    def summary(self) -> dict[str, Any]:
        """Return what `to_dict` does, with only the hundred clearest groups and measures."""
        return self.to_dict() | {"groups": jsonable(self.groups[:_MOST_SUMMARISED])}

    def to_dict(self) -> dict[str, Any]:
        """Return everything in JSON-safe types, the answer in words included."""
        return {**super().to_dict(), "verdict": self.verdict(), "headline": self.headline}

    @property
    def n_parts(self) -> int:
        """Number of groups that are a part of the rows."""
        return self.n_groups - any(not group.conditions for group in self.groups)

    @property
    def headline(self) -> str:
        """The answer in one or two sentences."""
        count = counted(self.n_parts, "group") if self.n_parts else "all rows"
        named = "" if self.attributes == ("group",) else f" of {', '.join(self.attributes)}"
        looked = count + named
        tested = f"p = {self.pvalue:.3g} for all groups together"
        word = self.verdict()
        if word == "conflict":
            groups = self.findings
            if all(not group.conditions for group in groups) and self.n_groups > 1:
                if all(group.n_clusters == 1 for group in self._named):
                    return f"Off in all rows together ({tested}).{self._untold}"
                return f"The fault is the same in every group{named} ({tested}).{self._untold}"
            off = "1 is" if len(groups) == 1 else f"{len(groups)} are"
            return f"Miscalibrated for some groups: of {looked}, {off} off ({tested})."
        if word == "cannot tell":
            few = f"Too few data or replicates to tell: no labels could have shown a conflict in {looked}."
            return few + self._untold
        detectable = [group.detectable for group in self.groups if group.n_clusters != 1]
        least, most = points_to_a_tenth(min(detectable)), points_to_a_tenth(max(detectable))
        return (
            f"No conflict found in {looked} ({tested}). The smallest effect that would have been detected "
            f"in 80 % of all cases is {least} in the most informative group and {most} in the least "
            f"informative one.{self._untold}"
        )

    def __str__(self) -> str:
        lines = [self.headline, *(f"  {finding}" for finding in self.findings[:_MOST_LISTED])]
        more = len(self.findings) - _MOST_LISTED
        if more > 0:
            lines.append(f"  ... and {more} more in `findings`")
        hidden = len(self.rejected) - len(self.findings)
        if hidden:
            lines.append(f"  {hidden} more {'is' if hidden == 1 else 'are'} off, but explained by these")
        return "\n".join([*lines, *(f"  note: {note}" for note in self.notes)])
