"""One statistic's answer in words."""

from __future__ import annotations

import dataclasses
from typing import Any, Literal

from credibly.results.base import Result

Word = Literal["conflict", "no conflict found", "cannot tell"]


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
