"""`credal_test` as a test of a power study: told apart by its settings, picklable."""

from __future__ import annotations

import dataclasses
import hashlib
from typing import Any, Literal

import numpy as np

from credibly.hypotests import credal_test
from credibly.results.tests import CredalTestResult
from credibly.simulate import WorldSample
from credibly.statistics import Statistic


@dataclasses.dataclass(frozen=True)
class CredalTest:
    """`credal_test` with settings.

    Parameters
    ----------
    statistic : str, Statistic or None
        As in :func:`credibly.credal_test`.
    paper : {"M23", "J25"}, optional
        Whose algorithm; the library's default where not given.
    n_resamples : int, optional
        Number of replicates.
    family : tuple of Statistic
        Statistics that are computed together, `statistic` among them: tests that differ in `statistic` alone
        share what was learned. Their seed is then made from the labels, not from `rng`.

    Examples
    --------
    >>> from credibly.simulate import EnsembleWorld
    >>> from credibly_studies.credal_tests import CredalTest
    >>> sample = EnsembleWorld("S2", n_members=3, n_classes=3).draw(100, rng=7)
    >>> CredalTest("brier", paper="M23", n_resamples=19)(sample, 7) <= 0.1
    True
    """

    statistic: str | Statistic | None = None
    paper: Literal["M23", "J25"] | None = None
    n_resamples: int | None = None
    family: tuple[Statistic, ...] = ()

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
        if not self.family:
            return self._tested(sample, self.statistic, rng).pvalue
        assert isinstance(self.statistic, Statistic)
        assert isinstance(sample.labels, np.ndarray)
        if _latest.sample is not sample or _latest.test != dataclasses.replace(self, statistic=None):
            digest = hashlib.sha256(sample.labels.tobytes()).digest()
            found = self._tested(sample, self.family, int.from_bytes(digest[:8], "big"))
            _latest.sample, _latest.test = sample, dataclasses.replace(self, statistic=None)
            _latest.pvalues = {name: one.pvalue for name, one in found.components.items()}
        return _latest.pvalues[self.statistic.name]

    def _tested(self, sample: WorldSample, statistic: Any, rng: Any) -> CredalTestResult:
        return credal_test(
            sample.predictions,
            sample.labels,
            features=None if self.paper == "M23" else sample.features,
            statistics=statistic,
            method="weights",  # the papers ask about combinations alone
            paper=self.paper,
            n_resamples=self.n_resamples,
            rng=rng,
        )

    def settings(self) -> dict[str, Any]:
        """Return what the test was made with, in words that stay the same in another process."""
        given = self.statistic
        named = {given.name: given.settings()} if isinstance(given, Statistic) else given
        family = {one.name: one.settings() for one in self.family}
        return {
            "statistic": named,
            "paper": self.paper,
            "n_resamples": self.n_resamples,
            "family": family,
        }


class _Latest:
    """The last sample that a family was tested on: all its tests see one sample before the next is drawn."""

    sample: WorldSample | None = None
    test: CredalTest | None = None
    pvalues: dict[str, float]


_latest = _Latest()
