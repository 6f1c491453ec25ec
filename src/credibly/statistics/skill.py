"""Skill scores: the share of the loss of a constant prediction that a model saves.

    brier_skill     1 - mean ||p - e_y||^2 / (1 - sum_c f_c^2)        f_c the frequency of class c
    log_loss_skill  1 - mean -log p_y / H(f),   H(f) = -sum_c f_c log f_c

The constant is f itself, whose losses are the two denominators, so that 0 is no better than the base rate and
1 is perfect. Also called D2, the share of deviance explained.   Murphy 1973; McFadden 1974.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from credibly._arrays.namespace import Array, namespace, to_host
from credibly._arrays.standard_errors import INFINITE_MEAN
from credibly.predictions import Labels
from credibly.statistics.batches import positive, weighted
from credibly.statistics.events import Events
from credibly.statistics.linear import Linear, LinearStatistic
from credibly.statistics.proper import ProperScore, brier, log_loss
from credibly.statistics.protocol import CLASS_LABELS, SECOND_LOOK, Plan, State, Story, Traits
from credibly.statistics.terms import Terms

_ONE_CLASS = "all labels are of one class, of which a constant prediction has no loss"


class LossAndClasses(Terms):
    """The loss of a row in the first column, and in the others whether its label is class 0, 1, ..."""

    def __init__(self, loss: Terms, classes: Events) -> None:
        self.columns = loss, classes
        self.n, self.n_cells, self.reference = loss.n, 1 + classes.n_cells, loss.reference

    def _beside(self, of: Callable[[Any], Array]) -> Array:
        return namespace(self.reference).concat([of(terms) for terms in self.columns], axis=-1)

    @cached_property
    def mean(self) -> Array:
        """The expected loss, and the probabilities of the classes, (n, 1 + k)."""
        return self._beside(lambda terms: terms.mean)

    @property
    def variance(self) -> Array:
        """The variance of each of these, (n, 1 + k)."""
        return self._beside(lambda terms: terms.variance)

    def added(self, labels: Labels) -> Array:
        """Return loss and class of every label, (b, n, 1 + k)."""
        return self._beside(lambda terms: terms.added(labels))

    def observed(self, labels: Labels) -> Array:
        """Sum the losses, and count the labels of every class, (b, 1 + k)."""
        if self.part is not None:
            return self.per_cell(self.added(labels), labels.weights)
        return self._beside(lambda terms: terms.observed(labels))


@dataclasses.dataclass(frozen=True)
class SkillScore(LinearStatistic):
    """One minus the ratio of the mean loss to the loss of the observed class frequencies."""

    score: ClassVar[ProperScore]
    has_moments: ClassVar[bool] = False
    in_evaluations: ClassVar[bool] = False
    traits: ClassVar[Traits] = Traits(
        tail="two-sided", labels=CLASS_LABELS, differentiable=True, range=(-math.inf, 1.0)
    )

    def terms(self, predictions: Any, plan: Plan) -> LossAndClasses:
        """Return the loss of every label, and the classes."""
        return LossAndClasses(self.score.terms(predictions, plan), Events(predictions.probs))

    def losses(self, sums: State) -> tuple[Array, Array, Array]:
        """Return the mean loss (b,), that of the frequencies (b,), and the frequencies (b, k)."""
        mean = sums["observed"] / sums["size"]
        xp = namespace(mean)
        counts = xp.clip(mean[:, 1:], 0.0, None)  # signs of clusters may leave less than nothing
        frequency = counts / positive(xp.sum(counts, axis=1))[:, None]
        base = xp.sum(weighted(frequency, self.score.table(frequency)), axis=1)
        return mean[:, 0], base, frequency

    def value(self, sums: State) -> Array:
        """Return the skill; 0 / 0 is 0, and a loss where a constant has none is infinitely bad."""
        loss, base, _ = self.losses(sums)
        xp = namespace(loss)
        worthless = xp.where(loss > 0, xp.full_like(loss, -xp.inf), xp.zeros_like(loss))
        return xp.where(base > 0, 1.0 - loss / positive(base), worthless)

    def stderr(self, bound: Linear, sums: State, labels: Labels) -> tuple[float | None, str | None]:
        """Refuse where nothing varies; otherwise ask for the influence of every row on the ratio."""
        loss, base, _ = map(to_host, self.losses(sums))
        if not base[0] > 0:
            return None, _ONE_CLASS
        return None, SECOND_LOOK if np.isfinite(loss[0]) else INFINITE_MEAN

    def influence(self, terms: Any, sums: State, labels: Labels) -> Array:
        """Return -(l_i - L) / B + L / B^2 (y_i - f) . B'(f) of every row, (n,).

        B' is what the frequencies lose under every label, up to a number that moves no share (Savage 1971).
        """
        loss, base, frequency = (part[0, ...] for part in self.losses(sums))
        added = terms.added(labels)[0, ...]
        slope = namespace(loss).where(frequency > 0, self.score.table(frequency[None, :])[0, :], 0.0)
        moved = (added[:, 1:] - frequency[None, :]) @ slope
        return (loss * moved / base - (added[:, 0] - loss)) / base


@dataclasses.dataclass(frozen=True)
class BrierSkill(SkillScore):
    """Share of the Brier score of the observed class frequencies that the predictions save.

    Notes
    -----
    1 is perfect, 0 no better than the base rate of these labels, and below 0 worse. A ratio: both conventions
    of the Brier score give the same number.

    Examples
    --------
    >>> import credibly as cr
    >>> float(cr.statistics.brier_skill([[0.75, 0.25], [0.25, 0.75]], [0, 1]))  # 1 - (1/8) / (1/2)
    0.75
    """

    score: ClassVar[ProperScore] = brier
    name: ClassVar[str] = "brier_skill"
    reference: ClassVar[str] = "Murphy 1973"
    story: ClassVar[Story] = Story(
        title="Brier skill score",
        meaning="Share of the Brier score of the base rate that the predictions save; 1 is perfect.",
        formula="1 − mean of ‖p − e_y‖² / (1 − Σ_c f_c²), f_c = frequency of class c",
        above="its probabilities are closer to the labels, compared with the base rate, than they say",
        below="its probabilities are further from the labels, compared with the base rate, than they say",
        citation="Murphy, A new vector partition of the probability score, Journal of Applied Meteorology, "
        "1973.",
        aliases=dict.fromkeys(("bss", "d2_brier", "d2_brier_score", "brier_skill_score"), ""),
    )


@dataclasses.dataclass(frozen=True)
class LogLossSkill(SkillScore):
    """Share of the log loss of the observed class frequencies that the predictions save.

    Notes
    -----
    McFadden's pseudo R squared for predictions made elsewhere. 1 is perfect, 0 no better than the base rate
    of these labels; minus infinity if a label has probability 0.

    Examples
    --------
    >>> import credibly as cr
    >>> value = cr.statistics.log_loss_skill([[0.75, 0.25], [0.25, 0.75]], [0, 1])
    >>> round(float(value), 4)  # 1 - log(4/3) / log 2
    0.585
    """

    score: ClassVar[ProperScore] = log_loss
    name: ClassVar[str] = "log_loss_skill"
    reference: ClassVar[str] = "McFadden 1974"
    story: ClassVar[Story] = Story(
        title="Log loss skill",
        meaning="Share of the log loss of the base rate that the predictions save; 1 is perfect.",
        formula="1 − mean of −log p_y / H(f), f_c = frequency of class c",
        above="labels that it called improbable occur, compared with the base rate, too rarely",
        below="labels that it called improbable occur, compared with the base rate, too often",
        citation="McFadden, Conditional logit analysis of qualitative choice behavior, in Frontiers in "
        "Econometrics, 1974.",
        aliases=dict.fromkeys(("d2_log_loss", "d2_log_loss_score", "mcfadden", "pseudo_r2"), ""),
    )


brier_skill = BrierSkill()
log_loss_skill = LogLossSkill()
