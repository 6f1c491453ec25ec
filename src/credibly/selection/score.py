"""The unified score of one model: E = distance + trade-off * imprecision.

A Point's imprecision is 0, so its E is its log loss; a set gains by holding a distribution near the label and
pays for being imprecise.
"""

from __future__ import annotations

import dataclasses
import math
import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

import numpy as np

from credibly._arrays.checks import require_integer, scalar
from credibly._arrays.errors import InputError, InputTypeError, one_of
from credibly._arrays.namespace import Array, as_float64, like, namespace
from credibly._arrays.philox import Seed, as_seed
from credibly._arrays.score_results import Dependence, EpistemicScore, Group, Spread
from credibly.credal import credal_distance
from credibly.credal.distance import Divergence, soft_target
from credibly.credal.entropy import log_base
from credibly.credal.masses import Negative
from credibly.credal.nonspecificity import EXACT_CLASSES
from credibly.credal.objectives import entropy
from credibly.credal.sets import DIRICHLET_SAMPLES, CredalSet, credal_set
from credibly.predictions import (
    Belief,
    Classes,
    ClassPredictions,
    Dirichlet,
    Ensemble,
    Point,
    as_labels,
    as_point,
    as_predictions,
    require_order,
)
from credibly.selection.imprecision import ScoreMeasure, imprecision_of, require_measure
from credibly.selection.paper import CLIP, is_closed, paper_budget, paper_samples, paper_set

Paper = Literal["C25"]

DEPENDENCE_ROWS, FEWER_ROWS = 500, 100
"""Instances that tell how far the mean follows the budget and the number of members; fewer where all events
have to be sampled."""
NOTABLE = 0.01
"""Share of the mean score from which on a dependence is warned about."""


@dataclasses.dataclass(frozen=True)
class ScoreSettings:
    """How a set is made of predictions and measured; the same for all models that are compared."""

    tradeoff: float = 1.0
    measure: ScoreMeasure = "hartley"
    divergence: Divergence = "kl"
    budget: tuple[frozenset[int], ...] | None = None
    negative: Negative = "keep"
    base: float | None = None
    paper: Paper | None = None
    n_samples: int = DIRICHLET_SAMPLES
    seed: Seed = (0, 0)

    def shown(self) -> dict[str, Any]:
        """Return the settings as a result carries them."""
        found = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        if self.budget is not None:
            found["budget"] = [sorted(members) for members in self.budget]
        return {**found, "seed": list(self.seed), "base": "e" if self.base is None else self.base}


def epistemic_score(
    predictions: Any,
    labels: Any,
    *,
    tradeoff: float = 1.0,
    measure: ScoreMeasure | None = None,
    divergence: Divergence = "kl",
    budget: Sequence[Iterable[int]] | None = None,
    negative: Negative = "keep",
    base: float | None = None,
    paper: Paper | None = None,
    n_samples: int = DIRICHLET_SAMPLES,
    dependences: bool = True,
    rng: Any = 0,
) -> EpistemicScore:
    """Score predictions of any kind by distance to the labels plus imprecision.

    Parameters
    ----------
    predictions : Predictions or array
        Class predictions, read as sets by :func:`credal_set`.
    labels : array (n,), LabelCounts, Point or array (n, k)
        Class labels, or soft targets.
    tradeoff : float
        Weight of the imprecision, 0 or more; infinite asks for precision alone.
    measure : {"hartley", "dubois_prade", "koerner", "entropy_gap", "credal_size", "u65", "u80"}, optional
        What counts as imprecision: generalised Hartley of the exact envelope (where no budget is given),
        Dubois-Prade on a budget of focal sets (where one is), Koerner's minus 1, upper minus lower entropy,
        mean upper minus lower probability, or what a utility of set-valued answers takes off.
    divergence : {"kl", "js", "sqrt_js"}
        Distance of a label to the nearest distribution of the set.
    budget : sequence of sets of int, optional
        Focal sets the masses are put on, for ``dubois_prade`` and ``koerner``.
    negative : {"keep", "clamp"}
        Whether negative masses stay, for the same two.
    base : float, optional
        Base of the logarithms; natural where not given.
    paper : {"C25"}, optional
        The published pipeline: clamped masses on the budget stand for the set (three sets per class where no
        budget is given), distances are clipped at 1e-10, ``js`` is its root, intervals become 10 samples.
    n_samples : int
        Draws per instance where the predictions are a Dirichlet.
    dependences : bool
        Whether to find out, on up to 500 instances (100 beyond 12 classes), how far E follows the budget and
        the number of members.
    rng : None, int or Generator
        Seed of draws and random events.

    Returns
    -------
    EpistemicScore
        Arrays ``distance``, ``imprecision`` and ``total`` over instances, their means and standard deviations
        all, right and wrong predictions, and the same for the mean prediction in ``average``.

    Warns
    -----
    UserWarning
        Where E changes by more than 1 % with all events instead of the budget, or with half of the members.

    Notes
    -----
    E is a statement about the budget and the number of samples as much as about the model: compare models at
    equal ones. An imprecise model is rewarded at small trade-offs and punished at large ones;
    :func:`rank_models` shows where the order changes. Distances to labels need no vertices: they are -log of
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
    one_of("`divergence`", divergence, ("kl", "js", "sqrt_js"))
    one_of("`negative`", negative, ("keep", "clamp"))
    one_of("`paper`", paper, (None, "C25"))
    require_tradeoff(tradeoff)
    log_base(base)
    settings = ScoreSettings(
        float(tradeoff),
        measure or default_measure(budget, negative, paper),
        divergence,
        as_budget(budget),
        negative,
        base,
        paper,
        require_integer(n_samples, "n_samples", 1),
        as_seed(rng),
    )
    require_measure(settings.measure, budget, negative, paper)
    require_order(predictions, labels)
    found = score_of(as_predictions(predictions), labels, settings, dependences=dependences)
    for one in found.dependences:
        if abs(one.share) > NOTABLE:
            warnings.warn(str(one), UserWarning, stacklevel=2)
    return found


def default_measure(budget: object, negative: str, paper: Paper | None) -> ScoreMeasure:
    """Return the measure of the exact envelope, or the one on masses where something asks for masses."""
    return "hartley" if budget is None and negative == "keep" and paper is None else "dubois_prade"


def require_tradeoff(tradeoff: Any) -> None:
    """Raise unless `tradeoff` is a number from 0 to infinity."""
    number = isinstance(tradeoff, (int, float, np.integer, np.floating)) and not isinstance(tradeoff, bool)
    if not number or not tradeoff >= 0:
        raise InputError(
            "`tradeoff`",
            "must be a number of at least 0 (infinity included)",
            f"got {tradeoff!r}",
            "C25 uses 0.1 where abstaining is allowed and 2 where it is not.",
        )


def as_budget(budget: Sequence[Iterable[int]] | None) -> tuple[frozenset[int], ...] | None:
    """Return focal sets as sets; what is no collection of collections is refused where masses are made."""
    if budget is None:
        return None
    try:
        return tuple(frozenset(members) for members in budget)
    except TypeError:
        raise InputTypeError(
            "`budget`",
            "must be a sequence of sets of class indices",
            f"got {budget!r:.60}",
            "Write `[{0}, {1}, {0, 1}]`, or make one with `focal_budget`.",
        ) from None


def score_of(given: Any, labels: Any, settings: ScoreSettings, *, dependences: bool) -> EpistemicScore:
    """Score checked predictions; the same for one model and for many."""
    if not isinstance(given, ClassPredictions):
        credal_set(given)  # raises with the kinds that can be read as sets
    settings, credal, notes = _as_set(given, settings)
    kind = type(given).__name__
    mean = as_point(given)[0]
    right, right_notes = _is_right(mean, labels)
    distance, imprecision, how = parts_of(credal, labels, settings)
    average = None
    if not isinstance(given, Point):
        average = _summarised("Point", parts_of(mean, labels, settings)[:2], mean, right, settings, ())
    found = _summarised(kind, (distance, imprecision), mean, right, settings, (*notes, *how, *right_notes))
    shown = {**found.settings, **_counted(given, credal)}
    depends = _dependences(credal, labels, settings) if dependences else ()
    return dataclasses.replace(found, settings=shown, dependences=depends, average=average)


def _as_set(given: Any, settings: ScoreSettings) -> tuple[ScoreSettings, CredalSet, tuple[str, ...]]:
    """Return the set that is scored; with a paper mode, the settings and notes it brings."""
    if settings.paper is None:
        credal = credal_set(given, n_samples=settings.n_samples, rng=settings.seed)
        notes: tuple[str, ...] = ()
        if isinstance(given, Dirichlet):
            notes = (f"the hull of {settings.n_samples} draws stands for every Dirichlet",)
        return settings, credal, (*given.notes, *notes)
    credal, notes = paper_samples(given, settings.n_samples, settings.seed)
    if settings.budget is None and not isinstance(credal, Point):
        settings = dataclasses.replace(settings, budget=paper_budget(credal))
    sets = 0 if settings.budget is None else len(settings.budget)
    changed: tuple[str, ...] = (
        f'paper="C25": clamped masses on {sets} focal sets and all classes stand for the set',
        f"probabilities below {CLIP:g} count as {CLIP:g} in the distance",
    )
    if settings.budget is not None and not is_closed(settings.budget):
        changed = (*changed, "the budget lacks subsets of its sets, where the printed masses are no inverse")
    if settings.divergence == "js":
        settings = dataclasses.replace(settings, divergence="sqrt_js")
        changed = (*changed, '"js" is the root of the Jensen-Shannon divergence')
    return settings, credal, (*given.notes, *notes, *changed)


def parts_of(credal: CredalSet, labels: Any, settings: ScoreSettings) -> tuple[Array, Array, tuple[str, ...]]:
    """Return distance and imprecision, (n,) each, and how they were made."""
    budget, negative = settings.budget, settings.negative
    if settings.paper is not None:
        credal = paper_set(credal, budget or ())
        budget, negative = None, "keep"  # they are in the masses already
    distance = credal_distance(credal, labels, divergence=settings.divergence)
    xp = credal.xp
    if settings.paper is not None and settings.divergence == "kl":
        distance = xp.minimum(distance, xp.full_like(distance, -math.log(CLIP)))
    scale = log_base(settings.base)
    distance = distance / (math.sqrt(scale) if settings.divergence == "sqrt_js" else scale)
    imprecision, how = imprecision_of(
        credal, settings.measure, budget=budget, negative=negative, base=settings.base, seed=settings.seed
    )
    return distance, imprecision, how


def combined(distance: Array, imprecision: Array, tradeoff: float) -> Array:
    """Return distance + trade-off * imprecision, with infinity times 0 being 0: a point is never punished."""
    xp = namespace(distance)
    if math.isfinite(tradeoff):
        return distance + tradeoff * imprecision
    return xp.where(imprecision > 0, xp.full_like(distance, xp.inf), distance)


def _summarised(
    kind: str,
    scored: tuple[Array, Array],
    mean: Point,
    right: Array,
    settings: ScoreSettings,
    notes: tuple[str, ...],
) -> EpistemicScore:
    distance, imprecision = scored
    total = combined(distance, imprecision, settings.tradeoff)
    parts = {"distance": distance, "imprecision": imprecision, "total": total}
    masks: dict[Group, Array] = {"all": right | ~right, "right": right, "wrong": ~right}
    xp = namespace(distance)
    infinite = int(xp.sum(xp.astype(xp.isinf(distance), xp.int64)))
    if infinite:
        notes = (*notes, f"{infinite} instances are infinitely far: their label has probability 0 in the set")
    return EpistemicScore(
        kind=kind,
        tradeoff=settings.tradeoff,
        **parts,
        right=right,
        confidence=xp.max(as_float64(mean.probs), axis=-1),
        entropy=entropy(mean.probs) / log_base(settings.base),
        summary={
            name: {group: _spread(values, mask) for group, mask in masks.items()}
            for name, values in parts.items()
        },
        n=int(distance.shape[0]),
        n_infinite=infinite,
        settings=settings.shown(),
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


def _is_right(mean: Point, labels: Any) -> tuple[Array, tuple[str, ...]]:
    """Return whether the mean prediction puts the label first (of soft targets: a most frequent class)."""
    xp = mean.xp
    predicted = xp.argmax(mean.probs, axis=-1)
    target = soft_target(mean, labels)
    if target is None:
        checked = as_labels(mean, labels)
        assert isinstance(checked, Classes)
        return xp.astype(checked.values[0, :], predicted.dtype) == predicted, ()
    held = xp.take_along_axis(target, predicted[:, None], axis=-1)[:, 0]
    return held >= xp.max(target, axis=-1), (
        "right means that a most frequent class of the targets is first",
    )


def _counted(given: ClassPredictions, credal: CredalSet) -> Mapping[str, Any]:
    """Return how many members or samples stand for the set."""
    if not isinstance(credal, Ensemble):
        return {"members": None}
    return {"members": credal.n_members, "drawn": not isinstance(given, Ensemble)}


def chosen_members(ensemble: Ensemble, members: np.ndarray[Any, Any]) -> Ensemble:
    """Return the hull of some members; weights play no part in a hull."""
    return Ensemble._trusted(ensemble.xp.take(ensemble.probs, like(members, ensemble.probs), axis=1))


def spaced_rows(n: int, most: int) -> np.ndarray[Any, Any]:
    """Return up to `most` of n row numbers, evenly spaced."""
    return np.unique(np.linspace(0, n - 1, min(n, most)).round().astype(np.int64))


def labels_of_rows(credal: CredalSet, labels: Any, rows: np.ndarray[Any, Any]) -> Array:
    """Return the labels or soft targets of some instances."""
    own = soft_target(credal, labels)
    if own is None:
        checked = as_labels(credal, labels)
        assert isinstance(checked, Classes)
        own = checked.values[0, :]
    return namespace(own).take(own, like(rows, own), axis=0)


def _dependences(credal: CredalSet, labels: Any, settings: ScoreSettings) -> tuple[Dependence, ...]:
    """Score some instances again with all events instead of the budget, and with half of the members."""
    keeps_masses = isinstance(credal, Point) or (isinstance(credal, Belief) and settings.paper is not None)
    on_budget = settings.budget is not None and not keeps_masses
    halved = isinstance(credal, Ensemble) and credal.n_members > 1
    if not (on_budget or halved):
        return ()
    sampled = credal.n_classes > EXACT_CLASSES
    rows = spaced_rows(len(credal), FEWER_ROWS if sampled else DEPENDENCE_ROWS)
    few, own = credal[rows], labels_of_rows(credal, labels, rows)

    def mean(part: CredalSet, used: ScoreSettings) -> float:
        distance, imprecision, _ = parts_of(part, own, used)
        return scalar(namespace(distance).mean(combined(distance, imprecision, settings.tradeoff)))

    score = mean(few, settings)
    if not math.isfinite(score):
        return ()  # nothing can be compared with infinity
    found = []
    if on_budget:
        assert settings.budget is not None
        whole = dataclasses.replace(settings, budget=None, negative="keep", measure="hartley", paper=None)
        used = f"{len(settings.budget)} focal sets"
        found.append(Dependence("budget", used, "all events", score, mean(few, whole), len(rows)))
    if halved:
        assert isinstance(few, Ensemble)
        m = few.n_members
        half = chosen_members(few, np.arange(0, m, 2))
        found.append(
            Dependence(
                "members",
                f"{m} members",
                f"{half.n_members} of them",
                score,
                mean(half, settings),
                len(rows),
            )
        )
    return tuple(one for one in found if math.isfinite(one.other_score))
