"""What a call costs before its formula runs: functions of the library, which a reader follows one by one."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import credibly as cr
from credibly.statistics.proper import Brier

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def house() -> ModuleType:
    specification = importlib.util.spec_from_file_location("house", ROOT / "tools" / "house.py")
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def data() -> tuple[cr.Ensemble, np.ndarray]:
    rng = np.random.default_rng(0)
    return cr.Ensemble(rng.dirichlet(np.ones(3), size=(300, 4))), rng.integers(0, 3, size=300)


def test_a_score_runs_few_functions(house: ModuleType, data: tuple[cr.Ensemble, np.ndarray]) -> None:
    frames = house.frames_of(lambda: cr.brier(*data))
    assert 50 < len(frames) <= 120  # 119 on Python 3.11, where comprehensions count
    formula = [depth for code, depth in frames if code is Brier.of_labels.__code__]
    assert len(formula) == 1
    assert formula[0] <= 8  # 8 on Python 3.11


def test_a_test_of_sets_runs_few_functions(house: ModuleType, data: tuple[cr.Ensemble, np.ndarray]) -> None:
    frames = house.frames_of(lambda: cr.credal_test(*data, n_resamples=99, rng=0))
    assert 1000 < len(frames) <= 12_000


def test_a_test_runs_few_functions(house: ModuleType, data: tuple[cr.Ensemble, np.ndarray]) -> None:
    frames = house.frames_of(lambda: cr.calibration_test(*data, n_resamples=99, rng=0))
    assert 100 < len(frames) <= 350  # 243 on Python 3.11
    more = house.frames_of(lambda: cr.calibration_test(*data, n_resamples=199, rng=0))
    assert len(more) <= len(frames) + 100  # ties of 16-bit pieces, not one function per replicate
