"""The checks every prediction shares: all offending rows are found and counted, the first is shown."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import credibly as cr
from credibly._arrays import checks
from credibly._arrays.checks import (
    as_array,
    as_real,
    as_two_reals,
    describe_rows,
    find_rows,
    missing_entries,
    require_distributions,
    require_integer,
    require_shape,
    sum_tolerance,
)
from credibly.predictions.clusters import as_ids
from libraries import read


@given(st.sets(st.integers(0, 39)), st.integers(1, 50))
def test_find_rows_is_the_same_in_any_blocks(bad, elements):
    values = np.zeros((40, 3))
    values[sorted(bad), 1] = 1
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(checks, "_CHECK_ELEMENTS", elements)
        assert find_rows((values, values), lambda a, b: (a > 0) & (b > 0)) == sorted(bad)


def test_find_rows_on_every_library(library):
    values = library.asarray([[0.0, 0.0], [0.0, 2.0], [3.0, 0.0]])
    assert find_rows((values,), lambda rows: rows > 1) == [1, 2]
    assert find_rows((values[:, 0],), lambda rows: rows > 1) == [2]


def test_evidence_about_rows():
    assert describe_rows([4], "sums to 2", 9) == "row 4 sums to 2 (1 of 9 rows)"
    assert describe_rows([4, 5], "sums to 2", 9) == "row 4 sums to 2 (2 of 9 rows: 4, 5)"
    assert describe_rows([*range(6)], "is -1", 9) == "row 0 is -1 (6 of 9 rows: 0, 1, 2, 3, 4, ...)"


def test_blocks_are_bounded(monkeypatch):
    monkeypatch.setattr(checks, "_CHECK_ELEMENTS", 10)
    sizes = [block.size for _, block in checks.row_tiles(np.zeros((7, 4)))]
    assert sizes == [8, 8, 8, 4]  # two rows of four are the most that fit into ten


def test_a_memory_map_is_checked_block_by_block(tmp_path, monkeypatch):
    """No block the checks look at is larger than the bound, and a late bad row is still named."""
    path = tmp_path / "probs.npy"
    probs = np.full((5000, 4), 0.25, dtype=np.float32)
    probs[4321, 0] = 0.5
    np.save(path, probs)
    mapped = np.load(path, mmap_mode="r")
    monkeypatch.setattr(checks, "_CHECK_ELEMENTS", 400)
    seen = []
    original = checks.as_float64
    monkeypatch.setattr(checks, "as_float64", lambda block: (seen.append(block.size), original(block))[1])
    with pytest.raises(cr.InvalidRowsError, match=r"row 4321 sums to 1.25 \(1 of 5000 rows\)"):
        cr.Point(mapped)
    assert len(seen) >= 50
    assert max(seen) == 400


def test_a_valid_memory_map_stays_one(tmp_path):
    path = tmp_path / "probs.npy"
    np.save(path, np.full((100, 4), 0.25, dtype=np.float32))
    point = cr.Point(np.load(path, mmap_mode="r"))
    assert isinstance(point.probs, np.memmap)
    assert point.notes == ()


def test_shapes():
    require_shape(np.ones((2, 3)), "probs", "(n, k)", "(n, m, k)")
    require_shape(np.ones(2), "weights", "(m,)")
    with pytest.raises(
        cr.InputError, match=r"`probs` must have shape \(n, k\) or \(n, m, k\); got shape \(2,\)"
    ):
        require_shape(np.ones(2), "probs", "(n, k)", "(n, m, k)")
    with pytest.raises(cr.InputError, match=r"at least one instance; got shape \(0, 3\)"):
        require_shape(np.ones((0, 3)), "probs", "(n, k)")
    with pytest.raises(cr.InputError, match=r"`a` and `b` must have the same shape; got \(2,\) and \(3,\)"):
        as_two_reals(np.ones(2), np.ones(3), ("a", "b"), "(n,)")


def test_numbers_are_read_as_real(library):
    for dtype in ("int64", "uint8", "bool"):
        found = as_real(library.asarray([0, 1], dtype), "x")
        assert library.owns(found)
        assert read(found).dtype == np.float64
    single = library.asarray([0.5], "float32")
    assert as_real(single, "x") is single


@pytest.mark.parametrize(
    ("value", "evidence"),
    [
        (None, "got NoneType"),
        ("0.5", "got str"),
        ({"a": 1}, "got dict"),
        (object(), "got object"),
        ([0.5, None], "got list with dtype object"),
        ([0.5, "a"], "got list with dtype <U32"),
        (np.array(["2020-01-01"], dtype="datetime64[D]"), r"dtype datetime64\[D\]"),
        (np.array([1j]), "dtype complex128"),
        (np.zeros(2, dtype=[("a", int)]), "dtype"),
    ],
)
def test_what_is_no_number(value, evidence):
    with pytest.raises(cr.InputTypeError, match=f"`x` must hold numbers; .*{evidence}"):
        as_array(value, "x")


def test_ragged_lists():
    with pytest.raises(cr.InputTypeError, match="`x` must be a rectangular array of numbers; got a ragged"):
        as_array([[0.5, 0.5], [1.0]], "x")


def test_complex_tensors():
    torch = pytest.importorskip("torch", reason="needs the torch extra")
    with pytest.raises(cr.InputTypeError, match=r"`x` must be real; got dtype torch\.complex64"):
        as_real(torch.tensor([1j]), "x")


@pytest.mark.parametrize("convert", [lambda t: t.to_sparse(), lambda t: t.to("meta")])
def test_tensors_without_dense_values(convert):
    torch = pytest.importorskip("torch", reason="needs the torch extra")
    with pytest.raises(cr.InputTypeError, match="`x` must be a dense tensor with values"):
        as_array(convert(torch.ones(2, 2)), "x")


def test_masked_arrays_are_refused_only_where_something_is_masked():
    values = np.ma.array([[0.5, 0.5], [0.2, 0.8]])
    assert type(as_array(values, "x")) is np.ndarray
    values[1, 0] = np.ma.masked
    with pytest.raises(cr.InvalidRowsError, match=r"`x` must not be masked; row 1 has masked") as caught:
        as_array(values, "x")
    assert caught.value.rows == [1]


def test_matrices_become_arrays():
    with pytest.warns(PendingDeprecationWarning):
        matrix = np.matrix([[0.5, 0.5]])
    assert type(as_array(matrix, "x")) is np.ndarray


def test_tolerance_scales_with_the_stored_precision():
    # 1e-6 and four roundings of sqrt(k) entries; half precision is capped at 1 %
    assert sum_tolerance(np.ones((1, 4))) == pytest.approx(1e-6, rel=1e-5)
    assert sum_tolerance(np.ones((1, 4), np.float32)) == pytest.approx(1e-6 + 8 * 2.0**-23, rel=1e-5)
    assert sum_tolerance(np.ones((1, 10**6), np.float16)) == pytest.approx(0.01, rel=1e-3)


def test_integers():
    assert require_integer(np.int64(3), "m", 1) == 3
    for wrong in (0, 1.0, "1", True, None):
        with pytest.raises(cr.InputError, match="`m` must be an integer of at least 1"):
            require_integer(wrong, "m", 1)


def test_the_remedy_is_worded_only_when_something_is_wrong():
    def fail(_):
        raise AssertionError

    assert require_distributions(np.array([[0.5, 0.5]]), "x", fail)[1] == ()


def test_entries_of_numpy_in_an_array_of_objects_are_not_missing() -> None:
    pandas = pytest.importorskip("pandas")
    entries = np.array([np.str_("a"), np.float64(2), 3, "", None, np.nan, pandas.NA], dtype=object)
    assert missing_entries(entries).tolist() == [False] * 4 + [True] * 3
    assert missing_entries(entries, blank=True).tolist() == [False] * 3 + [True] * 4
    assert missing_entries(np.array(["a", ""])).tolist() == [False, False]
    assert missing_entries(np.array(["2021-01-01", "NaT"], dtype="datetime64[D]")).tolist() == [False, True]


def test_names_of_numpy_are_names_of_clusters_and_raters() -> None:
    ids = np.array([np.str_("a"), np.str_("b")], dtype=object)
    assert as_ids(ids, 2).tolist() == ["a", "b"]
    table = np.array([[np.int64(0), np.float64(1)], [np.int64(1), None]], dtype=object)
    assert cr.LabelCounts.from_table(table, n_classes=2).counts.tolist() == [[1, 1], [0, 1]]
