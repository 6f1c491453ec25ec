"""Rows that are larger than memory, in many files, or on a cluster."""

from credibly._arrays.engines import Cluster, Devices, Engine, Pool, Serial, as_engine
from credibly.scale.scan import Scan, scan

__all__ = ["Cluster", "Devices", "Engine", "Pool", "Scan", "Serial", "as_engine", "scan"]
