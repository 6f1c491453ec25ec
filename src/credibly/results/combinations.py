"""A combination of a set that a test found, for any instances, and where in feature space it fails."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from credibly._arrays.namespace import HostArray
from credibly.results.base import Result, require_level
from credibly.results.tests import Details


@dataclasses.dataclass(frozen=True, eq=False)
class LocalDeviations(Result):
    """Observed and predicted frequencies in regions of feature space, worst first.

    Attributes
    ----------
    regions : tuple of str
        The conditions that define each region.
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
        Names of the columns that define the regions.
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
            Maximum probability of any false entry, for predictions that do not depend on these labels.

        Returns
        -------
        tuple of str
            Their conditions, worst first.
        """
        require_level(level)
        return tuple(
            region for region, p in zip(self.regions, self.adjusted_pvalues, strict=True) if p <= level
        )


@dataclasses.dataclass(frozen=True)
class CombinationDetails(Details):
    """What a test of a set knows that found one distribution of the set per instance.

    Attributes
    ----------
    test_rows : ndarray
        Instances the statistic was computed on; the others were only learned from.
    combination : object
        What `combine` applies to other instances.
    """

    _subject = "set"

    test_rows: HostArray
    combination: Any = dataclasses.field(repr=False)

    def combine(self, predictions: Any, *, features: Any = None) -> Any:
        """Return the combination that was found, for any instances of the same model.

        Parameters
        ----------
        predictions : Predictions or array
            Predictions of the kind that was tested, with as many members and classes.
        features : array (n, d), optional
            Needed if the weights were learned from features.

        Returns
        -------
        Point
            One distribution per instance, a member of its set.
        """
        return self.combination.apply(predictions, features)

    def regions(
        self,
        predictions: Any,
        labels: Any,
        *,
        features: Any = None,
        space: Any = None,
        names: Sequence[str] | None = None,
        n_resamples: int = 999,
        rng: Any = 0,
    ) -> LocalDeviations:
        """Return where in feature space the combination that was found fails, worst first.

        Parameters
        ----------
        predictions : Predictions or array
            Predictions of the kind that was tested; preferably those at `test_rows`, on which weights were
            not learned.
        labels : array (n,)
            What was observed.
        features : array (n, d), optional
            Needed if the weights were learned from features.
        space : array (n, d), optional
            What to divide into regions. Default: the features, or the mean prediction if there are none.
        names : sequence of str, optional
            Names of the columns that are divided, one each. Default: "feature 0", "feature 1", ...
        n_resamples : int
            Replicates behind the adjusted p-values.
        rng : None, int or Generator
            Seed.

        Returns
        -------
        LocalDeviations
            Regions with about equally many instances, chosen without looking at labels. Their p-values take
            the combination as given.
        """
        deviations: LocalDeviations = self.combination.regions(
            predictions, labels, features, space, names, n_resamples, rng
        )
        return deviations
