"""Does a set of distributions hold the truth, and does it hold a calibrated combination?

Two hypotheses, kept apart. *Valid*: the distribution of the label given what a witness sees is in the set.
*Calibrated* (the papers'): some combination of the set is calibrated. Valid implies calibrated, so rejecting
the second takes rejecting the first as well: p = max of both keeps the level for every truth in the set.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from credibly._arrays.errors import InputError
from credibly._arrays.philox import takes_rng
from credibly._arrays.progress import Progress, as_progress
from credibly.hypotests.credal.task import SetTask
from credibly.hypotests.credal.weights_test import tested_weights
from credibly.hypotests.credal.witness import tested_witness
from credibly.learners.points import DRAWS
from credibly.results.credal import CredalDetails, WeightsDetails
from credibly.results.tests import HypotestResult, with_details
from credibly.results.witness import WitnessDetails
from credibly.statistics import Statistic

NO_DRAWS = "a witness draws no replicates, because its tail is computed: `n_resamples` was not needed"


@takes_rng
def credal_test(
    predictions: Any,
    labels: Any = None,
    *,
    features: Any = None,
    statistics: str | Statistic | Sequence[str | Statistic] | None = None,
    n_resamples: int | None = None,
    n_draws: int = DRAWS,
    clusters: Any = None,
    blocks: int | None = None,
    rng: Any = None,
    progress: Progress | bool | None = None,
) -> HypotestResult[CredalDetails]:
    """Test whether a set of distributions contains the truth, and a calibrated combination.

    Runs `witness_test` (does the set contain the truth?) and `weights_test` (is some combination calibrated?)
    with their defaults and rejects if both do.

    Parameters
    ----------
    predictions : Ensemble, Intervals, Belief, Dirichlet, Point or array
        Sets of distributions, as in `weights_test`.
    labels : array (n,) or LabelCounts
        Observed classes, one per instance; with several raters, one is drawn with the seed.
    features : array (n, d), optional
        What learned weights may depend on. Default: mean, upper and lower log-probabilities of every class in
        the set. The witness uses the predictions alone; give features to `witness_test` for the stronger
        claim.
    statistics : str, Statistic or a sequence of them, optional
        What the combination is judged by. Default: `skce`. Several give one omnibus p-value.
    n_resamples : int, optional
        Number of replicates of the weights. Default: 199. A witness draws none.
    n_draws : int
        ...
    clusters : array (n,), optional
        ... Rows of one cluster may then depend on each other in any way, and only the witness is tested:
        learned weights have little power then (docs/theory/clusters.md).
    blocks : int, optional
        ...
    rng : None, int or Generator
        ...
    progress : callable or True, optional
        ...

    Returns
    -------
    HypotestResult of CredalDetails
        The larger p-value; ``sentence()`` says which of the four outcomes it is. Its ``details`` have the
        weights that were found, with ``combine`` for any split; ``details.validity`` is the
        result of the witness (where it points, an exact e-value) and ``details.calibration`` that of the
        weights.

    Notes
    -----
    A learner that cannot represent the truth inside the set rejects sets that contain it; the witness does
    not. At a nominal 5 %, weights alone rejected 0 to 10 % of the sets that contain the truth in eleven
    simulated worlds (40 data sets each), where both together rejected none (studies/pages/set-truths.md). If
    a direction picks the member that is the truth, weights alone rejected up to 100 % and both together at
    most 4 % (docs/validity.md). With one member, or equal members, "in the set" and "calibrated" mean the
    same, and the test is `calibration_test`.

    References
    ----------
    M23: Mortier et al., On the calibration of probabilistic classifier sets, AISTATS 2023. J25: Juergens et
    al., A calibration test for evaluating set-based epistemic uncertainty representations, 2025.

    Examples
    --------
    >>> import numpy as np
    >>> import credibly as cr
    >>> rng = np.random.default_rng(1)
    >>> members = rng.dirichlet(np.ones(3), size=(300, 4))
    >>> labels = (rng.random((300, 1)) > members[:, 2].cumsum(axis=1)).sum(axis=1)
    >>> result = cr.credal_test(cr.Ensemble(members), labels, n_resamples=39, rng=0)
    >>> result.verdict(), result.details.notion
    ('no conflict found', 'distribution')
    >>> result.details.combine(cr.Ensemble(members[:5]))
    Point(n=5, k=3, dtype=float64)
    """
    report = as_progress(progress)
    sets = SetTask.of(predictions, labels, n_draws, clusters, blocks, rng)
    if sets.codes is not None:
        if statistics is not None:
            raise InputError(
                "`statistics`",
                "belong to a test of weights",
                "with clusters only the witness is tested",
                "Leave them out, or use `weights_test`.",
            )
        alone = both_tests(tested_witness(sets, report=report), None)
        return alone if n_resamples is None else dataclasses.replace(alone, notes=(*alone.notes, NO_DRAWS))
    validity = None if sets.points.all_equal else tested_witness(sets)
    calibration = tested_weights(
        sets, features=features, statistics=statistics, n_resamples=n_resamples, report=report
    )
    return both_tests(validity, calibration)


def both_tests(
    validity: HypotestResult[WitnessDetails] | None, calibration: HypotestResult[WeightsDetails] | None
) -> HypotestResult[CredalDetails]:
    """Return the test of both hypotheses: rejected where weights and witness reject."""
    if calibration is None:
        assert validity is not None
        alone = CredalDetails(validity.details.test_rows, validity.details.combination, validity=validity)
        return with_details(validity, alone, name="credal_test")
    details = CredalDetails(**vars(calibration.details), validity=validity, calibration=calibration)
    if validity is None:
        return with_details(calibration, details, name="credal_test")
    larger = validity.pvalue > calibration.pvalue
    note = (
        "p is the larger of two p-values: that of the weights, whose statistic this is, and that of the "
        "witness"
    )
    if validity.details.impossible_rows.size:  # every combination gives 0 to these labels, so none fits
        larger = True
        note = "p is that of the witness, because some labels have probability 0 under every combination"
    changes: dict[str, Any] = {"pvalue": validity.pvalue, "pvalue_interval": None} if larger else {}
    notes = (*calibration.notes, note)
    return with_details(calibration, details, name="credal_test", notes=notes, **changes)
