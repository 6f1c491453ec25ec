"""The questions of the first screen: what each finds, as facts. The sentences are in `sentences`."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from operator import attrgetter
from typing import Any

import numpy as np
from scipy.special import bdtr

from credibly._arrays.namespace import to_host
from credibly.diagnosis import Diagnosis, Effect
from credibly.evaluation.commands import fit_command
from credibly.evaluation.findings import Finding
from credibly.evaluation.levels import own_level
from credibly.evaluation.set_tests import CredalParts
from credibly.evaluation.stages import INTERVAL, check_verdicts
from credibly.evaluation.words import Verdict
from credibly.evaluation.work import Work
from credibly.predictions import Confidence, Ensemble, Point, RealPredictions, Rows
from credibly.predictions.top_lists import is_open, more_options
from credibly.results.certificates import Certificate
from credibly.results.curves import EnvelopeCurve, SpreadCurve
from credibly.results.estimates import interval_of
from credibly.results.numbers import percents
from credibly.statistics import picp
from credibly.statistics.spread import NO_SPREAD

_SEEN = {
    "seen by a statistic": "compared by a statistic",
    "seen by the test": "compared by the test",
}
"""Cases of a headline without a single clear effect, and those of the question what is wrong."""
_REPAIR = attrgetter("fault", "method", "by")
BEYOND_REPAIR = ("inverted", "labels off by a row")
"""Faults of the data, which no recalibration repairs."""


def _label_facts(classes: Sequence[str], place: int | None) -> dict[str, Any]:
    """Return the name of a class in a sentence; those that are called by numbers are called classes."""
    if place is None:
        return {"label": None, "is_numbered": False}
    name = classes[place] if place < len(classes) else str(place)
    is_numbered = name.replace(".", "").lstrip("-").isdigit()
    return {"label": f"class {name}" if is_numbered else name, "is_numbered": is_numbered}


def effect_facts(effect: Effect, classes: Sequence[str]) -> dict[str, Any]:
    """Return an effect as facts of a sentence, its class by name."""
    claim, part = effect.claim, ""
    if claim.between is not None and (claim.between[0] <= 0.0) != (claim.between[1] >= 1.0):
        part = "lowest" if claim.between[0] <= 0.0 else "highest"
    return {
        "measure": claim.measure,
        **_label_facts(classes, claim.label),
        "group": claim.group,
        "between": claim.between,
        "part": part,
        "level": claim.level,
        "stated": effect.stated,
        "observed": effect.observed,
        "size": effect.size,
        "interval": effect.interval,
        "n": effect.n,
        "remains": effect.remains,
    }


def questions(rows: Rows, work: Work, diagnosis: Diagnosis, headline: Finding) -> tuple[Finding, ...]:
    """Answer all questions that such data allow."""
    every = [
        *_raters(work),
        *_ignorance(work),
        _what(work, diagnosis, headline),
        _repairs(work, diagnosis, headline),
        _left(work, diagnosis),
    ]
    if isinstance(rows.example.predictions, RealPredictions):
        every += _real_questions(work, headline.word)
    else:
        every += [_errors(work), *_spread(rows, work)]
    return tuple(finding for finding in every if finding is not None)


def untested_questions(work: Work) -> tuple[Finding, ...]:
    """Answer the questions that need no test."""
    return (*_raters(work), *(() if work.results["curves"] is None else (_errors(work),)))


def _what(work: Work, diagnosis: Diagnosis, headline: Finding) -> Finding:
    facts = effect_facts(diagnosis.effect, work.classes) | {"pvalue": diagnosis.pvalue}
    case = "compared" if headline.word == "conflict" else "calm"
    if headline.case in _SEEN:
        case, facts = _SEEN[headline.case], dict(headline.facts)
    elif headline.word == "conflict":
        facts |= {name: headline.facts[name] for name in facts if name in headline.facts}
    return Finding("what", headline.word, case, facts)


def repair_facts(work: Work, diagnosis: Diagnosis) -> list[dict[str, Any]]:
    """Return what each repair gains on held-out rows, the best first, and which one was chosen."""
    return [
        {
            "method": repair.method,
            "by": repair.by,
            "gain": repair.gain,
            "stderr": repair.stderr,
            "chosen": diagnosis.repair is not None and _REPAIR(repair) == _REPAIR(diagnosis.repair),
            "of_answers": work.summary.kind == Confidence.__name__,
        }
        for repair in diagnosis.repairs
    ]


def _repairs(work: Work, diagnosis: Diagnosis, headline: Finding) -> Finding | None:
    if diagnosis.word != "conflict" or not diagnosis.repairs:
        return None
    if diagnosis.fault in BEYOND_REPAIR:
        return Finding("repairs", "", "beyond repair", {})
    tried = repair_facts(work, diagnosis)
    if diagnosis.repair is None:
        helps = diagnosis.fault == "no skill" and tried[0]["gain"] > 2 * tried[0]["stderr"]
        case = "no repair helps" if helps else "no repair pays"
        return Finding("repairs", "", case, {**tried[0], "tried": tried})
    chosen = next(row for row in tried if row["chosen"])
    facts = {
        **chosen,
        "tried": tried,
        "effect": effect_facts(diagnosis.effect, work.classes)
        if headline.facts["remedy"] == "repair"
        else None,
        "command": fit_command(work, diagnosis.repair.method, diagnosis.repair.by),
    }
    return Finding("repairs", "", "repaired", facts)


def _left(work: Work, diagnosis: Diagnosis) -> Finding | None:
    """Say what is left after the repair, and for which groups."""
    audit = work.results.get("audit")
    n_groups = 0 if audit is None else audit.n_parts
    if diagnosis.word != "conflict":
        return (
            None if audit is None else Finding("left", diagnosis.word, "every group", {"n_groups": n_groups})
        )
    repaired = diagnosis.repair is not None and diagnosis.effect.remains is not None
    listed = () if audit is None else audit.findings
    worst = next((group for group in listed if group.conditions), None)  # all rows are no group
    second = None if diagnosis.second is None else effect_facts(diagnosis.second, work.classes)
    if not repaired and second is None and audit is None:
        return None
    facts = {
        "effect": effect_facts(diagnosis.effect, work.classes) if repaired else None,
        "second": second,
        "n_groups": n_groups,
        "worst": None if worst is None else str(worst.group),
        "words": None if worst is None else worst.words,
    }
    # what is off before the repair is no verdict about what is left
    word = "conflict" if second is not None or (worst is not None and not repaired) else ""
    return Finding("left", word, "left", facts)


def _errors(work: Work) -> Finding:
    """Answer whether the surest answers are right more often."""
    diagnosis: Diagnosis | None = work.results["diagnosis"]
    curve = work.results["curves"].risk_coverage["confidence"]
    risk, half = float(curve.risk[-1]), float(np.interp(0.5, curve.coverage, curve.risk))
    interval = interval_of(curve.area) or (0.0, 1.0)
    if not curve.area.has_interval and curve.area.n_clusters is None:
        interval = _by_halves(curve.n, half, risk)
    word, case = "cannot tell", "not shown to mark"
    if risk == 0:
        case = "no mistakes"
    elif risk == 1:
        case = "no right answer"
    elif np.ptp(curve.threshold) == 0:
        case = "equally sure"
    elif interval[1] < risk:
        word, case = "yes", "marks mistakes"
    elif interval[0] > risk and diagnosis is not None and diagnosis.word == "conflict":  # one test decides
        word, case = "no", "misleads"
    return Finding("errors", word, case, {"n": curve.n, "half": half, "risk": risk, "interval": interval})


def _by_halves(n: int, half: float, risk: float) -> tuple[float, float]:
    """Return an interval without `risk` where the surest half has too few, or too many, of the mistakes.

    Used where the area has no interval. In random order the mistakes of half of the rows are hypergeometric.
    """
    wrong, in_half = round(n * risk), round(n * half / 2)
    # a binomial with the same mean is more spread out, so its tails are on the safe side
    fewer, more = bdtr(in_half, wrong, 0.5), 1.0 - bdtr(in_half - 1, wrong, 0.5) if in_half else 1.0
    if fewer <= 0.025:
        return 0.0, half
    return (half, 1.0) if more <= 0.025 else (0.0, 1.0)


def _spread(rows: Rows, work: Work) -> tuple[Finding, ...]:
    """Answer whether members disagree, or sets are wide, as they should; nothing for single distributions."""
    members = isinstance(rows.example.predictions, Ensemble)
    question = "Is the width of its sets believable?"
    if members:
        question = "Is the disagreement of its members believable?"
    elif isinstance(work.sets.example.predictions, Point):
        question = "Does it predict how people disagree?"
    if members and not _disagree(rows.example.predictions):
        return (Finding("spread", "cannot tell", "members agree", {"question": question}),)
    findings = []
    if work.results.get("validity") is not None:
        pairs = _pairs_of_raters(work) if isinstance(rows.example.predictions, Point) else None
        findings += [_of_part(verdict, question, pairs) for verdict in work.results["validity"].answers]
    if work.results.get("credal") is not None:
        findings.append(_credal(work.results["credal"], question, work))
    if work.results.get("check") is not None:
        checked = check_verdicts(work.results["check"], work.summary, own_level("check", work))
        findings += [_of_part(verdict, question) for verdict in checked[:1]]
    worst = next((finding for finding in findings if finding.word == "conflict"), None)
    return tuple(findings[:1]) if worst is None else (worst,)


def _of_part(verdict: Verdict, question: str, pairs: tuple[float, float] | None = None) -> Finding:
    facts = {**verdict.facts, "question": question, "pairs": pairs}
    return Finding("spread", verdict.word, verdict.case, facts)


def _pairs_of_raters(work: Work) -> tuple[float, float] | None:
    """Return how often the model says that two raters of an instance disagree, and how often they do."""
    raters = work.results.get("raters")
    if raters is None:
        return None
    pairs = raters.disagreement
    return float(pairs.predicted.value), float(pairs.observed.value)


def _disagree(ensemble: Any) -> bool:
    """Tell whether any member differs from the first, beyond rounding."""
    probs = to_host(ensemble.probs)
    return bool((np.abs(probs - probs[:, :1]) > 1e-9).any())


def _credal(credal: CredalParts, question: str, work: Work) -> Finding:
    """Answer whether the set holds the truth, and say where it does not."""
    first = credal.verdicts[0]
    facts: dict[str, Any] = {"question": question, "pvalue": credal.validity.pvalue}
    if first.word == "conflict":
        facts["where"] = credal.validity.details.where(work.options)
        return Finding("spread", first.word, "outside sets", facts)
    listed = getattr(work.sets.example.predictions, "listed", None)
    if first.word == "no conflict found" and listed is not None and is_open(to_host(listed)):
        facts |= {"open": float(to_host(listed)[:, 3].mean()), "more": more_options(to_host(listed))}
        return Finding("spread", "cannot tell", "lists too short", facts)
    if first.word == "no conflict found":
        return Finding("spread", first.word, "inside sets", facts)
    return _of_part(first, question)


def _raters(work: Work) -> tuple[Finding, ...]:
    """Say how much of the loss is the model's, where several people labelled."""
    raters = work.results.get("raters")
    if raters is None:
        return ()
    loss, total = raters.loss, float(raters.loss.expected.value)
    word = "cannot tell"
    if loss.epistemic.has_interval:
        word = "conflict" if raters.pvalue <= own_level("raters", work) else "no conflict found"
    share = min(1.0, max(0.0, float(loss.epistemic.value) / total)) if total > 0 else 0.0
    facts = {"share": share, "total": total, "word": word, "interval": interval_of(loss.epistemic)}
    return (Finding("raters", word, "loss of the model", facts),)


def _ignorance(work: Work) -> tuple[Finding, ...]:
    """Compare stated with supported ignorance, and say what repairs it."""
    part = work.results.get("ignorance")
    if part is None:
        return ()
    level = own_level("ignorance", work)
    facts = part.stated.facts(level) | {"repaired": None}
    if part.repaired is not None:
        facts["repaired"] = part.repaired.facts(level)
        command = fit_command(work, "ignorance")
        facts |= {"command": command}
    return (Finding("ignorance", part.stated.verdict(level), "stated ignorance", facts),)


# ------------------------------------------------------------------------------------------- real values


def coverage_bound(rows: Rows, work: Work) -> dict[str, Any]:
    """Return how far the coverage of central intervals is from the stated one at most; None where unknown."""
    parts = work.results.get("reals")
    if parts is None or parts.coverage is None:
        return {"bound": None, "interval_level": None, "as_stated": True}
    place = _at_level(parts.coverage, INTERVAL)
    stated, observed, expected = place["stated"], place["observed"], place["expected"]
    about = {"interval_level": stated, "as_stated": expected == stated}
    if rows.example.clusters is not None:
        ends = interval_of(picp(*rows.arguments, level=stated)) or (0.0, 1.0)
        return {"bound": max(abs(expected - end) for end in ends), **about}
    hits = round(observed * rows.n)  # independent events, as right answers are
    off = abs(expected - observed)
    bound = Certificate("coverage", off, 1 - work.level, rows.n, hits=hits, confidence=expected).upper
    return {"bound": float(bound), **about}


def _at_level(curve: EnvelopeCurve, level: float) -> dict[str, float]:
    return _at(curve, int(np.abs(curve.levels - level).argmin()))


def _at(curve: EnvelopeCurve, place: int) -> dict[str, float]:
    """Return what is stated, observed and expected at a place of a curve."""
    names = {"stated": curve.levels, "observed": curve.observed, "expected": curve.expected}
    return {name: float(values[place]) for name, values in names.items()}


def _real_questions(work: Work, word: str) -> list[Finding]:
    """Answer whether intervals, quantiles and spreads are believable."""
    parts = work.results.get("reals")
    if parts is None:
        return []
    findings = []
    curve: EnvelopeCurve | None = parts.coverage
    if curve is not None:
        width = parts.width if parts.label_width else None
        facts: dict[str, Any] = {**_at_level(curve, INTERVAL), "pvalue": curve.pvalue}
        facts |= {"width": width, "label_width": parts.label_width}
        findings.append(Finding("coverage", _word(curve.pvalue, work.level, word), "intervals", facts))
    pit: EnvelopeCurve = parts.pit
    facts = {**_at_level(pit, 0.5), "pvalue": pit.pvalue, "worst": _worst(pit)}
    findings.append(Finding("where", _word(pit.pvalue, work.level, word), "quantiles", facts))
    return [*findings, *_stated_spread(parts, work, word)]


def _word(pvalue: float, level: float, word: str) -> str:
    """Return the verdict of a part: a conflict only where the one test of everything finds one."""
    return word if word != "conflict" or pvalue <= level else "no conflict found"


def _worst(curve: EnvelopeCurve) -> Mapping[str, float] | None:
    """Return the quantile that is farthest off, unless it is the median or looks right."""
    near = int(np.abs(curve.levels - 0.5).argmin())
    worst = int(np.abs(curve.observed - curve.expected).argmax())
    place = _at(curve, worst)
    same = percents(place["observed"]) == percents(place["expected"])
    return None if worst == near or same else place


def _stated_spread(parts: Any, work: Work, word: str) -> list[Finding]:
    """Answer whether errors follow the stated spread; nothing where one spread is stated for all."""
    curve: SpreadCurve | None = parts.spread
    if curve is None or curve.stated.size < 2:
        return []
    tests = dict(work.results["tests"] or {})
    tested = [tests[name] for name in ("spread_slope", "ence") if name in tests]
    least = min((test.deciding_pvalue for test in tested), default=None)
    # equal draws have a spread of 0 only up to rounding
    stated = np.where(curve.observed < math.sqrt(NO_SPREAD) * curve.stated, curve.stated, 0.0)
    facts = {
        "ends": tuple((float(stated[at]), float(curve.observed[at])) for at in (0, -1)),
        "expected": _of_few_draws(curve) if work.summary.kind == "Samples" else None,
        "pvalue": least,
    }
    own_word = _word(1.0 if least is None else least, work.level, word)
    return [Finding("stated", own_word, "errors by spread", facts)]


def _of_few_draws(curve: SpreadCurve) -> tuple[tuple[float, float], ...] | None:
    """Return what errors right draws show at both ends, where they are too few to state their own spread."""
    if curve.band is None:
        return None
    low, high = curve.band
    ends = tuple((float(low[at]), float(high[at])) for at in (0, -1))
    stated = [float(curve.stated[at]) for at in (0, -1)]
    fits = all(least <= value <= most for value, (least, most) in zip(stated, ends, strict=True))
    return None if fits else ends
