"""The program: its verbs in one table, what happens before a verb runs, and when one fails.

The code of a verb is loaded when that verb is asked for: `credibly --help` and Tab after `credibly` read the
table only.
"""

from __future__ import annotations

import dataclasses
import io
import os
import sys
import traceback
from collections.abc import Callable, Sequence
from functools import cached_property
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from credibly._arrays.errors import CrediblyError
from credibly.cli import codes


@dataclasses.dataclass(frozen=True)
class Verb:
    """Where the function of a verb is, the first line of its docstring, and a command that runs."""

    home: str
    summary: str
    example: str

    def function(self) -> Callable[..., None]:
        """Load the verb."""
        module, _, name = self.home.partition(":")
        found: Callable[..., None] = getattr(import_module(f"credibly.cli.{module}"), name)
        return found


VERBS = {
    "inspect": Verb(
        "files:inspect_files",
        "Show shapes, kind, axes and problems, and what can be computed.",
        "credibly inspect predictions.npz other.csv",
    ),
    "evaluate": Verb(
        "numbers:evaluate_file",
        "Findings, and all numbers with intervals.",
        "credibly evaluate predictions.npy --labels labels.npy",
    ),
    "test": Verb(
        "testing:test_file",
        "Test calibration: could chance explain the gap?",
        "credibly test predictions.npz --statistic brier --statistic confidence_ece",
    ),
    "plan": Verb(
        "testing:plan_file",
        "Say how many labels are needed, from predictions alone.",
        "credibly plan predictions.npz --margin 0.02",
    ),
    "check": Verb(
        "predictive_checks:check_file",
        "Posterior predictive checks.",
        "credibly check predictions.npz --statistic accuracy --statistic brier",
    ),
    "audit": Verb(
        "auditing:audit_file",
        "Is it calibrated for everyone? Audit all groups.",
        "credibly audit patients.csv --by age,sex,site",
    ),
    "raters": Verb(
        "raters:raters_file",
        "Loss and disagreement when there are several raters.",
        "credibly raters rated.npz",
    ),
    "compare": Verb(
        "comparing:compare_files",
        "Compare models: faults, ranking, ties, paired differences.",
        "credibly compare predictions.npz members.npz",
    ),
    "report": Verb(
        "reports:report_files",
        "One self-contained HTML file: verdicts, numbers, figures.",
        "credibly report predictions.npz --out report.html",
    ),
    "convert": Verb(
        "files:convert_file",
        "Convert predictions and labels to another format.",
        "credibly convert logits.csv predictions.npz --kind logits",
    ),
    "study": Verb(
        "studies:study_named",
        "Rerun the papers' experiments.",
        "credibly study m23-fig1 --size small --out m23",
    ),
    "list": Verb(
        "catalogue:list_names",
        "Every statistic, test and measure, with its reference.",
        "credibly list --json",
    ),
    "demo": Verb(
        "reports:demo",
        "Report on bundled real predictions; no download.",
        "credibly demo --out demo-report.html",
    ),
}
GROUPS = {
    "calibrate": (
        "Fit, apply and compare recalibrations.",
        {
            "fit": Verb(
                "calibrate:fit_file",
                "Fit a recalibration on predictions and labels.",
                "credibly calibrate fit held-out.npz calibration.json --method vector",
            ),
            "apply": Verb(
                "calibrate:apply_file",
                "Apply a fitted recalibration to other predictions.",
                "credibly calibrate apply calibration.json predictions.npz recalibrated.npz",
            ),
            "compare": Verb(
                "calibrate:compare_file",
                "Compare statistics before and after, on held-out folds.",
                "credibly calibrate compare predictions.npz --method temperature --method matrix",
            ),
        },
    ),
}


def add_verbs(program: Any) -> None:
    """Give the verbs to a click group, none of them loaded."""
    for name, verb in VERBS.items():
        program.add_command(UnloadedVerb(name, verb))
    for name, (summary, verbs) in GROUPS.items():
        group: Any = typer.main.get_group(typer.Typer(name=name, help=summary, rich_markup_mode=None))
        for inner, verb in verbs.items():
            group.add_command(UnloadedVerb(inner, verb))
        program.add_command(group)


class UnloadedVerb(TyperCommand):
    """Stands in the help for a verb, and lets the verb itself answer as soon as it is called or completed."""

    def __init__(self, name: str, verb: Verb) -> None:
        super().__init__(name, help=verb.summary, rich_markup_mode=None)
        self.verb = verb

    @cached_property
    def loaded(self) -> Any:
        """The verb with its arguments and options."""
        alone = typer.Typer(rich_markup_mode=None, pretty_exceptions_enable=False, add_completion=False)
        epilog = f"Example:\n\n\b\n    {self.verb.example}"
        alone.command(self.name, epilog=epilog)(self.verb.function())
        return typer.main.get_command(alone)

    def make_context(self, *arguments: Any, **settings: Any) -> Any:
        """Load the verb; from here on click sees the verb only."""
        return self.loaded.make_context(*arguments, **settings)


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
) -> None:
    """How far can a model's claims about its own uncertainty be believed?

    Begin with `credibly demo`, or with `credibly report FILE`.
    """
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
    except typer.Exit as wanted:
        return wanted.exit_code
    except SystemExit as wanted:  # typer leaves like this after it has answered a shell
        return int(wanted.code or 0)
    except CrediblyError as error:
        from credibly.cli.output import sentence  # loads NumPy, which most failures have loaded

        return _fail(sentence(error))
    except UsageProblem as error:
        return _fail(f"{error.format_message().rstrip('.')}. Try `{_help_of(error)}`.")
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
    """Run the verb; typer's own `main` has other exit codes for closed pipes and interrupts."""
    group = typer.main.get_command(app)
    add_verbs(group)
    if COMPLETION in os.environ:
        group.main(prog_name="credibly")  # answers the shell that asks, and leaves
    try:
        context = group.make_context("credibly", arguments)
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
