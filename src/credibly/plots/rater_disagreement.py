"""Predicted against observed disagreement of raters: D21 Figure 2b (Mimori et al. 2021)."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from credibly._arrays.errors import InputError
from credibly._arrays.namespace import HostArray
from credibly.evaluation import shown
from credibly.plots.display import Display, Table, Words, drawing_of
from credibly.plots.reliability import bins_table
from credibly.plots.style import BLUE, INK, SKY, VERMILION, draw_boxes
from credibly.results.decompositions import DisagreementDecomposition

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclasses.dataclass(frozen=True)
class DisagreementDisplay(Display):
    """Predicted against observed disagreement; only bins that hold instances.

    Attributes
    ----------
    name : str
        What raters disagree about.
    left, right : ndarray (b,)
        Edges of the bins.
    predicted, observed : ndarray (b,)
        Mean predicted and observed disagreement.
    count : ndarray (b,)
        Instances per bin.
    low, high : ndarray (b,)
        Where the observed value falls if raters draw from the predictions, given how many there are.
    level : float
        Coverage of that band in each bin.
    """

    name: str
    left: HostArray
    right: HostArray
    predicted: HostArray
    observed: HostArray
    count: HostArray
    low: HostArray
    high: HostArray
    level: float

    @property
    def outside(self) -> HostArray:
        """Which bins lie outside their band."""
        return (self.observed < self.low) | (self.observed > self.high)

    @property
    def finding(self) -> str:
        """The diagram in one sentence."""
        gap = self.observed - self.predicted
        worst = int(np.argmax(self.count * np.abs(gap)))
        side = "more" if gap[worst] > 0 else "less"
        out, bins = int(self.outside.sum()), len(self.count)
        return (
            f"{out} of {bins} filled bins lie outside the {100 * self.level:.4g} % band that the number of "
            f"raters implies; where it weighs most, at predicted {shown(float(self.predicted[worst]))}, "
            f"raters disagree {shown(float(abs(gap[worst])))} {side} than predicted "
            f"({self.count[worst]:g} instances)."
        )

    @property
    def words(self) -> Words:
        """Title and axis labels."""
        return Words(self.name, "predicted disagreement", "observed disagreement")

    def _marks(self, ax: Axes, small: bool) -> None:
        """Draw diagonal, band, points."""
        top = 1.05 * float(max(self.right.max(), self.observed.max(), self.high.max()))
        ax.plot([0, top], [0, top], color=INK, linestyle=(0, (4, 3)), linewidth=0.9, label="exactly as said")
        draw_boxes(
            ax,
            self.left,
            self.right,
            self.low,
            np.maximum(self.high, self.low + 0.004 * top),
            facecolor=SKY,
            alpha=0.35,
            edgecolor=BLUE,
            linewidth=0.6,
            label=f"{100 * self.level:.4g} % sampling band of the raters",
        )
        for chosen, marker, colour, label in (
            (~self.outside, "o", BLUE, "inside its band"),
            (self.outside, "D", VERMILION, "outside its band"),
        ):
            if chosen.any():
                ax.plot(
                    self.predicted[chosen],
                    self.observed[chosen],
                    linestyle="none",
                    marker=marker,
                    markersize=4 if small else 6,
                    color=colour,
                    label=label,
                )
        ax.set_xlim(-0.02 * top, top)
        ax.set_ylim(-0.02 * top, top)

    def table(self) -> Table:
        """Return the bins."""
        return bins_table(self)


@dataclasses.dataclass(frozen=True)
class SpreadDisplay(Display):
    """Mean predicted against mean observed disagreement, class by class.

    Attributes
    ----------
    names : tuple of str
        The classes.
    predicted, observed : ndarray (k,)
        Means over the instances.
    predicted_error, observed_error : ndarray (k,)
        Their standard errors.
    """

    names: tuple[str, ...]
    predicted: HostArray
    observed: HostArray
    predicted_error: HostArray
    observed_error: HostArray

    @property
    def finding(self) -> str:
        """The picture in one sentence."""
        gap = self.observed - self.predicted
        worst = int(np.argmax(np.abs(gap)))
        side = "more" if gap[worst] > 0 else "less"
        return (
            f"Raters disagree most unlike the prediction about class {self.names[worst]}: "
            f"{shown(float(self.observed[worst]))} observed, {side} than the "
            f"{shown(float(self.predicted[worst]))} predicted."
        )

    @property
    def words(self) -> Words:
        """Title and axis labels."""
        return Words("Disagreement by class", "mean predicted disagreement", "mean observed disagreement")

    def _marks(self, ax: Axes, small: bool) -> None:
        """Draw diagonal, one cross of standard errors per class."""
        top = 1.15 * float(max(self.predicted.max(), self.observed.max(), 1e-6))
        ax.plot([0, top], [0, top], color=INK, linestyle=(0, (4, 3)), linewidth=0.9, label="as predicted")
        ax.errorbar(
            self.predicted,
            self.observed,
            xerr=1.96 * self.predicted_error,
            yerr=1.96 * self.observed_error,
            linestyle="none",
            marker="o",
            markersize=4 if small else 5,
            color=BLUE,
            elinewidth=0.9,
            label="a class, with 95 % intervals",
        )
        for x, y, name in zip(self.predicted, self.observed, self.names, strict=True):
            # names of classes are the user's: a dollar sign in them is no formula
            ax.annotate(
                name,
                (x, y),
                xytext=(4, 3),
                textcoords="offset points",
                fontsize=7,
                color=INK,
                parse_math=False,
            )
        ax.set_xlim(0, top)
        ax.set_ylim(0, top)


def disagreement_data(parts: DisagreementDecomposition, *, level: float = 0.95) -> DisagreementDisplay:
    """Return what the reliability diagram of disagreement shows.

    Parameters
    ----------
    parts : DisagreementDecomposition
        From `decompose_disagreement`, for pairs of raters.
    level : float
        Coverage of the sampling band in each bin.

    Returns
    -------
    DisagreementDisplay
        The data; `draw` draws them.
    """
    low, high = parts.bins.band(level)
    filled = parts.bins.count[0] > 0
    edges = parts.bins.edges if parts.bins.edges.ndim == 1 else parts.bins.edges[0]
    return DisagreementDisplay(
        name="Disagreement of two raters",
        left=edges[:-1][filled],
        right=edges[1:][filled],
        predicted=parts.bins.predicted[0][filled],
        observed=parts.bins.observed[0][filled],
        count=parts.bins.count[0][filled],
        low=low[0][filled],
        high=high[0][filled],
        level=level,
    )


def spread_data(parts: DisagreementDecomposition, *, classes: Sequence[str] | None = None) -> SpreadDisplay:
    """Return what the picture of predicted against observed spread shows.

    Parameters
    ----------
    parts : DisagreementDecomposition
        From `decompose_disagreement`, with terms per class.
    classes : sequence of str, optional
        Names of the classes; their indices where not given.

    Returns
    -------
    SpreadDisplay
        The data; `draw` draws them.
    """
    predicted, observed = parts.per_class_predicted, parts.per_class_observed
    if predicted is None or observed is None or predicted.stderr is None or observed.stderr is None:
        raise InputError(
            "`parts`",
            "must have terms per class with standard errors",
            "these have none",
            "Use `decompose_disagreement` on two instances or more, or a statistic with several values.",
        )
    names = [str(c) for c in range(len(predicted.value))] if classes is None else list(map(str, classes))
    if len(names) != len(predicted.value):
        raise InputError(
            "`classes`", f"must name {len(predicted.value)} classes", f"got {len(names)}", "Name each once."
        )
    return SpreadDisplay(tuple(names), predicted.value, observed.value, predicted.stderr, observed.stderr)


@drawing_of(disagreement_data)
def disagreement_diagram(
    parts: DisagreementDecomposition, *, level: float = 0.95, ax: Axes | None = None
) -> Axes:
    """Draw predicted against observed disagreement with the band that the rater numbers imply."""
    return disagreement_data(parts, level=level).draw(ax)


@drawing_of(spread_data)
def spread_diagram(
    parts: DisagreementDecomposition, *, classes: Sequence[str] | None = None, ax: Axes | None = None
) -> Axes:
    """Draw mean predicted against mean observed disagreement, class by class."""
    return spread_data(parts, classes=classes).draw(ax)
