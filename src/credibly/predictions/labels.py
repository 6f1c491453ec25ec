"""Labels: what was observed, as one vector or as a batch of replicates, and as counts over raters."""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar

import numpy as np

from credibly._arrays.checks import (
    as_array,
    as_real,
    describe_rows,
    find_rows,
    require_classes,
    require_finite,
    require_integer,
    require_rows,
    require_shape,
)
from credibly._arrays.errors import InputError, InputTypeError
from credibly._arrays.namespace import (
    Array,
    as_float64,
    beside,
    is_array,
    is_numpy,
    namespace,
    to_host,
)
from credibly._arrays.philox import as_seed
from credibly.predictions.annotations import count_table, soft_counts, subsampled
from credibly.predictions.base import ClassPredictions, Predictions
from credibly.predictions.batches import Classes, Counts, Labels, Reals
from credibly.predictions.point import Point

_MOST_RATERS = 2**53  # exact in double precision
_NAMED_CLASSES = "Pass one class index from 0 to k - 1 per entry; map class names to indices first."


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class LabelCounts(Predictions):
    """How many raters gave each label to each instance.

    Parameters
    ----------
    counts : array (n, k)
        Whole numbers, not negative, at least one rater per instance.

    Examples
    --------
    >>> import credibly as cr
    >>> cr.LabelCounts([[3, 1], [0, 5]]).totals
    array([4, 5])
    """

    counts: Array
    row_fields: ClassVar[tuple[str, ...]] = ("counts",)

    def __post_init__(self) -> None:
        counts = as_array(self.counts, "counts")
        require_shape(counts, "counts", ("(n, k)",))
        require_classes(counts.shape[-1], "counts")
        xp = namespace(counts)
        if not xp.isdtype(counts.dtype, "integral"):
            counts = as_real(counts, "counts")
            require_finite(counts, "counts")
            require_rows(
                (counts,),
                lambda block: block != xp.round(block),
                name="counts",
                rule="must be whole numbers",
                fact=lambda row: f"holds {row[row != np.round(row)][0]:.6g}",
                remedy="For frequencies use `LabelCounts.from_soft(frequencies, n_raters)`.",
            )
        require_rows(
            (counts,),
            lambda block: (block < 0) | (xp.sum(block, axis=-1, keepdims=True) < 1),
            name="counts",
            rule="must not be negative, with at least one rater per row",
            fact=lambda row: f"has minimum {row.min():g} and total {row.sum():g}",
            remedy="Drop instances without raters.",
        )
        require_rows(
            (counts,),
            lambda block: xp.astype(block, xp.float64) > _MOST_RATERS,
            name="counts",
            rule=f"must not exceed {_MOST_RATERS}",
            fact=lambda row: f"holds {row.max():g}",
            remedy="Check that these are numbers of raters.",
        )
        self._set(counts=xp.astype(counts, xp.int64))

    @classmethod
    def from_annotations(
        cls, ids: Any, raters: Any, labels: Any, *, n_classes: int
    ) -> tuple[LabelCounts, np.ndarray[Any, Any]]:
        """Count a long table of annotations: one row per (instance, rater, label).

        Parameters
        ----------
        ids : sequence
            Instance of every annotation.
        raters : sequence
            Who gave it.
        labels : sequence of int
            The class given.
        n_classes : int
            Number of classes; never inferred from the labels.

        Returns
        -------
        counts : LabelCounts
            One row per distinct instance.
        ids : ndarray
            The instance of every row, in order of first appearance.
        """
        n_classes = require_integer(n_classes, "n_classes", 2)
        instance, rater = _names(ids, "ids"), _names(raters, "raters")
        label = as_array(labels, "labels", _NAMED_CLASSES)
        shapes = (instance.shape, rater.shape, tuple(label.shape))
        if len(set(shapes)) != 1 or len(shapes[0]) != 1 or shapes[0] == (0,):
            raise InputError(
                "`ids`, `raters` and `labels`",
                "must be vectors of one common, positive length",
                f"got shapes {shapes}",
                "Give one entry per annotation in each.",
            )
        classes = to_host(check_classes(label, n_classes))
        unique, first, row = np.unique(instance, return_index=True, return_inverse=True)
        _, who = np.unique(rater, return_inverse=True)
        _require_single_annotations(row, who, classes, instance, rater)
        order = np.argsort(first, kind="stable")
        rank = np.empty_like(order)
        rank[order] = np.arange(order.size)
        pairs = np.unique(np.stack([rank[row], who, classes], axis=1), axis=0)
        counts = np.zeros((unique.size, n_classes), dtype=np.int64)
        np.add.at(counts, (pairs[:, 0], pairs[:, 2]), 1)
        return cls(counts), unique[order]

    @classmethod
    def from_table(cls, table: Any, *, n_classes: int, missing: int | None = None) -> LabelCounts:
        """Count a wide table of annotations: one row per instance, one column per rater, with gaps.

        Parameters
        ----------
        table : array (n, raters)
            Class indices; None, NaN and masked entries are gaps.
        n_classes : int
            Number of classes; never inferred from the labels.
        missing : int, optional
            A number that marks gaps, -1 say.

        Returns
        -------
        LabelCounts
            One row per row of the table.
        """
        return cls(count_table(table, n_classes, missing))

    @classmethod
    def from_soft(cls, frequencies: Any, n_raters: Any) -> LabelCounts:
        """Make counts from label frequencies and the number of raters behind them.

        Parameters
        ----------
        frequencies : array (n, k)
            Rows are distributions. Where they times `n_raters` are not whole, they are used as given, which
            the notes say.
        n_raters : int or array (n,) of int
            Raters per instance.

        Returns
        -------
        LabelCounts
            The counts; whole unless the frequencies are not.
        """
        counts, notes = soft_counts(frequencies, n_raters)
        require_classes(counts.shape[-1], "frequencies")
        made = object.__new__(cls)
        made._set(counts=counts, notes=notes)
        return made

    def draw(self, rng: Any = None) -> Array:
        """Draw one rater per instance: labels for what takes a single label per instance.

        Parameters
        ----------
        rng : None, int or Generator
            Seed; drawn on the host, so a seed gives the same labels on every device.

        Returns
        -------
        array (n,)
            The drawn raters' classes.
        """
        one = self.subsample(1, rng=rng).counts
        return namespace(one).argmax(one, axis=-1)

    def subsample(self, n_raters: int, *, rng: Any = None) -> LabelCounts:
        """Keep `n_raters` raters per instance, drawn without replacement.

        Parameters
        ----------
        n_raters : int
            Raters to keep; instances with fewer keep all of theirs.
        rng : None, int or Generator
            Seed.

        Returns
        -------
        LabelCounts
            Counts over the kept raters.
        """
        drawn = subsampled(self.counts, n_raters, np.random.default_rng(as_seed(rng)))
        return self.replace_rows(counts=drawn)

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return int(self.counts.shape[-1])

    @property
    def totals(self) -> Array:
        """Raters per instance, (n,); whole also where soft labels are not."""
        xp = namespace(self.counts)
        totals = xp.sum(self.counts, axis=-1)
        return totals if xp.isdtype(totals.dtype, "integral") else xp.round(totals)

    def frequencies(self) -> Array:
        """Return the share of raters per class, (n, k)."""
        xp = namespace(self.counts)
        return xp.astype(self.counts, xp.float64) / xp.astype(self.totals, xp.float64)[:, None]

    def _facts(self) -> str:
        totals = to_host(self.totals)
        return f"n={len(self)}, k={self.n_classes}, raters {totals.min():g} to {totals.max():g}"


def as_labels(predictions: Predictions, labels: Any, sample_weight: Any = None) -> Labels:
    """Check labels against predictions and return them as a batch of one (or of the given rows)."""
    if isinstance(labels, (Classes, Counts, Reals)):
        return labels
    weights = None if sample_weight is None else check_sample_weight(sample_weight, predictions)
    if isinstance(labels, LabelCounts):
        require_same_length(predictions, labels.counts, "label counts")
        if isinstance(predictions, ClassPredictions) and labels.n_classes != predictions.n_classes:
            raise InputError(
                "label counts",
                f"must have {predictions.n_classes} classes like the predictions",
                f"got {labels.n_classes}",
                "Add empty columns for classes no rater chose.",
            )
        namespace(predictions._leading, labels.counts)
        return Counts(labels.counts[None, ...], weights)
    if isinstance(labels, Predictions):
        raise InputTypeError(
            "`labels`",
            "must be what was observed",
            f"got {type(labels).__name__}",
            "Pass predictions first, then labels: `f(predictions, labels)`.",
        )
    array = beside(as_array(labels, "labels", _NAMED_CLASSES), labels, predictions._leading)
    if isinstance(predictions, ClassPredictions):
        require_label_vector(predictions, array)
        return Classes(check_classes(array, predictions.n_classes)[None, :], predictions.n_classes, weights)
    require_label_vector(predictions, array)
    reals = as_real(array, "labels")
    require_finite(reals, "labels")
    return Reals(as_float64(reals)[None, :], weights)


def require_same_length(predictions: Predictions, labels: Array, what: str) -> None:
    """Raise unless there is one label per prediction; name the keyword that fits another axis order."""
    n, given = len(predictions), int(labels.shape[0])
    if n == given:
        return
    shape = tuple(predictions._leading.shape)
    if len(shape) == 3 and shape[1] == given:
        remedy = f"Axis 1 has {given} entries: for members-first input pass `member_axis=0`."
    elif len(shape) == 2 and shape[1] == given:
        remedy = "The predictions look transposed: instances come first."
    else:
        remedy = "Check that both come from the same split."
    raise InputError(what, f"must have one entry per prediction ({n})", f"got {given}", remedy)


def require_label_vector(predictions: Predictions, labels: Array) -> None:
    """Raise unless `labels` is one vector as long as the predictions; one-hot and swapped input is named."""
    shape = tuple(labels.shape)
    if isinstance(predictions, ClassPredictions) and shape == (len(predictions), predictions.n_classes):
        raise InputError(
            "`labels`",
            "must be one class index per instance",
            f"got shape {shape}",
            "For one-hot labels use `labels.argmax(axis=1)`; for counts `LabelCounts(labels)`.",
        )
    if labels.ndim != 1:
        raise InputError(
            "`labels`",
            "must have shape (n,)",
            f"got shape {shape}",
            "Flatten them: `labels.reshape(-1)`."
            if shape == (len(predictions), 1)
            else "Pass predictions first, then labels: `f(predictions, labels)`.",
        )
    require_same_length(predictions, labels, "labels")


def check_classes(labels: Array, n_classes: int) -> Array:
    """Return integer class labels in range; floats, masks and foreign values are refused."""
    xp = namespace(labels)
    if not xp.isdtype(labels.dtype, ("integral", "bool")):
        remedy = "These look like real observations: use a regression prediction type."
        if bool(xp.any(labels != labels)):
            remedy = "Some are NaN: drop the instances without a label, then `labels.astype(int)`."
        elif bool(xp.all(labels == xp.round(labels))):
            remedy = "Convert with `labels.astype(int)`."
        raise InputTypeError(
            "`labels`", "must be integers for classification", f"got dtype {labels.dtype}", remedy
        )
    # Small types cannot be compared with a large number of classes: torch wraps it around.
    wide = labels if is_numpy(labels) and labels.dtype != bool else xp.astype(labels, xp.int64)
    if not 0 <= int(xp.min(wide)) <= int(xp.max(wide)) < n_classes:
        bad = find_rows((wide,), lambda block: (block < 0) | (block >= n_classes))
        value = int(labels[bad[0]])
        remedy = "Map unlabelled instances out first."
        if value == n_classes and int(xp.min(labels)) >= 1:
            remedy = "Labels seem to start at 1: subtract 1."
        raise InputError(
            "`labels`",
            f"must lie between 0 and {n_classes - 1} for {n_classes} classes",
            describe_rows(bad, f"is {value}", labels.shape[0]),
            remedy,
        )
    return xp.astype(labels, label_dtype(xp, n_classes))


def label_dtype(xp: Any, n_classes: int) -> Any:
    """Return the smallest integer type that holds the labels: batches of replicates are large."""
    return xp.uint8 if n_classes <= 256 else xp.int32


def check_sample_weight(sample_weight: Any, predictions: Predictions) -> Array:
    """Return instance weights as (1, n), finite, non-negative and not all zero."""
    weights = as_real(sample_weight, "sample_weight")
    weights = beside(weights, sample_weight, predictions._leading, what="predictions and `sample_weight`")
    if weights.ndim != 1:
        raise InputError(
            "`sample_weight`", "must have shape (n,)", f"got {tuple(weights.shape)}", "Flatten it."
        )
    require_same_length(predictions, weights, "`sample_weight`")
    require_finite(weights, "sample_weight")
    xp = namespace(weights)
    if bool(xp.any(weights < 0)) or float(xp.sum(weights)) <= 0:
        raise InputError(
            "`sample_weight`",
            "must be non-negative with a positive sum",
            f"got minimum {float(xp.min(weights)):.6g} and sum {float(xp.sum(weights)):.6g}",
            "Drop the instances that must not count.",
        )
    return as_float64(weights)[None, :]


def as_point(predictions: Predictions) -> tuple[Point, tuple[str, ...]]:
    """Return the one distribution per instance and the note that says how it was made."""
    if isinstance(predictions, Point):
        return predictions, predictions.notes
    if isinstance(predictions, ClassPredictions):
        return predictions.mean(), (*predictions.notes, predictions.mean_note)
    raise InputTypeError(
        "predictions",
        "must be over classes",
        f"got {type(predictions).__name__}",
        "Use a statistic for real-valued predictions.",
    )


def _require_single_annotations(
    row: Array, who: Array, classes: Array, instance: Array, rater: Array
) -> None:
    """Raise if one rater gave one instance two different labels; exact repeats are counted once."""
    order = np.lexsort((classes, who, row))
    same = (np.diff(row[order]) == 0) & (np.diff(who[order]) == 0) & (np.diff(classes[order]) != 0)
    if same.any():
        where = order[1:][same][0]
        raise InputError(
            "annotations",
            "must give one label per instance and rater",
            f"rater {rater[where]!s} labelled instance {instance[where]!s} in two ways "
            f"({int(same.sum())} conflicts)",
            "Keep one of them, or give the second pass a rater name of its own.",
        )


def _names(values: Any, name: str) -> np.ndarray[Any, Any]:
    """Return instance or rater names as a host array that can be sorted; missing ones are refused."""
    array = np.asarray(to_host(values) if is_array(values) else values)
    # NaN differs from itself, pandas.NA answers neither way
    missing = [entry is None or (entry != entry) is not False for entry in array.ravel().tolist()]
    if any(missing):
        raise InputError(
            f"`{name}`", "must not be missing", f"entry {missing.index(True)} is", "Drop these annotations."
        )
    try:
        np.sort(array, axis=None)
    except TypeError:
        kinds = sorted({type(entry).__name__ for entry in array.ravel().tolist()})
        raise InputTypeError(
            f"`{name}`", "must be of one kind", f"got {' and '.join(kinds)}", "Convert them with `str`."
        ) from None
    return array


def number_of_axes(value: Any) -> int | None:
    """Return how many axes an array, table or nested sequence has; None for anything else."""
    if not isinstance(value, (list, tuple)):
        shape = getattr(value, "shape", None)
        return None if shape is None else len(shape)
    inner = number_of_axes(value[0]) if value else 0
    return 1 if inner is None else 1 + inner
