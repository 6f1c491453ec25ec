"""The library's sentences in the words of the command line: Python keywords become flags."""

from __future__ import annotations

import errno
import re
from collections.abc import Sequence

from credibly._arrays.checks import NAMED_ROWS, InvalidRowsError
from credibly._arrays.errors import CrediblyError
from credibly.cli.output import printable

# What a Python user would write, and what to type instead.
_NAMES: tuple[tuple[str, str], ...] = (
    (r"`labels=`", "`--labels`"),
    (r"`rng=?`", "`--seed`"),
    (r"`(kind|method|model|statistic|tradeoff|measure|divergence|budget|paper|alternative)s?=?`", r"`--\1`"),
    (r"`(measure)=\"(\w+)\"`", r"`--\1 \2`"),
    (r"`(member|n|chunk)_(axis|bins|resamples|rows)=?`", r"`--\1-\2`"),
)
_CALLS: tuple[tuple[str, str], ...] = (
    (r"`[^`]*` \((`--[^`]+`)\)", r"\1"),  # the reader of files names both
    (r"`?\boverwrite=True\b`?", "`--force`"),
    (r"`?\bdrop_invalid=True\b`?", "`--drop-invalid`"),
    (r"`?\bskip_bad_shards=True\b`?", "`--skip-bad-shards`"),
    (r"`?\bmember_axis=(\d)`?", r"`--member-axis \1`"),
    (r"`?\b(kind|labels)=[\"']?([\w./-]+)[\"']?`?", r"`--\1 \2`"),
    (r"`?\bhypothesis=[\"'](\w+)[\"']`?", r"`--hypothesis \1`"),
    (
        r"None, a non-negative int or several, or a numpy SeedSequence, BitGenerator or Generator",
        "a non-negative integer",
    ),
    (r", or `rng=numpy[^`]*`", ""),
    (r"`?\brng=(\d+)`?", r"`--seed \1`"),
    (r"`(?:Point|Ensemble)\.from_logits`", "`--kind logits`"),
    (r", or use `\w+\.from_scores` to normalise on purpose", ""),
)

MOST_ROWS = 100
"""Rows that an error lists; who needs more of them has another problem."""


def with_flags(text: str) -> str:
    """Return a note or a remedy with flags instead of Python."""
    return _reworded(text, (*_CALLS, *_NAMES))


def sentence(error: CrediblyError) -> str:
    """Return an error of the library in one line."""
    # Paths stand in the subject and in the evidence, and a path is never reworded.
    subject, rule, remedy = _reworded(error.subject, _NAMES), with_flags(error.rule), with_flags(error.remedy)
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


def _reworded(text: str, rules: tuple[tuple[str, str], ...]) -> str:
    for pattern, flag in rules:
        text = re.sub(pattern, flag, text)
    return text
