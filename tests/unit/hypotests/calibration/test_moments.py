"""Exact null moments by enumerating all labels, and Pearson III against SciPy."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import scipy.stats

import credibly as cr
import kernel_oracles as oracle
from credibly.hypotests.calibration.analytic import (
    QuadraticForm,
    covariance_overlap,
    leading_eigenvalues,
    pearson3_survival,
    quadratic_null_moments,
    third_moments,
)


@pytest.mark.parametrize(("n", "k"), [(2, 2), (3, 4), (4, 3), (6, 2)])
def test_moments_are_those_of_all_label_vectors(n: int, k: int) -> None:
    probs = np.random.default_rng(n * k).dirichlet(np.ones(k), size=n)
    kernel = np.array([[oracle.kernel(p, q, "exponential", "l1", 0.8) for q in probs] for p in probs])
    moments = np.zeros(4)
    for labels in itertools.product(range(k), repeat=n):
        residual = np.eye(k)[list(labels)] - probs
        terms = kernel * (residual @ residual.T)
        total = terms.sum() - np.trace(terms)
        moments += np.prod(probs[range(n), labels]) * total ** np.arange(4)
    np.testing.assert_allclose(moments[:2], [1, 0], atol=1e-12)
    np.testing.assert_allclose(quadratic_null_moments(kernel, probs), moments[2:], rtol=1e-10, atol=1e-13)


def test_pair_moments_by_enumeration() -> None:
    p, q = np.random.default_rng(0).dirichlet(np.ones(4), size=2)
    second = third = 0.0
    for a, b in itertools.product(range(4), repeat=2):
        inner = (np.eye(4)[a] - p) @ (np.eye(4)[b] - q)
        second += p[a] * q[b] * inner**2
        third += p[a] * q[b] * inner**3
    both = np.stack([p, q])
    assert covariance_overlap(both, both @ both.T)[0, 1] == pytest.approx(second, rel=1e-12)
    assert third_moments(both, both @ both.T)[0, 1] == pytest.approx(third, rel=1e-12)


@pytest.mark.parametrize("skew", [-1.5, -1e-8, 0.0, 0.3, 2.0, 2.8])
@pytest.mark.parametrize("z", [-2.0, -0.2, 0.0, 1.0, 4.0])
def test_pearson3_is_that_of_scipy(skew: float, z: float) -> None:
    variance = 3.0
    third = skew * variance**1.5
    expected = scipy.stats.pearson3.sf(z, skew)
    assert pearson3_survival(z * math.sqrt(variance), variance, third) == pytest.approx(expected, abs=1e-7)


def block_matrix(kernel: np.ndarray, probs: np.ndarray) -> np.ndarray:
    """The (n k, n k) matrix with blocks k_ij S_i^(1/2) S_j^(1/2) and zero blocks on the diagonal."""
    n, k = probs.shape
    roots = []
    for p in probs:
        values, vectors = np.linalg.eigh(np.diag(p) - np.outer(p, p))
        roots.append(vectors * np.sqrt(np.maximum(values, 0)) @ vectors.T)
    made = np.zeros((n, k, n, k))
    for i in range(n):
        for j in range(n):
            if i != j:
                made[i, :, j, :] = kernel[i, j] * roots[i] @ roots[j]
    return made.reshape(n * k, n * k)


def test_equal_eigenvalues_are_all_found() -> None:
    # one prediction for all, kernel 1: (n - 1) times the eigenvalues of diag(p) - p p', 1/4 three times
    found = leading_eigenvalues(np.ones((20, 20)), np.full((20, 4), 0.25))
    np.testing.assert_allclose(found[:3], [19 / 4] * 3, rtol=1e-12)
    assert np.all(found[3:] < 1e-12)


def test_certain_predictions_have_no_eigenvalues() -> None:
    assert leading_eigenvalues(np.ones((5, 5)), np.eye(3)[[0, 1, 2, 0, 1]]).size == 0


def test_leading_eigenvalues_are_those_of_the_block_matrix() -> None:
    probs, _ = oracle.example(30, 3)
    kernel = np.array([[oracle.kernel(p, q, "gaussian", "euclidean", 0.5) for q in probs] for p in probs])
    matrix = block_matrix(kernel, probs)
    expected = np.linalg.eigvalsh(matrix)[::-1][:6]
    np.testing.assert_allclose(leading_eigenvalues(kernel, probs), expected, rtol=1e-12)
    # the eigenvalues carry the variance: E T^2 = 2 tr(A^2)
    assert quadratic_null_moments(kernel, probs)[0] == pytest.approx(2 * np.sum(matrix**2), rel=1e-10)


@pytest.mark.parametrize("z", [-0.5, 0.0, 0.5, 3.0])
def test_one_eigenvalue_is_a_chi_square(z: float) -> None:
    # w (Z^2 - 1): variance 2 w^2, third moment 8 w^3; a rest of 1 % smooths what the inversion must resolve
    form = QuadraticForm(np.array([2.0]), 2 * 4 * 1.01, 8 * 8.0)
    expected = scipy.stats.chi2.sf(z + 1, 1)
    assert form.survival(2 * z) == pytest.approx(expected, abs=0.02)


@pytest.mark.parametrize("weights", [[1.0, 1.0, 0.5], [3.0, 0.2, 0.2, 0.2]])
def test_inversion_against_a_million_draws(weights: list[float]) -> None:
    w = np.array(weights)
    normal = np.random.default_rng(0).standard_normal((1_000_000, len(w) + 1))
    drawn = (normal[:, :-1] ** 2 - 1) @ w + 0.3 * normal[:, -1]
    form = QuadraticForm(w, float(2 * np.sum(w**2)) + 0.09, float(8 * np.sum(w**3)))
    for value in np.quantile(drawn, [0.01, 0.1, 0.5, 0.9, 0.99]):
        assert form.survival(value) == pytest.approx(np.mean(drawn >= value), abs=1.7e-3)  # 3.3 / sqrt(4e6)


def test_without_leading_eigenvalues_it_is_pearson3() -> None:
    for third in (-1.0, 0.0, 2.0):
        form = QuadraticForm(np.array([]), 2.0, third)
        for value in (-1.5, 0.0, 2.0, 5.0):
            assert form.survival(value) == pytest.approx(pearson3_survival(value, 2.0, third), abs=1e-6)


def test_upper_inverts_the_survival_and_far_tails_fall() -> None:
    form = QuadraticForm(np.array([1.0, 0.4]), 3.0, 10.0)
    assert form.survival(form.upper(0.05)) == pytest.approx(0.05, rel=1e-6)
    tail = [form.survival(value) for value in (20.0, 40.0, 80.0, 160.0)]
    assert all(first > second > 0 for first, second in itertools.pairwise(tail))
    assert form.survival(-1000.0) == 1.0


def test_certain_predictions_have_no_spread() -> None:
    assert pearson3_survival(0.0, 0.0, 0.0) == 1.0
    assert pearson3_survival(0.1, 0.0, 0.0) == 0.0
    nothing = QuadraticForm(np.array([]), 0.0, 0.0)
    assert (nothing.survival(0.0), nothing.survival(0.1), nothing.upper(0.05)) == (1.0, 0.0, 0.0)
    probs = np.eye(3)[[0, 1, 2, 0]]
    assert cr.calibration_test(probs, [0, 1, 2, 0], statistics="skce", method="moments").pvalue == 1.0
    impossible = cr.calibration_test(probs, [1, 1, 2, 1], statistics="skce", method="moments")
    assert 0 < impossible.pvalue < 1e-300


def test_result_of_the_moments_method() -> None:
    probs, _ = oracle.example(60, 3)
    labels = oracle.drawn(probs, np.random.default_rng(1))
    result = cr.calibration_test(probs, labels, statistics="skce", method="moments")
    assert result.statistic == float(cr.skce(probs, labels))
    assert (result.n_resamples, result.null_distribution, result.pvalue_interval) == (0, None, None)
    assert "exact mean, variance and third moment" in result.notes[-1]
    assert result.settings["method"] == "moments"
    assert result.settings["bandwidth"] == cr.skce(probs, labels).settings["bandwidth"]
    resampled = cr.calibration_test(probs, labels, statistics="skce", n_resamples=20_000, rng=0)
    # 20 000 replicates know a standard deviation to 0.5 % and this tail to about 2 %
    assert result.z_score == pytest.approx(resampled.z_score, rel=0.03)
    assert result.acceptance_region[1] == pytest.approx(resampled.acceptance_region[1], rel=0.06)
    assert result.rejects(0.05) == (result.statistic > result.acceptance_region[1])


def test_what_has_no_known_moments() -> None:
    probs, labels = oracle.example(20, 3)
    for statistic in (
        "kde_ce",
        "brier",
        cr.skce.with_(estimator="biased"),
        cr.skce.with_(estimator="linear"),
    ):
        with pytest.raises(cr.UnsupportedError, match="has no exact null moments"):
            cr.calibration_test(probs, labels, statistics=statistic, method="moments")
    ordinal = cr.mmd_ce.with_(label_kernel="ordinal")
    with pytest.raises(cr.UnsupportedError, match="for other label kernels than the delta kernel"):
        cr.calibration_test(probs, labels, statistics=ordinal, method="moments")
    with pytest.raises(cr.UnsupportedError, match='`sample_weight` cannot be used with method="moments"'):
        cr.calibration_test(probs, labels, statistics="skce", method="moments", sample_weight=np.ones(20))
    with pytest.raises(cr.UnsupportedError, match="an omnibus test needs replicates"):
        cr.calibration_test(probs, labels, statistics=("skce", "brier"), method="moments")
    many = np.full((200, 2), 0.5)
    with cr.memory_limit(2**20), pytest.raises(cr.UnsupportedError, match="memory budget holds n = 128"):
        cr.calibration_test(many, [0] * 200, statistics="skce", method="moments")


def test_torch_gives_the_same_moments_pvalue() -> None:
    torch = pytest.importorskip("torch", reason="needs the torch extra")

    probs, labels = oracle.example(30, 4)
    first = cr.calibration_test(probs, labels, statistics="mmd_ce", method="moments").pvalue
    tensors = torch.tensor(probs, requires_grad=True), torch.tensor(labels)
    assert cr.calibration_test(*tensors, statistics="mmd_ce", method="moments").pvalue == pytest.approx(first)
