"""Perfect samplers and perfect quantiles are rejected as often as the level says, at any number of them.

The default is a slice of the table; CREDIBLY_VALIDITY=full runs 1 to 100 draws and 1 to 39 levels at n = 100
to 20 000.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from validity import draw_worlds, worlds

pytestmark = pytest.mark.validity

LEVEL = 0.1
RUNS = worlds.repetitions(9, 500)
REPS = worlds.repetitions(39, 199)
WRONG = worlds.repetitions(10, 20)  # runs in which labels do not follow the predictions
# few values, or p-values that only bound the truth: they may reject less often than the level says
COARSE = {"picp", "coverage_curve", "pit_test"}
DRAW_TABLE = (
    [(n, s) for n in draw_worlds.SIZES for s in draw_worlds.DRAW_COUNTS]
    if worlds.FULL
    else [(100, 1), (100, 3), (200, 5), (200, 20)]
)
LEVEL_TABLE = (
    [(n, q) for n in draw_worlds.SIZES for q in draw_worlds.LEVEL_COUNTS]
    if worlds.FULL
    else [(100, 1), (100, 2), (200, 9), (200, 39)]
)


def rejected(
    world: Callable[..., dict[str, float]], runs: int = RUNS, reps: int = REPS, **settings: object
) -> dict[str, int]:
    """Count the rejections of every test."""
    found = [world(seed, reps=reps, **settings) for seed in range(runs)]
    return {name: int(np.sum([one[name] <= LEVEL + 1e-12 for one in found])) for name in found[0]}


def keeps_level(counts: dict[str, int], *, at_most: bool = False) -> None:
    low, high = worlds.bounds(RUNS, LEVEL)
    for name, count in counts.items():
        assert count <= high, (name, count)
        assert at_most or name in COARSE or count >= low, (name, count)


def runs_for(n: int) -> int:
    """Large rows are what costs."""
    return RUNS if n < 10_000 else max(RUNS // 5, 20)


@pytest.mark.parametrize(("n", "s"), DRAW_TABLE)
def test_size_of_draws(n: int, s: int) -> None:
    runs = runs_for(n)
    counts = rejected(draw_worlds.draws, runs, n=n, s=s)
    low, high = worlds.bounds(runs, LEVEL)
    for name, count in counts.items():
        # with one draw its 90 % interval is a point, and what lies inside is always the same
        assert (0 if name in COARSE or s < 3 else low) <= count <= high, (name, count)


@pytest.mark.parametrize(("n", "q"), LEVEL_TABLE)
def test_size_of_quantiles(n: int, q: int) -> None:
    runs = runs_for(n)
    low, high = worlds.bounds(runs, LEVEL)
    for name, count in rejected(draw_worlds.quantiles, runs, n=n, q=q).items():
        assert (0 if name in COARSE or q == 1 else low) <= count <= high, (name, count)


def test_size_of_tied_draws() -> None:
    keeps_level(rejected(draw_worlds.tied_draws, n=100, s=5))


@pytest.mark.parametrize(("n", "s"), [(100, 4), (100, 20), (400, 6)])
def test_size_of_the_spread_of_draws(n: int, s: int) -> None:
    keeps_level(rejected(draw_worlds.spread_of_draws, n=n, s=s))


def test_a_wrong_spread_of_draws_is_found() -> None:
    assert rejected(draw_worlds.spread_of_draws, 10, n=400, s=10, spread=1.6)["ence"] >= 8


def test_size_with_equal_quantiles_and_labels() -> None:
    keeps_level(rejected(draw_worlds.rain, n=200, q=9), at_most=True)


@pytest.mark.parametrize(("m", "s"), [(2, 2), (3, 5)])
def test_size_of_members_under_independent(m: int, s: int) -> None:
    keeps_level(rejected(draw_worlds.members, n=100, m=m, s=s, hypothesis="independent"))


@pytest.mark.parametrize(("m", "s"), [(2, 2), (3, 5)])
def test_size_of_members_under_bayesian(m: int, s: int) -> None:
    """The largest p-value of all members counts, so rejections may be rarer than the level."""
    keeps_level(rejected(draw_worlds.members, n=100, m=m, s=s, hypothesis="bayesian"), at_most=True)


def test_size_of_joint_draws() -> None:
    keeps_level(rejected(draw_worlds.joint_draws, n=50, m=60), at_most=True)


@pytest.mark.parametrize("settings", [{"shift": 0.5}, {"spread": 1.5}, {"spread": 0.6}], ids=str)
def test_real_miscalibration_is_found(settings: dict[str, float]) -> None:
    for s in (5, 20):
        counts = rejected(draw_worlds.draws, WRONG, 99, n=400, s=s, **settings)
        assert counts["omnibus"] >= 0.9 * WRONG, s
    counts = rejected(draw_worlds.quantiles, WRONG, 99, n=400, q=9, **settings)
    assert counts["quantile_calibration_error"] >= 0.9 * WRONG


def test_miscalibrated_members_are_found() -> None:
    apart = {"n": 200, "m": 2, "s": 5}
    found = rejected(draw_worlds.members, WRONG, 99, hypothesis="independent", shift=3.0, **apart)
    assert found["omnibus"] >= 0.9 * WRONG
    found = rejected(draw_worlds.members, WRONG, 99, hypothesis="bayesian", shift=8.0, **apart)
    assert found["omnibus"] >= 0.75 * WRONG
    assert rejected(draw_worlds.joint_draws, WRONG, 99, n=50, m=60, shift=6.0)["rmse"] >= 0.9 * WRONG
