"""What a test returns: p-value, null distribution, effect size, and details that only this test knows."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal

import numpy as np

from credibly._arrays.namespace import HostArray
from credibly.results.base import Result, Tail, WithPvalue, require_level

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    Known = TypeVar("Known", bound="Details", covariant=True, default="Details")
else:  # before Python 3.13 type variables have no default, which lets `HypotestResult` alone mean any details
    from typing import TypeVar

    Known = TypeVar("Known")

Word = Literal["conflict", "no conflict found", "cannot tell"]

_LONG = ("null_distribution", "components")


def smallest_pvalue(n_clusters: int) -> float:
    """Return the smallest p-value that signs of clusters can reach: an observation and its mirror image."""
    return float(2.0 ** (1 - min(n_clusters, 1000)))


def _alike(values: HostArray, number: float) -> HostArray:
    """Tell which values are equal up to rounding, as ties of p-values are."""
    return np.isclose(values, number, rtol=1e-12, atol=0.0)


@dataclasses.dataclass(frozen=True)
class Details:
    """What only one test knows, in ``result.details``; empty for a test that needs no more than a p-value.

    A subclass adds the fields, and changes how its test answers where the p-value alone is not enough.
    """

    _subject: ClassVar[str] = "predictions"
    """What the labels are compared with, for sentences."""
    _why_constant: ClassVar[str] = "these predictions allow no other value"
    """Why all replicates have the observed value."""

    def _deciding_pvalue(self, test: HypotestResult[Any]) -> float:
        return test.pvalue if test.adjusted_pvalue is None else test.adjusted_pvalue

    def _confirms(self, level: float) -> bool:
        return True

    def _verdict(self, test: HypotestResult[Any], level: float) -> Word:
        if test.deciding_pvalue <= level:
            return "conflict"
        return "cannot tell" if test.is_beyond_replicates or test.why_not(level) else "no conflict found"

    def _why_not(self, test: HypotestResult[Any], level: float) -> str:
        if test.n_clusters is not None and smallest_pvalue(test.n_clusters) > level:
            return f"{test.n_clusters} clusters give no p-value below {smallest_pvalue(test.n_clusters):.3g}"
        sides = 2 if test.tail == "two-sided" else 1
        if test.n_resamples and sides / (test.n_resamples + 1) > level:
            least, needed = sides / (test.n_resamples + 1), math.ceil(sides / level - 1e-9) - 1
            return f"{test.n_resamples} replicates give no p-value below {least:.3g}; {needed} are needed"
        null = test.null_distribution
        if null is not None and null.size:
            if _alike(null, test.statistic).all():
                return self._why_constant
            ends = (null.max(), null.min())[:sides]
            least = sides * min(int(_alike(null, end).sum()) for end in ends) / (test.n_resamples + 1)
            if test.n_resamples and least > level:
                return f"no labels could give a p-value below {least:.2g}"
        low, high = test.acceptance_region
        span = test.statistic_range
        if span is not None and high - low > 0.5 * (span[1] - span[0]):
            return f"this check would accept anything from {low:.3g} to {high:.3g}"
        return ""

    def _sentence(self, test: HypotestResult[Any], level: float, class_names: Sequence[str] | None) -> str:
        word = test.verdict(level)
        if word == "conflict":
            return f"The labels contradict the hypothesis that {test.hypothesis}."
        if word == "cannot tell":
            return f"Cannot tell: {test.why_not(level) or 'there are too few replicates'}."
        return f"No conflict found between the {self._subject} and the labels."

    def _text(self, test: HypotestResult[Any]) -> str:
        low, high = test.acceptance_region
        error = ""
        if test.pvalue_interval is not None:
            error = f" (Monte-Carlo {test.pvalue_interval[0]:.3g} to {test.pvalue_interval[1]:.3g})"
        adjusted = "" if test.adjusted_pvalue is None else f", adjusted {test.adjusted_pvalue:.3g}"
        return (
            f"{test.statistic_name} {test.statistic:.4g}, 95 % acceptance {low:.4g} to {high:.4g}, "
            f"p = {test.pvalue:.3g}{error}{adjusted}: {test.verdict()}"
        )

    def _drawn(self, test: HypotestResult[Any]) -> HypotestResult[Any]:
        """Return the test whose picture stands for `test`."""
        return test


@dataclasses.dataclass(frozen=True, kw_only=True)
class HypotestResult(WithPvalue, Result, Generic[Known]):
    """A null hypothesis, a statistic and a p-value, and what only this test knows.

    Attributes
    ----------
    name : str
        The test.
    hypothesis : str
        The null hypothesis in words.
    statistic_name : str
        What was computed.
    statistic : float
        Its value on the observed labels.
    pvalue : float
        Probability, under the hypothesis, of a statistic at least as extreme.
    pvalue_interval : tuple of float or None
        95 % Monte-Carlo interval of the p-value; None if it is not simulated.
    tail : {"greater", "two-sided", "less"}
        Which deviations count as extreme; "less" for the test that an error is within a margin.
    null_distribution : ndarray or None
        The replicates' statistics; None if the p-value is computed without replicates.
    acceptance_region : tuple of float
        Values the test would not reject at 5 %.
    effect_size : float
        Observed value minus the mean under the hypothesis, in the statistic's own unit.
    z_score : float
        The same in standard deviations of the null.
    n : int
        Number of instances.
    n_resamples : int
        Number of replicates.
    statistic_range : tuple of float or None
        Smallest and largest value the statistic can take; None if unbounded.
    settings : mapping
        Everything needed to repeat the test, including the seed.
    notes : tuple of str
        What was accepted, converted or left out on the way.
    adjusted_pvalue : float or None
        Westfall-Young adjustment, if several statistics were tested together.
    components : mapping of str to HypotestResult
        Per-statistic results of an omnibus test.
    n_clusters : int or None
        Number of independent clusters, if rows belong together.
    details : Details
        What only this test knows: `WitnessDetails`, `WeightsDetails`, `CredalDetails`, `ValidityDetails`,
        `EquivalenceDetails`, `CheckDetails`, or empty `Details`.
    """

    name: str
    hypothesis: str
    statistic_name: str
    statistic: float
    pvalue: float
    pvalue_interval: tuple[float, float] | None = None
    tail: Tail
    null_distribution: np.ndarray[Any, Any] | None = None
    acceptance_region: tuple[float, float]
    effect_size: float
    z_score: float = float("nan")
    n: int
    n_resamples: int = 0
    statistic_range: tuple[float, float] | None = None
    settings: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    notes: tuple[str, ...] = ()
    adjusted_pvalue: float | None = None
    components: Mapping[str, HypotestResult] = dataclasses.field(default_factory=dict)
    n_clusters: int | None = None
    details: Known = Details()  # type: ignore[assignment]  # of a test that gives no type

    @property
    def is_beyond_replicates(self) -> bool:
        """Whether the statistic is more extreme than every replicate: no p-value could be smaller."""
        null = self.null_distribution
        if null is None:
            return False
        above = self.statistic > null.max()
        return bool(above or (self.tail == "two-sided" and self.statistic < null.min()))

    @property
    def deciding_pvalue(self) -> float:
        """The p-value behind the verdict.

        The adjusted one if several statistics were tested together; for the check of an ensemble, not below
        ``details.member_pvalue``.
        """
        return self.details._deciding_pvalue(self)

    def rejects(self, level: float = 0.05) -> bool:
        """Tell whether the p-value, not adjusted for any other test, is at most `level`.

        If raters differ, errors over instances and raters must reject as well.
        """
        return super().rejects(level) and self.details._confirms(level)

    def verdict(self, level: float = 0.05) -> Word:
        """Return the test's answer in one of three words.

        "conflict" is a rejection by `deciding_pvalue`. "cannot tell" means that a rejection was impossible,
        for the reason that `why_not` gives, or that the statistic lies beyond all replicates but its adjusted
        p-value is still too large. Everything else is "no conflict found".

        `credal_test` finds a conflict if both of its tests reject, and cannot tell if only one does. A test
        within a margin finds no conflict if it rejects, a conflict if the error is surely larger than the
        margin, and else cannot tell.

        Parameters
        ----------
        level : float
            Level of the test.

        Returns
        -------
        {"conflict", "no conflict found", "cannot tell"}
            The answer.
        """
        require_level(level)
        return self.details._verdict(self, level)

    def why_not(self, level: float = 0.05) -> str:
        """Return why no labels could have been rejected at `level`, or "" if some could.

        Parameters
        ----------
        level : float
            Level of the test.

        Returns
        -------
        str
            A clause: too few instances, clusters or replicates, a statistic whose most extreme values are
            frequent by chance, an acceptance region that spans more than half of all values, or sets that
            allow nearly every label.
        """
        require_level(level)
        return self.details._why_not(self, level)

    def sentence(self, level: float = 0.05, class_names: Sequence[str] | None = None) -> str:
        """Return the outcome in words.

        Parameters
        ----------
        level : float
            Level of the test.
        class_names : sequence of str, optional
            Names of the classes, for a witness, which points at classes.

        Returns
        -------
        str
            What was rejected and where, what was shown, or why the test cannot tell.
        """
        require_level(level)
        return self.details._sentence(self, level, class_names)

    def _drawn(self) -> HypotestResult[Any]:
        return self.details._drawn(self)

    def to_dict(self) -> dict[str, Any]:
        """Return everything in JSON-safe types, with the fields of the details and the name of their type."""
        written = super().to_dict()
        return {**written, **written["details"], "details": type(self.details).__name__}

    def summary(self) -> dict[str, Any]:
        """Return the JSON-safe fields without replicates: what a table of groups needs."""
        return {name: value for name, value in self.to_dict().items() if name not in _LONG}

    def __str__(self) -> str:
        return self.details._text(self)


Own = TypeVar("Own", bound=Details)


def with_details(test: HypotestResult, details: Own, **changes: Any) -> HypotestResult[Own]:
    """Return a test with other details, and other values of the named fields."""
    return HypotestResult(**{**vars(test), **changes, "details": details})


@dataclasses.dataclass(frozen=True)
class CheckDetails(Details):
    """What a predictive check knows of one statistic under one hypothesis.

    The p-value of the check is two-sided, whatever the statistic's own tail: a value that is too good
    contradicts a model as much as one that is too bad.

    Attributes
    ----------
    upper_pvalue, lower_pvalue : float
        One-sided p-values, ``(1 + #{null >= observed}) / (1 + n_resamples)`` and with ``<=``.
    direction : {"above", "below"}
        On which side of the replicates the observation lies: the side of the smaller one-sided p-value.
    sharpness : float
        Distance between the 5 % and the 95 % quantile of the replicates: how much the check would accept.
    n_members : int
        Members of the ensemble.
    member_pvalue : float or None
        Two-sided p-value that counts the truth as one more member, drawn from the population that the members
        were drawn from. Every member is left out in turn: its labels and the observed ones are scored against
        the mean of the others (39 members are, if there are more). A conflict requires this p-value to be
        small as well; if only this one is not, another member might explain the labels, and the check cannot
        tell.
    member_rule : {"ranks", "spread"} or None
        How `member_pvalue` compares labels and members. "ranks", from 39 members on: no assumption about
        members or statistic; at a level of 5 % or more it rejects at most twice as often as the level says
        (jackknife+), in simulations about as often. "spread", for fewer, and for labels beyond all members,
        where ranks can go no lower: distance of the labels from the members in units of the differences
        between members, with Student's t; it keeps its level if the values of members are roughly normal.
    group : str or None
        Which group of instances; None for all.
    """

    upper_pvalue: float
    lower_pvalue: float
    direction: Literal["above", "below"]
    sharpness: float
    n_members: int
    member_pvalue: float | None = None
    member_rule: Literal["ranks", "spread"] | None = None
    group: str | None = None

    def _deciding_pvalue(self, test: HypotestResult[Any]) -> float:
        usual = super()._deciding_pvalue(test)
        return usual if self.member_pvalue is None or self.n_members < 2 else max(usual, self.member_pvalue)

    def _verdict(self, test: HypotestResult[Any], level: float) -> Word:
        return "cannot tell" if self.is_beyond_members(test, level) else super()._verdict(test, level)

    def _sentence(self, test: HypotestResult[Any], level: float, class_names: Sequence[str] | None) -> str:
        if self.is_beyond_members(test, level):
            return (
                f"Cannot tell: none of these {self.n_members} members explains the labels, but another one "
                "like them might."
            )
        sentence = super()._sentence(test, level, class_names)
        if self.member_rule == "spread" and self.n_members > 1 and test.verdict(level) == "conflict":
            sentence += (
                f" They lie further from all {self.n_members} members than these differ from each other."
            )
        return sentence

    def is_beyond_members(self, test: HypotestResult[Any], level: float) -> bool:
        """Tell whether these members did not draw the labels, but one more like them might have."""
        return super()._deciding_pvalue(test) <= level < test.deciding_pvalue
