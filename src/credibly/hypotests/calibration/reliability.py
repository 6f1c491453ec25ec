"""Reliability curves with the band that a calibrated model with the same predictions would show."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np

from credibly._arrays.errors import InputError, UnsupportedError
from credibly._arrays.namespace import HostArray, to_host
from credibly._arrays.philox import Seed, as_seed
from credibly._arrays.progress import Progress
from credibly._arrays.tiles import tiles
from credibly.hypotests.calibration.calibration_test import require_resamples
from credibly.hypotests.resampling.chunked import Counted, consistent, replicated_over
from credibly.hypotests.resampling.loop import replicates_per_tile
from credibly.hypotests.resampling.replicates import Replicates
from credibly.predictions import (
    Classes,
    ClassPredictions,
    Dataset,
    Labels,
    Rows,
    as_point,
    as_predictions,
    require_no_labels,
    require_order,
)
from credibly.predictions.passes import Sums, merged, on_host
from credibly.results.base import require_level
from credibly.results.curves import ReliabilityCurve
from credibly.statistics.binned import BinnedStatistic, ClasswiseECE, ConfidenceECE
from credibly.statistics.bins import Binning, Closed
from credibly.statistics.over_rows import Planned, one_distribution


def reliability_curve(
    predictions: Any,
    labels: Any = None,
    *,
    target: int | str = "top_label",
    n_bins: int = 15,
    binning: Binning = "equal_width",
    closed: Closed = "left",
    sample_weight: Any = None,
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
        What was observed; chunks bring their own.
    target : "top_label" or int
        The confidence of the predicted class, or the probability of one class.
    n_bins : int
        Number of bins.
    binning : {"equal_width", "equal_mass"}
        How bins are laid.
    closed : {"left", "right"}
        Which end of a bin belongs to it.
    sample_weight : array (n,), optional
        Non-negative weights of the instances.
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
    return classwise_curves(
        predictions,
        labels,
        targets=[target],
        n_bins=n_bins,
        binning=binning,
        closed=closed,
        sample_weight=sample_weight,
        level=level,
        n_resamples=n_resamples,
        rng=rng,
    )[0]


def classwise_curves(
    predictions: Any,
    labels: Any = None,
    *,
    targets: list[int | str],
    n_bins: int = 15,
    binning: Binning = "equal_width",
    closed: Closed = "left",
    sample_weight: Any = None,
    level: float | None = 0.95,
    n_resamples: int = 999,
    rng: Any = None,
    progress: Progress | None = None,
) -> list[ReliabilityCurve]:
    """Return one curve per target on shared replicates; see :func:`reliability_curve`."""
    kinds = {
        "top": ConfidenceECE(n_bins=n_bins, binning=binning, closed=closed),
        "each": ClasswiseECE(n_bins=n_bins, binning=binning, closed=closed),
    }
    if isinstance(predictions, Rows):
        require_no_labels(labels, sample_weight)
        given, observed = predictions.sample.predictions, predictions.sample.batch
        kinds["top"].labels(given, observed)
    else:
        require_order(predictions, labels)
        given = as_predictions(predictions)
        observed = kinds["top"].labels(given, labels, sample_weight)
    assert isinstance(given, ClassPredictions)  # the errors above take no others
    k = given.n_classes
    for target in targets:
        if target != "top_label" and not _is_class(target, k):
            raise InputError(
                "`target`",
                f'must be "top_label" or a class from 0 to {k - 1}',
                f"got {target!r}",
                "Name one class by its index.",
            )
    if level is not None:
        _require_single_labels(observed)
        require_level(level)
        require_resamples(n_resamples)
    needed = {("top" if target == "top_label" else "each") for target in targets}
    kinds = {name: one for name, one in kinds.items() if name in needed}
    drawn = 0 if level is None else n_resamples
    if isinstance(predictions, Rows):
        cells = _cells_over(kinds, predictions, drawn, as_seed(rng), progress)
    else:
        cells = _cells(kinds, given, observed, drawn, as_seed(rng))
    curves = []
    for target in targets:
        name = "top" if target == "top_label" else "each"
        found = cells[name]
        own = slice(None) if name == "top" else slice(int(target) * n_bins, (int(target) + 1) * n_bins)
        edges = found.edges if found.edges.ndim == 1 else found.edges[int(target)]
        size = found.sums["size"][own]
        with np.errstate(invalid="ignore", divide="ignore"):
            predicted, frequency = found.sums["predicted"][own] / size, found.sums["observed"][own] / size
        curves.append(
            ReliabilityCurve(
                name="top label" if name == "top" else f"class {target}",
                edges=edges,
                weight=size,
                predicted=predicted,
                observed=frequency,
                band=None if level is None else _band(found.frequencies[:, own], level),
                level=level,
                n=predictions.n if isinstance(predictions, Rows) else len(given),
            )
        )
    return curves


@dataclasses.dataclass(frozen=True)
class _Cells:
    """Edges of bins, sums per cell over the observed labels, and frequencies (b, cells) of replicates."""

    edges: HostArray
    sums: dict[str, HostArray]
    frequencies: HostArray


def _cells(
    kinds: Mapping[str, BinnedStatistic], given: Any, observed: Labels, n_resamples: int, seed: Seed
) -> dict[str, _Cells]:
    """Count rows in memory; replicates in tiles."""
    replicates = Replicates(as_point(given)[0].probs, seed) if n_resamples else None
    found = {}
    for name, statistic in kinds.items():
        plan = statistic.plan(given)
        bound = statistic.bind(given, plan)
        sums = {key: to_host(value)[0] for key, value in bound.state(observed).items()}
        drawn = []
        if replicates is not None:
            for reps in tiles(n_resamples, replicates_per_tile(len(given), replicates)):
                batch = replicates.labels(reps)
                state = bound.state(Classes(batch.values, batch.n_classes, observed.weights))
                drawn.append(_frequency({key: to_host(value) for key, value in state.items()}))
        frequencies = np.concatenate(drawn) if drawn else np.empty((0, sums["size"].size))
        found[name] = _Cells(np.asarray(plan.edges), sums, frequencies)
    return found


def _cells_over(
    kinds: Mapping[str, BinnedStatistic],
    chunks: Rows,
    n_resamples: int,
    seed: Seed,
    progress: Progress | None,
) -> dict[str, _Cells]:
    """Count rows that come in chunks."""
    plans = {name: Planned(one, one.plan(chunks)) for name, one in kinds.items()}
    sums: dict[str, dict[str, HostArray]] = {}
    drawn: dict[str, list[HostArray]] = {name: [] for name in kinds}
    if not n_resamples:
        (total,) = merged(chunks, [_ObservedCells(plans)], progress)
        sums = {name: {key: value[0] for key, value in total.states[name].items()} for name in kinds}
    counted = {name: Counted(one.bind) for name, one in plans.items()}
    for reps, total in (
        replicated_over(counted, {"": consistent(seed)}, chunks, n_resamples, progress) if n_resamples else ()
    ):
        first = int(reps.start == 0)  # the observation stands in front of the first replicates
        for name in kinds:
            if first:
                sums[name] = {key: value[0] for key, value in total.states[name].items()}
            drawn[name].append(_frequency({key: value[first:] for key, value in total.states[name].items()}))
    return {
        name: _Cells(
            np.asarray(one.plan.edges),
            sums[name],
            np.concatenate(drawn[name]) if n_resamples else np.empty((0, 0)),
        )
        for name, one in plans.items()
    }


@dataclasses.dataclass(frozen=True)
class _ObservedCells:
    """The work on one chunk where nothing is drawn: sums per cell."""

    plans: Mapping[str, Planned]

    def __call__(self, chunk: Dataset) -> Sums:
        rows, notes = one_distribution(chunk.predictions)
        return Sums(
            {name: on_host(one.bind(rows).state(chunk.batch)) for name, one in self.plans.items()}, notes
        )


def _frequency(state: Mapping[str, HostArray]) -> HostArray:
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(state["observed"] / state["size"])


def _require_single_labels(labels: Labels) -> None:
    """Raise for label counts: how much raters of one instance vary together is not in the predictions."""
    if not isinstance(labels, Classes):
        raise UnsupportedError(
            "the consistency band",
            "is drawn with one label per instance",
            "got label counts",
            "Pass `level=None` for the curve without a band.",
        )


def _is_class(target: object, n_classes: int) -> bool:
    if isinstance(target, bool) or not isinstance(target, (int, np.integer)):
        return False
    return 0 <= int(target) < n_classes


def _band(frequencies: HostArray, level: float) -> tuple[HostArray, HostArray]:
    """Return per-cell quantiles of the observed frequency over replicates."""
    half = (1 - level) / 2
    low, high = np.quantile(frequencies, [half, 1 - half], axis=0)
    return low, high
