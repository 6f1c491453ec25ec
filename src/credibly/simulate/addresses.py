"""Names, keys and random numbers of the parts of a study: the same in every process and in every order."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from credibly._arrays.errors import InputError
from credibly._arrays.philox import Seed
from credibly.results.base import jsonable


def address(seed: Seed, *keys: int) -> np.random.SeedSequence:
    """Return the random numbers at these counters."""
    return np.random.SeedSequence(entropy=list(seed), spawn_key=keys)


def key_of(value: Any) -> int:
    """Return 63 bits that depend on a value alone, the same in every process and for 0 and 0.0."""
    text = json.dumps(_with_floats(jsonable(value)), sort_keys=True)
    return int.from_bytes(hashlib.sha256(text.encode("utf-8")).digest()[:8], "big") >> 1


def _with_floats(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _with_floats(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_with_floats(one) for one in value]
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value


def describe(test: Any) -> Any:
    """Return what tells a test from others: its settings, or where its code is."""
    if callable(getattr(test, "settings", None)):
        return {type(test).__qualname__: test.settings()}
    if isinstance(test, functools.partial):
        return [describe(test.func), jsonable(test.args), jsonable(test.keywords)]
    if dataclasses.is_dataclass(test) and not isinstance(test, type):
        return {type(test).__qualname__: jsonable(test)}
    owner = test if hasattr(test, "__qualname__") else type(test)
    return f"{owner.__module__}.{owner.__qualname__}"


def by_name(given: Any, what: str) -> dict[str, Any]:
    """Return tests or worlds by name; names that are missing are their own."""
    if isinstance(given, Mapping):
        named = {str(name): value for name, value in given.items()}
    else:
        alone = isinstance(given, str | type) or not isinstance(given, Iterable)
        several = [given] if alone else list(given)
        names = [_own_name(value) for value in several]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise InputError(
                f"`{what}`",
                "must have distinct names",
                f"{twice[0]!r} is the name of {names.count(twice[0])}",
                f"Give a dictionary of names and {what}.",
            )
        named = dict(zip(names, several, strict=True))
    if not named:
        raise InputError(f"`{what}`", "must not be empty", "got none", "Give at least one.")
    return named


def _own_name(value: Any) -> str:
    if isinstance(value, str | type):
        return repr(value)
    return str(getattr(value, "name", None) or getattr(value, "__name__", None) or type(value).__name__)
