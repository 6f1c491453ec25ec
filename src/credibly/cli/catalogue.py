"""`credibly list`: every statistic and test, with its reference."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any

from credibly._arrays.results import SCHEMA_VERSION
from credibly.cli.options import AsJson, Quiet
from credibly.cli.output import Output, Table
from credibly.hypotests import calibration_test, observation_check, pit_test
from credibly.statistics import Statistic, registered

TESTS: dict[Callable[..., Any], tuple[str, ...]] = {
    calibration_test: ("classes", "reals"),
    pit_test: ("reals",),
    observation_check: ("reals",),
}
"""Every test and the labels it takes."""
COLUMNS = ("name", "kind", "tail", "labels", "settings", "reference", "summary")


def list_names(as_json: AsJson = False, quiet: Quiet = False) -> None:
    """Every statistic and test, with its reference."""
    entries = [
        *map(_statistic, registered().values()),
        *(_test(test, labels) for test, labels in TESTS.items()),
    ]
    output = Output(as_json, quiet)
    if as_json:
        output.json({"schema_version": SCHEMA_VERSION, "type": "Catalogue", "entries": entries})
        return
    rows = [[_cell(entry[name]) for name in COLUMNS] for entry in entries]
    output.table(Table(COLUMNS, rows), shown=("name", "tail", "labels", "reference"))


def _statistic(statistic: Statistic) -> dict[str, Any]:
    return {
        "name": statistic.name,
        "kind": "statistic",
        "tail": statistic.traits.tail,
        "labels": sorted(statistic.traits.labels),
        "settings": statistic.settings(),
        "reference": statistic.reference,
        "summary": _summary(statistic),
    }


def _test(test: Callable[..., Any], labels: tuple[str, ...]) -> dict[str, Any]:
    """Read a test's reference from its docstring, where it stands anyway."""
    found = re.search(r"References\n-+\n(.+?)(?:\n\n|\Z)", inspect.getdoc(test) or "", flags=re.DOTALL)
    parameters = inspect.signature(test).parameters.values()
    settings = {one.name: one.default for one in parameters if one.default not in (one.empty, None)}
    return {
        "name": test.__name__,
        "kind": "test",
        "tail": "of its statistic",
        "labels": list(labels),
        "settings": settings,
        "reference": found[1].replace("*", "") if found else "",
        "summary": _summary(test),
    }


def _summary(documented: object) -> str:
    return (inspect.getdoc(documented) or "").partition("\n")[0]


def _cell(value: str | list[str] | dict[str, Any]) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name}={setting}" for name, setting in value.items())
    return ", ".join(value) if isinstance(value, list) else value
