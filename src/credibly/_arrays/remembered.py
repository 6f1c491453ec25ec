"""What several parts of one computation need, made once while it runs."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar

import numpy as np

from credibly._arrays.namespace import Array, memory_budget

_kept: ContextVar[dict[Hashable, Mapping[str, Array]] | None] = ContextVar(
    "credibly_remembered", default=None
)
_SHARE = 0.25
_LARGE = 2**22 - 2**12
"""Doubles of an array just below 32 MiB, the largest whose memory glibc keeps."""


@contextmanager
def remembering() -> Iterator[None]:
    """Keep what is `remembered` until the end of the block, and forget it there: arrays may change later."""
    # glibc hands memory of freed arrays back to the system, which clears every page again when it is next
    # used, up to the size of the largest that it has seen freed; this one is never touched
    np.empty(_LARGE)
    token = _kept.set({})
    try:
        yield
    finally:
        _kept.reset(token)


def is_remembering() -> bool:
    """Tell whether anything is kept."""
    return _kept.get() is not None


def remembered(
    key: Hashable, make: Callable[[], tuple[Array, ...]], *, spare: bool = False
) -> tuple[Array, ...]:
    """Return what `make` returns, or returned for this key before.

    Objects in a key are compared by identity where they are predictions. What is `spare` displaces nothing.
    """
    found = recalled(key)
    if found is None:
        found = {str(place): one for place, one in enumerate(make())}
        keep(key, found, spare=spare)
    return tuple(found.values())


def recalled(key: Hashable) -> Mapping[str, Array] | None:
    """Return the arrays that were kept under this key; None where there are none."""
    kept = _kept.get()
    return None if kept is None else kept.get(key)


def keep(key: Hashable, arrays: Mapping[str, Array], *, spare: bool = False) -> None:
    """Keep arrays; the oldest give way to the newest, and those that are `spare` to all others.

    Outside a block of `remembering`, and where a quarter of the memory budget does not hold them, nothing is
    kept.
    """
    kept = _kept.get()
    most = _SHARE * memory_budget() - _bytes(arrays)
    if kept is None or most < 0.0:
        return
    if spare:
        if sum(map(_bytes, kept.values())) <= most:
            others = dict(kept)
            kept.clear()
            kept.update({key: arrays} | others)
        return
    while sum(map(_bytes, kept.values())) > most:
        del kept[next(iter(kept))]
    kept[key] = arrays


def _bytes(arrays: Mapping[str, Array]) -> int:
    return sum(8 * math.prod(one.shape) for one in arrays.values())
