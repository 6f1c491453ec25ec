"""Where a prediction fails: regions of instances with the largest local deviations."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from credibly._arrays.results import Result, require_level

HostArray = np.ndarray[Any, Any]


@dataclasses.dataclass(frozen=True, eq=False)
class LocalDeviations(Result):
    """Observed and predicted frequencies in regions of feature space, worst first.

    Attributes
    ----------
    regions : tuple of str
        The conditions that make each region.
    sizes : ndarray (r,)
        Instances in it.
    classes : ndarray (r,)
        The class whose frequency is farthest off.
    predicted, observed : ndarray (r,)
        Mean predicted probability and observed frequency of that class.
    scores : ndarray (r,)
        Observed minus expected count in standard deviations.
    adjusted_pvalues : ndarray (r,)
        Against the largest deviation of all regions and classes under replicates (Westfall-Young).
    columns : tuple of str
        Names of what was cut.
    lower, upper : ndarray (r, d)
        Range of every column within the region.
    n : int
        Number of instances.
    n_resamples : int
        Number of replicates.
    """

    regions: tuple[str, ...]
    sizes: HostArray
    classes: HostArray
    predicted: HostArray
    observed: HostArray
    scores: HostArray
    adjusted_pvalues: HostArray
    columns: tuple[str, ...]
    lower: HostArray
    upper: HostArray
    n: int
    n_resamples: int

    def failing(self, level: float = 0.05) -> tuple[str, ...]:
        """Return the regions that deviate by more than chance explains.

        Parameters
        ----------
        level : float
            Probability of any false entry, at most, for predictions that do not depend on these labels.

        Returns
        -------
        tuple of str
            Their conditions, worst first.
        """
        require_level(level)
        return tuple(
            region for region, p in zip(self.regions, self.adjusted_pvalues, strict=True) if p <= level
        )
