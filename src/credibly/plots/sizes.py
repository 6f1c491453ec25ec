"""How large credal sets are: strips for right and wrong predictions, and size against non-specificity."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from credibly._arrays.errors import InputError, require_positive
from credibly._arrays.namespace import HostArray
from credibly.evaluation import shown
from credibly.plots.display import Display, Table, Words, drawing_of, host_vector
from credibly.plots.style import BLUE, INK, VERMILION, whole_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclasses.dataclass(frozen=True)
class SizeDisplay(Display):
    """Sizes of the sets behind right and wrong predictions.

    Attributes
    ----------
    names : tuple of str
        The groups that hold instances.
    sizes : tuple of ndarray
        Credal sizes per group.
    """

    size: ClassVar[tuple[float, float]] = (5.0, 2.6)

    names: tuple[str, ...]
    sizes: tuple[HostArray, ...]

    @property
    def medians(self) -> tuple[float, ...]:
        """Median size per group."""
        return tuple(float(np.median(values)) for values in self.sizes)

    @property
    def finding(self) -> str:
        """The strips in one sentence."""
        parts = [
            f"{name} predictions have median size {shown(median)} (n = {len(values)})"
            for name, median, values in zip(self.names, self.medians, self.sizes, strict=True)
        ]
        text = ", ".join(parts)
        return f"{text[0].upper()}{text[1:]}."

    @property
    def words(self) -> Words:
        """Title and axis labels."""
        return Words("Size of the sets", "upper minus lower probability")

    def _marks(self, ax: Axes, small: bool) -> None:
        """Draw one strip per group, dots spread by rank, the median as a line."""
        for place, (name, values) in enumerate(zip(self.names, self.sizes, strict=True)):
            # a low-discrepancy sequence spreads the dots without random numbers
            spread = 0.6 * ((np.arange(len(values)) * 0.6180339887) % 1.0 - 0.5)
            color, marker = (BLUE, "o") if name == "right" else (VERMILION, "D")
            ax.plot(
                values, place + spread, linestyle="none", marker=marker, markersize=2, alpha=0.4, color=color
            )
            ax.vlines(float(np.median(values)), place - 0.36, place + 0.36, color=INK, linewidth=2.0)
        ax.set_yticks(
            range(len(self.names)),
            [f"{name}\n(n = {len(v)})" for name, v in zip(self.names, self.sizes, strict=True)],
        )
        ax.set_xlim(-0.02, 1.02)
        ax.set_ylim(-0.6, len(self.names) - 0.4)

    def table(self) -> Table:
        """Return number and median per group."""
        rows = tuple(
            (name, str(len(values)), shown(median))
            for name, values, median in zip(self.names, self.sizes, self.medians, strict=True)
        )
        return Table(("predictions", "instances", "median size"), rows)


def size_data(sizes: Any, right: Any) -> SizeDisplay:
    """Return what the strips of credal sizes show.

    Parameters
    ----------
    sizes : array (n,)
        From ``credibly.credal_size``.
    right : array (n,) of bool
        Whether the predicted class was the observed one.

    Returns
    -------
    SizeDisplay
        The data; `draw` draws them.
    """
    values, hits = host_vector(sizes, "sizes"), host_vector(right, "right")
    if values.shape != hits.shape:
        raise InputError(
            "`sizes` and `right`",
            "must have one entry per instance",
            f"got {values.size} and {hits.size}",
            "Take both from the same predictions.",
        )
    groups = [("right", values[hits > 0]), ("wrong", values[hits == 0])]
    filled = [(name, group) for name, group in groups if group.size]
    return SizeDisplay(tuple(name for name, _ in filled), tuple(group for _, group in filled))


@drawing_of(size_data)
def size_strips(sizes: Any, right: Any, *, ax: Axes | None = None) -> Axes:
    """Draw the sizes of the sets behind right and wrong predictions."""
    return size_data(sizes, right).draw(ax)


@dataclasses.dataclass(frozen=True)
class HeatDisplay(Display):
    """Instances per cell of credal size and non-specificity.

    Attributes
    ----------
    size_edges, nonspecificity_edges : ndarray (b + 1,)
        Edges of the cells.
    counts : ndarray (b, b)
        Instances, sizes along the first axis.
    correlation : float
        Correlation of the ranks of the two measures; NaN where one of them is constant.
    """

    size: ClassVar[tuple[float, float]] = (5.0, 4.0)

    size_edges: HostArray
    nonspecificity_edges: HostArray
    counts: HostArray
    correlation: float

    @property
    def finding(self) -> str:
        """The map in one sentence."""
        n = int(self.counts.sum())
        if not np.isfinite(self.correlation):
            return f"One of the two measures is the same for all {n} instances."
        ranks = shown(self.correlation)
        return f"Over {n} instances the ranks of size and non-specificity correlate with {ranks}."

    @property
    def words(self) -> Words:
        """Title and axis labels."""
        return Words("Two measures of imprecision", "credal size", "non-specificity")

    def _marks(self, ax: Axes, small: bool) -> None:
        """Draw cells: darker ones hold more instances, empty ones stay blank."""
        filled = np.ma.masked_equal(self.counts.T, 0)
        mesh = ax.pcolormesh(
            self.size_edges, self.nonspecificity_edges, filled, cmap="Blues", vmin=0, rasterized=True
        )
        bar = whole_figure(ax).colorbar(mesh, ax=ax, shrink=0.8)
        bar.set_label("instances", color=INK, fontsize=8)
        bar.ax.tick_params(colors=INK, labelsize=7)

    def table(self) -> Table:
        """Return the filled cells."""
        edges = self.size_edges, self.nonspecificity_edges
        rows = tuple(
            (
                *(f"{shown(ends[i])} to {shown(ends[i + 1])}" for ends, i in zip(edges, cell, strict=True)),
                f"{self.counts[tuple(cell)]:g}",
            )
            for cell in np.argwhere(self.counts > 0)
        )
        return Table(("credal size", "non-specificity", "instances"), rows)


def heat_data(sizes: Any, nonspecificities: Any, *, n_bins: int = 25) -> HeatDisplay:
    """Return what the map of size against non-specificity shows.

    Parameters
    ----------
    sizes : array (n,)
        From ``credibly.credal_size``.
    nonspecificities : array (n,)
        From ``credibly.nonspecificity``.
    n_bins : int
        Cells along each axis.

    Returns
    -------
    HeatDisplay
        The data; `draw` draws them.
    """
    require_positive("`n_bins`", n_bins, "Use 25.")
    first, second = host_vector(sizes, "sizes"), host_vector(nonspecificities, "nonspecificities")
    if first.shape != second.shape or not np.isfinite(first).all() or not np.isfinite(second).all():
        raise InputError(
            "`sizes` and `nonspecificities`",
            "must be finite, one entry per instance",
            f"got {first.size} and {second.size}, {int((~np.isfinite(second)).sum())} of them infinite",
            'Use a measure that stays finite, such as "hartley".',
        )
    counts, size_edges, other_edges = np.histogram2d(first, second, bins=n_bins)
    return HeatDisplay(size_edges, other_edges, counts, rank_correlation(first, second))


@drawing_of(heat_data)
def size_heat_map(sizes: Any, nonspecificities: Any, *, n_bins: int = 25, ax: Axes | None = None) -> Axes:
    """Draw credal size against non-specificity."""
    return heat_data(sizes, nonspecificities, n_bins=n_bins).draw(ax)


def rank_correlation(first: HostArray, second: HostArray) -> float:
    """Return Spearman's correlation, 0 where one of the two does not vary."""
    from scipy.stats import rankdata

    ranks = [rankdata(values) for values in (first, second)]
    if any(np.ptp(rank) == 0 for rank in ranks):
        return float("nan")
    return float(np.corrcoef(*ranks)[0, 1])
