"""Several raters per instance on data that every clone holds: D21's formulas as loops.

The counterpart of test_raters.py and test_recalibration.py. Digits have 47 to 63 raters drawn from a known
mixture; remainders have 100, drawn from Dirichlet(8 softmax(mean of the logits / 2.5)), so that a temperature
of 2.5 and a concentration of 8 are the truth (make_golden_data.py).
"""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, softmax
from scipy.stats import dirichlet_multinomial

import credibly as cr
from credibly_studies import d21
from golden.shipped import arrays

N_BINS = 15


@pytest.fixture(scope="module")
def digits() -> tuple[np.ndarray, np.ndarray]:
    held = arrays("digits")
    return held["smooth"].astype(float), held["counts"]


@pytest.fixture(scope="module")
def remainders() -> tuple[np.ndarray, np.ndarray]:
    held = arrays("remainders")
    return held["logits"].astype(float), held["counts"]


def calibration(observed: np.ndarray, predicted: np.ndarray, debias: str | None) -> float:
    """CL of one class: sum over bins [a, b) of |bin| / N (mean observed - mean predicted)^2.

    Debiased by the variance of the observation in a bin (D21 eq. 13), or of observation minus prediction; a
    debiased bin of one instance adds 0.
    """
    total = 0.0
    for cell in range(N_BINS):
        rows = np.flatnonzero(np.minimum(np.floor(predicted * N_BINS), N_BINS - 1) == cell)
        if not len(rows) or (debias and len(rows) == 1):
            continue
        gaps = observed[rows] - predicted[rows]
        noise = {None: np.zeros(1), "paper": observed[rows], "full": gaps}[debias]
        value = gaps.mean() ** 2 - (noise.var(ddof=1) / len(rows) if debias else 0.0)
        total += len(rows) / len(predicted) * value
    return total


def loss_terms(probs: np.ndarray, counts: np.ndarray, debias: str) -> dict[str, float]:
    """Mimori et al. 2021: L, EL, CL and DL, unbiased and plugged in, one instance after the other."""
    expected = irreducible = plugin = 0.0
    for z, y in zip(probs, counts, strict=True):
        n = y.sum()
        mu = y / n
        expected += float((mu - 2 * mu * z + z**2).sum()) / len(probs)
        plugin += float((mu * (1 - mu)).sum()) / len(probs)
        irreducible += float((n / (n - 1) * mu * (1 - mu)).sum()) / len(probs)
    frequency = counts / counts.sum(axis=1, keepdims=True)
    raw, debiased = (
        sum(calibration(mu, z, how) for mu, z in zip(frequency.T, probs.T, strict=True))
        for how in (None, debias)
    )
    return {
        "expected": expected,
        "epistemic": expected - irreducible,
        "calibration": debiased,
        "dispersion": expected - irreducible - debiased,
        "plugin epistemic": expected - plugin,
        "plugin calibration": raw,
        "plugin dispersion": expected - plugin - raw,
    }


def disagreeing_pairs(counts: np.ndarray) -> np.ndarray:
    """Fraction of disagreeing pairs of raters, by counting pairs of different labels."""
    pairs = [sum(a * b for a, b in itertools.combinations(row.tolist(), 2)) for row in counts]
    return np.array(pairs) / [math.comb(int(row.sum()), 2) for row in counts]


@pytest.mark.parametrize("debias", ["full", "paper"])
@pytest.mark.parametrize("data", ["digits", "remainders"])
def test_loss(data: str, debias: str, request: pytest.FixtureRequest) -> None:
    predictions, counts = request.getfixturevalue(data)
    probs = predictions if data == "digits" else softmax(predictions, axis=-1).mean(axis=1)
    decompose = {"full": cr.raters.decompose_loss, "paper": d21.decompose_loss}[debias]
    parts = decompose(cr.Point(probs), cr.LabelCounts(counts))
    for name, value in loss_terms(probs, counts, debias).items():
        first, _, second = name.rpartition(" ")
        found = getattr(getattr(parts, first) if first else parts, second)
        assert found.value == pytest.approx(value, rel=1e-8, abs=1e-12), name
    least, most = counts.sum(axis=1).min(), counts.sum(axis=1).max()
    assert (parts.n, parts.n_left_out, parts.raters) == (len(counts), 0, (least, most))


@pytest.mark.parametrize("debias", ["full", "paper"])
def test_disagreement(debias: str, digits: tuple[np.ndarray, np.ndarray]) -> None:
    probs, counts = digits
    observed, predicted = disagreeing_pairs(counts), 1 - (probs**2).sum(axis=1)
    decompose = {"full": cr.raters.decompose_disagreement, "paper": d21.disagreement}[debias]
    parts = decompose(cr.Point(probs), cr.LabelCounts(counts))
    expected = (observed - 2 * observed * predicted + predicted**2).mean()
    assert parts.expected.value == pytest.approx(expected, rel=1e-9)
    assert parts.plugin.calibration.value == pytest.approx(calibration(observed, predicted, None), rel=1e-9)
    debiased = calibration(observed, predicted, debias)
    assert parts.calibration.value == pytest.approx(debiased, rel=1e-9)


def test_label_histograms_in_the_brier_decomposition(digits: tuple[np.ndarray, np.ndarray]) -> None:
    probs, counts = digits
    expected = loss_terms(probs, counts, "full")
    for debiased, name in ((False, "plugin calibration"), (True, "calibration")):
        parts = cr.decompose_brier(probs, cr.LabelCounts(counts), n_bins=N_BINS, debiased=debiased)
        assert parts.loss.value == pytest.approx(expected["expected"], rel=1e-9)
        assert parts.calibration.value == pytest.approx(expected[name], rel=1e-8)


@pytest.mark.parametrize("n_raters", [2, 3, 5, 10])
def test_few_of_the_raters_tell_the_same_unbiased_loss(
    remainders: tuple[np.ndarray, np.ndarray], n_raters: int
) -> None:
    """The interval holds the loop's value for all 100 raters; the plug-in of a few lies above."""
    logits, counts = remainders
    probs = softmax(logits, axis=-1).mean(axis=1)
    whole = loss_terms(probs, counts, "full")["epistemic"]
    few = cr.LabelCounts(counts).subsample(n_raters, rng=0)
    parts = cr.raters.decompose_loss(cr.Point(probs), few)
    low, high = parts.epistemic.interval()
    assert low <= whole <= high
    assert parts.plugin.epistemic.value > high


def test_temperature_and_alpha_find_what_the_raters_were_drawn_from(
    remainders: tuple[np.ndarray, np.ndarray],
) -> None:
    """Both fits against SciPy: one-dimensional minima of the likelihoods that the papers write down."""
    logits, counts = remainders
    logits = logits.mean(axis=1)

    def cross_entropy(log_temperature: float) -> float:
        return -float((counts * log_softmax(logits / math.exp(log_temperature), axis=1)).sum()) / counts.sum()

    best = minimize_scalar(cross_entropy, bounds=(-1, 3), method="bounded", options={"xatol": 1e-10})
    mean, labels = cr.Point.from_logits(logits), cr.LabelCounts(counts)
    warmer = cr.recalibrate.TemperatureScaling().fit(mean, labels)
    assert warmer.temperature == pytest.approx(math.exp(best.x), rel=1e-5)
    assert warmer.temperature == pytest.approx(2.5, rel=0.1)  # the truth; 300 rows

    tempered = softmax(logits / warmer.temperature, axis=1)

    def penalised(log_alpha0: float) -> float:
        # SciPy's probability of the counts; D21 leaves out the coefficient, which alpha0 does not change
        likelihood = dirichlet_multinomial.logpmf(counts, math.exp(log_alpha0) * tempered, counts.sum(axis=1))
        return -float(likelihood.mean()) + 0.005 * log_alpha0**2

    best = minimize_scalar(penalised, bounds=(-2, 6), method="bounded", options={"xatol": 1e-10})
    alpha = cr.recalibrate.AlphaCalibration(penalty=0.005).fit(cr.Point(tempered), labels)
    value = float(alpha.alpha0(cr.Point(tempered[:1]))[0])
    assert value == pytest.approx(math.exp(best.x), rel=1e-4)
    assert value == pytest.approx(8, rel=0.15)  # the truth


def test_recalibration_of_a_held_out_half(remainders: tuple[np.ndarray, np.ndarray]) -> None:
    """Two raters of Dirichlet(alpha0 p) disagree with probability (1 - sum p^2) alpha0 / (alpha0 + 1)."""
    logits, counts = remainders
    point, labels = cr.Point.from_logits(logits.mean(axis=1)), cr.LabelCounts(counts)
    fit, new = slice(0, 150), slice(150, 300)
    observed = disagreeing_pairs(counts[new])
    both = (
        cr.recalibrate.TemperatureScaling()
        .then(cr.recalibrate.AlphaCalibration())
        .fit(point[fit], labels[fit])
    )
    warmer = cr.recalibrate.TemperatureScaling().fit(point[fit], labels[fit])
    tempered = softmax(logits[new].mean(axis=1) / warmer.temperature, axis=1)
    alpha0 = float(both.steps[1].alpha0(cr.Point(tempered[:1]))[0])
    raw = softmax(logits[new].mean(axis=1), axis=1)
    errors = {}
    for name, predictions, predicted in (
        ("raw", point[new], 1 - (raw**2).sum(axis=1)),
        ("both", both.apply(point[new]), (1 - (tempered**2).sum(axis=1)) * alpha0 / (alpha0 + 1)),
    ):
        parts = cr.raters.decompose_disagreement(predictions, labels[new])
        assert parts.calibration.value == pytest.approx(
            calibration(observed, predicted, "full"), rel=1e-6, abs=1e-10
        )
        errors[name] = parts.plugin.calibration.value
    assert errors["both"] < errors["raw"] / 4
