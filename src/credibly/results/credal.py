"""What tests of weights and of both hypotheses about a set return: outcome, weights, and its picture."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from credibly._arrays.namespace import HostArray, to_host
from credibly.results.base import Notion, Result, require_level
from credibly.results.combinations import CombinationDetails
from credibly.results.tests import Details, HypotestResult, Word
from credibly.results.witness import WitnessDetails


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


@dataclasses.dataclass(frozen=True)
class WeightsDetails(CombinationDetails):
    """The weights with which a set was tested for a calibrated combination.

    Attributes
    ----------
    test_rows : ndarray
        Instances the statistic was computed on; weights were learned on the others.
    combination : object
        What `combine` applies to other instances.
    weights : ndarray (n, a) or (a,)
        Weights on `weight_names`, per instance (learned) or one vector (constant, mean). The weight of a
        particular member is meaningful only if members differ in kind (another architecture, other data); for
        exchangeable members (other seeds) it is chance.
    weight_names : tuple of str
        What is mixed: members, corners, draws, boundary points.
    notion : {"confidence", "classwise", "distribution"}
        Which kind of calibration the statistic measures; labels are always drawn from whole distributions.
    """

    weights: HostArray = dataclasses.field(default_factory=lambda: np.empty(0))
    weight_names: tuple[str, ...] = ()
    notion: Notion = "distribution"

    def _sentence(self, test: HypotestResult[Any], level: float, class_names: Sequence[str] | None) -> str:
        return f"{_rejected(test)}." if test.rejects(level) else super()._sentence(test, level, class_names)


def _rejected(test: HypotestResult[Any]) -> str:
    """Say what a test of weights rejects."""
    if test.settings.get("weights") == "mean":
        return "The mean of the set is not calibrated"
    return "No combination that these weights can represent is calibrated"


Outcome = Literal["both", "witness alone", "weights alone", "neither"]
"""Which of the two tests of a set reject."""


@dataclasses.dataclass(frozen=True)
class CredalDetails(WeightsDetails):
    """The two tests of a set: whether it contains the truth, and a calibrated combination.

    The fields of :class:`WeightsDetails` are those of the weights, and so are the fields of the result,
    except for the p-value, the larger of two.

    Attributes
    ----------
    validity : HypotestResult of WitnessDetails, or None
        Is the distribution of the label in the set? None if every set is a single distribution.
    calibration : HypotestResult of WeightsDetails, or None
        Is some combination calibrated? None for rows in clusters, of which only the witness is tested.
    """

    validity: HypotestResult[WitnessDetails] | None = None
    calibration: HypotestResult[WeightsDetails] | None = None

    @property
    def _tested(self) -> list[HypotestResult]:
        return [test for test in (self.validity, self.calibration) if test is not None]

    def outcome(self, level: float = 0.05) -> Outcome:
        """Return which of the two tests reject at `level`.

        A label that every distribution of the set rules out rejects both: no combination is calibrated.
        """
        witness = self.validity is not None and self.validity.rejects(level)
        impossible = self.validity is not None and self.validity.details.impossible_rows.size > 0
        weights = self.calibration is not None and (impossible or self.calibration.rejects(level))
        if witness:
            return "both" if weights else "witness alone"
        return "weights alone" if weights else "neither"

    def _verdict(self, test: HypotestResult[Any], level: float) -> Word:
        words = {part.verdict(level) for part in self._tested}
        if len(self._tested) == 1:
            return words.pop()
        if self.outcome(level) != "neither":
            return "conflict" if self.outcome(level) == "both" else "cannot tell"
        return "cannot tell" if "cannot tell" in words else "no conflict found"

    def _why_not(self, test: HypotestResult[Any], level: float) -> str:
        return next(filter(None, (part.why_not(level) for part in self._tested)), "")

    def _sentence(self, test: HypotestResult[Any], level: float, class_names: Sequence[str] | None) -> str:
        validity, calibration = self.validity, self.calibration
        if validity is None or calibration is None:
            return self._tested[0].sentence(level, class_names)
        outcome = self.outcome(level)
        if validity.details.impossible_rows.size:
            return validity.sentence(level, class_names)
        if outcome == "both":
            where = validity.details.where(class_names)
            pointed = f": {where}" if where else ""
            return (
                f"The truth lies outside the set, and no combination that was found is calibrated{pointed}."
            )
        if outcome == "witness alone":
            outside = validity.sentence(level, class_names).removesuffix(".")
            return f"{outside}; some combination may still be calibrated."
        if outcome == "weights alone":
            return f"{_rejected(calibration)}; given the predictions, the set may contain the truth."
        return Details._sentence(self, test, level, class_names)

    def _text(self, test: HypotestResult[Any]) -> str:
        if len(self._tested) == 1:
            return str(self._tested[0])
        return f"{test.verdict()}: {test.sentence()} {self.validity}; weights: {self.calibration}"

    def _drawn(self, test: HypotestResult[Any]) -> HypotestResult[Any]:
        """Return the witness, where it is alone: it has a picture of where it points, and no replicates."""
        return test if self.calibration is not None or self.validity is None else self.validity


@dataclasses.dataclass(frozen=True)
class ValidityDetails(Details):
    """Which instances have a distribution of labels that does not lie in the predicted set.

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

    _subject = "sets"

    deviance: Any
    pvalues: Any
    adjusted_pvalues: Any
    nearest: Any
    raters: Any
    smallest_pvalues: Any
    largest_explained: float

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
