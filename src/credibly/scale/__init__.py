"""Rows that are larger than memory, in many files, or on a cluster."""

from credibly.scale.scan import Scan, scan

__all__ = ["Scan", "scan"]
