"""How the mean score follows the number of members and the budget of focal sets."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from credibly._arrays.checks import require_integer, scalar
from credibly._arrays.errors import InputError, InputTypeError, one_of
from credibly._arrays.namespace import namespace
from credibly._arrays.philox import as_seed, takes_rng
from credibly.credal import focal_budget
from credibly.credal.distances import Divergence
from credibly.credal.entropy import log_base
from credibly.credal.sets import DIRICHLET_SAMPLES, CredalSet, as_set
from credibly.predictions import Ensemble, Point, as_pair, as_predictions
from credibly.results.scores import ScoreStability
from credibly.selection.score import (
    chosen_members,
    combined,
    distance_and_imprecision,
    some_sets,
    spaced_rows,
    target_of,
)
from credibly.selection.settings import ScoreMeasure, ScoreSettings, as_budget, require_measure
from credibly.selection.standings import require_tradeoff

EXACT = "all events"
SINGLES = "single classes only"


@takes_rng
def score_stability(
    predictions: Any,
    labels: Any = None,
    *,
    n_members: Sequence[int] | None = None,
    budgets: Mapping[str, Sequence[Iterable[int]]] | None = None,
    tradeoff: float = 1.0,
    measure: ScoreMeasure = "hartley",
    divergence: Divergence = "kl",
    base: float | None = None,
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
        :func:`focal_budget`, and all events.
    tradeoff : float
        Weight of the imprecision.
    measure : str
        What counts as imprecision for the numbers of members; see :func:`epistemic_score`. Budgets are
        compared with clamped Dubois-Prade masses, as in C25.
    divergence : {"kl", "js", "sqrt_js"}
        Distance.
    base : float, optional
        Base of the logarithms. Default: e.
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
    >>> rng = np.random.default_rng(0)
    >>> ensemble = cr.Ensemble(rng.dirichlet(np.ones(3), size=(200, 8)))
    >>> found = cr.selection.score_stability(ensemble, rng.integers(3, size=200), tradeoff=0.0)
    >>> found.n_members, bool((np.diff(found.by_members) < 0).all())
    (array([1, 2, 4, 8]), True)
    """
    require_tradeoff(tradeoff)
    log_base(base)
    require_measure(measure, None, "keep")
    one_of("`divergence`", divergence, ("kl", "js", "sqrt_js"))
    n_repeats, n_rows = require_integer(n_repeats, "n_repeats", 1), require_integer(n_rows, "n_rows", 1)
    predictions, labels = as_pair(predictions, labels)
    seed = as_seed(rng)
    credal = as_set(as_predictions(predictions), n_samples=n_samples, rng=seed)
    rows = spaced_rows(len(credal), n_rows)
    some = some_sets(credal, target_of(credal, labels), rows)
    own, few = some.batch.values[0, ...], as_set(some.predictions)
    settings = ScoreSettings(float(tradeoff), measure, divergence, base=base, seed=seed)
    counts = _member_counts(credal, n_members)
    generator = np.random.default_rng(seed)
    by_members = np.empty((len(counts), n_repeats))
    for place, count in enumerate(counts):
        assert isinstance(few, Ensemble)
        for repeat in range(n_repeats):
            if count == few.n_members and repeat:
                by_members[place, repeat] = by_members[place, 0]
                continue
            picked = np.sort(generator.permutation(few.n_members)[:count])
            by_members[place, repeat] = _mean_score(chosen_members(few, picked), own, settings)
    named = _budgets(credal, few, budgets)
    on_masses = dataclasses.replace(settings, measure="dubois_prade", negative="clamp")
    by_budget = [
        _mean_score(few, own, dataclasses.replace(settings, measure="hartley"))
        if sets is None
        else _mean_score(few, own, dataclasses.replace(on_masses, budget=sets))
        for sets in named.values()
    ]
    return ScoreStability(
        n_members=np.array(counts, dtype=np.int64),
        by_members=by_members.mean(axis=1),
        members_std=_deviation(by_members),
        budgets=tuple(named),
        by_budget=np.array(by_budget),
        tradeoff=float(tradeoff),
        n=len(rows),
        settings={**settings.shown(), "n_repeats": n_repeats},
    )


def _deviation(scores: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return the standard deviation over repeats (c, r); NaN where a score is infinite."""
    found = np.full(len(scores), np.nan)
    finite = np.isfinite(scores).all(axis=1)
    found[finite] = scores[finite].std(axis=1)
    return found


def _mean_score(credal: CredalSet, labels: Any, settings: ScoreSettings) -> float:
    distance, imprecision, _ = distance_and_imprecision(credal, labels, settings)
    return scalar(namespace(distance).mean(combined(distance, imprecision, settings.tradeoff)))


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
        return {str(name): as_budget(sets) for name, sets in asked.items()}
    k = credal.n_classes
    found: dict[str, tuple[frozenset[int], ...] | None] = {SINGLES: tuple(frozenset({j}) for j in range(k))}
    if k > 4:  # fewer classes have hardly more sets than that
        found |= {f"{sets * k} sets": focal_budget(few, sets * k + 1) for sets in (2, 3)}
    return {**found, EXACT: None}
