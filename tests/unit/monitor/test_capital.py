"""Fixed share by a slow loop, and intervals that hold at all times."""

from __future__ import annotations

import math

import numpy as np
import pytest

from credibly.monitor.capital import LEAVING, RETURNING, ROUND, START, Capital, Running

PRIOR = np.array([0.5, 0.3, 0.2])


def start() -> Capital:
    return Capital(np.array([0.5, 0.25, 0.15, 0.1]))


def slow(ratios: np.ndarray) -> float:
    """The capital after rows (n, a), in plain numbers."""
    w, capital, t = [0.5, 0.25, 0.15, 0.1], 1.0, 0
    for first in range(0, len(ratios), ROUND):
        paid = ratios[first : first + ROUND]
        pays = [1.0, *np.prod(paid, axis=0)]
        factor = sum(a * b for a, b in zip(w, pays, strict=True))
        capital *= factor
        w = [a * b / factor for a, b in zip(w, pays, strict=True)]
        kept = (t + START) / (t + len(paid) + START)
        leaves, back = (1 - kept**LEAVING) * w[0], 1 - kept**RETURNING
        bets = w[1:]
        w = [w[0] - leaves + back * sum(bets)] + [
            (1 - back) * bet + leaves * share for bet, share in zip(bets, PRIOR, strict=True)
        ]
        t += len(paid)
    return capital


@pytest.mark.parametrize("n", [1, ROUND, 3 * ROUND + 7])
def test_the_capital_is_that_of_a_slow_loop(n: int) -> None:
    ratios = np.random.default_rng(n).uniform(0.7, 1.3, size=(n, 3))
    capital = start()
    path = capital.pay(np.log(ratios.T), PRIOR, np.arange(1, n + 1))
    assert math.exp(capital.log) == pytest.approx(slow(ratios))
    assert capital.weights.sum() == pytest.approx(1.0)
    assert len(path) == math.ceil(n / ROUND)
    assert path[-1] == capital.log
    assert capital.rows == n


def test_weights_and_onset_follow_the_bet_that_wins() -> None:
    capital = start()
    fair = np.zeros((3, 10 * ROUND))
    capital.pay(fair, PRIOR, np.arange(1, 10 * ROUND + 1))
    assert capital.since is None
    assert capital.log == pytest.approx(0.0)  # bets that pay 1 cost nothing
    wins = fair.copy()
    wins[1] = 0.1
    capital.pay(wins, PRIOR, 10 * ROUND + np.arange(1, 10 * ROUND + 1))
    assert capital.weights[1:].argmax() == 1
    assert capital.since == 10 * ROUND  # 6 nats in a round outweigh all else
    capital.pay(-wins, PRIOR, 20 * ROUND + np.arange(1, 10 * ROUND + 1))
    assert capital.since is None


def test_capital_does_not_vanish_while_the_model_is_right() -> None:
    # every bet loses 0.02 nats a row: its own capital would be e^-2000
    capital = start()
    for number in range(50):
        capital.pay(np.full((3, 2000), -0.02), PRIOR, 2000 * number + np.arange(1, 2001))
    assert capital.log > -2.0
    capital.pay(np.array([[0.05], [0.0], [0.0]]) + np.zeros((1, 400)), PRIOR, 100_000 + np.arange(1, 401))
    assert capital.log > 3.0  # 20 nats were paid


def test_infinitely_good_bets_do_not_overflow() -> None:
    capital = start()
    capital.pay(np.full((3, 200), 30.0), PRIOR, np.arange(1, 201))
    assert capital.log == pytest.approx(6000.0, abs=20.0)


def test_the_reach_solves_its_equation_and_grows_with_scatter() -> None:
    scatter = np.array([0.0, 1.0, 100.0, 1e6])
    running = Running(1, np.zeros(4), np.zeros(4), scatter)
    reach = running.reach(0.05)
    assert (np.diff(reach) > 0).all()
    steps = 0.7 * 2.0 ** (-np.arange(30) / 2)
    for total, variance in zip(reach, scatter, strict=True):
        powers = np.exp(steps * total - (-np.log(1 - steps) - steps) * variance)
        assert powers.mean() == pytest.approx(40.0, rel=1e-6)  # 2 / 0.05
    # a normal interval for 1e6 would be 1.96 1000; at all times at once it is wider
    assert 1960 < reach[3] < 2.6 * 1960


def test_running_means_hold_at_all_times() -> None:
    """A truth that drifts: the interval is about the mean of what was true so far."""
    rng = np.random.default_rng(5)
    missed = 0
    for _ in range(40):
        running, truths = Running.start(1), []
        out = False
        for step in range(0, 40, 2):
            truth = np.full(50, 0.2 if step % 20 < 10 else 0.7)
            truths.append(truth)
            running.add(np.full((1, 50), 0.4), (rng.random(50) < truth)[None].astype(float))
            out |= bool(abs(running.observed[0] - np.concatenate(truths).sum()) > running.reach(0.05)[0])
        missed += out
    assert missed <= 6  # 2 expected at most; 7 or more have a probability below 1 %
