"""What is said first about an evaluation: one headline, answers to a few questions, how shares read."""

from __future__ import annotations

import dataclasses
import math

from credibly.evaluation.stages import Part, Work
from credibly.evaluation.words import Word
from credibly.predictions import Rows
from credibly.results.base import Result

ASKED = ("credal", "validity", "check")
"""Parts whose answers are those to a question of the headline."""

FEW = 0.1
"""Data that leave an average gap of ten points possible tell nothing."""


@dataclasses.dataclass(frozen=True)
class Answer(Result):
    """One question of the first screen.

    Attributes
    ----------
    about : {"headline", "raters", "confidence", "errors", "spread", "coverage", "width", "where", "claimed"}
        What is asked; the report puts the figure of this name beside it.
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
        What would help, and how much; empty where nothing was found to mend, or nothing was tried.
    size : float or None
        The gap, as a share: mean confidence minus accuracy; of real values stated minus observed coverage.
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
        own = {"confidence", "coverage", "claimed"}
        asked = "How far can these predictions be believed?"
        return (
            Answer("headline", asked, self.word, str(self)),
            *(one for one in self.questions if one.about not in own),
        )

    def __str__(self) -> str:
        return f"{self.sentence} {self.remedy}".strip()


def points(share: float) -> str:
    """Write a difference of shares in points of probability."""
    size = abs(100.0 * share)
    digits = f"{size:.0f}" if size >= 9.95 else f"{size:.1f}"
    return f"{digits} point" if digits == "1.0" else f"{digits} points"


def at_most(share: float) -> str:
    """Write an upper bound in points of probability, rounded up."""
    step = 0.001 if share < 0.0995 else 0.01
    return points(step * math.ceil(share / step - 1e-9))


def instances(n: int) -> str:
    """Write a number of instances."""
    return "1 instance" if n == 1 else f"{n} instances"


def seen_in(rows: Rows, work: Work) -> str:
    """Say how many instances there are, and in how many clusters."""
    clusters = work.summary.n_clusters
    return instances(rows.n) if clusters is None else f"{instances(rows.n)} of {clusters} clusters"


def percents(*shares: float) -> list[str]:
    """Write shares as per cent, with a digit more where they would look the same."""
    whole = [f"{100 * share:.0f}" for share in shares]
    if len(set(whole)) < len(shares) or "100" in whole or "0" in whole:
        whole = [f"{100 * share:.1f}" for share in shares]
    return [f"{digits} %" for digits in whole]


def how_sure(work: Work) -> str:
    """Say how sure a bound of this evaluation is."""
    return f"{100 * (1 - work.level):.4g} % sure"


def within(interval: tuple[float, float] | None) -> str:
    """Write the 95 % interval of a share, or of a difference of shares, in brackets; nothing without one."""
    if interval is None:
        return ""
    low, high = sorted(abs(100 * end) for end in interval)
    if interval[0] < 0 < interval[1]:
        return f" (95 %: {100 * interval[0]:.1f} to {100 * interval[1]:.1f})"
    return f" (95 %: {low:.1f} to {high:.1f})"
