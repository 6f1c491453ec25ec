"""Class-wise reliability diagrams as small multiples, worst first."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING

from credibly._arrays.errors import InputError
from credibly.evaluation import shown
from credibly.plots.reliability import ReliabilityDisplay, reliability_data
from credibly.plots.style import new_figure, whole_figure
from credibly.results.curves import ReliabilityCurve

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@dataclasses.dataclass(frozen=True)
class ClasswiseDisplay:
    """Small multiples, worst class first.

    Attributes
    ----------
    panels : tuple of ReliabilityDisplay
        The classes shown.
    hidden : int
        How many classes with smaller errors are not shown.
    """

    panels: tuple[ReliabilityDisplay, ...]
    hidden: int

    @property
    def finding(self) -> str:
        """The panels in one sentence."""
        worst = self.panels[0]
        others = (
            "1 class with a smaller error is"
            if self.hidden == 1
            else f"{self.hidden} classes with smaller errors are"
        )
        left = f"; {others} not shown" if self.hidden else ""
        name = f"{worst.name[0].upper()}{worst.name[1:]}"
        return f"{name} has the largest error, {shown(worst.error)}{left}."

    def draw(self, axes: Sequence[Axes]) -> None:
        """Draw one panel on each of `axes`."""
        if len(axes) != len(self.panels):
            raise InputError(
                "`axes`",
                f"must be as many as there are panels ({len(self.panels)})",
                f"got {len(axes)}",
                "Leave them out for a new figure.",
            )
        for panel, ax in zip(self.panels, axes, strict=True):
            panel.draw(ax, small=True)


def classwise_data(curves: Sequence[ReliabilityCurve], *, limit: int = 12) -> ClasswiseDisplay:
    """Return the panels of the classes with the largest errors.

    Parameters
    ----------
    curves : sequence of ReliabilityCurve
        One per class.
    limit : int
        Most panels.

    Returns
    -------
    ClasswiseDisplay
        Panels, worst first; equal errors keep the order of the classes.
    """
    if not curves or limit < 1:
        raise InputError(
            "`curves` and `limit`",
            "must leave at least one class to show",
            f"got {len(curves)} curves and limit {limit!r}",
            "Give the curves of an evaluation, `evaluation.curves.per_class`.",
        )
    ordered = sorted((reliability_data(curve) for curve in curves), key=lambda panel: -panel.error)
    return ClasswiseDisplay(tuple(ordered[:limit]), max(0, len(ordered) - limit))


def classwise_diagrams(
    curves: Sequence[ReliabilityCurve],
    *,
    axes: Sequence[Axes] | None = None,
    limit: int = 12,
    columns: int = 4,
) -> Figure:
    """Draw one small reliability diagram per class, worst first.

    Parameters
    ----------
    curves : sequence of ReliabilityCurve
        One per class.
    axes : sequence of Axes, optional
        Where to draw, one per panel; a new figure where not given.
    limit : int
        Most panels.
    columns : int
        Panels per row of a new figure.

    Returns
    -------
    Figure
        The figure of the panels.
    """
    display = classwise_data(curves, limit=limit)
    if axes is None:
        rows = -(-len(display.panels) // columns)
        figure = new_figure(2.1 * columns, 2.0 * rows)
        axes = [figure.add_subplot(rows, columns, 1 + place) for place in range(len(display.panels))]
    display.draw(axes)
    return whole_figure(axes[0])
