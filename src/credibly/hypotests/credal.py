"""Does a set of distributions hold a calibrated combination?

    H0: some combination f of the set, f(x) = sum_a w_a(x) P_a(x), is calibrated

with one weight vector for all instances (M23) or weights that depend on the instance (J25).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from credibly._arrays.checks import require_integer
from credibly._arrays.credal_results import CredalTestResult, Notion
from credibly._arrays.errors import InputError, one_of
from credibly._arrays.namespace import Array, like, namespace, to_host
from credibly._arrays.philox import Seed, as_seed
from credibly._arrays.progress import Progress, as_progress
from credibly._arrays.results import HypotestResult
from credibly.hypotests.basis import check_features, log_probabilities
from credibly.hypotests.calibration import (
    OMNIBUS,
    calibration_test,
    observed_classes,
    omnibus,
    require_distinct,
    require_resamples,
    single_result,
)
from credibly.hypotests.combinations import (
    Combination,
    ConstantCombination,
    LearnedCombination,
    MeanCombination,
)
from credibly.hypotests.constant import minimise_over_weights
from credibly.hypotests.learners import BoundaryLearner, GatingLearner, Learner, TiltingLearner
from credibly.hypotests.learning import Part, PartFit, learn_part, random_parts, require_enough
from credibly.hypotests.mixing import mixed
from credibly.hypotests.points import DRAWS, Points, as_class_predictions, points_of
from credibly.hypotests.replicates import Replicates
from credibly.hypotests.resampling import HostArray, paired_values, resampled_values, without_graph
from credibly.predictions import Classes, Point, require_order
from credibly.statistics import Statistic, as_statistic

LEARNERS = {one.name: one for one in (BoundaryLearner(), GatingLearner(), TiltingLearner())}
HYPOTHESES = {
    "learned": "some combination of the set, with weights this learner can represent, is calibrated",
    "constant": "some combination of the set, with one weight vector for all instances, is calibrated",
    "mean": "the mean of the set is calibrated",
}
REFIT_RESAMPLES, RESAMPLES = 199, 999
_NOTIONS: dict[str, Notion] = {
    "confidence_ece": "confidence",
    "top_label_ece": "confidence",
    "accuracy": "confidence",
    "classwise_ece": "classwise",
    "hosmer_lemeshow": "classwise",
}


def credal_test(
    predictions: Any,
    labels: Any,
    features: Any = None,
    *,
    weights: Literal["learned", "constant", "mean"] = "learned",
    statistic: str | Statistic | Sequence[str | Statistic] = "skce",
    learner: str | Learner = "boundary",
    split: float = 0.5,
    cv: int | None = None,
    refit: bool | None = None,
    n_resamples: int | None = None,
    n_draws: int = DRAWS,
    rng: Any = None,
    progress: Progress | Literal[True] | None = None,
) -> CredalTestResult:
    """Test whether a set of distributions holds a calibrated combination.

    Parameters
    ----------
    predictions : Ensemble, Intervals, Belief, Dirichlet, Point or array
        Sets of distributions: the hull of members; corners indexed by fixed orders of the classes; draws.
    labels : array (n,)
        Observed classes, one per instance.
    features : array (n, d), optional
        What learned weights may depend on; the members' log-probabilities where not given.
    weights : {"learned", "constant", "mean"}
        Weights that depend on the instance (J25), one vector for all (M23), or equal ones.

    Returns
    -------
    CredalTestResult
        The p-value, the weights that were found and `combine`, which applies them to other instances.
    """
    one_of("`weights`", weights, tuple(HYPOTHESES))
    require_order(predictions, labels)
    given = without_graph(as_class_predictions(predictions))
    observed = observed_classes(given, labels, test="credal_test")
    seed = as_seed(rng)
    require_integer(n_draws, "n_draws", 1)
    chosen, several = _statistics(statistic)
    points = points_of(given, n_draws, seed)
    if weights == "learned" and refit is None:
        refit = True
    count = (REFIT_RESAMPLES if refit else RESAMPLES) if n_resamples is None else n_resamples
    require_resamples(count)
    report = as_progress(progress)
    settings: dict[str, Any] = {
        "weights": weights,
        "refit": bool(refit),
        "seed": list(seed),
        "n_draws": n_draws,
    }
    if weights == "mean" or points.all_equal:
        found = calibration_test(
            given, labels, statistic=statistic, n_resamples=count, rng=seed, progress=report
        )
        combination: Combination = MeanCombination(tuple(chosen))
        a = points.probs.shape[1]
        notes = (
            points.notes
            if weights == "mean"
            else (*points.notes, "all points of every set are equal: nothing to learn")
        )
        return _result(
            found, weights, settings, combination, np.full(a, 1 / a), points, np.arange(len(given)), notes
        )
    if weights == "constant":
        return _constant(
            given, observed, points, chosen, several, bool(refit), count, settings, report, n_draws, seed
        )
    one = _learner(learner)
    settings |= {"learner": one.settings(), "split": split, "cv": cv}
    own = log_probabilities(points.probs) if features is None else check_features(features, given)
    require_enough(len(given), cv)
    mixes = one.points(points)
    parts = random_parts(len(given), split, cv, seed)
    fits = [learn_part(one, mixes, own, observed.values[0, :], part, seed) for part in parts]
    combination = LearnedCombination(
        tuple(chosen),
        points.names,
        given.n_classes,
        n_draws,
        seed,
        fits=[fit.fitted for fit in fits],
        n_features=None if features is None else own.shape[1],
    )
    xp = namespace(points.probs)
    rows = np.sort(np.concatenate([part.test for part in parts]))
    if cv is None:
        probs, found_weights = fits[0].probs(), fits[0].weights()
    else:
        order = like(np.argsort(np.concatenate([part.test for part in parts])), points.probs)
        probs = xp.take(
            xp.concat([xp.take(fit.probs(), like(fit.part.test, points.probs), axis=0) for fit in fits]),
            order,
            axis=0,
        )
        found_weights = xp.take(
            xp.concat([xp.take(fit.weights(), like(fit.part.test, points.probs), axis=0) for fit in fits]),
            order,
            axis=0,
        )
    result = _tested(probs, observed, fits, rows, chosen, several, bool(refit), count, seed, settings, report)
    return _result(result, weights, settings, combination, to_host(found_weights), mixes, rows, points.notes)


def _tested(probs, observed, fits, rows, chosen, several, refit, count, seed, settings, report):
    xp = namespace(probs)
    at = like(rows, probs)
    tested = Point._trusted(xp.take(probs, at, axis=0))
    seen = Classes(xp.take(observed.values, at, axis=1), observed.n_classes)
    bounds = [one.bind(tested) for one in chosen]
    if not refit:
        values = resampled_values(bounds, seen, Replicates(tested.probs, seed), count, report)
    else:
        drawn = Replicates(probs, seed).labels(slice(0, count)).values
        parts = [fit.refitted(drawn)[0] for fit in fits]
        order = like(np.argsort(np.concatenate([fit.part.test for fit in fits])), probs)
        again = xp.take(xp.concat(parts, axis=1), order, axis=1)
        settled = [bound.statistic for bound in bounds]

        def pairs():
            yield tested, seen
            for d in range(count):
                yield (
                    Point._trusted(again[d, ...]),
                    Classes(xp.take(drawn[d : d + 1, :], at, axis=1), observed.n_classes),
                )

        values = paired_values(settled, pairs(), count + 1, report)
    results = [single_result(bound, row, settings) for bound, row in zip(bounds, values, strict=True)]
    return omnibus(results, values, settings) if several else results[0]


def _constant(given, observed, points, chosen, several, refit, count, settings, report, n_draws, seed):
    found = minimise_over_weights(
        points.probs, observed, chosen[0] if not several else as_statistic("log_loss")
    )
    xp = namespace(points.probs)
    weights = like(found.weights, points.probs)
    probs = mixed(xp.broadcast_to(weights, points.probs.shape[:2])[:, :, None], points.probs)[0, ...]
    tested = Point._trusted(probs)
    bounds = [one.bind(tested) for one in chosen]
    values = resampled_values(bounds, observed, Replicates(probs, seed), count, report)
    results = [single_result(bound, row, settings) for bound, row in zip(bounds, values, strict=True)]
    result = omnibus(results, values, settings) if several else results[0]
    combination = ConstantCombination(
        tuple(chosen), points.names, given.n_classes, n_draws, seed, weights=found.weights
    )
    return _result(
        result,
        "constant",
        settings,
        combination,
        found.weights,
        points,
        np.arange(len(given)),
        (*points.notes, *found.notes),
    )


def _statistics(statistic: Any) -> tuple[list[Statistic], bool]:
    statistic = OMNIBUS if isinstance(statistic, str) and statistic == "omnibus" else statistic
    several = isinstance(statistic, Sequence) and not isinstance(statistic, str)
    chosen = [as_statistic(one) for one in (statistic if several else [statistic])]
    require_distinct(chosen)
    return chosen, several


def _learner(learner: Any) -> Learner:
    if isinstance(learner, Learner):
        return learner
    one_of("`learner`", learner, tuple(LEARNERS))
    return LEARNERS[learner]


def _result(found, weights, settings, combination, found_weights, points, rows, notes) -> CredalTestResult:
    fields = {field.name: getattr(found, field.name) for field in dataclasses.fields(HypotestResult)}
    names = tuple(found.components) or (found.statistic_name,)
    notions = {_NOTIONS.get(name, "distribution") for name in names}
    notion: Notion = notions.pop() if len(notions) == 1 else "distribution"
    fields |= {
        "name": "credal_test",
        "hypothesis": HYPOTHESES[weights],
        "settings": {**settings, **found.settings},
        "notes": tuple(dict.fromkeys((*notes, *found.notes))),
    }
    return CredalTestResult(
        **fields,
        weights=found_weights,
        weight_names=points.names,
        notion=notion,
        test_rows=rows,
        combination=combination,
    )
