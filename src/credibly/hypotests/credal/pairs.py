"""Statistics where every label vector has its own predictions: those of weights that were fitted to it.

A bound statistic serves many label vectors of one prediction. Here both change with the replicate, so
the sums of all of them are taken in a few array operations where the statistic allows it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from credibly._arrays.namespace import Array, HostArray, is_numpy, tiles, to_host
from credibly._arrays.progress import Progress
from credibly.hypotests.resampling.pvalues import settled
from credibly.predictions import Classes, Point
from credibly.statistics import Statistic
from credibly.statistics.cells import BinnedStatistic, CellStatistic
from credibly.statistics.protocol import Bound, State
from credibly.statistics.skce import Skce

_TILE = 128  # rows of a kernel that are made at a time, with all later ones


def values_of_pairs(
    bounds: Sequence[Bound],
    pairs: Iterable[tuple[Array, Classes]],
    total: int,
    progress: Progress | None = None,
) -> HostArray:
    """Evaluate statistics of `total` pairs of predictions (b, n, k) and labels (b, n), (s, total).

    The pairs come in batches, and the first is the observation. `bounds` are the statistics at the
    observation: their settings, bandwidths too, serve all pairs.
    """
    values, start = np.empty((len(bounds), total)), 0
    for probs, labels in pairs:
        stop = start + len(labels)
        for row, bound in zip(values, bounds, strict=True):
            row[start:stop] = paired(bound.statistic, probs, labels)
        start = stop
        if progress is not None:
            progress(stop, total)
    return np.stack(
        [settled(row, one.term_size, one.n, one.rounding) for row, one in zip(values, bounds, strict=True)]
    )


def paired(statistic: Statistic, probs: Array, labels: Classes) -> HostArray:
    """Return a statistic of each prediction with its own labels, (b, n, k), (b, n) -> (b,)."""
    plain = isinstance(statistic, Skce) and statistic.kernel == "exponential" and not statistic._single
    if is_numpy(probs) and isinstance(statistic, Skce) and plain:
        return kernel_values(statistic, probs, labels)
    if is_numpy(probs) and isinstance(statistic, CellStatistic) and counted_in_pairs(statistic):
        return cell_values(statistic, probs, labels)
    points = (Point._trusted(probs[d, ...]) for d in range(len(labels)))
    return np.array([float(statistic.bind(one)(one_of_many(labels, d))[0]) for d, one in enumerate(points)])


def one_of_many(labels: Classes, d: int) -> Classes:
    """Return one of several label vectors."""
    return Classes(labels.values[d : d + 1, :], labels.n_classes)


def kernel_values(statistic: Skce, probs: HostArray, labels: Classes) -> HostArray:
    """sum_{i != j} exp(-|p_i - p_j| / h) <e_yi - p_i, e_yj - p_j> / (n (n - 1)) of each pair, (b,).

    Rows meet later rows only: the sum is symmetric.
    """
    from scipy.spatial.distance import cdist  # whose import takes a tenth of a second

    b, n = probs.shape[:2]
    rows, scale = np.arange(n), -1.0 / float(statistic.bandwidth)
    classes = to_host(labels.values).astype(np.int64)
    grid = list(tiles(n, _TILE))
    found = np.empty(b)
    for d in range(b):
        places = np.ascontiguousarray(probs[d])
        residual = np.negative(places)
        residual[rows, classes[d]] += 1.0
        total = 0.0
        for own in grid:
            kernel = cdist(places[own], places[own.start :])
            np.exp(np.multiply(kernel, scale, out=kernel), out=kernel)
            inside = own.stop - own.start
            kernel[:, inside:] *= 2.0
            kernel[rows[:inside], rows[:inside]] = 0.0
            total += np.vdot(residual[own], kernel @ residual[own.start :])
        found[d] = total
    return np.asarray(found / (n * (n - 1)))


def counted_in_pairs(statistic: CellStatistic) -> bool:
    """Tell whether bins do not depend on the predictions, so that those of many can be counted at once."""
    if not isinstance(statistic, BinnedStatistic):
        return False
    return statistic.binning == "equal_width" and "square" not in statistic.needs


def cell_values(statistic: CellStatistic, probs: HostArray, labels: Classes) -> HostArray:
    """Return a binned statistic where each label vector has its own predictions, (b, n, k), (b, n) -> (b,).

    All pairs are counted at once: every pair is a part of the rows.
    """
    b, n, k = probs.shape
    terms = statistic.terms(Point._trusted(probs.reshape(b * n, k)), statistic.plan(Point._trusted(probs[0])))
    parts = terms.split(np.repeat(np.arange(b), n), b)
    sums = parts.sums(Classes(labels.values.reshape(1, b * n), k), statistic.needs)
    return to_host(statistic.value(State({name: own.reshape(b, -1) for name, own in sums.items()})))
