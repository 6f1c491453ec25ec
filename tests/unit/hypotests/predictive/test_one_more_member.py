"""The p-value that counts the truth as one more member, against a loop that leaves every member out."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats

import credibly as cr
from credibly._arrays.philox import as_seed
from credibly.hypotests.resampling.replicates import RealReplicates, Replicates
from credibly.predictions.passes import remembering
from credibly.predictions.regression import normal_level
from credibly.predictions.without_member import WithoutDraws, WithoutMember, WithoutNormal


def world(m: int, n: int = 60, k: int = 3, seed: int = 4) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    members = rng.dirichlet(np.ones(k), size=(n, m))
    return members, (rng.random((n, 1)) > members[:, 0].cumsum(axis=1)).sum(axis=1)


def left_out(members: np.ndarray, labels: np.ndarray, vectors: int, seed: int) -> np.ndarray:
    """Brier scores without every member: of the labels, then of those that the member draws."""
    found = []
    for j in range(members.shape[1]):
        rest = np.delete(members, j, axis=1).mean(axis=1)
        drawn = Replicates(members[:, j], as_seed([*as_seed(seed), 1 + j])).labels(slice(0, vectors)).values
        every = [labels, *drawn]
        found.append([((rest - np.eye(3)[y]) ** 2).sum(axis=1).mean() for y in every])
    return np.array(found)


def test_of_many_members_ranks_are_counted() -> None:
    members, labels = world(39)
    check = cr.predictive_check(members, labels, statistics=["brier"], hypothesis="bayesian", rng=7)
    details = check.checks["brier"].details
    table = left_out(members, labels, 1, 7)  # 39 // 39 label vectors of every member
    above = (table[:, 1:] >= table[:, :1]).mean(axis=1).sum()
    below = (table[:, 1:] <= table[:, :1]).mean(axis=1).sum()
    assert details.member_rule == "ranks"
    assert details.member_pvalue == pytest.approx(min(1, 2 * (1 + min(above, below)) / 40))


def test_of_more_members_39_are_left_out() -> None:
    members, labels = world(100)
    check = cr.predictive_check(members, labels, statistics=["brier"], hypothesis="bayesian", rng=7)
    table = left_out(members, labels, 1, 7)[np.linspace(0, 99, 39).round().astype(int)]
    sides = (
        (table[:, 1:] >= table[:, :1]).mean(axis=1).sum(),
        (table[:, 1:] <= table[:, :1]).mean(axis=1).sum(),
    )
    assert min(sides) > 0
    details = check.checks["brier"].details
    assert details.member_pvalue == pytest.approx(min(1, 2 * (1 + min(sides)) / 40))


def test_labels_beyond_all_members_are_judged_by_the_spread() -> None:
    members, _ = world(39)
    wrong = members.mean(axis=1).argmin(axis=1)
    check = cr.predictive_check(members, wrong, statistics=["brier"], hypothesis="bayesian", rng=7)
    details = check.checks["brier"].details
    assert details.member_rule == "spread"
    assert details.member_pvalue < 1e-6 < 2 / 40  # ranks cannot go below 2 / 40


def test_of_few_members_the_spread_is_compared() -> None:
    members, labels = world(5)
    check = cr.predictive_check(members, labels, statistics=["brier"], hypothesis="bayesian", rng=7)
    details = check.checks["brier"].details
    table = left_out(members, labels, 7, 7)  # 39 // 5
    apart = table[:, 0] - table[:, 1:].mean(axis=1)
    variance = 1.2 * apart.var(ddof=1) + table[:, 1:].var(axis=1, ddof=1).mean()
    assert details.member_rule == "spread"
    expected = 2 * scipy.stats.t.sf(abs(apart.mean()) / variance**0.5, df=4)
    assert details.member_pvalue == pytest.approx(expected)


def test_weights_count_for_the_mean_of_the_others_and_for_the_ranks() -> None:
    members, labels = world(80)
    weights = np.linspace(1.0, 2.0, 80)
    weights /= weights.sum()
    ensemble = cr.Ensemble(members, weights=weights)
    check = cr.predictive_check(ensemble, labels, statistics=["brier"], hypothesis="bayesian", rng=1)
    above = below = 0.0
    equal = 1 / (weights**2).sum()
    chosen = np.linspace(0, 79, int(np.ceil(39 * 80 / equal))).round().astype(int)
    for j in chosen:
        others = np.delete(weights, j)
        rest = np.tensordot(np.delete(members, j, axis=1), others / others.sum(), axes=(1, 0))
        drawn = Replicates(members[:, j], as_seed([*as_seed(1), 1 + j])).labels(slice(0, 1)).values
        score = np.array([((rest - np.eye(3)[y]) ** 2).sum(axis=1).mean() for y in (labels, *drawn)])
        above += weights[j] / weights[chosen].sum() * (score[1:] >= score[0]).mean()
        below += weights[j] / weights[chosen].sum() * (score[1:] <= score[0]).mean()
    assert min(above, below) > 0
    number = weights[chosen].sum() ** 2 / (weights[chosen] ** 2).sum()
    expected = 2 * (1 + number * min(above, below)) / (1 + number)
    assert check.checks["brier"].details.member_pvalue == pytest.approx(min(1, expected))


def test_coverage_of_mixtures_is_that_of_the_other_members() -> None:
    rng = np.random.default_rng(5)
    mean, std = rng.normal(size=(50, 39)), rng.uniform(0.5, 2.0, size=(50, 39))
    labels = mean[:, 0] + std[:, 0] * rng.normal(size=50)
    check = cr.predictive_check(
        cr.Gaussian(mean, std), labels, statistics=["picp", "rmse"], hypothesis="bayesian", rng=3
    )
    sides = {"picp": np.zeros(2), "rmse": np.zeros(2)}
    for j in range(39):
        rest = cr.Gaussian(np.delete(mean, j, 1), np.delete(std, j, 1))
        alone = cr.Gaussian(mean[:, [j]], std[:, [j]])
        drawn = RealReplicates(alone, as_seed([*as_seed(3), 1 + j])).labels(slice(0, 1)).values
        for name, counts in sides.items():
            value, *others = (getattr(cr, name)(rest, y).value for y in (labels, *drawn))
            counts += [np.mean(np.array(others) >= value), np.mean(np.array(others) <= value)]
    for name, counts in sides.items():
        assert counts.min() > 0
        expected = min(1, 2 * (1 + counts.min()) / 40)
        assert check.checks[name].details.member_pvalue == pytest.approx(expected)


def test_mixtures_and_draws_without_a_member_are_those_of_the_others() -> None:
    rng = np.random.default_rng(3)
    for m, weights in ((3, None), (12, None), (12, rng.dirichlet(np.ones(12)))):
        mean = rng.normal(size=(60, m)) * np.exp(rng.normal(size=(60, 1)))  # near and far apart
        std, labels = np.exp(rng.normal(size=(60, m))), rng.normal(size=60)
        whole = remembering(cr.Gaussian(mean, std, weights=weights))
        for j in (0, m - 1):
            rest = None if weights is None else np.delete(weights, j) / np.delete(weights, j).sum()
            plain = cr.Gaussian(np.delete(mean, j, 1), np.delete(std, j, 1), weights=rest)
            left = WithoutNormal.of(whole, j)
            levels = [0.05, 0.5, 0.95]
            np.testing.assert_allclose(left.quantile(levels), plain.quantile(levels), rtol=0, atol=1e-8)
            assert cr.crps(left, labels).value == pytest.approx(cr.crps(plain, labels).value, rel=1e-12)
            np.testing.assert_allclose(left.averaged(normal_level, labels), plain._cdf(labels), atol=1e-14)
            np.testing.assert_allclose(left.averaged(normal_level, -labels), plain._cdf(-labels), atol=1e-14)
            some = left[10:20]
            assert cr.mae(some, labels[10:20]).value == pytest.approx(
                cr.mae(plain[10:20], labels[10:20]).value
            )
    draws = rng.normal(size=(20, 5, 7)).round(1)  # with ties
    left = WithoutDraws.of(remembering(cr.Samples(draws)), 2)
    np.testing.assert_array_equal(left.pooled(), cr.Samples(np.delete(draws, 2, 1)).pooled())
    np.testing.assert_array_equal(left[3:5].pooled(), left.pooled()[3:5])


def test_draws_of_members_are_labels_for_the_draws_of_the_others() -> None:
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(1, 5, 1))
    draws = cr.Samples(centres + 0.1 * rng.normal(size=(80, 5, 20)))
    near = cr.predictive_check(
        draws, centres[0, 2, 0] + 0.1 * rng.normal(size=80), statistics=["rmse"], hypothesis="bayesian", rng=0
    )
    far = cr.predictive_check(draws, np.full(80, 50.0), statistics=["rmse"], hypothesis="bayesian", rng=0)
    assert near.checks["rmse"].details.member_pvalue > 0.05
    assert far.checks["rmse"].details.member_rule == "spread"
    assert far.checks["rmse"].verdict() == "conflict"


def test_noise_contradicts_a_few_members() -> None:
    """Accuracy .27 where five members expect .76 to .87 (z = -35) was "cannot tell"."""
    rng = np.random.default_rng(0)
    logits = 3 * rng.normal(size=(1500, 1, 4)) + 0.8 * rng.normal(size=(1500, 5, 4))
    members = np.exp(logits) / np.exp(logits).sum(axis=2, keepdims=True)
    check = cr.predictive_check(members, rng.integers(4, size=1500), rng=0)
    result = check.bayesian.checks["accuracy"]
    assert result.z_score < -20
    assert result.verdict() == "conflict"
    assert result.sentence().endswith(
        "They lie further from all 5 members than these differ from each other."
    )


def test_members_that_differ_as_much_as_the_labels_cannot_tell() -> None:
    members = np.full((400, 3, 2), 0.5)
    members[:, :, 0] = [0.95, 0.8, 0.65]  # accuracies of .95, .8 and .65 are expected, .5 is observed
    members[:, :, 1] = 1 - members[:, :, 0]
    labels = np.arange(400) % 2
    result = cr.predictive_check(members, labels, statistics=["accuracy"], rng=0).bayesian.checks["accuracy"]
    assert result.rejects(0.05)
    assert result.deciding_pvalue == result.details.member_pvalue > 0.05
    assert result.verdict() == "cannot tell"
    assert result.sentence().startswith("Cannot tell: none of these 3 members explains the labels")


def test_values_without_spread_fall_back_on_ranks() -> None:
    members = np.tile([[1.0, 0.0]], (30, 2, 1))  # both members are sure, and alike
    result = cr.predictive_check(members, np.ones(30, int), statistics=["accuracy"], hypothesis="bayesian")
    details = result.checks["accuracy"].details
    assert (details.member_rule, details.member_pvalue) == ("ranks", pytest.approx(2 / 3))


def test_the_mean_without_a_member_keeps_the_digits_of_the_others() -> None:
    probs = np.full((2, 3, 2), 1e-20)
    probs[..., 1] = 1.0
    probs[0, 1] = [1.0, 0.0]
    rest = WithoutMember.of(cr.Ensemble(probs), 1)
    assert rest.mean().probs == pytest.approx(np.delete(probs, 1, axis=1).mean(axis=1), rel=1e-12, abs=0)
    assert np.array_equal(rest.probs, np.delete(probs, 1, axis=1))
    assert (len(rest[:1]), rest.n_members, rest.n_classes) == (1, 2, 2)


def test_clusters_leave_members_out_as_well() -> None:
    members, _ = world(60, n=120, seed=1)
    labels = np.random.default_rng(0).integers(3, size=120)
    check = cr.predictive_check(
        members, labels, statistics=["brier"], hypothesis="bayesian", clusters=np.arange(120) // 3, rng=0
    ).checks["brier"]
    assert check.details.member_rule == "ranks"
    assert 2 / 61 <= check.details.member_pvalue <= 1


def test_groups_and_chunks_leave_members_out_alike() -> None:
    members, labels = world(45, n=1000)
    groups = np.arange(1000) % 2
    whole = cr.predictive_check(
        members, labels, statistics=["brier", "confidence_ece"], hypothesis="bayesian", groups=groups, rng=5
    )
    with cr.memory_limit(2**20):
        parts = cr.predictive_check(
            members,
            labels,
            statistics=["brier", "confidence_ece"],
            hypothesis="bayesian",
            groups=groups,
            rng=5,
        )
    for group, own in whole.bayesian.groups.items():
        for name, one in own.items():
            other = parts.bayesian.groups[group][name]
            assert other.details.member_pvalue == pytest.approx(one.details.member_pvalue)


def test_ties_of_the_mean_without_a_member_do_not_depend_on_the_order() -> None:
    """Means of the others that are (.5, .5) in exact arithmetic are so here, whatever the order."""
    probs = np.array([[0.6, 0.4], [0.7, 0.3], [0.2, 0.8], [0.9, 0.1]])
    for order in ([0, 1, 2, 3], [3, 2, 1, 0], [2, 0, 3, 1]):
        rest = WithoutMember.of(cr.Ensemble(probs[None, order], member_axis=1), order.index(3))
        assert np.array_equal(rest.mean().probs, [[0.5, 0.5]])
