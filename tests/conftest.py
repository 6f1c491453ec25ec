"""Shared by all tests: where the public data are and what stands in for them, Hypothesis, array libraries."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path

import array_api_strict
import numpy as np
import pytest
from hypothesis import settings

from golden.shipped import write_public_layout
from libraries import Library

# Derandomised: a failure on one machine is a failure on all of them.
settings.register_profile("default", max_examples=40, deadline=None, derandomize=True)
settings.register_profile("thorough", max_examples=1000, deadline=None, derandomize=False)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The folder of public predictions named by CREDIBLY_DATA; tests that need it are skipped without it."""
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
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


def _accelerators() -> list[str]:
    """Return "cuda" where there is such a device."""
    if importlib.util.find_spec("torch") is None:
        return []
    import torch

    return ["cuda"] if torch.cuda.is_available() else []


@pytest.fixture(params=["numpy", "torch", "array_api_strict", "second_device", *_accelerators()])
def library(request: pytest.FixtureRequest) -> Library:
    """Every array library the tests run on; the strict one also on its fake second device, torch on CUDA."""
    if request.param == "numpy":
        return Library("numpy", np)
    if request.param == "torch":
        return Library("torch", pytest.importorskip("torch", reason="needs the torch extra"))
    if request.param == "cuda":
        torch = pytest.importorskip("torch", reason="needs the torch extra")
        return Library("cuda", torch, torch.device("cuda", torch.cuda.current_device()))
    if request.param == "array_api_strict":
        return Library("array_api_strict", array_api_strict)
    return Library("second_device", array_api_strict, array_api_strict.Device("device1"))
