"""Shared by all tests: where the public data are and what stands in for them, Hypothesis, array libraries."""

from __future__ import annotations

import importlib.util
import os

import array_api_strict
import numpy as np
import pytest
from hypothesis import settings

from libraries import Library
from public_data import any_data_dir, data_dir, stand_in

__all__ = ["any_data_dir", "data_dir", "stand_in"]

# Derandomised: a failure on one machine is a failure on all of them.
settings.register_profile("default", max_examples=40, deadline=None, derandomize=True)
settings.register_profile("thorough", max_examples=1000, deadline=None, derandomize=False)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))


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
