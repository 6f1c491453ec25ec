"""Random functions: the covariance of paths, their scale, the degree of polynomials."""

from __future__ import annotations

import numpy as np
import pytest

from credibly_studies.simulate.functions import (
    gaussian_process_features,
    gaussian_process_paths,
    polynomial_paths,
    polynomial_weights,
)

RANGE = (0.0, 5.0)


@pytest.mark.parametrize("length_scale", [0.05, 0.7, 4.0, 100.0])
def test_covariance_is_the_kernel(length_scale: float) -> None:
    x = np.random.default_rng(1).uniform(*RANGE, size=80)
    features = gaussian_process_features(x, RANGE, length_scale)
    kernel = np.exp(-0.5 * ((x[:, None] - x[None, :]) / length_scale) ** 2)
    np.testing.assert_allclose(features @ features.T, kernel, atol=1e-6)


@pytest.mark.parametrize("length_scale", [0.2, 1.5])
def test_paths_fill_the_unit_interval(length_scale: float) -> None:
    x = np.linspace(*RANGE, 3000)
    paths = gaussian_process_paths(x, 6, RANGE, length_scale, np.random.default_rng(2))
    np.testing.assert_allclose(paths.min(axis=0), 0.0, atol=1e-4)
    np.testing.assert_allclose(paths.max(axis=0), 1.0, atol=1e-4)
    # a path turns about every length scale: mean number of turning points is sqrt(3) / (pi length) per unit
    turns = (np.diff(np.sign(np.diff(paths, axis=0)), axis=0) != 0).sum(axis=0).mean()
    expected = 5 * np.sqrt(3) / (np.pi * length_scale)
    assert 0.5 * expected < turns < 2 * expected


def test_a_path_does_not_depend_on_other_instances() -> None:
    x = np.linspace(*RANGE, 50)
    both = gaussian_process_paths(x, 1, RANGE, 0.7, np.random.default_rng(3))
    few = gaussian_process_paths(x[:5], 1, RANGE, 0.7, np.random.default_rng(3))
    np.testing.assert_allclose(both[:5], few, atol=1e-9)


@pytest.mark.parametrize("degree", [1, 2, 3])
def test_degree_of_polynomials(degree: int) -> None:
    x = np.linspace(*RANGE, 60)
    paths = polynomial_paths(x, 4, RANGE, degree, np.random.default_rng(4))
    np.testing.assert_allclose(np.diff(paths, n=degree + 1, axis=0), 0.0, atol=1e-9)
    assert np.abs(np.diff(paths, n=degree, axis=0)).max() > 1e-6
    assert paths.min() >= 0
    assert paths.max() <= 1


def test_weights() -> None:
    x = np.linspace(*RANGE, 500)
    generator = np.random.default_rng(5)
    np.testing.assert_array_equal(polynomial_weights(x, 1, RANGE, 2, 5.0, generator), np.ones((500, 1)))
    two = polynomial_weights(x, 2, RANGE, 2, 5.0, generator)
    np.testing.assert_allclose(np.diff(two, n=3, axis=0), 0.0, atol=1e-9)  # the weight itself is a polynomial
    assert two.min() < 0.01
    assert two.max() > 0.99
    many = polynomial_weights(x, 7, RANGE, 2, 5.0, generator)
    scores = np.log(many)
    np.testing.assert_allclose(np.diff(scores - scores[:, :1], n=3, axis=0), 0.0, atol=1e-9)
    np.testing.assert_allclose(many.sum(axis=1), 1.0)
