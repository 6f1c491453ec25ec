"""Sort the arrays of a file: which are the predictions, which stand beside them, which axis is which."""

from __future__ import annotations

import dataclasses

import numpy as np

from credibly._arrays.errors import InputError
from credibly._arrays.namespace import Array
from credibly.io.content import (
    BESIDE,
    FIELDS,
    SHARED,
    Content,
    choose_kind,
    describe,
    use_canonical_names,
)
from credibly.io.meaning import kind_of_lone, split_label_column

_AXES_WITH_MEMBERS = {"probs": 3, "logits": 3, "alpha": 3, "samples": 3, "gaussian": 2}


@dataclasses.dataclass
class Parts:
    """Instance-first arrays on their way to a dataset."""

    kind: str
    fields: dict[str, Array]
    shared: dict[str, Array]
    beside: dict[str, Array]
    classes: tuple[str, ...] | None
    notes: list[str]

    @property
    def n(self) -> int:
        """Number of instances."""
        return int(self.fields[FIELDS[self.kind][0]].shape[0])

    def keep(self, rows: Array) -> None:
        """Keep some instances in every array."""
        for arrays in (self.fields, self.beside):
            for name in arrays:
                if name != "member_weights":
                    arrays[name] = arrays[name][rows]


def take_apart(
    content: Content, *, kind: str | None, labels: tuple[str, Array] | None, member_axis: int | None
) -> Parts:
    """Name, orient and sort the arrays of a file; nothing is checked row by row yet."""
    use_canonical_names(content)
    found = choose_kind(content, kind)
    if found is None:
        if labels is None and kind in (None, "probs"):
            split_label_column(content)
        found = kind_of_lone(content, kind)
    beside = {name: content.arrays[name] for name in BESIDE if name in content.arrays}
    if labels is not None:
        replaced = [name for name in ("y", "label_counts") if beside.pop(name, None) is not None]
        if replaced:
            content.notes.append(f"the file's own `{replaced[0]}` is not used: `labels=` was given")
        beside[labels[0]] = labels[1]
    elif "y" in beside and "label_counts" in beside:
        beside.pop("label_counts")
        content.notes.append(
            "the file holds `y` and `label_counts`; `y` is used. For the raters' counts: "
            "`labels='label_counts'` (`--labels label_counts`)"
        )
    missing = [name for name in FIELDS[found] if name not in content.arrays]
    if missing:
        raise InputError(
            f"kind {found!r}",
            f"needs the arrays `{'` and `'.join(FIELDS[found])}`",
            f"`{missing[0]}` is not in the file",
            "Add it under this name.",
        )
    used = {*FIELDS[found], *beside, "member_axis", "classes", "meta"}
    rest = [name for name in content.arrays if name not in used and name not in BESIDE]
    if rest:
        content.notes.append(
            f"not used: {', '.join(describe(name, content.arrays[name]) for name in rest[:8])}"
        )
    parts = Parts(
        found,
        {name: content.arrays[name] for name in FIELDS[found] if name not in SHARED},
        {name: content.arrays[name] for name in FIELDS[found] if name in SHARED},
        beside,
        content.classes,
        content.notes,
    )
    _orient(parts, content.member_axis if member_axis is None else member_axis, said=member_axis is not None)
    _require_lengths(parts)
    return parts


def _orient(parts: Parts, member_axis: int | None, *, said: bool) -> None:
    """Put the members second; where the order is not known, raise and name the keyword."""
    if member_axis not in (None, 0, 1):
        raise InputError("`member_axis`", "must be 0 or 1", f"got {member_axis!r}", "Move the axis first.")
    fields = parts.fields
    name = FIELDS[parts.kind][0]
    array = fields[name]
    if array.ndim != _AXES_WITH_MEMBERS.get(parts.kind):
        if said:
            parts.notes.append(f"`member_axis` is not used: `{name}` has no member axis")
        return
    first, second = array.shape[:2]
    if member_axis is None:
        lengths = {
            int(other.shape[0])
            for key, other in parts.beside.items()
            if key != "member_weights" and other.ndim
        }
        n = lengths.pop() if len(lengths) == 1 else None
        if (n is None and first <= second > 1) or (n == second):
            reason = (
                "nothing in the file tells the instances" if n is None else f"there are {n} labels or ids"
            )
            raise InputError(
                f"`{name}`",
                "must say which axis holds the members",
                f"got shape {tuple(array.shape)} and {reason}",
                "Say `member_axis=0` (`--member-axis 0`) for (members, instances, ...) or `member_axis=1` "
                "(`--member-axis 1`) for (instances, members, ...).",
            )
        parts.notes.append(f"`{name}` {tuple(array.shape)} is read as {first} instances of {second} members")
    elif member_axis == 0:
        for key, other in fields.items():
            fields[key] = np.moveaxis(other, 0, 1) if other.ndim == array.ndim else other


def _require_lengths(parts: Parts) -> None:
    for name, array in {**parts.fields, **parts.beside}.items():
        if array.ndim == 0:
            raise InputError(
                f"`{name}`", "must have one entry per instance", "got a single value", "Check it."
            )
        if name != "member_weights" and array.shape[0] != parts.n:
            leading = parts.fields[FIELDS[parts.kind][0]]
            remedy = "Check that both come from the same split."
            if leading.ndim > 1 and leading.shape[1] == array.shape[0]:
                remedy = "The predictions look transposed: instances come first."
                if leading.ndim == _AXES_WITH_MEMBERS.get(parts.kind):
                    remedy = "Axis 1 of the predictions fits: say the other `member_axis` (`--member-axis`)."
            raise InputError(
                f"`{name}`",
                f"must have one entry per prediction ({parts.n})",
                f"got {array.shape[0]}",
                remedy,
            )
