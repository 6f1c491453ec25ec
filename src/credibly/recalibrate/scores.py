"""Log-probabilities of predictions: from logits where they were given, else from probabilities.

Probabilities lose information where they saturate or are rounded: a stored 0 says only that the number was
too small. It is below half of the last decimal that all numbers have (0.00005 in a file of four decimals), or
below half of the least positive number if they were not rounded, and is read as the mean of what lies there:

    zero = half s / (1 + s)     s = log(1 + n_1 / n_0) / log 3

if n_0 numbers are 0, n_1 are the last decimal (half of it to three halves) and the density of log p falls
exponentially below; as `half` itself if fewer than ten numbers are the last decimal, as for 0 and 1 alone.
Zeros are counted, so that none is mistaken for an exact value. A logit of -inf, which a user writes on
purpose, stays an impossible class.
"""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np

from credibly._arrays.checks import scalar
from credibly._arrays.errors import InputTypeError, UnsupportedError
from credibly._arrays.namespace import (
    CACHE_ELEMENTS,
    Array,
    HostArray,
    as_float64,
    is_numpy,
    logsumexp,
    namespace,
    tiles,
    to_host,
)
from credibly.predictions import Dirichlet, Ensemble, Point, Predictions

_DECIMALS = range(2, 9)
_ALIKE = 0.2  # of half a decimal: rows that were made to sum to 1 move the last decimal
_LEAST_STEEP, _FEWEST = 0.01, 10
_NOT_CLOSE = 0.02  # of a multiple: rounding of the type would make any number look like one

IMPOSSIBLE = -1e100
"""Stands for log 0 of an impossible class: its exponential is 0 and its square does not overflow."""


@dataclasses.dataclass(frozen=True)
class Scores:
    """Log-probabilities and how far they can be trusted.

    Attributes
    ----------
    values : array (n, k) or (n, m, k)
        Logarithms of distributions, in double precision.
    zero : float or None
        What stored zeros were read as; None where there was none.
    n_floored : int
        Number of such zeros.
    is_rounded : bool
        Whether other numbers show that zeros are small numbers that were rounded.
    """

    values: Array
    zero: float | None = None
    n_floored: int = 0
    is_rounded: bool = False

    @property
    def floor(self) -> float:
        """Logarithm of what stored zeros were read as; -inf where there was none."""
        return -math.inf if self.zero is None else math.log(self.zero)

    @property
    def notes(self) -> tuple[str, ...]:
        """How the data were interpreted."""
        if not self.n_floored:
            return ()
        what = (
            "the mean of what is rounded to 0" if self.is_rounded else "half of the resolution of the numbers"
        )
        note = (
            f"{self.n_floored} probabilities are stored as 0 and are read as {self.zero:.2g}, {what}; logits "
            "(`from_logits`) would keep what they were"
        )
        return (note,)


def scores_of(predictions: Predictions, zero: float | None = None) -> Scores:
    """Return log-probabilities of a Point (n, k), of members (n, m, k), or of the means of Dirichlets.

    Stored zeros are read as `zero`, as in the fit of what is applied. Default: the mean of what is
    rounded to 0.
    """
    if isinstance(predictions, (Point, Ensemble)):
        if predictions.logits is not None:
            return Scores(_log_softmax(as_float64(predictions.logits)))
        return _logs(classes_apart(predictions.probs), zero)
    if isinstance(predictions, Dirichlet):
        return _logs(classes_apart(predictions.member_means()), zero)
    raise InputTypeError(
        "recalibration",
        "is defined for Point, Ensemble and Dirichlet predictions",
        f"got {type(predictions).__name__}",
        "Use the mean prediction: `predictions.mean()`.",
    )


def require_finite_logits(values: Array, subject: str, remedy: str) -> None:
    """Raise unless every class is possible in all log-probabilities."""
    if scalar(namespace(values).min(values)) < IMPOSSIBLE / 2:
        raise UnsupportedError(subject, "needs finite logits", "some are -inf", remedy)


def classes_apart(array: Array) -> Array:
    """Lay a host array (n, k) out class by class: NumPy then sums over classes ten times as fast."""
    return np.asfortranarray(array) if is_numpy(array) and array.ndim == 2 else array


def weights_of(predictions: Predictions) -> Array | None:
    """Return the weights of the members; None where they are equal, or there are none."""
    return predictions.weights if isinstance(predictions, (Ensemble, Dirichlet)) else None


def shares_of(weights: Array | None, m: int) -> HostArray:
    """Return the weights of m members on the host, equal ones where none are given."""
    return np.full(m, 1.0 / m) if weights is None else to_host(as_float64(weights))


def mean_scores(values: Array, weights: Array | None) -> Array:
    """Return the logarithm of the (weighted) mean of members, (n, m, k) -> (n, k), without underflow."""
    xp = namespace(values)
    if weights is None:
        return logsumexp(values, axis=1) - math.log(values.shape[1])
    shares = as_float64(weights)
    kept = xp.nonzero(shares > 0)[0]
    logs = xp.log(xp.take(shares, kept, axis=0))
    return logsumexp(xp.take(values, kept, axis=1) + logs[None, :, None], axis=1)


def _log_softmax(logits: Array) -> Array:
    xp = namespace(logits)
    if not is_numpy(logits) or logits.ndim != 2:
        return _log_softmax_of_tile(xp, logits)
    values = np.empty(logits.shape, order="F")
    for rows in tiles(len(logits), CACHE_ELEMENTS // logits.shape[1]):  # no temporaries of the whole size
        values[rows] = _log_softmax_of_tile(xp, classes_apart(logits[rows]))
    return values


def _log_softmax_of_tile(xp: Any, logits: Array) -> Array:
    centred = logits - xp.max(logits, axis=-1, keepdims=True)
    if not bool(xp.all(xp.isfinite(centred))):
        centred = xp.where(xp.isfinite(centred), centred, xp.full_like(centred, IMPOSSIBLE))
    return centred - xp.log(xp.sum(xp.exp(centred), axis=-1, keepdims=True))


def _logs(probs: Array, zero: float | None) -> Scores:
    xp = namespace(probs)
    zeros = probs <= 0
    n_floored = int(xp.sum(xp.astype(zeros, xp.int64)))
    values = as_float64(probs)
    if not n_floored:
        return Scores(xp.log(values))
    is_rounded = False
    if zero is None:
        zero, is_rounded = _mean_of_zeros(probs, n_floored)
    values = xp.where(zeros, xp.full_like(values, zero), values)
    return Scores(xp.log(values / xp.sum(values, axis=-1, keepdims=True)), zero, n_floored, is_rounded)


def _mean_of_zeros(probs: Array, n_zeros: int) -> tuple[float, bool]:
    """Return the mean of the numbers that are stored as 0, and whether the smallest others tell it."""
    half, values = _half_resolution(probs), to_host(as_float64(probs))
    smallest = int(np.count_nonzero(np.abs(values - 2.0 * half) < _ALIKE * half))
    if smallest < _FEWEST:
        return half, False
    steep = max(math.log1p(smallest / n_zeros) / math.log(3.0), _LEAST_STEEP)
    return half * steep / (1.0 + steep), True


def _half_resolution(probs: Array) -> float:
    """Return half of the last decimal that the numbers have; without one, half of the least positive number.

    All numbers must be whole multiples of the decimal, up to the rounding of their type.
    """
    xp = namespace(probs)
    kind = xp.finfo(probs.dtype)
    values = to_host(as_float64(probs)).ravel(order="K")
    least = float(values[values > 0].min())
    for decimals in _DECIMALS:
        scale = 10.0**decimals
        close = max(1e-6, 4.0 * float(kind.eps) * scale)
        if close > _NOT_CLOSE:
            break
        if least * scale > 0.5 and all(  # most numbers are refuted by the first part
            bool((np.abs(part - np.rint(part)) < close).all())
            for part in (values[rows] * scale for rows in tiles(len(values), CACHE_ELEMENTS))
        ):
            return 0.5 / scale
    return max(0.5 * least, float(kind.smallest_normal) * float(kind.eps))
