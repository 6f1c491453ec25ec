"""`credibly evaluate` and `credibly test`: the numbers with their intervals, the tests with their limits."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import typer

from credibly._arrays.results import HypotestResult
from credibly.cli import codes, options
from credibly.cli.groups import Replication
from credibly.cli.output import Cell, Output, Table
from credibly.cli.progress import progress
from credibly.cli.reading import Reading, command
from credibly.cli.wording import with_flags
from credibly.evaluation import Evaluation, NumberRow, evaluate, number_rows
from credibly.hypotests import calibration_test
from credibly.io import Dataset
from credibly.statistics import Statistic, as_statistic, registered

LEVEL = 0.05
DEFAULT_STATISTIC = "confidence_ece"

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
    reading: Reading,
    *,
    statistic: options.Statistics = None,
    replication: Replication,
    fail_on: options.FailOn = None,
    output: Output,
) -> None:
    """The numbers, with intervals and verdicts."""
    data = reading.labelled(output)
    evaluation = run(data, "evaluate", reading.words(), output, replication, statistic)
    if output.as_json:
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
    reading: Reading,
    *,
    statistic: options.Statistics = None,
    replication: Replication,
    fail_on: options.FailOn = None,
    output: Output,
) -> None:
    """Test of calibration.

    Could the labels have been drawn from the predictions?
    Several statistics share their replicates and give one p-value together, beside their own adjusted ones.
    """
    data = reading.labelled(output)
    chosen = [_with_bins(as_statistic(name), replication.n_bins) for name in statistic or [DEFAULT_STATISTIC]]
    with progress(quiet=output.quiet) as tell:
        result = calibration_test(
            data.predictions,
            data.labels,
            statistic=chosen if len(chosen) > 1 else chosen[0],
            n_resamples=replication.n_resamples,
            rng=replication.seed,
            progress=None if tell is None else lambda done, total: tell("tests", done, total),
        )
    results = [*result.components.values(), result]
    if output.as_json:
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
    replication: Replication,
    statistics: list[str] | None = None,
) -> Evaluation:
    """Evaluate a data set, with progress, and record the command that does it again."""
    flags = [flag for name in statistics or () for flag in ("--statistic", name)]
    source = {
        "path": str(data.source),
        "digest": data.digest,
        "dropped": data.dropped,
        "notes": data.notes,
        "command": command(verb, *words, *flags, *replication.words()),
    }
    with progress(quiet=output.quiet) as tell:
        return evaluate(
            data.predictions,
            data.labels,
            classes=data.classes,
            groups=data.groups,
            statistics=statistics,
            n_bins=replication.n_bins,
            n_resamples=replication.n_resamples,
            rng=replication.seed,
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


def _with_bins(statistic: Statistic, n_bins: int) -> Statistic:
    return statistic.with_(n_bins=n_bins) if "n_bins" in statistic.settings() else statistic


def _estimates(evaluation: Evaluation) -> Table:
    """One row per statistic, the parts of the Brier score below it, then groups."""
    found = number_rows(evaluation)
    below = [one for one in found if one.part == "decomposition" and one.statistic != "brier"]
    rows = []
    for one in found:
        part, _, group = one.part.partition(".")
        if part in ("estimates", "groups"):
            rows.append(_number(one, group or None))
            if part == "estimates" and one.statistic == "brier":
                rows += [_number(each, None) for each in below]
    return Table(ESTIMATE_COLUMNS, rows, PAIRS)


def _number(one: NumberRow, group: str | None) -> tuple[Cell, ...]:
    interval, accepted = _pair(one.low, one.high), _pair(one.acceptance_low, one.acceptance_high)
    tested = (accepted, one.pvalue, one.adjusted_pvalue, one.verdict)
    return (group, one.statistic, one.value, one.stderr, interval, one.n, *tested)


def _pair(low: float | None, high: float | None) -> tuple[float, float] | None:
    return None if low is None or high is None else (low, high)


def _why_nothing(evaluation: Evaluation) -> str:
    """Say what kept every statistic from being computed."""
    reasons = dict.fromkeys(with_flags(reason) for name, reason in evaluation.not_run if name in registered())
    return f"nothing was computed: every statistic was left out, because {', or because '.join(reasons)}."


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
