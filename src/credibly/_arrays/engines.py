"""Where work runs: one engine for chunks of rows, blocks of pairs and repetitions of a study.

`as_engine` turns what a user names into one: this process, an executor of `concurrent.futures`, several
devices, or the workers of a Dask cluster.
"""

from __future__ import annotations

import concurrent.futures
import logging
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import Any

from credibly._arrays.errors import CrediblyError, InputTypeError, MissingExtraError
from credibly._arrays.workers import AHEAD, RUN_AGAIN, Chain, Devices, Engine, Pool, S, Serial, T

__all__ = ["Cluster", "Devices", "Engine", "Pool", "Serial", "as_engine", "connected"]


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

    def map(self, function: Callable[[S], T], inputs: Iterable[S]) -> Iterator[T]:
        """Yield results in order; a few inputs per worker are under way at a time."""
        return self.in_order(self._submit(function, one) for one in inputs)

    def unordered(self, function: Callable[[S], T], inputs: Sequence[S]) -> Iterator[tuple[int, T]]:
        """Yield results as they come; a few inputs per worker are under way at a time."""
        places: dict[Any, int] = {}
        todo = iter(enumerate(inputs))
        with _living_cluster():
            room = self._window()
            try:
                arriving = _distributed().as_completed([], loop=self.client.loop)
                while True:
                    for place, one in islice(todo, room - len(places)):
                        future = self._submit(function, one)
                        places[future] = place
                        arriving.add(future)
                    if not places:
                        return
                    future = next(arriving)
                    yield places.pop(future), future.result()
            finally:
                self._drop(list(places))

    def held(self, function: Callable[[S], T], inputs: Iterable[S]) -> list[Any]:
        """Return futures: results stay with the workers, and a lost one is computed again from its input."""
        return [self._submit(function, one) for one in inputs]

    def folds(
        self, step: Callable[..., Any], chains: Iterable[Chain], finish: Callable[[Any], T]
    ) -> Iterator[T]:
        """Fold every chain by tasks of one step each; sums go from step to step on the cluster."""

        def folded(chain: Chain) -> Any:
            total = None
            for given in chain:
                total = self._submit(step, total, *given)
            return self._submit(finish, total)

        return self.in_order(folded(chain) for chain in chains)

    def in_order(self, futures: Iterable[Any]) -> Iterator[Any]:
        """Yield the results of futures in their order; the next are asked for when there is room."""
        waiting: deque[Any] = deque()
        with _living_cluster():
            room = self._window()
            try:
                for future in futures:
                    waiting.append(future)
                    if len(waiting) >= room:
                        yield waiting.popleft().result()
                while waiting:
                    yield waiting.popleft().result()
            finally:
                self._drop(list(waiting))

    def _submit(self, function: Callable[..., Any], *given: Any) -> Any:
        # pure=False: the same function on the same rows must run again when it is asked for again
        return self.client.submit(function, *given, pure=False)

    def _window(self) -> int:
        return max(2, AHEAD * len(self.client.nthreads()))

    def _drop(self, futures: list[Any]) -> None:
        if futures and self.client.status == "running":
            self.client.cancel(futures)


def as_engine(engine: Any) -> Engine:
    """Return the engine that a user named.

    Parameters
    ----------
    engine : None, "serial", "dask", Engine, concurrent.futures.Executor or distributed.Client
        None takes the current `distributed.Client` where one was opened, else this process. "dask" takes the
        current client too, or opens one with workers on this machine.

    Returns
    -------
    Engine
        Where to run.
    """
    if isinstance(engine, Engine):
        return engine
    if isinstance(engine, str) and engine == "serial":
        return Serial()
    if engine is None:
        client = _current_client()
        return Serial() if client is None else Cluster(client)
    if isinstance(engine, str) and engine == "dask":
        client = _current_client()
        return Cluster(_distributed().Client() if client is None else client)
    if isinstance(engine, concurrent.futures.Executor):
        return Pool(engine)
    if hasattr(engine, "submit") and hasattr(engine, "nthreads"):
        return Cluster(engine)
    raise InputTypeError(
        "`engine`",
        'must be "serial", "dask", a concurrent.futures.Executor or a distributed.Client',
        f"got {engine!r}",
        "Leave it out to work in this process.",
    )


@contextmanager
def connected(scheduler: str | None) -> Iterator[Engine]:
    """Give the engine of the Dask cluster at an address, or of workers here, inside a ``with`` block."""
    client_type = _distributed().Client
    try:
        if scheduler is None:  # what workers here log of a failed task is raised in this process as well
            client = client_type(silence_logs=logging.CRITICAL)
        else:
            client = client_type(scheduler, timeout="10s")
    except (OSError, ValueError) as error:
        raise CrediblyError(
            f"the scheduler {scheduler!r}",
            "must answer",
            str(error),
            "Give the address that `dask scheduler` printed, such as tcp://127.0.0.1:8786.",
        ) from error
    with client:
        yield Cluster(client)


def _current_client() -> Any:
    """Return the client that was opened last, without importing distributed for those who never did.

    Inside a task there is none: a task that waits for other tasks would hold the thread they need.
    """
    distributed = sys.modules.get("distributed")
    if distributed is None:
        return None
    try:
        distributed.get_worker()
    except ValueError:
        pass
    else:
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


@contextmanager
def _living_cluster() -> Iterator[None]:
    distributed = _distributed()
    from distributed.comm.core import CommClosedError

    try:
        yield
    except distributed.KilledWorker as error:
        raise CrediblyError(
            "the workers",
            "must live until the work is done",
            "several ended on the same task, perhaps for want of memory",
            f"Give them more memory, or make chunks smaller. {RUN_AGAIN}",
        ) from error
    except (concurrent.futures.CancelledError, distributed.CancelledError, CommClosedError) as error:
        raise CrediblyError(
            "the cluster",
            "must live until the work is done",
            "its scheduler was lost",
            f"Start a cluster. {RUN_AGAIN}",
        ) from error
