"""What every picture here is: a result, one sentence that says it, a drawing, and the numbers as a table.

Colours (Okabe and Ito 2008) and axes without pyplot: no global list of figures, no backend chosen.
"""

from __future__ import annotations

import abc
import dataclasses
import itertools
import re
import weakref
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal, dataclass_transform, get_args, get_origin

import numpy as np

from credibly._arrays.errors import InputError, InputTypeError, UnsupportedError, one_of, require_positive
from credibly._arrays.namespace import HostArray, to_host
from credibly.evaluation import shown, shown_range

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


_SERIES = (
    (BLUE, "o", "-"),
    (VERMILION, "s", (0, (6, 2))),
    (GREEN, "^", (0, (2, 1.5))),
    (PURPLE, "D", (0, (6, 2, 1.5, 2))),
    (ORANGE, "v", "-"),
    (SKY, "P", (0, (4, 1))),
    (INK, "X", (0, (1, 1))),
)

COUNTS_DEPTH = 0.17
"""How far bars of counts reach below zero, of axes from 0 to 1."""

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


def line_style(place: int) -> dict[str, Any]:
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


def shortened(text: str) -> str:
    """Return `text` on one line that fits above small axes."""
    line = " ".join(printable(text).split())
    return line if len(line) <= _LONGEST_TITLE else f"{line[: _LONGEST_TITLE - 1]}…"


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


def key(ax: Axes, below: float = 0.13) -> None:
    """Explain marks and colours below the axes, where nothing is drawn."""
    place: Style = {"loc": "upper center", "bbox_to_anchor": (0.5, -below), "ncols": 2}
    legend = ax.legend(fontsize=8, frameon=False, handlelength=1.6, labelcolor=INK, **place)
    for text in legend.get_texts():
        text.set_parse_math(
            False
        )  # names of models are the user's: a dollar sign in them does not start a formula


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


def name_ticks(ax: Axes, names: Sequence[str]) -> None:
    """Write names below places 0, 1, ... slanted; in names of the user a dollar sign is literal."""
    ax.set_xticks(
        range(len(names)), [shortened(name) for name in names], rotation=30, ha="right", parse_math=False
    )
    ax.set_xlim(-0.6, len(names) - 0.4)


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


def hang_counts(ax: Axes, left: HostArray, right: HostArray, count: HostArray) -> None:
    """Draw numbers of instances as bars that hang from zero."""
    middle, half = (left + right) / 2, 0.45 * (right - left)
    depth = COUNTS_DEPTH * count / float(count.max())
    ax.axhline(0, color=INK, linewidth=0.6)
    style: Style = {"color": INK, "alpha": 0.3, "linewidth": 0, "zorder": 1}
    draw_boxes(ax, middle - half, middle + half, -depth, 0 * depth, **style)


def unit_square(ax: Axes, small: bool, below: float) -> None:
    """Show shares from 0 to 1 on both axes, and what hangs below zero."""
    ax.set_xlim(-0.02, 1.02)
    ax.set_ylim(-below, 1.03)
    ticks = [0, 0.5, 1] if small else [0, 0.2, 0.4, 0.6, 0.8, 1]
    ax.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    ax.set_yticks(ticks, [f"{tick:g}" for tick in ticks])


def dots(ax: Axes, x: Any, y: Any, marker: str, color: str, label: str | None = None, **style: Any) -> None:
    """Draw marks without a line."""
    ax.plot(x, y, linestyle="none", marker=marker, color=color, label=label, **style)


def sorted_dots(ax: Axes, x: Any, y: Any, far: HostArray, labels: tuple[str, str], **style: Any) -> None:
    """Draw what is as expected as circles and what is not as diamonds: never colour alone."""
    near = style.pop("near", BLUE)
    for chosen, marker, color, label in ((~far, "o", near, labels[0]), (far, "D", VERMILION, labels[1])):
        if chosen.any():
            dots(ax, x[chosen], y[chosen], marker, color, label, **style)


def diagonal(ax: Axes, top: float = 1.0, label: str | None = None) -> None:
    """Draw where both axes say the same."""
    ax.plot([0, top], [0, top], color=INK, linestyle=(0, (4, 3)), linewidth=0.9, label=label, zorder=2)


_MODELS: weakref.WeakSet[Any] = weakref.WeakSet()
"""Lines that stand for a model. The axes hold them: cleared axes begin again with the first colour."""


def model_line(ax: Axes, x: Any, y: Any, label: str, **style: Any) -> Any:
    """Draw the line of one of several models, each in the next colour, marker and dash of the axes.

    Returns
    -------
    Line2D
        The line. ``models_on(ax)`` counts it from now on.
    """
    # names of models are the user's: one that begins with "_" would be left out of the key
    given = {**line_style(models_on(ax)), "markersize": 5, "linewidth": 1.3, **style}
    said = shortened(label)
    (line,) = ax.plot(x, y, label=f" {said}" if said.startswith("_") else said, **given)
    _MODELS.add(line)
    return line


def models_on(ax: Axes) -> int:
    """Return how many models these axes show."""
    return sum(line in _MODELS for line in ax.lines)


def panels(displays: Sequence[Any], *, columns: int = 4) -> Figure:
    """Draw several displays as small multiples, with one key for all.

    Parameters
    ----------
    displays : sequence of Display
        What to draw, such as one display per class or world.
    columns : int
        Panels per row.

    Returns
    -------
    Figure
        A new figure.
    """
    require_positive("`columns`", columns, "Use 4.")
    columns = min(columns, len(displays))
    rows = -(-len(displays) // columns)
    figure = new_figure(2.6 * columns + 0.4, 2.5 * rows + 1.0)
    for place, display in enumerate(displays):
        ax = display.draw(figure.add_subplot(rows, columns, 1 + place), small=True)
        if place + columns >= len(displays):
            ax.set_xlabel(display.words.xlabel, color=INK, fontsize=8)
        if place % columns == 0:
            ax.set_ylabel(display.words.ylabel, color=INK, fontsize=8)
    marks = {
        name: mark for ax in figure.axes for mark, name in zip(*ax.get_legend_handles_labels(), strict=True)
    }
    place_of_key: Style = {"loc": "outside lower center", "ncols": 2, "fontsize": 8, "frameon": False}
    figure.legend(list(marks.values()), list(marks), labelcolor=INK, **place_of_key)
    return figure


_PICTURES: dict[str, dict[str, type[Display]]] = {}
"""Pictures by name of the result's type, then by kind, in the order in which they were declared."""


@dataclasses.dataclass(frozen=True)
class Words:
    """Title and axis labels of a picture."""

    title: str
    xlabel: str = ""
    ylabel: str = ""


@dataclasses.dataclass(frozen=True)
class Table:
    """Column names and rows of text."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass_transform(frozen_default=True, eq_default=False)
class Display(abc.ABC):
    """A picture of a result. Its first field is the result, the others are options.

    Subclasses become frozen dataclasses. They give `finding`, `words`, `_marks` and `_columns`, and compute
    what they draw in properties.
    ``class NullDisplay(Display, kind="null", of=HypotestResult)`` is what ``result.plot(kind="null")`` draws;
    of several kinds the first that needs nothing but the result is the default. Tests are told apart by the
    type of their details, ``of=HypotestResult[WitnessDetails]``. A type that this room must not import is
    given by its name.
    """

    size: ClassVar[tuple[float, float]] = (5.0, 4.4)
    """Width and height of a new figure in inches."""

    key_below: ClassVar[float] = 0.13
    """How far below the axes their key stands, as a share of their height."""

    several: ClassVar[bool] = False
    """Whether results of several models may be given by name."""

    of: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(
        cls, *, kind: str = "", of: type | str | tuple[type, ...] = (), **others: Any
    ) -> None:
        super().__init_subclass__(**others)
        dataclasses.dataclass(frozen=True, eq=False)(cls)
        if kind:
            types = of if isinstance(of, tuple) else (of,)
            cls.of = tuple(one if isinstance(one, str) else _type_name(one) for one in types)
            for name in cls.of:
                _PICTURES.setdefault(name, {})[kind] = cls

    def __post_init__(self) -> None:
        field = dataclasses.fields(self)[0].name  # type: ignore[arg-type]
        given = getattr(self, field)
        results = list(given.values()) if self.several and isinstance(given, Mapping) else [given]
        if not results:
            raise InputError(
                f"`{field}`", "must hold at least one result", "got none", "Pass one by its name."
            )
        for one in results:
            if self.of and not set(_types(one)) & set(self.of):
                types = " or ".join(f"`{name}`" for name in self.of)
                evidence = f"got {_types(one)[0]}"
                raise InputTypeError(
                    f"`{field}`", f"must be of type {types}", evidence, "Pass the result itself."
                )
        self._require()

    def _require(self) -> None:  # noqa: B027 - most pictures can be drawn of any such result
        """Raise where options do not fit the result, or where there is nothing to draw."""

    @property
    @abc.abstractmethod
    def finding(self) -> str:
        """The picture in one sentence."""

    @property
    @abc.abstractmethod
    def words(self) -> Words:
        """Title and axis labels."""

    @abc.abstractmethod
    def _marks(self, ax: Axes, small: bool) -> None:
        """Draw lines, points and limits; titles and the key are not its business."""

    @abc.abstractmethod
    def _columns(self) -> Mapping[str, Iterable[object]]:
        """Return the numbers behind the picture: one entry per row, by column."""

    def _model(self, ax: Axes, label: str) -> None:
        """Draw the result as that of one of several models."""
        raise UnsupportedError(
            f"`label` of a {type(self).__name__}",
            "is for pictures that can show several models",
            "this one shows a single result",
            "Draw every model on its own axes.",
        )

    def draw(self, ax: Axes | None = None, *, label: str | None = None, small: bool = False) -> Axes:
        """Draw.

        Parameters
        ----------
        ax : Axes, optional
            Where to draw. Default: a new figure.
        label : str, optional
            Name of the model. Several models on the same axes get different colours, markers and dashes, and
            a legend with their names; what only one of them can show, such as counts, is left out.
        small : bool
            For small multiples: without axis labels and legend.

        Returns
        -------
        Axes
            The axes, their figure in ``.figure``.
        """
        ax = new_axes(*self.size) if ax is None else ax
        words = self.words
        labels = ("", "") if small else (words.xlabel, words.ylabel)
        dress(ax, xlabel=labels[0], ylabel=labels[1], title=words.title, size=8 if small else 9)
        if label is None:
            self._marks(ax, small)
        else:
            self._model(ax, str(label))
        if not small and ax.get_legend_handles_labels()[0]:
            key(ax, self.key_below)
        return ax

    def table(self) -> Table:
        """Return the numbers behind the picture.

        Returns
        -------
        Table
            Text, numbers with three digits.
        """
        columns = self._columns()
        rows = zip(*columns.values(), strict=True)
        return Table(tuple(columns), tuple(tuple(map(_cell, row)) for row in rows))


def _cell(value: Any) -> str:
    if isinstance(value, str):
        return str(value)
    if isinstance(value, tuple):
        return shown_range(value)
    if isinstance(value, (bool, np.bool_)):
        return "yes" if value else ""
    return str(int(value)) if isinstance(value, (int, np.integer)) else shown(float(value))


def ranges(low: Iterable[float], high: Iterable[float]) -> list[str]:
    """Return both ends of every interval in words; "none" where they are not known."""
    both = ((float(start), float(end)) for start, end in zip(low, high, strict=True))
    return ["none" if np.isnan(ends[0]) else shown_range(ends) for ends in both]


def _type_name(declared: type) -> str:
    """Return what a type is called: "HypotestResult[WitnessDetails]" with the details of a test."""
    origin = get_origin(declared)
    return declared.__name__ if origin is None else f"{origin.__name__}[{get_args(declared)[0].__name__}]"


def _types(result: object) -> list[str]:
    """Return the names of a result's types, the most special first."""
    details = getattr(result, "details", None)
    special = [] if details is None else type(details).__mro__
    known = [f"{type(result).__name__}[{base.__name__}]" for base in special]
    return [*known, *(base.__name__ for base in type(result).__mro__)]


def kinds_of(result: object) -> dict[str, type[Display]]:
    """Return the pictures of a result by kind, without those of its parts.

    Parameters
    ----------
    result : Result
        What a test or measure returned.

    Returns
    -------
    dict
        Types of displays by kind.
    """
    return {
        name: display
        for base in reversed(_types(result))
        for name, display in _PICTURES.get(base, {}).items()
    }


def picture(result: object, kind: str | None = None, **options: Any) -> Display:
    """Return the picture of a result, which has its sentence and its table and can be drawn.

    Parameters
    ----------
    result : Result
        What a test or measure returned.
    kind : str, optional
        Which picture, if there are several. Default: the most useful one.
    **options
        Options of that picture.

    Returns
    -------
    Display
        The picture: ``finding``, ``table()`` and ``draw(ax)``.
    """
    kinds = kinds_of(result)
    if not kinds:
        raise UnsupportedError(
            f"a picture of `{type(result).__name__}`",
            "must be known to `credibly.plots`",
            f"it draws {', '.join(sorted(_PICTURES))}",
            "Draw one of these, or print the result.",
        )
    if kind is None:
        own = next(_PICTURES[base] for base in _types(result) if base in _PICTURES)
        kind = next((name for name in (*own, *kinds) if not _needed(kinds[name])), next(iter(kinds)))
    one_of("`kind`", kind, kinds)
    chosen = kinds[kind]
    known = [field.name for field in dataclasses.fields(chosen)[1:]]  # type: ignore[arg-type]
    for name in options:
        one_of(f'options of `kind="{kind}"`', name, known)
    for name in _needed(chosen):
        if name not in options:
            raise InputTypeError(
                f'`kind="{kind}"`', f"needs `{name}=`", "it was not given", "Pass it to `plot`."
            )
    return chosen(result, **options)  # type: ignore[call-arg]


def _needed(display: type[Display]) -> list[str]:
    """Return the options without a default."""
    fields = dataclasses.fields(display)[1:]  # type: ignore[arg-type]
    return [field.name for field in fields if field.default is dataclasses.MISSING]


def host_vector(values: Any, name: str, axes: int = 1) -> HostArray:
    """Return one array on the host, for drawing."""
    array = np.asarray(to_host(values) if hasattr(values, "shape") else values, dtype=np.float64)
    if array.ndim != axes or 0 in array.shape:
        raise InputError(
            f"`{name}`",
            f"must have {axes} axis" if axes == 1 else f"must have {axes} axes",
            f"got shape {array.shape}",
            "Give one value per instance." if axes == 1 else "Give one row per sample.",
        )
    return array
