"""`credibly raters`: whose loss it is, whether disagreement is predicted, whether ignorance is honest."""

from __future__ import annotations

from typing import Any

from credibly._arrays.errors import InputError
from credibly._arrays.notes import without_warnings
from credibly.cli.output import Cell, Output, TextTable, row_of, with_flags
from credibly.cli.reading import Typed, in_memory, opened
from credibly.predictions import Counts, Dirichlet, Ensemble, LabelCounts, Rows
from credibly.raters import agreement, decompose_disagreement, decompose_loss, ignorance, rater_test
from credibly.results.agreement import Agreement
from credibly.results.base import SCHEMA_VERSION
from credibly.results.decompositions import DisagreementDecomposition, LossDecomposition
from credibly.results.estimates import Estimate, interval_of
from credibly.results.ignorance import Ignorance, RaterDetails
from credibly.results.tests import HypotestResult

COLUMNS = ("part", "class", "term", "value", "stderr", "interval", "plugin", "n")
TERMS = {
    "loss": ("expected", "irreducible", "epistemic", "calibration", "dispersion", "refinement"),
    "disagreement": ("expected", "calibration", "refinement"),
}
ALONE = {"loss": ("calibration_error", "dispersion_error"), "disagreement": ("predicted", "observed")}
IGNORANCE = ("stated", "supported", "gap", "stated_share", "supported_share")
MOST_CLASSES = 100


def raters_file(typed: Typed, output: Output) -> None:
    """Loss, disagreement, stated ignorance and agreement when there are several raters."""
    weights = typed.weights
    with opened(typed.file, typed, output) as data:
        loss, pairs = _decomposed(data, typed.n_bins, weights)
        stated = _ignorance(data, typed)
        people = _agreement(data, typed)
    if output.as_json:
        output.json(
            {
                "schema_version": SCHEMA_VERSION,
                "type": "Annotators",
                "weights": weights,
                "loss": loss.to_dict(),
                "disagreement": pairs.to_dict(),
                "ignorance": None if stated is None else stated.to_dict() | {"sentence": stated.sentence()},
                "agreement": None if people is None else people[0].to_dict(),
                "rater_test": None if people is None else people[1].summary(),
            }
        )
        return
    rows = []
    parts: dict[str, Any] = {"loss": loss, "disagreement": pairs}
    for part, result in parts.items():
        rows += [
            _row(part, getattr(result, name), plugin=getattr(result.plugin, name).value)
            for name in TERMS[part]
        ]
        rows += [_row(part, getattr(result, name)) for name in ALONE[part]]
    if stated is not None:
        rows += [_row("ignorance", getattr(stated, name)) for name in IGNORANCE]
    if people is not None:
        alphas = (people[0].krippendorff, people[0].fleiss)
        rows += [_row("agreement", estimate) for estimate in alphas if estimate is not None]
    if not output.terminal:  # a person asks for classes with --json or a pipe
        k = len(loss.per_class.expected.value)
        names = [str(c) for c in range(k)] if data.example.classes is None else data.example.classes
        for place in range(min(k, MOST_CLASSES)):
            for part, result in parts.items():
                terms = () if result.per_class is None else TERMS[part]
                rows += [_row(part, getattr(result.per_class, name)[place], names[place]) for name in terms]
    verdicts = [] if stated is None else [(stated.verdict(), stated.sentence())]
    verdicts += [] if people is None else [(people[1].verdict(), people[1].sentence())]
    if output.terminal and verdicts:
        output.pairs(verdicts)
    output.table(TextTable(COLUMNS, rows), shown=("part", "term", "value", "interval", "plugin"))
    sentences = [] if output.terminal else [sentence for _, sentence in verdicts]
    output.notes(map(with_flags, dict.fromkeys((*sentences, *loss.notes, *pairs.notes))))


def _ignorance(data: Rows, typed: Typed) -> Ignorance | None:
    """Compare stated with supported ignorance, if predictions state it and all rows are in memory."""
    stated = isinstance(data.example.predictions, (Ensemble, Dirichlet)) and data.example.clusters is None
    if not stated or data.loaded() is None:
        return None
    return ignorance(data, n_resamples=typed.n_resamples, rng=typed.rng)


def _agreement(data: Rows, typed: Typed) -> tuple[Agreement, HypotestResult[RaterDetails]] | None:
    """Measure agreement and test whether raters differ, if it is known who gave which label."""
    counts = data.example.labels
    if data.loaded() is None or not isinstance(counts, LabelCounts) or counts.rater_of is None:
        return None
    return agreement(counts), rater_test(counts, n_resamples=typed.n_resamples, rng=typed.rng)


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
    with without_warnings():  # the same words stand in the notes
        return (
            decompose_loss(*data.arguments, **settings),
            decompose_disagreement(*data.arguments, **settings),
        )


def _row(
    part: str, estimate: Estimate, of_class: str | None = None, plugin: float | None = None
) -> tuple[Cell, ...]:
    named = {"part": part, "class": of_class, "term": estimate.name, "plugin": plugin}
    return row_of(COLUMNS, estimate, interval=interval_of(estimate), **named)
