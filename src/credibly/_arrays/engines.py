"""Where work runs: one engine for chunks of rows, blocks of pairs and repetitions of a study.

`as_engine` turns what a user names into one: this process, an executor of `concurrent.futures`, several
devices, or the workers of a Dask cluster.

Engines of one machine: one after the other, a pool of threads or processes, several devices.

An engine promises the results, never the order of the work, so a number may depend on its inputs alone.
"""

from __future__ import annotations

import concurrent.futures
import logging
import pickle
import sys
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from itertools import cycle, islice
from queue import SimpleQueue
from typing import Any, TypeVar

from credibly._arrays.errors import CrediblyError, InputTypeError, MissingExtraError

S = TypeVar("S")

T = TypeVar("T")

AHEAD = 4
"""Inputs under way per worker: enough to keep it busy, few enough not to pile up results."""

ANSWERS_WITHIN = "10s"
"""How long a scheduler that was named may take."""

RUN_AGAIN = "Finished parts are kept if `out` was given: run it again."

Chain = Sequence[tuple[Any, ...]]
"""Arguments of the steps of one fold, in order."""


class Engine(ABC):
    """Runs one function on many inputs."""

    name: str

    @abstractmethod
    def map(self, function: Callable[[S], T], inputs: Iterable[S]) -> Iterator[T]:
        """Yield ``function(one)`` for every input, in order."""

    @abstractmethod
    def unordered(self, function: Callable[[S], T], inputs: Sequence[S]) -> Iterator[tuple[int, T]]:
        """Yield (place, ``function(input)``) for every input, each as soon as it is known."""

    def held(self, function: Callable[[S], T], inputs: Iterable[S]) -> list[Any]:
        """Return ``function(one)`` for every input as something `folds` takes, kept where it was computed."""
        return list(self.map(function, inputs))

    @abstractmethod
    def folds(
        self, step: Callable[..., Any], chains: Iterable[Chain], finish: Callable[[Any], T]
    ) -> Iterator[T]:
        """Yield ``finish(step(step(None, *first), *second) ...)`` for every chain, in order.

        Arguments may be what `held` returned. Only those of one step need to be in one place at a time.
        """


class Serial(Engine):
    """One input after the other, in the calling process."""

    name = "serial"

    def map(self, function: Callable[[S], T], inputs: Iterable[S]) -> Iterator[T]:
        """Yield ``function(one)`` for every input, in order."""
        return map(function, inputs)

    def unordered(self, function: Callable[[S], T], inputs: Sequence[S]) -> Iterator[tuple[int, T]]:
        """Yield (place, ``function(input)``) for every input, in order."""
        return enumerate(map(function, inputs))

    def folds(
        self, step: Callable[..., Any], chains: Iterable[Chain], finish: Callable[[Any], T]
    ) -> Iterator[T]:
        """Fold one chain after the other."""
        return (_folded(step, chain, finish) for chain in chains)


class Devices(Serial):
    """Several devices of this machine: one thread for each, and every chain of tasks on one of them.

    Parameters
    ----------
    devices : sequence
        Devices of one array library, such as ``["cuda:0", "cuda:1"]``. Arguments of tasks that can move (they
        have `on`) are copied to the device of their chain.
    """

    name = "devices"

    def __init__(self, devices: Sequence[Any]) -> None:
        if isinstance(devices, str) or not len(devices):
            raise InputTypeError("`devices`", "must be a sequence", f"got {devices!r}", 'Use ["cuda:0"].')
        self.devices = tuple(devices)

    def folds(
        self, step: Callable[..., Any], chains: Iterable[Chain], finish: Callable[[Any], T]
    ) -> Iterator[T]:
        """Fold chains on the devices in turns; results come in order."""
        with ExitStack() as opened:
            threads = [
                (opened.enter_context(concurrent.futures.ThreadPoolExecutor(1)), device)
                for device in self.devices
            ]
            yield from _in_order(
                (
                    thread.submit(_folded_on, device, step, chain, finish)
                    for (thread, device), chain in zip(cycle(threads), chains, strict=False)
                ),
                2 * len(threads),
            )


class Pool(Engine):
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
        return self.in_order(self._submit(function, one) for one in inputs)

    def unordered(self, function: Callable[[S], T], inputs: Sequence[S]) -> Iterator[tuple[int, T]]:
        """Yield results as they come; a few inputs per worker are under way at a time."""
        places: dict[Any, int] = {}
        done: SimpleQueue[Any] = SimpleQueue()
        todo = iter(enumerate(inputs))
        with self._alive():
            room = self._room()
            try:
                while True:
                    for place, one in islice(todo, room - len(places)):
                        future = self._submit(function, one)
                        places[future] = place
                        future.add_done_callback(done.put)
                    if not places:
                        return
                    future = done.get()
                    yield places.pop(future), future.result()
            finally:
                self._drop(places)

    def folds(
        self, step: Callable[..., Any], chains: Iterable[Chain], finish: Callable[[Any], T]
    ) -> Iterator[T]:
        """Fold every chain in one worker, which is sent all its arguments."""
        return self.in_order(self._submit(_folded, step, chain, finish) for chain in chains)

    def in_order(self, futures: Iterable[Any]) -> Iterator[Any]:
        """Yield the results of futures in their order; the next are asked for when there is room."""
        with self._alive():
            yield from _in_order(futures, self._room(), self._drop)

    def _submit(self, function: Callable[..., T], *given: Any) -> Any:
        if self._processes:
            _require_picklable((function, given))
        return self.executor.submit(function, *given)

    def _room(self) -> int:
        """Return how many inputs may be under way: all, where the executor does not say its workers."""
        workers = getattr(self.executor, "_max_workers", None)
        return max(2, AHEAD * workers) if isinstance(workers, int) else sys.maxsize

    def _drop(self, futures: Iterable[Any]) -> None:
        _cancel(futures)

    def _alive(self) -> AbstractContextManager[None]:
        return _living_workers()


class Cluster(Pool):
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

    def _submit(self, function: Callable[..., Any], *given: Any) -> Any:
        # pure=False: the same function on the same rows must run again when it is asked for again
        return self.client.submit(function, *given, pure=False)

    def _room(self) -> int:
        return max(2, AHEAD * len(self.client.nthreads()))

    def _drop(self, futures: Iterable[Any]) -> None:
        if self.client.status == "running":
            self.client.cancel(list(futures))

    def _alive(self) -> AbstractContextManager[None]:
        return _living_cluster()


def _cancel(futures: Iterable[Any]) -> None:
    for future in futures:
        future.cancel()


def _in_order(
    futures: Iterable[Any], room: int, drop: Callable[[Iterable[Any]], None] = _cancel
) -> Iterator[Any]:
    """Yield results in order with at most `room` futures waiting; drop those when the caller stops early."""
    waiting: deque[Any] = deque()
    try:
        for future in futures:
            waiting.append(future)
            if len(waiting) >= room:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        drop(waiting)


def _folded(step: Callable[..., Any], chain: Iterable[tuple[Any, ...]], finish: Callable[[Any], T]) -> T:
    total = None
    for given in chain:
        total = step(total, *given)
    return finish(total)


def _folded_on(device: Any, step: Callable[..., Any], chain: Chain, finish: Callable[[Any], T]) -> T:
    moved = (tuple(one.on(device) if hasattr(one, "on") else one for one in given) for given in chain)
    return _folded(step, moved, finish)


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


def _require_picklable(given: tuple[Any, ...]) -> None:
    """Raise unless processes can be told what to do."""
    try:
        pickle.dumps(given)
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
    engine : None, "serial", "dask", Engine, concurrent.futures.Executor or distributed.Client
        None uses the current `distributed.Client` if one was opened, else this process. "dask" also uses the
        current client, or opens one with workers on this machine.

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
        client = (
            _current_client()
        )  # else workers here, whose dashboard takes any port: several runs share a machine
        return Cluster(_distributed().Client(dashboard_address=":0") if client is None else client)
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
            client = client_type(silence_logs=logging.CRITICAL, dashboard_address=":0")
        else:
            client = client_type(scheduler, timeout=ANSWERS_WITHIN)
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
        client = distributed.get_client()
    except ValueError:
        return None
    return (
        client if client.status == "running" else None
    )  # one that never connected, or was closed, cannot work


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
