"""Do rows look independent? A test of the residuals along the rows, and among equal ids.

    M_i = <r_i, sum of earlier r that row i may depend on>,    z = sum M_i / sqrt(sum M_i^2)

r is what is left of label minus prediction once its mean given the prediction is taken off, so that a model
that is wrong in the same way everywhere is no sign of dependence. Nor is one that is wrong in groups that the
user named, which the audit tests: their mean is taken off too. Of independent rows the M_i are martingale
differences and z is nearly normal; rows that resemble those before them make it large. Its size is measured
in docs/theory/clusters.md.

The design effect is the factor by which dependence widens the variance of a mean residual:

    of clusters   sum over clusters of |sum r|^2 / sum |r|^2        along rows   1 + 2 sum over lags of corr
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from statistics import NormalDist

import numpy as np

from credibly._arrays.errors import CrediblyError
from credibly._arrays.namespace import HostArray, as_float64, to_host
from credibly.predictions import Classes, ClassPredictions, Dataset, Reals, Rows, as_point
from credibly.predictions.clusters import ids_of_contents
from credibly.predictions.rows import observed_part, predicted_parts
from credibly.results.numbers import p_is
from credibly.statistics.coverage import pit

MOST_ROWS = 20_000
"""Rows that are looked at; the first, where there are more."""
LEVEL = 0.01
"""Probability that independent rows are called dependent, over all looks together."""
_LAGS = 10
_BINS = 10
_FEWEST = 50


@dataclasses.dataclass(frozen=True)
class SignOfDependence:
    """Rows that resemble each other more than independent ones do.

    Attributes
    ----------
    where : str
        Which rows: "neighbouring rows" or "rows with the same id".
    pvalue : float
        P-value of the test that rows are independent.
    design_effect : float
        Estimated factor by which variances of means are larger than those of independent rows.
    """

    where: str
    pvalue: float
    design_effect: float

    def __str__(self) -> str:
        return (
            f"P-values and intervals here assume independent rows, but {self.where} tend to err together "
            f"({p_is(self.pvalue)}), so standard errors should be about "
            f"{math.sqrt(self.design_effect):.2g} times as large. Use `clusters=` to say which "
            f"rows belong together, or `blocks=` for rows in time order."
        )


def dependences(rows: Rows) -> tuple[SignOfDependence, ...]:
    """Return where rows resemble each other, the largest design effect first; nothing of few rows."""
    if rows.example.clusters is not None or rows.n < _FEWEST:
        return ()
    some = rows.take(np.arange(min(rows.n, MOST_ROWS)))
    residual = residuals(some)
    if residual is None:
        return ()
    for names in some.groups.values() if isinstance(some.groups, Mapping) else [some.groups]:
        residual = _without_means(residual, _repeated(names))
    looks = {
        "neighbouring rows": None if _is_sorted(some) else np.zeros(len(some), dtype=np.intp),
        "rows with the same id": _repeated(some.ids),
    }
    looked = {where: codes for where, codes in looks.items() if codes is not None}
    signs = []
    for where, codes in looked.items():
        along = where == "neighbouring rows"
        score = _score(residual, codes, _LAGS if along else None)
        pvalue = NormalDist().cdf(-score)
        effect = _along(residual) if along else _inside(residual, codes)
        if pvalue <= LEVEL / len(looked) and effect > 1:
            signs.append(SignOfDependence(where, max(pvalue, 1e-16), effect))
    return tuple(sorted(signs, key=lambda sign: -sign.design_effect))


_FEWEST_COPIED = 10
_SHARE_COPIED = 0.03


def copies_warning(rows: Rows) -> tuple[str, ...]:
    """Say how many rows are exact copies of others, if chance and coarse predictions do not explain them.

    Rows with the same prediction are copies if their labels agree too. A model that states few different
    predictions has such rows as well, but their labels differ as often as it says: pure sets of rows with one
    prediction are compared with how many of them independent labels would leave pure.
    """
    if rows.example.clusters is not None or rows.n < _FEWEST:
        return ()
    some = rows.take(np.arange(min(rows.n, MOST_ROWS)))
    if not isinstance(some.batch, (Classes, Reals)):
        return ()
    labels = observed_part(some)
    _, codes, sizes = np.unique(
        ids_of_contents(predicted_parts(some)), return_inverse=True, return_counts=True
    )
    order = np.lexsort((labels, codes))
    changes = (np.diff(codes[order]) == 0) & (np.diff(labels[order]) != 0)
    mixed = np.zeros(sizes.size, dtype=bool)
    mixed[codes[order][1:][changes]] = True
    pure = (sizes > 1) & ~mixed
    copied = int((sizes[pure] - 1).sum())
    if np.count_nonzero(pure) < _FEWEST_COPIED or copied < _SHARE_COPIED * len(some):
        return ()
    first = np.unique(codes, return_index=True)[1][pure]
    if isinstance(some.predictions, ClassPredictions):
        probs = to_host(as_float64(as_point(some.predictions)[0].probs))[first]
        by_chance = np.sum(probs ** sizes[pure][:, None], axis=1)
    else:
        shares = np.unique(labels, return_counts=True)[1] / len(labels)
        by_chance = float(shares @ shares) ** (sizes[pure] - 1.0)
    missing = float(np.sum(1.0 - by_chance))
    if missing < _FEWEST_COPIED or np.count_nonzero(mixed & (sizes > 1)) > 0.2 * missing:
        return ()
    number = (
        f"{copied} of {len(some)} rows" if len(some) == rows.n else f"{copied} of the first {len(some)} rows"
    )
    words = (
        f"{number} ({copied / len(some):.0%}) are exact copies of other rows, with the same predictions and "
        "label, and p-values and intervals here count them as independent evidence. Drop them if they are "
        'there by mistake, or count all copies of a row as one cluster: `clusters="copies"`.'
    )
    return (words,)


def residuals(rows: Dataset) -> HostArray | None:
    """Return label minus prediction, (n, k), less its mean among rows with like predictions; None of counts.

    Of real values it is where the label lies in its predicted distribution, less its mean.
    """
    batch, predictions = rows.batch, rows.predictions
    if isinstance(batch, Classes) and isinstance(predictions, ClassPredictions):
        probs = to_host(as_float64(as_point(predictions)[0].probs))
        residual = -probs
        residual[np.arange(len(probs)), to_host(batch.values)[0].astype(np.intp)] += 1.0
        ranks = np.argsort(np.argsort(probs, axis=0, kind="stable"), axis=0, kind="stable")
        for at, cells in enumerate((ranks * _BINS // len(probs)).T):
            residual[:, at] -= (np.bincount(cells, residual[:, at]) / np.bincount(cells))[cells]
        return residual
    if not isinstance(batch, Reals):
        return None
    try:
        place = to_host(pit(predictions, batch.values[0, :]))
    except CrediblyError:  # such quantiles have no place for every label
        return None
    return np.asarray(place - place.mean())[:, None]


def _score(residual: HostArray, codes: HostArray, lags: int | None) -> float:
    """Return z of every row against earlier rows with its code: all of them, or the last few."""
    order = np.argsort(codes, kind="stable")
    ordered, code = residual[order], codes[order]
    sums = np.cumsum(ordered, axis=0) - ordered  # of all earlier rows
    starts = np.concatenate([[True], np.diff(code) != 0])
    first = np.maximum.accumulate(np.where(starts, np.arange(len(code)), 0))
    if lags is not None:
        first = np.maximum(first, np.arange(len(code)) - lags)
    earlier = np.einsum("nk,nk->n", ordered, sums - sums[first])
    spread = math.sqrt(float(earlier @ earlier))
    return float(earlier.sum()) / spread if spread > 0 else 0.0


def _along(residual: HostArray) -> float:
    total = float(np.sum(residual**2))
    lagged = [float(np.sum(residual[lag:] * residual[:-lag])) for lag in range(1, _LAGS + 1)]
    return 1 + 2 * sum(lagged) / total if total > 0 else 1.0


def _inside(residual: HostArray, codes: HostArray) -> float:
    total = float(np.sum(residual**2))
    sums = np.stack([np.bincount(codes, column) for column in residual.T])
    return float(np.sum(sums**2)) / total if total > 0 else 1.0


def _without_means(residual: HostArray, codes: HostArray | None) -> HostArray:
    """Return residuals less their mean among rows of one code."""
    if codes is None:
        return residual
    sizes = np.bincount(codes)
    means = np.stack([np.bincount(codes, column) / sizes for column in residual.T], axis=1)
    return np.asarray(residual - means[codes])


def _repeated(names: HostArray | None) -> HostArray | None:
    """Return codes of names that repeat; None where all are distinct or the same."""
    if names is None or np.ndim(names) != 1:
        return None
    array = np.asarray(names)
    levels, codes = np.unique(array.astype(str) if array.dtype == object else array, return_inverse=True)
    return codes if 1 < levels.size < array.size else None


def _is_sorted(rows: Dataset) -> bool:
    """Tell whether rows stand in the order of their labels, where neighbours err alike by that alone."""
    values = to_host(rows.batch.values)[0]
    if isinstance(rows.batch, Reals):
        return bool((np.diff(values) >= 0).all() or (np.diff(values) <= 0).all())
    changes = int(np.count_nonzero(np.diff(values)))
    return changes < 2 * np.unique(values).size
