"""What is said about a diagnosis: one table of cases, one place that writes numbers.

A case is the name of a fault; its facts are numbers and names. Nothing here decides anything, and nothing
elsewhere writes these sentences.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from credibly._arrays.notes import counted
from credibly.diagnosis import Claim, Diagnosis, Effect

_DIGITS = 2
_TIMES = 1.3
_RARE = 0.1


def share(value: float) -> str:
    """Write a share as per cent: whole ones, two digits of small ones and of those near 100 %."""
    near = min(value, 1.0 - value)
    if near <= 0.0 or near >= 0.095:
        return f"{100 * value:.0f} %"
    digits = max(0, 1 - math.floor(math.log10(100 * near)))
    return f"{100 * value:.{min(digits, 4)}f} %"


def shares(stated: float, observed: float) -> tuple[str, str]:
    """Write two shares that are compared, with a digit more where they would look the same."""
    said = share(stated), share(observed)
    return said if said[0] != said[1] else (f"{100 * stated:.1f} %", f"{100 * observed:.1f} %")


def points(size: float, *, signed: bool = False) -> str:
    """Write a difference of shares in points of probability."""
    value = 100.0 * size if signed else abs(100.0 * size)
    mark = "+" if signed else ""
    large, small = abs(value) >= 9.95, 0.0 < abs(value) < 0.095
    digits = f"{value:{mark}.0f}" if large else f"{value:{mark}.{2 if small else 1}f}"
    return f"{digits} point" if digits.lstrip("+-") == "1.0" else f"{digits} points"


def span(interval: tuple[float, float], write: Callable[[float], str]) -> str:
    """Write an interval of a size whose sign the sentence says."""
    low, high = interval
    if low < 0.0 < high:
        return f"95 %: {write(low)} to {write(high)}"
    low, high = sorted((abs(low), abs(high)))
    return f"95 %: {write(low)} to {write(high)}"


def _in_points(value: float) -> str:
    size = 100.0 * value
    return f"{size:.0f}" if abs(size) >= 9.95 else f"{size:.2f}" if abs(size) < 0.095 else f"{size:.1f}"


def number(value: float) -> str:
    """Write a number of the user's own unit with three digits."""
    return f"{value:.3g}"


def times(stated: float, observed: float) -> str:
    """Write how many times too often an event is stated, where it is rare; nothing where it is not."""
    low, high = sorted((stated, observed))
    if not (0.0 < low < _RARE and high / low > _TIMES):
        return ""
    factor = high / low
    return f"{factor:.0f} times" if factor >= 9.95 else f"{factor:.1f} times"


class Names:
    """How classes and groups are called in sentences.

    Parameters
    ----------
    classes : sequence of str
        Names of the classes, in order.
    """

    def __init__(self, classes: Sequence[str]) -> None:
        self.classes = classes

    def label(self, place: int) -> str:
        """Return the name of a class; numbers are called classes."""
        name = self.classes[place] if place < len(self.classes) else str(place)
        return f"class {name}" if name.replace(".", "").lstrip("-").isdigit() else name

    @staticmethod
    def group(claim: Claim) -> str:
        """Return " for region north"; nothing where it is about all rows."""
        return "" if claim.group is None else f" for {claim.group[0]} {claim.group[1]}"


def lead(found: Diagnosis, names: Names) -> str:
    """Return what is wrong, in a few words: "Overconfident", "Predicts churn too often"."""
    way = 0 if found.direction >= 0 else 1
    claim = found.effect.claim
    named = "" if claim.label is None else names.label(claim.label)
    low, high = (share(end) for end in claim.between or (0.0, 1.0))
    words = _LEADS[found.fault][way]
    if found.fault in ("temperature", "group temperature") and claim.label is not None:
        words = ("Too sure that {c} does not happen{g}", "Not sure enough that {c} does not happen{g}")[way]
    elif found.fault == "bias+temperature" and claim.label is not None and claim.between is None:
        words = _LEADS["bias"][0 if found.effect.size > 0 else 1]
    elif found.fault == "bias+temperature" and claim.label is None and claim.between is None:
        words = _LEADS["temperature"][0 if found.effect.size > 0 else 1]
    about = f" about {named}" if named else ""
    level = "" if claim.level is None else share(claim.level)
    return words.format(c=named, about=about, g=names.group(claim), lo=low, hi=high, level=level)


_TOO_SURE = ("Overconfident{g}", "Underconfident{g}")
_TOO_OFTEN = ("Predicts {c} too often{g}", "Predicts {c} too rarely{g}")
_TOO_HIGH = ("Predictions are too high{g}", "Predictions are too low{g}")
_TOO_NARROW = ("Intervals are too narrow{g}", "Intervals are too wide{g}")
_TILTED = (
    "Too extreme: high predictions are too high and low ones too low",
    "Too timid: high predictions are too low and low ones too high",
)
_LEADS: dict[str, tuple[str, str]] = {
    "temperature": _TOO_SURE,
    "group temperature": _TOO_SURE,
    "label noise": ("Overconfident, as if some labels were noise", "Underconfident"),
    "bias": _TOO_OFTEN,
    "group bias": _TOO_OFTEN,
    "group bias+temperature": _TOO_OFTEN,
    "vector": _TOO_OFTEN,
    "bias+temperature": ("Too extreme{about}", "Too timid{about}"),
    "curve": ("Too high where it says {lo} to {hi}", "Too low where it says {lo} to {hi}"),
    "swapped classes": ("The columns are in another order than the labels",) * 2,
    "shift": _TOO_HIGH,
    "shift+scale": _TOO_HIGH,
    "group shift": _TOO_HIGH,
    "group shift+scale": _TOO_HIGH,
    "scale": _TOO_NARROW,
    "group scale": _TOO_NARROW,
    "slope": _TILTED,
    "slope+scale": _TILTED,
    "spread": (
        "Stated spreads vary too much: large ones are too large and small ones too small",
        "Stated spreads vary too little: large ones are too small and small ones too large",
    ),
    "tails": ("Extreme errors are more common than stated", "Extreme errors are rarer than stated"),
    "skewed": (
        "Skewed: labels lie below its intervals more often than above",
        "Skewed: labels lie above its intervals more often than below",
    ),
    "levels": ("The {level} quantile is too high", "The {level} quantile is too low"),
    "shape": ("The {level} quantile is too high", "The {level} quantile is too low"),
}


def measured(effect: Effect, names: Names) -> str:
    """Return what is stated and what was observed, with the size and its interval."""
    return _MEASURES[effect.claim.measure](effect, names)


def _confidence(effect: Effect, names: Names) -> str:
    says, right = shares(effect.stated, effect.observed)
    way = "sure" if effect.size > 0 else "unsure"
    return (
        f"it says {says} and is right {right} of the time, {points(effect.size)} too {way} "
        f"({span(effect.interval, _in_points)})"
    )


def _class(effect: Effect, names: Names) -> str:
    says, happened = shares(effect.stated, effect.observed)
    label = names.label(effect.claim.label or 0)
    often = "often" if effect.size > 0 else "rarely"
    factor = times(effect.stated, effect.observed)
    size = f"{factor} too {often}; " if factor else ""
    where = {True: "", False: _ends(effect)}[effect.claim.between is None]
    return (
        f"{where}it says {says} {label}, and {happened} are ({size}{points(effect.size)}, "
        f"{span(effect.interval, _in_points)})"
    )


def _ends(effect: Effect) -> str:
    low, high = effect.claim.between or (0.0, 1.0)
    if high >= 1.0:
        return "in the tenth of the rows where it says most, "
    return "in the tenth of the rows where it says least, " if low <= 0.0 else "there "


def _mean(effect: Effect, names: Names) -> str:
    return f"by {number(abs(effect.size))} on average ({span(effect.interval, number)})"


def _coverage(effect: Effect, names: Names) -> str:
    says, held = shares(effect.stated, effect.observed)
    few = "too few" if effect.size > 0 else "too many"
    return (
        f"its {says} intervals contain {held} of the labels, {points(effect.size)} {few} "
        f"({span(effect.interval, _in_points)})"
    )


def _slope(effect: Effect, names: Names) -> str:
    low, high = (number(1.0 - end) for end in reversed(effect.interval))
    return (
        f"for every 1 that predictions rise, labels rise by {number(effect.observed)} (95 %: {low} to {high})"
    )


def _spread(effect: Effect, names: Names) -> str:
    low, high = (number(2.0 ** (1.0 - end)) for end in reversed(effect.interval))
    factor = number(2.0**effect.observed)
    return f"where the stated spread doubles, errors grow by a factor of {factor} (95 %: {low} to {high})"


def _tail(effect: Effect, names: Names) -> str:
    far, right = share(1.0 - effect.observed), share(1.0 - effect.stated)
    return (
        f"{far} of the errors are larger than {right} should be ({span(effect.interval, _in_points)} points)"
    )


def _skew(effect: Effect, names: Names) -> str:
    below, above = shares(effect.stated, effect.observed)
    level = effect.claim.level or 0.0
    return (
        f"{below} of the labels lie below its {share(level)} intervals and {above} above, where "
        f"{share((1.0 - level) / 2.0)} each are expected ({points(effect.size)} apart, "
        f"{span(effect.interval, _in_points)})"
    )


def _quantile(effect: Effect, names: Names) -> str:
    _, below = shares(effect.stated, effect.observed)
    return f"{below} of the labels lie below it ({points(effect.size)}, {span(effect.interval, _in_points)})"


_MEASURES: dict[str, Callable[[Effect, Names], str]] = {
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

_BEYOND_REPAIR = {
    "inverted": (
        "The surer it is, the more often it is wrong: no recalibration makes such confidence useful. Look "
        "for swapped classes or labels."
    ),
    "labels off by a row": (
        "Labels and predictions are offset by a row: the label of a neighbouring row fits far better than "
        "the own one. Align them first; no recalibration helps."
    ),
}


def what_is_wrong(found: Diagnosis, names: Names, margin: float) -> str:
    """Return the sentence of a conflict."""
    if found.fault in _BEYOND_REPAIR:
        return _BEYOND_REPAIR[found.fault]
    said = f"{lead(found, names)}: {measured(found.effect, names)}, more than chance explains{_in(found)}."
    if found.repair is None:
        said += " Real, but too small for a repair to show a benefit in these data."
    elif _is_small(found.effect, margin):
        said += f" Real, but small: less than {points(margin)}."
    if found.second is not None:
        said += f" Then, smaller: {measured(found.second, names)}{names.group(found.second.claim)}."
    return said


def _in(found: Diagnosis) -> str:
    return "" if found.n_clusters is None else f" in {found.n_clusters} independent clusters of rows"


def _is_small(effect: Effect, margin: float) -> bool:
    """Tell whether a difference of shares does not matter: rare events are judged by their frequency."""
    if effect.claim.measure not in ("confidence", "class", "coverage"):
        return False
    rare = effect.claim.measure == "class" and min(effect.stated, effect.observed) < _RARE
    limit = margin * (min(effect.stated, effect.observed) / _RARE if rare else 1.0)
    return max(map(abs, effect.interval)) < limit


def remedy(found: Diagnosis, names: Names, described: str) -> str:
    """Return what the repair leaves on rows that it was not fitted on; nothing where there is none."""
    if found.repair is None or found.effect.remains is None:
        return ""
    by = "" if found.repair.by is None else f" by {found.repair.by}"
    left = found.effect.remains
    if found.effect.claim.measure in ("confidence", "class", "coverage", "quantile", "tail", "skew"):
        rest = points(left, signed=True)
    else:
        rest = f"{left:+.3g}"
    return f"{described}{by}, fitted on other folds, leaves {rest}."


def seen_in(n: int, n_clusters: int | None) -> str:
    """Say how many rows there are, and in how many clusters."""
    rows = counted(n, "instance")
    return rows if n_clusters is None else f"{rows} of {counted(n_clusters, 'cluster')}"
