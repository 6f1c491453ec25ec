"""The verbs in one place, and what happens when one of them fails."""

from __future__ import annotations

import io
import os
import sys
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from credibly._arrays.errors import CrediblyError
from credibly.cli import (
    calibrate,
    catalogue,
    checks,
    codes,
    comparing,
    config,
    files,
    numbers,
    raters,
    reports,
    studies,
    testing,
    wording,
)
from credibly.cli.groups import flattened
from credibly.cli.output import printable

# typer carries click inside in new versions and imports it in old ones; this name is the same in both.
UsageProblem: type[Any] = next(
    base for base in typer.BadParameter.__mro__ if base.__name__ == "ClickException"
)

COMPLETION = "_CREDIBLY_COMPLETE"
"""Set by the shell that asks for completions (`--install-completion`)."""

app = typer.Typer(
    name="credibly",
    rich_markup_mode=None,  # plain help: examples can be copied from a narrow terminal
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

VERBS: dict[str, tuple[Callable[..., None], str]] = {
    "inspect": (files.inspect_files, "credibly inspect predictions.npz other.csv"),
    "evaluate": (numbers.evaluate_file, "credibly evaluate predictions.npy --labels labels.npy"),
    "test": (
        testing.test_file,
        "credibly test predictions.npz --statistic brier --statistic confidence_ece",
    ),
    "check": (checks.check_file, "credibly check predictions.npz --statistic accuracy --statistic brier"),
    "annotators": (raters.annotators_file, "credibly annotators rated.npz"),
    "compare": (comparing.compare_files, "credibly compare predictions.npz members.npz"),
    "report": (reports.report_files, "credibly report predictions.npz --out report.html"),
    "convert": (files.convert_file, "credibly convert logits.csv predictions.npz --kind logits"),
    "study": (studies.study_named, "credibly study m23-fig1 --size small --out m23"),
    "list": (catalogue.list_names, "credibly list --json"),
    "demo": (reports.demo, "credibly demo --out demo-report.html"),
}
GROUPS: dict[str, tuple[str, dict[str, tuple[Callable[..., None], str]]]] = {
    "calibrate": (
        "Fit, apply and compare recalibrations.",
        {
            "fit": (
                calibrate.fit_file,
                "credibly calibrate fit held-out.npz calibration.json --method vector",
            ),
            "apply": (
                calibrate.apply_file,
                "credibly calibrate apply calibration.json predictions.npz recalibrated.npz",
            ),
            "compare": (
                calibrate.compare_file,
                "credibly calibrate compare predictions.npz --method temperature --method matrix",
            ),
        },
    ),
}


def _add(group: typer.Typer, verbs: dict[str, tuple[Callable[..., None], str]]) -> None:
    for name, (verb, example) in verbs.items():
        group.command(name, epilog=f"Example:\n\n\b\n    {example}")(flattened(verb))


_add(app, VERBS)
for _name, (_summary, _verbs) in GROUPS.items():
    _group = typer.Typer(help=_summary, rich_markup_mode=None)
    _add(_group, _verbs)
    app.add_typer(_group, name=_name)


def _print_version(wanted: bool) -> None:
    if wanted:
        # The version is written once, in the package itself, which is loaded when anything here runs.
        # tach-ignore(the version is a constant of the package)
        from credibly import __version__

        sys.stdout.write(f"credibly {__version__}\n")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def root(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
    options_file: Annotated[
        Path | None,
        typer.Option(
            "--config",
            metavar="FILE",
            help=f"Options of repeated runs; default: {config.NAME} where you are.",
        ),
    ] = None,
) -> None:
    """How far can a model's claims about its own uncertainty be believed?

    Begin with `credibly demo`, or with `credibly report FILE`.
    """
    if context.invoked_subcommand is None:
        sys.stdout.write(f"{context.get_help()}\n")
        return
    path = config.find_config(options_file)
    if path is not None and not context.resilient_parsing:
        _use_config(path, context)


def _use_config(path: Path, context: Any) -> None:
    """Give the verb its options from a file, and say so."""
    context.default_map = config.read_config(path, context.command)
    used = context.default_map[context.invoked_subcommand]
    for word in context.obj:  # down to the verb of a verb
        used = used[word] if isinstance(used.get(word), dict) else used
    silent = used.get("quiet") or {"-q", "--quiet", "-h", "--help"} & set(context.obj)
    if used and not silent:
        sys.stderr.write(f"note: defaults from {printable(f'{path}: {config.in_words(used)}')}\n")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line.

    Parameters
    ----------
    arguments : sequence of str, optional
        What stands after the command's name; taken from the process where not given.

    Returns
    -------
    int
        0 when it ran, 1 for a conflict under ``--fail-on conflict``, 2 for bad input, 130 after Ctrl-C.
    """
    _open_closed_streams()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a poor locale must not stop a result
    try:
        _invoke(sys.argv[1:] if arguments is None else list(arguments))
        sys.stdout.flush()
    except typer.Exit as wanted:
        return wanted.exit_code
    except SystemExit as wanted:  # typer leaves like this after it has answered a shell
        return int(wanted.code or 0)
    except CrediblyError as error:
        return _fail(wording.sentence(error))
    except UsageProblem as error:
        return _fail(f"{error.format_message()} Try `{_help_of(error)}`.")
    except BrokenPipeError:
        # The reader has gone; Python would complain once more when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return codes.CLOSED_PIPE
    except (OSError, MemoryError) as error:
        return _fail(wording.system_sentence(error))
    except KeyboardInterrupt:
        sys.stderr.write("credibly: stopped.\n")
        return codes.INTERRUPTED
    except Exception:  # noqa: BLE001 - a defect must not look like the conflict that exit code 1 means
        traceback.print_exc()
        sys.stderr.write("credibly: this is a defect of credibly, not of your input; please report it.\n")
        return codes.DEFECT
    return codes.RAN


def _open_closed_streams() -> None:
    """Give the process streams to write to where it was started without (`>&-`): the exit code remains."""
    if sys.stdout is None:
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115 - open while we run
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115


def _invoke(arguments: list[str]) -> None:
    """Run the verb; typer's own `main` has other exit codes for closed pipes and interrupts."""
    group = typer.main.get_command(app)
    if COMPLETION in os.environ:
        group.main(prog_name="credibly")  # answers the shell that asks, and leaves
    try:
        context = group.make_context("credibly", arguments, obj=tuple(arguments))
    except typer.Exit as wanted:  # no verb has run yet, so this is no conflict
        raise typer.Exit(codes.BAD_INPUT if wanted.exit_code else codes.RAN) from None
    with context:
        group.invoke(context)


def _fail(text: str) -> int:
    sys.stderr.write(f"credibly: {text}\n")
    return codes.BAD_INPUT


def _help_of(error: Exception) -> str:
    context = getattr(error, "ctx", None)
    return f"{context.command_path if context else 'credibly'} --help"
