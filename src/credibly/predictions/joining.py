"""Rows that carry names are joined by them: ids of files, indexes of data frames, never by position alone.

keys (n,), own (n,)  ->  order with own[order] == keys
"""

from __future__ import annotations

from typing import Any

import numpy as np

from credibly._arrays.errors import InputError
from credibly._arrays.namespace import Array


def order_by_name(
    keys: Array, others: Array, *, what: str, remedy: str
) -> tuple[Array | None, tuple[str, ...]]:
    """Return the rows of `own` in the order of `keys`; None where they are in it already.

    Names that differ only in leading zeros ('007' and 7) are the same where all of them are.

    Parameters
    ----------
    keys, own : array (n,)
        Names of the rows of the predictions, and of what stands beside them.
    what : str
        What stands beside the predictions, for errors.
    remedy : str
        What to do where the names differ.

    Returns
    -------
    order : array of int or None
        The order.
    notes : tuple of str
        What was read into the names.
    """
    our_names, their_names = _alike(np.asarray(keys), np.asarray(others))
    notes: tuple[str, ...] = ()
    if set(our_names) != set(their_names):
        own_plain, other_plain = (list(map(_unpadded, names)) for names in (our_names, their_names))
        distinct = len(set(own_plain)) == len(set(our_names)) and len(set(other_plain)) == len(
            set(their_names)
        )
        if distinct and set(own_plain) == set(other_plain):
            our_names, their_names = own_plain, other_plain
            notes = (f"ids of {what} are compared without leading zeros: '007' is 7",)
    if our_names == their_names:
        return None, notes
    rows = {name: row for row, name in enumerate(their_names)}
    both = sum(name in rows for name in dict.fromkeys(our_names))
    only, more = len(set(our_names)) - both, len(rows) - both
    if only or more:
        missing = next((name for name in our_names if name not in rows), None)
        first = f"; {missing!r} is not among {what}" if missing is not None else ""
        raise InputError(
            f"the ids of {what}",
            "must be those of the predictions",
            f"{both} are in both, {only} only with the predictions, {more} only with {what}{first}",
            remedy,
        )
    if len(rows) < len(their_names) or len(set(our_names)) < len(our_names):
        whose, names = (what, their_names) if len(rows) < len(their_names) else ("the predictions", our_names)
        twice = next(name for name in names if names.count(name) > 1)
        raise InputError(
            f"the ids of {whose}",
            "must be distinct to be joined by",
            f"{twice!r} appears {names.count(twice)} times",
            remedy,
        )
    return np.array([rows[name] for name in our_names]), notes


def _unpadded(name: Any) -> Any:
    """Return a name of digits without leading zeros."""
    text = str(name)
    return (text.lstrip("0") or "0") if text.isascii() and text.isdigit() else text


def counts_rows(names: Any) -> bool:
    """Tell whether names are only 0, 1, 2, ...: row numbers, as a new table has them."""
    return bool(np.asarray(names).tolist() == list(range(len(names))))


def order_by_index(keys: Any, others: Any, *, what: str) -> tuple[Array | None, tuple[str, ...]]:
    """Return the order that joins two indexes, and a note where they are not the same.

    An index that only counts its rows says nothing about them: beside other names the rows are taken as they
    stand; beside the same numbers in another order either reading is possible, and both are shown.
    """
    keys, others = np.asarray(keys), np.asarray(others)
    if len(keys) != len(others) or keys.tolist() == others.tolist():
        return None, ()
    if not (counts_rows(keys) or counts_rows(others)):
        remedy = f"Select the same rows, or drop the index: `{what}.to_numpy()`."
        order, notes = order_by_name(keys, others, what=f"`{what}`", remedy=remedy)
        return order, (*notes, f"`{what}` are joined with the predictions by their index")
    if set(keys.tolist()) == set(others.tolist()):
        raise InputError(
            f"the index of `{what}`",
            "must be in the order of the predictions, or be left out",
            "both hold the same row numbers in another order, and one of them only counts its rows",
            f"By index: `{what}.loc[predictions.index]`; by position: `{what}.to_numpy()`.",
        )
    return None, (f"`{what}` are paired with the predictions by position: one of their indexes counts rows",)


def aligned(value: Any, index: Any, what: str) -> tuple[Any, tuple[str, ...]]:
    """Return a data frame or series in the order of an index, as arrays; everything else as it is."""
    own_index = getattr(value, "index", None)
    if index is None or own_index is None or callable(own_index) or not hasattr(value, "iloc"):
        return value, ()
    order, notes = order_by_index(index, own_index, what=what)
    return (value if order is None else value.iloc[order]), notes


def _alike(first: Array, second: Array) -> tuple[list[Any], list[Any]]:
    """Return two arrays of names that can be compared: the number 7 is the text '7'."""
    if (first.dtype.kind in "iu") == (second.dtype.kind in "iu"):
        return first.tolist(), second.tolist()
    return [str(name) for name in first.tolist()], [str(name) for name in second.tolist()]
