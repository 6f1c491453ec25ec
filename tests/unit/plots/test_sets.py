"""Pictures of tests of sets: weights, failing regions, deviances; data first, then marks on axes."""

from __future__ import annotations

import io

import numpy as np
import pytest

import credibly as cr
from credibly.plots.hypotests import WitnessDisplay
from credibly.plots.sets import CombinationDisplay, RegionDisplay, ValidityDisplay
from credibly.plots.simplex import SimplexWeightsDisplay


@pytest.fixture(scope="module")
def world() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Members, labels from member 0 where x > 0 and from member 1 elsewhere, and x."""
    rng = np.random.default_rng(0)
    members = rng.dirichlet(np.full(3, 0.5), size=(400, 2))
    x = rng.normal(size=400)
    truth = np.where(x[:, None] > 0, members[:, 0], members[:, 1])
    return members, (rng.random((400, 1)) > truth.cumsum(axis=1)).sum(axis=1), x


@pytest.fixture(scope="module")
def learned(world: tuple[np.ndarray, ...]) -> cr.results.HypotestResult[cr.results.WeightsDetails]:
    members, labels, x = world
    return cr.hypotests.weights_test(
        members, labels, features=x[:, None], learner="gating", refit=False, n_resamples=19, rng=0
    )


def test_weights_along_a_feature(world, learned) -> None:
    x = world[2]
    display = CombinationDisplay(learned, x, name="x")
    assert (np.diff(display.values) >= 0).all()
    assert sum(display.weights.values()) == pytest.approx(1.0)
    assert display.hidden == pytest.approx(0.0, abs=1e-9)
    own = display.weights["member 0"]
    assert own[display.values > 1].mean() > 0.7 > 0.3 > own[display.values < -1].mean()
    assert display.finding.startswith(next(iter(display.weights)))
    ax = CombinationDisplay(learned, x, name="x", limit=1).draw()
    assert ax.get_xlabel() == "x"
    assert len(ax.lines) == 1


def test_one_weight_vector_for_all_is_flat(world) -> None:
    members, labels, x = world
    constant = cr.hypotests.weights_test(members, labels, weights="constant", n_resamples=19, rng=0)
    display = CombinationDisplay(constant, x)
    for own in display.weights.values():
        assert np.ptp(own) == pytest.approx(0.0)
        assert len(own) == len(x)


def test_weights_over_the_simplex(world, learned) -> None:
    members = world[0]
    display = SimplexWeightsDisplay(learned, members.mean(axis=1), weight=1, class_names=["a", "$b", "c"])
    assert display.name == learned.details.weight_names[1]
    assert display.weights == pytest.approx(learned.details.weights[:, 1])
    assert "where class a leads" in display.finding
    ax = SimplexWeightsDisplay(learned, members.mean(axis=1)).draw()
    assert len(ax.collections) == 1
    corners = {text.get_text(): text.get_position() for text in ax.texts}
    assert corners["2"][1] > corners["0"][1]
    ax.figure.savefig(io.BytesIO(), format="png")


def test_bad_weights(world, learned) -> None:
    members, _, x = world
    with pytest.raises(cr.InputError, match=r"one row per instance that was tested \(400\); got 399"):
        CombinationDisplay(learned, x[:-1])
    with pytest.raises(cr.InputError, match="`limit` must lie between 1 and 5"):
        CombinationDisplay(learned, x, limit=6)
    with pytest.raises(cr.InputError, match="three classes"):
        SimplexWeightsDisplay(learned, members.mean(axis=1)[:, :2])
    with pytest.raises(cr.InputError, match="`weight` must lie between 0 and"):
        SimplexWeightsDisplay(learned, members.mean(axis=1), weight=99)


def test_failing_regions() -> None:
    """Forty fair coins; the half with x > 19.5 always shows class 1."""
    probs, x = np.full((40, 1, 2), 0.5), np.arange(40.0)
    labels = np.where(x > 19.5, 1, np.arange(40) % 2)
    result = cr.hypotests.weights_test(
        probs, labels, weights="mean", statistics="brier", n_resamples=19, rng=0
    )
    found = result.details.regions(probs, labels, space=x)
    display = RegionDisplay(found, class_names=["heads", "tails"])
    assert display.failing.tolist() == [True, False]
    assert display.finding.startswith(
        "1 of 2 regions deviate by more than chance explains; the worst: where feature 0 > 19.5, class heads "
        "was predicted with 0.5 and observed with 0 (n = 20"
    )
    ax = RegionDisplay(found).draw()
    assert [line.get_marker() for line in ax.lines if line.get_marker() != "None"] == ["o", "D"]
    assert ax.get_yticklabels()[0].get_text().startswith("feature 0 > 19.5")
    assert display.table().columns[:3] == ("regions", "classes", "scores")
    calm = RegionDisplay(found, level=1e-9)
    assert calm.finding.startswith("None of 2 regions deviates")


@pytest.mark.slow
def test_deviances_of_single_instances() -> None:
    probs = np.tile([0.9, 0.1], (700, 1))
    counts = np.tile([45, 5], (700, 1))
    counts[3] = [0, 50]
    result = cr.validity_test(probs, counts, n_resamples=99, rng=0)
    display = ValidityDisplay(result)
    assert (display.rows[0], display.ranks[0]) == (3, 1)
    assert len(display.rows) <= 500 < result.n
    assert display.ranks[-1] == 700
    assert "Of 700 instances, 699 have frequencies inside their set, and 1 have" in display.finding
    assert result.details.largest_explained < result.details.deviance[3]
    ax = ValidityDisplay(result).draw()
    assert ax.get_ylabel() == "deviance"
    infinite = cr.validity_test([[1.0, 0.0], [0.5, 0.5]], [[1, 1], [1, 1]], n_resamples=19, rng=0)
    ValidityDisplay(infinite).draw().figure.savefig(io.BytesIO(), format="png")
    assert "infinite" in ValidityDisplay(infinite).finding


@pytest.mark.slow
def test_a_witness_shows_what_the_set_allows_and_what_happened() -> None:
    rng = np.random.default_rng(0)
    members = rng.dirichlet([4.0, 4.0, 4.0], size=(200, 3))
    labels = np.where(rng.random(200) < 0.8, 2, 0)
    result = cr.hypotests.witness_test(members, labels, rng=0)
    display = WitnessDisplay(result, class_names=["cat", "dog", "whale"], limit=3)
    assert next(iter(display.directions)) == "whale, more often"
    first, *others = display.directions.values()
    assert first.observed > first.upper
    assert all(one.score <= first.score for one in others)
    assert "whale occurs more often" in display.finding
    assert len(display.table().rows) == len(display.directions) <= 3
    result.plot().figure.savefig(io.BytesIO(), format="png")
    assert cr.hypotests.witness_test(members, labels, rng=0).plot().get_xlabel() == "frequency of the class"
    silent = cr.hypotests.witness_test(np.full((4, 2, 2), 0.5), [0, 1, 0, 1], rng=0)
    assert WitnessDisplay(silent).finding.startswith("No class was found to occur more or less often")
    silent.plot().figure.savefig(io.BytesIO(), format="png")
