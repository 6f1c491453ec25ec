"""`credibly inspect` and `credibly convert`: what a file holds, and the same in another format."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from credibly._arrays.errors import CrediblyError
from credibly.cli import codes, options
from credibly.cli.output import Output, Table, sentence, with_flags
from credibly.cli.reading import Reading
from credibly.io import Inspection, inspect, labels_beside, require_target, save
from credibly.statistics import registered

COLUMNS = ("file", "what", "value")


def inspect_files(
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="One or more files to inspect.")],
    *,
    labels: options.Labels = None,
    kind: options.Kind = None,
    member_axis: options.MemberAxis = None,
    normalise: options.Normalise = False,
    columns: options.Columns = None,
    exclude: options.Exclude = None,
    ignore_label: options.IgnoreLabel = None,
    n_raters: options.NRaters = None,
    id_column: options.IdColumn = None,
    classes: options.Classes = None,
    levels: options.Levels = None,
    member_weights: options.MemberWeights = None,
    claimed: options.Claimed = None,
    clusters: options.Clusters = None,
    blocks: options.Blocks = None,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Show shapes, kind, axes and problems, and what can be computed.

    Exits with 2 where a file has problems.
    """
    output = Output(as_json, quiet)
    reading = Reading.typed(locals(), file="")
    entries: list[dict[str, Any]] = []
    rows: list[tuple[str, str, str]] = []
    failed = False
    for file in files:
        try:
            found = inspect(str(file), **reading.said)
        except CrediblyError as error:  # one unreadable file must not hide the others
            failed = True
            sys.stderr.write(f"credibly: {sentence(error)}\n")
            entries.append({"source": str(file), "error": sentence(error)})
            continue
        failed = failed or bool(found.problems)
        entries.append({**found.to_dict(), "computable": found.computable(registered())})
        facts = _facts(found)
        if output.terminal and not output.as_json:
            output.pairs(facts, heading=str(file))
        rows += [(str(file), what, value) for what, value in facts]
    if output.as_json:
        output.json(entries)
    elif rows and not output.terminal:
        output.table(Table(COLUMNS, rows))
    if failed:
        raise typer.Exit(codes.BAD_INPUT)


def convert_file(
    file: options.PredictionsFile,
    out: Annotated[Path, typer.Argument(metavar="OUT", help="New file; its extension is the format.")],
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
    claimed: options.Claimed = None,
    clusters: options.Clusters = None,
    blocks: options.Blocks = None,
    force: options.Force = False,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Convert predictions and labels to another format."""
    reading = Reading.typed(locals())
    output = Output(as_json, quiet)
    reading.require_elsewhere(out)
    if out.suffix.lower() == ".npy":
        reading.require_elsewhere(labels_beside(out))
    require_target(out, overwrite=force)
    data = reading.dataset(output)
    written = save(
        out,
        data.predictions,
        data.labels,
        features=data.features,
        groups=data.groups,
        clusters=data.clusters,
        ids=data.ids,
        classes=data.classes,
        meta=data.meta,
        overwrite=force,
    )
    files = {"written": str(written)}
    if out.suffix.lower() == ".npy" and data.labels is not None:
        files["labels"] = str(labels_beside(written))
    if output.as_json:
        output.json({**files, "n": len(data), "dropped": data.dropped})
    else:
        for name in files.values():
            output.line(name)


def _facts(found: Inspection) -> list[tuple[str, str]]:
    facts = [("format", found.format), ("bytes", str(found.size)), ("sha256", found.digest)]
    facts += [("array", f"{one.name} {one.shape} {one.dtype}") for one in found.arrays]
    facts += [("kind", found.kind or "unknown"), ("type", found.type or "unknown")]
    facts += [(f"axis {name}", str(length)) for name, length in found.axes.items()]
    facts += [("labels", found.labels or "none")]
    if found.classes is not None:
        facts.append(("classes", ", ".join(found.classes)))
    facts += [("problem", with_flags(problem)) for problem in found.problems]
    facts += [("note", with_flags(note)) for note in found.notes]
    facts.append(("computable", ", ".join(found.computable(registered())) or "nothing"))
    return facts
