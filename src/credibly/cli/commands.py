"""Verbs as click commands: options, help and completion are made of the table; a verb is loaded to run."""

from __future__ import annotations

import difflib
import os
import sys
from collections.abc import Callable, Iterable
from importlib import import_module
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem, get_completion_class, shell_complete

from credibly._arrays.errors import CrediblyError
from credibly.calls.options import FILE, Names, Option
from credibly.calls.verbs import GROUPS, VERBS, Argument, Verb
from credibly.cli import codes

Completion = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]


class Refused(click.ClickException):
    """What the library refused, in the words of the verb that was typed."""


class Read(click.ParamType):  # type: ignore[type-arg]  # generic since click 8.5
    """A value that its row reads."""

    name = "text"

    def __init__(self, read: Callable[[str], Any]) -> None:
        self.read = read

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Read what was typed; a default is what it is."""
        return self.read(value) if isinstance(value, str) else value


class Whole(click.IntRange):
    """A whole number with a smallest value; without it, a word is "not a valid integer range"."""

    name = "integer"


class VerbCommand(click.Command):
    """A verb: its parameters are made of the table, its code is loaded when it runs."""

    def __init__(self, words: str, verb: Verb) -> None:
        self.words, self.verb = words, verb
        self.rows = {row.name: row for row in verb.rows}
        super().__init__(
            words.split()[-1],
            params=[*map(_argument, verb.arguments), *map(_option, verb.rows)],
            help="\n\n".join(filter(None, (verb.summary, verb.text))),
            epilog=f"Example:\n\n\b\n    {verb.example}",
        )

    def invoke(self, ctx: click.Context) -> None:
        """Load the verb and run it."""
        from credibly.cli.output import Output, sentence  # loads NumPy, as verbs do
        from credibly.cli.reading import Typed

        module, _, name = self.verb.home.partition(":")
        typed = Typed(self.words, self.verb, ctx.params)
        try:
            getattr(import_module(f"credibly.cli.{module}"), name)(typed, Output(typed.json, typed.quiet))
        except CrediblyError as error:
            raise Refused(sentence(error)) from error  # while it is known which verb has which flags

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write arguments, the options that most people need, and the others under their headings."""
        if self.verb.arguments:
            with formatter.section("Arguments"):
                formatter.write_dl([(argument.metavar, argument.help) for argument in self.verb.arguments])
        lines = {
            option.opts[0]: option.get_help_record(ctx)
            for option in self.get_params(ctx)
            if isinstance(option, click.Option)
        }
        sections = {"Options": list(self.verb.first)}
        for row in self.rows.values():
            if row.flag not in self.verb.first:
                sections.setdefault(row.about if self.verb.first else "Options", []).append(row.flag)
        last = "Output" if self.verb.first else "Options"
        sections[last] = [
            *sections.pop(last),
            *lines.keys() - {row.flag for row in self.rows.values()},
        ]  # --help
        for heading, flags in sections.items():
            with formatter.section(heading):
                formatter.write_dl([record for flag in flags if (record := lines[flag]) is not None])


class Verbs(click.Group):
    """Verbs under one word; each becomes a command when it is asked for."""

    def __init__(self, prefix: str = "", **settings: Any) -> None:
        super().__init__(subcommand_metavar="COMMAND [ARGS]...", **settings)
        self.prefix = prefix
        verbs = [words.removeprefix(prefix) for words in VERBS if words.startswith(prefix)]
        self.summaries = {name: VERBS[prefix + name].summary for name in verbs if " " not in name}
        self.summaries |= {} if prefix else GROUPS

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the verbs in the order of the table."""
        return list(self.summaries)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Make the command of a verb."""
        if cmd_name not in self.summaries:
            return None
        if not self.prefix and cmd_name in GROUPS:
            return Verbs(f"{cmd_name} ", name=cmd_name, help=GROUPS[cmd_name], no_args_is_help=False)
        words = self.prefix + cmd_name
        return VerbCommand(words, VERBS[words])

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        """Find the verb, or name the one that was meant."""
        meant = difflib.get_close_matches(args[0], self.summaries, 1)
        if meant and args[0] not in self.summaries:
            ctx.fail(f"No such command '{args[0]}'. Did you mean '{meant[0]}'?")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the verbs, each with its whole summary."""
        with formatter.section("Commands"):
            formatter.write_dl(list(self.summaries.items()))


def _argument(argument: Argument) -> click.Argument:
    return click.Argument(
        [argument.name],
        metavar=argument.metavar,
        nargs=-1 if argument.many else 1,
        required=True,
        type=Read(argument.read),
        shell_complete=_completion(FILE, argument.ends),
    )


def _option(row: Option) -> click.Option:
    words = [f"{row.flag}/{row.off}" if row.off else row.flag, *filter(None, [row.short]), row.name]
    if row.is_switch:
        return click.Option(words, is_flag=True, default=None if row.off else False, help=row.help)
    return click.Option(
        words,
        metavar=row.metavar,
        type=_type(row),
        multiple=row.many,
        default=row.default,
        show_default=row.default is not None,
        help=row.help,
        shell_complete=None if row.known is None else _completion(row.known),
    )


def _type(row: Option) -> click.ParamType[Any]:
    if row.choices:
        return click.Choice(row.choices)
    if row.least is not None:
        return Whole(min=row.least)
    plain: dict[Any, click.ParamType[Any]] = {int: click.INT, float: click.FLOAT, str: click.STRING}
    return plain.get(row.reads) or Read(row.value)


def _completion(known: Names, ends: Iterable[str] = ()) -> Completion:
    """Return what a shell is told: names that begin like this, or that a name of a file is wanted."""

    def complete(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        if callable(known):
            return [CompletionItem(name) for name in known() if name.startswith(incomplete)]
        stem, dot, start = incomplete.rpartition(".")
        endings = [ending for ending in ends if dot and ending.startswith(start)]
        if endings:
            return [CompletionItem(f"{stem}.{ending}") for ending in endings]
        return [CompletionItem(incomplete, type="file")]

    return complete


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
