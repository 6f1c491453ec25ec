"""Draws and quantiles: a replicate chooses the label among its draws, or its cell; nothing is made up."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats

import credibly as cr
from credibly._arrays.philox import Stream, Uniforms, as_seed
from credibly.hypotests.resampling import choices
from credibly.hypotests.resampling.choices import as_pools, drawn_choices
from credibly.hypotests.resampling.replicates import LabelSource
from credibly.predictions import Dataset
from credibly.predictions.samples import LeftOut
from libraries import Library
from optional import torch

NAMES = ("crps", "rmse", "mae", "picp", "interval_score", "quantile_calibration_error")
SEED = as_seed(3)
RNG = np.random.default_rng(0)
N = 30
DRAWS, LABELS = RNG.normal(size=(N, 6)), RNG.normal(size=N)
TIED = np.round(DRAWS, 0)
MEMBERS = RNG.normal(size=(N, 3, 4)) + 5.0 * np.arange(3)[None, :, None]


def exchanged(draws: np.ndarray, labels: np.ndarray, choice: np.ndarray) -> tuple[cr.Samples, np.ndarray]:
    """Let every label change places with the chosen one of its draws, counted from 1; 0 leaves it."""
    flat, seen = draws.reshape(len(draws), -1).copy(), labels.copy()
    for i, c in enumerate(choice):
        if c:
            seen[i], flat[i, c - 1] = flat[i, c - 1], seen[i]
    return cr.Samples(flat.reshape(draws.shape)), seen


def uniform(d: int, stream: Stream = Stream.RESTS) -> np.ndarray:
    return Uniforms(SEED, stream).draw(slice(d, d + 1), slice(0, N))[0]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("draws", [DRAWS, TIED, DRAWS[:, :1]], ids=["draws", "tied", "one"])
def test_every_replicate_is_the_statistic_of_exchanged_numbers(name: str, draws: np.ndarray) -> None:
    labels = LABELS if draws is not TIED else np.round(LABELS, 0)
    result = cr.calibration_test(cr.Samples(draws), labels, statistics=name, n_resamples=12, rng=3)
    statistic = cr.statistics.registered()[name]
    assert result.statistic == pytest.approx(float(statistic(cr.Samples(draws), labels)), rel=1e-12)
    for d in range(12):
        choice = (uniform(d) * (draws.shape[1] + 1)).astype(int)
        expected = float(statistic(*exchanged(draws, labels, choice)))
        assert result.null_distribution[d] == pytest.approx(expected, rel=1e-12, abs=1e-14)


def test_the_fair_score_and_statistics_of_the_user_are_exchanged_too() -> None:
    def spread(predictions: cr.Samples, labels: np.ndarray) -> float:
        return float(np.mean((labels - predictions.values.mean(axis=1)) ** 2))

    user = cr.statistic(spread, tail="two-sided")
    fair = cr.crps.with_(estimator="fair")
    result = cr.calibration_test(cr.Samples(DRAWS), LABELS, statistics=[user, fair], n_resamples=9, rng=3)
    for d in range(9):
        given, seen = exchanged(DRAWS, LABELS, (uniform(d) * 7).astype(int))
        null = {name: one.null_distribution[d] for name, one in result.components.items()}
        assert null["spread"] == pytest.approx(spread(given, seen))
        assert null["crps"] == pytest.approx(float(fair(given, seen)))


def test_left_out_predictions_are_those_of_the_other_draws() -> None:
    pool = np.concatenate([TIED, DRAWS], axis=1)
    left = LeftOut(pool)
    levels = [0.05, 0.3, 0.5, 0.99]
    plain = cr.Samples(np.stack([np.delete(row, j) for row in pool for j in range(12)]))
    assert np.array_equal(left.pooled(), plain.pooled())
    assert np.array_equal(left.quantile(levels), plain.quantile(levels))
    assert np.allclose(left.expectation(), plain.expectation(), rtol=0, atol=1e-14)
    assert np.allclose(left.cdf(np.zeros(len(left))), plain.cdf(np.zeros(len(plain))))
    assert np.allclose(left.variance(), plain.variance(), rtol=1e-10, atol=1e-14)
    assert LeftOut(np.array([[0.1] * 5 + [1e8]])).variance()[-1] == 0.0  # the five that are left are equal


def test_one_draw_per_member_is_exchanged_for_all_rows_at_once() -> None:
    joint = RNG.normal(size=(N, 5, 1))
    check = cr.predictive_check(cr.Samples(joint), LABELS, statistics=["crps"], n_resamples=20, rng=3)
    chosen = (Uniforms(SEED, Stream.MEMBERS).draw(slice(0, 20), slice(0, 1))[:, 0] * 6).astype(int)
    for d in range(20):
        for name, choice in (
            ("bayesian", np.full(N, chosen[d])),
            ("independent", (uniform(d) * 6).astype(int)),
        ):
            expected = float(cr.crps(*exchanged(joint, LABELS, choice)))
            assert check.under(name).checks["crps"].null_distribution[d] == pytest.approx(expected)
    assert "one more joint draw" in check.bayesian.hypothesis
    assert any("no two-sided p-value below 0.33" in limit for limit in check.limits)


def test_of_several_members_the_best_one_decides() -> None:
    labels = 5.0 + np.random.default_rng(2).normal(size=N)  # as the draws of member 1
    given = cr.Samples(MEMBERS)
    settings = {"hypothesis": "bayesian", "n_resamples": 99, "rng": 3}
    check = cr.predictive_check(given, labels, statistics=["rmse", "mae"], **settings)
    assert check.notes == (
        "replicates exchange every label with one of its draws: exact for any number of draws",
    )
    pvalues = []
    for j in range(3):
        null = []
        for d in range(99):
            place = (uniform(d) * 5).astype(int)
            choice = np.where(place > 0, place + 4 * j, 0)
            null.append(float(cr.rmse(*exchanged(MEMBERS, labels, choice))))
        above = np.mean(np.array(null) >= float(cr.rmse(given, labels)))
        fewer = 99 * min(above, np.mean(np.array(null) <= float(cr.rmse(given, labels))))
        pvalues.append(min(1.0, 2 * (1 + round(fewer)) / 100))
    assert check.checks["rmse"].pvalue == max(pvalues)
    assert check.checks["rmse"].adjusted_pvalue >= check.checks["rmse"].pvalue
    curve = cr.pit_test(given, labels, hypothesis="bayesian", n_resamples=99, rng=3)
    assert curve.pvalue > 0.05  # member 1 did draw the labels
    away = cr.predictive_check(given, labels + 100.0, statistics=["rmse"], **settings)
    assert away.checks["rmse"].pvalue == 0.02


def test_draws_of_a_mixture_are_different_draws_of_drawn_members() -> None:
    """Every label is compared with s draws, each of a member of its own; no draw is taken twice."""
    marked = np.arange(300 * 12.0).reshape(300, 3, 4)
    rows = Dataset(cr.Samples(marked), np.zeros(300))
    pool = as_pools(rows, SEED, shared=False).predictions
    taken = pool.values[:, 1:].astype(int)
    assert pool.shape == (4,)
    assert all(len(set(row)) == 4 for row in taken.tolist())
    assert (taken // 12 == np.arange(300)[:, None]).all()
    members = taken % 12 // 4
    assert scipy.stats.chisquare(np.bincount(members.ravel())).pvalue > 1e-3
    # two draws come from one member as often as two independent choices
    assert np.mean(members[:, 0] == members[:, 1]) == pytest.approx(1 / 3, abs=0.1)
    part = as_pools(rows.rows(slice(100, 200)), SEED, shared=False).predictions
    assert np.array_equal(part.values, pool.values[100:200])
    notes = cr.calibration_test(cr.Samples(MEMBERS), LABELS, n_resamples=9, rng=0).notes
    assert any(
        "4 draws of the mixture, taken at random from the 12 draws of 3 members" in one for one in notes
    )


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["draws", "members", "joint", "quantiles"])
def test_chunks_and_parts_change_no_pvalue(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from credibly.hypotests.resampling import requests

    levels = [0.05, 0.5, 0.95]
    given = {
        "draws": cr.Samples(DRAWS),
        "members": cr.Samples(MEMBERS),
        "joint": cr.Samples(MEMBERS.reshape(N, 12, 1)),
        "quantiles": cr.Quantiles(np.sort(DRAWS[:, :3], axis=1), levels),
    }[kind]
    names = ["picp", "quantile_calibration_error"] if kind == "quantiles" else list(NAMES)
    hypothesis = "both" if given.values.ndim == 3 else "independent"
    settings = {"statistics": names, "hypothesis": hypothesis, "n_resamples": 39, "rng": 5}
    groups = np.arange(N) % 2
    whole = cr.predictive_check(given, LABELS, groups=groups, **settings)
    scanned = cr.predictive_check(cr.scan(given, LABELS, groups=groups, chunk_rows=7), **settings)
    monkeypatch.setattr(requests, "rows_at_once", lambda predictions, n_targets: 11)
    cut = cr.predictive_check(given, LABELS, groups=groups, **settings)
    for name in whole.hypotheses:
        for other in (scanned.under(name), cut.under(name)):
            for statistic in names:
                one, two = whole.under(name).checks[statistic], other.checks[statistic]
                assert np.allclose(one.null_distribution, two.null_distribution, rtol=0, atol=1e-13)
                assert one.pvalue == two.pvalue
                for group in ("0", "1"):
                    mine, theirs = whole.under(name).groups[group], other.groups[group]
                    assert mine[statistic].pvalue == theirs[statistic].pvalue


@pytest.mark.parametrize("values", [DRAWS, MEMBERS, MEMBERS.reshape(N, 12, 1)], ids=["s", "m s", "joint"])
def test_every_library_chooses_the_same(values: np.ndarray, library: Library) -> None:
    hypothesis = "both" if values.ndim == 3 else "independent"
    settings = {"statistics": NAMES, "hypothesis": hypothesis, "n_resamples": 20, "rng": 1}
    expected = cr.predictive_check(cr.Samples(values), LABELS, **settings)
    found = cr.predictive_check(cr.Samples(library.asarray(values)), library.asarray(LABELS), **settings)
    for name, part in expected.hypotheses.items():
        for statistic in NAMES:
            assert found.under(name).checks[statistic].pvalue == part.checks[statistic].pvalue


@pytest.mark.parametrize("kind", ["draws", "member", "joint", "quantiles"])
def test_the_path_of_devices_chooses_the_same(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With tensors in place of host arrays, as on a device; here on the processor."""
    values = {"draws": DRAWS, "member": MEMBERS, "joint": MEMBERS.reshape(N, 12, 1)}.get(kind)
    members = {"member": np.arange(6) % 3, "joint": np.arange(6) + 1}.get(kind)
    source = LabelSource("independent" if members is None else "bayesian", SEED, members)
    found = []
    for asarray in (np.asarray, torch.asarray):
        if values is None:
            given = cr.Quantiles(asarray(np.sort(DRAWS, axis=1)), asarray(np.arange(1, 7) / 7))
        else:
            given = cr.Samples(asarray(values))
        if asarray is torch.asarray:
            monkeypatch.setattr(choices, "on_accelerator", lambda array: True)
        drawing = source(source.pose(Dataset(given, asarray(LABELS))))
        assert drawing.on_device == (asarray is torch.asarray)
        found.append(np.asarray(drawing.labels(slice(0, 6)).values))
    assert np.array_equal(*found)
    assert len(np.unique(found[0])) > 3


def test_weights_count_in_every_replicate() -> None:
    weight = np.arange(N) % 3
    repeated = np.repeat(np.arange(N), weight)
    for name in NAMES:
        result = cr.calibration_test(
            cr.Samples(DRAWS), LABELS, statistics=name, sample_weight=weight, n_resamples=5, rng=3
        )
        for d in range(5):
            given, seen = exchanged(DRAWS, LABELS, (uniform(d) * 7).astype(int))
            expected = float(cr.statistics.registered()[name](given[repeated], seen[repeated]))
            assert result.null_distribution[d] == pytest.approx(expected, rel=1e-12)


# Quantiles


def test_cells_are_multinomial() -> None:
    few = cr.Quantiles(np.tile([-1.0, 0.0, 1.0], (200, 1)), [0.1, 0.5, 0.8])
    rows = LabelSource("independent", SEED, None).pose(Dataset(few, np.zeros(200)))
    codes = LabelSource("independent", SEED, None)(rows).labels(slice(0, 100)).values
    first, last = np.divmod(codes.astype(int), 4)
    assert np.array_equal(first, last)
    counts = np.bincount(first.ravel(), minlength=4)
    assert scipy.stats.chisquare(counts, 20_000 * np.array([0.1, 0.4, 0.3, 0.2])).pvalue > 1e-3


def test_one_level_is_a_binomial_test() -> None:
    """Found by hostile trials: it could never reject, and `pit_test` always did."""
    zeros = cr.Quantiles(np.zeros((200, 1)), [0.5])
    rng = np.random.default_rng(0)
    assert cr.calibration_test(zeros, np.full(200, 9.0), rng=0).pvalue == 0.001
    labels = rng.normal(size=200)
    exact = scipy.stats.binomtest(int((labels <= 0).sum()), 200).pvalue
    assert cr.calibration_test(zeros, labels, rng=0).pvalue == pytest.approx(exact, abs=0.06)
    assert cr.pit_test(zeros, labels, rng=0).pvalue == pytest.approx(exact, abs=0.06)
    low = cr.Quantiles(np.full((200, 1), scipy.stats.norm.ppf(0.1)), [0.1])
    assert cr.calibration_test(low, labels, rng=0).pvalue > 0.05
    assert cr.calibration_test(low, labels + 3.0, rng=0).pvalue == 0.001
    assert cr.pit_test(low, labels + 3.0, rng=0).pvalue <= 0.002


@pytest.mark.slow
def test_labels_that_equal_quantiles_count_where_they_fit_best() -> None:
    """Half of the labels are 0 exactly, as rain is: three of five quantiles are 0 and nothing is wrong."""
    rng = np.random.default_rng(1)
    n, levels, few = 2000, np.array([0.1, 0.3, 0.5, 0.7, 0.9]), {"n_resamples": 199, "rng": 0}
    labels = np.where(rng.random(n) < 0.6, 0.0, rng.exponential(size=n))
    table = np.where(levels <= 0.6, 0.0, -np.log((1 - np.maximum(levels, 0.6)) / 0.4))
    rain = cr.Quantiles(np.tile(table, (n, 1)), levels)
    result = cr.calibration_test(rain, labels, **few)
    assert result.pvalue > 0.05
    assert any("some labels equal a quantile" in note for note in result.notes)
    assert any("skce was left out: " in note for note in result.notes)
    assert cr.pit_test(rain, labels, **few).pvalue > 0.05
    assert cr.coverage_curve(rain, labels, **few).pvalue > 0.05
    assert cr.calibration_test(rain, labels, statistics=cr.picp.with_(level=0.8), **few).pvalue > 0.05
    # what is no atom at 0 is still found: all labels above, or below, all quantiles
    assert cr.calibration_test(rain, labels + 1e-9, **few).pvalue == 0.005
    assert cr.calibration_test(rain, labels - 1e-9, **few).pvalue == 0.005
    for name in ("skce", "omnibus"):
        with pytest.raises(
            cr.UnsupportedError, match=r"which side of its level .* of 2000 labels equal a quan"
        ):
            cr.calibration_test(rain, labels, statistics=name, n_resamples=19)
    found = cr.evaluate(rain, labels, **few)
    assert found.headline is not None
    assert found.headline.word == "no conflict found"
    assert "skce" not in found.tests
    assert "labels equal a quantile" in str(found.not_run)
    tied = cr.Quantiles(np.zeros((200, 3)), [0.1, 0.5, 0.9])
    assert cr.calibration_test(tied, np.full(200, 9.0), **few).pvalue == 0.005
    assert cr.calibration_test(tied, np.zeros(200), **few).pvalue == 1.0


def test_quantiles_are_not_asked_for_values() -> None:
    levels = np.arange(1, 20) / 20
    given = cr.Quantiles(np.tile(scipy.stats.norm.ppf(levels), (N, 1)), levels)
    user = cr.statistic(lambda predictions, labels: 0.0, tail="greater", name="mine")
    for name in ("crps", "interval_score", "rmse", "mae", user):
        with pytest.raises(cr.UnsupportedError, match="only how often labels lie between them"):
            cr.calibration_test(given, LABELS, statistics=name)
    with pytest.raises(cr.UnsupportedError, match=r"level 0\.49 is not among the 19 levels"):
        cr.pit_test(given, LABELS, levels=(0.05, 0.49))
    with pytest.raises(cr.UnsupportedError, match=r"level 0\.01 is not among the 19 levels"):
        cr.calibration_test(given, LABELS, statistics=cr.picp.with_(level=0.98))
    assert cr.pit_test(given, LABELS, levels=(0.05, 0.5), n_resamples=19, rng=0).levels.tolist() == [
        0.05,
        0.5,
    ]


# Found by hostile trials: a perfect sampler, and perfect quantiles, were in conflict with their labels


@pytest.mark.parametrize(("n", "draws"), [(300, 5), (300, 3), pytest.param(300, 100, marks=pytest.mark.slow)])
def test_a_perfect_sampler_is_not_in_conflict(n: int, draws: int) -> None:
    given = cr.Samples(np.random.default_rng(1).normal(size=(n, draws)))
    evaluation = cr.evaluate(given, np.random.default_rng(2).normal(size=n), n_resamples=99)
    assert {one.word for one in evaluation.verdicts} == {"no conflict found"}


@pytest.mark.slow
def test_true_quantiles_are_not_in_conflict() -> None:
    levels = np.arange(1, 20) / 20
    rng = np.random.default_rng(4)
    centre = rng.normal(size=(1500, 1))
    given = cr.Quantiles(centre + scipy.stats.norm.ppf(levels), levels)
    evaluation = cr.evaluate(given, centre[:, 0] + rng.normal(size=1500), n_resamples=99)
    assert {one.word for one in evaluation.verdicts} == {"no conflict found"}
    assert "test of interval_score" in dict(evaluation.not_run)


def test_power_of_a_check_of_draws_and_quantiles() -> None:
    levels = np.arange(1, 20) / 20
    labels = RNG.normal(size=200)
    quantiles = cr.Quantiles(np.tile(scipy.stats.norm.ppf(levels), (200, 1)), levels)
    for given, name in (
        (cr.Samples(RNG.normal(size=(200, 20))), "rmse"),
        (cr.Samples(RNG.normal(size=(200, 2, 20))), "rmse"),
        (cr.Samples(RNG.normal(size=(200, 60, 1))), "rmse"),
        (quantiles, "quantile_calibration_error"),
    ):
        hypothesis = "both" if given.values.ndim == 3 else "independent"
        check = cr.predictive_check(
            given, labels, statistics=[name], hypothesis=hypothesis, n_resamples=199, rng=0
        )
        for own in check.power("bias", grid=[-2.0, 0.0, 2.0], n_repeats=50).power.values():
            low, none, high = own[name]
            assert min(low, high) > 0.9
            assert none < 0.25


def test_labels_drawn_from_other_predictions_are_never_the_observed_one() -> None:
    """Of 3 draws and the label 4 numbers can be chosen; of what changed, the 3 draws."""
    given = cr.Samples(RNG.normal(size=(N, 3)))
    rows = Dataset(given, RNG.normal(size=N))
    for changed, fewest in ((None, 0), (cr.Samples(given.values + 1.0), 1)):
        pool = as_pools(rows, SEED, shared=False, changed=changed).predictions
        chosen = drawn_choices(pool, SEED).labels(slice(0, 200)).values
        assert np.unique(chosen).tolist() == list(range(fewest, 4))
