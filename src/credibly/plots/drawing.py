"""What draws: colours (Okabe and Ito 2008), figures and axes without pyplot, shapes, keys, small multiples.

Without pyplot there is no global list of figures, and no backend is chosen.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from credibly._arrays.errors import require_positive
from credibly._arrays.namespace import HostArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


Style = dict[str, Any]
"""Keywords of a drawing function of matplotlib."""

BLUE = "#0072b2"
SKY = "#56b4e9"
ORANGE = "#e69f00"
VERMILION = "#d55e00"
GREEN = "#009e73"
PURPLE = "#cc79a7"
INK = "#1a1a1a"
"""Colour of text, ticks and frames. Never pure black, so that a page can tell it from its own black."""

DASHED = (0, (4, 3))

_SERIES = (
    (BLUE, "o", "-"),
    (VERMILION, "s", (0, (6, 2))),
    (GREEN, "^", (0, (2, 1.5))),
    (PURPLE, "D", (0, (6, 2, 1.5, 2))),
    (ORANGE, "v", "-"),
    (SKY, "P", (0, (4, 1))),
    (INK, "X", (0, (1, 1))),
)

_BIDI = "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
"""Unseen characters that turn the text around them: a name must not rewrite the sentence it stands in."""
_UNPRINTABLE = re.compile(f"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f{_BIDI}\ud800-\udfff\ufffe\uffff]")
_LONGEST_TITLE = 28


def series(place: int) -> tuple[str, str, Any]:
    """Return colour, marker and dashes of one of many lines: never colour alone."""
    color, marker, dashes = _SERIES[place % len(_SERIES)]
    if place // len(_SERIES) % 2:  # the second round keeps colours and changes dashes
        dashes = _SERIES[(place + 3) % len(_SERIES)][2]
    return color, marker, dashes


def line_style(place: int) -> Style:
    """Return the same as keywords of `Axes.plot`."""
    color, marker, dashes = series(place)
    return {"color": color, "marker": marker, "linestyle": dashes}


def printable(text: str) -> str:
    """Replace characters that no page and no picture can hold, or that turn the text around them.

    Parameters
    ----------
    text : str
        What to show.

    Returns
    -------
    str
        The same with replacement characters.
    """
    return _UNPRINTABLE.sub("\N{REPLACEMENT CHARACTER}", text)


def shortened(text: str, longest: int = _LONGEST_TITLE) -> str:
    """Return `text` on one line of at most `longest` characters, which fits above small axes."""
    line = " ".join(printable(text).split())
    return line if len(line) <= longest else f"{line[: longest - 1]}…"


def new_figure(width: float, height: float, layout: Literal["constrained", "none"] = "constrained") -> Figure:
    """Return an empty transparent figure, known to nobody but the caller.

    Parameters
    ----------
    width, height : float
        Size in inches.
    layout : {"constrained", "none"}
        Whether matplotlib looks for room for what stands beside axes. It draws the whole figure once more
        for that, also where "none" is only set later.

    Returns
    -------
    Figure
        Without axes.
    """
    from matplotlib.figure import Figure

    # matplotlib documents "none", its stubs leave it out
    figure = Figure(figsize=(width, height), layout=layout)  # type: ignore[arg-type]
    figure.patch.set_alpha(0)
    return figure


def whole_figure(ax: Axes) -> Figure:
    """Return the figure that holds the axes, also where they stand on a part of it.

    Parameters
    ----------
    ax : Axes
        Axes of a figure or of a part of one.

    Returns
    -------
    Figure
        The whole figure.

    Notes
    -----
    From matplotlib 3.10 on this is `ax.get_figure(root=True)`; a figure's own `figure` is the whole in all
    versions.
    """
    part: Any = ax.figure
    whole: Figure = part.figure
    return whole


def new_axes(
    width: float = 5.0, height: float = 4.4, margins: tuple[float, float, float, float] | None = None
) -> Axes:
    """Return the axes of a new figure.

    Parameters
    ----------
    width, height : float
        Size of the figure in inches.
    margins : tuple of float, optional
        Left, bottom, right and top in inches. They spare the search for a layout, which takes as long as the
        drawing itself.

    Returns
    -------
    Axes
        The axes, their figure in ``.figure``.
    """
    if margins is None:
        return new_figure(width, height).add_subplot()
    left, bottom, right, top = margins
    box = (left / width, bottom / height, 1 - (left + right) / width, 1 - (bottom + top) / height)
    return new_figure(width, height, "none").add_axes(box)


def add_key(ax: Axes, below: float) -> None:
    """Explain marks and colours below the axes, where nothing is drawn."""
    place: Style = {"loc": "upper center", "bbox_to_anchor": (0.5, -below), "ncols": 2}
    legend = ax.legend(fontsize=8, frameon=False, handlelength=1.6, labelcolor=INK, **place)
    for text in legend.get_texts():
        # names of models are the user's: a dollar sign in them does not start a formula
        text.set_parse_math(False)


def dress(ax: Axes, *, xlabel: str, ylabel: str, title: str, size: float = 9.0) -> None:
    """Give axes their labels, a light frame and one ink."""
    ax.set_xlabel(xlabel, color=INK, fontsize=size)
    ax.set_ylabel(ylabel, color=INK, fontsize=size)
    # names of classes are the user's: a dollar sign in them does not start a formula; a given height spares
    # the search for one above everything drawn, a tenth of the time of a picture
    ax.set_title(shortened(title), color=INK, fontsize=size + 1, loc="left", parse_math=False, y=1.0)
    ax.set_facecolor("none")
    ax.tick_params(colors=INK, labelsize=size - 1, length=3)
    for name, spine in ax.spines.items():
        spine.set_visible(name in ("left", "bottom"))
        spine.set_edgecolor(INK)


def apart(heights: HostArray, gap: float, top: float) -> HostArray:
    """Return heights moved apart so that labels do not overlap: up, then down where they leave the top."""
    placed = np.array(heights, dtype=np.float64)
    order = np.argsort(placed, kind="stable").tolist()
    for lower, upper in itertools.pairwise(order):
        placed[upper] = max(placed[upper], placed[lower] + gap)
    ceiling = top
    for place in reversed(order):
        placed[place] = min(placed[place], ceiling)
        ceiling = placed[place] - gap
    return placed


def draw_boxes(
    ax: Axes, left: HostArray, right: HostArray, bottom: HostArray, top: HostArray, **style: Any
) -> None:
    """Draw rectangles as one shape: a page with many diagrams stays small."""
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    corners = [
        Path(
            [(x0, y0), (x1, y0), (x1, y1), (x0, y1), (x0, y0)],
            [Path.MOVETO, Path.LINETO, Path.LINETO, Path.LINETO, Path.CLOSEPOLY],
        )
        for x0, x1, y0, y1 in zip(left, right, bottom, top, strict=True)
    ]
    ax.add_patch(PathPatch(Path.make_compound_path(*corners), **style))


def draw_polygon(ax: Axes, corners: HostArray, **style: Any) -> None:
    """Draw a polygon (c, 2)."""
    from matplotlib.patches import Polygon

    ax.add_patch(Polygon(corners, **style))


def panels(pictures: Sequence[Any], *, columns: int = 4) -> Figure:
    """Draw several pictures as small multiples, with one key for all.

    Parameters
    ----------
    pictures : sequence of Picture
        What to draw, such as one picture per class or world.
    columns : int
        Panels per row.

    Returns
    -------
    Figure
        A new figure.
    """
    require_positive("`columns`", columns, "Use 4.")
    columns = min(columns, len(pictures))
    rows = -(-len(pictures) // columns)
    figure = new_figure(2.6 * columns + 0.4, 2.5 * rows + 1.0)
    for place, picture in enumerate(pictures):
        ax = picture.draw(figure.add_subplot(rows, columns, 1 + place), small=True)
        if place + columns >= len(pictures):
            ax.set_xlabel(picture.xlabel, color=INK, fontsize=8)
        if place % columns == 0:
            ax.set_ylabel(picture.ylabel, color=INK, fontsize=8)
    marks = {
        name: mark for ax in figure.axes for mark, name in zip(*ax.get_legend_handles_labels(), strict=True)
    }
    place_of_key: Style = {"loc": "outside lower center", "ncols": 2, "fontsize": 8, "frameon": False}
    figure.legend(list(marks.values()), list(marks), labelcolor=INK, **place_of_key)
    return figure
