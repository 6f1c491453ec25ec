"""`credibly audit`: groups for which the predictions are off, with p-values that hold for all of them."""

from __future__ import annotations

import dataclasses
from typing import Annotated, Literal

import typer

from credibly.cli import options
from credibly.cli.numbers import LEVEL, leave, require_gate
from credibly.cli.output import Cell, Output, Table, progress, rounded, with_flags
from credibly.cli.reading import Reading, Streaming
from credibly.hypotests import audit
from credibly.results.audit import AuditGroup, AuditResult
from credibly.results.base import jsonable

COLUMNS = (
    "group",
    "measure",
    "n",
    "observed",
    "expected",
    "effect",
    "interval",
    "pvalue",
    "adjusted_pvalue",
    "detectable",
    "verdict",
    "explained_by",
)
PAIRS = frozenset({"interval"})

Depth = Annotated[
    int, typer.Option("--depth", metavar="N", help="Maximum number of attributes that define a group.")
]
Quantiles = Annotated[
    int,
    typer.Option(
        "--n-quantiles", metavar="N", help=("Number of parts that numeric attributes are split into.")
    ),
]
MinSize = Annotated[
    int,
    typer.Option(
        "--min-size",
        metavar="N",
        help=("Minimum number of rows in a group; rarer levels of an attribute are merged."),
    ),
]
Margin = Annotated[
    float | None,
    typer.Option(
        "--margin",
        metavar="SHARE",
        help="Also say which groups are not shown to be within this gap: 0.05 is five points.",
    ),
]
Hypothesis = Annotated[
    Literal["mean", "set"] | None,
    typer.Option(
        "--hypothesis",
        metavar="mean|set",
        help="For credal sets: test the mean, or allow any distribution in the set.  "
        "[default: set for intervals and beliefs, else mean]",
    ),
]


def audit_file(
    file: options.PredictionsFile,
    *,
    by: options.By = None,
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
    depth: Depth = 2,
    n_quantiles: Quantiles = 4,
    min_size: MinSize = 20,
    hypothesis: Hypothesis = None,
    n_resamples: options.Resamples = 999,
    margin: Margin = None,
    seed: options.Seed = 0,
    fail_on: options.FailOn = None,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Is it calibrated for everyone? Audit all groups.

    Looks at every group that the attributes form, alone and together, and adjusts p-values for all groups. On
    a terminal it shows only the groups that are off and that no other group explains; pipes and JSON get all
    groups.
    """
    require_gate(fail_on, margin)
    reading = Reading.typed(locals())
    streaming = Streaming(stream, chunk_rows, skip_bad_shards, engine, scheduler)
    output = Output(as_json, quiet)
    with streaming.opened(reading, output) as data, progress(quiet=output.quiet) as tell:
        whole = data.loaded()
        result = audit(
            *data.arguments,
            groups=None if whole is None else whole.groups,  # chunks bring their own
            depth=depth,
            n_quantiles=n_quantiles,
            min_size=min_size,
            hypothesis=hypothesis,
            level=LEVEL,
            n_resamples=n_resamples,
            rng=seed,
            progress=None if tell is None else lambda done, total: tell("replicates", done, total),
        )
    open_groups = () if margin is None else result.not_within(margin)
    if output.as_json:
        output.json(result.to_dict() | ({} if margin is None else {"not_within": jsonable(open_groups)}))
    else:
        _show(result, output)
        if margin is not None:
            output.notes([_within(result, open_groups, margin)])
    leave(fail_on, [result.verdict()], shown=not open_groups)


def _within(result: AuditResult, open_groups: tuple[AuditGroup, ...], margin: float) -> str:
    """Say for how many groups the data show that their gap is within the margin."""
    size = f"{100 * margin:g} points"
    if not open_groups:
        return f"all groups are within {size}, 95 % sure"
    most = max(open_groups, key=lambda one: max(-one.low, one.high))
    return (
        f"not shown to be within {size}: {len(open_groups)} of {len(result.groups)} groups and measures; the "
        f"gap of {most.group} could be {100 * max(-most.low, most.high):.1f} points"
    )


def _show(result: AuditResult, output: Output) -> None:
    if output.terminal:
        found = ((f"{one.group} (n = {one.n})", _told(one)) for one in result.findings)
        output.pairs([(result.verdict(), result.headline), *found])
    else:
        output.table(Table(COLUMNS, [_row(one) for one in result.groups], PAIRS))
    output.notes(map(with_flags, result.notes))


def _told(one: AuditGroup) -> str:
    ends = f"{100 * one.low:+.1f} to {100 * one.high:+.1f} points"
    return f"{one.words} (simultaneous interval {ends}, adjusted p = {rounded(one.adjusted_pvalue)})"


def _row(one: AuditGroup) -> tuple[Cell, ...]:
    fields = {field.name: getattr(one, field.name) for field in dataclasses.fields(one)}
    fields["interval"] = (one.low, one.high)
    return tuple(fields[name] for name in COLUMNS)
