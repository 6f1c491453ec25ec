"""Faults of real-valued predictions: what shows them, how repairs are tried, how large they are.

Every kind of prediction enters the test through the place F(y) of its labels, as z = ndtri(F(y)), and through
its stated mean and spread; replicates come from its own draws or cells. Repairs are judged by the log loss of
the distribution that the prediction implies, or for quantiles by their quantile loss. Few draws do not say
their own mean and spread exactly: what they imply for a label is measured on one of them, given the others.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from functools import cached_property

import numpy as np
from scipy.special import ndtr, ndtri

from credibly._arrays.namespace import HostArray, as_float64, like, to_host
from credibly._arrays.philox import Seed
from credibly.diagnosis.choosing import Tried, Weighing
from credibly.diagnosis.laws import (
    DENSE_DRAWS,
    EDGE,
    PARTS,
    SHAPED_DRAWS,
    Curve,
    Law,
    Shape,
    exponent_of_errors,
    implied,
    part_of_shape,
    settled_cells,
    shape_of_mixture,
    slope_of_errors,
)
from credibly.diagnosis.results import Claim, Effect
from credibly.diagnosis.screen import Family, families_of, indicators, signed_sums
from credibly.diagnosis.table import REALS, RESCALING, Fault
from credibly.hypotests.calibration.group_scores import central_levels, drawn_ranks, middle_ranks
from credibly.hypotests.calibration.lattice import Attribute
from credibly.hypotests.resampling.loop import label_tiles
from credibly.predictions import Dataset, Gaussian, Quantiles, RealPredictions, Reals, Samples
from credibly.recalibrate.location import NAMES, between_levels, fit_location, moments_of, working_spread
from credibly.recalibrate.tails import fit_skew, fit_tails

INTERVAL, EXTREME = 0.9, 0.999
"""Central intervals whose coverage is reported, and beyond which errors are extreme."""
FEWEST = 10
"""Rows of a group whose size is reported."""
LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)
"""Quantiles that are looked at for a shape."""
_MOST_LEVELS = 19
_FARTHEST = 25.0  # of a squared z in the sums of the test: one outlier is no spread
_FAR = 2.576
_EXTREME_OF_QUANTILES = 0.97
"""Widest interval of quantiles that can show extreme errors."""
_TERMS = {
    **NAMES,
    "scale": ("scale",),
    "tails": (),
    "skew": (),
    "levels": (),
    "relative_levels": (),
    "isotonic": (),
}


@dataclasses.dataclass(frozen=True, eq=False)
class RealSubject:
    """Real-valued predictions with labels, in memory.

    Attributes
    ----------
    rows : Dataset
        Predictions and labels.
    attributes : sequence of Attribute
        What groups are made of.
    weighing : Weighing
        Weights and clusters of the rows.
    mu, sd, y : ndarray (n,)
        Mean and spread that predictions imply for a label, and the labels.
    has_spread : bool
        Whether predictions state any spread.
    curve : Curve or None
        Their common shape; None for normal ones.
    """

    rows: Dataset
    attributes: Sequence[Attribute]
    weighing: Weighing
    mu: HostArray = dataclasses.field(init=False)
    sd: HostArray = dataclasses.field(init=False)
    y: HostArray = dataclasses.field(init=False)
    has_spread: bool = dataclasses.field(init=False)
    curve: Curve | None = dataclasses.field(init=False)

    def __post_init__(self) -> None:
        y = to_host(as_float64(self.rows.batch.values))[0]
        mu, spread = moments_of(self.predictions)
        weight, curve = self.weighing.weights, None
        has_spread, sd = bool(spread.any()), working_spread(self.predictions, spread, weight)
        if not has_spread:
            mu = to_host(self.predictions.pooled())[:, 0] if isinstance(self.predictions, Samples) else mu
            sd = np.full_like(y, float(np.sqrt(np.mean((y - mu) ** 2))) or 1.0)
        elif isinstance(self.predictions, Samples):
            mu, sd, curve = implied(self.predictions, mu, spread, weight)
        elif isinstance(self.predictions, Gaussian) and self.predictions.n_members > 1:
            curve = shape_of_mixture(self.predictions, mu, sd)
        for name, value in (("mu", mu), ("sd", sd), ("y", y), ("has_spread", has_spread), ("curve", curve)):
            object.__setattr__(self, name, value)

    @property
    def predictions(self) -> RealPredictions:
        """The predictions."""
        assert isinstance(self.rows.predictions, RealPredictions)
        return self.rows.predictions

    @property
    def loss(self) -> str:
        """What repairs are judged by."""
        density = self.has_spread and not isinstance(self.predictions, Quantiles)
        return "log loss" if density else "quantile loss"

    @property
    def tested(self) -> HostArray:
        """What folds are balanced by: nothing."""
        return np.zeros(len(self.y))

    @property
    def faults(self) -> list[Fault]:
        """The rows of the table that such data allow."""
        predictions, has = self.predictions, {"", "groups"} if self.attributes else {""}
        few = (
            isinstance(predictions, Samples) and predictions.n_draws < SHAPED_DRAWS
        )  # noise of the mean is a slope
        if np.ptp(self.mu) > 1e-9 * self.sd.max() and not few:
            has.add("means")
        if self.has_spread:
            has |= {"spread"} | ({"spreads"} if self._spreads_differ else set())
        if isinstance(predictions, Quantiles):
            dense = predictions.is_dense
        else:
            dense = not isinstance(predictions, Samples) or predictions.n_draws >= DENSE_DRAWS
        if dense and self.has_spread:
            has.add("dense")
        levels = (
            to_host(as_float64(predictions.levels))
            if isinstance(predictions, Quantiles)
            else np.arange(1, 20) / 20
        )
        extreme = np.minimum(levels, 1.0 - levels).min() * (self.weighing.weights.sum() + 1.0) < 1.0
        if not extreme and (isinstance(predictions, Quantiles) or not self.has_spread):
            has.add("levels")
        wide = EXTREME if not isinstance(predictions, Quantiles) else self._widest
        return [
            fault
            for fault in REALS
            if fault.needs in has
            and (fault.effect != "tail" or wide >= _EXTREME_OF_QUANTILES)
            and (fault.effect not in ("tail", "skew") or self.largest(fault, None).is_clear)
            and (self.has_spread or fault.method not in RESCALING)
            and (fault.method != "relative_levels" or self._widths.min() > 0.0)
        ]

    @property
    def _spreads_differ(self) -> bool:
        return bool(np.ptp(self.sd) > 1e-9 * self.sd.mean())

    @property
    def _widest(self) -> float:
        assert isinstance(self.predictions, Quantiles)
        levels = to_host(as_float64(self.predictions.levels))
        return float(1.0 - 2.0 * max(levels[0], 1.0 - levels[-1]))

    @property
    def within(self) -> tuple[float, float]:
        """Paired standard errors by which a larger repair must beat a smaller one: for all rows, by group."""
        return 2.0, 2.0

    @property
    def prefers(self) -> dict[str, str]:
        """Faults that are told as another one if both repairs gain the same: none."""
        return {}

    # ------------------------------------------------------------------------------------------ the one test

    def families(self, seed: Seed, n_resamples: int) -> list[Family]:
        """Return sums that show each kind of fault, for the labels and for labels drawn from predictions."""
        ranks = drawn_ranks(self.rows, seed)
        if isinstance(self.predictions, Quantiles):
            every = np.arange(len(self.y))
            ranks = dataclasses.replace(ranks, observed=self._placed(every, self._table(every)[0])[None])
        columns = self._columns()
        weight = self.weighing.weights
        if self.weighing.clusters is None:
            tiles = label_tiles(Reals(ranks.observed), ranks.drawing, slice(0, n_resamples))
            sums = np.concatenate([self._sums(to_host(batch.values), columns, weight) for _, batch in tiles])
        else:
            sums = self._signed(ranks, columns, seed, n_resamples)
        names = [name for name, _, kept in columns for _ in range(kept.shape[1])]
        return families_of(names, sums, REALS, pooled="shape")

    def _columns(self) -> list[tuple[str, str, HostArray]]:
        """Return family, function of z and what every row multiplies it with, (n, c)."""
        n = len(self.y)
        mu, sd = self._exchangeable()
        ones, precise = np.ones((n, 1)), (sd.min() / sd)[:, None]
        away = ((mu - self.weighing.mean(mu)) / sd)[:, None]
        log = np.log(sd)
        columns = [
            ("shift", "z", np.hstack([ones, precise])),
            ("scale", "square", ones),
            ("scale", "near", ones),
            ("slope", "z", away / max(float(np.abs(away).max()), np.finfo(float).tiny)),
            ("tails", "far", ones),
            ("skewed", "third", ones),
            *(("levels", f"level {level}", ones) for level in self._own_levels),
            *(("shape", f"part {part}", ones) for part in range(PARTS)),
        ]
        if np.ptp(sd) > 1e-9 * sd.mean():
            columns.append(("spread", "square", (log - self.weighing.mean(log))[:, None]))
        groups = indicators(self.attributes, len(self.y)).astype(np.float64)
        if groups.shape[1]:
            columns += [("group shift", "z", groups), ("group scale", "square", groups)]
        return columns

    def _exchangeable(self) -> tuple[HostArray, HostArray]:
        """Return means and spreads that do not change where a label and a draw change places."""
        if not isinstance(self.predictions, Samples):
            return self.mu, self.sd
        pool = np.column_stack([to_host(self.predictions.pooled()), self.y])
        spread = pool.std(axis=1)
        return pool.mean(axis=1), working_spread(self.predictions, spread, self.weighing.weights)

    @property
    def _own_levels(self) -> tuple[float, ...]:
        """Levels of given quantiles, at most 19 of them; none for other kinds."""
        if not isinstance(self.predictions, Quantiles):
            return ()
        levels = to_host(as_float64(self.predictions.levels))
        kept = np.unique(np.linspace(0, len(levels) - 1, min(len(levels), _MOST_LEVELS)).round().astype(int))
        return tuple(map(float, levels[kept]))

    def _seen(self, ranks: HostArray) -> dict[str, HostArray]:
        """Return the functions of z that components are made of, from places (b, n)."""
        u = np.clip(ranks.astype(np.float32), EDGE, 1.0 - 1e-7)
        z = ndtri(u)
        bounded, far = np.clip(z, -4, 4), ndtr(-np.float32(_FAR))
        seen = {
            "z": z,
            "square": np.minimum(z * z, np.float32(_FARTHEST)),
            "third": bounded * (bounded * bounded - np.float32(3.0)),
            "near": np.abs(u - np.float32(0.5)) < np.float32(INTERVAL / 2),
            "far": np.minimum(u, 1 - u) < far,
        }
        part = np.minimum((u * PARTS).astype(np.uint8), PARTS - 1)
        seen |= {f"level {level}": u < np.float32(level) for level in self._own_levels}
        return seen | {f"part {place}": part == place for place in range(PARTS)}

    def _sums(
        self, ranks: HostArray, columns: list[tuple[str, str, HostArray]], weight: HostArray
    ) -> HostArray:
        sums, plain = [], bool((weight == 1.0).all())
        seen = self._seen(ranks)
        for _, what, by in columns:
            if plain and seen[what].dtype == bool and (by == 1.0).all():
                sums.append(np.count_nonzero(seen[what], axis=1)[:, None].astype(np.float64))
            else:
                sums.append(seen[what].astype(np.float32) @ (weight[:, None] * by).astype(np.float32))
        return np.hstack(sums).astype(np.float64)

    def _signed(
        self, ranks: object, columns: list[tuple[str, str, HostArray]], seed: Seed, n_resamples: int
    ) -> HostArray:
        """Return residual sums, and the same with the signs of clusters changed."""
        seen = self._seen(to_host(ranks.observed))  # type: ignore[attr-defined]
        table, weights = ranks.table, ranks.weights  # type: ignore[attr-defined]
        if table is None:
            grid = (np.arange(20_000) + 0.5) / 20_000
            table, weights = grid[None], np.full(grid.size, 1.0 / grid.size)
        every = {name: values.astype(np.float64) for name, values in self._seen(table).items()}
        expected = {name: values @ weights for name, values in every.items()}
        weight = self.weighing.weights
        rows = np.hstack(
            [((seen[what][0] - expected[what]) * weight)[:, None] * by for _, what, by in columns]
        )
        variance = {name: values**2 @ weights - expected[name] ** 2 for name, values in every.items()}
        chance = np.concatenate([(variance[what] * weight**2) @ by**2 for _, what, by in columns])
        assert self.weighing.clusters is not None
        return signed_sums(rows, chance, self.weighing.clusters, seed, n_resamples)

    # ---------------------------------------------------------------------------------------------- repairs

    def tried(self, faults: Sequence[Fault], folds: Sequence[HostArray]) -> Iterator[Tried]:
        """Yield every repair with its losses on other folds."""
        for fault in faults:
            if not fault.method:
                before = self._unrepaired
                yield Tried(fault, None, before.losses, before)
                continue
            for by in self._clearest() if fault.by_group else (None,):
                parts = []
                for tested in folds:
                    kept = np.setdiff1d(np.arange(len(self.y)), tested)
                    parts.append(self._repaired(fault, by, kept, tested))
                order = np.argsort(np.concatenate(folds))
                names = [field.name for field in dataclasses.fields(Law)]
                after = Law(*(np.concatenate([getattr(law, name) for law in parts])[order] for name in names))
                yield Tried(fault, None if by is None else by.name, after.losses, after)

    @cached_property
    def _unrepaired(self) -> Law:
        return self._law(np.arange(len(self.y)), self.mu, self.sd)

    def _repaired(self, fault: Fault, by: Attribute | None, kept: HostArray, tested: HostArray) -> Law:
        """Fit a repair to some rows; return the distributions of others after it."""
        weight = self.weighing.weights[kept]
        if fault.method in ("levels", "relative_levels"):
            unit = self._widths if fault.method == "relative_levels" else np.ones((len(self.y), 1))
            added = unit[tested] * self._level_shifts(kept, unit[kept])
            return self._law(tested, self.mu[tested], self.sd[tested], added=added)
        if not _TERMS[fault.method]:
            z, shape = self._scores(kept), Shape()
            if fault.method == "tails":
                shape = Shape(tails=fit_tails(z, weight))
            elif fault.method == "skew":
                shape = Shape(skew=fit_skew(z, weight))
            else:
                counts = np.bincount(part_of_shape(ndtr(z)), weights=weight, minlength=PARTS) + 1.0
                shape = Shape(masses=counts / counts.sum())
            return self._law(tested, self.mu[tested], self.sd[tested], shape)
        indicators = (
            None if by is None else (by.codes[:, None] == np.arange(len(by.levels))).astype(np.float64)
        )
        fit = fit_location(
            self.mu[kept],
            self.sd[kept],
            self.y[kept],
            weight,
            None if indicators is None else indicators[kept],
            _TERMS[fault.method],
        )
        return self._law(
            tested,
            *fit.moved(self.mu[tested], self.sd[tested], None if indicators is None else indicators[tested]),
        )

    def _law(
        self,
        rows: HostArray,
        mu: HostArray,
        sd: HostArray,
        shape: Shape | None = None,
        added: HostArray | None = None,
    ) -> Law:
        """Return what rows say with these means and spreads, and this shape."""
        plain, shape, y = shape is None, shape or Shape(), self.y[rows]
        if isinstance(self.predictions, Quantiles) or not self.has_spread:
            return self._of_table(rows, mu, sd, None if plain else shape, added)
        r = (y - mu) / sd
        z, slope = (r, 0.0) if self.curve is None else self.curve(r)
        losses = shape.losses(z) - slope + np.log(sd)
        places = shape.levels(z)
        if isinstance(self.predictions, Samples):
            places = self._rank(rows, self.mu[rows] + self.sd[rows] * r)
            places = places if plain else shape.levels(ndtri(places))
        elif self.curve is not None and plain:
            predictions, back = self.predictions[rows], self.mu[rows] + self.sd[rows] * r
            places = to_host(predictions.cdf(like(back, predictions._leading)[None, :]))[0]
        return Law(mu, sd, places, np.asarray(ndtri(shape.levels(z))), losses)

    def _of_table(
        self, rows: HostArray, mu: HostArray, sd: HostArray, shape: Shape | None, added: HostArray | None
    ) -> Law:
        """Return the same for quantiles: places are the middles of cells, losses those of the quantiles."""
        table, levels = self._table(rows)
        if shape is not None and isinstance(self.predictions, Quantiles):
            table = table @ between_levels(self.predictions, shape.scores(levels)).T
        table = mu[:, None] + (table - self.mu[rows, None]) * (sd / self.sd[rows])[:, None]
        table = table if added is None else np.sort(table + added, axis=1)
        away = (self.y[rows, None] - table) / self.sd[rows, None]
        losses = 2.0 * np.maximum(levels * away, (levels - 1.0) * away).mean(axis=1)  # as the CRPS is
        places = self._placed(rows, table)
        return Law(mu, sd, places, np.asarray(ndtri(places)), losses)

    def _placed(self, rows: HostArray, table: HostArray) -> HostArray:
        """Return the middles of the cells that labels lie in, between quantiles (rows, levels)."""
        levels = self._table(rows[:1])[1]
        edges = np.concatenate([[0.0], levels, [1.0]])
        away = self.y[rows, None] - table
        same = np.abs(away) <= EDGE * (self.sd + np.abs(self.mu))[rows, None]  # repairs round
        first, last = ((away > 0) & ~same).sum(axis=1), ((away > 0) | same).sum(axis=1)
        if isinstance(self.predictions, Quantiles) and (last > first).any():
            first = last = settled_cells(first, last, table, levels, self.weighing.weights[rows])
        return np.asarray(0.5 * (edges[first] + edges[last + 1]))

    def _table(self, rows: HostArray) -> tuple[HostArray, HostArray]:
        """Return quantiles (rows, levels) and their levels; predictions without a spread are all of them."""
        if isinstance(self.predictions, Quantiles):
            return to_host(as_float64(self.predictions.values))[rows], to_host(
                as_float64(self.predictions.levels)
            )
        levels = np.arange(1, 20) / 20
        return np.repeat(self.mu[rows, None], len(levels), axis=1), levels

    @cached_property
    def _widths(self) -> HostArray:
        """Return the distances between the outermost quantiles, (n, 1)."""
        table = self._table(np.arange(len(self.y)))[0]
        return np.asarray(table[:, -1:] - table[:, :1])

    def _level_shifts(self, rows: HostArray, unit: HostArray) -> HostArray:
        """Return what is added at every level, in units (rows, 1): the quantile of the residuals."""
        table, levels = self._table(rows)
        weight = self.weighing.weights[rows]
        shifts = []
        for level, residual in zip(levels, ((self.y[rows, None] - table) / unit).T, strict=True):
            order = np.argsort(residual)
            at = np.searchsorted(np.cumsum(weight[order]), level * weight.sum())
            shifts.append(residual[order[min(int(at), len(order) - 1)]])
        return np.array(shifts)

    def _rank(self, rows: HostArray, labels: HostArray) -> HostArray:
        """Return the place of labels among their draws and themselves, of equal ones the middle."""
        assert isinstance(self.predictions, Samples)
        draws = to_host(self.predictions[rows].pooled())
        below = (draws < labels[:, None]).sum(axis=1) + 0.5 * (draws == labels[:, None]).sum(axis=1)
        return np.asarray((below + 0.5) / (draws.shape[1] + 1.0))

    def _scores(self, rows: HostArray) -> HostArray:
        """Return normal scores of labels, of quantiles those of places inside their cells."""
        if isinstance(self.predictions, Quantiles):
            table, levels = self._table(rows)
            knots, y = ndtri(levels), self.y[rows]
            above = np.clip((table < y[:, None]).sum(axis=1), 1, len(knots) - 1)
            low, high = (table[np.arange(len(y)), above - step] for step in (1, 0))
            width = np.maximum(high - low, 1e-9 * self.sd[rows])
            share = np.clip((y - low) / width, -9.0, 9.0)
            return np.asarray(knots[above - 1] + share * (knots[above] - knots[above - 1]))
        r = (self.y[rows] - self.mu[rows]) / self.sd[rows]
        return r if self.curve is None else self.curve(r)[0]

    def _clearest(self) -> list[Attribute]:
        """Return the attribute whose groups differ most from what is stated."""
        z = (self.y - self.mu) / self.sd
        ranked = []
        for attribute in self.attributes:
            if len(attribute.levels) > 1:
                size = np.bincount(attribute.codes, minlength=len(attribute.levels))
                shift = np.abs(np.bincount(attribute.codes, z, len(attribute.levels))) / np.sqrt(size + 0.25)
                wide = np.abs(
                    np.bincount(attribute.codes, np.minimum(z * z, _FARTHEST) - 1.0, len(attribute.levels))
                )
                ranked.append((float(max(shift.max(), (wide / np.sqrt(2.0 * size + 0.25)).max())), attribute))
        ranked.sort(key=lambda pair: -pair[0])
        return [attribute for _, attribute in ranked[:1]]

    # ---------------------------------------------------------------------------------------------- effects

    def largest(self, fault: Fault, by: str | None, after: object = None) -> Effect:
        """Return the clearest of all effects that a fault may have, also of repaired predictions."""
        law = after if isinstance(after, Law) else self._unrepaired
        effects = []
        for claim in self.claims(fault, by):
            stated, observed, size, error, n = self._measured(claim, law)
            if n >= FEWEST:
                # shares near 0 and 1 hardly vary, so what is stated says how clear they are
                share = stated if claim.measure in ("coverage", "tail", "quantile") else 0.0
                apart = abs(size) / max(error, (share * (1 - share) / n) ** 0.5, np.finfo(float).tiny)
                effects.append((apart, stated, observed, size, error, claim, n))
        _, stated, observed, size, error, claim, n = max(effects, key=lambda entry: entry[0])
        half = float(-ndtri(0.025 / len(effects))) * error
        return Effect(claim, stated, observed, size, (size - half, size + half), n)

    def remains(self, claim: Claim, after: object) -> float | None:
        """Return the size of a claim after a repair."""
        return self._measured(claim, after)[2] if isinstance(after, Law) else None

    def claims(self, fault: Fault, by: str | None) -> list[Claim]:
        """Return all effects that a fault may have; the clearest is reported."""
        extreme = self._widest if isinstance(self.predictions, Quantiles) else EXTREME
        level = {"coverage": self.interval, "skew": self.interval, "tail": extreme}.get(fault.effect)
        if fault.by_group:
            groups = [
                (attribute.name, value)
                for attribute in self.attributes
                if by in (None, attribute.name)
                for value in attribute.levels
            ]
            return [Claim(fault.effect, group=group, level=level) for group in groups]
        if fault.effect == "quantile":
            return [Claim("quantile", level=quantile) for quantile in self._own_levels or LEVELS]
        return [Claim(fault.effect, level=level)]

    @property
    def interval(self) -> float:
        """The central interval whose coverage is reported: of quantiles one that they have."""
        if (
            isinstance(self.predictions, Samples) and self.has_spread
        ):  # at most from the first to the last draw
            return min(INTERVAL, 1.0 - 2.0 / (self.predictions.n_draws + 1.0))
        ends = central_levels(self.predictions)
        return INTERVAL if ends is None else ends[1] - ends[0]

    def direction(self, fault: Fault, effect: Effect) -> int:
        """Return 1 for too high, too narrow, too extreme, and -1 for the opposite."""
        return int(np.sign(effect.size))

    def _keep(self, claim: Claim) -> HostArray:
        """Return which rows a claim is about."""
        if claim.group is None:
            return np.ones(len(self.y), dtype=bool)
        attribute = next(attribute for attribute in self.attributes if attribute.name == claim.group[0])
        return np.asarray(attribute.codes == attribute.levels.index(claim.group[1]))

    def _measured(self, claim: Claim, law: Law) -> tuple[float, float, float, float, int]:
        """Return what is stated and observed, the size, its standard error, and the number of rows."""
        keep = self._keep(claim)
        mu, sd, y, rows = law.mu[keep], law.sd[keep], self.y[keep], self.weighing.rows(keep)
        n = int(keep.sum())
        if claim.measure == "mean":
            apart = mu - y
            return rows.mean(mu), rows.mean(y), rows.mean(apart), rows.stderr(apart), n
        if claim.measure in ("coverage", "tail", "skew", "quantile"):
            assert claim.level is not None
            if claim.measure == "quantile":
                below = (law.places[keep] <= claim.level).astype(np.float64)
                stated, share = self._expected(0.0, claim.level, keep), rows.mean(below)
                return stated, share, share - stated, rows.stderr(below, event=1.0), n
            low, high = (1.0 - claim.level) / 2.0, (1.0 + claim.level) / 2.0
            places = ndtr(law.scores[keep]) if claim.measure == "tail" else law.places[keep]
            under, over = (places < low).astype(np.float64), (places > high).astype(np.float64)
            if claim.measure == "skew":
                shares = rows.mean(under), rows.mean(over)
                return *shares, shares[0] - shares[1], rows.stderr(under - over, event=1.0), n
            inside, stated = 1.0 - under - over, claim.level
            stated = self._expected(low, high, keep) if claim.measure == "coverage" else stated
            share = rows.mean(inside)
            return stated, share, stated - share, rows.stderr(inside, event=1.0), n
        away = slope_of_errors if claim.measure == "slope" else exponent_of_errors
        slope, error = away(
            self.mu[keep] if claim.measure == "slope" else np.log(self.sd[keep]), y - mu, sd, rows
        )
        return 1.0, 1.0 + slope, -slope, error, n

    def _expected(self, low: float, high: float, keep: HostArray) -> float:
        """Return the share of labels between two levels; draws that are few or repeat cannot state all."""
        if not isinstance(self.predictions, Samples) or not self.has_spread:
            return high - low
        places = self._pooled_places[keep]
        inside = ((places >= low) & (places <= high)).mean(axis=1)
        return self.weighing.rows(keep).mean(inside)

    @cached_property
    def _pooled_places(self) -> HostArray:
        """Places of draws and labels among each other, (n, draws + 1); a label could have been any."""
        assert isinstance(self.predictions, Samples)
        return middle_ranks(np.column_stack([to_host(self.predictions.pooled()), self.y]))
