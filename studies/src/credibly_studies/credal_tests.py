"""Tests of a power study: `credal_test` with settings, on one half of the data, and the best there is."""

from __future__ import annotations

import dataclasses
from typing import Any, Literal

import numpy as np

from credibly._arrays.errors import UnsupportedError
from credibly._arrays.philox import as_seed
from credibly.hypotests import credal_test
from credibly.hypotests.credal.task import Resample
from credibly.hypotests.resampling.replicates import Replicates
from credibly.statistics import Statistic
from credibly_studies.simulate import WorldSample
from credibly_studies.simulate.power import Test


@dataclasses.dataclass(frozen=True)
class CredalTest:
    """`credal_test` with settings: told apart by them, picklable.

    Parameters
    ----------
    statistic : str, Statistic or None
        As in :func:`credibly.credal_test`.
    paper : {"M23", "J25"}, optional
        Which paper's algorithm. Default: the library's own.
    weights : {"learned", "constant", "mean"}, optional
        As in :func:`credibly.credal_test`.
    resample : {"labels", "instances"}, optional
        The same.
    n_resamples : int, optional
        Number of replicates.
    absolute : bool
        Compare the absolute value of the statistic with the replicates, whose sign is kept.

    Examples
    --------
    >>> from credibly_studies.simulate import EnsembleWorld
    >>> from credibly_studies.credal_tests import CredalTest
    >>> sample = EnsembleWorld("S3", n_members=3, n_classes=3).draw(100, rng=7)
    >>> CredalTest("confidence_ece", paper="M23", n_resamples=19)(sample, 7)
    0.05
    """

    statistic: str | Statistic | None = None
    paper: Literal["M23", "J25"] | None = None
    weights: Literal["learned", "constant", "mean"] | None = None
    resample: Resample | None = None
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
        learned = self.paper != "M23" and self.weights in (None, "learned")
        found = credal_test(
            sample.predictions,
            sample.labels,
            features=sample.features if learned else None,
            statistics=self.statistic,
            method="weights",  # the papers ask about combinations alone
            paper=self.paper,
            weights=self.weights,
            resample=self.resample,
            n_resamples=self.n_resamples,
            rng=rng,
        )
        if not self.absolute:
            return found.pvalue
        null = np.asarray(found.null_distribution)
        return float((1 + np.sum(null >= abs(found.statistic))) / (1 + null.size))

    def settings(self) -> dict[str, Any]:
        """Return what the test was made with, in words that stay the same in another process."""
        given = self.statistic
        named = {given.name: given.settings()} if isinstance(given, Statistic) else given
        plain = {name: getattr(self, name) for name in ("paper", "weights", "resample", "n_resamples")}
        return {"statistic": named, **plain, "absolute": self.absolute}


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
