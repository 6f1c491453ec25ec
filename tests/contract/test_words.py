"""One name for one thing: every public function and method says the same words for its parameters."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import credibly as cr

ROOMS = (
    "credibly",
    *(f"credibly.{room}" for room in ("credal", "hypotests", "learners", "raters", "recalibrate", "results")),
    *(f"credibly.{room}" for room in ("scale", "selection", "simulate", "statistics")),
)
OTHER_WORDS = {
    **dict.fromkeys(("seed", "random_state", "generator", "random"), "rng"),
    **dict.fromkeys(("tol", "atol", "rtol", "eps", "epsilon", "slack", "accuracy"), "tolerance or margin"),
    **dict.fromkeys(("significance", "confidence_level", "conf"), "level"),
    **dict.fromkeys(("y", "y_true", "targets_true", "truths"), "labels"),
    **dict.fromkeys(("bins", "nbins", "num_bins"), "n_bins"),
    **dict.fromkeys(("n_replicates", "n_bootstrap", "replicates", "B"), "n_resamples"),
    **dict.fromkeys(("metric", "metrics"), "statistic or statistics"),
    **dict.fromkeys(("X", "covariates"), "features"),
}
SKLEARN = {"RecalibratedClassifier", "ArrayRecalibrator"}
"""Speak as scikit-learn does: `fit(X, y)`."""
INSIDE = {"Basis", "Bound", "RaterStatistic", "Statistic", "Subsampled"}
"""Protocols that those who add a statistic or a learner write against, where arrays go by position."""
HELD = {"Dataset", "Inflation", "WorldSample"}
"""Values that come back from functions: their fields are no arguments that users type."""


def public_callables() -> Iterator[tuple[str, Callable[..., Any]]]:
    """Yield what users call: functions, classes that are no results, and methods."""
    seen: set[int] = set()
    for room in ROOMS:
        home = importlib.import_module(room)
        for name in getattr(home, "__all__", ()):
            value = getattr(home, name)
            if id(value) in seen or name in SKLEARN | INSIDE or not callable(value):
                continue
            seen.add(id(value))
            if not inspect.isclass(value):
                yield name, value
                continue
            if issubclass(value, Exception):
                continue
            if not value.__module__.startswith("credibly.results") and name not in HELD:
                yield name, value
            methods = inspect.getmembers(value, lambda one: inspect.isfunction(one) or inspect.ismethod(one))
            yield from ((f"{name}.{own}", one) for own, one in methods if not own.startswith("_"))


CALLABLES = dict(public_callables())


def parameters(name: str) -> dict[str, inspect.Parameter]:
    found = dict(inspect.signature(CALLABLES[name]).parameters)
    found.pop("self", None)
    return found


def test_the_census_sees_the_surface() -> None:
    assert {"brier", "calibration_test", "credal_test", "decompose_loss", "Ensemble"} <= set(CALLABLES)
    assert {"TemperatureScaling.fit", "CredalTestResult.combine"} <= set(CALLABLES)


@pytest.mark.parametrize("name", CALLABLES)
def test_words(name: str) -> None:
    given = parameters(name)
    for word in given:
        assert word not in OTHER_WORDS, f"{word} of {name} is called {OTHER_WORDS.get(word)}"
    if "predictions" in given and "labels" in given:
        places = list(given)
        assert places.index("labels") == places.index("predictions") + 1
        assert given["labels"].kind is inspect.Parameter.POSITIONAL_OR_KEYWORD
    if "features" in given and "predictions" in given:
        assert given["features"].kind is inspect.Parameter.KEYWORD_ONLY
    if "rng" in given and inspect.isfunction(CALLABLES[name]) and "." not in name:
        assert given["rng"].kind is inspect.Parameter.KEYWORD_ONLY


def test_statistics_are_several_and_a_statistic_is_one() -> None:
    """`statistics=` takes a sequence; `statistic=` does not."""
    for name, function in CALLABLES.items():
        if not inspect.isfunction(function):
            continue
        told = {word: str(one.annotation) for word, one in inspect.signature(function).parameters.items()}
        assert "Sequence" not in told.get("statistic", ""), name
        several = told.get("statistics", "Sequence")
        assert any(word in several for word in ("Sequence", "Iterable", "Mapping")), name


@pytest.mark.parametrize("word", ["seed", "random_state"])
@pytest.mark.parametrize(
    "make",
    [
        cr.recalibrate.AlphaCalibration,
        cr.recalibrate.CredalRecalibration,
        cr.recalibrate.MatrixScaling,
        cr.recalibrate.VectorScaling,
    ],
    ids=lambda make: make.__name__,
)
def test_randomness_is_rng(make: Callable[..., object], word: str) -> None:
    with pytest.raises(TypeError, match="rng="):
        make(**{word: 3})
