"""D21 Fig. 1: plug-in and debiased losses against the truth, over numbers of instances and raters."""

from __future__ import annotations

import dataclasses
import itertools
from typing import Any

import numpy as np

from credibly._arrays.namespace import HostArray
from credibly.evaluation import shown
from credibly.predictions import Point
from credibly.raters import decompose_loss
from credibly.simulate import HistogramWorld
from credibly_studies.judging import Interval, above, below, denied, normal_interval, told
from credibly_studies.outcomes import all_of
from credibly_studies.pictures import IntervalsDisplay
from credibly_studies.results import Cell, Claim, Findings, Outcome, StudyTable, drawn
from credibly_studies.study import Run, Study

MODELS = {
    "ideal": HistogramWorld(),
    "dispersed": HistogramWorld(agreement=4.0),
    "overconfident": HistogramWorld(exponent=0.5, agreement=4.0),
}
"""Calibrated and sure; calibrated, but blind to what instances differ in; neither."""

TERMS = ("EL, plug-in", "EL, unbiased", "CL, plug-in", "CL, debiased as in D21", "CL, debiased by pairs")
N_BINS = 15
"""As in D21."""


@dataclasses.dataclass(frozen=True)
class DebiasingSize:
    """How large the study is.

    Parameters
    ----------
    instances : tuple of int
        Instances per data set.
    raters : tuple of int
        Raters per instance.
    repetitions : int
        Data sets per cell.
    population : int
        Instances that stand for all where the truth is computed.
    """

    instances: tuple[int, ...]
    raters: tuple[int, ...]
    repetitions: int
    population: int


@dataclasses.dataclass(frozen=True)
class Drawn:
    """One world with so many instances and raters, and where its random numbers are."""

    model: str
    n: int
    raters: int
    repetitions: int
    seed: tuple[int, ...]
    epistemic: float
    calibration: float


def true_losses(world: HistogramWorld, n: int, rng: np.random.Generator) -> tuple[float, float]:
    """Return epistemic loss, and the calibration loss that bins show, of a world.

    In a bin the mean gap counts; what cancels inside of it no estimate can see.
    """
    sample = world.draw(n, rng=rng)
    assert isinstance(sample.predictions, Point)
    predicted, given = sample.predictions.probs, sample.given_instance
    calibration = 0.0
    for z, c in zip(predicted.T, given.T, strict=True):
        bins = np.minimum((z * N_BINS).astype(int), N_BINS - 1)
        count, gap = np.bincount(bins), np.bincount(bins, c - z)
        calibration += float((gap[count > 0] ** 2 / count[count > 0]).sum()) / n
    return world.losses(sample)["epistemic"], calibration


def errors(cell: Drawn) -> HostArray:
    """Return estimate minus truth of every data set and term, (repetitions, terms)."""
    world = dataclasses.replace(MODELS[cell.model], n_raters=cell.raters)
    found = np.empty((cell.repetitions, len(TERMS)))
    for repetition in range(cell.repetitions):
        sample = world.draw(cell.n, rng=np.random.default_rng([*cell.seed, repetition]))
        own = decompose_loss(sample.predictions, sample.labels, n_bins=N_BINS)
        printed = decompose_loss(sample.predictions, sample.labels, n_bins=N_BINS, debias="paper")
        plugin = own.plugin
        losses = [plugin.epistemic, own.epistemic, plugin.calibration, printed.calibration, own.calibration]
        targets = [cell.epistemic] * 2 + [cell.calibration] * 3
        found[repetition] = [one.value - target for one, target in zip(losses, targets, strict=True)]
    return found


def work(size: DebiasingSize, run: Run) -> Findings:
    """Draw data sets in every cell and compare estimates with the truth."""
    truths = {
        model: true_losses(world, size.population, run.generator(place))
        for place, (model, world) in enumerate(MODELS.items())
    }
    cells = [
        Drawn(model, n, raters, size.repetitions, (*run.seed, 100 + place), *truths[model])
        for place, (model, n, raters) in enumerate(itertools.product(MODELS, size.instances, size.raters))
    ]
    found = dict(zip(cells, run.map(errors, cells), strict=True))
    # all intervals hold jointly: their number is divided out
    level = 1 - 0.05 / (len(cells) * len(TERMS))
    bias = {
        (cell, term): _bias(values[:, place], level)
        for cell, values in found.items()
        for place, term in enumerate(TERMS)
    }
    rows: list[tuple[Cell, ...]] = []
    for cell, values in found.items():
        for place, term in enumerate(TERMS):
            value, ends = bias[cell, term]
            spread = float(np.sqrt((values[:, place] ** 2).mean()))
            rows.append((cell.model, cell.n, cell.raters, term, value, ends, spread))
    columns = (
        "model",
        "instances",
        "raters",
        "estimate",
        "bias",
        "bias, interval",
        "root mean squared error",
    )
    largest = max(size.instances)
    title = "Bias of the losses; intervals hold jointly at 95 % over all cells"
    brief = [row for row in rows if row[1] == largest]
    tables = (
        StudyTable("bias", f"{title}; {largest} instances", columns, brief),
        StudyTable("cells", title, columns, rows, on_page=False),
    )
    return Findings(tables, _claims(bias, found), {"bias": drawn(_picture(bias, largest))})


def _bias(values: HostArray, level: float) -> tuple[float, Interval]:
    mean = float(values.mean())
    return mean, normal_interval(mean, float(values.std(ddof=1)) / np.sqrt(len(values)), level)


def _picture(bias: dict[tuple[Drawn, str], tuple[float, Interval]], n: int) -> Any:
    series: dict[str, dict[str, tuple[float, Interval | None]]] = {term: {} for term in TERMS}
    for (cell, term), one in bias.items():
        if cell.n == n:
            series[term][f"{cell.model}, {cell.raters}"] = one
    return IntervalsDisplay(f"Bias by raters, n = {n}", "bias", series, zero=True)


def _claims(
    bias: dict[tuple[Drawn, str], tuple[float, Interval]], found: dict[Drawn, HostArray]
) -> list[Claim]:
    def each(term: str) -> dict[Drawn, tuple[float, Interval]]:
        return {cell: one for (cell, own), one in bias.items() if own == term}

    def worst(term: str) -> str:
        own = each(term)
        cell = max(own, key=lambda one: abs(own[one][0]))
        return f"largest bias {told(*own[cell])} ({cell.model}, {cell.n} instances, {cell.raters} raters)"

    nearer = {
        cell: abs(each("CL, debiased as in D21")[cell][0]) < abs(each("CL, plug-in")[cell][0])
        for cell in found
    }
    errors_of = {
        term: float(
            np.mean([np.sqrt((values[:, TERMS.index(term)] ** 2).mean()) for values in found.values()])
        )
        for term in TERMS
    }
    return [
        Claim(
            "D21 Fig. 1",
            "The plug-in epistemic loss is too large when raters are few",
            "not at hand",
            worst("EL, plug-in"),
            all_of(*(above(ends) for _, ends in each("EL, plug-in").values())),
        ),
        Claim(
            "D21 Fig. 1",
            "The debiased epistemic loss has no bias, from two raters on",
            "not at hand",
            worst("EL, unbiased"),
            unbiased([ends for _, ends in each("EL, unbiased").values()]),
        ),
        Claim(
            "D21 Fig. 1",
            "The plug-in calibration loss is too large",
            "not at hand",
            worst("CL, plug-in"),
            all_of(*(above(ends) for _, ends in each("CL, plug-in").values())),
        ),
        Claim(
            "D21 Fig. 1 and eq. 13",
            "The debiased calibration loss is nearer to the truth than the plug-in one",
            "not at hand",
            f"in {sum(nearer.values())} of {len(nearer)} cells; root mean squared errors "
            f"{shown(errors_of['CL, debiased as in D21'])} and {shown(errors_of['CL, plug-in'])} on average",
            "confirmed" if all(nearer.values()) else "not confirmed",
            ""
            if all(nearer.values())
            else "Eq. 13 takes the spread of predictions inside a bin for noise and subtracts it too.",
        ),
        Claim(
            "D21 eq. 13",
            "The debiased calibration loss of eq. 13 has no bias of its own",
            "not at hand",
            f"below the mean over pairs of rows by up to {shown(_below_pairs(found))}",
            denied(all_of(*(below(_against_pairs(values)) for values in found.values()))),
            "Eq. 13 subtracts the spread of the predictions inside a bin as well; the mean over pairs of "
            f"rows does not. With {N_BINS} bins that is little.",
        ),
    ]


def unbiased(intervals: list[Interval]) -> Outcome:
    """Judge "there is no bias" by joint intervals: one that excludes 0 is enough against it."""
    return "not confirmed" if any(low > 0 or high < 0 for low, high in intervals) else "confirmed"


def _against_pairs(values: HostArray) -> Interval:
    difference = (
        values[:, TERMS.index("CL, debiased as in D21")] - values[:, TERMS.index("CL, debiased by pairs")]
    )
    return _bias(difference, 0.999)[1]


def _below_pairs(found: dict[Drawn, HostArray]) -> float:
    first, second = TERMS.index("CL, debiased as in D21"), TERMS.index("CL, debiased by pairs")
    return max(float((values[:, second] - values[:, first]).mean()) for values in found.values())


FIG1 = Study(
    name="d21-fig1",
    title="Plug-in and debiased losses against the truth: three models, instances, raters",
    reference="D21 Fig. 1",
    small=DebiasingSize((100, 300), (2, 5), 15, 20_000),
    full=DebiasingSize((100, 300, 1000), (2, 3, 5, 10), 300, 1_000_000),
    work=work,
)
