"""The part of an evaluation that real-valued predictions allow: which tests, and curves with envelopes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from credibly._arrays.errors import UnsupportedError
from credibly._arrays.philox import Seed
from credibly.evaluation.results import RealParts
from credibly.evaluation.stages import Progress, Reasons, calibration_tests
from credibly.hypotests import coverage_curve, pit_test
from credibly.hypotests.resampling.choices import require_drawable
from credibly.predictions import RealPredictions, Rows
from credibly.results.tests import HypotestResult
from credibly.statistics import Statistic


def real_tests(
    rows: Rows, chosen: Sequence[Statistic], n_resamples: int, seed: Seed, tell: Progress
) -> tuple[dict[str, HypotestResult], Reasons]:
    """Test the statistics whose labels can be drawn; name the others with the reason."""
    testable, reasons, some = [], [], rows.sample.predictions
    assert isinstance(some, RealPredictions)
    for one in chosen:
        try:
            require_drawable(some, [one.bind(some[:1])])
            testable.append(one)
        except UnsupportedError as error:
            reasons.append((f"test of {one.name}", f"it {error.rule}, {error.evidence}"))
    if not testable:
        return {}, reasons
    try:
        return calibration_tests(rows, testable, n_resamples, seed, tell), reasons
    except UnsupportedError as error:
        return {}, [*reasons, ("calibration tests", _why(error))]


def real_parts(rows: Rows, level: float, n_resamples: int, seed: Seed) -> tuple[RealParts | None, Reasons]:
    """Return the curves, or the reason why labels cannot be drawn for them."""
    settings: dict[str, Any] = {"level": level, "n_resamples": n_resamples, "rng": seed}
    try:
        pit = pit_test(*rows.arguments, **settings)
    except UnsupportedError as error:
        return None, [("curves of the probability integral transform and of coverage", _why(error))]
    try:
        return RealParts(pit, coverage_curve(*rows.arguments, **settings)), []
    except UnsupportedError as error:
        return RealParts(pit, None), [("coverage curve", _why(error))]


def _why(error: UnsupportedError) -> str:
    return f"{error.subject} {error.rule}, {error.evidence}"
