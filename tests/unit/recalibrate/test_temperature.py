"""Temperature scaling: the optimum, its limits, and what is refused."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax

import credibly as cr
from libraries import Library, read
from recalibrations import draw, members, world


def brute_force(z: np.ndarray, counts: np.ndarray) -> float:
    """The best log T, by golden-section search on the loss written from its definition."""

    def loss(log_temperature: float) -> float:
        return -(counts * log_softmax(z / np.exp(log_temperature), axis=1)).sum() / counts.sum()

    return float(minimize_scalar(loss, bounds=(-12, 12), method="bounded", options={"xatol": 1e-10}).x)


@pytest.mark.parametrize("temperature", [0.01, 0.5, 1.0, 3.0, 1000.0])
def test_the_temperature_of_the_data_is_recovered(temperature: float) -> None:
    probs, labels = world(4000)
    scaling = cr.recalibrate.TemperatureScaling().fit(
        cr.Point.from_logits(temperature * np.log(probs)), labels
    )
    assert np.log(scaling.temperature / temperature) == pytest.approx(0.0, abs=0.06)
    assert scaling.convergence.converged
    best = brute_force(temperature * np.log(probs), np.eye(3)[labels])
    assert np.log(scaling.temperature) == pytest.approx(best, abs=1e-6)


def test_it_is_the_optimum_of_scikit_learn() -> None:
    calibration = pytest.importorskip("sklearn.calibration", reason="needs scikit-learn")
    probs, labels = world(3000, k=4)
    logits = 2.5 * np.log(probs)
    other = calibration._TemperatureScaling().fit(logits, labels)
    fitted = cr.recalibrate.TemperatureScaling().fit(cr.Point.from_logits(logits), labels)
    assert np.log(fitted.temperature) == pytest.approx(-np.log(other.beta_), abs=1e-6)


def test_losses_and_gradient_are_reported() -> None:
    probs, labels = world()
    scaling = cr.recalibrate.TemperatureScaling().fit(
        probs**2 / (probs**2).sum(axis=1, keepdims=True), labels
    )
    ended = scaling.convergence
    sharper = cr.Point.from_logits(2 * np.log(probs))
    assert ended.loss_before == pytest.approx(float(cr.log_loss(sharper, labels)), abs=1e-12)
    with pytest.warns(UserWarning, match="fitted on"):
        after = cr.recalibrate.TemperatureScaling().fit(sharper, labels).apply(sharper)
    assert ended.loss_after == pytest.approx(float(cr.log_loss(after, labels)), abs=1e-12)
    assert ended.loss_after < ended.loss_before
    assert ended.gradient < 1e-6


def test_every_library_finds_the_same(library: Library) -> None:
    probs, labels = world(50)
    sharper = probs**3 / (probs**3).sum(axis=1, keepdims=True)
    expected = cr.recalibrate.TemperatureScaling().fit(sharper, labels)
    point = cr.Point(library.asarray(sharper))
    scaling = cr.recalibrate.TemperatureScaling().fit(point[:30], library.asarray(labels[:30]))
    assert isinstance(scaling.temperature, float)
    after = scaling.apply(point[30:])
    assert library.owns(after.probs)
    same = cr.recalibrate.TemperatureScaling().fit(sharper[:30], labels[:30])
    assert scaling.temperature == pytest.approx(same.temperature, rel=1e-9)
    assert np.allclose(read(after.probs), same.apply(sharper[30:]).probs, atol=1e-12)
    assert expected.temperature > 1


def test_gradients_flow_through_what_is_applied() -> None:
    torch = pytest.importorskip("torch", reason="needs the torch extra")
    probs, labels = world(40)
    scaling = cr.recalibrate.TemperatureScaling().fit(probs, labels)
    logits = torch.tensor(np.log(probs[:5]), requires_grad=True)

    def output(values):
        return scaling.apply(cr.Point.from_logits(values)).probs

    assert torch.autograd.gradcheck(output, (logits,), fast_mode=True)


def test_saturated_probabilities_lose_what_logits_keep() -> None:
    rng = np.random.default_rng(5)
    logits = 4000.0 * rng.normal(size=(2000, 3))  # most probabilities are exactly 0 or 1
    labels = draw(np.exp(log_softmax(logits / 4000.0, axis=1)), rng)
    scaling = cr.recalibrate.TemperatureScaling().fit(cr.Point.from_logits(logits), labels)
    assert scaling.temperature == pytest.approx(4000.0, rel=0.1)
    saturated = cr.Point(cr.Point.from_logits(logits).probs)
    with pytest.warns(UserWarning, match="stored as 0"):
        lost = cr.recalibrate.TemperatureScaling().fit(saturated, labels)
    assert any("stored as 0" in note for note in lost.notes)
    assert abs(np.log(lost.temperature / 4000.0)) > 0.1


def test_an_impossible_class_stays_impossible() -> None:
    logits = np.array([[0.0, 1.0, -np.inf], [1.0, 0.0, -np.inf], [2.0, 0.0, 1.0], [0.0, 1.0, 0.5]] * 5)
    labels = np.array([0, 0, 2, 1] * 5)
    scaling = cr.recalibrate.TemperatureScaling().fit(cr.Point.from_logits(logits), labels)
    assert scaling.apply(cr.Point.from_logits(logits[:2])).probs[:, 2].tolist() == [0.0, 0.0]
    with pytest.raises(cr.UnsupportedError, match="impossible class"):
        cr.recalibrate.TemperatureScaling().fit(cr.Point.from_logits(logits), np.full(20, 2))


def test_separable_data_are_refused() -> None:
    probs, _ = world(30)
    with pytest.raises(cr.UnsupportedError, match=r"T goes to 0; all 30 labels are the most probable"):
        cr.recalibrate.TemperatureScaling().fit(probs, probs.argmax(axis=1))


def test_uniform_predictions_are_refused() -> None:
    with pytest.raises(cr.UnsupportedError, match="all 4 rows are uniform"):
        cr.recalibrate.TemperatureScaling().fit(np.full((4, 2), 0.5), [0, 1, 0, 0])


def test_labels_worse_than_chance_are_refused() -> None:
    probs, _ = world(30)
    with pytest.raises(cr.UnsupportedError, match="T goes to infinity"):
        cr.recalibrate.TemperatureScaling().fit(probs, probs.argmin(axis=1))


def test_the_members_of_an_ensemble_share_a_temperature() -> None:
    logits, labels = members(3000)
    ensemble = cr.Ensemble.from_logits(3.0 * logits)
    scaling = cr.recalibrate.TemperatureScaling().fit(ensemble, labels)
    assert scaling.temperature == pytest.approx(3.0, rel=0.1)
    losses = []
    for factor in (0.999, 1.0, 1.001):  # a minimum of the loss of the mean
        moved = cr.Ensemble.from_logits(3.0 * logits / (scaling.temperature * factor))
        losses.append(float(cr.log_loss(moved, labels)))
    assert losses[1] < min(losses[0], losses[2])
    ended = scaling.convergence
    assert ended.gradient < 1e-6
    assert ended.n_iterations <= 25 + 5  # a grid of 25 temperatures on 1000 rows, then a few passes over all
    assert ended.loss_after == pytest.approx(losses[1], rel=1e-12)
    # the slope of the log loss is 0 there: central differences of 1e-5 have an error of 1e-10
    near = [3.0 * logits / (scaling.temperature * math.exp(step)) for step in (-1e-5, 1e-5)]
    low, high = (float(cr.log_loss(cr.Ensemble.from_logits(one), labels)) for one in near)
    assert abs(high - low) / 2e-5 < 1e-9


def test_one_member_is_a_point() -> None:
    probs, labels = world()
    point = cr.recalibrate.TemperatureScaling().fit(probs, labels).temperature
    alone = (
        cr.recalibrate.TemperatureScaling()
        .fit(cr.Ensemble(probs[:, None, :], member_axis=1), labels)
        .temperature
    )
    assert alone == pytest.approx(point, rel=1e-8)


def test_a_dirichlet_keeps_its_concentration() -> None:
    probs, labels = world()
    dirichlet = cr.Dirichlet(7.0 * probs)
    after = cr.recalibrate.TemperatureScaling().fit(dirichlet[:200], labels[:200]).apply(dirichlet[200:])
    assert isinstance(after, cr.Dirichlet)
    assert np.allclose(after.alpha.sum(axis=1), 7.0)
    point = cr.recalibrate.TemperatureScaling().fit(probs[:200], labels[:200]).apply(probs[200:])
    assert np.allclose(after.mean().probs, point.probs)


@pytest.mark.parametrize("factor", [0.05, 0.3, 2.0, 20.0])
def test_few_passes_over_the_data(factor: float) -> None:
    """A cautious model (factor below 1) is no slower than an overconfident one."""
    rng = np.random.default_rng(0)
    logits = 2 * rng.standard_normal((2000, 10))
    probs = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    labels = (rng.random((2000, 1)) > probs.cumsum(axis=1)).sum(axis=1)
    scaling = cr.recalibrate.TemperatureScaling().fit(cr.Point.from_logits(factor * logits), labels)
    assert scaling.temperature == pytest.approx(factor, rel=0.1)
    assert scaling.convergence.n_iterations <= 8
