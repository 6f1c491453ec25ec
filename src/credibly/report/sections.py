"""The sections of a report, each about one part of the evaluation; those about sets are in `sets`."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from credibly._arrays.notes import counted
from credibly.evaluation import Curves, Evaluation, RaterParts, RealParts, ScoreParts, shown, title
from credibly.evaluation.words import at_level
from credibly.plots import Table, picture
from credibly.report.html_parts import (
    MethodNote,
    ReportFigure,
    Section,
    has_replicates,
    interval_text,
    number_cells,
    numbers_table,
    report_figure,
)
from credibly.results.audit import AuditResult
from credibly.results.curves import DRAWS_REPEAT
from credibly.results.decompositions import LossDecomposition
from credibly.results.numbers import tenths
from credibly.results.predictive import HypothesisCheck, PredictiveCheck
from credibly.results.recalibration import MethodChanges, RecalibrationReport
from credibly.results.scores import GROUPS, PARTS, EpistemicScore, Spread

ENVELOPES = MethodNote(
    "Curves with envelopes",
    "At every level the observed curve and those of the replicates are ranked together. A curve is as "
    "extreme as its most extreme level; where curves tie, the next level decides. The p-value is the share "
    "of curves at least as extreme. The envelope contains all curves that would not be rejected.",
    "",
    "Myllymäki et al., Global envelope tests for spatial processes, Journal of the Royal Statistical Society "
    "B, 2017; Säilynoja, Bürkner and Vehtari, Statistics and Computing, 2022.",
)

RISK_COVERAGE = MethodNote(
    "Risk against coverage",
    "Instances are answered from the surest to the least sure; risk is the share of wrong answers among "
    "those answered so far. Equally sure instances are taken in random order, and the mean over these "
    "orders is exact. The area (AURC) is the mean risk over all coverages; the excess is its difference "
    "from the best possible order, in which all right answers come first. An order says nothing about "
    "calibration: compare the curve with the risk that the predictions state.",
    "AURC = (1/n) Σ_j (1/j) Σ_{i ≤ j} 1[answer i is wrong]",
    "El-Yaniv and Wiener, On the foundations of noise-free selective classification, Journal of Machine "
    "Learning Research, 2010; Geifman, Uziel and El-Yaniv, Bias-reduced uncertainty estimation for deep "
    "neural classifiers, ICLR 2019.",
)

_NAMES = {
    "pit": "labels below quantiles (probability integral transform)",
    "coverage": "labels inside central intervals",
}


def real_section(parts: RealParts, evaluation: Evaluation) -> Section:
    """Return the section about labels in their predicted distributions."""
    curves = [parts.pit, *([] if parts.coverage is None else [parts.coverage])]
    apart = [curve.observed - curve.expected for curve in curves]
    worst = [int(abs(difference).argmax()) for difference in apart]
    table = Table.of(
        {
            "share of": [_NAMES[curve.name] for curve in curves],
            "levels": [curve.levels.size for curve in curves],
            "outside": [curve.outside.sum() for curve in curves],
            "largest difference": [difference[at] for difference, at in zip(apart, worst, strict=True)],
            "at level": [curve.levels[at] for curve, at in zip(curves, worst, strict=True)],
            "p": [curve.pvalue for curve in curves],
        }
    )
    figures = []
    if parts.coverage is not None:
        figures.append((picture(parts.coverage), "Stated against observed coverage", "coverage"))
    if parts.spread is not None and parts.spread.stated.size > 1:
        figures.append((picture(parts.spread), "Stated spread against errors", "stated-spread"))
        scores = picture(parts.spread, "z")
        figures.append((scores, scores.title, "z-scores"))
    left = [_NAMES[curve.name] for curve in curves if curve.rejects(1.0 - curve.coverage)]
    finding = "The shares of labels stay inside the envelope of the hypothesis at all levels."
    if left:
        finding = f"The shares of {' and of '.join(left)} leave the envelope of the hypothesis."
    if any((curve.expected != curve.levels).any() for curve in curves):
        finding += f" Here {DRAWS_REPEAT}."
    return Section(
        anchor="reals",
        title="Are the labels where the predicted distributions say?",
        finding=finding,
        tables=(("Curves over all levels, each with one p-value; not adjusted for each other", table),),
        figures=tuple(report_figure(*figure, size=(4.4, 3.8)) for figure in figures),
        methods=(ENVELOPES,),
    )


def risk_coverage_section(parts: Curves, evaluation: Evaluation) -> Section:
    """Return the section about doubt that finds errors."""
    curves = parts.risk_coverage
    drawn = picture(curves)
    rows = tuple(
        (curve.by, *number_cells(curve.area), *number_cells(curve.excess), shown(curve.stated_area))
        for curve in curves.values()
    )
    columns = ("ordered by", "area", "95 % interval", "excess area", "95 % interval", "area as stated")
    return Section(
        anchor="risk-coverage",
        title="Does the model know which answers are wrong?",
        finding=drawn.finding,
        tables=(("Mean share of wrong answers over all coverages", Table(columns, rows)),),
        figures=(
            report_figure(
                drawn,
                "Share of wrong answers among the surest instances",
                "risk-coverage",
                size=(4.4, 3.8),
                finding="Lower is better; where the line runs above the dashed one, the predictions state "
                "less risk than there is.",
            ),
        ),
        methods=(RISK_COVERAGE,),
    )


CHECK_METHOD = MethodNote(
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
    """Return the section about the statistics that the model itself would expect."""
    level = float(evaluation.settings["level"])
    check = _at_level(check, level)
    tables = [
        (f"{part.name.capitalize()}: {part.hypothesis}", _check_table(part, level))
        for part in check.hypotheses.values()
    ]
    if check.factors:
        tables += [
            (f"Groups by verdict, {name}", _group_counts(check, name, level)) for name in check.hypotheses
        ]
    return Section(
        anchor="checks",
        title="Predictive checks: is this what the model expects?",
        finding=_check_finding(check, level),
        verdicts=tuple(
            finding
            for finding in evaluation.answers["check"]
            if finding.word != "no conflict found"  # these stand in the tables, with all their numbers
        ),
        tables=tuple(tables),
        figures=tuple(_check_figures(check, level)),
        methods=(CHECK_METHOD,),
    )


def _at_level(check: PredictiveCheck, level: float) -> PredictiveCheck:
    """Return the check with the acceptance regions that its verdicts are about."""
    parts = {
        name: dataclasses.replace(
            part, checks={statistic: at_level(test, level) for statistic, test in part.checks.items()}
        )
        for name, part in check.hypotheses.items()
    }
    return dataclasses.replace(check, bayesian=parts.get("bayesian"), independent=parts.get("independent"))


def _check_finding(check: PredictiveCheck, level: float) -> str:
    sentences = []
    for part in check.hypotheses.values():
        words = [test.verdict(level) for test in part.checks.values()]
        counts = ", ".join(f"{words.count(word)} {word}" for word in dict.fromkeys(sorted(words)))
        sentences.append(f"{part.name.capitalize()} hypothesis ({part.hypothesis}): {counts}.")
    return " ".join([*sentences, *check.limits])


def _check_table(part: HypothesisCheck, level: float) -> Table:
    tests = part.checks.values()
    return Table.of(
        {
            "statistic": map(title, part.checks),
            "observed": [test.statistic for test in tests],
            "acceptance": [test.acceptance_region for test in tests],
            "p": [test.pvalue for test in tests],
            "95 % Monte-Carlo interval": [test.pvalue_interval for test in tests],
            "adjusted p": [test.adjusted_pvalue for test in tests],
            "side": [test.details.direction for test in tests],
            "sharpness": [test.details.sharpness for test in tests],
            "effect size": [test.effect_size for test in tests],
            "p with the truth as one more member": [test.details.member_pvalue for test in tests],
            "verdict": [test.verdict(level) for test in tests],
        }
    )


def _group_counts(check: PredictiveCheck, hypothesis: str, level: float) -> Table:
    counts = check.count_verdicts(level, hypothesis)
    words = next(iter(counts.values()))
    by_word: dict[str, Any] = {word: [numbers[word] for numbers in counts.values()] for word in words}
    return Table.of({"statistic": map(title, counts), **by_word})


def _check_figures(check: PredictiveCheck, level: float) -> list[ReportFigure]:
    lines = len(check.statistics) * len(check.hypotheses)
    figures = [
        report_figure(
            picture(check),
            "What the model expects, and what was observed",
            "check-strip",
            size=(7.2, 1.45 + 0.29 * lines),
            margins=(2.5, 1.0 + 0.03 * lines, 1.5, 0.3),  # the key stands lower below taller axes
        )
    ]
    worst = min(check.checks.values(), key=lambda test: test.deciding_pvalue).statistic_name
    by_member = check.bayesian is not None and check.bayesian.members is not None  # joint draws have none
    if by_member and has_replicates(check.checks[worst]):
        name = "Replicates by the member that drew them"
        figures.append(
            report_figure(picture(check, "members", statistic=worst), name, "check-members", size=(4.6, 3.4))
        )
    if 1 <= len(check.factors) <= 2 and check.checks:
        name = "Predictive checks within groups"
        grid = picture(check, "groups", statistic=worst, level=level)
        figures.append(report_figure(grid, name, "check-groups"))
    return figures


AUDIT_METHOD = MethodNote(
    "Audit of groups",
    "In every group that the attributes form, alone and together, what was observed is summed and compared "
    "with what the predictions say. Each set of labels drawn from the predictions gives values for all "
    "groups at once, so the step-down p-values and the intervals hold for all groups together. Groups that "
    "a listed group "
    "explains are not listed.",
    "adjusted p = (1 + #{replicates: largest |W| of it and all less clear groups >= |W|}) / (1 + b)",
    "Westfall and Young, Resampling-based multiple testing, 1993.",
)
_MOST_GROUPS = 12


def audit_section(result: AuditResult, evaluation: Evaluation) -> Section:
    """Return the section about groups for which the predictions are off."""
    listed = result.findings or result.groups
    groups = listed[:_MOST_GROUPS]
    intervals = [f"{100 * group.low:+.1f} to {100 * group.high:+.1f}" for group in groups]
    table = Table.of(
        {
            "group": [group.group for group in groups],
            "counted": [group.measure for group in groups],
            "instances": [group.n for group in groups],
            "observed": [tenths(group.observed) for group in groups],
            "predicted": [tenths(group.expected) for group in groups],
            "difference in points, simultaneous interval": intervals,
            "adjusted p": [group.adjusted_pvalue for group in groups],
            "smallest detectable difference": [f"{100 * group.detectable:.1f}" for group in groups],
        }
    )
    caption = "Groups that are off and that no other group explains"
    if not result.findings:
        caption = "The clearest groups; none is off by more than chance explains"
    drawn = picture(result, limit=_MOST_GROUPS)
    size, room = (7.2, 1.5 + 0.24 * len(drawn.columns["group"])), (2.9, 1.05, 0.2, 0.3)
    return Section(
        anchor="audit",
        title="Does this hold for every group?",
        finding="",
        verdicts=evaluation.answers["audit"],
        tables=((caption, table),),
        figures=(report_figure(drawn, "Groups by their effect", "audit-groups", size=size, margins=room),),
        methods=(AUDIT_METHOD,),
    )


SCORE_METHOD = MethodNote(
    "Unified score",
    "Distance of the label to the nearest distribution of the set, plus the trade-off times how imprecise "
    "the set is. A point has imprecision 0, so its score is its log loss. The score depends on the number "
    "of members: compare models only where it is equal.",
    "E = -ln upper P(y) + trade-off * sum_A m(A) ln|A|",
    "Manchingal et al., A unified evaluation framework for epistemic predictions, AISTATS 2025.",
)
ANY_METHOD = MethodNote(
    SCORE_METHOD.name,
    "Distance of the label to the nearest distribution of the set, plus the trade-off times how imprecise "
    "the set is; the top of the page names its measure. A point has imprecision 0. The score depends on the "
    "number of members: compare models only where it is equal.",
    "E = -ln upper P(y) + trade-off * imprecision",
    SCORE_METHOD.reference,
)


def score_method(settings: Mapping[str, Any]) -> MethodNote:
    """Return what the score is: with other measures its formula is another."""
    return SCORE_METHOD if settings["measure"] in ("hartley", "dubois_prade") else ANY_METHOD


def score_section(parts: ScoreParts, evaluation: Evaluation) -> Section:
    """Return the section about distance and imprecision."""
    score = parts.score
    rows = {"the set": score}
    if score.average is not None:
        rows["its mean"] = score.average
    figures = [
        report_figure(
            picture(score, "violins", part=part),
            f"{part.capitalize()} of right and wrong predictions",
            f"score-{part}",
            size=(4.4, 4.2),
            margins=(0.6, 1.1, 0.1, 0.3),
        )
        for part in ("distance", "imprecision")
    ]
    if score.n_infinite < score.n:
        drawn = picture(score, "instances", limit=400)
        figures.append(report_figure(drawn, "Distance against imprecision", "score-scatter"))
    drawn = picture(score, "confidence")
    figures.append(report_figure(drawn, "Uncertainty against confidence", "score-confidence"))
    return Section(
        anchor="score",
        title="Sets of distributions: how near the labels, and how imprecise?",
        finding=_score_finding(score, parts.n_all),
        tables=(("Mean ± standard deviation over instances", group_table(rows)),),
        figures=tuple(figures),
        methods=(SCORE_METHOD,),
    )


def group_table(scores: Mapping[str, EpistemicScore]) -> Table:
    """Return mean and standard deviation of every part over all, right and wrong predictions."""
    rows = tuple(
        (name, name_of_part, *(cell(score.summary[part][group]) for group in GROUPS))
        for name, score in scores.items()
        for name_of_part, part in zip(("distance", "imprecision", "E"), PARTS, strict=True)
    )
    return Table(("prediction", "part", *GROUPS), rows)


def cell(spread: Spread) -> str:
    """Return a mean with its standard deviation as text."""
    if spread.n == 0:
        return "none"
    deviation = "" if spread.std != spread.std else f" ± {shown(spread.std)}"
    return f"{shown(spread.mean)}{deviation}"


def settings_text(settings: Mapping[str, Any]) -> str:
    """Return the choices a score depends on in one sentence."""
    members = settings.get("members")
    drawn = "" if members is None else f", {members} {'samples' if settings.get('drawn') else 'members'}"
    return f"{settings['measure']}{drawn}"


def _score_finding(score: EpistemicScore, n_all: int) -> str:
    total, distance, imprecision = (
        score.summary[part]["all"].mean for part in ("total", "distance", "imprecision")
    )
    some = "" if score.n == n_all else f" ({score.n} of {n_all} instances)"
    compared = ""
    if score.average is not None:
        mean = float(score.average)
        compared = f" The mean prediction alone scores {shown(mean)}."
    depends = "".join(f" {dependence}." for dependence in score.dependences)
    return (
        f"Score E {shown(total)} at trade-off {score.tradeoff:g}{some}: distance {shown(distance)} plus "
        f"imprecision {shown(imprecision)} ({settings_text(score.settings)}).{compared}{depends}"
    )


_MEANINGS = {
    "expected": "expected loss: squared distance to a rater's label",
    "irreducible": "irreducible: raters disagree, no model can help",
    "epistemic": "epistemic: the prediction is not the distribution of labels",
    "calibration": "of that, calibration loss: recalibration could remove it",
    "dispersion": "of that, dispersion loss: the prediction does not distinguish these instances",
}
RATER_METHOD = MethodNote(
    "Losses over raters",
    "Several labels per instance make it possible to separate the model's loss from the raters' "
    "disagreement. All terms are corrected for the noise of few raters and few instances, so a small one "
    "may be negative. Intervals account for the sampling of instances.",
    "expected = epistemic + irreducible; epistemic = calibration + dispersion",
    "Mimori et al., Diagnostic uncertainty calibration, AISTATS 2021.",
)


def rater_section(parts: RaterParts, evaluation: Evaluation) -> Section:
    """Return the section about losses and disagreement of raters."""
    loss, pairs = parts.loss, parts.disagreement
    rows = tuple(
        (meaning, *number_cells(getattr(loss, name)), shown(getattr(loss.plugin, name).value))
        for name, meaning in _MEANINGS.items()
    )
    spread = {
        "mean predicted disagreement of two raters": pairs.predicted,
        "mean observed disagreement": pairs.observed,
        "loss of the predicted disagreement": pairs.expected,
        "of that, calibration loss": pairs.calibration,
    }
    losses = "Squared loss over raters; without correction, few raters look like a bad model"
    columns = ("part", "value", "95 % interval", "without correction")
    return Section(
        anchor="raters",
        title="Several labels per instance: the model's loss and the raters'",
        finding=_rater_finding(loss),
        tables=(
            (losses, Table(columns, rows)),
            ("Disagreement of two raters of one instance", numbers_table(spread)),
        ),
        figures=tuple(_rater_figures(parts)),
        methods=(RATER_METHOD,),
    )


def _rater_figures(parts: RaterParts) -> list[ReportFigure]:
    figures = []
    if parts.loss.calibration.stderr is not None:
        drawn = picture(parts.loss)
        figures.append(report_figure(drawn, "Where the epistemic loss lies", "loss-map", size=(4.0, 4.0)))
    name = "Predicted against observed disagreement of two raters"
    figures.append(report_figure(picture(parts.disagreement), name, "disagreement"))
    return figures


def _rater_finding(loss: LossDecomposition) -> str:
    few, many = (f"{number:g}" for number in loss.raters)
    raters = few if few == many else f"{few} to {many}"
    share = ""
    if loss.expected.value > 0:
        # unbiased terms may be negative, so one of them may be larger than their sum
        share = f" ({100 * min(1.0, max(0.0, loss.irreducible.value / loss.expected.value)):.0f} %)"
    one_rater = counted(loss.n_left_out, "instance with one rater is", "instances with one rater are")
    left = f" {one_rater} left out." if loss.n_left_out else ""
    return (
        f"{loss.n} instances with {raters} raters each. Of the expected loss {shown(loss.expected.value)}, "
        f"{shown(loss.irreducible.value)}{share} is disagreement between raters, "
        f"{shown(loss.calibration.value)} calibration loss and {shown(loss.dispersion.value)} dispersion "
        f"loss.{left}"
    )


RECALIBRATION_METHOD = MethodNote(
    "Recalibration, before and after",
    "Each fold is recalibrated with a fit to the other folds, so no instance is measured with a fit that "
    "has seen its label. Differences are paired: the same instance before and after. A "
    "recalibration that is used afterwards must be evaluated on new data.",
    "difference = mean of (after − before) over instances",
    "Guo et al., On calibration of modern neural networks, ICML 2017; Mimori et al., Diagnostic uncertainty "
    "calibration, AISTATS 2021.",
)


def recalibration_section(report: RecalibrationReport, evaluation: Evaluation) -> Section:
    """Return the section about each method before and after."""
    fitted = {name: method for name, method in report.methods.items() if method.failure is None}
    of_which = "all" if report.n == evaluation.predictions.n else f"these {report.n}"
    tables = tuple(
        (f"{name}: {method.description} when fitted on {of_which} instances", _change_table(method))
        for name, method in fitted.items()
    )
    return Section(
        anchor="recalibration",
        title="What would recalibration change?",
        finding=_change_finding(report),
        tables=tables,
        figures=_change_figures(report) if fitted else (),
        methods=(RECALIBRATION_METHOD,),
    )


def _change_finding(report: RecalibrationReport) -> str:
    sentences = []
    for name, method in report.methods.items():
        if method.failure is not None:
            sentences.append(f"{name} could not be fitted: {method.failure}")
            continue
        changes = method.changes
        change = changes.get("log_loss") or changes.get("crps") or next(iter(changes.values()))
        within = ""
        if change.difference.has_interval:
            within = f" (95 % interval of the change {interval_text(change.difference)})"
        sentences.append(
            f"{name} moves {title(change.name)} from {shown(change.before.value)} to "
            f"{shown(change.after.value)}{within}."
        )
    return f"Measured on {report.n} instances in {report.n_folds} folds. {' '.join(sentences)}"


def _change_table(method: MethodChanges) -> Table:
    columns = ("statistic", "before", "after", "difference", "95 % interval", "adjusted p before", "after")
    rows = []
    for change in method.changes.values():
        values = (shown(change.before.value), shown(change.after.value), *number_cells(change.difference))
        tests = (change.test_before, change.test_after)
        pvalues = ("" if test is None else shown(test.deciding_pvalue) for test in tests)
        rows.append((title(change.name), *values, *pvalues))
    return Table(columns, tuple(rows))


def _change_figures(report: RecalibrationReport) -> tuple[ReportFigure, ...]:
    curves = picture(report, "curves")
    first: tuple[ReportFigure, ...] = ()
    if curves.marks:
        stated, observed = curves.xlabel.capitalize(), curves.ylabel
        caption = f"{stated} against {observed}, before and after"
        first = (report_figure(curves, caption, "recalibrated-curves"),)
    names = next(method.changes for method in report.methods.values() if method.changes)
    known = ("disagreement_calibration_loss", "log_loss", "crps")
    statistic = next((name for name in known if name in names), None)
    if statistic is None:
        return first
    changes = picture(report, "changes", statistic=statistic)
    margins = (1.5, 0.75, 0.1, 0.3)
    return (
        *first,
        report_figure(changes, f"Change of {title(statistic)}", "changes", size=(4.6, 2.8), margins=margins),
    )
