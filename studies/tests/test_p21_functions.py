"""Functions drawn from members, and the check of one label."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import scipy.stats
from scipy.special import ndtri

import credibly as cr
from credibly.hypotests.resampling.replicates import RealReplicates, drawn_members
from credibly_studies.p21 import functions_picture, member_functions, observation_check
from same_numbers import differences

RNG = np.random.default_rng(0)
N, M = 60, 4
MEAN = RNG.normal(size=(N, M))
MEMBERS = cr.Gaussian(MEAN, np.ones((N, M)))
LABELS = MEAN[:, 0] + RNG.normal(size=N)


def test_functions_of_members() -> None:
    x = np.array([3.0, 1.0, 2.0])
    slopes = np.array([-1.0, 0.0, 1.0, 2.0])
    gaussian = cr.Gaussian(x[:, None] * slopes, np.full((3, 4), 0.5))
    found = member_functions(gaussian, x, x=x, n_functions=2, level=0.8, rng=1)
    assert found.x.tolist() == [1.0, 2.0, 3.0]
    assert found.labels.tolist() == [1.0, 2.0, 3.0]
    assert np.allclose(found.centre, found.x[:, None] * slopes[found.members])
    half = 0.5 * ndtri(0.9)
    assert np.allclose(found.high - found.centre, half)
    assert np.allclose(found.centre - found.low, half)
    total = cr.Gaussian(found.x[:, None] * slopes, np.full((3, 4), 0.5)).quantile([0.1, 0.9])
    assert np.allclose(np.stack([found.total_low, found.total_high], axis=1), total)
    everyone = member_functions(cr.Samples(np.zeros((3, 2, 5))), x=x, rng=0)
    assert everyone.members.tolist() == [0, 1]
    assert everyone.labels is None


@pytest.mark.parametrize(
    ("given", "x", "settings", "message"),
    [
        (cr.Gaussian([0.0], [1.0]), [1.0], {}, "with members"),
        (cr.Point([[0.5, 0.5]]), [1.0], {}, "with members"),
        (cr.Gaussian([[0.0]], [[1.0]]), [1.0, 2.0], {}, "one per instance"),
        (cr.Gaussian([[0.0]], [[1.0]]), [np.nan], {}, "NaN"),
        (cr.Gaussian([[0.0]], [[1.0]]), [1.0], {"n_functions": 0}, "positive integer"),
        (cr.Gaussian([[0.0]], [[1.0]]), [1.0], {"level": 1}, "level"),
    ],
)
def test_functions_of_members_are_refused(given, x, settings: dict, message: str) -> None:
    with pytest.raises(cr.CrediblyError, match=message):
        member_functions(given, x=x, **settings)


def test_a_picture_of_functions() -> None:
    x = np.linspace(-1, 1, 9)
    gaussian = cr.Gaussian(x[:, None] * np.array([-1.0, 1.0]), np.full((9, 2), 0.2))
    functions = member_functions(gaussian, x, x=x, rng=0)
    picture = functions_picture(functions)
    inside = np.mean((x >= functions.total_low) & (x <= functions.total_high))
    assert f"contains {100 * inside:.3g} % of the labels" in picture.finding
    ax = functions.plot()
    assert len(ax.lines) == 2 * 3 + 1  # centre and two edges per member, the labels
    assert len(ax.collections) == 1
    assert picture.table().columns == ("feature", "band of all", "member 0", "member 1")
    assert "labels" not in functions_picture(dataclasses.replace(functions, labels=None)).finding


def test_one_label_by_its_definition() -> None:
    for i in (0, 7):
        result = observation_check(MEMBERS, LABELS, instance=i)
        share = cr.pit(MEMBERS, LABELS)[i]
        assert result.statistic == pytest.approx(share)
        assert result.pvalue == pytest.approx(2 * min(share, 1 - share))
        assert (result.n, result.n_resamples) == (1, 0)


def test_one_label_among_draws_counts_itself() -> None:
    draws = cr.Samples([np.arange(1.0, 20)])
    # 19 draws, one at least as large as 19: 2 (1 + 1) / 20; none as large as 30: 2 / 20
    assert observation_check(draws, [19.0]).pvalue == pytest.approx(0.2)
    assert observation_check(draws, [30.0]).pvalue == pytest.approx(0.1)
    assert observation_check(draws, [10.0]).pvalue == 1.0


@pytest.mark.parametrize("sign", [-1, 1])
def test_one_label_far_out_has_a_small_p_value_on_both_sides(sign: int) -> None:
    result = observation_check(cr.Gaussian([0.0], [1.0]), [sign * 20.0])
    assert result.pvalue == pytest.approx(2 * scipy.stats.norm.sf(20), rel=1e-9)
    assert result.verdict() == "conflict"
    assert observation_check(cr.Gaussian([0.0], [1.0]), [sign * 1e9]).pvalue > 0
    assert observation_check(cr.Gaussian([0.0], [1.0]), [0.1]).verdict() == "cannot tell"


def test_one_label_is_uniform_under_both_hypotheses() -> None:
    """P21: a single label does not show that all labels share one member."""
    members = cr.Gaussian(np.tile(np.linspace(-2, 2, 5), (1, 1)), np.ones((1, 5)))
    for shared in (False, True):
        chosen = drawn_members(members, (1, 2), 2000) if shared else None
        drawn = RealReplicates(members, (1, 2), members=chosen).labels(slice(0, 2000)).values
        assert scipy.stats.kstest(members.cdf(drawn)[:, 0], "uniform").pvalue > 1e-3


def test_what_the_check_of_one_label_refuses() -> None:
    for instance, words in ((N, "below the number of instances"), (-1, "`instance`"), (1.5, "`instance`")):
        with pytest.raises(cr.InputError, match=words):
            observation_check(MEMBERS, LABELS, instance=instance)
    with pytest.raises(cr.UnsupportedError, match=r"0\.05 apart"):
        observation_check(cr.Quantiles([[0.0]], [0.5]), [0.0])


def test_one_label_of_rows_in_chunks() -> None:
    rng = np.random.default_rng(2)
    gaussian, labels = cr.Gaussian(rng.normal(size=600), rng.uniform(0.5, 2, size=600)), rng.normal(size=600)
    rows = cr.scan(gaussian, labels, chunk_rows=91)
    whole, cut = (
        observation_check(gaussian, labels, instance=400),
        observation_check(rows, instance=400),
    )
    assert differences(whole.to_dict(), cut.to_dict()) == []
    with pytest.raises(cr.InputError, match="must be below the number of instances"):
        observation_check(rows, instance=600)
