"""Label counts from what annotators hand in: wide tables with gaps, soft labels, a few raters of many."""

from __future__ import annotations

from typing import Any

import numpy as np

from credibly._arrays.checks import (
    InvalidRowsError,
    as_real,
    describe_rows,
    require_distributions,
    require_integer,
    require_shape,
)
from credibly._arrays.errors import InputError, InputTypeError
from credibly._arrays.namespace import Array, HostArray, as_float64, is_array, like, namespace, to_host

_WHOLE = 1e-3  # soft labels times raters that are this close to whole numbers are counts that were divided


def count_table(table: Any, n_classes: int, missing: int | None) -> HostArray:
    """Count a wide table (n, raters) of class indices with gaps into (n, n_classes)."""
    n_classes = require_integer(n_classes, "n_classes", 2)
    labels, gap = _entries(table, missing)
    present = np.where(gap, 0, labels)
    bad = ((present < 0) | (present >= n_classes)) & ~gap
    if bad.any():
        rows = np.flatnonzero(bad.any(axis=1)).tolist()
        column = int(np.flatnonzero(bad[rows[0]])[0])
        value = int(labels[rows[0], column])
        raise InvalidRowsError(
            "`table`",
            f"must hold classes from 0 to {n_classes - 1}, or gaps",
            describe_rows(rows, f"holds {value} in column {column}", len(labels)),
            f"Pass `missing={value}` if that marks a gap."
            if value < 0
            else "Subtract 1 if labels start at 1, or correct `n_classes`.",
            rows,
        )
    empty = np.flatnonzero(gap.all(axis=1)).tolist()
    if empty:
        raise InvalidRowsError(
            "`table`",
            "must have at least one rater per row",
            describe_rows(empty, "holds gaps only", len(labels)),
            "Drop instances without raters, from the predictions too.",
            empty,
        )
    counts = np.zeros((len(labels), n_classes), dtype=np.int64)
    for column in range(labels.shape[1]):
        here = np.flatnonzero(~gap[:, column])
        counts[here, present[here, column]] += 1
    return counts


def _entries(table: Any, missing: int | None) -> tuple[HostArray, HostArray]:
    """Return labels and gaps of a table: None, NaN, masked entries and `missing` are gaps."""
    if is_array(table) and not isinstance(table, np.ndarray):
        table = to_host(table)
    elif hasattr(table, "to_numpy"):
        table = table.to_numpy()
    mask = np.ma.getmaskarray(table) if np.ma.isMaskedArray(table) else None
    values = np.asarray(table)
    if values.ndim != 2 or 0 in values.shape:
        raise InputError(
            "`table`",
            "must have shape (n, raters)",
            f"got shape {values.shape}",
            "Give one row per instance and one column per rater, gaps as None or NaN.",
        )
    gap = np.zeros(values.shape, dtype=bool) if mask is None else mask.copy()
    if values.dtype.kind == "O":
        # NaN differs from itself, pandas.NA answers neither way
        gap |= np.array([[v is None or (v != v) is not False for v in row] for row in values.tolist()])
    elif values.dtype.kind == "f":
        gap |= np.isnan(values)
    elif values.dtype.kind not in "iub":
        raise InputTypeError(
            "`table`",
            "must hold class indices and gaps",
            f"got dtype {values.dtype}",
            "Map class names to indices from 0 to k - 1 first.",
        )
    filled = np.where(gap, 0, values)
    try:
        labels = filled.astype(np.float64)
    except (TypeError, ValueError):
        raise InputTypeError(
            "`table`",
            "must hold class indices and gaps",
            f"got {filled[~gap][0]!r}" if (~gap).any() else "got no label",
            "Map class names to indices from 0 to k - 1 first.",
        ) from None
    fractional = ~np.isfinite(labels) | (labels != np.round(labels))
    if fractional.any():
        rows = np.flatnonzero(fractional.any(axis=1)).tolist()
        value = labels[rows[0]][fractional[rows[0]]][0]
        raise InvalidRowsError(
            "`table`",
            "must hold whole class indices",
            describe_rows(rows, f"holds {value:g}", len(labels)),
            "For frequencies use `LabelCounts.from_soft`.",
            rows,
        )
    whole = labels.astype(np.int64)
    if missing is not None:
        gap |= whole == missing
    return whole, gap


def soft_counts(frequencies: Any, n_raters: Any) -> tuple[Array, tuple[str, ...]]:
    """Return frequencies times raters, whole where they are counts that were divided, and what was noted."""
    probs = as_real(frequencies, "frequencies")
    require_shape(probs, "frequencies", ("(n, k)",))
    probs, notes = require_distributions(
        probs, "frequencies", lambda _: "Divide counts by their sum, or pass them to `LabelCounts`."
    )
    raters = _rater_numbers(n_raters, probs.shape[0])
    scaled = to_host(as_float64(probs)) * raters[:, None]
    whole = np.round(scaled)
    off = float(np.abs(scaled - whole).max())
    if off <= _WHOLE and (whole.sum(axis=1) == raters).all():
        if off > 1e-6:
            notes = (*notes, f"soft labels times raters were whole within {off:.1g} and rounded")
        return like(whole.astype(np.int64), probs), notes
    rows = int((np.abs(scaled - whole).max(axis=1) > _WHOLE).sum())
    note = f"soft labels: {rows} of {len(whole)} rows are no whole counts of raters; they are used as given"
    return like(scaled, probs), (*notes, note)


def _rater_numbers(n_raters: Any, n: int) -> HostArray:
    values = np.asarray(to_host(n_raters) if is_array(n_raters) else n_raters)
    bad = values.dtype.kind not in "iu" or values.shape not in ((), (n,)) or bool((values < 1).any())
    if bad:
        raise InputError(
            "`n_raters`",
            f"must be a positive whole number, or {n} of them",
            f"got {n_raters!r}" if values.ndim == 0 else f"got dtype {values.dtype}, shape {values.shape}",
            "Say how many raters stand behind each row: without it their noise is unknown.",
        )
    return np.broadcast_to(values, (n,)).astype(np.float64)


def subsampled(counts: Array, n_raters: int, generator: np.random.Generator) -> Array:
    """Draw `n_raters` of the raters of every row without replacement (all of them where there are fewer)."""
    n_raters = require_integer(n_raters, "n_raters", 1)
    xp = namespace(counts)
    if not xp.isdtype(counts.dtype, "integral"):
        raise InputTypeError(
            "soft labels", "hold no single raters to draw", "got fractional counts", "Use counts of raters."
        )
    host = to_host(counts)
    left = np.minimum(host.sum(axis=1), n_raters)
    rest = host.sum(axis=1)
    drawn = np.zeros_like(host)
    # a row of a multivariate hypergeometric, class by class
    for column in range(host.shape[1]):
        rest = rest - host[:, column]
        drawn[:, column] = generator.hypergeometric(host[:, column], rest, left)
        left = left - drawn[:, column]
    return like(drawn, counts)
