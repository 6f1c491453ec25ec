"""Credal size: how far upper and lower probabilities are apart."""

from __future__ import annotations

from typing import Any, Literal

from credibly._arrays.errors import one_of
from credibly._arrays.namespace import Array
from credibly.credal.bounds import singleton_bounds
from credibly.credal.sets import DIRICHLET_SAMPLES, CredalSet, as_credal


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

    Examples
    --------
    >>> import credibly as cr
    >>> cr.credal_size(cr.Ensemble([[[0.75, 0.25], [0.5, 0.5]]]))
    array([0.25])
    """
    one_of("`of`", of, ("mean", "predicted"))
    return size_of(as_credal(predictions, n_samples, rng), of)


def size_of(credal: CredalSet, of: Literal["mean", "predicted"]) -> Array:
    """Return the size of each set, (n,)."""
    xp = credal.xp
    lower, upper = singleton_bounds(credal)
    if of == "mean":
        return xp.mean(upper - lower, axis=-1)
    predicted = xp.argmax(credal.mean().probs, axis=-1)[:, None]
    return xp.take_along_axis(upper - lower, predicted, axis=-1)[:, 0]
