"""What `evaluate` returns: numbers, tests, curves, verdicts, and what was not run and why.

`Reported` is what it shares with a comparison: report, data frame, notebook, terminal, a run of MLflow.
"""

from __future__ import annotations

import abc
import dataclasses
import html
import json
from collections.abc import Iterable, Iterator, Mapping
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from credibly._arrays.errors import MissingExtraError, UnknownNameError, nearest
from credibly.calls import Call
from credibly.diagnosis import Diagnosis
from credibly.evaluation.findings import ASKED, Finding, Headline
from credibly.evaluation.ignorance import IgnoranceParts
from credibly.evaluation.rows import PredictionSummary
from credibly.evaluation.set_tests import CredalParts, ValidityParts
from credibly.evaluation.stages import Curves, RaterParts, RealParts, ScoreParts, check_verdicts
from credibly.evaluation.tidy import NumberRow, frame, number_rows
from credibly.evaluation.words import Verdict, audit_verdict, title
from credibly.evaluation.work import Part
from credibly.results.audit import AuditResult
from credibly.results.base import Reportable, Result
from credibly.results.coverage import SetCoverage
from credibly.results.decompositions import CrpsDecomposition
from credibly.results.estimates import Estimate
from credibly.results.numbers import joined, shown, shown_range
from credibly.results.predictive import PredictiveCheck
from credibly.results.recalibration import RecalibrationReport
from credibly.results.tests import HypotestResult
from credibly.statistics import BrierDecomposition
from credibly.statistics.registry import called_here

if TYPE_CHECKING:
    from rich.console import Group


class Reported(Reportable, abc.ABC):
    """A result that has a report. It says what it is, what was found, and how its rows read."""

    settings: Mapping[str, Any]
    source: Mapping[str, Any]
    warnings: tuple[str, ...]

    _page: ClassVar[str]
    """Name that its report is given in examples and among artifacts."""
    _rows_are: ClassVar[str]
    """What the table of all rows is called."""
    _logged: ClassVar[tuple[str, ...]]
    """Settings that are parameters of a run."""

    @property
    @abc.abstractmethod
    def _row(self) -> type:
        """Type of its rows: their fields are the columns of the data frame."""

    @property
    @abc.abstractmethod
    def _headings(self) -> tuple[str, ...]:
        """Columns of the rows as text."""

    @property
    @abc.abstractmethod
    def heading(self) -> str:
        """What it is about, in one line."""

    @abc.abstractmethod
    def _rows(self) -> tuple[Any, ...]:
        """Return its numbers in rows."""

    @abc.abstractmethod
    def _cells(self, row: Any) -> tuple[str, ...]:
        """Return a row as text under `_headings`."""

    @abc.abstractmethod
    def _sentences(self) -> list[tuple[str, str]]:
        """Return what was found: a word, where there is one, and a sentence."""

    def _advice(self) -> dict[str, str]:
        """Return what to do, by the case."""
        return {}

    @abc.abstractmethod
    def _briefly(self) -> list[str]:
        """Return the lines of the summary."""

    @abc.abstractmethod
    def _metrics(self) -> dict[str, float]:
        """Return its numbers by names for a run of MLflow."""

    @property
    def again(self) -> str:
        """The command line, or the lines of Python, that make its report again."""
        return Call.of(self.source["call"]).again()

    def to_frame(self, library: Literal["pandas", "polars"] | None = None) -> Any:
        """Return all numbers as a data frame, one row per number, or per model and trade-off.

        Parameters
        ----------
        library : {"pandas", "polars"}, optional
            Library of the data frame. Default: the first one that is installed.

        Returns
        -------
        DataFrame
            For an evaluation, the columns part, statistic, value, stderr, low, high, n, acceptance_low,
            acceptance_high, pvalue, adjusted_pvalue and verdict. For a comparison, the columns criterion
            (a trade-off or a score), model, place_best, place_worst, score, difference (to the first), low,
            high (its joint interval), distance and imprecision (the parts of a score at a trade-off).
        """
        return frame(self._rows(), self._row, library)

    def summary(self) -> str:
        """Return the most important findings and numbers as a few lines of text.

        Returns
        -------
        str
            What it is about, what was found, the numbers.
        """
        return "\n".join([self.heading, *(f"  {line}" for line in self._briefly())])

    def log_to_mlflow(self, *, prefix: str = "credibly.") -> None:
        """Log numbers, settings, findings and report to the active MLflow run, if MLflow is installed.

        Parameters
        ----------
        prefix : str
            Put before every name.
        """
        # tach-ignore(the report is one of the artifacts, and like `report` this is only a handle)
        from credibly.report import render_report

        if find_spec("mlflow") is None:
            raise MissingExtraError(
                "logging to MLflow",
                "needs mlflow",
                "it is not installed",
                "Install it: `pip install mlflow`.",
            )
        mlflow = import_module("mlflow")
        mlflow.log_metrics({f"{prefix}{_plain(name)}": value for name, value in self._metrics().items()})
        mlflow.log_params({f"{prefix}{name}": self.settings[name] for name in self._logged})
        word, finding = self._sentences()[0]
        tags = {"verdict": word, "finding": finding} if word else {"finding": finding}
        mlflow.set_tags({f"{prefix}{name}": text for name, text in tags.items()})
        results = json.dumps(self.to_dict(), allow_nan=False)
        mlflow.log_text(results, f"{prefix}{type(self).__name__.lower()}.json")
        mlflow.log_text(render_report(self), f"{prefix}{self._page}")

    def _repr_html_(self) -> str:
        """Show findings and numbers in a notebook; names are escaped, nothing is fetched or run."""
        items = "".join(
            f"<li>{f'<strong>{html.escape(word)}</strong>: ' if word else ''}{html.escape(finding)}</li>"
            for word, finding in self._sentences()
        )
        advice = "".join(
            f"<dt>{html.escape(case)}</dt><dd>{html.escape(text)}</dd>"
            for case, text in self._advice().items()
        )
        return (
            f"<div><p><strong>{html.escape(self.heading)}</strong></p><ul>{items}</ul>"
            f"{f'<dl>{advice}</dl>' if advice else ''}"
            f"<details><summary>{self._rows_are}</summary>"
            f"{_html_table(self._headings, map(self._cells, self._rows()))}</details>"
            f'<p>The whole report: <code>.report("{self._page}")</code></p></div>'
        )

    def __rich__(self) -> Group:
        """Show findings and numbers with `rich.print`."""
        from rich import box
        from rich.console import Group
        from rich.table import Table
        from rich.text import Text

        verdicts = Table.grid(padding=(0, 2))
        verdicts.add_column(no_wrap=True)
        verdicts.add_column()
        sentences = []
        for word, finding in self._sentences():
            if word:
                verdicts.add_row(Text(word), Text(finding))
            else:
                sentences.append(Text(f"• {finding}"))
        sentences += [Text(f"{case}: {text}") for case, text in self._advice().items()]
        body = [verdicts] if verdicts.row_count else sentences
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
        for name in self._headings:
            table.add_column(name, overflow="fold")
        for row in self._rows():
            table.add_row(*map(Text, self._cells(row)))
        return Group(Text(self.heading, style="bold"), *body, table)

    def __str__(self) -> str:
        lines = (f"  {word}: {finding}" if word else f"  {finding}" for word, finding in self._sentences())
        warned = (f"  warning: {warning}" for warning in self.warnings)
        return "\n".join([self.heading, *warned, *lines])


def _html_table(headings: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    head = "".join(f'<th scope="col" style="text-align:left">{name}</th>' for name in headings)
    body = "".join(
        "<tr>" + "".join(f'<td style="text-align:left">{html.escape(cell)}</td>' for cell in row) + "</tr>"
        for row in rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _plain(name: str) -> str:
    """Return a name of the letters that MLflow takes."""
    return "".join(letter if letter.isalnum() or letter in "_-. /" else "_" for letter in name)


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
    decomposition : BrierDecomposition, CrpsDecomposition or None
        Brier score as calibration loss plus refinement loss; for real values, CRPS as miscalibration minus
        discrimination plus uncertainty, on a random part of many rows.
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
        Seed, version, number of replicates and everything else needed to repeat the evaluation.
    source : mapping
        Where the data came from: path, digest, dropped rows, notes, command.
    raters : RaterParts or None
        Decompositions of loss and disagreement, if there are several labels per instance.
    recalibration : RecalibrationReport or None
        Comparison before and after recalibration, if requested.
    score : ScoreParts or None
        The unified score, if the predictions are sets of distributions.
    reals : RealParts or None
        Where real labels lie in their predicted distributions, with envelopes.
    diagnosis : Diagnosis or None
        What is wrong, by how much, and what each repair gains.
    headline : Headline or None
        The answer in a sentence, with size and remedy, and the questions of the first screen.
    check : PredictiveCheck or None
        Whether the model itself would have expected its statistics, if members are stored.
    credal : CredalParts or None
        Whether the set contains the truth or a calibrated combination, if the predictions are sets.
    validity : ValidityParts or None
        Whether the distribution of labels lies in the set, if there are several labels per instance.
    audit : AuditResult or None
        Groups for which the predictions are off, if groups were given.
    claims : SetCoverage or None
        How many labels sets or intervals with a claimed coverage contain; its tests are in `tests`.
    ignorance : IgnoranceParts or None
        Whether the stated ignorance is honest, if instances have two labels and predictions state it.
    """

    drawn_as = ("claims", "reals", "curves")

    _page = "report.html"
    _rows_are = "All numbers"
    _row = NumberRow
    _headings = ("statistic", "value", "95 % interval", "accepted", "p", "adjusted p", "verdict")
    _logged = ("version", "rng", "n_resamples", "n_bins", "level")

    predictions: PredictionSummary
    classes: tuple[str, ...]
    estimates: Mapping[str, Estimate]
    decomposition: BrierDecomposition | CrpsDecomposition | None
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
    diagnosis: Diagnosis | None = None
    headline: Headline | None = None
    audit: AuditResult | None = None
    claims: SetCoverage | None = None
    ignorance: IgnoranceParts | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return everything in JSON-safe types, except check replicates and most audit groups."""
        brief = {
            "check": None if self.check is None else self.check.summary(),
            "audit": None if self.audit is None else self.audit.summary(),
        }
        return Result.to_dict(dataclasses.replace(self, check=None, audit=None)) | brief

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
            else f"These were computed: {', '.join(self.estimates)}.",
        )

    def __iter__(self) -> Iterator[str]:
        return iter(self.estimates)

    @property
    def parts(self) -> dict[str, Any]:
        """What was computed, by the names of the fields; without what was not run."""
        fields = ((field.name, getattr(self, field.name)) for field in dataclasses.fields(self))
        return {name: part for name, part in fields if isinstance(part, Result)}

    @property
    def answers(self) -> dict[str, tuple[Verdict, ...]]:
        """Verdicts of the parts that ask other questions than `verdicts`, by part."""
        answers = {name: part.answers for name, part in self.parts.items() if isinstance(part, Part)}
        if self.check is not None:
            level = self.settings["levels"].get("check", self.settings["level"])
            answers["check"] = check_verdicts(self.check, self.predictions, level)
        if self.audit is not None:
            answers["audit"] = (audit_verdict(self.audit),)
        return {name: verdicts for name, verdicts in answers.items() if verdicts}

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What was found, each finding once: the same list in notebook, terminal, exit code and page."""
        assert self.headline is not None
        others = {name: verdicts[0] for name, verdicts in self.answers.items() if name not in ASKED}
        return (
            *self.headline.findings,
            *(
                Finding(
                    name, verdict.word, verdict.case, {"question": verdict.statistic or name, **verdict.facts}
                )
                for name, verdict in others.items()
            ),
        )

    @property
    def heading(self) -> str:
        """What was evaluated, in one line."""
        facts = self.predictions
        sizes = f"n = {facts.n}, m = {facts.members}" + ("" if facts.k is None else f", k = {facts.k}")
        return f"Evaluation of {facts.kind} ({sizes})"

    def _rows(self) -> tuple[NumberRow, ...]:
        return number_rows(self)

    def _cells(self, row: NumberRow) -> tuple[str, ...]:
        name = row.statistic if row.part == "estimates" else f"{row.part}: {row.statistic}"
        ranges = map(shown_range, (row.interval, row.acceptance_region))
        pvalues = map(shown, (row.pvalue, row.adjusted_pvalue))
        return name, shown(row.value), *ranges, *pvalues, row.verdict or ""

    def _sentences(self) -> list[tuple[str, str]]:
        return [(finding.word, finding.text) for finding in self.findings]

    def _briefly(self) -> list[str]:
        numbers = []
        for name, value, interval, *_ in map(self._cells, self._rows()[: len(self.estimates)]):
            numbers.append(f"{title(name)} {value}" + (f" (95 %: {interval})" if interval else ""))
        left_out = [f"not run: {joined([name for name, _ in self.not_run])}"] if self.not_run else []
        return [
            *(f"{word}: {text}" if word else text for word, text in self._sentences()),
            *numbers,
            *left_out,
        ]

    def _metrics(self) -> dict[str, float]:
        metrics = {}
        for row in self._rows():
            path = row.statistic if row.part == "estimates" else f"{row.part}/{row.statistic}"
            metrics[path] = row.value
            if row.pvalue is not None:
                metrics[f"{path}.pvalue"] = row.pvalue
        return metrics
