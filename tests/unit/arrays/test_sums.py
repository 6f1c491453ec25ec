"""Sums over groups and counts over cells against double loops, on every code path."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from credibly._arrays import sums
from credibly._arrays.namespace import is_torch
from credibly._arrays.sums import add_mask, count_cells, group_sums, indicator
from libraries import read


def grouped_by_loop(values, groups, n_groups):
    total = np.zeros((values.shape[0], n_groups))
    for d in range(values.shape[0]):
        for i in range(values.shape[1]):
            total[d, groups[i]] += values[d, i]
    return total


def counted_by_loop(cells, n_cells, weights=None):
    total = np.zeros((cells.shape[0], n_cells))
    for d in range(cells.shape[0]):
        for i in range(cells.shape[1]):
            if cells[d, i] < n_cells:
                own = 1.0 if weights is None else weights[d if len(weights) > 1 else 0, i]
                total[d, cells[d, i]] += own
    return total


@pytest.mark.parametrize("b", [1, 3])
@pytest.mark.parametrize("n_groups", [2, 300])
def test_group_sums(library, b, n_groups):
    rng = np.random.default_rng(b * n_groups)
    values, groups = rng.normal(size=(b, 50)), rng.integers(0, n_groups, 50)
    sums = group_sums(library.asarray(values), library.asarray(groups), n_groups)
    assert library.owns(sums)
    assert read(sums) == pytest.approx(grouped_by_loop(values, groups, n_groups), abs=1e-13)


def test_group_sums_are_double_precision(library):
    # 2^24 + 1 is not a float32
    values = library.asarray([[2.0**24, 1.0], [2.0**24, 1.0]], "float32")
    sums = group_sums(values, library.asarray([0, 0]), 1)
    assert read(sums).tolist() == [[2.0**24 + 1], [2.0**24 + 1]]


def test_indicator(library):
    found = indicator(library.asarray([1, 0, 1]), 3)
    assert library.owns(found)
    assert read(found).tolist() == [[0, 1, 0], [1, 0, 0], [0, 1, 0]]


@pytest.mark.parametrize("b", [1, 4])
@pytest.mark.parametrize("weights", [None, "shared", "own"])
@pytest.mark.parametrize("off_host", [False, True])
def test_count_cells(library, b, weights, off_host, monkeypatch):
    if off_host:  # the path of accelerators, which hold their counts
        monkeypatch.setattr(sums, "on_accelerator", is_torch)
    rng = np.random.default_rng(b)
    cells = rng.integers(0, 7, (b, 40))  # 5 and 6 count nowhere
    held = {None: None, "shared": rng.random((1, 40)), "own": rng.random((b, 40))}[weights]
    given_weights = None if held is None else library.asarray(held)
    found = count_cells(library.asarray(cells), 5, given_weights)
    assert library.owns(found)
    assert read(found) == pytest.approx(counted_by_loop(cells, 5, held), abs=1e-13)


@given(st.data())
def test_counts_of_any_size_and_type(data):
    b, n, n_cells = data.draw(st.integers(1, 3)), data.draw(st.integers(1, 9)), data.draw(st.integers(1, 6))
    dtype = data.draw(st.sampled_from([np.uint8, np.int32, np.int64]))
    cells = data.draw(npst.arrays(dtype, (b, n), elements=st.integers(0, 8)))
    assert count_cells(cells, n_cells).tolist() == counted_by_loop(cells, n_cells).tolist()


@pytest.mark.parametrize("dtype", [np.uint8, np.int32])
def test_add_mask(dtype):
    total = np.array([1, 254, 3], dtype=dtype)
    add_mask(total, np.array([True, True, False]))
    assert total.tolist() == [2, 255, 3]


def test_running_sums_are_read_where_groups_end() -> None:
    torch = pytest.importorskip("torch")
    from credibly._arrays.sums import sums_in_order

    events = torch.tensor([[1, 0, 1, 1, 0], [1, 1, 1, 0, 1]], dtype=torch.bool)
    ends = torch.tensor([0, 2, 2, 5])  # the first and the third group are empty
    assert sums_in_order(events, ends).tolist() == [[0, 1, 0, 2], [0, 2, 0, 2]]
