"""Second labels: stated against supported ignorance."""

from __future__ import annotations

import numpy as np

from credibly._arrays.notes import counted
from credibly.evaluation import shown
from credibly.plots.pictures import Picture, draws, mark, ranges
from credibly.results.ignorance import Ignorance


@draws(Ignorance, "ignorance")
def ignorance(found: Ignorance) -> Picture:
    """Supported against stated ignorance of instances that state similar ignorance.

    Parameters
    ----------
    found : Ignorance
        From `credibly.raters.ignorance`.
    """
    bins = found.by_size
    known = np.isfinite(bins.low)
    ends = np.concatenate([bins.stated, bins.supported, bins.high[known], [1e-6]])
    low = min(0.0, float(np.concatenate([bins.supported, bins.low[known]]).min()))
    top = 1.08 * float(ends.max())
    error = np.where(known, [bins.supported - bins.low, bins.high - bins.supported], 0.0)
    outside = known & ((bins.stated < bins.low) | (bins.stated > bins.high))
    return Picture(
        "Ignorance by its size",
        f"In {int(outside.sum())} of {counted(len(bins.count), 'bin')} the stated ignorance lies outside the "
        f"95 % interval of what pairs of labels support; on average {shown(found.stated.value)} is stated "
        f"and {shown(found.supported.value)} supported.",
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
