"""What one rater's label tells about the others': a prediction of ours, not in this version of D21.

A Dirichlet with parameters alpha becomes one with alpha + e_y after the label y; members of a mixture are
weighted by how probable each found the label. A point learns nothing: its raters are thought independent.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from credibly._arrays.namespace import HostArray, to_host
from credibly.predictions import ClassPredictions, Dirichlet, Ensemble, LabelCounts, Point


def posterior_mean(predictions: ClassPredictions, labels: HostArray) -> HostArray:
    """Return the distribution of another rater's label, given the label of one, (n, k)."""
    if isinstance(predictions, Point):
        return np.asarray(to_host(predictions.probs), dtype=np.float64)
    rows = np.arange(len(labels))
    if isinstance(predictions, Dirichlet):
        alpha = np.asarray(to_host(predictions.alpha), dtype=np.float64)
        alpha = alpha if alpha.ndim == 3 else alpha[:, None]
        total = alpha.sum(axis=-1, keepdims=True)
        mean, moved = alpha / total, alpha.copy()
        moved[rows, :, labels] += 1
        moved /= total + 1
    else:
        assert isinstance(predictions, Ensemble)
        mean = moved = np.asarray(to_host(predictions.probs), dtype=np.float64)
    weights = mean[rows, :, labels]
    weights = weights / weights.sum(axis=1, keepdims=True)
    return np.asarray((weights[..., None] * moved).sum(axis=1))


def posterior_gain(predictions: ClassPredictions, counts: LabelCounts, *, rng: Any) -> HostArray:
    """Return what the label of one rater takes off the squared loss for the other raters, (n,).

    One rater of every instance is drawn; instances with a single one are left out.
    """
    counts_of_raters = to_host(counts.counts)
    kept = counts_of_raters.sum(axis=1) > 1
    counts_of_raters = counts_of_raters[kept]
    label = to_host(LabelCounts(counts_of_raters).draw(rng=rng))
    rest = counts_of_raters - np.eye(counts_of_raters.shape[1], dtype=counts_of_raters.dtype)[label]
    frequency = rest / rest.sum(axis=1, keepdims=True)
    kept_predictions = predictions[np.flatnonzero(kept)]
    before = np.asarray(
        to_host(
            kept_predictions.mean().probs
            if not isinstance(kept_predictions, Point)
            else kept_predictions.probs
        ),
        dtype=np.float64,
    )
    after = posterior_mean(kept_predictions, label)

    def loss(probs: HostArray) -> HostArray:
        return np.asarray((frequency * (1 - 2 * probs) + probs**2).sum(axis=1))

    return loss(before) - loss(after)
