"""`credibly evaluate` and `credibly test`: the numbers with their intervals, the tests with their limits."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import typer

from credibly._arrays.results import Estimate, HypotestResult
from credibly.cli import codes, options
from credibly.cli.output import Cell, Output, Table
from credibly.cli.progress import progress
from credibly.cli.reading import Reading, command
from credibly.cli.wording import with_flags
from credibly.evaluation import Evaluation, evaluate
from credibly.hypotests import calibration_test, default_statistic
from credibly.io import Dataset
from credibly.statistics import Statistic, as_statistic, registered

LEVEL = 0.05

ESTIMATE_COLUMNS = (
    "group",
    "statistic",
    "value",
    "stderr",
    "interval",
    "n",
    "acceptance",
    "pvalue",
    "adjusted_pvalue",
    "verdict",
)
TEST_COLUMNS = (
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
PAIRS = frozenset({"interval", "acceptance", "pvalue_interval"})


def evaluate_file(
    file: options.PredictionsFile,
    labels: options.Labels = None,
    kind: options.Kind = None,
    member_axis: options.MemberAxis = None,
    drop_invalid: options.DropInvalid = False,
    statistic: options.Statistics = None,
    n_resamples: options.Resamples = 999,
    n_bins: options.Bins = 15,
    seed: options.Seed = 0,
    fail_on: options.FailOn = None,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """The numbers, with intervals and verdicts."""
    output = Output(as_json, quiet)
    reading = Reading(file, labels, kind, member_axis, drop_invalid)
    data = reading.labelled(output)
    evaluation = run(
        data,
        "evaluate",
        reading.words(),
        output,
        statistics=statistic,
        n_resamples=n_resamples,
        n_bins=n_bins,
        seed=seed,
    )
    if as_json:
        output.json(evaluation.to_dict())
    else:
        table = _estimates(evaluation)
        show = ("statistic", "value", "interval")
        if table.rows or not output.terminal:  # a program gets its columns, a person no empty table
            output.table(table, shown=("group", *show) if evaluation.groups else show)
        if output.terminal:  # a program finds them in the table's last column
            output.pairs((one.word, one.sentence) for one in evaluation.verdicts)
        if not table.rows:
            output.instead(_why_nothing(evaluation))
        output.notes(remarks(evaluation))
    leave(fail_on, (one.word for one in evaluation.verdicts))


def test_file(
    file: options.PredictionsFile,
    labels: options.Labels = None,
    kind: options.Kind = None,
    member_axis: options.MemberAxis = None,
    drop_invalid: options.DropInvalid = False,
    statistic: options.Statistics = None,
    n_resamples: options.Resamples = 999,
    n_bins: options.Bins = 15,
    seed: options.Seed = 0,
    fail_on: options.FailOn = None,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Test of calibration.

    Could the labels have been drawn from the predictions?
    Several statistics share their replicates and give one p-value together, beside their own adjusted ones.
    """
    output = Output(as_json, quiet)
    data = Reading(file, labels, kind, member_axis, drop_invalid).labelled(output)
    names = statistic or [default_statistic(data.predictions)]
    chosen = [with_bins(as_statistic(name), n_bins) for name in names]
    with progress(quiet=quiet) as tell:
        result = calibration_test(
            data.predictions,
            data.labels,
            statistic=chosen if len(chosen) > 1 else chosen[0],
            n_resamples=n_resamples,
            rng=seed,
            progress=None if tell is None else lambda done, total: tell("tests", done, total),
        )
    results = [*result.components.values(), result]
    if as_json:
        output.json(result.to_dict())
    else:
        output.table(_tests(results, data.predictions.n_members))
        output.notes([f"hypothesis: {result.hypothesis}", *result.notes])
    leave(fail_on, (one.verdict(LEVEL) for one in results))


def run(
    data: Dataset,
    verb: str,
    words: Iterable[str],
    output: Output,
    *,
    statistics: list[str] | None = None,
    n_resamples: int = 999,
    n_bins: int = 15,
    seed: int = 0,
) -> Evaluation:
    """Evaluate a data set, with progress, and record the command that does it again."""
    flags: list[Any] = [flag for name in statistics or () for flag in ("--statistic", name)]
    flags += ["--n-resamples", n_resamples, "--n-bins", n_bins, "--seed", seed]
    source = {
        "path": str(data.source),
        "digest": data.digest,
        "dropped": data.dropped,
        "notes": data.notes,
        "command": command(verb, *words, *flags),
    }
    with progress(quiet=output.quiet) as tell:
        return evaluate(
            data.predictions,
            data.labels,
            classes=data.classes,
            groups=data.groups,
            statistics=statistics,
            n_bins=n_bins,
            n_resamples=n_resamples,
            rng=seed,
            level=LEVEL,
            progress=tell,
            source=source,
        )


def remarks(evaluation: Evaluation) -> Iterator[str]:
    """Yield what is worth knowing beside the numbers and was not said when the file was read."""
    said = set(evaluation.source["notes"])
    yield from (with_flags(text) for text in (*evaluation.warnings, *evaluation.notes) if text not in said)
    left_out: dict[str, list[str]] = {}
    for what, reason in evaluation.not_run:
        left_out.setdefault(reason, []).append(what)
    for reason, names in left_out.items():
        yield f"not run: {', '.join(names)}, because {with_flags(reason)}"


def leave(fail_on: str | None, words: Iterable[str]) -> None:
    """Exit with 1 where a conflict was found and `--fail-on conflict` asked for that."""
    if fail_on is not None and fail_on in set(words):
        raise typer.Exit(codes.CONFLICT)


def with_bins(statistic: Statistic, n_bins: int) -> Statistic:
    """Return a binned statistic with that many bins, any other as it is."""
    return statistic.with_(n_bins=n_bins) if "n_bins" in statistic.settings() else statistic


def _estimates(evaluation: Evaluation) -> Table:
    words = {one.statistic: one.word for one in evaluation.verdicts}
    rows: list[tuple[Cell, ...]] = []
    for name, estimate in evaluation.estimates.items():
        test = evaluation.tests.get(name)
        tested = (
            (None, None, None)
            if test is None
            else (test.acceptance_region, test.pvalue, test.adjusted_pvalue)
        )
        rows.append((None, *_estimate(estimate), *tested, words.get(name)))
        parts = evaluation.decomposition
        if name == "brier" and parts is not None:  # what recalibration could remove, and what it could not
            rows += [
                (None, *_estimate(part), None, None, None, None)
                for part in (parts.calibration, parts.refinement)
            ]
    for group, estimates in evaluation.groups.items():
        rows += [(group, *_estimate(one), None, None, None, None) for one in estimates.values()]
    return Table(ESTIMATE_COLUMNS, rows, PAIRS)


def _why_nothing(evaluation: Evaluation) -> str:
    """Say what kept every statistic from being computed."""
    reasons = dict.fromkeys(with_flags(reason) for name, reason in evaluation.not_run if name in registered())
    return f"nothing was computed: every statistic was left out, because {', or because '.join(reasons)}."


def _estimate(estimate: Estimate) -> tuple[Cell, ...]:
    """Name, value, standard error, 95 % interval where one holds, n."""
    refused = estimate.interval_refusal is not None or estimate.stderr is None
    interval = None if refused else estimate.interval(0.95)
    return estimate.name, estimate.value, estimate.stderr, interval, estimate.n


def _tests(results: Iterable[HypotestResult], members: int) -> Table:
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
    return Table(TEST_COLUMNS, rows, PAIRS)
