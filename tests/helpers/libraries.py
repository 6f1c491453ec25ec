"""The array libraries the tests run on: how to make arrays in each, and how to read them back."""

from __future__ import annotations

import dataclasses
from typing import Any

import array_api_strict
import numpy as np


@dataclasses.dataclass(frozen=True)
class Library:
    """One array library on one device."""

    name: str
    xp: Any
    device: Any = None

    def asarray(self, values: Any, dtype: str | None = None) -> Any:
        """Return values as an array of this library, on its device."""
        host = np.array(values, dtype=dtype)
        return self.xp.asarray(host) if self.device is None else self.xp.asarray(host, device=self.device)

    def owns(self, array: Any) -> bool:
        """Tell whether an array belongs to this library and lives on its device."""
        same = type(array) is type(self.asarray([0.0]))
        return same and (self.device is None or array.device == self.device)


def read(array: Any) -> np.ndarray:
    """Return the numbers of an array of any library, without the package's own conversions."""
    if isinstance(array, np.ndarray):
        return array
    if hasattr(array, "detach"):
        return array.detach().cpu().numpy()
    return np.asarray(array.to_device(array_api_strict.Device("CPU_DEVICE")))
