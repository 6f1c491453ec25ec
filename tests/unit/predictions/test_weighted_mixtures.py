"""Members with weights: equal ones change nothing, 0 leaves a member out, shares are repeated members."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import credibly as cr
from credibly_studies.p21 import member_functions, observation_check
from written_files import written

RNG = np.random.default_rng(5)
N = 40
MEAN, STD = RNG.normal(size=(N, 3)), RNG.uniform(0.3, 2.0, size=(N, 3))
LABELS = MEAN[:, 0] + RNG.normal(size=N)
SHARES = np.array([0.25, 0.5, 0.25])
WEIGHTED = cr.Gaussian(MEAN, STD, weights=SHARES)
AGAIN = [0, 1, 1, 2]
REPEATED = cr.Gaussian(MEAN[:, AGAIN], STD[:, AGAIN])
EQUAL = cr.Gaussian(MEAN, STD, weights=np.full(3, 1 / 3))
PLAIN = cr.Gaussian(MEAN, STD)
WITHOUT = cr.Gaussian(MEAN, STD, weights=[0.5, 0.0, 0.5])
TWO = cr.Gaussian(MEAN[:, [0, 2]], STD[:, [0, 2]])

MEASURES = {
    "cdf": lambda given: given.cdf(LABELS),
    "quantile": lambda given: given.quantile([0.01, 0.3, 0.9]),
    "many quantiles": lambda given: given.quantile(np.arange(1, 40) / 40),
    "expectation": lambda given: given.expectation(),
    "variance": lambda given: given.variance(),
    "pit": lambda given: cr.pit(given, LABELS),
    "skce": lambda given: cr.skce(given, LABELS, label_bandwidth=1.0).value,
    "scaling": lambda given: (
        cr.recalibrate.SpreadScaling().fit(given, LABELS).apply(given[1:]).cdf(LABELS[1:])
    ),
    "isotonic": lambda given: (
        cr.recalibrate.IsotonicRecalibration().fit(given, LABELS).apply(given[1:]).values
    ),
    "levels": lambda given: cr.recalibrate.QuantileShift().fit(given, LABELS).apply(given[1:]).values,
    "observation": lambda given: observation_check(given, LABELS, instance=3).pvalue,
    **{
        one.name: lambda given, one=one: one(given, LABELS).value
        for one in (
            cr.crps,
            cr.gaussian_log_loss,
            cr.interval_score,
            cr.picp,
            cr.rmse,
            cr.mae,
            cr.quantile_calibration_error,
            cr.statistics.spread_ratio,
            cr.statistics.spread_slope,
            cr.statistics.ence,
        )
    },
}


@pytest.mark.parametrize("name", MEASURES)
def test_shares_are_repeated_members(name: str) -> None:
    measure = MEASURES[name]
    np.testing.assert_allclose(measure(WEIGHTED), measure(REPEATED), rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(measure(EQUAL), measure(PLAIN))
    np.testing.assert_array_equal(measure(WITHOUT), measure(TWO))


def test_weights_are_seen() -> None:
    assert EQUAL.weights is None
    assert repr(WEIGHTED) == "Gaussian(n=40, m=3, weighted, dtype=float64)"
    assert WITHOUT.notes == ("1 member of weight 0 is left out",)
    assert WITHOUT.n_members == 2
    np.testing.assert_allclose(WEIGHTED[:7].expectation(), WEIGHTED.expectation()[:7])
    other = cr.Gaussian(MEAN, STD, weights=[0.8, 0.1, 0.1])
    assert abs(cr.crps(other, LABELS).value - cr.crps(PLAIN, LABELS).value) > 1e-3


def test_brute_force() -> None:
    """Density and score of one mixture by numerical integration."""
    from scipy.stats import norm

    mean, std, shares = MEAN[0], STD[0], np.array([0.7, 0.2, 0.1])
    gaussian = cr.Gaussian(mean[None], std[None], weights=shares)
    grid = np.linspace(-25, 25, 200_001)
    cdf = norm.cdf(grid[:, None], mean, std) @ shares
    area = ((cdf - (grid >= 0.4)) ** 2).sum() * (grid[1] - grid[0])
    assert cr.crps(gaussian, [0.4]).value == pytest.approx(area, abs=1e-3)
    assert cr.gaussian_log_loss(gaussian, [0.4]).value == pytest.approx(
        -np.log(norm.pdf(0.4, mean, std) @ shares), rel=1e-12
    )


def test_labels_are_drawn_by_weight() -> None:
    """A member that is far away draws its share of the labels, of one row or of all of them."""
    far = cr.Gaussian(np.tile([0.0, 1000.0], (500, 1)), np.ones((500, 2)), weights=[0.9, 0.1])
    from credibly.hypotests.resampling.replicates import RealReplicates, drawn_members

    drawn = RealReplicates(far, (1, 2)).labels(slice(0, 40)).values
    assert (drawn > 500).mean() == pytest.approx(0.1, abs=0.01)
    members = drawn_members(far, (1, 2), 2000)
    shared = RealReplicates(far, (1, 2), members=members).labels(slice(0, 2000)).values
    assert ((shared > 500) == (members == 1)[:, None]).all()
    assert members.mean() == pytest.approx(0.1, abs=0.02)
    labels = drawn[0]
    result = cr.calibration_test(far, labels, statistics="quantile_calibration_error", n_resamples=99, rng=0)
    assert result.pvalue > 0.05
    equal = cr.Gaussian(far.mean, far.std)
    result = cr.calibration_test(
        equal, labels, statistics="quantile_calibration_error", n_resamples=99, rng=0
    )
    assert result.pvalue == 0.01


def test_files_keep_weights(tmp_path: Path) -> None:
    for name in ("w.npz", "w.json"):
        predictions = cr.load(written(tmp_path / name, WEIGHTED, LABELS)).predictions
        assert isinstance(predictions, cr.Gaussian)
        assert predictions.weights.tolist() == SHARES.tolist()  # type: ignore[union-attr]
    with pytest.raises(cr.FileError, match="no place for member_weights"):
        cr.save(tmp_path / "w.csv", WEIGHTED, LABELS)


def test_bad_weights() -> None:
    with pytest.raises(cr.InputError, match="must be 3 non-negative numbers summing to 1"):
        cr.Gaussian(MEAN, STD, weights=[0.5, 0.5])
    with pytest.raises(cr.InputError, match="belong to members"):
        cr.Gaussian(MEAN[:, 0], STD[:, 0], weights=[1.0])


def test_tensors() -> None:
    torch = pytest.importorskip("torch")
    gaussian = cr.Gaussian(torch.tensor(MEAN), torch.tensor(STD), weights=torch.tensor(SHARES))
    labels = torch.tensor(LABELS)
    assert cr.crps(gaussian, labels).value == pytest.approx(cr.crps(WEIGHTED, LABELS).value, rel=1e-12)
    assert cr.skce(gaussian, labels).value == pytest.approx(cr.skce(WEIGHTED, LABELS).value, rel=1e-9)
    np.testing.assert_allclose(gaussian.quantile([0.2]).numpy(), WEIGHTED.quantile([0.2]), rtol=1e-12)


def test_the_label_bandwidth_follows_the_weights() -> None:
    """A far member of little weight leaves the bandwidth of labels; of multiples of 1/64 it is exact."""
    far, wide = MEAN[:, :1] + [0.0, 1000.0], STD[:, [0, 0]]

    def bandwidth(gaussian: cr.Gaussian) -> float:
        return float(cr.skce(gaussian, LABELS, label_bandwidth="median").settings["label_bandwidth"])

    little = bandwidth(cr.Gaussian(far, wide, weights=[0.999, 0.001]))
    assert little == pytest.approx(bandwidth(cr.Gaussian(far[:, 0], wide[:, 0])), rel=0.1)
    assert bandwidth(cr.Gaussian(far, wide)) > 100
    assert bandwidth(WEIGHTED) == pytest.approx(bandwidth(REPEATED), rel=1e-12)


def test_an_evaluation_says_that_members_have_weights() -> None:
    """In its heading, in its summary and in the header of the report."""
    from credibly.report.content import facts

    evaluation = cr.evaluate(WEIGHTED, LABELS, tests=False)
    assert evaluation.predictions.weighted
    assert evaluation.heading == "Evaluation of Gaussian (n = 40, m = 3 (weighted))"
    assert ("Members M", "3 (weighted)") in facts(evaluation)
    plain = cr.evaluate(PLAIN, LABELS, tests=False)
    assert (plain.predictions.weighted, plain.heading) == (False, "Evaluation of Gaussian (n = 40, m = 3)")


def test_a_fit_knows_its_data_by_their_weights() -> None:
    """The warning that predictions were fitted on needs the same weights, not only the same members."""
    fitted = cr.recalibrate.SpreadScaling().fit(WEIGHTED, LABELS)
    with pytest.warns(UserWarning, match="fitted on"):
        fitted.apply(WEIGHTED)
    assert fitted.apply(PLAIN).notes[-1].startswith("recalibrated by")


def test_members_are_drawn_by_weight_and_limits_count_them() -> None:
    weighted = cr.Gaussian(MEAN, STD, weights=[0.98, 0.01, 0.01])
    x = np.arange(N, dtype=float)
    chosen = [member_functions(weighted, x=x, n_functions=1, rng=j).members[0] for j in range(30)]
    assert chosen.count(0) >= 25
    check = cr.predictive_check(WEIGHTED, LABELS, statistics=["crps"], n_resamples=19, rng=0)
    # 1 / (1/16 + 1/4 + 1/16) = 8/3 equal members, and 2 / (1 + 8/3) = 0.545
    assert any("count as 2.67 equal ones" in limit and "below 0.55" in limit for limit in check.limits)


def test_gradients_reach_equal_weights() -> None:
    torch = pytest.importorskip("torch")
    weights = torch.full((3,), 1 / 3, dtype=torch.float64, requires_grad=True)
    gaussian = cr.Gaussian(torch.tensor(MEAN), torch.tensor(STD), weights=weights)
    gaussian.expectation().sum().backward()
    # d/dw_j of sum_j w_j mu_j / sum_j w_j is mu_j less the mean of all
    expected = (MEAN - MEAN.mean(axis=1, keepdims=True)).sum(axis=0)
    np.testing.assert_allclose(weights.grad.numpy(), expected, atol=1e-12)


def test_weights_go_where_rows_go() -> None:
    """Rows that leave a library take the weights along, and those that leave a graph as well."""
    torch = pytest.importorskip("torch")
    from credibly.predictions.passes import without_graph

    probs = RNG.dirichlet(np.ones(3), size=(60, 3))
    labels = RNG.integers(3, size=60)
    weights = torch.tensor(SHARES, requires_grad=True)
    ensemble = cr.Ensemble(torch.tensor(probs), weights=weights)
    hosted = ensemble.replace_rows(probs=probs)
    assert isinstance(hosted.weights, np.ndarray)
    np.testing.assert_array_equal(hosted.mean().probs, cr.Ensemble(probs, weights=SHARES).mean().probs)
    assert ensemble[:5].weights is weights
    assert not without_graph(ensemble).weights.requires_grad
    result, direct = (
        cr.hypotests.weights_test(one, y, n_resamples=9, refit=False, rng=0)
        for one, y in ((ensemble, torch.tensor(labels)), (cr.Ensemble(probs, weights=SHARES), labels))
    )
    assert result.pvalue == pytest.approx(direct.pvalue, rel=1e-9)
