"""The part of an evaluation that compares recalibrations, where it is asked for."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

from credibly._arrays.errors import InputTypeError
from credibly._arrays.philox import Seed
from credibly.evaluation.stages import Progress
from credibly.predictions import ClassPredictions, Rows
from credibly.recalibration import Recalibration, recalibration_report
from credibly.results.recalibration import RecalibrationReport

FOLDS = 5
MOST_ROWS = 20_000
"""Rows that are taken into memory to fit recalibrations to them."""


def recalibrations(
    rows: Rows,
    methods: Sequence[str | Recalibration],
    *,
    n_bins: int,
    n_resamples: int,
    seed: Seed,
    tell: Progress,
) -> tuple[RecalibrationReport | None, list[tuple[str, str]]]:
    """Return recalibrations side by side, or the reason why there is nothing to compare."""
    if isinstance(methods, str) or not isinstance(methods, Sequence):
        raise InputTypeError(
            "`recalibrate`",
            "must be a sequence of names",
            f"got {methods!r}",
            'Pass a list: ["temperature"].',
        )
    if not methods:
        return None, []
    if not isinstance(rows.sample.predictions, ClassPredictions):
        return None, [("recalibration", "there is none for real-valued predictions")]
    if rows.n < 2 * FOLDS:
        return None, [("recalibration", f"{rows.n} instances are too few for {FOLDS} folds")]
    whole = rows.loaded(MOST_ROWS)
    if whole is None:
        reason = f"it is fitted to rows in memory, of chunks to up to {MOST_ROWS}; `load` a part of the data"
        return None, [("recalibration", reason)]
    with warnings.catch_warnings():  # what was read into the data stands in the notes of the methods
        warnings.simplefilter("ignore", UserWarning)
        found = recalibration_report(
            whole.predictions,
            whole.observed,
            methods,
            cv=FOLDS,
            features=whole.features,
            n_bins=n_bins,
            n_resamples=n_resamples,
            rng=seed,
            progress=lambda done, total: tell("recalibrations", done, total),
        )
    failed = [(f"recalibration by {name}", one.failure) for name, one in found.methods.items() if one.failure]
    return found, [(name, reason.rstrip(".")) for name, reason in failed]
