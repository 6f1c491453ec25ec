"""Arguments and options that several verbs share: one name, one meaning."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from credibly.io.roles import KINDS


def _kinds(incomplete: str) -> list[str]:
    return [kind for kind in KINDS if kind.startswith(incomplete)]


def _statistics(incomplete: str) -> list[str]:
    from credibly.statistics import registered  # thirty files, which few verbs need

    return [name for name in registered() if name.startswith(incomplete)]


FORMATS = "npz, npy, csv, tsv, json, parquet, pt, netCDF"
PredictionsFile = Annotated[
    str, typer.Argument(metavar="FILE", help=f"Predictions: {FORMATS}; a pattern in quotes, or a URL.")
]
Labels = Annotated[
    str | None,
    typer.Option("--labels", metavar="FILE|NAME", help="File with the labels, or the array that holds them."),
]
Kind = Annotated[
    str | None,
    typer.Option(
        "--kind",
        metavar="KIND",
        help=f"What the numbers are, where the file does not say: {', '.join(KINDS)}.",
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
    typer.Option("--drop-invalid", help="Leave invalid rows out, and say how many, instead of stopping."),
]
Stream = Annotated[
    bool,
    typer.Option("--stream", help="Read rows in chunks, as patterns and .npy above 512 MiB always are."),
]
ChunkRows = Annotated[
    int | None, typer.Option("--chunk-rows", metavar="N", help="Rows per chunk of an .npy file.")
]
SkipBadShards = Annotated[
    bool,
    typer.Option("--skip-bad-shards", help="Leave out files that cannot be read, and count them."),
]
EngineName = Annotated[
    Literal["local", "dask"],
    typer.Option("--engine", metavar="local|dask", help="Work on this machine, or on Dask workers."),
]
Scheduler = Annotated[
    str | None,
    typer.Option("--scheduler", metavar="ADDRESS", help="The cluster's, with `--engine dask`."),
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
Resamples = Annotated[int, typer.Option("--n-resamples", metavar="N", help="Replicates of each test.")]
Bins = Annotated[int, typer.Option("--n-bins", metavar="N", help="Bins of the binned statistics.")]
Seed = Annotated[
    int, typer.Option("--seed", min=0, metavar="N", help="Seed; the same seed gives the same p-values.")
]
FailOn = Annotated[
    Literal["conflict"] | None,
    typer.Option("--fail-on", metavar="conflict", help="Exit with 1 when a test finds a conflict."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print everything as JSON.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print the result only: no notes, no progress.")]
Force = Annotated[bool, typer.Option("--force", help="Replace an existing file.")]
