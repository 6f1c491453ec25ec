"""Judge packages by the vectors: agree, other definition (with its bridge) or wrong (with an example).

    python -m conformance.judge                       all adapters with an installed package; writes the pages
    python -m conformance.judge --only torchmetrics   one of them, on the terminal
    python -m conformance.judge --adapter mine.py     an adapter of your own

An adapter is a module with `PACKAGE` (its name on PyPI) and `CALLS`: measure -> (the call as users write it,
a function of inputs and settings that returns the number). It raises `NotOffered` where the package has no
such setting, and may set `TOLERANCE`, relative, if the package computes in single precision.
"""

from __future__ import annotations

import argparse
import dataclasses
import datetime as dt
import importlib
import importlib.util
import json
import math
import pkgutil
import warnings
from collections.abc import Callable, Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import ModuleType
from typing import Any

from conformance import adapters
from conformance.adapters import NotOffered
from conformance.bridges import BRIDGES
from conformance.derive import MEASURES

HERE = Path(__file__).parent
TOLERANCE = 1e-9
AGREE, OTHER, WRONG, REFUSED = "agree", "other definition", "wrong", "refuses all cases"
Case = dict[str, Any]


@dataclasses.dataclass(frozen=True)
class Verdict:
    """What a package means by a measure."""

    package: str
    measure: str
    call: str
    verdict: str
    taken: int
    refused: int
    bridge: str = ""
    example: dict[str, Any] = dataclasses.field(default_factory=dict)
    reasons: tuple[str, ...] = ()


def vectors() -> dict[str, list[Case]]:
    """Return the cases of every measure."""
    files = [HERE / "vectors" / f"{name}.json" for name in MEASURES]
    return {file.stem: json.loads(file.read_text())["cases"] for file in files}


def same(first: float, second: float, tolerance: float) -> bool:
    """Tell whether two numbers agree, relative to the larger of the second and 1e-2."""
    if math.isinf(second) or math.isinf(first):
        return first == second
    return abs(first - second) <= tolerance * max(abs(second), 1e-2)


def answer(call: Callable[..., Any], case: Case) -> float | Exception:
    """Return the number of a package, or the error with which it refuses the case."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return float(call(case["inputs"], **case["settings"]))
    except Exception as error:  # noqa: BLE001 - any error of any package is a refusal
        return error


def reaches(bridge: Callable[..., float], case: Case, number: float, tolerance: float) -> bool:
    """Tell whether a bridge leads to the number of the package."""
    try:
        return same(number, bridge(case["inputs"], **case["settings"]), tolerance)
    except (TypeError, ValueError, ZeroDivisionError, IndexError):
        return False


def rows_of(inputs: dict[str, Any]) -> int:
    """Return the number of rows of a case."""
    return len(next(values for name, values in inputs.items() if name != "levels"))


def judge(
    package: str, measure: str, call: tuple[str, Callable[..., Any]], cases: list[Case], tolerance: float
) -> Verdict:
    """Judge one measure of one package."""
    written, function = call
    numbers = [(case, answer(function, case)) for case in cases]
    answers = [(case, number) for case, number in numbers if isinstance(number, float)]
    errors = [number for _, number in numbers if isinstance(number, Exception)]
    reasons = dict.fromkeys(
        f"{type(one).__name__}: {one}" for one in errors if not isinstance(one, NotOffered)
    )
    blank = Verdict(package, measure, written, REFUSED, len(answers), len(errors), reasons=tuple(reasons))
    if not answers:
        return blank
    if all(same(number, float(case["value"]), tolerance) for case, number in answers):
        return dataclasses.replace(blank, verdict=AGREE)
    explained = {
        bridge: [one for one in answers if reaches(bridge[1], *one, tolerance)]
        for bridge in BRIDGES.get(measure, [])
    }
    plain = ("the definition", MEASURES[measure])
    explained[plain] = [one for one in answers if reaches(plain[1], *one, tolerance)]
    bridge = max(explained, key=lambda one: len(explained[one]))
    reached = explained[bridge]
    if len(reached) == len(answers):
        return dataclasses.replace(blank, verdict=OTHER, bridge=bridge[0])
    rest = [case for case, number in answers if not reaches(bridge[1], case, number, tolerance)]
    case = min(rest, key=lambda one: rows_of(one["inputs"]))
    words = f"{bridge[0]}: {len(reached)} of {len(answers)} cases" if reached else ""
    example = smallest(measure, bridge[1], function, case, tolerance)
    return dataclasses.replace(blank, verdict=WRONG, bridge=words, example=example)


def smallest(
    measure: str,
    bridge: Callable[..., float],
    call: Callable[..., Any],
    case: Case,
    tolerance: float,
) -> dict[str, Any]:
    """Leave out rows as long as neither the definition nor the bridge explains the number."""

    def unexplained(inputs: dict[str, Any]) -> dict[str, Any] | None:
        tried = {"inputs": inputs, "settings": case["settings"]}
        number = answer(call, tried)
        if not isinstance(number, float):
            return None
        if any(reaches(one, tried, number, tolerance) for one in (MEASURES[measure], bridge)):
            return None
        try:
            value = MEASURES[measure](inputs, **case["settings"])
        except (ValueError, ZeroDivisionError):
            return None
        return {**tried, "theirs": number, "by definition": value}

    least = unexplained(case["inputs"])
    if least is None:
        return {}
    row = 0
    while row < rows_of(least["inputs"]) > 1:
        fewer = {
            name: values if name == "levels" else values[:row] + values[row + 1 :]
            for name, values in least["inputs"].items()
        }
        shorter = unexplained(fewer)
        least, row = (least, row + 1) if shorter is None else (shorter, row)
    return least


def verdicts_of(adapter: ModuleType) -> list[Verdict]:
    """Judge all that an adapter calls."""
    every, tolerance = vectors(), getattr(adapter, "TOLERANCE", TOLERANCE)
    return [
        judge(adapter.PACKAGE, name, call, every[name], tolerance) for name, call in adapter.CALLS.items()
    ]


def installed(only: str | None = None) -> Iterator[ModuleType]:
    """Yield the adapters whose package can be imported, and say which cannot; `only` names one package."""
    for name in sorted(module.name for module in pkgutil.iter_modules(adapters.__path__)):
        if only not in (None, name.replace("_", "-")):
            continue
        try:
            yield importlib.import_module(f"conformance.adapters.{name}")
        except (ImportError, RuntimeError) as error:
            print(f"{name}: not judged, {error}")


def load(path: str) -> ModuleType:
    """Import an adapter from a file."""
    spec = importlib.util.spec_from_file_location("adapter", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def version_of(package: str) -> str:
    """Return the installed version."""
    try:
        return version(package)
    except PackageNotFoundError:
        return "unknown"


def line(verdict: Verdict) -> str:
    """Return a verdict on one line."""
    words = f": {verdict.bridge}" if verdict.bridge else ""
    words += f": {json.dumps(verdict.example)}" if verdict.example else ""
    why = "".join(f"; {reason}" for reason in verdict.reasons)
    refused = f", {verdict.refused} not taken{why}" if verdict.refused else ""
    return f"{verdict.package} {verdict.measure}: {verdict.verdict} ({verdict.taken} cases{refused}){words}"


def main() -> None:
    """Judge, print, and write the pages."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", help="name of one package")
    parser.add_argument("--adapter", help="file of an adapter")
    asked = parser.parse_args()
    chosen = [load(asked.adapter)] if asked.adapter else list(installed(asked.only))
    verdicts = [verdict for adapter in chosen for verdict in verdicts_of(adapter)]
    print("\n".join(map(line, verdicts)))
    if not (asked.only or asked.adapter):
        from conformance.pages import write

        write(verdicts, {one.PACKAGE: version_of(one.PACKAGE) for one in chosen}, dt.date.today())


if __name__ == "__main__":
    main()
