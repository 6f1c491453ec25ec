"""Results of the unified score, and of how well uncertainty finds events."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from typing import Any, Literal

import numpy as np

from credibly._arrays.errors import InputError, one_of
from credibly._arrays.namespace import Array, HostArray
from credibly.results.base import Result
from credibly.results.estimates import Estimate, mean_error

Group = Literal["all", "right", "wrong"]

GROUPS: tuple[Group, ...] = ("all", "right", "wrong")

PARTS = ("distance", "imprecision", "total")


@dataclasses.dataclass(frozen=True)
class Spread(Result):
    """Mean and standard deviation of one part of the score over some instances.

    Attributes
    ----------
    mean : float
        Mean; NaN without instances, infinite if an instance is.
    std : float
        Standard deviation of the instances (n - 1 in the denominator, as in C25's tables); NaN for fewer than
        two instances and if the mean is not finite.
    n : int
        Number of instances.
    """

    mean: float
    std: float
    n: int

    @property
    def stderr(self) -> float:
        """Standard error of the mean; NaN for fewer than two instances."""
        return self.std / math.sqrt(self.n) if self.n else math.nan

    def __str__(self) -> str:
        return f"{self.mean:.3f} ± {self.std:.3f}"


@dataclasses.dataclass(frozen=True)
class Dependence(Result):
    """How much the mean score depends on the number of members, which is not part of the model.

    Attributes
    ----------
    used, other : str
        What was chosen, and what it is compared with.
    score, other_score : float
        Mean score with each choice, over the same `n` instances.
    n : int
        Number of instances compared.
    """

    used: str
    other: str
    score: float
    other_score: float
    n: int

    @property
    def share(self) -> float:
        """The change as a share of the score; infinite if the score is 0 and its change is not."""
        change = self.other_score - self.score
        if change == 0:
            return 0.0
        return change / self.score if self.score else math.copysign(math.inf, change)

    def __str__(self) -> str:
        return (
            f"E depends on the number of members: {self.score:.4g} with {self.used}, "
            f"{self.other_score:.4g} with {self.other} ({100 * self.share:+.0f} %, {self.n} instances)"
        )


@dataclasses.dataclass(frozen=True)
class EpistemicScore(Result):
    """The unified score E = distance + trade-off * imprecision of every instance.

    Attributes
    ----------
    kind : str
        Type of the predictions.
    tradeoff : float
        Weight of the imprecision.
    distance : array (n,)
        Distance of the label to the nearest distribution of the set.
    imprecision : array (n,)
        How large the set is; 0 for a point.
    total : array (n,)
        Their sum, the imprecision weighted.
    right : array (n,)
        Whether the mean prediction puts the label first.
    confidence, entropy : array (n,)
        Largest probability and entropy of the mean prediction.
    summary : mapping of str to mapping of str to Spread
        ``summary["distance"]["wrong"]``: part, then "all", "right" or "wrong" predictions.
    n : int
        Number of instances.
    n_infinite : int
        Instances at infinite distance: every distribution in the set gives their label probability 0.
    settings : mapping
        Measure, number of members or samples, seed.
    dependences : tuple of Dependence
        How much the mean depends on the number of members.
    average : EpistemicScore or None
        The score of the mean prediction alone; None if the predictions are points.
    notes : tuple of str
        How sets were made.
    """

    kind: str
    tradeoff: float
    distance: Array
    imprecision: Array
    total: Array
    right: Array
    confidence: Array
    entropy: Array
    summary: Mapping[str, Mapping[Group, Spread]]
    n: int
    n_infinite: int
    settings: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    dependences: tuple[Dependence, ...] = ()
    average: EpistemicScore | None = None
    notes: tuple[str, ...] = ()

    def __float__(self) -> float:
        return self.summary["total"]["all"].mean

    def summary_dict(self) -> dict[str, Any]:
        """Return what `to_dict` does without the arrays over instances: short for any n."""
        found = self.to_dict()
        for one in (found, found["average"]):
            for name in (*PARTS, "right", "confidence", "entropy"):
                if one is not None:
                    one.pop(name)
        return found

    def __str__(self) -> str:
        used = f", measure {self.settings['measure']}" if "measure" in self.settings else ""
        distance, imprecision, total = (self.summary[part]["all"] for part in PARTS)
        return (
            f"E {total} = distance {distance} + {self.tradeoff:g} x imprecision {imprecision} "
            f"({self.kind}{used}; n = {self.n})"
        )


@dataclasses.dataclass(frozen=True, eq=False)
class DetectionScore(Result):
    """How well one measure of uncertainty finds events.

    Attributes
    ----------
    by : str
        The measure.
    auroc : Estimate
        Probability that an event is more uncertain than a non-event; 0.5 by chance.
    aupr : Estimate
        Average precision; by chance, the share of events.
    fpr : Estimate
        Share of non-events that are flagged at the threshold where a share `tpr` of the events is found.
    auroc_influence, aupr_influence : ndarray (n,)
        Contribution of every instance to the errors of these.
    fpr_draws : ndarray
        `fpr` of bootstrapped data sets.
    clusters : ndarray (n,) or None
        Which rows belong together; errors then allow for these clusters.
    """

    unwritten = ("auroc_influence", "aupr_influence", "fpr_draws", "clusters")

    by: str
    auroc: Estimate
    aupr: Estimate
    fpr: Estimate
    auroc_influence: HostArray
    aupr_influence: HostArray
    fpr_draws: HostArray
    clusters: HostArray | None = None

    def minus(self, other: DetectionScore) -> dict[str, Estimate]:
        """Return the paired differences from another measure, or another model, on the same instances.

        Parameters
        ----------
        other : DetectionScore
            On the same instances, in the same order, with the same seed.

        Returns
        -------
        dict of str to Estimate
            ``"auroc"``, ``"aupr"`` and ``"fpr"``, each own minus other.
        """
        if len(self.auroc_influence) != len(other.auroc_influence):
            raise InputError(
                "`other`",
                "must be of the same instances",
                f"got {len(other.auroc_influence)} and {len(self.auroc_influence)}",
                "Compare measures of the same rows.",
            )
        found = {}
        for name in ("auroc", "aupr"):
            influence = getattr(self, f"{name}_influence") - getattr(other, f"{name}_influence")
            found[name] = self._difference(name, other, mean_error(influence, self.clusters))
        same = len(self.fpr_draws) == len(other.fpr_draws) > 1 and (
            self.fpr.settings["seed"] == other.fpr.settings["seed"]
        )
        drawn: dict[str, Any] = {
            "stderr": None,
            "interval_refusal": "both need the same seed, so that bootstrapped rows are paired",
        }
        if same:
            drawn = {"stderr": float(np.std(self.fpr_draws - other.fpr_draws, ddof=1))}
        return {**found, "fpr": self._difference("fpr", other, drawn)}

    def _difference(self, name: str, other: DetectionScore, error: dict[str, Any]) -> Estimate:
        own, its = getattr(self, name), getattr(other, name)
        refusal = own.interval_refusal or its.interval_refusal or error.get("interval_refusal")
        settings = {"by": self.by, "minus": other.by}
        told = {**error, "interval_refusal": refusal}
        return Estimate(name, own.value - its.value, n=own.n, settings=settings, **told)

    def __str__(self) -> str:
        return f"{self.by}: {self.auroc}; {self.aupr}; {self.fpr}"


@dataclasses.dataclass(frozen=True, eq=False)
class Detection(Result):
    """How well measures of uncertainty find wrong answers or outliers.

    Attributes
    ----------
    events : {"wrong answers", "outliers"}
        What is looked for.
    scores : mapping of str to DetectionScore
        By measure.
    n, n_events : int
        Number of instances, and of events among them.
    tpr : float
        Share of the events that are found at the threshold of `fpr`.
    notes : tuple of str
        What was converted on the way.
    """

    events: str
    scores: Mapping[str, DetectionScore]
    n: int
    n_events: int
    tpr: float
    notes: tuple[str, ...] = ()

    def difference(self, first: str, second: str) -> dict[str, Estimate]:
        """Return AUROC, AUPR and FPR of one measure minus those of another, in pairs.

        Parameters
        ----------
        first, second : str
            Measures.

        Returns
        -------
        dict of str to Estimate
            The differences with their errors.
        """
        for name in (first, second):
            one_of("`first` and `second`", name, self.scores)
        return self.scores[first].minus(self.scores[second])

    def __str__(self) -> str:
        lines = [f"{self.events}: {self.n_events} of {self.n}"]
        return "\n".join([*lines, *(f"  {one}" for one in self.scores.values())])


@dataclasses.dataclass(frozen=True)
class DecisionCosts(Result):
    """What decisions based on predictions cost.

    Attributes
    ----------
    actions : tuple of str
        The actions.
    chosen : mapping of str to int
        How often each was taken.
    best_fixed : str
        The cheapest action if the same one were taken for all instances.
    cost : Estimate
        Mean cost of the actions taken.
    stated : Estimate
        What the predictions expected them to cost.
    gap : Estimate
        Stated minus actual cost: negative if decisions cost more than the predictions say.
    gap_by_action : mapping of str to Estimate
        The same for the instances for which each action was taken: decision calibration.
    net_benefit : Estimate
        What is saved compared with `best_fixed` for all instances.
    regret : Estimate
        What knowing the label would save.
    n : int
        Number of instances.
    notes : tuple of str
        What was converted on the way.
    """

    actions: tuple[str, ...]
    chosen: Mapping[str, int]
    best_fixed: str
    cost: Estimate
    stated: Estimate
    gap: Estimate
    gap_by_action: Mapping[str, Estimate]
    net_benefit: Estimate
    regret: Estimate
    n: int
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        more = "more" if self.gap.value < 0 else "less"
        return (
            f"decisions cost {self.cost.value:.4g} per instance (n = {self.n}), {abs(self.gap.value):.4g} "
            f"{more} than the predictions say; they save {self.net_benefit.value:.4g} against "
            f"action '{self.best_fixed}' every time, and knowing the label would save {self.regret.value:.4g}"
        )
