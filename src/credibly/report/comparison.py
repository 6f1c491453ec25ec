"""A comparison of models as one HTML file: tables that stand without a script, and a slider that re-ranks."""

from __future__ import annotations

import dataclasses
from typing import Any

from credibly._arrays.errors import UnsupportedError
from credibly._arrays.notes import unsaid
from credibly.evaluation import Comparison, joined, shown, shown_range, title
from credibly.evaluation.comparison_words import error_cells, is_about_scores, model_faults
from credibly.plots import Table, picture
from credibly.report.html_parts import (
    MethodNote,
    ReportFigure,
    filled,
    instances_text,
    report_figure,
    seed_text,
)
from credibly.report.sections import group_table, score_method, settings_text
from credibly.results.estimates import Estimate
from credibly.results.numbers import percent

_HASH_LENGTH = 16
_MOST_NAMED = 3

SCRIPTS = ("tables.js",)
WITH_SLIDER = ("slider.js", *SCRIPTS)
LAST = (
    ("notes", "Notes on the data"),
    ("methods", "Methods and references"),
    ("again", "Make this report again"),
)


def facts(comparison: Comparison) -> tuple[tuple[str, str], ...]:
    """Return the header: what was compared, against what, with what."""
    first = next(iter(comparison.models.values()))
    few, many = (of(model.m for model in comparison.models.values()) for of in (min, max))
    score = (("Score", settings_text(comparison.ranking.settings)),) if comparison.has_imprecision else ()
    return (
        *_data(comparison),
        ("Classes K", str(first.k)),
        *([] if many == 1 else [("Members M", str(many) if few == many else f"{few} to {many}")]),
        *score,
        *_sources(comparison),
    )


def _sources(comparison: Comparison) -> tuple[tuple[str, str], ...]:
    """Return everything needed to repeat the comparison."""
    digests = comparison.source.get("digests") or []
    hashes = joined([str(digest)[:_HASH_LENGTH] for digest in digests], _MOST_NAMED)  # whole ones at the end
    return (
        ("Seed", seed_text(comparison.settings)),
        ("Version", f"credibly {comparison.settings['version']}"),
        ("Input hash", hashes or "not known: arrays in memory"),
    )


def _data(comparison: Comparison) -> tuple[tuple[str, str], ...]:
    """Return what was compared, and how many instances there are."""
    data = [str(path) for path in comparison.source.get("paths") or ["arrays in memory"]]
    number = instances_text(comparison.ranking.n, comparison.source)
    return (("Data", joined(data, _MOST_NAMED)), ("Instances N", number))


def _lines(comparison: Comparison) -> Any:
    """Return the models over trade-offs, which only pages of a ranking over trade-offs ask for."""
    return comparison.ranking.lines


def ranked(comparison: Comparison, tradeoff: float) -> list[dict[str, Any]]:
    """Return the rows of the table that the slider re-ranks, in the order of one trade-off."""
    lines = _lines(comparison)
    means = lines.means(tradeoff)
    rows = []
    for name in lines.order(tradeoff):
        at, model = lines.names.index(name), comparison.models.get(name)
        row = {"name": name, "kind": "mean of a set" if model is None else model.kind}
        row |= {"is_point": bool(lines.is_point[at]), "score": float(means[at])}
        rows.append(row | {"distance": float(lines.distance[at]), "slope": float(lines.imprecision[at])})
    return rows


def standings(comparison: Comparison) -> list[tuple[str, Table]]:
    """Return places, and differences to the first with their intervals, by every criterion."""
    return [
        (_caption(standing.criterion), _standing_table(standing)) for standing in comparison.ranking.standings
    ]


def _caption(criterion: str | float) -> str:
    return title(criterion) if isinstance(criterion, str) else f"Trade-off {criterion:g}"


def _standing_table(standing: Any) -> Table:
    """Return one order of the models, with places and differences to the first."""
    distances = ["", *["not known: a mean is infinite, or there is one instance"] * (len(standing.names) - 1)]
    for at, name in enumerate(standing.names):
        if (distance := standing.behind(name)) is not None:
            distances[at] = f"{shown(distance[0])} ({shown_range(distance[1])})"
    return Table.of(
        {
            "model": standing.names,
            "place": map(standing.place, standing.names),
            "mean score": standing.scores,
            f"behind the first by ({percent(standing.level)} joint interval)": distances,
        }
    )


def without_points(comparison: Comparison) -> Table | None:
    """Return the orders of set predictions alone, as C25 prints them."""
    lines = _lines(comparison)
    try:
        orders = [lines.at(tradeoff, points=False) for tradeoff in lines.tradeoffs]
    except UnsupportedError:
        return None
    scores = [
        [f"{name} {shown(float(score))}" for name, score in zip(order.names, order.scores, strict=True)]
        for order in orders
    ]
    tradeoffs = [f"{order.criterion:g}" for order in orders]
    return Table.of(
        {"trade-off": tradeoffs, "set predictions, smallest mean score first": map(", ".join, scores)}
    )


def own_numbers(comparison: Comparison) -> Table:
    """Return the cheap statistics of every model, each with its interval."""
    names = list(dict.fromkeys(name for numbers in comparison.estimates.values() for name in numbers))
    rows = []
    for model, numbers in comparison.estimates.items():
        known = comparison.models[model]
        rows.append(
            (model, known.kind, known.members, *(_with_interval(numbers.get(name)) for name in names))
        )
    return Table(("model", "kind", "members", *(title(name) for name in names)), tuple(rows))


def _with_interval(estimate: Estimate | None) -> str:
    """Write a number and its 95 % interval, where it has one."""
    if estimate is None:
        return ""
    interval = f" ({shown_range(estimate.interval())})" if estimate.has_interval else ""
    return f"{shown(estimate.value)}{interval}"


def calibration_table(comparison: Comparison) -> Table | None:
    """Return calibration errors, what chance would give, and paired differences to the best model."""
    columns, rows = error_cells(comparison.calibration, comparison.differences)
    lines = tuple(tuple(cell.replace("\n", "; ") for cell in row) for row in rows)
    return Table(columns, lines) if rows else None


def crossings(comparison: Comparison) -> Table | None:
    """Return where models change places."""
    lines = _lines(comparison)
    if not lines.crossings:
        return None
    return Table.of(
        {
            "trade-off": [crossing.tradeoff for crossing in lines.crossings],
            "better below": [crossing.below for crossing in lines.crossings],
            "better beyond": [crossing.beyond for crossing in lines.crossings],
            "place": [crossing.rank for crossing in lines.crossings],
            f"{percent(lines.level)} interval": [crossing.interval for crossing in lines.crossings],
        }
    )


def source_of(comparison: Comparison) -> Table:
    """Return settings and whole hashes."""
    settings = comparison.settings
    keys = ("measure", "n_samples", "n_resamples", "level")
    rows = [(key.replace("_", " "), str(settings[key])) for key in keys if key in settings]
    digests = comparison.source.get("digests") or []
    for path, digest in zip(comparison.source.get("paths") or [], digests, strict=True):
        rows.append((f"hash of {path}", str(digest)))
    return Table(("setting", "value"), tuple(rows))


TIES = MethodNote(
    "Ties",
    "All models are measured on the same bootstrapped instances. Two models are tied if the interval of "
    "the difference between their means contains 0; for each number (accuracy, log loss, calibration gap, "
    "score "
    "at one trade-off) the intervals hold jointly for all pairs of models. A place such as 1 to 3 lists "
    "the places that a model could take, given which models are better beyond chance. Gaps are compared by "
    "their size, "
    "whatever their direction.",
    "half width = q * sd*(a - b), q a quantile of the largest |deviation| / sd* over pairs",
    "Romano and Wolf, Stepwise multiple testing as formalized data snooping, Econometrica 2005.",
)


APART = MethodNote(
    "Differences of calibration errors",
    "Chance adds to every binned and smooth error, more where there are more bins; a difference is taken "
    "without it. Models are compared on the same instances, each with the one of smallest log loss. Where it "
    "is not clear to which side a model is off, standard errors of smooth errors are added instead of "
    "paired. Chance adds the same to the truthful error of every model, and its "
    "intervals are the sharpest.",
    "error = Σ_j s_j e(S_j / s_j), e(x) = √(x² + 0.13) − exp(−x² / 1.6), S_j a sum of residuals, s_j its "
    "standard error",
    "Armstrong and Kolesár, Optimal inference in a class of regression models, Econometrica 2018; Hartline, "
    "Hu and Wu, A perfectly truthful calibration measure, COLT 2026.",
)


def render_comparison(comparison: Comparison) -> str:
    """Return the page of a comparison."""
    return filled(
        **(_by_scores if comparison.by_scores else _over_tradeoffs)(comparison),
        results=comparison.to_dict(),
        title=f"{len(comparison.models)} models compared",
        headline=comparison.findings[0],
        faults=model_faults(comparison.calibration),
        level=percent(comparison.ranking.level),
        own=own_numbers(comparison),
        notes=unsaid(comparison.notes, comparison.warnings),
        source=source_of(comparison),
        command=comparison.again,
    )


def _over_tradeoffs(comparison: Comparison) -> dict[str, Any]:
    """Return what the page of a ranking over trade-offs shows: imprecision if a model predicts sets."""
    sets = comparison.has_imprecision
    curves = picture(comparison, "reliability")
    models = len(set(curves.columns["model"]))
    room = (0.5, 0.6 + 0.16 * ((1 + models) // 2), 0.05, 0.06)
    untitled = dataclasses.replace(curves, title="")
    methods = [score_method(comparison.ranking.settings)] if sets else []
    methods += [TIES, APART] if comparison.differences else [TIES]
    return {
        "name": "comparison.html",
        "scripts": WITH_SLIDER if sets else SCRIPTS,
        "facts": facts(comparison),
        "event": "event_gap" in comparison.standings,
        "errors": calibration_table(comparison),
        "leading": comparison.leading(),
        "averaged": [name for name, model in comparison.models.items() if model.kind != "Point"],
        "curves": report_figure(untitled, curves.title, "curves", size=(4.4, 3.6), margins=room),
        "sets": _imprecision(comparison) if sets else None,
        "contents": [
            *(
                [("standings", "Places at each trade-off"), ("crossings", "Where models change places")]
                * sets
            ),
            ("errors", "Calibration errors, and what chance gives"),
            ("models", "Each model on its own"),
            *LAST,
        ],
        "warnings": [warning for warning in comparison.warnings if not (sets and is_about_scores(warning))],
        "methods": methods,
    }


SCORES_METHOD = MethodNote(
    "Scores of real values",
    "Proper scores, means over the same instances for all models. If a model is given by quantiles, all "
    "models are scored by their quantiles at the levels they share. Draws that are compared with other "
    "kinds are scored by the fair CRPS, which estimates the CRPS of the distribution they were drawn from.",
    "difference = mean of (score of a − score of b) over instances",
    "Gneiting and Raftery, Strictly proper scoring rules, prediction, and estimation, JASA 2007; Ferro, Fair "
    "scores for ensemble forecasts, Quarterly Journal of the Royal Meteorological Society 2014.",
)

CLASS_SCORES_METHOD = MethodNote(
    "Scores of classes",
    "Proper scores of mean predictions, means over the same instances for all models; the smallest is best.",
    SCORES_METHOD.formula,
    "Gneiting and Raftery, Strictly proper scoring rules, prediction, and estimation, JASA 2007.",
)


def _by_scores(comparison: Comparison) -> dict[str, Any]:
    """Return what the page of a ranking by proper scores shows."""
    ranking = comparison.ranking
    figures = [
        report_figure(
            picture(ranking, criterion=standing.criterion),
            f"Behind the first by {_caption(standing.criterion)}",
            f"differences-{standing.criterion}",
            size=(4.6, 2.8),
            margins=(1.5, 0.75, 0.1, 0.3),
        )
        for standing in ranking.standings
    ]
    kinds = list(dict.fromkeys(model.kind for model in comparison.models.values()))
    real = all(model.k is None for model in comparison.models.values())
    return {
        "name": "scores.html",
        "scripts": SCRIPTS,
        "facts": (*_data(comparison), ("Predictions", joined(kinds)), *_sources(comparison)),
        "findings": comparison.findings,
        "contents": [("standings", "Places and ties"), *LAST],
        "main": figures[0],
        "standings": standings(comparison),
        "figures": figures[1:],
        "warnings": comparison.warnings,
        "methods": (SCORES_METHOD if real else CLASS_SCORES_METHOD, TIES),
    }


def _imprecision(comparison: Comparison) -> dict[str, Any]:
    """Return what is said about the price of imprecision."""
    lines = _lines(comparison)
    drawn = dataclasses.replace(picture(lines), title="")  # the page's own heading says it
    name, size = "Mean score against trade-off", (6.4, 3.3)
    return {
        "findings": comparison.tradeoff_findings,
        "warnings": [warning for warning in comparison.warnings if is_about_scores(warning)],
        "recommendations": [(task, str(advice)) for task, advice in comparison.recommendations.items()],
        "main": report_figure(drawn, name, "lines", size=size, margins=(0.6, 0.5, 1.3, 0.1)),
        "ranked": ranked(comparison, 1.0),
        "start": 1.0,
        "most": drawn.axes["xlim"][1],
        "standings": standings(comparison),
        "without_points": without_points(comparison),
        "groups": group_table(lines.scores),
        "crossings": crossings(comparison),
        "figures": _figures(comparison),
    }


def _figures(comparison: Comparison) -> tuple[ReportFigure, ...]:
    lines, figures = _lines(comparison), []
    for part in ("distance", "imprecision"):
        name = f"{part.capitalize()} of right and wrong predictions"
        figures.append((picture(lines, "violins", part=part), name, f"violins-{part}"))
    for group in ("right", "wrong"):
        name = f"Means over {group} predictions"
        figures.append((picture(lines, "bars", group=group), name, f"bars-{group}"))
    room = (0.6, 1.2, 0.1, 0.3)
    return tuple(report_figure(*figure, size=(4.6, 3.9), margins=room) for figure in figures)
