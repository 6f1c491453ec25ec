"""`credibly study`: run a study that has a name, or list them all; a stopped one goes on where it was."""

from __future__ import annotations

import contextlib
import json
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from credibly._arrays.engines import connected
from credibly._arrays.errors import InputError, UnsupportedError
from credibly._arrays.results import SCHEMA_VERSION
from credibly._arrays.study_results import PowerStudy
from credibly.cli import options
from credibly.cli.output import Output, Table
from credibly.cli.progress import progress
from credibly.io import require_writable, write_text_atomically
from credibly.simulate.studies import as_study, studies

LISTED = ("name", "figure", "worlds", "tests", "small", "full", "title")
COLUMNS = ("world", "null", "test", "level", "n", "repetitions", "rejected", "rate", "interval")
SPOKEN_LEVEL = 0.05
PARTS = "parts"

Size = Annotated[
    Literal["small", "full"],
    typer.Option("--size", metavar="small|full", help="How large: to see that it runs, or for the record."),
]
OutDirectory = Annotated[
    Path | None,
    typer.Option("--out", metavar="DIR", help="Directory for the results; default: NAME-SIZE."),
]
Workers = Annotated[
    int, typer.Option("--workers", metavar="N", help="Processes; their number changes no result.")
]


def study_named(
    name: Annotated[str, typer.Argument(metavar="NAME|list", help="Name of a study, or `list`.")],
    *,
    size: Size = "small",
    out: OutDirectory = None,
    force: options.Force = False,
    workers: Workers = 1,
    engine: options.EngineName = "local",
    scheduler: options.Scheduler = None,
    seed: options.Seed = 0,
    output: Output,
) -> None:
    """Power studies of the papers' worlds.

    Writes a table, figures and a JSON with all p-values. Run it again to go on after a stop.
    """
    if name == "list":
        _list(output)
        return
    chosen = as_study(name)
    if workers < 1:
        raise InputError("`--workers`", "must be at least 1", f"got {workers}", "Use the number of cores.")
    _require_one_engine(engine, scheduler, workers)
    directory = out or Path(f"{name}-{size}")
    if directory.exists() and not directory.is_dir():
        raise InputError(
            "`--out`",
            "must be a directory",
            f"'{directory}' is a file",
            "Name another place for the results.",
        )
    # results beside parts of a study are its own; others are somebody's
    replace = force or (directory / PARTS).is_dir()
    files = {part: directory / part for part in ("table.tsv", "result.json", "power.svg", "distance.svg")}
    if directory.is_dir():
        for path in files.values():
            require_writable(path, overwrite=replace)
    with _working(engine, scheduler, workers) as where, progress(quiet=output.quiet) as line:
        report = None if line is None else lambda done, total: line(name, done, total)
        found = chosen.run(size, engine=where, rng=seed, out=directory / PARTS, progress=report)
    table = _table(found)
    write_text_atomically(files["table.tsv"], table.to_tsv() + "\n", overwrite=replace)
    write_text_atomically(files["result.json"], json.dumps(found.to_dict()), overwrite=replace)
    for part, text in _figures(found):
        write_text_atomically(files[part], text, overwrite=replace)
    written = [str(path) for path in files.values() if path.exists()]
    if output.as_json:
        output.json(
            {
                "schema_version": SCHEMA_VERSION,
                "type": "StudyWritten",
                "study": name,
                "size": size,
                "files": written,
                "table": found.table(),
            }
        )
        return
    if output.terminal:
        level = _spoken_level(found)
        rows = [row for row in table.rows if row[COLUMNS.index("level")] == level]
        table = Table(table.columns, rows, table.pairs)
    output.table(table, shown=("world", "null", "test", "level", "rate", "interval"))
    output.notes(f"wrote {path}" for path in written)


def _list(output: Output) -> None:
    entries: list[dict[str, Any]] = [
        {
            "name": study.name,
            "figure": study.figure,
            "worlds": len(study.worlds),
            "tests": len(study.tests),
            "small": f"n {study.small.n}, {study.small.repetitions} times",
            "full": f"n {study.full.n}, {study.full.repetitions} times",
            "title": study.title,
        }
        for study in studies().values()
    ]
    if output.as_json:
        output.json({"schema_version": SCHEMA_VERSION, "type": "Studies", "entries": entries})
        return
    rows = [[entry[name] for name in LISTED] for entry in entries]
    output.table(Table(LISTED, rows), shown=("name", "figure", "small", "full", "title"))


def _table(study: PowerStudy) -> Table:
    rows = [
        [*(row[name] for name in COLUMNS[:-1]), (row["low"], row["high"])]  # null: true, false or unknown
        for row in study.table()
    ]
    return Table(COLUMNS, rows, frozenset({"interval"}))


def _figures(study: PowerStudy) -> Iterator[tuple[str, str]]:
    """Yield file name and SVG of each figure the study has."""
    from credibly.plots import distance_diagram, rejection_diagrams
    from credibly.report.svg import svg_text

    yield "power.svg", svg_text(rejection_diagrams(study))
    try:
        figure = distance_diagram(study, level=_spoken_level(study)).get_figure(root=True)
    except UnsupportedError:  # no worlds differ in a distance alone
        return
    assert figure is not None
    yield "distance.svg", svg_text(figure)


def _spoken_level(study: PowerStudy) -> float:
    """Return the level nearest to 5 %."""
    return float(min(study.levels, key=lambda level: abs(level - SPOKEN_LEVEL)))


def _require_one_engine(engine: str, scheduler: str | None, workers: int) -> None:
    """Raise where options of one engine are given to the other."""
    if scheduler is not None and engine != "dask":
        raise InputError(
            "`--scheduler`",
            "names a Dask cluster",
            f"got `--engine {engine}`",
            f"Add `--engine dask`, or leave out `--scheduler {scheduler}`.",
        )
    if workers != 1 and engine == "dask":
        raise InputError(
            "`--workers`",
            "counts processes that this command starts itself",
            "got `--engine dask`, whose workers are there",
            "Leave it out.",
        )


@contextlib.contextmanager
def _working(engine: str, scheduler: str | None, workers: int) -> Iterator[Any]:
    """Give this process for one worker, a pool of processes for more, or the workers of a cluster."""
    if engine == "dask":
        with connected(scheduler) as cluster:
            yield cluster
        return
    if workers == 1:
        yield "serial"
        return
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor

    # fresh processes: a copy of this one could hold locks of its threads
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, mp_context=context, initializer=_ignore_interrupts) as pool:
        yield pool


def _ignore_interrupts() -> None:
    """Leave Ctrl-C to the process that answers for it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
