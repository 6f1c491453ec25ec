"""User callables as statistics."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from credibly._arrays.errors import InputError, InputTypeError, one_of
from credibly._arrays.namespace import Array, is_array, like, namespace
from credibly.predictions import Classes, Counts, Labels, Predictions
from credibly.results.base import Tail
from credibly.statistics.protocol import Bound, LabelKind, Plan, State, Statistic, Story, Traits


class UserBound(Bound):
    """Calls the function on every label vector, or once on the batch where that was declared."""

    statistic: UserStatistic

    def __init__(self, statistic: UserStatistic, predictions: Predictions) -> None:
        super().__init__(statistic, len(predictions), predictions.notes)
        self.predictions = predictions

    def state(self, labels: Labels) -> State:
        """Return the values themselves: an opaque function cannot be merged from chunks."""
        if isinstance(labels, Counts) or labels.weights is not None:
            raise InputError(
                f"`{self.statistic.label}`",
                "takes plain labels only",
                "got label counts or weights",
                "Write the weights into the function.",
            )
        function, values = self.statistic.function, labels.values
        if isinstance(labels, Classes):
            xp = namespace(values)
            values = xp.astype(values, xp.int64)  # batches are kept in bytes, where `labels - 1` wraps
        if self.statistic.batched:
            result = function(self.predictions, values)
            shape = tuple(getattr(result, "shape", ()))
            if shape != (len(labels),):
                raise InputError(
                    f"`{self.statistic.label}` (batched)",
                    f"must return one value per label vector, shape ({len(labels)},)",
                    f"got shape {shape}",
                    "Declare `batched=False` if it takes one label vector.",
                )
            return State(value=result if is_array(result) else like(result, values))
        numbers = [self._number(function(self.predictions, values[row, :])) for row in range(len(labels))]
        return State(value=like(np.asarray(numbers), values))

    def _number(self, result: Any) -> float:
        shape = tuple(getattr(result, "shape", ()))
        try:
            if not shape:
                return float(result)
        except (TypeError, ValueError):
            pass
        raise InputError(
            f"`{self.statistic.label}`",
            "must return one number per label vector",
            f"got an array of shape {shape}" if shape else f"got {result!r}",
            "Reduce over the instances, or declare `batched=True` if it takes labels (b, n).",
        )

    def finish(self, state: State) -> Array:
        """Return the values."""
        return state["value"]


@dataclasses.dataclass(frozen=True)
class UserStatistic(Statistic):
    """A function of predictions and labels; made by :func:`statistic`."""

    function: Callable[..., Any]
    label: str
    tail: Tail
    batched: bool
    name: ClassVar[str] = "user"
    reference: ClassVar[str] = "user"
    traits: ClassVar[Traits]
    story: ClassVar[Story]

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", self.label)
        object.__setattr__(
            self,
            "traits",
            Traits(
                reduction="opaque",
                tail=self.tail,
                labels=frozenset[LabelKind]({"classes", "reals"}),
                differentiable=False,
                multiplicities=False,
                duplicate_invariant=False,
            ),
        )
        written = inspect.getdoc(self.function) or ""
        story = Story(self.label.replace("_", " "), written.partition("\n")[0])
        object.__setattr__(self, "story", story)

    def settings(self) -> dict[str, Any]:
        """Return the declared facts; a function has no JSON form."""
        return {"function": self.label, "tail": self.tail, "batched": self.batched}

    def require_predictions(self, predictions: Predictions) -> None:
        """Accept every prediction type: the function decides."""

    def _bind(self, predictions: Predictions, plan: Plan) -> Bound:
        return UserBound(self, predictions)


def statistic(
    function: Callable[..., Any],
    *,
    tail: Tail,
    batched: bool = False,
    name: str | None = None,
) -> UserStatistic:
    """Make a statistic of a function, usable wherever a statistic is asked for.

    Parameters
    ----------
    function : callable
        ``T(predictions, labels) -> float``; gets the prediction object and one label vector (n,). With
        ``batched=True`` it gets labels (b, n) and returns (b,).
    tail : {"greater", "two-sided"}
        Whether only large values count against a model, or small ones too.
    batched : bool
        Declared, never guessed.
    name : str, optional
        Shown in results; the function's own name where not given.

    Returns
    -------
    UserStatistic
        The statistic.

    Examples
    --------
    >>> import credibly as cr
    >>> def top_two(predictions, labels):
    ...     best = predictions.mean().probs.argsort(axis=1)[:, -2:]
    ...     return (best == labels[:, None]).any(axis=1).mean()
    >>> float(cr.statistic(top_two, tail="two-sided")([[0.5, 0.3, 0.2]], [1]))
    1.0
    """
    if not callable(function):
        raise InputTypeError(
            "`function`", "must be callable", f"got {function!r}", "Pass `T(predictions, labels)`."
        )
    one_of("`tail`", tail, ("greater", "two-sided"))
    label = str(name or getattr(function, "__name__", type(function).__name__))
    return UserStatistic(function, label, tail, batched)
