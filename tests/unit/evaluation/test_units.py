"""Real values in any unit: what is computed has the same digits in farads as in picofarads."""

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import credibly as cr
from credibly import hypotests

RNG = np.random.default_rng(0)
N = 80
MEAN, STD = RNG.normal(size=(N, 3)), np.exp(0.2 * RNG.normal(size=(N, 3)))
DRAWS, Y = RNG.normal(size=(N, 1)) + RNG.normal(size=(N, 12)), 1.5 * RNG.normal(size=N)
CLUSTERS = np.repeat(np.arange(N // 4), 4)
MADE: dict[str, Callable[[float], Any]] = {
    "mixture": lambda unit: cr.Gaussian(unit * MEAN, unit * STD),
    "samples": lambda unit: cr.Samples(unit * DRAWS),
    "quantiles": lambda unit: cr.Quantiles(unit * np.sort(DRAWS, axis=1), (np.arange(12) + 0.5) / 12),
    "intervals": lambda unit: cr.predictions.PredictionIntervals(
        unit * (MEAN[:, 0] - 2.0), unit * (MEAN[:, 0] + STD[:, 1]), 0.8
    ),
}


LENGTHS = ("value", "stderr", "low", "high", "acceptance_low", "acceptance_high")
IN_LABEL_UNITS = {"crps", "interval_score", "interval_width", "mae", "rmse"}
IN_LABEL_UNITS |= {"discrimination", "miscalibration", "skill", "uncertainty"}


def same(first: Any, second: Any, unit: float) -> bool:
    """Tell whether two numbers, one of them in another unit, agree; all else must be equal."""
    if not isinstance(first, float) or not isinstance(second, float):
        return bool(first == second)
    return math.isclose(first * unit, second, rel_tol=1e-6, abs_tol=1e-12 * unit)


@pytest.mark.parametrize("clusters", [None, CLUSTERS], ids=["rows", "clusters"])
@pytest.mark.parametrize("unit", [2.0**-33, 2.0**-60, 2.0**60])
@pytest.mark.parametrize("kind", MADE)
def test_an_evaluation_has_the_unit_of_the_labels(kind: str, unit: float, clusters: Any) -> None:
    """Of which a power of two changes no digit: standard errors below 1e-12 are no rounding."""
    rows = [
        cr.evaluation.number_rows(
            cr.evaluate(MADE[kind](by), by * Y, n_resamples=99, clusters=clusters, rng=1)
        )
        for by in (1.0, unit)
    ]
    assert len(rows[0]) == len(rows[1]) > 3
    assert any(one.low is not None for one in rows[0])
    for first, second in zip(*rows, strict=True):
        if "log_loss" in first.statistic:  # which moves by the logarithm
            continue
        for field in dataclasses.fields(first):
            pair = getattr(first, field.name), getattr(second, field.name)
            is_length = field.name in LENGTHS and first.statistic in IN_LABEL_UNITS
            assert same(*pair, unit if is_length else 1.0), (first.statistic, field.name, *pair)


@pytest.mark.parametrize("clusters", [None, CLUSTERS], ids=["rows", "clusters"])
def test_models_are_compared_in_any_unit(clusters: Any) -> None:
    unit = 2.0**-60

    def compared(by: float) -> Any:
        models = {
            "a": MADE["mixture"](by),
            "b": MADE["samples"](by),
            "c": cr.Gaussian(by * Y, np.full(N, by)),
        }
        return cr.compare(models, by * Y, n_resamples=199, clusters=clusters, rng=1)

    near, far = compared(1.0).ranking.at("crps"), compared(unit).ranking.at("crps")
    np.testing.assert_allclose(far.intervals / unit, near.intervals, rtol=1e-9)
    assert list(far.worst_ranks) == list(near.worst_ranks) != [len(near.worst_ranks)] * 3


def test_models_that_differ_by_rounding_are_tied_in_any_unit() -> None:
    """Their scores are one number in another order of the members."""
    for unit in (1.0, 2.0**-60):
        models = {
            "one": cr.Gaussian(unit * MEAN, unit * STD),
            "other": cr.Gaussian(unit * MEAN[:, ::-1], unit * STD[:, ::-1]),
        }
        standing = cr.compare(models, unit * Y, n_resamples=199, rng=1).ranking.at("crps")
        assert list(standing.best_ranks) == [1, 1]
        np.testing.assert_array_equal(standing.intervals[:, 0], standing.intervals[:, 1])


def test_recalibration_changes_in_any_unit() -> None:
    near, far = (
        errors_of_changes(cr.recalibration_report(MADE["mixture"](by), by * Y, n_resamples=99, rng=1))
        for by in (1.0, 2.0**-60)
    )
    assert near.keys() == far.keys()
    for name, value in near.items():
        is_length = name.split()[-1] in IN_LABEL_UNITS
        assert same(value, far[name], 2.0**-60 if is_length else 1.0), name


def errors_of_changes(report: Any) -> dict[str, float | None]:
    return {
        f"{method} {name}": change.difference.stderr
        for method, found in report.methods.items()
        for name, change in found.changes.items()
    }


def test_a_split_of_the_crps_has_intervals_in_any_unit() -> None:
    near, far = (hypotests.decompose_crps(MADE["mixture"](by), by * Y) for by in (1.0, 2.0**-60))
    for part in ("loss", "uncertainty"):
        ends = [getattr(one, part).interval(0.9) for one in (near, far)]
        np.testing.assert_allclose(np.asarray(ends[1]) * 2.0**60, ends[0], rtol=1e-9)
