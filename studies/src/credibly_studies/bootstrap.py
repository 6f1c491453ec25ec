"""Consistency tests as Algorithm 1 of M23 and J25 prints them: instances are bootstrapped, labels drawn anew.

`calibration_test` draws labels alone, which is exact. Bootstrapped instances repeat, so that errors of a
perfect predictor with many classes look smaller in replicates than they are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from credibly._arrays.errors import UnsupportedError
from credibly._arrays.namespace import device, namespace
from credibly._arrays.philox import Seed, Stream, Uniforms, as_seed
from credibly._arrays.progress import Progress
from credibly.hypotests.calibration.calibration_test import require_resamples
from credibly.hypotests.resampling.loop import paired_values
from credibly.hypotests.resampling.pvalues import omnibus, single_result
from credibly.hypotests.resampling.replicates import Replicates
from credibly.predictions import Classes, as_point, as_rows
from credibly.results.tests import HypotestResult
from credibly.statistics import Statistic
from credibly.statistics.registry import as_statistic


def bootstrap_test(
    predictions: Any,
    labels: Any,
    *,
    statistics: str | Statistic | Sequence[str | Statistic],
    n_resamples: int = 999,
    rng: Any = None,
    progress: Progress | None = None,
) -> HypotestResult:
    """Test whether labels could have been drawn from the predictions, with bootstrapped instances.

    Parameters
    ----------
    predictions : ClassPredictions or array
        Class predictions; a set is represented by its mean.
    labels : array (n,)
        Observed classes.
    statistics : str, Statistic or a sequence of them
        What to compare; several give one omnibus p-value.
    n_resamples : int
        Number of replicates.
    rng : None, int or Generator
        Seed.
    progress : callable, optional
        Called with (done, total).

    Returns
    -------
    HypotestResult
        As `calibration_test` returns it.
    """
    require_resamples(n_resamples)
    seed = as_seed(rng)
    rows = as_rows(predictions, labels).sample
    given, observed = rows.predictions, rows.batch
    if not isinstance(observed, Classes):
        raise UnsupportedError(
            "a test with bootstrapped instances",
            "reproduces results of the papers, which are about classes",
            f"got {type(given).__name__}",
            "Use `calibration_test`.",
        )
    several = isinstance(statistics, Sequence) and not isinstance(statistics, str)
    asked: Sequence[Any] = statistics if several else [statistics]  # type: ignore[assignment]
    bounds = [as_statistic(one).bind(given) for one in asked]
    settled = [one.statistic for one in bounds]  # one bandwidth for the data and all replicates
    pairs = bootstrapped(given, observed, seed, n_resamples)
    values = paired_values(settled, pairs, n_resamples + 1, progress)
    settings = {"resample": "instances", "seed": list(seed)}
    results = [single_result(one, row, settings) for one, row in zip(bounds, values, strict=True)]
    return omnibus(results, values, settings) if several else results[0]


def bootstrapped(
    given: Any, observed: Classes, seed: Seed, n_resamples: int
) -> Iterator[tuple[Any, Classes]]:
    """Yield the observation, then bootstrapped rows with labels drawn from their predictions.

    That is what papers print; the level of such a test is not exact.
    """
    yield given, observed
    probs = as_point(given)[0].probs
    n, xp = probs.shape[0], namespace(probs)
    rows_of = Uniforms(seed, Stream.ROWS)
    for d in range(n_resamples):
        uniform = rows_of.block(slice(d, d + 1), slice(0, n))[0]
        chosen = xp.asarray((uniform * n).astype(np.int64), device=device(probs))
        drawn = Replicates(xp.take(probs, chosen, axis=0), seed).labels(slice(d, d + 1))
        own = {name: xp.take(array, chosen, axis=0) for name, array in given.row_arrays().items()}
        yield given.replace_rows(**own), drawn
