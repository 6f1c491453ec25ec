"""What all predictions share: instances first, length, slicing by instance, notes, a helpful repr."""

from __future__ import annotations

import dataclasses
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable
from typing import Any, ClassVar, TypeVar

import numpy as np

from credibly._arrays.checks import as_real
from credibly._arrays.errors import InputError, InputTypeError, require
from credibly._arrays.namespace import (
    Array,
    as_float64,
    beside,
    device,
    is_array,
    like,
    memory_budget,
    namespace,
    to_host,
)

P = TypeVar("P", bound="Predictions")

_KEPT = 0.25
"""Largest share of the memory budget that predictions may remember, besides their mean."""


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Predictions:
    """Base of all prediction types. Instances are frozen and are validated when they are created."""

    row_fields: ClassVar[tuple[str, ...]]
    """Names of the arrays whose first axis is the instances."""
    axes_with_members: ClassVar[int] = 0
    """Number of axes of these arrays if the second holds members."""
    companions: ClassVar[tuple[str, ...]] = ()
    """Names of further such arrays, where there are any: other rows (`replace_rows`) do not inherit them."""

    notes: tuple[str, ...] = dataclasses.field(default=(), init=False, kw_only=True)
    classes: tuple[str, ...] | None = dataclasses.field(default=None, init=False, kw_only=True)
    """Names of the classes where a table named its columns; labels are then matched with them."""
    index: Any = dataclasses.field(default=None, init=False, kw_only=True)
    """Names of the rows, as a data frame carries them; other rows (`replace_rows`) do not inherit them."""

    memo: ClassVar[dict[Hashable, Array] | None] = None
    """Arrays that were made of these predictions, on a copy for one computation (`passes.remembering`)."""

    def once(self, key: Hashable, make: Callable[[], Array]) -> Array:
        """Return what `make` returns; a copy that remembers calls it once, where memory allows to keep it."""
        memo = self.memo
        if memo is None:
            return make()
        if key not in memo:
            array = make()
            size = 8 * sum(math.prod(kept.shape) for kept in (*memo.values(), array))
            if key != "mean" and size > _KEPT * memory_budget():
                return array
            memo[key] = array
        return memo[key]

    def _set(self, **values: Any) -> None:
        """Store validated fields; only constructors call this."""
        for name, value in values.items():
            object.__setattr__(self, name, value)

    @property
    def _leading(self) -> Array:
        return getattr(self, self.row_fields[0])

    def __len__(self) -> int:
        return int(getattr(self, self.row_fields[0]).shape[0])

    def row_arrays(self) -> dict[str, Array]:
        """Return the arrays with one entry per instance by name, without companions."""
        return {name: getattr(self, name) for name in self.row_fields}

    @property
    def xp(self) -> Any:
        """The array namespace."""
        return namespace(self._leading)

    @property
    def device(self) -> Any:
        """Where the arrays live."""
        return device(self._leading)

    @property
    def n_members(self) -> int:
        """Number of members (models, draws); 1 if there is no such axis."""
        leading = self._leading
        return int(leading.shape[1]) if leading.ndim == self.axes_with_members else 1

    def __getitem__(self: P, rows: Any) -> P:
        """Select instances by slice, index array or mask; the result is not validated again."""
        if isinstance(rows, (int, np.integer)) or not (isinstance(rows, (slice, list)) or is_array(rows)):
            raise InputTypeError(
                f"{type(self).__name__}[...]",
                "selects instances by a slice, an index array or a mask",
                f"got {rows!r}",
                "For one instance write `predictions[i : i + 1]`.",
            )
        companions = {name: getattr(self, name) for name in self.companions}
        arrays = self.row_arrays() | {name: also for name, also in companions.items() if also is not None}
        if isinstance(rows, slice):
            taken = {name: array[rows, ...] for name, array in arrays.items()}
        else:
            index = self._index(rows)
            taken = {name: self.xp.take(array, index, axis=0) for name, array in arrays.items()}
        if taken[self.row_fields[0]].shape[0] == 0:
            raise InputError(
                f"{type(self).__name__}[...]",
                "must select at least one instance",
                f"got none of {len(self)}",
                "Check the slice or the mask.",
            )
        return self.replace_rows(**taken)

    def _index(self, rows: Any) -> Array:
        """Return a mask or index array as non-negative indices where the predictions live."""
        index, n = to_host(rows) if is_array(rows) else np.asarray(rows), len(self)
        if index.dtype == np.bool_ and index.shape == (n,):
            index = np.flatnonzero(index)
        elif index.size == 0 and index.ndim == 1:
            index = index.astype(np.int64)
        elif index.dtype.kind not in "iu" or index.ndim != 1 or index.min() < -n or index.max() >= n:
            raise InputError(
                f"{type(self).__name__}[...]",
                f"needs a mask of {n} booleans or a vector of indices from {-n} to {n - 1}",
                f"got dtype {index.dtype} and shape {index.shape}"
                + (f", from {index.min()} to {index.max()}" if index.dtype.kind in "iu" else ""),
                "Use `numpy.flatnonzero(condition)` for a condition on the instances.",
            )
        return like(np.where(index < 0, index + n, index).astype(np.int64), self._leading)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        """Refuse to be read as an array: which one would have to be guessed."""
        names = " and ".join(f"`.{name}`" for name in self.row_fields)
        raise InputTypeError(
            f"a {type(self).__name__}", "is not an array", "an array was requested here", f"Use its {names}."
        )

    def replace_rows(self: P, **arrays: Array) -> P:
        """Return the same prediction over other, already valid rows."""
        other = object.__new__(type(self))
        for field in dataclasses.fields(self):
            separate = field.name in (*self.companions, "index")
            kept = None if separate else getattr(self, field.name)
            object.__setattr__(other, field.name, arrays.get(field.name, kept))
        weights, leading = getattr(other, "weights", None), other._leading
        if weights is not None and (type(weights), device(weights)) != (type(leading), device(leading)):
            object.__setattr__(other, "weights", like(to_host(weights), leading))  # rows were moved
        return other

    def _facts(self) -> str:
        return f"n={len(self)}"

    def __repr__(self) -> str:
        leading = self._leading
        where = "" if "cpu" in str(self.device).lower() else f", device={self.device}"
        noted = f", {len(self.notes)} note{'s' * (len(self.notes) != 1)}" if self.notes else ""
        dtype = str(leading.dtype).rpartition(".")[2]  # torch.float32, array_api_strict.float32
        return f"{type(self).__name__}({self._facts()}, dtype={dtype}{where}{noted})"


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class OverClasses(Predictions):
    """Predictions whose labels are one of a finite number of classes."""

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return int(getattr(self, self.row_fields[0]).shape[-1])

    def _facts(self) -> str:
        members = f", m={self.n_members}" if self._leading.ndim == 3 else ""
        weighted = ", weighted" * (getattr(self, "weights", None) is not None)
        return f"n={len(self)}{members}{weighted}, k={self.n_classes}"


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class ClassPredictions(OverClasses, ABC):
    """Predictions that state probabilities of classes."""

    @abstractmethod
    def mean(self) -> Any:
        """Return the single distribution per instance that represents the prediction."""

    @property
    @abstractmethod
    def mean_note(self) -> str:
        """What `mean` does, for the notes of results that used it."""

    @classmethod
    def _trusted(cls: type[P], *arrays: Array) -> P:
        """Make a prediction from arrays that are valid by construction."""
        predictions = object.__new__(cls)
        for name, array in zip(cls.row_fields, arrays, strict=True):
            object.__setattr__(predictions, name, array)
        for field in dataclasses.fields(Predictions):
            object.__setattr__(predictions, field.name, field.default)
        return predictions


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class RealPredictions(Predictions, ABC):
    """Predictions of real numbers: one distribution per instance, the mixture of its members."""

    def cdf(self, values: Any) -> Array:
        """Return the probability of at most `values`, under the mixture of the members.

        For draws this is their share; between dense quantiles it is linear.

        Parameters
        ----------
        values : array (n,) or (b, n)
            One value per instance.

        Returns
        -------
        array
            Probabilities, in the shape of `values`.

        Examples
        --------
        >>> import credibly as cr
        >>> cr.Gaussian([[-1.0, 1.0]], [[0.5, 0.5]]).cdf([0.0])
        array([0.5])
        >>> cr.Samples([[1.0, 2.0, 3.0, 4.0]]).cdf([3.5])
        array([0.75])
        """
        checked = self._values(values)
        xp = namespace(checked)
        return xp.reshape(self._cdf(xp.reshape(checked, (-1, len(self)))), checked.shape)

    @abstractmethod
    def _cdf(self, values: Array) -> Array:
        """Return the probability of at most checked `values`, (b, n) to (b, n)."""

    @abstractmethod
    def quantile(self, levels: Any) -> Array:
        """Return the quantiles (n, l) at `levels`, (l,), strictly between 0 and 1."""

    @abstractmethod
    def expectation(self) -> Array:
        """Return the mean of every instance's distribution, (n,)."""

    def _values(self, values: Any) -> Array:
        """Return checked values as (b, n), double precision, where the predictions live."""
        array = beside(as_real(values, "values"), values, self._leading, what="predictions and `values`")
        require(
            array.ndim in (1, 2) and array.shape[-1] == len(self),
            f"must have shape ({len(self)},) or (b, {len(self)})",
            "Give one value per instance, instances on the last axis.",
            values=array,
        )
        return as_float64(array)

    def _levels(self, levels: Any) -> Array:
        """Return checked levels (l,), double precision, where the predictions live."""
        array = beside(as_real(levels, "levels"), levels, self._leading, what="predictions and `levels`")
        heights = to_host(array)
        if heights.ndim != 1 or not heights.size or not ((heights > 0) & (heights < 1)).all():
            raise InputError(
                "`levels`",
                "must be a vector of numbers strictly between 0 and 1",
                f"got shape {heights.shape}"
                + (f", from {heights.min():.6g} to {heights.max():.6g}" if heights.size else ""),
                "Write [0.05, 0.95] for the ends of a 90 % interval.",
            )
        return as_float64(array)
