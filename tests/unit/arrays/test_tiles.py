"""Tiles cover every row once, and the memory budget is what the caller set."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import credibly as cr
from credibly._arrays import namespace
from credibly._arrays.namespace import (
    machine_memory,
    memory_budget,
    one_blas_thread,
    rows_within_budget,
    tiles,
)

MIB = 2**20


@given(st.integers(0, 50), st.integers(-2, 60))
def test_tiles_cover_every_row_once(length, size):
    rows = [i for tile in tiles(length, size) for i in range(length)[tile]]
    assert rows == list(range(length))
    assert all(tile.stop - tile.start <= max(1, size) for tile in tiles(length, size))


DEFAULT = min(machine_memory() // 16, 4096 * MIB)


@pytest.mark.parametrize(("limit", "expected"), [("max\n", None), (str(640 * MIB), 40 * MIB)])
def test_the_default_follows_the_machine_or_its_container(
    limit: str, expected: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "memory.max").write_text(limit)
    monkeypatch.setattr(namespace, "_CONTAINER_LIMIT", tmp_path / "memory.max")
    monkeypatch.setattr(namespace, "machine_memory", machine_memory.__wrapped__)
    physical = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    assert memory_budget() == (expected or min(physical // 16, 4096 * MIB))


def test_the_budget_ends_with_its_block():
    assert memory_budget() == DEFAULT
    with cr.memory_limit(8 * MIB):
        assert memory_budget() == 8 * MIB
        with cr.memory_limit(2 * MIB):
            assert memory_budget() == 2 * MIB
        assert memory_budget() == 8 * MIB
    assert memory_budget() == DEFAULT


def test_the_budget_ends_with_an_error_too():
    def fail():
        with cr.memory_limit(MIB):
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert memory_budget() == DEFAULT


@pytest.mark.parametrize("limit", [0, MIB - 1, -1, "1GB", None, float("nan"), float("inf")])
def test_wrong_limits(limit):
    with pytest.raises(cr.InputError, match=r"`n_bytes` must be at least 1 MiB"), cr.memory_limit(limit):
        pass


def test_rows_within_budget():
    with cr.memory_limit(MIB):
        assert rows_within_budget(1024) == 1024
        assert rows_within_budget(1024, share=0.5) == 512
        assert rows_within_budget(10**12) == 1  # one row is always tried
        assert rows_within_budget(0) == MIB


def test_blas_threads_are_limited_inside_the_block():
    import threadpoolctl

    np.ones((2, 2)) @ np.ones((2, 2))  # loads the BLAS
    with one_blas_thread():
        pools = [pool for pool in threadpoolctl.threadpool_info() if pool["user_api"] == "blas"]
        assert pools
        assert {pool["num_threads"] for pool in pools} == {1}
