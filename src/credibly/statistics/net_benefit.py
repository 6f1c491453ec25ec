"""Net benefit of acting where the probability of an event reaches a threshold: decision curve analysis.

    net_benefit  1/n (true positives - t / (1 - t) false positives)

Acting from t on is right if a missed event is as bad as (1 - t) / t false alarms. Vickers and Elkin 2006.
"""

from __future__ import annotations

import dataclasses
import math
from functools import partial
from typing import Any, ClassVar

from credibly._arrays.namespace import Array, as_float64, device, namespace
from credibly.results.base import require_level
from credibly.statistics.cells import check_target, event_of
from credibly.statistics.linear import LinearStatistic
from credibly.statistics.protocol import CLASS_LABELS, Plan, Story, Traits
from credibly.statistics.terms import Outcomes


@dataclasses.dataclass(frozen=True)
class NetBenefit(LinearStatistic):
    """Net benefit of acting where the probability of a class is at least the threshold.

    Parameters
    ----------
    threshold : float
        Probability from which one acts.
    target : int
        The class that one acts against.

    Notes
    -----
    Acting for nobody has 0, acting for all share − t / (1 − t) (1 − share). `selection.murphy_curve` has the
    costs behind it at all thresholds, and as `net_benefit` the decision curve.

    Examples
    --------
    >>> import credibly as cr
    >>> probs = [[0.2, 0.8], [0.4, 0.6], [0.9, 0.1], [0.7, 0.3]]
    >>> float(cr.statistics.net_benefit(probs, [1, 0, 0, 1], threshold=0.5))  # (1 - 1) / 4
    0.0
    """

    threshold: float = 0.5
    target: int = 1
    name: ClassVar[str] = "net_benefit"
    traits: ClassVar[Traits] = Traits(tail="two-sided", labels=CLASS_LABELS, range=(-math.inf, 1.0))
    reference: ClassVar[str] = "Vickers and Elkin 2006"
    story: ClassVar[Story] = Story(
        title="Net benefit",
        meaning="Share of rows that are events and acted on, minus false alarms times the threshold's odds.",
        formula="1/n (true positives − t/(1 − t) · false positives)",
        above="events are more frequent above the threshold than the predictions say",
        below="events are less frequent above the threshold than the predictions say",
        notion="classwise",
        citation="Vickers and Elkin, Decision curve analysis: a novel method for evaluating prediction "
        "models, Medical Decision Making, 2006.",
        aliases=dict.fromkeys(("decision_curve", "dca"), "at one threshold"),
    )
    in_evaluations: ClassVar[bool] = False

    def __post_init__(self) -> None:
        require_level(self.threshold, "`threshold`", "Try 0.5.")
        check_target(self)

    def terms(self, predictions: Any, plan: Plan) -> Outcomes:
        """Return what acting gains or loses under every label."""
        probs = predictions.probs
        event_of(probs, self.target)
        return Outcomes(probs, partial(self._table, probs))

    def _table(self, probs: Array) -> Array:
        p = as_float64(probs)
        xp, odds = namespace(p), self.threshold / (1.0 - self.threshold)
        classes = xp.arange(p.shape[1], device=device(p))
        gain = xp.where(classes == self.target, xp.ones_like(p[0, :]), -odds)
        return xp.where(p[:, self.target][:, None] >= self.threshold, gain[None, :], 0.0)


net_benefit = NetBenefit()
