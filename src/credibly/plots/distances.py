"""How often tests reject, against a setting of the worlds such as the distance from the set (J25 Fig. 4)."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from credibly._arrays.errors import UnsupportedError
from credibly._arrays.namespace import HostArray
from credibly.evaluation import shown
from credibly.plots.display import Display, Table, Words, drawing_of, require_kind
from credibly.plots.style import INK, line_style
from credibly.results.power import PowerStudy

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclasses.dataclass(frozen=True)
class DistanceDisplay(Display):
    """Rejection rates of all tests against a setting of the worlds, at one level.

    Attributes
    ----------
    setting : str
        The setting.
    values : ndarray (v,)
        Its values, increasing.
    worlds : tuple of str
        The world of every value.
    tests : tuple of str
        The tests.
    level : float
        Level of the tests.
    rates, low, high : ndarray (tests, v)
        Rejection rates and the ends of their 95 % intervals.
    """

    size: ClassVar[tuple[float, float]] = (5.0, 5.0)

    setting: str
    values: HostArray
    worlds: tuple[str, ...]
    tests: tuple[str, ...]
    level: float
    rates: HostArray
    low: HostArray
    high: HostArray

    @property
    def finding(self) -> str:
        """The picture in one sentence."""
        first, last = self.rates[:, 0], self.rates[:, -1]
        worst, best = int(np.argmax(first)), int(np.argmax(last))
        return (
            f"At {self.setting} {shown(float(self.values[0]))} '{self.tests[worst]}' rejects most often, "
            f"{shown(float(first[worst]))}; at {shown(float(self.values[-1]))} '{self.tests[best]}' does, "
            f"{shown(float(last[best]))}."
        )

    @property
    def words(self) -> Words:
        """Title and axis labels."""
        return Words(f"Rejections at level {self.level:g}", self.setting, "share of data sets rejected")

    def _marks(self, ax: Axes, small: bool) -> None:
        """Draw the level and one line with error bars per test."""
        ax.axhline(self.level, color=INK, linestyle=":", linewidth=1.0)
        for place, name in enumerate(self.tests):
            below, above = self.rates[place] - self.low[place], self.high[place] - self.rates[place]
            ax.errorbar(
                self.values,
                self.rates[place],
                yerr=np.maximum(np.stack([below, above]), 0.0),
                label=name,
                linewidth=1.3,
                elinewidth=0.8,
                markersize=4,
                **line_style(place),
            )
        ax.set_ylim(-0.02, 1.02)

    def table(self) -> Table:
        """Return one row per test and value."""
        rows = tuple(
            (
                name,
                shown(float(value)),
                *(shown(float(one[t, place])) for one in (self.rates, self.low, self.high)),
            )
            for t, name in enumerate(self.tests)
            for place, value in enumerate(self.values)
        )
        return Table(("test", self.setting, "rate", "low", "high"), rows)


def distance_data(study: PowerStudy, *, setting: str = "delta", level: float = 0.05) -> DistanceDisplay:
    """Return rejection rates against a setting, over the worlds that differ in nothing else.

    Parameters
    ----------
    study : PowerStudy
        What `power_study` found.
    setting : str
        A setting of its worlds that is a number, such as the distance ``delta``.
    level : float
        One of the study's levels.

    Returns
    -------
    DistanceDisplay
        The data; `draw` draws them. With several groups of such worlds the largest is shown.
    """
    require_kind(study, PowerStudy, "study", "Pass what `power_study` found.")
    groups: dict[str, list[str]] = {}
    for name in study.worlds:
        settings = dict(study.settings["worlds"][name])
        value = settings.pop(setting, None)
        if isinstance(value, int | float) and not isinstance(value, bool):
            groups.setdefault(repr(sorted(settings.items())), []).append(name)
    largest = max(groups.values(), key=len, default=[])
    if len(largest) < 2:
        raise UnsupportedError(
            f"a picture over `{setting}`",
            "needs at least two worlds that differ in this setting alone",
            f"got {len(largest)} of {len(study.worlds)}",
            "Name another setting, or draw rejections against the level.",
        )
    value_of = {name: float(study.settings["worlds"][name][setting]) for name in largest}
    ordered = sorted(largest, key=lambda name: value_of[name])
    rows, height = [study.worlds.index(name) for name in ordered], study.level_place(level)
    return DistanceDisplay(
        setting=setting,
        values=np.array([value_of[name] for name in ordered]),
        worlds=tuple(ordered),
        tests=study.tests,
        level=float(study.levels[height]),
        rates=study.rates[rows, :, height].T,
        low=study.low[rows, :, height].T,
        high=study.high[rows, :, height].T,
    )


@drawing_of(distance_data)
def distance_diagram(
    study: PowerStudy, *, setting: str = "delta", level: float = 0.05, ax: Axes | None = None
) -> Axes:
    """Draw rejection rates against a setting, over the worlds that differ in nothing else."""
    return distance_data(study, setting=setting, level=level).draw(ax)
