"""What a report is made of: findings, tables, pictures with the numbers behind them, files of this room.

Every script inside a page is allowed by its hash: no other can run, whatever a file names its classes.
"""

from __future__ import annotations

import base64
import dataclasses
import hashlib
import json
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import numpy as np

from credibly._arrays.errors import UnsupportedError
from credibly._arrays.notes import counted
from credibly.evaluation import Verdict, shown, shown_range
from credibly.evaluation.survey import n_dropped
from credibly.plots import Picture, Table, new_axes, printable, whole_figure
from credibly.report.svg import inline_svg
from credibly.results.base import jsonable
from credibly.results.estimates import Estimate
from credibly.results.tests import HypotestResult

if TYPE_CHECKING:
    from jinja2 import Environment

Margins = tuple[float, float, float, float]
BROAD = 6.0  # inches


@dataclasses.dataclass(frozen=True)
class ReportFigure:
    """A picture with its sentence and its data."""

    title: str
    finding: str
    svg: str
    table: Table
    broad: bool = False
    """Whether it takes two columns: its words would be too small in one."""


@dataclasses.dataclass(frozen=True)
class MethodNote:
    """What a number is, its formula and where it comes from."""

    name: str
    meaning: str
    formula: str
    reference: str


@dataclasses.dataclass(frozen=True)
class Section:
    """A part of a report that stands for itself.

    Attributes
    ----------
    anchor : str
        Name of the section in addresses, unique on the page.
    title : str
        Heading, best as the question that is answered.
    finding : str
        The answer in a few sentences.
    verdicts : tuple of Verdict
        Verdicts of its tests, worst first.
    tables : tuple of (str, Table)
        Captions and tables.
    figures : tuple of ReportFigure
        Pictures.
    methods : tuple of MethodNote
        What stands about it under "Methods".
    """

    anchor: str
    title: str
    finding: str
    verdicts: tuple[Verdict, ...] = ()
    tables: tuple[tuple[str, Table], ...] = ()
    figures: tuple[ReportFigure, ...] = ()
    methods: tuple[MethodNote, ...] = ()


def interval_text(estimate: Estimate) -> str:
    """Return the 95 % interval of a number, or why there is none."""
    try:
        return shown_range(estimate.interval())
    except UnsupportedError as refused:
        return f"none: {refused.evidence}"


def numbers_table(
    parts: Mapping[str, Estimate], intervals: Sequence[tuple[float, float] | None] | None = None
) -> Table:
    """Return named numbers with their intervals; those that are given take the place of a number's own."""
    ends = [None] * len(parts) if intervals is None else intervals
    cells = [interval or interval_text(part) for part, interval in zip(parts.values(), ends, strict=True)]
    values = [part.value for part in parts.values()]
    return Table.of({"part": parts, "value": values, "95 % interval": cells})


def has_replicates(test: HypotestResult[Any]) -> bool:
    """Tell whether a test has replicates that can be drawn: finite ones."""
    return test.null_distribution is not None and bool(np.isfinite(test.null_distribution).any())


def number_cells(estimate: Estimate) -> tuple[str, str]:
    """Return a number and its 95 % interval as cells of a table."""
    return shown(estimate.value), interval_text(estimate)


def instances_text(n: int, source: Mapping[str, Any]) -> str:
    """Return how many instances there are, and how many rows were dropped before."""
    dropped = n_dropped(source)
    return f"{n} ({counted(dropped, 'invalid row')} dropped)" if dropped else str(n)


def seed_text(settings: Mapping[str, Any]) -> str:
    """Return the seed as it was given, or the numbers that repeat the page."""
    seed = settings["rng"]
    return str(seed if seed is not None else tuple(settings["seed"]))


def report_figure(
    drawn: Picture,
    name: str,
    anchor: str,
    *,
    size: tuple[float, float] = (4.4, 4.0),
    margins: Margins = (0.6, 0.85, 0.1, 0.3),
    small: bool = False,
    finding: str | None = None,
) -> ReportFigure:
    """Draw a picture for the page.

    Parameters
    ----------
    drawn : Picture
        What to draw.
    name : str
        Name of the figure, read aloud and put over its table.
    anchor : str
        Put before every id of the picture; unique on the page.
    size : tuple of float
        Width and height in inches.
    margins : tuple of float
        Left, bottom, right and top, in inches.
    small : bool
        For small multiples.
    finding : str, optional
        A sentence in place of the picture's own.

    Returns
    -------
    ReportFigure
        Picture, sentence and table.
    """
    figure = whole_figure(drawn.draw(new_axes(*size, margins), small=small))
    sentence = drawn.finding if finding is None else finding
    svg = inline_svg(figure, f"figure-{anchor}", name, sentence)
    return ReportFigure(name, sentence, svg, drawn.table(), broad=size[0] >= BROAD)


def packaged(name: str) -> str:
    """Return the text of a file of this room."""
    return files("credibly.report").joinpath(name).read_text(encoding="utf-8")


def _unbroken(text: str) -> str:
    """Keep a number with its unit, and a p-value with its sign, on one line."""
    return text.replace(" %", "\N{NO-BREAK SPACE}%").replace("p = ", "p\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}")


def filled(name: str, scripts: Sequence[str], results: dict[str, Any], **content: Any) -> str:
    """Fill a template of this room.

    Parameters
    ----------
    name : str
        Name of the template.
    scripts : sequence of str
        Names of the scripts inside the page.
    results : dict
        What the page holds as JSON.
    **content
        What the template shows; all of it is escaped.

    Returns
    -------
    str
        One page that needs nothing else.
    """
    from markupsafe import Markup

    texts = tuple(map(packaged, scripts))
    page = (
        _templates()
        .get_template(name)
        .render(
            # style sheet, scripts and results are our own markup
            style=Markup(packaged("style.css")),
            scripts=tuple(map(Markup, texts)),
            policy=content_policy(texts),
            results=Markup(embedded_json(results)),
            **content,
        )
    )
    return printable(page)


@cache
def _templates() -> Environment:
    """Return the templates of this room, which share a head and macros."""
    from jinja2 import Environment, FunctionLoader, StrictUndefined
    from markupsafe import Markup

    environment = Environment(
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        loader=FunctionLoader(packaged),
    )
    # a number and its % sign stay on one line
    environment.filters["nobreak"] = _unbroken
    environment.filters["digits"] = shown
    environment.filters["exact"] = jsonable  # a script reads "Infinity" as a number
    environment.filters["coded"] = coded
    environment.globals["markup"] = Markup  # figures are our own too
    return environment


def coded(text: str) -> Any:
    """Return a sentence with what stands in backticks as code."""
    from markupsafe import Markup, escape

    parts = [str(escape(part)) for part in str(text).split("`")]
    if len(parts) % 2 == 0:  # a lone backtick is part of the text
        return escape(text)
    return Markup("".join(f"<code>{part}</code>" if at % 2 else part for at, part in enumerate(parts)))


def embedded_json(results: dict[str, Any]) -> str:
    """Return JSON that cannot end the script element it stands in."""
    text = json.dumps(results, allow_nan=False, separators=(",", ":"))
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def content_policy(scripts: Sequence[str]) -> str:
    """Return the policy of a page: nothing from outside, its own styles, and exactly these scripts.

    Parameters
    ----------
    scripts : sequence of str
        Text of each script element, as it stands between its tags.

    Returns
    -------
    str
        Value of the Content-Security-Policy.
    """
    policy = "default-src 'none'; style-src 'unsafe-inline'"
    if not scripts:
        return policy
    hashes = (base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode() for text in scripts)
    allowed = " ".join(f"'sha256-{digest}'" for digest in hashes)
    return f"{policy}; script-src {allowed}"
