"""Where work runs: in this process, unless an engine of `credibly.scale` sends it elsewhere.

An engine promises the results, never the order of the work, so a number may depend on its inputs alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

S = TypeVar("S")

T = TypeVar("T")

Chain = Sequence[tuple[Any, ...]]
"""Arguments of the steps of one fold, in order."""


class Engine:
    """Runs one function on many inputs: one after the other, in the calling process."""

    name = "serial"

    def map(self, function: Callable[[S], T], inputs: Iterable[S]) -> Iterator[T]:
        """Yield ``function(one)`` for every input, in order."""
        return map(function, inputs)

    def unordered(self, function: Callable[[S], T], inputs: Sequence[S]) -> Iterator[tuple[int, T]]:
        """Yield (place, ``function(input)``) for every input, each as soon as it is known."""
        return enumerate(map(function, inputs))

    def mapped_in_place(self, function: Callable[[S], T], inputs: Iterable[S]) -> list[Any]:
        """Return ``function(one)`` for every input as something `folds` takes, kept where it was computed."""
        return list(self.map(function, inputs))

    def folds(
        self, step: Callable[..., Any], chains: Iterable[Chain], finish: Callable[[Any], T]
    ) -> Iterator[T]:
        """Yield ``finish(step(step(None, *first), *second) ...)`` for every chain, in order.

        Arguments may be what `mapped_in_place` returned; only those of one step need to be in one place.
        """
        return (folded(step, chain, finish) for chain in chains)


def folded(step: Callable[..., Any], chain: Chain, finish: Callable[[Any], T]) -> T:
    """Return ``finish(step(step(None, *first), *second) ...)`` for one chain."""
    total = None
    for arguments in chain:
        total = step(total, *arguments)
    return finish(total)
