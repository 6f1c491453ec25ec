"""Rows that were used before, for training or recalibration, leave a check by their names."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from credibly._arrays.errors import InputError
from credibly._arrays.namespace import is_array, like, to_host
from credibly.hypotests.grouping import Grouping
from credibly.predictions import Classes, Predictions, Reals

Kept = tuple[Predictions, Classes | Reals, Grouping | None, int]


def without_used_rows(
    predictions: Predictions,
    observed: Classes | Reals,
    grouping: Grouping | None,
    ids: Any,
    used_ids: Any,
) -> Kept:
    """Return what is left, and how many rows are not."""
    if used_ids is None:
        if ids is not None:
            _names(ids, "ids")
        return predictions, observed, grouping, 0
    if ids is None:
        raise InputError(
            "`used_ids`",
            "needs the names of the checked instances",
            "`ids` is not given",
            "Pass `ids=` with one name per instance.",
        )
    own, used = _names(ids, "ids"), _names(used_ids, "used_ids")
    if len(own) != len(predictions):
        raise InputError(
            "`ids`",
            f"must have one entry per prediction ({len(predictions)})",
            f"got {len(own)}",
            "Check that both come from the same split.",
        )
    if own and used and type(own[0]) is not type(used[0]):
        raise InputError(
            "`ids` and `used_ids`",
            "must be of one kind",
            f"got {type(own[0]).__name__} and {type(used[0]).__name__}",
            "Convert both with `str`: names of different kinds are never equal.",
        )
    before = set(used)
    kept = np.array([name not in before for name in own])
    excluded = int((~kept).sum())
    if not kept.any():
        raise InputError(
            "`used_ids`",
            "must leave rows to check",
            f"all {len(own)} instances are among them",
            "Check on data that were used for nothing else.",
        )
    if not excluded:
        return predictions, observed, grouping, 0
    rows = np.flatnonzero(kept)
    values = predictions.xp.take(observed.values, like(rows, observed.values), axis=1)
    remaining = dataclasses.replace(observed, values=values)
    return predictions[rows], remaining, None if grouping is None else grouping.keep(kept), excluded


def _names(values: Any, name: str) -> list[Any]:
    array = to_host(values) if is_array(values) else np.asarray(list(values))
    if array.ndim != 1:
        raise InputError(f"`{name}`", "must be a vector of names", f"got shape {array.shape}", "Flatten it.")
    listed: list[Any] = array.tolist()
    return listed
