"""Pictures of power studies and of worlds; `plot` of their results finds them here."""

from __future__ import annotations

from typing import Any

import numpy as np

from credibly._arrays.errors import UnsupportedError
from credibly._arrays.namespace import HostArray
from credibly.evaluation import shown, shown_range
from credibly.plots import Mark, Picture, draws, mark
from credibly.plots.drawing import Style, line_style
from credibly_studies.simulate.pictures import WorldPicture
from credibly_studies.simulate.power import PowerStudy

_SPOKEN_LEVEL = 0.05
_NAMED_MEMBERS = 5


@draws(PowerStudy, "rejections")
def rejections(study: PowerStudy, world: str | None = None) -> Picture:
    """Rejection rates of all tests in one world, against the level (M23 Fig. 1, J25 Figs. 3 and 4).

    Parameters
    ----------
    study : PowerStudy
        From `credibly_studies.simulate.power_study`.
    world : str, optional
        Name of a world. Default: the first.
    """
    name = study.worlds[0] if world is None else world
    row, _ = study.place(name, study.tests[0])
    rates = np.stack([table[row] for table in (study.rates, study.low, study.high)])
    spoken = int(np.argmin(np.abs(study.levels - _SPOKEN_LEVEL)))
    best = int(np.argmax(rates[0, :, spoken]))
    words = {True: "is true", False: "is false", None: "is true for some instances or for none"}
    rate, low, high = map(float, rates[:, best, spoken])
    dotted: Style = {"linestyle": ":", "linewidth": 1.0}
    marks = [mark("line", "expected", [0, 1], [0, 1], **dotted)]
    for place, test in enumerate(study.tests):
        value, *ends = rates[:, place]
        style: Style = {"label": test, "linewidth": 1.3, "markersize": 4, **line_style(place)}
        marks += [
            mark("band", "chance", study.levels, *ends, color=style["color"], alpha=0.08),
            mark("line", "observed", study.levels, value, small={"markersize": 2.5}, **style),
        ]
    return Picture(
        name,
        f"The hypothesis {words[study.null[row]]}; at level "
        f"{shown(float(study.levels[spoken]))} the most rejections are those of "
        f"'{study.tests[best]}': {shown(rate)} ({shown_range((low, high))}).",
        _by_test(study.tests, "level", study.levels, rates),
        marks,
        "level",
        "share of data sets rejected",
        size=(5.0, 5.0),
        axes={"xlim": (0.0, 1.0), "ylim": (-0.02, 1.02)},
    )


def _by_test(tests: tuple[str, ...], name: str, places: HostArray, rates: HostArray) -> dict[str, Any]:
    """Return one row per test and place; `rates` are rate, low and high, (3, tests, places)."""
    named = {"test": np.repeat(tests, len(places)), name: np.tile(places, len(tests))}
    return {**named, **dict(zip(("rate", "low", "high"), rates.reshape(3, -1), strict=True))}


@draws(PowerStudy, "distance")
def distance(study: PowerStudy, setting: str = "delta", level: float = _SPOKEN_LEVEL) -> Picture:
    """Rejection rates against a setting, over the worlds that differ in nothing else (J25 Fig. 4).

    With several groups of such worlds the largest is shown.

    Parameters
    ----------
    study : PowerStudy
        From `credibly_studies.simulate.power_study`.
    setting : str
        A setting of its worlds that is a number, such as the distance ``delta``.
    level : float
        One of the study's levels.
    """
    worlds = _worlds_along(study, setting)
    if len(worlds) < 2:
        raise UnsupportedError(
            f"a picture over `{setting}`",
            "needs at least two worlds that differ in this setting alone",
            f"got {len(worlds)} of {len(study.worlds)}",
            "Name another setting, or draw rejections against the level.",
        )
    values, column = np.array(list(worlds.values())), study.level_place(level)
    rows, spoken = [study.worlds.index(name) for name in worlds], float(study.levels[column])
    rates = np.stack([table[rows, :, column].T for table in (study.rates, study.low, study.high)])
    first, last = rates[0, :, 0], rates[0, :, -1]
    worst, best = int(np.argmax(first)), int(np.argmax(last))
    marks = [mark("across", "expected", spoken, linestyle=":", linewidth=1.0)]
    for place, test in enumerate(study.tests):
        rate, low, high = rates[:, place]
        style: Style = {"linewidth": 1.3, "elinewidth": 0.8, "markersize": 4, **line_style(place)}
        ends = np.maximum(np.stack([rate - low, high - rate]), 0.0)
        marks.append(mark("errorbar", "observed", values, rate, yerr=ends, label=test, **style))
    return Picture(
        f"Rejections at level {spoken:g}",
        f"At {setting} {shown(float(values[0]))} '{study.tests[worst]}' rejects most often, "
        f"{shown(float(first[worst]))}; at {shown(float(values[-1]))} '{study.tests[best]}' does, "
        f"{shown(float(last[best]))}.",
        _by_test(study.tests, setting, values, rates),
        marks,
        setting,
        "share of data sets rejected",
        size=(5.0, 5.0),
        axes={"ylim": (-0.02, 1.02)},
    )


def _worlds_along(study: PowerStudy, setting: str) -> dict[str, float]:
    """Return the worlds that differ in nothing but `setting`, increasing."""
    groups: dict[str, dict[str, float]] = {}
    for name in study.worlds:
        settings = dict(study.settings["worlds"][name])
        value = settings.pop(setting, None)
        if isinstance(value, int | float) and not isinstance(value, bool):
            groups.setdefault(repr(sorted(settings.items())), {})[name] = float(value)
    largest: dict[str, float] = max(groups.values(), key=len, default={})
    return dict(sorted(largest.items(), key=lambda item: item[1]))


@draws(WorldPicture, "world")
def world(picture: WorldPicture) -> Picture:
    """Members, the band they span, the truth and the labels over the feature (J25 Fig. 9).

    Parameters
    ----------
    picture : WorldPicture
        From `credibly_studies.simulate.world_picture`.
    """
    lower, upper = picture.members.min(axis=1), picture.members.max(axis=1)
    x, inside = picture.x, picture.inside
    marks = [
        mark("band", "chance", x, lower, upper, alpha=0.3, label="band"),
        *_member_lines(x, picture.members),
        mark("line", "ink", x, picture.truth, linewidth=1.8, label="truth"),
    ]
    for value, label in ((False, None), (True, "labels")):  # ticks at 0 and 1
        places = x[picture.labels == value]
        style: Style = {"label": label, "marker": "|", "markersize": 5, "alpha": 0.5}
        marks.append(mark("dots", "far", places, np.full(places.size, float(value)), **style))
    # band and truth in ten parts of the instances
    parts = np.array_split(np.arange(x.size), min(10, x.size))
    columns = {"mean x": x, "lower": lower, "upper": upper, "truth": picture.truth}
    means = {name: [values[part].mean() for part in parts] for name, values in columns.items()}
    probabilities = shown_range((float(picture.truth.min()), float(picture.truth.max())))
    return Picture(
        picture.name,
        f"The truth lies in the set of predictions for {int(inside.sum())} of {inside.size} "
        f"instances; class {picture.of} has probability {probabilities}.",
        {**means, "inside": [f"{int(inside[part].sum())} of {part.size}" for part in parts]},
        marks,
        "x",
        f"probability of class {picture.of}",
        size=(6.0, 4.0),
        axes={"ylim": (-0.05, 1.05)},
        key_below=0.15,
    )


@draws(WorldPicture, "weights")
def weights(picture: WorldPicture) -> Picture:
    """True weights of the members over the feature.

    Parameters
    ----------
    picture : WorldPicture
        From `credibly_studies.simulate.world_picture`, of a world that drew weights.
    """
    if picture.weights is None:
        raise UnsupportedError(
            "a picture of weights",
            "needs a world that drew weights",
            f"got {picture.name!r}",
            'Draw the world alone, `kind="world"`.',
        )
    values = picture.weights
    change = float(np.ptp(values, axis=0).max())
    return Picture(
        "Weights",
        f"A weight changes by up to {shown(change)} over x." if change else "The weights are constant.",
        {
            "member": [f"member {place + 1}" for place in range(values.shape[1])],
            "smallest": values.min(axis=0),
            "mean": values.mean(axis=0),
            "largest": values.max(axis=0),
        },
        _member_lines(picture.x, values),
        "x",
        "weight",
        size=(6.0, 2.6),
        axes={"ylim": (-0.05, 1.05)},
        key_below=0.22,
    )


def _member_lines(x: HostArray, values: HostArray) -> list[Mark]:
    """Return a line per member; few are named, many are pale."""
    few = values.shape[1] <= _NAMED_MEMBERS
    style: Style = {"marker": None, "linewidth": 1.1, "alpha": 1.0 if few else 0.4}
    return [
        mark(
            "line", "observed", x, values_of_member,
            label=f"member {place + 1}" if few else None, **{**line_style(place), **style},
        )
        for place, values_of_member in enumerate(values.T)
    ]  # fmt: skip
