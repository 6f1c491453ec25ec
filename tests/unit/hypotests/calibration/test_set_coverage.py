"""Coverage of sets and intervals, against published definitions written as loops."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats

import credibly as cr
from credibly.hypotests.calibration.set_coverage import binomial_pvalue

COVER = cr.hypotests.set_coverage


def intervals(n: int, missed: float = 0.1, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    centre, width = rng.normal(size=n), rng.uniform(1, 3, size=n)
    outside = rng.random(n) < missed
    return centre - width, centre + width, centre + np.where(outside, 4.0, 0.0) + 0.1 * rng.normal(size=n)


def test_numbers_of_mapie() -> None:
    """Coverage score, mean width, size-stratified coverage and interval score, by their definitions."""
    low, high, y = intervals(90)
    found = COVER((low, high), y, claimed=0.9, n_resamples=19, rng=0)
    held = (low <= y) & (y <= high)
    assert found.coverage.value == pytest.approx(held.mean())
    assert found.size.value == pytest.approx((high - low).mean())
    order = np.argsort(high - low)
    assert found.by_size.coverage == pytest.approx([held[part].mean() for part in np.split(order, 3)])
    assert found.by_size.lowest == found.by_size.coverage.min()  # the SSC score, three bins
    penalty = np.where(y < low, low - y, np.where(y > high, y - high, 0.0))
    assert found.score is not None
    assert found.score.value == pytest.approx((high - low + 20 * penalty).mean())


def test_sets_of_classes_by_their_size() -> None:
    sets = np.array([[1, 0, 0], [1, 1, 0], [0, 1, 1], [1, 1, 1], [0, 0, 1], [0, 1, 0]], dtype=bool)
    labels = np.array([0, 2, 1, 2, 2, 2])
    found = COVER(sets, labels, claimed=0.5, groups=list("aabbba"), n_resamples=99, rng=0)
    assert found.coverage.value == pytest.approx(4 / 6)
    assert found.size.value == pytest.approx(10 / 6)
    assert found.score is None
    assert found.by_size.names == ("1", "2", "3")
    assert found.by_size.coverage == pytest.approx([2 / 3, 1 / 2, 1.0])
    assert found.by_group is not None
    assert found.by_group.coverage == pytest.approx([1 / 3, 1.0])
    assert found.features_pvalue is None
    assert found.slab is None


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
    found = COVER(ends, y, claimed=0.9, features=x, n_resamples=199, rng=0)
    assert found.pvalue > 0.05
    assert found.features_pvalue == 0.005
    assert found.slab is not None
    assert found.slab.pvalue == 0.005
    assert found.slab.coverage < 0.7
    assert abs(found.slab.direction[0]) > 0.9
    # the slab by hand
    z = (x - x.mean(axis=0)) / x.std(axis=0) @ found.slab.direction
    inside = (z >= found.slab.low) & (z <= found.slab.high)
    assert inside.sum() == found.slab.n
    assert (np.abs(y[inside]) <= 1).mean() == pytest.approx(found.slab.coverage)


def test_bad_input() -> None:
    low, high, y = intervals(5)
    with pytest.raises(cr.InputTypeError, match="must be booleans"):
        COVER(np.ones((3, 2)), [0, 1, 0], claimed=0.9)
    with pytest.raises(cr.InputError, match="must be 2 classes from 0 to 1"):
        COVER([[True, False], [True, True]], [0, 2], claimed=0.9)
    with pytest.raises(cr.InputError, match="finite and in order"):
        COVER((high, low), y, claimed=0.9)
    with pytest.raises(cr.InputError, match="`level` must lie strictly"):
        COVER((low, high), y, claimed=1.0)
    with pytest.raises(cr.InputError, match="`groups` must have 5 entries"):
        COVER((low, high), y, claimed=0.9, groups=["a"])
    with pytest.raises(cr.InputError, match="`features` must be finite numbers"):
        COVER((low, high), y, claimed=0.9, features=np.full((5, 1), np.nan))
    with pytest.raises(cr.InputError, match="`least`"):
        COVER((low, high), y, claimed=0.9, least=0)
