"""What every picture here is: data, one sentence that says them, a drawing, and the numbers as a table."""

from __future__ import annotations

import abc
import dataclasses
import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import numpy as np

from credibly._arrays.errors import InputError, InputTypeError
from credibly._arrays.namespace import HostArray, to_host
from credibly.evaluation import shown
from credibly.plots.style import axes_or_new, dress, key

if TYPE_CHECKING:
    from matplotlib.axes import Axes


_AX = """
ax : Axes, optional
    Where to draw; a new figure where not given.

Returns
-------
Axes
    The axes, their figure in ``.figure``."""

Draw = TypeVar("Draw", bound=Callable[..., Any])


def drawing_of(data: Callable[..., Display]) -> Callable[[Draw], Draw]:
    """Document a function that draws with the parameters of the one that makes its data, and `ax`.

    Parameters
    ----------
    data : callable
        Makes the display. Its docstring has Parameters, then Returns.

    Returns
    -------
    callable
        Decorator of a function with the parameters of `data` and `ax`, whose docstring says what it draws.
    """

    def documented(draw: Draw) -> Draw:
        if draw.__doc__:  # none under `python -OO`
            told = inspect.getdoc(data) or ""
            parameters = told[told.index("Parameters\n---") : told.index("\n\nReturns\n---")]
            draw.__doc__ = f"{inspect.getdoc(draw)}\n\n{parameters}{_AX}\n"
        return draw

    return documented


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


class Display(abc.ABC):
    """A picture as data. Subclasses are frozen dataclasses that give `finding`, `words` and `_marks`."""

    size: ClassVar[tuple[float, float]] = (5.0, 4.4)
    """Width and height of a new figure in inches."""

    key_below: ClassVar[float] = 0.13
    """How far below the axes their key stands, as a share of their height."""

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

    def draw(self, ax: Axes | None = None, *, small: bool = False) -> Axes:
        """Draw.

        Parameters
        ----------
        ax : Axes, optional
            Where to draw; a new figure where not given.
        small : bool
            For small multiples: without axis labels and key.

        Returns
        -------
        Axes
            The axes, their figure in ``.figure``.
        """
        ax = axes_or_new(ax, *self.size)
        words = self.words
        labels = ("", "") if small else (words.xlabel, words.ylabel)
        dress(ax, xlabel=labels[0], ylabel=labels[1], title=words.title, size=8 if small else 9)
        self._marks(ax, small)
        if not small and ax.get_legend_handles_labels()[0]:
            key(ax, self.key_below)
        return ax

    def table(self) -> Table:
        """Return the numbers behind the picture: one column per field that holds one entry per mark.

        Returns
        -------
        Table
            Text, numbers with three digits.
        """
        fields = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}  # type: ignore[arg-type]
        series = {name: value for name, value in fields.items() if _is_series(value)}
        longest = max((len(value) for value in series.values()), default=0)
        columns = {name.replace("_", " "): value for name, value in series.items() if len(value) == longest}
        rows = zip(*columns.values(), strict=True)
        return Table(tuple(columns), tuple(tuple(_cell(value) for value in row) for row in rows))


def _is_series(value: Any) -> bool:
    if isinstance(value, tuple):
        return all(isinstance(one, (str, int, float)) for one in value)
    return isinstance(value, np.ndarray) and value.ndim == 1


def _cell(value: Any) -> str:
    return value if isinstance(value, str) else shown(float(value))


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


def require_kind(value: object, kind: type, name: str, remedy: str) -> None:
    """Raise unless `value` is the result that the picture is about."""
    if not isinstance(value, kind):
        raise InputTypeError(
            f"`{name}`", f"must be of type `{kind.__name__}`", f"got {type(value).__name__}", remedy
        )
