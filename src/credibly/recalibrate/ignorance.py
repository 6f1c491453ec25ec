"""Repair stated ignorance: a Dirichlet around the stated mean, as concentrated as several labels show.

    stated concentration   A = (1 - sum mu^2) / sum V - 1         of mean mu and variances V
    repaired               A' = exp(b + w0 log A + w . u)         u features, if there are any

fitted by the Dirichlet-multinomial likelihood of the counts (`alpha`). With w0 = 0 what was stated does not
matter; with w0 = 1 it is right up to a factor.
"""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar

from credibly._arrays.namespace import Array, as_float64, clip, namespace
from credibly._arrays.notes import counted
from credibly._arrays.philox import made_with_rng
from credibly.predictions import ClassPredictions, Point, SecondOrder, as_point
from credibly.recalibrate.alpha import AlphaCalibration, Kind
from credibly.recalibrate.fit_data import FitData, checked
from credibly.recalibrate.minimum import Convergence

_ENDS = 1e-3, 1e6


@made_with_rng
@dataclasses.dataclass(eq=False)
class IgnoranceCalibration(AlphaCalibration):
    """Learn how ignorant a model is from how ignorant it says that it is; the mean stays.

    Parameters
    ----------
    head : {"linear", "neural"}, optional
        How the logarithm of the concentration depends on that of the stated one and on features.
    penalty : float or "cv"
        Factor of (log A')^2; "cv" chooses from `penalties` by held-out likelihood.
    penalties : tuple of float
        The grid.
    folds : int or "split"
        Folds for choosing the penalty; "split" holds out one fifth once.
    hidden : tuple of int
        Units of the hidden layers of the neural head.
    rng : int
        Seed of the folds and of the network.

    Notes
    -----
    Members become one Dirichlet with their mean. Needs two labels of some instances. Check the repair on
    other instances with the test that found the fault, `raters.ignorance`.

    Examples
    --------
    >>> import numpy as np
    >>> import credibly as cr
    >>> rng = np.random.default_rng(0)
    >>> belief = cr.Dirichlet(2 * rng.dirichlet(np.ones(3), size=2000))  # says: concentration 2
    >>> truth = cr.Dirichlet(8 * belief.mean().probs).sample(1, rng=1).probs[:, 0]
    >>> counts = cr.LabelCounts(rng.multinomial(2, truth))
    >>> repair = cr.recalibrate.IgnoranceCalibration().fit(belief[:1000], counts[:1000])
    >>> cr.raters.ignorance(belief[1000:], counts[1000:], n_resamples=199, rng=0).verdict()
    'conflict'
    >>> cr.raters.ignorance(repair.apply(belief[1000:]), counts[1000:], n_resamples=199, rng=0).verdict()
    'no conflict found'
    """

    head: Kind | None = "linear"
    penalty: Any = 1e-5
    method: ClassVar[str] = "ignorance"
    kinds: ClassVar[tuple[str, ...]] = ("Ensemble", "Dirichlet")

    def alpha0(self, predictions: Any, *, features: Any = None) -> Array:
        """Return the repaired concentration of every instance.

        Parameters
        ----------
        predictions : Ensemble or Dirichlet
            What the model says.
        features : array (n, d), optional
            The features, if the fit used some.

        Returns
        -------
        array (n,)
            Positive numbers.
        """
        stated = checked(predictions)
        return super().alpha0(_mean(stated), features=_inputs(stated, features))

    def _require_kind(self, predictions: Any) -> None:
        if isinstance(predictions, Point):
            SecondOrder.of(predictions)  # which says what to pass
        super()._require_kind(predictions)

    def _fit(self, data: FitData, features: Array | None) -> Convergence:
        inputs = _inputs(data.predictions, features)
        return super()._fit(data.moved(_mean(data.predictions)), inputs)

    def _map(self, predictions: ClassPredictions, features: Array | None) -> ClassPredictions:
        return super()._map(_mean(predictions), _inputs(predictions, features))

    def describe(self) -> str:
        """Return the kind of head in words."""
        kind = "linear" if len(self.sizes) == 2 else "neural"
        more = int(self.sizes[0]) - 1
        features = f" and {counted(more, 'feature')}" if more else ""
        return f"IgnoranceCalibration, {kind} in the stated concentration{features}"


def _mean(predictions: ClassPredictions) -> Point:
    return as_point(predictions)[0]


def _inputs(predictions: ClassPredictions, features: Any) -> Array:
    """Return the logarithm of the stated concentration, then the features, (n, 1 + d)."""
    law = SecondOrder.of(predictions)
    xp = law.xp
    mean = law.mean().probs
    spread = clip(xp.sum(law.variance(), axis=1), 1e-12)
    stated = clip((1.0 - xp.sum(mean * mean, axis=1)) / spread - 1.0, *_ENDS)
    column = xp.log(stated)[:, None]
    if features is None:
        return column
    values = as_float64(features)
    return namespace(values, column).concat([column, values], axis=1)
