"""Result objects of credal sets that pictures are drawn from."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from credibly._arrays.results import Result

HostArray = np.ndarray[Any, Any]


@dataclasses.dataclass(frozen=True)
class SimplexPicture(Result):
    """One set of distributions over three classes, as points and polygons of the simplex.

    Attributes
    ----------
    kind : str
        The kind of prediction.
    row : int
        Which instance.
    members : ndarray (m, 3)
        Members of an ensemble; empty for other kinds.
    hull : ndarray (v, 3)
        Corners of the set itself, in order around it; one or two where it is a point or a line.
    envelope : ndarray (v, 3)
        Corners of all distributions that keep to its lower and upper probabilities.
    mean : ndarray (3,)
        The one distribution that stands for the set.
    label : int or None
        The observed class.
    target : ndarray (3,) or None
        The observed distribution of labels.
    """

    kind: str
    row: int
    members: HostArray
    hull: HostArray
    envelope: HostArray
    mean: HostArray
    label: int | None = None
    target: HostArray | None = None
