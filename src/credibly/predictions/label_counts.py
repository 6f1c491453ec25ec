"""How many raters gave each label: counts, soft labels and tables of annotations."""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar

import numpy as np

from credibly._arrays.checks import (
    as_array,
    as_real,
    require_classes,
    require_finite,
    require_integer,
    require_rows,
    require_shape,
)
from credibly._arrays.errors import InputError, InputTypeError
from credibly._arrays.namespace import Array, is_array, namespace, to_host
from credibly._arrays.philox import as_seed
from credibly.predictions.annotations import count_table, soft_counts, subsampled
from credibly.predictions.base import Predictions
from credibly.predictions.label_checks import NAMED_CLASSES, check_classes

_MOST_RATERS = 2**53  # exact in double precision


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
        label = as_array(labels, "labels", NAMED_CLASSES)
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
