"""Capital that never goes deaf (fixed share), and intervals for running means that hold at all times at once.

Fixed share. Weights w over {the model itself, bets a}; e_ia is what bet a pays on row i, E[e_ia | past] <= 1:

    F = w_0 + sum_a w_a prod_{i in round} e_ia,   capital *= F,   w_a <- w_a prod e_ia / F
    then h w_0 leaves the model for the bets, and g (1 - w_0) returns,   1 - h = (t / (t + rows))^LEAVING

A round is some rows whose labels are independent given the past, or follow one another. F is then at most 1
on average given what was known before the round, and Ville's inequality bounds P(capital ever >= 1 / level).
The shares h and g keep weight on every bet, so a fault after many good rows is found as one at the start.

Running means. With any guess x_i made before row i, X_i - x_i >= -1 and psi(l) = -log(1 - l) - l,

    exp(l sum (X_i - E[X_i | past]) - psi(l) sum (X_i - x_i)^2)       is at most 1 on average, 0 <= l < 1.

A mixture over l bounds the sum at all times at once, on both sides.

Herbster and Warmuth, Tracking the best expert, 1998. Howard, Ramdas, McAuliffe and Sekhon, Time-uniform,
nonparametric, nonasymptotic confidence sequences, 2021. Fan, Grama and Liu, Exponential inequalities, 2015.
"""

from __future__ import annotations

import dataclasses
import math

import numpy as np
from scipy.special import logsumexp

from credibly._arrays.namespace import HostArray

ROUND = 64
"""Rows of a round, which share their weights, at most."""
LEAVING, RETURNING, START = 0.1, 1.0, 10.0
"""Exponents of the shares, and rows that they count as seen before the first."""

_STEPS = 0.7 * 2.0 ** (-np.arange(30) / 2)
_COSTS = -np.log1p(-_STEPS) - _STEPS
_HALVINGS = 40


@dataclasses.dataclass
class Capital:
    """The capital of one sequence of rows, and how it is spread over the model itself and the bets.

    Attributes
    ----------
    weights : ndarray (1 + a,)
        Of the model itself, then of the bets.
    log : float
        Logarithm of the capital, which begins with 1.
    rows : int
        Independent rows, or clusters, that were paid.
    since : int or None
        Rows of the monitor before the weight last left the model; None while the model holds more than half.
    """

    weights: HostArray
    log: float = 0.0
    rows: int = 0
    since: int | None = None

    @classmethod
    def start(cls, prior: HostArray) -> Capital:
        """Return a capital of 1, half of whose weight is on the model itself."""
        return cls(np.concatenate([[0.5], 0.5 * prior]))

    def pay(self, logs: HostArray, prior: HostArray, seen: HostArray) -> HostArray:
        """Pay what the bets won on rows, and return the logarithm of the capital after every round.

        Parameters
        ----------
        logs : ndarray (a, rows)
            Logarithms of what the bets pay.
        prior : ndarray (a,)
            Weights of the bets alone.
        seen : ndarray (rows,)
            Rows that the monitor has seen after each of these.
        """
        rows = logs.shape[1]
        starts = np.arange(0, rows, ROUND)
        won = np.add.reduceat(logs, starts, axis=1).T
        won = np.concatenate([np.zeros((len(won), 1)), won], axis=1)
        most = won.max(axis=1)
        pays = np.exp(won - most[:, None])
        sizes = np.minimum(ROUND, rows - starts)
        seen_before = self.rows + starts + START
        kept = seen_before / (seen_before + sizes)
        path = np.empty(len(starts))
        weights, stays, backs = self.weights, kept**LEAVING, kept**RETURNING
        for at, (start, stay, back) in enumerate(
            zip(starts.tolist(), stays.tolist(), backs.tolist(), strict=True)
        ):
            weights = weights * pays[at]
            total = float(weights.sum())
            self.log += float(most[at]) + math.log(total)
            model = float(weights[0]) / total
            weights *= back / total
            weights[1:] += ((1.0 - stay) * model) * prior
            weights[0] = stay * model + (1.0 - back) * (1.0 - model)
            if weights[0] > 0.5:  # the model holds more than all bets
                self.since = None
            elif self.since is None:
                self.since = int(seen[start - 1]) if at else int(seen[0]) - 1
            path[at] = self.log
        self.weights = weights
        self.rows += rows
        return path


@dataclasses.dataclass
class Running:
    """Sums for intervals of running means of several measures, (q,) each, in units of their largest value."""

    rows: int
    expected: HostArray
    observed: HostArray
    scatter: HostArray

    @classmethod
    def start(cls, measures: int) -> Running:
        """Return the sums of no rows."""
        return cls(0, *(np.zeros(measures) for _ in range(3)))

    def add(self, expected: HostArray, observed: HostArray) -> None:
        """Add rows (q, n): the guess of each is its stated mean and the gap of all rows before these."""
        gap = (self.observed - self.expected) / max(self.rows, 1)
        guess = np.clip(expected + gap[:, None], 0.0, 1.0)
        self.scatter += ((observed - guess) ** 2).sum(axis=1)
        self.expected += expected.sum(axis=1)
        self.observed += observed.sum(axis=1)
        self.rows += expected.shape[1]

    def reach(self, level: float) -> HostArray:
        """Return how far sums may be from the sums of their conditional means, (q,), at all times at once."""
        aim = math.log(2.0 / level)
        # the mean over steps is at least its largest term over their number
        low, high = np.zeros_like(self.scatter), _mixed_reach(self.scatter, aim)
        for _ in range(_HALVINGS):
            middle = 0.5 * (low + high)
            above = _mixture(middle, self.scatter) >= aim
            low, high = np.where(above, low, middle), np.where(above, middle, high)
        return high


def _mixed_reach(scatter: HostArray, aim: float) -> HostArray:
    """Return sums at which one step alone reaches exp(aim), (q,): none that the mixture needs is larger."""
    costs = aim + math.log(len(_STEPS)) + _COSTS[:, None] * scatter
    return np.asarray((costs / _STEPS[:, None]).min(axis=0))


def _mixture(totals: HostArray, scatter: HostArray) -> HostArray:
    """Return the logarithm of the mixture over steps, (q,)."""
    powers = _STEPS[:, None] * totals - _COSTS[:, None] * scatter
    return np.asarray(logsumexp(powers, axis=0) - math.log(len(_STEPS)))
