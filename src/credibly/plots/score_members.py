"""The mean score against the number of members (C25 Fig. 13)."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

from credibly._arrays.errors import UnsupportedError
from credibly._arrays.namespace import HostArray
from credibly.evaluation import shown
from credibly.plots.display import Display, Table, Words, drawing_of, require_kind
from credibly.plots.style import series
from credibly.results.scores import ScoreStability

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclasses.dataclass(frozen=True)
class MembersDisplay(Display):
    """Mean score against number of members, one line per model.

    Attributes
    ----------
    names : tuple of str
        The models.
    n_members, scores, deviations : tuple of ndarray
        Per model: numbers of members, mean score, standard deviation over choices of members.
    tradeoff : float
        Weight of the imprecision.
    """

    size: ClassVar[tuple[float, float]] = (5.0, 3.8)

    names: tuple[str, ...]
    n_members: tuple[HostArray, ...]
    scores: tuple[HostArray, ...]
    deviations: tuple[HostArray, ...]
    tradeoff: float

    @property
    def finding(self) -> str:
        """The lines in one sentence."""
        parts = [
            f"{name} from {shown(float(score[0]))} with {count[0]} "
            f"to {shown(float(score[-1]))} with {count[-1]}"
            for name, count, score in zip(self.names, self.n_members, self.scores, strict=True)
        ]
        return f"Mean score by number of members: {'; '.join(parts)}."

    @property
    def words(self) -> Words:
        """Title and axis labels."""
        return Words("Score against members", "number of members", f"mean score, trade-off {self.tradeoff:g}")

    def _marks(self, ax: Axes, small: bool) -> None:
        """Draw means with bars of one standard deviation."""
        for place, name in enumerate(self.names):
            color, marker, dashes = series(place)
            counts, scores, spread = self.n_members[place], self.scores[place], self.deviations[place]
            ax.vlines(counts, scores - spread, scores + spread, color=color, linewidth=1.0)
            ax.plot(
                counts, scores, color=color, linestyle=dashes, marker=marker, markersize=4, label=name[:28]
            )
        ax.set_xlim(left=0)
        ax.set_ylim(bottom=0)

    def table(self) -> Table:
        """Return the means."""
        rows = tuple(
            (name, str(count), shown(float(score)), shown(float(spread)))
            for name, *columns in zip(self.names, self.n_members, self.scores, self.deviations, strict=True)
            for count, score, spread in zip(*columns, strict=True)
        )
        return Table(("model", "members", "mean score", "standard deviation"), rows)


def members_data(stability: ScoreStability | Mapping[str, ScoreStability]) -> MembersDisplay:
    """Return what the picture of scores over numbers of members shows.

    Parameters
    ----------
    stability : ScoreStability or mapping of str to ScoreStability
        From ``credibly.score_stability``, or ``Ranking.stability``.

    Returns
    -------
    MembersDisplay
        The data; `draw` draws them.
    """
    given = stability if isinstance(stability, Mapping) else {"score": stability}
    for one in given.values():
        require_kind(
            one, ScoreStability, "stability", "Pass what `score_stability` found, or `Ranking.stability`."
        )
    held = {str(name): one for name, one in given.items() if one.n_members.size}
    if not held:
        raise UnsupportedError(
            "a picture over numbers of members",
            "needs predictions with members",
            "none of these has any",
            "Look at `by_budget` instead.",
        )
    return MembersDisplay(
        names=tuple(held),
        n_members=tuple(one.n_members for one in held.values()),
        scores=tuple(one.by_members for one in held.values()),
        deviations=tuple(one.members_std for one in held.values()),
        tradeoff=next(iter(held.values())).tradeoff,
    )


@drawing_of(members_data)
def members_curve(
    stability: ScoreStability | Mapping[str, ScoreStability], *, ax: Axes | None = None
) -> Axes:
    """Draw the mean score against the number of members."""
    return members_data(stability).draw(ax)
