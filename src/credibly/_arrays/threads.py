"""Threads for tiled work: NumPy leaves the interpreter inside its loops, so tiles run side by side."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from typing import TypeVar

from credibly._arrays.errors import require_positive
from credibly._arrays.tiles import tiles

T = TypeVar("T")
Piece = TypeVar("Piece")

_WORTH_A_THREAD = 8  # tiles; less work than that is done before a thread has started
_limit: ContextVar[int | None] = ContextVar("credibly_thread_limit", default=None)


@contextmanager
def thread_limit(n_threads: int) -> Iterator[None]:
    """Use at most `n_threads` threads inside a ``with`` block; results do not depend on it.

    Parameters
    ----------
    n_threads : int
        Number of threads. The default is ``OMP_NUM_THREADS`` where set, else the cores of this process.

    Yields
    ------
    None
        Computations inside the block keep to the limit.

    Examples
    --------
    >>> import credibly as cr
    >>> with cr.thread_limit(1):
    ...     pass
    """
    require_positive("`n_threads`", n_threads, "Use 1 for no threads.")
    token = _limit.set(n_threads)
    try:
        yield
    finally:
        _limit.reset(token)


def available_threads() -> int:
    """Return how many threads tiled work may use."""
    limit = _limit.get()
    if limit is not None:
        return limit
    asked = os.environ.get("OMP_NUM_THREADS", "")
    if asked.isdigit() and int(asked) > 0:
        return int(asked)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def map_tiles(function: Callable[[Piece], T], pieces: Iterable[Piece]) -> Iterator[T]:
    """Yield ``function(piece)`` in order, computed by as many threads as there are to use."""
    listed = list(pieces)
    workers = min(available_threads(), len(listed))
    if workers < 2:
        yield from map(function, listed)
        return
    context = copy_context()  # limits set by the caller hold in the threads too
    with ThreadPoolExecutor(workers) as pool:
        yield from pool.map(lambda piece: context.copy().run(function, piece), listed)


def in_tiles(function: Callable[[slice], object], length: int, size: int) -> None:
    """Call ``function(rows)`` on every tile of ``range(length)``, long ranges on several threads."""
    step = max(1, size)
    workers = min(available_threads(), length // (_WORTH_A_THREAD * step))
    shares = tiles(length, -(-length // max(1, workers)))

    def work(share: slice) -> None:
        for rows in tiles(share.stop - share.start, step):
            function(slice(share.start + rows.start, share.start + rows.stop))

    for _ in map_tiles(work, shares):
        pass
