"""What `evaluate` returns: numbers, tests, curves, verdicts, and what was not run and why."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import numpy as np

from credibly.evaluation.raters import RaterParts
from credibly.evaluation.score import ScoreParts
from credibly.evaluation.sets import CredalParts, ValidityParts
from credibly.evaluation.tidy import to_frame
from credibly.evaluation.verdict import Verdict
from credibly.results.base import Result
from credibly.results.curves import EnvelopeCurve, ReliabilityCurve, RiskCoverageCurve
from credibly.results.estimates import Estimate
from credibly.results.predictive import PredictiveCheck
from credibly.results.recalibration import RecalibrationReport
from credibly.results.tests import HypotestResult
from credibly.statistics import BrierDecomposition


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
class Curves(Result):
    """Reliability and risk-coverage curves of one evaluation.

    Attributes
    ----------
    top_label : ReliabilityCurve
        Confidence against accuracy.
    per_class : tuple of ReliabilityCurve
        One curve per class, in class order; of many classes only those with the largest error.
    class_errors : ndarray (k,)
        Binned calibration error of every class; their mean is the class-wise ECE.
    risk_coverage : mapping of str to RiskCoverageCurve
        Share of wrong answers among the surest instances, by ``"confidence"`` and, of sets, also by
        ``"imprecision"``.
    """

    drawn_as = ("top_label",)

    top_label: ReliabilityCurve
    per_class: tuple[ReliabilityCurve, ...]
    class_errors: np.ndarray[Any, Any]
    risk_coverage: Mapping[str, RiskCoverageCurve] = dataclasses.field(default_factory=dict)


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

    drawn_as = ("pit",)

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
        Reliability curves with consistency bands, and risk-coverage curves.
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
    recalibration : RecalibrationReport or None
        Recalibrations before and after, where they were asked for.
    score : ScoreParts or None
        The unified score, where the predictions are sets of distributions.
    reals : RealParts or None
        Where real labels lie in their predicted distributions, with envelopes.
    check : PredictiveCheck or None
        What the model expects of its own statistics, where members are stored.
    credal : CredalParts or None
        Whether the set holds a calibrated combination, where the predictions are sets.
    validity : ValidityParts or None
        Whether the distribution of labels lies in the set, where there are several labels per instance.
    """

    drawn_as = ("reals", "curves")

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
    recalibration: RecalibrationReport | None = None
    score: ScoreParts | None = None
    credal: CredalParts | None = None
    validity: ValidityParts | None = None
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
