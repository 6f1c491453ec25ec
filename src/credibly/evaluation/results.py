"""What `evaluate` returns: numbers, tests, curves, verdicts, and what was not run and why."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import numpy as np

from credibly._arrays.results import Estimate, HypotestResult, ReliabilityCurve, Result
from credibly.evaluation.raters import RaterParts
from credibly.evaluation.tidy import to_frame
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

    def to_frame(self, library: Literal["pandas", "polars"] | None = None) -> Any:
        """Return all numbers as a data frame, one row per number.

        Parameters
        ----------
        library : {"pandas", "polars"}, optional
            Whose data frame; the first that is installed where not given.

        Returns
        -------
        DataFrame
            Columns part, statistic, value, stderr, low, high, n, acceptance_low, acceptance_high, pvalue,
            adjusted_pvalue and verdict.
        """
        return to_frame(self, library)

    def log_to_mlflow(self, *, prefix: str = "credibly.") -> None:
        """Log numbers, settings, verdict and report to the active run of MLflow, where that is installed.

        Parameters
        ----------
        prefix : str
            Put before every name.
        """
        from credibly.evaluation.rendering import log_to_mlflow

        # tach-ignore(the report is one of the artifacts, and like `report` this is only a handle)
        from credibly.report import render_report

        log_to_mlflow(self, render_report(self), prefix)

    def _repr_html_(self) -> str:
        from credibly.evaluation.rendering import as_html  # its words need the classes above

        return as_html(self)

    def __rich__(self) -> Any:
        from credibly.evaluation.rendering import as_rich

        return as_rich(self)

    @property
    def heading(self) -> str:
        """What was evaluated, in one line."""
        facts = self.predictions
        sizes = f"n = {facts.n}, m = {facts.m}" + ("" if facts.k is None else f", k = {facts.k}")
        return f"Evaluation of {facts.kind} ({sizes})"

    def __str__(self) -> str:
        lines = [self.heading, *(f"  {verdict.word}: {verdict.finding}" for verdict in self.verdicts)]
        return "\n".join(lines)
