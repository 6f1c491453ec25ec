"""Rows of the validity board: audits of groups.

Sizes are of the family-wise p-value; "step-down" is that of the smallest adjusted p-value among groups in
which nothing is off while another group is far off. Coverage is that of all simultaneous intervals together.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import credibly as cr
from validity.report import REPLICATES, Numbers, Row

GROUPS = {4: (400, 2, 2), 64: (1000, 8, 8), 376: (3000, 17, 22), 5000: (30_000, 70, 71)}
"""Number of cells: rows, and levels of two attributes."""


def attributes(rng: np.random.Generator, n: int, first: int, second: int) -> dict[str, np.ndarray]:
    return {"a": rng.integers(first, size=n).astype(str), "b": rng.integers(second, size=n).astype(str)}


def binary(p: np.ndarray) -> np.ndarray:
    return np.stack([1 - p, p], axis=1)


def calibrated(cells: int) -> Callable[[int], Numbers]:
    """Uniform and rare predictions of two classes, in as many groups."""

    def run(seed: int) -> Numbers:
        rng = np.random.default_rng([40, seed])
        n, first, second = GROUPS[cells]
        groups, pvalues = attributes(rng, n, first, second), {}
        for name, p in (("even", rng.random(n)), ("rare", rng.beta(0.3, 6.0, size=n))):
            labels = (rng.random(n) < p).astype(int)
            settings = {"groups": groups, "min_size": 1, "n_resamples": REPLICATES, "rng": seed}
            pvalues[name] = cr.audit(binary(p), labels, **settings).pvalue
        return pvalues

    return run


def other_kinds(seed: int) -> Numbers:
    """Five classes, Gaussians, draws and quantiles, all calibrated."""
    rng = np.random.default_rng([41, seed])
    n = 400
    settings: dict[str, Any] = {"groups": attributes(rng, n, 3, 4), "n_resamples": REPLICATES, "rng": seed}
    probs = rng.dirichlet(np.ones(5), size=n)
    labels = (rng.random((n, 1)) > probs.cumsum(axis=1)).sum(axis=1)
    mean, values = rng.normal(size=n), rng.normal(size=n)
    numbers = mean + values
    levels = np.array([0.05, 0.25, 0.5, 0.75, 0.95])
    ends = np.array([-1.6448536269514722, -0.6744897501960817, 0.0, 0.6744897501960817, 1.6448536269514722])
    return {
        "five classes": cr.audit(probs, labels, **settings).pvalue,
        "Gaussian": cr.audit(cr.Gaussian(mean, np.ones(n)), numbers, **settings).pvalue,
        "draws": cr.audit(cr.Samples(mean[:, None] + rng.normal(size=(n, 19))), numbers, **settings).pvalue,
        "quantiles": cr.audit(cr.Quantiles(mean[:, None] + ends, levels), numbers, **settings).pvalue,
    }


def stepped_down(seed: int) -> Numbers:
    """One level is far off; groups without its rows are calibrated, and none of them may be rejected."""
    rng = np.random.default_rng([42, seed])
    n = 1000
    groups, p = attributes(rng, n, 4, 3), rng.random(n)
    labels = (rng.random(n) < np.clip(p + 0.4 * (groups["a"] == "0"), 0, 1)).astype(int)
    audited = cr.audit(binary(p), labels, groups=groups, n_resamples=REPLICATES, rng=seed)
    calm = [group for group in audited.groups if dict(group.conditions).get("a", "0") != "0"]
    return {"step-down": min(result.adjusted_pvalue for result in calm)}


def within_sets(seed: int) -> Numbers:
    """The truth is at the upper end of an interval everywhere, at the lower end, or between."""
    rng = np.random.default_rng([43, seed])
    n = 600
    groups, p = attributes(rng, n, 3, 3), rng.random(n)
    low, high = np.clip(p - 0.1, 0, 1), np.clip(p + 0.1, 0, 1)
    sets = cr.Intervals(np.stack([1 - high, low], axis=1), np.stack([1 - low, high], axis=1))
    pvalues = {}
    for name, truth in (("upper end", high), ("lower end", low), ("inside", p)):
        labels = (rng.random(n) < truth).astype(int)
        pvalues[name] = cr.audit(sets, labels, groups=groups, n_resamples=REPLICATES, rng=seed).pvalue
    return pvalues


def clustered(n_clusters: int, size: int) -> Callable[[int], Numbers]:
    """Labels of a cluster share a normal shift of their thresholds: calibrated, correlated by about 0.2."""

    def run(seed: int) -> Numbers:
        from scipy.special import ndtri

        rng = np.random.default_rng([44, seed])
        n = n_clusters * size
        clusters, p = np.repeat(np.arange(n_clusters), size), rng.uniform(0.1, 0.9, size=n)
        shared, own = rng.normal(size=n_clusters)[clusters], rng.normal(size=n)
        labels = (np.sqrt(0.3) * shared + np.sqrt(0.7) * own < ndtri(p)).astype(int)
        groups = attributes(rng, n, 2, 3)
        settings = {"groups": groups, "clusters": clusters, "n_resamples": REPLICATES, "rng": seed}
        return {"wild signs": cr.audit(binary(p), labels, **settings).pvalue}

    return run


def rare_in_clusters(seed: int) -> Numbers:
    """Six events are expected in 200 rows; groups without any must not look certain."""
    rng = np.random.default_rng([47, seed])
    p = rng.beta(1, 30, size=200)
    labels, groups = (rng.random(200) < p).astype(int), {"site": rng.choice(["a", "b"], 200)}
    settings = {"groups": groups, "clusters": np.arange(200) // 5, "n_resamples": REPLICATES, "rng": seed}
    return {"wild signs": cr.audit(binary(p), labels, **settings).pvalue}


def one_cell_off(seed: int) -> Numbers:
    """One cell of 16, of 2000 rows, is off by 15 points."""
    rng = np.random.default_rng([45, seed])
    groups, p = attributes(rng, 2000, 4, 4), rng.random(2000)
    off = (groups["a"] == "0") & (groups["b"] == "0")
    labels = (rng.random(2000) < np.clip(p + 0.15 * off, 0, 1)).astype(int)
    return {"audit": cr.audit(binary(p), labels, groups=groups, n_resamples=REPLICATES, rng=seed).pvalue}


def simultaneous(shift: float, scale: float) -> Callable[[int], Numbers]:
    """All intervals hold the difference between truth and prediction of their groups, or not."""

    def run(seed: int) -> Numbers:
        rng = np.random.default_rng([46, seed])
        n = 1000
        groups, truth = attributes(rng, n, 3, 4), rng.uniform(0.05, 0.95, size=n)
        logit = scale * np.log(truth / (1 - truth)) - shift * (groups["a"] == "0")
        p = 1 / (1 + np.exp(-logit))
        labels = (rng.random(n) < truth).astype(int)
        audited = cr.audit(
            binary(p), labels, groups=groups, measures=["classes"], n_resamples=REPLICATES, rng=seed
        )
        held = []
        for group in audited.groups:
            inside = np.ones(n, dtype=bool)
            for name, level in group.conditions:
                inside &= groups[name] == level
            held.append(group.low <= (truth - p)[inside].mean() <= group.high)
        return {"all groups": float(all(held))}

    return run


GROUP_ROWS = [
    *(
        Row("audit", f"calibrated, {cells} cells", "null", calibrated(cells), few=3 if cells < 5000 else 0)
        for cells in GROUPS
    ),
    Row("audit", "calibrated, other kinds", "null", other_kinds, frozenset({"quantiles"})),
    Row("audit", "one level far off, the others", "null", stepped_down, True),
    Row("audit", "truth in the set", "null", within_sets, True),
    Row("audit", "60 clusters of 10", "null", clustered(60, 10), slack=0.02),
    Row("audit", "20 clusters of 30", "null", clustered(20, 30), slack=0.03),
    Row("audit", "rare class in 40 clusters of 5", "null", rare_in_clusters, True),
    Row("audit", "one cell of 16 off by 15 points", "alternative", one_cell_off),
    Row("audit", "intervals, calibrated", "interval", simultaneous(0.0, 1.0), True, slack=0.02),
    Row("audit", "intervals, one level off", "interval", simultaneous(1.0, 1.0), True, slack=0.02),
    Row("audit", "intervals, overconfident", "interval", simultaneous(0.0, 2.0), True, slack=0.02),
]
