"""From what users hold to pieces: patterns to files, files and arrays to rows."""

from __future__ import annotations

import dataclasses
import glob
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from credibly._arrays.checks import as_array
from credibly._arrays.engines import Engine
from credibly._arrays.errors import (
    CrediblyError,
    FileError,
    InputError,
    InputTypeError,
    require,
    require_positive,
    require_type,
)
from credibly._arrays.namespace import tiles
from credibly._arrays.notes import counted
from credibly.io import (
    count_rows,
    in_natural_order,
    is_pattern,
    is_remote,
    map_npy,
    matching_urls,
    plain_path,
)
from credibly.io.roles import ReadOptions
from credibly.predictions import Rows
from credibly.predictions.clusters import as_names
from credibly.scale.pieces import FilePiece, Piece, array_pieces, rows_and_axis, rows_per_chunk


def find_pieces(
    predictions: Any,
    labels: Any,
    weight: Any,
    beside: Mapping[str, Any],
    options: ReadOptions,
    chunk_rows: int | None,
    engine: Engine,
    skip_bad: bool,
) -> tuple[list[Piece], list[str]]:
    """Return the pieces in the order of their rows, and what is worth knowing."""
    if chunk_rows is not None:
        require_positive("`chunk_rows`", chunk_rows, "Leave it out.")
    if isinstance(predictions, Rows):
        raise InputTypeError(
            "`predictions`",
            "must be a source of rows",
            "got rows in chunks",
            "Pass what `scan` returned directly.",
        )
    some = not isinstance(predictions, (list, tuple)) or len(predictions)
    require(some, "must name at least one file or part", "Name the files.", predictions=predictions)
    if _is_path(predictions) or _is_paths(predictions):
        if weight is not None:
            raise InputError(
                "`sample_weight`",
                "needs arrays",
                "got files",
                "Map the files: `numpy.load(path, mmap_mode='r')`.",
            )
        named = {name: value for name, value in beside.items() if _are_names(name, value)}
        beside = {name: beside[name] for name in beside if name not in named}
        options = dataclasses.replace(options, **named)
        paths = expanded(predictions)
        observed = _labels_of_files(labels, len(paths))
        pairing = _pairing(paths, observed)
        pieces, notes = _file_pieces(paths, observed, options, chunk_rows, engine, skip_bad)
        if notes and any(array is not None for array in beside.values()):
            raise InputError(
                "`groups`, `features` and `clusters`",
                "must belong to the rows that are left",
                "files were left out, so the remaining rows are unknown",
                "Store them in the files.",
            )
        return _with_beside(pieces, beside), [*pairing, *notes]
    for name in options.of_files_only:
        raise InputError(
            f"`{name}`", "applies only to files", "got arrays", "Prepare the arrays, and leave it out."
        )
    return _with_beside(array_pieces(predictions, labels, weight, options, chunk_rows), beside), []


def _are_names(name: str, value: Any) -> bool:
    """Tell whether columns of the files are named: one of clusters, several of groups. Rows bring arrays."""
    if name == "clusters":
        return isinstance(value, str)
    return (
        name == "groups" and isinstance(value, (list, tuple)) and all(isinstance(name, str) for name in value)
    )


def _with_beside(pieces: Sequence[Piece], beside: Mapping[str, Any]) -> list[Piece]:
    """Give every piece its own rows of groups, features and clusters."""
    n = pieces[-1].stop
    arrays = {
        name: as_array(array, name) if name == "features" else as_names(array, name)
        for name, array in beside.items()
        if array is not None
    }
    for name, array in arrays.items():
        fits = array.ndim == (2 if name == "features" else 1) and array.shape[0] == n
        rule = f"must have one entry per prediction ({n})"
        remedy = "Check that both come from the same split."
        require(fits, rule, remedy, **{name: array})
    return [_beside(piece, arrays) for piece in pieces]


def _beside(piece: Piece, arrays: Mapping[str, Any]) -> Piece:
    parts: dict[str, Any] = {name: array[piece.start : piece.stop, ...] for name, array in arrays.items()}
    return dataclasses.replace(piece, **parts)


def expanded(paths: Any) -> list[str]:
    """Return the files that a path, a pattern or a sequence of both names."""
    files: list[str] = []
    for path in [paths] if _is_path(paths) else list(paths):
        text = plain_path(str(path))
        matches = [text]
        if is_pattern(text):
            here = not is_remote(text)
            matches = in_natural_order(glob.glob(text)) if here else matching_urls(text)  # noqa: PTH207
        if not matches:
            raise FileError(f"'{text}'", "must match files", "it matches none", "Check the pattern.")
        files += matches
    require(files, "must name at least one file", "Name the files.", predictions=files)
    twice = sorted({path for path in files if files.count(path) > 1})
    require(not twice, "must name each file once", f"Name '{next(iter(twice), '')}' once.", predictions=files)
    return files


def _is_path(value: Any) -> bool:
    return isinstance(value, str) or hasattr(value, "__fspath__")


def _is_paths(value: Any) -> bool:
    return isinstance(value, Sequence) and bool(value) and all(_is_path(path) for path in value)


def _labels_of_files(labels: Any, n_files: int) -> list[str | None]:
    if labels is None:
        return [None] * n_files
    if isinstance(labels, str) and _names_array(labels):
        return [labels] * n_files
    remedy = "Save them beside the predictions, or map the predictions and pass arrays."
    files = _is_path(labels) or _is_paths(labels)
    require_type(files, "must be files, one per file of predictions", remedy, labels=labels)
    label_files = expanded(labels)
    rule = f"must be one file per file of predictions ({n_files})"
    require(len(label_files) == n_files, rule, "Check both.", labels=len(label_files))
    return list(label_files)


def _pairing(paths: Sequence[str], labels: Sequence[str | None]) -> list[str]:
    """Show which file of labels belongs to which of predictions; numbers in their names must agree."""
    pairs = [
        (Path(file).name, Path(labels_file).name)
        for file, labels_file in zip(paths, labels, strict=True)
        if labels_file is not None
    ]
    if len(pairs) < 2 or all(labels_file == pairs[0][1] for _, labels_file in pairs):
        return []
    for pair in pairs:
        numbers = [[int(part) for part in re.findall(r"\d+", Path(name).stem)][-1:] for name in pair]
        if all(numbers) and numbers[0] != numbers[1]:
            raise InputError(
                "`labels`",
                "must have the numbers of the files of predictions",
                f"'{pair[0]}' would be paired with '{pair[1]}'",
                "Use the same names, or list both in the same order.",
            )
    listed = ", ".join(" with ".join(pair) for pair in pairs[:3]) + (", ..." if len(pairs) > 3 else "")
    return [f"files are paired in the order of their names and numbers: {listed}"]


def _names_array(labels: str) -> bool:
    """Tell whether labels are an array of every file, as for `load`, and no file of their own."""
    plain = not is_pattern(labels) and not is_remote(labels)
    return plain and not Path(labels).suffix and not Path(plain_path(labels)).exists()


def _file_pieces(
    paths: Sequence[str],
    labels: Sequence[str | None],
    options: ReadOptions,
    chunk_rows: int | None,
    engine: Engine,
    skip_bad: bool,
) -> tuple[list[Piece], list[str]]:
    """Count the rows of every file, in the engine, and cut .npy files into chunks.

    Files whose rows need a choice (`options.of_files_only`) are read whole, each as a chunk.
    """
    pairs = list(zip(paths, labels, strict=True))
    rows = engine.map(partial(_count, options, skip_bad), pairs)
    pieces: list[Piece] = []
    bad: list[CrediblyError] = []
    start = dropped = 0
    for (path, observed), count in zip(pairs, rows, strict=True):
        if isinstance(count, CrediblyError):
            bad.append(count)
            continue
        n, is_mapped, left_out = count
        dropped += left_out
        if is_mapped and observed is not None and not options.of_files_only:
            pieces += _mapped_pieces(path, observed, options, chunk_rows, start)
        else:
            pieces.append(FilePiece(start, start + n, path, observed, options=options))
        start += n
    if bad and not skip_bad:
        raise bad[0]
    if not pieces:
        raise InputError(
            "`predictions`",
            "must leave files that can be read",
            f"none of {len(paths)} can: {str(bad[0]).rstrip('.')}",
            "Check them.",
        )
    notes = [f"{len(bad)} of {len(paths)} files were left out on request"] if bad else []
    if dropped:
        of = counted(len(pieces), "file")
        notes.append(f"{counted(dropped, f'row of {of} was', f'rows of {of} were')} left out on request")
    return pieces, notes + [f"left out: {error}" for error in bad]


def _count(
    options: ReadOptions, thoroughly: bool, pair: tuple[str, str | None]
) -> tuple[int, bool, int] | CrediblyError:
    """Return the rows of a file, whether it can be read in parts, and how many rows of it are left out.

    A problem is returned, not raised.
    """
    path, labels = pair
    dropped = 0
    try:
        n = count_rows(path, options.member_axis)
        files = [path] if labels is None else [path, labels]
        mapped = labels is not None and all(file.endswith(".npy") and not is_remote(file) for file in files)
        if labels is not None and n is not None and not _names_array(labels):
            rows = count_rows(labels, None)
            if rows is not None and rows != n:
                raise InputError(
                    f"'{labels}'",
                    f"must have one entry per prediction of '{path}' ({n})",
                    f"got {rows}",
                    "Check both; if the first axis holds the members, pass `member_axis=0`.",
                )
        if n is None or thoroughly or options.of_files_only:
            data = FilePiece(0, n or 0, path, labels, options=options).found()
            if data.labels is None:
                raise InputError(f"'{path}'", "must have labels", "it has none", "Give `labels=`.")
            n, dropped = len(data.predictions), data.dropped
    except CrediblyError as error:
        return error
    return n, mapped, dropped


def _mapped_pieces(
    path: str, labels: str, options: ReadOptions, chunk_rows: int | None, offset: int
) -> Iterator[Piece]:
    array = map_npy(path)
    n, axis = rows_and_axis(array, count_rows(labels, None), options.member_axis, path)
    options = dataclasses.replace(options, member_axis=axis)
    for rows in tiles(n, rows_per_chunk(array, n, chunk_rows)):
        start, stop = offset + rows.start, offset + rows.stop
        yield FilePiece(start, stop, path, labels, offset, options=options)
