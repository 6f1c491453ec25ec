"""What is stated against what is observed, bin by bin, with the band that a calibrated model would show.

probabilities  the share of events              against the mean probability
error-spread   sqrt(mean (y - mu)^2)            against sqrt(mean sigma^2)
z-scores       sqrt(mean ((y - mu) / sigma)^2)  against 1
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

import numpy as np

from credibly._arrays.errors import UnsupportedError, is_whole, require
from credibly._arrays.namespace import Array, HostArray, namespace, to_host
from credibly._arrays.philox import Seed, as_seed, takes_rng
from credibly._arrays.progress import Progress
from credibly.hypotests.resampling.loop import targets_of
from credibly.hypotests.resampling.pvalues import require_resamples
from credibly.hypotests.resampling.replicates import consistent
from credibly.hypotests.resampling.requests import Asking, Request, answered, calibrated
from credibly.hypotests.resampling.wild import Signs
from credibly.predictions import Classes, ClassPredictions, Labels, Rows, as_rows
from credibly.predictions.passes import detached
from credibly.results.base import require_level
from credibly.results.curves import ReliabilityCurve, SpreadCurve
from credibly.statistics.binned import BinnedError, ClasswiseECE, ConfidenceECE
from credibly.statistics.cells import Binning, Closed
from credibly.statistics.protocol import Bound, State
from credibly.statistics.spread import ExpectedNormalisedError, require_spread


@takes_rng
def reliability_curve(
    predictions: Any,
    labels: Any = None,
    *,
    target: int | str = "top_label",
    n_bins: int = 15,
    binning: Binning = "equal_width",
    closed: Closed = "left",
    sample_weight: Any = None,
    clusters: Any = None,
    blocks: int | None = None,
    level: float | None = 0.95,
    n_resamples: int = 999,
    rng: Any = None,
) -> ReliabilityCurve:
    """Compare predicted probability with observed frequency, bin by bin.

    Parameters
    ----------
    predictions : Predictions, array or Rows
        Class predictions.
    labels : array (n,) or LabelCounts
        ...
    target : "top_label" or int
        The confidence of the predicted class, or the probability of one class.
    n_bins : int
        Number of bins.
    binning : {"equal_width", "equal_mass"}
        ...
    closed : {"left", "right"}
        ...
    sample_weight : array (n,), optional
        ...
    clusters : array (n,) or "copies", optional
        ... The band then allows for their dependence.
    blocks : int, optional
        ...
    level : float or None
        Coverage, per bin, of the consistency band; None leaves it out.
    n_resamples : int
        Replicates behind the band.
    rng : None, int or Generator
        ...

    Returns
    -------
    ReliabilityCurve
        Edges, weights, predicted and observed values and the band; empty bins are NaN.

    References
    ----------
    Bröcker and Smith, *Increasing the reliability of reliability diagrams*, 2007.

    Examples
    --------
    >>> import credibly as cr
    >>> curve = cr.reliability_curve([[0.9, 0.1], [0.9, 0.1]], [0, 1], n_bins=2, level=None)
    >>> curve.observed.tolist()
    [nan, 0.5]
    """
    rows = detached(as_rows(predictions, labels, sample_weight, clusters=clusters, blocks=blocks))
    bins: dict[str, Any] = {"n_bins": n_bins, "binning": binning, "closed": closed}
    seed = (0, 0) if level is None else as_seed(rng)
    return answered(asking_curves(rows, [target], level, n_resamples, seed, **bins))[0]


def asking_curves(
    rows: Rows,
    targets: Sequence[int | str],
    level: float | None,
    n_resamples: int,
    seed: Seed,
    progress: Progress | None = None,
    *,
    n_bins: int,
    binning: Binning = "equal_width",
    closed: Closed = "left",
) -> Asking[list[ReliabilityCurve]]:
    """Return one curve per target on shared replicates; see :func:`reliability_curve`."""
    bins: dict[str, Any] = {"n_bins": n_bins, "binning": binning, "closed": closed}
    predictions = rows.example.predictions
    kinds: dict[str, BinnedError] = {"top": ConfidenceECE(**bins), "each": ClasswiseECE(**bins)}
    kinds["top"].require_predictions(predictions)
    assert isinstance(predictions, ClassPredictions)  # the errors take no others
    require_curves(targets, predictions.n_classes, rows.example.batch, level, n_resamples)
    needed = ["top" if target == "top_label" else "each" for target in targets]
    kinds = {name: error for name, error in kinds.items() if name in needed}
    planned = targets_of(list(kinds.values()), rows, finish=_frequency)
    draw = consistent(seed) if level is None else calibrated(rows, seed)
    requests = [Request(planned, rows, [draw], 0 if level is None else n_resamples, progress)]
    if isinstance(draw, Signs):  # what was observed is counted, not put together from residuals
        requests.append(Request(planned, rows, [consistent(seed)], 0))
    answers = yield requests
    banded, tested = answers[0][0], answers[-1][0]
    cells = dict(zip(kinds, zip(planned, tested, banded, strict=True), strict=True))
    curves = []
    for target, name in zip(targets, needed, strict=True):
        begin = 0 if name == "top" else int(target) * n_bins
        own_cells = slice(begin, begin + n_bins)
        target_planned, counted, drawn = cells[name]
        plan = target_planned.plan
        assert plan is not None and counted.observed is not None  # made by `targets_of`, a sum
        edges = np.asarray(plan.edges)
        edges = edges if edges.ndim == 1 else edges[int(target)]
        sums = {key: to_host(value)[0, own_cells] for key, value in counted.observed.items()}
        size = sums["size"]
        with np.errstate(invalid="ignore", divide="ignore"):
            predicted, frequency = sums["expected"] / size, sums["observed"] / size
        curves.append(
            ReliabilityCurve(
                name="top label" if name == "top" else f"class {target}",
                edges=edges,
                weight=size,
                predicted=predicted,
                observed=frequency,
                band=None if level is None else central_band(drawn.values[1:, own_cells], level),
                level=level,
                n=rows.n,
                target=None if target == "top_label" else int(target),
            )
        )
    return curves


def _frequency(bound: Bound, state: State) -> Array:
    """Return the observed share in every cell, (b, cells); NaN where it is empty."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return state["observed"] / state["size"]


def require_curves(
    targets: Sequence[object], n_classes: int, labels: Labels, level: float | None, n_resamples: int
) -> None:
    """Raise unless targets are the top label or classes, and labels allow a band.

    How much raters of one instance vary together is not in the predictions.
    """
    rule = f'must be "top_label" or a class from 0 to {n_classes - 1}'
    for target in targets:
        known = target == "top_label" or (is_whole(target) and 0 <= int(target) < n_classes)  # type: ignore[call-overload]
        require(known, rule, "Name one class by its index.", target=target)
    if level is None:
        return
    if not isinstance(labels, Classes):
        remedy = "Pass `level=None` for the curve without a band."
        raise UnsupportedError("a band", "needs one label per instance", "got label counts", remedy)
    require_level(level)
    require_resamples(n_resamples)


def wider(
    first: tuple[HostArray, HostArray], other: tuple[HostArray, HostArray]
) -> tuple[HostArray, HostArray]:
    """Return the union of two bands, so a clustered band is never narrower than the independent one."""
    return np.fmin(first[0], other[0]), np.fmax(first[1], other[1])


def central_band(values: HostArray, level: float) -> tuple[HostArray, HostArray]:
    """Return the band that holds `level` of the replicates (b, c) in every column."""
    half = (1 - level) / 2
    low, high = np.quantile(values, [half, 1 - half], axis=0)
    return low, high


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
        ...
    n_bins : int
        Number of bins with equally many instances; equal spreads stay together.
    level : float or None
        Coverage, per bin, of the band of a calibrated model; None leaves it out.
    n_resamples : int
        Replicates behind the band.
    clusters : array (n,) or "copies", optional
        ... The band then allows for their dependence.
    blocks : int, optional
        ...
    rng : None, int or Generator
        ...

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
    require_spread(rows.example.predictions, "spread_curve")
    statistic.require_labels(rows.example.batch)
    planned = targets_of([statistic], rows, finish=_errors)
    drawn = 0 if level is None else n_resamples
    requests = [Request(planned, rows, [consistent(seed)], drawn)]
    if drawn and rows.example.clusters is not None:
        requests.append(Request(planned, rows, [Signs(seed)], drawn))
    ((resampled,),), *signed = yield requests
    plan = planned[0].plan
    assert plan is not None and resampled.observed is not None  # made by `targets_of`, a sum
    size, stated = (to_host(resampled.observed[name])[0] for name in ("size", "stated"))
    filled = np.flatnonzero(size > 0)
    z = filled + size.size
    edges = np.sqrt(np.asarray(plan.edges))
    bands = None
    if level is not None:
        every = [resampled, *(test for ((test,),) in signed)]
        bands = [
            reduce(wider, [central_band(test.values[1:, part], level) for test in every])
            for part in (filled, z)
        ]
    return SpreadCurve(
        left=edges[:-1][filled],
        right=edges[1:][filled],
        weight=size[filled],
        stated=np.sqrt(stated[filled] / size[filled]),
        observed=resampled.values[0, filled],
        band=None if bands is None else bands[0],
        level=level,
        n=rows.n,
        z=resampled.values[0, z],
        z_band=None if bands is None else bands[1],
    )


def _errors(bound: Bound, state: State) -> Array:
    """Return root mean squared errors, then z-scores, of every bin, (b, 2 bins)."""
    xp = namespace(state["size"])
    size = xp.clip(state["size"], 1e-300, None)
    return xp.sqrt(xp.concat([state["observed"] / size, state["z"] / size], axis=1))
