"""The exceptions of the library: one tree, each also a built-in of the fitting kind."""

from __future__ import annotations

import difflib
import reprlib
from collections.abc import Iterable, Mapping, Sequence, Set
from numbers import Integral, Number, Real
from typing import Any


class Remedy(str):
    """What to do about an error, for callers from Python; `elsewhere` has the words for others.

    Attributes
    ----------
    elsewhere : str
        The same for those who do not write Python: on the command line, about a file.
    kind : str or None
        What the numbers look like, where they look like another kind of prediction.
    code : str
        What it is about, for those who would add to it.
    """

    elsewhere: str
    kind: str | None
    code: str

    def __new__(
        cls, text: str, elsewhere: str | None = None, kind: str | None = None, code: str = ""
    ) -> Remedy:
        error = super().__new__(cls, text)
        error.elsewhere, error.kind, error.code = text if elsewhere is None else elsewhere, kind, code
        return error

    def __getnewargs__(self) -> tuple[Any, ...]:
        return str(self), self.elsewhere, self.kind, self.code


ONE_RATER = "Choose one rater per instance, and give the labels as one class each."


class CrediblyError(Exception):
    """Base of every error that the library raises on purpose.

    Parameters
    ----------
    subject : str
        What is wrong: an argument, a file, a row.
    rule : str
        What it must be.
    evidence : str
        What was found.
    remedy : str
        What to do about it.
    argument : str, optional
        Name of the argument that is wrong; that of the subject where the subject is nothing else.

    Examples
    --------
    >>> from credibly import CrediblyError
    >>> str(CrediblyError("`level`", "must lie between 0 and 1", "got 95", "Write 0.95."))
    '`level` must lie between 0 and 1; got 95. Write 0.95.'
    """

    def __init__(
        self, subject: str, rule: str, evidence: str, remedy: str, *, argument: str | None = None
    ) -> None:
        super().__init__(f"{subject} {rule}; {evidence}. {remedy}")
        self.subject, self.rule, self.evidence, self.remedy = subject, rule, evidence, remedy
        self.argument = argument or _named(subject)

    def __reduce__(self) -> tuple[type[CrediblyError], tuple[str, str, str, str], dict[str, Any]]:
        # with the notes that a caller added on the way
        return type(self), (self.subject, self.rule, self.evidence, self.remedy), self.__dict__


def as_problem(error: CrediblyError) -> Remedy:
    """Return an error as a sentence for a list of problems."""
    if not isinstance(error.remedy, Remedy):
        return Remedy(str(error))
    start = f"{error.subject} {error.rule}; {error.evidence}."
    return Remedy(str(error), f"{start} {error.remedy.elsewhere}", error.remedy.kind)


def _named(subject: str) -> str | None:
    """Return `name` of "`name`" and "`name=value`"; None where the subject says more, or something else."""
    parts = subject.split("`")
    name = parts[1].partition("=")[0] if len(parts) == 3 and not parts[0] and not parts[2] else ""
    return name if name.isidentifier() else None


class InputError(CrediblyError, ValueError):
    """A value is outside what the method is defined for."""


class UnknownNameError(InputError, KeyError):
    """A name is not among those that can be looked up."""

    def __str__(self) -> str:
        return Exception.__str__(self)  # KeyError would show the sentence in quotes


class InputTypeError(CrediblyError, TypeError):
    """A value is of the wrong kind."""


class FileError(CrediblyError, OSError):
    """A file cannot be read or written as asked."""

    def __str__(self) -> str:
        # OSError formats its own four arguments as an errno tuple.
        return f"{self.subject} {self.rule}; {self.evidence}. {self.remedy}"


class MissingExtraError(CrediblyError, ImportError):
    """An optional dependency is not installed."""


class UnsupportedError(CrediblyError, ValueError):
    """The question has no trustworthy answer with the given input."""


def nearest(name: object, known: Iterable[str]) -> str:
    """Name the closest known word, or list all of them, as a remedy sentence."""
    words = sorted(known)
    return _closest(name, words) or f"Known names: {', '.join(words)}."


def _closest(name: object, words: Iterable[str]) -> str | None:
    text = str(name)
    close = difflib.get_close_matches(text, list(words), n=3)
    if not close:
        return None
    # of equally close words the one that begins alike: `sed` was meant to be `seed`, not `used`
    best = max(
        close, key=lambda word: (difflib.SequenceMatcher(None, word, text).ratio(), word[:1] == text[:1])
    )
    return f"Did you mean {best!r}?"


def one_of(subject: str, value: object, allowed: Iterable[object]) -> None:
    """Raise unless `value` is among `allowed`."""
    options = tuple(allowed)
    listed = ", ".join(repr(option) for option in options)
    if not is_word(value):
        raise InputTypeError(
            subject, f"must be one of {listed}", f"got {brief(value)}", "Choose one of these."
        )
    if value not in options:
        remedy = _closest(value, map(str, options)) or "Choose one of these."
        raise InputError(subject, f"must be one of {listed}", f"got {value!r}", remedy)


def is_word(value: object) -> bool:
    """Tell whether `value` can be looked up among words and numbers: one thing, not an array or a list."""
    if getattr(value, "shape", ()) not in ((), None):
        return False
    try:
        hash(value)
        return bool(value == value) or value != value  # pandas.NA is neither
    except TypeError:
        return False


def require(holds: object, rule: str, remedy: str, /, **argument: object) -> None:
    """Raise unless an argument keeps a rule: the keyword names it, and its value is the evidence.

    >>> require(False, "must lie between 0 and 1", "Write 0.95.", level=95)
    Traceback (most recent call last):
    credibly._arrays.errors.InputError: `level` must lie between 0 and 1; got 95. Write 0.95.
    """
    if not holds:
        ((name, value),) = argument.items()
        raise InputError(f"`{name}`", rule, f"got {brief(value)}", remedy)


def require_type(holds: object, rule: str, remedy: str, /, **argument: object) -> None:
    """Raise `InputTypeError` unless an argument is of the kind that the rule names, as `require` does."""
    if not holds:
        ((name, value),) = argument.items()
        raise InputTypeError(f"`{name}`", rule, f"got {brief(value)}", remedy)


def brief(value: object) -> str:
    """Return a value as an error shows it: arrays by shape, objects by type, others as they are written."""
    if value is None or isinstance(value, (str, bytes, Number, Sequence, Set, Mapping, type)):
        return _BRIEF.repr(value)
    return f"shape {tuple(value.shape)}" if hasattr(value, "shape") else type(value).__name__


_BRIEF = reprlib.Repr()
_BRIEF.maxstring = _BRIEF.maxother = 60


def is_number(value: object) -> bool:
    """Tell whether `value` is one real number; True and False are none."""
    return isinstance(value, Real) and not isinstance(value, bool)


def is_whole(value: object) -> bool:
    """Tell whether `value` is one whole number; True and False are none."""
    return isinstance(value, Integral) and not isinstance(value, bool)


def require_positive(subject: str, value: Any, remedy: str) -> None:
    """Raise unless `value` is a positive whole number."""
    if not is_whole(value) or value < 1:
        raise InputError(subject, "must be a positive integer", f"got {value!r}", remedy)
