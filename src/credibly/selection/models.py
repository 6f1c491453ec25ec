"""What is compared: models over the same instances and classes, at trade-offs from 0 to infinity."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from credibly._arrays.errors import InputError, InputTypeError
from credibly.predictions import Chunks, ClassPredictions, as_predictions, require_no_labels, require_order
from credibly.selection.standings import require_tradeoff


def checked_models(models: Mapping[str, Any], labels: Any) -> dict[str, ClassPredictions | Chunks]:
    """Return predictions by name; all must be over the same instances and classes, in memory or in chunks."""
    if not isinstance(models, Mapping):
        raise InputTypeError(
            "`models`",
            "must be a mapping of names to predictions",
            f"got {type(models).__name__}",
            'Write `{"first": predictions, "second": others}`.',
        )
    if not models:
        raise InputError("`models`", "must hold at least one model", "got none", "Name one.")
    found: dict[str, ClassPredictions | Chunks] = {}
    kinds: dict[str, ClassPredictions] = {}
    in_chunks = [isinstance(one, Chunks) for one in models.values()]
    if any(in_chunks):
        require_no_labels(labels)
    if any(in_chunks) and not all(in_chunks):
        raise InputTypeError(
            "the models",
            "must all be in chunks, or all in memory",
            f"{sum(in_chunks)} of {len(in_chunks)} are chunks",
            "Make chunks of the others, too: `scan(predictions, labels)`.",
        )
    for name, predictions in models.items():
        if isinstance(predictions, Chunks):
            one = predictions.sample.predictions
        else:
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
        kinds[str(name)] = one
        found[str(name)] = predictions if isinstance(predictions, Chunks) else one
    first_name, first = next(iter(found.items()))
    k = kinds[first_name].n_classes
    for name, given in found.items():
        if (len(given), kinds[name].n_classes) != (len(first), k):
            raise InputError(
                "the models",
                "must predict the same instances and classes",
                f"{first_name!r} has n = {len(first)}, k = {k}, {name!r} has n = {len(given)}, "
                f"k = {kinds[name].n_classes}",
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
