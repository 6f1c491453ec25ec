"""The figures of a report: picture, one sentence, and the numbers behind it as a table."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from credibly._arrays.results import HypotestResult
from credibly.evaluation import Evaluation, shown, title
from credibly.plots import (
    NullDisplay,
    ReliabilityDisplay,
    classwise_data,
    new_axes,
    null_data,
    reliability_data,
)
from credibly.report.svg import inline_svg

SHOWN_CLASSES = 12
_LARGE, _SMALL, _NULL = (0.5, 0.85, 0.05, 0.06), (0.3, 0.24, 0.06, 0.26), (0.1, 0.24, 0.1, 0.26)
_TOP_LABEL_STATISTICS = frozenset({"accuracy", "confidence_ece", "top_label_ece"})
_CLASS_STATISTICS = frozenset({"classwise_ece", "hosmer_lemeshow"})


@dataclasses.dataclass(frozen=True)
class Table:
    """Column names and rows of text."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclasses.dataclass(frozen=True)
class ReportFigure:
    """A picture with its sentence and its data."""

    title: str
    finding: str
    svg: str
    table: Table


def main_figure(evaluation: Evaluation) -> ReportFigure | None:
    """Return the figure that carries the verdict.

    That is confidence against accuracy, unless the conflict is seen in single classes only.
    """
    if evaluation.curves is None:
        return None
    conflicts = {one.statistic for one in evaluation.verdicts if one.word == "conflict"}
    shown_classes = classwise_data(evaluation.curves.per_class, limit=len(evaluation.curves.per_class))
    if conflicts & _CLASS_STATISTICS and not conflicts & _TOP_LABEL_STATISTICS:
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


def _reliability(display: ReliabilityDisplay, prefix: str, *, small: bool = False) -> ReportFigure:
    ax = new_axes(2.3, 2.2, _SMALL) if small else new_axes(5.2, 4.3, _LARGE)
    display.draw(ax, small=small)
    if not small:
        ax.set_title("", loc="left")  # the page's own heading says it
    banded = display.low is not None and display.high is not None
    columns = ("bin", "instances", "predicted", "observed", *(("band", "outside") if banded else ()))
    rows = []
    for i in range(len(display.count)):
        row = [
            f"{shown(display.left[i])} to {shown(display.right[i])}",
            f"{display.count[i]:g}",
            shown(display.predicted[i]),
            shown(display.observed[i]),
        ]
        if display.low is not None and display.high is not None:
            row += [
                f"{shown(display.low[i])} to {shown(display.high[i])}",
                "yes" if display.outside[i] else "",
            ]
        rows.append(tuple(row))
    name = "Confidence against accuracy"
    if not display.is_top_label:
        name = f"{display.name[0].upper()}{display.name[1:]}: predicted probability against frequency"
    return _figure(name, display.summary if small else display.finding, ax, prefix, columns, rows)


def _null(display: NullDisplay, prefix: str) -> ReportFigure:
    ax = new_axes(2.9, 2.0, _NULL)
    display.draw(ax, small=True)
    rows = [
        (f"{shown(left)} to {shown(right)}", f"{count:d}")
        for left, right, count in zip(display.edges[:-1], display.edges[1:], display.counts, strict=True)
    ]
    name = f"{title(display.name)}: replicates under the hypothesis"
    return _figure(name, display.finding, ax, prefix, ("value", "replicates"), rows)


def _figure(
    name: str,
    finding: str,
    ax: object,
    prefix: str,
    columns: tuple[str, ...],
    rows: Sequence[tuple[str, ...]],
) -> ReportFigure:
    svg = inline_svg(ax.figure, f"figure-{prefix}", name, finding)  # type: ignore[attr-defined]
    return ReportFigure(name, finding, svg, Table(columns, tuple(rows)))
