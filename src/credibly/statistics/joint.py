"""Scores of joint predictions: draws of several numbers at once, whose dependence counts.

    energy_score     mean over draws |x_i - y| - 1/2 mean over pairs |x_i - x_j|
    variogram_score  sum over pairs (a, b) of (|y_a - y_b|^q - mean over draws |x_ia - x_ib|^q)^2

The draws of a row and its label are exchangeable if the prediction is right. A table of what every one of
them adds were it the label makes the label a choice among s + 1, so that a test needs nothing else. Gneiting
and Raftery 2007; Scheuerer and Hamill 2015.
"""

from __future__ import annotations

import dataclasses
from functools import partial
from typing import Any, ClassVar, Literal

import numpy as np

from credibly._arrays.checks import as_real, require_finite, require_positive_number
from credibly._arrays.errors import UnsupportedError, require
from credibly._arrays.namespace import HostArray, as_float64, tiles, to_host
from credibly._arrays.standard_errors import mean_error
from credibly.predictions.clusters import as_ids
from credibly.results.estimates import Estimate
from credibly.statistics.linear import LinearStatistic
from credibly.statistics.protocol import CLASS_LABELS, Plan, Story, Traits
from credibly.statistics.terms import Outcomes

JointScore = Literal["energy_score", "variogram_score"]
_ELEMENTS = 2**21
"""Numbers of the tables of pairs that are worked on at a time."""

STORIES = {
    "energy_score": Story(
        title="Energy score",
        meaning="Distance between the joint predicted distribution and the label; smaller is better.",
        formula="mean of E|X − y| − ½ E|X − X′|",
        above="labels are further from the draws than the draws are from each other",
        below="labels are closer to the draws than the draws are to each other",
        citation="Gneiting and Raftery, Strictly proper scoring rules, JASA 2007.",
    ),
    "variogram_score": Story(
        title="Variogram score",
        meaning="How far distances between components of the label are from those that the draws expect.",
        formula="mean of Σ_ab (|y_a − y_b|^q − E|X_a − X_b|^q)²",
        above="distances between components are further from what the draws expect than those of draws",
        below="distances between components are closer to what the draws expect than those of draws",
        citation="Scheuerer and Hamill, Variogram-based proper scoring rules, Monthly Weather Review 2015.",
    ),
}


def energy_score(predictions: Any, labels: Any, *, clusters: Any = None) -> Estimate:
    """Compute the energy score of joint predictions: the CRPS of several numbers at once.

    Parameters
    ----------
    predictions : array (n, s, d)
        Draws of d numbers for every instance.
    labels : array (n, d)
        Observed numbers.
    clusters : array (n,), optional
        ... The standard error then allows for these clusters.

    Returns
    -------
    Estimate
        The mean over instances with its standard error.

    Notes
    -----
    The draws are taken for the distribution itself, as in `crps`; components with large units count most.

    References
    ----------
    Gneiting and Raftery, *Strictly proper scoring rules, prediction, and estimation*, JASA 2007.

    Examples
    --------
    >>> import credibly as cr
    >>> float(cr.statistics.energy_score([[[0.0, 0.0], [6.0, 8.0]]], [[0.0, 0.0]]))  # 10 / 2 - (10 + 10) / 8
    2.5
    """
    draws, seen = as_joint(predictions, labels)
    return _estimate("energy_score", score_table("energy_score", draws, seen)[:, 0], clusters)


def variogram_score(predictions: Any, labels: Any, *, order: float = 0.5, clusters: Any = None) -> Estimate:
    """Compute the variogram score of joint predictions, which sees dependence between components.

    Parameters
    ----------
    predictions : array (n, s, d)
        Draws of d numbers for every instance.
    labels : array (n, d)
        Observed numbers.
    order : float
        Power of the distances between components.
    clusters : array (n,), optional
        ... The standard error then allows for these clusters.

    Returns
    -------
    Estimate
        The mean over instances with its standard error.

    Notes
    -----
    The sum runs over all ordered pairs of components, each with weight 1. A shift of all components together
    leaves it unchanged, so read it beside `energy_score`.

    References
    ----------
    Scheuerer and Hamill, *Variogram-based proper scoring rules for probabilistic forecasts of multivariate
    quantities*, Monthly Weather Review, 2015.

    Examples
    --------
    >>> import credibly as cr
    >>> float(
    ...     cr.statistics.variogram_score([[[0.0, 4.0], [0.0, 0.0]]], [[0.0, 9.0]])
    ... )  # 2 (3 - (2 + 0) / 2)^2
    8.0
    """
    draws, seen = as_joint(predictions, labels)
    return _estimate("variogram_score", score_table("variogram_score", draws, seen, order)[:, 0], clusters)


def as_joint(predictions: Any, labels: Any) -> tuple[HostArray, HostArray]:
    """Return draws (n, s, d) and labels (n, d) on the host, checked."""
    draws = to_host(as_float64(as_real(predictions, "predictions")))
    seen = to_host(as_float64(as_real(labels, "labels")))
    rule = "must hold draws of d numbers per instance, (n, s, d)"
    remedy = "Pass an array of three axes."
    require(draws.ndim == 3 and draws.size > 0, rule, remedy, predictions=draws)
    wanted = (draws.shape[0], draws.shape[2])
    rule = f"must hold {wanted[1]} numbers for each of the {wanted[0]} instances"
    require(seen.shape == wanted, rule, "Pass an array (n, d).", labels=seen)
    require_finite(draws, "predictions")
    require_finite(seen, "labels")
    return draws, seen


def score_table(name: JointScore, draws: HostArray, labels: HostArray, order: float = 0.5) -> HostArray:
    """Return the score of every row were its label (the first) or each of its draws the label, (n, 1 + s)."""
    require_positive_number(order, "order", "Use 0.5 or 1.")
    pool = np.concatenate([labels[:, None, :], draws], axis=1)
    n, p, d = pool.shape
    of_pools = _energy if name == "energy_score" else partial(_variogram, order=order)
    parts = tiles(n, max(1, _ELEMENTS // (p * d * max(p, d))))
    with np.errstate(over="ignore", invalid="ignore"):
        table = np.concatenate([of_pools(pool[rows]) for rows in parts])
    if not np.isfinite(table).all():
        raise UnsupportedError(
            f"`{name}`",
            "takes powers of distances, and these must be numbers of this precision",
            f"the largest number is {np.abs(pool).max():.3g}",
            "Use another unit.",
        )
    return table


def _energy(pool: HostArray) -> HostArray:
    """Return what every vector of the pools (n, p, d) adds were it the label and the others the draws."""
    s = pool.shape[1] - 1
    apart = np.sqrt(((pool[:, :, None, :] - pool[:, None, :, :]) ** 2).sum(axis=-1))
    from_all = apart.sum(axis=2)
    between = from_all.sum(axis=1, keepdims=True) - 2.0 * from_all  # of the others alone
    return np.asarray(from_all / s - between / (2.0 * s * s))


def _variogram(pool: HostArray, order: float) -> HostArray:
    """Return the same for the variogram score."""
    s = pool.shape[1] - 1
    apart = np.abs(pool[:, :, :, None] - pool[:, :, None, :]) ** order
    others = (apart.sum(axis=1, keepdims=True) - apart) / s
    return np.asarray(((apart - others) ** 2).sum(axis=(2, 3)))


def _estimate(name: str, scores: HostArray, clusters: Any) -> Estimate:
    codes = None if clusters is None else np.unique(as_ids(clusters, len(scores)), return_inverse=True)[1]
    away = scores - scores.mean()
    return Estimate(name, float(scores.mean()), n=len(scores), **mean_error(away, codes))


@dataclasses.dataclass(frozen=True)
class OfChoices(LinearStatistic):
    """A score of joint predictions where the label is a choice among itself and the draws."""

    _score: JointScore
    _table: HostArray = dataclasses.field(repr=False)
    reference: ClassVar[str] = "Gneiting and Raftery 2007"
    traits: ClassVar[Traits] = Traits(tail="two-sided", labels=CLASS_LABELS)

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", self._score)
        object.__setattr__(self, "story", STORIES[self._score])

    def terms(self, predictions: Any, plan: Plan) -> Outcomes:
        """Return the score of every choice."""
        return Outcomes(predictions.probs, lambda: self._table)
