"""Rows that are larger than memory, in many files, or on a cluster."""

from credibly.scale.engines import Cluster, Engine, Serial, as_engine
from credibly.scale.scan import Scan, scan

__all__ = ["Cluster", "Engine", "Scan", "Serial", "as_engine", "scan"]
