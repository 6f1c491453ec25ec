"""Run the tests of sets that the input allows, within seconds, and put their answers into words."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from credibly._arrays.checks import InvalidRowsError
from credibly._arrays.errors import CrediblyError
from credibly._arrays.namespace import Array, like
from credibly._arrays.philox import Seed
from credibly.evaluation.results import PredictionSummary
from credibly.evaluation.rows import MOST_ROWS_UNASKED, has_counts
from credibly.evaluation.sets import CredalParts, ValidityParts, why_not
from credibly.evaluation.stages import Progress, Reasons
from credibly.evaluation.verdict import Verdict, Word
from credibly.evaluation.words import evidence, percent, shown, shown_range, title
from credibly.hypotests import credal_test, validity_test
from credibly.hypotests.credal.basis import check_features
from credibly.hypotests.resampling.pvalues import acceptance_region
from credibly.predictions import ClassPredictions, Dirichlet, Point, Rows, as_labels
from credibly.results.tests import CredalTestResult, HypotestResult, LocalDeviations, ValidityResult
from credibly.results.witness import WitnessResult

SET_TEST, VALIDITY = "test of the set", "test of the labels' distributions"

MOST_REFITS = 500_000
"""Instances x points x replicates up to which weights are learned again for every replicate, unasked."""
MOST_REPLICATES = 199
"""Replicates up to which weights are refitted and raters drawn again, unasked."""
MOST_SEARCHES = 99
"""Replicates up to which one weight vector is searched again, unasked."""

_MEAN_ONLY = (
    "the mean of the set was evaluated; another distribution in the set may fit the labels where the mean "
    "does not, or the other way round"
)
_MEANS = {
    "learned": "no combination with weights that this learner can represent fits these labels",
    "constant": "no combination with one weight vector for all instances fits these labels",
}


def credal_parts(
    rows: Rows,
    summary: PredictionSummary,
    *,
    classes: Sequence[str],
    tests: bool,
    n_resamples: int,
    level: float,
    seed: Seed,
    tell: Progress,
) -> tuple[CredalParts | None, Reasons]:
    """Return the tests of the set that can be run, and the reasons of those that cannot."""
    n, some = rows.n, rows.sample.predictions
    if isinstance(some, Point) or not isinstance(some, ClassPredictions):
        return None, []
    whole = rows.loaded(MOST_ROWS_UNASKED)
    if whole is None:
        return None, [(SET_TEST, f"{_too_many_rows(n)}; {_MEAN_ONLY}")]
    predictions, labels, features = whole.predictions, whole.observed, whole.features
    assert isinstance(predictions, ClassPredictions)
    try:
        columns = None if features is None else check_features(features, predictions)
    except InvalidRowsError as error:  # gaps among features that came with a file are no reason to stop
        return None, [(SET_TEST, f"{error.subject} {error.rule}, {error.evidence}; {_MEAN_ONLY}")]
    if not tests:
        return None, [(SET_TEST, f"tests=False; {_MEAN_ONLY}")]
    if n > MOST_ROWS_UNASKED:
        return None, [(SET_TEST, f"{_too_many_rows(n)}; {_MEAN_ONLY}")]
    found: dict[str, CredalTestResult] = {}
    reasons: Reasons = []
    refits = min(n_resamples, MOST_REPLICATES)
    work = n * (summary.m + predictions.n_classes) * refits
    for weights in ("learned", "constant"):
        if weights == "learned" and work > MOST_REFITS:
            reasons.append(
                (f"{SET_TEST} with learned weights", "it takes more than a few seconds; use `credal_test`")
            )
            continue
        try:
            found[weights] = credal_test(
                predictions,
                labels,
                columns if weights == "learned" else None,
                weights=weights,
                n_resamples=refits if weights == "learned" else min(n_resamples, MOST_SEARCHES),
                rng=seed,
            )
        except CrediblyError as error:
            reasons.append((f"{SET_TEST} with {weights} weights", f"{why_not(error)}; {_MEAN_ONLY}"))
        tell("set", len(found), 2)
    validity = found["learned"].validity if "learned" in found else None
    if validity is None:
        alone = credal_test(predictions, labels, method="witness", rng=seed)
        validity = alone.validity
        assert validity is not None
    tested = next(iter(found.values()), None)
    if tested is None:
        regions = _regions(alone, predictions, labels, None, n_resamples, seed)
    else:
        regions = _regions(tested, predictions, labels, columns, n_resamples, seed)
    answers = (
        _witness_verdict(validity, classes, summary, level),
        *(_credal_verdict(name, one, summary, level) for name, one in found.items()),
    )
    return CredalParts(validity, found, regions, answers), reasons


def _too_many_rows(n: int) -> str:
    reason = f"it compares all pairs of {n} instances; up to {MOST_ROWS_UNASKED} unasked"
    return f"{reason}, beyond with `credal_test`"


def _regions(
    test: CredalTestResult,
    predictions: ClassPredictions,
    labels: Any,
    columns: Array | None,
    n_resamples: int,
    seed: Seed,
) -> LocalDeviations:
    """Look where the combination fails among the instances that its weights were not learned on."""
    xp, rows = predictions.xp, test.test_rows
    batch = as_labels(predictions, labels)
    seen = xp.take(batch.values, like(rows, predictions._leading), axis=1)[0, ...]
    chosen = None if columns is None else xp.take(columns, like(rows, columns), axis=0)
    return test.regions(predictions[rows], seen, chosen, n_resamples=n_resamples, rng=seed)


def validity_parts(
    rows: Rows,
    summary: PredictionSummary,
    *,
    tests: bool,
    n_resamples: int,
    level: float,
    seed: Seed,
    tell: Progress,
) -> tuple[ValidityParts | None, Reasons]:
    """Return the test of the truth itself, where labels are counts over raters."""
    n, some = rows.n, rows.sample.predictions
    if not has_counts(rows) or not isinstance(some, ClassPredictions):
        return None, []
    if not tests or isinstance(some, Dirichlet) or n > MOST_ROWS_UNASKED:
        reason = "tests=False" if not tests else "a Dirichlet is no set; make one with `credal_set`"
        if tests and n > MOST_ROWS_UNASKED:
            reason = f"it takes minutes for {n} instances; use `validity_test`"
        return None, [(VALIDITY, reason)]
    whole = rows.take(np.arange(n))
    try:
        found = validity_test(
            whole.predictions,
            whole.observed,
            n_resamples=min(n_resamples, MOST_REPLICATES),
            rng=seed,
            progress=lambda done, total: tell("raters", done, total),
        )
    except CrediblyError as error:
        return None, [(VALIDITY, why_not(error))]
    return ValidityParts(found, _validity_verdict(found, summary, level)), []


def _decided(result: HypotestResult, level: float) -> tuple[HypotestResult, Word]:
    null = result.null_distribution
    if null is None:
        return result, result.verdict(level)
    region = acceptance_region(null, result.tail, result.statistic_range, level=level)
    decided = dataclasses.replace(result, acceptance_region=region)
    return decided, decided.verdict(level)


def _witness_verdict(
    result: WitnessResult, classes: Sequence[str], summary: PredictionSummary, level: float
) -> Verdict:
    """Answer the first question about a set: does it hold the truth, given its predictions?"""
    word, where = result.verdict(level), result.where(classes)
    if word == "conflict":
        finding = f"The set misses the truth given the predictions{': ' + where if where else ''}."
    elif word == "no conflict found":
        finding = "No conflict found: labels do not show that the set misses the truth given the predictions."
    else:
        finding = "Cannot tell whether the set holds the truth: too few instances for any labels to show it."
    exact = shown(result.exact_pvalue)
    told = f"p = {shown(result.pvalue)} (witness, valid for every truth in the set), exact p = {exact}"
    return Verdict(
        word=word,
        statistic="witness",
        finding=finding,
        evidence=told,
        scope=f"n = {result.n}, m = {summary.m}, {len(result.scores)} orders",
        size=result.effect_size,
        limit=result.acceptance_region,
    )


def _credal_verdict(name: str, result: CredalTestResult, summary: PredictionSummary, level: float) -> Verdict:
    decided, word = _decided(result, level)
    if result.outcome(level) == "weights alone" and result.validity is not None:
        finding = f"{result.sentence(level)} A conflict takes both."
        return _verdict(word, "credal_test", finding, decided, summary)
    if result.outcome(level) == "witness alone":
        finding = (
            "The set misses the truth given the predictions, but some combination may still be calibrated."
        )
        return _verdict(word, "credal_test", finding, decided, summary)
    region, start = (
        shown_range(decided.acceptance_region),
        f"{title(result.statistic_name)} {shown(result.statistic)}",
    )
    if word == "conflict":
        finding = (
            f"{start} of the best combination in the set ({name} weights) is beyond what it would show if it "
            f"were calibrated ({percent(1 - level)} acceptance {region}): {_MEANS[name]}."
        )
    elif word == "no conflict found":
        finding = (
            f"{start}: no conflict found with the best combination in the set ({name} weights); this check "
            f"would accept {region}."
        )
    else:
        finding = (
            f"{start} of the best combination in the set ({name} weights): cannot tell, because this check "
            f"would accept {region}."
        )
    return _verdict(word, "credal_test", finding, decided, summary)


def _validity_verdict(result: ValidityResult, summary: PredictionSummary, level: float) -> Verdict:
    decided, word = _decided(result, level)
    start, region = (
        f"Evidence of the raters against the set {shown(result.statistic)}",
        shown_range(decided.acceptance_region),
    )
    failing = len(result.failing(level))
    single = f"{failing} of {result.n} instances stand out by themselves after adjustment"
    if failing < 2:
        single = f"{failing or 'none'} of {result.n} instances stands out by itself after adjustment"
    if word == "conflict":
        finding = (
            f"{start} is above what labels drawn from the predicted sets would show ({percent(1 - level)} "
            f"acceptance {region}): not for all instances is the distribution of labels in the set; {single}."
        )
    elif word == "no conflict found":
        finding = f"{start}: no conflict found, but this check would accept {region}."
    else:
        finding = f"{start}: cannot tell, because this check would accept {region}."
    return _verdict(word, "validity_test", finding, decided, summary)


def _verdict(
    word: Word, name: str, finding: str, result: HypotestResult, summary: PredictionSummary
) -> Verdict:
    return Verdict(
        word=word,
        statistic=name,
        finding=finding,
        evidence=evidence(result, 1),
        scope=f"n = {result.n}, m = {summary.m}, {result.n_resamples} replicates",
        size=result.effect_size,
        limit=result.acceptance_region,
    )
