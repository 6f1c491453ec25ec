"""Several labels of an instance, drawn from what is predicted about their distribution, and what they show.

Labels are drawn one by one: a member by its weight, then from that distribution or, for a Dirichlet, from
Polya's urn, (alpha + labels so far) / (A + their number). With c the counts of n labels, mu and V the mean
and the variance that are stated:

    pairs    sum_a (c_a (c_a - 1) / (n (n - 1)) - 2 mu_a c_a / n + mu_a^2)  -  sum_a V_a
             = mean over pairs of labels of <e_y - mu, e_y' - mu>, minus what is stated
    score    d/ds log g(c) at s = 0, where s widens the law by e^s around its mean:
             theta -> mu + e^s (theta - mu),     A -> e^(-2 s) A
             members      sum_m w_m(c) sum_a c_a (theta_ma - mu_a) / theta_ma
             Dirichlets   sum_m w_m(c) [sum_a d_ma (psi(alpha_ma + c_a) - psi(alpha_ma))
                                        + 2 A_m (psi(A_m + n) - psi(A_m))],   d_m = A_m (z_m - mu) - 2 alpha_m

Both have mean 0 if labels are drawn as stated; the score is that of the likelihood g, so no other statistic
notices a slightly wrong spread better. With one label it is 0 whatever is stated.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import numpy as np

from credibly._arrays.namespace import HostArray, tiles, to_host
from credibly._arrays.philox import Seed, Stream, Uniforms
from credibly.predictions.second_order import SecondOrder

_TILE_ELEMENTS = 2**22
_LEAST = 1e-12
"""Probabilities below it are raised to it in ratios."""
_NEXT_LABEL = 2**32
"""Counters between the replicates of one label and of the next, so that replicates can be added."""


@dataclasses.dataclass(frozen=True)
class LabelLaw:
    """A second-order prediction on the host: members (n, m, k), shares (n, m), mean and variance (n, k)."""

    members: HostArray
    shares: HostArray
    is_dirichlet: bool
    mean: HostArray
    variance: HostArray

    @classmethod
    def of(cls, predictions: SecondOrder) -> LabelLaw:
        """Return the law of all rows."""
        arrays = predictions.members, predictions.shares
        moments = predictions.mean().probs, predictions.variance()
        members, shares, mean, variance = (to_host(array) for array in (*arrays, *moments))
        return cls(members, shares, predictions.is_dirichlet, mean, variance)

    def rows(self, rows: slice | HostArray) -> LabelLaw:
        """Return the law of some rows."""
        arrays = (self.members[rows], self.shares[rows], self.is_dirichlet)
        return LabelLaw(*arrays, self.mean[rows], self.variance[rows])

    def of_means(self) -> LabelLaw:
        """Return the law whose labels are drawn from the mean itself."""
        nothing = np.zeros_like(self.variance)
        return LabelLaw(self.mean[:, None], np.ones((len(self.mean), 1)), False, self.mean, nothing)


def drawn_tiles(
    law: LabelLaw, counts: HostArray, n_resamples: int, seed: Seed
) -> Iterator[tuple[slice, LabelLaw, HostArray]]:
    """Yield rows, their law, and counts (rows, 1 + n_resamples, k), the observed ones first."""
    n, k = counts.shape
    width = max(k, law.members.shape[1])
    uniforms = Uniforms(seed, Stream.SECOND_LABELS)
    for rows in tiles(n, max(1, _TILE_ELEMENTS // ((1 + n_resamples) * width))):
        part = law.rows(rows)
        drawn = np.empty((rows.stop - rows.start, 1 + n_resamples, k))
        drawn[:, 0] = counts[rows]
        drawn[:, 1:] = _drawn(part, counts[rows].sum(axis=1), n_resamples, uniforms, rows)
        yield rows, part, drawn


def _drawn(law: LabelLaw, totals: HostArray, n_resamples: int, uniforms: Uniforms, rows: slice) -> HostArray:
    def uniform(place: int) -> HostArray:
        """Return a number for every row and replicate, (rows, b, 1)."""
        first = place * _NEXT_LABEL
        return np.asarray(uniforms.draw(slice(first, first + n_resamples), rows).T[..., None])

    weights = law.shares.cumsum(axis=1)
    chosen = (uniform(0) >= (weights / weights[:, -1:])[:, None, :-1]).sum(axis=-1)
    urn = np.take_along_axis(law.members, chosen[..., None], axis=1)  # (rows, b, k)
    counts = np.zeros_like(urn)
    for place in range(1, 1 + int(totals.max())):
        if place == 1 or law.is_dirichlet:
            steps = urn.cumsum(axis=-1)
            steps = steps[..., :-1] / steps[..., -1:]
        label = (uniform(place) >= steps).sum(axis=-1, keepdims=True)
        added = (place <= totals)[:, None, None].astype(np.float64)
        np.put_along_axis(counts, label, np.take_along_axis(counts, label, axis=-1) + added, axis=-1)
        if law.is_dirichlet:
            np.put_along_axis(urn, label, np.take_along_axis(urn, label, axis=-1) + added, axis=-1)
    return counts


def pair_products(mean: HostArray, counts: HostArray) -> HostArray:
    """Return the mean of (e_y - mu)_a (e_y' - mu)_a over pairs of labels, class by class, (..., k)."""
    number = counts.sum(axis=-1, keepdims=True)
    both = counts * (counts - 1.0) / (number * (number - 1.0))
    return np.asarray(both - 2.0 * mean * counts / number + mean**2)


def pair_gaps(law: LabelLaw, drawn: HostArray) -> HostArray:
    """Return what pairs of labels show beyond the stated variance, (rows, 1 + b)."""
    products = pair_products(law.mean[:, None, :], drawn).sum(axis=-1)
    return np.asarray(products - law.variance.sum(axis=-1)[:, None])


def moment_gaps(law: LabelLaw, drawn: HostArray, order: int) -> HostArray:
    """Return (c_a)_r / (n)_r - E theta_a^r, class by class, (rows, 1 + b, k); 0 in rows with fewer labels."""
    total = law.members.sum(axis=-1, keepdims=True)
    stated, seen = np.ones_like(law.members), np.ones_like(drawn)
    number = drawn.sum(axis=-1, keepdims=True)
    for step in range(order):
        stated = stated * ((law.members + step) / (total + step) if law.is_dirichlet else law.members)
        seen = seen * (drawn - step) / np.maximum(number - step, 1.0)
    expected = (law.shares[..., None] * stated).sum(axis=1)
    return np.where(number >= order, seen - expected[:, None, :], 0.0)


def spread_scores(law: LabelLaw, drawn: HostArray) -> HostArray:
    """Return the scores in the log of the spread, (rows, 1 + b): positive if labels vary more than stated."""
    if law.is_dirichlet:
        log_weight, slope = _dirichlet_parts(law, drawn)
    else:
        kept = np.maximum(law.members, _LEAST)
        away = (law.members - law.mean[:, None, :]) / kept
        log_weight = drawn @ np.log(kept).transpose(0, 2, 1)  # (rows, 1 + b, m)
        slope = drawn @ away.transpose(0, 2, 1)
    if law.shares.shape[1] == 1:
        return np.asarray(slope[..., 0])
    with np.errstate(divide="ignore"):
        log_weight = log_weight + np.log(law.shares)[:, None, :]
    weight = np.exp(log_weight - log_weight.max(axis=-1, keepdims=True))
    return np.asarray((weight * slope).sum(axis=-1) / weight.sum(axis=-1))


def _dirichlet_parts(law: LabelLaw, drawn: HostArray) -> tuple[HostArray, HostArray]:
    """Return log evidence and slope of every Dirichlet, (rows, 1 + b, m), from tables over the counts."""
    counts, alpha = drawn.astype(np.intp), law.members
    total = alpha.sum(axis=-1, keepdims=True)
    turn = total * (alpha / total - law.mean[:, None, :]) - 2.0 * alpha
    steps = np.arange(int(counts.sum(axis=-1).max()))
    number = counts.sum(axis=-1)

    def looked_up(base: HostArray, at: HostArray) -> tuple[HostArray, HostArray]:
        """Return log (base)_(c) and psi(base + c) - psi(base) at whole c, (rows, 1 + b)."""
        above = base[:, None] + steps
        return tuple(  # type: ignore[return-value]
            np.take_along_axis(np.pad(part.cumsum(axis=1), ((0, 0), (1, 0))), at, axis=1)
            for part in (np.log(above), 1.0 / above)
        )

    log_weight, slope = np.zeros((2, *number.shape, alpha.shape[1]))
    for m in range(alpha.shape[1]):
        for a in range(alpha.shape[2]):
            rising, digamma = looked_up(alpha[:, m, a], counts[..., a])
            log_weight[..., m] += rising
            slope[..., m] += turn[:, m, a, None] * digamma
        rising, digamma = looked_up(total[:, m, 0], number)
        log_weight[..., m] -= rising
        slope[..., m] += 2.0 * total[:, m] * digamma
    return log_weight, slope
