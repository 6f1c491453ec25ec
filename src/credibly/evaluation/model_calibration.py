"""What is wrong with each model of a comparison, and its calibration errors beside what chance would give."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

from credibly._arrays.philox import Seed
from credibly.diagnosis import Diagnosis
from credibly.diagnosis.diagnose import FEWEST, FEWEST_DRAWN, MOST_DRAWN, diagnosed, seen_rows
from credibly.evaluation.findings import Finding
from credibly.evaluation.headline import fault_finding
from credibly.evaluation.rows import class_names
from credibly.evaluation.sentences import remedy_of
from credibly.hypotests import calibration_test
from credibly.predictions import ClassPredictions, Dataset, InMemory, RealPredictions, Rows
from credibly.results.base import Result
from credibly.selection.calibration_errors import CalibrationDifference, error_differences
from credibly.statistics import Statistic, smooth_ece, truthful_ce
from credibly.statistics.registry import with_bins

LEVEL, N_RESAMPLES, MARGIN = 0.05, 999, 0.02
"""Error rate and replicates of the one test of each model, and the gap that does not matter."""


@dataclasses.dataclass(frozen=True)
class ErrorByChance(Result):
    """A calibration error beside what a calibrated model with the same predictions would show.

    Attributes
    ----------
    value : float
        The error.
    expected : float
        Its mean if the labels were drawn from the predictions.
    limit : float
        Chance alone exceeds this in 5 % of data sets.
    """

    value: float
    expected: float
    limit: float


@dataclasses.dataclass(frozen=True)
class ModelCalibration(Result):
    """What is wrong with one model of a comparison.

    Attributes
    ----------
    diagnosis : Diagnosis or None
        The fault, its size and the repair that helps; None with fewer than 20 instances.
    errors : mapping of str to ErrorByChance
        Calibration errors of class predictions; for two classes, of the probability of the event.
    sentence : str
        What is wrong; empty if the one test found nothing.
    remedy : str
        What the repair leaves on rows that it was not fitted on; empty if there is none.
    """

    diagnosis: Diagnosis | None
    errors: Mapping[str, ErrorByChance]
    sentence: str
    remedy: str


def calibration_errors(n_classes: int, n_bins: int) -> list[Statistic]:
    """Return the errors that models are compared by; for two classes all are about the event.

    Parameters
    ----------
    n_classes : int
        Number of classes.
    n_bins : int
        Bins of those that have bins.

    Returns
    -------
    list of Statistic
        Binned, smooth and truthful errors.
    """
    event = n_classes == 2
    binned = [with_bins(name, n_bins) for name in ("confidence_ece", "classwise_ece")[event:]]
    return [*binned, smooth_ece.with_(target="classwise") if event else smooth_ece, truthful_ce]


def rows_of_models(models: Mapping[str, Rows]) -> dict[str, Dataset]:
    """Return the rows in memory that diagnoses and errors are computed on: all, or evenly spaced ones."""
    return {name: seen_rows(rows, None)[0] for name, rows in models.items()}


def model_calibration(
    data: Dataset, errors: Sequence[Statistic], classes: Sequence[str] | None, seed: Seed
) -> ModelCalibration:
    """Diagnose one model, and compare its errors with those of labels drawn from its predictions."""
    rows, predictions = InMemory(data), data.predictions
    if len(data) < FEWEST or not isinstance(predictions, (ClassPredictions, RealPredictions)):
        return ModelCalibration(None, {}, "", "")
    diagnosis = diagnosed(rows, data.groups, LEVEL, N_RESAMPLES, seed)
    finding: Finding | None = None
    if diagnosis.word == "conflict":
        finding = fault_finding(diagnosis, class_names(predictions, classes), MARGIN)
    sentence, left = ("", "") if finding is None else (finding.sentence, remedy_of(finding.facts))
    return ModelCalibration(diagnosis, _by_chance(rows, errors, seed), sentence, left)


def _by_chance(rows: Rows, errors: Sequence[Statistic], seed: Seed) -> dict[str, ErrorByChance]:
    if not errors:
        return {}
    drawn = min(N_RESAMPLES, max(FEWEST_DRAWN, MOST_DRAWN // rows.n))
    tests = calibration_test(rows, statistics=list(errors), n_resamples=drawn, rng=list(seed)).components
    by_chance = {}
    for name, test in tests.items():
        assert test.null_distribution is not None
        expected = float(test.null_distribution.mean())
        by_chance[name] = ErrorByChance(test.statistic, expected, float(test.acceptance_region[1]))
    return by_chance


def differences(
    models: Mapping[str, Dataset], errors: Sequence[Statistic], first: str, level: float
) -> tuple[CalibrationDifference, ...]:
    """Return paired differences of the errors to those of `first`; none of a few rows, or of one model."""
    if len(models) < 2 or len(models[first]) < FEWEST:
        return ()
    return error_differences(models, errors, first, level)
