"""A test with replicates of your own: another resampling of rows, another rule for the p-value.

`calibration_test` keeps the predictions and draws labels from them. Whoever changes the predictions too, by
resampling rows or refitting a model, makes replicates, and this test compares the observation with them.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from credibly._arrays.errors import require, require_type
from credibly._arrays.namespace import HostArray
from credibly.hypotests.resampling.pvalues import HYPOTHESIS, omnibus, settled, single_result
from credibly.predictions import Labels, as_rows
from credibly.results.tests import HypotestResult
from credibly.statistics import Statistic
from credibly.statistics.registry import as_statistic

PvalueRule = Callable[[float, HostArray], float]


def replicate_test(
    predictions: Any,
    labels: Any,
    pairs: Iterable[tuple[Any, Any]],
    *,
    statistics: str | Statistic | Sequence[str | Statistic],
    rule: PvalueRule | None = None,
    hypothesis: str = HYPOTHESIS,
    settings: Mapping[str, Any] | None = None,
    progress: Callable[[int], None] | None = None,
) -> HypotestResult:
    """Test predictions against replicates that you make.

    Parameters
    ----------
    predictions : Predictions or array
        What was predicted.
    labels : array (n,)
        What was observed.
    pairs : iterable of (predictions, labels)
        The replicates: what both could have been under the hypothesis. Exact if, under it, the observation
        and the replicates can be exchanged.
    statistics : str, Statistic or a sequence of them
        What to compare; several give one omnibus p-value.
    rule : callable, optional
        ``rule(observed, replicates) -> p``, for one statistic. Default: the share of values, the observed one
        included, that are as far out as the observed one.
    hypothesis : str
        What is tested, in words.
    settings : mapping, optional
        How the replicates were made; kept in the result.
    progress : callable, optional
        Called with the number of replicates that are done.

    Returns
    -------
    HypotestResult
        As :func:`calibration_test` returns it.

    References
    ----------
    Hope, *A simplified Monte Carlo significance test procedure*, 1968.

    Examples
    --------
    >>> import numpy as np
    >>> import credibly as cr
    >>> rng = np.random.default_rng(0)
    >>> probs = rng.dirichlet(np.ones(3), size=100)
    >>> def drawn(p):
    ...     return (rng.random((len(p), 1)) > p.cumsum(axis=1)).sum(axis=1)
    >>> rows = [rng.integers(100, size=100) for _ in range(99)]  # instances with replacement
    >>> pairs = [(probs[own], drawn(probs[own])) for own in rows]
    >>> found = cr.hypotests.replicate_test(probs, drawn(probs), pairs, statistics="brier")
    >>> found.n_resamples, found.verdict()
    (99, 'no conflict found')
    """
    several = isinstance(statistics, Sequence) and not isinstance(statistics, str)
    choices: Sequence[Any] = statistics if several else [statistics]  # type: ignore[assignment]
    require(len(choices) > 0, "must name at least one", "Name one.", statistics=statistics)
    require_type(
        rule is None or callable(rule), "must be a function", "Pass `rule(observed, null)`.", rule=rule
    )
    require(rule is None or not several, "needs one statistic", "Test them one by one.", rule=rule)
    rows = as_rows(predictions, labels).example
    bounds = [as_statistic(statistic).bind(rows.predictions) for statistic in choices]
    chosen = [bound.statistic for bound in bounds]  # one bandwidth for the data and all replicates
    observed = [(rows.predictions, rows.batch)]
    values = paired_values(chosen, itertools.chain(observed, pairs), progress)
    require(values.shape[1] > 1, "must hold at least one pair", "Make 99 or more.", pairs=pairs)
    all_settings = dict(settings or {})
    results = [single_result(bound, row, all_settings) for bound, row in zip(bounds, values, strict=True)]
    result = omnibus(results, values, all_settings) if several else results[0]
    changes: dict[str, Any] = {"name": "replicate_test", "hypothesis": hypothesis}
    if rule is not None:
        changes |= {"pvalue": float(rule(result.statistic, values[0, 1:])), "pvalue_interval": None}
    return dataclasses.replace(result, **changes)


def paired_values(
    statistics: Sequence[Statistic],
    pairs: Iterable[tuple[Any, Any]],
    progress: Callable[[int], None] | None = None,
) -> HostArray:
    """Evaluate statistics where predictions change with the replicate, (s, b): bind again for every pair.

    The first pair of predictions and labels is the observation.
    """
    columns = []
    for done, (predictions, labels) in enumerate(pairs):
        predicted, seen = predictions, labels
        if not isinstance(labels, Labels):
            data = as_rows(predictions, labels).example
            predicted, seen = data.predictions, data.batch
        bounds = [statistic.bind(predicted) for statistic in statistics]
        columns.append([float(bound(seen)[0]) for bound in bounds])
        if progress is not None:
            progress(done + 1)
    values = np.array(columns).T
    of_each = zip(values, bounds, strict=True)
    return np.stack([settled(row, bound.term_size, bound.n, bound.rounding) for row, bound in of_each])
