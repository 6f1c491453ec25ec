"""What D21 says about alpha-calibration, judged in worlds whose truth is known."""

from __future__ import annotations

import dataclasses
import math

import numpy as np

from credibly._arrays.namespace import HostArray
from credibly.evaluation import shown
from credibly_studies.d21_printed import ALPHA, KEEPS_MEAN
from credibly_studies.judging import Interval, below, holds, student_interval, told
from credibly_studies.outcomes import all_of
from credibly_studies.results import Claim, Outcome
from credibly_studies.simulate import HistogramWorld

Measured = tuple[float, Interval | None]

MODES = {
    "ideal": HistogramWorld(n_classes=3),
    "shared": HistogramWorld(agreement=4.0, n_classes=3),
    "overconfident": HistogramWorld(exponent=0.5, n_classes=3),
    "overconfident, shared": HistogramWorld(exponent=0.5, agreement=4.0, n_classes=3),
    "underconfident, shared": HistogramWorld(exponent=2.0, agreement=4.0, n_classes=3),
}
"""Is the mean right? Do raters of one instance share something that the prediction does not know?"""

FREE = "temperature+alpha, free"
METHODS = ("raw", "alpha", "temperature", "temperature+alpha", FREE)
"""The last leaves the penalty on log alpha0 out, all but a millionth."""

WIDE = 0.1
"""Half width of an interval from which on it holds too much to tell."""

SHARED = tuple(name for name, world in MODES.items() if world.agreement is not None)


@dataclasses.dataclass(frozen=True)
class Outcomes:
    """What the methods give on one data set: arrays over methods.

    Attributes
    ----------
    error, loss, probability_loss, gain : ndarray (methods,)
        Root of the true squared error of the predicted disagreement, its estimated calibration loss, the true
        squared error of the mean prediction, and what one rater's label takes off the loss.
    alpha0 : ndarray (methods,)
        Concentration found; NaN where none was fitted.
    """

    error: HostArray
    loss: HostArray
    probability_loss: HostArray
    gain: HostArray
    alpha0: HostArray


def true_alpha0(mode: str) -> float:
    """Return the concentration that raters share."""
    agreement = MODES[mode].agreement
    return math.inf if agreement is None else agreement


def over_repetitions(values: HostArray) -> Measured:
    """Return the mean over data sets with its interval (Student's)."""
    return float(values.mean()), student_interval(values)


def _change(outcomes: list[Outcomes], name: str, method: str, other: str) -> Measured:
    values = np.array(
        [
            getattr(outcome, name)[METHODS.index(method)] - getattr(outcome, name)[METHODS.index(other)]
            for outcome in outcomes
        ]
    )
    return over_repetitions(values)


def _listed(measured_by: dict[str, Measured]) -> str:
    return "; ".join(f"{mode} {told(*value)}" for mode, value in measured_by.items())


def _holds_value(ends: Interval | None, value: float) -> Outcome:
    """Judge "it is this value": not if the interval excludes it, unknown if it is wide."""
    if ends is None or (ends[0] <= value <= ends[1] and ends[1] - ends[0] > 2 * WIDE):
        return "cannot tell"
    return "confirmed" if ends[0] <= value <= ends[1] else "not confirmed"


def mode_claims(by_mode: dict[str, list[Outcomes]]) -> list[Claim]:
    """Judge where alpha-calibration helps, and where it cannot."""
    alone = {mode: _change(outcomes, "error", "alpha", "raw") for mode, outcomes in by_mode.items()}
    after = {
        mode: _change(outcomes, "error", "temperature+alpha", "temperature")
        for mode, outcomes in by_mode.items()
    }
    means = {
        mode: _change(outcomes, "probability_loss", "alpha", "raw") for mode, outcomes in by_mode.items()
    }
    alphas, free = (
        {mode: np.array([one.alpha0[METHODS.index(method)] for one in by_mode[mode]]) for mode in SHARED}
        for method in ("temperature+alpha", FREE)
    )
    calibrated = [mode for mode in SHARED if MODES[mode].exponent == 1]
    found_alpha = {mode: over_repetitions(np.log(alpha)) for mode, alpha in alphas.items()}
    return [
        Claim(
            *ALPHA,
            "",
            "worlds whose mean is calibrated and whose raters share something: change of the true error "
            f"of the predicted disagreement {_listed({mode: alone[mode] for mode in calibrated})}",
            all_of(*(below(alone[mode][1]) for mode in calibrated)),
        ),
        Claim(
            *KEEPS_MEAN,
            "",
            "worlds of known truth: largest change of the mean's error "
            f"{shown(max(abs(mean[0]) for mean in means.values()))}",
            holds(abs(mean[0]) < 1e-9 for mean in means.values()),
        ),
        Claim(
            "D21 Sec. 5.3",
            "after temperature scaling, alpha-calibration helps wherever raters share something",
            "",
            f"change of the error: {_listed({mode: after[mode] for mode in SHARED})}",
            all_of(*(below(after[mode][1]) for mode in SHARED)),
            further=True,
        ),
        Claim(
            "D21 App. D.2",
            "it finds the concentration that raters share, temperature first",
            "",
            "; ".join(
                f"{mode} ln alpha0 {told(*one)}, true {shown(math.log(true_alpha0(mode)))}"
                for mode, one in found_alpha.items()
            ),
            all_of(
                *(_holds_value(ends, math.log(true_alpha0(mode))) for mode, (_, ends) in found_alpha.items())
            ),
            "the penalty on log alpha0 pulls it towards 1; without it the medians are "
            + ", ".join(shown(float(np.median(found))) for found in free.values())
            + f", true {shown(true_alpha0(SHARED[0]))}",
            further=True,
        ),
    ]
