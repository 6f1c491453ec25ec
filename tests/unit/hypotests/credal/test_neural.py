"""Networks that learn weights: any penalty, batches, several starts, a module of one's own; J25's mode."""

from __future__ import annotations

import json

import numpy as np
import pytest

import credibly as cr
from credibly.hypotests.credal.learned_weights import random_parts
from credibly.learners.neural import NeuralPartFit, _Training, learn_network
from credibly.learners.points import points_of

torch = pytest.importorskip("torch", reason="needs the torch extra")

SEED = (3, 4)


def _gated(n: int = 160) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Two members, the first right where x > 0, the second elsewhere."""
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, n)
    probs = np.broadcast_to([[0.9, 0.1], [0.1, 0.9]], (n, 2, 2)).copy()
    labels = (rng.random(n) > np.where(x > 0, 0.9, 0.1)).astype(int)
    return probs, labels, x


def _learned(learner: cr.learners.NeuralLearner) -> NeuralPartFit:
    probs, labels, x = _gated()
    points = points_of(cr.Ensemble(probs, member_axis=1), 20, SEED)
    (part,) = random_parts(len(labels), 0.5, None, SEED)
    return learn_network(learner, points, x[:, None], labels, part, SEED, None)


def _training(learner: cr.learners.NeuralLearner) -> tuple[_Training, object]:
    probs, labels, x = _gated(40)
    rows = np.arange(40)
    data = _Training(
        learner, torch.tensor(x[:, None]), torch.tensor(probs), torch.tensor(labels), rows, rows[:0]
    )
    return data, torch.nn.Linear(1, 2, dtype=torch.float64)


@pytest.mark.parametrize("name", ["skce", "mmd_ce", "kde_ce", "kl_ce"])
def test_the_loss_is_score_and_penalty_squared_where_signed(name: str) -> None:
    data, network = _training(cr.learners.NeuralLearner(penalty=name, gamma=0.5))
    point, batch = data.point(network, np.arange(40))
    score, penalty = (float(one.bind(point)(batch)[0].detach()) for one in (cr.brier, data.error))
    wanted = score + 0.5 * (penalty**2 if name in ("skce", "mmd_ce") else penalty)  # J25 App. A
    assert float(data.loss(network, np.arange(40)).detach()) == pytest.approx(wanted, rel=1e-12)


def test_batches_hold_every_instance_once_and_never_one_alone() -> None:
    data, _ = _training(cr.learners.NeuralLearner(batch_size=13))
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
    learner = cr.learners.NeuralLearner(**settings)
    found = _learned(learner)
    x = _gated()[2]
    assert np.abs(found.weights()[:, 0] - (x > 0)).mean() < 0.25
    np.testing.assert_array_equal(found.weights(), _learned(learner).weights())
    json.dumps(learner.settings())


@pytest.mark.slow
def test_of_several_starts_the_best_is_kept() -> None:
    short = {"max_epochs": 5, "learning_rate": 1e-3}  # hardly trained: starts differ
    several = _learned(cr.learners.NeuralLearner(n_starts=4, **short))
    one = _learned(cr.learners.NeuralLearner(**short))
    assert "the best of 4 networks was kept" in several.notes[0]
    assert not np.array_equal(several.weights(), one.weights())


@pytest.mark.slow
def test_a_module_is_copied_and_must_give_one_score_per_member() -> None:
    own = torch.nn.Linear(1, 2)
    before = own.weight.clone()
    _learned(cr.learners.NeuralLearner(module=own, max_epochs=2, n_starts=2))
    assert torch.equal(own.weight, before)
    with pytest.raises(cr.InputError, match=r"`module` must turn features \(n, 1\) into one score per mem"):
        _learned(cr.learners.NeuralLearner(module=torch.nn.Linear(1, 3)))


def test_refusals() -> None:
    with pytest.raises(cr.InputError, match="`penalty` must be differentiable; got `confidence_ece`"):
        cr.learners.NeuralLearner(penalty="confidence_ece")
    with pytest.raises(cr.InputError, match="`batch_size` must be an integer of at least 2"):
        cr.learners.NeuralLearner(batch_size=1)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("statistic", "score"), [("kl_ce", "log_loss"), ("kde_ce", "brier"), ("mmd_ce", "brier")]
)
def test_j25_trains_with_the_error_it_tests(statistic: str, score: str) -> None:
    probs, labels, x = _gated(24)
    found = cr.credal_test(probs, labels, features=x, paper="J25", statistics=statistic, n_resamples=9, rng=0)
    learner = found.settings["learner"]
    assert learner["score"] == score  # J25 Table 1 and E.2: log loss with CE_KL, Brier with CE_2
    assert list(learner["penalty"]) == [statistic]
    assert found.settings["resample"] == "instances"  # Algorithm 1, line 6
    assert found.n == 12


def test_j25_tests_one_statistic() -> None:
    probs, labels, x = _gated(24)
    with pytest.raises(cr.UnsupportedError, match="trains one network per statistic"):
        cr.credal_test(probs, labels, features=x, paper="J25", statistics=("kl_ce", "kde_ce"), rng=0)
