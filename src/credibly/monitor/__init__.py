"""Is it still right? Evidence to be looked at any time, which finds late faults like early ones."""

from credibly.monitor.monitor import Monitor
from credibly.monitor.workers import WorkersEvidence, average

__all__ = ["Monitor", "WorkersEvidence", "average"]
