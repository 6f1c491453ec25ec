"""Predictions that no fit has seen: every part of the rows recalibrated by a fit to the others."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from credibly._arrays.namespace import HostArray, like, to_host
from credibly._arrays.notes import without_warnings
from credibly.predictions import Predictions
from credibly.predictions.base import P
from credibly.recalibrate.base import Recalibration
from credibly.recalibrate.fit_data import FitData
from credibly.recalibrate.groups import Groups


def cross_fitted(
    method: Recalibration,
    predictions: Predictions,
    labels: Any,
    beside: Mapping[str, Any],
    parts: Sequence[HostArray],
    codes: HostArray | None = None,
    *,
    data: Any = None,
) -> tuple[Recalibration, Predictions]:
    """Fit on all data, and recalibrate every part of the rows by a fit on the others.

    Parameters
    ----------
    method : Recalibration
        What to fit; it is left as it is.
    predictions, labels
        Predictions, and what was observed.
    beside : mapping
        Features and groups of the instances under these names, for methods that take them.
    parts : sequence of ndarray
        Rows of every fold.
    codes : ndarray (n,), optional
        Number of the cluster of every row.
    data : FitData or RealData, optional
        Predictions and labels as a fit starts from them, if several methods are to share the checks.

    Returns
    -------
    Recalibration, Predictions
        The fit on all data, and predictions that no fit has seen. Iterative fits of folds start at the
        parameters of the first.
    """
    groups = beside.get("groups")
    seen = method._seen(
        beside.get("features"), None if groups is None else Groups.of(groups, len(predictions))
    )  # names are read once for all folds
    whole = method.unfitted()
    if data is None:
        data = whole._data(predictions, labels, None)
        if codes is not None and isinstance(data, FitData):
            data = dataclasses.replace(data, clusters=codes)
    whole._fit_checked(data, seen).warn(type(whole).__name__)
    moved = []
    with without_warnings():  # the fit on all data has said it
        for part in parts:
            kept = np.ones(len(predictions), dtype=bool)
            kept[part] = False
            fold = method.unfitted()
            fold._near = whole
            rows = np.flatnonzero(kept)
            fold._fit_checked(data.take(rows), _taken(seen, rows))
            moved.append(fold._map(predictions[part], _taken(seen, part)))
    return whole, stitched(moved, list(parts))


def _taken(seen: Any, rows: HostArray) -> Any:
    """Return features or groups, or both as a chain sees them, of some rows."""
    if isinstance(seen, tuple):
        return tuple(_taken(part, rows) for part in seen)
    if isinstance(seen, Groups):
        return seen.take(rows)
    return None if seen is None else like(to_host(seen)[rows], seen)


def stitched(parts: list[P], rows: list[HostArray]) -> P:
    """Put predictions of parts of the rows together in the order of the rows."""
    xp = parts[0].xp
    order = like(np.argsort(np.concatenate(rows)), parts[0]._leading)
    companions = (name for name in parts[0].companions if getattr(parts[0], name) is not None)
    names = [*parts[0].row_arrays(), *companions]
    joined = {
        name: xp.take(xp.concat([getattr(part, name) for part in parts], axis=0), order, axis=0)
        for name in names
    }
    made = parts[0].replace_rows(**joined)
    made._set(notes=())
    return made
