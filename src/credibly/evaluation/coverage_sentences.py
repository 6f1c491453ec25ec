"""What is said about sets and intervals that claim a coverage: rows of the table in `sentences`."""

from __future__ import annotations

import math
from collections.abc import Callable

from credibly._arrays.notes import capital
from credibly.evaluation.effect_sentences import Facts
from credibly.results.numbers import (
    at_most,
    chance_excluded,
    instances,
    p_is,
    percent,
    percents,
    points,
    shown,
    shown_range,
)
from credibly.statistics.registry import story_of

_NO_GAP = 0.0005


def _contained(facts: Facts) -> str:
    (observed,) = percents(facts["observed"])
    return f"its {percent(facts['claimed'])} {facts['kind']} contain {observed} of the labels"


def _contained_within(facts: Facts) -> str:
    """Say what is held, with the interval of the gap turned back into that of the coverage."""
    if facts["interval"] is None:
        return _contained(facts)
    ends = (facts["claimed"] - end for end in reversed(facts["interval"]))
    return f"{_contained(facts)} ({_span(*ends)})"


def _span(low: float, high: float) -> str:
    return f"95 %: {100 * low:.1f} to {100 * high:.1f}"


def _part(part: Facts) -> str:
    """Return "60 % of the labels in group young are covered (n = 100), 30 points too few"."""
    (observed,) = percents(part["observed"])
    covered = f"{observed} of the labels {_where(part)} are covered (n = {part['n']})"
    few = "few" if part["gap"] > 0 else "many"
    return f"{covered}, {points(part['gap'])} too {few}" if abs(part["gap"]) >= _NO_GAP else covered


def _where(part: Facts) -> str:
    name = part["name"]
    if part["by"] == "group":
        return f"in group {name}"
    if part["kind"] == "intervals":
        return f"with intervals {name} wide"
    return "of empty sets" if name == "0" else f"of sets with {name} class{'es' * (name != '1')}"


def _sizes(facts: Facts) -> tuple[str, str]:
    return ("Too narrow", "Too wide") if facts["kind"] == "intervals" else ("Too small", "Too large")


def _too_low(facts: Facts) -> str:
    gap, worst = facts["size"], facts["worst"]
    lead = f"{_sizes(facts)[0]}: {_contained_within(facts)}, {points(gap)} too few, {chance_excluded(facts)}."
    return f"{lead} Worst: {_part(worst)}." if worst is not None and worst["gap"] > gap else lead


def _too_high(facts: Facts) -> str:
    size = f"{points(facts['size'])} too many"
    return f"{_sizes(facts)[1]}: {_contained_within(facts)}, {size}, {chance_excluded(facts)}."


def _in_parts(facts: Facts) -> str:
    small, large = _sizes(facts)
    if facts["on_average"]:
        start = f"{large} on average, but {small.lower()} in part"
    elif facts["interval"] is None or facts["interval"][0] <= 0.0 <= facts["interval"][1]:
        start = "Right on average, but not everywhere"
    else:
        start = "Not as claimed everywhere"
    where = "its features predict which labels are missed"
    if facts["worst"] is not None:
        where = _part(facts["worst"])
    return f"{start}: {_contained_within(facts)}, but {where}, {chance_excluded(facts)}."


def _not_tested(facts: Facts) -> str:
    return f"Not tested: {_contained_within(facts)}; whether chance explains it was not tested."


def _too_few(facts: Facts) -> str:
    if facts["reason"] is not None:
        return f"Too few data to tell: {_contained_within(facts)}, and {facts['reason']}."
    return (
        f"Too few data to tell: with {instances(facts)}, the coverage of its {percent(facts['claimed'])} "
        f"{facts['kind']} could still be off by up to {at_most(facts['bound'])} "
        f"({percent(facts['sure'])} confidence)."
    )


def _no_sign(facts: Facts) -> str:
    return (
        f"No sign of wrong coverage in {instances(facts)}: {_contained(facts)}; their true coverage is "
        f"within {at_most(facts['bound'])} of the claim, {percent(facts['sure'])} sure."
    )


def _on_average(facts: Facts) -> str:
    interval = "" if facts["interval"] is None else f" ({_span(*facts['interval'])})"
    tested = ""
    if facts["pvalue"] is not None:
        how = "signs of clusters" if facts["by_clusters"] else "exact binomial"
        tested = f", {p_is(facts['pvalue'])} ({how})"
    size = shown(facts["mean_size"])
    what = f"they are {size} wide" if facts["kind"] == "intervals" else f"they contain {size} classes"
    score = "" if facts["score"] is None else f"; their interval score is {shown(facts['score'])}"
    empty = f", and {percents(facts['empty'])[0]} of them are empty" if facts["empty"] else ""
    return f"{capital(_contained(facts))}{interval}{tested}. On average {what}{score}{empty}."


def _everywhere(facts: Facts) -> str:
    parts = f"Most in doubt: {'; '.join(map(_part, facts['parts']))}. " if facts["parts"] else ""
    return f"{parts}Smallest adjusted p = {shown(facts['pvalue'])}."


def _tested(facts: Facts) -> str:
    """Say what one test of coverage saw, for the list of tests."""
    name, word = facts["statistic"], facts["word"]
    if name == "set_coverage":
        chance = f"chance alone would explain {shown_range(facts['accepted'])}"
        return f"{capital(_contained(facts))}; {chance}: {word}."
    seen = f"features {'predict' if word == 'conflict' else 'do not predict'} which labels are missed"
    if name != "coverage_by_features":
        seen = "" if facts["part"] is None else _part(facts["part"])
    return f"{capital(story_of(name).title)}: {seen}: {word}."


def _calibrate_parts(facts: Facts) -> str:
    how = "within groups" if facts["by_group"] else "by their size or by features"
    return f"Calibrate the {facts['kind']} {how}, on held-out labels: one change for all would not mend it."


def _choose_again(facts: Facts) -> str:
    return (
        "Choose the threshold of the sets again on held-out labels from the same source: their conformal "
        f"quantile at {percent(facts['claimed'])}."
    )


def _move_ends(facts: Facts) -> str:
    widen = facts["widen"]
    if not math.isfinite(widen):
        return "Too few labels to say how far the ends must be moved out."
    way = "out" if widen > 0 else "in"
    return (
        f"Moving both ends of every interval {way} by {shown(abs(widen))} would mend it on average "
        "(conformal quantile of these labels)."
    )


QUESTIONS = {
    "coverage on average": "Do its {kind} contain as many labels as they claim?",
    "coverage in parts": "Is the claimed coverage reached everywhere in the data?",
}
CASES: dict[str, Callable[[Facts], str]] = {
    "coverage too low": _too_low,
    "coverage too high": _too_high,
    "wrong coverage in parts": _in_parts,
    "coverage not tested": _not_tested,
    "too few for coverage": _too_few,
    "no sign of wrong coverage": _no_sign,
    "coverage on average": _on_average,
    "coverage in parts": _everywhere,
    "test of coverage": _tested,
}
REMEDIES: dict[str, Callable[[Facts], str]] = {
    "calibrate in parts": _calibrate_parts,
    "choose the threshold again": _choose_again,
    "move the ends": _move_ends,
}
