"""Try the built wheel and source distribution as somebody who installs them would.

    make package

Builds twice and compares the bytes, checks the metadata, installs each into an empty environment,
and runs the demo and one call of every verb there.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
WRITE = """
import numpy as np
rng = np.random.default_rng(0)
probs = rng.dirichlet([1.0, 1.0, 1.0], size=(200, 4))
labels = (rng.random((200, 1)) > probs.mean(axis=1).cumsum(axis=1)).sum(axis=1)
counts = np.stack([rng.multinomial(5, row) for row in probs.mean(axis=1)])
np.savez("members.npz", probs=probs, y=labels)
np.savez("points.npz", probs=probs[:, 0], y=labels)
np.savez("raters.npz", probs=probs.mean(axis=1), label_counts=counts)
np.savez("sites.npz", probs=probs[:, 0], y=labels, site=np.arange(200) % 4)
"""
CALLS = (
    "--version",
    "demo --out demo.html",
    "inspect members.npz",
    "evaluate points.npz --n-resamples 99",
    "test members.npz --n-resamples 99",
    "check members.npz --n-resamples 99",
    "raters raters.npz",
    "compare points.npz members.npz",
    "audit sites.npz --by site --n-resamples 99",
    "calibrate fit points.npz repair.json --method temperature",
    "calibrate apply repair.json points.npz repaired.npz",
    "calibrate compare points.npz --method temperature --n-resamples 99",
    "plan points.npz --margin 0.1",
    "monitor points.npz --state state.json",
    "report points.npz --out report.html --n-resamples 99",
    "convert points.npz points.csv",
    "list",
)


def main() -> int:
    """Build, compare, check, install, run."""
    with tempfile.TemporaryDirectory() as folder:
        first, second = (build(Path(folder) / name) for name in ("first", "second"))
        if digests(first) != digests(second):
            sys.exit("two builds of the same commit differ")
        distributions = sorted(first.iterdir())
        command(sys.executable, "-m", "twine", "check", "--strict", *map(str, distributions))
        for distribution in distributions:
            try_out(distribution, Path(folder) / distribution.name.replace(".", "-"))
    return 0


def build(out: Path) -> Path:
    """Build the wheel and the source distribution of the package."""
    stamp = command("git", "log", "-1", "--format=%ct").strip()
    command(sys.executable, "-m", "build", "--outdir", str(out), str(ROOT), SOURCE_DATE_EPOCH=stamp)
    return out


def digests(folder: Path) -> dict[str, str]:
    """Return the hash of every file."""
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir()}


def try_out(distribution: Path, folder: Path) -> None:
    """Install one distribution into an empty environment, and call every verb."""
    command(sys.executable, "-m", "venv", str(folder))
    python, credibly = folder / "bin" / "python", folder / "bin" / "credibly"
    command(str(python), "-m", "pip", "install", "-q", "-c", str(ROOT / "constraints.txt"), str(distribution))
    command(str(python), "-c", WRITE, cwd=folder)
    for call in CALLS:
        command(str(credibly), *call.split(), cwd=folder)
    print(f"{distribution.name}: installed, {len(CALLS)} calls ran")


def command(*words: str, cwd: Path = ROOT, **environment: str) -> str:
    """Run a command, and stop with its words if it fails."""
    done = subprocess.run(
        words, cwd=cwd, env=os.environ | environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        sys.exit(f"{' '.join(words)}\n{done.stdout[-3000:]}{done.stderr[-3000:]}")
    return done.stdout


if __name__ == "__main__":
    sys.exit(main())
