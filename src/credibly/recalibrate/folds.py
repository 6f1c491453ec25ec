"""Rows held out in turn: penalties chosen by the loss on them, and predictions that no fit has seen."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, TypeVar

import numpy as np

from credibly._arrays.errors import InputError, UnsupportedError, brief, is_number, is_whole, require
from credibly._arrays.namespace import HostArray, like, to_host
from credibly._arrays.notes import without_warnings
from credibly._arrays.philox import as_seed
from credibly.predictions import Predictions
from credibly.predictions.base import P
from credibly.recalibrate.base import Recalibration
from credibly.recalibrate.fit_data import FitData
from credibly.recalibrate.groups import Groups

Folds = int | Literal["split"]
Penalty = TypeVar("Penalty")
PENALTIES = (0.1, 1.0, 10.0)
"""The grid of D21."""


def check_penalty(
    penalty: float | str, penalties: Sequence[float], folds: Folds, subject: str = "`penalty`"
) -> None:
    """Raise unless the penalty is a number or is to be chosen from a grid."""
    numbers: Sequence[Any] = (penalty,)
    if isinstance(penalty, str) and penalty == "cv":
        numbers = penalties if isinstance(penalties, Sequence) else ()
    if not numbers or not all(is_number(number) and 0 <= number < math.inf for number in numbers):
        rule = 'must be a number of at least 0, or "cv" with such numbers in `penalties`'
        evidence = f"got {brief(penalty)} with {brief(penalties)}"
        raise InputError(subject, rule, evidence, "Use 1.0, or leave it out.")
    sound = folds == "split" if isinstance(folds, str) else is_whole(folds) and folds >= 2
    require(sound, 'must be an integer of at least 2, or "split"', "Use 5, or leave it out.", folds=folds)


def fold_members(n: int, folds: Folds, rng: Any, clusters: HostArray | None = None) -> list[HostArray]:
    """Return the held-out rows of every fold, clusters whole; "split" holds out one fifth once."""
    if clusters is not None:
        _, codes = np.unique(clusters, return_inverse=True)
        parts = fold_members(int(codes.max()) + 1, folds, rng)
        return [np.flatnonzero(np.isin(codes, part)) for part in parts]
    number = 5 if folds == "split" else min(folds, n)
    if n < 2:
        rule, remedy = "cannot be chosen from one instance", "Give the penalty as a number."
        raise UnsupportedError("a penalty", rule, "got 1 instance", remedy)
    order = np.random.default_rng(as_seed(rng)).permutation(n)
    parts = [np.sort(part) for part in np.array_split(order, number) if part.size]
    return parts[:1] if folds == "split" else parts


def choose_penalty(
    held_out_loss: Callable[[Penalty, HostArray, HostArray], float],
    n: int,
    penalties: Sequence[Penalty],
    folds: Folds,
    rng: Any,
    clusters: HostArray | None = None,
) -> tuple[Penalty, HostArray]:
    """Return the penalty, or the tuple of them, with the smallest loss on held-out rows, and all losses.

    `held_out_loss(penalty, rows to fit, rows held out)` returns the summed loss over the labels held out; a
    fit that diverges counts as infinite.
    """
    parts = fold_members(n, folds, rng, clusters)
    losses = np.zeros(len(penalties))
    last = ""
    for held_out in parts:
        kept = np.setdiff1d(np.arange(n), held_out)
        for at, penalty in enumerate(penalties):
            try:
                losses[at] += held_out_loss(penalty, kept, held_out)
            except UnsupportedError as error:
                losses[at], last = math.inf, error.evidence
    if not np.isfinite(losses).any():
        raise UnsupportedError(
            "the penalty",
            "must keep the fit finite",
            f"with each of {tuple(penalties)!r} {last}",
            "Use more data, or a method with fewer parameters.",
        )
    return penalties[int(np.argmin(losses))], losses


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
