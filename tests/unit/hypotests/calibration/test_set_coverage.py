"""Coverage of sets and intervals, against published definitions written as loops."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.stats

import credibly as cr
from credibly._arrays.binomial import binomial_pvalue
from credibly.predictions import PredictionIntervals
from credibly.results import SetCoverage


def cover(sets: Any, labels: Any = None, *, claimed: float | None = None, **settings: Any) -> SetCoverage:
    """Test sets that are given as booleans, or as a pair of ends, with what they claim."""
    if isinstance(sets, tuple):
        sets, claimed = PredictionIntervals(*sets, claimed), None
    elif isinstance(sets, np.ndarray):
        sets, claimed = cr.PredictionSets(sets, claimed), None
    return cr.hypotests.set_coverage(sets, labels, claimed=claimed, **settings)


def intervals(n: int, missed: float = 0.1, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    centre, width = rng.normal(size=n), rng.uniform(1, 3, size=n)
    outside = rng.random(n) < missed
    return centre - width, centre + width, centre + np.where(outside, 4.0, 0.0) + 0.1 * rng.normal(size=n)


def test_numbers_of_mapie() -> None:
    """Coverage score, mean width, size-stratified coverage and interval score, by their definitions."""
    low, high, y = intervals(90)
    coverage = cover((low, high), y, claimed=0.9, n_resamples=19, rng=0)
    held = (low <= y) & (y <= high)
    assert coverage.coverage.value == pytest.approx(held.mean())
    assert coverage.size.value == pytest.approx((high - low).mean())
    order = np.argsort(high - low)
    assert coverage.by_size.coverage == pytest.approx([held[part].mean() for part in np.split(order, 3)])
    penalty = np.where(y < low, low - y, np.where(y > high, y - high, 0.0))
    assert coverage.score is not None
    assert coverage.score.value == pytest.approx((high - low + 20 * penalty).mean())


def test_sets_of_classes_by_their_size() -> None:
    sets = np.array([[1, 0, 0], [1, 1, 0], [0, 1, 1], [1, 1, 1], [0, 0, 1], [0, 1, 0]], dtype=bool)
    labels = np.array([0, 2, 1, 2, 2, 2])
    coverage = cover(sets, labels, claimed=0.5, groups=list("aabbba"), n_resamples=99, rng=0)
    assert coverage.coverage.value == pytest.approx(4 / 6)
    assert coverage.size.value == pytest.approx(10 / 6)
    assert coverage.score is None
    assert coverage.by_size.names == ("1", "2", "3")
    assert coverage.by_size.coverage == pytest.approx([2 / 3, 1 / 2, 1.0])
    assert coverage.by_group is not None
    assert coverage.by_group.coverage == pytest.approx([1 / 3, 1.0])
    assert coverage.features_pvalue is None


@pytest.mark.parametrize(
    ("count", "n", "share"), [(80, 100, 0.9), (97, 100, 0.9), (0, 10, 0.5), (10, 10, 0.9)]
)
def test_binomial_pvalue_is_twice_the_smaller_tail(count: int, n: int, share: float) -> None:
    lower = scipy.stats.binom.cdf(count, n, share)
    upper = scipy.stats.binom.sf(count - 1, n, share)
    assert binomial_pvalue(count, n, share) == pytest.approx(min(1.0, 2 * min(lower, upper)), rel=1e-10)


def test_misses_that_a_feature_foretells_are_found() -> None:
    """Right on average and by width, but all misses lie where x > 0.8."""
    rng = np.random.default_rng(3)
    x = rng.uniform(size=(400, 2))
    y = np.where(x[:, 0] > 0.8, rng.choice([0.0, 5.0], size=400), 0.0)
    ends = (np.full(400, -1.0), np.full(400, 1.0))
    coverage = cover(ends, y, claimed=0.9, features=x, n_resamples=199, rng=0)
    assert coverage.pvalue > 0.05
    assert coverage.features_pvalue == 0.005


def test_bad_input() -> None:
    low, high, y = intervals(5)
    with pytest.raises(cr.InvalidRowsError, match="must be booleans"):
        cover(np.full((3, 2), 0.5), [0, 1, 0], claimed=0.9)
    with pytest.raises(cr.InputError, match="must lie between 0 and 1 for 2 classes"):
        cover(np.array([[True, False], [True, True]]), [0, 2], claimed=0.9)
    with pytest.raises(cr.InputError, match="must be below infinity and not exceed `upper`"):
        cover((high, low), y, claimed=0.9)
    with pytest.raises(cr.InputError, match="`claimed` must lie strictly"):
        cover((low, high), y, claimed=1.0)
    with pytest.raises(cr.InputError, match="`groups` must have 5 entries"):
        cover((low, high), y, claimed=0.9, groups=["a"])
    with pytest.raises(cr.InputError, match="`features` must be finite; row 0 holds nan"):
        cover((low, high), y, claimed=0.9, features=np.full((5, 1), np.nan))
    with pytest.raises(cr.InputTypeError, match="`features` must hold numbers"):
        cover((low, high), y, claimed=0.9, features=["a"] * 5)
    with pytest.raises(cr.InputError, match=r"`features` must be numbers \(5, f\); got shape \(4, 1\)"):
        cover((low, high), y, claimed=0.9, features=np.ones(4))


def test_sets_that_claim_bring_everything() -> None:
    rng = np.random.default_rng(1)
    sets, labels = rng.random((60, 3)) < 0.7, rng.integers(0, 3, size=60)
    plain = cover(sets, labels, claimed=0.7, groups=np.arange(60) % 2, n_resamples=99, rng=0)
    coverage = cover(cr.PredictionSets(sets, 0.7), labels, groups=np.arange(60) % 2, n_resamples=99, rng=0)
    assert coverage.to_dict() == plain.to_dict()
    chunks = cr.scan(
        cr.PredictionSets(sets, 0.7), labels, groups=(np.arange(60) % 2).astype(str), chunk_rows=7
    )
    assert cover(chunks, n_resamples=99, rng=0).by_group.pvalue == plain.by_group.pvalue  # type: ignore[union-attr]
    crossed = cover(
        sets, labels, claimed=0.7, groups={"a": np.arange(60) % 2, "b": np.arange(60) % 3 % 2}, n_resamples=9
    )
    assert crossed.by_group is not None
    assert len(crossed.by_group.names) == 4


def test_central_intervals_of_distributions() -> None:
    rng = np.random.default_rng(2)
    mean, labels = rng.normal(size=200), rng.normal(size=200)
    gaussian = cr.Gaussian(mean, np.ones(200))
    coverage = cover(gaussian, labels, claimed=0.8, n_resamples=9, rng=0)
    assert coverage.coverage.value == cr.picp(gaussian, labels, level=0.8).value
    assert coverage.score is not None
    assert coverage.score.value == pytest.approx(cr.interval_score(gaussian, labels, level=0.8).value)


def test_a_note_says_what_intervals_between_few_draws_hold() -> None:
    rng = np.random.default_rng(3)
    draws, labels = rng.normal(size=(4000, 20)), rng.normal(size=4000)
    coverage = cover(cr.Samples(draws), labels, claimed=0.9, n_resamples=9, rng=0)
    assert coverage.coverage.value == pytest.approx(18 / 21, abs=0.012)  # between the 1st and the 19th of 20
    (note,) = coverage.notes
    assert note.startswith("intervals between 20 draws contain 85.7 % of the labels, not 90 %, even if")
    assert (
        cover(cr.Samples(rng.normal(size=(9, 500))), labels[:9], claimed=0.9, n_resamples=9, rng=0).notes
        == ()
    )
    assert cover(cr.Gaussian(labels, np.ones(4000)), labels, claimed=0.9, n_resamples=9, rng=0).notes == ()


def test_a_note_says_that_ends_of_counts_belong_to_their_intervals() -> None:
    """Labels are 0 or 1 with probability 1/2: the interval from 0 to 1 contains all, and claims 80 %."""
    labels = np.random.default_rng(4).integers(0, 2, size=400).astype(float)
    levels = np.arange(1, 20) / 20
    quantiles = cr.Quantiles(np.tile((levels > 0.5).astype(float), (400, 1)), levels)
    coverage = cover(quantiles, labels, claimed=0.8, n_resamples=9, rng=0)
    assert coverage.coverage.value == 1.0
    (note,) = coverage.notes
    assert note.startswith("in 400 instances the label equals an end of its interval")
    chunks = cr.scan(quantiles, labels, chunk_rows=150)
    assert cover(chunks, claimed=0.8, n_resamples=9, rng=0).notes[-1:] == coverage.notes
    draws = cr.Samples(np.random.default_rng(5).integers(0, 2, size=(400, 20)).astype(float))
    (note,) = cover(draws, labels, claimed=0.8, n_resamples=9, rng=0).notes  # and not that they hold less
    assert "contain more labels than they claim" in note
    stated = cr.predictions.PredictionIntervals(np.zeros(400), np.ones(400), claimed=0.8)
    assert cover(stated, labels, n_resamples=9, rng=0).notes == ()  # what they claim is theirs


def test_adjusted_pvalues_hold_together() -> None:
    low, high, y = intervals(400, missed=0.3)
    coverage = cover(
        (low, high), y, claimed=0.9, features=np.stack([low, y * 0], axis=1), n_resamples=199, rng=0
    )
    assert list(coverage.tests) == ["set_coverage", "coverage_by_size", "coverage_by_features"]
    for test in coverage.tests.values():
        assert test.adjusted_pvalue is not None
        assert test.adjusted_pvalue >= test.pvalue
    assert coverage.tests["set_coverage"].pvalue == coverage.pvalue < 1e-10
    assert coverage.rejects()
    assert str(coverage).startswith("90 % intervals contain 71 % of 400 labels")


@pytest.mark.parametrize(("n", "claimed"), [(1, 0.5), (20, 0.9), (57, 0.3), (400, 0.95)])
def test_accepted_shares_are_those_not_rejected(n: int, claimed: float) -> None:
    from credibly._arrays.binomial import accepted_shares

    kept = [count for count in range(n + 1) if binomial_pvalue(count, n, claimed) > 0.05]
    assert accepted_shares(n, claimed) == pytest.approx((kept[0] / n, kept[-1] / n))


def test_equal_widths_are_one_part_whatever_rounding_does() -> None:
    x = np.random.default_rng(0).normal(size=50)
    coverage = cover((x - 1.2, x + 1.2), x, claimed=0.9, n_resamples=9)
    assert coverage.by_size.names == ("2.4",)


def test_claims_that_are_missing_or_differ() -> None:
    sets = np.ones((3, 2), dtype=bool)
    for plain in (sets, sets.tolist(), (np.zeros(3), np.ones(3))):
        with pytest.raises(cr.InputTypeError, match=r"must be sets or intervals .* Wrap them"):
            cr.hypotests.set_coverage(plain, [0, 1, 0], claimed=0.9)
    with pytest.raises(cr.InputError, match="must be left out if the sets claim"):
        cover(cr.PredictionSets(sets, 0.9), [0, 1, 0], claimed=0.8)
    with pytest.raises(cr.InputTypeError, match="must be sets or intervals"):
        cover(cr.Point([[0.5, 0.5]]), [0], claimed=0.8)
    with pytest.raises(cr.UnsupportedError, match="one label per instance"):
        cover(cr.PredictionSets(sets, 0.9), cr.LabelCounts([[1, 2]] * 3))


def test_clusters_keep_their_dependence() -> None:
    """Rows of a cluster are all held or all missed: 400 independent rows would be far too sure."""
    rng = np.random.default_rng(0)
    of_cluster = rng.random(40) < 0.8
    y = np.repeat(np.where(of_cluster, 0.0, 5.0), 10)
    ends, codes = (np.full(400, -1.0), np.full(400, 1.0)), np.repeat(np.arange(40), 10)
    alone = cover(ends, y, claimed=0.9, n_resamples=199, rng=0)
    together = cover(ends, y, claimed=0.9, clusters=codes, n_resamples=199, rng=0)
    assert alone.pvalue is not None
    assert together.pvalue is not None
    assert alone.pvalue < 0.001 < together.pvalue
    assert together.coverage.stderr == pytest.approx(  # each cluster is one observation
        of_cluster.std(ddof=1) / np.sqrt(40), rel=1e-10
    )
    assert together.tests["set_coverage"].n_clusters == 40
    blocks = cover(ends, y, claimed=0.9, blocks=10, n_resamples=199, rng=0)
    assert blocks.pvalue == together.pvalue


def test_features_of_clusters() -> None:
    """Features that differ by cluster say which of them were missed, until folds keep clusters whole."""
    rng = np.random.default_rng(8)
    codes = np.repeat(np.arange(40), 10)
    of_cluster = rng.random(40) < 0.9
    ends, y = (np.full(400, -1.0), np.full(400, 1.0)), np.where(of_cluster, 0.0, 5.0)[codes]
    x = rng.normal(size=(40, 12))[codes]
    ask = {"claimed": 0.9, "n_resamples": 99, "rng": 0}
    alone, together = cover(ends, y, features=x, **ask), cover(ends, y, features=x, clusters=codes, **ask)
    assert alone.features_pvalue == 0.01
    assert together.features_pvalue > 0.05
    assert together.tests["coverage_by_features"].n_clusters == 40
    # misses that one feature foretells in every cluster
    z = rng.uniform(size=(400, 2))
    missed = np.where(z[:, 0] > 0.8, rng.choice([0.0, 5.0], size=400), 0.0)
    coverage = cover(ends, missed, features=z, clusters=codes, **ask)
    assert coverage.features_pvalue == 0.01
    few = cover(ends, missed, features=z, blocks=80, **ask)  # five clusters reject nothing at 5 %
    assert few.features_pvalue == 2**-4
    assert few.tests["coverage_by_features"].verdict() == "cannot tell"


def test_clusters_that_miss_hardly_anything_vary_as_coins_would() -> None:
    sets = cr.PredictionSets(np.tile([True, False], (200, 1)), claimed=0.99)
    coverage = cover(sets, np.zeros(200, dtype=int), clusters=np.arange(200) // 5, rng=0)
    assert coverage.pvalue > 0.1  # two misses are expected, none happened: exact p = 0.27
    assert coverage.tests["set_coverage"].acceptance_region[1] <= 1


def test_one_part_is_not_compared_with_itself() -> None:
    sets = cr.PredictionSets(np.tile([True, False], (200, 1)), claimed=0.9)
    coverage = cover(sets, np.r_[np.zeros(171, dtype=int), np.ones(29, dtype=int)], groups=["a"] * 200, rng=0)
    assert list(coverage.tests) == ["set_coverage"]
    assert coverage.by_size.pvalue is None
    assert coverage.by_size.coverage.tolist() == [0.855]


def test_ends_in_single_precision_are_inside() -> None:
    low, high = np.full(50, 0.1, dtype=np.float32), np.full(50, 0.9, dtype=np.float32)
    assert cover((low, high), np.full(50, 0.9), claimed=0.9).coverage.value == 1
