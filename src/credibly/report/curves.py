"""The sections about curves: where labels lie in predicted distributions, and whether doubt finds errors."""

from __future__ import annotations

from credibly.evaluation import Curves, Evaluation, RealParts, shown
from credibly.plots import Table
from credibly.plots.curves import EnvelopeDisplay, RiskCoverageDisplay
from credibly.report.html_parts import MethodNote, ReportFigure, Section, interval_text, report_figure
from credibly.results.curves import EnvelopeCurve
from credibly.results.estimates import Estimate

ENVELOPES = MethodNote(
    "Curves with envelopes",
    "At every level the observed curve and those of the replicates are ranked together. A curve is as "
    "extreme as its most extreme level; where curves tie, the next level decides. The p-value is the share "
    "of curves at least as extreme. The envelope holds all curves that would not be rejected.",
    "",
    "Myllymäki et al., Global envelope tests for spatial processes, Journal of the Royal Statistical Society "
    "B, 2017; Säilynoja, Bürkner and Vehtari, Statistics and Computing, 2022.",
)

RISK_COVERAGE = MethodNote(
    "Risk against coverage",
    "Instances are answered from the surest to the least sure; risk is the share of wrong answers among "
    "those answered so far, equally sure ones in random order, of which the mean is exact. The area (AURC) "
    "is the mean risk over all coverages; the excess is what it lies above the best order, all right answers "
    "first. An order says nothing about calibration: compare the curve with what the predictions state.",
    "AURC = (1/n) Σ_j (1/j) Σ_{i ≤ j} 1[answer i is wrong]",
    "El-Yaniv and Wiener, On the foundations of noise-free selective classification, Journal of Machine "
    "Learning Research, 2010; Geifman, Uziel and El-Yaniv, Bias-reduced uncertainty estimation for deep "
    "neural classifiers, ICLR 2019.",
)

_CAPTION = "Curves over all levels, each with one p-value; not adjusted for each other"

_NAMES = {
    "pit": "labels below quantiles (probability integral transform)",
    "coverage": "labels inside central intervals",
}


def real_section(parts: RealParts, evaluation: Evaluation) -> Section:
    """Return the section about labels in their predicted distributions."""
    curves = [parts.pit, *([] if parts.coverage is None else [parts.coverage])]
    rows = tuple(_row(curve) for curve in curves)
    figures: tuple[ReportFigure, ...] = ()
    if parts.coverage is not None:
        display = EnvelopeDisplay(parts.coverage)
        figures = (report_figure(display, "Stated against observed coverage", "coverage", size=(4.4, 4.2)),)
    left = [_NAMES[curve.name] for curve in curves if curve.rejects(1.0 - curve.coverage)]
    finding = "Shares of labels stay inside what the hypothesis gives at all levels together."
    if left:
        finding = f"Shares of {' and of '.join(left)} leave what the hypothesis gives."
    return Section(
        anchor="reals",
        title="Are labels where the predicted distributions say?",
        finding=finding,
        tables=((_CAPTION, _table(rows)),),
        figures=figures,
        methods=(ENVELOPES,),
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


def risk_coverage_section(parts: Curves, evaluation: Evaluation) -> Section:
    """Return the section about doubt that finds errors."""
    curves = parts.risk_coverage
    display = RiskCoverageDisplay(curves)
    rows = tuple(
        (one.by, *_cells(one.area), *_cells(one.excess), shown(one.stated_area)) for one in curves.values()
    )
    columns = ("ordered by", "area", "95 % interval", "excess area", "95 % interval", "area as stated")
    return Section(
        anchor="risk-coverage",
        title="Does the model know which answers are wrong?",
        finding=display.finding,
        tables=(("Mean share of wrong answers over all coverages", Table(columns, rows)),),
        figures=(
            report_figure(
                display,
                "Share of wrong answers among the surest instances",
                "risk-coverage",
                size=(5.2, 4.0),
                finding="Lower is better; where the line runs above the dashed one, the predictions state "
                "less risk than there is.",
            ),
        ),
        methods=(RISK_COVERAGE,),
    )


def _cells(estimate: Estimate) -> tuple[str, str]:
    return shown(estimate.value), interval_text(estimate)
