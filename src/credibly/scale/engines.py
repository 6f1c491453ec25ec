"""Engines that send work to other threads, processes or machines.

`as_engine` turns what a user names into one: this process, an executor of `concurrent.futures`, or the
workers of a Dask cluster.
"""

from __future__ import annotations

import concurrent.futures
import pickle
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from itertools import islice
from queue import SimpleQueue
from typing import Any, TypeVar

from credibly._arrays.engines import Chain, Engine, folded
from credibly._arrays.errors import CrediblyError, InputTypeError

S = TypeVar("S")

T = TypeVar("T")

AHEAD = 4
"""Inputs under way per worker: enough to keep it busy, few enough not to pile up results."""

RUN_AGAIN = "Finished parts are kept if `out` was given: run it again."


class Executors(Engine):
    """An executor of `concurrent.futures`: threads or processes of this machine.

    Parameters
    ----------
    executor : concurrent.futures.Executor
        Where to run; it stays open.
    """

    name = "pool"

    def __init__(self, executor: concurrent.futures.Executor) -> None:
        self.executor = executor
        self._processes = isinstance(executor, concurrent.futures.ProcessPoolExecutor)

    def map(self, function: Callable[[S], T], inputs: Iterable[S]) -> Iterator[T]:
        """Yield results in order; a few inputs per worker are under way at a time."""
        return self.in_order(self._submit(function, item) for item in inputs)

    def unordered(self, function: Callable[[S], T], inputs: Sequence[S]) -> Iterator[tuple[int, T]]:
        """Yield results as they come; a few inputs per worker are under way at a time."""
        place_of: dict[Any, int] = {}
        done: SimpleQueue[Any] = SimpleQueue()
        todo = iter(enumerate(inputs))
        with self._alive():
            room = self._room()
            try:
                while True:
                    for place, item in islice(todo, room - len(place_of)):
                        future = self._submit(function, item)
                        place_of[future] = place
                        future.add_done_callback(done.put)
                    if not place_of:
                        return
                    future = done.get()
                    yield place_of.pop(future), future.result()
            finally:
                self._drop(place_of)

    def folds(
        self, step: Callable[..., Any], chains: Iterable[Chain], finish: Callable[[Any], T]
    ) -> Iterator[T]:
        """Fold every chain in one worker, which is sent all its arguments."""
        return self.in_order(self._submit(folded, step, chain, finish) for chain in chains)

    def in_order(self, futures: Iterable[Any]) -> Iterator[Any]:
        """Yield the results of futures in their order; the next are asked for when there is room."""
        waiting: deque[Any] = deque()
        with self._alive():
            room = self._room()
            try:
                for future in futures:
                    waiting.append(future)
                    if len(waiting) >= room:
                        yield waiting.popleft().result()
                while waiting:
                    yield waiting.popleft().result()
            finally:  # also when the caller stops early
                self._drop(waiting)

    def _submit(self, function: Callable[..., T], *arguments: Any) -> Any:
        if self._processes:
            _require_picklable((function, arguments))
        return self.executor.submit(function, *arguments)

    def _room(self) -> int:
        """Return how many inputs may be under way: all, where the executor does not say its workers."""
        workers = getattr(self.executor, "_max_workers", None)
        return max(2, AHEAD * workers) if isinstance(workers, int) else sys.maxsize

    def _drop(self, futures: Iterable[Any]) -> None:
        for future in futures:
            future.cancel()

    def _alive(self) -> AbstractContextManager[None]:
        return _living_workers()


class Cluster(Executors):
    """The workers of a `distributed.Client`; what a killed worker had is computed again by another.

    Not the executor that a client can give: its futures cannot be arguments of tasks, so that sums would
    come back here between two steps.

    Parameters
    ----------
    client : distributed.Client
        Where to run.
    """

    name = "dask"

    def __init__(self, client: Any) -> None:
        self.client = client

    def mapped_in_place(self, function: Callable[[S], T], inputs: Iterable[S]) -> list[Any]:
        """Return futures: results stay with the workers, and a lost one is computed again from its input."""
        return [self._submit(function, item) for item in inputs]

    def folds(
        self, step: Callable[..., Any], chains: Iterable[Chain], finish: Callable[[Any], T]
    ) -> Iterator[T]:
        """Fold every chain by tasks of one step each; sums go from step to step on the cluster."""

        def last(chain: Chain) -> Any:
            total = None
            for arguments in chain:
                total = self._submit(step, total, *arguments)
            return self._submit(finish, total)

        return self.in_order(last(chain) for chain in chains)

    def _submit(self, function: Callable[..., Any], *arguments: Any) -> Any:
        # pure=False: the same function on the same rows must run again when it is asked for again
        return self.client.submit(function, *arguments, pure=False)

    def _room(self) -> int:
        return max(2, AHEAD * len(self.client.nthreads()))

    def _drop(self, futures: Iterable[Any]) -> None:
        if self.client.status == "running":
            self.client.cancel(list(futures))

    def _alive(self) -> AbstractContextManager[None]:
        return _living_cluster()


@contextmanager
def _living_workers() -> Iterator[None]:
    try:
        yield
    except concurrent.futures.BrokenExecutor as error:
        raise CrediblyError(
            "the workers",
            "must run until the work is done",
            "one died, possibly out of memory",
            f"Try fewer of them. {RUN_AGAIN}",
        ) from error


def _require_picklable(task: tuple[Any, ...]) -> None:
    """Raise unless processes can be told what to do."""
    try:
        pickle.dumps(task)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise InputTypeError(
            "what is sent to an engine of processes",
            "must be picklable",
            str(error),
            "Define functions at the top of a module (no lambda), or use a `ThreadPoolExecutor`.",
        ) from error


def as_engine(engine: Any) -> Engine:
    """Return the engine that a user named.

    Parameters
    ----------
    engine : None, "serial", Engine, concurrent.futures.Executor or distributed.Client
        None uses the current `distributed.Client` if one was opened, else this process.

    Returns
    -------
    Engine
        Where to run.
    """
    if isinstance(engine, Engine):
        return engine
    named = _current_client() if engine is None else engine
    if named is None or (isinstance(named, str) and named == "serial"):
        return Engine()
    if isinstance(named, concurrent.futures.Executor):
        return Executors(named)
    if hasattr(named, "submit") and hasattr(named, "nthreads"):
        return Cluster(named)
    raise InputTypeError(
        "`engine`",
        'must be "serial", a concurrent.futures.Executor or a distributed.Client',
        f"got {engine!r}",
        "Leave it out to work in this process.",
    )


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
        client = distributed.get_client()
    except ValueError:
        return None
    # one that never connected, or was closed, cannot work
    return client if client.status == "running" else None


@contextmanager
def _living_cluster() -> Iterator[None]:
    import distributed
    from distributed.comm.core import CommClosedError

    try:
        yield
    except distributed.KilledWorker as error:
        raise CrediblyError(
            "the workers",
            "must run until the work is done",
            "several died on the same task, possibly out of memory",
            f"Give them more memory, or make chunks smaller. {RUN_AGAIN}",
        ) from error
    except (concurrent.futures.CancelledError, distributed.CancelledError, CommClosedError) as error:
        raise CrediblyError(
            "the cluster",
            "must run until the work is done",
            "its scheduler was lost",
            f"Start a cluster. {RUN_AGAIN}",
        ) from error
