"""C25's score as printed, and its ablations: budgets of focal sets, other divergences, other bases.

Samples become lower probabilities of a fixed list of focal sets, these become masses; negative ones are set
to 0, what is missing to 1 goes to the set of all classes, and rows are divided by their sum. Distances are
clipped, and the paper's "JS" is the square root of the divergence. A one-hot label has, with its upper
probability q, KL = -ln q and

    JS = 1/2 [ln(2 / (1 + q)) + q ln(2q / (1 + q)) + (1 - q) ln 2].

`credibly.epistemic_score` measures the exact set instead.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

import numpy as np

from credibly._arrays.errors import UnsupportedError, one_of
from credibly._arrays.namespace import Array, as_float64, like, namespace, to_host, xlogy
from credibly._arrays.philox import Seed, as_seed, takes_rng
from credibly.credal import as_set, nonspecificity, upper_probability
from credibly.credal import distance as credal_distance
from credibly.credal.bounds import event_bounds, event_table
from credibly.credal.entropy import log_base
from credibly.credal.envelope import all_events
from credibly.credal.masses import closest_pairs
from credibly.credal.sets import DIRICHLET_SAMPLES, CredalSet
from credibly.predictions import (
    Belief,
    Classes,
    Dirichlet,
    Ensemble,
    Intervals,
    Point,
    Predictions,
    as_labels,
    as_pair,
    as_point,
)
from credibly.predictions.belief import check_focal_sets, clamped
from credibly.results.scores import EpistemicScore
from credibly.selection import Ranking, rank_scores, score_from_parts
from credibly.selection.ranking import TRADEOFFS

Divergence = Literal["kl", "js", "sqrt_js"]

Budget = Sequence[Iterable[int]]


def distance(predictions: Any, labels: Any, *, divergence: Divergence = "kl", clip: float = 0.0) -> Array:
    """Return how far labels are from the nearest distribution of each set, by any of C25's divergences.

    Parameters
    ----------
    predictions : Predictions or array
        Class predictions, read as sets by :func:`credibly.credal.as_set`.
    labels : array (n,)
        Classes; soft targets for "kl" only.
    divergence : {"kl", "js", "sqrt_js"}
        Kullback-Leibler, Jensen-Shannon, or its square root, which C25's code calls JS.
    clip : float
        Probabilities below this count as this, for "kl".

    Returns
    -------
    array (n,)
        One distance per instance.

    Examples
    --------
    >>> import credibly as cr
    >>> from credibly_studies.c25 import distance
    >>> distance(cr.Ensemble([[[0.75, 0.25], [0.5, 0.5]]]), [0], divergence="js").round(4)
    array([0.0956])
    """
    one_of("`divergence`", divergence, ("kl", "js", "sqrt_js"))
    readable, labels = as_pair(predictions, labels)
    credal = as_set(readable)
    xp = credal.xp
    if divergence == "kl":
        value = credal_distance(credal, labels)
        return xp.minimum(value, xp.full_like(value, -math.log(clip))) if clip else value
    seen = as_labels(credal, labels)
    if not isinstance(seen, Classes):
        got = f"got {type(labels).__name__}"
        raise UnsupportedError("`labels`", f'must be classes for "{divergence}"', got, 'Use "kl".')
    places = xp.astype(seen.values[0, :], xp.int64)
    q = xp.clip(xp.take_along_axis(upper_probability(credal), places[:, None], axis=-1)[:, 0], 0.0, 1.0)
    middle = 0.5 * (1.0 + q)
    value = 0.5 * (-xp.log(middle) + xlogy(q, q) - xlogy(q, middle) + (1.0 - q) * math.log(2.0))
    value = xp.where(value > 0, value, xp.zeros_like(value))  # rounding below 0 would have no root
    return value if divergence == "js" else xp.sqrt(value)


@takes_rng
def score(
    predictions: Any,
    labels: Any,
    *,
    tradeoff: float = 1.0,
    measure: Literal["dubois_prade", "koerner"] = "dubois_prade",
    divergence: Divergence = "kl",
    budget: Budget | None = None,
    base: float | None = None,
    n_samples: int = DIRICHLET_SAMPLES,
    rng: Any = 0,
) -> EpistemicScore:
    """Score predictions by the published pipeline.

    Parameters
    ----------
    predictions : Predictions or array
        Class predictions. Intervals are represented by their lower bounds, a Dirichlet by samples of
        Dir(alpha / sum(alpha)).
    labels : array (n,)
        Classes.
    tradeoff : float
        Weight of the imprecision.
    measure : {"dubois_prade", "koerner"}
        What counts as imprecision of the masses.
    divergence : {"kl", "js", "sqrt_js"}
        Distance; "js" is the root of the Jensen-Shannon divergence here, as in the published code.
    budget : sequence of sets of int, optional
        Focal sets that carry the masses. Default: three per class.
    base : float, optional
        Base of the logarithms. Default: e.
    n_samples : int
        Draws per instance, if the predictions are a Dirichlet.
    rng : None, int or Generator
        Seed of draws.

    Returns
    -------
    EpistemicScore
        As :func:`credibly.epistemic_score` returns it.

    Examples
    --------
    >>> import credibly as cr
    >>> from credibly_studies import c25
    >>> ensemble = cr.Ensemble([[[0.75, 0.25], [0.5, 0.5]]])
    >>> round(float(c25.score(ensemble, [0])), 4)  # two classes need no budget: -ln 0.75 + 0.25 ln 2
    0.461
    """
    one_of("`measure`", measure, ("dubois_prade", "koerner"))
    seed, (readable, labels) = as_seed(rng), as_pair(predictions, labels)
    credal, notes = samples(readable, n_samples, seed)
    notes = (*readable.notes, *notes, f"C25: probabilities below {CLIP:g} count as {CLIP:g}")
    listed = None if isinstance(credal, Point) else default_budget(credal)
    if budget is not None:
        listed = tuple(frozenset(members) for members in budget)
    if listed is not None and not isinstance(credal, Point | Belief):
        notes = (*notes, f"clamped masses on {len(listed)} focal sets and on all classes represent the set")
        if not is_closed(listed):
            lacking = "the budget lacks subsets of its sets, so the masses as printed are not an inverse"
            notes = (*notes, lacking)
    if divergence == "js":
        divergence, notes = "sqrt_js", (*notes, '"js" is the square root of the Jensen-Shannon divergence')
    settings = {
        "tradeoff": tradeoff,
        "measure": measure,
        "divergence": divergence,
        "budget": None if listed is None else [sorted(members) for members in listed],
        "base": "e" if base is None else base,
        "n_samples": n_samples,
        "seed": list(seed),
        "members": credal.n_members if isinstance(credal, Ensemble) else None,
    }
    belief = budget_belief(credal, listed or ())
    distances = _parts(belief, labels, measure, divergence, base)
    result = score_from_parts(readable, labels, *distances, tradeoff=tradeoff, settings=settings, notes=notes)
    if isinstance(readable, Point):
        return result
    mean = as_point(readable)[0]
    parts = _parts(mean, labels, measure, divergence, base)
    return dataclasses.replace(
        result, average=score_from_parts(mean, labels, *parts, tradeoff=tradeoff, settings=settings)
    )


def _parts(
    credal: CredalSet,
    labels: Any,
    measure: Literal["dubois_prade", "koerner"],
    divergence: Divergence,
    base: float | None,
) -> tuple[Array, Array]:
    """Return distance and imprecision of masses as they are; sizes of Koerner's measure have no unit."""
    scale = log_base(base)
    far = distance(credal, labels, divergence=divergence, clip=CLIP)
    far = far / (math.sqrt(scale) if divergence == "sqrt_js" else scale)
    if isinstance(credal, Point):
        return far, 0.0 * namespace(far).sum(as_float64(credal.probs), axis=-1)
    wide = nonspecificity(credal, measure=measure)
    return far, wide - 1.0 if measure == "koerner" else wide / scale


@takes_rng
def rank_models(
    models: Mapping[str, Any],
    labels: Any,
    *,
    tradeoffs: Sequence[float] = TRADEOFFS,
    divergence: Divergence = "kl",
    budget: Budget | None = None,
    n_resamples: int = 1000,
    rng: Any = 0,
) -> Ranking:
    """Rank models by the published pipeline, with one budget for all of them.

    Parameters
    ----------
    models : mapping of str to Predictions or array
        Predictions for the same instances, by name.
    labels : array (n,)
        Classes.
    tradeoffs : sequence of float
        Trade-offs at which the models are ordered.
    divergence : {"kl", "js", "sqrt_js"}
        Distance; see :func:`score`.
    budget : sequence of sets of int, optional
        Focal sets. Default: three per class, by the mean over the models' mean predictions.
    n_resamples : int
        Bootstrap draws of instances.
    rng : None, int or Generator
        Seed of everything drawn.

    Returns
    -------
    Ranking
        As :func:`credibly.rank_models` returns it.
    """
    seed = as_seed(rng)
    if budget is None:
        means = [as_point(as_pair(model, labels)[0])[0].probs for model in models.values()]
        budget = default_budget(Ensemble.from_members(means))
    scores = {
        name: score(model, labels, divergence=divergence, budget=budget, rng=seed)
        for name, model in models.items()
    }
    return rank_scores(scores, tradeoffs=tradeoffs, n_resamples=n_resamples, rng=seed)


def by_divergence(
    predictions: Any, labels: Any, result: EpistemicScore, divergence: Divergence
) -> EpistemicScore:
    """Return a score of exact sets with another distance (C25 F.1); everything else stays."""
    readable, labels = as_pair(predictions, labels)
    settings = {**result.settings, "divergence": divergence}

    def another(of: Any, score_of: EpistemicScore) -> EpistemicScore:
        return score_from_parts(
            readable,
            labels,
            distance(of, labels, divergence=divergence),
            score_of.imprecision,
            tradeoff=result.tradeoff,
            settings=settings,
            notes=score_of.notes,
        )

    # the draws of the score stand for a Dirichlet
    drawn = as_set(readable, n_samples=result.settings["n_samples"], rng=tuple(result.settings["seed"]))
    other = another(drawn, result)
    if result.average is None:
        return other
    average = dataclasses.replace(another(as_point(readable)[0], result.average), kind="Point")
    return dataclasses.replace(other, average=average)


def scale_of(scores_by: Mapping[str, EpistemicScore], by_kl: Mapping[str, EpistemicScore]) -> float:
    """Return largest distance over largest KL distance, by which F.1 multiplies trade-offs."""
    scale, kl = (max(_largest(score.distance) for score in scores.values()) for scores in (scores_by, by_kl))
    return scale / kl if kl > 0 and scale > 0 else 1.0


def _largest(values: Array) -> float:
    finite = to_host(values)[np.isfinite(to_host(values))]
    return float(finite.max(initial=0.0))  # infinite ones have no say


CLIP = 1e-10
"""Probabilities below this count as this in the distance."""

SETS_PER_CLASS = 3
"""30 sets for the 10 classes of CIFAR-10 and MNIST, 300 for the 100 of CIFAR-100."""

_FEW_CLASSES = 4  # these have hardly more than three sets per class


def samples(predictions: Predictions, n_samples: int, seed: Seed) -> tuple[CredalSet, tuple[str, ...]]:
    """Return the set whose members the pipeline starts from, and what it does differently there."""
    if isinstance(predictions, Intervals):
        note = "intervals are represented by their lower bounds; the remaining mass goes to all classes"
        return lower_belief(predictions), (note,)
    if isinstance(predictions, Dirichlet):
        # C25's code draws from alpha divided by its sum, which forgets how sure the model was.
        spread = predictions.replace_rows(alpha=predictions.member_means())
        note = f"{n_samples} samples of Dir(alpha / sum(alpha)), not of Dir(alpha), represent every Dirichlet"
        return spread.sample(n_samples, rng=seed), (note,)
    return as_set(predictions), ()


def lower_belief(intervals: Intervals) -> Belief:
    """Return masses that are the lower bounds of single classes, with the rest on all of them.

    That is what the numbers printed for CreINN were computed with: the lower probability of an event is the
    sum of its lower bounds, so only single classes have masses, and upper bounds are not used.
    """
    xp, k = intervals.xp, intervals.n_classes
    lower = as_float64(intervals.lower)
    rest = xp.clip(1.0 - xp.sum(lower, axis=-1, keepdims=True), 0.0, None)
    masses = xp.concat([lower, rest], axis=1)
    sets = (*(frozenset({j}) for j in range(k)), frozenset(range(k)))
    return Belief(masses[:1, :], sets, k).replace_rows(masses=masses)


def default_budget(credal: CredalSet) -> tuple[frozenset[int], ...]:
    """Return as many focal sets per class as C25 has: single classes and the closest pairs; all of a few.

    Like the list of C25 it holds all subsets of its sets, else the printed masses are not an inverse.
    """
    k = credal.n_classes
    if k <= _FEW_CLASSES:
        return tuple(frozenset(np.flatnonzero(row).tolist()) for row in all_events(k)[1:])
    probs = to_host(as_float64(credal.mean().probs))  # the distances of classes are made on the host
    pairs = closest_pairs(probs)[: (SETS_PER_CLASS - 1) * k]
    return (*(frozenset({j}) for j in range(k)), *pairs)


def budget_belief(credal: CredalSet, budget: tuple[frozenset[int], ...]) -> CredalSet:
    """Return the belief that the pipeline makes of samples; points and beliefs stay what they are.

    Masses are the printed sum over listed subsets, m(A) = sum_B (-1)^|A - B| lower(B). It inverts the lower
    probability where the list holds all subsets of its sets, as that of CIFAR-10 does, and is kept elsewhere:
    `mass_function` has the inverse on any list.
    """
    if isinstance(credal, Point | Belief):
        return credal
    checked, k = check_focal_sets(budget, credal.n_classes)
    everything = frozenset(range(k))
    sets = tuple(members for members in checked if members != everything)
    table = event_table(list(sets), k)[0] if sets else np.zeros((0, k))
    size = table.sum(axis=1)
    inside = table @ table.T == size[:, None]  # [i, j]: set i is a subset of set j
    signs = np.where(inside, (-1.0) ** (size[None, :] - size[:, None]), 0.0)
    xp, leading = credal.xp, credal._leading
    lower = event_bounds(credal, like(table, leading, dtype=xp.float64), upper=False)
    masses = lower @ like(signs, leading, dtype=xp.float64)
    rest = xp.zeros((len(credal), 1), dtype=xp.float64, device=credal.device)
    masses = clamped(xp.concat([masses, rest], axis=1), len(sets))
    # one row is checked, sets included; the others are valid by construction
    return Belief(masses[:1, :], (*sets, everything), k).replace_rows(masses=masses)


def is_closed(budget: tuple[frozenset[int], ...]) -> bool:
    """Tell whether all subsets of listed sets but the set of all classes are listed."""
    listed = set(budget)
    largest = frozenset().union(*budget)
    return all(
        focal - {member} in listed
        for focal in listed
        if focal != largest and len(focal) > 1
        for member in focal
    )
