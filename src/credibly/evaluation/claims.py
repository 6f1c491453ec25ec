"""Sets and intervals that claim a coverage: what they hold, said in words. They have no other statistics."""

from __future__ import annotations

import numpy as np

from credibly._arrays.notes import capital
from credibly.evaluation.commands import file_of, groups_command
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
        "coverage_by_size": lambda: _part(claims.by_size, claims),
        "coverage_by_group": lambda: "" if claims.by_group is None else _part(claims.by_group, claims),
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


def _part(strata: Strata, claims: SetCoverage) -> str:
    """Say which part chance explains worst, each by its exact p-value."""
    hits = np.round(strata.coverage * strata.n)
    chance = [
        binomial_pvalue(int(hit), int(n), claims.claimed) for hit, n in zip(hits, strata.n, strict=True)
    ]
    at = int(np.argmin(chance))
    (observed,) = percents(float(strata.coverage[at]))
    return f"{observed} of the labels {_members(strata, at, claims)} are covered (n = {int(strata.n[at])})"


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
    if MARGINAL in off:
        small, large = (
            ("Too narrow", "Too wide") if claims.kind == "intervals" else ("Too small", "Too large")
        )
        fewer = "few" if gap > 0 else "many"
        sentence = f"{small if gap > 0 else large}: {held}, {points(gap)} too {fewer}, {chance}."
    elif off:
        where = _worst_part(claims, off)
        right = interval is None or interval[0] <= claims.claimed <= interval[1]
        start = "Right on average, but not everywhere" if right else "Not as claimed everywhere"
        sentence = f"{start}: {held}, but {where}, {chance}."
    elif not tests:
        word, sentence = "cannot tell", f"Not tested: {held}; whether chance explains it was not tested."
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
    questions = (_average(claims, tests, word, off), *_everywhere(claims, tests, word, off))
    remedy = ""
    if MARGINAL in off:
        remedy = f"Recalibrating the {claims.kind} on held-out labels from the same source would help."
    elif off:
        remedy = f"Calibrating the {claims.kind} within groups, or depending on features, would help."
    facts = {
        "sentence": sentence,
        "size": gap,
        "interval": None
        if interval is None
        else (claims.claimed - interval[1], claims.claimed - interval[0]),
    }
    if remedy:
        facts |= {"remedy": "told", "help": remedy}
    finding = Finding("headline", word, "told", facts)
    return Headline(finding, work.margin, bound, questions, _steps(claims, rows, word, work))


def _within(interval: tuple[float, float] | None) -> str:
    return "" if interval is None else f" (95 %: {100 * interval[0]:.1f} to {100 * interval[1]:.1f})"


def _steps(claims: SetCoverage, rows: Rows, word: Word, work: Work) -> tuple[tuple[str, str], ...]:
    """Say what to do next; sets are repaired where they are made, and groups are looked at here."""
    if word == "cannot tell" or rows.sample.groups is not None:
        return ()
    first = f"Before you repair the {claims.kind}, see" if word == "conflict" else "See"
    where = f"{first} which groups of the data are covered too rarely or too often."
    return ((where, groups_command(file_of(work))),)


def _worst_part(claims: SetCoverage, off: list[str]) -> str:
    """Say where coverage is off although it is right on average: the first of group, size and features."""
    if "coverage_by_group" in off and claims.by_group is not None:
        return _part(claims.by_group, claims)
    if "coverage_by_size" in off:
        return _part(claims.by_size, claims)
    return "its features predict which labels are missed"


def _average(claims: SetCoverage, tests: dict[str, HypotestResult], word: Word, off: list[str]) -> Finding:
    own = tests.get(MARGINAL)
    answer: Word = "conflict" if MARGINAL in off else word if word != "conflict" else "no conflict found"
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
    return Finding("claimed", answer, "told", {"question": question, "sentence": f"{said}."})


def _everywhere(
    claims: SetCoverage, tests: dict[str, HypotestResult], word: Word, off: list[str]
) -> list[Finding]:
    """Answer whether the claim holds in all parts; nothing where nothing was tested."""
    parts = [name for name in tests if name != MARGINAL]
    if not parts:
        return []
    own = [name for name in parts if name in off]
    answer: Word = "conflict" if own else word if word != "conflict" else "no conflict found"
    compared = [one for one in (claims.by_size, claims.by_group) if one is not None and len(one.names) > 1]
    said = [_part(one, claims) for one in compared]
    least = min(tests[name].deciding_pvalue for name in parts)
    farthest = f"Farthest from the claim: {'; '.join(said)}. " if said else ""
    sentence = f"{farthest}Smallest adjusted p = {shown(least)}."
    question = "Is the claimed coverage reached everywhere in the data?"
    return [Finding("parts", answer, "told", {"question": question, "sentence": sentence})]
