"""What people and programs read: a table on a terminal, TSV in a pipe, JSON on request, notes on stderr.

Sentences of the library come in the words of the command line: Python keywords become flags. A progress line
appears on stderr after one second, with the time left, only where someone is looking.
"""

from __future__ import annotations

import dataclasses
import errno
import json
import re
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from credibly._arrays.checks import NAMED_ROWS, InvalidRowsError
from credibly._arrays.errors import CrediblyError, Remedy
from credibly.calls.options import Option
from credibly.calls.verbs import VERBS
from credibly.results.base import jsonable

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress, TaskID
    from rich.text import Text

Cell = float | int | bool | str | tuple[float, float] | None
"""A pair is an interval: two columns in TSV, "0.1 to 0.2" on a terminal."""

# None for "no conflict found": a test that does not reject earns no green.
_COLOURS = {"conflict": "bold red", "cannot tell": "yellow"}

_UNBROKEN = 19
"""Texts up to this many letters stay on one line; longer ones may be folded."""

_ANY_WIDTH = 100_000

_DATA = frozenset({"labels", "classes", "columns", "id", "levels", "clusters", "member_weights", "weights"})
"""Names of arrays too: an argument only where a value is given."""


def flags_of(rows: Iterable[Option]) -> dict[str, str]:
    """Return the flags by keywords of the library; one of several values is also known by its own name."""
    flags: dict[str, str] = {}
    for row in rows:
        flags |= {row.name: row.flag} | ({row.flag[2:]: row.flag} if row.many else {})
    return flags


FLAGS = flags_of(row for verb in VERBS.values() for row in verb.rows)
"""Arguments of the library, and the flags they are in some verb."""

PAIRS = frozenset({"interval", "acceptance", "pvalue_interval"})
"""Columns that hold intervals, whatever the table is about."""

MOST_ROWS = 100
"""Rows that an error lists; who needs more of them has another problem."""

PATIENCE = 1.0
"""Seconds before anything is shown: short commands stay silent."""


@dataclasses.dataclass(frozen=True)
class TextTable:
    """Rows under stable column names; `pairs` names the columns that hold intervals."""

    columns: tuple[str, ...]
    rows: Sequence[Sequence[Cell]]
    pairs: frozenset[str] = PAIRS

    def to_tsv(self) -> str:
        """Return tab-separated text in full precision, header first."""
        header: list[str] = []
        for name in self.columns:
            header += [f"{name}_low", f"{name}_high"] if name in self.pairs else [name]
        lines = ["\t".join(header)]
        for row in self.rows:
            cells: list[str] = []
            for name, cell in zip(self.columns, row, strict=True):
                if isinstance(cell, tuple):
                    cells += map(exact, cell)
                else:
                    cells += [exact(cell)] * (2 if name in self.pairs else 1)
            lines.append("\t".join(cells))
        return "\n".join(lines)

    def only(self, names: tuple[str, ...]) -> TextTable:
        """Return the table with these columns only."""
        indices = [self.columns.index(name) for name in names]
        return TextTable(names, [[row[place] for place in indices] for row in self.rows], self.pairs)


def row_of(columns: Iterable[str], *sources: object, **beside: Cell) -> tuple[Cell, ...]:
    """Return a row: a cell is given by name, or an attribute of the first source that has it, or empty."""
    source_of = {name: next((at for at in sources if hasattr(at, name)), None) for name in columns}
    return tuple(
        beside[name] if name in beside else getattr(at, name, None) for name, at in source_of.items()
    )


@dataclasses.dataclass(frozen=True)
class Output:
    """Where the results of one command go."""

    as_json: bool = False
    quiet: bool = False

    @property
    def terminal(self) -> bool:
        """Whether a person reads stdout."""
        return sys.stdout.isatty()

    def table(self, table: TextTable, *, shown: tuple[str, ...] | None = None) -> None:
        """Print a table: tab-separated for a program, drawn for a person (there only columns `shown`)."""
        if self.terminal:
            _draw(table if shown is None else table.only(shown))
        else:
            self.line(table.to_tsv())

    def pairs(self, pairs: Iterable[tuple[str, str]], *, heading: str | None = None) -> None:
        """Print a short word and a longer text per line; a heading is for people only."""
        if not self.terminal:
            for word, text in pairs:
                self.line(f"{exact(word)}\t{exact(text)}")
            return
        from rich.table import Table as Grid
        from rich.text import Text

        console = _console()
        if heading is not None:
            console.print(Text(printable(heading), style="bold"))
        grid = Grid.grid(padding=(0, 2))
        grid.add_column(no_wrap=True)
        grid.add_column()
        for word, text in pairs:
            grid.add_row(_text(word), _text(text))
        console.print(grid)

    def json(self, value: Any) -> None:
        """Print a value as JSON."""
        self.line(json.dumps(jsonable(value), indent=2, allow_nan=False))

    def line(self, text: str) -> None:
        """Print text on stdout as it is."""
        sys.stdout.write(f"{text}\n")

    def instead(self, text: str) -> None:
        """Print on stderr, also where quiet, why there is no result."""
        sys.stderr.write(f"credibly: {printable(text)}\n")

    def notes(self, notes: Iterable[str]) -> None:
        """Print each distinct note on stderr, unless quiet."""
        if not self.quiet:
            for note in dict.fromkeys(notes):
                sys.stderr.write(f"note: {printable(note)}\n")


def printable(text: str) -> str:
    """Return one line without control characters: names and paths from files must not steer a terminal."""
    spaced = re.sub(r"\s+", " ", text).strip()
    return "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in spaced)


def exact(cell: float | int | bool | str | None) -> str:
    """Return a cell for programs: nothing is rounded."""
    if cell is None:
        return ""
    if isinstance(cell, bool):
        return str(cell).lower()
    if isinstance(cell, float):
        return repr(float(cell))  # a number of NumPy would print its type
    return printable(cell) if isinstance(cell, str) else repr(cell)


def rounded(cell: Cell) -> str:
    """Return a cell for people: four digits."""
    if isinstance(cell, tuple):
        return f"{rounded(cell[0])} to {rounded(cell[1])}"
    # + 0.0: a difference of -0.0 is no difference
    return f"{cell + 0.0:.4g}" if isinstance(cell, float) else exact(cell)


def _console() -> Console:
    from rich.console import Console

    return Console(file=sys.stdout, highlight=False, markup=False, emoji=False)


def _text(cell: Cell) -> Text:
    from rich.text import Text

    return Text(rounded(cell), style=_COLOURS.get(cell, "") if isinstance(cell, str) else "")


def _draw(table: TextTable) -> None:
    """Draw a table, or one block per row where the terminal is too narrow for its columns."""
    from rich import box
    from rich.measure import Measurement
    from rich.table import Table as Drawn

    console = _console()
    drawn = Drawn(box=box.SIMPLE_HEAD, pad_edge=False)
    for place, name in enumerate(table.columns):
        cells = [row[place] for row in table.rows]
        numbers = not any(isinstance(cell, str) for cell in cells)
        widest = max((len(rounded(cell)) for cell in cells), default=0)
        drawn.add_column(
            name.replace("_", " "),
            justify="right" if numbers else "left",
            no_wrap=numbers or widest <= _UNBROKEN,
            min_width=widest if numbers else min(widest, _UNBROKEN),
        )
    for row in table.rows:
        drawn.add_row(*map(_text, row))
    if Measurement.get(console, console.options.update(max_width=_ANY_WIDTH), drawn).minimum <= console.width:
        console.print(drawn)
        return
    for row in table.rows:
        block = Drawn.grid(padding=(0, 2))
        block.add_column(style="dim", no_wrap=True)
        block.add_column()
        for name, cell in zip(table.columns, row, strict=True):
            if cell not in (None, ""):
                block.add_row(name.replace("_", " "), _text(cell))
        console.print(block)
        console.print()


def with_flags(text: str) -> str:
    """Return a note or a remedy with flags in place of arguments: what stands in backticks is code."""
    if isinstance(text, Remedy):
        text = text.elsewhere + (f" Use `--kind {text.kind}`." if text.kind else "")
    parts = text.split("`")
    parts[1::2] = map(_flag, parts[1::2])
    return "`".join(parts)


def _flag(code: str) -> str:
    """Return `name`, `name=` or `name=value` as a flag that the verb at hand has; other code as it is."""
    name, equals, value = code.partition("=")
    value = value.strip("\"'")
    flags = _flags()
    if code.startswith("--"):
        return _had(code, flags)
    flag = flags.get(name) or (FLAGS.get(name) if equals else None)
    if flag is None or "(" in value or (name in _DATA and not equals):
        return code
    return _had(flag if value in ("", "True") else f"{flag} {value}", flags)


def _flags() -> dict[str, str]:
    """Return keywords and the flags they are in the verb at hand."""
    context = click.get_current_context(silent=True)
    rows = getattr(None if context is None else context.command, "rows", None)
    return FLAGS if rows is None else flags_of(rows.values())


def _had(words: str, flags: dict[str, str]) -> str:
    """Return words that begin with a flag, behind a verb that has it if the verb at hand has not."""
    flag = words.split()[0]
    if flag in flags.values():
        return words
    verbs = (name for name, verb in VERBS.items() if any(row.flag == flag for row in verb.rows))
    return f"credibly {next(verbs)} {words}" if flag in FLAGS.values() else words


def sentence(error: CrediblyError) -> str:
    """Return an error of the library in one line."""
    # paths stand in the evidence, and a path is never reworded
    subject, rule, remedy = with_flags(error.subject), with_flags(error.rule), with_flags(error.remedy)
    if isinstance(error, InvalidRowsError):
        remedy += all_rows(error.rows)
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


class ProgressLine:
    """Called with (stage, done, total); draws one line that is wiped when the work ends."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._began = self._stage_began = self._last_call = clock()
        self._stage = ""
        self._drawn: tuple[Progress, TaskID] | None = None

    def __call__(self, stage: str, done: int, total: int) -> None:
        """Show how much of this stage is done, once the patience is over."""
        now = self._clock()
        if stage != self._stage:
            self._stage, self._stage_began = stage, self._last_call
        self._last_call = now
        if now - self._began < PATIENCE or done < 1:
            return
        if self._drawn is None:
            self._drawn = _start()
        left = (now - self._stage_began) * (total - done) / done
        bar, task = self._drawn
        words = f"{left:.0f} s left"
        bar.update(task, description=stage, completed=done, total=total, left=words, refresh=True)

    def close(self) -> None:
        """Wipe the line."""
        if self._drawn is not None:
            self._drawn[0].stop()


def _start() -> tuple[Progress, TaskID]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[left]}"))
    bar = Progress(
        *columns,
        console=Console(file=sys.stderr),
        transient=True,
        auto_refresh=False,
        redirect_stdout=False,  # results go where the user sent them, not to the progress line
        redirect_stderr=False,
    )
    bar.start()
    return bar, bar.add_task("", left="")


def stage(line: ProgressLine | None, name: str) -> Callable[[int, int], None] | None:
    """Return what reports the steps of one stage; None without a line."""
    return None if line is None else partial(line, name)


@contextmanager
def progress(*, quiet: bool) -> Iterator[ProgressLine | None]:
    """Give a progress line, or None where nobody would see one."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    line = ProgressLine()
    try:
        yield line
    finally:
        line.close()
