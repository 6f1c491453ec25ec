"""The part of an evaluation that compares recalibrations, where it is asked for."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import cast

from credibly._arrays.errors import InputTypeError
from credibly.evaluation.stages import NOT_ASKED, Stage, Work
from credibly.predictions import ClassPredictions, Dataset, Rows
from credibly.recalibrate import recalibration_report
from credibly.results.recalibration import RecalibrationReport

FOLDS = 5
MOST_ROWS = 20_000
"""Rows that are taken into memory to fit recalibrations to them."""


def _applies(rows: Rows, work: Work) -> str | None:
    methods = work.recalibrate
    if isinstance(methods, str) or not isinstance(methods, Sequence):
        raise InputTypeError(
            "`recalibrate`",
            "must be a sequence of names",
            f"got {methods!r}",
            'Pass a list: ["temperature"].',
        )
    if not methods:
        return NOT_ASKED
    if not isinstance(rows.sample.predictions, ClassPredictions):
        return "there is none for real-valued predictions"
    if rows.n < 2 * FOLDS:
        return f"{rows.n} instances are too few for {FOLDS} folds"
    if rows.loaded(MOST_ROWS) is None:
        return f"it is fitted to rows in memory, of chunks to up to {MOST_ROWS}; `load` a part of the data"
    return None


def _run(rows: Rows, work: Work) -> RecalibrationReport:
    whole = cast(Dataset, rows.loaded(MOST_ROWS))
    with warnings.catch_warnings():  # what was read into the data stands in the notes of the methods
        warnings.simplefilter("ignore", UserWarning)
        found = recalibration_report(
            whole.predictions,
            whole.observed,
            work.recalibrate,
            cv=FOLDS,
            features=whole.features,
            n_bins=work.n_bins,
            **work.drawn,
            progress=lambda done, total: work.tell("recalibrations", done, total),
        )
    for name, one in found.methods.items():
        if one.failure:
            work.leave_out(f"recalibration by {name}", one.failure.rstrip("."))
    return found


RECALIBRATION = Stage("recalibration", _run, _applies, "recalibration")
