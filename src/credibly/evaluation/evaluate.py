"""Run all that the input allows, cheap parts first: estimates, decomposition, curves, tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from credibly._arrays.philox import as_seed, takes_rng
from credibly.evaluation.curves import KEPT_CLASSES, curves, order_notes
from credibly.evaluation.data_warnings import data_warnings, input_limits, surveyed
from credibly.evaluation.predictive_checks import check_part
from credibly.evaluation.raters import RaterParts, rater_parts
from credibly.evaluation.recalibration import recalibrations
from credibly.evaluation.regression import real_parts, real_tests
from credibly.evaluation.results import Evaluation
from credibly.evaluation.rows import checked_rows, has_counts, rows_for_pairs, subsampled
from credibly.evaluation.score import score_notes, score_parts
from credibly.evaluation.set_tests import credal_parts, validity_parts
from credibly.evaluation.stages import (
    OMNIBUS,
    Progress,
    calibration_tests,
    choose,
    class_names,
    estimate_all,
    estimate_groups,
    silent,
    summarise,
    version,
)
from credibly.evaluation.stages import origin as origin_of
from credibly.evaluation.words import joined, nothing_tested, title, verdicts
from credibly.hypotests.calibration.calibration_test import require_resamples
from credibly.hypotests.resampling.pvalues import HYPOTHESIS
from credibly.predictions import ClassPredictions, RealPredictions, Rows, one_rater
from credibly.recalibration import Recalibration
from credibly.results.base import jsonable, require_level
from credibly.results.estimates import Estimate
from credibly.results.tests import HypotestResult
from credibly.statistics import Statistic, decompose_brier


@takes_rng
def evaluate(
    predictions: Any,
    labels: Any = None,
    *,
    classes: Sequence[str] | None = None,
    groups: Any = None,
    features: Any = None,
    tests: bool = True,
    statistics: Sequence[str | Statistic] | None = None,
    n_bins: int = 15,
    n_resamples: int = 999,
    rng: Any = 0,
    level: float = 0.05,
    pairwise_rows: int | None = None,
    progress: Progress | None = None,
    source: Mapping[str, Any] | None = None,
    recalibrate: Sequence[str | Recalibration] = (),
) -> Evaluation:
    """Compute all that predictions and labels allow, and say it in words.

    Parameters
    ----------
    predictions : Predictions, array, Rows or Dask array
        What the model said. A set of distributions is represented by its mean, which the notes say; members
        of real-valued predictions by their mixture. `scan` makes chunks of rows that do not fit into memory.
    labels : array (n,) or LabelCounts
        What was observed; chunks bring their own.
    classes : sequence of str, optional
        Names of the classes, in order.
    groups : array (n,), optional
        Group of every instance; the cheap statistics are also computed within each. Rows bring theirs.
    features : array (n, d), optional
        Features of the instances: what weights of the set may depend on (the members' own predictions where
        not given), and recalibrations that take them. Rows bring theirs.
    tests : bool
        False leaves out everything that resamples or compares pairs of instances.
    statistics : sequence of str or Statistic, optional
        What to compute; all registered ones where not given. Names get `n_bins`, objects keep their settings.
    n_bins : int
        Number of bins of the binned errors and of the curves.
    n_resamples : int
        Number of replicates behind tests and bands.
    rng : None, int or Generator
        Seed; the same seed gives the same evaluation, byte by byte.
    level : float
        Level of the tests; the adjusted p-value of each statistic is compared with it.
    pairwise_rows : int, optional
        Most instances that statistics over pairs see; of more, a random part, which the notes say. Where not
        given: 20 000 for named statistics; unasked 2500, fewer beyond ten classes.
    progress : callable, optional
        Called with (stage, done, total).
    source : mapping, optional
        Where the data came from: ``path``, ``digest``, ``dropped``, ``notes``, ``command``.
    recalibrate : sequence of str or Recalibration
        Recalibrations to compare on folds, see `recalibration_report`.

    Returns
    -------
    Evaluation
        Estimates, tests, curves and verdicts; what could not be run stands in ``not_run`` with the reason.

    Notes
    -----
    The data must not have been used to train or recalibrate the model. Tests share their replicates, and a
    verdict follows from the Westfall-Young adjusted p-value, so the probability of any false "conflict" is at
    most `level`.

    Of chunks all that is a sum over instances is computed chunk by chunk, with the numbers of all rows at
    once; statistics over pairs, the unified score and tests of sets see the rows that they would see in
    memory, and these alone are taken into it.

    Examples
    --------
    >>> import numpy as np
    >>> import credibly as cr
    >>> rng = np.random.default_rng(1)
    >>> probs = rng.dirichlet(np.ones(3), size=500)
    >>> sharper = probs**3 / (probs**3).sum(axis=1, keepdims=True)
    >>> labels = (rng.random((500, 1)) > probs.cumsum(axis=1)).sum(axis=1)
    >>> evaluation = cr.evaluate(sharper, labels, statistics=["accuracy", "brier"])
    >>> {verdict.statistic: verdict.word for verdict in evaluation.verdicts}
    {'brier': 'conflict', 'accuracy': 'conflict'}
    """
    require_level(level)
    require_resamples(n_resamples)
    rows = checked_rows(predictions, labels, groups, features)
    some = rows.sample.predictions
    names = class_names(some, classes or rows.sample.classes)
    origin = origin_of(source)
    seed = as_seed(rng)
    tell = progress or silent
    single, said = one_rater(rows, seed)
    limits = list(input_limits(rows))
    chosen, unsuited = choose(rows, statistics, n_bins, tests)
    limits += unsuited
    most = rows_for_pairs(pairwise_rows, asked=statistics is not None, n_classes=len(names) or 1)
    chosen = [subsampled(one, rows.n, most, seed) for one in chosen]

    facts = summarise(rows)
    survey = surveyed(rows)
    estimates = estimate_all(rows, chosen, tell)
    by_group, ungrouped = estimate_groups(rows, chosen, tell)
    limits += ungrouped
    decomposition = curve_set = raters = score = None
    results: dict[str, HypotestResult] = {}
    if isinstance(some, ClassPredictions):
        decomposition = decompose_brier(*rows.arguments, n_bins=n_bins)
        raters, unrated = rater_parts(rows, n_bins)
        score, unscored = score_parts(rows, seed)
        limits += [*unrated, *unscored]
        tell("decomposition", 1, 1)
        coverage = 1 - level if tests and not has_counts(rows) else None
        curve_set = curves(
            rows,
            names,
            n_bins=n_bins,
            level=coverage,
            n_resamples=n_resamples,
            seed=seed,
            tell=tell,
            score=score,
        )
        tell("curves", 1, 1)
        if len(names) > KEPT_CLASSES:
            limits.append(_kept_only(len(names)))
        if tests and chosen:
            results = calibration_tests(single, chosen, n_resamples, seed, tell)
    run: dict[str, Any] = {"tests": tests, "n_resamples": n_resamples, "level": level, "seed": seed}
    credal, unset = credal_parts(single, facts, classes=names, tell=tell, **run)
    validity, uncounted = validity_parts(rows, facts, tell=tell, **run)
    limits += unset + uncounted
    reals = None
    if isinstance(some, RealPredictions) and tests:
        if chosen:
            results, untested = real_tests(rows, chosen, n_resamples, seed, tell)
            limits += untested
        reals, undrawn = real_parts(rows, level, n_resamples, seed)
        limits += undrawn
        tell("curves", 1, 1)
    check = None
    if tests and chosen:
        tested = [one for one in chosen if one.name in results]
        grouped = single.ungrouped() if ungrouped else single
        check, unchecked = check_part(grouped, tested, n_resamples, seed, tell)
        limits += unchecked
    before_after, unfitted = recalibrations(
        rows, recalibrate, n_bins=n_bins, n_resamples=n_resamples, seed=seed, tell=tell
    )
    limits += unfitted
    if not tests:
        limits.append(("resampling tests, consistency bands and pairwise statistics", "tests=False"))
    answers = verdicts(results, facts, level) or (nothing_tested(_why_untested(rows, tests)),)
    return Evaluation(
        predictions=facts,
        classes=names,
        estimates=estimates,
        decomposition=decomposition,
        tests=results,
        curves=curve_set,
        groups=by_group,
        verdicts=answers,
        warnings=data_warnings(rows, survey, names, origin),
        notes=_notes(survey.notes, estimates, results)
        + _rater_notes(survey.notes, raters)
        + score_notes(score)
        + (said if tests else ())
        + order_notes(curve_set),
        not_run=tuple(limits),
        settings={
            "version": version(),
            "hypothesis": HYPOTHESIS,
            "seed": list(seed),
            "rng": int(rng) if isinstance(rng, (int, np.integer)) else None,
            "n_resamples": int(n_resamples),
            "n_bins": int(n_bins),
            "level": float(level),
            "tests": bool(tests),
            "pairwise_rows": most,
            "statistics": {one.name: jsonable(one.settings()) for one in chosen},
            "methods": {one.name: _method(one) for one in chosen},
        },
        source=origin,
        raters=raters,
        reals=reals,
        check=check,
        credal=credal,
        validity=validity,
        score=score,
        recalibration=before_after,
    )


def _notes(
    shared: tuple[str, ...], estimates: Mapping[str, Estimate], results: Mapping[str, HypotestResult]
) -> tuple[str, ...]:
    """Return what concerns all numbers once, then what concerns some of them under their names."""
    own = [(name, note) for name, estimate in estimates.items() for note in estimate.notes]
    own += [(name, note) for name, result in results.items() if name != OMNIBUS for note in result.notes]
    names: dict[str, dict[str, None]] = {}
    for name, note in own:
        if note not in shared:
            names.setdefault(note, {})[title(name)] = None
    told = [f"{joined(list(whose), most=4)}: {note}" for note, whose in names.items()]
    return tuple(dict.fromkeys((*shared, *told)))


def _rater_notes(shared: tuple[str, ...], raters: RaterParts | None) -> tuple[str, ...]:
    """Return what was left out because too few people rated it."""
    if raters is None:
        return ()
    own = dict.fromkeys((*raters.loss.notes, *raters.disagreement.notes))
    return tuple(f"raters: {note}" for note in own if note not in shared)


def _method(statistic: Statistic) -> dict[str, str]:
    """Return what a statistic tells of itself, for the method notes of a report."""
    told = statistic.story
    return {
        "name": told.title,
        "meaning": told.meaning,
        "formula": told.formula,
        "reference": told.citation or statistic.reference,
    }


def _kept_only(n_classes: int) -> tuple[str, str]:
    reason = (
        f"of {n_classes} classes the {KEPT_CLASSES} with the largest error are kept; `cr.reliability_curve` "
        "with `target=` gives any other"
    )
    return f"reliability curves of {n_classes - KEPT_CLASSES} classes", reason


def _why_untested(rows: Rows, tests: bool) -> str:
    some = rows.sample.predictions
    if not isinstance(some, (ClassPredictions, RealPredictions)):
        return f"no statistic of this version applies to {type(some).__name__} predictions"
    return "no statistic was left to test" if tests else "tests were switched off"
