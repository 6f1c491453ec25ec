"""What tests of weights and of both hypotheses about a set return: outcome, weights, and its picture."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from credibly._arrays.namespace import HostArray, to_host
from credibly.results.base import Notion, Result, require_level
from credibly.results.combinations import CombinationResult
from credibly.results.tests import HypotestResult, Word
from credibly.results.witness import WitnessResult

if TYPE_CHECKING:
    from matplotlib.axes import Axes


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
class WeightsResult(CombinationResult):
    """Whether some combination of a set is calibrated, with the weights that were found.

    The fields of :class:`HypotestResult`, and these.

    Attributes
    ----------
    test_rows : ndarray
        Instances the statistic was computed on; weights were learned on the others.
    combination : object
        What `combine` and `score` apply to other instances.
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

    def sentence(self, level: float = 0.05, class_names: Sequence[str] | None = None) -> str:
        """Return the outcome in words.

        Parameters
        ----------
        level : float
            Level of the test.
        class_names : sequence of str, optional
            Names of the classes; weights do not point at classes.

        Returns
        -------
        str
            Whether these weights found a calibrated combination.
        """
        if self.pvalue <= level:
            return f"{self._rejected}."
        return _not_rejected(self, level)

    @property
    def _rejected(self) -> str:
        if self.settings.get("weights") == "mean":
            return "The mean of the set is not calibrated"
        return "No combination that these weights can represent is calibrated"


def _not_rejected(result: HypotestResult, level: float) -> str:
    """Say what a test without a rejection found."""
    if result.verdict(level) == "cannot tell":
        return f"Cannot tell: {result.why_not(level) or 'there are too few replicates'}."
    return "No conflict found between the set and the labels."


Outcome = Literal["both", "witness alone", "weights alone", "neither"]
"""Which of the two tests of a set reject."""


@dataclasses.dataclass(frozen=True)
class CredalTestResult(WeightsResult):
    """Whether a set of distributions contains the truth and a calibrated combination.

    The fields of :class:`WeightsResult`, which are those of the weights except for the p-value, the larger of
    two, and these.

    Attributes
    ----------
    validity : WitnessResult or None
        Is the distribution of the label in the set? None if every set is a single distribution.
    calibration : WeightsResult or None
        Is some combination calibrated? None for rows in clusters, of which only the witness is tested.
    """

    validity: WitnessResult | None = None
    calibration: WeightsResult | None = None

    @property
    def _tested(self) -> list[WitnessResult | WeightsResult]:
        return [one for one in (self.validity, self.calibration) if one is not None]

    def plot(
        self, ax: Axes | None = None, *, kind: str | None = None, label: str | None = None, **options: Any
    ) -> Axes:
        """Draw the test of the weights; for a witness alone, where it points. See :meth:`Result.plot`."""
        if kind is None and self.calibration is None and self.validity is not None:
            return self.validity.plot(ax, label=label, **options)
        return super().plot(ax, kind=kind, label=label, **options)

    def outcome(self, level: float = 0.05) -> Outcome:
        """Return which of the two tests reject at `level`.

        A label that every distribution of the set rules out rejects both: no combination is calibrated.
        """
        witness = self.validity is not None and self.validity.rejects(level)
        impossible = self.validity is not None and self.validity.impossible_rows.size > 0
        weights = self.calibration is not None and (impossible or self.calibration.pvalue <= level)
        if witness:
            return "both" if weights else "witness alone"
        return "weights alone" if weights else "neither"

    def verdict(self, level: float = 0.05) -> Word:
        """Return the answer in one of three words.

        "conflict" if both tests reject, "cannot tell" if only one does (or could not have), "no conflict
        found" if neither does. If only one was run: that test's own answer.
        """
        words = {one.verdict(level) for one in self._tested}
        if len(self._tested) == 1:
            return words.pop()
        if self.outcome(level) != "neither":
            return "conflict" if self.outcome(level) == "both" else "cannot tell"
        return "cannot tell" if "cannot tell" in words else "no conflict found"

    def why_not(self, level: float = 0.05) -> str:
        """Return why no labels could have been rejected at `level`, by the first test that could not."""
        return next(filter(None, (one.why_not(level) for one in self._tested)), "")

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
        validity, calibration = self.validity, self.calibration
        if validity is None or calibration is None:
            return self._tested[0].sentence(level, class_names)
        outcome = self.outcome(level)
        if validity.impossible_rows.size:
            return validity.sentence(level, class_names)
        where = validity.where(class_names)
        pointed = f": {where}" if where else ""
        if outcome == "both":
            return (
                f"The truth lies outside the set, and no combination that was found is calibrated{pointed}."
            )
        if outcome == "witness alone":
            told = validity.sentence(level, class_names).removesuffix(".")
            return f"{told}; some combination may still be calibrated."
        if outcome == "weights alone":
            return f"{calibration._rejected}; given the predictions, the set may contain the truth."
        return _not_rejected(self, level)

    def __str__(self) -> str:
        if len(self._tested) == 1:
            return str(self._tested[0])
        return f"{self.verdict()}: {self.sentence()} {self.validity}; weights: {self.calibration}"


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
