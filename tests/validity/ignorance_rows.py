"""Rows of the validity board: stated ignorance, raters who differ or not, agreement, entropy.

Under the null labels are drawn from what is stated: a member, or a draw of the Dirichlet, then the labels.
Alternatives state a spread that is wrong by a factor, on average or in a way that depends on the prediction.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.stats import entropy

import credibly as cr
from validity.report import REPLICATES, Numbers, Row

Claimed = tuple[cr.Ensemble | cr.Dirichlet, np.ndarray]
"""What is stated, and the distribution of labels of every instance."""


def members(rng: np.random.Generator, n: int, k: int, m: int, truth: float | None) -> Claimed:
    """Members around a base; the truth is a member (None), or as far from their mean times a factor."""
    logits = 1.2 * rng.normal(size=(n, 1, k)) + 0.8 * rng.normal(size=(n, m, k))
    probs = np.exp(logits - logits.max(axis=-1, keepdims=True))
    probs /= probs.sum(axis=-1, keepdims=True)
    own = probs[np.arange(n), rng.integers(m, size=n)]
    if truth is not None:
        mean = probs.mean(axis=1)
        own = mean + truth * (own - mean)
    return cr.Ensemble(probs, member_axis=1), own


def dirichlets(rng: np.random.Generator, n: int, k: int, m: int, truth: float | str | None) -> Claimed:
    """Concentrations that differ; those of the truth are off by a factor, or by 2.2 either way."""
    mean = rng.dirichlet(1.5 * np.ones(k), size=(n, m) if m > 1 else n)
    total = 4 * np.exp(0.7 * rng.normal(size=mean.shape[:-1]))
    alpha = np.maximum(mean * total[..., None], 1e-6)
    chosen = alpha[np.arange(n), rng.integers(m, size=n)] if m > 1 else alpha
    off = {None: 1.0, "either way": np.where(mean[..., :1] > 1 / k, 2.2, 1 / 2.2)}.get(truth, truth)
    draws = rng.standard_gamma(chosen * off) + 1e-300
    return cr.Dirichlet(alpha, member_axis=1 if m > 1 else None), draws / draws.sum(axis=-1, keepdims=True)


def spread(
    kind: Callable[..., Claimed], n: int, k: int, m: int, labels: int, truth: object = None
) -> Callable:
    """P-values of all statistics of the spread, each alone and together."""

    def run(seed: int) -> Numbers:
        rng = np.random.default_rng([91, n, k, m, labels, seed])
        stated, theta = kind(rng, n, k, m, truth)
        counts = cr.LabelCounts(rng.multinomial(labels, theta))
        names = ["pair_gap", "spread_score", "local_spread_score"]
        test = cr.raters.spread_test(stated, counts, statistics=names, n_resamples=REPLICATES, rng=seed)
        return {**{name: component.pvalue for name, component in test.components.items()}, "all": test.pvalue}

    return run


def stated(kind: Callable[..., Claimed], n: int, k: int, m: int, labels: int) -> Callable:
    """Whether the intervals of supported ignorance hold what is stated, which is true here."""

    def run(seed: int) -> Numbers:
        rng = np.random.default_rng([92, n, k, m, labels, seed])
        claim, theta = kind(rng, n, k, m, None)
        counts = cr.LabelCounts(rng.multinomial(labels, theta))
        result = cr.raters.ignorance(claim, counts, n_resamples=1, rng=seed)

        def holds(estimate: cr.Estimate, value: float) -> float:
            low, high = estimate.interval() if estimate.has_interval else (np.nan, np.nan)
            return float(low <= value <= high) if low == low else np.nan

        return {"gap": holds(result.gap, 0.0)}

    return run


def means(n: int, k: int, labels: int, off: float) -> Callable:
    """P-values of the test of the mean, where the stated spread is wrong by a factor of four."""

    def run(seed: int) -> Numbers:
        rng = np.random.default_rng([93, n, k, labels, seed])
        claim, theta = dirichlets(rng, n, k, 1, 4.0)
        theta = (1 - off) * theta + off * np.eye(k)[0]
        counts = cr.LabelCounts(rng.multinomial(labels, theta))
        return {"mean": cr.raters.ignorance(claim, counts, n_resamples=REPLICATES, rng=seed).mean_test.pvalue}

    return run


def rated(rng: np.random.Generator, n: int, raters: int, each: int, lean: float) -> cr.LabelCounts:
    """Two classes; each instance is labelled by some of the raters, who lean by `lean` on the logit."""
    strength, values = 1.5 * rng.normal(size=(n, 1)), lean * rng.normal(size=raters)
    labels = (rng.random((n, raters)) < 1 / (1 + np.exp(-strength - values))).astype(int)
    left = rng.random((n, raters)).argsort(axis=1) >= each
    return cr.LabelCounts.from_table(np.where(left, -1, labels), n_classes=2, missing=-1)


def differ(n: int, raters: int, each: int, lean: float) -> Callable:
    """P-value of the test that raters differ."""

    def run(seed: int) -> Numbers:
        rng = np.random.default_rng([94, n, raters, each, seed])
        counts = rated(rng, n, raters, each, lean)
        return {"raters": cr.raters.rater_test(counts, n_resamples=REPLICATES, rng=seed).pvalue}

    return run


def careless(n: int, raters: int, each: int) -> Callable:
    """P-value of the test that raters differ, where the first labels at random and prefers no label."""

    def run(seed: int) -> Numbers:
        rng = np.random.default_rng([95, n, raters, each, seed])
        truth = rng.dirichlet([0.5, 0.5, 0.5], size=n).cumsum(axis=1)[:, None]
        labels = (rng.random((n, raters, 1)) > truth[..., :2]).sum(axis=2)
        labels[:, 0] = rng.integers(3, size=n)
        left = rng.random((n, raters)).argsort(axis=1) >= each
        counts = cr.LabelCounts.from_table(np.where(left, -1, labels), n_classes=3, missing=-1)
        return {"raters": cr.raters.rater_test(counts, n_resamples=REPLICATES, rng=seed).pvalue}

    return run


def panel(n: int, raters: int) -> Callable:
    """What decides about a right mean without ignorance, where two of a small panel label each instance."""
    at, weight = np.polynomial.hermite_e.hermegauss(21)
    weight = weight / weight.sum()

    def run(seed: int) -> Numbers:
        rng = np.random.default_rng([99, n, raters, seed])
        strength, lean = 1.2 * rng.normal(size=(n, 1)), 0.7 * rng.normal(size=raters)
        event = (weight / (1 + np.exp(-strength - 0.7 * at))).sum(axis=1)  # of a new rater
        labels = (rng.random((n, raters)) < 1 / (1 + np.exp(-strength - lean))).astype(int)
        left = rng.random((n, raters)).argsort(axis=1) >= 2
        counts = cr.LabelCounts.from_table(np.where(left, -1, labels), n_classes=2, missing=-1)
        claim = cr.Dirichlet(1e5 * np.stack([1 - event, event], axis=1))
        result = cr.raters.ignorance(claim, counts, n_resamples=REPLICATES, rng=seed)
        return {"mean": result.mean_test.deciding_pvalue, "spread": result.test.deciding_pvalue}

    return run


def alpha(n: int, raters: int, each: int, lean: float) -> Callable:
    """Whether the interval of Krippendorff's alpha holds that of all instances and raters."""
    whole = np.random.default_rng(95)
    strength = 1.5 * whole.normal(size=400_000)
    chance = 1 / (1 + np.exp(-strength - lean * whole.normal(size=strength.size)))
    other = 1 / (1 + np.exp(-strength - lean * whole.normal(size=strength.size)))
    apart = (chance * (1 - other) + other * (1 - chance)).mean()
    share = chance.mean()
    true = 1 - apart / (2 * share * (1 - share))

    def run(seed: int) -> Numbers:
        rng = np.random.default_rng([96, n, raters, each, seed])
        low, high = cr.raters.agreement(rated(rng, n, raters, each, lean)).krippendorff.interval()
        return {"krippendorff": float(low <= true <= high)}

    return run


def split(n: int, k: int, labels: int) -> Callable:
    """Whether the interval of the entropy of the distributions of labels holds it."""
    true = float(entropy(np.random.default_rng(97).dirichlet(np.ones(k), size=400_000), axis=1).mean())

    def run(seed: int) -> Numbers:
        rng = np.random.default_rng([98, n, k, labels, seed])
        theta = rng.dirichlet(np.ones(k), size=n)
        split = cr.raters.entropy_split(theta, cr.LabelCounts(rng.multinomial(labels, theta)))
        low, high = split.aleatoric
        return {"aleatoric": float(low <= true <= high)}

    return run


SIZES = (
    ("members", members, 300, 2, 2, 2),
    ("members", members, 300, 3, 10, 2),
    ("members", members, 200, 10, 50, 5),
    ("members", members, 100, 3, 10, 50),
    ("Dirichlet", dirichlets, 300, 2, 1, 2),
    ("Dirichlet", dirichlets, 300, 3, 1, 3),
    ("Dirichlet", dirichlets, 200, 10, 1, 10),
    ("Dirichlet", dirichlets, 100, 3, 1, 50),
    ("Dirichlets", dirichlets, 200, 3, 5, 2),
)

IGNORANCE_ROWS = [
    *(
        Row(
            "spread_test",
            f"labels as stated, {name}, n = {n}, k = {k}, m = {m}, {labels} labels",
            "null",
            spread(kind, n, k, m, labels),
            conservative=True,
            few=2,
        )
        for name, kind, n, k, m, labels in SIZES
    ),
    *(
        Row(
            "spread_test",
            f"{world}, n = {n}, k = {k}, m = {m}, {labels} labels",
            "alternative",
            spread(kind, n, k, m, labels, truth),
            few=1,
        )
        for world, kind, n, k, m, labels, truth in (
            ("half the concentration of the truth", dirichlets, 300, 3, 1, 2, 2.0),
            ("half the concentration of the truth", dirichlets, 300, 3, 1, 5, 2.0),
            ("twice the concentration of the truth", dirichlets, 300, 3, 1, 2, 0.5),
            ("right on average only", dirichlets, 300, 3, 1, 2, "either way"),
            ("right on average only", dirichlets, 300, 3, 1, 5, "either way"),
            ("members spread twice as far as the truth", members, 300, 3, 5, 2, 0.5),
            ("members spread, the truth is their mean", members, 300, 3, 10, 2, 0.0),
            ("members spread, the truth is their mean", members, 300, 10, 50, 5, 0.0),
        )
    ),
    *(
        Row(
            "ignorance",
            f"labels as stated, {name}, n = {n}, k = {k}, m = {m}, {labels} labels",
            "interval",
            stated(kind, n, k, m, labels),
            slack=0.02,
            few=3,
        )
        for name, kind, n, k, m, labels in SIZES
    ),
    *(
        Row(
            "ignorance",
            f"the mean is right and the spread is wrong, n = {n}, k = {k}, {labels} labels",
            "null",
            means(n, k, labels, 0.0),
            conservative=True,
            few=2,
        )
        for n, k, labels in ((300, 3, 2), (200, 10, 5))
    ),
    *(
        Row(
            "ignorance",
            f"a right mean, two labels each of {raters} shared raters who lean by 0.7, n = 300",
            "null",
            panel(300, raters),
            conservative=True,
            slack=0.02,
            few=2,
        )
        for raters in (5, 50)
    ),
    Row(
        "ignorance",
        "the mean is off by 0.1 towards a class, n = 300, k = 3, 2 labels",
        "alternative",
        means(300, 3, 2, 0.1),
        few=1,
    ),
    *(
        Row(
            "rater_test",
            f"{raters} raters, {each} labels each, lean {lean:g}, n = {n}",
            "alternative" if lean else "null",
            differ(n, raters, each, lean),
            conservative=True,
            few=2,
        )
        for n, raters, each in ((200, 5, 3), (200, 40, 3), (200, 40, 2))
        for lean in (0.0, 0.5)
    ),
    Row(
        "rater_test",
        "1 of 12 raters labels at random, 3 labels each, n = 400",
        "alternative",
        careless(400, 12, 3),
        few=2,
    ),
    *(
        Row(
            "agreement",
            f"{raters} raters, {each} labels each, lean {lean:g}, n = {n}",
            "interval",
            alpha(n, raters, each, lean),
            conservative=True,
            slack=0.06,
            few=3,
        )
        for n, raters, each, lean in ((300, 20, 3, 0.0), (300, 20, 3, 1.0), (300, 6, 6, 1.0))
    ),
    *(
        Row(
            "entropy_split",
            f"n = {n}, k = {k}, {labels} labels",
            "interval",
            split(n, k, labels),
            conservative=True,
            few=2,
        )
        for n, k, labels in ((500, 2, 2), (500, 3, 4), (300, 10, 5))
    ),
]
