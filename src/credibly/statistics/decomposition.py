"""Brier loss = calibration loss + refinement loss.

Calibration is the squared class-wise binned error summed over classes (debiased by default), refinement what
is left: the loss of a recalibrated model that keeps the same bins.   DeGroot and Fienberg 1983; Murphy 1973.
"""

from __future__ import annotations

import dataclasses
from functools import partial
from typing import Any

from credibly._arrays.standard_errors import Moments, cluster_error, standard_error_of
from credibly._arrays.sums import State
from credibly.predictions import Dataset, Rows, as_rows, require_single
from credibly.predictions.passes import Sums
from credibly.results.base import Result
from credibly.results.estimates import Estimate
from credibly.statistics.binned import ClasswiseECE
from credibly.statistics.cells import SPARSE_REFUSAL, Binning, Closed
from credibly.statistics.linear import Linear
from credibly.statistics.over_rows import StatisticsTask, of_clusters, without_each
from credibly.statistics.proper import brier
from credibly.statistics.protocol import SECOND_LOOK


@dataclasses.dataclass(frozen=True)
class BrierDecomposition(Result):
    """The Brier loss and its two parts, which add up exactly.

    Attributes
    ----------
    loss : Estimate
        Brier score.
    calibration : Estimate
        Calibration loss; the debiased one may be negative.
    refinement : Estimate
        What recalibration cannot remove.
    """

    loss: Estimate
    calibration: Estimate
    refinement: Estimate


def decompose_brier(
    predictions: Any,
    labels: Any = None,
    *,
    n_bins: int = 15,
    binning: Binning = "equal_width",
    closed: Closed = "left",
    debiased: bool = True,
    clusters: Any = None,
    blocks: int | None = None,
) -> BrierDecomposition:
    """Split the Brier score into calibration and refinement loss.

    Parameters
    ----------
    predictions : Predictions, array or Rows
        Class predictions.
    labels : array (n,) or LabelCounts
        ...
    n_bins : int
        Bins per class.
    binning : {"equal_width", "equal_mass"}
        ...
    closed : {"left", "right"}
        ...
    debiased : bool
        Subtract the expected sampling noise of every bin.
    clusters : array (n,) or "copies", optional
        ... Standard errors then allow for these clusters, and pairs of rows inside a cluster are left out.
    blocks : int, optional
        ...

    Returns
    -------
    BrierDecomposition
        Loss, calibration and refinement, with standard errors if they are known.

    Notes
    -----
    The parts depend on the bins: in wide bins, calibration loss counts as refinement loss.

    References
    ----------
    Murphy, *A new vector partition of the probability score*, 1973; DeGroot and Fienberg, *The comparison
    and evaluation of forecasters*, 1983.

    Examples
    --------
    >>> import credibly as cr
    >>> parts = cr.decompose_brier([[0.8, 0.2], [0.8, 0.2], [0.3, 0.7]], [0, 1, 1], debiased=False)
    >>> round(parts.loss.value, 6) == round(parts.calibration.value + parts.refinement.value, 6)
    True
    """
    errors = ClasswiseECE(n_bins=n_bins, binning=binning, closed=closed, p=2, debiased=debiased)
    rows = as_rows(predictions, labels, clusters=clusters, blocks=blocks)
    task = StatisticsTask.of([errors, brier], rows)
    require_single(rows.example, "`decompose_brier`")
    (total,) = rows.merged([task.sums])
    estimates = task.finish(total)
    loss, error = estimates["brier"], estimates[errors.name]
    of_calibration, of_refinement = _standard_errors(task, rows, total, error)
    k = rows.example.predictions.n_classes  # type: ignore[attr-defined]
    calibration = k * (error.value if errors.debiased else error.value**2)
    settings = {**errors.settings(), "n_classes": k}

    def part(name: str, value: float, error: Error) -> Estimate:
        known = {"stderr": None, **error}
        return Estimate(name, value, n=rows.n, settings=settings, notes=total.notes, **known)

    return BrierDecomposition(
        dataclasses.replace(loss, notes=total.notes),
        part("calibration_loss", calibration, of_calibration),
        part("refinement_loss", loss.value - calibration, of_refinement),
    )


Error = dict[str, Any]
"""Fields of an Estimate: a standard error, or the reason why there is none."""

_UNKNOWN = "standard errors are known only for the debiased split of single labels"


def _standard_errors(task: StatisticsTask, rows: Rows, total: Sums, error: Estimate) -> tuple[Error, Error]:
    """Return the standard errors of calibration and refinement loss, or why there are none."""
    if task.clusters is not None and error.stderr is not None:
        return _without_clusters(task, total)
    if error.interval_refusal is not SECOND_LOOK:
        sparse = error.interval_refusal is SPARSE_REFUSAL
        reason: Error = {"interval_refusal": SPARSE_REFUSAL if sparse else _UNKNOWN}
        return reason, reason
    (moments,) = rows.merged([partial(_effects, task, total.states[error.name])])
    of_calibration, _ = standard_error_of(moments.states["effect"])
    of_refinement, why = standard_error_of(moments.states["rest"])
    return {"stderr": of_calibration}, {"stderr": of_refinement, "interval_refusal": why}


def _without_clusters(task: StatisticsTask, total: Sums) -> tuple[Error, Error]:
    """Leave every cluster out of both parts."""
    bounds, _ = task.bound_to(task.example)
    k = task.example.predictions.n_classes  # type: ignore[attr-defined]
    (error, moved, sizes), (loss, rest, _) = (
        without_each(bound, total.states[of_clusters(bound)]) for bound in bounds
    )
    return (
        cluster_error(k * error, k * moved, sizes, None),
        cluster_error(loss - k * error, rest - k * moved, sizes, None),
    )


def _effects(task: StatisticsTask, sums: State, chunk: Dataset) -> Sums:
    """Return moments of what every row does to calibration loss and to the rest: the second look."""
    (bound, score), _ = task.bound_to(chunk)
    assert isinstance(score, Linear)
    k = chunk.predictions.n_classes  # type: ignore[attr-defined]
    effect = k * bound.influence(sums, chunk.batch)[None, :]
    rest = score.contributions(chunk.batch) - effect
    return Sums({"effect": Moments.of(effect, None), "rest": Moments.of(rest, None)})
