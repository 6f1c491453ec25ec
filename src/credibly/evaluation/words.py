"""Verdicts in words: three answers, each with size and limit, worst first."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

import numpy as np

from credibly.evaluation.rows import PredictionSummary
from credibly.hypotests.resampling.pvalues import acceptance_region
from credibly.results.base import Result
from credibly.results.tests import CheckResult, HypotestResult
from credibly.statistics.registry import story_of

Word = Literal["conflict", "no conflict found", "cannot tell"]
_ORDER: dict[Word, int] = {"conflict": 0, "cannot tell": 1, "no conflict found": 2}


@dataclasses.dataclass(frozen=True)
class Verdict(Result):
    """One statistic's answer in words.

    Attributes
    ----------
    word : {"conflict", "no conflict found", "cannot tell"}
        The answer; it follows from the adjusted p-value.
    statistic : str or None
        What was tested; None where nothing could be.
    finding : str
        The answer with observed value and acceptance region.
    evidence : str
        p-value with Monte-Carlo interval and tail, adjusted p-value and effect size.
    scope : str
        Number of instances, members and replicates.
    size : float or None
        Observed value minus its mean under the hypothesis, in the statistic's own unit.
    limit : tuple of float or None
        Acceptance region at the level of the evaluation.
    """

    word: Word
    statistic: str | None
    finding: str
    evidence: str
    scope: str
    size: float | None
    limit: tuple[float, float] | None

    @property
    def sentence(self) -> str:
        """Finding, evidence and scope."""
        return f"{self.finding} {self.evidence}; {self.scope}." if self.evidence else self.finding

    def __str__(self) -> str:
        return self.sentence

    def to_dict(self) -> dict[str, Any]:
        """Return everything in JSON-safe types, the whole sentence included."""
        return {**super().to_dict(), "sentence": self.sentence}


def title(name: str) -> str:
    """Return a statistic's name as people write it."""
    return story_of(name).title


def shown(value: float) -> str:
    """Write a number with three significant digits, and infinities as words."""
    if math.isnan(value):
        return "not defined"
    if math.isinf(value):
        return "infinite" if value > 0 else "minus infinite"
    if value == 0:
        return "0"  # also where a difference is -0.0
    if abs(value) >= 1e6:
        return f"{value:.3g}"
    if abs(value) >= 100:
        return f"{value:.0f}"
    if abs(value) < 1e-6:
        return f"{value:.1e}"
    return np.format_float_positional(value, precision=3, fractional=False, trim="-")


def shown_range(limits: tuple[float, float]) -> str:
    """Write an interval; an end that is no limit is left out."""
    low, high = limits
    if math.isinf(low) and math.isinf(high):
        return "any value"
    if math.isinf(low):
        return f"up to {shown(high)}"
    if math.isinf(high):
        return f"{shown(low)} or more"
    return f"{shown(low)} to {shown(high)}"


def percent(share: float) -> str:
    """Write a share as per cent without needless digits."""
    return f"{100 * share:.4g} %"


def verdicts(
    tests: Mapping[str, HypotestResult], summary: PredictionSummary, level: float
) -> tuple[Verdict, ...]:
    """Return one verdict per statistic, worst first.

    The omnibus test has none of its own: it rejects exactly when one of the adjusted p-values does.
    """
    single = {name: result for name, result in tests.items() if name != "omnibus"}
    made = [(_verdict(name, result, len(single), summary, level), result) for name, result in single.items()]

    def badness(entry: tuple[Verdict, HypotestResult]) -> tuple[float, ...]:
        verdict, result = entry
        # beyond all replicates p-values differ by their tails only; the distance still orders them
        sides = 2 if result.tail == "two-sided" else 1
        beyond = result.pvalue <= sides / (result.n_resamples + 1)
        distance = math.inf if math.isnan(result.z_score) else -abs(result.z_score)
        return _ORDER[verdict.word], 0.0 if beyond else result.deciding_pvalue, distance

    return tuple(verdict for verdict, _ in sorted(made, key=badness))


def worst_first(found: Iterable[Verdict]) -> tuple[Verdict, ...]:
    """Return verdicts of different questions, conflicts first; equal ones stay in their order."""
    return tuple(sorted(found, key=lambda one: _ORDER[one.word]))


def nothing_tested(reason: str) -> Verdict:
    """Return the verdict of an evaluation without tests."""
    finding = (
        "No test of calibration was run, so nobody can tell here whether the labels fit the predictions: "
        f"{reason}."
    )
    return Verdict("cannot tell", None, finding, "", "", None, None)


def _verdict(
    name: str, result: HypotestResult, family: int, summary: PredictionSummary, level: float
) -> Verdict:
    limit = result.acceptance_region
    if result.null_distribution is not None:
        limit = acceptance_region(result.null_distribution, result.tail, result.statistic_range, level=level)
    decided = dataclasses.replace(result, acceptance_region=limit)
    word = decided.verdict(level)
    return Verdict(
        word=word,
        statistic=name,
        finding=_finding(name, decided, word, summary, level),
        evidence=evidence(result, family),
        scope=f"n = {result.n}, m = {summary.m}, {result.n_resamples} replicates",
        size=result.effect_size,
        limit=limit,
    )


def _finding(name: str, result: HypotestResult, word: Word, summary: PredictionSummary, level: float) -> str:
    start = f"{title(name)} {shown(result.statistic)}"
    region = shown_range(result.acceptance_region)
    if word == "conflict":
        story = story_of(name)
        higher = result.tail == "greater" or result.effect_size > 0
        meaning = story.above if higher else story.below
        who = "these predictions expect of themselves"
        if summary.kind == "Ensemble":
            who = "this ensemble expects of itself"
        return (
            f"{start} is {'above' if higher else 'below'} what {who} "
            f"({percent(1 - level)} acceptance {region}): {meaning}."
        )
    low, high = result.acceptance_region
    if word == "no conflict found" and not low <= result.statistic <= high:
        return (
            f"{start}: no conflict found. It lies outside its own {percent(1 - level)} acceptance region "
            f"({region}), but among several statistics one such deviation is no surprise."
        )
    if word == "no conflict found":
        anything = region if region.startswith(("up to", "any")) else f"anything from {region}"
        return f"{start}: no conflict found, but this check would accept {anything}."
    if isinstance(result, CheckResult) and result.is_beyond_members(level):
        return (
            f"{start}: cannot tell. None of these {result.n_members} members explains it "
            f"({percent(1 - level)} acceptance {region}), but where they stand for more, another might "
            f"(p = {shown(result.deciding_pvalue)} counting the truth as one more member)."
        )
    sides = 2 if result.tail == "two-sided" else 1
    smallest = sides / (result.n_resamples + 1)
    if smallest > level:
        return (
            f"{start}: cannot tell, because {result.n_resamples} replicates give no p-value below "
            f"{shown(smallest)}."
        )
    if result.is_beyond_replicates:
        return (
            f"{start}: cannot tell. It lies beyond all {result.n_resamples} replicates "
            f"({percent(1 - level)} acceptance {region}), but they are too few to tell it from chance among "
            "several statistics; use more."
        )
    return f"{start}: cannot tell, because this check would accept anything from {region}."


def evidence(result: HypotestResult, family: int) -> str:
    """Return p-value, its Monte-Carlo interval, tail, adjusted p-value and effect size in words."""
    tail = "two-sided" if result.tail == "two-sided" else "upper tail"
    error = ""
    if result.pvalue_interval is not None:
        error = f"95 % Monte-Carlo interval {shown_range(result.pvalue_interval)}, "
    adjusted = ""
    if result.adjusted_pvalue is not None and family > 1:
        adjusted = f", adjusted for {family} statistics {shown(result.adjusted_pvalue)}"
    return f"p = {shown(result.pvalue)} ({error}{tail}){adjusted}; {_effect(result)}"


def _effect(result: HypotestResult) -> str:
    size = result.effect_size
    if math.isnan(size):
        return "effect size not defined"
    null = result.null_distribution
    # with infinite replicates the effect is measured from their median
    centre = "mean" if null is None or np.isfinite(null).all() else "median"
    far = "infinitely far" if math.isinf(size) else shown(abs(size))
    return f"{far} {'above' if size >= 0 else 'below'} the {centre} of the replicates"


def joined(names: Sequence[str], most: int = 8) -> str:
    """List names, the first few of many."""
    few = ", ".join(names[:most])
    return few if len(names) <= most else f"{few} and {len(names) - most} more"
