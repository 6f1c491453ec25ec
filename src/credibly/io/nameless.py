"""What an array without a known name is: read as probabilities where its numbers say so, else explained.

Never guessed: the error says what the numbers look like, and which word would settle it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from credibly._arrays.checks import row_tiles, sum_tolerance
from credibly._arrays.errors import InputError, Remedy
from credibly._arrays.namespace import Array
from credibly._arrays.notes import Note
from credibly.io.column_names import names_an_event
from credibly.io.roles import BESIDE, FIELDS, KINDS, ROLES, Content, ReadOptions, described
from credibly.predictions.convert import require_no_confidence
from credibly.predictions.given import ROUTINE
from credibly.predictions.point import both_classes, rounding_of

ENDS = [
    re.compile(rf"(?:^|[_. -])(?:{words})(?:$|[_. -]|\d)", re.IGNORECASE)
    for words in ("lower|low|lo|lwr|lb", "upper|high|hi|upr|ub")
]
"""Names of columns that are lower and upper ends of intervals, such as yhat_lower and model-hi-90."""


def find_lone(content: Content) -> None:
    """Settle on the one array that can be predictions, or say what was found."""
    if content.lone is not None:
        return
    candidates = [
        name
        for name, array in content.arrays.items()
        if name not in BESIDE and name not in FIELDS and array.ndim >= 2 and array.dtype.kind in "fiub"
    ]
    if not candidates and set(content.arrays) & {"y", "label_counts", "raters"}:
        raise InputError(
            "the file",
            "must hold predictions",
            f"it holds only {described(dict(list(content.arrays.items())[:12]))}",
            "Give the file of the predictions first, and the labels with `labels=`.",
        )
    if len(candidates) != 1:
        raise InputError(
            "the file",
            f"must name its predictions ({', '.join(kind.leading for kind in KINDS.values())})",
            f"found {described(dict(list(content.arrays.items())[:12])) or 'no arrays'}",
            "Rename the array, for example `numpy.savez(path, probs=probs, y=labels)`.",
        )
    content.lone = candidates[0]


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
            content.arrays |= {content.lone: rest, "y": label.astype(np.int64)}
            content.note(f"the {where} of {matrix.shape[1]} columns is read as the label")
            return


def kind_of_lone(content: Content, options: ReadOptions) -> str:
    """Give the nameless array its role and return the kind."""
    kind = options.plain_kind
    name = str(content.lone)
    array = content.arrays[name]
    shape = described({name: array})
    rule = remedy = ""
    if kind in (None, "probs") and _is_score(array):
        content.arrays["probs"] = columns_of_event(content.arrays.pop(name), content, content.arrays.get("y"))
        content.lone = None
        return "probs"
    if array.dtype.kind not in "fiub":
        rule, remedy = "be numbers", "Check the file's columns."
    elif kind is not None and len(KINDS[kind].fields) > 1:
        together = "Put them into one file under these names, with `numpy.savez`."
        raise needs(kind, f"the file holds one array, {shape}", together)
    elif array.ndim not in (2, 3, 4):  # pixels of images have four
        rule = f"have shape {ROLES['probs'].shape}"
        remedy = "Scores of class 1 lie between 0 and 1; if these are labels, give them with `labels=`."
    elif 0 in array.shape:
        rule, remedy = "have at least one row", "Check the file."
    elif array.shape[-1] == 1 and kind in (None, "probs"):
        rule, remedy = "have one column per class", "One column must be the probability of class 1."
        if array.shape[1:] == (2, 1):
            remedy = _CLAIM
    if rule:
        raise InputError("predictions", f"must {rule}", f"got {shape}", remedy)
    if kind is None:
        share = share_of_distributions(array)
        if share < 0.5 and options.normalise and rounding_of(np.asarray(array)) is not None:
            share = 1.0
        if share < 0.5:
            looks, remedy = _looks_like(array, content.classes)
            if "claimed" in content.arrays:
                remedy = (
                    "With a claimed coverage, name the ends of intervals `lower` and `upper`, or the columns "
                    "of sets `in_set_CLASS`, with 0 and 1."
                )
            elif all(any(map(end.search, content.classes or ())) for end in ENDS):
                remedy = _CLAIM
            raise InputError(
                "predictions",
                "must be rows of probabilities if no kind is given",
                f"got {shape}, {'most of ' * (share > 0)}whose rows do not sum to 1; {looks}",
                remedy,
            )
        how_many = "all" if share == 1 else f"{share:.2%} of the"
        words = f"{how_many} rows sum to 1, so the array is read as probabilities (`kind='probs'`)"
        content.note(Note(ROUTINE, f"no kind was given; {words}"))
        kind = "probs"
    content.arrays[KINDS[kind].leading] = content.arrays.pop(name)
    content.lone = None
    return kind


def share_of_distributions(array: Array) -> float:
    """Return the share of last-axis rows that are not negative and sum to 1."""
    good = total = 0
    for _, rows in row_tiles(array):
        values = np.asarray(rows, dtype=np.float64)
        tolerance = sum_tolerance(rows if rows.dtype.kind == "f" else values)
        with np.errstate(invalid="ignore", over="ignore"):  # infinities are told later, with their rows
            sums_to_1 = (np.abs(values.sum(axis=-1) - 1) <= tolerance) & (values >= -1e-6).all(axis=-1)
        good += int(sums_to_1.sum())
        total += sums_to_1.size
    return good / total


def _is_score(array: Array) -> bool:
    """Tell whether it is one number between 0 and 1 per instance."""
    single_column = array.ndim == 1 or (array.ndim == 2 and array.shape[1] == 1)
    if not single_column or array.dtype.kind != "f" or not array.size:
        return False
    with np.errstate(invalid="ignore"):
        return bool(((array >= 0) & (array <= 1)).all())


def _looks_like(array: Array, names: Sequence[str] | None) -> tuple[str, str]:
    """Return what the numbers look like and what to do about it."""
    rounded = rounding_of(np.asarray(array)) if array.size <= 2**24 else None
    if rounded is not None:
        return f"they look like {rounded}", "`normalise=True` divides each row by its sum."
    extra = None if names is None else _extra_column(np.asarray(array), names)
    if extra is not None:
        return (
            f"without the column {extra!r} all rows do",
            Remedy(f"Use `exclude=[{extra!r}]`.", f"Use `exclude={extra}`."),
        )
    low, high, whole, zeros = np.inf, -np.inf, True, False
    with np.errstate(all="ignore"):
        for _, rows in row_tiles(array):
            values = np.asarray(rows, dtype=np.float64)
            finite = values[np.isfinite(values)]
            if finite.size:
                low, high = min(low, float(finite.min())), max(high, float(finite.max()))
                whole = whole and bool((finite == np.round(finite)).all())
                zeros = zeros or bool((finite == 0).any())
    span = f"entries lie between {low:.4g} and {high:.4g}"
    if not low <= high:
        return "no entry is finite", "Check how the file was made."
    axis = _axis_of_classes(array)
    if axis is not None:
        return (
            f"sums along axis {axis} are 1, as if the classes were there",
            "Put the classes on the last axis: `numpy.moveaxis(array, axis, -1)`.",
        )
    if whole and low >= 0 and high > 1:
        return f"{span}, all whole, like label counts", _say("counts")
    if low < 0:
        return f"{span}, like logits", _say("logits") + " For draws of a real quantity: `kind='samples'`."
    if high <= 1 + 1e-6:
        return (
            f"{span}, like beliefs of focal sets or one-against-rest scores",
            Remedy(
                "Save beliefs with their `focal_sets` in one .npz; normalise scores with "
                "`Point.from_scores`.",
                "Save beliefs with their `focal_sets` in one .npz; divide scores by their sum in each row.",
            ),
        )
    if not zeros:
        return f"{span}, all positive, like Dirichlet parameters", _say("alpha")
    return (
        f"{span}, with zeros, like evidence or scores",
        Remedy(
            "For evidence save `alpha = evidence + 1`; scores can be normalised with `Point.from_scores`.",
            "For evidence save `alpha = evidence + 1`; divide scores by their sum in each row.",
        ),
    )


def _extra_column(array: Array, names: Sequence[str]) -> str | None:
    """Return the one column without which all rows sum to 1, or to 100; None where there is none."""
    if (
        array.ndim != 2
        or len(names) != array.shape[1]
        or array.shape[1] < 3
        or array.dtype.kind not in "fiub"
    ):
        return None
    totals = array.sum(axis=1, dtype=np.float64)
    for j, name in enumerate(names):
        rest = totals - array[:, j]
        if (np.abs(rest - 1) < 1e-3).all() or (np.abs(rest - 100) < 0.1).all():
            return name
    return None


def _say(kind: str) -> str:
    return f"If so, use `kind={kind!r}`."


def _axis_of_classes(array: Array) -> int | None:
    """Return which other axis sums to 1, for arrays small enough to look."""
    if array.size > 2**24:
        return None
    with np.errstate(all="ignore"):
        for axis in range(array.ndim - 1):
            if (np.abs(array.sum(axis=axis, dtype=np.float64) - 1) < 1e-3).all():
                return axis
    return None


_CLAIM = Remedy(
    "For intervals of a real value that claim to contain 90 %, use `claimed=0.9`.",
    "For intervals of a real value that claim to contain 90 %, use `--claimed 0.9`.",
)
_CLASS_0 = ("0", "neg", "negative", "no", "false")
"""What a column of the class that everybody counts as 0 is named after."""


def columns_of_event(scores: Array, content: Content, labels: Array | None) -> Array:
    """Return probabilities of class 1 as two columns; labels that are two names need an order."""
    column = scores if scores.ndim == 1 else scores[:, 0] if scores.shape[1:] == (1,) else scores
    if column.ndim != 1:
        return _scores_of_members(column, content, labels)
    named, order = content.positive or "", content.label_order or ()
    if not names_an_event(named):
        require_no_confidence(column, labels)
    probs: Array = both_classes(column)
    words = sorted(set(labels.ravel().tolist())) if labels is not None and labels.dtype.kind == "U" else []
    place = 0 if named.lower() in _CLASS_0 else 1
    if named in order:
        place = order.index(named)
    elif named in words and len(words) == 2 and not order:
        content.classes, place = (next(word for word in words if word != named), named), 1
    elif place and not words and not order and content.classes is None and names_an_event(named):
        content.classes = (f"not {named}", named)
        content.note(f"the event is called {named!r}, after its column")
    content.note(f"scores are read as the probability of class {place}; class {1 - place} has the rest")
    return probs if place else probs[:, ::-1]


def _scores_of_members(scores: Array, content: Content, labels: Array | None) -> Array:
    """Return the probabilities of class 1 by several members as an ensemble, or the classes that they are."""
    shape = tuple(scores.shape)
    if scores.ndim == 2 and scores.dtype.kind == "f" and share_of_distributions(scores) == 1:
        content.note(f"`score` {shape} is read as probabilities of {shape[1]} classes: all rows sum to 1")
        return scores
    inside = scores.dtype.kind == "f" and bool(((scores >= 0) & (scores <= 1)).all())
    two = labels is not None and len(np.unique(labels)) <= 2
    if scores.ndim != 2 or not inside or not two or min(shape) < 3:
        raise InputError(
            "`score`",
            "must have shape (n,) or (n, 1), or (n, members) beside labels of two classes",
            f"got {shape}, which may be one column per class or one per member",
            "For classes name it `probs` (rows sum to 1) or `logits`; for members save both classes: "
            "`probs=numpy.stack([1 - p, p], axis=-1)`.",
        )
    content.note("scores are read as the probability of class 1 by every member; class 0 has the rest")
    return np.stack([1 - scores, scores], axis=-1)


def needs(kind: str, evidence: str, remedy: str) -> InputError:
    """Return the error of a file that lacks some of the arrays of its kind."""
    words = f"needs the arrays `{'` and `'.join(KINDS[kind].fields)}`"
    return InputError(f"kind {kind!r}", words, evidence, remedy)
