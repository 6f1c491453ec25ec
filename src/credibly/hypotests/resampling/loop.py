"""The one resampling loop: statistics bound once, label vectors in tiles, the observation in row 0."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from typing import Any, Protocol

import numpy as np

from credibly._arrays.namespace import Array, HostArray, device, is_torch, namespace, on_accelerator, to_host
from credibly._arrays.philox import Seed, Stream, Uniforms
from credibly._arrays.progress import Progress
from credibly._arrays.tiles import blas_threads, rows_within_budget, tiles
from credibly.hypotests.resampling.replicates import Replicates
from credibly.predictions import Classes, Labels, Reals
from credibly.statistics import Bound, Statistic
from credibly.statistics.coverage import CoverageShares

_TILE_LABELS = 2**20

_BYTES_PER_LABEL = 32  # a label, its uniform number and the temporaries of a statistic


class Drawing(Protocol):
    """Where label vectors come from: replicates of some rows, the same for any tile that asks."""

    @property
    def on_device(self) -> bool:
        """Whether labels are made on a device, where large tiles pay."""

    def labels(self, reps: slice) -> Classes | Reals:
        """Return replicates `reps` of all its rows."""


def resampled_values(
    bounds: Sequence[Bound],
    observed: Classes | Reals,
    replicates: Drawing,
    n_resamples: int,
    progress: Progress | None = None,
) -> HostArray:
    """Evaluate every bound statistic on the observed labels and all replicates.

    Parameters
    ----------
    bounds : sequence of Bound
        Statistics bound to the same predictions; they share the replicates.
    observed : Classes or Reals
        The observed labels, one row; their weights apply to every replicate.
    replicates : Drawing
        Where label vectors come from.
    n_resamples : int
        Number of replicates.
    progress : callable, optional
        Called with (done, total) after every tile.

    Returns
    -------
    ndarray (s, 1 + n_resamples)
        Column 0 is the observation, computed in the same pass as the replicates so that rounding cannot
        break a tie.
    """
    values = np.empty((len(bounds), 1 + n_resamples))
    wide = [at for at, bound in enumerate(bounds) if meets_in_pairs(bound)]
    narrow = [at for at in range(len(bounds)) if at not in wide]
    if narrow:
        report = None if wide else progress
        chosen = [bounds[at] for at in narrow]
        values[narrow] = _in_tiles(chosen, observed, replicates, n_resamples, report)
    for part, at in enumerate(wide):
        assert isinstance(observed, Classes)  # no statistic over pairs takes real labels
        report = share_of(progress, part, len(wide))
        values[at] = pairwise_values(bounds[at], observed, replicates, n_resamples, report)
    return values


def _in_tiles(
    bounds: Sequence[Bound],
    observed: Classes | Reals,
    replicates: Drawing,
    n_resamples: int,
    progress: Progress | None,
) -> HostArray:
    """Draw and evaluate replicates: on the host in tiles that stay in cache."""
    values = np.empty((len(bounds), 1 + n_resamples))
    with blas_threads(1):  # products of a few columns: starting a second thread costs more than it saves
        for reps in tiles(n_resamples, replicates_per_tile(observed.n, replicates)):
            drawn = with_observed(observed, replicates, reps)
            values[:, columns_of(reps)] = np.stack([to_host(bound(drawn)) for bound in bounds])
            if progress is not None:
                progress(reps.stop, n_resamples)
    return values


def replicates_per_tile(n: int, replicates: Drawing) -> int:
    """Return how many label vectors of n entries are drawn at once: on the host what stays in cache."""
    per_tile = rows_within_budget(_BYTES_PER_LABEL * n, 0.5)
    return per_tile if replicates.on_device else min(per_tile, max(1, _TILE_LABELS // n))


def with_observed(observed: Classes | Reals, replicates: Drawing, reps: slice) -> Classes | Reals:
    """Return replicates `reps`, behind the observed labels where they are the first."""
    labels = replicates.labels(reps).values
    if reps.start == 0:
        xp = namespace(labels)
        labels = xp.concat([xp.astype(observed.values, labels.dtype), labels], axis=0)
    return dataclasses.replace(observed, values=labels)


def columns_of(reps: slice) -> slice:
    """Return where the values of `with_observed` belong among 1 + n_resamples."""
    return slice(reps.start + 1 if reps.start else 0, reps.stop + 1)


def resampled_shares(
    bound: CoverageShares,
    observed: Reals,
    replicates: Drawing,
    n_resamples: int,
    progress: Progress | None = None,
) -> HostArray:
    """Return the shares of labels at every level, (1 + n_resamples, l); row 0 is the observation."""
    curves = np.empty((1 + n_resamples, bound.levels.shape[0]))
    for reps in tiles(n_resamples, replicates_per_tile(observed.n, replicates)):
        drawn = with_observed(observed, replicates, reps)
        curves[columns_of(reps)] = to_host(bound.shares(bound.state(drawn)))
        if progress is not None:
            progress(reps.stop, n_resamples)
    return curves


def meets_in_pairs(bound: Bound) -> bool:
    """Tell whether a statistic costs n^2 however few labels it gets, so that large batches pay."""
    return bound.statistic.traits.reduction in ("pairwise", "smoother")


def pairwise_values(
    bound: Any,
    observed: Classes,
    replicates: Drawing,
    n_resamples: int,
    progress: Progress | None = None,
) -> HostArray:
    """Evaluate a pairwise statistic: all the label vectors that fit at once, rows in blocks between reports.

    Parameters
    ----------
    bound : Bound
        A statistic whose `state` takes a block of rows.
    observed : Classes
        The observed labels, one row; their weights apply to every replicate.
    replicates : Drawing
        Where label vectors come from.
    n_resamples : int
        Number of replicates.
    progress : callable, optional
        Called with (done, total) after every block.

    Returns
    -------
    ndarray (1 + n_resamples,)
        Column 0 is the observation.
    """
    values = np.empty(1 + n_resamples)
    n, k = observed.n, observed.n_classes
    for reps in tiles(n_resamples, rows_within_budget(n * (1 if k <= 256 else 4), 0.25)):
        batch = with_observed(observed, replicates, reps)
        blocks = [slice(0, n)]
        if progress is not None:
            blocks = list(tiles(n, _rows_per_report(len(batch), k, batch.values)))
        state = None
        for block in blocks:
            found = bound.state(batch, rows=block)
            state = found if state is None else state + found
            if progress is not None:
                progress(reps.start + (reps.stop - reps.start) * block.stop // n, n_resamples)
        values[columns_of(reps)] = to_host(bound.finish(state))
    return values


def _rows_per_report(n_vectors: int, n_classes: int, labels: Array) -> int:
    """Return how many rows are about half a second of work."""
    rate = 1e13 if on_accelerator(labels) else 2e10
    return max(256, int(rate / (2.0 * labels.shape[1] * n_vectors * n_classes)))


def share_of(progress: Progress | None, part: int, parts: int) -> Progress | None:
    """Return a progress that covers one of several equal parts."""
    if progress is None or parts == 1:
        return progress
    return lambda done, total: progress((part * total + done) // parts, total)


def without_graph(predictions: Any) -> Any:
    """Return the predictions outside any graph: a test never goes backward through its replicates."""
    if not is_torch(predictions._leading):
        return predictions
    arrays = {name: getattr(predictions, name).detach() for name in predictions.row_fields}
    return predictions.replace_rows(**arrays)


def paired_values(
    statistics: Sequence[Statistic],
    pairs: Iterable[tuple[Any, Labels]],
    total: int,
    progress: Progress | None = None,
) -> HostArray:
    """Evaluate statistics where predictions change with the replicate: bind anew for every pair.

    Parameters
    ----------
    statistics : sequence of Statistic
        What to compute.
    pairs : iterable of (Predictions, Labels)
        Row 0 is the observation.
    total : int
        Number of pairs.
    progress : callable, optional
        Called with (done, total).

    Returns
    -------
    ndarray (s, total)
        Values in the order of the pairs.
    """
    values = np.empty((len(statistics), total))
    for column, (predictions, labels) in enumerate(pairs):
        for row, statistic in zip(values, statistics, strict=True):
            row[column] = float(statistic.bind(predictions)(labels)[0])
        if progress is not None:
            progress(column + 1, total)
    return values


def bootstrapped_pairs(
    predictions: Any, probs: Array, observed: Classes, seed: Seed, n_resamples: int
) -> Iterable[tuple[Any, Classes]]:
    """Yield the observation, then bootstrapped rows with labels drawn from their predictions."""
    yield predictions, observed
    n, xp = probs.shape[0], namespace(probs)
    rows_of = Uniforms(seed, Stream.ROWS)
    for d in range(n_resamples):
        uniform = rows_of.block(slice(d, d + 1), slice(0, n))[0]
        rows = xp.asarray((uniform * n).astype(np.int64), device=device(probs))
        drawn = Replicates(xp.take(probs, rows, axis=0), seed).labels(slice(d, d + 1))
        own = {name: xp.take(getattr(predictions, name), rows, axis=0) for name in predictions.row_fields}
        yield predictions.replace_rows(**own), drawn
