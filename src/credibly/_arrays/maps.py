"""A number at every point of a triangle: distributions over three classes, or weights of three members."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from credibly._arrays.results import Result


@dataclasses.dataclass(frozen=True)
class SimplexMap(Result):
    """Values over the 2-simplex.

    Attributes
    ----------
    name : str
        What was computed.
    over : {"predictions", "weights"}
        What a point of the triangle is: a distribution over three classes, or weights of three members.
    corners : tuple of str
        Names of the corners.
    points : ndarray (g, 3)
        Barycentric coordinates.
    values : ndarray (g,)
        The number at each point; may be infinite.
    support : ndarray (g,) or None
        Effective number of instances behind each value, None where all instances are behind all.
    n : int
        Number of instances.
    settings : dict
        What the values were computed with.
    notes : tuple of str
        What was accepted, converted or left out on the way.
    """

    name: str
    over: str
    corners: tuple[str, str, str]
    points: np.ndarray[Any, Any]
    values: np.ndarray[Any, Any]
    support: np.ndarray[Any, Any] | None
    n: int
    settings: dict[str, Any] = dataclasses.field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def smallest(self) -> np.ndarray[Any, Any]:
        """The point with the smallest value."""
        found: np.ndarray[Any, Any] = self.points[int(np.argmin(self.values))]
        return found


def lattice(n_steps: int, *, inner: bool = False) -> np.ndarray[Any, Any]:
    """Return evenly spaced points of the triangle, (g, 3); `inner` keeps them off the edges."""
    first, second = np.meshgrid(np.arange(n_steps + 1), np.arange(n_steps + 1), indexing="ij")
    kept = first + second <= n_steps
    whole = np.stack([first[kept], second[kept], n_steps - first[kept] - second[kept]], axis=1)
    points: np.ndarray[Any, Any] = (whole + 1 / 3) / (n_steps + 1) if inner else whole / n_steps
    return points
