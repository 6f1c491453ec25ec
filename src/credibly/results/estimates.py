"""A number with its error, the signed root of one, and tables of them."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from numbers import Real
from typing import Any, Literal

import numpy as np

from credibly._arrays.binomial import wilson
from credibly._arrays.errors import InputError, UnsupportedError
from credibly._arrays.namespace import HostArray
from credibly._arrays.standard_errors import factor
from credibly.results.base import Result, require_level


@dataclasses.dataclass(frozen=True)
class Estimate(Result):
    """A number with its standard error.

    Attributes
    ----------
    name : str
        The statistic.
    value : float
        Its value. ``float(estimate)``, ``round(estimate, 3)``, ``f"{estimate:.3f}"`` and comparisons with
        numbers or other estimates use it.
    stderr : float or None
        Standard error over instances; None if none can be trusted.
    n : int
        Number of instances.
    settings : mapping
        What the statistic was computed with.
    notes : tuple of str
        What was accepted, converted or left out on the way.
    interval_refusal : str or None
        Why no interval is given; None if there is one.
    interval_method : {"normal", "wilson"}
        ``value +- z stderr``, or Wilson's interval for a share, which is also valid near 0 and 1.
    n_clusters : int or None
        Number of independent clusters, if rows belong together; the standard error then allows for them.
    degrees_of_freedom : float or None
        Degrees of freedom of Student's t, whose quantile then replaces z.
    """

    name: str
    value: float
    stderr: float | None
    n: int
    settings: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    notes: tuple[str, ...] = ()
    interval_refusal: str | None = None
    interval_method: Literal["normal", "wilson"] = "normal"
    n_clusters: int | None = None
    degrees_of_freedom: float | None = None

    def __float__(self) -> float:
        return self.value

    def __format__(self, spec: str) -> str:
        return format(self.value, spec) if spec else str(self)

    def __round__(self, ndigits: int | None = None) -> float:
        return round(self.value, ndigits)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Estimate):
            return type(self) is type(other) and all(
                getattr(self, field.name) == getattr(other, field.name) for field in dataclasses.fields(self)
            )
        return self.value == other if isinstance(other, Real) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.value)  # as a number that it equals

    def __lt__(self, other: Estimate | float) -> bool:
        return self.value < float(other) if isinstance(other, (Estimate, Real)) else NotImplemented

    def __le__(self, other: Estimate | float) -> bool:
        return self.value <= float(other) if isinstance(other, (Estimate, Real)) else NotImplemented

    def __gt__(self, other: Estimate | float) -> bool:
        return self.value > float(other) if isinstance(other, (Estimate, Real)) else NotImplemented

    def __ge__(self, other: Estimate | float) -> bool:
        return self.value >= float(other) if isinstance(other, (Estimate, Real)) else NotImplemented

    @property
    def has_interval(self) -> bool:
        """Whether `interval` gives one; otherwise it raises an error with the reason."""
        return self.interval_refusal is None and self.stderr is not None

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Return the interval of `interval_method`, if its coverage was checked by simulation.

        Parameters
        ----------
        level : float
            Coverage.

        Returns
        -------
        tuple of float
            Lower and upper end.

        Raises
        ------
        UnsupportedError
            If no interval for this statistic is known to have its stated coverage; the message names an
            alternative.
        """
        require_level(level)
        if not self.has_interval or self.stderr is None:
            reason = self.interval_refusal or "it has no standard error here"
            raise UnsupportedError(
                f"an interval for `{self.name}`",
                "is given only where its coverage was checked",
                reason,
                "Use more instances, the debiased variant of a binned error, or `calibration_test`, whose "
                "acceptance region is valid for any n.",
            )
        z = factor(level, self.degrees_of_freedom)
        if self.interval_method == "wilson":
            return wilson(self.value, self.n, z)
        return self.value - z * self.stderr, self.value + z * self.stderr

    def __str__(self) -> str:
        error = "" if self.stderr is None else f" ± {self.stderr:.2g}"
        clusters = "" if self.n_clusters is None else f" in {self.n_clusters} clusters"
        return f"{self.name} {self.value:.6g}{error} (n = {self.n}{clusters})"


def signed_root(value: float) -> float:
    """Return sign(value) sqrt|value|: increasing, so intervals can be mapped through it."""
    return math.copysign(math.sqrt(abs(value)), value)


@dataclasses.dataclass(frozen=True, eq=False)  # comparison with numbers is inherited
class RootEstimate(Estimate):
    """Signed square root of an estimated squared error.

    The root has no standard error of its own near zero; its interval is that of the squared error with both
    ends mapped through the root, which preserves the coverage.

    Attributes
    ----------
    name, value, stderr, n, settings, notes, interval_refusal, interval_method, n_clusters, degrees_of_freedom
        As of any Estimate; `stderr` is None.
    squared : Estimate
        The squared error; a negative value gives a negative root, to be read as "below zero".
    """

    squared: Estimate = dataclasses.field(kw_only=True)

    @classmethod
    def of(cls, squared: Estimate, name: str) -> RootEstimate:
        """Return the signed root of an estimate.

        Parameters
        ----------
        squared : Estimate
            A squared error.
        name : str
            Name of the root.

        Returns
        -------
        RootEstimate
            The root.
        """
        return cls(
            name,
            signed_root(squared.value),
            None,
            squared.n,
            squared.settings,
            squared.notes,
            squared.interval_refusal,
            squared=squared,
        )

    @property
    def has_interval(self) -> bool:
        """Whether the squared error has one."""
        return self.squared.has_interval

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Return the interval of the squared error, mapped through the signed root.

        Parameters
        ----------
        level : float
            Coverage.

        Returns
        -------
        tuple of float
            Lower and upper end; an end below zero says that zero is not excluded.
        """
        low, high = self.squared.interval(level)
        return signed_root(low), signed_root(high)

    def __str__(self) -> str:
        return f"{self.name} {self.value:.6g}{' (below zero)' if self.value < 0 else ''} (n = {self.n})"


def interval_of(estimate: Estimate) -> tuple[float, float] | None:
    """Return the 95 % interval of an estimate; None where it refuses one."""
    if not estimate.has_interval:
        return None
    low, high = estimate.interval()
    return float(low), float(high)


@dataclasses.dataclass(frozen=True)
class Estimates(Result):
    """One number with its standard error per class.

    Attributes
    ----------
    name : str
        The term.
    value : ndarray
        Values, (k,).
    stderr : ndarray or None
        Standard errors over instances, of the same shape.
    n : int
        Number of instances.
    interval_refusal : str or None
        Why no interval is given; None if there is one.
    refused : ndarray or None
        Which entries the refusal concerns; None means all of them.
    n_clusters : int or None
        Number of independent clusters, if rows belong together.
    degrees_of_freedom : ndarray or None
        Degrees of freedom of Student's t, of the same shape, if rows belong together.
    """

    name: str
    value: HostArray
    stderr: HostArray | None
    n: int
    interval_refusal: str | None = None
    refused: HostArray | None = None
    n_clusters: int | None = None
    degrees_of_freedom: HostArray | None = None

    def __getitem__(self, index: int) -> Estimate:
        if np.ndim(self.value[index]):
            raise InputError(
                f"an entry of `{self.name}`",
                "is that of one class",
                f"got {index!r}",
                "Take `.value` and `.stderr` for slices.",
            )
        stderr = None if self.stderr is None else float(self.stderr[index])
        why = self.interval_refusal
        if self.refused is not None and not self.refused[index]:
            why = None
        degrees = None if self.degrees_of_freedom is None else float(self.degrees_of_freedom[index])
        return Estimate(
            self.name,
            float(self.value[index]),
            stderr,
            self.n,
            interval_refusal=why,
            n_clusters=self.n_clusters,
            degrees_of_freedom=degrees,
        )

    def interval(self, level: float = 0.95) -> tuple[HostArray, HostArray]:
        """Return normal intervals, one per entry.

        Parameters
        ----------
        level : float
            Coverage of each.

        Returns
        -------
        tuple of ndarray
            Lower and upper ends; NaN for entries without an interval.
        """
        every = [self[place] for place in range(self.value.size)]
        if not any(entry.has_interval for entry in every):
            every[0].interval(level)  # raises with the reason
        nothing = math.nan, math.nan
        ends = np.array([entry.interval(level) if entry.has_interval else nothing for entry in every])
        return ends[:, 0], ends[:, 1]
