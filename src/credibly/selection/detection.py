"""Detection: does uncertainty point at mistakes, or at inputs from elsewhere?

With events y (a wrong answer, an outlier), uncertainties u, the share pi of events, the shares
S1(t) = P(u >= t | y = 1), S0(t) = P(u >= t | y = 0) and prec(t) = pi S1(t) / (pi S1(t) + (1 - pi) S0(t)),

    AUROC = P(u of an event > u of another) + P(equal) / 2
    AUPR  = E[prec(u) | y = 1]                               average precision
    FPR   = S0(t) at the largest t with S1(t) >= 95 %

Errors of the first two are those of their influence functions, which for AUROC is DeLong's variance:

    AUROC   y (S(u of others < own) - AUROC) / pi + (1 - y) (S(u of events > own) - AUROC) / (1 - pi)
    AUPR    (y (prec(u) + G(u) - AUPR) - H(u)) / pi

with G(v) = E[y / b(u) 1{u <= v}], H(v) = E[y prec(u) / b(u) 1{u <= v}] and b(t) = P(u >= t). The error of FPR
is bootstrapped, all measures on the same rows.   DeLong et al. 1988; Hendrycks and Gimpel 2017.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from credibly._arrays.errors import InputError, is_number, one_of, require, require_positive
from credibly._arrays.namespace import HostArray, to_host
from credibly._arrays.philox import Seed, Stream, Uniforms, as_seed, takes_rng
from credibly._arrays.standard_errors import mean_error
from credibly.credal import lower_entropy, nonspecificity, size, uncertainty, upper_entropy
from credibly.credal.envelope import MAX_CLASSES
from credibly.predictions import Belief, ClassPredictions, Confidence, Dataset, Point, as_point, as_rows
from credibly.predictions.given import require_classes, require_one_label
from credibly.results.base import Result
from credibly.results.estimates import Estimate
from credibly.statistics.proper import top_label
from credibly.statistics.risk_coverage import one_number_each

FEWEST = 30
"""Events, and others, below which no interval is given: with 27 events 91 to 92 % of them held the truth."""
FEWEST_MISSED = 5
"""Events that are not found where false alarms are counted: with 1.3 of them 88 % of intervals held."""

Measure = Callable[[ClassPredictions], Any]

_ROUNDING = 1e-12  # means of members in another order differ in their last digits and are still equal
_CERTIFIED = 1e-10  # the upper entropies of all sets with the uniform distribution in them are that close


def _confidence(predictions: ClassPredictions) -> HostArray:
    return np.asarray(1.0 - to_host(top_label(as_point(predictions)[0])[0]).astype(np.float64))


def _margin(predictions: ClassPredictions) -> HostArray:
    two = np.sort(to_host(as_point(predictions)[0].probs).astype(np.float64), axis=1)[:, -2:]
    return 1.0 - (two[:, 1] - two[:, 0])


OF_ALL: dict[str, Measure] = {
    "confidence": _confidence,
    "margin": _margin,
    "total": lambda sets: uncertainty(sets).total,
}
"""Measures that every prediction has: 1 - largest probability, 1 - its lead, entropy of the mean."""
OF_SETS: dict[str, Measure] = {
    "aleatoric": lambda sets: uncertainty(sets).aleatoric,
    "epistemic": lambda sets: uncertainty(sets).epistemic,
    "upper_entropy": lambda sets: upper_entropy(sets, rng=0, tolerance=_CERTIFIED),
    "lower_entropy": lambda sets: lower_entropy(sets, rng=0),
    "size": lambda sets: size(sets, rng=0),
    "nonspecificity": nonspecificity,
}
"""Measures of sets alone: of single distributions they are 0, or one of the others."""


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
        differences = {}
        for name in ("auroc", "aupr"):
            influence = getattr(self, f"{name}_influence") - getattr(other, f"{name}_influence")
            differences[name] = self._difference(name, other, mean_error(influence, self.clusters))
        seed, other_seed = (score.fpr.settings["seed"] for score in (self, other))
        drawn: dict[str, Any]
        if seed == other_seed and len(self.fpr_draws) == len(other.fpr_draws) > 1:
            drawn = {"stderr": float(np.std(self.fpr_draws - other.fpr_draws, ddof=1))}
        else:
            refusal = "both need the same seed, so that bootstrapped rows are paired"
            drawn = {"stderr": None, "interval_refusal": refusal}
        return {**differences, "fpr": self._difference("fpr", other, drawn)}

    def _difference(self, name: str, other: DetectionScore, error: dict[str, Any]) -> Estimate:
        first, second = getattr(self, name), getattr(other, name)
        refusal = first.interval_refusal or second.interval_refusal or error.get("interval_refusal")
        settings = {"by": self.by, "minus": other.by}
        errors = {**error, "interval_refusal": refusal}
        return Estimate(name, first.value - second.value, n=first.n, settings=settings, **errors)

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
        return "\n".join([*lines, *(f"  {score}" for score in self.scores.values())])


@takes_rng
def detection(
    predictions: Any,
    labels: Any = None,
    *,
    outliers: Any = None,
    by: str | Sequence[str] | Mapping[str, Any] | None = None,
    tpr: float = 0.95,
    n_resamples: int = 399,
    rng: Any = None,
) -> Detection:
    """Measure how well uncertainty finds wrong answers, or inputs from another distribution.

    Parameters
    ----------
    predictions : Predictions, array or Rows
        Class predictions; the answer is the most probable class of the mean prediction.
    labels : array (n,)
        ... The events are wrong answers.
    outliers : array (n,) of bool, optional
        Which instances are outliers (from another distribution): these are the events, and labels are
        ignored.
    by : str, sequence of str or mapping of str to array (n,), optional
        Measures of uncertainty by name, or your own, larger for less sure predictions. Default: all that this
        kind of prediction has, among ``confidence`` (1 - largest probability), ``margin`` (1 - its lead),
        ``total``, ``aleatoric``, ``epistemic``, ``upper_entropy``, ``lower_entropy``, ``size`` and
        ``nonspecificity``.
    tpr : float
        Share of the events that must be found when the share of false alarms (FPR) is computed.
    n_resamples : int
        Number of bootstrap data sets for the standard error of the FPR.
    rng : None, int or Generator
        ... Results with the same seed and n can be compared in pairs.

    Returns
    -------
    Detection
        AUROC, AUPR and FPR of every measure with their errors; ``.difference(a, b)`` compares two in pairs.

    Notes
    -----
    AUPR depends on the share of events; AUROC and FPR do not. Values that differ only by rounding (1e-12, or
    1e-10, the certified error of ``upper_entropy``) are ties; your own values are taken as they are.
    Intervals are given from 30 events and 30 others on; the interval of FPR needs 5 events beyond the
    threshold, that is, 100 events for a `tpr` of 95 %. Sorting takes O(n log n) per measure.

    References
    ----------
    DeLong, DeLong and Clarke-Pearson, *Comparing the areas under two or more correlated receiver operating
    characteristic curves*, Biometrics, 1988; Hendrycks and Gimpel, *A baseline for detecting misclassified
    and out-of-distribution examples in neural networks*, ICLR 2017.

    Examples
    --------
    >>> import credibly as cr
    >>> probs = [[0.9, 0.1], [0.8, 0.2], [0.7, 0.3], [0.6, 0.4]]
    >>> found = cr.selection.detection(probs, [0, 0, 1, 0], by="confidence", rng=0)
    >>> round(float(found.scores["confidence"].auroc), 4)  # less sure than 2 of the 3 right ones
    0.6667
    >>> float(found.scores["confidence"].aupr)  # two must be looked at to find it
    0.5
    """
    require_positive("`n_resamples`", n_resamples, "Try 399.")
    good = is_number(tpr) and 0 < tpr <= 1
    require(good, "must be above 0 and at most 1", "Write 0.95 for 95 %.", tpr=tpr)
    rows = as_rows(predictions, labels)
    sample = require_classes(rows.example.predictions, "`detection`", "Pass class predictions.")
    if outliers is None:
        require_one_label(rows.example.batch, "`detection`")
    if outliers is None:
        subject, what = "labels", "wrong answers"
        events = np.concatenate(list(rows.map(_mistakes)))
    else:
        subject = what = "outliers"
        flags = one_number_each(outliers, rows.n, "outliers")
        rule = "must be true or false"
        require(np.isin(flags, (0.0, 1.0)).all(), rule, "Pass booleans.", outliers=outliers)
        events = flags == 1.0
    if events.all() or not events.any():
        raise InputError(
            f"`{subject}`",
            f"must include both {what} and others",
            f"all {rows.n} are alike",
            "Use more instances.",
        )
    seed, codes = as_seed(rng), rows.cluster_codes()
    values = _measured(rows, sample, by)
    draws = _false_alarms(values, events, tpr, seed, n_resamples)
    names = {"seed": list(seed), "tpr": tpr, "n_resamples": n_resamples}
    scores = {name: _score(name, u, events, tpr, draws[name], names, codes) for name, u in values.items()}
    return Detection(
        events=what,
        scores=scores,
        n=rows.n,
        n_events=int(events.sum()),
        tpr=tpr,
        notes=as_point(sample)[1],
    )


def _measured(rows: Any, sample: ClassPredictions, by: Any) -> dict[str, HostArray]:
    """Return the uncertainties of all instances by name."""
    if isinstance(by, Mapping):
        require(by, "must name at least one", "Name one.", by=by)
        return {str(name): one_number_each(numbers, rows.n, str(name)) for name, numbers in by.items()}
    known = OF_ALL if isinstance(sample, Point) else {**OF_ALL, **OF_SETS}
    if isinstance(sample, Confidence):  # a margin or an entropy would count low confidence as sure
        known = {"confidence": _confidence}
    if isinstance(sample, Belief):  # its decomposition has no such part, and its corners are soon too many
        left_out = ("aleatoric",) if sample.n_classes <= MAX_CLASSES else ("aleatoric", "lower_entropy")
        known = {name: measure for name, measure in known.items() if name not in left_out}
    chosen = list(known) if by is None else list(by) if isinstance(by, (list, tuple)) else [by]
    for name in chosen:
        one_of("`by`", name, known)

    def of_chunk(chunk: Dataset) -> dict[str, HostArray]:
        predictions: Any = chunk.predictions
        return {name: to_host(known[name](predictions)).astype(np.float64) for name in chosen}

    parts = list(rows.map(of_chunk))
    values = {name: np.concatenate([part[name] for part in parts]) for name in chosen}
    rounding = {"upper_entropy": _CERTIFIED}
    return {name: _with_ties(u, rounding.get(name, _ROUNDING)) for name, u in values.items()}


def _with_ties(u: HostArray, rounding: float) -> HostArray:
    """Return uncertainties of which neighbours that differ by no more than rounding are equal."""
    order = np.argsort(u)
    ordered, tied = u[order], np.empty_like(u)
    begins = np.append(True, np.diff(ordered) > rounding)
    tied[order] = ordered[begins][np.cumsum(begins) - 1]
    return tied


def _mistakes(chunk: Dataset) -> HostArray:
    """Return which answers are wrong."""
    answers = to_host(top_label(as_point(chunk.predictions)[0])[1])
    return np.asarray(to_host(chunk.batch.values)[0] != answers)


def _score(
    name: str,
    u: HostArray,
    events: HostArray,
    tpr: float,
    draws: HostArray,
    settings: dict[str, Any],
    codes: HostArray | None,
) -> DetectionScore:
    auroc, auroc_influence = _auroc(u, events)
    aupr, aupr_influence = _aupr(u, events)
    both = int(events.sum()), int((~events).sum())
    few = None
    if min(both) < FEWEST:
        few = f"intervals need {FEWEST} events and {FEWEST} others; got {both[0]} and {both[1]}"
    refused = {} if few is None else {"interval_refusal": few}
    auroc_found, aupr_found = (
        Estimate(kind, value, n=len(u), settings={"by": name}, **{**mean_error(influence, codes), **refused})
        for kind, value, influence in (("auroc", auroc, auroc_influence), ("aupr", aupr, aupr_influence))
    )
    alarms = _false_alarm(*_ordered(u), events, np.ones(len(u)), tpr)
    error = float(np.std(draws, ddof=1)) if len(draws) > 1 else None
    missed = (1 - tpr) * both[0]
    if few is None and missed < FEWEST_MISSED:
        enough = f"{round(FEWEST_MISSED / (1 - tpr))} events" if tpr < 1 else "infinitely many"
        few = f"{missed:.3g} events lie beyond the threshold; intervals need 5, that is {enough}"
    if codes is not None:
        few = "it bootstraps single rows, and these come in clusters"
    fpr = Estimate("fpr", alarms, error, len(u), {"by": name, **settings}, (), few)
    return DetectionScore(name, auroc_found, aupr_found, fpr, auroc_influence, aupr_influence, draws, codes)


def _ordered(u: HostArray) -> tuple[HostArray, HostArray]:
    """Return the order of falling uncertainty, and the last place of every group of equal values in it."""
    order = np.argsort(-u, kind="stable")
    return order, np.append(np.flatnonzero(np.diff(u[order]) != 0), len(u) - 1)


def _auroc(u: HostArray, events: HostArray) -> tuple[float, HostArray]:
    """Return the area, and the influence of every instance."""
    share = events.mean()
    hits, rest = np.sort(u[events]), np.sort(u[~events])
    below = (_up_to(rest, u, "left") + _up_to(rest, u, "right")) / 2  # others less sure count against it
    above = 1.0 - (_up_to(hits, u, "left") + _up_to(hits, u, "right")) / 2
    area = float(below[events].mean())
    return area, np.where(events, (below - area) / share, (above - area) / (1 - share))


def _up_to(ordered: HostArray, values: HostArray, side: Any) -> HostArray:
    return np.searchsorted(ordered, values, side=side) / len(ordered)


def _aupr(u: HostArray, events: HostArray) -> tuple[float, HostArray]:
    """Return average precision, and the influence of every instance."""
    n, share = len(u), events.mean()
    order, last = _ordered(u)
    hits, alarms = np.cumsum(events[order])[last], last + 1.0
    precision = hits / alarms
    new = np.diff(hits, prepend=0.0)
    area = float(np.sum(new * precision) / hits[-1])
    # sums over what is at most as uncertain, itself included
    g = np.cumsum((new / alarms)[::-1])[::-1]
    h = np.cumsum((new * precision / alarms)[::-1])[::-1]
    group = np.repeat(np.arange(len(last)), np.diff(last, prepend=-1))
    y = events[order].astype(np.float64)
    influence = np.empty(n)
    influence[order] = (y * (precision[group] + g[group] - area) - h[group]) / share
    return area, influence


def _false_alarm(
    order: HostArray, last: HostArray, events: HostArray, weight: HostArray, tpr: float
) -> float:
    """Return the share of others that are as uncertain as the first `tpr` of the events."""
    counted = weight[order]
    hits = np.cumsum(np.where(events[order], counted, 0.0))[last]
    alarms = np.cumsum(np.where(events[order], 0.0, counted))[last]
    at = int(np.argmax(hits / hits[-1] >= tpr))
    return float(alarms[at] / alarms[-1])


def _false_alarms(
    values: Mapping[str, HostArray], events: HostArray, tpr: float, seed: Seed, n_resamples: int
) -> dict[str, HostArray]:
    """Return the share of false alarms in bootstrapped data sets, the same ones for every measure."""
    n, uniforms = len(events), Uniforms(seed, Stream.ROWS)
    orders = {name: _ordered(u) for name, u in values.items()}
    drawn: dict[str, list[float]] = {name: [] for name in values}
    for d in range(n_resamples):
        rows = (uniforms.draw(slice(d, d + 1), slice(0, n))[0] * n).astype(np.int64)
        weight = np.bincount(rows, minlength=n).astype(np.float64)
        if not 0 < weight[events].sum() < n:
            continue  # nothing to tell apart in it
        for name, (order, last) in orders.items():
            drawn[name].append(_false_alarm(order, last, events, weight, tpr))
    return {name: np.array(rates) for name, rates in drawn.items()}
