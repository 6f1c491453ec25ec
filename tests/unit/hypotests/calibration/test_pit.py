"""Curves over all levels with envelopes, and tests of real values."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import credibly as cr
from credibly.hypotests.calibration.pit import curve_pvalues, envelope
from credibly.hypotests.resampling.replicates import RealReplicates, drawn_members
from kinds import REAL_STATISTICS
from optional import torch

RNG = np.random.default_rng(0)
N, M = 60, 4
MEAN = RNG.normal(size=(N, M))
MEMBERS = cr.Gaussian(MEAN, np.ones((N, M)))
LABELS = MEAN[:, 0] + RNG.normal(size=N)
LEVELS = np.arange(1, 20) / 20


# Envelopes


def brute_pvalues(curves: np.ndarray) -> list[float]:
    """Rank every curve among all by its sorted pointwise two-sided ranks, one pair at a time."""
    total, levels = curves.shape
    vectors = []
    for curve in curves:
        ranks = []
        for j in range(levels):
            above, below = (curves[:, j] >= curve[j]).sum(), (curves[:, j] <= curve[j]).sum()
            ranks.append(min(total, 2 * min(above, below)))
        vectors.append(sorted(ranks))
    return [sum(other <= vector for other in vectors) / total for vector in vectors]


@pytest.mark.parametrize("discrete", [False, True])
def test_curve_p_values_by_their_definition(discrete: bool) -> None:
    rng = np.random.default_rng(1)
    curves = np.cumsum(rng.normal(size=(40, 7)), axis=1)
    curves = np.round(curves) if discrete else curves
    assert np.allclose(curve_pvalues(curves), brute_pvalues(curves))


def test_a_curve_extreme_everywhere_beats_those_extreme_somewhere() -> None:
    """Five levels, five replicates each extreme at one of them: by the first rank alone all would tie."""
    curves = np.concatenate([np.full((1, 5), 10.0), 9.0 * np.eye(5), np.zeros((14, 5))])
    assert curve_pvalues(curves)[0] == 1 / 20


@pytest.mark.parametrize("level", [0.05, 0.2])
def test_a_curve_is_rejected_exactly_when_it_leaves_the_envelope(level: float) -> None:
    rng = np.random.default_rng(2)
    curves = np.cumsum(rng.normal(size=(100, 6)), axis=1)  # no ties
    for first in range(100):
        pvalue, low, high = envelope(np.roll(curves, -first, axis=0), level)
        outside = bool(((curves[first] < low) | (curves[first] > high)).any())
        assert outside == (pvalue <= level)


def test_too_few_replicates_reject_nothing() -> None:
    curves = np.concatenate([np.full((1, 3), 50.0), np.random.default_rng(3).normal(size=(9, 3))])
    pvalue, low, high = envelope(curves, 0.05)
    assert pvalue == 0.1
    assert (low <= curves.min(axis=0)).all()
    assert (high >= 50).all()


# Curves of predictions


def test_shares_are_those_of_the_pit() -> None:
    curve = cr.pit_test(MEMBERS, LABELS, levels=20, n_resamples=19, rng=0)
    values = cr.pit(MEMBERS, LABELS)
    assert np.allclose(curve.levels, LEVELS)
    assert curve.observed.tolist() == [np.mean(values <= level) for level in LEVELS]
    assert np.allclose(curve.difference, curve.observed - LEVELS)


@pytest.mark.parametrize(
    "predictions",
    [MEMBERS, cr.Samples(np.round(RNG.normal(size=(N, 9)), 1)), cr.Samples(RNG.normal(size=(N, 30)))],
    ids=repr,
)
def test_coverage_curve_is_picp_at_every_level(predictions: cr.Gaussian) -> None:
    labels = np.round(LABELS, 1)  # ties with the ends of intervals
    curve = cr.coverage_curve(predictions, labels, levels=10, n_resamples=19, rng=0)
    assert np.allclose(curve.levels, np.arange(1, 10) / 10)
    for level, share in zip(curve.levels, curve.observed, strict=True):
        assert share == pytest.approx(float(cr.picp(predictions, labels, level=float(level))))


def test_coverage_of_quantiles_uses_their_symmetric_levels() -> None:
    table = np.tile([-2.0, -1.0, 0.0, 1.0, 3.0], (4, 1))
    quantiles = cr.Quantiles(table, [0.05, 0.2, 0.4, 0.8, 0.95])
    curve = cr.coverage_curve(quantiles, [-1.5, 0.0, 1.0, 5.0], n_resamples=19, rng=0)
    assert curve.levels.tolist() == pytest.approx([0.6, 0.9])
    assert curve.observed.tolist() == [0.5, 0.75]  # -1 to 1 holds 0 and 1; -2 to 3 holds -1.5 too
    with pytest.raises(cr.UnsupportedError, match="need two levels l and 1 - l"):
        cr.coverage_curve(cr.Quantiles([[0.0, 1.0]], [0.2, 0.5]), [0.0])


@pytest.mark.parametrize("hypothesis", ["independent", "bayesian"])
def test_envelope_is_that_of_the_replicates_of_the_hypothesis(hypothesis: str) -> None:
    curve = cr.pit_test(MEMBERS, LABELS, levels=20, hypothesis=hypothesis, n_resamples=99, rng=5)
    seed = tuple(curve.settings["seed"])
    members = drawn_members(MEMBERS, seed, 99) if hypothesis == "bayesian" else None
    drawn = RealReplicates(MEMBERS, seed, members=members).labels(slice(0, 99)).values
    shares = [[np.mean(cr.pit(MEMBERS, row) <= level) for level in LEVELS] for row in (LABELS, *drawn)]
    expected = brute_pvalues(np.array(shares))
    assert curve.pvalue == pytest.approx(expected[0])
    kept = np.array(shares)[np.array(expected) > 0.05]
    assert np.allclose(curve.lower, kept.min(axis=0))
    assert np.allclose(curve.upper, kept.max(axis=0))


@pytest.mark.parametrize("test", [cr.pit_test, cr.coverage_curve])
def test_curves_have_a_verdict_like_other_tests(test) -> None:
    labels = np.random.default_rng(0).normal(size=200)

    def found(std: float, n: int = 200, n_resamples: int = 99) -> cr.results.EnvelopeCurve:
        return test(cr.Gaussian(np.zeros(n), np.full(n, std)), labels[-n:], n_resamples=n_resamples, rng=0)

    assert found(0.3).verdict() == "conflict"
    assert found(1.0).verdict() == "no conflict found"
    assert found(1.0, n_resamples=9).verdict() == "cannot tell"  # no p-value below 1 / 10
    assert found(1.0, n_resamples=9).verdict(0.2) == "no conflict found"
    assert found(1.0, n=2).verdict() == "cannot tell"  # of two labels nearly any curve is accepted
    assert str(found(0.3)).endswith("conflict")
    with pytest.raises(cr.InputError, match="level"):
        found(1.0).verdict(2)


def test_one_drawn_member_widens_the_envelope() -> None:
    """Labels that share a member wander together: an envelope of independent labels would reject them."""
    apart = cr.Gaussian(np.tile(np.linspace(-1, 1, 9), (300, 1)), np.ones((300, 9)))
    labels = 1.0 + np.random.default_rng(6).normal(size=300)
    independent = cr.pit_test(apart, labels, n_resamples=199, rng=0)
    bayesian = cr.pit_test(apart, labels, hypothesis="bayesian", n_resamples=199, rng=0)
    assert independent.rejects(0.05)
    assert not bayesian.rejects(0.05)
    assert (bayesian.upper - bayesian.lower).mean() > 2 * (independent.upper - independent.lower).mean()
    assert "one member, drawn once" in bayesian.hypothesis


def test_the_same_seed_gives_the_same_curve_on_torch() -> None:
    there = cr.Gaussian(torch.tensor(MEAN, requires_grad=True), torch.ones(N, M, dtype=torch.float64))
    for test in (cr.pit_test, cr.coverage_curve):
        result = test(MEMBERS, LABELS, n_resamples=49, rng=1)
        other = test(there, torch.tensor(LABELS), n_resamples=49, rng=1)
        assert isinstance(other.observed, np.ndarray)
        assert result.to_dict() == other.to_dict()


def test_progress_and_words() -> None:
    seen: list[tuple[int, int]] = []
    curve = cr.pit_test(MEMBERS, LABELS + 9, n_resamples=19, rng=0, progress=lambda *at: seen.append(at))
    assert seen[-1] == (19, 19)
    assert "largest difference -" in str(curve)
    assert curve.outside.any() == curve.rejects(0.05)
    with pytest.raises(cr.InputError, match="`level`"):
        curve.rejects(5)


@pytest.mark.parametrize("test", [cr.pit_test, cr.coverage_curve], ids=["pit", "coverage"])
@pytest.mark.parametrize(
    ("predictions", "settings", "words"),
    [
        (cr.LabelCounts([[1, 2]] * N), {}, "needs real-valued predictions; got LabelCounts"),
        (MEMBERS, {"hypothesis": "both"}, "`hypothesis` must be one of"),
        (MEMBERS, {"level": 5}, "`level` must lie strictly between"),
        (MEMBERS, {"n_resamples": 0}, "`n_resamples` must be"),
        (MEMBERS, {"levels": 1}, "`levels` must be an integer"),
        (MEMBERS, {"levels": 10**9}, "`levels` must be"),
        (MEMBERS, {"rng": -1}, "`rng` must be"),
        (cr.Gaussian(np.zeros(N), np.ones(N)), {"hypothesis": "bayesian"}, "the members are lost"),
        (cr.Samples(np.zeros((N, 3))), {"hypothesis": "bayesian"}, "the members are lost"),
        (cr.Quantiles(np.zeros((N, 19)), LEVELS), {"hypothesis": "bayesian"}, "the members are lost"),
    ],
)
def test_refused(test, predictions: object, settings: dict, words: str) -> None:
    labels = np.zeros(N, dtype=int)
    with pytest.raises(cr.CrediblyError, match=words):
        test(predictions, labels, **{"n_resamples": 19, **settings})


# calibration_test


def test_the_default_is_the_family_that_the_study_of_worlds_chose() -> None:
    """docs/theory/regression.md: what is wrong given the prediction, a shift of all, means too extreme."""
    result = cr.calibration_test(MEMBERS, LABELS, n_resamples=19, rng=0)
    chosen = ["skce", "quantile_calibration_error", "mean_slope"]
    named = cr.calibration_test(MEMBERS, LABELS, statistics=chosen, n_resamples=19, rng=0)
    assert list(result.components) == chosen
    assert result.pvalue == named.pvalue
    alone = cr.calibration_test(MEMBERS[:1], LABELS[:1], n_resamples=19, rng=0)
    assert alone.statistic_name == "quantile_calibration_error"  # one instance has no pairs


def test_the_default_compares_pairs_of_a_part_of_many_instances() -> None:
    rng = np.random.default_rng(0)
    gaussian, labels = cr.Gaussian(np.zeros(1200), np.ones(1200)), rng.normal(size=1200)
    parts = cr.calibration_test(gaussian, labels, n_resamples=19, rng=0).components
    assert parts["skce"].n == 1000
    assert parts["quantile_calibration_error"].n == 1200
    assert any("computed on 1000 of 1200 instances" in note for note in parts["skce"].notes)


@pytest.mark.slow
def test_replicates_are_those_of_the_mixture() -> None:
    result = cr.calibration_test(MEMBERS, LABELS, statistics=REAL_STATISTICS, n_resamples=9, rng=4)
    seed = tuple(result.settings["seed"])
    drawn = RealReplicates(MEMBERS, seed).labels(slice(0, 9)).values
    for name, component in result.components.items():
        expected = [float(cr.statistics.registered()[name](MEMBERS, row)) for row in drawn]
        assert np.allclose(component.null_distribution, expected, rtol=1e-9)


@pytest.mark.parametrize("name", REAL_STATISTICS)
def test_decision_and_acceptance_region_agree(name: str) -> None:
    for shift in (0.0, 0.4, 3.0):
        result = cr.calibration_test(MEMBERS, LABELS + shift, statistics=name, n_resamples=99, rng=1)
        low, high = result.acceptance_region
        assert result.rejects(0.05) == (not low <= result.statistic <= high)


def test_torch_gives_the_same_p_values() -> None:
    there = cr.Gaussian(torch.tensor(MEAN), torch.ones(N, M, dtype=torch.float64))
    result = cr.calibration_test(MEMBERS, LABELS, statistics=REAL_STATISTICS, n_resamples=49, rng=2)
    other = cr.calibration_test(
        there, torch.tensor(LABELS), statistics=REAL_STATISTICS, n_resamples=49, rng=2
    )
    assert result.pvalue == other.pvalue
    for name in REAL_STATISTICS:
        assert result.components[name].pvalue == other.components[name].pvalue


def test_memory_changes_nothing() -> None:
    many = cr.Gaussian(np.zeros(4000), np.ones(4000))
    labels = np.random.default_rng(3).normal(size=4000)
    whole = cr.calibration_test(many, labels, statistics=("picp", "crps"), n_resamples=60, rng=0)
    with cr.memory_limit(2**20):
        tiled = cr.calibration_test(many, labels, statistics=("picp", "crps"), n_resamples=60, rng=0)
    for name in ("picp", "crps"):
        first, second = whole.components[name], tiled.components[name]
        assert np.allclose(first.null_distribution, second.null_distribution, rtol=1e-12)
        assert first.pvalue == second.pvalue


def test_few_quantiles_are_tested_by_coverage_only() -> None:
    few = cr.Quantiles(np.tile([-1.0, 0.0, 1.0], (N, 1)), [0.05, 0.5, 0.95])
    for name in ("picp", "quantile_calibration_error"):
        assert 0 < cr.calibration_test(few, LABELS, statistics=name, n_resamples=19, rng=0).pvalue <= 1
    for name in ("crps", "mae", "interval_score"):
        with pytest.raises(cr.UnsupportedError, match="only how often labels lie between them"):
            cr.calibration_test(few, LABELS, statistics=name, n_resamples=19)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"statistics": "brier"}, "`brier` needs class probabilities; got Gaussian"),
    ],
)
def test_what_a_test_of_real_values_refuses(settings: dict, words: str) -> None:
    with pytest.raises(cr.CrediblyError, match=words):
        cr.calibration_test(MEMBERS, LABELS, n_resamples=19, **settings)


def test_user_statistics_take_real_labels() -> None:
    def largest(predictions: cr.Gaussian, labels: np.ndarray) -> float:
        return float(np.abs(labels - predictions.expectation()).max())

    estimate = cr.statistic(largest, tail="greater")
    result = cr.calibration_test(MEMBERS, LABELS, statistics=estimate, n_resamples=29, rng=0)
    drawn = RealReplicates(MEMBERS, tuple(result.settings["seed"])).labels(slice(0, 29)).values
    assert np.allclose(result.null_distribution, [largest(MEMBERS, row) for row in drawn])
    pairs = itertools.pairwise(np.sort(result.null_distribution))
    assert all(first <= second for first, second in pairs)


GRADES = np.random.default_rng(8).dirichlet(np.ones(4), size=60)
GRADES[:5] = [0.0, 0.5, 0.5, 0.0]  # steps of no height
GIVEN_GRADES = (np.random.default_rng(9).random((60, 1)) > GRADES.cumsum(axis=1)).sum(axis=1)


def parts_below(probs: np.ndarray, label: int, level: float) -> float:
    """The part below a level of a label that is spread evenly over its step: Czado, Gneiting and Held."""
    low, high = probs[:label].sum(), probs[: label + 1].sum()
    if high == low:
        return float(level >= low)
    return float(np.clip((level - low) / (high - low), 0, 1))


def test_ordered_classes_by_hand() -> None:
    curve = cr.pit_test(GRADES, GIVEN_GRADES, levels=(0.2, 0.5, 0.9), n_resamples=99, rng=0)
    expected = [
        np.mean([parts_below(row, label, level) for row, label in zip(GRADES, GIVEN_GRADES, strict=True)])
        for level in (0.2, 0.5, 0.9)
    ]
    assert curve.observed == pytest.approx(expected, rel=1e-12)
    assert curve.name == "pit"
    assert "classes are taken in their order" in curve.notes[-1]
    # the mean over randomised places
    random = [(cr.pit(GRADES, GIVEN_GRADES, rng=seed) <= 0.5).mean() for seed in range(400)]
    assert curve.observed[1] == pytest.approx(np.mean(random), abs=0.01)
    # in chunks and of tensors the same
    chunks = cr.scan(GRADES, GIVEN_GRADES, chunk_rows=7)
    again = cr.pit_test(chunks, levels=(0.2, 0.5, 0.9), n_resamples=99, rng=0)
    assert again.pvalue == curve.pvalue
    assert again.observed == pytest.approx(curve.observed, rel=1e-12)


def test_grades_that_are_too_high_are_found() -> None:
    assert cr.pit_test(GRADES, GIVEN_GRADES, levels=10, n_resamples=99, rng=0).pvalue > 0.05
    higher = np.minimum(GIVEN_GRADES + 1, 3)
    result = cr.pit_test(GRADES, higher, levels=10, n_resamples=99, rng=0)
    assert result.pvalue <= 0.02
    assert (result.difference < 0).sum() > 6  # labels lie too high, so too few are below
    clustered = cr.pit_test(GRADES, higher, levels=10, n_resamples=99, clusters=np.arange(60) // 2, rng=0)
    assert clustered.pvalue <= 0.05
    members = cr.Ensemble(np.stack([GRADES, GRADES[::-1]], axis=1))
    shared = cr.pit_test(members, GIVEN_GRADES, levels=10, hypothesis="bayesian", n_resamples=99, rng=0)
    assert 0 < shared.pvalue <= 1
    with pytest.raises(cr.UnsupportedError, match="the members are lost"):
        cr.pit_test(GRADES, GIVEN_GRADES, hypothesis="bayesian")
    with pytest.raises(cr.InputTypeError, match="one class per instance"):
        cr.pit_test(GRADES, cr.LabelCounts(np.eye(4, dtype=int)[GIVEN_GRADES]))


def test_clusters_of_repeated_draws_are_not_miscalibrated() -> None:
    """Labels that equal a draw count as below it, and as inside an interval that ends there."""
    ids, found = np.arange(400) // 10, []
    for seed in range(10):
        rng = np.random.default_rng(seed)
        rate = np.exp(rng.normal(size=400) / 2)
        samples, labels = cr.Samples(rng.poisson(rate[:, None], (400, 30)) * 1.0), rng.poisson(rate) * 1.0
        asked = {"clusters": ids, "n_resamples": 99, "rng": seed}
        found.append([curve(samples, labels, **asked).pvalue for curve in (cr.pit_test, cr.coverage_curve)])
        for name in ("picp", "quantile_calibration_error"):
            found[-1].append(cr.calibration_test(samples, labels, statistics=[name], **asked).pvalue)
    # at most 4 of 10 with probability .9999 each if calibrated; without pools of label and draws, all were
    assert (np.array(found) <= 0.05).sum(axis=0).max() <= 4


def test_clusters_of_rain_are_not_miscalibrated() -> None:
    """60 % of the labels are 0, and so are the quantiles below: such labels count where they fit best."""
    levels, ids, found = np.array([0.05, 0.25, 0.5, 0.75, 0.95]), np.arange(400) // 10, []
    for seed in range(10):
        rng = np.random.default_rng(seed)
        scale = np.exp(rng.normal(size=400) / 2)
        values = -np.log(1 - np.maximum(levels - 0.6, 0) / 0.4) * scale[:, None]
        rain = np.where(rng.random(400) < 0.6, 0.0, rng.exponential(size=400) * scale)
        asked = cr.Quantiles(values, levels), rain
        same = {"clusters": ids, "n_resamples": 99, "rng": seed}
        found.append([curve(*asked, **same).pvalue for curve in (cr.pit_test, cr.coverage_curve)])
        for name in ("picp", "quantile_calibration_error"):
            found[-1].append(cr.calibration_test(*asked, statistics=[name], **same).pvalue)
    assert (np.array(found) <= 0.05).sum(axis=0).max() <= 3  # all were rejected where they counted as below
    dry = cr.pit_test(asked[0], 0 * rain, clusters=ids, n_resamples=99, rng=0)
    assert dry.pvalue <= 0.05  # 75 % quantiles are above 0, where 100 % of the labels are below


def test_clusters_of_few_draws_are_compared_with_what_these_expect() -> None:
    rng = np.random.default_rng(0)
    samples, ids = cr.Samples(rng.normal(size=(1000, 5))), np.arange(1000) // 10
    right = cr.pit_test(samples, rng.normal(size=1000), clusters=ids, rng=0)
    assert abs(right.expected[19] - 1 / 6) < 0.002  # the 20 % quantile of 5 draws is the smallest of them
    wide = cr.pit_test(samples, rng.normal(size=1000) * 1.3, clusters=ids, rng=0)
    assert right.pvalue > 0.1
    assert wide.pvalue <= 0.05  # 0.46 where distances from 0.99 hid that from 5/6


def test_clusters_of_few_draws_are_not_miscalibrated() -> None:
    """The 90 % interval of 15 draws holds 14 of 16 numbers; signs of clusters start from that share."""
    rng = np.random.default_rng(11)
    pvalues = []
    for seed in range(12):
        samples, labels = cr.Samples(rng.normal(size=(200, 15))), rng.normal(size=200)
        ids = np.arange(200) // 4
        pvalues.append(cr.pit_test(samples, labels, clusters=ids, n_resamples=99, rng=seed).pvalue)
    assert np.mean(np.array(pvalues) <= 0.05) <= 0.25  # was 42 % where levels themselves were expected
    samples, labels, ids = cr.Samples(rng.normal(size=(40, 15))), rng.normal(size=40), np.arange(40) // 2
    inside = cr.calibration_test(samples, labels, statistics="picp", clusters=ids, n_resamples=999, rng=0)
    # draws 1 and 15 of 15: 14 of 16 numbers, and every one of them is the label once
    assert np.mean(inside.null_distribution) == pytest.approx(14 / 16, abs=0.01)
    assert cr.skce(samples, labels, clusters=ids).n_clusters == 20
