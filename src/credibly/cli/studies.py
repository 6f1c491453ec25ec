"""`credibly study`: run a study that has a name, or list them all; a stopped one goes on where it was."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator, Mapping
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from credibly._arrays.errors import InputError, MissingExtraError, nearest
from credibly.cli.output import Output, TextTable, progress, stage
from credibly.cli.reading import Typed, engine
from credibly.io import write_text_atomically
from credibly.results.base import SCHEMA_VERSION

ENTRY_POINTS = "credibly.studies"
"""Each names a mapping from name to study; what a study is, the package that brings it says."""

LISTED = ("name", "reference", "needs", "small", "full", "title")
PARTS = "parts"


def study_named(typed: Typed, output: Output) -> None:
    """Rerun the papers' experiments."""
    name, size, workers = typed.name, typed.size, typed.workers
    studies = installed_studies()
    if name == "list":
        _list(studies, output)
        return
    if name not in studies:
        raise InputError("a study", "must have a known name", f"got {name!r}", nearest(name, studies))
    if workers < 1:
        raise InputError("`--workers`", "must be at least 1", f"got {workers}", "Use the number of cores.")
    if workers != 1 and typed.engine == "dask":
        raise InputError(
            "`--workers`",
            "counts processes that this command starts itself",
            "got `--engine dask`, which has its own workers",
            "Leave it out.",
        )
    directory = typed.out or Path(f"{name}-{size}")
    if directory.exists() and not directory.is_dir():
        raise InputError(
            "`--out`",
            "must be a directory",
            f"'{directory}' is a file",
            "Name another place for the results.",
        )
    # results beside parts of a study are its own; others are somebody's
    replace = typed.overwrite or (directory / PARTS).is_dir()
    if directory.is_dir() and not replace:
        _require_empty(directory)
    with _working(typed) as where, progress(quiet=output.quiet) as line:
        results = studies[name].run(
            size, engine=where, rng=typed.rng, out=directory / PARTS, progress=stage(line, name)
        )
    written = _write(results, directory, replace=replace)
    first = results.findings.tables[0]
    if output.as_json:
        output.json(
            {
                "schema_version": SCHEMA_VERSION,
                "type": "StudyWritten",
                "study": name,
                "size": size,
                "files": written,
                "table": first.records(),
                "claims": results.to_dict()["claims"],
            }
        )
        return
    output.table(_as_table(first))
    output.notes(map(str, results.findings.claims))
    output.notes(f"wrote {path}" for path in written)


def installed_studies() -> dict[str, Any]:
    """Return the studies of all packages that bring some, by name; only now are those packages loaded."""
    studies = {
        name: study for point in entry_points(group=ENTRY_POINTS) for name, study in point.load().items()
    }
    if not studies:
        raise MissingExtraError(
            "`credibly study`",
            "needs the package credibly-studies",
            "it is not installed",
            "Run `pip install ./studies` in a checkout of credibly.",
        )
    return studies


def _list(studies: Mapping[str, Any], output: Output) -> None:
    entries = [study.entry() for study in studies.values()]
    if output.as_json:
        output.json({"schema_version": SCHEMA_VERSION, "type": "Studies", "entries": entries})
        return
    rows = [[entry[name] for name in LISTED] for entry in entries]
    output.table(TextTable(LISTED, rows), shown=("name", "reference", "needs", "full", "title"))


def _as_table(table: Any) -> TextTable:
    return TextTable(table.columns, table.rows, table.intervals)


def _write(results: Any, directory: Path, *, replace: bool) -> list[str]:
    """Write tables, claims, the page, figures and details; return their paths."""
    from credibly.report.svg import svg_text

    texts = {f"{table.name}.tsv": _as_table(table).to_tsv() + "\n" for table in results.all_tables}
    texts |= results.texts()
    texts |= {f"{name}.svg": svg_text(draw()) for name, draw in results.findings.drawings.items()}
    for name, text in texts.items():
        write_text_atomically(directory / name, text, overwrite=replace)
    return [str(directory / name) for name in texts]


def _require_empty(directory: Path) -> None:
    """Raise where somebody's files could be replaced: names of results are known only after the run."""
    names = sorted(path.name for path in directory.iterdir())
    if names:
        raise InputError(
            "`--out`",
            "must be a new or empty directory, or one with parts of this study",
            f"'{directory}' holds {names[0]}",
            "Choose another, or use `--force` to replace files with the same names.",
        )


@contextlib.contextmanager
def _working(typed: Typed) -> Iterator[Any]:
    """Give this process for one worker, a pool of processes for more, or the workers of a cluster."""
    if typed.workers == 1 or typed.scheduler is not None:
        with engine(typed) as workers:
            yield workers
        return
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor

    # fresh processes: a copy of this one could hold locks of its threads
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(typed.workers, mp_context=context, initializer=_ignore_interrupts) as pool:
        yield pool


def _ignore_interrupts() -> None:
    """Leave Ctrl-C to the process that answers for it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
