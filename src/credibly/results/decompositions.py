"""Result types of loss decompositions: the same terms as totals, per class, per bin, plug-in."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, Generic, TypeVar

import numpy as np

from credibly._arrays.errors import UnsupportedError
from credibly._arrays.namespace import HostArray
from credibly._arrays.standard_errors import factor
from credibly.results.base import Result, require_level
from credibly.results.estimates import Estimate, Estimates, RootEstimate

T = TypeVar("T")


@dataclasses.dataclass(frozen=True)
class DisagreementTerms(Result, Generic[T]):
    """The terms of the squared loss of a predicted disagreement.

    Attributes
    ----------
    expected : Estimate or Estimates
        Squared loss of the predicted probability of disagreement, over pairs of raters.
    calibration : Estimate or Estimates
        Its calibration loss.
    refinement : Estimate or Estimates
        What is left.
    """

    expected: T
    calibration: T
    refinement: T


@dataclasses.dataclass(frozen=True)
class LossTerms(DisagreementTerms[T]):
    """The terms of the squared loss.

    Expected = epistemic + irreducible, and epistemic = calibration + dispersion.

    Attributes
    ----------
    expected : Estimate or Estimates
        Brier loss over raters.
    epistemic : Estimate or Estimates
        Squared distance between prediction and the distribution of labels: expected - irreducible.
    irreducible : Estimate or Estimates
        Variance of the labels given the instance, which no model can remove.
    calibration : Estimate or Estimates
        Squared distance between prediction and the mean of the labels in its bin.
    dispersion : Estimate or Estimates
        The rest of the epistemic loss: the prediction does not distinguish the instances.
    refinement : Estimate or Estimates
        Expected - calibration = dispersion + irreducible.
    """

    epistemic: T
    irreducible: T
    dispersion: T


@dataclasses.dataclass(frozen=True)
class RaterBins(Result):
    """Predicted against observed values, bin by bin, one row per class (or one row in all).

    Attributes
    ----------
    edges : ndarray (n_bins + 1,) or (c, n_bins + 1)
        Bin edges.
    count : ndarray (c, n_bins)
        Instances per bin.
    weight : ndarray (c, n_bins)
        Share of the total weight per bin.
    predicted, observed : ndarray (c, n_bins)
        Weighted means; NaN where the bin is empty.
    sampling_error : ndarray (c, n_bins) or None
        Standard deviation of `observed` if the labels were drawn from the predictions, given the number of
        raters of every instance.
    """

    edges: HostArray
    count: HostArray
    weight: HostArray
    predicted: HostArray
    observed: HostArray
    sampling_error: HostArray | None = None

    def band(self, level: float = 0.95) -> tuple[HostArray, HostArray]:
        """Return, per bin, the normal band of what raters would show if the predictions were true.

        Parameters
        ----------
        level : float
            Coverage in each bin.

        Returns
        -------
        tuple of ndarray
            Lower and upper ends within [0, 1]; NaN where the bin is empty.
        """
        require_level(level)
        if self.sampling_error is None:
            raise UnsupportedError(
                "a band of these bins",
                "needs the sampling error of the raters",
                "it is known only for the disagreement of pairs",
                "Use the bins of `decompose_disagreement` without `statistic=`.",
            )
        half = factor(level) * self.sampling_error
        return np.clip(self.predicted - half, 0, 1), np.clip(self.predicted + half, 0, 1)


@dataclasses.dataclass(frozen=True, kw_only=True)
class RaterDecomposition(Result):
    """What decompositions over raters have in common.

    Attributes
    ----------
    calibration_error : RootEstimate
        Signed root of the calibration loss.
    bins : RaterBins
        Predicted against observed values.
    n : int
        Number of instances with enough raters, on which the terms are computed.
    n_left_out : int
        Number of instances with fewer.
    raters : tuple of int
        Smallest and largest number of raters in the population.
    settings : mapping
        What the terms were computed with.
    notes : tuple of str
        What was accepted, converted or left out on the way.
    """

    calibration_error: RootEstimate
    bins: RaterBins
    n: int
    n_left_out: int
    raters: tuple[float, float]
    settings: Mapping[str, Any]
    notes: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True, kw_only=True)
class LossDecomposition(RaterDecomposition, LossTerms[Estimate]):
    """Decomposition of the squared loss of a prediction under several labels per instance.

    Attributes
    ----------
    expected, epistemic, irreducible, calibration, dispersion, refinement : Estimate
        Unbiased (calibration: debiased) terms; they add up exactly and may be negative.
    calibration_error, dispersion_error : RootEstimate
        Signed roots of calibration and dispersion loss.
    plugin : LossTerms of Estimate
        The same terms with frequencies in place of probabilities; biased, so without intervals.
    per_class : LossTerms of Estimates
        The terms of every class, (k,); they sum to the totals.
    bins : RaterBins
        Predicted against observed frequencies.
    all_rows : mapping of str to Estimate
        Expected loss and calibration loss over all rows, including those with one rater.
    n : int
        Number of instances with two or more raters, on which all terms above are computed.
    n_left_out : int
        Number of instances with one rater, which carry no information about the spread of labels.
    raters : tuple of int
        Smallest and largest number of raters in the population.
    settings : mapping
        What the terms were computed with.
    notes : tuple of str
        What was accepted, converted or left out on the way.
    """

    dispersion_error: RootEstimate
    plugin: LossTerms[Estimate]
    per_class: LossTerms[Estimates]
    all_rows: Mapping[str, Estimate]


@dataclasses.dataclass(frozen=True, kw_only=True)
class DisagreementDecomposition(RaterDecomposition, DisagreementTerms[Estimate]):
    """Decomposition of the squared loss of predicted disagreement between raters.

    Attributes
    ----------
    name : str
        The statistic of the raters: ``"disagreement"`` or the name of a user-defined one.
    expected, calibration, refinement : Estimate
        Unbiased (calibration: debiased) terms.
    calibration_error : RootEstimate
        Signed root of the calibration loss.
    predicted, observed : Estimate
        Mean predicted and mean observed value over instances.
    plugin : DisagreementTerms of Estimate
        With the plug-in calibration loss.
    bins : RaterBins
        Predicted against observed values with the sampling error that the rater numbers imply.
    per_class : DisagreementTerms of Estimates or None
        Disagreement about every class (is the label this class or not?), or each value of a user-defined
        statistic.
    per_class_predicted, per_class_observed : Estimates or None
        Mean predicted and observed value per class.
    class_average : DisagreementTerms of Estimate or None
        Average of `per_class` over the classes.
    class_calibration_error : Estimate or None
        Average of the signed roots of their calibration losses (D21 Table 2).
    four_labels : LossTerms of Estimate or None
        On the instances with four labels or more: the loss split into how far the prediction is from the
        disagreement of each instance (epistemic = calibration + dispersion) and the rest (irreducible).
        Unbiased. None for other statistics and soft labels, or if no instance has four labels.
    n : int
        Number of instances with enough raters.
    n_left_out : int
        Number of instances with fewer.
    raters : tuple of int
        Smallest and largest number of raters in the population.
    settings : mapping
        What the terms were computed with.
    notes : tuple of str
        What was accepted, converted or left out on the way.
    """

    name: str
    predicted: Estimate
    observed: Estimate
    plugin: DisagreementTerms[Estimate]
    per_class: DisagreementTerms[Estimates] | None
    per_class_predicted: Estimates | None
    per_class_observed: Estimates | None
    class_average: DisagreementTerms[Estimate] | None
    class_calibration_error: Estimate | None
    four_labels: LossTerms[Estimate] | None = None


@dataclasses.dataclass(frozen=True)
class ScoreSplit(Result):
    """A mean score and its parts: loss = miscalibration - discrimination + uncertainty.

    Attributes
    ----------
    loss, miscalibration, discrimination, uncertainty : Estimate
        The score, and its parts.
    skill : Estimate
        Uncertainty minus loss.
    """

    loss: Estimate
    miscalibration: Estimate
    discrimination: Estimate
    uncertainty: Estimate
    skill: Estimate


@dataclasses.dataclass(frozen=True)
class CrpsDecomposition(ScoreSplit):
    """The CRPS and its parts: loss = miscalibration - discrimination + uncertainty.

    Attributes
    ----------
    loss : Estimate
        CRPS.
    miscalibration : Estimate
        What recalibrated probabilities of "at most t" would save, over all t; in-sample.
    discrimination : Estimate
        What distinguishing instances saves; in-sample.
    uncertainty : Estimate
        CRPS of predicting the distribution of the labels for every instance.
    skill : Estimate
        Uncertainty minus loss.
    miscalibration_interval, discrimination_interval : tuple of float
        Intervals that allow for the optimism of the two in-sample numbers.
    level : float
        Coverage of these intervals.
    n : int
        Number of instances.
    """

    miscalibration_interval: tuple[float, float]
    discrimination_interval: tuple[float, float]
    level: float
    n: int

    def __str__(self) -> str:
        """Write the sum; parts that are too large in-sample have their interval in place of an error."""

        def between(part: Estimate, ends: tuple[float, float]) -> str:
            return f"{part.name} {part.value:.4g} ({100 * self.level:.4g} %: {ends[0]:.4g} to {ends[1]:.4g})"

        def plain(name: str, part: Estimate) -> str:
            return f"{name} {part.value:.4g}" + ("" if part.stderr is None else f" ± {part.stderr:.2g}")

        return (
            f"{plain('CRPS', self.loss)} = {between(self.miscalibration, self.miscalibration_interval)} - "
            f"{between(self.discrimination, self.discrimination_interval)} + "
            f"{plain('uncertainty', self.uncertainty)} (n = {self.n})"
        )
