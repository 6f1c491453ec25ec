"""What a fit learns: attributes declared with their shapes, against which files are checked."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from credibly._arrays.errors import InputError, brief

_KEY = "learned"


@dataclasses.dataclass(frozen=True)
class Learned:
    """What is known of an attribute before the fit.

    Attributes
    ----------
    shape : tuple of str
        Names of its axes: k for classes, m for members, others for the length of the attribute that is
        declared first with them; "k+1" is one more.
    checked : bool
        Whether `apply` computes with it, so that a file must hold sound numbers.
    positive : bool
        Whether its numbers must be above 0.
    by_group : bool
        Whether it is a mapping from groups to such numbers, or None.
    names : bool
        Whether it is a tuple of names.
    """

    shape: tuple[str, ...] = ()
    checked: bool = True
    positive: bool = False
    by_group: bool = False
    names: bool = False

    def read(self, value: Any) -> Any:
        """Return what a file holds in the form that `fit` gives it."""
        if not isinstance(value, list):
            return value
        return tuple(map(str, value)) if self.names else np.asarray(value, dtype=np.float64)


def learned(*shape: str, positive: bool = False, shown: bool | None = None) -> Any:
    """Declare an attribute that `fit` sets: a number, or an array; numbers stand in the repr."""
    return _declared(Learned(shape, positive=positive), not shape if shown is None else shown)


def learned_by_group(*shape: str, positive: bool = False, shown: bool = False) -> Any:
    """Declare what `fit` sets for every group; None where there are no groups."""
    return _declared(Learned(shape, positive=positive, by_group=True), shown)


def recorded(*, shown: bool = False) -> Any:
    """Declare what `fit` sets for the reader."""
    return _declared(Learned(checked=False), shown)


def learned_names() -> Any:
    """Declare names that `fit` sets; none before."""
    return _declared(Learned(checked=False, names=True), False, default=())


def _declared(field: Learned, shown: bool, default: Any = None) -> Any:
    return dataclasses.field(default=default, init=False, repr=shown, metadata={_KEY: field})


def declared(kind: Any) -> dict[str, Learned]:
    """Return what a recalibration learns, by name."""
    return {field.name: field.metadata[_KEY] for field in dataclasses.fields(kind) if _KEY in field.metadata}


def shapes_of(fitted: Any) -> dict[str, tuple[int, ...]]:
    """Return the shapes that the learned numbers must have; -1 where a file holds no array at all."""
    sizes = {"k": fitted.n_classes or 0, "m": fitted.n_members or 0}
    shapes: dict[str, tuple[int, ...]] = {}
    for name, field in declared(fitted).items():
        value = getattr(fitted, name)
        for axis in field.shape:
            sizes.setdefault(axis.partition("+")[0], len(value) if isinstance(value, np.ndarray) else -1)
        if field.checked:
            axes = (axis.partition("+") for axis in field.shape)
            shapes[name] = tuple(sizes[size] + int(more or 0) for size, _, more in axes)
    return shapes


def require_sound(fitted: Any, shapes: dict[str, tuple[int, ...]]) -> None:
    """Raise unless the learned numbers are finite, of these shapes and, where they must be, above 0."""
    for name, field in declared(fitted).items():
        value = getattr(fitted, name)
        if name not in shapes or (field.by_group and value is None):
            continue
        parts = [value] if not field.by_group else value.values() if isinstance(value, dict) else [None]
        what = "a finite number" if shapes[name] == () else f"finite numbers of shape {shapes[name]}"
        what = "a list of finite numbers" if -1 in shapes[name] else what
        what += " above 0" * field.positive + " per group" * field.by_group
        require_saved(all(_is_sound(part, shapes[name], field.positive) for part in parts), what, name, value)


def _is_sound(value: Any, shape: tuple[int, ...], positive: bool) -> bool:
    numbers = np.asarray(value)
    return (
        numbers.dtype.kind in "iuf"
        and numbers.shape == shape
        and bool(np.isfinite(numbers).all())
        and not (positive and bool((numbers <= 0).any()))
    )


def require_saved(holds: object, what: str, name: str, value: object) -> None:
    """Raise unless what a file holds under a name is what a fit can have found."""
    if not holds:
        got = brief(value.tolist() if isinstance(value, np.ndarray) else value)
        rule, remedy = f"must hold {what} as {name!r}", "Save it again, or fit again."
        raise InputError("a recalibration", rule, f"got {got}", remedy)
