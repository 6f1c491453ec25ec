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
from credibly.report import content
from credibly.report.comparison import render_comparison
from credibly.report.content import asked, class_figures, method_notes, null_figures
from credibly.report.html_parts import Section, filled
from credibly.report.ignorance import ignorance_section
from credibly.report.monitor import render_monitor
from credibly.report.sections import (
    audit_section,
    check_section,
    rater_section,
    real_section,
    recalibration_section,
    risk_coverage_section,
    score_section,
)
from credibly.report.sets import claims_section, credal_section, validity_section
from credibly.report.svg import summarised
from credibly.results.audit import AuditResult
from credibly.results.base import Reportable
from credibly.results.coverage import SetCoverage
from credibly.results.monitor import MonitorResult
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


PAGE_OF: dict[type, Callable[[Any], str]] = {
    Evaluation: _render_evaluation,
    Comparison: render_comparison,
    MonitorResult: render_monitor,
}
