"""Is some combination of a set calibrated? The hypothesis of the papers, with weights that are estimated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np

from credibly._arrays.checks import require_integer
from credibly._arrays.errors import InputError, UnsupportedError, one_of, require_type
from credibly._arrays.namespace import as_float64, to_host
from credibly._arrays.philox import takes_rng
from credibly._arrays.progress import Progress, as_progress
from credibly.hypotests.calibration.calibration_test import named_statistics
from credibly.hypotests.credal.combinations import MeanCombination
from credibly.hypotests.credal.constant_weights import constant_test
from credibly.hypotests.credal.learned_weights import learned_test
from credibly.hypotests.credal.task import HYPOTHESES, SetTask, WeightsTask
from credibly.hypotests.resampling.pvalues import require_resamples
from credibly.learners.linear import BoundaryLearner, GatingLearner, Learner
from credibly.learners.points import DRAWS
from credibly.predictions import Ensemble
from credibly.results.base import require_level
from credibly.results.credal import WeightsDetails
from credibly.results.tests import HypotestResult
from credibly.statistics import Statistic

Weights = Literal["learned", "constant", "mean"]

Statistics = str | Statistic | Sequence[str | Statistic] | None

LEARNERS: dict[str, Learner] = {learner.name: learner for learner in (BoundaryLearner(), GatingLearner())}

SET_STATISTIC = "skce"
"""What weights of a set are judged by where no statistic is named."""

FOLDS = 4
"""Folds for cross-fitting if neither `split` nor `cv` is given (studies/pages/credal-level.md)."""

_RESAMPLES = 999

_REFITS = {"learned": 199, "constant": 99}

_REFIT_PAIRS = 500  # instances up to which constant weights are searched again for statistics of pairs

_OPTIONS: Mapping[Weights, tuple[str, ...]] = {
    "learned": ("learner", "split", "cv", "refit"),
    "constant": ("refit",),
    "mean": (),
}


@takes_rng
def weights_test(
    predictions: Any,
    labels: Any = None,
    *,
    weights: Weights = "learned",
    features: Any = None,
    statistics: str | Statistic | Sequence[str | Statistic] | None = None,
    learner: str | Learner | None = None,
    split: float | None = None,
    cv: int | None = None,
    refit: bool | None = None,
    n_resamples: int | None = None,
    n_draws: int = DRAWS,
    clusters: Any = None,
    blocks: int | None = None,
    rng: Any = None,
    progress: Progress | bool | None = None,
) -> HypotestResult[WeightsDetails]:
    """Test whether some combination of a set of distributions is calibrated.

    Parameters
    ----------
    predictions : Ensemble, Intervals, Belief, Dirichlet, Point or array
        Sets of distributions: the hull of the members; for intervals and beliefs corners, one per order of
        the classes (all orders up to 4 classes, otherwise every class once first and once last, which covers
        a part of the set); for a Dirichlet, the hull of `n_draws` draws. The notes say which.
    labels : array (n,) or LabelCounts
        Observed classes, one per instance; with several raters, one is drawn with the seed.
    weights : {"learned", "constant", "mean"}
        Weights that depend on the instance (J25), one vector for all (M23), or equal ones.
    features : array (n, d), optional
        What learned weights may depend on. Default: mean, upper and lower log-probabilities of every class in
        the set.
    statistics : str, Statistic or a sequence of them, optional
        What is compared. Default: `skce`. Several give one omnibus p-value. ``result.notion`` names the kind
        of calibration that is tested.
    learner : {"boundary", "gating"} or Learner, optional
        Learner of the weights. Default: "boundary".
    split : float, optional
        Share of the instances to learn on; the others are tested.
    cv : int, optional
        Number of folds for cross-fitting: each fold is tested with weights learned on the others. Default: 4,
        unless `split` is given.
    refit : bool, optional
        Draw the labels of all instances and learn the weights again in every replicate, so that the null
        distribution includes the error of learning. Default: True for light learners and constant weights (up
        to 500 instances for pairwise statistics), False for other learners. Penalties and bandwidths are
        chosen once.
    n_resamples : int, optional
        Number of replicates; 999, with refits 199, or 99 for constant weights.
    n_draws : int
        ...
    clusters : array (n,), optional
        ... Rows of one cluster may then depend on each other in any way. Not for constant weights, which have
        seen the labels that they are tested on.
    blocks : int, optional
        ...
    rng : None, int or Generator
        ...
    progress : callable or True, optional
        ...

    Returns
    -------
    HypotestResult of WeightsDetails
        The p-value and, in ``details``, the weights that were found; its ``combine`` applies them to any
        split.

    Notes
    -----
    The hypothesis is "a combination that these weights can represent is calibrated": a learner that cannot
    represent the truth inside the set rejects sets that contain it. `witness_test` does not, and
    `credal_test` asks both. At a nominal 5 %, learned weights rejected 0 to 10 % of the sets that contain the
    truth in eleven simulated worlds (40 data sets each; studies/pages/set-truths.md), whose truths are points
    that the learner is given. Alone they are no test of "the set contains the truth": if the truth is the
    member that is largest in some direction, they rejected 100, 64 and 7 % (three directions, 90 data sets
    each; docs/validity.md), and `credal_test` at most 4 %. With refits the level is asymptotic. Their labels
    are drawn from the learned combination, moved towards the mean of the set as far as held-out labels say
    that its spread is noise; the notes say how far. With one member, or equal members, there is nothing to
    learn: the test is `calibration_test`.

    With clusters, weights are learned on other clusters and kept in the replicates, which draw one sign per
    cluster; this keeps the level but has little power (docs/theory/clusters.md).

    Folds without refits are combined by K / r times the r-th smallest p-value, r = ceil(K / 2).

    References
    ----------
    M23: Mortier et al., On the calibration of probabilistic classifier sets, AISTATS 2023. J25: Juergens et
    al., A calibration test for evaluating set-based epistemic uncertainty representations, 2025.

    Examples
    --------
    >>> import numpy as np
    >>> import credibly as cr
    >>> rng = np.random.default_rng(1)
    >>> members = rng.dirichlet(np.ones(3), size=(300, 4))
    >>> labels = (rng.random((300, 1)) > members[:, 2].cumsum(axis=1)).sum(axis=1)
    >>> settings = {"weights": "constant", "n_resamples": 39, "rng": 0}
    >>> result = cr.hypotests.weights_test(cr.Ensemble(members), labels, **settings)
    >>> result.verdict(), result.details.weights.shape
    ('no conflict found', (4,))
    >>> result.details.combine(cr.Ensemble(members[:5]))
    Point(n=5, k=3, dtype=float64)
    """
    one_of("`weights`", weights, tuple(HYPOTHESES))
    _require_options(weights, learner=learner, split=split, cv=cv, refit=refit)
    report = as_progress(progress)
    sets = SetTask.of(predictions, labels, n_draws, clusters, blocks, rng)
    return tested_weights(sets, weights, features, statistics, learner, split, cv, refit, n_resamples, report)


def tested_weights(
    sets: SetTask,
    weights: Weights = "learned",
    features: Any = None,
    statistics: Statistics = None,
    learner: str | Learner | None = None,
    split: float | None = None,
    cv: int | None = None,
    refit: bool | None = None,
    n_resamples: int | None = None,
    report: Progress | None = None,
) -> HypotestResult[WeightsDetails]:
    """Test weights of checked sets."""
    chosen, several = named_statistics(SET_STATISTIC if statistics is None else statistics)
    teacher = _learner(learner)
    refit = _refits(sets, weights, teacher, chosen) if refit is None else refit
    if split is None and cv is None:
        cv = FOLDS
    if n_resamples is None:
        n_resamples = _REFITS[weights] if refit else _RESAMPLES
    require_resamples(n_resamples)
    settings: dict[str, Any] = {"weights": weights, "n_draws": sets.n_draws, "seed": list(sets.seed)}
    if weights == "learned":
        settings |= {"learner": teacher.settings(), "split": split, "cv": cv}
    if weights != "mean":
        settings["refit"] = refit
    notes = sets.notes
    if features is not None and weights != "learned":
        notes = (f"{weights} weights do not depend on features", *notes)
    task = WeightsTask(
        **(vars(sets) | {"notes": notes}),
        statistics=tuple(chosen),
        several=several,
        n_resamples=n_resamples,
        settings=settings,
        progress=report,
    )
    if sets.codes is not None and (weights == "constant" or refit):
        raise UnsupportedError(
            "a test of weights with clusters",
            "draws one sign per cluster around weights that were learned on other clusters and are kept",
            "got refit=True" if refit else "got weights='constant'",
            "Leave it out, or use `witness_test`.",
        )
    if weights == "mean" or sets.points.all_equal:
        return _mean_test(task, weights)
    if weights == "constant":
        return constant_test(task, refit)
    return learned_test(task, features, teacher, split, cv, refit)


def _mean_test(task: WeightsTask, weights: Weights) -> HypotestResult[WeightsDetails]:
    """Test the mean of every set, on all instances: nothing is learned."""
    result = task.calibration(task.predictions, task.observed, task.codes)
    a = len(task.points.names)
    # members may come with weights, and their mean uses them; draws of a Dirichlet follow its weights
    member_weights = task.predictions.weights if isinstance(task.predictions, Ensemble) else None
    equal = np.full(a, 1.0 / a) if member_weights is None else to_host(as_float64(member_weights))
    notes = task.points.notes if member_weights is None else task.predictions.notes
    if weights != "mean":
        notes = (*notes, "all points of every set are equal: nothing to learn, all instances are tested")
    combination, rows = MeanCombination(), np.arange(len(task.predictions))
    return task.with_weights(result, combination, equal, task.points.names, rows, notes)


def _refits(sets: SetTask, weights: Weights, learner: Learner, chosen: Sequence[Statistic]) -> bool:
    """Tell whether replicates are fitted again where the caller does not say: where that is quick."""
    if weights == "constant":
        sums = all(statistic.traits.reduction == "sum" for statistic in chosen)
        return sums or len(sets.predictions) <= _REFIT_PAIRS
    return weights == "learned" and isinstance(learner, GatingLearner) and sets.codes is None


def _learner(learner: Any) -> Learner:
    if isinstance(learner, Learner):
        return learner
    name = "boundary" if learner is None else learner
    require_type(
        isinstance(name, str), "must be a name or a Learner", "Use `BoundaryLearner()`.", learner=name
    )
    one_of("`learner`", name, tuple(LEARNERS))
    return LEARNERS[name]


def _require_options(weights: Weights, **options: Any) -> None:
    """Raise for options that would be ignored: they say something else was meant."""
    for name, value in options.items():
        if value is not None and name not in _OPTIONS[weights]:
            owner = next(kind for kind in _OPTIONS if name in _OPTIONS[kind])
            raise InputError(
                f"`{name}`", f'belongs to weights="{owner}"', f"got weights={weights!r}", "Leave it out."
            )
    split, cv, refit = options["split"], options["cv"], options["refit"]
    if split is not None and cv is not None:
        raise InputError("`split` and `cv`", "cannot be used together", "got both", "Give one of them.")
    if split is not None:
        require_level(split, "`split`", "Use 0.5 for halves.")
    if cv is not None:
        require_integer(cv, "cv", 2)
    require_type(
        refit is None or isinstance(refit, bool), "must be True or False", "Leave it out.", refit=refit
    )
