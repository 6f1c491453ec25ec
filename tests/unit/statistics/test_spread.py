"""The stated spread: ratio, slope, ENCE and the curve, against what NumPy says."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
import scipy.stats

import credibly as cr
from credibly.hypotests.resampling.choices import bound_to
from credibly.hypotests.resampling.replicates import LabelSource
from credibly.hypotests.resampling.wild import bound_in_clusters
from credibly.predictions import Classes, Dataset, InMemory, Reals
from credibly.statistics.spread import scatter_of_squares

RNG = np.random.default_rng(4)
N = 200
MEAN, STD = RNG.normal(size=(N, 2)), RNG.uniform(0.3, 2.0, size=(N, 2))
GIVEN = cr.Gaussian(MEAN, STD)
CENTRE = MEAN.mean(axis=1)
VARIANCE = (STD**2 + MEAN**2).mean(axis=1) - CENTRE**2  # of the mixture
Y = CENTRE + 1.3 * np.sqrt(VARIANCE) * RNG.normal(size=N)
Z2 = (Y - CENTRE) ** 2 / VARIANCE
QUANTILES = cr.Quantiles(np.tile([-1.0, 0.0, 1.0], (N, 1)), [0.1, 0.5, 0.9])


def test_variance_of_a_mixture() -> None:
    assert GIVEN.variance() == pytest.approx(VARIANCE, rel=1e-12)


def test_ratio() -> None:
    estimate = cr.statistics.spread_ratio(GIVEN, Y)
    assert estimate.value == pytest.approx(Z2.mean(), rel=1e-12)
    assert estimate.stderr == pytest.approx(Z2.std(ddof=1) / np.sqrt(N), rel=1e-12)


def test_slope_is_that_of_least_squares_with_a_robust_error() -> None:
    x = np.log(VARIANCE)
    line = scipy.stats.linregress(x, Z2)
    away = x - x.mean()
    residual = Z2 - line.intercept - line.slope * x
    # White's heteroscedasticity-consistent error, with n / (n - 1)
    error = np.sqrt(np.sum((away * residual) ** 2) * N / (N - 1)) / np.sum(away**2)
    estimate = cr.statistics.spread_slope(GIVEN, Y)
    assert estimate.value == pytest.approx(line.slope, rel=1e-10)
    assert estimate.stderr == pytest.approx(error, rel=1e-8)


def test_ence_and_curve_in_bins() -> None:
    order = np.argsort(VARIANCE)
    stated = np.sqrt([VARIANCE[part].mean() for part in np.split(order, 5)])
    errors = np.sqrt([((Y - CENTRE) ** 2)[part].mean() for part in np.split(order, 5)])
    expected = np.mean(np.abs(stated - errors) / stated)
    assert cr.statistics.ence(GIVEN, Y, n_bins=5).value == pytest.approx(expected, rel=1e-12)
    curve = cr.hypotests.spread_curve(GIVEN, Y, n_bins=5, n_resamples=99, rng=0)
    assert curve.stated == pytest.approx(stated, rel=1e-12)
    assert curve.observed == pytest.approx(errors, rel=1e-12)
    assert curve.weight.tolist() == [40] * 5
    assert curve.band is not None
    assert (curve.observed > curve.band[1]).any()  # labels are spread by 1.3
    display = cr.plots.picture(curve)
    assert "outside" in display.finding
    assert display.draw() is not None
    assert len(display.table().rows) == 5


def test_ence_has_no_interval() -> None:
    with pytest.raises(cr.UnsupportedError, match="biased upwards"):
        cr.statistics.ence(GIVEN, Y).interval()


@pytest.mark.parametrize("kind", ["normal", "draws"])
def test_ence_is_tested_with_and_without_clusters(kind: str) -> None:
    rng = np.random.default_rng(3)
    ids, scale = np.repeat(np.arange(30), 8), 2.0
    if kind == "normal":
        predictions = cr.Gaussian(np.zeros(240), rng.uniform(0.5, 2.0, size=240))
        labels = predictions.std.ravel() * rng.normal(size=240)
    else:
        predictions = cr.Samples(rng.normal(size=(240, 20)), member_axis=1)
        labels = rng.normal(size=240)
    statistic = cr.statistics.ence.with_(n_bins=4)
    for clusters in (None, ids):
        right, wrong = (
            cr.calibration_test(
                predictions, y, statistics=[statistic], clusters=clusters, n_resamples=99, rng=0
            )
            for y in (labels, scale * labels)
        )
        assert right.pvalue > 0.05
        assert wrong.pvalue <= 0.02


def test_bins_that_cannot_be_equal_differ_by_one_instance() -> None:
    """600 rows in 7 bins: the larger bins lie between the others; `np.array_split` puts them first."""
    rng = np.random.default_rng(0)
    variance = np.sort(rng.uniform(0.3, 2.0, size=600)) ** 2
    labels = np.sqrt(variance) * rng.normal(size=600)
    ends = np.arange(1, 7) * 600 // 7
    assert np.diff([0, *ends, 600]).tolist() == [85, 86, 86, 85, 86, 86, 86]
    parts = np.split(np.arange(600), ends)
    q = [np.mean(labels[part] ** 2) / variance[part].mean() for part in parts]
    found = cr.statistics.ence(cr.Gaussian(np.zeros(600), np.sqrt(variance)), labels, n_bins=7)
    assert found.value == pytest.approx(np.mean(np.abs(1 - np.sqrt(q))), rel=1e-12)


def test_z_scores_in_bins() -> None:
    order = np.argsort(VARIANCE)
    z = np.sqrt([((Y - CENTRE) ** 2 / VARIANCE)[part].mean() for part in np.split(order, 5)])
    curve = cr.hypotests.spread_curve(GIVEN, Y, n_bins=5, n_resamples=199, rng=0)
    assert curve.z == pytest.approx(z, rel=1e-12)
    assert curve.z_band is not None
    assert (curve.z_band[0] < 1).all()
    assert (curve.z_band[1] > 1).all()
    display = cr.plots.picture(curve, "z")
    assert display.finding.startswith(f"{int((curve.z > curve.z_band[1]).sum())} of 5 bins lie outside")
    ax = display.draw()
    marks = {line.get_label(): line for line in ax.get_lines()}
    assert marks["perfect calibration"].get_ydata() == [1.0, 1.0]
    assert sum(len(marks[name].get_xdata()) for name in marks if name.endswith("its band")) == 5
    assert display.table().columns == ("stated spread", "instances", "z", "band", "outside")
    bare = cr.plots.picture(cr.hypotests.spread_curve(GIVEN, Y, n_bins=5, level=None), "z")
    assert "times that" in bare.finding
    assert bare.table().columns == ("stated spread", "instances", "z")


def test_one_spread_for_all() -> None:
    same = cr.Gaussian(np.zeros(30), np.ones(30))
    labels = np.random.default_rng(0).normal(size=30)
    slope = cr.statistics.spread_slope(same, labels)
    assert slope.value == 0.0
    assert slope.stderr is None
    assert "all instances state the same spread: the slope is 0" in slope.notes
    assert cr.hypotests.spread_curve(same, labels, level=None).weight.tolist() == [30]
    for one in np.linspace(0.1, 20.0, 50):  # sums of equal logarithms leave a variance of 1e-15, not 0
        assert cr.statistics.spread_slope(cr.Gaussian(np.zeros(30), np.full(30, one)), labels).value == 0.0


def test_tests_see_a_spread_that_is_wrong_at_both_ends() -> None:
    """Right on average, too wide where large and too narrow where small: the ratio alone is blind."""
    rng = np.random.default_rng(7)
    std = rng.choice([0.5, 2.0], size=600)
    gaussian = cr.Gaussian(np.zeros(600), std)
    labels = rng.normal(size=600) * np.where(std > 1, 2.0 * np.sqrt(0.6), 0.5 * np.sqrt(1.4))
    ratio, slope, ence = (
        cr.calibration_test(gaussian, labels, statistics=name, n_resamples=199, rng=1)
        for name in ("spread_ratio", "spread_slope", "ence")
    )
    assert not ratio.rejects(0.01)
    assert slope.rejects(0.01)
    assert ence.rejects(0.01)


def test_other_kinds_are_refused() -> None:
    for name in ("mean_slope", "spread_ratio", "spread_slope", "ence"):
        with pytest.raises(cr.InputTypeError, match=f"`{name}` needs a stated variance"):
            cr.statistics.registered()[name](QUANTILES, Y)
        with pytest.raises(cr.UnsupportedError, match=r"at least 4 draws per instance.*got 3"):
            cr.statistics.registered()[name](cr.Samples(np.zeros((len(Y), 2, 3))), Y)
    with pytest.raises(cr.InputTypeError, match="`spread_curve` needs a stated variance"):
        cr.hypotests.spread_curve(QUANTILES, Y)
    with pytest.raises(cr.InputTypeError, match=r"`spread_curve` needs .* got Point"):
        cr.hypotests.spread_curve(cr.Point([[0.5, 0.5]]), [0])
    with pytest.raises(cr.InputError, match="n_bins"):
        cr.statistics.ence(GIVEN, Y, n_bins=0)


def test_bands_of_clusters_keep_their_dependence() -> None:
    """Twenty rows share an error: bins scatter as one label per cluster does, not as twenty."""
    rng = np.random.default_rng(1)
    ids = np.repeat(np.arange(40), 20)
    std = rng.permutation(np.repeat([1.0, 2.0], 400))
    gaussian, labels = cr.Gaussian(np.zeros(800), std), std * rng.normal(size=40)[ids]
    plain, own = (
        cr.hypotests.spread_curve(gaussian, labels, n_bins=2, n_resamples=199, rng=0, **how)
        for how in ({}, {"clusters": ids})
    )
    assert own.observed == pytest.approx(plain.observed)
    assert np.mean(np.subtract(*own.band[::-1])) > 2 * np.mean(np.subtract(*plain.band[::-1]))
    test = cr.calibration_test(gaussian, labels, statistics="ence", clusters=ids, n_resamples=199, rng=0)
    assert test.n_clusters == 40
    # |sum over bins of (stated + s (errors - stated))|, written out for one drawn sign per cluster
    bound = cr.statistics.ence.with_(n_bins=2).bind(gaussian)
    signs = rng.choice([-1.0, 1.0], size=(3, 40))
    moved = std**2 + signs[:, ids] * (labels**2 - std**2)
    stated = np.array([1.0, 2.0])
    errors = np.sqrt(np.maximum([[row[std == s].mean() for s in stated] for row in moved], 0.0))
    written = np.mean(np.abs(stated - errors) / stated, axis=1)
    batch = Reals(labels[None, :])
    assert bound.wild_values(*bound.wild_sums(batch, ids, 40), signs) == pytest.approx(written)


def test_bands_of_clusters_hold_those_of_independent_rows() -> None:
    """Signs are symmetric and squares are not: either end of a band of signs alone would be too near."""
    small = CENTRE + 0.2 * (Y - CENTRE)
    apart = cr.hypotests.spread_curve(GIVEN, small, n_bins=4, n_resamples=99, rng=0)
    together = cr.hypotests.spread_curve(GIVEN, small, n_bins=4, n_resamples=99, clusters=np.arange(N), rng=0)
    for one, other in ((apart.band, together.band), (apart.z_band, together.z_band)):
        assert (other[0] <= one[0]).all()
        assert (other[1] >= one[1]).all()


@pytest.mark.parametrize("clusters", [None, np.arange(300) // 10])
def test_z_scores_are_errors_where_the_stated_spread_is_one(clusters: np.ndarray | None) -> None:
    rng = np.random.default_rng(4)
    gaussian = cr.Gaussian(rng.normal(size=300), np.ones(300))
    curve = cr.hypotests.spread_curve(
        gaussian, rng.normal(size=300), clusters=clusters, n_resamples=99, rng=0
    )
    assert curve.z == pytest.approx(curve.observed)
    assert np.stack(curve.z_band) == pytest.approx(np.stack(curve.band))
    wide = cr.hypotests.spread_curve(
        cr.Gaussian(gaussian.mean, np.full(300, 4.0)),
        rng.normal(size=300),
        clusters=clusters,
        n_resamples=99,
        rng=0,
    )
    assert wide.z == pytest.approx(wide.observed / 4)
    assert np.stack(wide.z_band) == pytest.approx(np.stack(wide.band) / 4)


# Draws


def drawn(n: int, s: int, seed: int, scale: float = 1.0) -> tuple[cr.Samples, np.ndarray]:
    """Draws and labels of normal distributions of different spread; labels `scale` times as wide."""
    rng = np.random.default_rng(seed)
    mean, std = rng.normal(size=n), np.exp(0.5 * rng.normal(size=n))
    draws = mean[:, None] + std[:, None] * rng.normal(size=(n, s))
    return cr.Samples(draws, member_axis=1), mean + scale * std * rng.normal(size=n)


def test_spread_of_draws_is_that_of_normals_with_their_moments() -> None:
    predictions, labels = drawn(60, 8, 0)
    normal = cr.Gaussian(predictions.values.mean(axis=1), predictions.values.std(axis=1, ddof=1))
    for name in ("spread_ratio", "spread_slope", "ence"):
        statistic = cr.statistics.registered()[name]
        estimate, expected = statistic(predictions, labels), statistic(normal, labels)
        assert estimate.value == pytest.approx(expected.value, rel=1e-9)
        if expected.stderr is not None:
            assert estimate.stderr == pytest.approx(expected.stderr, rel=1e-9)
        # (1 + 1/8) 7 / 5 = 1.575
        assert any("a calibrated model has a mean squared z-score of 1.57" in note for note in estimate.notes)
    curve, plain = (
        cr.hypotests.spread_curve(one, labels, n_bins=4, level=None) for one in (predictions, normal)
    )
    np.testing.assert_allclose(curve.stated, plain.stated, rtol=1e-9)
    np.testing.assert_allclose(curve.z, plain.z, rtol=1e-9)


def test_choices_of_draws_by_brute_force() -> None:
    """What tables give replicates is what binding to the exchanged draws gives."""
    predictions, labels = drawn(12, 5, 1)
    rows = LabelSource("independent", (1, 2), None).pose(Dataset(predictions, labels))
    choices = np.random.default_rng(3).integers(0, 6, size=(4, 12))
    for name in ("mean_slope", "spread_ratio", "spread_slope", "ence"):
        statistic = cr.statistics.registered()[name]
        plan = statistic.plan(predictions)
        bound = bound_to(partial(statistic.bind, plan=plan), rows.predictions, rows.batch)
        found = bound(Classes(choices.astype(np.uint8), 6))
        for row, value in zip(choices, found, strict=True):
            pool = rows.predictions.values.copy()
            seen = pool[np.arange(12), row]
            pool[np.arange(12), row] = pool[:, 0]
            expected = statistic.bind(cr.Samples(pool[:, 1:], member_axis=1), plan)(Reals(seen[None, :]))
            assert value == pytest.approx(expected[0], rel=1e-9)


def test_few_draws_are_not_miscalibrated() -> None:
    """Six draws have a mean squared z-score of 1.9, which tests and bands expect."""
    predictions, labels = drawn(300, 6, 8)
    wide, far = drawn(300, 6, 5, scale=2.0)
    for name in ("spread_ratio", "spread_slope", "ence"):
        assert cr.calibration_test(predictions, labels, statistics=name, n_resamples=99, rng=0).pvalue > 0.05
    for name in ("spread_ratio", "ence"):
        assert cr.calibration_test(wide, far, statistics=name, n_resamples=99, rng=0).pvalue <= 0.02
    curve = cr.hypotests.spread_curve(predictions, labels, n_bins=4, n_resamples=99, rng=0)
    low, high = curve.z_band
    assert low[0] > 1.0  # a small spread of six draws is more often too small
    assert ((low <= curve.z) & (curve.z <= high)).sum() >= 3


@pytest.mark.parametrize(("number", "noted"), [(99, True), (100, False)])
def test_what_few_draws_do_to_the_spread_is_noted(number: int, noted: bool) -> None:
    predictions, labels = drawn(20, number, 3)
    for name in ("spread_ratio", "spread_slope", "ence"):
        notes = cr.statistics.registered()[name](predictions, labels).notes
        # (1 + 1/99) 98 / 96 = 1.03
        assert any("mean squared z-score of 1.03" in note for note in notes) is noted


def test_bins_that_exchanged_draws_fill_are_no_spread() -> None:
    """Draws move rows between bins: errors that only follow the sizes of the bins leave nothing to sign."""
    predictions, labels = drawn(12, 5, 9)
    statistic = cr.statistics.ence.with_(n_bins=2)
    bind = partial(statistic.bind, plan=statistic.plan(InMemory(Dataset(predictions, labels))))
    bound, choice = bound_in_clusters(bind, Dataset(predictions, labels), (0, 0))
    expected, added = bound.wild_sums(choice, np.arange(12) // 3, 4)
    assert np.abs(added["stated"]).max() > 0.1
    added["observed"] = expected["observed"] / expected["stated"] * added["stated"]
    assert bound.widened_states(expected, added)[1]["observed"] == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("name", ["mean_slope", "spread_ratio", "spread_slope", "ence", "crps", "rmse"])
def test_signs_of_draws_move_what_labels_add_to_the_mean_over_their_pools(name: str) -> None:
    """Every number of a pool is the label once: the brute force of what clusters expect, and add."""
    predictions, labels = drawn(12, 5, 9)
    codes = np.arange(12) // 3
    statistic = cr.statistics.registered()[name].with_(**{"n_bins": 2} if name == "ence" else {})
    bind = partial(statistic.bind, plan=statistic.plan(InMemory(Dataset(predictions, labels))))
    bound, choice = bound_in_clusters(bind, Dataset(predictions, labels), (0, 0))
    expected, added = bound.wild_sums(choice, codes, 4)
    usual = 0.0
    for cluster in range(4):
        rows = np.flatnonzero(codes == cluster)
        pool = np.concatenate([labels[:, None], predictions.values], axis=1)[rows]
        states = [
            bind(cr.Samples(np.delete(pool, at, axis=1), member_axis=1)).state(Reals(pool[None, :, at]))
            for at in range(6)
        ]
        for key, one in added.items():
            mean = np.mean([state[key][0] for state in states], axis=0)
            assert one[cluster] == pytest.approx(states[0][key][0] - mean, rel=1e-9, abs=1e-9)
        usual = usual + np.mean([state[key][0] for state in states], axis=0)  # of the last sum
    assert np.ravel(expected[key]) == pytest.approx(np.ravel(usual), rel=1e-9)
    observed = bound.wild_values(expected, added, np.ones((1, 4)))
    assert observed[0] == pytest.approx(
        statistic.bind(predictions, bind.keywords["plan"])(Reals(labels[None, :]))[0]
    )


def test_clusters_of_draws_have_a_spread_test_and_a_band() -> None:
    rng = np.random.default_rng(6)
    ids = np.repeat(np.arange(20), 6)
    samples = cr.Samples(rng.normal(size=(120, 8)), member_axis=1)
    shared = np.sqrt(6 / rng.chisquare(6, size=20))[ids]  # clusters share their scale
    wide = 3.0 * shared * rng.normal(size=120)
    names = ["spread_ratio", "spread_slope", "ence"]
    test = cr.calibration_test(samples, wide, statistics=names, clusters=ids, n_resamples=99, rng=0)
    assert test.components["spread_ratio"].pvalue <= 0.02
    assert all(component.n_clusters == 20 for component in test.components.values())
    evaluation = cr.evaluate(samples, wide, clusters=ids, n_resamples=19, rng=0)
    assert "spread curve" not in dict(evaluation.not_run)
    apart = cr.hypotests.spread_curve(samples, wide, n_bins=3, n_resamples=99, rng=0)
    together = cr.hypotests.spread_curve(samples, wide, n_bins=3, n_resamples=99, clusters=ids, rng=0)
    assert together.stated == pytest.approx(apart.stated)
    assert (together.band[1] >= apart.band[1]).all()
    assert (together.band[1] > apart.band[1]).any()


@pytest.mark.parametrize("kind", ["draws", "members"])
def test_chunks_of_draws_in_clusters(kind: str) -> None:
    """A chunk takes the same draws of its rows, and may split a cluster."""
    rng = np.random.default_rng(0)
    draws, labels, ids = rng.normal(size=(60, 8)), rng.normal(size=60), np.arange(60) // 4
    given = {
        "draws": cr.Samples(draws, member_axis=1),
        "members": cr.Samples(draws.reshape(60, 2, 4), member_axis=1),
    }[kind]
    ask = {"statistics": ["mean_slope", "spread_slope", "crps"], "n_resamples": 49, "rng": 0}
    whole = cr.calibration_test(given, labels, clusters=ids, **ask)
    parts = cr.calibration_test(cr.scan(given, labels, clusters=ids, chunk_rows=23), **ask)
    for name, component in whole.components.items():
        assert parts.components[name].statistic == pytest.approx(component.statistic, rel=1e-9)
        assert parts.components[name].pvalue == component.pvalue
    taken = [note for note in whole.components["crps"].notes if "draws" in note and "compared" in note]
    assert len(taken) == (kind != "draws")


def test_few_draws_of_clusters_in_which_all_are_equal() -> None:
    rng = np.random.default_rng(2)
    values = rng.normal(size=(60, 5))
    values[:2] = 1.0
    samples, labels = cr.Samples(values, member_axis=1), rng.normal(size=60)
    asked = {"clusters": np.arange(60) // 4, "n_resamples": 49, "rng": 0}
    assert 0 < cr.calibration_test(samples, labels, statistics="ence", **asked).pvalue <= 1
    for name in ("spread_ratio", "spread_slope"):
        with pytest.raises(cr.UnsupportedError, match=r"with clusters needs finite .* in 2 instances one of"):
            cr.calibration_test(samples, labels, statistics=name, **asked)


@pytest.mark.parametrize("name", ["spread_ratio", "spread_slope"])
def test_clusters_of_stated_variances(name: str) -> None:
    """Labels spread by 1.3: signs of clusters notice the ratio; errors leave each cluster out once."""
    ids = np.arange(N) // 5
    test = cr.calibration_test(GIVEN, Y, statistics=name, clusters=ids, n_resamples=199, rng=0)
    assert (test.pvalue <= 0.01) == (name == "spread_ratio")
    estimate = cr.statistics.registered()[name](GIVEN, Y, clusters=ids)
    without = [float(cr.statistics.registered()[name](GIVEN[ids != c], Y[ids != c])) for c in range(40)]
    error = np.sqrt(39 / 40 * np.sum((np.array(without) - estimate.value) ** 2))
    assert estimate.stderr == pytest.approx(error, rel=1e-9)
    assert estimate.n_clusters == 40


def test_variance_of_squared_z_scores_of_a_mixture() -> None:
    draws = np.random.default_rng(3).integers(2, size=400_000)
    gaussian = cr.Gaussian([[0.0, 2.0]], [[1.0, 0.5]])
    labels = np.array([0.0, 2.0])[draws] + np.array([1.0, 0.5])[draws] * np.random.default_rng(5).normal(
        size=draws.size
    )
    z2 = (labels - 1.0) ** 2 / 1.625  # mean 1, variance (1 + 1 + 0.25 + 1) / 2
    assert scatter_of_squares(gaussian)[0] == pytest.approx(z2.var(), rel=0.02)


EQUAL = np.random.default_rng(7).normal(size=(10, 5))
EQUAL[-2:] = 0.1  # whose mean is not exactly that


@pytest.mark.parametrize("name", ["spread_ratio", "spread_slope", "ence"])
def test_equal_draws_are_noted(name: str) -> None:
    statistic, samples, labels = cr.statistics.registered()[name], cr.Samples(EQUAL), np.full(10, 0.1)
    said = "in 2 instances all draws are equal: the z-scores are 0 or infinite"
    whole, cut = statistic(samples, labels), statistic(cr.scan(samples, labels, chunk_rows=3))
    assert said in whole.notes
    assert whole.notes == cut.notes
    assert np.isfinite(whole.value)


def test_z_scores_of_equal_draws_are_infinite() -> None:
    """A label off draws without spread is infinitely many of them away."""
    samples, labels = cr.Samples(EQUAL), np.full(10, 0.1)
    labels[-1] = 0.3
    ratio, slope = (cr.statistics.registered()[name] for name in ("spread_ratio", "spread_slope"))
    assert ratio(samples, labels).value == np.inf
    assert ratio(samples, labels).interval_refusal == "the mean is infinite"
    assert slope(samples, labels).value == -np.inf  # where the spread is smallest, z is largest
    assert slope(samples, labels).interval_refusal == "the slope is infinite"
    assert slope(samples, labels, clusters=np.arange(10) // 2).value == -np.inf
    without = np.append(np.ones(9), 0.0)
    for one in (ratio, slope):
        left = one(samples, labels, sample_weight=without).value
        assert left == pytest.approx(one(samples[:9], labels[:9]).value, rel=1e-12)


@pytest.mark.parametrize("name", ["spread_ratio", "spread_slope"])
def test_replicates_without_spread_are_refused(name: str) -> None:
    """Draws 0, 0, 0, 0, 1 and the label 0: with the label 1, as likely as any, the draws are equal."""
    values = np.random.default_rng(7).normal(size=(20, 5))
    values[3] = [0.0, 0.0, 1.0, 0.0, 0.0]
    samples, labels = cr.Samples(values), np.zeros(20)
    asked = {"statistics": name, "n_resamples": 99, "rng": 0}
    for rows in ((samples, labels), (cr.scan(samples, labels, chunk_rows=7),)):
        # one replicate in six: 16.5 of 99
        with pytest.raises(cr.UnsupportedError, match=r"needs finite values .* 1\d of 99 replicates are inf"):
            cr.calibration_test(*rows, **asked)
    assert 0 < cr.calibration_test(samples, labels, **{**asked, "statistics": "ence"}).pvalue <= 1


def test_an_evaluation_leaves_out_only_these_tests() -> None:
    rng = np.random.default_rng(1)
    values, labels = rng.poisson(0.5, size=(40, 6)), rng.poisson(0.5, size=40)
    evaluation = cr.evaluate(cr.Samples(values.astype(float)), labels.astype(float), rng=0, n_resamples=39)
    # bins of rows whose six draws are all 0 state no spread, and drawn labels are not all 0
    left_out = {"spread_ratio", "spread_slope", "ence"}
    assert left_out & set(evaluation.tests) == set()
    assert {"picp", "crps", "omnibus"} <= set(evaluation.tests)
    assert {f"test of {name}" for name in left_out} <= dict(evaluation.not_run).keys()


@pytest.mark.parametrize(
    "statistic",
    [
        cr.statistics.spread_ratio,
        cr.statistics.spread_slope,
        cr.statistics.ence,
    ],
)
def test_equal_draws_keep_every_number_finite(statistic: cr.statistics.Statistic) -> None:
    """Draws of rare counts may all be equal to each other and to the label."""
    draws = np.array([[0.0, 0.0, 0.0, 0.0, 0.0], [0.0, 1.0, 2.0, 3.0, 4.0]] * 20)
    result = cr.calibration_test(
        cr.Samples(draws), np.zeros(40), statistics=[statistic], n_resamples=99, rng=0
    )
    assert np.isfinite(result.statistic)
    assert np.isfinite(result.null_distribution).all()


def test_a_line_through_two_points_has_no_error() -> None:
    estimate = cr.statistics.spread_slope(cr.Gaussian([0.0, 0.0], [1.0, 2.0]), [1.5, 1.0])
    assert estimate.stderr is None
    with pytest.raises(cr.UnsupportedError, match="two instances"):
        estimate.interval()


def test_a_spread_curve_prints_a_sentence() -> None:
    gaussian = cr.Gaussian(np.zeros(40), np.repeat([1.0, 2.0], 20))
    labels = np.tile([-3.0, 3.0], 20)  # 3 times as large as stated, and 1.5 times
    curve = cr.hypotests.spread_curve(gaussian, labels, n_bins=2, n_resamples=99, rng=0)
    said = "spread curve (n = 40): errors are 3 times the stated spread of 1, the farthest of 2 bins"
    assert str(curve) == f"{said}; 2 outside the 95 % band (0.1 expected by chance)"
    assert str(cr.hypotests.spread_curve(gaussian, labels, n_bins=2, level=None)) == said
