"""One distribution per instance."""

from __future__ import annotations

import dataclasses
import math
from typing import Any, ClassVar

import numpy as np

from credibly._arrays.checks import (
    as_real,
    require_classes,
    require_distributions,
    require_finite,
    require_rows,
    require_shape,
    row_blocks,
)
from credibly._arrays.errors import Remedy
from credibly._arrays.namespace import Array, as_float64, is_numpy, namespace, softmax, to_host
from credibly.predictions.base import ClassPredictions

_LOOKED_AT = 2**22  # entries that are read to word a remedy


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Point(ClassPredictions):
    """One probability vector per instance.

    Parameters
    ----------
    probs : array (n, k)
        Rows are distributions: finite, not negative, summing to 1 within 1e-6.

    Attributes
    ----------
    logits : array (n, k) or None
        What `from_logits` was given, kept for what needs more than saturated probabilities tell.

    Examples
    --------
    >>> import credibly as cr
    >>> cr.Point([[0.7, 0.3], [0.2, 0.8]])
    Point(n=2, k=2, dtype=float64)
    """

    probs: Array
    logits: Array | None = dataclasses.field(default=None, init=False)
    row_fields: ClassVar[tuple[str, ...]] = ("probs",)
    companions: ClassVar[tuple[str, ...]] = ("logits",)
    mean_note: ClassVar[str] = ""

    def __post_init__(self) -> None:
        probs = as_real(self.probs, "probs")
        require_shape(probs, "probs", ("(n, k)",))
        require_classes(probs.shape[-1], "probs")
        probs, notes = require_distributions(probs, "probs", lambda bad: remedy_for(bad, "Point"))
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
        made = cls(softmax_logits(logits, ("(n, k)",)))
        made._set(logits=as_real(logits, "logits"))
        return made

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
        fact=lambda row: f"holds {_worst_logit(row)}",
        remedy="Drop or repair these rows.",
    )
    if not is_numpy(values):
        return softmax(as_float64(values))
    probs = np.empty(values.shape)  # filled in blocks: of a memory map no whole copy is made beside it
    for start, block in row_blocks(values):
        probs[start : start + len(block)] = softmax(as_float64(block))
    return probs


def normalise_scores(scores: Any, shapes: tuple[str, ...]) -> Array:
    """Check scores and divide each distribution by its sum, in double precision."""
    values = as_real(scores, "scores")
    require_shape(values, "scores", shapes)
    require_finite(values, "scores")
    xp = namespace(values)
    require_rows(
        (values,),
        lambda block: (block < 0) | (xp.max(block, axis=-1, keepdims=True) <= 0),
        name="scores",
        rule="must be non-negative with a positive sum per row",
        fact=lambda row: f"holds {row.min():.6g}" if row.min() < 0 else "sums to 0",
        remedy="Drop these rows, or use `from_logits` if the scores are logits.",
    )
    values = as_float64(values)
    values = values / xp.max(values, axis=-1, keepdims=True)  # the sum of huge scores would overflow
    return values / xp.sum(values, axis=-1, keepdims=True)


def _worst_logit(row: Array) -> float:
    """Return the entry that breaks the rule: NaN, else infinity, else the -inf of an impossible row."""
    for wrong in (np.isnan(row), np.isposinf(row)):
        if wrong.any():
            return float(row[wrong][0])
    return -math.inf


def remedy_for(probs: Array, constructor: str) -> str:
    """Word what to do about rows that are no distributions, from what the numbers look like."""
    values = to_host(probs)
    if values.size > _LOOKED_AT:
        values = values[: max(1, _LOOKED_AT * len(values) // values.size)]
    if (values < -0.01).any():
        return Remedy(
            f"They look like logits: use `{constructor}.from_logits`.", "They look like logits.", "logits"
        )
    sums = values.sum(axis=0, dtype=np.float64)
    if values.ndim == 2 and len(values) > 1 and (np.abs(sums - 1) < 1e-3).all():
        return f"The columns sum to 1: transpose, `{constructor}(probs.T)`."
    if (values == np.round(values)).all() and values.max() > 1:
        return Remedy(
            "They look like counts: use `LabelCounts`, or `Dirichlet` if they are parameters.",
            "They look like counts, or parameters of a Dirichlet.",
            "counts",
        )
    return Remedy(
        f"Drop or repair them, or use `{constructor}.from_scores` to normalise on purpose.",
        "Drop or repair them.",
    )
