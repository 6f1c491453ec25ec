"""What is said first about an evaluation: a headline and the answers to a few questions, as data."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from credibly.evaluation.sentences import question_of, remedy_of, sentence_of
from credibly.evaluation.work import Part
from credibly.results.base import Result, jsonable

ASKED = ("credal", "validity", "check")
"""Parts whose answers are those to a question of the headline."""
FEW = 0.1
"""Data that leave an average gap of ten points possible tell nothing."""
_IN_HEADLINE = ("what", "repairs", "left", "coverage", "where", "claimed")


@dataclasses.dataclass(frozen=True)
class Finding(Result):
    """One thing that was found: what it is about, the verdict, the case, and the facts of its sentence.

    Attributes
    ----------
    about : str
        "headline", "what", "repairs", "left", "raters", "ignorance", "errors", "spread", "coverage", "where",
        "stated", "claimed" or "parts", or the name of a part of the evaluation; the report puts the figure of
        this name next to it.
    word : str
        The verdict: "conflict", "no conflict found" or "cannot tell". Questions that are not about
        calibration are answered by "yes", "no" or "cannot tell", and quantities have none: "".
    case : str
        What was found: a row of the table of sentences, such as "temperature" or "marks mistakes".
    facts : mapping
        Numbers and names of which the sentence is made.
    """

    about: str
    word: str
    case: str
    facts: Mapping[str, Any]

    @property
    def question(self) -> str:
        """The question that it answers."""
        return question_of(self.about, self.case, self.facts)

    @property
    def sentence(self) -> str:
        """The answer in words."""
        return sentence_of(self.case, self.facts)

    @property
    def text(self) -> str:
        """The answer with what would help, where something would."""
        return f"{self.sentence} {remedy_of(self.facts)}".strip()

    def __str__(self) -> str:
        return f"{self.question} {f'{self.word}: ' if self.word else ''}{self.text}"

    def to_dict(self) -> dict[str, Any]:
        """Return everything in JSON-safe types, question and sentence included."""
        return {**super().to_dict(), "question": self.question, "sentence": self.sentence}


@dataclasses.dataclass(frozen=True)
class Headline(Part):
    """The answer to the title of a report.

    Attributes
    ----------
    finding : Finding
        What was found: verdict, case and facts.
    margin : float
        A smaller gap does not matter.
    bound : float or None
        The true gap is at most this, with a confidence of 1 - `level` of the evaluation.
    questions : tuple of Finding
        One sentence and one verdict each.
    steps : tuple of (str, str)
        What to do next, each with a command.
    """

    finding: Finding
    margin: float
    bound: float | None
    questions: tuple[Finding, ...]
    steps: tuple[tuple[str, str], ...]

    @property
    def word(self) -> str:
        """The verdict: "conflict", "no conflict found" or "cannot tell"."""
        return self.finding.word

    @property
    def sentence(self) -> str:
        """Direction, size, and whether chance explains it."""
        return self.finding.sentence

    @property
    def remedy(self) -> str:
        """What would help, and how much; empty if there is nothing to repair, or no repair is known."""
        return remedy_of(self.finding.facts)

    @property
    def size(self) -> float | None:
        """How far what is stated is from what was observed, in the unit of the sentence; None if unknown."""
        return self.finding.facts.get("size")

    @property
    def interval(self) -> tuple[float, float] | None:
        """The 95 % interval of the size."""
        return self.finding.facts.get("interval")

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What was found, once each: this first, then the questions that it does not answer itself."""
        return (self.finding, *(finding for finding in self.questions if finding.about not in _IN_HEADLINE))

    def __str__(self) -> str:
        return self.finding.text

    def to_dict(self) -> dict[str, Any]:
        """Return everything in JSON-safe types, with the words of the headline."""
        words = {"word": self.word, "sentence": self.sentence, "remedy": self.remedy}
        return {
            **super().to_dict(),
            **words,
            "size": jsonable(self.size),
            "interval": jsonable(self.interval),
        }
