"""D21 Fig. 1: plug-in and debiased losses against the truth, over numbers of instances and raters.

As printed (section 3.4, App. B): two classes, q uniform on [0, 1], a predictor that knows q, so that CL and
DL are 0; 100 to 10 000 instances, 2 or 5 raters, 15 bins of equal width, ten runs, 90 % intervals of their
mean. By design the plug-in estimates are, summed over both classes, CL = 5 / (n N) and DL = 1 / (3 n) - CL:
2.5 / N and 1 / 6 with two raters, 1 / N and 1 / 15 with five. Two more models, whose losses are not 0, go
beyond the paper.
"""

from __future__ import annotations

import dataclasses
import itertools
from typing import Any

import numpy as np

from credibly._arrays.namespace import HostArray
from credibly.evaluation import shown
from credibly.predictions import LabelCounts, Point
from credibly.raters import decompose_loss
from credibly_studies import d21
from credibly_studies.judging import Interval, holds, student_interval, told
from credibly_studies.outcomes import Share, near
from credibly_studies.pictures import intervals_picture
from credibly_studies.results import Cell, Claim, Findings, StudyTable, drawn
from credibly_studies.simulate import HistogramWorld
from credibly_studies.study import Run, Study

MODELS = {
    "ideal": HistogramWorld(),
    "dispersed": HistogramWorld(agreement=4.0),
    "overconfident": HistogramWorld(exponent=0.5, agreement=4.0),
}
"""Calibrated and sure; calibrated, but blind to what instances differ in; neither."""

PRINTED_MODEL = "ideal"
"""The model of the paper's figure."""

TERMS = (
    "L, unbiased",
    "EL, plug-in",
    "EL, unbiased",
    "CL, plug-in",
    "CL, debiased as in D21",
    "CL, debiased by pairs",
    "DL, plug-in",
    "DL, debiased as in D21",
)
LEVEL = 0.9
"""Of the intervals, as in D21."""

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
    expected: float


def true_losses(world: HistogramWorld, n: int, rng: np.random.Generator) -> tuple[float, float, float]:
    """Return epistemic loss, the calibration loss that bins show, and the expected loss of a world.

    In a bin the mean gap counts; what cancels inside of it no estimate can see.
    """
    sample = world.draw(n, rng=rng)
    assert isinstance(sample.predictions, Point)
    predicted, truth = sample.predictions.probs, sample.given_instance
    losses = world.losses(sample)
    return (
        losses["epistemic"],
        binned_loss(predicted, truth, N_BINS),
        losses["epistemic"] + losses["irreducible"],
    )


def binned_loss(predicted: HostArray, truth: HostArray, n_bins: int) -> float:
    """Return the calibration loss that so many bins of equal width show, (n, k) and (n, k)."""
    total = 0.0
    for z, c in zip(predicted.T, truth.T, strict=True):
        bins = np.minimum((z * n_bins).astype(int), n_bins - 1)
        count, gap = np.bincount(bins), np.bincount(bins, c - z)
        total += float((gap[count > 0] ** 2 / count[count > 0]).sum()) / len(z)
    return total


def errors(cell: Drawn) -> HostArray:
    """Return estimate minus truth of every data set and term, (repetitions, terms)."""
    world = dataclasses.replace(MODELS[cell.model], n_raters=cell.raters)
    table = np.empty((cell.repetitions, len(TERMS)))
    for repetition in range(cell.repetitions):
        sample = world.draw(cell.n, rng=np.random.default_rng([*cell.seed, repetition]))
        decomposition = decompose_loss(sample.predictions, sample.labels, n_bins=N_BINS)
        printed = d21.decompose_loss(sample.predictions, sample.labels, n_bins=N_BINS)
        plugin = decomposition.plugin
        losses = [
            decomposition.expected,
            plugin.epistemic,
            decomposition.epistemic,
            plugin.calibration,
            printed.calibration,
            decomposition.calibration,
            plugin.dispersion,
            printed.dispersion,
        ]
        dispersion = cell.epistemic - cell.calibration
        targets = [cell.expected] + [cell.epistemic] * 2 + [cell.calibration] * 3 + [dispersion] * 2
        table[repetition] = [loss.value - target for loss, target in zip(losses, targets, strict=True)]
    return table


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
    by_cell = dict(zip(cells, run.map(errors, cells), strict=True))
    bias = {
        (cell, term): _bias(values[:, place], LEVEL)
        for cell, values in by_cell.items()
        for place, term in enumerate(TERMS)
    }
    rows: list[tuple[Cell, ...]] = []
    for cell, values in by_cell.items():
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
    title = "Bias of the losses with 90 % intervals of the mean over runs"
    brief = [row for row in rows if row[0] == PRINTED_MODEL]
    tables = (
        StudyTable("bias", f"{title}; the paper's predictor", columns, brief),
        StudyTable("cells", title, columns, rows, on_page=False),
    )
    drawings = {"bias": drawn(_picture(bias, largest)), **_panels(bias)}
    claims = [*_claims(bias), *_propositions(size, run)]
    return Findings(tables, claims, drawings)


def _bias(values: HostArray, level: float) -> tuple[float, Interval]:
    mean = float(values.mean())
    ends = student_interval(values, level)
    assert ends is not None
    return mean, ends


def _picture(bias: dict[tuple[Drawn, str], tuple[float, Interval]], n: int) -> Any:
    series: dict[str, dict[str, tuple[float, Interval | None]]] = {term: {} for term in TERMS}
    for (cell, term), one in bias.items():
        if cell.n == n:
            series[term][f"{cell.model}, {cell.raters}"] = one
    return intervals_picture(f"Bias by raters, n = {n}", "bias", series, zero=True)


def _panels(bias: dict[tuple[Drawn, str], tuple[float, Interval]]) -> dict[str, Any]:
    """Return both panels of the figure: CL and DL of the paper's predictor over instances."""
    panels = {}
    for name in ("CL", "DL"):
        series: dict[str, dict[str, tuple[float, Interval | None]]] = {}
        for (cell, term), one in bias.items():
            if cell.model == PRINTED_MODEL and term.startswith(name) and "pairs" not in term:
                series.setdefault(f"{term}, {cell.raters} raters", {})[str(cell.n)] = one
        panels[f"panel-{name.lower()}"] = drawn(
            intervals_picture(f"{name} by instances", name, series, zero=True)
        )
    return panels


def _claims(bias: dict[tuple[Drawn, str], tuple[float, Interval]]) -> list[Claim]:
    def each(term: str) -> dict[Drawn, tuple[float, Interval]]:
        return {cell: one for (cell, own), one in bias.items() if own == term and cell.model == PRINTED_MODEL}

    place = "D21 Sec. 3.4, Fig. 1"
    claims = []
    for panel, name in (("a", "CL"), ("b", "DL")):
        plain, own = each(f"{name}, plug-in"), each(f"{name}, debiased as in D21")
        nearer = [abs(own[cell][0]) < abs(plain[cell][0]) for cell in plain]
        inside = [low <= 0 <= high for _, (low, high) in own.values()]
        claims.append(
            Claim(
                f"{place}{panel}",
                f"the debiased {name} is closer to 0 than the plug-in one, even with two raters",
                "drawn",
                f"in {sum(nearer)} of {len(nearer)} cells; 0 is in {sum(inside)} of {len(inside)} of its "
                f"intervals, largest bias {told(*max(own.values(), key=lambda one: abs(one[0])))}",
                holds(nearer),
                "what is left is the error of EL, which has the same in its unbiased version"
                if not all(inside)
                else "",
            )
        )
    few = min(cell.n for cell in each("CL, plug-in"))
    many = max(cell.n for cell in each("CL, plug-in"))

    def ratios(term: str) -> dict[int, float]:
        own = {(cell.n, cell.raters): value for cell, (value, _) in each(term).items()}
        return {raters: own[many, raters] / own[few, raters] for n, raters in own if n == few}

    calibration, dispersion = ratios("CL, plug-in"), ratios("DL, plug-in")
    shown_ratios = ", ".join(f"{raters} raters {shown(one)}" for raters, one in calibration.items())
    claims += [
        Claim(
            f"{place}a, App. B",
            "the bias of the plug-in CL falls as instances grow",
            "drawn",
            f"{many} over {few} instances: {shown_ratios}; by design {shown(few / many)}",
            holds(one < 2 * few / many for one in calibration.values()),
        ),
        Claim(
            f"{place}b, App. B, eq. 35",
            "the bias of the plug-in DL stays",
            "drawn",
            f"{many} over {few} instances: "
            + ", ".join(f"{raters} raters {shown(one)}" for raters, one in dispersion.items()),
            holds(0.8 < one < 1.3 for one in dispersion.values()),
        ),
        _unbiased(
            "D21 Prop. 1, eq. 7",
            "the estimator of the expected squared loss is unbiased",
            each("L, unbiased"),
        ),
        _unbiased("D21 Prop. 2, eq. 9", "the estimator of EL is unbiased", each("EL, unbiased")),
        Claim(
            "D21 Sec. 3.1, eq. 8",
            "the plug-in estimator of EL is severely biased",
            "stated",
            "largest bias " + told(*max(each("EL, plug-in").values(), key=lambda one: abs(one[0]))),
            holds(ends[0] > 0.01 for _, ends in each("EL, plug-in").values()),
        ),
        _unbiased("D21 Prop. 3, eq. 13", "the estimator of CL is debiased", each("CL, debiased as in D21")),
    ]
    return claims


def _unbiased(place: str, statement: str, cells: dict[Drawn, tuple[float, Interval]]) -> Claim:
    """Judge "unbiased" by how many 90 % intervals hold 0: nine of ten are expected to."""
    inside = Share(sum(low <= 0 <= high for _, (low, high) in cells.values()), len(cells), "cells")
    return Claim(
        place,
        statement,
        "proved",
        f"0 is in the 90 % interval of {inside.count} of {inside.total} cells; largest bias "
        f"{told(*max(cells.values(), key=lambda one: abs(one[0])))}",
        near(inside, LEVEL),
    )


COARSE = (1, 2, 5, 15, 50, 200)


def _propositions(size: DebiasingSize, run: Run) -> list[Claim]:
    """Judge what the text says about dispersion, coarse bins and weights, in worlds of known truth."""
    least = []
    for place, world in enumerate(MODELS.values()):
        sample = world.draw(size.population // 10, rng=run.generator(50 + place))
        assert isinstance(sample.predictions, Point) and sample.truth.probs is not None
        least.append(_least_dispersion(sample.predictions.probs, sample.truth.probs))
    world = MODELS["overconfident"]
    sample = world.draw(size.population // 10, rng=run.generator(60))
    assert isinstance(sample.predictions, Point)
    shown_by = {
        count: binned_loss(sample.predictions.probs, sample.given_instance, count) for count in COARSE
    }
    true = world.losses(sample)["calibration"]
    return [
        Claim(
            "D21 Prop. 4, eq. 15",
            "the dispersion loss of every bin is not negative",
            "proved",
            f"smallest of three worlds, {N_BINS} bins and two classes: {shown(min(least))}",
            holds(least_value >= 0 for least_value in least),
        ),
        Claim(
            "D21 Sec. 3.3",
            "coarse bins underestimate the calibration loss",
            "known",
            "an overconfident model: "
            + ", ".join(f"{count} bins {shown(one)}" for count, one in shown_by.items())
            + f"; true {shown(true)}",
            holds(
                [
                    *(shown_by[one] < shown_by[other] for one, other in itertools.pairwise(COARSE)),
                    shown_by[COARSE[-1]] <= true,
                ]
            ),
            design="another",
        ),
        _equal_weights(run),
    ]


def _least_dispersion(predicted: HostArray, truth: HostArray) -> float:
    """Return the smallest EL - CL of a bin and class, a mean over all instances."""
    least = np.inf
    for z, q in zip(predicted.T, truth.T, strict=True):
        bins = np.minimum((z * N_BINS).astype(int), N_BINS - 1)
        for place in range(N_BINS):
            gap = (q - z)[bins == place]
            least = min(least, float((gap**2).sum() - gap.size * gap.mean() ** 2) / len(z))
    return least


def _equal_weights(run: Run, data_sets: int = 400, choices: int = 20) -> Claim:
    """Compare the variance of the estimated loss with equal and with random weights of instances."""
    generator, world = run.generator(70), MODELS["dispersed"]
    losses = []
    for _ in range(data_sets):
        sample = world.draw(100, rng=generator)
        assert isinstance(sample.predictions, Point) and isinstance(sample.labels, LabelCounts)
        counts = np.asarray(sample.labels.counts)
        share = counts / counts.sum(axis=1, keepdims=True)
        losses.append(((share - sample.predictions.probs) ** 2 + share * (1 - share)).sum(axis=1))
    values = np.stack(losses)
    equal = float(values.mean(axis=1).var(ddof=1))
    weights = generator.random((choices, values.shape[1]))
    others = [float((values @ weight / weight.sum()).var(ddof=1)) for weight in weights]
    return Claim(
        "D21 Sec. 3.1, App. B.1",
        "with equally many raters, equal weights of the instances have the least variance",
        "derived",
        f"variance {shown(equal)} with equal, {shown(min(others))} to {shown(max(others))} with "
        f"{choices} random "
        "weights",
        holds(equal < other for other in others),
        design="another",
    )


FIG1 = Study(
    name="d21-fig1",
    title="Plug-in and debiased losses against the truth: three models, instances, raters",
    reference="D21 Sec. 3.4, App. B, Fig. 1",
    small=DebiasingSize((100, 1000), (2, 5), 10, 20_000),
    full=DebiasingSize((100, 300, 1000, 3000, 10_000), (2, 5), 10, 1_000_000),
    work=work,
    design="as printed",
)
