"""Label counts from wide tables, long tables, soft labels and a few raters of many."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.stats

import credibly as cr
from libraries import Library, read
from optional import pandas

WIDE = [[0, 1, None], [2, 2, 2], [None, None, 1]]
COUNTED = [[1, 1, 0], [0, 0, 3], [0, 1, 0]]


@pytest.mark.parametrize(
    "table",
    [
        WIDE,
        np.array(WIDE, dtype=object),
        np.array([[0, 1, np.nan], [2, 2, 2], [np.nan, np.nan, 1]]),
        np.ma.masked_equal([[0, 1, 9], [2, 2, 2], [9, 9, 1]], 9),
        lambda: pandas.DataFrame(WIDE),
        lambda: pandas.DataFrame(WIDE).astype("Int64"),
    ],
    ids=["list", "object", "nan", "masked", "pandas", "pandas with NA"],
)
def test_wide_tables_with_gaps(table) -> None:
    counts = cr.LabelCounts.from_table(table() if callable(table) else table, n_classes=3)
    assert counts.counts.tolist() == COUNTED
    assert counts.totals.tolist() == [2, 3, 1]


def test_a_number_can_mark_gaps(library: Library) -> None:
    table = library.asarray([[0, 1, -1], [2, 2, 2], [-1, -1, 1]])
    assert read(cr.LabelCounts.from_table(table, n_classes=3, missing=-1).counts).tolist() == COUNTED
    high = library.asarray([[0, 1, 99]])
    assert read(cr.LabelCounts.from_table(high, n_classes=2, missing=99).counts).tolist() == [[1, 1]]


@pytest.mark.parametrize(
    ("table", "error", "words"),
    [
        (
            [[0, 3]],
            cr.InvalidRowsError,
            r"from 0 to 2, or gaps.*; row 0 holds 3 in column 1.*n_classes",
        ),
        ([[0, -1]], cr.InvalidRowsError, r"row 0 holds -1 in column 1 .*Pass `missing=-1`"),
        ([[0, 1], [None, None]], cr.InvalidRowsError, r"with one rater per row; row 1 holds gaps only"),
        ([[0.5, 1.0]], cr.InvalidRowsError, r"whole class indices .*; row 0 holds 0\.5 .*from_soft"),
        ([0, 1], cr.InputError, r"must have shape \(n, raters\); got shape \(2,\)"),
        ([["cat", "dog"]], cr.InputTypeError, "Map class names to indices"),
        ([["cat", None]], cr.InputTypeError, "got 'cat'.*Map class names to indices"),
        ([[math.inf, 1.0]], cr.InvalidRowsError, "row 0 holds inf"),
    ],
)
def test_wrong_tables(table, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        cr.LabelCounts.from_table(table, n_classes=3)


def test_the_long_table_of_the_same_annotations() -> None:
    ids, raters, labels = [], [], []
    for i, row in enumerate(WIDE):
        for who, label in enumerate(row):
            if label is not None:
                ids.append(i)
                raters.append(f"rater {who}")
                labels.append(label)
    counts, order = cr.LabelCounts.from_annotations(ids, raters, labels, n_classes=3)
    assert counts.counts.tolist() == COUNTED
    assert order.tolist() == [0, 1, 2]
    whole, _ = cr.LabelCounts.from_annotations(ids, raters, [float(label) for label in labels], n_classes=3)
    assert whole.counts.tolist() == COUNTED


def test_conflicting_annotations_are_named() -> None:
    with pytest.raises(cr.InputError, match=r"rater b labelled instance y in two ways \(1 conflict\)"):
        cr.LabelCounts.from_annotations(["x", "y", "y"], ["a", "b", "b"], [0, 1, 0], n_classes=2)


def test_soft_labels_are_counts_that_were_divided(library: Library) -> None:
    raters = np.array([51, 3, 10])
    counts = np.array([[50, 1, 0], [1, 1, 1], [2, 3, 5]])
    soft = library.asarray((counts / raters[:, None]).astype(np.float32))
    made = cr.LabelCounts.from_soft(soft, raters)
    assert library.owns(made.counts)
    assert read(made.counts).tolist() == counts.tolist()
    assert read(made.counts).dtype.kind == "i"
    assert read(made.totals).tolist() == raters.tolist()


def test_soft_labels_that_are_no_counts_are_kept_and_noted() -> None:
    made = cr.LabelCounts.from_soft([[0.9, 0.1], [0.5, 0.5]], 2)
    assert made.counts == pytest.approx(np.array([[1.8, 0.2], [1.0, 1.0]]))
    assert made.totals.tolist() == [2, 2]
    assert made.notes == ("soft labels: 1 of 2 rows are not whole counts of raters; they are used as given",)
    assert repr(made).startswith("LabelCounts(n=2, k=2, raters 2 to 2")
    # every term needs frequencies and rater numbers only: 2 / (2 - 1) mu (1 - mu), both classes
    parts = cr.raters.decompose_loss([[0.8, 0.2], [0.6, 0.4]], made)
    assert parts.irreducible.value == pytest.approx((4 * 0.9 * 0.1 + 4 * 0.25) / 2)
    assert made.notes[0] in parts.notes
    assert float(cr.brier([[0.8, 0.2], [0.6, 0.4]], made)) == pytest.approx(parts.expected.value)


@pytest.mark.parametrize(
    ("frequencies", "raters", "words"),
    [
        ([[0.5, 0.6]], 2, r"rows must sum to 1 .*Divide counts by their sum"),
        ([[0.5, 0.5]], 0, "`n_raters` must be a positive whole number"),
        ([[0.5, 0.5]], 2.5, "`n_raters` must be a positive whole number.*their noise is unknown"),
        ([[0.5, 0.5]], [2, 3], r"or 1 of them; got \[2, 3\]"),
        ([[-0.5, 1.5]], 2, "must not be negative"),
        ([[1.0]], 2, "at least 2 classes"),
    ],
)
def test_wrong_soft_labels(frequencies, raters, words: str) -> None:
    with pytest.raises(cr.InputError, match=words):
        cr.LabelCounts.from_soft(frequencies, raters)


def test_fractional_counts_are_refused_unless_declared_soft() -> None:
    with pytest.raises(cr.InvalidRowsError, match=r"whole numbers; row 0 holds 0\.5.*from_soft"):
        cr.LabelCounts([[0.5, 1.5]])


def test_subsamples_are_draws_without_replacement(library: Library) -> None:
    counts = cr.LabelCounts(library.asarray([[3, 0, 2], [1, 1, 0]]))
    few = counts.subsample(4, rng=0)
    assert library.owns(few.counts)
    assert read(few.totals).tolist() == [4, 2]  # the second instance has no more
    assert (read(few.counts) <= read(counts.counts)).all()
    assert read(counts.subsample(4, rng=0).counts).tolist() == read(few.counts).tolist()
    assert read(counts.subsample(9, rng=0).counts).tolist() == read(counts.counts).tolist()


def test_subsamples_have_the_hypergeometric_law() -> None:
    # 2 of (3, 1, 2): P(counts) = C(3, a) C(1, b) C(2, c) / C(6, 2), 15 choices
    many = cr.LabelCounts(np.tile([3, 1, 2], (6000, 1))).subsample(2, rng=1).counts
    law = {(2, 0, 0): 3, (1, 1, 0): 3, (1, 0, 1): 6, (0, 1, 1): 2, (0, 0, 2): 1}
    seen = [np.all(many == kind, axis=1).sum() for kind in law]
    assert sum(seen) == 6000
    assert scipy.stats.chisquare(seen, np.array(list(law.values())) * 400).pvalue > 1e-3


def test_one_rater_is_drawn_per_instance(library: Library) -> None:
    counts = cr.LabelCounts(library.asarray([[0, 4], [3, 0], [1, 1]]))
    labels = counts.draw(rng=2)
    assert library.owns(labels)
    assert read(labels)[:2].tolist() == [1, 0]
    assert {int(read(counts.draw(rng=seed))[2]) for seed in range(20)} == {0, 1}


def test_soft_labels_have_no_single_raters() -> None:
    with pytest.raises(cr.InputTypeError, match="do not identify single raters to draw from"):
        cr.LabelCounts.from_soft([[0.9, 0.1]], 2).draw()
    with pytest.raises(cr.InputError, match="`n_raters` must be an integer of at least 1"):
        cr.LabelCounts([[1, 1]]).subsample(0)
