"""The public surface as objects: the names at the top, those of the public rooms, and members of classes."""

from __future__ import annotations

import functools
import inspect
import pkgutil
from collections.abc import Iterator
from importlib import import_module
from types import ModuleType
from typing import Any

ROOMS = (
    "credal",
    "hypotests",
    "learners",
    "monitor",
    "raters",
    "recalibrate",
    "results",
    "selection",
    "statistics",
)
"""Rooms whose names are public too; those at the top stand there and not here."""


def public_objects(package: ModuleType) -> Iterator[tuple[str, Any]]:
    """Yield dotted name and object of every public function, class and statistic of a package."""
    packages = [package]
    if package.__name__ == "credibly":
        packages += [import_module(f"credibly.{room}") for room in ROOMS]
    for one in packages:
        for name in one.__all__:
            value = getattr(one, name)
            at_the_top = one is not package and name in package.__all__ and getattr(package, name) is value
            if callable(value) and not inspect.ismodule(value) and not at_the_top:
                yield f"{one.__name__}.{name}", value


def public_members(owner: type, package: ModuleType) -> Iterator[tuple[str, Any]]:
    """Yield name and object of the public methods and properties that the package itself wrote."""
    seen: set[str] = set()
    for base in owner.__mro__:
        if base.__module__.partition(".")[0] != package.__name__:
            continue
        for name, member in vars(base).items():
            if name.startswith("_") or name in seen:
                continue
            seen.add(name)
            plain = member.__func__ if isinstance(member, classmethod | staticmethod) else member
            if inspect.isfunction(plain) or isinstance(plain, property | functools.cached_property):
                yield name, plain


def modules(package: ModuleType) -> Iterator[ModuleType]:
    """Import and yield the package and the modules below it; kernels only where triton is installed."""
    yield package
    for entry in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        if entry.name.endswith("__main__"):
            continue
        try:
            yield import_module(entry.name)
        except ModuleNotFoundError as missing:
            if missing.name != "triton":
                raise
