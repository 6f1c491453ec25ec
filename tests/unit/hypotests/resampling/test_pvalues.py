"""P-values, Monte-Carlo intervals, acceptance regions and the min-p adjustment."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.stats

import credibly as cr
from credibly._arrays.binomial import clopper_pearson
from credibly.hypotests.resampling.pvalues import (
    acceptance_region,
    fewest_resamples,
    level_beside,
    monte_carlo_pvalue,
    pooled_pvalues,
    settled,
    single_result,
    westfall_young,
)
from credibly.predictions import Classes
from credibly.statistics.pairwise import in_single_precision


def test_the_observation_counts() -> None:
    # nothing as large: (1 + 0) / (1 + 4), never 0
    assert monte_carlo_pvalue(5.0, np.array([1.0, 2.0, 3.0, 4.0]), "greater")[0] == 1 / 5
    # two as large
    assert monte_carlo_pvalue(3.0, np.array([1.0, 2.0, 3.0, 4.0]), "greater")[0] == 3 / 5


def test_rounding_does_not_break_ties() -> None:
    # 0.1 + 0.2 is one unit above 0.3: still a tie
    assert monte_carlo_pvalue(0.1 + 0.2, np.array([0.3, 0.3, 0.1]), "greater")[0] == 3 / 4
    # but 1e-12 is no rounding error
    assert monte_carlo_pvalue(0.3 + 1e-12, np.array([0.3, 0.3, 0.1]), "greater")[0] == 1 / 4


def test_values_that_differ_by_rounding_are_settled() -> None:
    # terms of size 1: 100 sqrt(100) eps = 2.2e-13 is rounding, however small the values are
    values = np.array([1e-4, 1e-4 + 1e-13, 1e-4 - 1e-13, 2e-4, 2e-4 + 3e-13, math.inf])
    found = settled(values, 1.0, 100)
    assert found.tolist() == [1e-4, 1e-4, 1e-4, 2e-4, 2e-4 + 3e-13, math.inf]
    assert settled(values, 0.0, 1) is values  # relative to 1e-4 nothing is close
    assert settled(np.array([math.inf, 1.0, 1.0 + 1e-15]), 1.0, 4).tolist() == [math.inf, 1.0, 1.0]


def test_a_region_without_end_is_refused() -> None:
    bound = cr.kl_ce.bind([[0.5, 0.5]] * 20, bandwidth=0.1)
    values = np.concatenate([[1.0, math.inf, math.inf], np.linspace(0, 1, 18)])
    with pytest.raises(cr.UnsupportedError, match=r"a test of `kl_ce` needs finite values .* 2 of 20"):
        single_result(bound, values, {})
    # one of 39 may be infinite: the second largest decides at 5 %
    few = np.concatenate([[1.0, math.inf], np.linspace(0, 1, 38)])
    assert single_result(bound, few, {}).pvalue == 3 / 40


def test_two_sided_is_twice_the_smaller_tail_and_at_most_one() -> None:
    null = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0])
    assert monte_carlo_pvalue(6.5, null, "two-sided")[0] == 2 * 2 / 8  # one at least as large
    assert monte_carlo_pvalue(0.5, null, "two-sided")[0] == 2 * 1 / 8  # none as small
    assert monte_carlo_pvalue(4.0, null, "two-sided")[0] == 1.0  # 2 * 5 / 8 is more than 1


def test_infinite_values_rank() -> None:
    null = np.array([1.0, math.inf, 2.0])
    assert monte_carlo_pvalue(math.inf, null, "greater")[0] == 2 / 4
    assert monte_carlo_pvalue(1.5, null, "greater")[0] == 3 / 4


@pytest.mark.parametrize(("successes", "trials"), [(0, 10), (10, 10), (3, 10), (49, 999), (1, 1), (0, 1)])
@pytest.mark.parametrize("level", [0.95, 0.99])
def test_clopper_pearson_against_scipy(successes: int, trials: int, level: float) -> None:
    interval = scipy.stats.binomtest(successes, trials).proportion_ci(level, method="exact")
    assert clopper_pearson(successes, trials, level) == pytest.approx((interval.low, interval.high))


def test_the_interval_of_a_two_sided_p_value_is_twice_that_of_its_tail() -> None:
    null = np.arange(100.0)
    low, high = clopper_pearson(5, 100)
    assert monte_carlo_pvalue(95.0, null, "two-sided")[1] == (2 * low, 2 * high)


@pytest.mark.parametrize("tail", ["greater", "two-sided"])
@pytest.mark.parametrize("b", [9, 18, 19, 20, 38, 39, 99, 100, 250, 999])
@pytest.mark.parametrize("ties", [False, True], ids=["distinct", "ties"])
def test_the_acceptance_region_is_what_the_p_value_accepts(tail: str, b: int, ties: bool) -> None:
    rng = np.random.default_rng(b)
    null = rng.integers(0, 12, size=b).astype(float) if ties else rng.normal(size=b)
    low, high = acceptance_region(null, tail, None)
    finite = np.concatenate([null, null + 1e-6, null - 1e-6, [null.min() - 1, null.max() + 1]])
    for value in finite:
        accepted = monte_carlo_pvalue(float(value), null, tail)[0] > 0.05
        assert accepted == (low <= value <= high), value


def test_the_region_ends_where_the_statistic_ends() -> None:
    null = np.linspace(0.2, 0.4, 99)
    assert acceptance_region(null, "greater", (0.0, 1.0))[0] == 0.0
    # 9 replicates cannot reject at 5 %: everything is accepted
    assert acceptance_region(null[:9], "two-sided", (0.0, 1.0)) == (0.0, 1.0)


def test_pooled_p_values_by_counting() -> None:
    rng = np.random.default_rng(1)
    values = rng.integers(0, 8, size=(2, 30)).astype(float)
    pooled = pooled_pvalues(values, ("greater", "two-sided"))
    for column in range(30):
        above = (values[0] >= values[0, column]).mean()
        assert pooled[0, column] == pytest.approx(above)
        tails = ((values[1] >= values[1, column]).mean(), (values[1] <= values[1, column]).mean())
        assert pooled[1, column] == pytest.approx(min(1.0, 2 * min(tails)))


def test_pooling_gives_the_observation_its_own_p_value() -> None:
    values = np.random.default_rng(2).normal(size=(1, 100))
    for tail in ("greater", "two-sided"):
        own = monte_carlo_pvalue(float(values[0, 0]), values[0, 1:], tail)[0]
        assert pooled_pvalues(values, (tail,))[0, 0] == pytest.approx(own)


def test_westfall_young_by_counting() -> None:
    rng = np.random.default_rng(3)
    values = rng.normal(size=(3, 50))
    values[2] = values[0] + 0.1 * values[2]  # two of them almost the same
    pooled = pooled_pvalues(values, ("greater",) * 3)
    pvalue, adjusted, smallest = westfall_young(pooled)
    least = [min(pooled[row][column] for row in range(3)) for column in range(50)]
    assert smallest.tolist() == least
    assert pvalue == sum(one <= least[0] for one in least) / 50
    for row in range(3):
        assert adjusted[row] == sum(one <= pooled[row, 0] for one in least) / 50
        assert adjusted[row] >= pooled[row, 0]
    assert pvalue == adjusted.min()


def test_an_omnibus_of_one_statistic_is_that_statistic() -> None:
    pooled = pooled_pvalues(np.random.default_rng(4).normal(size=(1, 40)), ("greater",))
    assert westfall_young(pooled)[0] == pytest.approx(pooled[0, 0])


def test_adjusted_pvalues_are_not_below_the_raw_ones() -> None:
    """Ties below: the observation is the only large value, so twice its rank is above the rank itself."""
    values = np.array([[3.0, 0.0, 0.0, 0.0]])
    pooled = pooled_pvalues(values, ("two-sided",))
    assert pooled[0, 0] == 0.5  # 2 * 1 / 4
    pvalue, adjusted, _ = westfall_young(pooled)
    assert pvalue == 0.25  # the three others have p-values of 1
    assert adjusted[0] == 0.5


def test_ties_in_single_precision_are_settled() -> None:
    rng = np.random.default_rng(0)
    bound = in_single_precision(cr.skce).bind(np.tile([0.1, 0.2, 0.7], (400, 1)))
    labels = rng.integers(0, 3, size=400)
    values = bound(Classes(np.stack([rng.permutation(labels) for _ in range(30)]), 3))
    assert np.ptp(values) > 1e-12  # equal but for rounding
    assert np.ptp(settled(values, bound.term_size, bound.n, bound.rounding)) == 0


def holm(pvalues: list[float], level: float) -> list[bool]:
    """Reject the smallest p-value at level / m, the next at level / (m - 1), up to the first that is not."""
    order, found = sorted(range(len(pvalues)), key=pvalues.__getitem__), [False] * len(pvalues)
    for place, at in enumerate(order):
        if pvalues[at] > level / (len(pvalues) - place):
            break
        found[at] = True
    return found


def test_levels_beside_others_are_those_of_holm() -> None:
    assert level_beside([], 0.05) == 0.05
    assert level_beside([0.03], 0.05) == 0.025  # the other is not rejected at 0.05 / 2
    assert level_beside([0.02], 0.05) == 0.05  # the other is
    assert level_beside([0.04, 0.01], 0.05) == 0.025  # 0.01 <= 0.05 / 3, and 0.04 > 0.05 / 2
    rng = np.random.default_rng(0)
    for _ in range(500):
        pvalues = (rng.random(rng.integers(1, 6)) ** 3).tolist()
        each = [one <= level_beside(pvalues[:at] + pvalues[at + 1 :], 0.05) for at, one in enumerate(pvalues)]
        assert each == holm(pvalues, 0.05)


@pytest.mark.parametrize(("level", "sides", "number"), [(0.05, 2, 39), (0.05, 1, 19), (0.025, 2, 79)])
def test_the_fewest_replicates_reach_the_level(level: float, sides: int, number: int) -> None:
    assert fewest_resamples(level, sides) == number  # 2 / 40 = 1 / 20 = 0.05, 2 / 80 = 0.025
