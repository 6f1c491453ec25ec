"""Statistics over pairs of instances on a stated random part of large data.

A test over pairs costs rows^2 k per replicate. Beyond `pairwise_rows` instances the statistic sees a
part drawn without replacement. It keeps the replicates of the whole: its labels are rows of theirs, so the
tests of all statistics still share every draw, and p-values stay exact.
"""

from __future__ import annotations

import dataclasses
import math
from typing import Any, ClassVar, Literal

import numpy as np

from credibly._arrays.errors import InputError, require_positive
from credibly._arrays.namespace import Array, like, namespace
from credibly._arrays.philox import Seed, Uniforms
from credibly.predictions import Labels, Predictions
from credibly.statistics import Bound, Plan, State, Statistic, Traits

MOST_ROWS_ASKED = 20_000
"""Instances that a statistic over pairs sees at most where it is named."""

MOST_ROWS_UNASKED = 2500
"""And where nobody named it, at ten classes: its test then takes seconds, not minutes."""

_CLASSES = 10
_STREAM = 4  # the streams before belong to labels, bootstrapped rows and signs


def compares_pairs(statistic: Statistic) -> bool:
    """Tell whether a statistic costs n^2."""
    return statistic.traits.reduction in ("pairwise", "smoother")


def rows_for_pairs(given: int | None, *, asked: bool, n_classes: int) -> int:
    """Return how many instances a statistic over pairs may see."""
    if given is not None:
        require_positive("`pairwise_rows`", given, "Try 2500.")
        if given < 2:
            raise InputError("`pairwise_rows`", "must leave a pair", f"got {given}", "Try 2500.")
        return int(given)
    if asked:
        return MOST_ROWS_ASKED
    # the cost grows with the number of classes too
    return max(2, int(MOST_ROWS_UNASKED * min(1.0, math.sqrt(_CLASSES / n_classes))))


def subsampled(statistic: Statistic, n: int, most: int, seed: Seed) -> Statistic:
    """Return the statistic, on `most` of `n` instances where there are more and it compares pairs."""
    if n <= most or not compares_pairs(statistic):
        return statistic
    drawn = Uniforms(seed, stream=_STREAM).block(slice(0, 1), slice(0, n))[0]
    return Subsampled(statistic, np.sort(np.argsort(drawn, kind="stable")[:most]))


@dataclasses.dataclass(frozen=True, eq=False)
class Subsampled(Statistic):
    """A statistic of some of the instances, given predictions and labels of all."""

    inner: Statistic
    chosen: np.ndarray[Any, Any]
    name: ClassVar[str] = "subsampled"
    reference: ClassVar[str] = ""
    traits: ClassVar[Traits]

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", self.inner.name)
        object.__setattr__(self, "reference", self.inner.reference)
        # sums of a part are no sums of the whole, so chunks of rows cannot be merged
        object.__setattr__(self, "traits", dataclasses.replace(self.inner.traits, reduction="opaque"))

    def settings(self) -> dict[str, Any]:
        """Return the settings of the statistic and the number of instances it sees."""
        return {**self.inner.settings(), "subsample": int(self.chosen.size)}

    def require_predictions(self, predictions: Predictions) -> None:
        """Ask the statistic itself."""
        self.inner.require_predictions(predictions)

    def _bind(self, predictions: Predictions, plan: Plan) -> Bound:
        return SubsampledBound(self, self.inner.bind(predictions[self.chosen]), plan.n)


class SubsampledBound(Bound):
    """The statistic bound to its part of the rows; takes labels of all."""

    def __init__(self, statistic: Subsampled, inner: Bound, n: int) -> None:
        note = (
            f"computed on {inner.n} of {n} instances, drawn at random under the seed: it compares all pairs "
            "(`pairwise_rows` in Python sets how many)"
        )
        # the bound statistic knows what a rule such as bandwidth="median" became
        resolved = dataclasses.replace(statistic, inner=inner.statistic)
        super().__init__(resolved, inner.n, (*inner.notes, note))
        self.inner, self.chosen = inner, statistic.chosen

    def _part(self, labels: Labels) -> Labels:
        xp = namespace(labels.values)
        rows = like(self.chosen, labels.values)
        weights = None if labels.weights is None else xp.take(labels.weights, rows, axis=1)
        return dataclasses.replace(labels, values=xp.take(labels.values, rows, axis=1), weights=weights)

    def state(self, labels: Labels) -> State:
        """Return the sums over the part."""
        return self.inner.state(self._part(labels))

    def finish(self, state: State) -> Array:
        """Turn sums into values, (b,)."""
        return self.inner.finish(state)

    def stderr(self, labels: Labels) -> tuple[float | None, str | None]:
        """Return the standard error of the part."""
        return self.inner.stderr(self._part(labels))

    def interval_method(self, labels: Labels) -> Literal["normal", "wilson"]:
        """Return which interval belongs to the value."""
        return self.inner.interval_method(self._part(labels))

    def reference_pvalue(self, value: float) -> tuple[float, str] | None:
        """Return the p-value from a reference distribution, where one is known."""
        return self.inner.reference_pvalue(value)

    def label_notes(self, labels: Labels) -> tuple[str, ...]:
        """Return what these labels make worth knowing."""
        return self.inner.label_notes(self._part(labels))
