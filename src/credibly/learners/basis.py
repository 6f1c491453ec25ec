"""Columns made of features: standardised, raw or polynomial.

Learned from features alone, never from labels, so it may see all instances of both parts.
"""

from __future__ import annotations

import dataclasses
import itertools
from typing import Any, Literal

import numpy as np

from credibly._arrays.checks import as_real, require_finite, require_integer, require_one_each, require_shape
from credibly._arrays.errors import one_of
from credibly._arrays.namespace import Array, HostArray, as_float64, beside, like, namespace, to_host
from credibly.predictions import Predictions

BasisName = Literal["auto", "raw", "polynomial"]

_MOST_POLYNOMIAL = 2  # features of the automatic cubic; beyond, its columns outnumber what labels can tell


@dataclasses.dataclass(frozen=True)
class Basis:
    """Which columns to compute from features.

    Parameters
    ----------
    kind : {"auto", "raw", "polynomial"}
        "raw": the features themselves. "polynomial": all products up to `degree`. "auto": polynomial up to
        two features, raw beyond.
    degree : int
        Degree of the polynomial.

    Examples
    --------
    >>> import credibly as cr
    >>> cr.learners.GatingLearner(basis=cr.learners.Basis("polynomial", degree=2)).basis.kind
    'polynomial'
    """

    kind: BasisName = "auto"
    degree: int = 3

    def __post_init__(self) -> None:
        one_of("`basis`", self.kind, ("auto", "raw", "polynomial"))
        require_integer(self.degree, "degree", 1)

    def fit(self, features: Array) -> FittedBasis:
        """Settle centres and scales on these features; all columns get mean 0 and standard deviation 1."""
        host = to_host(as_float64(features))  # a few sums; one result for all libraries
        centre, spread, kept = centre_and_spread(host)
        kind = self.kind
        if kind == "auto":
            kind = "polynomial" if kept.sum() <= _MOST_POLYNOMIAL else "raw"
        settled = dataclasses.replace(self, kind=kind)
        plain = FittedBasis(settled, np.flatnonzero(kept), centre[kept], spread[kept])
        products = to_host(plain.products(features))
        wide = products.std(axis=0)
        return dataclasses.replace(
            plain, column_centre=products.mean(axis=0), column_spread=np.where(wide > 1e-12, wide, 1.0)
        )


def centre_and_spread(features: HostArray) -> tuple[HostArray, HostArray, HostArray]:
    """Return mean and standard deviation of every column, and whether it varies; squares do not overflow."""
    size = np.maximum(np.abs(features).max(axis=0), np.finfo(np.float64).tiny)
    centre, spread = (features / size).mean(axis=0) * size, (features / size).std(axis=0) * size
    return centre, spread, spread > 1e-9 * np.maximum(np.abs(centre), 1e-300)


@dataclasses.dataclass(frozen=True)
class FittedBasis:
    """A basis with its centres and scales, for any instances with these features."""

    basis: Basis
    kept: HostArray
    centre: HostArray
    spread: HostArray
    column_centre: HostArray | None = None
    column_spread: HostArray | None = None

    def columns(self, features: Array) -> Array:
        """Return the columns of some instances behind a column of ones, (n, d) -> (n, 1 + q)."""
        xp, values = namespace(features), self.products(features)
        values = (values - like(self.column_centre, values)) / like(self.column_spread, values)
        return xp.concat([xp.ones_like(as_float64(features[:, :1])), values], axis=1)

    def products(self, features: Array) -> Array:
        """Return standardised features, or their products up to a degree, (n, q)."""
        xp = namespace(features)
        chosen = xp.take(as_float64(features), like(self.kept, features), axis=1)
        scaled = (chosen - like(self.centre, chosen)) / like(self.spread, chosen)
        if self.basis.kind != "polynomial" or not self.kept.size:
            return scaled
        columns = []
        for power in range(1, self.basis.degree + 1):
            for which in itertools.combinations_with_replacement(range(self.kept.size), power):
                product = scaled[:, which[0]]
                for column in which[1:]:
                    product = product * scaled[:, column]
                columns.append(product)
        return xp.stack(columns, axis=1)

    @property
    def notes(self) -> tuple[str, ...]:
        """What was left out."""
        if self.kept.size:
            return ()
        return ("all features are constant: the weights cannot depend on them",)


def check_features(features: Any, predictions: Predictions) -> Array:
    """Return features as (n, d) in double precision; a vector is one feature per instance."""
    array = beside(
        as_real(features, "features"), features, predictions._leading, what="predictions and `features`"
    )
    require_shape(array, "features", "(n,)", "(n, d)")
    require_one_each(array.shape[:1], len(predictions), "`features`", "row per prediction")
    require_finite(array, "features")
    return as_float64(array[:, None] if array.ndim == 1 else array)


def set_features(points: Array) -> Array:
    """Return logarithms of mean, largest and smallest probability of every class, (n, a, k) -> (n, 3 k).

    They do not depend on the order of the points. Floored at 1e-4: beyond, a logarithm tells little about a
    set and stretches the scale of its column.
    """
    xp = namespace(points)
    probs = as_float64(points)
    ends = [xp.mean(probs, axis=1), xp.max(probs, axis=1), xp.min(probs, axis=1)]
    return xp.log(xp.clip(xp.concat(ends, axis=1), 1e-4, None))
