"""Counting in sorted rows: against a comparison with every entry, in every library."""

from __future__ import annotations

import numpy as np
import pytest

from credibly._arrays import row_search
from credibly._arrays.row_search import SortedRows, count_at_most
from libraries import Library, read


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("q", [1, 2, 3, 7, 8, 33])
@pytest.mark.parametrize("b", [1, 5, row_search._LONG_COLUMN])
def test_counts_equal_a_comparison_with_every_entry(b: int, q: int, strict: bool, library: Library) -> None:
    rng = np.random.default_rng(q)
    table = np.sort(rng.integers(-3, 4, size=(6, q)), axis=1).astype(float)  # many ties
    values = np.concatenate([rng.integers(-4, 5, size=(b - 1, 6)), np.full((1, 6), np.inf)]).astype(float)
    compared = table[None] < values[:, :, None] if strict else table[None] <= values[:, :, None]
    counted = count_at_most(library.asarray(table), library.asarray(values), strict=strict)
    assert library.owns(counted)
    assert np.array_equal(read(counted), compared.sum(axis=2))


def test_tables_larger_than_a_tile() -> None:
    rng = np.random.default_rng(0)
    table = np.sort(rng.normal(size=(400, 300)), axis=1)
    values = rng.normal(size=(3, 400))
    assert np.array_equal(count_at_most(table, values), (table[None] <= values[:, :, None]).sum(axis=2))


@pytest.mark.parametrize("q", [1, 7, 300])
@pytest.mark.parametrize("b", [3, row_search._LONG_COLUMN])
def test_grids_count_what_a_comparison_with_every_entry_counts(b: int, q: int, library: Library) -> None:
    rng = np.random.default_rng(q)
    table = np.concatenate(
        [
            np.sort(rng.integers(-3, 4, size=(3, q)), axis=1),  # many ties
            np.sort(rng.standard_cauchy(size=(3, q)), axis=1),  # nearly all in one cell
            np.zeros((1, q)),
            np.linspace(0.0, 1e-310, q)[None, :],
        ]
    ).astype(float)
    drawn = np.concatenate([rng.integers(-4, 5, size=(b - 2, 8)), [np.full(8, 1e300), table[:, q // 2]]])
    below, at_most = SortedRows(library.asarray(table)).passed(library.asarray(drawn.astype(float)))
    assert np.array_equal(read(below), (table[None] < drawn[:, :, None]).sum(axis=2))
    assert np.array_equal(read(at_most), (table[None] <= drawn[:, :, None]).sum(axis=2))


def test_without_ties_both_counts_are_one_array() -> None:
    rng = np.random.default_rng(0)
    table = np.sort(rng.normal(size=(40, 9)), axis=1)
    below, at_most = SortedRows(table).passed(rng.normal(size=(row_search._LONG_COLUMN, 40)))
    assert below is at_most


def test_small_batches_after_each_other_get_a_grid() -> None:
    rng = np.random.default_rng(1)
    table = np.sort(rng.integers(-9, 9, size=(50, 12)), axis=1).astype(float)
    rows = SortedRows(table)
    for _ in range(row_search._GRID_COLUMN // 5 + 1):
        values = rng.integers(-9, 9, size=(5, 50)).astype(float)
        below, at_most = rows.passed(values)
        assert np.array_equal(below, (table[None] < values[:, :, None]).sum(axis=2))
        assert np.array_equal(at_most, (table[None] <= values[:, :, None]).sum(axis=2))
    assert "_grid" in rows.__dict__
