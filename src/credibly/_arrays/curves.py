"""Curves with what belongs to them: shares with an envelope for all levels at once, risk against coverage."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, Literal

import numpy as np

from credibly._arrays.results import Estimate, Result, require_level

HostArray = np.ndarray[Any, Any]


@dataclasses.dataclass(frozen=True)
class EnvelopeCurve(Result):
    """Observed shares against levels, and what the hypothesis gives.

    Attributes
    ----------
    name : {"pit", "coverage"}
        Shares of labels at most as large as the quantile of each level, which is the distribution of the
        probability integral transform; or shares inside the central interval of each level.
    levels : ndarray (l,)
        Probabilities that the predictions state.
    observed : ndarray (l,)
        Shares of labels.
    lower, upper : ndarray (l,)
        Envelope: the curve of a replicate leaves it anywhere with probability at most 1 - `coverage`. A curve
        that leaves it is rejected; one that is rejected leaves it, or touches it where curves tie.
    coverage : float
        Probability that the whole curve of a replicate stays inside.
    pvalue : float
        Exact: rank of the curve among those of the replicates, by its most extreme levels.
    hypothesis : str
        The null hypothesis in words.
    n, m : int
        Number of instances and of members.
    n_resamples : int
        Number of replicates.
    settings : mapping
        What lets it run again, the seed included.
    notes : tuple of str
        What was accepted, converted or left out on the way.
    """

    name: Literal["pit", "coverage"]
    levels: HostArray
    observed: HostArray
    lower: HostArray
    upper: HostArray
    coverage: float
    pvalue: float
    hypothesis: str
    n: int
    m: int
    n_resamples: int
    settings: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def difference(self) -> HostArray:
        """Observed shares minus levels."""
        return self.observed - self.levels

    @property
    def outside(self) -> HostArray:
        """Which levels lie outside the envelope."""
        return (self.observed < self.lower) | (self.observed > self.upper)

    def rejects(self, level: float = 0.05) -> bool:
        """Tell whether the p-value is at most `level`."""
        require_level(level)
        return self.pvalue <= level

    def __str__(self) -> str:
        worst = int(np.abs(self.difference).argmax())
        return (
            f"{self.name} curve (n = {self.n}): largest difference {self.difference[worst]:+.4g} at level "
            f"{self.levels[worst]:.4g}, p = {self.pvalue:.3g}"
        )


@dataclasses.dataclass(frozen=True)
class RiskCoverageCurve(Result):
    """Share of wrong answers against the share of instances that are answered, the surest first.

    Attributes
    ----------
    by : str
        What instances are ordered by.
    coverage : ndarray (p,)
        Shares of the instances that are answered; all of them at the end.
    risk : ndarray (p,)
        Share of wrong answers among these. Instances that are equally sure come in random order; this is
        the mean over all orders.
    stated : ndarray (p,)
        The same as the predictions themselves state it: the mean of 1 - probability of the answer.
    best : ndarray (p,)
        The least risk that any order gives: all right answers first.
    threshold : ndarray (p,)
        The least sure instance that is answered, in the unit of what they are ordered by.
    area : Estimate
        Mean of the risk over all coverages 1/n, 2/n, ..., 1 (AURC); smaller is better.
    excess : Estimate
        `area` minus that of the best order: what better ordering could save, at the same accuracy.
    stated_area : float
        Area of `stated`, over all coverages.
    n : int
        Number of instances.
    notes : tuple of str
        What was converted on the way.
    """

    by: str
    coverage: HostArray
    risk: HostArray
    stated: HostArray
    best: HostArray
    threshold: HostArray
    area: Estimate
    excess: Estimate
    stated_area: float
    n: int
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        return (
            f"risk-coverage curve by {self.by} (n = {self.n}): risk {self.risk[-1]:.4g} of all, area "
            f"{self.area.value:.4g}, {self.excess.value:.4g} above the best order"
        )
