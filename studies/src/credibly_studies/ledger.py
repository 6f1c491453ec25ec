"""One row per claim of a paper: what its printed numbers say, and what each design found here."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Literal

from credibly_studies.results import Cell, Claim, Design, Outcome, StudyTable

OUTCOMES: tuple[Outcome, ...] = ("confirmed", "not confirmed", "cannot tell")

PRINTED: tuple[Design, ...] = ("as printed", "smaller")
"""Designs of the paper; a smaller one has its settings with fewer data sets or less training."""


@dataclasses.dataclass(frozen=True)
class Entry:
    """One claim of a paper and all that speaks about it.

    Parameters
    ----------
    place, statement, printed : str
        Where and what the paper claims, and what it prints about it.
    by_print : str
        What the printed numbers themselves say; empty if there are none.
    printed_design, another_design : tuple of Claim
        What experiments with the printed design, and with another one, found here.
    why : str
        Reasons and remarks.
    further : bool
        Whether it is a check of ours.
    """

    place: str
    statement: str
    printed: str
    by_print: Outcome | Literal[""]
    printed_design: tuple[Claim, ...]
    another_design: tuple[Claim, ...]
    why: str
    further: bool

    @property
    def tested(self) -> bool:
        """Whether an experiment here was about it."""
        return bool(self.printed_design or self.another_design)


def joined(outcomes: Iterable[Outcome | Literal[""]]) -> Outcome | Literal[""]:
    """Return what several experiments say together: what all that decide agree on.

    If one confirms and another does not, nothing is decided.
    """
    known = [outcome for outcome in outcomes if outcome]
    decided = {outcome for outcome in known if outcome != "cannot tell"}
    if len(decided) == 1:
        return decided.pop()
    return "cannot tell" if known else ""


def entries(claims: Iterable[Claim]) -> list[Entry]:
    """Put what is about the same claim into one row, in the order of first appearance."""
    groups: dict[tuple[str, str], list[Claim]] = {}
    for claim in claims:
        groups.setdefault((claim.place, claim.statement), []).append(claim)
    return [_entry(group) for group in groups.values()]


def _entry(claims: Sequence[Claim]) -> Entry:
    first = claims[0]
    verdicts = {claim.by_print for claim in claims if claim.by_print}
    if len(verdicts) > 1:
        raise ValueError(f"The same printed numbers cannot say {sorted(verdicts)}: {first.statement}")
    if len({claim.further for claim in claims}) > 1:
        raise ValueError(f"The paper claims it, or it does not: {first.statement}")
    return Entry(
        first.place,
        first.statement,
        _listed(claim.printed for claim in claims),
        verdicts.pop() if verdicts else "",
        tuple(claim for claim in claims if claim.design in PRINTED),
        tuple(claim for claim in claims if claim.design == "another"),
        _listed(claim.why for claim in claims),
        first.further,
    )


def _listed(texts: Iterable[str]) -> str:
    return "; ".join(dict.fromkeys(text.rstrip(".") for text in texts if text))


def _judged(claims: Sequence[Claim]) -> str:
    """Write the joint outcome of experiments, and what each found."""
    outcome = joined(claim.outcome for claim in claims)
    if not outcome:
        return ""
    smaller = " (smaller)" if any(claim.design == "smaller" for claim in claims) else ""
    return f"**{outcome}**{smaller}: " + "; ".join(claim.found for claim in claims)


def entries_table(rows: Sequence[Entry]) -> StudyTable:
    """Return one row per claim: place, claim, and a column per source of evidence."""
    cells: list[tuple[Cell, ...]] = [
        (
            row.place,
            row.statement,
            f"**{row.by_print}**: {row.printed}" if row.by_print else row.printed,
            _judged(row.printed_design),
            _judged(row.another_design),
            row.why,
        )
        for row in rows
    ]
    columns = (
        "where",
        "claim",
        "the printed numbers",
        "the printed design, run here",
        "another design, run here",
        "remarks",
    )
    return StudyTable("claims", "Claims", columns, cells)


def checks_table(rows: Sequence[Entry]) -> StudyTable:
    """Return our further checks: what no sentence of the paper claims."""
    cells: list[tuple[Cell, ...]] = [
        (
            row.place,
            row.statement,
            _listed(
                (
                    f"**{row.by_print}**: {row.printed}" if row.by_print else "",
                    _judged(row.printed_design),
                    _judged(row.another_design),
                )
            ),
            row.why,
        )
        for row in rows
    ]
    return StudyTable("checks", "Our further checks", ("about", "what", "found", "remarks"), cells)


@dataclasses.dataclass(frozen=True)
class Counts:
    """How many claims each source of evidence decides.

    Parameters
    ----------
    claims, tested : int
        All claims, and those that an experiment here was about.
    by_print, printed_design, another_design : mapping of outcome to int
        Outcomes by source.
    """

    claims: int
    tested: int
    by_print: Counter[str]
    printed_design: Counter[str]
    another_design: Counter[str]


def counted(rows: Iterable[Entry]) -> Counts:
    """Count the claims of the papers; checks of ours are left out."""
    main_rows = [row for row in rows if not row.further]

    def outcomes(words: Iterable[str]) -> Counter[str]:
        return Counter(outcome for outcome in words if outcome)

    return Counts(
        len(main_rows),
        sum(row.tested for row in main_rows),
        outcomes(row.by_print for row in main_rows),
        outcomes(joined(one.outcome for one in row.printed_design) for row in main_rows),
        outcomes(joined(one.outcome for one in row.another_design) for row in main_rows),
    )
