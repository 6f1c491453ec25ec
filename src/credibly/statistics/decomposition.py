"""Brier loss = calibration loss + refinement loss.

Calibration is the squared class-wise binned error summed over classes (debiased by default), refinement what
is left: the loss of a recalibrated model that keeps the same bins.   DeGroot and Fienberg 1983; Murphy 1973.
"""

from __future__ import annotations

import dataclasses
from typing import Any

from credibly._arrays.namespace import to_host
from credibly._arrays.results import Estimate, Result
from credibly.predictions import Classes, as_predictions, require_order
from credibly.statistics.binned import ClasswiseECE
from credibly.statistics.bins import Binning, Closed
from credibly.statistics.cells import CellBound
from credibly.statistics.debiased import SPARSE_REFUSAL, influence, is_sparse
from credibly.statistics.means import mean_refusal, standard_error
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
    labels: Any,
    *,
    n_bins: int = 15,
    binning: Binning = "equal_width",
    closed: Closed = "left",
    debiased: bool = True,
) -> BrierDecomposition:
    """Split the Brier score into calibration and refinement loss.

    Parameters
    ----------
    predictions : Predictions or array
        Class predictions.
    labels : array (n,) or LabelCounts
        What was observed.
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
    require_order(predictions, labels)
    given = as_predictions(predictions)
    errors = ClasswiseECE(n_bins=n_bins, binning=binning, closed=closed, p=2, debiased=debiased)
    batch = errors.labels(given, labels)
    bound, score = errors.bind(given), brier.bind(given)
    assert isinstance(bound, CellBound)
    assert isinstance(score, MeanBound)
    k = given.n_classes  # type: ignore[attr-defined]
    error = float(to_host(bound(batch))[0])
    calibration = k * (error if debiased else error**2)
    loss = float(to_host(score(batch))[0])
    settings = {**errors.settings(), "n_classes": k}

    unknown = "standard errors are known for the debiased split of single labels only"
    of_calibration: tuple[float | None, str | None] = (None, unknown)
    of_refinement = of_calibration
    if debiased and isinstance(batch, Classes) and is_sparse(bound.cells):
        of_calibration = of_refinement = (None, SPARSE_REFUSAL)
    elif debiased and isinstance(batch, Classes):
        effect = k * influence(bound.cells, batch)
        rest = score.contributions(batch)[0, :] - effect
        of_calibration = (standard_error(effect), None)
        of_refinement = (standard_error(rest), mean_refusal(rest))

    def part(name: str, value: float, error: tuple[float | None, str | None]) -> Estimate:
        return Estimate(name, value, error[0], len(given), settings, bound.notes, error[1])

    stderr, why = score.stderr(batch)
    return BrierDecomposition(
        Estimate("brier", loss, stderr, len(given), {}, score.notes, why),
        part("calibration_loss", calibration, of_calibration),
        part("refinement_loss", loss - calibration, of_refinement),
    )
