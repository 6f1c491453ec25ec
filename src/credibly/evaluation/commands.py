"""The record of a call of `evaluate` or `compare`, and the commands that a report suggests next."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from credibly._arrays.philox import Seed
from credibly.calls import Call, plain
from credibly.evaluation.work import Work
from credibly.predictions import Dataset
from credibly.predictions.clusters import COPIES
from credibly.statistics import Statistic
from credibly.statistics.registry import as_statistic, registered

_BY_NAME = ("groups", "clusters", "classes")
"""What may be said about a file: columns by their names."""
_OF_ROWS = ("groups", "clusters", "features")
_FITTED, _NO_CLAIM = "calibration.json", ("claimed",)
_BY_GROUP = "cr.evaluate(predictions, labels, groups=groups)"
_NOT_SAID = ("predictions", "models", "labels", "progress", "source")


def recorded_call(verb: str, arguments: Mapping[str, Any], seed: Seed) -> Call:
    """Return the record of a call from Python.

    Parameters
    ----------
    verb : str
        "evaluate" or "compare".
    arguments : mapping of str to object
        All arguments by their names.
    seed : Seed
        The seed that `rng` stands for.

    Returns
    -------
    Call
        Numbers, names and lists of them are recorded as they are, defaults too, all else by the name of its
        argument.
    """
    about: Any = arguments.get("predictions")
    reading: dict[str, Any] = {}
    options: dict[str, Any] = {}
    objects: list[str] = []
    from_file = isinstance(about, (str, os.PathLike))
    files: tuple[str, ...] = (os.fspath(about),) if from_file else ()
    if isinstance(about, Dataset) and about.read is not None:
        files, reading = (about.source,), dict(about.read)
    elif not files:
        objects += [name for name in ("predictions", "models") if name in arguments]
        files = tuple(str(path) for path in [(arguments["source"] or {}).get("path")] if path)
    labels = arguments["labels"]
    if isinstance(labels, (str, os.PathLike)):
        (reading if from_file else options)["labels"] = os.fspath(labels)
    elif labels is not None:
        objects.append("labels")
    for name, value in arguments.items():
        if name in _NOT_SAID or value is None:
            continue
        drawn = name == "rng" and not isinstance(value, (int, np.integer))
        written = list(seed) if drawn else plain(_named(value))
        if name in _OF_ROWS and isinstance(written, list) and not (from_file or hasattr(about, "columns")):
            written = None  # a value per row, no names of columns
        if written is None:
            objects.append(name)
        elif from_file and name in _BY_NAME and written != COPIES:
            reading[name] = [written] if name == "groups" and isinstance(written, str) else written
        else:
            options[name] = written
    return Call(verb, files, reading, options, tuple(objects), typed=False)


def _named(value: Any) -> Any:
    """Return the name of a statistic with the settings that its name stands for; all else as it is."""
    if isinstance(value, (list, tuple)):
        return [_named(item) for item in value]
    known = isinstance(value, Statistic) and value.name in registered()
    return value.name if known and as_statistic(value.name) == value else value


def _next(
    work: Work, verb: str, *arguments: str, without: tuple[str, ...] = (), **options: Any
) -> str | None:
    """Return what is typed next about the data of an evaluation; None if they came from no file."""
    return Call.of(work.source["call"]).then(verb, *arguments, without=without, **options)


def fit_command(work: Work, method: str, by: str | None = None) -> str:
    """Write how a recalibration is fitted; `by` names the attribute whose groups have one of their own."""
    columns = {} if by is None else {"groups": [by]}
    command = _next(work, "calibrate fit", _FITTED, without=_NO_CLAIM, method=method, **columns)
    groups = "" if by is None else f", groups={by}"
    return command or f'cr.recalibration_report(predictions, labels, ["{method}"]{groups})'


def ends_command(work: Work, claimed: float) -> str:
    """Write how the ends of intervals are recalibrated, as the quantiles of their claimed coverage."""
    low, high = (f"{0.5 + sign * claimed / 2:.6g}" for sign in (-1, 1))
    levels = [float(low), float(high)]
    command = _next(work, "calibrate fit", _FITTED, without=_NO_CLAIM, levels=levels, method="levels")
    ends = f"cr.Quantiles(np.stack([lower, upper], axis=1), [{low}, {high}])"
    return command or f"cr.recalibrate.QuantileShift().fit({ends}, labels)"


def plan_command(work: Work) -> str:
    """Write how labels are planned; rows are taken as independent."""
    return _next(work, "plan", gap=work.margin) or f"cr.plan_labels(predictions, gap={work.margin:g})"


def groups_command(work: Work) -> str:
    """Write how an evaluation is repeated group by group."""
    return _next(work, "report", groups=["COLUMN"], overwrite=True) or _BY_GROUP


def audit_command(work: Work) -> str:
    """Write how groups are looked at."""
    return _next(work, "audit", groups=["COLUMN"]) or _BY_GROUP
