"""The Dirichlet kernel on the simplex and its bandwidth.

    log K(f_j; f_i) = sum_c (f_ic / h) log f_jc - log B(f_i / h + 1)

is the log-density at f_j of a Dirichlet distribution around f_i. It is not symmetric. As a product it reads
queries [log f_j, 1] times keys [f_i / h, -log B].   Ouimet and Tolosana-Delgado 2022; Popordanoska et al.
2022.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from credibly._arrays.namespace import Array, as_float64, namespace, to_host
from credibly._arrays.special import gammaln, logsumexp
from credibly.statistics.kernels import distinct_rows, taken

BANDWIDTHS = np.logspace(-4, 0, 25)
"""Candidates of the likelihood rule, six per factor of ten."""

LIKELIHOOD_ROWS = 1000


def safe_log(probs: Array, dtype: Any) -> tuple[Array, int]:
    """Return log f, clipped at the smallest normal number of `dtype`, and how many entries that touched."""
    xp = namespace(probs)
    least = float(xp.finfo(dtype).smallest_normal)
    low = probs < least
    touched = int(xp.sum(xp.astype(low, xp.int64)))
    if touched:
        probs = xp.where(low, xp.full_like(probs, least), probs)
    return xp.log(probs), touched


def log_normaliser(probs: Array, bandwidth: float) -> Array:
    """Return log B(f / h + 1), (n,)."""
    xp = namespace(probs)
    alpha = probs / bandwidth + 1.0
    return xp.sum(gammaln(alpha), axis=-1) - gammaln(xp.sum(alpha, axis=-1))


def queries_and_keys(probs: Array, bandwidth: float, dtype: Any) -> tuple[Array, Array, int]:
    """Return (n, k + 1) queries and keys whose product is log K, and how many zeros the logarithm met."""
    xp = namespace(probs)
    exact = as_float64(probs)
    logs, touched = safe_log(exact, dtype)
    one = xp.ones_like(exact[:, :1])
    queries = xp.concat([logs, one], axis=1)
    keys = xp.concat([exact / bandwidth, -log_normaliser(exact, bandwidth)[:, None]], axis=1)
    return xp.astype(queries, dtype), xp.astype(keys, dtype), touched


def likelihood_bandwidth(probs: Array) -> tuple[float, tuple[str, ...]]:
    """Return the bandwidth of the largest leave-one-out likelihood over a grid, and the note that reports it.

    Uses predictions only. Duplicates count once: with them the likelihood grows without bound as h falls.
    """
    chosen = distinct_rows(probs, LIKELIHOOD_ROWS)
    if chosen.size < 2:
        return float(BANDWIDTHS[-1]), ("all predictions are equal: every bandwidth gives one estimate",)
    points = to_host(taken(probs, chosen)).astype(np.float64, copy=False)
    scores = leave_one_out_likelihoods(points, BANDWIDTHS)
    best = int(np.argmax(scores))
    found = float(BANDWIDTHS[best])
    of = f"{chosen.size} distinct predictions"
    notes = [f"bandwidth {found:.4g} has the largest leave-one-out likelihood of {of}"]
    if best in (0, BANDWIDTHS.size - 1):
        end = "smallest" if best == 0 else "largest"
        notes.append(f"it is the {end} of the grid {BANDWIDTHS[0]:g} to {BANDWIDTHS[-1]:g}")
    return found, tuple(notes)


def leave_one_out_likelihoods(points: np.ndarray[Any, Any], grid: np.ndarray[Any, Any]) -> Any:
    """Return the mean log-density of every point given all others, one value per bandwidth."""
    n = points.shape[0]
    cross = safe_log(points, np.float64)[0] @ points.T  # log f_j . f_i, shared by all bandwidths
    scores = np.empty(grid.size)
    for at, bandwidth in enumerate(grid):
        logs = cross / bandwidth
        logs -= log_normaliser(points, bandwidth)[None, :]
        np.fill_diagonal(logs, -np.inf)
        scores[at] = float(np.mean(logsumexp(logs, axis=1))) - np.log(n - 1)
    return scores
