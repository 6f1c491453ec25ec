"""P-values without label replicates: limit distributions, exact moments, wild signs, bounds.

Each is quicker or asks for less than resampling, and none is exact: `method="resample"` is, for every
statistic.

Distribution-free bounds on the p-value of a kernel error: valid for every n, wide at every n.

With |h_ij| <= B and m independent pairs

    unbiased, linear, block   P(T >= t) <= exp(-m t^2 / (2 B^2))                     Hoeffding
    biased                    P(T >= t) <= exp(-(sqrt(n t / B) - 1)^2 / 2)           McDiarmid

Widmann, Lindsten and Zachariah 2019, section 6. Both hold given the predictions, since they ask for
independent labels only.

The null distribution of the quadratic kernel error from its exact moments and leading eigenvalues.

Given predictions, labels are independent, so with S_i = diag(p_i) - p_i p_i' and sums over different indices

    E T   = 0
    E T^2 = 2 sum k_ij^2 tr(S_i S_j)
    E T^3 = 8 sum k_ij k_jl k_li tr(S_i S_j S_l) + 4 sum k_ij^3 E (r_i . r_j)^3

for T = sum_{i != j} k_ij <r_i, r_j>, which is close to sum_a w_a (Z_a^2 - 1) with the eigenvalues w of the
matrix of blocks k_ij S_i^(1/2) S_j^(1/2). The largest few are taken as they are and a Pearson III
distribution stands for the rest, such that all three moments of the whole are exact. Pearson III for the
whole is off by up to 0.1 where one eigenvalue carries most of the variance (two classes). Of real values r is
a longer vector with a covariance S_i of its own; E T^2 is the same sum, and E T^3 is simulated.

The limit distribution of a degenerate U-statistic, by random signs.

    T* = sum_{i != j} s_i s_j h_ij / (n (n - 1)),   s = +1 or -1 at random

has the same limit as n T under the hypothesis. Signs keep the pairs as they are, where a bootstrap of rows
(Arcones and Gine 1992, used by Widmann et al. 2019) repeats some and loses others: at n = 100, k = 10 that
rejects 3 % at a nominal 5 %, signs 4.7 %.   Chwialkowski, Sejdinovic and Gretton 2014.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from scipy.special import chdtrc, chdtri, gammainc, gammaincc, ndtr, ndtri

from credibly._arrays.errors import UnsupportedError
from credibly._arrays.namespace import (
    Array,
    HostArray,
    as_float64,
    memory_budget,
    namespace,
    rows_within_budget,
    tiles,
    to_host,
)
from credibly._arrays.philox import Seed, Stream, Uniforms
from credibly.hypotests.resampling.pvalues import acceptance_region, monte_carlo_pvalue
from credibly.predictions import Labels
from credibly.results.tests import HypotestResult
from credibly.statistics.kernel_blocks import BlockBound
from credibly.statistics.protocol import Bound
from credibly.statistics.skce import DrawsBound, QuadraticBound


def independent_pairs(bound: Any) -> int:
    """Return how many pairs of rows share no row."""
    if isinstance(bound, BlockBound):
        return bound.n_blocks * (bound.size // 2)
    return int(bound.n) // 2


def bound_pvalue(value: float, bound: Any, largest: float) -> float:
    """Return an upper bound of the p-value."""
    if value <= 0 or largest <= 0:
        return 1.0
    if bound.statistic.estimator == "biased":
        excess = max(0.0, math.sqrt(bound.n * value / largest) - 1.0)
        return math.exp(-(excess**2) / 2.0)
    return math.exp(-independent_pairs(bound) * value**2 / (2.0 * largest**2))


def bound_upper(level: float, bound: Any, largest: float) -> float:
    """Return the value at which the bound falls to `level`."""
    depth = math.sqrt(-2.0 * math.log(level))
    if bound.statistic.estimator == "biased":
        return float(largest * (1.0 + depth) ** 2 / bound.n)
    return largest * depth / math.sqrt(independent_pairs(bound))


LEADING = 6

_SIGNED_ROWS = 256  # of a tile: pairs below the diagonal, which it leaves out, are then few

_TOLERANCE = 1e-6  # of eigenvectors, relative; the error of an eigenvalue is of the order of its square

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


def leading_eigenvalues(kernel: HostArray, probs: HostArray) -> HostArray:
    """Return the largest positive eigenvalues of the matrix with blocks k_ij S_i^(1/2) S_j^(1/2), i != j.

    By Lanczos steps from a fixed random vector, on the host: ARPACK has no device. The matrix is never made:
    it has (n k)^2 entries, and a product with it costs one n x n matrix times n x k.
    """
    n, k = probs.shape
    size = n * k
    off = kernel.copy()
    np.fill_diagonal(off, 0.0)
    root = np.sqrt(probs)

    def inner(block: HostArray) -> HostArray:
        """Take out of each row its part along `root`: S = G G' with G = diag(root) (1 - root root')."""
        made: HostArray = block - root * np.sum(root * block, axis=1, keepdims=True)
        return made

    def applied(vector: HostArray) -> HostArray:
        return inner(root * (off @ (root * inner(vector.reshape(n, k))))).reshape(size)

    return _lanczos(applied, size)


def _lanczos(applied: Callable[[HostArray], HostArray], size: int) -> HostArray:
    """Return the largest positive eigenvalues of a symmetric matrix, given what it makes of a vector."""
    from scipy.sparse.linalg import LinearOperator, eigsh  # slow to load, and only this method needs it

    start = np.random.default_rng(0).standard_normal(size)
    if not np.any(applied(start)):  # the matrix is 0: no row, or no pair, has anything left to chance
        return np.zeros(0)
    matrix = LinearOperator((size, size), matvec=applied, dtype=np.float64)
    found: HostArray = eigsh(
        matrix, min(LEADING, size - 1), which="LA", v0=start, tol=_TOLERANCE, return_eigenvectors=False
    )
    return np.sort(found[found > 0])[::-1]


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
    if variance <= 0:
        return 1.0 if value <= 0 else 0.0
    skew = third / variance**1.5
    z = value / math.sqrt(variance)
    if abs(skew) < 1e-6:
        return float(ndtr(-z))
    shape = 4.0 / skew**2
    at = max(0.0, shape + 2.0 * z / skew)
    return float(gammaincc(shape, at) if skew > 0 else gammainc(shape, at))


def wild_null(
    bound: QuadraticBound, observed: Labels, n_resamples: int, seed: Seed
) -> np.ndarray[Any, np.dtype[Any]]:
    """Return replicates of the unbiased statistic under random signs.

    Parameters
    ----------
    bound : QuadraticBound
        The unbiased kernel error of the predictions.
    observed : Labels
        The observed labels.
    n_resamples : int
        Number of replicates.
    seed : tuple of int
        Key of the counters.

    Returns
    -------
    ndarray (n_resamples,)
        Values that T would take.
    """
    n = bound.n
    residual = bound.values(observed)  # (k, n)
    xp = namespace(residual)
    uniforms = Uniforms(seed, Stream.SIGNS)
    values = np.empty(n_resamples)
    for reps in tiles(n_resamples, rows_within_budget(24 * n, 0.25)):
        uniform = uniforms.block(reps, slice(0, n), reference=residual)
        signs = 2.0 * xp.astype(uniform >= 0.5, xp.float64) - 1.0
        total = 0.0
        for rows in tiles(n, min(_SIGNED_ROWS, rows_within_budget(32 * n, 0.25))):
            terms = bound.pair_terms(residual, rows)
            total = total + xp.vecdot(signs[:, rows.start :] @ terms.T, signs[:, rows])
        values[reps] = to_host(_off_diagonal(total, residual, bound)) / (n * (n - 1))
    return values


def _off_diagonal(total: Array, residual: Array, bound: QuadraticBound) -> Array:
    """Take away the pairs of a row with itself: signs square to 1."""
    xp = namespace(residual)
    return total - xp.sum(as_float64(residual * bound.between_labels(residual, 1)))


Method = Literal["moments", "asymptotic", "bound"]

LEVEL = 0.05

_MOMENT_ARRAYS = 8  # (n, n) arrays alive at once

_NEGLIGIBLE = 1e-6  # share of the largest variance below which an axis carries nothing: moments see squares


def analytic_test(
    bound: Bound,
    observed: Labels,
    method: Method,
    *,
    hypothesis: str,
    n_resamples: int,
    seed: Seed,
) -> HypotestResult:
    """Test one bound statistic by a method that draws no labels."""
    if observed.weights is not None:
        raise UnsupportedError(
            "`sample_weight`",
            f'cannot be used with method="{method}"',
            "it is known only for unweighted instances",
            'Use method="resample", which is exact with weights too.',
        )
    if isinstance(bound, DrawsBound):
        bound, observed = bound.with_labels(observed)
    value = float(to_host(bound(observed))[0])
    found: dict[str, Any] = {"pvalue_interval": None, "null_distribution": None, "n_resamples": 0}
    if method == "moments":
        found |= _moments(bound, value)
    elif method == "bound":
        found |= _bound(bound, value)
    elif isinstance(bound, BlockBound):
        found |= _normal(bound, observed, value)
    elif isinstance(bound, QuadraticBound):
        found |= _signs(bound, observed, value, n_resamples, seed)
    else:
        found |= _reference(bound, value)
    note = found.pop("note")
    settings = {"method": method, **bound.statistic.settings(), **found.pop("settings", {})}
    return HypotestResult(
        name="calibration_test",
        hypothesis=hypothesis,
        statistic_name=bound.statistic.name,
        statistic=value,
        tail=bound.statistic.traits.tail,
        n=bound.n,
        statistic_range=bound.statistic.traits.range,
        settings=settings,
        notes=(*bound.notes, note),
        **found,
    )


def _lowest(bound: Bound) -> float:
    bounds = bound.statistic.traits.range
    return -math.inf if bounds is None else bounds[0]


def _moments(bound: Bound, value: float) -> dict[str, Any]:
    if not isinstance(bound, QuadraticBound) or bound.statistic.estimator != "unbiased":
        raise _unknown(bound, "moments", "exact null moments (only the unbiased `skce` has)")
    if bound.label_kernel is not None:
        raise _unknown(bound, "moments", "exact null moments for other label kernels than the delta kernel")
    n = bound.n
    need = _MOMENT_ARRAYS * 8 * n * n
    if need > memory_budget():
        most = int((memory_budget() / (8 * _MOMENT_ARRAYS)) ** 0.5)
        raise UnsupportedError(
            'method="moments"',
            f"keeps {_MOMENT_ARRAYS} arrays of (n, n); the memory budget holds n = {most}",
            f"got n = {n}",
            f'Use method="resample", or `with memory_limit({need})`.',
        )
    kernel = to_host(bound.kernel_rows(slice(0, n))).astype(np.float64, copy=False)
    if bound.sides.covariances is None:
        probs = to_host(bound.exact)
        null = QuadraticForm(leading_eigenvalues(kernel, probs), *quadratic_null_moments(kernel, probs))
        note = "p-value from a quadratic form with the exact mean, variance and third moment"
    else:
        null = QuadraticForm(*_vector_moments(kernel, _covariances(bound)))
        note = "p-value from a quadratic form with the exact mean and variance, and a simulated third moment"
    pairs = n * (n - 1)
    scale = null.scale / pairs
    return {
        # never 0: the approximation says nothing about probabilities below what a float can tell from 0
        "pvalue": max(null.survival(value * pairs), float(np.finfo(np.float64).tiny)),
        "acceptance_region": (_lowest(bound), null.upper(LEVEL) / pairs),
        "effect_size": value,
        "z_score": value / scale if scale > 0 else math.nan,
        "note": note,
    }


def _covariances(bound: QuadraticBound) -> HostArray:
    """Return the covariances (n, d, d) of all residuals, on the axes that carry all but 1e-6 of them."""
    assert bound.sides.covariances is not None
    need = 3 * 8 * bound.width**3
    if need > memory_budget():
        raise UnsupportedError(
            'method="moments"',
            f"keeps products of the {bound.width} numbers that represent a label",
            f"they need {need} bytes, more than the memory budget",
            f'Use method="resample", or `with memory_limit({need})`.',
        )
    every = bound.sides.covariances()
    size, axes = np.linalg.eigh(every.mean())
    return every.on(axes[:, size > _NEGLIGIBLE * size[-1]])


def _vector_moments(kernel: HostArray, covariances: HostArray) -> tuple[HostArray, float, float]:
    """Return leading eigenvalues, variance and third moment of sum_{i != j} k_ij <r_i, r_j>.

    The diagonal of the kernel, which no sum looks at, is set to 0.

    The sum over triples is the mean of tr H^3, H_ij = k_ij <x_i, x_j>, over any x with the covariances of r;
    random signs times roots make some. The sum over pairs, smaller by a factor of n, is left out.
    """
    n, d, _ = covariances.shape
    np.fill_diagonal(kernel, 0.0)
    variance = 2.0 * _squared_overlaps(kernel, covariances)
    values, vectors = np.linalg.eigh(covariances)
    roots = vectors * np.sqrt(np.clip(values, 0.0, None))[:, None, :]  # G, with G G' the covariance
    signs = np.random.default_rng(0).choice([-1.0, 1.0], size=(n, d))
    # what is simulated, and eigenvalues beside it, need no more digits, and half of the bytes is read faster
    single = kernel.astype(np.float32)
    drawn = (roots @ signs[:, :, None])[:, :, 0].astype(np.float32)
    terms = drawn @ drawn.T
    terms *= single
    third = 8.0 * float(np.vdot(terms @ terms.T, terms))  # of a matrix with itself: half of the product
    return _leading(single, roots), variance, third


def _squared_overlaps(kernel: HostArray, covariances: HostArray) -> float:
    """Return sum_{i != j} k_ij^2 tr(S_i S_j), every pair once, in tiles that stay in cache."""
    n, d, _ = covariances.shape
    above = np.triu_indices(d)
    flat = covariances[:, above[0], above[1]] * np.where(above[0] == above[1], 1.0, math.sqrt(2.0))
    total = 0.0
    for rows in tiles(n, _SIGNED_ROWS // 2):
        for columns in tiles(n - rows.start, 2 * _SIGNED_ROWS):
            right = slice(rows.start + columns.start, rows.start + columns.stop)
            own = kernel[rows, right]
            terms = flat[rows] @ flat[right].T
            terms *= own
            terms *= own
            size = rows.stop - rows.start
            first = size if not columns.start else 0
            total += float(terms[:, :first].sum()) + 2.0 * float(terms[:, first:].sum())
    return total


def _leading(off: HostArray, roots: HostArray) -> HostArray:
    """Return the largest eigenvalues of the matrix with blocks k_ij G_i' G_j, i != j."""
    n, d, _ = roots.shape
    by_axes = np.ascontiguousarray(roots.transpose(1, 2, 0))  # rows last, where they are many

    def applied(vector: HostArray) -> HostArray:
        own = np.sum(by_axes * vector.reshape(1, d, n), axis=1).astype(off.dtype)
        # this order multiplies few columns faster
        made: HostArray = np.sum(by_axes * (own @ off)[:, None, :], axis=0).reshape(n * d)
        return made

    return _lanczos(applied, n * d)


def _bound(bound: Bound, value: float) -> dict[str, Any]:
    if not isinstance(bound, (QuadraticBound, BlockBound)):
        raise _unknown(bound, "bound", "distribution-free bound")
    largest = bound.term_size
    return {
        "pvalue": bound_pvalue(value, bound, largest),
        "acceptance_region": (_lowest(bound), bound_upper(LEVEL, bound, largest)),
        "effect_size": value,
        "z_score": math.nan,
        "note": f"p-value is an upper bound, from terms of at most {largest:g}: a large value says little",
    }


def _normal(bound: BlockBound, observed: Labels, value: float) -> dict[str, Any]:
    stderr, refusal = bound.stderr(bound.observed_sums(observed), observed)
    if stderr is None or not stderr > 0:
        raise UnsupportedError(
            f"the normal limit of `{bound.statistic.name}`",
            "needs blocks with different values",
            refusal or "all blocks have the same value",
            'Use method="resample", which is exact.',
        )
    z = value / stderr
    return {
        "pvalue": float(ndtr(-z)),
        "acceptance_region": (_lowest(bound), float(ndtri(1 - LEVEL)) * stderr),
        "effect_size": value,
        "z_score": z,
        "note": f"p-value from the normal limit of a mean over {bound.n_blocks} blocks",
    }


def _signs(
    bound: QuadraticBound, observed: Labels, value: float, n_resamples: int, seed: Seed
) -> dict[str, Any]:
    if bound.statistic.estimator != "unbiased":
        raise _unknown(bound, "asymptotic", "known limit distribution")
    null = wild_null(bound, observed, n_resamples, seed)
    pvalue, interval = monte_carlo_pvalue(value, null, "greater")
    spread = float(null.std(ddof=1)) if null.size > 1 else math.nan
    return {
        "pvalue": pvalue,
        "pvalue_interval": interval,
        "null_distribution": null,
        "acceptance_region": acceptance_region(null, "greater", bound.statistic.traits.range),
        "effect_size": value,
        "z_score": value / spread if spread > 0 else math.nan,
        "n_resamples": n_resamples,
        "settings": {"seed": list(seed)},
        "note": f"p-value from the limit distribution, by {n_resamples} draws of random signs",
    }


def _reference(bound: Bound, value: float) -> dict[str, Any]:
    reference = bound.chi_square()
    if reference is None:
        raise _unknown(bound, "asymptotic", "reference distribution")
    degrees, name = reference
    return {
        "pvalue": float(chdtrc(degrees, value)),
        "acceptance_region": (0.0, float(chdtri(degrees, LEVEL))),
        "effect_size": math.nan,
        "z_score": math.nan,
        "note": f"p-value from the {name}",
    }


def _unknown(bound: Bound, method: str, what: str) -> UnsupportedError:
    settings = getattr(bound.statistic, "estimator", None)
    which = f" with estimator={settings!r}" if settings else ""
    return UnsupportedError(
        f"`{bound.statistic.name}`{which}",
        f"has no {what}",
        f'got method="{method}"',
        'Use method="resample", which is exact for every statistic.',
    )
