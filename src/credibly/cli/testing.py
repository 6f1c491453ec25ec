"""`credibly test`: of a prediction, of a set, or, with several labels per instance, of the truth itself."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any, Literal

import typer

from credibly._arrays.errors import InputError
from credibly._arrays.progress import Progress
from credibly._arrays.results import HypotestResult
from credibly._arrays.validity_results import ValidityResult
from credibly.cli import options
from credibly.cli.numbers import LEVEL, leave, with_bins
from credibly.cli.output import Output, Table
from credibly.cli.progress import progress
from credibly.cli.reading import Reading
from credibly.cli.wording import with_flags
from credibly.hypotests import calibration_test, credal_test, default_statistic, validity_test
from credibly.io import Dataset
from credibly.predictions import ClassPredictions, LabelCounts, Point
from credibly.statistics import Statistic, as_statistic

RESAMPLES = 999
COLUMNS = (
    "statistic",
    "value",
    "acceptance",
    "tail",
    "pvalue",
    "pvalue_interval",
    "adjusted_pvalue",
    "effect_size",
    "n",
    "m",
    "n_resamples",
    "verdict",
)
PAIRS = frozenset({"acceptance", "pvalue_interval"})
_MOST_LISTED = 20

Resamples = Annotated[
    int | None,
    typer.Option("--n-resamples", metavar="N", help="Replicates; 199 where weights are refitted, else 999."),
]
Weights = Annotated[
    Literal["learned", "constant", "mean"] | None,
    typer.Option(
        "--weights",
        metavar="learned|constant|mean",
        help="Of a set: which combinations are looked for. `mean` tests its mean only.  [default: learned]",
    ),
]
Learner = Annotated[
    str | None, typer.Option("--learner", metavar="NAME", help="What learns the weights (learned only).")
]
Refit = Annotated[
    bool | None,
    typer.Option("--refit/--no-refit", help="Whether weights are learned again for every replicate."),
]
Split = Annotated[
    float | None,
    typer.Option("--split", metavar="SHARE", help="Share of the instances that weights are learned on."),
]
Folds = Annotated[
    int | None,
    typer.Option("--cv", metavar="K", help="Folds that take turns in being tested, instead of `--split`."),
]
Paper = Annotated[
    Literal["M23", "J25"] | None,
    typer.Option("--paper", metavar="M23|J25", help="Of a set: reproduce the algorithm of a paper."),
]


def test_file(
    file: options.PredictionsFile,
    labels: options.Labels = None,
    kind: options.Kind = None,
    member_axis: options.MemberAxis = None,
    drop_invalid: options.DropInvalid = False,
    statistic: options.Statistics = None,
    weights: Weights = None,
    learner: Learner = None,
    refit: Refit = None,
    split: Split = None,
    cv: Folds = None,
    paper: Paper = None,
    n_resamples: Resamples = None,
    n_bins: options.Bins = 15,
    seed: options.Seed = 0,
    fail_on: options.FailOn = None,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Test of calibration.

    Could the labels have been drawn from the predictions? Of a set: from some combination in it?
    With counts of several raters' labels: from a distribution in the set, instance by instance?
    Several statistics share their replicates and give one p-value together, beside their own adjusted ones.
    """
    output = Output(as_json, quiet)
    data = Reading(file, labels, kind, member_axis, drop_invalid).labelled(output)
    of_sets = {
        "--weights": weights,
        "--learner": learner,
        "--refit": refit,
        "--split": split,
        "--cv": cv,
        "--paper": paper,
    }
    with progress(quiet=quiet) as tell:
        told: Progress | None = None
        if tell is not None:
            bar = tell  # one name for the closure
            told = lambda done, total: bar("tests", done, total)  # noqa: E731
        if isinstance(data.labels, LabelCounts):
            _refuse({**of_sets, "--statistic": statistic}, "labels are counts over raters")
            result: HypotestResult = validity_test(
                data.predictions,
                data.labels,
                n_resamples=RESAMPLES if n_resamples is None else n_resamples,
                rng=seed,
                progress=told,
            )
        elif isinstance(data.predictions, Point) or not isinstance(data.predictions, ClassPredictions):
            _refuse(of_sets, "the predictions are no set")
            names = statistic or [default_statistic(data.predictions)]
            result = calibration_test(
                data.predictions,
                data.labels,
                statistic=_statistics(names, n_bins),
                n_resamples=RESAMPLES if n_resamples is None else n_resamples,
                rng=seed,
                progress=told,
            )
        else:
            result = _set_test(data, of_sets, statistic, n_bins, n_resamples, seed, told)
    results = [*result.components.values(), result]
    if as_json:
        output.json(result.to_dict())
    else:
        output.table(_table(results, data.predictions.n_members))
        output.notes([f"hypothesis: {result.hypothesis}", *map(with_flags, result.notes), *_failing(result)])
    leave(fail_on, (one.verdict(LEVEL) for one in results))


def _set_test(
    data: Dataset,
    of_sets: dict[str, Any],
    statistic: list[str] | None,
    n_bins: int,
    n_resamples: int | None,
    seed: int,
    told: Progress | None,
) -> HypotestResult:
    given = {flag.lstrip("-"): value for flag, value in of_sets.items() if value is not None}
    weights = given.get("weights", "constant" if given.get("paper") == "M23" else "learned")
    chosen = statistic or ([default_statistic(data.predictions)] if weights == "mean" else None)
    return credal_test(
        data.predictions,
        data.labels,
        data.features if weights == "learned" else None,
        statistic=None if chosen is None else _statistics(chosen, n_bins),
        n_resamples=n_resamples,
        rng=seed,
        progress=told,
        **given,
    )


def _statistics(names: list[str], n_bins: int) -> Statistic | list[Statistic]:
    """Return one statistic, or several; `--n-bins` reaches those that have bins."""
    chosen = [with_bins(as_statistic(name), n_bins) for name in names]
    return chosen if len(chosen) > 1 else chosen[0]


def _refuse(flags: dict[str, Any], why: str) -> None:
    """Raise if a flag was given that has no meaning here."""
    given = [flag for flag, value in flags.items() if value is not None]
    if given:
        raise InputError(f"`{given[0]}`", "has no meaning here", why, "Leave it out.")


def _failing(result: HypotestResult) -> list[str]:
    if not isinstance(result, ValidityResult):
        return []
    rows = result.failing(LEVEL)
    if not len(rows):
        return ["no instance stands out by itself after adjustment for all of them"]
    few = ", ".join(map(str, rows[:_MOST_LISTED]))
    more = f" and {len(rows) - _MOST_LISTED} more" if len(rows) > _MOST_LISTED else ""
    return [f"instances that stand out after adjustment, worst first: {few}{more}"]


def _table(results: Iterable[HypotestResult], members: int) -> Table:
    """One row per test; everything that belongs to a verdict stands beside it."""
    rows = [
        (
            result.statistic_name,
            result.statistic,
            result.acceptance_region,
            result.tail,
            result.pvalue,
            result.pvalue_interval,
            result.adjusted_pvalue,
            result.effect_size,
            result.n,
            members,
            result.n_resamples,
            result.verdict(LEVEL),
        )
        for result in results
    ]
    return Table(COLUMNS, rows, PAIRS)
