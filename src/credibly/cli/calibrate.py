"""`credibly calibrate`: fit a recalibration, apply it to other predictions, compare several on folds."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from credibly._arrays.errors import FileError, InputError, one_of
from credibly._arrays.namespace import to_host
from credibly._arrays.notes import unsaid, without_warnings
from credibly.calls.options import DRAWS, FOLDS, STATISTIC
from credibly.cli.output import Output, TextTable, progress, row_of, stage, with_flags
from credibly.cli.reading import Typed, labelled, read, require_elsewhere, require_new_file
from credibly.evaluation import evaluate
from credibly.io import require_writable, save
from credibly.predictions import Confidence, Counts, Dataset, Intervals
from credibly.predictions.confidence import OUTCOMES
from credibly.recalibrate import Recalibration, recalibration_report
from credibly.recalibrate import load as load_recalibration
from credibly.recalibrate.files import named_recalibration, names_for
from credibly.results.estimates import interval_of
from credibly.results.recalibration import RecalibrationReport

COLUMNS = (
    "method",
    "statistic",
    "before",
    "after",
    "difference",
    "stderr",
    "interval",
    "pvalue_before",
    "pvalue_after",
    "n",
)


_WITHOUT_META = (".csv", ".tsv")
"""Tables of text, which have no place for what was done to the predictions."""


def fit_file(typed: Typed, output: Output) -> None:
    """Fit a recalibration on predictions and labels."""
    out, seed = typed.out, typed.rng
    chosen = None if typed.method is None else named_recalibration(typed.method)
    require_elsewhere(out, typed.file, typed.labels)
    require_writable(out, overwrite=typed.overwrite)
    data = _answers(labelled(typed.file, typed, output), output)
    groups, why = data.groups, ""
    if chosen is None:
        chosen, groups, why = _repair(data, seed, output)
    elif typed.groups is None:  # a column `group` that nobody named changes no method
        groups = None
    if not chosen.parts[0].takes(data.predictions) and names_for(data.predictions):
        kind = type(data.predictions).__name__
        one_of(f"`--method` for {kind} predictions", typed.method, names_for(data.predictions))
    for step in chosen.parts:
        if hasattr(step, "rng"):  # folds that choose a penalty, or a held-out part
            step.rng = seed
    with _warnings_as_notes(output):
        chosen.fit(
            data.predictions,
            data.labels,
            features=data.features if chosen.takes_features else None,
            groups=None if groups is None else _one_group(groups),
        )
    written = chosen.save(out, overwrite=typed.overwrite)
    if output.as_json:
        output.json({**chosen.to_dict(), "written": str(written), "why": why or None})
        return
    ended = chosen.convergence
    assert ended is not None
    output.line(str(written))
    facts = [
        *([("because", why)] if why else []),
        ("fitted", chosen.in_words(data.classes)),
        ("converged", "yes" if ended.converged else f"no: {ended.message}"),
        ("loss before", f"{ended.loss_before:.6g}"),
        ("loss after", f"{ended.loss_after:.6g}"),
    ]
    if not output.quiet:
        output.pairs(facts)
    output.notes(map(with_flags, chosen.notes))


def _beside(data: Dataset, out: Path) -> Any:
    """Return groups, and the other columns of a table where the new file has a place for them."""
    if not data.others or out.suffix.lower() == ".npy":
        return data.groups
    groups = data.groups if isinstance(data.groups, Mapping) else {"group": data.groups}
    return {name: column for name, column in {**groups, **data.others}.items() if column is not None}


def apply_file(typed: Typed, output: Output) -> None:
    """Apply a fitted recalibration to other predictions."""
    recalibration, out = typed.recalibration, typed.out
    require_new_file(typed, typed.file, recalibration)
    if recalibration.suffix != ".json" and Path(typed.file).suffix == ".json":
        raise FileError(
            f"'{recalibration}'",
            "must be a file written by `credibly calibrate fit`",
            f"the JSON file is the second one, '{typed.file}'",
            f"Swap them: `credibly calibrate apply {typed.file} {recalibration} {out}`.",
        )
    chosen = load_recalibration(recalibration)
    data = _answers(read(typed.file, typed, output), output)
    with without_warnings():  # the same words stand in the notes of what is made
        made = chosen.apply(
            data.predictions,
            features=_features(chosen, data.features),
            groups=_one_group(data.groups) if typed.groups is not None or chosen.fitted_by_group else None,
        )
    applied = {} if out.suffix.lower() in _WITHOUT_META else {"recalibration": chosen.describe()}
    meta = {**data.meta, **applied}
    recalibrated = dataclasses.replace(data, predictions=made, groups=_beside(data, out), meta=meta)
    written = save(out, recalibrated, overwrite=typed.overwrite)
    if output.as_json:
        output.json({"written": str(written), "n": len(made), "applied": chosen.describe()})
        return
    output.line(str(written))
    output.notes(map(with_flags, made.notes))


def compare_file(typed: Typed, output: Output) -> None:
    """Compare statistics before and after, on held-out folds."""
    methods = typed.methods
    data = _answers(labelled(typed.file, typed, output), output)
    by_group = typed.groups is not None
    if by_group and methods is not None and not any(named_recalibration(m).takes_groups for m in methods):
        raise InputError(
            "`--by`",
            "must go with a method that is fitted by group",
            f"got {', '.join(methods)}",
            "Add `--method temperature`, `bias`, `platt` or, for real values, `shift` or `scale`.",
        )
    with progress(quiet=output.quiet) as tell, _warnings_as_notes(output):
        report = recalibration_report(
            data.predictions,
            data.labels,
            methods,
            features=data.features,
            groups=_one_group(data.groups) if by_group else None,
            **typed.of((FOLDS, STATISTIC, *DRAWS)),
            progress=stage(tell, "methods"),
            clusters=data.clusters,
        )
    if output.as_json:
        output.json(report.to_dict())
        return
    output.table(_table(report), shown=("method", "statistic", "before", "after", "interval"))
    output.notes(unsaid(report.notes, data.notes))
    for name, method in report.methods.items():
        if method.failure is not None:
            output.instead(f"{name} could not be fitted: {with_flags(method.failure)}")
        else:
            output.notes([f"{name}: {method.description} when fitted on all instances"])


def _answers(data: Dataset, output: Output) -> Dataset:
    """Return the most probable option of short lists as an answer with a confidence, as `evaluate` does."""
    lists = data.predictions
    if not isinstance(lists, Intervals) or lists.listed is None:
        return data
    labels = None if data.labels is None else data.batch
    if isinstance(labels, Counts):
        return data
    option, stated = to_host(lists.listed)[:, :2].T
    known = np.flatnonzero(stated > 0)
    right = None if labels is None else (to_host(labels.values)[0] == option)[known].astype(np.int64)
    output.notes(["of each list, the most probable option is repaired, as an answer with a confidence"])
    stated = Confidence(stated[known])
    return dataclasses.replace(data.take(known), predictions=stated, labels=right, classes=OUTCOMES)


def _repair(data: Dataset, seed: int, output: Output) -> tuple[Recalibration, Any, str]:
    """Return the repair that the headline of these data advises, its groups, and what is wrong."""
    with progress(quiet=output.quiet) as tell:
        evaluation = evaluate(data, rng=seed, progress=tell)
    diagnosis, headline = evaluation.diagnosis, evaluation.headline
    assert headline is not None
    if diagnosis is None or diagnosis.repair is None or headline.word != "conflict":
        raise InputError(
            f"'{data.source}'",
            "must show a fault that a repair mends, if no `--method` is named",
            headline.sentence.rstrip("."),
            "Leave the predictions as they are, or name a repair, such as `--method temperature`.",
        )
    why = " ".join(filter(None, (headline.sentence, headline.remedy)))
    method, by = diagnosis.repair.method, diagnosis.repair.by
    if by is None:
        return named_recalibration(method), None, why
    groups = data.groups[by] if isinstance(data.groups, Mapping) else data.groups
    return named_recalibration(method), groups, why


def _one_group(groups: Any) -> Any:
    """Return one group per instance; several attributes are crossed, value by value."""
    if not isinstance(groups, Mapping):
        return groups
    columns = (np.asarray(column).astype(str) for column in groups.values())
    return np.array([" / ".join(row) for row in zip(*columns, strict=True)])


def _features(chosen: Recalibration, features: Any) -> Any:
    """Return the features where the fit had some of its own."""
    used = any(getattr(step, "own_features", step.takes_features) for step in chosen.parts)
    return features if used else None


def _table(report: RecalibrationReport) -> TextTable:
    rows = []
    for name, method in report.methods.items():
        for change in method.changes.values():
            cells = {"method": name, "statistic": change.name, "interval": interval_of(change.difference)}
            for side in ("before", "after"):
                test = getattr(change, f"test_{side}")
                pvalue = None if test is None else test.deciding_pvalue
                cells |= {side: getattr(change, side).value, f"pvalue_{side}": pvalue}
            rows.append(row_of(COLUMNS, change.difference, difference=change.difference.value, **cells))
    return TextTable(COLUMNS, rows)


@contextmanager
def _warnings_as_notes(output: Output) -> Iterator[None]:
    """Print the library's warnings as notes."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        yield
    output.notes(
        with_flags(str(warning.message)) for warning in caught if issubclass(warning.category, UserWarning)
    )
