"""Special functions by known values, and the same on every array library."""

from __future__ import annotations

import math

import numpy as np
import pytest

from credibly._arrays import namespace as special
from libraries import read

GRID = np.array([1e-3, 0.25, 0.5, 1.0, 1.5, 4.0, 100.0])


@pytest.mark.parametrize(
    ("name", "argument", "value"),
    [
        ("gammaln", 5.0, math.log(24)),  # Gamma(5) = 4!
        ("gammaln", 0.5, 0.5 * math.log(math.pi)),
        ("digamma", 1.0, -0.5772156649015329),  # minus Euler's constant
        ("digamma", 2.0, 1 - 0.5772156649015329),  # psi(x + 1) = psi(x) + 1 / x
        ("ndtr", 0.0, 0.5),
        ("ndtr", 1.0, 0.5 * (1 + math.erf(1 / math.sqrt(2)))),
        ("ndtri", 0.975, 1.959963984540054),
    ],
)
def test_known_values(library, name, argument, value):
    found = getattr(special, name)(library.asarray([argument]))
    assert library.owns(found)
    assert read(found)[0] == pytest.approx(value, rel=1e-13)


@pytest.mark.parametrize("name", ["gammaln", "digamma", "ndtr"])
def test_libraries_agree(library, name):
    expected = getattr(special, name)(GRID)
    assert read(getattr(special, name)(library.asarray(GRID))) == pytest.approx(
        expected, rel=1e-12, abs=1e-14
    )


def test_ndtri_inverts_ndtr(library):
    levels = np.array([1e-9, 0.025, 0.5, 0.8, 0.999])
    values = special.ndtr(special.ndtri(library.asarray(levels)))
    assert read(values) == pytest.approx(levels, rel=1e-9)


def test_zero_times_log_zero_is_zero(library):
    # 0 log 0 = 0; 0.5 log 0.25 = -log 2
    values = special.xlogy(library.asarray([0.0, 0.5]), library.asarray([0.0, 0.25]))
    assert read(values) == pytest.approx([0.0, -math.log(2)])


def test_logsumexp_and_softmax(library):
    values = library.asarray([[0.0, math.log(3)], [1000.0, 1000.0], [-math.inf, 2.0]])
    # log(1 + 3); 1000 + log 2; the other class alone
    assert read(special.logsumexp(values)) == pytest.approx([math.log(4), 1000 + math.log(2), 2.0])
    assert read(special.softmax(values)) == pytest.approx(np.array([[0.25, 0.75], [0.5, 0.5], [0, 1]]))


def test_logsumexp_of_impossible_rows(library):
    assert read(special.logsumexp(library.asarray([[-math.inf, -math.inf]])))[0] == -math.inf


def test_softmax_of_the_largest_numbers(library):
    largest = np.finfo(np.float64).max
    values = special.softmax(library.asarray([[largest, -largest], [-largest, -largest]]))
    assert read(values).tolist() == [[1.0, 0.0], [0.5, 0.5]]


def test_gradient_of_softmax_is_the_covariance():
    torch = pytest.importorskip("torch", reason="needs the torch extra")
    logits = torch.tensor([0.3, -1.0, 2.0], dtype=torch.float64, requires_grad=True)
    p = special.softmax(logits)
    (gradient,) = torch.autograd.grad(p[0], logits)
    p = p.detach()
    # d p_0 / d z_j = p_0 (1[j = 0] - p_j)
    assert gradient.tolist() == pytest.approx((p[0] * (torch.tensor([1.0, 0, 0]) - p)).tolist())
