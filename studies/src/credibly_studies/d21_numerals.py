"""D21 Fig. 3: can the spread of a prediction tell epistemic from aleatoric numerals that have equal means?

Labels of an image of the numeral t are Bernoulli(q), and q is drawn once per image (eq. 52, lambda = 20):

    q = t                                          t in {0, 1}       high confidence
    q ~ Beta(.2 (t - 1) / lambda, ...)             t in {2, ..., 5}  epistemic: q is near 0 or near 1
    q ~ Beta(.2 (t - 5) lambda, ...)               t in {6, ..., 9}  aleatoric: q is near its mean

A network sees one label per image and learns the means. What of the variance of a label is between images,
var(q) / (mean (1 - mean)) = 1 / (alpha0 + 1), is .952 for epistemic and .048 for aleatoric numerals; a single
network says 0, dropout says what its passes differ by, alpha-calibration what it learned from a few raters.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from credibly._arrays.namespace import HostArray, to_host
from credibly.predictions import LabelCounts, Point
from credibly.recalibrate import AlphaCalibration
from credibly_studies.d21_mode_claims import over_repetitions
from credibly_studies.descent import Layers
from credibly_studies.judging import Interval, above, below, holds, told
from credibly_studies.networks import mnist
from credibly_studies.outcomes import all_of
from credibly_studies.perceptrons import Training, fit_perceptrons, masks, outputs_of, repeated
from credibly_studies.pictures import intervals_picture
from credibly_studies.results import Cell, Claim, Findings, StudyTable, drawn
from credibly_studies.study import Run, Study

CONCENTRATION = 20.0
"""lambda of eq. 52."""

EPISTEMIC, ALEATORIC = (2, 3, 4, 5), (6, 7, 8, 9)
TRUE = {"epistemic": 1 / (1 / CONCENTRATION + 1), "aleatoric": 1 / (CONCENTRATION + 1)}
"""Share of a label's variance that is between images."""

PASSES = 20
LAYERS = {"first hidden layer": 1, "last hidden layer": 2}
"""Where the features of alpha0 come from: far from the output, and just before it."""

EDGE = 1e-6


@dataclasses.dataclass(frozen=True)
class NumeralsSize:
    """How large the study is.

    Parameters
    ----------
    fit, validate : int
        Images to train on and to calibrate on; the rest of 5000 are tested.
    raters : tuple of int
        Labels per image to calibrate on.
    hidden : tuple of int
        Units of the two hidden layers.
    steps : int
        Steps of the training.
    repetitions : int
        Splits, labels and networks.
    """

    fit: int
    validate: int
    raters: tuple[int, ...]
    hidden: tuple[int, int]
    steps: int
    repetitions: int


@dataclasses.dataclass(frozen=True)
class Task:
    """One network, and where its random numbers are."""

    size: NumeralsSize
    seed: tuple[int, ...]


def rates(numerals: HostArray, generator: np.random.Generator) -> HostArray:
    """Return q of every image (n,), eq. 52; Beta(0, .) of the numerals 0 and 1 is a point."""
    mean = np.where(numerals > 5, 0.2 * (numerals - 5), 0.2 * (numerals - 1))
    scale = np.where(numerals > 5, CONCENTRATION, 1 / CONCENTRATION)
    sure = numerals < 2
    mean = np.where(sure, 0.5, mean)
    drawn_rates = generator.beta(mean * scale, (1 - mean) * scale)
    return np.where(sure, numerals, drawn_rates)


def two_class_loss(outputs: Any, targets: Any) -> Any:
    """Return the log loss of labels 0 and 1 given one logit (m, b, 1)."""
    import torch

    return torch.nn.functional.binary_cross_entropy_with_logits(outputs[..., 0], targets, reduction="none")


def features_of(layers: Layers, pixels: HostArray, depth: int) -> HostArray:
    """Return the units of a hidden layer of the first network, (n, units)."""
    return np.asarray(np.maximum(outputs_of(layers[:depth], pixels)[0], 0.0))


def distributions(logits: HostArray) -> Point:
    """Return both classes' probabilities (n, 2) of one logit."""
    positive = np.clip(1 / (1 + np.exp(-logits)), EDGE, 1 - EDGE)
    return Point(np.stack([1 - positive, positive], axis=1))


def run_task(task: Task) -> dict[str, dict[str, float]]:
    """Return the share that every method gives epistemic and aleatoric images, by method."""
    size, generator = task.size, np.random.default_rng(task.seed)
    pixels, numerals = mnist()
    order = generator.permutation(len(pixels))
    fit, validation, test = np.split(order, [size.fit, size.fit + size.validate])
    q = rates(numerals, generator)
    training = Training(hidden=size.hidden, steps=size.steps, batch=128, learning_rate=1e-3, dropout=0.5)
    labels = (generator.random(len(fit)) < q[fit]).astype(np.float32)
    layers = fit_perceptrons(
        pixels[None, fit],
        labels[None],
        members=1,
        outputs=1,
        loss=two_class_loss,
        training=training,
        generator=generator,
    )
    mean = {name: distributions(outputs_of(layers, pixels[rows])[0, :, 0]) for name, rows in
            (("held", validation), ("test", test))}  # fmt: skip
    shares = {"one network": _by_group(numerals[test], np.zeros(len(test)))}
    shares["one network"]["mean"] = _mean_gap(numerals[test], to_host(mean["test"].probs)[:, 1])
    passes = outputs_of(
        repeated(layers, PASSES), pixels[test], masks(repeated(layers, PASSES), 0.5, generator)
    )
    spread = 1 / (1 + np.exp(-passes[..., 0]))
    centre = spread.mean(axis=0)
    shares[f"dropout, {PASSES} passes"] = _by_group(
        numerals[test], spread.var(axis=0) / (centre * (1 - centre))
    )
    for raters in size.raters:
        positive = generator.binomial(raters, q[validation])
        counts = LabelCounts(np.stack([raters - positive, positive], axis=1))
        for name, depth in LAYERS.items():
            calibration = AlphaCalibration(head="linear")
            calibration.fit(mean["held"], counts, features=features_of(layers, pixels[validation], depth))
            alpha0 = to_host(
                calibration.alpha0(mean["test"], features=features_of(layers, pixels[test], depth))
            )
            shares[f"alpha, {raters} raters, {name}"] = _by_group(numerals[test], 1 / (alpha0 + 1))
    return shares


def _by_group(numerals: HostArray, shares: HostArray) -> dict[str, float]:
    return {
        name: float(shares[np.isin(numerals, group)].mean())
        for name, group in (("epistemic", EPISTEMIC), ("aleatoric", ALEATORIC))
    }


def _mean_gap(numerals: HostArray, positive: HostArray) -> float:
    """Return the largest difference of a numeral's mean prediction from its true mean."""
    true = {0: 0.0, 1: 1.0, **{t: 0.2 * (t - 1) for t in EPISTEMIC}, **{t: 0.2 * (t - 5) for t in ALEATORIC}}
    return max(abs(float(positive[numerals == t].mean()) - value) for t, value in true.items())


Shares = dict[str, dict[str, HostArray]]
"""Shares over repetitions, by method and group."""


def work(size: NumeralsSize, run: Run) -> Findings:
    """Train networks, calibrate their spread, and compare it with the truth."""
    done = run.map(run_task, [Task(size, (*run.seed, repetition)) for repetition in range(size.repetitions)])
    shares: Shares = {
        method: {group: np.array([outcome[method][group] for outcome in done]) for group in TRUE}
        for method in done[0]
    }
    gaps = over_repetitions(np.array([outcome["one network"]["mean"] for outcome in done]))
    rows: list[tuple[Cell, ...]] = []
    for method, of_method in shares.items():
        cells = [over_repetitions(of_method[group]) for group in TRUE]
        rows.append((method, *cells[0], *cells[1], _error(of_method)))
    rows.append(("truth", TRUE["epistemic"], None, TRUE["aleatoric"], None, 0.0))
    columns = (
        "method",
        "epistemic",
        "interval",
        "aleatoric",
        "aleatoric, interval",
        "mean distance to the truth",
    )
    table = StudyTable("shares", "Share of a label's variance that is between images", columns, rows)
    series = {
        group: {method: over_repetitions(of_method[group]) for method, of_method in shares.items()}
        for group in TRUE
    }
    picture = intervals_picture("Share between images", "1 / (alpha0 + 1)", series)
    return Findings((table,), _claims(shares, gaps, size), {"shares": drawn(picture)})


def _error(shares: dict[str, HostArray]) -> float:
    return float(np.mean([np.abs(shares[group] - true).mean() for group, true in TRUE.items()]))


def _apart(shares: dict[str, HostArray]) -> tuple[float, Interval | None]:
    return over_repetitions(shares["epistemic"] - shares["aleatoric"])


def _claims(shares: Shares, gaps: tuple[float, Interval | None], size: NumeralsSize) -> list[Claim]:
    alpha = {name: share for name, share in shares.items() if name.startswith("alpha")}
    few, many = min(size.raters), max(size.raters)
    dropout = next(share for name, share in shares.items() if name.startswith("dropout"))
    nearer = {
        layer: over_repetitions(
            np.abs(shares[f"alpha, {many} raters, {layer}"]["aleatoric"] - TRUE["aleatoric"])
            - np.abs(shares[f"alpha, {few} raters, {layer}"]["aleatoric"] - TRUE["aleatoric"])
        )
        for layer in LAYERS
    }
    first, last = LAYERS
    deeper = {
        raters: over_repetitions(
            np.sum(
                [
                    np.abs(shares[f"alpha, {raters} raters, {first}"][group] - true)
                    - np.abs(shares[f"alpha, {raters} raters, {last}"][group] - true)
                    for group, true in TRUE.items()
                ],
                axis=0,
            )
        )
        for raters in size.raters
    }
    true = TRUE["epistemic"] - TRUE["aleatoric"]
    place = "D21 App. E.2, Fig. 3"
    raw = next(share for name, share in shares.items() if name == "one network")
    closest = _closest(shares, size)
    return [
        Claim(
            place,
            "the mean prediction of a single network matches the truth for each numeral",
            "drawn",
            f"largest difference of a numeral {told(*gaps)}",
            "confirmed" if below(gaps[1], _MATCH) == "confirmed" else "cannot tell",
            "5000 images, a tenth of the paper's, cannot deny it",
        ),
        Claim(
            place,
            "raw predictions do not tell epistemic from aleatoric numerals",
            "drawn",
            f"difference of the shares {told(*_apart(raw))}, true {true:.2f}",
            holds([_apart(raw)[0] == 0]),
            "exact: a point has no spread",
        ),
        Claim(
            place,
            "dropout does not tell epistemic from aleatoric numerals",
            "drawn",
            f"difference of the shares {told(*_apart(dropout))}, true {true:.2f}",
            below(_apart(dropout)[1], 0.1),
        ),
        Claim(
            place,
            "alpha-calibration tells them apart",
            "drawn",
            "; ".join(f"{name} {told(*_apart(own))}" for name, own in alpha.items()) + f"; true {true:.2f}",
            all_of(*(above(_apart(own)[1]) for own in alpha.values())),
        ),
        Claim(
            place,
            "a feature layer further from the output comes much nearer to the truth",
            "the last convolutional layer against the last dropout layer",
            "change of the distance, first minus last hidden layer: "
            + "; ".join(f"{raters} raters {told(*one)}" for raters, one in deeper.items()),
            all_of(*(below(ends) for _, ends in deeper.values())),
            "equal means share what the last layer keeps",
        ),
        Claim(
            place,
            f"with {many} raters aleatoric numerals come nearer to the truth than with {few}",
            "drawn",
            "change of the distance: " + "; ".join(f"{name} {told(*one)}" for name, one in nearer.items()),
            all_of(*(below(ends) for _, ends in nearer.values())),
        ),
        Claim(
            place,
            f"the far layer with {many} raters is closest to the truth of all",
            "drawn",
            "its distance minus that of "
            + "; ".join(f"{name} {told(*one)}" for name, one in closest.items()),
            all_of(*(below(ends) for _, ends in closest.values())),
        ),
    ]


_MATCH = 0.1
"""A mean within this of the truth matches it."""


def _closest(shares: Shares, size: NumeralsSize) -> dict[str, tuple[float, Interval | None]]:
    """Return how much further from the truth the far layer with most raters is than every other method."""

    def distance(own: dict[str, HostArray]) -> HostArray:
        return np.asarray(np.sum([np.abs(own[group] - true) for group, true in TRUE.items()], axis=0))

    best = f"alpha, {max(size.raters)} raters, {next(iter(LAYERS))}"
    return {
        name: over_repetitions(distance(shares[best]) - distance(share))
        for name, share in shares.items()
        if name != best
    }


FIG3 = Study(
    name="d21-fig3",
    title="Numerals with equal means: does the spread tell epistemic from aleatoric ones?",
    reference="D21 eq. 52, App. E, Fig. 3",
    small=NumeralsSize(3000, 1000, (2, 5), (64, 32), 200, 2),
    full=NumeralsSize(3000, 1000, (2, 5), (64, 32), 400, 32),
    work=work,
    design="smaller",
)
