"""Shared by all tests: where the public data are and what stands in for them, Hypothesis, array libraries."""

from __future__ import annotations

import gc
import importlib.util
import os
import random
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import array_api_strict
import numpy as np
import pytest
from hypothesis import settings

from costs import by_file, dear_first, pytest_runtest_setup, pytest_runtest_teardown
from libraries import Library
from pictures import without_pictures
from public_data import any_data_dir, data_dir, stand_in

__all__ = [
    "any_data_dir",
    "data_dir",
    "pytest_runtest_setup",
    "pytest_runtest_teardown",
    "stand_in",
    "without_pictures",
]

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


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[object]:
    """Keep modules and tests out of the search for garbage: they are never any, and there are many."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Let every worker begin with dear tests; or shuffle the files and the tests within each."""
    seed = config.getoption("shuffle")
    if seed is None:
        if hasattr(config, "workerinput"):
            items[:] = dear_first(items, config.workerinput["workercount"])
        return
    order = random.Random(seed)
    groups = by_file(items)
    order.shuffle(groups)
    for group in groups:
        order.shuffle(group)
    items[:] = [item for group in groups for item in group]


def _accelerators() -> list[str]:
    """Return "cuda" where there is such a device; torch, slow to load, is asked where there may be one."""
    if importlib.util.find_spec("torch") is None:
        return []
    drivers = ("nvidiactl", "nvmap", "dxg", "kfd")
    if sys.platform == "linux" and not any(Path("/dev", name).exists() for name in drivers):
        return []
    import torch

    return ["cuda"] if torch.cuda.is_available() else []


@pytest.fixture
def without_learned_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    """Learn no weights in the evaluation of a set, as where it has many rows: they take most of its time."""
    monkeypatch.setattr("credibly.evaluation.set_tests.MOST_REFITS", 0)


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
