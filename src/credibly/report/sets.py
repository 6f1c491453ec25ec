"""The sections about sets: the truth and a calibrated combination in them, labels, coverage, ignorance."""

from __future__ import annotations

from typing import Any

import numpy as np

from credibly._arrays.namespace import to_host
from credibly._arrays.notes import counted
from credibly.evaluation import CredalParts, Evaluation, IgnoranceParts, ValidityParts, shown, title
from credibly.evaluation.words import at_level
from credibly.plots import Table, picture
from credibly.report.html_parts import MethodNote, ReportFigure, Section, numbers_table, report_figure
from credibly.results.coverage import SetCoverage
from credibly.results.credal import CredalDetails, WeightsDetails
from credibly.results.ignorance import Ignorance
from credibly.results.tests import HypotestResult

_LISTED = 10
_QUESTIONS = {
    "learned": "weights that depend on the instance",
    "constant": "one weight vector for all instances",
}
WITNESS_METHOD = MethodNote(
    "Witness test of the set",
    "If the truth is in the set at every instance, no function of instance and class can exceed, on "
    "average, the maximum that the set allows. Such functions are learned from the labels of other "
    "instances, and the tail of their sum is computed at the worst distribution of every set. So the test "
    "holds its level for every truth in the set, whether or not weights could have been learned. The exact "
    "p-value, 1 divided by an e-value, has less power.",
    "E[v(x, y) - max over the set of sum_c p_c v(x, c)] <= 0",
    "Grünwald, de Heide and Koolen, Safe testing, JRSS B 2024.",
)
CREDAL_METHOD = MethodNote(
    "Test of the set",
    "The hypothesis of the papers: some combination in the set is calibrated. A set that contains the "
    "truth contains such a combination, so with learned weights a conflict also requires the witness test "
    "to reject. Weights on the points of the set are estimated from the labels: one vector for all "
    "instances, or weights "
    "that depend on the instance and are learned on one part of the data and tested on the other. Labels are "
    "then drawn from the combination that was found. The hypothesis is about combinations that such weights "
    "can represent.",
    "f(x) = sum_a w_a(x) P_a(x), w >= 0, sum w = 1",
    "Mortier et al., On the calibration of probabilistic classifier sets, AISTATS 2023; Jürgens et al., A "
    "calibration test for evaluating set-based epistemic uncertainty representations, 2025.",
)
VALIDITY_METHOD = MethodNote(
    "Test of the labels' distributions",
    "With several labels per instance the distribution of labels itself can be compared with the set, "
    "which is a stronger requirement than calibration. The raters' evidence is summed over all instances: "
    "how much more probable a label is in view of the other raters than the set allows. Its mean is at "
    "most 0 if the truth is anywhere in the set. Single instances are judged by their deviance, which is 0 "
    "if the observed frequencies lie in the set, and adjusted for all instances by the largest deviance. "
    "Labels are drawn from the distribution in the set that is hardest to reject.",
    "S = sum over raters of g(y) / pi(y) - 1,  G = 2 n min over the set of KL(counts / n || p)",
    "Mimori et al., Diagnostic uncertainty calibration, AISTATS 2021.",
)


_SECOND = (
    " The second question is about the combinations in the set that fit best: is one of them calibrated?"
)


def credal_section(parts: CredalParts, evaluation: Evaluation) -> Section:
    """Return the section about the truth and a calibrated combination in the set."""
    tests = _of_weights(parts, evaluation.settings["level"])
    regions = parts.regions
    tables = [("What the witness said, and what happened", _witness_table(parts, evaluation))]
    if tests:
        columns: dict[str, Any] = {
            "weights": [_QUESTIONS[name] for name in tests],
            "statistic": [title(test.statistic_name) for test in tests.values()],
            "value": [test.statistic for test in tests.values()],
            "acceptance": [test.acceptance_region for test in tests.values()],
            "p-value": [test.pvalue for test in tests.values()],
            "heaviest weights": map(_heaviest, tests.values()),
        }
        tables.append(("Combinations of the set", Table.of(columns)))
    if regions is not None:
        worst = slice(_LISTED)
        columns = {
            "region": regions.regions[worst],
            "class": [parts.classes[int(place)] for place in regions.classes[worst]],
            "predicted": regions.predicted[worst],
            "observed": regions.observed[worst],
            "n": map(int, regions.sizes[worst]),
            "adjusted p": regions.adjusted_pvalues[worst],
        }
        tables.append(("Largest local deviations of the combination, by region", Table.of(columns)))
    return Section(
        anchor="sets",
        title="Does the set contain the truth?",
        finding=(
            "A witness, a function learned on other instances, looked for classes that occur more or "
            "less often than any distribution in the set allows." + (_SECOND if parts.tests else "")
        ),
        verdicts=parts.verdicts,
        tables=tuple(tables),
        figures=tuple(_figures(parts, evaluation)),
        methods=(WITNESS_METHOD, CREDAL_METHOD),
    )


def validity_section(parts: ValidityParts, evaluation: Evaluation) -> Section:
    """Return the section about the labels' distributions."""
    test, details = parts.test, parts.test.details
    rows = np.asarray(details.failing(evaluation.settings["level"])[:_LISTED])
    listed = Table.of(
        {
            "row": map(int, rows),
            "raters": [int(number) for number in to_host(details.raters)[rows]],
            "deviance": to_host(details.deviance)[rows],
            "p-value": to_host(details.pvalues)[rows],
            "adjusted p": to_host(details.adjusted_pvalues)[rows],
        }
    )
    none = "" if rows.size else " No single instance stands out after adjustment for all instances."
    return Section(
        anchor="validity",
        title="Is the distribution of labels itself in the set?",
        finding=f"Frequencies of the raters' labels were compared with the set, instance by instance.{none}",
        verdicts=(parts.verdict,),
        tables=(("Instances that stand out after adjustment, worst first", listed),) if rows.size else (),
        figures=(
            report_figure(picture(test, "instances"), "Deviance of every instance", "validity"),
            report_figure(
                picture(test, "null", acceptance=parts.verdict.limit),
                "Sum of the raters' evidence under the hypothesis",
                "validity-null",
                size=(4.4, 3.2),
            ),
        ),
        methods=(VALIDITY_METHOD,),
    )


def _witness_table(parts: CredalParts, evaluation: Evaluation) -> Table:
    """Return the directions of the witness, the clearest first."""
    directions = parts.validity.details.directions[:_LISTED]
    return Table.of(
        {
            "class": [parts.classes[direction.label] for direction in directions],
            "said to happen": ["more often" if direction.more else "less often" for direction in directions],
            "n": [direction.n for direction in directions],
            "the set allows": [(direction.lower, direction.upper) for direction in directions],
            "observed": [direction.observed for direction in directions],
            "standard deviations": [direction.score for direction in directions],
        }
    )


def _heaviest(test: HypotestResult[WeightsDetails]) -> str:
    names = test.details.weight_names
    means = np.asarray(test.details.weights).reshape(-1, len(names)).mean(axis=0)
    heaviest = np.argsort(-means, kind="stable")[:3]
    return ", ".join(f"{names[a]} {shown(float(means[a]))}" for a in heaviest)


def _of_weights(parts: CredalParts, level: float) -> dict[str, HypotestResult[WeightsDetails]]:
    """Return the tests of combinations by themselves: the witness has a p-value of its own."""
    tests = {}
    for name, test in parts.tests.items():
        weights = test.details.calibration if isinstance(test.details, CredalDetails) else None
        tests[name] = at_level(test if weights is None else weights, level)
    return tests


def _figures(parts: CredalParts, evaluation: Evaluation) -> list[ReportFigure]:
    figures, level = [], evaluation.settings["level"]
    if parts.validity.details.directions:
        points = picture(parts.validity, "witness", class_names=parts.classes)
        name, margins = "Where the witness points", (1.75, 0.85, 0.35, 0.3)
        figures.append(report_figure(points, name, "sets-witness", size=(4.8, 3.8), margins=margins))
    figures += [
        report_figure(
            picture(test, "null"),
            f"The best combination under the hypothesis, {name} weights",
            f"sets-{name}",
            size=(4.4, 3.2),
        )
        for name, test in _of_weights(parts, level).items()
        if test.null_distribution is not None
    ]
    if parts.regions is None:
        return figures
    regions = picture(parts.regions, class_names=parts.classes, level=level)
    name = "Where the combination fails"
    margins = (3.4, 0.85, 0.1, 0.3)
    figures.append(report_figure(regions, name, "sets-regions", size=(7.0, 3.6), margins=margins))
    return figures


CLAIMS_METHOD = MethodNote(
    "Coverage of sets",
    "If the claim is true for every size, group and feature, whether a set contains its label is a coin "
    "toss with the claimed probability; replicates are such coin tosses. The p-value for the average "
    "coverage is the exact binomial one. "
    "Parts are compared by a chi-square statistic over sizes, or groups; a ridge regression on other folds "
    "predicts from features which labels are missed.",
    "h = 1[label in set],  P(h = 1 | size, group, features) = claimed",
    "Romano, Sesia and Candès, Classification with valid and adaptive coverage, NeurIPS 2020; "
    "Angelopoulos and Bates, A gentle introduction to conformal prediction, 2021.",
)


def claims_section(claims: SetCoverage, evaluation: Evaluation) -> Section:
    """Return the section about what sets with a claimed coverage hold."""
    drawn = picture(claims)
    size, room = (5.4, 1.6 + 0.26 * len(drawn.columns["part"])), (1.7, 1.0, 0.2, 0.3)
    name = "Observed and claimed coverage"
    return Section(
        anchor="claims",
        title=f"Do the {claims.kind} contain as many labels as they claim?",
        finding=drawn.finding,
        tables=(("Coverage in parts of the instances", drawn.table()),),
        figures=(report_figure(drawn, name, "claims", size=size, margins=room),),
        methods=(CLAIMS_METHOD,),
    )


IGNORANCE_METHOD = MethodNote(
    "Stated and supported ignorance",
    "Stated ignorance is the variance of the class probabilities under the prediction. Two labels of an "
    "instance show, without bias, how far its distribution of labels lies from the predicted mean; with one "
    "label every split of the uncertainty fits equally well. For the test, labels are drawn from the "
    "prediction: a member or a distribution of the Dirichlet first, then as many labels as were observed. "
    "Three statistics share these replicates, and the smallest of their ranks decides.",
    "supported = mean over pairs of labels of ⟨e_y − μ, e_y' − μ⟩",
    "Ahdritz et al., Provable uncertainty decomposition via higher-order calibration, ICLR 2025.",
)


def ignorance_section(parts: IgnoranceParts, evaluation: Evaluation) -> Section:
    """Return the section about stated and supported ignorance."""
    ignorance = parts.stated
    few, many = ignorance.labels
    labels = f"{few}" if few == many else f"{few} to {many}"
    numbers = {
        "stated ignorance: variance of the class probabilities": ignorance.stated,
        "supported by pairs of labels": ignorance.supported,
        "of that, a mean that is off": ignorance.mean_part,
        "stated, as a share of the uncertainty": ignorance.stated_share,
        "supported, as a share of the uncertainty": ignorance.supported_share,
    }
    drawn, caption = (
        picture(ignorance),
        "How ignorant it says that it is, and how ignorant labels show it to be",
    )
    return Section(
        anchor="ignorance",
        title="Stated and supported ignorance",
        finding=f"{counted(ignorance.n, 'instance')} with {labels} labels each.",
        tables=(
            (caption, numbers_table(numbers)),
            ("Tests of the spread and of the mean", _tests(ignorance, parts.repaired)),
        ),
        figures=(
            report_figure(
                drawn, "Stated against supported ignorance", "ignorance-sizes", margins=(0.75, 1.0, 0.1, 0.3)
            ),
        ),
        methods=(IGNORANCE_METHOD,),
    )


def _tests(ignorance: Ignorance, repaired: Ignorance | None) -> Table:
    tests = {
        "supported minus stated ignorance": ignorance.test.components["pair_gap"],
        "spread score (above 0: stated too narrow)": ignorance.test.components["spread_score"],
        "spread score, given the prediction": ignorance.test.components["local_spread_score"],
        "all three together": ignorance.test,
        "the mean, on one label per instance": ignorance.mean_test,
    }
    if repaired is not None:
        tests["the first and the third, after the repair"] = repaired.test
    single = [not test.components for test in tests.values()]
    parts = list(zip(tests.values(), single, strict=True))
    return Table.of(
        {
            "what is tested": tests,
            "observed": [test.statistic if alone else "" for test, alone in parts],
            "acceptance": [test.acceptance_region if alone else "" for test, alone in parts],
            "p": [test.pvalue for test in tests.values()],
            "adjusted p": [test.deciding_pvalue for test in tests.values()],
        }
    )
