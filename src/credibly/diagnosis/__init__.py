"""What is wrong with a model, by how much, and what repairs it."""

from credibly._arrays.shared_parameters import fill_docstrings
from credibly.diagnosis.diagnose import diagnose
from credibly.diagnosis.results import Claim, Diagnosis, Effect, RepairGain

__all__ = ["Claim", "Diagnosis", "Effect", "RepairGain", "diagnose"]

fill_docstrings(map(globals().get, __all__))
