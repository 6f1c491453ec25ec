"""Input checks shared by all prediction types: every offending row is found and counted, the first shown."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from credibly._arrays.errors import InputError, InputTypeError, is_number, is_whole, require
from credibly._arrays.namespace import (
    Array,
    HostArray,
    as_float64,
    is_array,
    is_numpy,
    is_torch,
    namespace,
    summary_of_rows,
    tiles,
    to_host,
)
from credibly._arrays.notes import Note

NOISE = 1e-6
"""Row sums and bounds may be off by this much before it is an error; the prediction notes it."""

NAMED_ROWS = 5
"""Rows that an error names; `InvalidRowsError.rows` holds all of them."""

_CHECK_ELEMENTS = 2**20


def require_one_each(shape: tuple[int, ...], n: int, what: str, each: str = "entry per prediction") -> None:
    """Raise in the name of `what` unless its `shape` means one entry for each of `n`."""
    if tuple(shape) != (n,):
        raise InputError(
            what,
            f"must have one {each} ({n})",
            f"got shape {tuple(shape)}",
            "Check that both come from the same split.",
        )


def missing_entries(values: HostArray, *, blank: bool = False) -> HostArray:
    """Tell which entries are None, NaN, NaT or pandas.NA; with `blank` also empty text, as in a csv file."""
    if values.dtype.kind in "SU":
        return np.asarray((np.strings.str_len(values) == 0) & blank)
    if values.dtype.kind != "O":
        return np.asarray(values != values)
    every = values.ravel().tolist()
    missing = [entry is None or _differs(entry) or (blank and _is_blank(entry)) for entry in every]
    return np.array(missing, dtype=bool).reshape(values.shape)


def _differs(entry: Any) -> bool:
    """Tell whether an entry differs from itself, as NaN does."""
    try:
        return bool(entry != entry)
    except TypeError:  # pandas.NA refuses to be true or false
        return True
    except (ValueError, RuntimeError):  # arrays and tensors do, which are refused elsewhere
        return False


def _is_blank(entry: Any) -> bool:
    return isinstance(entry, (str, bytes)) and not entry


def read_sequence(
    value: Any,
    name: str,
    ragged: tuple[str, str],
    refused: tuple[str, str],
    read: Callable[[Any], HostArray] = np.asanyarray,
) -> HostArray:
    """Return what `read` makes of a sequence; rule and remedy of rows of several lengths, and of no array."""
    try:
        return read(value)
    except ValueError:
        raise InputTypeError(f"`{name}`", ragged[0], "got a ragged sequence", ragged[1]) from None
    except (TypeError, RuntimeError) as error:  # objects and sparse tensors may refuse
        got = f"got {_kind(value)}, which is no array ({error})"
        raise InputTypeError(f"`{name}`", refused[0], got, refused[1]) from None


def _kind(value: Any) -> str:
    return f"the class {value.__name__}" if isinstance(value, type) else type(value).__name__


def as_array(value: Any, name: str, remedy: str = "") -> Array:
    """Return `value` as an array of numbers; lists become NumPy arrays, anything but numbers is refused.

    `remedy` is what to do about values that are not numbers.
    """
    if type(value) is np.ndarray and value.dtype.kind in "fiub":
        return value
    kind = _kind(value)
    if is_torch(value):
        return _dense(value, name)
    if hasattr(value, "__dask_graph__"):
        raise InputTypeError(
            f"`{name}`",
            "must be in memory here",
            f"got {kind} of Dask",
            "Pass `scan(predictions, labels)` in place of both, or call `.compute()` first.",
        )
    if not is_array(value) or isinstance(value, np.generic):
        if hasattr(value, "to_numpy"):  # pandas, polars, xarray
            value = value.to_numpy()
        value = read_sequence(
            value,
            name,
            ragged=("must be a rectangular array of numbers", "Give every row the same length."),
            refused=("must hold numbers", remedy),
        )
    if not is_numpy(value):
        return value
    if value.dtype.kind not in "fiub":
        raise InputTypeError(
            f"`{name}`",
            "must hold numbers",
            f"got {kind}" + (f" with dtype {value.dtype}" if value.ndim else ""),
            remedy or "Convert with `numpy.asarray(values, dtype=float)` and look at what fails.",
        )
    return _plain(value, name)


def _plain(array: Array, name: str) -> Array:
    """Drop subclasses that compute differently (masked arrays, matrices); memory maps stay what they are."""
    if np.ma.is_masked(array):
        require_rows(
            (np.ma.getmaskarray(array),),
            lambda masked: masked,
            name=name,
            rule="must not be masked",
            fact=lambda _: "has masked entries",
            remedy="Select the valid instances of predictions and labels first.",
        )
    return array if type(array) in (np.ndarray, np.memmap) else np.asarray(array)


def _dense(tensor: Array, name: str) -> Array:
    """Return a torch tensor that holds its numbers one by one; others are refused."""
    if str(tensor.layout) != "torch.strided" or tensor.device.type == "meta":
        raise InputTypeError(
            f"`{name}`",
            "must be a dense tensor with values",
            f"got layout {tensor.layout} on device {tensor.device}",
            "Convert with `tensor.to_dense()`, or compute the tensor on a real device.",
        )
    return tensor


def as_real(value: Any, name: str, *shapes: str) -> Array:
    """Return `value` as a floating array of one of the shapes, if any are named; integers become numbers."""
    array = as_array(value, name)
    if shapes:
        require_shape(array, name, *shapes)
    xp = namespace(array)
    if array.dtype.kind == "f" if is_numpy(array) else xp.isdtype(array.dtype, "real floating"):
        return array
    if xp.isdtype(array.dtype, "complex floating"):
        raise InputTypeError(
            f"`{name}`", "must be real", f"got dtype {array.dtype}", "Take the real part first."
        )
    return xp.astype(array, xp.float64)


def as_two_reals(first: Any, second: Any, names: tuple[str, str], *shapes: str) -> tuple[Array, Array]:
    """Return two floating arrays of one library, device and shape, which is one of the shapes."""
    first, second = as_real(first, names[0]), as_real(second, names[1])
    what = f"`{names[0]}` and `{names[1]}`"
    namespace(first, second, what=what)
    require_shape(first, names[0], *shapes)
    if tuple(first.shape) != tuple(second.shape):
        raise InputError(
            what,
            "must have the same shape",
            f"got {tuple(first.shape)} and {tuple(second.shape)}",
            "Check that both describe the same instances.",
        )
    return first, second


def require_shape(array: Array, name: str, *shapes: str) -> None:
    """Raise unless `array` has as many axes as one of the shapes, written ``"(n, k)"``, and no empty axis.

    The letter k stands for classes, of which there must be at least two.
    """
    require(
        any(array.ndim == shape.count(",") + (not shape.endswith(",)")) for shape in shapes),
        f"must have shape {' or '.join(shapes)}",
        "Add or drop axes so that the instances come first.",
        **{name: array},
    )
    require(
        0 not in array.shape,
        f"must have shape {' or '.join(shapes)} with at least one instance",
        "Check the filter that selected these rows.",
        **{name: array},
    )
    require(
        not shapes[-1].endswith("k)") or array.shape[-1] > 1,
        "must have at least 2 classes on its last axis",
        "For a binary model give both columns: `numpy.stack([1 - p, p], axis=-1)`.",
        **{name: array},
    )


def require_integer(value: Any, name: str, least: int) -> int:
    """Return `value` as an int of at least `least`; fractions, booleans and strings are refused."""
    require(
        is_whole(value) and value >= least,
        f"must be an integer of at least {least}",
        f"Try {least}.",
        **{name: value},
    )
    return int(value)


def require_positive_number(value: Any, name: str, remedy: str) -> None:
    """Raise unless `value` is a positive finite number."""
    require(is_number(value) and 0 < value < math.inf, "must be a positive number", remedy, **{name: value})


def require_below_one(value: Any, name: str, remedy: str) -> None:
    """Raise unless an argument is a number of at least 0 and below 1."""
    good = is_number(value) and 0 <= value < 1
    require(good, "must be at least 0 and below 1", remedy, **{name: value})


def row_tiles(array: Array) -> Iterable[tuple[int, Array]]:
    """Yield (first row, some rows): bounded memory on the host, so memory maps are read once."""
    if not is_numpy(array):
        yield 0, array
        return
    per_row = int(np.prod(array.shape[1:], dtype=np.int64)) or 1
    for rows in tiles(array.shape[0], _CHECK_ELEMENTS // per_row):
        yield rows.start, array[rows]


def find_rows(arrays: tuple[Array, ...], bad: Callable[..., Array]) -> list[int]:
    """Return the indices of all rows for which `bad(*tiles)` is true of any entry."""
    rows_found: list[int] = []
    for tiles_of_arrays in zip(*map(row_tiles, arrays), strict=True):
        start = tiles_of_arrays[0][0]
        mask = bad(*(tile for _, tile in tiles_of_arrays))
        xp = namespace(mask)
        if mask.ndim > 1:
            mask = xp.any(mask, axis=tuple(range(1, mask.ndim)))
        if bool(xp.any(mask)):
            rows_found.extend((np.flatnonzero(to_host(mask)) + start).tolist())
    return rows_found


def describe_rows(rows: list[int], fact: str, total: int) -> str:
    """Write 'row 44 <fact> (24 of 10000 rows do this)', the evidence of an error about rows."""
    if len(rows) == 1:
        return f"row {rows[0]} {fact} (1 of {total} rows)"
    listed = ", ".join(str(row) for row in rows[:NAMED_ROWS]) + (", ..." if len(rows) > NAMED_ROWS else "")
    return f"row {rows[0]} {fact} ({len(rows)} of {total} rows: {listed})"


def require_finite(array: Array, name: str) -> None:
    """Raise with the first NaN or infinite row."""
    if is_numpy(array) and array.size <= _CHECK_ELEMENTS and np.isfinite(array).all():
        return  # most calls end here
    require_rows(
        (array,),
        lambda rows: ~namespace(rows).isfinite(rows),
        name=name,
        rule="must be finite",
        remedy="Drop or repair these rows.",
    )


class InvalidRowsError(InputError):
    """Some rows of the input break a rule; `.rows` lists all of them."""

    def __init__(
        self,
        subject: str,
        rule: str,
        evidence: str,
        remedy: str,
        rows: list[int],
        *,
        argument: str | None = None,
    ) -> None:
        super().__init__(subject, rule, evidence, remedy, argument=argument)
        self.rows = rows

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.subject, self.rule, self.evidence, self.remedy, self.rows), self.__dict__


def require_rows(
    arrays: tuple[Array, ...],
    bad: Callable[..., Array],
    *,
    name: str,
    rule: str,
    remedy: str | Callable[[Array], str],
    fact: Callable[..., str] | None = None,
) -> None:
    """Raise `InvalidRowsError` if `bad` finds rows.

    `fact` words the first one from its host values; by default it shows the first bad entry. A `remedy` that
    depends on the numbers is a function of the array.
    """
    rows = find_rows(arrays, bad)
    if not rows:
        return
    first = slice(rows[0], rows[0] + 1)
    if fact is None:
        row = to_host(arrays[0][first, ...])
        wrong = to_host(bad(*(array[first, ...] for array in arrays)))
        shown = f"holds {float(row[np.broadcast_to(wrong, row.shape)][0]):.6g}"
    else:
        shown = fact(*(to_host(array[rows[0], ...]) for array in arrays))
    advice = remedy(arrays[0]) if callable(remedy) else remedy
    evidence = describe_rows(rows, shown, arrays[0].shape[0])
    raise InvalidRowsError(f"`{name}`", rule, evidence, advice, rows)


def require_positive_entries(array: Array, name: str, remedy: str, *, or_zero: bool = False) -> None:
    """Raise unless all entries are finite and positive, or zero where that is allowed."""
    require_finite(array, name)
    require_rows(
        (array,),
        lambda rows: rows < 0 if or_zero else rows <= 0,
        name=name,
        rule="must not be negative" if or_zero else "must be positive",
        remedy=remedy,
    )


def require_shares(array: Array, name: str, remedy: str) -> None:
    """Raise unless all entries are finite and between 0 and 1, up to NOISE."""
    require_finite(array, name)
    require_rows(
        (array,),
        lambda rows: (rows < -NOISE) | (rows > 1 + NOISE),
        name=name,
        rule="must lie between 0 and 1",
        fact=lambda row: f"ranges from {row.min():.6g} to {row.max():.6g}",
        remedy=remedy,
    )


def sum_tolerance(array: Array) -> float:
    """Return how far a row sum may be off: NOISE, and what rounding in the stored dtype explains.

    Half precision never explains more than 1 %: without the cap 1000 classes in bfloat16 could sum to 2.
    """
    return NOISE * (1 + 1e-6) + min(4 * _rounding(array), 0.01)


def _rounding(array: Array) -> float:
    """Return the usual rounding error of a row sum in the stored dtype."""
    return float(namespace(array).finfo(array.dtype).eps) * math.sqrt(array.shape[-1])


def noted_error(array: Array) -> float:
    """Return the error of a row sum from which on it is worth a note."""
    return min(2 * _rounding(array), NOISE / 2)


def scalar(array: Array) -> float:
    """Return a one-element array as a number, outside any graph."""
    return float(to_host(array))


def require_distributions(
    array: Array, name: str, remedy: Callable[[Array], str]
) -> tuple[Array, tuple[str, ...]]:
    """Check that rows along the last axis are probabilities; return the array and what was noted.

    Entries between -NOISE and 0 are rounding: they are set to 0 in a copy, and the note says how many.
    `remedy` words what to do and is asked only when something is wrong.
    """
    seen = summary_of_rows(array)
    if seen is not None and seen[0] >= 0 and seen[1] <= noted_error(array):
        return array, ()
    require_finite(array, name)
    xp = namespace(array)
    tolerance = sum_tolerance(array)
    lowest = min(scalar(xp.min(rows)) for _, rows in row_tiles(array))
    notes: list[str] = []
    if lowest < 0:
        require_rows(
            (array,), lambda rows: rows < -NOISE, name=name, rule="must not be negative", remedy=remedy
        )
        negative = sum(int(xp.sum(xp.astype(rows < 0, xp.int64))) for _, rows in row_tiles(array))
        array = xp.where(array < 0, xp.zeros_like(array), array)
        notes.append(Note("clipped", f"entries of `{name}` between -1e-6 and 0 are read as 0", negative))

    def off(rows: Array) -> Array:
        return xp.abs(xp.sum(as_float64(rows), axis=-1) - 1.0)

    worst = max(scalar(xp.max(off(rows))) for _, rows in row_tiles(array))
    if worst > noted_error(array):
        require_rows(
            (array,),
            lambda rows: off(rows) > tolerance,
            name=name,
            rule=f"rows must sum to 1 within {tolerance:.1g}",
            fact=lambda row: f"sums to {_worst_sum(row):.6g}",
            remedy=remedy,
        )
        notes.append(f"`{name}` rows sum to 1 within {worst:.1e}; they are used unchanged")
    return array, tuple(notes)


def _worst_sum(row: np.ndarray[Any, Any]) -> float:
    sums = np.atleast_1d(row.sum(axis=-1, dtype=np.float64)).ravel()
    return float(sums[np.argmax(np.abs(sums - 1))])
