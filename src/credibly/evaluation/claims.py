"""Sets and intervals that claim a coverage: what they hold, on average and in parts."""

from __future__ import annotations

from typing import Any

import numpy as np

from credibly._arrays.binomial import binomial_pvalue
from credibly.evaluation.commands import ends_command, groups_command
from credibly.evaluation.effect_sentences import Facts
from credibly.evaluation.findings import FEW, Finding, Headline
from credibly.evaluation.words import Verdict, Word, evidence, worst_first
from credibly.evaluation.work import NOT_ASKED, Stage, Work
from credibly.hypotests.calibration.set_coverage import coverage_of
from credibly.predictions import PredictionIntervals, PredictionSets, Rows
from credibly.results.certificates import Certificate
from credibly.results.coverage import SetCoverage, Strata
from credibly.results.estimates import interval_of
from credibly.results.tests import HypotestResult

MARGINAL = "set_coverage"
CONVINCES = 0.05
FEWEST = 10
"""Rows of a part that is named although chance explains it, where there are such parts."""


def _applies(rows: Rows, work: Work) -> str | None:
    claims = isinstance(rows.example.predictions, (PredictionSets, PredictionIntervals))
    return None if claims else NOT_ASKED


def _run(rows: Rows, work: Work) -> SetCoverage:
    coverage = coverage_of(work.single, work.seed, work.n_resamples if work.tests else 0)
    work.tell("coverage", 1, 1)
    return coverage


CLAIMS = Stage("claims", _run, _applies)


def claims_verdicts(
    tests: dict[str, HypotestResult], claims: SetCoverage, level: float
) -> tuple[Verdict, ...]:
    """Return one verdict per test of sets with a claimed coverage, conflicts first."""
    return worst_first(
        Verdict(
            word=test.verdict(level),
            statistic=name,
            case="test of coverage",
            facts=_test_facts(name, test, claims, level),
            evidence=evidence(test, len(tests)),
            scope=f"n = {test.n}, {test.n_resamples} replicates",
            size=test.effect_size,
            limit=test.acceptance_region,
        )
        for name, test in tests.items()
    )


def _test_facts(name: str, result: HypotestResult, claims: SetCoverage, level: float) -> dict[str, Any]:
    facts = {
        **_claimed_and_observed(claims),
        "word": result.verdict(level),
        "accepted": result.acceptance_region,
    }
    strata = {"coverage_by_size": claims.by_size, "coverage_by_group": claims.by_group}.get(name)
    part = None if strata is None else _worst(strata, claims)
    return facts | {"statistic": name, "part": part}


def _claimed_and_observed(claims: SetCoverage) -> dict[str, Any]:
    """Return what was claimed and what is held."""
    observed, interval = float(claims.coverage.value), interval_of(claims.coverage)
    return {"kind": claims.kind, "claimed": claims.claimed, "observed": observed, "interval": interval}


def _worst(strata: Strata, claims: SetCoverage) -> Facts:
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
    return {
        "by": strata.by,
        "name": strata.names[at],
        "kind": claims.kind,
        "observed": float(strata.coverage[at]),
        "n": int(strata.n[at]),
        "gap": float(gap[at]),
        "convinces": bool(convinces[at]),
    }


def claims_headline(claims: SetCoverage, rows: Rows, work: Work) -> Headline:
    """Say whether sets hold what they claim, on average and in parts, and how large they are."""
    tests = dict(work.results["tests"] or {})
    coverage = _claimed_and_observed(claims)
    gap, interval = claims.claimed - coverage["observed"], coverage["interval"]
    if rows.example.clusters is None:
        hits = round(coverage["observed"] * claims.n)
        bound = Certificate(
            "coverage", abs(gap), 1 - work.level, claims.n, hits=hits, confidence=claims.claimed
        ).upper
    else:  # no bound for every truth is known: the end of the interval of clusters
        bound = max(abs(claims.claimed - end) for end in interval or (0.0, 1.0))
    off = [name for name, test in tests.items() if test.verdict(work.level) == "conflict"]
    worst = _worst_part(claims, off)
    dangerous = worst is not None and worst["gap"] > 0
    word: Word = "cannot tell"
    reason = None
    if off:
        word = "conflict"
        case = "wrong coverage in parts"
        if MARGINAL in off and (gap > 0 or not dangerous):
            case = "coverage too low" if gap > 0 else "coverage too high"
    elif not tests:
        case = "coverage not tested"
    elif all(test.verdict(work.level) == "cannot tell" for test in tests.values()):
        case, reason = "too few for coverage", tests[MARGINAL].why_not(work.level)
    elif bound > FEW:
        case = "too few for coverage"
    else:
        case, word = "no sign of wrong coverage", "no conflict found"
    facts: dict[str, Any] = {**coverage, "size": gap, "n": rows.n, "n_clusters": work.summary.n_clusters}
    facts |= {"worst": worst, "on_average": MARGINAL in off, "reason": reason}
    facts |= {"bound": bound, "sure": 1 - work.level, **_remedy(claims, off, case)}
    facts["interval"] = None if interval is None else tuple(claims.claimed - end for end in interval[::-1])
    words = _words_of(tests, word, work.level)
    asked = (_average(claims, tests, words), *_everywhere(claims, tests, words))
    finding = Finding("headline", word, case, facts)
    return Headline(finding, work.margin, bound, asked, _steps(claims, rows, word, work))


def _words_of(tests: dict[str, HypotestResult], headline: Word, level: float) -> dict[str, Word]:
    """Return the word of every test; none finds no conflict where the headline cannot tell."""
    words: dict[str, Word] = {name: test.verdict(level) for name, test in tests.items()}
    if headline == "cannot tell":
        words = dict.fromkeys(words, headline)
    return words


def _remedy(claims: SetCoverage, off: list[str], case: str) -> dict[str, Any]:
    """Return what would mend it; a fault of a part is not mended by moving all ends alike."""
    if not off:
        return {}
    if case == "wrong coverage in parts":
        return {"remedy": "calibrate in parts", "by_group": "coverage_by_group" in off}
    if claims.widen is None:
        return {"remedy": "choose the threshold again"}
    return {"remedy": "move the ends", "widen": claims.widen}


def _steps(claims: SetCoverage, rows: Rows, word: Word, work: Work) -> tuple[tuple[str, str], ...]:
    """Say what to do next: recalibrate intervals as quantiles, and look at groups."""
    if word == "cannot tell":
        return ()
    steps = []
    tests = dict(work.results["tests"] or {})
    marginal = tests.get(MARGINAL)
    if claims.kind == "intervals" and marginal is not None and marginal.verdict(work.level) == "conflict":
        repair = "Recalibrate the ends as quantiles, then evaluate on new data."
        steps.append((repair, ends_command(work, claims.claimed)))
    if rows.example.groups is None:
        first = f"Before you repair the {claims.kind}, see" if word == "conflict" else "See"
        where = f"{first} which groups of the data are covered too rarely or too often."
        steps.append((where, groups_command(work)))
    return tuple(steps)


def _worst_part(claims: SetCoverage, off: list[str]) -> Facts | None:
    """Return the worst part among groups and sizes that are off: below the claim first, then by its gap."""
    strata = {"coverage_by_group": claims.by_group, "coverage_by_size": claims.by_size}
    parts = [
        _worst(stratum, claims) for name, stratum in strata.items() if name in off and stratum is not None
    ]
    return max(parts, key=lambda part: (part["convinces"], part["gap"] > 0, abs(part["gap"])), default=None)


def _average(claims: SetCoverage, tests: dict[str, HypotestResult], words: dict[str, Word]) -> Finding:
    test = tests.get(MARGINAL)
    facts = {
        **_claimed_and_observed(claims),
        "pvalue": None if test is None else test.pvalue,
        "by_clusters": test is not None and test.n_clusters is not None,
        "mean_size": float(claims.size.value),
        "score": None if claims.score is None else float(claims.score.value),
        "empty": claims.empty if claims.kind == "sets" else 0.0,
    }
    return Finding("claimed", words.get(MARGINAL, "cannot tell"), "coverage on average", facts)


def _everywhere(
    claims: SetCoverage, tests: dict[str, HypotestResult], words: dict[str, Word]
) -> list[Finding]:
    """Answer whether the claim holds in all parts; nothing where nothing was tested."""
    parts = [name for name in tests if name != MARGINAL]
    if not parts:
        return []
    verdicts = {words[name] for name in parts}
    answer: Word = "no conflict found" if verdicts == {"no conflict found"} else "cannot tell"
    if "conflict" in verdicts:
        answer = "conflict"
    strata = [
        stratum
        for stratum in (claims.by_group, claims.by_size)
        if stratum is not None and len(stratum.names) > 1
    ]
    facts = {
        "parts": tuple(_worst(stratum, claims) for stratum in strata),
        "pvalue": min(tests[name].deciding_pvalue for name in parts),
    }
    return [Finding("parts", answer, "coverage in parts", facts)]
