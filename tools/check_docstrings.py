"""Validate the docstrings of the public surface with numpydoc.

`numpydoc` can read source files too, but then it asks private helpers for a Parameters section and
never sees statistics, which are objects. Here every name in `credibly.__all__` is imported.

Functions: every check, with an Examples section.
Statistics: their class says the settings and gives an example; what all have in common (predictions,
labels, what comes back) is documented on `__call__`, which is held to what a function is held to.
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
from types import ModuleType
from typing import Any

from numpydoc.docscrape import ClassDoc, get_doc_object
from numpydoc.validate import get_validation_checks, validate

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

    found = [
        f"{name}: {problem}"
        for name, value, asked in _documented(package, checks)
        for problem in _problems(value, asked)
    ]
    print("\n".join(found) if found else "the public docstrings are in order")
    return 1 if found else 0


def _documented(package: ModuleType, checks: set[str]) -> Iterator[tuple[str, Any, set[str]]]:
    """Yield the name of each documented thing, the thing, and the checks that it must pass."""
    calls: set[Any] = set()
    for name, value in public_objects(package):
        if inspect.isclass(value):
            yield name, value, checks
            for member_name, member in public_members(value, package):
                yield f"{name}.{member_name}", member, checks - SECTIONS_LEFT_OUT
        elif inspect.isfunction(inspect.unwrap(value)):
            yield name, value, checks | {"EX01"}
        else:
            yield name, type(value), checks | {"EX01"}
            call = type(value).__call__
            if call not in calls:
                calls.add(call)
                yield call.__qualname__, call, checks


def _problems(value: Any, checks: set[str]) -> Iterator[str]:
    doc = get_doc_object(value)
    if inspect.isclass(value) and _parameters_stand_elsewhere(value, doc):
        checks = checks - {"PR01"}
    for code, message in validate(doc)["errors"]:
        if code in checks:
            yield f"{code} {message}"


def _parameters_stand_elsewhere(value: type, doc: ClassDoc) -> bool:
    # Exceptions and protocols inherit a signature of *args, **kwargs that says nothing.
    if issubclass(value, BaseException) or getattr(value, "_is_protocol", False):
        return True
    # A result that adds fields to another one documents its own; the others stand on its base.
    bases = [get_doc_object(base) for base in value.__mro__[1:] if base is not object]
    attributes = {
        name for one in (doc, *bases) for entry in one["Attributes"] for name in entry.name.split(", ")
    }
    written = {name for entry in doc["Parameters"] for name in entry.name.split(", ")}
    names = {name for name in inspect.signature(value).parameters if not name.startswith("_")}
    return names <= attributes or names <= written  # what is private is not for users


if __name__ == "__main__":
    sys.exit(main())
