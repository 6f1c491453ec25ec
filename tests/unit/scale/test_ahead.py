"""The next rows are read while these are worked on, one chunk ahead and no more."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import credibly as cr
from credibly._arrays.errors import InputError
from credibly._arrays.namespace import memory_budget
from credibly.scale.pieces import ArrayPiece
from credibly.scale.scan import read_ahead


class Watched:
    """A piece that tells when and where it is read."""

    def __init__(self, number: int, read: list[int], fails: bool = False) -> None:
        self.number, self.read, self.fails = number, read, fails
        self.budget: int | None = None
        self.thread: str | None = None

    def chunk(self) -> int:
        self.read.append(self.number)
        self.budget, self.thread = memory_budget(), threading.current_thread().name
        if self.fails:
            raise InputError("piece 2", "must be whole", "it is torn", "Mend it.")
        return self.number


def test_chunks_come_in_order_and_one_ahead() -> None:
    read: list[int] = []
    pieces = [Watched(number, read) for number in range(5)]
    with cr.memory_limit(3 * 2**20):
        for place, (piece, chunk) in enumerate(read_ahead(pieces)):
            assert (piece.number, chunk) == (place, place)
            assert len(read) <= place + 2
    assert read == [0, 1, 2, 3, 4]
    assert {piece.budget for piece in pieces} == {3 * 2**20}
    assert all(piece.thread.startswith("credibly-reader") for piece in pieces)


def test_an_error_comes_at_its_place_and_nothing_is_read_after_it() -> None:
    read: list[int] = []
    pieces = [Watched(number, read, fails=number == 2) for number in range(5)]
    chunks = read_ahead(pieces)
    assert [next(chunks)[1], next(chunks)[1]] == [0, 1]
    with pytest.raises(InputError, match="torn"):
        next(chunks)
    assert read == [0, 1, 2]


def test_the_reader_ends_when_nobody_asks_any_more() -> None:
    read: list[int] = []
    chunks = read_ahead([Watched(number, read) for number in range(50)])
    next(chunks)
    chunks.close()
    assert len(read) <= 2
    assert not [one for one in threading.enumerate() if one.name.startswith("credibly-reader")]


def test_a_broken_chunk_of_a_scan_is_named() -> None:
    probs = np.full((40, 2), 0.5)
    probs[25] = 3.0
    source = cr.scan(probs, np.zeros(40, dtype=int), chunk_rows=10)
    assert isinstance(source.pieces[0], ArrayPiece)
    with pytest.raises(InputError, match="rows 20 to 29"):
        cr.brier(source)
