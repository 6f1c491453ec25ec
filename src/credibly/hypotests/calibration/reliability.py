"""Reliability curves with the band that a calibrated model with the same predictions would show."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from credibly._arrays.errors import InputError, UnsupportedError
from credibly._arrays.namespace import Array, HostArray, to_host
from credibly._arrays.philox import Seed, as_seed, takes_rng
from credibly._arrays.progress import Progress
from credibly.hypotests.calibration.calibration_test import require_resamples
from credibly.hypotests.resampling.loop import targets_of
from credibly.hypotests.resampling.replicates import consistent
from credibly.hypotests.resampling.requests import Asking, Request, answered
from credibly.hypotests.resampling.wild import wild
from credibly.predictions import Classes, ClassPredictions, Labels, Rows, as_rows
from credibly.predictions.passes import detached
from credibly.results.base import require_level
from credibly.results.curves import ReliabilityCurve
from credibly.statistics.binned import ClasswiseECE, ConfidenceECE
from credibly.statistics.cells import Binning, Closed
from credibly.statistics.protocol import Bound, State


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
        Observed labels. Leave out for chunks, which carry their own.
    target : "top_label" or int
        The confidence of the predicted class, or the probability of one class.
    n_bins : int
        Number of bins.
    binning : {"equal_width", "equal_mass"}
        How the bins are chosen.
    closed : {"left", "right"}
        Which end of a bin is included.
    sample_weight : array (n,), optional
        Non-negative weights of the instances.
    clusters : array (n,) or "copies", optional
        Ids that say which rows belong together (a patient, a day); the band then allows for their dependence.
    blocks : int, optional
        For rows in time order: consecutive rows form clusters of at least this length.
        With `clusters` (stores, sensors), consecutive rows of each of them.
    level : float or None
        Coverage, per bin, of the consistency band; None leaves it out.
    n_resamples : int
        Replicates behind the band.
    rng : None, int or Generator
        Seed of the band.

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
    kinds = {
        "top": ConfidenceECE(n_bins=n_bins, binning=binning, closed=closed),
        "each": ClasswiseECE(n_bins=n_bins, binning=binning, closed=closed),
    }
    given = rows.sample.predictions
    kinds["top"].require_predictions(given)
    assert isinstance(given, ClassPredictions)  # the errors take no others
    observed = rows.sample.batch
    k = given.n_classes
    for target in targets:
        require_target(target, k)
    if level is not None:
        require_single_labels(observed, "the consistency band")
        require_level(level)
        require_resamples(n_resamples)
    needed = {("top" if target == "top_label" else "each") for target in targets}
    kinds = {name: one for name, one in kinds.items() if name in needed}
    planned = targets_of(list(kinds.values()), rows, finish=_frequency)
    drawn = 0 if level is None or rows.sample.clusters is not None else n_resamples
    ((found,),) = yield [Request(planned, rows, [consistent(seed)], drawn, progress)]
    if level is not None and rows.clusters is not None:
        banded = wild(list(kinds.values()), rows, rows.clusters, seed, n_resamples, finish=_frequency)
        found = [dataclasses.replace(one, values=own.values) for one, own in zip(found, banded, strict=True)]
    cells, plans = dict(zip(kinds, found, strict=True)), dict(zip(kinds, planned, strict=True))
    curves = []
    for target in targets:
        name = "top" if target == "top_label" else "each"
        own = slice(None) if name == "top" else slice(int(target) * n_bins, (int(target) + 1) * n_bins)
        plan = plans[name].plan
        assert plan is not None  # made by `targets_of`
        edges = np.asarray(plan.edges)
        edges = edges if edges.ndim == 1 else edges[int(target)]
        sums = {key: to_host(value)[0, own] for key, value in (cells[name].observed or {}).items()}
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
                band=None if level is None else central_band(cells[name].values[1:, own], level),
                level=level,
                n=rows.n,
            )
        )
    return curves


def _frequency(bound: Bound, state: State) -> Array:
    """Return the observed share in every cell, (b, cells); NaN where it is empty."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return state["observed"] / state["size"]


def require_single_labels(labels: Labels, what: str) -> None:
    """Raise for label counts: how much raters of one instance vary together is not in the predictions."""
    if not isinstance(labels, Classes):
        raise UnsupportedError(
            what,
            "needs one label per instance",
            "got label counts",
            "Pass `level=None` for the curve without a band.",
        )


def require_target(target: object, n_classes: int) -> None:
    """Raise unless it is the top label or one of the classes."""
    if target != "top_label" and not _is_class(target, n_classes):
        raise InputError(
            "`target`",
            f'must be "top_label" or a class from 0 to {n_classes - 1}',
            f"got {target!r}",
            "Name one class by its index.",
        )


def _is_class(target: object, n_classes: int) -> bool:
    if isinstance(target, bool) or not isinstance(target, (int, np.integer)):
        return False
    return 0 <= int(target) < n_classes


def wider(
    one: tuple[HostArray, HostArray], other: tuple[HostArray, HostArray]
) -> tuple[HostArray, HostArray]:
    """Return the band that holds both: of clusters none is narrower than that of independent rows."""
    return np.fmin(one[0], other[0]), np.fmax(one[1], other[1])


def central_band(values: HostArray, level: float) -> tuple[HostArray, HostArray]:
    """Return the band that holds `level` of the replicates (b, c) in every column."""
    half = (1 - level) / 2
    low, high = np.quantile(values, [half, 1 - half], axis=0)
    return low, high
