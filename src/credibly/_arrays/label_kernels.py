"""Labels drawn on a CUDA device, and sums of what labels add, one kernel each.

    drawn         one Philox counter holds the 16-bit pieces of sixteen labels, compared with steps at once
    searched      the same for many classes: the 53 bits of four labels, found among the steps by bisection
    table_sums    sum over rows of table[row, label]
    cell_counts   how many labels fall into every cell

Each does in one look at the labels what a chain of tensor operations does in twenty; the chain stays the
oracle, and the fallback where Triton is missing. Floating-point sums are added in a fixed order; only whole
numbers meet in any.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from credibly._arrays.namespace import Array, is_torch
from credibly._arrays.philox import PHILOX_KEYS, PHILOX_MULTIPLIERS, Uniforms, signed_word

_MOST_CELLS = 2**12  # of a histogram; from there on, labels that meet in one cell are rare
_ROWS = 2**14  # that a program sums up

VECTORS = 32
"""Label vectors that a program draws; other numbers of them leave processors idle."""


@functools.cache
def _triton() -> Any:
    """Return the module with the compiled functions; None where Triton is missing."""
    try:
        from credibly._arrays import triton_code
    except ImportError:
        return None
    return triton_code


def usable(*arrays: Array) -> bool:
    """Tell whether all arrays lie on CUDA without a graph, and kernels for them can be compiled."""
    if isinstance(arrays[0], np.ndarray):
        return False
    there = all(is_torch(array) and array.is_cuda and not array.requires_grad for array in arrays)
    return there and _triton() is not None


def drawn(
    steps: Array, floors: Array, pieces: Uniforms, rests: Uniforms, replicates: slice, first_row: int
) -> Array:
    """Draw labels by counting the steps that uniform numbers have passed.

    Parameters
    ----------
    steps : torch.Tensor of float64 (k - 1, n)
        2^16 P(label <= c), for all classes but the last.
    floors : torch.Tensor of int32 (k - 1, n)
        Their whole parts.
    pieces, rests : Uniforms
        The streams of the first 16 bits, and of what decides where these equal a floor.
    replicates : slice
        Which label vectors.
    first_row : int
        Index of row 0 among all instances.

    Returns
    -------
    torch.Tensor of uint8 (b, n)
        The labels.
    """
    import torch

    (classes, n), b = steps.shape, replicates.stop - replicates.start
    lead, first = first_row % 16, first_row // 16
    blocks = -(-(lead + n) // 16)
    words = torch.empty((b, 4 * blocks), dtype=torch.int32, device=steps.device)
    # a piece equals one of the floors with a probability of at most classes / 2^16: this is never exceeded
    most = int(1.5 * classes * n * b / 2**16) + 2**12
    ties = torch.empty((2, most), dtype=torch.int64, device=steps.device)
    number = torch.zeros(1, dtype=torch.int32, device=steps.device)
    key, (height, width), code = _key(pieces), _shape(b), _triton()
    code.draw[-(-blocks // (4 * height)), -(-b // width)](
        floors, words, ties, number, n, lead, blocks, b, first, replicates.start, most, *key,
        STEPS=classes, BLOCKS=height, REPLICATES=width, TURNS=4,
    )  # fmt: skip
    labels = words.view(torch.uint8)
    code.settle[(-(-most // 128),)](
        steps, labels, ties, number, n, lead, b, labels.stride(0), first, replicates.start, most, *key,
        int(rests.stream), STEPS=classes, WIDTH=128,
    )  # fmt: skip
    return labels[:, lead : lead + n]


def _key(uniforms: Uniforms) -> tuple[int, ...]:
    seed = (signed_word(uniforms.seed[0]), signed_word(uniforms.seed[1]))
    return (*seed, *PHILOX_MULTIPLIERS, *PHILOX_KEYS, int(uniforms.stream))


def _shape(b: int) -> tuple[int, int]:
    """Return for how many counters and label vectors a program draws at a time, powers of two."""
    width = min(VECTORS, 1 << max(0, b - 1).bit_length())
    return 16 * VECTORS // width, width


def searched(steps: Array, rests: Uniforms, replicates: slice, first_row: int, dtype: Any) -> Array:
    """Draw labels (b, n) as `drawn` does, by bisection of P(label <= c), (k - 1, n)."""
    import torch

    (last, n), b = steps.shape, replicates.stop - replicates.start
    labels = torch.empty((b, n), dtype=dtype, device=steps.device)
    lead, (height, width) = first_row % 4, _shape(b)
    _triton().search[-(-(lead + n) // (4 * height)), -(-b // width)](
        steps, labels, n, lead, b, first_row // 4, replicates.start, *_key(rests),
        LAST=last, BITS=last.bit_length(), COUNTERS=height, REPLICATES=width,
    )  # fmt: skip
    return labels


def table_sums(table: Array, labels: Array) -> Array:
    """Sum table[i, labels[b, i]] over rows i, (b,), in double precision and one order."""
    import torch

    (n, outcomes), b = table.shape, labels.shape[0]
    parts = -(-n // _ROWS)
    sums = torch.empty((parts, b), dtype=torch.float64, device=table.device)
    _triton().table_sums[(parts, -(-b // 16))](
        table.contiguous(), labels, sums, n, outcomes, b, labels.stride(0), labels.stride(1),
        PART=_ROWS, ROWS=128, REPLICATES=16,
    )  # fmt: skip
    return sums.sum(dim=0)


def cell_counts(
    labels: Array,
    n_cells: int,
    *,
    cell: Array | None = None,
    event: Array | None = None,
    part: Array | None = None,
) -> Array:
    """Count labels per cell, (b, n_parts * n_cells) of int64.

    Parameters
    ----------
    labels : torch.Tensor (b, n)
        Label vectors.
    n_cells : int
        Number of cells, over all parts.
    cell : torch.Tensor (n,) or (n, k), optional
        Where an event is counted, or the label of every class. Default: the first cell, or that of the class.
    event : torch.Tensor (n,), optional
        The only label that counts.
    part : torch.Tensor (n,), optional
        The first cell of every row's part, which is added to the cell.
    """
    import torch

    b, n = labels.shape
    # one more cell, for what counts nowhere; a power of two
    many = n_cells >= _MOST_CELLS
    width = n_cells if many else max(16, 1 << n_cells.bit_length())
    together = max(1, 128 // width)  # what a histogram costs grows with its width
    counts = torch.zeros((b, width), dtype=torch.int32, device=labels.device)
    grid = (-(-n // _ROWS), -(-b // together))
    nothing = counts  # stands for arrays that are not read
    # a table of labels is read once per label vector: in bytes it takes a quarter of the time
    small = torch.uint8 if n_cells < 2**8 else torch.int32
    cells = nothing if cell is None else cell.to(small).contiguous()
    _triton().cell_counts[grid](
        labels, cells, nothing if event is None else event.to(torch.int32),
        nothing if part is None else part.to(torch.int32).contiguous(), counts, n, b,
        1 if cell is None or cell.ndim == 1 else cell.shape[1], n_cells, labels.stride(0), labels.stride(1),
        HAS_CELL=cell is not None, HAS_EVENT=event is not None, HAS_PART=part is not None,
        PART=_ROWS, ROWS=2**10 if many else max(128, 2**12 // together), REPLICATES=together, WIDTH=width,
        MANY=many,
    )  # fmt: skip
    return counts[:, :n_cells]
