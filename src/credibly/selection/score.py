"""The unified score of one model: E = distance + trade-off * imprecision.

A Point's imprecision is 0, so its E is its log loss; a set gains by holding a distribution near the label and
pays for being imprecise.

Rows are read as sets, every set is measured where it is read, and the numbers are put side by side. Distance
and imprecision look at one row at a time, so rows in chunks have the numbers of all rows at once. A ranking
draws rows with replacement and needs them all: n numbers per model and part are kept, never the members.

A few sets are kept as well: they tell how far the mean score follows the number of members.
"""

from __future__ import annotations

import dataclasses
import math
import warnings
from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from credibly._arrays.checks import require_one_each, scalar
from credibly._arrays.errors import InputError, UnsupportedError
from credibly._arrays.namespace import Array, HostArray, as_float64, entropy_of_rows, namespace
from credibly._arrays.notes import Note, merged
from credibly._arrays.philox import takes_rng
from credibly.credal import distance as distance_to
from credibly.credal.distances import soft_target
from credibly.credal.nonspecificity import EXACT_CLASSES
from credibly.credal.sets import DIRICHLET_SAMPLES, DRAWN_IN_CHUNKS, CredalSet, as_set
from credibly.predictions import (
    Classes,
    Counts,
    Dataset,
    Dirichlet,
    Ensemble,
    Labels,
    Point,
    Rows,
    as_pair,
    as_point,
    as_rows,
)
from credibly.predictions.dataset import joined_rows
from credibly.results.scores import Dependence, EpistemicScore, Group, Spread
from credibly.selection.lines import combined, require_tradeoff
from credibly.selection.settings import ScoreMeasure, ScoreSettings, checked_settings, imprecision_of
from credibly.statistics.kernels import spaced
from credibly.statistics.proper import top_label


def distance_and_imprecision(
    credal: CredalSet, labels: Any, settings: ScoreSettings
) -> tuple[Array, Array, tuple[str, ...]]:
    """Return distance and imprecision, (n,) each, and how they were made."""
    imprecision, how = imprecision_of(credal, settings.measure, settings.seed)
    return distance_to(credal, labels), imprecision, how


@dataclasses.dataclass(frozen=True)
class ScoredRows:
    """What is known of every row once it is scored, before rows are summed up.

    Attributes
    ----------
    columns : mapping of str to array (n,)
        Distance and imprecision, the same of the mean prediction (`mean_distance`, `mean_imprecision`) unless
        the prediction is that, and what the mean prediction says: right, confidence, entropy.
    target : Labels
        What was observed: classes (1, n), or soft targets (1, n, k).
    few : Dataset or None
        The sets of some rows with their targets; None where nothing is asked of them.
    kind : str
        Type of the predictions.
    members : mapping
        How many members or samples stand for the set.
    settings : ScoreSettings
        How the sets were made and measured.
    notes : tuple of str
        How the parts were made.
    """

    columns: Mapping[str, Array]
    target: Labels
    few: Dataset | None
    kind: str
    members: Mapping[str, Any]
    settings: ScoreSettings
    notes: tuple[str, ...]


def require_scorable(rows: Rows, name: str = "predictions") -> None:
    """Raise where numbers of a row would depend on the rows beside it, and these are elsewhere."""
    if len(rows.example) < rows.n and isinstance(rows.example.predictions, Dirichlet):
        raise UnsupportedError(
            f"model {name!r} in chunks",
            "must be a set of distributions",
            DRAWN_IN_CHUNKS,
            "Draw once, `dirichlet.sample(m)`, and scan the Ensemble.",
        )


def scored_rows(rows: Rows, settings: ScoreSettings, *, dependences: bool) -> ScoredRows:
    """Score all rows in one pass."""
    return _side_by_side(list(rows.map(partial(_score, settings, rows.n if dependences else None))))


def summed_up(scored: ScoredRows) -> EpistemicScore:
    """Return the score of all rows, of the prediction and of its mean, and what it depends on."""
    settings, columns, tradeoff = scored.settings.shown(), dict(scored.columns), scored.settings.tradeoff
    of_mean = {part: columns.pop(f"mean_{part}", None) for part in ("distance", "imprecision")}
    score = _summarised(scored.kind, columns, tradeoff, {**settings, **scored.members}, scored.notes)
    average = None
    if of_mean["distance"] is not None:
        average = _summarised("Point", columns | of_mean, tradeoff, settings, ())
    depends = () if scored.few is None else dependences_of(scored.few, scored.settings)
    return dataclasses.replace(score, average=average, dependences=depends)


def require_same_labels(first: tuple[str, HostArray], second: tuple[str, HostArray]) -> None:
    """Raise unless two models, given by name, were scored by the same labels."""
    (name, labels), (other_name, others) = first, second
    if np.array_equal(labels, others):
        return
    where = f"shapes {labels.shape} and {others.shape}"
    if labels.shape == others.shape:
        where = f"first in row {int(np.nonzero(labels != others)[0][0])}"
    raise InputError(
        "the models",
        "must have the same labels in the same order",
        f"those of {name!r} and {other_name!r} differ, {where}",
        "Predict one test set with all of them.",
    )


def labels_of(data: Dataset) -> Any:
    """Return labels (n,) or soft targets as a user would pass them."""
    return data.observed if isinstance(data.labels, Labels) else data.labels


def target_of(credal: CredalSet, labels: Any) -> Labels:
    """Return what was observed as classes (1, n), or as soft targets (1, n, k)."""
    soft = soft_target(credal, labels)
    return Dataset(credal, labels).batch if soft is None else Counts(soft[None, ...])


def _score(settings: ScoreSettings, n: int | None, data: Dataset) -> ScoredRows:
    """Score the rows of a dataset; where choices matter, keep the sets of a few of all `n` rows."""
    predictions = data.predictions
    credal = as_set(predictions, n_samples=settings.n_samples, rng=settings.seed)
    notes = predictions.notes
    if isinstance(predictions, Dirichlet):
        notes = (*notes, f"every Dirichlet is represented by the hull of {settings.n_samples} draws")
    labels, mean = labels_of(data), as_point(predictions)[0]
    target = target_of(mean, labels)
    answers, reading = _answers(mean, target)
    distance, imprecision, how = distance_and_imprecision(credal, labels, settings)
    columns = {"distance": distance, "imprecision": imprecision, **answers}
    if not isinstance(predictions, Point):
        mean_distance, mean_imprecision, _ = distance_and_imprecision(mean, labels, settings)
        columns |= {"mean_distance": mean_distance, "mean_imprecision": mean_imprecision}
    few: Dataset | None = None
    members: dict[str, Any] = {"members": None}
    if isinstance(credal, Ensemble):
        members = {"members": credal.n_members, "drawn": not isinstance(predictions, Ensemble)}
        if n is not None and credal.n_members > 1:
            few = _few_sets(credal, target, n, data.start)
    notes = (*notes, *how, *reading)
    return ScoredRows(columns, target, few, type(predictions).__name__, members, settings, notes)


def _few_sets(credal: CredalSet, target: Labels, n: int, start: int) -> Dataset | None:
    """Return those of a few evenly spaced of n rows that are among these; None where there are none."""
    rows = spaced(n, FEWER_ROWS if credal.n_classes > EXACT_CLASSES else DEPENDENCE_ROWS)
    inside = rows[(rows >= start) & (rows < start + len(credal))] - start
    return Dataset(credal, target).take(inside) if inside.size else None


def _side_by_side(parts: list[ScoredRows]) -> ScoredRows:
    """Join what is known of the rows of chunks."""
    first, *others = parts
    if not others:
        return first

    def joined_arrays(arrays: list[Array], axis: int = 0) -> Array:
        return namespace(*arrays).concat(arrays, axis=axis)

    few = [part.few for part in parts if part.few is not None]
    values = joined_arrays([part.target.values for part in parts], axis=1)
    return dataclasses.replace(
        first,
        columns={name: joined_arrays([part.columns[name] for part in parts]) for name in first.columns},
        target=dataclasses.replace(first.target, values=values),
        few=joined_rows(few) if few else None,
        notes=merged(part.notes for part in parts),
    )


def _summarised(
    kind: str,
    columns: Mapping[str, Array],
    tradeoff: float,
    settings: Mapping[str, Any],
    notes: tuple[str, ...],
) -> EpistemicScore:
    """Return the score with means over all, right and wrong predictions; columns as in `ScoredRows`."""
    distance, right = columns["distance"], columns["right"]
    total = combined(distance, columns["imprecision"], tradeoff)
    parts = {"distance": distance, "imprecision": columns["imprecision"], "total": total}
    masks: dict[Group, Array] = {"all": right | ~right, "right": right, "wrong": ~right}
    xp = namespace(distance)
    infinite = int(xp.sum(xp.astype(xp.isinf(distance), xp.int64)))
    if infinite:
        far = "instances have an infinite distance: their label has probability 0 in the set"
        notes = (*notes, Note("infinite", far, infinite))
    return EpistemicScore(
        kind=kind,
        tradeoff=tradeoff,
        **columns,
        total=total,
        summary={
            name: {group: _spread(values, mask) for group, mask in masks.items()}
            for name, values in parts.items()
        },
        n=int(distance.shape[0]),
        n_infinite=infinite,
        settings=settings,
        notes=notes,
    )


def _spread(values: Array, mask: Array) -> Spread:
    """Return mean and standard deviation of the values under a mask."""
    xp = namespace(values)
    n = int(xp.sum(xp.astype(mask, xp.int64)))
    if n == 0:
        return Spread(math.nan, math.nan, 0)
    zero = xp.zeros_like(values)
    mean = scalar(xp.sum(xp.where(mask, values, zero))) / n
    if n < 2 or not math.isfinite(mean):
        return Spread(mean, math.nan, n)
    squares = scalar(xp.sum(xp.where(mask, values - mean, zero) ** 2))
    return Spread(mean, math.sqrt(squares / (n - 1)), n)


def _answers(mean: Point, target: Labels) -> tuple[dict[str, Array], tuple[str, ...]]:
    """Return what a mean prediction says of every row: if it puts the label first, how surely, how spread.

    Of soft targets, a most frequent class is a right answer, and a note says so.
    """
    xp = mean.xp
    stated, label = top_label(mean)
    confidence, predicted = as_float64(stated), xp.astype(label, xp.int64)
    values = target.values[0, ...]
    notes: tuple[str, ...] = ()
    if isinstance(target, Classes):
        right = xp.astype(values, predicted.dtype) == predicted
    else:
        share = xp.take_along_axis(values, predicted[:, None], axis=-1)[:, 0]
        right = share >= xp.max(values, axis=-1)
        notes = ("an answer counts as right if it is a most frequent class of the targets",)
    return {"right": right, "confidence": confidence, "entropy": entropy_of_rows(mean.probs)}, notes


DEPENDENCE_ROWS, FEWER_ROWS = 500, 100
"""Instances that tell how far the mean follows the number of members; fewer where all events have to be
sampled."""

NOTABLE = 0.01
"""Share of the mean score from which on a dependence is warned about."""


def dependences_of(some: Dataset, settings: ScoreSettings) -> tuple[Dependence, ...]:
    """Score some hulls again with half of their members."""
    few, labels = as_set(some.predictions), some.batch.values[0, ...]
    assert isinstance(few, Ensemble)
    half = Ensemble._trusted(few.probs[:, ::2, :])  # a hull ignores weights
    score, other = (_mean_score(part, labels, settings) for part in (few, half))
    if not (math.isfinite(score) and math.isfinite(other)):
        return ()  # nothing can be compared with infinity
    used, fewer = f"{few.n_members} members", f"{half.n_members} of them"
    return (Dependence(used, fewer, score, other, len(few)),)


def _mean_score(credal: CredalSet, labels: Any, settings: ScoreSettings) -> float:
    distance, imprecision, _ = distance_and_imprecision(credal, labels, settings)
    return scalar(namespace(distance).mean(combined(distance, imprecision, settings.tradeoff)))


@takes_rng
def epistemic_score(
    predictions: Any,
    labels: Any = None,
    *,
    tradeoff: float = 1.0,
    measure: ScoreMeasure | None = None,
    n_samples: int = DIRICHLET_SAMPLES,
    dependences: bool = True,
    rng: Any = 0,
) -> EpistemicScore:
    """Score predictions of any kind by their distance to the labels plus their imprecision.

    Parameters
    ----------
    predictions : Predictions, array or Rows
        ...
    labels : array (n,), LabelCounts, Point or array (n, k)
        Class labels, or soft targets. Leave out for chunks, which carry their own.
    tradeoff : float
        Weight of the imprecision, 0 or more; with infinity only precision counts.
    measure : str or callable, optional
        What counts as imprecision: "hartley", the generalised Hartley measure of the exact envelope (the
        default); "dubois_prade", the same sum over masses; "koerner", Koerner's measure minus 1;
        "entropy_gap", upper minus lower entropy; "credal_size", mean upper minus lower probability; "u65" and
        "u80", the discount of a utility for set-valued answers. Or a function from the sets to an array (n,).
    n_samples : int
        ...
    dependences : bool
        Whether to find out, on up to 500 instances (100 beyond 12 classes), how much E depends on the number
        of members.
    rng : None, int or Generator
        ...

    Returns
    -------
    EpistemicScore
        Arrays ``distance``, ``imprecision`` and ``total`` over instances, their means and standard deviations
        over all, right and wrong predictions, and the same for the mean prediction in ``average``.

    Warns
    -----
    UserWarning
        If E changes by more than 1 % with half of the members.

    Notes
    -----
    E depends on the number of members or samples as much as on the model: compare models only with the same
    number. An imprecise model is rewarded at small trade-offs and punished at large ones; :func:`rank_models`
    shows where the order changes. Distances to labels do not need the vertices of the set: they are -log of
    the upper probability.

    References
    ----------
    C25: Manchingal et al., A unified evaluation framework for epistemic predictions, 2025.

    Examples
    --------
    >>> import credibly as cr
    >>> ensemble = cr.Ensemble([[[0.75, 0.25], [0.5, 0.5]]])
    >>> score = cr.epistemic_score(ensemble, [0], dependences=False)
    >>> score.distance.round(4), score.imprecision.round(4)  # -ln 0.75; (0.75 - 0.5) ln 2
    (array([0.2877]), array([0.1733]))
    >>> round(float(score.average), 4)  # log loss of the mean: -ln 0.625
    0.47
    """
    settings = checked_settings(tradeoff=tradeoff, measure=measure, n_samples=n_samples, rng=rng)
    rows = as_rows(predictions, labels)
    require_scorable(rows)
    score = summed_up(scored_rows(rows, settings, dependences=dependences))
    for dependence in score.dependences:
        if abs(dependence.share) > NOTABLE:
            warnings.warn(str(dependence), UserWarning, stacklevel=3)
    return score


def score_from_parts(
    predictions: Any,
    labels: Any,
    distance: Array,
    imprecision: Array,
    *,
    tradeoff: float = 1.0,
    settings: Mapping[str, Any] | None = None,
    notes: tuple[str, ...] = (),
) -> EpistemicScore:
    """Return a score with a distance or an imprecision of your own; :func:`rank_scores` ranks such scores.

    Parameters
    ----------
    predictions : Predictions or array
        Class predictions: their mean says which answers are right, how confident and how spread they are.
    labels : array (n,), LabelCounts, Point or array (n, k)
        Class labels, or soft targets.
    distance, imprecision : array (n,)
        The two parts of the score.
    tradeoff : float
        Weight of the imprecision.
    settings : mapping, optional
        How the parts were made.
    notes : tuple of str
        What a reader must know of it.

    Returns
    -------
    EpistemicScore
        Without `average`, the score of the mean prediction, which `dataclasses.replace` adds.

    References
    ----------
    C25: Manchingal et al., A unified evaluation framework for epistemic predictions, 2025.

    Examples
    --------
    >>> import numpy as np
    >>> import credibly as cr
    >>> ensemble = cr.Ensemble([[[0.75, 0.25], [0.5, 0.5]]])
    >>> narrow = cr.selection.score_from_parts(ensemble, [0], np.array([0.2]), np.array([0.1]), tradeoff=2.0)
    >>> round(float(narrow), 4)
    0.4
    """
    require_tradeoff(tradeoff)
    readable, labels = as_pair(predictions, labels)
    mean = as_point(readable)[0]
    for name, part in (("distance", distance), ("imprecision", imprecision)):
        require_one_each(tuple(np.shape(part)), len(mean), f"`{name}`")
    answers, reading = _answers(mean, target_of(mean, labels))
    columns = {"distance": distance, "imprecision": imprecision, **answers}
    return _summarised(type(readable).__name__, columns, float(tradeoff), settings or {}, (*notes, *reading))
