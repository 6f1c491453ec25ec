"""Where work on chunks runs: here, one after the other, or on a Dask cluster."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

from credibly._arrays.errors import InputTypeError, MissingExtraError

S = TypeVar("S")
T = TypeVar("T")

_AHEAD = 4  # inputs under way per worker: enough to keep it busy, few enough not to pile up results


class Engine(ABC):
    """Runs one function on many inputs and yields the results in the order of the inputs."""

    name: str

    @abstractmethod
    def map(self, function: Callable[[S], T], inputs: Sequence[S]) -> Iterator[T]:
        """Yield ``function(one)`` for every input, in order."""


class Serial(Engine):
    """One input after the other, in the calling process."""

    name = "serial"

    def map(self, function: Callable[[S], T], inputs: Sequence[S]) -> Iterator[T]:
        """Yield ``function(one)`` for every input, in order."""
        return map(function, inputs)


class Cluster(Engine):
    """The workers of a `distributed.Client`; what a killed worker had is computed again by another.

    Parameters
    ----------
    client : distributed.Client
        Where to run.
    """

    name = "dask"

    def __init__(self, client: Any) -> None:
        self.client = client

    def map(self, function: Callable[[S], T], inputs: Sequence[S]) -> Iterator[T]:
        """Yield results in order; a few inputs per worker are under way at a time."""
        # pure=False: the same function on the same rows must run again when it is asked for again
        return self.in_order(self.client.submit(function, one, pure=False) for one in inputs)

    def in_order(self, futures: Iterable[Any]) -> Iterator[Any]:
        """Yield the results of futures in their order; the next are asked for when there is room."""
        running = max(2, _AHEAD * len(self.client.nthreads()))
        waiting: deque[Any] = deque()
        try:
            for future in futures:
                waiting.append(future)
                if len(waiting) >= running:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            self.client.cancel(list(waiting))


def as_engine(engine: Any) -> Engine:
    """Return the engine that a user named.

    Parameters
    ----------
    engine : None, "serial", "dask", Engine or distributed.Client
        None takes the current `distributed.Client` where one was opened, else this process.

    Returns
    -------
    Engine
        Where to run.
    """
    if isinstance(engine, Engine):
        return engine
    if engine == "serial":
        return Serial()
    if engine is None:
        client = _current_client()
        return Serial() if client is None else Cluster(client)
    if engine == "dask":
        client = _current_client()
        return Cluster(_distributed().Client() if client is None else client)
    if hasattr(engine, "submit") and hasattr(engine, "nthreads"):
        return Cluster(engine)
    raise InputTypeError(
        "`engine`", 'must be "serial", "dask" or a distributed.Client', f"got {engine!r}", "Leave it out."
    )


def _current_client() -> Any:
    """Return the client that was opened last, without importing distributed for those who never did."""
    import sys

    distributed = sys.modules.get("distributed")
    if distributed is None:
        return None
    try:
        return distributed.get_client()
    except ValueError:
        return None


def _distributed() -> Any:
    try:
        import distributed
    except ImportError as error:
        raise MissingExtraError(
            'engine="dask"',
            "needs the extra `dask`",
            "distributed is not installed",
            'Install it: pip install "credibly[dask]".',
        ) from error
    return distributed
