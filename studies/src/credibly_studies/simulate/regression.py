"""Regression worlds of P21: one unknown mean (eq. 3.1), and a quadratic seen everywhere but in a gap."""

from __future__ import annotations

import dataclasses
import math
from typing import Any, Literal

import numpy as np
from scipy.special import ndtr, ndtri

from credibly._arrays.checks import require_integer
from credibly._arrays.errors import InputError, one_of
from credibly._arrays.namespace import HostArray
from credibly._arrays.philox import Seed, as_seed
from credibly.predictions import Gaussian
from credibly_studies.simulate.world import (
    LARGEST,
    Truth,
    World,
    WorldSample,
    require_interval,
    require_number,
)


@dataclasses.dataclass(frozen=True)
class LocationWorld(World):
    """One unknown mean: theta ~ N(0, 1), y_i ~ N(theta, 1), predicted by N(0, 2) in all (P21 eq. 3.1).

    With other parameters (P21 App. E): theta ~ N(prior_mean, prior_std^2), y_i ~ N(theta, noise^2).

    Parameters
    ----------
    theta : float or None
        The mean of all observations; None draws it as the model believes.
    independent : bool
        Draw a separate mean for every observation, so that y_i ~ N(0, 2) independently: what a check of
        uniformity expects, but no single theta gives.
    n_members : int
        Number of draws of theta that represent the model's belief, one Gaussian member each.
    prior_mean, prior_std : float
        What the model believes about theta.
    noise : float
        Standard deviation of observations.

    Notes
    -----
    The hypothesis is Bayesian: one member is right for all instances. It holds where theta is drawn.

    References
    ----------
    P21: Gopal, Why calibration error is wrong given model uncertainty, 2021.

    Examples
    --------
    >>> from credibly_studies.simulate import LocationWorld
    >>> sample = LocationWorld(theta=0.5, n_members=20).draw(1000, rng=7)
    >>> sample.predictions
    Gaussian(n=1000, m=20, dtype=float64)
    >>> bool(abs(sample.labels.mean() - 0.5) < 0.1)
    True
    """

    theta: float | None = None
    independent: bool = False
    n_members: int = 100
    prior_mean: float = 0.0
    prior_std: float = 1.0
    noise: float = 1.0

    def __post_init__(self) -> None:
        require_number(self.prior_mean, "prior_mean", -LARGEST, LARGEST, "Use 0.")
        require_number(self.prior_std, "prior_std", 0, LARGEST, "Use 1.", positive=True)
        require_number(self.noise, "noise", 0, LARGEST, "Use 1.", positive=True)
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
        def believed(size: int) -> HostArray:
            return self.prior_mean + self.prior_std * generator.standard_normal(size)

        members = believed(self.n_members)
        if self.independent:
            mean = believed(n)
        else:
            mean = np.full(n, believed(1)[0] if self.theta is None else float(self.theta))
        std = float(self.noise)
        values = mean + std * generator.standard_normal(n)
        predictions = Gaussian(np.tile(members, (n, 1)), np.full((n, self.n_members), std), member_axis=1)
        truth = Truth(mean=mean, std=np.full(n, std))
        return WorldSample(predictions, values, np.zeros((n, 1)), truth, self)


@dataclasses.dataclass(frozen=True)
class QuadraticWorld(World):
    """A quadratic whose training data leave a gap (P21 section 4.1), with the exact posterior as ensemble.

    f(x) = a + b x + c x^2, by default (x - 1)^2; x ~ N(0, 1), training data at x outside the gap, y ~ N(f(x),
    noise^2); members are draws from the posterior under a, b, c ~ N(0, prior_std^2), so they spread where
    there were no data. The defaults are those of P21 section 4.1 and App. F.

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
        Standard deviation of observations; P21 has a variance of 0.5.
    coefficients : tuple of float or None
        The numbers a, b and c; None draws them from the prior for every data set, so that the truth is one
        more draw from the posterior.
    prior_std : float
        Standard deviation that the prior has for each of the coefficients.
    gap : tuple of float
        Where there are no training data.
    x_range : tuple of float or None
        Smallest and largest x, uniform between them; None for x ~ N(0, 1).
    test : {"all", "seen", "gap"}
        Where test data lie: anywhere, where training data were, or in the gap.

    References
    ----------
    P21: Gopal, Why calibration error is wrong given model uncertainty, 2021.

    Examples
    --------
    >>> from credibly_studies.simulate import QuadraticWorld
    >>> sample = QuadraticWorld(test="gap").draw(1000, rng=7)
    >>> x = sample.features[:, 0]
    >>> bool(x.min() >= -1.5), bool(x.max() <= 0)
    (True, True)
    >>> bool(abs((sample.labels - (x - 1) ** 2).var() - 0.5) < 0.1)
    True
    """

    posterior_scale: float = 1.0
    n_members: int = 50
    n_train: int = 10_000
    noise: float = math.sqrt(0.5)
    coefficients: tuple[float, float, float] | None = (1.0, -2.0, 1.0)
    prior_std: float = 1.0
    gap: tuple[float, float] = (-1.5, 0.0)
    x_range: tuple[float, float] | None = None
    test: Literal["all", "seen", "gap"] = "all"

    def __post_init__(self) -> None:
        require_number(self.posterior_scale, "posterior_scale", 0, 1e6, "Use 1 for the posterior.")
        require_integer(self.n_members, "n_members", 1)
        require_integer(self.n_train, "n_train", 1)
        require_number(self.noise, "noise", 0, 1e6, "Use 0.1.", positive=True)
        require_number(self.prior_std, "prior_std", 0, 1e6, "Use 1.", positive=True)
        one_of("`test`", self.test, ("all", "seen", "gap"))
        if self.x_range is not None:
            require_interval(self.x_range, "x_range", -1e6, 1e6, "Use (-1.0, 1.0).")
        require_interval(self.gap, "gap", *(self.x_range or (-30.0, 30.0)), "Use (-0.5, 0.5).")
        if self.coefficients is not None:
            if len(self.coefficients) != 3:
                raise InputError(
                    "`coefficients`", "must be three numbers", f"got {self.coefficients!r}", "Use (1, -2, 1)."
                )
            for coefficient in self.coefficients:
                require_number(coefficient, "coefficients", -1e6, 1e6, "Use (1, -2, 1).")
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
    def null(self) -> bool | None:
        """Whether members are draws from the posterior; None where the coefficients are fixed."""
        if self.posterior_scale != 1:
            return False
        return True if self.coefficients is None else None

    def _draw(self, n: int, generator: np.random.Generator, seed: Seed) -> WorldSample:
        coefficients, places, observed = self._observe(generator)
        train = _powers(places)
        precision = train.T @ train / self.noise**2 + np.eye(3) / self.prior_std**2
        centre = np.linalg.solve(precision, train.T @ observed / self.noise**2)
        # L L' = precision, so L'^-1 z has the covariance of the posterior
        root = np.linalg.cholesky(precision)
        away = np.linalg.solve(root.T, generator.standard_normal((3, self.n_members)))
        members = centre[:, None] + self.posterior_scale * away
        x = self._places(generator.random(n), self.test)
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
        if self.coefficients is None:
            coefficients = self.prior_std * generator.standard_normal(3)
        else:
            coefficients = np.array(self.coefficients, dtype=np.float64)
        places = self._places(generator.random(self.n_train), "seen")
        observed = _powers(places) @ coefficients + self.noise * generator.standard_normal(self.n_train)
        return coefficients, places, observed

    def _places(self, uniform: HostArray, where: Literal["all", "seen", "gap"]) -> HostArray:
        """Turn uniform numbers into x: quantiles of its law, outside or inside the gap."""
        if self.x_range is None:
            start, end = ndtr(np.array(self.gap))
        else:
            low, high = self.x_range
            start, end = ((edge - low) / (high - low) for edge in self.gap)
        if where == "gap":
            level = start + uniform * (end - start)
        elif where == "seen":
            level = uniform * (1 - (end - start))
            level = np.where(level < start, level, level + (end - start))
        else:
            level = uniform
        if self.x_range is None:
            return np.asarray(ndtri(np.clip(level, 1e-300, 1 - 1e-16)))
        return np.asarray(low + level * (high - low))


def _powers(x: HostArray) -> HostArray:
    """Return 1, x, x^2, (n, 3)."""
    return np.stack([np.ones_like(x), x, x**2], axis=1)
