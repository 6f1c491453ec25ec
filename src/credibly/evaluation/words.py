"""Verdicts in words: three answers, each with size and limit, worst first."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Mapping
from typing import Any, Literal, TypeVar

import numpy as np

from credibly._arrays.notes import counted
from credibly.diagnosis import Diagnosis
from credibly.evaluation.rows import PredictionSummary
from credibly.evaluation.sentences import QUESTIONS, sentence_of
from credibly.hypotests.resampling.pvalues import acceptance_region, fewest_resamples
from credibly.results.audit import AuditResult
from credibly.results.base import Result
from credibly.results.decompositions import CrpsDecomposition
from credibly.results.numbers import percent, shown, shown_range
from credibly.results.tests import CheckDetails, HypotestResult
from credibly.statistics.registry import story_of

Word = Literal["conflict", "no conflict found", "cannot tell"]
Test = TypeVar("Test", bound=HypotestResult)
_ORDER: dict[Word, int] = {"conflict": 0, "cannot tell": 1, "no conflict found": 2}


@dataclasses.dataclass(frozen=True)
class Verdict(Result):
    """One statistic's answer in words.

    Attributes
    ----------
    word : {"conflict", "no conflict found", "cannot tell"}
        The answer; it follows from the adjusted p-value.
    statistic : str or None
        What was tested; None if nothing could be.
    case : str
        What was found: a row of the table of sentences.
    facts : mapping
        Numbers and names of which the sentence is made.
    evidence : str
        p-value with Monte-Carlo interval and tail, adjusted p-value and effect size.
    scope : str
        Number of instances, members and replicates.
    size : float or None
        Observed value minus its mean under the hypothesis, in the statistic's own unit.
    limit : tuple of float or None
        Acceptance region at the level of the evaluation.
    """

    unwritten = ("case", "facts")

    word: Word
    statistic: str | None
    case: str
    facts: Mapping[str, Any]
    evidence: str
    scope: str
    size: float | None
    limit: tuple[float, float] | None

    @property
    def finding(self) -> str:
        """The answer with observed value and acceptance region."""
        return sentence_of(self.case, self.facts)

    @property
    def sentence(self) -> str:
        """Finding, evidence and scope."""
        return f"{self.finding} {self.evidence}; {self.scope}." if self.evidence else self.finding

    def __str__(self) -> str:
        return self.sentence

    def to_dict(self) -> dict[str, Any]:
        """Return everything in JSON-safe types, the whole sentence included."""
        return {**super().to_dict(), "finding": self.finding, "sentence": self.sentence}


def title(name: str) -> str:
    """Return a statistic's name as people write it."""
    return story_of(name).title


def title_inside(name: str) -> str:
    """Return a title as it stands inside a sentence: interval score, but CRPS and Gaussian log loss."""
    story = story_of(name)
    keeps = story.begins_with_name or story.title[1:2].isupper()
    return story.title if keeps else story.title[:1].lower() + story.title[1:]


def crps_in_words(parts: CrpsDecomposition, n: int) -> str:
    """Say what the parts of the CRPS mean, in its own unit, and of how many of `n` instances they are."""
    costs, saves = map(shown_range, (parts.miscalibration_interval, parts.discrimination_interval))
    level = percent(parts.level)
    begin = f"On {parts.n} random instances, miscalibration" if parts.n < n else "Miscalibration"
    straight = ", with quantiles joined by straight lines" * ("quantiles" in parts.loss.settings)
    return (
        f"{begin} costs {costs} of the CRPS of {shown(parts.loss.value)} ({level}{straight}), which "
        f"recalibration could save. Discrimination, telling instances apart, saves {saves} ({level}) of the "
        f"uncertainty, {shown(parts.uncertainty.value)}: the CRPS of always predicting the distribution of "
        "all labels."
    )


def verdicts(
    tests: Mapping[str, HypotestResult], summary: PredictionSummary, level: float
) -> tuple[Verdict, ...]:
    """Return one verdict per statistic, worst first.

    The omnibus test has none of its own: it rejects exactly when one of the adjusted p-values does.
    """
    single = {name: result for name, result in tests.items() if name != "omnibus"}
    made = [(_verdict(name, result, len(single), summary, level), result) for name, result in single.items()]
    return tuple(verdict for verdict, _ in sorted(made, key=lambda entry: _badness(entry[0].word, entry[1])))


def _badness(word: Word, result: HypotestResult) -> tuple[float, ...]:
    # beyond all replicates p-values differ by their tails only; the distance still orders them
    sides = 2 if result.tail == "two-sided" else 1
    beyond = result.pvalue <= sides / (result.n_resamples + 1)
    distance = math.inf if math.isnan(result.z_score) else -round(abs(result.z_score), 6)
    return _ORDER[word], 0.0 if beyond else result.deciding_pvalue, distance


def clearest(tests: Mapping[str, HypotestResult], level: float) -> dict[str, Any] | None:
    """Return the facts of the statistic that is most clearly off; None where none is off by itself."""
    conflicts = [
        test for name, test in tests.items() if name != "omnibus" and test.verdict(level) == "conflict"
    ]
    if not conflicts:
        return None
    worst = at_level(min(conflicts, key=lambda test: _badness("conflict", test)), level)
    named = {"statistic": title(worst.statistic_name), "value": worst.statistic}
    return {**named, "accepted": worst.acceptance_region, **_side(worst.statistic_name, worst)}


def gated(judged: Iterable[Verdict], diagnosis: Diagnosis | None) -> tuple[Verdict, ...]:
    """Return verdicts of parts; they are conflicts only where the one test of everything rejects."""
    if diagnosis is None or diagnosis.word == "conflict":
        return tuple(judged)
    return worst_first(
        dataclasses.replace(verdict, word="no conflict found", facts={**verdict.facts, "is_outweighed": True})
        if verdict.word == "conflict"
        else verdict
        for verdict in judged
    )


def worst_first(unordered: Iterable[Verdict]) -> tuple[Verdict, ...]:
    """Return verdicts of different questions, conflicts first; equal ones stay in their order."""
    return tuple(sorted(unordered, key=lambda verdict: _ORDER[verdict.word]))


def nothing_tested(reason: str) -> Verdict:
    """Return the verdict of an evaluation without tests."""
    return Verdict("cannot tell", None, "nothing tested", {"reason": reason}, "", "", None, None)


def audit_verdict(result: AuditResult) -> Verdict:
    """Return the answer of an audit of groups: the clearest of those that are off leads."""
    worst = next(iter(result.findings), None)
    facts = {
        "answer": result.headline,
        "worst": None if worst is None else worst.group,
        "words": None if worst is None else worst.words,
    }
    return Verdict(
        result.verdict(),
        QUESTIONS["every group"],
        "groups",
        facts,
        f"family-wise p = {shown(result.pvalue)} (Monte-Carlo {shown_range(result.pvalue_interval)})",
        f"n = {result.n}, {counted(result.n_parts, 'group')}, {result.n_resamples} replicates",
        None if worst is None else worst.effect,
        None,
    )


def at_level(result: Test, level: float) -> Test:
    """Return a test with the acceptance region at `level`; without replicates it keeps its own, at 5 %."""
    null = result.null_distribution
    if null is None:
        return result
    region = acceptance_region(null, result.tail, result.statistic_range, level=level)
    return dataclasses.replace(result, acceptance_region=region)


def _verdict(
    name: str, result: HypotestResult, family: int, summary: PredictionSummary, level: float
) -> Verdict:
    tested = at_level(result, level)
    word, limit = tested.verdict(level), tested.acceptance_region
    case, facts = _case(name, tested, word, level, family)
    return Verdict(
        word=word,
        statistic=name,
        case=case,
        facts={
            **tested_facts(name, tested, summary, level),
            "hypothesis": None,
            "is_outweighed": False,
            **facts,
        },
        evidence=evidence(result, family),
        scope=f"n = {result.n}{_in_clusters(result)}, m = {summary.m}, {result.n_resamples} replicates",
        size=result.effect_size,
        limit=limit,
    )


def _in_clusters(result: HypotestResult) -> str:
    return "" if result.n_clusters is None else f" in {result.n_clusters} clusters"


def tested_facts(
    name: str, result: HypotestResult, summary: PredictionSummary, level: float
) -> dict[str, Any]:
    """Return what every sentence about a test needs: the statistic, its value and what is accepted."""
    return {
        "statistic": title(name),
        "value": result.statistic,
        "whose": summary.whose,
        "accepted": result.acceptance_region,
        "sure": 1 - level,
    }


def _case(
    name: str, result: HypotestResult, word: Word, level: float, family: int
) -> tuple[str, dict[str, Any]]:
    """Return what a test of a statistic found, with the facts of this case."""
    low, high = result.acceptance_region
    if word == "conflict":
        return "beyond its region", _side(name, result)
    if word == "no conflict found":
        is_inside = low <= result.statistic <= high
        facts = {"is_bounded_below": not math.isinf(low)}
        return "inside its region" if is_inside else "outside by chance", facts
    details, reason = result.details, result.why_not(level)
    if isinstance(details, CheckDetails) and details.is_beyond_members(result, level):
        return "beyond the members", {"n_members": details.n_members, "pvalue": result.deciding_pvalue}
    if reason:
        return "statistic cannot tell", {"reason": reason}
    # beyond all replicates, and the adjusted p-value does not follow
    enough = fewest_resamples(level / family)
    return "beyond the replicates", {"n_resamples": result.n_resamples, "family": family, "enough": enough}


def _side(name: str, result: HypotestResult) -> dict[str, Any]:
    """Return on which side of what is expected a value lies, and what that means."""
    story, above = story_of(name), result.tail == "greater" or result.effect_size > 0
    return {"above": above, "meaning": story.above if above else story.below}


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
