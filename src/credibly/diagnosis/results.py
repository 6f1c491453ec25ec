"""What a diagnosis found: the fault, where and how large it is, and what each repair gains."""

from __future__ import annotations

import dataclasses
from typing import Literal

from credibly.results.base import Result

Word = Literal["conflict", "no conflict found", "cannot tell"]


@dataclasses.dataclass(frozen=True)
class Claim(Result):
    """What is compared, and on which rows.

    Attributes
    ----------
    measure : {"confidence", "class", "mean", "coverage", "slope", "spread", "tail", "skew", "quantile"}
        What is compared: confidence with accuracy, the probability of a class with its frequency, predicted
        with observed means, stated with observed coverage, and so on. "skew" compares the share of labels
        below central intervals (as `stated`) with that above them (as `observed`).
    label : int or None
        The class.
    group : tuple of (str, str) or None
        Attribute and level of the rows; None for all of them.
    between : tuple of (float, float) or None
        The rows whose stated probability lies between these.
    level : float or None
        Of an interval or a quantile.
    """

    measure: str
    label: int | None = None
    group: tuple[str, str] | None = None
    between: tuple[float, float] | None = None
    level: float | None = None


@dataclasses.dataclass(frozen=True)
class Effect(Result):
    """A claim measured.

    Attributes
    ----------
    claim : Claim
        What is compared, and where.
    stated, observed : float
        What the predictions say, and what happened.
    size : float
        How far they are apart; positive where the model says too much: too sure, too often, too high.
    interval : tuple of float
        95 % interval of the size, which allows for having looked for the largest.
    n : int
        Number of rows.
    remains : float or None
        The size on the same rows after the repair, which was fitted on other folds.
    """

    claim: Claim
    stated: float
    observed: float
    size: float
    interval: tuple[float, float]
    n: int
    remains: float | None = None

    @property
    def is_clear(self) -> bool:
        """Whether its interval leaves out 0."""
        low, high = self.interval
        return low > 0.0 or high < 0.0


@dataclasses.dataclass(frozen=True)
class RepairGain(Result):
    """What a repair gains on rows that it was not fitted on.

    Attributes
    ----------
    fault : str
        The fault that it would repair.
    method : str
        Name of the recalibration.
    by : str or None
        The attribute whose groups have repairs of their own.
    gain, stderr : float
        Decrease of the mean loss, and its paired standard error.
    description : str
        The repair fitted to all rows, in words; of the chosen one alone.
    """

    fault: str
    method: str
    by: str | None
    gain: float
    stderr: float
    description: str = ""


@dataclasses.dataclass(frozen=True)
class Diagnosis(Result):
    """What is wrong with a model, by how much, and what repairs it.

    Attributes
    ----------
    fault : str
        The case: "none", a row of the table of faults ("temperature", "bias", "group scale", ...), or one
        that no recalibration repairs: "inverted", "no skill", "labels off by a row".
    word : {"conflict", "no conflict found", "cannot tell"}
        The verdict of the one test.
    direction : {-1, 0, 1}
        1: too sure, too often, too high, too narrow, too extreme.
    effect : Effect
        Where the fault is largest, and how large.
    second : Effect or None
        What the repair leaves, where a smaller fault is there besides.
    second_fault : str or None
        Its name.
    besides : Effect or None
        Of a repair with two parts, what the second part mends, measured after the first.
    repair : RepairGain or None
        The repair that helps; None where none pays, or none was needed.
    repairs : tuple of RepairGain
        All that were tried, the best first.
    pvalue : float
        Of the one test of everything.
    pvalue_interval : tuple of float
        Its Monte-Carlo interval.
    shown : str
        The fault whose components show most in the test.
    loss : {"log loss", "quantile loss"}
        What repairs are judged by; the latter for quantiles, in stated standard deviations.
    skill : float
        Standard errors by which the model, repaired, beats the base rates; for real values, NaN.
    n, n_clusters, n_resamples : int
        Rows, clusters (None for independent rows) and replicates.
    level : float
        Of the test.
    notes : tuple of str
        How the data were read.
    """

    fault: str
    word: Word
    direction: int
    effect: Effect
    second: Effect | None
    second_fault: str | None
    besides: Effect | None
    repair: RepairGain | None
    repairs: tuple[RepairGain, ...]
    pvalue: float
    pvalue_interval: tuple[float, float]
    shown: str
    loss: str
    skill: float
    n: int
    n_clusters: int | None
    n_resamples: int
    level: float
    notes: tuple[str, ...] = ()
