"""Tables and the figure of the study of corrupted digits."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

import numpy as np

from credibly.evaluation import title
from credibly.plots import Picture
from credibly_studies.judging import Interval
from credibly_studies.outcomes import Share
from credibly_studies.p21_printed import CORRUPTIONS, TABLE_4
from credibly_studies.pictures import intervals_picture
from credibly_studies.results import Cell, StudyTable

LEVEL = 0.05
ECE = "confidence_ece"
TABLE_4_CHECKS = {ECE: "ECE", "accuracy": "accuracy"}
"""Statistics, and what P21's Table 4 calls them."""

READINGS = {
    "independent": ("deep ensemble", "independent"),
    "Bayesian": ("deep ensemble", "bayesian"),
    "MC dropout": ("dropout", "bayesian"),
}
"""Rows of P21's Table 4: model and hypothesis."""


@dataclasses.dataclass(frozen=True)
class Row:
    """One statistic of one model in one group.

    Parameters
    ----------
    model, variant : str
        Which model, raw or recalibrated.
    repetition : int
        Which training.
    hypothesis, kind, statistic : str
        What was checked, and on which corruption.
    severity : int
        0 for images as they are.
    value, expected, sharpness : float
        Observed, mean of the replicates, and distance between their 5 % and 95 % quantiles.
    pvalue, paper, member : float
        Two-sided, P21's share of replicates below, and counting the truth as one more member.
    """

    model: str
    variant: str
    repetition: int
    hypothesis: str
    kind: str
    severity: int
    statistic: str
    value: float
    expected: float
    sharpness: float
    pvalue: float
    paper: float
    member: float

    @property
    def fails(self) -> bool:
        """Two-sided p at most 5 %."""
        return self.pvalue <= LEVEL

    @property
    def certain(self) -> bool:
        """P21's p is 0 or 1."""
        return self.paper in (0.0, 1.0)


def tables(rows: Sequence[Row]) -> tuple[StudyTable, ...]:
    """Return values by severity, passes beside Table 4 and by corruption, failures, and conflicts."""
    return _values(rows), _passes(rows), by_corruption(rows), _by_severity(rows), _counts(rows)


def _values(rows: Sequence[Row]) -> StudyTable:
    names = list(dict.fromkeys(row.statistic for row in rows))
    cells: list[tuple[Cell, ...]] = []
    keys = dict.fromkeys((row.model, row.variant, row.severity) for row in _ordered(rows))
    for key in keys:
        matching = [row for row in rows if (row.model, row.variant, row.severity) == key]
        observed = [
            float(np.mean([row.value for row in matching if row.statistic == name])) for name in names
        ]
        cells.append((*key, *observed))
    heading = "Mean over corruptions and trainings"
    return StudyTable("values", heading, ("model", "variant", "severity", *map(title, names)), cells)


def shifted_checks(rows: Sequence[Row], statistic: str, reading: str) -> list[Row]:
    """Return checks of one recalibrated model on corrupted images, in the same order for all readings."""
    key = (*READINGS[reading], "recalibrated", statistic)
    return [
        row for row in rows if row.severity and (row.model, row.hypothesis, row.variant, row.statistic) == key
    ]


def _passes(rows: Sequence[Row]) -> StudyTable:
    """Return the shares of groups that pass by P21's rule, ours and printed, by severity."""
    severities = sorted({row.severity for row in rows if row.severity})
    cells: list[tuple[Cell, ...]] = []
    for statistic, check in TABLE_4_CHECKS.items():
        for reading in READINGS:
            checks = shifted_checks(rows, statistic, reading)
            ours = [
                1.0 - beyond([row for row in checks if row.severity == severity]).rate
                for severity in severities
            ]
            printed = [TABLE_4[check][reading][severity - 1] / CORRUPTIONS for severity in severities]
            cells += [(check, reading, "here", *ours), (check, reading, "printed", *printed)]
    columns = ("check", "model", "whose", *(f"severity {severity}" for severity in severities))
    heading = "Share of groups that pass, as in Table 4: recalibrated models, not beyond all replicates"
    return StudyTable("passes", heading, columns, cells)


def by_corruption(rows: Sequence[Row]) -> StudyTable:
    """Return which share of the trainings passes, by corruption and severity."""
    cells: list[tuple[Cell, ...]] = []
    for statistic, check in TABLE_4_CHECKS.items():
        for reading in READINGS:
            checks = shifted_checks(rows, statistic, reading)
            for key in dict.fromkeys((row.kind, row.severity) for row in checks):
                passed = [not row.certain for row in checks if (row.kind, row.severity) == key]
                cells.append((check, reading, *key, len(passed), float(np.mean(passed))))
    columns = ("check", "model", "corruption", "severity", "trainings", "passed")
    title = "Share of the trainings that pass, recalibrated models"
    return StudyTable("corruptions", title, columns, cells, on_page=False, in_json=True)


def _by_severity(rows: Sequence[Row]) -> StudyTable:
    cells: list[tuple[Cell, ...]] = []
    for key in dict.fromkeys(map(_key, _ordered(rows))):
        matching = [row for row in rows if _key(row) == key]
        model, variant, hypothesis, statistic, severity = key
        fails = failing(matching)
        cells.append(
            (
                model,
                variant,
                hypothesis,
                title(str(statistic)),
                severity,
                *(float(np.mean([getattr(row, name) for row in matching])) for name in ("value", "expected")),
                float(np.mean([row.sharpness for row in matching])),
                fails.rate,
                fails.interval,
                sum(row.certain for row in matching) / len(matching),
                sum(row.member <= LEVEL for row in matching) / len(matching),
            )
        )
    columns = ("model", "variant", "hypothesis", "check", "severity", "observed", "expected", "sharpness")
    rules = ("fails", "interval", "p is 0 or 1", "counting the truth")
    heading = "Share of groups (corruptions and trainings) whose check fails, by severity"
    return StudyTable("severities", heading, columns + rules, cells, on_page=False)


def _ordered(rows: Sequence[Row]) -> list[Row]:
    """Return rows with severities in order, and models as they came."""
    models = list(dict.fromkeys(row.model for row in rows))
    return sorted(rows, key=lambda row: (models.index(row.model), row.variant != "raw", row.severity))


def failures_picture(rows: Sequence[Row]) -> Picture:
    """Return how often the check of the calibration error fails, against severity.

    Parameters
    ----------
    rows : sequence of Row
        All models; those as trained are shown.

    Returns
    -------
    Picture
        One series per model and hypothesis; models without members have one.
    """
    severities = sorted({row.severity for row in rows})
    lines: dict[str, Mapping[str, tuple[float, Interval | None]]] = {}
    for model in dict.fromkeys(row.model for row in rows):
        hypotheses = ("independent",) if model == "single network" else ("bayesian", "independent")
        for hypothesis in hypotheses:
            key = (model, "raw", hypothesis, ECE)
            matching = [row for row in rows if _key(row)[:4] == key]
            shares = {
                severity: failing([row for row in matching if row.severity == severity])
                for severity in severities
            }
            named: dict[str, tuple[float, Interval | None]]
            named = {
                f"severity {severity}": (share.rate, share.interval) for severity, share in shares.items()
            }
            lines[f"{model}, {hypothesis}"] = named
    return intervals_picture(f"Rejections at level {LEVEL:g}", "share of data sets rejected", lines)


def failing(rows: Sequence[Row]) -> Share:
    """Return how many checks fail, whatever P21's rule says."""
    return Share(sum(row.fails for row in rows), len(rows), "groups")


def beyond(rows: Sequence[Row]) -> Share:
    """Return how many checks fail by P21's rule: the value is beyond all replicates."""
    return Share(sum(row.certain for row in rows), len(rows), "groups")


def _key(row: Row) -> tuple[str, str, str, str, int]:
    return row.model, row.variant, row.hypothesis, row.statistic, row.severity


def _counts(rows: Sequence[Row]) -> StudyTable:
    """Return the shares of groups that fail: all severities together, corrupted images only."""
    cells: list[tuple[Cell, ...]] = []
    corrupted = [row for row in rows if row.severity]
    for key in dict.fromkeys(_key(row)[:4] for row in corrupted):
        matching = [row for row in corrupted if _key(row)[:4] == key]
        fails = failing(matching)
        certain = sum(row.certain for row in matching) / len(matching)
        cells.append((*key[:3], title(key[3]), len(matching), fails.rate, fails.interval, certain))
    columns = ("model", "variant", "hypothesis", "check", "groups", "fails", "interval", "p is 0 or 1")
    heading = f"Share of groups of corrupted images whose check fails at level {LEVEL:g}"
    return StudyTable("counts", heading, columns, cells)
