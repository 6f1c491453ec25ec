"""Curves of one probability, Venn-Abers intervals, label noise and the order of columns."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import isotonic_regression, minimize_scalar

import credibly as cr
from credibly.recalibrate.curves import with_one_event
from credibly.recalibrate.files import NAMED, named_recalibration
from recalibrations import draw, members, world


def event(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Probabilities of two classes that are too high above 0.6, and labels."""
    rng = np.random.default_rng(seed)
    p = rng.random(n)
    labels = (rng.random(n) < np.minimum(p, 0.6)).astype(int)
    return np.column_stack([1 - p, p]), labels


@pytest.mark.parametrize("name", ["curve", "isotonic"])
def test_a_range_that_is_off_is_mended(name: str) -> None:
    probs, labels = event(8000)
    fitted = named_recalibration(name).fit(probs, labels)
    ask = np.array([0.1, 0.3, 0.5, 0.8, 0.95])
    row = fitted.apply(cr.Point(np.column_stack([1 - ask, ask]))).probs[:, 1]
    assert np.allclose(row, np.minimum(ask, 0.6), atol=0.06)


@pytest.mark.parametrize("name", ["curve", "isotonic", "beta"])
def test_other_classes_keep_their_proportions(name: str) -> None:
    probs, labels = world(600, k=4)
    sharp = probs**2 / (probs**2).sum(axis=1, keepdims=True)
    moved = named_recalibration(name).fit(sharp, labels).apply(sharp[1:]).probs
    top = sharp[1:].argmax(axis=1)
    others = np.arange(4) != top[:, None]
    before, after = sharp[1:][others].reshape(-1, 3), moved[others].reshape(-1, 3)
    assert np.allclose(
        before / before.sum(axis=1, keepdims=True), after / after.sum(axis=1, keepdims=True), atol=1e-9
    )
    assert moved[np.arange(599), top].mean() == pytest.approx((labels[1:] == top).mean(), abs=0.02)


def test_isotonic_is_that_of_scikit_learn() -> None:
    isotonic = pytest.importorskip("sklearn.isotonic", reason="needs scikit-learn")
    probs, labels = event(1500)
    probs = probs.round(2)  # ties
    weight = np.random.default_rng(1).uniform(0.5, 2.0, size=1000)
    other = isotonic.IsotonicRegression(out_of_bounds="clip")
    other.fit(probs[:1000, 1], labels[:1000], sample_weight=weight)
    fitted = cr.recalibrate.IsotonicRecalibration().fit(probs[:1000], labels[:1000], sample_weight=weight)
    assert np.allclose(
        fitted.predict_proba(probs[1000:])[:, 1], other.predict(probs[1000:, 1]), atol=1e-9, rtol=0
    )
    assert (fitted.predict_proba(probs[1000:]) > 0).all()


def test_isotonic_knows_classes_from_real_values() -> None:
    probs, labels = event(200)
    classes = cr.recalibrate.IsotonicRecalibration().fit(probs, labels)
    reals = cr.recalibrate.IsotonicRecalibration().fit(cr.Gaussian(probs[:, 0], probs[:, 1] + 1), probs[:, 1])
    with pytest.raises(cr.InputTypeError, match="must be of classes, as in the fit"):
        classes.apply(cr.Gaussian([0.0], [1.0]))
    with pytest.raises(cr.InputTypeError, match="must be of real values, as in the fit"):
        reals.apply(probs)
    with pytest.raises(cr.InputTypeError, match="probabilities of classes"):
        reals.predict_proba(probs)
    assert classes.describe().startswith("isotonic probabilities")
    assert reals.describe().startswith("isotonic levels")


def test_beta_recovers_its_parameters() -> None:
    rng = np.random.default_rng(0)
    p = rng.random(100_000)
    logit = 2.0 * np.log(p) - 0.5 * np.log1p(-p) + 0.3  # a = 2, b = 0.5, c = 0.3
    labels = (rng.random(100_000) < 1 / (1 + np.exp(-logit))).astype(int)
    fitted = cr.recalibrate.BetaScaling().fit(np.column_stack([1 - p, p]), labels)
    assert (fitted.a, fitted.b, fitted.c) == pytest.approx((2.0, 0.5, 0.3), abs=0.12)
    falling = cr.recalibrate.BetaScaling().fit(
        np.column_stack([1 - p, p]), (rng.random(100_000) < 0.5 + 0.4 * (p < 0.1)).astype(int)
    )
    assert min(falling.a, falling.b) == 0.0  # no curve that falls


def test_events_that_can_be_told_without_error_are_refused() -> None:
    probs, _ = event(200)
    for name in ("beta", "platt"):
        with pytest.raises(cr.UnsupportedError, match="must have a finite optimum"):
            named_recalibration(name).fit(probs, (probs[:, 1] > 0.5).astype(int))


@pytest.mark.parametrize("name", ["curve", "beta", "isotonic"])
def test_curves_are_of_one_distribution(name: str) -> None:
    logits, labels = members()
    with pytest.raises(cr.InputTypeError, match=r"predictions.mean\(\)"):
        named_recalibration(name).fit(cr.Ensemble.from_logits(logits), labels)
    mixture = cr.Dirichlet(np.exp(logits), member_axis=1)
    with pytest.raises(cr.UnsupportedError, match="one distribution per instance"):
        named_recalibration(name).fit(mixture, labels)


def test_all_isotonic_regressions_with_one_event_more() -> None:
    """Against one regression per place."""
    rng = np.random.default_rng(0)
    for size in range(1, 13):
        total = rng.integers(1, 4, size=size).astype(float)
        success = rng.binomial(total.astype(int), 0.5).astype(float)
        wanted = []
        for i in range(size):
            more = (np.arange(size) == i).astype(float)
            share = (success + more) / (total + more)
            wanted.append(isotonic_regression(share, weights=total + more).x[i])
        assert np.allclose(with_one_event(success, total), wanted)


def test_venn_abers_is_two_isotonic_regressions() -> None:
    probs, labels = event(60, seed=3)
    probs = probs.round(1)
    fitted = cr.recalibrate.VennAbers().fit(probs, labels)
    ask = np.array([0.0, 0.05, 0.3, 0.44, 0.6, 1.0])
    applied = fitted.apply(cr.Point(np.column_stack([1 - ask, ask])))
    assert isinstance(applied, cr.Intervals)
    for i, p in enumerate(ask):
        for label, bound in ((0, applied.lower), (1, applied.upper)):
            at, place = np.unique(np.append(probs[:, 1], p), return_inverse=True)
            y, total = np.append(labels, label), np.bincount(place)
            wanted = isotonic_regression(np.bincount(place, y) / total, weights=total).x[place[-1]]
            assert bound[i, 1] == pytest.approx(wanted), (at, p, label)
    assert np.allclose(applied.lower[:, 0], 1 - applied.upper[:, 1])
    with pytest.raises(cr.UnsupportedError, match="two classes; got 3"):
        cr.recalibrate.VennAbers().fit(*world(30))


def test_venn_abers_intervals_are_judged_by_the_test_of_sets() -> None:
    probs, labels = event(1200)
    applied = cr.recalibrate.VennAbers().fit(probs[:1000], labels[:1000]).apply(probs[1000:])
    assert cr.hypotests.credal_test(applied, labels[1000:], n_resamples=99).pvalue > 0.05
    assert cr.hypotests.credal_test(applied, 1 - labels[1000:], n_resamples=99).pvalue < 0.05


def test_noise_is_recovered() -> None:
    probs, labels = world(8000)
    rng = np.random.default_rng(5)
    noisy = np.where(rng.random(8000) < 0.3, rng.integers(3, size=8000), labels)
    fitted = cr.recalibrate.NoiseScaling().fit(probs, noisy)
    assert fitted.noise == pytest.approx(0.3, abs=0.03)
    row = probs[np.arange(8000), noisy]
    best = minimize_scalar(
        lambda e: -np.log((1 - e) * row + e * fitted.base_rates[noisy]).sum(),
        bounds=(0, 1),
        method="bounded",
        options={"xatol": 1e-10},
    ).x
    assert fitted.noise == pytest.approx(best, abs=1e-7)
    assert np.allclose(
        fitted.apply(probs[:5]).probs, (1 - fitted.noise) * probs[:5] + fitted.noise * fitted.base_rates
    )
    useless = cr.recalibrate.NoiseScaling().fit(probs, probs.argmin(axis=1))
    assert useless.noise > 0.9


def test_label_smoothing_is_undone() -> None:
    probs, labels = world(8000)
    smoothed = 0.8 * probs + 0.2 / 3  # e = -0.2 / 0.8
    fitted = cr.recalibrate.NoiseScaling().fit(smoothed, labels)
    assert fitted.noise == pytest.approx(-0.25, abs=0.03)
    assert fitted.describe().startswith("removing 0.2")
    counts = cr.LabelCounts(np.eye(3, dtype=int)[labels] * 2)
    assert cr.recalibrate.NoiseScaling().fit(smoothed, counts).noise == pytest.approx(fitted.noise, abs=1e-5)
    after = fitted.apply(smoothed[:4000]).probs
    assert np.abs(after - probs[:4000]).max() < 0.03
    never = fitted.apply([[0.01, 0.01, 0.98]]).probs[0]  # (1 + 0.25) * 0.01 - 0.25 / 3 < 0, so 1 % is kept
    assert never[0] == pytest.approx(1e-4 / (2e-4 + (1 - fitted.noise) * 0.98 + fitted.noise / 3))
    timid = probs**0.3 / (probs**0.3).sum(axis=1, keepdims=True)
    fitted = cr.recalibrate.NoiseScaling().fit(timid, labels)
    assert fitted.noise < 0.0
    assert fitted.convergence.loss_after < fitted.convergence.loss_before
    read = cr.recalibrate.NoiseScaling._from_dict(fitted.to_dict())
    assert np.array_equal(read.apply(timid[:5]).probs, fitted.apply(timid[:5]).probs)


def test_columns_are_put_in_order() -> None:
    logits, labels = members()
    shuffled = cr.Ensemble.from_logits(logits[:, :, [1, 2, 0]])
    fitted = cr.recalibrate.ColumnOrder().fit(shuffled, labels)
    assert fitted.columns.tolist() == [2, 0, 1]
    assert fitted.describe() == "another order of 3 columns"
    exchanged = cr.recalibrate.ColumnOrder().fit(cr.Ensemble.from_logits(logits[:, :, [2, 1, 0]]), labels)
    assert exchanged.in_words(["a", "b", "c"]) == "the columns of a and c exchanged"
    original = cr.Ensemble.from_logits(logits[1:])
    assert np.allclose(fitted.apply(shuffled[1:]).probs, original.probs)
    saved = fitted.to_dict()
    saved["learned"]["columns"] = [0, 0, 1]
    with pytest.raises(cr.InputError, match="every column once"):
        cr.recalibrate.ColumnOrder._from_dict(saved)


def test_free_intercepts_reach_the_frequency_of_rare_classes() -> None:
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(20_000, 4)) + np.log([0.6, 0.3, 0.09, 0.01])
    probs = cr.Point.from_logits(logits).probs
    labels = draw(probs, rng)
    # a twentieth of what happens; logits near 0, which no weight moves
    low = cr.Point.from_logits(logits + np.array([0.0, 0.0, 0.0, -3.0]) + 7.5)
    after = cr.recalibrate.VectorScaling().fit(low[:10_000], labels[:10_000]).apply(low[10_000:])
    assert after.probs[:, 3].mean() == pytest.approx((labels == 3).mean(), rel=0.1)
    assert low.probs[:, 3].mean() < 0.2 * (labels == 3).mean()


def test_names_of_the_field() -> None:
    for name, kind in {
        "platt": "PlattScaling",
        "sigmoid": "PlattScaling",
        "isotonic": "IsotonicRecalibration",
        "beta": "BetaScaling",
        "bias": "BiasScaling",
        "curve": "CurveScaling",
        "noise": "NoiseScaling",
        "order": "ColumnOrder",
        "venn_abers": "VennAbers",
    }.items():
        assert type(NAMED[name]()).__name__ == kind
