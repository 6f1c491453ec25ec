"""Draws with weights: equal ones change nothing, 0 leaves a draw out, shares are repeated draws."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import credibly as cr
from credibly.hypotests.resampling.replicates import LabelSource
from credibly.predictions import Dataset
from credibly_studies.p21 import observation_check
from libraries import Library, read

RNG = np.random.default_rng(6)
N, S = 40, 6
DRAWS = RNG.normal(size=(N, S)) * RNG.uniform(0.5, 2.0, size=(N, 1))
LABELS = RNG.normal(size=N)
LABELS[:5] = DRAWS[:5, 2]  # some labels equal a draw
SHARES = np.array([1, 2, 1, 3, 1, 2]) / 10
WEIGHTED = cr.Samples(DRAWS, weights=SHARES)
REPEATED = cr.Samples(DRAWS[:, [0, 1, 1, 2, 3, 3, 3, 4, 5, 5]])
PLAIN, EQUAL = cr.Samples(DRAWS), cr.Samples(DRAWS, weights=np.full(S, 1 / S))
WITHOUT = cr.Samples(DRAWS, weights=[0.25, 0.0, 0.25, 0.0, 0.25, 0.25])
FOUR = cr.Samples(DRAWS[:, [0, 2, 4, 5]])
MEMBERS = RNG.normal(size=(N, 3, 4))
OF_MEMBERS = cr.Samples(MEMBERS, weights=[0.25, 0.5, 0.25])
MEMBERS_REPEATED = cr.Samples(MEMBERS[:, [0, 1, 1, 2]])

MEASURES = {
    "cdf": lambda given: given.cdf(LABELS),
    "quantile": lambda given: given.quantile([0.05, 0.1, 0.3, 0.5, 0.7, 0.9]),
    "expectation": lambda given: given.expectation(),
    "variance": lambda given: given.variance() * (1.0 - 1.0 / given.n_effective),  # without the correction
    "pit": lambda given: cr.pit(given, LABELS),
    "shift": lambda given: cr.recalibrate.QuantileShift().fit(given, LABELS).apply(given[1:]).values,
    "scaling": lambda given: cr.recalibrate.SpreadScaling().fit(given, LABELS).scale,
    **{
        one.name: lambda given, one=one: one(given, LABELS).value
        for one in (cr.crps, cr.interval_score, cr.picp, cr.rmse, cr.mae, cr.quantile_calibration_error)
    },
}
OF_NUMBER = {  # how many draws there are matters, and weights do not count as their repetitions
    "fair crps": lambda given: cr.crps(given, LABELS, estimator="fair").value,
    "random pit": lambda given: cr.pit(given, LABELS, randomised=True, rng=0),
    "skce": lambda given: cr.skce(given, LABELS).value,
    "isotonic": lambda given: (
        cr.recalibrate.IsotonicRecalibration().fit(given, LABELS).apply(given[1:]).values
    ),
    "observation": lambda given: observation_check(given, LABELS, instance=3).pvalue,
    "test": lambda given: cr.calibration_test(given, LABELS, n_resamples=99, rng=0).pvalue,
}


@pytest.mark.parametrize("name", [*MEASURES, *OF_NUMBER])
def test_equal_weights_and_weights_of_0(name: str) -> None:
    measure = {**MEASURES, **OF_NUMBER}[name]
    np.testing.assert_array_equal(measure(EQUAL), measure(PLAIN))
    np.testing.assert_allclose(measure(WITHOUT), measure(FOUR), rtol=1e-13)  # sums over other strides


@pytest.mark.parametrize("name", MEASURES)
def test_shares_are_repeated_draws(name: str) -> None:
    measure = MEASURES[name]
    np.testing.assert_allclose(measure(WEIGHTED), measure(REPEATED), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(measure(OF_MEMBERS), measure(MEMBERS_REPEATED), rtol=1e-9, atol=1e-12)


def test_weights_are_seen() -> None:
    assert EQUAL.weights is None
    assert repr(WEIGHTED) == "Samples(n=40, m=1, s=6, weighted, dtype=float64)"
    assert WITHOUT.notes == ("2 draws of weight 0 are left out",)
    assert cr.Samples(MEMBERS, weights=[0.5, 0.5, 0.0]).notes == ("1 member of weight 0 is left out",)
    np.testing.assert_allclose(WEIGHTED[:7].expectation(), WEIGHTED.expectation()[:7])
    assert WEIGHTED.n_effective == pytest.approx(5.0)  # 1 / (3 * 0.01 + 2 * 0.04 + 0.09)
    assert OF_MEMBERS.n_effective == pytest.approx(4 / 0.375)  # 4 draws of each, 1/16 + 1/4 + 1/16
    turned = cr.Samples(DRAWS.T, member_axis=0, weights=SHARES)
    assert cr.crps(turned, LABELS).value == cr.crps(WEIGHTED, LABELS).value


def test_fair_score_by_its_definition() -> None:
    """Sum over pairs of different draws, divided by the weight of such pairs."""
    x, w, y = DRAWS[0], SHARES, 0.3
    pairs = (w[:, None] * w[None, :] * np.abs(x[:, None] - x[None, :])).sum()
    fair = w @ np.abs(x - y) - 0.5 * pairs / (1 - w @ w)
    assert cr.crps(WEIGHTED[:1], [y], estimator="fair").value == pytest.approx(fair, rel=1e-12)


def test_kernel_error_by_its_definition() -> None:
    """<r_i, r_j> is a mean of label kernels over the weighted draws; two rows in one place have k = 1."""
    draws, y = np.tile([0.0, 1.0, 3.0], (2, 1)), np.array([0.5, 0.5])
    w, c = np.array([0.5, 0.3, 0.2]), 1.5

    def kernel(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return np.exp(-((a[:, None] - b[None, :]) ** 2) / (2 * c * c))

    expected = 1.0 - 2.0 * (kernel(y[:1], draws[0]) @ w)[0] + w @ kernel(draws[0], draws[0]) @ w
    found = cr.skce(cr.Samples(draws, weights=w), y, bandwidth=1.0, label_bandwidth=c).value
    assert found == pytest.approx(expected, rel=1e-9)


def test_limit_of_the_kernel_error() -> None:
    """Nearly equal weights give nearly the p-value of none, very unequal ones that of few draws."""
    statistic = cr.skce.with_(label_bandwidth=1.0, bandwidth=1.0)
    nearly = np.full(S, 1 / S) + np.linspace(-1, 1, S) * 1e-6
    plain, close = (
        cr.calibration_test(one, LABELS, statistics=statistic, method="asymptotic", rng=0).pvalue
        for one in (PLAIN, cr.Samples(DRAWS, weights=nearly))
    )
    assert close == pytest.approx(plain, abs=0.002)  # 2 of 1000 sign vectors may change sides
    few = np.array([0.5, 0.5, 0, 0, 0, 0]) * (1 - 4e-9) + 1e-9
    two, close = (
        cr.calibration_test(one, LABELS, statistics=statistic, method="asymptotic", rng=0).pvalue
        for one in (cr.Samples(DRAWS[:, :2]), cr.Samples(DRAWS, weights=few / few.sum()))
    )
    assert close == pytest.approx(two, abs=0.002)


def test_variance_by_its_definition() -> None:
    away = DRAWS - (DRAWS @ SHARES)[:, None]
    np.testing.assert_allclose(WEIGHTED.variance(), away**2 @ SHARES / (1 - SHARES @ SHARES), rtol=1e-12)
    np.testing.assert_allclose(PLAIN.variance(), DRAWS.var(axis=1, ddof=1), rtol=1e-12)


def posed(given: cr.Samples, members: np.ndarray | None = None) -> np.ndarray:
    """The draws that labels are exchanged with."""
    rows = Dataset(given, np.full(len(given), -1.0))
    return LabelSource("independent", (3, 4), members).pose(rows).predictions.values[:, 1:]  # type: ignore[attr-defined]


def test_draws_are_taken_by_weight() -> None:
    given = cr.Samples(np.tile(np.arange(6.0), (3000, 1)), weights=SHARES)
    taken = posed(given)
    assert taken.shape == (3000, 3)  # 1 / 0.3 = 3.3
    assert (np.diff(np.sort(taken, axis=1), axis=1) > 0).all()  # none twice
    share = [(taken == k).any(axis=1).mean() for k in range(S)]
    np.testing.assert_allclose(share, 3 * SHARES, atol=0.04)  # 4 standard errors
    together = posed(cr.Samples(given.values[:, :, None], weights=SHARES), np.zeros(9, dtype=int))
    assert (together == together[0]).all()
    assert together.shape == (3000, 3)
    np.testing.assert_array_equal(posed(given[5:10]).shape, (5, 3))
    assert posed(PLAIN).shape == (N, S)


def test_members_of_mixture_draws_are_chosen_by_weight() -> None:
    far = cr.Samples(
        np.tile(np.array([0.0, 1000.0])[:, None], (400, 1, 5)), weights=[0.9, 0.1], member_axis=1
    )
    assert (posed(far) > 500).mean() == pytest.approx(0.1, abs=0.02)


@pytest.mark.parametrize("shape", [(400, 20), (400, 20, 1)])
def test_tests_follow_the_weights(shape: tuple[int, ...]) -> None:
    """Half of the draws are far away, with a tenth of the weight: as many labels are."""
    rng = np.random.default_rng(8)
    draws = (rng.normal(size=(400, 20)) + np.repeat([0.0, 50.0], 10)).reshape(shape)
    labels = rng.normal(size=400) + 50.0 * (rng.random(400) < 0.1)
    weighted = cr.Samples(draws, weights=np.repeat([0.09, 0.01], 10), member_axis=1)
    for statistic in ("quantile_calibration_error", "crps"):
        found, plain = (
            cr.calibration_test(one, labels, statistics=statistic, n_resamples=99, rng=1)
            for one in (weighted, cr.Samples(draws, member_axis=1))
        )
        assert plain.pvalue <= 0.02
        assert found.pvalue > 0.05
        note = "each label is compared with 11 of the 20 weighted draws, taken at random by weight, and"
        assert found.notes[0].startswith(note)
        # N = 1 / (10 * 0.09^2 + 10 * 0.01^2) = 12.2, and N^2 / 16 = 9.3
        assert "too often beyond about 9 instances, and several draws per member avoid" in found.notes[1]


def test_joint_draws_with_weights() -> None:
    """The label vector is one of those that are kept, so the p-value counts these."""
    rng = np.random.default_rng(9)
    draws = rng.normal(size=(50, 20, 1)) + rng.normal(size=20)[:, None]
    weights = np.r_[np.full(10, 0.08), np.full(10, 0.02)]
    given = cr.Samples(draws, weights=weights)
    found = cr.predictive_check(
        given, draws[:, 0, 0], statistics=["crps"], hypothesis="bayesian", n_resamples=99, rng=0
    )
    assert found.bayesian.omnibus_pvalue > 0.05
    one = cr.Samples(draws[:, :2], weights=[0.999, 0.001])
    single = cr.predictive_check(
        one, draws[:, 0, 0], statistics=["crps"], hypothesis="bayesian", n_resamples=19, rng=0
    )
    assert single.bayesian.omnibus_pvalue > 0.05


def test_files_keep_weights(tmp_path: Path) -> None:
    for name in ("w.npz", "w.json"):
        for given in (WEIGHTED, OF_MEMBERS):
            found = cr.load(cr.save(tmp_path / name, given, LABELS, overwrite=True)).predictions
            assert isinstance(found, cr.Samples)
            np.testing.assert_array_equal(found.weights, given.weights)
    with pytest.raises(cr.FileError, match="no place for member_weights"):
        cr.save(tmp_path / "w.csv", WEIGHTED, LABELS)


def test_bad_weights() -> None:
    with pytest.raises(cr.InputError, match="must be 6 non-negative numbers summing to 1, one per draw"):
        cr.Samples(DRAWS, weights=[0.5, 0.5])
    with pytest.raises(cr.InputError, match="must be 3 non-negative numbers summing to 1, one per member"):
        cr.Samples(MEMBERS, weights=[0.5, 0.6, -0.1])


def test_in_every_library(library: Library) -> None:
    given = cr.Samples(library.asarray(DRAWS), weights=library.asarray(SHARES))
    labels = library.asarray(LABELS)
    for measure in (
        lambda one, y: one.cdf(y),
        lambda one, y: one.quantile([0.2, 0.5]),
        lambda one, y: one.variance(),
    ):
        assert np.allclose(read(measure(given, labels)), measure(WEIGHTED, LABELS), rtol=1e-9, atol=1e-12)
    for statistic in (cr.crps, cr.skce):
        assert statistic(given, labels).value == pytest.approx(statistic(WEIGHTED, LABELS).value, rel=1e-9)
    first, second = (
        cr.calibration_test(one, y, n_resamples=19, rng=0).pvalue
        for one, y in ((given, labels), (WEIGHTED, LABELS))
    )
    assert first == second


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_draws_of_equal_weight_are_counted_in_every_precision(dtype: type) -> None:
    weights = np.array([1 / 3, 1 / 3, 1 / 6, 1 / 6], dtype=dtype)
    assert cr.Samples(np.zeros((2, 4)), weights=weights).n_exchanged == 3
    assert cr.Samples(np.zeros((2, 6)), weights=[*[1 / 12] * 5, 7 / 12]).n_exchanged == 1
