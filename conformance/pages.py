"""The pages that a run writes: conformance/verdicts.md, and docs/names.md for readers who look for a name."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from conformance.judge import Verdict

HERE = Path(__file__).parent
NAMES = HERE.parent / "docs" / "names.md"
OURS = "credibly"

ABOUT = """# Verdicts

Made by `make conformance` on {date}, with {versions}.

Every package was called as its users call it, by an adapter in `conformance/adapters`, on the cases in
`conformance/vectors`.

- **agree**: the number of the definition, in every case that the package takes.
- **other definition**: a number that is right by another definition. The bridge that leads to it is given,
  and reproduces it in every case.
- **wrong**: in some case neither the definition nor a bridge that we know explains the number. The smallest
  example is given, with the bridge that explains the other cases, if there is one.

A verdict is about one release and one call. Other definitions are choices, many of them older than ours.
"Wrong" may be our mistake in reading the documentation: please tell us. An adapter has a few lines per
measure and is easily corrected.
"""

NAMES_HEAD = """# What each package means by this name

<!-- Written by `make conformance`; do not edit. -->

The same name is not always the same number. This page is made from the [verdicts](../conformance/verdicts.md)
of {date}, which name all versions: {count} calls of {packages} packages on {cases} cases, whose values were
derived by brute force. [Coming from another package](coming-from.md) has the calls side by side.

**Equal** means equal in every case that the package takes. Otherwise the bridge reproduces their number. The
[definitions](../conformance/README.md) have one page each.

| name | here | equal | other definition, and the bridge to it |
|---|---|---|---|
"""


def cell(text: str) -> str:
    """Return text that can stand in a table."""
    return text.replace("|", "\\|")


def shown(example: Mapping[str, Any]) -> str:
    """Return an example as code."""
    return f"`{cell(json.dumps(example))}`" if example else ""


def table_of(verdicts: Iterable[Verdict]) -> str:
    """Return the table of one package."""
    lines = ["| measure | call | verdict | cases | bridge, or smallest example |", "|---|---|---|---|---|"]
    for one in verdicts:
        refusals = "; ".join(f"refuses: {cell(reason)[:120]}" for reason in one.reasons)
        words = " ".join(filter(None, (cell(one.bridge), shown(one.example), refusals)))
        cases = f"{one.taken}" + (f", {one.refused} not taken" if one.refused else "")
        link = f"[{one.measure}](definitions/{one.measure}.md)"
        lines.append(f"| {link} | `{cell(one.call)}` | {one.verdict} | {cases} | {words} |")
    return "\n".join(lines)


def by_name(verdicts: list[Verdict]) -> list[str]:
    """Return one row per measure that another package has."""
    rows = []
    ours = {one.measure: one.call for one in verdicts if one.package == OURS}
    for measure, call in ours.items():
        others = [one for one in verdicts if one.measure == measure and one.package != OURS and one.taken]
        if not others:
            continue
        equal = [f"{one.package} `{cell(one.call)}`" for one in others if one.verdict == "agree"]
        rest = [
            f"{one.package} `{cell(one.call)}`: {cell(one.bridge) or 'no bridge known'}"
            + (" ([example](../conformance/verdicts.md))" if one.verdict == "wrong" else "")
            for one in others
            if one.verdict != "agree"
        ]
        rows.append(f"| {measure} | `{cell(call)}` | {'<br>'.join(equal)} | {'<br>'.join(rest)} |")
    return rows


def write(verdicts: list[Verdict], versions: Mapping[str, str], date: dt.date) -> None:
    """Write both pages."""
    from conformance.judge import vectors

    others = {name: number for name, number in versions.items() if name != OURS}
    words = ", ".join(f"{name} {number}" for name, number in others.items())
    text = ABOUT.format(date=date.isoformat(), versions=words)
    for package in versions:
        text += f"\n## {package}\n\n{table_of(one for one in verdicts if one.package == package)}\n"
    (HERE / "verdicts.md").write_text(text)
    head = NAMES_HEAD.format(
        date=date.isoformat(),
        packages=len(others),
        count=sum(one.package != OURS for one in verdicts),
        cases=sum(map(len, vectors().values())),
    )
    NAMES.write_text(head + "\n".join(by_name(verdicts)) + "\n")
