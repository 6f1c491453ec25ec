"""alpha-calibration (D21 App. D.2) where it is known how raters differ, in five modes of uncertainty."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from credibly._arrays.namespace import HostArray, to_host
from credibly.plots import picture
from credibly.predictions import ClassPredictions, Dirichlet, LabelCounts, Point
from credibly.raters import decompose_disagreement
from credibly.recalibrate import AlphaCalibration, Recalibration, TemperatureScaling
from credibly_studies.d21_mode_claims import (
    FREE,
    METHODS,
    MODES,
    Outcomes,
    mode_claims,
    over_repetitions,
    true_alpha0,
)
from credibly_studies.d21_posterior import posterior_gain
from credibly_studies.pictures import intervals_picture
from credibly_studies.results import Cell, Findings, StudyTable, drawn
from credibly_studies.simulate import HistogramWorld
from credibly_studies.study import Run, Study

MADE: dict[str, Callable[[], Recalibration]] = {
    "alpha": AlphaCalibration,
    "temperature": TemperatureScaling,
    "temperature+alpha": lambda: TemperatureScaling().then(AlphaCalibration()),
    FREE: lambda: TemperatureScaling().then(AlphaCalibration(penalty=1e-6)),
}


@dataclasses.dataclass(frozen=True)
class ModesSize:
    """How large the study is.

    Parameters
    ----------
    n : int
        Instances to fit on, and as many to test on.
    raters : int
        Raters per instance.
    repetitions : int
        Data sets per mode.
    """

    n: int
    raters: int
    repetitions: int


@dataclasses.dataclass(frozen=True)
class Task:
    """One data set of one mode."""

    mode: str
    n: int
    raters: int
    seed: tuple[int, ...]


def predicted_disagreement(predictions: ClassPredictions) -> HostArray:
    """Return how probable it is that two raters disagree, per instance."""
    if isinstance(predictions, Dirichlet):
        alpha = to_host(predictions.alpha)
        total = alpha.sum(axis=1)
        return np.asarray(total / (total + 1) * (1 - ((alpha / total[:, None]) ** 2).sum(axis=1)))
    assert isinstance(predictions, Point)
    return np.asarray(1 - (to_host(predictions.probs) ** 2).sum(axis=1))


def true_disagreement(world: HistogramWorld, calibrated: HostArray) -> HostArray:
    """Return how probable it is given the prediction: raters share q ~ Dir(agreement c)."""
    share = 1.0 if world.agreement is None else world.agreement / (world.agreement + 1.0)
    return np.asarray(share * (1 - (calibrated**2).sum(axis=1)))


def fitted(method: str, predictions: Any, counts: LabelCounts, new: Any) -> tuple[Any, float]:
    """Return new predictions after a method fitted on others, and the concentration it found."""
    if method == "raw":
        return new, math.nan
    method_made = MADE[method]()
    moved = method_made.fit(predictions, counts).apply(new)
    last = method_made.parts[-1]
    if not isinstance(last, AlphaCalibration):
        return moved, math.nan
    assert last.parameters is not None
    return moved, float(np.exp(last.parameters[0]))


def drawn_twice(
    world: HistogramWorld, n: int, seed: tuple[int, ...]
) -> tuple[tuple[Point, LabelCounts], tuple[Point, LabelCounts, HostArray]]:
    """Return predictions and counts to fit on, and others to test on with the calibrated probabilities."""
    fit, new = (world.draw(n, rng=np.random.default_rng([*seed, part])) for part in range(2))
    assert isinstance(fit.predictions, Point) and isinstance(new.predictions, Point)
    assert isinstance(fit.labels, LabelCounts) and isinstance(new.labels, LabelCounts)
    return (fit.predictions, fit.labels), (new.predictions, new.labels, new.given_instance)


def run_task(task: Task) -> Outcomes:
    """Fit on one data set and measure on another of the same mode."""
    world = dataclasses.replace(MODES[task.mode], n_raters=task.raters)
    (predictions, counts), (new, raters, calibrated) = drawn_twice(world, task.n, task.seed)
    truth = true_disagreement(world, calibrated)
    outcomes = np.empty((5, len(METHODS)))
    for place, method in enumerate(METHODS):
        moved, alpha0 = fitted(method, predictions, counts, new)
        mean = to_host((moved.mean() if isinstance(moved, Dirichlet) else moved).probs)
        outcomes[:, place] = (
            math.sqrt(((predicted_disagreement(moved) - truth) ** 2).mean()),
            decompose_disagreement(moved, raters).calibration.value,
            ((mean - calibrated) ** 2).sum(axis=1).mean(),
            posterior_gain(moved, raters, rng=task.seed[-1]).mean(),
            alpha0,
        )
    return Outcomes(*outcomes)


def work(size: ModesSize, run: Run) -> Findings:
    """Run all modes and judge where alpha-calibration helps."""
    tasks = [
        Task(mode, size.n, size.raters, (*run.seed, place, repetition))
        for place, mode in enumerate(MODES)
        for repetition in range(size.repetitions)
    ]
    done = run.map(run_task, tasks)
    by_mode = {
        mode: [one for task, one in zip(tasks, done, strict=True) if task.mode == mode] for mode in MODES
    }
    rows: list[tuple[Cell, ...]] = []
    for mode, outcomes in by_mode.items():
        for place, method in enumerate(METHODS):
            cells: list[Cell] = []
            for name in ("error", "loss", "probability_loss", "gain"):
                value, ends = over_repetitions(
                    np.array([getattr(outcome, name)[place] for outcome in outcomes])
                )
                cells += [value, ends]
            found = float(np.median([outcome.alpha0[place] for outcome in outcomes]))
            with_alpha = "alpha" in method
            rows.append(
                (
                    mode,
                    method,
                    *cells,
                    found if with_alpha else None,
                    true_alpha0(mode) if with_alpha else None,
                )
            )
    columns = (
        "mode", "method", "true error of disagreement", "interval", "estimated calibration loss",
        "estimated, interval", "true squared error of the mean", "mean, interval",
        "gain by one rater's label", "gain, interval", "alpha0, median", "true alpha0",
    )  # fmt: skip
    title = "Predicted disagreement in five modes, means over data sets with 95 % intervals"
    table = StudyTable("modes", title, columns, rows)
    drawings = {"modes": drawn(_picture(by_mode)), "bins": drawn(_bins(size, run))}
    return Findings((table,), mode_claims(by_mode), drawings)


def _picture(by_mode: dict[str, list[Outcomes]]) -> Any:
    series = {
        method: {
            mode: over_repetitions(np.array([outcome.error[place] for outcome in outcomes]))
            for mode, outcomes in by_mode.items()
        }
        for place, method in enumerate(METHODS)
    }
    return intervals_picture("Error of disagreement", "root mean squared error", series)


def _bins(size: ModesSize, run: Run) -> Any:
    """Return predicted against observed disagreement before and after, raters sharing."""
    world = dataclasses.replace(MODES["overconfident, shared"], n_raters=size.raters)
    (predictions, counts), (new, raters, _) = drawn_twice(world, size.n, (*run.seed, len(MODES)))
    moved, _ = fitted("temperature+alpha", predictions, counts, new)
    return picture(decompose_disagreement(moved, raters))


MODES_STUDY = Study(
    name="d21-modes",
    title="alpha-calibration in five modes of uncertainty whose truth is known",
    reference="D21 App. D.2",
    small=ModesSize(500, 5, 4),
    full=ModesSize(2000, 5, 60),
    work=work,
    design="another",
)
