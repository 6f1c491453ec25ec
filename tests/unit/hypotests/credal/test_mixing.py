"""Batched L-BFGS against scipy, problem by problem."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.optimize

from credibly.learners import mixing
from credibly.learners.minimisation import minimise_batch
from credibly.learners.mixing import Columns, fit_weights
from libraries import Library, read


def _logistic(design: np.ndarray, signs: np.ndarray, penalty: float):
    """Penalised logistic losses, one per row of signs, with their gradients."""

    def objective(weights, rows):
        own = signs if rows is None else signs[rows]
        margins = own * (weights @ design.T)
        value = np.logaddexp(0.0, -margins).sum(axis=1) + 0.5 * penalty * (weights**2).sum(axis=1)
        slope = -(own / (1 + np.exp(margins))) @ design + penalty * weights
        return value, slope

    return objective


def test_equals_scipy_on_every_problem() -> None:
    rng = np.random.default_rng(0)
    design, signs = rng.normal(size=(50, 6)), rng.choice([-1.0, 1.0], size=(7, 50))
    objective = _logistic(design, signs, 0.1)
    optimum = minimise_batch(objective, np.zeros((7, 6)), tolerance=1e-8, max_steps=500)
    assert optimum.converged.all()
    for at in range(7):
        alone = _logistic(design, signs[at : at + 1], 0.1)
        wanted = scipy.optimize.minimize(
            lambda w, alone=alone: float(alone(w[None], None)[0][0]), np.zeros(6), method="BFGS", tol=1e-8
        )
        np.testing.assert_allclose(optimum.at[at], wanted.x, atol=1e-5)
        assert optimum.value[at] == pytest.approx(wanted.fun, abs=1e-9)


def test_a_problem_does_not_feel_the_others(library: Library) -> None:
    scales = np.array([[1.0, 100.0], [1e-3, 1.0], [5.0, 5.0]])
    goals = np.array([[1.0, 2.0], [-3.0, 0.5], [0.0, 4.0]])

    def objective_of(rows: list[int]):
        scale, goal = library.asarray(scales[rows]), library.asarray(goals[rows])

        def objective(at, some):
            slopes, goals_of = (scale, goal) if some is None else (scale[some], goal[some])
            gap = at - goals_of
            return library.xp.sum(0.5 * slopes * gap * gap, axis=1), slopes * gap

        return objective

    zeros = library.asarray(np.zeros((3, 2)))
    together = minimise_batch(objective_of([0, 1, 2]), zeros, tolerance=1e-9, max_steps=300)
    np.testing.assert_allclose(read(together.at), goals, atol=1e-5)
    for row in range(3):
        alone = minimise_batch(objective_of([row]), zeros[:1, :], tolerance=1e-9, max_steps=300)
        np.testing.assert_allclose(read(alone.at)[0], read(together.at)[row], atol=1e-12)


def test_steps_are_limited_and_reported() -> None:
    objective = _logistic(np.random.default_rng(1).normal(size=(30, 4)), np.ones((2, 30)), 1e-3)
    optimum = minimise_batch(objective, np.zeros((2, 4)), tolerance=1e-12, max_steps=2)
    assert optimum.steps == 2
    assert not optimum.converged.any()


@pytest.mark.parametrize("in_cache", [None, 80])
@pytest.mark.parametrize("shared", ["ones", "features"])
def test_label_vectors_are_learned_from_as_if_alone(shared, in_cache, monkeypatch) -> None:
    """Problems end after different numbers of steps; rows, labels and penalties must stay together."""
    if in_cache is not None:  # one or two problems are evaluated at a time
        monkeypatch.setattr(mixing, "CACHE_ELEMENTS", in_cache)
    rng = np.random.default_rng(2)
    points = rng.dirichlet(np.ones(3), size=(40, 4))
    columns = np.ones((40, 1)) if shared == "ones" else np.stack([np.ones(40), rng.normal(size=40)], axis=1)
    made = Columns(columns, 4)
    labels = np.stack([np.full(40, 0), *rng.integers(0, 3, size=(5, 40)), np.arange(40) % 2])
    counted = (rng.random((7, 40)) < 0.8).astype(float)
    penalty = np.broadcast_to([[0.01], [30.0], [0.3], [3.0], [1e-3], [1.0], [0.1]], (7, made.n_parameters))
    together = fit_weights(made, points, labels, penalty, counted=counted).parameters
    for row in range(7):
        rows = slice(row, row + 1)
        alone = fit_weights(made, points, labels[rows], penalty[rows], counted=counted[rows]).parameters
        np.testing.assert_allclose(together[rows], alone, rtol=1e-9, atol=1e-9)
