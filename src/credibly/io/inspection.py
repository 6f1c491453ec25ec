"""Look at a file without computing anything: what it holds, what it seems to mean, what is wrong with it."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar

from credibly._arrays.doors import checked
from credibly._arrays.errors import CrediblyError, FileError, MissingExtraError, as_problem
from credibly.io.files import digest_of, path_text
from credibly.io.loading import arranged, assemble, opened
from credibly.io.naming import assign_roles
from credibly.io.roles import Content, ReadOptions
from credibly.predictions import Dataset, Ensemble, LabelCounts, OverClasses, Point
from credibly.results.base import Result

_ONE_DISTRIBUTION = (
    "one distribution per instance: methods that compare members (credal test, Bayesian predictive check) "
    "cannot be run; if this is an averaged ensemble, save its members"
)


@dataclasses.dataclass(frozen=True)
class ArrayFacts:
    """One array of a file: `name`, `shape` and `dtype`."""

    name: str
    shape: tuple[int, ...]
    dtype: str


@dataclasses.dataclass(frozen=True)
class Inspection(Result):
    """What `inspect` found.

    Attributes
    ----------
    source : str
        The path as given.
    format : str
        Format of the bytes, such as ``".npz"``.
    size : int
        Bytes on disk, 0 for a table in memory.
    digest : str
        First 16 hexadecimal digits of the SHA-256.
    arrays : tuple of ArrayFacts
        Every array or column group, with shape and dtype.
    kind : str or None
        What the predictions are read as; None if that is unclear.
    type : str or None
        Type of the predictions.
    axes : mapping of str to int
        Length of each axis by name: n, m, k.
    labels : {"classes", "counts", "reals"} or None
        What the labels are.
    classes : tuple of str or None
        Names of the classes.
    problems : tuple of str
        What is wrong, each problem with its remedy; empty if `load` would succeed.
    notes : tuple of str
        What was inferred.
    """

    source: str
    format: str
    size: int
    digest: str
    arrays: tuple[ArrayFacts, ...]
    kind: str | None
    type: str | None
    axes: Mapping[str, int]
    labels: str | None
    classes: tuple[str, ...] | None
    problems: tuple[str, ...]
    notes: tuple[str, ...]
    _first: ClassVar[Any] = None

    def to_dict(self) -> dict[str, Any]:
        """Return everything in JSON-safe types; the type of the predictions is `prediction_type`."""
        fields = super().to_dict()
        return fields | {"prediction_type": self.type, "type": type(self).__name__}

    def computable(self, statistics: Mapping[str, Any]) -> tuple[str, ...]:
        """Return the names of the statistics that this file's predictions and labels allow.

        Parameters
        ----------
        statistics : mapping of str to Statistic
            Candidates by name; ``cr.statistics.registered()`` gives all.

        Returns
        -------
        tuple of str
            Names, in the order given. Empty without labels. Sets with a claimed coverage state no
            probabilities: ``"set_coverage"`` is all they allow.
        """
        if self.labels is None or self.type is None or self.type == "LabelCounts":
            return ()
        if self.kind in ("prediction-sets", "prediction-intervals"):
            return ("set_coverage",)
        return tuple(name for name, statistic in statistics.items() if self._allows(statistic))

    def _allows(self, statistic: Any) -> bool:
        """Tell whether the first row says what a statistic needs: quantiles have no density, for example."""
        if self.labels not in statistic.traits.labels:
            return False
        try:
            statistic.require_predictions(self._first)
            if statistic.traits.reduction == "sum":
                statistic.bind(self._first)
        except CrediblyError:
            return False
        return True

    @property
    def has_members(self) -> bool:
        """Whether methods that compare members (credal test, Bayesian check) can be run."""
        return self.axes.get("m", 1) > 1


@checked
def inspect(
    path: Any,
    *,
    kind: str | None = None,
    labels: Any = None,
    member_axis: int | None = None,
    normalise: bool = False,
    columns: Sequence[str] | None = None,
    exclude: Sequence[str] = (),
    ignore_label: Any = None,
    n_raters: int | None = None,
    id: str | None = None,
    classes: Sequence[str] | None = None,
    levels: Sequence[float] | None = None,
    member_weights: Sequence[float] | None = None,
    clusters: str | None = None,
    claimed: float | None = None,
    words: Mapping[str, float | None] | None = None,
) -> Inspection:
    """Look at a file: arrays, inferred kind and axes, problems.

    Parameters
    ----------
    path : path or table
        As for `load`.
    kind, labels, member_axis, normalise, columns, exclude, ignore_label, n_raters, id, classes, levels
        As for `load`.
    member_weights : sequence of float, optional
        As for `load`.
    clusters : str, optional
        As for `load`.
    claimed : float, optional
        As for `load`.
    words : mapping of str to float, optional
        As for `load`.

    Returns
    -------
    Inspection
        What was found. Wrong numbers are listed under `problems`, not raised.

    Raises
    ------
    FileError
        If the file cannot be read at all.
    """
    options = ReadOptions(**{option: value for option, value in locals().items() if option != "path"})
    name = path_text(path)
    content = Content("", {}, source=f"<{type(path).__name__}>")
    arrays: tuple[ArrayFacts, ...] = ()
    problems: list[str] = []
    data: Dataset | None = None
    size, digest = 0, ""
    with _collected(problems), opened(path, options) as (opened_content, here):
        content, table = opened_content, opened_content.table
        arrays = _facts(content.arrays if table is None else table)
        with _collected(problems):
            labels_by_role = arranged(content, here)
            arrays = arrays if table is None else _facts(content.arrays)
            assign_roles(content, here, labels_by_role)
            data = assemble(content, here, problems)
        size = 0 if name is None else Path(content.source).stat().st_size
        digest = digest_of(content)
    facts = Inspection(
        source=name or content.source,
        format=content.format,
        size=size,
        digest=digest,
        arrays=arrays,
        kind=content.kind,
        type=None if data is None else type(data.predictions).__name__,
        axes={} if data is None else _axes(data),
        labels=None if data is None else _label_kind(data),
        classes=content.classes,
        problems=tuple(problems),
        notes=(*content.notes, *(() if data is None else _of_predictions(data.predictions))),
    )
    object.__setattr__(facts, "_first", None if data is None else data.predictions[:1])  # no fact of the file
    return facts


@contextmanager
def _collected(problems: list[str]) -> Iterator[None]:
    """Put what is wrong with the numbers into a list; what cannot be read at all is raised."""
    try:
        yield
    except (FileError, MissingExtraError):
        raise
    except CrediblyError as error:
        problems.append(as_problem(error))


def _of_predictions(predictions: Any) -> tuple[str, ...]:
    """Return what to know of the predictions beyond the reading of the file."""
    return (*predictions.notes, *((_ONE_DISTRIBUTION,) if isinstance(predictions, Point) else ()))


def _facts(arrays: Mapping[str, Any]) -> tuple[ArrayFacts, ...]:
    return tuple(ArrayFacts(name, tuple(array.shape), str(array.dtype)) for name, array in arrays.items())


def _axes(data: Dataset) -> dict[str, int]:
    predictions = data.predictions
    axes = {"n": len(predictions) + data.dropped}
    if isinstance(predictions, Ensemble) or predictions.n_members > 1:
        axes["m"] = predictions.n_members
    if isinstance(predictions, OverClasses | LabelCounts):
        axes["k"] = predictions.n_classes
    return axes


def _label_kind(data: Dataset) -> str | None:
    if data.labels is None or isinstance(data.labels, LabelCounts):
        return None if data.labels is None else "counts"
    return "classes" if isinstance(data.predictions, OverClasses | LabelCounts) else "reals"
