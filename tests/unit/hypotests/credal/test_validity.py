"""`validity_test`: deviances by hand, exact p-values by enumeration, the same on every library, bad input."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import scipy.stats

import credibly as cr
from credibly.hypotests.credal import validity
from libraries import Library, read

SETS = [{0}, {1}, {2}, {0, 1}, {1, 2}, {0, 1, 2}]


def kinds(n: int = 6, seed: int = 0) -> dict[str, cr.Point | cr.Ensemble | cr.Intervals | cr.Belief]:
    rng = np.random.default_rng(seed)
    members = rng.dirichlet(np.ones(3), size=(n, 4))
    return {
        "point": cr.Point(members[:, 0]),
        "ensemble": cr.Ensemble(members),
        "intervals": cr.Intervals(members.min(axis=1), members.max(axis=1)),
        "belief": cr.Belief(rng.dirichlet(np.ones(6), size=n), SETS),
    }


def test_two_raters_of_a_coin() -> None:
    result = cr.validity_test([[0.5, 0.5], [0.5, 0.5]], [[2, 0], [1, 1]], n_resamples=3999, rng=0)
    # 2 * 2 * ln(1 / 0.5), and the frequencies themselves
    assert result.details.deviance == pytest.approx([4 * math.log(2), 0.0])
    # others of (2, 0) say (1, 0), with two raters of the prior (2, 1) / 3: each rater 2/3 / 0.5 - 1 = 1/3;
    # others of (1, 1) say the other class: 1/3 / 0.5 - 1 = -1/3
    assert result.statistic == pytest.approx(2 / 3 - 2 / 3)
    # both raters agree with probability 1/2; one of the two instances does with 3/4, both count for the sum
    assert result.details.pvalues == pytest.approx([0.5, 1.0], abs=0.04)
    assert result.pvalue == pytest.approx(0.75, abs=0.04)
    assert result.details.adjusted_pvalues == pytest.approx([0.75, 1.0], abs=0.04)
    assert result.details.smallest_pvalues == pytest.approx([0.25, 0.25])  # (1/2)^2
    assert "2 of 2 instances could not have been rejected individually" in result.notes[-1]


@pytest.mark.parametrize("kind", ["ensemble", "intervals", "belief"])
def test_an_interval_of_two_classes(kind: str) -> None:
    """P(class 0) between 0.4 and 0.6, as three kinds of sets."""
    sets = {
        "ensemble": cr.Ensemble([[[0.4, 0.6], [0.6, 0.4]]]),
        "intervals": cr.Intervals([[0.4, 0.4]], [[0.6, 0.6]]),
        "belief": cr.Belief([[0.4, 0.4, 0.2]], [{0}, {1}, {0, 1}]),
    }
    result = cr.validity_test(sets[kind], [[2, 0]], n_resamples=3999, rng=1)
    assert result.details.deviance == pytest.approx([4 * math.log(1 / 0.6)], abs=1e-6)
    assert result.details.nearest[0] == pytest.approx([0.6, 0.4], abs=1e-4)
    # the other rater and two of the prior say 2/3, the set at most 0.6: twice 2/3 / 0.6 - 1
    assert result.statistic == pytest.approx(2 / 9, abs=1e-4)
    # both agree: 0.6^2 + 0.4^2 at the ends of the interval, less in between
    assert result.details.pvalues == pytest.approx([0.52], abs=0.03)
    assert result.pvalue == pytest.approx(0.52, abs=0.03)


def multinomial_pmf(outcomes: np.ndarray, probs: np.ndarray) -> np.ndarray:
    kept = np.clip(probs, 0, 1)
    return scipy.stats.multinomial.pmf(outcomes, outcomes[0].sum(), kept / kept.sum())


def all_counts(raters: int, k: int) -> np.ndarray:
    return np.array([c for c in itertools.product(range(raters + 1), repeat=k) if sum(c) == raters])


@pytest.mark.parametrize("raters", [1, 2, 4])
@pytest.mark.parametrize("name", ["point", "ensemble", "intervals", "belief"])
def test_the_mean_evidence_is_at_most_zero_wherever_the_truth_is_in_the_set(name: str, raters: int) -> None:
    """Exactly, over every possible count: at corners, the mean and random mixtures of corners."""
    credal = kinds()[name]
    outcomes = all_counts(raters, 3)
    values = validity.evidence(credal, np.repeat(outcomes[:, None], len(credal), axis=1))
    corners = credal.probs[:, None] if name == "point" else cr.credal.vertices(credal)
    mixing = np.random.default_rng(4).dirichlet(np.full(corners.shape[1], 0.3), size=20)
    for row in range(len(credal)):
        truths = [*corners[row], credal.mean().probs[row], *(mixing @ corners[row])]
        means = [multinomial_pmf(outcomes, truth) @ values[:, row] for truth in truths]
        assert max(means) <= 1e-8 * raters
        if name == "point":
            assert means == pytest.approx([0.0] * len(means), abs=1e-12)
    assert raters < 4 or values.max() > 0.1  # not at most 0 because nothing is ever seen


def test_evidence_is_a_sum_over_raters() -> None:
    credal = kinds()["ensemble"]
    counts = np.random.default_rng(1).multinomial(6, [0.5, 0.4, 0.1], size=len(credal))
    for row, count in enumerate(counts):
        total = 0.0
        for label in np.repeat(np.arange(3), count):
            others = count - np.eye(3, dtype=int)[label] + 1.5 * credal.mean().probs[row] + 0.5 / 3
            g = others / others.sum()
            one = credal[row : row + 1]
            pi = validity.nearest_distribution(one, g[None], "kl", 1e-12)[0]
            total += g[label] / pi[label] - 1
        assert validity.evidence(credal, counts[None])[0, row] == pytest.approx(total, abs=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["point", "ensemble", "intervals", "belief"])
def test_pvalues_are_the_largest_exact_ones(name: str) -> None:
    """Every possible count of five raters, its exact probability at every candidate of the set."""
    credal = kinds()[name]
    counts = np.random.default_rng(2).multinomial(5, [0.5, 0.3, 0.2], size=len(credal))
    result = cr.validity_test(credal, counts, n_resamples=3999, rng=3)
    outcomes = all_counts(5, 3)
    corners = cr.credal.vertices(credal)
    for row in range(len(credal)):
        one = credal[row : row + 1]
        deviance = [10 * cr.credal.distance(one, cr.LabelCounts([c]))[0] for c in outcomes]
        points = [*corners[row], credal.mean().probs[row], result.details.nearest[row]]
        extreme = np.array(deviance) >= result.details.deviance[row] - 1e-7
        tails = [multinomial_pmf(outcomes, p)[extreme].sum() for p in points]
        # Monte-Carlo error of a share: at most sqrt(candidates / 4 / 4000) = 0.023 for eight candidates
        assert result.details.pvalues[row] == pytest.approx(min(1.0, max(tails)), abs=0.06)


@pytest.mark.parametrize("name", ["ensemble", "intervals", "belief"])
def test_frequencies_in_the_set_are_never_extreme(name: str) -> None:
    credal = kinds()[name]
    middle = np.round(1000 * credal.mean().probs).astype(int)
    result = cr.validity_test(credal, middle, n_resamples=39, rng=0)
    # frequencies are rounded to thousandths, so thin sets may lack a little: 2 n * 0.0005^2 / p
    assert result.details.deviance == pytest.approx(0.0, abs=0.01)
    assert (result.details.pvalues > 0.5).all()


def test_a_label_that_no_distribution_allows() -> None:
    result = cr.validity_test([[[0.5, 0.5, 0.0], [0.9, 0.1, 0.0]]], [[3, 1, 1]], n_resamples=99, rng=0)
    assert result.details.deviance[0] == math.inf
    assert (result.statistic, result.pvalue) == (math.inf, 0.01)
    assert result.details.pvalues[0] == pytest.approx(
        0.01, abs=0.01
    )  # the observation itself weighs at most 4 / 100
    assert result.details.adjusted_pvalues[0] == result.details.pvalues[0]
    assert result.verdict() == "conflict"


def test_a_vacuous_set_cannot_be_rejected() -> None:
    vacuous = cr.Intervals([[0.0, 0.0, 0.0]], [[1.0, 1.0, 1.0]])
    result = cr.validity_test(vacuous, [[50, 0, 0]], n_resamples=99, rng=0)
    assert result.details.deviance[0] == pytest.approx(0.0, abs=1e-9)
    assert (result.pvalue, result.details.pvalues[0]) == (1.0, 1.0)
    assert result.notes[-1].startswith("1 of 1 instances could not have been rejected")


def test_one_member_is_a_point() -> None:
    probs = kinds()["point"].probs
    counts = np.random.default_rng(0).multinomial(9, [0.2, 0.3, 0.5], size=len(probs))
    point = cr.validity_test(probs, counts, n_resamples=999, rng=4)
    single = cr.validity_test(probs[:, None, :], counts, n_resamples=999, rng=4)
    assert single.details.deviance == pytest.approx(point.details.deviance)
    assert single.details.pvalues == pytest.approx(point.details.pvalues)
    assert single.pvalue == pytest.approx(point.pvalue, abs=0.05)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["point", "ensemble", "intervals", "belief"])
def test_every_library_gives_the_same(name: str, library: Library) -> None:
    credal = kinds()[name]
    counts = np.random.default_rng(5).multinomial([2, 5, 50, 2, 5, 50], [0.6, 0.3, 0.1])
    expected = cr.validity_test(credal, counts, n_resamples=99, rng=6)
    moved = {field: library.asarray(getattr(credal, field)) for field in credal.row_fields}
    asked = cr.LabelCounts(library.asarray(counts))
    result = cr.validity_test(credal.replace_rows(**moved), asked, n_resamples=99, rng=6)
    assert result.pvalue == expected.pvalue
    for field in ("deviance", "pvalues", "adjusted_pvalues", "nearest", "raters"):
        own = getattr(result.details, field)
        assert library.owns(own)
        assert read(own) == pytest.approx(getattr(expected.details, field), abs=1e-6)


def test_a_list_of_counts_goes_beside_the_predictions(library: Library) -> None:
    probs = library.asarray([[0.5, 0.5], [0.9, 0.1]])
    result = cr.validity_test(probs, [[2, 0], [1, 1]], n_resamples=19, rng=0)
    assert library.owns(result.details.pvalues)
    assert result.n_resamples == 19


def test_tiles_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    credal = kinds(20)["ensemble"]
    counts = np.random.default_rng(5).multinomial(7, [0.6, 0.3, 0.1], size=20)
    whole = cr.validity_test(credal, counts, n_resamples=99, rng=6)
    monkeypatch.setattr(validity, "_LABELS_AT_ONCE", 3 * 7 * 99)
    told: list[tuple[int, int]] = []
    tiled = cr.validity_test(credal, counts, n_resamples=99, rng=6, progress=lambda *done: told.append(done))
    assert told == [(3, 20), (6, 20), (9, 20), (12, 20), (15, 20), (18, 20), (20, 20)]
    assert tiled.details.pvalues == pytest.approx(whole.details.pvalues)
    assert tiled.null_distribution == pytest.approx(whole.null_distribution)


def test_failing_instances_come_worst_first() -> None:
    probs = np.tile([0.9, 0.1], (6, 1))
    counts = [[45, 5], [0, 50], [45, 5], [10, 40], [44, 6], [46, 4]]
    result = cr.validity_test(probs, counts, n_resamples=199, rng=0)
    assert result.details.failing().tolist() == [1, 3]
    assert result.verdict() == "conflict"
    assert result.to_dict()["adjusted_pvalues"][0] > 0.5
    with pytest.raises(cr.InputError, match="`level` must lie strictly between 0 and 1"):
        result.details.failing(5)


def test_few_failing_instances_are_found_where_the_sum_does_not_see_them() -> None:
    rng = np.random.default_rng(8)
    probs = rng.dirichlet(np.ones(3), size=400)
    counts = rng.multinomial(20, probs)
    counts[7] = np.eye(3, dtype=int)[probs[7].argmin()] * 20
    result = cr.validity_test(probs, counts, n_resamples=199, rng=0)
    assert 7 in result.details.failing()


@pytest.mark.parametrize("name", ["point", "ensemble", "intervals", "belief"])
def test_adjusted_pvalues_are_never_below_the_raw_ones(name: str) -> None:
    credal = kinds(8)[name]
    counts = np.random.default_rng(3).multinomial(9, [0.1, 0.2, 0.7], size=len(credal))
    result = cr.validity_test(credal, counts, n_resamples=99, rng=0)
    assert (result.details.adjusted_pvalues >= result.details.pvalues).all()


def test_bad_input() -> None:
    probs = np.full((4, 3), 1 / 3)
    with pytest.raises(cr.UnsupportedError, match=r"a Dirichlet is not a set\. Choose which set you mean"):
        cr.validity_test(cr.Dirichlet(np.ones((4, 3))), np.ones((4, 3), dtype=int))
    with pytest.raises(cr.InputError, match="a whole number of raters"):
        cr.validity_test(probs, cr.LabelCounts.from_soft(np.tile([0.55, 0.25, 0.2], (4, 1)), 3))
    with pytest.raises(cr.InputError, match="must have 3 classes like the predictions; got 2"):
        cr.validity_test(probs, np.ones((4, 2), dtype=int))
    with pytest.raises(cr.InputError, match="one entry per prediction"):
        cr.validity_test(probs, np.ones((5, 3), dtype=int))
    with pytest.raises(cr.InputError, match="at least 7, one for each"):
        cr.validity_test(np.full((4, 5, 3), 1 / 3), np.ones((4, 3), dtype=int), n_resamples=5)
    with pytest.raises(cr.InputError, match=r"`counts` must have shape \(n, k\)"):
        cr.validity_test(probs, [0, 1, 2, 0])
    with pytest.raises(cr.InvalidRowsError, match="at least one rater per row"):
        cr.validity_test(probs, np.zeros((4, 3), dtype=int))
    with pytest.raises(cr.InputTypeError, match="class predictions"):
        cr.validity_test(cr.Gaussian(np.zeros(4), np.ones(4)), np.ones((4, 3), dtype=int))
    with pytest.raises(cr.InputTypeError, match="`progress` must be True, False or callable"):
        cr.validity_test(probs, np.ones((4, 3), dtype=int), progress=3)
    with pytest.raises(cr.InputError, match="`n_resamples` must be a positive integer"):
        cr.validity_test(probs, np.ones((4, 3), dtype=int), n_resamples=0)
