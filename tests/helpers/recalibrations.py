"""Worlds whose recalibration is known, and one small fit of every method."""

from __future__ import annotations

from typing import Any

import numpy as np

import credibly as cr


def draw(probs: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """One label per row of probabilities."""
    return (rng.random((len(probs), 1)) > probs.cumsum(axis=1)).sum(axis=1).clip(max=probs.shape[1] - 1)


def world(n: int = 400, k: int = 3, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """True probabilities and labels drawn from them."""
    rng = np.random.default_rng(seed)
    probs = rng.dirichlet(np.ones(k), size=n)
    return probs, draw(probs, rng)


def rated(n: int = 400, k: int = 3, raters: int = 6, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Means, and counts of raters who draw from distributions spread around them with alpha0 = 4."""
    rng = np.random.default_rng(seed)
    probs = rng.dirichlet(np.ones(k), size=n)
    truth = np.stack([rng.dirichlet(4.0 * row) for row in probs])
    return probs, rng.multinomial(raters, truth)


def members(n: int = 400, m: int = 3, k: int = 3, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Logits of members whose mean the labels are drawn from."""
    rng = np.random.default_rng(seed)
    logits = rng.normal(size=(n, m, k)) + 1.5 * rng.normal(size=(n, 1, k))
    mean = cr.Ensemble.from_logits(logits).mean().probs
    return logits, draw(mean, rng)


def narrow(n: int = 400, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Means, features (n, 2), and labels spread around the means by 1.5 exp(0.4 first feature)."""
    rng = np.random.default_rng(seed)
    mean, features = rng.normal(size=n), rng.normal(size=(n, 2))
    return mean, features, mean + 1.5 * np.exp(0.4 * features[:, 0]) * rng.normal(size=n)


def real_kinds(mean: np.ndarray, seed: int = 1) -> dict[str, cr.predictions.RealPredictions]:
    """Predictions of spread 1 around the means, of every kind."""
    rng = np.random.default_rng(seed)
    gaussian = cr.Gaussian(mean, np.ones(len(mean)))
    levels = np.arange(1, 20) / 20
    return {
        "Gaussian": gaussian,
        "mixture": cr.Gaussian(
            mean[:, None] + 0.3 * rng.normal(size=(len(mean), 3)), np.ones((len(mean), 3))
        ),
        "Samples": cr.Samples(mean[:, None] + rng.normal(size=(len(mean), 30))),
        "Quantiles": cr.Quantiles(gaussian.quantile(levels), levels),
    }


def real_cases() -> dict[str, tuple[cr.recalibrate.Recalibration, Any, Any, Any]]:
    """Every method for real values unfitted, of every kind of prediction."""
    mean, features, labels = narrow()
    scaling = cr.recalibrate.SpreadScaling
    methods = {
        "scale": (scaling(), None),
        "scale by features": (scaling(by="features"), features),
        "isotonic": (cr.recalibrate.IsotonicRecalibration(), None),
        "location": (cr.recalibrate.LocationScaling(("shift", "slope", "scale", "spread")), None),
        "tails": (cr.recalibrate.TailScaling(), None),
        "skew": (cr.recalibrate.SkewScaling(), None),
        "levels": (cr.recalibrate.QuantileShift(), None),
        "relative levels": (cr.recalibrate.QuantileShift(relative=True), None),
        "scale, then levels": (scaling().then(cr.recalibrate.QuantileShift()), None),
    }
    return {
        f"{name} of {kind}": (method, predictions, labels, own)
        for kind, predictions in real_kinds(mean).items()
        for name, (method, own) in methods.items()
    }


def cases() -> dict[str, tuple[cr.recalibrate.Recalibration, Any, Any, Any]]:
    """Every method unfitted, with predictions, labels and features it takes."""
    probs, labels = world()
    means, counts = rated()
    logits, own = members()
    events, happened = world(k=2)
    features = np.random.default_rng(3).normal(size=(400, 2))
    ensemble = cr.Ensemble.from_logits(2.0 * logits)
    histogram = cr.LabelCounts(counts)
    return {
        "temperature": (cr.recalibrate.TemperatureScaling(), cr.Point(probs), labels, None),
        "temperature of an ensemble": (cr.recalibrate.TemperatureScaling(), ensemble, own, None),
        "temperature of a Dirichlet": (
            cr.recalibrate.TemperatureScaling(),
            cr.Dirichlet(5 * probs),
            labels,
            None,
        ),
        "bias": (cr.recalibrate.BiasScaling(), cr.Point(probs), labels, None),
        "bias of an ensemble": (cr.recalibrate.BiasScaling(), ensemble, own, None),
        "platt": (cr.recalibrate.PlattScaling(), cr.Point(probs), labels, None),
        "platt of an ensemble": (cr.recalibrate.PlattScaling(), ensemble, own, None),
        "platt of a Dirichlet": (cr.recalibrate.PlattScaling(), cr.Dirichlet(5 * probs), labels, None),
        **{
            name: (method, cr.Point(probs), labels, None)
            for name, method in {
                "curve": cr.recalibrate.CurveScaling(),
                "beta": cr.recalibrate.BetaScaling(),
                "isotonic of classes": cr.recalibrate.IsotonicRecalibration(),
                "noise": cr.recalibrate.NoiseScaling(),
                "order": cr.recalibrate.ColumnOrder(),
                "vector without a penalty of its own": cr.recalibrate.VectorScaling(),
            }.items()
        },
        "curve of a Dirichlet": (cr.recalibrate.CurveScaling(), cr.Dirichlet(5 * probs), labels, None),
        "noise of an ensemble": (cr.recalibrate.NoiseScaling(), ensemble, own, None),
        "order of an ensemble": (cr.recalibrate.ColumnOrder(), ensemble, own, None),
        "Venn-Abers": (cr.recalibrate.VennAbers(), cr.Point(events), happened, None),
        "vector": (cr.recalibrate.VectorScaling(penalty=0.1), cr.Point(probs), labels, None),
        "vector of a Dirichlet": (
            cr.recalibrate.VectorScaling(penalty=0.1),
            cr.Dirichlet(5 * probs),
            labels,
            None,
        ),
        "vector of an ensemble": (cr.recalibrate.VectorScaling(penalty=0.1), ensemble, own, None),
        "matrix": (cr.recalibrate.MatrixScaling(), cr.Point(probs), labels, None),
        "members": (cr.recalibrate.MemberTemperatures(), ensemble, own, None),
        "credal": (
            cr.recalibrate.CredalRecalibration(temperatures="shared"),
            ensemble,
            own,
            None,
        ),
        "alpha": (cr.recalibrate.AlphaCalibration(), cr.Point(means), histogram, None),
        "alpha with features": (cr.recalibrate.AlphaCalibration(), cr.Point(means), histogram, features),
        "alpha with log-probabilities": (
            cr.recalibrate.AlphaCalibration(head="linear"),
            cr.Point(means),
            histogram,
            None,
        ),
        "alpha of an ensemble": (cr.recalibrate.AlphaCalibration(), ensemble, histogram, None),
        "alpha of a Dirichlet": (
            cr.recalibrate.AlphaCalibration(penalty="cv"),
            cr.Dirichlet(9 * means),
            histogram,
            None,
        ),
        "ignorance": (cr.recalibrate.IgnoranceCalibration(), ensemble, histogram, None),
        "ignorance with features": (cr.recalibrate.IgnoranceCalibration(), ensemble, histogram, features),
        "neural alpha": (
            cr.recalibrate.AlphaCalibration(head="neural", hidden=(4,)),
            cr.Point(means),
            histogram,
            features,
        ),
        "chain": (
            cr.recalibrate.TemperatureScaling().then(cr.recalibrate.AlphaCalibration()),
            cr.Point(means),
            histogram,
            features,
        ),
        **real_cases(),
    }
