"""What is wrong with a model, and how much: the fault is the smallest repair that helps.

1. One test of all that may be said, so that a right model is in conflict in at most `level` of data sets.
2. If it rejects, all repairs of a small table are fitted on folds; a larger one must beat a smaller one.
3. The fault is the smallest repair that explains the gain; its effect is measured in the user's units.
4. If no repair pays, the fault is what the test saw.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from credibly._arrays.errors import UnsupportedError
from credibly._arrays.namespace import HostArray, to_host
from credibly._arrays.notes import counted, without_warnings
from credibly._arrays.philox import Seed, as_seed, takes_rng
from credibly.diagnosis.choosing import Tried, Weighing, choose
from credibly.diagnosis.classes import ClassSubject
from credibly.diagnosis.reals import RealSubject
from credibly.diagnosis.results import Diagnosis, Effect, RepairGain, Word
from credibly.diagnosis.screen import screened
from credibly.diagnosis.table import NONE
from credibly.hypotests.calibration.lattice import Attribute, attributes_of, columns_of
from credibly.hypotests.resampling.choices import are_drawn_labels, with_label_in_mean
from credibly.hypotests.resampling.pvalues import require_resamples
from credibly.predictions import (
    Dataset,
    InMemory,
    LabelCounts,
    RealPredictions,
    Rows,
    as_point,
    as_rows,
    one_rater,
    require_single,
)
from credibly.recalibrate.files import named_recalibration
from credibly.recalibrate.folds import fold_members
from credibly.results.base import require_level
from credibly.statistics.kernels import spaced

MOST_DIAGNOSED = 50_000
"""Rows that a diagnosis sees; of more, as many that are evenly spaced."""
FOLDS, FEW_FOLDS = 5, 2
MANY, MANY_OF_CLASS = 20_000, 500
"""Rows, and labels of every class, from which two folds do: each half has enough to fit a repair."""
FEWEST = 20
"""Instances below which nothing is diagnosed."""
FEWEST_DRAWN, MOST_DRAWN = 299, 10**7
"""Replicates of many rows, and labels drawn in all of them."""
NO_SKILL = 0.02
"""A model that gains less than this share of the loss of the base rates, surely, has no skill."""


@takes_rng
def diagnose(
    predictions: Any,
    labels: Any = None,
    *,
    groups: Any = None,
    clusters: Any = None,
    blocks: int | None = None,
    level: float = 0.05,
    n_resamples: int = 999,
    rng: Any = 0,
) -> Diagnosis:
    """Say what is wrong with a model, by how much, and what repairs it.

    Parameters
    ----------
    predictions : Predictions or array
        What the model said on data it was not trained on. Sets and members are judged by their mean.
    labels : array (n,) or LabelCounts
        What was observed.
    groups : array (n,), mapping of str to array (n,), or data frame, optional
        Attributes whose groups may have faults of their own.
    clusters : array (n,), optional
        ...
    blocks : int, optional
        ...
    level : float
        Error rate of the one test.
    n_resamples : int
        ...
    rng : None, int or Generator
        ...

    Returns
    -------
    Diagnosis
        The fault, its size, and what each repair gains.

    Examples
    --------
    >>> import numpy as np
    >>> import credibly as cr
    >>> rng = np.random.default_rng(0)
    >>> probs = rng.dirichlet(np.ones(3), size=2000)
    >>> labels = (rng.random((2000, 1)) > probs.cumsum(axis=1)).sum(axis=1)
    >>> found = cr.diagnose(cr.Point.from_logits(2 * np.log(probs)), labels)
    >>> found.fault, found.repair.method
    ('temperature', 'temperature')
    """
    require_level(level)
    require_resamples(n_resamples)
    rows = as_rows(predictions, labels, clusters=clusters, blocks=blocks)
    require_single(rows.example, "`diagnose`", weighted=True)
    seen, groups = seen_rows(rows, groups)
    _require_enough(seen)
    found = diagnosed(InMemory(seen), groups, level, n_resamples, as_seed(rng))
    if len(seen) == rows.n:
        return found
    return dataclasses.replace(
        found, notes=(*found.notes, f"{len(seen)} of {rows.n} instances, evenly spaced, were diagnosed")
    )


def seen_rows(rows: Rows, groups: Any) -> tuple[Dataset, Any]:
    """Return the rows that a diagnosis sees, with their groups: all, or as many evenly spaced ones as do."""
    if rows.n <= MOST_DIAGNOSED:
        whole = rows.loaded(MOST_DIAGNOSED)
        assert whole is not None
        return whole, whole.groups if groups is None else groups
    places = spaced(rows.n, MOST_DIAGNOSED)
    some = rows.take(places)
    if groups is None:
        return some, some.groups
    return some, {name: column[places] for name, column in columns_of(groups, rows.n).items()}


def _require_enough(rows: Dataset) -> None:
    """Raise unless there are enough rows, and clusters to compare."""
    number = None if rows.clusters is None else np.unique(rows.clusters).size
    if len(rows) < FEWEST or number == 1:
        together = "" if number is None else f" in {counted(number, 'cluster')}"
        raise UnsupportedError(
            "`diagnose`",
            f"needs at least {FEWEST} instances, in at least two clusters if there are any",
            f"got {counted(len(rows), 'instance')}{together}",
            "Label more instances.",
        )


def diagnosed(
    rows: Rows, groups: Any, level: float, n_resamples: int, seed: Seed, others: HostArray | None = None
) -> Diagnosis:
    """Diagnose rows in memory; `others` are tests on the same replicates, see `screened`.

    The mean of a few drawn labels scatters, so it looks too sure even if the model is right. The label is a
    further draw of a right model: given all of them together, their mean is its distribution.
    """
    if are_drawn_labels(rows):
        rows = rows.changed(with_label_in_mean)
    whole = rows.loaded()
    assert whole is not None
    single = one_rater(rows, seed)[0].loaded()
    assert single is not None
    attributes = [] if groups is None else attributes_of(groups, len(whole))
    subject = _subject(whole, single, attributes)
    clusters = subject.weighing.clusters
    number = None if clusters is None else int(clusters.max()) + 1
    floor = 0.0 if number is None else 2.0 ** (1 - number)
    drawn = (
        n_resamples if number is not None else min(n_resamples, max(FEWEST_DRAWN, MOST_DRAWN // len(whole)))
    )
    if isinstance(subject, ClassSubject) and subject.meant is not subject.probs:
        others = None  # they take a number that was rounded to 0 for an impossible class
    test = screened(subject.families(seed, drawn), floor, None if others is None else others[: 1 + drawn])
    rejected = test is not None and test.pvalue <= level
    faults = [fault for fault in subject.faults if rejected or fault.name == NONE]
    tried = list(subject.tried(faults, _folds(subject, seed)))
    chosen = everything = tried[0]
    if rejected:
        assert test is not None
        chosen, everything = choose(tried, subject.weighing, subject.within, test.shown, subject.prefers)
        if chosen.fault.name == NONE:  # real, but no repair pays: what the test saw
            chosen = everything = _as_shown(tried, test.shown, subject.weighing)
    gains = _gains(tried, subject.weighing)
    effect = subject.largest(chosen.fault, chosen.by)
    fault, direction = chosen.fault.name, subject.direction(chosen.fault, effect)
    special, skill = _beyond_repair(subject, chosen, rejected)
    if special is not None:
        fault, direction = special, 1
    repair = gains.get(id(chosen))
    if special is not None or repair is None or not _pays(repair, effect):
        repair = None
    else:
        effect = dataclasses.replace(effect, remains=subject.remains(effect.claim, chosen.after))
        try:
            repair = dataclasses.replace(repair, description=_description(repair, subject, whole))
        except UnsupportedError:  # a repair without end: labels that equal every mean want no spread at all
            repair = None
    second = None
    if repair is not None and everything is not chosen:
        second = subject.largest(everything.fault, everything.by, chosen.after)
        second = second if second.is_clear else None
    besides = None if repair is None else _besides(tried, chosen, subject)
    word: Word = "conflict" if rejected else "no conflict found"
    return Diagnosis(
        fault=fault,
        word="cannot tell" if test is None else word,
        direction=direction if fault != NONE else 0,
        effect=effect,
        second=second,
        second_fault=None if second is None else everything.fault.name,
        besides=besides,
        repair=repair,
        repairs=tuple(sorted(gains.values(), key=lambda gain: -gain.gain)),
        pvalue=1.0 if test is None else test.pvalue,
        pvalue_interval=(0.0, 1.0) if test is None else test.interval,
        shown=NONE if test is None else test.shown,
        loss=subject.loss,
        skill=skill,
        n=len(whole),
        n_clusters=number,
        n_resamples=int(drawn),
        level=float(level),
        notes=tuple(whole.predictions.notes),
    )


def _besides(tried: Sequence[Tried], chosen: Tried, subject: ClassSubject | RealSubject) -> Effect | None:
    """Return what the second part of a repair mends: its effect after a repair by the first part alone."""
    of_part = {repair.fault.name: repair for repair in tried if repair.by == chosen.by}
    first, second = (of_part.get(name) for name in chosen.fault.parts or ("", ""))
    if first is None or second is None:
        return None
    effect = subject.largest(second.fault, chosen.by, first.after)
    return effect if effect.is_clear else None


def _subject(whole: Dataset, single: Dataset, attributes: list[Attribute]) -> ClassSubject | RealSubject:
    batch = whole.batch
    weights = np.ones(len(whole)) if batch.weights is None else to_host(batch.weights)[0].astype(np.float64)
    codes = None if whole.clusters is None else np.unique(whole.clusters, return_inverse=True)[1]
    if isinstance(whole.predictions, RealPredictions):
        return RealSubject(whole, attributes, Weighing(weights, codes))
    tested = to_host(single.batch.values)[0]
    labels = whole.observed if isinstance(whole.observed, LabelCounts) else tested
    point = as_point(whole.predictions)[0]
    return ClassSubject(point, labels, tested.astype(np.intp), attributes, Weighing(weights, codes))


def _folds(subject: ClassSubject | RealSubject, seed: Seed) -> list[HostArray]:
    """Return the held-out rows of every fold, clusters whole.

    Folds with equal shares of every label would tell intercepts how frequent the held-out labels are.
    """
    n, clusters = len(subject.tested), subject.weighing.clusters
    many = n >= MANY and clusters is None
    if many and isinstance(subject, ClassSubject):
        many = bool(np.bincount(subject.tested, minlength=subject.k).min() >= MANY_OF_CLASS)
    return fold_members(n, FEW_FOLDS if many else FOLDS, seed, clusters)


def _as_shown(tried: list[Tried], shown: str, weighing: Weighing) -> Tried:
    """Return the best repair of what the test saw; of what no row of the table names, the best of all."""
    named = [repair for repair in tried if repair.fault.name == shown]
    named = named or [repair for repair in tried if repair.fault.name != NONE] or tried
    return min(named, key=lambda repair: weighing.mean(repair.losses))


def _gains(tried: list[Tried], weighing: Weighing) -> dict[int, RepairGain]:
    """Return what every repair gains on held-out rows."""
    before = tried[0].losses
    gains = {}
    for repair in tried[1:]:
        gain = before - repair.losses
        size = weighing.mean(gain), weighing.stderr(gain)
        gains[id(repair)] = RepairGain(repair.fault.name, repair.fault.method, repair.by, *size)
    return gains


def _description(repair: RepairGain, subject: ClassSubject | RealSubject, whole: Dataset) -> str:
    """Return the repair, fitted to all rows, in words."""
    by = next((attribute for attribute in subject.attributes if attribute.name == repair.by), None)
    groups = None if by is None else np.array(by.levels)[by.codes]
    with without_warnings():  # the data have been looked at
        predictions = subject.point if isinstance(subject, ClassSubject) else whole.predictions
        weights = None if whole.batch.weights is None else subject.weighing.weights
        method = named_recalibration(repair.method)
        method.fit(predictions, whole.observed, groups=groups, sample_weight=weights)
        return method.in_words(whole.classes)


def _pays(repair: RepairGain, effect: Effect) -> bool:
    """Tell whether a repair is worth advising: it gains, surely where the size of the fault is not clear."""
    return repair.gain > (0.0 if effect.is_clear else 2.0 * repair.stderr)


def _beyond_repair(
    subject: ClassSubject | RealSubject, chosen: Tried, rejected: bool
) -> tuple[str | None, float]:
    """Return a fault that no recalibration repairs, and how far the model is better than base rates."""
    if isinstance(subject, RealSubject):
        return None, float("nan")
    weighing, base = subject.weighing, subject.base_losses()
    better = base - chosen.losses
    mean, error = weighing.mean(better), weighing.stderr(better)
    skill = mean / (error + 1e-12)
    if chosen.fault.name == "swapped classes":
        return None, skill
    if _is_shifted(subject, chosen):
        return "labels off by a row", skill
    if rejected and subject.is_inverted:
        return "inverted", skill
    keeps_spread = chosen.fault.method == "bias"  # such a fault is told, skill or not
    if not keeps_spread and mean + 1.64 * error < NO_SKILL * weighing.mean(base):
        return "no skill", skill
    return None, skill


def _is_shifted(subject: ClassSubject, chosen: Tried) -> bool:
    """Tell whether the labels of the row before or after fit far better than the own ones."""
    if chosen.fault.name == NONE:
        return False
    for by in (1, -1):
        gain = chosen.losses - subject.rolled_losses(by)
        if subject.weighing.mean(gain) > 5.0 * subject.weighing.stderr(gain):
            return True
    return False
