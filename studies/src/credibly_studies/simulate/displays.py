"""Pictures of power studies and of worlds; `plot` of their results finds them here."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import numpy as np

from credibly._arrays.errors import UnsupportedError
from credibly._arrays.namespace import HostArray
from credibly.evaluation import shown, shown_range
from credibly.plots.display import INK, SKY, VERMILION, Display, Style, Words, dots, line_style
from credibly_studies.simulate.pictures import WorldPicture
from credibly_studies.simulate.power import PowerStudy

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_SPOKEN_LEVEL = 0.05
_NAMED_MEMBERS = 5


class RejectionDisplay(Display, kind="rejections", of=PowerStudy):
    """Rejection rates of all tests in one world, against the level (M23 Fig. 1, J25 Figs. 3 and 4).

    Attributes
    ----------
    study : PowerStudy
        From `credibly_studies.simulate.power_study`.
    world : str, optional
        Name of a world. Default: the first.
    """

    size = (5.0, 5.0)

    study: PowerStudy
    world: str | None = None

    def _require(self) -> None:
        self._place  # noqa: B018 - refuses worlds of other studies

    @property
    def _name(self) -> str:
        return self.study.worlds[0] if self.world is None else self.world

    @property
    def _place(self) -> int:
        return self.study.place(self._name, self.study.tests[0])[0]

    @property
    def rates(self) -> HostArray:
        """Rates, low and high ends of their 95 % intervals, (3, tests, levels)."""
        return np.stack([one[self._place] for one in (self.study.rates, self.study.low, self.study.high)])

    @property
    def finding(self) -> str:
        """The picture in one sentence."""
        levels = self.study.levels
        place = int(np.argmin(np.abs(levels - _SPOKEN_LEVEL)))
        best = int(np.argmax(self.rates[0, :, place]))
        words = {True: "is true", False: "is false", None: "is true for some instances or for none"}
        rate, low, high = map(float, self.rates[:, best, place])
        return (
            f"The hypothesis {words[self.study.null[self._place]]}; at level "
            f"{shown(float(levels[place]))} the most rejections are those of "
            f"'{self.study.tests[best]}': {shown(rate)} ({shown_range((low, high))})."
        )

    @property
    def words(self) -> Words:
        """Title and axis labels."""
        return Words(self._name, "level", "share of data sets rejected")

    def _marks(self, ax: Axes, small: bool) -> None:
        """Draw the diagonal and one line with its band per test."""
        levels = self.study.levels
        ax.plot([0, 1], [0, 1], color=INK, linestyle=":", linewidth=1.0)
        for place, name in enumerate(self.study.tests):
            rate, low, high = self.rates[:, place]
            style = line_style(place)
            ax.fill_between(levels, low, high, color=style["color"], alpha=0.08, linewidth=0)
            ax.plot(levels, rate, label=name, linewidth=1.3, markersize=2.5 if small else 4, **style)
        ax.set_xlim(0.0, 1.0)
        ax.set_ylim(-0.02, 1.02)

    def _columns(self) -> dict[str, Any]:
        return _by_test(self.study.tests, "level", self.study.levels, self.rates)


def _by_test(tests: tuple[str, ...], name: str, places: HostArray, rates: HostArray) -> dict[str, Any]:
    """Return one row per test and place; `rates` are rate, low and high, (3, tests, places)."""
    named = {"test": np.repeat(tests, len(places)), name: np.tile(places, len(tests))}
    return {**named, **dict(zip(("rate", "low", "high"), rates.reshape(3, -1), strict=True))}


class DistanceDisplay(Display, kind="distance", of=PowerStudy):
    """Rejection rates against a setting, over the worlds that differ in nothing else (J25 Fig. 4).

    With several groups of such worlds the largest is shown.

    Attributes
    ----------
    study : PowerStudy
        From `credibly_studies.simulate.power_study`.
    setting : str
        A setting of its worlds that is a number, such as the distance ``delta``.
    level : float
        One of the study's levels.
    """

    size = (5.0, 5.0)

    study: PowerStudy
    setting: str = "delta"
    level: float = _SPOKEN_LEVEL

    def _require(self) -> None:
        if len(self.worlds) < 2:
            raise UnsupportedError(
                f"a picture over `{self.setting}`",
                "needs at least two worlds that differ in this setting alone",
                f"got {len(self.worlds)} of {len(self.study.worlds)}",
                "Name another setting, or draw rejections against the level.",
            )
        self.rates  # noqa: B018 - refuses levels of other studies

    @functools.cached_property
    def worlds(self) -> dict[str, float]:
        """The worlds and their setting, increasing."""
        groups: dict[str, dict[str, float]] = {}
        for name in self.study.worlds:
            settings = dict(self.study.settings["worlds"][name])
            value = settings.pop(self.setting, None)
            if isinstance(value, int | float) and not isinstance(value, bool):
                groups.setdefault(repr(sorted(settings.items())), {})[name] = float(value)
        largest: dict[str, float] = max(groups.values(), key=len, default={})
        return dict(sorted(largest.items(), key=lambda item: item[1]))

    @property
    def values(self) -> HostArray:
        """Values of the setting, increasing."""
        return np.array(list(self.worlds.values()))

    @property
    def rates(self) -> HostArray:
        """Rates, low and high ends of their 95 % intervals, (3, tests, worlds)."""
        own, rows = self.study, [self.study.worlds.index(name) for name in self.worlds]
        return np.stack(
            [one[rows, :, own.level_place(self.level)].T for one in (own.rates, own.low, own.high)]
        )

    @property
    def finding(self) -> str:
        """The picture in one sentence."""
        first, last = self.rates[0, :, 0], self.rates[0, :, -1]
        worst, best = int(np.argmax(first)), int(np.argmax(last))
        tests, values = self.study.tests, self.values
        return (
            f"At {self.setting} {shown(float(values[0]))} '{tests[worst]}' rejects most often, "
            f"{shown(float(first[worst]))}; at {shown(float(values[-1]))} '{tests[best]}' does, "
            f"{shown(float(last[best]))}."
        )

    @property
    def words(self) -> Words:
        """Title and axis labels."""
        level = float(self.study.levels[self.study.level_place(self.level)])
        return Words(f"Rejections at level {level:g}", self.setting, "share of data sets rejected")

    def _marks(self, ax: Axes, small: bool) -> None:
        """Draw the level and one line with error bars per test."""
        level = float(self.study.levels[self.study.level_place(self.level)])
        ax.axhline(level, color=INK, linestyle=":", linewidth=1.0)
        for place, name in enumerate(self.study.tests):
            rate, low, high = self.rates[:, place]
            ends = np.maximum(np.stack([rate - low, high - rate]), 0.0)
            style: Style = {"linewidth": 1.3, "elinewidth": 0.8, "markersize": 4, **line_style(place)}
            ax.errorbar(self.values, rate, yerr=ends, label=name, **style)
        ax.set_ylim(-0.02, 1.02)

    def _columns(self) -> dict[str, Any]:
        return _by_test(self.study.tests, self.setting, self.values, self.rates)


class WorldDisplay(Display, kind="world", of=WorldPicture):
    """Members, the band they span, the truth and the labels over the feature (J25 Fig. 9).

    Attributes
    ----------
    picture : WorldPicture
        From `credibly_studies.simulate.world_picture`.
    """

    size = (6.0, 4.0)
    key_below = 0.15

    picture: WorldPicture

    @property
    def lower(self) -> HostArray:
        """Lower edge of the band of members."""
        return np.asarray(self.picture.members.min(axis=1))

    @property
    def upper(self) -> HostArray:
        """Upper edge of the band of members."""
        return np.asarray(self.picture.members.max(axis=1))

    @property
    def finding(self) -> str:
        """The picture in one sentence."""
        own = self.picture
        probabilities = shown_range((float(own.truth.min()), float(own.truth.max())))
        return (
            f"The truth lies in the set of predictions for {int(own.inside.sum())} of {own.inside.size} "
            f"instances; class {own.of} has probability {probabilities}."
        )

    @property
    def words(self) -> Words:
        """Title and axis labels."""
        return Words(self.picture.name, "x", f"probability of class {self.picture.of}")

    def _marks(self, ax: Axes, small: bool) -> None:
        """Draw the band, a line per member, the truth, and labels as ticks at 0 and 1."""
        own = self.picture
        ax.fill_between(own.x, self.lower, self.upper, color=SKY, alpha=0.3, linewidth=0, label="band")
        _member_lines(ax, own.x, own.members)
        ax.plot(own.x, own.truth, color=INK, linewidth=1.8, label="truth")
        for value, label in ((False, None), (True, "labels")):
            places = own.x[own.labels == value]
            heights = np.full(places.size, float(value))
            dots(ax, places, heights, "|", VERMILION, label, markersize=5, alpha=0.5)
        ax.set_ylim(-0.05, 1.05)

    def _columns(self) -> dict[str, Any]:
        """Return band and truth in ten parts of the instances."""
        own = self.picture
        parts = np.array_split(np.arange(own.x.size), min(10, own.x.size))
        columns = {"mean x": own.x, "lower": self.lower, "upper": self.upper, "truth": own.truth}
        means = {name: [one[part].mean() for part in parts] for name, one in columns.items()}
        return {**means, "inside": [f"{int(own.inside[part].sum())} of {part.size}" for part in parts]}


class WeightsDisplay(Display, kind="weights", of=WorldPicture):
    """True weights of the members over the feature.

    Attributes
    ----------
    picture : WorldPicture
        From `credibly_studies.simulate.world_picture`, of a world that drew weights.
    """

    size = (6.0, 2.6)
    key_below = 0.22
    words = Words("Weights", "x", "weight")

    picture: WorldPicture

    def _require(self) -> None:
        if self.picture.weights is None:
            raise UnsupportedError(
                "a picture of weights",
                "needs a world that drew weights",
                f"got {self.picture.name!r}",
                'Draw the world alone, `kind="world"`.',
            )

    @property
    def weights(self) -> HostArray:
        """Weights, (n, m)."""
        assert self.picture.weights is not None
        return self.picture.weights

    @property
    def finding(self) -> str:
        """The picture in one sentence."""
        change = float(np.ptp(self.weights, axis=0).max())
        return f"A weight changes by up to {shown(change)} over x." if change else "The weights are constant."

    def _marks(self, ax: Axes, small: bool) -> None:
        """Draw a line per member."""
        _member_lines(ax, self.picture.x, self.weights)
        ax.set_ylim(-0.05, 1.05)

    def _columns(self) -> dict[str, Any]:
        own = self.weights
        names = [f"member {place + 1}" for place in range(own.shape[1])]
        return {
            "member": names,
            "smallest": own.min(axis=0),
            "mean": own.mean(axis=0),
            "largest": own.max(axis=0),
        }


def _member_lines(ax: Axes, x: HostArray, values: HostArray) -> None:
    """Draw a line per member; few are named, many are pale."""
    few = values.shape[1] <= _NAMED_MEMBERS
    for place, own in enumerate(values.T):
        style = {**line_style(place), "marker": None, "linewidth": 1.1, "alpha": 1.0 if few else 0.4}
        ax.plot(x, own, label=f"member {place + 1}" if few else None, **style)
