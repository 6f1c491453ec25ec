"""The monitor: rows per second at ten classes, and what sharing weights once per block saves."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from harness import Row, best_of

import credibly as cr
from credibly.monitor.bets import Book
from credibly.monitor.capital import Capital

ROWS, FEW, CLASSES = 200_000, 10_000, 10
WANTED = 500_000
"""Rows per second."""


def rows(threads: int) -> Iterator[Row]:
    """Yield rows per second of a monitor; it uses one thread whatever is allowed."""
    if threads > 1:
        return
    rng = np.random.default_rng(0)
    probs = rng.dirichlet(np.ones(CLASSES), size=ROWS)
    labels = (rng.random((ROWS, 1)) > probs.cumsum(axis=1)).sum(axis=1).clip(0, CLASSES - 1)
    point = cr.Point(probs)
    prior = Book.of(point, None).prior
    logs = np.zeros((len(prior), FEW))
    places = np.arange(1, FEW + 1)

    def ours() -> None:
        monitor = cr.Monitor()
        for start in range(0, ROWS, FEW):
            monitor.update(point[start : start + FEW], labels[start : start + FEW])

    def by_row() -> None:
        capital = Capital.start(prior)
        for at in range(FEW):
            capital.pay(logs[:, at : at + 1], prior, places[at : at + 1])

    found = best_of(3, ours=ours, by_row=by_row)
    speed = ROWS / found["ours"]
    yield Row(
        f"Monitor.update, {ROWS} rows, k = {CLASSES}: {speed:.3g} rows per second",
        found["ours"],
        found["by_row"] * ROWS / FEW,
        "weights shared after every row",
        f"{WANTED} rows per second",
        speed >= WANTED,
        threads,
    )
