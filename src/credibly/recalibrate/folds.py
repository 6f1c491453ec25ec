"""Rows held out in turn, and penalties chosen by the loss on them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeVar

import numpy as np

from credibly._arrays.errors import InputError, UnsupportedError, brief, is_number, is_whole, require
from credibly._arrays.namespace import HostArray
from credibly._arrays.philox import as_seed

Folds = int | Literal["split"]
P = TypeVar("P")
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
    held_out_loss: Callable[[P, HostArray, HostArray], float],
    n: int,
    penalties: Sequence[P],
    folds: Folds,
    rng: Any,
    clusters: HostArray | None = None,
) -> tuple[P, HostArray]:
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
