"""Which array library a value belongs to, and the visible moves between library, device and host."""

from __future__ import annotations

from typing import Any, TypeAlias

import array_api_compat
import array_api_compat.numpy
import numpy as np

from credibly._arrays.errors import InputTypeError

Array: TypeAlias = Any
"""An array of any library that follows the array API standard; the standard has no static type yet."""

HostArray: TypeAlias = np.ndarray[Any, Any]
"""A NumPy array."""

Namespace: TypeAlias = Any

_HOST_DEVICES = frozenset({"cpu"})
"""Where NumPy sees a tensor's memory; the tests empty it to run what is written for devices on the host."""


def is_array(value: object) -> bool:
    """Tell whether `value` is an array the library computes with as it is."""
    return bool(array_api_compat.is_array_api_obj(value))


def namespace(*arrays: Array, what: str = "predictions and labels") -> Namespace:
    """Return the one array namespace of `arrays`; mixed libraries or devices are refused.

    `what` names the arrays in the error.
    """
    if all(isinstance(array, np.ndarray) for array in arrays):
        return array_api_compat.numpy  # by far the most frequent answer
    present = [array for array in arrays if array is not None]
    libraries = sorted({type(array).__module__.split(".")[0] for array in present})
    if len(libraries) > 1:
        raise InputTypeError(
            what,
            "must come from one array library",
            f"got {' and '.join(libraries)}",
            "Convert one of them, for example with `torch.from_numpy(array)` or `tensor.numpy()`.",
        )
    devices = sorted({str(array_api_compat.device(array)) for array in present})
    if len(devices) > 1:
        raise InputTypeError(
            what,
            "must be on one device",
            f"got {' and '.join(devices)}",
            "Move one of them, for example with `labels.to(probs.device)`.",
        )
    return array_api_compat.array_namespace(*present)


def device(array: Array) -> Any:
    """Return the device `array` lives on."""
    return array_api_compat.device(array)


def is_numpy(array: Array) -> bool:
    """Tell whether the NumPy fast paths apply."""
    return isinstance(array, np.ndarray)


def is_torch(array: Array) -> bool:
    """Tell whether `array` is a torch tensor, without importing torch."""
    return bool(array_api_compat.is_torch_array(array))


def on_accelerator(array: Array) -> bool:
    """Tell whether `array` is a torch tensor that the host's own loops cannot reach, such as one on CUDA."""
    return is_torch(array) and array.device.type not in _HOST_DEVICES


def to_host(array: Array) -> np.ndarray[Any, np.dtype[Any]]:
    """Leave library, device and graph: a NumPy array with the same numbers."""
    if isinstance(array, np.ndarray):
        return array
    if is_torch(array):
        if str(array.dtype) == "torch.bfloat16":
            array = array.float()  # every bfloat16 is a float32; NumPy has no such type
        return np.asarray(array.detach().cpu().numpy())
    xp = array_api_compat.array_namespace(array)
    home = xp.__array_namespace_info__().default_device()
    return np.asarray(array_api_compat.to_device(array, home))


def moved(array: Array, where: Any) -> Array:
    """Return a copy of `array` on a device; NumPy arrays become tensors of torch."""
    if is_numpy(array):
        import torch

        return torch.tensor(array, device=where)
    return array_api_compat.to_device(array, where)


def beside(array: Array, given: Any, reference: Array, what: str = "predictions and labels") -> Array:
    """Bring what was `given` as a plain sequence to `reference`; arrays of another library are refused."""
    if not hasattr(given, "dtype") and not hasattr(given, "to_numpy"):
        return like(array, reference)
    namespace(reference, array, what=what)
    return array


def like(values: Any, reference: Array, dtype: Any = None) -> Array:
    """Bring host values into the library and onto the device of `reference`."""
    xp = array_api_compat.array_namespace(reference)
    if isinstance(values, np.ndarray) and not values.flags.writeable and is_torch(reference):
        values = values.copy()  # torch warns about tensors over read-only memory
    return xp.asarray(values, dtype=dtype, device=array_api_compat.device(reference))


def as_float64(array: Array) -> Array:
    """Return `array` in double precision, itself if it already is."""
    xp = array_api_compat.array_namespace(array)
    return array if array.dtype == xp.float64 else xp.astype(array, xp.float64)
