"""Weights of the members of every row, as mixture density networks predict them, against brute force."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import norm

import credibly as cr
from credibly.hypotests.resampling.replicates import RealReplicates
from credibly_studies.p21 import member_functions
from libraries import Library, read
from written_files import written

RNG = np.random.default_rng(8)
N, M = 40, 3
MEAN, STD = 2.0 * RNG.normal(size=(N, M)), RNG.uniform(0.3, 1.5, size=(N, M))
WEIGHTS = RNG.dirichlet(np.ones(M), size=N)
WEIGHTS[3] = [0.0, 1.0, 0.0]
WEIGHTS[4] = [0.5, 0.5, 0.0]
LABELS = MEAN[:, 0] + RNG.normal(size=N)
MIXED = cr.Gaussian(MEAN, STD, weights=WEIGHTS)
ALONE = [cr.Gaussian(MEAN[i : i + 1], STD[i : i + 1], weights=WEIGHTS[i]) for i in range(N)]
"""Every row by itself, with one weight per member."""


def cdf(values: np.ndarray) -> np.ndarray:
    """F of every row at values (l, n), (l, n)."""
    numbers: np.ndarray = (WEIGHTS * norm.cdf(values[:, :, None], MEAN, STD)).sum(axis=2)
    return numbers


def test_distribution_function_and_moments() -> None:
    values = LABELS + np.array([[-1.0], [0.0], [2.0]])
    np.testing.assert_allclose(MIXED.cdf(values), cdf(values), rtol=1e-12, atol=1e-15)
    mean = (WEIGHTS * MEAN).sum(axis=1)
    np.testing.assert_allclose(MIXED.expectation(), mean, rtol=1e-12)
    second = (WEIGHTS * (STD**2 + MEAN**2)).sum(axis=1)
    np.testing.assert_allclose(MIXED.variance(), second - mean**2, rtol=1e-9)


@pytest.mark.parametrize("number", [3, 99])  # few by Newton steps, many from tables
def test_quantiles_are_where_the_distribution_function_is(number: int) -> None:
    levels = np.arange(1, number + 1) / (number + 1)
    found = MIXED.quantile(levels)
    np.testing.assert_allclose(cdf(found.T), np.tile(levels[:, None], (1, N)), atol=1e-12)


def test_losses_by_integration() -> None:
    """Integral of (F - 1[y <= x])^2, and -log of the density."""
    grid = np.linspace(-30, 30, 120_001)
    step = grid[1] - grid[0]
    heights = np.stack([(norm.cdf(grid[:, None], MEAN[i], STD[i]) @ WEIGHTS[i]) for i in range(N)])
    area = ((heights - (grid >= LABELS[:, None])) ** 2).sum(axis=1) * step
    assert cr.crps(MIXED, LABELS).value == pytest.approx(area.mean(), abs=1e-3)
    density = (WEIGHTS * norm.pdf(LABELS[:, None], MEAN, STD)).sum(axis=1)
    assert cr.gaussian_log_loss(MIXED, LABELS).value == pytest.approx(-np.log(density).mean(), rel=1e-12)


@pytest.mark.parametrize("name", ["crps", "gaussian_log_loss", "interval_score", "picp", "mae", "rmse"])
def test_rows_one_by_one(name: str) -> None:
    statistic = cr.statistics.registered()[name]
    each = np.array([statistic(one, LABELS[i : i + 1]).value for i, one in enumerate(ALONE)])
    wanted = np.sqrt((each**2).mean()) if name == "rmse" else each.mean()
    assert statistic(MIXED, LABELS).value == pytest.approx(wanted, rel=1e-9)


def repeated(times: np.ndarray) -> tuple[cr.Gaussian, cr.Gaussian]:
    """Members with weights in proportion to `times` (n, m), and members that often."""
    places = np.stack([np.repeat(np.arange(M), row) for row in times])
    again = cr.Gaussian(*(np.take_along_axis(one, places, axis=1) for one in (MEAN, STD)))
    return cr.Gaussian(MEAN, STD, weights=times / times.sum(axis=1, keepdims=True)), again


@pytest.mark.parametrize("label_bandwidth", [0.7, "median", "standardised"])
def test_members_that_are_repeated_by_row(label_bandwidth: Any) -> None:
    """Weights in quarters are repetitions of members, and a test sees the same labels."""
    weighted, again = repeated(RNG.multinomial(4, [0.5, 0.25, 0.25], size=N))
    statistic = cr.skce.with_(label_bandwidth=label_bandwidth)
    first, second = (statistic(one, LABELS) for one in (weighted, again))
    assert first.value == pytest.approx(second.value, rel=1e-9, abs=1e-13)
    first, second = (
        cr.calibration_test(one, LABELS, statistics=statistic, n_resamples=99, rng=0)
        for one in (weighted, again)
    )
    assert first.pvalue == pytest.approx(second.pvalue, rel=1e-9)


def test_labels_are_drawn_by_the_weights_of_their_row() -> None:
    share = np.linspace(0.05, 0.95, 19)
    gaussian = cr.Gaussian(
        np.tile([0.0, 1000.0], (19, 1)), np.ones((19, 2)), weights=np.column_stack([1 - share, share])
    )
    drawn = RealReplicates(gaussian, (1, 2)).labels(slice(0, 4000)).values
    np.testing.assert_allclose((drawn > 500).mean(axis=0), share, atol=0.03)  # 4 standard errors
    some = RealReplicates(gaussian[5:9], (1, 2), first_row=5).labels(slice(0, 4000)).values
    np.testing.assert_array_equal(some, drawn[:, 5:9])


def test_tables_of_losses_are_those_of_the_rows() -> None:
    """Hundreds of replicates look losses up between nodes; few compute them."""
    asked = {"statistics": ["crps", "gaussian_log_loss"], "rng": 0}
    many = cr.calibration_test(MIXED, LABELS, n_resamples=999, **asked)
    few = cr.calibration_test(MIXED, LABELS, n_resamples=150, **asked)
    for name, component in many.components.items():
        null_distribution = few.components[name].null_distribution
        assert component.null_distribution[: null_distribution.size] == pytest.approx(
            null_distribution, rel=1e-3
        )  # cubics miss by 3e-4, equal weights too


def test_members_of_one_weight_per_row_are_asked_for_all_rows() -> None:
    for call in (
        lambda: cr.predictive_check(MIXED, LABELS, statistics=["crps"], n_resamples=19),
        lambda: cr.predictive_check(
            MIXED, LABELS, statistics=["crps"], n_resamples=19, hypothesis="bayesian"
        ),
    ):
        with pytest.raises(
            cr.UnsupportedError, match=r"needs one weight per member.*weighted by row.*\"independent\""
        ):
            call()
    with pytest.raises(
        cr.UnsupportedError, match=r"Bayesian hypothesis needs one weight per member.*weighted by row"
    ):
        cr.pit_test(MIXED, LABELS, hypothesis="bayesian", n_resamples=19)
    with pytest.raises(cr.InputTypeError, match="one weight per member"):
        member_functions(MIXED, x=np.arange(N, dtype=float))
    check = cr.predictive_check(
        MIXED, LABELS, statistics=["crps"], n_resamples=19, hypothesis="independent", rng=0
    )
    assert 0 < check.independent.omnibus_pvalue <= 1


def test_an_evaluation_leaves_the_check_of_members_out() -> None:
    evaluation = cr.evaluate(MIXED, LABELS, n_resamples=19, rng=0)
    assert evaluation.check is None
    assert "components of one distribution" in str(evaluation.not_run)


@pytest.mark.parametrize("rows", [slice(3, 9), slice(None, None, 3), [5, 3, 3], np.arange(N) % 2 == 0])
def test_rows_take_their_weights_along(rows: Any) -> None:
    some = MIXED[rows]
    np.testing.assert_array_equal(some.weights, WEIGHTS[rows])
    np.testing.assert_allclose(some.expectation(), MIXED.expectation()[rows], rtol=1e-14)
    np.testing.assert_allclose(some.cdf(LABELS[rows]), MIXED.cdf(LABELS)[rows], rtol=1e-14)


def test_other_rows_bring_their_own_weights() -> None:
    assert MIXED.replace_rows(mean=MEAN + 1).weights is MIXED.weights
    with pytest.raises(cr.InputError, match=r"must have one row per instance \(2\); got shape \(40, 3\)"):
        MIXED.replace_rows(mean=MEAN[:2], std=STD[:2])


def test_what_a_row_of_weights_must_be() -> None:
    with pytest.raises(cr.InputError, match=r"must have shape \(3,\), or one row per instance, \(40, 3\)"):
        cr.Gaussian(MEAN, STD, weights=WEIGHTS[:5])
    with pytest.raises(cr.InputError, match="`weights` belong to members"):
        cr.Gaussian(MEAN[:, 0], STD[:, 0], weights=WEIGHTS)
    wrong = WEIGHTS.copy()
    wrong[7] *= 1.5
    with pytest.raises(cr.InvalidRowsError, match=r"rows must sum to 1 .*row 7 sums to 1\.5.*softmax"):
        cr.Gaussian(MEAN, STD, weights=wrong)
    wrong = WEIGHTS.copy()
    wrong[9] = [1.5, -0.5, 0.0]
    with pytest.raises(cr.InvalidRowsError, match=r"must not be negative; row 9 holds -0\.5"):
        cr.Gaussian(MEAN, STD, weights=wrong)
    wrong[9] = [np.nan, 0.5, 0.5]
    with pytest.raises(cr.InvalidRowsError, match="`weights` must be finite"):
        cr.Gaussian(MEAN, STD, weights=wrong)
    with pytest.raises(cr.InputError, match=r"must have shape \(m,\).*only `Gaussian` takes weights"):
        cr.Dirichlet(np.ones((4, 3, 2)), weights=np.full((4, 3), 1 / 3))


def test_the_order_of_axes_is_that_of_the_means() -> None:
    turned = cr.Gaussian(MEAN.T, STD.T, weights=WEIGHTS.T, member_axis=0)
    np.testing.assert_array_equal(turned.weights, WEIGHTS)
    assert cr.crps(turned, LABELS).value == cr.crps(MIXED, LABELS).value
    for axis in (0, 1):  # as many members as instances
        three = [one[:M] if axis else one[:M].T for one in (MEAN, STD, WEIGHTS)]
        square = cr.Gaussian(three[0], three[1], weights=three[2], member_axis=axis)
        np.testing.assert_array_equal(square.weights, WEIGHTS[:M])


def test_words() -> None:
    assert repr(MIXED) == "Gaussian(n=40, m=3, weighted by row, dtype=float64)"
    assert MIXED.n_members == M
    gaussian = cr.Gaussian(MEAN[:, :1], STD[:, :1], weights=np.ones((N, 1)))
    plain = cr.Gaussian(MEAN[:, 0], STD[:, 0])
    assert cr.crps(gaussian, LABELS).value == pytest.approx(cr.crps(plain, LABELS).value, rel=1e-14)
    np.testing.assert_allclose(gaussian.quantile([0.2]), plain.quantile([0.2]), rtol=1e-14)


@pytest.mark.parametrize("ending", ["npz", "json", "parquet", "pt", "nc"])
def test_files(ending: str, tmp_path: Path) -> None:
    needed = {"parquet": "pyarrow", "pt": "torch", "nc": "xarray"}.get(ending)
    if needed is not None:
        pytest.importorskip(needed)
    data = cr.load(written(tmp_path / f"w.{ending}", MIXED, LABELS))
    assert isinstance(data.predictions, cr.Gaussian)
    np.testing.assert_array_equal(data.predictions.weights, WEIGHTS)
    assert cr.crps(data).value == cr.crps(MIXED, LABELS).value


def test_files_that_others_wrote(tmp_path: Path) -> None:
    """Members first, another name, a row to leave out, and rows that are not there."""
    path = tmp_path / "w.npz"
    np.savez(path, mean=MEAN.T, std=STD.T, mixture_weights=WEIGHTS.T, y=LABELS)
    data = cr.load(path)
    np.testing.assert_array_equal(data.predictions.weights, WEIGHTS)  # type: ignore[attr-defined]
    wrong = WEIGHTS.copy()
    wrong[7] *= 2
    np.savez(path, mean=MEAN, std=STD, member_weights=wrong, y=LABELS)
    with pytest.raises(cr.InvalidRowsError, match=r"row 7 sums to 2.*drop_invalid=True"):
        cr.load(path)
    data = cr.load(path, drop_invalid=True)
    kept = np.delete(np.arange(N), 7)
    np.testing.assert_array_equal(data.predictions.weights, WEIGHTS[kept])  # type: ignore[attr-defined]
    np.savez(path, mean=MEAN, std=STD, member_weights=WEIGHTS[:5], y=LABELS)
    with pytest.raises(cr.InputError, match=r"one row per instance, \(40, 3\)"):
        cr.load(path)


@pytest.mark.parametrize("ending", ["csv", "tsv", "npy"])
def test_files_without_a_place_for_weights(ending: str, tmp_path: Path) -> None:
    with pytest.raises(cr.FileError, match=r"member_weights\. Use \.npz"):
        cr.save(tmp_path / f"w.{ending}", MIXED, LABELS)


@pytest.mark.parametrize("shape", [(N, 6), (N, 2, 3)])
def test_weights_of_draws_are_refused(shape: tuple[int, ...], tmp_path: Path) -> None:
    """Not one of them is ignored: a label cannot be exchanged with draws that count differently."""
    path, draws = tmp_path / "w.npz", RNG.normal(size=shape)
    np.savez(path, samples=draws, member_weights=np.full(shape[1], 1 / shape[1]), y=LABELS)
    refused = r"`member_weights` cannot be used with draws: .* got \d weights with samples .* Draw again"
    with pytest.raises(cr.InputError, match=refused):
        cr.load(path)
    np.savez(path, samples=draws, y=LABELS)
    with pytest.raises(cr.InputError, match=refused):
        cr.load(path, member_weights=[1 / shape[1]] * shape[1])
    with pytest.raises(TypeError, match="weights"):
        cr.Samples(draws, weights=np.full(6, 1 / 6))  # type: ignore[call-arg]


def test_files_in_chunks(tmp_path: Path) -> None:
    """A chunk whose weights are all equal, or 0 for one member, is like the others."""
    weights = WEIGHTS.copy()
    weights[:20] = 1 / 3
    weights[20:] = [0.5, 0.5, 0.0]
    whole = cr.Gaussian(MEAN, STD, weights=weights)
    paths = [
        cr.save(tmp_path / f"{start}.npz", whole[start : start + 20], LABELS[start : start + 20])
        for start in (0, 20)
    ]
    rows = cr.scan([str(path) for path in paths], engine="serial")
    assert cr.crps(rows).value == pytest.approx(cr.crps(whole, LABELS).value, rel=1e-12)
    for statistic in ("crps", "skce", "quantile_calibration_error"):
        first, second = (
            cr.calibration_test(*arguments, statistics=statistic, n_resamples=49, rng=0)
            for arguments in ((rows,), (whole, LABELS))
        )
        assert first.statistic == pytest.approx(second.statistic, rel=1e-9)
        assert first.pvalue == second.pvalue


def test_dask_workers_take_the_weights_along() -> None:
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        rows = cr.scan(MIXED, LABELS, chunk_rows=13, engine=client)
        assert cr.crps(rows).value == pytest.approx(cr.crps(MIXED, LABELS).value, rel=1e-12)


def test_in_every_library(library: Library) -> None:
    gaussian = cr.Gaussian(*(library.asarray(one) for one in (MEAN, STD)), weights=library.asarray(WEIGHTS))
    labels = library.asarray(LABELS)
    for levels in ([0.2, 0.5], np.arange(1, 40) / 40):
        found = read(gaussian.quantile(library.asarray(np.asarray(levels))))
        np.testing.assert_allclose(found, MIXED.quantile(levels), rtol=1e-9, atol=1e-12)
    for statistic in (cr.crps, cr.gaussian_log_loss, cr.skce, cr.statistics.spread_ratio):
        assert statistic(gaussian, labels).value == pytest.approx(statistic(MIXED, LABELS).value, rel=1e-9)
    first, second = (
        cr.calibration_test(one, y, n_resamples=19, rng=0).pvalue
        for one, y in ((gaussian, labels), (MIXED, LABELS))
    )
    assert first == second


def test_gradients_reach_the_weights() -> None:
    """Of logits behind a softmax, and finite where a weight has become 0."""
    torch = pytest.importorskip("torch")
    logits = torch.tensor(RNG.normal(size=(5, M)), requires_grad=True)
    parts = [torch.tensor(one[:5]) for one in (MEAN, STD, LABELS)]

    def loss(scores: Any) -> Any:
        weights = torch.softmax(scores, dim=1)
        gaussian = cr.Gaussian(parts[0], parts[1], weights=weights)
        batch = cr.predictions.as_labels(gaussian, parts[2])
        return sum(one.bind(gaussian)(batch)[0] for one in (cr.gaussian_log_loss, cr.crps, cr.skce))

    assert torch.autograd.gradcheck(loss, (logits,))
    gone = torch.tensor([[0.0, 0.0, -2000.0]] * 5, dtype=torch.float64, requires_grad=True)
    loss(gone).backward()
    assert torch.isfinite(gone.grad).all()


@pytest.mark.parametrize("method", [cr.recalibrate.SpreadScaling, cr.recalibrate.IsotonicRecalibration])
def test_recalibration_of_rows_one_by_one(method: Any) -> None:
    fitted = method().fit(MIXED, LABELS)
    after = fitted.apply(MIXED[:9])
    for i in range(9):
        alone = fitted.apply(ALONE[i])
        np.testing.assert_allclose(after.quantile([0.3])[i], alone.quantile([0.3])[0], rtol=1e-9)


def test_a_fit_knows_its_data_by_their_weights() -> None:
    fitted = cr.recalibrate.SpreadScaling().fit(MIXED, LABELS)
    with pytest.warns(UserWarning, match="fitted on"):
        fitted.apply(MIXED)
    assert fitted.apply(MIXED.replace_rows(weights=WEIGHTS[:, ::-1])).weights_by_row


def test_a_recalibration_report_puts_folds_together() -> None:
    report = cr.recalibrate.recalibration_report(
        MIXED, LABELS, methods=[cr.recalibrate.SpreadScaling()], cv=3, n_resamples=19, rng=0
    )
    assert report is not None
