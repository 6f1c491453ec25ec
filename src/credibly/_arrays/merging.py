"""Sums over rows that come in pieces, added in an order that the index of the row alone decides.

Rows are cut into leaves of a power of two by their index among all rows, and leaves are added in pairs, pairs
of pairs, and so on. Pieces that end where leaves end give the same sums bit by bit, however many there are;
others differ by the rounding of a few additions.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

from credibly._arrays.errors import InputError
from credibly._arrays.namespace import Array

T = TypeVar("T")


class State(dict[str, Array]):
    """Named sums with the replicates on the leading axis; addition merges disjoint rows."""

    def __add__(self, other: State) -> State:
        if self.keys() != other.keys():
            raise InputError(
                "states",
                "must come from one statistic to be added",
                f"got fields {sorted(self)} and {sorted(other)}",
                "Merge the states of one bound statistic at a time.",
            )
        return State({name: self[name] + other[name] for name in self})


@dataclasses.dataclass(frozen=True)
class Span(Generic[T]):
    """The sum over rows `start` to `stop`."""

    start: int
    stop: int
    value: T


class RowSums(Generic[T]):
    """Adds spans that are pushed in the order of their rows.

    Parameters
    ----------
    leaf : int
        Rows of a leaf.
    add : callable
        Adds the values of two spans that follow each other.
    """

    def __init__(self, leaf: int, add: Callable[[T, T], T]) -> None:
        self.leaf, self.add = leaf, add
        self.spans: list[Span[T]] = []
        """What is added up so far: no two of these may be added before more rows are known."""

    def push(self, span: Span[T]) -> None:
        """Add the next rows."""
        while self.spans and self._together(self.spans[-1], span):
            before = self.spans.pop()
            span = Span(before.start, span.stop, self.add(before.value, span.value))
        self.spans.append(span)

    def _together(self, left: Span[T], right: Span[T]) -> bool:
        """Tell whether two spans are parts of one leaf, or the halves of one larger node."""
        if left.start // self.leaf == (right.stop - 1) // self.leaf:
            return True
        size = right.stop - right.start
        return size % self.leaf == 0 and left.stop - left.start == size and left.start % (2 * size) == 0

    def total(self) -> T:
        """Return the sum of all rows, the shortest spans first."""
        *rest, last = self.spans
        total = last.value
        for span in reversed(rest):
            total = self.add(span.value, total)
        return total


def leaves(start: int, stop: int, leaf: int) -> Iterator[slice]:
    """Cut rows `start` to `stop` of all rows where leaves end; slices count from `start`."""
    edge = start
    while edge < stop:
        following = min(stop, (edge // leaf + 1) * leaf)
        yield slice(edge - start, following - start)
        edge = following
