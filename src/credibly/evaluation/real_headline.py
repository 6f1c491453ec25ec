"""The headline of real values: biased, too narrow, too wide or too extreme, by how much, and what helps."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from credibly._arrays.namespace import HostArray
from credibly._arrays.notes import capital
from credibly.evaluation.findings import Answer, Headline
from credibly.evaluation.phrases import (
    FEW,
    again_command,
    at_most,
    clustered,
    compare_command,
    file_of,
    fit_command,
    groups_of,
    interval_of,
    percents,
    points,
    seen,
    sure,
)
from credibly.evaluation.stages import INTERVAL
from credibly.evaluation.words import Word, p_is, shown, verdicts
from credibly.evaluation.work import Work
from credibly.predictions import Rows
from credibly.recalibrate import QuantileShift, SpreadScaling
from credibly.recalibrate.comparison import REAL_METHODS
from credibly.results.certificates import Certificate
from credibly.results.curves import EnvelopeCurve, SpreadCurve
from credibly.statistics import picp
from credibly.statistics.registry import story_of
from credibly.statistics.spread import NO_SPREAD

_BESIDE = 0.015
"""How near levels are whose shares must be off in the direction of the median's to call it a bias."""


def real_headline(rows: Rows, work: Work) -> Headline | None:
    """Return the headline; None where no part for real values was run."""
    parts = work.found.get("reals")
    if parts is None:
        return None
    middle = _at(parts.pit, parts.pit.observed, 0.5)
    centre = _at(parts.pit, parts.pit.expected, 0.5)
    curve: EnvelopeCurve | None = parts.coverage
    most, size, at, stated, expected = None, None, 0, INTERVAL, INTERVAL
    near = int(np.abs(parts.pit.levels - 0.5).argmin())
    said = _below(parts.pit, near)
    conflict = parts.pit.rejects(work.level) or (curve is not None and curve.rejects(work.level))
    word: Word = "conflict" if conflict else "no conflict found"
    held, biased, shifted = "", False, False
    if curve is not None:
        at = int(np.abs(curve.levels - INTERVAL).argmin())
        stated, observed = float(curve.levels[at]), float(curve.observed[at])
        expected = float(curve.expected[at])
        size = expected - observed
        if rows.sample.clusters is None:
            hits = round(observed * rows.n)  # independent events, as right answers are
            bound = Certificate("coverage", abs(size), 1 - work.level, rows.n, hits=hits, confidence=expected)
            most = bound.upper
        else:
            ends = interval_of(picp(*rows.arguments, level=stated)) or (0.0, 1.0)
            most = max(abs(expected - end) for end in ends)
        held = f"its {percents(stated)[0]} intervals contain {percents(observed)[0]} of the labels"
        held += _tied(stated, expected)
    others, tilt = _real_conflicts(work), None if conflict else _tilt(work)
    if tilt is not None:
        word, sentence = "conflict", f"{tilt.said}, {tilt.size}; more than chance explains{clustered(work)}."
    elif not conflict and others:
        word = "conflict"
        sentence = f"Miscalibrated, though not on average: {held or said}. {others[0]}"
    elif conflict:
        # each as a share of the worst that is possible: a median can be off by 50 points only
        worst_size = 1.0 if size is None else expected if size > 0 else 1 - expected
        worst_shift = centre if middle < centre else 1 - centre
        off = abs(middle - centre) / max(worst_shift, 1e-9)
        shifted = _is_shifted(parts.pit, work, near)
        apart = None if curve is None else _off(curve, work)
        wide = apart is not None and apart[at]
        chance = f"more than chance explains{clustered(work)}"
        if shifted and (not wide or off >= abs(size or 0.0) / max(worst_size, 1e-9)):
            biased, way = True, "too low" if middle < centre else "too high"
            sentence = f"Biased: its predictions are {way}; {said}, {chance}."
            sentence += f" And {held}." if held else ""
        elif wide:
            assert size is not None
            sentence = f"{_spread_is(size)}: {held}, {points(size)} {_too_few(size)}; {chance}."
            sentence += f" And {said}." if shifted else ""
        elif curve is not None and apart is not None and apart.any():
            assert size is not None
            sentence = f"{_elsewhere_held(curve, apart, stated, size)}; {chance}. And {held}."
        else:
            far = np.abs(parts.pit.observed - parts.pit.expected)
            worst = int(np.where(_off(parts.pit, work), far, -1.0).argmax())
            sentence = f"Miscalibrated, though not at the median: {_below(parts.pit, worst)}, {chance}."
            sentence += f" And {held}." if held else ""
    elif most is not None and most > FEW:
        word = "cannot tell"
        sentence = (
            f"Too few data to tell: with {seen(rows, work)}, the coverage of its {percents(stated)[0]} "
            f"intervals can be off by as much as {at_most(most)} ({sure(work)} that it is not more)."
        )
    else:
        promised = "what they promise" if expected == stated else "what is expected"
        limit = (
            ""
            if most is None
            else (f"; their true coverage is within {at_most(most)} of {promised}, {sure(work)}")
        )
        sentence = f"No sign of miscalibration in {seen(rows, work)}: {held or said}{limit}."
    questions = []
    other: Word = "cannot tell" if word == "cannot tell" else "no conflict found"
    if curve is not None:
        questions.append(
            Answer(
                "coverage",
                "Do its intervals contain as many labels as they promise?",
                "conflict" if curve.rejects(work.level) else other,
                f"{capital(held)} ({p_is(curve.pvalue)} over intervals of all sizes).{_sharpness(parts)}",
            )
        )
    worst = int(np.abs(parts.pit.observed - parts.pit.expected).argmax())
    questions.append(
        Answer(
            "where",
            "Where does it fail?",
            "conflict" if parts.pit.rejects(work.level) or tilt is not None else other,
            f"{'' if tilt is None else tilt.where}"
            f"{said}{_elsewhere(parts.pit, worst) if worst != near else ''} ({p_is(parts.pit.pvalue)}).",
        )
    )
    questions += _spread_answer(parts, work, other)
    remedy, steps = (
        _real_remedy(work, word, expected - stated, biased=biased, shifted=shifted)
        if tilt is None
        else (tilt.remedy, (("Change the model, then evaluate it again.", again_command(file_of(work))),))
    )
    return Headline(word, sentence, remedy, size, None, work.margin, most, tuple(questions), steps)


def _off(curve: EnvelopeCurve, work: Work) -> HostArray:
    """Tell at which levels chance does not explain what a curve shows: where it is rejected and not inside.

    A rejected curve that leaves its envelope nowhere touches it.
    """
    if not curve.rejects(work.level):
        return np.zeros(curve.levels.shape, dtype=bool)
    touches = (curve.observed <= curve.lower) | (curve.observed >= curve.upper)
    return curve.outside if curve.outside.any() else touches


def _is_shifted(curve: EnvelopeCurve, work: Work, near: int) -> bool:
    """Tell whether the median is off, and quantiles next to it in the same direction.

    Labels that equal their median lie below the next quantile and above the one before.
    """
    apart = curve.observed - curve.expected
    beside = np.abs(curve.levels - curve.levels[near]) < _BESIDE
    return bool(_off(curve, work)[near] and (apart[beside] * apart[near] > 0).all())


class _Tilt(NamedTuple):
    """What is said of means that are too extreme or too timid."""

    said: str
    size: str
    where: str
    remedy: str


def _tilt(work: Work) -> _Tilt | None:
    """Say how means are off if they change too much or too little; None where chance explains it."""
    found = dict(work.found["tests"] or {}).get("mean_slope")
    if found is None or found.verdict(work.level) != "conflict":
        return None
    slope = float(found.statistic)
    way, high, low = ("extreme", "high", "low") if slope < 0 else ("timid", "low", "high")
    off = f"high predictions are too {high} and low ones too {low}"
    shrink = "Shrink them: with more regularisation, or more members."
    stretch = "Let them vary more: with less regularisation, or better features."
    return _Tilt(
        said=f"Too {way}: {off}",
        size=f"by {shown(abs(slope))} of the stated spread for every standard deviation of the predictions",
        where=f"{capital(off)} ({p_is(found.deciding_pvalue)}). ",
        remedy=f"A scale keeps the means. {shrink if slope < 0 else stretch}",
    )


def _too_few(size: float) -> str:
    return "too few" if size > 0 else "too many"


def _spread_is(size: float) -> str:
    return "Too narrow" if size > 0 else "Too wide"


def _elsewhere_held(curve: EnvelopeCurve, off: HostArray, stated: float, size: float) -> str:
    """Say what intervals contain that are off, the farthest of them, where those of the headline are not."""
    apart = curve.expected - curve.observed
    at = int(np.where(off, np.abs(apart), -1.0).argmax())
    level, expected = float(curve.levels[at]), float(curve.expected[at])
    alike = (np.sign(apart[off]) == np.sign(apart[at])).all() and size * apart[at] >= 0
    way = _spread_is(apart[at]) if alike else f"Miscalibrated, though not at {percents(stated)[0]}"
    share = (
        f"its {percents(level)[0]} intervals contain {percents(float(curve.observed[at]))[0]} of the labels"
    )
    return f"{way}: {share}{_tied(level, expected)}, {points(float(apart[at]))} {_too_few(apart[at])}"


def _real_remedy(
    work: Work, word: Word, more: float, *, biased: bool, shifted: bool
) -> tuple[str, tuple[tuple[str, str], ...]]:
    """Return what a scale would do to the intervals in a sentence, and what to do next with a command.

    A scale keeps means and medians, so it is no remedy where these are off. Intervals of few or repeated
    draws should contain `more` labels than they state.
    """
    report = work.found.get("recalibration")
    if word != "conflict" or report is None:
        return "", ()
    file = file_of(work)
    tried = {name: one for name, one in report.methods.items() if one.failure is None}
    off = {
        name: abs(float(change.after.value) - float(change.after.settings["level"]) - more)
        for name, change in ((name, one.changes.get("picp")) for name, one in tried.items())
        if change is not None
    }
    others = (("Compare other recalibrations.", compare_command(file, REAL_METHODS)),)
    if biased and all(name.startswith(SpreadScaling().method) for name in tried):
        step = ("Recalibrate, then evaluate on new data.", fit_command(file, QuantileShift.method))
        return "A scale would keep this bias; shifted quantiles can remove it.", (step, *others)
    if not off:
        return "", others if tried else ()
    name = min(off, key=lambda one: off[one])
    one, change = tried[name], tried[name].changes["picp"]
    stated = float(change.after.settings["level"])
    (level,) = percents(stated)
    before, after = percents(float(change.before.value), float(change.after.value))
    what = capital(one.description)
    kept = shifted and name.startswith(SpreadScaling().method)
    if off[name] < abs(float(change.before.value) - stated - more):
        return (
            (
                f"{what}, fitted on held-out folds, would change the coverage of {level} intervals from "
                f"{before} to {after}{', and keep the medians, which shifted quantiles move' * kept}."
            ),
            (
                ("Recalibrate, then evaluate on new data.", fit_command(file, name, groups_of(work))),
                *others,
            ),
        )
    vain = f"would not help: {level} intervals contain {before} before and {after} after."
    return f"{what}, fitted on held-out folds, {vain}", others


def _real_conflicts(work: Work) -> list[str]:
    """Say what tests of calibration found that neither quantiles nor intervals show, the worst first."""
    found = verdicts(dict(work.found["tests"] or {}), work.summary, work.level)
    said = []
    for one in found:
        if one.word == "conflict" and one.statistic is not None:
            story = story_of(one.statistic)
            way = story.above if one.size is None or one.size > 0 else story.below
            more = "" if "chance" in way else ", more than chance explains"
            said.append(f"{story.title}: {way}{more}.")
    return said


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


def _at(curve: EnvelopeCurve, shares: HostArray, level: float) -> float:
    return float(np.interp(level, curve.levels, shares))
