"""Name the tests of `make quick` that cost too much, from the JUnit XML of a run of them or of all tests.

A test above half a second of one core is marked `slow` (`pytest.mark.slow`); tests/conftest.py writes what
each test cost into the XML. The first test that asks for a fixture of a module or session pays for it.
"""

from __future__ import annotations

import argparse
import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import NamedTuple


class Cost(NamedTuple):
    """What one test cost, and whether `make quick` runs it."""

    seconds: float
    name: str
    quick: bool


def costs(results: Path) -> list[Cost]:
    """Return the tests of a run, dearest first."""
    found = []
    for case in ET.parse(results).getroot().iter("testcase"):
        values = {each.get("name"): each.get("value", "") for each in case.iter("property")}
        if "cpu" in values:
            name = f"{case.get('classname', '')}::{case.get('name', '')}"
            found.append(Cost(float(values["cpu"]), name, values["quick"] == "yes"))
    return sorted(found, reverse=True)


def main() -> int:
    """Print the totals, the dearest tests where asked, and the unmarked ones; return 1 if there are any."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("results", type=Path)
    parser.add_argument("--limit", type=float, default=0.5, help="seconds of one core [default: 0.5]")
    parser.add_argument("--dearest", type=int, default=0, metavar="N", help="also list the N dearest tests")
    arguments = parser.parse_args()
    found = costs(arguments.results)
    if not found:
        sys.exit(
            f"{arguments.results} does not say what a test cost; write it with `make test` or `make quick`."
        )

    for cost in found[: arguments.dearest]:
        print(f"{cost.seconds:8.2f} s  {cost.name}{'' if cost.quick else '  (not in quick)'}")
    quick = [cost for cost in found if cost.quick]
    print(f"all:   {len(found)} tests, {sum(cost.seconds for cost in found):.0f} s of one core")
    print(f"quick: {len(quick)} tests, {sum(cost.seconds for cost in quick):.0f} s of one core")
    unmarked = [cost for cost in quick if cost.seconds > arguments.limit]
    for cost in unmarked:
        print(f"{cost.seconds:8.2f} s  {cost.name} should be marked slow")
    return 1 if unmarked else 0


if __name__ == "__main__":
    sys.exit(main())
