"""Models of a real number: their losses are densities, their quantiles are those of the density."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import credibly as cr
from credibly_studies.perceptrons import Training
from credibly_studies.regressors import (
    MODELS,
    QUANTILE_LEVELS,
    flow_loss,
    flow_quantiles,
    gaussian_loss,
    mean_and_std,
    ordered_quantiles,
    quantile_loss,
    standardised,
)

Y = np.linspace(-60, 60, 200_001)
STEP = Y[1] - Y[0]


def density(loss: object, outputs: list[float]) -> np.ndarray:
    """exp(-loss) / sqrt(2 pi): both losses leave out that constant."""
    given = torch.tensor(outputs, dtype=torch.float64).expand(len(Y), -1)
    return np.exp(-loss(given, torch.tensor(Y)).numpy()) / np.sqrt(2 * np.pi)


@pytest.mark.parametrize("outputs", [[0.3, 0.2, 0.0, 0.0], [0.0, 0.0, 0.6, 0.5], [1.0, -0.5, -0.8, -1.0]])
def test_the_flow_is_a_density_with_these_quantiles(outputs: list[float]) -> None:
    values = density(flow_loss, outputs)
    assert values.sum() * STEP == pytest.approx(1.0, abs=1e-4)
    levels = np.array([0.05, 0.5, 0.9])
    at = flow_quantiles(np.array(outputs), levels)
    below = np.interp(at, Y, values.cumsum() * STEP)
    np.testing.assert_allclose(below, levels, atol=2e-3)


def test_a_flow_without_skew_and_tail_is_the_gaussian() -> None:
    np.testing.assert_allclose(density(flow_loss, [0.3, 0.2, 0.0, 0.0]), density(gaussian_loss, [0.3, 0.2]))
    mean, std = mean_and_std(np.array([0.3, 0.2]))
    at = flow_quantiles(np.array([0.3, 0.2, 0.0, 0.0]), np.array([0.05]))
    assert at[0] == pytest.approx(mean - 1.6448536 * std)


def test_quantiles_never_cross_and_pinball_loss_is_least_at_them() -> None:
    outputs = np.random.default_rng(0).normal(size=(100, len(QUANTILE_LEVELS)))
    assert (np.diff(ordered_quantiles(outputs), axis=1) > 0).all()
    y = torch.tensor(np.random.default_rng(1).random(20_000))  # quantiles of U(0, 1) are the levels
    # softplus(s - 2) = d gives a step of d
    steps = 2.0 + np.log(np.expm1(np.diff(QUANTILE_LEVELS)))
    right = torch.tensor([QUANTILE_LEVELS[0], *steps], dtype=torch.float64)
    np.testing.assert_allclose(ordered_quantiles(right.numpy()[None])[0], QUANTILE_LEVELS)
    losses = [
        float(quantile_loss((right + shift).expand(len(y), -1), y).mean()) for shift in (0.0, 0.05, -0.05)
    ]
    assert losses[0] < min(losses[1:])


@pytest.fixture(scope="module")
def line() -> tuple[object, np.ndarray]:
    """y = 3 + 2 x + noise of 0.5; the second input never changes."""
    rng = np.random.default_rng(0)
    x = np.column_stack([rng.normal(size=600), np.ones(600)])
    y = 3 + 2 * x[:, 0] + rng.normal(scale=0.5, size=600)
    rows = np.stack([rng.permutation(600) for _ in range(2)])
    return standardised(x, y, rows[:, :400], rows[:, 400:]), y


def test_splits_are_in_units_of_their_training_part(line: tuple[object, np.ndarray]) -> None:
    splits, y = line
    np.testing.assert_allclose(splits.train_x[..., 0].mean(axis=1), 0, atol=1e-12)
    np.testing.assert_allclose(splits.train_y.std(axis=1), 1)
    assert (splits.test_x[..., 1] == 0).all()
    assert splits.scale == pytest.approx([y.std()] * 2, rel=0.1)


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_every_model_finds_the_line_and_its_noise(name: str, line: tuple[object, np.ndarray]) -> None:
    splits, _ = line
    model = MODELS[name]
    arrays = model.fit(splits, 3, Training(hidden=(10,), steps=400), np.random.default_rng(0))
    for split in range(2):
        given = model.read({key: values[split] for key, values in arrays.items()})
        labels = splits.test_y[split]
        # noise 0.5 of a target that spreads by 2.06; a mean alone would give 1
        assert float(cr.rmse(given, labels)) < 0.35
        assert 0.78 <= float(cr.picp(given, labels)) <= 0.99
    assert given.n_members == (3 if name in ("Bayesian ridge", "MC dropout", "deep ensemble") else 1)
