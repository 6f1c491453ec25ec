"""The null distribution of the quadratic kernel error from its exact moments and leading eigenvalues.

Given predictions, labels are independent, so with S_i = diag(p_i) - p_i p_i' and sums over different indices

    E T   = 0
    E T^2 = 2 sum k_ij^2 tr(S_i S_j)
    E T^3 = 8 sum k_ij k_jl k_li tr(S_i S_j S_l) + 4 sum k_ij^3 E (r_i . r_j)^3

for T = sum_{i != j} k_ij <r_i, r_j>, which is close to sum_a w_a (Z_a^2 - 1) with the eigenvalues w of the
matrix of blocks k_ij S_i^(1/2) S_j^(1/2). The largest few are taken as they are and a Pearson III
distribution stands for the rest, such that all three moments of the whole are exact. Pearson III for the
whole is off by up to 0.1 where one eigenvalue carries most of the variance (two classes).
"""

from __future__ import annotations

import math

import numpy as np

from credibly._arrays.namespace import HostArray

LEADING = 6
_ITERATIONS = 12
_PERIOD = 80.0  # standard deviations after which the inverted distribution repeats
_STEP = 2.0 * math.pi / _PERIOD
_NODES = 8192
_INVERTED = 1e-8  # probabilities the inversion can tell from 0


def quadratic_null_moments(kernel: HostArray, probs: HostArray) -> tuple[float, float]:
    """Return the variance and the third central moment of sum_{i != j} k_ij <r_i, r_j>.

    Parameters
    ----------
    kernel : ndarray (n, n)
        Symmetric; the diagonal is not used.
    probs : ndarray (n, k)
        The distributions labels are drawn from.

    Returns
    -------
    tuple of float
        E T^2 and E T^3. The mean is 0.

    Notes
    -----
    Costs k products of n x n matrices.
    """
    off = kernel.copy()
    np.fill_diagonal(off, 0.0)
    overlap = probs @ probs.T
    variance = 2.0 * float(np.vdot(off * off, covariance_overlap(probs, overlap)))
    same_pair = 4.0 * float(np.vdot(off**3, third_moments(probs, overlap)))
    return variance, 8.0 * _triangles(off, probs, overlap) + same_pair


def covariance_overlap(probs: HostArray, overlap: HostArray) -> HostArray:
    """Return tr(S_i S_j) = p.q - p.q^2 - p^2.q + (p.q)^2, (n, n)."""
    half = probs @ (probs**2).T
    found: HostArray = overlap - half - half.T + overlap**2
    return found


def third_moments(probs: HostArray, overlap: HostArray) -> HostArray:
    """Return E (r_i . r_j)^3, the product of the third cumulants of two categorical variables, (n, n)."""
    square, cube = probs**2, probs**3
    one_two, one_three = probs @ square.T, probs @ cube.T
    found: HostArray = (
        overlap
        - 3.0 * (one_two + one_two.T)
        + 2.0 * (one_three + one_three.T)
        + 3.0 * overlap**2
        + 6.0 * (square @ square.T)
        - 6.0 * overlap * (one_two + one_two.T)
        + 4.0 * overlap**3
    )
    return found


def _triangles(off: HostArray, probs: HostArray, overlap: HostArray) -> float:
    """Return sum over different i, j, l of k_ij k_jl k_li tr(S_i S_j S_l).

    With S = D - p p', the trace falls into DDD - 3 DDP + 3 DPP - PPP by symmetry of the sum; for each class
    c all but the last need only C = K D_c K, one symmetric product.
    """
    weighted = off * overlap
    total = -float(np.vdot(weighted @ weighted, weighted))  # PPP
    for column in probs.T:
        scaled = off * np.sqrt(column)[None, :]
        between = scaled @ scaled.T  # C_jl = sum_i k_ji p_ic k_il
        left = between * column[:, None]  # p_jc C_jl
        total += float(np.sum((left * off) @ (column - 3.0 * column**2)))
        total += 3.0 * float(np.sum((left * weighted) @ column))
    return total


def leading_eigenvalues(kernel: HostArray, probs: HostArray, count: int = LEADING) -> HostArray:
    """Return the largest positive eigenvalues of the matrix with blocks k_ij S_i^(1/2) S_j^(1/2), i != j.

    By subspace iteration from fixed random vectors. An eigenvalue that has not converged moves weight to the
    rest of the distribution and leaves the three moments as they are.
    """
    n, k = probs.shape
    off = kernel.copy()
    np.fill_diagonal(off, 0.0)
    root = np.sqrt(probs)[:, :, None]

    def halved(block: HostArray) -> HostArray:
        """Multiply by G' with S = G G', G = diag(root) (1 - root root')."""
        scaled = root * block
        made: HostArray = scaled - root * np.sum(root * scaled, axis=1, keepdims=True)
        return made

    def applied(vectors: HostArray) -> HostArray:
        block = vectors.reshape(n, k, -1)
        spread = root * (block - root * np.sum(root * block, axis=1, keepdims=True))
        return halved((off @ spread.reshape(n, -1)).reshape(block.shape)).reshape(vectors.shape)

    size = min(2 * count, n * k)
    basis = np.linalg.qr(np.random.default_rng(0).standard_normal((n * k, size)))[0]
    for _ in range(_ITERATIONS):
        basis = np.linalg.qr(applied(basis))[0]
    found: HostArray = np.linalg.eigvalsh(basis.T @ applied(basis))[::-1][:count]
    return found[found > 0]


class QuadraticForm:
    """The distribution of sum_a w_a (Z_a^2 - 1) plus a Pearson III variable, with two given moments.

    Parameters
    ----------
    weights : ndarray
        Leading eigenvalues.
    variance, third : float
        Central moments of the sum.
    """

    def __init__(self, weights: HostArray, variance: float, third: float) -> None:
        self.variance, self.third = variance, third
        self.scale = math.sqrt(variance)
        if self.scale == 0:
            return
        w = weights / self.scale
        rest = max(0.0, 1.0 - 2.0 * float(np.sum(w**2)))
        skewed = third / self.scale**3 - 8.0 * float(np.sum(w**3))
        u = (np.arange(_NODES) + 0.5) * _STEP
        log_phi = np.zeros(u.size, dtype=np.complex128)
        for weight in w:
            log_phi += -0.5 * np.log(1.0 - 2.0j * weight * u) - 1.0j * weight * u
        if rest > 0:
            slope = skewed / (2.0 * rest)
            if abs(slope) < 1e-8:
                log_phi -= rest * u**2 / 2.0
            else:
                log_phi -= rest / slope**2 * np.log(1.0 - 1.0j * slope * u) + 1.0j * rest / slope * u
        terms = np.exp(log_phi) * (_STEP / np.pi) / u
        kept = np.abs(terms) > 1e-14
        self._u, self._terms = u[kept], terms[kept]

    def survival(self, value: float) -> float:
        """Return P(T >= value), by inverting the characteristic function (Gil-Pelaez)."""
        if self.scale == 0:
            return 1.0 if value <= 0 else 0.0
        z = value / self.scale
        if abs(z) < _PERIOD / 4:
            found = 0.5 + float(np.sum(np.imag(np.exp(-1.0j * self._u * z) * self._terms)))
            if found > _INVERTED:
                return min(1.0, found)
        # beyond what a sum of oscillating terms can tell from 0
        return min(_INVERTED, pearson3_survival(value, self.variance, self.third)) if z > 0 else 1.0

    def upper(self, level: float) -> float:
        """Return the value whose survival probability is `level`, by bisection."""
        low, high = -10.0 * self.scale, 10.0 * self.scale
        while self.scale > 0 and self.survival(high) > level:
            high *= 2.0
        for _ in range(30):
            middle = (low + high) / 2.0
            low, high = (middle, high) if self.survival(middle) > level else (low, middle)
        return high


def pearson3_survival(value: float, variance: float, third: float) -> float:
    """Return P(X >= value) for the Pearson III distribution with mean 0 and these central moments."""
    from scipy.special import gammainc, gammaincc, ndtr

    if variance <= 0:
        return 1.0 if value <= 0 else 0.0
    skew = third / variance**1.5
    z = value / math.sqrt(variance)
    if abs(skew) < 1e-6:
        return float(ndtr(-z))
    shape = 4.0 / skew**2
    at = max(0.0, shape + 2.0 * z / skew)
    return float(gammaincc(shape, at) if skew > 0 else gammainc(shape, at))
