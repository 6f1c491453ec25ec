"""From sums to terms with standard errors, at two levels: totals and columns."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from credibly._arrays.namespace import HostArray
from credibly._arrays.standard_errors import (
    ONE_INSTANCE,
    cluster_refusal,
    degrees_of_freedom,
    skewness_refusal,
)
from credibly.results.estimates import Estimate, Estimates
from credibly.statistics.protocol import State

PLUGIN_REFUSAL = "the plug-in term is biased by the noise of few raters and few rows; use the debiased one"
FEW_CELLS = 5.0
FEW_CELLS_REFUSAL = (
    f"fewer than {FEW_CELLS:g} non-empty bins contribute, too few for a normal approximation (coverage "
    f"down to .80); "
    "use more bins, or bins of equal mass"
)
TermFactors = Mapping[str, tuple[float, ...]]
"""Names of terms and their coefficients over the means of a level."""

Refusals = Mapping[str, str]
NO_REFUSALS: Refusals = {}
_ROUNDING = 1e-12


def products_of(terms: Sequence[TermFactors]) -> list[tuple[int, int]]:
    """Return which products of contributions the variances of these terms need."""
    products: set[tuple[int, int]] = set()
    for level_terms in terms:
        for coefficients in level_terms.values():
            used = [place for place, factor in enumerate(coefficients) if factor]
            products.update((a, b) for a in used for b in used if a <= b)
    return sorted(products)


@dataclasses.dataclass(frozen=True)
class Level:
    """Means of all contributions and the covariance of these means.

    Attributes
    ----------
    mean : ndarray (t, ...)
        Means of the plain contributions, then the calibration loss.
    covariance : ndarray (t, t, ...) or None
        Covariance of the means over samples of instances; None for one instance.
    n : int
        Number of instances.
    settings, notes
        Passed on to the estimates.
    few_cells : ndarray of bool or None
        Where too few cells carry the calibration loss for a normal interval.
    skewness : mapping of str to ndarray
        Skewness of the contributions to the terms that are means.
    sizes : ndarray (c,) or None
        Instances of every cluster, where they belong together: the covariance is that of clusters.
    independent : Level or None
        The same level were all instances independent.
    """

    mean: HostArray
    covariance: HostArray | None
    n: int
    settings: Mapping[str, Any]
    notes: tuple[str, ...]
    few_cells: HostArray | None = None
    skewness: Mapping[str, HostArray] = dataclasses.field(default_factory=dict)
    sizes: HostArray | None = None
    independent: Level | None = None

    @property
    def units(self) -> int:
        """What is independent: instances, or clusters of them."""
        return self.n if self.sizes is None else self.sizes.size

    def _clustered(self, terms: TermFactors) -> tuple[str | None, list[dict[str, Any]]]:
        """Return why clusters have no interval, and of every term their number and degrees of freedom."""
        if self.sizes is None or self.independent is None:
            return None, [{} for _ in terms]
        (_, errors), (_, alone) = self._combined(terms), self.independent._combined(terms)
        assert errors is not None
        assert alone is not None
        every = []
        for error, other in zip(errors, alone, strict=True):
            degrees = [
                degrees_of_freedom(self.sizes, float(a), float(b))
                for a, b in zip(error.ravel(), other.ravel(), strict=True)
            ]
            shaped = np.array(degrees).reshape(error.shape)
            every.append(
                {"n_clusters": self.units, "degrees_of_freedom": shaped if shaped.ndim else float(shaped)}
            )
        return cluster_refusal(0.0, self.units), every

    def with_floor(self, floor: HostArray, shared: float) -> Level:
        """Return the same level with at least the variance that cells without gaps would have.

        `floor` is (..., cells) of that variance. With f_b the floors of the cells, (sum sqrt f_b)^2 / sum f_b
        is how many equal cells would behave like these; below five a squared gap is far from normal.
        """
        if self.covariance is None:
            return self
        covariance, total = self.covariance.copy(), floor.sum(axis=-1)
        covariance[-1, -1] = np.maximum(covariance[-1, -1], shared * total)
        number = np.sqrt(floor).sum(axis=-1) ** 2 / np.where(total > 0, total, 1.0) / shared
        return dataclasses.replace(self, covariance=covariance, few_cells=np.asarray(number < FEW_CELLS))

    def with_skewness(self, terms: TermFactors, third: HostArray, total3: float, total: float) -> Level:
        """Return the same level with the skewness of these terms, from sums of w^3 v, w^3 v^2 and w^3 v^3."""
        if self.covariance is None:
            return self
        means, errors = self._combined(terms)
        assert errors is not None
        first, second, cube = third[:, 0], third[:, 1], third[:, 2]
        central = cube - 3 * means * second + 3 * means**2 * first - means**3 * total3
        # sum (w d)^3 / n over (sum (w d)^2 / n)^1.5, and errors^2 = n / (n - 1) sum (w d)^2 / total^2
        n = self.units
        spread = errors**2 * (n - 1) * total**2 / n
        with np.errstate(divide="ignore", invalid="ignore"):
            skewness = np.abs(central) * np.sqrt(n) / spread**1.5
        known = np.where(spread > n * _ROUNDING**2 * (total / n) ** 2, skewness, np.inf)
        return dataclasses.replace(self, skewness=dict(zip(terms, known, strict=True)))

    def with_calibration(self, values: HostArray) -> Level:
        """Return the same level with another calibration loss in the last place."""
        mean = self.mean.copy()
        mean[-1] = values
        return dataclasses.replace(self, mean=mean)

    def scaled(self, factor: float) -> Level:
        """Return all terms times a factor."""
        covariance = None if self.covariance is None else self.covariance * factor**2
        return dataclasses.replace(self, mean=self.mean * factor, covariance=covariance)

    def _combined(self, terms: TermFactors) -> tuple[HostArray, HostArray | None]:
        """Return all linear combinations of the means, (terms, ...), and their standard errors."""
        c = np.asarray(list(terms.values()), dtype=np.float64)
        t, shape = c.shape[1], self.mean.shape[1:]
        value = (c @ self.mean.reshape(t, -1)).reshape(-1, *shape)
        if self.covariance is None:
            return value, None
        half = (c @ self.covariance.reshape(t, -1)).reshape(len(c), t, -1)  # (terms, t, entries)
        variance = (half * c[:, :, None]).sum(axis=1).reshape(-1, *shape)
        return value, np.sqrt(np.maximum(variance, 0.0))

    def totals(self, terms: TermFactors, refusals: Refusals = NO_REFUSALS) -> dict[str, Estimate]:
        """Return linear combinations of the means of a level without axes, by name."""
        totals = {}
        for name, value, error, why, _, clustered in self._parts(terms, refusals):
            stderr = None if error is None else float(error)
            shared = (self.n, self.settings, self.notes, why)
            totals[name] = Estimate(name, float(value), stderr, *shared, **clustered)
        return totals

    def arrays(self, terms: TermFactors) -> dict[str, Estimates]:
        """Return linear combinations of the means, entry by entry, by name."""
        return {
            name: Estimates(name, values, errors, self.n, why, refused, **clustered)
            for name, values, errors, why, refused, clustered in self._parts(terms, NO_REFUSALS)
        }

    def _parts(self, terms: TermFactors, refusals: Refusals) -> Iterator[tuple[Any, ...]]:
        """Yield names, values, errors, why there is no interval, for which entries, and facts of clusters."""
        values, errors = self._combined(terms)
        few, clustered = self._clustered(terms)
        for place, name in enumerate(terms):
            error, refused = None if errors is None else errors[place], None
            why = (refusals.get(name) or few) if error is not None else ONE_INSTANCE
            if why is None and name == "calibration" and self.few_cells is not None and self.few_cells.any():
                why, refused = FEW_CELLS_REFUSAL, self.few_cells
            if why is None and name in self.skewness:
                refusal_of = skewness_refusal if self.sizes is None else cluster_refusal
                every = [refusal_of(float(skewness), self.units) for skewness in self.skewness[name].ravel()]
                refused = np.array([refusal is not None for refusal in every])
                why = next((refusal for refusal in every if refusal is not None), None)
            yield name, values[place], error, why, refused, clustered[place]


def levels(
    sums: State,
    moments: State,
    n_columns: int,
    offered: TermFactors,
    settings: Mapping[str, Any],
    notes: tuple[str, ...],
) -> tuple[Level, Level]:
    """Return totals () and columns (c,); row sums make the totals.

    The standard error is that of a weighted mean of independent rows, with n / (n - 1).
    """
    n, total, total2 = int(sums["rows"]), float(sums["total"]), float(sums["total2"])

    def level(first: HostArray, first2: HostArray, second: HostArray) -> Level:
        mean = first / total
        if n < 2:
            return Level(mean, None, n, settings, notes)
        cross = mean[:, None] * first2[None, :]
        spread = second - cross - np.swapaxes(cross, 0, 1) + mean[:, None] * mean[None, :] * total2
        return Level(mean, spread * (n / (n - 1) / total**2), n, settings, notes)

    t = moments["first"].shape[0]
    per_cell = [moments[name].reshape(t, n_columns, -1) for name in ("first", "first2")]
    second = moments["second"].reshape(t, t, n_columns, -1)
    rows = level(moments["rows_first"], moments["rows_first2"], moments["rows_second"])
    columns = level(per_cell[0].sum(axis=-1), per_cell[1].sum(axis=-1), second.sum(axis=-1))
    if "clusters" in moments:
        return _of_clusters(rows, moments, offered, total), _of_clusters(columns, moments, offered, total)
    total3 = float(moments["total3"])
    rows = rows.with_skewness(offered, moments["rows_third"], total3, total)
    columns = columns.with_skewness(offered, moments["third"], total3, total)
    return rows, columns


def _of_clusters(level: Level, moments: State, offered: TermFactors, total: float) -> Level:
    """Return a level with the covariance between clusters: each is one row, with the sums of its rows.

    `level` is of all columns together where its means have no axis, else of every column.
    """
    present = moments["clusters_size"] > 0
    weight, sums = moments["clusters_weight"][present], moments["clusters"][:, :, present]
    if level.mean.ndim == 1:
        sums = sums.sum(axis=1, keepdims=True)
    number, mean = weight.size, level.mean.reshape(len(level.mean), -1)
    away = sums - mean[:, :, None] * weight  # (t, columns, clusters)
    covariance = np.einsum("acn,bcn->abc", away, away) * (number / (number - 1) / total**2)
    clustered = dataclasses.replace(
        level,
        covariance=covariance.reshape(*covariance.shape[:2], *level.mean.shape[1:]),
        sizes=moments["clusters_size"][present],
        independent=level,
    )
    factors = np.asarray(list(offered.values()), dtype=np.float64)
    combined = np.einsum("sa,acn->scn", factors, sums)
    third = np.stack([weight**2 * combined, weight * combined**2, combined**3], axis=1).sum(axis=-1)
    third = third[..., 0] if level.mean.ndim == 1 else third
    return clustered.with_skewness(offered, third, float((weight**3).sum()), total)
