"""What a test costs in seconds of one core, and an order in which dear tests do not come last.

tools/slow_tests.py keeps the marker `slow` true with the costs: seconds on the clock depend on what else the
machine does. Every conftest.py at the root of tests takes the two hooks over.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pytest

_BEFORE = pytest.StashKey[float]()
_DEAR = ("slow", "validity", "browser")


def _processor_seconds() -> float:
    """Return the seconds of this process and of those it started and has waited for."""
    return sum(os.times()[:4])


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Iterator[None]:
    item.stash[_BEFORE] = _processor_seconds()
    return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Iterator[None]:
    try:
        return (yield)
    finally:
        item.user_properties.append(("cpu", f"{_processor_seconds() - item.stash[_BEFORE]:.3f}"))
        item.user_properties.append(("quick", "no" if _is_dear(item) else "yes"))


def by_file(items: list[pytest.Item]) -> list[list[pytest.Item]]:
    """Return the tests file by file: what a file prepares is prepared once if they stay together."""
    files: dict[Path, list[pytest.Item]] = {}
    for item in items:
        files.setdefault(item.path, []).append(item)
    return list(files.values())


def dear_first(items: list[pytest.Item], workers: int) -> list[pytest.Item]:
    """Return an order in which every worker begins with files of dear tests, and ends with cheap ones.

    `--dist worksteal` gives each worker a stretch of equal length, and later moves ends of stretches to
    whoever is idle. A dear test at such an end would be waited for.
    """
    files = by_file(items)
    weights = [sum(map(_is_dear, file)) for file in files]
    shares: list[list[pytest.Item]] = [[] for _ in range(workers)]
    passed = 0
    for file, weight in zip(files, weights, strict=True):
        if weight:  # files beside each other may share a browser, so they stay beside each other
            shares[passed * workers // sum(weights)].extend(file)
            passed += weight
    cheap = iter([item for file, weight in zip(files, weights, strict=True) if not weight for item in file])
    for place, share in enumerate(shares):
        taken = sum(map(len, shares[:place]))
        share.extend(islice(cheap, max(0, (len(items) - taken) // (workers - place) - len(share))))
    return [item for share in shares for item in share] + list(cheap)


def _is_dear(item: pytest.Item) -> bool:
    return any(item.get_closest_marker(name) for name in _DEAR)
