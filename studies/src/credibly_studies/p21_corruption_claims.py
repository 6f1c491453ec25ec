"""Claims of the study of corrupted digits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from credibly._arrays.namespace import HostArray
from credibly.evaluation import shown
from credibly_studies.d21_mode_claims import over_repetitions
from credibly_studies.judging import above, denied, told
from credibly_studies.outcomes import Share, all_of, more_than
from credibly_studies.p21_claims import MORE_PASSES, SHIFT
from credibly_studies.p21_corruption_tables import ECE, READINGS, TABLE_4_CHECKS, Row, beyond, by_corruption
from credibly_studies.results import Claim, Outcome, StudyTable


def claims(rows: Sequence[Row]) -> list[Claim]:
    """Return what the groups say about P21's figures.

    P21's checks are of recalibrated models, and pass unless the value is beyond all replicates.
    """
    models = list(dict.fromkeys(row.model for row in rows))
    worst = max(row.severity for row in rows)
    changes = {name: _change(rows, name, worst) for name in ("accuracy", ECE)}
    return [
        Claim(
            "P21 Sec. 4.2, Fig. 6",
            "with severity accuracy falls and the calibration error grows, for every model",
            "drawn",
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
        ),
        *shift_claims(by_corruption(rows)),
        _recalibration_claim(rows),
    ]


def shift_claims(table: StudyTable) -> list[Claim]:
    """Return who passes the checks of corrupted images, as Table 4 counts them.

    Trainings see the same corrupted images, so corruptions are the cases, not trainings.
    """
    records = table.records()
    shares = {
        (check, reading): np.array(
            [row["passed"] for row in records if (row["check"], row["model"]) == (check, reading)]
        )
        for check in TABLE_4_CHECKS.values()
        for reading in READINGS
    }
    more = {
        check: over_repetitions(shares[check, "Bayesian"] - shares[check, "independent"])
        for check in TABLE_4_CHECKS.values()
    }
    dropout = {check: over_repetitions(shares[check, "MC dropout"]) for check in TABLE_4_CHECKS.values()}
    n = len(next(iter(shares.values())))
    verdicts = {check: above(ends) for check, (_, ends) in more.items()}
    return [
        Claim(
            *MORE_PASSES,
            "",
            f"digits, {n} corruptions, share of checks passed as one member minus that as the mean: "
            + "; ".join(f"{check} {told(*value)}, {verdicts[check]}" for check, value in more.items()),
            all_of(*verdicts.values()),
        ),
        Claim(
            *SHIFT,
            "",
            f"digits, {n} corruptions, share of checks passed: "
            + "; ".join(f"{check} {told(*value)}" for check, value in dropout.items()),
            all_of(*(above(ends, 0.5) for _, ends in dropout.values())),
            "small networks are sure about images unlike any they have seen: at severity 5 nothing passes",
        ),
    ]


def _recalibration_claim(rows: Sequence[Row]) -> Claim:
    """Return what recalibration does to checks of images as they are."""
    plain = [row for row in rows if not row.severity and (row.model, row.statistic) == ("deep ensemble", ECE)]
    bayesian, independent = (
        {
            variant: beyond([row for row in plain if (row.hypothesis, row.variant) == (name, variant)])
            for variant in ("raw", "recalibrated")
        }
        for name in ("bayesian", "independent")
    )
    return Claim(
        "P21 App. G.1, Fig. 9",
        "on uncorrupted images recalibration lets the Bayesian check of the calibration error pass, and "
        "the independent one still fails",
        "drawn",
        f"Bayesian fails in {bayesian['raw']} raw, {bayesian['recalibrated']} recalibrated; independent "
        f"{independent['raw']}, {independent['recalibrated']}",
        all_of(below_half(bayesian["recalibrated"]), more_than(independent["recalibrated"], 0.5)),
        "networks for digits make few errors on uncorrupted images: there is little to detect",
    )


def below_half(share: Share) -> Outcome:
    """Judge "in fewer than half of the cases"."""
    return denied(more_than(share, 0.5))


def member_claim(temperatures: Mapping[str, Sequence[HostArray]]) -> Claim:
    """Return how many members their own temperature makes more confident.

    Parameters
    ----------
    temperatures : mapping of str to sequence of ndarray
        Per model with members, of every training.

    Returns
    -------
    Claim
        About models with members.
    """
    shares = {
        model: Share(
            sum(int((one < 1).sum()) for one in temperature), sum(len(one) for one in temperature), "members"
        )
        for model, temperature in temperatures.items()
    }
    return Claim(
        "P21 App. G.1",
        "the temperatures make few of the members more confident",
        "few",
        "below 1 for " + ", ".join(f"{model} {share}" for model, share in shares.items()),
        all_of(*(below_half(share) for share in shares.values())),
        "with a few hundred held-out images the likelihood of the mean is largest when some members are "
        "certain; they end at the limit, 0.05",
    )


def _change(rows: Sequence[Row], statistic: str, worst: int) -> dict[str, tuple[float, float]]:
    """Return the mean value at severity 0 and at the worst, per recalibrated model."""
    found = {}
    for model in dict.fromkeys(row.model for row in rows):
        own = [
            row
            for row in rows
            if (row.model, row.variant, row.statistic) == (model, "recalibrated", statistic)
        ]
        first, last = (
            float(np.mean([row.value for row in own if row.severity == severity])) for severity in (0, worst)
        )
        found[model] = (first, last)
    return found


def _pair(changes: dict[str, tuple[float, float]], model: str) -> str:
    return " to ".join(map(shown, changes[model]))
