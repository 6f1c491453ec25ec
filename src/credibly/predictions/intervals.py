"""Probability intervals: a lower and an upper probability for every class."""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar

from credibly._arrays.checks import (
    NOISE,
    as_two_reals,
    noted_error,
    require_rows,
    require_shares,
    row_tiles,
    scalar,
    sum_tolerance,
)
from credibly._arrays.namespace import Array, as_float64, namespace
from credibly.predictions.base import ClassPredictions
from credibly.predictions.point import Point
from credibly.predictions.top_lists import bounds_of_lists, note_of_lists

_ROUNDING = 1e-15


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Intervals(ClassPredictions):
    """All distributions between a lower and an upper probability per class.

    Parameters
    ----------
    lower, upper : array (n, k)
        ``0 <= lower <= upper <= 1``; the lower bounds sum to at most 1 and the upper bounds to at least 1,
        else no distribution fits between them.

    Examples
    --------
    >>> import credibly as cr
    >>> cr.Intervals([[0.1, 0.5]], [[0.4, 0.8]]).reachable().lower
    array([[0.2, 0.6]])
    """

    lower: Array
    upper: Array
    listed: Array | None = dataclasses.field(default=None, init=False)
    """Of lists of options: the first of the most probable, its probability, how many are not listed, and the
    probability that these share, (n, 4)."""
    row_fields: ClassVar[tuple[str, ...]] = ("lower", "upper")
    companions: ClassVar[tuple[str, ...]] = ("listed",)

    def __post_init__(self) -> None:
        lower, upper = as_two_reals(self.lower, self.upper, ("lower", "upper"), "(n, k)")
        for bound, name in ((lower, "lower"), (upper, "upper")):
            require_shares(bound, name, "Clip the bounds on purpose, or check which array they came from.")
        require_rows(
            (lower, upper),
            lambda low, high: low > high + NOISE,
            name="lower",
            rule="must not exceed `upper`",
            fact=lambda low, high: f"has {low[low > high][0]:.6g} above {high[low > high][0]:.6g}",
            remedy="Check the order of the two arguments: `Intervals(lower, upper)`.",
        )
        lower, upper, moved = _move_noise(lower, upper)
        self._set(lower=lower, upper=upper, notes=moved + _require_nonempty(lower, upper))

    @classmethod
    def from_top_logprobs(cls, logprobs: Any, *, others: Any = None) -> Intervals:
        """Make the set of all distributions that a list of the most probable options leaves possible.

        Services report the log-probabilities of a few tokens only. What is listed is exact; the other options
        share what is left, and none of them is more probable than the least probable that is listed.

        Parameters
        ----------
        logprobs : array (n, k)
            Natural logarithms of the probabilities of the options: NaN where an option is not listed, -inf
            where a question has no such option.
        others : array (n,), optional
            Listed probability of tokens that are no option. The set is then that of the options given that
            one of them is chosen, and unlisted tokens that are no option may hold a part of the rest.
            Default: the options are all there is, and share the rest completely.

        Returns
        -------
        Intervals
            Points where everything is listed. A note says how much is not.

        Notes
        -----
        With u unlisted options, r left and c = min(r, smallest listed), each of them lies in
        [max(0, r - (u - 1) c), c]. Dividing what is listed by its sum instead makes a calibrated model look
        overconfident.

        Examples
        --------
        >>> import credibly as cr
        >>> import numpy as np
        >>> listed = np.log([[0.6, 0.3, np.nan, np.nan]])
        >>> cr.Intervals.from_top_logprobs(listed).upper.round(2)
        array([[0.6, 0.3, 0.1, 0.1]])
        """
        lower, upper, listed = bounds_of_lists(logprobs, others)
        made = cls(lower, upper)
        made._set(listed=listed, notes=(note_of_lists(listed), *made.notes))
        return made

    def reachable(self) -> Intervals:
        """Tighten every bound to a value some distribution in the set attains.

        Returns
        -------
        Intervals
            The same set of distributions with the tightest bounds.
        """
        lower, upper = tightened(as_float64(self.lower), as_float64(self.upper))
        return self.replace_rows(lower=lower, upper=upper)

    @property
    def mean_note(self) -> str:
        """What `mean` does."""
        return "used the intersection probability of the intervals as the one prediction per instance"

    def mean(self) -> Point:
        """Return the intersection probability ``lower + a (upper - lower)``, with one `a` per row.

        Returns
        -------
        Point
            The distribution that divides every interval in the same proportion.
        """
        return Point._trusted(self.once("mean", self._intersection))

    def _intersection(self) -> Array:
        xp = self.xp
        lower, upper = as_float64(self.lower), as_float64(self.upper)
        missing = 1.0 - xp.sum(lower, axis=-1, keepdims=True)
        width = xp.sum(upper - lower, axis=-1, keepdims=True)
        share = xp.where(width > 0, missing / xp.where(width > 0, width, xp.ones_like(width)), 0.0)
        return lower + xp.clip(share, 0.0, 1.0) * (upper - lower)


def tightened(lower: Array, upper: Array) -> tuple[Array, Array]:
    """Return the bounds (n, k), in float64, that some distribution between the given ones attains.

    Where the lower bounds sum to 1 up to rounding, 1 minus the others would turn a tiny probability into 0
    and a finite divergence into an infinite one.
    """
    xp = namespace(lower)
    rest_lower = xp.sum(lower, axis=-1, keepdims=True) - lower
    rest_upper = xp.sum(upper, axis=-1, keepdims=True) - upper
    # A bound of 0 that tightening lifts by rounding alone stays 0.
    lifted = 1.0 - rest_upper
    lifted = xp.where(lifted > lower + _ROUNDING * lower.shape[-1], lifted, lower)
    upper = xp.maximum(xp.minimum(upper, 1.0 - rest_lower), lower)
    return xp.minimum(lifted, upper), upper


def _move_noise(lower: Array, upper: Array) -> tuple[Array, Array, tuple[str, ...]]:
    """Move bounds that rounding put outside ``0 <= lower <= upper <= 1``, in copies, and say how many."""
    xp = namespace(lower)
    touched = sum(
        int(xp.sum(xp.astype((low < 0) | (high > 1) | (low > high), xp.int64)))
        for (_, low), (_, high) in zip(row_tiles(lower), row_tiles(upper), strict=True)
    )
    if not touched:
        return lower, upper, ()
    upper = xp.clip(upper, 0.0, 1.0)
    lower = xp.minimum(xp.maximum(lower, xp.zeros_like(lower)), upper)
    return lower, upper, (f"{touched} bounds were off by at most 1e-6 and moved: 0 <= lower <= upper <= 1",)


def _require_nonempty(lower: Array, upper: Array) -> tuple[str, ...]:
    """Raise where no distribution fits; note where one fits only within the noise."""
    xp = namespace(lower)
    tolerance = max(sum_tolerance(lower), sum_tolerance(upper))

    def missing(low: Array, high: Array) -> Array:
        short = 1.0 - xp.sum(as_float64(high), axis=-1)
        return xp.maximum(xp.sum(as_float64(low), axis=-1) - 1.0, short)

    require_rows(
        (lower, upper),
        lambda low, high: missing(low, high) > tolerance,
        name="lower, upper",
        rule="must leave room for a distribution: lower sums to at most 1, upper to at least 1",
        fact=lambda low, high: f"has sums {low.sum():.6g} and {high.sum():.6g}",
        remedy="Widen these intervals or drop the rows.",
    )
    tiles = zip(row_tiles(lower), row_tiles(upper), strict=True)
    worst = max(scalar(xp.max(missing(low, high))) for (_, low), (_, high) in tiles)
    if worst > max(noted_error(lower), noted_error(upper)):
        return (f"a distribution fits between the bounds only within {worst:.1e}; they are used unchanged",)
    return ()
