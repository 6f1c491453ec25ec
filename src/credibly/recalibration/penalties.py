"""Choose a penalty by held-out loss."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np

from credibly._arrays.errors import InputError, UnsupportedError
from credibly._arrays.namespace import HostArray
from credibly._arrays.philox import as_seed

Folds = int | Literal["split"]

PENALTIES = (0.1, 1.0, 10.0)
"""The grid of D21."""


def check_penalty(penalty: float | str, penalties: Sequence[float], folds: Folds) -> None:
    """Raise unless the penalty is a number or is to be chosen from a grid."""
    numbers = penalties if penalty == "cv" else (penalty,)
    if not numbers or not all(
        isinstance(one, (int, float)) and not isinstance(one, bool) and 0 <= one < math.inf for one in numbers
    ):
        raise InputError(
            "`penalty`",
            'must be a number from 0 on, or "cv" with such numbers in `penalties`',
            f"got {penalty!r} with {tuple(penalties)!r}",
            "Use 1.0, or leave it out.",
        )
    if folds != "split" and (isinstance(folds, bool) or not isinstance(folds, int) or folds < 2):
        raise InputError(
            "`folds`", 'must be an integer from 2 on, or "split"', f"got {folds!r}", "Use 5, or leave it out."
        )


def fold_members(n: int, folds: Folds, rng: Any) -> list[HostArray]:
    """Return the held-out rows of every fold; "split" holds out one fifth once."""
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
    held_out_loss: Callable[[float, HostArray, HostArray], float],
    n: int,
    penalties: Sequence[float],
    folds: Folds,
    rng: Any,
) -> tuple[float, HostArray]:
    """Return the penalty with the smallest loss on held-out rows, and the losses of all.

    `held_out_loss(penalty, rows to fit, rows held out)` returns the summed loss over the labels held out; a
    fit that diverges counts as infinite.
    """
    parts = fold_members(n, folds, rng)
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
    return float(penalties[int(np.argmin(losses))]), losses
