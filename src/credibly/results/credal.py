"""What tests of sets of distributions return: outcome, weights, where a set fails, and its picture."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from credibly._arrays.namespace import HostArray, to_host
from credibly.results.base import Notion, Result, require_level
from credibly.results.estimates import Estimate
from credibly.results.tests import HypotestResult, Word
from credibly.results.witness import WitnessResult

if TYPE_CHECKING:
    from matplotlib.axes import Axes


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
        Corners of the set itself, in order around it; one or two if it is a point or a line.
    envelope : ndarray (v, 3)
        Corners of the set of all distributions within its lower and upper probabilities.
    mean : ndarray (3,)
        The single distribution that represents the set.
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


Method = Literal["both", "witness", "weights"]

Outcome = Literal["both", "witness alone", "weights alone", "neither"]
"""Which of the two tests of a set reject."""


@dataclasses.dataclass(frozen=True)
class CredalTestResult(HypotestResult):
    """Whether a set of distributions contains the truth and a calibrated combination.

    The fields of :class:`HypotestResult`, and these. With both methods the statistic is that of the weights,
    and the p-value the larger of two.

    Attributes
    ----------
    weights : ndarray (n, a) or (a,)
        Weights on `weight_names`, per instance (learned) or one vector (constant, mean). The weight of a
        particular member is meaningful only if members differ in kind (another architecture, other data); for
        exchangeable members (other seeds) it is chance.
    weight_names : tuple of str
        What is mixed: members, corners, draws, boundary points.
    notion : {"confidence", "classwise", "distribution"}
        Which kind of calibration the statistic measures; labels are always drawn from whole distributions.
    test_rows : ndarray
        Instances the statistic was computed on; weights were learned on the others.
    combination : object
        What `combine` and `score` apply to other instances.
    method : {"both", "witness", "weights"}
        Which hypotheses were tested.
    validity : WitnessResult or None
        Is the distribution of the label in the set? None if only weights were tested.
    calibration : HypotestResult or None
        The papers' hypothesis on its own, if both were tested: is some combination calibrated?
    """

    weights: HostArray = dataclasses.field(default_factory=lambda: np.empty(0))
    weight_names: tuple[str, ...] = ()
    notion: Notion = "distribution"
    test_rows: HostArray = dataclasses.field(default_factory=lambda: np.empty(0, dtype=np.int64))
    combination: Any = dataclasses.field(default=None, repr=False)
    method: Method = "weights"
    validity: WitnessResult | None = None
    calibration: HypotestResult | None = None

    def plot(
        self, ax: Axes | None = None, *, kind: str | None = None, label: str | None = None, **options: Any
    ) -> Axes:
        """Draw the test of the weights; for a witness alone, where it points. See :meth:`Result.plot`."""
        if kind is None and self.null_distribution is None and self.validity is not None:
            return self.validity.plot(ax, label=label, **options)
        return super().plot(ax, kind=kind, label=label, **options)

    def outcome(self, level: float = 0.05) -> Outcome:
        """Return which of the two tests reject at `level`.

        A label that every distribution of the set rules out rejects both: no combination is calibrated.
        """
        weights = self if self.method == "weights" else self.calibration
        impossible = self.validity is not None and self.validity.impossible_rows.size > 0
        rejects = (
            self.validity is not None and self.validity.rejects(level),
            weights is not None and (impossible or weights.pvalue <= level),
        )
        outcomes: dict[tuple[bool, bool], Outcome] = {
            (True, True): "both",
            (True, False): "witness alone",
            (False, True): "weights alone",
            (False, False): "neither",
        }
        return outcomes[rejects]

    def verdict(self, level: float = 0.05) -> Word:
        """Return the answer in one of three words.

        With both methods: "conflict" if both reject, "cannot tell" if only one does (or could not have), "no
        conflict found" if neither does. With one method: that method's own answer.
        """
        if self.method == "witness" and self.validity is not None:
            return self.validity.verdict(level)
        if self.validity is None or self.calibration is None:
            return super().verdict(level)
        if self.outcome(level) != "neither":
            return "conflict" if self.outcome(level) == "both" else "cannot tell"
        words = {self.validity.verdict(level), self.calibration.verdict(level)}
        return "cannot tell" if "cannot tell" in words else "no conflict found"

    def why_not(self, level: float = 0.05) -> str:
        """Return why no labels could have been rejected at `level`, by the first test that could not."""
        if self.method == "weights":
            return super().why_not(level)
        tested = (one for one in (self.validity, self.calibration) if one is not None)
        return next(filter(None, (one.why_not(level) for one in tested)), "")

    def sentence(self, level: float = 0.05, class_names: Sequence[str] | None = None) -> str:
        """Return the outcome in words.

        Parameters
        ----------
        level : float
            Level of both tests.
        class_names : sequence of str, optional
            Names of the classes.

        Returns
        -------
        str
            What was rejected, and where the truth lies outside the set.
        """
        found = self.outcome(level)
        if self.validity is not None and self.validity.impossible_rows.size:
            return (
                f"{self.validity.impossible_words()}: the truth lies outside the set, and no "
                f"combination is calibrated."
            )
        seen = "the predictions" if self.validity is None else f"the {self.validity.given}"
        where = "" if self.validity is None else self.validity.where(class_names)
        pointed = f": {where}" if where else ""
        if found == "both":
            return (
                f"The truth lies outside the set, and no combination that was found is calibrated{pointed}."
            )
        if found == "witness alone":
            told = f"Given {seen}, the truth lies outside the set{pointed}"
            return told + ("." if self.method == "witness" else "; some combination may still be calibrated.")
        if found == "weights alone":
            told = "No combination that these weights can represent is calibrated"
            if self.settings.get("weights") == "mean":
                told = "The mean of the set is not calibrated"
            return told + (
                "." if self.method == "weights" else (f"; given {seen}, the set may contain the truth.")
            )
        if self.verdict(level) == "cannot tell":
            return f"Cannot tell: {self.why_not(level) or 'there are too few replicates'}."
        return "No conflict found between the set and the labels."

    def __str__(self) -> str:
        if self.validity is None:
            return super().__str__()
        if self.calibration is None:
            return str(self.validity)
        return f"{self.verdict()}: {self.sentence()} {self.validity}; weights: {self.calibration}"

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

    def score(self, predictions: Any, labels: Any, *, features: Any = None) -> dict[str, Estimate]:
        """Return accuracy, proper scores and the tested statistic of the combination on any split.

        Parameters
        ----------
        predictions : Predictions or array
            Predictions of the kind that was tested.
        labels : array (n,)
            What was observed.
        features : array (n, d), optional
            Needed if the weights were learned from features.

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
        *,
        features: Any = None,
        space: Any = None,
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
        found: LocalDeviations = self.combination.regions(
            predictions, labels, features, space, n_resamples, rng
        )
        return found


@dataclasses.dataclass(frozen=True, eq=False)
class ValidityResult(HypotestResult):
    """Whether the distribution of labels lies in the predicted set: over all instances, and for each.

    The fields of :class:`HypotestResult` are those of the test over all instances.

    Attributes
    ----------
    deviance : array (n,)
        Twice the log-likelihood lost by staying in the set: 0 if the observed frequencies lie in it.
    pvalues : array (n,)
        P-value of each instance on its own.
    adjusted_pvalues : array (n,)
        The same, adjusted by the largest deviance of all instances: the probability of any false rejection is
        at most the level.
    nearest : array (n, k)
        The distribution of each set under which the observed labels are most probable.
    raters : array (n,)
        Number of labels per instance.
    smallest_pvalues : array (n,)
        Approximately the smallest p-value each instance could have had: all its raters agree on the class
        that is least probable under the set.
    largest_explained : float
        The largest deviance that chance explains over all instances, at 5 %.
    """

    deviance: Any = None
    pvalues: Any = None
    adjusted_pvalues: Any = None
    nearest: Any = None
    raters: Any = None
    smallest_pvalues: Any = None
    largest_explained: float = float("inf")

    def failing(self, level: float = 0.05) -> HostArray:
        """Return the instances whose own distribution of labels is not in the set, worst first.

        Parameters
        ----------
        level : float
            Maximum probability of any false entry in the list.

        Returns
        -------
        ndarray of int
            Rows whose adjusted p-value is at most `level`.
        """
        require_level(level)
        order = np.argsort(-to_host(self.deviance), kind="stable")
        return order[to_host(self.adjusted_pvalues)[order] <= level]
