"""Sets of classes and intervals with a claimed coverage: what they hold on average, and in parts.

    h_i = 1[y_i in C_i],   H0: P(h_i = 1 | size, group, features) = claimed

    marginal   exact binomial
    strata     chi-square over sizes, or groups
    features   sum_i g(x_i) (h_i - claimed), g a ridge regression of h - claimed on other folds
    slab       smallest coverage of a <= <v, x> <= b with a share of at least `least` of the instances

Under H0 the h_i are independent coins whatever the sets are, so replicates are coins too, all of them at
once, and every p-value is exact.   Romano, Sesia and Candes 2020; Cauchois, Gupta and Duchi 2021 (slabs);
Angelopoulos and Bates 2021 (size-stratified coverage).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from credibly._arrays.errors import InputError, InputTypeError, require_positive
from credibly._arrays.namespace import HostArray, is_array, ndtri, rows_within_budget, tiles, to_host
from credibly._arrays.philox import Seed, Stream, Uniforms, as_seed, takes_rng
from credibly.hypotests.calibration.calibration_test import require_resamples
from credibly.hypotests.resampling.pvalues import monte_carlo_pvalue
from credibly.results.base import require_level
from credibly.results.coverage import SetCoverage, Slab, Strata
from credibly.results.estimates import Estimate

_FOLDS = 5
_DIRECTIONS = 200
_CUTS = 20
"""Quantiles of a direction at which slabs begin and end."""
_PENALTY = 1.0
_SIZES = 3
"""Equally filled parts that widths of intervals are cut into, as MAPIE does."""


Measure = Callable[[HostArray], HostArray]
"""From coins (b, n), which labels are held, to numbers (b,) that are large where it goes wrong."""


@takes_rng
def set_coverage(
    sets: Any,
    labels: Any,
    *,
    claimed: float,
    groups: Any = None,
    features: Any = None,
    least: float = 0.1,
    n_resamples: int = 999,
    rng: Any = None,
) -> SetCoverage:
    """Test whether prediction sets or intervals contain the share of labels that they claim.

    Parameters
    ----------
    sets : bool array (n, k), or pair of arrays (n,)
        Which classes are in the set of every instance; or lower and upper ends of intervals, which count as
        inside.
    labels : array (n,)
        Observed classes from 0 to k - 1, or real numbers.
    claimed : float
        Share of labels that the sets claim to contain.
    groups : array (n,), optional
        Groups to compare.
    features : array (n, f), optional
        Numeric features that might show where labels are missed.
    least : float
        Smallest share of the instances in a slab of features.
    n_resamples : int
        Replicates behind the p-values of strata, features and slabs.
    rng : None, int or Generator
        Seed of replicates, folds and directions.

    Returns
    -------
    SetCoverage
        Coverage with an exact binomial p-value, sizes, and coverage by size, group and features.

    Notes
    -----
    The sets must not depend on these labels. Sets that contain more labels than they claim are also a
    conflict.

    References
    ----------
    Cauchois, Gupta and Duchi, *Knowing what you know*, JMLR 2021.

    Examples
    --------
    >>> import credibly as cr
    >>> sets = [[True, False], [True, True], [True, True], [False, True]]
    >>> found = cr.hypotests.set_coverage(sets, [0, 1, 0, 0], claimed=0.9, n_resamples=99, rng=0)
    >>> found.coverage.value, found.size.value
    (0.75, 1.5)
    """
    require_level(claimed)
    require_resamples(n_resamples)
    if not 0 < least < 1:
        raise InputError("`least`", "must lie strictly between 0 and 1", f"got {least!r}", "Try 0.1.")
    held, size, score, real = _held(sets, labels, claimed)
    n = held.size
    seed = as_seed(rng)
    own = None if groups is None else np.asarray(groups).astype(str)
    if own is not None and own.shape != (n,):
        raise InputError("`groups`", f"must have {n} entries", f"got {own.shape}", "Give one per set.")
    parts = {"size": _width_parts(size) if real else _size_parts(size)}
    if own is not None:
        parts["group"] = np.unique(own, return_inverse=True)
    measures: dict[str, Measure] = {by: partial(_chi_square, *one, claimed) for by, one in parts.items()}
    slabs = None
    if features is not None:
        table = _standardised(features, n)
        slabs = _Slabs(table, least, seed)
        measures["features"] = partial(_foretold, table, _folds(n, seed), claimed)
        measures["slab"] = slabs.lowest
    pvalues = _pvalues(measures, held, claimed, n_resamples, seed)
    strata = {by: _strata(by, *one, held, pvalues[by]) for by, one in parts.items()}
    return SetCoverage(
        claimed=float(claimed),
        coverage=_mean("set_coverage", held.astype(np.float64), "wilson"),
        pvalue=binomial_pvalue(int(held.sum()), n, claimed),
        size=_mean("set_size", size, "normal"),
        score=None if score is None else _mean("interval_score", score, "normal"),
        by_size=strata["size"],
        by_group=strata.get("group"),
        features_pvalue=pvalues.get("features"),
        slab=None if slabs is None else slabs.worst(held, pvalues["slab"]),
        n=n,
        n_resamples=int(n_resamples),
    )


def _held(sets: Any, labels: Any, claimed: float) -> tuple[HostArray, HostArray, HostArray | None, bool]:
    """Return which labels are held, sizes, interval scores (or None), and whether labels are real."""
    given = to_host(labels) if is_array(labels) else np.asarray(labels)
    if isinstance(sets, (tuple, list)) and len(sets) == 2 and np.ndim(sets[0]) == 1 and _is_real(sets[0]):
        low, high = (np.asarray(to_host(one) if is_array(one) else one, dtype=np.float64) for one in sets)
        y = given.astype(np.float64)
        good = low.shape == high.shape == y.shape and y.ndim == 1 and y.size > 0
        if not good or not (np.isfinite(low) & np.isfinite(high) & np.isfinite(y) & (low <= high)).all():
            raise InputError(
                "`sets`",
                "must be lower and upper ends, (n,) each, finite and in order, with one label per interval",
                f"got shapes {low.shape}, {high.shape} and labels {y.shape}",
                "Sort the ends, and drop rows without them.",
            )
        outside = np.clip(np.maximum(low - y, y - high), 0.0, None)
        return outside == 0, high - low, high - low + 2.0 / (1.0 - claimed) * outside, True
    members = to_host(sets) if is_array(sets) else np.asarray(sets)
    if members.ndim != 2 or members.dtype != np.bool_:
        raise InputTypeError(
            "`sets`",
            "must be booleans (n, k), or a pair of lower and upper ends",
            f"got dtype {members.dtype} and shape {members.shape}",
            "Write `probs >= threshold`, or `(lower, upper)`.",
            argument="sets",
        )
    n, k = members.shape
    whole = given.astype(np.int64) if given.dtype.kind in "iub" else None
    if whole is None or whole.shape != (n,) or n == 0 or whole.min() < 0 or whole.max() >= k:
        raise InputError(
            "`labels`",
            f"must be {n} classes from 0 to {k - 1}",
            f"got dtype {given.dtype} and shape {given.shape}",
            "Give one class per set.",
        )
    return members[np.arange(n), whole], members.sum(axis=1).astype(np.float64), None, False


def _is_real(values: Any) -> bool:
    return np.asarray(to_host(values) if is_array(values) else values).dtype.kind in "fiu"


def binomial_pvalue(count: int, n: int, share: float) -> float:
    """Return the exact two-sided p-value: twice the smaller tail."""
    from scipy.special import bdtr, bdtrc

    lower = float(bdtr(count, n, share))
    upper = 1.0 if count == 0 else float(bdtrc(count - 1, n, share))
    return min(1.0, 2.0 * min(lower, upper))


def _mean(name: str, values: HostArray, method: Any) -> Estimate:
    n = values.size
    stderr = float(values.std(ddof=1) / np.sqrt(n)) if n > 1 else None
    refusal = None if stderr is not None else "one instance has no standard error"
    return Estimate(name, float(values.mean()), stderr, n, {}, (), refusal, method)


def _size_parts(size: HostArray) -> tuple[HostArray, HostArray]:
    names, place = np.unique(size.astype(np.int64), return_inverse=True)
    return names.astype(str), place


def _width_parts(width: HostArray) -> tuple[HostArray, HostArray]:
    """Cut widths into equally filled parts; equal widths stay together."""
    edges = np.unique(np.quantile(width, np.arange(1, _SIZES) / _SIZES))
    place = np.searchsorted(edges, width, side="left")
    kept, place = np.unique(place, return_inverse=True)
    names = [f"{width[place == at].min():.4g} to {width[place == at].max():.4g}" for at in range(kept.size)]
    return np.asarray(names), place


def _pvalues(
    measures: dict[str, Measure], held: HostArray, claimed: float, n_resamples: int, seed: Seed
) -> dict[str, float]:
    """Return the p-value of every measure, large values counting against the sets: coins in tiles."""
    observed = {name: float(one(held[None, :].astype(np.float64))[0]) for name, one in measures.items()}
    uniforms, rows = Uniforms(seed, Stream.COINS), slice(0, held.size)
    null: dict[str, list[HostArray]] = {name: [] for name in measures}
    for reps in tiles(n_resamples, rows_within_budget(32 * held.size, 0.25)):
        coins = (uniforms.block(reps, rows) < claimed).astype(np.float64)
        for name, one in measures.items():
            null[name].append(one(coins))
    return {
        name: monte_carlo_pvalue(observed[name], np.concatenate(own), "greater")[0]
        for name, own in null.items()
    }


def _chi_square(names: HostArray, place: HostArray, claimed: float, every: HostArray) -> HostArray:
    """Return sum over parts of (count - expected)^2 / variance for coins (b, n)."""
    parts = np.eye(names.size)[place]  # (n, s)
    sizes = parts.sum(axis=0)
    away = every @ parts - sizes * claimed
    found: HostArray = (away**2 / (sizes * claimed * (1 - claimed))).sum(axis=1)
    return found


def _strata(by: str, names: HostArray, place: HostArray, held: HostArray, pvalue: float) -> Strata:
    sizes = np.bincount(place, minlength=names.size)
    counts = np.bincount(place, weights=held, minlength=names.size)
    return Strata(by, tuple(names.tolist()), sizes, counts / sizes, pvalue)


def _standardised(features: Any, n: int) -> HostArray:
    table = np.asarray(to_host(features) if is_array(features) else features, dtype=np.float64)
    table = table[:, None] if table.ndim == 1 else table
    if table.ndim != 2 or table.shape[0] != n or not np.isfinite(table).all():
        raise InputError(
            "`features`", f"must be finite numbers ({n}, f)", f"got {table.shape}", "Give one row per set."
        )
    require_positive("the number of features", table.shape[1], "Give at least one column.")
    spread = table.std(axis=0)
    found: HostArray = (table - table.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    return found


def _folds(n: int, seed: Seed) -> HostArray:
    order = np.argsort(Uniforms(seed, Stream.FOLDS).block(slice(0, 1), slice(0, n))[0])
    found: HostArray = np.argsort(order) % min(_FOLDS, n)
    return found


def _foretold(table: HostArray, folds: HostArray, claimed: float, every: HostArray) -> HostArray:
    """Return what ridge regressions on other folds foretell of the excess of coins (b, n)."""
    design = np.concatenate([np.ones((table.shape[0], 1)), table, table**2], axis=1)
    excess = every - claimed
    total: HostArray = np.zeros(every.shape[0])
    for fold in np.unique(folds):
        inside = folds == fold
        train = design[~inside]
        gram = train.T @ train + _PENALTY * np.eye(design.shape[1])
        slopes = np.linalg.solve(gram, train.T @ excess[:, ~inside].T)  # (f, b)
        total += np.sum((design[inside] @ slopes).T * excess[:, inside], axis=1)
    return total


class _Slabs:
    """Slabs between quantiles of every feature, and of random directions."""

    def __init__(self, table: HostArray, least: float, seed: Seed) -> None:
        n, f = table.shape
        uniform = Uniforms(seed, Stream.DIRECTIONS).block(slice(0, 0 if f == 1 else _DIRECTIONS), slice(0, f))
        drawn = ndtri(np.clip(uniform, 1e-12, None))
        self.directions = np.concatenate([np.eye(f), drawn / np.linalg.norm(drawn, axis=1, keepdims=True)])
        self.table = table
        self.orders = np.argsort(table @ self.directions.T, axis=0, kind="stable").T  # (d, n)
        self.cuts = np.unique(np.round(np.linspace(0, n, min(_CUTS, n) + 1)).astype(np.int64))
        begin, end = np.triu_indices(self.cuts.size, 1)
        enough = self.cuts[end] - self.cuts[begin] >= max(1.0, least * n)
        self.begin, self.end = begin[enough], end[enough]

    def _shares(self, order: HostArray, every: HostArray) -> HostArray:
        """Return the coverage of every slab of one direction, (b, slabs)."""
        sums = np.add.reduceat(every[:, order], self.cuts[:-1], axis=1)
        sums = np.concatenate([np.zeros((every.shape[0], 1)), np.cumsum(sums, axis=1)], axis=1)
        found: HostArray = (sums[:, self.end] - sums[:, self.begin]) / (
            self.cuts[self.end] - self.cuts[self.begin]
        )
        return found

    def lowest(self, every: HostArray) -> HostArray:
        """Return minus the smallest coverage of all slabs, (b,)."""
        found = np.full(every.shape[0], -np.inf)
        for order in self.orders:
            found = np.maximum(found, -self._shares(order, every).min(axis=1))
        return found

    def worst(self, held: HostArray, pvalue: float) -> Slab:
        """Return the slab whose labels are held least."""
        every = held[None, :].astype(np.float64)
        shares = [self._shares(order, every)[0] for order in self.orders]
        at = int(np.argmin([one.min() for one in shares]))
        place = int(shares[at].argmin())
        first, last = int(self.cuts[self.begin[place]]), int(self.cuts[self.end[place]])
        along = np.sort(self.table @ self.directions[at])
        return Slab(
            direction=self.directions[at],
            low=float(along[first]),
            high=float(along[last - 1]),
            n=last - first,
            coverage=float(shares[at][place]),
            pvalue=pvalue,
        )
