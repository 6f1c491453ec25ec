"""The part of an evaluation that members allow: what the model expects of its own statistics."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from credibly._arrays.philox import Seed
from credibly.evaluation.results import PredictionSummary
from credibly.evaluation.stages import Progress, Reasons
from credibly.evaluation.verdict import Verdict
from credibly.evaluation.words import verdicts
from credibly.hypotests import predictive_check
from credibly.hypotests.predictive.outcomes import has_members
from credibly.predictions import Rows
from credibly.results.predictive import PredictiveCheck
from credibly.statistics import Statistic

MOST_STATISTICS = 6
_WHAT = "predictive checks of the Bayesian hypothesis"


def check_part(
    rows: Rows, chosen: Sequence[Statistic], n_resamples: int, seed: Seed, tell: Progress
) -> tuple[PredictiveCheck | None, Reasons]:
    """Return the check of the first cheap statistics under both hypotheses, or why there is none."""
    if not has_members(rows.sample.predictions):
        return None, [(_WHAT, "only averages are stored: which member drew the labels is lost")]
    if rows.sample.predictions.n_members < 2:
        return None, [(_WHAT, "with one member it is the hypothesis of the calibration tests")]
    cheap = [one for one in chosen if one.traits.reduction == "sum"][:MOST_STATISTICS]
    if not cheap:
        return None, [(_WHAT, "no statistic that is a sum over instances was tested")]
    check = predictive_check(
        *rows.arguments,
        **rows.also("groups"),
        statistics=cheap,
        n_resamples=n_resamples,
        rng=seed,
        progress=lambda done, total: tell("predictive checks", done, total),
    )
    return check, []


def check_verdicts(check: PredictiveCheck, facts: PredictionSummary, level: float) -> tuple[Verdict, ...]:
    """Return the answers under each hypothesis in words, worst first within each."""
    found = []
    for name, part in check.hypotheses.items():
        for verdict in verdicts(part.checks, facts, level):
            said = f"{name.capitalize()} hypothesis: {verdict.finding}"
            found.append(dataclasses.replace(verdict, finding=said))
    return tuple(found)
