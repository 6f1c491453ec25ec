"""Options that verbs share, as values: a verb names a group, and its fields become arguments and options."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable
from typing import Any, get_type_hints

from credibly.cli import options


@dataclasses.dataclass(frozen=True)
class Counting:
    """How statistics are counted in bins, and where random numbers begin."""

    n_bins: options.Bins = 15
    seed: options.Seed = 0

    def words(self) -> list[str]:
        """Return these options as they are typed."""
        return ["--n-bins", str(self.n_bins), "--seed", str(self.seed)]


@dataclasses.dataclass(frozen=True)
class Replication(Counting):
    """The same, and how often labels are drawn again."""

    n_resamples: options.Resamples = 999

    def words(self) -> list[str]:
        """Return these options as they are typed."""
        return ["--n-resamples", str(self.n_resamples), *super().words()]


def flattened(verb: Callable[..., None]) -> Callable[..., None]:
    """Return `verb` with the fields of its groups as parameters of their own, which is what typer reads.

    Parameters
    ----------
    verb : callable
        A verb; parameters whose type is a dataclass are groups.

    Returns
    -------
    callable
        The same verb, called with single options by keyword.
    """
    hints = get_type_hints(verb, include_extras=True)
    groups: dict[str, type[Any]] = {}
    parameters: list[inspect.Parameter] = []
    for given in inspect.signature(verb).parameters.values():
        kind = hints[given.name]
        if not dataclasses.is_dataclass(kind):
            parameters.append(given.replace(annotation=kind, kind=inspect.Parameter.KEYWORD_ONLY))
            continue
        groups[given.name] = kind  # type: ignore[assignment]
        types = get_type_hints(kind, include_extras=True)
        parameters += [
            inspect.Parameter(
                field.name,
                inspect.Parameter.KEYWORD_ONLY,
                default=inspect.Parameter.empty if field.default is dataclasses.MISSING else field.default,
                annotation=types[field.name],
            )
            for field in dataclasses.fields(kind)
        ]

    def called(**given: Any) -> None:
        for name, kind in groups.items():
            given[name] = kind(**{field.name: given.pop(field.name) for field in dataclasses.fields(kind)})
        verb(**given)

    called.__name__, called.__doc__ = verb.__name__, verb.__doc__
    called.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    called.__annotations__ = {one.name: one.annotation for one in parameters}
    return called
