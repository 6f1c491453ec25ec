"""Labels: single classes, counts over raters, batches of replicates and their tiles."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import credibly as cr
import strategies
from credibly.predictions import Classes, Counts, Reals, as_labels, as_point, label_dtype
from libraries import read

POINT = cr.Point([[0.7, 0.3], [0.2, 0.8], [0.5, 0.5]])


def test_classes_become_a_batch_of_one(library):
    point = cr.Point(library.asarray([[0.7, 0.3], [0.2, 0.8], [0.5, 0.5]]))
    for given_labels in (library.asarray([0, 1, 1]), [0, 1, 1], (0, 1, 1)):
        batch = as_labels(point, given_labels)
        assert isinstance(batch, Classes)
        assert library.owns(batch.values)
        assert read(batch.values).tolist() == [[0, 1, 1]]
        assert (len(batch), batch.n, batch.n_classes) == (1, 3, 2)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "int32", "int64", "uint64", "bool"])
def test_every_integer_type(library, dtype):
    values = np.array([0, 1, 1], dtype=dtype)
    point = cr.Point(library.asarray([[0.7, 0.3], [0.2, 0.8], [0.5, 0.5]]))
    assert read(as_labels(point, library.asarray(values)).values).tolist() == [[0, 1, 1]]


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_small_integers_and_many_classes(library, dtype):
    # 300 does not fit a byte: compared there it would be 44
    point = cr.Point(library.asarray(np.full((2, 300), 1 / 300)))
    assert read(as_labels(point, library.asarray([100, 5], dtype)).values).tolist() == [[100, 5]]


def test_labels_are_stored_small():
    assert label_dtype(np, 256) is np.uint8
    assert label_dtype(np, 257) is np.int32
    assert as_labels(cr.Point(np.full((1, 257), 1 / 257)), [256]).values.tolist() == [[256]]


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (
            [0, 1, 2],
            (
                r"must lie between 0 and 1 for 2 classes; row 2 is 2 \(1 of 3 rows\)\. Remove "
                r"unlabelled"
            ),
        ),
        ([1, 2, 2], r"row 1 is 2 .*start at 1: subtract 1"),
        ([0, 1, -1], r"row 2 is -1 \(1 of 3 rows\)"),
        ([-1, -1, -1], r"row 0 is -1 \(3 of 3 rows: 0, 1, 2\)"),
        ([2**40, 0, 1], "row 0 is 1099511627776"),
        ([0, 1], r"must have one entry per prediction \(3\); got 2"),
        ([0, 1, 0, 1], r"\(3\); got 4\. Check that both come from the same split"),
        ([], r"\(3\); got 0"),
        (1, r"must have shape \(n,\); got shape \(\)"),
        ([[0, 1, 1]], r"got shape \(1, 3\)\. Pass predictions first"),
    ],
)
def test_wrong_classes(library, values, words):
    point = cr.Point(library.asarray([[0.7, 0.3], [0.2, 0.8], [0.5, 0.5]]))
    with pytest.raises(cr.InputError, match=words):
        as_labels(point, library.asarray(values, "int64"))


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ([0.5, 1.0, 1.0], "the first that is not one is 0.5.*look like real observations"),
        ([math.nan, 1.0, 1.0], r"must be present; row 0 is nan .1 of 3 rows.*Drop instances without a label"),
    ],
)
def test_labels_that_are_no_integers(library, values, words):
    point = cr.Point(library.asarray([[0.7, 0.3], [0.2, 0.8], [0.5, 0.5]]))
    with pytest.raises((cr.InputTypeError, cr.InvalidRowsError), match=words):
        as_labels(point, library.asarray(values))


@pytest.mark.parametrize("values", [[0.0, 1.0, 1.0], [[0], [1], [1]], [[1, 0], [0, 1], [0, 1]]])
def test_whole_floats_one_column_and_one_hot_rows_are_classes(library, values):
    point = cr.Point(library.asarray([[0.7, 0.3], [0.2, 0.8], [0.5, 0.5]]))
    for labels in (library.asarray(values), values):
        assert read(as_labels(point, labels).values).tolist() == [[0, 1, 1]]


def test_members_first_without_the_keyword_is_named():
    members_first = np.full((5, 3, 2), 0.5)
    with pytest.raises(
        cr.InputError, match=r"Axis 1 has 3 entries: for members-first input pass `member_axis=0`"
    ):
        as_labels(cr.Ensemble(members_first), [0, 1, 1])
    with pytest.raises(cr.InputError, match="look transposed: instances come first"):
        as_labels(POINT, [0, 1])


def test_real_labels(library):
    gaussian = cr.Gaussian(library.asarray([0.0, 1.0]), library.asarray([1.0, 1.0]))
    batch = as_labels(gaussian, library.asarray([3, 4]))
    assert isinstance(batch, Reals)
    assert read(batch.values).tolist() == [[3.0, 4.0]]
    assert (len(batch), batch.n) == (1, 2)
    assert read(batch.rows(slice(1, 2)).values).tolist() == [[4.0]]
    with pytest.raises(cr.InvalidRowsError, match="`labels` must be finite; row 1 holds nan"):
        as_labels(gaussian, library.asarray([3.0, math.nan]))


def test_predictions_are_no_labels():
    with pytest.raises(cr.InputTypeError, match="`labels` must be what was observed; got Point"):
        as_labels(POINT, POINT)


def test_text_beside_real_values_is_not_told_about_classes():
    with pytest.raises(cr.InputTypeError, match=r"must hold numbers; .* Pass one observed number per entry"):
        cr.crps(cr.Gaussian([0.0, 1.0], [1.0, 1.0]), ["a", "b"])


@pytest.mark.parametrize(
    ("weights", "words"),
    [
        ([1, 1], r"`sample_weight` must have one entry per prediction \(3\); got 2"),
        ([0, 0, 0], "positive sum; all are 0"),
        ([1, -1, 1], "non-negative with a positive sum; got minimum -1"),
        ([1, math.nan, 1], "`sample_weight` must be finite; row 1"),
        (2.0, r"`sample_weight` must have shape \(n,\)"),
        ([[1], [1], [1]], r"must have shape \(n,\); got shape \(3, 1\)"),
        (["a", "b", "c"], "`sample_weight` must hold numbers"),
        (np.ma.array([1.0, 1.0, 1.0], mask=[0, 0, 1]), "`sample_weight` must not be masked"),
    ],
)
def test_wrong_sample_weights(weights, words):
    with pytest.raises(cr.CrediblyError, match=words):
        as_labels(POINT, [0, 1, 1], weights)


def test_sample_weights_are_doubles(library):
    point = cr.Point(library.asarray([[0.7, 0.3], [0.2, 0.8]]))
    batch = as_labels(point, [0, 1], library.asarray([1, 3]))
    assert library.owns(batch.weights)
    assert read(batch.weights).tolist() == [[1.0, 3.0]]


# -- batches and tiles


def test_tiles_of_classes_are_one_hot(library):
    labels = Classes(library.asarray([[0, 2, 1], [1, 1, 0]], "uint8"), 3)
    tile = labels.shares(slice(1, 3), slice(0, 2))
    assert library.owns(tile)
    assert read(tile).tolist() == [[[0, 0, 1], [0, 1, 0]], [[0, 1, 0], [1, 0, 0]]]
    weighted = Classes(labels.values, 3, library.asarray([[1.0, 2.0, 0.5]]))
    assert read(weighted.shares(slice(1, 3), slice(1, 2))).tolist() == [[[0, 2.0, 0], [0.5, 0, 0]]]
    own = Classes(labels.values, 3, library.asarray([[1.0, 2.0, 0.5], [3.0, 4.0, 5.0]]))
    assert read(own.shares(slice(2, 3), slice(1, 2))).tolist() == [[[5.0, 0, 0]]]
    assert read(own.rows(slice(2, 3)).weights).tolist() == [[0.5], [5.0]]


def test_tiles_of_counts_are_frequencies(library):
    labels = Counts(library.asarray([[[1, 3], [2, 0]]]), library.asarray([[1.0, 2.0]]))
    # 1/4, 3/4 and twice 2/2
    assert read(labels.shares(slice(0, 2), slice(0, 1))).tolist() == [[[0.25, 0.75], [2.0, 0.0]]]
    assert (len(labels), labels.n, labels.n_classes) == (1, 2, 2)
    assert read(labels.rows(slice(1, 2)).values).tolist() == [[[2, 0]]]


@given(st.data())
def test_tiles_tile(data):
    n, k = data.draw(strategies.instances()), data.draw(strategies.classes())
    values = np.stack([data.draw(strategies.labels(n, k)) for _ in range(2)])
    whole = Classes(values, k).shares(slice(0, n), slice(0, 2))
    cut = data.draw(st.integers(0, n))
    parts = [Classes(values, k).shares(rows, slice(0, 2)) for rows in (slice(0, cut), slice(cut, n))]
    assert np.array_equal(np.concatenate(parts, axis=1), whole)
    assert np.array_equal(whole.argmax(axis=2), values)


# -- counts


def test_counts_by_hand(library):
    counts = cr.LabelCounts(library.asarray([[3, 1], [0, 5]]))
    assert library.owns(counts.counts)
    assert read(counts.totals).tolist() == [4, 5]
    assert read(counts.frequencies()).tolist() == [[0.75, 0.25], [0.0, 1.0]]
    assert counts.n_classes == 2


@pytest.mark.parametrize("dtype", ["float64", "float32", "bool", "uint8", "int16"])
def test_whole_numbers_of_any_type_are_counts(library, dtype):
    counts = cr.LabelCounts(library.asarray([[1, 0], [1, 1]], dtype))
    assert read(counts.counts).dtype == np.int64
    assert read(counts.totals).tolist() == [1, 2]


def test_bytes_do_not_overflow():
    # 200 + 100 = 300 > 255
    assert cr.LabelCounts(np.array([[200, 100]], dtype=np.uint8)).totals.tolist() == [300]


@pytest.mark.parametrize(
    ("counts", "words"),
    [
        ([[0.5, 0.5]], r"`counts` must be whole numbers; row 0 holds 0\.5 .*For frequencies use"),
        ([[1, 2], [-1, 2]], "must lie between 0 and .*row 1 holds -1 to 2"),
        ([[1, 2], [0, 0]], "at least one rater per row; row 1 holds 0 to 0, in all 0"),
        ([[math.nan, 1.0]], "must be whole numbers; row 0 holds nan"),
        ([[1], [1]], "at least 2 classes"),
        ([1, 2], r"must have shape \(n, k\)"),
        ([[1e30, 1.0]], r"between 0 and 9007199254740992, .*; row 0 holds 1 to 1e\+30"),
    ],
)
def test_wrong_counts(library, counts, words):
    with pytest.raises(cr.InputError, match=words):
        cr.LabelCounts(library.asarray(counts))


def test_counts_beside_predictions():
    batch = as_labels(POINT, cr.LabelCounts([[1, 0], [0, 2], [3, 3]]))
    assert isinstance(batch, Counts)
    with pytest.raises(cr.InputError, match=r"label counts must have one entry per prediction \(3\); got 1"):
        as_labels(POINT, cr.LabelCounts([[1, 0]]))
    with pytest.raises(cr.InputError, match="label counts must have 2 classes like the predictions; got 3"):
        as_labels(POINT, cr.LabelCounts(np.ones((3, 3), dtype=int)))


def test_counts_of_another_library():
    torch = pytest.importorskip("torch", reason="needs the torch extra")
    with pytest.raises(cr.InputTypeError, match="must come from one array library; got numpy and torch"):
        as_labels(POINT, cr.LabelCounts(torch.tensor([[1, 0], [0, 2], [3, 3]])))


# -- annotations


def test_annotations_by_hand():
    # b: two raters say 1, one says 0; a: one rater says 2; an exact repeat counts once
    ids = ["b", "a", "b", "b", "b"]
    raters = ["x", "x", "y", "z", "z"]
    counts, order = cr.LabelCounts.from_annotations(ids, raters, [1, 2, 1, 0, 0], n_classes=3)
    assert order.tolist() == ["b", "a"]
    assert counts.counts.tolist() == [[1, 2, 0], [0, 0, 1]]


@given(st.data())
def test_annotations_are_counted_like_a_dictionary(data):
    pairs = data.draw(
        st.dictionaries(st.tuples(st.integers(0, 4), st.integers(0, 3)), st.integers(0, 2), min_size=1)
    )
    ids, raters = zip(*pairs, strict=True)
    counts, order = cr.LabelCounts.from_annotations(ids, raters, list(pairs.values()), n_classes=3)
    assert order.tolist() == list(dict.fromkeys(ids))
    for row, instance in zip(counts.counts, order, strict=True):
        given_labels = [label for (own, _), label in pairs.items() if own == instance]
        assert row.tolist() == [given_labels.count(y) for y in range(3)]


@pytest.mark.parametrize(
    ("ids", "raters", "labels", "words"),
    [
        ([1, 2], ["a"], [0, 1], "vectors of one common, positive length"),
        ([], [], [], "positive length"),
        ([[1], [2]], ["a", "b"], [0, 1], r"got shapes \(\(2, 1\), \(2,\), \(2,\)\)"),
        (1, "a", 0, r"got shapes \(\(\), \(\), \(\)\)"),
        ([1], ["a"], [2], "`labels` must lie between 0 and 1"),
        (
            [1, 1],
            ["a", "a"],
            [0, 1],
            r"one label per instance and rater; rater a labelled instance 1 in two ways",
        ),
        ([1, None], ["a", "b"], [0, 1], "`ids` must not be missing; entry 1 is"),
        ([1.0, math.nan], ["a", "b"], [0, 1], "`ids` must not be missing; entry 1"),
        ([1, 2], None, [0, 1], "`raters` must not be missing"),
        (np.array([1, "x"], dtype=object), ["a", "b"], [0, 1], "`ids` must be of one kind; got int and str"),
        ([1, 2], ["a", "b"], ["cat", "dog"], "map class names to indices first"),
        ([1, 2], ["a", "b"], [0.0, 0.5], r"must be class indices; the first that is not one is 0\.5"),
    ],
)
def test_wrong_annotations(ids, raters, labels, words):
    with pytest.raises(cr.CrediblyError, match=words):
        cr.LabelCounts.from_annotations(ids, raters, labels, n_classes=2)


@pytest.mark.parametrize("n_classes", [1, 2.0, "2", None])
def test_the_number_of_classes_of_annotations_is_given(n_classes):
    with pytest.raises(cr.InputError, match="`n_classes` must be an integer of at least 2"):
        cr.LabelCounts.from_annotations([1], ["a"], [0], n_classes=n_classes)


def test_annotations_in_a_table():
    pandas = pytest.importorskip("pandas", reason="needs pandas")
    table = pandas.DataFrame({"id": ["u", "v", "u"], "who": [1, 1, 2], "label": [0, 1, 1]})
    counts, order = cr.LabelCounts.from_annotations(table["id"], table["who"], table["label"], n_classes=2)
    assert order.tolist() == ["u", "v"]
    assert counts.counts.tolist() == [[1, 1], [0, 1]]
    table.loc[2, "id"] = pandas.NA
    with pytest.raises(cr.InputError, match="`ids` must not be missing; entry 2"):
        cr.LabelCounts.from_annotations(table["id"], table["who"], table["label"], n_classes=2)


# -- the one distribution per instance


def test_as_point_says_what_it_did():
    assert as_point(POINT) == (POINT, ())
    ensemble = cr.Ensemble(np.full((3, 2, 2), 0.5))
    mean, notes = as_point(ensemble)
    assert isinstance(mean, cr.Point)
    assert notes == ("used the mean of 2 members as the one prediction per instance",)
    for given_one, word in [
        (cr.Dirichlet([[1.0, 1.0]]), "Dirichlet"),
        (cr.Intervals([[0.0, 0.0]], [[1.0, 1.0]]), "intersection"),
        (cr.Belief([[1.0]], [{0, 1}]), "pignistic"),
    ]:
        assert word in as_point(given_one)[1][-1]
    with pytest.raises(cr.InputTypeError, match="must be over classes; got Samples"):
        as_point(cr.Samples([[1.0]]))
