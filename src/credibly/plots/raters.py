"""Several labels per instance: disagreement, and where the epistemic loss lies.

D21 Figures 1 and 2a (Mimori et al. 2021).
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from credibly._arrays.namespace import HostArray
from credibly._arrays.notes import counted
from credibly.evaluation import shown
from credibly.plots.bins import Bins
from credibly.plots.drawing import Style
from credibly.plots.pictures import Mark, Picture, as_model, draws, mark, ranges
from credibly.results.decompositions import DisagreementDecomposition, LossDecomposition
from credibly.results.estimates import interval_of
from credibly.results.ignorance import Ignorance


@draws(DisagreementDecomposition, "disagreement")
def disagreement(parts: DisagreementDecomposition, level: float = 0.95) -> Picture:
    """Predicted against observed disagreement, with the band that follows from the numbers of raters (D21).

    Parameters
    ----------
    parts : DisagreementDecomposition
        From `credibly.raters.decompose_disagreement`, for pairs of raters.
    level : float
        Coverage of the sampling band in each bin.
    """
    pairs = parts.bins
    edges = pairs.edges if pairs.edges.ndim == 1 else pairs.edges[0]
    columns = (pairs.count, pairs.predicted, pairs.observed, *pairs.band(level))
    bins = Bins.filled(edges, *(column[0] for column in columns))
    assert bins.high is not None
    gap = bins.observed - bins.predicted
    worst = int(np.argmax(bins.count * np.abs(gap)))
    top = 1.05 * float(max(bins.right.max(), bins.observed.max(), bins.high.max()))
    return Picture(
        "Disagreement of two raters",
        f"{int(bins.outside.sum())} of {len(bins.count)} non-empty bins lie outside the "
        f"{100 * level:.4g} % band that the number of raters implies; where the weight is "
        f"largest, at predicted {shown(float(bins.predicted[worst]))}, raters disagree "
        f"{shown(float(abs(gap[worst])))} {'more' if gap[worst] > 0 else 'less'} than predicted "
        f"({counted(int(bins.count[worst]), 'instance')}).",
        bins.columns(),
        bins.marks(top, f"{100 * level:.4g} % sampling band of the raters"),
        "predicted disagreement",
        "observed disagreement",
        axes={"xlim": (-0.02 * top, top), "ylim": (-0.02 * top, top)},
        shared=bins.shared(mark("diagonal", "expected", (0, 0), (1, 1))),
    )


@draws(LossDecomposition, "loss_map", several=True)
def loss_map(parts: LossDecomposition | Mapping[str, LossDecomposition]) -> Picture:
    """Calibration error against dispersion error, one point per model, with arcs of equal epistemic loss.

    Parameters
    ----------
    parts : LossDecomposition or mapping of str to LossDecomposition
        One model, or several by name. An error below zero means that its square was estimated below zero.
    """
    named = dict(parts) if isinstance(parts, Mapping) else {"model": parts}
    pairs = ((model.calibration_error, model.dispersion_error) for model in named.values())
    errors = np.array(
        [[(part.value, *(interval_of(part) or (np.nan, np.nan))) for part in pair] for pair in pairs]
    )
    values = errors[..., 0]
    squares = values * np.abs(values)
    best = int(np.argmin(squares.sum(axis=1)))
    most = "dispersion" if squares[best, 1] >= squares[best, 0] else "calibration"
    lead = "Most of the epistemic loss"
    if len(named) > 1:
        lead = f"{list(named)[best]} has the smallest epistemic loss; most of it"
    ends = errors[np.isfinite(errors)]
    reach = 1.08 * float(max(ends.max(), 1e-6))
    low = min(-0.04 * reach, 1.08 * float(ends.min()))
    centre, wide, high = errors.reshape(-1, 3).T
    marks = _arcs(0.2 * reach, 7)
    for place, (name, error) in enumerate(zip(named, errors, strict=True)):
        marks += as_model(_cross(error), place, name)
    return Picture(
        "Calibration and dispersion",
        f"{lead} is {most} loss (calibration error {shown(float(values[best, 0]))}, "
        f"dispersion error {shown(float(values[best, 1]))}).",
        {
            "model": np.repeat(list(named), 2),
            "error": ["calibration error", "dispersion error"] * len(named),
            "value": centre,
            "95 % interval": ranges(wide, high),
        },
        marks,
        "calibration error",
        "dispersion error",
        size=(4.6, 4.6),
        axes={"xlim": (low, reach), "ylim": (low, reach), "aspect": "equal"},
        # models to come may lie farther out
        shared=[*_arcs(0.2 * reach, 28), *(part for error in errors for part in _cross(error))],
    )


def _arcs(step: float, count: int) -> list[Mark]:
    """Return arcs of equal epistemic loss, and both axes."""
    angle = np.linspace(0, np.pi / 2, 60)
    arcs = [
        mark("line", "ink", radius * np.cos(angle), radius * np.sin(angle), alpha=0.2)
        for radius in step * np.arange(1, count + 1)
    ]
    return [*arcs, mark("across", "ink", 0), mark("upright", "ink", 0)]


def _cross(errors: HostArray) -> list[Mark]:
    """Return the point of a model with the intervals of both errors, (2, 3)."""
    (x, *wide), (y, *high) = errors
    whiskers: Style = {"linestyle": "-", "marker": None, "linewidth": 1.2}
    return [
        mark("line", "observed", [x], [y], linestyle="none", markersize=6),
        mark("line", "far", wide, [y, y], **whiskers),
        mark("line", "far", [x, x], high, **whiskers),
    ]


@draws(Ignorance, "ignorance")
def ignorance(result: Ignorance) -> Picture:
    """Supported against stated ignorance of instances that state similar ignorance.

    Parameters
    ----------
    result : Ignorance
        From `credibly.raters.ignorance`.
    """
    bins = result.by_size
    known = np.isfinite(bins.low)
    ends = np.concatenate([bins.stated, bins.supported, bins.high[known], [1e-6]])
    low = min(0.0, float(np.concatenate([bins.supported, bins.low[known]]).min()))
    top = 1.08 * float(ends.max())
    error = np.where(known, [bins.supported - bins.low, bins.high - bins.supported], 0.0)
    outside = known & ((bins.stated < bins.low) | (bins.stated > bins.high))
    return Picture(
        "Ignorance by its size",
        f"In {int(outside.sum())} of {counted(len(bins.count), 'bin')} the stated ignorance lies outside the "
        f"95 % interval of what pairs of labels support; on average {shown(result.stated.value)} is stated "
        f"and {shown(result.supported.value)} supported.",
        {
            "instances": bins.count,
            "stated": bins.stated,
            "supported": bins.supported,
            "95 % interval": ranges(bins.low, bins.high),
        },
        [
            mark("diagonal", "expected", (0, 0), (1, 1), label="honest"),
            mark(
                "errorbar",
                "observed",
                bins.stated,
                bins.supported,
                error,
                label="supported, 95 % interval",
                linestyle="none",
                capsize=2,
            ),
        ],
        "stated ignorance (variance)",
        "supported by pairs of labels",
        axes={"xlim": (0.0, 1.08 * float(bins.stated.max()) or 1.0), "ylim": (1.08 * low, top)},
    )
