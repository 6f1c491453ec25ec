"""Which array library a value belongs to, where its numbers lie, and how many of them fit.

Moves between library, device and host are visible words. Special functions that the array API standard lacks
are here for NumPy and torch; other libraries go through the host.

Members-first predictions are kept as views (n, m, k); slicing them by instance touches m distant places.
Where rows along the last axis are all that matters, they can be taken in the order of memory instead.

Large work goes in tiles: as many rows as fit a memory budget, with as many BLAS threads as a loop of them may
use.
"""

from __future__ import annotations

import itertools
import math
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

import array_api_compat
import array_api_compat.numpy
import numpy as np
import scipy.special

from credibly._arrays.errors import InputTypeError, is_number, require

Array: TypeAlias = Any
"""An array of any library that follows the array API standard; the standard has no static type yet."""

HostArray: TypeAlias = np.ndarray[Any, Any]
"""A NumPy array."""

Namespace: TypeAlias = Any

_HOST_DEVICES = frozenset({"cpu"})
"""Where NumPy sees a tensor's memory; the tests empty it to run what is written for devices on the host."""


def is_array(value: object) -> bool:
    """Tell whether `value` is an array the library computes with as it is."""
    return isinstance(value, np.ndarray) or bool(array_api_compat.is_array_api_obj(value))


def namespace(*arrays: Array, what: str = "predictions and labels") -> Namespace:
    """Return the one array namespace of `arrays`; mixed libraries or devices are refused.

    `what` names the arrays in the error.
    """
    for array in arrays:
        if not isinstance(array, np.ndarray):
            break
    else:
        return array_api_compat.numpy  # by far the most frequent answer
    present = [array for array in arrays if array is not None]
    libraries = {type(array).__module__.split(".")[0] for array in present}
    if len(libraries) > 1:
        remedy = "Convert one of them, for example with `torch.from_numpy(array)` or `tensor.numpy()`."
        raise _mixed(what, "must come from one array library", libraries, remedy)
    devices = {str(array_api_compat.device(array)) for array in present}
    if len(devices) > 1:
        remedy = "Move one of them, for example with `labels.to(probs.device)`."
        raise _mixed(what, "must be on one device", devices, remedy)
    return array_api_compat.array_namespace(*present)


def _mixed(what: str, rule: str, names: set[str], remedy: str) -> InputTypeError:
    return InputTypeError(what, rule, f"got {' and '.join(sorted(names))}", remedy)


def device(array: Array) -> Any:
    """Return the device `array` lives on."""
    return "cpu" if isinstance(array, np.ndarray) else array_api_compat.device(array)


def is_numpy(array: Array) -> bool:
    """Tell whether the NumPy fast paths apply."""
    return isinstance(array, np.ndarray)


def is_torch(array: Array) -> bool:
    """Tell whether `array` is a torch tensor, without importing torch."""
    return not isinstance(array, np.ndarray) and bool(array_api_compat.is_torch_array(array))


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


def beside(array: Array, value: Any, reference: Array, what: str = "predictions and labels") -> Array:
    """Bring what came as a plain sequence, `value`, to `reference`; arrays of another library are refused."""
    if not hasattr(value, "dtype") and not hasattr(value, "to_numpy"):
        return like(array, reference)
    namespace(reference, array, what=what)
    return array


def like(values: Any, reference: Array, dtype: Any = None) -> Array:
    """Bring host values into the library and onto the device of `reference`."""
    if isinstance(reference, np.ndarray):
        return np.asarray(values, dtype=dtype)
    xp = array_api_compat.array_namespace(reference)
    if isinstance(values, np.ndarray) and not values.flags.writeable and is_torch(reference):
        values = values.copy()  # torch warns about tensors over read-only memory
    return xp.asarray(values, dtype=dtype, device=array_api_compat.device(reference))


def as_float64(array: Array) -> Array:
    """Return `array` in double precision, itself if it already is."""
    if isinstance(array, np.ndarray):
        return array if array.dtype == np.float64 else array.astype(np.float64)
    xp = array_api_compat.array_namespace(array)
    return array if array.dtype == xp.float64 else xp.astype(array, xp.float64)


def _dispatch(name: str) -> Callable[..., Array]:
    on_host = getattr(scipy.special, name)

    def function(*arrays: Array) -> Array:
        first = arrays[0]
        if is_numpy(first):
            return on_host(*arrays)
        if is_torch(first):
            import torch

            return getattr(torch.special, name)(*arrays)
        return like(on_host(*(to_host(array) for array in arrays)), first)

    function.__name__ = name
    function.__doc__ = f"``scipy.special.{name}`` for arrays of any supported library."
    return function


def row_sums(values: Array) -> Array:
    """Sum over the last axis; NumPy's ufunc takes half the time of its function for short rows."""
    return np.add.reduce(values, axis=-1) if is_numpy(values) else namespace(values).sum(values, axis=-1)


def clip(values: Array, low: float | Array | None, high: float | Array | None = None) -> Array:
    """Return values between `low` and `high`; NumPy's own function takes a tenth of the standard's time."""
    return np.clip(values, low, high) if is_numpy(values) else namespace(values).clip(values, low, high)


gammaln = _dispatch("gammaln")
digamma = _dispatch("digamma")
xlogy = _dispatch("xlogy")
ndtr = _dispatch("ndtr")
ndtri = _dispatch("ndtri")


def logsumexp(values: Array, axis: int = -1) -> Array:
    """Log sum exp along `axis`, shifted by the maximum; -inf rows stay -inf."""
    xp = namespace(values)
    top = xp.max(values, axis=axis, keepdims=True)
    shift = xp.where(xp.isfinite(top), top, xp.zeros_like(top))
    total = xp.sum(xp.exp(values - shift), axis=axis, keepdims=True)
    positive = total > 0
    log = xp.log(xp.where(positive, total, xp.ones_like(total))) + shift
    return xp.squeeze(xp.where(positive, log, top), axis=axis)


def softmax(values: Array) -> Array:
    """exp(z) / sum exp(z) along the last axis, shifted by the maximum."""
    xp = namespace(values)
    top = xp.max(values, axis=-1, keepdims=True)
    # Halves cannot overflow where the difference of huge logits would; exp(-800) is 0 in every precision.
    weights = xp.exp(2.0 * clip(values / 2.0 - top / 2.0, -400.0, 0.0))
    return weights / xp.sum(weights, axis=-1, keepdims=True)


_LEAST_POSITIVE = 1e-300


def rows_in_memory(array: Array) -> list[Array] | None:
    """Return the rows of a NumPy array as views (r, k) in the order of memory; None where there are none.

    One view holds all rows; of a slice of members-first predictions there is one for every member.
    """
    if not is_numpy(array) or array.ndim < 2:
        return None
    axes = _memory_axes(array)
    ordered = array.transpose(*axes, array.ndim - 1)
    if ordered.flags.c_contiguous:
        return [ordered.reshape(-1, array.shape[-1])]
    if axes == [1, 0] and ordered[0].flags.c_contiguous:
        return list(ordered)
    return None


def _memory_axes(array: Array) -> list[int]:
    """Return the axes but the last, the one with the longest steps first."""
    return sorted(range(array.ndim - 1), key=lambda axis: -array.strides[axis])


def summary_of_rows(array: Array) -> tuple[float, float] | None:
    """Return smallest entry and largest |row sum - 1| in one pass; None where it takes a closer look."""
    views = rows_in_memory(array)
    if views is None or array.dtype not in (np.float32, np.float64):
        return None
    ones = np.ones(array.shape[-1])
    rows_of_tile = CACHE_ELEMENTS // len(ones)
    lowest, worst = np.inf, 0.0
    with np.errstate(invalid="ignore"):
        for rows in views:
            for tile in tiles(len(rows), rows_of_tile):
                sums = as_float64(rows[tile]) @ ones
                off = max(float(sums.max()) - 1.0, 1.0 - float(sums.min()))
                if not math.isfinite(off):  # as is every row with an entry that is not finite
                    return None
                lowest, worst = min(lowest, float(rows[tile].min())), max(worst, off)
    return lowest, worst


def entropy_of_rows(probs: Array) -> Array:
    """Return -sum p log p along the last axis in double precision, 0 log 0 = 0."""
    views = rows_in_memory(probs)
    if views is None:
        wide = as_float64(probs)
        return 0.0 - namespace(wide).sum(xlogy(wide, wide), axis=-1)
    axes, ones = _memory_axes(probs), np.ones(probs.shape[-1])
    entropies = np.empty([probs.shape[axis] for axis in axes])
    rows_of_tile = _rows_of_tile(len(ones))
    wide, terms = np.empty((2, rows_of_tile, len(ones)))
    for rows, out in zip(views, entropies.reshape(len(views), -1), strict=True):
        for tile in tiles(len(rows), rows_of_tile):
            probs_of_tile, log = wide[: tile.stop - tile.start], terms[: tile.stop - tile.start]
            probs_of_tile[...] = rows[tile]
            np.add(
                probs_of_tile, _LEAST_POSITIVE, out=log
            )  # changes no bit of what matters, and log 0 is not asked for
            np.log(log, out=log)
            np.matmul(np.multiply(log, probs_of_tile, out=log), ones, out=out[tile])
    return np.transpose(np.subtract(0.0, entropies, out=entropies), np.argsort(axes))


def mean_entropy_of_members(probs: Array) -> Array:
    """Average the entropies of (n, m, k) over the members, (n,), in double precision."""
    n, m, k = probs.shape
    if is_numpy(probs) and probs.flags.c_contiguous:
        return entropy_of_rows(probs.reshape(n, m * k)) / m
    return namespace(probs).mean(entropy_of_rows(probs), axis=1)


def mean_of_members(values: Array) -> Array:
    """Average (n, m, ...) over the members in double precision, a tile of instances at a time."""
    m = values.shape[1]
    if m == 1:
        return as_float64(values[:, 0, ...])
    if not is_numpy(values):
        return without_rounding(namespace(values).sum(as_float64(values), axis=1), m, divisor=m)
    n, rest = len(values), values.shape[2:]
    total, rows_of_tile = np.empty((n, *rest)), _rows_of_tile(math.prod(rest))
    buffer = np.empty((2, rows_of_tile, *rest))
    for tile in tiles(n, rows_of_tile):
        mean, (wide, spare) = total[tile], buffer[:, : tile.stop - tile.start]
        mean[...] = values[tile, 0]
        for member in range(1, m):
            wide[...] = values[tile, member]  # a cast and an addition are faster than both at once
            mean += wide
        # as `without_rounding`, in arrays that stay in the cache
        mean *= _DENOMINATOR
        np.multiply(mean, _SPLITTER, out=wide)
        np.subtract(wide, mean, out=spare)
        np.subtract(wide, spare, out=wide)
        np.subtract(wide, mean, out=spare)
        np.abs(spare, out=spare)
        spare *= 1.0 / _rounding(m)
        np.copyto(mean, wide, where=spare <= np.abs(mean))
        mean /= _DENOMINATOR * m
    return total


_DENOMINATOR = 3**2 * 5**6 * 7 * 11 * 13
_SPLITTER = 2.0**13 + 1.0


def without_rounding(sums: Array, terms: int, *, divisor: int = 1) -> Array:
    """Return sums of so many terms over a divisor; those equal in exact arithmetic are the same number.

    The last bits of a sum depend on the order of its terms, and would decide ties and bin edges. A sum within
    its rounding error of a fraction with few digits becomes the number nearest to that fraction, others stay.
    Fractions are those of 40 significant bits after multiplication by 3^2 5^6 7 11 13: decimals of six digits
    (of fewer in sums above 100), multiples of 1/2 to 1/16 and their products.
    """
    xp = namespace(sums)
    scaled = sums * _DENOMINATOR
    over = scaled * _SPLITTER
    short = over - (over - scaled)  # Veltkamp's splitting; its derivative is 1
    near = xp.abs(short - scaled) * (1.0 / _rounding(terms)) <= xp.abs(scaled)
    return xp.where(near, short, scaled) / (_DENOMINATOR * divisor)


def _rounding(terms: int) -> float:
    """Return the relative error of a sum of rounded numbers: its bound if they are fewer than a thousand."""
    return min(terms + 2, 2**10) * 2.0**-52


def _rows_of_tile(elements: int) -> int:
    """Return how many rows of so many elements make a tile; three copies of it stay in cache."""
    return max(1, CACHE_ELEMENTS // 2 // max(1, elements))


_MIB = 2**20
_budget: ContextVar[int | None] = ContextVar("credibly_memory_budget", default=None)

_CONTAINER_LIMIT = Path("/sys/fs/cgroup/memory.max")
_UNKNOWN_MEMORY = 8 * 2**30  # on a system that does not tell
_SHARE_OF_MEMORY, _LARGEST_BUDGET = 16, 4 * 2**30

CACHE_ELEMENTS = 2**15
"""Doubles that stay in a core's cache; elementwise chains are fastest on tiles of this size."""


@cache
def machine_memory() -> int:
    """Return the bytes of memory that this machine has, or that a container may use of it."""
    try:
        physical = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):  # not offered on this system
        return _UNKNOWN_MEMORY
    try:
        return min(physical, int(_CONTAINER_LIMIT.read_text()))
    except (OSError, ValueError):  # no container, or one without a limit: "max"
        return physical


def memory_budget(array: Array | None = None) -> int:
    """Return the bytes one computation may use for temporaries.

    Default: on the host a sixteenth of the machine's memory, at most 4 GiB; a quarter of the free memory of
    the CUDA device that `array` lies on.
    """
    limit = _budget.get()
    if limit is None and array is not None and is_torch(array) and array.is_cuda:
        import torch

        unused = torch.cuda.memory_reserved(array.device) - torch.cuda.memory_allocated(array.device)
        return int(torch.cuda.mem_get_info(array.device)[0] + unused) // 4
    return min(machine_memory() // _SHARE_OF_MEMORY, _LARGEST_BUDGET) if limit is None else limit


@contextmanager
def memory_limit(n_bytes: int) -> Iterator[None]:
    """Set the memory budget inside a ``with`` block.

    Parameters
    ----------
    n_bytes : int
        Bytes for temporaries, at least one MiB. Default: a sixteenth of the memory of the machine or its
        container (512 MiB of 8 GiB), at most 4 GiB; a quarter of the free memory of the CUDA device that
        predictions lie on.

    Yields
    ------
    None
        Computations inside the block keep to the budget.

    Examples
    --------
    >>> import credibly as cr
    >>> with cr.memory_limit(64 * 2**20):
    ...     pass
    """
    require(
        is_number(n_bytes) and _MIB <= n_bytes < math.inf,
        "must be at least 1 MiB (1048576)",
        "Write 64 * 2**20 for 64 MiB.",
        n_bytes=n_bytes,
    )
    token = _budget.set(int(n_bytes))
    try:
        yield
    finally:
        _budget.reset(token)


_KEPT_BYTES = 2**25 - 2**15


def keep_freed_memory() -> None:
    """Let the C library keep the memory of freed arrays below 32 MiB for the next ones.

    It hands back what is larger than twice the largest array it saw freed, and the system then clears every
    page again when it is next used: up to half of the time of a loop over tiles. This array is never touched.
    """
    np.empty(_KEPT_BYTES, dtype=np.uint8)


def tiles(length: int, size: int) -> Iterator[slice]:
    """Cut ``range(length)`` into consecutive slices of at most `size`."""
    step = max(1, size)
    for start in range(0, length, step):
        yield slice(start, min(start + step, length))


def concatenated(parts: Iterable[Array], n: int) -> Array:
    """Return parts one below the other, n rows in all; on the host, parts are copied one at a time."""
    rest = iter(parts)
    first = next(rest)
    if not is_numpy(first):
        return namespace(first).concat([first, *rest], axis=0)
    whole, begin = np.empty((n, *first.shape[1:]), dtype=first.dtype), 0
    for part in itertools.chain([first], rest):
        whole[begin : begin + len(part)] = part
        begin += len(part)
    return whole


def rows_within_budget(bytes_per_row: int, share: float = 1.0, array: Array | None = None) -> int:
    """Return how many rows of a given size fit `share` of the memory budget (of `array`), at least one."""
    return max(1, int(memory_budget(array) * share) // max(1, bytes_per_row))


def put_back(some: Array, mask: Array, axis: int = 0) -> Array:
    """Return entries of those that `mask` holds at their places among all, (n,); elsewhere any of them.

    No array is written to, so gradients pass.
    """
    xp = namespace(some)
    place = xp.cumulative_sum(xp.astype(mask, xp.int64)) - 1
    return xp.take(some, clip(place, 0), axis=axis)


def one_blas_thread() -> AbstractContextManager[object]:
    """Limit BLAS to one thread inside a ``with`` block."""
    limits: AbstractContextManager[object] = _blas_controller().limit(limits=1, user_api="blas")
    return limits


@cache
def _blas_controller() -> Any:
    """Return the loaded BLAS libraries; looking for them costs more than a small test, so it is done once."""
    import threadpoolctl

    return threadpoolctl.ThreadpoolController()
