"""Does a set of distributions hold the truth, and does it hold a calibrated combination?

Two hypotheses, kept apart. *Valid*: the distribution of the label given what a witness sees is in the set.
*Calibrated* (the papers'): some combination of the set is calibrated. Valid implies calibrated, so rejecting
the second takes rejecting the first as well: p = max of both keeps the level for every truth in the set.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np

from credibly._arrays.checks import require_integer
from credibly._arrays.errors import InputError, InputTypeError, UnsupportedError, one_of
from credibly._arrays.namespace import HostArray, as_float64, to_host
from credibly._arrays.philox import as_seed, takes_rng
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
from credibly.hypotests.credal.task import CredalTask, Resample
from credibly.hypotests.credal.witness import HYPOTHESES as VALID
from credibly.hypotests.credal.witness import Given, WitnessCombination, witness_test
from credibly.learners.basis import check_features
from credibly.learners.linear import BoundaryLearner, GatingLearner, Learner, TiltingLearner
from credibly.learners.neural import NeuralLearner
from credibly.learners.points import DRAWS, as_class_predictions, points_of
from credibly.predictions import Ensemble, cluster_codes, paired
from credibly.predictions.passes import without_graph
from credibly.results.credal import CredalTestResult, Method
from credibly.results.tests import HypotestResult
from credibly.results.witness import WitnessResult
from credibly.statistics import Statistic
from credibly.statistics.registry import as_statistic, story_of

Weights = Literal["learned", "constant", "mean"]

HYPOTHESES = {
    "learned": "some combination of the set, with weights this learner can represent, is calibrated",
    "constant": "some combination of the set, with one weight vector for all instances, is calibrated",
    "mean": "the mean of the set is calibrated",
}

LEARNERS: dict[str, Learner] = {
    one.name: one for one in (BoundaryLearner(), GatingLearner(), TiltingLearner(), NeuralLearner())
}

SET_STATISTIC = "skce"
"""What weights of a set are judged by where no statistic is named."""

FOLDS = 4
"""Folds for cross-fitting if neither `split` nor `cv` is given (docs/studies/credal-level.md)."""

_RESAMPLES = 999

_REFITS = {"learned": 199, "constant": 99}

_REFIT_PAIRS = 500  # instances up to which constant weights are searched again for statistics of pairs

_PAPER_RESAMPLES = 100

_PAPERS = {
    "M23": "weights='constant', one search from the centre (COBYLA up to 30 members), random weights in "
    "replicates, resample='instances', n_resamples=100",
    "J25": "learner='neural' with the tested error as penalty (and the log loss for kl_ce), split=0.5, "
    "refit=False, resample='instances', n_resamples=100",
}


@takes_rng
def credal_test(
    predictions: Any,
    labels: Any = None,
    *,
    features: Any = None,
    method: Method | None = None,
    given: Given = "predictions",
    weights: Weights | None = None,
    statistics: str | Statistic | Sequence[str | Statistic] | None = None,
    learner: str | Learner | None = None,
    split: float | None = None,
    cv: int | None = None,
    refit: bool | None = None,
    resample: Resample | None = None,
    paper: Literal["M23", "J25"] | None = None,
    n_resamples: int | None = None,
    n_draws: int = DRAWS,
    clusters: Any = None,
    blocks: int | None = None,
    rng: Any = None,
    progress: Progress | bool | None = None,
) -> CredalTestResult:
    """Test whether a set of distributions contains the truth, and a calibrated combination.

    Parameters
    ----------
    predictions : Ensemble, Intervals, Belief, Dirichlet, Point or array
        Sets of distributions: the hull of the members; for intervals and beliefs corners, one per order of
        the classes (all orders up to 4 classes, otherwise every class once first and once last, which covers
        a part of the set); for a Dirichlet, the hull of `n_draws` draws. The notes say which.
    labels : array (n,) or LabelCounts
        Observed classes, one per instance; with several raters, one is drawn with the seed.
    features : array (n, d), optional
        What learned weights may depend on. Default: mean, upper and lower log-probabilities of every class in
        the set.
    method : {"both", "witness", "weights"}, optional
        "witness" asks whether the distribution of the label is in the set; it holds its level for every truth
        in the set. "weights" asks whether some combination is calibrated, the hypothesis of the papers, with
        weights that have to be estimated. "both" (the default for learned weights outside paper modes)
        rejects if both do; the default is "weights" for constant and mean weights and in paper modes.
    given : {"predictions", "features"}
        What the witness may use. With features the claim is stronger: a calibrated model that ignores an
        informative feature is then in conflict.
    weights : {"learned", "constant", "mean"}, optional
        Weights that depend on the instance (J25, the default), one vector for all (M23), or equal ones.
    statistics : str, Statistic or a sequence of them, optional
        What is compared. Default: `skce`. Several give one omnibus p-value. ``result.notion`` names the kind
        of calibration that is tested.
    learner : {"boundary", "gating", "tilting", "neural"} or Learner, optional
        Learner of the weights. Default: "boundary".
    split : float, optional
        Share of the instances to learn on; the others are tested.
    cv : int, optional
        Number of folds for cross-fitting: each fold is tested with weights learned on the others. Default: 4,
        unless `split` is given.
    refit : bool, optional
        Draw the labels of all instances and learn the weights again in every replicate, so that the null
        distribution includes the error of learning. Default: True for light learners and constant weights (up
        to 500 instances for pairwise statistics), False for networks. Penalties and bandwidths are chosen
        once.
    resample : {"labels", "instances"}, optional
        What differs between replicates of a combination that is not learned again: only labels, or
        bootstrapped instances with new labels, as in Algorithm 1 of both papers and in paper modes. With
        instances the test does not hold its level: binned errors of many classes and `kde_ce` of predictions
        near corners reject a perfect model (docs/studies/m23.md).
    paper : {"M23", "J25"}, optional
        Reproduce Algorithm 1 of a paper; the notes list what that sets. Statistics with settings of their own
        keep them.
    n_resamples : int, optional
        Number of replicates; 999, with refits 199, or 99 for constant weights. A witness draws none.
    n_draws : int
        Number of draws that represent a Dirichlet.
    clusters : array (n,), optional
        Ids that say which rows belong together: a patient, an image, a day. Rows of one cluster may then
        depend on each other in any way, and the default method is "witness".
    blocks : int, optional
        For rows in time order: consecutive rows form clusters of at least this length.
    rng : None, int or Generator
        Seed of parts, labels, starts and draws.
    progress : callable or True, optional
        Called with (done, total); True writes to standard error after one second, if that is a terminal.

    Returns
    -------
    CredalTestResult
        The p-value, the weights that were found; ``combine`` and ``score`` apply them to any split. Its
        ``validity`` is the result of the witness (where it points, an exact e-value), its ``calibration``
        that of the weights, and ``sentence()`` says which of the four outcomes it is.

    Notes
    -----
    With weights alone the hypothesis is "a combination that this learner can represent is calibrated": a
    learner that cannot represent the truth inside the set rejects sets that contain it; the witness does not.
    At a nominal 5 %, weights alone rejected 0 to 10 % of the sets that contain the truth (eleven simulated
    worlds, 40 data sets each), and both together rejected none (docs/studies/set-truths.md). With refits the
    level is asymptotic. Their labels are drawn from the learned combination, moved towards the mean of the
    set as far as held-out labels say that its spread is noise; the notes say how far. With one member, or
    equal members, there is nothing to learn: the test is `calibration_test`, and, given the predictions, "in
    the set" and "calibrated" then mean the same.

    With clusters, the witness for a cluster is learned from other clusters. The e-value is exact: that of a
    cluster is the mean over its rows. The p-value compares sums over clusters with Student's t and is never
    below 2^(1 - C) with C clusters. Learned weights are learned on other clusters and kept in the replicates,
    which draw one sign per cluster; this keeps the level but has little power (docs/theory/clusters.md).
    Constant weights, which have seen the labels that they are tested on, and paper modes are refused.

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
    codes = cluster_codes(predictions, clusters, blocks)
    kind: Weights = weights or ("constant" if paper == "M23" else "learned")
    one_of("`weights`", kind, tuple(HYPOTHESES))
    how: Method = method or ("both" if kind == "learned" and paper is None else "weights")
    of_weights = (weights, paper, statistics, learner, split, cv, refit, resample)
    if codes is not None and method is None:
        how = "witness" if all(one is None for one in of_weights) else "weights"
    one_of("`method`", how, ("both", "witness", "weights"))
    one_of("`given`", given, tuple(VALID))
    _require_options(kind, paper, learner, split, cv, refit)
    drawn: Resample = resample or ("labels" if paper is None else "instances")
    _require_resample(drawn, refit)
    _require_witness(
        how,
        given,
        features,
        {
            "weights": weights,
            "paper": paper,
            "statistics": statistics,
            "learner": learner,
            "split": split,
            "cv": cv,
            "refit": refit,
            "resample": resample,
        },
    )
    report = as_progress(progress)
    if codes is not None:
        _require_signs(how, kind, paper, drawn, refit)
        refit = False if kind == "learned" else refit
    predictions, labels = paired(predictions, labels)
    sets = without_graph(as_class_predictions(predictions))
    seed = as_seed(rng)
    observed, said = observed_classes(sets, labels, "credal_test", seed)
    points = points_of(sets, require_integer(n_draws, "n_draws", 1), seed)
    chosen, several = _statistics(statistics, paper)
    if paper == "J25":
        learner, split = learner or _j25_learner(chosen[0]), 0.5 if split is None else split
    one = _learner(learner)
    again = drawn == "labels" and _refits(kind, paper, one, chosen, len(sets)) if refit is None else refit
    if split is None and cv is None:
        cv = FOLDS
    settings: dict[str, Any] = {"method": how, "weights": kind, "paper": paper}
    settings |= {"n_draws": n_draws, "seed": list(seed)}
    if how == "witness" and n_resamples is not None:
        said = (
            *said,
            "a witness draws no replicates, because its tail is computed: `n_resamples` was not needed",
        )
    if n_resamples is None:
        n_resamples = _PAPER_RESAMPLES if paper else _REFITS[kind] if again else _RESAMPLES
    require_resamples(n_resamples)
    if kind == "learned":
        settings |= {"learner": one.settings(), "split": split, "cv": cv}
    if kind != "mean":
        settings["refit"] = again
    settings["resample"] = drawn
    task = CredalTask(
        sets,
        observed,
        points,
        tuple(chosen),
        several,
        n_resamples,
        n_draws,
        seed,
        settings,
        report,
        drawn,
    )
    single = points.all_equal and paper is None
    if single and how == "both" and given == "predictions":
        how = "weights"  # E[y | p] in {p} is what calibrated means
    seen: tuple[WitnessResult, WitnessCombination] | None = None
    if how != "weights":
        settings["given"] = given
        columns = check_features(features, sets) if given == "features" else None
        seen = witness_test(task, columns, codes)
    if how == "witness":
        assert seen is not None
        return _as_witness_result(*seen, points.names, settings, said)
    if kind == "mean" or single:
        found = _mean_test(task, kind, codes)
    elif paper == "M23":
        found = m23_test(task)
    elif kind == "constant":
        found = constant_test(task, bool(again))
    else:
        found = learned_test(task, features, one, split, cv, bool(again), codes)
    if features is not None and kind != "learned" and given == "predictions":
        found = found._replace(notes=(*found.notes, f"{kind} weights do not depend on features"))
    if paper is not None:
        found = found._replace(notes=(*found.notes, f"paper mode {paper} sets {_PAPERS[paper]}"))
    found = found._replace(notes=(*found.notes, *said))
    result = _as_credal_result(found, HYPOTHESES[kind], settings)
    return result if seen is None else _with_witness(result, seen[0])


def _with_witness(result: CredalTestResult, validity: WitnessResult) -> CredalTestResult:
    """Return the test of both hypotheses: rejected where weights and witness reject."""
    names = [field.name for field in dataclasses.fields(HypotestResult)]
    calibration = HypotestResult(**{name: getattr(result, name) for name in names})
    larger = validity.pvalue > calibration.pvalue
    note = (
        "p is the larger of two p-values: that of the weights, whose statistic this is, and that of the "
        "witness"
    )
    pvalue = max(validity.pvalue, calibration.pvalue)
    if validity.impossible_rows.size:  # every combination says 0 of these labels, so none is calibrated
        larger, pvalue = True, validity.pvalue
        note = "p is that of the witness, because some labels have probability 0 under every combination"
    return dataclasses.replace(
        result,
        pvalue=pvalue,
        pvalue_interval=None if larger else calibration.pvalue_interval,
        notes=(*result.notes, note),
        method="both",
        validity=validity,
        calibration=calibration,
    )


def _as_witness_result(
    validity: WitnessResult,
    combination: WitnessCombination,
    names: tuple[str, ...],
    settings: Mapping[str, Any],
    said: tuple[str, ...],
) -> CredalTestResult:
    """Return the witness alone; its combination is the point of each set nearest to what was learned."""
    fields = {field.name: getattr(validity, field.name) for field in dataclasses.fields(HypotestResult)}
    fields |= {"settings": {**settings, **validity.settings}, "notes": (*validity.notes, *said)}
    return CredalTestResult(
        **fields,
        weight_names=names,
        test_rows=np.flatnonzero(np.isfinite(validity.excess)),
        combination=combination,
        method="witness",
        validity=validity,
    )


def _as_credal_result(found: Finding, hypothesis: str, settings: Mapping[str, Any]) -> CredalTestResult:
    """Return everything in one result that knows its hypothesis and the notion of calibration it tests."""
    fields = {field.name: getattr(found.result, field.name) for field in dataclasses.fields(HypotestResult)}
    names = tuple(found.result.components) or (found.result.statistic_name,)
    notions = {story_of(name).notion for name in names}
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


def _require_signs(
    how: Method, kind: Weights, paper: str | None, drawn: Resample, refit: bool | None
) -> None:
    """Raise where clusters have no replicates: weights that saw the labels they are tested on, or refits."""
    if how == "witness" or (kind != "constant" and paper is None and drawn == "labels" and not refit):
        return
    got = {"paper": paper, "refit": refit, "resample": None if drawn == "labels" else drawn}
    said = [f"{name}={value!r}" for name, value in got.items() if value] or [f"weights={kind!r}"]
    raise UnsupportedError(
        "a test of weights with clusters",
        "draws one sign per cluster around weights that were learned on other clusters and are kept",
        f"got {', '.join(said)}",
        'Leave it out, or use method="witness".',
    )


def _mean_test(task: CredalTask, kind: Weights, codes: HostArray | None) -> Finding:
    """Test the mean of every set, on all instances: nothing is learned."""
    if task.resample == "instances":
        bounds = [one.bind(task.given) for one in task.statistics]
        result = task.result(bounds, task.values(bounds, task.given, task.observed))
    else:
        result = calibration_test(
            task.given,
            task.observed,
            statistics=task.statistics if task.several else task.statistics[0],
            n_resamples=task.n_resamples,
            clusters=codes,
            rng=task.seed,
            progress=task.progress,
        )
    a = len(task.points.names)
    # members may come with weights, and their mean uses them; draws of a Dirichlet follow its weights
    own = task.given.weights if isinstance(task.given, Ensemble) else None
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
        given = {"M23": "hosmer_lemeshow", "J25": "kde_ce"}.get(paper or "", SET_STATISTIC)
    if isinstance(given, str) and given == "omnibus":
        given = OMNIBUS
    several = isinstance(given, Sequence) and not isinstance(given, str)
    chosen = [as_statistic(one) for one in (given if several else [given])]
    require_distinct(chosen)
    if paper is not None and several:
        raise UnsupportedError(
            f'paper="{paper}"',
            "minimises one statistic" if paper == "M23" else "trains one network per statistic",
            f"got {len(chosen)}",
            "Name one statistic.",
        )
    if paper == "M23":
        own = [one == as_statistic(one.name) and "M23" in one.papers for one in chosen]
        chosen = [one.with_(paper="M23") if free else one for one, free in zip(chosen, own, strict=True)]
    return chosen, several


def _j25_learner(tested: Statistic) -> NeuralLearner:
    """Return the network of one error: its own penalty, and its own proper score (J25 Table 1, App. E)."""
    if not tested.traits.differentiable:  # such as binned errors, which the paper leaves out for that reason
        return NeuralLearner()
    return NeuralLearner(score="log_loss" if tested.name == "kl_ce" else "brier", penalty=tested)


def _refits(kind: Weights, paper: str | None, learner: Learner, chosen: Sequence[Statistic], n: int) -> bool:
    """Tell whether replicates are fitted again where the caller does not say: where that is quick."""
    if kind == "constant":
        sums = all(one.traits.reduction == "sum" for one in chosen)
        return paper is None and (sums or n <= _REFIT_PAIRS)
    return kind == "learned" and not isinstance(learner, NeuralLearner)


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


def _require_witness(how: Method, given: Given, features: Any, of_weights: Mapping[str, Any]) -> None:
    """Raise for options that the method does not look at."""
    if how == "witness":
        for name, value in of_weights.items():
            if value is not None:
                raise InputError(
                    f"`{name}`", "belongs to tests of weights", 'got method="witness"', "Leave it out."
                )
    if of_weights["paper"] is not None and how != "weights":
        raise InputError("`paper`", "tests weights alone", f"got method={how!r}", "Leave `method` out.")
    if given == "features" and (features is None or how == "weights"):
        raise InputError(
            'given="features"',
            "lets a witness use the features",
            "got none" if features is None else "no witness was requested",
            "Pass `features`." if features is None else 'Use method="both" or "witness".',
        )


def _require_resample(drawn: Resample, refit: bool | None) -> None:
    one_of("`resample`", drawn, ("labels", "instances"))
    if drawn == "instances" and refit:
        raise InputError(
            'resample="instances"',
            "keeps the combination that was learned",
            "got refit=True",
            "Leave one of them out.",
        )


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
        raise InputError("`split` and `cv`", "cannot be used together", "got both", "Give one of them.")
    number = isinstance(split, int | float | np.floating) and not isinstance(split, bool)
    if split is not None and not (number and 0 < split < 1):
        raise InputError(
            "`split`", "must lie strictly between 0 and 1", f"got {split!r}", "Use 0.5 for halves."
        )
    if cv is not None:
        require_integer(cv, "cv", 2)
    if refit is not None and not isinstance(refit, bool):
        raise InputTypeError("`refit`", "must be True or False", f"got {refit!r}", "Leave it out.")
