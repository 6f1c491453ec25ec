"""Raters who draw from predictions: one prediction of each kind, and how likely given labels are."""

from __future__ import annotations

import math

import numpy as np

import credibly as cr


def sets(k: int = 3) -> dict[str, cr.Point | cr.Ensemble | cr.Dirichlet]:
    """One of each kind of prediction, two instances."""
    rng = np.random.default_rng(4)
    return {
        "point": cr.Point(rng.dirichlet(np.ones(k), size=2)),
        "ensemble": cr.Ensemble(rng.dirichlet(np.ones(k), size=(2, 4))),
        "weighted": cr.Ensemble(rng.dirichlet(np.ones(k), size=(2, 3)), weights=[0.5, 0.3, 0.2]),
        "dirichlet": cr.Dirichlet(rng.random((2, k)) * 4 + 0.1),
        "dirichlets": cr.Dirichlet(rng.random((2, 3, k)) * 4 + 0.1),
    }


def probability(
    predictions: cr.Point | cr.Ensemble | cr.Dirichlet, row: int, labels: tuple[int, ...]
) -> float:
    """How likely raters give these labels, in this order, to one instance."""
    if isinstance(predictions, cr.Dirichlet):
        members = predictions.alpha[row] if predictions.alpha.ndim == 3 else predictions.alpha[row][None]
        found = []
        for alpha in members:  # Polya's urn
            urn, chance = alpha.copy(), 1.0
            for label in labels:
                chance *= urn[label] / urn.sum()
                urn[label] += 1
            found.append(chance)
        return float(np.mean(found))
    members = predictions.probs[row] if predictions.probs.ndim == 3 else predictions.probs[row][None]
    weights = getattr(predictions, "weights", None)
    chances = [math.prod(p[label] for label in labels) for p in members]
    return float(np.average(chances, weights=weights))
