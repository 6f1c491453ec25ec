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


def checked(function: Callable[P, T]) -> Callable[P, T]:
    """Raise `InputTypeError` in place of Python's errors about keyword arguments of another type altogether.

    Numbers, words and None count as right where one value is asked for; arrays, lists, mappings and other
    objects do not.
    """

    @functools.wraps(function)
    def answering(*args: P.args, **settings: P.kwargs) -> T:
        try:
            return function(*args, **settings)
        except CrediblyError:
            raise
        except (TypeError, ValueError, AttributeError, RuntimeError) as error:  # tensors raise the last
            answer = _first_wrong(function, settings)
            if answer is None:
                raise
            raise answer from error

    return answering


def _first_wrong(function: Callable[..., Any], settings: Mapping[str, Any]) -> InputTypeError | None:
    """Return the error about the first argument that is none of what its annotation allows."""
    parameters = inspect.signature(function).parameters
    for name, value in settings.items():
        rules = _rules(parameters[name].annotation, function) if name in parameters else []
        if value is not None and rules and not any(rule.fits(value) for rule in rules):
            words = alternatives(list(dict.fromkeys(rule.words for rule in rules)))
            return InputTypeError(
                f"`{name}`", f"must be {words}", f"got {reprlib.repr(value)}", f"Pass {words}."
            )
    return None


def _rules(annotation: object, function: Callable[..., Any]) -> list[Rule]:
    """Return the rules of an annotation, of which one must hold; none where it allows something unknown."""
    if not isinstance(annotation, str):
        return []
    kinds = [part.partition("[")[0] for part in _BETWEEN.split(annotation) if part != "None"]
    names = getattr(function, "__globals__", {})
    kinds = ["Literal" if get_origin(names.get(kind)) is Literal else kind for kind in kinds]
    return [_KINDS[kind] for kind in kinds] if all(kind in _KINDS for kind in kinds) else []


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
