"""The parts of an evaluation about sets: a calibrated combination in them, and the truth itself in them.

Tests that take longer than seconds are left out unasked; the answers of the others are put into words.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from credibly._arrays.checks import InvalidRowsError
from credibly._arrays.errors import CrediblyError
from credibly._arrays.namespace import Array, HostArray, like, to_host
from credibly.evaluation.rows import MOST_ROWS_UNASKED, has_counts
from credibly.evaluation.words import Verdict, Word, at_level, evidence, tested_facts
from credibly.evaluation.work import DRAWN_LABELS, IN_CLUSTERS, NOT_ASKED, Part, Stage, Work
from credibly.hypotests import credal_test, validity_test, weights_test, witness_test
from credibly.learners.basis import check_features
from credibly.predictions import ClassPredictions, Dataset, Dirichlet, Ensemble, Point, Rows, as_labels
from credibly.results.combinations import CombinationDetails, LocalDeviations
from credibly.results.credal import CredalDetails, ValidityDetails, WeightsDetails
from credibly.results.numbers import shown
from credibly.results.tests import HypotestResult
from credibly.results.witness import WitnessDetails
from credibly.statistics.subsampled import random_rows

SET_TEST, VALIDITY = "test of the set", "test of the labels' distributions"

MOST_REFITS = 500_000
"""Instances x points x replicates up to which weights are learned again for every replicate, unasked."""
MOST_REPLICATES = 199
"""Replicates up to which weights are refitted and raters drawn again, unasked."""
MOST_SEARCHES = 99
"""Replicates up to which one weight vector is searched again, unasked."""

MOST_RATED = 2500
"""Instances whose raters are drawn again, unasked."""

_MEAN_ONLY = (
    "the mean of the set was evaluated; another distribution in the set may fit the labels where the mean "
    "does not, or vice versa"
)
_IN_CLUSTERS = (
    "for rows in clusters only the witness is tested; run learned weights with "
    "`weights_test(clusters=clusters)`"
)
_LONG = ("weights", "test_rows", "combination")
_PER_ROW = ("excess", "test_rows", "combination")
_PER_INSTANCE = ("deviance", "pvalues", "adjusted_pvalues", "nearest", "raters", "smallest_pvalues")
_MOST_LISTED = 100


@dataclasses.dataclass(frozen=True)
class CredalParts(Part):
    """Whether the set contains the truth and a calibrated combination, and where it fails.

    Attributes
    ----------
    validity : HypotestResult of WitnessDetails
        Whether the distribution of the label given the predictions is in the set: the first question.
    tests : mapping of str to HypotestResult of WeightsDetails
        By kind of weights: ``"learned"`` depends on the instance and has CredalDetails, so that its conflicts
        require the witness to reject as well; ``"constant"`` is one vector for all.
    regions : LocalDeviations or None
        Where in feature space the most flexible combination that was found fails; None for rows in clusters.
    verdicts : tuple of Verdict
        One for the witness, at its share of the level (``settings["levels"]``), then one per kind of weights,
        each on its own at the level of the evaluation.
    rows : ndarray of int
        Instances that were tested, one per entry of the arrays in `validity` and `tests`;
        ``impossible_rows`` are already numbers of all.
    n_all : int
        Total number of instances.
    classes : tuple of str
        Names of the classes of the sets.
    """

    drawn_as = ("regions", "validity")

    validity: HypotestResult[WitnessDetails]
    tests: Mapping[str, HypotestResult[WeightsDetails]]
    regions: LocalDeviations | None
    verdicts: tuple[Verdict, ...]
    rows: HostArray
    n_all: int
    classes: tuple[str, ...] = ()

    @property
    def answers(self) -> tuple[Verdict, ...]:
        """Its verdicts: the first question is whether the set holds the truth."""
        return self.verdicts

    @property
    def pvalue(self) -> float:
        """The p-value of the witness, which decides the first verdict."""
        return self.validity.deciding_pvalue

    def remarks(self, shared: Sequence[str]) -> tuple[str, ...]:
        """Return how many instances were tested, where they are not all."""
        if self.rows.size == self.n_all:
            return ()
        some = f"{self.rows.size} of {self.n_all} instances, drawn at random with the seed"
        return (f"{SET_TEST}: {some}, were tested; `credal_test` uses all",)

    def to_dict(self) -> dict[str, Any]:
        """Return everything in JSON-safe types; for weights per instance only their means."""
        entries = super().to_dict()
        for long in _PER_ROW:
            entries["validity"].pop(long)
        entries.pop("rows")
        entries["validity"]["impossible_rows"] = self.validity.details.impossible_rows[:_MOST_LISTED].tolist()
        entries["validity"]["evidence_rows"] = self.rows[self.validity.details.evidence_rows()].tolist()
        for name, test in self.tests.items():
            entries["tests"][name].pop("validity", None)
            names = test.details.weight_names
            means = np.asarray(test.details.weights).reshape(-1, len(names)).mean(axis=0)
            for long in _LONG:
                entries["tests"][name].pop(long)
                entries["tests"][name].get("calibration", {}).pop(long, None)
            entries["tests"][name]["mean_weights"] = dict(zip(names, means.tolist(), strict=True))
        return entries


@dataclasses.dataclass(frozen=True)
class ValidityParts(Part):
    """Whether the distribution of labels of each instance lies in its set.

    Attributes
    ----------
    test : HypotestResult of ValidityDetails
        Over all instances, and for each.
    verdict : Verdict
        The answer over all instances.
    """

    drawn_as = ("test",)

    test: HypotestResult[ValidityDetails]
    verdict: Verdict

    @property
    def answers(self) -> tuple[Verdict, ...]:
        """The verdict over all instances."""
        return (self.verdict,)

    @property
    def pvalue(self) -> float:
        """The p-value of the test over all instances."""
        return self.test.deciding_pvalue

    def to_dict(self) -> dict[str, Any]:
        """Return everything in JSON-safe types; for single instances only the worst that fail."""
        entries = super().to_dict()
        for name in _PER_INSTANCE:
            entries["test"].pop(name)
        failing = self.test.details.failing()
        entries["n_failing"] = len(failing)
        entries["failing"] = [
            {
                "row": int(row),
                "deviance": _number(self.test.details.deviance, row),
                "adjusted_pvalue": _number(self.test.details.adjusted_pvalues, row),
            }
            for row in failing[:_MOST_LISTED]
        ]
        return entries


def _number(values: Any, row: int) -> float | str:
    number = float(to_host(values)[row])
    return number if np.isfinite(number) else "Infinity"


def _is_set(rows: Rows, work: Work) -> str | None:
    """Say why a set is not tested; its mean was evaluated in any case."""
    n, some = work.sets.n, work.sets.example.predictions
    if isinstance(some, Point) or not isinstance(some, ClassPredictions):
        return NOT_ASKED
    if not work.tests:
        return f"tests=False; {_MEAN_ONLY}"
    if isinstance(some, Ensemble) and some.holds_drawn_labels:
        return DRAWN_LABELS
    return f"one instance leaves none to learn from; {_MEAN_ONLY}" if n < 2 else None


def _columns(whole: Dataset) -> Array | None:
    """Return the features, checked, where there are any."""
    assert isinstance(whole.predictions, ClassPredictions)
    return None if whole.features is None else check_features(whole.features, whole.predictions)


def _run_set(rows: Rows, work: Work) -> CredalParts | None:
    rows = work.sets
    chosen = random_rows(rows.n, min(rows.n, MOST_ROWS_UNASKED), work.seed)
    part = rows.take(chosen)
    try:
        columns = _columns(part)
    except InvalidRowsError as error:  # gaps among features that came with a file are no reason to stop
        work.leave_out(SET_TEST, f"{error.subject} {error.rule}, {error.evidence}; {_MEAN_ONLY}")
        return None
    predictions, labels = part.predictions, part.observed
    assert isinstance(predictions, ClassPredictions)
    if part.clusters is not None:
        work.leave_out(f"{SET_TEST} with weights", _IN_CLUSTERS)
        alone = _of_all(witness_test(predictions, labels, clusters=part.clusters, rng=work.seed), chosen)
        return CredalParts(alone, {}, None, (_witness_verdict(alone, work),), chosen, rows.n, work.options)
    tests: dict[str, HypotestResult[WeightsDetails]] = {}
    validity: HypotestResult[WitnessDetails] | None = None
    refits = min(work.n_resamples, MOST_REPLICATES)
    cost = len(part) * (work.summary.m + predictions.n_classes) * refits
    for weights in ("learned", "constant"):
        what = f"{SET_TEST} with {weights} weights"
        if weights == "learned" and cost > MOST_REFITS:
            work.leave_out(what, "it takes more than a few seconds; run it with `credal_test`")
            continue
        try:
            if weights == "constant":
                few = min(work.n_resamples, MOST_SEARCHES)
                tests[weights] = weights_test(
                    predictions, labels, weights="constant", n_resamples=few, rng=work.seed
                )
            else:
                both = credal_test(predictions, labels, features=columns, n_resamples=refits, rng=work.seed)
                witness = both.details.validity
                validity = None if witness is None else _of_all(witness, chosen)
                details = dataclasses.replace(both.details, validity=validity)
                tests[weights] = dataclasses.replace(both, details=details)
        except CrediblyError as error:
            work.leave_out(what, f"it {error.rule}, {error.evidence}; {_MEAN_ONLY}")
        work.tell("set", len(tests), 2)
    if validity is None:
        validity = _of_all(witness_test(predictions, labels, rng=work.seed), chosen)
    first = next(iter(tests.values()), None)
    regions = _regions(validity, part, None, work) if first is None else _regions(first, part, columns, work)
    answers = (
        _witness_verdict(validity, work),
        *(_credal_verdict(name, test, work) for name, test in tests.items()),
    )
    return CredalParts(validity, tests, regions, answers, chosen, rows.n, work.options)


def _of_all(test: HypotestResult[WitnessDetails], chosen: HostArray) -> HypotestResult[WitnessDetails]:
    """Return a test of chosen rows; impossible labels get the numbers that their rows have among all."""
    rows = chosen[test.details.impossible_rows]
    return dataclasses.replace(test, details=dataclasses.replace(test.details, impossible_rows=rows))


def _regions(
    test: HypotestResult[CombinationDetails], part: Dataset, columns: Array | None, work: Work
) -> LocalDeviations:
    """Look where the combination fails among the instances that its weights were not learned on."""
    predictions, rows, names = part.predictions, test.details.test_rows, part.feature_names
    assert isinstance(predictions, ClassPredictions)
    xp, batch = predictions.xp, as_labels(predictions, part.observed)
    seen = xp.take(batch.values, like(rows, predictions._leading), axis=1)[0, ...]
    chosen = None if columns is None else xp.take(columns, like(rows, columns), axis=0)
    if chosen is None or (names is not None and len(names) != chosen.shape[1]):
        names = None
    return test.details.regions(predictions[rows], seen, features=chosen, names=names, **work.drawn)


def _has_raters(rows: Rows, work: Work) -> str | None:
    """Say why the truth itself is not tested where labels are counts over raters."""
    some = rows.example.predictions
    if not has_counts(rows) or not isinstance(some, ClassPredictions):
        return NOT_ASKED
    if not work.tests:
        return "tests=False"
    if rows.example.clusters is not None:
        return IN_CLUSTERS
    if isinstance(some, Ensemble) and some.holds_drawn_labels:
        return DRAWN_LABELS
    if rows.n > MOST_RATED:
        return f"it takes minutes for {rows.n} instances; use `validity_test`"
    return "a Dirichlet is not a set; make one with `credal.as_set`" if isinstance(some, Dirichlet) else None


def _run_validity(rows: Rows, work: Work) -> ValidityParts:
    whole = rows.take(np.arange(rows.n))
    result = validity_test(
        whole.predictions,
        whole.observed,
        n_resamples=min(work.n_resamples, MOST_REPLICATES),
        rng=work.seed,
        progress=partial(work.tell, "raters"),
    )
    return ValidityParts(result, _validity_verdict(result, work))


def judged_set(part: CredalParts, work: Work) -> CredalParts:
    """Return the part with its first verdict at the level of `work`."""
    return dataclasses.replace(part, verdicts=(_witness_verdict(part.validity, work), *part.verdicts[1:]))


def judged_truth(part: ValidityParts, work: Work) -> ValidityParts:
    """Return the part with its verdict at the level of `work`."""
    return dataclasses.replace(part, verdict=_validity_verdict(part.test, work))


def _decided(result: HypotestResult, level: float) -> tuple[HypotestResult, Word]:
    decided = at_level(result, level)
    return decided, decided.verdict(level)


def _witness_verdict(result: HypotestResult[WitnessDetails], work: Work) -> Verdict:
    """Answer the first question about a set: does it hold the truth, given its predictions?"""
    word = result.verdict(work.level)
    case, facts = {
        "conflict": ("truth outside the set", {"where": result.details.where(work.options)}),
        "no conflict found": ("truth may be inside", {"whose": work.summary.whose}),
        "cannot tell": ("truth cannot be told", {"reason": result.why_not(work.level)}),
    }[word]
    exact = shown(result.details.exact_pvalue)
    return Verdict(
        word=word,
        statistic="witness",
        case=case,
        facts=facts,
        evidence=f"p = {shown(result.pvalue)} (witness, valid for every truth in the set), exact p = {exact}",
        scope=f"n = {result.n}, m = {work.summary.m}, {len(result.details.scores)} orders",
        size=result.effect_size,
        limit=result.acceptance_region,
    )


_OF_COMBINATIONS: dict[Word, str] = {
    "conflict": "no combination fits",
    "no conflict found": "a combination may fit",
    "cannot tell": "combination cannot be told",
}
_OF_RATERS: dict[Word, str] = {
    "conflict": "raters' labels do not fit",
    "no conflict found": "raters' labels may fit",
    "cannot tell": "raters' labels cannot be told",
}


def _credal_verdict(name: str, result: HypotestResult[WeightsDetails], work: Work) -> Verdict:
    level = work.level
    decided, word = _decided(result, level)
    both, case = result.details, ""
    if isinstance(both, CredalDetails) and both.calibration is not None:
        # the witness has a verdict and a p-value of its own
        decided, alone = _decided(both.calibration, level)
        if both.validity is None:
            word = alone
        elif both.validity.details.impossible_rows.size:
            case = "label impossible in the set"
        else:
            case = {"weights alone": "weights alone reject", "witness alone": "witness alone rejects"}.get(
                both.outcome(level), ""
            )
    facts = {
        **tested_facts(result.statistic_name, result, work.summary, level),
        "accepted": decided.acceptance_region,
    }
    facts |= {"weights": name, "outcome": result.sentence(level)}
    return _verdict(word, "credal_test", case or _OF_COMBINATIONS[word], facts, decided, work)


def _validity_verdict(result: HypotestResult[ValidityDetails], work: Work) -> Verdict:
    decided, word = _decided(result, work.level)
    facts = {
        "is_point": work.summary.kind == "Point",
        "value": result.statistic,
        "accepted": decided.acceptance_region,
        "deviance": float(to_host(result.details.deviance).sum()),
        "failing": len(result.details.failing(work.level)),
        "n": result.n,
    }
    return _verdict(word, "validity_test", _OF_RATERS[word], facts, decided, work)


def _verdict(
    word: Word, name: str, case: str, facts: dict[str, Any], result: HypotestResult, work: Work
) -> Verdict:
    return Verdict(
        word=word,
        statistic=name,
        case=case,
        facts=facts,
        evidence=evidence(result, 1),
        scope=f"n = {result.n}, m = {work.summary.m}, {result.n_resamples} replicates",
        size=result.effect_size,
        limit=result.acceptance_region,
    )


CREDAL_SETS = Stage("credal", _run_set, _is_set, SET_TEST)
VALIDITY_OF_SETS = Stage("validity", _run_validity, _has_raters, VALIDITY, CrediblyError, subject="it")
