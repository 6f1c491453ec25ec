"""Predicted against observed, bin by bin, with the band that chance explains: frequencies, and errors."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from credibly._arrays.errors import InputError
from credibly._arrays.namespace import HostArray
from credibly._arrays.notes import capital
from credibly.evaluation import shown
from credibly.evaluation.stages import mean_gap
from credibly.plots.drawing import BLUE, Style
from credibly.plots.pictures import Mark, Picture, draws, mark, near_and_far, ranges
from credibly.results.curves import CorpCurve, ReliabilityCurve, SpreadCurve

_ROUNDING = 1e-12
CONFIDENCE = ("Confidence against accuracy", "confidence of the model", "how often it was right")
COUNTS_DEPTH = 0.17
"""How far bars of counts reach below zero, of axes from 0 to 1."""


@dataclasses.dataclass(frozen=True)
class Bins:
    """Bins that hold instances: their edges, means, counts (or total weights), and the band of the means."""

    left: HostArray
    right: HostArray
    predicted: HostArray
    observed: HostArray
    count: HostArray
    low: HostArray | None = None
    high: HostArray | None = None

    @classmethod
    def filled(cls, edges: HostArray, count: HostArray, *columns: HostArray) -> Bins:
        """Leave out empty bins; `columns` are predicted, observed and the ends of the band."""
        filled = count > 0
        predicted, observed, *band = (column[filled] for column in columns)
        return cls(edges[:-1][filled], edges[1:][filled], predicted, observed, count[filled], *band)

    @property
    def outside(self) -> HostArray:
        """Which bins lie outside their band; none where there is no band."""
        if self.low is None or self.high is None:
            return np.zeros(self.observed.shape, dtype=bool)
        return (self.observed < self.low - _ROUNDING) | (self.observed > self.high + _ROUNDING)

    def dots(self) -> list[Mark]:
        """Return one dot per bin."""
        labels = ("observed" if self.low is None else "inside its band", "outside its band")
        style: Style = {"markersize": 6.0, "small": {"markersize": 4.0}, "zorder": 3}
        return near_and_far(self.predicted, self.observed, self.outside, labels, **style)

    def band(self, label: str, low: HostArray, high: HostArray) -> Mark:
        """Return the band of chance as one box per bin."""
        style: Style = {"alpha": 0.35, "edgecolor": BLUE, "linewidth": 0.6, "zorder": 1}
        return mark("boxes", "chance", self.left, self.right, low, high, label=label, **style)

    def marks(self, top: float, label: str) -> list[Mark]:
        """Return diagonal, band and dots on axes up to `top`."""
        marks = [diagonal(top, "perfect calibration")]
        if self.low is not None and self.high is not None:
            least = 0.006 * top  # a band of no height still has to be seen, within the range of the values
            low = np.minimum(self.low, top - least)
            marks.append(self.band(label, low, np.maximum(self.high, low + least)))
        return [*marks, *self.dots()]

    def shared(self, expected: Mark) -> list[Mark]:
        """Return one line per model; dots of bins outside the model's band are filled."""
        far = self.outside
        marks = [
            expected,
            mark("line", "observed", self.predicted, self.observed, markerfacecolor="none", zorder=3),
        ]
        if far.any():
            marks.append(mark("dots", "far", self.predicted[far], self.observed[far], zorder=3))
        if self.low is not None:
            style: Style = {"linestyle": "none", "marker": "o", "markersize": 5}
            marks.append(mark("line", "ink", [], [], label="filled: outside its band", **style))
        return marks

    def columns(self, by: str = "bin", **middle: HostArray) -> dict[str, Any]:
        """Return the table of the bins."""
        middle = middle or {"predicted": self.predicted, "observed": self.observed}
        columns = {by: ranges(self.left, self.right), "instances": self.count, **middle}
        if self.low is None or self.high is None:
            return columns
        return {**columns, "band": ranges(self.low, self.high), "outside": self.outside}

    def share_outside(self, level: float, what: str) -> str:
        """Say how many bins lie outside their band, and how many would by chance."""
        bins, out = len(self.count), int(self.outside.sum())
        verb = "lies outside its" if out == 1 else "lie outside their"
        return (
            f"{out} of {bins} {what} {verb} {100 * level:.4g} % band "
            f"(about {(1 - level) * bins:.1f} would by chance)"
        )


def diagonal(top: float = 1.0, label: str | None = None) -> Mark:
    """Return the line where both axes say the same."""
    return mark("line", "expected", [0, top], [0, top], label=label, linewidth=0.9, zorder=2)


def hanging_counts(left: HostArray, right: HostArray, count: HostArray) -> list[Mark]:
    """Return numbers of instances as bars that hang from zero."""
    middle, half = (left + right) / 2, 0.45 * (right - left)
    depth = COUNTS_DEPTH * count / float(count.max())
    style: Style = {"alpha": 0.3, "linewidth": 0, "zorder": 1}
    bars = (middle - half, middle + half, -depth, 0 * depth)
    return [mark("across", "ink", 0), mark("boxes", "ink", *bars, **style)]


def unit_square(below: float, below_small: float) -> dict[str, Any]:
    """Return axes that show shares from 0 to 1 on both sides, and what hangs below zero."""

    def settings(below: float, ticks: list[float]) -> dict[str, Any]:
        names: Any = (ticks, [f"{tick:g}" for tick in ticks], {})
        return {"xlim": (-0.02, 1.02), "ylim": (-below, 1.03), "xnames": names, "ynames": names}

    return {
        "axes": settings(below, [0, 0.2, 0.4, 0.6, 0.8, 1]),
        "small_axes": settings(below_small, [0, 0.5, 1]),
        "shared_axes": {"xlim": (-0.02, 1.02), "ylim": (-0.02, 1.02)},
    }


def _short(count: float) -> str:
    """Write a number of instances in at most four characters."""
    if count < 1000:
        return f"{count:.3g}"
    return f"{count / 1e3:.2g}k" if count < 99_500 else f"{count / 1e6:.2g}M"


def reliability_words(curve: ReliabilityCurve | CorpCurve) -> dict[str, Any]:
    """Return title and labels of a diagram of confidence, or of the probability of a class."""
    words = CONFIDENCE
    if curve.target is not None:
        words = (curve.name, "predicted probability", "observed frequency")
    return dict(zip(("title", "xlabel", "ylabel"), words, strict=True))


@draws(ReliabilityCurve, "reliability")
def reliability(curve: ReliabilityCurve) -> Picture:
    """Predicted probability against observed frequency, with consistency band and counts.

    The band of a bin contains the frequencies of labels drawn from the predictions themselves (Broecker and
    Smith 2007): a point outside its band deviates by more than chance explains in that bin.

    Parameters
    ----------
    curve : ReliabilityCurve
        From `credibly.reliability_curve` or an evaluation.
    """
    bins = Bins.filled(curve.edges, curve.weight, curve.predicted, curve.observed, *(curve.band or ()))
    gap = np.abs(bins.observed - bins.predicted)
    worst = int(np.argmax(np.where(bins.outside, 2.0, 1.0) * bins.count * gap))
    what = "confidence" if curve.target is None else "predicted probability"
    side = "above" if bins.observed[worst] > bins.predicted[worst] else "below"
    finding = (
        f"the gap with the largest weight is at {what} {shown(float(bins.predicted[worst]))}, where the "
        f"observed frequency is {shown(float(gap[worst]))} {side} it "
        f"({bins.count[worst]:g} of {curve.n} instances)"
    )
    summary = f"Error {shown(mean_gap(curve))}"
    if curve.level is not None:
        out = int(bins.outside.sum())
        summary += (
            f"; {out} of {len(bins.count)} non-empty bins outside {'its' if out == 1 else 'their'} band"
        )
        finding = f"{bins.share_outside(curve.level, 'non-empty bins')}; {finding}"
    counts: Style = {"ha": "center", "va": "top", "fontsize": 7.5, "small": None}
    marks = [
        *bins.marks(1.0, f"{100 * (curve.level or 0):.4g} % band of chance"),
        *hanging_counts(bins.left, bins.right, bins.count),
        *(
            mark("words", "ink", _short(count), (x, -COUNTS_DEPTH - 0.015), **counts)
            for x, count in zip((bins.left + bins.right) / 2, bins.count, strict=True)
        ),
    ]
    return Picture(
        finding=f"{capital(finding)}.",
        summary=f"{summary}.",
        columns=bins.columns(),
        marks=marks,
        shared=bins.shared(diagonal()),
        **reliability_words(curve),
        **unit_square(COUNTS_DEPTH + 0.08, COUNTS_DEPTH + 0.03),
    )


def worst_first(curves: Sequence[ReliabilityCurve], limit: int = 12) -> list[ReliabilityCurve]:
    """Return the curves with the largest errors, for small multiples; equal errors keep their order.

    Parameters
    ----------
    curves : sequence of ReliabilityCurve
        One per class, such as ``evaluation.curves.per_class``.
    limit : int
        How many to return at most.

    Returns
    -------
    list of ReliabilityCurve
        The worst first.
    """
    if not curves or limit < 1:
        raise InputError(
            "`curves` and `limit`",
            "must leave at least one class to show",
            f"got {len(curves)} curves and limit {limit!r}",
            "Give the curves of an evaluation, `evaluation.curves.per_class`.",
        )
    return sorted(curves, key=lambda curve: -mean_gap(curve))[:limit]


@draws(SpreadCurve, "spread")
def spread(curve: SpreadCurve) -> Picture:
    """Root mean squared error against stated spread, in bins of the stated spread, with the band of chance.

    The band of a bin contains the errors of labels drawn from the predictions themselves; above the diagonal,
    errors are larger than stated.

    Parameters
    ----------
    curve : SpreadCurve
        From `credibly.hypotests.spread_curve` or an evaluation.
    """
    bins = _by_stated_spread(curve, curve.observed, curve.band)
    highest = [bins.predicted.max(), bins.observed.max(), *([] if bins.high is None else [bins.high.max()])]
    top = 1.05 * float(max(highest))
    return Picture(
        "Stated spread against errors",
        _farthest(curve, bins, bins.observed / bins.predicted, ""),
        bins.columns(),
        bins.marks(top, f"{100 * (curve.level or 0):.4g} % band of chance"),
        "stated spread",
        "root mean squared error",
        axes={"xlim": (0, top), "ylim": (0, top)},
        shared=bins.shared(mark("diagonal", "expected", (0, 0), (1, 1))),
    )


@draws(SpreadCurve, "z")
def z_scores(curve: SpreadCurve) -> Picture:
    """Errors in units of the stated spread, in bins of the stated spread, with the band of chance.

    z = (label - mean) / stated spread has a root mean square of 1 wherever the spread is right: above it the
    model is too sure there, below it too unsure.

    Parameters
    ----------
    curve : SpreadCurve
        From `credibly.hypotests.spread_curve` or an evaluation.
    """
    bins = _by_stated_spread(curve, curve.z, curve.z_band)
    marks = [mark("across", "expected", 1.0, label="perfect calibration")]
    if bins.low is not None and bins.high is not None:
        marks.append(bins.band(f"{100 * (curve.level or 0):.4g} % band of chance", bins.low, bins.high))
    return Picture(
        "z-scores by stated spread",
        _farthest(curve, bins, bins.observed, " times that"),
        bins.columns("stated spread", z=bins.observed),
        [*marks, *bins.dots()],
        "stated spread",
        "root mean squared z-score",
        axes={"ylim": (0.0, None)},
    )


def _by_stated_spread(
    curve: SpreadCurve, observed: HostArray, band: tuple[HostArray, HostArray] | None
) -> Bins:
    # the outermost bins have no end of their own
    left = np.where(curve.left > 0, curve.left, curve.stated)
    right = np.where(np.isfinite(curve.right), curve.right, curve.stated)
    return Bins(left, np.maximum(left, right), curve.stated, observed, curve.weight, *(band or ()))


def _farthest(curve: SpreadCurve, bins: Bins, ratio: HostArray, unit: str) -> str:
    """Say where errors are farthest from the stated spread, and how many bins leave their band."""
    off = np.abs(np.log(np.clip(ratio, 1e-300, None)))
    worst = int(np.argmax(np.where(bins.outside, 2.0, 1.0) * bins.count * off))
    finding = (
        f"where it states a spread of {shown(float(bins.predicted[worst]))}, its errors are "
        f"{shown(float(bins.observed[worst]))}{unit} ({bins.count[worst]:g} of {curve.n} instances)"
    )
    if curve.level is not None:
        finding = f"{bins.share_outside(curve.level, 'bins')}; {finding}"
    return f"{capital(finding)}."
