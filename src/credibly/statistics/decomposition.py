"""Brier loss = calibration loss + refinement loss.

Calibration is the squared class-wise binned error summed over classes (debiased by default), refinement what
is left: the loss of a recalibrated model that keeps the same bins.   DeGroot and Fienberg 1983; Murphy 1973.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from credibly._arrays.errors import UnsupportedError
from credibly._arrays.merging import State
from credibly._arrays.namespace import like, to_host
from credibly.predictions import Classes, Dataset, Rows, as_predictions, require_no_labels, require_order
from credibly.predictions.passes import Sums, merged, on_host
from credibly.results.base import Result
from credibly.results.estimates import Estimate, mean_refusal, moment_sums, standard_error, standard_error_of
from credibly.statistics.binned import ClasswiseECE
from credibly.statistics.bins import Binning, Closed
from credibly.statistics.cells import SPARSE_REFUSAL, CellBound, are_sparse, influence, is_sparse
from credibly.statistics.chunked import Planned, StatisticsTask, one_distribution, planned
from credibly.statistics.proper import MeanBound, brier


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
) -> BrierDecomposition:
    """Split the Brier score into calibration and refinement loss.

    Parameters
    ----------
    predictions : Predictions, array or Rows
        Class predictions.
    labels : array (n,) or LabelCounts
        What was observed; chunks bring their own.
    n_bins : int
        Bins per class.
    binning : {"equal_width", "equal_mass"}
        How bins are laid.
    closed : {"left", "right"}
        Which end of a bin belongs to it.
    debiased : bool
        Subtract the expected sampling noise of every bin.

    Returns
    -------
    BrierDecomposition
        Loss, calibration and refinement, with standard errors where they are known.

    Notes
    -----
    The parts depend on the bins; wide bins hide calibration loss as refinement loss.

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
    if isinstance(predictions, Rows):
        require_no_labels(labels)
        return _assembled(errors, predictions.n, _parts_over(errors, predictions))
    require_order(predictions, labels)
    given = as_predictions(predictions)
    return _assembled(errors, len(given), _parts(errors, given, labels))


Error = tuple[float | None, str | None]
"""A standard error and, where no interval holds, the reason."""

_UNKNOWN: Error = (None, "standard errors are known for the debiased split of single labels only")
_SPARSE: Error = (None, SPARSE_REFUSAL)


@dataclasses.dataclass(frozen=True)
class _Parts:
    """Values of the binned error and the score, and standard errors of loss, calibration and refinement."""

    n_classes: int
    error: float
    loss: float
    of_loss: Error
    of_calibration: Error
    of_refinement: Error
    notes: tuple[str, ...]


def _assembled(errors: ClasswiseECE, n: int, found: _Parts) -> BrierDecomposition:
    k = found.n_classes
    calibration = k * (found.error if errors.debiased else found.error**2)
    settings = {**errors.settings(), "n_classes": k}

    def part(name: str, value: float, error: Error) -> Estimate:
        return Estimate(name, value, error[0], n, settings, found.notes, error[1])

    stderr, why = found.of_loss
    return BrierDecomposition(
        Estimate("brier", found.loss, stderr, n, {}, found.notes, why),
        part("calibration_loss", calibration, found.of_calibration),
        part("refinement_loss", found.loss - calibration, found.of_refinement),
    )


def _parts(errors: ClasswiseECE, given: Any, labels: Any) -> _Parts:
    """Split the score of rows in memory."""
    batch = errors.labels(given, labels)
    bound, score = errors.bind(given), brier.bind(given)
    assert isinstance(bound, CellBound)
    assert isinstance(score, MeanBound)
    k = given.n_classes
    of_calibration = of_refinement = _UNKNOWN
    if errors.debiased and isinstance(batch, Classes) and is_sparse(bound.cells):
        of_calibration = of_refinement = _SPARSE
    elif errors.debiased and isinstance(batch, Classes):
        effect = k * influence(bound.cells, batch)
        rest = score.contributions(batch)[0, :] - effect
        of_calibration = (standard_error(effect), None)
        of_refinement = (standard_error(rest), mean_refusal(rest))
    error, loss = (float(to_host(one(batch))[0]) for one in (bound, score))
    return _Parts(k, error, loss, score.stderr(batch), of_calibration, of_refinement, bound.notes)


def _parts_over(errors: ClasswiseECE, chunks: Rows) -> _Parts:
    """Split the score of rows that come in chunks: sums first, then moments around what they tell."""
    sample = chunks.sample
    if sample.batch.weights is not None:
        raise UnsupportedError(
            "`decompose_brier`",
            "counts every instance once",
            "the chunks have sample weights",
            "Scan without `sample_weight`.",
        )
    plans = tuple(planned([errors, brier], chunks))
    (total,) = merged(chunks, [StatisticsTask(plans, sample, chunks.n).sums])
    estimates = StatisticsTask(plans, sample, chunks.n).finish(total)
    sums = total.states[errors.name]
    k = sample.predictions.n_classes  # type: ignore[attr-defined]
    of_calibration = of_refinement = _UNKNOWN
    if errors.debiased and isinstance(sample.batch, Classes) and are_sparse(sums["size"][0]):
        of_calibration = of_refinement = _SPARSE
    elif errors.debiased and isinstance(sample.batch, Classes):
        size, gap = sums["size"][0], sums["observed"][0] - sums["predicted"][0]
        gap = gap / np.where(size > 0, size, 1.0)
        effect = float(np.sum(size * gap**2)) / chunks.n
        centres = (effect, estimates["brier"].value - effect)
        (moments,) = merged(chunks, [_Moments(plans[0], gap, centres)])
        of_calibration = (standard_error_of(moments.states["effect"])[0], None)
        of_refinement = standard_error_of(moments.states["rest"])
    loss = estimates["brier"]
    return _Parts(
        k,
        estimates[errors.name].value,
        loss.value,
        (loss.stderr, loss.interval_refusal),
        of_calibration,
        of_refinement,
        total.notes,
    )


@dataclasses.dataclass(frozen=True)
class _Moments:
    """The work on one chunk of the second pass: powers of every instance's effect, around the known means."""

    errors: Planned
    gap: np.ndarray[Any, Any]
    centres: tuple[float, float]

    def __call__(self, chunk: Dataset) -> Sums:
        rows, notes = one_distribution(chunk.predictions)
        bound, score = self.errors.bind(rows), brier.bind(rows)
        assert isinstance(bound, CellBound)
        assert isinstance(score, MeanBound)
        assert isinstance(chunk.batch, Classes)
        k = rows.n_classes  # type: ignore[attr-defined]
        effect = k * influence(bound.cells, chunk.batch, like(self.gap, bound.cells.groups))
        rest = score.contributions(chunk.batch)[0, :] - effect
        states = {
            name: on_host(State(moment_sums((values - centre)[None, :], None)))
            for name, values, centre in zip(("effect", "rest"), (effect, rest), self.centres, strict=True)
        }
        return Sums(states, notes)
