"""Where the public predictions are, for the tests of the library and of the studies."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from golden.shipped import write_public_layout


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The folder of public predictions named by CREDIBLY_DATA; tests that need it are skipped without it."""
    beside = Path(__file__).resolve().parents[3] / "shared" / "data"
    folder = Path(os.environ.get("CREDIBLY_DATA", beside))
    if not folder.is_dir():
        pytest.skip(
            f"needs the public predictions, and {folder} is no folder: "
            "`python tools/assemble_public_data.py` says where to fetch them; "
            "set CREDIBLY_DATA to the folder it writes"
        )
    return folder


@pytest.fixture(scope="session")
def stand_in(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the layout of the public data, filled with those that every clone holds."""
    folder = tmp_path_factory.mktemp("stand_in")
    write_public_layout(folder)
    return folder


@pytest.fixture(params=["stand_in", pytest.param("data_dir", marks=pytest.mark.data)])
def any_data_dir(request: pytest.FixtureRequest) -> Path:
    """Both folders in turn: what must hold for any predictions of this form."""
    found = request.getfixturevalue(request.param)
    assert isinstance(found, Path)
    return found
