"""Work in tiles: how many rows fit a memory budget, and how many BLAS threads a tiled loop may use."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from functools import cache
from typing import Any

from credibly._arrays.errors import InputError

_MIB = 2**20
_budget: ContextVar[int] = ContextVar("credibly_memory_budget", default=512 * _MIB)

CACHE_ELEMENTS = 2**15
"""Doubles that stay in a core's cache; elementwise chains are fastest on tiles of this size."""


def memory_budget() -> int:
    """Return the bytes one computation may use for temporaries (default 512 MiB)."""
    return _budget.get()


@contextmanager
def memory_limit(n_bytes: int) -> Iterator[None]:
    """Set the memory budget inside a ``with`` block.

    Parameters
    ----------
    n_bytes : int
        Bytes for temporaries, at least one MiB.

    Yields
    ------
    None
        Computations inside the block keep to the budget.

    Examples
    --------
    >>> import credibly as cr
    >>> with cr.memory_limit(64 * 2**20):
    ...     pass
    """
    if not isinstance(n_bytes, (int, float)) or not _MIB <= n_bytes < float("inf"):
        raise InputError(
            "`n_bytes`",
            "must be at least 1 MiB (1048576)",
            f"got {n_bytes!r}",
            "Write 64 * 2**20 for 64 MiB.",
        )
    token = _budget.set(int(n_bytes))
    try:
        yield
    finally:
        _budget.reset(token)


def tiles(length: int, size: int) -> Iterator[slice]:
    """Cut ``range(length)`` into consecutive slices of at most `size`."""
    step = max(1, size)
    for start in range(0, length, step):
        yield slice(start, min(start + step, length))


def rows_within_budget(bytes_per_row: int, share: float = 1.0) -> int:
    """Return how many rows of a given size fit `share` of the memory budget, at least one."""
    return max(1, int(memory_budget() * share) // max(1, bytes_per_row))


def blas_threads(limit: int | None) -> AbstractContextManager[object]:
    """Limit BLAS threads inside a ``with`` block; None leaves them alone."""
    if limit is None:
        return nullcontext()
    limits: AbstractContextManager[object] = _blas_controller().limit(limits=limit, user_api="blas")
    return limits


@cache
def _blas_controller() -> Any:
    """Return the loaded BLAS libraries; looking for them costs more than a small test, so it is done once."""
    import threadpoolctl

    return threadpoolctl.ThreadpoolController()
