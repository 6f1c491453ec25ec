"""Rows of .npy files are those of the array that was saved."""

from __future__ import annotations

import numpy as np
import pytest

from credibly._arrays.errors import FileError
from credibly.io import read_rows

ARRAYS = {
    "points": (np.random.default_rng(0).random((20, 3)), None),
    "members second": (np.random.default_rng(1).random((20, 4, 3)).astype(np.float32), 1),
    "members first": (np.random.default_rng(2).random((4, 20, 3)).astype(np.float32), 0),
    "other byte order": (np.random.default_rng(3).random((4, 20, 3)).astype(">f8"), 0),
    "columns first": (np.asfortranarray(np.random.default_rng(4).random((20, 3))), None),
    "whole numbers": (np.arange(40).reshape(20, 2), None),
}


@pytest.mark.parametrize("name", ARRAYS)
@pytest.mark.parametrize("rows", [slice(0, 20), slice(0, 1), slice(7, 13), slice(19, 20)])
def test_rows_are_those_of_the_array(tmp_path, name, rows) -> None:
    array, member_axis = ARRAYS[name]
    np.save(tmp_path / "a.npy", array)
    values = read_rows(str(tmp_path / "a.npy"), rows, member_axis)
    np.testing.assert_array_equal(values, array[:, rows] if member_axis == 0 else array[rows])
    assert values.dtype == array.dtype


def test_a_file_that_shrank_is_refused(tmp_path) -> None:
    path = tmp_path / "a.npy"
    np.save(path, np.random.default_rng(0).random((20, 3)))
    path.write_bytes(path.read_bytes()[:-8])
    with pytest.raises(FileError, match=r"a\.npy.*must hold what its header declares"):
        read_rows(str(path), slice(0, 20), None)
