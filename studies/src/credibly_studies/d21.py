"""Loss and disagreement over raters as D21 prints them: the calibration loss is debiased by its eq. 13.

Predictions in a bin are taken for equal, so that only the spread of the observations is subtracted,

    |bin| / N ((mean mu - mean z)^2 - var0(mu) / (m - 1)),

which is too much where bins are wide. The library subtracts the spread of mu - z. Every other term is the
same in both, and bins of one instance add 0.
"""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from credibly._arrays.errors import UnsupportedError
from credibly._arrays.namespace import HostArray, to_host
from credibly.predictions import Dataset, Rows, as_rows
from credibly.raters import decompose_disagreement as library_disagreement
from credibly.raters import decompose_loss as library_loss
from credibly.raters.disagreement import class_evidence, overall_evidence
from credibly.raters.loss import loss_evidence, single_evidence
from credibly.raters.moments import Evidence
from credibly.raters.population import Population
from credibly.raters.two_passes import Binned, bins_of, edges_of
from credibly.results.decompositions import DisagreementDecomposition, LossDecomposition
from credibly.results.estimates import RootEstimate, signed_root
from credibly.statistics.cells import Binning, Closed

NOTE = "calibration losses are debiased as in eq. 13 of D21"


def decompose_loss(
    predictions: Any,
    counts: Any = None,
    *,
    n_bins: int = 15,
    binning: Binning = "equal_width",
    closed: Closed = "left",
    sample_weight: Any = None,
) -> LossDecomposition:
    """Split the squared loss as in D21.

    Parameters
    ----------
    predictions, counts, n_bins, binning, closed, sample_weight
        As in :func:`credibly.raters.decompose_loss`.

    Returns
    -------
    LossDecomposition
        Calibration, dispersion and refinement follow eq. 13; standard errors are the library's.

    Examples
    --------
    >>> import credibly as cr
    >>> from credibly_studies.d21 import decompose_loss
    >>> counts = cr.LabelCounts([[3, 1], [1, 3], [2, 2], [4, 0]])
    >>> parts = decompose_loss([[0.7, 0.3], [0.6, 0.4], [0.6, 0.4], [0.7, 0.3]], counts, n_bins=2)
    >>> round(parts.calibration.value, 6)  # 2 ((0.625 - 0.65)^2 - 0.078125 / 3)
    -0.050833
    """
    cut, rows = Binned(n_bins, binning, closed), as_rows(predictions, counts, sample_weight)
    population = _population(rows)
    parts = library_loss(rows, n_bins=n_bins, binning=binning, closed=closed)
    columns = printed_losses(population, loss_evidence, cut)
    calibration = _valued(parts.calibration, float(columns.sum()))
    dispersion = _valued(parts.dispersion, parts.epistemic.value - calibration.value)
    each, all_rows = parts.per_class, dict(parts.all_rows)
    every = calibration.value
    if population.n_left_out:
        every = float(printed_losses(population, single_evidence, cut, least=1).sum())
    all_rows["calibration"] = _valued(all_rows["calibration"], every)
    return dataclasses.replace(
        parts,
        calibration=calibration,
        dispersion=dispersion,
        refinement=_valued(parts.refinement, parts.expected.value - calibration.value),
        calibration_error=RootEstimate.of(calibration, "calibration_error"),
        dispersion_error=RootEstimate.of(dispersion, "dispersion_error"),
        per_class=dataclasses.replace(
            each,
            calibration=_valued(each.calibration, columns),
            dispersion=_valued(each.dispersion, each.epistemic.value - columns),
            refinement=_valued(each.refinement, each.expected.value - columns),
        ),
        all_rows=all_rows,
        notes=(*parts.notes, NOTE),
    )


def disagreement(
    predictions: Any,
    counts: Any = None,
    *,
    n_bins: int = 15,
    binning: Binning = "equal_width",
    closed: Closed = "left",
    sample_weight: Any = None,
) -> DisagreementDecomposition:
    """Compare predicted with observed disagreement as in D21.

    Parameters
    ----------
    predictions, counts, n_bins, binning, closed, sample_weight
        As in :func:`credibly.raters.decompose_disagreement`.

    Returns
    -------
    DisagreementDecomposition
        Calibration and refinement follow eq. 13; standard errors are the library's.

    Examples
    --------
    >>> import credibly as cr
    >>> from credibly_studies.d21 import disagreement
    >>> counts = cr.LabelCounts([[3, 1], [1, 3], [2, 2], [4, 0]])
    >>> parts = disagreement([[0.7, 0.3], [0.6, 0.4], [0.6, 0.4], [0.7, 0.3]], counts, n_bins=1)
    >>> round(parts.calibration.value, 6)  # (0.416667 - 0.45)^2 - 0.0625 / 3
    -0.019722
    """
    cut, rows = Binned(n_bins, binning, closed), as_rows(predictions, counts, sample_weight)
    population = _population(rows)
    parts = library_disagreement(rows, n_bins=n_bins, binning=binning, closed=closed)
    calibration = _valued(parts.calibration, float(printed_losses(population, overall_evidence, cut).sum()))
    columns = printed_losses(population, class_evidence, cut)
    each, average, error = parts.per_class, parts.class_average, parts.class_calibration_error
    assert each is not None and average is not None and error is not None
    shared = _valued(average.calibration, float(columns.mean()))
    return dataclasses.replace(
        parts,
        calibration=calibration,
        refinement=_valued(parts.refinement, parts.expected.value - calibration.value),
        calibration_error=RootEstimate.of(calibration, "calibration_error"),
        per_class=dataclasses.replace(
            each,
            calibration=_valued(each.calibration, columns),
            refinement=_valued(each.refinement, each.expected.value - columns),
        ),
        class_average=dataclasses.replace(
            average,
            calibration=shared,
            refinement=_valued(average.refinement, average.expected.value - shared.value),
        ),
        class_calibration_error=_valued(error, float(np.mean([signed_root(column) for column in columns]))),
        notes=(*parts.notes, NOTE),
    )


def _population(rows: Rows) -> Population:
    """Return the rows with two raters or more."""
    if rows.clusters is not None:
        raise UnsupportedError(
            "a decomposition of rows in clusters",
            "leaves out pairs inside a cluster, which eq. 13 of D21 cannot",
            f"got {rows.clusters.number} clusters",
            "Use `credibly.raters`.",
        )
    with warnings.catch_warnings():  # the library says which rows are left out
        warnings.simplefilter("ignore", UserWarning)
        return Population(rows, 2, mean_noted=False)


def _valued(estimate: Any, value: Any) -> Any:
    return dataclasses.replace(estimate, value=value)


def printed_losses(
    population: Population,
    evidence: Callable[[Dataset], Evidence],
    cut: Binned,
    *,
    least: int | None = None,
) -> HostArray:
    """Return the calibration loss of every column by eq. 13, (c,)."""
    edges = edges_of(population, evidence, cut, least)
    tiles = list(population.map(evidence, least=least))
    bins = np.concatenate([to_host(bins_of(tile.predicted, edges, cut.closed)) for tile in tiles], axis=1)
    z = np.concatenate([to_host(tile.predicted) for tile in tiles], axis=1)
    mu = np.concatenate([to_host(tile.observed) for tile in tiles], axis=1)
    weight = np.ones(z.shape[1])
    if tiles[0].weight is not None:
        weight = np.concatenate([to_host(tile.weight) for tile in tiles])
    losses = [
        [
            _in_bin(z[c, inside], mu[c, inside], weight[inside])
            for inside in (bins[c] == b for b in range(cut.n_bins))
        ]
        for c in range(len(z))
    ]
    return np.asarray(np.sum(losses, axis=1) / weight.sum())


def _in_bin(z: HostArray, mu: HostArray, weight: HostArray) -> float:
    """Return the weight of a bin times the mean of d_i d_j over pairs, d = mu - mean z."""
    if np.count_nonzero(weight) < 2:
        return 0.0
    deviation = weight * (mu - np.average(z, weights=weight))
    pairs = deviation.sum() ** 2 - (deviation**2).sum()
    return float(weight.sum() * pairs / (weight.sum() ** 2 - (weight**2).sum()))
