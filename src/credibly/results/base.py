"""What every result has: a dictionary that JSON takes, a schema version, levels that are checked."""

from __future__ import annotations

import dataclasses
import html
import itertools
import math
import textwrap
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from credibly._arrays.checks import require_below_one
from credibly._arrays.errors import InputError, InputTypeError, is_number
from credibly._arrays.namespace import is_array, to_host

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SCHEMA_VERSION = 1

Tail = Literal["greater", "two-sided", "less"]
Notion = Literal["confidence", "classwise", "distribution"]


_WIDEST = 160
"""Characters of a result where it is an element of a list, or the last line typed."""


def jsonable(value: Any) -> Any:
    """Return `value` in types JSON knows; infinities and NaN become the strings JSON tools expect."""
    if isinstance(value, (bool, str, int)) or value is None:
        return value
    if isinstance(value, (float, np.floating)):
        number = float(value)
        if math.isfinite(number):
            return number
        return "NaN" if math.isnan(number) else ("Infinity" if number > 0 else "-Infinity")
    if isinstance(value, np.integer):
        return int(value)
    if is_array(value):
        return jsonable(to_host(value).tolist())
    if isinstance(value, Mapping):
        return {str(key): jsonable(item) for key, item in value.items()}
    if isinstance(value, (set, frozenset)):
        return [jsonable(item) for item in sorted(value, key=str)]  # sets have no order of their own
    if isinstance(value, (list, tuple)):
        return [jsonable(item) for item in value]
    if hasattr(value, "to_dict"):
        return jsonable(value.to_dict())
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: jsonable(getattr(value, field.name)) for field in dataclasses.fields(value)}
    return str(value)


class Result:
    """Shared by all results: `to_dict` with the schema version and the type's name, and `plot`."""

    unwritten: ClassVar[tuple[str, ...]] = ()
    """Fields that `to_dict` leaves out."""

    drawn_as: ClassVar[tuple[str, ...]] = ()
    """Fields whose picture stands for the whole, the first that is not None; none where it has its own."""

    def to_dict(self) -> dict[str, Any]:
        """Return everything in JSON-safe types."""
        fields = {
            field.name: jsonable(getattr(self, field.name))
            for field in dataclasses.fields(self)  # type: ignore[arg-type]
            if field.name not in self.unwritten
        }
        return {"schema_version": SCHEMA_VERSION, "type": type(self).__name__, **fields}

    def plot(
        self, ax: Axes | None = None, *, kind: str | None = None, label: str | None = None, **options: Any
    ) -> Axes:
        """Draw this result.

        Parameters
        ----------
        ax : Axes, optional
            Where to draw. Default: a new figure.
        kind : str, optional
            Which picture, if there are several. Default: the most useful one.
        label : str, optional
            Name of the model. Several models on the same axes get different colours and a legend.
        **options
            Options of that picture; `credibly.plots` describes them.

        Returns
        -------
        Axes
            The axes, their figure in ``.figure``.
        """
        # A picture is made from a finished result: this method is only its handle, so the arrow from results
        # to plots exists while it runs and not while the modules load.
        # tach-ignore(Result.plot is the user's handle on the room that draws)
        from credibly.plots import picture

        for name in self.drawn_as:
            part = getattr(self, name)
            if part is not None and kind is None:
                return part.plot(ax, label=label, **options)  # type: ignore[no-any-return]
        drawn = self._drawn() if kind is None else self
        return picture(drawn, kind, **options).draw(ax, label=label)

    def _drawn(self) -> Result:
        """Return the result whose picture is drawn if none is named."""
        return self

    def __init_subclass__(cls, **settings: Any) -> None:
        super().__init_subclass__(**settings)
        if "__repr__" not in vars(cls):
            cls.__repr__ = Result.__repr__  # type: ignore[method-assign]  # not the replicates of a dataclass

    def __repr__(self) -> str:
        name = type(self).__name__
        lines = [line.strip() for line in str(self).splitlines()]
        text = "; ".join(lines[1:]) if lines[0] == name else lines[0]
        return f"<{name}: {textwrap.shorten(text, _WIDEST, placeholder=' ...')}>"

    def __str__(self) -> str:
        """Show every field on a line of its own, arrays and tables by their size."""
        fields = dataclasses.fields(self)  # type: ignore[arg-type]
        lines = [f"  {field.name}: {_brief(getattr(self, field.name))}" for field in fields]
        return "\n".join([type(self).__name__, *lines])

    def _repr_html_(self) -> str:
        """Show in a notebook what `print` shows: the fields hold thousands of replicates."""
        return f"<pre>{html.escape(str(self))}</pre>"


class Reportable(Result):
    """A result that has a page."""

    def report(self, path: str | Path, *, overwrite: bool = False) -> Path:
        """Write everything as one self-contained HTML file.

        Parameters
        ----------
        path : str or Path
            Where to write.
        overwrite : bool
            Replace a file that is already there; an earlier report is replaced in any case.

        Returns
        -------
        Path
            The file written.
        """
        # A report is made from a finished result: this method is only its handle, so the arrow from
        # results to report exists while it runs and not while the modules load.
        # tach-ignore(Reportable.report is the user's handle on the room below)
        from credibly.report import write_report

        return write_report(self, path, overwrite=overwrite)


def _brief(value: Any, most: int = 6) -> str:
    """Write a value of a result in one short line."""
    if is_array(value):
        shape = tuple(value.shape)
        if not shape or 0 in shape or (len(shape) == 1 and shape[0] <= most):
            return np.array2string(to_host(value), precision=4, separator=", ")
        host = to_host(value)
        numbers = host.dtype.kind in "fiu" and np.isfinite(host).any()
        limits = f", {np.nanmin(host):.4g} to {np.nanmax(host):.4g}" if numbers else ""
        return f"array {shape}{limits}"
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, Mapping) and value:
        return f"{len(value)} by name: {_few(map(str, value), len(value), most)}"
    if isinstance(value, (tuple, list)) and value:
        return _few(map(_brief, value[:most]), len(value), most)
    if isinstance(value, Result):
        return str(value).partition("\n")[0]
    if value is None or value == () or value == {}:
        return "none"
    return str(value).partition("\n")[0]


def _few(words: Iterable[str], count: int, most: int) -> str:
    """List the first words of `count`."""
    listed = ", ".join(itertools.islice(words, most))
    return listed if count <= most else f"{listed}, ... ({count} in all)"


class Tested:
    """A result that answers a question with a p-value, and so is neither true nor false by itself."""

    def __bool__(self) -> bool:
        raise InputTypeError(
            "the result of a test",
            "is neither true nor false",
            f"got {type(self).__name__} where a yes or no is needed",
            "Use `.rejects(level)`; for a check of several statistics, `.checks[name].rejects(level)`.",
        )


class WithPvalue(Tested):
    """A result whose answer is one p-value."""

    pvalue: float

    def rejects(self, level: float = 0.05) -> bool:
        """Tell whether the p-value, not adjusted for any other test, is at most `level`."""
        require_level(level)
        return self.pvalue <= level


def require_level(level: float, name: str = "`level`", remedy: str = "Write 0.95 for 95 %.") -> None:
    """Raise unless `level` is a share strictly between 0 and 1."""
    if not is_number(level) or not 0 < level < 1:
        raise InputError(name, "must lie strictly between 0 and 1", f"got {level!r}", remedy)


def require_margin(margin: float) -> float:
    """Return a share that does not matter, or raise."""
    require_below_one(margin, "margin", "Write 0.02 for two points.")
    return float(margin)
