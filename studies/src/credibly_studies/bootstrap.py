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
from credibly.hypotests import replicate_test
from credibly.hypotests.resampling.pvalues import require_resamples
from credibly.hypotests.resampling.replicates import Replicates
from credibly.predictions import Classes, as_point, as_rows
from credibly.results.tests import HypotestResult
from credibly.statistics import Statistic


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
        As :func:`credibly.hypotests.replicate_test` returns it.
    """
    require_resamples(n_resamples)
    seed = as_seed(rng)
    rows = as_rows(predictions, labels).example
    observed = rows.predictions
    if not isinstance(rows.batch, Classes):
        raise UnsupportedError(
            "a test with bootstrapped instances",
            "reproduces results of the papers, which are about classes",
            f"got {type(observed).__name__}",
            "Use `calibration_test`.",
        )
    return replicate_test(
        observed,
        labels,
        bootstrapped(observed, seed, n_resamples),
        statistics=statistics,
        settings={"resample": "instances", "seed": list(seed)},
        progress=None if progress is None else lambda done: progress(done, n_resamples + 1),
    )


def bootstrapped(predictions: Any, seed: Seed, n_resamples: int) -> Iterator[tuple[Any, Classes]]:
    """Yield bootstrapped rows with labels drawn from their predictions.

    That is what papers print; the level of such a test is not exact.
    """
    probs = as_point(predictions)[0].probs
    n, xp = probs.shape[0], namespace(probs)
    rows_of = Uniforms(seed, Stream.ROWS)
    for d in range(n_resamples):
        uniform = rows_of.draw(slice(d, d + 1), slice(0, n))[0]
        chosen = xp.asarray((uniform * n).astype(np.int64), device=device(probs))
        drawn = Replicates(xp.take(probs, chosen, axis=0), seed).labels(slice(d, d + 1))
        arrays = {name: xp.take(array, chosen, axis=0) for name, array in predictions.row_arrays().items()}
        yield predictions.replace_rows(**arrays), drawn
