"""The commands that a report suggests, with the flags that its own command had."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from credibly.evaluation.work import Work


def file_of(work: Work, *, plan: bool = False, claimed: bool = True) -> str | None:
    """Return the file as a shell takes it, None for arrays; bundled data have no file of the reader's.

    A plan takes rows as independent, and ends that are read as quantiles claim no coverage.
    """
    if str(work.source.get("command", "")).startswith("credibly demo"):
        return "FILE"
    path = work.source.get("path")
    dropped = (*(_DEPENDENCE if plan else ()), *(() if claimed else ("--claimed",)))
    kept = [one for one in _READING if one not in dropped]
    read = *_how_read(work, kept), *_switches(work)
    return shlex.join([str(path), *read]) if path else None


_DEPENDENCE = ("--clusters", "--blocks")


_COLUMNS = ("--labels", "--columns", "--exclude", "--ignore-label", "--id", "--classes", "--levels")


_READING = (
    *_COLUMNS,
    "--kind",
    "--member-axis",
    "--member-weights",
    "--n-raters",
    "--claimed",
    *_DEPENDENCE,
)
"""Flags that say how a file is read, each with a value: without them the next command would not run."""


def _how_read(work: Work, kept: Sequence[str]) -> list[str]:
    """Return the flags of a recorded command that the next one needs, too, each with its value."""
    words = shlex.split(str(work.source.get("command", "")))
    return [one for at, flag in enumerate(words[:-1]) if flag in kept for one in (flag, words[at + 1])]


def _switches(work: Work) -> list[str]:
    """Return those without a value."""
    words = shlex.split(str(work.source.get("command", "")))
    return [flag for flag in words if flag in ("--drop-invalid", "--normalise")]


def fit_command(file: str | None, method: str, by: str | None = None) -> str:
    """Write how a recalibration is fitted; `by` names the attribute whose groups have one of their own."""
    if file is None:
        groups = "" if by is None else f", groups={by}"
        return f'cr.recalibration_report(predictions, labels, ["{method}"]{groups})'
    column = "" if by is None else f" --by {shlex.quote(by)}"
    return f"credibly calibrate fit {file} calibration.json --method {method}{column}"


def ends_command(file: str | None, claimed: float) -> str:
    """Write how the ends of intervals are recalibrated, as the quantiles of their claimed coverage."""
    low, high = (f"{0.5 + sign * claimed / 2:.6g}" for sign in (-1, 1))
    if file is None:
        ends = f"cr.Quantiles(np.stack([lower, upper], axis=1), [{low}, {high}])"
        return f"cr.recalibrate.QuantileShift().fit({ends}, labels)"
    return f"credibly calibrate fit {file} calibration.json --levels {low},{high} --method levels"


def plan_command(file: str | None, margin: float) -> str:
    """Write how labels are planned."""
    if file is None:
        return f"cr.plan_labels(predictions, gap={margin:g})"
    return f"credibly plan {file} --gap {margin:g}"


def groups_command(file: str | None) -> str:
    """Write how an evaluation is repeated group by group."""
    if file is None:
        return "cr.evaluate(predictions, labels, groups=groups)"
    return f"credibly report {file} --by COLUMN --force"


def audit_command(file: str | None) -> str:
    """Write how groups are looked at."""
    return (
        "cr.evaluate(predictions, labels, groups=groups)"
        if file is None
        else f"credibly audit {file} --by COLUMN"
    )
