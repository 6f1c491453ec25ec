"""Curves: reliability, envelopes, risk against coverage."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from typing import Any, Literal

import numpy as np

from credibly._arrays.namespace import HostArray
from credibly._arrays.notes import counted
from credibly._arrays.standard_errors import factor
from credibly.results.base import Result, WithPvalue
from credibly.results.decompositions import ScoreSplit
from credibly.results.estimates import Estimate


@dataclasses.dataclass(frozen=True)
class ReliabilityCurve(Result):
    """Predicted probability against observed frequency, bin by bin; empty bins stay empty.

    Attributes
    ----------
    name : str
        What is predicted: ``"top label"`` or a class.
    edges : ndarray (n_bins + 1,)
        Bin edges.
    weight : ndarray (n_bins,)
        Instances (or total weight) per bin.
    predicted, observed : ndarray (n_bins,)
        Mean predicted probability and observed frequency; NaN if the bin is empty.
    band : tuple of ndarray or None
        Lower and upper end, per bin, of what a calibrated model with these predictions would show.
    level : float or None
        Coverage of `band` in each bin.
    n : int
        Number of instances.
    target : int or None
        The class whose probability is predicted; None for the confidence in the most probable class.
    """

    name: str
    edges: np.ndarray[Any, Any]
    weight: np.ndarray[Any, Any]
    predicted: np.ndarray[Any, Any]
    observed: np.ndarray[Any, Any]
    band: tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]] | None
    level: float | None
    n: int
    target: int | None = None


@dataclasses.dataclass(frozen=True)
class SpreadCurve(Result):
    """Stated spread against actual errors, in bins of the stated spread.

    Attributes
    ----------
    left, right : ndarray (b,)
        Ends of the non-empty bins, in standard deviations; the last is infinite.
    weight : ndarray (b,)
        Instances of every bin.
    stated, observed : ndarray (b,)
        Root of the mean stated variance, and of the mean squared error.
    band : tuple of ndarray or None
        Lower and upper end, per bin, of the errors of a calibrated model with these predictions.
    level : float or None
        Coverage of `band` and `z_band` in each bin.
    n : int
        Number of instances.
    z : ndarray (b,)
        Root mean square of z = (label - mean) / stated spread: 1 where the spread is right.
    z_band : tuple of ndarray or None
        Lower and upper end, per bin, of the same of a calibrated model with these predictions.
    """

    left: np.ndarray[Any, Any]
    right: np.ndarray[Any, Any]
    weight: np.ndarray[Any, Any]
    stated: np.ndarray[Any, Any]
    observed: np.ndarray[Any, Any]
    band: tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]] | None
    level: float | None
    n: int
    z: np.ndarray[Any, Any]
    z_band: tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]] | None

    def __str__(self) -> str:
        ratio = self.observed / self.stated
        at = int(np.abs(ratio - 1.0).argmax())
        farthest = (
            f"spread curve (n = {self.n}): errors are {ratio[at]:.3g} times the stated spread of "
            f"{self.stated[at]:.4g}, the farthest of {counted(self.stated.size, 'bin')}"
        )
        if self.band is None or self.level is None:
            return farthest
        outside = int(((self.observed < self.band[0]) | (self.observed > self.band[1])).sum())
        chance = (1.0 - self.level) * self.stated.size
        band = f"{100 * self.level:.4g} % band ({chance:.2g} expected by chance)"
        return f"{farthest}; {outside} outside the {band}"


@dataclasses.dataclass(frozen=True)
class CorpCurve(ScoreSplit):
    """Predicted probability against isotonic recalibration, and the split of a proper score.

    The mean score is miscalibration - discrimination + uncertainty.

    Attributes
    ----------
    name : str
        What is predicted: ``"top label"`` or a class.
    low, high : ndarray (b,)
        Smallest and largest prediction of every piece on which the curve is constant.
    recalibrated : ndarray (b,)
        The curve there: the observed frequency of the piece.
    weight : ndarray (b,)
        Instances of the piece.
    counts : ndarray (20,)
        Instances by prediction, in twenty equal ranges from 0 to 1.
    at : ndarray (q,)
        Predictions at which the bands are given, evenly spread over the instances.
    score : str
        Which score is split: "brier", "log_loss", or the name of a function.
    loss : Estimate
        The mean score of the predictions.
    miscalibration : Estimate
        How much of it recalibration would remove from these instances (MCB).
    discrimination : Estimate
        How much better recalibrated predictions are than one for all (DSC).
    uncertainty : Estimate
        Mean score of predicting the overall share of events for every instance (UNC).
    skill : Estimate
        Uncertainty minus loss, which equals discrimination minus miscalibration and does not depend on the
        isotonic regression.
    gap : float
        Mean distance of predictions from the curve; with isotonic smoothing the integrated calibration index.
    n : int
        Number of instances.
    level : float or None
        Coverage of bands and intervals.
    n_resamples : int
        Replicates behind `band`.
    band : tuple of ndarray or None
        Lower and upper end of what a calibrated model with these predictions would show at each prediction.
    confidence_band : tuple of ndarray or None
        Ends of the band that contains the whole true curve, if that curve is increasing.
    miscalibration_interval, discrimination_interval, gap_interval : tuple of float or None
        What `confidence_band` leaves possible for the true miscalibration, the true discrimination and the
        true mean gap of these instances.
    target : int or None
        The class whose probability is predicted; None for the confidence in the most probable class.
    """

    name: str
    low: HostArray
    high: HostArray
    recalibrated: HostArray
    weight: HostArray
    counts: HostArray
    at: HostArray
    score: str
    gap: float
    n: int
    level: float | None = None
    n_resamples: int = 0
    band: tuple[HostArray, HostArray] | None = None
    confidence_band: tuple[HostArray, HostArray] | None = None
    miscalibration_interval: tuple[float, float] | None = None
    gap_interval: tuple[float, float] | None = None
    discrimination_interval: tuple[float, float] | None = None
    target: int | None = None

    @property
    def values(self) -> HostArray:
        """The curve at the predictions `at`, linear between its pieces."""
        ends = np.stack([self.low, self.high], axis=1).ravel()
        return np.asarray(np.interp(self.at, ends, np.repeat(self.recalibrated, 2)))

    @property
    def beyond(self) -> HostArray:
        """Where the curve is outside `band`, beyond what chance explains: -1 below, 1 above."""
        if self.band is None:
            return np.zeros(self.at.shape, dtype=np.int64)
        values = self.values
        return (values > self.band[1] + 1e-12).astype(np.int64) - (values < self.band[0] - 1e-12)

    def __str__(self) -> str:
        return (
            f"CORP curve of the {self.name} (n = {self.n}): {self.score} {self.loss.value:.4g} = "
            f"miscalibration {self.miscalibration.value:.4g} - discrimination "
            f"{self.discrimination.value:.4g} + uncertainty {self.uncertainty.value:.4g}"
        )


@dataclasses.dataclass(frozen=True)
class MurphyCurve(Result):
    """Mean cost of acting on a probability, by the threshold above which one acts.

    A false alarm costs the threshold t and a miss 1 - t.

    Attributes
    ----------
    name : str
        The class that one acts against.
    thresholds : ndarray (t,)
        Where one acts.
    cost, stderr : ndarray (t,)
        Mean cost there and its standard error; NaN if there are too few clusters, or if a single one decides.
    constant : ndarray (t,)
        The cost of predicting the overall share of events for every instance.
    level : float
        Coverage of `band` at each threshold.
    n : int
        Number of instances.
    notes : tuple of str
        What was converted on the way.
    n_clusters : int or None
        Number of independent clusters, if rows belong together.
    degrees_of_freedom : ndarray (t,) or None
        Degrees of freedom of Student's t, if rows belong together.
    share : float
        Share of the instances that are of the class.
    """

    name: str
    thresholds: HostArray
    cost: HostArray
    stderr: HostArray
    constant: HostArray
    level: float
    n: int
    notes: tuple[str, ...] = ()
    n_clusters: int | None = None
    degrees_of_freedom: HostArray | None = None
    share: float = math.nan

    @property
    def band(self) -> tuple[HostArray, HostArray]:
        """Lower and upper end of the interval at each threshold."""
        half = factor(self.level, self.degrees_of_freedom) * self.stderr
        return np.maximum(self.cost - half, 0.0), self.cost + half

    @property
    def net_benefit(self) -> HostArray:
        """The decision curve: share of events minus cost / (1 - t); acting for nobody has 0."""
        return self.share - self.cost / (1.0 - self.thresholds)

    @property
    def net_benefit_of_all(self) -> HostArray:
        """The decision curve of acting for everybody."""
        return self.share - (1.0 - self.share) * self.thresholds / (1.0 - self.thresholds)

    def __str__(self) -> str:
        worst = int(self.cost.argmax())
        return (
            f"Murphy curve of {self.name} (n = {self.n}): largest cost {self.cost[worst]:.4g} at threshold "
            f"{self.thresholds[worst]:.4g}, {self.constant[worst]:.4g} with one prediction for all"
        )


DRAWS_REPEAT = (
    "draws are few or repeat, so even right predictions lie off their levels: compare the curve with the "
    "envelope, not with the levels"
)


@dataclasses.dataclass(frozen=True)
class EnvelopeCurve(WithPvalue, Result):
    """Observed shares against levels, with the envelope of the hypothesis.

    Attributes
    ----------
    name : {"pit", "coverage"}
        Shares of labels at most as large as the quantile of each level, which is the distribution of the
        probability integral transform; or shares inside the central interval of each level.
    levels : ndarray (l,)
        Probabilities that the predictions state.
    observed : ndarray (l,)
        Shares of labels.
    expected : ndarray (l,)
        Shares that right predictions show: the levels, unless draws are few or repeat themselves. A label
        that equals a quantile counts as below it, and as inside an interval that ends there, so counts show
        more than their levels; 5 draws split at sixths.
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
        Everything needed to repeat it, including the seed.
    notes : tuple of str
        What was accepted, converted or left out on the way.
    """

    name: Literal["pit", "coverage"]
    levels: HostArray
    observed: HostArray
    expected: HostArray
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

    def verdict(self, level: float = 0.05) -> Literal["conflict", "no conflict found", "cannot tell"]:
        """Return the answer in one of three words.

        "cannot tell" if no p-value that these replicates can give is small enough, or if the envelope is
        wider than 0.5 on average over the levels.
        """
        if self.rejects(level):
            return "conflict"
        if 1 / (self.n_resamples + 1) > level or (self.upper - self.lower).mean() > 0.5:
            return "cannot tell"
        return "no conflict found"

    def __str__(self) -> str:
        deviation = self.observed - self.expected
        worst = int(np.abs(deviation).argmax())
        shifted = "" if np.array_equal(self.expected, self.levels) else f"; {DRAWS_REPEAT}"
        return (
            f"{self.name} curve (n = {self.n}): largest difference {deviation[worst]:+.4g} at level "
            f"{self.levels[worst]:.4g}, p = {self.pvalue:.3g}: {self.verdict()}{shifted}"
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
        Share of wrong answers among these. Equally sure instances are taken in random order, and this is the
        mean over all such orders.
    stated : ndarray (p,)
        The risk that the predictions themselves state: the mean of 1 - probability of the answer.
    best : ndarray (p,)
        The smallest risk that any order gives: all right answers first.
    threshold : ndarray (p,)
        Confidence of the least sure instance that is answered, in the unit of the ordering.
    area : Estimate
        Mean of the risk over all coverages 1/n, 2/n, ..., 1 (AURC); smaller is better.
    excess : Estimate
        `area` minus that of the best order: what a better order could save, at the same accuracy.
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
