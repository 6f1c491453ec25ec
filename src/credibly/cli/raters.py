"""`credibly raters`: whose loss it is, and whether raters disagree as much as predicted."""

from __future__ import annotations

import warnings
from typing import Any

from credibly._arrays.errors import InputError
from credibly.cli.output import Cell, Output, Table, with_flags
from credibly.cli.reading import in_memory, opened
from credibly.cli.typed import Typed
from credibly.predictions import Counts, Rows
from credibly.raters import decompose_disagreement, decompose_loss
from credibly.results.base import SCHEMA_VERSION
from credibly.results.decompositions import DisagreementDecomposition, LossDecomposition
from credibly.results.estimates import Estimate

COLUMNS = ("part", "class", "term", "value", "stderr", "interval", "plugin", "n")
LOSS = ("expected", "irreducible", "epistemic", "calibration", "dispersion", "refinement")
DISAGREEMENT = ("expected", "calibration", "refinement")
MOST_CLASSES = 100


def raters_file(typed: Typed) -> None:
    """Loss and disagreement when there are several raters."""
    output, weights = Output(typed.json, typed.quiet), typed.weights
    with opened(typed.file, typed, output) as data:
        loss, pairs = _decomposed(data, typed.n_bins, weights)
    if output.as_json:
        output.json(
            {
                "schema_version": SCHEMA_VERSION,
                "type": "Annotators",
                "weights": weights,
                "loss": loss.to_dict(),
                "disagreement": pairs.to_dict(),
            }
        )
        return
    rows = [_row("loss", None, getattr(loss, name), getattr(loss.plugin, name).value) for name in LOSS]
    rows += [_row("loss", None, one, None) for one in (loss.calibration_error, loss.dispersion_error)]
    rows += [
        _row("disagreement", None, getattr(pairs, name), getattr(pairs.plugin, name).value)
        for name in DISAGREEMENT
    ]
    rows += [_row("disagreement", None, one, None) for one in (pairs.predicted, pairs.observed)]
    if not output.terminal:  # a person asks for classes with --json or a pipe
        k = len(loss.per_class.expected.value)
        names = [str(c) for c in range(k)] if data.example.classes is None else data.example.classes
        for place in range(min(k, MOST_CLASSES)):
            rows += [_row("loss", names[place], getattr(loss.per_class, name)[place], None) for name in LOSS]
            if pairs.per_class is not None:
                rows += [
                    _row("disagreement", names[place], getattr(pairs.per_class, name)[place], None)
                    for name in DISAGREEMENT
                ]
    output.table(
        Table(COLUMNS, rows, frozenset({"interval"})), shown=("part", "term", "value", "interval", "plugin")
    )
    output.notes(map(with_flags, dict.fromkeys((*loss.notes, *pairs.notes))))


def _decomposed(data: Rows, n_bins: int, weights: str) -> tuple[LossDecomposition, DisagreementDecomposition]:
    """Take loss and disagreement apart."""
    if not isinstance(data.example.batch, Counts):
        raise InputError(
            f"'{data.example.source}'",
            "must come with counts of raters' labels",
            "it has one label per instance",
            "Name the counts: `--labels label_counts` for an array of this file, or `--labels FILE`.",
        )
    settings: dict[str, Any] = {"n_bins": n_bins}
    if weights == "raters":
        advice = "Leave it out, or use a file that fits into memory."
        whole = in_memory(data, "`--weights raters`", "needs the rows in memory", advice)
        settings["sample_weight"] = whole.labels.totals
    with warnings.catch_warnings():  # the same words stand in the notes
        warnings.simplefilter("ignore", UserWarning)
        return (
            decompose_loss(*data.arguments, **settings),
            decompose_disagreement(*data.arguments, **settings),
        )


def _row(part: str, name: str | None, estimate: Estimate, plugin: float | None) -> tuple[Cell, ...]:
    refused = estimate.interval_refusal is not None
    interval = None if refused else estimate.interval(0.95)
    return part, name, estimate.name, estimate.value, estimate.stderr, interval, plugin, estimate.n
