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


def cases() -> dict[str, tuple[cr.recalibrate.Recalibration, Any, Any, Any]]:
    """Every method unfitted, with predictions, labels and features it takes."""
    probs, labels = world()
    means, counts = rated()
    logits, own = members()
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
            cr.recalibrate.CredalRecalibration(weights="constant", temperatures="shared", n_resamples=39),
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
    }
