"""The tilting learner: the same weights whatever the order of members and the array library."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.optimize

import credibly as cr
from credibly.learners.mixing import fit_weights
from credibly_studies.simulate import MulticlassWorld
from credibly_studies.tilting import MemberColumns, TiltingLearner


def test_fits_are_the_minima_of_the_penalised_log_loss() -> None:
    rng = np.random.default_rng(0)
    points, labels = rng.dirichlet(np.ones(3), size=(30, 3)), rng.integers(0, 3, size=(2, 30))
    own = rng.normal(size=(30, 3, 2))
    columns = MemberColumns(np.zeros((30, 0)), 3, own)
    found = fit_weights(columns, points, labels, np.full(2, 0.3)).parameters

    def loss(parameters: np.ndarray, labels: np.ndarray) -> float:
        share = np.exp(own @ parameters)
        share /= share.sum(axis=1, keepdims=True)
        likely = points[np.arange(30), :, labels]
        return 0.5 * 0.3 * (parameters**2).sum() - np.log((share * likely).sum(axis=1)).sum()

    for at, observed in zip(found, labels, strict=True):
        slope = scipy.optimize.approx_fprime(at, loss, 1e-6, observed)
        assert np.abs(slope).max() < 5e-4 * 30 + 1e-4  # the tolerance: 5e-4 per instance
        assert loss(at, observed) < loss(np.zeros(2), observed)
    some = np.array([3, 1])
    np.testing.assert_allclose(columns.rows(some).weights(found), columns.weights(found)[:, some])


@pytest.mark.slow
@pytest.mark.parametrize("with_features", [False, True])
def test_members_may_change_places(with_features: bool) -> None:
    world = MulticlassWorld("H1", delta=0.0, n_members=4, n_classes=3).draw(40, rng=0)
    probs, order = world.predictions.probs, [2, 0, 3, 1]
    features = world.features if with_features else None
    settings = {"learner": TiltingLearner(), "n_resamples": 9, "cv": 2, "rng": 0}
    result = cr.hypotests.weights_test(probs, world.labels, features=features, **settings)
    two = cr.hypotests.weights_test(probs[:, order], world.labels, features=features, **settings)
    np.testing.assert_allclose(two.details.weights, result.details.weights[:, order], atol=1e-6)
    some = world.features[:9] if with_features else None
    predictions = result.details.combine(probs[:9], features=some)
    again = two.details.combine(probs[:9, order], features=some)
    np.testing.assert_allclose(again.probs, predictions.probs, atol=1e-6)
    assert two.pvalue == result.pvalue


def test_one_seed_one_pvalue_on_torch() -> None:
    torch = pytest.importorskip("torch", reason="needs the torch extra")
    probs = np.random.default_rng(0).dirichlet(np.ones(3), size=(16, 2))
    labels = np.arange(16) % 3
    features = np.linspace(0, 1, 16)[:, None]
    learner = TiltingLearner(penalties=(np.inf, 1.0))
    settings = {"learner": learner, "refit": True, "cv": 2, "n_resamples": 4, "rng": 7}
    host = cr.hypotests.weights_test(probs, labels, features=features, **settings)
    arguments = (torch.asarray(one) for one in (probs, labels))
    there = cr.hypotests.weights_test(*arguments, features=torch.asarray(features), **settings)
    assert there.pvalue == host.pvalue
    np.testing.assert_allclose(there.details.weights, host.details.weights, atol=1e-6)


def test_refusals() -> None:
    with pytest.raises(cr.InputError, match="constant_penalty"):
        TiltingLearner(constant_penalty=-1.0)


def test_logits_and_slopes_of_common_weights() -> None:
    rng = np.random.default_rng(0)
    own, parameters, slope = rng.normal(size=(5, 3, 2)), rng.normal(size=(4, 2)), rng.normal(size=(4, 5, 3))
    columns = MemberColumns(np.zeros((5, 0)), 3, own, n_plain=2)
    assert (columns.n_parameters, columns.alike) == (2, False)
    expected = np.einsum("nas,bs->bna", own, parameters)
    np.testing.assert_allclose(columns.logits(parameters), expected, atol=1e-12)
    expected = np.einsum("nas,bna->bs", own, slope)
    np.testing.assert_allclose(columns.pulled_back(slope), expected, atol=1e-12)
