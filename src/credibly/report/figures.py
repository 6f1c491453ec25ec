"""The figures of a report: picture, one sentence, and the numbers behind it as a table."""

from __future__ import annotations

import dataclasses

import numpy as np

from credibly.evaluation import Evaluation, story_of, title
from credibly.plots import (
    NullDisplay,
    ReliabilityDisplay,
    classwise_data,
    new_axes,
    null_data,
    pit_data,
    reliability_data,
)
from credibly.report.html_parts import ReportFigure, drawn_figure, report_figure
from credibly.results.tests import HypotestResult

SHOWN_CLASSES = 12
PIT_TITLE = "Shares of labels below quantiles, minus their levels"
_LARGE, _SMALL, _NULL = (0.5, 0.85, 0.05, 0.06), (0.3, 0.24, 0.06, 0.26), (0.1, 0.24, 0.1, 0.26)


def main_figure(evaluation: Evaluation) -> ReportFigure | None:
    """Return the figure that carries the verdict.

    That is confidence against accuracy, unless the conflict is seen in single classes only; of real values,
    shares of labels below quantiles.
    """
    if evaluation.reals is not None:
        return report_figure(
            pit_data(evaluation.reals.pit), PIT_TITLE, "main", size=(5.2, 4.0), margins=(0.7, 0.85, 0.15, 0.3)
        )
    if evaluation.curves is None:
        return None
    seen_in = {
        story_of(one.statistic).notion
        for one in evaluation.verdicts
        if one.word == "conflict" and one.statistic is not None
    }
    shown_classes = classwise_data(evaluation.curves.per_class, limit=len(evaluation.curves.per_class))
    if "classwise" in seen_in and "confidence" not in seen_in:
        worst = max(shown_classes.panels, key=lambda panel: panel.error_outside)
        return _reliability(worst, "main")
    return _reliability(reliability_data(evaluation.curves.top_label), "main")


def class_figures(evaluation: Evaluation) -> tuple[str, tuple[ReportFigure, ...]]:
    """Return a sentence about the classes and their diagrams, worst first."""
    if evaluation.curves is None:
        return "", ()
    display = classwise_data(evaluation.curves.per_class, limit=SHOWN_CLASSES)
    hidden = len(evaluation.classes) - len(display.panels)
    display = dataclasses.replace(display, hidden=hidden)
    figures = [
        _reliability(panel, f"class-{place}", small=True) for place, panel in enumerate(display.panels)
    ]
    return display.finding, tuple(figures)


def null_figures(evaluation: Evaluation) -> tuple[ReportFigure, ...]:
    """Return the null distribution of every test that has one to draw, worst first."""
    found = []
    for place, verdict in enumerate(evaluation.verdicts):
        result = evaluation.tests.get(verdict.statistic or "")
        if result is not None and verdict.limit is not None and _drawable(result):
            display = dataclasses.replace(null_data(result), acceptance=verdict.limit)
            found.append(_null(display, f"null-{place}"))
    return tuple(found)


def _drawable(result: HypotestResult) -> bool:
    null = result.null_distribution
    return null is not None and bool(np.isfinite(null).any())


def _reliability(display: ReliabilityDisplay, anchor: str, *, small: bool = False) -> ReportFigure:
    name = "Confidence against accuracy"
    if not display.is_top_label:
        name = f"{display.name[0].upper()}{display.name[1:]}: predicted probability against frequency"
    if small:
        return report_figure(
            display, name, anchor, size=(2.3, 2.2), margins=_SMALL, small=True, finding=display.summary
        )
    ax = display.draw(new_axes(5.2, 4.0, _LARGE))
    ax.set_title("", loc="left")  # the page's own heading says it
    return drawn_figure(ax, name, anchor, display.finding, display.table())


def _null(display: NullDisplay, anchor: str) -> ReportFigure:
    name = f"{title(display.name)}: replicates under the hypothesis"
    return report_figure(display, name, anchor, size=(2.9, 2.0), margins=_NULL, small=True)
