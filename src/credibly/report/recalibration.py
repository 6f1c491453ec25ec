"""The section about recalibration: what each method changes on instances it was not fitted on."""

from __future__ import annotations

from credibly.evaluation import Evaluation, shown, title
from credibly.plots import Table
from credibly.plots.curves import RecalibratedCurvesDisplay, RecalibrationChangesDisplay
from credibly.report.html_parts import MethodNote, ReportFigure, Section, interval_text, report_figure
from credibly.results.recalibration import Change, MethodChanges, RecalibrationReport

METHOD = MethodNote(
    "Recalibration, before and after",
    "Each fold of the instances is recalibrated by a fit on the other folds, so no instance is measured by a "
    "fit that has seen its label. Differences are paired: the same instance before and after. A "
    "recalibration that is used afterwards must be evaluated on new data.",
    "difference = mean of (after − before) over instances",
    "Guo et al., On calibration of modern neural networks, ICML 2017; Mimori et al., Diagnostic uncertainty "
    "calibration, AISTATS 2021.",
)
_COLUMNS = ("statistic", "before", "after", "difference", "95 % interval", "adjusted p before", "after")


def recalibration_section(found: RecalibrationReport, evaluation: Evaluation) -> Section:
    """Return the section about each method before and after."""
    fitted = {name: one for name, one in found.methods.items() if one.failure is None}
    tables = tuple((_caption(name, one), _table(one)) for name, one in fitted.items())
    return Section(
        anchor="recalibration",
        title="What would recalibration change?",
        finding=_finding(found),
        tables=tables,
        figures=_figures(found) if fitted else (),
        methods=(METHOD,),
    )


def _finding(found: RecalibrationReport) -> str:
    sentences = []
    for name, one in found.methods.items():
        if one.failure is not None:
            sentences.append(f"{name} could not be fitted: {one.failure}")
            continue
        change = one.changes.get("log_loss") or next(iter(one.changes.values()))
        within = ""
        if change.difference.has_interval:
            within = f" (95 % interval of the change {interval_text(change.difference)})"
        sentences.append(
            f"{name} moves {title(change.name)} from {shown(change.before.value)} to "
            f"{shown(change.after.value)}{within}."
        )
    return f"Measured on {found.n} instances in {found.n_folds} folds. {' '.join(sentences)}"


def _caption(name: str, one: MethodChanges) -> str:
    return f"{name}: {one.description} when fitted on all instances"


def _table(one: MethodChanges) -> Table:
    return Table(_COLUMNS, tuple(_row(change) for change in one.changes.values()))


def _row(change: Change) -> tuple[str, ...]:
    tests = (change.test_before, change.test_after)
    return (
        title(change.name),
        shown(change.before.value),
        shown(change.after.value),
        shown(change.difference.value),
        interval_text(change.difference),
        *("" if test is None else shown(test.deciding_pvalue) for test in tests),
    )


def _figures(found: RecalibrationReport) -> tuple[ReportFigure, ...]:
    curves = RecalibratedCurvesDisplay(found)
    first = report_figure(curves, "Confidence against accuracy, before and after", "recalibrated-curves")
    names = next(one.changes for one in found.methods.values() if one.changes)
    statistic = "disagreement_calibration_loss" if "disagreement_calibration_loss" in names else "log_loss"
    if statistic not in names:
        return (first,)
    changes = RecalibrationChangesDisplay(found, statistic)
    margins = (1.5, 0.75, 0.1, 0.3)
    return (
        first,
        report_figure(changes, f"Change of {title(statistic)}", "changes", size=(4.6, 2.8), margins=margins),
    )
