"""Kernels on CUDA give the labels, sums and counts of NumPy; they skip where there is no such device."""

from __future__ import annotations

import numpy as np
import pytest

import credibly as cr
from credibly._arrays import label_kernels
from credibly._arrays.namespace import memory_budget
from credibly._arrays.philox import as_seed
from credibly._arrays.sums import sums_in_runs
from credibly.hypotests.resampling.replicates import Replicates


@pytest.fixture
def torch():
    library = pytest.importorskip("torch", reason="needs the extra torch")
    pytest.importorskip("triton", reason="needs Triton, which comes with PyTorch for CUDA")
    if not library.cuda.is_available():
        pytest.skip("needs a CUDA device")
    return library


@pytest.mark.parametrize(
    ("n", "k", "first", "reps"),
    [
        (37, 3, 0, slice(0, 5)),
        (300, 10, 5, slice(3, 70)),
        (1111, 2, 16, slice(0, 9)),
        (9000, 48, 7, slice(0, 40)),
        (50, 4, 3, slice(2, 3)),
        (101, 300, 5, slice(3, 70)),  # from 49 classes on by bisection, from 257 on in four bytes
        (211, 1000, 3, slice(0, 9)),
    ],
)
def test_labels_are_those_of_the_host(torch, n, k, first, reps) -> None:
    # 9000 * 47 * 40 / 2^16 = 258 labels tie with a step, and need the rest of their number
    probs = np.random.default_rng(n).dirichlet(np.full(k, 0.3), size=n)
    host = Replicates(probs, as_seed(3), first).labels(reps).values
    there = Replicates(torch.asarray(probs, device="cuda"), as_seed(3), first).labels(reps).values
    np.testing.assert_array_equal(there.cpu().numpy(), host)


def test_sums_and_counts(torch) -> None:
    rng = np.random.default_rng(0)
    n, k, cells = 20_000, 5, 7
    labels = rng.integers(k, size=(9, n))
    table, cell = rng.normal(size=(n, k)), rng.integers(cells, size=(n, k))
    event, part = rng.integers(k, size=n), cells * rng.integers(3, size=n)
    there = [torch.asarray(one, device="cuda") for one in (labels.astype(np.uint8), table, cell, event, part)]
    sums = label_kernels.table_sums(there[1], there[0]).cpu().numpy()
    np.testing.assert_allclose(sums, [table[np.arange(n), row].sum() for row in labels], rtol=1e-10)

    def counted(cells_of_rows, n_cells):
        return np.array([np.bincount(row[row >= 0], minlength=n_cells) for row in cells_of_rows])

    each = label_kernels.cell_counts(there[0], 3 * cells, cell=there[2], part=there[4])
    np.testing.assert_array_equal(each.cpu(), counted(cell[np.arange(n), labels] + part, 3 * cells))
    hits = label_kernels.cell_counts(there[0], cells, cell=there[2][:, 0], event=there[3])
    np.testing.assert_array_equal(hits.cpu(), counted(np.where(labels == event, cell[:, 0], -1), cells))


def test_counts_of_more_cells_than_a_histogram_takes(torch) -> None:
    rng = np.random.default_rng(2)
    n, k, bins = 3000, 1000, 15
    labels = rng.integers(k, size=(3, n))
    cell = rng.integers(bins, size=(n, k)) + bins * np.arange(k)
    there = (torch.asarray(values.astype(np.int32), device="cuda") for values in (labels, cell))
    counts = label_kernels.cell_counts(next(there), bins * k, cell=next(there))
    expected = [np.bincount(cell[np.arange(n), row], minlength=bins * k) for row in labels]
    np.testing.assert_array_equal(counts.cpu(), expected)


def test_sums_of_runs_are_those_of_a_count() -> None:
    library = pytest.importorskip("torch", reason="needs the extra torch")
    rng = np.random.default_rng(3)
    values, cells = rng.normal(size=5000), rng.integers(60, size=5000)
    cells[cells == 7] = 8  # an empty cell
    sums = sums_in_runs(library.asarray(values), library.asarray(cells), 55).numpy()
    np.testing.assert_allclose(sums, np.bincount(cells, values, 60)[:55], rtol=1e-12)


@pytest.mark.parametrize("name", ["brier", "log_loss", "accuracy", "confidence_ece", "classwise_ece"])
def test_pvalues_do_not_depend_on_the_memory_limit(torch, name) -> None:
    probs = np.random.default_rng(1).dirichlet(np.ones(4), size=3000)
    labels = probs.argmax(axis=1)
    host = cr.calibration_test(probs, labels, statistics=name, n_resamples=99, rng=0)
    with cr.memory_limit(2**20):
        there = cr.calibration_test(
            cr.Point(torch.asarray(probs, device="cuda")),
            torch.asarray(labels, device="cuda"),
            statistics=name,
            n_resamples=99,
            rng=0,
        )
    assert there.pvalue == host.pvalue
    np.testing.assert_allclose(there.null_distribution, host.null_distribution, rtol=1e-10)


def test_budget_follows_the_device(torch) -> None:
    free = torch.cuda.mem_get_info()[0]
    assert 0.2 * free < memory_budget(torch.zeros(1, device="cuda")) < 0.3 * free + 2**30
    with cr.memory_limit(2**21):
        assert memory_budget(torch.zeros(1, device="cuda")) == 2**21


def test_host_arrays_have_no_kernels() -> None:
    assert not label_kernels.usable(np.zeros(3))
