"""The program: what happens before a verb runs, and when one fails.

The code of a verb is loaded when it runs: help and Tab read the table of verbs only.
"""

from __future__ import annotations

import io
import os
import sys
import traceback
from collections.abc import Sequence
from typing import Any

import click

from credibly._arrays.errors import CrediblyError
from credibly.calls import VERBS
from credibly.cli import codes
from credibly.cli.commands import COMPLETION, Refused, Verbs, answer, install, show


def program() -> Verbs:
    """Return the program with its own options; verbs become commands when they are asked for."""
    return Verbs(
        name="credibly",
        help="How far can a model's claims about its own uncertainty be believed?\n\n"
        "Begin with `credibly demo`, or with `credibly report FILE`.",
        invoke_without_command=True,
        context_settings={"help_option_names": ["-h", "--help"]},
        callback=_help_if_alone,
        params=[
            _asking("--version", _print_version, "Print the version.", is_flag=True),
            _asking("--install-completion", install, "Install completion for the current shell.", **_SHELL),
            _asking(
                "--show-completion",
                show,
                "Show completion for the current shell, to copy it or customize the installation.",
                **_SHELL,
            ),
        ],
    )


_SHELL = {"is_flag": False, "flag_value": "", "metavar": "[SHELL]"}
"""Of options that may name a shell."""


def _asking(flag: str, callback: Any, text: str, **settings: Any) -> click.Option:
    """Return an option that answers at once."""
    return click.Option([flag], callback=callback, expose_value=False, is_eager=True, help=text, **settings)


def _print_version(context: click.Context, option: click.Parameter, wanted: bool) -> None:
    if wanted:
        # The version is written once, in the package itself, which is loaded when anything here runs.
        # tach-ignore(the version is a constant of the package)
        from credibly import __version__

        sys.stdout.write(f"credibly {__version__}\n")
        raise click.exceptions.Exit


@click.pass_context
def _help_if_alone(context: click.Context) -> None:
    if context.invoked_subcommand is None:
        sys.stdout.write(f"{context.get_help()}\n")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line.

    Parameters
    ----------
    arguments : sequence of str, optional
        The arguments after the command's name. Default: those of the process.

    Returns
    -------
    int
        0 when it ran, 1 where ``--fail-on`` asks for that, 2 for bad input, 130 after Ctrl-C.
    """
    _open_closed_streams()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a poor locale must not stop a result
    try:
        _invoke(sys.argv[1:] if arguments is None else list(arguments))
        sys.stdout.flush()
    except click.exceptions.Exit as wanted:
        return wanted.exit_code
    except Refused as error:
        return _fail(error.message)
    except CrediblyError as error:
        from credibly.cli.output import sentence  # loads NumPy, which most runs do without until here

        return _fail(sentence(error))
    except click.ClickException as error:
        problem = _unknown_option(error) or error.format_message().rstrip(".")
        return _fail(f"{problem}{'' if problem.endswith('?') else '.'} Try `{_help_of(error)}`.")
    except BrokenPipeError:
        # The reader has gone; Python would complain once more when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return codes.CLOSED_PIPE
    except (OSError, MemoryError) as error:
        from credibly.cli.output import system_sentence

        return _fail(system_sentence(error))
    except KeyboardInterrupt:
        sys.stderr.write("credibly: stopped.\n")
        return codes.INTERRUPTED
    except Exception:  # noqa: BLE001 - a defect must not look like the conflict that exit code 1 means
        traceback.print_exc()
        sys.stderr.write(
            "credibly: this is a bug in credibly, not a problem with your input; please report it at "
            f"{_issues()}\n"
        )
        return codes.DEFECT
    return codes.RAN


def _issues() -> str:
    """Return the address of the issues, which the package's metadata name."""
    from importlib.metadata import metadata

    addresses = metadata("credibly").get_all("Project-URL") or ()
    named = dict(address.split(", ", 1) for address in addresses)
    return str(named.get("Issues", "its repository"))


def _open_closed_streams() -> None:
    """Give the process streams to write to where it was started without (`>&-`): the exit code remains."""
    if sys.stdout is None:
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115 - open while we run
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115


def _invoke(arguments: list[str]) -> None:
    """Run the verb; click's own `main` has other exit codes for closed pipes and interrupts."""
    group = program()
    if COMPLETION in os.environ:
        raise click.exceptions.Exit(answer(group))
    try:
        context = group.make_context("credibly", arguments)
    except click.exceptions.Exit as wanted:  # no verb has run yet, so this is no conflict
        raise click.exceptions.Exit(codes.BAD_INPUT if wanted.exit_code else codes.RAN) from None
    with context:
        group.invoke(context)


def _fail(text: str) -> int:
    sys.stderr.write(f"credibly: {text}\n")
    return codes.BAD_INPUT


def _unknown_option(error: click.ClickException) -> str:
    """Say which verbs have an option that this one lacks, or which are spelt alike; "" for other errors."""
    if not isinstance(error, click.NoSuchOption) or error.ctx is None:
        return ""
    start = f"`{error.ctx.command_path}` has no option {error.option_name}"
    verbs = [
        f"`{words}`"
        for words, verb in VERBS.items()
        if any(error.option_name == row.flag for row in verb.rows)
    ]
    if verbs:
        more = ", ..." if len(verbs) > 4 else ""
        return f"{start}; {', '.join(verbs[:4])}{more} {'have' if len(verbs) > 1 else 'has'} it"
    return f"{start}. Did you mean {' or '.join(error.possibilities)}?" if error.possibilities else start


def _help_of(error: Exception) -> str:
    context = getattr(error, "ctx", None)
    return f"{context.command_path if context else 'credibly'} --help"
