"""The monitor: batches, late labels, clusters, groups, state, workers, words."""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import credibly as cr
from credibly.plots.curves import evidence
from credibly.predictions import Dataset, PredictionIntervals, Predictions


def stream(n: int, power: float = 1.0, seed: int = 0, k: int = 3) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    probs = rng.dirichlet(np.ones(k), size=n)
    truth = probs**power
    truth /= truth.sum(axis=1, keepdims=True)
    return probs, (rng.random((n, 1)) > truth.cumsum(axis=1)).sum(axis=1).clip(0, k - 1)


def fed(n: int, batch: int = 100, **settings: Any) -> cr.Monitor:
    probs, labels = stream(n)
    monitor = cr.Monitor(**settings)
    for start in range(0, n, batch):
        monitor.update(probs[start : start + batch], labels[start : start + batch])
    return monitor


def plain(monitor: cr.Monitor) -> Any:
    """The state without its trace, which depends on when one looked."""
    return {name: value for name, value in monitor.state().items() if name not in ("trace", "batches")}


def test_a_late_fault_is_found_and_named() -> None:
    monitor = fed(20_000)
    assert not monitor.alarm
    assert monitor.since is None
    assert monitor.where == ()
    assert monitor.result().verdict() == "no conflict found"
    assert "No conflict found in 20000 rows" in monitor.result().sentence()
    monitor.update(*stream(3000, 0.6, seed=1))
    result = monitor.result()
    assert monitor.alarm
    assert 20_000 < result.alarm_row < 20_700
    assert 19_900 <= result.since <= result.alarm_row
    assert result.where[0].family == "temperature"
    assert "overconfident" in result.sentence()
    assert math.log10(result.evalue) == pytest.approx(result.trace[-1][1])
    monitor.update(*stream(30_000, seed=2))  # it heals, but an alarm stays
    assert monitor.alarm
    assert monitor.result().alarm_row == result.alarm_row


def test_rows_of_a_batch_count_as_if_they_came_in_blocks() -> None:
    # 128 rows make two blocks whether they come at once or not
    probs, labels = stream(128)
    once, twice = cr.Monitor(), cr.Monitor()
    once.update(probs, labels)
    for half in (slice(64), slice(64, 128)):
        twice.update(probs[half], labels[half])
    assert once.evalue == pytest.approx(twice.evalue, rel=1e-12)


def test_state_goes_on_to_the_same_number(tmp_path: Path) -> None:
    whole = fed(600)
    monitor, (probs, labels) = cr.Monitor(), stream(600)
    for start in range(0, 600, 100):
        monitor.update(probs[start : start + 100], labels[start : start + 100])
        monitor.save(tmp_path / "state.json")
        monitor = cr.Monitor.load(tmp_path / "state.json")
    assert monitor.state() == whole.state()
    assert monitor.evalue == whole.evalue
    assert monitor.tracked == whole.tracked


WRITER = """
import sys, numpy as np, credibly as cr
from pathlib import Path
probs, labels = np.load(sys.argv[1])["probs"], np.load(sys.argv[1])["labels"]
path = Path(sys.argv[2])
monitor = cr.Monitor.load(path) if path.exists() else cr.Monitor()
print("ready", flush=True)
for start in range(monitor.n, len(labels), 20):
    monitor.update(probs[start:start + 20], labels[start:start + 20])
    monitor.save(path)
"""


def test_a_killed_process_loses_at_most_the_batch_in_flight(tmp_path: Path) -> None:
    probs, labels = stream(1600)
    np.savez(tmp_path / "data.npz", probs=probs, labels=labels)
    state, command = tmp_path / "state.json", [sys.executable, "-c", WRITER, str(tmp_path / "data.npz")]
    kills = 0
    for wait in (0.02, 0.06, 60.0):
        process = subprocess.Popen([*command, str(state)], stdout=subprocess.PIPE)
        assert process.stdout is not None
        process.stdout.readline()
        try:
            process.wait(wait)
        except subprocess.TimeoutExpired:
            os.kill(process.pid, signal.SIGKILL)
            process.wait()
            kills += 1
        process.stdout.close()
        if state.exists() and cr.Monitor.load(state).n == 1600:
            break
    assert kills > 0
    monitor = cr.Monitor()
    for start in range(0, 1600, 20):
        monitor.update(probs[start : start + 20], labels[start : start + 20])
    assert cr.Monitor.load(state).state() == monitor.state()


def test_labels_that_come_late_count_when_they_come() -> None:
    probs, labels = stream(200)
    at_once, late = cr.Monitor(), cr.Monitor()
    at_once.update(probs, labels)
    late.expect(probs, ids=np.arange(200))
    assert late.result().waiting == 200
    assert late.evalue == 1.0
    late.observe(np.arange(200), labels)
    assert plain(late) == plain(at_once)


def test_labels_may_come_in_any_order_and_survive_a_restart() -> None:
    probs, labels = stream(300)
    monitor, other = cr.Monitor(), cr.Monitor()
    for number in range(2):
        rows = range(150 * number, 150 * (number + 1))
        monitor.expect(probs[rows], ids=[f"case {row}" for row in rows])
        other.update(probs[rows], labels[rows])
    order = np.random.default_rng(0).permutation(300)
    for part in np.split(order, 6):
        assert monitor.n == 0  # paid as a whole, so that labels which come early are not chosen
        monitor.observe([f"case {row}" for row in part], labels[part])
        monitor = cr.Monitor.from_state(json.loads(json.dumps(monitor.state())))
    assert monitor.evalue == pytest.approx(other.evalue, rel=1e-12)
    assert monitor.result().waiting == 0


def test_batches_are_paid_in_the_order_of_their_predictions() -> None:
    probs, labels = stream(60)
    monitor = cr.Monitor()
    for number in range(3):
        monitor.expect(probs[20 * number : 20 * number + 20], ids=range(20 * number, 20 * number + 20))
    monitor.observe(range(20, 60), labels[20:60])
    assert monitor.n == 0
    monitor.observe(range(19), labels[:19])
    monitor.forget([19])
    assert monitor.n == 59
    assert monitor.result().waiting == 0


@pytest.mark.parametrize(
    ("predictions", "labels"),
    [
        (cr.Point([[0.5, 0.5], [0.2, 0.8]]), [0, 1]),
        (cr.Ensemble([[[0.5, 0.5], [0.2, 0.8], [0.1, 0.9]]] * 2, weights=[0.2, 0.3, 0.5]), [0, 1]),
        (cr.Dirichlet([[2.0, 3.0], [1.0, 4.0]]), [0, 1]),
        (cr.Dirichlet([[[2.0, 3.0], [1.0, 4.0]]] * 2, member_axis=1), [0, 1]),
        (cr.Intervals([[0.1, 0.2], [0.3, 0.4]], [[0.7, 0.8], [0.6, 0.6]]), [0, 1]),
        (cr.Belief([[0.5, 0.2, 0.3], [0.1, 0.2, 0.7]], [{0}, {1}, {0, 1}]), [0, 1]),
        (cr.Gaussian([0.0, 1.0], [1.0, 2.0]), [0.3, 5.0]),
        (cr.Gaussian([[0.0, 1.0, 2.0]] * 2, [[1.0, 2.0, 3.0]] * 2, weights=[0.2, 0.3, 0.5]), [0.3, 5.0]),
        (cr.Samples([[0.1, 0.2], [0.3, 0.4]], member_axis=1), [0.3, 5.0]),
        (cr.Samples([[[0.1, 0.2], [1.1, 1.2], [5.0, 6.0]]] * 2), [0.3, 5.0]),
        (cr.Quantiles([[0.0, 1.0], [0.5, 2.0]], [0.2, 0.8]), [0.3, 5.0]),
        (cr.PredictionSets([[True, False], [True, True]], 0.9), [0, 1]),
        (PredictionIntervals([0.0, 1.0], [1.0, np.inf], 0.9), [0.3, 5.0]),
        (cr.Confidence([0.3, 0.9]), [0, 1]),
        (cr.Dirichlet([[[2.0, 3.0], [1.0, 4.0]]] * 2, member_axis=1).given([[1, 0], [0, 2]]), [0, 1]),
        (cr.Point([[0.5, 0.5], [0.2, 0.8]]), cr.LabelCounts([[2, 1], [0, 3]])),
    ],
    ids=lambda one: type(one).__name__,
)
def test_every_kind_can_wait(predictions: Predictions, labels: Any) -> None:
    at_once, late = cr.Monitor(), cr.Monitor()
    observed = labels if isinstance(labels, cr.LabelCounts) else np.array(labels)
    at_once.update(predictions, observed)
    late.expect(predictions, ids=["a", "b"])
    late = cr.Monitor.from_state(json.loads(json.dumps(late.state())))
    late.observe(["a", "b"], observed)
    assert late.evalue == pytest.approx(at_once.evalue, rel=1e-12)
    assert at_once.evalue != 1.0
    assert at_once.result().kind == type(predictions).__name__
    assert at_once.tracked


def test_a_cluster_is_one_bet_the_mean_of_its_rows() -> None:
    # one row repeated twenty times with one label counts as the row alone
    alone, together = cr.Monitor(), cr.Monitor()
    for seed in range(30):
        probs, labels = stream(1, seed=seed)
        alone.update(probs, labels)
        together.update(np.repeat(probs, 20, axis=0), np.repeat(labels, 20), clusters=[seed] * 20)
    assert together.evalue == pytest.approx(alone.evalue, rel=1e-9)
    assert together.n == 600
    gap, other = together.tracked[0], alone.tracked[0]
    assert (gap.low, gap.high) == pytest.approx((other.low, other.high))


def test_clusters_may_lie_anywhere_in_a_batch_and_may_wait() -> None:
    probs, labels = stream(90)
    clusters = np.arange(90) % 9
    sorted_rows = np.argsort(clusters, kind="stable")
    first, second, third = cr.Monitor(), cr.Monitor(), cr.Monitor()
    first.update(probs, labels, clusters=clusters)
    second.update(probs[sorted_rows], labels[sorted_rows], clusters=clusters[sorted_rows])
    assert first.evalue == pytest.approx(second.evalue, rel=1e-12)
    third.expect(probs, ids=np.arange(90), clusters=clusters)
    third.observe(np.arange(90), labels)
    assert third.evalue == pytest.approx(first.evalue, rel=1e-12)


def test_processes_take_turns_and_the_alarm_needs_one_alone() -> None:
    monitor = cr.Monitor(processes=2)
    alone = cr.Monitor()
    for seed in range(20):
        probs, labels = stream(50, 0.5, seed=seed)
        monitor.update(probs, labels)
        if seed % 2 == 0:
            alone.update(probs, labels)
    first, second = monitor.state()["processes"]
    assert math.exp(first["overall"]["log"]) == pytest.approx(alone.evalue)
    assert monitor.evalue == pytest.approx(
        (math.exp(first["overall"]["log"]) + math.exp(second["overall"]["log"])) / 2
    )
    assert "an alarm needs 40" in monitor.result().sentence()
    row = monitor.result().alarm_row
    assert row is not None
    assert row > 0


def test_batches_that_wait_in_one_process_are_noted() -> None:
    one, two = cr.Monitor(), cr.Monitor(processes=2)
    for monitor in (one, two):
        for number in range(2):
            monitor.expect(stream(5)[0], ids=[f"{number}-{row}" for row in range(5)])
    assert "independent" in one.result().notes[0]
    assert two.result().notes == ()


def test_the_group_with_the_fault_is_found() -> None:
    rng = np.random.default_rng(3)
    monitor = cr.Monitor()
    for seed in range(20):
        probs, labels = stream(600, seed=seed)
        wrong, sharp = stream(200, 0.5, seed=100 + seed)
        groups = np.append(rng.choice(["a", "b", "c"], 600), ["d"] * 200)
        monitor.update(np.vstack([probs, wrong]), np.append(labels, sharp), groups=groups)
    alarms = {group.name: group.alarm for group in monitor.groups}
    assert alarms == {"a": False, "b": False, "c": False, "d": True}
    assert monitor.groups[0].name == "d"
    assert monitor.groups[0].n == 4000
    assert monitor.alarm
    assert sum(group.weight for group in monitor.groups) <= 1.0


def test_an_alarm_of_a_group_names_the_group_and_its_onset() -> None:
    monitor = cr.Monitor()
    for day in range(60):
        probs, labels = stream(450, seed=day)
        few, seen = stream(50, 1.0 if day < 30 else 0.4, seed=1000 + day)
        groups = ["rest"] * 450 + ["new lens"] * 50
        monitor.update(np.vstack([probs, few]), np.append(labels, seen), groups=groups)
        if monitor.alarm:
            break
    assert 15_000 < monitor.result().alarm_row < 18_000
    assert 14_400 < monitor.since < monitor.result().alarm_row
    assert monitor.where[0].family == "temperature"
    assert monitor.where[0].group == "new lens"
    assert "(group new lens)" in monitor.result().sentence()
    assert cr.Monitor.from_state(monitor.state()).where == monitor.where


def test_groups_that_come_later_keep_the_weights_below_1() -> None:
    monitor = cr.Monitor()
    for number in range(12):
        probs, labels = stream(40, seed=number)
        before = monitor.evalue
        monitor.update(probs, labels, groups={"site": [number] * 40, "all": ["x"] * 40})
        assert 0.2 * before < monitor.evalue < 5 * before  # a new group changes nothing by itself
    weights = [group.weight for group in monitor.groups]
    assert len(weights) == 13
    assert sum(weights) <= 1.0
    assert {group.name for group in monitor.groups} >= {"all=x", "site=11"}


def test_impossible_labels_raise_the_alarm_and_say_so() -> None:
    monitor = cr.Monitor()
    monitor.update([[1.0, 0.0], [0.5, 0.5]], [1, 1])
    assert monitor.alarm
    assert monitor.evalue == math.inf
    assert "1 label had a stated probability of 0" in monitor.result().sentence()
    assert json.dumps(monitor.result().to_dict())
    assert "credibly_monitor_log10_evalue +Inf" in monitor.result().metrics()


def test_workers_are_averaged() -> None:
    parts = [cr.Monitor(), cr.Monitor()]
    for seed, part in enumerate(parts):
        part.update(*stream(300, seed=seed))
    found = cr.monitor.average(parts)
    assert found.evalue == pytest.approx((parts[0].evalue + parts[1].evalue) / 2)
    assert found.n == 600
    assert not found.alarm
    parts[1].update(*stream(3000, 0.4, seed=9))
    assert cr.monitor.average(parts).alarm


def test_the_bayesian_hypothesis_accepts_one_member_and_the_independent_one_does_not() -> None:
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(4000, 1, 3)) * np.array([0.4, 0.4, 2.5, 0.4])[None, :, None]
    raised = np.exp(scores)  # the third is much surer than the others
    members = raised / raised.sum(axis=2, keepdims=True)
    labels = (rng.random((4000, 1)) > members[:, 2].cumsum(axis=1)).sum(axis=1).clip(0, 2)
    alarms = {}
    for hypothesis in ("bayesian", "independent"):
        monitor = cr.Monitor(hypothesis=hypothesis)
        for start in range(0, 4000, 500):
            rows = slice(start, start + 500)
            monitor.update(cr.Ensemble(members[rows]), labels[rows])
        alarms[hypothesis] = monitor.alarm
    assert alarms == {"bayesian": False, "independent": True}


@pytest.mark.parametrize("hypothesis", ["independent", "bayesian", "set"])
def test_tensors_give_the_same_numbers(hypothesis: str) -> None:
    torch = pytest.importorskip("torch")
    members = np.random.default_rng(0).dirichlet(np.ones(3), size=(50, 4))
    labels = np.random.default_rng(1).integers(0, 3, 50)
    first, second = (cr.Monitor(hypothesis=hypothesis) for _ in range(2))
    first.update(cr.Ensemble(members), labels)
    second.update(cr.Ensemble(torch.tensor(members)), torch.tensor(labels))
    assert second.evalue == pytest.approx(first.evalue, rel=1e-9)


def test_metrics_are_prometheus_text() -> None:
    monitor = cr.Monitor()
    monitor.update(*stream(300), groups=['say "a"'] * 150 + ["back\\slash"] * 150)
    text = monitor.result().metrics()
    for line in text.splitlines():
        if not line.startswith("# "):
            name, _, value = line.rpartition(" ")
            assert name.startswith("credibly_monitor_")
            float(value)
    assert 'group="say \\"a\\""' in text
    assert 'group="back\\\\slash"' in text
    assert "credibly_monitor_rows 300" in text


def test_the_picture_and_the_page_say_the_same() -> None:
    monitor = fed(2000)
    monitor.update(*stream(2000, 0.5, seed=1))
    result = monitor.result()
    axes = result.plot()
    assert "log10" in axes.get_ylabel()
    from credibly.report import render_report

    page = render_report(result)
    assert "overconfident" in page
    assert f"near row {result.since}" in page
    assert "http" not in page.split("Methods and references")[0].split("<main>")[1]


def test_a_monitor_without_rows_says_so_calmly() -> None:
    monitor = cr.Monitor()
    assert (monitor.evalue, monitor.alarm, monitor.since, monitor.tracked, monitor.groups) == (
        1.0,
        False,
        None,
        (),
        (),
    )
    assert cr.Monitor.from_state(monitor.state()).state() == monitor.state()
    assert "0 rows" in repr(monitor)
    monitor.update([[0.4, 0.6]], [1])
    assert "in 1 row (" in repr(monitor)


def test_bad_input_is_refused() -> None:
    monitor = fed(100)
    before = monitor.state()
    with pytest.raises(cr.InputError, match="like those before: Point with 3 classes"):
        monitor.update(*stream(10, k=4))
    with pytest.raises(cr.InputError, match="must be given with `update`"):
        monitor.update(stream(10)[0])
    with pytest.raises(cr.InputError, match="from the first batch on"):
        monitor.update(*stream(10), groups=["a"] * 10)
    with pytest.raises(cr.InputError, match="class"):
        monitor.update(stream(10)[0], np.full(10, 7))
    data = cr.Dataset(cr.Point(stream(10)[0]), stream(10)[1], weights=np.ones(10))
    with pytest.raises(cr.UnsupportedError, match="counts every instance once"):
        monitor.update(data)
    assert monitor.state() == before
    monitor.expect(stream(10)[0], ids=range(10))
    with pytest.raises(cr.InputError, match="waits already or comes twice"):
        monitor.expect(stream(10)[0], ids=range(9, 19))
    with pytest.raises(cr.InputError, match="'77', which does not"):
        monitor.observe([3, 77], [0, 1])
    with pytest.raises(cr.InputError, match="class"):
        monitor.observe([3, 4], [0, 9])
    assert monitor.result().waiting == 10
    with pytest.raises(cr.InputError, match="'77', which does not"):
        monitor.forget([1, 77])
    with pytest.raises(cr.InputError, match="`ids` must have an id for every row; row 1 has"):
        monitor.expect(stream(2)[0], ids=[100, None])
    assert monitor.result().waiting == 10
    monitor.forget(range(10))
    assert monitor.result().waiting == 0
    with pytest.raises(cr.InputError, match="processes"):
        cr.Monitor(processes=0)
    with pytest.raises(cr.InputError, match="level"):
        cr.Monitor(level=5)
    for groups in (["a"], np.zeros((10, 2)), [None] * 10, np.full(10, np.nan)):
        with pytest.raises(cr.InputError, match="`groups` must have"):
            cr.Monitor().update(*stream(10), groups=groups)
    with pytest.raises(cr.InputError, match="`groups` must be at most 1000; got 2000"):
        cr.Monitor().update(*stream(2000), groups=range(2000))
    rated = cr.Monitor()
    rated.expect(stream(3)[0], ids=["a", "b", "c"])
    rated.observe(["a"], cr.LabelCounts([[1, 0, 2]]))
    with pytest.raises(cr.InputError, match="must be of one kind in a batch"):
        rated.observe(["b", "c"], [0, 1])
    rated.observe(["b", "c"], cr.LabelCounts([[3, 0, 0], [1, 1, 1]]))
    assert rated.n == 3
    bayesian, ensemble = cr.Monitor(hypothesis="bayesian"), cr.Ensemble(np.full((4, 2, 2), 0.5))
    with pytest.raises(cr.UnsupportedError, match="clusters"):
        bayesian.update(ensemble, [0, 1, 0, 1], clusters=[0, 0, 1, 1])


def test_files_that_hold_no_state_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    with pytest.raises(cr.FileError, match="there is no such file"):
        cr.Monitor.load(path)
    texts = {"{": "JSON", "[1]": "must be a JSON object", '{"format": "x"}': "must say"}
    for text, words in texts.items():
        path.write_text(text)
        with pytest.raises(cr.CrediblyError, match=words):
            cr.Monitor.load(path)
    with pytest.raises(cr.CrediblyError, match="there is no such file"):
        cr.Monitor.load(tmp_path / "other.json")
    with pytest.raises(cr.InputTypeError, match="must be a mapping"):
        cr.Monitor.from_state([1])
    for name in fed(300).state():
        part = {key: value for key, value in fed(300).state().items() if key != name}
        with pytest.raises(cr.InputError, match=r"must be whole|must say"):
            cr.Monitor.from_state(part)


def test_a_state_that_was_damaged_or_edited_is_refused(tmp_path: Path) -> None:
    path = fed(300).save(tmp_path / "state.json")
    text = path.read_text()
    for old, new in (
        ('"rows": 300', '"rows": 30'),
        ('"since": null', '"since": 5'),
        (', "checksum"', ', "other"'),
    ):
        assert old in text
        path.write_text(text.replace(old, new, 1))
        with pytest.raises(cr.InputError, match="its checksum does not fit"):
            cr.Monitor.load(path)
    path.write_text(text)
    assert cr.Monitor.load(path).state() == fed(300).state()


def test_classes_must_stay_what_and_where_they_were() -> None:
    probs, labels = stream(100)
    monitor = cr.Monitor()
    monitor.update(Dataset(cr.Point(probs), labels, classes=("cat", "dog", "bird")))
    kept = cr.Monitor.from_state(json.loads(json.dumps(monitor.state())))
    kept.update(Dataset(cr.Point(probs), labels, classes=("cat", "dog", "bird")))
    kept.update(probs, labels)
    for names in (("dog", "cat", "bird"), ("cat", "dog", "fish")):
        with pytest.raises(cr.InputError, match=f"must be those before, in .* got {', '.join(names)}"):
            kept.update(Dataset(cr.Point(probs), labels, classes=names))
    assert kept.n == 300


def test_half_of_many_rows_that_wait_can_be_given_up() -> None:
    probs, labels = stream(20_000)
    monitor = cr.Monitor()
    monitor.expect(probs, ids=range(20_000))
    began = time.process_time()
    monitor.forget(range(10_000, 20_000))
    monitor.observe(range(10_000), labels[:10_000])
    assert time.process_time() - began < 3.0  # 0.2 where nothing else runs
    assert monitor.n == 10_000


def test_a_million_rows_take_seconds() -> None:
    probs, labels = stream(100_000, k=10)
    monitor, point = cr.Monitor(), cr.Point(probs)
    began = time.process_time()
    monitor.update(point, labels)
    assert time.process_time() - began < 3.0  # 0.15 where nothing else runs


def test_a_picture_says_where_its_evidence_is_cut() -> None:
    probs, labels = stream(4000, 0.5)
    monitor = cr.Monitor()
    monitor.update(probs[:200], labels[:200])
    assert evidence(monitor.result()).ylabel == "log10 of the e-value"
    monitor.update(probs[200:], labels[200:])
    assert monitor.evalue > 1e12
    assert evidence(monitor.result()).ylabel == "log10 of the e-value (cut at 12)"
