"""Simultaneous envelopes of curves by simulation, and the p-value that belongs to them.

At every level the curves of the observation and the replicates are ranked together. A curve is as extreme as
its most extreme level, and of curves that tie there the next most extreme level decides, and so on: with many
levels nearly every curve is the most extreme one somewhere, and the first rank alone would not tell a curve
that is extreme everywhere from one that is so by chance. The share of curves at least as extreme is an exact
p-value, and the envelope holds all curves that are not among the rejected.
Myllymaeki et al. 2017 (extreme rank length); Saeilynoja, Buerkner and Vehtari 2022.
"""

from __future__ import annotations

import numpy as np

from credibly._arrays.namespace import HostArray
from credibly.hypotests.pvalues import pooled_pvalues


def envelope(curves: HostArray, level: float) -> tuple[float, HostArray, HostArray]:
    """Return the p-value of the first curve and the lower and upper ends of the envelope.

    Parameters
    ----------
    curves : ndarray (1 + b, l)
        Row 0 is the observation, the others are replicates.
    level : float
        Probability of a replicate among the rejected, at most.

    Returns
    -------
    tuple
        p-value, lower ends (l,), upper ends (l,). A curve that leaves the envelope has a p-value of at most
        `level`; the other way round holds but for ties, where a rejected curve may only touch it.
    """
    pvalues = curve_pvalues(curves)
    kept = curves[pvalues > level]
    return float(pvalues[0]), kept.min(axis=0), kept.max(axis=0)


def curve_pvalues(curves: HostArray) -> HostArray:
    """Return the p-value that every curve would have among all of them, (1 + b,); the largest is 1."""
    pooled = pooled_pvalues(curves.T, ("two-sided",) * curves.shape[1])
    # whole numbers: equal ranks must compare as equal
    ranks = np.sort(np.rint(pooled * curves.shape[0]).astype(np.int64), axis=0)
    order = np.lexsort(ranks[::-1])  # the last key is the first to decide
    ordered = ranks[:, order]
    last_of_tie = np.append((ordered[:, 1:] != ordered[:, :-1]).any(axis=0), True)
    ends = np.flatnonzero(last_of_tie) + 1
    place = np.searchsorted(ends, np.arange(1, order.size + 1))
    pvalues = np.empty(order.size)
    pvalues[order] = ends[place] / order.size
    return pvalues
