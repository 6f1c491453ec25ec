"""Unnormalised calibration mean embedding: kernel errors at a few places, which show where it fails.

    ucme = mean over locations (T_j, t_j) of g_j^2
    g_j  = mean over i of k(P_i, T_j) (l(y_i, t_j) - E l(Y_i, t_j)),   Y_i drawn from P_i

k compares predictions and l labels as in `skce`. A location is a prediction T and a label t; g_j > 0 says
that near T labels near t are seen more often than predicted; labels drawn from the predictions give it the
variance sum over i of k(P_i, T_j)^2 Var l(Y_i, t_j) / n^2. It costs n per label vector and location, where
`skce` costs n^2.   Widmann, Lindsten and Zachariah 2021; Chwialkowski et al. 2015.
"""

from __future__ import annotations

import dataclasses
import math
from functools import partial
from typing import Any, ClassVar, Literal

import numpy as np

from credibly._arrays.errors import InputError, InputTypeError
from credibly._arrays.namespace import (
    CACHE_ELEMENTS,
    Array,
    HostArray,
    as_float64,
    is_numpy,
    like,
    namespace,
    tiles,
    to_host,
)
from credibly._arrays.row_search import count_at_most
from credibly.predictions import (
    Classes,
    Counts,
    Gaussian,
    Labels,
    Point,
    Predictions,
    Quantiles,
    RealPredictions,
    Rows,
    Samples,
    as_point,
)
from credibly.predictions.regression import over_members
from credibly.results.curves import LocatedEstimate
from credibly.results.estimates import Estimate, cluster_error
from credibly.statistics.kernels import (
    MEDIAN_ROWS,
    KernelName,
    check_bandwidth,
    check_kernel,
    chosen_rows,
    kernel_matrix,
    median_distance,
    spaced,
    spaced_rows,
)
from credibly.statistics.pairwise import as_number
from credibly.statistics.protocol import (
    ALL_LABELS,
    Bound,
    Plan,
    State,
    Statistic,
    Story,
    Traits,
    label_values,
    replicates,
)
from credibly.statistics.real_kernels import RealPlan, joined_part, plan_of, rows_inside, sides_of

MOST_LOCATIONS = 1000
_GOLDEN = (math.sqrt(5.0) - 1.0) / 2.0


@dataclasses.dataclass(frozen=True)
class LocationPlan(RealPlan):
    """Bandwidths, and the locations: places of predictions (j, g) and labels (j,) on the host.

    `predicted` and `spread` (j,) say what is predicted there: mean and standard deviation, the quantile, or
    the probability of the class; only Gaussians have a spread.
    """

    places: HostArray = dataclasses.field(default_factory=lambda: np.zeros((0, 0)))
    targets: HostArray = dataclasses.field(default_factory=lambda: np.zeros(0))
    predicted: HostArray = dataclasses.field(default_factory=lambda: np.zeros(0))
    spread: HostArray = dataclasses.field(default_factory=lambda: np.zeros(0))


class LocationBound(Bound):
    """Sums over instances of what every location sees, (b, locations)."""

    term_size = 1.0
    statistic: UnnormalisedMeanEmbedding

    def __init__(
        self,
        statistic: UnnormalisedMeanEmbedding,
        predictions: Predictions,
        plan: LocationPlan,
        notes: tuple[str, ...],
    ) -> None:
        super().__init__(statistic, plan.n, notes)
        self.predictions, self.plan = predictions, plan
        points = _places(predictions, plan)
        xp = namespace(points)
        targets = like(plan.targets, points)
        self.targets = targets
        near = kernel_matrix(
            points, like(plan.places, points), statistic.kernel, "euclidean", as_number(plan.bandwidth)
        )
        self.near = xp.permute_dims(near, (1, 0))  # (j, n)
        self.expected = _expected(predictions, targets, plan)  # (j, n)

    def residual(self, labels: Labels) -> Array:
        """Return l(y, t) - E l(Y, t) of every location, (b, j, n)."""
        given, xp = self.predictions, namespace(self.near)
        if isinstance(given, Gaussian):
            gap = (as_float64(labels.values)[:, None, :] - self.targets[None, :, None]) / as_number(
                self.plan.label_bandwidth
            )
            return xp.exp(-0.5 * gap * gap) - self.expected[None, ...]
        if isinstance(given, Quantiles):
            table, q = as_float64(given.values), given.values.shape[1]
            if isinstance(labels, Classes):
                code = xp.astype(labels.values, xp.int64)
                first, last = code // (q + 1), code % (q + 1)
            else:
                first = count_at_most(table, as_float64(labels.values), strict=True)
                last = count_at_most(table, as_float64(labels.values))
            at = xp.astype(self.targets, first.dtype)[None, :, None]
            below = xp.astype(last[:, None, :] <= at, xp.float64) - self.expected[None, ...]
            open_ = (first[:, None, :] <= at) & (at < last[:, None, :])
            return xp.where(open_, xp.zeros_like(below), below)
        shares = label_values(labels, xp, xp.float64)  # (b, k, n)
        return xp.take(shares, xp.astype(self.targets, xp.int64), axis=1) - self.expected[None, ...]

    def state(self, labels: Labels) -> State:
        """Return the sums, replicates in tiles that stay in cache."""
        step = len(labels)
        if is_numpy(self.near):
            step = max(1, 16 * CACHE_ELEMENTS // max(1, self.near.size))
        parts = [self._state(replicates(labels, reps)) for reps in tiles(len(labels), step)]
        xp = namespace(self.near)
        return State({name: xp.concat([part[name] for part in parts], axis=0) for name in parts[0]})

    def _state(self, labels: Labels) -> State:
        xp = namespace(self.near)
        residual = self.residual(labels)
        near = self.near[None, ...]
        weight = xp.zeros((len(labels),), dtype=xp.float64) + float(self.near.shape[1])
        if labels.weights is not None:
            near = near * labels.weights[:, None, :]
            weight = xp.broadcast_to(as_float64(xp.sum(labels.weights, axis=1)), (len(labels),))
        return State(seen=xp.sum(near * residual, axis=2), weight=like(to_host(weight), self.near))

    def finish(self, state: State) -> Array:
        """Average the squared means."""
        mean = state["seen"] / state["weight"][:, None]
        return namespace(mean).mean(mean * mean, axis=1)

    def observed_sums(self, labels: Labels) -> State:
        """Return the state and the variance of every sum if labels were drawn from the predictions."""
        state, xp = self.state(labels), namespace(self.near)
        near = self.near[None, ...]
        if labels.weights is not None:
            near = near * labels.weights[:, None, :]
        return State({**state, "variance": xp.sum(near * near * self._variance(labels), axis=2)})

    def _variance(self, labels: Labels) -> Array:
        """Return Var l(Y, t) of every location, (1, j, n)."""
        given, xp, mean = self.predictions, namespace(self.near), self.expected
        square = mean  # l is 0 or 1
        if isinstance(given, Gaussian):  # the square of a Gaussian kernel is one of another bandwidth
            scale = as_number(self.plan.label_bandwidth) / math.sqrt(2)
            square = _expected_near(given, self.targets, scale)
        variance = xp.clip(square - mean * mean, 0.0, None)[None, ...]
        if isinstance(labels, Counts):  # the share of independent raters
            return variance / as_float64(xp.sum(labels.values, axis=-1))[:, None, :]
        return variance

    def stderr(self, sums: State, labels: Labels) -> tuple[float | None, str | None]:
        """Refuse: squares are above zero even for a calibrated model."""
        return None, "near calibration this error is biased upwards, and no interval around it can be trusted"

    def cluster_sums(self, labels: Labels, codes: HostArray, number: int) -> State:
        """Return what the rows of every cluster add at every location, and how many rows are near it."""
        seen = to_host(self.near * self.residual(labels)[0, ...]).T  # (n, j)
        weight = np.ones(labels.n) if labels.weights is None else to_host(labels.weights)[0]
        near = np.zeros((number, seen.shape[1]))
        total = np.zeros_like(near)
        np.add.at(near, codes, weight[:, None] * to_host(self.near).T)
        np.add.at(total, codes, weight[:, None] * seen)
        return State(seen=total, near=near, weight=np.bincount(codes, weight, number))

    def wild_sums(self, labels: Labels, codes: HostArray, number: int) -> tuple[State, State]:
        """Return 0, which the predictions expect, and what the rows of every cluster add."""
        own = self.cluster_sums(labels, codes, number)
        scatter = to_host(self.observed_sums(labels)["variance"]).sum(axis=1)
        expected = State(seen=np.zeros((1, self.targets.shape[0])), weight=own["weight"].sum()[None])
        return State({**expected, "scatter": scatter}), State(seen=own["seen"])

    def in_clusters(self, found: Estimate, sums: State) -> Estimate:
        """Return the map with errors that leave out each cluster once, and no less than independent rows."""
        assert isinstance(found, LocatedEstimate)
        present = sums["weight"] > 0
        if np.count_nonzero(present) < 2:  # of a group; all rows have two clusters or more
            return dataclasses.replace(found, n_clusters=1)
        weight, seen, near = (sums[name][present] for name in ("weight", "seen", "near"))
        without = (seen.sum(axis=0) - seen) / (weight.sum() - weight)[:, None]  # (c, j)
        errors, degrees = [], []
        for at, (value, independent) in enumerate(
            zip(found.difference, found.difference_stderr, strict=True)
        ):
            one = cluster_error(value, without[:, at], near[:, at], independent)
            errors.append(max(one["stderr"], independent))
            degrees.append(one["degrees_of_freedom"])
        located = dataclasses.replace(
            found,
            difference_stderr=tuple(errors),
            difference_degrees=tuple(degrees),
            n_clusters=int(present.sum()),
            notes=found.notes[:-1],
        )
        return dataclasses.replace(located, notes=(*located.notes, located.worst_words()))

    def witness(self, sums: State) -> tuple[HostArray, HostArray]:
        """Return g of every location and its standard error if calibrated, (j,) each, of `observed_sums`."""
        weight = float(to_host(sums["weight"])[0])
        return to_host(sums["seen"])[0] / weight, np.sqrt(to_host(sums["variance"])[0]) / weight

    def estimate(
        self, sums: State, labels: Labels, notes: tuple[str, ...] = (), n: int | None = None
    ) -> LocatedEstimate:
        """Return the value with its locations, and a note that names the one where labels are most off."""
        plan, given = self.plan, self.predictions
        kind: Literal["mean", "quantile", "probability"] = "probability"
        targets = plan.targets
        if isinstance(given, Quantiles):
            kind, targets = "quantile", to_host(given.levels)[targets.astype(np.int64)]
        elif isinstance(given, RealPredictions):
            kind = "mean"
        difference, error = self.witness(sums)
        found = super().estimate(sums, labels, notes, n)
        located = LocatedEstimate(
            **{field.name: getattr(found, field.name) for field in dataclasses.fields(found)},
            predicts=kind,
            predicted=tuple(plan.predicted.tolist()),
            spread=tuple(plan.spread.tolist()),
            label=tuple(float(one) for one in targets),
            difference=tuple(difference.tolist()),
            difference_stderr=tuple(error.tolist()),
        )
        return dataclasses.replace(located, notes=(*located.notes, located.worst_words()))


def _places(predictions: Predictions, plan: LocationPlan) -> Array:
    if isinstance(predictions, RealPredictions):
        return sides_of(predictions, plan, "float64").points
    return as_float64(as_point(predictions)[0].probs)


def _expected(predictions: Predictions, targets: Array, plan: LocationPlan) -> Array:
    """Return E l(Y, t) of every location, (j, n)."""
    xp = namespace(targets)
    if isinstance(predictions, Gaussian):
        return _expected_near(predictions, targets, as_number(plan.label_bandwidth))
    at = xp.astype(targets, xp.int64)
    if isinstance(predictions, Quantiles):
        levels = xp.take(as_float64(predictions.levels), at, axis=0)
        return levels[:, None] + xp.zeros_like(as_float64(predictions.values)[:, 0])[None, :]
    return xp.permute_dims(xp.take(as_float64(as_point(predictions)[0].probs), at, axis=1), (1, 0))


def _expected_near(predictions: Gaussian, targets: Array, scale: Any) -> Array:
    """Return E exp(-(Y - t)^2 / (2 scale^2)) of every location, (j, n)."""
    xp = namespace(targets)
    mean, std = predictions.members()
    total = xp.sqrt(scale**2 + std * std)  # (n, m)
    gap = (mean[None, ...] - targets[:, None, None]) / total[None, ...]
    return over_members(scale / total[None, ...] * xp.exp(-0.5 * gap * gap), predictions.shares, axis=2)


def levels_of(number: int) -> HostArray:
    """Return the levels whose quantiles are the labels of locations: spread evenly, whatever their number."""
    return np.arange(1, number + 1) * _GOLDEN % 1.0


def _chosen(table: HostArray, targets: HostArray) -> HostArray:
    """Return the entry of every row that its label names, (j,)."""
    found: HostArray = np.take_along_axis(table, targets.astype(np.int64)[:, None], axis=1)[:, 0]
    return found.astype(np.float64)


@dataclasses.dataclass(frozen=True)
class UnnormalisedMeanEmbedding(Statistic):
    """Kernel calibration error at test locations, each a prediction and a label.

    Parameters
    ----------
    locations : int or tuple of tuple of float
        Number of locations, taken evenly from the predictions; or the locations themselves: the
        probabilities of all classes, or mean and standard deviation of a Gaussian, and then the label.
    kernel : {"exponential", "gaussian"}
        exp(-d / bandwidth), or exp(-d^2 / (2 bandwidth^2)), between predictions.
    bandwidth : float or "median"
        Bandwidth of predictions; "median" uses the median distance between at most 1000 evenly spaced rows.
    label_bandwidth : float or "median"
        For real labels, as in `skce`.

    Notes
    -----
    A sum over instances: it can use all rows of data that are too large for `skce`. Locations come from the
    predictions alone. The result is a `LocatedEstimate`: it has the difference at every location, its notes
    name the largest, and ``.plot()`` draws them as a map.

    Examples
    --------
    >>> import credibly as cr
    >>> normal = cr.Gaussian([0.0, 1.0], [1.0, 2.0])
    >>> found = cr.statistics.ucme(
    ...     normal, [0.0, 0.5], locations=((0.5, 0.5, 1.0),), bandwidth=1.0, label_bandwidth=1.0
    ... )
    >>> round(float(found), 6)
    0.003427
    """

    locations: Any = 20
    kernel: KernelName = "exponential"
    bandwidth: float | Literal["median"] = "median"
    label_bandwidth: float | Literal["median"] = "median"
    name: ClassVar[str] = "ucme"
    in_evaluations: ClassVar[bool] = False
    traits: ClassVar[Traits] = Traits(
        reduction="sum",
        tail="greater",
        labels=ALL_LABELS,
        differentiable=False,
        multiplicities=True,
        duplicate_invariant=True,
        range=(0.0, 1.0),
    )
    reference: ClassVar[str] = "Widmann et al. 2021"
    story: ClassVar[Story] = Story(
        title="UCME",
        meaning=(
            "At a few test locations: do labels occur as often as similar predictions say? Its notes "
            "name the location with the largest difference."
        ),
        formula="mean over j of (mean over i of k(Pᵢ, Tⱼ) (l(yᵢ, tⱼ) − E l(Yᵢ, tⱼ)))²",
        above="labels at some locations occur more or less often than chance explains",
        citation="Widmann, Lindsten and Zachariah, Calibration tests beyond classification, ICLR 2021.",
    )

    def __post_init__(self) -> None:
        check_kernel(self.kernel, "euclidean", self.bandwidth, "median")
        check_bandwidth(self.label_bandwidth, "median", "`label_bandwidth`")
        given = self.locations
        if isinstance(given, (int, np.integer)) and not isinstance(given, bool):
            good = 1 <= given <= MOST_LOCATIONS
            object.__setattr__(self, "locations", int(given))
        else:
            table = np.asarray(given, dtype=np.float64) if isinstance(given, (tuple, list)) else np.zeros(0)
            good = (
                table.ndim == 2 and table.size > 0 and bool(np.isfinite(table).all()) and table.shape[1] > 2
            )
            if good:
                frozen = tuple(tuple(float(value) for value in row) for row in table)
                object.__setattr__(self, "locations", frozen)
        if not good:
            raise InputError(
                "`locations`",
                f"must be a number from 1 to {MOST_LOCATIONS}, or rows of a prediction and a label",
                f"got {given!r}",
                "Try 20, or ((mean, std, label), ...).",
            )

    def require_predictions(self, predictions: Predictions) -> None:
        """Raise unless expectations under the prediction are known."""
        super().require_predictions(predictions)
        if isinstance(predictions, Samples) and not isinstance(self.locations, int):
            raise InputTypeError(
                f"`{self.name}` with `locations`",
                "needs class probabilities or single Gaussians, of which a few numbers tell everything",
                "got Samples",
                "Give only the number of locations, and they are taken from the draws.",
                argument="predictions",
            )

    def _plan(self, rows: Rows) -> LocationPlan:
        """Return bandwidths and locations."""
        some = rows.sample.predictions
        part: Predictions
        if isinstance(some, Samples):
            self.require_predictions(some)
            from credibly.statistics.ucme_draws import plan_of_draws

            return plan_of_draws(self, rows)
        if isinstance(some, RealPredictions):
            plan = plan_of(rows, self.bandwidth, self.label_bandwidth, "euclidean", "float64")
            part = joined_part(list(rows.map(partial(rows_inside, chosen_rows(rows, MEDIAN_ROWS)))))
        else:
            probs = as_float64(spaced_rows(rows, MEDIAN_ROWS))
            rule = isinstance(self.bandwidth, str)
            found = median_distance(probs, "euclidean") if rule else (self.bandwidth, ())
            plan = RealPlan(rows.n, None, *found)
            part = Point._trusted(probs)
        made = LocationPlan(**{field.name: getattr(plan, field.name) for field in dataclasses.fields(plan)})
        return dataclasses.replace(made, **self._located(part, made))

    def _located(self, part: Predictions, plan: LocationPlan) -> dict[str, Any]:
        """Return places, labels and what is predicted there, by the names of a plan."""
        points = to_host(_places(part, plan))
        if not isinstance(self.locations, int):
            table = np.asarray(self.locations)
            known = isinstance(part, Point) or (isinstance(part, Gaussian) and part.n_members == 1)
            if not known or table.shape[1] != points.shape[1] + 1:
                raise InputError(
                    "`locations`",
                    f"must have {points.shape[1] + 1} numbers each, for classes or single Gaussians",
                    f"got {table.shape[1]} for {type(part).__name__}",
                    "Give only their number, and they are taken from the predictions.",
                )
            places, targets = table[:, :-1], table[:, -1]
            if isinstance(part, Gaussian):
                return {"places": places, "targets": targets, "predicted": table[:, 0], "spread": table[:, 1]}
            wrong = ~np.isin(targets, np.arange(points.shape[1]))
            if wrong.any():
                raise InputError(
                    "`locations`",
                    f"must end with a class from 0 to {points.shape[1] - 1}",
                    f"got {targets[wrong][0]:g}",
                    "Write the probabilities of all classes, then the class.",
                )
            return {"places": places, "targets": targets, "predicted": _chosen(places, targets)}
        # sorted, so that neither the order of rows or classes matters nor how often a row occurs
        keys = -np.sort(-points, axis=1) if isinstance(part, Point) else points
        if isinstance(part, Gaussian):  # places of mixtures depend on a grid, which all rows decide
            mean, std = (to_host(one) for one in part.members())
            order = np.argsort(mean, axis=1)  # nor does the order of members matter
            keys = np.concatenate([np.take_along_axis(one, order, axis=1) for one in (mean, std)], axis=1)
        _, first = np.unique(keys, axis=0, return_index=True)
        chosen = first[spaced(first.size, self.locations)]
        at = levels_of(chosen.size)
        if isinstance(part, Gaussian):
            # the quantile of one member of each, whichever the level points at
            mean, std = (to_host(one)[chosen] for one in part.members())
            from scipy.special import ndtri

            by_mean, rows = np.argsort(mean, axis=1), np.arange(chosen.size)
            shares = part.shares
            if shares is None:
                member = (at * mean.shape[1]).astype(np.int64)
                rest = np.clip(at * mean.shape[1] - member, 0.05, 0.95)
            else:  # where the level falls among the weights of the members in order
                own = to_host(shares)[by_mean]
                steps = np.cumsum(own, axis=1)
                member = np.minimum((steps <= at[:, None]).sum(axis=1), mean.shape[1] - 1)
                inside = (at - (steps - own)[rows, member]) / own[rows, member]
                rest = np.clip(inside, 0.05, 0.95)
            order = by_mean[rows, member]
            weights = None if shares is None else to_host(shares)
            centre = over_members(mean, weights)
            variance = over_members(std**2 + (mean - centre[:, None]) ** 2, weights)
            return {
                "places": points[chosen],
                "targets": mean[rows, order] + std[rows, order] * ndtri(rest),
                "predicted": centre,
                "spread": np.sqrt(variance),
            }
        if isinstance(part, Quantiles):
            targets = np.floor(at * part.values.shape[1])
            table = to_host(part.values)[chosen]
            return {"places": points[chosen], "targets": targets, "predicted": _chosen(table, targets)}
        order = np.argsort(-points[chosen], axis=1, kind="stable")
        steps = np.cumsum(keys[chosen], axis=1)
        rank = np.minimum((steps < at[:, None]).sum(axis=1), points.shape[1] - 1)
        targets = order[np.arange(chosen.size), rank].astype(np.float64)
        return {"places": points[chosen], "targets": targets, "predicted": _chosen(points[chosen], targets)}

    def _bind(self, predictions: Predictions, plan: Plan) -> Bound:
        assert isinstance(plan, LocationPlan)
        notes = predictions.notes if isinstance(predictions, RealPredictions) else as_point(predictions)[1]
        resolved: dict[str, Any] = {"bandwidth": as_number(plan.bandwidth)}
        if isinstance(predictions, (Gaussian, Samples)):
            resolved["label_bandwidth"] = as_number(plan.label_bandwidth)
        if isinstance(predictions, Samples):
            from credibly.statistics.ucme_draws import DrawnLocations

            return DrawnLocations(self.with_(**resolved), predictions, plan)
        return LocationBound(self.with_(**resolved), predictions, plan, (*notes, *plan.notes))


ucme = UnnormalisedMeanEmbedding()
