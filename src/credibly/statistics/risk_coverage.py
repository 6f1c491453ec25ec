"""Risk against coverage: how many answers are wrong if only the surest instances are answered.

    risk(j) = (1 / j) sum_{i <= j} l_(i)        AURC = (1 / n) sum_j risk(j) = mean of l_(i) (1/i + ... + 1/n)

with losses l in order of falling confidence. Equally sure instances come in random order, and all numbers are
exact means over these orders: every tied instance gets the mean loss of its group.   El-Yaniv and Wiener
2010; Geifman, Uziel and El-Yaniv 2019.

    AUGRC = mean of l_i S_i,   S_i = share of rows with less confidence than row i, ties half, itself too

The generalised risk at a coverage is the share of all rows that are answered and wrong, so its area is the
chance that a wrong row is answered, over coverages.   Traub et al. 2024.
"""

from __future__ import annotations

import dataclasses
from functools import partial
from typing import Any, ClassVar

import numpy as np

from credibly._arrays.checks import require_integer
from credibly._arrays.doors import checked
from credibly._arrays.errors import InputError
from credibly._arrays.namespace import (
    Array,
    HostArray,
    device,
    is_array,
    keep_freed_memory,
    like,
    namespace,
    on_accelerator,
    to_host,
)
from credibly._arrays.standard_errors import mean_error
from credibly.predictions import Dataset, Rows, as_point, as_rows
from credibly.predictions.rows import weights_of_rows
from credibly.results.curves import RiskCoverageCurve
from credibly.results.estimates import Estimate
from credibly.statistics.linear import LinearStatistic
from credibly.statistics.over_rows import require_defined
from credibly.statistics.proper import accuracy, top_label
from credibly.statistics.protocol import CLASS_LABELS, Plan, Story, Traits
from credibly.statistics.terms import Outcomes

_ROUNDING = 1e-12  # means of members in another order differ in their last digits and are still equal


@checked
def risk_coverage_curve(
    predictions: Any,
    labels: Any = None,
    *,
    confidence: Any = None,
    by: str | None = None,
    n_points: int = 100,
    clusters: Any = None,
    blocks: int | None = None,
) -> RiskCoverageCurve:
    """Compute the share of wrong answers among the surest instances, for every share of them.

    Parameters
    ----------
    predictions : Predictions, array or Rows
        Class predictions; the answer is the most probable class of the mean prediction.
    labels : array (n,) or LabelCounts
        ... For counts, the loss is the share of raters that chose another class.
    confidence : array (n,), optional
        What to order instances by, largest first, such as ``-cr.uncertainty(ensemble).epistemic``.
        Default: the probability of the predicted class.
    by : str, optional
        Name of `confidence`.
    n_points : int
        Number of points of the curve to keep, evenly spaced; the areas use all n.
    clusters : array (n,) or "copies", optional
        ... Standard errors then allow for these clusters.
    blocks : int, optional
        ...

    Returns
    -------
    RiskCoverageCurve
        The curve, the risk that the predictions state, the best order, and the areas with standard errors.

    Notes
    -----
    Standard errors come from the influence function, which accounts for the estimated order:
    ``l_i h(u_i) - int_{u_i}^1 R(v) / v dv + R(u_i) - AURC`` with coverage u, risk R and h(u) = -log u. An
    order says nothing about calibration, and the area falls with the error rate: compare `excess` between
    models of different accuracy. Sorting takes O(n log n); for chunks, two numbers per instance are kept in
    memory.

    References
    ----------
    El-Yaniv and Wiener, *On the foundations of noise-free selective classification*, 2010; Geifman, Uziel and
    El-Yaniv, *Bias-reduced uncertainty estimation for deep neural classifiers*, ICLR 2019.

    Examples
    --------
    >>> import credibly as cr
    >>> curve = cr.risk_coverage_curve([[0.9, 0.1], [0.8, 0.2], [0.6, 0.4]], [0, 1, 0])
    >>> curve.coverage.round(3), curve.risk.round(3)
    (array([0.333, 0.667, 1.   ]), array([0.   , 0.5  , 0.333]))
    >>> round(float(curve.area), 4)  # (0 + 1/2 + 1/3) / 3
    0.2778
    """
    require_integer(n_points, "n_points", 1)
    rows = as_rows(predictions, labels, clusters=clusters, blocks=blocks)
    require_defined(accuracy, rows)
    codes = rows.cluster_codes()
    keep_freed_memory()
    parts = list(rows.map(_answers))
    answered, loss = (np.concatenate([part[at] for part in parts]) for at in (0, 1))
    notes = tuple(dict.fromkeys(note for part in parts for note in part[2]))
    sureness = answered if confidence is None else one_number_each(confidence, len(answered), "confidence")
    n = len(loss)
    weight = np.cumsum((1.0 / np.arange(1.0, n + 1.0))[::-1])[::-1]  # 1/i + ... + 1/n
    order = _descending(sureness, rows.example.batch.values)
    ordered = sureness[order]
    ties = _Ties(ordered)
    risk, area, influence = _walk(loss[order], ties, weight)
    wrong = loss != 0.0
    ascending = np.argsort(wrong if (loss[wrong] == 1.0).all() else loss, kind="stable")
    increasing = loss[ascending]
    best, best_area, best_influence = _walk(increasing, _Ties(increasing), weight)
    in_order, excess = np.empty_like(loss), np.empty_like(loss)
    in_order[order] = influence
    excess[ascending] = best_influence
    np.subtract(in_order, excess, out=excess)
    kept = np.linspace(0, n - 1, min(n, n_points)).round().astype(np.int64)
    kept[-1] = n - 1  # a single point would be the first, but the curve must end with all instances
    stated = _risk(1.0 - answered[order], ties)
    return RiskCoverageCurve(
        by=by or ("confidence" if confidence is None else "the given order"),
        coverage=(kept + 1) / n,
        risk=risk[kept],
        stated=stated[kept],
        best=best[kept],
        threshold=ordered[kept],
        area=Estimate("aurc", area, n=n, notes=notes, **mean_error(in_order, codes)),
        excess=Estimate("excess_aurc", area - best_area, n=n, notes=notes, **mean_error(excess, codes)),
        stated_area=float(stated.mean()),
        n=n,
        notes=notes,
    )


def _descending(values: HostArray, source: Array) -> HostArray:
    """Return the order of falling values, found on the device that holds what was given."""
    if not on_accelerator(source):
        return np.argsort(-values)
    there = like(-values, source)
    order: HostArray = to_host(namespace(there).argsort(there))
    return order


def _answers(chunk: Dataset) -> tuple[HostArray, HostArray, tuple[str, ...]]:
    """Return confidence and loss of every answer, (n,) on the host, where they are sorted; and notes."""
    point, notes = as_point(chunk.predictions)
    bound: Any = accuracy.bind(point)
    answered = to_host(bound.terms.chance).astype(np.float64)
    return answered, 1.0 - to_host(bound.contributions(chunk.batch))[0], notes


def one_number_each(values_given: Any, n: int, name: str) -> HostArray:
    """Return one number per prediction, (n,), as the argument `name` gives them."""
    try:
        values = to_host(values_given) if is_array(values_given) else np.asarray(values_given)
    except ValueError:  # rows of different lengths
        values = np.asarray(values_given, dtype=object)
    if values.shape != (n,) or values.dtype.kind not in "fiub":
        evidence = f"got {values.dtype} of shape {values.shape}"
        raise InputError(
            f"`{name}`", f"must hold one number per prediction ({n})", evidence, "Pass an array (n,)."
        )
    if np.isnan(values).any():
        evidence = f"row {int(np.isnan(values).argmax())} is NaN"
        raise InputError(f"`{name}`", "must be numbers", evidence, "Leave out rows without a number.")
    return values.astype(np.float64)


class _Ties:
    """Groups of equal values in an order; most orders have few.

    Means of members in another order, or of another library, differ in their last digits and are still equal.
    """

    def __init__(self, ordered: HostArray) -> None:
        near = np.zeros(len(ordered) + 1, dtype=np.int8)  # whether a value continues a group
        with np.errstate(invalid="ignore"):  # of infinite neighbours
            gap = np.abs(ordered[1:] - ordered[:-1])
        near[1:-1] = (gap < _ROUNDING * (1.0 + np.abs(ordered[1:]))) | (ordered[1:] == ordered[:-1])
        steps = near[1:] - near[:-1]
        begins, ends = np.flatnonzero(steps > 0), np.flatnonzero(steps < 0) + 1
        self.sizes = ends - begins
        self.first = np.cumsum(self.sizes) - self.sizes
        self.members = np.repeat(begins - self.first, self.sizes) + np.arange(self.sizes.sum())

    def means(self, values: HostArray) -> HostArray:
        """Return values with the mean of its group in every place."""
        if not self.first.size:
            return values
        averaged = values.copy()
        sums = np.add.reduceat(values[self.members], self.first)
        averaged[self.members] = np.repeat(sums / self.sizes, self.sizes)
        return averaged


def _risk(loss: HostArray, ties: _Ties) -> HostArray:
    """Return the mean loss of the first 1, 2, ..., n instances, over all orders of equally sure ones."""
    risk: HostArray = np.cumsum(ties.means(loss)) / np.arange(1.0, len(loss) + 1.0)
    return risk


def _walk(loss: HostArray, ties: _Ties, weight: HostArray) -> tuple[HostArray, float, HostArray]:
    """Return the risk, its mean and the influence of every instance on that, in the order given."""
    risk = _risk(loss, ties)
    area = float(risk.mean())
    pulled = np.cumsum((risk / np.arange(1.0, len(loss) + 1.0))[::-1])[::-1]
    influence = loss * ties.means(weight)
    influence -= ties.means(pulled - risk)
    influence -= area
    return risk, area, influence


@dataclasses.dataclass(frozen=True)
class GeneralisedRisk(LinearStatistic):
    """Area under the generalised risk-coverage curve (AUGRC), in order of falling confidence.

    Notes
    -----
    0 if all answers are right, at most 1/2. Unlike AURC (`risk_coverage_curve`), wrong answers of any
    confidence weigh the same, by the share of rows below them.

    Examples
    --------
    >>> import credibly as cr
    >>> float(cr.statistics.augrc([[0.9, 0.1], [0.8, 0.2], [0.6, 0.4]], [0, 1, 0]))  # (1/3) (1 + 1/2) / 3
    0.16666666666666666
    """

    name: ClassVar[str] = "augrc"
    refusal: ClassVar[str | None] = (
        "the rows are ordered by their own confidence, and the error of that order is not known"
    )
    traits: ClassVar[Traits] = Traits(
        tail="two-sided",
        labels=CLASS_LABELS,
        range=(0.0, 0.5),
        multiplicities=False,  # the order depends on weights, which predictions that are bound alone lack
    )
    reference: ClassVar[str] = "Traub et al. 2024"
    story: ClassVar[Story] = Story(
        title="Area under the generalised risk-coverage curve",
        meaning="Chance that a row is answered and wrong, averaged over all shares of the most confident "
        "rows that one might answer; smaller is better.",
        formula="mean of l S, l = 1[argmax p ≠ y], S = share of rows with less confidence",
        above="confident answers are wrong more often than the model says",
        below="confident answers are wrong less often than the model says",
        notion="confidence",
        citation="Traub et al., Overcoming common flaws in the evaluation of selective classification "
        "systems, NeurIPS 2024.",
        aliases={"generalised_risk": "", "generalized_risk_coverage": ""},
    )
    in_evaluations: ClassVar[bool] = False

    def _plan(self, rows: Rows) -> Plan:
        """Return every confidence in rising order, and the share of rows below it, (2, n)."""
        parts = list(rows.map(_confidence))
        confidence, weight = (np.concatenate([part[at] for part in parts]) for at in (0, 1))
        order = np.argsort(confidence, kind="stable")
        values, weight = confidence[order], weight[order]
        first = np.flatnonzero(np.append(True, np.diff(values) > _ROUNDING))
        sizes = np.add.reduceat(weight, first)
        below = (np.cumsum(sizes) - 0.5 * sizes) / weight.sum()
        return Plan(rows.n, np.stack([values, np.repeat(below, np.diff(np.append(first, values.size)))]))

    def terms(self, predictions: Any, plan: Plan) -> Outcomes:
        """Return the share of rows below, for every wrong label."""
        confidence, predicted = top_label(predictions)
        values, below = plan.edges
        at = np.searchsorted(values, to_host(confidence).astype(np.float64))
        probs = predictions.probs
        share = like(below[np.minimum(at, values.size - 1)], probs, namespace(probs).float64)
        return Outcomes(probs, partial(_table, share, predicted, predictions.n_classes))


def _confidence(chunk: Dataset) -> tuple[HostArray, HostArray]:
    confidence = to_host(top_label(as_point(chunk.predictions)[0])[0]).astype(np.float64)
    return confidence, to_host(weights_of_rows(chunk)).astype(np.float64)


def _table(share: Array, predicted: Array, n_classes: int) -> Array:
    xp = namespace(share)
    classes = xp.arange(n_classes, dtype=predicted.dtype, device=device(predicted))
    return xp.where(predicted[:, None] == classes[None, :], 0.0, share[:, None])


augrc = GeneralisedRisk()
