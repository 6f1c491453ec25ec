"""Tables and claims of the study of UCI data."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

import numpy as np

from credibly.evaluation import shown, title
from credibly_studies.judging import holds
from credibly_studies.outcomes import Share, all_of, any_of, more_than
from credibly_studies.p21_claims import ALWAYS, COVERAGE, ENERGY, MISTRUST, ORDER, TRUST, WEAK, WORST, YACHT
from credibly_studies.p21_printed import NOMINAL, RIDGE, SEEDS, SQR, TABLES_2_3, Printed, agreeing_pairs
from credibly_studies.results import Cell, Claim, Outcome, StudyTable
from credibly_studies.study import Tables

Rows2 = Mapping[str, Printed]
"""One data set of Tables 2 and 3, by model."""

Tables2 = Mapping[str, Rows2]
"""By data set and model."""


class UciLike(Protocol):
    """A size that knows its splits."""

    @property
    def splits(self) -> int:
        """How many splits there are."""


LEVEL = 0.05
DROPOUT = "MC dropout"
EXPECTED = ("concrete", "kin8nm", "power-plant", "wine-quality-red")
"""Where P21 finds the calibration error of dropout the worst, and expected."""

CALIBRATION = ("picp", "quantile_calibration_error")


@dataclasses.dataclass(frozen=True)
class Row:
    """One check of one model on the test part of one split.

    Parameters
    ----------
    data, model : str
        Which data set and model.
    split : int
        Which split.
    hypothesis, statistic : str
        What was checked.
    values : mapping of str to float
        Mean squared error of standardised data, coverage of 95 % intervals, and calibration error.
    paper_fails, fails, adjusted_fails, member_fails : bool
        Beyond the quantiles of the replicates, as in P21's Tables 2-3; two-sided p at most 5 %, as it is,
        adjusted over the statistics, and counting the truth as one more member.
    direction : str
        On which side of the replicates the observation lies.
    """

    data: str
    model: str
    split: int
    hypothesis: str
    statistic: str
    values: Mapping[str, float]
    paper_fails: bool
    fails: bool
    adjusted_fails: bool
    member_fails: bool
    direction: str


def tables(rows: Sequence[Row], chosen: Mapping[tuple[str, str], str]) -> tuple[StudyTable, ...]:
    """Return Tables 2 and 3 with the printed numbers beside ours, and failures by model."""
    return _printed_beside(rows, chosen), _by_model(rows)


def _printed_beside(rows: Sequence[Row], chosen: Mapping[tuple[str, str], str]) -> StudyTable:
    lines: list[tuple[Cell, ...]] = []
    for (data, model), matching in _grouped(rows, "data", "model").items():
        values = list({row.split: row.values for row in matching}.values())
        mse, coverage, error = (
            float(np.mean([value[name] for value in values])) for name in ("mse", "picp", "calibration")
        )
        printed = TABLES_2_3.get(data, {}).get(model)
        cells = [_passes(matching, name) for name in CALIBRATION]
        theirs: tuple[Cell, ...] = (None,) * 5
        if printed is not None:
            theirs = (
                printed.mse,
                printed.picp,
                _brackets(printed.picp_passes),
                printed.calibration,
                _brackets(printed.calibration_passes),
            )
        ours: tuple[Cell, ...] = (mse, coverage, cells[0], error, cells[1])
        pairs = [cell for pair in zip(ours, theirs, strict=True) for cell in pair]
        lines.append((data, model, *pairs, chosen.get((data, model), "")))
    names = ("MSE", "PICP", "PICP passes", "calibration error", "calibration passes")
    columns = [column for name in names for column in (name, f"{name}, printed")]
    splits = len({row.split for row in rows})
    heading = (
        f"Tables 2 and 3: means over splits; passes of {splits} (printed: of {SEEDS}), Bayesian (independent)"
    )
    return StudyTable("models", heading, ("data", "model", *columns, "setting"), lines)


def _passes(rows: Sequence[Row], statistic: str) -> str:
    """Return how many splits pass: of models with members, by the Bayesian (and the independent) check."""
    by_name = _grouped([row for row in rows if row.statistic == statistic], "hypothesis")
    return _brackets(tuple(sum(not row.paper_fails for row in own) for own in by_name.values()))


def _brackets(passes: Sequence[int]) -> str:
    first, *other = map(str, passes)
    return f"{first} ({other[0]})" if other else first


def _by_model(rows: Sequence[Row]) -> StudyTable:
    cells = []
    for (model, hypothesis, statistic), matching in _grouped(
        rows, "model", "hypothesis", "statistic"
    ).items():
        ours = share(matching, "fails")
        cells.append(
            (
                model,
                hypothesis,
                title(statistic),
                len(matching),
                share(matching, "paper_fails").rate,
                ours.rate,
                ours.interval,
                share(matching, "adjusted_fails").rate,
                share(matching, "member_fails").rate,
                float(np.mean([row.direction == "above" for row in matching])),
            )
        )
    columns = (
        "model",
        "hypothesis",
        "check",
        "splits",
        "fails, P21",
        "fails",
        "interval",
        "adjusted",
        "counting the truth",
        "above",
    )
    note = "Share of splits that fail, all data sets together (the interval takes splits as independent)"
    return StudyTable("failures", note, columns, cells)


FAR = 0.1
"""If the PICP of a baseline is further than this from the printed one, its data set says nothing."""

DIVERGED = 5.0
"""If the mean squared error of a baseline is more than so many times the printed one, likewise."""


def says_nothing(tables: Tables) -> dict[str, str]:
    """Return data sets whose baselines were not trained to what is printed, and the first such model."""
    reasons: dict[str, str] = {}
    for row in tables["models"]:
        if row["model"] in (DROPOUT, RIDGE) or row["PICP, printed"] is None:
            continue
        off = abs(row["PICP"] - row["PICP, printed"]) > FAR or row["MSE"] > DIVERGED * row["MSE, printed"]
        if off:
            reasons.setdefault(row["data"], row["model"])
    return reasons


def _printed_form(tables: Tables) -> dict[str, dict[str, Printed]]:
    """Return our numbers as the paper prints its own, by data set and model."""
    printed: dict[str, dict[str, Printed]] = {}
    for row in tables["models"]:
        counts = [
            tuple(int(part.strip("() ")) for part in str(row[name]).split(" "))
            for name in ("PICP passes", "calibration passes")
        ]
        printed.setdefault(row["data"], {})[row["model"]] = Printed(
            row["MSE"], row["PICP"], counts[0], row["calibration error"], counts[1]
        )
    return printed


def claims(tables: Tables, size: UciLike) -> list[Claim]:
    """Return what the checks say about P21's sentences, on the data sets that say something."""
    silent = says_nothing(tables)
    everything = _printed_form(tables)
    telling = {data: rows for data, rows in everything.items() if data not in silent and DROPOUT in rows}
    why = "say nothing: " + ", ".join(f"{data} ({model})" for data, model in silent.items()) if silent else ""
    return [*_both_ways(telling, size, why), _orders(telling, why), *_bullets(everything, telling, why)]


def _both_ways(telling: Tables2, size: UciLike, why: str) -> list[Claim]:
    """Return what it changes to read dropout as one of its members: lower bounds from counts of passes."""
    gaps = [
        bayesian - independent
        for rows in telling.values()
        for bayesian, independent in (rows[DROPOUT].picp_passes, rows[DROPOUT].calibration_passes)
    ]
    total = size.splits * len(gaps)
    mistrust, trust = (Share(sum(max(sign * gap, 0) for gap in gaps), total, "checks") for sign in (1, -1))
    differ = Share(mistrust.count + trust.count, total, "checks")
    where = f"{', '.join(telling) or 'no data set'}: at least"

    def existing(found: Share) -> Outcome:
        return any_of(more_than(found, LEVEL)) if found.total else "cannot tell"

    def told(found: Share, words: str) -> str:
        return f"{where} {found.count} of {found.total} checks {words}"

    return [
        Claim(
            *MISTRUST,
            "",
            told(mistrust, "pass under the Bayesian hypothesis only"),
            existing(mistrust),
            why,
        ),
        Claim(
            *TRUST,
            "",
            told(trust, "pass under the independent hypothesis only"),
            existing(trust),
            "one case would be enough, and none denies it",
        ),
        Claim(
            *ALWAYS,
            "",
            told(differ, "differ between the hypotheses"),
            "confirmed" if total and differ.interval[0] > ALMOST else "cannot tell",
            "a lower bound",
        ),
    ]


ALMOST = 0.9
"""A share above this is called almost always."""


def _orders(telling: Tables2, why: str) -> Claim:
    alone, mixed = (agreeing_pairs(telling, dropout=dropout) for dropout in (False, True))
    pairs = Share(alone[0], sum(alone), "pairs")
    return Claim(
        *ORDER,
        "",
        f"{', '.join(telling) or 'no data set'}: {alone[0]} pairs of models agree, {alone[1]} differ; "
        f"with MC dropout {mixed[0]} and {mixed[1]}",
        more_than(pairs, 0.5) if pairs.total else "cannot tell",
        why,
    )


def _bullets(everything: Tables2, telling: Tables2, why: str) -> list[Claim]:
    """Return App. A's other items, each on the data sets that it names."""

    def judged(
        claim: tuple[str, str], names: Sequence[str], rule: Callable[[Rows2], bool], words: str
    ) -> Claim:
        outcomes: list[Outcome] = [
            holds([rule(telling[name])]) if name in telling else "cannot tell" for name in names
        ]
        text = "; ".join(f"{name} {_dropout(everything[name])}" for name in names if name in everything)
        return Claim(*claim, "", f"{words}: {text or 'not run'}", all_of(*outcomes), why)

    def worst(rows: Rows2) -> bool:
        return rows[DROPOUT].calibration == max(row.calibration for row in rows.values())

    def expected(passes: tuple[int, ...]) -> bool:
        return passes[0] > SEEDS / 2

    dropout = "dropout's calibration error with passes, PICP with passes"
    return [
        judged(
            WORST,
            EXPECTED,
            lambda rows: worst(rows) and expected(rows[DROPOUT].calibration_passes),
            dropout,
        ),
        judged(
            COVERAGE,
            ("concrete", "power-plant"),
            lambda rows: (
                rows[DROPOUT].picp == min(row.picp for row in rows.values())
                and expected(rows[DROPOUT].picp_passes)
            ),
            dropout,
        ),
        judged(
            WEAK,
            ("kin8nm", "wine-quality-red"),
            lambda rows: rows[DROPOUT].picp < NOMINAL - FAR and not expected(rows[DROPOUT].picp_passes),
            dropout,
        ),
        judged(
            ENERGY,
            ("energy",),
            lambda rows: (
                rows[DROPOUT].calibration < rows[SQR].calibration
                and rows[DROPOUT].calibration_passes[0] < rows[SQR].calibration_passes[0]
            ),
            dropout,
        ),
        judged(
            YACHT,
            ("yacht",),
            lambda rows: all(
                rows[DROPOUT].picp_passes[0] < row.picp_passes[0]
                for model, row in rows.items()
                if model != DROPOUT
            ),
            dropout,
        ),
    ]


def _dropout(rows: Rows2) -> str:
    row = rows.get(DROPOUT)
    if row is None:
        return "not run"
    return (
        f"{shown(row.calibration)}, {_brackets(row.calibration_passes)}, {shown(row.picp)}, "
        f"{_brackets(row.picp_passes)}"
    )


def share(rows: Sequence[Row], rule: str) -> Share:
    """Return how many rows fail by a rule."""
    return _share([bool(getattr(row, rule)) for row in rows])


def _share(cases: Sequence[bool]) -> Share:
    return Share(sum(cases), len(cases), "checks")


def _grouped(rows: Sequence[Row], *names: str) -> dict[tuple[str, ...], list[Row]]:
    groups: dict[tuple[str, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault(tuple(getattr(row, name) for name in names), []).append(row)
    return groups
