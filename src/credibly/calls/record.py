"""A call as data: the command line, the Python lines, JSON and the next command are made of one record."""

from __future__ import annotations

import dataclasses
import glob
import math
import os
import shlex
from collections.abc import Iterable, Mapping
from typing import Any

from credibly.calls.options import BLOCKS, CHUNKS, CLUSTERS, WORKERS
from credibly.calls.verbs import VERBS

_WIDTH = 88
_NOT_SAID = ("models", "out", "model", *(row.name for row in (*CHUNKS, *WORKERS)))
"""Options that stand elsewhere in the Python lines, or that change no number."""


@dataclasses.dataclass(frozen=True)
class Call:
    """What was asked for, by keywords of the library; values are those of JSON.

    Attributes
    ----------
    verb : str
        Verb of the program.
    files : tuple of str
        Files that were read, as they were named, or where the caller says that objects in memory came from.
    reading : mapping of str to object
        What was said about the files, as `load` takes it.
    options : mapping of str to object
        Everything else.
    objects : tuple of str
        Arguments that were objects in memory, such as arrays: the Python lines call them by these names.
    typed : bool
        Whether it came from the command line.
    """

    verb: str
    files: tuple[str, ...] = ()
    reading: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    options: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    objects: tuple[str, ...] = ()
    typed: bool = True

    @classmethod
    def of(cls, recorded: Mapping[str, Any]) -> Call:
        """Return the call that a dictionary holds."""
        options = {name: _number(value) for name, value in recorded["options"].items()}
        lists = {name: tuple(recorded[name]) for name in ("files", "objects")}
        return cls(**{**recorded, **lists, "options": options})

    def to_dict(self) -> dict[str, Any]:
        """Return the record for JSON."""
        return {
            "verb": self.verb,
            "files": list(self.files),
            "reading": dict(self.reading),
            "options": dict(self.options),
            "objects": list(self.objects),
            "typed": self.typed,
        }

    def again(self) -> str:
        """Return what makes the same again: a command if it was typed, else lines of Python."""
        return self.command() if self.typed else self.python()

    def command(self) -> str:
        """Return the command line; a file that is called like an option is named with its folder."""
        values = {**self.reading, **self.options}
        flags = [word for row in VERBS[self.verb].rows for word in row.words(values.get(row.name))]
        files = [f"./{file}" if file.startswith("-") and file != "-" else file for file in self.files]
        return shlex.join(["credibly", *self.verb.split(), *files, *flags])

    def then(self, verb: str, *arguments: str, without: Iterable[str] = (), **options: Any) -> str | None:
        """Return the command of another verb for the same file; None if the data were in memory.

        Parameters
        ----------
        verb : str
            The verb.
        *arguments : str
            What follows the file.
        without : iterable of str
            What must not be said about the file.
        **options : object
            Options of the verb, by keyword.

        Returns
        -------
        str or None
            The command; bundled data, which are no file of the reader's, are called FILE.
        """
        files = ("FILE",) if self.verb == "demo" else self.files
        if not files or ("labels" in self.objects and "predictions" not in self.objects):
            return None
        beside = {row.name: self.options[row.name] for row in (CLUSTERS, BLOCKS) if row.name in self.options}
        kept = {
            name: value
            for name, value in {**self.reading, **beside}.items()
            if name not in ("groups", *without)
        }
        return Call(verb, (*files, *arguments), kept, options).command()

    def python(self) -> str:
        """Return the lines of Python."""
        lines = ["import credibly as cr"]
        settings = {name: _python(value) for name, value in self.options.items() if name not in _NOT_SAID}
        settings |= {name: name for name in self.objects if name not in ("predictions", "models", "labels")}
        several = len(self.files) > 1 or "models" in self.objects
        arguments = ["models" if several else "predictions", "labels"]
        if self.verb == "demo":
            lines = ["from credibly.io import demo", *lines]
            arguments = [f"demo({_python(self.options['model'])})"]
        elif len(self.files) > 1:
            read = zip(self.options["models"], self.files, strict=True)
            lines += [
                "",
                "models = {",
                *(f"    {_python(name)}: {self._read(file)}," for name, file in read),
                "}",
            ]
            arguments = ["models"]
        elif self.files and "predictions" not in self.objects:
            lines += ["", f"data = {self._read(self.files[0])}"]
            arguments = ["data"]
        elif "labels" not in self.objects:
            arguments = arguments[:1]
        called = _called(f"cr.{'compare' if several else 'evaluate'}", arguments, settings)
        out = self.options.get("out", "comparison.html" if several else "report.html")
        return "\n".join([*lines, "", f"{called}.report({_python(out)})"])

    def _read(self, file: str) -> str:
        """Return how a file is read."""
        reading = {name: _python(value) for name, value in self.reading.items()}
        reading |= {"labels": "labels"} if "labels" in self.objects else {}
        chunks = {row.name: self.options[row.name] for row in CHUNKS if row.name in self.options}
        if not chunks and not glob.has_magic(file):
            return _called("cr.load", [_python(file)], reading)
        chunks.pop("stream", None)
        reading |= {name: _python(value) for name, value in chunks.items()}
        return _called("cr.scan", [_python(file)], reading)


def plain(value: Any) -> Any:
    """Return numbers, names, paths and lists of them in types of JSON, and None for anything else."""
    if isinstance(value, str):
        return str(value)  # a string of NumPy is a str, and is written in another way
    if isinstance(value, (bool, int, float)) and not hasattr(value, "dtype"):
        return value
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, (list, tuple)):
        items = [plain(item) for item in value]
        return None if None in items else items
    return plain(value.item()) if getattr(value, "shape", None) == () and hasattr(value, "item") else None


def _number(value: Any) -> Any:
    """Return an infinite number that JSON had to spell."""
    if isinstance(value, list):
        return [_number(item) for item in value]
    return math.inf if value == "Infinity" else value


def _called(name: str, arguments: list[str], keywords: Mapping[str, str]) -> str:
    """Return a call as Python writes it, on one line or one line per argument."""
    words = [*arguments, *(f"{keyword}={value}" for keyword, value in keywords.items())]
    line = f"{name}({', '.join(words)})"
    return line if len(line) <= _WIDTH else "\n".join([f"{name}(", *(f"    {word}," for word in words), ")"])


def _python(value: Any) -> str:
    """Return a value as Python writes it, text in the quotes that this project has."""
    if isinstance(value, str):
        text = repr(value)
        return f'"{text[1:-1]}"' if text[0] == "'" and '"' not in text and "\\'" not in text else text
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_python, value))}]"
    return f'float("{value}")' if isinstance(value, float) and not math.isfinite(value) else repr(value)
