"""A few worlds of the board of headlines: the fault is named, and the page marks what is missed."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

BOARD = Path(__file__).parents[3] / "benchmarks" / "headlines"
SEEDS = range(3)


@pytest.fixture(scope="module")
def board():
    sys.path.insert(0, str(BOARD))
    try:
        import board
    finally:
        sys.path.remove(str(BOARD))
    board.FRESH = 4000  # rows that gains are measured on: fewer are faster
    return board


def world_of(board, name):
    return next(world for world in board.WORLDS if world.name == name)


@pytest.mark.parametrize(
    "name",
    [
        "temperature 2 k5",
        "bias +3 k2 rare",
        "bias +1 class 0 k5",
        "slope 2 k2 rare",
        "group 25 % bias -2 k2",
        "group 25 % temperature 0.5 k10",
        "label noise 30 % k10",
        "third trained with label smoothing 0.15 k8",
        "swapped columns 0, 1 k5",
        "weights, bias +0.7 k2",
        "5 raters, temperature 1.4 k3",
        "real shift -0.5 small",
        "real scale 0.8",
    ],
)
def test_the_fault_its_direction_and_its_repair_are_right(board, name):
    line = board.Line(world_of(board, name), [board.run(world_of(board, name), seed) for seed in SEEDS])
    assert line.mean("right") == 1.0
    assert line.mean("direction") == 1.0
    assert line.mean("covered") >= 2 / 3
    assert line.mean("gain") > 0.9


@pytest.mark.parametrize("name", ["inverted k2", "labels off by a row k5", "noise instead of skill k4"])
def test_faults_beyond_repair_are_named(board, name):
    rows = [board.run(world_of(board, name), seed) for seed in SEEDS]
    assert [row["right"] for row in rows] == [1.0] * len(SEEDS)


def test_calibrated_models_are_rarely_in_conflict(board):
    names = ["calibrated k2", "calibrated k5 4 groups", "ensemble, calibrated k4", "real calibrated"]
    runs = [board.run(world_of(board, name), seed)["alarm"] for name in names for seed in range(10)]
    assert not board.too_many(sum(runs), len(runs))


def test_the_true_size_of_an_effect_is_that_of_the_truth(board):
    probs = np.array([[0.3, 0.7], [0.6, 0.4]])
    truth = np.array([[0.5, 0.5], [0.7, 0.3]])
    drawn = board.Draw(board.cr.Point(probs), np.array([1, 0]), truth, {"region": np.array(["a", "b"])})
    assert board.true_size(drawn, board.Claim("class", 1)) == pytest.approx(0.15)  # (0.2 + 0.1) / 2
    assert board.true_size(drawn, board.Claim("confidence")) == pytest.approx(0.05)  # (0.2 - 0.1) / 2
    assert board.true_size(drawn, board.Claim("class", 1, ("region", "b"))) == pytest.approx(0.1)


def test_the_page_marks_what_is_missed(board):
    row = {
        "fault": "bias",
        "alarm": True,
        "right": 0.0,
        "direction": 0.0,
        "covered": 1.0,
        "gain": 0.2,
        "cpu": 0.1,
    }
    line = board.Line(world_of(board, "temperature 2 k5"), [row] * 4)
    assert line.misses == ["right", "direction", "gain"]
    text = board.page([line])
    assert "| temperature 2 k5 | 300 | 4 | **0.00** | **0.00** | 1.00 | **0.20** |  | bias 4 |" in text


def test_too_many_alarms_are_those_beyond_chance(board):
    # X ~ Binomial(400, 0.05): P(X >= 36) = 0.00057, P(X >= 37) = 0.00029
    assert not board.too_many(36, 400)
    assert board.too_many(37, 400)
