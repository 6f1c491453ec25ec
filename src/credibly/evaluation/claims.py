"""Sets and intervals that claim a coverage: what they hold, said in words. They have no other statistics."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from credibly._arrays.notes import capital
from credibly.evaluation.commands import ends_command, groups_command
from credibly.evaluation.findings import FEW, Finding, Headline
from credibly.evaluation.numbers import at_most, p_is, percent, percents, points, shown, shown_range
from credibly.evaluation.questions import interval_of
from credibly.evaluation.sentences import instances
from credibly.evaluation.words import Verdict, Word, evidence, title, worst_first
from credibly.evaluation.work import NOT_ASKED, Stage, Work
from credibly.hypotests.calibration.set_coverage import binomial_pvalue, coverage_of
from credibly.predictions import PredictionIntervals, PredictionSets, Rows
from credibly.results.certificates import Certificate
from credibly.results.coverage import SetCoverage, Strata
from credibly.results.tests import HypotestResult

MARGINAL = "set_coverage"
CONVINCES = 0.05
FEWEST = 10
"""Rows of a part that is named although chance explains it, where there are such parts."""


def _applies(rows: Rows, work: Work) -> str | None:
    claims = isinstance(rows.sample.predictions, (PredictionSets, PredictionIntervals))
    return None if claims else NOT_ASKED


def _run(rows: Rows, work: Work) -> SetCoverage:
    found = coverage_of(work.single, work.seed, work.n_resamples if work.tests else 0)
    work.tell("coverage", 1, 1)
    return found


CLAIMS = Stage("claims", _run, _applies)


def claims_verdicts(
    tests: dict[str, HypotestResult], claims: SetCoverage, level: float
) -> tuple[Verdict, ...]:
    """Return one verdict per test of sets with a claimed coverage, conflicts first."""
    return worst_first(
        Verdict(
            word=one.verdict(level),
            statistic=name,
            finding=_finding(name, one, claims, level),
            evidence=evidence(one, len(tests)),
            scope=f"n = {one.n}, {one.n_resamples} replicates",
            size=one.effect_size,
            limit=one.acceptance_region,
        )
        for name, one in tests.items()
    )


def _finding(name: str, result: HypotestResult, claims: SetCoverage, level: float) -> str:
    word = result.verdict(level)
    if name == MARGINAL:
        said = f"{_held(claims)}; chance alone would explain {shown_range(result.acceptance_region)}"
        return f"{capital(said)}: {word}."
    told = {
        "coverage_by_size": lambda: _worst(claims.by_size, claims).words,
        "coverage_by_group": lambda: "" if claims.by_group is None else _worst(claims.by_group, claims).words,
        "coverage_by_features": lambda: (
            f"features {'predict' if word == 'conflict' else 'do not predict'} which labels are missed"
        ),
    }[name]()
    return f"{capital(title(name))}: {told}: {word}."


def _held(claims: SetCoverage) -> str:
    """Say what was claimed and what is held."""
    (observed,) = percents(float(claims.coverage.value))
    return f"its {percent(claims.claimed)} {claims.kind} contain {observed} of the labels"


def _members(strata: Strata, at: int, claims: SetCoverage) -> str:
    """Say which part of the instances is meant."""
    name = strata.names[at]
    if strata.by == "group":
        return f"in group {name}"
    if claims.kind == "intervals":
        return f"with intervals {name} wide"
    return "of empty sets" if name == "0" else f"of sets with {name} class{'es' * (name != '1')}"


@dataclasses.dataclass(frozen=True)
class _Part:
    """One part of the instances: where it is, what it holds, and whether its rows convince on their own."""

    where: str
    coverage: float
    n: int
    gap: float
    convinces: bool

    @property
    def words(self) -> str:
        """Return "60 % of the labels in group young are covered (n = 100), 30 points too few"."""
        (observed,) = percents(self.coverage)
        few = "few" if self.gap > 0 else "many"
        said = f"{observed} of the labels {self.where} are covered (n = {self.n})"
        return f"{said}, {points(self.gap)} too {few}" if abs(self.gap) >= 0.0005 else said


def _worst(strata: Strata, claims: SetCoverage) -> _Part:
    """Return the part that matters most: the farthest below the claim, else the farthest above.

    Only rows that convince count, each part by its exact p-value times the number of parts: one missed label
    is no evidence. Where none convinces, it is the part that chance explains worst.
    """
    hits = np.round(strata.coverage * strata.n)
    chance = np.array(
        [binomial_pvalue(int(hit), int(n), claims.claimed) for hit, n in zip(hits, strata.n, strict=True)]
    )
    gap = claims.claimed - strata.coverage
    convinces = chance * len(chance) <= CONVINCES
    below = convinces & (gap > 0)
    if below.any():
        at = int(np.where(below, gap, -np.inf).argmax())
    elif convinces.any():
        at = int(np.where(convinces, gap, np.inf).argmin())
    else:
        enough = strata.n >= min(FEWEST, int(strata.n.max()))
        at = int(np.where(enough, chance, np.inf).argmin())
    return _Part(
        _members(strata, at, claims),
        float(strata.coverage[at]),
        int(strata.n[at]),
        float(gap[at]),
        bool(convinces[at]),
    )


def claims_headline(claims: SetCoverage, rows: Rows, work: Work) -> Headline:
    """Say whether sets hold what they claim, on average and in parts, and how large they are."""
    tests = dict(work.found["tests"] or {})
    gap = claims.claimed - float(claims.coverage.value)
    interval = interval_of(claims.coverage)
    if rows.sample.clusters is None:
        hits = round(float(claims.coverage.value) * claims.n)
        bound = Certificate(
            "coverage", abs(gap), 1 - work.level, claims.n, hits=hits, confidence=claims.claimed
        ).upper
    else:  # no bound for every truth is known: the end of the interval of clusters
        bound = max(abs(claims.claimed - end) for end in interval or (0.0, 1.0))
    off = [name for name, one in tests.items() if one.verdict(work.level) == "conflict"]
    held, clusters = f"{_held(claims)}{_within(interval)}", work.summary.n_clusters
    chance = "more than chance explains"
    if clusters is not None:
        chance += f" in {clusters} independent clusters of rows"
    seen, sure = instances(rows.n, clusters), percent(1 - work.level)
    word: Word = "conflict" if off else "no conflict found"
    worst = _worst_part(claims, off)
    dangerous = worst is not None and worst.gap > 0
    small, large = ("Too narrow", "Too wide") if claims.kind == "intervals" else ("Too small", "Too large")
    if MARGINAL in off and gap > 0:
        sentence = f"{small}: {held}, {points(gap)} too few, {chance}."
        if worst is not None and dangerous and worst.gap > gap:
            sentence += f" Worst: {worst.words}."
    elif MARGINAL in off and not dangerous:
        sentence = f"{large}: {held}, {points(gap)} too many, {chance}."
    elif off:
        right = interval is None or interval[0] <= claims.claimed <= interval[1]
        start = "Right on average, but not everywhere" if right else "Not as claimed everywhere"
        if MARGINAL in off:
            start = f"{large} on average, but {small.lower()} in part"
        where = "its features predict which labels are missed" if worst is None else worst.words
        sentence = f"{start}: {held}, but {where}, {chance}."
    elif not tests:
        word, sentence = "cannot tell", f"Not tested: {held}; whether chance explains it was not tested."
    elif all(one.verdict(work.level) == "cannot tell" for one in tests.values()):
        word = "cannot tell"
        sentence = f"Too few data to tell: {held}, and {tests[MARGINAL].why_not(work.level)}."
    elif bound > FEW:
        word = "cannot tell"
        sentence = (
            f"Too few data to tell: with {seen}, the coverage of its {percent(claims.claimed)} "
            f"{claims.kind} could still be off by up to {at_most(bound)} ({sure} confidence)."
        )
    else:
        sentence = (
            f"No sign of wrong coverage in {seen}: {_held(claims)}; their true coverage is "
            f"within {at_most(bound)} of the claim, {sure} sure."
        )
    words = _words_of(tests, word, work.level)
    asked = (_average(claims, tests, words), *_everywhere(claims, tests, words))
    leads = worst if worst is not None and not (MARGINAL in off and (gap > 0 or not dangerous)) else None
    off_by = None if interval is None else (claims.claimed - interval[1], claims.claimed - interval[0])
    facts: dict[str, Any] = {"sentence": sentence, "size": gap, "interval": off_by}
    remedy = _remedy(claims, off, leads)
    if remedy:
        facts |= {"remedy": "told", "help": remedy}
    finding = Finding("headline", word, "told", facts)
    return Headline(finding, work.margin, bound, asked, _steps(claims, rows, word, work))


def _within(interval: tuple[float, float] | None) -> str:
    return "" if interval is None else f" (95 %: {100 * interval[0]:.1f} to {100 * interval[1]:.1f})"


def _words_of(tests: dict[str, HypotestResult], headline: Word, level: float) -> dict[str, Word]:
    """Return the word of every test; none finds no conflict where the headline cannot tell."""
    words: dict[str, Word] = {name: one.verdict(level) for name, one in tests.items()}
    if headline == "cannot tell":
        words = dict.fromkeys(words, headline)
    return words


def _remedy(claims: SetCoverage, off: list[str], leads: _Part | None) -> str:
    """Say what would mend it; a fault of a part is not mended by moving all ends alike."""
    if not off:
        return ""
    if MARGINAL not in off or leads is not None:
        how = "within groups" if "coverage_by_group" in off else "by their size or by features"
        return f"Calibrate the {claims.kind} {how}, on held-out labels: one change for all would not mend it."
    if claims.widen is None:
        return (
            "Choose the threshold of the sets again on held-out labels from the same source: their conformal "
            f"quantile at {percent(claims.claimed)}."
        )
    way = "out" if claims.widen > 0 else "in"
    if not np.isfinite(claims.widen):
        return "Too few labels to say how far the ends must be moved out."
    return (
        f"Moving both ends of every interval {way} by {shown(abs(claims.widen))} would mend it on average "
        "(conformal quantile of these labels)."
    )


def _steps(claims: SetCoverage, rows: Rows, word: Word, work: Work) -> tuple[tuple[str, str], ...]:
    """Say what to do next: recalibrate intervals as quantiles, and look at groups."""
    if word == "cannot tell":
        return ()
    steps = []
    tests = dict(work.found["tests"] or {})
    marginal = tests.get(MARGINAL)
    if claims.kind == "intervals" and marginal is not None and marginal.verdict(work.level) == "conflict":
        repair = "Recalibrate the ends as quantiles, then evaluate on new data."
        steps.append((repair, ends_command(work, claims.claimed)))
    if rows.sample.groups is None:
        first = f"Before you repair the {claims.kind}, see" if word == "conflict" else "See"
        where = f"{first} which groups of the data are covered too rarely or too often."
        steps.append((where, groups_command(work)))
    return tuple(steps)


def _worst_part(claims: SetCoverage, off: list[str]) -> _Part | None:
    """Return the worst part among groups and sizes that are off: below the claim first, then by its gap."""
    strata = {"coverage_by_group": claims.by_group, "coverage_by_size": claims.by_size}
    parts = [_worst(one, claims) for name, one in strata.items() if name in off and one is not None]
    return max(parts, key=lambda one: (one.convinces, one.gap > 0, abs(one.gap)), default=None)


def _average(claims: SetCoverage, tests: dict[str, HypotestResult], words: dict[str, Word]) -> Finding:
    own = tests.get(MARGINAL)
    said = f"{capital(_held(claims))}{_within(interval_of(claims.coverage))}."
    if own is not None:
        how = "exact binomial" if own.n_clusters is None else "signs of clusters"
        said = f"{said[:-1]}, {p_is(own.pvalue)} ({how})."
    what = "they are {} wide" if claims.kind == "intervals" else "they contain {} classes"
    said += f" On average {what.format(shown(float(claims.size.value)))}"
    if claims.score is not None:
        said += f"; their interval score is {shown(float(claims.score.value))}"
    if claims.empty and claims.kind == "sets":
        said += f", and {percents(claims.empty)[0]} of them are empty"
    question = f"Do its {claims.kind} contain as many labels as they claim?"
    facts = {"question": question, "sentence": f"{said}."}
    return Finding("claimed", words.get(MARGINAL, "cannot tell"), "told", facts)


def _everywhere(
    claims: SetCoverage, tests: dict[str, HypotestResult], words: dict[str, Word]
) -> list[Finding]:
    """Answer whether the claim holds in all parts; nothing where nothing was tested."""
    parts = [name for name in tests if name != MARGINAL]
    if not parts:
        return []
    found = {words[name] for name in parts}
    answer: Word = "no conflict found" if found == {"no conflict found"} else "cannot tell"
    if "conflict" in found:
        answer = "conflict"
    compared = [one for one in (claims.by_group, claims.by_size) if one is not None and len(one.names) > 1]
    said = [_worst(one, claims).words for one in compared]
    least = min(tests[name].deciding_pvalue for name in parts)
    farthest = f"Most in doubt: {'; '.join(said)}. " if said else ""
    sentence = f"{farthest}Smallest adjusted p = {shown(least)}."
    question = "Is the claimed coverage reached everywhere in the data?"
    return [Finding("parts", answer, "told", {"question": question, "sentence": sentence})]
