"""`credibly.toml`: options of repeated runs, so that a command stays short and the same every time.

    seed = 7                      every verb that has --seed
    [report]
    file = "predictions.npz"      `credibly report` alone is then enough
    statistic = ["brier", "skce"]

What is typed wins over the verb's table, and that over the top of the file. Paths are relative to the current
directory, as they are where they are typed. A file that was found in the current directory, not named with
`--config`, never sets `out`, `force`, `engine` or `scheduler`.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from credibly._arrays.errors import FileError, InputError, one_of

Defaults = dict[str, Any]


def read_config(path: Path, program: Any) -> Defaults:
    """Return the defaults of every verb's parameters, by the names that click gives them.

    Parameters
    ----------
    path : Path
        The file.
    program : click group
        The command line with its verbs.

    Returns
    -------
    dict of str to dict
        For every verb, parameter to value; verbs of a verb are one level deeper.

    Raises
    ------
    FileError
        If the file is missing or is not TOML.
    InputError
        If it names an option that no verb has, or gives it a value of another kind.
    """
    return _defaults(path, program, _parsed(path), {}, f"'{path}'")


TRUSTED = frozenset({"out", "force", "engine", "scheduler"})
"""What a file sets only where it was named: these write, replace and connect, and a folder may be foreign."""


def without_trusted(defaults: Defaults) -> set[str]:
    """Take out of the defaults what a file that was only found may not set; return what that was."""
    refused: set[str] = set()
    for name, value in list(defaults.items()):
        if isinstance(value, dict):
            refused |= without_trusted(value)
        elif name in TRUSTED:
            del defaults[name]
            refused.add(name)
    return refused


def in_words(defaults: Mapping[str, Any]) -> str:
    """Return the defaults of one verb as text, for the note that says they were used."""
    shown = {
        name.replace("_", "-"): " ".join(value) if isinstance(value, list) else value
        for name, value in defaults.items()
    }
    return ", ".join(name if value is True else f"{name} {value}" for name, value in shown.items())


def _defaults(
    path: Path, command: Any, table: Mapping[str, Any], above: Mapping[str, Any], where: str
) -> dict[str, Any]:
    """Return what `table` says of `command`, after what stands above it in the file."""
    verbs = getattr(command, "commands", None)
    if verbs is None:
        keys = _keys(command)
        for name in table:
            one_of(f"an option in {where}", name, sorted(keys))
        given = {name: value for name, value in {**above, **table}.items() if name in keys}
        return {keys[name].name: _value(path, name, value, keys[name]) for name, value in given.items()}
    shared = {name: value for name, value in table.items() if not isinstance(value, dict)}
    for name in shared:
        one_of(f"an option in {where}", name, sorted(_all_keys(command)))
    for name in table.keys() - shared.keys():
        one_of(f"a table in {where}", name, sorted(verbs))
    return {
        name: _defaults(path, verb, table.get(name, {}), {**above, **shared}, f"[{name}] of '{path}'")
        for name, verb in verbs.items()
    }


def _parsed(path: Path) -> dict[str, Any]:
    import tomllib  # most runs have no such file

    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise FileError(
            f"'{path}'", "must exist", "there is no such file", "Check the name and the directory."
        ) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise FileError(
            f"'{path}'", "must be TOML", str(error), "See https://toml.io for its rules."
        ) from None


def _keys(command: Any) -> dict[str, Any]:
    """Return the parameters of a verb under the names a person types, without the dashes."""
    found = {}
    for parameter in getattr(command, "loaded", command).params:  # verbs are loaded when asked for
        longest = max(parameter.opts, key=len).lstrip("-")
        if longest != "help":
            found[longest] = parameter
    return found


def _all_keys(command: Any) -> set[str]:
    """Return the names of options of a verb and of all verbs below it."""
    below = getattr(command, "commands", {}).values()
    return set(_keys(command)) if not below else {name for verb in below for name in _all_keys(verb)}


def _value(path: Path, name: str, value: Any, parameter: Any) -> Any:
    """Return a value as if it were typed: text, which the option itself then converts and checks."""
    flag = bool(getattr(parameter, "is_flag", False))
    several = bool(getattr(parameter, "multiple", False)) or parameter.nargs == -1
    if isinstance(value, list):
        fits = several and all(_is_plain(one) for one in value)
    else:
        fits = isinstance(value, bool) if flag else _is_plain(value)
    if not fits:
        wanted = (
            "true or false"
            if flag
            else "text, a number, or a list of them"
            if several
            else "text or a number"
        )
        raise InputError(
            f"`{name}` in '{path}'", f"must be {wanted}", f"got {value!r}", "Write it as on the command line."
        )
    if flag:
        return value
    return [str(one) for one in value] if isinstance(value, list) else [str(value)] if several else str(value)


def _is_plain(value: Any) -> bool:
    return isinstance(value, (str, int, float)) and not isinstance(value, bool)
