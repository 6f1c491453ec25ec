"""Predictions of real numbers: Gaussians, samples and quantiles."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given

import credibly as cr
import strategies
from libraries import read


def test_real_predictions_keep_their_arrays(library):
    mean, std = library.asarray([0.0, 1.0]), library.asarray([1.0, 2.0])
    gaussian = cr.Gaussian(mean, std)
    assert gaussian.mean is mean
    assert gaussian.std is std
    values = library.asarray([[1.0, 2.0], [0.0, 0.0]])
    assert cr.Samples(values, member_axis=1).values is values
    quantiles = cr.Quantiles(values, [0.1, 0.9])
    assert quantiles.values is values
    assert library.owns(quantiles.levels)
    assert read(quantiles.levels).tolist() == [0.1, 0.9]


def test_members():
    assert cr.Gaussian(np.zeros((4, 3)), np.ones((4, 3))).n_members == 3
    assert cr.Samples(np.zeros((4, 3, 10))).n_members == 3
    assert repr(cr.Samples(np.zeros((4, 3, 10)))) == "Samples(n=4, m=3, s=10, dtype=float64)"


@given(strategies.real_predictions())
def test_real_predictions_have_no_classes(given_one):
    assert not hasattr(given_one, "n_classes")
    with pytest.raises(cr.InputTypeError, match=f"needs class probabilities; got {type(given_one).__name__}"):
        cr.brier(given_one, np.zeros(len(given_one), dtype=int))


@pytest.mark.parametrize(
    ("mean", "std", "words"),
    [
        ([0.0, 1.0], [1.0], r"`mean` and `std` must have the same shape; got \(2,\) and \(1,\)"),
        ([0.0], [0.0], "`std` must be positive; row 0 holds 0"),
        ([0.0, 0.0], [1.0, -1.0], "`std` must be positive; row 1 holds -1"),
        ([math.nan], [1.0], "`mean` must be finite; row 0 holds nan"),
        ([0.0], [math.inf], "`std` must be finite"),
        (0.0, 1.0, r"`mean` must have shape \(n,\) or \(n, m\)"),
        ([], [], "at least one instance"),
        ([[[0.0]]], [[[1.0]]], r"must have shape \(n,\) or \(n, m\); got shape \(1, 1, 1\)"),
    ],
)
def test_wrong_gaussians(library, mean, std, words):
    with pytest.raises(cr.InputError, match=words):
        cr.Gaussian(library.asarray(mean, "float64"), library.asarray(std, "float64"))


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ([1.0, 2.0], r"`values` must have shape \(n, s\) or \(n, m, s\)"),
        ([[math.inf]], "must be finite"),
        (np.empty((2, 0)), r"got shape \(2, 0\)"),
    ],
)
def test_wrong_samples(library, values, words):
    with pytest.raises(cr.InputError, match=words):
        cr.Samples(library.asarray(values))


@pytest.mark.parametrize(
    ("values", "levels", "words"),
    [
        ([[1.0, 2.0]], [0.9, 0.1], "`levels` must be 2 strictly increasing numbers between 0 and 1.*Sort"),
        ([[1.0, 2.0]], [0.5, 0.5], "strictly increasing"),
        ([[1.0, 2.0]], [0.0, 0.5], "between 0 and 1; got 2 numbers from 0 to 0.5"),
        ([[1.0, 2.0]], [10, 90], r"got 2 numbers from 10 to 90\. Write 0\.9 for 90 %"),
        ([[1.0, 2.0]], [0.5], "must be 2 strictly increasing numbers .* got 1 .* one level for every column"),
        ([[1.0, 2.0]], [math.nan, 0.5], "`levels` must be finite"),
        ([[1.0]], 0.5, r"`levels` must have shape \(q,\)"),
        ([[1.0, 2.0], [2.0, 1.5]], [0.1, 0.9], r"crossing quantiles.*row 1 falls by 0\.5 .*numpy\.sort"),
        ([[math.nan, 1.0]], [0.1, 0.9], "`values` must be finite"),
    ],
)
def test_wrong_quantiles(library, values, levels, words):
    with pytest.raises(cr.InputError, match=words):
        cr.Quantiles(library.asarray(values), levels)


def test_ties_between_quantiles_are_fine():
    assert len(cr.Quantiles([[1.0, 1.0]], [0.1, 0.9])) == 1


def test_two_libraries():
    torch = pytest.importorskip("torch", reason="needs the torch extra")
    with pytest.raises(cr.InputTypeError, match="`mean` and `std` must come from one array library"):
        cr.Gaussian([0.0], torch.ones(1))
    with pytest.raises(cr.InputTypeError, match="`values` and `levels` must come from one array library"):
        cr.Quantiles([[0.0]], torch.tensor([0.5]))


# Found by hostile trials: transposed arrays of as many draws or members as instances were taken as they came


def test_as_many_draws_or_members_as_instances_must_say_their_order() -> None:
    values = np.arange(16.0).reshape(4, 4)
    with pytest.raises(cr.InputError, match=r"as many draws as instances; got shape \(4, 4\)"):
        cr.Samples(values)
    with pytest.raises(
        cr.InputError, match=r"member_axis=0\)` for \(m, n, s\), or `member_axis=1` there for \(n, m, s\)"
    ):
        cr.Samples(values[:, :, None])
    with pytest.raises(cr.InputError, match=r"as many members as instances; got shape \(4, 4\)"):
        cr.Gaussian(values, values + 1.0)
    assert cr.Samples(values, member_axis=1).pooled()[0].tolist() == [0.0, 1.0, 2.0, 3.0]
    assert cr.Samples(values, member_axis=0).pooled()[0].tolist() == [0.0, 4.0, 8.0, 12.0]
    assert cr.Gaussian(values, values + 1.0, member_axis=0).mean[0].tolist() == [0.0, 4.0, 8.0, 12.0]
    assert cr.Samples(np.zeros((2, 5, 3)), member_axis=0).n_members == 2
    assert len(cr.Samples(values, member_axis=1)[:2]) == 2
    for member_axis in (2, "1"):
        with pytest.raises(cr.InputError, match="must be 0 or 1"):
            cr.Samples(np.zeros((2, 3)), member_axis=member_axis)
    with pytest.raises(cr.InputError, match="needs an axis of members"):
        cr.Gaussian([0.0], [1.0], member_axis=0)
