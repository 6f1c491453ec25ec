"""How often a predictive check notices a distortion, by its size."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import numpy as np

from credibly._arrays.namespace import HostArray
from credibly.evaluation import shown, title
from credibly.plots.display import Display, Table, Words, drawing_of
from credibly.plots.style import INK, series
from credibly.results.power import PowerCurve

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclasses.dataclass(frozen=True)
class PowerDisplay(Display):
    """How often a check notices a distortion, by its size.

    Attributes
    ----------
    injection : str
        The distortion.
    hypothesis : str
        The hypothesis.
    amounts : ndarray (g,)
        Sizes of the distortion.
    names : tuple of str
        The statistics.
    power : ndarray (s, g)
        Power of each.
    low, high : ndarray (s, g)
        95 % intervals of the power.
    level, wanted : float
        Level of the check, and the power that counts as noticed.
    neutral : float
        The size that changes nothing.
    smallest : tuple of (str, str)
        Per statistic, the smallest distortions that are noticed, in words.
    """

    injection: str
    hypothesis: str
    amounts: HostArray
    names: tuple[str, ...]
    power: HostArray
    low: HostArray
    high: HostArray
    level: float
    wanted: float
    neutral: float
    smallest: tuple[tuple[str, str], ...]

    @property
    def finding(self) -> str:
        """The picture in one sentence."""
        said = "; ".join(f"{title(name)} {words}" for name, words in self.smallest)
        return f"Noticed with power {self.wanted:g} ({self.injection}, {self.hypothesis}): {said}."

    @property
    def words(self) -> Words:
        """Title and axis labels."""
        return Words("What the check would notice", self.injection, "power")

    def _marks(self, ax: Axes, small: bool) -> None:
        """Draw one curve per statistic with its interval, the level and the wanted power."""
        for place, name in enumerate(self.names):
            color, marker, dash = series(place)
            ax.plot(
                self.amounts,
                self.power[place],
                color=color,
                linestyle=dash,
                marker=marker,
                markersize=3.5,
                label=title(name),
            )
            ax.fill_between(
                self.amounts, self.low[place], self.high[place], color=color, alpha=0.15, linewidth=0
            )
        for height in (self.level, self.wanted):
            ax.axhline(height, color=INK, linewidth=0.6, linestyle=(0, (1, 2)))
        ax.axvline(self.neutral, color=INK, linewidth=0.6, linestyle=(0, (1, 2)))
        ax.set_ylim(-0.02, 1.02)

    def table(self) -> Table:
        """Return the power of every statistic at every amount."""
        columns = (self.injection, *(title(name) for name in self.names))
        rows = tuple(
            (shown(float(amount)), *(shown(float(one)) for one in own))
            for amount, own in zip(self.amounts, self.power.T, strict=True)
        )
        return Table(columns, rows)


def power_data(curve: PowerCurve, hypothesis: str | None = None) -> PowerDisplay:
    """Return what the picture of a check's power shows.

    Parameters
    ----------
    curve : PowerCurve
        From ``check.power()``.
    hypothesis : {"bayesian", "independent"}, optional
        Which hypothesis; the first that was tested.

    Returns
    -------
    PowerDisplay
        The data; `draw` draws them.
    """
    chosen = next(iter(curve.power)) if hypothesis is None else hypothesis
    names = tuple(curve.power[next(iter(curve.power))])
    smallest = tuple((name, _noticed(*curve.smallest(name, chosen))) for name in names)
    intervals = np.stack([curve.interval[chosen][name] for name in names])
    return PowerDisplay(
        injection=curve.injection,
        hypothesis=chosen,
        amounts=curve.grid,
        names=names,
        power=np.stack([curve.power[chosen][name] for name in names]),
        low=intervals[:, :, 0],
        high=intervals[:, :, 1],
        level=curve.level,
        wanted=curve.wanted,
        neutral=curve.neutral,
        smallest=smallest,
    )


def _noticed(below: float | None, above: float | None) -> str:
    parts = []
    if below is not None:
        parts.append(f"{shown(below)} or less")
    if above is not None:
        parts.append(f"{shown(above)} or more")
    return " and ".join(parts) or "nothing on this grid"


@drawing_of(power_data)
def power_diagram(curve: PowerCurve, hypothesis: str | None = None, *, ax: Axes | None = None) -> Axes:
    """Draw how often a check notices a distortion, by its size."""
    return power_data(curve, hypothesis).draw(ax)
