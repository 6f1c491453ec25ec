"""Arrays in this process as pieces: one array, or parts that come each with its labels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from credibly._arrays.checks import as_array
from credibly._arrays.errors import InputError
from credibly._arrays.namespace import is_numpy, is_torch, namespace
from credibly._arrays.tiles import tiles
from credibly.predictions import LabelCounts, Predictions
from credibly.predictions.labels import no_weight
from credibly.scale.pieces import ArrayPiece, cut

_CHUNK_ELEMENTS = 2**22


def array_pieces(
    predictions: Any,
    labels: Any,
    weight: Any,
    kind: str | None,
    member_axis: int | None,
    chunk_rows: int | None,
) -> list[ArrayPiece]:
    """Return the pieces of predictions with their labels, or of a sequence of such parts."""
    parts = [(predictions, labels, weight)]
    if labels is None and weight is None and _is_parts(predictions):
        parts = [(*part, None)[:3] for part in predictions]
    held: list[ArrayPiece] = []
    for part in parts:
        held += _array_pieces(*part, kind, member_axis, chunk_rows, held[-1].stop if held else 0)
    _require_weight([piece.weight for piece in held])
    return held


def _require_weight(weights: Sequence[Any]) -> None:
    """Raise unless all parts have weights, or none, and some row has one that is not 0."""
    given = [weight for weight in weights if weight is not None]
    if len(given) not in (0, len(weights)):
        raise InputError(
            "`sample_weight`",
            "must be given for all parts or for none",
            f"{len(given)} of {len(weights)} have it",
            "Give the others weights of 1.",
        )
    if given and not any(bool(namespace(weight).any(weight != 0)) for weight in given):
        raise no_weight()


def _array_pieces(
    array: Any,
    labels: Any,
    weight: Any,
    kind: str | None,
    member_axis: int | None,
    chunk_rows: int | None,
    offset: int,
) -> Iterator[ArrayPiece]:
    if labels is None:
        raise InputError(
            "`labels`", "must be given with arrays", "got none", "Pass `scan(predictions, labels)`."
        )
    labels = labels if isinstance(labels, LabelCounts) else _in_memory(labels, "labels")
    weight = weight if weight is None else _in_memory(weight, "sample_weight")
    n_labels = int((labels.counts if isinstance(labels, LabelCounts) else labels).shape[0])
    if isinstance(array, Predictions):
        n, axis, leading = len(array), None, array._leading
    else:
        array = leading = _in_memory(array, "predictions")
        n, axis = rows_and_axis(array, n_labels, member_axis, "predictions")
    for name, other in (
        ("labels", n_labels),
        ("sample_weight", n if weight is None else int(weight.shape[0])),
    ):
        if other != n:
            raise InputError(
                f"`{name}`", f"must have one entry per prediction ({n})", f"got {other}", "Check both."
            )
    for rows in tiles(n, rows_per_chunk(leading, n, chunk_rows)):
        own = None if weight is None else weight[rows]
        start, stop = offset + rows.start, offset + rows.stop
        yield ArrayPiece(start, stop, cut(array, rows, axis), labels[rows], kind, axis, weight=own)


def _in_memory(value: Any, name: str) -> Any:
    """Return an array as it is, whatever it holds: its chunks are checked when they are read."""
    return value if is_numpy(value) or is_torch(value) else as_array(value, name)


def _is_parts(value: Any) -> bool:
    """Tell (predictions, labels) or (predictions, labels, sample_weight) from nested lists of numbers."""
    return isinstance(value, Sequence) and bool(value) and all(map(_is_part, value))


def _is_part(value: Any) -> bool:
    return isinstance(value, tuple) and len(value) in (2, 3) and not any(map(np.isscalar, value))


def rows_and_axis(
    array: Any, n_labels: int | None, member_axis: int | None, name: str
) -> tuple[int, int | None]:
    """Return the number of instances and where the members are, decided once for all chunks."""
    if 0 in tuple(array.shape) or array.ndim == 0:
        raise InputError(
            f"`{name}`", "must have at least one row", f"got shape {tuple(array.shape)}", "Check the source."
        )
    if array.ndim != 3:
        return int(array.shape[0]), member_axis
    first, second = int(array.shape[0]), int(array.shape[1])
    if member_axis in (0, 1):
        return (second, 0) if member_axis == 0 else (first, 1)
    if member_axis is not None or first == second or n_labels == second:
        raise InputError(
            f"`{name}`",
            "must say which axis holds the members",
            f"got shape {tuple(array.shape)} and member_axis={member_axis!r}",
            "Pass `member_axis=0` for (members, instances, ...) or `member_axis=1` for the other order.",
        )
    return first, 1


def rows_per_chunk(array: Any, n: int, chunk_rows: int | None) -> int:
    """Return how many rows a chunk has."""
    if chunk_rows is not None:
        return chunk_rows
    fitting = _CHUNK_ELEMENTS // max(1, int(np.prod(array.shape)) // n)
    return int(2 ** max(0, fitting.bit_length() - 1))  # a power of two: chunks end where leaves of sums end
