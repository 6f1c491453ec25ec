"""Calibration of one combination of members: where the truth is, which no user knows, or the plain mean."""

from __future__ import annotations

import dataclasses
from typing import Any, Literal

from credibly._arrays.errors import UnsupportedError, one_of
from credibly.hypotests import calibration_test
from credibly.hypotests.resampling.pvalues import require_resamples
from credibly.predictions import Point
from credibly.statistics import Statistic
from credibly.statistics.registry import as_statistic
from credibly_studies.simulate.world import WorldSample


@dataclasses.dataclass(frozen=True)
class CalibrationTest:
    """`calibration_test` of one combination of the members.

    Parameters
    ----------
    of : {"truth", "mean"}
        ``"truth"``: the distribution in the set where the truth lies or from which it starts
        (``Truth.in_set``), that is, the true weights under the hypothesis and the boundary point otherwise.
        No learner of weights can do better. ``"mean"``: the mean of the members.
    statistics : str, Statistic or tuple of them
        As in :func:`calibration_test`.
    n_resamples : int
        Number of replicates.

    Examples
    --------
    >>> from credibly_studies.simulate import CalibrationTest, MulticlassWorld
    >>> sample = MulticlassWorld("H1", delta=0.5).draw(200, rng=7)
    >>> CalibrationTest("truth", "skce", n_resamples=99)(sample, 7)
    0.01
    """

    of: Literal["truth", "mean"] = "truth"
    statistics: str | Statistic | tuple[str | Statistic, ...] = "skce"
    n_resamples: int = 199

    def __post_init__(self) -> None:
        one_of("`of`", self.of, ("truth", "mean"))
        require_resamples(self.n_resamples)
        if self.statistics != "omnibus":
            for one in self.statistics if isinstance(self.statistics, tuple) else (self.statistics,):
                as_statistic(one)

    @property
    def name(self) -> str:
        """Whose calibration, by which statistic."""
        given = self.statistics if isinstance(self.statistics, tuple) else (self.statistics,)
        return f"{self.of}, {' + '.join(one if isinstance(one, str) else one.name for one in given)}"

    def __call__(self, sample: WorldSample, rng: Any = None) -> float:
        """Return the p-value.

        Parameters
        ----------
        sample : WorldSample
            Data with their truth.
        rng : None, int or Generator
            Seed of the replicates.

        Returns
        -------
        float
            The p-value.
        """
        predictions: Any = sample.predictions
        if self.of == "truth":
            if sample.truth.in_set is None:
                raise UnsupportedError(
                    '`CalibrationTest("truth")`',
                    "needs a world of class predictions whose truth is in the set or starts from it",
                    f"got {sample.world.name!r}",
                    'Use `of="mean"`.',
                )
            predictions = Point(sample.truth.in_set)
        result = calibration_test(
            predictions, sample.labels, statistics=self.statistics, n_resamples=self.n_resamples, rng=rng
        )
        return result.pvalue

    def settings(self) -> dict[str, Any]:
        """Return what the test was made with, in words that stay the same in another process."""
        given = self.statistics if isinstance(self.statistics, tuple) else (self.statistics,)
        statistics = [one if isinstance(one, str) else {one.name: one.settings()} for one in given]
        return {"of": self.of, "statistic": statistics, "n_resamples": self.n_resamples}
