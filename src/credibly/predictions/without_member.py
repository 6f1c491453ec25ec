"""Predictions without one of their members, from sums over all of them.

Leaving out every member in turn then costs about what m labels of the whole cost, instead of m times that:
means and distribution functions lose the member's share, pairs its distances, draws its places in the order
of all, and quantiles move little from those of the whole.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, Self, cast

import numpy as np

from credibly._arrays.namespace import (
    Array,
    as_float64,
    clip,
    like,
    namespace,
    ndtr,
    put_back,
    to_host,
    without_rounding,
)
from credibly.predictions.ensemble import Ensemble, normalised, weighted_mean
from credibly.predictions.point import Point
from credibly.predictions.regression import (
    DENSITY,
    FEW_LEVELS,
    ORDER,
    Gaussian,
    Mixture,
    derivatives,
    mixture_quantiles,
    over_members,
)
from credibly.predictions.samples import Samples

_CANCELLED = 1e-2
"""Share of the rest below which a difference has no digits left."""

_MEMBERS_OF_SERIES, _SERIES_STEPS = 8, 4
"""Members from which on one of them moves quantiles little, and Newton steps that then suffice."""

_REACH, _SHORT_CHANGE = 0.15, 1e-7
"""How far the series holds, in widths of the narrowest member, to 2e-10: |F^(8)| / 8! <= 0.00077.
The last step before it is found is at most so long."""

_FLAT = 1e-300


class _Without:
    """What predictions without one of their members share."""

    whole: Any
    member: int

    @classmethod
    def of(cls, whole: Any, member: int) -> Self:
        """Leave a member out; `whole` has at least one other, with one weight for all rows."""
        result: Any = object.__new__(cls)
        result._set(whole=whole, member=member, notes=whole.notes, classes=whole.classes, index=None)
        result._set(**result._of_others())
        return cast(Self, result)

    def _of_others(self) -> dict[str, Any]:
        """Return fields of the others that are made at once."""
        return {}

    def __getitem__(self, rows: Any) -> Any:
        """Select instances."""
        return self.of(self.whole[rows], self.member)

    def replace_rows(self, **arrays: Array) -> Any:
        """Return the others over other, already valid rows, as plain predictions of their kind."""
        kind = type(self.whole)
        plain = object.__new__(kind)
        plain._set(**{field.name: getattr(self, field.name) for field in dataclasses.fields(kind)})
        return plain.replace_rows(**arrays)


def _others(whole: Any, member: int, array: Array, axis: int = 1) -> Array:
    """Return the parts of an array, along the axis of the members, that are not the member's."""
    return of_members(array, [at for at in range(whole.n_members) if at != member], axis)


def of_members(array: Array, members: list[int], axis: int = 1) -> Array:
    """Return the parts of an array, along the axis of the members, of some of them."""
    return namespace(array).take(array, like(np.array(members), array), axis=axis)


class WithoutMember(_Without, Ensemble):
    """An ensemble without one of its members: its mean is what the sum over all members leaves.

    Its probabilities are made only if they are asked for, so that leaving every member out in turn costs what
    the means cost.
    """

    whole: Ensemble

    @property
    def _leading(self) -> Array:
        return self.whole.probs

    def __len__(self) -> int:
        return len(self.whole)

    @property
    def n_members(self) -> int:
        """Number of members that are left."""
        return self.whole.n_members - 1

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return self.whole.n_classes

    @property
    def mean_note(self) -> str:
        """What the mean of all members does: which of them are left out is the business of who asks."""
        return self.whole.mean_note

    @property
    def left_out(self) -> Array:
        """What the member that is left out predicts, (n, k)."""
        return self.whole.probs[:, self.member, :]

    @property
    def probs(self) -> Array:
        """What the others predict, (n, m - 1, k)."""
        return _others(self.whole, self.member, self.whole.probs)

    @property
    def weights(self) -> Array | None:
        """Weights of the others."""
        weights = self.whole.weights
        return None if weights is None else normalised(_others(self.whole, self.member, weights, 0))

    def mean(self) -> Point:
        """Return the mean of the others."""
        return Point._trusted(self.once("mean", self._mean))

    def _mean(self) -> Array:
        whole, xp = self.whole, self.whole.xp
        share = 1.0 / whole.n_members if whole.weights is None else float(to_host(whole.weights)[self.member])
        part_left_out = share * as_float64(self.left_out)
        rest = whole.mean().probs - part_left_out
        # where nearly all probability is the member's own, the difference has no digits left
        lost = xp.any(rest < _CANCELLED * part_left_out, axis=1)
        (at,) = xp.nonzero(lost)
        if at.shape[0] == len(whole):
            return weighted_mean(self.probs, self.weights)
        rest = without_rounding(rest / (1.0 - share), 2 * whole.n_members)
        if not at.shape[0]:
            return rest
        chosen = _others(whole, self.member, xp.take(whole.probs, at, axis=0))
        return xp.where(lost[:, None], put_back(weighted_mean(chosen, self.weights), lost), rest)


class WithoutNormal(_Without, Gaussian):
    """A mixture without one of its members: what pairs and labels need follows from sums over all members."""

    whole: Gaussian

    def _of_others(self) -> dict[str, Any]:
        whole, weights = self.whole, self.whole.weights
        mean, std = (_others(whole, self.member, part) for part in (whole.mean, whole.std))
        if weights is not None:
            weights = normalised(_others(whole, self.member, as_float64(weights), 0))
        return {"mean": mean, "std": std, "weights": weights, "memo": {}}

    @property
    def share(self) -> float:
        """Weight of the member that is left out."""
        shares = self.whole.shares
        return 1.0 / self.whole.n_members if shares is None else float(shares[0, self.member])

    def quantile(self, levels: Any) -> Array:
        """Return quantiles, most of them from the series of F at those of all members."""
        new_levels, whole, share = self._levels(levels), self.whole, self.share
        if new_levels.shape[0] >= FEW_LEVELS or whole.n_members < _MEMBERS_OF_SERIES:
            return super().quantile(levels)
        (mean, std), place, xp = whole.members(), whole.quantile(levels), self.xp
        unit = xp.min(std, axis=1, keepdims=True)
        key = ("series", *to_host(new_levels).tolist())
        series = whole.once(key, lambda: derivatives(Mixture(mean, std, whole.shares), place, unit))
        left_mean, left_std = mean[:, self.member, None], std[:, self.member, None]
        t = xp.zeros_like(place)
        for _ in range(_SERIES_STEPS):
            value, slope = series[-1, ...], xp.zeros_like(place)
            for k in range(ORDER - 1, -1, -1):
                slope = slope * t + value
                value = value * t + series[k, ...]
            z = (place + t * unit - left_mean) / left_std
            slope = slope - xp.exp(-0.5 * z * z) * (DENSITY * share) * unit / left_std
            change = (value - share * ndtr(z) - (1.0 - share) * new_levels) / clip(slope, _FLAT)
            t = clip(t - change, -1.0, 1.0)
        values = place + t * unit
        settled = xp.all((xp.abs(t) <= _REACH) & (xp.abs(change) <= _SHORT_CHANGE), axis=1)
        far = xp.nonzero(~settled)[0]
        if not far.shape[0]:
            return values
        mean, std = (xp.take(part, far, axis=0) for part in self.members())
        exact = mixture_quantiles(mean, std, new_levels, self.shares)
        return xp.where(settled[:, None], values, put_back(exact, ~settled))

    def averaged(self, of: Callable[[Array, Array, Array], Array], labels: Array) -> Array:
        """Average a function of (label, mean, std) over the members that are left, at labels (n,).

        That of every member at the first labels is kept for the next member that is left out.
        """
        whole, xp = self.whole, namespace(labels)
        mean, std = whole.members()

        def table() -> Array:
            return xp.concat([labels[:, None], of(labels[:, None], mean, std)], axis=1)

        values = whole.once(of, table)
        if not bool(xp.all(values[:, 0] == labels)):
            values = table()
        rest = over_members(values[:, 1:], whole.shares) - self.share * values[:, 1 + self.member]
        return rest / (1.0 - self.share)


class WithoutDraws(_Without, Samples):
    """Draws of all members but one, sorted with those of all."""

    whole: Samples

    def _of_others(self) -> dict[str, Any]:
        return {"values": _others(self.whole, self.member, self.whole.values), "memo": {}}

    def pooled(self) -> Array:
        """Return the draws that are left in order."""
        whole, xp = self.whole, self.xp
        order = whole.once("order", lambda: xp.argsort(whole.flat(), axis=1))
        ordered = whole.once("pooled", lambda: xp.take_along_axis(whole.flat(), order, axis=1))
        rest = ordered[order // whole.values.shape[2] != self.member]
        return xp.reshape(rest, (len(self), -1))
