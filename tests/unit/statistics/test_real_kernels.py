"""Kernel errors of real values against slow double loops and numerical integration."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import quad

import credibly as cr
from credibly.predictions import Classes
from credibly.statistics import real_kernels

N = 9
RNG = np.random.default_rng(3)
MEAN, STD = RNG.normal(size=(N, 3)), RNG.uniform(0.4, 1.5, size=(N, 3))
Y = RNG.normal(size=N)
DRAWS = RNG.normal(size=(N, 4))
LEVELS = np.array([0.1, 0.5, 0.7])
C = 0.8


def label_kernel(one: float, other: float) -> float:
    return math.exp(-((one - other) ** 2) / (2 * C * C))


def expected(function: object, row: int) -> float:
    """Integrate a function under the mixture of a row."""

    def weighted(y: float) -> float:
        density = np.exp(-0.5 * ((y - MEAN[row]) / STD[row]) ** 2) / (STD[row] * math.sqrt(2 * math.pi))
        return function(y) * density.mean()  # type: ignore[operator]

    return quad(weighted, -12, 12, epsabs=1e-12, limit=200)[0]


def residual_product(i: int, j: int) -> float:
    """<r_i, r_j> by integration over the labels that mixtures predict."""
    first = label_kernel(Y[i], Y[j])
    second = expected(lambda y: label_kernel(y, Y[j]), i) + expected(lambda y: label_kernel(y, Y[i]), j)
    s = np.sqrt(C * C + STD[i][:, None] ** 2 + STD[j][None, :] ** 2)
    both = C / s * np.exp(-((MEAN[i][:, None] - MEAN[j][None, :]) ** 2) / (2 * s * s))
    return first - second + both.mean()


@pytest.mark.slow
def test_residuals_of_a_mixture_are_those_of_numerical_integration() -> None:
    mixture = cr.Gaussian(MEAN, STD)
    # with so wide a kernel all predictions are alike: the mean over pairs of <r_i, r_j>
    estimate = cr.skce(mixture, Y, bandwidth=1e9, label_bandwidth=C)
    pairs = [residual_product(i, j) for i in range(N) for j in range(i)]
    assert estimate.value == pytest.approx(np.mean(pairs), abs=1e-8)


@pytest.mark.parametrize(
    ("predictions", "distance"),
    [
        (cr.Gaussian(MEAN[:, 0], STD[:, 0]), "Wasserstein distance"),
        (cr.Quantiles(np.sort(MEAN, axis=1), LEVELS), "Wasserstein distance"),
        (cr.Gaussian(MEAN, STD), "maximum mean discrepancy (MMD)"),
        (cr.Samples(DRAWS, member_axis=1), "maximum mean discrepancy (MMD)"),
    ],
)
def test_the_note_names_the_distance(
    predictions: cr.Gaussian | cr.Quantiles | cr.Samples, distance: str
) -> None:
    estimate = cr.skce(predictions, Y, label_bandwidth="median")
    (note,) = [note for note in estimate.notes if "distinct" in note]
    assert f"is the median {distance} of 9 distinct predictions" in note


def test_the_note_of_standardised_mixtures_names_what_is_compared() -> None:
    (note,) = [note for note in cr.skce(cr.Gaussian(MEAN, STD), Y).notes if "distinct" in note]
    assert "the median distance between means, spreads and shapes of 9 distinct predictions" in note


def test_the_distance_between_mixtures_is_mmd() -> None:
    bound = cr.skce.bind(cr.Gaussian(MEAN, STD), bandwidth=1.0, label_bandwidth=C)

    def overlap(i: int, j: int) -> float:
        s = np.sqrt(C * C + STD[i][:, None] ** 2 + STD[j][None, :] ** 2)
        return float((C / s * np.exp(-((MEAN[i][:, None] - MEAN[j][None, :]) ** 2) / (2 * s * s))).mean())

    mmd = math.sqrt(overlap(0, 0) + overlap(1, 1) - 2 * overlap(0, 1))
    assert bound.tile(slice(0, 2), bound, 0, None)[0, 1] == pytest.approx(math.exp(-mmd), abs=1e-12)


def test_standardised_labels_meet_in_a_centred_kernel() -> None:
    mean, std = MEAN[:, 0], STD[:, 0]
    places = np.stack([mean, std], axis=1)
    plain = np.exp(-np.linalg.norm(places[:, None] - places[None, :], axis=2) / 0.9)
    values = plain.mean(axis=1)
    inner = plain - values[:, None] - values[None, :] + plain.mean() + 0.2
    kernel = inner / np.sqrt(np.outer(np.diag(inner), np.diag(inner)))
    z = (Y - mean) / std

    def bell(gap: np.ndarray, variance: float) -> np.ndarray:
        """E exp(-(gap + N)^2 / (2 c^2)) with c = 1.5 and N normal, of the given variance."""
        return 1.5 / np.sqrt(2.25 + variance) * np.exp(-(gap**2) / (2 * (2.25 + variance)))

    # l(z, z') = g(z - z') + g(z + z') / 2, whose halves are equal where one label is drawn
    labels = bell(z[:, None] - z[None, :], 0.0) + 0.5 * bell(z[:, None] + z[None, :], 0.0)
    drawn = 1.5 * bell(z, 1.0)
    products = labels - drawn[:, None] - drawn[None, :] + 1.5 * bell(np.zeros(()), 2.0)
    terms = kernel * products
    estimate = cr.skce(cr.Gaussian(mean, std), Y, bandwidth=0.9)
    assert estimate.value == pytest.approx(terms[~np.eye(N, dtype=bool)].mean(), abs=1e-12)


def test_standardised_labels_do_not_depend_on_units() -> None:
    mixture, other = cr.Gaussian(MEAN, STD), cr.Gaussian(20.0 + 3.0 * MEAN, 3.0 * STD)
    assert cr.skce(other, 20.0 + 3.0 * Y).value == pytest.approx(cr.skce(mixture, Y).value, rel=1e-9)


def test_mixtures_that_differ_only_in_shape_have_different_places() -> None:
    apart = np.array([[-0.8, 0.8], [0.0, 0.0]])
    same = cr.Gaussian(
        apart, np.array([[0.6, 0.6], [1.0, 1.0]]), member_axis=1
    )  # both have mean 0 and spread 1
    points = cr.skce.bind(same).sides.points
    assert points[0, :2] == pytest.approx(points[1, :2])
    assert np.abs(points[0, 2:-1] - points[1, 2:-1]).max() > 0.01


def test_one_member_is_a_gaussian() -> None:
    gaussian, members = cr.Gaussian(MEAN[:, 0], STD[:, 0]), cr.Gaussian(MEAN[:, :1], STD[:, :1])
    assert cr.skce(gaussian, Y).value == cr.skce(members, Y).value


def test_draws_are_compared_with_the_label_left_out() -> None:
    pool = np.concatenate([Y[:, None], DRAWS], axis=1)
    kernel = np.exp(-((pool[:, None, :, None] - pool[None, :, None, :]) ** 2) / (2 * C * C))
    # <f(y_i) - mean of the draws, f(y_j) - mean of the draws>, from kernels between all numbers
    part = np.array([1.0, *[-1 / 4] * 4])
    products = np.einsum("ijab,a,b->ij", kernel, part, part)
    means = kernel.mean(axis=(2, 3))
    apart = np.sqrt(np.clip(np.diag(means)[:, None] + np.diag(means)[None, :] - 2 * means, 0, None))
    terms = np.exp(-apart / 0.3) * products
    off = ~np.eye(N, dtype=bool)
    estimate = cr.skce(cr.Samples(DRAWS), Y, bandwidth=0.3, label_bandwidth=C)
    assert estimate.value == pytest.approx(terms[off].mean(), abs=1e-12)


def test_quantiles_compare_shares_below_each_level() -> None:
    table = np.sort(DRAWS[:, :3], axis=1)
    labels = np.array([*Y[:-1], table[-1, 1]])  # the last equals a quantile: there it fits
    below = (labels[:, None] <= table).astype(float) - LEVELS
    below[-1, 1] = 0.0
    weights = np.array([0.25, 0.3, 0.25])  # half of both gaps: 0, .1, .5, .7, 1
    products = (below * weights) @ below.T
    apart = table[:, None, :] - table[None, :, :]
    distance = np.sqrt(((apart**2) * weights / weights.sum()).sum(axis=2))
    terms = np.exp(-distance / 0.5) * products
    estimate = cr.skce(cr.Quantiles(table, LEVELS), labels, bandwidth=0.5)
    assert estimate.value == pytest.approx(terms[~np.eye(N, dtype=bool)].mean(), abs=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("rule", ["median", "standardised"])
@pytest.mark.parametrize("kind", ["gaussian", "mixture", "samples", "quantiles"])
def test_residuals_average_zero_under_the_hypothesis(kind: str, rule: str) -> None:
    from credibly.hypotests.resampling.replicates import consistent
    from credibly.predictions import Dataset

    predictions = {
        "gaussian": cr.Gaussian(MEAN[:2, 0], STD[:2, 0]),
        "mixture": cr.Gaussian(MEAN[:2], STD[:2]),
        "samples": cr.Samples(DRAWS[:2]),
        "quantiles": cr.Quantiles(np.sort(DRAWS[:2, :3], axis=1), LEVELS),
    }[kind]
    source = consistent((1, 2))
    rows = source.pose(Dataset(predictions, Y[:2]))
    bound = cr.skce.bind(predictions, bandwidth=1.0, label_bandwidth=rule)
    if kind == "samples":
        bound = bound.of_pool(rows.predictions, None)
    labels = source(rows).labels(slice(0, 20_000))
    residuals = bound.sides.residuals(labels, slice(0, 2), np.float64)
    assert np.abs(residuals.mean(axis=0)).max() < 0.02


def test_far_away_labels_and_predictions_stay_finite() -> None:
    spread = cr.Gaussian([0.0, 1e6, -1e9, 3.0], [1.0, 1e-3, 10.0, 2.0])
    value = cr.skce(spread, [0.0, 0.0, 1e12, 3.0], label_bandwidth=1.0).value
    assert math.isfinite(value)


def test_equal_predictions_have_a_bandwidth() -> None:
    same = cr.Samples(np.zeros((4, 3)))
    assert cr.skce(same, np.zeros(4)).value == 0.0
    assert cr.skce(same, np.ones(4)).value > 0.0


def test_bad_settings() -> None:
    with pytest.raises(cr.InputError, match="`label_bandwidth` must be positive or 'median'"):
        cr.skce.with_(label_bandwidth=-1.0)
    with pytest.raises(cr.UnsupportedError, match="`label_bandwidth` is the bandwidth of real labels"):
        cr.skce([[0.5, 0.5], [0.1, 0.9]], [0, 1], label_bandwidth=1.0)
    with pytest.raises(
        cr.UnsupportedError, match="counts are about classes; got predictions of a real value"
    ):
        cr.skce(cr.Gaussian(MEAN, STD), cr.LabelCounts(np.ones((N, 2), dtype=int)))


def test_the_choice_in_a_pool_is_the_label_of_the_estimate() -> None:
    test = cr.calibration_test(cr.Samples(DRAWS), Y, statistics="skce", n_resamples=19, rng=0)
    assert test.statistic == pytest.approx(cr.skce(cr.Samples(DRAWS), Y).value, abs=1e-15)
    bound = cr.skce.bind(cr.Samples(DRAWS))
    pool, choice = bound.pooled(cr.skce.labels(cr.Samples(DRAWS), Y))
    other = Classes(np.full_like(choice.values, 2), choice.n_classes)
    # choosing the second draw exchanges it with the label
    swapped = DRAWS.copy()
    swapped[:, 1] = Y
    assert float(pool(other)[0]) == pytest.approx(cr.skce(cr.Samples(swapped), DRAWS[:, 1]).value, abs=1e-14)


def test_omnibus_of_real_values() -> None:
    result = cr.calibration_test(cr.Gaussian(MEAN, STD), Y, statistics="omnibus", n_resamples=19, rng=0)
    assert list(result.components) == ["skce", "quantile_calibration_error", "mean_slope"]


def test_rows_in_chunks_are_gathered() -> None:
    from credibly.predictions import Dataset, InMemory
    from credibly.predictions.rows import RowChoice

    class Halves(RowChoice):
        """The same rows in two datasets."""

        def map(self, work, progress=None):  # type: ignore[no-untyped-def]
            (whole,) = super().map(lambda rows: rows)
            yield work(whole.rows(slice(0, 4)))
            yield work(whole.rows(slice(4, N)))

    gaussian = cr.Gaussian(MEAN, STD)
    halves = Halves(InMemory(Dataset(gaussian, Y)), N, lambda rows: rows)
    assert cr.skce(halves).value == pytest.approx(cr.skce(gaussian, Y).value, abs=1e-14)
    whole = cr.calibration_test(gaussian, Y, statistics="skce", n_resamples=19, rng=0)
    parts = cr.calibration_test(halves, statistics="skce", n_resamples=19, rng=0)
    assert parts.pvalue == whole.pvalue


def test_weights_of_draws_are_multiplicities_where_a_bandwidth_sees_a_part(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(real_kernels, "_BANDWIDTH_VALUES", 7)
    rng = np.random.default_rng(2)
    draws, labels, times = rng.normal(size=(30, 4)), rng.normal(size=30), rng.integers(0, 3, size=30)
    weighted = cr.skce(cr.Samples(draws), labels, sample_weight=times.astype(float))
    listed = cr.skce(cr.Samples(np.repeat(draws, times, axis=0)), np.repeat(labels, times))
    assert weighted.value == pytest.approx(listed.value, rel=1e-10)
    for name in ("bandwidth", "label_bandwidth"):
        assert weighted.settings[name] == pytest.approx(listed.settings[name], rel=1e-12)


def test_rules_of_label_bandwidths_are_named() -> None:
    with pytest.raises(cr.InputError, match="must be one of 'standardised', 'median'"):
        cr.skce.with_(label_bandwidth="standard")


NEAR, FAR = (np.array([[0.0, 1.0], [0.0, large], [2.0, 3.0]]) for large in (1.5, 1e160))
OF_TABLE = {
    "gaussian": lambda table: cr.Gaussian(table[:, 1], np.ones(3)),
    "spread": lambda table: cr.Gaussian(table[:, 0], table[:, 1]),
    "mixture": lambda table: cr.Gaussian(table, np.ones((3, 2))),
    "samples": cr.Samples,
    "quantiles": lambda table: cr.Quantiles(table, [0.3, 0.6]),
}


@pytest.mark.parametrize("kind", OF_TABLE)
def test_numbers_too_large_to_square_are_refused(kind: str) -> None:
    made, labels = OF_TABLE[kind], [1.0, 2.0, 3.0]
    assert abs(cr.skce(made(np.minimum(FAR, 1e149)), labels).value) < 1
    for arguments in ((made(FAR), labels), (cr.scan(made(FAR), labels, chunk_rows=1),)):
        with pytest.raises(cr.InputError, match=r"must not exceed 1e\+150 .* row 1 has 1e\+160\. Use other"):
            cr.skce(*arguments)


def test_labels_too_large_to_square() -> None:
    """A label is part of the place of its draws in `skce`; elsewhere a far one is just far."""
    labels = [1.0, 1e160, 3.0]
    with pytest.raises(cr.InputError, match=r"`predictions` and labels must not exceed .* row 1 has 1e\+160"):
        cr.skce(cr.Samples(NEAR), labels)
    nearer = [1.0, 1e3, 3.0]
    normal = cr.Gaussian(NEAR[:, 0], np.ones(3))
    assert cr.skce(normal, labels).value == pytest.approx(cr.skce(normal, nearer).value, rel=1e-12)
