"""Dirichlet predictions: evidential networks, prior networks, and ensembles of them."""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar

import numpy as np

from credibly._arrays.checks import (
    as_real,
    require_classes,
    require_finite,
    require_integer,
    require_rows,
    require_shape,
)
from credibly._arrays.namespace import Array, as_float64, like, namespace, to_host
from credibly._arrays.philox import as_seed
from credibly.predictions.base import ClassPredictions
from credibly.predictions.ensemble import Ensemble, members_second, refuse_member_axis
from credibly.predictions.point import Point


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Dirichlet(ClassPredictions):
    """A Dirichlet distribution over probability vectors per instance, or one per instance and member.

    Parameters
    ----------
    alpha : array (n, k) or (n, m, k)
        Concentrations, positive.
    member_axis : {0, 1}, optional
        Where the members are in a three-dimensional `alpha`.

    Examples
    --------
    >>> import credibly as cr
    >>> cr.Dirichlet([[8.0, 1.0, 1.0]]).mean().probs
    array([[0.8, 0.1, 0.1]])
    """

    alpha: Array
    member_axis: dataclasses.InitVar[int | None] = None
    row_fields: ClassVar[tuple[str, ...]] = ("alpha",)
    mean_note: ClassVar[str] = "used the mean of the Dirichlet as the one prediction per instance"

    def __post_init__(self, member_axis: int | None) -> None:
        alpha = as_real(self.alpha, "alpha")
        require_shape(alpha, "alpha", ("(n, k)", "(n, m, k)"))
        if alpha.ndim == 3:
            alpha = members_second(alpha, "alpha", member_axis)
        elif member_axis is not None:
            refuse_member_axis(alpha, "alpha", member_axis)
        require_classes(alpha.shape[-1], "alpha")
        require_finite(alpha, "alpha")
        require_rows(
            (alpha,),
            lambda block: block <= 0,
            name="alpha",
            rule="must be positive",
            fact=lambda row: f"holds {row.min():.6g}",
            remedy="If this is evidence, use `Dirichlet.from_evidence`, which adds 1.",
        )
        self._set(alpha=alpha)

    @classmethod
    def from_evidence(cls, evidence: Any, *, member_axis: int | None = None) -> Dirichlet:
        """Make a Dirichlet from evidence: ``alpha = evidence + 1``.

        Parameters
        ----------
        evidence : array (n, k) or (n, m, k)
            Finite and not negative.
        member_axis : {0, 1}, optional
            Where the members are.

        Returns
        -------
        Dirichlet
            The predictions.
        """
        values = as_real(evidence, "evidence")
        require_shape(values, "evidence", ("(n, k)", "(n, m, k)"))
        require_finite(values, "evidence")
        require_rows(
            (values,),
            lambda block: block < 0,
            name="evidence",
            rule="must not be negative",
            fact=lambda row: f"holds {row.min():.6g}",
            remedy="Apply the network's output activation (relu, softplus, exp) first.",
        )
        return cls(values + 1.0, member_axis=member_axis)

    @property
    def n_members(self) -> int:
        """Number of members."""
        return int(self.alpha.shape[1]) if self.alpha.ndim == 3 else 1

    def member_means(self) -> Array:
        """Return the mean distribution of every member, (n, k) or (n, m, k)."""
        alpha = as_float64(self.alpha)
        xp = namespace(alpha)
        share = alpha / xp.max(alpha, axis=-1, keepdims=True)  # the sum of huge parameters would overflow
        return share / xp.sum(share, axis=-1, keepdims=True)

    def mean(self) -> Point:
        """Return ``alpha / sum(alpha)``, averaged over members.

        Returns
        -------
        Point
            The mean distribution of every instance.
        """
        means = self.member_means()
        return Point._trusted(self.xp.mean(means, axis=1) if means.ndim == 3 else means)

    def sample(self, m: int, *, rng: Any = None) -> Ensemble:
        """Draw probability vectors; ensembles of Dirichlets give `m` draws per member.

        Parameters
        ----------
        m : int
            Draws per instance (and member).
        rng : None, int or Generator
            Seed. The draws are made on the host, so a seed gives the same numbers on every device.

        Returns
        -------
        Ensemble
            Draws, (n, m, k) or (n, members * m, k).
        """
        m = require_integer(m, "m", 1)
        generator = np.random.default_rng(as_seed(rng))
        alpha = to_host(as_float64(self.alpha))
        alpha = alpha[:, None, :] if alpha.ndim == 2 else alpha
        draws = _dirichlet(np.repeat(alpha, m, axis=1), generator)
        return Ensemble(like(draws, self.alpha), member_axis=1)


def _dirichlet(alpha: Array, generator: np.random.Generator) -> Array:
    """Draw from Dirichlet(alpha) through logarithms of gammas: tiny parameters underflow otherwise.

    G(a) has the law of G(a + 1) U^(1/a).
    """
    log_gamma = np.log(generator.standard_gamma(alpha + 1.0))
    log_gamma += np.log1p(-generator.random(alpha.shape)) / alpha
    log_gamma -= log_gamma.max(axis=-1, keepdims=True)
    weights = np.exp(log_gamma)
    return weights / weights.sum(axis=-1, keepdims=True)
