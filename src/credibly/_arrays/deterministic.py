"""The same bits in every run, on a device too.

On the host every sum has one order already. On CUDA the library's own sums are products with indicators,
counts of whole numbers and sorted sums, so they repeat as well; what is left are torch's switches.
`deterministic` sets them, and torch then refuses any operation without a fixed order instead of running it.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterator
from contextlib import contextmanager

_WORKSPACE = "CUBLAS_WORKSPACE_CONFIG"
_FIXED_WORKSPACE = ":4096:8"


@contextmanager
def deterministic() -> Iterator[None]:
    """Make results on a device the same bits in every run, inside a ``with`` block.

    Yields
    ------
    None
        Inside the block torch sums in a fixed order, or raises an error.

    Notes
    -----
    Sets ``torch.set_deterministic_debug_mode("error")`` and cuBLAS's workspace, and puts both back after the
    block; an operation of a user's statistic that has no fixed order raises torch's RuntimeError. cuBLAS
    reads its workspace when it is first used: open the block before the first product on the device, or set
    ``CUBLAS_WORKSPACE_CONFIG=:4096:8`` before Python starts. The result still depends on the number of
    threads on a host, the device and the version of torch; NumPy arrays need no such block.

    Examples
    --------
    >>> import credibly as cr
    >>> with cr.deterministic():
    ...     value = float(cr.brier([[0.8, 0.2]], [0]))
    >>> round(value, 12)
    0.08
    """
    workspace = os.environ.get(_WORKSPACE)
    if workspace is None:
        os.environ[_WORKSPACE] = _FIXED_WORKSPACE
    try:
        if importlib.util.find_spec("torch") is None:
            yield
            return
        import torch

        before = torch.get_deterministic_debug_mode()
        torch.set_deterministic_debug_mode("error")  # as use_deterministic_algorithms, without its imports
        try:
            yield
        finally:
            torch.set_deterministic_debug_mode(before)
    finally:
        if workspace is None:
            os.environ.pop(_WORKSPACE, None)
