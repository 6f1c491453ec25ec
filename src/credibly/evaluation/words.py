"""Verdicts in words: three answers, each with size and limit, worst first.

Warnings say what is unusual about predictions and labels and changes how far the numbers carry.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, TypeVar

import numpy as np

from credibly._arrays.namespace import namespace, to_host
from credibly._arrays.notes import counted, unsaid
from credibly._arrays.sums import State, count_cells
from credibly.diagnosis import Diagnosis
from credibly.evaluation.numbers import joined, percent, shown, shown_range
from credibly.evaluation.rows import PredictionSummary, has_counts
from credibly.hypotests.resampling.pvalues import acceptance_region, fewest_resamples
from credibly.predictions import Classes, ClassPredictions, Dataset, Rows, as_point
from credibly.predictions.passes import Sums, on_host
from credibly.results.audit import AuditResult
from credibly.results.base import Result
from credibly.results.decompositions import CrpsDecomposition
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
    joined = ", with quantiles joined by straight lines" * ("quantiles" in parts.loss.settings)
    return (
        f"{begin} costs {costs} of the CRPS of {shown(parts.loss.value)} ({level}{joined}), which "
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
    own = [one for name, one in tests.items() if name != "omnibus" and one.verdict(level) == "conflict"]
    if not own:
        return None
    worst = at_level(min(own, key=lambda one: _badness("conflict", one)), level)
    story, above = story_of(worst.statistic_name), worst.tail == "greater" or worst.effect_size > 0
    return {
        "statistic": story.title,
        "value": worst.statistic,
        "accepted": worst.acceptance_region,
        "above": above,
        "meaning": story.above if above else story.below,
    }


def gated(found: Iterable[Verdict], diagnosis: Diagnosis | None) -> tuple[Verdict, ...]:
    """Return verdicts of parts; they are conflicts only where the one test of everything rejects."""
    if diagnosis is None or diagnosis.word == "conflict":
        return tuple(found)
    return worst_first(
        dataclasses.replace(one, word="no conflict found", finding=f"{one.finding} {_EXPLAINED}")
        if one.word == "conflict"
        else one
        for one in found
    )


_EXPLAINED = "Among all that was tested, chance explains one such deviation: no conflict found."


def worst_first(found: Iterable[Verdict]) -> tuple[Verdict, ...]:
    """Return verdicts of different questions, conflicts first; equal ones stay in their order."""
    return tuple(sorted(found, key=lambda one: _ORDER[one.word]))


def nothing_tested(reason: str) -> Verdict:
    """Return the verdict of an evaluation without tests."""
    finding = (
        "No calibration test was run, so this report cannot say whether the predictions are calibrated: "
        f"{reason}."
    )
    return Verdict("cannot tell", None, finding, "", "", None, None)


def audit_verdict(result: AuditResult) -> Verdict:
    """Return the answer of an audit of groups: the clearest of those that are off leads."""
    finding = result.headline
    worst = result.findings[:1]
    if worst:
        finding += f" Clearest: {worst[0].group}, {worst[0].words}."
    scope = f"n = {result.n}, {result.n_groups} groups, {result.n_resamples} replicates"
    return Verdict(
        result.verdict(),
        "Does this hold for every group?",
        finding,
        f"family-wise p = {shown(result.pvalue)} (Monte-Carlo {shown_range(result.pvalue_interval)})",
        scope,
        worst[0].effect if worst else None,
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
    return Verdict(
        word=word,
        statistic=name,
        finding=_finding(name, tested, word, summary, level, family),
        evidence=evidence(result, family),
        scope=f"n = {result.n}{_in_clusters(result)}, m = {summary.m}, {result.n_resamples} replicates",
        size=result.effect_size,
        limit=limit,
    )


def _in_clusters(result: HypotestResult) -> str:
    return "" if result.n_clusters is None else f" in {result.n_clusters} clusters"


def _finding(
    name: str, result: HypotestResult, word: Word, summary: PredictionSummary, level: float, family: int
) -> str:
    start = f"{title(name)} {shown(result.statistic)}{summary.whose}"
    region = shown_range(result.acceptance_region)
    if word == "conflict":
        story = story_of(name)
        higher = result.tail == "greater" or result.effect_size > 0
        meaning = story.above if higher else story.below
        return (
            f"{start} is {'above' if higher else 'below'} what would be expected if these predictions were "
            f"right ({percent(1 - level)} acceptance {region}): {meaning}."
        )
    low, high = result.acceptance_region
    if word == "no conflict found" and not low <= result.statistic <= high:
        return (
            f"{start}: no conflict found. It lies outside its own {percent(1 - level)} acceptance region "
            f"({region}), but among several statistics one such deviation is not surprising."
        )
    if word == "no conflict found":
        anything = region if math.isinf(low) else f"anything from {region}"
        return f"{start}: no conflict found, but this check would accept {anything}."
    details = result.details
    if isinstance(details, CheckDetails) and details.is_beyond_members(result, level):
        return (
            f"{start}: cannot tell. None of these {details.n_members} members explains it "
            f"({percent(1 - level)} acceptance {region}), but if they are a sample of more, another might "
            f"(p = {shown(result.deciding_pvalue)} with the truth as one more member)."
        )
    reason = result.why_not(level)
    if not reason:  # beyond all replicates, and the adjusted p-value does not follow
        return (
            f"{start}: cannot tell. It lies beyond all {result.n_resamples} replicates "
            f"({percent(1 - level)} acceptance {region}), but with so few it could still be chance among "
            f"{family} statistics; {fewest_resamples(level / family)} are enough."
        )
    return f"{start}: cannot tell, because {reason}."


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


FEW_INSTANCES = 100
FEW_PER_CLASS = 5
_MOST_CLASSES = 2048
_OFFSETS = (-3, -2, -1, 1, 2, 3)
MISREAD = ("swapped classes", "labels off by a row", "inverted")
"""Faults of the reading of data, which the diagnosis names."""

_SHARED_TRUTH = (
    "the curves use the labels of all raters, which are not independent within an instance, so a band for "
    "independent labels would be too narrow; tests use one label per instance"
)


def surveyed(rows: Rows) -> Sums:
    """Count what is unusual about the rows, in one pass; the notes are those of all rows."""
    return rows.merged([count_oddities])[0]


def count_oddities(chunk: Dataset) -> Sums:
    """Count certain and tied predictions and the labels of every class among the rows of a chunk."""
    if not isinstance(chunk.predictions, ClassPredictions):
        return Sums({}, chunk.predictions.notes)
    point, notes = as_point(chunk.predictions)
    xp = namespace(point.probs)
    confidence = xp.max(point.probs, axis=-1)
    tied = xp.sum(xp.astype(point.probs == confidence[:, None], xp.int64), axis=-1) > 1
    counts = State(
        certain=xp.sum(xp.astype(confidence >= 1.0, xp.int64)), tied=xp.sum(xp.astype(tied, xp.int64))
    )
    states = {"predictions": on_host(counts)}
    if isinstance(chunk.batch, Classes):
        counts = count_cells(chunk.batch.values, chunk.batch.n_classes)
        states["labels"] = State(counts=to_host(counts)[0])
        if chunk.batch.n_classes <= _MOST_CLASSES:
            states["confusion"] = _confusion(point.probs, chunk.batch)
    return Sums(states, notes)


def _confusion(probs: Any, batch: Classes) -> State:
    """Count predicted against observed classes, also of the rows before and after, and add up confidence."""
    xp = namespace(probs)
    confidence = to_host(xp.max(probs, axis=-1))
    predicted, observed = to_host(xp.argmax(probs, axis=-1)), to_host(batch.values)[0].astype(np.int64)
    k = batch.n_classes
    table = np.bincount(predicted * k + observed, minlength=k * k)
    # label i + by beside prediction i
    shifted = [
        int((predicted[:-by] == observed[by:]).sum() if by > 0 else (predicted[-by:] == observed[:by]).sum())
        for by in _OFFSETS
    ]
    return State(table=table, shifted=np.array(shifted), stated=np.array(confidence.sum(dtype=np.float64)))


def data_warnings(
    rows: Rows,
    survey: Sums,
    classes: Sequence[str],
    source: Mapping[str, Any],
    diagnosis: Diagnosis | None,
) -> tuple[str, ...]:
    """Return one sentence per oddity, those of the reading of the file first."""
    # the headline says it where it is the fault
    misread = (
        () if diagnosis is not None and diagnosis.fault in MISREAD else _misread(survey, rows.n, classes)
    )
    found = list(misread)
    found += source_warnings(source)
    found += unsaid(rows.notes, found)
    if rows.n < FEW_INSTANCES:
        count = f"{'is' if rows.n == 1 else 'are'} only {counted(rows.n, 'instance')}"
        found.append(f"There {count}: expect wide intervals and wide acceptance regions.")
    some = rows.sample.predictions
    if isinstance(some, ClassPredictions):
        found += _precision(some)
        found += _probabilities(survey.states["predictions"], rows.n)
        if "labels" in survey.states:
            found += _labels(survey.states["labels"]["counts"], classes)
    return tuple(found)


def _misread(survey: Sums, n: int, classes: Sequence[str]) -> tuple[str, ...]:
    """Say it where another order of the classes, or labels a few rows off, would explain a poor accuracy.

    Far below what the model states means by a fifth and by six standard errors; explained, that the other
    reading makes up for two thirds of the gap. Each class has to be renamed by at least a few instances.
    """
    if "confusion" not in survey.states or n < FEW_INSTANCES:
        return ()
    counts = survey.states["confusion"]
    k = len(classes)
    table = np.asarray(counts["table"]).reshape(k, k)
    accuracy, stated = float(np.trace(table)) / n, float(counts["stated"]) / n
    gap = stated - accuracy
    if gap < max(0.2, 6 * math.sqrt(stated * (1 - stated) / n)):
        return ()
    shifted = np.asarray(counts["shifted"]) / n
    best = int(np.argmax(shifted))
    if shifted[best] - accuracy >= 2 / 3 * gap and shifted[best] - accuracy >= 0.2:
        by = _OFFSETS[best]
        where = f"{abs(by)} row{'s' * (abs(by) > 1)} {'later' if by > 0 else 'earlier'}"
        words = (
            f"Check the rows first: the accuracy is {accuracy:.1%} although the model states {stated:.1%}; "
            f"with labels {where} it would be {shifted[best]:.1%}. Labels and predictions seem offset."
        )
        return (words,)
    from scipy.optimize import linear_sum_assignment  # slow to load, and few data need it

    rows, columns = linear_sum_assignment(-table)
    permuted = float(table[rows, columns].sum()) / n
    if n < 10 * k or permuted - accuracy < max(0.2, 2 / 3 * gap):
        return ()
    moved = [(classes[i], classes[j]) for i, j in zip(rows, columns, strict=True) if i != j]
    shown = ", ".join(f"{one} for {other}" for one, other in moved[:4]) + (", ..." if len(moved) > 4 else "")
    words = (
        f"Check the order of the classes first: the accuracy is {accuracy:.1%} although the model states "
        f"{stated:.1%}; with other names it would be {permuted:.1%} (predicted {shown}). Columns and "
        "labels are probably in a different order."
    )
    return (words,)


def n_dropped(source: Mapping[str, Any]) -> int:
    """Return how many rows were left out when the data were read."""
    dropped = source.get("dropped") or 0
    return dropped if isinstance(dropped, int) else len(dropped)


def source_warnings(source: Mapping[str, Any]) -> tuple[str, ...]:
    """Return what the reader of the file had to say."""
    rows = n_dropped(source)
    found = [f"{counted(rows, 'row was', 'rows were')} dropped when the data were read."] if rows else []
    return (*found, *(str(note) for note in source.get("notes") or ()))


def input_limits(rows: Rows) -> tuple[tuple[str, str], ...]:
    """Return what this kind of input leaves untested, and why."""
    found = []
    if has_counts(rows):
        found.append(("consistency bands", _SHARED_TRUTH))
    return tuple(found)


def _precision(predictions: ClassPredictions) -> list[str]:
    dtype = str(predictions._leading.dtype)
    if dtype.endswith("float16"):
        return [f"Predictions are stored as {dtype}: probabilities carry about three digits."]
    return []


def _probabilities(counts: State, n: int) -> list[str]:
    found = []
    certain, ties = int(counts["certain"]), int(counts["tied"])
    if certain:
        found.append(f"{certain} of {n} instances are predicted with probability exactly 1.")
    if ties:
        found.append(
            f"In {ties} of {n} instances several classes share the largest probability; the first of these "
            f"counts as predicted."
        )
    return found


def _labels(counts: Any, classes: Sequence[str]) -> list[str]:
    found = []
    absent = [name for name, count in zip(classes, counts, strict=True) if count == 0]
    if absent:
        found.append(f"{counted(len(absent), 'class has', 'classes have')} no instance: {joined(absent)}.")
    rare = [name for name, count in zip(classes, counts, strict=True) if 0 < count < FEW_PER_CLASS]
    if rare:
        found.append(
            f"{counted(len(rare), 'class has', 'classes have')} fewer than {FEW_PER_CLASS} instances: "
            f"{joined(rare)}."
        )
    return found
