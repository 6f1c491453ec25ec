"""Which numbers may stand in the sentences of a report: by the words around them, or as those of a part."""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
from scipy.stats import spearmanr

import credibly as cr
from page_forms import (
    between,
    digits,
    percent,
    percents,
    points,
    points_of,
    region,
    title,
    weights_of,
    wilson,
)
from pages import Sentence, ShownPage

_NUMBER = re.compile(
    r"(?<![\w.^])(?P<number>[-+]?\d+(?: \d{3})*(?:\.\d+)?(?:e[-+]?\d+)?)(?![\w^])(?P<unit> points?\b)?"
)
_NOT_HELD = ("null_distribution", "distance_draws", "imprecision_draws", "settings")
_IN_WORDS = (
    "notes",
    "finding",
    "evidence",
    "scope",
    "sentence",
    "remedy",
    "steps",
    "questions",
    "hypothesis",
)


def numbers_in(thing: Any, rows: int) -> Iterator[float]:
    """Return all numbers that a result holds, but for those of single rows and replicates, and its prose."""
    if isinstance(thing, (bool, np.bool_)) or thing is None:
        return
    if isinstance(thing, (int, float, np.number)):
        yield float(thing)
    elif isinstance(thing, str):
        yield from (float(one) for one in re.findall(r"\d+(?:\.\d+)?", thing))
    elif isinstance(thing, np.ndarray):
        if rows not in thing.shape and thing.size <= 300 and thing.dtype.kind in "fiu":
            yield from thing.ravel().tolist()
    elif isinstance(thing, Mapping):
        for one in thing.values():
            yield from numbers_in(one, rows)
    elif isinstance(thing, (tuple, list)):
        for one in thing:
            yield from numbers_in(one, rows)
    elif dataclasses.is_dataclass(thing):
        for field in dataclasses.fields(thing):
            if field.name not in (*_NOT_HELD, *_IN_WORDS):
                yield from numbers_in(getattr(thing, field.name), rows)
        if isinstance(thing, cr.results.Estimate) and thing.has_interval:
            yield from thing.interval()


_AS_SHARE = (".0f", ".1f", ".2f", ".3f", ".3g", ".4g", "+.0f", "+.1f", "+.2f")


def shown_forms(numbers: Iterable[float]) -> tuple[set[str], set[str]]:
    """Return numbers as they may be written: as they are, and as per cent or points, up or down."""
    plain, hundredth = set(), set()
    for number in numbers:
        if not math.isfinite(number):
            continue
        for value in {number, abs(number)}:
            plain |= {digits(value), f"{value:g}", f"{value:.4g}", f"+{digits(value)}"}
            up = math.ceil(1000 * value - 1e-9) / 1000, math.ceil(100 * value - 1e-9) / 100
            for share in (value, *up):
                hundredth |= {f"{100 * share:{form}}" for form in _AS_SHARE}
    return plain, hundredth


def unexplained(sentence: Sentence, named: Iterable[str], forms: tuple[set[str], set[str]]) -> list[str]:
    """Return what is wrong about the numbers of a sentence.

    Each of `named` must be in it, a number between the words that say which one it is. Every other number
    must be one of `shown_forms`; before "%" and "points" as a share.
    """
    text, said, wrong = sentence.text, [], []
    for words in named:
        at = text.find(words)
        said.append(range(at, at + len(words)))
        if at < 0:
            wrong.append(f"{sentence.part}: “{words}” is not in “{text}”")
    plain, hundredth = forms
    for found in _NUMBER.finditer(text):
        share = found["unit"] or text[found.end() :].startswith(" %")
        if any(found.start("number") in span for span in said):
            continue
        if found["number"] not in (hundredth if share else plain | hundredth):
            wrong.append(f"{sentence.part}: {found['number']} in “{text}” is no number of that part")
    return wrong


@dataclasses.dataclass(frozen=True)
class Named:
    """Numbers with the words around them, all in one sentence of one part of a page."""

    part: str
    words: tuple[str, ...]


def sentence_faults(
    page: ShownPage, named: Iterable[Named], stored: Iterable[str], numbers: Any
) -> list[str]:
    """Return what is wrong about the sentences of a page.

    Parameters
    ----------
    page : ShownPage
        The page.
    named : iterable of Named
        What some sentence must say.
    stored : iterable of str
        Sentences of the result itself that are shown as they are, about numbers that it does not keep.
    numbers : callable
        From the name of a part to the numbers that may stand there.

    Returns
    -------
    list of str
        One entry per fault; empty for a right page.
    """
    said: dict[int, list[str]] = {}
    wrong = []
    for one in named:
        places = [
            at
            for at, sentence in enumerate(page.sentences)
            if sentence.part == one.part
            and at not in said
            and all(word in sentence.text for word in one.words)
        ]
        if places:
            said[places[0]] = list(one.words)
        else:
            wrong.append(f"{one.part}: no sentence says {' … '.join(one.words)}")
    as_they_are = {text.replace("`", "").rstrip(".") for text in stored}
    forms = {part: shown_forms(set(numbers(part))) for part in {sentence.part for sentence in page.sentences}}
    for at, sentence in enumerate(page.sentences):
        if sentence.text.rstrip(".") not in as_they_are:
            wrong += unexplained(sentence, said.get(at, ()), forms[sentence.part])
    return wrong


# ----------------------------------------------------------------------------------------------- evaluations


def evaluation_faults(page: ShownPage, evaluation: cr.Evaluation, wanted: int | None = None) -> list[str]:
    """Return what is wrong about the sentences of an evaluation's page; `wanted` labels were planned."""
    stored = [
        *evaluation.notes,
        *evaluation.warnings,
        *(word for pair in evaluation.not_run for word in pair),
    ]
    shown = [(sentence.part, sentence.text) for sentence in page.sentences]
    missing = [
        f"{part}: “{text}” is missing" for part, text in _as_said(evaluation) if (part, text) not in shown
    ]
    named = [*_first(evaluation), *_tests(evaluation), *_curves(evaluation), *_parts(evaluation)]
    if wanted is not None:
        about = f"{float(f'{wanted:.2g}'):,.0f}".replace(",", " ")  # two digits, thousands apart
        named += [Named("headline", (f"About {about} labels",)), Named("next", (f"about {about}, and",))]
    return missing + sentence_faults(page, named, stored, lambda part: _held(part, evaluation))


def _as_said(evaluation: cr.Evaluation) -> Iterator[tuple[str, str]]:
    """Return the sentences of the evaluation that a page shows as they are."""
    first = evaluation.headline
    yield from (("headline", text) for text in (first.sentence, first.remedy, *evaluation.warnings) if text)
    yield from (
        (f"question-{question.about}", f"{question.word} {question.sentence}".strip())
        for question in first.questions
    )
    for part, verdicts in _answers(evaluation).items():
        for verdict in verdicts:
            yield part, f"{verdict.word} {verdict.finding}"
            if verdict.evidence:
                yield part, f"{verdict.evidence}; {verdict.scope}."


def _answers(evaluation: cr.Evaluation) -> dict[str, tuple[Any, ...]]:
    """Return the verdicts of every part of the page."""
    found = {"numbers": evaluation.verdicts}
    names = {"credal": "sets", "validity": "validity", "check": "checks", "audit": "audit"}
    for name, verdicts in evaluation.answers.items():
        # checks without a conflict stand in a table
        kept = [verdict for verdict in verdicts if name != "check" or verdict.word != "no conflict found"]
        found[names[name]] = tuple(kept)
    return found


def _first(evaluation: cr.Evaluation) -> Iterator[Named]:
    """Return what the first screen says in a few words about shares and sizes."""
    first, diagnosis = evaluation.headline, evaluation.diagnosis
    if first.word == "cannot tell" and first.bound is not None and evaluation.tests:
        step = 0.001 if first.bound < 0.0995 else 0.01  # a bound is rounded up
        yield Named("headline", (f" {points(step * math.ceil(first.bound / step - 1e-9))} points",))
    if diagnosis is not None and not first.finding.case.startswith("seen"):
        yield from _diagnosed(first, diagnosis)
    if evaluation.curves is not None and diagnosis is not None:
        risk = evaluation.curves.risk_coverage["confidence"]
        half, wrong = percents(float(np.interp(0.5, risk.coverage, risk.risk)), float(risk.risk[-1]))
        yield Named("question-errors", (f" {half} are wrong", f" {wrong}"))
    if evaluation.reals is not None:
        pit, coverage, spread = evaluation.reals.pit, evaluation.reals.coverage, evaluation.reals.spread
        (share,) = percents(float(pit.observed[np.abs(pit.levels - 0.5).argmin()]))
        yield Named("question-where", (f"{share} of the labels lie",))
        at = int(np.abs(coverage.levels - 0.9).argmin())
        (stated,), (share,) = percents(float(coverage.levels[at])), percents(float(coverage.observed[at]))
        yield Named("question-coverage", (f" {stated} intervals contain {share} of the labels",))
        if spread is not None:
            ends = (
                f"{digits(spread.observed[at])} where it states {digits(spread.stated[at])}" for at in (0, -1)
            )
            yield Named("question-stated", tuple(ends))
    if evaluation.claims is not None:
        claims = evaluation.claims
        (share,) = percents(float(claims.coverage.value))
        said = f" {100 * claims.claimed:.4g} % {claims.kind} contain {share} of the labels"
        yield Named("question-claimed", (said, digits(claims.size.value)))


def _diagnosed(first: Any, result: Any) -> Iterator[Named]:
    """Return what is said about the effect, its size and interval, and about the repair."""
    effect, words = result.effect, []
    sides = effect.interval if sum(effect.interval) > 0 else [-end for end in reversed(effect.interval)]
    if effect.claim.measure in ("confidence", "class", "coverage"):
        words = [f"{points(effect.size)} point", f"(95 %: {points_of(sides[0])} to {points_of(sides[1])})"]
        if effect.claim.measure == "class":
            words[1] = words[1][1:]
        words.append(f" {effect.n} row")
    elif effect.claim.measure == "mean":
        words = [f"by {digits(abs(effect.size))} on average (95 %: {between(sides)})"]
    low, high = effect.interval
    if not (result.word == "conflict" and low < 0 < high):
        yield Named("question-what", (*words, f"p = {digits(result.pvalue)}."))
    if result.repair is not None:
        error = digits(2 * result.repair.stderr)
        yield Named("question-repairs", (f"held-out loss by {digits(result.repair.gain)} (± {error})",))


def _means(curve: Any) -> tuple[float, float]:
    """Return mean confidence and accuracy from the bins of a curve."""
    inside = curve.weight > 0
    stated, right = (
        np.average(one[inside], weights=curve.weight[inside]) for one in (curve.predicted, curve.observed)
    )
    return float(stated), float(right)


def _tests(evaluation: cr.Evaluation) -> Iterator[Named]:
    """Return what is said about each test: its value, p-values, effect and sizes, and below its picture."""
    family = len([name for name in evaluation.tests if name != "omnibus"])
    tested = [
        ("numbers", verdict, evaluation.tests[verdict.statistic], family)
        for verdict in evaluation.verdicts
        if verdict.evidence
    ]
    if evaluation.credal is not None:
        _, *own = evaluation.credal.verdicts
        for verdict, test in zip(own, evaluation.credal.tests.values(), strict=True):
            tested.append(("sets", verdict, weights_of(test), 1))
        witness = evaluation.credal.validity
        p, exact = digits(witness.pvalue), digits(witness.details.exact_pvalue)
        orders = len(witness.details.scores)
        yield Named("sets", (f"p = {p} (", f"exact p = {exact};", f"n = {witness.n},", f"{orders} orders"))
    if evaluation.validity is not None:
        tested.append(("validity", evaluation.validity.verdict, evaluation.validity.test, 1))
    for part, verdict, test, family in tested:
        yield Named(part, tuple(_evidence(test, family)))
        if part == "numbers" and evaluation.claims is None:
            whose = " of one rater per instance" if evaluation.predictions.rated else ""
            yield Named(part, (f"{verdict.word} {title(verdict.statistic)} {digits(test.statistic)}{whose}",))
        where = "inside" if verdict.limit[0] <= test.statistic <= verdict.limit[1] else "outside"
        said = f"{title(test.statistic_name)} {digits(test.statistic)} lies {where} the"
        yield Named(part, (said, f"({between(verdict.limit)})", f"p = {digits(test.pvalue)}."))


def _evidence(test: Any, family: int) -> Iterator[str]:
    yield f"p = {digits(test.pvalue)} ("
    if test.pvalue_interval is not None:
        yield f"95 % Monte-Carlo interval {between(test.pvalue_interval)},"
    if family > 1:
        yield f"adjusted for {family} statistics {digits(test.adjusted_pvalue)};"
    yield f"; {digits(abs(test.effect_size))} {'above' if test.effect_size >= 0 else 'below'} the mean of"
    yield f"; n = {test.n}"
    yield f", {test.n_resamples} replicates."


def mean_gap(curve: Any) -> float:
    """Return the mean distance between predicted and observed over the bins of a curve."""
    inside = curve.weight > 0
    return float(np.average(np.abs(curve.observed - curve.predicted)[inside], weights=curve.weight[inside]))


def _outside(observed: Any, band: Any) -> int:
    low, high = band
    return int(((observed < low - 1e-12) | (observed > high + 1e-12)).sum())


def _curves(evaluation: cr.Evaluation) -> Iterator[Named]:
    """Return what is said about classes, and about answers in the order of confidence."""
    curves = evaluation.curves
    if curves is None:
        return
    worst = int(curves.class_errors.argmax())
    largest = digits(curves.class_errors[worst])
    yield Named("classes", (f"Class {evaluation.classes[worst]} has the largest error, {largest}",))
    yield Named("classes", (f"the {len(curves.class_errors)} worst of {len(evaluation.classes)} classes",))
    for curve in curves.per_class:
        bins = ()
        filled = curve.weight > 0
        if curve.band is not None:
            out = _outside(curve.observed[filled], [end[filled] for end in curve.band])
            bins = (f"; {out} of {filled.sum()} non-empty bins",)
        yield Named("classes", (f"Error {digits(mean_gap(curve))}", *bins))
    (name, first), *others = curves.risk_coverage.items()
    half = {
        by: float(np.interp(0.5, coverage.coverage, coverage.risk))
        for by, coverage in curves.risk_coverage.items()
    }
    stated = float(np.interp(0.5, first.coverage, first.stated))
    yield Named(
        "risk-coverage",
        (
            f"half by {name}, {digits(half[name])} of the answers are wrong",
            f"{digits(first.risk[-1])} of all answers",
            f"state {digits(stated)}",
            *(f"Ordered by {by}: {digits(half[by])}" for by, _ in others),
        ),
    )


def _parts(evaluation: cr.Evaluation) -> Iterator[Named]:
    """Return what is said about the numbers of each part."""
    if evaluation.recalibration is not None:
        beside = any(question.about == "left" for question in evaluation.headline.questions)
        yield from _recalibration(evaluation.recalibration, is_captioned=not beside)
    if evaluation.raters is not None:
        loss = evaluation.raters.loss
        few, many = loss.raters
        # unbiased terms may be negative; a share of the loss is at most all of it
        share = min(1.0, max(0.0, loss.irreducible.value / loss.expected.value))
        yield Named(
            "raters",
            (
                f"{loss.n} instances with {few:g} to {many:g} raters",
                f"expected loss {digits(loss.expected.value)}",
                f"{digits(loss.irreducible.value)} ({100 * share:.0f} %) is disagreement",
                f"{digits(loss.calibration.value)} calibration loss",
                f"{digits(loss.dispersion.value)} dispersion loss",
            ),
        )
        if evaluation.predictions.kind != "Point":  # whose picture stands beside a question, without caption
            yield _pairs_of_raters(evaluation.raters.disagreement.bins)
    if evaluation.ignorance is not None:
        ignorance = evaluation.ignorance.stated
        few, many = ignorance.labels
        yield Named("ignorance", (f"{ignorance.n} instances with {few} to {many} labels each",))
    if evaluation.score is not None:
        yield from _score(evaluation.score.score)
    if evaluation.check is not None and evaluation.check.bayesian is not None:
        yield _members(evaluation.check, evaluation.settings["level"])
    if evaluation.validity is not None:
        test = evaluation.validity.test
        deviance = np.asarray(test.details.deviance)
        yield Named(
            "validity",
            (
                f"Of {test.n} instances, {(deviance <= 1e-6).sum()} have frequencies inside",
                f"and {(np.asarray(test.details.adjusted_pvalues) <= 0.05).sum()} have deviances",
                f"among {test.n} does",
                f"(above {digits(test.details.largest_explained)})",
                f"largest is {digits(deviance.max())}, of row {deviance.argmax()}.",
            ),
        )
    if evaluation.claims is not None:
        claims = evaluation.claims
        share = percent(claims.coverage.value)
        said = f"{100 * claims.claimed:.4g} % {claims.kind} contain {share} of {claims.n}"
        strata = [one for one in (claims.by_size, claims.by_group) if one is not None and len(one.names) > 1]
        ends = [
            wilson(share, n)
            for coverage in strata
            for share, n in zip(coverage.coverage, coverage.n, strict=True)
        ]
        missed = sum(not low <= claims.claimed <= high for low, high in ends)
        parts = (f"{missed} of {len(ends)} parts",) if missed else ()
        yield Named("claims", (said, *parts))
    if evaluation.audit is not None:
        audit = evaluation.audit
        p, ends = digits(audit.pvalue), between(audit.pvalue_interval)
        sizes = (f"n = {audit.n}", f"{audit.n_parts} group", f"{audit.n_resamples} replicates")
        yield Named("audit", (f"family-wise p = {p} (Monte-Carlo {ends})", *sizes))
    parts = evaluation.decomposition
    if parts is not None and hasattr(parts, "miscalibration"):
        yield Named(
            "numbers",
            (
                f"costs {between(parts.miscalibration_interval)} of the CRPS of {digits(parts.loss.value)} (",
                f"saves {between(parts.discrimination_interval)} (",
                f"uncertainty, {digits(parts.uncertainty.value)}:",
            ),
        )


def _pairs_of_raters(bins: Any) -> Named:
    """Return what is said about the bin with the largest gap, by its instances."""
    gap = np.where(bins.count[0] > 0, bins.observed[0] - bins.predicted[0], 0.0)
    worst = int((bins.count[0] * np.abs(gap)).argmax())
    more = "more" if gap[worst] > 0 else "less"
    instances = int(bins.count[0][worst])
    return Named(
        "raters",
        (
            f"at predicted {digits(bins.predicted[0][worst])}, raters",
            f"disagree {digits(abs(gap[worst]))} {more} than",
            f"({instances} instance{'s' * (instances > 1)})",
        ),
    )


def _score(score: Any) -> Iterator[Named]:
    mean = [] if score.average is None else [score.average]
    total, distance, imprecision = (
        digits(score.summary[part]["all"].mean) for part in ("total", "distance", "imprecision")
    )
    yield Named(
        "score",
        (
            f"Score E {total} at trade-off {score.tradeoff:g}:",
            f"distance {distance} plus imprecision {imprecision} (",
            *(f"alone scores {digits(one.summary['total']['all'].mean)}" for one in mean),
            *(
                f"({100 * (dependence.other_score / dependence.score - 1):+.0f} %, {dependence.n} instances)"
                for dependence in score.dependences
            ),
        ),
    )
    for part in ("distance", "imprecision"):
        every = [one.summary[part] for one in (score, *mean)]
        larger = sum(one["wrong"].mean > one["right"].mean for one in every)
        yield Named("score", (f"{part.capitalize()} is larger", f"in {larger} of {len(every)} models"))
    ranks = spearmanr(score.distance, score.imprecision).statistic
    yield Named("score", (f"{score.n} of {score.n} instances", f"imprecision {digits(ranks)}."))
    tenth = np.minimum((10 * np.asarray(score.confidence)).astype(int), 9)
    ends = {
        name: [
            digits(np.asarray(getattr(score, name))[tenth == one].mean())
            for one in (tenth.min(), tenth.max())
        ]
        for name in ("entropy", "imprecision")
    }
    (low, high), (least, most) = ends.values()
    yield Named("score", (f"entropy goes from {low} to {high}", f"imprecision from {least} to {most}."))


def _members(check: Any, level: float) -> Named:
    """Return what is said about the members' replicates of the statistic with the smallest p-value."""
    part = check.bayesian
    worst = min(part.checks.values(), key=lambda one: one.deciding_pvalue)
    means = [worst.null_distribution[part.members == j].mean() for j in np.unique(part.members)]
    return Named(
        "checks",
        (
            f"{title(worst.statistic_name)} {digits(worst.statistic)} lies",
            f"({between(region(worst, level))})",
            f"p = {digits(worst.pvalue)};",
            f"the means of {len(means)} members reach from {digits(min(means))} to {digits(max(means))}.",
        ),
    )


def _recalibration(report: Any, is_captioned: bool) -> Iterator[Named]:
    words = [f"on {report.n} instances in {report.n_folds} folds"]
    for name, one in report.methods.items():
        change = one.changes["log_loss"] if "log_loss" in one.changes else one.changes["crps"]
        moved = f"from {digits(change.before.value)} to {digits(change.after.value)}"
        words.append(f"{name} moves {title(change.name)} {moved}{_within(change.difference)}")
    yield Named("recalibration", tuple(words))
    if not is_captioned:  # the picture stands beside a question
        return
    if hasattr(report.curve, "edges"):
        after = [f"{digits(mean_gap(method.curve))} after {name}" for name, method in report.methods.items()]
        yield Named("recalibration", (f"is {digits(mean_gap(report.curve))} before recalibration", *after))
    elif report.curve is not None:
        gaps = {"before": report.curve, **{name: method.curve for name, method in report.methods.items()}}
        before, *after = (digits(np.abs(gap.observed - gap.levels).mean()) for gap in gaps.values())
        said = [f"{gap} after {name}" for gap, name in zip(after, report.methods, strict=True)]
        yield Named("recalibration", (f"is {before} before recalibration", *said))


def _within(difference: Any) -> str:
    return (
        f" (95 % interval of the change {between(difference.interval())})" if difference.has_interval else ""
    )


_OF = {
    "classes": ("curves",),
    "sets": ("credal",),
    "checks": ("check",),
    "audit": ("audit",),
    "validity": ("validity",),
    "risk-coverage": ("curves",),
    "score": ("score",),
    "raters": ("raters",),
    "ignorance": ("ignorance",),
    "recalibration": ("recalibration",),
    "reals": ("reals",),
    "claims": ("claims",),
    "numbers": ("verdicts", "tests", "estimates", "decomposition"),
    "groups": ("groups",),
    "again": (),
    "not-run": (),
    "": (),
}
"""Which fields of the evaluation each part of its page is about; headline and questions are about all."""


def _held(part: str, evaluation: cr.Evaluation) -> Iterator[float]:
    """Return the numbers that may stand in the sentences of a part."""
    seen, level = evaluation.predictions, float(evaluation.settings["level"])
    yield from (seen.n, seen.m, level, 1 - level, evaluation.settings["n_resamples"], 0.95)
    yield from (() if seen.n_clusters is None else (seen.n_clusters,))
    if evaluation.audit is not None:
        yield evaluation.audit.n_parts
    if part == "audit":
        yield 0.8  # the probability with which an effect is detected
    if part == "reals" and evaluation.reals.spread is not None:
        yield level * len(evaluation.reals.spread.stated)  # bins outside their band by chance
    if part in ("validity", "question-spread") and evaluation.validity is not None:
        own = evaluation.settings["levels"]["validity"]  # beside the other tests of the first screen
        yield len(evaluation.validity.test.details.failing(own))
        yield float(np.asarray(evaluation.validity.test.details.deviance).sum())
    if part == "numbers":  # replicates that would be enough for so many statistics
        family = len([name for name in evaluation.tests if name != "omnibus"])
        yield from (family, math.ceil(2 * family / level - 1e-9) - 1)
    if part == "numbers" and evaluation.claims is not None:
        yield from numbers_in(evaluation.claims, seen.n)
    if part.startswith(("numbers", "headline", "question")) and evaluation.claims is not None:
        claims = evaluation.claims
        for strata in (claims.by_size, claims.by_group):  # how far a part is from the claim
            if strata is not None:
                yield from (claims.claimed - strata.coverage).tolist()
    if part.startswith(("headline", "question")):
        yield from _derived(evaluation)
    fields = _OF.get(part, tuple(field.name for field in dataclasses.fields(evaluation)))
    for name in fields:
        yield from numbers_in(getattr(evaluation, name), seen.n)


def _derived(evaluation: cr.Evaluation) -> Iterator[float]:
    """Return what the first screen says and the evaluation holds in pieces: means over bins, half a curve."""
    if any(test.pvalue < 1e-4 for test in evaluation.tests.values()):
        yield 1e-4  # "p < 0.0001"
    if evaluation.diagnosis is not None:
        yield from _of_diagnosis(evaluation.diagnosis)
    if evaluation.claims is not None:
        yield len(evaluation.tests)
    if evaluation.curves is None:
        return
    curve, risk = evaluation.curves.top_label, evaluation.curves.risk_coverage["confidence"]
    inside = curve.weight > 0
    yield from (*_means(curve), float(np.interp(0.5, risk.coverage, risk.risk)))
    if curve.band is not None:
        for far in (curve.observed < curve.band[0], curve.observed > curve.band[1]):
            if (far & inside).any():
                yield float(np.average((curve.predicted - curve.observed)[far], weights=curve.weight[far]))


def _of_diagnosis(diagnosis: Any) -> Iterator[float]:
    """Return what sentences make of a diagnosis: errors of gains, shares outside, factors, slopes."""
    yield diagnosis.n_resamples
    for repair in diagnosis.repairs:
        yield from (2 * repair.stderr, -repair.gain)
    for effect in (diagnosis.effect, *([] if diagnosis.second is None else [diagnosis.second])):
        yield from (1 - effect.stated, 1 - effect.observed)
        if effect.claim.level is not None:
            yield (1 - effect.claim.level) / 2
        if effect.claim.measure == "class":
            low, high = sorted((effect.stated, effect.observed))
            yield from (() if low <= 0 else (round(high / low, 1), round(high / low)))
        if effect.claim.measure in ("slope", "spread"):
            ends = [1 - end for end in effect.interval]
            yield from (ends if effect.claim.measure == "slope" else [2**end for end in ends])
            yield 2**effect.observed


# ----------------------------------------------------------------------------------------------- comparisons


def comparison_faults(page: ShownPage, comparison: Any) -> list[str]:
    """Return what is wrong about the sentences of a comparison's page."""
    ranking = comparison.ranking
    texts = [sentence.text for sentence in page.sentences]
    advice = [str(recommendation) for recommendation in comparison.recommendations.values()]
    said = [comparison.findings[0], *advice]
    said += comparison.findings if comparison.by_scores else comparison.tradeoff_findings
    missing = [f"“{text}” is missing" for text in said if text not in texts]
    numbers = [0.95, len(comparison.models), ranking.n, ranking.level]
    numbers += numbers_in((ranking, comparison.recommendations, comparison.estimates), ranking.n)
    named = [] if comparison.by_scores else list(_compared(comparison))
    stored = [*comparison.notes, *comparison.warnings]
    for (
        name,
        question,
    ) in comparison.calibration.items():  # tests/unit/evaluation/test_comparison.py compares them
        fault = (
            " ".join(filter(None, (f"{name}: {question.sentence}", question.remedy)))
            if question.sentence
            else ""
        )
        missing += [f"“{fault}” is missing"] * (fault != "" and fault not in texts)
        stored.append(fault)
    return missing + sentence_faults(page, named, stored, lambda part: numbers)


def _compared(comparison: cr.Comparison) -> Iterator[Named]:
    gaps = {}
    for model in comparison.standings["log_loss"].names:
        gap = comparison.estimates[model]["confidence_gap"].value
        gaps[model] = f"{model} {points(gap)} points too {'sure' if gap > 0 else 'unsure'}"
    yield Named("picture", tuple(gaps.values()))
    if not comparison.recommendations:
        return
    scores = comparison.ranking.lines.scores
    for part in ("distance", "imprecision"):
        larger = sum(
            score.summary[part]["wrong"].mean > score.summary[part]["right"].mean for score in scores.values()
        )
        yield Named("models", (f"{part.capitalize()} is larger", f"in {larger} of {len(scores)} models"))
    for group in ("right", "wrong"):
        mean, name = min((score.summary["total"][group].mean, name) for name, score in scores.items())
        yield Named(
            "models", (f"Over {group} predictions {name} has the smallest mean score, {digits(mean)}.",)
        )
