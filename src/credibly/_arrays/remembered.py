"""Arrays that several parts of one computation need, made once while it runs."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from credibly._arrays.namespace import Array, memory_budget

_kept: ContextVar[dict[Hashable, tuple[Array, ...]] | None] = ContextVar("credibly_remembered", default=None)
_SHARE = 0.25


@contextmanager
def remembering() -> Iterator[None]:
    """Keep what is `remembered` until the end of the block, and forget it there: arrays may change later."""
    token = _kept.set({})
    try:
        yield
    finally:
        _kept.reset(token)


def remembered(key: Hashable, make: Callable[[], tuple[Array, ...]]) -> tuple[Array, ...]:
    """Return what `make` returns, or returned for this key before; the oldest gives way to the newest.

    Outside a block of `remembering`, and where a quarter of the memory budget does not hold it, nothing is
    kept. Objects in a key are compared by identity where they are predictions.
    """
    kept = _kept.get()
    if kept is None:
        return make()
    if key not in kept:
        found = make()
        most = _SHARE * memory_budget() - _bytes(found)
        if most < 0.0:
            return found
        while sum(map(_bytes, kept.values())) > most:
            del kept[next(iter(kept))]
        kept[key] = found
    return kept[key]


def _bytes(arrays: tuple[Array, ...]) -> int:
    return sum(8 * math.prod(one.shape) for one in arrays)
