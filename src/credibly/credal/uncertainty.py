"""Total, aleatoric and epistemic uncertainty, by the decomposition that fits the kind of prediction.

Sets also have a size: how far upper and lower probabilities are apart.
"""

from __future__ import annotations

import dataclasses
from typing import Any, Literal

from credibly._arrays.errors import UnsupportedError, one_of, require
from credibly._arrays.namespace import (
    Array,
    as_float64,
    clip,
    device,
    digamma,
    entropy_of_rows,
    mean_entropy_of_members,
    namespace,
)
from credibly._arrays.philox import takes_rng
from credibly.credal.bounds import singleton_bounds
from credibly.credal.entropy import TOLERANCE, least_entropy, log_base, most_even
from credibly.credal.sets import DIRICHLET_SAMPLES, CredalSet, as_set, members_of, require_tolerance
from credibly.predictions import Belief, Dirichlet, Ensemble, Intervals, Point, as_point, as_predictions
from credibly.predictions.ensemble import weighted_mean
from credibly.results.base import Result


@takes_rng
def size(
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
        ...
    of : {"mean", "predicted"}
        The mean over classes, or the class with the largest mean prediction (pignistic for a belief).
    n_samples : int
        ...
    rng : None, int or Generator
        ...

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
    >>> cr.credal.size(cr.Ensemble([[[0.75, 0.25], [0.5, 0.5]]]))
    array([0.25])
    """
    one_of("`of`", of, ("mean", "predicted"))
    predictions = as_predictions(predictions)
    credal = as_set(predictions, n_samples=n_samples, rng=rng)
    if of == "mean":
        return mean_size(credal)
    lower, upper = singleton_bounds(credal)
    predicted = credal.xp.argmax(as_point(predictions)[0].probs, axis=-1)[:, None]
    return credal.xp.take_along_axis(upper - lower, predicted, axis=-1)[:, 0]


def disagreement(predictions: Any) -> Array:
    """Return how often two members of an ensemble predict different classes.

    Parameters
    ----------
    predictions : Ensemble or array (n, m, k)
        At least two members per instance.

    Returns
    -------
    array (n,)
        Share of the pairs of different members whose most probable classes differ, by weight where members
        have weights: 0 if all agree, 1 if no two do.

    Notes
    -----
    It looks at answers only, so members that agree on the answer and differ in its probability have 0;
    :func:`uncertainty` sees them.

    References
    ----------
    Fort, Hu and Lakshminarayanan, *Deep ensembles: a loss landscape perspective*, 2019.

    Examples
    --------
    >>> import credibly as cr
    >>> members = [[[0.7, 0.3], [0.6, 0.4], [0.2, 0.8]]]
    >>> cr.credal.disagreement(cr.Ensemble(members)).round(4)  # two of three pairs
    array([0.6667])
    """
    ensemble = as_predictions(predictions)
    if not isinstance(ensemble, Ensemble):
        raise UnsupportedError(
            "`disagreement`",
            "needs the answers of several members",
            f"got {type(ensemble).__name__}",
            "Pass an Ensemble, (n, m, k).",
        )
    xp, (_, m, k) = ensemble.xp, ensemble.probs.shape
    rule = "must have at least two members"
    require(m > 1, rule, "Pass an Ensemble of two members or more.", predictions=ensemble.probs)
    answers = xp.argmax(ensemble.probs, axis=2)
    shape = {"dtype": xp.float64, "device": device(ensemble.probs)}
    weights = xp.ones((m,), **shape) / m if ensemble.weights is None else as_float64(ensemble.weights)
    chosen = answers[:, :, None] == xp.arange(k, dtype=answers.dtype, device=device(answers))
    shares = xp.sum(xp.astype(chosen, xp.float64) * weights[None, :, None], axis=1)
    return (1.0 - xp.sum(shares**2, axis=1)) / (1.0 - xp.sum(weights**2))


def mean_size(credal: CredalSet) -> Array:
    """Return the mean width of the classes' probability intervals, (n,)."""
    lower, upper = singleton_bounds(credal)
    return credal.xp.mean(upper - lower, axis=-1)


Decomposition = Literal["entropy", "credal", "dirichlet", "belief"]


@dataclasses.dataclass(frozen=True)
class Uncertainty(Result):
    """Uncertainty of every instance, split if possible.

    Attributes
    ----------
    decomposition : str
        Which one.
    total : array (n,)
        Entropy of the mean prediction, upper entropy, or entropy of the pignistic probability.
    aleatoric : array (n,) or None
        Mean entropy of the members, or lower entropy; None if the decomposition has no such part.
    epistemic : array (n,)
        Total minus aleatoric, or the credal size for a belief.
    n : int
        Number of instances.
    notes : tuple of str
        What the parts are.
    """

    decomposition: str
    total: Array
    aleatoric: Array | None
    epistemic: Array
    n: int
    notes: tuple[str, ...] = ()


@takes_rng
def uncertainty(
    predictions: Any,
    *,
    decomposition: Decomposition | None = None,
    base: float | None = None,
    tolerance: float = TOLERANCE,
    n_samples: int = DIRICHLET_SAMPLES,
    rng: Any = None,
) -> Uncertainty:
    """Split the uncertainty of each prediction.

    Parameters
    ----------
    predictions : Predictions or array
        Class predictions.
    decomposition : {"entropy", "credal", "dirichlet", "belief"}, optional
        ``entropy``: H(mean), mean H, mutual information (Point, Ensemble). ``credal``: upper entropy, lower
        entropy, their difference (every kind). ``dirichlet``: the same as ``entropy``, in closed form
        (Dirichlet). ``belief``: entropy of the pignistic probability and credal size (Belief). Default:
        ``entropy`` for Point and Ensemble, ``credal`` for Intervals, ``dirichlet`` for Dirichlet and
        ``belief`` for Belief.
    base : float, optional
        ...
    tolerance : float
        Certified error of the upper and lower entropies.
    n_samples : int
        Draws per instance for the credal decomposition of a Dirichlet.
    rng : None, int or Generator
        ...

    Returns
    -------
    Uncertainty
        Arrays ``total``, ``aleatoric`` and ``epistemic``.

    Notes
    -----
    For a Dirichlet the mean entropy is ``-sum_j a_j / a_0 (psi(a_j + 1) - psi(a_0 + 1))``; several members
    are averaged, by their weights if they have some.

    References
    ----------
    Depeweg et al., *Decomposition of uncertainty in Bayesian deep learning for efficient and
    risk-sensitive learning*, ICML 2018; Hüllermeier, Destercke and Shaker, *Quantification of credal
    uncertainty in machine learning*, UAI 2022.

    Examples
    --------
    >>> import credibly as cr
    >>> parts = cr.uncertainty(cr.Ensemble([[[1.0, 0.0], [0.0, 1.0]]]), base=2)
    >>> parts.total, parts.aleatoric, parts.epistemic
    (array([1.]), array([0.]), array([1.]))
    """
    predictions = as_predictions(predictions)
    if not isinstance(predictions, Dirichlet):
        predictions = as_set(predictions)  # refuses what is not a prediction of classes
    fitting: dict[type, str] = {Intervals: "credal", Dirichlet: "dirichlet", Belief: "belief"}
    chosen = fitting.get(type(predictions), "entropy") if decomposition is None else decomposition
    one_of("`decomposition`", chosen, ("entropy", "credal", "dirichlet", "belief"))
    scale = log_base(base)
    if chosen == "credal":
        require_tolerance(tolerance)
        credal = as_set(predictions, n_samples=n_samples, rng=rng)
        total = entropy_of_rows(most_even(credal, tolerance)) / scale
        inner = least_entropy(credal, tolerance) / scale
        note = "total is the upper entropy, aleatoric the lower entropy, epistemic their difference"
        return Uncertainty(chosen, total, inner, clip(total - inner, 0.0), len(predictions), (note,))
    if chosen == "belief" and isinstance(predictions, Belief):
        note = (
            "total is the entropy of the pignistic probability, epistemic the credal size; they do not add up"
        )
        total = entropy_of_rows(predictions.pignistic().probs) / scale
        return Uncertainty(chosen, total, None, mean_size(predictions), len(predictions), (note,))
    if chosen == "dirichlet" and isinstance(predictions, Dirichlet):
        inner = _mean_entropy(predictions)
    elif chosen == "entropy" and isinstance(predictions, Point | Ensemble):
        inner = _mean_of_entropies(predictions)
    else:
        raise UnsupportedError(
            f'`decomposition="{chosen}"`',
            f"is not defined for {type(predictions).__name__}",
            "it needs another kind of prediction",
            'Use `decomposition="credal"`, which is defined for every kind.',
        )
    note = "total is the entropy of the mean, aleatoric the mean entropy, epistemic their difference"
    total = entropy_of_rows(predictions.mean().probs) / scale
    inner = inner / scale
    return Uncertainty(chosen, total, inner, clip(total - inner, 0.0), len(predictions), (note,))


def _mean_of_entropies(predictions: Point | Ensemble) -> Array:
    """Average the members' entropies, with their weights where they have some."""
    if isinstance(predictions, Point) or predictions.weights is None:
        return mean_entropy_of_members(members_of(predictions))
    return weighted_mean(entropy_of_rows(predictions.probs), predictions.weights)


def _mean_entropy(predictions: Dirichlet) -> Array:
    """E H(p) = -sum_j a_j / a_0 (psi(a_j + 1) - psi(a_0 + 1)), averaged over members by weight."""
    alpha = as_float64(predictions.alpha)
    xp = namespace(alpha)
    total = xp.sum(alpha, axis=-1, keepdims=True)
    inner = -xp.sum(alpha / total * (digamma(alpha + 1.0) - digamma(total + 1.0)), axis=-1)
    return weighted_mean(inner, predictions.weights) if alpha.ndim == 3 else inner
