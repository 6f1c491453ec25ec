"""Labels as people keep them: class names, whole floats, one column, one-hot rows, several raters.

The same readings for a label in Python, in a data frame and in a file. Numbers are matched with classes by
name where the classes are named by numbers; a reading that is not literal comes with a note, and what could
mean two things is refused with both.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from credibly._arrays.checks import require_rows
from credibly._arrays.errors import InputError, Remedy
from credibly._arrays.namespace import Array, is_numpy, is_torch, namespace
from credibly.predictions.label_counts import LabelCounts

_NUMBERED = re.compile(r"(?P<stem>.*?)(?P<number>\d{1,9})(?P<end>(?:\.0)?[)\]]?)", re.DOTALL)
_SIGNED = re.compile(r"-?\d{1,9}(?:\.0)?")
_RATERS = re.compile(
    r"(rater|annotator|coder|judge|expert|reader|worker|reviewer|labell?er|grader|r|a)[_ .-]?(\w{1,12})?",
    re.IGNORECASE,
)


def numbers_of(names: Sequence[str]) -> list[int] | None:
    """Return the numbers of names that differ in a number at their end only; None for other names.

    >>> numbers_of(["P(y=2)", "P(y=10)"]), numbers_of(["1.0", "0.0"]), numbers_of(["-1", "1"])
    ([2, 10], [1, 0], [-1, 1])
    """
    if all(name.isascii() and _SIGNED.fullmatch(name) for name in names):
        numbers = [int(float(name)) for name in names]
        return numbers if len(set(numbers)) == len(names) > 0 else None
    matches = [_NUMBERED.fullmatch(name) if name.isascii() else None for name in names]
    numbers = [int(match["number"]) for match in matches if match is not None]
    stems = {(match["stem"], match["end"]) for match in matches if match is not None}
    return numbers if len(stems) == 1 and len(set(numbers)) == len(names) else None


def label_values(labels: Any) -> Any:
    """Return labels as an array: numbers as they are, names as text, categories by their names."""
    if is_torch(labels) or (is_numpy(labels) and labels.dtype.kind in "fiubU"):
        return labels
    if hasattr(labels, "to_numpy"):
        labels = labels.to_numpy()
    if not isinstance(labels, (list, tuple, np.ndarray)) and not hasattr(labels, "categories"):
        return labels
    try:
        array = np.asarray(labels)
    except ValueError:  # rows of different lengths, which the checks of arrays name
        return labels
    if array.dtype.kind != "O" or not array.size:
        return array
    flat = array.ravel().tolist()
    if all(isinstance(entry, (bool, np.bool_)) for entry in flat):
        return array.astype(bool)
    if any(isinstance(entry, str) for entry in flat):
        if not all(isinstance(entry, str) or entry is None or entry != entry for entry in flat):
            return array
        return np.array([entry if isinstance(entry, str) else "" for entry in flat]).reshape(array.shape)
    try:
        return array.astype(np.float64)
    except (TypeError, ValueError):
        return array


def without_axis(labels: Array, n_classes: int | None, notes: list[str]) -> Array:
    """Return one column as a vector and one-hot rows as classes; everything else as it is."""
    if getattr(labels, "ndim", 0) != 2:
        return labels
    if labels.shape[1] == 1:
        notes.append("labels came as one column and are read as a vector")
        return labels[:, 0]
    if labels.shape[1] == n_classes and is_one_hot(labels):
        xp = namespace(labels)
        notes.append("labels came as one-hot rows and are read as the class of their 1")
        return xp.argmax(xp.astype(labels, xp.int64), axis=1)
    return labels


def is_one_hot(table: Array) -> bool:
    """Tell whether every row is 0 but for one 1."""
    xp = namespace(table)
    if is_numpy(table) and table.dtype.kind not in "fiub":
        return False
    zeros = xp.astype(table == 0, xp.int64)
    ones = xp.astype(table == 1, xp.int64)
    return bool(xp.all(xp.sum(ones, axis=1) == 1) and xp.all(xp.sum(zeros + ones, axis=1) == table.shape[1]))


def without_signs(labels: Array, notes: list[str]) -> Array:
    """Return labels -1 and 1 of two classes without names as 0 and 1, as those who write them mean them."""
    xp = namespace(labels)
    if not xp.isdtype(labels.dtype, "signed integer") or not bool(xp.any(labels == -1)):
        return labels
    if not bool(xp.all((labels == -1) | (labels == 1))) or not bool(xp.any(labels == 1)):
        return labels
    notes.append("labels -1 and 1 are read as class 0 and class 1")
    return xp.astype(labels > 0, xp.int64)


def truth_values(names: Array, notes: list[str]) -> Array:
    """Return text of True and False as booleans, as tables write them; other text as it is."""
    words = np.char.lower(np.char.strip(names))
    if not np.isin(words, ("true", "false")).all():
        return names
    notes.append("labels came as text of True and False and are read as class 1 and class 0")
    return words == "true"


def named_classes(names: Array, classes: Sequence[str] | None, notes: list[str]) -> Array:
    """Return the indices of class names; text of digits is a number where the classes have no names."""
    words = [str(name).strip() for name in names.tolist()]
    if classes is None:
        if all(word.isascii() and word.isdigit() and len(word) < 10 for word in words):
            notes.append("labels came as text of digits and are read as class indices")
            return np.array([int(word) for word in words])
        raise InputError(
            "`labels`",
            "must be class indices if the classes have no names",
            f"the first is {words[0]!r}",
            Remedy(
                "Name the columns p_<class>, or give `classes` in the order of the columns (`load` and "
                "`evaluate` take them).",
                "Name the columns p_<class>, or give `classes` in the order of the columns.",
            ),
        )
    index = {name.strip(): j for j, name in enumerate(classes)}
    numbers = numbers_of(list(classes))
    if numbers is not None and not any(word in index for word in words):
        index = {str(number): j for j, number in enumerate(numbers)}  # label 3 of the column class_3
    codes = np.array([index.get(word, -1) for word in words])
    listed = ", ".join(list(index)[:6]) + (", ..." if len(index) > 6 else "")
    require_rows(
        (codes, np.array(words)),
        lambda codes, _: codes < 0,
        name="labels",
        rule=f"must be among the classes ({listed})",
        fact=lambda _, word: f"is {str(word)!r}" if word else "is empty",
        remedy="Correct the names, drop instances without a label, or give the classes in the order of the "
        "labels: `classes=...`.",
    )
    notes.append("labels came as class names and are matched with the classes")
    return codes


def numbered_classes(
    labels: Array, classes: Sequence[str] | None, notes: list[str], *, ordered: bool
) -> Array:
    """Return integer labels as indices: by name where classes are called by other numbers than 0 to k - 1.

    `ordered` tells that the names were given in the order of the labels, not only read from columns.
    """
    if labels.dtype.kind == "u" and labels.dtype.itemsize == 8 and (labels > 2**31).any():
        raise InputError(
            "`labels`",
            "must be class indices",
            f"the largest is {int(labels.max())}",
            "A negative label was stored as unsigned: remove unlabelled instances first.",
        )
    names, whole = list(classes or ()), labels.astype(np.int64)  # small unsigned types wrap when subtracted
    numbers = numbers_of(names)
    if numbers is not None and numbers != list(range(len(names))):
        notes.append("labels are matched with the classes by number")
        return named_classes(whole.astype(np.str_), [str(number) for number in numbers], [])
    if numbers is None and names and not ordered and (len(names) == 2 or names != sorted(names)):
        other = sorted(names) if names != sorted(names) else [*reversed(names)]
        first, second = (
            ", ".join(order[:6]) + (", ..." if len(order) > 6 else "") for order in (names, other)
        )
        raise InputError(
            "`labels`",
            "must be class names if the columns are named, or the order must be given",
            f"they are numbers: 0, 1, ... may be {first} (order of the columns) or {second}",
            Remedy(
                f"Use `classes={names[:6]!r}` or `classes={other[:6]!r}` (`evaluate`, `load`), or names.",
                f"Use `classes={','.join(names)}` or `classes={','.join(other)}`.",
            ),
        )
    return whole


def from_table(
    table: Array, names: Sequence[str] | None, n_classes: int, classes: Sequence[str] | None, notes: list[str]
) -> Any:
    """Return a table of labels (n, c) as one class per row, or as counts over raters.

    Parameters
    ----------
    table : array (n, c)
        Numbers or text.
    names : sequence of str or None
        Names of its columns.
    n_classes : int
        Number of classes.
    classes : sequence of str or None
        Their names.
    notes : list of str
        To which how they were read is added.

    Returns
    -------
    array (n,) or LabelCounts
        What the names and the values tell.
    """
    shape = tuple(table.shape)
    known = list(classes) if classes is not None else [str(j) for j in range(n_classes)]
    columns = None if names is None else _columns_of_classes(list(names), known)
    if columns is not None:
        table = table[:, columns]
    counts = shape[1] == n_classes and _could_count(table)
    raters = _could_rate(table, known)
    several = n_classes > 2 and shape[1] == n_classes and raters and bool(np.isin(table, (0, 1)).all())
    by_rater = raters and names is not None and all(_RATERS.fullmatch(name) for name in names)
    if shape[1] == n_classes and is_one_hot(table) and (columns is not None or not by_rater):
        return without_axis(table, n_classes, notes)
    # two columns may be a class and something else; three that no rater can have given are counts
    plain = counts and names is None and (np.ptp(table.sum(axis=1)) == 0 or (n_classes > 2 and not raters))
    if plain or (counts and columns is not None):
        by_class = ", one column per class" * (not plain)
        notes.append(f"labels of shape {shape} are read as counts over raters{by_class}")
        return LabelCounts(table)
    by_position = raters and not counts and not several
    if by_rater or (by_position and (names is None or shape[1] > 2 or table.dtype.kind == "U")):
        notes.append(f"labels of shape {shape} are read as one column per rater")
        return counts_of_raters(table, known, names or ())
    if table.dtype.kind == "f" and shape[1] == n_classes and np.allclose(table.sum(axis=1), 1, atol=1e-3):
        raise InputError(
            "`labels`",
            "must be counts of raters, not shares",
            f"got shape {shape} of fractions that sum to 1",
            Remedy(
                "Convert them to counts: `LabelCounts(shares * n_raters)`; `load` does so with `n_raters=N`.",
                "Give the number of raters: `n_raters=N`.",
            ),
        )
    listed = "" if names is None else f" ({', '.join(list(names)[:6])})"
    readings = ["counts over raters, one column per class"] * counts + ["one column per rater"] * raters
    readings += ["several classes of a row, or none"] * several
    could = f"could be {' or '.join(readings)}" if readings else "hold no classes"
    raise InputError(
        "`labels`",
        "must be one class per instance, or say what its columns are",
        f"got {shape[1]} columns{listed}, which {could}",
        "Name the label's column `label`; columns count_<class> are counts over raters, columns rater_<name> "
        "are labels of raters; in an .npz the names are `y`, `label_counts` and `raters`."
        + f" Arrays: `LabelCounts(labels)`, `LabelCounts.from_table(labels, n_classes={n_classes})`."
        * (names is None)
        + " If several classes may hold, every column is an event: `evaluate(probs[:, j], labels[:, j])`."
        * several,
    )


def _columns_of_classes(names: list[str], known: list[str]) -> list[int] | None:
    """Return the column of every class where columns are named as the classes are, or by their numbers."""
    if set(names) == set(known):
        return [names.index(name) for name in known]
    numbers, known_numbers = numbers_of(names), numbers_of(known)
    # rater_0 and rater_1 are numbered as classes are
    if numbers is None or known_numbers is None or all(_RATERS.fullmatch(name) for name in names):
        return None
    return (
        [numbers.index(number) for number in known_numbers]
        if sorted(numbers) == sorted(known_numbers)
        else None
    )


def _could_count(table: Array) -> bool:
    if table.dtype.kind not in "fiub" or not np.isfinite(table).all():
        return False
    return bool((table == np.round(table)).all() and (table >= 0).all() and (table.sum(axis=1) > 0).all())


def _could_rate(table: Array, known: list[str]) -> bool:
    """Tell whether every cell is a class or missing."""
    values = {word_of(value) for value in np.unique(table).tolist()} - {""}
    return bool(values) and values <= _places(known).keys()


def word_of(value: Any) -> str:
    """Return a cell as the name of a class: 2.0 is '2', NaN and blanks are missing."""
    if isinstance(value, float):
        return "" if value != value else str(int(value)) if value.is_integer() else str(value)
    return str(int(value)) if isinstance(value, bool) else str(value).strip()


def counts_of_raters(
    table: Array, known: Sequence[str], names: Sequence[str] = (), order: Sequence[str] = ()
) -> LabelCounts:
    """Count the classes that raters gave: one row per instance, one column per rater, blanks left out.

    `order` is the order of the classes in which numbers count them, if it is known.
    """
    counted_from_0 = {str(at): list(known).index(name) for at, name in enumerate(order)}
    code_of = {"": len(known), **(counted_from_0 if numbers_of(known) is None else {}), **_places(known)}
    values, at = np.unique(table, return_inverse=True)
    words = [word_of(value) for value in values.tolist()]
    cells = np.array([code_of.get(word, -1) for word in words])[at.reshape(table.shape)]
    require_rows(
        (cells, at.reshape(table.shape)),
        lambda codes, _: codes < 0,
        name="raters",
        rule=f"must be among the classes ({', '.join(list(known)[:6])})",
        fact=lambda codes, value: f"holds {words[value[codes < 0][0]]!r}",
        remedy="Correct the labels, or give the classes in the order of the columns: `classes=...`.",
    )
    return LabelCounts.of_columns(cells, len(known), tuple(names))


def _places(known: Sequence[str]) -> dict[str, int]:
    """Return the places of classes by their names, and by the numbers at the end of these."""
    numbered = {str(number): place for place, number in enumerate(numbers_of(known) or ())}
    return numbered | {name: place for place, name in enumerate(known)}
