"""What `evaluate` returns: numbers, tests, curves, verdicts, and what was not run and why."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import numpy as np

from credibly._arrays.curves import EnvelopeCurve
from credibly._arrays.predictive_results import PredictiveCheck
from credibly._arrays.results import Estimate, HypotestResult, ReliabilityCurve, Result
from credibly.evaluation.raters import RaterParts
from credibly.statistics import BrierDecomposition

Word = Literal["conflict", "no conflict found", "cannot tell"]


@dataclasses.dataclass(frozen=True)
class PredictionSummary(Result):
    """What was evaluated.

    Attributes
    ----------
    kind : str
        Type of the predictions.
    n, m : int
        Number of instances and of members (1 where there is no member axis).
    k : int or None
        Number of classes; None for real-valued predictions.
    dtype : str
        Stored precision.
    """

    kind: str
    n: int
    m: int
    k: int | None
    dtype: str


@dataclasses.dataclass(frozen=True)
class Verdict(Result):
    """One statistic's answer in words.

    Attributes
    ----------
    word : {"conflict", "no conflict found", "cannot tell"}
        The answer; it follows from the adjusted p-value.
    statistic : str or None
        What was tested; None where nothing could be.
    finding : str
        The answer with observed value and acceptance region.
    evidence : str
        p-value with Monte-Carlo interval and tail, adjusted p-value and effect size.
    scope : str
        Number of instances, members and replicates.
    size : float or None
        Observed value minus its mean under the hypothesis, in the statistic's own unit.
    limit : tuple of float or None
        Acceptance region at the level of the evaluation.
    """

    word: Word
    statistic: str | None
    finding: str
    evidence: str
    scope: str
    size: float | None
    limit: tuple[float, float] | None

    @property
    def sentence(self) -> str:
        """Finding, evidence and scope."""
        return f"{self.finding} {self.evidence}; {self.scope}." if self.evidence else self.finding

    def __str__(self) -> str:
        return self.sentence

    def to_dict(self) -> dict[str, Any]:
        """Return everything in JSON-safe types, the whole sentence included."""
        return {**super().to_dict(), "sentence": self.sentence}


@dataclasses.dataclass(frozen=True)
class Curves(Result):
    """Reliability curves of one evaluation.

    Attributes
    ----------
    top_label : ReliabilityCurve
        Confidence against accuracy.
    per_class : tuple of ReliabilityCurve
        One curve per class, in class order; of many classes only those with the largest error.
    class_errors : ndarray (k,)
        Binned calibration error of every class; their mean is the class-wise ECE.
    """

    top_label: ReliabilityCurve
    per_class: tuple[ReliabilityCurve, ...]
    class_errors: np.ndarray[Any, Any]


@dataclasses.dataclass(frozen=True)
class RealParts(Result):
    """Where labels lie in their predicted distributions.

    Attributes
    ----------
    pit : EnvelopeCurve
        Shares of labels at most as large as the quantiles.
    coverage : EnvelopeCurve or None
        Shares of labels inside central intervals; None where quantiles have no symmetric levels.
    """

    pit: EnvelopeCurve
    coverage: EnvelopeCurve | None


@dataclasses.dataclass(frozen=True)
class Evaluation(Result):
    """All that :func:`evaluate` computed.

    Attributes
    ----------
    predictions : PredictionSummary
        Type and sizes of the predictions.
    classes : tuple of str
        Names of the classes.
    estimates : mapping of str to Estimate
        Value of every statistic.
    decomposition : BrierDecomposition or None
        Brier score as calibration loss plus refinement loss.
    tests : mapping of str to HypotestResult
        One test per statistic on shared replicates, with adjusted p-values; the test of all of them
        together under ``"omnibus"``.
    curves : Curves or None
        Reliability curves with consistency bands.
    groups : mapping of str to mapping of str to Estimate
        The cheap statistics within every group of instances.
    verdicts : tuple of Verdict
        Answers in words, worst first.
    warnings : tuple of str
        What is unusual about the data.
    notes : tuple of str
        What was accepted, converted or left out on the way.
    not_run : tuple of (str, str)
        What was left out, and why.
    settings : mapping
        Seed, version, number of replicates and the rest of what lets the evaluation run again.
    source : mapping
        Where the data came from: path, digest, dropped rows, notes, command.
    raters : RaterParts or None
        Loss and disagreement taken apart, where there are several labels per instance.
    reals : RealParts or None
        Where real labels lie in their predicted distributions, with envelopes.
    check : PredictiveCheck or None
        What the model expects of its own statistics, where members are stored.
    """

    predictions: PredictionSummary
    classes: tuple[str, ...]
    estimates: Mapping[str, Estimate]
    decomposition: BrierDecomposition | None
    tests: Mapping[str, HypotestResult]
    curves: Curves | None
    groups: Mapping[str, Mapping[str, Estimate]]
    verdicts: tuple[Verdict, ...]
    warnings: tuple[str, ...]
    notes: tuple[str, ...]
    not_run: tuple[tuple[str, str], ...]
    settings: Mapping[str, Any]
    source: Mapping[str, Any]
    raters: RaterParts | None = None
    reals: RealParts | None = None
    check: PredictiveCheck | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return everything in JSON-safe types but the replicates of the predictive check."""
        check = None if self.check is None else self.check.summary()
        return {**Result.to_dict(dataclasses.replace(self, check=None)), "check": check}

    def report(self, path: str | Path, *, overwrite: bool = False) -> Path:
        """Write everything as one self-contained HTML file.

        Parameters
        ----------
        path : str or Path
            Where to write.
        overwrite : bool
            Replace a file that is already there.

        Returns
        -------
        Path
            The file written.
        """
        # A report is made from a finished evaluation: this method is only its handle, so the arrow from
        # evaluation to report exists while it runs and not while the modules load.
        # tach-ignore(Evaluation.report is the user's handle on the room below)
        from credibly.report import write_report

        return write_report(self, path, overwrite=overwrite)

    def __str__(self) -> str:
        facts = self.predictions
        sizes = f"n = {facts.n}, m = {facts.m}" + ("" if facts.k is None else f", k = {facts.k}")
        lines = [f"Evaluation of {facts.kind} ({sizes})"]
        lines += [f"  {verdict.word}: {verdict.finding}" for verdict in self.verdicts]
        return "\n".join(lines)
