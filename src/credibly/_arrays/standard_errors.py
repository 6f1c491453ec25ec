"""Standard errors of means, over rows or clusters, and when no interval holds around them.

sums of w^j v^i  ->  error of sum w v / sum w, skewness of what rows contribute
values without each cluster  ->  jackknife error, with degrees of freedom from the sizes of the clusters
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.special import ndtri, stdtrit

from credibly._arrays.namespace import Array, HostArray, is_numpy, namespace, row_sums, to_host
from credibly._arrays.notes import counted
from credibly._arrays.sums import State

_MOST_SKEW = 0.3

_ROUNDING = 1e-12

_SAME = "all instances contribute the same number, which carries no information about the spread"

ONE_INSTANCE = "one instance has no standard error"

ONE_CLUSTER = "all rows are of one cluster"

INFINITE_MEAN = "the mean is infinite"


def _power_sums(value: Array, weights: Array | None) -> dict[str, Array]:
    """Return the sums of w^j v^i of values (1, n) as entries ``wj vi``, and how many there are."""
    xp = namespace(value)
    square = value * value
    sums = {"n": xp.zeros_like(value[:, 0]) + float(value.shape[1])}
    sums["infinite"] = row_sums(xp.astype(xp.isinf(value), xp.float64))
    powers = [xp.ones_like(value[:, :1]), value, square, square * value]
    weights = xp.ones_like(value) if weights is None else weights
    for j, i in _POWERS:
        sums[f"w{j} v{i}"] = row_sums(weights**j * powers[i])
    return sums


def _plain_sums(values: HostArray) -> dict[str, HostArray]:
    """Return the fields of `Moments` without weights on the host: the same bits in fewer steps."""
    number = np.array([float(values.shape[1])])
    centre = np.add.reduce(values, axis=1) / number
    if not math.isfinite(centre[0]):
        centre = np.zeros(1)
    away = values - centre
    unit = np.maximum(away.max(axis=1), -away.min(axis=1))
    if not 0.0 < unit[0] < math.inf:
        unit = np.ones(1)
    away /= unit
    square = away * away
    infinite = np.array([float(np.count_nonzero(np.isinf(away)))])
    plain = [number, row_sums(away), row_sums(square), row_sums(np.multiply(square, away, out=away))]
    powers = {f"w{j} v{i}": plain[i] for j, i in _POWERS}
    return {"n": number, "infinite": infinite, "centre": centre, "unit": unit, **powers}


_POWERS = [(j, i) for j in (1, 2, 3) for i in range(j + 1)]
_MOMENTS = ("n", "infinite", "centre", "unit", *(f"w{j} v{i}" for j, i in _POWERS))


class Moments(State):
    """What the standard error of a weighted mean needs, as sums that can be merged; other fields add up.

    Entry ``wj vi`` is the sum of w^j v^i over instances of positive weight, v = (value - centre) / unit.
    Around the mean, powers of nearly equal values lose no digits; in units of the largest deviation they
    neither overflow nor vanish. Addition brings both to one centre and unit:

    sum w^j (r v + d)^i = sum over m of binom(i, m) d^(i - m) r^m sum w^j v^m
    """

    @classmethod
    def of(cls, values: Array, weights: Array | None, **plain: Array) -> Moments:
        """Return the sums of values (1, n), an instance of weight zero left out, and `plain` sums."""
        if weights is None and is_numpy(values):
            return cls(_plain_sums(values), **plain)
        xp = namespace(values)
        if weights is None:
            centre = xp.mean(values, axis=1)
        else:
            values = xp.where(weights > 0, values, xp.zeros_like(values))
            total = xp.sum(weights, axis=1)
            centre = xp.sum(weights * values, axis=1) / xp.where(total > 0, total, xp.ones_like(total))
        centre = xp.where(xp.isfinite(centre), centre, xp.zeros_like(centre))
        away = values - centre[:, None]
        unit = xp.maximum(xp.max(away, axis=1), -xp.min(away, axis=1))
        unit = xp.where((unit > 0) & xp.isfinite(unit), unit, xp.ones_like(unit))
        return cls(_power_sums(away / unit[:, None], weights), centre=centre, unit=unit, **plain)

    @property
    def mean(self) -> float:
        """The weighted mean of the values."""
        share = self["w1 v1"][0] / self["w1 v0"][0]
        return float(self["centre"][0] + self["unit"][0] * share)

    def __add__(self, other: State) -> Moments:
        centre, unit = self["centre"], namespace(self["unit"]).maximum(self["unit"], other["unit"])
        total = _moved(self, centre, unit) + _moved(other, centre, unit)
        return Moments(total, centre=centre, unit=unit)


def _moved(sums: State, centre: Array, unit: Array) -> State:
    """Return sums around another centre, in another unit."""
    ratio, shift = sums["unit"] / unit, (sums["centre"] - centre) / unit
    moved = State(sums)
    with np.errstate(invalid="ignore"):  # 0 * inf, where an infinite value is counted and refused
        for j, i in ((1, 1), (2, 1), (2, 2), (3, 1), (3, 2), (3, 3)):
            powers = [math.comb(i, m) * shift ** (i - m) * ratio**m for m in range(i + 1)]
            moved[f"w{j} v{i}"] = sum(power * sums[f"w{j} v{m}"] for m, power in enumerate(powers))
    return moved


def standard_error_of(sums: Mapping[str, Array], size: float = 1.0) -> tuple[float | None, str | None]:
    """Return standard error and refusal of a mean from `Moments`; the same numbers as from the values.

    `size` is that of the terms in a contribution: rounding errors are relative to it. With 0, the
    contributions themselves say what is small.
    """
    host = sums if is_numpy(sums["n"]) else {name: to_host(total) for name, total in sums.items()}
    number = {name: float(host[name][0]) for name in _MOMENTS}
    n = int(number["n"])
    if number["infinite"]:
        return None, INFINITE_MEAN
    if n < 2:
        return None, ONE_INSTANCE
    mean = number["w1 v1"] / number["w1 v0"]
    scale = n / number["w1 v0"]
    # deviations d = scale w (v - mean) have mean zero
    square = scale**2 * (number["w2 v2"] - 2 * mean * number["w2 v1"] + mean**2 * number["w2 v0"])
    cube = scale**3 * (
        number["w3 v3"]
        - 3 * mean * number["w3 v2"]
        + 3 * mean**2 * number["w3 v1"]
        - mean**3 * number["w3 v0"]
    )
    variance, unit = square / n, number["unit"]
    same = unit * math.sqrt(max(0.0, variance)) <= _ROUNDING * max(size, abs(number["centre"]))
    error = unit * math.sqrt(max(0.0, square) / (n - 1) / n)
    return error, _SAME if same else skewness_refusal(abs(cube / n) / variance**1.5, n)


_ONE_DECIDES = 0.7

FEWEST_CLUSTERS = 6
"""Below this signs of clusters reject nothing at 5 %, and no interval is offered."""


def cluster_error(
    value: float, without: HostArray, sizes: HostArray, independent: float | None, size: float = 1.0
) -> dict[str, Any]:
    """Return the jackknife error of a value that is `without` each of its clusters (c,) in turn.

    Clusters of unequal sizes have fewer degrees of freedom than their number: with a correlation r of rows
    that the design effect (se / independent se)^2 tells,

        v_c = n_c (1 + (n_c - 1) r),      degrees = (sum v)^2 / sum v^2 - 1.

    Parameters
    ----------
    value : float
        The value of all rows.
    without : ndarray (c,)
        The value without each cluster.
    sizes : ndarray (c,)
        Rows of every cluster.
    independent : float or None
        The standard error were all rows independent; None takes rows of a cluster for the same.
    size : float
        Size of the terms that are summed: rounding errors are relative to it. If 0, the value itself sets
        the scale.

    Returns
    -------
    dict
        Fields of an Estimate: standard error, why it makes no interval, clusters and degrees of freedom.
    """
    number = without.size
    moved = without - value
    if not np.isfinite(moved).all():
        infinite = "the value is infinite, or becomes infinite when one cluster is left out"
        return {"stderr": None, "interval_refusal": infinite, "n_clusters": number}
    error = math.sqrt((number - 1) / number * float(moved @ moved))
    largest = float(np.abs(moved).max())
    skewness = math.inf
    if largest > _ROUNDING * max(size, abs(value)):
        scale, asymmetry = scale_and_skewness(moved / largest)
        if scale > _ROUNDING * math.sqrt(number):
            skewness = math.sqrt(number) * abs(asymmetry)
    return {
        "stderr": error,
        "interval_refusal": cluster_refusal(skewness, number),
        "n_clusters": number,
        "degrees_of_freedom": degrees_of_freedom(sizes, error, independent),
    }


def cluster_refusal(skewness: float, number: int) -> str | None:
    """Return why clusters with contributions of this skewness have no interval; None where they have one.

    The skewness of so many numbers is at most about the root of their number, where one decides.
    """
    if number < FEWEST_CLUSTERS:
        return f"{counted(number, 'cluster is', 'clusters are')} too few; {FEWEST_CLUSTERS} are needed"
    if math.isinf(skewness):
        return _SAME
    if skewness <= _ONE_DECIDES * math.sqrt(number):
        return None
    return f"one of {number} clusters decides the value (skewness of their contributions {skewness:.2g})"


def degrees_of_freedom(sizes: HostArray, error: float, independent: float | None) -> float:
    """Return how many clusters of equal sizes tell as much as these, less one; see `cluster_error`."""
    share = 1.0
    if independent and sizes.max() > 1:
        share = ((error / independent) ** 2 - 1) / (float(sizes @ sizes) / float(sizes.sum()) - 1)
    variance = sizes * (1 + (sizes - 1) * min(1.0, max(0.0, share)))
    return float(variance.sum() ** 2 / (variance @ variance) - 1)


_NO_SKEWNESS = 1e-6
"""Below this nothing changes but rounding."""


def scale_and_skewness(added: HostArray) -> HostArray:
    """Return s and k, (2,), of what clusters (c,) add to a sum.

    s^2 = sum_c (a_c - mean a)^2,   k = sum_c (a_c - mean a)^3 / s^3
    """
    away = added - added.mean()
    scale = float(np.sqrt(away @ away))
    return np.array([scale, np.sum((away / scale) ** 3) if scale > 0 else 0.0])


def skewed(moved: HostArray, scale: float, skewness: float) -> HostArray:
    """Return signed sums (b,) with the skewness that the sum over clusters itself has.

    A sum t s of skewed numbers with their scale s is not symmetric as signed sums are, but g(t) nearly is:
    g(t) = ((1 + k t / 3)^3 - 1) / k + k / 6. Signed sums become s times the inverse of g where that is
    further from 0; k of few clusters is too uncertain to bring them nearer.   Hall 1992.
    """
    if abs(skewness) < _NO_SKEWNESS:
        return moved
    within = 1.0 + skewness * (moved / scale - skewness / 6.0)
    skew_sums = scale * 3.0 / skewness * (np.cbrt(within) - 1.0)
    return np.where(np.abs(skew_sums) > np.abs(moved), skew_sums, moved)


def mean_error(values: Array, codes: HostArray | None = None, size: float = 1.0) -> dict[str, Any]:
    """Return the fields of an Estimate that tell the error of the mean of values (n,), of rows or clusters.

    Parameters
    ----------
    values : array (n,)
        Contributions of the instances, or their influence.
    codes : ndarray (n,), optional
        Which cluster every instance belongs to; None where all are independent.
    size : float
        Size of the terms in a contribution: rounding errors are relative to it. With 0, the contributions
        themselves say what is small.

    Returns
    -------
    dict
        As `cluster_error` returns it; of independent rows the standard error and its refusal.
    """
    if values.shape[0] < 2:
        return {"stderr": None, "interval_refusal": ONE_INSTANCE}
    if not bool(namespace(values).all(namespace(values).isfinite(values))):
        return {"stderr": None, "interval_refusal": INFINITE_MEAN}
    error, refusal = standard_error_of(Moments.of(values[None, :], None), size)
    if codes is None:
        return {"stderr": error, "interval_refusal": refusal}
    host = to_host(values).astype(np.float64)
    return mean_error_of_clusters(np.bincount(codes, host), np.bincount(codes), error, size)


def mean_error_of_clusters(
    total: HostArray, weight: HostArray, independent: float | None, size: float = 1.0
) -> dict[str, Any]:
    """Return the same from the total and the weight, or number of rows, of every cluster, (c,) each."""
    present = weight > 0
    total, weight = total[present], weight[present].astype(np.float64)
    if weight.size < 2:
        return {"stderr": None, "interval_refusal": ONE_CLUSTER, "n_clusters": 1}
    with np.errstate(invalid="ignore"):  # of infinite totals, which are refused
        without = (total.sum() - total) / (weight.sum() - weight)
    return cluster_error(float(total.sum() / weight.sum()), without, weight, independent, size)


def skewness_refusal(skewness: float, n: int) -> str | None:
    """Return why n contributions of this skewness have no normal interval of their mean; None if they do.

    Contributions that do not differ have infinite skewness here.
    """
    if math.isinf(skewness):
        return _SAME
    if skewness <= _MOST_SKEW * math.sqrt(n):
        return None
    enough = math.ceil((skewness / _MOST_SKEW) ** 2)
    return (
        f"a few instances with large contributions decide the mean (skewness {skewness:.2g}); intervals "
        f"need about {enough} such instances, and there are {n}"
    )


def factor(level: float, degrees: float | HostArray | None = None) -> Any:
    """Return how many standard errors make an interval: normal, or Student's for clusters."""
    share = (1 + level) / 2
    quantile = ndtri(share) if degrees is None else stdtrit(degrees, share)
    return float(quantile) if np.ndim(quantile) == 0 else quantile
