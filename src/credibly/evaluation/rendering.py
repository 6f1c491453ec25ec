"""What an evaluation and a comparison share: report, data frame, notebook, terminal, a run of MLflow."""

from __future__ import annotations

import abc
import html
import json
from collections.abc import Iterable, Mapping
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from credibly._arrays.errors import MissingExtraError
from credibly.evaluation.tidy import frame
from credibly.results.base import Result

if TYPE_CHECKING:
    from rich.console import Group


class Reported(Result, abc.ABC):
    """A result that has a report. It says what it is, what was found, and how its rows read."""

    settings: Mapping[str, Any]

    _page: ClassVar[str]
    """Name that its report is given in examples and among artifacts."""
    _rows_are: ClassVar[str]
    """What the table of all rows is called."""
    _row: ClassVar[type]
    """Type of its rows: their fields are the columns of the data frame."""
    _headings: ClassVar[tuple[str, ...]]
    """Columns of the rows as text."""
    _logged: ClassVar[tuple[str, ...]]
    """Settings that are parameters of a run."""

    @property
    @abc.abstractmethod
    def heading(self) -> str:
        """What it is about, in one line."""

    @abc.abstractmethod
    def _rows(self) -> tuple[Any, ...]:
        """Return its numbers in rows."""

    @abc.abstractmethod
    def _cells(self, row: Any) -> tuple[str, ...]:
        """Return a row as text under `_headings`."""

    @abc.abstractmethod
    def _said(self) -> list[tuple[str, str]]:
        """Return what was found: a word, where there is one, and a sentence."""

    def _advice(self) -> dict[str, str]:
        """Return what to do, by the case."""
        return {}

    @abc.abstractmethod
    def _briefly(self) -> list[str]:
        """Return the lines of the summary."""

    @abc.abstractmethod
    def _metrics(self) -> dict[str, float]:
        """Return its numbers by names for a run of MLflow."""

    def report(self, path: str | Path, *, overwrite: bool = False) -> Path:
        """Write everything as one self-contained HTML file.

        Parameters
        ----------
        path : str or Path
            Where to write.
        overwrite : bool
            Replace a file that is already there.

        Returns
        -------
        Path
            The file written.
        """
        # A report is made from a finished result: this method is only its handle, so the arrow from
        # evaluation to report exists while it runs and not while the modules load.
        # tach-ignore(Reported.report is the user's handle on the room below)
        from credibly.report import write_report

        return write_report(self, path, overwrite=overwrite)

    def to_frame(self, library: Literal["pandas", "polars"] | None = None) -> Any:
        """Return all numbers as a data frame, one row per number, or per model and trade-off.

        Parameters
        ----------
        library : {"pandas", "polars"}, optional
            Whose data frame; the first that is installed where not given.

        Returns
        -------
        DataFrame
            Of an evaluation, columns part, statistic, value, stderr, low, high, n, acceptance_low,
            acceptance_high, pvalue, adjusted_pvalue and verdict. Of a comparison tradeoff, model, place_best,
            place_worst, score, difference (to the first), low, high (its joint interval), distance and
            imprecision.
        """
        return frame(self._rows(), self._row, library)

    def summary(self) -> str:
        """Return the most important findings and numbers as a few lines of text.

        Returns
        -------
        str
            What it is about, what was found, the numbers.
        """
        return "\n".join([self.heading, *(f"  {line}" for line in self._briefly())])

    def log_to_mlflow(self, *, prefix: str = "credibly.") -> None:
        """Log numbers, settings, findings and report to the active run of MLflow, where that is installed.

        Parameters
        ----------
        prefix : str
            Put before every name.
        """
        # tach-ignore(the report is one of the artifacts, and like `report` this is only a handle)
        from credibly.report import render_report

        if find_spec("mlflow") is None:
            raise MissingExtraError(
                "logging to MLflow",
                "needs mlflow",
                "it is not installed",
                "Install it: `pip install mlflow`.",
            )
        mlflow = import_module("mlflow")
        mlflow.log_metrics({f"{prefix}{_plain(name)}": value for name, value in self._metrics().items()})
        mlflow.log_params({f"{prefix}{name}": self.settings[name] for name in self._logged})
        word, finding = self._said()[0]
        tags = {"verdict": word, "finding": finding} if word else {"finding": finding}
        mlflow.set_tags({f"{prefix}{name}": text for name, text in tags.items()})
        results = json.dumps(self.to_dict(), allow_nan=False)
        mlflow.log_text(results, f"{prefix}{type(self).__name__.lower()}.json")
        mlflow.log_text(render_report(self), f"{prefix}{self._page}")

    def _repr_html_(self) -> str:
        """Show findings and numbers in a notebook; names are escaped, nothing is fetched or run."""
        said = "".join(
            f"<li>{f'<strong>{html.escape(word)}</strong>: ' if word else ''}{html.escape(finding)}</li>"
            for word, finding in self._said()
        )
        advice = "".join(
            f"<dt>{html.escape(case)}</dt><dd>{html.escape(text)}</dd>"
            for case, text in self._advice().items()
        )
        return (
            f"<div><p><strong>{html.escape(self.heading)}</strong></p><ul>{said}</ul>"
            f"{f'<dl>{advice}</dl>' if advice else ''}"
            f"<details><summary>{self._rows_are}</summary>"
            f"{_html_table(self._headings, map(self._cells, self._rows()))}</details>"
            f'<p>The whole report: <code>.report("{self._page}")</code></p></div>'
        )

    def __rich__(self) -> Group:
        """Show findings and numbers with `rich.print`."""
        from rich import box
        from rich.console import Group
        from rich.table import Table
        from rich.text import Text

        verdicts = Table.grid(padding=(0, 2))
        verdicts.add_column(no_wrap=True)
        verdicts.add_column()
        sentences = []
        for word, finding in self._said():
            if word:
                verdicts.add_row(Text(word), Text(finding))
            else:
                sentences.append(Text(f"• {finding}"))
        sentences += [Text(f"{case}: {text}") for case, text in self._advice().items()]
        found = [verdicts] if verdicts.row_count else sentences
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
        for name in self._headings:
            table.add_column(name, overflow="fold")
        for row in self._rows():
            table.add_row(*map(Text, self._cells(row)))
        return Group(Text(self.heading, style="bold"), *found, table)

    def __str__(self) -> str:
        said = (f"  {word}: {finding}" if word else f"  {finding}" for word, finding in self._said())
        return "\n".join([self.heading, *said])


def _html_table(headings: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    head = "".join(f'<th scope="col" style="text-align:left">{name}</th>' for name in headings)
    body = "".join(
        "<tr>" + "".join(f'<td style="text-align:left">{html.escape(cell)}</td>' for cell in row) + "</tr>"
        for row in rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _plain(name: str) -> str:
    """Return a name of the letters that MLflow takes."""
    return "".join(letter if letter.isalnum() or letter in "_-. /" else "_" for letter in name)
