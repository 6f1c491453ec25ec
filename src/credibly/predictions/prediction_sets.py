"""Sets with a claimed coverage: of classes, or intervals of a real value. They state no probabilities.

    h_i = 1[y_i in C_i],   claimed: P(h_i = 1)

Conformal methods give these. `credibly.hypotests.set_coverage` tests their coverage.
"""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar

import numpy as np

from credibly._arrays.checks import as_array, as_two_reals, require_rows, require_shape
from credibly._arrays.errors import is_number, require
from credibly._arrays.namespace import Array, as_float64, namespace
from credibly.predictions.base import OverClasses, Predictions
from credibly.predictions.labels import Classes, Reals


def require_claimed(claimed: Any) -> float:
    """Return a claimed coverage, strictly between 0 and 1, or raise."""
    require(
        is_number(claimed) and 0 < claimed < 1,
        "must lie strictly between 0 and 1: the share of labels that the sets claim to contain",
        "Write 0.9 for 90 %; one number for all sets.",
        claimed=claimed,
    )
    return float(claimed)


def remedy_without_probs(predictions: Predictions, remedy: str) -> str:
    """Return what to do where probabilities are needed: `remedy`, or for sets the one test they have."""
    if isinstance(predictions, (PredictionSets, PredictionIntervals)):
        return "Such sets state no probabilities: use `evaluate` or `hypotests.set_coverage`."
    return remedy


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class PredictionSets(OverClasses):
    """A set of classes per instance that claims to contain the label with a given probability.

    Parameters
    ----------
    members : bool array (n, k)
        Which classes are in the set of every instance; numbers that are all 0 or 1 are read as booleans. Sets
        may be empty.
    claimed : float
        Share of labels that the sets claim to contain, 0.9 for 90 %.

    Notes
    -----
    Sets state no probabilities, so statistics of calibration refuse them. `credibly.hypotests.set_coverage`
    tests their coverage, and `evaluate` reports it in words. For intervals of real values use
    `credibly.predictions.PredictionIntervals`.

    Examples
    --------
    >>> import credibly as cr
    >>> cr.PredictionSets([[True, False, False], [True, True, False]], claimed=0.9)
    PredictionSets(n=2, k=3, claimed=0.9, dtype=bool)
    """

    members: Array
    claimed: float
    row_fields: ClassVar[tuple[str, ...]] = ("members",)

    def __post_init__(self) -> None:
        members = as_array(self.members, "members")
        if members.ndim == 3 and members.shape[2] == 1:  # (n, k, levels) of MAPIE, with one level
            members = members[:, :, 0]
        require_shape(members, "members", "(n, k)")
        xp = namespace(members)
        if not xp.isdtype(members.dtype, "bool"):  # a table in text holds floats
            require_rows(
                (members,),
                lambda rows: (rows != 0) & (rows != 1),
                name="members",
                rule="must be booleans, or 0 and 1",
                remedy="Write `probs >= threshold`; for probabilities use `Point`.",
            )
            members = xp.astype(members, xp.bool)
        self._set(members=members, claimed=require_claimed(self.claimed))

    def covers(self, labels: Classes) -> Array:
        """Return whether the set of every instance holds its label, (b, n)."""
        xp = namespace(self.members)
        inside = xp.take_along_axis(self.members, xp.astype(labels.values.T, xp.int64), axis=1)
        return inside.T

    def sizes(self) -> Array:
        """Return the number of classes in every set, (n,)."""
        xp = namespace(self.members)
        return xp.sum(xp.astype(self.members, xp.float64), axis=1)

    def _facts(self) -> str:
        return f"{super()._facts()}, claimed={self.claimed:g}"


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class PredictionIntervals(Predictions):
    """An interval per instance that claims to contain a real label with a given probability.

    Parameters
    ----------
    lower, upper : array (n,)
        Ends of the intervals, which count as inside. Conformal intervals may be infinite.
    claimed : float
        Share of labels that the intervals claim to contain, 0.9 for 90 %.

    Notes
    -----
    Nothing is said about how likely a label is on either side: if the ends are quantiles at known levels, use
    `Quantiles`, for which there are more tests.

    Examples
    --------
    >>> import credibly as cr
    >>> cr.predictions.PredictionIntervals([0.0, 1.0], [2.0, 1.5], claimed=0.9)
    PredictionIntervals(n=2, claimed=0.9, dtype=float64)
    """

    lower: Array
    upper: Array
    claimed: float
    row_fields: ClassVar[tuple[str, ...]] = ("lower", "upper")

    def __post_init__(self) -> None:
        lower, upper = as_two_reals(self.lower, self.upper, ("lower", "upper"), "(n,)", "(n, 1)")
        if lower.ndim == 2:
            lower, upper = lower[:, 0], upper[:, 0]
        require_rows(
            (lower, upper),
            # NaN is neither below nor above; an interval at infinity holds no number
            lambda low, high: ~(low <= high) | (low == np.inf) | (high == -np.inf),
            name="lower",
            rule="must be below infinity and not exceed `upper`, and neither may be NaN",
            fact=lambda low, high: f"has {low:.6g} and {high:.6g}",
            remedy="Check the order of the two arguments; sort the ends of intervals that cross.",
        )
        self._set(lower=lower, upper=upper, claimed=require_claimed(self.claimed))

    @classmethod
    def from_ends(cls, ends: Any, claimed: float) -> PredictionIntervals:
        """Make intervals from both ends in one array, as conformal packages return them.

        Parameters
        ----------
        ends : array (n, 2) or (n, 2, 1)
            Lower and upper ends; MAPIE adds an axis of levels, of which there must be one.
        claimed : float
            Share of labels that the intervals claim to contain.

        Returns
        -------
        PredictionIntervals
            The intervals.
        """
        both = as_array(ends, "ends")
        require(
            both.ndim in (2, 3) and both.shape[1] == 2 and tuple(both.shape[2:]) in ((), (1,)),
            "must have shape (n, 2), or (n, 2, 1)",
            "Select one level first: `ends[:, :, 0]`.",
            ends=both,
        )
        return cls(both[:, 0, ...], both[:, 1, ...], claimed)

    def beyond(self, labels: Reals) -> Array:
        """Return how far outside its interval every label lies, (b, n); 0 inside.

        Labels are rounded as the ends were, so that an end in single precision still counts as inside.
        """
        xp = namespace(self.lower)
        y = as_float64(xp.astype(labels.values, self.lower.dtype))
        outside = xp.maximum(as_float64(self.lower)[None, :] - y, y - as_float64(self.upper)[None, :])
        return xp.maximum(outside, xp.zeros_like(outside))

    def covers(self, labels: Reals) -> Array:
        """Return whether every interval holds its label, (b, n)."""
        return self.beyond(labels) == 0

    def sizes(self) -> Array:
        """Return the width of every interval, (n,)."""
        return as_float64(self.upper) - as_float64(self.lower)

    def _facts(self) -> str:
        return f"{super()._facts()}, claimed={self.claimed:g}"
