"""The triangle of all distributions over three classes, and a set in it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from credibly._arrays.errors import InputError
from credibly._arrays.namespace import HostArray
from credibly.evaluation import shown
from credibly.plots.drawing import BLUE, ORANGE, Style, shortened
from credibly.plots.pictures import Mark, Picture, draws, mark
from credibly.results.credal import SimplexPicture

CORNERS = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, 3**0.5 / 2]])
"""Where the three classes are drawn."""

TRIANGLE_AXES: dict[str, Any] = {"xlim": (-0.12, 1.12), "ylim": (-0.12, 0.98), "aspect": "equal", "off": True}


def in_triangle(probs: HostArray) -> HostArray:
    """Return where distributions (..., 3) lie in an equilateral triangle, (..., 2)."""
    return np.asarray(probs @ CORNERS)


def triangle(names: Sequence[str]) -> list[Mark]:
    """Return the triangle and the names of its corners."""
    marks = [mark("line", "ink", *CORNERS[[0, 1, 2, 0]].T, linewidth=1.0)]
    for (x, y), name, align in zip(CORNERS, names, ("right", "left", "center"), strict=True):
        place = (x, y + (0.03 if y > 0 else -0.07))
        marks.append(mark("words", "ink", shortened(name), place, ha=align, fontsize=9))
    return marks


@draws(SimplexPicture, "simplex")
def simplex(
    picture: SimplexPicture, class_names: Sequence[str] = ("class 0", "class 1", "class 2")
) -> Picture:
    """One set of distributions over three classes: members, hull, envelope, mean and what was observed.

    Parameters
    ----------
    picture : SimplexPicture
        From `credibly.credal.pictures.simplex_picture`.
    class_names : sequence of str
        Names of the three corners.
    """
    if len(class_names) != 3:
        got = f"got {len(class_names)}"
        raise InputError("`class_names`", "must be three names", got, "Name every corner.")
    # one label is a corner
    observed = picture.target if picture.label is None else np.eye(3)[picture.label]
    named = {"mean": picture.mean[None, :], "member": picture.members, "corner of the set": picture.hull}
    outline: Style = {"facecolor": "none", "edgecolor": ORANGE, "linestyle": (0, (4, 2)), "linewidth": 1.4}
    inside: Style = {"edgecolor": BLUE, "alpha": 0.45, "linewidth": 1.4}
    label = "within lower and upper probabilities"
    marks = [
        *triangle(class_names),
        mark("polygon", "expected", in_triangle(picture.envelope), label=label, **outline),
        mark("polygon", "chance", in_triangle(picture.hull), label="the set", **inside),
    ]
    if len(picture.members):
        members: Style = {"label": "members", "markersize": 4}
        marks.append(mark("dots", "observed", *in_triangle(picture.members).T, **members))
    marks.append(mark("dots", "ink", *in_triangle(picture.mean).T, label="mean", marker="s", markersize=6))
    if observed is not None:
        star: Style = {"label": "observed", "marker": "*", "markersize": 12}
        marks.append(mark("dots", "far", *in_triangle(observed).T, **star))
        named = {"observed": observed[None, :], **named}
    points = np.concatenate(list(named.values()))
    return Picture(
        f"{picture.kind}, instance {picture.row}",
        f"The set fills {shown(100 * _area(picture.hull))} % of all distributions; its lower and upper "
        f"probabilities alone would allow {shown(100 * _area(picture.envelope))} %.",
        {
            "distribution": [name for name, some in named.items() for _ in some],
            **dict(zip(class_names, points.T, strict=True)),
        },
        marks,
        size=(4.6, 4.6),
        axes=TRIANGLE_AXES,
    )


def _area(corners: HostArray) -> float:
    """Return the area of a polygon of distributions as a share of the triangle: 0 for a point or a line."""
    x, y = in_triangle(corners).T
    return float(abs(np.sum(x * np.roll(y, -1) - y * np.roll(x, -1)))) / (3**0.5 / 2)  # shoelace formula
