"""Members in pictures: replicates coloured by the member that drew them, and functions drawn from members."""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from credibly._arrays.errors import UnsupportedError, one_of
from credibly._arrays.namespace import HostArray
from credibly.evaluation import shown, shown_range, title
from credibly.plots.display import Display, Table, Words, drawing_of
from credibly.plots.null import null_data
from credibly.plots.style import BLUE, INK, ORANGE, SKY, VERMILION, draw_boxes
from credibly.results.curves import MemberFunctions
from credibly.results.predictive import PredictiveCheck

if TYPE_CHECKING:
    from matplotlib.axes import Axes


_SHADES = (BLUE, ORANGE, SKY, VERMILION)
_NUMBERED = 12
_DASHES = ("-", (0, (5, 2)), (0, (1, 1.5)), (0, (5, 1.5, 1, 1.5)))


@dataclasses.dataclass(frozen=True)
class MemberHistogramDisplay(Display):
    """Replicates of one statistic, stacked by the member that drew them.

    Attributes
    ----------
    name : str
        The statistic.
    edges : ndarray (b + 1,)
        Edges of the histogram.
    counts : ndarray (m, b)
        Replicates per member and bin; members in the order of their means.
    members : ndarray (m,)
        Which member each row is.
    means : ndarray (m,)
        Mean of the replicates of each; NaN where it drew none.
    observed : float
        The statistic on the observed labels.
    acceptance : tuple of float
        Values the check would not reject.
    pvalue : float
        p-value of the check.
    """

    size: ClassVar[tuple[float, float]] = (5.0, 3.4)

    name: str
    edges: HostArray
    counts: HostArray
    members: HostArray
    means: HostArray
    observed: float
    acceptance: tuple[float, float]
    pvalue: float

    @property
    def finding(self) -> str:
        """The picture in one sentence."""
        low, high = self.acceptance
        where = "inside" if low <= self.observed <= high else "outside"
        drew = self.means[~np.isnan(self.means)]
        return (
            f"{title(self.name)} {shown(self.observed)} lies {where} the acceptance region "
            f"({shown_range(self.acceptance)}), p = {shown(self.pvalue)}; the means of {drew.size} members "
            f"reach from {shown(float(drew.min()))} to {shown(float(drew.max()))}."
        )

    @property
    def words(self) -> Words:
        """Title and axis labels."""
        return Words(f"{title(self.name)} by member")

    def _marks(self, ax: Axes, small: bool) -> None:
        """Draw stacked histograms, the mean of every member below, and the observed value."""
        bottom = np.zeros(self.counts.shape[1])
        for place, own in enumerate(self.counts):
            style = {"facecolor": _SHADES[place % len(_SHADES)], "edgecolor": INK, "linewidth": 0.3}
            draw_boxes(ax, self.edges[:-1], self.edges[1:], bottom, bottom + own, alpha=0.6, **style)
            bottom = bottom + own
        top = 1.15 * float(bottom.max())
        strip = -0.08 * top
        for place, (member, mean) in enumerate(zip(self.members, self.means, strict=True)):
            if math.isnan(mean):
                continue
            color = _SHADES[place % len(_SHADES)]
            ax.plot([mean], [strip], linestyle="none", marker="|", markersize=7, color=color)
            if len(self.members) <= _NUMBERED:
                ax.annotate(str(member), (mean, 1.6 * strip), ha="center", va="center", fontsize=6, color=INK)
        inside = self.acceptance[0] <= self.observed <= self.acceptance[1]
        if math.isfinite(self.observed):
            ax.plot(
                [self.observed] * 2,
                [0, 0.95 * top],
                color=INK,
                linestyle=(0, (5, 2)),
                marker="o" if inside else "D",
                markevery=[1],
                label=f"observed {shown(self.observed)}",
            )
        ax.plot([], [], linestyle="none", marker="|", color=INK, label="mean of a member's replicates")
        ax.set_ylim(2.2 * strip, top)
        ax.set_yticks([])
        ax.spines["left"].set_visible(False)

    def table(self) -> Table:
        """Return replicates and means per member."""
        rows = tuple(
            (str(int(member)), str(int(own.sum())), shown(float(mean)))
            for member, own, mean in zip(self.members, self.counts, self.means, strict=True)
        )
        return Table(("member", "replicates", "mean"), rows)


def member_histogram_data(check: PredictiveCheck, statistic: str) -> MemberHistogramDisplay:
    """Return what the histogram of replicates by member shows.

    Parameters
    ----------
    check : PredictiveCheck
        A check of the Bayesian hypothesis.
    statistic : str
        Which statistic.

    Returns
    -------
    MemberHistogramDisplay
        The data; `draw` draws them.
    """
    part = check.bayesian
    if part is None or part.members is None:
        raise UnsupportedError(
            "replicates by member",
            "exist under the Bayesian hypothesis",
            "it was not tested",
            'Run the check with `hypothesis="bayesian"` or "both".',
        )
    one_of("`statistic`", statistic, part.checks)
    result = part.checks[statistic]
    whole = null_data(result)  # refuses replicates that cannot be drawn
    values, members = result.null_distribution, part.members
    assert values is not None
    finite = np.isfinite(values)
    m = result.n_members
    means = np.array(
        [
            values[finite & (members == j)].mean() if (finite & (members == j)).any() else np.nan
            for j in range(m)
        ]
    )
    order = np.argsort(means, kind="stable")
    counts = np.stack([np.histogram(values[finite & (members == j)], whole.edges)[0] for j in order])
    return MemberHistogramDisplay(
        name=statistic,
        edges=whole.edges,
        counts=counts,
        members=order,
        means=means[order],
        observed=result.statistic,
        acceptance=result.acceptance_region,
        pvalue=result.pvalue,
    )


@drawing_of(member_histogram_data)
def member_histogram(check: PredictiveCheck, statistic: str, *, ax: Axes | None = None) -> Axes:
    """Draw the replicates of a statistic, coloured and stacked by the member that drew them."""
    return member_histogram_data(check, statistic).draw(ax)


@dataclasses.dataclass(frozen=True)
class FunctionsDisplay(Display):
    """Functions drawn from members beside the total band (P21 Figs. 4 and 10).

    Attributes
    ----------
    functions : MemberFunctions
        Everything that is drawn.
    """

    size: ClassVar[tuple[float, float]] = (5.6, 3.8)

    functions: MemberFunctions

    @property
    def finding(self) -> str:
        """The picture in one sentence."""
        own = self.functions
        total = float((own.total_high - own.total_low).mean())
        single = float((own.high - own.low).mean())
        said = (
            f"The {100 * own.level:g} % band of all members is {shown(total)} wide on average, that of one "
            f"member {shown(single)}"
        )
        if own.labels is None:
            return f"{said}."
        inside = float(np.mean((own.labels >= own.total_low) & (own.labels <= own.total_high)))
        return f"{said}; the band of all holds {100 * inside:.3g} % of the labels."

    @property
    def words(self) -> Words:
        """Title and axis labels."""
        return Words("Functions drawn from members", "feature", "prediction")

    def _marks(self, ax: Axes, small: bool) -> None:
        """Draw the total band, one line per member with its own band, and the labels."""
        own = self.functions
        ax.fill_between(
            own.x,
            own.total_low,
            own.total_high,
            color=SKY,
            alpha=0.35,
            linewidth=0,
            label=f"{100 * own.level:g} % band of all members",
        )
        for place in range(own.centre.shape[1]):
            color, dash = _SHADES[place % len(_SHADES)], _DASHES[place % len(_DASHES)]
            ax.plot(
                own.x,
                own.centre[:, place],
                color=color,
                linestyle=dash,
                linewidth=1.1,
                label="members" if place == 0 else None,
            )
            for edge in (own.low, own.high):
                ax.plot(own.x, edge[:, place], color=color, linestyle=dash, linewidth=0.4)
        if own.labels is not None:
            ax.plot(own.x, own.labels, linestyle="none", marker=".", markersize=2, color=INK, label="labels")

    def table(self) -> Table:
        """Return the total band and the median of every drawn member."""
        own = self.functions
        names = tuple(f"member {j}" for j in own.members.tolist())
        rows = tuple(
            (
                shown(float(x)),
                shown_range((float(low), float(high))),
                *(shown(float(value)) for value in centre),
            )
            for x, low, high, centre in zip(own.x, own.total_low, own.total_high, own.centre, strict=True)
        )
        return Table(("feature", "band of all", *names), rows)


def functions_data(functions: MemberFunctions) -> FunctionsDisplay:
    """Return what the picture of functions drawn from members shows.

    Parameters
    ----------
    functions : MemberFunctions
        From `credibly.member_functions`.

    Returns
    -------
    FunctionsDisplay
        The data; `draw` draws them.
    """
    return FunctionsDisplay(functions)


@drawing_of(functions_data)
def functions_diagram(functions: MemberFunctions, *, ax: Axes | None = None) -> Axes:
    """Draw functions of single members beside the band of all of them."""
    return functions_data(functions).draw(ax)
