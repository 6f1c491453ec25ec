"""Dirichlet predictions: evidential networks, prior networks, and ensembles of them."""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar

import numpy as np

from credibly._arrays.checks import as_real, require_integer, require_positive_entries
from credibly._arrays.namespace import Array, as_float64, like, namespace, to_host, without_rounding
from credibly._arrays.philox import as_seed
from credibly.predictions.base import ClassPredictions
from credibly.predictions.ensemble import Ensemble, members_second, used_weights, weighted_mean
from credibly.predictions.label_counts import LabelCounts
from credibly.predictions.point import Point
from credibly.predictions.second_order import SecondOrder


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Dirichlet(ClassPredictions):
    """A Dirichlet distribution over probability vectors per instance, or one per instance and member.

    Parameters
    ----------
    alpha : array (n, k) or (n, m, k)
        Concentrations, positive.
    member_axis : {0, 1}, optional
        ...
    weights : array (m,), optional
        Weights of the members, non-negative and summing to 1: the prediction is the mixture of their
        Dirichlets. Default: equal weights. Members of weight 0 are left out.

    Examples
    --------
    >>> import credibly as cr
    >>> cr.Dirichlet([[8.0, 1.0, 1.0]]).mean().probs
    array([[0.8, 0.1, 0.1]])
    >>> cr.Dirichlet([[[8.0, 2.0], [1.0, 1.0]]], weights=[0.25, 0.75]).mean().probs
    array([[0.575, 0.425]])
    """

    alpha: Array
    member_axis: dataclasses.InitVar[int | None] = None
    weights: Array | None = None
    row_fields: ClassVar[tuple[str, ...]] = ("alpha",)
    axes_with_members: ClassVar[int] = 3

    def __post_init__(self, member_axis: int | None) -> None:
        alpha = as_real(self.alpha, "alpha")
        alpha = members_second(alpha, "alpha", member_axis, "(n, m, k)", "(n, k)")
        require_positive_entries(
            alpha, "alpha", "If this is evidence, use `Dirichlet.from_evidence`, which adds 1."
        )
        weights, kept, notes = used_weights(self.weights, alpha, 3)
        if kept is not None:
            alpha = namespace(alpha).take(alpha, kept, axis=1)
        self._set(alpha=alpha, weights=weights, notes=notes)

    @classmethod
    def from_evidence(
        cls, evidence: Any, *, member_axis: int | None = None, weights: Any = None
    ) -> Dirichlet:
        """Make a Dirichlet from evidence: ``alpha = evidence + 1``.

        Parameters
        ----------
        evidence : array (n, k) or (n, m, k)
            Finite and not negative.
        member_axis : {0, 1}, optional
            ...
        weights : array (m,), optional
            Weights of the members.

        Returns
        -------
        Dirichlet
            The predictions.
        """
        values = as_real(evidence, "evidence", "(n, k)", "(n, m, k)")
        remedy = "Apply the network's output activation (relu, softplus, exp) first."
        require_positive_entries(values, "evidence", remedy, or_zero=True)
        return cls(values + 1.0, member_axis=member_axis, weights=weights)

    @property
    def mean_note(self) -> str:
        """What `mean` does."""
        whose = "mean of the Dirichlet" if self.weights is None else "weighted mean of the Dirichlets"
        return f"used the {whose} as the one prediction per instance"

    def member_means(self) -> Array:
        """Return the mean distribution of every member, (n, k) or (n, m, k)."""
        alpha = as_float64(self.alpha)
        xp = namespace(alpha)
        share = alpha / xp.max(alpha, axis=-1, keepdims=True)  # the sum of huge parameters would overflow
        return share / xp.sum(share, axis=-1, keepdims=True)

    def mean(self) -> Point:
        """Return ``alpha / sum(alpha)``, averaged over members by weight.

        Returns
        -------
        Point
            The mean distribution of every instance.
        """

        def mean() -> Array:
            means = self.member_means()
            if means.ndim == 2:
                return without_rounding(means, means.shape[1])
            return weighted_mean(means, self.weights)

        return Point._trusted(self.once("mean", mean))

    def given(self, counts: LabelCounts) -> Dirichlet | SecondOrder:
        """Return what is predicted for further labels after some labels of every instance have been seen.

        Parameters
        ----------
        counts : LabelCounts or array (n, k)
            How many labels of each class were seen; an instance may have none.

        Returns
        -------
        Dirichlet or SecondOrder
            ``alpha + counts``; members also get new weights, by instance.

        Examples
        --------
        >>> import credibly as cr
        >>> cr.Dirichlet([[2.0, 2.0]]).given(cr.LabelCounts([[1, 0]])).alpha
        array([[3., 2.]])
        """
        law = SecondOrder.of(self).given(counts)
        return self.replace_rows(alpha=law.members[:, 0, :]) if self.alpha.ndim == 2 else law

    def sample(self, m: int, *, rng: Any = None) -> Ensemble:
        """Draw probability vectors; ensembles of Dirichlets give `m` draws per member, or as many by weight.

        Parameters
        ----------
        m : int
            Draws per instance (and member).
        rng : None, int or Generator
            ...

        Returns
        -------
        Ensemble
            Draws, (n, m, k) or (n, members * m, k).

        Notes
        -----
        Of weighted members as many draws are made in all, each with the same weight. Those of member j are
        ``members * m * weights[j]`` in number, rounded down or up at random in every instance so that their
        mean number is exact.
        """
        m = require_integer(m, "m", 1)
        generator = np.random.default_rng(as_seed(rng))
        alpha = to_host(as_float64(self.alpha))
        alpha = alpha[:, None, :] if alpha.ndim == 2 else alpha
        if self.weights is None:
            alpha = np.repeat(alpha, m, axis=1)
        else:
            chosen = _by_weight(to_host(as_float64(self.weights)), len(self), m * self.n_members, generator)
            alpha = np.take_along_axis(alpha, chosen[:, :, None], axis=1)
        return Ensemble(like(_dirichlet(alpha, generator), self.alpha), member_axis=1)


def _by_weight(weights: Array, n: int, total: int, generator: np.random.Generator) -> Array:
    """Return which member makes each of `total` draws of n instances, (n, total), in order of the members.

    Points one step apart, from a random start, fall on the steps of the weights: systematic sampling.
    """
    steps = np.cumsum(weights) / weights.sum() * total
    # sums of weights are a little less, or more, than the whole number that they reach
    whole = np.round(steps)
    steps = np.where(np.abs(steps - whole) < 1e-9 * total, whole, steps)
    points = generator.random((n, 1)) + np.arange(total)
    return np.searchsorted(steps[:-1], points, side="right")


def _dirichlet(alpha: Array, generator: np.random.Generator) -> Array:
    """Draw from Dirichlet(alpha) through logarithms of gammas: tiny parameters underflow otherwise.

    G(a) has the law of G(a + 1) U^(1/a).
    """
    log_gamma = np.log(generator.standard_gamma(alpha + 1.0))
    log_gamma += np.log1p(-generator.random(alpha.shape)) / alpha
    log_gamma -= log_gamma.max(axis=-1, keepdims=True)
    weights = np.exp(log_gamma)
    return weights / weights.sum(axis=-1, keepdims=True)
