"""Colours (Okabe and Ito 2008) and axes without pyplot: no global list of figures, no backend chosen."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

HostArray = np.ndarray[Any, Any]

BLUE = "#0072b2"
SKY = "#56b4e9"
ORANGE = "#e69f00"
VERMILION = "#d55e00"
GREEN = "#009e73"
PURPLE = "#cc79a7"
INK = "#1a1a1a"
"""Colour of text, ticks and frames. Never pure black, so that a page can tell it from its own black."""


LINES: tuple[dict[str, Any], ...] = tuple(
    {"color": color, "linestyle": dash, "marker": marker}
    for dash, markers in (("-", "os^Dv"), ("--", "osDv^"))
    for color, marker in zip((BLUE, VERMILION, GREEN, PURPLE, ORANGE), markers, strict=True)
)
"""Styles of lines side by side: no two share colour, dash and marker, and none is told by colour alone."""

_UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff\ufffe\uffff]")
_LONGEST_TITLE = 28


def printable(text: str) -> str:
    """Replace characters that no page and no picture can hold."""
    return _UNPRINTABLE.sub("\N{REPLACEMENT CHARACTER}", text)


def shortened(text: str) -> str:
    """Return `text` on one line that fits above small axes."""
    line = " ".join(printable(text).split())
    return line if len(line) <= _LONGEST_TITLE else f"{line[: _LONGEST_TITLE - 1]}…"


def new_figure(width: float, height: float) -> Figure:
    """Return an empty transparent figure of that size in inches, known to nobody but the caller."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    figure.patch.set_alpha(0)
    return figure


def new_axes(
    width: float = 5.0, height: float = 4.4, margins: tuple[float, float, float, float] | None = None
) -> Axes:
    """Return the axes of a new figure.

    Fixed `margins` (left, bottom, right, top, in inches) spare the search for a layout, which takes as long
    as the drawing itself.
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
