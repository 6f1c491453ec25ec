"""A third set of worlds, drawn when the first two were settled: models as people bring them.

Event scores that pile up near 0, a model trained on balanced classes, groups that differ in what is true of
them, files rounded to one or two decimals, one of many stores, spreads that a model does not see.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
from later import gamma
from worlds import (
    BIAS,
    BOTH,
    CURVE,
    GROUP_BIAS,
    GROUP_TEMPERATURE,
    NOISE,
    TEMPERATURE,
    Draw,
    Step,
    Truth,
    World,
    bias,
    bump,
    classes,
    flat,
    noise,
    normalised,
    only,
    order,
    rare,
    reals,
    same,
    student,
    temperature,
    then,
)

import credibly as cr


def fraud(rng: np.random.Generator, n: int, k: int) -> Any:
    """Return an event of 2 %: most rows near 0, a few likely."""
    likely = rng.random(n) < 0.03
    logit = np.where(likely, rng.normal(0.3, 1.2, n), rng.normal(-5.3, 0.9, n))
    return normalised(np.stack([np.zeros(n), logit], axis=1))


def churn(rng: np.random.Generator, n: int, k: int) -> Any:
    """Return an event of 15 % whose scores are skewed."""
    return normalised(np.stack([np.zeros(n), -3.0 + 0.9 * rng.gamma(1.5, 1.0, n)], axis=1))


def triage(rng: np.random.Generator, n: int, k: int) -> Any:
    """Return three classes, 70, 25 and 5 %, of which the last is hard to tell."""
    logits = np.stack([np.full(n, 1.6), 1.5 * rng.normal(size=n), -1.8 + 0.8 * rng.normal(size=n)], axis=1)
    return normalised(logits)


def sure(rng: np.random.Generator, n: int, k: int) -> Any:
    """Return classes that are nearly always clear."""
    return normalised(4.0 * rng.normal(size=(n, k)))


def sites(
    stated: Step, shape: Callable[[np.random.Generator, int, int], Any], k: int, number: int = 9
) -> Callable[[np.random.Generator, int], Draw]:
    """Return a world whose sites differ in what is true; "a" has 4 % of the rows and is stated wrongly."""

    def make(rng: np.random.Generator, n: int) -> Draw:
        share = np.append(0.04, np.full(number - 1, 0.96 / (number - 1)))
        names = np.array(["a", *(f"site {at}" for at in range(1, number))])
        group = rng.choice(names, n, p=share)
        logs = shape(rng, n, k)
        effects = np.random.default_rng(3).normal(0.0, 0.8, (number, k)) * (np.arange(number) > 0)[:, None]
        logs = normalised(logs + effects[np.argmax(group[:, None] == names, axis=1)])
        probs = np.exp(normalised(stated(logs, group)))
        truth = np.exp(logs)
        labels = np.minimum((rng.random(n)[:, None] > truth.cumsum(axis=1)).sum(axis=1), k - 1)
        return Draw(cr.Point(probs), labels, truth, {"site": group})

    return make


def unseen_spread(factor: float) -> Callable[[np.random.Generator, int], Draw]:
    """Return a world whose spread varies by `factor`, of which the model states the average."""
    shape = np.quantile(np.random.default_rng(5).normal(size=400_000), np.arange(1, 100) / 100)

    def make(rng: np.random.Generator, n: int) -> Draw:
        m, s = 2.0 * rng.normal(size=n), np.exp(factor * rng.normal(size=n))
        flat = np.full(n, np.exp(factor**2))
        return Draw(cr.Gaussian(m, flat), m + s * rng.normal(size=n), Truth(m, s, shape))

    return make


CLASSES = [
    World("calibrated k2 fraud", 6000, classes(2, shape=fraud)),
    World("calibrated k2 churn 4 groups", 1500, classes(2, shape=churn, share=0.05)),
    World("calibrated k3 triage", 900, classes(3, shape=triage)),
    World("calibrated k10 sure", 2000, classes(10, shape=sure)),
    World("calibrated 9 sites k2", 3000, sites(same, churn, 2)),
    World("calibrated 9 sites k3", 2500, sites(same, triage, 3)),
    World("calibrated k3 triage 5 raters", 500, classes(3, shape=triage, raters=5)),
    World("calibrated 1 decimal k3", 1500, classes(3, true=same, decimals=None, votes=10, shape=triage)),
    World("calibrated k2 churn clusters", 2000, classes(2, shape=churn, clustered=0.3)),
    World(
        "trained with label smoothing 0.15 k8",
        2000,
        classes(8, noise(0.15)),
        NOISE,
        TEMPERATURE,
        direction=-1,
    ),
    World(
        "trained on balanced classes k2 fraud", 4000, classes(2, bias(1, 3.5), shape=fraud), BIAS, direction=1
    ),
    World("bias +0.6 k2 churn", 4000, classes(2, bias(1, 0.6), shape=churn), BIAS, direction=1),
    World("bias -0.8 k2 fraud", 20_000, classes(2, bias(1, -0.8), shape=fraud), BIAS, direction=-1),
    World(
        "trained on balanced classes k3 triage",
        1500,
        classes(3, bias(2, 2.0), shape=triage),
        BIAS,
        direction=1,
        where="2",
    ),
    World(
        "bias -1.2 class 1 k3 triage",
        1500,
        classes(3, bias(1, -1.2), shape=triage),
        BIAS,
        direction=-1,
        where="1",
    ),
    World(
        "temperature 1.6 k3 triage",
        2500,
        classes(3, temperature(1.6), shape=triage),
        TEMPERATURE,
        direction=1,
    ),
    World(
        "temperature 1.5 k10 sure", 3000, classes(10, temperature(1.5), shape=sure), TEMPERATURE, direction=1
    ),
    World(
        "temperature 0.6 k2 churn",
        5000,
        classes(2, temperature(0.6), shape=churn),
        (*TEMPERATURE, *BOTH, *BIAS),
    ),
    World(
        "label noise 5 % k10 sure",
        3000,
        classes(10, true=noise(0.05), shape=sure),
        NOISE,
        TEMPERATURE,
        direction=1,
    ),
    World(
        "site 4 % bias +1.2 k2", 6000, sites(only(bias(1, 1.2)), churn, 2), GROUP_BIAS, direction=1, where="a"
    ),
    World(
        "site 4 % bias -1.5 k2",
        6000,
        sites(only(bias(1, -1.5)), churn, 2),
        GROUP_BIAS,
        direction=-1,
        where="a",
    ),
    World(
        "site 4 % bias +1.5 class 2 k3",
        6000,
        sites(only(bias(2, 1.5)), triage, 3),
        GROUP_BIAS,
        direction=1,
        where="a",
    ),
    World(
        "site 4 % temperature 3 k10",
        6000,
        sites(only(temperature(3)), sure, 10),
        GROUP_TEMPERATURE,
        direction=1,
        where="a",
    ),
    World(
        "group 7 % bias +1 k2 churn",
        5000,
        classes(2, only(bias(1, 1)), shape=churn, share=0.07),
        GROUP_BIAS,
        direction=1,
        where="a",
    ),
    World(
        "1 decimal, temperature 2 k3 triage",
        2500,
        classes(3, temperature(2.0), decimals=1, shape=triage),
        (*TEMPERATURE, *NOISE),
        BOTH,
        direction=1,
    ),
    World(
        "2 decimals, bias +1.2 k2 fraud",
        8000,
        classes(2, bias(1, 1.2), shape=fraud, decimals=2),
        BIAS,
        BOTH,
        direction=1,
    ),
    World(
        "curve off by 0.2 at 0.1-0.5 k2 churn",
        6000,
        classes(2, true=bump(0.1, 0.5, 0.2), shape=churn),
        CURVE,
        ("bias", *BOTH),
        direction=1,
    ),
    World(
        "columns 1 and 2 swapped k3 triage",
        800,
        classes(3, order(0, 2, 1), shape=triage),
        ("swapped classes",),
    ),
    World(
        "temperature 1.8 & bias +1 class 2 k3 triage",
        4000,
        classes(3, then(temperature(1.8), bias(2, 1.0)), shape=triage),
        BOTH,
        ("bias", "temperature"),
    ),
    World(
        "5 raters, bias +0.8 class 1 k3 triage",
        700,
        classes(3, bias(1, 0.8), shape=triage, raters=5),
        BIAS,
        direction=1,
        where="1",
    ),
    World(
        "clusters, temperature 2 k3 triage",
        3000,
        classes(3, temperature(2.0), shape=triage, clustered=0.3),
        TEMPERATURE,
        direction=1,
    ),
]

REALS = [
    World("real calibrated samples", 700, reals(kind="samples")),
    World("real calibrated 15 stores quantiles", 1500, reals(stores=15, kind="quantiles")),
    World("real calibrated members", 600, reals(kind="members")),
    World("real calibrated t5 stated spread", 300, reals(share=0.1)),
    World(
        "real samples, shift +0.25",
        2000,
        reals(lambda m, s, g: m + 0.25, kind="samples"),
        ("shift",),
        direction=1,
    ),
    World(
        "real samples, slope 1.2",
        2000,
        reals(lambda m, s, g: 1.2 * m, kind="samples"),
        ("slope",),
        direction=1,
    ),
    World(
        "real samples, group 8 % scale 0.5",
        3000,
        reals(spread=lambda m, s, g: s * np.where(g == "a", 0.5, 1.0), share=0.08, kind="samples"),
        ("group scale",),
        direction=1,
        where="a",
    ),
    World(
        "real quantiles, scale 1.4",
        1500,
        reals(spread=lambda m, s, g: 1.4 * s, kind="quantiles"),
        ("scale",),
        direction=-1,
    ),
    World(
        "real quantiles, shift +0.5 & scale 0.7",
        2500,
        reals(lambda m, s, g: m + 0.5, lambda m, s, g: 0.7 * s, kind="quantiles"),
        ("shift+scale",),
        ("shift", "scale"),
        direction=1,
    ),
    World(
        "real quantiles, group 6 % shift -0.9",
        4000,
        reals(lambda m, s, g: m - 0.9 * (g == "a"), share=0.06, kind="quantiles"),
        ("group shift",),
        direction=-1,
        where="a",
    ),
    World(
        "real members, scale 0.6",
        1000,
        reals(spread=lambda m, s, g: 0.6 * s, kind="members"),
        ("scale",),
        direction=1,
    ),
    World(
        "real one of 15 stores shift +1",
        4000,
        reals(lambda m, s, g: m + 1.0 * (g == "7"), stores=15),
        ("group shift",),
        direction=1,
        where="7",
    ),
    World(
        "real one of 15 stores scale 0.5",
        4000,
        reals(spread=lambda m, s, g: s * np.where(g == "7", 0.5, 1.0), stores=15),
        ("group scale",),
        direction=1,
        where="7",
    ),
    World(
        "real spread not seen, factor 0.6",
        3000,
        unseen_spread(0.6),
        ("tails",),
        ("shape",),
        direction=1,
        impossible="no repair of a constant spread knows which errors are large, so the truth gains far more",
    ),
    World("real spread exponent 1.6", 2500, reals(spread=lambda m, s, g: s**1.6), ("spread",), direction=1),
    World(
        "real means shrunk 0.8, group of no importance",
        1500,
        reals(lambda m, s, g: 0.8 * m, share=0.2),
        ("slope",),
        direction=-1,
    ),
    World(
        "real clusters, shift -0.4",
        3000,
        reals(lambda m, s, g: m - 0.4, clustered=0.15),
        ("shift",),
        direction=-1,
    ),
    World(
        "real tails t3 & scale 0.8",
        3000,
        reals(spread=lambda m, s, g: 0.8 * s, error=student(3)),
        ("tails",),
        ("scale", "shape"),
        direction=1,
    ),
    World(
        "real skewed gamma 4 quantiles",
        5000,
        reals(error=gamma(4.0), kind="quantiles"),
        ("skewed", "levels"),
        ("shape",),
    ),
]

MENDED = [
    World("calibrated k2 fraud 2 decimals", 5000, classes(2, shape=fraud, decimals=2)),
    World(
        "2 decimals, temperature 1.6 k10 uneven",
        4000,
        classes(10, temperature(1.6), shape=rare, decimals=2),
        TEMPERATURE,
        direction=1,
    ),
    World(
        "curve flat at 0.42 for 0.4-0.85 k2",
        6000,
        classes(2, true=flat(0.4, 0.85, 0.42)),
        CURVE,
        ("bias", *BOTH),
        direction=1,
    ),
]
"""Worlds on which the method was wrong."""

WORLDS = [
    *MENDED,
    *(dataclasses.replace(world, name=f"third {world.name}", fresh=True) for world in CLASSES),
    *(dataclasses.replace(world, name=f"third {world.name}", fresh=True, real=True) for world in REALS),
]
