"""From the names of arrays to their roles: aliases, the kind of prediction, labels, and which axis is which.

What a name outside the table means is never guessed: a nameless array is used only where it is the one that
can be predictions, and then its numbers must be probabilities or the kind must be given (`nameless`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from credibly._arrays.errors import InputError, Remedy, require
from credibly._arrays.namespace import Array
from credibly.io.column_names import listed_names
from credibly.io.columns import CLASS_EACH
from credibly.io.nameless import ENDS, columns_of_event, find_lone, kind_of_lone, needs, split_label_column
from credibly.io.roles import (
    BESIDE,
    FIELDS,
    KINDS,
    PREDICTED,
    ROLES,
    ROW_NUMBERS,
    Content,
    ReadOptions,
    described,
)


def assign_roles(content: Content, options: ReadOptions, labels: dict[str, Array] | None = None) -> None:
    """Name and orient the arrays; those without a role are noted and left out. No row is checked yet.

    `labels` are arrays by role, which take the place of the file's own.
    """
    kind = options.plain_kind
    use_canonical_names(content)
    _stack_members(content)
    _turn_into_roles(content, options, labels)
    content.kind = _kind_by_name(content, kind)
    if content.kind is None:
        if labels is None and kind in (None, "probs"):
            split_label_column(content)
        content.kind = kind_of_lone(content, options)
    _choose_labels(content, labels)
    fields = KINDS[content.kind].fields
    for name in fields:
        if name not in content.arrays:
            raise _without(content.kind, name)
    rest = [name for name in content.arrays if name not in fields and name not in BESIDE]
    if rest:
        content.note(f"not used: {described({name: content.arrays[name] for name in rest[:8]})}")
    content.arrays = {name: content.arrays[name] for name in (*fields, *BESIDE) if name in content.arrays}
    _orient(content, options.member_axis)
    _require_lengths(content)


def _turn_into_roles(content: Content, options: ReadOptions, labels: dict[str, Array] | None) -> None:
    """Turn variances, scores of class 1 and bounds of a real value into the arrays of a kind, each noted."""
    arrays = content.arrays
    if "variance" in arrays and "std" not in arrays:
        variance = arrays.pop("variance")
        with np.errstate(invalid="ignore"):  # a negative variance is a row that the checks name
            arrays["std"] = np.sqrt(np.asarray(variance, dtype=np.float64))
        content.note("the standard deviation is the square root of the variance")
    if "log_variance" in arrays and "std" not in arrays:
        with np.errstate(over="ignore"):  # an infinite deviation is a row that the checks name
            arrays["std"] = np.exp(0.5 * np.asarray(arrays.pop("log_variance"), dtype=np.float64))
        content.note("the standard deviation is computed from the natural logarithm of the variance")
    others = [made.leading for made in KINDS.values() if made.leading in arrays and made.leading != "counts"]
    if "score" in arrays and (others or content.lone is not None):
        content.note(f"not used: {described({'score': arrays.pop('score')})}")
    if "score" in arrays:
        observed = labels if labels is not None else arrays
        arrays["probs"] = columns_of_event(arrays.pop("score"), content, observed.get("y"))
    if options.claimed is not None or "claimed" in arrays:
        _split_ends(content)
    one_value = [name for name in ("lower", "upper") if name in arrays and arrays[name].ndim == 1]
    if options.claimed is not None:
        _require_same_claim(arrays.get("claimed"), options.claimed)
        arrays["claimed"] = np.array([options.claimed], dtype=np.float64)
    if one_value == ["lower", "upper"] and "claimed" in arrays and options.levels is None:
        arrays |= {"lower_end": arrays.pop("lower"), "upper_end": arrays.pop("upper")}
        content.note("`lower` and `upper` are read as intervals of a real value with a claimed coverage")
    elif one_value == ["lower", "upper"]:
        arrays["values"] = np.stack([arrays.pop("lower"), arrays.pop("upper")], axis=-1)
        arrays["levels"] = np.asarray(_levels_of_bounds(options), dtype=np.float64)
        content.note(f"`lower` and `upper` are read as quantiles at {arrays['levels'].tolist()}")
    if options.levels is not None and "values" in arrays and not one_value:
        arrays["levels"] = np.asarray(options.levels, dtype=np.float64)
    forecast = [name for name in arrays if name.lower() in ("y_pred", "pred", "prediction", "predictions")]
    if "std" in arrays and "mean" not in arrays and len(forecast) == 1:
        arrays["mean"] = arrays.pop(forecast[0])
        content.note(f"array {forecast[0]!r} is read as `mean`")


def _split_ends(content: Content) -> None:
    """Take columns `lo` and `hi`, or an array (n, 2, 1), as ends; without a claim they would be classes."""
    arrays = content.arrays
    pairs = next((name for name in arrays if name not in ROLES and arrays[name].shape[1:] == (2, 1)), None)
    if pairs is not None:
        content.note(f"{described({pairs: arrays[pairs]})} is read as `lower` and `upper`")
        both = arrays.pop(pairs)
        arrays |= {"lower": both[:, 0, 0], "upper": both[:, 1, 0]}
        content.lone = None
    names = list(content.classes or ())
    ends = [[name for name in names if end.search(name)] for end in ENDS]
    if content.lone != "columns" or [len(matches) for matches in ends] != [1, 1]:
        return
    columns = content.arrays.pop("columns")
    for role, (name,) in zip(("lower", "upper"), ends, strict=True):
        content.arrays[role] = columns[..., names.index(name)]
    content.notes = [note for note in content.notes if getattr(note, "code", "") != CLASS_EACH]
    content.note(f"columns {ends[0][0]!r} and {ends[1][0]!r} are read as `lower` and `upper`")
    if left := [name for name in names if [name] not in ends]:
        content.note(f"not used: columns {listed_names(left)}")
    content.classes = content.named_by = content.lone = None


def _require_same_claim(claims: Array | None, claimed: float) -> None:
    """Raise where a file claims another coverage than the caller says."""
    if claims is None or np.ravel(claims).tolist() == [claimed]:
        return
    raise InputError(
        "`claimed`",
        "must be left out, or agree with the file",
        f"the file says {np.ravel(claims).tolist()[0]:g}, you say {claimed:g}",
        Remedy("Leave out `claimed=`, or correct the file.", "Leave out `--claimed`, or correct the file."),
    )


_MEMBER_ARRAY = re.compile(
    r"(?:(?P<owner>member|model|net|network|seed|run|m)[_-]?)?(?P<first>\d+)?[_-]?"
    r"(?P<field>probs?|proba|probabilities|softmax|logits?|alphas?|preds?|predictions?)?[_-]?(?P<last>\d+)?",
    re.IGNORECASE,
)
"""Arrays of one member each: member_0, probs_0, model_0_probs."""


def _stack_members(content: Content) -> None:
    """Stack arrays that are numbered and alike in all else, one per member of an ensemble."""
    if content.lone is not None or any(kind.leading in content.arrays for kind in KINDS.values()):
        return
    groups: dict[tuple[str, str, tuple[int, ...]], dict[int, str]] = {}
    for name, array in content.arrays.items():
        match = _MEMBER_ARRAY.fullmatch(name)
        if match is None or array.ndim != 2 or array.dtype.kind not in "fiub":
            continue
        number = match["first"] or match["last"]
        if number is None or (match["first"] and match["last"]):
            continue
        field = (match["field"] or "").lower()
        groups.setdefault((match["owner"] or "", field, array.shape), {})[int(number)] = name
    stacks = [(key, members) for key, members in groups.items() if len(members) > 1]
    if len(stacks) != 1:
        return
    (owner, field, _), members = stacks[0]
    names = [members[number] for number in sorted(members)]
    alike = [name for key, stack in groups.items() if key[:2] == (owner, field) for name in stack.values()]
    whole = sorted(members) == [*range(min(members), min(members) + len(names))] and min(members) < 2
    if len(alike) > len(names) or not whole:
        raise InputError(
            "arrays of members",
            "must be numbered without gaps and have one shape",
            f"found {described({name: content.arrays[name] for name in alike[:6]})}",
            "Stack the members of one ensemble: `probs=numpy.stack(members, axis=1)`.",
        )
    role = "logits" if field.startswith("logit") else "alpha" if field.startswith("alpha") else "probs"
    stacked = np.stack([content.arrays.pop(name) for name in names], axis=1)
    content.member_axis = 1
    if field.startswith(("prob", "softmax", "logit", "alpha")):
        content.arrays[role] = stacked
    else:  # the names tell the members, not what their numbers are
        content.arrays["members"], content.lone = stacked, "members"
    content.note(f"arrays {names[0]} to {names[-1]} are read as {len(names)} members of one ensemble")


def _levels_of_bounds(options: ReadOptions) -> Sequence[float]:
    """Return the levels of two bounds of a real value, which a file does not tell."""
    if options.levels is None:
        raise InputError(
            "`lower` and `upper`",
            "must have levels, or a claimed coverage, if they bound a real value",
            "the file does not say what share lies between them",
            Remedy(
                "Use `claimed=0.9` for intervals that claim to contain 90 %, as conformal ones do, or "
                "`levels=[0.05, 0.95]` if they are quantiles.",
                "For intervals that claim to contain 90 %, as conformal ones do: `credibly evaluate FILE "
                "--claimed 0.9`; if they are quantiles: `--levels 0.05,0.95`.",
            ),
        )
    return options.levels


def use_canonical_names(content: Content) -> None:
    """Rename aliases in place and note each; two names for one thing are refused, not chosen from."""
    by_lower: dict[str, str] = {}
    for name in content.arrays:
        by_lower.setdefault(name.lower(), name)
    for wanted, role in ROLES.items():
        aliases = [by_lower[other] for other in (wanted, *role.aliases) if other in by_lower]
        if not role.aliases or wanted in content.arrays or not aliases:
            continue
        if len(aliases) > 1 and wanted == "id":
            aliases = aliases[:1]
        if len(aliases) > 1:
            raise InputError(
                f"the file's `{wanted}`",
                "must be one array",
                f"found {' and '.join(aliases)}",
                f"Rename the right one to {wanted!r}"
                + (f", or pass `labels={aliases[0]!r}`." if wanted == "y" else "."),
            )
        content.arrays[wanted] = content.arrays.pop(aliases[0])
        if wanted == "id":
            content.id_name = aliases[0]
        content.note(f"array {aliases[0]!r} is read as `{wanted}`")


_OBSERVED = ("y", "label_counts", "raters", "soft_labels")


def _choose_labels(content: Content, labels: dict[str, Array] | None) -> None:
    """Leave one array of labels: those given, or the file's own."""
    arrays = content.arrays
    if labels is not None:
        replaced = [name for name in _OBSERVED if arrays.pop(name, None) is not None]
        if replaced:
            content.note(f"the file's own `{replaced[0]}` is not used: `labels=` was given")
        arrays |= labels
    elif "y" not in arrays and not any(name in arrays for name in _OBSERVED):
        _only_integers(content)
    elif "y" in arrays and "label_counts" in arrays:
        del arrays["label_counts"]
        content.note(
            "the file holds `y` and `label_counts`; `y` is used. For the raters' counts: "
            "`labels='label_counts'`"
        )


def _only_integers(content: Content) -> None:
    """Read the only vector of integers that is as long as the predictions as the labels."""
    kind = str(content.kind)
    shape = content.leading.shape
    lengths = {int(length) for length in shape[: 2 if content.has_members else 1]}
    vectors = [
        name
        for name, array in content.arrays.items()
        if name not in ROLES
        and name.lower() not in (*PREDICTED, *ROW_NUMBERS)
        and array.dtype.kind in "iu"
        and array.shape in {(length,) for length in lengths} | {(length, 1) for length in lengths}
    ]
    if len(vectors) == 1 and kind not in ("gaussian", "samples", "quantiles", "counts"):
        content.arrays["y"] = content.arrays.pop(vectors[0])
        content.note(f"array {vectors[0]!r}, the only vector of integers, is read as `y`")


def _kind_by_name(content: Content, kind: str | None) -> str | None:
    """Return the kind the names tell, or None where only a nameless array is there."""
    arrays = content.arrays
    kinds = [name for name, made in KINDS.items() if made.leading in arrays]
    if "counts" in kinds and len(kinds) > 1 and kind != "counts":
        # Beside predictions, counts are what raters said.
        kinds.remove("counts")
        if "label_counts" not in arrays:
            arrays["label_counts"] = arrays.pop("counts")
            content.note("array 'counts' is read as `label_counts`, the raters' labels")
    if not kinds and "label_counts" in arrays and kind in (None, "counts") and content.lone is None:
        arrays["counts"] = arrays.pop("label_counts")
        content.note("the file contains only label counts; they are used as the predictions")
        kinds = ["counts"]
    if not kinds:
        find_lone(content)
        return None
    if kind is None and len(kinds) > 1:
        raise InputError(
            "the file",
            "must hold one kind of prediction, or the kind must be given",
            f"found {', '.join(kinds)}",
            " or ".join(f"`kind={name!r}`" for name in kinds) + ".",
        )
    if kind is not None and kind not in kinds:
        raise InputError(
            f"kind {kind!r}",
            f"needs the array `{KINDS[kind].leading}`",
            f"the file holds `{'`, `'.join(KINDS[name].leading for name in kinds)}`",
            f"Use `kind={kinds[0]!r}`, or rename the array.",
        )
    return kind or kinds[0]


def _without(kind: str, name: str) -> InputError:
    if name != "claimed":
        return needs(kind, f"`{name}` is not in the file", "Add it under this name.")
    return InputError(
        f"kind {kind!r}",
        "must say what share of labels the sets claim to contain",
        "`claimed` is not in the file",
        Remedy(
            "Add it under this name, or pass `claimed=0.9`.",
            "Add it, or use `credibly evaluate FILE --claimed 0.9`.",
        ),
    )


# Which axis is which


def _orient(content: Content, member_axis: int | None) -> None:
    """Put the members second; where the order is not known, raise and name the keyword."""
    require(member_axis in (None, 0, 1), "must be 0 or 1", "Move the axis first.", member_axis=member_axis)
    made, array = KINDS[str(content.kind)], content.leading
    name = made.leading
    if not content.has_members:
        if content.kind == "samples" and member_axis is None:
            _turn_draws(content)
        if member_axis is not None:
            content.note(f"`member_axis` is not used: `{name}` has no member axis")
        return
    first, second = array.shape[:2]
    axis = content.member_axis if member_axis is None else member_axis
    if axis is None:
        n = _told_length(content)
        if n == second != first:
            axis = 0
            content.note(
                f"`{name}` {tuple(array.shape)} is read as {first} members of {second} instances, as many as "
                "there are labels or ids (`member_axis=0`)"
            )
        elif (n is None and first <= second > 1) or n == second:
            why = f"there are {n} labels or ids"
            if n is None:
                why = "nothing in the file shows which axis holds the instances"
            raise InputError(
                f"`{name}`",
                "must say which axis holds the members",
                f"got shape {tuple(array.shape)} and {why}",
                "Use `member_axis=0` for (members, instances, ...) or `member_axis=1` "
                "for (instances, members, ...).",
            )
        else:
            content.note(f"`{name}` {tuple(array.shape)} is read as {first} instances of {second} members")
    if axis == 0:
        rows = {
            key: other for key, other in content.rows.items() if key in made.fields or key == "member_weights"
        }
        content.arrays |= {
            key: np.moveaxis(other, 0, 1) for key, other in rows.items() if other.ndim == array.ndim
        }


def _told_length(content: Content) -> int | None:
    """Return how many instances the arrays beside the predictions tell, None where they do not."""
    moved = FIELDS | {"member_weights"}  # whatever has members may have them first
    beside = [other for key, other in content.rows.items() if key not in moved and other.ndim]
    lengths = {int(other.shape[0]) for other in beside}
    return lengths.pop() if len(lengths) == 1 else None


def _turn_draws(content: Content) -> None:
    """Put instances first where draws are (s, n) and labels or ids tell n."""
    draws = content.leading
    if draws.ndim != 2:
        return
    first, second = draws.shape
    if first == second > 1:
        one_row = "are read as one row per instance; draws are along the second axis"
        content.note(f"`samples` ({first}, {first}) {one_row}")
    elif first != second == _told_length(content):
        content.arrays["samples"] = draws.T
        content.note(
            f"`samples` {first, second} are read as {first} draws of {second} instances, as many as there "
            "are labels or ids"
        )


def _require_lengths(content: Content) -> None:
    leading, n = content.leading, content.n if content.leading.ndim else 0
    for name, array in content.arrays.items():
        if ROLES[name].per == "file":
            continue
        if array.ndim == 0:
            one_each = "must have one entry per instance"
            raise InputError(f"`{name}`", one_each, "got a single value", "Check it.")
        if ROLES[name].per == "instance" and array.shape[0] != n:
            remedy = "Check that both come from the same split."
            if name == "y" and array.shape[0] > n:
                remedy += " If several people labelled each row, name the columns id, rater and label."
            if leading.ndim > 1 and leading.shape[1] == array.shape[0]:
                remedy = "The predictions look transposed: instances come first."
                if content.has_members:
                    remedy = "Axis 1 of the predictions fits: use the other `member_axis`."
            raise InputError(
                f"`{name}`", f"must have one entry per prediction ({n})", f"got {array.shape[0]}", remedy
            )
