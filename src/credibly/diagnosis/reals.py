"""Faults of real-valued predictions: what shows them, how repairs are tried, how large they are.

Every kind of prediction enters through the place F(y) of its labels, as z = ndtri(F(y)), and through its
stated centre and spread. So draws, quantiles and mixtures have the same components as one Gaussian, and their
replicates come from their own draws or cells.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence

import numpy as np
from scipy.special import ndtr, ndtri

from credibly._arrays.namespace import HostArray, as_float64, to_host
from credibly._arrays.philox import Seed
from credibly.diagnosis.choosing import Tried, Weighing
from credibly.diagnosis.results import Claim, Effect
from credibly.diagnosis.screen import Family
from credibly.diagnosis.table import REALS, Fault
from credibly.hypotests.calibration.group_scores import drawn_ranks
from credibly.hypotests.calibration.lattice import Attribute
from credibly.hypotests.resampling.loop import label_tiles
from credibly.hypotests.resampling.wild import sign_tiles
from credibly.predictions import Dataset, Quantiles, RealPredictions, Reals
from credibly.recalibrate.location import NAMES, fit_location, fit_tails, spread_of, student_loss
from credibly.recalibrate.reals import centre_of

INTERVAL, EXTREME = 0.9, 0.999
"""Central intervals whose coverage is told, and beyond which errors are extreme."""
PARTS = 10
LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)
"""Quantiles that are looked at for a shape."""
_FARTHEST = 25.0  # of a squared z in the sums of the test: one outlier is no spread
_FAR = 2.576
_OF_GROUPS = 3.0
_EDGE = 1e-12
_SMALLEST = 1e-6  # spread of a row, as a share of the largest: draws may be equal
_TERMS = {
    **NAMES,
    "scale": ("scale",),
    "scale_by_group": ("scale",),
    "tails": ("scale",),
    "isotonic": ("shift", "scale"),
}


@dataclasses.dataclass(frozen=True)
class Law:
    """A predicted distribution after a repair: centre, spread and shape.

    Attributes
    ----------
    mu, sd : ndarray (n,)
        Centre and spread.
    tails : tuple of float or None
        Degrees of freedom and scale of a t distribution.
    masses : ndarray (PARTS,) or None
        Share of the labels in equal parts of the levels.
    """

    mu: HostArray
    sd: HostArray
    tails: tuple[float, float] | None = None
    masses: HostArray | None = None

    def losses(self, y: HostArray) -> HostArray:
        """Return minus the log density of labels."""
        z = (y - self.mu) / self.sd
        if self.tails is not None:
            return np.asarray(student_loss(z, *self.tails) + np.log(self.sd))
        normal = 0.5 * z * z + np.log(self.sd) + 0.5 * np.log(2.0 * np.pi)
        if self.masses is None:
            return np.asarray(normal)
        part = np.minimum((ndtr(z) * PARTS).astype(np.intp), PARTS - 1)
        return np.asarray(normal - np.log(PARTS * self.masses[part]))


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
    """

    rows: Dataset
    attributes: Sequence[Attribute]
    weighing: Weighing

    def __post_init__(self) -> None:
        given = self.rows.predictions
        assert isinstance(given, RealPredictions)
        object.__setattr__(self, "mu", to_host(as_float64(centre_of(given))))
        spread = spread_of(given)
        object.__setattr__(
            self, "sd", np.maximum(spread, _SMALLEST * max(float(spread.max()), np.finfo(float).tiny))
        )
        object.__setattr__(self, "y", to_host(as_float64(self.rows.batch.values))[0])

    mu: HostArray = dataclasses.field(init=False)
    sd: HostArray = dataclasses.field(init=False)
    y: HostArray = dataclasses.field(init=False)

    @property
    def tested(self) -> HostArray:
        """What folds are balanced by: nothing."""
        return np.zeros(len(self.y))

    @property
    def faults(self) -> list[Fault]:
        """The rows of the table that such data allow."""
        varies = np.ptp(self.sd) > 1e-9 * self.sd.mean()
        allowed = [one for one in REALS if varies or one.name != "spread"]
        return [one for one in allowed if self.attributes or one.needs != "groups"]

    # ------------------------------------------------------------------------------------------ the one test

    def families(self, seed: Seed, n_resamples: int) -> list[Family]:
        """Return sums that show each kind of fault, for the labels and for labels drawn from predictions."""
        ranks = drawn_ranks(self.rows, seed)
        columns = self._columns()
        weight = self.weighing.weights
        if self.weighing.clusters is None:
            tiles = label_tiles(Reals(ranks.observed), ranks.drawing, slice(0, n_resamples))
            sums = np.concatenate([self._sums(to_host(batch.values), columns, weight) for _, batch in tiles])
        else:
            sums = self._signed(ranks, columns, seed, n_resamples)
        names = [name for name, _, kept in columns for _ in range(kept.shape[1])]
        found: dict[str, list[int]] = {}
        for place, name in enumerate(names):
            found.setdefault(name, []).append(place)
        return [
            Family(name, sums[:, places], name == "shape", _OF_GROUPS if name.startswith("group") else 1.0)
            for name, places in found.items()
        ]

    def _columns(self) -> list[tuple[str, str, HostArray]]:
        """Return family, function of z and what every row multiplies it with, (n, c)."""
        n = len(self.y)
        one, precise = np.ones((n, 1)), (self.sd.min() / self.sd)[:, None]
        away = ((self.mu - self.weighing.mean(self.mu)) / self.sd)[:, None]
        log = np.log(self.sd)
        found = [
            ("shift", "z", np.hstack([one, precise])),
            ("scale", "square", one),
            ("scale", "near", one),
            ("slope", "z", away / max(float(np.abs(away).max()), np.finfo(float).tiny)),
            ("tails", "far", one),
            *(("shape", f"part {part}", one) for part in range(PARTS)),
        ]
        if np.ptp(self.sd) > 1e-9 * self.sd.mean():
            found.append(("spread", "square", (log - self.weighing.mean(log))[:, None]))
        groups = self._indicators()
        if groups.shape[1]:
            found += [("group shift", "z", groups), ("group scale", "square", groups)]
        return found

    def _indicators(self) -> HostArray:
        found = [
            one.codes[:, None] == np.arange(len(one.levels)) for one in self.attributes if len(one.levels) > 1
        ]
        return np.hstack(found).astype(np.float64) if found else np.empty((len(self.y), 0))

    @staticmethod
    def _seen(ranks: HostArray) -> dict[str, HostArray]:
        """Return the functions of z that components are made of, from places (b, n)."""
        u = np.clip(ranks.astype(np.float32), _EDGE, 1.0 - 1e-7)
        z = ndtri(u)
        far = ndtr(-np.float32(_FAR))
        found = {
            "z": z,
            "square": np.minimum(z * z, np.float32(_FARTHEST)),
            "near": np.abs(u - np.float32(0.5)) < np.float32(INTERVAL / 2),
            "far": np.minimum(u, 1 - u) < far,
        }
        part = np.minimum((u * PARTS).astype(np.uint8), PARTS - 1)
        return found | {f"part {own}": part == own for own in range(PARTS)}

    def _sums(
        self, ranks: HostArray, columns: list[tuple[str, str, HostArray]], weight: HostArray
    ) -> HostArray:
        found, plain = [], bool((weight == 1.0).all())
        seen = self._seen(ranks)
        for _, what, by in columns:
            if plain and seen[what].dtype == bool and (by == 1.0).all():
                found.append(np.count_nonzero(seen[what], axis=1)[:, None].astype(np.float64))
            else:
                found.append(seen[what].astype(np.float32) @ (weight[:, None] * by).astype(np.float32))
        return np.hstack(found).astype(np.float64)

    def _signed(
        self, ranks: object, columns: list[tuple[str, str, HostArray]], seed: Seed, n_resamples: int
    ) -> HostArray:
        """Return residual sums, and the same with the signs of clusters changed."""
        seen = self._seen(to_host(ranks.observed))  # type: ignore[attr-defined]
        table, weights = ranks.table, ranks.weights  # type: ignore[attr-defined]
        if table is None:
            grid = (np.arange(20_000) + 0.5) / 20_000
            table, weights = grid[None], np.full(grid.size, 1.0 / grid.size)
        expected = {name: own.astype(np.float64) @ weights for name, own in self._seen(table).items()}
        weight = self.weighing.weights
        rows = np.hstack(
            [((seen[what][0] - expected[what]) * weight)[:, None] * by for _, what, by in columns]
        )
        assert self.weighing.clusters is not None
        number = int(self.weighing.clusters.max()) + 1
        added = np.zeros((number, rows.shape[1]))
        np.add.at(added, self.weighing.clusters, rows)
        signed = [to_host(own) @ added for _, own in sign_tiles(seed, number, n_resamples, 8 * number)]
        return np.concatenate([added.sum(axis=0, keepdims=True), *signed])

    # ---------------------------------------------------------------------------------------------- repairs

    def tried(self, faults: Sequence[Fault], folds: Sequence[HostArray]) -> Iterator[Tried]:
        """Yield every repair with its losses on other folds."""
        before = Law(self.mu, self.sd)
        for fault in faults:
            if not fault.method:
                yield Tried(fault, None, before.losses(self.y), before)
                continue
            for by in self._clearest() if fault.by_group else (None,):
                losses, mu, sd = np.empty_like(self.y), np.empty_like(self.y), np.empty_like(self.y)
                for held in folds:
                    kept = np.setdiff1d(np.arange(len(self.y)), held)
                    law = self._repaired(fault, by, kept, held)
                    losses[held], mu[held], sd[held] = law.losses(self.y[held]), law.mu, law.sd
                shaped = fault.method in ("tails", "isotonic")
                after = None if shaped else Law(mu, sd)
                yield Tried(fault, None if by is None else by.name, losses, after)

    def _repaired(self, fault: Fault, by: Attribute | None, kept: HostArray, held: HostArray) -> Law:
        """Fit a repair to some rows; return the distributions of others after it."""
        mu, sd, y, weight = self.mu[kept], self.sd[kept], self.y[kept], self.weighing.weights[kept]
        own = None if by is None else (by.codes[:, None] == np.arange(len(by.levels))).astype(np.float64)
        fit = fit_location(mu, sd, y, weight, None if own is None else own[kept], _TERMS[fault.method])
        tails = masses = None
        if fault.method in ("tails", "isotonic"):
            centre, spread = fit.moved(mu, sd, None)
            z = (y - centre) / spread
            if fault.method == "tails":
                tails = fit_tails(z, weight)
            else:
                part = np.minimum((ndtr(z) * PARTS).astype(np.intp), PARTS - 1)
                counts = np.bincount(part, weights=weight, minlength=PARTS) + 1.0
                masses = counts / counts.sum()
        moved = fit.moved(self.mu[held], self.sd[held], None if own is None else own[held])
        return Law(*moved, tails, masses)

    def _clearest(self) -> list[Attribute]:
        """Return the attribute whose groups differ most from what is stated."""
        z = (self.y - self.mu) / self.sd
        found = []
        for one in self.attributes:
            if len(one.levels) > 1:
                size = np.bincount(one.codes, minlength=len(one.levels))
                shift = np.abs(np.bincount(one.codes, z, len(one.levels))) / np.sqrt(size + 0.25)
                wide = np.abs(np.bincount(one.codes, np.minimum(z * z, _FARTHEST) - 1.0, len(one.levels)))
                found.append((float(max(shift.max(), (wide / np.sqrt(2.0 * size + 0.25)).max())), one))
        found.sort(key=lambda pair: -pair[0])
        return [one for _, one in found[:1]]

    # ---------------------------------------------------------------------------------------------- effects

    def largest(self, fault: Fault, by: str | None, after: object = None) -> Effect:
        """Return the clearest of all effects that a fault may have, also of repaired predictions."""
        law = after if isinstance(after, Law) else Law(self.mu, self.sd)
        found = []
        for claim in self.claims(fault, by):
            stated, observed, size, error, n = self._measured(claim, law)
            if n >= 10:
                found.append(
                    (abs(size) / max(error, np.finfo(float).tiny), stated, observed, size, error, claim, n)
                )
        _, stated, observed, size, error, claim, n = max(found, key=lambda one: one[0])
        half = float(-ndtri(0.025 / len(found))) * error
        return Effect(claim, stated, observed, size, (size - half, size + half), n)

    def remains(self, claim: Claim, after: object) -> float | None:
        """Return the size of a claim after a repair; None where the repair changes the shape."""
        return self._measured(claim, after)[2] if isinstance(after, Law) else None

    def claims(self, fault: Fault, by: str | None) -> list[Claim]:
        """Return all effects that a fault may have; the clearest is reported."""
        level = {"coverage": self.interval, "tail": EXTREME}.get(fault.effect)
        if fault.by_group:
            groups = [
                (one.name, own) for one in self.attributes if by in (None, one.name) for own in one.levels
            ]
            return [Claim(fault.effect, group=group, level=level) for group in groups]
        if fault.effect == "quantile":
            return [Claim("quantile", level=own) for own in LEVELS]
        return [Claim(fault.effect, level=level)]

    @property
    def interval(self) -> float:
        """The central interval whose coverage is told: of quantiles one that they have."""
        given = self.rows.predictions
        if not isinstance(given, Quantiles):
            return INTERVAL
        levels = to_host(as_float64(given.levels))
        held = [
            high - low for low in levels for high in levels if abs(low + high - 1.0) < 1e-9 and high > low
        ]
        return float(min(held, key=lambda one: abs(one - INTERVAL))) if held else INTERVAL

    def direction(self, fault: Fault, effect: Effect) -> int:
        """Return 1 for too high, too narrow, too extreme, and -1 for the opposite."""
        return int(np.sign(effect.size))

    def _measured(self, claim: Claim, law: Law) -> tuple[float, float, float, float, int]:
        """Return what is stated and observed, the size, its standard error, and the number of rows."""
        keep = np.ones(len(self.y), dtype=bool)
        if claim.group is not None:
            attribute = next(one for one in self.attributes if one.name == claim.group[0])
            keep = attribute.codes == attribute.levels.index(claim.group[1])
        mu, sd, y, rows = law.mu[keep], law.sd[keep], self.y[keep], self.weighing.rows(keep)
        n = int(keep.sum())
        if claim.measure == "mean":
            apart = mu - y
            return rows.mean(mu), rows.mean(y), rows.mean(apart), rows.stderr(apart), n
        if claim.measure in ("coverage", "tail"):
            assert claim.level is not None
            held = (np.abs(y - mu) <= -ndtri((1.0 - claim.level) / 2.0) * sd).astype(np.float64)
            share = rows.mean(held)
            return claim.level, share, claim.level - share, rows.stderr(held, event=1.0), n
        if claim.measure == "quantile":
            assert claim.level is not None
            below = (y <= mu + sd * ndtri(claim.level)).astype(np.float64)
            share = rows.mean(below)
            return claim.level, share, share - claim.level, rows.stderr(below, event=1.0), n
        slope, error = (_slope if claim.measure == "slope" else _exponent)(mu, sd, y, rows)
        return 1.0, slope, 1.0 - slope, error, n


def _slope(mu: HostArray, sd: HostArray, y: HostArray, rows: Weighing) -> tuple[float, float]:
    """Return how much labels rise for every 1 that predictions rise, with its standard error."""
    weight = rows.weights / sd**2
    weighed = Weighing(weight, rows.clusters)
    x, t = mu - weighed.mean(mu), y - weighed.mean(y)
    square = weighed.mean(x * x)
    slope = weighed.mean(x * t) / square
    return slope, weighed.stderr(x * (t - slope * x)) / square


def _exponent(mu: HostArray, sd: HostArray, y: HostArray, rows: Weighing) -> tuple[float, float]:
    """Return the power of the stated spread that errors follow, with its standard error."""
    log = np.log(sd)
    x = log - rows.mean(log)
    apart = y - mu
    z2 = ((apart - rows.mean(apart)) / sd) ** 2
    columns, b = np.stack([np.ones_like(x), x], axis=1), np.zeros(2)
    weighed = columns * rows.weights[:, None]
    bend = 2.0 * weighed.T @ columns + 1e-9 * np.eye(2)
    for _ in range(20):
        b = b + np.clip(np.linalg.solve(bend, weighed.T @ (z2 * np.exp(-2.0 * columns @ b) - 1.0)), -1.0, 1.0)
    left = z2 * np.exp(-2.0 * columns @ b) - 1.0
    score = weighed * left[:, None]
    if rows.clusters is not None:
        score = np.stack([np.bincount(rows.clusters, one) for one in score.T], axis=1)
    bread = np.linalg.inv(bend)
    return 1.0 + float(b[1]), float(np.sqrt((bread @ (score.T @ score) @ bread)[1, 1]))
