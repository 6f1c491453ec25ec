"""The monitor: right predictions seldom raise an alarm, late faults are found, and negative controls fail."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import credibly as cr
from validity import monitor_worlds as worlds

pytestmark = pytest.mark.validity

STREAMS, ROWS = 12, 4000


@pytest.mark.parametrize("name", worlds.WORLDS)
def test_right_predictions_seldom_raise_an_alarm(name: str) -> None:
    ever = sum(worlds.run(name, 77_000 + seed, ROWS, (), 0)["ever"] for seed in range(STREAMS))
    assert ever <= 4  # binomial(12, 0.05) exceeds 4 with a probability of 0.0002


def test_rows_that_share_a_label_break_it_unless_they_are_clusters() -> None:
    rng = np.random.default_rng(5)
    alarms = {"clusters": 0, "rows": 0}
    for _ in range(STREAMS):
        monitors = {name: cr.Monitor() for name in alarms}
        for _ in range(10):
            batch = worlds.shared(rng, 400, 1.0)
            monitors["clusters"].update(**batch)
            monitors["rows"].update(batch["predictions"], batch["labels"])
        for name, monitor in monitors.items():
            alarms[name] += monitor.alarm
    assert alarms["clusters"] <= 4
    assert alarms["rows"] == STREAMS


def test_batches_that_wait_together_break_it_unless_processes_take_turns(monkeypatch: Any) -> None:
    name = "late, dependent"
    monkeypatch.setitem(worlds.WORLDS, name, worlds.WORLDS[name]._replace(settings=(), rows=25, lag=16))
    ever = sum(worlds.run(name, seed, ROWS, (), 0)["ever"] for seed in range(STREAMS))
    assert ever >= 5  # sixteen labels that agree count as sixteen bets


@pytest.mark.parametrize("name", ["ten classes", "ensemble, set", "gaussian"])
def test_a_fault_after_many_good_rows_is_found_as_one_at_the_start(name: str) -> None:
    found = [worlds.run(name, 500 + seed, 20_000, (0, 20_000), 6000)["delays"] for seed in range(9)]
    for power in worlds.FAULTS:
        early, late = (
            np.median([one[mark, power] for one in found if (mark, power) in one]) for mark in (0, 20_000)
        )
        assert late <= 3.0 * early  # 2.5 is wanted, of a hundred streams
        assert np.isfinite(late)
