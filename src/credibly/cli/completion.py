"""Tab: what a shell asks, the script that makes it ask, and where that script is put."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import click
from click.shell_completion import get_completion_class, shell_complete

from credibly.cli import codes

COMPLETION = "_CREDIBLY_COMPLETE"
"""Set by the shell that asks for completions."""

_SCRIPTS = {
    "bash": ("~/.bash_completions/credibly.sh", "~/.bashrc"),
    "zsh": ("~/.zfunc/_credibly", "~/.zshrc"),
    "fish": ("~/.config/fish/completions/credibly.fish", None),
}
"""Where the script of a shell goes, and the file that has to mention it."""


def answer(program: click.Group) -> int:
    """Answer the shell that asks; return the exit code."""
    failed = shell_complete(program, {}, "credibly", COMPLETION, os.environ[COMPLETION])
    return codes.BAD_INPUT if failed else codes.RAN


def show(context: click.Context, option: click.Parameter, shell: str | None) -> None:
    """Print the script of a shell."""
    if shell is not None and not context.resilient_parsing:
        sys.stdout.write(f"{_script(context, _shell(shell, option))}\n")
        raise click.exceptions.Exit


def install(context: click.Context, option: click.Parameter, shell: str | None) -> None:
    """Write the script of a shell where that shell finds it."""
    if shell is None or context.resilient_parsing:
        return
    name = _shell(shell, option)
    place, mentioned_in = _SCRIPTS[name]
    path = Path(place).expanduser()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(_script(context, name), encoding="utf-8")
    if mentioned_in is not None:
        settings = Path(mentioned_in).expanduser()
        line = f"source '{path}'" if name == "bash" else f"autoload -Uz compinit; compinit; source '{path}'"
        text = settings.read_text(encoding="utf-8") if settings.exists() else ""
        if line not in text:
            settings.write_text(f"{text.rstrip()}\n\n{line}\n".lstrip(), encoding="utf-8")
    sys.stdout.write(f"{name} completion installed in {path}\nIt works after you start a new shell.\n")
    raise click.exceptions.Exit


def _shell(named: str, option: click.Parameter) -> str:
    """Return the shell that was named, else the one that runs this command, else that of the user."""
    name = named or _parent() or Path(os.environ.get("SHELL", "")).name
    if name not in _SCRIPTS:
        known = ", ".join(_SCRIPTS)
        raise click.BadParameter(
            f"{name or 'this shell'!r} is none of {known}; name one of them", param=option
        )
    return name


def _parent() -> str | None:
    """Return the shell that started this process, where the system tells."""
    try:
        name = Path(f"/proc/{os.getppid()}/comm").read_text(encoding="utf-8").strip()
    except OSError:
        return None
    return name if name in _SCRIPTS else None


def _script(context: click.Context, shell: str) -> str:
    made: Any = get_completion_class(shell)
    return str(made(context.command, {}, "credibly", COMPLETION).source())
