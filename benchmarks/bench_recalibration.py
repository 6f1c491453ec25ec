"""Temperature scaling against scikit-learn's, its growth to a million instances, and fits on rated data."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from harness import Row, best_of
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.frozen import FrozenEstimator
from sklearn.isotonic import IsotonicRegression

import credibly as cr


class Logits(ClassifierMixin, BaseEstimator):
    """A fitted classifier whose decision function is its input."""

    def __init__(self, k: int = 10) -> None:
        self.k = k
        self.classes_ = np.arange(k)
        self.n_features_in_ = k

    def fit(self, X: np.ndarray, y: np.ndarray) -> Logits:
        """Learn nothing."""
        return self

    def decision_function(self, X: np.ndarray) -> np.ndarray:
        """Return the logits."""
        return X

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Return the class with the largest logit."""
        return X.argmax(axis=1)


def rows(threads: int) -> Iterator[Row]:
    """Yield every row of recalibration."""
    yield from _temperature(threads)
    if threads == 1:
        yield from _growth()
        yield from _isotonic()
        yield from _rated()


def _data(n: int, k: int = 10) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    probs = rng.dirichlet(np.ones(k), size=n)
    return 2.5 * np.log(probs), (rng.random((n, 1)) > probs.cumsum(axis=1)).sum(axis=1).clip(max=k - 1)


def _temperature(threads: int) -> Iterator[Row]:
    logits, labels = _data(10**5)

    def theirs() -> float:
        model = CalibratedClassifierCV(FrozenEstimator(Logits()), method="temperature").fit(logits, labels)
        return float(model.calibrated_classifiers_[0].calibrators[0].beta_)

    def ours() -> float:
        scaling = cr.recalibrate.TemperatureScaling().fit(cr.Point.from_logits(logits), labels)
        return float(scaling.temperature)

    gap = abs(np.log(ours()) + np.log(theirs()))
    found = best_of(5, ours=ours, theirs=theirs)
    yield Row(
        f"TemperatureScaling from logits, n = 100,000, k = 10 (log T differs by {gap:.0e})",
        found["ours"],
        found["theirs"],
        'scikit-learn CalibratedClassifierCV(method="temperature")',
        ">= 1, log T within 1e-6",
        found["theirs"] >= found["ours"] and bool(gap < 1e-6),
        threads,
    )


def _growth() -> Iterator[Row]:
    small, large = _data(10**5), _data(10**6)
    found = best_of(
        3,
        small=lambda: cr.recalibrate.TemperatureScaling().fit(cr.Point.from_logits(small[0]), small[1]),
        large=lambda: cr.recalibrate.TemperatureScaling().fit(cr.Point.from_logits(large[0]), large[1]),
    )
    yield Row(
        "the same, n = 1,000,000",
        found["large"],
        10 * found["small"],
        "10 times n = 100,000",
        ">= 0.8 (linear)",
        found["large"] <= 12.5 * found["small"],
        1,
    )


def _isotonic() -> Iterator[Row]:
    rng = np.random.default_rng(0)
    n = 10**6
    mean = rng.normal(size=n)
    labels = mean + 2.0 * rng.normal(size=n)
    given = cr.Gaussian(mean, np.ones(n))

    def theirs() -> None:
        level = given.cdf(labels)
        share = np.empty(n)
        share[np.argsort(level)] = np.arange(1, n + 1) / n
        IsotonicRegression().fit(level, share)

    found = best_of(3, ours=lambda: cr.recalibrate.IsotonicRecalibration().fit(given, labels), theirs=theirs)
    yield Row(
        "IsotonicRecalibration of Gaussians, n = 1,000,000",
        found["ours"],
        found["theirs"],
        "scikit-learn IsotonicRegression on the same levels and shares",
        ">= 0.5",
        found["ours"] <= 2.0 * found["theirs"],
        1,
    )


def _rated() -> Iterator[Row]:
    folder = Path(os.environ.get("CREDIBLY_DATA", ""))
    if not (folder / "cifar10" / "ddu.npy").is_file():
        print("<!-- rows on CIFAR-10H and ChaosNLI need CREDIBLY_DATA -->")
        return
    point = cr.Point(np.load(folder / "cifar10" / "ddu.npy"))
    counts = cr.LabelCounts(np.load(folder / "cifar10" / "cifar10h_counts.npy").astype(int))
    linear = cr.recalibrate.AlphaCalibration(head="linear")
    yield _disagreement("CIFAR-10H ddu, alpha with log-probabilities", linear, point, counts, (0.109, 0.064))
    with np.load(folder / "snli" / "chaosnli_snli.npz") as data:
        ensemble = cr.Ensemble.from_logits(data["logits"])
        counts = cr.LabelCounts(data["counts"].astype(int))
    both = cr.recalibrate.TemperatureScaling().then(cr.recalibrate.AlphaCalibration())
    yield _disagreement("ChaosNLI-SNLI mean, ts then alpha", both, ensemble.mean(), counts, (0.137, 0.054))


def _disagreement(
    task: str,
    method: cr.recalibrate.Recalibration,
    predictions: cr.Point,
    counts: cr.LabelCounts,
    expected: tuple[float, float],
) -> Row:
    """Fit on the first half, report the disagreement calibration error of the second before and after."""
    half = len(predictions) // 2
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        method.fit(predictions[:half], counts[:half])
    parts = [predictions[half:], method.apply(predictions[half:])]
    before, after = (
        cr.raters.decompose_disagreement(one, counts[half:]).calibration_error.value for one in parts
    )
    return Row(
        f"{task}: disagreement calibration error {before:.3f} to {after:.3f} (errors, not s)",
        after,
        before,
        f"before; expected about {expected[0]} to {expected[1]}",
        f"after at most {expected[1]:.3f}",
        bool(after <= expected[1] + 0.0005),
        1,
    )
