"""Rows of the validity board: the truth as one more member, few members, members that are drawn labels."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import credibly as cr
from validity import worlds
from validity.report import Numbers, Row

CLASS_CHECKS = ("accuracy", "confidence_ece", "log_loss")
REAL_CHECKS = ("picp", "gaussian_log_loss")
REPLICATES = 199


def linear_members(
    rng: np.random.Generator, n: int, m: int, inputs: int, between: float, common: float, k: int = 4
) -> np.ndarray:
    """m + 1 linear models with weights around common ones: the members, and before them the truth."""
    features = rng.normal(size=(n, inputs))
    centre = rng.normal(size=(inputs, k)) * common / inputs**0.5
    weights = centre + rng.normal(size=(m + 1, inputs, k)) * between / inputs**0.5
    logits = np.stack([features @ weight for weight in weights], axis=1)
    logits = np.exp(logits - logits.max(axis=2, keepdims=True))
    return logits / logits.sum(axis=2, keepdims=True)


def one_more_member(
    n: int, m: int, inputs: int, between: float, common: float, *, noise: bool = False
) -> Callable[[int], Numbers]:
    """What decides under the Bayesian hypothesis, where one more member like the others drew the labels."""

    def run(seed: int) -> Numbers:
        rng = np.random.default_rng([61, n, m, inputs, seed])
        every = linear_members(rng, n, m, inputs, between, common)
        labels = rng.integers(4, size=n) if noise else worlds.draw(every[:, 0], rng)
        check = cr.predictive_check(
            cr.Ensemble(every[:, 1:], member_axis=1),
            labels,
            statistics=CLASS_CHECKS,
            hypothesis="bayesian",
            n_resamples=REPLICATES,
            rng=seed,
        )
        return {name: float(one.details.member_pvalue) for name, one in check.checks.items()}

    return run


def one_more_gaussian(n: int, m: int, between: float, *, noise: bool = False) -> Callable[[int], Numbers]:
    """The same for members that predict real values."""

    def run(seed: int) -> Numbers:
        rng = np.random.default_rng([62, n, m, seed])
        features = rng.normal(size=(n, 5))
        means = features @ (rng.normal(size=(5, 1)) + between * rng.normal(size=(5, m + 1)))
        spread = np.exp(0.2 * rng.normal(size=m + 1))
        labels = means[:, 0] + spread[0] * rng.normal(size=n)
        if noise:
            labels = 5 * rng.normal(size=n)
        check = cr.predictive_check(
            cr.Gaussian(means[:, 1:], np.tile(spread[1:], (n, 1)), member_axis=1),
            labels,
            statistics=REAL_CHECKS,
            hypothesis="bayesian",
            n_resamples=REPLICATES,
            rng=seed,
        )
        return {name: float(one.details.member_pvalue) for name, one in check.checks.items()}

    return run


def drawn_labels(n: int, m: int, *, noise: bool = False) -> Callable[[int], Numbers]:
    """Members are m labels drawn from the truth: every member is certain of a class."""

    def run(seed: int) -> Numbers:
        rng = np.random.default_rng([63, n, m, seed])
        probs = rng.dirichlet([0.5, 0.5], size=n)
        every = (rng.random((n, m + 1)) > probs[:, :1]).astype(int)
        labels = rng.integers(2, size=n) if noise else every[:, 0]
        ensemble = cr.Ensemble(np.eye(2)[every[:, 1:]], member_axis=1)
        names = ("brier", "log_loss", "confidence_ece")
        test = cr.calibration_test(ensemble, labels, statistics=names, n_resamples=REPLICATES, rng=seed)
        check = cr.predictive_check(
            ensemble, labels, statistics=["brier"], hypothesis="bayesian", n_resamples=REPLICATES, rng=seed
        )
        pvalues = {name: component.pvalue for name, component in test.components.items()}
        return {**pvalues, "any": test.pvalue, "bayesian: brier": check.checks["brier"].pvalue}

    return run


FEW = (2, 3, 5, 10, 20)

MEMBER_ROWS = [
    *(
        Row(
            "predictive_check",
            f"the truth is one more member, n = {n}, m = {m}, {inputs} inputs, members differ by {between:g}",
            "null",
            one_more_member(n, m, inputs, between, common),
            conservative=True,
            slack=0.05,  # the jackknife+ is guaranteed at twice the level
            share=share,
            few=few,
        )
        for n, m, inputs, between, common, share, few in (
            (500, 50, 6, 1.0, 1.0, 1.0, 2),
            (4000, 50, 300, 2.5, 0.0, 0.4, 0),
            (8000, 50, 300, 2.5, 1.0, 0.4, 0),
        )
    ),
    Row(
        "predictive_check",
        "the truth is one more member, Gaussians, n = 4000, m = 40",
        "null",
        one_more_gaussian(4000, 40, 0.3),
        conservative=True,
        slack=0.05,
        share=0.4,
        few=0,
    ),
    *(
        Row(
            "predictive_check",
            f"{m} members and one more, n = {n}, members differ by {between:g}",
            "null",
            one_more_member(n, m, 6, between, common),
            conservative=True,
            few=2,
        )
        for m in FEW
        for n, between, common in ((200, 1.0, 1.0), (1000, 0.3, 2.0))
    ),
    *(
        Row(
            "predictive_check",
            f"{m} Gaussian members and one more, n = 400",
            "null",
            one_more_gaussian(400, m, 0.3),
            conservative=True,
            few=2,
        )
        for m in (3, 10)
    ),
    *(
        Row(
            "predictive_check",
            f"noise labels, {m} members",
            "alternative",
            one_more_member(1000, m, 6, 0.3, 2.0, noise=True),
            few=2,
        )
        for m in (*FEW, 50)
    ),
    Row(
        "predictive_check",
        "noise labels, 5 Gaussian members",
        "alternative",
        one_more_gaussian(400, 5, 0.3, noise=True),
        few=2,
    ),
    *(
        Row(
            "calibration_test",
            f"members are {m} drawn labels, n = {n}",
            "null",
            drawn_labels(n, m),
            conservative=True,
            few=few,
        )
        for n, m, few in ((300, 100, 2), (300, 200, 0), (300, 400, 0), (300, 1000, 0), (5000, 100, 0))
    ),
    Row(
        "calibration_test",
        "noise labels, members are 100 drawn labels",
        "alternative",
        drawn_labels(300, 100, noise=True),
        few=2,
    ),
]
