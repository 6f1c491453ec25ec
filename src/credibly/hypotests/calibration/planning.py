"""How many labels are needed, from predictions alone.

If predictions are about right, an answer of confidence c is right with probability c, and the mean confidence
gap of n labels has the variance s^2 / n with s^2 = mean c (1 - c). With z_q the quantile of the normal,

    interval of width w         n = (2 z_{1 - alpha/2} s / w)^2
    a gap of g is noticed       n = ((z_{1 - alpha/2} s + z_power s_g) / g)^2
    certificate within m        n = the smallest with P(bound <= m) >= power, for a calibrated model

with s_g^2 = mean (c - g) (1 - c + g). A gap may have either sign, and the larger n counts. The last uses the
exact binomial bounds of the certificate and a normal number of right answers.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from statistics import NormalDist
from typing import Any

from credibly._arrays.binomial import chance_of_as_many
from credibly._arrays.namespace import as_float64, namespace
from credibly.predictions import Dataset, as_point, as_rows, require_independent
from credibly.predictions.given import require_classes
from credibly.predictions.passes import detached
from credibly.results.base import require_level
from credibly.results.power import LabelPlan
from credibly.statistics.proper import top_label

USUAL = 0.02
"""The gap that does not matter, where nothing else is asked for."""
_MOST = 10**12
_DESIGN_EFFECT = (
    "Plan without clusters, and multiply by the design effect: 1 + (rows per cluster - 1) times the "
    "correlation inside clusters. `evaluate` estimates the correlation from labelled rows."
)


def plan_labels(
    predictions: Any,
    *,
    width: float | None = None,
    gap: float | None = None,
    margin: float | None = None,
    level: float = 0.95,
    power: float = 0.8,
) -> LabelPlan:
    """Plan how many instances to label, before any label is collected.

    Parameters
    ----------
    predictions : Predictions, array, Dataset, path or Rows
        Class predictions for the instances to be labelled, or for similar ones. Labels are ignored.
    width : float, optional
        Maximum width, from end to end, of the interval for the mean confidence gap.
    gap : float, optional
        Mean confidence gap that the calibration test should detect with probability `power`.
    margin : float, optional
        Margin within which `calibration_test(..., margin=)` should place a calibrated model with probability
        `power`. Default, if no aim is given: a gap and a margin of 0.02.
    level : float
        Confidence of the interval and the certificate; the level of the test is 1 - `level`.
    power : float
        Probability of reaching the aim.

    Returns
    -------
    LabelPlan
        Number of instances to label for each aim and for all aims together, and the plan in words.

    Notes
    -----
    The plan assumes that the predictions are about right: if a model is much too sure, intervals come out a
    little wider. All aims are about the mean confidence gap; binned errors need more labels.

    References
    ----------
    Chow, Shao, Wang and Lokhnygina, *Sample size calculations in clinical research*, 2018; bounds as those of
    `certificate`.

    Examples
    --------
    >>> import credibly as cr
    >>> plan = cr.plan_labels([[0.8, 0.2], [0.1, 0.9]], width=0.04, gap=0.05)
    >>> dict(plan.aims)  # s^2 = (0.8 * 0.2 + 0.9 * 0.1) / 2 = 1/8
    {'width': 1201, 'gap': 422}
    >>> plan.instances
    1201
    """
    require_level(level)
    require_level(power, "`power`", "Try 0.8.")
    if width is None and gap is None and margin is None:
        gap = margin = USUAL
    for name, size in (("width", width), ("gap", gap), ("margin", margin)):
        if size is not None:
            require_level(size, f"`{name}`", "Write 0.02 for two points.")
    rows = detached(as_rows(predictions))
    require_independent(rows, "`plan_labels`", _DESIGN_EFFECT)
    remedy = "Plan a test of real values with `predictive_check(...).power()`."
    predictions = require_classes(rows.example.predictions, "`plan_labels`", remedy)
    columns = zip(*rows.map(partial(_sums, gap or 0.0)), strict=True)
    confidence, variance, below, above = (sum(column) / rows.n for column in columns)
    normal = NormalDist()
    two_sided, likely = normal.inv_cdf((1 + level) / 2), normal.inv_cdf(power)
    spread, aims = math.sqrt(variance), {}
    if width is not None:
        aims["width"] = _whole((2 * two_sided / width) ** 2 * variance)
    if gap is not None:
        noticed = max(two_sided * spread + likely * math.sqrt(other) for other in (below, above))
        aims["gap"] = _whole((noticed / gap) ** 2)
    if margin is not None:
        certified = partial(_chance_of_certificate, confidence, spread, margin, 1 - level)
        aims["margin"] = _smallest(lambda n: certified(n) >= power)
    return LabelPlan(
        aims=aims,
        width=width,
        gap=gap,
        margin=margin,
        level=level,
        power=power,
        confidence=confidence,
        n=rows.n,
        notes=as_point(predictions)[1],
    )


def _sums(shift: float, chunk: Dataset) -> tuple[float, ...]:
    """Return sums of confidence, its variance, and variances with a gap."""
    c = as_float64(top_label(as_point(chunk.predictions)[0])[0])
    xp = namespace(c)
    low, high = xp.clip(c - shift, 0.0, 1.0), xp.clip(c + shift, 0.0, 1.0)
    return tuple(float(xp.sum(values)) for values in (c, c * (1 - c), low * (1 - low), high * (1 - high)))


def _whole(instances: float) -> int:
    return max(1, math.ceil(instances - 1e-9))


def _chance_of_certificate(confidence: float, spread: float, margin: float, alpha: float, n: int) -> float:
    """Return how probable it is that right answers are so many, and so few, that the bound is within."""
    fewest = _smallest(lambda hits: chance_of_as_many(hits, n, confidence - margin) <= alpha, 0, n + 1)
    misses = _smallest(lambda some: chance_of_as_many(some, n, 1 - confidence - margin) <= alpha, 0, n + 1)
    normal = NormalDist(n * confidence, max(spread * math.sqrt(n), 1e-9))
    return max(0.0, normal.cdf(n - misses + 0.5) - normal.cdf(fewest - 0.5))


def _smallest(holds: Callable[[int], bool], low: int = 1, high: int = _MOST) -> int:
    """Return the smallest number for which something holds that holds for all larger ones."""
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle + 1, high)
    return low
