"""How ignorant a prediction says that it is, and how ignorant several labels per instance show it to be."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from credibly._arrays.namespace import HostArray
from credibly.results.base import Result, require_level
from credibly.results.estimates import Estimate, Estimates, interval_of
from credibly.results.numbers import p_is
from credibly.results.tests import Details, HypotestResult, Word


@dataclasses.dataclass(frozen=True)
class SpreadDetails(Details):
    """What a test of the stated spread knows beside its p-value.

    Attributes
    ----------
    direction : {"too wide", "too narrow", ""}
        On which side the spread score lies: predicted distributions of labels are spread too widely around
        their mean, or too narrowly; "" for a test of the mean.
    is_local : bool
        Whether errors that depend on the prediction, and may cancel on average, are the clearest.
    rater_pvalue : float or None
        p-value of the test that raters differ; None if it is not known who gave which label.
    crossed_pvalue : float or None
        p-value with standard errors over instances and raters, if raters differ. A conflict then requires
        this one to be small as well.
    """

    direction: str
    is_local: bool = False
    rater_pvalue: float | None = None
    crossed_pvalue: float | None = None

    def _deciding_pvalue(self, test: HypotestResult[Any]) -> float:
        return max(super()._deciding_pvalue(test), self.crossed_pvalue or 0.0)

    def _confirms(self, level: float) -> bool:
        return (self.crossed_pvalue or 0.0) <= level

    def _sentence(self, test: HypotestResult[Any], level: float, class_names: Sequence[str] | None) -> str:
        if test.verdict(level) != "conflict" or not self.direction:
            return super()._sentence(test, level, class_names)
        if self.is_local:
            return (
                "The stated spread is too wide for some predictions and too narrow for others, which cancels "
                "on average."
            )
        how, more = ("widely", "less") if self.direction == "too wide" else ("narrowly", "more")
        return (
            f"The predicted distributions of labels are spread too {how} around their mean: the model is "
            f"{more} ignorant than it says."
        )


def called(rater: str) -> str:
    """Return the name of a rater in a sentence."""
    return f"rater {rater}" if rater.isdigit() else rater


@dataclasses.dataclass(frozen=True)
class RaterDetails(Details):
    """What a test that raters differ knows beside its p-value.

    Attributes
    ----------
    rater : str
        The rater whose labels are furthest from those of the others for the same instances.
    n_raters : int
        Number of raters.
    aspect : {"leaning", "agreement"}
        How raters differ most clearly: some give certain labels more often, or agree less with the rest.
    """

    _why_constant: ClassVar[str] = "the raters of each instance agree"

    rater: str
    n_raters: int
    aspect: str = "leaning"

    def _sentence(self, test: HypotestResult[Any], level: float, class_names: Sequence[str] | None) -> str:
        if test.verdict(level) == "conflict":
            how = "give certain labels more often" if self.aspect == "leaning" else "agree less with the rest"
            return (
                f"The {self.n_raters} raters differ: for the same instances some {how} than others do, most "
                f"clearly {called(self.rater)}."
            )
        if test.verdict(level) == "cannot tell":
            return super()._sentence(test, level, class_names)
        if not test.components:
            return (
                f"Nothing shows that the {self.n_raters} raters prefer different labels. Whether some are "
                "careless takes three labels per instance to see."
            )
        return f"Nothing shows that the {self.n_raters} raters differ."


@dataclasses.dataclass(frozen=True)
class SizeBins(Result):
    """Stated and supported ignorance of instances with similar stated ignorance.

    Attributes
    ----------
    edges : ndarray (b + 1,)
        Ends of the bins of stated ignorance.
    count : ndarray (b,)
        Instances per bin.
    stated, supported : ndarray (b,)
        Their means.
    low, high : ndarray (b,)
        95 % interval of the supported one; NaN if there is none.
    """

    edges: HostArray
    count: HostArray
    stated: HostArray
    supported: HostArray
    low: HostArray
    high: HostArray


@dataclasses.dataclass(frozen=True, kw_only=True)
class Ignorance(Result):
    """Stated against supported ignorance.

    Attributes
    ----------
    stated : Estimate
        Mean variance of the class probabilities under the prediction, summed over classes.
    supported : Estimate
        Mean over pairs of labels of <e_y - mu, e_y' - mu>: squared distance from the predicted mean to the
        distribution of labels. A mean that is off counts.
    gap : Estimate
        Supported minus stated.
    stated_share, supported_share : Estimate
        Both as a share of the uncertainty: of 1 - sum mu^2 as stated, of the expected squared loss as
        observed.
    mean_part : Estimate
        The part of `supported` that is a mean that is off, given the predicted probability (debiased
        calibration loss in bins).
    per_class_stated, per_class_supported : Estimates
        Both by class.
    by_size : SizeBins
        Both by the size of what is stated.
    test : HypotestResult
        Whether labels could have been drawn as stated: pairs, spread score and local score together.
    mean_test : HypotestResult
        Whether one label per instance could have been drawn from the mean, whatever the spread. If raters
        differ, a conflict also requires all labels to show it with errors over instances and raters.
    n : int
        Number of instances with two or more labels.
    n_left_out : int
        Number of instances with one.
    labels : tuple of int
        Smallest and largest number of labels.
    settings : mapping
        Everything needed to repeat it.
    notes : tuple of str
        What was accepted, converted or left out on the way.
    """

    stated: Estimate
    supported: Estimate
    gap: Estimate
    stated_share: Estimate
    supported_share: Estimate
    mean_part: Estimate
    per_class_stated: Estimates
    per_class_supported: Estimates
    by_size: SizeBins
    test: HypotestResult[SpreadDetails]
    mean_test: HypotestResult[Any]
    n: int
    n_left_out: int
    labels: tuple[int, int]
    settings: Mapping[str, Any]
    notes: tuple[str, ...] = ()

    def verdict(self, level: float = 0.05) -> Word:
        """Return whether labels contradict the stated ignorance, as `test` says.

        Parameters
        ----------
        level : float
            Level of the test.

        Returns
        -------
        {"conflict", "no conflict found", "cannot tell"}
            The answer.
        """
        return self.test.verdict(level)

    def sentence(self, level: float = 0.05) -> str:
        """Return what is stated, what is supported, and whether chance explains the difference.

        Parameters
        ----------
        level : float
            Level of the tests.

        Returns
        -------
        str
            The answer in words.
        """
        require_level(level)
        return ignorance_sentence(self.facts(level))

    def facts(self, level: float = 0.05) -> dict[str, Any]:
        """Return what the sentence is made of."""
        share, details = self.supported_share, self.test.details
        return {
            "stated": self.stated_share.value,
            "supported": share.value,
            "interval": interval_of(share),
            "word": self.verdict(level),
            "pvalue": self.test.deciding_pvalue,
            "why": self.test.why_not(level),
            "is_local": details.is_local,
            "mean_pvalue": self.mean_test.deciding_pvalue,
            "mean_word": self.mean_test.verdict(level),
            "mean_share": max(0.0, self.mean_part.value) / max(self.supported.value, 1e-12),
            "raters_pvalue": None if details.crossed_pvalue is None else details.rater_pvalue,
        }

    def __str__(self) -> str:
        lines = [self.sentence(), *map(str, (self.stated, self.supported, self.test, self.mean_test))]
        return "\n  ".join([*lines, *(f"note: {note}" for note in self.notes)])


def ignorance_sentence(facts: Mapping[str, Any]) -> str:
    """Return stated and supported ignorance in words, and whether chance explains the difference."""
    low, high = facts["interval"] or (0.0, 0.0)
    between = "" if facts["interval"] is None else f" (95 %: {_whole(low)} to {max(1, _whole(high))})"
    lead = (
        f"It says {_whole(facts['stated'])} % of its uncertainty is its own ignorance; pairs of labels "
        f"support {_whole(facts['supported'])} %{between}"
    )
    chance = p_is(facts["pvalue"])
    if facts["word"] == "cannot tell":
        end = f". Cannot tell whether chance explains the difference: {facts['why'] or 'too few replicates'}."
    elif facts["word"] == "no conflict found":
        end = f", a difference that chance explains ({chance})."
    elif facts["is_local"]:
        end = f". It states too much for some predictions and too little for others ({chance})."
    else:
        end = f", and chance does not explain the difference ({chance})."
    if facts["mean_word"] == "conflict":
        off = ""
        if facts["supported"] > 0:
            off = f" (about {min(100, _whole(facts['mean_share']))} % of it)"
        end += (
            f" Its mean is off ({p_is(facts['mean_pvalue'])}), which counts as supported ignorance{off}: "
            "repair the mean first."
        )
    if facts["raters_pvalue"] is not None:
        end += (
            f" Raters differ ({p_is(facts['raters_pvalue'])}), so the interval allows for other raters as "
            "well as other instances."
        )
    return lead + end


def _whole(share: float) -> int:
    return round(100 * float(np.clip(share, 0.0, 1.0)))
