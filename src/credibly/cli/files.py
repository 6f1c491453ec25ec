"""`credibly inspect` and `credibly convert`: what a file holds, and the same in another format."""

from __future__ import annotations

import sys
from typing import Any

from click.exceptions import Exit

from credibly._arrays.errors import CrediblyError
from credibly.cli import codes
from credibly.cli.output import Output, Table, sentence, with_flags
from credibly.cli.reading import read, require_elsewhere
from credibly.cli.typed import Typed
from credibly.io import Inspection, inspect, labels_beside, require_target, save
from credibly.statistics import registered

COLUMNS = ("file", "what", "value")


def inspect_files(typed: Typed) -> None:
    """Show shapes, kind, axes and problems, and what can be computed."""
    output = Output(typed.json, typed.quiet)
    said = typed.said
    entries: list[dict[str, Any]] = []
    rows: list[tuple[str, str, str]] = []
    failed = False
    for file in typed.files:
        try:
            found = inspect(file, **said)
        except CrediblyError as error:  # one unreadable file must not hide the others
            failed = True
            sys.stderr.write(f"credibly: {sentence(error)}\n")
            entries.append({"source": file, "error": sentence(error)})
            continue
        failed = failed or bool(found.problems)
        entries.append({**found.to_dict(), "computable": found.computable(registered())})
        facts = _facts(found)
        if output.terminal and not output.as_json:
            output.pairs(facts, heading=file)
        rows += [(file, what, value) for what, value in facts]
    if output.as_json:
        output.json(entries)
    elif rows and not output.terminal:
        output.table(Table(COLUMNS, rows))
    if failed:
        raise Exit(codes.BAD_INPUT)


def convert_file(typed: Typed) -> None:
    """Convert predictions and labels to another format."""
    output, out = Output(typed.json, typed.quiet), typed.out
    require_elsewhere(out, typed.file, typed.labels)
    if out.suffix.lower() == ".npy":
        require_elsewhere(labels_beside(out), typed.file, typed.labels)
    require_target(out, overwrite=typed.overwrite)
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
