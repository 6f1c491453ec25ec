"""Credal size: how far upper and lower probabilities are apart."""

from __future__ import annotations

from typing import Any, Literal

from credibly._arrays.errors import one_of
from credibly._arrays.namespace import Array
from credibly.credal.bounds import singleton_bounds
from credibly.credal.sets import DIRICHLET_SAMPLES, CredalSet, as_credal
from credibly.predictions import as_point, as_predictions


def credal_size(
    predictions: Any,
    *,
    of: Literal["mean", "predicted"] = "mean",
    n_samples: int = DIRICHLET_SAMPLES,
    rng: Any = None,
) -> Array:
    """Return upper minus lower probability.

    Parameters
    ----------
    predictions : Predictions or array
        Class predictions, read as sets by :func:`credal_set`.
    of : {"mean", "predicted"}
        The mean over classes, or the class the mean prediction (pignistic for a belief) gives the most.
    n_samples : int
        Draws per instance where the predictions are a Dirichlet.
    rng : None, int or Generator
        Seed of these draws.

    Returns
    -------
    array (n,)
        One value between 0 and 1 per instance.

    References
    ----------
    Hüllermeier, Destercke and Shaker, *Quantification of credal uncertainty in machine learning*, UAI
    2022.

    Examples
    --------
    >>> import credibly as cr
    >>> cr.credal_size(cr.Ensemble([[[0.75, 0.25], [0.5, 0.5]]]))
    array([0.25])
    """
    one_of("`of`", of, ("mean", "predicted"))
    given = as_predictions(predictions)
    credal = as_credal(given, n_samples, rng)
    if of == "mean":
        return mean_size(credal)
    lower, upper = singleton_bounds(credal)
    predicted = credal.xp.argmax(as_point(given)[0].probs, axis=-1)[:, None]
    return credal.xp.take_along_axis(upper - lower, predicted, axis=-1)[:, 0]


def mean_size(credal: CredalSet) -> Array:
    """Return the mean width of the classes' probability intervals, (n,)."""
    lower, upper = singleton_bounds(credal)
    return credal.xp.mean(upper - lower, axis=-1)
