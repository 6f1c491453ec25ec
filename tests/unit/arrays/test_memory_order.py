"""Rows are read in the order of memory, and the numbers do not show it."""

from __future__ import annotations

import numpy as np
import pytest

import credibly as cr
from credibly._arrays.namespace import (
    entropy_of_rows,
    mean_entropy_of_members,
    mean_of_members,
    rows_in_memory,
    summary_of_rows,
)

N, M, K = 5000, 3, 4  # more than one tile


@pytest.fixture(scope="module")
def probs() -> np.ndarray:
    drawn = np.random.default_rng(0).dirichlet(np.full(K, 0.5), size=(N, M))
    drawn[7, 1] = [0.0, 1.0, 0.0, 0.0]
    return drawn


LAYOUTS = {
    "instances first": np.ascontiguousarray,
    "members first": lambda array: np.ascontiguousarray(array.transpose(1, 0, 2)).transpose(1, 0, 2),
    "slice, members first": lambda array: np.concatenate([array[:9], array]).transpose(1, 0, 2).copy()[:, 9:]
    .transpose(1, 0, 2),
    "every other row": lambda array: np.repeat(array, 2, axis=0)[::2],
    "classes first": lambda array: np.ascontiguousarray(array.transpose(2, 0, 1)).transpose(1, 2, 0),
    "single precision": lambda array: array.astype(np.float32),
    "single, slice, members first": lambda array: array.transpose(1, 0, 2).astype(np.float32)[:, 1:]
    .transpose(1, 0, 2),
}  # fmt: skip


def entropies(array: np.ndarray) -> np.ndarray:
    wide = array.astype(np.float64)
    return -np.where(wide > 0, wide * np.log(np.where(wide > 0, wide, 1.0)), 0.0).sum(axis=-1)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout_gives_the_same_numbers(probs, layout) -> None:
    array = LAYOUTS[layout](probs)
    expected = entropies(array)
    values = entropy_of_rows(array)
    assert values.shape == array.shape[:2]
    np.testing.assert_allclose(values, expected, rtol=1e-13, atol=1e-15)
    assert not np.signbit(values).any()  # the entropy of a corner is 0, not -0
    np.testing.assert_allclose(mean_entropy_of_members(array), expected.mean(axis=1), rtol=1e-13)
    np.testing.assert_allclose(mean_of_members(array), array.astype(np.float64).mean(axis=1), rtol=1e-14)
    labels = np.arange(len(array)) % K
    chosen = array[np.arange(len(array)), :, labels].astype(np.float64)
    with np.errstate(divide="ignore"):
        nearest = -np.log(chosen.max(axis=1))
    ensemble = cr.Ensemble(array, member_axis=1)
    np.testing.assert_allclose(cr.credal.distance(ensemble, labels), nearest, rtol=1e-15)


@pytest.mark.parametrize("layout", ["instances first", "members first", "slice, members first"])
def test_a_summary_finds_the_worst_row_wherever_it_is(probs, layout) -> None:
    for row, member in ((0, 0), (N - 1, M - 1), (2500, 1)):
        spoiled = probs.copy()
        spoiled[row, member, 0] += 0.125
        spoiled[row, member, 1] = -0.25
        off = spoiled[row, member].sum() - 1
        found = summary_of_rows(LAYOUTS[layout](spoiled))
        assert found is not None
        assert found[0] == -0.25
        assert found[1] == pytest.approx(abs(off), rel=1e-12)
        spoiled[row, member, 1] = np.nan
        assert summary_of_rows(LAYOUTS[layout](spoiled)) is None
        spoiled[row, member, 1] = -np.inf
        assert summary_of_rows(LAYOUTS[layout](spoiled)) is None


def test_slices_of_members_first_are_one_view_per_member(probs) -> None:
    assert len(rows_in_memory(LAYOUTS["members first"](probs))) == 1
    views = rows_in_memory(LAYOUTS["slice, members first"](probs))
    assert [view.shape for view in views] == [(N, K)] * M
    assert rows_in_memory(LAYOUTS["classes first"](probs)) is None
