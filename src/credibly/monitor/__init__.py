"""Is it still right? Evidence that stays valid however often one looks, and that finds late faults."""

from credibly.monitor.monitor import Monitor
from credibly.monitor.workers import WorkersEvidence, average

__all__ = ["Monitor", "WorkersEvidence", "average"]
