"""Pictures of studies: numbers with intervals side by side, checks before and after, losses by raters."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from credibly._arrays.errors import InputError
from credibly.evaluation import shown, shown_range, title
from credibly.plots import Picture, draws, mark
from credibly.plots.drawing import Style, line_style
from credibly.plots.hypotests import strip
from credibly.plots.pictures import slanted
from credibly.results.decompositions import LossDecomposition
from credibly.results.predictive import PredictiveCheck
from credibly_studies.judging import Interval

Series = Mapping[str, Mapping[str, tuple[float, Interval | None]]]
"""Values with intervals, by series and by name below the axis."""


def intervals_picture(heading: str, quantity: str, series: Series, *, zero: bool = False) -> Picture:
    """Return values with intervals, several series beside each other over common names.

    Parameters
    ----------
    heading, quantity : str
        Title, and what is on the axis.
    series : mapping of str to mapping of str to (float, interval or None)
        Values by series and name; a name that a series lacks is left out there.
    zero : bool
        Whether a line marks zero.

    Returns
    -------
    Picture
        The figure of a study that is a table of estimates.
    """
    names = tuple(dict.fromkeys(name for values in series.values() for name in values))
    # values and both ends of their intervals; NaN where there are none
    cells = np.full((3, len(series), len(names)), np.nan)
    for row, named in enumerate(series.values()):
        for name, (value, ends) in named.items():
            cells[:, row, names.index(name)] = (value, *(ends or (np.nan, np.nan)))
    least, column = divmod(int(np.nanargmin(cells[0])), len(names))
    smallest = shown(float(cells[0, least, column]))
    marks = [mark("across", "ink", 0)] if zero else []
    for place, (name, (values, low, high)) in enumerate(zip(series, cells.swapaxes(0, 1), strict=True)):
        # a little beside the series before
        at = np.arange(len(names)) + (place - (len(series) - 1) / 2) * min(0.12, 0.7 / len(series))
        style: Style = {"yerr": np.nan_to_num(np.stack([values - low, high - values])), "markersize": 4.5}
        style |= {**line_style(place), "linestyle": "none"}
        marks.append(mark("errorbar", "observed", at, values, label=name, **style))
    return Picture(
        heading,
        f"{quantity} is smallest for {names[column]}, {list(series)[least]}: {smallest}.",
        {"name": names, **dict(zip(series, cells[0], strict=True))},
        marks,
        ylabel=quantity,
        size=(6.4, 4.8),
        axes=slanted(names),
        key_below=0.3,
    )


@draws(PredictiveCheck, "before_after")
def before_after(before: PredictiveCheck, after: PredictiveCheck, hypothesis: str | None = None) -> Picture:
    """Checks before and after recalibration (P21 Fig. 9).

    Parameters
    ----------
    before, after : PredictiveCheck
        Checks of the same statistics on the same data.
    hypothesis : {"bayesian", "independent"}, optional
        Which hypothesis. Default: the Bayesian one if both checks tested it.
    """
    if before.statistics != after.statistics:
        raise InputError(
            "`before` and `after`",
            "must check the same statistics",
            f"got {before.statistics} and {after.statistics}",
            "Run both checks with the same `statistics`.",
        )
    common = [name for name in before.hypotheses if name in after.hypotheses]
    if hypothesis is None and not common:
        raise InputError(
            "`before` and `after`",
            "must test a common hypothesis",
            f"got {list(before.hypotheses)} and {list(after.hypotheses)}",
            "Run both checks under one hypothesis.",
        )
    chosen = common[0] if hypothesis is None else hypothesis
    lines = {
        f"{title(name)}, {when}": check.under(chosen).checks[name]
        for name in before.statistics
        for when, check in (("before", before), ("after", after))
    }
    return strip(lines, f"Recalibration, {chosen}")


def debiasing_picture(by_raters: Mapping[int, LossDecomposition], whole: LossDecomposition) -> Picture:
    """Return plug-in and unbiased epistemic loss against the number of raters (D21 Figure 2b).

    Parameters
    ----------
    by_raters : mapping of int to LossDecomposition
        Decompositions of subsampled raters, by their number.
    whole : LossDecomposition
        The decomposition of all raters.

    Returns
    -------
    Picture
        Both losses with the interval of the unbiased one, and the value of all raters.
    """
    if not by_raters:
        raise InputError(
            "`by_raters`", "must hold at least one result", "got none", "Pass one by its number."
        )
    raters, reference = sorted(by_raters), whole.epistemic.value
    parts = [by_raters[number] for number in raters]
    unbiased = np.array([part.epistemic.value for part in parts])
    plugin = np.array([part.plugin.epistemic.value for part in parts])
    low, high = np.array([part.epistemic.interval() for part in parts]).T
    n_inside = int(((low <= reference) & (reference <= high)).sum())
    style: Style = {"markersize": 5, "linewidth": 1.2}
    errors = np.stack([unbiased - low, high - unbiased])
    label = "unbiased, 95 % interval"
    return Picture(
        "Debiasing against raters",
        f"The interval of the unbiased loss contains the value of all raters in {n_inside} of {len(low)} "
        f"cases; with {raters[0]:g} raters the plug-in gives "
        f"{shown(float(plugin[0]))} instead of {shown(reference)} "
        f"(interval {shown_range((float(low[0]), float(high[0])))}).",
        {"n raters": raters, "unbiased": unbiased, "plugin": plugin, "low": low, "high": high},
        [
            mark("across", "expected", reference, label="all raters"),
            mark("errorbar", "observed", raters, unbiased, errors, label=label, **style),
            mark("line", "far", raters, plugin, marker="D", label="plug-in", **style),
        ],
        "raters per instance",
        "epistemic loss",
        size=(5.0, 3.8),
        axes={"xscale": "log", "xnames": (raters, [f"{number:g}" for number in raters], {})},
    )
