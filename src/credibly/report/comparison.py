"""A comparison of models as one HTML file: tables that stand without a script, and a slider that re-ranks."""

from __future__ import annotations

from credibly.evaluation import Comparison
from credibly.plots import new_axes
from credibly.plots.scores import MembersDisplay, ScoreBarDisplay, TradeoffDisplay, ViolinDisplay
from credibly.report import comparison_tables as tables
from credibly.report.html_parts import MethodNote, ReportFigure, drawn_figure, filled, report_figure
from credibly.report.score import ANY_METHOD, METHOD, group_table

SCRIPTS = ("slider.js", "tables.js")
FIRST_FINDINGS = 3
"""Sentences of the first screen beside what to take; the others stand with places and ties."""

_WIDE = (0.6, 1.2, 0.1, 0.3)
TIES = MethodNote(
    "Ties",
    "All models are scored on the same bootstrapped instances. Two are tied where the interval of the "
    "difference of their means holds 0; the intervals hold jointly for all pairs of models at one trade-off. "
    "A place such as 1 to 3 names the places a model can have given who is better beyond chance.",
    "half width = q * sd*(E_a - E_b), q a quantile of the largest |deviation| / sd* over pairs",
    "Romano and Wolf, Stepwise multiple testing as formalized data snooping, Econometrica 2005.",
)


def render_comparison(comparison: Comparison) -> str:
    """Return the page of a comparison."""
    ranking = comparison.ranking
    lines = TradeoffDisplay(ranking)
    return filled(
        "comparison.html",
        SCRIPTS,
        comparison.to_dict(),
        title=f"{len(comparison.models)} models compared",
        facts=tables.facts(comparison),
        findings=comparison.findings[:FIRST_FINDINGS],
        more_findings=comparison.findings[FIRST_FINDINGS:],
        recommendations=[(task, str(one)) for task, one in comparison.recommendations.items()],
        main=_main(lines),
        ranked=tables.ranked(comparison, 1.0),
        start=1.0,
        most=lines.end,
        standings=tables.standings(comparison),
        without_points=tables.without_points(comparison),
        own=tables.own_numbers(comparison),
        groups=group_table(ranking.scores),
        crossings=tables.crossings(comparison),
        alternatives=tables.alternatives(comparison),
        budgets=tables.budgets(comparison),
        figures=_figures(comparison),
        warnings=comparison.warnings,
        notes=[note for note in comparison.notes if note not in comparison.warnings],
        methods=(_method(comparison), TIES),
        source=tables.source_of(comparison),
        command=tables.command_of(comparison),
    )


def _main(lines: TradeoffDisplay) -> ReportFigure:
    """Return the figure of the first screen; the page's own heading is its title."""
    ax = lines.draw(new_axes(6.4, 3.3, (0.6, 0.5, 1.3, 0.1)))
    ax.set_title("", loc="left")
    return drawn_figure(ax, "Mean score against trade-off", "lines", lines.finding, lines.table())


def _method(comparison: Comparison) -> MethodNote:
    """Return what the score is: with other measures or divergences its formula is another."""
    settings = comparison.ranking.settings
    usual = settings["divergence"] == "kl" and settings["measure"] in ("hartley", "dubois_prade")
    return METHOD if usual else ANY_METHOD


def _figures(comparison: Comparison) -> tuple[ReportFigure, ...]:
    ranking = comparison.ranking
    found = [
        report_figure(
            ViolinDisplay(ranking, part),
            f"{part.capitalize()} of right and wrong predictions",
            f"violins-{part}",
            size=(5.4, 4.2),
            margins=_WIDE,
        )
        for part in ("distance", "imprecision")
    ]
    found += [
        report_figure(
            ScoreBarDisplay(ranking, group),
            f"Means over {group} predictions",
            f"bars-{group}",
            size=(5.4, 4.2),
            margins=_WIDE,
        )
        for group in ("right", "wrong")
    ]
    if any(one.n_members.size for one in ranking.stability.values()):
        display = MembersDisplay(ranking.stability)
        found.append(report_figure(display, "Score against number of members", "members", margins=_WIDE))
    return tuple(found)
