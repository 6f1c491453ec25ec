"""`credibly inspect` and `credibly convert`: what a file holds, and the same in another format."""

from __future__ import annotations

import sys
from typing import Any

from click.exceptions import Exit

from credibly._arrays.errors import CrediblyError
from credibly.cli import codes
from credibly.cli.output import Output, TextTable, sentence, with_flags
from credibly.cli.reading import Typed, read, require_new_file
from credibly.io import Inspection, inspect, labels_beside, save
from credibly.statistics import registered

COLUMNS = ("file", "what", "value")


def inspect_files(typed: Typed, output: Output) -> None:
    """Show shapes, kind, axes and problems, and what can be computed."""
    reading = typed.said
    entries: list[dict[str, Any]] = []
    rows: list[tuple[str, str, str]] = []
    failed = False
    for file in typed.files:
        try:
            inspection = inspect(file, **reading)
        except CrediblyError as error:  # one unreadable file must not hide the others
            failed = True
            sys.stderr.write(f"credibly: {sentence(error)}\n")
            entries.append({"source": file, "error": sentence(error)})
            continue
        failed = failed or bool(inspection.problems)
        entries.append({**inspection.to_dict(), "computable": inspection.computable(registered())})
        facts = _facts(inspection)
        if output.terminal and not output.as_json:
            output.pairs(facts, heading=file)
        rows += [(file, what, value) for what, value in facts]
    if output.as_json:
        output.json(entries)
    elif rows and not output.terminal:
        output.table(TextTable(COLUMNS, rows))
    if failed:
        raise Exit(codes.BAD_INPUT)


def convert_file(typed: Typed, output: Output) -> None:
    """Convert predictions and labels to another format."""
    out = typed.out
    require_new_file(typed, typed.file)
    data = read(typed.file, typed, output)
    written = save(out, data, overwrite=typed.overwrite)
    files = {"written": str(written)}
    if out.suffix.lower() == ".npy" and data.labels is not None:
        files["labels"] = str(labels_beside(written))
    if output.as_json:
        output.json({**files, "n": len(data), "dropped": data.dropped})
    else:
        for name in files.values():
            output.line(name)


def _facts(inspection: Inspection) -> list[tuple[str, str]]:
    facts = [("format", inspection.format), ("bytes", str(inspection.size)), ("sha256", inspection.digest)]
    facts += [("array", f"{array.name} {array.shape} {array.dtype}") for array in inspection.arrays]
    facts += [("kind", inspection.kind or "unknown"), ("type", inspection.type or "unknown")]
    facts += [(f"axis {name}", str(length)) for name, length in inspection.axes.items()]
    facts += [("labels", inspection.labels or "none")]
    if inspection.classes is not None:
        facts.append(("classes", ", ".join(inspection.classes)))
    facts += [("problem", with_flags(problem)) for problem in inspection.problems]
    facts += [("note", with_flags(note)) for note in inspection.notes]
    facts.append(("computable", ", ".join(inspection.computable(registered())) or "nothing"))
    return facts
