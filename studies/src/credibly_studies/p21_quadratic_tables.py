"""Tables and claims of the study of a quadratic with a gap."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

import numpy as np

from credibly._arrays.namespace import HostArray
from credibly.evaluation import title
from credibly_studies.outcomes import Share, all_of, more_than, near
from credibly_studies.results import Cell, Claim, StudyTable

LEVEL = 0.05
CALIBRATION = "quantile_calibration_error"


@dataclasses.dataclass(frozen=True)
class Check:
    """One check of one model on one data set.

    Parameters
    ----------
    model, hypothesis, region, statistic : str
        What was checked, and where.
    fails, certain : bool
        Two-sided p at most 5 %; P21's p is 0 or 1.
    """

    model: str
    hypothesis: str
    region: str
    statistic: str
    fails: bool
    certain: bool


def tables(checks: Sequence[Check], spread: Mapping[str, HostArray]) -> tuple[StudyTable, ...]:
    """Return failures on all test data, the spread of members, and failures within and outside the gap.

    Parameters
    ----------
    checks : sequence of Check
        Of all models and data sets.
    spread : mapping of str to ndarray (data sets, 2)
        Spread of the members' means in the gap and where data were.

    Returns
    -------
    tuple of StudyTable
        The last one is not for the page.
    """
    rows: list[tuple[Cell, ...]] = []
    for key in dict.fromkeys(map(_key, checks)):
        own = [one for one in checks if _key(one) == key]
        fails, certain = (
            Share(sum(getattr(one, rule) for one in own), len(own)) for rule in ("fails", "certain")
        )
        model, hypothesis, region, statistic = key
        rows.append((model, hypothesis, region, title(statistic), fails.rate, fails.interval, certain.rate))
    columns = ("model", "hypothesis", "where", "check", "fails", "interval", "p is 0 or 1")
    whole = [row for row in rows if row[2] == "all"]
    heading = f"Share of data sets whose check fails at level {LEVEL:g}"
    return (
        StudyTable("rates", heading, columns, whole),
        _spreads(spread),
        StudyTable("rates-by-region", f"{heading}, by region", columns, rows, on_page=False),
    )


def _spreads(spread: Mapping[str, HostArray]) -> StudyTable:
    rows = []
    for name, values in spread.items():
        wider = _wider(values)
        rows.append(
            (name, float(values[:, 0].mean()), float(values[:, 1].mean()), wider.rate, wider.interval)
        )
    columns = ("model", "in the gap", "where data were", "wider in the gap", "interval")
    return StudyTable("spread", "Spread of the members' means, averaged over data sets", columns, rows)


def _wider(spread: HostArray) -> Share:
    return Share(int((spread[:, 0] > spread[:, 1]).sum()), len(spread))


def claims(checks: Sequence[Check], spread: Mapping[str, HostArray]) -> list[Claim]:
    """Return what the checks say about P21's figures.

    Parameters
    ----------
    checks : sequence of Check
        Of all models and data sets.
    spread : mapping of str to ndarray (data sets, 2)
        Spread of the members' means in the gap and where data were.

    Returns
    -------
    list of Claim
        Claims with outcomes.
    """

    def outcomes(model: str, hypothesis: str) -> HostArray:
        key = (model, hypothesis, "all", CALIBRATION)
        return np.array([one.fails for one in checks if _key(one) == key])

    def failing(model: str, hypothesis: str) -> Share:
        failed = outcomes(model, hypothesis)
        return Share(int(failed.sum()), len(failed))

    exact = {name: failing("exact posterior", name) for name in ("bayesian", "independent")}
    found = [
        Claim(
            "P21 Figs. 3-5, Table 1",
            "calibration error mistrusts a good model: of the exact posterior the independent check fails, "
            "the Bayesian check has its level",
            "not at hand",
            f"independent {exact['independent']}, Bayesian {exact['bayesian']}",
            all_of(more_than(exact["independent"], LEVEL), near(exact["bayesian"], LEVEL)),
        )
    ]
    for model in ("ensemble", "dropout"):
        bayesian, independent = outcomes(model, "bayesian"), outcomes(model, "independent")
        only = Share(int((independent & ~bayesian).sum()), len(bayesian))
        reverse = Share(int((bayesian & ~independent).sum()), len(bayesian))
        found.append(
            Claim(
                "P21 Figs. 3-5, Table 1",
                f"{model}: the two hypotheses give different answers; only the independent check fails",
                "not at hand",
                f"only the independent check fails in {only}, only the Bayesian in {reverse}; "
                f"the Bayesian check fails in {failing(model, 'bayesian')}",
                more_than(only, LEVEL),
            )
        )
    per_instance = "dropout, mask per instance"
    same = outcomes(per_instance, "bayesian") == outcomes(per_instance, "independent")
    found.append(
        Claim(
            "P21 section 3",
            "labels of one member per instance are labels of the mean prediction: with a mask per instance "
            "dropout has no functions, and the Bayesian check becomes the independent one",
            "not at hand",
            f"with a mask per instance the same answer in {Share(int(same.sum()), same.size)}",
            more_than(Share(int(same.sum()), same.size), 0.5),
        )
    )
    for name, values in spread.items():
        if name not in ("exact posterior", "ensemble", "dropout"):
            continue
        wider = _wider(values)
        found.append(
            Claim(
                "P21 Figs. 4 and 10",
                f"{name}: members disagree more in the gap than where data were",
                "not at hand",
                f"in {wider}",
                more_than(wider, 0.5),
                "dropout's spread follows the size of the activations, not the data"
                if name == "dropout"
                else "",
            )
        )
    return found


def _key(check: Check) -> tuple[str, str, str, str]:
    return check.model, check.hypothesis, check.region, check.statistic
