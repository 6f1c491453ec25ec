"""Run the tests as on other machines: BLAS kernels, vector instructions, threads, order and workers differ.

The last digits of a sum depend on all of these. A test that passes under every row states what credibly
promises, and not what one processor happens to compute.

Any Python will do that has what the tests need: the one that runs this runs them, on the sources beside it.
`--only NAME` runs one row, so that rows can run side by side; build/machines/summary.md has the rows so far.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import platform
import subprocess
import sys
import time
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

FOLDER = Path("build/machines")
TABLE = "| machine | setting | passed | skipped | failed | seconds |\n|---|---|---|---|---|---|"
SOURCES = [str(Path(__file__).resolve().parents[1] / each) for each in ("src", "studies/src")]
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
SAME_KERNEL = {"Prescott": {"Prescott", "Katmai"}, "Zen": {"Zen", "Haswell"}}
"""OpenBLAS calls a kernel by the first name it has; Zen runs Haswell's."""
INSTRUCTIONS = {
    "Prescott": "SSE3",
    "Nehalem": "SSE42",
    "Sandybridge": "AVX",
    "Haswell": "AVX2",
    "Zen": "AVX2",
}
"""What a processor must have to run a kernel, in NumPy's words."""


@dataclasses.dataclass(frozen=True)
class Machine:
    """One row: which kernel OpenBLAS runs, what NumPy and PyTorch may use, threads, workers and the order."""

    name: str
    kernel: str
    threads: int
    workers: int
    reduced_numpy: bool = False
    plain_torch: bool = False
    shuffle: int | None = None

    def environment(self, dispatched: list[str]) -> dict[str, str]:
        """Return the variables that make this machine of the one at hand."""
        found = {"OPENBLAS_CORETYPE": self.kernel, **dict.fromkeys(THREADS, str(self.threads))}
        if self.reduced_numpy:
            found["NPY_DISABLE_CPU_FEATURES"] = " ".join(dispatched)
        if self.plain_torch:
            found["ATEN_CPU_CAPABILITY"] = "default"
        return found

    def arguments(self) -> list[str]:
        """Return what pytest is told."""
        order = [] if self.shuffle is None else ["--shuffle", str(self.shuffle)]
        return ["-n", str(self.workers), "--dist", "worksteal", *order]


MACHINES = (
    Machine("old", "Prescott", threads=1, workers=1, reduced_numpy=True, plain_torch=True),
    Machine("middle", "Nehalem", threads=1, workers=4, reduced_numpy=True, shuffle=1),
    Machine("new", "Haswell", threads=4, workers=2, plain_torch=True, shuffle=2),
)

LOOK = """
import json, threadpoolctl, numpy, scipy.linalg
try:
    from numpy._core import _multiarray_umath as core
except ImportError:
    from numpy.core import _multiarray_umath as core
try:
    import torch
    capability = torch.backends.cpu.get_cpu_capability()
except ImportError:
    capability = None
pools = threadpoolctl.threadpool_info()
has = core.__cpu_features__
print(json.dumps({
    "kernels": sorted({p["architecture"] for p in pools if p["internal_api"] == "openblas"}),
    "threads": sorted({p["num_threads"] for p in pools}),
    "dispatched": [name for name in core.__cpu_dispatch__ if has[name]],
    "features": [name for name in has if has[name]],
    "numpy": numpy.__version__,
    "torch": capability,
}))
"""


def look(environment: dict[str, str]) -> dict[str, Any]:
    """Return what a new process finds: kernels of OpenBLAS, threads, instructions of NumPy and PyTorch."""
    done = subprocess.run(
        [sys.executable, "-c", LOOK],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=True,
    )
    record: dict[str, Any] = json.loads(done.stdout)
    return record


def without_effect(machine: Machine, found: dict[str, Any]) -> str:
    """Return which setting a new process did not take over; empty where it took all."""
    wrong = []
    if not set(found["kernels"]) <= SAME_KERNEL.get(machine.kernel, {machine.kernel}):
        wrong.append(f"OpenBLAS runs {found['kernels']}, not {machine.kernel}")
    # OpenBLAS starts no more threads than there are processors
    if not set(found["threads"]) <= {machine.threads, min(machine.threads, os.cpu_count() or 1)}:
        wrong.append(f"threads are {found['threads']}, not {machine.threads}")
    if machine.reduced_numpy and found["dispatched"]:
        wrong.append(f"NumPy still dispatches {found['dispatched']}")
    if machine.plain_torch and found["torch"] not in (None, "DEFAULT", "NO AVX"):
        wrong.append(f"PyTorch still uses {found['torch']}")
    return "; ".join(wrong)


def run(machine: Machine, environment: dict[str, str], more: list[str]) -> tuple[int, dict[str, int], float]:
    """Run the tests, keep their words in a log, and return exit status, counts and seconds."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    results, log = FOLDER / f"{machine.name}.xml", FOLDER / f"{machine.name}.log"
    results.unlink(missing_ok=True)
    command = [sys.executable, "-m", "pytest", f"--junitxml={results}", *machine.arguments(), *more]
    began = time.monotonic()
    with log.open("w", encoding="utf-8") as lines:
        settings = " ".join(f"{name}={value!r}" for name, value in environment.items())
        print(settings, *command, file=lines, flush=True)
        # commands that a test starts find the sources too, whether or not they are installed
        paths = os.pathsep.join([*SOURCES, *filter(None, [os.environ.get("PYTHONPATH")])])
        status = subprocess.run(
            command,
            env=os.environ | environment | {"PYTHONPATH": paths},
            stdout=lines,
            stderr=subprocess.STDOUT,
            check=False,
        ).returncode
    seconds = time.monotonic() - began
    counts = dict.fromkeys(("tests", "skipped", "failures", "errors"), 0)
    if results.exists():
        suite = next(ET.parse(results).getroot().iter("testsuite"))
        counts = {name: int(suite.get(name, 0)) for name in counts}
    return status, counts, seconds


def row(machine: Machine, here: dict[str, Any], more: list[str], *, only_look: bool) -> tuple[str, bool]:
    """Return the machine's row of the table, and whether the settings took effect and no test failed."""
    environment = machine.environment(here["dispatched"])
    words = " ".join(f"{name}={value}" for name, value in environment.items() if name not in THREADS)
    setting = f"`{words}`, threads {machine.threads}, `{' '.join(machine.arguments())}`"
    line = f"| {machine.name} | {setting} |"
    if INSTRUCTIONS[machine.kernel] not in here["features"]:
        return f"{line} not run: no {INSTRUCTIONS[machine.kernel]} here | | | |", True
    wrong = without_effect(machine, look(environment))
    if wrong:
        return f"{line} not run: {wrong} | | | |", False
    if only_look:
        return f"{line} takes effect | | | |", True
    status, counts, seconds = run(machine, environment, more)
    bad = counts["failures"] + counts["errors"]
    passed = counts["tests"] - counts["skipped"] - bad
    if status != 0:
        print(f"pytest ended with {status}; see {FOLDER / machine.name}.log", file=sys.stderr)
    return f"{line} {passed} | {counts['skipped']} | {bad} | {seconds:.0f} |", status == 0


def summarise(machine: Machine, line: str, heading: str) -> None:
    """Keep the row in a file of its own, and the table of all rows so far in summary.md.

    Rows may run at the same time (`--only`): the last one to end sees all of them.
    """
    FOLDER.mkdir(parents=True, exist_ok=True)
    (FOLDER / f"{machine.name}.row").write_text(line + "\n", encoding="utf-8")
    kept = [FOLDER / f"{one.name}.row" for one in MACHINES]
    rows = [path.read_text(encoding="utf-8") for path in kept if path.exists()]
    (FOLDER / "summary.md").write_text(f"{heading}\n{TABLE}\n" + "".join(rows), encoding="utf-8")


def main() -> int:
    """Print a table with one row per machine; return 1 where tests failed or a setting had no effect."""
    parser = argparse.ArgumentParser(description=__doc__, epilog="What is not named here goes to pytest.")
    parser.add_argument("--only", action="append", choices=[one.name for one in MACHINES])
    parser.add_argument("--look", action="store_true", help="only check that the settings take effect")
    given, more = parser.parse_known_args()
    here = look({})
    heading = (
        f"Python {platform.python_version()}; OpenBLAS {', '.join(here['kernels'])}; "
        f"NumPy {here['numpy']}, {' '.join(here['dispatched']) or 'baseline'}; "
        f"PyTorch {here['torch'] or 'absent'}; {os.cpu_count()} processors\n"
    )
    print(f"{heading}\n{TABLE}")
    good = True
    for machine in MACHINES:
        if given.only and machine.name not in given.only:
            continue
        line, passed = row(machine, here, more, only_look=given.look)
        print(line, flush=True)
        good &= passed
        if not given.look:
            summarise(machine, line, heading)
    return int(not good)


if __name__ == "__main__":
    sys.exit(main())
