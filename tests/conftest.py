"""Shared by all tests: where the public data are, how hard Hypothesis tries, which libraries there are."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterator
from pathlib import Path

import array_api_strict
import numpy as np
import pytest
from hypothesis import settings

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
        pytest.skip(f"needs the public predictions in {folder}; set CREDIBLY_DATA to their folder")
    return folder


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


# What a test costs in seconds of one core, so that tools/slow_tests.py can keep the marker `slow` true:
# seconds on the clock depend on what else the machine does.
_BEFORE = pytest.StashKey[float]()


def _processor_seconds() -> float:
    """Return the seconds of this process and of those it started and has waited for."""
    return sum(os.times()[:4])


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Iterator[None]:
    item.stash[_BEFORE] = _processor_seconds()
    return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Iterator[None]:
    try:
        return (yield)
    finally:
        marked = any(item.get_closest_marker(name) for name in ("slow", "validity", "browser"))
        item.user_properties.append(("cpu", f"{_processor_seconds() - item.stash[_BEFORE]:.3f}"))
        item.user_properties.append(("quick", "no" if marked else "yes"))
