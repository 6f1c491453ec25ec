"""Read the next rows while these are worked on: one thread that mostly waits for the disk and copies."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context

from credibly.predictions import Dataset
from credibly.scale.pieces import Piece


def read_ahead(pieces: Sequence[Piece]) -> Iterator[tuple[Piece, Dataset]]:
    """Yield every piece with its rows, in order; at most one is held that is not asked for yet."""
    with ThreadPoolExecutor(max_workers=1, thread_name_prefix="credibly-reader") as reader:
        # the reader sees the caller's memory limit
        waiting = [reader.submit(copy_context().run, piece.chunk) for piece in pieces[:1]]
        for place, piece in enumerate(pieces):
            chunk = waiting.pop().result()
            if place + 1 < len(pieces):
                waiting.append(reader.submit(copy_context().run, pieces[place + 1].chunk))
            yield piece, chunk
