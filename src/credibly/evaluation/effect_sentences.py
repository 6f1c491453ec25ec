"""Sentences about one effect: what is stated, what was observed, its size, and what is left of it.

An effect is a mapping of facts; which words it gets is decided by what it measures.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from credibly.results.numbers import (
    frequencies,
    frequency,
    in_points,
    percent,
    points,
    shown,
    signed,
    signed_points,
    span,
    times,
)

Facts = Mapping[str, Any]
Written = Callable[[Facts], str] | str
"""How a sentence is made of facts; a text has their names in braces."""
_NO_GAP, _NEARLY = 5e-5, 0.9995
_NOTHING = 0.005  # of the size: what is left is no more than rounding


def measured(effect: Facts) -> str:
    """Return what is stated and what was observed, with the size and its interval."""
    return _MEASURES[effect["measure"]](effect)


def group_of(effect: Facts) -> str:
    """Return " for region north", or " for store 3" where that is the level; nothing for all rows."""
    if effect["group"] is None:
        return ""
    attribute, level = effect["group"]
    first, words = attribute.lower().split(), level.lower().split()
    is_named = words[: len(first)] == first and len(words) > len(first)
    return f" for {level}" if is_named else f" for {attribute} {level}"


def _confidence(effect: Facts) -> str:
    says, right = frequencies(effect["stated"], effect["observed"])
    way = "sure" if effect["size"] > 0 else "unsure"
    if abs(effect["size"]) < _NO_GAP:
        return f"{_rows(effect)}it says {says} and is right {right} of the time: no gap"
    return (
        f"{_rows(effect)}it says {says} and is right {right} of the time, {points(effect['size'])} too {way} "
        f"({span(effect['interval'], in_points)})"
    )


def _class(effect: Facts) -> str:
    says, happened = frequencies(effect["stated"], effect["observed"])
    label, often = effect["label"], "often" if effect["size"] > 0 else "rarely"
    stated = f"{says} for {label}" if effect["is_numbered"] else f"{says} {label}"
    factor = times(effect["stated"], effect["observed"])
    size = f"{points(effect['size'])}, {span(effect['interval'], in_points)}"
    start = f"{_rows(effect)}it says {stated}; {happened} {'are ' * effect['is_numbered']}{label}"
    return f"{start}, {factor} too {often} ({size})" if factor else f"{start} ({size})"


def _rows(effect: Facts) -> str:
    if effect["between"] is None:
        return ""
    if effect["part"] == "highest":
        return "in the rows where it says most, "
    if effect["part"] == "lowest":
        return "in the rows where it says least, "
    return f"where it says {range_of(effect)}, "


def range_of(effect: Facts) -> str:
    """Return the stated probabilities that an effect is about, without the digits of nearly 100 %."""
    low, high = effect["between"] or (0.0, 1.0)
    return f"{frequency(low)} to {frequency(1.0 if high > _NEARLY else high)}"


def _mean(effect: Facts) -> str:
    return f"by {shown(abs(effect['size']))} on average ({span(effect['interval'])})"


def _coverage(effect: Facts) -> str:
    says, observed = frequencies(effect["stated"], effect["observed"])
    few = "too few" if effect["size"] > 0 else "too many"
    return (
        f"its {says} intervals contain {observed} of the labels, {points(effect['size'])} {few} "
        f"({span(effect['interval'], in_points)})"
    )


def _slope(effect: Facts) -> str:
    low, high = (shown(1.0 - end) for end in reversed(effect["interval"]))
    rise = shown(effect["observed"])
    return f"for every 1 that predictions rise, labels rise by {rise} (95 %: {low} to {high})"


def _spread(effect: Facts) -> str:
    low, high = (shown(2.0 ** (1.0 - end)) for end in reversed(effect["interval"]))
    factor = shown(2.0 ** effect["observed"])
    return f"where the stated spread doubles, errors grow by a factor of {factor} (95 %: {low} to {high})"


def _tail(effect: Facts) -> str:
    outside, should = frequency(1.0 - effect["observed"]), frequency(1.0 - effect["stated"])
    many = "too many" if effect["size"] > 0 else "too few"
    return (
        f"{outside} of the labels lie outside its {percent(effect['stated'])} intervals, where {should} "
        f"should ({points(effect['size'])} {many}, {span(effect['interval'], in_points)})"
    )


def _skew(effect: Facts) -> str:
    below, above = frequencies(effect["stated"], effect["observed"])
    level = effect["level"]
    return (
        f"{below} of the labels lie below its {percent(level)} intervals and {above} above, where "
        f"{percent((1.0 - level) / 2.0)} each are expected ({points(effect['size'])} apart, "
        f"{span(effect['interval'], in_points)})"
    )


def _quantile(effect: Facts) -> str:
    _, below = frequencies(effect["stated"], effect["observed"])
    size = f"{points(effect['size'])}, {span(effect['interval'], in_points)}"
    return f"{below} of the labels lie below it ({size})"


_MEASURES: dict[str, Callable[[Facts], str]] = {
    "confidence": _confidence,
    "class": _class,
    "mean": _mean,
    "coverage": _coverage,
    "slope": _slope,
    "spread": _spread,
    "tail": _tail,
    "skew": _skew,
    "quantile": _quantile,
}
IN_POINTS = ("confidence", "class", "coverage", "quantile", "tail", "skew")
"""Measures that are differences of shares."""


def rest_of(effect: Facts) -> str:
    """Return what is left of an effect after the repair, with its sign."""
    left = effect["remains"]
    if effect["measure"] in IN_POINTS:
        return signed_points(left)
    return "nothing" if abs(left) < _NOTHING * abs(effect["size"]) else signed(left)
