"""Arrays to checked predictions and labels; rows are dropped on purpose only, and on the record."""

from __future__ import annotations

import dataclasses

import numpy as np

from credibly._arrays.checks import InvalidRowsError, as_real, require_finite
from credibly._arrays.errors import CrediblyError, FileError, InputError, InputTypeError
from credibly._arrays.namespace import Array
from credibly.io.bounds import load_limit, readable_size
from credibly.io.content import FIELDS, sets_of
from credibly.io.labels import resolve_labels
from credibly.io.parts import Parts
from credibly.predictions import (
    Belief,
    ClassPredictions,
    Dirichlet,
    Ensemble,
    Gaussian,
    Intervals,
    LabelCounts,
    Point,
    Predictions,
    Quantiles,
    Samples,
)

_NOT_ROWS = frozenset({"`levels`", "`weights`"})
_AVERAGED = (
    "one distribution per instance: what compares members (credal test, Bayesian predictive check) cannot be "
    "run; if this is an averaged ensemble, save its members"
)


@dataclasses.dataclass
class Assembled:
    """Checked predictions and labels, with what was wrong on the way."""

    predictions: Predictions
    labels: Array | LabelCounts | None
    dropped: int
    problems: list[str]
    notes: list[str]


def assemble(parts: Parts, *, drop_invalid: bool) -> Assembled:
    """Check everything; rows that break a rule are dropped only where that was asked for."""
    total = parts.n
    problems: list[str] = []
    notes: list[str] = []
    while True:
        try:
            predictions = _make(parts)
            labels = resolve_labels(parts.beside, predictions, parts.classes, parts.notes)
            _check_beside(parts, predictions)
            break
        except InvalidRowsError as error:
            problems.append(str(_for_files(error, parts)))
            if not drop_invalid or error.subject in _NOT_ROWS:
                raise _for_files(error, parts) from error
            keep = np.ones(parts.n, dtype=bool)
            keep[error.rows] = False
            if not keep.any():
                raise InputError(
                    error.subject, "must leave valid rows", f"none is left: {error.evidence}", error.remedy
                ) from error
            parts.keep(keep)
            words = f"{error.subject} {error.rule}; {error.evidence}"
            notes.append(f"{len(error.rows)} rows were dropped on purpose: {words}")
        except CrediblyError as error:
            raise _for_files(error, parts) from error
    if isinstance(predictions, Point):
        parts.notes.append(_AVERAGED)
    return Assembled(predictions, labels, total - parts.n, problems, notes)


def _make(parts: Parts) -> Predictions:
    """Build the predictions, which check themselves."""
    kind, fields = parts.kind, parts.fields
    leading = fields[FIELDS[kind][0]]
    weights = parts.beside.get("member_weights")
    if kind == "logits" and isinstance(leading, np.memmap):
        _require_room(leading)
    if kind in ("probs", "logits") and leading.ndim == 3:
        make = Ensemble if kind == "probs" else Ensemble.from_logits
        return make(leading, weights=weights, member_axis=1)
    if weights is not None:
        note = "`member_weights` are not used: only ensembles of probabilities or logits take them"
        parts.notes.extend([note] if note not in parts.notes else [])
    if kind == "probs" and leading.ndim == 1:
        raise InputError(
            "`probs`",
            "must have shape (n, k) or (n, m, k)",
            f"got shape {tuple(leading.shape)}",
            "For binary scores p save both columns: `numpy.stack([1 - p, p], axis=-1)`.",
        )
    if kind == "belief":
        table = parts.shared["focal_sets"]
        return Belief.from_beliefs(leading, sets_of(table), n_classes=table.shape[-1])
    if kind == "mass":
        table = parts.shared["focal_sets"]
        return Belief(leading, sets_of(table), table.shape[-1])
    if kind == "alpha":
        return Dirichlet(leading, member_axis=1 if leading.ndim == 3 else None)
    if kind == "intervals":
        return Intervals(leading, fields["upper"])
    if kind == "gaussian":
        return Gaussian(leading, fields["std"])
    if kind == "quantiles":
        return Quantiles(leading, parts.shared["levels"])
    single = {"probs": Point, "logits": Point.from_logits, "samples": Samples, "counts": LabelCounts}
    made: Predictions = single[kind](leading)
    return made


def _require_room(logits: Array) -> None:
    """Raise if the probabilities of memory-mapped logits, doubles in memory, would not fit."""
    needed = 8 * int(logits.size)
    if needed > load_limit():
        raise FileError(
            "`logits`",
            f"must have probabilities that fit into half of the memory ({readable_size(load_limit())})",
            f"they take {readable_size(needed)}",
            "Save the probabilities themselves as .npy, which stay on disk.",
        )


def _check_beside(parts: Parts, predictions: Predictions) -> None:
    features = parts.beside.get("features")
    if features is not None:
        numbers = as_real(features, "features")
        if numbers.ndim > 2:
            raise InputError(
                "`features`",
                "must have shape (n, d)",
                f"got {tuple(numbers.shape)}",
                "Flatten each instance.",
            )
        require_finite(numbers, "features")
    for name in ("group", "id"):
        array = parts.beside.get(name)
        if array is not None and array.ndim != 1:
            raise InputError(
                f"`{name}`", "must have shape (n,)", f"got {tuple(array.shape)}", "Use one column."
            )
    classes = parts.classes
    if classes is None:
        return
    if not isinstance(predictions, ClassPredictions | LabelCounts):
        raise InputTypeError(
            "`classes`", "belong to class predictions", f"got {type(predictions).__name__}", "Remove them."
        )
    if len(classes) != predictions.n_classes or len(set(classes)) != len(classes):
        raise InputError(
            "`classes`",
            f"must be {predictions.n_classes} different names",
            f"got {len(classes)}, {len(set(classes))} of them different",
            "Name every class once, in the order of the last axis.",
        )


_FLAGS = {
    "from_logits": "logits",
    "from_beliefs": "belief",
    "LabelCounts": "counts",
}


def _for_files(error: CrediblyError, parts: Parts) -> CrediblyError:
    """Add to an error about arrays the words that help with a file."""
    remedy = error.remedy
    kind = next((kind for word, kind in _FLAGS.items() if word in remedy), None)
    if kind is not None and kind != parts.kind and parts.kind in ("probs", "mass"):
        remedy += f" In a file with named arrays it must be called `{FIELDS[kind][0]}`."
    if isinstance(error, InvalidRowsError) and error.subject not in _NOT_ROWS:
        remedy += " To leave these rows out: `drop_invalid=True` (`--drop-invalid`)."
    return reworded(error, remedy=remedy)


def reworded(
    error: CrediblyError,
    *,
    subject: str | None = None,
    evidence: str | None = None,
    remedy: str | None = None,
) -> CrediblyError:
    """Return an error of the same type, with the same rows, in other words."""
    words = (subject or error.subject, error.rule, evidence or error.evidence, remedy or error.remedy)
    if isinstance(error, InvalidRowsError):
        return InvalidRowsError(*words, error.rows)
    return type(error)(*words)
