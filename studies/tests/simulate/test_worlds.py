"""Worlds hold what they promise: where the truth is, what members look like, what a seed gives."""

from __future__ import annotations

import dataclasses
import doctest
import pickle

import numpy as np
import pytest
import scipy.optimize

import credibly as cr
from credibly_studies import simulate
from credibly_studies.simulate import BinaryWorld, EnsembleWorld, MulticlassWorld, World
from credibly_studies.simulate.corners import average_over_corners, beyond, boundary_point
from credibly_studies.simulate.functions import polynomial_weights

INSIDE: dict[str, World] = {
    "S1": EnsembleWorld("S1", n_members=6, n_classes=4),
    "S2 on the boundary": EnsembleWorld("S2", n_members=12, n_classes=4, spread=0.5, step=0.0),
    "H0,1": MulticlassWorld("H0,1"),
    "H0,2": MulticlassWorld("H0,2"),
    "H0,2 spread over x": MulticlassWorld("H0,2", spread=(0.05, 2.0, 0.2)),
    "control": MulticlassWorld("H1", delta=0.0),
    "control by features": MulticlassWorld("H1", delta=0.0, corner="features", n_members=20, n_classes=3),
    "control per instance": MulticlassWorld("H1", delta=0.0, corner="instance"),
    "binary H0,1": BinaryWorld("H0,1"),
    "binary H0,2": BinaryWorld("H0,2"),
    "binary H0,2, three members": BinaryWorld("H0,2", bounds=((0.1, 0.4), (0.2, 0.9), (0.3, 0.5))),
}
OUTSIDE: dict[str, World] = {
    "S2": EnsembleWorld("S2", n_members=6, n_classes=4),
    "S2 in between": EnsembleWorld("S2", n_members=6, n_classes=4, step=0.3),
    "one member": EnsembleWorld("S2", n_members=1, n_classes=3),
    "H1": MulticlassWorld("H1", delta=0.1),
    "H1 by features": MulticlassWorld("H1", delta=0.1, corner="features"),
    "H1 closest": MulticlassWorld("H1", delta=0.1, corner="closest", prior_concentration=5.0),
    "H1 flat hull": MulticlassWorld("H1", delta=0.1, n_members=3, n_classes=6),
    "binary H1,1": BinaryWorld("H1,1"),
    "binary H1,2": BinaryWorld("H1,2"),
    "binary H1,3": BinaryWorld("H1,3"),
    "binary below": BinaryWorld("H1,1", bounds=((0.6, 0.9), (0.7, 0.95))),
    "binary above": BinaryWorld("H1,2", bounds=((0.1, 0.3), (0.2, 0.25))),
}
AVERAGED: dict[str, World] = {
    "S3": EnsembleWorld("S3", n_members=12, n_classes=3, spread=0.5, prior_concentration=5.0, step=0.4),
    "H1 per instance": MulticlassWorld("H1", delta=0.1, corner="instance"),
}
ALL = INSIDE | OUTSIDE | AVERAGED


def nearest(members: np.ndarray, probs: np.ndarray) -> float:
    """Total variation between a distribution and a hull by a general solver: min sum(s + t) / 2."""
    m, k = members.shape
    table = np.block([[members.T, np.eye(k), -np.eye(k)], [np.ones((1, m)), np.zeros((1, 2 * k))]])
    cost = np.concatenate([np.zeros(m), np.full(2 * k, 0.5)])
    solved = scipy.optimize.linprog(cost, A_eq=table, b_eq=np.append(probs, 1.0), method="highs")
    assert solved.status == 0
    return float(solved.fun)


def beyond_boundary(members: np.ndarray, corners: np.ndarray, step: float) -> np.ndarray:
    return beyond(boundary_point(members, corners), corners, step)


def members_of(sample: simulate.WorldSample) -> np.ndarray:
    assert isinstance(sample.predictions, cr.Ensemble)
    return sample.predictions.probs


@pytest.mark.parametrize("name", ALL)
def test_shapes_and_types(name: str) -> None:
    sample = ALL[name].draw(30, rng=1)
    members = members_of(sample)
    assert len(sample) == len(sample.labels) == len(sample.features) == len(sample.truth.probs) == 30
    assert sample.features.ndim == 2
    assert sample.labels.dtype == np.int64
    assert sample.labels.min() >= 0
    assert sample.labels.max() < members.shape[2]
    np.testing.assert_allclose(sample.truth.probs.sum(axis=1), 1.0, atol=1e-12)
    assert sample.truth.probs.min() >= 0


@pytest.mark.parametrize("name", INSIDE)
def test_truth_is_inside_by_a_general_solver(name: str) -> None:
    sample = INSIDE[name].draw(20, rng=2)
    assert sample.world.null is True
    found = [nearest(*pair) for pair in zip(members_of(sample), sample.given_instance, strict=True)]
    np.testing.assert_allclose(found, 0.0, atol=1e-7)
    assert sample.inside.all()
    assert (sample.distance == 0).all()


@pytest.mark.slow
@pytest.mark.parametrize("name", OUTSIDE)
def test_truth_is_outside_by_a_general_solver(name: str) -> None:
    sample = OUTSIDE[name].draw(20, rng=3)
    assert sample.world.null is False
    found = [nearest(*pair) for pair in zip(members_of(sample), sample.given_instance, strict=True)]
    assert min(found) > 1e-7
    np.testing.assert_allclose(sample.distance, found, atol=1e-8)
    start = [nearest(*pair) for pair in zip(members_of(sample), sample.truth.in_set, strict=True)]
    np.testing.assert_allclose(start, 0.0, atol=1e-7)
    assert not sample.inside.any()


@pytest.mark.parametrize("name", AVERAGED)
def test_random_corners_average_into_the_hull(name: str) -> None:
    """A corner drawn per instance is no alternative: each truth is outside, their average often not."""
    sample = AVERAGED[name].draw(60, rng=4)
    members, truth = members_of(sample), sample.truth.probs
    assert sample.world.null is None
    assert min(nearest(*pair) for pair in zip(members, truth, strict=True)) > 1e-7
    k = members.shape[2]
    share = sample.world.step if isinstance(sample.world, EnsembleWorld) else sample.world.delta
    every = [beyond_boundary(members, np.full(60, corner), share) for corner in range(k)]
    np.testing.assert_allclose(sample.given_instance, np.mean(every, axis=0), atol=1e-12)
    found = np.array([nearest(*pair) for pair in zip(members, sample.given_instance, strict=True)])
    np.testing.assert_array_equal(sample.inside, found <= 1e-7)
    assert 0.2 < sample.inside.mean() < 1.0


def test_corners_in_the_hull_do_not_enter_the_average() -> None:
    members = np.array([[[1.0, 0.0, 0.0], [0.4, 0.3, 0.3], [0.4, 0.4, 0.2]]])
    expected = np.mean([beyond_boundary(members, np.array([c]), 0.2) for c in (1, 2)], axis=0)
    np.testing.assert_allclose(average_over_corners(members, 0.2), expected, atol=1e-14)


def test_step_from_the_boundary() -> None:
    """Members (0.2, 0.8) and (0.6, 0.4), corner 0: boundary (0.6, 0.4), a quarter further (0.7, 0.3)."""
    members = np.array([[[0.2, 0.8], [0.6, 0.4]]])
    np.testing.assert_allclose(beyond_boundary(members, np.array([0]), 0.25), [[0.7, 0.3]], atol=1e-12)
    # a hull without volume: the ray leaves the single member at once
    np.testing.assert_allclose(beyond_boundary(members[:, :1], np.array([0]), 0.25), [[0.4, 0.6]], atol=1e-12)


@pytest.mark.parametrize(
    "name", [name for name in INSIDE if INSIDE[name].draw(2, rng=0).truth.weights is not None]
)
def test_weights_give_the_truth(name: str) -> None:
    sample = INSIDE[name].draw(40, rng=5)
    weights = sample.truth.weights
    assert weights.min() >= 0
    np.testing.assert_allclose(weights.sum(axis=1), 1.0, atol=1e-12)
    np.testing.assert_allclose(
        (weights[:, :, None] * members_of(sample)).sum(axis=1), sample.truth.probs, atol=1e-12
    )
    constant = bool((weights == weights[0]).all())
    assert constant == (name in {"S1", "H0,1", "binary H0,1"})


@pytest.mark.parametrize("name", ALL)
def test_labels_follow_what_is_known_given_the_instance(name: str) -> None:
    """Frequencies of each class, overall and where that class is likely, against the average truth."""
    sample = ALL[name].draw(1500, rng=6)
    expected = sample.given_instance
    k = expected.shape[1]
    hits = np.eye(k)[sample.labels]
    for weight in (np.ones_like(expected), expected):
        gap = (weight * (hits - expected)).sum(axis=0)
        spread = np.sqrt((weight**2 * expected * (1 - expected)).sum(axis=0))
        assert (np.abs(gap) <= 4.5 * spread + 1e-9).all()


@pytest.mark.parametrize("name", ALL)
def test_a_seed_gives_one_data_set(name: str) -> None:
    world = ALL[name]
    first, again, other = world.draw(25, rng=7), world.draw(25, rng=7), world.draw(25, rng=8)
    np.testing.assert_array_equal(members_of(first), members_of(again))
    np.testing.assert_array_equal(first.labels, again.labels)
    np.testing.assert_array_equal(first.features, again.features)
    assert not np.array_equal(members_of(first), members_of(other))


@pytest.mark.parametrize("name", ALL)
def test_worlds_travel_to_workers_and_into_files(name: str) -> None:
    world = ALL[name]
    assert pickle.loads(pickle.dumps(world)) == world  # noqa: S301 - our own bytes
    settings = world.settings()
    assert settings["world"] == type(world).__name__
    assert set(settings) == {"world", *(field.name for field in dataclasses.fields(world))}
    sample = pickle.loads(pickle.dumps(world.draw(5, rng=1)))  # noqa: S301 - our own bytes
    assert sample.world == world


@pytest.mark.parametrize("n", [1, 2, 6])
@pytest.mark.parametrize("name", ALL)
def test_few_instances(name: str, n: int) -> None:
    """As many instances as members too: the order of axes must not be guessed."""
    sample = ALL[name].draw(n, rng=9)
    assert members_of(sample).shape[0] == n
    assert sample.inside.shape == (n,)


@pytest.mark.parametrize("spread", [0.01, 0.5, 100.0])
@pytest.mark.parametrize("scenario", ["S1", "S2", "S3"])
def test_tiny_parameters(scenario: str, spread: float) -> None:
    """Means of 100 classes hold zeros, parameters below 1e-300: probabilities stay probabilities."""
    sample = EnsembleWorld(scenario, n_classes=100, n_members=4, spread=spread).draw(40, rng=10)
    for values in (members_of(sample), sample.truth.probs, sample.given_instance):
        assert np.isfinite(values).all()
        np.testing.assert_allclose(values.sum(axis=-1), 1.0, atol=1e-9)
    assert sample.labels.max() < 100


def test_many_classes_and_tiny_parameters_in_both_families() -> None:
    for hypothesis in ("H0,2", "H1"):
        sample = MulticlassWorld(hypothesis, n_classes=100, spread=0.01, prior_concentration=0.01).draw(
            30, rng=1
        )
        assert np.isfinite(members_of(sample)).all()
        assert np.isfinite(sample.truth.probs).all()
        assert sample.inside.all()


def test_a_sample_in_one_line() -> None:
    sample = BinaryWorld("H0,1").draw(5, rng=1)
    assert repr(sample) == (
        "WorldSample('J25 binary H0,1', Ensemble(n=5, m=2, k=2, dtype=float64), "
        "Truth(probs (5, 2), in_set (5, 2), weights (5, 2)))"
    )


def test_moments_of_dirichlet_members() -> None:
    """E P = p and Var P_c = p_c (1 - p_c) / (k / u + 1), u = 0.5 and k = 4: p_c (1 - p_c) / 9."""
    world = MulticlassWorld(
        "H0,1", n_members=50, n_classes=4, spread=0.5, prior="dataset", prior_concentration=2.0
    )
    members = members_of(world.draw(2000, rng=11)).reshape(-1, 4)
    mean = members.mean(axis=0)
    np.testing.assert_allclose(members.var(axis=0), mean * (1 - mean) / 9, rtol=0.03)


@pytest.mark.parametrize("prior", ["instance", "dataset"])
def test_priors_differ_between_instances_or_data_sets(prior: str) -> None:
    """Means are Dir(1, 1): variance 1 / 12 over instances, or next to none within a data set."""
    world = MulticlassWorld("H0,1", n_members=200, n_classes=2, spread=0.01, prior=prior)  # type: ignore[arg-type]
    first = members_of(world.draw(500, rng=0))[:, :, 0].mean(axis=1)
    assert first.var() == pytest.approx(1 / 12 if prior == "instance" else 0.0, abs=0.012)


def test_scaled_polynomials_are_weights() -> None:
    """J25 E.1: polynomials of degree 2 on [0, 1], scaled to sum to 1; a softmax is sharper."""
    x = np.linspace(0, 5, 200)
    generators = [np.random.default_rng(seed) for seed in (1, 1)]
    plain, sharp = (
        polynomial_weights(x, 10, (0.0, 5.0), 2, sharpness, generator)
        for sharpness, generator in zip((None, 5.0), generators, strict=True)
    )
    np.testing.assert_allclose(plain.sum(axis=1), 1.0)
    assert plain.min() >= 0
    assert plain.max(axis=1).mean() < sharp.max(axis=1).mean()
    both_rising = polynomial_weights(np.array([0.0]), 3, (0.0, 5.0), 1, None, np.random.default_rng(3))
    np.testing.assert_allclose(both_rising.sum(axis=1), 1.0)


def test_weights_of_s1_are_uniform_on_the_simplex() -> None:
    """E sum w^2 = (b + 1) / (m b + 1) for Dir(b, ..., b): 1/3 for M23's b = 1 and m = 5, 0.6 for b = 1/5."""
    for settings, expected in (({}, 1 / 3), ({"weight_concentration": 0.2}, 0.6)):
        world = EnsembleWorld("S1", n_members=5, n_classes=3, **settings)
        squares = [(world.draw(1, rng=seed).truth.weights ** 2).sum() for seed in range(100)]
        assert np.mean(squares) == pytest.approx(expected, abs=4 * np.std(squares) / 10)


def test_distances_outside_the_band() -> None:
    """Members between 0.5 and 0.8 leave more room below: there the truth goes, one distance for all."""
    inner = ((0.5, 0.7), (0.6, 0.8))
    found = []
    for seed in range(40):
        near = BinaryWorld("H1,1", bounds=inner).draw(5, rng=seed)
        away = near.predictions.probs[:, :, 1].min(axis=1) - near.truth.probs[:, 1]
        assert np.ptp(away) < 1e-12
        found.append(away[0])
    assert 0 <= min(found) < max(found) <= 0.02
    far = BinaryWorld("H1,3", bounds=inner).draw(2000, rng=1)
    away = far.predictions.probs[:, :, 1].min(axis=1) - far.truth.probs[:, 1]
    np.testing.assert_allclose([away.min(), away.max()], [0.1, 0.3], atol=2e-3)
    above = BinaryWorld("H1,2", bounds=((0.1, 0.3), (0.2, 0.25)), gap=(0.2, 0.5)).draw(2000, rng=1)
    away = above.truth.probs[:, 1] - above.predictions.probs[:, :, 1].max(axis=1)
    np.testing.assert_allclose([away.min(), away.max()], [0.2, 0.5], atol=2e-3)


def test_members_that_reach_the_ends_leave_room_elsewhere() -> None:
    """J25 scales members to [0, 1]: the truth keeps its distance, or ends at 0 or 1, on a random side."""
    sides = set()
    for seed in range(12):
        sample = BinaryWorld("H1,3").draw(200, rng=seed)
        chances, true = sample.predictions.probs[:, :, 1], sample.truth.probs[:, 1]
        upwards = bool(true.mean() > chances.mean())
        away = true - chances.max(axis=1) if upwards else chances.min(axis=1) - true
        room = 1 - chances.max(axis=1) if upwards else chances.min(axis=1)
        assert (away >= np.minimum(0.1, room) - 1e-12).all()
        assert true.min() >= 0
        assert true.max() <= 1
        sides.add(upwards)
    assert sides == {True, False}


def test_members_fill_their_bounds() -> None:
    chances = members_of(BinaryWorld(bounds=((0.1, 0.2), (0.6, 0.8)), length_scale=0.3).draw(4000, rng=2))[
        :, :, 1
    ]
    np.testing.assert_allclose(chances.min(axis=0), [0.1, 0.6], atol=2e-3)
    np.testing.assert_allclose(chances.max(axis=0), [0.2, 0.8], atol=2e-3)


def test_spread_follows_x() -> None:
    world = MulticlassWorld("H0,1", spread=(0.05, 2.0), n_members=30, prior_concentration=5.0)
    np.testing.assert_allclose(world.spread_at(np.array([0.0, 2.5, 5.0])), [0.05, 1.025, 2.0])
    sample = world.draw(2000, rng=12)
    scatter = members_of(sample).std(axis=1).mean(axis=1)
    x = sample.features[:, 0]
    assert scatter[x > 4].mean() > 2 * scatter[x < 1].mean()


def test_corner_rules() -> None:
    """The corner shows in truth - boundary: the class that gains."""
    control = MulticlassWorld("H1", delta=0.0)
    for rule, kinds in (("dataset", 1), ("features", 5)):
        world = dataclasses.replace(control, delta=0.2, corner=rule)
        before = dataclasses.replace(control, corner=rule).draw(400, rng=13)
        after = world.draw(400, rng=13)
        np.testing.assert_array_equal(members_of(before), members_of(after))
        corners = (after.truth.probs - before.truth.probs).argmax(axis=1)
        assert len(set(corners)) == kinds
        x = after.features[:, 0]
        pieces = np.floor(x).astype(int)  # five classes over [0, 5]
        if kinds > 1:
            assert all(len(set(corners[pieces == piece])) == 1 for piece in range(5))
    closest = dataclasses.replace(control, delta=0.2, corner="closest").draw(400, rng=13)
    base = dataclasses.replace(control, corner="closest").draw(400, rng=13)
    gained = (closest.truth.probs - base.truth.probs).argmax(axis=1)
    np.testing.assert_array_equal(gained, members_of(closest).mean(axis=1).argmax(axis=1))


def test_instances_without_room_are_drawn_again() -> None:
    sample = EnsembleWorld("S2", n_members=3, n_classes=3, spread=20.0, prior_concentration=2.0).draw(
        200, rng=14
    )
    (note,) = sample.notes
    assert "drawn again" in note
    assert (
        members_of(sample).max(axis=1)[np.arange(200), members_of(sample).mean(axis=1).argmax(axis=1)].max()
        < 1
    )


def test_a_data_set_without_room_is_drawn_around_another_p() -> None:
    # p ~ Dir(1/2, 1/2) is often so near to the corner that all members are there
    world = MulticlassWorld("H1", delta=0.1, n_classes=2, prior="dataset", prior_concentration=0.5)
    samples = [world.draw(20, rng=seed) for seed in range(20)]
    assert not any(sample.inside.any() for sample in samples)
    again = [note for sample in samples for note in sample.notes if note.startswith("p was drawn")]
    assert 1 <= len(again) < 10


def test_no_room_at_all() -> None:
    world = EnsembleWorld("S2", n_members=20, n_classes=2, spread=1e6)
    with pytest.raises(cr.UnsupportedError, match="needs members that leave a corner"):
        world.draw(50, rng=1)


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda: EnsembleWorld("S4"), "`scenario` must be one of"),
        (lambda: EnsembleWorld("S1", n_members=0), "`n_members` must be an integer of at least 1"),
        (lambda: EnsembleWorld("S1", n_classes=1), "`n_classes` must be an integer of at least 2"),
        (lambda: EnsembleWorld("S1", spread=0.0), "`spread` must be positive"),
        (lambda: EnsembleWorld("S1", spread=float("nan")), "`spread` must be positive"),
        (lambda: EnsembleWorld("S1", spread=float("inf")), "`spread` must be positive and at most"),
        (lambda: EnsembleWorld("S1", spread="wide"), "`spread` must be a number"),
        (lambda: EnsembleWorld("S1", prior_concentration=0), "`prior_concentration` must be positive"),
        (lambda: EnsembleWorld("S2", step=1.5), "`step` must be at least 0 and at most 1"),
        (lambda: MulticlassWorld("H2"), "`hypothesis` must be one of"),
        (lambda: MulticlassWorld("H0,1", delta=0.1), "`delta` is the distance under H1"),
        (lambda: MulticlassWorld("H1", delta=-0.1), "`delta` must be at least 0"),
        (lambda: MulticlassWorld("H1", corner="any"), "`corner` must be one of"),
        (lambda: MulticlassWorld(spread=(0.5,)), "`spread` must be a number or at least two"),
        (lambda: MulticlassWorld(spread=[0.5, 1.0]), "`spread` must be a number"),
        (lambda: MulticlassWorld(degree=0), "`degree` must be an integer of at least 1"),
        (lambda: MulticlassWorld(x_range=(1.0, 1.0)), "`x_range` must be two increasing"),
        (lambda: BinaryWorld("H1"), "`hypothesis` must be one of"),
        (lambda: BinaryWorld(bounds=()), "`bounds` must be one interval per member"),
        (lambda: BinaryWorld(bounds=((0.5, 0.7), (0.8, 0.6))), "`bounds` must be two increasing"),
        (lambda: BinaryWorld(bounds=((0.5, 1.2),)), "`bounds` must be at least 0 and at most 1"),
        (lambda: BinaryWorld("H0,1", gap=(0.0, 0.1)), "`gap` is the distance under H1"),
        (lambda: MulticlassWorld(prior="class"), "`prior` must be one of"),
        (lambda: BinaryWorld(length_scale=-1.0), "`length_scale` must be positive"),
        (lambda: BinaryWorld(length_scale=1e-4).draw(5, rng=1), "`length_scale` must be at least"),
        (lambda: BinaryWorld().draw(0), "`n` must be an integer of at least 1"),
        (lambda: BinaryWorld().draw(5, rng="seven"), "`rng` must be"),
    ],
)
def test_bad_settings(make: object, match: str) -> None:
    with pytest.raises(cr.CrediblyError, match=match):
        make()


@pytest.mark.parametrize(
    "name", [name for name in simulate.__all__ if name.endswith("World") and name != "World"]
)
def test_examples_run(name: str) -> None:
    test = doctest.DocTestParser().get_doctest(getattr(simulate, name).__doc__, {}, name, None, None)
    assert test.examples
    report: list[str] = []
    failed, _ = doctest.DocTestRunner().run(test, out=report.append)
    assert not failed, "".join(report)
