"""The papers' experiments, run with this library: one name, one command, tables, figures and claims."""

from credibly_studies.power import PowerSize, PowerWork
from credibly_studies.registry import STUDIES, studies
from credibly_studies.results import Claim, Findings, StudyResult, StudyTable
from credibly_studies.study import Run, Study

__all__ = [
    "STUDIES",
    "Claim",
    "Findings",
    "PowerSize",
    "PowerWork",
    "Run",
    "Study",
    "StudyResult",
    "StudyTable",
    "studies",
]
