"""The figures of a report: picture, one sentence, and the numbers behind it as a table."""

from __future__ import annotations

import dataclasses

import numpy as np

from credibly.evaluation import Answer, Evaluation, story_of, title
from credibly.plots import ClasswiseDisplay, new_axes
from credibly.plots.curves import EnvelopeDisplay, ReliabilityDisplay
from credibly.plots.hypotests import NullDisplay
from credibly.report.html_parts import ReportFigure, Section, drawn_figure, report_figure
from credibly.results.tests import HypotestResult

SHOWN_CLASSES = 12
PIT_TITLE = "Shares of labels below quantiles, minus their levels"
_LARGE, _SMALL, _NULL = (0.5, 0.85, 0.05, 0.06), (0.3, 0.24, 0.06, 0.26), (0.1, 0.24, 0.1, 0.26)


FIGURE_OF = {"raters": "raters", "errors": "risk-coverage", "coverage": "reals"}
"""Section whose first figure stands beside the question about this."""
SPREAD = ("sets", "validity", "checks")


def asked(
    evaluation: Evaluation, sections: list[Section]
) -> tuple[list[tuple[Answer, ReportFigure | None]], list[Section]]:
    """Return the questions of the first screen with a figure each, and the sections without these figures."""
    left = {one.anchor: one for one in sections}

    def taken(*anchors: str) -> ReportFigure | None:
        for anchor in anchors:
            own = left.get(anchor)
            if own is not None and own.figures:
                left[anchor] = dataclasses.replace(own, figures=own.figures[1:])
                return own.figures[0]
        return None

    questions: list[tuple[Answer, ReportFigure | None]] = []
    for answer in evaluation.headline.questions if evaluation.headline is not None else ():
        if answer.about in ("confidence", "where"):
            figure = main_figure(evaluation)
        elif answer.about == "spread":
            figure = taken(*SPREAD)
        else:
            figure = taken(FIGURE_OF[answer.about])
        questions.append((answer, figure))
    return questions, list(left.values())


def main_figure(evaluation: Evaluation) -> ReportFigure | None:
    """Return the figure that carries the verdict.

    That is confidence against accuracy, unless the conflict is seen in single classes only; of real values,
    shares of labels below quantiles.
    """
    if evaluation.reals is not None:
        display = EnvelopeDisplay(evaluation.reals.pit)
        return report_figure(display, PIT_TITLE, "main", size=(5.2, 4.0), margins=(0.7, 0.85, 0.15, 0.3))
    if evaluation.curves is None:
        return None
    seen_in = {
        story_of(one.statistic).notion
        for one in evaluation.verdicts
        if one.word == "conflict" and one.statistic is not None
    }
    if "classwise" in seen_in and "confidence" not in seen_in:
        classes = ClasswiseDisplay(evaluation.curves.per_class, len(evaluation.classes)).panels
        return _reliability(max(classes, key=lambda panel: panel.error_outside), "main")
    return _reliability(ReliabilityDisplay(evaluation.curves.top_label), "main")


def class_figures(evaluation: Evaluation) -> tuple[str, tuple[ReportFigure, ...]]:
    """Return a sentence about the classes and their diagrams, worst first."""
    if evaluation.curves is None:
        return "", ()
    display = ClasswiseDisplay(evaluation.curves.per_class, SHOWN_CLASSES, len(evaluation.classes))
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
            found.append(_null(NullDisplay(result, verdict.limit), f"null-{place}"))
    return tuple(found)


def _drawable(result: HypotestResult) -> bool:
    null = result.null_distribution
    return null is not None and bool(np.isfinite(null).any())


def _reliability(display: ReliabilityDisplay, anchor: str, *, small: bool = False) -> ReportFigure:
    name = "Confidence against accuracy"
    if not display.is_top_label:
        own = display.curve.name
        name = f"{own[0].upper()}{own[1:]}: predicted probability against frequency"
    if small:
        return report_figure(
            display, name, anchor, size=(2.3, 2.2), margins=_SMALL, small=True, finding=display.summary
        )
    ax = display.draw(new_axes(5.2, 4.0, _LARGE))
    ax.set_title("", loc="left")  # the page's own heading says it
    return drawn_figure(ax, name, anchor, display.finding, display.table())


def _null(display: NullDisplay, anchor: str) -> ReportFigure:
    name = f"{title(display.result.statistic_name)}: replicates under the hypothesis"
    return report_figure(display, name, anchor, size=(2.9, 2.0), margins=_NULL, small=True)
