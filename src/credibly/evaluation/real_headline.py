"""The headline of real values: biased, too narrow, too wide or too extreme, by how much, and what helps."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from credibly._arrays.notes import capital
from credibly.evaluation.findings import Answer
from credibly.evaluation.phrases import interval_of, percents
from credibly.evaluation.stages import INTERVAL
from credibly.evaluation.words import Word, p_is, shown
from credibly.evaluation.work import Work
from credibly.predictions import Rows
from credibly.results.certificates import Certificate
from credibly.results.curves import EnvelopeCurve, SpreadCurve
from credibly.statistics import picp
from credibly.statistics.spread import NO_SPREAD

_BESIDE = 0.015
"""How near levels are whose shares must be off in the direction of the median's to call it a bias."""


def coverage_bound(rows: Rows, work: Work) -> float | None:
    """Return how far the coverage of central intervals is from the stated one at most; None where unknown."""
    parts = work.found.get("reals")
    if parts is None or parts.coverage is None:
        return None
    curve: EnvelopeCurve = parts.coverage
    at = int(np.abs(curve.levels - INTERVAL).argmin())
    stated, observed, expected = (float(one[at]) for one in (curve.levels, curve.observed, curve.expected))
    if rows.sample.clusters is not None:
        ends = interval_of(picp(*rows.arguments, level=stated)) or (0.0, 1.0)
        return max(abs(expected - end) for end in ends)
    hits = round(observed * rows.n)  # independent events, as right answers are
    off = abs(expected - observed)
    return float(Certificate("coverage", off, 1 - work.level, rows.n, hits=hits, confidence=expected).upper)


def real_questions(work: Work) -> list[Answer]:
    """Answer whether intervals, quantiles and spreads are believable."""
    parts = work.found.get("reals")
    if parts is None:
        return []
    one: Word = work.found["diagnosis"].word
    calm: Word = "no conflict found" if one == "conflict" else one
    questions = []
    curve: EnvelopeCurve | None = parts.coverage
    if curve is not None:
        at = int(np.abs(curve.levels - INTERVAL).argmin())
        stated, observed, expected = (
            float(one[at]) for one in (curve.levels, curve.observed, curve.expected)
        )
        held = f"its {percents(stated)[0]} intervals contain {percents(observed)[0]} of the labels"
        held += _tied(stated, expected)
        questions.append(
            Answer(
                "coverage",
                "Do its intervals contain as many labels as they promise?",
                _word(curve.pvalue, work, calm),
                f"{capital(held)} ({p_is(curve.pvalue)} over intervals of all sizes).{_sharpness(parts)}",
            )
        )
    near = int(np.abs(parts.pit.levels - 0.5).argmin())
    worst = int(np.abs(parts.pit.observed - parts.pit.expected).argmax())
    said = _below(parts.pit, near)
    questions.append(
        Answer(
            "where",
            "Where does it fail?",
            _word(parts.pit.pvalue, work, calm),
            f"{said}{_elsewhere(parts.pit, worst) if worst != near else ''} ({p_is(parts.pit.pvalue)}).",
        )
    )
    return [*questions, *_spread_answer(parts, work, calm)]


def _word(pvalue: float, work: Work, calm: Word) -> Word:
    """Return the verdict of a part: a conflict only where the one test of everything finds one."""
    conflict = work.found["diagnosis"].word == "conflict" and pvalue <= work.level
    return "conflict" if conflict else calm


def _sharpness(parts: Any) -> str:
    """Say how wide its intervals are, beside the one interval that all labels need."""
    if parts.width is None or not parts.label_width:
        return ""
    return (
        f" On average they are {shown(parts.width)} wide; without a model, one interval for all labels would "
        f"be {shown(parts.label_width)} wide."
    )


def _below(curve: EnvelopeCurve, at: int) -> str:
    """Say what share of the labels lies below a quantile."""
    level, expected = float(curve.levels[at]), float(curve.expected[at])
    named = "median" if abs(level - 0.5) < 1e-9 else f"{shown(100 * level)} % quantile"
    where = "below" if expected == level else "at or below"
    share = percents(float(curve.observed[at]))[0]
    return f"{share} of the labels lie {where} the predicted {named}{_tied(level, expected)}"


def _elsewhere(curve: EnvelopeCurve, at: int) -> str:
    """Say at which quantile the share of labels differs most from what should be below it, if so."""
    level, expected = float(curve.levels[at]), float(curve.expected[at])
    share, right = percents(float(curve.observed[at])), percents(expected)
    if share == right:
        return ""
    where, more = ("below", "") if expected == level else ("at or below", f" instead of {right[0]}")
    quantile = f"{shown(100 * level)} % quantile"
    return f"; the largest difference is at the {quantile}, {where} which {share[0]} of the labels lie{more}"


def _spread_answer(parts: Any, work: Work, other: Word) -> list[Answer]:
    """Answer whether errors follow the stated spread; nothing where one spread is stated for all."""
    curve = parts.spread
    if curve is None or curve.stated.size < 2:
        return []
    tests = dict(work.found["tests"] or {})
    own = [tests[name] for name in ("spread_slope", "ence") if name in tests]
    conflict = any(one.verdict(work.level) == "conflict" for one in own)
    # equal draws have a spread of 0 only up to rounding
    stated = np.where(curve.observed < math.sqrt(NO_SPREAD) * curve.stated, curve.stated, 0.0)
    ends = [
        f"{shown(float(curve.observed[at]))} where it states {shown(float(stated[at]))}" for at in (0, -1)
    ]
    said = f"Its errors (root mean square) are {ends[0]} and {ends[1]}"
    said += _of_few_draws(curve) if work.summary.kind == "Samples" else ""
    said += f" ({p_is(min(one.deciding_pvalue for one in own))} over all stated spreads)." if own else "."
    return [Answer("stated", "Are errors as large as it says?", "conflict" if conflict else other, said)]


def _of_few_draws(curve: SpreadCurve) -> str:
    """Say what errors right draws show at both ends, where they are too few to state their own spread."""
    if curve.band is None:
        return ""
    ends = [(float(curve.stated[at]), *(float(one[at]) for one in curve.band)) for at in (0, -1)]
    if all(low <= stated <= high for stated, low, high in ends):
        return ""
    expected = " and ".join(f"{shown(low)} to {shown(high)}" for _, low, high in ends)
    return f"; {expected} are expected because draws are few"


def _tied(level: float, expected: float) -> str:
    """Say what share is right where it is not the level."""
    if expected == level:
        return ""
    return f" ({percents(expected)[0]} are expected, because draws are few or repeat)"
