"""Area under the generalised risk-coverage curve: how much undetected error a falling confidence leaves.

    AUGRC = mean of l_i S_i,   S_i = share of rows with less confidence than row i, ties half, itself too

l_i is 1 where the answer is wrong. The generalised risk at a coverage is the share of all rows that are
answered and wrong, so that its area is the chance that a wrong row is answered, over coverages.   Traub et
al. 2024.
"""

from __future__ import annotations

import dataclasses
from functools import partial
from typing import Any, ClassVar

import numpy as np

from credibly._arrays.namespace import Array, HostArray, device, like, namespace, to_host
from credibly.predictions import Dataset, Rows, as_point
from credibly.predictions.rows import weights_of_rows
from credibly.statistics.linear import LinearStatistic
from credibly.statistics.proper import top_label
from credibly.statistics.protocol import CLASS_LABELS, Plan, Story, Traits
from credibly.statistics.terms import Outcomes

_ROUNDING = 1e-12  # means of members in another order differ in their last digits and are still equal


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
