"""What a world is: settings that draw predictions and labels together with the truth behind them."""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from functools import cached_property
from typing import Any

import numpy as np

from credibly._arrays.checks import require_integer
from credibly._arrays.errors import InputError, InputTypeError, UnsupportedError
from credibly._arrays.namespace import HostArray, as_float64, to_host
from credibly._arrays.philox import Seed, as_seed
from credibly.credal import contains
from credibly.credal.membership import on_simplex
from credibly.credal.simplex_method import least_total
from credibly.hypotests.resampling.replicates import Replicates
from credibly.predictions import ClassPredictions, Ensemble, LabelCounts, Point, Predictions
from credibly.results.base import jsonable

LARGEST = 1e100
"""Settings above this are refused: their logarithms would leave double precision."""


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Truth:
    """What labels were drawn from.

    Attributes
    ----------
    probs : ndarray (n, k) or None
        The distribution every label was drawn from; None in regression.
    in_set : ndarray (n, k) or None
        The distribution in the set where the truth lies, or from which it starts: `probs` under the
        hypothesis, the boundary point otherwise. What a perfect learner of weights would find.
    weights : ndarray (n, m) or None
        The weights with which the members give `probs`, where the world drew weights.
    mean, std : ndarray (n,) or None
        The normal distribution every observation was drawn from, in regression.
    """

    probs: HostArray | None = None
    in_set: HostArray | None = None
    weights: HostArray | None = None
    mean: HostArray | None = None
    std: HostArray | None = None

    def __repr__(self) -> str:
        known = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        shapes = [f"{name} {value.shape}" for name, value in known.items() if value is not None]
        return f"Truth({', '.join(shapes)})"


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class WorldSample:
    """A data set with the truth behind it.

    Attributes
    ----------
    predictions : Predictions
        What a model says.
    labels : ndarray (n,) or LabelCounts
        What was observed.
    features : ndarray (n, d)
        The instances.
    truth : Truth
        What the labels were drawn from.
    world : World
        Where the data come from.
    notes : tuple of str
        What was drawn again, and why.
    """

    predictions: Predictions
    labels: HostArray | LabelCounts
    features: HostArray
    truth: Truth
    world: World
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.predictions)

    def __repr__(self) -> str:
        return f"WorldSample({self.world.name!r}, {self.predictions!r}, {self.truth!r})"

    @cached_property
    def given_instance(self) -> HostArray:
        """P(label | instance), (n, k).

        The truth averaged over all that was drawn independently of the instance: labels do not show, say,
        which of several corners was drawn for one instance, so no test can see more than this average.
        """
        self._class_predictions()
        return self.world._average(self)

    @cached_property
    def inside(self) -> HostArray:
        """Whether `given_instance` lies in the set of predictions, (n,) of bool, by a linear program each."""
        return to_host(contains(self._class_predictions(), self.given_instance))

    @cached_property
    def distance(self) -> HostArray:
        """Total variation between `given_instance` and the nearest distribution in the set, (n,).

        Exact, by a linear program each; 0 where the truth is inside.
        """
        predictions = self._class_predictions()
        if isinstance(predictions, Point):
            gaps = np.abs(to_host(as_float64(predictions.probs)) - self.given_instance)
            return np.asarray(0.5 * gaps.sum(axis=1))
        if not isinstance(predictions, Ensemble):
            raise UnsupportedError(
                "the distance to a set",
                "is computed for points and hulls of members",
                f"got {type(predictions).__name__}",
                "Use `inside`, or `credal.distance`.",
            )
        distances = np.zeros(len(self))
        outside = np.flatnonzero(~self.inside)
        if outside.size:
            members = to_host(as_float64(predictions.probs))[outside]
            distances[outside] = _distance_to_hull(members, self.given_instance[outside])
        return distances

    def _class_predictions(self) -> ClassPredictions:
        if not isinstance(self.predictions, ClassPredictions):
            raise UnsupportedError(
                "membership in a set of distributions",
                "is defined for class predictions",
                f"got {type(self.predictions).__name__}",
                "Compare `truth.mean` and `truth.std` with the predictions.",
            )
        return self.predictions


def _distance_to_hull(members: HostArray, probs: HostArray) -> HostArray:
    """Return the total variation between `probs` (n, k) and the hulls of `members` (n, m, k), (n,).

        min over w of 1/2 |p - sum_m w_m P_m|_1,   w >= 0, sum w = 1

    With p = sum_m w_m P_m + s - t, s and t >= 0, the sum of all unknowns is 1 + 2 TV: one linear program
    whose costs are all 1, pivoted for all instances together.
    """
    members, probs = on_simplex(members), on_simplex(probs)
    n, m, k = members.shape
    columns = np.zeros((n, k + 1, m + 2 * k))
    columns[:, :k, :m] = np.swapaxes(members, 1, 2)
    columns[:, k, :m] = 1.0
    columns[:, :k, m : m + k] = np.eye(k)
    columns[:, :k, m + k :] = -np.eye(k)
    totals = least_total(columns, np.concatenate([probs, np.ones((n, 1))], axis=1))
    return np.asarray(np.maximum(0.5 * (totals - 1.0), 0.0))


@dataclasses.dataclass(frozen=True)
class World(ABC):
    """Base of all worlds: frozen settings and :meth:`draw`.

    Derive a frozen dataclass whose fields are numbers, words and tuples: they are the address of its random
    numbers in a power study. Worlds draw on the host; their arrays are NumPy's.
    """

    @property
    @abstractmethod
    def name(self) -> str:
        """A short name for tables and legends."""

    @property
    @abstractmethod
    def null(self) -> bool | None:
        """Whether the null hypothesis is true here; None where it differs between instances."""

    @abstractmethod
    def _draw(self, n: int, generator: np.random.Generator, seed: Seed) -> WorldSample:
        """Draw `n` instances with what the generator and the counters under `seed` give."""

    def draw(self, n: int, *, rng: Any = None) -> WorldSample:
        """Draw a data set.

        Parameters
        ----------
        n : int
            Number of instances.
        rng : None, int or Generator
            Seed.

        Returns
        -------
        WorldSample
            Predictions, labels, features and the truth.
        """
        seed = as_seed(rng)
        return self._draw(require_integer(n, "n", 1), np.random.default_rng(seed), seed)

    def settings(self) -> dict[str, Any]:
        """Return the world's type and settings in JSON-safe types."""
        fields = {field.name: jsonable(getattr(self, field.name)) for field in dataclasses.fields(self)}
        return {"world": type(self).__name__, **fields}

    def _average(self, sample: WorldSample) -> HostArray:
        """Return P(label | instance); worlds that draw more than the instance shows override this."""
        assert sample.truth.probs is not None
        return sample.truth.probs


def mixture(weights: HostArray, members: HostArray) -> Truth:
    """Return the truth sum_m w_m P_m of weights (n, m) and members (n, m, k)."""
    probs = np.asarray((weights[:, None, :] @ members)[:, 0, :])
    return Truth(probs, probs, weights)


def draw_labels(probs: HostArray, seed: Seed) -> HostArray:
    """Draw one label per row, by the counters that draw replicates."""
    return np.asarray(Replicates(probs, seed).labels(slice(0, 1)).values[0], dtype=np.int64)


def require_number(
    value: Any, name: str, low: float, high: float, remedy: str, *, positive: bool = False
) -> None:
    """Raise unless `value` is a finite number from `low` to `high`, and above 0 where it must be positive."""
    number = isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
    if not number:
        raise InputTypeError(f"`{name}`", "must be a number", f"got {value!r}", remedy)
    if not low <= value <= high or (positive and value == 0):
        rule = "must be positive" if positive else f"must be at least {low:g}"
        raise InputError(f"`{name}`", f"{rule} and at most {high:g}", f"got {value!r}", remedy)


def require_interval(value: Any, name: str, low: float, high: float, remedy: str) -> None:
    """Raise unless `value` is a tuple of two increasing numbers from `low` to `high`."""
    if not isinstance(value, tuple) or len(value) != 2:
        raise InputTypeError(f"`{name}`", "must be a tuple of two numbers", f"got {value!r}", remedy)
    for end in value:
        require_number(end, name, low, high, remedy)
    if not value[0] < value[1]:
        raise InputError(f"`{name}`", "must be two increasing numbers", f"got {value!r}", remedy)
