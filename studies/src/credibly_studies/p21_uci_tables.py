"""Tables and claims of the study of UCI data."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

import numpy as np

from credibly.evaluation import title
from credibly_studies.outcomes import Share, more_than
from credibly_studies.results import Cell, Claim, StudyTable

LEVEL = 0.05
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
        Mean squared error and CRPS of standardised data, and coverage of 95 % intervals.
    value : float
        The statistic, in standardised units.
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
    value: float
    paper_fails: bool
    fails: bool
    adjusted_fails: bool
    member_fails: bool
    direction: str


def tables(rows: Sequence[Row]) -> tuple[StudyTable, ...]:
    """Return failures by model over all data sets, failures by data set, and errors by data set."""
    return _by_model(rows), _by_data_set(rows), _errors(rows)


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


def _by_data_set(rows: Sequence[Row]) -> StudyTable:
    found: list[tuple[Cell, ...]] = []
    for (data, model, hypothesis), own in _grouped(rows, "data", "model", "hypothesis").items():
        by_name = {name: [row for row in own if row.statistic == name] for name in CALIBRATION}
        cells = [
            f"{share(part, rule).count} of {len(part)}"
            for part in by_name.values()
            for rule in ("paper_fails", "fails")
        ]
        found.append((data, model, hypothesis, *cells))
    columns = ("data", "model", "hypothesis", "coverage, P21", "coverage", "quantiles, P21", "quantiles")
    return StudyTable("failures-by-data", "Splits that fail, by data set", columns, found, on_page=False)


def _errors(rows: Sequence[Row]) -> StudyTable:
    """Mean over splits and its standard error; splits overlap, so the latter is too small."""
    found: list[tuple[Cell, ...]] = []
    for (data, model), own in _grouped(rows, "data", "model").items():
        splits = {row.split: row.values for row in own}.values()
        cells: list[float] = []
        for name in ("mse", "picp", "crps"):
            numbers = np.array([values[name] for values in splits])
            error = numbers.std(ddof=1) / np.sqrt(numbers.size) if numbers.size > 1 else np.nan
            cells += [float(numbers.mean()), float(error)]
        found.append((data, model, *cells))
    columns = ("data", "model", "MSE", "MSE error", "PICP", "PICP error", "CRPS", "CRPS error")
    heading = "Mean over splits and its standard error; PICP of 95 % intervals"
    return StudyTable("errors", heading, columns, found)


def claims(rows: Sequence[Row]) -> list[Claim]:
    """Return what the checks say about P21's sentences on calibration errors of uncertain models."""
    pairs = _pairs(rows)
    mistrust = [independent.fails and not bayesian.fails for bayesian, independent in pairs]
    trust = [bayesian.fails and not independent.fails for bayesian, independent in pairs]
    differ = [bayesian.fails != independent.fails for bayesian, independent in pairs]
    return [
        Claim(
            "P21 abstract, Tables 2-3",
            "calibration errors can lead to mistrust in good models: the independent check fails where the "
            "Bayesian check does not, more often than 5 %",
            "at least 133 and 28 of 280 printed checks",
            f"{_share(mistrust)}, models with members",
            more_than(_share(mistrust), LEVEL),
        ),
        Claim(
            "P21 abstract, Tables 2-3",
            "calibration errors can lead to trust in bad models: the Bayesian check fails where the "
            "independent check does not, more often than 5 %",
            "at least 133 and 28 of 280 printed checks",
            f"{_share(trust)}, models with members",
            more_than(_share(trust), LEVEL),
        ),
        Claim(
            "P21 abstract",
            "calibration error and its variants are almost always incorrect to use given model uncertainty: "
            "the two hypotheses disagree in most checks",
            "almost always",
            f"they disagree in {_share(differ)}",
            more_than(_share(differ), 0.5),
            "where members hardly disagree, as for ridge regression, both hypotheses are the same; and "
            "models that are wrong fail both",
        ),
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
