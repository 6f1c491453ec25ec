"""How many raters gave each label: counts, soft labels, and wide or long tables of annotations."""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar

import numpy as np

from credibly._arrays.checks import (
    as_array,
    as_real,
    missing_entries,
    require_distributions,
    require_integer,
    require_rows,
    require_shape,
)
from credibly._arrays.errors import InputError, InputTypeError, require
from credibly._arrays.namespace import Array, HostArray, as_float64, is_array, like, namespace, to_host
from credibly._arrays.notes import counted
from credibly._arrays.philox import as_seed
from credibly._arrays.sums import count_cells
from credibly.predictions.base import Predictions
from credibly.predictions.label_checks import NAMED_CLASSES, check_classes, whole_numbers

_WHOLE = 1e-3  # soft labels times raters that are this close to whole numbers are counts that were divided


def _cells(table: Any) -> HostArray:
    """Return the labels in a table as numbers: None, NaN and masked entries are NaN."""
    if is_array(table):
        table = to_host(table)
    elif hasattr(table, "to_numpy"):
        table = table.to_numpy()
    try:
        values = np.asarray(table)
    except ValueError:  # ragged lists
        values = np.empty(0)
    require(
        values.ndim == 2 and 0 not in values.shape,
        "must have shape (n, raters)",
        "Give one row per instance and one column per rater, gaps as None or NaN.",
        table=values,
    )
    gap = np.ma.getmaskarray(table) | missing_entries(values)
    try:
        return np.where(gap, np.nan, np.where(gap, 0, values).astype(np.float64))
    except (TypeError, ValueError):
        raise InputTypeError(
            "`table`",
            "must hold class indices and gaps",
            f"got {str(values[~gap][0])!r}",
            "Map class names to indices from 0 to k - 1 first.",
        ) from None


_MOST_RATERS = 2**53  # exact in double precision


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class LabelCounts(Predictions):
    """How many raters gave each label to each instance.

    Parameters
    ----------
    counts : array (n, k)
        Whole numbers, not negative, at least one rater per instance.

    Attributes
    ----------
    rater_of, label_of : ndarray (n, r) or None
        Who gave the labels of every instance, as places in `rater_names`, and which labels; -1 fills rows
        with fewer labels. None if only counts are known.
    rater_names : tuple of str or None
        Names of the raters.

    Examples
    --------
    >>> import credibly as cr
    >>> cr.LabelCounts([[3, 1], [0, 5]]).totals
    array([4, 5])
    """

    counts: Array
    rater_of: HostArray | None = dataclasses.field(default=None, init=False)
    label_of: HostArray | None = dataclasses.field(default=None, init=False)
    rater_names: tuple[str, ...] | None = dataclasses.field(default=None, init=False)
    row_fields: ClassVar[tuple[str, ...]] = ("counts",)
    companions: ClassVar[tuple[str, ...]] = ("rater_of", "label_of")

    def __post_init__(self) -> None:
        counts = as_array(self.counts, "counts")
        require_shape(counts, "counts", "(n, k)")
        xp = namespace(counts)
        if not xp.isdtype(counts.dtype, "integral"):
            counts = as_real(counts, "counts")
            require_rows(
                (counts,),
                lambda rows: ~xp.isfinite(rows) | (rows != xp.round(rows)),
                name="counts",
                rule="must be whole numbers",
                remedy="For frequencies use `LabelCounts.from_soft(frequencies, n_raters)`.",
            )
        require_rows(
            (counts,),
            lambda rows: (
                (rows < 0)
                | (xp.astype(rows, xp.float64) > _MOST_RATERS)
                | (xp.sum(rows, axis=-1, keepdims=True) < 1)
            ),
            name="counts",
            rule=f"must lie between 0 and {_MOST_RATERS}, with at least one rater per row",
            fact=lambda row: f"holds {row.min():g} to {row.max():g}, in all {row.sum():g}",
            remedy="Drop instances without raters, and check that these are numbers of raters.",
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
        classes = to_host(check_classes(whole_numbers(label, []), n_classes))
        unique, first, row = np.unique(instance, return_index=True, return_inverse=True)
        people, who = np.unique(rater, return_inverse=True)
        # exact repeats are counted once
        row, who, chosen = np.unique(np.stack([row, who, classes], axis=1), axis=0).T
        twice = np.flatnonzero((np.diff(row) == 0) & (np.diff(who) == 0))
        if twice.size:
            where = twice[0]
            raise InputError(
                "annotations",
                "must give one label per instance and rater",
                f"rater {people[who[where]]!s} labelled instance {unique[row[where]]!s} in two ways "
                f"({counted(twice.size, 'conflict')})",
                "Keep one of them, or give the second pass a rater name of its own.",
            )
        counts = np.zeros((unique.size, n_classes), dtype=np.int64)
        np.add.at(counts, (row, chosen), 1)
        order = np.argsort(first, kind="stable")
        made = cls(counts[order])
        made._remember(np.argsort(order, kind="stable")[row], who, chosen, tuple(map(str, people.tolist())))
        return made, unique[order]

    def _remember(self, row: HostArray, rater: HostArray, label: HostArray, names: tuple[str, ...]) -> None:
        """Keep who gave which label to which row, (t,) each."""
        order = np.lexsort((rater, row))
        row, rater, label = row[order], rater[order], label[order]
        sizes = np.bincount(row, minlength=len(self))
        place = np.arange(row.size) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        tables = np.full((2, len(self), int(sizes.max())), -1)
        tables[:, row, place] = rater, label
        self._set(rater_of=tables[0], label_of=tables[1], rater_names=names)

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
            A number that marks gaps, for example -1.

        Returns
        -------
        LabelCounts
            One row per row of the table.
        """
        n_classes = require_integer(n_classes, "n_classes", 2)
        cells = _cells(table)
        if missing is not None:
            cells[cells == missing] = np.nan

        def foreign(rows: HostArray) -> HostArray:
            gap = np.isnan(rows)
            known = (rows >= 0) & (rows < n_classes) & (rows == np.round(rows))
            return np.asarray(~(known | gap) | gap.all(axis=-1, keepdims=True))

        def found(row: HostArray) -> str:
            column = int(np.argmax(foreign(row)))
            return "holds gaps only" if np.isnan(row).all() else f"holds {row[column]:g} in column {column}"

        require_rows(
            (cells,),
            foreign,
            name="table",
            rule=f"must hold whole class indices from 0 to {n_classes - 1}, or gaps, with one rater per row",
            fact=found,
            remedy="Drop instances without raters, from the predictions too. Pass `missing=-1` if -1 marks "
            "gaps. Subtract 1 if labels start at 1, or correct `n_classes`. For frequencies use "
            "`LabelCounts.from_soft`.",
        )
        codes = np.where(np.isnan(cells), n_classes, cells).astype(np.intp)
        return cls.of_columns(codes, n_classes, tuple(map(str, getattr(table, "columns", ()))))

    @classmethod
    def of_columns(cls, cells: HostArray, n_classes: int, names: tuple[str, ...] = ()) -> LabelCounts:
        """Count checked cells (n, raters), `n_classes` where a rater gave none, and keep who said what."""
        made = cls(count_cells(cells, n_classes))
        row, rater = np.nonzero(cells < n_classes)
        names = names or tuple(f"rater {column}" for column in range(cells.shape[1]))
        made._remember(row, rater, cells[row, rater], names)
        return made

    @classmethod
    def from_soft(cls, frequencies: Any, n_raters: Any) -> LabelCounts:
        """Make counts from label frequencies and the number of raters behind them.

        Parameters
        ----------
        frequencies : array (n, k)
            Rows are distributions. If frequencies times `n_raters` are not whole numbers, they are used as
            given, and a note says so.
        n_raters : int or array (n,) of int
            Raters per instance.

        Returns
        -------
        LabelCounts
            The counts; whole unless the frequencies are not.
        """
        probs = as_real(frequencies, "frequencies", "(n, k)")
        probs, notes = require_distributions(
            probs, "frequencies", lambda _: "Divide counts by their sum, or pass them to `LabelCounts`."
        )
        n, raters_given = probs.shape[0], np.asarray(to_host(n_raters) if is_array(n_raters) else n_raters)
        require(
            raters_given.dtype.kind in "iu"
            and raters_given.shape in ((), (n,))
            and bool((raters_given >= 1).all()),
            f"must be a positive whole number, or {n} of them",
            "Give the number of raters behind each row; without it, their noise is unknown.",
            n_raters=n_raters,
        )
        raters = np.broadcast_to(raters_given, (n,)).astype(np.float64)
        scaled = to_host(as_float64(probs)) * raters[:, None]
        whole = np.round(scaled)
        off = np.abs(scaled - whole).max(axis=1)
        if off.max() <= _WHOLE and (whole.sum(axis=1) == raters).all():
            if off.max() > 1e-6:
                notes = (*notes, f"soft labels times raters were whole within {off.max():.1g} and rounded")
            scaled = whole.astype(np.int64)
        else:
            rows = f"{int((off > _WHOLE).sum())} of {len(off)} rows"
            notes = (*notes, f"soft labels: {rows} are not whole counts of raters; they are used as given")
        soft = object.__new__(cls)
        soft._set(counts=like(scaled, probs), notes=notes)
        return soft

    def draw(self, rng: Any = None) -> Array:
        """Draw one rater per instance, for functions that take a single label per instance.

        Parameters
        ----------
        rng : None, int or Generator
            ...

        Returns
        -------
        array (n,)
            The drawn raters' classes.
        """
        counts = self.subsample(1, rng=rng).counts
        return namespace(counts).argmax(counts, axis=-1)

    def subsample(self, n_raters: int, *, rng: Any = None) -> LabelCounts:
        """Keep `n_raters` raters per instance, drawn without replacement.

        Parameters
        ----------
        n_raters : int
            Raters to keep; instances with fewer keep all of theirs.
        rng : None, int or Generator
            ...

        Returns
        -------
        LabelCounts
            Counts over the kept raters.
        """
        n_raters = require_integer(n_raters, "n_raters", 1)
        if not namespace(self.counts).isdtype(self.counts.dtype, "integral"):
            raise InputTypeError(
                "soft labels",
                "do not identify single raters to draw from",
                "got fractional counts",
                "Use counts of raters.",
            )
        generator, host = np.random.default_rng(as_seed(rng)), to_host(self.counts)
        rest = host.sum(axis=1)
        left = np.minimum(rest, n_raters)
        drawn = np.zeros_like(host)
        # a row of a multivariate hypergeometric, class by class
        for column in range(host.shape[1]):
            rest = rest - host[:, column]
            drawn[:, column] = generator.hypergeometric(host[:, column], rest, left)
            left = left - drawn[:, column]
        return self.replace_rows(counts=like(drawn, self.counts))

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return int(self.counts.shape[-1])

    @property
    def totals(self) -> Array:
        """Raters per instance, (n,); whole numbers even if soft labels are not."""
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


def _names(values: Any, name: str) -> np.ndarray[Any, Any]:
    """Return instance or rater names as a host array that can be sorted; missing ones are refused."""
    array = np.asarray(to_host(values) if is_array(values) else values)
    missing = np.flatnonzero(missing_entries(array))
    if missing.size:
        raise InputError(
            f"`{name}`", "must not be missing", f"entry {missing[0]} is", "Drop these annotations."
        )
    try:
        np.sort(array, axis=None)
    except TypeError:
        kinds = sorted({type(entry).__name__ for entry in array.ravel().tolist()})
        raise InputTypeError(
            f"`{name}`", "must be of one kind", f"got {' and '.join(kinds)}", "Convert them with `str`."
        ) from None
    return array
