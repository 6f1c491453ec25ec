"""Draws lie in the set; hit-and-run is uniform on it, Dirichlet weights are not."""

from __future__ import annotations

import numpy as np
import pytest

import credibly as cr
from credibly_studies import set_draws
from credibly_studies.set_draws import sample
from unit.credal.oracles import every_kind, random_ensemble


@pytest.mark.parametrize("method", ["dirichlet", "hit_and_run"])
@pytest.mark.parametrize("kind", ["Point", "Ensemble", "few members", "Belief", "Intervals"])
def test_draws_lie_in_the_set(kind: str, method: str) -> None:
    credal = every_kind(np.random.default_rng(0), n=4, k=4)[kind]
    if kind == "Intervals" and method == "dirichlet":
        with pytest.raises(cr.UnsupportedError, match=r"intervals do not have.*hit_and_run"):
            sample(credal, 3, method=method)
        return
    drawn = sample(credal, 6, method=method, n_steps=20, rng=1)
    assert drawn.probs.shape == (4, 6, 4)
    for place in range(6):
        assert cr.credal.contains(credal, drawn.probs[:, place]).all()
    again = sample(credal, 6, method=method, n_steps=20, rng=1)
    assert again.probs.tolist() == drawn.probs.tolist()


# The triangle of all distributions with one more member on its edge: 2 dimensions, 4 members, no simplex.
TRIANGLE = np.array([[[1.0, 0, 0], [0, 1.0, 0], [0, 0, 1.0], [0.5, 0.5, 0]]])


@pytest.mark.slow
@pytest.mark.parametrize("chords", ["facets", "programs"])
def test_hit_and_run_is_uniform(chords: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if chords == "programs":
        monkeypatch.setattr(set_draws, "_MAX_FACET_DIMENSIONS", 0)
    n = 4000
    drawn = sample(cr.Ensemble(TRIANGLE), n, method="hit_and_run", n_steps=25, rng=0).probs[0]
    # Uniform on the simplex is Dirichlet(1, 1, 1): mean 1/3, variance 1/18, P(p_j > 1/2) = 1/4.
    assert drawn.mean(axis=0) == pytest.approx(np.full(3, 1 / 3), abs=4 * (1 / 18 / n) ** 0.5)
    assert drawn.var(axis=0) == pytest.approx(np.full(3, 1 / 18), rel=0.08)
    assert (drawn > 0.5).mean(axis=0) == pytest.approx(np.full(3, 0.25), abs=4 * (0.25 * 0.75 / n) ** 0.5)


def test_dirichlet_weights_are_not_uniform_on_the_hull() -> None:
    drawn = sample(cr.Ensemble(TRIANGLE), 4000, rng=0).probs[0]
    # E p_2 = 1/4, not 1/3: the extra member pulls towards its edge.
    assert drawn[:, 2].mean() == pytest.approx(0.25, abs=4 * (3 / 80 / 4000) ** 0.5)


def test_members_of_a_simplex_need_no_walk() -> None:
    ensemble = cr.Ensemble([[[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.8, 0.1]]])  # a line; a member repeated
    drawn = sample(ensemble, 4000, method="hit_and_run", n_steps=1, rng=0).probs[0]
    along = (drawn[:, 0] - 0.1) / 0.7
    assert along.mean() == pytest.approx(0.5, abs=4 * (1 / 12 / 4000) ** 0.5)
    assert along.var() == pytest.approx(1 / 12, rel=0.08)


def test_three_members_on_a_line() -> None:
    line = np.array([[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.6, 0.3, 0.1]])[None]
    drawn = sample(cr.Ensemble(line), 4000, method="hit_and_run", rng=0).probs[0]
    along = (drawn[:, 0] - 0.1) / 0.7
    assert along.mean() == pytest.approx(0.5, abs=4 * (1 / 12 / 4000) ** 0.5)


def test_intervals_and_beliefs_are_walked_uniformly() -> None:
    vacuous = cr.Intervals(np.zeros((1, 3)), np.ones((1, 3)))
    ignorant = cr.Belief([[1.0]], [{0, 1, 2}])
    for credal in (vacuous, ignorant):
        drawn = sample(credal, 3000, method="hit_and_run", n_steps=30, rng=0).probs[0]
        assert drawn.mean(axis=0) == pytest.approx(np.full(3, 1 / 3), abs=4 * (1 / 18 / 3000) ** 0.5)
        assert drawn.var(axis=0) == pytest.approx(np.full(3, 1 / 18), rel=0.1)


def test_degenerate_sets_stay_where_they_are() -> None:
    single = cr.Intervals([[0.25, 0.75]], [[0.25, 0.75]])
    assert sample(single, 3, method="hit_and_run", rng=0).probs.tolist() == [[[0.25, 0.75]] * 3]
    same = cr.Ensemble(np.tile([0.25, 0.75], (1, 4, 1)))
    assert sample(same, 3, method="hit_and_run", rng=0).probs == pytest.approx(
        np.tile([0.25, 0.75], (1, 3, 1))
    )
    sure = cr.Belief([[0.25, 0.75]], [{0}, {1}])
    drawn = sample(sure, 3, method="hit_and_run", rng=0).probs
    assert drawn == pytest.approx(np.tile([0.25, 0.75], (1, 3, 1)))


def test_a_walk_in_a_hull_that_rounding_swallows() -> None:
    rng = np.random.default_rng(0)
    for _ in range(20):
        members = np.abs(rng.dirichlet(np.ones(4)) + 1e-12 * rng.normal(size=(1, 5, 4)))
        members /= members.sum(axis=-1, keepdims=True)
        drawn = sample(cr.Ensemble(members), 3, method="hit_and_run", rng=0)
        np.testing.assert_allclose(np.asarray(drawn.probs), members[:, :3], atol=1e-10)


def test_concentration_pulls_weights_together() -> None:
    ensemble = random_ensemble(np.random.default_rng(1), 1, 5, 3)
    spread = [sample(ensemble, 500, concentration=c, rng=0).probs.std(axis=1).mean() for c in (0.1, 1, 100)]
    assert spread[0] > spread[1] > spread[2]


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"n": 0}, "`n` must be an integer of at least 1"),
        ({"n": 1.5}, "`n` must be an integer"),
        ({"n_steps": 0}, "at least 1"),
        ({"n_steps": "64"}, "must be an integer"),
        ({"concentration": 0}, "positive"),
        ({"method": "x"}, "one of"),
    ],
)
def test_bad_settings(settings: dict, words: str) -> None:
    with pytest.raises(cr.InputError, match=words):
        sample([[[0.5, 0.5], [0.4, 0.6]]], **{"n": 2, **settings})
