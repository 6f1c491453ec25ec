"""What a nameless array is: read as probabilities where the numbers say so, else explained, never guessed."""

from __future__ import annotations

import numpy as np

from credibly._arrays.checks import row_blocks, sum_tolerance
from credibly._arrays.errors import InputError
from credibly._arrays.namespace import Array
from credibly.io.content import FIELDS, Content, describe


def kind_of_lone(content: Content, kind: str | None) -> str:
    """Give the nameless array its field name and return the kind."""
    name = str(content.lone)
    array = content.arrays[name]
    if array.dtype.kind not in "fiub":
        raise InputError(
            "predictions", "must be numbers", f"got {describe(name, array)}", "Check the file's columns."
        )
    if kind is not None and len(FIELDS[kind]) > 1:
        raise InputError(
            f"kind {kind!r}",
            f"needs the arrays `{'` and `'.join(FIELDS[kind])}`",
            f"the file holds one array, {describe(name, array)}",
            "Put them into one file under these names, with `numpy.savez`.",
        )
    if array.ndim not in (2, 3):
        raise InputError(
            "predictions",
            "must have shape (n, k) or (n, m, k)",
            f"got {describe(name, array)}",
            "For binary scores p save both columns, `numpy.stack([1 - p, p], axis=-1)`; if these are labels, "
            "give them with `labels=` (`--labels`).",
        )
    if 0 in array.shape:
        raise InputError(
            "predictions", "must have at least one row", f"got {describe(name, array)}", "Check the file."
        )
    if array.shape[-1] == 1 and kind in (None, "probs"):
        raise InputError(
            "predictions",
            "must have one column per class",
            f"got {describe(name, array)}",
            "For binary scores p save both columns, `numpy.stack([1 - p, p], axis=-1)`; as table: p_0, p_1.",
        )
    if kind is None:
        share = share_of_distributions(array)
        if share < 0.5:
            raise InputError(
                "predictions",
                "must be rows of probabilities where no kind is said",
                f"in {describe(name, array)} {share:.0%} of the rows are; {looks_like(array)[0]}",
                looks_like(array)[1],
            )
        content.notes.append(
            "the kind was not said; "
            + ("all" if share == 1 else f"{share:.2%} of the")
            + " rows sum to 1, so the array is read as probabilities (`kind='probs'`)"
        )
        kind = "probs"
    content.arrays[FIELDS[kind][0]] = content.arrays.pop(name)
    content.lone = None
    return kind


def share_of_distributions(array: Array) -> float:
    """Return the share of last-axis rows that are not negative and sum to 1."""
    good = total = 0
    for _, block in row_blocks(array):
        good += int(_are_distributions(block).sum())
        total += int(np.prod(block.shape[:-1]))
    return good / total


def _are_distributions(block: Array) -> Array:
    values = np.asarray(block, dtype=np.float64)
    tolerance = sum_tolerance(block if block.dtype.kind == "f" else values)
    with np.errstate(invalid="ignore", over="ignore"):  # infinities are told later, with their rows
        return (np.abs(values.sum(axis=-1) - 1) <= tolerance) & (values >= -1e-6).all(axis=-1)


def looks_like(array: Array) -> tuple[str, str]:
    """Return what the numbers look like and what to do about it."""
    low, high, whole, zeros = np.inf, -np.inf, True, False
    with np.errstate(all="ignore"):
        for _, block in row_blocks(array):
            values = np.asarray(block, dtype=np.float64)
            finite = values[np.isfinite(values)]
            if finite.size:
                low, high = min(low, float(finite.min())), max(high, float(finite.max()))
                whole = whole and bool((finite == np.round(finite)).all())
                zeros = zeros or bool((finite == 0).any())
    span = f"entries lie between {low:.4g} and {high:.4g}"
    if not low <= high:
        return "no entry is finite", "Check how the file was made."
    turned = _classes_elsewhere(array)
    if turned is not None:
        return turned, "Put the classes on the last axis: `numpy.moveaxis(array, axis, -1)`."
    if whole and low >= 0 and high > 1:
        return f"{span}, all whole, like label counts", _say("counts")
    if low < 0:
        return f"{span}, like logits", _say("logits") + " For draws of a real quantity: `kind='samples'`."
    if high <= 1 + 1e-6:
        return (
            f"{span} but rows do not sum to 1, like beliefs of focal sets or one-against-rest scores",
            "Save beliefs with their `focal_sets` in one .npz; normalise scores with `Point.from_scores`.",
        )
    if not zeros:
        return f"{span}, all positive, like Dirichlet parameters", _say("alpha")
    return (
        f"{span}, with zeros, like evidence or scores",
        "For evidence save `alpha = evidence + 1`; scores can be normalised with `Point.from_scores`.",
    )


def _say(kind: str) -> str:
    return f"If so, say `kind={kind!r}` (`--kind {kind}`)."


def _classes_elsewhere(array: Array) -> str | None:
    """Tell which other axis sums to 1, for arrays small enough to look."""
    if array.size > 2**24 or array.dtype.kind not in "fiub":
        return None
    with np.errstate(all="ignore"):
        for axis in range(array.ndim - 1):
            if (np.abs(array.sum(axis=axis, dtype=np.float64) - 1) < 1e-3).all():
                return f"sums along axis {axis} are 1, as if the classes were there"
    return None


def split_label_column(content: Content) -> None:
    """Find the label among nameless columns: the last or first, whole numbers beside rows that sum to 1."""
    if not content.headerless or content.lone is None or "y" in content.arrays:
        return
    matrix = content.arrays[content.lone]
    if matrix.shape[1] < 3 or share_of_distributions(matrix) >= 0.5:
        return
    for label, rest, where in (
        (matrix[:, -1], matrix[:, :-1], "last"),
        (matrix[:, 0], matrix[:, 1:], "first"),
    ):
        fits = np.isfinite(label) & (label == np.round(label)) & (label >= 0) & (label < rest.shape[1])
        if fits.all() and share_of_distributions(rest) >= 0.5:
            content.arrays[content.lone] = rest
            content.arrays["y"] = label.astype(np.int64)
            content.notes.append(f"the {where} of {matrix.shape[1]} columns is read as the label")
            return
