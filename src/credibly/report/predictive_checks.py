"""The section about predictive checks: does the model expect what its own statistics show?"""

from __future__ import annotations

import numpy as np

from credibly.evaluation import Evaluation, shown, shown_range, title
from credibly.plots import Table
from credibly.plots.hypotests import CheckDisplay, GroupGridDisplay, MemberHistogramDisplay
from credibly.report.html_parts import MethodNote, ReportFigure, Section, report_figure
from credibly.results.predictive import HypothesisCheck, PredictiveCheck

_MEMBER_COLUMN = "p counting the truth as a member"
_COLUMNS = (
    "statistic",
    "observed",
    "acceptance",
    "p",
    "95 % Monte-Carlo interval",
    "adjusted p",
    "side",
    "P21's p",
    "sharpness",
    "effect size",
    _MEMBER_COLUMN,
    "verdict",
)
METHOD = MethodNote(
    "Predictive checks",
    "Labels are drawn from the model itself, and its statistics are computed on them: where the observed "
    "value lies among these replicates says whether the model expected it. Bayesian: one member draws the "
    "labels of all instances. Independent: every label comes from the mean prediction. Both are two-sided, "
    "because a statistic that is too good contradicts a model too. Sharpness is the distance between the "
    "5 % and 95 % quantiles of the replicates: a wide ensemble accepts nearly anything.",
    "p = 2 min over both sides of (1 + #{replicates at least as extreme}) / (1 + number of replicates)",
    "Gopal, Why calibration error is wrong given model uncertainty, 2021.",
)


def check_section(check: PredictiveCheck, evaluation: Evaluation) -> Section:
    """Return the section about what the model expects of its own statistics."""
    level = float(evaluation.settings["level"])
    tables = [
        (f"{part.name.capitalize()}: {part.hypothesis}", _table(part, level))
        for part in check.hypotheses.values()
    ]
    if check.factors:
        tables += [
            (f"Groups by verdict, {name}", _group_counts(check, name, level)) for name in check.hypotheses
        ]
    return Section(
        anchor="checks",
        title="Predictive checks: is this what the model expects?",
        finding=_finding(check, level),
        verdicts=tuple(
            one
            for one in evaluation.answers["check"]
            if one.word != "no conflict found"  # these stand in the tables, with all their numbers
        ),
        tables=tuple(tables),
        figures=tuple(_figures(check, level)),
        methods=(METHOD,),
    )


def _finding(check: PredictiveCheck, level: float) -> str:
    said = []
    for part in check.hypotheses.values():
        words = [one.verdict(level) for one in part.checks.values()]
        counts = ", ".join(f"{words.count(word)} {word}" for word in dict.fromkeys(sorted(words)))
        said.append(f"{part.name.capitalize()} hypothesis ({part.hypothesis}): {counts}.")
    return " ".join([*said, *check.limits])


def _table(part: HypothesisCheck, level: float) -> Table:
    rows = []
    for name, one in part.checks.items():
        error = "" if one.pvalue_interval is None else shown_range(one.pvalue_interval)
        rows.append(
            (
                title(name),
                shown(one.statistic),
                shown_range(one.acceptance_region),
                shown(one.pvalue),
                error,
                "" if one.adjusted_pvalue is None else shown(one.adjusted_pvalue),
                one.direction,
                shown(one.paper_pvalue),
                shown(one.sharpness),
                shown(one.effect_size),
                "" if one.member_pvalue is None else shown(one.member_pvalue),
                one.verdict(level),
            )
        )
    return Table(_COLUMNS, tuple(rows))


def _group_counts(check: PredictiveCheck, hypothesis: str, level: float) -> Table:
    counts = check.count_verdicts(level, hypothesis)
    words = list(next(iter(counts.values())))
    rows = tuple((title(name), *(str(own[word]) for word in words)) for name, own in counts.items())
    return Table(("statistic", *words), rows)


def _figures(check: PredictiveCheck, level: float) -> list[ReportFigure]:
    lines = len(check.statistics) * len(check.hypotheses)
    found = [
        report_figure(
            CheckDisplay(check),
            "What the model expects, and what was observed",
            "check-strip",
            size=(7.2, 1.45 + 0.29 * lines),
            margins=(2.5, 1.0 + 0.03 * lines, 1.5, 0.3),  # the key stands lower below taller axes
        )
    ]
    worst = min(check.checks.values(), key=lambda one: one.deciding_pvalue).statistic_name
    if check.bayesian is not None and _drawable(check, worst):
        name = "Replicates by the member that drew them"
        found.append(
            report_figure(MemberHistogramDisplay(check, worst), name, "check-members", size=(4.6, 3.4))
        )
    if 1 <= len(check.factors) <= 2 and check.checks:
        name = "Predictive checks within groups"
        found.append(report_figure(GroupGridDisplay(check, worst, level=level), name, "check-groups"))
    return found


def _drawable(check: PredictiveCheck, statistic: str) -> bool:
    null = check.checks[statistic].null_distribution
    return null is not None and bool(np.isfinite(null).any())
