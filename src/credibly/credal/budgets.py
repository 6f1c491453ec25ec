"""Focal-set budgets: a short list of sets of classes that masses may be put on."""

from __future__ import annotations

from typing import Any

import numpy as np

from credibly._arrays.checks import require_integer
from credibly._arrays.errors import InputError
from credibly._arrays.namespace import as_float64, to_host
from credibly.credal.sets import DIRICHLET_SAMPLES, as_credal
from credibly.predictions.belief import FocalSet


def focal_budget(
    predictions: Any, n_sets: int, *, n_samples: int = DIRICHLET_SAMPLES, rng: Any = None
) -> tuple[FocalSet, ...]:
    """Choose focal sets by clustering classes that are predicted together.

    Parameters
    ----------
    predictions : Predictions or array
        Class predictions; their mean distributions say which classes go together.
    n_sets : int
        Size of the budget: at least k + 1, at most k + 1 plus the number of clusters and pairs.
    n_samples : int
        Draws per instance where the predictions are a Dirichlet.
    rng : None, int or Generator
        Seed of these draws.

    Returns
    -------
    tuple of frozenset of int
        The k single classes, the set of all classes, then clusters from the tightest to the loosest, then
        the closest pairs that are no clusters.

    Notes
    -----
    The closeness of two classes is the cosine between their columns of mean predictions; clusters are
    those of average linkage. With tied distances the choice follows the order of the classes.

    References
    ----------
    Manchingal et al., *A unified evaluation framework for epistemic predictions*, 2025.

    Examples
    --------
    >>> import credibly as cr
    >>> point = cr.Point([[0.5, 0.4, 0.1], [0.4, 0.5, 0.1], [0.1, 0.1, 0.8]])
    >>> [sorted(members) for members in cr.focal_budget(point, 5)]
    [[0], [1], [2], [0, 1, 2], [0, 1]]
    """
    credal = as_credal(predictions, n_samples, rng)
    k = credal.n_classes
    n_sets = require_integer(n_sets, "n_sets", 1)
    probs = to_host(as_float64(credal.mean().probs))  # scipy.cluster lives on the host
    listed = [frozenset({j}) for j in range(k)] + [frozenset(range(k))]
    candidates = [*_clusters(probs), *closest_pairs(probs)]
    extra = list(dict.fromkeys(members for members in candidates if 1 < len(members) < k))
    if not len(listed) <= n_sets <= len(listed) + len(extra):
        raise InputError(
            "`n_sets`",
            f"must lie between {len(listed)} and {len(listed) + len(extra)} for {k} classes",
            f"got {n_sets}",
            "Single classes and the set of all classes are always part of a budget; "
            "list larger budgets yourself.",
        )
    return tuple(listed + extra[: n_sets - len(listed)])


def _distances(probs: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """1 - cosine between the columns; a class that is never predicted is as far as can be."""
    norms = np.sqrt((probs**2).sum(axis=0))
    columns = probs / np.where(norms > 0, norms, 1.0)
    distances = np.clip(1.0 - columns.T @ columns, 0.0, 1.0)
    np.fill_diagonal(distances, 0.0)
    return distances


def _clusters(probs: np.ndarray[Any, Any]) -> list[FocalSet]:
    from scipy.cluster.hierarchy import linkage
    from scipy.spatial.distance import squareform

    k = probs.shape[1]
    merges = linkage(squareform(_distances(probs), checks=False), method="average")
    members: list[FocalSet] = [frozenset({j}) for j in range(k)]
    for first, second, *_ in merges:
        members.append(members[int(first)] | members[int(second)])
    return members[k:]


def closest_pairs(probs: np.ndarray[Any, Any]) -> list[FocalSet]:
    """Return all pairs of classes, those most often predicted together first."""
    first, second = np.triu_indices(probs.shape[1], 1)
    order = np.argsort(_distances(probs)[first, second], kind="stable")
    return [frozenset({int(first[i]), int(second[i])}) for i in order]
