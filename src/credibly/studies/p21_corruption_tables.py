"""Tables and claims of the study of corrupted digits."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

import numpy as np

from credibly.evaluation import shown, title
from credibly.plots import DistanceDisplay
from credibly.studies.outcomes import Share, all_of, larger, more_than
from credibly.studies.results import Cell, Claim, StudyTable

LEVEL = 0.05
ECE = "confidence_ece"


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
    pvalue, adjusted, paper, member : float
        Two-sided, adjusted over groups and statistics, P21's share of replicates below, and counting the
        truth as one more member.
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
    adjusted: float
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

    @property
    def conflict(self) -> bool:
        """Adjusted p at most 5 %."""
        return self.adjusted <= LEVEL


def tables(rows: Sequence[Row]) -> tuple[StudyTable, ...]:
    """Return values by severity, failures by severity, and counts of conflicts."""
    return _values(rows), _by_severity(rows), _counts(rows)


def _values(rows: Sequence[Row]) -> StudyTable:
    names = list(dict.fromkeys(row.statistic for row in rows))
    found: list[tuple[Cell, ...]] = []
    keys = dict.fromkeys((row.model, row.variant, row.severity) for row in _ordered(rows))
    for key in keys:
        own = [row for row in rows if (row.model, row.variant, row.severity) == key]
        observed = [float(np.mean([row.value for row in own if row.statistic == name])) for name in names]
        found.append((*key, *observed))
    heading = "Mean over corruptions and trainings"
    return StudyTable("values", heading, ("model", "variant", "severity", *map(title, names)), found)


def _by_severity(rows: Sequence[Row]) -> StudyTable:
    found: list[tuple[Cell, ...]] = []
    for key in dict.fromkeys(map(_key, _ordered(rows))):
        own = [row for row in rows if _key(row) == key]
        model, variant, hypothesis, statistic, severity = key
        fails = _failing(own)
        found.append(
            (
                model,
                variant,
                hypothesis,
                title(str(statistic)),
                severity,
                *(float(np.mean([getattr(row, name) for row in own])) for name in ("value", "expected")),
                float(np.mean([row.sharpness for row in own])),
                fails.rate,
                fails.interval,
                sum(row.certain for row in own) / len(own),
                sum(row.conflict for row in own) / len(own),
                sum(row.member <= LEVEL for row in own) / len(own),
            )
        )
    columns = ("model", "variant", "hypothesis", "check", "severity", "observed", "expected", "sharpness")
    rules = ("fails", "interval", "p is 0 or 1", "adjusted", "counting the truth")
    heading = "Share of groups (corruptions and trainings) whose check fails, by severity"
    return StudyTable("severities", heading, columns + rules, found, on_page=False)


def _ordered(rows: Sequence[Row]) -> list[Row]:
    """Return rows with severities in order, and models as they came."""
    models = list(dict.fromkeys(row.model for row in rows))
    return sorted(rows, key=lambda row: (models.index(row.model), row.variant != "raw", row.severity))


def failures_display(rows: Sequence[Row]) -> DistanceDisplay:
    """Return how often the check of the calibration error fails, against severity.

    Parameters
    ----------
    rows : sequence of Row
        All models; those as trained are shown.

    Returns
    -------
    DistanceDisplay
        One line per model and hypothesis; models without members have one.
    """
    severities = sorted({row.severity for row in rows})
    lines: dict[str, list[Share]] = {}
    for model in dict.fromkeys(row.model for row in rows):
        hypotheses = ("independent",) if model == "single network" else ("bayesian", "independent")
        for hypothesis in hypotheses:
            key = (model, "raw", hypothesis, ECE)
            own = [row for row in rows if _key(row)[:4] == key]
            lines[f"{model}, {hypothesis}"] = [
                _failing([row for row in own if row.severity == severity]) for severity in severities
            ]
    ends = np.array([[share.interval for share in own] for own in lines.values()])
    return DistanceDisplay(
        setting="severity",
        values=np.array(severities, dtype=float),
        worlds=tuple(f"severity {one}" for one in severities),
        tests=tuple(lines),
        level=LEVEL,
        rates=np.array([[share.rate for share in own] for own in lines.values()]),
        low=ends[..., 0],
        high=ends[..., 1],
    )


def _failing(rows: Sequence[Row]) -> Share:
    return Share(sum(row.fails for row in rows), len(rows), "groups")


def _key(row: Row) -> tuple[str, str, str, str, int]:
    return row.model, row.variant, row.hypothesis, row.statistic, row.severity


def _counts(rows: Sequence[Row]) -> StudyTable:
    """Return the shares of groups that fail: all severities together, corrupted images only."""
    found: list[tuple[Cell, ...]] = []
    corrupted = [row for row in rows if row.severity]
    for key in dict.fromkeys(_key(row)[:4] for row in corrupted):
        own = [row for row in corrupted if _key(row)[:4] == key]
        fails = _failing(own)
        rates = [sum(getattr(row, rule) for row in own) / len(own) for rule in ("certain", "conflict")]
        found.append((*key[:3], title(key[3]), len(own), fails.rate, fails.interval, *rates))
    columns = ("model", "variant", "hypothesis", "check", "groups", "fails", "interval", "p is 0 or 1")
    heading = f"Share of groups of corrupted images whose check fails at level {LEVEL:g}"
    return StudyTable("counts", heading, (*columns, "adjusted"), found)


def claims(rows: Sequence[Row]) -> list[Claim]:
    """Return what the groups say about P21's figures; numbers of groups, not of images."""
    models = list(dict.fromkeys(row.model for row in rows))
    worst = max(row.severity for row in rows)

    def failing(model: str, hypothesis: str, variant: str = "raw", severity: int | None = None) -> Share:
        own = [
            row
            for row in rows
            if (row.model, row.hypothesis, row.variant, row.statistic) == (model, hypothesis, variant, ECE)
            and (row.severity > 0 if severity is None else row.severity == severity)
        ]
        return _failing(own)

    changes = {name: _change(rows, name, worst) for name in ("accuracy", ECE)}
    found = [
        Claim(
            "P21 Fig. 6",
            "with severity accuracy falls and the calibration error grows, for every model",
            "not at hand",
            f"severity 0 to {worst}: "
            + "; ".join(
                f"{model} accuracy {_pair(changes['accuracy'], model)}, ECE {_pair(changes[ECE], model)}"
                for model in models
            ),
            "confirmed"
            if all(
                changes["accuracy"][model][0] > changes["accuracy"][model][1]
                and changes[ECE][model][0] < changes[ECE][model][1]
                for model in models
            )
            else "not confirmed",
        )
    ]
    found += [
        Claim(
            "P21 Fig. 7, Table 4",
            f"{model}: calibration errors that the independent check rejects are expected by a model whose "
            "members disagree, so its Bayesian check fails in fewer groups",
            "not at hand",
            f"independent {failing(model, 'independent')}, Bayesian {failing(model, 'bayesian')}",
            larger(failing(model, "independent"), failing(model, "bayesian")),
        )
        for model in models
        if model != "single network"
    ]
    single, ensemble = failing("single network", "bayesian"), failing("deep ensemble", "bayesian")
    found += [
        Claim(
            "P21 Fig. 7, Table 4",
            "an ensemble knows more about corruption than one network: its Bayesian check fails less often",
            "not at hand",
            f"single network {single}, ensemble {ensemble}",
            larger(single, ensemble),
        ),
        Claim(
            "P21 Fig. 7, Table 4",
            "under the strongest corruption no model expects its calibration error",
            "not at hand",
            "; ".join(
                f"{model} {failing(model, 'bayesian', severity=worst)} fail at severity {worst}"
                for model in models
            ),
            all_of(*(more_than(failing(model, "bayesian", severity=worst), LEVEL) for model in models)),
        ),
        Claim(
            "P21 Fig. 9",
            "recalibration makes the Bayesian check of the ensemble fail less often (one temperature, fitted on "
            "images as they are)",
            "not at hand",
            f"raw {ensemble}, recalibrated {failing('deep ensemble', 'bayesian', 'recalibrated')}",
            larger(ensemble, failing("deep ensemble", "bayesian", "recalibrated")),
            "a temperature learned where nothing was corrupted does not know how far members are off elsewhere",
        ),
    ]
    return found


def member_claim(fitted: Mapping[str, Sequence[bool]]) -> Claim:
    """Return whether one temperature per member can be fitted to the likelihood of the mean.

    Parameters
    ----------
    fitted : mapping of str to sequence of bool
        Per model, of every training.

    Returns
    -------
    Claim
        About models with members.
    """
    shares = {
        model: Share(sum(found), len(found), "trainings")
        for model, found in fitted.items()
        if model != "single network"
    }
    together = Share(sum(one.count for one in shares.values()), sum(one.total for one in shares.values()))
    return Claim(
        "P21 Appendix G",
        "one temperature per member that maximises the likelihood of the mean prediction can be fitted",
        "not at hand",
        "it can for " + ", ".join(f"{model} {share}" for model, share in shares.items()),
        more_than(together, 0.5),
        "some members are best at temperature 0: a few hundred held-out images leave the likelihood of the mean "
        "without a maximum, and one temperature for all is used here",
    )


def _change(rows: Sequence[Row], statistic: str, worst: int) -> dict[str, tuple[float, float]]:
    """Return the mean value at severity 0 and at the worst, per model as trained."""
    found = {}
    for model in dict.fromkeys(row.model for row in rows):
        own = [row for row in rows if (row.model, row.variant, row.statistic) == (model, "raw", statistic)]
        first, last = (
            float(np.mean([row.value for row in own if row.severity == severity])) for severity in (0, worst)
        )
        found[model] = (first, last)
    return found


def _pair(changes: dict[str, tuple[float, float]], model: str) -> str:
    return " to ".join(map(shown, changes[model]))
