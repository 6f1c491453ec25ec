"""How the mean score follows the number of members and the budget of focal sets (C25 F.5, Fig. 13)."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from credibly._arrays.checks import require_integer
from credibly._arrays.errors import InputError, InputTypeError, UnsupportedError
from credibly._arrays.namespace import HostArray, like
from credibly._arrays.philox import as_seed, takes_rng
from credibly.credal import as_set, focal_budget, nonspecificity
from credibly.credal.sets import DIRICHLET_SAMPLES, CredalSet
from credibly.evaluation import shown
from credibly.plots import Mark, Picture, draws, mark
from credibly.plots.pictures import as_model
from credibly.predictions import Dataset, Ensemble, Point, as_pair, as_predictions
from credibly.results.base import Result
from credibly.selection import epistemic_score
from credibly.selection.score import labels_of
from credibly.selection.settings import ScoreMeasure

EXACT = "all events"
SINGLES = "single classes only"


@dataclasses.dataclass(frozen=True)
class ScoreStability(Result):
    """The mean score with fewer members and with other budgets.

    Attributes
    ----------
    n_members : ndarray (c,)
        Numbers of members; empty if the predictions have none.
    by_members, members_std : ndarray (c,)
        Mean score over random choices of that many members, and its standard deviation over these choices
        (NaN if the score is infinite).
    budgets : tuple of str
        The budgets.
    by_budget : ndarray (b,)
        Mean score on each of them.
    tradeoff : float
        Weight of the imprecision.
    n : int
        Number of instances used.
    settings : mapping
        Measure, repeats, seed.
    """

    n_members: HostArray
    by_members: HostArray
    members_std: HostArray
    budgets: tuple[str, ...]
    by_budget: HostArray
    tradeoff: float
    n: int
    settings: Mapping[str, Any] = dataclasses.field(default_factory=dict)


@takes_rng
def score_stability(
    predictions: Any,
    labels: Any,
    *,
    n_members: Sequence[int] | None = None,
    budgets: Mapping[str, Sequence[Iterable[int]]] | None = None,
    tradeoff: float = 1.0,
    measure: ScoreMeasure = "hartley",
    n_repeats: int = 10,
    n_rows: int = 1000,
    n_samples: int = DIRICHLET_SAMPLES,
    rng: Any = 0,
) -> ScoreStability:
    """Score predictions with fewer members and with other budgets.

    Parameters
    ----------
    predictions : Predictions or array
        Class predictions.
    labels : array (n,), LabelCounts, Point or array (n, k)
        Class labels, or soft targets.
    n_members : sequence of int, optional
        Numbers of members to try. Default: 1, 2, 4, ... and all.
    budgets : mapping of str to sequence of sets of int, optional
        Budgets to try. Default: single classes only, two and three sets per class from
        :func:`credibly.credal.focal_budget`, and all events.
    tradeoff : float
        Weight of the imprecision.
    measure : str
        What counts as imprecision for the numbers of members; budgets are
        compared with clamped Dubois-Prade masses, as in C25.
    n_repeats : int
        Number of random choices of members for each number.
    n_rows : int
        Maximum number of instances used, evenly spaced.
    n_samples : int
        Number of draws that represent a Dirichlet.
    rng : None, int or Generator
        Seed of the choices.

    Returns
    -------
    ScoreStability
        Mean scores per number of members and per budget.

    Notes
    -----
    With more members the hull can only grow: the distance falls and the non-specificity rises, and neither
    converges. So always read a score together with its number of members.

    References
    ----------
    C25: Manchingal et al., A unified evaluation framework for epistemic predictions, 2025, appendix F.5.

    Examples
    --------
    >>> import numpy as np
    >>> import credibly as cr
    >>> from credibly_studies.c25_stability import score_stability
    >>> rng = np.random.default_rng(0)
    >>> ensemble = cr.Ensemble(rng.dirichlet(np.ones(3), size=(200, 8)))
    >>> found = score_stability(ensemble, rng.integers(3, size=200), tradeoff=0.0)
    >>> found.n_members, bool((np.diff(found.by_members) < 0).all())
    (array([1, 2, 4, 8]), True)
    """
    n_repeats, n_rows = require_integer(n_repeats, "n_repeats", 1), require_integer(n_rows, "n_rows", 1)
    readable, labels = as_pair(predictions, labels)
    seed = as_seed(rng)
    whole = as_set(as_predictions(readable), n_samples=n_samples, rng=seed)
    rows = np.unique(np.linspace(0, len(whole) - 1, min(len(whole), n_rows)).round().astype(np.int64))
    some = Dataset(whole, labels).take(rows)
    few, labels_of_some = as_set(some.predictions), labels_of(some)

    def mean_score(credal: CredalSet, by: ScoreMeasure) -> float:
        return float(
            epistemic_score(
                credal, labels_of_some, tradeoff=tradeoff, measure=by, dependences=False, rng=seed
            )
        )

    counts = _member_counts(whole, n_members)
    generator = np.random.default_rng(seed)
    by_members = np.empty((len(counts), n_repeats))
    for place, count in enumerate(counts):
        assert isinstance(few, Ensemble)
        for repeat in range(n_repeats):
            if count == few.n_members and repeat:
                by_members[place, repeat] = by_members[place, 0]
                continue
            picked = np.sort(generator.permutation(few.n_members)[:count])
            by_members[place, repeat] = mean_score(fewer_members(few, picked), measure)
    named = _budgets(whole, few, budgets)
    by_budget = [mean_score(few, "hartley" if sets is None else clamped_on(sets)) for sets in named.values()]
    return ScoreStability(
        n_members=np.array(counts, dtype=np.int64),
        by_members=by_members.mean(axis=1),
        members_std=_deviation(by_members),
        budgets=tuple(named),
        by_budget=np.array(by_budget),
        tradeoff=float(tradeoff),
        n=len(rows),
        settings={"measure": str(measure), "n_repeats": n_repeats, "seed": list(seed)},
    )


def clamped_on(budget: Sequence[Iterable[int]]) -> ScoreMeasure:
    """Return the imprecision of clamped Dubois-Prade masses on a list of focal sets, as C25 measures it."""

    def clamped_masses(credal: CredalSet) -> Any:
        return nonspecificity(credal, measure="dubois_prade", budget=budget, negative="clamp")

    return clamped_masses


def fewer_members(ensemble: Ensemble, members: HostArray) -> Ensemble:
    """Return the hull of some members; a hull ignores weights."""
    return Ensemble(ensemble.xp.take(ensemble.probs, like(members, ensemble.probs), axis=1), member_axis=1)


def _deviation(scores: HostArray) -> HostArray:
    """Return the standard deviation over repeats (c, r); NaN where a score is infinite."""
    deviations = np.full(len(scores), np.nan)
    finite = np.isfinite(scores).all(axis=1)
    deviations[finite] = scores[finite].std(axis=1)
    return deviations


def _member_counts(credal: CredalSet, asked: Sequence[int] | None) -> list[int]:
    if not isinstance(credal, Ensemble):
        if asked is not None:
            raise InputError(
                "`n_members`",
                "needs predictions with members",
                f"got {type(credal).__name__}",
                "Leave it out; budgets are still compared.",
            )
        return []
    m = credal.n_members
    if asked is None:
        return [*(2**power for power in range(int(np.log2(m)) + 1) if 2**power < m), m]
    if isinstance(asked, str | bytes) or not isinstance(asked, Iterable):
        raise InputTypeError(
            "`n_members`",
            "must be a sequence of numbers",
            f"got {asked!r}",
            "Pass a list, even for a single item.",
        )
    counts = [require_integer(count, "n_members", 1) for count in asked]
    if not counts or max(counts) > m:
        raise InputError(
            "`n_members`",
            f"must list numbers from 1 to {m}",
            f"got {counts}",
            "Use at most as many as there are.",
        )
    return counts


def _budgets(
    credal: CredalSet, few: CredalSet, asked: Mapping[str, Sequence[Iterable[int]]] | None
) -> dict[str, tuple[frozenset[int], ...] | None]:
    """Return budgets by name; None stands for all events."""
    if asked is not None and not isinstance(asked, Mapping):
        raise InputTypeError(
            "`budgets`",
            "must be a mapping of names to focal sets",
            f"got {type(asked).__name__}",
            'Write `{"pairs": [{0}, {1}, {0, 1}]}`.',
        )
    if isinstance(credal, Point):
        return {}
    if asked is not None:
        return {str(name): tuple(map(frozenset, sets)) for name, sets in asked.items()}
    k = credal.n_classes
    budgets: dict[str, tuple[frozenset[int], ...] | None] = {SINGLES: tuple(frozenset({j}) for j in range(k))}
    if k > 4:  # fewer classes have hardly more sets than that
        budgets |= {f"{sets * k} sets": focal_budget(few, sets * k + 1) for sets in (2, 3)}
    return {**budgets, EXACT: None}


@draws(ScoreStability, "members", several=True)
def members(stability: ScoreStability | Mapping[str, ScoreStability]) -> Picture:
    """Mean score against the number of members, with the spread over choices of members (C25 Fig. 13).

    Parameters
    ----------
    stability : ScoreStability or mapping of str to ScoreStability
        From `score_stability`.
    """
    every = stability if isinstance(stability, Mapping) else {"score": stability}
    named = {str(name): model for name, model in every.items() if model.n_members.size}
    if not named:
        raise UnsupportedError(
            "a picture over numbers of members",
            "needs predictions with members",
            "none of these has any",
            "Look at `by_budget` instead.",
        )
    parts = [
        f"{name} from {shown(float(model.by_members[0]))} with {model.n_members[0]} "
        f"to {shown(float(model.by_members[-1]))} with {model.n_members[-1]}"
        for name, model in named.items()
    ]
    tradeoff = next(iter(named.values())).tradeoff
    sizes = [model.n_members.size for model in named.values()]
    models = enumerate(named.items())
    return Picture(
        "Score against members",
        f"Mean score by number of members: {'; '.join(parts)}.",
        {
            "model": np.repeat(list(named), sizes),
            "members": np.concatenate([model.n_members for model in named.values()]),
            "mean score": np.concatenate([model.by_members for model in named.values()]),
            "standard deviation": np.concatenate([model.members_std for model in named.values()]),
        },
        [drawn for place, (name, model) in models for drawn in as_model(_by_members(model), place, name)],
        "number of members",
        f"mean score, trade-off {tradeoff:g}",
        size=(5.0, 3.8),
        axes={"xlim": (0, None), "ylim": (0, None)},
        shared=[drawn._replace(label=name) for name, model in named.items() for drawn in _by_members(model)],
    )


def _by_members(stability: ScoreStability) -> list[Mark]:
    """Return means with bars of one standard deviation."""
    low = stability.by_members - stability.members_std
    high = stability.by_members + stability.members_std
    return [
        mark("line", "observed", stability.n_members, stability.by_members, markersize=4, linewidth=1.5),
        mark("vlines", "far", stability.n_members, low, high, linewidth=1.0),
    ]
