"""Fill the template: one HTML file with style, figures and results inside, and no address outside."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from credibly.evaluation import Evaluation, shown
from credibly.plots import printable
from credibly.report import content
from credibly.report.compact import summarised
from credibly.report.curves import real_section, risk_coverage_section
from credibly.report.figures import class_figures, main_figure, null_figures
from credibly.report.html_parts import Section, content_policy, packaged
from credibly.report.methods import method_notes
from credibly.report.predictive_checks import check_section
from credibly.report.raters import rater_section
from credibly.report.recalibration import recalibration_section
from credibly.report.score import score_section
from credibly.report.sets import credal_section, validity_section

if TYPE_CHECKING:
    from jinja2 import Template

SCRIPTS = ("tables.js",)
"""What makes the page nicer; nothing on it waits for them."""


SECTIONS: tuple[Callable[[Evaluation], Section | None], ...] = (
    real_section,
    credal_section,
    check_section,
    validity_section,
    risk_coverage_section,
    score_section,
    rater_section,
    recalibration_section,
)
"""The sections in their order. A new one is one file with such a function and one name here."""


def render_report(evaluation: Evaluation) -> str:
    """Return the report as HTML; the same evaluation gives the same text, byte by byte.

    Parameters
    ----------
    evaluation : Evaluation
        What to report.

    Returns
    -------
    str
        One page that needs nothing else.
    """
    from markupsafe import Markup

    scripts = tuple(map(packaged, SCRIPTS))
    numbers, footnotes = content.key_numbers(evaluation)
    filled = _sections(evaluation)
    first, own = content.first_verdicts(evaluation)
    class_finding, classes = class_figures(evaluation)
    page = template("template.html").render(
        # Style sheet, scripts and figures are our own markup; everything else is escaped by the template.
        style=Markup(packaged("style.css")),
        scripts=tuple(map(Markup, scripts)),
        policy=content_policy(scripts),
        results=Markup(embedded_json(summarised(evaluation.to_dict()))),
        title=content.page_title(evaluation),
        facts=content.facts(evaluation),
        hypothesis=content.hypothesis(evaluation),
        n_resamples=evaluation.settings["n_resamples"],
        level=evaluation.settings["level"],
        tested=bool(evaluation.tests),
        first_verdicts=first,
        rater_finding=next((one.finding for one in filled if one.anchor == "raters"), None),
        verdicts=evaluation.verdicts[own:],
        numbers=numbers,
        footnotes=footnotes,
        main=main_figure(evaluation),
        warnings=evaluation.warnings,
        notes=evaluation.notes,
        tests=content.tests_table(evaluation),
        nulls=null_figures(evaluation),
        class_finding=class_finding,
        class_figures=classes,
        class_table=content.class_table(evaluation),
        n_classes=len(evaluation.classes),
        decomposition=content.decomposition_table(evaluation),
        sections=filled,
        groups=content.groups_table(evaluation),
        not_run=evaluation.not_run,
        methods=method_notes(evaluation.settings["methods"], decomposed=evaluation.decomposition is not None)
        + tuple(note for one in filled for note in one.methods),
        source=content.source_table(evaluation),
        command=content.command(evaluation),
        markup=Markup,
    )
    return printable(page)


def write_report(evaluation: Evaluation, path: str | Path, *, overwrite: bool = False) -> Path:
    """Write the report in one step: there is never half a file.

    Parameters
    ----------
    evaluation : Evaluation
        What to report.
    path : str or Path
        Where to write.
    overwrite : bool
        Replace a file that is already there.

    Returns
    -------
    Path
        The file written.
    """
    from credibly.io import require_writable, write_text_atomically

    require_writable(path, overwrite=overwrite)  # before seconds of drawing, not after
    return write_text_atomically(path, render_report(evaluation), overwrite=overwrite)


def embedded_json(results: dict[str, Any]) -> str:
    """Return JSON that cannot end the script element it stands in."""
    text = json.dumps(results, allow_nan=False, separators=(",", ":"))
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


@cache
def template(name: str) -> Template:
    """Return a page's template, with the macros that all pages share in front of it."""
    from jinja2 import Environment, StrictUndefined

    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    # a number and its % sign stay on one line
    environment.filters["nobreak"] = lambda text: text.replace(" %", "\N{NO-BREAK SPACE}%")
    environment.filters["digits"] = shown
    return environment.from_string(packaged("macros.html") + packaged(name))


def _sections(evaluation: Evaluation) -> tuple[Section, ...]:
    """Return the sections that this evaluation fills."""
    found = (section(evaluation) for section in SECTIONS)
    return tuple(one for one in found if one is not None)
