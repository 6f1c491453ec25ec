"""What is said first about an evaluation: one headline, and the answers to a few questions."""

from __future__ import annotations

import dataclasses

from credibly.evaluation.words import Word
from credibly.evaluation.work import Part
from credibly.results.base import Result

ASKED = ("credal", "validity", "check")
"""Parts whose answers are those to a question of the headline."""


@dataclasses.dataclass(frozen=True)
class Answer(Result):
    """One question of the first screen.

    Attributes
    ----------
    about : str
        "headline", "what", "repairs", "left", "raters", "errors", "spread", "coverage", "where", "stated",
        "claimed" or "parts"
        What is asked; the report puts the figure of this name next to it.
    question : str
        The question.
    word : {"conflict", "no conflict found", "cannot tell"}
        The verdict.
    sentence : str
        The answer.
    """

    about: str
    question: str
    word: Word
    sentence: str

    def __str__(self) -> str:
        return f"{self.question} {self.word}: {self.sentence}"


@dataclasses.dataclass(frozen=True)
class Headline(Part):
    """The answer to the title of a report.

    Attributes
    ----------
    word : {"conflict", "no conflict found", "cannot tell"}
        The verdict.
    sentence : str
        Direction, size, and whether chance explains it.
    remedy : str
        What would help, and how much; empty if there was nothing to repair, or nothing was tried.
    size : float or None
        The gap, as a share: mean confidence minus accuracy; for real values, stated minus observed coverage.
    interval : tuple of float or None
        Its 95 % interval.
    margin : float
        A smaller gap does not matter.
    bound : float or None
        The true gap is at most this, with a confidence of 1 - `level` of the evaluation.
    questions : tuple of Answer
        One sentence and one verdict each.
    steps : tuple of (str, str)
        What to do next, each with a command.
    """

    word: Word
    sentence: str
    remedy: str
    size: float | None
    interval: tuple[float, float] | None
    margin: float
    bound: float | None
    questions: tuple[Answer, ...]
    steps: tuple[tuple[str, str], ...]

    @property
    def findings(self) -> tuple[Answer, ...]:
        """What was found, once each: this first, then the questions that it does not answer itself."""
        own = {"what", "repairs", "left", "coverage", "where", "claimed"}
        asked = "How far can these predictions be believed?"
        return (
            Answer("headline", asked, self.word, str(self)),
            *(one for one in self.questions if one.about not in own),
        )

    def __str__(self) -> str:
        return f"{self.sentence} {self.remedy}".strip()
