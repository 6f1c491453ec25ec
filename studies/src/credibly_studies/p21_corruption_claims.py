"""Claims of the study of corrupted digits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from credibly.evaluation import shown
from credibly_studies.outcomes import Share, all_of, more_often, more_than
from credibly_studies.p21_corruption_tables import ECE, LEVEL, Row, failing
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
            f"independent {failing(checks(model, 'independent'))}, Bayesian "
            f"{failing(checks(model, 'bayesian'))}",
            fewer(checks(model, "independent"), checks(model, "bayesian")),
        )
        for model in models
        if model != "single network"
    ]
    single, ensemble = checks("single network", "bayesian"), checks("deep ensemble", "bayesian")
    after = checks("deep ensemble", "bayesian", "recalibrated")
    strongest = {
        model: failing([row for row in checks(model, "bayesian") if row.severity == worst])
        for model in models
    }
    found += [
        Claim(
            "P21 Fig. 7, Table 4",
            "an ensemble knows more about corruption than one network: its Bayesian check fails less often",
            "not at hand",
            f"single network {failing(single)}, ensemble {failing(ensemble)}",
            fewer(single, ensemble),
        ),
        Claim(
            "P21 Fig. 7, Table 4",
            "under the strongest corruption no model expects its calibration error",
            "not at hand",
            f"at severity {worst} fail "
            + "; ".join(f"{model} {share}" for model, share in strongest.items()),
            all_of(*(more_than(share, LEVEL) for share in strongest.values())),
        ),
        Claim(
            "P21 Fig. 9",
            "recalibration makes the Bayesian check of the ensemble fail less often (one temperature, fitted "
            "on images as they are)",
            "not at hand",
            f"raw {failing(ensemble)}, recalibrated {failing(after)}",
            fewer(ensemble, after),
            "a temperature learned on images as they are does not know how far members are off elsewhere",
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
        "some members are best at temperature 0: a few hundred held-out images leave the likelihood of the "
        "mean without a maximum, and one temperature for all is used here",
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
