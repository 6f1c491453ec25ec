"""Stated against observed spread, bin by bin, with the band that a calibrated model would show.

error-spread   sqrt(mean (y - mu)^2)            against sqrt(mean sigma^2)
z-scores       sqrt(mean ((y - mu) / sigma)^2)  against 1
"""

from __future__ import annotations

from typing import Any

import numpy as np

from credibly._arrays.namespace import Array, namespace, to_host
from credibly._arrays.philox import Seed, as_seed, takes_rng
from credibly.hypotests.calibration.calibration_test import require_resamples
from credibly.hypotests.calibration.reliability import central_band, wider
from credibly.hypotests.resampling.loop import targets_of
from credibly.hypotests.resampling.replicates import consistent
from credibly.hypotests.resampling.requests import Asking, Request, answered
from credibly.hypotests.resampling.wild import wild
from credibly.predictions import Rows, as_rows
from credibly.predictions.passes import detached
from credibly.results.base import require_level
from credibly.results.curves import SpreadCurve
from credibly.statistics.protocol import Bound, State
from credibly.statistics.spread import ExpectedNormalisedError, require_spread


@takes_rng
def spread_curve(
    predictions: Any,
    labels: Any = None,
    *,
    n_bins: int = 15,
    level: float | None = 0.95,
    n_resamples: int = 999,
    clusters: Any = None,
    blocks: int | None = None,
    rng: Any = None,
) -> SpreadCurve:
    """Compare the stated spread with the actual errors, in bins of the stated spread.

    Parameters
    ----------
    predictions : Gaussian, Samples or Rows
        Predictions that state a mean and a variance; members are represented by their mixture, draws by their
        mean and their variance (squares over s - 1).
    labels : array (n,)
        Observed numbers. Leave out for chunks, which carry their own.
    n_bins : int
        Number of bins with equally many instances; equal spreads stay together.
    level : float or None
        Coverage, per bin, of the band of a calibrated model; None leaves it out.
    n_resamples : int
        Replicates behind the band.
    clusters : array (n,) or "copies", optional
        Ids that say which rows belong together (a patient, a day); the band then allows for their dependence.
    blocks : int, optional
        For rows in time order: consecutive rows form clusters of at least this length.
        With `clusters` (stores, sensors), consecutive rows of each of them.
    rng : None, int or Generator
        Seed of the band.

    Returns
    -------
    SpreadCurve
        Stated spread, root mean squared error and root mean squared z-score of every bin, and their bands.

    Notes
    -----
    The spread of few draws is uncertain, so z-scores are above 1 even for a calibrated model, especially
    where the spread happens to be small. The band allows for this, because it exchanges every label with one
    of its draws.

    References
    ----------
    Levi, Gispan, Giladi and Fetaya, *Evaluating and calibrating uncertainty prediction in regression tasks*,
    2022; Pernot, *The long road to calibrated prediction uncertainty in computational chemistry*, 2022
    (z-scores).

    Examples
    --------
    >>> import credibly as cr
    >>> curve = cr.hypotests.spread_curve(
    ...     cr.Gaussian([0.0, 0.0], [1.0, 2.0]), [0.5, 2.0], n_bins=2, level=None
    ... )
    >>> curve.stated.tolist(), curve.observed.tolist()
    ([1.0, 2.0], [0.5, 2.0])
    """
    rows = detached(as_rows(predictions, labels, clusters=clusters, blocks=blocks))
    if level is not None:
        require_level(level)
        require_resamples(n_resamples)
    seed = (0, 0) if level is None else as_seed(rng)
    return answered(asking_spread(rows, level, n_resamples, seed, n_bins=n_bins))


def asking_spread(
    rows: Rows, level: float | None, n_resamples: int, seed: Seed, *, n_bins: int
) -> Asking[SpreadCurve]:
    """Return the curve of rows; see :func:`spread_curve`."""
    statistic = ExpectedNormalisedError(n_bins)
    require_spread(rows.sample.predictions, "spread_curve")
    statistic.require_labels(rows.sample.batch)
    planned = targets_of([statistic], rows, finish=_errors)
    drawn = 0 if level is None else n_resamples
    (((found,),),) = yield [Request(planned, rows, [consistent(seed)], drawn)]
    plan = planned[0].plan
    assert plan is not None and found.observed is not None  # made by `targets_of`, a sum
    size, stated = (to_host(found.observed[name])[0] for name in ("size", "stated"))
    filled = np.flatnonzero(size > 0)
    z = filled + size.size
    edges = np.sqrt(np.asarray(plan.edges))
    bands = None if level is None else [central_band(found.values[1:, part], level) for part in (filled, z)]
    if bands is not None and level is not None and rows.clusters is not None:
        (signed,) = wild([statistic], rows, rows.clusters, seed, n_resamples, finish=_errors)
        apart = [central_band(signed.values[1:, part], level) for part in (filled, z)]
        bands = [wider(one, other) for one, other in zip(bands, apart, strict=True)]
    return SpreadCurve(
        left=edges[:-1][filled],
        right=edges[1:][filled],
        weight=size[filled],
        stated=np.sqrt(stated[filled] / size[filled]),
        observed=found.values[0, filled],
        band=None if bands is None else bands[0],
        level=level,
        n=rows.n,
        z=found.values[0, z],
        z_band=None if bands is None else bands[1],
    )


def _errors(bound: Bound, state: State) -> Array:
    """Return root mean squared errors, then z-scores, of every bin, (b, 2 bins)."""
    xp = namespace(state["size"])
    size = xp.clip(state["size"], 1e-300, None)
    return xp.sqrt(xp.concat([state["observed"] / size, state["z"] / size], axis=1))
