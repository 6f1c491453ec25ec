"""Result objects of credal sets: pictures of them, and the test for a calibrated combination."""

from __future__ import annotations

import dataclasses
from typing import Any, Literal

import numpy as np

from credibly._arrays.region_results import LocalDeviations
from credibly._arrays.results import Estimate, HypotestResult, Result

HostArray = np.ndarray[Any, Any]


@dataclasses.dataclass(frozen=True)
class SimplexPicture(Result):
    """One set of distributions over three classes, as points and polygons of the simplex.

    Attributes
    ----------
    kind : str
        The kind of prediction.
    row : int
        Which instance.
    members : ndarray (m, 3)
        Members of an ensemble; empty for other kinds.
    hull : ndarray (v, 3)
        Corners of the set itself, in order around it; one or two where it is a point or a line.
    envelope : ndarray (v, 3)
        Corners of all distributions that keep to its lower and upper probabilities.
    mean : ndarray (3,)
        The one distribution that stands for the set.
    label : int or None
        The observed class.
    target : ndarray (3,) or None
        The observed distribution of labels.
    """

    kind: str
    row: int
    members: HostArray
    hull: HostArray
    envelope: HostArray
    mean: HostArray
    label: int | None = None
    target: HostArray | None = None


Notion = Literal["confidence", "classwise", "distribution"]


@dataclasses.dataclass(frozen=True)
class CredalTestResult(HypotestResult):
    """Whether a set of distributions holds a calibrated combination, and the combination that was found.

    The fields of :class:`HypotestResult`, and these.

    Attributes
    ----------
    weights : ndarray (n, a) or (a,)
        Weights on `weight_names`, per instance (learned) or one vector (constant, mean).
    weight_names : tuple of str
        What is mixed: members, corners, draws, boundary points.
    notion : {"confidence", "classwise", "distribution"}
        Which kind of calibration the statistic looks at; labels are drawn from whole distributions always.
    test_rows : ndarray
        Instances the statistic was computed on; weights were learned on the others.
    combination : object
        What `combine` and `score` apply to other instances.
    """

    weights: HostArray = dataclasses.field(default_factory=lambda: np.empty(0))
    weight_names: tuple[str, ...] = ()
    notion: Notion = "distribution"
    test_rows: HostArray = dataclasses.field(default_factory=lambda: np.empty(0, dtype=np.int64))
    combination: Any = dataclasses.field(default=None, repr=False)

    def combine(self, predictions: Any, features: Any = None) -> Any:
        """Return the combination that was found, for any instances of the same model.

        Parameters
        ----------
        predictions : Predictions or array
            Predictions of the kind that was tested, with as many members and classes.
        features : array (n, d), optional
            Needed where the weights were learned from features.

        Returns
        -------
        Point
            One distribution per instance, a member of its set.
        """
        return self.combination.apply(predictions, features)

    def score(self, predictions: Any, labels: Any, features: Any = None) -> dict[str, Estimate]:
        """Return accuracy, proper scores and the tested statistic of the combination on any split.

        Parameters
        ----------
        predictions : Predictions or array
            Predictions of the kind that was tested.
        labels : array (n,)
            What was observed.
        features : array (n, d), optional
            Needed where the weights were learned from features.

        Returns
        -------
        dict of str to Estimate
            By name of the statistic.
        """
        found: dict[str, Estimate] = self.combination.score(predictions, labels, features)
        return found

    def regions(
        self,
        predictions: Any,
        labels: Any,
        features: Any = None,
        *,
        space: Any = None,
        n_resamples: int = 999,
        rng: Any = 0,
    ) -> LocalDeviations:
        """Return where in feature space the combination that was found fails, worst first.

        Parameters
        ----------
        predictions : Predictions or array
            Predictions of the kind that was tested; best those at `test_rows`, which weights were not
            learned on.
        labels : array (n,)
            What was observed.
        features : array (n, d), optional
            Needed where the weights were learned from features.
        space : array (n, d), optional
            What to cut into regions: the features where not given, and without them the mean prediction.
        n_resamples : int
            Replicates behind the adjusted p-values.
        rng : None, int or Generator
            Seed.

        Returns
        -------
        LocalDeviations
            Regions of about equally many instances, cut without looking at labels. Their p-values take the
            combination as given.
        """
        found: LocalDeviations = self.combination.regions(
            predictions, labels, features, space, n_resamples, rng
        )
        return found
