"""What every picture here is: a result, one sentence that says it, a drawing, and the numbers as a table."""

from __future__ import annotations

import abc
import dataclasses
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, dataclass_transform

import numpy as np

from credibly._arrays.errors import InputError, InputTypeError, UnsupportedError, one_of
from credibly._arrays.namespace import HostArray, to_host
from credibly.evaluation import shown, shown_range
from credibly.plots.style import dress, key, new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

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
    of several kinds the first that needs nothing but the result is the default. A type that this room must
    not import is given by its name.
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
            cls.of = tuple(one if isinstance(one, str) else one.__name__ for one in types)
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
            if self.of and not {base.__name__ for base in type(one).__mro__} & set(self.of):
                types = " or ".join(f"`{name}`" for name in self.of)
                evidence = f"got {type(one).__name__}"
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
            "is for pictures in which several models can be told apart",
            "this one shows a single result",
            "Draw every model on axes of its own.",
        )

    def draw(self, ax: Axes | None = None, *, label: str | None = None, small: bool = False) -> Axes:
        """Draw.

        Parameters
        ----------
        ax : Axes, optional
            Where to draw; default: a new figure.
        label : str, optional
            Name of the model. Several models on the same axes get colours, markers and dashes of their own,
            and a key with their names; what only one of them can show, such as counts, is left out.
        small : bool
            For small multiples: without axis labels and key.

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


def picture(result: object, kind: str | None = None, **options: Any) -> Display:
    """Return the picture of a result, which has its sentence and its table and can be drawn.

    Parameters
    ----------
    result : Result
        What a test or measure returned.
    kind : str, optional
        Which picture, where there are several; default: the most useful one.
    **options
        Options of that picture.

    Returns
    -------
    Display
        The picture: ``finding``, ``table()`` and ``draw(ax)``.
    """
    kinds = {
        name: display
        for base in reversed(type(result).__mro__)
        for name, display in _PICTURES.get(base.__name__, {}).items()
    }
    if not kinds:
        raise UnsupportedError(
            f"a picture of `{type(result).__name__}`",
            "must be known to `credibly.plots`",
            f"it draws {', '.join(sorted(_PICTURES))}",
            "Draw one of these, or print the result.",
        )
    if kind is None:
        own = next(_PICTURES[base.__name__] for base in type(result).__mro__ if base.__name__ in _PICTURES)
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
