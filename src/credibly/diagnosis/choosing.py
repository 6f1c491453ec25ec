"""From held-out losses of all repairs to the fault: the smallest repair that explains the gain.

A repair explains all if it has 70 % of the largest gain and is within a few paired standard errors of it:
1.5 for classes and 2 for real values; one if the largest gain is that of a repair of classes by group, which
is shrunk already. A smaller one with 98 % of the gain leads, and the rest is a second fault. Held-out losses
of a small group say little, so a fault by group that the test shows most clearly wins ties. All rules were
measured on worlds with known faults (`make headlines`); the outcome is flat from 1 to 2 standard errors and
from 50 to 80 % of the gain.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from credibly._arrays.namespace import HostArray
from credibly.diagnosis.table import NONE, Fault

EXPLAINS, LEADS = 0.7, 0.98
TIED = 1.0
"""Paired standard errors below which two repairs of one size gain the same."""


@dataclasses.dataclass(frozen=True)
class Weighing:
    """How rows are averaged: their weights, and which of them belong together.

    Attributes
    ----------
    weights : ndarray (n,)
        Weight of every row.
    clusters : ndarray (n,) or None
        Number of the cluster of every row.
    """

    weights: HostArray
    clusters: HostArray | None = None

    def mean(self, values: HostArray) -> float:
        """Return the mean over rows."""
        return float(self.weights @ values / self.weights.sum())

    def stderr(self, values: HostArray, event: float = 0.0) -> float:
        """Return the standard error of the mean; `event` is added to the sum of squares.

        One event that might have happened keeps the interval of a rare one honest.
        """
        apart: HostArray = self.weights * (values - self.mean(values))
        if self.clusters is not None:
            apart = np.bincount(self.clusters, weights=apart).astype(np.float64)
        return float(np.sqrt(apart @ apart + event) / self.weights.sum())

    def rows(self, keep: HostArray) -> Weighing:
        """Return the same for some rows."""
        return Weighing(self.weights[keep], None if self.clusters is None else self.clusters[keep])


@dataclasses.dataclass(frozen=True)
class Tried:
    """A repair that was fitted on other folds.

    Attributes
    ----------
    fault : Fault
        The row of the table.
    by : str or None
        The attribute whose groups have repairs of their own.
    losses : ndarray (n,)
        Held-out loss of every row.
    after : object
        What is predicted after the repair, as the kind of prediction holds it.
    """

    fault: Fault
    by: str | None
    losses: HostArray
    after: Any


def choose(
    tried: Sequence[Tried],
    weighing: Weighing,
    within: tuple[float, float],
    shown: str = NONE,
    prefers: Mapping[str, str] | None = None,
) -> tuple[Tried, Tried]:
    """Return the repair to lead with, and the one that explains all.

    Parameters
    ----------
    tried : sequence of Tried
        All repairs, and none.
    weighing : Weighing
        Weights and clusters of the rows.
    within : tuple of float
        Paired standard errors by which a larger repair must beat a smaller one: for all rows, and by group.
    shown : str
        The fault that the test shows most clearly.
    prefers : mapping of str to str, optional
        From a fault to the one that is named instead if both gain the same.

    Returns
    -------
    Tried, Tried
        Both may be the same.
    """
    loss = {id(repair): weighing.mean(repair.losses) for repair in tried}
    lead, everything = _smallest(tried, weighing, within, loss)
    if lead.fault.name == NONE:
        return lead, everything

    def of(name: str | None) -> Tried | None:
        named = [repair for repair in tried if repair.fault.name == name]
        return min(named, key=lambda repair: loss[id(repair)], default=None)

    def is_tied(other: Tried) -> bool:
        apart = other.losses - lead.losses
        return weighing.mean(apart) <= TIED * weighing.stderr(apart)

    other = of(shown)
    if other is not None and other.fault.by_group:
        larger = other.fault.order > lead.fault.order
        gains = loss[id(other)] <= loss[id(lead)]
        if gains if larger else other.fault.order == lead.fault.order and is_tied(other):
            everything = other if everything is lead or larger else everything
            lead = other
    other = of((prefers or {}).get(lead.fault.name))
    if other is not None and is_tied(other):
        everything = other if everything is lead else everything
        lead = other
    return lead, everything


def _smallest(
    tried: Sequence[Tried], weighing: Weighing, within: tuple[float, float], loss: Mapping[int, float]
) -> tuple[Tried, Tried]:
    before = next(repair for repair in tried if repair.fault.name == NONE)
    best = min(tried, key=lambda repair: loss[id(repair)])
    most = loss[id(before)] - loss[id(best)]
    errors = within[best.fault.by_group]
    lead: Tried | None = None
    for repair in sorted(tried, key=lambda repair: (repair.fault.order, loss[id(repair)])):
        apart = repair.losses - best.losses
        less = weighing.mean(apart)
        if lead is None and less <= (1.0 - LEADS) * most:
            lead = repair
        if less <= min(errors * weighing.stderr(apart), (1.0 - EXPLAINS) * most):
            return lead or repair, repair
    return lead or best, best
