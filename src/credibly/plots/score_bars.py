"""Bars of mean distance, imprecision and score."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from credibly._arrays.errors import one_of
from credibly._arrays.namespace import HostArray
from credibly.evaluation import shown
from credibly.plots.display import Display, Words, drawing_of
from credibly.plots.score_groups import Scores, named_scores
from credibly.plots.style import BLUE, INK, SKY, VERMILION, draw_boxes, name_ticks
from credibly.results.scores import GROUPS, PARTS, Group

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclasses.dataclass(frozen=True)
class ScoreBarDisplay(Display):
    """Mean distance, imprecision and score per model (C25 Figs. 7, 10).

    Attributes
    ----------
    names : tuple of str
        The models.
    group : str
        All, right or wrong predictions.
    distance, imprecision, total : ndarray (m,)
        The means.
    """

    size: ClassVar[tuple[float, float]] = (6.4, 3.8)
    key_below: ClassVar[float] = 0.3

    names: tuple[str, ...]
    group: str
    distance: HostArray
    imprecision: HostArray
    total: HostArray

    @property
    def finding(self) -> str:
        """The bars in one sentence."""
        known = np.where(np.isnan(self.total), np.inf, self.total)
        best = int(np.argmin(known))
        which = "all" if self.group == "all" else self.group
        return (
            f"Over {which} predictions {self.names[best]} has the smallest mean score, "
            f"{shown(float(self.total[best]))}."
        )

    @property
    def words(self) -> Words:
        """Title and axis labels."""
        which = "all predictions" if self.group == "all" else f"{self.group} predictions"
        return Words(f"Means over {which}", "", "mean")

    def _marks(self, ax: Axes, small: bool) -> None:
        """Draw three bars per model."""
        places = np.arange(len(self.names))
        for shift, values, color, label in (
            (-0.27, self.distance, BLUE, "distance"),
            (0.0, self.imprecision, SKY, "imprecision"),
            (0.27, self.total, VERMILION, "score E"),
        ):
            heights = np.where(np.isfinite(values), values, 0.0)
            draw_boxes(
                ax,
                places + shift - 0.13,
                places + shift + 0.13,
                0.0 * heights,
                heights,
                facecolor=color,
                edgecolor=INK,
                linewidth=0.5,
                label=label,
            )
        tallest = np.concatenate([self.distance, self.imprecision, self.total])
        name_ticks(ax, self.names)
        ax.set_ylim(0, 1.08 * float(tallest[np.isfinite(tallest)].max(initial=1e-9)))


def score_bar_data(scores: Scores, *, group: Group = "all") -> ScoreBarDisplay:
    """Return what the bars of means show.

    Parameters
    ----------
    scores : Ranking, EpistemicScore or mapping of str to EpistemicScore
        The models.
    group : {"all", "right", "wrong"}
        Which predictions.

    Returns
    -------
    ScoreBarDisplay
        The data; `draw` draws them.
    """
    one_of("`group`", group, GROUPS)
    held = named_scores(scores)
    means = {part: np.array([one.summary[part][group].mean for one in held.values()]) for part in PARTS}
    return ScoreBarDisplay(tuple(held), group, means["distance"], means["imprecision"], means["total"])


@drawing_of(score_bar_data)
def score_bars(scores: Scores, *, group: Group = "all", ax: Axes | None = None) -> Axes:
    """Draw mean distance, imprecision and score of every model."""
    return score_bar_data(scores, group=group).draw(ax)
