"""Fill the page of a result: one HTML file with style, figures and results inside, no address outside."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from credibly._arrays.notes import unsaid
from credibly.evaluation import (
    Comparison,
    CredalParts,
    Curves,
    Evaluation,
    IgnoranceParts,
    RaterParts,
    RealParts,
    ScoreParts,
    ValidityParts,
)
from credibly.plots import Table, picture
from credibly.report import content
from credibly.report.comparison import render_comparison
from credibly.report.content import asked, class_figures, method_notes, null_figures
from credibly.report.html_parts import Section, filled, report_figure
from credibly.report.sections import (
    audit_section,
    check_section,
    rater_section,
    real_section,
    recalibration_section,
    risk_coverage_section,
    score_section,
)
from credibly.report.sets import claims_section, credal_section, ignorance_section, validity_section
from credibly.report.svg import summarised
from credibly.results.audit import AuditResult
from credibly.results.base import Reportable
from credibly.results.coverage import SetCoverage
from credibly.results.monitor import MonitorResult, evidence_text
from credibly.results.numbers import percent
from credibly.results.predictive import PredictiveCheck
from credibly.results.recalibration import RecalibrationReport

SCRIPTS = ("tables.js",)
"""What makes the page nicer; nothing on it waits for them."""

LAST = (
    ("not-run", "What was not run, and notes"),
    ("methods", "Methods and references"),
    ("again", "Make this report again"),
)
SECTION_OF: dict[type, Callable[[Any, Evaluation], Section]] = {
    SetCoverage: claims_section,
    RealParts: real_section,
    CredalParts: credal_section,
    PredictiveCheck: check_section,
    AuditResult: audit_section,
    ValidityParts: validity_section,
    Curves: risk_coverage_section,
    ScoreParts: score_section,
    RaterParts: rater_section,
    IgnoranceParts: ignorance_section,
    RecalibrationReport: recalibration_section,
}
"""The section of every type of part, in the order of the page."""


def render_report(result: Reportable) -> str:
    """Return the report as HTML; the same result gives the same text, byte by byte.

    Parameters
    ----------
    result : Evaluation, Comparison or MonitorResult
        What to report.

    Returns
    -------
    str
        One page that needs nothing else.
    """
    return PAGE_OF[type(result)](result)


def _render_evaluation(evaluation: Evaluation) -> str:
    assert evaluation.headline is not None
    numbers, footnotes = content.key_numbers(evaluation)
    reading = [str(note) for note in evaluation.source.get("notes") or ()]
    parts = {type(part): part for part in evaluation.parts.values()}
    sections = [section(parts[of], evaluation) for of, section in SECTION_OF.items() if of in parts]
    class_finding, classes = class_figures(evaluation)
    questions, sections = asked(evaluation, sections)
    titles = [("numbers", "All numbers and tests"), *([("classes", "Class by class")] if classes else [])]
    titles += [(section.anchor, section.title) for section in sections]
    return filled(
        "evaluation.html",
        SCRIPTS,
        summarised(evaluation.to_dict()),
        title=content.page_title(evaluation),
        facts=content.facts(evaluation),
        hypothesis=content.hypothesis(evaluation),
        replicated=content.how_replicated(evaluation),
        level=evaluation.settings["level"],
        headline=evaluation.headline,
        tested=content.how_tested(evaluation),
        questions=questions,
        contents=[*titles, *LAST],
        verdicts=evaluation.verdicts,
        numbers=numbers,
        footnotes=footnotes,
        warnings=unsaid(evaluation.warnings, reading),
        reading=reading,
        notes=evaluation.notes,
        tests=content.tests_table(evaluation),
        nulls=null_figures(evaluation),
        class_finding=class_finding,
        class_figures=classes,
        class_table=content.class_table(evaluation),
        n_classes=len(evaluation.classes),
        decomposition=content.decomposition_table(evaluation),
        decomposition_finding=content.decomposition_finding(evaluation),
        sections=sections,
        groups=content.groups_table(evaluation),
        not_run=evaluation.not_run,
        methods=method_notes(evaluation.settings["methods"], evaluation.decomposition)
        + tuple(note for section in sections for note in section.methods),
        source=content.source_table(evaluation),
        command=evaluation.again,
    )


def write_report(result: Reportable, path: str | Path, *, overwrite: bool = False) -> Path:
    """Write the report in one step: there is never half a file.

    Parameters
    ----------
    result : Evaluation, Comparison or MonitorResult
        What to report.
    path : str or Path
        Where to write.
    overwrite : bool
        Replace a file that is already there; a report is replaced in any case.

    Returns
    -------
    Path
        The file written.
    """
    from credibly.io import is_report, require_writable, write_text_atomically

    replace = overwrite or is_report(path)
    require_writable(path, overwrite=replace)  # before seconds of drawing, not after
    return write_text_atomically(path, render_report(result), overwrite=replace)


_MONITOR_AGAIN = """import credibly as cr
cr.Monitor.load("state.json").result().report("monitor.html")"""


def render_monitor(result: MonitorResult) -> str:
    """Return the page of a monitor."""
    tracked = Table.of(
        {
            "mean of": [measure.name for measure in result.tracked],
            "stated": [measure.stated for measure in result.tracked],
            "observed": [measure.observed for measure in result.tracked],
            f"{percent(1 - result.level)} interval": [
                (measure.low, measure.high) for measure in result.tracked
            ],
        }
    )
    groups = Table.of(
        {
            "group": [group.name for group in result.groups],
            "rows": [group.n for group in result.groups],
            "e-value": [evidence_text(group.evalue) for group in result.groups],
            "verdict": ["conflict" if group.alarm else "no conflict found" for group in result.groups],
        }
    )
    suspects = Table.of(
        {
            "what the labels look like": [suspect.words for suspect in result.where],
            "share": [f"{100 * suspect.share:.0f} %" for suspect in result.where],
        }
    )
    facts = [
        ("Rows with labels", str(result.n)),
        ("Waiting for labels", str(result.waiting)),
        ("Predictions", result.kind or "none yet"),
        ("Compared with", _HYPOTHESES.get(result.hypothesis, result.hypothesis)),
        ("Level", percent(result.level)),
    ]
    onset = "The weight has not left the model."
    if result.since is not None:
        onset = f"The weight left the model near row {result.since}."
    return filled(
        "monitor.html",
        ("tables.js",),
        result.to_dict(),
        title="Monitor",
        facts=facts,
        verdict=result.verdict(),
        headline=result.sentence(),
        promise=f"While the predictions are right, an alarm is ever raised with a probability of at most "
        f"{percent(result.level)}, however often one looks.",
        notes=result.notes,
        onset=onset,
        figure=report_figure(
            picture(result, "evidence"),
            "Evidence against the predictions",
            "evidence",
            size=(4.4, 3.6),
            margins=(0.55, 0.95, 0.15, 0.3),
        ),
        suspects=suspects,
        tracked=tracked,
        groups=groups,
        methods=(),
        source=Table(("what", "value"), tuple(facts)),
        command=_MONITOR_AGAIN,
    )


_HYPOTHESES = {
    "independent": "the prediction, or the mean of its members",
    "bayesian": "one member that draws all labels",
    "set": "any distribution in the set",
}


PAGE_OF: dict[type, Callable[[Any], str]] = {
    Evaluation: _render_evaluation,
    Comparison: render_comparison,
    MonitorResult: render_monitor,
}
