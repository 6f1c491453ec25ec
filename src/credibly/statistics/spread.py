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

import copy
import dataclasses
from abc import abstractmethod
from functools import partial
from typing import Any, ClassVar

import numpy as np

from credibly._arrays.checks import require_integer
from credibly._arrays.errors import InputTypeError, UnsupportedError
from credibly._arrays.namespace import Array, HostArray, clip, namespace, to_host
from credibly._arrays.notes import counted
from credibly._arrays.sums import count_cells, group_sums
from credibly.predictions import Dataset, Gaussian, Labels, Predictions, RealPredictions, Rows, Samples
from credibly.predictions.passes import on_host
from credibly.predictions.samples import LeftOut, Pool
from credibly.statistics.batches import gather, in_cache, positive, weighted, widening
from credibly.statistics.cells import bin_index, inner_edges
from credibly.statistics.linear import LinearStatistic
from credibly.statistics.mixture_tables import Loss
from credibly.statistics.protocol import BIASED_UPWARDS, Plan, State, Story, Traits
from credibly.statistics.regression import REAL_TRAITS, RealMean, fourth_moment
from credibly.statistics.terms import Losses, Terms, why_pools_are_infinite

_TINY = 1e-100
"""Smallest variance: squares of what it divides still have a variance of their own."""
NO_SPREAD = 1e15
"""Squared z-scores of draws from which on the draws are equal, up to rounding: they are infinite."""

FEWEST_DRAWS = 4
"""Of fewer draws, mean z^2 has no expectation, whatever is predicted."""
FEW_DRAWS = 100
"""Below, what draws add to mean z^2 is noted: 3 % at 100."""


def mean_and_variance(predictions: RealPredictions) -> tuple[Array, Array]:
    """Return mean and variance, (n,) each, of mixtures of normal members, or of draws."""
    assert isinstance(predictions, (Gaussian, Samples))
    with np.errstate(over="ignore"):  # an error below says so
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
        range_in_words = "below 1e300" if least < 0.0 else f"between {least:g} and 1e300"
        raise UnsupportedError(
            "the variance of predictions",
            f"must be {range_in_words} to be compared with squared errors",
            f"that of row {at} is {float(to_host(variance)[at]):.3g}",
            "Use other units for predictions and labels.",
            argument="predictions",
        )


def squared_z(labels: Array, mean: Array, variance: Array, drawn: bool) -> Array:
    """Return (labels - mean)^2 / variance; infinite where equal draws differ from the label."""
    square = (labels - mean) ** 2 / variance
    return namespace(square).where(square < NO_SPREAD, square, np.inf) if drawn else square


def scatter_of_squares(predictions: RealPredictions) -> Array:
    """Return the variance of z^2 of normal mixtures, (n,): E (y - mu)^4 / sigma^4 - 1, which is 2 for one."""
    assert isinstance(predictions, Gaussian)  # of draws, pools tell it
    return fourth_moment(predictions) / mean_and_variance(predictions)[1] ** 2 - 1.0


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


class OfSpread(LinearStatistic):
    """What statistics of the stated spread share: predictions must state a variance."""

    of_equal_draws: ClassVar[str] = "the z-scores are 0 or infinite"
    """What follows for a row whose draws are all equal."""

    def require_predictions(self, predictions: Predictions) -> None:
        """Raise unless a variance is stated, or there are draws enough to have one."""
        super().require_predictions(predictions)
        require_spread(predictions, self.name)

    def notes(self, predictions: Predictions) -> tuple[str, ...]:
        """Say what few draws do to what they state."""
        if not isinstance(predictions, Samples) or isinstance(predictions, LeftOut):
            return ()
        return (self.of_few_draws(predictions.n_draws),) if predictions.n_draws < FEW_DRAWS else ()

    def of_few_draws(self, number: int) -> str:
        """Return what so few draws do to their spread."""
        usual = (1.0 + 1.0 / number) * (number - 1.0) / (number - 3.0)
        return (
            f"the spread of {number} draws is itself uncertain: with normal draws, a calibrated model has "
            f"a mean squared z-score of {usual:.3g}; tests and bands allow for that, intervals do not"
        )

    def observed_notes(self, sums: State) -> tuple[str, ...]:
        """Say in how many instances all draws are equal, and what follows."""
        flat = int(to_host(sums["flat"])[0]) if "flat" in sums else 0
        return (f"in {counted(flat, 'instance')} all draws are equal: {self.of_equal_draws}",) if flat else ()


def equal_draws(predictions: RealPredictions) -> State:
    """Return in how many instances all draws are equal, (1,), for the notes."""
    if not isinstance(predictions, Samples):
        return State()
    draws, xp = predictions.flat(), namespace(predictions.values)
    equal = xp.max(draws, axis=1) == xp.min(draws, axis=1)
    return State(flat=xp.sum(xp.astype(equal, xp.float64)[None, :], axis=1))


@dataclasses.dataclass(frozen=True)
class SpreadRatio(OfSpread, RealMean):
    """Mean squared error in units of the stated variance: above 1 if the stated spread is too small.

    Examples
    --------
    >>> import credibly as cr
    >>> float(cr.statistics.spread_ratio(cr.Gaussian([0.0, 0.0], [1.0, 2.0]), [2.0, 2.0]))  # (4 + 1) / 2
    2.5
    """

    term_size: ClassVar[float] = 1.0
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
        losses = super().terms(predictions, plan)
        losses.noted = equal_draws(predictions)
        return losses

    def moments(self, predictions: Any) -> tuple[Array, ...]:
        """Return 1 and the variance of squared z-scores; of draws, pools tell them."""
        return (np.asarray(1.0), scatter_of_squares(predictions)) if isinstance(predictions, Gaussian) else ()

    def loss(self, predictions: RealPredictions) -> Loss:
        """((y - mean) / std)^2."""
        mean, variance = mean_and_variance(predictions)
        return lambda labels: squared_z(labels, mean, variance, isinstance(predictions, Samples))


class MomentTerms(Terms):
    """Sums, by name, of what label, mean and variance of a row make; exchanged draws change all three.

    Attributes
    ----------
    stated : tuple of array
        Means and variances, (1, n) each; of pools those that every choice leaves, (n, p).
    pool : Pool or None
        Where labels are choices from pools of draws.
    """

    pool: Pool | None = None

    def __init__(self, predictions: RealPredictions) -> None:
        mean, variance = mean_and_variance(predictions)
        self.stated = mean[None, :], variance[None, :]
        self.predictions, self.n, self.noted = predictions, len(predictions), equal_draws(predictions)

    @abstractmethod
    def each(self, labels: Array, mean: Array, variance: Array) -> dict[str, Array]:
        """Return what labels (b, n) with means and variances (b, n) or (1, n) add to the sums."""

    @abstractmethod
    def law(self, terms: dict[str, HostArray]) -> dict[str, tuple[HostArray, HostArray]]:
        """Return mean and variance, (n,) each, of what labels add to sums, where predictions state them."""

    def bins(self, variance: Array) -> Array | None:
        """Return the bin of variances (b, n) whose sums a row adds to; None where there are no bins."""
        return None

    def of_pool(self, pool: Pool, again: Any) -> MomentTerms:
        """Return the same sums where labels are choices from pools."""
        other = copy.copy(self)
        other.pool, other.n, other.noted = pool, len(pool), State()
        # the floor of a variance holds where equal draws are left
        mean, variance = mean_and_variance(LeftOut(pool.values))
        xp, shape = namespace(pool.values), pool.values.shape
        other.stated = xp.reshape(mean, shape), xp.reshape(variance, shape)
        return other

    def sums(self, labels: Labels, needs: frozenset[str]) -> State:
        """Return the sums over all instances, replicates in front."""
        return in_cache(self._sums, labels)

    def _sums(self, labels: Labels) -> State:
        """Return the sums, (b,) or (b, bins) each; a choice from a pool has its own mean and variance."""
        seen, mean, variance = labels.values, *self.stated
        if self.pool is not None:
            seen, mean, variance = (gather(table, seen) for table in (self.pool.labels, mean, variance))
        terms = self.each(seen, mean, variance)
        if labels.weights is not None:
            terms = {name: weighted(labels.weights, amount) for name, amount in terms.items()}
        xp, bins = namespace(variance), self.bins(variance)
        nothing = xp.zeros_like(seen[:, :1])  # what no label changes is the same for all vectors
        if bins is None:
            return State({name: xp.sum(amount, axis=1) + nothing[:, 0] for name, amount in terms.items()})
        if bins.shape[0] > 1:
            return State({name: count_cells(bins, self.n_cells, amount) for name, amount in terms.items()})
        fixed = bins[0, :]
        sums = {name: group_sums(amount, fixed, self.n_cells) for name, amount in terms.items()}
        return State({name: total + nothing for name, total in sums.items()})

    def on_rows(self, labels: Labels) -> tuple[dict[str, HostArray], HostArray]:
        """Return what one label vector adds, by sum, and the weights of its rows, (n,) each, on the host."""
        every, weight = self.each(labels.values, *self.stated), labels.row_weights()
        host = {name: to_host(amount)[0] for name, amount in every.items()}
        return {name: np.broadcast_to(amount, weight.shape) for name, amount in host.items()}, weight

    def _expected_sums(self, labels: Labels, codes: HostArray, number: int) -> tuple[State, State]:
        """Return `wild_sums` of predictions that state a law."""
        (terms, weight), bins = self.on_rows(labels), self.bins(self.stated[1])
        cell = np.zeros(weight.shape, np.intp) if bins is None else to_host(bins)[0]
        expected, added = on_host(self._sums(labels)), State()
        for name, (usual, scatter) in self.law(terms).items():
            place, deviation = codes * self.n_cells + cell, weight * (terms[name] - usual)
            sums = np.bincount(place, deviation, number * self.n_cells)
            expected[name] = np.bincount(cell, weight * usual, self.n_cells)
            expected[f"scatter of {name}"] = (weight**2 @ scatter)[None]
            added[name] = sums if bins is None else sums.reshape(number, -1)
        return expected, added

    def why_infinite(self, labels: Labels) -> tuple[str, str, str]:
        """Say in how many pools some number would add something infinite."""
        finite = [np.isfinite(amounts) for amounts in self._of_choices().values()]
        return why_pools_are_infinite(np.logical_and.reduce(finite))

    def _of_choices(self) -> dict[str, HostArray]:
        """Return what every choice from its pool adds, by sum, (n, p) on the host."""
        assert self.pool is not None
        every = self.each(self.pool.labels, *self.stated)
        shape = self.pool.values.shape
        return {name: np.broadcast_to(to_host(amount), shape) for name, amount in every.items()}

    def wild_sums(
        self, labels: Labels, codes: HostArray, number: int, needs: frozenset[str]
    ) -> tuple[State, State]:
        """Return the sums that are expected, and per cluster what the labels add to them.

        Of pools, a label is as likely as any number: what it adds beyond the mean over all choices has mean 0
        whatever the pool is, and however rows of a cluster depend on each other.
        """
        if self.pool is None:
            return self._expected_sums(labels, codes, number)
        (n, p), bins, size = self.pool.values.shape, self.bins(self.stated[1]), self.n_cells
        at = size * np.arange(n)[:, None] + (np.zeros((n, p), np.intp) if bins is None else to_host(bins))
        weight = labels.row_weights()
        expected, added = State(), State()
        for name, table in self._of_choices().items():
            usual = np.bincount(at.ravel(), table.ravel(), n * size).reshape(n, size) / p
            deviation = np.bincount(at[:, 0], table[:, 0], n * size).reshape(n, size) - usual
            sums = np.zeros((number, size))
            np.add.at(sums, codes, weight[:, None] * deviation)
            varies = np.mean(table * table, axis=1) - np.sum(usual * usual, axis=1)
            expected[f"scatter of {name}"] = (weight**2 @ varies)[None]
            expected[name] = weight @ usual if bins is None else (weight @ usual)[None, :]
            added[name] = sums[:, 0] if bins is None else sums
        return expected, added

    def widened_states(self, expected: State, added: State) -> tuple[State, State]:
        """Widen every sum apart: they have different units."""
        wider = State()
        for name, sums in added.items():
            scatter = expected.get(f"scatter of {name}", np.zeros(1))[0]
            wider[name] = widening(scatter, np.sum(sums**2)) * sums if scatter > 0 else sums
        return expected, wider


class SpreadTerms(MomentTerms):
    """Stated variances, squared errors and squared z-scores of every bin of the stated spread.

    The error does not use z-scores; pictures do, and one pass over drawn labels is enough for both.
    """

    def __init__(self, predictions: RealPredictions, edges: HostArray) -> None:
        super().__init__(predictions)
        self.edges, self.n_cells = edges, edges.size - 1
        self.own_bins = self._bins(self.stated[1])

    def bins(self, variance: Array) -> Array:
        """Return the bins of stated variances, which differ between replicates of pools."""
        return self.own_bins if self.pool is None else self._bins(variance)

    def _bins(self, variance: Array) -> Array:
        xp = namespace(variance)
        return xp.astype(bin_index(variance, self.edges, "left"), xp.int64)

    def each(self, labels: Array, mean: Array, variance: Array) -> dict[str, Array]:
        """Return what a row adds to the sums of its bin."""
        square, xp = (labels - mean) ** 2, namespace(variance)
        terms = {
            "size": xp.ones_like(variance),
            "stated": variance,
            "observed": square,
            "z": square / variance,
        }
        if isinstance(self.predictions, Samples):  # the floor of a variance stands for none
            terms["stated"] = xp.where(variance > _TINY, variance, 0.0 * variance)
        return terms

    def law(self, terms: dict[str, HostArray]) -> dict[str, tuple[HostArray, HostArray]]:
        """Expect squares to be as large as the stated variances."""
        variance, scatter = terms["stated"], to_host(scatter_of_squares(self.predictions))
        return {"observed": (variance, scatter * variance**2), "z": (terms["size"], scatter)}

    def widened_states(self, expected: State, added: State) -> tuple[State, State]:
        """Widen what clusters add to squares beyond what they add to stated variances and sizes.

        Exchanged draws change these too, and bins of a few rows might be left with none of them.
        """
        deviation = State()
        for name, base in (("observed", "stated"), ("z", "size")):
            usual = expected[name] / np.maximum(expected[base], _TINY)
            deviation[name] = added[name] - usual * added[base] if base in added else added[name]
        return super().widened_states(expected, deviation)

    def wild_state(self, expected: State, added: State, signs: HostArray) -> State:
        """Return the sums of squared errors with these signs, (b, bins); what falls below 0 is 0."""
        moved = {name: np.maximum(expected[name] + signs @ sums, 0.0) for name, sums in added.items()}
        every = {name: np.broadcast_to(expected[name], moved["z"].shape) for name in ("size", "stated")}
        return State({**every, **moved})


@dataclasses.dataclass(frozen=True)
class ExpectedNormalisedError(OfSpread):
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
        self.require_predictions(rows.example.predictions)
        return Plan(rows.n, spread_edges(rows, self.n_bins))

    def terms(self, predictions: Any, plan: Plan) -> SpreadTerms:
        """Return sums per bin of the stated spread."""
        return SpreadTerms(predictions, np.asarray(plan.edges))

    def value(self, sums: State) -> Array:
        """Average relative differences over filled bins."""
        xp = namespace(sums["size"])
        filled, size = sums["size"] > 0, positive(sums["size"])
        roots = (xp.sqrt(xp.where(filled, sums[name] / size, 1.0)) for name in ("stated", "observed"))
        stated, error = roots
        relative = xp.abs(stated - error) / positive(stated)
        relative = xp.where((stated > 0) | (error == 0), relative, xp.inf)
        return xp.sum(relative, axis=1) / xp.sum(xp.astype(filled, xp.float64), axis=1)


def spread_edges(rows: Rows, n_bins: int) -> HostArray:
    """Return edges (n_bins + 1,) of equally filled bins of the stated variance."""
    inner = np.asarray(inner_edges(rows, partial(stated_by, which=1), n_bins, "left"), dtype=np.float64)
    if isinstance(rows.example.predictions, Samples):  # a variance is found in two ways, up to rounding
        inner = inner * (1.0 - 1e-9)
    return np.pad(inner, 1, constant_values=(0.0, np.inf))


def stated_by(rows: Dataset, which: int) -> Array:
    """Return the stated mean (0) or variance (1) of every row, (n,)."""
    assert isinstance(rows.predictions, RealPredictions)
    return mean_and_variance(rows.predictions)[which]


spread_ratio = SpreadRatio()
ence = ExpectedNormalisedError()
