"""The same numbers on a cluster, also when a worker dies in the middle."""

from __future__ import annotations

import json
import os
import signal
from typing import Any

import numpy as np
import pytest

import credibly as cr
from credibly.cli import main, reading
from credibly.scale.engines import as_engine
from same_numbers import differences

pytestmark = pytest.mark.slow

distributed = pytest.importorskip("distributed", reason="needs the extra dask")
dask = pytest.importorskip("dask", reason="needs the extra dask")
da = pytest.importorskip("dask.array", reason="needs the extra dask")

N, M, K = 150, 3, 4
PAIRED = 121  # as many rows where all pairs are compared


class KillOnce:
    """A progress that kills the worker that holds most results when a quarter is done."""

    def __init__(self, client: Any) -> None:
        self.client, self.killed, self.lost = client, False, 0

    def __call__(self, done: int, total: int) -> None:
        if not self.killed and done > total // 4:
            self.killed = True
            held = self.client.has_what()
            worker = max(held, key=lambda one: len(held[one]))
            self.lost = len(held[worker])
            os.kill(self.client.run(os.getpid, workers=[worker])[worker], signal.SIGKILL)


@pytest.fixture(scope="module")
def data() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(5)
    return rng.dirichlet(np.ones(K), size=(N, M)), rng.integers(K, size=N)


@pytest.fixture(scope="module")
def client():
    quiet = {
        "distributed.worker.profile.enabled": False,
        "distributed.scheduler.active-memory-manager.start": False,
    }
    with (
        dask.config.set(quiet),  # what costs processor time and changes no number
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def test_a_client_that_is_closed_is_not_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    distributed = pytest.importorskip("distributed", reason="needs the extra dask")

    class Closed:
        status = "closed"

    monkeypatch.setattr(distributed, "get_client", Closed)
    assert as_engine(None).name == "serial"


@pytest.mark.filterwarnings("ignore")
def test_dask_arrays_files_and_arrays_on_a_cluster(data, client, tmp_path) -> None:
    probs, labels = data
    whole = cr.calibration_test(cr.Ensemble(probs), labels, n_resamples=19, rng=1)
    np.save(tmp_path / "p.npy", probs)
    np.save(tmp_path / "y.npy", labels)
    sources = [
        cr.scan(da.from_array(probs, chunks=(70, 2, K)), labels, engine=client),
        cr.scan(da.from_array(probs, chunks=(70, 2, K)), da.from_array(labels, chunks=30), engine="serial"),
        cr.scan(tmp_path / "p.npy", tmp_path / "y.npy", chunk_rows=50, member_axis=1),  # the current client
    ]
    assert [source.engine.name for source in sources] == ["dask", "serial", "dask"]
    for source in sources:
        result = cr.calibration_test(source, n_resamples=19, rng=1)
        assert result.pvalue == whole.pvalue
        np.testing.assert_allclose(result.null_distribution, whole.null_distribution, rtol=1e-12)
        assert float(cr.hosmer_lemeshow(source)) == pytest.approx(
            float(cr.hosmer_lemeshow(cr.Ensemble(probs), labels)), rel=1e-12
        )


@pytest.mark.filterwarnings("ignore")
def test_an_evaluation_of_dask_arrays_and_of_files_on_a_cluster(data, client, tmp_path) -> None:
    probs, labels = data
    groups = np.arange(N) % 2
    settings = {"statistics": ["brier", "hosmer_lemeshow"], "tests": False}
    whole = cr.evaluate(cr.Ensemble(probs), labels, groups=groups, **settings).to_dict()
    lazy = da.from_array(probs, chunks=(70, 2, K))
    assert differences(whole, cr.evaluate(lazy, labels, groups=groups, **settings).to_dict()) == []
    check = cr.predictive_check(cr.scan(lazy, labels, engine=client), n_resamples=19, rng=1)
    assert check.checks["accuracy"].pvalue == (
        cr.predictive_check(cr.Ensemble(probs), labels, n_resamples=19, rng=1).checks["accuracy"].pvalue
    )
    both = {"set": lazy, "first": da.from_array(probs[:, 0], chunks=(100, K))}
    comparison = cr.compare(both, labels, n_resamples=100)
    alike = cr.compare({"set": cr.Ensemble(probs), "first": cr.Point(probs[:, 0])}, labels, n_resamples=100)
    assert differences(alike.to_dict(), comparison.to_dict()) == []


@pytest.mark.filterwarnings("ignore")
def test_the_command_line_works_on_a_cluster(data, client, tmp_path, capsys, monkeypatch) -> None:
    probs, labels = data
    for place, rows in enumerate(np.array_split(np.arange(N), 3)):
        cr.save(tmp_path / f"{place}.npz", cr.Point(probs[rows, 0]), labels[rows])
    words = ["evaluate", str(tmp_path / "*.npz"), "--statistic", "brier", "--n-resamples", "19", "--json"]
    assert main(words) == 0
    here = json.loads(capsys.readouterr().out)
    assert main([*words, "--engine", "dask", "--scheduler", client.scheduler.address]) == 0
    there = json.loads(capsys.readouterr().out)
    command = there["source"].pop("command")
    assert command.endswith("--n-bins 15 --seed 0")
    assert f"--engine dask --scheduler {client.scheduler.address}" in command
    here["source"].pop("command")
    assert differences(here, there) == []
    monkeypatch.setattr(reading, "ANSWERS_WITHIN", "200ms")
    assert main([*words, "--engine", "dask", "--scheduler", "tcp://127.0.0.1:9"]) == 2
    assert "the scheduler 'tcp://127.0.0.1:9' must answer" in capsys.readouterr().err


@pytest.mark.filterwarnings("ignore")
def test_pairs_of_blocks(data, client, tmp_path) -> None:
    probs, labels = (given[:PAIRED] for given in data)
    np.save(tmp_path / "p.npy", probs)
    np.save(tmp_path / "y.npy", labels)
    source = cr.scan(tmp_path / "p.npy", tmp_path / "y.npy", chunk_rows=20, member_axis=1, engine=client)
    for name in ("kde_ce", "skce"):
        whole = cr.calibration_test(cr.Ensemble(probs), labels, statistics=name, n_resamples=19, rng=1)
        cut = cr.calibration_test(source, statistics=name, n_resamples=19, rng=1)
        assert cut.pvalue == whole.pvalue
        np.testing.assert_allclose(cut.null_distribution, whole.null_distribution, rtol=1e-12, atol=1e-14)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("clusters", [None, np.arange(PAIRED) // 4])
@pytest.mark.parametrize("kind", [cr.Gaussian, cr.Samples, cr.Quantiles])
def test_pairs_of_blocks_of_real_values(client, kind, clusters) -> None:
    rng = np.random.default_rng(7)
    numbers = np.sort(rng.normal(size=(PAIRED, M)), axis=1)
    beside = {cr.Gaussian: [np.ones_like(numbers)], cr.Samples: [], cr.Quantiles: [[0.25, 0.5, 0.75]]}
    predictions, labels = kind(numbers, *beside[kind]), rng.normal(size=PAIRED)
    source = cr.scan(predictions, labels, chunk_rows=40, clusters=clusters, engine=client)
    asked = {"statistics": "skce", "n_resamples": 19, "rng": 1}
    whole = cr.calibration_test(predictions, labels, clusters=clusters, **asked)
    cut = cr.calibration_test(source, **asked)
    assert cut.pvalue == whole.pvalue
    np.testing.assert_allclose(cut.null_distribution, whole.null_distribution, rtol=1e-11, atol=1e-15)


@pytest.mark.filterwarnings("ignore")
def test_a_worker_sees_two_blocks(data, client) -> None:
    """What a task is sent are two blocks and its sums, never all rows."""
    probs, labels = (given[:PAIRED] for given in data)
    source = cr.scan(da.from_array(probs, chunks=(30, M, K)), labels, engine=client)
    seen: list[int] = []
    tasks = source.engine.folds

    def watched(step: Any, chains: Any, finish: Any) -> Any:
        chains = list(chains)
        seen.extend(len(given) for chain in chains for given in chain)
        return tasks(step, chains, finish)

    source.engine.folds = watched
    value = float(cr.kde_ce(source))
    assert value == pytest.approx(float(cr.kde_ce(cr.Ensemble(probs), labels)), rel=1e-12)
    assert len(seen) == 25  # five blocks with five
    assert set(seen) == {3}  # a block, which part of it, another block


# The last one: no other test waits for the worker that takes the place of the killed one.
@pytest.mark.filterwarnings("ignore")
def test_a_worker_killed_during_an_evaluation_changes_nothing(data, client, tmp_path) -> None:
    probs, labels = data
    np.save(tmp_path / "y.npy", labels)
    settings = {"statistics": ["brier", "skce"], "n_resamples": 19, "pairwise_rows": 60}
    probs = probs[:, 0]
    np.save(tmp_path / "p.npy", probs)
    whole = cr.evaluate(probs, labels, **settings).to_dict()
    kill = KillOnce(client)
    source = cr.scan(tmp_path / "p.npy", tmp_path / "y.npy", chunk_rows=50, engine=client)
    evaluation = cr.evaluate(
        source, progress=lambda stage, *steps: kill(*steps) if stage == "tests" else None, **settings
    )
    assert kill.killed
    assert kill.lost > 0  # another worker computes it again
    assert differences(whole, evaluation.to_dict()) == []
