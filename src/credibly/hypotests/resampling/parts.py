"""Statistics of rows that come in chunks: sums, those of a part of the rows, and pairs in blocks.

Sums over instances are merged over the datasets. A statistic of some rows is evaluated on the labels that
were drawn for these in the same pass. Of pairs, two blocks of rows meet at a time, and labels are drawn where
they meet.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from credibly._arrays.errors import UnsupportedError
from credibly._arrays.namespace import HostArray, as_float64, like, tiles, to_host
from credibly._arrays.progress import Progress, share_of
from credibly.hypotests.resampling.choices import bound_to
from credibly.hypotests.resampling.loop import (
    Resampled,
    merged_replicates,
    replicated,
    resampled_values,
    share_of_replicates,
    targets_of,
    with_observed,
)
from credibly.hypotests.resampling.replicates import LabelSource
from credibly.predictions import Dataset, Labels, Quantiles, Rows
from credibly.statistics.over_rows import Block, Pairs, Posed, meets_in_blocks
from credibly.statistics.protocol import Statistic
from credibly.statistics.subsampled import Subsampled


def comes_in_parts(statistic: Statistic, rows: Rows) -> bool:
    """Tell whether a statistic needs no more than a dataset, a part of the rows, or two blocks at a time."""
    additive = statistic.traits.reduction == "sum" or isinstance(statistic, Subsampled)
    return rows.loaded() is not None or additive or meets_in_blocks(statistic, rows)


def resampled(
    chosen: Sequence[Statistic],
    rows: Rows,
    draw: LabelSource,
    n_resamples: int,
    progress: Progress | None = None,
) -> list[Resampled]:
    """Evaluate statistics on all rows: sums, those of a part, and pairs in blocks; see :func:`replicated`.

    For every one of them :func:`comes_in_parts` holds.
    """
    if rows.loaded() is not None:
        return replicated(targets_of(chosen, rows), rows, [draw], n_resamples, progress)[0]
    paired = [one for one in chosen if meets_in_blocks(one, rows)]
    parts = [one for one in chosen if isinstance(one, Subsampled)]
    sums = [one for one in chosen if one not in paired and one not in parts]
    found: dict[str, Resampled] = {}
    if sums or parts:
        picked = np.unique(np.concatenate([one.chosen for one in parts])) if parts else None
        report = None if paired else progress
        (own,), drawn = merged_replicates(targets_of(sums, rows), rows, [draw], n_resamples, report, picked)
        found |= {one.name: result for one, result in zip(sums, own, strict=True)}
        if picked is not None and drawn is not None:
            posed = Posed(rows, rows.n, draw.pose)  # as the labels were drawn: choices of draws, cells
            found |= _of_parts(parts, posed, picked, drawn)
    for place, one in enumerate(paired):
        report = share_of(progress, place, len(paired))
        found[one.name] = _in_blocks(one, rows, draw, n_resamples, report)
    return [found[one.name] for one in chosen]


def _of_parts(
    parts: Sequence[Subsampled], rows: Rows, picked: HostArray, drawn: HostArray
) -> dict[str, Resampled]:
    """Evaluate statistics of some rows on the labels that were drawn for them, (1 + b, picked)."""
    taken, found = rows.take(picked), {}
    for part in parts:
        own: HostArray = np.asarray(np.searchsorted(picked, part.chosen))
        chosen = taken.take(own)
        seen = chosen.batch
        bound = bound_to(partial(part.bind_part, n=rows.n), chosen.predictions, seen)
        drawing = _Stored(seen, like(drawn[1:, own], seen.values))
        values = resampled_values([bound], seen, drawing, len(drawn) - 1)
        found[part.name] = Resampled.of(bound, list(values), None)
    return found


@dataclasses.dataclass(frozen=True)
class _Stored:
    """Label vectors that were drawn before."""

    observed: Any
    drawn: Any
    on_device = False

    def labels(self, reps: slice) -> Any:
        """Return replicates `reps`."""
        return dataclasses.replace(self.observed, values=self.drawn[reps, ...])


def _in_blocks(
    statistic: Statistic, rows: Rows, draw: LabelSource, n_resamples: int, progress: Progress | None
) -> Resampled:
    """Evaluate a statistic of pairs whose blocks meet on an engine; labels are drawn where they meet."""
    pairs = Pairs.over(statistic, rows, draw.pose)
    bound = pairs.bound
    values: list[HostArray] = []
    for reps in tiles(n_resamples, pairs.vectors_at_once()):
        report = None if progress is None else partial(share_of_replicates, progress, reps, n_resamples)
        state, said = pairs.sums(partial(_drawn_for, draw, reps), 1 + reps.stop - reps.start, report)
        values.append(to_host(bound.finish(state)))
        bound.notes = (*said, *pairs.notes_of(state))  # of all rows, in place of the few that it is bound to
    return Resampled(bound, np.concatenate(values))


def _drawn_for(draw: LabelSource, reps: slice, block: Block) -> Labels:
    rows = Dataset(block.predictions, block.labels, start=block.start)
    drawn: Labels = with_observed(block.labels, draw(rows), reps)
    return drawn


def why_no_sides(rows: Rows, statistic: Statistic) -> str | None:
    """Return why labels that equal quantiles rule a kernel error out; None where they are few enough.

    Kernel errors compare residuals 1[y <= Q] - level instance by instance. On which side of its level a label
    lies that equals Q is open, and no choice has the mean 0 for every distribution with an atom at Q: an atom
    of rain at 0 would be rejected always. Far fewer than the square root of n do not matter.
    """
    if not isinstance(rows.sample.predictions, Quantiles) or statistic.name not in ("skce", "ucme"):
        return None
    number = sum(rows.map(_equal_a_quantile))
    if number <= 0.1 * rows.n**0.5:
        return None
    return f"{number} of {rows.n} labels equal a quantile"


def require_sides(rows: Rows, chosen: Sequence[Statistic]) -> None:
    """Raise where kernel errors would need to know on which side of a quantile labels lie that equal it."""
    for one in chosen:
        reason = why_no_sides(rows, one)
        if reason is not None:
            raise UnsupportedError(
                f"a test of `{one.name}` with quantiles",
                "must know on which side of its level every label lies",
                reason,
                "Test `quantile_calibration_error` or `pit_test`, which allow for that.",
            )


def _equal_a_quantile(rows: Dataset) -> int:
    given = rows.predictions
    assert isinstance(given, Quantiles)
    table, labels = to_host(as_float64(given.values)), to_host(as_float64(rows.batch.values))[0]
    return int((table == labels[:, None]).any(axis=1).sum())
