"""How the labels of an instance may be distributed: members or Dirichlets, with weights of every instance.

    pi_i = sum_m w_im delta(theta_im)     or     sum_m w_im Dirichlet(alpha_im)

    mean       mu_a = sum_m w_m z_ma                    z the members, or alpha / A with A = sum alpha
    variance   Var theta_a = sum_m w_m (v_ma + (z_ma - mu_a)^2)         v = 0, or z (1 - z) / (A + 1)
    given c    w_m prop. to w_m prod theta_ma^c_a                               (members)
               w_m prop. to w_m prod (alpha_ma)_(c_a) / (A_m)_(n), alpha_m + c  (Dirichlets)

(x)_(c) is the rising factorial, of which the posterior of a mixture is made (Ferguson 1973).
"""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar

import numpy as np
from scipy.special import gammaln

from credibly._arrays.errors import InputError, InputTypeError
from credibly._arrays.namespace import Array, HostArray, as_float64, like, namespace, softmax, to_host
from credibly._arrays.notes import counted
from credibly.predictions.base import ClassPredictions
from credibly.predictions.label_counts import LabelCounts
from credibly.predictions.point import Point


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class SecondOrder(ClassPredictions):
    """A law over the distributions of labels, such as `Ensemble.given` and `Dirichlet.given` return.

    Attributes
    ----------
    members : array (n, m, k)
        Distributions, or parameters of Dirichlets.
    shares : array (n, m)
        Weight of every member, by instance.
    is_dirichlet : bool
        Whether members are parameters of Dirichlets.

    Examples
    --------
    >>> import credibly as cr
    >>> members = cr.Ensemble([[[0.9, 0.1], [0.5, 0.5]]])
    >>> told = members.given(cr.LabelCounts([[0, 1]]))  # one label of the second class
    >>> told.shares.round(3), told.mean().probs.round(3)
    (array([[0.167, 0.833]]), array([[0.567, 0.433]]))
    """

    members: Array
    shares: Array
    is_dirichlet: bool = False
    row_fields: ClassVar[tuple[str, ...]] = ("members", "shares")
    axes_with_members: ClassVar[int] = 3

    @classmethod
    def of(cls, predictions: Any) -> SecondOrder:
        """Return what an Ensemble, a Dirichlet or a mixture of Dirichlets says about distributions of labels.

        Parameters
        ----------
        predictions : Ensemble, Dirichlet or SecondOrder
            The predictions.

        Returns
        -------
        SecondOrder
            The same law; one Dirichlet per instance is its only member.
        """
        if isinstance(predictions, SecondOrder):
            return predictions
        is_dirichlet = hasattr(predictions, "alpha")
        if not is_dirichlet and not (hasattr(predictions, "probs") and hasattr(predictions, "weights")):
            raise InputTypeError(
                "predictions",
                "must say how the distribution of labels may vary",
                f"got {type(predictions).__name__}, which states one distribution, or a set without weights",
                "Pass all members of the ensemble (`Ensemble`), or a `Dirichlet`.",
            )
        members = as_float64(predictions.alpha if is_dirichlet else predictions.probs)
        xp = namespace(members)
        members = members if members.ndim == 3 else members[:, None, :]
        n, m = members.shape[:2]
        weights = predictions.weights
        shares = xp.ones_like(members[:, :, 0]) / m
        if weights is not None:
            weights = as_float64(weights)
            shares = xp.broadcast_to((weights / xp.sum(weights))[None, :], (n, m))
        made = cls(members, shares, is_dirichlet)
        made._set(notes=predictions.notes, classes=predictions.classes, index=predictions.index)
        return made

    @property
    def mean_note(self) -> str:
        """What `mean` does."""
        return "used the weighted mean of the members as the one prediction per instance"

    def member_means(self) -> Array:
        """Return the mean distribution of every member, (n, m, k)."""
        if not self.is_dirichlet:
            return self.members
        return self.members / self.xp.sum(self.members, axis=-1, keepdims=True)

    def mean(self) -> Point:
        """Return the mean distribution of every instance."""
        mean = self.xp.sum(self.shares[..., None] * self.member_means(), axis=1)
        return Point._trusted(mean / self.xp.sum(mean, axis=-1, keepdims=True))

    def variance(self) -> Array:
        """Return the variance of the probability of every class, (n, k): the stated ignorance."""
        xp, z = self.xp, self.member_means()
        square = (z - self.mean().probs[:, None, :]) ** 2
        if self.is_dirichlet:
            square = square + z * (1.0 - z) / (1.0 + xp.sum(self.members, axis=-1, keepdims=True))
        return xp.sum(self.shares[..., None] * square, axis=1)

    def given(self, counts: LabelCounts) -> SecondOrder:
        """Return the law after some labels of every instance have been seen.

        Parameters
        ----------
        counts : LabelCounts or array (n, k)
            How many labels of each class were seen; an instance may have none.

        Returns
        -------
        SecondOrder
            The same members with other weights; Dirichlets also have other parameters.
        """
        seen = _seen(counts, self)
        members, shares = to_host(self.members), to_host(self.shares)
        with np.errstate(divide="ignore"):
            weight = np.log(shares) + log_evidence(members, seen, self.is_dirichlet)
        impossible = np.flatnonzero(np.isneginf(weight).all(axis=1))
        if impossible.size:
            raise InputError(
                "`counts`",
                "must be possible under at least one member",
                f"all members give probability 0 to labels of row {impossible[0]} "
                f"({counted(impossible.size, 'row', 'rows')} in all)",
                "Check the order of the classes, or add a small constant to the members and normalise them.",
            )
        added = members + seen[:, None, :] if self.is_dirichlet else members
        return self.replace_rows(members=like(added, self.members), shares=softmax(like(weight, self.shares)))

    def _facts(self) -> str:
        kind = "Dirichlets" if self.is_dirichlet else "members"
        return f"n={len(self)}, m={self.n_members} {kind}, k={self.n_classes}"


def _seen(counts: Any, predictions: Any) -> HostArray:
    """Return counts (n, k) of labels beside predictions, in double precision."""
    seen = to_host(as_float64(counts.counts if isinstance(counts, LabelCounts) else np.asarray(counts)))
    shape = (len(predictions), predictions.n_classes)
    if seen.shape != shape or (seen < 0).any() or not np.isfinite(seen).all():
        raise InputError(
            "`counts`",
            f"must have shape {shape} and hold numbers of labels, 0 or more",
            f"got shape {seen.shape}, smallest {seen.min():g}",
            "Count the labels of these instances, class by class.",
        )
    return seen


def log_evidence(members: HostArray, counts: HostArray, is_dirichlet: bool) -> HostArray:
    """Return the log-probability of labels with these counts, in one order, under every member, (n, m)."""
    counts = counts[:, None, :]
    if is_dirichlet:
        rising = (gammaln(members + counts) - gammaln(members)).sum(axis=-1)
        total, number = members.sum(axis=-1), counts.sum(axis=-1)
        return np.asarray(rising - gammaln(total + number) + gammaln(total))
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.where(counts > 0, counts * np.log(members), 0.0).sum(axis=-1))
