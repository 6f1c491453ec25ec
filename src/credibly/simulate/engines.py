"""Who does the work: this process, an executor of `concurrent.futures`, or a client of a cluster."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, Executor, ProcessPoolExecutor, as_completed
from typing import Any, TypeVar

from credibly._arrays.errors import CrediblyError, InputTypeError

T = TypeVar("T")
R = TypeVar("R")


def require_engine(engine: Any) -> None:
    """Raise unless tasks can be handed to `engine`."""
    client = callable(getattr(engine, "submit", None)) and callable(getattr(engine, "gather", None))
    if not (engine is None or isinstance(engine, Executor) or client):
        raise InputTypeError(
            "`engine`",
            "must be None, a concurrent.futures.Executor or a client with `submit` and `gather`",
            f"got {type(engine).__name__}",
            "Use `concurrent.futures.ProcessPoolExecutor()` or `distributed.Client()`.",
        )


def results(function: Callable[[T], R], tasks: Sequence[T], engine: Any) -> Iterator[tuple[int, R]]:
    """Yield (place, function(task)) for all tasks, each as soon as it is known.

    What has not begun is cancelled when the caller stops early or a task fails.
    """
    if engine is None:
        for place, task in enumerate(tasks):
            yield place, function(task)
    elif isinstance(engine, Executor):
        if isinstance(engine, ProcessPoolExecutor):
            _require_picklable(tasks)
        places: dict[Any, int] = {}
        try:
            for place, task in enumerate(tasks):
                places[engine.submit(function, task)] = place
            for future in as_completed(places):
                yield places[future], future.result()
        except BrokenExecutor as error:
            raise CrediblyError(
                "the workers",
                "must live until the work is done",
                "one ended abruptly, perhaps for want of memory",
                "Try fewer of them. What was finished is kept where `out` was given.",
            ) from error
        finally:
            for future in places:
                future.cancel()
    else:
        futures = [engine.submit(function, task) for task in tasks]
        collected = 0
        try:
            for place, future in enumerate(futures):
                yield place, engine.gather(future)
                collected += 1
        finally:
            if collected < len(futures) and hasattr(engine, "cancel"):
                engine.cancel(futures[collected:])


def _require_picklable(tasks: Sequence[Any]) -> None:
    """Raise unless processes can be told what to do."""
    for task in tasks:
        try:
            pickle.dumps(task)
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            raise InputTypeError(
                "tests and worlds",
                "must be picklable for an engine of processes",
                str(error),
                "Define them at the top of a module (no lambda), or use a `ThreadPoolExecutor`.",
            ) from error
