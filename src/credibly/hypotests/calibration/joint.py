"""Are joint predictions right? Under the hypothesis the label can be exchanged with any of its draws.

    score_i(c) = score of row i were member c of {label, draw 1, ..., draw s} the label, the others the draws

The observed choice is the label in every row, and choices are uniform and independent under the hypothesis,
so the p-value is exact for any number of draws.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from credibly._arrays.errors import one_of
from credibly._arrays.philox import takes_rng
from credibly.hypotests.calibration.calibration_test import calibration_test
from credibly.predictions import Point
from credibly.results.tests import HypotestResult
from credibly.statistics.joint import STORIES, JointScore, OfChoices, as_joint, score_table

EXCHANGE = "label and draws of every instance were drawn from the same joint distribution"


@takes_rng
def joint_test(
    predictions: Any,
    labels: Any,
    *,
    statistics: JointScore | Sequence[JointScore] = ("energy_score", "variogram_score"),
    order: float = 0.5,
    n_resamples: int = 999,
    clusters: Any = None,
    rng: Any = None,
) -> HypotestResult:
    """Test joint predictions of several numbers by exchanging labels with draws.

    Parameters
    ----------
    predictions : array (n, s, d)
        Draws of d numbers for every instance.
    labels : array (n, d)
        Observed numbers.
    statistics : str or sequence of str
        "energy_score", "variogram_score" or both; both give one omnibus p-value.
    order : float
        Power of the distances between components in the variogram score.
    n_resamples : int
        Number of exchanges.
    clusters : array (n,), optional
        ... The test then allows for these clusters.
    rng : None, int or Generator
        ...

    Returns
    -------
    HypotestResult
        The observed score among those of exchanged labels.

    Notes
    -----
    Predictions of each number on its own may be right and their dependence wrong, which the variogram score
    sees. Draws that depend on each other more than labels do are found with few rows; labels that depend on
    each other more than draws do need many. Exact for any number of draws. Cost: n s d max(s, d) for the
    table, then n per exchange.

    References
    ----------
    Gneiting and Raftery, *Strictly proper scoring rules, prediction, and estimation*, JASA 2007; Scheuerer
    and Hamill, *Variogram-based proper scoring rules*, Monthly Weather Review 2015.

    Examples
    --------
    >>> import credibly as cr
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> level = rng.normal(size=(200, 1))
    >>> labels = level + 0.1 * rng.normal(size=(200, 2))  # two numbers that go together
    >>> draws = rng.normal(size=(200, 20, 2))  # draws say that they are independent
    >>> cr.hypotests.joint_test(draws, labels, rng=0).rejects(0.05)
    True
    """
    several = hasattr(statistics, "__iter__") and not isinstance(statistics, str)
    names: list[Any] = list(statistics) if several else [statistics]
    for name in names:
        one_of("`statistics`", name, tuple(STORIES))
    draws, seen = as_joint(predictions, labels)
    n, choices = draws.shape[0], draws.shape[1] + 1
    uniform = Point(np.full((n, choices), 1.0 / choices))
    result = calibration_test(
        uniform,
        np.zeros(n, dtype=np.int64),
        statistics=[OfChoices(name, score_table(name, draws, seen, order)) for name in names],
        n_resamples=n_resamples,
        clusters=clusters,
        rng=rng,
    )
    parts = {name: dataclasses.replace(part, hypothesis=EXCHANGE) for name, part in result.components.items()}
    return dataclasses.replace(result, hypothesis=EXCHANGE, components=parts)
