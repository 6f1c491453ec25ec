"""Estimates beyond one plain number: roots of squared errors, and arrays of numbers."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np

from credibly._arrays.errors import InputError
from credibly._arrays.results import Estimate, Result, require_level

HostArray = np.ndarray[Any, Any]


def signed_root(value: float) -> float:
    """Return sign(value) sqrt|value|: increasing, so intervals can be mapped through it."""
    return math.copysign(math.sqrt(abs(value)), value)


@dataclasses.dataclass(frozen=True)
class RootEstimate(Estimate):
    """Signed square root of an estimated squared error.

    The root has no standard error of its own near zero; its interval is that of the squared error with
    both ends mapped through the root, and keeps its coverage.

    Attributes
    ----------
    name, value, stderr, n, settings, notes, interval_refusal, interval_method
        As of any Estimate; `stderr` is None.
    squared : Estimate
        What the root is taken of; a negative value gives a negative root, to be read as "below zero".
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
    def below_zero(self) -> bool:
        """Whether the squared error was estimated as negative, as noise around zero is."""
        return self.value < 0

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
        return f"{self.name} {self.value:.6g}{' (below zero)' if self.below_zero else ''} (n = {self.n})"


@dataclasses.dataclass(frozen=True)
class Estimates(Result):
    """One number with its standard error per class, or per class and bin.

    Attributes
    ----------
    name : str
        The term.
    value : ndarray
        Values, (k,) or (k, n_bins).
    stderr : ndarray or None
        Standard errors over instances, of the same shape.
    n : int
        Number of instances.
    interval_refusal : str or None
        Why no interval is offered, None where it is.
    refused : ndarray or None
        Which entries the refusal concerns; all of them where None.
    """

    name: str
    value: HostArray
    stderr: HostArray | None
    n: int
    interval_refusal: str | None = None
    refused: HostArray | None = None

    def __getitem__(self, index: Any) -> Estimate:
        if np.ndim(self.value[index]):
            raise InputError(
                f"an entry of `{self.name}`",
                f"needs one index for each of {self.value.ndim} axes",
                f"got {index!r}",
                "Take `.value` and `.stderr` for slices.",
            )
        stderr = None if self.stderr is None else float(self.stderr[index])
        why = self.interval_refusal
        if self.refused is not None and not self.refused[index]:
            why = None
        return Estimate(self.name, float(self.value[index]), stderr, self.n, {}, (), why)

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
        from scipy.special import ndtri

        require_level(level)
        refused = np.full(self.value.shape, self.interval_refusal is not None)
        if self.interval_refusal is not None and self.refused is not None:
            refused = self.refused
        if self.stderr is None or refused.all():
            self[(0,) * self.value.ndim].interval(level)  # raises with the reason
        half = float(ndtri((1 + level) / 2)) * np.where(refused, np.nan, np.asarray(self.stderr))
        return self.value - half, self.value + half
