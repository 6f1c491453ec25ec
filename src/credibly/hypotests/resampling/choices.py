"""Draws and quantiles as predictions: replicates choose which number is the label, or the cell it lies in.

draws      label and draws are exchangeable: pool them, choose which of the s + 1 numbers is the label
quantiles  the label lies in the cell between two levels with the probability between them

No value is ever made up between or beyond draws and quantiles, so tests are exact for any number of them.
A chosen draw changes places with the label, and the predictions change with the replicate. What a row adds
to a statistic is computed once for every choice, a table (n, s + 1); a replicate then only looks it up.

Of draws of several members, (n, m, s):

independent  s draws of the mixture: a member is drawn for each, and one of its draws that no other has taken;
             they are pooled with the label. (All m s draws hold as many of each member, the label does not.)
bayesian     member j drew all labels: the label and the s draws of j are pooled, for every j in turn.
             With s = 1 a member is one joint draw of all labels: all m + 1 label vectors are pooled.

Of draws with weights, (n, s) or (n, m, 1), K = floor(1 / max w) are taken, draw k with probability K w_k, so
that one of them at random is drawn from what is stated (systematic sampling, Madow 1949): for each row apart,
under "bayesian" the same for all rows. Of members (n, m, s) with weights, the member of each mixture draw is
drawn by weight, and "bayesian" tests every member, whatever its weight. Single draws of different
distributions are exchangeable with a label only one at a time: two of them never come from the same one.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from credibly._arrays.errors import UnsupportedError
from credibly._arrays.namespace import (
    Array,
    HostArray,
    as_float64,
    clip,
    device,
    like,
    namespace,
    on_accelerator,
    rows_within_budget,
    tiles,
    to_host,
)
from credibly._arrays.philox import Seed, Stream, Uniforms
from credibly._arrays.row_search import count_at_most
from credibly._arrays.sums import count_cells
from credibly.predictions import (
    Classes,
    Dataset,
    Labels,
    Predictions,
    Quantiles,
    Reals,
    Samples,
    label_dtype,
)
from credibly.predictions.ensemble import normalised
from credibly.predictions.quantiles import SAME_LEVEL
from credibly.predictions.samples import LeftOut, Pool
from credibly.statistics.coverage import CoverageShares, Inside
from credibly.statistics.linear import Linear
from credibly.statistics.protocol import Bound, State, Statistic
from credibly.statistics.real_kernels import cells_of, pooled_with
from credibly.statistics.spread import MomentBound, mean_and_variance
from credibly.statistics.subsampled import Subsampled
from credibly.statistics.terms import Outcomes, gather

_TABLE_ELEMENTS = 2**18
"""Numbers of the pools that are worked on at a time."""


Bind = Callable[[Predictions], Bound]


def pooled(rows: Dataset, seed: Seed, *, shared: bool, changed: Samples | None = None) -> Dataset:
    """Return rows of draws as pools, and the observed label as the first choice.

    Parameters
    ----------
    rows : Dataset
        Predictions are `Samples`.
    seed : tuple of int
        Key of the counters.
    shared : bool
        Whether one member drew all labels; otherwise several members are replaced by draws of their mixture.
    changed : Samples, optional
        What labels are drawn from instead; the draws of the same rows stay what they are.

    Returns
    -------
    Dataset
        Predictions are a `Pool`, labels the numbers of its columns.
    """
    given = rows.predictions
    assert isinstance(given, Samples)
    found = pooled_with(rows, _draws(given, seed, rows.start, shared))
    if changed is not None:
        pool, xp = found.predictions, given.xp
        assert isinstance(pool, Pool)
        other = xp.reshape(_draws(changed, seed, rows.start, shared), (len(given), -1))
        pool._set(moved=xp.concat([pool.values[:, :1], other], axis=1))
    return found


def is_stratified(predictions: Predictions) -> bool:
    """Tell whether there are several draws of each of several members."""
    return isinstance(predictions, Samples) and predictions.n_members > 1 and predictions.values.shape[-1] > 1


def _draws(samples: Samples, seed: Seed, first_row: int, shared: bool) -> Array:
    """Return draws (n, s) or (n, m, s): of several members under "independent", s draws of their mixture."""
    draws = as_float64(samples.values)
    xp = namespace(draws)
    if n_equal(samples) is not None:
        draws = _equal_draws(samples, seed, first_row, shared)
    if draws.ndim == 2 or shared:
        return draws
    n, m, s = draws.shape
    if m == 1 or s == 1:
        return xp.reshape(draws, (n, -1))
    steps = None if samples.weights is None else to_host(as_float64(samples.weights)).cumsum()
    found = []
    uniforms = Uniforms(seed, Stream.MIXTURE)
    for rows in tiles(n, rows_within_budget(40 * m * s, 0.25)):
        own = slice(first_row + rows.start, first_row + rows.stop)
        uniform = uniforms.block(slice(0, (m + 1) * s), own, reference=draws).T
        if steps is None:
            member = xp.astype(uniform[:, :s] * m, xp.int64)
        else:
            ends = like(steps[:-1] / steps[-1], draws)
            at = xp.searchsorted(ends, xp.reshape(uniform[:, :s], (-1,)), side="right")
            member = xp.reshape(at, (-1, s))
        # draw t is number t of a random order of its member's draws, so none is taken twice
        order = xp.argsort(xp.reshape(uniform[:, s:], (-1, m, s)), axis=2)
        mixed = xp.take_along_axis(draws[rows, ...], order, axis=2)
        found.append(xp.take_along_axis(mixed, member[:, None, :], axis=1)[:, 0, :])
    return xp.concat(found, axis=0)


def n_equal(samples: Samples) -> int | None:
    """Return how many weighted draws of a row are taken by weight; None where they are not."""
    return None if samples.weights is None or is_stratified(samples) else samples.n_exchanged


def _equal_draws(samples: Samples, seed: Seed, first_row: int, shared: bool) -> Array:
    """Return draws of equal weight, (n, K) or (n, K, 1); `shared` takes the same ones in all rows."""
    draws, number = as_float64(samples.values), n_equal(samples)
    assert number is not None
    xp, (n, s) = namespace(draws), draws.shape[:2]
    weights = normalised(samples.weights)
    uniforms, found = Uniforms(seed, Stream.KEPT), []
    for rows in tiles(n, rows_within_budget(40 * s, 0.25)):
        own = slice(0, 1) if shared else slice(first_row + rows.start, first_row + rows.stop)
        uniform = uniforms.block(slice(0, s + 1), own, reference=draws).T
        order = xp.argsort(uniform[:, 1:], axis=1)
        sums = xp.cumulative_sum(xp.reshape(xp.take(weights, xp.reshape(order, (-1,))), order.shape), axis=1)
        # one step of 1 / K after the other through the weights in a random order, from a random start
        at = (
            uniform[:, 0][None, :] + xp.arange(number, dtype=draws.dtype, device=device(draws))[:, None]
        ) / number
        taken = xp.take_along_axis(order, clip(count_at_most(sums, at), 0, s - 1).T, axis=1)
        taken = xp.broadcast_to(taken, (rows.stop - rows.start, number))
        flat = xp.reshape(draws[rows, ...], (-1, s))
        found.append(xp.take_along_axis(flat, taken, axis=1))
    return xp.reshape(xp.concat(found, axis=0), (n, number, *draws.shape[2:]))


class Choices:
    """Which number of its pool is the label of every instance, one choice in every replicate.

    Parameters
    ----------
    pool : Pool
        The numbers.
    seed : tuple of int
        Key of the counters.
    members : ndarray (n_resamples,) or None
        The member whose draws are chosen from; of members with one draw each the chosen column itself.
    first_row : int
        Index of row 0 among all instances.
    """

    def __init__(self, pool: Pool, seed: Seed, members: HostArray | None = None, first_row: int = 0) -> None:
        self.reference, self.first_row, self.members = pool.values, first_row, members
        self.n, self.p = pool.values.shape
        self.s = pool.shape[-1]
        self.joint = members is not None and is_joint(pool)
        # of what labels are drawn from instead there is no label, only draws
        self.fewest = 0 if pool.moved is None else 1
        self.uniforms = Uniforms(seed, Stream.RESTS)
        self.on_device = on_accelerator(pool.values)

    def labels(self, reps: slice) -> Classes:
        """Return replicates `reps` of all rows."""
        reference = self.reference if self.on_device else None
        rows = slice(self.first_row, self.first_row + self.n)
        if self.joint:
            assert self.members is not None
            drawn = np.where(self.members[reps] < self.fewest, self.p - 1, self.members[reps])
            chosen = np.broadcast_to(drawn[:, None], (reps.stop - reps.start, self.n))
            values = like(chosen.astype(label_dtype(np, self.p)), self.reference)
            return Classes(values, self.p)
        uniform = self.uniforms.block(reps, rows, reference)
        xp = namespace(uniform)
        ways = self.s + 1 - self.fewest
        place = xp.astype(uniform * ways, label_dtype(xp, self.p)) + self.fewest
        if self.members is not None:
            shift = (self.members[reps] * self.s)[:, None].astype(label_dtype(np, self.p))
            shift = like(shift, self.reference) if self.on_device else shift
            place = xp.where(place > 0, place + shift, place)
        return Classes(place if self.on_device else like(place, self.reference), self.p)


def is_joint(predictions: Any) -> bool:
    """Tell whether every member is one joint draw of all labels."""
    shape = predictions.shape if isinstance(predictions, Pool) else predictions.values.shape[1:]
    return len(shape) == 2 and shape[0] > 1 == shape[1]


class ByChoice(Bound):
    """A statistic of choices: `inner` is what it is bound to the draws or quantiles themselves."""

    def __init__(self, inner: Bound) -> None:
        super().__init__(inner.statistic, inner.n, inner.notes)
        self.inner = inner

    def plain(self, state: State) -> State:
        """Return sums over choices as `inner` takes them."""
        return state

    def finish(self, state: State) -> Array:
        """Turn sums into values."""
        return self.inner.finish(self.plain(state))


def bound_to(bind: Bind, predictions: Predictions, labels: Labels) -> Bound:
    """Bind to predictions; where labels are choices so that it takes choices."""
    if isinstance(predictions, Pool):
        drawn = bind(predictions.samples())
        return drawn.of_pool(predictions, labels.weights) or PoolBound(bind, predictions, drawn)
    if isinstance(predictions, Quantiles) and isinstance(labels, Classes):
        found = bind(predictions)
        return found if found.takes_cells else CellBound(found, predictions)
    return bind(predictions)


def without_choices(bound: Bound, state: State | None = None) -> tuple[Bound, Any]:
    """Return the statistic and its sums as they are where labels are not choices."""
    if not isinstance(bound, ByChoice):
        return bound, state
    return bound.inner, None if state is None else bound.plain(state)


class PoolBound(ByChoice):
    """A statistic of draws: what a choice adds is looked up; an opaque one is bound for every replicate."""

    def __init__(self, bind: Bind, pool: Pool, inner: Bound) -> None:
        super().__init__(inner)
        self.bind, self.pool = bind, pool
        self.places: dict[str, Array] = {}
        self.mean: Linear | None = None
        self.moments: tuple[Array, Array] | None = None
        if isinstance(self.inner, CoverageShares):
            self.places = _places(bind, pool, self.inner.looks)
        elif isinstance(self.inner, MomentBound):
            left = LeftOut(pool.values)
            shape = pool.values.shape
            xp = namespace(pool.values)
            mean, variance = mean_and_variance(left)  # whose floor holds where equal draws are left
            self.moments = xp.reshape(mean, shape), xp.reshape(variance, shape)
        elif isinstance(self.inner, Linear):
            self.mean = _equal_choices(self.inner, _contributions(bind, pool))

    def state(self, labels: Labels) -> State:
        """Return the sums that the chosen labels and the draws they leave have, replicates in front."""
        if self.mean is not None:
            return self.mean.state(labels)
        if isinstance(self.inner, CoverageShares):
            chosen = {name: gather(table, labels.values) for name, table in self.places.items()}
            return self.inner.counted(chosen, labels.weights)
        if self.moments is not None:
            assert isinstance(self.inner, MomentBound)
            mean, variance = (gather(one, labels.values) for one in self.moments)
            return self.inner.sums(gather(self.pool.labels, labels.values), mean, variance, labels.weights)
        xp = namespace(self.pool.values)
        states = []
        for choice in xp.astype(labels.values, xp.int64):
            seen = xp.take_along_axis(self.pool.labels, choice[:, None], axis=1)[:, 0]
            bound = self.bind(self.pool.samples(choice))
            states.append(bound.state(Reals(seen[None, :], labels.weights)))
        return State({name: xp.concat([one[name] for one in states], axis=0) for name in states[0]})


def _equal_choices(bound: Linear, table: Array) -> Linear:
    """Bind a mean to what every number of a pool (n, p) adds: each is the label as often as any other."""
    chance = namespace(table).full_like(table, 1.0 / table.shape[1])
    return Linear(bound.statistic, Outcomes(chance, lambda: table), bound.n, ())


def _contributions(bind: Bind, pool: Pool) -> Array:
    """Return what every choice adds to a mean over instances, (n, p)."""
    n, p = pool.values.shape
    xp = namespace(pool.values)
    found = []
    for rows in tiles(n, max(1, _TABLE_ELEMENTS // p)):
        bound = bind(LeftOut(pool.values[rows, :]))
        assert isinstance(bound, Linear)
        seen = xp.reshape(pool.labels[rows, :], (1, -1))
        found.append(xp.reshape(bound.contributions(Reals(seen)), (-1, p)))
    return xp.concat(found, axis=0)


def _places(bind: Bind, pool: Pool, looks: Any) -> dict[str, Array]:
    """Return how many ends every choice passes, (n, p) for each count.

    Ends are draws of a given rank, so it depends only on how many draws are below (or at most) the label.
    """
    n, p = pool.values.shape
    xp = namespace(pool.values)
    row = xp.arange(p, dtype=xp.float64, device=device(pool.values))[None, :]
    canonical = bind(LeftOut(row))
    assert isinstance(canonical, CoverageShares)
    passed = canonical.places(row)
    found: dict[str, list[Array]] = {name: [] for name in looks}
    for rows in tiles(n, max(1, _TABLE_ELEMENTS // p)):
        own, seen = pool.values[rows, :], pool.labels[rows, :]
        ordered = xp.sort(own, axis=1)
        for name, strict in looks.items():
            fewer = count_at_most(ordered, seen.T, strict=strict).T
            itself = own < seen if strict else own <= seen
            rank = xp.reshape(fewer - xp.astype(itself, fewer.dtype), (-1,))
            place = xp.take(passed[name][0, :], rank)
            found[name].append(xp.reshape(xp.astype(place, xp.int32), own.shape))
    return {name: xp.concat(parts, axis=0) for name, parts in found.items()}


def in_cells(rows: Dataset) -> Dataset:
    """Return rows of quantiles with the cells that labels may lie in, in place of their values."""
    given = rows.predictions
    assert isinstance(given, Quantiles)
    codes = cell_codes(given, rows.batch.values)
    return dataclasses.replace(
        rows, labels=dataclasses.replace(codes, weights=rows.batch.weights), weights=None
    )


def cell_codes(predictions: Quantiles, values: Array) -> Classes:
    """Return the first and the last cell that labels (b, n) may lie in, as first (q + 1) + last.

    They differ where a label equals a quantile: the probability of that value is then on both sides of the
    level, and how it is split is not known.
    """
    table = as_float64(predictions.values)
    xp, size = namespace(table), table.shape[1] + 1
    first, last = cells_of(Reals(values), table)
    code = first * size + last
    return Classes(xp.astype(code, label_dtype(xp, size * size)), size * size)


class Cells:
    """Cells between quantiles, drawn with the probability between their levels.

    Parameters
    ----------
    predictions : Quantiles
        Whose cells; they differ in their levels alone.
    seed : tuple of int
        Key of the counters.
    first_row : int
        Index of row 0 among all instances.
    """

    def __init__(self, predictions: Quantiles, seed: Seed, first_row: int = 0) -> None:
        self.reference, self.first_row = predictions.values, first_row
        self.on_device = on_accelerator(predictions.values)
        levels = as_float64(predictions.levels)
        self.levels = levels if self.on_device else to_host(levels)
        self.uniforms = Uniforms(seed, Stream.RESTS)

    def labels(self, reps: slice) -> Classes:
        """Return replicates `reps` of all rows."""
        n, size = self.reference.shape[0], self.levels.shape[0] + 1
        rows = slice(self.first_row, self.first_row + n)
        uniform = self.uniforms.block(reps, rows, self.reference if self.on_device else None)
        xp = namespace(uniform)
        cell = xp.searchsorted(self.levels, xp.reshape(uniform, (-1,)), side="right")
        code = xp.reshape(xp.astype(cell * (size + 1), label_dtype(xp, size * size)), uniform.shape)
        return Classes(code if self.on_device else like(code, self.reference), size * size)


EQUAL = (
    "some labels equal a quantile, so they could count on either side of it: they count where they fit best"
)


class CellBound(ByChoice):
    """A statistic that needs no more of a label than its cell.

    A label that equals a quantile may lie on either side of its level (P(y < Q) <= level <= P(y <= Q)), so
    the share at a level is known up to these labels, and the one nearest to the level is taken. Labels of
    replicates lie in one cell.
    """

    def __init__(self, inner: Bound, predictions: Quantiles) -> None:
        super().__init__(inner)
        self.size = predictions.values.shape[1] + 1
        self.levels = as_float64(predictions.levels)
        self.ends = _ends(inner, predictions)

    def state(self, labels: Labels) -> State:
        """Count labels by the first and by the last cell they may lie in."""
        xp = namespace(labels.values)
        code = xp.astype(labels.values, xp.int32)
        first = count_cells(code // self.size, self.size, labels.weights)
        last = count_cells(code % self.size, self.size, labels.weights)
        return State(first=first, last=last, weight=xp.sum(first, axis=1))

    def plain(self, state: State) -> State:
        """Return the counts that `inner` makes of labels."""
        xp, weight = namespace(state["weight"]), state["weight"]
        levels = like(to_host(self.levels), weight)
        # labels at most as large as each quantile, and those below it
        most, least = (xp.cumulative_sum(state[name], axis=1)[:, :-1] for name in ("first", "last"))
        if bool(xp.any(most > least)) and EQUAL not in self.inner.notes:
            self.inner.notes = (*self.inner.notes, EQUAL)
        ends = {name: like(at, weight) for name, at in self.ends.items()}
        if isinstance(self.inner, Linear):
            low, high = ends["low"], ends["high"]
            closed = xp.take(most, high, axis=1) - xp.take(least, low, axis=1)
            inside = xp.take(least, high, axis=1) - xp.take(most, low, axis=1)
            wanted = weight * (levels[high[0]] - levels[low[0]])
            nearest = _nearest(wanted, inside[:, 0], closed[:, 0])
            return State(size=weight[:, None], observed=nearest[:, None])
        counts = _nearest(weight[:, None] * levels[None, :], least, most)
        edges = xp.zeros_like(weight[:, None]), weight[:, None]

        def between(at: Array) -> Array:
            below = xp.concat([edges[0], xp.take(counts, at, axis=1), edges[1]], axis=1)
            return below[:, 1:] - below[:, :-1]

        return State({**{name: between(at) for name, at in ends.items()}, "weight": weight})


def _nearest(wanted: Array, least: Array, most: Array) -> Array:
    xp = namespace(wanted)
    return xp.minimum(xp.maximum(wanted, least), most)


def _ends(bound: Bound, predictions: Quantiles) -> dict[str, HostArray]:
    """Return the places of the quantiles that a statistic compares labels with; raise where it needs more."""
    own = to_host(as_float64(predictions.levels))
    if isinstance(bound, CoverageShares):
        wanted = dict.fromkeys(bound.looks, to_host(bound.heights))
    elif isinstance(bound, Linear) and isinstance(bound.terms, Inside):
        level = bound.statistic.settings()["level"]
        wanted = {"low": np.array([(1.0 - level) / 2.0]), "high": np.array([(1.0 + level) / 2.0])}
    else:
        raise UnsupportedError(
            f"a test of `{bound.statistic.name}`",
            "needs the values of labels drawn from the predictions, and quantiles say only how often labels "
            "lie between them",
            f"got {own.size} quantiles per instance",
            "Test `picp`, `quantile_calibration_error` or `pit_test`, which need nothing else.",
        )
    found = {}
    for name, levels in wanted.items():
        nearest = np.abs(own[None, :] - levels[:, None]).argmin(axis=1)
        missing = levels[np.abs(own[nearest] - levels) > SAME_LEVEL]
        if missing.size:
            raise UnsupportedError(
                f"a test of `{bound.statistic.name}`",
                "compares labels with quantiles at levels that were predicted",
                f"level {missing[0]:g} is not among the {own.size} levels",
                "Predict it, or name levels that were predicted.",
            )
        found[name] = nearest
    return found


def require_drawable(predictions: Predictions, chosen: Sequence[Statistic]) -> None:
    """Raise where a statistic needs more of a label than quantiles say; one row tells."""
    for one in chosen if isinstance(predictions, Quantiles) else ():
        whole = one.inner if isinstance(one, Subsampled) else one
        if whole.traits.reduction != "pairwise":  # those of pairs look at cells
            require_cells(predictions, whole.bind(predictions[:1]))


def require_cells(predictions: Predictions, bound: Bound) -> None:
    """Raise where a bound statistic needs more of a label than quantiles say."""
    if isinstance(predictions, Quantiles) and not bound.takes_cells:
        _ends(bound, predictions)


def _unlike(predictions: Samples) -> str:
    """Say that weighted draws of different distributions are too evenly spread over these for a label.

    The label is then about sqrt(n) / N standard errors away from its draws, N = 1 / sum w^2.
    """
    most = predictions.n_effective**2 / 16.0
    return (
        "draws of a row are taken to come from one distribution; if they come from different ones, as those "
        "of averaged models do, the test rejects calibrated predictions too often beyond about "
        f"{most:.0f} instances, and several draws per member avoid that"
    )


def drawing_notes(predictions: Predictions, shared: bool = False) -> tuple[str, ...]:
    """Return what is worth knowing about how replicates were made of draws or quantiles."""
    if isinstance(predictions, Quantiles):
        return ("replicates only draw which two quantiles a label lies between, not its value",)
    if not isinstance(predictions, Samples):
        return ()
    s = int(predictions.values.shape[-1])
    if predictions.weights is not None and not is_stratified(predictions):
        number, every = n_equal(predictions), predictions.weights.shape[0]
        taken = f"{number} of the {every} weighted draws, taken at random by weight"
        said = f"each label is compared with {taken}, and the statistic is computed from these draws"
        return (said,) if shared else (said, _unlike(predictions))
    if is_stratified(predictions) and not shared:
        m = predictions.n_members
        by = " by weight" * (predictions.weights is not None)
        taken = f"{s} draws of the mixture, taken at random{by} from the {m * s} draws of {m} members"
        return (f"each label is compared with {taken}, and the statistic is computed from these draws",)
    if shared and is_joint(predictions):
        return (f"replicates exchange all labels with one of the {predictions.n_members} joint draws",)
    return ("replicates exchange every label with one of its draws: exact for any number of draws",)
