"""What a reader wants to know first: what is wrong, by how much, what repairs it, and what is left.

The headline is the diagnosis in a sentence (`diagnosis`, `sentences`); then a few questions with one sentence
and one verdict each.
"""

from __future__ import annotations

from typing import Any, cast

import numpy as np
from scipy.special import bdtr

from credibly._arrays.namespace import to_host
from credibly._arrays.notes import counted
from credibly.diagnosis import Diagnosis
from credibly.diagnosis.diagnose import diagnosed
from credibly.evaluation.claims import claims_headline
from credibly.evaluation.findings import Answer, Headline
from credibly.evaluation.phrases import (
    FEW,
    at_most,
    audit_command,
    file_of,
    fit_command,
    interval_of,
    percents,
    plan_command,
    sure,
)
from credibly.evaluation.real_headline import coverage_bound, real_questions
from credibly.evaluation.sentences import Names, measured, points, remedy, seen_in, what_is_wrong
from credibly.evaluation.set_tests import CredalParts
from credibly.evaluation.stages import check_verdicts
from credibly.evaluation.words import Word, p_is, shown
from credibly.evaluation.work import NOT_ASKED, Stage, Work
from credibly.hypotests import certificate, plan_labels
from credibly.predictions import ClassPredictions, Dataset, Ensemble, InMemory, Point, RealPredictions, Rows
from credibly.selection.score import spaced_rows
from credibly.statistics import confidence_gap

POWER = 0.8
MOST_DIAGNOSED = 50_000
"""Rows that a diagnosis sees; of more, as many that are evenly spaced."""
FEWEST_DIAGNOSED = 20


def _diagnosis_applies(rows: Rows, work: Work) -> str | None:
    some = rows.sample.predictions
    if not work.tests or not isinstance(some, (ClassPredictions, RealPredictions)):
        return NOT_ASKED
    return None if rows.n >= FEWEST_DIAGNOSED else NOT_ASKED


def _run_diagnosis(rows: Rows, work: Work) -> Diagnosis:
    """Diagnose the rows; tests of the evaluation share the replicates, so that one error rate holds."""
    seen, others, groups = rows, None, work.attributes
    omnibus = (work.found["tests"] or {}).get("omnibus")
    if omnibus is not None and omnibus.null_distribution is not None:
        scores = np.concatenate([[omnibus.statistic], omnibus.null_distribution])
        others = -np.log(10.0) * scores
    if rows.n > MOST_DIAGNOSED:
        places = spaced_rows(rows.n, MOST_DIAGNOSED)
        some, others = rows.take(places), None
        groups = some.groups if groups is None else _of_rows(groups, places)
        seen = InMemory(some)
    else:
        whole = cast(Dataset, rows.loaded(MOST_DIAGNOSED))
        groups = whole.groups if groups is None else groups
        seen = InMemory(whole)
    return diagnosed(seen, groups, work.level, work.n_resamples, work.seed, others)


def _of_rows(groups: Any, places: Any) -> Any:
    if hasattr(groups, "items"):
        return {name: np.asarray(values)[places] for name, values in groups.items()}
    return np.asarray(groups)[places]


DIAGNOSIS = Stage("diagnosis", _run_diagnosis, _diagnosis_applies)


def _headline(rows: Rows, work: Work) -> Headline:
    """Say what is wrong, by how much, and what repairs it."""
    found: Diagnosis | None = work.found["diagnosis"]
    if found is None:
        return _untested(work)
    names = Names(work.classes)
    most = _most(rows, work)
    word: Word = found.word
    if word == "conflict":
        sentence = what_is_wrong(found, names, work.margin)
    elif most is not None and most > FEW:
        word = "cannot tell"
        sentence = (
            f"Too few data to tell: with {seen_in(rows.n, found.n_clusters)}, the average gap can be as "
            f"large as {at_most(most)} ({sure(work)} that it is not larger)."
        )
    else:
        limit = "" if most is None else f"; the average gap is below {at_most(most)}, {sure(work)}"
        sentence = f"No sign of miscalibration in {seen_in(rows.n, found.n_clusters)}{limit}."
        sentence += _useless(found)
    return Headline(
        word,
        sentence,
        "" if word != "conflict" else remedy(found, names, _described(work)),
        found.effect.size,
        found.effect.interval,
        work.margin,
        most,
        _questions(rows, work, found, names, word),
        _steps(rows, work, found, word),
    )


def _most(rows: Rows, work: Work) -> float | None:
    """Return what the average gap is at most, at the confidence of the evaluation; None where unknown."""
    if isinstance(rows.sample.predictions, RealPredictions):
        return coverage_bound(rows, work)
    sure_of = 1 - work.level
    if work.single.clusters is not None:  # no bound for every truth is known: the end of the interval
        gap = work.found["estimates"].get(confidence_gap.name) or confidence_gap(*rows.arguments)
        return max(map(abs, interval_of(gap) or (1.0, 1.0)))
    return float(certificate(*work.single.arguments, statistic=confidence_gap, level=sure_of).upper)


def _useless(found: Diagnosis) -> str:
    """Say it where a calibrated model says no more than base rates do."""
    if found.fault == "no skill":
        return " But it is no better than always stating the base rates."
    if found.skill < 1.64:
        return " These data do not show that it beats always stating the base rates."
    return ""


def _questions(rows: Rows, work: Work, found: Diagnosis, names: Names, word: Word) -> tuple[Answer, ...]:
    what = Answer("what", "What is wrong, and how much?", word, _compared(found, names))
    repairs = Answer("repairs", "What repairs it?", word, _repairs(found)) if found.repairs else None
    left = _left(work, found, names)
    every = [*_rater_question(work), what, repairs, left]
    if isinstance(rows.sample.predictions, RealPredictions):
        every += real_questions(work)
    else:
        every += [_error_question(work), *_spread_question(rows, work)]
    return tuple(one for one in every if one is not None)


def _compared(found: Diagnosis, names: Names) -> str:
    """Say what is stated and observed, and what chance says about everything that was looked at."""
    said = measured(found.effect, names)
    where = names.group(found.effect.claim).lstrip()
    start = f"{where[:1].upper()}{where[1:]}, {said}" if where else f"{said[:1].upper()}{said[1:]}"
    n = counted(found.effect.n, "row")
    return f"{start}, in {n}. One test of everything that is said here: {p_is(found.pvalue)}."


def _repairs(found: Diagnosis) -> str:
    """Say what each repair gains on rows that it was not fitted on, the best first."""
    gains = []
    for one in found.repairs[:4]:
        by = "" if one.by is None else f" by {one.by}"
        gains.append(f"{one.method}{by} {shown(one.gain)} (+- {shown(2 * one.stderr)})")
    lead = f"Decrease of the {found.loss} on rows that a repair was not fitted on: "
    if found.repair is None:
        return f"{lead}{', '.join(gains)}. None of them is chosen."
    by = "" if found.repair.by is None else f" by {found.repair.by}"
    chosen = f"The smallest that explains the gain is {found.repair.method}{by}."
    return f"{lead}{', '.join(gains)}. {chosen}"


def _left(work: Work, found: Diagnosis, names: Names) -> Answer | None:
    """Say what is left after the repair, and for which groups."""
    audit = work.found.get("audit")
    question = "What is left, and for whom?"
    said = ""
    word: Word = "no conflict found"
    if found.second is not None:
        word, said = (
            "conflict",
            f"After the repair, {measured(found.second, names)}{names.group(found.second.claim)}. ",
        )
    elif found.effect.remains is not None:
        rest = points(found.effect.remains, signed=True)
        said = f"After the repair, {rest} remain where the fault was largest. "
    if audit is not None and found.word == "conflict" and audit.findings:
        worst = audit.findings[0]
        word, said = "conflict", f"{said}Before it, most clearly off: {worst.group}, {worst.words}."
    elif audit is not None:
        said += f"No group stands out among {audit.n_groups}."
    return Answer("left", question, word, said.strip()) if said else None


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
    share = own / total if total > 0 else 0.0
    interval = interval_of(loss.epistemic)
    word: Word = "cannot tell"
    if interval is not None:
        word = "conflict" if interval[0] > 0 else "no conflict found"
    return (
        Answer(
            "raters",
            "How much of the loss is the model's own?",
            word,
            f"{100 * share:.0f} % of the squared loss of {shown(total)} is the model's own"
            f"{', more than chance explains' if word == 'conflict' else ''}. The other "
            f"{100 * (1 - share):.0f} % is disagreement between raters, which no model can remove.",
        ),
    )


# ---------------------------------------------------------------------------------------------- what to do


def _described(work: Work) -> str:
    found: Diagnosis = work.found["diagnosis"]
    return (
        ""
        if found.repair is None
        else f"{found.repair.description[:1].upper()}{found.repair.description[1:]}"
    )


def _steps(rows: Rows, work: Work, found: Diagnosis, word: Word) -> tuple[tuple[str, str], ...]:
    """Return what to do next, each with a command."""
    file = file_of(work)
    if word == "cannot tell":
        wanted = _labels_wanted(rows, work)
        if wanted is None:
            return ()
        command = plan_command(file_of(work, plan=True), work.margin)
        return ((f"Label more instances, about {wanted}, and look again.", command),)
    if word != "conflict":
        return (
            (
                "Look at parts of the data: a model can be right on average and wrong for some groups.",
                audit_command(file),
            ),
        )
    if found.repair is None:
        return ()
    return (("Repair, then evaluate on new data.", fit_command(file, found.repair.method, found.repair.by)),)


def _labels_wanted(rows: Rows, work: Work) -> str | None:
    """Return how many labels show a gap of the margin with a probability of 80 %."""
    classes = isinstance(rows.sample.predictions, ClassPredictions)
    if not work.margin or rows.sample.clusters is not None or not classes:
        return None
    wanted = plan_labels(rows, gap=work.margin, level=1 - work.level, power=POWER).instances
    return f"{float(f'{wanted:.2g}'):,.0f}".replace(",", " ")


def _run(rows: Rows, work: Work) -> Headline:
    if work.found["claims"] is not None:
        return claims_headline(work.found["claims"], rows, work)
    return _headline(rows, work)


def _untested(work: Work) -> Headline:
    reason = "tests were switched off" if not work.tests else "no test takes such predictions, or so few"
    sentence = f"Whether the predictions are calibrated was not tested: {reason}."
    return Headline("cannot tell", sentence, "", None, None, work.margin, None, (), ())


HEADLINE = Stage("headline", _run)
