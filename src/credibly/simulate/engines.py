"""Who does the work: this process, an executor of `concurrent.futures`, or a client of a cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, as_completed
from typing import Any, TypeVar

from credibly._arrays.errors import InputTypeError

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
        places = {engine.submit(function, task): place for place, task in enumerate(tasks)}
        try:
            for future in as_completed(places):
                yield places[future], future.result()
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
