"""Numbers of other packages for the same definition, computed in the test itself."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import credibly as cr
from credibly.predictions import PredictionIntervals

# relplot 1.0.3 (Apple, the authors' package): smECE(f, y), which searches the width to 1/1024, and
# smECE_sigma(f, y, 0.05), on f and y of `drawn`
RELPLOT = {
    (0, 500, 1.0): (0.03547170897237334, 0.03151370708084854),
    (1, 2000, 2.0): (0.08942676679819107, 0.09455045349588488),
    (2, 300, 0.5): (0.07802436659716964, 0.08538998805002353),
}


def drawn(seed: int, n: int, exponent: float) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    f = rng.beta(2, 1, size=n)
    truth = f**exponent / (f**exponent + (1 - f) ** exponent)
    return f, (rng.random(n) < truth).astype(int)


@pytest.mark.parametrize("arguments", RELPLOT)
def test_smooth_ece_equals_that_of_relplot(arguments: tuple) -> None:
    f, labels = drawn(*arguments)
    smooth = cr.smooth_ece.with_(target="classwise")  # either of two classes has the same
    probs = np.stack([1 - f, f], axis=1)
    own, at_a_width = RELPLOT[arguments]
    assert float(smooth(probs, labels)) == pytest.approx(own, abs=1e-3)
    # relplot integrates over 200 points with the ends counted whole
    assert float(smooth(probs, labels, bandwidth=0.05)) == pytest.approx(at_a_width, abs=5e-4)


def test_the_split_of_the_brier_score_equals_that_of_reliabilitydiag() -> None:
    # README of the R package reliabilitydiag (Dimitriadis, Gneiting and Jordan 2021), three digits:
    #   EMOS  mean_score 0.232  miscalibration 0.0183  discrimination 0.0305  uncertainty 0.244
    probability, rain = np.loadtxt(
        Path(__file__).with_name("data") / "niamey.csv", delimiter=",", skiprows=1
    ).T
    probs = np.stack([1 - probability, probability], axis=1)
    curve = cr.corp_curve(probs, rain.astype(int), target=1, level=None)
    assert float(curve.loss) == pytest.approx(0.232, abs=5e-4)
    assert float(curve.miscalibration) == pytest.approx(0.0183, abs=5e-5)
    assert float(curve.discrimination) == pytest.approx(0.0305, abs=5e-5)
    assert float(curve.uncertainty) == pytest.approx(0.244, abs=5e-4)


def test_where_other_packages_are_wrong_the_numbers_are_those_of_the_definitions() -> None:
    """The three examples of docs/which-calibration-error.md, with what the packages give."""
    # torchmetrics 1.9.0, multiclass_calibration_error(probs, labels, 2): 0.5005, 1.0 in a bin of its own
    shared = cr.confidence_ece([[0.999, 0.001], [1.0, 0.0]], [0, 1], n_bins=15)
    assert float(shared) == pytest.approx(abs(1 / 2 - 0.9995))
    # MAPIE 1.6.0, expected_calibration_error([1, 0], [.2, .8], num_bins=2, ..."uniform"): 0.0, one bin
    crossed = [[0.8, 0.2], [0.2, 0.8]]
    assert float(cr.classwise_ece(crossed, [1, 0], n_bins=2)) == pytest.approx(0.8)
    assert float(cr.classwise_ece(crossed, [1, 0], n_bins=1)) == pytest.approx(0.0)
    # MAPIE 1.6.0, of [0, 0] and [.2, .4]: kuiper_statistic 0.632 below kolmogorov_smirnov_statistic 0.949
    never = [[0.8, 0.2], [0.6, 0.4]], [0, 0]
    walk = cr.ecce.with_(target="classwise")
    assert float(walk(*never)) == pytest.approx(0.3)
    assert float(walk(*never)) >= float(walk(*never, kind="max")) - 1e-12


# statsmodels 0.15.0: mean of |lowess(y, f, frac=span, it=0, delta=0) - f|, f and y of `drawn`, f rounded to
# two digits so that no two different ones share a cell of 1/1024; span times n is a whole number, which
# statsmodels rounds down and `ici` up
LOWESS = {
    (0, 600, 1.0): {2 / 3: 0.0403508456539945, 0.3: 0.04288361571628559},
    (1, 3000, 2.0): {2 / 3: 0.08870859071563708, 0.3: 0.09740155260510096},
    (2, 300, 0.5): {2 / 3: 0.07718283872956029, 0.3: 0.07779830609452627},
}


@pytest.mark.parametrize("arguments", LOWESS)
def test_ici_is_the_mean_distance_from_the_lowess_curve_of_statsmodels(arguments: tuple) -> None:
    f, labels = drawn(*arguments)
    f = f.round(2)
    for span, expected in LOWESS[arguments].items():
        value = float(cr.statistics.ici(np.stack([1 - f, f], axis=1), labels, span=span))
        assert value == pytest.approx(expected, rel=1e-10)


def test_cells_move_the_ici_of_all_digits_little() -> None:
    f, labels = drawn(1, 3000, 2.0)
    value = float(cr.statistics.ici(np.stack([1 - f, f], axis=1), labels))
    assert value == pytest.approx(0.08888550167081685, abs=1e-5)  # statsmodels 0.15.0, f not rounded


# MAPIE 1.0.1 on `drawn_sets`: classification_coverage_score, classification_mean_width_score, the first for
# every size of set; regression_coverage_score, regression_mean_width_score, regression_ssc(num_bins=3) and
# regression_mwi_score(confidence_level=0.9)
MAPIE_SETS = {
    (0, 300): (
        (0.6333333333333333, 2.493333333333333),
        (0.3333333333333333, 0.5037593984962406, 0.7560975609756098, 1.0),
    ),
    (1, 999): (
        (0.5915915915915916, 2.4494494494494496),
        (0.20930232558139536, 0.4779582366589327, 0.7319347319347319, 1.0),
    ),
    (2, 500): ((0.622, 2.484), (0.3333333333333333, 0.5, 0.7326732673267327, 1.0)),  # 1.6.0
}
MAPIE_INTERVALS = {
    (0, 300): ((0.7733333333333333, 3.9206347953788545, 7.051226932047827), (0.58, 0.82, 0.92)),
    (1, 999): (
        (0.8238238238238238, 4.06040569389664, 6.49403039792537),
        (0.6636636636636637, 0.8528528528528528, 0.954954954954955),
    ),
    (2, 500): (  # 167, 167 and 166 widths; MAPIE 1.6.0
        (0.79, 4.043349680994828, 6.757334479946381),
        (0.592814371257485, 0.8502994011976048, 0.927710843373494),
    ),
}


def drawn_sets(seed: int, n: int) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(seed)
    sets = rng.dirichlet(np.ones(4), size=n) >= 0.15
    centre, width = rng.normal(size=n), rng.uniform(1, 3, size=n)
    classes = rng.integers(0, 4, size=n)
    return sets, classes, centre - width, centre + width, centre + 1.4 * rng.normal(size=n)


@pytest.mark.parametrize("arguments", MAPIE_SETS)
def test_coverage_equals_that_of_mapie(arguments: tuple) -> None:
    sets, classes, low, high, y = drawn_sets(*arguments)
    coverage = cr.hypotests.set_coverage(cr.PredictionSets(sets, 0.9), classes, n_resamples=1, rng=0)
    own, by_size = MAPIE_SETS[arguments]
    assert (coverage.coverage.value, coverage.size.value) == pytest.approx(own, rel=1e-12)
    assert coverage.by_size.coverage == pytest.approx(by_size, rel=1e-12)
    coverage = cr.hypotests.set_coverage(PredictionIntervals(low, high, 0.9), y, n_resamples=1, rng=0)
    own, by_size = MAPIE_INTERVALS[arguments]
    assert coverage.score is not None
    assert (coverage.coverage.value, coverage.size.value, coverage.score.value) == pytest.approx(
        own, rel=1e-12
    )
    assert coverage.by_size.coverage == pytest.approx(by_size, rel=1e-12)
    assert coverage.by_size.coverage.min() == min(by_size)  # regression_ssc_score


calibration = pytest.importorskip("sklearn.calibration", reason="needs scikit-learn (extra `sklearn`)")
metrics = pytest.importorskip("sklearn.metrics", reason="needs scikit-learn (extra `sklearn`)")


@pytest.fixture(scope="module")
def data() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(11)
    probs = rng.dirichlet(np.ones(4), size=500)
    return probs, rng.integers(0, 4, size=500), rng.random(500)


def test_scores_equal_those_of_scikit_learn(data: tuple) -> None:
    probs, labels, weights = data
    predicted, onehot = probs.argmax(axis=1), np.eye(4)[labels]
    for sample_weight in (None, weights):
        assert float(cr.log_loss(probs, labels, sample_weight=sample_weight)) == pytest.approx(
            metrics.log_loss(labels, probs, sample_weight=sample_weight)
        )
        assert float(cr.accuracy(probs, labels, sample_weight=sample_weight)) == pytest.approx(
            metrics.accuracy_score(labels, predicted, sample_weight=sample_weight)
        )
        # the sum over classes: scikit-learn's mean squared error averages over the 4 columns
        assert float(cr.brier(probs, labels, sample_weight=sample_weight)) == pytest.approx(
            4 * metrics.mean_squared_error(onehot, probs, sample_weight=sample_weight)
        )


@pytest.mark.parametrize(("binning", "strategy"), [("equal_width", "uniform"), ("equal_mass", "quantile")])
def test_curves_equal_those_of_scikit_learn(data: tuple, binning: str, strategy: str) -> None:
    probs, labels, _ = data
    observed, predicted = calibration.calibration_curve(
        labels == 2, probs[:, 2], n_bins=10, strategy=strategy
    )
    curve = cr.reliability_curve(probs, labels, target=2, n_bins=10, binning=binning, level=None)
    filled = curve.weight > 0
    # quantiles of scikit-learn are interpolated between two values; no value lies between them
    assert np.allclose(curve.predicted[filled], predicted)
    assert np.allclose(curve.observed[filled], observed)
