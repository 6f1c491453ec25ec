"""Tests of a power study: of weights with settings, on one half of the data, and the best there is."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from credibly._arrays.errors import UnsupportedError
from credibly._arrays.philox import as_seed
from credibly.hypotests.resampling.replicates import Replicates
from credibly.results.credal import WeightsDetails
from credibly.results.tests import HypotestResult
from credibly.statistics import Statistic
from credibly_studies.bootstrap import bootstrap_test
from credibly_studies.simulate import WorldSample
from credibly_studies.simulate.power import Test


@dataclasses.dataclass(frozen=True)
class CredalTest:
    """A test of weights with settings: told apart by them, picklable.

    Parameters
    ----------
    statistic : str or Statistic
        What is compared.
    test : callable
        ``weights_test`` of the library, or Algorithm 1 of a paper: ``m23.credal_test``, ``j25.credal_test``.
    n_resamples : int, optional
        Number of replicates. Default: that of the test.
    absolute : bool
        Compare the absolute value of the statistic with the replicates, whose sign is kept.

    Examples
    --------
    >>> from credibly_studies.simulate import EnsembleWorld
    >>> from credibly_studies import m23
    >>> from credibly_studies.credal_tests import CredalTest
    >>> sample = EnsembleWorld("S3", n_members=3, n_classes=3).draw(100, rng=7)
    >>> CredalTest("confidence_ece", m23.credal_test, n_resamples=19)(sample, 7)
    0.05
    """

    statistic: str | Statistic
    test: Callable[..., HypotestResult[WeightsDetails]]
    n_resamples: int | None = None
    absolute: bool = False

    def __call__(self, sample: WorldSample, rng: Any = None) -> float:
        """Return the p-value; weights may depend on the world's features.

        Parameters
        ----------
        sample : WorldSample
            Data of a world with members.
        rng : None, int or Generator
            Seed.

        Returns
        -------
        float
            The p-value.
        """
        settings: dict[str, Any] = {"statistics": self.statistic}
        if "features" in inspect.signature(self.test).parameters:  # M23's weights depend on nothing
            settings["features"] = sample.features
        if self.n_resamples is not None:
            settings["n_resamples"] = self.n_resamples
        result = self.test(sample.predictions, sample.labels, rng=rng, **settings)
        if not self.absolute:
            return result.pvalue
        null = np.asarray(result.null_distribution)
        return float((1 + np.sum(null >= abs(result.statistic))) / (1 + null.size))

    def settings(self) -> dict[str, Any]:
        """Return what the test was made with, in words that stay the same in another process."""
        statistic = self.statistic
        named = {statistic.name: statistic.settings()} if isinstance(statistic, Statistic) else statistic
        test = f"{self.test.__module__}.{self.test.__qualname__}"
        return {
            "statistic": named,
            "test": test,
            "n_resamples": self.n_resamples,
            "absolute": self.absolute,
        }


@dataclasses.dataclass(frozen=True)
class BootstrappedMean:
    """A test of the mean of the members against bootstrapped instances, as both papers test it.

    Parameters
    ----------
    statistic : Statistic
        What is compared.
    n_resamples : int
        Number of replicates.
    """

    statistic: Statistic
    n_resamples: int = 100

    def __call__(self, sample: WorldSample, rng: Any = None) -> float:
        """Return the p-value."""
        data = sample.predictions, sample.labels
        return bootstrap_test(*data, statistics=self.statistic, n_resamples=self.n_resamples, rng=rng).pvalue

    def settings(self) -> dict[str, Any]:
        """Return what the test was made with."""
        return {"mean": {self.statistic.name: self.statistic.settings()}, "n_resamples": self.n_resamples}


@dataclasses.dataclass(frozen=True)
class SecondHalf:
    """A test that learns nothing, on the second half: where another learns on as many instances as it tests.

    Parameters
    ----------
    test : callable
        Called with the second half of the sample.
    """

    test: Test

    def __call__(self, sample: WorldSample, rng: Any = None) -> float:
        """Return the p-value of the second half."""
        return float(self.test(second_half(sample), rng))

    def settings(self) -> dict[str, Any]:
        """Return the settings of the test."""
        return {"second half": self.test.settings()}  # type: ignore[attr-defined]


def second_half(sample: WorldSample) -> WorldSample:
    """Return the second half of a data set, with its truth."""
    rows = slice(len(sample) // 2, None)
    names = [field.name for field in dataclasses.fields(sample.truth)]
    kept = {name: getattr(sample.truth, name) for name in names}
    truth = {name: None if value is None else value[rows] for name, value in kept.items()}
    return dataclasses.replace(
        sample,
        predictions=sample.predictions[rows],
        labels=sample.labels[rows],
        features=sample.features[rows],
        truth=dataclasses.replace(sample.truth, **truth),
    )


@dataclasses.dataclass(frozen=True)
class NeymanPearson:
    """The likelihood ratio of the truth against its nearest point of the set, both known.

    No test that keeps its level at that point rejects the truth more often (Neyman and Pearson 1933).

    Parameters
    ----------
    n_resamples : int
        Replicates drawn from the point of the set.
    """

    n_resamples: int = 199

    def __call__(self, sample: WorldSample, rng: Any = None) -> float:
        """Return the p-value of sum_i log( truth_i(y_i) / point_i(y_i) )."""
        true, point = sample.truth.probs, sample.truth.in_set
        if true is None or point is None:
            raise UnsupportedError(
                "`NeymanPearson`", "needs a truth and a point of the set", "got none", "Use another world."
            )
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.log(true) - np.log(point)
        drawn = Replicates(point, as_seed(rng)).labels(slice(0, self.n_resamples)).values
        rows = np.arange(len(sample))
        observed = ratio[rows, np.asarray(sample.labels)].sum()
        null = ratio[rows[None, :], np.asarray(drawn, dtype=np.int64)].sum(axis=1)
        return float((1 + np.sum(null >= observed)) / (1 + self.n_resamples))

    def settings(self) -> dict[str, Any]:
        """Return the number of replicates."""
        return {"n_resamples": self.n_resamples}
