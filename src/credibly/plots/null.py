"""The null distribution of a test: what the statistic would be if the hypothesis held, and what it is."""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from credibly._arrays.errors import UnsupportedError
from credibly._arrays.namespace import HostArray
from credibly.evaluation import shown, shown_range, title
from credibly.plots.display import Display, Table, Words, drawing_of
from credibly.plots.style import BLUE, INK, SKY, VERMILION, draw_boxes
from credibly.results.tests import HypotestResult

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_BINS = 30


@dataclasses.dataclass(frozen=True)
class NullDisplay(Display):
    """What the picture of a null distribution shows.

    Attributes
    ----------
    name : str
        The statistic.
    edges : ndarray (b + 1,)
        Edges of the histogram.
    counts : ndarray (b,)
        Replicates per bin.
    n_infinite : int
        Replicates without a finite value, which no histogram can show.
    observed : float
        The statistic on the observed labels.
    acceptance : tuple of float
        Values the test would not reject; an end may be infinite.
    pvalue : float
        p-value of the test.
    """

    size: ClassVar[tuple[float, float]] = (5.0, 3.2)

    name: str
    edges: HostArray
    counts: HostArray
    n_infinite: int
    observed: float
    acceptance: tuple[float, float]
    pvalue: float

    @property
    def inside(self) -> bool:
        """Whether the observation lies in the acceptance region."""
        return self.acceptance[0] <= self.observed <= self.acceptance[1]

    @property
    def finding(self) -> str:
        """The picture in one sentence."""
        where = "inside" if self.inside else "outside"
        lost = f" {self.n_infinite} replicates are infinite and not drawn." if self.n_infinite else ""
        return (
            f"{title(self.name)} {shown(self.observed)} lies {where} the acceptance region "
            f"({shown_range(self.acceptance)}), p = {shown(self.pvalue)}.{lost}"
        )

    @property
    def words(self) -> Words:
        """Title and axis labels."""
        return Words(title(self.name))

    def _marks(self, ax: Axes, small: bool) -> None:
        """Draw histogram, acceptance region and the observed value."""
        finite = [value for value in (self.edges[0], self.edges[-1], self.observed) if math.isfinite(value)]
        low, high = min(finite), max(finite)
        margin = 0.06 * (high - low) or 0.5
        left, right = low - margin, high + margin
        draw_boxes(
            ax,
            self.edges[:-1],
            self.edges[1:],
            0 * self.counts,
            self.counts,
            facecolor=SKY,
            alpha=0.6,
            edgecolor=BLUE,
            linewidth=0.4,
            label="draws under the hypothesis",
        )
        start, end = max(self.acceptance[0], left), min(self.acceptance[1], right)
        ax.axvspan(start, end, ymin=0, ymax=0.035, color=BLUE, linewidth=0, label="acceptance region")
        top = 1.22 * float(self.counts.max())
        if math.isfinite(self.observed):
            color = BLUE if self.inside else VERMILION
            ax.plot([self.observed] * 2, [0, 0.92 * top], linestyle=(0, (5, 2)), linewidth=1.4, color=color)
            ax.plot(
                [self.observed],
                [0.92 * top],
                linestyle="none",
                marker="o" if self.inside else "D",
                markersize=5 if small else 6,
                label=f"observed {shown(self.observed)}",
                color=color,
            )
        else:
            ax.annotate("observed: infinite", (0.98, 0.9), xycoords="axes fraction", ha="right", color=INK)
        ax.set_xlim(left, right)
        ax.set_ylim(0, top)
        ax.set_yticks([])
        ax.locator_params(axis="x", nbins=4 if small else 6)
        ax.spines["left"].set_visible(False)

    def table(self) -> Table:
        """Return the histogram."""
        rows = tuple(
            (f"{shown(left)} to {shown(right)}", f"{count:d}")
            for left, right, count in zip(self.edges[:-1], self.edges[1:], self.counts, strict=True)
        )
        return Table(("value", "replicates"), rows)


def null_data(result: HypotestResult) -> NullDisplay:
    """Return what the picture of a test's null distribution shows.

    Parameters
    ----------
    result : HypotestResult
        A test that kept its replicates.

    Returns
    -------
    NullDisplay
        The data; `draw` draws them.
    """
    null = result.null_distribution
    if null is None or not np.isfinite(null).any():
        raise UnsupportedError(
            f"the null distribution of `{result.statistic_name}`",
            "can be drawn where replicates have finite values",
            "there are none" if null is None else f"all {null.size} are infinite",
            'Use method="resample", or a statistic that stays finite.',
        )
    finite = null[np.isfinite(null)]
    counts, edges = _histogram(finite)
    return NullDisplay(
        name=result.statistic_name,
        edges=edges,
        counts=counts,
        n_infinite=int(null.size - finite.size),
        observed=result.statistic,
        acceptance=result.acceptance_region,
        pvalue=result.pvalue,
    )


def _histogram(values: HostArray) -> tuple[HostArray, HostArray]:
    """Count in bins no narrower than the steps of a discrete statistic, or gaps would show like a comb."""
    low, high = float(values.min()), float(values.max())
    if high - low <= 1e-12 * max(abs(low), abs(high), 1e-300):
        half = max(abs(low), 1.0) * 0.01
        return np.array([values.size]), np.array([low - half, low + half])
    distinct = np.unique(np.round(values, 12))
    bins = min(_MOST_BINS, max(1, math.ceil(math.sqrt(values.size))))
    if len(distinct) <= 2 * bins:
        step = float(np.diff(distinct).min())
        steps = round((high - low) / step) + 1
        per_bin = math.ceil(steps / bins)
        edges = low - step / 2 + per_bin * step * np.arange(math.ceil(steps / per_bin) + 1)
        return np.histogram(values, edges)[0], edges
    counts, edges = np.histogram(values, bins)
    return counts, edges


@drawing_of(null_data)
def null_distribution(result: HypotestResult, *, ax: Axes | None = None) -> Axes:
    """Draw the replicates of a test, its acceptance region and the observed value."""
    return null_data(result).draw(ax)
