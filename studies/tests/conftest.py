"""What the tests of the studies share with those of the library."""

from __future__ import annotations

from public_data import any_data_dir, data_dir, stand_in
from unit.cli.runs import credibly

__all__ = ["any_data_dir", "credibly", "data_dir", "stand_in"]
