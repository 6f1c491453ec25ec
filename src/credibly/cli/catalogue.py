"""`credibly list`: every statistic, test and measure, with its reference.

Nothing is listed by hand. Statistics come from the registry; tests and measures are the public functions of
the rooms that compute something from predictions, and say themselves what they are: summary, labels and
reference stand in their docstrings, settings in their signatures.
"""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable
from importlib import import_module
from typing import Any

from credibly.cli.output import Output, TextTable
from credibly.cli.reading import Typed
from credibly.results.base import SCHEMA_VERSION
from credibly.statistics import Statistic, registered

ROOMS = ("statistics", "hypotests", "credal", "raters", "selection", "recalibrate")
"""Where what is computed from predictions lives, in the order of the list."""
SUBJECTS = frozenset({"predictions", "models", "decisions", "sets", "counts"})
"""First parameter of a function that measures something; makers of statistics and chunks begin otherwise."""
COLUMNS = ("name", "kind", "room", "tail", "labels", "settings", "reference", "summary")


def list_names(typed: Typed, output: Output) -> None:
    """Every statistic, test and measure, with its reference."""
    entries = [*map(_statistic, registered().values()), *map(_function, functions())]
    if output.as_json:
        output.json({"schema_version": SCHEMA_VERSION, "type": "Catalogue", "entries": entries})
        return
    rows = [[_cell(entry[name]) for name in COLUMNS] for entry in entries]
    output.table(TextTable(COLUMNS, rows), shown=("name", "kind", "reference"))


def functions() -> list[Callable[..., Any]]:
    """Return every public test, then every public measure, room by room."""
    rooms = [import_module(f"credibly.{room}") for room in ROOMS]
    public = [getattr(room, name) for room in rooms for name in room.__all__]
    measures = [function for function in public if inspect.isfunction(function) and _measures(function)]
    return sorted(measures, key=lambda function: (_kind(function) != "test", ROOMS.index(_room(function))))


def _measures(function: Callable[..., Any]) -> bool:
    """Whether a function computes something from predictions."""
    first = next(iter(inspect.signature(function).parameters), "")
    return _room(function) in ROOMS and first in SUBJECTS


def _room(function: Callable[..., Any]) -> str:
    return function.__module__.split(".")[1]


def _kind(function: Callable[..., Any]) -> str:
    return "test" if function.__name__.endswith(("_test", "_check")) else "measure"


def _statistic(statistic: Statistic) -> dict[str, Any]:
    return {
        "name": statistic.name,
        "kind": "statistic",
        "room": "statistics",
        "tail": statistic.traits.tail,
        "labels": sorted(statistic.traits.labels),
        "settings": statistic.settings(),
        "reference": statistic.reference,
        "summary": statistic.story.meaning,
    }


def _function(function: Callable[..., Any]) -> dict[str, Any]:
    """Read what a function says of itself."""
    documented = inspect.getdoc(function) or ""
    described = dict(line.split(" : ", 1) for line in _section(documented, "Parameters") if " : " in line)
    parameters = inspect.signature(function).parameters.values()
    return {
        "name": function.__name__,
        "kind": _kind(function),
        "room": _room(function),
        "tail": "its own" if _kind(function) == "test" else "",
        "labels": [described[name] for name in ("labels", "counts") if name in described],
        "settings": {
            parameter.name: parameter.default
            for parameter in parameters
            if parameter.default not in (parameter.empty, None)
        },
        "reference": "\n".join(_section(documented, "References")).replace("*", ""),
        "summary": _summary(function),
    }


def _section(documented: str, heading: str) -> list[str]:
    """Return the lines of a section of a numpydoc docstring, up to the next blank line."""
    lines = documented.splitlines()
    if heading not in lines:
        return []
    first = lines.index(heading) + 2  # below its rule
    return list(itertools.takewhile(str.strip, lines[first:]))


def _summary(documented: object) -> str:
    return (inspect.getdoc(documented) or "").partition("\n")[0]


def _cell(value: str | list[str] | dict[str, Any]) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name}={setting}" for name, setting in value.items())
    return ", ".join(value) if isinstance(value, list) else value
