"""Models of a real number: their losses are densities, their quantiles are those of the density."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import credibly as cr
from credibly_studies.perceptrons import Training
from credibly_studies.regressors import (
    NETWORKS,
    Grid,
    flow_loss,
    flow_quantiles,
    gaussian_loss,
    mean_and_std,
    pinball_loss,
    predictions,
    ridge,
    standardised,
    tuned,
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


def test_the_pinball_loss_is_least_at_the_quantile() -> None:
    y = torch.tensor(np.random.default_rng(1).random(20_000))  # quantiles of U(0, 1) are the levels
    level = torch.full_like(y, 0.2)
    losses = [
        float(pinball_loss(torch.full((len(y), 1), at), torch.stack([y, level], dim=-1)).mean())
        for at in (0.2, 0.25, 0.15)
    ]
    assert losses[0] < min(losses[1:])
    # (y - q) level above, (q - y) (1 - level) below: level 0.2, y = 1 and 0 at q = 0.5
    values = pinball_loss(torch.tensor([[0.5], [0.5]]), torch.tensor([[1.0, 0.2], [0.0, 0.2]]))
    assert values.tolist() == pytest.approx([0.1, 0.4])


@pytest.fixture(scope="module")
def line() -> tuple[object, np.ndarray]:
    """y = 3 + 2 x + noise of 0.5; the second input never changes."""
    rng = np.random.default_rng(0)
    x = np.column_stack([rng.normal(size=600), np.ones(600)])
    y = 3 + 2 * x[:, 0] + rng.normal(scale=0.5, size=600)
    rows = np.stack([rng.permutation(600) for _ in range(2)])
    return standardised(x, y, rows[:, :400], rows[:, 400:]), y


def test_splits_are_in_units_of_their_training_part(line: tuple[object, np.ndarray]) -> None:
    splits, _ = line
    np.testing.assert_allclose(splits.train_x[..., 0].mean(axis=1), 0, atol=1e-12)
    np.testing.assert_allclose(splits.train_y.std(axis=1), 1)
    assert (splits.test_x[..., 1] == 0).all()
    assert splits.train_y.shape[1] == 320  # of 400: a fifth validates
    # the units of the training part: validation targets are near them, not in them
    assert 0 < np.abs(splits.valid_y.mean(axis=1)).max() < 0.3


def test_ridge_finds_the_line_and_its_noise(line: tuple[object, np.ndarray]) -> None:
    splits, _ = line
    arrays = ridge(splits)
    predicted = predictions({key: values[0] for key, values in arrays.items()})
    # noise 0.5 of a target that spreads by 2.06
    assert float(cr.rmse(predicted, splits.test_y[0])) < 0.3
    assert 0.9 <= float(cr.picp(predicted, splits.test_y[0], level=0.95)) <= 0.99


@pytest.mark.slow
@pytest.mark.parametrize("name", NETWORKS)
def test_every_network_finds_the_line_and_its_noise(name: str, line: tuple[object, np.ndarray]) -> None:
    splits, _ = line
    network, generator = NETWORKS[name], np.random.default_rng(0)
    grid = Grid(rates=(1e-2, 1e-9), decays=(0.0,), dropouts=(0.1,))
    layers, own = tuned(network, splits, Training(hidden=(20,), steps=250), grid, generator)
    assert own.learning_rate == 1e-2  # the other learns nothing
    arrays = network.says(layers, splits.test_x, 100, own.dropout, generator)
    for split in range(2):
        predicted = predictions({key: values[split] for key, values in arrays.items()})
        labels = splits.test_y[split]
        assert float(cr.rmse(predicted, labels)) < 0.35  # a mean alone would give 1
        covered = float(cr.picp(predicted, labels, level=0.95))
        if name == "MC dropout":
            assert covered < 0.7  # its passes have no noise
        else:
            assert 0.8 <= covered <= 0.99
    assert predicted.n_members == (100 if name == "MC dropout" else 1)
