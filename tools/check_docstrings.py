"""Validate the docstrings of the public surface with numpydoc.

`numpydoc` can read source files too, but then it asks private helpers for a Parameters section and
never sees statistics, which are objects. Here every name in `credibly.__all__` is imported.

Functions and statistics: every check, with an Examples section.
Classes: parameters may stand under Attributes (result objects are not built by hand).
Methods and properties: one line is enough; sections that are there must be right.
"""

from __future__ import annotations

import argparse
import inspect
import sys
import tomllib
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from numpydoc.docscrape import get_doc_object
from numpydoc.validate import ERROR_MSGS, get_validation_checks, validate

from surface import public_members, public_objects

ROOT = Path(__file__).resolve().parent.parent
SECTIONS_LEFT_OUT = {"PR01", "RT01", "YD01"}


def main() -> int:
    """Print every problem as `name: code message`; return 1 where there is one."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("package", nargs="?", default="credibly")
    package = import_module(parser.parse_args().package)
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    checks = get_validation_checks(set(settings["tool"]["numpydoc_validation"]["checks"]))

    count = 0
    problems: list[str] = []
    for name, value in public_objects(package):
        if inspect.isclass(value):
            found = _class_problems(value, checks)
            members = list(public_members(value, package))
        else:
            found = _problems(value, checks | {"EX01"})
            members = []
        problems += [f"{name}: {problem}" for problem in found]
        for member_name, member in members:
            found = _problems(member, checks - SECTIONS_LEFT_OUT)
            problems += [f"{name}.{member_name}: {problem}" for problem in found]
        count += 1 + len(members)

    print("\n".join(problems) if problems else f"{count} public docstrings are in order")
    return 1 if problems else 0


def _problems(value: Any, checks: set[str]) -> Iterator[str]:
    doc = get_doc_object(value)
    for code, message in validate(doc)["errors"]:
        if code in checks:
            yield f"{code} {message}"
    # numpydoc asks for Returns only where it can read the body of a function.
    if "RT01" in checks and not _has_body(value) and callable(value) and not doc["Returns"]:
        yield f"RT01 {ERROR_MSGS['RT01']}"


def _has_body(value: Any) -> bool:
    return inspect.isfunction(value) or inspect.isclass(value)


def _class_problems(value: type, checks: set[str]) -> Iterator[str]:
    doc = get_doc_object(value)
    attributes = {name for entry in doc["Attributes"] for name in entry.name.split(", ")}
    # Exceptions and protocols inherit a signature of *args, **kwargs that says nothing.
    inherited = issubclass(value, BaseException) or getattr(value, "_is_protocol", False)
    parameters = set() if inherited else set(inspect.signature(value).parameters)
    if inherited or parameters <= attributes:
        checks = checks - {"PR01"}
    yield from _problems(value, checks)


if __name__ == "__main__":
    sys.exit(main())
