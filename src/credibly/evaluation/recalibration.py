"""The part of an evaluation that compares recalibrations, where it is asked for."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import cast

from credibly._arrays.errors import InputTypeError
from credibly.evaluation.stages import NOT_ASKED, Stage, Work
from credibly.predictions import ClassPredictions, Dataset, Dirichlet, Ensemble, Point, Rows
from credibly.recalibrate import recalibration_report
from credibly.results.recalibration import RecalibrationReport

FOLDS = 5
FEWEST = 50
"""Instances below which no recalibration is fitted unasked."""
PREVIEW = ("confidence_gap", "log_loss", "confidence_ece")
MOST_ROWS = 20_000
"""Rows that are taken into memory to fit recalibrations to them."""


def _applies(rows: Rows, work: Work) -> str | None:
    some = rows.sample.predictions
    if work.recalibrate is None:  # nobody asked: a preview where one temperature can be fitted and tested
        fits = isinstance(some, (Point, Ensemble, Dirichlet)) and work.tests and rows.n >= FEWEST
        return None if fits and rows.loaded(MOST_ROWS) is not None else NOT_ASKED
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
    if not isinstance(some, ClassPredictions):
        return "there is none for real-valued predictions"
    if rows.n < 2 * FOLDS:
        return f"{rows.n} instances are too few for {FOLDS} folds"
    if rows.loaded(MOST_ROWS) is None:
        return f"it is fitted to rows in memory, of chunks to up to {MOST_ROWS}; `load` a part of the data"
    return None


def _run(rows: Rows, work: Work) -> RecalibrationReport:
    whole = cast(Dataset, rows.loaded(MOST_ROWS))
    preview = work.recalibrate is None
    with warnings.catch_warnings():  # what was read into the data stands in the notes of the methods
        warnings.simplefilter("ignore", UserWarning)
        found = recalibration_report(
            whole.predictions,
            whole.observed,
            ("temperature",) if preview else work.recalibrate,
            cv=FOLDS,
            statistics=PREVIEW if preview else None,
            features=None if preview else whole.features,
            n_bins=work.n_bins,
            **work.drawn,
            progress=lambda done, total: work.tell("recalibrations", done, total),
        )
    for name, one in found.methods.items():
        if one.failure:
            work.leave_out(f"recalibration by {name}", one.failure.rstrip("."))
    return found


RECALIBRATION = Stage("recalibration", _run, _applies, "recalibration")
