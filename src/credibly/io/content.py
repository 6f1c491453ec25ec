"""What a reader hands over before any meaning is checked, and the names arrays carry in files."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from credibly._arrays.errors import InputError, one_of
from credibly._arrays.namespace import Array

KINDS = (
    "probs",
    "logits",
    "alpha",
    "belief",
    "mass",
    "intervals",
    "gaussian",
    "samples",
    "quantiles",
    "counts",
)

FIELDS: dict[str, tuple[str, ...]] = {
    "probs": ("probs",),
    "logits": ("logits",),
    "alpha": ("alpha",),
    "belief": ("beliefs", "focal_sets"),
    "mass": ("masses", "focal_sets"),
    "intervals": ("lower", "upper"),
    "gaussian": ("mean", "std"),
    "samples": ("samples",),
    "quantiles": ("values", "levels"),
    "counts": ("counts",),
}
"""The arrays that make up each kind; the first one names it."""

SHARED = frozenset({"focal_sets", "levels"})
"""Fields that have no instance axis."""

ALIASES: dict[str, tuple[str, ...]] = {
    "probs": ("probabilities", "probas", "proba", "softmax"),
    "alpha": ("alphas", "concentration", "concentrations"),
    "beliefs": ("belief",),
    "masses": ("mass",),
    "lower": ("lower_bounds",),
    "upper": ("upper_bounds",),
    "mean": ("mu", "means"),
    "std": ("sigma", "stds"),
    "y": ("label", "labels", "y_true", "target", "targets", "gold", "true_label"),
    "label_counts": ("label_count",),
    "features": ("feature",),
    "group": ("groups",),
    "id": ("ids", "uid"),
}
"""Other names an array may carry; reading one of them is noted."""

BESIDE = ("y", "label_counts", "features", "group", "id", "member_weights")
"""Arrays that stand beside the predictions."""


@dataclasses.dataclass
class Content:
    """Arrays by name with what the file says about them.

    `lone` names the one array whose meaning the file does not say; `headerless` tells that its columns
    have no names either, so that one of them may be the label.
    """

    format: str
    arrays: dict[str, Array]
    classes: tuple[str, ...] | None = None
    meta: dict[str, Any] = dataclasses.field(default_factory=dict)
    notes: list[str] = dataclasses.field(default_factory=list)
    member_axis: int | None = None
    lone: str | None = None
    headerless: bool = False


def use_canonical_names(content: Content) -> None:
    """Rename aliases in place and note each; two names for one thing are refused, not chosen from."""
    by_lower: dict[str, str] = {}
    for name in content.arrays:
        by_lower.setdefault(name.lower(), name)
    for wanted, others in ALIASES.items():
        found = [by_lower[other] for other in (wanted, *others) if other in by_lower]
        if wanted in content.arrays or not found:
            continue
        if len(found) > 1:
            raise InputError(
                f"the file's `{wanted}`",
                "must be one array",
                f"found {' and '.join(found)}",
                f"Rename the right one to {wanted!r}"
                + (f", or say `labels={found[0]!r}` (`--labels {found[0]}`)." if wanted == "y" else "."),
            )
        content.arrays[wanted] = content.arrays.pop(found[0])
        content.notes.append(f"array {found[0]!r} is read as `{wanted}`")


def choose_kind(content: Content, kind: str | None) -> str | None:
    """Return the kind the names tell, or None where only a nameless array is there."""
    if kind is not None:
        one_of("`kind`", kind, KINDS)
    held = [name for name in KINDS if FIELDS[name][0] in content.arrays]
    if "counts" in held and len(held) > 1 and kind != "counts":
        # Beside predictions, counts are what raters said.
        held.remove("counts")
        if "label_counts" not in content.arrays:
            content.arrays["label_counts"] = content.arrays.pop("counts")
            content.notes.append("array 'counts' is read as `label_counts`, the raters' labels")
    if not held and "label_counts" in content.arrays and kind in (None, "counts") and content.lone is None:
        content.arrays["counts"] = content.arrays.pop("label_counts")
        content.notes.append("the file holds label counts only; they take the place of the predictions")
        held = ["counts"]
    if kind is not None and kind in held:
        return kind
    if held and kind is not None:
        raise InputError(
            f"kind {kind!r}",
            f"needs the array `{FIELDS[kind][0]}`",
            f"the file holds `{'`, `'.join(FIELDS[name][0] for name in held)}`",
            f"Use `kind={held[0]!r}` (`--kind {held[0]}`), or rename the array.",
        )
    if len(held) > 1:
        raise InputError(
            "the file",
            "must hold one kind of prediction, or the kind must be said",
            f"found {', '.join(held)}",
            " or ".join(f"`kind={name!r}` (`--kind {name}`)" for name in held) + ".",
        )
    if held:
        return held[0]
    _find_lone(content)
    return None


def _find_lone(content: Content) -> None:
    """Settle on the one array that can be predictions, or say what was found."""
    if content.lone is not None:
        return
    candidates = [
        name
        for name, array in content.arrays.items()
        if name not in BESIDE and name not in SHARED and array.ndim >= 2 and array.dtype.kind in "fiub"
    ]
    if len(candidates) == 1:
        content.lone = candidates[0]
        return
    shown = ", ".join(describe(name, array) for name, array in list(content.arrays.items())[:12])
    raise InputError(
        "the file",
        f"must name its predictions ({', '.join(fields[0] for fields in FIELDS.values())})",
        f"found {shown or 'no arrays'}",
        "Rename the array, for example `numpy.savez(path, probs=probs, y=labels)`.",
    )


def describe(name: str, array: Array) -> str:
    """Write 'probs (900, 10) float32'."""
    return f"{name} {tuple(array.shape)} {array.dtype}"


def membership_of(sets: Any, n_classes: int | None) -> np.ndarray[Any, Any]:
    """Return focal sets (lists of class indices) as a 0/1 table (f, k), the form files hold."""
    try:
        lists = [[int(member) for member in members] for members in sets]
    except (TypeError, ValueError):
        lists = []
    largest = max((member for members in lists for member in members), default=-1)
    count = largest + 1 if n_classes is None else n_classes
    smallest = min((member for members in lists for member in members), default=0)
    # A class index is a column: an absurd one must not become an absurd table.
    if not lists or smallest < 0 or not largest < count <= 100_000 or len(lists) * count > 10**8:
        raise InputError(
            "`focal_sets`",
            "must be a list of lists of class indices",
            f"got {len(lists)} readable sets with indices from {smallest} to {largest} for {count} classes",
            'Write them like "focal_sets": [[0], [1], [0, 1]].',
        )
    table = np.zeros((len(lists), count), dtype=np.uint8)
    for row, members in zip(table, lists, strict=True):
        row[members] = 1
    return table


def sets_of(table: Array) -> list[frozenset[int]]:
    """Return the focal sets of a 0/1 table (f, k)."""
    if table.ndim != 2 or table.dtype.kind not in "biuf" or not np.isin(table, (0, 1)).all():
        raise InputError(
            "`focal_sets`",
            "must be a table (focal sets, classes) of 0 and 1",
            f"got {describe('focal_sets', table)}",
            "Put a 1 where the class belongs to the set.",
        )
    return [frozenset(np.flatnonzero(row).tolist()) for row in table]
