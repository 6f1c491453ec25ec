"""A picture is one sentence, the numbers as a table, and marks; one renderer draws the marks of all pictures.

A mark says what it means, its role, and the role gives it colour, marker and dash. What several models on the
same axes share follows from the roles too: see `Picture.shared`.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, get_args, get_origin

import numpy as np

from credibly._arrays.errors import InputError, InputTypeError, UnsupportedError, one_of
from credibly._arrays.namespace import HostArray, to_host
from credibly.evaluation import shown, shown_range
from credibly.plots.drawing import (
    BLUE,
    DASHED,
    INK,
    ORANGE,
    SKY,
    VERMILION,
    Style,
    add_key,
    draw_boxes,
    draw_polygon,
    dress,
    new_axes,
    series,
    shortened,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class RoleStyle(NamedTuple):
    """How a mark looks because of what it means: colour, marker, dashes and width of lines."""

    color: str
    marker: str | None
    dashes: Any = "-"
    width: float = 1.4


ROLES = {
    "observed": RoleStyle(BLUE, "o"),
    "expected": RoleStyle(INK, None, DASHED, 0.8),
    "chance": RoleStyle(SKY, None),
    "far": RoleStyle(VERMILION, "D"),
    "second": RoleStyle(ORANGE, "s"),
    "ink": RoleStyle(INK, "o", width=0.6),
}
"""What was observed, what was expected, what chance explains, what is farther off than that; a second series;
lines that only guide the eye."""


def _line(role: RoleStyle) -> Style:
    return {"color": role.color, "linestyle": role.dashes, "linewidth": role.width}


def _area(role: RoleStyle) -> Style:
    return {"facecolor": role.color}


def _stroke(role: RoleStyle) -> Style:
    return {"color": role.color}


_FORMS: dict[str, tuple[str | Callable[..., Any], Callable[[RoleStyle], Style]]] = {
    "line": ("plot", _line),
    "dots": ("plot", lambda role: {"color": role.color, "marker": role.marker, "linestyle": "none"}),
    "band": ("fill_between", lambda role: {"color": role.color, "alpha": 0.4, "linewidth": 0}),
    "boxes": (draw_boxes, _area),
    "polygon": (draw_polygon, _area),
    "across": ("axhline", _line),
    "upright": ("axvline", _line),
    "diagonal": ("axline", _line),
    "bars": ("barh", _stroke),
    "span": ("axvspan", lambda role: {"color": role.color, "linewidth": 0}),
    "hlines": ("hlines", _stroke),
    "vlines": ("vlines", _stroke),
    "errorbar": ("errorbar", lambda role: {"color": role.color, "marker": role.marker}),
    # names are the user's: a dollar sign in them does not start a formula
    "words": ("annotate", lambda role: {"color": role.color, "parse_math": False}),
}


class Mark(NamedTuple):
    """Something drawn. `mark` makes one.

    Attributes
    ----------
    form : str or callable
        Its form, or a function ``(ax, *data, **style)`` that draws what no form can.
    role : str or RoleStyle
        What it means.
    data : tuple
        Where it lies: the arguments of the drawing function.
    label : str or None
        Its name in the key.
    style : dict
        Keywords of matplotlib in which it differs from its role.
    small : dict or None
        The same for small multiples; None: not drawn there.
    """

    form: str | Callable[..., Any]
    role: str | RoleStyle
    data: tuple[Any, ...]
    label: str | None
    style: Style
    small: Style | None

    def draw(self, ax: Axes, small: bool) -> Any:
        """Draw, and return what matplotlib made."""
        if small and self.small is None:
            return None
        style = {**self.style, **(self.small or {})} if small else self.style
        style = style if self.label is None else {**style, "label": self.label}
        if callable(self.form):
            return self.form(ax, *self.data, **style)
        draw, look = _FORMS[self.form]
        style = {**look(ROLES[self.role] if isinstance(self.role, str) else self.role), **style}
        return draw(ax, *self.data, **style) if callable(draw) else getattr(ax, draw)(*self.data, **style)


_SAME: Style = {}


def mark(
    form: str | Callable[..., Any],
    role: str,
    *data: Any,
    label: str | None = None,
    small: Style | None = _SAME,
    **style: Any,
) -> Mark:
    """Return a mark of a picture.

    Parameters
    ----------
    form : str or callable
        "line" and "dots" (x, y); "band" (x, low, high); "boxes" (left, right, bottom, top); "polygon"
        (corners); "across" (y), "upright" (x) and "diagonal" (point, point): straight lines; "bars" (y,
        length); "span" (left, right); "hlines", "vlines" and "errorbar" as in matplotlib; "words" (text, (x,
        y)). A function ``(ax, *data, **style)`` draws anything else.
    role : {"observed", "expected", "chance", "far", "second", "ink"}
        What it means, which gives colour, marker and dash.
    *data
        Where it lies.
    label : str, optional
        Its name in the key.
    small : dict or None
        Keywords that differ in small multiples; None leaves it out there.
    **style
        Keywords of matplotlib in which it differs from its role.

    Returns
    -------
    Mark
        For `Picture.marks` or `Picture.shared`.
    """
    if not callable(form):
        one_of("`form`", form, _FORMS)
    one_of("`role`", role, ROLES)
    return Mark(form, role, data, label, style, small)


def near_and_far(
    x: HostArray, y: HostArray, far: HostArray, labels: tuple[str, str], **style: Any
) -> list[Mark]:
    """Return dots: circles for what is as expected and diamonds for what is not."""
    both = (("observed", ~far, labels[0]), ("far", far, labels[1]))
    return [mark("dots", role, x[at], y[at], label=label, **style) for role, at, label in both if at.any()]


@dataclasses.dataclass(frozen=True)
class Table:
    """Column names and rows of text."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    @classmethod
    def of(cls, columns: Mapping[str, Iterable[Any]]) -> Table:
        """Return columns as text.

        Parameters
        ----------
        columns : mapping of str to iterable
            Cells by column: text, numbers, pairs of numbers, truth values, or None for an empty cell.

        Returns
        -------
        Table
            One row per cell of the columns.
        """
        rows = zip(*columns.values(), strict=True)
        return cls(tuple(columns), tuple(tuple(map(_cell, row)) for row in rows))


_MODELS: weakref.WeakSet[Any] = weakref.WeakSet()
"""Lines that stand for a model. The axes hold them: cleared axes begin again with the first colour."""


@dataclasses.dataclass(frozen=True, eq=False)
class Picture:
    """What a picture says, lists and draws. `credibly.plots.picture` returns that of a result.

    Attributes
    ----------
    title : str
        What it is about.
    finding : str
        The picture in one sentence.
    columns : mapping of str to sequence
        The numbers behind it, one entry per row, such as ``pandas.DataFrame(picture.columns)`` takes.
    marks : sequence of Mark
        What is drawn, in this order.
    xlabel, ylabel : str
        Labels of the axes.
    size : tuple of float
        Width and height of a new figure in inches.
    axes : mapping
        What is set on the axes: keywords of ``Axes.set``, and "xnames" and "ynames" (places, names and
        keywords of the text), "xparts" (number of ticks), "hidden" (sides of the frame) and "off".
    small_axes : mapping
        What differs from `axes` in small multiples.
    key_below : float
        How far below the axes their key stands, as a share of their height.
    shared : sequence of Mark
        What is drawn if it is one of several models on the same axes. Then "observed" has the colour, marker
        and dash of the model, "chance" and "far" have its colour, and everything else is drawn by the first
        model only. Without any, `draw` refuses a `label`.
    shared_axes : mapping, optional
        What is then set on the axes; limits grow from model to model. Default: `axes`.
    summary : str
        The finding in a few words, for small multiples. Default: the finding.
    """

    title: str
    finding: str
    columns: Mapping[str, Any]
    marks: Sequence[Mark]
    xlabel: str = ""
    ylabel: str = ""
    size: tuple[float, float] = (5.0, 4.4)
    axes: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    small_axes: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    key_below: float = 0.13
    shared: Sequence[Mark] = ()
    shared_axes: Mapping[str, Any] | None = None
    summary: str = ""

    def __post_init__(self) -> None:
        columns = {
            name: values if isinstance(values, np.ndarray) else list(values)
            for name, values in self.columns.items()
        }
        object.__setattr__(self, "columns", columns)
        object.__setattr__(self, "summary", self.summary or self.finding)

    def table(self) -> Table:
        """Return the numbers behind the picture.

        Returns
        -------
        Table
            Text, numbers with three digits.
        """
        return Table.of(self.columns)

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
        labels = ("", "") if small else (self.xlabel, self.ylabel)
        dress(ax, xlabel=labels[0], ylabel=labels[1], title=self.title, size=8 if small else 9)
        if label is None:
            for part in self.marks:
                part.draw(ax, small)
            _set(ax, {**self.axes, **self.small_axes} if small else self.axes, small)
        else:
            self._draw_model(ax, str(label), small)
        if not small and ax.get_legend_handles_labels()[0]:
            add_key(ax, self.key_below)
        return ax

    def _draw_model(self, ax: Axes, label: str, small: bool) -> None:
        if not self.shared:
            raise UnsupportedError(
                f"`label` of the picture {self.title!r}",
                "is for pictures that can show several models",
                "this one shows a single result",
                "Draw every model on its own axes.",
            )
        place, (left, right), (low, high) = models_on(ax), ax.get_xlim(), ax.get_ylim()
        settings = self.axes if self.shared_axes is None else self.shared_axes
        for axis in ("x", "y"):
            if place and None in settings.get(f"{axis}lim", ()):  # an open end was fixed by the model before
                ax.autoscale(axis=axis)
        for part in as_model(self.shared, place, label):
            drawn = part.draw(ax, small)
            if part.label is not None and isinstance(part.role, RoleStyle):
                _MODELS.update(drawn)
        _set(ax, settings, small)
        if place:
            (start, end), (bottom, top) = ax.get_xlim(), ax.get_ylim()
            ax.set(xlim=(min(left, start), max(right, end)), ylim=(min(low, bottom), max(high, top)))


def models_on(ax: Axes) -> int:
    """Return how many models these axes show."""
    return sum(line in _MODELS for line in ax.lines)


def as_model(shared: Sequence[Mark], place: int, name: str) -> Iterator[Mark]:
    """Return the marks of one of several models: their look follows from the roles and the model's place."""
    color, marker, dashes = series(place)
    role, alone = RoleStyle(color, marker, dashes), sum(part.role == "observed" for part in shared) == 1
    for part in shared:
        if part.role == "observed":
            line = {"marker": marker, "linewidth": 1.3, "markersize": 5, **part.style}
            label = shortened(name if alone or part.label is None else f"{name}, {part.label}")
            # names of models are the user's: one that begins with "_" would be left out of the key
            label = f" {label}" if label.startswith("_") else label
            yield part._replace(role=role, label=label, style=line)
        elif part.role == "chance":
            yield part._replace(role=role, label=None, style={**part.style, "alpha": 0.12})
        elif part.role == "far":
            dots = {"markersize": 5} if part.form == "dots" else {}
            yield part._replace(role=role, label=None, style={**dots, **part.style})
        elif not place:
            yield part


def _set(ax: Axes, settings: Mapping[str, Any], small: bool) -> None:
    """Set limits, ticks and frame; names with a size of their own are one point smaller on small axes."""
    plain = dict(settings)
    ax.set_xscale(plain.pop("xscale", ax.get_xscale()))  # a scale has ticks of its own
    for name, write in (("xnames", ax.set_xticks), ("ynames", ax.set_yticks)):
        if name in plain:
            places, names, style = plain.pop(name)
            if small and "fontsize" in style:
                style = {**style, "fontsize": style["fontsize"] - 1}
            write(places, names, parse_math=False, **style)
            ax.minorticks_off()
    if "xparts" in plain:
        ax.locator_params(axis="x", nbins=plain.pop("xparts"))
    for side in plain.pop("hidden", ()):
        ax.spines[side].set_visible(False)
    if plain.pop("off", False):
        ax.set_axis_off()
    ax.set(**plain)


def slanted(names: Iterable[str]) -> dict[str, Any]:
    """Return settings of axes with slanted names below places 0, 1, ..."""
    written = [shortened(name) for name in names]
    return {
        "xnames": (range(len(written)), written, {"rotation": 30, "ha": "right"}),
        "xlim": (-0.6, len(written) - 0.4),
    }


def listed(names: Sequence[str], **style: Any) -> dict[str, Any]:
    """Return settings of axes with one name per line, from the top."""
    return {"ynames": (range(len(names)), names, style), "ylim": (len(names) - 0.5, -0.5)}


def _cell(value: Any) -> str:
    if value is None or isinstance(value, str):
        return str(value or "")
    if isinstance(value, tuple):
        return shown_range(value)
    if isinstance(value, (bool, np.bool_)):
        return "yes" if value else ""
    return str(int(value)) if isinstance(value, (int, np.integer)) else shown(float(value))


def ranges(low: Iterable[float], high: Iterable[float]) -> list[str]:
    """Return both ends of every interval in words; "none" where they are not known."""
    both = ((float(start), float(end)) for start, end in zip(low, high, strict=True))
    return ["none" if np.isnan(ends[0]) else shown_range(ends) for ends in both]


def host_vector(values: Any) -> HostArray:
    """Return one array on the host, for drawing."""
    return np.asarray(to_host(values) if hasattr(values, "shape") else values, dtype=np.float64)


_PICTURES: dict[str, dict[str, Callable[..., Picture]]] = {}
"""Pictures by name of the result's type, then by kind, in the order in which they were declared."""


def draws(result: type | str | tuple[type, ...], kind: str, *, several: bool = False) -> Callable[..., Any]:
    """Register a function from a result to its picture, so that ``result.plot(kind=...)`` finds it.

    Parameters
    ----------
    result : type, str or tuple of type
        What it draws; a type that the caller must not import is given by its name. Tests are told apart by
        the type of their details, ``HypotestResult[WitnessDetails]``, comparisons over trade-offs by the
        lines of their ranking, ``Comparison[Lines]``.
    kind : str
        Its name among the pictures of that result; of several the first that needs no option is the default.
    several : bool
        Whether it also takes a mapping of names to such results.

    Returns
    -------
    callable
        A decorator. Further arguments of the function are options of ``plot``.

    Examples
    --------
    >>> import dataclasses
    >>> from credibly.plots import Picture, draws, mark
    >>> from credibly.results.base import Result
    >>> @dataclasses.dataclass(frozen=True)
    ... class Losses(Result):
    ...     values: tuple[float, ...]
    >>> @draws(Losses, "losses")
    ... def losses(result, title="Losses"):
    ...     epochs = range(1, len(result.values) + 1)
    ...     marks = [mark("line", "observed", epochs, result.values, label="loss")]
    ...     return Picture(title, f"It ends at {result.values[-1]}.", {"loss": result.values}, marks, "epoch")
    >>> Losses((0.9, 0.4)).plot(title="Training").get_xlabel()
    'epoch'
    """
    types = result if isinstance(result, tuple) else (result,)
    names = tuple(drawn if isinstance(drawn, str) else _type_name(drawn) for drawn in types)

    def register(make: Callable[..., Picture]) -> Callable[..., Picture]:
        subject = f"`{next(iter(inspect.signature(make).parameters))}`"

        @functools.wraps(make)
        def made(drawn: Any, *arguments: Any, **options: Any) -> Picture:
            results = list(drawn.values()) if several and isinstance(drawn, Mapping) else [drawn]
            if not results:
                raise InputError(
                    subject, "must hold at least one result", "got none", "Pass one by its name."
                )
            for single in results:
                if not set(_types(single)) & set(names):
                    rule = f"must be of type {' or '.join(f'`{name}`' for name in names)}"
                    raise InputTypeError(subject, rule, f"got {_types(single)[0]}", "Pass the result itself.")
            return make(drawn, *arguments, **options)

        for name in names:
            _PICTURES.setdefault(name, {})[kind] = made
        return made

    return register


def _type_name(declared: type) -> str:
    """Return what a type is called: "HypotestResult[WitnessDetails]" with the details of a test."""
    origin = get_origin(declared)
    return declared.__name__ if origin is None else f"{origin.__name__}[{get_args(declared)[0].__name__}]"


def _types(result: object) -> list[str]:
    """Return the names of a result's types, the most special first."""
    details = getattr(result, "details", getattr(getattr(result, "ranking", None), "lines", None))
    special = [] if details is None else type(details).__mro__
    known = [f"{type(result).__name__}[{base.__name__}]" for base in special]
    return [*known, *(base.__name__ for base in type(result).__mro__)]


def kinds_of(result: object) -> dict[str, Callable[..., Picture]]:
    """Return the pictures of a result by kind, without those of its parts.

    Parameters
    ----------
    result : Result
        What a test or measure returned.

    Returns
    -------
    dict
        Functions from the result to a `Picture`, by kind.
    """
    return {name: make for base in reversed(_types(result)) for name, make in _PICTURES.get(base, {}).items()}


def _kinds_with_parts(result: object) -> list[str]:
    """Return the kinds of pictures of a result, and of the part that is drawn for it."""
    kinds = list(kinds_of(result))
    parts = (getattr(result, name) for name in getattr(result, "drawn_as", ()))
    first = next((part for part in parts if part is not None), None)
    return kinds if first is None else list(dict.fromkeys([*kinds, *_kinds_with_parts(first)]))


def picture(result: Any, kind: str | None = None, **options: Any) -> Picture:
    """Return the picture of a result, which has its sentence and its table and can be drawn.

    Parameters
    ----------
    result : Result or mapping of str to Result
        What a test or measure returned; several by name, if the picture can show several.
    kind : str, optional
        Which picture, if there are several. Default: the most useful one.
    **options
        Options of that picture.

    Returns
    -------
    Picture
        The picture: ``finding``, ``table()`` and ``draw(ax)``.
    """
    first = next(iter(result.values()), result) if isinstance(result, Mapping) else result
    kinds = kinds_of(first)
    if kind is not None and (known := _kinds_with_parts(result)):
        one_of("`kind`", kind, known)
    parts = [getattr(result, name) for name in getattr(result, "drawn_as", ()) if kind not in kinds]
    part = next((part for part in parts if part is not None), None)
    if part is not None:
        return picture(part, kind, **options)
    if not kinds:
        raise UnsupportedError(
            f"a picture of `{type(first).__name__}`",
            "must be known to `credibly.plots`",
            f"it draws {', '.join(sorted(_PICTURES))}",
            "Draw one of these, print the result, or register a picture with `credibly.plots.draws`.",
        )
    if kind is None:
        special = next(_PICTURES[base] for base in _types(first) if base in _PICTURES)
        kind = next((name for name in (*special, *kinds) if not _needed(kinds[name])), next(iter(kinds)))
    one_of("`kind`", kind, kinds)
    chosen = kinds[kind]
    for name in options:
        one_of(f'options of `kind="{kind}"`', name, options_of(chosen))
    for name in _needed(chosen):
        if name not in options:
            raise InputTypeError(
                f'`kind="{kind}"`', f"needs `{name}=`", "it was not given", "Pass it to `plot`."
            )
    return chosen(result, **options)


def options_of(make: Callable[..., Picture]) -> list[str]:
    """Return the names of a picture's options."""
    return list(inspect.signature(make).parameters)[1:]


def _needed(make: Callable[..., Picture]) -> list[str]:
    """Return the options without a default."""
    parameters = list(inspect.signature(make).parameters.values())[1:]
    return [option.name for option in parameters if option.default is inspect.Parameter.empty]
