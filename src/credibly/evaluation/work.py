"""What all stages of an evaluation share: the work so far, how a stage adds a part, what a part says."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Generator, Mapping, Sequence
from functools import partial
from typing import Any

from credibly._arrays.errors import CrediblyError
from credibly._arrays.philox import Seed
from credibly._arrays.progress import StageProgress
from credibly.calls import Call
from credibly.evaluation.rows import PredictionSummary
from credibly.evaluation.words import Verdict
from credibly.hypotests.resampling.requests import Asking, Request, answers
from credibly.predictions import ClassPredictions, Rows
from credibly.recalibrate import Recalibration
from credibly.results.base import Result, jsonable
from credibly.results.estimates import Estimate
from credibly.statistics import Statistic

Reasons = list[tuple[str, str]]

IN_CLUSTERS = "this needs independent rows, and these come in clusters"
"""Reason of parts that have no version for rows that belong together."""

DRAWN_LABELS = "members are drawn labels, not distributions, so they form no set; their mean is tested"
"""Reason of parts about sets where members are certain of one class each."""

NOT_ASKED = ""
"""Reason that needs no words: with such data, or such settings, nobody expects this part."""


@dataclasses.dataclass(frozen=True)
class Work:
    """One evaluation at work: what was asked for, what was found so far, and what was left out.

    Attributes
    ----------
    summary : PredictionSummary
        Type and sizes of the predictions.
    single : Rows
        The same rows with one label per instance, drawn where there are several raters: what tests see.
    sets : Rows
        The rows whose sets are tested: `single`, or the lists of options that answers were taken from.
    classes : tuple of str
        Names of the classes.
    options : tuple of str
        Names of the classes of `sets`.
    statistics : sequence of Statistic
        Those that can be computed.
    tests : bool
        Whether to resample.
    n_bins, n_resamples, level, margin, seed, recalibrate, source
        As `evaluate` takes them; `recalibrate` is None where the caller did not say.
    tell : callable
        Called with (stage, done, total).
    left_out : list of (str, str)
        What was not run, and why.
    attributes : array (n,), mapping of str to array (n,), or None
        What groups are made of, in memory; None where rows bring their own.
    found : dict
        The parts of the stages before, by the name of their field.
    testable : list of Statistic
        Those whose tests were begun.
    """

    summary: PredictionSummary
    single: Rows
    sets: Rows
    classes: tuple[str, ...]
    options: tuple[str, ...]
    statistics: Sequence[Statistic]
    tests: bool
    n_bins: int
    n_resamples: int
    level: float
    margin: float
    seed: Seed
    recalibrate: Sequence[str | Recalibration] | None
    source: Mapping[str, Any]
    tell: StageProgress
    left_out: Reasons
    attributes: Any = None
    results: dict[str, Any] = dataclasses.field(default_factory=dict)
    testable: list[Statistic] = dataclasses.field(default_factory=list)

    @property
    def drawn(self) -> dict[str, Any]:
        """How labels are drawn: the number of replicates and the seed."""
        return {"n_resamples": self.n_resamples, "rng": self.seed}

    def leave_out(self, what: str, reason: str | CrediblyError, subject: str | None = None) -> None:
        """Record what could not be run, and why; of an error what was needed and what was given.

        `subject` takes the place of the error's own.
        """
        if isinstance(reason, CrediblyError):
            subject = reason.subject if subject is None else subject
            reason = f"{subject} {reason.rule}, {reason.evidence}".lstrip()
        self.left_out.append((what, reason))


def always(rows: Rows, work: Work) -> str | None:
    """Apply to all data."""
    return None


def to_classes(rows: Rows, work: Work) -> str | None:
    """Apply to predictions of classes."""
    return None if isinstance(rows.example.predictions, ClassPredictions) else NOT_ASKED


@dataclasses.dataclass(frozen=True)
class Stage:
    """How one part of an evaluation is made.

    Attributes
    ----------
    part : str
        Field of the evaluation that holds the part.
    run : callable
        From rows and the work so far to the part; None where it turns out that there is none. A part that
        is made of drawn labels comes from a generator, which yields requests (`resampling.requests`).
    applies : callable
        From the same to None where the stage can run, else the reason why not.
    what : str
        What was not run, where there is a reason.
    refusals : type or tuple of type
        Errors that are such a reason. All others end the evaluation.
    subject : str, optional
        What the reason is about, instead of the subject of the error.
    """

    part: str
    run: Callable[[Rows, Work], Any]
    applies: Callable[[Rows, Work], str | None] = always
    what: str = ""
    refusals: type[CrediblyError] | tuple[()] = ()
    subject: str | None = None

    @property
    def asks(self) -> bool:
        """Whether it asks for drawn labels."""
        return inspect.isgeneratorfunction(self.run)

    def start(self, rows: Rows, work: Work) -> Any:
        """Return the part, None where there is a reason why not, or what asks for labels first."""
        reason = self.applies(rows, work)
        if reason:
            work.leave_out(self.what, reason)
        try:
            return self.run(rows, work) if reason is None else None
        except self.refusals as error:
            work.leave_out(self.what, error, self.subject)
            return None


def run_stages(stages: Sequence[Stage], rows: Rows, work: Work) -> None:
    """Run stages in order; what they ask of drawn labels is answered for all of them at once.

    Those that ask begin without waiting for each other. The others begin when all before them are done.
    """
    left_out: dict[str, Reasons] = {stage.part: [] for stage in stages}
    waiting: dict[str, tuple[Asking[Any], Sequence[Request]]] = {}
    pending = list(stages)

    def go_on(part: str, asking: Asking[Any], step: Callable[[], Sequence[Request]]) -> None:
        try:
            waiting[part] = asking, step()
        except StopIteration as end:
            work.results[part] = end.value

    while pending or waiting:
        for stage in list(pending):
            if not stage.asks and (waiting or pending[0] is not stage):
                continue
            pending.remove(stage)
            begun = stage.start(rows, dataclasses.replace(work, left_out=left_out[stage.part]))
            if isinstance(begun, Generator):
                go_on(stage.part, begun, partial(next, begun))
            else:
                work.results[stage.part] = begun
        asked = dict(waiting)
        waiting.clear()
        for (part, (asking, _)), step in zip(asked.items(), _steps(list(asked.values())), strict=True):
            go_on(part, asking, step)
    work.left_out.extend(reason for reasons in left_out.values() for reason in reasons)


def _steps(asked: Sequence[tuple[Asking[Any], Sequence[Request]]]) -> list[Callable[[], Sequence[Request]]]:
    """Return how computations go on: with their answers or, where there are none, each with its own error."""
    every = [request for _, requests in asked for request in requests]
    try:
        answered = iter(answers(every))
    except CrediblyError:
        return [_alone(asking, requests) for asking, requests in asked]
    return [partial(asking.send, [next(answered) for _ in requests]) for asking, requests in asked]


def _alone(asking: Asking[Any], requests: Sequence[Request]) -> Callable[[], Sequence[Request]]:
    try:
        return partial(asking.send, answers(requests))
    except CrediblyError as error:
        return partial(asking.throw, error)


class Part(Result):
    """A result that is made for an evaluation and knows what to say there."""

    @property
    def key_numbers(self) -> Mapping[str, Estimate]:
        """Numbers for the first screen of a report, by their names there."""
        return {}

    @property
    def answers(self) -> tuple[Verdict, ...]:
        """Verdicts of its own tests, the first question first."""
        return ()

    def remarks(self, shared: Sequence[str]) -> tuple[str, ...]:
        """Return notes for the reader; `shared` concern all numbers and are told already."""
        return ()


def silent(stage: str, done: int, total: int) -> None:
    """Report progress to nobody."""


def origin(source: Mapping[str, Any] | None, call: Call) -> dict[str, Any]:
    """Return a JSON-safe copy, which a result can hold, with the call and, if that was typed, its words."""
    copied: dict[str, Any] = {str(name): jsonable(value) for name, value in (source or {}).items()}
    copied.setdefault("call", call.to_dict())
    made = Call.of(copied["call"])
    return copied | ({"command": made.command()} if made.typed else {})


def version() -> str:
    """Return the version of the package."""
    # The version is written once, in the package itself, which is loaded when anything here runs.
    # tach-ignore(the version is a constant of the package)
    from credibly import __version__

    return __version__
