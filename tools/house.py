"""The house in figures: how many files, names, paths and hops a reader meets.

    .venv/bin/python tools/house.py            # a table
    .venv/bin/python tools/house.py --json

CONTRIBUTING.md shows the table. The figures serve the reader: what makes a file harder to read to meet one is
wrong.
"""

from __future__ import annotations

import ast
import collections
import contextlib
import importlib
import inspect
import io
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FrameType

import surface

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "credibly"
SOURCES_OF_ROWS = ("predictions", "scale")  # where rows may be asked whether they are in memory
CORE = ("_arrays", "predictions", "statistics", "hypotests", "credal", "results", "learners")
_PARAMETER = re.compile(r"^\s*\w[\w, ]* : \S", re.MULTILINE)
_BRANCH = re.compile(
    r"isinstance\([^()]*(?:\([^()]*\)[^()]*)*\b(?:Rows|InMemory|Scan)\b"
    r"|\b(?:chunks|whole|loaded\([^)]*\)) is (?:not )?None"
)


def static() -> dict[str, float]:
    """Return what can be read off the files."""
    files = sorted(SOURCE.rglob("*.py"))
    modules = {
        ".".join(("credibly", *path.relative_to(SOURCE).with_suffix("").parts)): path for path in files
    }
    importers: dict[Path, set[Path]] = collections.defaultdict(set)
    code = branches = core = statements = 0
    lengths = []
    for path in files:
        text = path.read_text(encoding="utf-8")
        lines = text.splitlines()
        lengths.append(len(lines))
        told: set[int] = set()
        for node in ast.walk(ast.parse(text)):
            if _is_docstring(node):
                told.update(range(node.lineno, node.end_lineno + 1))
            elif isinstance(node, ast.ImportFrom) and node.module in modules and path.name != "__init__.py":
                importers[modules[node.module]].add(path)
        written = sum(
            bool(line.strip()) and not line.strip().startswith("#") and number not in told
            for number, line in enumerate(lines, 1)
        )
        room = path.relative_to(SOURCE).parts[0]
        code += written
        if room in CORE:
            core += written
            statements += sum(
                isinstance(node, ast.stmt) and not _is_docstring(node) for node in ast.walk(ast.parse(text))
            )
        if room not in SOURCES_OF_ROWS:
            branches += len(_BRANCH.findall(text))
    import credibly

    return {
        "files of the wheel": len(files),
        "lines of the largest file": max(lengths),
        "median lines of a file": statistics.median(lengths),
        "code lines (no docstrings, comments, blanks)": code,
        "code lines of the core rooms": core,
        "statements of the core rooms": statements,
        "documented parameters, as `help` shows them": documented_parameters("credibly"),
        "names at the top": len(credibly.__all__),
        "modules with one importer": sum(
            len(importers[path]) == 1 for path in files if path.name != "__init__.py"
        ),
        "branches on rows in chunks outside predictions and scale": branches,
    }


def documented_parameters(package: str) -> int:
    """Count the entries `name : type` in the docstrings of a package, as they are once it is imported."""
    found = 0
    for module in surface.modules(importlib.import_module(package)):
        values = [
            value for value in vars(module).values() if getattr(value, "__module__", None) == module.__name__
        ]
        inside = [member for value in values if inspect.isclass(value) for member in vars(value).values()]
        for value in (module, *values, *inside):
            found += len(_PARAMETER.findall(_text(value)))
    return found


def _text(value: object) -> str:
    """Return a docstring of its own: an instance has that of its class."""
    if isinstance(value, (classmethod, staticmethod)):
        value = value.__func__
    known = inspect.ismodule(value) or inspect.isclass(value) or inspect.isfunction(value)
    return (value.__doc__ or "") if known or isinstance(value, property) else ""


def _is_docstring(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


def hops() -> dict[str, int]:
    """Return how many files and functions of the library a call runs through, on 300 rows of an ensemble."""
    import numpy as np

    import credibly as cr
    from credibly.cli import main
    from credibly.statistics.proper import Brier

    rng = np.random.default_rng(0)
    members = rng.dirichlet(np.ones(3), size=(300, 4))
    labels = (rng.random((300, 1)) > members.mean(axis=1).cumsum(axis=1)).sum(axis=1)
    ensemble = cr.Ensemble(members)

    def brier() -> object:
        return cr.brier(ensemble, labels)

    def test(n_resamples: int = 19) -> object:
        return cr.calibration_test(ensemble, labels, n_resamples=n_resamples, rng=0)

    with tempfile.TemporaryDirectory() as name:
        file, page = Path(name) / "p.npz", Path(name) / "r.html"
        cr.save(file, ensemble, labels)
        words = ["report", str(file), "--out", str(page), "--force", "--n-resamples", "19"]
        calls: dict[str, Callable[[], object]] = {
            "brier": brier,
            "calibration_test": test,
            "credal_test": lambda: cr.credal_test(ensemble, labels, n_resamples=19, rng=0),
            "evaluate": lambda: cr.evaluate(ensemble, labels, n_resamples=19),
            "credibly report": lambda: main(words),
        }
        files = {
            f"files run by {name}": len({code.co_filename for code, _ in frames_of(call)})
            for name, call in calls.items()
        }
    frames = frames_of(brier)
    formula = Brier.of_labels.__code__
    return files | {
        "functions run by brier": len(frames),
        "frames from brier to its formula": max(depth for code, depth in frames if code is formula),
        "functions run by calibration_test, 99 resamples": len(frames_of(lambda: test(99))),
    }


def frames_of(call: Callable[[], object]) -> list[tuple[CodeType, int]]:
    """Return code and depth of every function of the library that a call runs, imports not counted.

    Depth counts the functions of the library that are running, the function itself included. A generator
    counts whenever it goes on.
    """
    import credibly

    home = str(Path(credibly.__file__).parent)
    seen: list[tuple[CodeType, int]] = []
    depth = 0

    def watch(frame: FrameType, event: str, argument: object) -> None:
        nonlocal depth
        if event in ("call", "return") and frame.f_code.co_filename.startswith(home):
            depth += 1 if event == "call" else -1
            if event == "call":
                seen.append((frame.f_code, depth))

    quiet = io.StringIO()
    with contextlib.redirect_stdout(quiet), contextlib.redirect_stderr(quiet):
        with contextlib.suppress(SystemExit):
            call()  # modules are imported here
        sys.setprofile(watch)
        try:
            with contextlib.suppress(SystemExit):
                call()
        finally:
            sys.setprofile(None)
    return seen


def start() -> dict[str, float]:
    """Return processor time of commands over that of `import numpy, scipy.special`; the best of three."""

    def seconds(code: str, **environment: str) -> float:
        best = float("inf")
        for _ in range(3):
            before = os.times()
            subprocess.run(
                [sys.executable, "-c", code], env=os.environ | environment, capture_output=True, check=False
            )
            after = os.times()
            spent = after.children_user - before.children_user + after.children_system
            best = min(best, spent - before.children_system)
        return best

    import numpy as np

    unit = seconds("import numpy, scipy.special")
    run = "import sys; sys.argv = ['credibly', *{}]\nfrom credibly.cli import main\nmain()"
    tab = {"_CREDIBLY_COMPLETE": "bash_complete", "COMP_WORDS": "credibly rep", "COMP_CWORD": "1"}
    with tempfile.TemporaryDirectory() as name:
        tiny = Path(name) / "tiny.npz"
        np.savez(tiny, probs=np.full((9, 3), 1 / 3), y=np.arange(9) % 3)
        times = {
            "import credibly": seconds("import credibly"),
            "credibly --version": seconds(run.format(["--version"])),
            "credibly report --help": seconds(run.format(["report", "--help"])),
            "Tab completion": seconds(run.format([]), **tab),
            "credibly inspect": seconds(run.format(["inspect", str(tiny)])),
        }
    return {
        f"CPU of {name} / import numpy, scipy.special": round(time / unit, 2) for name, time in times.items()
    }


if __name__ == "__main__":
    found = {**static(), **hops(), **start()}
    if "--json" in sys.argv:
        print(json.dumps(found, indent=1))
    else:
        for name, value in found.items():
            print(f"{value!s:>9}  {name}")
