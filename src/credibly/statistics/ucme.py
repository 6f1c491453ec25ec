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
from typing import Any, ClassVar, Literal

import numpy as np
from scipy.special import ndtri

from credibly._arrays.errors import InputError, InputTypeError
from credibly._arrays.namespace import HostArray, to_host
from credibly.predictions import (
    Gaussian,
    Point,
    Predictions,
    Quantiles,
    RealPredictions,
    Rows,
    Samples,
    as_point,
)
from credibly.predictions.regression import over_members
from credibly.statistics.kernels import (
    MEDIAN_ROWS,
    KernelName,
    as_number,
    check_bandwidth,
    check_kernel,
    median_distance,
    spaced,
    spaced_probs,
)
from credibly.statistics.locations import (
    LocationBound,
    LocationPlan,
    features_of,
    places_of,
)
from credibly.statistics.protocol import ALL_LABELS, Bound, Plan, Statistic, Story, Traits
from credibly.statistics.real_kernels import (
    MMD,
    RealPlan,
    extent,
    few_rows,
    median_label_distance,
    plan_of,
)

MOST_LOCATIONS = 1000
_GOLDEN = (math.sqrt(5.0) - 1.0) / 2.0


def _levels_of(number: int) -> HostArray:
    """Return the levels whose quantiles are the labels of locations: spread evenly, whatever their number."""
    return np.arange(1, number + 1) * _GOLDEN % 1.0


def _plan_of_draws(statistic: UnnormalisedMeanEmbedding, rows: Rows) -> LocationPlan:
    """Return bandwidths and locations: the draws of some rows, with a normal quantile of their moments."""
    ends = list(rows.map(extent))
    low, high = min(one[0] for one in ends), max(one[1] for one in ends)
    part = few_rows(rows)
    assert isinstance(part, Samples)
    draws = to_host(part.flat())
    label_bandwidth = statistic.label_bandwidth
    if isinstance(label_bandwidth, str):
        label_bandwidth = median_label_distance(draws, "draws")[0]
    plan = LocationPlan(rows.n, None, statistic.bandwidth, (), label_bandwidth, low, high)
    # neither the order of the draws nor how often a row occurs matters
    draws = np.unique(np.sort(draws, axis=1), axis=0)
    points = features_of(plan).mean_over(draws)
    if isinstance(plan.bandwidth, str):
        found, notes = median_distance(points, MMD)
        plan = dataclasses.replace(plan, bandwidth=found, notes=notes)
    located = spaced(len(draws), statistic.locations)
    mean, spread = draws[located].mean(axis=1), draws[located].std(axis=1)
    level = np.clip(_levels_of(located.size), 0.05, 0.95)
    return dataclasses.replace(
        plan, places=points[located], targets=mean + spread * ndtri(level), predicted=mean, spread=spread
    )


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
        For real labels; "median" as in `skce`.

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
        check_kernel(self.kernel, self.bandwidth, "median")
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
                "needs class probabilities or single Gaussians, which a few numbers describe completely",
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
            return _plan_of_draws(self, rows)
        if isinstance(some, RealPredictions):
            plan = plan_of(rows, self.bandwidth, self.label_bandwidth)
            part = few_rows(rows)
        else:
            probs = spaced_probs(rows, MEDIAN_ROWS)
            rule = isinstance(self.bandwidth, str)
            found = median_distance(probs) if rule else (self.bandwidth, ())
            plan = RealPlan(rows.n, None, *found)
            part = Point._trusted(probs)
        made = LocationPlan(**{field.name: getattr(plan, field.name) for field in dataclasses.fields(plan)})
        return dataclasses.replace(made, **self._located(part, made))

    def _located(self, part: Predictions, plan: LocationPlan) -> dict[str, Any]:
        """Return places, labels and what is predicted there, by the names of a plan."""
        points = to_host(places_of(part, plan))
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
            parts = (mean, std, to_host(part.shares)) if part.weights_by_row else (mean, std)
            keys = np.concatenate([np.take_along_axis(one, order, axis=1) for one in parts], axis=1)
        _, first = np.unique(keys, axis=0, return_index=True)
        chosen = first[spaced(first.size, self.locations)]
        at = _levels_of(chosen.size)
        if isinstance(part, Gaussian):
            # the quantile of one member of each, whichever the level points at
            mean, std = (to_host(one)[chosen] for one in part.members())
            by_mean, rows = np.argsort(mean, axis=1), np.arange(chosen.size)
            shares = None if part.shares is None else to_host(part.shares)
            if shares is None:
                member = (at * mean.shape[1]).astype(np.int64)
                rest = np.clip(at * mean.shape[1] - member, 0.05, 0.95)
            else:  # where the level falls among the weights of the members in order
                shares = shares[chosen] if part.weights_by_row else shares
                own = np.take_along_axis(np.broadcast_to(shares, mean.shape), by_mean, axis=1)
                steps = np.cumsum(own, axis=1)
                member = np.minimum((steps <= at[:, None]).sum(axis=1), mean.shape[1] - 1)
                width = np.maximum(own[rows, member], np.finfo(np.float64).tiny)  # the last may weigh 0
                inside = (at - (steps - own)[rows, member]) / width
                rest = np.clip(inside, 0.05, 0.95)
            order = by_mean[rows, member]
            centre = over_members(mean, shares)
            variance = over_members(std**2 + (mean - centre[:, None]) ** 2, shares)
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
        return LocationBound(self.with_(**resolved), predictions, plan, (*notes, *plan.notes))


ucme = UnnormalisedMeanEmbedding()
