"""What people and programs read: a table on a terminal, TSV in a pipe, JSON on request, notes on stderr."""

from __future__ import annotations

import dataclasses
import json
import re
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from credibly.cli import options
from credibly.results.base import jsonable

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

Cell = float | int | bool | str | tuple[float, float] | None
"""A pair is an interval: two columns in TSV, "0.1 to 0.2" on a terminal."""

# None for "no conflict found": a test that does not reject earns no green.
_COLOURS = {"conflict": "bold red", "cannot tell": "yellow"}

_UNBROKEN = 19
"""Texts up to this many letters stay on one line; longer ones may be folded."""

_ANY_WIDTH = 100_000


@dataclasses.dataclass(frozen=True)
class Table:
    """Rows under stable column names; `pairs` names the columns that hold intervals."""

    columns: tuple[str, ...]
    rows: Sequence[Sequence[Cell]]
    pairs: frozenset[str] = frozenset()

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

    def only(self, names: tuple[str, ...]) -> Table:
        """Return the table with these columns only."""
        places = [self.columns.index(name) for name in names]
        return Table(names, [[row[place] for place in places] for row in self.rows], self.pairs)


@dataclasses.dataclass(frozen=True)
class Output:
    """Where the results of one command go."""

    as_json: options.AsJson = False
    quiet: options.Quiet = False

    @property
    def terminal(self) -> bool:
        """Whether a person reads stdout."""
        return sys.stdout.isatty()

    def table(self, table: Table, *, shown: tuple[str, ...] | None = None) -> None:
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


def _draw(table: Table) -> None:
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
