"""Kernel and KDE calibration errors as double loops over instances, written from the papers' formulas."""

from __future__ import annotations

import math

import numpy as np
from scipy.stats import dirichlet


def distance(p: np.ndarray, q: np.ndarray) -> float:
    return math.sqrt(sum((a - b) ** 2 for a, b in zip(p, q, strict=True)))


def kernel(p: np.ndarray, q: np.ndarray, name: str, bandwidth: float) -> float:
    d = distance(p, q)
    return math.exp(-d / bandwidth) if name == "exponential" else math.exp(-(d**2) / (2 * bandwidth**2))


def term(probs, labels, i, j, name="exponential", bandwidth=1.0, between=None) -> float:
    """h_ij = k(p_i, p_j) r_i' L r_j; `labels` are classes or rows of frequencies."""
    k = probs.shape[1]
    observed = np.eye(k)[labels] if labels.ndim == 1 else labels
    r_i, r_j = observed[i] - probs[i], observed[j] - probs[j]
    return kernel(probs[i], probs[j], name, bandwidth) * float(
        r_i @ (np.eye(k) if between is None else between) @ r_j
    )


def skce(probs, labels, **settings) -> float:
    n = len(probs)
    pairs = [(i, j) for i in range(n) for j in range(n) if i != j]
    return sum(term(probs, labels, i, j, **settings) for i, j in pairs) / len(pairs)


def mmd(probs, labels, between, bandwidth) -> float:
    """Marx et al.: MMD^2 of (p, y) and (p, y~), y~ ~ p, kernel k(p, p') l(y, y'), all terms written out."""
    n, k = probs.shape
    total = 0.0
    for i in range(n):
        for j in range(n):
            if i == j:
                continue
            both = between[labels[i], labels[j]]
            one = sum(probs[j, b] * between[labels[i], b] for b in range(k))
            other = sum(probs[i, a] * between[a, labels[j]] for a in range(k))
            none = sum(probs[i, a] * probs[j, b] * between[a, b] for a in range(k) for b in range(k))
            total += kernel(probs[i], probs[j], "exponential", bandwidth) * (both - one - other + none)
    return total / (n * (n - 1))


def label_estimates(probs, labels, bandwidth) -> np.ndarray:
    """E[y | f_j] = sum_{i != j} K_ji e_{y_i} / sum_{i != j} K_ji, with SciPy's Dirichlet density as K."""
    n, k = probs.shape
    values = np.zeros((n, k))
    for j in range(n):
        densities = np.array(
            [0.0 if i == j else dirichlet.pdf(probs[j], probs[i] / bandwidth + 1) for i in range(n)]
        )
        for i in range(n):
            values[j, labels[i]] += densities[i] / densities.sum()
    return values


def kde_ce(probs, labels, bandwidth, p) -> float:
    gap = np.abs(label_estimates(probs, labels, bandwidth) - probs)
    return float(np.mean([sum(entry**p for entry in row) for row in gap]) ** (1 / p))


def kl_ce(probs, labels, bandwidth) -> float:
    total = 0.0
    for estimate, row in zip(label_estimates(probs, labels, bandwidth), probs, strict=True):
        total += sum(e * math.log(e / f) for e, f in zip(estimate, row, strict=True) if e > 0)
    return total / len(probs)


def example(n: int, k: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Predictions without zeros whose rows SciPy accepts as points of the simplex, and loose labels."""
    rng = np.random.default_rng(seed)
    probs = rng.dirichlet(np.full(k, 0.9), size=n)
    probs = np.maximum(probs, 1e-4)
    probs /= probs.sum(axis=1, keepdims=True)
    return probs, rng.integers(0, k, size=n)


def drawn(probs: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """One label per row, drawn from it."""
    steps = probs.cumsum(axis=1)[:, :-1]
    return (rng.random((len(probs), 1)) >= steps).sum(axis=1)
