"""A statistic that is updated batch by batch: sums are kept, rows are not."""

from __future__ import annotations

import dataclasses
from typing import Any, Self

from credibly._arrays.errors import InputError, UnsupportedError
from credibly._arrays.namespace import is_torch, namespace
from credibly.predictions import ClassPredictions, Labels, Predictions, paired
from credibly.predictions.passes import without_graph
from credibly.results.estimates import Estimate
from credibly.statistics.protocol import State, Statistic
from credibly.statistics.registry import as_statistic

_MOST_NOTES = 10
_MORE_NOTES = "further notes of single batches are left out"


class RunningStatistic:
    """A statistic over batches, as in a validation loop: `update` with each batch, `compute` at the end.

    Parameters
    ----------
    statistic : str or Statistic
        A statistic that is a sum over instances. Bins must be of equal width, because bins of equal mass are
        known only when all rows are.
    **settings
        Override its settings.

    Attributes
    ----------
    statistic : Statistic
        What is computed.
    n : int
        Number of instances so far.

    Notes
    -----
    The value is that of all rows at once, up to the order of summation. To share the work between processes,
    give each process its own object and `merge` them; objects can be pickled. Gradients are not kept.

    Examples
    --------
    >>> import credibly as cr
    >>> running = cr.statistics.RunningStatistic("confidence_ece", n_bins=10)
    >>> for probs, labels in [([[0.75, 0.25]], [0]), ([[0.75, 0.25]], [1])]:
    ...     running.update(probs, labels)
    >>> float(running.compute())
    0.25
    """

    def __init__(self, statistic: str | Statistic, **settings: Any) -> None:
        chosen = as_statistic(statistic)
        self.statistic = chosen.with_(**settings) if settings else chosen
        _require_sums(self.statistic)
        self.reset()

    def reset(self) -> None:
        """Forget all batches."""
        self.n = 0
        self._kept: tuple[State, Labels, Predictions] | None = None  # sums; a label and a row of some batch
        self._notes: tuple[str, ...] = ()

    def update(self, predictions: Any, labels: Any, *, sample_weight: Any = None) -> None:
        """Add a batch.

        Parameters
        ----------
        predictions : Predictions or array
            (b, k) probabilities, (b, m, k) members, or any prediction object.
        labels : array (b,) or LabelCounts
            What was observed.
        sample_weight : array (b,), optional
            ...
        """
        predictions, labels = paired(predictions, labels)
        batch = self.statistic.labels(predictions, labels, sample_weight)
        bound = self.statistic.bind(predictions)
        sums = bound.observed_sums(batch)
        kept = type(sums)(
            {name: total.detach() if is_torch(total) else total for name, total in sums.items()}
        )
        self._add(kept, batch.rows(slice(0, 1)), _one_row(predictions), len(predictions), bound.notes)

    def merge(self, other: RunningStatistic) -> Self:
        """Add the batches of another one with the same statistic.

        Parameters
        ----------
        other : RunningStatistic
            Usually of another process.

        Returns
        -------
        RunningStatistic
            This one.
        """
        if other.statistic != self.statistic:
            raise InputError(
                "running statistics",
                "must be the same to be merged",
                f"got {self.statistic} and {other.statistic}",
                "Give both the same settings.",
            )
        if other._kept is not None:
            self._add(*other._kept, other.n, other._notes)
        return self

    def compute(self) -> Estimate:
        """Return the value over all batches so far.

        Returns
        -------
        Estimate
            The value, with the standard error of all rows if it is a mean; otherwise with the reason why
            there is none.
        """
        if self._kept is None:
            raise InputError(
                f"`{self.statistic.name}`", "needs at least one batch", "got none", "Call `update` first."
            )
        # turning sums into a value needs the statistic and the number of classes only
        sums, sample, first = self._kept
        plan = dataclasses.replace(self.statistic.plan(first), n=self.n)
        return self.statistic.bind(first, plan).estimate(sums, sample, self._notes)

    def _add(self, sums: State, sample: Labels, first: Predictions, n: int, notes: tuple[str, ...]) -> None:
        if self._kept is not None:
            sums_before, sample_before, first_before = self._kept
            _require_alike(first_before, first)
            sums = sums_before + sums
            # one weighted batch makes all of it a weighted mean
            sample = sample_before if sample.weights is None else sample
            first = first_before
        self._kept = sums, sample, first
        self.n += n
        known = tuple(dict.fromkeys((*self._notes, *notes)))
        # notes that count rows differ from batch to batch, and thousands of them help nobody
        self._notes = known if len(known) <= _MOST_NOTES else (*known[:_MOST_NOTES], _MORE_NOTES)

    def __repr__(self) -> str:
        return f"RunningStatistic({self.statistic!r}, n={self.n})"


def _require_sums(statistic: Statistic) -> None:
    """Raise unless batches can be added up without a look at all rows first."""
    binning = statistic.settings().get("binning")
    remedy = "Collect the predictions and compute it once."
    if statistic.traits.reduction != "sum":
        rule = "must be a sum over instances to be updated in batches"
        evidence = f"it is declared {statistic.traits.reduction!r}"
    elif binning == "equal_mass":
        rule, evidence = "needs bins that are known before the data", "its bins have equal mass"
        remedy = 'Use binning="equal_width", or collect the predictions and compute it once.'
    elif binning is None and type(statistic)._plan is not Statistic._plan:
        rule = "chooses places, bins or bandwidths from all predictions"
        evidence = "batches come one by one"
    else:
        return
    raise UnsupportedError(f"`{statistic.name}`", rule, evidence, remedy)


def _require_alike(first: Predictions, other: Predictions) -> None:
    """Raise unless batches have the same classes and live in the same place."""
    namespace(first._leading, other._leading, what="batches")
    classes = [part.n_classes for part in (first, other) if isinstance(part, ClassPredictions)]
    if len(set(classes)) > 1:
        raise InputError(
            "batches",
            f"must have the same number of classes ({classes[0]})",
            f"got {classes[1]}",
            "Use one running statistic per task.",
        )


def _one_row(predictions: Predictions) -> Predictions:
    """Return the first row outside any graph: all that is needed of a batch later."""
    rows = {name: array[:1, ...] for name, array in predictions.row_arrays().items()}
    first: Predictions = without_graph(predictions.replace_rows(**rows))
    return first
