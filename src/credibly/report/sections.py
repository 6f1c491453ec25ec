"""The sections of a report in their order; one that has nothing to say is left out."""

from __future__ import annotations

from collections.abc import Callable

from credibly.evaluation import Evaluation
from credibly.report.checks import check_section
from credibly.report.parts import Section
from credibly.report.raters import rater_section
from credibly.report.recalibration import recalibration_section
from credibly.report.regression import real_section
from credibly.report.risk_coverage import risk_coverage_section
from credibly.report.score import score_section
from credibly.report.sets import credal_section, validity_section

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
"""A new section is one file with such a function and one name here."""


def sections(evaluation: Evaluation) -> tuple[Section, ...]:
    """Return the sections that this evaluation fills."""
    found = (section(evaluation) for section in SECTIONS)
    return tuple(one for one in found if one is not None)
