"""The kernels of `label_kernels`, in Triton: imported only where it is installed."""
# mypy: disable-error-code="import-not-found, no-untyped-def, no-untyped-call, untyped-decorator"

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def _words(low, high, seed0, seed1, STREAM: tl.constexpr, M0: tl.constexpr, M1: tl.constexpr,
           STEP0: tl.constexpr, STEP1: tl.constexpr):  # fmt: skip
    """Return the four words of the counters (low, high, STREAM, 0)."""
    c0, c1 = low, high
    c2, c3 = tl.full(low.shape, STREAM, tl.uint64), tl.full(low.shape, 0, tl.uint64)
    key0, key1 = c3 + seed0.to(tl.uint64), c3 + seed1.to(tl.uint64)
    multiplier0, multiplier1 = tl.full(low.shape, M0, tl.uint64), tl.full(low.shape, M1, tl.uint64)
    for _ in tl.static_range(10):
        high0, low0 = tl.umulhi(multiplier0, c0), multiplier0 * c0
        high1, low1 = tl.umulhi(multiplier1, c2), multiplier1 * c2
        c0, c1, c2, c3 = high1 ^ c1 ^ key0, low1, high0 ^ c3 ^ key1, low0
        key0 += tl.full(low.shape, STEP0, tl.uint64)
        key1 += tl.full(low.shape, STEP1, tl.uint64)
    return c0, c1, c2, c3


@triton.jit
def _chosen(c0, c1, c2, c3, which):
    """Return one of four words, by its number."""
    return tl.where(which < 2, tl.where(which == 0, c0, c1), tl.where(which == 2, c2, c3))


@triton.jit(do_not_specialize=["first_block", "first_replicate", "seed0", "seed1"])
def draw(
    floors, words, ties, number, n, lead, blocks, b,
    first_block, first_replicate, most, seed0, seed1,
    M0: tl.constexpr, M1: tl.constexpr, STEP0: tl.constexpr, STEP1: tl.constexpr, STREAM: tl.constexpr,
    STEPS: tl.constexpr, BLOCKS: tl.constexpr, REPLICATES: tl.constexpr, TURNS: tl.constexpr,
):  # fmt: skip
    """Draw sixteen labels per counter as bytes, and list the counters where a piece equals a floor."""
    replicate = tl.program_id(1) * REPLICATES + tl.arange(0, REPLICATES)
    zero = tl.zeros((BLOCKS, REPLICATES), tl.uint64)
    for turn in range(TURNS):
        block = (tl.program_id(0) * TURNS + turn) * BLOCKS + tl.arange(0, BLOCKS)
        inside = (block < blocks)[:, None] & (replicate < b)[None, :]
        # NumPy increments the counter before it produces a block
        low = (first_block + block + 1).to(tl.uint64)[:, None] + zero
        high = (first_replicate + replicate).to(tl.uint64)[None, :] + zero
        c0, c1, c2, c3 = _words(low, high, seed0, seed1, STREAM, M0, M1, STEP0, STEP1)
        tied = tl.zeros((BLOCKS, REPLICATES), tl.int32)
        at = replicate[None, :].to(tl.int64) * (4 * blocks) + 4 * block[:, None]
        for w in tl.static_range(4):
            word = c0 if w == 0 else (c1 if w == 1 else (c2 if w == 2 else c3))
            piece0, piece1 = (word & 0xFFFF).to(tl.int32), ((word >> 16) & 0xFFFF).to(tl.int32)
            piece2, piece3 = ((word >> 32) & 0xFFFF).to(tl.int32), (word >> 48).to(tl.int32)
            row = block * 16 + 4 * w - lead
            seen0, seen1 = (row >= 0) & (row < n), (row >= -1) & (row < n - 1)
            seen2, seen3 = (row >= -2) & (row < n - 2), (row >= -3) & (row < n - 3)
            packed = tl.zeros((BLOCKS, REPLICATES), tl.int32)
            equal = tl.zeros((BLOCKS, REPLICATES), tl.int32)
            floor_at = floors + row
            for _ in range(STEPS):  # four rows together: their loads overlap
                floor0 = tl.load(floor_at, mask=seen0, other=1 << 20)[:, None]
                floor1 = tl.load(floor_at + 1, mask=seen1, other=1 << 20)[:, None]
                floor2 = tl.load(floor_at + 2, mask=seen2, other=1 << 20)[:, None]
                floor3 = tl.load(floor_at + 3, mask=seen3, other=1 << 20)[:, None]
                floor_at += n
                packed += tl.where(piece0 > floor0, 1, 0) + tl.where(piece1 > floor1, 1 << 8, 0)
                packed += tl.where(piece2 > floor2, 1 << 16, 0) + tl.where(piece3 > floor3, 1 << 24, 0)
                equal |= tl.where(piece0 == floor0, 1, 0) | tl.where(piece1 == floor1, 2, 0)
                equal |= tl.where(piece2 == floor2, 4, 0) | tl.where(piece3 == floor3, 8, 0)
            tied |= equal << (4 * w)
            tl.store(words + at + w, packed, mask=inside)
        some = (tied != 0) & inside
        place = tl.atomic_add(number + tl.zeros((BLOCKS, REPLICATES), tl.int32), 1, mask=some)
        some = some & (place < most)
        tl.store(ties + place, block[:, None].to(tl.int64) * b + replicate[None, :], mask=some)
        tl.store(ties + most + place, tied.to(tl.int64), mask=some)


@triton.jit(do_not_specialize=["first_block", "first_replicate", "seed0", "seed1"])
def settle(
    steps, labels, ties, number, n, lead, b, over, first_block, first_replicate, most, seed0, seed1,
    M0: tl.constexpr, M1: tl.constexpr, STEP0: tl.constexpr, STEP1: tl.constexpr, PIECES: tl.constexpr,
    RESTS: tl.constexpr, STEPS: tl.constexpr, WIDTH: tl.constexpr,
):  # fmt: skip
    """Draw the labels that were listed again, with the rest of their numbers."""
    entry = tl.program_id(0) * WIDTH + tl.arange(0, WIDTH)
    listed = entry < tl.minimum(tl.load(number), most)
    place = tl.load(ties + entry, mask=listed, other=0)
    tied = tl.load(ties + most + entry, mask=listed, other=0)
    block, replicate = place // b, place % b
    high = (first_replicate + replicate).to(tl.uint64)
    p0, p1, p2, p3 = _words(
        (first_block + block + 1).to(tl.uint64), high, seed0, seed1, PIECES, M0, M1, STEP0, STEP1
    )
    for w in range(4):
        counter = (4 * (first_block + block) + w + 1).to(tl.uint64)
        r0, r1, r2, r3 = _words(counter, high, seed0, seed1, RESTS, M0, M1, STEP0, STEP1)
        for j in range(4):
            again = listed & (((tied >> (4 * w + j)) & 1) == 1)
            row = block * 16 + 4 * w + j - lead
            piece = ((_chosen(p0, p1, p2, p3, w) >> (16 * j)) & 0xFFFF).to(tl.int64)
            rest = (_chosen(r0, r1, r2, r3, j) >> 11).to(tl.float64) * (1.0 / (1 << 53))
            label = tl.zeros((WIDTH,), tl.int32)
            at = steps + row
            for _ in range(STEPS):
                step = tl.load(at, mask=again, other=0.0)
                floor = step.to(tl.int64)
                part = step - floor.to(tl.float64)
                label += ((piece > floor) | ((piece == floor) & (rest >= part))).to(tl.int32)
                at += n
            tl.store(labels + replicate * over + row + lead, label.to(tl.uint8), mask=again)


@triton.jit(do_not_specialize=["first_counter", "first_replicate", "seed0", "seed1"])
def search(
    steps, labels, n, lead, b, first_counter, first_replicate, seed0, seed1,
    M0: tl.constexpr, M1: tl.constexpr, STEP0: tl.constexpr, STEP1: tl.constexpr, STREAM: tl.constexpr,
    LAST: tl.constexpr, BITS: tl.constexpr, COUNTERS: tl.constexpr, REPLICATES: tl.constexpr,
):  # fmt: skip
    """Draw four labels per counter by bisection of the steps, (LAST, n)."""
    replicate = tl.program_id(1) * REPLICATES + tl.arange(0, REPLICATES)
    counter = tl.program_id(0) * COUNTERS + tl.arange(0, COUNTERS)
    zero = tl.zeros((COUNTERS, REPLICATES), tl.uint64)
    low = (first_counter + counter + 1).to(tl.uint64)[:, None] + zero
    high = (first_replicate + replicate).to(tl.uint64)[None, :] + zero
    c0, c1, c2, c3 = _words(low, high, seed0, seed1, STREAM, M0, M1, STEP0, STEP1)
    for w in range(4):
        row = (counter * 4 + w - lead).to(tl.int64)[:, None]
        inside = (row >= 0) & (row < n) & (replicate < b)[None, :]
        uniform = (_chosen(c0, c1, c2, c3, w) >> 11).to(tl.float64) * (1.0 / (1 << 53))
        label = tl.zeros((COUNTERS, REPLICATES), tl.int64)
        for bit in tl.static_range(BITS):
            probe = label + (1 << (BITS - 1 - bit))
            step = tl.load(steps + (probe - 1) * n + row, mask=inside & (probe <= LAST), other=2.0)
            label = tl.where(uniform >= step, probe, label)
        tl.store(labels + replicate[None, :].to(tl.int64) * n + row, label, mask=inside)


@triton.jit
def table_sums(
    table, labels, sums, n, outcomes, b, over, along,
    PART: tl.constexpr, ROWS: tl.constexpr, REPLICATES: tl.constexpr,
):  # fmt: skip
    """Sum table[i, labels[b, i]] over a part of the rows."""
    replicate = tl.program_id(1) * REPLICATES + tl.arange(0, REPLICATES)
    total = tl.zeros((REPLICATES, ROWS), tl.float64)
    for turn in range(PART // ROWS):
        row = tl.program_id(0) * PART + turn * ROWS + tl.arange(0, ROWS)
        inside = (replicate < b)[:, None] & (row < n)[None, :]
        at = replicate[:, None].to(tl.int64) * over + row[None, :].to(tl.int64) * along
        label = tl.load(labels + at, mask=inside, other=0).to(tl.int64)
        total += tl.load(table + row[None, :].to(tl.int64) * outcomes + label, mask=inside, other=0.0)
    tl.store(sums + tl.program_id(0) * b + replicate, tl.sum(total, axis=1), mask=replicate < b)


@triton.jit
def cell_counts(
    labels, cells, events, parts, counts, n, b, columns, n_cells,
    over, along, HAS_CELL: tl.constexpr, HAS_EVENT: tl.constexpr, HAS_PART: tl.constexpr,
    PART: tl.constexpr, ROWS: tl.constexpr, REPLICATES: tl.constexpr, WIDTH: tl.constexpr, MANY: tl.constexpr,
):  # fmt: skip
    """Count labels of a part of the rows per cell, by histograms of several replicates; of many, each."""
    own = tl.arange(0, REPLICATES)
    replicate = tl.program_id(1) * REPLICATES + own
    if not MANY:
        found = tl.zeros((REPLICATES * WIDTH,), tl.int32)
    for turn in range(PART // ROWS):
        row = tl.program_id(0) * PART + turn * ROWS + tl.arange(0, ROWS)
        inside = (replicate < b)[:, None] & (row < n)[None, :]
        at = replicate[:, None].to(tl.int64) * over + row[None, :].to(tl.int64) * along
        label = tl.load(labels + at, mask=inside, other=0).to(tl.int32)
        if HAS_EVENT:
            place = tl.zeros((REPLICATES, ROWS), tl.int32)
            if HAS_CELL:
                place += tl.load(cells + row, mask=row < n, other=0)[None, :]
            inside = inside & (label == tl.load(events + row, mask=row < n, other=-1)[None, :])
        elif HAS_CELL:
            place = tl.load(cells + row[None, :].to(tl.int64) * columns + label, mask=inside, other=0)
            place = place.to(tl.int32)
        else:
            place = label
        if HAS_PART:
            place += tl.load(parts + row, mask=row < n, other=0)[None, :]
        if MANY:
            at = replicate[:, None].to(tl.int64) * WIDTH + place
            tl.atomic_add(counts + at, 1, mask=inside & (place < n_cells))
        else:
            place = tl.where(inside, tl.minimum(place, n_cells), n_cells) + own[:, None] * WIDTH
            found += tl.histogram(tl.reshape(place, (REPLICATES * ROWS,)), REPLICATES * WIDTH)
    if not MANY:
        cell = tl.arange(0, REPLICATES * WIDTH)
        owner = tl.program_id(1) * REPLICATES + cell // WIDTH
        tl.atomic_add(
            counts + owner.to(tl.int64) * WIDTH + cell % WIDTH, found, mask=(owner < b) & (found > 0)
        )
