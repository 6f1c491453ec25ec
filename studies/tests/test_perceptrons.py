"""Networks trained together: each learns its own data, masks make functions, and seeds remake them."""

from __future__ import annotations

import numpy as np
import pytest

from credibly_studies.perceptrons import Training, fit_perceptrons, masks, networks_of, outputs_of, repeated

QUICK = Training(hidden=(8,), steps=200, batch=32)


def squared(outputs: object, targets: object) -> object:
    return (outputs[..., 0] - targets) ** 2


def fitted(seed: int = 0, **more: object) -> tuple[np.ndarray, np.ndarray, object]:
    x = np.linspace(-1, 1, 50)[None, :, None].repeat(2, axis=0)
    y = np.stack([x[0, :, 0], -2 * x[1, :, 0]])  # two data sets, slopes 1 and -2
    generator = np.random.default_rng(seed)
    settings = {"members": 3, "outputs": 1, "loss": squared, "training": QUICK} | more
    return x, y, fit_perceptrons(x, y, generator=generator, **settings)


def test_every_network_learns_the_data_of_its_group() -> None:
    x, y, layers = fitted()
    for group in range(2):
        values = outputs_of(networks_of(layers, group, 3), x[group])[..., 0]
        assert values.shape == (3, 50)
        assert np.abs(values - y[group]).mean() < 0.1  # the data spread by 0.5 and 1
        assert np.abs(values[0] - values[1]).max() > 1e-4  # members start from different weights


@pytest.mark.slow
def test_the_seed_remakes_all_weights() -> None:
    first, again, other = fitted()[2], fitted()[2], fitted(1)[2]
    for (weight, offset), (same, same_offset), (new, _) in zip(first, again, other, strict=True):
        np.testing.assert_array_equal(weight, same)
        np.testing.assert_array_equal(offset, same_offset)
        assert np.abs(weight - new).max() > 0.01


def test_outputs_are_products_and_positive_parts() -> None:
    layers = (
        (np.array([[[1.0, -1.0]]]), np.array([[[0.0, 0.5]]])),
        (np.array([[[2.0], [4.0]]]), np.array([[[1.0]]])),
    )
    # x = 1: hidden (1, 0), output 2 + 1; x = -1: hidden (0, 1.5), output 6 + 1
    assert outputs_of(layers, np.array([[1.0], [-1.0]])).tolist() == [[[3.0], [7.0]]]
    kept = (np.array([[[0.0, 2.0]]]),)
    assert outputs_of(layers, np.array([[1.0], [-1.0]]), kept).tolist() == [[[1.0], [13.0]]]


def test_a_mask_is_one_for_all_instances_or_one_for_each() -> None:
    _, _, layers = fitted()
    one = repeated(networks_of(layers, 0, 1), 200)
    generator = np.random.default_rng(0)
    (shared,), (values,) = masks(one, 0.25, generator), masks(one, 0.25, generator, 7)
    assert shared.shape == (200, 1, 8)
    assert values.shape == (200, 7, 8)
    assert set(np.unique(shared)) == {0.0, 1 / 0.75}
    assert values.mean() == pytest.approx(1.0, abs=0.03)  # kept units are scaled up
    assert (values[0, 0] != values[0, 1:]).any()


@pytest.mark.slow
def test_dropout_is_used_in_training() -> None:
    x, y, plain = fitted()
    _, _, dropped = fitted(training=Training(hidden=(8,), steps=200, batch=32, dropout=0.5))
    errors = [
        np.abs(outputs_of(networks_of(one, 1, 3), x[1])[..., 0] - y[1]).mean() for one in (plain, dropped)
    ]
    assert errors[0] < errors[1]
