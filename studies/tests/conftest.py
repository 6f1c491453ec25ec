"""What the tests of the studies share with those of the library."""

from __future__ import annotations

from public_data import data_dir
from unit.cli.runs import credibly

__all__ = ["credibly", "data_dir"]
