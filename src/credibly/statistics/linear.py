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
from collections.abc import Hashable, Sequence
from functools import partial
from typing import Any, ClassVar, Literal

import numpy as np

from credibly._arrays.errors import UnsupportedError
from credibly._arrays.namespace import Array, HostArray
from credibly._arrays.standard_errors import Moments, scale_and_skewness, skewed, standard_error_of
from credibly.predictions import Counts, Labels, Predictions, Quantiles
from credibly.predictions.labels import one_distribution
from credibly.predictions.samples import Pool
from credibly.statistics.batches import total_of
from credibly.statistics.protocol import Bound, EachChoice, Plan, State, Statistic


@dataclasses.dataclass(frozen=True)
class LinearStatistic(Statistic):
    """A statistic that is a function of sums over cells."""

    needs: ClassVar[frozenset[str]] = frozenset()
    """Which sums `value` reads beyond size and observed: expected, variance, square, fourth (variance^2)."""
    refusal: ClassVar[str | None] = None
    """Why there is no standard error; None if there is one."""
    has_moments: ClassVar[bool] = True
    """Whether the value is the mean of `contributions`, with the standard error of a mean."""
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
        """Return the magnitude of what cancels in a value; 0, of means: the value itself sets the scale."""
        return 0.0 if self.has_moments else 1.0

    def notes(self, predictions: Predictions) -> tuple[str, ...]:
        """Return what is worth knowing about these predictions, beyond their own notes."""
        return ()

    def observed_notes(self, sums: State) -> tuple[str, ...]:
        """Return what the sums over observed labels make worth knowing."""
        return ()

    def stderr(self, bound: Linear, sums: State, labels: Labels) -> tuple[float | None, str | None]:
        """Return the standard error of a (weighted) mean, with n - 1 in the variance, or why there is none.

        `SECOND_LOOK` as the reason lets every row tell its `influence`.
        """
        stderr, refusal = standard_error_of(sums, self.term_size)
        if stderr is not None and refusal and bound.interval_method(labels) == "wilson":
            refusal = None
        return stderr, refusal

    def influence(self, terms: Any, sums: State, labels: Labels) -> Array:
        """Return the influence of each row on the value, (n,), where one look at the sums is not enough."""
        raise NotImplementedError

    def chi_square(self, sums: State) -> tuple[float, str] | None:
        """Return degrees of freedom and name of the chi-square that large samples follow, if one is known."""
        return None

    def _bind(self, predictions: Predictions, plan: Plan) -> Bound:
        distribution, notes = one_distribution(predictions)
        return Linear(self, self.terms(distribution, plan), plan, (*notes, *self.notes(predictions)))


class Linear(Bound):
    """Terms of some rows, and the value of their sums."""

    statistic: LinearStatistic

    def __init__(self, statistic: LinearStatistic, terms: Any, plan: Plan, notes: tuple[str, ...]) -> None:
        super().__init__(statistic, plan.n, notes)
        self.terms, self.plan = terms, plan
        self.needs = statistic.needs
        self.term_size = statistic.size_of_terms(plan.n, terms.n_cells)

    def with_terms(self, terms: Any) -> Linear:
        """Return the same statistic of other terms."""
        return self if terms is self.terms else type(self)(self.statistic, terms, self.plan, self.notes)

    def of_pool(self, pool: Pool, weights: Array | None) -> Bound:
        """Return the statistic of draws where labels are choices from their pools."""
        terms = self.terms.of_pool(pool, partial(self.statistic.terms, plan=self.plan))
        if terms is None:
            return EachChoice(self, pool, partial(self.statistic.bind, plan=self.plan))
        return self.with_terms(terms)

    def of_cells(self, predictions: Quantiles) -> Bound:
        """Return the statistic of quantiles where labels are cells."""
        return self.with_terms(self.terms.of_cells(predictions, self.statistic.name))

    def state(self, labels: Labels) -> State:
        """Return the sums per cell, fixed ones and sums over labels."""
        sums: State = self.terms.sums(labels, self.needs)
        return sums

    def finish(self, state: State) -> Array:
        """Return the value of every replicate."""
        return self.statistic.value(self._settled(state))

    def shares(self, state: State) -> Array:
        """Return the shares of labels at the levels of the terms, (b, l)."""
        return self.terms.shares(self._settled(state))

    def _settled(self, state: State) -> State:
        settled: State
        settled, notes = self.terms.settled(state)
        if notes:
            self.notes = tuple(dict.fromkeys((*self.notes, *notes)))
        return settled

    def contributions(self, labels: Labels) -> Array:
        """Return the numbers (b, n) whose mean the value is."""
        return self.statistic.contributions(self.terms, self.terms.contributions(labels))

    def interval_method(self, labels: Labels) -> Literal["normal", "wilson"]:
        """Return Wilson's for a count of single labels; weighted or shared ones are no binomial count."""
        single = self.statistic.is_share and not isinstance(labels, Counts) and labels.weights is None
        return "wilson" if single else "normal"

    def observed_sums(self, labels: Labels) -> State:
        """Return the state of one label vector, and the moments of what its rows contribute."""
        if not self.statistic.has_moments:
            return State(self.state(labels), **self.terms.noted)
        if self.interval_method(labels) == "wilson":
            return share_moments(self.state(labels))
        added, weights = self.terms.contributions(labels), labels.weights
        state = State(self.terms.fixed(weights, self.needs), observed=total_of(added, weights))
        contributions = self.statistic.contributions(self.terms, added)
        return Moments.of(contributions, weights, **state, **self.terms.noted)

    def stderr(self, sums: State, labels: Labels) -> tuple[float | None, str | None]:
        """Return what the statistic makes of the sums."""
        if self.statistic.refusal is not None:
            return None, self.statistic.refusal
        return self.statistic.stderr(self, sums, labels)

    def influence(self, sums: State, labels: Labels) -> Array:
        """Return the influence of each row on the value, (n,)."""
        return self.statistic.influence(self.terms, sums, labels)

    def for_replicates(self, observed: Labels, n_resamples: int) -> Bound:
        """Return the same with terms that many label vectors are faster with."""
        return self.with_terms(self.terms.for_replicates(observed, n_resamples))

    @property
    def shared(self) -> Hashable:
        """Equal where terms look labels up together, or where the sums are the same."""
        kind, common = type(self.terms), self._looked_up_with
        return (self.statistic.identity, kind.sums, kind.observed) if common is None else common

    @property
    def _looked_up_with(self) -> Hashable:
        """What terms have in common that look labels up together; squares are summed by themselves."""
        return None if "square" in self.needs else self.terms.shared

    @property
    def is_lean(self) -> bool:
        """Whether many label vectors are summed up without anything of their size."""
        return "square" not in self.needs and bool(self.terms.is_lean)

    def states_with(self, others: Sequence[Any], labels: Labels) -> list[State]:
        """Return the sums of all; equal ones are taken once."""
        if not others or self._looked_up_with is None:
            return [self.state(labels)] * (1 + len(others))
        observed = self.terms.observed_with([other.terms for other in others], labels)
        return [
            State(bound.terms.fixed(labels.weights, bound.needs), observed=sums)
            for bound, sums in zip((self, *others), observed, strict=True)
        ]

    def chi_square(self, sums: State | None = None) -> tuple[float, str] | None:
        """Return the chi-square that large samples follow, if one is known."""
        return self.statistic.chi_square(self.terms.fixed(None, self.needs) if sums is None else sums)

    def observed_notes(self, sums: State) -> tuple[str, ...]:
        """Return what the statistic has to say about the sums."""
        return self.statistic.observed_notes(self.terms.settled(sums)[0])

    def wild_sums(self, labels: Labels, codes: HostArray, number: int) -> tuple[State, State]:
        """Return the sums that the predictions expect, and per cluster what the labels add beyond them."""
        if not self.terms.has_law:
            return super().wild_sums(labels, codes, number)
        with np.errstate(invalid="ignore"):  # what is infinite is refused below
            expected, added = self.terms.wild_sums(labels, codes, number, self.needs)
        if not all(np.isfinite(sums).all() for sums in added.values()):
            what = f"a test of `{self.statistic.name}` with clusters"
            raise UnsupportedError(what, *self.terms.why_infinite(labels))
        return expected, added

    def widened_states(self, expected: State, added: State) -> tuple[State, State]:
        """Return widened sums; skewed contributions get scale and skewness of what clusters add."""
        expected, added = self.terms.widened_states(expected, added)
        if self.statistic.is_skewed:
            expected = State({**expected, "shape": scale_and_skewness(added["observed"][:, 0])})
        return expected, added

    def wild_values(self, expected: State, added: State, signs: HostArray) -> Array:
        """Return the values of pseudo-labels; debiased ones leave out pairs inside a cluster."""
        state = self.terms.wild_state(expected, added, signs)
        if "shape" in expected:
            moved = skewed((signs @ added["observed"])[:, 0], *expected["shape"])
            state["observed"] = expected["observed"] + moved[:, None]
        if "square" in self.needs:
            state["square"] = signs**2 @ added["observed"] ** 2
        return self.statistic.value(state)

    def cluster_sums(self, labels: Labels, codes: HostArray, number: int) -> State | None:
        """Return the sums per cell of every cluster; None where there is no standard error to mend."""
        if self.statistic.refusal is not None:
            return None
        sums: State = self.terms.cluster_sums(labels, codes, number, self.needs)
        return sums


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
