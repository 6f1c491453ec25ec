"""Is the stated spread right where it is small, and where it is large?

    z = (y - mu) / sigma                                      mu, sigma^2: mean and variance of the prediction
    spread_ratio   mean z^2                                   1 where the stated variance is right on average
    ence           mean over bins of sigma of |rmv - rmse| / rmv
                   rmv^2 = mean sigma^2, rmse^2 = mean (y - mu)^2

Of s draws, sigma^2 is their variance with s - 1 in the denominator. The spread of few draws is uncertain, so
mean z^2 is above 1 even for a calibrated model: (1 + 1/s) (s - 1) / (s - 3) for normal draws.

Levi, Gispan, Giladi and Fetaya 2022 (ENCE); Pernot 2022 (z-scores, consistency given the stated spread).
"""

from __future__ import annotations

import dataclasses
from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np

from credibly._arrays.checks import require_integer
from credibly._arrays.errors import InputTypeError, UnsupportedError
from credibly._arrays.namespace import Array, HostArray, clip, device, namespace, to_host
from credibly._arrays.notes import counted
from credibly._arrays.sums import count_cells, group_sums
from credibly.predictions import Dataset, Gaussian, Labels, Predictions, RealPredictions, Rows, Samples
from credibly.predictions.passes import on_host
from credibly.predictions.regression import over_members
from credibly.predictions.samples import LeftOut, Pool
from credibly.statistics.cells import bin_index, inner_edges
from credibly.statistics.linear import LinearStatistic
from credibly.statistics.mixture_tables import Loss
from credibly.statistics.protocol import (
    BIASED_UPWARDS,
    Plan,
    State,
    Statistic,
    Story,
    Traits,
    in_cache,
    widening,
)
from credibly.statistics.regression import REAL_TRAITS, RealMean
from credibly.statistics.terms import Losses, Terms, gather, why_pools_are_infinite

_TINY = 1e-100
"""Smallest variance: squares of what it divides still have a variance of their own."""
NO_SPREAD = 1e15
"""Squared z-scores of draws from which on the draws are equal, up to rounding: they are infinite."""

OF_EQUAL_DRAWS = "the z-scores are 0 or infinite"

FEWEST_DRAWS = 4
"""Of fewer draws, mean z^2 has no expectation, whatever is predicted."""
FEW_DRAWS = 100
"""Below, what draws add to mean z^2 is noted: 3 % at 100."""


def mean_and_variance(predictions: RealPredictions) -> tuple[Array, Array]:
    """Return mean and variance, (n,) each, of mixtures of normal members, or of draws."""
    assert isinstance(predictions, (Gaussian, Samples))
    with np.errstate(over="ignore"):  # which is told below
        mean, variance = predictions.expectation(), predictions.variance()
    # draws of a row may be equal, and an exchanged label may leave only such
    drawn = isinstance(predictions, Samples)
    _require_squares(variance, -1.0 if drawn else 1e-290)
    return mean, clip(variance, _TINY, None) if drawn else variance


def _require_squares(variance: Array, least: float) -> None:
    """Raise where the square of a stated spread is no number, or so small that it has lost digits."""
    inside = (variance > least) & (variance < 1e300)
    if not bool(namespace(inside).all(inside)):
        at = int(np.flatnonzero(~to_host(inside))[0])
        wanted = "below 1e300" if least < 0.0 else f"between {least:g} and 1e300"
        raise UnsupportedError(
            "the variance of predictions",
            f"must be {wanted} to be compared with squared errors",
            f"that of row {at} is {float(to_host(variance)[at]):.3g}",
            "Use other units for predictions and labels.",
            argument="predictions",
        )


def squared_z(labels: Array, mean: Array, variance: Array, drawn: bool) -> Array:
    """Return (labels - mean)^2 / variance; infinite where equal draws differ from the label."""
    found = (labels - mean) ** 2 / variance
    xp = namespace(found)
    return xp.where(found < NO_SPREAD, found, xp.full_like(found, xp.inf)) if drawn else found


def scatter_of_squares(predictions: RealPredictions) -> Array:
    """Return the variance of z^2 of normal mixtures, (n,): E (y - mu)^4 / sigma^4 - 1, which is 2 for one."""
    assert isinstance(predictions, Gaussian)  # of draws, pools tell it
    mean, std = predictions.members()
    centre, variance = mean_and_variance(predictions)
    away = (mean - centre[:, None]) ** 2
    fourth = 3.0 * std**4 + 6.0 * std**2 * away + away**2
    return over_members(fourth, predictions.shares) / variance**2 - 1.0


def require_spread(predictions: Predictions, name: str) -> None:
    """Raise unless a variance is stated, or there are draws enough to have one; `name` is what needs it."""
    if not isinstance(predictions, (Gaussian, Samples)):
        raise InputTypeError(
            f"`{name}`",
            "needs a stated variance, which only Gaussian predictions and draws have",
            f"got {type(predictions).__name__}",
            "Use `picp` or `skce`, which need none.",
            argument="predictions",
        )
    if isinstance(predictions, Samples) and predictions.n_exchanged < FEWEST_DRAWS:
        raise UnsupportedError(
            f"`{name}`",
            f"needs at least {FEWEST_DRAWS} draws per instance, and per member if members have several",
            f"got {predictions.n_exchanged}",
            "Use `picp` or `skce`, which need only one.",
            argument="predictions",
        )


class OfSpread(Statistic):
    """What statistics of the stated spread share: predictions must state a variance."""

    def require_predictions(self, predictions: Predictions) -> None:
        """Raise unless a variance is stated, or there are draws enough to have one."""
        super().require_predictions(predictions)
        require_spread(predictions, self.name)


def few_draws_notes(predictions: Predictions) -> tuple[str, ...]:
    """Return what few draws do to their spread."""
    if not isinstance(predictions, Samples) or isinstance(predictions, LeftOut):
        return ()
    number = predictions.n_draws
    if number >= FEW_DRAWS:
        return ()
    usual = (1.0 + 1.0 / number) * (number - 1.0) / (number - 3.0)
    said = f"the spread of {number} draws is itself uncertain: with normal draws, a calibrated model has "
    said += f"a mean squared z-score of {usual:.3g}; tests and bands allow for that, intervals do not"
    return (said,)


def equal_draws(predictions: RealPredictions) -> State:
    """Return in how many instances all draws are equal, (1,), for the notes."""
    if not isinstance(predictions, Samples):
        return State()
    draws, xp = predictions.flat(), namespace(predictions.values)
    equal = xp.max(draws, axis=1) == xp.min(draws, axis=1)
    return State(flat=xp.sum(xp.astype(equal, xp.float64)[None, :], axis=1))


def equal_draws_notes(sums: State, so: str) -> tuple[str, ...]:
    """Say in how many instances all draws are equal, and what follows."""
    flat = int(to_host(sums["flat"])[0]) if "flat" in sums else 0
    return (f"in {counted(flat, 'instance')} all draws are equal: {so}",) if flat else ()


@dataclasses.dataclass(frozen=True)
class SpreadRatio(OfSpread, RealMean):
    """Mean squared error in units of the stated variance: above 1 if the stated spread is too small.

    Examples
    --------
    >>> import credibly as cr
    >>> float(cr.statistics.spread_ratio(cr.Gaussian([0.0, 0.0], [1.0, 2.0]), [2.0, 2.0]))  # (4 + 1) / 2
    2.5
    """

    name: ClassVar[str] = "spread_ratio"
    traits: ClassVar[Traits] = dataclasses.replace(REAL_TRAITS, differentiable=True)
    reference: ClassVar[str] = "Pernot 2022"
    story: ClassVar[Story] = Story(
        title="Spread ratio",
        meaning=(
            "Mean squared error in units of the stated variance: 1 if the stated spread is right on average."
        ),
        formula="mean of ((y − μ) / σ)²",
        above="errors are larger than the stated spread (too narrow)",
        below="errors are smaller than the stated spread (too wide)",
        citation="Pernot, The long road to calibrated prediction uncertainty in computational chemistry, "
        "Journal of Chemical Physics, 2022.",
        aliases={"zms": "", "mean_squared_z": ""},
    )

    def terms(self, predictions: Any, plan: Plan) -> Losses:
        """Return squared z-scores, and in how many instances all draws are equal."""
        found = super().terms(predictions, plan)
        found.noted = equal_draws(predictions)
        return found

    def moments(self, predictions: Any) -> tuple[Array, ...]:
        """Return 1 and the variance of squared z-scores; of draws, pools tell them."""
        return (np.asarray(1.0), scatter_of_squares(predictions)) if isinstance(predictions, Gaussian) else ()

    def notes(self, predictions: Predictions) -> tuple[str, ...]:
        """Say what few draws do to their spread."""
        return few_draws_notes(predictions)

    def observed_notes(self, sums: State) -> tuple[str, ...]:
        """Say in how many instances all draws are equal."""
        return equal_draws_notes(sums, OF_EQUAL_DRAWS)

    def loss(self, predictions: RealPredictions) -> Loss:
        """((y - mean) / std)^2."""
        mean, variance = mean_and_variance(predictions)
        return lambda labels: squared_z(labels, mean, variance, isinstance(predictions, Samples))


class MomentTerms(Terms):
    """Several sums of what label, mean and variance of a row make; exchanged draws change all three."""

    def __init__(self, predictions: RealPredictions) -> None:
        self.predicted_mean, self.predicted_variance = mean_and_variance(predictions)
        self.given, self.n, self.noted = predictions, len(predictions), equal_draws(predictions)

    @abstractmethod
    def each(self, labels: Array, mean: Array, variance: Array) -> dict[str, Array]:
        """Return what labels (b, n) with means and variances (b, n) or (1, n) add to the sums."""

    @abstractmethod
    def summed(self, labels: Array, mean: Array, variance: Array, weights: Array | None) -> State:
        """Return the sums of labels (b, n) with means and variances (b, n) or (1, n)."""

    def cells(self, variance: Array) -> tuple[Array | None, int]:
        """Return the cell whose sums a row adds to, and how many there are; None for one cell."""
        return None, 1

    def sums(self, labels: Labels, needs: frozenset[str]) -> State:
        """Return the sums over all instances, replicates in front."""
        return in_cache(self._sums, labels)

    def _sums(self, labels: Labels) -> State:
        return self.summed(
            labels.values, self.predicted_mean[None, :], self.predicted_variance[None, :], labels.weights
        )

    def on_rows(self, labels: Labels) -> tuple[dict[str, HostArray], HostArray]:
        """Return what one label vector adds, by sum, and the weights of its rows, (n,) each, on the host."""
        every = self.each(labels.values, self.predicted_mean[None, :], self.predicted_variance[None, :])
        weight = labels.row_weights()
        return {name: np.broadcast_to(to_host(own)[0], weight.shape) for name, own in every.items()}, weight

    def widened(self, expected: State, added: State) -> tuple[State, State]:
        """Widen every sum apart: they have different units."""
        made = State()
        for name, own in added.items():
            scatter = expected.get(f"scatter of {name}", np.zeros(1))[0]
            made[name] = widening(scatter, np.sum(own**2)) * own if scatter > 0 else own
        return expected, made

    def of_pool(self, pool: Pool, again: Any) -> Terms:
        """Return the same sums where labels are choices from pools."""
        return PooledMoments(self, pool)


class PooledMoments(Terms):
    """Sums of label, mean and variance, which a choice from a pool decides together."""

    def __init__(self, inner: MomentTerms, pool: Pool) -> None:
        self.inner, self.pool, self.n, self.settles = inner, pool, len(pool), inner.settles
        self.n_cells = inner.n_cells
        xp, shape = namespace(pool.values), pool.values.shape
        # the floor of a variance holds where equal draws are left
        mean, variance = mean_and_variance(LeftOut(pool.values))
        self.predicted_mean, self.predicted_variance = xp.reshape(mean, shape), xp.reshape(variance, shape)

    def sums(self, labels: Labels, needs: frozenset[str]) -> State:
        """Look up label, mean and variance of every choice, and sum what they make."""
        seen, mean, variance = (
            gather(own, labels.values)
            for own in (self.pool.labels, self.predicted_mean, self.predicted_variance)
        )
        return self.inner.summed(seen, mean, variance, labels.weights)

    def why_infinite(self, labels: Labels) -> tuple[str, str, str]:
        """Say in how many pools some number would add something infinite."""
        every = self.inner.each(self.pool.labels, self.predicted_mean, self.predicted_variance)
        finite = [np.isfinite(to_host(own)) for own in every.values()]
        return why_pools_are_infinite(np.logical_and.reduce(np.broadcast_arrays(*finite)))

    def settled(self, sums: State) -> State:
        """Return sums as those of draws that are not exchanged are read."""
        return self.inner.settled(sums)

    def wild_sums(
        self, labels: Labels, codes: HostArray, number: int, needs: frozenset[str]
    ) -> tuple[State, State]:
        """Return the mean over all choices, and per cluster what the label adds to it.

        A label is as likely as any number of its pool, so what it adds has mean 0 whatever the pool is, and
        however rows of a cluster depend on each other.
        """
        cell, size = self.inner.cells(self.predicted_variance)
        n, p = self.pool.values.shape
        at = np.zeros((n, p), dtype=np.intp) if cell is None else to_host(cell)
        at = at + size * np.arange(n)[:, None]
        weight = labels.row_weights()
        expected, added = State(), State()
        for name, own in self.inner.each(
            self.pool.labels, self.predicted_mean, self.predicted_variance
        ).items():
            table = np.broadcast_to(to_host(own), (n, p))
            usual = np.bincount(at.ravel(), table.ravel(), n * size).reshape(n, size) / p
            apart = np.bincount(at[:, 0], table[:, 0], n * size).reshape(n, size) - usual
            sums = np.zeros((number, size))
            np.add.at(sums, codes, weight[:, None] * apart)
            varies = np.mean(table * table, axis=1) - np.sum(usual * usual, axis=1)
            expected[f"scatter of {name}"] = (weight**2 @ varies)[None]
            expected[name] = weight @ usual if cell is None else (weight @ usual)[None, :]
            added[name] = sums[:, 0] if cell is None else sums
        return expected, added

    def widened(self, expected: State, added: State) -> tuple[State, State]:
        """Widen as sums of draws that are not exchanged are widened."""
        return self.inner.widened(expected, added)

    def wild_state(self, expected: State, added: State, signs: HostArray) -> State:
        """Return the sums with these signs as those of draws that are not exchanged."""
        return self.inner.wild_state(expected, added, signs)


class SpreadTerms(MomentTerms):
    """Stated variances, squared errors and squared z-scores of every bin of the stated spread.

    The error does not use z-scores; pictures do, and one pass over drawn labels is enough for both.
    """

    def __init__(self, predictions: RealPredictions, edges: HostArray) -> None:
        super().__init__(predictions)
        self.edges, self.n_cells = edges, edges.size - 1
        self.bins = self._bins(self.predicted_variance)

    def _bins(self, variance: Array) -> Array:
        xp = namespace(variance)
        return xp.astype(bin_index(variance, self.edges, "left"), xp.int64)

    def _sums(self, labels: Labels) -> State:
        """Return weight, stated variance, squared error and squared z-score of every bin, (b, bins)."""
        xp = namespace(self.predicted_variance)
        every = self.each(labels.values, self.predicted_mean[None, :], self.predicted_variance[None, :])
        nothing = xp.zeros((len(labels), 1), dtype=xp.float64, device=device(labels.values))
        if labels.weights is not None:
            every = {name: labels.weights * own for name, own in every.items()}
        return State(
            {name: group_sums(own, self.bins, self.n_cells) + nothing for name, own in every.items()}
        )

    def each(self, labels: Array, mean: Array, variance: Array) -> dict[str, Array]:
        """Return what a row adds to the sums of its bin."""
        square = (labels - mean) ** 2
        one = namespace(variance).ones_like(variance)
        terms = {"size": one, "stated": variance, "observed": square, "z": square / variance}
        if isinstance(self.given, Samples):  # the floor of a variance stands for none
            terms["stated"] = namespace(variance).where(variance > _TINY, variance, 0.0 * variance)
        return terms

    def cells(self, variance: Array) -> tuple[Array | None, int]:
        """Return the bins of stated variances."""
        return self._bins(variance), self.n_cells

    def summed(self, labels: Array, mean: Array, variance: Array, weights: Array | None) -> State:
        """Return the same of variances (b, n), whose bins differ between replicates."""
        bins, terms = self._bins(variance), self.each(labels, mean, variance)
        every = {name: own if weights is None else weights * own for name, own in terms.items()}
        return State({name: count_cells(bins, self.n_cells, own) for name, own in every.items()})

    def wild_sums(
        self, labels: Labels, codes: HostArray, number: int, needs: frozenset[str]
    ) -> tuple[State, State]:
        """Return what the stated variances expect, and what squares add to it, (number, bins)."""
        expected = on_host(self.sums(labels, needs))
        variance, place = to_host(self.predicted_variance), codes * self.n_cells + to_host(self.bins)
        weight = labels.row_weights()
        apart = weight * ((to_host(labels.values)[0] - to_host(self.predicted_mean)) ** 2 - variance)
        observed, z = (
            np.bincount(place, own, minlength=number * self.n_cells).reshape(number, self.n_cells)
            for own in (apart, apart / variance)
        )
        expected["observed"], expected["z"] = expected["stated"], expected["size"]
        varies = weight**2 * to_host(scatter_of_squares(self.given))
        expected |= {"scatter of z": varies.sum()[None], "scatter of observed": (varies @ variance**2)[None]}
        return expected, State(observed=observed, z=z)

    def widened(self, expected: State, added: State) -> tuple[State, State]:
        """Widen what clusters add to squares beyond what they add to stated variances and sizes.

        Exchanged draws change these too, and bins of a few rows might be left with none of them.
        """
        apart = State()
        for name, base in (("observed", "stated"), ("z", "size")):
            usual = expected[name] / np.maximum(expected[base], _TINY)
            apart[name] = added[name] - usual * added[base] if base in added else added[name]
        return super().widened(expected, apart)

    def wild_state(self, expected: State, added: State, signs: HostArray) -> State:
        """Return the sums of squared errors with these signs, (b, bins); what falls below 0 is 0."""
        moved = {name: np.maximum(expected[name] + signs @ own, 0.0) for name, own in added.items()}
        every = {name: np.broadcast_to(expected[name], moved["z"].shape) for name in ("size", "stated")}
        return State({**every, **moved})


@dataclasses.dataclass(frozen=True)
class ExpectedNormalisedError(OfSpread, LinearStatistic):
    """Expected normalised calibration error: stated against observed spread, in bins of the stated spread.

    Parameters
    ----------
    n_bins : int
        Number of equally filled bins (sizes differ by at most one); equal spreads stay together. Every bin
        counts the same.

    Examples
    --------
    >>> import credibly as cr
    >>> given = cr.Gaussian([0.0, 0.0], [1.0, 2.0])
    >>> float(cr.statistics.ence(given, [0.5, 2.0], n_bins=2))  # (|1 - 0.5| / 1 + |2 - 2| / 2) / 2
    0.25
    """

    n_bins: int = 15
    has_moments: ClassVar[bool] = False
    refusal: ClassVar[str | None] = BIASED_UPWARDS
    name: ClassVar[str] = "ence"
    # edges depend on weights, which only rows have: predictions that are bound alone give equal ones
    traits: ClassVar[Traits] = dataclasses.replace(REAL_TRAITS, tail="greater", multiplicities=False)
    reference: ClassVar[str] = "Levi et al. 2022"
    story: ClassVar[Story] = Story(
        title="ENCE",
        meaning="Mean relative difference between stated and observed spread, in bins of the stated spread.",
        formula="mean over bins of |rmv − rmse| / rmv",
        above="errors differ from their stated spread by more than chance explains",
        citation="Levi, Gispan, Giladi and Fetaya, Evaluating and calibrating uncertainty prediction in "
        "regression tasks, Sensors, 2022.",
        aliases={"uce": "which compares standard deviations, relative to what is stated"},
    )

    def __post_init__(self) -> None:
        object.__setattr__(self, "n_bins", require_integer(self.n_bins, "n_bins", 1))

    def _plan(self, rows: Rows) -> Plan:
        """Return edges of the stated variance."""
        self.require_predictions(rows.sample.predictions)
        return Plan(rows.n, spread_edges(rows, self.n_bins))

    def terms(self, predictions: Any, plan: Plan) -> SpreadTerms:
        """Return sums per bin of the stated spread."""
        return SpreadTerms(predictions, np.asarray(plan.edges))

    def notes(self, predictions: Predictions) -> tuple[str, ...]:
        """Say what few draws do to their spread."""
        return few_draws_notes(predictions)

    def value(self, sums: State) -> Array:
        """Average relative differences over filled bins."""
        xp = namespace(sums["size"])
        filled = sums["size"] > 0
        size = xp.where(filled, sums["size"], xp.ones_like(sums["size"]))
        stated = xp.sqrt(xp.where(filled, sums["stated"] / size, xp.ones_like(size)))
        error = xp.sqrt(xp.where(filled, sums["observed"] / size, xp.ones_like(size)))
        found = xp.abs(stated - error) / xp.where(stated > 0, stated, xp.ones_like(stated))
        found = xp.where((stated > 0) | (error == 0), found, xp.full_like(found, xp.inf))
        return xp.sum(found, axis=1) / xp.sum(xp.astype(filled, xp.float64), axis=1)

    def observed_notes(self, sums: State) -> tuple[str, ...]:
        """Say where draws are equal."""
        return equal_draws_notes(sums, OF_EQUAL_DRAWS)


def spread_edges(rows: Rows, n_bins: int) -> HostArray:
    """Return edges (n_bins + 1,) of equally filled bins of the stated variance."""
    inner = np.asarray(inner_edges(rows, variance_of, n_bins, "left"), dtype=np.float64)
    if isinstance(rows.sample.predictions, Samples):  # a variance is found in two ways, up to rounding
        inner = inner * (1.0 - 1e-9)
    return np.pad(inner, 1, constant_values=(0.0, np.inf))


def variance_of(rows: Dataset) -> Array:
    """Return the stated variance of every row, (n,)."""
    given = rows.predictions
    assert isinstance(given, RealPredictions)
    return mean_and_variance(given)[1]


spread_ratio = SpreadRatio()
ence = ExpectedNormalisedError()
