"""One engine for all work: the same results, in the same order, wherever it runs."""

from __future__ import annotations

import operator
import threading
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial
from multiprocessing import get_context
from typing import Any

import pytest

import credibly as cr
from credibly._arrays.engines import Engine
from credibly.scale.engines import Cluster, Executors, as_engine

SQUARES = [one * one for one in range(40)]


def square(value: int) -> int:
    return value * value


def add(total: int | None, *values: int) -> int:
    return (total or 0) + sum(values)


def fails(value: int) -> int:
    if value == 3:
        raise cr.FileError("'shard'", "must be whole", "it is cut", "Fetch it again.")
    return value


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    distributed = pytest.importorskip("distributed", reason="needs the extra dask")
    with (
        distributed.LocalCluster(
            processes=False, n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=50
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as opened,
    ):
        yield opened


@pytest.fixture(params=["serial", "threads", "processes", "dask"])
def engine(request: pytest.FixtureRequest) -> Iterator[Engine]:
    if request.param == "serial":
        yield as_engine("serial")
    elif request.param == "threads":
        with ThreadPoolExecutor(2) as pool:
            yield as_engine(pool)
    elif request.param == "processes":
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
            yield as_engine(pool)
    else:
        yield as_engine(request.getfixturevalue("client"))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_results_and_their_order(engine: Engine) -> None:
    assert list(engine.map(square, range(40))) == SQUARES
    assert sorted(engine.unordered(square, range(40))) == list(enumerate(SQUARES))
    held = engine.mapped_in_place(square, range(5))
    chains = [[(held[0], held[1]), (held[2],)], [(held[4], 7)], [(held[3],)] * 3]
    # 0 + 1 + 4, 16 + 7 and 9 + 9 + 9; finished by adding one
    assert list(engine.folds(add, chains, partial(operator.add, 1))) == [6, 24, 28]
    assert list(engine.map(square, [])) == list(engine.unordered(square, [])) == []


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_an_error_of_the_work_stays_what_it_is(engine: Engine) -> None:
    with pytest.raises(cr.FileError, match="'shard' must be whole"):
        list(engine.map(fails, range(8)))
    with pytest.raises(cr.FileError, match="'shard' must be whole"):
        list(engine.unordered(fails, range(8)))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("wide", [True, False])
def test_few_inputs_are_under_way(client: Any, wide: bool) -> None:
    """Results that nobody has asked for yet must not pile up."""
    asked = []

    def inputs() -> Iterator[int]:
        for one in range(100):
            asked.append(one)
            yield one

    if wide:
        with ThreadPoolExecutor(2) as pool:
            results = Executors(pool).map(square, inputs())
            assert next(results) == 0
            results.close()
    else:
        results = Cluster(client).map(square, inputs())
        assert next(results) == 0
        results.close()
    assert len(asked) <= 9  # four per worker, and the one that is returned


@pytest.mark.filterwarnings("ignore")
def test_the_engine_that_is_named(client: Any) -> None:
    assert as_engine(None).name == "serial"
    assert isinstance(as_engine(client), Cluster)
    made = Engine()
    assert as_engine(made) is made
    with client.as_current():
        assert as_engine(None).client is client
        assert as_engine("serial").name == "serial"
    # a task that waits for other tasks would hold the thread they need
    assert client.submit(lambda: as_engine(None).name, pure=False).result() == "serial"


@pytest.mark.parametrize("given", ["dask", "ray", 3, object, threading.Lock()])
def test_what_is_no_engine(given: Any) -> None:
    with pytest.raises(cr.InputTypeError, match=r'`engine` must be "serial", a concurrent'):
        as_engine(given)
