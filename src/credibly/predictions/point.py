"""One distribution per instance."""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar

from credibly._arrays.checks import (
    as_real,
    require_classes,
    require_distributions,
    require_finite,
    require_rows,
    require_shape,
)
from credibly._arrays.namespace import Array, as_float64, namespace
from credibly._arrays.special import softmax
from credibly.predictions.base import ClassPredictions


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Point(ClassPredictions):
    """One probability vector per instance.

    Parameters
    ----------
    probs : array (n, k)
        Rows are distributions: finite, not negative, summing to 1 within 1e-6.

    Examples
    --------
    >>> import credibly as cr
    >>> cr.Point([[0.7, 0.3], [0.2, 0.8]])
    Point(n=2, k=2, dtype=float64)
    """

    probs: Array
    row_fields: ClassVar[tuple[str, ...]] = ("probs",)
    mean_note: ClassVar[str] = ""

    def __post_init__(self) -> None:
        probs = as_real(self.probs, "probs")
        require_shape(probs, "probs", ("(n, k)",))
        require_classes(probs.shape[-1], "probs")
        probs, notes = require_distributions(probs, "probs", remedy_for(probs, "Point"))
        self._set(probs=probs, notes=notes)

    @classmethod
    def from_logits(cls, logits: Any) -> Point:
        """Make a Point from unnormalised log-probabilities (n, k): softmax along the classes.

        Parameters
        ----------
        logits : array (n, k)
            Finite, or -inf for a class of probability zero.

        Returns
        -------
        Point
            The predictions.
        """
        return cls(softmax_logits(logits, ("(n, k)",)))

    @classmethod
    def from_scores(cls, scores: Any) -> Point:
        """Make a Point from non-negative scores (n, k): each row is divided by its sum, on purpose.

        Parameters
        ----------
        scores : array (n, k)
            Finite, not negative, no row of zeros.

        Returns
        -------
        Point
            The predictions.
        """
        return cls(normalise_scores(scores, ("(n, k)",)))

    def mean(self) -> Point:
        """Return itself.

        Returns
        -------
        Point
            The same object.
        """
        return self


def softmax_logits(logits: Any, shapes: tuple[str, ...]) -> Array:
    """Check logits and return softmax along the classes in double precision."""
    values = as_real(logits, "logits")
    require_shape(values, "logits", shapes)
    xp = namespace(values)
    require_rows(
        (values,),
        lambda block: (
            xp.isnan(block) | (block == xp.inf) | (xp.max(block, axis=-1, keepdims=True) == -xp.inf)
        ),
        name="logits",
        rule="must be finite (or -inf for an impossible class, not for all of them)",
        fact=lambda row: f"holds {row[~(row > -float('inf')) | (row == float('inf'))].ravel()[0]}",
        remedy="Drop or repair these rows.",
    )
    return softmax(as_float64(values))


def normalise_scores(scores: Any, shapes: tuple[str, ...]) -> Array:
    """Check scores and divide each distribution by its sum, in double precision."""
    values = as_real(scores, "scores")
    require_shape(values, "scores", shapes)
    require_finite(values, "scores")
    xp = namespace(values)
    require_rows(
        (values,),
        lambda block: (block < 0) | (xp.sum(block, axis=-1, keepdims=True) <= 0),
        name="scores",
        rule="must be non-negative with a positive sum per row",
        fact=lambda row: f"has minimum {row.min():.6g} and sum {row.sum():.6g}",
        remedy="Drop these rows, or use `from_logits` if the scores are logits.",
    )
    values = as_float64(values)
    return values / xp.sum(values, axis=-1, keepdims=True)


def remedy_for(probs: Array, constructor: str) -> str:
    """Word what to do about rows that are no distributions, from what the numbers look like."""
    xp = namespace(probs)
    if bool(xp.any(probs < -0.01)):
        return f"They look like logits: use `{constructor}.from_logits`."
    column_sums = xp.sum(as_float64(probs), axis=0)
    if probs.ndim == 2 and bool(xp.all(xp.abs(column_sums - 1) < 1e-3)):
        return f"The columns sum to 1: transpose, `{constructor}(probs.T)`."
    whole = bool(xp.all(probs == xp.round(probs)))
    if whole and float(xp.max(probs)) > 1:
        return "They look like counts: use `LabelCounts`, or `Dirichlet` if they are parameters."
    return f"Drop or repair them, or use `{constructor}.from_scores` to normalise on purpose."
