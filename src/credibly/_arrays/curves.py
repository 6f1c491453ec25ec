"""Shares of labels below quantiles or inside intervals, with an envelope for all levels at once."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, Literal

import numpy as np

from credibly._arrays.results import Result, require_level

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
