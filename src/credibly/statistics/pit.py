"""The probability integral transform: where in its predicted distribution every label lies.   Dawid 1984."""

from __future__ import annotations

from typing import Any

from credibly._arrays.errors import InputTypeError
from credibly._arrays.namespace import Array
from credibly.predictions import RealPredictions, Reals, as_labels, as_predictions, require_order


def pit(predictions: Any, labels: Any) -> Array:
    """Return F(y) of every label under its predicted distribution.

    Parameters
    ----------
    predictions : Gaussian, Samples or dense Quantiles
        Members are represented by their mixture.
    labels : array (n,)
        Observed numbers.

    Returns
    -------
    array (n,)
        Probabilities in the caller's array library, uniform where labels are drawn from the predictions
        (of `Samples`: shares of draws at most as large, so multiples of 1 / s).

    References
    ----------
    Dawid, *Statistical theory: the prequential approach*, 1984.

    Examples
    --------
    >>> import credibly as cr
    >>> cr.pit(cr.Gaussian([0.0, 0.0], [1.0, 1.0]), [0.0, 1.0]).round(4)
    array([0.5   , 0.8413])
    """
    require_order(predictions, labels)
    given = as_predictions(predictions)
    if not isinstance(given, RealPredictions):
        raise InputTypeError(
            "`pit`",
            "needs real-valued predictions",
            f"got {type(given).__name__}",
            "For classes see `reliability_curve`.",
        )
    batch = as_labels(given, labels)
    if not isinstance(batch, Reals):
        raise InputTypeError(
            "`labels`", "must be real numbers", f"got {type(labels).__name__}", "Pass an array (n,)."
        )
    return given.cdf(batch.values[0, :])
