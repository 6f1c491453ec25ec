"""What `evaluate` returns: numbers, tests, curves, verdicts, and what was not run and why."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any

from credibly._arrays.errors import UnknownNameError, nearest
from credibly.evaluation.curves import Curves
from credibly.evaluation.headline import Headline
from credibly.evaluation.predictive_checks import check_verdicts
from credibly.evaluation.raters import RaterParts
from credibly.evaluation.regression import RealParts
from credibly.evaluation.rendering import Reported
from credibly.evaluation.rows import PredictionSummary
from credibly.evaluation.score import ScoreParts
from credibly.evaluation.set_tests import CredalParts, ValidityParts
from credibly.evaluation.stages import Part
from credibly.evaluation.tidy import NumberRow, number_rows
from credibly.evaluation.words import Verdict, joined, shown, shown_range, title, worst_first
from credibly.results.base import Result
from credibly.results.estimates import Estimate
from credibly.results.predictive import PredictiveCheck
from credibly.results.recalibration import RecalibrationReport
from credibly.results.tests import HypotestResult
from credibly.statistics import BrierDecomposition
from credibly.statistics.registry import called_here


@dataclasses.dataclass(frozen=True)
class Evaluation(Reported):
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
    headline : Headline or None
        The answer in a sentence, with size and remedy, and the questions of the first screen.
    check : PredictiveCheck or None
        What the model expects of its own statistics, where members are stored.
    credal : CredalParts or None
        Whether the set holds a calibrated combination, where the predictions are sets.
    validity : ValidityParts or None
        Whether the distribution of labels lies in the set, where there are several labels per instance.
    """

    drawn_as = ("reals", "curves")

    _page = "report.html"
    _rows_are = "All numbers"
    _row = NumberRow
    _headings = ("statistic", "value", "95 % interval", "accepted", "p", "adjusted p", "verdict")
    _logged = ("version", "rng", "n_resamples", "n_bins", "level")

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
    headline: Headline | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return everything in JSON-safe types but the replicates of the predictive check."""
        check = None if self.check is None else self.check.summary()
        return {**Result.to_dict(dataclasses.replace(self, check=None)), "check": check}

    def __getitem__(self, name: str) -> Estimate:
        """Return the value of a statistic by its name."""
        if name in self.estimates:
            return self.estimates[name]
        reason = dict(self.not_run).get(name)
        raise UnknownNameError(
            f"evaluation[{name!r}]",
            "must name a statistic that was computed",
            f"got {name!r}" if reason is None else f"this one was not, because {reason}",
            called_here(str(name)) or nearest(name, self.estimates)
            if reason is None
            else f"Computed were: {', '.join(self.estimates)}.",
        )

    def __iter__(self) -> Iterator[str]:
        return iter(self.estimates)

    @property
    def parts(self) -> dict[str, Any]:
        """What was computed, by the names of the fields; without what was not run."""
        found = ((field.name, getattr(self, field.name)) for field in dataclasses.fields(self))
        return {name: part for name, part in found if isinstance(part, Result)}

    @property
    def answers(self) -> dict[str, tuple[Verdict, ...]]:
        """Verdicts of the parts that ask other questions than `verdicts`, by part."""
        found = {name: part.answers for name, part in self.parts.items() if isinstance(part, Part)}
        if self.check is not None:
            found["check"] = check_verdicts(self.check, self.predictions, self.settings["level"])
        return {name: said for name, said in found.items() if said}

    @property
    def heading(self) -> str:
        """What was evaluated, in one line."""
        facts = self.predictions
        sizes = f"n = {facts.n}, m = {facts.m}" + ("" if facts.k is None else f", k = {facts.k}")
        return f"Evaluation of {facts.kind} ({sizes})"

    def _rows(self) -> tuple[NumberRow, ...]:
        return number_rows(self)

    def _cells(self, row: NumberRow) -> tuple[str, ...]:
        interval = "" if row.low is None or row.high is None else shown_range((row.low, row.high))
        accepted = ""
        if row.acceptance_low is not None and row.acceptance_high is not None:
            accepted = shown_range((row.acceptance_low, row.acceptance_high))
        values = ("" if number is None else shown(number) for number in (row.pvalue, row.adjusted_pvalue))
        name = row.statistic if row.part == "estimates" else f"{row.part}: {row.statistic}"
        return name, shown(row.value), interval, accepted, *values, row.verdict or ""

    def _said(self) -> list[tuple[str, str]]:
        return [(one.word, one.finding) for one in self.verdicts]

    def _briefly(self) -> list[str]:
        found = worst_first(one for said in (self.verdicts, *self.answers.values()) for one in said[:1])
        numbers = []
        for name, value, interval, *_ in map(self._cells, self._rows()[: len(self.estimates)]):
            numbers.append(f"{title(name)} {value}" + (f" (95 %: {interval})" if interval else ""))
        left_out = [f"not run: {joined([name for name, _ in self.not_run])}"] if self.not_run else []
        first = [] if self.headline is None else [str(self.headline)]
        return [*first, *(f"{one.word}: {one.finding}" for one in found), *numbers, *left_out]

    def _metrics(self) -> dict[str, float]:
        found = {}
        for row in self._rows():
            path = row.statistic if row.part == "estimates" else f"{row.part}/{row.statistic}"
            found[path] = row.value
            if row.pvalue is not None:
                found[f"{path}.pvalue"] = row.pvalue
        return found
