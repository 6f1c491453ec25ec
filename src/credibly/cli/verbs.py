"""The verbs in one table; the code of a verb is loaded when that verb is asked for.

`credibly --help` and Tab after `credibly` read the table only.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import cached_property
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperCommand


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
        "Shapes, kind and axes, problems, what can be computed.",
        "credibly inspect predictions.npz other.csv",
    ),
    "evaluate": Verb(
        "numbers:evaluate_file",
        "The numbers, with intervals and verdicts.",
        "credibly evaluate predictions.npy --labels labels.npy",
    ),
    "test": Verb(
        "testing:test_file",
        "Test of calibration.",
        "credibly test predictions.npz --statistic brier --statistic confidence_ece",
    ),
    "check": Verb(
        "predictive_checks:check_file",
        "Posterior predictive checks.",
        "credibly check predictions.npz --statistic accuracy --statistic brier",
    ),
    "raters": Verb(
        "raters:raters_file",
        "Losses and disagreement of several raters.",
        "credibly raters rated.npz",
    ),
    "compare": Verb(
        "comparing:compare_files",
        "Ranking of models over trade-offs, with ties.",
        "credibly compare predictions.npz members.npz",
    ),
    "report": Verb(
        "reports:report_files",
        "One self-contained HTML file: verdicts, numbers, figures.",
        "credibly report predictions.npz --out report.html",
    ),
    "convert": Verb(
        "files:convert_file",
        "The same predictions and labels in another format.",
        "credibly convert logits.csv predictions.npz --kind logits",
    ),
    "study": Verb(
        "studies:study_named",
        "The papers' experiments, run again.",
        "credibly study m23-fig1 --size small --out m23",
    ),
    "list": Verb(
        "catalogue:list_names",
        "Every statistic, test and measure, with its reference.",
        "credibly list --json",
    ),
    "demo": Verb(
        "reports:demo",
        "The main job on bundled real predictions, no download.",
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
                "Every statistic before and after, on folds that were not fitted.",
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
        from credibly.cli.groups import flattened

        alone = typer.Typer(rich_markup_mode=None, pretty_exceptions_enable=False, add_completion=False)
        epilog = f"Example:\n\n\b\n    {self.verb.example}"
        alone.command(self.name, epilog=epilog)(flattened(self.verb.function()))
        return typer.main.get_command(alone)

    def make_context(self, *arguments: Any, **settings: Any) -> Any:
        """Load the verb; from here on click sees the verb only."""
        return self.loaded.make_context(*arguments, **settings)
