"""How likely raters' labels are under Dirichlets of a given mean and a free concentration.

    log P(y) = log G(A) - log G(A + N) + sum_k log G(a_k + y_k) - log G(a_k)
    a = exp(s) base,  A = sum_k a_k,  N = sum_k y_k

and log of the mean over members if there are several (D21 App. D.2). The constant of the multinomial is left
out. Differences of gammas are taken in forms that lose no digits for huge and for tiny parameters.
"""

from __future__ import annotations

import numpy as np
from scipy.special import betaln, digamma, gammaln

from credibly._arrays.namespace import HostArray

_LARGE = 1e4


class CountsLikelihood:
    """Log-likelihood of label counts as a function of the log concentration factor of every instance.

    Parameters
    ----------
    base : ndarray (n, m, k)
        Parameters at factor 1: probabilities, or the concentrations of Dirichlets.
    counts : ndarray (n, k)
        Labels of every instance, at least one each.
    shares : ndarray (m,)
        Weights of the members, positive and summing to 1.
    """

    def __init__(self, base: HostArray, counts: HostArray, shares: HostArray) -> None:
        self.n, self.shares = len(base), shares
        row, column = np.nonzero(counts)
        self.starts = np.searchsorted(row, np.arange(self.n))
        self.owner = row
        self.label_base, self.label_counts = base[row, :, column], counts[row, column][:, None]
        self.sums, self.totals = base.sum(axis=-1), counts.sum(axis=-1)[:, None]

    def __call__(self, factors: HostArray) -> tuple[HostArray, HostArray]:
        """Return log-likelihoods (n,) and their derivatives in the log factors s, (n,) or (n, m)."""
        scale = np.exp(factors).reshape(self.n, -1)
        whole = scale * self.sums
        labelled = scale[self.owner] * self.label_base
        value = np.add.reduceat(rise(labelled, self.label_counts), self.starts, axis=0)
        value -= rise(whole, self.totals)
        slope = np.add.reduceat(rise_slope(labelled, self.label_counts), self.starts, axis=0)
        slope -= rise_slope(whole, self.totals)
        top = value.max(axis=1, keepdims=True)
        shares = self.shares * np.exp(value - top)
        mass = shares.sum(axis=1, keepdims=True)
        slope = shares / mass * slope
        return top[:, 0] + np.log(mass[:, 0]), slope.sum(axis=1) if factors.ndim == 1 else slope

    def limit(self) -> HostArray:
        """Return the log-likelihoods without any spread, s -> infinity: raters draw from the mean itself."""
        logs = self.label_counts * np.log(self.label_base / self.sums[self.owner])
        value = np.add.reduceat(logs, self.starts, axis=0)
        top = value.max(axis=1, keepdims=True)
        mixed: HostArray = top[:, 0] + np.log(np.exp(value - top) @ self.shares)
        return mixed

    def take(self, rows: HostArray) -> CountsLikelihood:
        """Return the likelihood of some instances."""
        part = object.__new__(CountsLikelihood)
        part.n, part.shares = len(rows), self.shares
        ends = np.append(self.starts[1:], len(self.owner))
        lengths = (ends - self.starts)[rows]
        part.starts = np.concatenate([[0], np.cumsum(lengths)[:-1]]).astype(np.intp)
        part.owner = np.repeat(np.arange(len(rows)), lengths)
        entries = np.repeat(self.starts[rows] - part.starts, lengths) + np.arange(lengths.sum())
        part.label_base, part.label_counts = self.label_base[entries], self.label_counts[entries]
        part.sums, part.totals = self.sums[rows], self.totals[rows]
        return part


def rise(a: HostArray, y: HostArray) -> HostArray:
    """Return log G(a + y) - log G(a)."""
    value: HostArray = gammaln(y) - betaln(a, y)
    return value


def rise_slope(a: HostArray, y: HostArray) -> HostArray:
    """Return a (psi(a + y) - psi(a)), the derivative of `rise` in log a."""
    small = np.minimum(a, _LARGE)
    exact = 1.0 + small * (digamma(small + y) - digamma(small + 1.0))
    large = np.maximum(a, _LARGE)
    return np.where(a < _LARGE, exact, large * np.log1p(y / (large - 0.5)))
