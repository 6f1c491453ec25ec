"""What a study of a paper found: tables, pictures, and the paper's claims with what became of them."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from credibly.evaluation import shown, shown_range
from credibly.plots import Picture, whole_figure
from credibly.results.base import SCHEMA_VERSION, Result, jsonable

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Cell = float | int | bool | str | tuple[float, float] | None
"""A pair is an interval."""

Drawing = Callable[[], "Figure"]
"""Draws one figure; called only where it is wanted."""

Outcome = Literal["confirmed", "not confirmed", "cannot tell"]

Design = Literal["", "as printed", "smaller", "another"]
"""Whether our experiment is the paper's: its settings and sizes; the same with fewer data sets or less
training; another one, such as other networks and data; or none."""


@dataclasses.dataclass(frozen=True)
class StudyTable:
    """Rows under column names.

    Parameters
    ----------
    name : str
        What its file is called.
    title : str
        What it shows, in one line.
    columns : tuple of str
        Names of the columns.
    rows : sequence of tuples
        Texts, numbers, or intervals as pairs; None where there is nothing.
    on_page : bool
        Whether people read it: long tables are for programs.
    in_json : bool
        Whether ``result.json`` keeps it although people do not read it.
    """

    name: str
    title: str
    columns: tuple[str, ...]
    rows: Sequence[tuple[Cell, ...]]
    on_page: bool = True
    in_json: bool = False

    @property
    def intervals(self) -> frozenset[str]:
        """Columns that hold intervals."""
        places = range(len(self.columns))
        return frozenset(
            self.columns[place] for place in places if any(isinstance(row[place], tuple) for row in self.rows)
        )

    def records(self) -> list[dict[str, Cell]]:
        """Return one mapping per row, from column to cell."""
        return [dict(zip(self.columns, row, strict=True)) for row in self.rows]

    def markdown(self) -> str:
        """Return the table for people: three digits, intervals as "0.1 to 0.2"."""
        lines = [self.columns, ("---",) * len(self.columns)]
        lines += [tuple(map(_written, row)) for row in self.rows]
        return "\n".join(f"| {' | '.join(line)} |" for line in lines)


@dataclasses.dataclass(frozen=True)
class Claim:
    """What a paper says, what its own numbers say about it, and what an experiment here found.

    Records of several studies that have the same place and statement are about the same claim
    (`credibly_studies.ledger` puts them into one row).

    Parameters
    ----------
    place : str
        Where it says so, such as ``"M23 Fig. 1"``.
    statement : str
        What it says, in our words.
    printed : str
        What the paper prints about it.
    found : str
        What an experiment found here, with intervals; empty if there was none.
    outcome : {"confirmed", "not confirmed", "cannot tell", ""}
        What the experiment says; empty if there was none.
    why : str
        If it differs: the reason.
    design : str
        Whether our experiment is the paper's.
    by_print : str
        What the paper's own numbers say, if it prints any.
    further : bool
        Whether this is a check of ours that no sentence of the paper claims.
    """

    place: str
    statement: str
    printed: str
    found: str = ""
    outcome: Outcome | Literal[""] = ""
    why: str = ""
    design: Design = ""
    by_print: Outcome | Literal[""] = ""
    further: bool = False

    def __str__(self) -> str:
        said = f"{self.outcome}: " if self.outcome else ""
        return f"{said}{self.place}, {self.statement}; found {self.found or 'by no experiment'}"


def printed_claim(place: str, statement: str, printed: str, outcome: Outcome, why: str = "") -> Claim:
    """Return a claim that only the paper's own numbers are asked about: no experiment, no outcome of one."""
    return Claim(place, statement, printed, why=why, by_print=outcome)


@dataclasses.dataclass(frozen=True)
class Findings:
    """What the work of a study gives back.

    Parameters
    ----------
    tables : sequence of StudyTable
        The first is the one to show.
    claims : sequence of Claim
        Claims of the paper that were checked.
    drawings : mapping of str to callable
        Figures by name, drawn when called.
    details : mapping of str to Result
        Results behind the tables, too long for a page: all p-values of a power study.
    """

    tables: Sequence[StudyTable]
    claims: Sequence[Claim] = ()
    drawings: Mapping[str, Drawing] = dataclasses.field(default_factory=dict)
    details: Mapping[str, Result] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True, eq=False)
class StudyResult(Result):
    """A study that was run.

    Attributes
    ----------
    name, title, reference : str
        Of the study.
    size : str
        "small" or "full".
    settings : mapping
        Everything needed to repeat it: version, seed and the numbers of its size.
    findings : Findings
        Tables, claims, drawings, details.
    """

    name: str
    title: str
    reference: str
    size: str
    settings: Mapping[str, Any]
    findings: Findings

    def table(self, name: str) -> StudyTable:
        """Return a table by name.

        Parameters
        ----------
        name : str
            One of the names in ``findings.tables``.

        Returns
        -------
        StudyTable
            The table.
        """
        return {table.name: table for table in self.findings.tables}[name]

    @property
    def all_tables(self) -> tuple[StudyTable, ...]:
        """The tables, and the claims as one more where there are any."""
        claims = self.findings.claims
        return (*self.findings.tables, *([claims_table(claims)] if claims else []))

    def texts(self) -> dict[str, str]:
        """Return what is kept beside tables and figures: names of files and what they hold."""
        return {
            "result.json": json.dumps(self.to_dict(), indent=1) + "\n",
            "result.md": self.markdown(),
            **{
                f"{name}.json": json.dumps(detail.to_dict()) for name, detail in self.findings.details.items()
            },
        }

    def to_dict(self) -> dict[str, Any]:
        """Return claims and the tables that people read, JSON-safe; what is longer has files of its own."""
        return {
            "schema_version": SCHEMA_VERSION,
            "type": "StudyResult",
            "name": self.name,
            "title": self.title,
            "reference": self.reference,
            "size": self.size,
            "settings": jsonable(self.settings),
            "claims": jsonable(self.findings.claims),
            "tables": {
                table.name: jsonable(table.records())
                for table in self.findings.tables
                if table.on_page or table.in_json
            },
        }

    def markdown(self) -> str:
        """Return claims and the tables that people read, as Markdown.

        Returns
        -------
        str
            For a page of the documentation.
        """
        parts = [claims_table(self.findings.claims).markdown()] if self.findings.claims else []
        parts += [
            f"**{table.title}**\n\n{table.markdown()}" for table in self.findings.tables if table.on_page
        ]
        return "\n\n".join(parts) + "\n"

    def __str__(self) -> str:
        tested = [claim for claim in self.findings.claims if claim.outcome and not claim.further]
        agreed = sum(claim.outcome == "confirmed" for claim in tested)
        return f"StudyResult({self.name}, {self.size}, {agreed} of {len(tested)} tested claims confirmed)"

    __repr__ = __str__


def claims_table(claims: Sequence[Claim]) -> StudyTable:
    """Return the claims that one study judges as a table; checks of ours stand behind."""
    rows = [
        (
            claim.place,
            claim.statement,
            "our further check" if claim.further else claim.printed,
            claim.by_print,
            claim.design,
            claim.found,
            claim.outcome,
            claim.why,
        )
        for claim in sorted(claims, key=lambda one: one.further)
    ]
    columns = (
        "where",
        "claim",
        "printed",
        "by the printed numbers",
        "our design",
        "found here",
        "outcome",
        "why",
    )
    return StudyTable("claims", "Claims of the paper", columns, rows)


def size_in_words(size: Mapping[str, Any]) -> str:
    """Write the numbers of a size, such as "n 100, repetitions 20"."""
    return ", ".join(f"{name.replace('_', ' ')} {_several(value)}" for name, value in size.items())


def _several(value: Any) -> str:
    return " ".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)


def drawn(picture: Picture) -> Drawing:
    """Return what draws a picture on a figure of its own."""

    def draw() -> Figure:
        return whole_figure(picture.draw())

    return draw


def _written(cell: Cell) -> str:
    if cell is None:
        return ""
    if isinstance(cell, tuple):
        return shown_range(cell)
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    return cell.replace("|", "\\|") if isinstance(cell, str) else shown(float(cell))
