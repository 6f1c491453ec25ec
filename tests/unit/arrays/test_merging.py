"""Sums do not depend on where rows are cut, as long as they are cut where leaves end."""

from __future__ import annotations

import numpy as np
import pytest

from credibly._arrays.sums import RowSums, Span, leaves


def joined(start: int, stop: int, leaf: int) -> RowSums:
    """Add spans of text: brackets show which were added to which."""
    sums = RowSums(leaf, lambda left, right: f"({left} {right})")
    for rows in leaves(start, stop, leaf):
        first, last = start + rows.start, start + rows.stop
        sums.push(Span(first, last, f"{first}-{last}"))
    return sums


def test_the_order_of_additions_is_that_of_the_rows() -> None:
    assert joined(0, 22, 4).total() == "(((0-4 4-8) (8-12 12-16)) (16-20 20-22))"


@pytest.mark.parametrize("n", [1, 4, 9, 37, 64])
@pytest.mark.parametrize("chunk", [4, 8, 12, 20, 100])
def test_chunks_of_whole_leaves_are_added_as_one(n, chunk) -> None:
    whole = joined(0, n, 4).total()
    sums = RowSums(4, lambda left, right: f"({left} {right})")
    for start in range(0, n, chunk):
        for span in joined(start, min(start + chunk, n), 4).spans:
            sums.push(span)
    assert sums.total() == whole


@pytest.mark.parametrize("chunk", [1, 3, 5, 7, 1000])
def test_every_row_counts_once_in_any_chunks(chunk) -> None:
    values = np.arange(1000)
    sums = RowSums(16, lambda left, right: left + right)
    kept = 0
    for start in range(0, 1000, chunk):
        stop = min(start + chunk, 1000)
        for rows in leaves(start, stop, 16):
            part = values[start:stop][rows]
            sums.push(Span(start + rows.start, start + rows.stop, int(part.sum())))
            kept = max(kept, len(sums.spans))
    assert sums.total() == 999 * 1000 // 2
    assert kept <= 8  # log2(1000 / 16) levels, a leaf under way and the span just pushed
