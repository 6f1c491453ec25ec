"""Scores of real-valued predictions: by hand, against numerical integration and against `scoringrules`."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import scipy.integrate
import scipy.stats

import credibly as cr
from credibly.predictions import Reals

LEVELS = np.arange(1, 20) / 20
RNG = np.random.default_rng(0)
N = 40
Y = 1.5 * RNG.normal(size=N)
MEAN, STD = RNG.normal(size=(N, 3)), RNG.uniform(0.3, 2.0, size=(N, 3))
DRAWS = RNG.normal(size=(N, 15))
TABLE = np.sort(RNG.normal(size=(N, 19)), axis=1)
ALL = {
    "gaussian": cr.Gaussian(MEAN[:, 0], STD[:, 0]),
    "gaussian members": cr.Gaussian(MEAN, STD),
    "samples": cr.Samples(DRAWS),
    "samples members": cr.Samples(DRAWS.reshape(N, 3, 5)),
    "quantiles": cr.Quantiles(TABLE, LEVELS),
}


# crps


def test_crps_equals_that_of_scoringrules() -> None:
    sr = pytest.importorskip("scoringrules", reason="needs scoringrules (extra `dev`)")
    for given, expected in (
        (ALL["gaussian"], sr.crps_normal(Y, MEAN[:, 0], STD[:, 0])),
        (ALL["gaussian members"], sr.crps_mixnorm(Y, MEAN, STD)),
        (ALL["samples"], sr.crps_ensemble(Y, DRAWS, estimator="nrg")),
        (ALL["samples members"], sr.crps_ensemble(Y, DRAWS, estimator="nrg")),
        (ALL["quantiles"], sr.crps_quantile(Y, TABLE, LEVELS)),
    ):
        each = [float(cr.crps(given[i : i + 1], Y[i : i + 1])) for i in range(N)]
        assert np.allclose(each, expected, rtol=1e-10, atol=1e-12)
        assert float(cr.crps(given, Y)) == pytest.approx(expected.mean(), rel=1e-12)
    fair = sr.crps_ensemble(Y, DRAWS, estimator="fair")
    assert float(cr.crps(ALL["samples"], Y, estimator="fair")) == pytest.approx(fair.mean(), rel=1e-12)


@pytest.mark.parametrize("kind", ["gaussian members", "samples"])
def test_crps_is_the_integrated_squared_difference_of_distribution_functions(kind: str) -> None:
    for i in range(4):
        one, label = ALL[kind][i : i + 1], Y[i]

        def below(x: float, gaussian: cr.Gaussian = one) -> float:
            return float(gaussian.cdf([x])[0]) ** 2

        def above(x: float, gaussian: cr.Gaussian = one) -> float:
            return (1.0 - float(gaussian.cdf([x])[0])) ** 2

        inside = np.sort(DRAWS[i]) if kind == "samples" else MEAN[i]
        breaks = sorted({-30.0, *inside, label, 30.0})
        area = sum(
            scipy.integrate.quad(below if high <= label else above, low, high)[0]
            for low, high in itertools.pairwise(breaks)
        )
        assert float(cr.crps(one, [label])) == pytest.approx(area, abs=1e-7)


def test_crps_of_draws_far_from_zero_keeps_its_digits() -> None:
    shifted = cr.Samples(DRAWS + 1e9)
    assert float(cr.crps(shifted, Y + 1e9)) == pytest.approx(float(cr.crps(ALL["samples"], Y)), rel=1e-5)


@pytest.mark.parametrize("n", [1, N, 5000])
def test_one_label_vector_scores_as_the_mean_over_pairs_of_draws_and_as_in_a_batch(n: int) -> None:
    rng = np.random.default_rng(n)
    draws, labels = rng.normal(size=(n, 7)).round(1), rng.normal(size=n).round(1)  # with ties
    far = np.abs(draws - labels[:, None]).mean(axis=1)
    apart = np.abs(draws[:, :, None] - draws[:, None, :]).sum(axis=(1, 2))
    for estimator, pairs in (("empirical", 49), ("fair", 42)):
        bound = cr.crps.bind(cr.Samples(draws), estimator=estimator)
        single = bound.contributions(Reals(labels[None, :]))
        assert single[0] == pytest.approx(far - apart / (2 * pairs), abs=1e-12)
        batch = bound.contributions(Reals(np.stack([labels, labels + 1.0])))
        assert single[0] == pytest.approx(batch[0], abs=1e-12)


def test_fair_crps_is_unbiased_for_the_distribution_behind_the_draws() -> None:
    rng = np.random.default_rng(1)
    draws = cr.Samples(rng.normal(size=(20_000, 3)))
    truth = float(cr.crps(cr.Gaussian([0.0], [1.0]), [0.7]))
    labels = np.full(20_000, 0.7)
    estimate = cr.crps(draws, labels, estimator="fair")
    assert abs(estimate.value - truth) < 4 * estimate.stderr
    assert cr.crps(draws, labels).value - truth > 4 * estimate.stderr


def test_fair_crps_is_refused_where_there_is_nothing_to_correct() -> None:
    for kind in ("gaussian", "quantiles"):
        with pytest.raises(cr.UnsupportedError, match="corrects for a finite number of draws"):
            cr.crps(ALL[kind], Y, estimator="fair")
    for predictions in (ALL["samples members"], cr.Samples(DRAWS[:, :1])):
        with pytest.raises(cr.UnsupportedError, match="at least two independent draws"):
            cr.crps(predictions, Y, estimator="fair")
    with pytest.raises(cr.InputError, match="`estimator` must be one of"):
        cr.crps.with_(estimator="unbiased")


# gaussian_log_loss


def test_log_loss_is_that_of_the_mixture_density() -> None:
    density = scipy.stats.norm.pdf(Y[:, None], MEAN, STD).mean(axis=1)
    assert float(cr.gaussian_log_loss(ALL["gaussian members"], Y)) == pytest.approx(-np.log(density).mean())
    single = scipy.stats.norm.logpdf(Y, MEAN[:, 0], STD[:, 0])
    assert float(cr.gaussian_log_loss(ALL["gaussian"], Y)) == pytest.approx(-single.mean())


def test_log_loss_does_not_underflow() -> None:
    """Both densities are 0 in double precision; the nearer member, 100 standard deviations off, decides."""
    members = cr.Gaussian([[0.0, 300.0]], [[1.0, 1.0]])
    expected = 0.5 * 100**2 + 0.5 * math.log(2 * math.pi) + math.log(2)
    assert float(cr.gaussian_log_loss(members, [100.0])) == pytest.approx(expected, rel=1e-14)


# tables of losses, for many replicates


def mixtures(n: int = 300, m: int = 10) -> tuple[cr.Gaussian, np.ndarray, np.ndarray]:
    """Return members of different widths, observed labels (1, n), and labels (50, n) drawn from them."""
    rng = np.random.default_rng(5)
    mean = rng.normal(size=(n, 1)) + 0.5 * rng.normal(size=(n, m))
    std = np.exp(0.3 * rng.normal(size=(n, m)))
    std[0, 0] = 1e-3  # a row whose cells would be too many
    chosen, rows = rng.integers(m, size=(51, n)), np.arange(n)
    labels = mean[rows, chosen] + std[rows, chosen] * rng.normal(size=(51, n))
    labels[1:3, 1] = 40.0, -1e9  # far beyond all nodes
    return cr.Gaussian(mean, std), labels[:1], labels[1:]


@pytest.mark.parametrize("statistic", [cr.crps, cr.gaussian_log_loss])
def test_tabled_losses_are_close_and_those_of_observed_labels_exact(
    statistic: cr.statistics.Statistic,
) -> None:
    predictions, observed, drawn = mixtures()
    bound = statistic.bind(predictions)
    tabled = bound.for_replicates(Reals(observed), 999)
    assert tabled is not bound
    together = Reals(np.concatenate([observed, drawn]))
    found, exact = tabled.contributions(together), bound.contributions(together)
    assert np.allclose(found[0], exact[0], rtol=1e-14, atol=1e-14)
    assert float(tabled(together)[0]) == pytest.approx(float(bound(Reals(observed))[0]), rel=1e-13)
    # h^4 / 384 times the fourth derivative, with h = s / 2, twice: at the label and at the observed one
    assert np.abs(found - exact).max() < 1e-3
    assert np.abs(found.mean(axis=1) - exact.mean(axis=1))[3:].max() < 1e-5
    assert np.array_equal(found[:, 0], exact[:, 0])
    assert np.allclose(found[1:3, 1], exact[1:3, 1], rtol=1e-3)


@pytest.mark.parametrize("statistic", [cr.crps, cr.gaussian_log_loss])
def test_a_tabled_loss_is_one_function_of_the_label(statistic: cr.statistics.Statistic) -> None:
    """Observed or drawn, alone or among others, of all rows or of some: else ranks would not be exact."""
    predictions, observed, drawn = mixtures()
    tabled = statistic.bind(predictions).for_replicates(Reals(observed), 999)
    every = tabled.contributions(Reals(np.concatenate([drawn, observed])))
    assert np.allclose(every[-1], tabled.contributions(Reals(observed))[0], rtol=1e-14, atol=1e-14)
    assert np.array_equal(every[7], tabled.contributions(Reals(drawn[7:8]))[0])
    part = statistic.bind(predictions[100:]).for_replicates(Reals(observed[:, 100:]), 999)
    assert np.allclose(part.contributions(Reals(drawn[:, 100:])), every[:-1, 100:], rtol=1e-13, atol=1e-13)


def test_a_tabled_log_loss_does_not_underflow() -> None:
    """Between members 100 widths apart all densities are 0 in double precision."""
    members = cr.Gaussian([[0.0, 100.0], [0.0, 1.0]], [[1.0, 1.0], [1.0, 1.0]], member_axis=1)
    tabled = cr.gaussian_log_loss.bind(members).for_replicates(Reals(np.zeros((1, 2))), 999)
    found = tabled.contributions(Reals(np.array([[45.3, 0.5], [54.9, 0.5]])))
    # the nearer member decides, 45.3 and 45.1 off; cubics are exact for squares
    expected = [0.5 * gap**2 + 0.5 * math.log(2 * math.pi) + math.log(2) for gap in (45.3, 45.1)]
    np.testing.assert_allclose(found[:, 0], expected, rtol=1e-7)


@pytest.mark.parametrize("unit", [1e-40, 1e40])
def test_tabled_losses_have_the_units_of_labels(unit: float) -> None:
    """Beyond the numbers of single precision, too."""
    predictions, observed, drawn = mixtures()
    moved = cr.Gaussian(unit * predictions.mean, unit * predictions.std)
    near, far = (
        cr.crps.bind(one).for_replicates(Reals(by * observed), 999)(Reals(by * drawn[3:]))
        for one, by in ((predictions, 1.0), (moved, unit))
    )
    np.testing.assert_allclose(far / unit, near, rtol=1e-6)


def test_rows_too_narrow_for_single_precision_keep_their_losses() -> None:
    """Beside a wide one of weight 0, which must not decide what can be told apart."""
    predictions, observed, drawn = mixtures()
    unit = np.where(np.arange(observed.size) == 7, 1.0, 1e-46)
    moved = cr.Gaussian(unit[:, None] * predictions.mean, unit[:, None] * predictions.std)
    weights = np.where(unit == 1.0, 0.0, 1.0)[None, :]
    far = cr.crps.bind(moved).for_replicates(Reals(unit * observed), 999)(Reals(unit * drawn[3:], weights))
    near = cr.crps.bind(predictions).for_replicates(Reals(observed), 999)(Reals(drawn[3:], weights))
    np.testing.assert_allclose(far / 1e-46, near, rtol=1e-6)


def test_a_far_label_leaves_the_sums_of_other_labels_as_they_are() -> None:
    predictions, observed, drawn = mixtures()
    far = observed.copy()
    far[0, 1] = 1e20
    plain, moved = (
        cr.crps.bind(predictions).for_replicates(Reals(one), 999)(Reals(drawn[3:])) for one in (observed, far)
    )
    np.testing.assert_allclose(moved, plain, rtol=0.01)  # half of E|X - X'| of its row is lost beside 1e20


def test_an_infinite_loss_of_weight_zero_is_not_there() -> None:
    predictions, observed, drawn = mixtures()
    drawn = drawn[3:]
    weights, labels = np.ones_like(drawn), drawn.copy()
    labels[:, 1], weights[:, 1] = 1e200, 0.0
    tabled = cr.gaussian_log_loss.bind(predictions).for_replicates(Reals(observed), 999)
    expected = np.average(np.delete(tabled.contributions(Reals(drawn)), 1, axis=1), axis=1)
    with np.errstate(over="ignore", invalid="ignore"):
        np.testing.assert_allclose(tabled(Reals(labels, weights)), expected, rtol=1e-12)


def test_sums_of_many_rows_lose_no_digits() -> None:
    predictions, observed, drawn = mixtures(5000)
    for statistic in (cr.crps, cr.gaussian_log_loss):
        tabled = statistic.bind(predictions).for_replicates(Reals(observed), 999)
        values = tabled(Reals(drawn[3:])) - tabled.contributions(Reals(drawn[3:])).mean(axis=1)
        assert np.abs(values).max() < 1e-7


@pytest.mark.parametrize("statistic", [cr.crps, cr.gaussian_log_loss])
def test_the_sum_of_a_label_vector_does_not_depend_on_those_beside_it(
    statistic: cr.statistics.Statistic,
) -> None:
    predictions, observed, drawn = mixtures()
    tabled = statistic.bind(predictions).for_replicates(Reals(observed), 999)
    every = tabled(Reals(np.concatenate([drawn, drawn, drawn])))
    np.testing.assert_allclose(every[57:59], tabled(Reals(drawn[7:9])), rtol=1e-14)


@pytest.mark.parametrize("weighted", [False, True])
def test_losses_that_are_looked_up_together_have_the_sums_of_each_alone(weighted: bool) -> None:
    predictions, observed, drawn = mixtures()
    weights = np.random.default_rng(6).integers(3, size=drawn.shape) * 1.0 if weighted else None
    together = Reals(drawn, weights)
    score, loss = (
        one.bind(predictions).for_replicates(Reals(observed), 999) for one in (cr.crps, cr.gaussian_log_loss)
    )
    every = [score.contributions(together), loss.contributions(together)]
    expected = [np.average(one, axis=1, weights=weights) for one in every]
    assert loss.shared == score.shared
    states = score.states_with([loss], together)
    for one, state, values in zip((score, loss), states, expected, strict=True):
        # without weights sums are in single precision
        for found in (one.finish(state), one(together)):
            assert np.allclose(found, values, rtol=1e-12 if weighted else 1e-6, atol=0.0)
        assert np.array_equal(one.finish(state), one(together))
    other = cr.crps.bind(predictions[:]).for_replicates(Reals(observed), 999)
    assert other.shared != score.shared  # rows of other predictions may have other nodes


def test_few_replicates_are_evaluated_without_a_table() -> None:
    predictions, observed, _ = mixtures()
    bound = cr.crps.bind(predictions)
    assert bound.for_replicates(Reals(observed), 99) is bound


@pytest.mark.parametrize("kind", ["samples", "quantiles"])
def test_log_loss_needs_a_density(kind: str) -> None:
    with pytest.raises(cr.InputTypeError, match="needs a density, which only Gaussian predictions have"):
        cr.gaussian_log_loss(ALL[kind], Y)


# Coverage


@pytest.mark.parametrize("kind", ALL)
@pytest.mark.parametrize("level", [0.5, 0.9])
def test_coverage_and_interval_score_by_their_definition(kind: str, level: float) -> None:
    ends = ALL[kind].quantile([(1 - level) / 2, (1 + level) / 2])
    low, high = ends.T
    alpha = 1 - level
    penalty = 2 / alpha * (np.where(low > Y, low - Y, 0) + np.where(high < Y, Y - high, 0))
    assert float(cr.picp(ALL[kind], Y, level=level)) == np.mean((low <= Y) & (high >= Y))
    assert float(cr.interval_score(ALL[kind], Y, level=level)) == pytest.approx(np.mean(high - low + penalty))


def test_ends_of_the_interval_are_inside() -> None:
    quantiles = cr.Quantiles([[0.0, 1.0]] * 4, [0.05, 0.95])
    assert float(cr.picp(quantiles, [0.0, 1.0, -1e-12, 1 + 1e-12])) == 0.5
    with pytest.raises(cr.UnsupportedError, match=r"quantile at level 0\.25"):
        cr.picp(quantiles, [0.0] * 4, level=0.5)


def test_coverage_has_the_interval_of_a_share() -> None:
    estimate = cr.picp(ALL["gaussian"], Y)
    assert estimate.interval_method == "wilson"
    weighted = cr.picp(ALL["gaussian"], Y, sample_weight=np.arange(N) + 1.0)
    assert weighted.interval_method == "normal"


@pytest.mark.parametrize("kind", ["gaussian members", "samples"])
@pytest.mark.parametrize("levels", [5, (0.1, 0.77)])
def test_quantile_error_by_its_definition(kind: str, levels: int | tuple[float, ...]) -> None:
    grid = [j / levels for j in range(1, levels)] if isinstance(levels, int) else levels
    expected = 0.0
    for column, level in enumerate(grid):
        share = np.mean(ALL[kind].quantile(grid)[:, column] >= Y)
        expected += (level - share) ** 2
    assert float(cr.quantile_calibration_error(ALL[kind], Y, levels=levels)) == pytest.approx(expected)


def test_quantiles_are_held_to_their_own_levels() -> None:
    quantiles = cr.Quantiles([[0.0, 1.0], [0.0, 1.0]], [0.2, 0.5])
    estimate = cr.quantile_calibration_error(quantiles, [0.5, 2.0])
    assert estimate.value == pytest.approx(0.2**2 + 0.0)  # none of two below 0, one of two below 1
    assert estimate.settings == {"levels": (0.2, 0.5), "strict": False}
    assert "uses the 2 levels of the predicted quantiles" in estimate.notes
    with pytest.raises(cr.UnsupportedError, match="biased upwards"):
        estimate.interval()


def test_the_printed_calibration_error_counts_labels_strictly_below() -> None:
    """P21 eq. 2.4, written out: share of F(y) < p, F the share of draws at most as large."""
    draws = np.array([[1.0, 2.0, 3.0, 4.0], [0.0, 0.0, 5.0, 9.0]])
    labels = np.array([2.0, 0.0])  # F = 2/4 and 2/4
    levels = (0.25, 0.5, 0.75)
    cdf = (draws <= labels[:, None]).mean(axis=1)
    printed = sum((p - np.mean([one < p for one in cdf])) ** 2 for p in levels)  # 0.25^2 + 0.5^2 + 0.25^2
    paper = cr.quantile_calibration_error.with_(levels=levels, strict=True)
    assert float(paper(cr.Samples(draws), labels)) == pytest.approx(printed) == pytest.approx(0.375)
    # at most: both labels are at or below the quantiles at 1/2, the second at that of 1/4
    estimate = cr.quantile_calibration_error(cr.Samples(draws), labels, levels=levels)
    assert float(estimate) == pytest.approx(0.25**2 + 0.5**2 + 0.25**2)
    check = cr.predictive_check(
        cr.Samples(draws), labels, statistics=[paper], hypothesis="independent", n_resamples=9, rng=0
    )
    assert check.checks["quantile_calibration_error"].statistic == pytest.approx(printed)


@pytest.mark.parametrize(
    "levels", [1, 0, 10_001, True, 2.5, (), (0.5, 0.5), (0.0, 0.5), (0.9, 0.1), "100", (0.5, "a")]
)
def test_wrong_levels(levels: object) -> None:
    with pytest.raises(cr.InputError, match="`levels` must be an integer from 2 to 10000 or increasing"):
        cr.quantile_calibration_error.with_(levels=levels)


@pytest.mark.parametrize("statistic", [cr.picp, cr.interval_score], ids=["picp", "interval_score"])
@pytest.mark.parametrize("level", [0, 1, 90, "0.9", None])
def test_wrong_level(statistic: cr.statistics.Statistic, level: object) -> None:
    with pytest.raises(cr.InputError, match="`level` must lie strictly between 0 and 1"):
        statistic.with_(level=level)


# Errors of one number


@pytest.mark.parametrize("kind", ALL)
def test_errors_of_mean_and_median(kind: str) -> None:
    mean, median = ALL[kind].expectation(), ALL[kind].quantile([0.5])[:, 0]
    assert float(cr.rmse(ALL[kind], Y)) == pytest.approx(math.sqrt(np.mean((Y - mean) ** 2)))
    assert float(cr.mae(ALL[kind], Y)) == pytest.approx(np.mean(np.abs(Y - median)))


def test_error_of_the_rmse_goes_through_the_root() -> None:
    # squares 9 and 16: mean 12.5, standard error of it 3.5, slope of the root 1 / (2 sqrt(12.5))
    estimate = cr.rmse(cr.Gaussian([0.0, 0.0], [1.0, 1.0]), [3.0, 4.0])
    assert estimate.stderr == pytest.approx(3.5 / (2 * math.sqrt(12.5)))
    exact = cr.rmse(cr.Gaussian([0.0, 0.0], [1.0, 1.0]), [0.0, 0.0])
    assert exact.value == 0.0
    with pytest.raises(cr.UnsupportedError, match="no derivative"):
        exact.interval()
    with pytest.raises(cr.UnsupportedError, match="one instance"):
        cr.rmse(cr.Gaussian([0.0], [1.0]), [3.0]).interval()


# pit


@pytest.mark.parametrize("kind", ALL)
def test_pit_is_the_distribution_function_at_the_label(kind: str) -> None:
    assert np.array_equal(cr.pit(ALL[kind], Y), ALL[kind].cdf(Y))
    assert ((cr.pit(ALL[kind], Y) >= 0) & (cr.pit(ALL[kind], Y) <= 1)).all()


def test_what_pit_refuses() -> None:
    with pytest.raises(cr.InputTypeError, match="one number, or class, per instance; got LabelCounts"):
        cr.pit([[0.5, 0.5]], cr.LabelCounts([[1, 2]]))
    with pytest.raises(cr.UnsupportedError, match=r"needs levels at most 0\.05 apart"):
        cr.pit(cr.Quantiles([[0.0]], [0.5]), [0.0])


# What all of them refuse, and corners


REAL = [
    statistic for statistic in cr.statistics.registered().values() if statistic.traits.labels == {"reals"}
]
every = pytest.mark.parametrize("statistic", REAL, ids=lambda one: one.name)


@every
@pytest.mark.parametrize(
    ("predictions", "labels", "words"),
    [
        ([[0.5, 0.5]], [0], "needs real-valued predictions; got Point"),
        (cr.LabelCounts([[1, 2]]), [0.0], "needs real-valued predictions; got LabelCounts"),
        (ALL["gaussian"], Y[:-1], "must have one entry per prediction"),
        (ALL["gaussian"], np.where(np.arange(N) == 3, np.nan, Y), "`labels` must be finite; row 3 holds nan"),
        (ALL["gaussian"], np.full(N, np.inf), "`labels` must be finite"),
        (ALL["gaussian"], ["a"] * N, "`labels` must hold numbers"),
        (ALL["gaussian"], Y + 1j, "must hold numbers|must be real"),
        (
            ALL["gaussian"],
            cr.LabelCounts(np.ones((N, 2), dtype=int)),
            "counts are about classes; got predictions of a real value",
        ),
    ],
)
def test_bad_input(
    statistic: cr.statistics.Statistic, predictions: object, labels: object, words: str
) -> None:
    with pytest.raises(cr.CrediblyError, match=words):
        statistic(predictions, labels)


@every
def test_weights(statistic: cr.statistics.Statistic) -> None:
    weights = np.ones(N)
    weights[5] = 0.0
    kept = np.arange(N) != 5
    given = ALL["gaussian members"]
    if "n_bins" in statistic.settings():  # bins hold equally many rows, whatever they weigh
        statistic = statistic.with_(n_bins=1)
    elif not statistic.traits.multiplicities:  # its bandwidth does not know weights
        return
    assert float(statistic(given, Y, sample_weight=weights)) == pytest.approx(
        float(statistic(given[kept], Y[kept]))
    )
    with pytest.raises(cr.CrediblyError, match="`sample_weight`"):
        statistic(given, Y, sample_weight=-weights)


@every
def test_one_instance_one_member_and_whole_labels(statistic: cr.statistics.Statistic) -> None:
    gaussian = cr.Gaussian([[1.0]], [[2.0]])
    assert math.isfinite(float(statistic(gaussian, [3])))
    assert float(statistic(gaussian, [3])) == float(statistic(cr.Gaussian([1.0], [2.0]), [3.0]))


@every
def test_huge_labels_are_no_nan(statistic: cr.statistics.Statistic) -> None:
    value = float(statistic(ALL["gaussian members"], np.full(N, 1e60)))
    assert not math.isnan(value)


def test_batches_of_all_sizes_agree() -> None:
    """Tiles of replicates must not change a value: 1, a few, and more labels than a tile holds."""
    gaussian = cr.Gaussian(np.zeros(1000), np.ones(1000))
    labels = np.random.default_rng(2).normal(size=(200, 1000))
    for statistic in REAL:
        bound = statistic.bind(gaussian)
        together = bound(Reals(labels))
        assert np.allclose(together[[0, 70, 199]], [bound(Reals(labels[[row]]))[0] for row in (0, 70, 199)])


def test_crps_of_few_quantiles_says_that_it_depends_on_their_levels() -> None:
    labels = np.zeros(4)
    few = cr.Quantiles(np.tile([-1.0, 0.0, 1.0], (4, 1)), [0.1, 0.5, 0.9])
    many = cr.Quantiles(np.tile(np.linspace(-2, 2, 19), (4, 1)), np.arange(1, 20) / 20)
    assert any("CRPS from 3 quantiles" in note for note in cr.crps(few, labels).notes)
    assert not any("CRPS from" in note for note in cr.crps(many, labels).notes)


def test_ordered_classes_and_counts_have_a_uniform_pit() -> None:
    rng = np.random.default_rng(8)
    rate = rng.gamma(2.0, 1.0, size=4000)
    counts = np.arange(25)
    logs = counts * np.log(rate[:, None]) - np.cumsum(np.log(np.maximum(counts, 1)))
    probs = np.exp(logs - logs.max(axis=1, keepdims=True))
    probs /= probs.sum(axis=1, keepdims=True)
    labels = (rng.random((4000, 1)) > probs.cumsum(axis=1)).sum(axis=1)
    placed = cr.pit(cr.Point(probs), labels, rng=0)
    # the largest distance of 4000 uniform numbers from their levels is above 0.031 once in 1000
    assert np.abs(np.sort(placed) - np.arange(1, 4001) / 4000).max() < 0.031
    assert np.array_equal(placed, cr.pit(cr.Point(probs), labels, rng=0))
    plain = cr.pit(cr.Point(probs), labels, randomised=False)
    assert plain == pytest.approx(probs.cumsum(axis=1)[np.arange(4000), labels])
    assert (placed <= plain).all()
    draws = cr.Samples((rng.random((4000, 6, 1)) > probs.cumsum(axis=1)[:, None, :]).sum(axis=2))
    among = cr.pit(draws, labels, randomised=True, rng=1)
    assert np.abs(np.sort(among) - np.arange(1, 4001) / 4000).max() < 0.031


def test_rps_by_hand_and_by_brute_force() -> None:
    rng = np.random.default_rng(9)
    probs = rng.dirichlet(np.ones(5), size=30)
    labels = rng.integers(0, 5, size=30)
    expected = np.mean(
        [
            sum((row[: c + 1].sum() - (label <= c)) ** 2 for c in range(5))
            for row, label in zip(probs, labels, strict=True)
        ]
    )
    assert float(cr.statistics.rps(probs, labels)) == pytest.approx(expected, rel=1e-12)
    two = rng.dirichlet(np.ones(2), size=20)
    assert float(cr.statistics.rps(two, labels[:20] % 2)) == pytest.approx(
        0.5 * float(cr.brier(two, labels[:20] % 2)), rel=1e-12
    )
    # one class off costs less than three: (1 - 0)^2 once, and three times
    sure = np.eye(4)[[0, 0]]
    assert cr.statistics.rps.bind(cr.Point(sure)).contributions(
        cr.predictions.as_labels(cr.Point(sure), [1, 3])
    ).tolist() == [[1.0, 3.0]]
    check = cr.predictive_check(
        cr.Ensemble(np.stack([probs, probs], axis=1)), labels, statistics=["rps"], n_resamples=19, rng=0
    )
    assert "rps" in str(check)
    assert "rps" not in cr.evaluate(probs, labels, tests=False).estimates


@pytest.mark.parametrize("size", [3e-200, 3e200])
def test_errors_whose_squares_are_no_numbers_are_refused(size: float) -> None:
    gaussian = cr.Gaussian([0.0, 0.0], [1.0, 1.0])
    with pytest.raises(cr.UnsupportedError, match="the largest error is 3e"):
        cr.rmse(gaussian, [size, -size])
    assert cr.rmse(gaussian, [3e-200, 3.0]).value == pytest.approx(3 / 2**0.5)  # one of them is tiny
    assert cr.rmse(gaussian, [0.0, 0.0]).value == 0.0
