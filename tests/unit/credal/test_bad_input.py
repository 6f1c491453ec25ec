"""Bad predictions and labels to every credal function: one of the library's own errors, never NumPy's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import credibly as cr
from unit.test_bad_input import BAD_LABELS, BAD_PREDICTIONS, LABELS, MEMBERS, PROBS

FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "lower_probability": cr.credal.lower_probability,
    "upper_probability": lambda p: cr.credal.upper_probability(p, {0}),
    "mass_function": cr.credal.mass_function,
    "focal_budget": lambda p: cr.credal.focal_budget(p, 3),
    "nonspecificity": cr.credal.nonspecificity,
    "upper_entropy": cr.credal.upper_entropy,
    "lower_entropy": cr.credal.lower_entropy,
    "size": cr.credal.size,
    "uncertainty": cr.uncertainty,
    "as_set": cr.credal.as_set,
    "vertices": cr.credal.vertices,
    "contains": lambda p: cr.credal.contains(p, PROBS),
    "boundary": lambda p: cr.credal.boundary(p, LABELS),
    "decision": cr.credal.decision,
    "distance": lambda p: cr.credal.distance(p, LABELS),
    "soft targets": lambda p: cr.credal.distance(p, PROBS),
}
# What is wrong only beside labels is no mistake here: a transposed square.
ONLY_BESIDE_LABELS = {"transposed"}


# The rules have a test each in unit/test_bad_input.py; here is shown that every function asks for them.
@pytest.mark.parametrize("name", FUNCTIONS)
def test_bad_predictions(name: str) -> None:
    for case in sorted(set(BAD_PREDICTIONS) - ONLY_BESIDE_LABELS):
        predictions, _ = BAD_PREDICTIONS[case]
        with pytest.raises(cr.CrediblyError) as caught:
            FUNCTIONS[name](predictions)
        error = caught.value
        assert all([error.subject, error.rule, error.evidence, error.remedy]), case


# Rows of probabilities are soft targets here.
@pytest.mark.parametrize("case", sorted(set(BAD_LABELS) - {"predictions"}))
def test_bad_labels(case: str) -> None:
    labels, _ = BAD_LABELS[case]
    with pytest.raises(cr.CrediblyError):
        cr.credal.distance(PROBS, labels)
    with pytest.raises(cr.CrediblyError):
        cr.credal.boundary(PROBS, labels)


def test_soft_labels_are_what_they_look_like() -> None:
    onehot = np.eye(2)[LABELS]
    expected = cr.credal.distance(MEMBERS, LABELS)
    assert cr.credal.distance(MEMBERS, onehot) == pytest.approx(expected)
    assert cr.credal.distance(MEMBERS, onehot.tolist()) == pytest.approx(expected)
    assert cr.credal.distance(MEMBERS, cr.Point(onehot)) == pytest.approx(expected)
    assert cr.credal.distance(MEMBERS, cr.LabelCounts(onehot.astype(int))) == pytest.approx(expected)


def test_mixed_libraries() -> None:
    torch = pytest.importorskip("torch", reason="needs the torch extra")
    tensor = torch.tensor(PROBS)
    for call in (cr.credal.distance, cr.credal.contains, cr.credal.boundary):
        with pytest.raises(cr.InputTypeError, match="must come from one array library; got numpy and torch"):
            call(tensor, PROBS)


@pytest.mark.parametrize("rng", [-1, "seed", 0.5])
def test_bad_seeds(rng: object) -> None:
    with pytest.raises(cr.InputTypeError, match="`rng` must be None, a non-negative int"):
        cr.credal.nonspecificity(MEMBERS, rng=rng)
    with pytest.raises(cr.InputTypeError, match="`rng`"):
        cr.credal.upper_entropy(cr.Dirichlet([[2.0, 3.0]]), rng=rng)


@pytest.mark.parametrize("n", [0, -1, 1.5, True, "2"])
def test_bad_numbers_of_draws(n: object) -> None:
    with pytest.raises(cr.CrediblyError):
        cr.credal.as_set(cr.Dirichlet([[2.0, 3.0]]), n_samples=n)


@pytest.mark.parametrize("value", [0, -1.0, np.nan, np.inf, "1", None, True])
def test_bad_positive_numbers(value: object) -> None:
    for call in (
        lambda: cr.credal.upper_entropy(MEMBERS, tolerance=value),
        lambda: cr.credal.lower_entropy(MEMBERS, tolerance=value),
        lambda: cr.credal.distance(MEMBERS, LABELS, tolerance=value),
        lambda: cr.credal.contains(MEMBERS, PROBS, tolerance=value),
        lambda: cr.uncertainty(MEMBERS, decomposition="credal", tolerance=value),
    ):
        with pytest.raises(cr.InputError, match="must be a positive number"):
            call()


@pytest.mark.parametrize("value", [1.5, "64", True])
def test_bad_whole_numbers(value: object) -> None:
    for call in (
        lambda: cr.credal.nonspecificity(MEMBERS, n_events=value),
        lambda: cr.credal.focal_budget(MEMBERS, value),
    ):
        with pytest.raises(cr.InputError, match="must be an integer"):
            call()


@pytest.mark.parametrize("budget", [[], [set()], [{0}, {0}], [{5}], [{-1}]])
def test_bad_budgets(budget: list) -> None:
    with pytest.raises(cr.InputError, match="`focal_sets`"):
        cr.credal.mass_function(MEMBERS, budget=budget)
