"""What is drawn: results of the right kind, and arrays of any library as NumPy arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from credibly._arrays.errors import InputError, InputTypeError
from credibly._arrays.namespace import HostArray, to_host


def host_vector(values: Any, name: str, axes: int = 1) -> HostArray:
    """Return one array on the host, for drawing."""
    array = np.asarray(to_host(values) if hasattr(values, "shape") else values, dtype=np.float64)
    if array.ndim != axes or 0 in array.shape:
        raise InputError(
            f"`{name}`",
            f"must have {axes} axis" if axes == 1 else f"must have {axes} axes",
            f"got shape {array.shape}",
            "Give one value per instance." if axes == 1 else "Give one row per sample.",
        )
    return array


def require_kind(value: object, kind: type, name: str, remedy: str) -> None:
    """Raise unless `value` is the result that the picture is about."""
    if not isinstance(value, kind):
        raise InputTypeError(
            f"`{name}`", f"must be of type `{kind.__name__}`", f"got {type(value).__name__}", remedy
        )
