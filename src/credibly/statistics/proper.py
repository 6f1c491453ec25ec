"""Accuracy and proper scores: means over instances of a number that depends on the row and its label.

    accuracy  mean 1[argmax p = y]      brier  mean ||p - e_y||^2      log_loss  mean -log p_y

    confidence_gap  mean (max p - 1[argmax p = y])

Spiegelhalter's z is the Brier score minus what the predictions expect of it, in units of its spread:

    z = sum_i (b_i - E b_i) / sqrt(sum_i Var b_i),   b = ||p - e_y||^2,   E b = 1 - ||p||^2,
    Var b = 4 sum_c p_c (p_c - ||p||^2)^2

For two classes this is sum (y - p)(1 - 2 p) / sqrt(sum (1 - 2 p)^2 p (1 - p)).   Spiegelhalter 1986.

Brier 1950; Gneiting and Raftery 2007. All are sums, so a table of contributions (n, k), one entry per
possible label, serves every label vector of a batch and label counts alike.
"""

from __future__ import annotations

import dataclasses
import math
from abc import abstractmethod
from functools import cached_property, partial
from typing import Any, ClassVar

import numpy as np

from credibly._arrays.checks import require_below_one
from credibly._arrays.namespace import CACHE_ELEMENTS, Array, as_float64, is_numpy, namespace, tiles, to_host
from credibly.predictions import Confidence, label_dtype
from credibly.statistics.batches import gather, positive
from credibly.statistics.events import Events
from credibly.statistics.linear import LinearStatistic
from credibly.statistics.protocol import CLASS_LABELS, GROWS_WITH_N, ONE_CLASS, Plan, State, Story, Traits
from credibly.statistics.terms import Outcomes, Terms


@dataclasses.dataclass(frozen=True)
class ProperScore(LinearStatistic):
    """A mean over instances that the true distribution minimises (or maximises) in expectation."""

    def terms(self, predictions: Any, plan: Plan) -> Terms:
        """Return the contribution of every possible label, made when it is needed."""
        probs = predictions.probs
        return Outcomes(probs, partial(self.table, probs), partial(self.of_labels, probs))

    @abstractmethod
    def table(self, probs: Array) -> Array:
        """Return the contribution of every instance under every possible label, (n, k)."""

    def of_labels(self, probs: Array, labels: Array) -> Array:
        """Return the contributions under one label vector (1, n), where that is cheaper than the table."""
        return gather(self.table(probs), labels)


_SHARE = Traits(tail="two-sided", labels=CLASS_LABELS, range=(0.0, 1.0))
_SCORE = Traits(tail="two-sided", labels=CLASS_LABELS, range=(0.0, math.inf), differentiable=True)


@dataclasses.dataclass(frozen=True)
class Accuracy(LinearStatistic):
    """Share of instances whose most probable class is the label (the lowest index wins ties).

    Examples
    --------
    >>> import credibly as cr
    >>> float(cr.accuracy([[0.7, 0.3], [0.6, 0.4]], [0, 1]))
    0.5
    """

    name: ClassVar[str] = "accuracy"
    is_share: ClassVar[bool] = True
    traits: ClassVar[Traits] = _SHARE
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

    def terms(self, predictions: Any, plan: Plan) -> Terms:
        """Return hits: the label is the predicted class."""
        confidence, predicted = top_label(predictions)
        return Events(confidence, event=predicted)


_BOTH_CLASSES = "the Brier score is the sum over both classes, which is twice scikit-learn's brier_score_loss"


@dataclasses.dataclass(frozen=True)
class ConfidenceGap(Accuracy):
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
    is_share: ClassVar[bool] = False
    needs: ClassVar[frozenset[str]] = frozenset({"expected"})
    traits: ClassVar[Traits] = dataclasses.replace(_SHARE, range=(-1.0, 1.0))
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

    def value(self, sums: State) -> Array:
        """Return what the confidences expect beyond what was observed."""
        return (sums["expected"] - sums["observed"])[:, 0] / sums["size"][:, 0]

    def contributions(self, terms: Any, added: Array) -> Array:
        """Return confidence minus hit."""
        return terms.mean[:, 0] - added


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
    traits: ClassVar[Traits] = dataclasses.replace(_SCORE, range=(0.0, 2.0))
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

    def notes(self, predictions: Any) -> tuple[str, ...]:
        """Say which of two conventions is used for two classes."""
        return (_BOTH_CLASSES,) if predictions.n_classes == 2 else ()

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
    return namespace(p).vecdot(p, p)


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
    traits: ClassVar[Traits] = _SCORE
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

    def __post_init__(self) -> None:
        require_below_one(self.clip, "clip", "Use 0 for none.")

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
            return xp.where(p > 0, -xp.log(positive(p)), xp.inf)
        with np.errstate(divide="ignore"):
            return -np.log(p)

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
    traits: ClassVar[Traits] = dataclasses.replace(_SCORE, ordered=True)
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

    def table(self, probs: Array) -> Array:
        """Sum over c of (F_c - 1[y <= c])^2 = sum of F_c^2 + sum over c from y on of (1 - 2 F_c)."""
        p = as_float64(probs)
        xp = namespace(p)
        below = xp.cumulative_sum(p, axis=1)[:, :-1]  # the last one is 1 and costs nothing
        squares = xp.vecdot(below, below)[:, None]
        steps = 1.0 - 2.0 * below
        behind = xp.flip(xp.cumulative_sum(xp.flip(steps, axis=1), axis=1), axis=1)
        return xp.concat([squares + behind, squares], axis=1)


@dataclasses.dataclass(frozen=True)
class SpiegelhalterZ(LinearStatistic):
    """Spiegelhalter's z of the Brier score: above 0 if it is worse than the predictions expect.

    Notes
    -----
    A sum over instances. Any calibrated predictions give a mean of 0 and a variance of 1, and nearly a normal
    distribution if many instances have predictions that are neither certain nor uniform. The test is
    two-sided: overconfident models are above 0, underconfident ones below. Deviations that do not change the
    expected Brier score are not detected.

    Examples
    --------
    >>> import credibly as cr
    >>> round(float(cr.spiegelhalter_z([[0.8, 0.2], [0.8, 0.2]], [1, 1])), 6)  # 2 (.8)(.6) / sqrt(2 .36 .16)
    2.828427
    """

    name: ClassVar[str] = "spiegelhalter_z"
    traits: ClassVar[Traits] = Traits(
        tail="two-sided", labels=ONE_CLASS, differentiable=True, duplicate_invariant=False
    )
    reference: ClassVar[str] = "Spiegelhalter 1986"
    story: ClassVar[Story] = Story(
        title="Spiegelhalter's z",
        meaning="Brier score minus what the predictions expect of it, in standard deviations.",
        formula="Σ (b − E b) / √Σ Var b, b = ‖p − e_y‖²",
        above="its probabilities are further from the labels than they say",
        below="its probabilities are closer to the labels than they say",
        citation="Spiegelhalter, Probabilistic prediction in patient management and clinical trials, "
        "Statistics in Medicine, 1986.",
        aliases={"spiegelhalter": "", "spiegelhalter_test": ""},
    )
    in_evaluations: ClassVar[bool] = False
    needs: ClassVar[frozenset[str]] = frozenset({"variance"})
    refusal: ClassVar[str | None] = GROWS_WITH_N
    has_moments: ClassVar[bool] = False

    def terms(self, predictions: Any, plan: Plan) -> Terms:
        """Return the Brier score of every label minus what is expected of it."""
        p = as_float64(predictions.probs)
        return _Deviations(p, partial(_deviations, p))

    def value(self, sums: State) -> Array:
        """Divide by the root of the variance; 0 / 0 is 0, and what cannot happen is infinite."""
        total, variance = sums["observed"][:, 0], sums["variance"][:, 0]
        xp = namespace(total)
        impossible = xp.where(total > 0, xp.full_like(total, xp.inf), 0.0)
        return xp.where(variance > 0, total / positive(variance) ** 0.5, impossible)

    def size_of_terms(self, n: int, n_cells: int) -> float:
        """Return the magnitude of single deviations, in units of the root of n of them."""
        return math.sqrt(n)


class _Deviations(Outcomes):
    """Outcomes whose expectation has been taken out."""

    @cached_property
    def mean(self) -> Array:
        """0."""
        return namespace(self.chance).zeros_like(self.chance[:, :1])

    @cached_property
    def variance(self) -> Array:
        """The mean square."""
        return self._average(self.amount**2)


_ROUNDING = 64 * float(np.finfo(np.float64).eps)


def _deviations(p: Array) -> Array:
    """Return |p|^2 - 2 p_y + 1 - (1 - |p|^2), (n, k); of uniform predictions nothing but rounding is left."""
    square = _squared_length(p)[:, None]
    table = 2.0 * (square - p)
    return namespace(p).where(abs(table) > _ROUNDING * square, table, 0.0)


accuracy = Accuracy()
confidence_gap = ConfidenceGap()
brier = Brier()
log_loss = LogLoss()
rps = RankedProbabilityScore()
spiegelhalter_z = SpiegelhalterZ()


def top_label(predictions: Any) -> tuple[Array, Array]:
    """Return (confidence, predicted class); an answer with a stated confidence is predicted to be right."""
    probs = predictions.probs
    if isinstance(predictions, Confidence):
        xp = namespace(probs)
        return predictions.stated, xp.ones_like(probs[:, 1], dtype=label_dtype(xp, 2))
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
    if k == 2:
        first, second = probs.T
        return np.maximum(first, second), (second > first).view(np.uint8)
    if k > 64:
        place = probs.argmax(axis=1)
        return gather(probs, place[None, :])[0], place.astype(label_dtype(np, k))
    confidence = np.empty(n, dtype=probs.dtype)
    predicted = np.zeros(n, dtype=label_dtype(np, k))
    for rows in tiles(n, 2 * CACHE_ELEMENTS // k):
        columns = np.ascontiguousarray(probs[rows].T)
        best, label = confidence[rows], predicted[rows]
        np.maximum.reduce(columns, axis=0, out=best)
        # the first column that holds the maximum: of all that do, the one furthest from the end
        from_end = (columns == best).view(np.uint8) * np.arange(k, 0, -1, dtype=np.uint8)[:, None]
        np.subtract(k, np.maximum.reduce(from_end, axis=0), out=label)
    return confidence, predicted
