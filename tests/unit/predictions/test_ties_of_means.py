"""Means that are equal in exact arithmetic are equal numbers, in any order of members and any library."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import credibly as cr

torch = pytest.importorskip("torch")

STATISTICS = ("accuracy", "confidence_ece", "classwise_ece")


def decimals(rng, n, m, k, steps):
    """Return probabilities (n, m, k) in multiples of 1 / steps."""
    return rng.multinomial(steps, np.full(k, 1 / k), size=(n, m)) / steps


def values(predictions, labels):
    return [float(getattr(cr, name)(predictions, labels)) for name in STATISTICS]


def as_tensor(predictions):
    weights = None if predictions.weights is None else torch.tensor(predictions.weights)
    return cr.Ensemble(torch.tensor(predictions.probs), weights=weights, member_axis=1)


def test_the_order_of_members_does_not_decide_a_tie():
    probs = np.array([[[0.6, 0.4], [0.7, 0.3], [0.2, 0.8]], [[0.3, 0.7], [0.4, 0.6], [0.8, 0.2]]])
    for order in ([0, 1, 2], [2, 1, 0], [1, 2, 0]):
        predictions = cr.Ensemble(probs[:, order], member_axis=1)
        assert (predictions.mean().probs == 0.5).all()  # (.6 + .7 + .2) / 3 = 1 / 2, as all four are
        assert float(cr.accuracy(predictions, [0, 0])) == 1.0


@pytest.mark.parametrize(("steps", "m", "k"), [(10, 5, 2), (5, 5, 4), (10, 7, 3), (1, 9, 3), (1000, 100, 3)])
@pytest.mark.parametrize("weighted", [False, True])
def test_every_order_and_library_gives_one_number(steps, m, k, weighted):
    rng = np.random.default_rng(m * k)
    for _ in range(10):
        probs, labels = decimals(rng, 60, m, k, steps), rng.integers(k, size=60)
        weights = rng.multinomial(100, np.full(m, 1 / m)) / 100 if weighted else None
        order = rng.permutation(m)
        first = cr.Ensemble(probs, weights=weights, member_axis=1)
        second = cr.Ensemble(
            probs[:, order], weights=None if weights is None else weights[order], member_axis=1
        )
        mean = first.mean().probs
        assert np.array_equal(mean, second.mean().probs)
        assert np.array_equal(mean, as_tensor(first).mean().probs.numpy())
        assert values(first, labels) == values(second, labels)
        assert values(first, labels) == pytest.approx(values(as_tensor(first), labels), rel=1e-12)


def test_means_are_the_nearest_numbers_to_the_exact_fractions():
    rng = np.random.default_rng(4)
    for m, steps in ((3, 10), (7, 6), (11, 15), (15, 1), (120, 1000)):
        parts = rng.multinomial(steps, np.full(3, 1 / 3), size=(200, m))
        mean = cr.Ensemble(parts / steps, member_axis=1).mean().probs
        exact = [[float(Fraction(int(part), steps * m)) for part in row] for row in parts.sum(axis=1)]
        assert np.array_equal(mean, exact)


def test_weights_that_are_equal_count_as_none():
    probs = decimals(np.random.default_rng(0), 300, 5, 3, 10)
    plain = cr.Ensemble(probs, member_axis=1).mean().probs
    assert np.array_equal(plain, cr.Ensemble(probs, weights=[0.2] * 5, member_axis=1).mean().probs)


def test_bandwidths_and_pvalues_agree_between_orders_and_libraries():
    rng = np.random.default_rng(8)
    for _ in range(8):
        probs, labels = decimals(rng, 60, 5, 4, 5), rng.integers(4, size=60)
        ensemble = cr.Ensemble(probs, member_axis=1)
        others = (cr.Ensemble(probs[:, ::-1], member_axis=1), as_tensor(ensemble))
        for name in ("confidence_ece", "skce"):
            first, *rest = (
                cr.calibration_test(one, labels, statistics=name, n_resamples=99, rng=3)
                for one in (ensemble, *others)
            )
            for other in rest:
                assert first.pvalue == other.pvalue
                assert first.statistic == pytest.approx(other.statistic, rel=1e-12, abs=1e-15)
                assert first.settings.get("bandwidth") == other.settings.get("bandwidth")


def test_dirichlets_and_masses_decide_their_ties_too():
    alpha = np.random.default_rng(2).integers(1, 5, size=(300, 5, 3)).astype(float)
    mean = cr.Dirichlet(alpha, member_axis=1).mean().probs
    assert np.array_equal(mean, cr.Dirichlet(alpha[:, ::-1], member_axis=1).mean().probs)
    assert np.array_equal(mean, cr.Dirichlet(torch.tensor(alpha), member_axis=1).mean().probs.numpy())
    sets = [{0}, {1}, {2}, {0, 1}, {0, 2}, {1, 2}, {0, 1, 2}]
    masses = decimals(np.random.default_rng(3), 300, 1, 7, 10)[:, 0]
    mean = cr.Belief(masses, sets).mean().probs
    assert np.array_equal(mean, cr.Belief(masses[:, ::-1], sets[::-1]).mean().probs)
    # .1 {0} + .3 {0, 1} + .6 {0, 1, 2}: .1 + .15 + .2 = .45 and .15 + .2 = .35 and .2
    row = cr.Belief([[0.1, 0.3, 0.6]], [{0}, {0, 1}, {0, 1, 2}]).mean().probs
    assert row.tolist() == [[0.45, 0.35, 0.2]]


def test_small_probabilities_keep_their_size_and_gradients_pass():
    tiny = np.array([[[1e-20, 1.0], [3e-20, 1.0]], [[5e-300, 1.0], [0.0, 1.0]]])
    mean = cr.Ensemble(tiny, member_axis=1).mean().probs
    assert mean[:, 0] == pytest.approx([2e-20, 2.5e-300], rel=1e-12)
    probs = torch.tensor(np.random.default_rng(1).dirichlet(np.ones(3), size=(4, 3)), requires_grad=True)
    cr.Ensemble(probs, member_axis=1).mean().probs[:, 0].sum().backward()
    assert probs.grad[..., 0].numpy() == pytest.approx(1 / 3, rel=1e-15)
    assert not probs.grad[..., 1:].any()
