"""Predictive checks of real values: replicates, limits of what is stored."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import ndtri

import credibly as cr
from credibly._arrays.philox import Stream, Uniforms, as_seed
from libraries import Library

NAMES = ("picp", "quantile_calibration_error", "crps", "rmse", "mae")


def world(n: int = 40, m: int = 6, seed: int = 2) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    mean = rng.normal(size=(n, 1)) + 0.5 * rng.normal(size=(1, m))
    std = np.exp(0.2 * rng.normal(size=(n, m)))
    return mean, std, mean[:, 1] + std[:, 1] * rng.normal(size=n)


def test_gaussian_replicates_are_those_of_a_plain_loop_with_the_same_seed() -> None:
    mean, std, labels = world()
    gaussian = cr.Gaussian(mean, std)
    check = cr.predictive_check(gaussian, labels, statistics=NAMES, n_resamples=15, rng=3)
    seed = as_seed(3)
    for d in range(15):
        uniform = Uniforms(seed, Stream.RESTS).draw(slice(d, d + 1), slice(0, 40))[0]
        chosen = (Uniforms(seed, Stream.MEMBERS).draw(slice(d, d + 1), slice(0, 40))[0] * 6).astype(int)
        member = chosen[0]
        assert check.bayesian.members[d] == member
        shared = mean[:, member] + std[:, member] * ndtri(uniform)
        rows = np.arange(40)
        mixed = mean[rows, chosen] + std[rows, chosen] * ndtri(uniform)
        for name in NAMES:
            statistic = cr.statistics.registered()[name]
            for hypothesis, own in (("bayesian", shared), ("independent", mixed)):
                null = check.under(hypothesis).checks[name].null_distribution
                assert null[d] == pytest.approx(float(statistic(gaussian, own)), rel=1e-9, abs=1e-12)


@pytest.mark.slow
def test_tables_of_losses_are_the_same_in_chunks_of_rows_and_groups(
    monkeypatch: pytest.MonkeyPatch, library: Library
) -> None:
    from credibly.hypotests.resampling import requests

    mean, std, labels = world()
    settings = {"statistics": ["crps", "gaussian_log_loss"], "n_resamples": 39, "rng": 4}
    settings["groups"] = np.arange(40) % 2
    whole = cr.predictive_check(cr.Gaussian(mean, std), labels, **settings)
    monkeypatch.setattr(requests, "rows_at_once", lambda predictions, n_targets: 17)
    gaussian = cr.Gaussian(library.asarray(mean), library.asarray(std))
    cut = cr.predictive_check(gaussian, library.asarray(labels), **settings)
    for name in settings["statistics"]:
        value = float(cr.statistics.registered()[name](cr.Gaussian(mean, std), labels))
        for hypothesis in ("bayesian", "independent"):
            audited, other = whole.under(hypothesis), cut.under(hypothesis)
            assert audited.checks[name].statistic == pytest.approx(value, rel=1e-13)
            for this, that in [
                (audited.checks[name], other.checks[name]),
                *((audited.groups[level][name], other.groups[level][name]) for level in ("0", "1")),
            ]:
                assert np.allclose(this.null_distribution, that.null_distribution, rtol=1e-12, atol=1e-12)
                assert this.pvalue == that.pvalue


def test_one_member_is_the_consistency_test() -> None:
    mean, std, labels = world(m=2)
    single = cr.Gaussian(mean[:, :1], std[:, :1])
    check = cr.predictive_check(single, labels, statistics=["crps"], n_resamples=99, rng=1)
    test = cr.calibration_test(single, labels, statistics="crps", n_resamples=99, rng=1)
    for hypothesis in ("bayesian", "independent"):
        assert np.allclose(check.under(hypothesis).checks["crps"].null_distribution, test.null_distribution)
        assert check.under(hypothesis).checks["crps"].pvalue == test.pvalue


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["gaussian", "samples", "quantiles"])
def test_every_kind_in_every_library(kind: str, library: Library) -> None:
    mean, std, labels = (array[:20] for array in world())
    rng = np.random.default_rng(0)
    levels = np.arange(1, 20) / 20
    arrays, make = {
        "gaussian": ((mean, std), cr.Gaussian),
        "samples": ((mean[:, :, None] + std[:, :, None] * rng.normal(size=(20, 6, 5)),), cr.Samples),
        "quantiles": ((mean[:, :1] + std[:, :1] * ndtri(levels), levels), cr.Quantiles),
    }[kind]
    hypothesis = "independent" if kind == "quantiles" else "both"
    names = NAMES[:2] if kind == "quantiles" else NAMES
    settings = {"statistics": names, "hypothesis": hypothesis, "n_resamples": 9, "rng": 0}
    expected = cr.predictive_check(make(*arrays), labels, **settings)
    given = make(*(library.asarray(array) for array in arrays))
    check = cr.predictive_check(given, library.asarray(labels), groups=np.arange(20) % 2, **settings)
    for name, part in check.hypotheses.items():
        for statistic in names:
            result, other = expected.under(name).checks[statistic], part.checks[statistic]
            assert np.allclose(result.null_distribution, other.null_distribution, rtol=1e-9, atol=1e-12)
            assert result.pvalue == other.pvalue
        assert set(part.groups) == {"0", "1"}


def test_only_averages_are_refused_under_the_bayesian_hypothesis() -> None:
    mean, std, labels = world()
    for predictions in (
        cr.Gaussian(mean[:, 0], std[:, 0]),
        cr.Samples(mean + std),
        cr.Quantiles(np.sort(mean, axis=1), np.arange(1, 7) / 7),
    ):
        with pytest.raises(cr.UnsupportedError, match="only averages are stored"):
            cr.predictive_check(predictions, labels, statistics=["picp"])
    with pytest.raises(cr.UnsupportedError, match=r"Gaussian\(mean\[:, None\], std\[:, None\]\)"):
        cr.predictive_check(cr.Gaussian(mean[:, 0], std[:, 0]), labels)


def test_of_a_few_quantiles_only_coverage_is_checked() -> None:
    mean, std, labels = world()
    levels = [0.05, 0.5, 0.95]
    few = cr.Quantiles(mean[:, :1] + std[:, :1] * ndtri(levels), levels)
    check = cr.predictive_check(few, labels, hypothesis="independent", n_resamples=199, rng=0)
    assert list(check.checks) == ["picp", "quantile_calibration_error"]
    assert any("3 quantiles" in limit for limit in check.limits)
    # coverage of the 90 % interval is a binomial share
    null = check.checks["picp"].null_distribution
    assert null.mean() == pytest.approx(0.9, abs=4 * np.sqrt(0.09 / 40 / 199))
    for name in ("crps", "rmse", "mae"):
        with pytest.raises(cr.UnsupportedError, match=r"got 3 (quantiles per instance|levels)"):
            cr.predictive_check(few, labels, statistics=[name], hypothesis="independent")


def test_defaults_of_quantiles_are_what_their_levels_allow() -> None:
    """The default used to fail where the ends of the 90 % interval were not predicted."""
    mean, std, labels = world()

    def checked(levels: list[float]) -> cr.results.PredictiveCheck:
        quantiles = cr.Quantiles(mean[:, :1] + std[:, :1] * ndtri(levels), levels)
        return cr.predictive_check(quantiles, labels, hypothesis="independent", n_resamples=19, rng=0)

    usual = checked([0.05, 0.5, 0.95])
    assert not any("picp" in note for note in usual.notes)
    assert usual.settings["statistics"]["picp"]["level"] == 0.9
    other = checked([0.1, 0.25, 0.75, 0.9])  # 80 % is nearer to 90 % than 50 %
    assert other.settings["statistics"]["picp"]["level"] == 0.8
    assert any("picp refers to the 80 % interval" in note for note in other.notes)
    for levels in ([0.5], [0.1, 0.5, 0.8]):
        single = checked(levels)
        assert list(single.checks) == ["quantile_calibration_error"]
        assert any("picp was left out" in note for note in single.notes)


def test_class_statistics_of_real_values_are_refused() -> None:
    mean, std, labels = world()
    with pytest.raises(cr.InputTypeError, match="class probabilities"):
        cr.predictive_check(cr.Gaussian(mean, std), labels, statistics=["brier"])
    with pytest.raises(cr.InputError, match="finite"):
        cr.predictive_check(cr.Gaussian(mean, std), np.full(40, np.nan))


def test_user_statistics_see_all_members() -> None:
    mean, std, labels = world()
    sizes = []

    def largest(predictions: cr.Gaussian, labels: np.ndarray) -> float:
        sizes.append(predictions.n_members)
        return float(np.abs(labels).max())

    check = cr.predictive_check(cr.Gaussian(mean, std), labels, statistics=[largest], n_resamples=19, rng=0)
    assert check.checks["largest"].statistic == np.abs(labels).max()
    # all members for the two hypotheses; all but one, for each of 6, with the labels and 39 // 6 drawn ones
    assert sizes == [6] * 40 + [5] * 6 * 7


def test_power_against_a_shift() -> None:
    mean, std, labels = world(n=200)
    check = cr.predictive_check(cr.Gaussian(mean, std), labels, statistics=["rmse"], n_resamples=199, rng=0)
    curve = check.power("bias", grid=[-2.0, 0.0, 2.0], n_repeats=50)
    low, none, high = curve.power["independent"]["rmse"]
    assert min(low, high) > 0.9
    assert none < 0.25
