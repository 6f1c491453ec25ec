"""Claims of the study of corrupted digits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from credibly._arrays.namespace import HostArray
from credibly.evaluation import shown
from credibly_studies.judging import denied
from credibly_studies.outcomes import Share, all_of, more_often, more_than
from credibly_studies.p21_corruption_tables import ECE, Row, failing
from credibly_studies.results import Claim, Outcome


def claims(rows: Sequence[Row]) -> list[Claim]:
    """Return what the groups say about P21's figures; numbers of groups, not of images."""
    models = list(dict.fromkeys(row.model for row in rows))
    worst = max(row.severity for row in rows)

    def checks(model: str, hypothesis: str, variant: str = "raw") -> list[Row]:
        """Return checks of the calibration error of corrupted images, groups in the same order for all."""
        key = (model, hypothesis, variant, ECE)
        return [
            row
            for row in rows
            if row.severity and (row.model, row.hypothesis, row.variant, row.statistic) == key
        ]

    def fewer(before: list[Row], after: list[Row]) -> Outcome:
        return more_often([row.fails for row in before], [row.fails for row in after])

    changes = {name: _change(rows, name, worst) for name in ("accuracy", ECE)}
    found = [
        Claim(
            "P21 Fig. 6",
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
        )
    ]
    found += [
        Claim(
            "P21 Fig. 7, Table 4",
            f"{model}: calibration errors that the independent check rejects are expected by a model whose "
            "members disagree, so its Bayesian check fails in fewer groups",
            "drawn",
            f"independent {failing(checks(model, 'independent'))}, Bayesian "
            f"{failing(checks(model, 'bayesian'))}",
            fewer(checks(model, "independent"), checks(model, "bayesian")),
        )
        for model in models
        if model != "single network"
    ]
    plain = {
        variant: [
            row
            for row in rows
            if not row.severity and (row.model, row.variant, row.statistic) == ("deep ensemble", variant, ECE)
        ]
        for variant in ("raw", "recalibrated")
    }
    bayesian, independent = (
        {variant: failing([row for row in own if row.hypothesis == name]) for variant, own in plain.items()}
        for name in ("bayesian", "independent")
    )
    found += [
        Claim(
            "P21 App. G.1, Fig. 9",
            "on uncorrupted images recalibration lets the Bayesian check of the calibration error pass, and "
            "the independent one still fails",
            "drawn",
            f"Bayesian fails in {bayesian['raw']} raw, {bayesian['recalibrated']} recalibrated; independent "
            f"{independent['raw']}, {independent['recalibrated']}",
            all_of(below_half(bayesian["recalibrated"]), more_than(independent["recalibrated"], 0.5)),
            "Networks of digits make few errors on images as they are: there is little to be found out.",
        ),
    ]
    return found


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
        model: Share(sum(int((one < 1).sum()) for one in own), sum(len(one) for one in own), "members")
        for model, own in temperatures.items()
    }
    return Claim(
        "P21 App. G.1",
        "the temperatures make few of the members more confident",
        "few",
        "below 1 for " + ", ".join(f"{model} {share}" for model, share in shares.items()),
        all_of(*(below_half(share) for share in shares.values())),
        "with a few hundred held-out images the likelihood of the mean is largest where some members are "
        "certain; they end at the limit, 0.05",
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
