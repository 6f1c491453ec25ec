"""What the tests of the studies share with those of the library."""

from __future__ import annotations

from costs import pytest_runtest_setup, pytest_runtest_teardown
from public_data import any_data_dir, data_dir, stand_in
from unit.cli.runs import credibly

__all__ = [
    "any_data_dir",
    "credibly",
    "data_dir",
    "pytest_runtest_setup",
    "pytest_runtest_teardown",
    "stand_in",
]
