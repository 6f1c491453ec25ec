"""Where the public predictions are, for the tests of the library and of the studies."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The folder of public predictions named by CREDIBLY_DATA; tests that need it are skipped without it."""
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    folder = Path(os.environ.get("CREDIBLY_DATA", beside))
    if not folder.is_dir():
        pytest.skip(f"needs the public predictions in {folder}; set CREDIBLY_DATA to their folder")
    return folder
