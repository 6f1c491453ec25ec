"""Random functions of one feature: Gaussian-process paths, polynomials, and weights made of them.

Functions are drawn over a whole range and scaled by their extremes on that range, so they do not depend on
which instances were drawn, and one instance is enough.

Members scattered around a prior mean: P_m ~ Dir(k p / u), the ensembles of M23 and J25.
"""

from __future__ import annotations

import numpy as np

from credibly._arrays.errors import InputError
from credibly._arrays.namespace import HostArray
from credibly.predictions import Dirichlet

_NODES_PER_LENGTH = 4  # beyond half of this the spectrum of the kernel is below exp(-70)

_MOST_NODES = 2000

_SCALING_POINTS = 4001

_SMALLEST_EIGENVALUE = 1e-13


def gaussian_process_features(x: HostArray, x_range: tuple[float, float], length_scale: float) -> HostArray:
    """Return F (n, r) with F F' = exp(-(x - x')^2 / (2 length_scale^2)): a path is F z, z standard normal.

    The eigenvectors of the kernel on a grid, extended to all x (Nystroem); exact to about 1e-6.
    """
    low, high = x_range
    count = int(np.ceil((high - low) / length_scale * _NODES_PER_LENGTH)) + 2 * _NODES_PER_LENGTH + 1
    if count > _MOST_NODES:
        raise InputError(
            "`length_scale`",
            f"must be at least {_NODES_PER_LENGTH / _MOST_NODES:g} of the range",
            f"got {length_scale!r} on {x_range}",
            "Use a longer length scale, or a shorter `x_range`.",
        )
    # a margin on both sides, so that the kernel is as exact at the ends of the range
    nodes = np.linspace(low - length_scale, high + length_scale, count)
    values, vectors = np.linalg.eigh(_radial_basis(nodes, nodes, length_scale))
    kept = values > _SMALLEST_EIGENVALUE * values[-1]
    return np.asarray(_radial_basis(x, nodes, length_scale) @ (vectors[:, kept] / np.sqrt(values[kept])))


def _radial_basis(a: HostArray, b: HostArray, length_scale: float) -> HostArray:
    return np.asarray(np.exp(-0.5 * ((a[:, None] - b[None, :]) / length_scale) ** 2))


def gaussian_process_paths(
    x: HostArray,
    count: int,
    x_range: tuple[float, float],
    length_scale: float,
    generator: np.random.Generator,
) -> HostArray:
    """Return `count` independent paths at x, (n, count), each scaled to [0, 1] over the whole range."""
    points = np.concatenate([np.linspace(*x_range, _SCALING_POINTS), x])
    features = gaussian_process_features(points, x_range, length_scale)
    return _scaled(features @ generator.standard_normal((features.shape[1], count)))


def polynomial_paths(
    x: HostArray, count: int, x_range: tuple[float, float], degree: int, generator: np.random.Generator
) -> HostArray:
    """Return `count` random polynomials at x, (n, count), each scaled to [0, 1] over the whole range.

    Coefficients of the Chebyshev polynomials are standard normal: on the range all of them have one size.
    """
    points = np.concatenate([np.linspace(*x_range, _SCALING_POINTS), x])
    unit = 2.0 * (points - x_range[0]) / (x_range[1] - x_range[0]) - 1.0
    basis = np.polynomial.chebyshev.chebvander(unit, degree)
    return _scaled(basis @ generator.standard_normal((degree + 1, count)))


def _scaled(values: HostArray) -> HostArray:
    """Scale columns by the extremes of their first rows, which cover the range, and return the others."""
    grid = values[:_SCALING_POINTS]
    low, high = grid.min(axis=0), grid.max(axis=0)
    # between two points of the grid a path may pass an extreme by a millionth of its height
    return np.asarray(np.clip((values[_SCALING_POINTS:] - low) / (high - low), 0.0, 1.0))


def polynomial_weights(
    x: HostArray,
    n_members: int,
    x_range: tuple[float, float],
    degree: int,
    sharpness: float | None,
    generator: np.random.Generator,
) -> HostArray:
    """Return weights of the members as functions of x, (n, m).

    Two members (J25, binary): the first weight is a polynomial scaled to [0, 1]. More (J25, multiclass):
    polynomials scaled to [0, 1], divided by their sum; with `sharpness` the softmax of polynomials, each
    scaled to a random interval inside [0, sharpness].
    """
    if n_members == 1:
        return np.ones((x.size, 1))
    if n_members == 2:
        first = polynomial_paths(x, 1, x_range, degree, generator)
        return np.concatenate([first, 1.0 - first], axis=1)
    if sharpness is None:
        heights = polynomial_paths(x, n_members, x_range, degree, generator)
        total = heights.sum(axis=1, keepdims=True)
        # straight lines may all be 0 at one end of the range
        return np.where(total > 0, heights / np.where(total > 0, total, 1.0), 1.0 / n_members)
    ends = np.sort(sharpness * generator.random((2, n_members)), axis=0)
    scores = ends[0] + (ends[1] - ends[0]) * polynomial_paths(x, n_members, x_range, degree, generator)
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


_SMALLEST = 1e-290  # a class with a smaller parameter has probability 0 in double precision anyway


def draw_prior(n: int, n_classes: int, concentration: float, generator: np.random.Generator) -> HostArray:
    """Draw n distributions from a symmetric Dirichlet, in log space, (n, k)."""
    alpha = np.full((n, n_classes), concentration)
    return np.asarray(Dirichlet(alpha).sample(1, rng=generator).probs[:, 0, :])


def draw_members(
    prior: HostArray, spread: HostArray | float, n_members: int, generator: np.random.Generator
) -> HostArray:
    """Draw members from Dir(k p / u), (n, m, k), for prior means p (n, k) and spreads u, a number or (n,).

    E P = p and Var P_c = p_c (1 - p_c) / (k / u + 1).
    """
    shape = np.broadcast_to(np.asarray(spread, dtype=float), prior.shape[:1])
    alpha = np.maximum(prior.shape[1] * prior / shape[:, None], _SMALLEST)
    return np.asarray(Dirichlet(alpha).sample(n_members, rng=generator).probs)
