"""`credibly test`: of a prediction, a set, or with several labels per instance the truth; `credibly plan`."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Annotated, Any, Literal

import typer

from credibly._arrays.errors import InputError
from credibly._arrays.progress import Progress
from credibly.cli import options
from credibly.cli.numbers import LEVEL, leave, margin_of, require_gate, with_bins
from credibly.cli.output import Output, Table, progress, with_flags
from credibly.cli.reading import Reading, Streaming, in_memory
from credibly.hypotests import (
    calibration_test,
    credal_test,
    plan_labels,
    validity_test,
    weights_test,
    witness_test,
)
from credibly.hypotests.calibration.calibration_test import CLASS_DEFAULT, REAL_OMNIBUS
from credibly.hypotests.credal.credal_test import NO_DRAWS
from credibly.hypotests.credal.weights_test import SET_STATISTIC
from credibly.hypotests.resampling.pvalues import fewest_resamples
from credibly.predictions import ClassPredictions, Counts, Point, Rows
from credibly.results.certificates import EquivalenceDetails
from credibly.results.credal import CredalDetails, ValidityDetails, WeightsDetails
from credibly.results.tests import HypotestResult
from credibly.results.witness import WitnessDetails
from credibly.statistics import Statistic
from credibly.statistics.registry import as_statistic

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
BOUND_COLUMNS = ("statistic", "value", "upper", "margin", "pvalue", "n", "m", "verdict")
_MOST_LISTED = 20
_IN_WORDS = (WitnessDetails, WeightsDetails, EquivalenceDetails)
_OF_WEIGHTS = ("weights", "learner", "refit", "split", "cv")
_IN_MEMORY = "needs all rows in memory"
_SMALLER = "Test a file that fits into memory, or use `--weights mean` to test the mean of the set."

Resamples = Annotated[
    int | None,
    typer.Option(
        "--n-resamples",
        metavar="N",
        help="Number of replicates.  [default: 199 if weights are refitted, else 999]",
    ),
]
Method = Annotated[
    Literal["both", "witness", "weights"] | None,
    typer.Option(
        "--method",
        metavar="both|witness|weights",
        help="For credal sets: test whether the set contains the truth (witness), search for weights of a "
        "calibrated combination, or both.  [default: weights if an option of weights is given, else both]",
    ),
]
Given = Annotated[
    Literal["predictions", "features"] | None,
    typer.Option(
        "--given",
        metavar="predictions|features",
        help="What the witness may use (with `--method witness`); features make the tested claim stronger.  "
        "[default: predictions]",
    ),
]
Weights = Annotated[
    Literal["learned", "constant", "mean"] | None,
    typer.Option(
        "--weights",
        metavar="learned|constant|mean",
        help="For credal sets: which combinations of members to search; `mean` tests only the average.  "
        "[default: learned]",
    ),
]
Learner = Annotated[
    str | None,
    typer.Option(
        "--learner", metavar="NAME", help="Method that learns the weights (with `--weights learned`)."
    ),
]
Refit = Annotated[
    bool | None,
    typer.Option("--refit/--no-refit", help="Learn the weights again for every replicate, or not."),
]
Split = Annotated[
    float | None,
    typer.Option("--split", metavar="SHARE", help="Share of the instances used to learn the weights."),
]
Folds = Annotated[
    int | None,
    typer.Option("--cv", metavar="K", help="Use K-fold cross-fitting instead of a single `--split`."),
]
Margin = Annotated[
    float | None,
    typer.Option(
        "--margin",
        metavar="SHARE",
        help=(
            "Test instead whether the error of the (average) prediction is smaller than this: 0.02 is two "
            "points. For two classes, also of the probability of the event."
        ),
    ),
]
Width = Annotated[
    float | None,
    typer.Option("--width", metavar="SHARE", help="Width of the interval, end to end: 0.04 is 4 points."),
]
Gap = Annotated[
    float | None,
    typer.Option("--gap", metavar="SHARE", help="Average gap that a calibration test should detect."),
]
PlannedMargin = Annotated[
    float | None,
    typer.Option(
        "--margin",
        metavar="SHARE",
        help="Margin within which `credibly test` should place a calibrated model.",
    ),
]
Power = Annotated[float, typer.Option("--power", metavar="SHARE", help="Probability of reaching the aim.")]


def test_file(
    file: options.PredictionsFile,
    *,
    labels: options.Labels = None,
    kind: options.Kind = None,
    member_axis: options.MemberAxis = None,
    drop_invalid: options.DropInvalid = False,
    normalise: options.Normalise = False,
    columns: options.Columns = None,
    exclude: options.Exclude = None,
    ignore_label: options.IgnoreLabel = None,
    n_raters: options.NRaters = None,
    id_column: options.IdColumn = None,
    classes: options.Classes = None,
    levels: options.Levels = None,
    member_weights: options.MemberWeights = None,
    clusters: options.Clusters = None,
    blocks: options.Blocks = None,
    stream: options.Stream = False,
    chunk_rows: options.ChunkRows = None,
    skip_bad_shards: options.SkipBadShards = False,
    engine: options.EngineName = "local",
    scheduler: options.Scheduler = None,
    statistic: options.Statistics = None,
    method: Method = None,
    given: Given = None,
    weights: Weights = None,
    learner: Learner = None,
    refit: Refit = None,
    split: Split = None,
    cv: Folds = None,
    margin: Margin = None,
    relative_margin: options.RelativeMargin = None,
    n_resamples: Resamples = None,
    n_bins: options.Bins = 15,
    seed: options.Seed = 0,
    fail_on: options.FailOn = None,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Test calibration: could chance explain the gap?

    Could the labels have been drawn from the predictions? For credal sets: does the set contain the true
    probabilities, and is some combination of its members calibrated?
    With labels from several raters: could they come from a distribution in the set, instance by instance?
    Several statistics share their replicates and also give one joint p-value, besides their adjusted ones.
    With `--margin`: do the data show that the calibration error is smaller than that?
    """
    reading = Reading.typed(locals())
    streaming = Streaming(stream, chunk_rows, skip_bad_shards, engine, scheduler)
    of_sets: dict[str, Any] = {
        "method": method,
        "given": given,
        "weights": weights,
        "learner": learner,
        "refit": refit,
        "split": split,
        "cv": cv,
    }
    typed = {name: value for name, value in of_sets.items() if value is not None}
    output = Output(as_json, quiet)
    require_gate(fail_on, margin, relative_margin)
    with streaming.opened(reading, output) as data:
        if margin is None and relative_margin is None:
            result = _tested(data, statistic, typed, n_resamples, n_bins, seed, output)
        else:
            _refuse(typed, "`--margin` tests the error of a single prediction")
            asked = None if statistic is None else _statistics(statistic, n_bins)
            limit = margin_of(data, margin, relative_margin)
            result = calibration_test(data, statistics=asked, margin=limit, rng=seed)
    results, answers = _shown(result)
    if output.as_json:
        output.json(result.to_dict())
    else:
        members = data.sample.predictions.n_members
        details = result.details
        bounded = isinstance(details, EquivalenceDetails)
        output.table(_bounds(results, members) if bounded else _table(results, answers, members))
        told = [result.sentence(LEVEL)] if isinstance(details, _IN_WORDS) else []
        if isinstance(details, CredalDetails) and details.validity is not None:
            told = [f"hypothesis: {details.validity.hypothesis}", *told]
        notes = [f"hypothesis: {result.hypothesis}", *told, *map(with_flags, result.notes), *_failing(result)]
        output.notes(list(dict.fromkeys(notes)))
    words = [one.verdict(LEVEL) for one in answers]
    leave(fail_on, words, shown=set(words) == {"no conflict found"})


def plan_file(
    file: options.PredictionsFile,
    *,
    labels: options.Labels = None,
    kind: options.Kind = None,
    member_axis: options.MemberAxis = None,
    drop_invalid: options.DropInvalid = False,
    normalise: options.Normalise = False,
    columns: options.Columns = None,
    exclude: options.Exclude = None,
    ignore_label: options.IgnoreLabel = None,
    n_raters: options.NRaters = None,
    id_column: options.IdColumn = None,
    classes: options.Classes = None,
    levels: options.Levels = None,
    member_weights: options.MemberWeights = None,
    width: Width = None,
    gap: Gap = None,
    margin: PlannedMargin = None,
    power: Power = 0.8,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Say how many labels are needed, from predictions alone.

    Aims: a narrow enough interval for the average gap between confidence and accuracy, a test that detects a
    gap, or a certificate that a calibrated model is within a margin. Labels in the file are ignored. The
    default is a gap and a margin of 0.02.
    """
    reading = Reading.typed(locals())
    output = Output(as_json, quiet)
    data = reading.dataset(output)
    plan = plan_labels(data, width=width, gap=gap, margin=margin, level=1 - LEVEL, power=power)
    if output.as_json:
        output.json(plan.to_dict())
        return
    rows = [(name, getattr(plan, name), instances) for name, instances in plan.aims.items()]
    output.table(Table(("aim", "size", "instances"), rows))
    output.notes([plan.sentence(), *map(with_flags, plan.notes)])


def _enough(n_resamples: int | None, n_statistics: int, output: Output) -> int | None:
    """Return as many replicates as can show a conflict among so many statistics, and note it."""
    needed = fewest_resamples(LEVEL / n_statistics)
    if n_resamples is None or not 0 < n_resamples < needed:
        return n_resamples
    output.notes(
        [f"{needed} replicates were drawn instead of {n_resamples}, because fewer cannot show a conflict"]
    )
    return needed


def _shown(result: HypotestResult) -> tuple[list[HypotestResult], list[HypotestResult]]:
    """Return the rows of the table, and those that answer a question.

    Only answers have a verdict, which is printed and decides the exit code: one list for both. A set has two:
    that of the witness (does it hold the truth?), then that of both together (is some combination
    calibrated?). The weights alone are evidence for the second.
    """
    rows, details = [*result.components.values(), result], result.details
    if isinstance(details, EquivalenceDetails):  # which is the worst of its parts
        rows = list(result.components.values()) or [result]
    if not isinstance(details, CredalDetails) or details.validity is None or details.calibration is None:
        return rows, rows
    together = dataclasses.replace(result, statistic_name="both", components={})
    parts = details.calibration.components.values()
    return [details.validity, *parts, details.calibration, together], [details.validity, together]


def _tested(
    data: Rows,
    statistic: list[str] | None,
    given: dict[str, Any],
    n_resamples: int | None,
    n_bins: int,
    seed: int,
    output: Output,
) -> HypotestResult:
    with progress(quiet=output.quiet) as tell:
        told: Progress | None = None
        if tell is not None:
            bar = tell  # one name for the closure
            told = lambda done, total: bar("tests", done, total)  # noqa: E731
        some = data.sample.predictions
        raters = isinstance(data.sample.batch, Counts) and not statistic and not given
        if raters and data.sample.clusters is None:  # of clusters, one rater per instance is tested
            whole = in_memory(data, "the test of raters' labels", _IN_MEMORY, _SMALLER)
            result: HypotestResult = validity_test(
                whole.predictions,
                whole.labels,
                n_resamples=RESAMPLES if n_resamples is None else n_resamples,
                rng=seed,
                progress=told,
            )
        elif isinstance(some, Point) or not isinstance(some, ClassPredictions):
            _refuse(given, "the predictions are not sets")
            names = statistic or ([CLASS_DEFAULT] if isinstance(some, Point) else None)
            n_resamples = _enough(n_resamples, len(names or REAL_OMNIBUS), output)
            result = calibration_test(
                *data.arguments,
                statistics=_statistics(names, n_bins) if names else None,
                n_resamples=RESAMPLES if n_resamples is None else n_resamples,
                rng=seed,
                progress=told,
            )
        else:
            result = _set_test(data, given, statistic, n_resamples, n_bins, seed, told)
    return result


def _set_test(
    data: Rows,
    given: dict[str, Any],
    statistic: list[str] | None,
    n_resamples: int | None,
    n_bins: int,
    seed: int,
    told: Progress | None,
) -> HypotestResult:
    method = given.get("method", "weights" if any(name in given for name in _OF_WEIGHTS) else "both")
    settings = {name: value for name, value in given.items() if name != "method"}
    statistics = None if statistic is None else _statistics(statistic, n_bins)
    mean_alone = given == {"weights": "mean"}
    if mean_alone and (data.loaded() is None or data.sample.clusters is not None):
        return calibration_test(
            data,
            statistics=_statistics([SET_STATISTIC], n_bins) if statistics is None else statistics,
            n_resamples=RESAMPLES if n_resamples is None else n_resamples,
            rng=seed,
            progress=told,
        )
    whole = in_memory(data, "the test of a set", _IN_MEMORY, _SMALLER)
    sets: tuple[Any, Any] = whole.predictions, whole.labels
    shared: dict[str, Any] = {"clusters": whole.clusters, "rng": seed, "progress": told}
    if method == "witness":
        seen = whole.features if settings.pop("given", None) == "features" else None
        _refuse([*settings, *(["statistic"] if statistic else [])], "a witness has no weights to test")
        alone = witness_test(*sets, features=seen, **shared)
        return alone if n_resamples is None else dataclasses.replace(alone, notes=(*alone.notes, NO_DRAWS))
    _refuse(settings if method == "both" else set(settings) - set(_OF_WEIGHTS), f"the method is {method}")
    shared |= {"statistics": statistics, "n_resamples": n_resamples}
    features = whole.features if settings.get("weights", "learned") == "learned" else None
    if method == "weights":
        return weights_test(sets[0], sets[1], features=features, **shared, **settings)
    return credal_test(*sets, features=features, **shared)


def _statistics(names: list[str], n_bins: int) -> Statistic | list[Statistic]:
    """Return one statistic, or several; `--n-bins` reaches those that have bins."""
    chosen = [with_bins(as_statistic(name), n_bins) for name in names]
    return chosen if len(chosen) > 1 else chosen[0]


def _refuse(given: Iterable[str], why: str) -> None:
    """Raise if an option was given that has no meaning here."""
    for name in given:
        raise InputError(f"`--{name}`", "has no meaning here", why, "Leave it out.")


def _failing(result: HypotestResult) -> list[str]:
    if not isinstance(result.details, ValidityDetails):
        return []
    rows = result.details.failing(LEVEL)
    if not len(rows):
        return ["no single instance stands out after adjustment for all instances"]
    few = ", ".join(map(str, rows[:_MOST_LISTED]))
    more = f" and {len(rows) - _MOST_LISTED} more" if len(rows) > _MOST_LISTED else ""
    return [f"instances that stand out after adjustment, worst first: {few}{more}"]


def _bounds(results: Iterable[HypotestResult], members: int) -> Table:
    """One row per error that was compared with a margin."""
    rows = [
        (
            one.statistic_name,
            one.statistic,
            one.details.upper(LEVEL),
            one.details.margin,
            one.pvalue,
            one.n,
            members,
            one.verdict(LEVEL),
        )
        for one in results
        if isinstance(one.details, EquivalenceDetails)
    ]
    return Table(BOUND_COLUMNS, rows)


def _table(results: Iterable[HypotestResult], answers: list[HypotestResult], members: int) -> Table:
    """One row per test; everything that belongs to a verdict stands beside it."""
    answering = {id(one) for one in answers}
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
            result.verdict(LEVEL) if id(result) in answering else None,
        )
        for result in results
    ]
    return Table(COLUMNS, rows, PAIRS)
