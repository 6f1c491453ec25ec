"""What a reader wants to know first: is the model too sure or too unsure, by how much, and what helps.

One headline with direction, size and remedy; then a few questions with one sentence and one verdict each.
The size leads: points of probability with an interval. Whether chance explains it decides the word.
"""

from __future__ import annotations

import dataclasses
import shlex
from typing import Any

import numpy as np
from scipy.special import bdtr

from credibly._arrays.namespace import to_host
from credibly._arrays.notes import capital, counted
from credibly.evaluation.claims import claims_headline
from credibly.evaluation.findings import Answer, Headline
from credibly.evaluation.phrases import (
    FEW,
    again_command,
    at_most,
    audit_command,
    clustered,
    compare_command,
    file_of,
    fit_command,
    interval_of,
    percents,
    plan_command,
    points,
    seen,
    sure,
    within,
)
from credibly.evaluation.real_headline import real_headline
from credibly.evaluation.set_tests import CredalParts
from credibly.evaluation.stages import check_verdicts
from credibly.evaluation.words import Verdict, Word, p_is, shown, verdicts
from credibly.evaluation.work import Stage, Work
from credibly.hypotests import calibration_test, certificate, plan_labels
from credibly.predictions import ClassPredictions, Dirichlet, Ensemble, Point, Rows
from credibly.results.curves import ReliabilityCurve
from credibly.results.estimates import Estimate
from credibly.results.recalibration import Change
from credibly.results.tests import HypotestResult
from credibly.statistics import confidence_gap
from credibly.statistics.registry import story_of

POWER = 0.8


def _labels_wanted(rows: Rows, work: Work) -> str | None:
    """Return how many labels show a gap of the margin with a probability of 80 %."""
    if not work.margin or rows.sample.clusters is not None:
        return None
    wanted = plan_labels(rows, gap=work.margin, level=1 - work.level, power=POWER).instances
    return f"{float(f'{wanted:.2g}'):,.0f}".replace(",", " ")


def _matters(interval: tuple[float, float] | None, margin: float) -> str:
    """Say whether a gap that chance does not explain is also large enough to care."""
    if interval is None:
        return ""
    if max(map(abs, interval)) < margin:
        return f" Real, but small: less than {points(margin)}."
    return ""


# ---------------------------------------------------------------------------------------------- classes


@dataclasses.dataclass(frozen=True)
class _Classes:
    """What the headline of class predictions is made of."""

    rows: Rows
    work: Work
    confidence: float
    accuracy: float
    gap: Estimate
    most: float
    test: HypotestResult | None
    found: tuple[Verdict, ...]

    @classmethod
    def of(cls, rows: Rows, work: Work) -> _Classes:
        """Gather it; the gap is computed where the caller chose other statistics."""
        curve: ReliabilityCurve = work.found["curves"].top_label
        filled = curve.weight > 0
        weight = curve.weight[filled] / curve.weight.sum()
        confidence = float(weight @ curve.predicted[filled])
        accuracy = float(weight @ curve.observed[filled])
        name = confidence_gap.name
        gap = work.found["estimates"].get(name) or confidence_gap(*rows.arguments)
        if work.single.clusters is None:
            most = certificate(*work.single.arguments, statistic=confidence_gap, level=1 - work.level).upper
        else:  # no bound for every truth is known: the end of the interval of clusters
            most = max(map(abs, interval_of(gap) or (1.0, 1.0)))
        tests = dict(work.found["tests"] or {})
        own = tests.get(name)
        if work.tests and own is None:
            own = calibration_test(*work.single.arguments, statistics=confidence_gap, **work.drawn)
        found = verdicts(tests, work.summary, work.level)
        return cls(rows, work, confidence, accuracy, gap, most, own, found)

    @property
    def conflicts(self) -> list[Verdict]:
        """Conflicts of calibration, those of confidence first, then of single classes."""
        order = {"confidence": 0, "classwise": 1, "distribution": 2}
        found = [one for one in self.found if one.word == "conflict" and one.statistic is not None]
        return sorted(found, key=lambda one: order[story_of(str(one.statistic)).notion])

    @property
    def is_gap(self) -> bool:
        """Whether the average gap itself is more than chance explains."""
        return self.test is not None and self.test.verdict(self.work.level) == "conflict"

    @property
    def says(self) -> str:
        """What it says and how often it is right."""
        says, right = percents(self.confidence, self.accuracy)
        return f"it says {says} and is right {right} of the time"


def _class_headline(rows: Rows, work: Work) -> Headline:
    facts = _Classes.of(rows, work)
    size, interval = float(facts.gap.value), interval_of(facts.gap)
    most = facts.most
    word: Word = "conflict"
    if facts.is_gap:
        sentence = (
            f"{_direction(size)}: {facts.says}, {points(size)} too {_way(size)}"
            f"{within(interval)}, more than chance explains{clustered(work)}."
            f"{_matters(interval, work.margin)}"
        )
    elif facts.conflicts:
        average = facts.test is None or facts.test.verdict(work.level) == "no conflict found"
        where = "Miscalibrated, though not on average" if average else "Miscalibrated"
        sentence = f"{where}: {facts.says}. {_in_parts(facts)}"
    elif facts.test is None:
        word = "cannot tell"
        sentence = (
            f"Not tested: {facts.says}, {_sized(size)}"
            f"{within(interval)}; whether chance explains it was not tested."
        )
    elif most > FEW:
        word = "cannot tell"
        sentence = (
            f"Too few data to tell: with {seen(rows, work)}, the average gap can be as large as "
            f"{at_most(most)} ({sure(work)} that it is not larger)."
        )
    else:
        word = "no conflict found"
        certain = facts.confidence == 1 == facts.accuracy
        always = ": it was certain of every answer, and always right" if certain else ""
        sentence = (
            f"No sign of miscalibration in {seen(rows, work)}{always}; the average gap is below "
            f"{at_most(most)}, {sure(work)}."
        )
    remedy, steps = _remedy(facts, word)
    questions = (*_rater_question(work), _confidence_question(facts, word, sentence), _error_question(work))
    return Headline(
        word,
        sentence,
        remedy,
        size,
        interval,
        work.margin,
        most,
        (*questions, *_spread_question(rows, work)),
        steps,
    )


def _direction(size: float) -> str:
    return "Overconfident" if size > 0 else "Underconfident"


def _way(size: float) -> str:
    return "sure" if size > 0 else "unsure"


def _sized(size: float) -> str:
    """Write a gap with its direction."""
    return "no gap" if points(size) == points(0.0) else f"{points(size)} too {_way(size)}"


def _in_parts(facts: _Classes) -> str:
    """Say where confidence is off although its mean is right."""
    first = facts.conflicts[0]
    notion = story_of(str(first.statistic)).notion
    curves = facts.work.found["curves"]
    if notion == "confidence":
        regions = _regions(curves.top_label)
        if regions:
            return f"Where it says {' and where it says '.join(regions)}: more than chance explains."
    if notion == "classwise" and len(curves.per_class):
        worst = max(curves.per_class, key=lambda curve: abs(_mean_gap(curve)))
        size = _mean_gap(worst)
        name = worst.name.removeprefix("class ")
        often = "often" if size > 0 else "rarely"
        return (
            f"The probabilities of single classes are off by more than chance explains: class {name} is "
            f"predicted {points(size)} too {often}."
        )
    story = story_of(str(first.statistic))
    said = story.above if first.size is None or first.size > 0 else story.below
    found = story.title if "chance" in said else f"{story.title} finds more than chance explains"
    return f"{found}: {said}."


def _mean_gap(curve: ReliabilityCurve) -> float:
    """Return predicted minus observed, the mean over all bins."""
    filled = curve.weight > 0
    weight = curve.weight[filled] / curve.weight.sum()
    return float(weight @ (curve.predicted[filled] - curve.observed[filled]))


def _regions(curve: ReliabilityCurve) -> list[str]:
    """Say in which range of confidence the curve leaves its band, too sure and too unsure apart."""
    if curve.band is None:
        return []
    lower, upper = curve.band
    with np.errstate(invalid="ignore"):  # empty bins hold nothing
        outside = {"sure": curve.observed < lower, "unsure": curve.observed > upper}
    said = []
    for how, bins in outside.items():
        if not bins.any():
            continue
        weight = curve.weight[bins] / curve.weight[bins].sum()
        gap = float(weight @ (curve.predicted[bins] - curve.observed[bins]))
        low, high = percents(float(curve.predicted[bins].min()), float(curve.predicted[bins].max()))
        where = f"about {low}" if low == high or bins.sum() == 1 else f"{low} to {high}"
        said.append(f"{where}, it is {points(gap)} too {how}")
    return said


def _confidence_question(facts: _Classes, word: Word, sentence: str) -> Answer:
    size, interval = float(facts.gap.value), interval_of(facts.gap)
    said = sentence
    if word != "conflict":
        how = f"{_sized(size)}{within(interval)}"
        said = f"On average {facts.says}: {how}."
        said += " Chance could explain it." if facts.test is not None and size else ""
    elif facts.test is not None and facts.is_gap:
        limit = facts.test.acceptance_region
        allowed = max(abs(limit[0]), abs(limit[1]))
        said = (
            f"Too {_way(size)} by {points(size)}{within(interval)}: {facts.says}. "
            f"Chance alone would give at most {points(allowed)} ({p_is(facts.test.pvalue)}, adjusted for "
            f"several tests {shown(facts.test.deciding_pvalue)})."
        )
    else:
        said = _in_parts(facts)
    return Answer("confidence", "Is its confidence right?", word, said)


def _error_question(work: Work) -> Answer:
    """Answer whether the surest answers are right more often."""
    curve = work.found["curves"].risk_coverage["confidence"]
    risk, half = float(curve.risk[-1]), float(np.interp(0.5, curve.coverage, curve.risk))
    interval = interval_of(curve.area) or (0.0, 1.0)
    if not curve.area.has_interval and curve.area.n_clusters is None:
        interval = _by_halves(curve.n, half, risk)
    among, instead = percents(half, risk)
    word: Word = "cannot tell"
    said = f"Of the half of its answers it is most sure of, {among} are wrong; of all answers, {instead}."
    if risk == 0:
        said = f"It made no mistake in {counted(curve.n, 'instance')}: nothing to find."
    elif risk == 1:
        said = f"It gave no right answer in {counted(curve.n, 'instance')}: nothing to compare."
    elif np.ptp(curve.threshold) == 0:
        said = "It is equally sure of all its answers, so its confidence cannot point to its mistakes."
    elif interval[1] < risk:
        word, said = "no conflict found", f"Low confidence marks its mistakes. {said}"
    elif interval[0] > risk:
        word, said = "conflict", f"The surer it is, the more often it is wrong. {said}"
    else:
        said += " These data do not show that low confidence marks its mistakes."
    return Answer("errors", "Does it know when it is wrong?", word, said)


def _by_halves(n: int, half: float, risk: float) -> tuple[float, float]:
    """Return an interval without `risk` where the surest half has too few, or too many, of the mistakes.

    Used where the area has no interval. In random order the mistakes of half of the rows are hypergeometric.
    """
    wrong, found = round(n * risk), round(n * half / 2)
    # a binomial with the same mean is more spread out, so its tails are on the safe side
    fewer, more = bdtr(found, wrong, 0.5), 1.0 - bdtr(found - 1, wrong, 0.5) if found else 1.0
    if fewer <= 0.025:
        return 0.0, half
    return (half, 1.0) if more <= 0.025 else (0.0, 1.0)


def _spread_question(rows: Rows, work: Work) -> tuple[Answer, ...]:
    """Answer whether members disagree, or sets are wide, as they should; nothing for single distributions."""
    members = isinstance(rows.sample.predictions, Ensemble)
    question = "Is the width of its sets believable?"
    if members:
        question = "Is the disagreement of its members believable?"
    elif isinstance(rows.sample.predictions, Point):
        question = "Does it predict how people disagree?"
    if members and not _disagree(rows.sample.predictions):
        said = "Its members all predict the same, so there is no disagreement to judge."
        return (Answer("spread", question, "cannot tell", said),)
    found = []
    if work.found.get("validity") is not None:
        own = _pairs_of_raters(work) if isinstance(rows.sample.predictions, Point) else ""
        found += [
            Answer("spread", question, one.word, f"{own}{one.finding}")
            for one in work.found["validity"].answers
        ]
    if work.found.get("credal") is not None:
        found.append(_credal_answer(work.found["credal"], question, work))
    if work.found.get("check") is not None:
        told = check_verdicts(work.found["check"], work.summary, work.level)
        found += [Answer("spread", question, one.word, one.finding) for one in told[:1]]
    worst = next((one for one in found if one.word == "conflict"), None)
    return tuple(found[:1]) if worst is None else (worst,)


def _pairs_of_raters(work: Work) -> str:
    """Say how often two raters of an instance disagree, and how often the model says so."""
    raters = work.found.get("raters")
    if raters is None:
        return ""
    pairs = raters.disagreement
    says, seen_in = percents(float(pairs.predicted.value), float(pairs.observed.value))
    return f"It says that two raters disagree {says} of the time; they do {seen_in} of the time. "


def _disagree(ensemble: Any) -> bool:
    """Tell whether any member differs from the first, beyond rounding."""
    probs = to_host(ensemble.probs)
    return bool((np.abs(probs - probs[:, :1]) > 1e-9).any())


def _credal_answer(credal: CredalParts, question: str, work: Work) -> Answer:
    """Answer whether the set holds the truth, and say where it does not."""
    first, said = credal.verdicts[0], ""
    if first.word == "conflict":
        told = credal.validity.details.where(work.classes)
        off = f": {told}" if told else " in several classes at once; no single class is off"
        said = f"The true probabilities lie outside its sets{off} ({p_is(credal.validity.pvalue)})."
    elif first.word == "no conflict found":
        said = "Nothing shows that the true probabilities lie outside its sets, given what it predicts."
    return Answer("spread", question, first.word, said or first.finding)


def _rater_question(work: Work) -> tuple[Answer, ...]:
    """Say how much of the loss is the model's, where several people labelled."""
    raters = work.found.get("raters")
    if raters is None:
        return ()
    loss, own = raters.loss, float(raters.loss.epistemic.value)
    total = float(loss.irreducible.value) + own
    share = min(1.0, max(0.0, own / total)) if total > 0 else 0.0
    interval = interval_of(loss.epistemic)
    word: Word = "cannot tell"
    if interval is not None:
        word = "conflict" if interval[0] > 0 else "no conflict found"
    return (
        Answer(
            "raters",
            "How much of the loss is the model's own?",
            word,
            _shares_of_loss(share, shown(total), word),
        ),
    )


def _shares_of_loss(share: float, total: str, word: Word) -> str:
    """Say which part of the squared loss is the model's; estimates beyond 0 and 1 are no shares."""
    more = ", more than chance explains" if word == "conflict" else ""
    raters = "disagreement between raters, which no model can remove"
    if share < 0.005:
        return f"Nearly all of the squared loss of {total} is {raters}."
    if share > 0.995:
        return f"Nearly all of the squared loss of {total} is the model's own{more}."
    return (
        f"{100 * share:.0f} % of the squared loss of {total} is the model's own{more}. The other "
        f"{100 * (1 - share):.0f} % is {raters}."
    )


# ---------------------------------------------------------------------------------------------- what helps


def _remedy(facts: _Classes, word: Word) -> tuple[str, tuple[tuple[str, str], ...]]:
    """Return what helps in a sentence, and what to do next with a command."""
    work = facts.work
    file = file_of(work)
    if word == "cannot tell":
        wanted = None if facts.test is None else _labels_wanted(facts.rows, work)
        if wanted is None:
            return "", ()
        return (
            f"About {wanted} labels would show a gap of {points(work.margin)}.",
            (
                (
                    f"Label more instances, about {wanted}, and look again.",
                    plan_command(file_of(work, plan=True), work.margin),
                ),
            ),
        )
    if word != "conflict":
        return "", (
            (
                "Look at parts of the data: a model can be right on average and wrong for some groups.",
                audit_command(file),
            ),
        )
    report = work.found.get("recalibration")
    tried = (
        {} if report is None else {name: one for name, one in report.methods.items() if one.failure is None}
    )
    statistic = "confidence_gap" if facts.is_gap else "confidence_ece"
    best: tuple[float, str, Any, Change] | None = None
    for name, one in tried.items():
        change = one.changes.get(statistic) or one.changes.get("confidence_ece")
        if change is not None and (best is None or abs(float(change.after.value)) < best[0]):
            best = abs(float(change.after.value)), name, one, change
    if best is None and isinstance(facts.rows.sample.predictions, (Point, Ensemble, Dirichlet)):
        return "", (("Recalibrate on data that the model has not seen.", fit_command(file, "temperature")),)
    if best is None:
        first = "Recalibrate the outputs of the model before sets are made from them, then look again."
        return "", ((first, again_command(file)),)
    after, name, one, change = best
    before = abs(float(change.before.value))
    what = capital(one.description) if one.description else name
    if after < before:
        thing = "this" if facts.is_gap else f"the binned error from {points(before)}"
        return (
            f"{what}, fitted on held-out folds, would bring {thing} to {points(after)}.",
            (("Recalibrate, then evaluate on new data.", fit_command(file, name)),),
        )
    error = "gap" if facts.is_gap else "binned error"
    vain = f"would not help: the {error} is {points(before)} before and {points(after)} after."
    return f"{what}, fitted on held-out folds, {vain}", (
        ("Compare other recalibrations.", compare_command(file)),
    )


def _run(rows: Rows, work: Work) -> Headline:
    if work.found["claims"] is not None:
        return claims_headline(work.found["claims"], rows, work)
    if isinstance(rows.sample.predictions, ClassPredictions):
        return _for_everyone(_class_headline(rows, work), work)
    return _for_everyone(real_headline(rows, work) or _untested(work), work)


def _for_everyone(headline: Headline, work: Work) -> Headline:
    """Lead with the groups that are off where nothing is found over all of them."""
    found = work.found.get("audit")
    if found is None or headline.word == "conflict" or found.verdict() != "conflict":
        return headline
    worst, over_all = found.findings[0], headline.sentence
    sentence = (
        f"Off for some groups, most clearly for {worst.group}: {worst.words}. "
        f"Over all groups: {over_all[0].lower()}{over_all[1:]}"
    )
    file, names = file_of(work), ",".join(found.attributes)
    command = (
        "cr.audit(predictions, labels, groups=groups)"
        if file is None
        else f"credibly audit {file} --by {shlex.quote(names)}"
    )
    steps = (("See all groups, with the smallest detectable effect in each.", command),)
    return dataclasses.replace(headline, word="conflict", sentence=sentence, steps=steps)


def _untested(work: Work) -> Headline:
    reason = "tests were switched off" if not work.tests else "no test takes such predictions"
    if work.tests and work.summary.n_clusters is not None:
        reason = "no test takes such predictions if rows come in clusters"
    sentence = f"Whether the predictions are calibrated was not tested: {reason}."
    return Headline("cannot tell", sentence, "", None, None, work.margin, None, (), ())


HEADLINE = Stage("headline", _run)
