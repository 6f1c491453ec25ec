"""Recalibrations one after the other: the mean first, say, then the spread."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

from credibly._arrays.errors import require, require_type
from credibly.recalibrate.base import Recalibration
from credibly.recalibrate.minimum import Convergence
from credibly.recalibrate.reals import RealData, mean_losses


@dataclasses.dataclass(eq=False)
class Chain(Recalibration):
    """Several recalibrations in order, each fitted on the output of the one before.

    Parameters
    ----------
    steps : sequence of Recalibration
        In the order of application; ``first.then(second)`` does the same.

    Examples
    --------
    >>> import numpy as np
    >>> import credibly as cr
    >>> rng = np.random.default_rng(0)
    >>> probs = rng.dirichlet(np.ones(3), size=1000)
    >>> counts = cr.LabelCounts(rng.multinomial(5, probs))
    >>> both = cr.recalibrate.TemperatureScaling().then(cr.recalibrate.AlphaCalibration())
    >>> both.fit(probs[:500], counts[:500]).apply(probs[500:])
    Dirichlet(n=500, k=3, dtype=float64, 2 notes)
    """

    steps: tuple[Recalibration, ...] = ()
    method: ClassVar[str] = "chain"

    def __post_init__(self) -> None:
        steps = self.steps if isinstance(self.steps, (tuple, list)) else (self.steps,)
        for step in steps:
            known = isinstance(step, Recalibration)
            require_type(known, "must be recalibrations", "Try `TemperatureScaling()`.", steps=step)
        require(steps, "must contain at least one", "Add `TemperatureScaling()`.", steps=steps)
        self.steps = tuple(self.steps)

    @property
    def parts(self) -> tuple[Recalibration, ...]:
        """The steps."""
        return self.steps

    @property
    def takes_features(self) -> bool:  # type: ignore[override]
        """Whether any step uses features; only those that do are given them."""
        return any(step.takes_features for step in self.steps)

    @property
    def takes_groups(self) -> bool:  # type: ignore[override]
        """Whether any step is fitted by group."""
        return any(step.takes_groups for step in self.steps)

    @property
    def fitted_by_group(self) -> bool:
        """Whether any step needs the groups of the instances."""
        return any(step.fitted_by_group for step in self.steps)

    def describe(self) -> str:
        """Return all steps in words."""
        return self.in_words(None)

    def in_words(self, classes: Sequence[str] | None) -> str:
        """Return `describe` with the classes by their names."""
        return "; then ".join(step.in_words(classes) for step in self.steps)

    def unfitted(self) -> Self:
        """Return a new chain of unfitted steps."""
        return type(self)(tuple(step.unfitted() for step in self.steps))

    def _require_kind(self, predictions: Any) -> None:
        self.steps[0]._require_kind(predictions)

    def _used(self, features: Any, groups: Any) -> Any:
        return features, groups  # each step takes what it uses

    def _data(self, predictions: Any, labels: Any, sample_weight: Any) -> Any:
        return self.steps[0]._data(predictions, labels, sample_weight)

    def _checked(self, predictions: Any) -> Any:
        return self.steps[0]._checked(predictions)

    def _require_like_the_fit(self, predictions: Any) -> None:
        self.steps[0]._require_like_the_fit(predictions)

    def _fit(self, data: Any, seen: Any) -> Convergence:
        self.steps = tuple(step.unfitted() for step in self.steps)  # those given belong to the caller
        ended: list[Convergence] = []
        at = data
        near = self._near.parts if self._near is not None else (None,) * len(self.steps)
        for step, start in zip(self.steps, near, strict=True):
            step._near = start
            step._require_kind(at.predictions)
            inputs = step._used(*seen)
            convergence = step._fit(at, inputs)
            step._remember(at, convergence)
            ended.append(convergence)
            at = at.moved(step._map(at.predictions, inputs))
        # likelihoods of the spread are of another kind than losses of the mean
        alike = [end for end, step in zip(ended, self.steps, strict=True) if step.changes_mean] or ended
        losses = alike[0].loss_before, alike[-1].loss_after
        if isinstance(data, RealData):  # a step may have made quantiles of them, whose CRPS is another number
            losses = mean_losses(data, lambda rows: at.predictions[rows])
        return Convergence(
            all(end.converged for end in ended),
            sum(end.n_iterations for end in ended),
            max(end.gradient for end in ended),
            *losses,
            "; ".join(end.message for end in ended),
        )

    def _map(self, predictions: Any, seen: Any) -> Any:
        for step in self.steps:
            step._require_kind(predictions)
            predictions = step._map(predictions, step._used(*seen))
        return predictions

    def to_dict(self) -> dict[str, Any]:
        """Return all steps in JSON-safe types."""
        values = super().to_dict()
        values["settings"] = {"steps": [step.to_dict() for step in self.steps]}
        return values

    @classmethod
    def _from_dict(cls, values: Mapping[str, Any]) -> Self:
        from credibly.recalibrate.files import recalibration_from_dict

        made = cls(tuple(recalibration_from_dict(step) for step in values["settings"]["steps"]))
        made._restore(values)
        return made
