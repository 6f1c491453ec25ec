"""What every statistic takes, read off the statistic itself: it is tried on a few rows of every kind.

`rights` is the one answer to "does this statistic take weights, label counts, clusters, chunks, ...?"; the
page docs/rights.md is made from it, and refusals name the statistics that do (`that_take`).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import cache

import numpy as np

from credibly._arrays.errors import CrediblyError
from credibly.predictions import (
    Classes,
    Counts,
    Dataset,
    Gaussian,
    Labels,
    Point,
    Predictions,
    Quantiles,
    Reals,
    Samples,
)
from credibly.predictions.samples import Pool
from credibly.statistics.linear import Linear
from credibly.statistics.protocol import SECOND_LOOK, Bound, Statistic
from credibly.statistics.real_kernels import pooled_with
from credibly.statistics.registry import as_statistic, registered

RIGHTS = ("weights", "label counts", "tests", "clusters", "groups", "chunks", "gradients", "interval")
"""What a statistic may take or give, in the order of the table."""

_N = 48
_CLUSTERS = np.arange(_N) % 8


def _examples() -> dict[str, tuple[Predictions, Labels]]:
    """Return a few rows of every kind; no number in them is special."""
    turn = np.arange(_N)
    spread = 1.0 + 0.5 * np.sin(turn)
    mean, seen = np.cos(turn), np.cos(turn) + spread * np.sin(2.0 + 7.0 * turn)
    raw = 1.5 + np.sin(turn[:, None] * np.array([1.0, 1.7, 2.3]))
    draws = mean[:, None] + spread[:, None] * np.sin(turn[:, None] + 1.3 * np.arange(7.0))
    levels = np.array([0.05, 0.25, 0.5, 0.75, 0.95])
    ends = mean[:, None] + spread[:, None] * np.array([-1.6, -0.7, 0.0, 0.7, 1.6])
    reals = Reals(seen[None, :])
    return {
        "classes": (Point(raw / raw.sum(axis=1, keepdims=True)), Classes((turn % 3)[None, :], 3)),
        "Gaussian": (Gaussian(mean, spread), reals),
        "draws": (Samples(draws, member_axis=1), reals),
        "quantiles": (Quantiles(ends, levels), reals),
    }


def rights(statistic: str | Statistic) -> dict[str, dict[str, bool]]:
    """Return what a statistic takes and gives, by kind of predictions.

    Parameters
    ----------
    statistic : str or Statistic
        Which one.

    Returns
    -------
    dict
        For every kind of predictions it is defined for ("classes", "Gaussian", "draws", "quantiles") the
        rights by name: "weights", "label counts", "tests" (labels can be drawn for it), "clusters" (in
        tests), "groups", "chunks", "gradients" and "interval".

    Examples
    --------
    >>> import credibly as cr
    >>> cr.statistics.rights("crps")["quantiles"]["tests"]
    False
    >>> cr.statistics.rights("crps")["draws"]["clusters"]
    True
    """
    chosen = as_statistic(statistic)
    table = {}
    for kind, (predictions, labels) in _examples().items():
        if ("classes" if kind == "classes" else "reals") not in chosen.traits.labels:
            continue
        try:
            chosen.require_predictions(predictions)
            bound = chosen.bind(predictions)
        except CrediblyError:
            continue
        table[kind] = _granted(chosen, bound, predictions, labels)
    return table


def _granted(statistic: Statistic, bound: Bound, predictions: Predictions, labels: Labels) -> dict[str, bool]:
    weighted = dataclasses.replace(labels, weights=np.ones((1, _N)))
    traits = statistic.traits
    stderr, refusal = bound.stderr(bound.observed_sums(labels), labels)
    kept = {
        "weights": _works(lambda: bound.state(weighted)),
        "label counts": isinstance(labels, Classes)
        and "counts" in traits.labels
        and _works(lambda: bound.state(Counts(1 + np.arange(3 * _N).reshape(1, _N, 3) % 4))),
        "tests": not isinstance(predictions, Quantiles) or _works(lambda: bound.of_cells(predictions)),
        "clusters": _takes_clusters(bound, predictions, labels),
        "groups": traits.reduction == "sum",
        "chunks": traits.reduction != "opaque",
        "gradients": traits.differentiable,
        "interval": stderr is not None or refusal is SECOND_LOOK,  # from one look at the rows, or from two
    }
    return {name: kept[name] for name in RIGHTS}


def _works(call: Callable[[], object]) -> bool:
    try:
        call()
    except CrediblyError:
        return False
    return True


def _takes_clusters(bound: Bound, predictions: Predictions, labels: Labels) -> bool:
    """Tell whether sums by cluster can be made of a few rows: it is known what the predictions expect."""
    if isinstance(bound, Linear):
        if isinstance(predictions, Samples):  # what is expected is known of pools
            pooled = pooled_with(Dataset(predictions, labels), predictions.values)
            assert isinstance(pooled.predictions, Pool)
            bound, labels = bound.of_pool(pooled.predictions, None), pooled.batch
        elif not bound.terms.has_law:
            return False
    elif type(bound).wild_sums is Bound.wild_sums:  # which refuses, with the names in this table
        return False
    return _works(lambda: bound.wild_sums(labels, _CLUSTERS, 8))


@cache
def that_take(right: str, kind: str) -> tuple[str, ...]:
    """Return the names of the registered statistics that have a right with one kind of predictions."""
    table = {name: rights(entry).get(kind, {}) for name, entry in registered().items()}
    return tuple(name for name, granted in table.items() if granted.get(right, False))
