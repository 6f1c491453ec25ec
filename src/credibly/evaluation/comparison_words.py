"""A comparison in words: who is best or tied for best, who leads where, and how far behind others are."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Literal

from credibly._arrays.notes import Note, counted
from credibly.evaluation.model_calibration import ErrorByChance, ModelCalibration
from credibly.evaluation.words import title, title_inside
from credibly.results.estimates import Estimate
from credibly.results.numbers import (
    end_in_points,
    in_points,
    joined,
    percent,
    points,
    shown,
    shown_range,
    tenths,
)
from credibly.selection.calibration_errors import CalibrationDifference
from credibly.selection.lines import Lines, Ranking
from credibly.selection.standings import Standing

LEADING: dict[str, tuple[str, Literal["smallest", "largest", "nearest zero"]]] = {
    "accuracy": ("Accuracy", "largest"),
    "log_loss": ("Log loss", "smallest"),
    "confidence_gap": ("Calibration gap", "nearest zero"),
    "event_gap": ("Calibration gap", "nearest zero"),
}
"""What a comparison leads with: the name it is given, and which value is best."""
_GAP = "Calibration gap (points)"
COLUMNS = {"accuracy": "Accuracy", "log_loss": "Log loss", "confidence_gap": _GAP, "event_gap": _GAP}
_WAYS = {"confidence_gap": ("sure", "unsure"), "event_gap": ("often", "rarely")}
"""What a gap above and below 0 is too much of."""


@dataclasses.dataclass(frozen=True)
class LeadingNumber:
    """One number of one model in words.

    Attributes
    ----------
    value : str
        The number with its unit.
    interval : str
        Its 95 % interval; empty if there is none.
    standing : str
        "best", "tied for best", or how far behind the first with the joint interval of that difference.
    is_best : bool
        Whether it is the best, or tied for best, among several models.
    """

    value: str
    interval: str
    standing: str
    is_best: bool


def score_finding(standing: Standing, ranking: Ranking) -> str:
    """Say who has the smallest score, by how much, and who is tied with it."""
    first, *others = standing.names
    score = title_inside(str(standing.criterion))
    lead = f"By {score}, {first} is first with {shown(float(standing.scores[0]))}"
    if not others:
        return f"{lead}."
    tied = standing.tied_with_first
    if tied:
        are = "are" if len(tied) > 1 else "is"
        return (
            f"{lead}; {joined(list(tied), most=4)} {are} statistically tied with it "
            f"({percent(ranking.level)} joint intervals, {counted(ranking.n, 'instance')})."
        )
    low, high = standing.intervals[1].tolist()
    ahead = "" if math.isnan(low) else f" by {shown_range((low, high))} ({percent(ranking.level)} interval)"
    return f"{lead}, ahead of {others[0]}{ahead}."


def in_units(name: str, value: float) -> str:
    """Write a leading number: accuracy as a share, the calibration gap in points with its direction."""
    if name == "accuracy":
        return tenths(value)
    if name not in _WAYS:
        return _decimals(value)
    return f"{points(value)}{_way(name, value)}"


def _way(name: str, gap: float) -> str:
    return "" if points(gap) == points(0.0) else f" too {_WAYS[name][0 if gap > 0 else 1]}"


def _decimals(*values: float) -> str:
    """Write losses with three decimals, where these say something, both ends of an interval alike."""
    few = all(map(math.isfinite, values)) and 0.0095 < max(map(abs, values)) < 100
    return " to ".join(f"{value:.3f}" if few else shown(value) for value in values)


def _range_in_units(name: str, ends: tuple[float, float]) -> str:
    """Write an interval in the unit of the number beside it."""
    if name == "log_loss":
        return _decimals(*ends)
    low, high = ends
    if name in _WAYS and high < 0:  # the number says "too unsure"
        low, high = -high, -low
    return f"{end_in_points(low)} to {end_in_points(high)}"


def leading_number(name: str, estimate: Estimate, model: str, order: Standing) -> LeadingNumber:
    """Return one number of one model with its interval and its standing."""
    interval = _range_in_units(name, estimate.interval()) if estimate.has_interval else ""
    standing = "best" if len(order.best) == 1 else "tied for best"
    if model not in order.best:
        behind = order.behind(model)
        standing = "behind the best"
        if behind is not None:
            size, ends = behind
            difference = _decimals(size) if name == "log_loss" else in_points(abs(size))
            standing = f"behind by {difference} ({_range_in_units(name, ends)})"
    value = in_units(name, estimate.value)
    if name in _WAYS:  # its column says that these are points
        value = f"{in_points(abs(estimate.value))}{_way(name, estimate.value)}"
    several = len(order.names) > 1
    return LeadingNumber(value, interval, standing if several else "", several and model in order.best)


def leaders_in_words(
    order: Mapping[str, Standing], estimates: Mapping[str, Mapping[str, Estimate]]
) -> tuple[str, ...]:
    """Return who is best, or tied for best, in accuracy, log loss and calibration gap."""
    titles = {name: LEADING[name][0].lower() for name in order}
    models = tuple(estimates)
    numbers = _and(
        [f"{titles[name]} {in_units(name, standing.scores[0])}" for name, standing in order.items()]
    )
    if len(models) == 1:
        return (f"There is one model, {models[0]}, and nothing to compare it with: {numbers}.",)
    everywhere = [name for name in models if all(name in standing.best for standing in order.values())]
    sentences = []
    for name, standing in order.items():
        first, tied = standing.names[0], standing.tied_with_first
        value = in_units(name, standing.scores[0])
        others = "no other model is tied with it"
        if tied:
            others = f"{joined(tied, most=4)} {'are' if len(tied) > 1 else 'is'} statistically tied with it"
        sentences.append(f"{LEADING[name][0]}: {first} is first with {value}; {others}.")
    if len(everywhere) == len(models):
        lead = f"No difference beyond chance: all {len(models)} models are statistically tied in "
        return (f"{lead}{_and(list(titles.values()))}.", *sentences)
    if not everywhere:
        each = [f"{joined(standing.best, most=3)} in {titles[name]}" for name, standing in order.items()]
        return (f"No model is best in everything; best or tied for best: {'; '.join(each)}.", *sentences)
    alone = [titles[name] for name, standing in order.items() if standing.best == tuple(everywhere)]
    shared = [titles[name] for name, standing in order.items() if standing.best != tuple(everywhere)]
    names, are = _and(everywhere), "are" if len(everywhere) > 1 else "is"
    best = "tied for best" if len(everywhere) > 1 else "best"
    if not alone:
        return (
            (
                f"{names} {are} tied for best in {_and(shared)}; no other model is among the best in all "
                f"of them."
            ),
            *sentences,
        )
    also = f", and tied for best in {_and(shared)}" if shared else ""
    if len(everywhere) > 1:
        also = f", and tied with others in {_and(shared)}" if shared else ""
    return (f"{names} {are} {best} in {_and(alone)}{also}.", *sentences)


def _and(names: Sequence[str]) -> str:
    """List names as in a sentence."""
    return " and ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))


def model_faults(calibration: Mapping[str, ModelCalibration]) -> list[str]:
    """Say what is wrong with every model that is off, and what repairs it."""
    return [
        " ".join(filter(None, (f"{name}: {model.sentence}", model.remedy)))
        for name, model in calibration.items()
        if model.sentence
    ]


def faults_in_words(
    calibration: Mapping[str, ModelCalibration], apart: Sequence[CalibrationDifference] = ()
) -> tuple[str, ...]:
    """Say of every model that is off what is wrong and what repairs it, and whose errors are larger."""
    faults = model_faults(calibration)
    right = [
        name for name, model in calibration.items() if model.diagnosis is not None and not model.sentence
    ]
    if right:
        faults.append(f"No sign of miscalibration: {joined(right, most=4)}.")
    return (*faults, *_apart_in_words(apart))


def _apart_in_words(apart: Sequence[CalibrationDifference]) -> list[str]:
    """Say which calibration errors differ beyond chance from those of the model that others stand against."""
    if not apart:
        return []
    first, level = apart[0].than, percent(apart[0].level)
    clear: dict[str, list[str]] = {}
    for difference in apart:
        if difference.is_clear:
            size, ends = (
                error_in_units(difference.statistic, abs(difference.value)),
                sorted(map(abs, difference.interval)),
            )
            low, high = (error_in_units(difference.statistic, end, bare=True) for end in ends)
            more = "larger" if difference.value > 0 else "smaller"
            words = f"{title_inside(difference.statistic)} {more} by {size} ({low} to {high})"
            clear.setdefault(difference.model, []).append(words)
    if not clear:
        return [
            f"Calibration errors: no model differs beyond chance from {first} ({level} paired intervals)."
        ]
    return [
        f"Calibration errors of {model} against {first}: {', '.join(parts)} ({level} paired intervals)."
        for model, parts in clear.items()
    ]


def error_in_units(name: str, value: float, *, bare: bool = False) -> str:
    """Write a calibration error in points; the truthful one, a squared error, as it is."""
    if name == "truthful_ce":
        return shown(value)
    return end_in_points(value) if bare else f"{end_in_points(value)} points"


def error_cells(
    calibration: Mapping[str, ModelCalibration], apart: Sequence[CalibrationDifference]
) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Return headings and rows of a table: errors of every model, what chance gives, and paired differences.

    Parameters
    ----------
    calibration : mapping of str to ModelCalibration
        The models.
    apart : sequence of CalibrationDifference
        Differences to the model that the others stand against.

    Returns
    -------
    tuple of str, list of tuple of str
        Headings and rows; the second line of a cell is the difference.
    """
    names = list(dict.fromkeys(name for row in calibration.values() for name in row.errors))
    behind = {(difference.statistic, difference.model): difference for difference in apart}
    rows = [
        (model, *(_error_cell(name, row.errors[name], behind.get((name, model))) for name in names))
        for model, row in calibration.items()
        if row.errors
    ]
    units = {name: "" if name == "truthful_ce" else " (points)" for name in names}
    return ("model", *(f"{title(name)}{units[name]}" for name in names)), rows


def _error_cell(name: str, error: ErrorByChance, apart: CalibrationDifference | None) -> str:
    def bare(value: float) -> str:
        return error_in_units(name, value, bare=True)

    cell = f"{bare(error.value)}; chance {bare(error.expected)}, up to {bare(error.limit)}"
    if apart is None:
        return cell
    sign = "+" if apart.value > 0 else ""
    ends = " to ".join(map(bare, apart.interval))
    return f"{cell}\n{sign}{bare(apart.value)} ({ends}) against {apart.than}"


def tradeoffs_in_words(lines: Lines) -> tuple[str, ...]:
    """Return who leads where, and which models are tied, at the trade-offs asked for."""
    (low, high, first), *others = lines.leaders()
    until = "on" if math.isinf(high) else f"to {shown(high)}"
    led = [f"From trade-off {shown(low)} {until}, {first} has the smallest mean score"]
    led += [
        f"{'beyond that' if math.isinf(high) else f'from there to {shown(high)}'}, {name}"
        for _, high, name in others
    ]
    sentences = [f"{'; '.join(led)}."]
    ties: dict[tuple[str, ...], list[str]] = {}
    for tradeoff in lines.tradeoffs:
        standing = lines.at(tradeoff)
        if standing.tied_with_first:
            ties.setdefault((standing.names[0], *standing.tied_with_first), []).append(f"{tradeoff:g}")
    for (first, *tied), at in ties.items():
        are = "are" if len(tied) > 1 else "is"
        sentences.append(
            f"At trade-off{'s' * (len(at) > 1)} {joined(at)}, {joined(tied, most=4)} {are} "
            f"statistically tied with {first} ({percent(lines.level)} joint intervals, "
            f"{lines.n} instances)."
        )
    return tuple(sentences)


def comparison_warnings(ranking: Ranking) -> tuple[str, ...]:
    """Return what makes scores hard to compare: infinite rows, unlike numbers of members, dependences."""
    return tuple(note for note in ranking.notes if is_about_scores(note))


def is_about_scores(remark: str) -> bool:
    """Tell whether a remark says what makes scores hard to compare."""
    return isinstance(remark, Note) and remark.code in ("infinite", "unlike members", "dependence")
