"""Arrays and tables of Dask as rows in chunks, in this process; a cluster is in test_dask.py."""

from __future__ import annotations

import numpy as np
import pytest

import credibly as cr

dask = pytest.importorskip("dask", reason="needs the extra dask")
da = pytest.importorskip("dask.array", reason="needs the extra dask")

N, M, K = 30, 4, 3
RNG = np.random.default_rng(0)
PROBS, LABELS = RNG.dirichlet(np.ones(K), size=(N, M)), RNG.integers(K, size=N)
RAGGED = da.from_array(PROBS, chunks=((3, 7, 20), (1, 3), (2, 1)))


def unknown(array):
    """Return the array with blocks whose lengths nobody knows."""
    return array[da.from_array(np.ones(len(array), dtype=bool))]


@pytest.mark.parametrize(
    "probs",
    [
        RAGGED,
        da.concatenate([RAGGED[:0], RAGGED[:3], RAGGED[:0], RAGGED[3:]]),
        unknown(RAGGED).compute_chunk_sizes(),
    ],
    ids=["ragged", "empty blocks", "counted"],
)
def test_blocks_of_any_length(probs) -> None:
    source = cr.scan(probs, da.from_array(LABELS, chunks=(11, 19)), engine="serial")
    whole = cr.brier(cr.Ensemble(PROBS), LABELS)
    assert float(cr.brier(source)) == pytest.approx(float(whole), rel=1e-12)


def test_a_block_of_rows_that_do_not_count_changes_nothing() -> None:
    weight = np.repeat([0.0, 1.0], [3, 27])
    source = cr.scan(RAGGED, LABELS, sample_weight=weight, engine="serial")
    whole = cr.brier(cr.Ensemble(PROBS), LABELS, sample_weight=weight)
    assert float(cr.brier(source)) == pytest.approx(float(whole), rel=1e-12)


def test_a_table_is_an_array_whose_lengths_are_counted() -> None:
    pandas = pytest.importorskip("pandas", reason="needs pandas")
    tables = pytest.importorskip("dask.dataframe")
    probs = tables.from_pandas(pandas.DataFrame(PROBS[:, 0]), npartitions=3)
    labels = tables.from_pandas(pandas.Series(LABELS), npartitions=2)
    source = cr.scan(probs, labels, engine="serial")
    assert sum(source.lengths) == N
    assert float(cr.brier(source)) == pytest.approx(float(cr.brier(PROBS[:, 0], LABELS)), rel=1e-12)


@pytest.mark.parametrize(
    ("call", "error", "said"),
    [
        (lambda: cr.scan(unknown(RAGGED), LABELS), cr.InputError, r"predictions\.compute_chunk_sizes"),
        (
            lambda: cr.scan(RAGGED, unknown(da.from_array(LABELS))),
            cr.InputError,
            r"labels\.compute_chunk_sizes",
        ),
        (lambda: cr.scan(RAGGED[:0], LABELS[:0]), cr.InputError, "at least one row"),
        (lambda: cr.scan(RAGGED, LABELS[:9]), cr.InputError, r"per prediction \(30\); got 9"),
        (lambda: cr.scan(RAGGED, LABELS, sample_weight=np.zeros(N)), cr.InputError, "all are 0"),
        (lambda: cr.scan(dask.delayed(PROBS), LABELS), cr.InputTypeError, "got Delayed"),
        (lambda: cr.scan(PROBS, da.from_array(LABELS)), cr.InputTypeError, "`labels` must be in memory"),
    ],
)
def test_refused(call, error, said) -> None:
    with pytest.raises(error, match=said):
        call()


@pytest.mark.parametrize("function", [cr.brier, cr.predictive_check, cr.calibration_test, cr.decompose_brier])
def test_elsewhere_a_dask_array_is_sent_to_scan(function) -> None:
    with pytest.raises(cr.InputTypeError, match=r"must be in memory here; got Array of Dask.*scan\("):
        function(RAGGED, da.from_array(LABELS))
