"""The sections about sets: a calibrated combination in them, and the distribution of labels itself."""

from __future__ import annotations

import numpy as np

from credibly._arrays.namespace import to_host
from credibly.evaluation import CredalParts, Evaluation, ValidityParts, shown, shown_range, title
from credibly.plots import Table
from credibly.plots.hypotests import NullDisplay
from credibly.plots.sets import RegionDisplay, ValidityDisplay
from credibly.report.html_parts import MethodNote, ReportFigure, Section, report_figure
from credibly.results.tests import CredalTestResult

_LISTED = 10
_QUESTIONS = {
    "learned": "weights that depend on the instance",
    "constant": "one weight vector for all instances",
}
CREDAL_METHOD = MethodNote(
    "Test of the set",
    "A set of distributions is in conflict with the labels only if no combination in it is calibrated. "
    "Weights on the points of the set are found from the labels: one vector for all instances, or weights "
    "that depend on the instance and are learned on one part of the data and tested on the other. Labels are "
    "then drawn from the combination that was found. The hypothesis is about combinations that such weights "
    "can represent.",
    "f(x) = sum_a w_a(x) P_a(x), w >= 0, sum w = 1",
    "Mortier et al., On the calibration of probabilistic classifier sets, AISTATS 2023; Jürgens et al., A "
    "calibration test for evaluating set-based epistemic uncertainty representations, 2025.",
)
VALIDITY_METHOD = MethodNote(
    "Test of the labels' distributions",
    "With several labels per instance the distribution of labels itself can be compared with the set, which "
    "is more than calibration asks. The deviance is 0 where the observed frequencies lie in the set. Labels "
    "are drawn where the set is hardest to reject; single instances are adjusted for all of them by the "
    "largest deviance.",
    "G = 2 n min over the set of KL(counts / n || p)",
    "Mimori et al., Diagnostic uncertainty calibration, AISTATS 2021.",
)


def credal_section(evaluation: Evaluation) -> Section | None:
    """Return the section about a calibrated combination, or None where predictions are no sets."""
    parts = evaluation.credal
    if parts is None:
        return None
    rows = tuple(_row(name, test) for name, test in parts.tests.items())
    columns = ("weights", "statistic", "value", "acceptance", "p-value", "heaviest weights")
    regions = parts.regions
    worst = tuple(
        (
            region,
            evaluation.classes[int(regions.classes[g])],
            shown(float(regions.predicted[g])),
            shown(float(regions.observed[g])),
            str(int(regions.sizes[g])),
            shown(float(regions.adjusted_pvalues[g])),
        )
        for g, region in enumerate(regions.regions[:_LISTED])
    )
    return Section(
        anchor="sets",
        title="Is there a calibrated distribution in the set?",
        finding="The mean of a set may fail where another combination in it fits. The one that fits best was "
        "looked for, and then tested.",
        verdicts=parts.verdicts,
        tables=(
            ("Combinations of the set", Table(columns, rows)),
            (
                "Largest local deviations of the combination, by region",
                Table(("region", "class", "predicted", "observed", "n", "adjusted p"), worst),
            ),
        ),
        figures=tuple(_figures(parts, evaluation)),
        methods=(CREDAL_METHOD,),
    )


def validity_section(evaluation: Evaluation) -> Section | None:
    """Return the section about the labels' distributions, or None where there is one label per instance."""
    parts = evaluation.validity
    if parts is None:
        return None
    test, rows = parts.test, _failing(parts)
    listed = Table(("row", "raters", "deviance", "p-value", "adjusted p"), rows)
    none = "" if rows else " No instance stands out by itself after adjustment for all of them."
    return Section(
        anchor="validity",
        title="Is the distribution of labels itself in the set?",
        finding=f"Frequencies of the raters' labels were compared with the set, instance by instance.{none}",
        verdicts=(parts.verdict,),
        tables=(("Instances that stand out after adjustment, worst first", listed),) if rows else (),
        figures=(
            report_figure(ValidityDisplay(test), "Deviance of every instance", "validity"),
            report_figure(
                NullDisplay(test), "Sum of deviances under the hypothesis", "validity-null", size=(4.4, 3.2)
            ),
        ),
        methods=(VALIDITY_METHOD,),
    )


def _row(name: str, test: CredalTestResult) -> tuple[str, ...]:
    means = np.asarray(test.weights).reshape(-1, len(test.weight_names)).mean(axis=0)
    heaviest = np.argsort(-means, kind="stable")[:3]
    return (
        _QUESTIONS[name],
        title(test.statistic_name),
        shown(test.statistic),
        shown_range(test.acceptance_region),
        shown(test.pvalue),
        ", ".join(f"{test.weight_names[a]} {shown(float(means[a]))}" for a in heaviest),
    )


def _figures(parts: CredalParts, evaluation: Evaluation) -> list[ReportFigure]:
    found = [
        report_figure(
            NullDisplay(test),
            f"The best combination under the hypothesis, {name} weights",
            f"sets-{name}",
            size=(4.4, 3.2),
        )
        for name, test in parts.tests.items()
        if test.null_distribution is not None
    ]
    display = RegionDisplay(parts.regions, evaluation.classes, evaluation.settings["level"])
    name = "Where the combination fails"
    found.append(report_figure(display, name, "sets-regions", size=(7.0, 3.6), margins=(3.4, 0.85, 0.1, 0.3)))
    return found


def _failing(parts: ValidityParts) -> tuple[tuple[str, ...], ...]:
    test = parts.test
    columns = (test.raters, test.deviance, test.pvalues, test.adjusted_pvalues)
    raters, *numbers = (to_host(column) for column in columns)
    return tuple(
        (str(int(row)), str(int(raters[row])), *(shown(float(column[row])) for column in numbers))
        for row in test.failing()[:_LISTED]
    )
