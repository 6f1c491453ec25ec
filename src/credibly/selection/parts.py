"""The two parts of the score of a set, and their sum."""

from __future__ import annotations

import math
from typing import Any

from credibly._arrays.namespace import Array, namespace
from credibly.credal import credal_distance
from credibly.credal.entropy import log_base
from credibly.credal.masses import OWN_MASSES
from credibly.credal.sets import CredalSet
from credibly.selection.imprecision import imprecision_of
from credibly.selection.paper import CLIP, paper_set
from credibly.selection.settings import ScoreSettings
from credibly.selection.standings import NEGLIGIBLE


def parts_of(credal: CredalSet, labels: Any, settings: ScoreSettings) -> tuple[Array, Array, tuple[str, ...]]:
    """Return distance and imprecision, (n,) each, and how they were made."""
    budget, negative, given = settings.budget, settings.negative, credal
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
    if credal is not given:  # the notes of the paper mode say how its masses were made
        how = tuple(note for note in how if note != OWN_MASSES)
    return distance, imprecision, how


def combined(distance: Array, imprecision: Array, tradeoff: float) -> Array:
    """Return distance + trade-off * imprecision, with infinity times 0 being 0: a point is never punished."""
    xp = namespace(distance)
    if math.isfinite(tradeoff):
        return distance + tradeoff * imprecision
    return xp.where(imprecision > NEGLIGIBLE, xp.full_like(distance, xp.inf), distance)
