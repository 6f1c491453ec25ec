"""`credal_test` as a test of a power study: told apart by its settings, picklable."""

from __future__ import annotations

import dataclasses
from typing import Any, Literal

from credibly.hypotests import credal_test
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

    Examples
    --------
    >>> from credibly.simulate import EnsembleWorld
    >>> from credibly.studies.credal_tests import CredalTest
    >>> sample = EnsembleWorld("S2", n_members=3, n_classes=3).draw(100, rng=7)
    >>> CredalTest("brier", paper="M23", n_resamples=19)(sample, 7) <= 0.1
    True
    """

    statistic: str | Statistic | None = None
    paper: Literal["M23", "J25"] | None = None
    n_resamples: int | None = None

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
        found = credal_test(
            sample.predictions,
            sample.labels,
            None if self.paper == "M23" else sample.features,
            statistic=self.statistic,
            paper=self.paper,
            n_resamples=self.n_resamples,
            rng=rng,
        )
        return found.pvalue

    def settings(self) -> dict[str, Any]:
        """Return what the test was made with, in words that stay the same in another process."""
        given = self.statistic
        named = {given.name: given.settings()} if isinstance(given, Statistic) else given
        return {"statistic": named, "paper": self.paper, "n_resamples": self.n_resamples}
