"""From which real-valued predictions labels can be drawn, and how well."""

from __future__ import annotations

from collections.abc import Sequence

from credibly._arrays.errors import UnsupportedError
from credibly.predictions import Predictions, Quantiles, RealPredictions, Samples
from credibly.statistics import Bound

FEWEST_BEYOND = 5
"""Draws beyond an interval from which on distances to it are drawn well: with 5 of 100 normal draws the mean
interval score of drawn labels is 0.2 % too small, with 1 of 20 it is 14 %."""


def require_drawable(predictions: RealPredictions, bounds: Sequence[Bound]) -> None:
    """Raise where labels cannot be drawn: from a few quantiles, or far out beyond a few draws."""
    for bound in bounds:
        if isinstance(predictions, Quantiles) and not (predictions.is_dense or bound.needs_ranks_only):
            raise UnsupportedError(
                f"a test of `{bound.statistic.name}`",
                "needs labels drawn from the predictions, and a few quantiles say only how often labels lie "
                "between them",
                f"got {predictions.values.shape[1]} levels, some more than 0.05 apart",
                "Use `picp` or `quantile_calibration_error`, or predict quantiles at 0.05, 0.1, ..., 0.95.",
            )
        if isinstance(predictions, Samples) and bound.tail_share is not None:
            s = _draws(predictions)
            if bound.tail_share * s < FEWEST_BEYOND:
                raise UnsupportedError(
                    f"a test of `{bound.statistic.name}`",
                    f"needs {FEWEST_BEYOND} draws beyond each end of the interval, because it measures how "
                    "far outside labels lie",
                    f"got {s} draws, of which {bound.tail_share * s:g} lie beyond",
                    "Store more draws, use a lower `level`, or test `crps`.",
                )


def drawing_notes(predictions: Predictions, bound: Bound) -> tuple[str, ...]:
    """Return what is worth knowing about how the labels were drawn."""
    if not isinstance(predictions, Samples) or bound.needs_ranks_only:
        return ()
    s = _draws(predictions)
    return (f"labels are drawn between the {s} draws of each instance: exact for ranks, near for sizes",)


def _draws(predictions: Samples) -> int:
    """Return how many draws a label is drawn between; members with one joint draw each are draws together."""
    s = int(predictions.values.shape[-1])
    return s if s > 1 else predictions.n_members
