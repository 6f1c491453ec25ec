"""What `make bench` measured, run after run: a file that grows, a page for people, and what became slower.

Every run adds its rows to benchmarks/history.jsonl. The page shows the latest run of each row; the seconds of
a row are compared with the median of the runs before it on the same machine.
"""

from __future__ import annotations

import json
import platform
import re
import statistics
import subprocess
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from harness import Row

HERE = Path(__file__).resolve().parent
HISTORY, PAGE = HERE / "history.jsonl", HERE.parent / "docs" / "benchmarks.md"
TABLE = re.compile(r"<!-- measured -->\n.*?<!-- end of measured -->\n", re.DOTALL)
SLOWER = 1.3
"""Times the median of earlier runs from which on a row is said to have become slower."""

Entry = dict[str, Any]


def entries(rows: list[Row]) -> list[Entry]:
    """Return rows as they are kept, with the day, the commit and the machine."""
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=HERE, capture_output=True, text=True, check=False
    ).stdout.strip()
    facts = {"day": f"{datetime.now(UTC):%Y-%m-%d}", "commit": commit, "machine": _machine()}
    return [{**facts, **row.to_dict()} for row in rows]


def _machine() -> str:
    info = Path("/proc/cpuinfo")
    names = re.findall(r"model name\s*: (.*)", info.read_text()) if info.is_file() else []
    return f"{names[0] if names else platform.machine()}, {platform.system()}"


def kept() -> list[Entry]:
    """Return all rows measured so far, the oldest first."""
    return [json.loads(line) for line in HISTORY.read_text().splitlines()] if HISTORY.is_file() else []


def add(new: list[Entry]) -> list[str]:
    """Add rows to the history; return in words which of them became slower."""
    told = [line for entry in new if (line := slowdown(entry, kept())) is not None]
    with HISTORY.open("a", encoding="utf-8") as file:
        file.writelines(json.dumps(entry) + "\n" for entry in new)
    return told


def slowdown(entry: Entry, earlier: list[Entry]) -> str | None:
    """Return in words that a row takes longer than before; None if it does not."""
    same = [old["ours"] for old in earlier if all(old[name] == entry[name] for name in _SAME)]
    if len(same) < 2 or entry["ours"] <= SLOWER * statistics.median(same):
        return None
    usual = statistics.median(same)
    return f"slower: {entry['task']}, {entry['threads']} thread: {entry['ours']:.3g} s, before {usual:.3g} s"


_SAME = ("task", "against", "threads", "machine")


def table(every: list[Entry]) -> str:
    """Return the latest run of every row as Markdown, between the marks of the page."""
    latest = {(entry["task"], entry["against"], entry["threads"]): entry for entry in every}
    lines = [
        "<!-- measured -->",
        "| what | against | their time / ours | wanted | ours | measured |",
        "|---|---|---|---|---|---|",
    ]
    for entry in latest.values():
        ratio = f"{entry['ratio']:.2g}" if entry["ratio"] < 10 else f"{entry['ratio']:.0f}"
        missed = "" if entry["met"] else ", **missed**"
        seconds = entry["ours"]
        time = f"{1000 * seconds:.3g} ms" if seconds < 1 else f"{seconds:.3g} s"
        lines.append(
            f"| {entry['task']} | {entry['against']} | {ratio} | {entry['target']}{missed} | {time} "
            f"| {entry['day']}, {entry['commit']} |"
        )
    machines = "; ".join(sorted({entry["machine"] for entry in latest.values()}))
    return "\n".join([*lines, "", f"One thread, processor time; {machines}.", "<!-- end of measured -->", ""])


def write_page(rows: list[Entry]) -> None:
    """Put the table into docs/benchmarks.md."""
    page = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(TABLE.sub(lambda _: table(rows), page), encoding="utf-8")
