"""The library's sentences in the words of the command line: Python keywords become flags."""

from __future__ import annotations

import errno
from collections.abc import Sequence

from credibly._arrays.checks import NAMED_ROWS, InvalidRowsError
from credibly._arrays.errors import CrediblyError, Remedy
from credibly.cli.output import printable

_SEVERAL = ("method", "model", "statistic", "tradeoff", "alternative")
_ALIKE = ("kind", "labels", "measure", "divergence", "budget", "paper", "hypothesis")
_LONGER = ("member_axis", "n_bins", "n_resamples", "chunk_rows", "drop_invalid", "skip_bad_shards")
FLAGS: dict[str, str] = {
    "rng": "--seed",
    "overwrite": "--force",
    **{name: f"--{name}" for name in _ALIKE},
    **{name + ending: f"--{name}" for name in _SEVERAL for ending in ("", "s")},
    **{name: f"--{name.replace('_', '-')}" for name in _LONGER},
}
"""Arguments of the library, and the flags they are here."""
_DATA = frozenset({"labels"})
"""Names of arrays too: an argument only where a value is given."""

MOST_ROWS = 100
"""Rows that an error lists; who needs more of them has another problem."""


def with_flags(text: str) -> str:
    """Return a note or a remedy with flags in place of arguments: what stands in backticks is code."""
    if isinstance(text, Remedy):
        text = text.elsewhere + (f" Use `--kind {text.kind}`." if text.kind else "")
    parts = text.split("`")
    parts[1::2] = map(_flag, parts[1::2])
    return "`".join(parts)


def _flag(code: str) -> str:
    """Return `name`, `name=` or `name=value` as a flag; other code as it is."""
    name, given, value = code.partition("=")
    value = value.strip("\"'")
    if name not in FLAGS or "(" in value or (name in _DATA and not given):
        return code
    return FLAGS[name] if value in ("", "True") else f"{FLAGS[name]} {value}"


def sentence(error: CrediblyError) -> str:
    """Return an error of the library in one line."""
    # paths stand in the evidence, and a path is never reworded
    subject, rule, remedy = with_flags(error.subject), with_flags(error.rule), with_flags(error.remedy)
    if isinstance(error, InvalidRowsError):
        remedy += all_rows(error.rows)
        if "--drop-invalid" not in remedy:
            remedy += " To leave these rows out: `--drop-invalid`."
    return printable(f"{subject} {rule}; {error.evidence}. {remedy}")


def all_rows(rows: Sequence[int]) -> str:
    """List the rows of a complaint, which names only the first few itself."""
    if len(rows) <= NAMED_ROWS:
        return ""
    more = f" and {len(rows) - MOST_ROWS} more" if len(rows) > MOST_ROWS else ""
    return f" All {len(rows)} rows: {', '.join(map(str, rows[:MOST_ROWS]))}{more}."


def system_sentence(error: OSError | MemoryError) -> str:
    """Word what the operating system refused."""
    if isinstance(error, MemoryError):
        return "there is not enough memory for this; try fewer rows."
    if error.errno == errno.ENOSPC:
        return "the disk is full; free some space, or write to another one."
    where = f"{error.filename}: " if error.filename else ""
    return printable(f"{where}{error.strerror or error}.")
