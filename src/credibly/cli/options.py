"""Arguments and options that several verbs share: one name, one meaning."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from credibly.io.roles import KIND_NAMES


def _kinds(incomplete: str) -> list[str]:
    return [kind for kind in KIND_NAMES if kind.startswith(incomplete)]


def _statistics(incomplete: str) -> list[str]:
    from credibly.statistics import registered  # thirty files, which few verbs need

    return [name for name in registered() if name.startswith(incomplete)]


FORMATS = "npz, npy, csv, tsv, json, jsonl, parquet, pt, netCDF"
PredictionsFile = Annotated[
    str,
    typer.Argument(
        metavar="FILE", help=f"Predictions: {FORMATS}; a pattern in quotes, a URL, or - for standard input."
    ),
]
Labels = Annotated[
    str | None,
    typer.Option(
        "--labels", metavar="FILE|NAME", help="File with the labels, or the array or column that holds them."
    ),
]
Kind = Annotated[
    str | None,
    typer.Option(
        "--kind",
        metavar="KIND",
        help=f"What the numbers are, if the file does not say: {', '.join(KIND_NAMES)}.",
        autocompletion=_kinds,
    ),
]
MemberAxis = Annotated[
    int | None,
    typer.Option(
        "--member-axis", metavar="0|1", help="Axis of the members: 1 for (n, m, k), 0 for (m, n, k)."
    ),
]
DropInvalid = Annotated[
    bool,
    typer.Option("--drop-invalid", help="Skip invalid rows, and report how many, instead of stopping."),
]
Normalise = Annotated[
    bool,
    typer.Option("--normalise", help="Rescale rows whose sum differs from 1 (or 100 %) only by rounding."),
]
Columns = Annotated[
    str | None,
    typer.Option("--columns", metavar="A,B,...", help="Columns that hold the classes, in order."),
]
Exclude = Annotated[str | None, typer.Option("--exclude", metavar="A,B,...", help="Columns to ignore.")]
IgnoreLabel = Annotated[
    str | None,
    typer.Option(
        "--ignore-label", metavar="VALUE", help="Label value that marks unlabelled rows, such as -1 or 255."
    ),
]
NRaters = Annotated[
    int | None, typer.Option("--n-raters", metavar="N", help="Number of raters behind soft labels.")
]
IdColumn = Annotated[
    str | None, typer.Option("--id", metavar="NAME", help="Column or array that names the instances.")
]
Classes = Annotated[
    str | None,
    typer.Option(
        "--classes", metavar="A,B,...", help="Names of the classes, in the order of integer labels."
    ),
]
Levels = Annotated[
    str | None,
    typer.Option("--levels", metavar="X,Y,...", help="Levels of quantiles, or of lower and upper bounds."),
]
MemberWeights = Annotated[
    str | None,
    typer.Option(
        "--member-weights",
        metavar="X,Y,...",
        help="Weights of the members; they sum to 1.",
    ),
]
Claimed = Annotated[
    float | None,
    typer.Option(
        "--claimed",
        metavar="SHARE",
        help="Share of labels that prediction sets, or intervals from lower to upper, claim to contain.",
    ),
]
Clusters = Annotated[
    str | None,
    typer.Option(
        "--clusters",
        metavar="NAME",
        help="Column or array that says which rows belong together, such as the patient; `copies`: rows with "
        "the same predictions and label.",
    ),
]
Blocks = Annotated[
    int | None,
    typer.Option(
        "--blocks",
        metavar="N",
        help="Rows are in time order: blocks of N consecutive rows belong together. With `--clusters store`, "
        "blocks of N consecutive rows of each store.",
    ),
]
Stream = Annotated[
    bool,
    typer.Option(
        "--stream", help="Read rows in chunks (always on for patterns and .npy files above 512 MiB)."
    ),
]
ChunkRows = Annotated[
    int | None, typer.Option("--chunk-rows", metavar="N", help="Rows per chunk of an .npy file.")
]
SkipBadShards = Annotated[
    bool,
    typer.Option("--skip-bad-shards", help="Skip files that cannot be read, and report how many."),
]
EngineName = Annotated[
    Literal["local", "dask"],
    typer.Option("--engine", metavar="local|dask", help="Run on this machine or on Dask workers."),
]
Scheduler = Annotated[
    str | None,
    typer.Option(
        "--scheduler", metavar="ADDRESS", help="Address of the Dask scheduler, with `--engine dask`."
    ),
]
Statistics = Annotated[
    list[str] | None,
    typer.Option(
        "--statistic",
        metavar="NAME",
        help="Statistic to use; repeat for several (`credibly list`).",
        autocompletion=_statistics,
    ),
]
Resamples = Annotated[
    int,
    typer.Option(
        "--n-resamples",
        metavar="N",
        help="Number of replicates for each test; too few to show a conflict are raised.",
    ),
]
Bins = Annotated[int, typer.Option("--n-bins", metavar="N", help="Number of bins for binned statistics.")]
MARGIN = 0.02
Margin = Annotated[
    float | None,
    typer.Option(
        "--margin",
        metavar="SHARE",
        help="Gap between stated and observed shares that does not matter: 0.02 is two points.  "
        "[default: 0.02]",
    ),
]
RelativeMargin = Annotated[
    float | None,
    typer.Option(
        "--relative-margin",
        metavar="SHARE",
        help="For two classes, instead of `--margin`: a share of the stated frequency of the event; 0.2 of "
        "an event that is stated in 5 % is a margin of one point.",
    ),
]
Seed = Annotated[
    int, typer.Option("--seed", min=0, metavar="N", help="Seed; the same seed gives the same p-values.")
]
By = Annotated[
    str | None,
    typer.Option(
        "--by", metavar="A,B,...", help="Columns or arrays with attributes that form groups: age,sex,site."
    ),
]
FailOn = Annotated[
    Literal["conflict", "not-shown"] | None,
    typer.Option(
        "--fail-on",
        metavar="conflict|not-shown",
        help="Exit with code 1 if there is a conflict (a right model: in at most 5 % of data sets); "
        "`not-shown` also if the data do not show that the error is within the margin you give.",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print everything as JSON.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print the result only: no notes, no progress.")]
Force = Annotated[bool, typer.Option("--force", help="Replace an existing file.")]
