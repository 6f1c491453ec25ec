"""`inflate`: radius 0 where nothing is rejected, a radius that grows with the shift, and its way there."""

from __future__ import annotations

import numpy as np
import pytest

import credibly as cr
from credibly.hypotests.credal.inflate import smallest_radius

QUICK = {"weights": "constant", "n_resamples": 39, "refit": False}


def world(shift: float, n: int = 200, seed: int = 3) -> tuple[cr.Ensemble, np.ndarray]:
    """Members around a base; labels from their mean, moved towards class 0 by `shift`."""
    rng = np.random.default_rng(seed)
    base = rng.dirichlet(np.ones(3), size=n)
    members = np.stack([0.8 * base + 0.2 * rng.dirichlet(np.ones(3), size=n) for _ in range(4)], axis=1)
    truth = (1 - shift) * members.mean(axis=1) + shift * np.eye(3)[0]
    return cr.Ensemble(members, member_axis=1), (rng.random((n, 1)) > truth.cumsum(axis=1)).sum(axis=1)


def test_nothing_rejected_is_radius_0() -> None:
    members, labels = world(0.0)
    found = cr.inflate(members, labels, rng=1, **QUICK)
    assert (found.radius, found.rejected_radius) == (0.0, None)
    assert found.radii.tolist() == [0.0]
    assert found.test.pvalue == cr.hypotests.weights_test(members, labels, rng=1, **QUICK).pvalue
    assert found.apply(members) is members
    assert str(found).startswith("radius 0: the set itself is not rejected")


@pytest.mark.slow
@pytest.mark.parametrize("by", ["vacuous", "ball"])
def test_the_radius_grows_with_the_shift(by: str) -> None:
    radii = [cr.inflate(*world(shift), by=by, rng=1, **QUICK).radius for shift in (0.0, 0.3, 0.6)]
    assert radii[0] == 0.0
    assert radii == sorted(set(radii))
    # labels moved by a share s lie in the set mixed with everything at s, and with 200 of them not far below
    assert radii[2] > 0.3
    assert radii[2] <= 0.6


@pytest.mark.slow
def test_learned_weights_and_splits() -> None:
    settings = {"refit": False, "split": 0.5, "learner": "gating", "n_resamples": 99, "resolution": 0.1}
    radii = [cr.inflate(*world(shift, n=160), rng=1, **settings).radius for shift in (0.0, 0.6)]
    assert radii[0] == 0.0
    assert 0.1 < radii[1] < 0.7


@pytest.mark.slow
def test_learned_weights_look_at_the_set_that_was_given() -> None:
    settings = {"refit": False, "split": 0.5, "learner": "gating", "n_resamples": 99, "resolution": 0.1}
    members, labels = world(0.6, n=160)
    found = cr.inflate(members, labels, rng=1, **settings)
    assert found.radius > 0
    probs = np.asarray(members.probs)
    features = np.log(probs).reshape(160, -1)
    given = cr.inflate(members, labels, features=features, rng=1, **settings)
    assert np.array_equal(found.pvalues, given.pvalues)
    np.testing.assert_allclose(
        found.combine(members[:7]).probs, given.combine(members[:7], features=features[:7]).probs, atol=1e-12
    )
    assert not given.own_features
    constant = cr.inflate(members, labels, rng=1, weights="constant", n_resamples=99)
    assert constant.combine(members[:7]).probs.shape == (7, 3)


@pytest.mark.slow
def test_what_was_tried() -> None:
    members, labels = world(0.5)
    told: list[tuple[int, int]] = []
    found = cr.inflate(
        members, labels, rng=1, resolution=0.02, progress=lambda *done: told.append(done), **QUICK
    )
    assert found.radii[:3].tolist() == [0.0, 1 / 32, 1 / 16]
    assert (found.pvalues[found.radii >= found.radius] > 0.05).all()
    assert found.rejected_radius is not None
    assert 0 < found.radius - found.rejected_radius <= 0.02
    assert found.pvalues[found.radii.tolist().index(found.rejected_radius)] <= 0.05
    assert found.test.pvalue == found.pvalues[found.radii.tolist().index(found.radius)]
    assert told[-1][0] == told[-1][1] >= len(found.radii)
    again = cr.hypotests.weights_test(found.apply(members), labels, rng=1, **QUICK)
    assert again.pvalue == found.test.pvalue
    assert found.to_dict()["radius"] == found.radius
    assert "is rejected" in str(found)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["point", "intervals", "belief", "dirichlet"])
def test_every_kind(kind: str) -> None:
    members, labels = world(0.5)
    lower, upper = members.probs.min(axis=1), members.probs.max(axis=1)
    rest = 1 - lower.sum(axis=1, keepdims=True)
    predictions = {
        "point": members.mean(),
        "intervals": cr.Intervals(lower, upper),
        "belief": cr.Belief(np.concatenate([lower, rest], axis=1), [{0}, {1}, {2}, {0, 1, 2}]),
        "dirichlet": cr.Dirichlet(80 * members.mean().probs + 0.1),
    }[kind]
    found = cr.inflate(predictions, labels, rng=1, n_draws=4, **QUICK)
    assert 0.05 < found.radius < 0.6
    assert not found.test.rejects()
    assert len(found.apply(predictions)) == len(labels)


@pytest.mark.slow
def test_the_witness_answers_by_default() -> None:
    members, labels = world(0.5, n=120)
    found = cr.inflate(members, labels, rng=1, resolution=0.1)
    assert isinstance(found.test.details, cr.results.WitnessDetails)
    assert 0.05 < found.radius < 0.6
    assert found.combine(members[:5]).probs.shape == (5, 3)
    assert cr.inflate(*world(0.0), rng=1).radius == 0.0
    # labels against the predictions at every instance: the set of all distributions is never rejected
    side = np.arange(100) % 2
    probs = np.where(side[:, None] == 1, [0.9, 0.1], [0.1, 0.9])
    assert cr.inflate(probs, side, rng=1, resolution=0.2).radius > 0.5


def test_both_methods_look_for_weights_only_where_the_witness_rejects() -> None:
    members, labels = world(0.0, n=100)
    found = cr.inflate(members, labels, rng=1, method="both", n_resamples=19)
    assert found.radius == 0.0
    assert isinstance(found.test.details, cr.results.WitnessDetails)
    with pytest.raises(cr.InputError, match="`method` must be one of"):
        cr.inflate(members, labels, method="neither")


def test_what_weights_cannot_represent() -> None:
    """One weight vector cannot follow labels that depend on the instance, however large the set."""
    rng = np.random.default_rng(0)
    side = rng.integers(0, 2, size=400)
    probs = np.where(side[:, None] == 1, [0.9, 0.1], [0.1, 0.9])
    labels = side  # the other way round from what is predicted
    with pytest.raises(cr.UnsupportedError, match="These weights cannot represent it"):
        cr.inflate(probs, labels, rng=1, weights="mean", n_resamples=99)


def test_bad_input() -> None:
    members, labels = world(0.0, n=40)
    with pytest.raises(cr.InputError, match="`by` must be one of"):
        cr.inflate(members, labels, by="square")  # type: ignore[arg-type]
    with pytest.raises(cr.InputError, match="`level` must lie"):
        cr.inflate(members, labels, level=5)
    with pytest.raises(cr.InputError, match="the smallest p-value of 9 replicates"):
        cr.inflate(members, labels, weights="constant", n_resamples=9)
    with pytest.raises(cr.InputError, match="`resolution` must be a positive number"):
        cr.inflate(members, labels, resolution=0)
    with pytest.raises(cr.InputTypeError, match="`progress` must be True, False or callable"):
        cr.inflate(members, labels, progress=3)  # type: ignore[arg-type]
    with pytest.raises(cr.InputTypeError, match="class predictions"):
        cr.inflate(cr.Gaussian(np.zeros(4), np.ones(4)), np.zeros(4))


class Decision:
    """What `smallest_radius` reads of a test."""

    def __init__(self, pvalue: float, n_resamples: int) -> None:
        self.pvalue, self.n_resamples = pvalue, n_resamples

    def rejects(self, level: float) -> bool:
        return self.pvalue <= level + 1e-12


@pytest.mark.parametrize("misled", [set(), {0.25}, {0.5}, {0.0}, {0.1875, 0.2109375}])
def test_a_quick_look_never_has_the_last_word(misled: set[float]) -> None:
    """All replicates reject below 0.2; a few of them say the opposite at some radii."""
    whole: dict[float, float] = {}

    def test(radius: float, quick: bool) -> Decision:
        if not quick:
            whole[radius] = 0.3 if radius >= 0.2 else 0.01
            return Decision(whole[radius], 99)
        return Decision(0.05 if (radius < 0.2) != (radius in misled) else 0.5, 19)

    found = smallest_radius(test, 0.05, 0.01, quick=True)
    plain = smallest_radius(lambda radius, quick: test(radius, False), 0.05, 0.01, quick=False)
    assert found.rejected < 0.2 <= found.radius
    assert found.radius - found.rejected <= 0.01
    assert whole[found.rejected] == 0.01
    assert found.result.pvalue == whole[found.radius] == 0.3
    assert (plain.radius, plain.rejected) == (0.203125, 0.1953125)  # 13/64 and 25/128


def test_doubtful_quick_looks_are_repeated_in_full() -> None:
    seen: list[tuple[float, bool]] = []

    def test(radius: float, quick: bool) -> Decision:
        seen.append((radius, quick))
        return Decision(0.1, 19 if quick else 99)

    assert smallest_radius(test, 0.05, 0.01, quick=True).radius == 0.0
    assert seen == [(0.0, True), (0.0, False)]


@pytest.mark.slow
def test_refits_take_fewer_replicates_far_from_the_decision() -> None:
    members, labels = world(0.6, n=160)
    found = cr.inflate(members, labels, rng=1, cv=2, learner="gating", resolution=0.2)
    assert found.test.n_resamples == 99
    assert found.radii.size > np.unique(found.radii).size  # both ends were tested in full
    assert found.rejected_radius < found.radius
    at_end = cr.hypotests.weights_test(
        found.apply(members),
        labels,
        features=np.log(np.asarray(members.probs)).reshape(160, -1),
        rng=1,
        cv=2,
        learner="gating",
        n_resamples=99,
    )
    assert at_end.pvalue == found.test.pvalue > 0.05
