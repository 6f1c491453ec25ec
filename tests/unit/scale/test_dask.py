"""The same numbers on a cluster, also when a worker dies in the middle."""

from __future__ import annotations

import os
import signal

import numpy as np
import pytest

import credibly as cr

distributed = pytest.importorskip("distributed", reason="needs the extra dask")
da = pytest.importorskip("dask.array", reason="needs the extra dask")

N, M, K = 900, 3, 4


@pytest.fixture(scope="module")
def data() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(5)
    return rng.dirichlet(np.ones(K), size=(N, M)), rng.integers(K, size=N)


@pytest.fixture(scope="module")
def client():
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.mark.filterwarnings("ignore")
def test_dask_arrays_files_and_arrays_on_a_cluster(data, client, tmp_path) -> None:
    probs, labels = data
    whole = cr.calibration_test(cr.Ensemble(probs), labels, n_resamples=49, rng=1)
    np.save(tmp_path / "p.npy", probs)
    np.save(tmp_path / "y.npy", labels)
    sources = [
        cr.scan(da.from_array(probs, chunks=(200, 2, K)), labels, engine=client),
        cr.scan(da.from_array(probs, chunks=(200, 2, K)), da.from_array(labels, chunks=70), engine="serial"),
        cr.scan(tmp_path / "p.npy", tmp_path / "y.npy", chunk_rows=150, member_axis=1),  # the current client
        cr.scan(probs, labels, chunk_rows=150, engine="serial"),
    ]
    assert [source.engine.name for source in sources] == ["dask", "serial", "dask", "serial"]
    for source in sources:
        result = cr.calibration_test(source, n_resamples=49, rng=1)
        assert result.pvalue == whole.pvalue
        np.testing.assert_allclose(result.null_distribution, whole.null_distribution, rtol=1e-12)
        assert float(cr.hosmer_lemeshow(source)) == pytest.approx(
            float(cr.hosmer_lemeshow(cr.Ensemble(probs), labels)), rel=1e-12
        )


@pytest.mark.filterwarnings("ignore")
def test_a_killed_worker_changes_nothing(data, client, tmp_path) -> None:
    probs, labels = data
    np.save(tmp_path / "p.npy", probs)
    np.save(tmp_path / "y.npy", labels)
    source = cr.scan(tmp_path / "p.npy", tmp_path / "y.npy", chunk_rows=30, member_axis=1, engine=client)
    whole = cr.calibration_test(cr.Ensemble(probs), labels, n_resamples=99, rng=1)
    killed = []

    def kill_once(done: int, total: int) -> None:
        if not killed and done > total // 4:
            pid = next(iter(client.run(os.getpid).values()))
            os.kill(pid, signal.SIGKILL)
            killed.append(pid)

    result = cr.calibration_test(source, n_resamples=99, rng=1, progress=kill_once)
    assert killed
    assert result.pvalue == whole.pvalue
    np.testing.assert_allclose(result.null_distribution, whole.null_distribution, rtol=1e-12)
