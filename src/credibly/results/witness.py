"""What a witness test found: is the truth outside the set, by how much, for which class and where?"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from credibly._arrays.checks import require_integer
from credibly._arrays.errors import require
from credibly._arrays.namespace import HostArray
from credibly._arrays.notes import counted
from credibly.results.base import Result
from credibly.results.combinations import CombinationDetails
from credibly.results.numbers import tenths
from credibly.results.tests import HypotestResult, Word

_MOST_LISTED = 5
_FEW = 20  # instances below which width is not looked at
_TIMES = 10


@dataclasses.dataclass(frozen=True)
class WitnessDirection(Result):
    """A class that occurs more, or less, often than the set allows, where the witness predicted so.

    Attributes
    ----------
    label : int
        The class.
    more : bool
        Whether it occurs more often than the set allows, or less often.
    n : int
        Instances at which the witness, which had not seen their labels, pointed at this class.
    observed : float
        Its frequency among them.
    lower, upper : float
        Means of the lower and upper probability of the class among them.
    score : float
        How far the frequency is beyond the bound, in standard deviations.
    where : str
        A condition that most of these instances meet and most others do not; empty if there is none.
    where_label : int or None
        The class that the condition is about, written there as "class 3"; `words` puts its name in place.
    """

    label: int
    more: bool
    n: int
    observed: float
    lower: float
    upper: float
    score: float
    where: str
    where_label: int | None = None

    def name(self, class_names: Sequence[str] | None = None) -> str:
        """Return what the class is called: "whale", "class 3"."""
        return _class_name(self.label, class_names)

    def words(self, class_names: Sequence[str] | None = None) -> str:
        """Say it in one clause.

        Parameters
        ----------
        class_names : sequence of str, optional
            Names of the classes.

        Returns
        -------
        str
            For example "class 3 occurs more often than any distribution in the set says (...)".
        """
        often = "more often" if self.more else "less often"
        limit = f"at least {tenths(self.lower)}"
        if self.more:
            limit = f"at most {tenths(self.upper)}" if self.upper >= 0.0005 else "less than 0.1 %"
        where = self.where and f", mostly where {self.where}"
        if self.where_label is not None:
            where = where.replace(f"class {self.where_label}", _class_name(self.where_label, class_names))
        return (
            f"{self.name(class_names)} occurs {often} than any distribution in the set says: "
            f"{tenths(self.observed)} of {self.n} instances, where the set says {limit}{where}"
        )


def _class_name(label: int, class_names: Sequence[str] | None) -> str:
    """Return "whale", or "class 3" where classes have numbers."""
    if class_names is None:
        return f"class {label}"
    rule = f"must name class {label} too"
    require(label < len(class_names), rule, "Name every class.", class_names=class_names)
    name = str(class_names[label])
    return f"class {name}" if name.isdigit() else name


@dataclasses.dataclass(frozen=True)
class WitnessDetails(CombinationDetails):
    """What a witness found: evidence that the distribution of the label is outside the set, and where.

    The statistic of the test is the mean of v(x, y) - h(x): what the witness earned per instance beyond the
    most that a distribution of the set allows on average.

    Attributes
    ----------
    test_rows : ndarray
        Instances that were tested; the others were only learned from.
    combination : object
        What `combine` applies to other instances: the points of the sets nearest to what was learned about
        the labels.
    given : {"predictions", "features"}
        What the witness may use: the set alone, or also the features.
    evalue : float
        Evidence against the set; its mean is at most 1 under every truth in the set, at every n.
    exact_pvalue : float
        ``min(1, 1 / evalue)``: exact at every n, with less power than `pvalue`.
    scores : ndarray (orders,)
        Normal score of each random order; the p-value is that of their mean.
    excess : ndarray (n,)
        v(x, y) - h(x) of every instance, mean over orders; NaN if it was only used for learning.
    smallest_pvalue : float
        The smallest p-value that any labels of the tested instances could have given.
    directions : tuple of WitnessDirection
        What the witness predicted and what happened, the clearest first.
    impossible_rows : ndarray of int
        Instances whose label has probability 0 under every distribution of the set: one is enough to rule
        the set out.
    """

    given: Literal["predictions", "features"]
    evalue: float
    exact_pvalue: float
    scores: HostArray
    excess: HostArray
    smallest_pvalue: float
    directions: tuple[WitnessDirection, ...]
    impossible_rows: HostArray

    def evidence_rows(self, limit: int = 20) -> HostArray:
        """Return the instances that carry the evidence, most first.

        Parameters
        ----------
        limit : int
            Maximum number of instances returned.

        Returns
        -------
        ndarray of int
            Rows whose label earned the witness more than the set allows.
        """
        require_integer(limit, "limit", 1)
        order = np.argsort(-np.nan_to_num(self.excess, nan=-np.inf), kind="stable")
        return order[self.excess[order] > 0][:limit]

    def where(self, class_names: Sequence[str] | None = None) -> str:
        """Return the clearest direction in words, or "" if there is none.

        Parameters
        ----------
        class_names : sequence of str, optional
            Names of the classes.

        Returns
        -------
        str
            A clause without a full stop.
        """
        if self.impossible_rows.size:
            words = self.impossible_words()
            return words[0].lower() + words[1:]
        if not self.directions or self.directions[0].score <= 0:
            return ""
        return self.directions[0].words(class_names)

    def impossible_words(self) -> str:
        """Return how many labels every distribution of its set rules out, and in which rows; "" if none."""
        rows = self.impossible_rows
        if not rows.size:
            return ""
        if rows.size == 1:
            return f"The label of row {rows[0]} has probability 0 under every distribution of its set"
        listed = ", ".join(map(str, rows[:_MOST_LISTED])) + (", ..." if rows.size > _MOST_LISTED else "")
        return (
            f"The labels of {rows.size} of {self.excess.size} instances (rows {listed}) have probability 0 "
            "under every distribution of their sets"
        )

    def _verdict(self, test: HypotestResult[Any], level: float) -> Word:
        if test.pvalue <= level:
            return "conflict"
        return "cannot tell" if self.smallest_pvalue > level else "no conflict found"

    def _why_not(self, test: HypotestResult[Any], level: float) -> str:
        smallest = self.smallest_pvalue
        if smallest <= level:
            return ""
        if test.n < _FEW:
            return (
                f"{counted(test.n, 'instance is', 'instances are')} too few for any labels to show that the "
                "truth lies outside the set"
            )
        if smallest**_TIMES > level:  # as many times the instances would not do either
            return "the sets are so wide that hardly any labels could show that the truth lies outside them"
        enough = int(np.ceil(test.n * np.log(level) / np.log(smallest)))
        return (
            f"no labels of these {test.n} instances could show that the truth lies outside the sets; about "
            f"{enough} instances could"
        )

    def _sentence(self, test: HypotestResult[Any], level: float, class_names: Sequence[str] | None) -> str:
        if self.impossible_rows.size:
            return (
                f"{self.impossible_words()}: the truth lies outside the set, and no combination is "
                "calibrated."
            )
        if test.rejects(level):
            where = self.where(class_names)
            return f"Given the {self.given}, the truth lies outside the set{f': {where}' if where else ''}."
        return super()._sentence(test, level, class_names)

    def _text(self, test: HypotestResult[Any]) -> str:
        where = self.where()
        pointed = f"; {where}" if where and test.pvalue <= 0.05 else ""
        return (
            f"witness given {self.given}: p = {test.pvalue:.3g} (exact {self.exact_pvalue:.3g}): "
            f"{test.verdict()}{pointed}"
        )
