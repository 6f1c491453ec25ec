"""Columns made of features: standardised, raw, polynomial or random Fourier.

Learned from features alone, never from labels, so it may see all instances of both parts.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from typing import Any, Literal

import numpy as np

from credibly._arrays.checks import as_real, require_finite, require_integer, require_shape
from credibly._arrays.errors import InputError, one_of
from credibly._arrays.namespace import Array, HostArray, as_float64, beside, like, namespace, to_host
from credibly._arrays.philox import Seed, Stream
from credibly.credal.sets import require_positive_number
from credibly.predictions import Predictions

BasisName = Literal["auto", "raw", "polynomial", "fourier"]

BASES = ("auto", "raw", "polynomial", "fourier")

_MOST_POLYNOMIAL = 2  # features of the automatic cubic; beyond, its columns outnumber what labels can tell
"""Apart from the streams of labels, rows and signs."""


@dataclasses.dataclass(frozen=True)
class Basis:
    """Which columns to compute from features.

    Parameters
    ----------
    kind : {"auto", "raw", "polynomial", "fourier"}
        "raw": the features themselves. "polynomial": all products up to `degree`. "fourier": `n_fourier`
        random cosines, whose products approximate a Gaussian kernel. "auto": polynomial up to two
        features, raw beyond.
    degree : int
        Degree of the polynomial.
    n_fourier : int
        Number of cosines.
    length_scale : float
        Length scale of the Gaussian kernel, in standard deviations of the features.

    Examples
    --------
    >>> import credibly as cr
    >>> cr.learners.GatingLearner(basis=cr.learners.Basis("fourier", n_fourier=50)).basis.kind
    'fourier'
    """

    kind: BasisName = "auto"
    degree: int = 3
    n_fourier: int = 30
    length_scale: float = 1.0

    def __post_init__(self) -> None:
        one_of("`basis`", self.kind, BASES)
        require_integer(self.degree, "degree", 1)
        require_integer(self.n_fourier, "n_fourier", 1)
        require_positive_number(self.length_scale, "length_scale", "Use 1.")

    def fit(self, features: Array, seed: Seed) -> FittedBasis:
        """Settle centres, scales and random frequencies on these features."""
        host = to_host(as_float64(features))  # a few sums; one result for all libraries
        centre, spread, kept = centre_and_spread(host)
        kind = self.kind
        if kind == "auto":
            kind = "polynomial" if kept.sum() <= _MOST_POLYNOMIAL else "raw"
        generator = np.random.default_rng([*seed, Stream.BASIS])
        d = int(kept.sum())
        frequencies = generator.standard_normal((d, self.n_fourier)) / self.length_scale
        phases = generator.uniform(0.0, 2.0 * math.pi, self.n_fourier)
        settled = dataclasses.replace(self, kind=kind)
        return FittedBasis(
            settled, np.flatnonzero(kept), centre[kept], spread[kept], frequencies, phases
        ).standardised(features)


def centre_and_spread(features: HostArray) -> tuple[HostArray, HostArray, HostArray]:
    """Return mean and standard deviation of every column, and whether it varies; squares do not overflow."""
    size = np.maximum(np.abs(features).max(axis=0), np.finfo(np.float64).tiny)
    centre, spread = (features / size).mean(axis=0) * size, (features / size).std(axis=0) * size
    return centre, spread, spread > 1e-9 * np.maximum(np.abs(centre), 1e-300)


@dataclasses.dataclass(frozen=True)
class FittedBasis:
    """A basis with its centres, scales and frequencies, for any instances with these features."""

    basis: Basis
    kept: np.ndarray[Any, Any]
    centre: np.ndarray[Any, Any]
    spread: np.ndarray[Any, Any]
    frequencies: np.ndarray[Any, Any]
    phases: np.ndarray[Any, Any]
    column_centre: np.ndarray[Any, Any] | None = None
    column_spread: np.ndarray[Any, Any] | None = None

    def columns(self, features: Array) -> Array:
        """Return the columns of some instances behind a column of ones, (n, d) -> (n, 1 + q)."""
        xp = namespace(features)
        made = self._plain(features)
        if self.column_centre is not None and made.shape[1]:
            made = (made - like(self.column_centre, made)) / like(self.column_spread, made)
        return xp.concat([xp.ones_like(as_float64(features[:, :1])), made], axis=1)

    def _plain(self, features: Array) -> Array:
        xp = namespace(features)
        chosen = xp.take(as_float64(features), like(self.kept, features), axis=1)
        scaled = (chosen - like(self.centre, chosen)) / like(self.spread, chosen)
        if self.basis.kind == "fourier" and self.kept.size:
            return xp.cos(scaled @ like(self.frequencies, scaled) + like(self.phases, scaled))
        if self.basis.kind != "polynomial":
            return scaled
        columns = []
        for power in range(1, self.basis.degree + 1):
            for which in itertools.combinations_with_replacement(range(self.kept.size), power):
                product = scaled[:, which[0]]
                for column in which[1:]:
                    product = product * scaled[:, column]
                columns.append(product)
        return xp.stack(columns, axis=1) if columns else scaled

    def standardised(self, features: Array) -> FittedBasis:
        """Bring the columns to mean 0 and standard deviation 1, so that one penalty suits all."""
        made = to_host(self._plain(features))
        spread = made.std(axis=0)
        return dataclasses.replace(
            self, column_centre=made.mean(axis=0), column_spread=np.where(spread > 1e-12, spread, 1.0)
        )

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
    if array.shape[0] != len(predictions):
        raise InputError(
            "`features`",
            f"must have one row per prediction ({len(predictions)})",
            f"got {array.shape[0]}",
            "Check that both come from the same split.",
        )
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
