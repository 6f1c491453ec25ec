"""Who should be asked for another label: what it is expected to take off the squared error of the mean.

Given a law pi of the distribution theta of labels, the next label y is expected to lower ||E theta -
theta||^2 by

    any pi       sum_y ||Cov(theta)_.y||^2 / E theta_y
    Dirichlet    V A / ((A + n) (A + n + 1))  after n further labels,      V = (1 - sum z^2) / (A + 1)

Gains of a Dirichlet fall with n and add up over instances, so taking the largest next gain is optimal for any
budget. Only ignorance is gained upon: where raters are expected to disagree, another label tells little.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from credibly._arrays.checks import require_integer
from credibly._arrays.errors import require
from credibly._arrays.namespace import HostArray, tiles
from credibly._arrays.notes import counted
from credibly.predictions import LabelCounts, SecondOrder, as_predictions
from credibly.raters.annotators import annotations_of
from credibly.raters.second_labels import LabelLaw
from credibly.results.second_labels import SecondLabelPlan

_TILE_ELEMENTS = 2**22


def plan_second_labels(
    predictions: Any,
    budget: int,
    *,
    counts: LabelCounts | None = None,
    raters: Mapping[str, int] | None = None,
) -> SecondLabelPlan:
    """Choose the instances whose next label is expected to help most.

    Parameters
    ----------
    predictions : Ensemble, Dirichlet or SecondOrder
        What is predicted about the distribution of labels of every instance.
    budget : int
        Number of labels that can be asked for.
    counts : LabelCounts, optional
        Labels that are known already: gains are those of a further label.
    raters : mapping of str to int, optional
        How many labels each rater can still give. A rater is not asked twice about an instance, which
        `counts` show if they know who gave which label.

    Returns
    -------
    SecondLabelPlan
        Instances in order, with their gains and, if raters are named, who should label them.

    Notes
    -----
    With one Dirichlet per instance an instance may get several labels. With members it gets one: plan again
    with the new counts. The gains hold if the stated ignorance is honest; test it first (`ignorance`).

    References
    ----------
    Ferguson, *A Bayesian analysis of some nonparametric problems*, 1973, for the posterior.

    Examples
    --------
    >>> import credibly as cr
    >>> belief = cr.Dirichlet([[1.0, 1.0], [50.0, 50.0], [9.0, 1.0]])
    >>> plan = cr.raters.plan_second_labels(belief, 2)
    >>> plan.order, plan.gains.round(4)
    (array([0, 0]), array([0.0556, 0.0278]))
    """
    stated = as_predictions(predictions)
    budget = require_integer(budget, "budget", 1)
    named = raters is None or (isinstance(raters, Mapping) and len(raters) > 0)
    require(named, "must say how many labels each rater can give", 'Write {"Ada": 20}.', raters=raters)
    second = SecondOrder.of(stated)
    second = second if counts is None else second.given(counts)
    law = LabelLaw.of(second)
    single = second.is_dirichlet and law.shares.shape[1] == 1
    total = law.members[:, 0, :].sum(axis=-1) if single else None
    wide = law.variance.sum(axis=1)
    first = wide / (total + 1.0) if total is not None else first_gains(law)
    asked = _Raters(raters, counts, len(first))
    n_labels = np.zeros(len(first), dtype=np.int64)
    order: list[int] = []
    gains: list[float] = []
    heap = [(-gain, row) for row, gain in enumerate(first.tolist())]
    heapq.heapify(heap)
    while heap and len(order) < budget:
        gain, row = heapq.heappop(heap)
        if not asked.ask(row):
            continue
        order.append(row)
        gains.append(-gain)
        n_labels[row] += 1
        if total is not None:
            concentration = float(total[row]) + int(n_labels[row])
            left = float(wide[row] * total[row]) / concentration
            heapq.heappush(heap, (-left / (concentration + 1.0), row))
    notes = (*stated.notes,)
    if len(order) < budget:
        rest = counted(budget - len(order), "label is", "labels are")
        why = "no instance or rater is left" if raters is not None else "members allow one label per instance"
        notes = (*notes, f"{rest} left over: {why}; plan again with the new counts")
    each, more = divmod(len(order), len(first))
    by_number = [
        float((number * first if total is None else wide * number / (total + number)).sum())
        for number in (each, each + 1)
    ]
    return SecondLabelPlan(
        n_labels=n_labels,
        order=np.array(order, dtype=np.int64),
        gains=np.array(gains),
        raters=None if raters is None else asked.names(order),
        gain=float(np.sum(gains)),
        random_gain=by_number[0] + more / len(first) * (by_number[1] - by_number[0]),
        possible=float(first.sum()),
        budget=budget,
        notes=notes,
    )


def first_gains(law: LabelLaw) -> HostArray:
    """Return what one label of every instance is expected to take off the squared error, (n,)."""
    n, m, k = law.members.shape
    gains = np.empty(n)
    for rows in tiles(n, max(1, _TILE_ELEMENTS // (k * max(k, m)))):
        part = law.rows(rows)
        total = part.members.sum(axis=-1, keepdims=True)
        means = part.members / total
        away = means - part.mean[:, None, :]
        covariance = np.einsum("nm,nma,nmb->nab", part.shares, away, away, optimize=True)
        if law.is_dirichlet:
            weight = part.shares / (total[..., 0] + 1.0)
            covariance -= np.einsum("nm,nma,nmb->nab", weight, means, means, optimize=True)
            covariance[:, np.arange(k), np.arange(k)] += (weight[..., None] * means).sum(axis=1)
        square = (covariance**2).sum(axis=1)
        gains[rows] = np.divide(square, part.mean, out=np.zeros_like(square), where=part.mean > 0).sum(axis=1)
    return gains


class _Raters:
    """Who can still be asked, and about what; without names anybody can."""

    def __init__(self, raters: Mapping[str, int] | None, counts: LabelCounts | None, n: int) -> None:
        self.named = raters is not None
        named = (raters or {}).items()
        self.capacity = {str(name): require_integer(left, "raters", 0) for name, left in named}
        self.rows: dict[str, list[int]] = {name: [] for name in self.capacity}
        self.full: set[str] = set()
        self.known: list[set[str]] = [set() for _ in range(n)]
        if self.named and counts is not None:
            rater, _, names = annotations_of(counts, "`raters`")
            for row, place in np.argwhere(rater >= 0).tolist():
                self.known[row].add(names[rater[row, place]])

    def ask(self, row: int) -> bool:
        """Tell whether somebody can label a row; others may give their rows to each other for it."""
        tried = set(self.full)
        possible = not self.named or self._asked(row, tried)
        if not possible:
            self.full = tried  # nor can any of these give or pass on a label later
        return possible

    def _asked(self, row: int, tried: set[str]) -> bool:
        free = [name for name in self.capacity if name not in self.known[row] | tried]
        for name in sorted(free, key=lambda rater: -self.capacity[rater]):
            tried.add(name)
            if self.capacity[name] > 0:
                self.capacity[name] -= 1
            else:
                moved = next((other for other in self.rows[name] if self._asked(other, tried)), None)
                if moved is None:
                    continue
                self.rows[name].remove(moved)
                self.known[moved].remove(name)
            self.rows[name].append(row)
            self.known[row].add(name)
            return True
        return False

    def names(self, order: Sequence[int]) -> tuple[str, ...]:
        """Return who labels the rows of a plan."""
        of_row: dict[int, list[str]] = {}
        for name, rows in self.rows.items():
            for row in rows:
                of_row.setdefault(row, []).append(name)
        return tuple(of_row[row].pop(0) for row in order)
