"""Networks that learn weights: any penalty, batches, several starts, a module of one's own."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest

import credibly as cr
from credibly.hypotests.credal.learned_weights import random_parts
from credibly.learners.points import Points, points_of
from credibly_studies.neural import FittedNetwork, NeuralLearner, _Training
from credibly_studies.simulate import BinaryWorld

torch = pytest.importorskip("torch", reason="needs the torch extra")

SEED = (3, 4)


def _gated(n: int = 160) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Two members, the first right where x > 0, the second elsewhere."""
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, n)
    probs = np.broadcast_to([[0.9, 0.1], [0.1, 0.9]], (n, 2, 2)).copy()
    labels = (rng.random(n) > np.where(x > 0, 0.9, 0.1)).astype(int)
    return probs, labels, x


def _points() -> tuple[Points, np.ndarray]:
    probs, _, x = _gated()
    return points_of(cr.Ensemble(probs, member_axis=1), 20, SEED), x[:, None]


def _learned(learner: NeuralLearner) -> FittedNetwork:
    labels = _gated()[1]
    (part,) = random_parts(len(labels), 0.5, None, SEED)
    return learner.learn(cr.learners.Lesson(*_points(), labels, SEED), part.learn)


def _training(learner: NeuralLearner) -> tuple[_Training, object]:
    probs, labels, x = _gated(40)
    rows = np.arange(40)
    data = _Training(
        learner, torch.tensor(x[:, None]), torch.tensor(probs), torch.tensor(labels), rows, rows[:0]
    )
    return data, torch.nn.Linear(1, 2, dtype=torch.float64)


@pytest.mark.parametrize("name", ["skce", "mmd_ce", "kde_ce", "kl_ce"])
def test_the_loss_is_score_and_penalty_squared_where_signed(name: str) -> None:
    data, network = _training(NeuralLearner(penalty=name, gamma=0.5))
    point, batch = data.point(network, np.arange(40))
    score, penalty = (float(one.bind(point)(batch)[0].detach()) for one in (cr.brier, data.error))
    wanted = score + 0.5 * (penalty**2 if name in ("skce", "mmd_ce") else penalty)  # J25 App. A
    assert float(data.loss(network, np.arange(40)).detach()) == pytest.approx(wanted, rel=1e-12)


def test_batches_hold_every_instance_once_and_never_one_alone() -> None:
    data, _ = _training(NeuralLearner(batch_size=13))
    parts = data.batches(np.random.default_rng(0))
    assert [part.size for part in parts] == [13, 13, 14]  # 40 = 13 + 13 + 13 + 1
    assert sorted(np.concatenate(parts)) == list(range(40))


@pytest.mark.slow
@pytest.mark.parametrize(
    "settings",
    [
        {"penalty": "mmd_ce", "batch_size": 16, "max_epochs": 40},
        {"n_starts": 2, "max_epochs": 40},
        {
            "module": torch.nn.Sequential(torch.nn.Linear(1, 8), torch.nn.Tanh(), torch.nn.Linear(8, 2)),
            "max_epochs": 60,
        },
    ],
)
def test_networks_find_who_is_right(settings: dict) -> None:
    learner = NeuralLearner(**settings)
    found = _learned(learner)
    x = _gated()[2]
    assert np.abs(found.weights(*_points())[:, 0] - (x > 0)).mean() < 0.25
    np.testing.assert_array_equal(found.weights(*_points()), _learned(learner).weights(*_points()))
    json.dumps(learner.settings())


@pytest.mark.slow
def test_of_several_starts_the_best_is_kept() -> None:
    short = {"max_epochs": 5, "learning_rate": 1e-3}  # hardly trained: starts differ
    several = _learned(NeuralLearner(n_starts=4, **short))
    one = _learned(NeuralLearner(**short))
    assert "the best of 4 networks was kept" in several.notes[0]
    assert not np.array_equal(several.weights(*_points()), one.weights(*_points()))


@pytest.mark.slow
def test_a_module_is_copied_and_must_give_one_score_per_member() -> None:
    own = torch.nn.Linear(1, 2)
    before = own.weight.clone()
    _learned(NeuralLearner(module=own, max_epochs=2, n_starts=2))
    assert torch.equal(own.weight, before)
    with pytest.raises(cr.InputError, match=r"`module` must turn features \(n, 1\) into one score per mem"):
        _learned(NeuralLearner(module=torch.nn.Linear(1, 3)))


def test_refusals() -> None:
    with pytest.raises(cr.InputError, match="`penalty` must be differentiable; got `confidence_ece`"):
        NeuralLearner(penalty="confidence_ece")
    with pytest.raises(cr.InputError, match="`batch_size` must be an integer of at least 2"):
        NeuralLearner(batch_size=1)
    with pytest.raises(cr.InputError, match="`score` must be one of"):
        NeuralLearner(score="accuracy")
    with pytest.raises(cr.InputError, match="`gamma` must not be negative"):
        NeuralLearner(gamma=-1.0)


@pytest.mark.slow
@pytest.mark.parametrize("score", ["brier", "log_loss"])
def test_a_network_learns_a_gating(score: str) -> None:
    rng = np.random.default_rng(0)
    n = 400
    x = rng.uniform(-1, 1, n)
    first = (x > 0)[:, None]
    probs = np.broadcast_to([[0.9, 0.1], [0.1, 0.9]], (n, 2, 2))
    truth = np.where(first, probs[:, 0], probs[:, 1])
    labels = (rng.random(n) > truth[:, 0]).astype(int)
    ensemble = cr.Ensemble(probs, member_axis=1)
    seen: list[tuple[int, int]] = []
    learner = NeuralLearner(score=score, max_epochs=80)
    settings = {"learner": learner, "split": 0.5, "n_resamples": 19, "rng": 0}
    result = cr.hypotests.weights_test(
        ensemble, labels, features=x, progress=lambda *pair: seen.append(pair), **settings
    )
    assert np.abs(result.details.weights[:, 0] - (x > 0)).mean() < 0.15
    assert result.pvalue == cr.hypotests.weights_test(ensemble, labels, features=x, **settings).pvalue
    assert any("epochs" in note for note in result.notes)
    assert seen
    np.testing.assert_allclose(result.details.combine(ensemble, features=x).probs.sum(axis=1), 1.0)


@pytest.fixture
def cuda():
    if not torch.cuda.is_available():
        pytest.skip("needs a CUDA device")
    return torch


def test_networks_train_on_cuda(cuda) -> None:
    sample = BinaryWorld("H0,2").draw(200, rng=4)
    learner = NeuralLearner(max_epochs=60)
    settings = {"split": 0.5, "refit": False, "n_resamples": 99, "rng": 0}
    here = cr.hypotests.weights_test(
        sample.predictions, sample.labels, features=sample.features, learner=learner, **settings
    )
    onto = {"dtype": cuda.float64, "device": "cuda"}
    there = cr.hypotests.weights_test(
        cr.Ensemble(cuda.tensor(sample.predictions.probs, **onto)),
        cuda.tensor(sample.labels, device="cuda"),
        features=cuda.tensor(sample.features, **onto),
        learner=learner,
        **settings,
    )
    # sums have another order there, and 60 steps of Adam pass rounding on
    np.testing.assert_allclose(there.details.weights, here.details.weights, atol=1e-3)
    assert abs(there.pvalue - here.pvalue) <= 0.03
    points = points_of(sample.predictions, 5, SEED)
    part = random_parts(200, 0.5, None, SEED)[0]
    moved = dataclasses.replace(learner, device="cuda")
    fit = moved.learn(cr.learners.Lesson(points, sample.features, sample.labels, SEED), part.learn)
    assert fit.network[0].weight.device.type == "cuda"
    assert isinstance(fit.weights(points, sample.features), np.ndarray)
