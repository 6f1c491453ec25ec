"""Is it still right? Evidence that stays valid however often one looks, and that finds late faults."""

from credibly._arrays.shared_parameters import fill_docstrings
from credibly.monitor.monitor import Monitor
from credibly.monitor.workers import WorkersEvidence, average

__all__ = ["Monitor", "WorkersEvidence", "average"]

fill_docstrings(map(globals().get, __all__))
