"""Rows that are larger than memory, in many files, or on a cluster."""

from credibly._arrays.shared_parameters import fill_docstrings
from credibly.scale.scan import Scan, scan

__all__ = ["Scan", "scan"]

fill_docstrings(map(globals().get, __all__))
