"""A predictive check within groups as a grid of p-values: shift by severity, say (P21 Figs. 7 and 11)."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from credibly._arrays.errors import UnsupportedError, one_of
from credibly._arrays.namespace import HostArray
from credibly.evaluation import shown, title
from credibly.plots.display import Display, Table, Words
from credibly.plots.style import INK, ORANGE, SKY, VERMILION
from credibly.results.predictive import PredictiveCheck

if TYPE_CHECKING:
    from matplotlib.axes import Axes


_FACES = {"conflict": VERMILION, "no conflict found": SKY, "cannot tell": ORANGE}
_HATCHES = {"conflict": "///", "no conflict found": "", "cannot tell": "..."}


@dataclasses.dataclass(frozen=True)
class GroupGridDisplay(Display):
    """Verdict and p-value of every group; two grouping factors span the grid, one makes a single column.

    Attributes
    ----------
    name : str
        The statistic.
    hypothesis : str
        The hypothesis.
    rows, columns : tuple of str
        Names of the groups along each side.
    pvalues : ndarray (r, c)
        Adjusted p-values; NaN where there is no such group.
    sharpness : ndarray (r, c)
        Distance between the 5 % and 95 % quantiles of the replicates.
    verdicts : tuple of tuple of str
        One of three words, or "" where there is no such group.
    """

    size: ClassVar[tuple[float, float]] = (5.6, 4.2)

    name: str
    hypothesis: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    pvalues: HostArray
    sharpness: HostArray
    verdicts: tuple[tuple[str, ...], ...]

    @property
    def finding(self) -> str:
        """The picture in one sentence."""
        words = [word for line in self.verdicts for word in line if word]
        counts = ", ".join(f"{words.count(word)} {word}" for word in _FACES if word in words)
        return f"{title(self.name)} in {len(words)} groups, {self.hypothesis} hypothesis: {counts}."

    @property
    def words(self) -> Words:
        """Title and axis labels."""
        return Words(f"{title(self.name)} by group")

    def _marks(self, ax: Axes, small: bool) -> None:
        """Draw one box per group, its p-value inside; conflicts are hatched as well as coloured."""
        from matplotlib.patches import Rectangle

        named: set[str] = set()
        for row, line in enumerate(self.verdicts):
            for column, word in enumerate(line):
                if not word:
                    continue
                ax.add_patch(
                    Rectangle(
                        (column - 0.5, row - 0.5),
                        1,
                        1,
                        facecolor=_FACES[word],
                        alpha=0.45,
                        hatch=_HATCHES[word],
                        edgecolor=INK,
                        linewidth=0.3,
                        label=None if word in named else word,
                    )
                )
                named.add(word)
                text = shown(float(self.pvalues[row, column]))
                ax.annotate(text, (column, row), ha="center", va="center", fontsize=7, color=INK)
        size = 6 if small else 7
        ax.set_xticks(range(len(self.columns)), self.columns, fontsize=size, color=INK, parse_math=False)
        ax.set_yticks(range(len(self.rows)), self.rows, fontsize=size, color=INK, parse_math=False)
        ax.set_xlim(-0.5, len(self.columns) - 0.5)
        ax.set_ylim(len(self.rows) - 0.5, -0.5)

    def table(self) -> Table:
        """Return p-value, sharpness and verdict of every group."""
        rows = []
        for row, name in enumerate(self.rows):
            for column, other in enumerate(self.columns):
                word = self.verdicts[row][column]
                if word:
                    numbers = (self.pvalues[row, column], self.sharpness[row, column])
                    rows.append((f"{name} {other}".strip(), *(shown(float(one)) for one in numbers), word))
        return Table(("group", "adjusted p", "sharpness", "verdict"), tuple(rows))


def group_grid_data(
    check: PredictiveCheck, statistic: str, hypothesis: str | None = None, *, level: float = 0.05
) -> GroupGridDisplay:
    """Return what the grid of groups shows.

    Parameters
    ----------
    check : PredictiveCheck
        A check with groups.
    statistic : str
        Which statistic.
    hypothesis : {"bayesian", "independent"}, optional
        Which hypothesis; the Bayesian one where it was tested.
    level : float
        Level of the verdicts.

    Returns
    -------
    GroupGridDisplay
        The data; `draw` draws them.
    """
    chosen = next(iter(check.hypotheses)) if hypothesis is None else hypothesis
    one_of("`statistic`", statistic, check.statistics)
    groups = check.under(chosen).groups
    factors = list(check.factors.values())
    if not groups or len(factors) > 2:
        raise UnsupportedError(
            "a grid of groups",
            "needs one or two grouping factors",
            f"got {len(factors)}",
            "Pass `groups=` with one or two factors.",
        )
    rows, columns = factors[0], factors[1] if len(factors) == 2 else ("",)
    shape = (len(rows), len(columns))
    pvalues, sharpness = np.full(shape, np.nan), np.full(shape, np.nan)
    verdicts = [[""] * len(columns) for _ in rows]
    for row, name in enumerate(rows):
        for column, other in enumerate(columns):
            own = groups.get(f"{name} / {other}" if len(factors) == 2 else name)
            if own is not None:
                result = own[statistic]
                pvalues[row, column] = result.deciding_pvalue
                sharpness[row, column] = result.sharpness
                verdicts[row][column] = result.verdict(level)
    return GroupGridDisplay(
        name=statistic,
        hypothesis=chosen,
        rows=rows,
        columns=columns,
        pvalues=pvalues,
        sharpness=sharpness,
        verdicts=tuple(map(tuple, verdicts)),
    )


def group_grid(
    check: PredictiveCheck, statistic: str, hypothesis: str | None = None, *, ax: Axes | None = None
) -> Axes:
    """Draw verdict and p-value of every group.

    Parameters
    ----------
    check : PredictiveCheck
        A check with groups.
    statistic : str
        Which statistic.
    hypothesis : {"bayesian", "independent"}, optional
        Which hypothesis; the Bayesian one where it was tested.
    ax : Axes, optional
        Where to draw; a new figure where not given.

    Returns
    -------
    Axes
        The axes, their figure in ``.figure``.
    """
    return group_grid_data(check, statistic, hypothesis).draw(ax)
