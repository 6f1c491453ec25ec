"""Hulls with classes of very different size: rays against exact arithmetic, and membership.

Dirichlet members with tiny parameters: in one instance some classes are near 0.5, others at 1e-9 or 1e-90.
"""

from __future__ import annotations

import numpy as np
import pytest

import credibly as cr
from unit.credal.exact import ray_length

SHAPES = [
    (5, 10, 0.5),
    (5, 10, 0.05),
    (10, 10, 0.1),
    (10, 10, 0.02),
    (3, 8, 0.03),
    (10, 14, 0.05),
    (6, 4, 0.2),
]


def ensemble(k: int, m: int, concentration: float, spread: float) -> cr.Ensemble:
    mean = cr.Dirichlet(np.full((60, k), concentration)).sample(1, rng=1).probs[:, 0]
    return cr.Dirichlet(np.maximum(k * mean / spread, 1e-290)).sample(m, rng=2)


@pytest.mark.parametrize("spread", [0.01, 0.5, 5.0])
@pytest.mark.parametrize(("k", "m", "concentration"), SHAPES)
def test_rays_to_corners_are_exact(k: int, m: int, concentration: float, spread: float) -> None:
    predictions = ensemble(k, m, concentration, spread)
    corners = np.random.default_rng(3).integers(0, k, size=60)
    points, found = cr.credal.boundary(predictions, corners, return_fraction=True)
    np.testing.assert_allclose(points.sum(axis=1), 1.0, atol=1e-9)
    members = predictions.probs / predictions.probs.sum(axis=2, keepdims=True)
    for row in range(0, 60, 6):
        start = members[row].mean(axis=0)
        start /= start.sum()
        direction = np.eye(k)[corners[row]] - start
        if direction.any() and m >= k:  # a flat hull ends a ray by how far out of its plane is too far
            assert found[row] == pytest.approx(ray_length(members[row], start, direction), abs=1e-8)
    assert cr.credal.contains(predictions, points / points.sum(axis=1, keepdims=True)).all()


@pytest.mark.parametrize("spread", [0.01, 0.5, 5.0])
@pytest.mark.parametrize(("k", "m", "concentration"), SHAPES)
def test_mixtures_of_members_are_inside(k: int, m: int, concentration: float, spread: float) -> None:
    predictions = ensemble(k, m, concentration, spread)
    for seed in range(3):
        weights = np.random.default_rng(seed).dirichlet(np.ones(m))
        mixture = cr.Ensemble(predictions.probs, weights=weights, member_axis=1).mean()
        assert cr.credal.contains(predictions, mixture).all()


def test_a_class_of_one_in_ten_billion() -> None:
    """Class 2 has 1e-10 in one member. Towards class 4 a ray once came back negative, with a sum of 1.16."""
    members = np.array(
        [
            [2.27960752e-01, 9.54479955e-02, 1.23775936e-107, 4.57088106e-01, 2.19503147e-01],
            [1.50329644e-01, 1.03734189e-01, 1.90541830e-13, 5.93220415e-01, 1.52715752e-01],
            [1.34718677e-01, 6.03724071e-01, 1.13037957e-10, 2.02341573e-01, 5.92156798e-02],
            [2.22873689e-01, 5.58917539e-02, 9.86236002e-40, 1.08249556e-01, 6.12985001e-01],
            [1.10399096e-01, 5.55451798e-02, 8.18008217e-75, 6.70678843e-01, 1.63376882e-01],
            [8.36928805e-02, 4.36776201e-02, 9.18902055e-31, 3.86542644e-01, 4.86086855e-01],
            [4.65593023e-02, 1.88059523e-01, 3.31432194e-39, 5.02894677e-01, 2.62486498e-01],
            [5.05930838e-02, 4.86289985e-02, 3.07333124e-24, 5.36497293e-01, 3.64280625e-01],
            [2.74966857e-01, 3.01763452e-02, 9.89577673e-53, 5.95731119e-01, 9.91256781e-02],
            [1.07099723e-01, 8.22821728e-02, 9.58871191e-45, 5.14848082e-01, 2.95770022e-01],
        ]
    )
    many = np.repeat(members[None], 5, axis=0)
    points, found = cr.credal.boundary(cr.Ensemble(many, member_axis=1), np.arange(5), return_fraction=True)
    np.testing.assert_allclose(points.sum(axis=1), 1.0, atol=1e-9)
    # HiGHS: 0.11658668, 0.29221507, 0, 0.31813400, 0.26031850
    np.testing.assert_allclose(found, [0.11658668, 0.29221507, 0.0, 0.318134, 0.2603185], atol=1e-7)
