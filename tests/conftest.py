"""Shared by all tests: where the public data are and what stands in for them, Hypothesis, array libraries."""

from __future__ import annotations

import importlib.util
import os
import random
import signal
from collections.abc import Iterator
from pathlib import Path

import array_api_strict
import numpy as np
import pytest
from hypothesis import settings

from libraries import Library
from public_data import any_data_dir, data_dir, stand_in

__all__ = ["any_data_dir", "data_dir", "stand_in"]

# What is started in the background ignores Ctrl-C, and so would every command that a test starts.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Derandomised: a failure on one machine is a failure on all of them.
settings.register_profile("default", max_examples=40, deadline=None, derandomize=True)
settings.register_profile("thorough", max_examples=1000, deadline=None, derandomize=False)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--shuffle SEED`: tests in an order of their own, the same one in every worker."""
    parser.addoption("--shuffle", type=int, metavar="SEED", help="run the tests in a random order")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Shuffle the files and the tests within each, so that what a file prepares is prepared once."""
    seed = config.getoption("shuffle")
    if seed is None:
        return
    files: dict[Path, list[pytest.Item]] = {}
    for item in items:
        files.setdefault(item.path, []).append(item)
    order = random.Random(seed)
    groups = list(files.values())
    order.shuffle(groups)
    for group in groups:
        order.shuffle(group)
    items[:] = [item for group in groups for item in group]


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
