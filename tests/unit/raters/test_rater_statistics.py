"""Symmetric statistics of a few raters against enumeration over choices of raters."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import credibly as cr
from libraries import Library, read
from raters import probability, sets


def distinct(labels: tuple[int, ...]) -> int:
    """How many different labels were given, less one."""
    return len(set(labels)) - 1


def majority_of_zero(labels: tuple[int, ...]) -> bool:
    return 2 * labels.count(0) > len(labels)


def observed(counts: np.ndarray, order: int, function, value: int) -> list[float]:
    """Mean over all choices of raters."""
    found = []
    for row in counts:
        labels = np.repeat(np.arange(len(row)), row).tolist()
        found.append(np.mean([function(chosen) == value for chosen in itertools.combinations(labels, order)]))
    return found


@pytest.mark.parametrize("order", [2, 3, 4])
def test_observed_frequencies_by_enumeration(order: int) -> None:
    counts = np.random.default_rng(0).multinomial([4, 5, 6, 4, 7], [0.4, 0.3, 0.2, 0.1])
    totals = counts.sum(axis=1, keepdims=True).astype(float)
    binary = cr.raters.rater_statistic(majority_of_zero, order=order).bind(4)
    assert binary.observed(counts, totals)[:, 0] == pytest.approx(
        observed(counts, order, majority_of_zero, True), abs=1e-13
    )
    several = cr.raters.rater_statistic(distinct, order=order, n_values=order).bind(4)
    found = several.observed(counts, totals)
    columns = [1] if order == 2 else range(order)
    for place, value in enumerate(columns):
        assert found[:, place] == pytest.approx(observed(counts, order, distinct, value), abs=1e-13)


@pytest.mark.parametrize("order", [2, 3])
@pytest.mark.parametrize("kind", ["point", "ensemble", "weighted", "dirichlet", "dirichlets"])
def test_expected_frequencies_by_enumeration(kind: str, order: int) -> None:
    predictions = sets()[kind]
    for function, n_values in ((majority_of_zero, 2), (distinct, max(order, 2))):
        bound = cr.raters.rater_statistic(function, order=order, n_values=n_values).bind(3)
        found = bound.expected(predictions)
        columns = [1] if n_values == 2 else range(n_values)
        for row in range(2):
            for place, value in enumerate(columns):
                slow = sum(
                    probability(predictions, row, labels)
                    for labels in itertools.product(range(3), repeat=order)
                    if function(labels) == value
                )
                assert found[row, place] == pytest.approx(slow, abs=1e-13)


def test_the_pair_statistic_is_the_disagreement() -> None:
    rng = np.random.default_rng(1)
    probs = rng.dirichlet(np.ones(3), size=30)
    counts = cr.LabelCounts(rng.multinomial(4, probs))
    differ = cr.raters.rater_statistic(lambda labels: labels[0] != labels[1], order=2, name="differ")
    parts = cr.raters.decompose_disagreement(probs, counts, statistic=differ)
    known = cr.raters.decompose_disagreement(probs, counts)
    for name in ("expected", "calibration", "refinement", "predicted", "observed"):
        assert getattr(parts, name).value == pytest.approx(getattr(known, name).value, abs=1e-13)
        assert getattr(parts, name).stderr == pytest.approx(getattr(known, name).stderr)
    assert parts.name == "differ"
    assert parts.per_class is None
    assert parts.class_average is None


def test_a_statistic_with_several_values_has_one_column_each() -> None:
    rng = np.random.default_rng(2)
    probs = rng.dirichlet(np.ones(3), size=30)
    counts = cr.LabelCounts(rng.multinomial(5, probs))
    parts = cr.raters.decompose_disagreement(
        probs, counts, statistic=cr.raters.rater_statistic(distinct, order=3, n_values=3)
    )
    assert parts.per_class_observed.value.sum() == pytest.approx(1)
    assert parts.per_class_predicted.value.sum() == pytest.approx(1)
    assert parts.per_class.expected.value.sum() == pytest.approx(parts.expected.value)
    assert parts.settings["order"] == 3


def test_rows_with_too_few_raters_are_left_out() -> None:
    statistic = cr.raters.rater_statistic(distinct, order=3, n_values=3)
    probs, counts = [[0.5, 0.5]] * 3, cr.LabelCounts([[2, 0], [1, 2], [2, 2]])
    with pytest.warns(UserWarning, match="1 of 3 row has fewer than 3 raters"):
        parts = cr.raters.decompose_disagreement(probs, counts, statistic=statistic)
    assert (parts.n, parts.n_left_out, parts.raters) == (2, 1, (3.0, 4.0))
    with pytest.raises(cr.UnsupportedError, match=r"at least 3 raters.*Use a statistic of fewer raters"):
        cr.raters.decompose_disagreement([[0.5, 0.5]], cr.LabelCounts([[1, 1]]), statistic=statistic)


def test_libraries_agree(library: Library) -> None:
    counts = np.random.default_rng(0).multinomial([4, 5, 6], [0.5, 0.3, 0.2])
    totals = counts.sum(axis=1, keepdims=True).astype(float)
    for order in (2, 3):
        bound = cr.raters.rater_statistic(distinct, order=order, n_values=3).bind(3)
        there = bound.observed(library.asarray(counts), library.asarray(totals))
        assert library.owns(there)
        assert read(there) == pytest.approx(bound.observed(counts, totals), abs=1e-13)


def test_what_takes_long_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    from credibly.raters import rater_statistics

    probs, counts = [[0.5, 0.5]] * 4, cr.LabelCounts([[2, 2]] * 4)
    statistic = cr.raters.rater_statistic(distinct, order=3)
    monkeypatch.setattr(rater_statistics, "_COSTLY", 10)
    with pytest.warns(UserWarning, match=r"4 multisets of 2 labels .* for each of 4 instances"):
        parts = cr.raters.decompose_disagreement(probs, counts, statistic=statistic)
    assert any("multisets" in note for note in parts.notes)
    # pairs are quadratic forms and cost nothing of the kind
    cr.raters.decompose_disagreement(probs, counts, statistic=cr.raters.rater_statistic(distinct, order=2))


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: cr.raters.rater_statistic(3, order=2), cr.InputTypeError, "`function` must be callable"),
        (
            lambda: cr.raters.rater_statistic(distinct, order=1),
            cr.InputError,
            "`order` must be an integer of at",
        ),
        (
            lambda: cr.raters.rater_statistic(distinct, order=2, n_values=1),
            cr.InputError,
            "`n_values` must be",
        ),
        (
            lambda: (
                cr.raters.rater_statistic(lambda labels: labels[0] == 0, order=2, name="first").bind(2).values
            ),
            cr.InputError,
            r"`first` must not depend on the order of the raters; labels \(0, 1\) give 1 and \(1, 0\) give 0",
        ),
        (
            lambda: cr.raters.rater_statistic(distinct, order=3).bind(3).values,
            cr.InputError,
            r"`distinct` must return a whole number from 0 to 1; labels \(0, 1, 2\) give 2\. Pass `n_values`",
        ),
        (
            lambda: cr.raters.rater_statistic(lambda labels: 0.5, order=2, name="half").bind(2).values,
            cr.InputError,
            r"labels \(0, 0\) give 0\.5",
        ),
    ],
)
def test_refused(make, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        make()


def test_a_plain_function_is_refused_with_the_way_to_wrap_it() -> None:
    with pytest.raises(cr.InputTypeError, match=r"Create one: `rater_statistic\(function, order=3\)`"):
        cr.raters.decompose_disagreement([[0.5, 0.5]], cr.LabelCounts([[1, 1]]), statistic=distinct)


def test_high_orders_are_checked_for_symmetry_by_samples_of_orders() -> None:
    def starts_high(labels: tuple[int, ...]) -> bool:
        return labels[0] == 1

    with pytest.raises(cr.InputError, match="must not depend on the order"):
        _ = cr.raters.rater_statistic(starts_high, order=9).bind(2).values
