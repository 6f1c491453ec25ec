"""Where in feature space a prediction fails: deviation of every region, in standard errors."""

from __future__ import annotations

import dataclasses
import textwrap
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from credibly._arrays.namespace import HostArray
from credibly.evaluation import shown
from credibly.plots.display import Display, Words, drawing_of
from credibly.plots.style import BLUE, INK, VERMILION
from credibly.results.base import require_level
from credibly.results.tests import LocalDeviations

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LINE = 64
"""Letters of a region's name that fit beside the picture; the rest goes on in the next line."""


@dataclasses.dataclass(frozen=True)
class RegionDisplay(Display):
    """What the picture of regions shows, worst first.

    Attributes
    ----------
    regions : tuple of str
        Conditions of every region.
    classes : tuple of str
        The class that is farthest off in it.
    scores : ndarray (r,)
        Observed minus expected count in standard errors.
    predicted, observed : ndarray (r,)
        Frequencies of that class.
    sizes : ndarray (r,)
        Instances.
    adjusted_pvalues : ndarray (r,)
        Adjusted for all regions and classes.
    level : float
        Regions with at most this p-value are marked.
    """

    size: ClassVar[tuple[float, float]] = (6.4, 4.0)

    regions: tuple[str, ...]
    classes: tuple[str, ...]
    scores: HostArray
    predicted: HostArray
    observed: HostArray
    sizes: HostArray
    adjusted_pvalues: HostArray
    level: float

    @property
    def failing(self) -> HostArray:
        """Which regions deviate by more than chance explains."""
        return self.adjusted_pvalues <= self.level

    @property
    def finding(self) -> str:
        """The picture in one sentence."""
        worst = (
            f"where {self.regions[0]}, class {self.classes[0]} was predicted with {shown(self.predicted[0])} "
            f"and observed with {shown(self.observed[0])} (n = {int(self.sizes[0])}, adjusted p = "
            f"{shown(self.adjusted_pvalues[0])})"
        )
        number = int(self.failing.sum())
        if not number:
            return (
                f"No region of {len(self.regions)} deviates more than chance explains; the largest: {worst}."
            )
        return (
            f"{number} of {len(self.regions)} regions deviate more than chance explains; the worst: {worst}."
        )

    @property
    def words(self) -> Words:
        """Title and axis labels."""
        return Words("Deviation by region", "observed - expected, in standard errors", "")

    def _marks(self, ax: Axes, small: bool) -> None:
        """Draw one line per region from zero to its deviation."""
        places = np.arange(len(self.regions))[::-1]
        limit = 1.15 * max(3.0, float(np.abs(self.scores[np.isfinite(self.scores)]).max(initial=0.0)))
        ends = np.clip(self.scores, -limit, limit)
        ax.axvline(0.0, color=INK, linewidth=0.8)
        for failing, color, marker, label in (
            (False, BLUE, "o", "within chance"),
            (True, VERMILION, "D", f"adjusted p <= {self.level:g}"),
        ):
            chosen = self.failing == failing
            if chosen.any():
                ax.hlines(places[chosen], 0.0, ends[chosen], color=color, linewidth=1.6)
                ax.plot(
                    ends[chosen], places[chosen], linestyle="none", marker=marker, color=color, label=label
                )
        names = [f"{region}: class {c}" for region, c in zip(self.regions, self.classes, strict=True)]
        lines = [textwrap.fill(name, LINE) for name in names]
        ax.set_yticks(places, [] if small else lines, fontsize=6, parse_math=False)
        ax.set_xlim(-limit, limit)


def region_data(
    deviations: LocalDeviations, *, class_names: Any = None, level: float = 0.05
) -> RegionDisplay:
    """Return what the picture of regions shows.

    Parameters
    ----------
    deviations : LocalDeviations
        From ``CredalTestResult.regions``.
    class_names : sequence of str, optional
        Names of the classes; their numbers where not given.
    level : float
        Regions with at most this adjusted p-value are marked.

    Returns
    -------
    RegionDisplay
        The data; `draw` draws them.
    """
    require_level(level)
    numbers = [int(c) for c in deviations.classes]
    return RegionDisplay(
        regions=deviations.regions,
        classes=tuple(str(c) if class_names is None else str(class_names[c]) for c in numbers),
        scores=deviations.scores,
        predicted=deviations.predicted,
        observed=deviations.observed,
        sizes=deviations.sizes,
        adjusted_pvalues=deviations.adjusted_pvalues,
        level=level,
    )


@drawing_of(region_data)
def region_diagram(
    deviations: LocalDeviations,
    *,
    class_names: Any = None,
    level: float = 0.05,
    ax: Axes | None = None,
) -> Axes:
    """Draw the deviation of every region."""
    return region_data(deviations, class_names=class_names, level=level).draw(ax)
