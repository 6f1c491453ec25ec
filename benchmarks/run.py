"""Run all benchmarks: a table on standard output, rows for benchmarks/history.jsonl, build/bench.json.

make bench                       everything, one thread and two
make bench ARGS="core"           only bench_core.py
make bench ARGS="peers"          what docs/benchmarks.md shows first, written there

Rows that take longer than in earlier runs on the same machine are named at the end.
"""

from __future__ import annotations

import json
import platform
import sys
from importlib import import_module
from pathlib import Path

import history
from harness import Row, limited_threads

HERE = Path(__file__).resolve().parent


def main(names: list[str]) -> int:
    """Run the named benchmark modules, or all of them; return 1 where a figure is missed."""
    known = sorted(path.stem.removeprefix("bench_") for path in HERE.glob("bench_*.py"))
    chosen = names or [name for name in known if not name.endswith("cuda")]
    unknown = sorted(set(chosen) - set(known))
    if unknown:
        print(f"no benchmark named {', '.join(unknown)}; there are {', '.join(known)}", file=sys.stderr)
        return 2
    found: list[Row] = []
    peers: list[Row] = []
    print("| task | threads | ours | against | ratio | target | met |\n|---|---|---|---|---|---|---|")
    for name in chosen:
        module = import_module(f"bench_{name}")
        for threads in (1, 2):
            with limited_threads(threads):
                for row in module.rows(threads):
                    found.append(row)
                    peers += [row] if name == "peers" else []
                    met = "yes" if row.met else "NO"
                    print(
                        f"| {row.task} | {row.threads} | {row.ours:.4g} s | {row.against} "
                        f"| {row.ratio:.2f} | {row.target} | {met} |",
                        flush=True,
                    )
    out = HERE.parent / "build" / "bench.json"
    out.parent.mkdir(exist_ok=True)
    facts = {"python": platform.python_version(), "machine": platform.machine()}
    out.write_text(json.dumps({**facts, "rows": [row.to_dict() for row in found]}, indent=1))
    for line in history.add(history.entries(found)):
        print(line)
    if peers:
        tasks = {row.task for row in peers}
        history.write_page([entry for entry in history.kept() if entry["task"] in tasks])
    print(f"\nwritten to {out.relative_to(HERE.parent)}")
    return int(not all(row.met for row in found))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
