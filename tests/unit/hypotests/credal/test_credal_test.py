"""`credal_test` and `weights_test`: what they equal, what they find, what they refuse."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import credibly as cr
from credibly_studies.simulate import MulticlassWorld
from libraries import Library

K = 3
LEARNERS = {"boundary": cr.learners.BoundaryLearner, "gating": cr.learners.GatingLearner}


class Equal(cr.learners.FittedWeights):
    """The weights of `EqualLearner`."""

    notes = ("equal weights",)

    def weights(self, points: Any, features: Any) -> np.ndarray:
        return np.full(points.probs.shape[:2], 1 / points.probs.shape[1])


@dataclasses.dataclass(frozen=True)
class EqualLearner(cr.learners.Learner):
    """A learner as a user would write it: it gives all members the same weight."""

    name = "equal"

    def learn(self, lesson: cr.learners.Lesson, rows: np.ndarray) -> cr.learners.FittedWeights:
        return Equal()


def test_a_learner_of_ones_own() -> None:
    probs = members(60, 3)
    labels = draw(probs.mean(axis=1))
    found = cr.hypotests.weights_test(probs, labels, learner=EqualLearner(), split=0.5, n_resamples=99, rng=0)
    assert found.settings["refit"] is False  # only light learners are fitted again
    assert found.settings["learner"] == {"name": "equal"}
    assert "equal weights" in found.notes
    np.testing.assert_allclose(found.details.weights, 1 / 3)
    np.testing.assert_allclose(found.details.combine(probs).probs, probs.mean(axis=1))
    rows = found.details.test_rows
    mean = cr.Point(probs.mean(axis=1)[rows])
    alone = cr.calibration_test(mean, labels[rows], statistics="skce", n_resamples=99, rng=0)
    assert found.statistic == pytest.approx(alone.statistic, rel=1e-12)
    assert found.pvalue == alone.pvalue


def members(n: int, m: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).dirichlet(np.ones(K), size=(n, m))


def draw(probs: np.ndarray, seed: int = 1) -> np.ndarray:
    steps = probs.cumsum(axis=1)[:, :-1]
    return (np.random.default_rng(seed).random((len(probs), 1)) >= steps).sum(axis=1)


@pytest.mark.parametrize("weights", ["learned", "constant", "mean"])
@pytest.mark.parametrize("statistic", ["skce", "confidence_ece", ("skce", "log_loss")])
def test_one_member_or_equal_members_are_a_calibration_test(weights: str, statistic: object) -> None:
    probs = members(60, 1)
    labels = draw(probs[:, 0])
    plain = cr.calibration_test(probs[:, 0], labels, statistics=statistic, n_resamples=99, rng=3)
    for given in (probs, np.repeat(probs, 4, axis=1)):
        found = cr.hypotests.weights_test(
            cr.Ensemble(given, member_axis=1),
            labels,
            weights=weights,
            statistics=statistic,
            n_resamples=99,
            rng=3,
        )
        assert found.pvalue == plain.pvalue
        assert found.statistic == pytest.approx(plain.statistic, abs=1e-12)
        assert found.details.test_rows.size == 60  # no split


def test_both_calibrated_predictors_of_the_first_printed_example_are_kept() -> None:
    # J25 App. B, example 1: y = x, so the marginal (1/3, 1/3, 1/3) and the unit vector of x are calibrated
    labels = np.arange(300) % 3
    for probs in (np.full((300, 3), 1 / 3), np.eye(3)[labels]):
        assert not cr.calibration_test(cr.Point(probs), labels, n_resamples=99, rng=0).rejects(0.05)
    assert cr.calibration_test(cr.Point(np.eye(3)[(labels + 1) % 3]), labels, rng=0).rejects(0.05)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("test", "ways"),
    [
        (cr.credal_test, {}),
        (cr.hypotests.weights_test, {}),
        (cr.hypotests.weights_test, {"weights": "constant"}),
    ],
)
def test_the_second_printed_example_is_kept(test: Callable[..., Any], ways: dict[str, str]) -> None:
    # J25 App. B, example 2: members (0, 1) and (1, 0) for every x, and y is known from x. Calibrated are the
    # right member at each x, a gate as hard as can be, and (0.5, 0.5), the marginal.
    x = np.arange(200) % 2
    ensemble = cr.Ensemble(np.broadcast_to([[0.0, 1.0], [1.0, 0.0]], (200, 2, 2)), member_axis=1)
    features = {} if "weights" in ways else {"features": x}
    found = test(ensemble, x, **features, **ways, n_resamples=19, rng=1)
    assert not found.rejects(0.05)
    # a set without the truth: both members say 0.9 for class 0
    wrong = cr.Ensemble(np.broadcast_to([[0.9, 0.1], [0.9, 0.1]], (200, 2, 2)), member_axis=1)
    assert test(wrong, x, **features, **ways, n_resamples=19, rng=1).rejects(0.05)


@pytest.mark.slow
def test_both_calibrated_combinations_of_one_set_are_kept() -> None:
    # As J25 App. B, example 2, with noise: members say 0.9 and 0.1 for every x; P(y = 1 | x) is 0.8 at x = 0
    # and 0.2 at x = 1.
    # Calibrated are w(x) = (0.875, 0.125), (0.125, 0.875), the truth, and w = (0.5, 0.5), the marginal.
    x = np.arange(600) % 2
    chance = np.where(x == 0, 0.8, 0.2)
    labels = draw(np.stack([1 - chance, chance], axis=1))
    probs = np.broadcast_to([[0.1, 0.9], [0.9, 0.1]], (600, 2, 2))
    ensemble = cr.Ensemble(probs, member_axis=1)
    learned = cr.hypotests.weights_test(ensemble, labels, features=x, learner="gating", n_resamples=19, rng=1)
    constant = cr.hypotests.weights_test(ensemble, labels, weights="constant", n_resamples=19, rng=1)
    assert not learned.rejects(0.05)
    assert not constant.rejects(0.05)
    # 300 labels per x: standard error 0.023 of a frequency, 0.029 of a weight; three times that
    np.testing.assert_allclose(learned.details.weights[:2, 0], [0.875, 0.125], atol=0.09)
    np.testing.assert_allclose(constant.details.weights, [0.5, 0.5], atol=0.08)
    # neither saves a set that misses the truth: 0.9 and 0.6
    outside = cr.Ensemble(np.broadcast_to([[0.1, 0.9], [0.4, 0.6]], (600, 2, 2)), member_axis=1)
    assert cr.credal_test(outside, labels, features=x, n_resamples=19, rng=1).rejects(0.05)
    assert cr.hypotests.weights_test(outside, labels, weights="constant", n_resamples=19, rng=1).rejects(0.05)


@pytest.mark.slow
def test_learned_weights_recover_a_known_gating() -> None:
    rng = np.random.default_rng(0)
    n = 2000
    x = rng.uniform(-1, 1, n)
    first = np.broadcast_to([0.9, 0.1], (n, 2))
    second = np.broadcast_to([0.2, 0.8], (n, 2))
    weight = 1 / (1 + np.exp(-3 * x))
    labels = draw(weight[:, None] * first + (1 - weight)[:, None] * second)
    ensemble = cr.Ensemble(np.stack([first, second], axis=1), member_axis=1)
    found = cr.hypotests.weights_test(
        ensemble, labels, features=x, learner="gating", n_resamples=39, cv=2, refit=False, rng=0
    )
    assert found.details.weight_names == ("member 0", "member 1")
    np.testing.assert_allclose(found.details.weights.sum(axis=1), 1.0)
    # 2000 labels: standard error of a local frequency over a tenth of them is 0.035, of a weight 0.05
    assert np.abs(found.details.weights[:, 0] - weight).mean() < 0.07
    # twice the smaller p-value of two folds: 2 of 40; the larger of both p-values would hide one that is off
    assert not found.rejects(0.05)
    assert not cr.hypotests.witness_test(ensemble, labels, rng=0).rejects(0.05)


@pytest.mark.slow
def test_one_seed_one_pvalue_on_every_library(library: Library) -> None:
    check_one_seed_one_pvalue("boundary", True, library)


@pytest.mark.slow
# the strict library is slow, so the default is enough there; CUDA has its own test of the light learners
@pytest.mark.parametrize("library", ["numpy", "torch"], indirect=True)
@pytest.mark.parametrize(("learner", "refit"), [("boundary", False), ("gating", True)])
def test_one_seed_one_pvalue_of_other_learners(learner: str, refit: bool, library: Library) -> None:
    check_one_seed_one_pvalue(learner, refit, library)


def check_one_seed_one_pvalue(learner: str, refit: bool, library: Library) -> None:
    probs = members(16, 2)
    labels = draw(probs.mean(axis=1))
    features = np.linspace(0, 1, 16)[:, None]
    two = LEARNERS[learner](penalties=(np.inf, 1.0))  # every penalty is learned with in the same way
    settings = {"learner": two, "refit": refit, "cv": 2, "n_resamples": 4, "rng": 7}
    host = cr.hypotests.weights_test(probs, labels, features=features, **settings)
    there = cr.hypotests.weights_test(
        library.asarray(probs), library.asarray(labels), features=library.asarray(features), **settings
    )
    assert there.pvalue == host.pvalue
    np.testing.assert_allclose(there.details.weights, host.details.weights, atol=1e-6)
    mixed = there.details.combine(cr.Ensemble(library.asarray(probs)), features=library.asarray(features))
    assert library.owns(mixed.probs)


@pytest.mark.parametrize("weights", ["constant", "mean"])
def test_constant_weights_on_every_library(weights: str, library: Library) -> None:
    probs = members(60, 3)
    labels = draw(probs[:, 0])
    host = cr.hypotests.weights_test(probs, labels, weights=weights, n_resamples=19, rng=7)
    there = cr.hypotests.weights_test(
        library.asarray(probs), library.asarray(labels), weights=weights, n_resamples=19, rng=7
    )
    assert there.pvalue == host.pvalue
    np.testing.assert_allclose(there.details.weights, host.details.weights, atol=1e-9)


def _sets(n: int) -> dict[str, cr.Ensemble | cr.Intervals | cr.Belief | cr.Dirichlet]:
    ensemble = cr.Ensemble(members(n, 4), member_axis=1)
    masses = np.random.default_rng(2).dirichlet(np.ones(4), size=n)
    return {
        "ensemble": ensemble,
        "intervals": ensemble.to_intervals(),
        "belief": cr.Belief(masses, [{0}, {1}, {2}, {0, 1, 2}], 3),
        "dirichlet": cr.Dirichlet(1 + 5 * members(n, 1)[:, 0]),
    }


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["ensemble", "intervals", "belief", "dirichlet"])
@pytest.mark.parametrize("weights", ["learned", "constant", "mean"])
def test_every_set_is_tested_and_its_combination_is_in_it(kind: str, weights: str) -> None:
    given = _sets(60)[kind]
    truth = given.mean().probs
    options = {"cv": 2} if weights == "learned" else {}
    found = cr.hypotests.weights_test(
        given, draw(truth), weights=weights, n_resamples=19, n_draws=5, rng=0, **options
    )
    assert 0 < found.pvalue <= 1
    mixed = found.details.combine(given)
    if kind != "dirichlet":  # its set is the hull of draws, which the notes say
        assert bool(cr.credal.contains(given, mixed, tolerance=1e-6).all())
    else:
        assert any("draws" in note for note in found.notes)
    scores = found.details.score(given, draw(truth))
    assert set(scores) == {"accuracy", "brier", "log_loss", "skce"}
    assert scores["accuracy"].value == pytest.approx((mixed.probs.argmax(axis=1) == draw(truth)).mean())


def test_corners_are_indexed_by_orders_of_the_classes() -> None:
    four = cr.Intervals(np.full((20, 4), 0.1), np.full((20, 4), 0.5))
    labels = np.arange(20) % 4
    found = cr.hypotests.weights_test(four, labels, weights="constant", n_resamples=9, rng=0)
    assert len(found.details.weight_names) == 24
    assert found.details.weight_names[0] == "corner of order (0, 1, 2, 3)"
    five = cr.Intervals(np.full((20, 5), 0.1), np.full((20, 5), 0.5))
    found = cr.hypotests.weights_test(five, np.arange(20) % 5, weights="constant", n_resamples=9, rng=0)
    assert len(found.details.weight_names) == 10
    assert found.details.weight_names[:2] == ("class 0 first", "class 0 last")
    assert any("a part of the set" in note for note in found.notes)


@pytest.mark.parametrize(
    ("statistic", "notion"),
    [
        ("confidence_ece", "confidence"),
        ("classwise_ece", "classwise"),
        ("skce", "distribution"),
        (("confidence_ece", "skce"), "distribution"),
    ],
)
def test_the_notion_is_named(statistic: object, notion: str) -> None:
    probs = members(40, 2)
    found = cr.hypotests.weights_test(
        probs, draw(probs[:, 0]), weights="constant", statistics=statistic, n_resamples=9, rng=0
    )
    assert found.details.notion == notion


def test_folds_without_refits_are_combined_validly() -> None:
    probs = members(90, 3)
    labels = draw(probs.mean(axis=1))
    found = cr.hypotests.weights_test(probs, labels, cv=3, refit=False, n_resamples=99, rng=0)
    folds = sorted(fold.pvalue for fold in found.components.values())
    assert len(folds) == 3
    assert found.pvalue == pytest.approx(min(1.0, 1.5 * folds[1]))  # K / r = 3 / 2 times the second smallest
    assert found.n == 90


@pytest.mark.slow
def test_a_split_tests_the_rows_it_did_not_learn_on() -> None:
    probs = members(40, 3)
    labels = draw(probs.mean(axis=1))
    found = cr.hypotests.weights_test(probs, labels, split=0.7, n_resamples=9, rng=0)
    assert found.n == found.details.test_rows.size == 12
    whole = cr.credal_test(probs, labels, n_resamples=9, rng=0)
    assert whole.n == 40
    assert whole.settings["cv"] == 4


def test_ten_instances_constant_features_and_an_absent_class() -> None:
    probs = members(10, 3)
    labels = np.array([0, 1] * 5)  # class 2 never occurs
    found = cr.credal_test(probs, labels, features=np.ones(10), n_resamples=19, rng=0)
    assert 0 < found.pvalue <= 1
    assert any("all features are constant" in note for note in found.notes)
    assert any("classes without a label" in note and "2" in note for note in found.notes)


def test_a_label_that_every_member_calls_impossible() -> None:
    probs = np.zeros((40, 3, 3))
    probs[:, :, 0], probs[:, :, 1] = 0.4, 0.6
    probs[:, 1, :2] = 0.5
    labels = np.array([0, 1] * 20)
    labels[3] = 2
    found = cr.credal_test(cr.Ensemble(probs), labels, n_resamples=39, rng=0)
    assert np.isfinite(found.details.weights).all()
    assert cr.credal_test(cr.Ensemble(probs), labels, statistics="log_loss", n_resamples=39, rng=0).rejects(
        0.06
    )


@pytest.mark.slow
def test_combine_wants_the_same_members_and_features() -> None:
    probs = members(30, 3)
    labels = draw(probs.mean(axis=1))
    x = np.linspace(0, 1, 30)
    found = cr.credal_test(probs, labels, features=x, n_resamples=4, rng=0)
    assert len(found.details.combine(probs[:5], features=x[:5])) == 5
    with pytest.raises(cr.InputError, match="must be of the kind that was tested"):
        found.details.combine(members(5, 4), features=x[:5])
    with pytest.raises(cr.InputError, match="`features` are needed"):
        found.details.combine(probs[:5])
    with pytest.raises(cr.InputError, match="must have 1 columns"):
        found.details.combine(probs[:5], features=np.ones((5, 2)))
    without = cr.credal_test(probs, labels, n_resamples=4, rng=0)
    with pytest.raises(cr.InputError, match="were not given to the test"):
        without.details.combine(probs[:5], features=x[:5])


@pytest.mark.slow
def test_a_small_memory_budget_changes_nothing() -> None:
    probs = members(200, 3)
    labels = draw(probs.mean(axis=1))
    whole = cr.hypotests.weights_test(probs, labels, cv=2, n_resamples=19, rng=0)
    with cr.memory_limit(2**20):  # replicates in tiles of a few
        tiled = cr.hypotests.weights_test(probs, labels, cv=2, n_resamples=19, rng=0)
    assert tiled.pvalue == whole.pvalue
    np.testing.assert_allclose(tiled.null_distribution, whole.null_distribution, rtol=1e-9, atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("with_features", [False, True])
def test_members_may_change_places(with_features: bool) -> None:
    world = MulticlassWorld("H1", delta=0.0, n_members=4, n_classes=3).draw(40, rng=0)
    probs, order = world.predictions.probs, [2, 0, 3, 1]
    features = world.features if with_features else None
    settings = {"n_resamples": 9, "cv": 2, "rng": 0}
    one = cr.hypotests.weights_test(probs, world.labels, features=features, **settings)
    two = cr.hypotests.weights_test(probs[:, order], world.labels, features=features, **settings)
    # what a learner adds to the members has no order
    moved = [*order, *range(4, one.details.weights.shape[1])]
    np.testing.assert_allclose(two.details.weights, one.details.weights[:, moved], atol=1e-6)
    found, again = (
        one.details.combine(probs[:9], features=world.features[:9] if with_features else None),
        two.details.combine(probs[:9, order], features=world.features[:9] if with_features else None),
    )
    np.testing.assert_allclose(again.probs, found.probs, atol=1e-6)
    assert two.pvalue == one.pvalue
    witness = [
        cr.hypotests.witness_test(given, world.labels, rng=0).pvalue for given in (probs, probs[:, order])
    ]
    assert witness[1] == pytest.approx(witness[0], rel=1e-9)


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"weights": "best"}, "`weights` must be one of"),
        ({"learner": "forest"}, "`learner` must be one of"),
        ({"learner": 3}, "`learner` must be a name or a Learner"),
        ({"split": 1.0}, "`split` must lie strictly between 0 and 1"),
        ({"split": 0.5, "cv": 2}, "cannot be used together"),
        ({"cv": 1}, "`cv` must be an integer of at least 2"),
        ({"cv": 30}, "need at least 60 instances"),
        ({"refit": 1}, "`refit` must be True or False"),
        ({"weights": "constant", "split": 0.5}, '`split` belongs to weights="learned"'),
        ({"weights": "mean", "refit": True}, '`refit` belongs to weights="learned"'),
        ({"learner": EqualLearner(), "refit": True}, "learns again for every replicate"),
        ({"features": np.ones(39)}, "one row per prediction"),
        ({"features": np.full((40, 1), np.nan)}, "`features` must be finite"),
        ({"labels": np.zeros(39, dtype=int)}, "one entry per prediction"),
        ({"n_resamples": 0}, "`n_resamples` must be a positive integer"),
        ({"n_draws": 0}, "`n_draws`"),
        ({"statistics": ()}, "must name at least one"),
        ({"progress": 3}, "`progress`"),
        ({"predictions": cr.Gaussian(np.zeros(40), np.ones(40))}, "needs class predictions"),
    ],
)
def test_refusals(change: dict, match: str) -> None:
    given = {"predictions": members(40, 3), "labels": np.arange(40) % 3, **change}
    with pytest.raises(cr.CrediblyError, match=match):
        cr.hypotests.weights_test(given.pop("predictions"), given.pop("labels"), rng=0, **given)


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"features": np.ones(39)}, "one row per prediction"),
        ({"labels": np.zeros(39, dtype=int)}, "one entry per prediction"),
        ({"n_resamples": 0}, "`n_resamples` must be a positive integer"),
        ({"n_draws": 0}, "`n_draws`"),
        ({"statistics": ()}, "must name at least one"),
        ({"statistics": "skce", "clusters": np.arange(40)}, "only the witness is tested"),
        ({"progress": 3}, "`progress`"),
        ({"predictions": cr.Gaussian(np.zeros(40), np.ones(40))}, "needs class predictions"),
    ],
)
def test_refusals_of_both(change: dict, match: str) -> None:
    given = {"predictions": members(40, 3), "labels": np.arange(40) % 3, **change}
    with pytest.raises(cr.CrediblyError, match=match):
        cr.credal_test(given.pop("predictions"), given.pop("labels"), rng=0, **given)


def test_a_result_is_json_safe_and_says_what_it_did() -> None:
    import json

    probs = members(40, 3)
    found = cr.credal_test(probs, draw(probs[:, 0]), n_resamples=9, rng=0)
    text = json.dumps(found.to_dict())
    assert '"learner"' in text
    assert '"boundary"' in text
    assert found.name == "credal_test"
    assert "this learner can represent" in found.hypothesis
    assert found.settings["refit"] is True
    assert found.settings["seed"]


def test_progress_is_reported() -> None:
    seen: list[tuple[int, int]] = []
    probs = members(40, 3)
    cr.credal_test(probs, draw(probs[:, 0]), n_resamples=9, rng=0, progress=lambda *pair: seen.append(pair))
    assert seen[-1] == (10, 10)


def test_features_of_constant_weights_are_noted() -> None:
    members = np.random.default_rng(0).dirichlet(np.ones(3), size=(20, 2))
    labels, features = np.zeros(20, dtype=int), np.ones((20, 1))
    found = cr.hypotests.weights_test(
        members, labels, features=features, weights="constant", n_resamples=9, rng=0
    )
    assert "constant weights do not depend on features" in found.notes
    without = cr.hypotests.weights_test(members, labels, weights="constant", n_resamples=9, rng=0)
    assert without.pvalue == found.pvalue
    assert not any("features" in note for note in without.notes)
