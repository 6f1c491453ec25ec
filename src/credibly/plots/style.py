"""Colours (Okabe and Ito 2008) and axes without pyplot: no global list of figures, no backend chosen."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from credibly._arrays.namespace import HostArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


BLUE = "#0072b2"
SKY = "#56b4e9"
ORANGE = "#e69f00"
VERMILION = "#d55e00"
GREEN = "#009e73"
PURPLE = "#cc79a7"
INK = "#1a1a1a"
"""Colour of text, ticks and frames. Never pure black, so that a page can tell it from its own black."""


_SERIES = (
    (BLUE, "o", "-"),
    (VERMILION, "s", (0, (6, 2))),
    (GREEN, "^", (0, (2, 1.5))),
    (PURPLE, "D", (0, (6, 2, 1.5, 2))),
    (ORANGE, "v", "-"),
    (SKY, "P", (0, (4, 1))),
    (INK, "X", (0, (1, 1))),
)

_UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff\ufffe\uffff]")
_LONGEST_TITLE = 28


def series(place: int) -> tuple[str, str, Any]:
    """Return colour, marker and dashes of one of many lines: never colour alone."""
    color, marker, dashes = _SERIES[place % len(_SERIES)]
    if place // len(_SERIES) % 2:  # the second round keeps colours and changes dashes
        dashes = _SERIES[(place + 3) % len(_SERIES)][2]
    return color, marker, dashes


def line_style(place: int) -> dict[str, Any]:
    """Return the same as keywords of `Axes.plot`."""
    color, marker, dashes = series(place)
    return {"color": color, "marker": marker, "linestyle": dashes}


def printable(text: str) -> str:
    """Replace characters that no page and no picture can hold.

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


def shortened(text: str) -> str:
    """Return `text` on one line that fits above small axes."""
    line = " ".join(printable(text).split())
    return line if len(line) <= _LONGEST_TITLE else f"{line[: _LONGEST_TITLE - 1]}…"


def new_figure(width: float, height: float) -> Figure:
    """Return an empty transparent figure, known to nobody but the caller.

    Parameters
    ----------
    width, height : float
        Size in inches.

    Returns
    -------
    Figure
        Without axes.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
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
    figure = new_figure(width, height)
    if margins is None:
        return figure.add_subplot()
    left, bottom, right, top = margins
    box = (left / width, bottom / height, 1 - (left + right) / width, 1 - (bottom + top) / height)
    figure.set_layout_engine("none")
    return figure.add_axes(box)


def key(ax: Axes, below: float = 0.13) -> None:
    """Explain marks and colours below the axes, where nothing is drawn."""
    legend = ax.legend(
        loc="upper center", bbox_to_anchor=(0.5, -below), ncols=2, fontsize=8, frameon=False, handlelength=1.6
    )
    for text in legend.get_texts():
        text.set_color(INK)


def dress(ax: Axes, *, xlabel: str, ylabel: str, title: str, size: float = 9.0) -> None:
    """Give axes their labels, a light frame and one ink."""
    ax.set_xlabel(xlabel, color=INK, fontsize=size)
    ax.set_ylabel(ylabel, color=INK, fontsize=size)
    # names of classes are the user's: a dollar sign in them is no formula
    ax.set_title(shortened(title), color=INK, fontsize=size + 1, loc="left", parse_math=False)
    ax.set_facecolor("none")
    ax.tick_params(colors=INK, labelsize=size - 1, length=3)
    for name, spine in ax.spines.items():
        spine.set_visible(name in ("left", "bottom"))
        spine.set_edgecolor(INK)


def name_ticks(ax: Axes, names: Sequence[str]) -> None:
    """Write names below places 0, 1, ... slanted; they are the user's, so a dollar sign is no formula."""
    ax.set_xticks(
        range(len(names)), [shortened(name) for name in names], rotation=30, ha="right", parse_math=False
    )
    ax.set_xlim(-0.6, len(names) - 0.4)


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


def axes_or_new(ax: Any, width: float, height: float) -> Axes:
    """Return `ax`, or the axes of a new figure where it is None."""
    return new_axes(width, height) if ax is None else ax
