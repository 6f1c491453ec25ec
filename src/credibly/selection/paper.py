"""The pipeline C25 published, so that its tables can be made again.

Samples become lower probabilities of a fixed list of focal sets, these become masses; negative ones are set
to 0, what is missing to 1 goes to the set of all classes, and rows are divided by their sum.
"""

from __future__ import annotations

import numpy as np

from credibly._arrays.namespace import as_float64, like, to_host
from credibly._arrays.philox import Seed
from credibly.credal import sample
from credibly.credal.bounds import event_bounds, event_table
from credibly.credal.envelope import all_events
from credibly.credal.masses import clamped, closest_pairs
from credibly.credal.sets import CredalSet, as_set
from credibly.predictions import Belief, Dirichlet, Intervals, Point, Predictions
from credibly.predictions.belief import check_focal_sets

CLIP = 1e-10
"""Probabilities below this count as this in the distance."""

INTERVAL_SAMPLES = 10
SETS_PER_CLASS = 3
"""30 sets for the 10 classes of CIFAR-10 and MNIST, 300 for the 100 of CIFAR-100."""

_FEW_CLASSES = 4  # these have hardly more than three sets per class


def paper_samples(given: Predictions, n_samples: int, seed: Seed) -> tuple[CredalSet, tuple[str, ...]]:
    """Return the set whose members the pipeline starts from, and what it does differently there."""
    if isinstance(given, Intervals):
        drawn = sample(given, INTERVAL_SAMPLES, method="hit_and_run", rng=seed)
        return drawn, (f"{INTERVAL_SAMPLES} samples stand for every interval prediction",)
    if isinstance(given, Dirichlet):
        # C25's code draws from alpha divided by its sum, which forgets how sure the model was.
        spread = Dirichlet(given.member_means(), member_axis=1 if given.alpha.ndim == 3 else None)
        note = f"{n_samples} samples of Dir(alpha / sum(alpha)), not of Dir(alpha), stand for every Dirichlet"
        return spread.sample(n_samples, rng=seed), (note,)
    return as_set(given), ()


def paper_budget(credal: CredalSet) -> tuple[frozenset[int], ...]:
    """Return as many focal sets per class as C25 has: single classes and the closest pairs; all of a few.

    Like the list of C25 it holds all subsets of its sets, without which the printed masses are no inverse.
    """
    k = credal.n_classes
    if k <= _FEW_CLASSES:
        return tuple(frozenset(np.flatnonzero(row).tolist()) for row in all_events(k)[1:])
    probs = to_host(as_float64(credal.mean().probs))  # the distances of classes are made on the host
    pairs = closest_pairs(probs)[: (SETS_PER_CLASS - 1) * k]
    return (*(frozenset({j}) for j in range(k)), *pairs)


def paper_set(credal: CredalSet, budget: tuple[frozenset[int], ...]) -> CredalSet:
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
        one - {member} in listed for one in listed if one != largest and len(one) > 1 for member in one
    )
