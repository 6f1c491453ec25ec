"""Statistics that see other rows, or other labels, than they are given: a part of them, or pools of draws."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, Literal

from credibly._arrays.namespace import Array, HostArray, namespace
from credibly.predictions import Labels, Quantiles, Reals, Samples
from credibly.predictions.samples import Pool
from credibly.statistics.batches import replicates, stacked
from credibly.statistics.protocol import Bound, State, Statistic


class SeenBound(Bound):
    """A statistic that is bound to what it sees of rows and labels.

    Parameters
    ----------
    statistic : Statistic
        The statistic.
    n : int
        Number of rows it sees.
    notes : tuple of str
        What is worth knowing.
    see : callable
        From labels to the bound statistic and the labels as it takes them.
    pools : callable
        From pools of all rows and weights to the statistic bound to them.
    inner : Bound, optional
        The bound statistic, where it is the same for all labels; otherwise label vectors are seen one by one.
    chosen : ndarray, optional
        The rows that are seen; default: all.
    """

    term_size = 2.0

    def __init__(
        self,
        statistic: Statistic,
        n: int,
        notes: tuple[str, ...],
        see: Callable[[Labels], tuple[Bound, Labels]],
        pools: Callable[[Pool, Array | None], Bound],
        inner: Bound | None = None,
        chosen: HostArray | None = None,
    ) -> None:
        super().__init__(statistic, n, notes)
        self._see, self._pools, self.alone, self.chosen = see, pools, inner is None, chosen
        if inner is not None:
            self.inner = inner
            self.term_size, self.rounding = inner.term_size, inner.rounding

    def see(self, labels: Labels) -> tuple[Bound, Labels]:
        """Return the bound statistic and the labels as it takes them."""
        bound, seen_labels = self._see(labels)
        self.inner = bound
        if self.alone:
            self.statistic, self.notes = bound.statistic, bound.notes  # what the rules became
        return bound, seen_labels

    def of_pool(self, pool: Pool, weights: Array | None) -> Bound:
        """Bind to what is seen of pools."""
        return self._pools(pool, weights)

    def of_cells(self, predictions: Quantiles) -> Bound:
        """Return itself, where the statistic looks at the cells of labels itself."""
        self.inner.of_cells(predictions)
        return self

    @property
    def shared(self) -> Hashable:
        """Equal where statistics that share work see the same part of the rows."""
        if self.chosen is None or self.inner.shared is None:
            return None
        return self.chosen.tobytes(), self.inner.shared

    def states_with(self, others: Sequence[Any], labels: Labels) -> list[State]:
        """Return the sums of all over the part."""
        bound, seen_labels = self.see(labels)
        return bound.states_with([other.inner for other in others], seen_labels)

    def state(self, labels: Labels, **settings: Any) -> State:
        """Return the sums over what is seen."""
        if not self.alone:
            bound, seen_labels = self.see(labels)
            return bound.state(seen_labels, **settings)
        each = (self.see(replicates(labels, slice(at, at + 1))) for at in range(len(labels)))
        return stacked([bound.state(seen_labels, **settings) for bound, seen_labels in each])

    def finish(self, state: State) -> Array:
        """Turn sums into values, (b,)."""
        return self.inner.finish(state)

    def observed_sums(self, labels: Labels) -> State:
        """Return the sums over what is seen, with what its standard error and notes need."""
        bound, seen_labels = self.see(labels)
        return bound.observed_sums(seen_labels)

    def wild_sums(self, labels: Labels, codes: HostArray, number: int) -> tuple[State, State]:
        """Return what predictions expect, and what labels add per cluster, of what is seen."""
        bound, seen_labels = self.see(labels)
        return bound.wild_sums(seen_labels, codes if self.chosen is None else codes[self.chosen], number)

    def widened_states(self, expected: State, added: State) -> tuple[State, State]:
        """Return sums, widened so that replicates scatter no less than with independent rows."""
        return self.inner.widened_states(expected, added)

    def wild_values(self, expected: State, added: State, signs: HostArray) -> Array:
        """Return the values of pseudo-labels."""
        return self.inner.wild_values(expected, added, signs)

    def stderr(self, sums: State, labels: Labels) -> tuple[float | None, str | None]:
        """Return the standard error of what is seen."""
        return self.inner.stderr(sums, labels)

    def interval_method(self, labels: Labels) -> Literal["normal", "wilson"]:
        """Return which interval belongs to the value."""
        return self.inner.interval_method(labels)

    def chi_square(self, sums: State | None = None) -> tuple[float, str] | None:
        """Return degrees of freedom and name of the chi-square of what is seen, where one is known."""
        return self.inner.chi_square()

    def observed_notes(self, sums: State) -> tuple[str, ...]:
        """Return what the sums make worth knowing."""
        return self.inner.observed_notes(sums)


class EachChoice(Bound):
    """A statistic that knows nothing of pools: bound again for every choice of labels."""

    def __init__(self, inner: Bound, pool: Pool, bind: Callable[[Samples], Bound]) -> None:
        super().__init__(inner.statistic, inner.n, inner.notes)
        self.inner, self.pool, self.bind = inner, pool, bind

    def state(self, labels: Labels) -> State:
        """Return the sums of the chosen labels and the draws they leave, replicates in front."""
        xp, states = namespace(self.pool.values), []
        for choice in xp.astype(labels.values, xp.int64):
            seen = xp.take_along_axis(self.pool.labels, choice[:, None], axis=1)[:, 0]
            states.append(self.bind(self.pool.samples(choice)).state(Reals(seen[None, :], labels.weights)))
        return stacked(states)

    def finish(self, state: State) -> Array:
        """Turn sums into values."""
        return self.inner.finish(state)
