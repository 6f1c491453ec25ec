"""Belief functions: masses on sets of classes."""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar, Literal

import numpy as np

from credibly._arrays.checks import (
    NOISE,
    InvalidRowsError,
    as_real,
    describe_rows,
    require_distributions,
    require_integer,
    require_shares,
)
from credibly._arrays.errors import InputError, InputTypeError, Remedy, one_of, require
from credibly._arrays.namespace import Array, as_float64, clip, like, namespace, to_host, without_rounding
from credibly._arrays.notes import counted
from credibly.predictions.base import ClassPredictions
from credibly.predictions.point import Point

FocalSet = frozenset[int]


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Belief(ClassPredictions):
    """A mass function per instance over one list of focal sets.

    Parameters
    ----------
    masses : array (n, f)
        Non-negative, rows summing to 1; column j belongs to ``focal_sets[j]``.
    focal_sets : sequence of sets of int
        Non-empty and unique sets of class indices.
    n_classes : int, optional
        Number of classes. Default: one more than the largest index.

    Examples
    --------
    >>> import credibly as cr
    >>> cr.Belief([[0.6, 0.4]], [{0}, {0, 1}]).pignistic().probs
    array([[0.8, 0.2]])
    """

    masses: Array
    focal_sets: Sequence[Iterable[int]]
    n_classes: int = None  # type: ignore[assignment]  # filled at birth
    row_fields: ClassVar[tuple[str, ...]] = ("masses",)

    def __post_init__(self) -> None:
        masses = as_real(self.masses, "masses", "(n, f)")
        sets, n_classes = check_focal_sets(self.focal_sets, self.n_classes)
        _require_columns(masses, "masses", sets)
        masses, notes = require_distributions(
            masses,
            "masses",
            lambda _: Remedy(
                "If these are beliefs (lower probabilities of the sets), use `Belief.from_beliefs`.",
                "They may be beliefs, the lower probabilities of the sets.",
                "belief",
            ),
        )
        self._set(masses=masses, focal_sets=sets, n_classes=n_classes, notes=notes)

    @classmethod
    def from_beliefs(
        cls,
        beliefs: Any,
        focal_sets: Sequence[Iterable[int]],
        *,
        n_classes: int | None = None,
        negative: Literal["raise", "clamp"] = "raise",
    ) -> Belief:
        """Make masses from beliefs by Moebius inversion over the listed sets.

        ``m(A) = Bel(A) - sum of m(B) over listed proper subsets B of A``. Mass that the listed sets leave
        over goes to the set of all classes.

        Parameters
        ----------
        beliefs : array (n, f)
            Belief of every listed set, between 0 and 1.
        focal_sets : sequence of sets of int
            The listed sets.
        n_classes : int, optional
            Number of classes.
        negative : {"raise", "clamp"}
            What to do if the inversion gives a negative mass. ``"clamp"`` sets it to 0 and divides
            each row by its sum, as C25's code does; the notes count the entries.

        Returns
        -------
        Belief
            The predictions.

        Notes
        -----
        The inversion runs on the host in double precision. Masses of torch beliefs return to their device,
        but without the graph: no gradient reaches `beliefs`.
        """
        one_of("`negative`", negative, ("raise", "clamp"))
        values = as_real(beliefs, "beliefs", "(n, f)")
        sets, count = check_focal_sets(focal_sets, n_classes)
        _require_columns(values, "beliefs", sets)
        require_shares(values, "beliefs", "Apply the model's output activation first.")
        host = to_host(as_float64(values))
        masses, sets, full = _invert(host, sets, count)
        notes: list[str] = []
        if full < host.shape[1]:
            short = int((np.abs(host[:, full] - 1) > NOISE).sum())
            if short:
                other = f"{counted(short, 'row')} gave a different number"
                notes.append(f"the belief of all classes is 1 by definition; {other}")
        rows = np.flatnonzero((masses < -NOISE).any(axis=-1)).tolist()
        if rows and negative == "raise":
            raise InvalidRowsError(
                "`beliefs`",
                "must be a belief function on the listed sets (no negative mass)",
                describe_rows(rows, f"gives mass {masses[rows[0]].min():.6g}", len(masses)),
                'Pass `negative="clamp"` to set them to 0 and renormalise, as C25 does.',
                rows,
            )
        below = int((masses < 0).sum())
        if below:
            masses = clamped(masses, full)
            notes.append(clamped_note(below))
        belief = cls(like(masses, values), sets, count)
        belief._set(notes=(*belief.notes, *notes))
        return belief

    @property
    def membership(self) -> np.ndarray[Any, Any]:
        """Which class is in which focal set, (f, k) of 0 and 1, on the host."""
        table = np.zeros((len(self.focal_sets), self.n_classes))
        for row, members in zip(table, self.focal_sets, strict=True):
            row[list(members)] = 1.0
        return table

    def pignistic(self) -> Point:
        """Spread every mass evenly over its set.

        Returns
        -------
        Point
            The pignistic probability of every instance.
        """

        def spread() -> Array:
            table = self.membership
            shares = like(table / table.sum(axis=1, keepdims=True), self.masses)
            return without_rounding(as_float64(self.masses) @ shares, len(self.focal_sets))

        return Point._trusted(self.once("mean", spread))

    @property
    def mean_note(self) -> str:
        """What `mean` does."""
        return "used the pignistic probability of the masses as the one prediction per instance"

    def mean(self) -> Point:
        """Return the pignistic probability.

        Returns
        -------
        Point
            The same as :meth:`pignistic`.
        """
        return self.pignistic()

    def _facts(self) -> str:
        return f"n={len(self)}, f={len(self.focal_sets)}, k={self.n_classes}"


def check_focal_sets(
    focal_sets: Sequence[Iterable[int]], n_classes: int | None
) -> tuple[tuple[FocalSet, ...], int]:
    """Return frozensets and the number of classes; empty, repeated or foreign sets are refused."""
    try:
        sets = tuple(frozenset(operator.index(member) for member in members) for members in focal_sets)
    except TypeError:
        raise InputTypeError(
            "`focal_sets`",
            "must be a sequence of sets of class indices",
            f"got {focal_sets!r:.60}",
            "Write `[{0}, {1}, {0, 1}]`.",
        ) from None
    require(
        sets and frozenset() not in sets,
        "must list at least one set, and none without classes",
        "List one per column, and remove empty ones.",
        focal_sets=focal_sets,
    )
    if len(set(sets)) < len(sets):
        twice = next(members for members in sets if sets.count(members) > 1)
        raise InputError(
            "`focal_sets`",
            "must be unique",
            f"{sorted(twice)} is listed {sets.count(twice)} times",
            "Merge its columns.",
        )
    everything = frozenset().union(*sets)
    count = 1 + max(everything) if n_classes is None else require_integer(n_classes, "n_classes", 2)
    require(
        0 <= min(everything) <= max(everything) < count > 1,
        f"must hold class indices from 0 to {count - 1}, with at least 2 classes",
        f"The indices range from {min(everything)} to {max(everything)}: check `n_classes`, or start at 0.",
        focal_sets=focal_sets,
    )
    return sets, count


def clamped(masses: Array, full: int) -> Array:
    """Negative masses become 0, what is missing to 1 goes to the full set, rows are divided by their sum."""
    xp = namespace(masses)
    inner = like(np.arange(masses.shape[1]) != full, masses)
    kept = xp.where(inner, clip(masses, 0.0), xp.zeros_like(masses))
    missing = 1.0 - xp.sum(kept, axis=1, keepdims=True)
    kept = xp.where(inner, kept, clip(missing, 0.0))
    return kept / xp.sum(kept, axis=1, keepdims=True)


def clamped_note(below: int) -> str:
    """Say how many masses were clamped."""
    return f"{below} negative masses were set to 0 and their rows renormalised"


def _require_columns(array: Array, name: str, sets: tuple[FocalSet, ...]) -> None:
    require(
        array.shape[-1] == len(sets),
        f"must have one column per focal set ({len(sets)})",
        "Check the order of the columns against `focal_sets`.",
        **{name: array},
    )


def _invert(
    beliefs: np.ndarray[Any, Any], sets: tuple[FocalSet, ...], n_classes: int
) -> tuple[np.ndarray[Any, Any], tuple[FocalSet, ...], int]:
    """Moebius inversion by size; what is left over goes to the full set, whose column is returned."""
    masses = beliefs.copy()
    for j in sorted(range(len(sets)), key=lambda j: len(sets[j])):
        for i, members in enumerate(sets):
            if members < sets[j]:
                masses[:, j] -= masses[:, i]
    full = frozenset(range(n_classes))
    if full not in sets:
        sets = (*sets, full)
        masses = np.concatenate([masses, np.zeros((len(masses), 1))], axis=1)
    j = sets.index(full)
    masses[:, j] = 0.0
    masses[:, j] = 1.0 - masses.sum(axis=1)
    return masses, sets, j
