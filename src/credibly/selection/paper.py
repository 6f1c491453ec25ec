"""The pipeline C25 published, so that its tables can be made again.

Samples become lower probabilities of a fixed list of focal sets, these become masses; negative ones are set
to 0, what is missing to 1 goes to the set of all classes, and rows are divided by their sum.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from credibly._arrays.philox import Seed
from credibly.credal import credal_sample, focal_budget, mass_function
from credibly.credal.envelope import all_events
from credibly.credal.sets import CredalSet, credal_set
from credibly.predictions import Belief, Dirichlet, Intervals, Point, Predictions

CLIP = 1e-10
"""Probabilities below this count as this in the distance."""

INTERVAL_SAMPLES = 10
SETS_PER_CLASS = 3
"""30 sets for the 10 classes of CIFAR-10 and MNIST, 300 for the 100 of CIFAR-100."""

_FEW_CLASSES = 4  # these have hardly more than three sets per class


def paper_samples(given: Predictions, n_samples: int, seed: Seed) -> tuple[CredalSet, tuple[str, ...]]:
    """Return the set whose members the pipeline starts from, and what it does differently there."""
    if isinstance(given, Intervals):
        drawn = credal_sample(given, INTERVAL_SAMPLES, method="hit_and_run", rng=seed)
        return drawn, (f"{INTERVAL_SAMPLES} samples stand for every interval prediction",)
    if isinstance(given, Dirichlet):
        # C25's code draws from alpha divided by its sum, which forgets how sure the model was.
        spread = Dirichlet(given.member_means(), member_axis=1 if given.alpha.ndim == 3 else None)
        note = f"{n_samples} samples of Dir(alpha / sum(alpha)), not of Dir(alpha), stand for every Dirichlet"
        return spread.sample(n_samples, rng=seed), (note,)
    return credal_set(given), ()


def paper_budget(credal: CredalSet) -> tuple[frozenset[int], ...]:
    """Return as many focal sets per class as C25 has, from the clusters of the classes; all of a few."""
    k = credal.n_classes
    if k <= _FEW_CLASSES:
        return tuple(frozenset(np.flatnonzero(row).tolist()) for row in all_events(k)[1:])
    return focal_budget(credal, SETS_PER_CLASS * k + 1)  # the set of all classes is not among the 3 k


def paper_set(credal: CredalSet, budget: Sequence[Iterable[int]]) -> CredalSet:
    """Return the belief that the pipeline makes of samples; points and beliefs stay what they are."""
    if isinstance(credal, Point | Belief):
        return credal
    return mass_function(credal, budget=budget, negative="clamp").to_belief()
