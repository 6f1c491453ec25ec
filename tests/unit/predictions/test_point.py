"""One distribution per instance: what is accepted, noted and refused, and how it is made from others."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

import credibly as cr
import strategies
from libraries import read

PROBS = [[0.7, 0.3], [0.2, 0.8], [1.0, 0.0]]


def test_a_point_keeps_library_device_and_type(library):
    for dtype in ("float32", "float64"):
        array = library.asarray(PROBS, dtype)
        point = cr.Point(array)
        assert point.probs is array
        assert point.notes == ()
        assert (len(point), point.n_classes, point.n_members) == (3, 2, 1)
        assert point.mean() is point


@given(strategies.simplex((5, 4)))
def test_distributions_are_accepted_as_they_are(probs):
    assert cr.Point(probs).probs is probs


@given(strategies.simplex((5, 4)), st.integers(0, 4), st.floats(0.001, 5.0))
def test_one_wrong_row_is_found(probs, row, off):
    probs = probs.copy()
    probs[row, 0] += off
    with pytest.raises(cr.InvalidRowsError, match="rows must sum to 1") as caught:
        cr.Point(probs)
    assert caught.value.rows == [row]


def test_lists_integers_and_booleans_are_numbers():
    assert cr.Point([[0, 1], [1, 0]]).probs.dtype == np.float64
    assert cr.Point(np.eye(3, dtype=np.uint8)).probs.tolist() == np.eye(3).tolist()
    assert cr.Point(np.eye(3, dtype=bool)).probs.tolist() == np.eye(3).tolist()


@pytest.mark.parametrize("entry", [math.nan, math.inf, -math.inf])
def test_not_finite(library, entry):
    with pytest.raises(
        cr.InvalidRowsError, match=r"`probs` must be finite; row 1 holds .* \(1 of 3 rows\)"
    ) as caught:
        cr.Point(library.asarray([[0.7, 0.3], [entry, 0.8], [1.0, 0.0]]))
    assert caught.value.rows == [1]


def test_infinities_of_both_signs_are_one_error():
    with pytest.raises(cr.InvalidRowsError, match="must be finite"):
        cr.Point([[math.inf, -math.inf], [0.5, 0.5]])


@pytest.mark.parametrize(
    ("probs", "words"),
    [
        (
            [[1.2, -0.2], [0.5, 0.5]],
            r"must not be negative; row 0 holds -0\.2 .* logits: use `Point\.from_logits`",
        ),
        ([[2.0, -1.0], [0.1, 0.3]], r"row 0 holds -1 .* logits: use `Point\.from_logits`"),
        # sum 1, one entry below the noise, too small for a logit
        ([[1.001, -0.001]], r"row 0 holds -0\.001 .* Drop or repair them, or use `Point\.from_scores`"),
        ([[0.25, 0.25], [0.5, 0.5]], r"rows must sum to 1 .* row 0 sums to 0\.5 \(1 of 2 rows\)"),
        ([[5.5, 4.5], [0.5, 0.5]], r"row 0 sums to 10 .* `Point\.from_scores` to normalise on purpose"),
        ([[7.0, 3.0], [2.0, 8.0]], r"row 0 sums to 10 \(2 of 2 rows: 0, 1\).* counts: use `LabelCounts`"),
        ([[0.2, 0.3, 0.1], [0.8, 0.7, 0.9]], r"columns sum to 1: transpose, `Point\(probs\.T\)`"),
        # one row of ones has columns that sum to 1, yet transposed it has one class only
        ([[1.0, 1.0]], r"row 0 sums to 2 .* `Point\.from_scores`"),
        ([[1 + 1e-5, 0.0]], r"row 0 sums to 1\.00001"),
    ],
)
def test_no_distributions(library, probs, words):
    with pytest.raises(cr.InvalidRowsError, match=words):
        cr.Point(library.asarray(probs))


def test_all_bad_rows_are_counted():
    probs = np.full((100, 2), 0.5)
    probs[44:68] = 5.0
    with pytest.raises(
        cr.InvalidRowsError, match=r"row 44 sums to 10 \(24 of 100 rows: 44, 45, 46, 47, 48, "
    ) as caught:
        cr.Point(probs)
    assert caught.value.rows == list(range(44, 68))


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_noise_in_a_sum_is_accepted_and_noted(library, dtype):
    probs = library.asarray([[1 + 1e-6, 0.0], [0.5, 0.5]], dtype)
    point = cr.Point(probs)
    assert point.probs is probs
    assert len(point.notes) == 1
    assert "rows sum to 1 within 1.0e-06" in point.notes[0] or "within 9.5e-07" in point.notes[0]


def test_noise_below_zero_is_set_to_zero_in_a_copy(library):
    probs = library.asarray([[1.0, -5e-7, 0.0], [0.5, 0.5, -1e-9]])
    point = cr.Point(probs)
    assert read(point.probs).tolist() == [[1.0, 0.0, 0.0], [0.5, 0.5, 0.0]]
    assert read(probs)[0, 1] == -5e-7
    assert point.notes[0] == "2 entries of `probs` between -1e-6 and 0 are read as 0"


def test_rounding_of_the_stored_precision_is_no_news():
    rng = np.random.default_rng(0)
    for k in (2, 10, 1000):
        probs = rng.dirichlet(np.ones(k), size=200)
        assert cr.Point(probs).notes == ()
        assert cr.Point(probs.astype(np.float32)).notes == ()


def test_half_precision_is_accepted_and_noted():
    # 1/3 in float16 is 0.33325: three of them sum to 0.99976
    point = cr.Point(np.full((1, 3), 1 / 3, dtype=np.float16))
    assert point.probs.dtype == np.float16
    assert "within 2.4e-04" in point.notes[0]
    with pytest.raises(cr.InvalidRowsError, match=r"sums to 0\.9"):
        cr.Point(np.full((1, 3), 0.3, dtype=np.float16))


def test_bfloat16_with_many_classes_is_not_an_excuse():
    torch = pytest.importorskip("torch", reason="needs the torch extra")
    assert len(cr.Point(torch.full((1, 3), 1 / 3, dtype=torch.bfloat16)).notes) == 1
    # 1000 times 1/500, which is 0.0019989 there: rounding explains at most 1 %
    with pytest.raises(cr.InvalidRowsError, match=r"row 0 sums to 1\.9989"):
        cr.Point(torch.full((1, 1000), 1 / 500, dtype=torch.bfloat16))


@pytest.mark.parametrize(
    ("probs", "words"),
    [
        ([], r"must have shape \(n, k\); got shape \(0,\)"),
        (np.empty((0, 3)), r"at least one instance; got shape \(0, 3\)"),
        (np.empty((3, 0)), r"at least one instance; got shape \(3, 0\)"),
        ([0.5, 0.5], r"must have shape \(n, k\); got shape \(2,\)"),
        (0.5, r"must have shape \(n, k\); got shape \(\)"),
        (np.full((2, 2, 2), 0.5), r"must have shape \(n, k\); got shape \(2, 2, 2\)"),
        (
            np.ones((3, 1)),
            r"at least 2 classes on its last axis; got shape \(3, 1\).*numpy\.stack\(\[1 - p, p\], axis=-1\)",
        ),
    ],
)
def test_wrong_shapes(probs, words):
    with pytest.raises(cr.InputError, match=words):
        cr.Point(probs)


def test_one_instance_is_enough():
    assert len(cr.Point([[0.25, 0.75]])) == 1


@pytest.mark.parametrize(
    "change", [np.asfortranarray, lambda a: a[::-1], lambda a: a[:, ::-1], lambda a: a[::2]]
)
def test_memory_order_does_not_matter(change):
    probs = change(np.array(PROBS))
    assert cr.Point(probs).probs is probs


def test_read_only_arrays():
    probs = np.array(PROBS)
    probs.setflags(write=False)
    assert cr.Point(probs).probs is probs
    noisy = np.array([[1.0, -1e-9]])
    noisy.setflags(write=False)
    assert cr.Point(noisy).probs.tolist() == [[1.0, 0.0]]


def test_tensors_keep_their_graph():
    torch = pytest.importorskip("torch", reason="needs the torch extra")
    logits = torch.zeros((1, 2), dtype=torch.float64, requires_grad=True)
    cr.Point.from_logits(logits).probs[0, 0].backward()
    # p (1 - p) = 1/4 and -p q = -1/4
    assert logits.grad.tolist() == [[0.25, -0.25]]


# -- from other numbers


def test_from_logits_by_hand(library):
    # exp: 1, 3 -> 1/4, 3/4; -inf is probability 0; a constant changes nothing
    logits = library.asarray([[0.0, math.log(3)], [-math.inf, 5.0], [1000.0, 1000.0]])
    point = cr.Point.from_logits(logits)
    assert library.owns(point.probs)
    assert read(point.probs) == pytest.approx(np.array([[0.25, 0.75], [0.0, 1.0], [0.5, 0.5]]))
    assert point.notes == ()


@given(npst.arrays(np.float64, (3, 4), elements=st.floats(allow_nan=False, allow_infinity=False)))
def test_any_finite_logits_give_distributions(logits):
    probs = cr.Point.from_logits(logits, raw=True).probs
    assert probs.sum(axis=1) == pytest.approx(np.ones(3))
    assert (probs[np.arange(3), logits.argmax(axis=1)] == probs.max(axis=1)).all()


@pytest.mark.parametrize(
    ("row", "shown"),
    [
        ([math.nan, 0.0], "nan"),
        ([math.inf, 0.0], "inf"),
        ([-math.inf, -math.inf], "-inf"),
        ([-math.inf, math.nan], "nan"),
        ([-math.inf, math.inf], "inf"),
    ],
)
def test_wrong_logits(library, row, shown):
    with pytest.raises(
        cr.InvalidRowsError, match=rf"`logits` must be finite .* row 1 holds {shown} \(1 of 2 rows\)"
    ):
        cr.Point.from_logits(library.asarray([[0.0, 0.0], row]))


def test_logits_have_the_shape_of_a_point():
    with pytest.raises(cr.InputError, match=r"`logits` must have shape \(n, k\); got shape \(2,\)"):
        cr.Point.from_logits([0.0, 1.0])
    with pytest.raises(cr.InputError, match="at least 2 classes"):
        cr.Point.from_logits([[0.0], [1.0]])


def test_from_scores_by_hand(library):
    # 1 : 3 and 2 : 0
    point = cr.Point.from_scores(library.asarray([[1.0, 3.0], [2.0, 0.0]]))
    assert library.owns(point.probs)
    assert read(point.probs).tolist() == [[0.25, 0.75], [1.0, 0.0]]


@pytest.mark.parametrize("size", [5e-324, 1e-300, 1e308])
def test_scores_of_any_size(size):
    assert cr.Point.from_scores([[size, size]]).probs.tolist() == [[0.5, 0.5]]
    assert cr.Point.from_scores(np.array([[6e4, 6e4]], dtype=np.float16)).probs.tolist() == [[0.5, 0.5]]


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ([-1.0, 2.0], "non-negative with a positive sum per row; row 0 holds -1 .*`from_logits`"),
        ([0.0, 0.0], "row 0 sums to 0"),
        ([math.nan, 1.0], "`scores` must be finite; row 0 holds nan"),
    ],
)
def test_wrong_scores(library, row, words):
    with pytest.raises(cr.InvalidRowsError, match=words):
        cr.Point.from_scores(library.asarray([row, [1.0, 1.0]]))
