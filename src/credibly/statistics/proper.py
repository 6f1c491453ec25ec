"""Accuracy and proper scores: means over instances of a number that depends on the row and its label.

    accuracy  mean 1[argmax p = y]      brier  mean ||p - e_y||^2      log_loss  mean -log p_y

    confidence_gap  mean (max p - 1[argmax p = y])

Brier 1950; Gneiting and Raftery 2007. All are sums, so a table of contributions (n, k), one entry per
possible label, serves every label vector of a batch and label counts alike.
"""

from __future__ import annotations

import dataclasses
import math
from abc import abstractmethod
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np

from credibly._arrays.errors import InputError, UnsupportedError
from credibly._arrays.namespace import (
    CACHE_ELEMENTS,
    Array,
    HostArray,
    as_float64,
    device,
    is_numpy,
    namespace,
    tiles,
    to_host,
)
from credibly._arrays.notes import counted
from credibly._arrays.sums import add_mask
from credibly.predictions import Classes, Counts, Labels, Predictions, as_point, label_dtype
from credibly.results.estimates import Moments, standard_error_of
from credibly.statistics.protocol import (
    CLASS_LABELS,
    Bound,
    Plan,
    State,
    Statistic,
    Story,
    Traits,
    in_cache,
)


class MeanBound(Bound):
    """A mean over instances of `table[i, y_i]`."""

    def __init__(self, statistic: Statistic, table: Array, plan: Plan, notes: tuple[str, ...]) -> None:
        super().__init__(statistic, plan.n, notes)
        self.table = table

    def contributions(self, labels: Labels) -> Array:
        """Return every instance's contribution, (b, n)."""
        if isinstance(labels, Counts):
            xp = namespace(labels.values)
            frequency = Counts(labels.values).block(slice(None), slice(None))
            # A class nobody chose adds nothing, also where its loss would be infinite.
            chosen = xp.where(frequency > 0, self.table[None, ...], xp.zeros_like(self.table)[None, ...])
            return xp.sum(frequency * chosen, axis=-1)
        return gather(self.table, labels.values)

    def state(self, labels: Labels) -> State:
        """Sum weights and contributions, replicates in tiles that stay in cache."""
        return in_cache(self._state, labels)

    def _state(self, labels: Labels) -> State:
        values, weights = self.contributions(labels), labels.weights
        xp = namespace(values)
        weight = xp.zeros((values.shape[0],), dtype=values.dtype, device=device(values))
        if weights is None:
            return State(weight=weight + float(values.shape[1]), total=xp.sum(values, axis=1))
        # 0 * inf = 0: an instance of weight zero is not there
        total = xp.sum(weights * xp.where(weights > 0, values, xp.zeros_like(values)), axis=1)
        return State(weight=weight + xp.sum(weights, axis=1), total=total)

    def finish(self, state: State) -> Array:
        """Divide by the total weight."""
        return state["total"] / state["weight"]

    def observed_sums(self, labels: Labels) -> State:
        """Return the state of single labels and the moments of their contributions."""
        return Moments.of(self.contributions(labels), labels.weights, **self.state(labels))

    def expectation(self) -> Array:
        """Return what the predictions expect of every contribution, (n,); 0 of differences from it."""
        return namespace(self.table).zeros_like(self.table[:, 0])

    def scatter(self) -> Array | None:
        """Return the variance of every contribution under the predictions, (n,); None where not known."""
        return None

    def wild_sums(self, labels: Labels, codes: HostArray, number: int) -> tuple[State, State]:
        """Return expected contributions, and per cluster what the observed ones exceed them by."""
        found, expected = to_host(self.contributions(labels))[0], to_host(self.expectation())
        expected = np.broadcast_to(expected, found.shape)
        weight = labels.row_weights()
        found = np.where(weight > 0, found, expected)  # an instance of weight zero is not there
        if not np.isfinite(found).all():
            raise UnsupportedError(
                f"a test of `{self.statistic.name}` with clusters",
                "needs finite contributions",
                f"{counted(int(np.isinf(found).sum()), 'label has', 'labels have')} a probability of 0",
                "Use another statistic, or one that is bounded (`clip`).",
            )
        added = np.bincount(codes, weight * (found - expected), minlength=number)
        state = self._expected_state(weight, expected)
        scatter = self.scatter()
        if scatter is not None:
            state["scatter"] = np.array([weight**2 @ np.broadcast_to(to_host(scatter), found.shape)])
        return state, State(total=added)

    def _expected_state(self, weight: HostArray, expected: HostArray) -> State:
        return State(weight=np.array([weight.sum()]), total=np.array([weight @ expected]))

    def cluster_sums(self, labels: Labels, codes: HostArray, number: int) -> State | None:
        """Return the weight of every cluster and the sum of its contributions."""
        found = to_host(self.contributions(labels))[0]
        weight = labels.row_weights()
        found = np.where(weight > 0, found, 0.0)
        return State(
            weight=np.bincount(codes, weight, minlength=number),
            total=np.bincount(codes, weight * found, minlength=number),
        )

    def stderr(self, sums: State, labels: Labels) -> tuple[float | None, str | None]:
        """Return the standard error of a (weighted) mean, with n - 1 in the variance."""
        stderr, refusal = standard_error_of(sums, self.statistic.term_size)
        wilson = stderr is not None and self.interval_method(labels) == "wilson"
        return stderr, None if wilson else refusal


class GapBound(MeanBound):
    """Confidence c minus 1 where the answer is right: c is the largest entry of a row of the table."""

    def scatter(self) -> Array:
        """Return c (1 - c)."""
        confidence = namespace(self.table).max(self.table, axis=1)
        return confidence * (1.0 - confidence)


def share_moments(state: State) -> Moments:
    """Return the moments of numbers 0 and 1 of weight 1 around their mean p, from their count and their sum.

    sum (v - p)^2 = n p (1 - p),   sum (v - p)^3 = n p (1 - p) (1 - 2 p)
    """
    n, share = state["weight"], state["total"] / state["weight"]
    nothing = 0.0 * n
    square = n * share * (1.0 - share)
    sums = [n, nothing, square, square * (1.0 - 2.0 * share)]
    powers = {f"w{j} v{i}": sums[i] for j in (1, 2, 3) for i in range(j + 1)}
    return Moments(state, n=n, infinite=nothing, centre=share, unit=nothing + 1.0, **powers)


def gather(table: Array, labels: Array) -> Array:
    """Return table[i, labels[b, i]] as (b, n)."""
    xp = namespace(table)
    if is_numpy(table):
        flat = labels + np.arange(0, table.size, table.shape[1])[None, :]
        return np.take(table.ravel(), flat)
    index = xp.astype(labels, xp.int64).T  # (n, b): rows of the table stay rows
    return xp.take_along_axis(table, index, axis=1).T


@dataclasses.dataclass(frozen=True)
class ProperScore(Statistic):
    """A mean over instances that the true distribution minimises (or maximises) in expectation."""

    def _bind(self, predictions: Predictions, plan: Plan) -> Bound:
        point, notes = as_point(predictions)
        return ScoreBound(self, point.probs, plan, notes)

    @abstractmethod
    def table(self, probs: Array) -> Array:
        """Return the contribution of every instance under every possible label, (n, k)."""

    def of_labels(self, probs: Array, labels: Array) -> Array:
        """Return the contributions under one label vector (1, n), where that is cheaper than the table."""
        return gather(self.table(probs), labels)


class ScoreBound(MeanBound):
    """A proper score: the table of all labels is made when a batch asks for it, not for one label vector."""

    statistic: ProperScore

    def __init__(self, statistic: ProperScore, probs: Array, plan: Plan, notes: tuple[str, ...]) -> None:
        Bound.__init__(self, statistic, plan.n, notes)
        self.probs = probs

    @cached_property
    def table(self) -> Array:
        """Contributions under every label."""
        return self.statistic.table(self.probs)

    def expectation(self) -> Array:
        """Return the mean contribution of a label that is drawn from the predictions, (n,)."""
        xp = namespace(self.table)
        probs = as_float64(self.probs)
        return xp.sum(probs * self._possible, axis=1)

    def scatter(self) -> Array:
        """Return the variance of the contribution of a label that is drawn from the predictions, (n,)."""
        away = self._possible - self.expectation()[:, None]
        return namespace(away).sum(as_float64(self.probs) * away**2, axis=1)

    @property
    def _possible(self) -> Array:
        """The table, 0 in place of what labels of probability 0 would contribute."""
        xp = namespace(self.table)
        return xp.where(self.probs > 0, self.table, xp.zeros_like(self.table))

    def contributions(self, labels: Labels) -> Array:
        """Return every instance's contribution, (b, n)."""
        if isinstance(labels, Classes) and len(labels) == 1:
            return self.statistic.of_labels(self.probs, labels.values)
        return super().contributions(labels)


def _traits(differentiable: bool, bounds: tuple[float, float] | None) -> Traits:
    return Traits(
        reduction="sum",
        tail="two-sided",
        labels=CLASS_LABELS,
        differentiable=differentiable,
        multiplicities=True,
        duplicate_invariant=True,
        range=bounds,
    )


@dataclasses.dataclass(frozen=True)
class Accuracy(ProperScore):
    """Share of instances whose most probable class is the label (the lowest index wins ties).

    Examples
    --------
    >>> import credibly as cr
    >>> float(cr.accuracy([[0.7, 0.3], [0.6, 0.4]], [0, 1]))
    0.5
    """

    name: ClassVar[str] = "accuracy"
    traits: ClassVar[Traits] = _traits(False, (0.0, 1.0))
    reference: ClassVar[str] = "Wilson 1927 (its interval)"
    story: ClassVar[Story] = Story(
        title="Accuracy",
        meaning="Share of instances whose most probable class is the label.",
        formula="mean of 1[argmax p = y]",
        above="the model is right more often than it says (underconfident)",
        below="the model is right less often than it says (overconfident)",
        notion="confidence",
        citation="Interval: Wilson, Probable inference, the law of succession, and statistical inference, "
        "JASA 1927.",
        aliases={"acc": "", "top1": "", "accuracy_score": ""},
    )

    def _bind(self, predictions: Predictions, plan: Plan) -> Bound:
        point, notes = as_point(predictions)
        return HitBound(self, point.probs, plan, notes)

    def table(self, probs: Array) -> Array:
        """1 in the column of the predicted class."""
        xp = namespace(probs)
        columns = xp.arange(probs.shape[1], device=device(probs))
        _, predicted = top_label(probs)
        return xp.astype(xp.astype(predicted, columns.dtype)[:, None] == columns, xp.float64)


class HitBound(ScoreBound):
    """Accuracy: comparing labels with the predicted class needs no table for plain labels."""

    def __init__(self, statistic: Accuracy, probs: Array, plan: Plan, notes: tuple[str, ...]) -> None:
        super().__init__(statistic, probs, plan, notes)
        self.predicted = top_label(probs)[1]

    def interval_method(self, labels: Labels) -> Literal["normal", "wilson"]:
        """Hits of single labels are a binomial count; weighted or shared ones are not."""
        return "wilson" if isinstance(labels, Classes) and labels.weights is None else "normal"

    def contributions(self, labels: Labels) -> Array:
        """Return 1 where the label is the predicted class."""
        if isinstance(labels, Classes):
            xp = namespace(self.predicted)
            return xp.astype(labels.values == self.predicted[None, :], xp.float64)
        return super().contributions(labels)

    def state(self, labels: Labels) -> State:
        """Count hits without making them floating numbers."""
        if isinstance(labels, Classes) and labels.weights is None and is_numpy(self.predicted):
            hits = np.array([np.count_nonzero(row == self.predicted) for row in labels.values])
            return State(weight=np.full(len(labels), float(labels.n)), total=hits.astype(np.float64))
        return self._state(labels)

    def observed_sums(self, labels: Labels) -> State:
        """Return the moments of hits and misses, which their numbers tell."""
        if self.interval_method(labels) != "wilson":
            return super().observed_sums(labels)
        return share_moments(self.state(labels))


_BOTH_CLASSES = "the Brier score is the sum over both classes, which is twice scikit-learn's brier_score_loss"


@dataclasses.dataclass(frozen=True)
class ConfidenceGap(Statistic):
    """Mean confidence minus accuracy: how much too sure the model is on average; negative if too unsure.

    Notes
    -----
    Overconfidence in some places and underconfidence in others cancel out: a gap of 0 does not mean that the
    confidence is right. Its test is that of `accuracy`, whose expected value is the mean confidence.

    Examples
    --------
    >>> import credibly as cr
    >>> float(cr.confidence_gap([[0.75, 0.25], [0.75, 0.25]], [0, 1]))
    0.25
    """

    name: ClassVar[str] = "confidence_gap"
    traits: ClassVar[Traits] = _traits(False, (-1.0, 1.0))
    reference: ClassVar[str] = "Guo et al. 2017"
    story: ClassVar[Story] = Story(
        title="Confidence gap",
        meaning="Mean confidence minus accuracy: positive if the model is too sure on average.",
        formula="mean of (max p − 1[argmax p = y])",
        above="the model is surer than it should be (overconfident)",
        below="the model is less sure than it should be (underconfident)",
        notion="confidence",
        citation="Guo et al., On calibration of modern neural networks, ICML 2017.",
        aliases={"overconfidence": "", "gap": ""},
    )

    def _bind(self, predictions: Predictions, plan: Plan) -> Bound:
        point, notes = as_point(predictions)
        confidence, _ = top_label(point.probs)
        hits = Accuracy().table(point.probs)
        return GapBound(self, as_float64(confidence)[:, None] - hits, plan, notes)


@dataclasses.dataclass(frozen=True)
class Brier(ProperScore):
    """Mean squared distance between the predicted distribution and the label, summed over all classes.

    Notes
    -----
    For two classes it is the sum over both, twice the value of scikit-learn's `brier_score_loss`.

    Examples
    --------
    >>> import credibly as cr
    >>> float(cr.brier([[0.75, 0.25]], [0]))
    0.125
    """

    name: ClassVar[str] = "brier"
    traits: ClassVar[Traits] = _traits(True, (0.0, 2.0))
    reference: ClassVar[str] = "Brier 1950"
    story: ClassVar[Story] = Story(
        title="Brier score",
        meaning="Mean squared distance between the predicted distribution and the label, 0 to 2; smaller is "
        "better.",
        formula="mean of ‖p − e_y‖²",
        above="its probabilities are further from the labels than they say",
        below="its probabilities are closer to the labels than they say",
        citation="Brier, Verification of forecasts expressed in terms of probability, Monthly Weather "
        "Review, 1950.",
        aliases={
            "brier_score": "",
            "quadratic_score": "",
            "brier_score_loss": "which for two classes is twice the number of scikit-learn",
        },
    )

    def _bind(self, predictions: Predictions, plan: Plan) -> Bound:
        point, notes = as_point(predictions)
        return ScoreBound(self, point.probs, plan, (*notes, _BOTH_CLASSES) if point.n_classes == 2 else notes)

    def table(self, probs: Array) -> Array:
        """|p|^2 - 2 p_c + 1."""
        p = as_float64(probs)
        return _squared_length(p)[:, None] - 2.0 * p + 1.0

    def of_labels(self, probs: Array, labels: Array) -> Array:
        """The same for the label alone."""
        p = as_float64(probs)
        return _squared_length(p)[None, :] - 2.0 * gather(p, labels) + 1.0


def _squared_length(p: Array) -> Array:
    """Return |p|^2 of every row, (n,)."""
    xp = namespace(p)
    if is_numpy(p):  # a product reads the rows as they lie; sums along a short axis are several times slower
        return (p * p) @ np.ones(p.shape[1])
    return xp.sum(p * p, axis=-1)


@dataclasses.dataclass(frozen=True)
class LogLoss(ProperScore):
    """Mean negative logarithm of the probability of the label; infinite if that probability is 0.

    Parameters
    ----------
    clip : float
        Probabilities below this count as this before the logarithm; 0 (the default) clips nothing.

    Examples
    --------
    >>> import credibly as cr
    >>> float(cr.log_loss([[0.5, 0.5]], [1]))
    0.6931471805599453
    """

    clip: float = 0.0
    name: ClassVar[str] = "log_loss"
    traits: ClassVar[Traits] = _traits(True, (0.0, math.inf))
    reference: ClassVar[str] = "Good 1952"
    story: ClassVar[Story] = Story(
        title="Log loss",
        meaning=(
            "Mean negative natural logarithm of the label's probability; infinite if that is 0, not clipped."
        ),
        formula="mean of −log p_y",
        above="labels that it called improbable occur too often",
        below="labels that it called improbable occur too rarely",
        citation="Good, Rational decisions, Journal of the Royal Statistical Society B, 1952.",
        aliases={
            **dict.fromkeys(("nll", "log_score", "negative_log_likelihood"), "for classes"),
            "cross_entropy": "",
            "logloss": "",
        },
    )
    papers: ClassVar[dict[str, dict[str, Any]]] = {"C25": {"clip": 1e-10}}

    def __post_init__(self) -> None:
        if not isinstance(self.clip, (int, float)) or not 0 <= self.clip < 1:
            raise InputError(
                "`clip`", "must be at least 0 and below 1", f"got {self.clip!r}", "Use 0 for none."
            )

    def _bind(self, predictions: Predictions, plan: Plan) -> Bound:
        point, notes = as_point(predictions)
        return LogLossBound(self, point.probs, plan, notes)

    def of_labels(self, probs: Array, labels: Array) -> Array:
        """The same for the label alone: k times fewer logarithms."""
        return self.table(gather(probs, labels))

    def table(self, probs: Array) -> Array:
        """-log p_c, of what clipping leaves."""
        p = as_float64(probs)
        xp = namespace(p)
        if self.clip:
            p = xp.clip(p, self.clip, None)
        if not is_numpy(p):
            # log(1) stands in for log(0), whose infinite slope would turn gradients of other classes into NaN
            possible = p > 0
            loss = -xp.log(xp.where(possible, p, xp.ones_like(p)))
            return xp.where(possible, loss, xp.full_like(loss, xp.inf))
        with np.errstate(divide="ignore"):
            return -np.log(p)


class LogLossBound(ScoreBound):
    """Log loss counts its infinite rows instead of hiding them."""

    def observed_notes(self, sums: State) -> tuple[str, ...]:
        """Return how many instances have an infinite loss."""
        infinite, n = (int(to_host(sums[name])[0]) for name in ("infinite", "n"))
        if not infinite:
            return ()
        return (f"{infinite} of {n} instances gave their label probability 0: infinite loss",)


@dataclasses.dataclass(frozen=True)
class RankedProbabilityScore(ProperScore):
    """Mean squared distance between predicted and observed distribution functions, for ordered classes.

    Notes
    -----
    Classes are taken in the order of their columns, as for grades or counts: probability one class away from
    the label costs less than probability three classes away. For two classes it is half of `brier`.
    Evaluations compute it only if it is named, because most classes have no order.

    Examples
    --------
    >>> import credibly as cr
    >>> float(cr.statistics.rps([[0.5, 0.25, 0.25]], [0]))  # (1/2 - 1)^2 + (3/4 - 1)^2
    0.3125
    """

    name: ClassVar[str] = "rps"
    traits: ClassVar[Traits] = dataclasses.replace(_traits(True, (0.0, math.inf)), ordered=True)
    in_evaluations: ClassVar[bool] = False
    reference: ClassVar[str] = "Epstein 1969"
    story: ClassVar[Story] = Story(
        title="Ranked probability score",
        meaning="Squared distance between predicted and observed distribution function, summed over ordered "
        "classes; smaller is better.",
        formula="mean of Σ_c (p_0 + … + p_c − 1[y ≤ c])²",
        above="labels are further from the predicted classes than the predictions say",
        below="labels are closer to the predicted classes than the predictions say",
        citation="Epstein, A scoring system for probability forecasts of ranked categories, Journal of "
        "Applied Meteorology, 1969.",
        aliases={"ranked_probability_score": "", "ordinal_brier": ""},
    )

    def _bind(self, predictions: Predictions, plan: Plan) -> Bound:
        point, notes = as_point(predictions)
        return ScoreBound(self, point.probs, plan, notes)

    def table(self, probs: Array) -> Array:
        """Sum over c of (F_c - 1[y <= c])^2 = sum of F_c^2 + sum over c from y on of (1 - 2 F_c)."""
        p = as_float64(probs)
        xp = namespace(p)
        below = xp.cumulative_sum(p, axis=1)[:, :-1]  # the last one is 1 and costs nothing
        squares = xp.sum(below * below, axis=1)[:, None]
        steps = 1.0 - 2.0 * below
        behind = xp.flip(xp.cumulative_sum(xp.flip(steps, axis=1), axis=1), axis=1)
        return xp.concat([squares + behind, squares], axis=1)


accuracy = Accuracy()
confidence_gap = ConfidenceGap()
brier = Brier()
log_loss = LogLoss()
rps = RankedProbabilityScore()


def top_label(probs: Array) -> tuple[Array, Array]:
    """Return (confidence, predicted class) from probabilities (n, k)."""
    if is_numpy(probs):
        return _top_label_numpy(probs)
    xp = namespace(probs)
    predicted = xp.argmax(probs, axis=-1)
    return xp.max(probs, axis=-1), xp.astype(predicted, label_dtype(xp, probs.shape[1]))


def _top_label_numpy(probs: Array) -> tuple[Array, Array]:
    """Reduce column by column on tiles that stay in cache.

    NumPy reduces a short last axis row by row, several times slower than memory allows.
    """
    n, k = probs.shape
    if k > 64:
        return probs.max(axis=1), probs.argmax(axis=1).astype(label_dtype(np, k))
    confidence = np.empty(n, dtype=probs.dtype)
    predicted = np.zeros(n, dtype=label_dtype(np, k))
    for rows in tiles(n, 2 * CACHE_ELEMENTS // k):
        columns = np.ascontiguousarray(probs[rows].T)
        best, label = confidence[rows], predicted[rows]
        np.max(columns, axis=0, out=best)
        earlier = np.ones(best.shape, dtype=bool)  # no column so far holds the maximum
        for column in columns[:-1]:
            earlier &= column != best
            add_mask(label, earlier)
    return confidence, predicted
