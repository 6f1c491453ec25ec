"""Boxes of the score over instances, per model and trade-off."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from credibly._arrays.errors import InputError
from credibly._arrays.namespace import HostArray
from credibly.evaluation import shown
from credibly.plots.display import Display, Table, Words, drawing_of, host_vector, require_kind
from credibly.plots.style import INK, ORANGE, SKY, draw_boxes, name_ticks
from credibly.selection.standings import Ranking

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


@dataclasses.dataclass(frozen=True)
class ScoreBoxDisplay(Display):
    """Boxes of the score over instances, per model and trade-off (C25 Fig. 2).

    Attributes
    ----------
    names : tuple of str
        The models.
    tradeoffs : tuple of float
        The trade-offs.
    quantiles : ndarray (m, t, 5)
        5, 25, 50, 75 and 95 % of the instances; infinite ones are beyond all.
    """

    size: ClassVar[tuple[float, float]] = (6.4, 4.0)
    key_below: ClassVar[float] = 0.3

    names: tuple[str, ...]
    tradeoffs: tuple[float, ...]
    quantiles: HostArray

    @property
    def finding(self) -> str:
        """The boxes in one sentence."""
        medians = self.quantiles[:, :, 2]
        growth = medians[:, -1] - medians[:, 0]
        most = int(np.argmax(growth))
        return (
            f"From trade-off {self.tradeoffs[0]:g} to {self.tradeoffs[-1]:g} the median score of "
            f"{self.names[most]} grows most, from {shown(float(medians[most, 0]))} to "
            f"{shown(float(medians[most, -1]))}."
        )

    @property
    def words(self) -> Words:
        """Title and axis labels."""
        return Words("Scores of instances", "", "score E")

    def _marks(self, ax: Axes, small: bool) -> None:
        """Draw a group of boxes per model: middle half, median, and lines to 5 and 95 %."""
        m, t, _ = self.quantiles.shape
        width = 0.8 / t
        left = np.arange(m)[:, None] - 0.4 + width * np.arange(t)[None, :]
        low, bottom, middle, top, high = (self.quantiles[:, :, q].ravel() for q in range(5))
        centre = left.ravel() + width / 2
        ax.vlines(centre, low, high, color=INK, linewidth=0.6)
        shades = np.linspace(0.25, 1.0, t)
        for place in range(t):
            at = left[:, place]
            draw_boxes(
                ax,
                at + 0.1 * width,
                at + 0.9 * width,
                bottom.reshape(m, t)[:, place],
                top.reshape(m, t)[:, place],
                facecolor=SKY,
                alpha=float(shades[place]),
                edgecolor=INK,
                linewidth=0.5,
                label=f"trade-off {self.tradeoffs[place]:g}",
            )
        ax.hlines(middle, left.ravel() + 0.1 * width, left.ravel() + 0.9 * width, color=ORANGE, linewidth=1.4)
        name_ticks(ax, self.names)
        ax.set_ylim(0, 1.05 * float(high[np.isfinite(high)].max(initial=1e-9)))

    def table(self) -> Table:
        """Return the quantiles."""
        rows = tuple(
            (name, f"{tradeoff:g}", *(shown(float(value)) for value in self.quantiles[i, j]))
            for i, name in enumerate(self.names)
            for j, tradeoff in enumerate(self.tradeoffs)
        )
        return Table(("model", "trade-off", *(f"{100 * q:g} %" for q in _QUANTILES)), rows)


def score_box_data(ranking: Ranking, *, tradeoffs: Sequence[float] | None = None) -> ScoreBoxDisplay:
    """Return what the boxes of scores show.

    Parameters
    ----------
    ranking : Ranking
        From ``credibly.rank_models``.
    tradeoffs : sequence of float, optional
        Trade-offs; the finite ones of the ranking where not given.

    Returns
    -------
    ScoreBoxDisplay
        The data; `draw` draws them.
    """
    require_kind(
        ranking, Ranking, "ranking", "Pass what `rank_models` found; `compare` has it in `.ranking`."
    )
    given = ranking.tradeoffs if tradeoffs is None else tradeoffs
    asked = tuple(float(one) for one in given if math.isfinite(one))
    if not asked or min(asked) < 0:
        raise InputError("`tradeoffs`", "must be finite and not negative", f"got {given!r}", "Try [0.1, 1].")
    found = []
    for score in ranking.scores.values():
        distance, imprecision = (
            host_vector(one, name)
            for one, name in ((score.distance, "distance"), (score.imprecision, "imprecision"))
        )
        totals = [distance + one * ranking.scale * imprecision for one in asked]
        found.append([np.quantile(total, _QUANTILES, method="lower") for total in totals])
    return ScoreBoxDisplay(tuple(ranking.scores), asked, np.array(found))


@drawing_of(score_box_data)
def score_boxes(
    ranking: Ranking, *, tradeoffs: Sequence[float] | None = None, ax: Axes | None = None
) -> Axes:
    """Draw boxes of the score per model and trade-off."""
    return score_box_data(ranking, tradeoffs=tradeoffs).draw(ax)
