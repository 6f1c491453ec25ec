"""An evaluation where people work: HTML in a notebook, a table on a terminal, a run of MLflow."""

from __future__ import annotations

import html
import json
from collections.abc import Iterable
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from credibly._arrays.errors import MissingExtraError
from credibly.evaluation.tidy import NumberRow, StandingRow, number_rows, standing_rows
from credibly.evaluation.words import shown, shown_range

if TYPE_CHECKING:
    from rich.console import Group
    from rich.table import Table

HEADINGS = ("statistic", "value", "95 % interval", "accepted", "p", "adjusted p", "verdict")


def cells(row: NumberRow) -> tuple[str, ...]:
    """Return a row as text under `HEADINGS`."""
    interval = "" if row.low is None or row.high is None else shown_range((row.low, row.high))
    accepted = ""
    if row.acceptance_low is not None and row.acceptance_high is not None:
        accepted = shown_range((row.acceptance_low, row.acceptance_high))
    values = ("" if number is None else shown(number) for number in (row.pvalue, row.adjusted_pvalue))
    name = row.statistic if row.part == "estimates" else f"{row.part}: {row.statistic}"
    return name, shown(row.value), interval, accepted, *values, row.verdict or ""


def as_html(evaluation: Any) -> str:
    """Return verdicts and numbers as HTML for a notebook; names are escaped, nothing is fetched or run."""
    verdicts = "".join(
        f"<li><strong>{html.escape(one.word)}</strong>: {html.escape(one.finding)}</li>"
        for one in evaluation.verdicts
    )
    table = _html_table(HEADINGS, map(cells, number_rows(evaluation)))
    return (
        f"<div><p><strong>{html.escape(evaluation.heading)}</strong></p><ul>{verdicts}</ul>"
        f"<details><summary>All numbers</summary>{table}</details>"
        '<p>The whole report: <code>.report("report.html")</code></p></div>'
    )


def as_rich(evaluation: Any) -> Group:
    """Return verdicts and numbers for `rich.print`."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    verdicts = Table.grid(padding=(0, 2))
    verdicts.add_column(no_wrap=True)
    verdicts.add_column()
    for one in evaluation.verdicts:
        verdicts.add_row(Text(one.word), Text(one.finding))
    numbers = _rich_table(HEADINGS, map(cells, number_rows(evaluation)))
    return Group(Text(evaluation.heading, style="bold"), verdicts, numbers)


RANKED = ("trade-off", "place", "model", "score", "behind the first by")


def standing_cells(row: StandingRow) -> tuple[str, ...]:
    """Return a row as text under `RANKED`; a place "2 to 3" is a tie."""
    tied = row.place_best != row.place_worst
    place = f"{row.place_best} to {row.place_worst}" if tied else str(row.place_best)
    behind = ""
    if row.difference and row.low is not None and row.high is not None:  # the first is behind nobody
        behind = shown_range((row.low, row.high))
    return shown(row.tradeoff), place, row.model, shown(row.score), behind


def comparison_html(comparison: Any) -> str:
    """Return findings, advice and standings as HTML for a notebook."""
    findings = "".join(f"<li>{html.escape(one)}</li>" for one in comparison.findings)
    advice = "".join(
        f"<dt>{html.escape(task)}</dt><dd>{html.escape(str(one))}</dd>"
        for task, one in comparison.recommendations.items()
    )
    table = _html_table(RANKED, map(standing_cells, standing_rows(comparison.ranking)))
    return (
        f"<div><p><strong>{html.escape(comparison.heading)}</strong></p><ul>{findings}</ul><dl>{advice}</dl>"
        f"<details><summary>All places</summary>{table}</details>"
        '<p>The whole report: <code>.report("comparison.html")</code></p></div>'
    )


def comparison_rich(comparison: Any) -> Group:
    """Return findings and standings for `rich.print`."""
    from rich.console import Group
    from rich.text import Text

    said = [Text(f"• {one}") for one in comparison.findings]
    said += [Text(f"{task}: {one}") for task, one in comparison.recommendations.items()]
    table = _rich_table(RANKED, map(standing_cells, standing_rows(comparison.ranking)))
    return Group(Text(comparison.heading, style="bold"), *said, table)


def _html_table(headings: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    head = "".join(f'<th scope="col" style="text-align:left">{name}</th>' for name in headings)
    body = "".join(
        "<tr>" + "".join(f'<td style="text-align:left">{html.escape(cell)}</td>' for cell in row) + "</tr>"
        for row in rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _rich_table(headings: Iterable[str], rows: Iterable[Iterable[str]]) -> Table:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in headings:
        table.add_column(name, overflow="fold")
    for row in rows:
        table.add_row(*map(Text, row))
    return table


def log_to_mlflow(evaluation: Any, page: str, prefix: str) -> None:
    """Log numbers as metrics, settings as parameters, results and report as artifacts of the active run."""
    mlflow = _mlflow()
    metrics = {}
    for row in number_rows(evaluation):
        path = f"{row.part}/{row.statistic}" if row.part != "estimates" else row.statistic
        metrics[f"{prefix}{_plain(path)}"] = row.value
        if row.pvalue is not None:
            metrics[f"{prefix}{_plain(path)}.pvalue"] = row.pvalue
    mlflow.log_metrics(metrics)
    settings = evaluation.settings
    named = ("version", "rng", "n_resamples", "n_bins", "level")
    mlflow.log_params({f"{prefix}{name}": settings[name] for name in named})
    worst = evaluation.verdicts[0]
    mlflow.set_tags({f"{prefix}verdict": worst.word, f"{prefix}finding": worst.finding})
    mlflow.log_text(json.dumps(evaluation.to_dict(), allow_nan=False), f"{prefix}evaluation.json")
    mlflow.log_text(page, f"{prefix}report.html")


def log_comparison_to_mlflow(comparison: Any, page: str, prefix: str) -> None:
    """Log scores of all models as metrics, settings as parameters, results and report as artifacts."""
    mlflow = _mlflow()
    rows = standing_rows(comparison.ranking)
    mlflow.log_metrics(
        {f"{prefix}{_plain(row.model)}/E at tradeoff {row.tradeoff:g}": row.score for row in rows}
    )
    settings = comparison.settings
    mlflow.log_params({f"{prefix}{name}": settings[name] for name in ("version", "rng", "n_resamples")})
    mlflow.set_tags({f"{prefix}finding": comparison.findings[0]})
    mlflow.log_text(json.dumps(comparison.to_dict(), allow_nan=False), f"{prefix}comparison.json")
    mlflow.log_text(page, f"{prefix}comparison.html")


def _mlflow() -> Any:
    if find_spec("mlflow") is None:
        raise MissingExtraError(
            "logging to MLflow", "needs mlflow", "it is not installed", "Install it: `pip install mlflow`."
        )
    return import_module("mlflow")


def _plain(name: str) -> str:
    """Return a name of the letters that MLflow takes."""
    return "".join(letter if letter.isalnum() or letter in "_-. /" else "_" for letter in name)
