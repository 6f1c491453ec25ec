"""The part of an evaluation that members allow: what the model expects of its own statistics."""

from __future__ import annotations

import dataclasses

from credibly.evaluation.rows import PredictionSummary
from credibly.evaluation.stages import NOT_ASKED, Stage, Work
from credibly.evaluation.words import Verdict, verdicts
from credibly.hypotests import predictive_check
from credibly.hypotests.predictive.outcomes import has_members
from credibly.predictions import Rows
from credibly.results.predictive import PredictiveCheck
from credibly.statistics import Statistic

MOST_STATISTICS = 6


def _applies(rows: Rows, work: Work) -> str | None:
    if not work.tests or not work.statistics:
        return NOT_ASKED
    if not has_members(rows.sample.predictions):
        return "only averages are stored: which member drew the labels is lost"
    if rows.sample.predictions.n_members < 2:
        return "with one member it is the hypothesis of the calibration tests"
    return None if _cheap(work) else "no statistic that is a sum over instances was tested"


def _run(rows: Rows, work: Work) -> PredictiveCheck:
    grouped = work.single if work.found["groups"] else work.single.ungrouped()
    return predictive_check(
        *grouped.arguments,
        **grouped.also("groups"),
        statistics=_cheap(work),
        n_resamples=work.n_resamples,
        rng=work.seed,
        progress=lambda done, total: work.tell("predictive checks", done, total),
    )


def _cheap(work: Work) -> list[Statistic]:
    """Return the first statistics that were tested and are sums over instances."""
    tested = (one for one in work.statistics if one.name in (work.found["tests"] or ()))
    return [one for one in tested if one.traits.reduction == "sum"][:MOST_STATISTICS]


CHECK = Stage("check", _run, _applies, "predictive checks of the Bayesian hypothesis")


def check_verdicts(check: PredictiveCheck, facts: PredictionSummary, level: float) -> tuple[Verdict, ...]:
    """Return the answers under each hypothesis in words, worst first within each."""
    found = []
    for name, part in check.hypotheses.items():
        for verdict in verdicts(part.checks, facts, level):
            said = f"{name.capitalize()} hypothesis: {verdict.finding}"
            found.append(dataclasses.replace(verdict, finding=said))
    return tuple(found)
