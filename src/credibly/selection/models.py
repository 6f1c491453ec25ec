"""What is compared: models over the same instances and classes, at trade-offs from 0 to infinity."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from credibly._arrays.errors import InputError, InputTypeError
from credibly._arrays.standings import require_tradeoff
from credibly.predictions import ClassPredictions, as_predictions, require_order


def checked_models(models: Mapping[str, Any], labels: Any) -> dict[str, ClassPredictions]:
    """Return predictions by name; all must be over the same instances and classes."""
    if not isinstance(models, Mapping):
        raise InputTypeError(
            "`models`",
            "must be a mapping of names to predictions",
            f"got {type(models).__name__}",
            'Write `{"first": predictions, "second": others}`.',
        )
    if not models:
        raise InputError("`models`", "must hold at least one model", "got none", "Name one.")
    found: dict[str, ClassPredictions] = {}
    for name, predictions in models.items():
        require_order(predictions, labels)
        one = as_predictions(predictions)
        if not isinstance(one, ClassPredictions):
            raise InputTypeError(
                f"model {name!r}",
                "must hold class predictions",
                f"got {type(one).__name__}",
                "Use `Point`, `Ensemble`, `Intervals`, `Belief` or `Dirichlet`.",
            )
        if str(name) in found:
            raise InputError(
                "names of models",
                "must be distinct as text",
                f"{str(name)!r} is there twice",
                "Rename one.",
            )
        found[str(name)] = one
    first_name, first = next(iter(found.items()))
    for name, one in found.items():
        if (len(one), one.n_classes) != (len(first), first.n_classes):
            raise InputError(
                "the models",
                "must predict the same instances and classes",
                f"{first_name!r} has n = {len(first)}, k = {first.n_classes}, {name!r} has n = {len(one)}, "
                f"k = {one.n_classes}",
                "Predict one test set with all of them.",
            )
    return found


def checked_tradeoffs(tradeoffs: Sequence[float]) -> tuple[float, ...]:
    """Return trade-offs as numbers; there must be at least one."""
    if isinstance(tradeoffs, (str, bytes)) or not isinstance(tradeoffs, Iterable):
        raise InputTypeError(
            "`tradeoffs`", "must be a sequence of numbers", f"got {tradeoffs!r}", "Pass a list, also for one."
        )
    listed = tuple(tradeoffs)
    if not listed:
        raise InputError("`tradeoffs`", "must hold at least one number", "got none", "Try [0.1, 1, 2].")
    for one in listed:
        require_tradeoff(one)
    return tuple(map(float, listed))
