"""Results of rows in chunks and of all rows at once, compared number by number."""

from __future__ import annotations

import math
from typing import Any

ROUNDING = 1e-12
"""Relative, and of differences of sums that nearly cancel absolute: the sums are of order one."""


def differences(first: Any, second: Any, where: str = "") -> list[str]:
    """List where two results in JSON-safe types differ: text and p-values at all, numbers beyond rounding.

    How they were asked for, `source.call`, may differ.
    """
    if where == ".source.call":
        return []
    if isinstance(first, dict) and isinstance(second, dict):
        if first.keys() != second.keys():
            return [f"{where}: {sorted(first.keys() ^ second.keys())}"]
        return [
            difference
            for key in first
            for difference in differences(first[key], second[key], f"{where}.{key}")
        ]
    if isinstance(first, list | tuple) and isinstance(second, list | tuple):
        if len(first) != len(second):
            return [f"{where}: lengths {len(first)} and {len(second)}"]
        pairs = zip(first, second, strict=True)
        return [
            difference for at, pair in enumerate(pairs) for difference in differences(*pair, f"{where}[{at}]")
        ]
    if isinstance(first, float) and isinstance(second, float) and "pvalue" not in where:
        if math.isclose(first, second, rel_tol=ROUNDING, abs_tol=ROUNDING) or (
            first != first and second != second
        ):
            return []
        return [f"{where}: {first!r} and {second!r}"]
    return [] if first == second else [f"{where}: {first!r} and {second!r}"]
