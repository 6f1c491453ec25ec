"""The log loss of softmax(W z + b) per label, with its gradient and Hessian."""

from __future__ import annotations

import numpy as np

from credibly._arrays.namespace import Array, HostArray, namespace
from credibly._arrays.special import logsumexp
from credibly._arrays.tiles import rows_within_budget, tiles


def mapped(z: Array, weights: Array, intercepts: Array) -> Array:
    """Return W z + b for rows (n, k), W a vector of the diagonal or a matrix."""
    moved = z * weights if weights.ndim == 1 else z @ namespace(weights).permute_dims(weights, (1, 0))
    return moved + intercepts


def loss_and_gradient(
    z: HostArray, counts: HostArray, weights: HostArray, intercepts: HostArray
) -> tuple[float, HostArray, HostArray]:
    """Return the loss per label and its gradients in weights and intercepts."""
    loss, slope_weights, slope_intercepts = 0.0, np.zeros(weights.shape), np.zeros(intercepts.shape)
    for rows in tiles(len(z), rows_within_budget(32 * z.shape[1], 0.25)):
        own, observed = z[rows], counts[rows]
        logs = mapped(own, weights, intercepts)
        logs -= logsumexp(logs)[:, None]
        loss -= float(np.vdot(observed, logs))
        residual = observed.sum(axis=-1, keepdims=True) * np.exp(logs) - observed
        slope_intercepts += residual.sum(axis=0)
        slope_weights += (residual * own).sum(axis=0) if weights.ndim == 1 else residual.T @ own
    total = float(counts.sum())
    return loss / total, slope_weights / total, slope_intercepts / total


def curvature(z: HostArray, counts: HostArray, weights: HostArray, intercepts: HostArray) -> HostArray:
    """Return the second derivatives of the loss per label in (weights, intercepts).

    The logit of class a has the derivatives phi = (z_a, 1), or (z, 1) with a matrix, so the Hessian is the
    sum over instances of N (diag(p) - p p') between classes times phi phi' between their parameters.
    """
    k = z.shape[1]
    size = weights.size + k
    total = np.zeros((size, size))
    for rows in tiles(len(z), rows_within_budget(8 * (size + 8 * k), 0.25)):
        own, number = z[rows], counts[rows].sum(axis=-1)
        logs = mapped(own, weights, intercepts)
        p = np.exp(logs - logsumexp(logs)[:, None])
        if weights.ndim == 1:
            slopes = np.concatenate([p * own, p], axis=1)
            for i, first in enumerate((own, 1.0)):
                for j, second in enumerate((own, 1.0)):
                    diagonal = (number[:, None] * p * first * second).sum(axis=0)
                    total[i * k : (i + 1) * k, j * k : (j + 1) * k] += np.diag(diagonal)
        else:
            slopes = np.concatenate([(p[:, :, None] * own[:, None, :]).reshape(len(own), -1), p], axis=1)
            whole = np.concatenate([own, np.ones((len(own), 1))], axis=1)
            for c in range(k):
                block = (whole * (number * p[:, c])[:, None]).T @ whole
                at = np.append(np.arange(c * k, (c + 1) * k), k * k + c)
                total[np.ix_(at, at)] += block
        total -= (slopes * number[:, None]).T @ slopes
    return total / float(counts.sum())


def why_diverging(counts: HostArray, penalty: float) -> str:
    """Say what makes a fit diverge."""
    absent = np.flatnonzero(counts.sum(axis=0) == 0)
    if absent.size:
        which = ", ".join(map(str, absent[:5])) + (", ..." if absent.size > 5 else "")
        return f"no label is of class {which}, penalty {penalty:g}"
    return f"the classes can be separated, penalty {penalty:g}"
