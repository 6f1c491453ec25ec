"""Rows held out in turn, and penalties chosen by the loss on them."""

from __future__ import annotations

import math
import reprlib
from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeVar

import numpy as np

from credibly._arrays.errors import InputError, UnsupportedError
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
    several = isinstance(penalty, str) and penalty == "cv"
    numbers = (
        tuple(penalties) if isinstance(penalties, Sequence) and several else () if several else (penalty,)
    )
    if not numbers or not all(
        isinstance(one, (int, float)) and not isinstance(one, bool) and 0 <= one < math.inf for one in numbers
    ):
        raise InputError(
            subject,
            'must be a number of at least 0, or "cv" with such numbers in `penalties`',
            f"got {reprlib.repr(penalty)} with {reprlib.repr(penalties)}",
            "Use 1.0, or leave it out.",
        )
    split = isinstance(folds, str) and folds == "split"
    if not split and (isinstance(folds, bool) or not isinstance(folds, int) or folds < 2):
        raise InputError(
            "`folds`",
            'must be an integer of at least 2, or "split"',
            f"got {folds!r}",
            "Use 5, or leave it out.",
        )


def fold_members(n: int, folds: Folds, rng: Any, clusters: HostArray | None = None) -> list[HostArray]:
    """Return the held-out rows of every fold, clusters whole; "split" holds out one fifth once."""
    if clusters is not None:
        _, codes = np.unique(clusters, return_inverse=True)
        parts = fold_members(int(codes.max()) + 1, folds, rng)
        return [np.flatnonzero(np.isin(codes, part)) for part in parts]
    number = 5 if folds == "split" else min(folds, n)
    if n < 2:
        raise UnsupportedError(
            "a penalty",
            "cannot be chosen from one instance",
            "got 1 instance",
            "Give the penalty as a number.",
        )
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
