"""Sets and intervals with a claimed coverage: what they take, and what refuses them."""

from __future__ import annotations

import numpy as np
import pytest

import credibly as cr
from credibly.predictions import PredictionIntervals, as_labels
from credibly.statistics import registered
from libraries import Library, read

SETS = np.array([[1, 0, 0], [1, 1, 0], [0, 0, 0], [1, 1, 1]], dtype=bool)


def test_sets_hold_what_is_in_them() -> None:
    sets = cr.PredictionSets(SETS, 0.9)
    values = sets.covers(as_labels(sets, [0, 2, 1, 2]))  # type: ignore[arg-type]
    assert values.tolist() == [[True, False, False, True]]
    assert sets.sizes().tolist() == [1.0, 2.0, 0.0, 3.0]
    assert repr(sets) == "PredictionSets(n=4, k=3, claimed=0.9, dtype=bool)"
    assert sets[[1, 3]].sizes().tolist() == [2.0, 3.0]
    assert sets[1:].claimed == 0.9
    counted = cr.PredictionSets(SETS.astype(int), 0.9)
    assert counted.members.dtype == np.bool_
    assert (counted.members == SETS).all()


def test_intervals_hold_their_ends() -> None:
    ends = PredictionIntervals([0.0, 0.0, -np.inf], [1.0, 1.0, np.inf], 0.8)
    labels = as_labels(ends, [1.0, 1.5, 99.0])
    assert ends.covers(labels).tolist() == [[True, False, True]]  # type: ignore[arg-type]
    assert ends.beyond(labels).tolist() == [[0.0, 0.5, 0.0]]  # type: ignore[arg-type]
    assert ends.sizes().tolist() == [1.0, 1.0, np.inf]
    coverage = cr.hypotests.set_coverage(ends, [1.0, 1.5, 99.0], n_resamples=9, rng=0)
    assert coverage.size.value == np.inf
    with pytest.raises(cr.UnsupportedError, match="1 of 3 are infinite"):
        coverage.size.interval()


def test_names_of_classes_are_matched() -> None:
    named = cr.PredictionSets(SETS, 0.5)
    evaluation = cr.evaluate(
        named, ["b", "a", "b", "b"], classes=["a", "b", "c"], tests=False
    )  # a, then a and b, none, all
    assert evaluation["set_coverage"].value == 0.5
    assert evaluation.classes == ("a", "b", "c")


@pytest.mark.parametrize("claimed", [0, 1, 1.5, True, None, "0.9"])
def test_a_claim_is_a_probability(claimed: object) -> None:
    with pytest.raises(cr.InputError, match="`claimed` must lie strictly between 0 and 1"):
        cr.PredictionSets(SETS, claimed)  # type: ignore[arg-type]


def test_numbers_that_are_0_and_1_are_booleans_whatever_their_type(library: Library) -> None:
    sets = cr.PredictionSets(library.asarray([[1.0, 0.0], [1.0, 1.0]]), 0.9)
    assert read(sets.members).tolist() == [[True, False], [True, True]]


def test_bad_rows_are_named() -> None:
    with pytest.raises(cr.InvalidRowsError, match="must be booleans, or 0 and 1; row 1 holds 2"):
        cr.PredictionSets([[0, 1], [2, 0]], 0.9)
    with pytest.raises(cr.InvalidRowsError, match=r"row 0 holds 0\.5 .*for probabilities use `Point`"):
        cr.PredictionSets([[0.5, 0.5]], 0.9)
    for low, high in ((1.0, 0.0), (np.nan, 1.0), (np.inf, np.inf), (-np.inf, -np.inf)):
        with pytest.raises(
            cr.InvalidRowsError, match="must be below infinity and not exceed `upper`"
        ) as error:
            PredictionIntervals([0.0, low], [1.0, high], 0.9)
        assert error.value.rows == [1]


@pytest.mark.parametrize("name", registered())
def test_no_statistic_takes_them(name: str) -> None:
    with pytest.raises(cr.InputTypeError, match="state no probabilities: use `evaluate`"):
        registered()[name](cr.PredictionSets(SETS, 0.9), [0, 1, 2, 0])
    with pytest.raises(cr.InputTypeError, match="state no probabilities: use `evaluate`"):
        registered()[name](PredictionIntervals([0.0], [1.0], 0.9), [0.5])


@pytest.mark.parametrize(
    "function",
    [cr.calibration_test, cr.predictive_check, cr.pit_test, cr.coverage_curve, cr.recalibration_report],
)
def test_tests_refuse_them(function: object) -> None:
    with pytest.raises(cr.CrediblyError, match="state no probabilities"):
        function(cr.PredictionSets(SETS, 0.9), [0, 1, 2, 0])  # type: ignore[operator]
    with pytest.raises(cr.CrediblyError, match="state no probabilities"):
        cr.audit(cr.PredictionSets(SETS, 0.9), [0, 1, 2, 0], groups=list("aabb"))


def test_tensors_stay_tensors() -> None:
    torch = pytest.importorskip("torch")
    sets = cr.PredictionSets(torch.tensor(SETS), 0.9)
    assert sets.sizes().tolist() == [1.0, 2.0, 0.0, 3.0]
    coverage = cr.hypotests.set_coverage(sets, torch.tensor([0, 2, 1, 2]), n_resamples=99, rng=0)
    other = cr.hypotests.set_coverage(cr.PredictionSets(SETS, 0.9), [0, 2, 1, 2], n_resamples=99, rng=0)
    assert coverage.to_dict() == other.to_dict()
