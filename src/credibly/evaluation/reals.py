"""The part of an evaluation that real-valued predictions allow: which tests, and curves with envelopes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from credibly._arrays.errors import UnsupportedError
from credibly._arrays.philox import Seed
from credibly._arrays.results import HypotestResult
from credibly.evaluation.results import RealParts
from credibly.evaluation.stages import Progress, Reasons, calibration_tests
from credibly.hypotests import coverage_curve, pit_test
from credibly.predictions import Quantiles, RealPredictions
from credibly.statistics import Statistic

_FEW_QUANTILES = (
    "labels cannot be drawn from a few quantiles, which say only how often labels lie between them"
)


def real_tests(
    predictions: RealPredictions,
    labels: Any,
    chosen: Sequence[Statistic],
    n_resamples: int,
    seed: Seed,
    tell: Progress,
) -> tuple[dict[str, HypotestResult], Reasons]:
    """Test the statistics whose labels can be drawn; name the others with the reason."""
    testable = list(chosen)
    if isinstance(predictions, Quantiles) and not predictions.is_dense:
        testable = [one for one in chosen if one.bind(predictions[:1]).needs_ranks_only]
    reasons = [(f"test of {one.name}", _FEW_QUANTILES) for one in chosen if one not in testable]
    if not testable:
        return {}, reasons
    try:
        return calibration_tests(predictions, labels, testable, n_resamples, seed, tell), reasons
    except UnsupportedError as error:
        return {}, [("calibration tests", _why(error))]


def real_parts(
    predictions: RealPredictions, labels: Any, level: float, n_resamples: int, seed: Seed
) -> tuple[RealParts | None, Reasons]:
    """Return the curves, or the reason why labels cannot be drawn for them."""
    settings: dict[str, Any] = {"level": level, "n_resamples": n_resamples, "rng": seed}
    try:
        pit = pit_test(predictions, labels, **settings)
    except UnsupportedError as error:
        return None, [("curves of the probability integral transform and of coverage", _why(error))]
    try:
        return RealParts(pit, coverage_curve(predictions, labels, **settings)), []
    except UnsupportedError as error:
        return RealParts(pit, None), [("coverage curve", _why(error))]


def _why(error: UnsupportedError) -> str:
    return f"{error.subject} {error.rule}, {error.evidence}"
