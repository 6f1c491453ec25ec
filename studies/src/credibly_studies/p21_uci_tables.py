"""Tables and claims of the study of UCI data."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

import numpy as np

from credibly.evaluation import title
from credibly_studies.judging import holds
from credibly_studies.outcomes import Share, more_than
from credibly_studies.p21_printed import SEEDS, TABLES_2_3
from credibly_studies.results import Cell, Claim, StudyTable

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
    found: list[tuple[Cell, ...]] = []
    for (data, model), own in _grouped(rows, "data", "model").items():
        values = list({row.split: row.values for row in own}.values())
        mse, coverage, error = (
            float(np.mean([one[name] for one in values])) for name in ("mse", "picp", "calibration")
        )
        printed = TABLES_2_3.get(data, {}).get(model)
        cells = [_passes(own, name) for name in CALIBRATION]
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
        found.append((data, model, *pairs, chosen.get((data, model), "")))
    names = ("MSE", "PICP", "PICP passes", "calibration error", "calibration passes")
    columns = [column for name in names for column in (name, f"{name}, printed")]
    splits = len({row.split for row in rows})
    heading = (
        f"Tables 2 and 3: means over splits; passes of {splits} (printed: of {SEEDS}), Bayesian (independent)"
    )
    return StudyTable("models", heading, ("data", "model", *columns, "setting"), found)


def _passes(rows: Sequence[Row], statistic: str) -> str:
    """Return how many splits pass: of models with members, by the Bayesian (and the independent) check."""
    by_name = _grouped([row for row in rows if row.statistic == statistic], "hypothesis")
    return _brackets(tuple(sum(not row.paper_fails for row in own) for own in by_name.values()))


def _brackets(passes: Sequence[int]) -> str:
    first, *other = map(str, passes)
    return f"{first} ({other[0]})" if other else first


def _by_model(rows: Sequence[Row]) -> StudyTable:
    found = []
    for (model, hypothesis, statistic), own in _grouped(rows, "model", "hypothesis", "statistic").items():
        ours = share(own, "fails")
        found.append(
            (
                model,
                hypothesis,
                title(statistic),
                len(own),
                share(own, "paper_fails").rate,
                ours.rate,
                ours.interval,
                share(own, "adjusted_fails").rate,
                share(own, "member_fails").rate,
                float(np.mean([row.direction == "above" for row in own])),
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
    return StudyTable("failures", note, columns, found)


def claims(rows: Sequence[Row]) -> list[Claim]:
    """Return what the checks say about P21's sentences on calibration errors of uncertain models."""
    pairs = _pairs(rows)
    return [*(_both_ways(pairs) if pairs else ()), *_worst_but_expected(rows)]


def _both_ways(pairs: Sequence[tuple[Row, Row]]) -> list[Claim]:
    """Return what it changes to read a model as one of its members."""
    mistrust = [independent.paper_fails and not bayesian.paper_fails for bayesian, independent in pairs]
    trust = [bayesian.paper_fails and not independent.paper_fails for bayesian, independent in pairs]
    differ = [bayesian.paper_fails != independent.paper_fails for bayesian, independent in pairs]
    return [
        Claim(
            "P21 abstract, App. A, Tables 2-3",
            "calibration errors can lead to mistrust in good models: the independent check fails where the "
            "Bayesian check does not, more often than 5 %",
            "at least 133 of 280 printed checks",
            f"{_share(mistrust)} of MC dropout",
            more_than(_share(mistrust), LEVEL),
            by_print="confirmed",
        ),
        Claim(
            "P21 abstract, App. A, Tables 2-3",
            "calibration errors can lead to trust in bad models: the Bayesian check fails where the "
            "independent check does not, more often than 5 %",
            "at least 28 of 280 printed checks",
            f"{_share(trust)} of MC dropout",
            more_than(_share(trust), LEVEL),
            by_print="confirmed",
        ),
        Claim(
            "P21 abstract, Tables 2-3",
            "calibration error and its variants are almost always incorrect to use given model uncertainty: "
            "the two hypotheses disagree in most checks",
            "at least 161 of 280 printed checks",
            f"they disagree in {_share(differ)}",
            more_than(_share(differ), 0.5),
            by_print="confirmed",
        ),
    ]


def _worst_but_expected(rows: Sequence[Row]) -> list[Claim]:
    """Return what became of App. A's second item, on the data sets it names that are there."""
    errors = {
        key: float(np.mean([row.values["calibration"] for row in own]))
        for key, own in _grouped(rows, "data", "model").items()
    }
    named = [name for name in EXPECTED if (name, DROPOUT) in errors]
    if not named:
        return []
    worst = [
        name
        for name in named
        if errors[name, DROPOUT] == max(one for (data, _), one in errors.items() if data == name)
    ]
    passes = {
        name: share(
            [
                row
                for row in rows
                if (row.data, row.model, row.hypothesis, row.statistic)
                == (name, DROPOUT, "bayesian", CALIBRATION[1])
            ],
            "paper_fails",
        )
        for name in named
    }
    expected = [name for name in named if passes[name].rate < 0.5]
    told = ", ".join(f"{name} {one.total - one.count} of {one.total}" for name, one in passes.items())
    return [
        Claim(
            "P21 App. A, Tables 2-3",
            "on concrete, kin8nm, power and wine MC dropout has the largest calibration error of all models, "
            "and it is what dropout expects",
            "1.1, 2.0, 4.3 and 20 of 20 passes (kin8nm not at hand)",
            f"largest on {len(worst)} of {len(named)} sets; passes {told}",
            holds([len(worst) == len(expected) == len(named)]),
            by_print="confirmed",
        )
    ]


def share(rows: Sequence[Row], rule: str) -> Share:
    """Return how many rows fail by a rule."""
    return _share([bool(getattr(row, rule)) for row in rows])


def _share(cases: Sequence[bool]) -> Share:
    return Share(sum(cases), len(cases), "checks")


def _pairs(rows: Sequence[Row]) -> list[tuple[Row, Row]]:
    """Return calibration checks under both hypotheses, of models with members."""
    groups = _grouped(rows, "data", "model", "split", "statistic")
    found = []
    for (*_, statistic), own in groups.items():
        by_name = {row.hypothesis: row for row in own}
        if statistic in CALIBRATION and {"bayesian", "independent"} <= by_name.keys():
            found.append((by_name["bayesian"], by_name["independent"]))
    return found


def _grouped(rows: Sequence[Row], *names: str) -> dict[tuple[str, ...], list[Row]]:
    groups: dict[tuple[str, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault(tuple(getattr(row, name) for name in names), []).append(row)
    return groups
