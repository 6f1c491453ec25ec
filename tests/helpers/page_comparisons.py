"""What the page of a comparison should show: its tables, made from the comparison alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import credibly as cr
from page_forms import (
    SCORED,
    between,
    digits,
    fields,
    if_right,
    interval,
    isotonic,
    percent,
    points,
    spreads,
    stacked,
    table,
    title,
)
from pages import ShownTable

LEADING = {"accuracy": "Accuracy", "log_loss": "Log loss", "confidence_gap": "Calibration gap (points)"}
SCORE_SETTINGS = ("measure", "n_samples")
SETTINGS = (*SCORE_SETTINGS, "n_resamples", "level")


def comparison_tables(comparison: cr.Comparison) -> Iterator[ShownTable]:
    """Return all tables that the page of a comparison must have, but for lines over trade-offs."""
    order = comparison.standings["log_loss"].names
    averaged = any(model.kind != "Point" for model in comparison.models.values())
    mean = ". Sets and ensembles are measured by their mean prediction" if averaged else ""
    yield table(
        f"Smallest log loss first; in parentheses the 95 % interval{mean}",
        ("model", order),
        *((column, [_leading(comparison, name, one) for one in order]) for name, column in LEADING.items()),
    )
    curves = {name: isotonic(comparison.curves[name]) for name in order}
    yield stacked("Confidence against accuracy", "model", curves)
    intervals = "Numbers for the mean prediction, with 95 % intervals where their coverage is known"
    yield _own_numbers(intervals, comparison)
    yield _errors(comparison)
    yield _settings(comparison)
    if comparison.recommendations:
        yield from _with_sets(comparison)


def _errors(comparison: cr.Comparison) -> ShownTable:
    """Calibration errors of every model, what chance gives, and the difference to the best model."""
    behind = {(difference.statistic, difference.model): difference for difference in comparison.differences}
    models = list(comparison.calibration)

    def written(name: str, value: float) -> str:
        if name == "truthful_ce":
            return digits(value)
        size = 100 * value
        return f"{size:.1f}" if abs(size) >= 0.05 or size == 0 else f"{size:.1g}"

    def cell(name: str, model: str) -> str:
        error, apart = comparison.calibration[model].errors[name], behind.get((name, model))
        said = "{}; chance {}, up to {}".format(
            *(written(name, one) for one in (error.value, error.expected, error.limit))
        )
        if apart is None:
            return said
        low, high = (written(name, end) for end in apart.interval)
        sign = "+" if apart.value > 0 else ""
        return f"{said}; {sign}{written(name, apart.value)} ({low} to {high}) against {apart.than}"

    return table(
        "Error; its mean and its 95 % limit if the labels were drawn from the predictions; and the paired "
        "difference to the model with the smallest log loss, without what chance adds",
        ("model", models),
        *(
            (
                f"{title(name)}{'' if name == 'truthful_ce' else ' (points)'}",
                [cell(name, model) for model in models],
            )
            for name in comparison.calibration[models[0]].errors
        ),
    )


def _with_sets(comparison: cr.Comparison) -> Iterator[ShownTable]:
    """Return what is added if a model predicts sets: the cost of imprecision."""
    lines, kinds = comparison.ranking.lines, {name: model.kind for name, model in comparison.models.items()}
    order = lines.order(1.0)
    at = [lines.names.index(name) for name in order]
    distance, slope = lines.distance[at], lines.imprecision[at]
    yield table(
        "At trade-off 1, unless the slider changes it",
        ("place", range(1, len(order) + 1)),
        ("model", order),
        ("predicts", [kinds.get(name, "mean of a set") for name in order]),
        ("distance", distance),
        ("imprecision", slope),
        ("mean score", distance + slope),
    )
    for tradeoff in lines.tradeoffs:
        yield _standing(f"Trade-off {tradeoff:g}", lines.at(tradeoff))
    alone = []
    for tradeoff in lines.tradeoffs:
        own = lines.at(tradeoff, points=False)
        scores = zip(own.names, own.scores, strict=True)
        alone.append(", ".join(f"{name} {digits(score)}" for name, score in scores))
    yield table(
        "Set predictions alone",
        ("trade-off", [f"{tradeoff:g}" for tradeoff in lines.tradeoffs]),
        ("set predictions, smallest mean score first", alone),
    )
    crossed = {
        "trade-off": "tradeoff",
        "better below": "below",
        "better beyond": "beyond",
        "place": "rank",
        f"{100 * lines.level:g} % interval": "interval",
    }
    said = "Exact crossings of the lines; intervals over bootstrapped instances"
    yield table(said, *fields(lines.crossings, crossed))
    yield spreads(
        "Score at trade-off 1, mean ± standard deviation, for all, right and wrong predictions",
        lines.scores,
    )
    for part in ("distance", "imprecision"):
        yield if_right(part, lines.scores)
    for group in ("right", "wrong"):
        means = {
            part: lambda one, part=part, group=group: one.summary[part][group].mean
            for part in SCORED.values()
        }
        columns = fields(lines.scores.values(), means)
        yield table(f"Means over {group} predictions", ("names", lines.scores), *columns)


def lines_table(lines: Any, most: float) -> ShownTable:
    """Return where lines over trade-offs start, their slope, and where they end at the largest trade-off."""
    order = lines.order(most)
    at = [lines.names.index(name) for name in order]
    start, slope = lines.distance[at], lines.imprecision[at]
    return table(
        "Mean score against trade-off",
        ("model", order),
        ("distance", start),
        ("imprecision", slope),
        (f"score at {most:g}", start + most * slope),
    )


def score_comparison_tables(comparison: Any) -> Iterator[ShownTable]:
    """Return all tables that the page of a comparison by proper scores must have."""
    yield _own_numbers("Mean scores; smaller is better", comparison)
    for standing in comparison.ranking.standings:
        name = title(standing.criterion)
        yield _standing(name, standing)
        yield table(
            f"Behind the first by {name}",
            ("model", standing.names),
            ("score", standing.scores),
            ("difference", standing.differences),
            ("low", standing.intervals[:, 0]),
            ("high", standing.intervals[:, 1]),
        )
    yield _settings(comparison)


def _standing(caption: str, standing: Any) -> ShownTable:
    others = zip(standing.differences[1:], standing.intervals[1:], strict=True)
    ranks = zip(standing.best_ranks, standing.worst_ranks, strict=True)
    return table(
        caption,
        ("model", standing.names),
        ("place", [str(best) if best == worst else f"{best} to {worst}" for best, worst in ranks]),
        ("mean score", standing.scores),
        (
            f"behind the first by ({100 * standing.level:g} % joint interval)",
            ["", *(f"{digits(size)} ({between(ends)})" for size, ends in others)],
        ),
    )


def _own_numbers(caption: str, comparison: Any) -> ShownTable:
    models = list(comparison.estimates)
    names = list(comparison.estimates[models[0]])
    return table(
        caption,
        ("model", models),
        *fields([comparison.models[name] for name in models], {"kind": "kind", "members": "m"}),
        *((title(name), [_beside(comparison.estimates[model][name]) for model in models]) for name in names),
    )


def _beside(estimate: Any) -> str:
    ends = f" ({interval(estimate)})" if estimate.has_interval else ""
    return f"{digits(estimate.value)}{ends}"


def _settings(comparison: Any) -> ShownTable:
    settings = comparison.settings
    kept = {name.replace("_", " "): str(settings[name]) for name in SETTINGS if name in settings}
    return table("", ("setting", kept), ("value", kept.values()))


def _leading(comparison: cr.Comparison, name: str, model: str) -> str:
    """Write one number of one model: value and interval in its unit, and how far behind the best it is."""
    estimate, places = comparison.estimates[model][name], comparison.standings[name]
    value, at = estimate.value, places.names.index(model)
    shown = {"accuracy": percent(value), "log_loss": f"{value:.3f}"}.get(name)
    if shown is None:
        way = "" if points(value) == "0.0" else " too sure" if value > 0 else " too unsure"
        shown = f"{points(value)}{way}"
    ends = f" ({_in_its_unit(name, estimate.interval())})" if estimate.has_interval else ""
    if places.best_ranks[at] == 1:
        return f"{shown}{ends} {'best' if (places.best_ranks == 1).sum() == 1 else 'tied for best'}"
    size = places.differences[at]
    far = f"{size:.3f}" if name == "log_loss" else points(size)
    return f"{shown}{ends} behind by {far} ({_in_its_unit(name, places.intervals[at])})"


def _in_its_unit(name: str, ends: Sequence[float]) -> str:
    low, high = map(float, ends)
    if name == "log_loss":
        return f"{low:.3f} to {high:.3f}"
    if name == "confidence_gap" and high < 0:  # the number says "too unsure"
        low, high = -high, -low
    # an end that only rounds to 0 is not shown as 0
    return " to ".join(
        f"{100 * end:.1f}" if abs(end) >= 5e-4 or end == 0 else f"{100 * end:.1g}" for end in (low, high)
    )
