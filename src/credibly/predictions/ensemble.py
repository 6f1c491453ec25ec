"""Several distributions per instance: members of an ensemble, posterior or dropout samples."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

import numpy as np

from credibly._arrays.checks import (
    as_array,
    as_real,
    require_distributions,
    require_finite,
    require_shape,
    sum_tolerance,
)
from credibly._arrays.errors import InputError, Remedy, is_whole, require, require_type
from credibly._arrays.namespace import (
    Array,
    as_float64,
    beside,
    is_array,
    is_torch,
    like,
    mean_of_members,
    namespace,
    to_host,
    without_rounding,
)
from credibly._arrays.notes import counted
from credibly.predictions.base import ClassPredictions
from credibly.predictions.intervals import Intervals
from credibly.predictions.label_counts import LabelCounts
from credibly.predictions.point import Point, normalise_scores, remedy_for_probs, softmax_logits
from credibly.predictions.second_order import SecondOrder


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Ensemble(ClassPredictions):
    """Several probability vectors per instance, one per member.

    Parameters
    ----------
    probs : array (n, m, k)
        Rows along the last axis are distributions.
    weights : array (m,), optional
        Weights of the members, non-negative and summing to 1. Default: equal weights.
    member_axis : {0, 1}, optional
        ... 1 (the default) for (n, m, k), 0 for (m, n, k), which is kept as a view.

    Attributes
    ----------
    logits : array (n, m, k) or None
        What `from_logits` was given, kept for methods that need more precision than saturated probabilities
        have.

    Examples
    --------
    >>> import credibly as cr
    >>> cr.Ensemble([[[0.7, 0.3], [0.6, 0.4], [0.9, 0.1]]]).mean().probs.round(3)
    array([[0.733, 0.267]])
    """

    probs: Array
    weights: Array | None = None
    member_axis: dataclasses.InitVar[int | None] = None
    logits: Array | None = dataclasses.field(default=None, init=False)
    row_fields: ClassVar[tuple[str, ...]] = ("probs",)
    axes_with_members: ClassVar[int] = 3
    companions: ClassVar[tuple[str, ...]] = ("logits",)

    def __post_init__(self, member_axis: int | None) -> None:
        listed = member_axis is None and is_list_of_members(self.probs)
        if listed:
            checked = type(self).from_members(self.probs, weights=self.weights)
            self._set(probs=checked.probs, weights=checked.weights, notes=checked.notes)
            return
        probs = members_second(as_real(self.probs, "probs"), "probs", member_axis)
        probs, notes = require_distributions(probs, "probs", lambda bad: remedy_for_probs(bad, "Ensemble"))
        weights = None if self.weights is None else check_weights(self.weights, probs)
        self._set(probs=probs, weights=weights, notes=notes)

    @classmethod
    def from_logits(
        cls, logits: Any, *, weights: Any = None, member_axis: int | None = None, raw: bool = False
    ) -> Ensemble:
        """Make an Ensemble from unnormalised log-probabilities: softmax along the classes.

        Parameters
        ----------
        logits : array (n, m, k)
            Finite, or -inf for a class of probability zero.
        weights : array (m,), optional
            Weights of the members.
        member_axis : {0, 1}, optional
            ...
        raw : bool
            Treat rows that look like probabilities as logits.

        Returns
        -------
        Ensemble
            The predictions.
        """
        probs = softmax_logits(logits, "(n, m, k)", raw=raw)
        ensemble = cls(probs, weights=weights, member_axis=member_axis)
        ensemble._set(logits=members_second(as_real(logits, "logits"), "logits", member_axis))
        return ensemble

    @classmethod
    def from_scores(cls, scores: Any, *, weights: Any = None, member_axis: int | None = None) -> Ensemble:
        """Make an Ensemble from non-negative scores: each distribution is divided by its sum.

        Parameters
        ----------
        scores : array (n, m, k)
            Finite, not negative, none all zero.
        weights : array (m,), optional
            Weights of the members.
        member_axis : {0, 1}, optional
            ...

        Returns
        -------
        Ensemble
            The predictions.
        """
        probs = normalise_scores(scores, "(n, m, k)")
        return cls(probs, weights=weights, member_axis=member_axis)

    @classmethod
    def from_members(cls, members: Sequence[Any], *, weights: Any = None) -> Ensemble:
        """Make an Ensemble from one (n, k) array or `Point` per member.

        Parameters
        ----------
        members : sequence of array (n, k) or Point
            One entry per member, all of one shape.
        weights : array (m,), optional
            Weights of the members.

        Returns
        -------
        Ensemble
            The predictions.
        """
        require_type(
            isinstance(members, Iterable),
            "must be a sequence with one array (n, k) or Point per member",
            "Write `Ensemble.from_members([first, second])`.",
            members=members,
        )
        arrays = [
            member.probs if isinstance(member, Point) else as_array(member, "members") for member in members
        ]
        shapes = sorted({tuple(array.shape) for array in arrays})
        if len(shapes) != 1 or len(shapes[0]) != 2:
            raise InputError(
                "`members`",
                "must be at least one array, all of one shape (n, k)",
                f"got {len(arrays)} arrays with shapes {shapes}",
                "Predict the same instances with every member.",
            )
        xp = namespace(*arrays, what="`members`")
        ensemble = cls(xp.stack(arrays, axis=0), weights=weights, member_axis=0)
        if is_list_of_members(members):
            ensemble._set(
                notes=(*ensemble.notes, f"a list of {len(arrays)} arrays is read as one array per member")
            )
        return ensemble

    @property
    def mean_note(self) -> str:
        """What `mean` does."""
        kind = "weighted mean" if self.weights is not None else "mean"
        return f"used the {kind} of {self.probs.shape[1]} members as the one prediction per instance"

    def mean(self) -> Point:
        """Average the members.

        Returns
        -------
        Point
            The mean distribution of every instance, in double precision.

        Notes
        -----
        Means that are equal in exact arithmetic, such as those of votes or of probabilities with up to six
        digits, are equal numbers whatever the order of the members, the array library and the device: a mean
        within its rounding error of such a fraction is set to the number nearest to it.
        """
        return Point._trusted(self.once("mean", lambda: weighted_mean(self.probs, self.weights)))

    def given(self, counts: LabelCounts) -> SecondOrder:
        """Return what is predicted for further labels after some labels of every instance have been seen.

        Parameters
        ----------
        counts : LabelCounts or array (n, k)
            How many labels of each class were seen; an instance may have none.

        Returns
        -------
        SecondOrder
            The same members, weighted in every instance by how probable they found its labels.
        """
        return SecondOrder.of(self).given(counts)

    @property
    def holds_drawn_labels(self) -> bool:
        """Whether members are drawn labels: more of them than classes, all certain of one class."""
        m, k = self.n_members, self.n_classes
        if m <= k or self.weights is not None:
            return False
        xp, probs = self.xp, self.probs
        few = probs[: min(4, len(self)), ...]  # tell nearly always
        return bool(xp.all((few == 0) | (few == 1))) and bool(xp.all((probs == 0) | (probs == 1)))

    def to_intervals(self) -> Intervals:
        """Return the probability intervals spanned by the members.

        Returns
        -------
        Intervals
            Minimum and maximum over the members, class by class.
        """
        xp = self.xp
        return Intervals(xp.min(self.probs, axis=1), xp.max(self.probs, axis=1))


def is_list_of_members(value: Any) -> bool:
    """Tell whether it is a list of (n, k) arrays, not of numbers: one array per member."""
    if not isinstance(value, (list, tuple)) or not value:
        return False
    arrays = [member.probs if isinstance(member, Point) else member for member in value]
    return all(is_array(array) and array.ndim == 2 for array in arrays)


_MAKERS = {
    "alpha": "Dirichlet",
    "logits": "Ensemble.from_logits",
    "mean": "Gaussian",
    "predictions": "as_predictions",
    "values": "Samples",
}
"""What says where the members are, by the name of the array."""

MANY_MEMBERS = 32
"""With at least so many members, eight times as many as instances are refused unless the axis is named."""


def members_second(
    array: Array, name: str, member_axis: int | None, shape: str = "(n, m, k)", *without: str
) -> Array:
    """Return (n, m, ...) from either order, as a view; refuse to guess where n equals m.

    An array of a shape `without` members is returned as it is.
    """
    require_shape(array, name, *without, shape)
    letters = shape.strip("()").split(", ")
    if array.ndim < len(letters):
        require(
            member_axis is None,
            f"needs an axis of members in `{name}`, which has shape {tuple(array.shape)}",
            "Leave it out, or stack the members first.",
            member_axis=member_axis,
        )
        return array
    first, second = array.shape[:2]
    what = "draws" if letters[1] == "s" else "members"
    other = f"({', '.join([letters[1], letters[0], *letters[2:]])})"
    maker = _MAKERS.get(name, "Ensemble")
    remedy = Remedy(
        f"Write `{maker}({name}, member_axis=0)` for {other}, or `member_axis=1` there for {shape}.",
        f"Pass `member_axis=0` for {other}, or `member_axis=1` for {shape}.",
    )
    require(
        member_axis is not None or not first == second > 1,
        f"must say which axis holds the {what} when there are as many {what} as instances",
        remedy,
        **{name: array},
    )
    require(
        member_axis is not None or letters[-1] != "k" or second < max(MANY_MEMBERS, 8 * first),
        "must say which axis holds the members when it has far more members than instances",
        remedy,
        **{name: array},
    )
    known = member_axis is None or (is_whole(member_axis) and member_axis in (0, 1))
    require(known, "must be 0 or 1", "Move the axis first.", member_axis=member_axis)
    return namespace(array).moveaxis(array, 0, 1) if member_axis == 0 else array


def check_weights(weights: Any, members: Array) -> Array:
    """Return weights (m,) of the members, which are the second axis, in the library of `members`."""
    array = beside(as_real(weights, "weights"), weights, members, what="predictions and `weights`")
    require(
        array.ndim != 2,
        "must have shape (m,)",
        "Give one weight per member for all instances; only `Gaussian` takes weights (n, m).",
        weights=array,
    )
    require_shape(array, "weights", "(m,)")
    require_finite(array, "weights")
    values = to_host(as_float64(array))
    off = abs(values.sum() - 1)
    if values.shape[0] != members.shape[1] or (values < 0).any() or off > sum_tolerance(array):
        raise InputError(
            "`weights`",
            f"must be {members.shape[1]} non-negative numbers summing to 1, one per member",
            f"got {values.shape[0]} numbers summing to {values.sum():.6g}, the smallest {values.min():.6g}",
            "Give one weight per member, and divide them by their sum.",
        )
    return array


def used_weights(
    weights: Any, members: Array, axes: int
) -> tuple[Array | None, Array | None, tuple[str, ...]]:
    """Return weights of the members that count, which of them these are (None: all), and a note.

    Equal weights count as no weights, to give the same numbers, unless a gradient goes through them; `axes`
    is the number of axes of arrays with members.
    """
    if weights is None:
        return None, None, ()
    require(
        members.ndim == axes,
        f"belong to members, an axis that predictions of shape {tuple(members.shape)} lack",
        "Leave them out, or give the members.",
        weights=weights,
    )
    array = check_weights(weights, members)
    values = to_host(as_float64(array))
    kept = np.flatnonzero(values > 0)
    few: Array | None = None
    notes: tuple[str, ...] = ()
    if kept.size < values.size:
        left = counted(values.size - kept.size, "member of weight 0 is", "members of weight 0 are")
        few, notes = like(kept, members), (f"{left} left out",)
    learned = is_torch(array) and array.requires_grad
    equal = not learned and np.ptp(values[kept]) <= 1e-12 * values.max()
    return None if equal else array if few is None else namespace(array).take(array, few), few, notes


def normalised(weights: Array | None) -> Array | None:
    """Return weights (m,) or (n, m) in double precision, whose sums are 1 as far as rounding lets them."""
    if weights is None:
        return None
    exact = as_float64(weights)
    return exact / namespace(exact).sum(exact, axis=-1, keepdims=True)


def weighted_mean(values: Array, weights: Array | None) -> Array:
    """Average (n, m, ...) over the members in double precision; equal means are equal in the last bit."""
    if weights is None:
        return mean_of_members(values)
    xp = namespace(values)
    shape = (1, -1) + (1,) * (values.ndim - 2)
    total = xp.sum(as_float64(values) * xp.reshape(as_float64(weights), shape), axis=1)
    return without_rounding(total, values.shape[1])
