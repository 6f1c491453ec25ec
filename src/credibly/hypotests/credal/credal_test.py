"""Does a set of distributions hold a calibrated combination?"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np

from credibly._arrays.checks import require_integer
from credibly._arrays.errors import InputError, InputTypeError, UnsupportedError, one_of
from credibly._arrays.namespace import as_float64, to_host
from credibly._arrays.philox import as_seed
from credibly._arrays.progress import Progress, as_progress
from credibly.hypotests.calibration.calibration_test import (
    OMNIBUS,
    calibration_test,
    observed_classes,
    require_distinct,
    require_resamples,
)
from credibly.hypotests.credal.combinations import Finding, MeanCombination
from credibly.hypotests.credal.constant_weights import constant_test, m23_test
from credibly.hypotests.credal.learned_weights import learned_test
from credibly.hypotests.credal.learners import BoundaryLearner, GatingLearner, Learner, TiltingLearner
from credibly.hypotests.credal.neural import NeuralLearner
from credibly.hypotests.credal.points import DRAWS, CredalTask, as_class_predictions, points_of
from credibly.hypotests.resampling.loop import without_graph
from credibly.predictions import require_order
from credibly.results.tests import CredalTestResult, HypotestResult, Notion
from credibly.statistics import Statistic, as_statistic

Weights = Literal["learned", "constant", "mean"]

HYPOTHESES = {
    "learned": "some combination of the set, with weights this learner can represent, is calibrated",
    "constant": "some combination of the set, with one weight vector for all instances, is calibrated",
    "mean": "the mean of the set is calibrated",
}

LEARNERS: dict[str, Learner] = {
    one.name: one for one in (BoundaryLearner(), GatingLearner(), TiltingLearner(), NeuralLearner())
}

FOLDS = 4
"""Folds that take turns where neither `split` nor `cv` is given (docs/studies/credal-level.md)."""

_RESAMPLES = {False: 999, True: 199}

_PAPER_RESAMPLES = 100

_PAPERS = {
    "M23": "weights='constant', one search from the centre, random weights and bootstrapped instances in "
    "replicates, n_resamples=100",
    "J25": "learner='neural', split=0.5, refit=False, n_resamples=100",
}


_NOTIONS: dict[str, Notion] = {
    "accuracy": "confidence",
    "confidence_ece": "confidence",
    "top_label_ece": "confidence",
    "classwise_ece": "classwise",
    "hosmer_lemeshow": "classwise",
}


def credal_test(
    predictions: Any,
    labels: Any,
    features: Any = None,
    *,
    weights: Weights | None = None,
    statistic: str | Statistic | Sequence[str | Statistic] | None = None,
    learner: str | Learner | None = None,
    split: float | None = None,
    cv: int | None = None,
    refit: bool | None = None,
    paper: Literal["M23", "J25"] | None = None,
    n_resamples: int | None = None,
    n_draws: int = DRAWS,
    rng: Any = None,
    progress: Progress | Literal[True] | None = None,
) -> CredalTestResult:
    """Test whether a set of distributions holds a calibrated combination.

    Parameters
    ----------
    predictions : Ensemble, Intervals, Belief, Dirichlet, Point or array
        Sets of distributions: the hull of the members; for intervals and beliefs corners, one per order of
        the classes (all orders up to 4 classes, else every class once first and once last, a part of the
        set); for a Dirichlet the hull of `n_draws` draws. The notes say which.
    labels : array (n,) or LabelCounts
        Observed classes, one per instance; of several raters one is drawn by the seed.
    features : array (n, d), optional
        What learned weights may depend on; the members' log-probabilities where not given.
    weights : {"learned", "constant", "mean"}, optional
        Weights that depend on the instance (J25, the default), one vector for all (M23), or equal ones.
    statistic : str, Statistic or a sequence of them, optional
        What is compared, `skce` where not given; several give one omnibus p-value. ``result.notion`` names
        the kind of calibration it looks at.
    learner : {"boundary", "gating", "tilting", "neural"} or Learner, optional
        Who learns the weights; "boundary" where not given.
    split : float, optional
        Share of the instances to learn on; the others are tested.
    cv : int, optional
        Folds that take turns: each is tested with weights learned on the others. 4 where neither is given.
    refit : bool, optional
        Draw labels of all instances and learn again in every replicate, so that the error of learning is in
        the null. By default for light learners, not for networks, nor for constant weights, which are
        conservative without. Penalties and bandwidths are chosen once.
    paper : {"M23", "J25"}, optional
        Reproduce Algorithm 1 of a paper; the notes list what that sets.
    n_resamples : int, optional
        Number of replicates; 999, or 199 with refits.
    n_draws : int
        Draws that stand for a Dirichlet.
    rng : None, int or Generator
        Seed of parts, labels, starts and draws.
    progress : callable or True, optional
        Called with (done, total); True writes to standard error after one second, where that is a terminal.

    Returns
    -------
    CredalTestResult
        The p-value, the weights that were found; ``combine`` and ``score`` apply them to any split.

    Notes
    -----
    The hypothesis is "a combination that this learner can represent is calibrated": a learner that cannot
    follow the truth inside the set rejects sets that hold it. At a nominal 5 % the default rejected 2 to 6 %
    of sets with the truth inside and 5 to 8 % with the truth on their boundary; gating on members alone up to
    97 % (docs/studies/credal-level.md). With refits the level is asymptotic. Their labels are drawn from the
    learned combination, moved towards the mean of the set as far as held-out labels say that its spread is
    noise; the notes say how far.
    One member, or equal members, leave nothing to learn: that is `calibration_test`.

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
    >>> result = cr.credal_test(cr.Ensemble(members), labels, n_resamples=39, rng=0)
    >>> result.verdict(), result.notion
    ('no conflict found', 'distribution')
    >>> result.combine(cr.Ensemble(members[:5]))
    Point(n=5, k=3, dtype=float64)
    """
    if paper is not None:
        one_of("`paper`", paper, tuple(_PAPERS))
    kind: Weights = weights or ("constant" if paper == "M23" else "learned")
    one_of("`weights`", kind, tuple(HYPOTHESES))
    _require_options(kind, paper, learner, split, cv, refit)
    report = as_progress(progress)
    require_order(predictions, labels)
    given = without_graph(as_class_predictions(predictions))
    seed = as_seed(rng)
    observed, said = observed_classes(given, labels, "credal_test", seed)
    points = points_of(given, require_integer(n_draws, "n_draws", 1), seed)
    chosen, several = _statistics(statistic, paper)
    if paper == "J25":
        learner, split = "neural" if learner is None else learner, 0.5 if split is None else split
    one = _learner(learner)
    again = refit if refit is not None else kind == "learned" and not isinstance(one, NeuralLearner)
    if split is None and cv is None:
        cv = FOLDS
    settings: dict[str, Any] = {"weights": kind, "paper": paper, "n_draws": n_draws, "seed": list(seed)}
    if n_resamples is None:
        n_resamples = _PAPER_RESAMPLES if paper else _RESAMPLES[bool(again)]
    require_resamples(n_resamples)
    if kind == "learned":
        settings |= {"learner": one.settings(), "split": split, "cv": cv}
    if kind != "mean":
        settings["refit"] = again
    task = CredalTask(
        given,
        observed,
        points,
        tuple(chosen),
        several,
        n_resamples,
        n_draws,
        seed,
        settings,
        report,
    )
    if kind == "mean" or (points.all_equal and paper is None):
        found = _mean_test(task, kind)
    elif paper == "M23":
        found = m23_test(task)
    elif kind == "constant":
        found = constant_test(task, bool(again))
    else:
        found = learned_test(task, features, one, split, cv, bool(again))
    if features is not None and kind != "learned":
        found = found._replace(notes=(*found.notes, f"{kind} weights do not look at features"))
    if paper is not None:
        found = found._replace(notes=(*found.notes, f"paper mode {paper} sets {_PAPERS[paper]}"))
    found = found._replace(notes=(*found.notes, *said))
    return _as_credal_result(found, HYPOTHESES[kind], settings)


def _as_credal_result(found: Finding, hypothesis: str, settings: Mapping[str, Any]) -> CredalTestResult:
    """Return everything in one result that knows its hypothesis and the notion of calibration it tests."""
    fields = {field.name: getattr(found.result, field.name) for field in dataclasses.fields(HypotestResult)}
    names = tuple(found.result.components) or (found.result.statistic_name,)
    notions = {_NOTIONS.get(name, "distribution") for name in names}
    fields |= {
        "name": "credal_test",
        "hypothesis": hypothesis,
        "settings": {**settings, **found.result.settings},
        "notes": tuple(dict.fromkeys((*found.notes, *found.result.notes))),
    }
    return CredalTestResult(
        **fields,
        weights=found.weights,
        weight_names=found.names,
        notion=notions.pop() if len(notions) == 1 else "distribution",
        test_rows=np.asarray(found.rows),
        combination=found.combination,
    )


def _mean_test(task: CredalTask, kind: Weights) -> Finding:
    """Test the mean of every set, on all instances: nothing is learned."""
    result = calibration_test(
        task.given,
        task.observed,
        statistic=task.statistics if task.several else task.statistics[0],
        n_resamples=task.n_resamples,
        rng=task.seed,
        progress=task.progress,
    )
    a = len(task.points.names)
    own = getattr(task.given, "weights", None)  # members may come with weights, and their mean uses them
    weights = np.full(a, 1.0 / a) if own is None else to_host(as_float64(own))
    notes = task.points.notes if own is None else task.given.notes
    if kind != "mean":
        notes = (*notes, "all points of every set are equal: nothing to learn, all instances are tested")
    return Finding(
        result,
        MeanCombination(task.statistics),
        weights,
        task.points.names,
        np.arange(len(task.given)),
        notes,
    )


def _statistics(given: Any, paper: str | None) -> tuple[list[Statistic], bool]:
    if given is None:
        given = {"M23": "hosmer_lemeshow", "J25": "kde_ce"}.get(paper or "", "skce")
    if isinstance(given, str) and given == "omnibus":
        given = OMNIBUS
    several = isinstance(given, Sequence) and not isinstance(given, str)
    chosen = [as_statistic(one) for one in (given if several else [given])]
    require_distinct(chosen)
    if paper == "M23":
        if several:
            raise UnsupportedError(
                'paper="M23"', "minimises one statistic", f"got {len(chosen)}", "Name one statistic."
            )
        chosen = [one.with_(paper="M23") if "M23" in one.papers else one for one in chosen]
    return chosen, several


def _learner(given: Any) -> Learner:
    if given is None:
        return LEARNERS["boundary"]
    if isinstance(given, Learner):
        return given
    if not isinstance(given, str):
        raise InputTypeError(
            "`learner`", "must be a name or a Learner", f"got {given!r}", "Use `BoundaryLearner()`."
        )
    one_of("`learner`", given, tuple(LEARNERS))
    return LEARNERS[given]


def _require_options(kind: Weights, paper: str | None, learner: Any, split: Any, cv: Any, refit: Any) -> None:
    """Raise for options that would be ignored: they say something else was meant."""
    if (paper == "M23" and kind != "constant") or (paper == "J25" and kind != "learned"):
        raise InputError("`paper`", "fixes the weights", f"got weights={kind!r}", "Leave `weights` out.")
    given = {"learner": learner, "split": split, "cv": cv}
    if kind != "learned":
        for name, value in given.items():
            if value is not None:
                raise InputError(
                    f"`{name}`", 'belongs to weights="learned"', f"got weights={kind!r}", "Leave it out."
                )
    if refit and (kind == "mean" or paper is not None):
        raise InputError("`refit`", "needs weights that are learned", f"got {refit!r} here", "Leave it out.")
    if split is not None and cv is not None:
        raise InputError("`split` and `cv`", "exclude each other", "got both", "Give one of them.")
    number = isinstance(split, int | float | np.floating) and not isinstance(split, bool)
    if split is not None and not (number and 0 < split < 1):
        raise InputError(
            "`split`", "must lie strictly between 0 and 1", f"got {split!r}", "Use 0.5 for halves."
        )
    if cv is not None:
        require_integer(cv, "cv", 2)
    if refit is not None and not isinstance(refit, bool):
        raise InputTypeError("`refit`", "must be True or False", f"got {refit!r}", "Leave it out.")
