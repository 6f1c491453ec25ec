"""Local deviations: by hand, found where they were put, and none where there are none."""

from __future__ import annotations

import numpy as np
import pytest

import credibly as cr
from credibly.hypotests.credal.combinations import regions_of
from libraries import Library


def result_of(probs: np.ndarray, labels: np.ndarray) -> cr.results.HypotestResult[cr.results.CredalDetails]:
    return cr.hypotests.weights_test(probs, labels, weights="mean", statistics="brier", n_resamples=19, rng=0)


def test_by_hand() -> None:
    """Forty coins said to be fair; the half with x > 19.5 always shows class 1."""
    probs = np.full((40, 1, 2), 0.5)
    space = np.arange(40.0)
    labels = np.where(space > 19.5, 1, np.arange(40) % 2)
    worst_regions = result_of(probs, labels).details.regions(probs, labels, space=space, rng=0)
    assert worst_regions.regions == ("feature 0 > 19.5", "feature 0 <= 19.5")
    assert worst_regions.sizes.tolist() == [20, 20]
    # 20 - 10 heads, in units of sqrt(20 / 4); either class says the same, the first is named
    assert worst_regions.scores == pytest.approx([-10 / 5**0.5, 0.0])
    assert (worst_regions.predicted[0], worst_regions.observed[0], worst_regions.classes[0]) == (0.5, 0.0, 0)
    assert worst_regions.failing() == ("feature 0 > 19.5",)
    assert worst_regions.adjusted_pvalues[1] == 1.0
    assert (worst_regions.lower[0, 0], worst_regions.upper[0, 0]) == (20.0, 39.0)
    assert worst_regions.to_dict()["regions"][0] == "feature 0 > 19.5"


def test_of_two_classes_the_first_is_named_whatever_the_last_bits_say() -> None:
    rng = np.random.default_rng(3)
    members = rng.dirichlet([1, 1], size=(300, 4))
    labels, space = rng.integers(0, 2, size=300), rng.normal(size=(300, 2))
    worst_regions = result_of(members, labels).details.regions(members, labels, space=space, rng=0)
    assert worst_regions.classes.tolist() == [0] * len(worst_regions.classes)


def test_regions_are_a_partition_of_about_equal_parts() -> None:
    space = np.random.default_rng(0).normal(size=(500, 3))
    parts = regions_of(space)
    assert sorted(np.concatenate([rows for rows, _ in parts]).tolist()) == list(range(500))
    assert 8 <= len(parts) <= 16
    assert min(len(rows) for rows, _ in parts) >= 500 / 16
    for rows, conditions in parts:
        for column, threshold, above in conditions:
            assert ((space[rows, column] > threshold) == above).all()


def test_constant_and_tied_columns() -> None:
    assert len(regions_of(np.ones((200, 2)))) == 1
    tied = np.concatenate([np.zeros(150), np.arange(1, 51.0)])[:, None]
    sizes = sorted(len(rows) for rows, _ in regions_of(tied))
    assert sum(sizes) == 200
    assert len(regions_of(tied)) > 1
    assert len(regions_of(np.arange(10.0)[:, None])) == 1  # too few to halve


def test_the_failing_corner_is_found_and_nothing_else() -> None:
    rng = np.random.default_rng(7)
    members = rng.dirichlet(np.ones(3), size=(600, 4))
    space = rng.normal(size=(600, 2))
    truth = members.mean(axis=1)
    calm = (rng.random((600, 1)) > truth.cumsum(axis=1)).sum(axis=1)
    assert result_of(members, calm).details.regions(members, calm, space=space, rng=2).failing(0.01) == ()
    wrong = np.where((space[:, 0] > 0) & (space[:, 1] > 0), 2, calm)
    worst_regions = result_of(members, wrong).details.regions(members, wrong, space=space, rng=2)
    failing = worst_regions.failing()
    assert failing
    for name, low in zip(worst_regions.regions[: len(failing)], worst_regions.lower, strict=False):
        assert (low > -0.6).all(), name
    assert set(worst_regions.classes[: len(failing)]) <= {0, 1, 2}


@pytest.mark.slow
def test_learned_weights_cut_their_features() -> None:
    rng = np.random.default_rng(3)
    members = rng.dirichlet(np.ones(2), size=(200, 3))
    features = rng.normal(size=(200, 1))
    labels = rng.integers(0, 2, size=200)
    result = cr.hypotests.weights_test(members, labels, features=features, refit=False, n_resamples=19, rng=0)
    rows = result.details.test_rows
    worst_regions = result.details.regions(members[rows], labels[rows], features=features[rows], rng=0)
    assert worst_regions.columns == ("feature 0",)
    assert worst_regions.n == len(rows)
    plain = cr.hypotests.weights_test(members, labels, refit=False, n_resamples=19, rng=0)
    assert plain.details.regions(members, labels).columns[1] == "mean P(1)"


def test_certain_predictions_that_fail() -> None:
    probs = np.tile([1.0, 0.0], (40, 1, 1))
    labels = np.ones(40, dtype=int)
    worst_regions = result_of(probs, labels).details.regions(probs, labels)
    assert np.isinf(worst_regions.scores).all()
    assert (worst_regions.adjusted_pvalues == 0.001).all()


def test_every_library(library: Library) -> None:
    rng = np.random.default_rng(5)
    members, labels = rng.dirichlet(np.ones(3), size=(80, 2)), rng.integers(0, 3, size=80)
    expected = result_of(members, labels).details.regions(members, labels, rng=1)
    moved = library.asarray(members), library.asarray(labels)
    worst_regions = result_of(*moved).details.regions(*moved, rng=1)
    assert worst_regions.scores == pytest.approx(expected.scores)
    assert worst_regions.adjusted_pvalues.tolist() == expected.adjusted_pvalues.tolist()


def test_bad_input() -> None:
    rng = np.random.default_rng(5)
    members, labels = rng.dirichlet(np.ones(3), size=(80, 2)), rng.integers(0, 3, size=80)
    result = result_of(members, labels)
    with pytest.raises(cr.InputError, match="one row per prediction"):
        result.details.regions(members, labels, space=np.zeros((79, 1)))
    with pytest.raises(cr.InputError, match="`space` must be finite; row 0 holds nan"):
        result.details.regions(members, labels, space=np.full(80, np.nan))
    with pytest.raises(cr.InputError, match="one entry per prediction"):
        result.details.regions(members, labels[:-1])
    with pytest.raises(cr.InputError, match="`n_resamples` must be"):
        result.details.regions(members, labels, n_resamples=0)


def test_the_mean_of_weighted_members_shows_their_weights() -> None:
    rng = np.random.default_rng(0)
    members = cr.Ensemble(rng.dirichlet(np.ones(3), size=(60, 4)), weights=[0.7, 0.1, 0.1, 0.1])
    labels = rng.integers(0, 3, size=60)
    result = cr.hypotests.weights_test(
        members, labels, weights="mean", statistics="brier", n_resamples=19, rng=0
    )
    assert result.details.weights == pytest.approx([0.7, 0.1, 0.1, 0.1])
    assert result.details.combine(members).probs == pytest.approx(members.mean().probs)
    assert any("weighted mean of 4 members" in note for note in result.notes)
    assert not any("play no part" in note for note in result.notes)


@pytest.mark.slow
def test_the_set_test_takes_one_of_several_raters() -> None:
    rng = np.random.default_rng(0)
    members = rng.dirichlet(np.ones(3), size=(60, 4))
    labels = rng.integers(0, 3, size=60)
    counts = cr.LabelCounts(3 * np.eye(3, dtype=int)[labels])
    for weights in ("mean", "learned"):
        settings = {"weights": weights, "statistics": "brier", "n_resamples": 9, "rng": 0}
        result, single = (cr.hypotests.weights_test(members, given, **settings) for given in (counts, labels))
        assert result.pvalue == single.pvalue
        assert any("one label per instance was tested" in note for note in result.notes)
    rated = result.details.regions(members, counts, n_resamples=19)
    assert rated.scores == pytest.approx(single.details.regions(members, labels, n_resamples=19).scores)
