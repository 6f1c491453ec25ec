"""How a headline writes sizes, shares and intervals, and the commands that it suggests."""

from __future__ import annotations

import json
import math
import shlex
from collections.abc import Sequence

from credibly._arrays.errors import UnsupportedError
from credibly._arrays.notes import counted
from credibly.evaluation.work import Work
from credibly.predictions import Rows
from credibly.results.estimates import Estimate

FEW = 0.1
"""Data that leave an average gap of ten points possible tell nothing."""


def points(share: float) -> str:
    """Write a difference of shares in points of probability."""
    size = abs(100.0 * share)
    digits = f"{size:.0f}" if size >= 9.95 else f"{size:.1f}"
    return f"{digits} point" if digits == "1.0" else f"{digits} points"


def at_most(share: float) -> str:
    """Write an upper bound in points of probability, rounded up."""
    step = 0.001 if share < 0.0995 else 0.01
    return points(step * math.ceil(share / step - 1e-9))


def seen(rows: Rows, work: Work) -> str:
    """Say how many instances there are, and in how many clusters."""
    instances, clusters = counted(rows.n, "instance"), work.summary.n_clusters
    return instances if clusters is None else f"{instances} of {counted(clusters, 'cluster')}"


def percents(*shares: float) -> list[str]:
    """Write shares as per cent, with a digit more where they would look the same."""
    whole = [f"{100 * share:.0f}" for share in shares]
    if len(set(whole)) < len(shares) or "100" in whole or "0" in whole:
        whole = [f"{100 * share:.1f}" for share in shares]
    return [f"{digits} %" for digits in whole]


def sure(work: Work) -> str:
    """Write how sure a bound is."""
    return f"{100 * (1 - work.level):.4g} % sure"


def interval_of(estimate: Estimate) -> tuple[float, float] | None:
    """Return the interval of an estimate; None where it refuses one."""
    try:
        low, high = estimate.interval()
    except UnsupportedError:
        return None
    return float(low), float(high)


def within(interval: tuple[float, float] | None) -> str:
    """Write an interval of a gap in points."""
    if interval is None:
        return ""
    low, high = sorted(abs(100 * end) for end in interval)
    if interval[0] < 0 < interval[1]:
        unsure, certain = -100 * interval[0], 100 * interval[1]
        return f" (95 %: {unsure:.1f} too unsure to {certain:.1f} too sure)"
    return f" (95 %: {low:.1f} to {high:.1f})"


def clustered(work: Work) -> str:
    """Say that chance is that of clusters, where rows belong together."""
    clusters = work.summary.n_clusters
    return "" if clusters is None else f" in {clusters} independent clusters of rows"


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


def groups_of(work: Work) -> str:
    """Return the flag that names the columns of groups, as it was typed; nothing where none was."""
    return shlex.join(_how_read(work, ["--by"]))


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


def compare_command(file: str | None, methods: tuple[str, ...] = ("temperature", "vector", "matrix")) -> str:
    """Write how recalibrations are compared."""
    if file is None:
        return f"cr.recalibration_report(predictions, labels, {json.dumps(methods)})"
    return f"credibly calibrate compare {file} {' '.join(f'--method {one}' for one in methods)}"


def again_command(file: str | None) -> str:
    """Write how new predictions are evaluated."""
    return "cr.evaluate(predictions, labels)" if file is None else f"credibly report {file} --force"


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
