"""Generalised Hartley measure of a set as a sum of gaps P(A) - lower(A) over events.

The measure sum_A m(A) ln|A| is linear in the lower probability. With any member P of the set it becomes a sum
of non-negative gaps,

    sum_A m(A) ln|A| = sum_A w_|A| [P(A) - lower(A)],   w_b = integral_0^1 q^b (1 - q)^(k - b) density(q) dq,
    density(q) = 1 / (q (-ln q)),

so it needs no masses, and where 2^k events are too many the sum is an expectation over random ones: each
class is in A with probability q, and q is integrated against the density.

The sum over all events is the integral over q of E[gap(A)] density(q), each class being in A with
probability q. Five things keep its error small: q follows the arcsine law, which tames both ends of the
integral; inside each of 32 independent batches q is taken at systematic places; every event is used with its
complement; the classes an instance disputes most are not drawn, all their patterns are averaged; and what
squares (and, for intervals, sums) of the drawn functionals explain is subtracted, their means being known.
"""

from __future__ import annotations

import decimal
import math
from functools import cache
from typing import Any

import numpy as np

from credibly._arrays.checks import scalar
from credibly._arrays.namespace import (
    Array,
    as_float64,
    device,
    like,
    namespace,
    on_accelerator,
    rows_within_budget,
    tiles,
)
from credibly._arrays.philox import Seed, Stream, Uniforms
from credibly.credal.envelope import all_events
from credibly.predictions import Ensemble, Intervals

_TILE = 2**14  # doubles of (rows, events) in one pass

_LEAST_ROWS = 2


@cache
def size_weights(k: int) -> np.ndarray[Any, Any]:
    """Return w_b for b = 0 .. k, exactly; w_0 and w_k, whose gap is 0, are 0."""
    weights = np.zeros(k + 1)
    with decimal.localcontext() as context:
        context.prec = 60  # the differences of logarithms cancel almost completely
        for b in range(1, k):
            signed = (
                (-1) ** (j + 1) * math.comb(k - b, j) * decimal.Decimal(b + j).ln() for j in range(k - b + 1)
            )
            weights[b] = float(sum(signed, decimal.Decimal(0)))
    weights.flags.writeable = False  # all callers share it
    return weights


class HullGaps:
    """Gaps of hulls: with D_m = P_m - mean they are -min_m D_m(A), and max_m D_m(A) of the complement."""

    def __init__(self, credal: Ensemble, rows: slice) -> None:
        probs = as_float64(credal.probs[rows, ...])
        self.functionals = probs - namespace(probs).mean(probs, axis=1, keepdims=True)  # (r, m, k)

    def disputed(self) -> Array:
        """Return how far members differ on every class, (r, k)."""
        xp = namespace(self.functionals)
        return xp.max(self.functionals, axis=1) - xp.min(self.functionals, axis=1)

    def both(self, sums: Array) -> tuple[Array, Array]:
        """Return the gaps of A and of its complement, (r, e), from D(A), (r, m, e)."""
        xp = namespace(sums)
        return -xp.min(sums, axis=1), xp.max(sums, axis=1)

    def over(self, columns: Array) -> tuple[Array, Array]:
        """Return the same for events (k, e), one member after the other: what is compared stays in cache."""
        if on_accelerator(self.functionals):
            return self.both(self.functionals @ columns)
        xp = namespace(self.functionals)
        least = most = self.functionals[:, 0, :] @ columns
        for m in range(1, self.functionals.shape[1]):
            sums = self.functionals[:, m, :] @ columns
            least, most = xp.minimum(least, sums), xp.maximum(most, sums)
        return -least, most


class IntervalGaps:
    """Gaps of interval sets around the intersection probability, which cuts all widths in one proportion a.

    With widths w = u - l of total W they are min(a w(A), (1 - a) (W - w(A))), and the same of W - w(A).
    """

    def __init__(self, credal: Intervals, rows: slice) -> None:
        xp = credal.xp
        lower, upper = as_float64(credal.lower[rows, ...]), as_float64(credal.upper[rows, ...])
        self.functionals = (upper - lower)[:, None, :]  # (r, 1, k)
        self.total = xp.sum(upper - lower, axis=-1)[:, None]
        self.below = 1.0 - xp.sum(lower, axis=-1)[:, None]  # a W
        self.share = self.below / xp.where(self.total > 0, self.total, xp.ones_like(self.total))

    def disputed(self) -> Array:
        """Return the widths, (r, k)."""
        return self.functionals[:, 0, :]

    def both(self, sums: Array) -> tuple[Array, Array]:
        """Return the gaps of A and of its complement, (r, e), from w(A), (r, 1, e)."""
        xp = namespace(sums)
        inside = sums[:, 0, :]
        outside = self.total - inside
        return (
            xp.minimum(self.share * inside, (1.0 - self.share) * outside),
            xp.minimum(self.share * outside, (1.0 - self.share) * inside),
        )

    def over(self, columns: Array) -> tuple[Array, Array]:
        """Return the same for events (k, e)."""
        return self.both(self.functionals @ columns)


def gaps_of(credal: Ensemble | Intervals, rows: slice) -> HullGaps | IntervalGaps:
    """Return the gaps of some rows of a set."""
    return HullGaps(credal, rows) if isinstance(credal, Ensemble) else IntervalGaps(credal, rows)


def exact_gap_sum(credal: Ensemble | Intervals) -> Array:
    """Return sum_A w_|A| gap(A) over all events, (n,); A and its complement come from one product."""
    xp, k = credal.xp, credal.n_classes
    table = all_events(k - 1)[1:]  # events without the last class: one of each complementary pair
    table = np.concatenate([table, np.zeros((len(table), 1))], axis=1)
    sizes = table.sum(axis=1).astype(np.int64)
    weights = size_weights(k)
    leading = credal._leading
    columns = like(np.ascontiguousarray(table.T), leading, dtype=xp.float64)
    weight = like(weights[sizes], leading, dtype=xp.float64)
    mirrored = like(weights[k - sizes], leading, dtype=xp.float64)
    sums = []
    step = max(_LEAST_ROWS, _TILE // len(table))
    if on_accelerator(leading):  # a launch costs more than a tile that fits the cache
        step = rows_within_budget(8 * len(table) * (credal.n_members + 2), 0.5)
    for rows in tiles(len(credal), step):
        gap, other = gaps_of(credal, rows).over(columns)
        sums.append(gap @ weight + other @ mirrored)
    return xp.concat(sums, axis=0)


_BATCHES = 32

_TOGETHER = 8  # batches whose events make one matrix product

_ENUMERATED = 3

_PRODUCT = 2**19  # doubles of (rows, members, events of one product)


def sampled_gap_sum(credal: Ensemble | Intervals, n_events: int, seed: Seed) -> tuple[Array, Array, float]:
    """Return the sum of gaps (n,), its standard errors (n,), and the standard error of the mean over rows."""
    xp, k, leading = credal.xp, credal.n_classes, credal._leading
    per_batch = -(-n_events // _BATCHES)
    shifts = Uniforms(seed, Stream.SHIFTS).draw(slice(0, 1), slice(0, _BATCHES))[0]
    points = (np.arange(per_batch)[None, :] + shifts[:, None]) / per_batch
    chances = (np.sin(0.5 * np.pi * points) ** 2).reshape(-1)  # batch after batch
    uniforms = Uniforms(seed, Stream.EVENTS)
    f, e = credal.n_members, _TOGETHER * per_batch
    limit = min(_PRODUCT // (f * e), rows_within_budget(8 * f * (3 * k + 4 * e), 0.5))
    values, errors, totals = [], [], np.zeros(_BATCHES)
    for rows in tiles(len(credal), limit):
        instances = _DisputedClasses(gaps_of(credal, rows), min(_ENUMERATED, k))
        drawn, controls = [], []
        for part in tiles(chances.size, e):
            uniform = uniforms.draw(part, slice(0, k), reference=leading)
            events = xp.astype(uniform < like(chances[part], leading)[:, None], xp.float64)
            sums = instances.rest @ events.T  # (r, f, e)
            drawn.append(instances.weighted_gaps(sums, chances[part]))
            controls.append(instances.controls(sums, chances[part]))
        value, control = xp.concat(drawn, axis=-1), xp.concat(controls, axis=-1)
        value = xp.reshape(value, (*value.shape[:-1], _BATCHES, per_batch))
        batches = _subtract_controls(value, xp.reshape(control, (*control.shape[:-1], _BATCHES, per_batch)))
        values.append(xp.mean(batches, axis=1))
        errors.append(xp.std(batches, axis=1, correction=1) / _BATCHES**0.5)
        totals += np.asarray([scalar(total) for total in xp.sum(batches, axis=0)])
    mean_error = float(np.std(totals / len(credal), ddof=1) / _BATCHES**0.5)
    return xp.concat(values, axis=0), xp.concat(errors, axis=0), mean_error


def _importance(q: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """density(q) over the arcsine density 1 / (pi sqrt(q (1 - q)))."""
    return np.asarray(np.pi * np.sqrt(q * (1.0 - q)) / (q * -np.log(q)))


class _DisputedClasses:
    """Some rows of a set: the functionals of their most disputed classes, and all with these set to 0."""

    def __init__(self, gaps: HullGaps | IntervalGaps, n_top: int) -> None:
        self.gaps, functionals = gaps, gaps.functionals
        xp = namespace(functionals)
        order = xp.argsort(gaps.disputed(), axis=-1, descending=True)
        index = xp.broadcast_to(order[:, None, :n_top], (*functionals.shape[:2], n_top))
        top = xp.take_along_axis(functionals, index, axis=2)  # (r, f, top)
        kept = xp.argsort(order, axis=-1) >= n_top
        self.rest = xp.where(kept[:, None, :], functionals, xp.zeros_like(functionals))
        self.patterns = all_events(n_top)
        self.fixed = top @ like(np.ascontiguousarray(self.patterns.T), top)  # (r, f, 2^top)
        self.whole = xp.sum(self.rest, axis=-1)[:, :, None]
        self.rest_square = xp.sum(self.rest**2, axis=-1)[:, :, None]
        self.square = self.rest_square + xp.sum(top**2, axis=-1)[:, :, None]

    def weighted_gaps(self, sums: Array, chance: np.ndarray[Any, Any]) -> Array:
        """Return (r, e): gaps of events and complements over the density of q, averaged over patterns."""
        xp = namespace(sums)
        n_top = self.patterns.shape[1]
        weight, mirrored = _importance(chance), _importance(1.0 - chance)
        total = xp.zeros((sums.shape[0], sums.shape[2]), dtype=xp.float64, device=device(sums))
        for index, n_inside in enumerate(self.patterns.sum(axis=1)):
            share = 0.5 * chance**n_inside * (1.0 - chance) ** (n_top - n_inside)
            gap, other = self.gaps.both(sums + self.fixed[:, :, index, None])
            total = total + gap * like(weight * share, sums) + other * like(mirrored * share, sums)
        return total

    def controls(self, sums: Array, chance: np.ndarray[Any, Any]) -> Array:
        """Return (r, c, e): quantities of the same events whose mean is known to be 0.

        Over events a functional x has mean q x(all) and variance q (1 - q) sum x^2; the patterns of the
        disputed classes are averaged here too.
        """
        xp = namespace(sums)
        q, spread = like(chance, sums), like(chance * (1.0 - chance), sums)
        off = sums - self.whole * q
        weight, mirrored = _importance(chance), _importance(1.0 - chance)
        if isinstance(self.gaps, HullGaps):
            scale = xp.mean(self.square, axis=1)
            excess = xp.mean(off**2, axis=1) - xp.mean(self.rest_square, axis=1) * spread
            excess = excess / xp.where(scale > 0, scale, xp.ones_like(scale))
            # A gap is about the root of the mean square; the constant keeps rare events from ruling the ends.
            level = (weight + mirrored) / np.sqrt(chance * (1.0 - chance) + 4.0 / self.rest.shape[2])
            return (excess * like(level, sums))[:, None, :]
        excess = (off**2 - self.rest_square * spread)[:, 0, :]
        straight = off[:, 0, :]
        first, second = like(weight, sums), like(mirrored, sums)
        return xp.stack([straight * first, straight * second, excess * first, excess * second], axis=1)


def _subtract_controls(values: Array, controls: Array) -> Array:
    """Return batch means (r, b) of values (r, b, e) minus what controls (r, c, b, e) explain.

    The slopes used for one half of the batches are fitted on the other half, so the result stays unbiased.
    """
    xp = namespace(values)
    half = values.shape[1] // 2
    first, second = slice(0, half), slice(half, None)
    slopes = [_slopes(values[:, part, :], controls[:, :, part, :]) for part in (second, first)]
    parts = [
        xp.mean(values[:, part, :], axis=2) - xp.sum(slope * xp.mean(controls[:, :, part, :], axis=3), axis=1)
        for part, slope in zip((first, second), slopes, strict=True)
    ]
    return xp.concat(parts, axis=1)


def _slopes(values: Array, controls: Array) -> Array:
    """Regress values (r, b, e) on controls (r, c, b, e), what depends on q alone taken out: (r, c, 1)."""
    xp = namespace(values)
    r, c, b, e = controls.shape
    moved = xp.reshape(controls - xp.mean(controls, axis=2, keepdims=True), (r, c, b * e))
    target = xp.reshape(values - xp.mean(values, axis=1, keepdims=True), (r, b * e, 1))
    scale = xp.sqrt(xp.sum(moved**2, axis=-1, keepdims=True))
    scale = xp.where(scale > 0, scale, xp.ones_like(scale))
    moved = moved / scale
    ridge = like(1e-10 * np.eye(c), values)  # a set that is a point has neither gaps nor controls
    gram = moved @ xp.matrix_transpose(moved) + ridge
    return xp.linalg.solve(gram, moved @ target) / scale
