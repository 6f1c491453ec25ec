"""What a monitor knows: its e-value, an alarm, since when, what changed, and intervals valid at all times."""

from __future__ import annotations

import dataclasses
import math
from typing import NamedTuple

from credibly._arrays.notes import counted
from credibly.results.base import Reportable, Result
from credibly.results.tests import Word

_RANGES = ("below 50 %", "50 % to 75 %", "75 % to 90 %", "90 % or more")
_TRACKED = {
    "accuracy": "accuracy",
    "log loss": "log loss (each at most 7 nats)",
    "event": "frequency of {event}",
    "coverage": "coverage",
    "central share": "share in the central 90 % interval",
    "lower share": "share below the median",
}


class Bet(NamedTuple):
    """One way in which labels may differ from what is stated: family, size, and which class or range."""

    family: str
    size: float
    at: int = -1

    def words(self, classes: tuple[str, ...] | None = None) -> str:
        """Return what is the case if this bet wins."""
        often = "more" if self.size > 0 else "less"
        if self.family == "temperature":
            how = "overconfident" if self.size < 1 else "underconfident"
            return f"{how}: the labels fit temperature {1 / self.size:.2g}"
        if self.family == "class":
            return f"{class_name(classes, self.at)} occurs {often} often than stated"
        if self.family == "confidence":
            return f"answers with a confidence of {_RANGES[self.at]} are right {often} often than stated"
        if self.family == "shift":
            side = "above" if self.size > 0 else "below"
            return f"labels lie {side} what is predicted, by about {abs(self.size):g} standard deviations"
        often = "more" if self.size > 1 else "less"
        if self.family == "scale":
            return f"labels scatter {often} than stated, about {self.size:g} times as much"
        if self.family == "misses":
            return f"sets miss their label {often} often than claimed"
        return f"labels fall into the {self.family} (10 %) {often} often than stated"


def class_name(classes: tuple[str, ...] | None, at: int) -> str:
    """Return how a class is called."""
    return f"class {at}" if classes is None else f"class {classes[at]}"


class Suspect(NamedTuple):
    """A bet that holds weight.

    Attributes
    ----------
    words : str
        What is the case if it wins.
    share : float
        Its share of the weight that has left the model.
    family : str
        "temperature", "class", "confidence", "shift", "scale", "lower tail", "upper tail" or "misses".
    group : str or None
        The group in which it wins; None: all rows.
    """

    words: str
    share: float
    family: str
    group: str | None = None


@dataclasses.dataclass(frozen=True)
class Tracked(Result):
    """A running mean with an interval that holds at all times at once.

    Attributes
    ----------
    name : str
        What is measured.
    stated : float
        Its mean as the predictions state it.
    observed : float
        Its observed mean.
    low, high : float
        Interval of its mean under the true probabilities of all rows so far, whatever they are.
    """

    name: str
    stated: float
    observed: float
    low: float
    high: float

    @property
    def gap(self) -> tuple[float, float, float]:
        """Stated minus observed, and its interval."""
        return self.stated - self.observed, self.stated - self.high, self.stated - self.low


@dataclasses.dataclass(frozen=True)
class GroupEvidence(Result):
    """Evidence against one group.

    Attributes
    ----------
    name : str
        The group.
    n : int
        Its rows.
    evalue : float
        The evidence.
    weight : float
        Its weight among all groups, fixed when it appeared.
    alarm : bool
        Whether e-Benjamini-Hochberg over all groups rejects it now.
    """

    name: str
    n: int
    evalue: float
    weight: float
    alarm: bool


@dataclasses.dataclass(frozen=True)
class MonitorResult(Reportable):
    """What a monitor knows after some rows.

    Attributes
    ----------
    level : float
        Largest probability of ever raising a false alarm.
    hypothesis : str
        What labels are compared with.
    kind : str
        Type of the predictions.
    n : int
        Rows with labels so far.
    waiting : int
        Rows that wait for labels.
    evalue : float
        Evidence against the predictions: at most 1 on average while they are right.
    largest : float
        The largest e-value so far.
    alarm : bool
        Whether the bound of `level` was ever passed.
    alarm_row : int or None
        Rows seen when it was.
    since : int or None
        Rows seen before the weight left the model: when the fault began, roughly.
    where : tuple of Suspect
        Which bets hold the weight that left, the largest share first.
    tracked : tuple of Tracked
        Running means with intervals.
    groups : tuple of GroupEvidence
        The largest evidence first.
    impossible : int
        Labels whose stated probability is 0.
    processes : int
        Number of interleaved processes.
    trace : tuple of (int, float)
        Rows and decimal logarithm of the e-value, over time.
    notes : tuple of str
        What the reader must know.
    """

    level: float
    hypothesis: str
    kind: str
    n: int
    waiting: int
    evalue: float
    largest: float
    alarm: bool
    alarm_row: int | None
    since: int | None
    where: tuple[Suspect, ...]
    tracked: tuple[Tracked, ...]
    groups: tuple[GroupEvidence, ...]
    impossible: int
    processes: int
    trace: tuple[tuple[int, float], ...]
    notes: tuple[str, ...] = ()

    def verdict(self) -> Word:
        """Return "conflict" after an alarm, else "no conflict found"."""
        return "conflict" if self.alarm else "no conflict found"

    def sentence(self) -> str:
        """Say what was found in one or two sentences."""
        needed = f"an alarm needs {self.processes / self.level:g}"
        if not self.alarm:
            seen = counted(self.n, "row")
            return f"No conflict found in {seen} (e-value {evidence_text(self.evalue)}; {needed})."
        if self.impossible and self.largest < self.processes / self.level:
            count = counted(self.impossible, "label")
            return f"Alarm: {count} had a stated probability of 0. If it was rounded to 0, state a small one."
        began = "" if self.since is None else f" The fault began near row {self.since}."
        what = f" It looks {self._what()}." if self.where else ""
        return (
            f"Alarm at row {self.alarm_row}: the labels do not fit the predictions (largest e-value "
            f"{evidence_text(self.largest)}; {needed}).{began}{what}"
        )

    def _what(self) -> str:
        words = self.where[0].words
        return words if self.where[0].family == "temperature" else f"as if {words}"

    def metrics(self) -> str:
        """Return the numbers as Prometheus text.

        Returns
        -------
        str
            One line per number, for the textfile collector.
        """
        lines = []

        def add(name: str, text: str, *values: tuple[str, float]) -> None:
            lines.append(f"# HELP credibly_monitor_{name} {text}")
            lines.append(f"# TYPE credibly_monitor_{name} gauge")
            lines.extend(f"credibly_monitor_{name}{label} {_number(value)}" for label, value in values)

        add("rows", "Rows with labels.", ("", self.n))
        add("waiting", "Rows that wait for labels.", ("", self.waiting))
        add("log10_evalue", "Decimal logarithm of the e-value.", ("", _log10(self.evalue)))
        add("alarm", "1 after an alarm.", ("", int(self.alarm)))
        if self.since is not None:
            add("since_row", "Row near which the fault began.", ("", self.since))
        for part in ("stated", "observed", "low", "high"):
            pairs = [(_label("measure", mean.name), getattr(mean, part)) for mean in self.tracked]
            if pairs:
                add(f"mean_{part}", f"Running mean, {part}.", *pairs)
        if self.groups:
            evalues = [(_label("group", group.name), _log10(group.evalue)) for group in self.groups]
            add("group_log10_evalue", "Decimal logarithm of the e-value of a group.", *evalues)
            alarms = [(_label("group", group.name), int(group.alarm)) for group in self.groups]
            add("group_alarm", "1 where a group is in conflict now.", *alarms)
        return "\n".join([*lines, ""])


def evidence_text(evalue: float) -> str:
    """Return an e-value for people."""
    return "over a million" if evalue > 1e6 else f"{evalue:.3g}"


def tracked_name(measure: str, classes: tuple[str, ...] | None) -> str:
    """Return how a measure is called."""
    return _TRACKED[measure].format(event=class_name(classes, 1))


def _log10(value: float) -> float:
    return math.log10(value) if value > 0 else -math.inf


def _number(value: float) -> str:
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    return repr(value)


def _label(name: str, value: str) -> str:
    escaped = value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
    return f'{{{name}="{escaped}"}}'
