"""One distribution per instance."""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar

import numpy as np

from credibly._arrays.checks import (
    as_array,
    as_real,
    require_distributions,
    require_finite,
    require_rows,
    row_tiles,
    sum_tolerance,
)
from credibly._arrays.errors import InputError, Remedy, require
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
        What `from_logits` was given, kept for methods that need more precision than saturated probabilities
        have.

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

    def __post_init__(self) -> None:
        probs = as_array(self.probs, "probs")
        scores: tuple[str, ...] = ()
        if probs.ndim == 1 and hasattr(self.probs, "to_numpy"):  # one column of a data frame
            probs, scores = both_classes(probs), (SCORES,)
        probs = as_real(probs, "probs", "(n, k)")
        probs, notes = require_distributions(probs, "probs", lambda bad: remedy_for_probs(bad, "Point"))
        self._set(probs=probs, notes=(*scores, *notes))

    @classmethod
    def from_logits(cls, logits: Any, *, raw: bool = False) -> Point:
        """Make a Point from unnormalised log-probabilities (n, k): softmax along the classes.

        Parameters
        ----------
        logits : array (n, k)
            Finite, or -inf for a class of probability zero.
        raw : bool
            Treat rows that look like probabilities as logits.

        Returns
        -------
        Point
            The predictions.
        """
        point = cls(softmax_logits(logits, "(n, k)", raw=raw))
        point._set(logits=as_real(logits, "logits"))
        return point

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
        return cls(normalise_scores(scores, "(n, k)"))

    @property
    def mean_note(self) -> str:
        """Nothing: a single distribution is its own mean."""
        return ""

    def mean(self) -> Point:
        """Return itself.

        Returns
        -------
        Point
            The same object.
        """
        return self


SCORES = "binary scores are read as the probability of class 1; class 0 has the rest"


def both_classes(scores: Any) -> Any:
    """Return scores (n,) or (n, 1) of class 1 as both columns, (n, 2); missing scores stay missing."""
    values = scores if scores.ndim == 1 else scores[:, 0]
    host = to_host(values)
    known = host[np.isfinite(host)] if host.dtype.kind == "f" else host
    low, high = (float(known.min()), float(known.max())) if known.size else (0.0, 0.0)
    require(
        host.size,
        "must have shape (n,) with at least one instance",
        "Check the filter that selected these rows.",
        predictions=scores,
    )
    if host.dtype.kind != "f" or low < 0 or high > 1:
        what = "logits or margins" if host.dtype.kind == "f" else "classes or labels"
        raise InputError(
            "predictions",
            "must be probabilities of class 1 if there is one number per instance",
            f"got shape {tuple(scores.shape)} of {host.dtype} from {low:.6g} to {high:.6g}, like {what}",
            "Binary logits z: `1 / (1 + numpy.exp(-z))`. Several classes: an (n, k) array. Real values: "
            "`Gaussian`, `Samples` or `Quantiles`.",
        )
    if low == high == 1 and scores.ndim == 2:
        raise InputError(
            "predictions",
            "must be probabilities of class 1 if there is one column",
            f"all {len(host)} are 1, as the softmax of a single column always is",
            "Use the sigmoid of one logit, or keep the columns of all classes.",
        )
    return both_columns(values)


def both_columns(scores: Any) -> Any:
    """Return the probabilities of classes 0 and 1, (..., 2)."""
    return namespace(scores).stack([1 - scores, scores], axis=-1)


def softmax_logits(logits: Any, shape: str, *, raw: bool = False) -> Array:
    """Check logits and return softmax along the classes in double precision."""
    values = as_real(logits, "logits", shape)
    xp = namespace(values)
    require_rows(
        (values,),
        lambda rows: xp.isnan(rows) | (rows == xp.inf) | (xp.max(rows, axis=-1, keepdims=True) == -xp.inf),
        name="logits",
        rule="must be finite (or -inf for an impossible class, not for all of them)",
        remedy="Drop or repair these rows.",
    )
    if not raw and _are_distributions(values):
        raise InputError(
            "`logits`",
            "must not be probabilities already",
            f"all rows of shape {tuple(values.shape)} are non-negative and sum to 1",
            Remedy(
                "Leave out `from_logits`; `raw=True` says that a second softmax is meant.",
                "Use `kind='probs'`; `kind='raw-logits'` says that a second softmax is meant.",
            ),
        )
    if not is_numpy(values):
        return softmax(as_float64(values))
    probs = np.empty(values.shape)  # filled in parts, so that a memory map is never copied as a whole
    for start, rows in row_tiles(values):
        probs[start : start + len(rows)] = softmax(as_float64(rows))
    return probs


def _are_distributions(values: Array) -> bool:
    """Tell whether every row is one; the first tile with one that is not ends the search."""
    for _, rows in row_tiles(values):
        xp = namespace(rows)
        off = xp.abs(xp.sum(as_float64(rows), axis=-1) - 1.0)
        if not bool(xp.all(rows >= 0) and xp.all(off <= max(1e-5, sum_tolerance(rows)))):
            return False
    return True


def normalise_scores(scores: Any, shape: str) -> Array:
    """Check scores and divide each distribution by its sum, in double precision."""
    values = as_real(scores, "scores", shape)
    require_finite(values, "scores")
    xp = namespace(values)
    require_rows(
        (values,),
        lambda rows: (rows < 0) | (xp.max(rows, axis=-1, keepdims=True) <= 0),
        name="scores",
        rule="must be non-negative with a positive sum per row",
        fact=lambda row: f"holds {row.min():.6g}" if row.min() < 0 else "sums to 0",
        remedy="Drop these rows, or use `from_logits` if the scores are logits.",
    )
    values = as_float64(values)
    values = values / xp.max(values, axis=-1, keepdims=True)  # the sum of huge scores would overflow
    return values / xp.sum(values, axis=-1, keepdims=True)


ROUNDED = "rounded"
"""Code of the remedy for rows that only rounding, or percent, keeps from being distributions."""


@dataclasses.dataclass(frozen=True)
class Rounding:
    """How rows came to miss a sum of 1.

    Attributes
    ----------
    whole : float
        What they would sum to: 1, or 100 where they are percentages.
    decimals : int or None
        Decimals that they were rounded to; None where they have many.
    """

    whole: float
    decimals: int | None

    def __str__(self) -> str:
        words = "probabilities" if self.whole == 1.0 else "percentages"
        return words if self.decimals is None else f"{words} rounded to {self.decimals} decimals"


def rounding_of(values: np.ndarray[Any, Any]) -> Rounding | None:
    """Return how rows came to miss a sum of 1: by rounding, or as percent; None for other rows.

    k numbers with d decimals each sum to 1 within k / 2 units of the last one.
    """
    numbers = np.asarray(values, dtype=np.float64)
    if numbers.size == 0 or not np.isfinite(numbers).all() or (numbers < 0).any():
        return None
    sums = numbers.sum(axis=-1)
    for whole in (1.0, 100.0):
        decimals = next((d for d in range(9) if _has_decimals(numbers, d)), None)
        slack = 0.005 if decimals is None else numbers.shape[-1] / 2 * 10.0**-decimals
        if whole == 1.0 and decimals == 0:
            continue  # whole numbers are counts, not probabilities
        if (np.abs(sums - whole) <= min(slack, whole / 20) * (1 + 1e-9) + 1e-6).all():
            return Rounding(whole, decimals)
    return None


def _has_decimals(numbers: np.ndarray[Any, Any], decimals: int) -> bool:
    scaled = numbers * 10.0**decimals
    return bool((np.abs(scaled - np.round(scaled)) <= 1e-6 * np.maximum(1.0, np.abs(scaled))).all())


def remedy_for_probs(probs: Array, constructor: str) -> str:
    """Word what to do about rows that are not distributions, from what the numbers look like."""
    values = to_host(probs)
    if values.size > _LOOKED_AT:
        values = values[: max(1, _LOOKED_AT * len(values) // values.size)]
    if (values < -0.01).any():
        return Remedy(
            f"They look like logits: use `{constructor}.from_logits`.", "They look like logits.", "logits"
        )
    rounded = rounding_of(values)
    if rounded is not None:
        return Remedy(
            f"They look like {rounded}: `{constructor}.from_scores` divides each row by its sum.",
            f"They look like {rounded}; `normalise=True` divides each row by its sum.",
            code=ROUNDED,
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
    if values.ndim == 2 and values.max() <= 1:
        return Remedy(
            f"One column per class: `{constructor}.from_scores` normalises on purpose. One column per "
            "member, each the probability of class 1: `Ensemble(numpy.stack([1 - p, p], axis=-1))`.",
            "One column per class: drop or repair the rows. One column per member, each the probability of "
            "class 1: save `numpy.stack([1 - p, p], axis=-1)`, or the array under the name `scores`.",
        )
    return Remedy(
        f"Drop or repair them, or use `{constructor}.from_scores` to normalise on purpose.",
        "Drop or repair them.",
    )
