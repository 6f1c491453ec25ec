"""One check at the door of public functions: an argument that is one value is not given an array or a list.

The annotations say which arguments these are. A function's own checks come first, because they know more;
what Python raises about an argument of the wrong type is answered here, in one way for all.
"""

from __future__ import annotations

import functools
import inspect
import re
import reprlib
from collections.abc import Callable, Iterable, Mapping
from numbers import Number
from typing import Any, Literal, NamedTuple, ParamSpec, TypeVar, get_origin

import numpy as np

from credibly._arrays.errors import CrediblyError, InputTypeError
from credibly._arrays.notes import alternatives

P = ParamSpec("P")
T = TypeVar("T")

_BETWEEN = re.compile(r"\s*\|\s*(?![^\[]*\])")
"""The bars between the alternatives of an annotation, not those inside brackets."""


class Rule(NamedTuple):
    """What an argument may be: `fits` tells, `words` says it."""

    fits: Callable[[Any], bool]
    words: str


Rules = Mapping[str, Rule]


def checked(function: Callable[P, T]) -> Callable[P, T]:
    """Raise `InputTypeError` in place of Python's errors about keyword arguments of another type altogether.

    Numbers, words and None count as right where one value is asked for; arrays, lists, mappings and other
    objects do not.
    """

    @functools.wraps(function)
    def answering(*given: P.args, **settings: P.kwargs) -> T:
        try:
            return function(*given, **settings)
        except CrediblyError:
            raise
        except (TypeError, ValueError, AttributeError) as error:
            answer = _first_wrong(_rules_of(function), settings)
            if answer is None:
                raise
            raise answer from error

    return answering


def _first_wrong(rules: Rules, settings: Mapping[str, Any]) -> InputTypeError | None:
    """Return the error about the first argument that breaks its rule."""
    for name, value in settings.items():
        rule = rules.get(name)
        if rule is not None and value is not None and not rule.fits(value):
            return InputTypeError(
                f"`{name}`", f"must be {rule.words}", f"got {reprlib.repr(value)}", f"Pass {rule.words}."
            )
    return None


def _rules_of(function: Callable[..., Any]) -> Rules:
    """Return what the arguments of a function may be, those whose annotations say it."""
    names = getattr(function, "__globals__", {})
    parameters = inspect.signature(function).parameters.items()
    found = {name: _rule(parameter.annotation, names) for name, parameter in parameters}
    return {name: rule for name, rule in found.items() if rule is not None}


def _rule(annotation: object, names: Mapping[str, Any]) -> Rule | None:
    """Return the rule of an annotation; None where it allows anything, or something unknown here."""
    if not isinstance(annotation, str):
        return None
    rules = [_rule_of_part(part, names) for part in _BETWEEN.split(annotation) if part != "None"]
    known = [rule for rule in rules if rule is not None]
    if not known or len(known) < len(rules):
        return None
    words = alternatives(list(dict.fromkeys(rule.words for rule in known)))
    return Rule(lambda value: any(rule.fits(value) for rule in known), words)


def _rule_of_part(part: str, names: Mapping[str, Any]) -> Rule | None:
    start = part.partition("[")[0]
    if start in _KINDS:
        return _KINDS[start]
    return _KINDS["str"] if get_origin(names.get(start)) is Literal else None


def _is_one_value(value: object) -> bool:
    return isinstance(value, (str, bytes, Number, np.generic))


def _is_sequence(value: object) -> bool:
    return isinstance(value, Iterable) and getattr(value, "ndim", 1) > 0


_KINDS = {
    "str": Rule(_is_one_value, "a word"),
    "Literal": Rule(_is_one_value, "a word"),
    "bool": Rule(_is_one_value, "True or False"),
    "int": Rule(_is_one_value, "a whole number"),
    "float": Rule(_is_one_value, "a number"),
    "Sequence": Rule(_is_sequence, "a list"),
    "Mapping": Rule(lambda value: isinstance(value, Mapping), "a mapping"),
    "Progress": Rule(callable, "a function"),
    "StageProgress": Rule(callable, "a function"),
}
