"""One statistic of a predictive check under one hypothesis."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, Literal

import numpy as np

from credibly._arrays.results import HypotestResult

HostArray = np.ndarray[Any, Any]
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
        What lets the check run again.
    notes : tuple of str
        What was accepted, converted or left out on the way.
    adjusted_pvalue : float or None
        Adjusted over the statistics, or over groups and statistics.
    components : mapping of str to HypotestResult
        Empty: a check has no parts.
    paper_pvalue : float
        P21's p: share of the replicates below the observation, ties counted half.
    upper_pvalue, lower_pvalue : float
        One-sided p-values, ``(1 + #{null >= observed}) / (1 + n_resamples)`` and with ``<=``.
    direction : {"above", "below"}
        On which side of the replicates the observation lies: the side of the smaller one-sided p-value.
    sharpness : float
        Distance between the 5 % and the 95 % quantile of the replicates: how much the check lets pass.
    n_members : int
        Members of the ensemble.
    member_counts : ndarray (m,) or None
        Replicates drawn by each member; None where no member is drawn.
    member_below, member_above : ndarray (m,) or None
        Of these, the share at most, and at least, as large as the observation; NaN where there are none.
    member_pvalue : float or None
        Two-sided p-value that counts the truth as one more member: members are then draws from something
        larger, and no p-value is below 2 / (m + 1).
    paper_rules : mapping of str to bool
        Whether P21's rules fail the model; empty outside its paper mode.
    group : str or None
        Which instances, where not all.
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

    def verdict(self, level: float = 0.05) -> Word:
        """Return the answer in one of three words; in paper mode a conflict is where P21's p is 0 or 1."""
        if not self.paper_rules:
            return super().verdict(level)
        return "conflict" if self.paper_rules["p is 0 or 1"] else "no conflict found"

    def summary(self) -> dict[str, Any]:
        """Return the JSON-safe fields without replicates and members: what a table of groups needs."""
        found = self.to_dict()
        return {name: value for name, value in found.items() if name not in (*_LONG, *_BY_MEMBER)}
