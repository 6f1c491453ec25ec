"""The section about real values: where labels lie in their predicted distributions."""

from __future__ import annotations

from credibly.evaluation import Evaluation, shown
from credibly.plots import Table, coverage_data
from credibly.report.parts import MethodNote, ReportFigure, Section, report_figure
from credibly.results.curves import EnvelopeCurve

METHOD = MethodNote(
    "Curves with envelopes",
    "At every level the observed curve and those of the replicates are ranked together. A curve is as "
    "extreme as its most extreme level; where curves tie, the next level decides. The p-value is the share "
    "of curves at least as extreme. The envelope holds all curves that would not be rejected.",
    "",
    "Myllymäki et al., Global envelope tests for spatial processes, Journal of the Royal Statistical Society "
    "B, 2017; Säilynoja, Bürkner and Vehtari, Statistics and Computing, 2022.",
)

_CAPTION = "Curves over all levels, each with one p-value; not adjusted for each other"

_NAMES = {
    "pit": "labels below quantiles (probability integral transform)",
    "coverage": "labels inside central intervals",
}


def real_section(evaluation: Evaluation) -> Section | None:
    """Return the section, or None where predictions are of classes or nothing could be drawn."""
    parts = evaluation.reals
    if parts is None:
        return None
    curves = [parts.pit, *([] if parts.coverage is None else [parts.coverage])]
    rows = tuple(_row(curve) for curve in curves)
    figures: tuple[ReportFigure, ...] = ()
    if parts.coverage is not None:
        display = coverage_data(parts.coverage)
        figures = (report_figure(display, "Stated against observed coverage", "coverage", size=(4.4, 4.2)),)
    left = [_NAMES[curve.name] for curve in curves if curve.rejects(1.0 - curve.coverage)]
    finding = "Shares of labels stay inside what the hypothesis gives at all levels together."
    if left:
        finding = f"Shares of {' and of '.join(left)} leave what the hypothesis gives."
    return Section(
        anchor="reals",
        title="Are labels where the predicted distributions say?",
        finding=finding,
        tables=(
            ("Curves over all levels, each with one p-value; not adjusted for each other", _table(rows)),
        ),
        figures=figures,
        methods=(METHOD,),
    )


def _table(rows: tuple[tuple[str, ...], ...]) -> Table:
    return Table(("share of", "levels", "outside", "largest difference", "at level", "p"), rows)


def _row(curve: EnvelopeCurve) -> tuple[str, ...]:
    worst = int(abs(curve.difference).argmax())
    return (
        _NAMES[curve.name],
        str(curve.levels.size),
        str(int(curve.outside.sum())),
        shown(float(curve.difference[worst])),
        shown(float(curve.levels[worst])),
        shown(curve.pvalue),
    )
