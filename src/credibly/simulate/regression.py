"""Regression worlds of P21: one unknown mean (eq. 3.1), and a quadratic seen everywhere but in a gap."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from credibly._arrays.checks import require_integer
from credibly._arrays.errors import InputError
from credibly._arrays.namespace import HostArray
from credibly._arrays.philox import Seed, as_seed
from credibly.predictions import Gaussian
from credibly.simulate.world import LARGEST, Truth, World, WorldSample, require_interval, require_number


@dataclasses.dataclass(frozen=True)
class LocationWorld(World):
    """One unknown mean: theta ~ N(0, 1), y_i ~ N(theta, 1), predicted by N(0, 2) in all (P21 eq. 3.1).

    Parameters
    ----------
    theta : float or None
        The mean of all observations; None draws it from N(0, 1), as the model believes.
    independent : bool
        Draw a mean of its own for every observation, so that y_i ~ N(0, 2) independently: what a check of
        uniformity expects, and what no single theta gives.
    n_members : int
        Draws of theta that stand for the model's belief, one Gaussian member each.

    Notes
    -----
    The hypothesis is Bayesian: one member is right for all instances. It holds where theta is drawn.

    References
    ----------
    P21: Gopal, Why calibration error is wrong given model uncertainty, 2021.

    Examples
    --------
    >>> from credibly.simulate import LocationWorld
    >>> sample = LocationWorld(theta=0.5, n_members=20).draw(1000, rng=7)
    >>> sample.predictions
    Gaussian(n=1000, m=20, dtype=float64)
    >>> bool(abs(sample.labels.mean() - 0.5) < 0.1)
    True
    """

    theta: float | None = None
    independent: bool = False
    n_members: int = 100

    def __post_init__(self) -> None:
        if self.theta is not None:
            require_number(self.theta, "theta", -LARGEST, LARGEST, "Use 0.5.")
        if self.independent and self.theta is not None:
            raise InputError(
                "`theta`",
                "is one mean for all observations",
                f"got {self.theta!r} with independent=True",
                "Leave one of them out.",
            )
        require_integer(self.n_members, "n_members", 1)

    @property
    def name(self) -> str:
        """Where the mean comes from."""
        if self.independent:
            return "P21 location, independent"
        return "P21 location" + ("" if self.theta is None else f", theta {self.theta:g}")

    @property
    def null(self) -> bool | None:
        """True where theta is drawn as the model believes, None where it is fixed."""
        if self.independent:
            return False
        return True if self.theta is None else None

    def _draw(self, n: int, generator: np.random.Generator, seed: Seed) -> WorldSample:
        believed = generator.standard_normal(self.n_members)
        if self.independent:
            mean = generator.standard_normal(n)
        else:
            mean = np.full(n, generator.standard_normal() if self.theta is None else float(self.theta))
        values = mean + generator.standard_normal(n)
        predictions = Gaussian(np.tile(believed, (n, 1)), np.ones((n, self.n_members)), member_axis=1)
        truth = Truth(mean=mean, std=np.ones(n))
        return WorldSample(predictions, values, np.zeros((n, 1)), truth, self)


@dataclasses.dataclass(frozen=True)
class QuadraticWorld(World):
    """A quadratic whose training data leave a gap (P21's example), with the exact posterior as ensemble.

    f(x) = a + b x + c x^2 with a, b, c ~ N(0, prior_std^2); training data at x outside the gap, y ~ N(f(x),
    noise^2); members are draws from the posterior, so they spread where there were no data. Test data cover
    the whole range.

    Parameters
    ----------
    posterior_scale : float
        1 for draws from the posterior: the truth is one of them, and the Bayesian hypothesis holds. Below 1
        members are closer together than the data allow, above 1 further apart.
    n_members : int
        Draws from the posterior.
    n_train : int
        Training data.
    noise : float
        Standard deviation of observations.
    prior_std : float
        Standard deviation of the coefficients.
    gap : tuple of float
        Where there are no training data.
    x_range : tuple of float
        Smallest and largest x.

    References
    ----------
    P21: Gopal, Why calibration error is wrong given model uncertainty, 2021.

    Examples
    --------
    >>> from credibly.simulate import QuadraticWorld
    >>> sample = QuadraticWorld().draw(2000, rng=7)
    >>> x, spread = sample.features[:, 0], sample.predictions.mean.std(axis=1)
    >>> bool(spread[abs(x) < 0.1].mean() > spread[(abs(x) > 0.6) & (abs(x) < 0.9)].mean())
    True
    """

    posterior_scale: float = 1.0
    n_members: int = 50
    n_train: int = 20
    noise: float = 0.1
    prior_std: float = 1.0
    gap: tuple[float, float] = (-0.5, 0.5)
    x_range: tuple[float, float] = (-1.0, 1.0)

    def __post_init__(self) -> None:
        require_number(self.posterior_scale, "posterior_scale", 0, 1e6, "Use 1 for the posterior.")
        require_integer(self.n_members, "n_members", 1)
        require_integer(self.n_train, "n_train", 1)
        require_number(self.noise, "noise", 0, 1e6, "Use 0.1.", positive=True)
        require_number(self.prior_std, "prior_std", 0, 1e6, "Use 1.", positive=True)
        require_interval(self.x_range, "x_range", -1e6, 1e6, "Use (-1.0, 1.0).")
        require_interval(self.gap, "gap", *self.x_range, "Use (-0.5, 0.5).")
        if self.gap == self.x_range:
            raise InputError(
                "`gap`",
                "must leave room for training data",
                f"got {self.gap!r}, the whole range",
                "Shorten it.",
            )

    @property
    def name(self) -> str:
        """What differs between such worlds."""
        scale = "" if self.posterior_scale == 1 else f", posterior scale {self.posterior_scale:g}"
        return f"P21 quadratic{scale}"

    @property
    def null(self) -> bool:
        """Whether members are draws from the posterior."""
        return self.posterior_scale == 1

    def _draw(self, n: int, generator: np.random.Generator, seed: Seed) -> WorldSample:
        coefficients, places, observed = self._observe(generator)
        train = _powers(places)
        precision = train.T @ train / self.noise**2 + np.eye(3) / self.prior_std**2
        centre = np.linalg.solve(precision, train.T @ observed / self.noise**2)
        # L L' = precision, so L'^-1 z has the covariance of the posterior
        root = np.linalg.cholesky(precision)
        away = np.linalg.solve(root.T, generator.standard_normal((3, self.n_members)))
        members = centre[:, None] + self.posterior_scale * away
        x = generator.uniform(*self.x_range, size=n)
        mean = _powers(x) @ coefficients
        values = mean + self.noise * generator.standard_normal(n)
        predictions = Gaussian(
            _powers(x) @ members, np.full((n, self.n_members), float(self.noise)), member_axis=1
        )
        truth = Truth(mean=mean, std=np.full(n, float(self.noise)))
        return WorldSample(predictions, values, x[:, None], truth, self)

    def training_data(self, *, rng: Any = None) -> tuple[HostArray, HostArray]:
        """Return x and y that the posterior of a draw with the same seed was computed from.

        Parameters
        ----------
        rng : None, int or Generator
            Seed.

        Returns
        -------
        tuple of ndarray (n_train,)
            x outside the gap, and y: what another model can be trained on.
        """
        _, places, observed = self._observe(np.random.default_rng(as_seed(rng)))
        return places, observed

    def _observe(self, generator: np.random.Generator) -> tuple[HostArray, HostArray, HostArray]:
        """Return coefficients, and x and y of the training data."""
        coefficients = self.prior_std * generator.standard_normal(3)
        places = self._outside_gap(generator.random(self.n_train))
        observed = _powers(places) @ coefficients + self.noise * generator.standard_normal(self.n_train)
        return coefficients, places, observed

    def _outside_gap(self, uniform: HostArray) -> HostArray:
        """Spread numbers from [0, 1) evenly over the range without the gap."""
        low, high = self.x_range
        width = self.gap[1] - self.gap[0]
        place = low + uniform * (high - low - width)
        return np.asarray(np.where(place < self.gap[0], place, place + width))


def _powers(x: HostArray) -> HostArray:
    """Return 1, x, x^2, (n, 3)."""
    return np.stack([np.ones_like(x), x, x**2], axis=1)
