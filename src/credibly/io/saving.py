"""`save`: predictions and labels to a file, checked to be readable before the first byte is written."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from credibly._arrays.checks import as_array
from credibly._arrays.errors import FileError, InputError, InputTypeError
from credibly._arrays.namespace import to_host
from credibly.io.assemble import assemble
from credibly.io.content import Content, membership_of
from credibly.io.encoding import ENCODERS, Record, write_npy, write_npy_labels, write_zarr
from credibly.io.parts import take_apart
from credibly.io.stores import atomic_store, require_store_writable
from credibly.io.writing import as_path, atomic_file, atomic_files, require_writable
from credibly.predictions import (
    Belief,
    Dirichlet,
    Ensemble,
    Gaussian,
    Intervals,
    LabelCounts,
    Point,
    Predictions,
    Quantiles,
    Samples,
    as_predictions,
)
from credibly.results.base import jsonable


def save(
    path: str | os.PathLike[str],
    predictions: Any,
    labels: Any = None,
    *,
    features: Any = None,
    groups: Any = None,
    ids: Any = None,
    classes: Any = None,
    meta: Mapping[str, Any] | None = None,
    overwrite: bool = False,
) -> Path:
    """Write predictions and what goes with them to a file.

    Parameters
    ----------
    path : path
        The extension chooses the format: .npz and .json hold everything exactly; .parquet, .pt, .nc and .zarr
        need their extras; .csv and .tsv hold tables of probabilities and the like; .npy holds probabilities,
        and labels go to a second file beside it: ``pred.npy`` and ``pred-labels.npy``.
    predictions : Predictions or array
        The predictions.
    labels : array (n,) or LabelCounts, optional
        What was observed.
    features : array (n, d), optional
        Features of the instances.
    groups, ids : array (n,), optional
        Group and name of every instance.
    classes : sequence of str, optional
        Names of the classes.
    meta : mapping, optional
        Anything JSON can hold.
    overwrite : bool
        Whether an existing file may be replaced.

    Returns
    -------
    Path
        The path written, that of the predictions where the labels have a file of their own.

    Raises
    ------
    FileError
        If a file exists and `overwrite` is false, if it cannot be written, or if the format cannot hold
        what was given. What was there before is then intact.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import credibly as cr
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     cr.save(pathlib.Path(folder) / "two.csv", cr.Point([[0.7, 0.3], [0.2, 0.8]]), [0, 1]).name
    'two.csv'
    """
    require_target(path, overwrite=overwrite)
    target = Path(path)
    form = target.suffix.lower()
    if form == ".npy" and labels is not None:
        require_writable(labels_beside(target), overwrite=overwrite)
    arrays, shared = arrays_of(as_predictions(predictions))
    if labels is not None:
        counted = isinstance(labels, LabelCounts)
        arrays["label_counts" if counted else "y"] = _column("labels", labels.counts if counted else labels)
    for name, value in (("features", features), ("group", groups), ("id", ids)):
        if value is not None:
            arrays[name] = _column(name, value)
    names = None if classes is None else tuple(str(name) for name in classes)
    record = Record(arrays, shared, names, _plain_meta(meta))
    _require_readable(record)
    if form == ".zarr":
        with atomic_store(target, overwrite=overwrite) as folder:
            write_zarr(record, folder, str(path))
    elif form == ".npy" and labels is not None:
        with atomic_files(target, labels_beside(target), overwrite=overwrite) as (file, second):
            write_npy(record, file, str(path))
            write_npy_labels(record, second, str(path))
    else:
        with atomic_file(target, overwrite=overwrite) as file:
            ENCODERS[form](record, file, str(path))
    return target


def require_target(path: str | os.PathLike[str], *, overwrite: bool) -> None:
    """Raise what `save` raises about the path alone; who computes for long asks this first."""
    target = as_path(path)
    form = target.suffix.lower()
    if form == ".zarr":
        require_store_writable(path, overwrite=overwrite)
        return
    if form not in ENCODERS:
        raise FileError(
            f"'{path}'",
            f"must end in one of {', '.join(sorted((*ENCODERS, '.zarr')))}",
            f"got {target.suffix!r}",
            "Choose .npz, which holds everything.",
        )
    require_writable(path, overwrite=overwrite)


def labels_beside(path: str | os.PathLike[str]) -> Path:
    """Return where `save` puts the labels of a .npy file."""
    target = Path(path)
    return target.with_name(f"{target.stem}-labels.npy")


def arrays_of(
    predictions: Predictions,
) -> tuple[dict[str, np.ndarray[Any, Any]], dict[str, np.ndarray[Any, Any]]]:
    """Return the arrays of a prediction by their names in files: those over instances, and the rest."""
    shared: dict[str, Any] = {}
    match predictions:
        case Point():
            rows = {"probs": predictions.probs}
        case Ensemble():
            rows = {"probs": predictions.probs}
            if predictions.weights is not None:
                shared["member_weights"] = predictions.weights
        case Dirichlet():
            rows = {"alpha": predictions.alpha}
        case Belief():
            rows = {"masses": predictions.masses}
            shared["focal_sets"] = membership_of(predictions.focal_sets, predictions.n_classes)
        case Intervals():
            rows = {"lower": predictions.lower, "upper": predictions.upper}
        case Gaussian():
            rows = {"mean": predictions.mean, "std": predictions.std}
        case Samples():
            rows = {"samples": predictions.values}
        case Quantiles():
            rows = {"values": predictions.values}
            shared["levels"] = predictions.levels
        case LabelCounts():
            rows = {"counts": predictions.counts}
        case _:
            raise InputTypeError(
                "`predictions`",
                "must be one of the library's prediction types to be saved",
                f"got {type(predictions).__name__}",
                "Convert it with `cr.as_predictions` first.",
            )
    return (
        {name: np.asarray(to_host(array)) for name, array in rows.items()},
        {name: np.asarray(to_host(array)) for name, array in shared.items()},
    )


def _column(name: str, values: Any) -> np.ndarray[Any, Any]:
    """Return values beside the predictions as an array of numbers or of text."""
    if hasattr(values, "to_numpy"):
        values = values.to_numpy()
    if isinstance(values, list | tuple | np.ndarray):
        array = np.asarray(values)
        if array.dtype.kind == "U" or (
            array.dtype.kind == "O" and all(isinstance(word, str) for word in array)
        ):
            return array.astype(np.str_)
    return to_host(as_array(values, name))


def _plain_meta(meta: Mapping[str, Any] | None) -> dict[str, Any]:
    plain = jsonable(meta or {})
    try:
        return dict(json.loads(json.dumps(plain)))
    except (TypeError, ValueError) as error:
        raise InputError(
            "`meta`", "must be a mapping JSON can hold", str(error), "Use names and numbers."
        ) from None


def _require_readable(record: Record) -> None:
    """Read the record back in memory, so that nothing is written that `load` would refuse."""
    arrays = {**record.rows, **record.shared}
    content = Content("memory", arrays, classes=record.classes)
    assemble(take_apart(content, kind=None, labels=None, member_axis=1), drop_invalid=False)
