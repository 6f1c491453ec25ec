"""Members scattered around a prior mean: P_m ~ Dir(k p / u), the ensembles of M23 and J25."""

from __future__ import annotations

import numpy as np

from credibly._arrays.namespace import HostArray
from credibly.predictions import Dirichlet

_SMALLEST = 1e-290  # a class with a smaller parameter has probability 0 in double precision anyway


def draw_prior(n: int, n_classes: int, concentration: float, generator: np.random.Generator) -> HostArray:
    """Draw n distributions from a symmetric Dirichlet, in log space, (n, k)."""
    alpha = np.full((n, n_classes), concentration)
    return np.asarray(Dirichlet(alpha).sample(1, rng=generator).probs[:, 0, :])


def draw_members(
    prior: HostArray, spread: HostArray | float, n_members: int, generator: np.random.Generator
) -> HostArray:
    """Draw members from Dir(k p / u), (n, m, k), for prior means p (n, k) and spreads u, a number or (n,).

    E P = p and Var P_c = p_c (1 - p_c) / (k / u + 1).
    """
    shape = np.broadcast_to(np.asarray(spread, dtype=float), prior.shape[:1])
    alpha = np.maximum(prior.shape[1] * prior / shape[:, None], _SMALLEST)
    return np.asarray(Dirichlet(alpha).sample(n_members, rng=generator).probs)
