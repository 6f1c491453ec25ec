"""Errors over the triangle: local errors against the KDE's own formula, weights against single calls."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import dirichlet

import credibly as cr
import kernel_oracles as oracle
from credibly_studies.simplex_maps import error_over_simplex, error_over_weights, lattice
from optional import torch


def test_lattice() -> None:
    points = lattice(4)
    assert points.shape == (15, 3)  # 5 + 4 + 3 + 2 + 1
    assert (points.sum(axis=1) == 1).all()
    assert (lattice(4, inner=True) > 0).all()
    np.testing.assert_allclose(lattice(4, inner=True).sum(axis=1), 1)


def test_local_error_by_a_loop() -> None:
    probs, labels = oracle.example(25, 3)
    lowest = error_over_simplex(probs, labels, bandwidth=0.1, n_steps=5)
    for point, value, support in zip(lowest.points, lowest.values, lowest.support, strict=True):
        density = np.array([dirichlet.pdf(point, row / 0.1 + 1) for row in probs])
        weights = density / density.sum()
        estimate = weights @ np.eye(3)[labels]
        assert value == pytest.approx(np.linalg.norm(estimate - point), rel=1e-9)
        assert support == pytest.approx(1 / np.sum(weights**2), rel=1e-9)


def test_local_error_is_large_where_labels_are_wrong() -> None:
    rng = np.random.default_rng(0)
    probs = rng.dirichlet(np.ones(3), size=2000)
    labels = oracle.drawn(probs, rng)
    labels[probs[:, 0] > 0.6] = 1  # sure of class 0, and wrong
    lowest = error_over_simplex(probs, labels, bandwidth=0.05, n_steps=12)
    worst = lowest.points[int(np.argmax(lowest.values))]
    assert worst[0] > 0.6


def test_weights_map_is_the_statistic_of_every_mean() -> None:
    members = np.random.default_rng(1).dirichlet(np.ones(4), size=(30, 3))
    labels = members[:, 2].argmax(axis=1)
    for name in ("skce", "kde_ce", "brier"):
        lowest = error_over_weights(members, labels, statistic=name, n_steps=3)
        settled = cr.statistics.registered()[name].bind(members.mean(axis=1)).statistic
        expected = [float(settled(np.einsum("m,nmk->nk", w, members), labels)) for w in lowest.points]
        np.testing.assert_allclose(lowest.values, expected, rtol=1e-9)
    assert lowest.smallest.tolist() == [0, 0, 1]  # member 2 wrote the labels


def test_maps_from_torch() -> None:
    probs, labels = oracle.example(20, 3)
    first = error_over_simplex(probs, labels, n_steps=4)
    second = error_over_simplex(torch.tensor(probs), torch.tensor(labels), n_steps=4)
    np.testing.assert_allclose(second.values, first.values, rtol=1e-12)
    members = np.stack([probs, probs[::-1], probs[:, ::-1]], axis=1)
    third = error_over_weights(members, labels, n_steps=2)
    fourth = error_over_weights(torch.tensor(members), torch.tensor(labels), n_steps=2)
    np.testing.assert_allclose(fourth.values, third.values, rtol=1e-10)
    assert third.to_dict()["type"] == "SimplexMap"


def test_what_a_triangle_cannot_show() -> None:
    probs, labels = oracle.example(10, 4)
    with pytest.raises(cr.InputError, match="a map over the simplex needs three classes; got 4"):
        error_over_simplex(probs, labels)
    with pytest.raises(cr.InputTypeError, match="a map over weights needs an ensemble of three members"):
        error_over_weights(probs, labels)
    with pytest.raises(cr.InputError, match="`n_steps` must be an integer of at least 1"):
        error_over_weights(np.stack([probs] * 3, axis=1), labels, n_steps=0)
