"""Learning weights: gradients, features, the points that are mixed, refits."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.optimize

import credibly as cr
from credibly.hypotests.credal.learned_weights import random_parts
from credibly.learners.basis import Basis, set_features
from credibly.learners.linear import Points
from credibly.learners.mixing import Columns, fit_weights, likelihoods, mixed
from credibly.learners.points import points_of
from credibly_studies.simulate import MulticlassWorld

SEED = (1, 2)


def _problem(n: int = 30, a: int = 3, k: int = 3, seed: int = 0):
    rng = np.random.default_rng(seed)
    points = rng.dirichlet(np.ones(k), size=(n, a))
    labels = rng.integers(0, k, size=(2, n))
    columns = Columns(np.concatenate([np.ones((n, 1)), rng.normal(size=(n, 2))], axis=1), a)
    return points, labels, columns


def _loss(parameters: np.ndarray, columns: Columns, points: np.ndarray, labels: np.ndarray) -> float:
    """Penalised log loss of one label vector, written out."""
    n, a, _ = points.shape
    weights = parameters.reshape(-1, a)
    total = 0.5 * 0.3 * (parameters**2).sum()
    for i in range(n):
        logits = [columns.shared[i] @ weights[:, j] for j in range(a)]
        share = np.exp(logits) / np.exp(logits).sum()
        total -= np.log(sum(share[j] * points[i, j, labels[i]] for j in range(a)))
    return total


@pytest.mark.parametrize("alike", [False, True])
def test_fits_are_the_minima_of_the_penalised_log_loss(alike: bool) -> None:
    points, labels, columns = _problem()
    if alike:
        columns = Columns(columns.shared[:, :1], 3)
    assert columns.alike == alike
    fitted = fit_weights(columns, points, labels, np.full(columns.n_parameters, 0.3))
    for row in range(2):
        at = fitted.parameters[row]
        slope = scipy.optimize.approx_fprime(at, _loss, 1e-6, columns, points, labels[row])
        assert np.abs(slope).max() < 5e-4 * 30 + 1e-4  # the tolerance: 5e-4 per instance
        start = _loss(np.zeros_like(at), columns, points, labels[row])
        assert _loss(at, columns, points, labels[row]) < start


@pytest.mark.parametrize("alike", [False, True])
def test_left_out_rows_do_not_count_and_batches_equal_single_fits(alike: bool) -> None:
    points, labels, columns = _problem()
    if alike:
        columns = Columns(columns.shared[:, :1], 3)
    penalty = np.full(columns.n_parameters, 0.3)
    counted = np.ones((2, 30))
    counted[1, 20:] = 0
    both = fit_weights(columns, points, labels[:1], penalty, counted=counted)
    short = columns.rows(np.arange(20))
    alone = fit_weights(short, points[:20], labels[:1, :20], penalty)
    np.testing.assert_allclose(both.parameters[1], alone.parameters[0], atol=0.02)
    with cr.memory_limit(2**20):
        again = fit_weights(columns, points, np.repeat(labels, 40, axis=0), penalty)
    once = fit_weights(columns, points, labels, penalty)
    np.testing.assert_allclose(again.parameters[[0, 40]], once.parameters, atol=1e-12)


def test_huge_logits_do_not_overflow() -> None:
    points, labels, columns = _problem()
    start = np.full(columns.n_parameters, 0.0)
    start[0] = 2000.0  # exp(2000) is infinite; all weight is on the first point
    penalty = np.full(columns.n_parameters, 1e-12)
    fitted = fit_weights(columns, points, labels, penalty, start=start, max_steps=1)
    assert np.isfinite(fitted.parameters).all()
    start[0] = 50.0  # small enough for plain exponentials, and all weight is there already
    near = fit_weights(columns, points, labels, penalty, start=start, max_steps=1)
    np.testing.assert_allclose(fitted.parameters[:, 1:], near.parameters[:, 1:], atol=1e-9)


def test_labels_that_no_point_allows_leave_slopes_finite() -> None:
    points, labels, columns = _problem()
    points[:, :, 0] = 0.0
    start = np.full(columns.n_parameters, 0.0)
    start[: points.shape[1]] = -99.0  # exp(99) over the smallest likelihood must not overflow
    fitted = fit_weights(columns, points, labels, np.full(columns.n_parameters, 0.3), start=start)
    assert np.isfinite(fitted.parameters).all()
    assert np.abs(fitted.parameters).max() < 50  # the penalty has pulled them back


def test_likelihoods_and_mixtures_by_hand() -> None:
    points = np.array([[[0.7, 0.3], [0.2, 0.8]]])
    np.testing.assert_array_equal(likelihoods(points, np.array([[0], [1]]))[:, 0], [[0.7, 0.2], [0.3, 0.8]])
    # 0.25 * 0.7 + 0.75 * 0.2 = 0.325
    np.testing.assert_allclose(mixed(np.array([[[0.25, 0.75]]]), points)[0], [[0.325, 0.675]])


def test_bases() -> None:
    x = np.random.default_rng(0).normal(size=(50, 2)) * [1.0, 100.0] + [3.0, -7.0]
    raw = Basis("raw").fit(x).columns(x)
    assert raw.shape == (50, 3)
    np.testing.assert_allclose(raw[:, 1:].std(axis=0), 1.0)
    cubic = Basis("polynomial").fit(x)
    assert cubic.columns(x).shape == (50, 1 + 2 + 3 + 4)  # products of degree 1, 2 and 3 of two
    np.testing.assert_allclose(cubic.columns(x[:5]), cubic.columns(x)[:5])  # scales stay those of the fit
    assert Basis("auto").fit(x).basis.kind == "polynomial"
    assert Basis("auto").fit(np.concatenate([x, x], axis=1)).basis.kind == "raw"
    huge = Basis("raw").fit(1e200 * x).columns(1e200 * x)
    np.testing.assert_allclose(huge, raw, atol=1e-9)
    with pytest.raises(cr.InputError, match="`basis` must be one of"):
        Basis("wavelet")
    with pytest.raises(cr.InputError, match="degree"):
        Basis("polynomial", degree=0)


def test_boundary_points_are_in_the_set_whatever_the_order_of_members() -> None:
    probs = np.random.default_rng(0).dirichlet(np.ones(3), size=(20, 4))
    learner = cr.learners.BoundaryLearner()
    predictions = learner.points(points_of(cr.Ensemble(probs), 5, SEED))
    assert predictions.names[4:] == (
        "boundary towards class 0",
        "boundary towards class 1",
        "boundary towards class 2",
        "boundary towards the most probable class",
        "the most cautious",
        "the boldest",
        "the largest in class 0",
        "the largest in class 1",
        "the largest in class 2",
    )
    turned = learner.points(points_of(cr.Ensemble(probs[:, ::-1]), 5, SEED))
    np.testing.assert_allclose(turned.probs[:, 4:], predictions.probs[:, 4:], atol=1e-9)
    entropy = -(probs * np.log(probs)).sum(axis=2)
    for at, chosen in (
        (8, entropy.argmax(axis=1)),
        (9, entropy.argmin(axis=1)),
        (11, probs[..., 1].argmax(axis=1)),
    ):
        assert (predictions.probs[:, at] == probs[np.arange(20), chosen]).all()
    # equally cautious: the mean of both, not the first
    mirrored = cr.Ensemble([[[0.9, 0.1], [0.1, 0.9]]])
    np.testing.assert_allclose(learner.points(points_of(mirrored, 5, SEED)).probs[0, 5:7], 0.5)
    for at in range(4, 13):
        assert cr.credal.contains(cr.Ensemble(probs), predictions.probs[:, at]).all()
    many = cr.Ensemble(np.random.default_rng(0).dirichlet(np.ones(25), size=(6, 3)))
    assert len(learner.points(points_of(many, 5, SEED)).names) == 3 + 3


def test_penalties_follow_the_data() -> None:
    rng = np.random.default_rng(0)
    n = 1500
    x = rng.uniform(-1, 1, size=(n, 1))
    probs = np.broadcast_to([[0.95, 0.05], [0.05, 0.95]], (n, 2, 2))
    points = Points(probs, ("a", "b"), cr.Ensemble(probs, member_axis=1))
    part = random_parts(n, 0.5, None, SEED)[0]
    chance = np.where(x[:, 0] > 0, 0.9, 0.1)
    follows = (rng.random(n) > chance).astype(int)
    learner = cr.learners.GatingLearner()
    assert np.isfinite(learner.learn(cr.learners.Lesson(points, x, follows, SEED), part.learn).penalty)
    # labels that ignore x: constant weights win most of the time (a useless cubic wins by luck now and then)
    flat = [(rng.random(n) > 0.5).astype(int) for _ in range(10)]
    chosen = [
        learner.learn(cr.learners.Lesson(points, x, labels, SEED), part.learn).penalty for labels in flat
    ]
    assert np.isinf(chosen).sum() >= 5


def test_parts() -> None:
    (part,) = random_parts(10, 0.3, None, SEED)
    assert part.learn.size == 3
    assert sorted([*part.learn, *part.test]) == list(range(10))
    folds = random_parts(10, None, 3, SEED)
    assert sorted(np.concatenate([fold.test for fold in folds])) == list(range(10))
    for fold in folds:
        assert not set(fold.learn) & set(fold.test)
        assert fold.learn.size + fold.test.size == 10


def test_features_do_not_depend_on_the_order_of_members() -> None:
    probs = np.array([[[0.5, 0.5], [0.2, 0.8]]])
    # mean, upper, lower
    wanted = np.log([[0.35, 0.65, 0.5, 0.8, 0.2, 0.5]])
    np.testing.assert_allclose(set_features(probs), wanted)
    np.testing.assert_allclose(set_features(probs[:, ::-1]), wanted)


def test_features_of_zero_are_finite() -> None:
    assert np.isfinite(set_features(np.array([[[1.0, 0.0]]]))).all()


def test_learners_refuse() -> None:
    with pytest.raises(cr.InputError, match="`penalties` must be positive"):
        cr.learners.GatingLearner(penalties=(0.0,))
    with pytest.raises(cr.InputError, match="constant_penalty"):
        cr.learners.GatingLearner(constant_penalty=-1.0)
    with pytest.raises(cr.InputTypeError, match="`basis` must be a Basis"):
        cr.learners.BoundaryLearner(basis="raw")


@pytest.fixture
def cuda():
    torch = pytest.importorskip("torch", reason="needs the torch extra")
    if not torch.cuda.is_available():
        pytest.skip("needs a CUDA device")
    return torch


def test_light_learners_give_the_same_pvalue_on_cuda(cuda) -> None:
    sample = MulticlassWorld("H0,2", n_members=3, n_classes=3).draw(150, rng=4)
    onto = {"dtype": cuda.float64, "device": "cuda"}
    here = cr.credal_test(sample.predictions, sample.labels, features=sample.features, n_resamples=39, rng=0)
    there = cr.credal_test(
        cr.Ensemble(cuda.tensor(sample.predictions.probs, **onto)),
        cuda.tensor(sample.labels, device="cuda"),
        features=cuda.tensor(sample.features, **onto),
        n_resamples=39,
        rng=0,
    )
    assert there.pvalue == here.pvalue
    np.testing.assert_allclose(there.details.weights, here.details.weights, atol=1e-6)
