"""What is wrong with a model, by how much, and what repairs it."""

from credibly.diagnosis.diagnose import diagnose
from credibly.diagnosis.results import Claim, Diagnosis, Effect, RepairGain

__all__ = ["Claim", "Diagnosis", "Effect", "RepairGain", "diagnose"]
