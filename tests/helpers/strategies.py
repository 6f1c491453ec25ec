"""Hypothesis strategies for every prediction type, with corners: zeros, ones, ties, K = 2, M = 1, N = 1."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

import credibly as cr

Draw = Callable[[st.SearchStrategy[Any]], Any]

_DTYPES = st.sampled_from([np.float64, np.float32])


def instances(largest: int = 12) -> st.SearchStrategy[int]:
    """Numbers of instances, N = 1 included."""
    return st.integers(1, largest)


def classes(largest: int = 6) -> st.SearchStrategy[int]:
    """Numbers of classes, K = 2 included."""
    return st.integers(2, largest)


@st.composite
def simplex(draw: Draw, shape: tuple[int, ...]) -> np.ndarray:
    """Distributions along the last axis, exact in float64.

    Scores from a small grid give ties and zeros; one-hot rows give zeros and ones; far powers of ten give
    probabilities next to 0 and 1.
    """
    kind = draw(st.sampled_from(["grid", "one-hot", "uniform", "free", "extreme"]))
    if kind == "uniform":
        return np.full(shape, 1.0 / shape[-1])
    if kind == "one-hot":
        chosen = draw(npst.arrays(np.int64, shape[:-1], elements=st.integers(0, shape[-1] - 1)))
        return np.eye(shape[-1])[chosen]
    elements: st.SearchStrategy[float] = st.floats(0.0, 1.0)
    if kind == "grid":
        elements = st.integers(0, 4).map(float)
    if kind == "extreme":
        elements = st.integers(-12, 0).map(lambda power: 10.0**power)
    scores = draw(npst.arrays(np.float64, shape, elements=elements))
    scores[..., 0] += scores.sum(axis=-1) == 0
    return scores / scores.sum(axis=-1, keepdims=True)


@st.composite
def points(draw: Draw, n: int | None = None, k: int | None = None) -> cr.Point:
    """One distribution per instance, in single or double precision."""
    shape = (n or draw(instances()), k or draw(classes()))
    return cr.Point(draw(simplex(shape)).astype(draw(_DTYPES)))


@st.composite
def ensembles(draw: Draw, n: int | None = None, k: int | None = None) -> cr.Ensemble:
    """Members (M = 1 included), with and without weights, in both memory orders."""
    n, m, k = n or draw(instances()), draw(st.integers(1, 5)), k or draw(classes())
    axis = draw(st.sampled_from([0, 1]))
    shape = (m, n, k) if axis == 0 else (n, m, k)
    probs = draw(simplex(shape)).astype(draw(_DTYPES))
    weights = draw(st.none() | simplex((m,)))
    return cr.Ensemble(probs, weights=weights, member_axis=axis)


@st.composite
def dirichlets(draw: Draw, n: int | None = None, k: int | None = None) -> cr.Dirichlet:
    """Concentrations from vague to certain, with and without members."""
    n, k = n or draw(instances()), k or draw(classes())
    m = draw(st.none() | st.integers(1, 4))
    elements = st.sampled_from([0.01, 1.0, 2.5, 1000.0]) | st.floats(0.001, 1e4)
    alpha = draw(npst.arrays(np.float64, (n, k) if m is None else (n, m, k), elements=elements))
    return cr.Dirichlet(alpha.astype(draw(_DTYPES)), member_axis=None if m is None else 1)


@st.composite
def intervals(draw: Draw, n: int | None = None, k: int | None = None) -> cr.Intervals:
    """Bounds around a distribution: degenerate (a point), vacuous ([0, 1]) and between, not all reachable."""
    shape = (n or draw(instances()), k or draw(classes()))
    inside = draw(simplex(shape))
    share = npst.arrays(np.float64, shape, elements=st.sampled_from([0.0, 0.25, 1.0]))
    lower, upper = inside * (1 - draw(share)), inside + (1 - inside) * draw(share)
    dtype = draw(_DTYPES)
    return cr.Intervals(lower.astype(dtype), np.minimum(upper, 1.0).astype(dtype))


@st.composite
def focal_sets(draw: Draw, k: int) -> list[set[int]]:
    """Distinct non-empty sets of classes; sometimes the singletons only, sometimes all classes at once."""
    one = st.frozensets(st.integers(0, k - 1), min_size=1)
    return [set(chosen) for chosen in draw(st.lists(one, min_size=1, max_size=6, unique=True))]


@st.composite
def beliefs(draw: Draw, n: int | None = None, k: int | None = None) -> cr.Belief:
    """Masses on random focal sets, F = 1 included."""
    n, k = n or draw(instances()), k or draw(classes())
    sets = draw(focal_sets(k))
    return cr.Belief(draw(simplex((n, len(sets)))).astype(draw(_DTYPES)), sets, k)


def class_predictions(n: int | None = None, k: int | None = None) -> st.SearchStrategy[cr.Point]:
    """Any prediction over classes."""
    return st.one_of(*(make(n, k) for make in (points, ensembles, dirichlets, intervals, beliefs)))


@st.composite
def gaussians(draw: Draw, n: int | None = None) -> cr.Gaussian:
    """Normal predictions, with and without members."""
    n, m = n or draw(instances()), draw(st.none() | st.integers(1, 4))
    shape = (n,) if m is None else (n, m)
    mean = draw(npst.arrays(np.float64, shape, elements=st.floats(-100, 100, width=32)))
    std = draw(npst.arrays(np.float64, shape, elements=st.sampled_from([1e-3, 1.0, 50.0])))
    dtype = draw(_DTYPES)
    return cr.Gaussian(mean.astype(dtype), std.astype(dtype), member_axis=1 if mean.ndim == 2 else None)


@st.composite
def samples(draw: Draw, n: int | None = None) -> cr.Samples:
    """Draws, S = 1 and ties included, with and without members."""
    n, s, m = n or draw(instances()), draw(st.integers(1, 8)), draw(st.none() | st.integers(1, 3))
    elements = st.integers(-2, 2).map(float) | st.floats(-100, 100, width=32)
    values = draw(npst.arrays(np.float64, (n, s) if m is None else (n, m, s), elements=elements))
    return cr.Samples(values.astype(draw(_DTYPES)), member_axis=1)


@st.composite
def quantiles(draw: Draw, n: int | None = None) -> cr.Quantiles:
    """Quantiles, Q = 1 and ties included."""
    n = n or draw(instances())
    levels = sorted(draw(st.sets(st.integers(1, 99), min_size=1, max_size=6)))
    elements = st.integers(-2, 2).map(float) | st.floats(-100, 100, width=32)
    values = np.sort(draw(npst.arrays(np.float64, (n, len(levels)), elements=elements)), axis=1)
    return cr.Quantiles(values.astype(draw(_DTYPES)), np.array(levels) / 100)


@st.composite
def label_counts(draw: Draw, n: int | None = None, k: int | None = None) -> cr.LabelCounts:
    """Raters per class, single raters and unanimous rows included."""
    n, k = n or draw(instances()), k or draw(classes())
    counts = draw(npst.arrays(np.int64, (n, k), elements=st.integers(0, 5)))
    counts[:, 0] += counts.sum(axis=1) == 0
    return cr.LabelCounts(counts)


def real_predictions(n: int | None = None) -> st.SearchStrategy[cr.Gaussian]:
    """Any prediction of real numbers."""
    return st.one_of(gaussians(n), samples(n), quantiles(n))


def predictions(n: int | None = None) -> st.SearchStrategy[cr.Point]:
    """Any prediction at all, label counts included."""
    return st.one_of(class_predictions(n), real_predictions(n), label_counts(n))


def labels(n: int, k: int) -> st.SearchStrategy[np.ndarray]:
    """Class labels; vectors with one class only are drawn as well."""
    free = npst.arrays(np.int64, n, elements=st.integers(0, k - 1))
    return free | st.integers(0, k - 1).map(lambda only: np.full(n, only))


@st.composite
def labelled(draw: Draw, largest: int = 12) -> tuple[cr.Point, np.ndarray]:
    """Class predictions and labels of the same length."""
    sample = draw(class_predictions(draw(instances(largest))))
    return sample, draw(labels(len(sample), sample.n_classes))
