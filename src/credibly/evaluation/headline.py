"""What a reader wants to know first: what is wrong, by how much, what repairs it, and what is left.

The headline is the diagnosis as a case with its facts; `questions` adds the others, `sentences` the words.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from credibly.diagnosis import Diagnosis
from credibly.diagnosis.diagnose import FEWEST, diagnosed, seen_rows
from credibly.evaluation.claims import claims_headline
from credibly.evaluation.commands import audit_command, fit_command, plan_command
from credibly.evaluation.findings import FEW, Finding, Headline
from credibly.evaluation.levels import own_level, share_level
from credibly.evaluation.questions import (
    BEYOND_REPAIR,
    coverage_bound,
    effect_facts,
    questions,
    untested_questions,
)
from credibly.evaluation.rows import open_width
from credibly.evaluation.sentences import repair_name
from credibly.evaluation.words import clearest
from credibly.evaluation.work import NOT_ASKED, Stage, Work
from credibly.hypotests import plan_labels
from credibly.hypotests.calibration.certificate import average_gaps
from credibly.predictions import ClassPredictions, InMemory, RealPredictions, Rows
from credibly.predictions.confidence import OUTCOMES
from credibly.results.estimates import interval_of
from credibly.statistics import confidence_gap

POWER = 0.8
RARE = 0.1
"""An event less frequent than this is judged by its own frequency."""
WITHOUT_NUMBERS = ("vector", "curve", "isotonic")
"""Repairs whose many numbers no sentence holds."""
SEEN = "seen by the test"
"""The case of a test that rejects, where no single effect is clear."""
SKILLED = 1.64
"""Standard errors by which a model must beat the base rates to be called better."""


def _diagnosis_applies(rows: Rows, work: Work) -> str | None:
    some = rows.example.predictions
    if not work.tests or not isinstance(some, (ClassPredictions, RealPredictions)):
        return NOT_ASKED
    return None if rows.n >= FEWEST else NOT_ASKED


def _run_diagnosis(rows: Rows, work: Work) -> Diagnosis:
    """Diagnose the rows; tests of the evaluation share the replicates, so that one error rate holds."""
    seen, groups = seen_rows(rows, work.attributes)
    others = None
    omnibus = (work.results["tests"] or {}).get("omnibus")
    if omnibus is not None and omnibus.null_distribution is not None and len(seen) == rows.n:
        scores = np.concatenate([[omnibus.statistic], omnibus.null_distribution])
        others = -np.log(10.0) * scores
    level = own_level("diagnosis", work)
    return diagnosed(InMemory(seen), groups, level, work.n_resamples, work.seed, others)


DIAGNOSIS = Stage("diagnosis", _run_diagnosis, _diagnosis_applies)


def _headline(rows: Rows, work: Work) -> Headline:
    """Say what is wrong, by how much, and what repairs it."""
    diagnosis: Diagnosis | None = work.results["diagnosis"]
    if not work.tests:
        return _untested(rows, work, "tests were switched off")
    if diagnosis is None and rows.n >= FEWEST:
        return _untested(rows, work, "no test takes such predictions")
    limit = _limit(rows, work)
    enough = limit["bound"] is None or limit["bound"] <= FEW  # labels, whatever lists leave open
    if limit["bound"] is not None and work.sets is not work.single:
        limit["bound"] = min(1.0, limit["bound"] + open_width(work.sets))
    size = {"n": rows.n, "n_clusters": work.summary.n_clusters, "sure": 1 - work.level}
    if diagnosis is None:
        return _too_few(rows, work, {**limit, **size}, ())
    bound = limit["bound"]
    finding = Finding("headline", diagnosis.word, "no sign", {**limit, **size, "skill": _skill(diagnosis)})
    if diagnosis.word == "conflict":
        finding = _conflict(rows, work, diagnosis)
    elif min(diagnosis.effect.observed, diagnosis.effect.stated) > 1.0 - 1e-9:
        finding = Finding("headline", "no conflict found", "certain", {**limit, **size})
    elif diagnosis.word == "cannot tell" or not enough:
        few = Finding("headline", "cannot tell", "too few", {})
        return _too_few(rows, work, {**limit, **size}, questions(rows, work, diagnosis, few))
    asked = questions(rows, work, diagnosis, finding)
    return Headline(finding, work.margin, bound, asked, _steps(work, diagnosis))


def _conflict(rows: Rows, work: Work, diagnosis: Diagnosis) -> Finding:
    """Return what is wrong; where the fault is not clear, what a statistic or the average shows."""
    finding = fault_finding(diagnosis, work.classes, work.margin)
    if finding.case == SEEN:
        facts = clearest(work.results["tests"] or {}, work.level)
        if facts is None:
            return finding
        return Finding("headline", "conflict", "seen by a statistic", {**finding.facts, **facts})
    gap = None if finding.facts["is_clear"] else _gap(rows, work)
    if gap is not None and _is_clear(gap["interval"]):  # the average shows what no single claim does
        return Finding("headline", "conflict", "temperature", {**finding.facts, **gap})
    return finding


def fault_finding(diagnosis: Diagnosis, classes: Sequence[str], margin: float) -> Finding:
    """Return the case of a fault, with its effect, what a repair leaves, and what else is wrong."""
    case, direction = _case(diagnosis)
    if case == SEEN:
        return Finding(
            "headline", "conflict", case, {"pvalue": diagnosis.pvalue, "n_clusters": diagnosis.n_clusters}
        )
    is_small, relative, limit = _small(diagnosis, margin)
    is_clear = _is_clear(diagnosis.effect.interval)
    facts = {
        **effect_facts(diagnosis.effect, classes),
        "fault": diagnosis.fault,
        "direction": direction,
        "pvalue": diagnosis.pvalue,
        "n_clusters": diagnosis.n_clusters,
        "second": None if diagnosis.second is None else effect_facts(diagnosis.second, classes),
        "besides": None if diagnosis.besides is None else effect_facts(diagnosis.besides, classes),
        "is_clear": is_clear,
        "pays": diagnosis.repair is not None,
        "is_small": is_small and case != "swapped classes",
        "relative": relative,
        "limit": limit,
    }
    repair = diagnosis.repair
    if repair is not None:
        of_answers = tuple(classes) == OUTCOMES
        named = repair_name({"method": repair.method, "by": repair.by, "of_answers": of_answers})
        facts |= {
            "remedy": "repair"
            if is_clear and diagnosis.effect.remains is not None
            else "repair without a size",
            "method": repair.method,
            "repair": repair.description if repair.method not in WITHOUT_NUMBERS else named,
            "gain": repair.gain,
            "error": 2.0 * repair.stderr,
        }
    return Finding("headline", "conflict", case, facts)


def _gap(rows: Rows, work: Work) -> dict[str, Any] | None:
    """Return the gap between confidence and accuracy as facts; None where predictions have none."""
    if work.results["curves"] is None:
        return None
    gap = work.results["estimates"].get(confidence_gap.name) or confidence_gap(*rows.arguments)
    observed = 1.0 - float(work.results["curves"].risk_coverage["confidence"].risk[-1])
    size = float(gap.value)
    return {
        "measure": "confidence",
        "label": None,
        "group": None,
        "between": None,
        "level": None,
        "stated": observed + size,
        "observed": observed,
        "size": size,
        "interval": interval_of(gap),
        "is_clear": True,
        "direction": 1 if size > 0 else -1,
        "n": gap.n,
    }


def _is_clear(interval: tuple[float, float] | None) -> bool:
    """Tell whether an interval is on one side of 0."""
    return interval is not None and not interval[0] < 0.0 < interval[1]


def _case(diagnosis: Diagnosis) -> tuple[str, int]:
    """Return how a fault is spoken of, and its direction."""
    claim, sign = diagnosis.effect.claim, 1 if diagnosis.effect.size > 0 else -1
    if diagnosis.fault in (*BEYOND_REPAIR, "no skill"):
        return diagnosis.fault, diagnosis.direction
    if diagnosis.fault == "none" or (diagnosis.repair is None and not _is_clear(diagnosis.effect.interval)):
        return SEEN, diagnosis.direction  # an effect that is noise is not what the test saw
    if diagnosis.fault in ("temperature", "group temperature") and claim.label is not None:
        return "sure of the other class", diagnosis.direction
    of_answers = (
        claim.measure == "confidence"
    )  # right or wrong: of two classes such faults are about the event
    if of_answers and diagnosis.fault in ("bias", "group bias", "bias+temperature", "group bias+temperature"):
        return "temperature", sign
    if diagnosis.fault == "bias+temperature" and claim.between is None:
        return ("temperature" if claim.label is None else "bias"), sign
    return diagnosis.fault, diagnosis.direction


def _small(diagnosis: Diagnosis, margin: float) -> tuple[bool, bool, float]:
    """Tell whether a difference of shares does not matter; rare events are judged by their frequency."""
    effect = diagnosis.effect
    if effect.claim.measure not in ("confidence", "class", "coverage"):
        return False, False, margin
    shares = effect.stated, effect.observed
    often = min(
        *shares, *(1.0 - share for share in shares)
    )  # a table of two classes may have the event first
    relative = effect.claim.measure == "class" and often < RARE
    limit = margin / RARE if relative else margin
    size = max(map(abs, effect.interval))
    return size < limit * (often if relative else 1.0), relative, limit


def _limit(rows: Rows, work: Work) -> dict[str, Any]:
    """Return what the average gap is at most, at the confidence of the evaluation; None where unknown."""
    if isinstance(rows.example.predictions, RealPredictions):
        return coverage_bound(rows, work)
    bound: float | None = None
    if work.single.clusters is not None:  # no bound for every truth is known: the end of the interval
        gap = work.results["estimates"].get(confidence_gap.name) or confidence_gap(*rows.arguments)
        bound = max(map(abs, interval_of(gap) or (1.0, 1.0)))
    elif isinstance(rows.example.predictions, ClassPredictions):
        bound = max(float(certificate.upper) for certificate in average_gaps(work.single, 1 - work.level))
    return {"bound": bound, "interval_level": None, "as_stated": True}


def _skill(diagnosis: Diagnosis) -> str:
    """Return whether a calibrated model says more than base rates do."""
    if diagnosis.fault == "no skill":
        return "none"
    return "not shown" if diagnosis.skill < SKILLED else ""


def _too_few(rows: Rows, work: Work, facts: dict[str, Any], asked: tuple[Finding, ...]) -> Headline:
    """Say how far the model could still be off, and how many labels would tell."""
    wanted = _labels_wanted(rows, work)
    steps: tuple[tuple[str, str], ...] = ()
    if wanted is not None:
        facts = {**facts, "remedy": "more labels", "wanted": wanted, "margin": work.margin, "power": POWER}
        steps = ((f"Label more instances, about {wanted}, and look again.", plan_command(work)),)
    return Headline(
        Finding("headline", "cannot tell", "too few", facts), work.margin, facts["bound"], asked, steps
    )


def _untested(rows: Rows, work: Work, reason: str) -> Headline:
    facts: dict[str, Any] = {"reason": reason}
    facts |= _gap(rows, work) or {}
    finding = Finding("headline", "cannot tell", "untested", facts)
    return Headline(finding, work.margin, None, untested_questions(work), ())


# ---------------------------------------------------------------------------------------------- what to do


def _steps(work: Work, diagnosis: Diagnosis) -> tuple[tuple[str, str], ...]:
    """Return what to do next, each with a command."""
    stated = work.results.get("ignorance")
    if stated is None or stated.word != "conflict":
        return _main_steps(work, diagnosis)
    repair = ("Repair the stated ignorance, then test it on new data.", fit_command(work, "ignorance"))
    return (*_main_steps(work, diagnosis), repair)


def _main_steps(work: Work, diagnosis: Diagnosis) -> tuple[tuple[str, str], ...]:
    if diagnosis.word != "conflict":
        where = "Look at parts of the data: a model can be right on average and wrong for some groups."
        return () if work.results.get("audit") is not None else ((where, audit_command(work)),)
    looked = work.results.get("audit") is not None  # the page has the groups that were named
    if diagnosis.repair is None and (looked or diagnosis.fault in BEYOND_REPAIR):
        return ()
    if diagnosis.repair is None:
        return (("Look for groups of the data where the fault is larger.", audit_command(work)),)
    return (
        (
            "Repair, then evaluate on new data.",
            fit_command(work, diagnosis.repair.method, diagnosis.repair.by),
        ),
    )


def _labels_wanted(rows: Rows, work: Work) -> str | None:
    """Return how many labels show a gap of the margin with a probability of 80 %."""
    classes = isinstance(rows.example.predictions, ClassPredictions)
    if not work.margin or rows.example.clusters is not None or not classes:
        return None
    wanted = plan_labels(rows, gap=work.margin, level=1 - work.level, power=POWER).instances
    return f"{float(f'{wanted:.2g}'):,.0f}".replace(",", " ")


def _run(rows: Rows, work: Work) -> Headline:
    share_level(work)
    if work.results["claims"] is not None:
        return claims_headline(work.results["claims"], rows, work)
    return _headline(rows, work)


HEADLINE = Stage("headline", _run)
