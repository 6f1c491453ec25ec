"""Names load when they are used, no name loads an extra or a slow module, and all work without any extra."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import credibly as cr

pytestmark = pytest.mark.slow

SOURCE = Path(__file__).resolve().parents[2] / "src"
EXTRAS = ("torch", "dask", "distributed", "pyarrow", "xarray", "h5py", "sklearn")
SLOW = ("pandas", "polars", "matplotlib.pyplot", "scipy.stats", "scipy.optimize", "jinja2", "click", "rich")


def run(script: str) -> str:
    """Run a script in a fresh interpreter, warnings as errors, and return what it prints."""
    environment = os.environ | {"PYTHONPATH": str(SOURCE)}
    command = [sys.executable, "-W", "error", "-c", script]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


# What one interpreter holds after each step; the steps load more and more, so that one start is enough.
STEPS = {
    "import": "import credibly as cr",
    "name": "cr.brier",
    "plots": "cr.plots.reliability, cr.plots.pit",
    "all": "from credibly import *",
}


@pytest.fixture(scope="module")
def loaded() -> dict[str, list[str]]:
    """The modules that are loaded after each step."""
    report = "told[{step!r}] = sorted(sys.modules)"
    steps = "\n".join(f"{line}\n{report.format(step=step)}" for step, line in STEPS.items())
    record: dict[str, list[str]] = json.loads(
        run(f"import json, sys\ntold = {{}}\n{steps}\nprint(json.dumps(told))")
    )
    return record


@pytest.mark.parametrize("name", [*EXTRAS, *SLOW])
def test_names_do_not_load(name: str, loaded: dict[str, list[str]]) -> None:
    assert {"credibly.statistics", "credibly.evaluation"} <= set(loaded["all"])
    assert name not in loaded["all"]


def test_import_alone_loads_nothing_that_computes(loaded: dict[str, list[str]]) -> None:
    assert "credibly" in loaded["import"]
    assert [text for text in loaded["import"] if text.startswith(("numpy", "credibly."))] == []


def test_a_name_loads_what_it_needs_only(loaded: dict[str, list[str]]) -> None:
    assert "credibly.statistics" in loaded["name"]
    assert "credibly.hypotests" not in loaded["name"]


def test_every_room_can_be_the_first_to_be_loaded() -> None:
    script = """
import importlib, sys, credibly
for home in sorted({*credibly._HOMES, *(f"credibly.{room}" for room in credibly._ROOMS)}):
    for name in [one for one in sys.modules if one.startswith("credibly.")]:
        del sys.modules[name]
    importlib.import_module(home)
print("all")
"""
    assert run(script) == "all\n"


def test_pictures_are_there_without_another_import(loaded: dict[str, list[str]]) -> None:
    assert "credibly.plots" in loaded["plots"]
    assert "matplotlib.pyplot" not in loaded["plots"]
    for name in ("plot", "pictures"):
        with pytest.raises(AttributeError, match=f"has no attribute '{name}'"):
            getattr(cr, name)


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("ence", "It is `credibly.statistics.ence`."),
        ("PredictionIntervals", "It is `credibly.predictions.PredictionIntervals`."),
        ("coverage", "coverage is called picp here."),
    ],
)
def test_a_name_that_is_not_at_the_top_is_told_where_it_is(name: str, told: str) -> None:
    with pytest.raises(AttributeError, match=re.escape(told)):
        getattr(cr, name)


def test_everything_numeric_works_where_no_extra_is_installed() -> None:
    script = f"""
import sys

class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {EXTRAS!r}:
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Blocked())
import credibly as cr
probs, labels = [[0.7, 0.3], [0.2, 0.8], [0.6, 0.4]], [0, 1, 1]
reals = cr.Gaussian([[0.0, 1.0], [1.0, 2.0], [2.0, 2.5]], [[1.0, 0.5]] * 3)
kinds = {{True: [], False: []}}
for name, statistic in cr.statistics.registered().items():
    real = "reals" in statistic.traits.labels
    statistic(reals if real else probs, labels)
    kinds[real].append(name)
cr.decompose_brier(probs, labels)
cr.reliability_curve(probs, labels, n_resamples=9, rng=0)
cr.calibration_test(reals, labels, statistics=kinds[True], n_resamples=9, rng=0)
cr.pit_test(reals, labels, n_resamples=9, rng=0)
print(cr.calibration_test(probs, labels, statistics=kinds[False], n_resamples=9, rng=0).n)
"""
    assert run(script).strip() == "3"


def test_the_library_logs_nothing_unless_asked() -> None:
    script = """
import sys, credibly
early = "logging" in sys.modules  # it takes longer than all else that a command does before it can be stopped
import logging
print(early, logging.getLogger("credibly").handlers, logging.getLogger().handlers)
"""
    assert run(script).strip() == "False [] []"
