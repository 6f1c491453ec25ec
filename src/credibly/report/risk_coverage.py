"""The section about abstaining: does confidence find the wrong answers?"""

from __future__ import annotations

from credibly.evaluation import Evaluation, shown
from credibly.plots import Table, risk_coverage_data
from credibly.report.parts import MethodNote, Section, interval_text, report_figure
from credibly.results.estimates import Estimate

METHOD = MethodNote(
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


def risk_coverage_section(evaluation: Evaluation) -> Section | None:
    """Return the section, or None where there are no classes to be right about."""
    curves = None if evaluation.curves is None else evaluation.curves.risk_coverage
    if not curves:
        return None
    display = risk_coverage_data(curves)
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
        methods=(METHOD,),
    )


def _cells(estimate: Estimate) -> tuple[str, str]:
    return shown(estimate.value), interval_text(estimate)
