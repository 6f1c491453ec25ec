"""Linear statistics: functions of sums over cells, and everything that follows from these sums.

    labels drawn    their own `observed` for every replicate; all other sums stay
    clusters        expected + signs * (observed - expected), never narrower than independent rows
    standard error  that of a mean, carried through the value; with clusters, each left out once
    chunks          sums add

A statistic is `terms(predictions)`, what labels add (`statistics/terms.py`), and `value(sums)`.
"""

from __future__ import annotations

import dataclasses
from abc import abstractmethod
from typing import Any, ClassVar, Literal

import numpy as np

from credibly._arrays.errors import UnsupportedError
from credibly._arrays.namespace import (
    Array,
    HostArray,
    like,
    namespace,
    to_host,
)
from credibly._arrays.notes import counted
from credibly.predictions import Classes, ClassPredictions, Counts, Labels, Predictions, as_point
from credibly.predictions.passes import on_host
from credibly.results.estimates import Moments, scale_and_skewness, skewed, standard_error_of
from credibly.statistics.protocol import SECOND_LOOK, Bound, Plan, State, Statistic
from credibly.statistics.terms import SPARSE_REFUSAL, are_sparse, total_of


@dataclasses.dataclass(frozen=True)
class LinearStatistic(Statistic):
    """A statistic that is a function of sums over cells."""

    needs: ClassVar[frozenset[str]] = frozenset()
    """Which sums `value` reads beyond size and observed: expected, variance, square, fourth (variance^2)."""
    refusal: ClassVar[str | None] = None
    """Why there is no standard error; None: it is that of the mean of `contributions`."""
    is_share: ClassVar[bool] = False
    """Whether every row contributes 0 or 1."""
    is_skewed: ClassVar[bool] = False
    """Whether replicates of clusters get the skewness that a sum of losses has."""

    @abstractmethod
    def terms(self, predictions: Any, plan: Plan) -> Any:
        """Return what labels add; of class predictions `predictions` are the mean distribution."""

    def value(self, sums: State) -> Array:
        """Return the value of every replicate, (b,), from the sums per cell, (b, cells)."""
        return sums["observed"][:, 0] / sums["size"][:, 0]

    def contributions(self, terms: Any, added: Array) -> Array:
        """Return the numbers (b, n) whose mean the value is, from what labels add, (b, n)."""
        return added

    def size_of_terms(self, n: int, n_cells: int) -> float:
        """Return the magnitude of what cancels in a value; 0: the value itself sets the scale."""
        return 0.0

    def notes(self, predictions: Predictions) -> tuple[str, ...]:
        """Return what is worth knowing about these predictions, beyond their own notes."""
        return ()

    def observed_notes(self, sums: State) -> tuple[str, ...]:
        """Return what the sums over observed labels make worth knowing."""
        return ()

    def error_of(
        self, stderr: float | None, refusal: str | None, value: float
    ) -> tuple[float | None, str | None]:
        """Return the standard error of the value from that of the mean, by the slope of one in the other."""
        return stderr, refusal

    def chi_square(self, sums: State) -> tuple[float, str] | None:
        """Return degrees of freedom and name of the chi-square that large samples follow, if one is known."""
        return None

    def _bind(self, predictions: Predictions, plan: Plan) -> Bound:
        given, notes = predictions, predictions.notes
        if isinstance(predictions, ClassPredictions):
            given, notes = as_point(predictions)
        return Linear(self, self.terms(given, plan), plan.n, (*notes, *self.notes(predictions)))


class Linear(Bound):
    """Terms of some rows, and the value of their sums."""

    statistic: LinearStatistic

    def __init__(self, statistic: LinearStatistic, terms: Any, n: int, notes: tuple[str, ...]) -> None:
        super().__init__(statistic, n, notes)
        self.terms = terms
        self.needs = statistic.needs
        self.term_size = statistic.size_of_terms(n, terms.n_cells)

    @property
    def is_mean(self) -> bool:
        """Whether every row contributes one number to a single cell."""
        return self.terms.cell is None

    def state(self, labels: Labels) -> State:
        """Return the sums per cell: the fixed ones, and those of the labels."""
        sums = State(self.terms.fixed(labels.weights, self.needs), observed=self.terms.observed(labels))
        if "square" in self.needs:
            sums["square"] = sums["square"] + self.terms.square(labels)
        return sums

    def finish(self, state: State) -> Array:
        """Return the value of every replicate."""
        return self.statistic.value(state)

    def contributions(self, labels: Labels) -> Array:
        """Return the numbers (b, n) whose mean the value is."""
        return self.statistic.contributions(self.terms, self.terms.contributions(labels))

    def interval_method(self, labels: Labels) -> Literal["normal", "wilson"]:
        """Return Wilson's for a count of single labels; weighted or shared ones are no binomial count."""
        single = self.statistic.is_share and not isinstance(labels, Counts) and labels.weights is None
        return "wilson" if single else "normal"

    def observed_sums(self, labels: Labels) -> State:
        """Return the state of one label vector, and the moments of what its rows contribute."""
        if self.statistic.refusal is not None or "square" in self.needs:
            return self.state(labels)
        if self.interval_method(labels) == "wilson":
            return share_moments(self.state(labels))
        added, weights = self.terms.contributions(labels), labels.weights
        state = State(self.terms.fixed(weights, self.needs), observed=total_of(added, weights))
        contributions = self.statistic.contributions(self.terms, added)
        return Moments.of(contributions, weights, **state, **self.terms.noted)

    def stderr(self, sums: State, labels: Labels) -> tuple[float | None, str | None]:
        """Return the standard error of a (weighted) mean, with n - 1 in the variance."""
        if self.statistic.refusal is not None:
            return None, self.statistic.refusal
        if "square" in self.needs:
            return None, self._why_no_influence(sums, labels)
        stderr, refusal = standard_error_of(sums, self.statistic.term_size)
        if stderr is not None and self.interval_method(labels) == "wilson":
            refusal = None
        return self.statistic.error_of(stderr, refusal, float(to_host(self.finish(sums))[0]))

    def _why_no_influence(self, sums: State, labels: Labels) -> str:
        """Return why a debiased error has no standard error, or that every row knows its influence on it."""
        if not isinstance(labels, Classes) or labels.weights is not None or self.n < 2:
            return "the standard error is known only for two or more unweighted single labels"
        return SPARSE_REFUSAL if are_sparse(to_host(sums["size"])[0]) else SECOND_LOOK

    def influence(self, sums: State, labels: Labels) -> Array:
        """Return 2 g d - g^2 of every row, averaged over its cells, (n,); g is the mean gap of a cell."""
        mean = self.terms.moments[0]
        xp = namespace(mean)
        size, gap = sums["size"][0, :], sums["observed"][0, :] - sums["expected"][0, :]
        gap = like(gap / namespace(size).where(size > 0, size, namespace(size).ones_like(size)), mean)
        deviation = self.terms.added(labels)[0, ...] - mean
        cells = xp.astype(xp.reshape(self.terms.cell, (-1,)), xp.int64)
        own = xp.reshape(xp.take(gap, cells, axis=0), deviation.shape)
        return xp.mean(own * (2.0 * deviation - own), axis=1)

    def for_replicates(self, observed: Labels, n_resamples: int) -> Bound:
        """Return the same with terms that many label vectors are faster with."""
        terms = self.terms.for_replicates(observed, n_resamples)
        return self if terms is self.terms else Linear(self.statistic, terms, self.n, self.notes)

    def share_with(self, other: Bound) -> bool:
        """Tell whether the terms of `other` can look labels up for these too."""
        return isinstance(other, Linear) and self.terms.share_with(other.terms)

    def chi_square(self, sums: State | None = None) -> tuple[float, str] | None:
        """Return the chi-square that large samples follow, if one is known."""
        return self.statistic.chi_square(self.terms.fixed(None, self.needs) if sums is None else sums)

    def observed_notes(self, sums: State) -> tuple[str, ...]:
        """Return what the statistic has to say about the sums."""
        return self.statistic.observed_notes(sums)

    def wild_sums(self, labels: Labels, codes: HostArray, number: int) -> tuple[State, State]:
        """Return the sums that the predictions expect, and per cluster what the labels add beyond them."""
        if self.terms.moments is None:
            return super().wild_sums(labels, codes, number)
        mean, variance = (to_host(one) for one in self.terms.moments)
        weight = labels.row_weights()
        beyond = np.where(weight[:, None] > 0, self.terms.beyond(labels), 0.0)
        if not np.isfinite(beyond).all():
            raise UnsupportedError(
                f"a test of `{self.statistic.name}` with clusters",
                "needs finite contributions",
                f"{counted(int(np.isinf(beyond).sum()), 'label has', 'labels have')} a probability of 0",
                "Use another statistic, or one that is bounded (`clip`).",
            )
        expected = on_host(self.terms.fixed(labels.weights, self.needs))
        if "expected" not in expected:
            expected["expected"] = self._parts(weight, mean, 0 * codes, 1)
        expected["observed"] = expected["expected"]
        expected["scatter"] = np.array([np.sum(weight**2 @ variance)])
        return expected, State(observed=self._parts(weight, beyond, codes, number))

    def widened(self, expected: State, added: State) -> tuple[State, State]:
        """Return widened sums; skewed contributions get scale and skewness of what clusters add."""
        expected, added = super().widened(expected, added)
        if self.statistic.is_skewed:
            expected = State({**expected, "shape": scale_and_skewness(added["observed"][:, 0])})
        return expected, added

    def wild_values(self, expected: State, added: State, signs: HostArray) -> Array:
        """Return the values of pseudo-labels; debiased ones leave out pairs inside a cluster."""
        moved = signs @ added["observed"]
        if "shape" in expected:
            moved = skewed(moved[:, 0], *expected["shape"])[:, None]
        state = State(expected, observed=expected["observed"] + moved)
        if "square" in self.needs:
            state["square"] = signs**2 @ added["observed"] ** 2
        return self.finish(state)

    def cluster_sums(self, labels: Labels, codes: HostArray, number: int) -> State | None:
        """Return the sums per cell of every cluster; None where there is no standard error to mend."""
        if self.statistic.refusal is not None:
            return None
        weight, added = labels.row_weights(), to_host(self.terms.added(labels))[0]
        added = np.where(weight[:, None] > 0, added, 0.0)
        sums = State(size=self._parts(weight, np.ones(added.shape), codes, number))
        if self.needs:
            mean = to_host(self.terms.moments[0])
            beyond = self._parts(weight, added - mean, codes, number)
            sums["expected"] = self._parts(weight, mean, codes, number)
            sums["observed"] = sums["expected"] + beyond
            if "square" in self.needs:
                sums["square"] = beyond**2
            return sums
        sums["observed"] = self._parts(weight, added, codes, number)
        return sums

    def _parts(self, weight: HostArray, values: HostArray, codes: HostArray, number: int) -> HostArray:
        sums: HostArray = self.terms.split(codes, number).per_cell((weight[:, None] * values)[None, ...])
        return sums.reshape(number, -1)


def share_moments(state: State) -> Moments:
    """Return the moments of numbers 0 and 1 of weight 1 around their mean p, from their count and their sum.

    sum (v - p)^2 = n p (1 - p),   sum (v - p)^3 = n p (1 - p) (1 - 2 p)
    """
    n, share = state["size"][:, 0], (state["observed"] / state["size"])[:, 0]
    nothing = 0.0 * n
    square = n * share * (1.0 - share)
    sums = [n, nothing, square, square * (1.0 - 2.0 * share)]
    powers = {f"w{j} v{i}": sums[i] for j in (1, 2, 3) for i in range(j + 1)}
    return Moments(state, n=n, infinite=nothing, centre=share, unit=nothing + 1.0, **powers)
