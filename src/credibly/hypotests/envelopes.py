"""Simultaneous envelopes of curves by simulation, and the p-value that belongs to them.

At every level the curves of the observation and the replicates are ranked together; a curve is as extreme as
its most extreme level. The share of curves at least as extreme is an exact p-value (Westfall and Young), and
the envelope holds the values that would not make a curve extreme enough to be rejected, so a curve leaves the
envelope exactly when its p-value is at most the level.   Saeilynoja, Buerkner and Vehtari 2022.
"""

from __future__ import annotations

import numpy as np

from credibly.hypotests.pvalues import HostArray, pooled_pvalues, westfall_young


def envelope(curves: HostArray, level: float) -> tuple[float, HostArray, HostArray]:
    """Return the p-value of the first curve and the lower and upper ends of the envelope.

    Parameters
    ----------
    curves : ndarray (1 + b, l)
        Row 0 is the observation, the others are replicates.
    level : float
        Probability of a replicate outside the envelope, at most.

    Returns
    -------
    tuple
        p-value, lower ends (l,), upper ends (l,). With too few replicates to reject at `level` the envelope
        holds everything.
    """
    pooled = pooled_pvalues(curves.T, ("two-sided",) * curves.shape[1])
    pvalue, _, smallest = westfall_young(pooled)
    ordered = np.sort(smallest)
    # the p-value that each curve would have, from the most extreme on
    own = np.searchsorted(ordered, ordered, side="right") / ordered.size
    rejected = ordered[own <= level]
    if not rejected.size:
        nowhere = np.full(curves.shape[1], np.inf)
        return pvalue, -nowhere, nowhere
    kept = np.where(rejected[-1] < pooled.T, curves, np.nan)
    return pvalue, np.nanmin(kept, axis=0), np.nanmax(kept, axis=0)
