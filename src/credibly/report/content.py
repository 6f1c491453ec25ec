"""What a report says: facts, key numbers, tables, figures, method notes, the command that makes it again."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import PurePath
from typing import Any

import numpy as np

from credibly._arrays.errors import UnsupportedError
from credibly._arrays.notes import capital, counted
from credibly.evaluation import Evaluation, Finding, Part, shown, shown_range, title
from credibly.evaluation.sentences import repair_name
from credibly.evaluation.stages import mean_gap
from credibly.evaluation.tidy import of_one_number
from credibly.evaluation.words import at_level, crps_in_words
from credibly.plots import Table, picture, worst_first
from credibly.report.html_parts import (
    MethodNote,
    ReportFigure,
    Section,
    has_replicates,
    instances_text,
    numbers_table,
    report_figure,
    seed_text,
)
from credibly.results.curves import CorpCurve, ReliabilityCurve
from credibly.results.decompositions import CrpsDecomposition
from credibly.results.numbers import percent, tenths
from credibly.results.tests import HypotestResult

GENERAL = (
    MethodNote(
        "Calibration test",
        "Labels are drawn many times from the predictions themselves, which stay fixed (consistency "
        "resampling). The test is exact for any number of instances. The observed labels count "
        "as one of the draws.",
        "p = (1 + #{replicates at least as extreme}) / (1 + number of replicates)",
        "Bröcker and Smith, Increasing the reliability of reliability diagrams, Weather and Forecasting, "
        "2007; Vaicenavicius et al., Evaluating model calibration in classification, AISTATS 2019.",
    ),
    MethodNote(
        "Acceptance region",
        "The values that the test would not reject. A wide region accepts nearly everything, so finding no "
        "conflict is weak evidence of calibration.",
        "",
        "",
    ),
    MethodNote(
        "Adjusted p-value",
        "All statistics share their replicates; the adjusted p-value says how often the smallest of all "
        "their p-values would be as small by chance. It decides the verdict, so the probability of any "
        "false conflict among all statistics is at most the level.",
        "share of replicates whose smallest p ≤ own p",
        "Westfall and Young, Resampling-based multiple testing, Wiley 1993.",
    ),
)
RELIABILITY = MethodNote(
    "Reliability diagram",
    "Observed frequencies by isotonic regression: the best increasing function of the prediction, which "
    "needs no bins. The band of chance shows where the curves of labels drawn from the predictions lie. "
    "The other band contains the whole true curve with the stated confidence, for any number of instances, "
    "provided that the true curve is increasing.",
    "minimise Σ (event − r(p))² over increasing r",
    "Dimitriadis, Gneiting and Jordan, Stable reliability diagrams for probabilistic classifiers, PNAS, "
    "2021; Dimitriadis et al., Honest calibration assessment for binary outcome predictions, Biometrika, "
    "2023.",
)
DECOMPOSITION = MethodNote(
    "Calibration and refinement loss",
    "The Brier score, split into what recalibration could remove and what it cannot, using bins of every "
    "class's probability. The sampling noise of the bins is subtracted, so the calibration loss may be "
    "slightly negative.",
    "Brier = calibration + refinement",
    "Murphy, Journal of Applied Meteorology, 1973; DeGroot and Fienberg, The Statistician, 1983; Kumar, "
    "Liang and Ma, NeurIPS 2019.",
)

CRPS_DECOMPOSITION = MethodNote(
    "Parts of the CRPS",
    "The CRPS is the Brier score of “at most t”, summed over all t. At 100 thresholds t the predicted "
    "probabilities are recalibrated by isotonic regression. Fitted and measured on the same instances, "
    "miscalibration and discrimination come out too large; fitted on other instances, too small. Their "
    "intervals extend from the lower limit of the second to the upper limit of the first.",
    "CRPS = miscalibration − discrimination + uncertainty",
    "Arnold, Walz, Ziegel and Gneiting, Decompositions of the mean continuous ranked probability score, "
    "Electronic Journal of Statistics, 2024.",
)


def method_notes(
    statistics: Mapping[str, Mapping[str, str]], decomposition: Any = None
) -> tuple[MethodNote, ...]:
    """Return what statistics tell of themselves, then the methods that all share, then how a loss was split.

    Only predictions of classes, whose Brier score is split, have reliability diagrams.
    """
    notes = [MethodNote(**words) for words in statistics.values()]
    if decomposition is None:
        return (*notes, *GENERAL)
    if isinstance(decomposition, CrpsDecomposition):
        return (*notes, *GENERAL, CRPS_DECOMPOSITION)
    return (*notes, *GENERAL, RELIABILITY, DECOMPOSITION)


SHOWN_CLASSES = 12
PIT_TITLE = "Shares of labels below quantiles, minus their levels"


FIGURE_OF = {
    "raters": "raters",
    "ignorance": "ignorance",
    "errors": "risk-coverage",
    "coverage": "reals",
    "where": "reals",
    "stated": "reals",
    "claimed": "claims",
    "parts": "claims",
}
"""Section whose first figure stands beside the question about this."""
SPREAD = ("sets", "validity", "checks")


def asked(
    evaluation: Evaluation, sections: list[Section]
) -> tuple[list[tuple[Finding, ReportFigure | None, Table | None]], list[Section]]:
    """Return the questions of the first screen with figure and table, and the sections without those."""
    left = {section.anchor: section for section in sections}

    def taken(*anchors: str) -> ReportFigure | None:
        for anchor in anchors:
            section = left.get(anchor)
            if section is not None and section.figures:
                left[anchor] = dataclasses.replace(section, figures=section.figures[1:])
                return section.figures[0]
        return None

    questions: list[tuple[Finding, ReportFigure | None, Table | None]] = []
    asked_for = evaluation.headline.questions if evaluation.headline is not None else ()
    for answer in asked_for:
        if answer.about == "what":
            figure = main_figure(evaluation)
        elif answer.about == "repairs":  # which have a table
            figure = None
        elif answer.about == "left":  # the figure of groups is too broad to stand beside a question
            figure = taken("recalibration")
        elif answer.about == "spread":
            figure = taken(*SPREAD if evaluation.predictions.kind != "Point" else ("raters", *SPREAD))
        else:
            figure = taken(FIGURE_OF[answer.about])
        questions.append((answer, figure, repairs_table(answer) if answer.about == "repairs" else None))
    return questions, list(left.values())


SHOWN_REPAIRS = 5
_ROUNDING = 1e-9


def repairs_table(answer: Finding) -> Table | None:
    """Return what the best repairs gain on rows that they were not fitted on, the chosen one marked."""
    tried = [repair for repair in answer.facts.get("tried", ()) if abs(repair["gain"]) > _ROUNDING]
    kept = [repair for place, repair in enumerate(tried) if place < SHOWN_REPAIRS or repair["chosen"]]
    rows = tuple(
        (
            f"{capital(repair_name(repair))}{' (chosen)' if repair['chosen'] else ''}",
            f"{shown(repair['gain'])} ± {shown(2 * repair['stderr'])}",
        )
        for repair in kept
    )
    return Table(("repair", "lowers the loss by (95 %)"), rows) if rows else None


def main_figure(evaluation: Evaluation) -> ReportFigure | None:
    """Return the figure that carries the verdict.

    That is confidence against accuracy, unless the diagnosis is about the class that is farthest off or there
    are two classes, whose figure is that of the event; of real values, shares of labels below quantiles.
    """
    if evaluation.reals is not None:
        drawn = picture(evaluation.reals.pit)
        return report_figure(drawn, PIT_TITLE, "main", size=(4.4, 3.8), margins=(0.7, 0.85, 0.15, 0.3))
    if evaluation.curves is None:
        return None
    curves = evaluation.curves
    label = None if evaluation.diagnosis is None else evaluation.diagnosis.effect.claim.label
    label = 1 if len(evaluation.classes) == 2 and evaluation.predictions.kind != "Confidence" else label
    curve: CorpCurve | ReliabilityCurve = curves.isotonic
    if label is not None and curves.worst_class.target == label:
        curve = curves.worst_class
    elif curve.band is None:  # of clusters bins alone have bands
        curve = curves.top_label if curves.top_label.band is not None else curve
    drawn, room = picture(curve), (0.5, 1.0, 0.05, 0.26)
    if curve.target is None:  # the page's own heading says it
        drawn, room = dataclasses.replace(drawn, title=""), (0.5, 1.0, 0.05, 0.06)
    return report_figure(drawn, _reliability_title(curve), "main", size=(4.4, 3.8), margins=room)


def class_figures(evaluation: Evaluation) -> tuple[str, tuple[ReportFigure, ...]]:
    """Return a sentence about the classes and their diagrams, worst first."""
    if evaluation.curves is None or evaluation.predictions.kind == "Confidence":
        return "", ()
    curves = worst_first(evaluation.curves.per_class, SHOWN_CLASSES)
    panels = [picture(curve) for curve in curves]
    figures = [
        report_figure(
            panel,
            _reliability_title(curve),
            f"class-{place}",
            size=(2.3, 2.2),
            margins=(0.3, 0.24, 0.06, 0.26),
            small=True,
            finding=panel.summary,
        )
        for place, (curve, panel) in enumerate(zip(curves, panels, strict=True))
    ]
    hidden = len(evaluation.classes) - len(curves)
    others = counted(hidden, "class with a smaller error is", "classes with smaller errors are")
    rest = f"; {others} not shown" if hidden else ""
    error = shown(mean_gap(curves[0]))
    return f"{capital(curves[0].name)} has the largest error, {error}{rest}.", tuple(figures)


def null_figures(evaluation: Evaluation) -> tuple[ReportFigure, ...]:
    """Return the null distribution of every test that has one to draw, worst first."""
    figures = []
    for place, verdict in enumerate(evaluation.verdicts):
        result = evaluation.tests.get(verdict.statistic or "")
        if result is not None and verdict.limit is not None and has_replicates(result):
            name = f"{title(result.statistic_name)}: replicates under the hypothesis"
            drawn, room = picture(result, "null", acceptance=verdict.limit), (0.1, 0.24, 0.1, 0.26)
            figures.append(
                report_figure(drawn, name, f"null-{place}", size=(2.9, 2.0), margins=room, small=True)
            )
    return tuple(figures)


def _reliability_title(curve: CorpCurve | ReliabilityCurve) -> str:
    if curve.target is None:
        return "Confidence against accuracy"
    return f"{capital(curve.name)}: predicted probability against frequency"


_SOURCE_KEYS = frozenset({"path", "digest", "dropped", "notes", "command", "call"})


@dataclasses.dataclass(frozen=True)
class KeyNumber:
    """A number of the first screen: its interval, or the footnote that says why there is none."""

    name: str
    value: str
    interval: str | None
    footnote: int | None
    expected: str | None


_TITLES = {
    "Samples": "Predicted draws",
    "Quantiles": "Predicted quantiles",
    "PredictionSets": "Prediction sets",
    "PredictionIntervals": "Prediction intervals",
}
"""Of kinds whose class is called by a plural."""


def page_title(evaluation: Evaluation) -> str:
    """Return the name of the data."""
    path = evaluation.source.get("path")
    kind = evaluation.predictions.kind
    return PurePath(str(path)).name if path else _TITLES.get(kind, f"{kind} predictions")


def facts(evaluation: Evaluation) -> tuple[tuple[str, str], ...]:
    """Return the header: what was evaluated, against what, with what."""
    seen = evaluation.predictions
    labels = ("Labels", "real numbers") if seen.k is None else ("Classes K", str(seen.k))
    return (
        ("Data", str(evaluation.source.get("path") or "arrays in memory")),
        ("Predictions", seen.kind),
        ("Instances N", instances_text(seen.n, evaluation.source)),
        *([] if seen.n_clusters is None else [("Clusters", str(seen.n_clusters))]),
        *([("Members M", seen.members)] if seen.m > 1 else []),
        ("Labels", "right or wrong") if seen.kind == "Confidence" else labels,
    )


def how_tested(evaluation: Evaluation) -> str:
    """Say in one sentence what stands behind the word of the headline, and how often it is wrong."""
    if not evaluation.tests:
        return "Nothing was tested."
    times, level = evaluation.settings["n_resamples"], percent(evaluation.settings["level"])
    clusters = evaluation.predictions.n_clusters
    if evaluation.claims is not None and clusters is None:
        number = len(evaluation.tests) - ("omnibus" in evaluation.tests)
        tests = "One test" if number == 1 else f"{number} tests"
        how = f"{tests} on {times} simulations of a true claim"
        return f"{how}; the chance of a false conflict is at most {level}."
    if evaluation.diagnosis is not None:
        times = evaluation.diagnosis.n_resamples
    drawn, most = f"on labels drawn {times} times from the predictions", "at most"
    if clusters is not None:
        drawn = f"with the signs of residuals flipped {times} times in {clusters} clusters of rows"
        most = "about"
    rate = f"a model that is right gets a conflict in {most} {level} of data sets"
    return f"This screen is tested as a whole, {drawn}; {rate}."


def how_replicated(evaluation: Evaluation) -> str:
    """Say in one sentence what the replicates behind the tests are."""
    times, seen = f"{evaluation.settings['n_resamples']} times", evaluation.predictions
    if seen.n_clusters is not None:
        return f"The signs of the residuals were flipped {times}, cluster by cluster."
    if evaluation.claims is not None:
        return f"Which labels are covered was drawn {times} with the claimed probability."
    if seen.kind == "Samples":
        return f"Labels were exchanged with draws of their own predictions {times}."
    return f"New labels were drawn {times} from the predictions themselves."


def hypothesis(evaluation: Evaluation) -> str:
    """Return the null hypothesis as a sentence."""
    text = str(evaluation.settings["hypothesis"])
    seen = evaluation.predictions
    whose = "" if seen.kind == "Point" or evaluation.claims is not None else " (the mean of its set)"
    if seen.k is None:
        whose = " (the mixture of its members)" if seen.m > 1 else ""
    return f"{capital(text)}{whose}."


def key_numbers(evaluation: Evaluation) -> tuple[tuple[KeyNumber, ...], tuple[str, ...]]:
    """Return the numbers and the footnotes that say why some have no interval."""
    reasons: list[str] = []
    limits = {verdict.statistic: verdict.limit for verdict in evaluation.verdicts}
    numbers = []
    parts = (part for part in evaluation.parts.values() if isinstance(part, Part))
    of_parts = {name: estimate for part in parts for name, estimate in part.key_numbers.items()}
    for name, estimate in {**of_parts, **evaluation.estimates}.items():
        interval, footnote = None, None
        try:
            interval = shown_range(estimate.interval())
        except UnsupportedError as refused:
            if refused.evidence not in reasons:
                reasons.append(refused.evidence)
            footnote = reasons.index(refused.evidence) + 1
        limit, tested = limits.get(name), evaluation.tests.get(name)
        expected = None
        if limit is not None and tested is not None and of_one_number(estimate, tested):
            expected = shown_range(limit)
        numbers.append(KeyNumber(title(name), shown(estimate.value), interval, footnote, expected))
    return tuple(numbers), tuple(reasons)


def tests_table(evaluation: Evaluation) -> Table | None:
    """Return every test with all that belongs to its verdict, worst first, the omnibus test last."""
    if not evaluation.tests:
        return None
    rows: list[tuple[str, HypotestResult, Any, str]] = [
        (title(test.statistic_name), test, verdict.limit, verdict.word)
        for verdict in evaluation.verdicts
        for test in [evaluation.tests[verdict.statistic or ""]]
    ]
    omnibus = evaluation.tests.get("omnibus")
    if omnibus is not None:
        level = evaluation.settings["level"]
        word, region = omnibus.verdict(level), at_level(omnibus, level).acceptance_region
        if word == "conflict" and evaluation.diagnosis is not None:  # which holds it and more
            word = evaluation.diagnosis.word
        rows.append(("All together (−log10 of the smallest p)", omnibus, region, word))
    tests = [test for _, test, _, _ in rows]
    return Table.of(
        {
            "statistic": [name for name, _, _, _ in rows],
            "observed": [test.statistic for test in tests],
            "acceptance": [region for _, _, region, _ in rows],
            "p": [test.pvalue for test in tests],
            "95 % Monte-Carlo interval": [test.pvalue_interval for test in tests],
            "tail": ["two-sided" if test.tail == "two-sided" else "upper" for test in tests],
            "adjusted p": [test.adjusted_pvalue for test in tests],
            "effect size": [test.effect_size for test in tests],
            "verdict": [word for _, _, _, word in rows],
        }
    )


def decomposition_table(evaluation: Evaluation) -> Table | None:
    """Return the Brier score, or the CRPS, and its parts."""
    parts = evaluation.decomposition
    if parts is None:
        return None
    if isinstance(parts, CrpsDecomposition):
        named = {"CRPS": parts.loss, "= miscalibration": parts.miscalibration}
        named |= {"− discrimination": parts.discrimination, "+ uncertainty": parts.uncertainty}
        intervals = (None, parts.miscalibration_interval, parts.discrimination_interval, None)
        return numbers_table(named, intervals)
    named = {
        "Brier score": parts.loss,
        "calibration loss, which recalibration could remove": parts.calibration,
        "refinement loss, which it cannot": parts.refinement,
    }
    return numbers_table(named)


def decomposition_finding(evaluation: Evaluation) -> str:
    """Say what the parts of the CRPS mean; those of the Brier score say it in their table."""
    parts = evaluation.decomposition
    return crps_in_words(parts, evaluation.predictions.n) if isinstance(parts, CrpsDecomposition) else ""


def groups_table(evaluation: Evaluation) -> Table | None:
    """Return numbers of every group that can be compared between groups, in units that a reader knows."""
    if not evaluation.groups:
        return None
    first = next(iter(evaluation.groups.values()))
    # a sum that grows with the number of instances says nothing beside a group of another size
    names = [name for name in first if name != "hosmer_lemeshow"]
    rows = []
    for group, estimates in evaluation.groups.items():
        n = max((estimate.n for estimate in estimates.values()), default=0)
        rows.append((group, str(n), *(_in_units(name, estimates[name].value) for name in names)))
    return Table(("group", "instances", *map(title, names)), tuple(rows))


_IN_POINTS = ("confidence_gap", "confidence_ece", "classwise_ece", "top_label_ece")


def _in_units(name: str, value: float) -> str:
    """Write shares as per cent and differences of shares in points."""
    if not np.isfinite(value):
        return shown(value)
    if name == "accuracy":
        return tenths(value)
    return f"{100 * value:.1f}" if name in _IN_POINTS else shown(value)


def class_table(evaluation: Evaluation) -> Table | None:
    """Return the classes with the largest errors."""
    if evaluation.curves is None:
        return None
    errors = evaluation.curves.class_errors
    worst = sorted(range(len(errors)), key=lambda c: -errors[c])[:SHOWN_CLASSES]
    names = [evaluation.classes[c] for c in worst]
    return Table.of({"class": names, "binned calibration error": [errors[c] for c in worst]})


def source_table(evaluation: Evaluation) -> Table:
    """Return where the data came from, with the whole hash and whatever else the reader recorded."""
    rows = [
        ("seed", seed_text(evaluation.settings)),
        ("version", f"credibly {evaluation.settings['version']}"),
        ("predictions", f"{evaluation.predictions.kind}, {evaluation.predictions.dtype}"),
    ]
    rows += [("input hash", str(evaluation.source.get("digest") or "not known: arrays in memory"))]
    rows += [(key, str(value)) for key, value in evaluation.source.items() if key not in _SOURCE_KEYS]
    rows += [
        (key.replace("_", " "), str(evaluation.settings[key])) for key in ("n_bins", "n_resamples", "level")
    ]
    return Table(("setting", "value"), tuple(rows))
