"""Audits of groups against the rule that a segment is off beyond five standard deviations.

    range over segments of (largest - smallest cumulative residual by rising prediction) / sqrt(sum p (1 - p))

is how far a segment is off in standard deviations (Arrieta-Ibarra et al. 2022); as used for multicalibration
the largest over all segments is compared with 5, or turned into the p-value of a single segment (Kuiper).
The script shows how often that p-value, the rule, and `audit` reject calibrated models in 4 to 5000 segments,
and how often they see one cell of 16 that is off by 15 points. It writes a table to standard output.

python studies/scripts/audit_power.py [repetitions]
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

import numpy as np

import credibly as cr

SEGMENTS = {4: (400, 2, 2), 64: (1000, 8, 8), 376: (3000, 17, 22), 5000: (30_000, 70, 71)}
SIGMAS, LEVEL, REPLICATES = 5.0, 0.05, 199


def largest_range(p: np.ndarray, labels: np.ndarray, groups: Sequence[np.ndarray]) -> float:
    """Return the largest range of cumulative residuals over all segments, in standard deviations."""
    order = np.argsort(p, kind="stable")
    residual, variance, worst = (labels - p)[order], (p * (1 - p))[order], 0.0
    for codes in (np.zeros(len(p), dtype=int), *groups, groups[0] * (groups[1].max() + 1) + groups[1]):
        own = codes[order]
        inner = np.argsort(own, kind="stable")
        ends = np.cumsum(np.bincount(own))
        for start, stop in zip(np.concatenate([[0], ends[:-1]]), ends, strict=True):
            if stop > start:
                rows = inner[start:stop]
                path = np.concatenate([[0.0], np.cumsum(residual[rows])])
                worst = max(worst, float(np.ptp(path) / np.sqrt(variance[rows].sum())))
    return worst


def kuiper_pvalue(sigmas: float) -> float:
    """Return the chance that the range of a Brownian motion over [0, 1] is as large (Feller 1951)."""
    if sigmas <= 0.5:
        return 1.0
    terms = np.arange(1, 60)
    # 1 - P(range <= r), P(range <= r) = 1 - 4 sum (-1)^(j+1) j erfc(j r / sqrt 2)
    from scipy.special import erfc

    tail = 4 * np.sum((-1.0) ** (terms + 1) * terms * erfc(terms * sigmas / np.sqrt(2)))
    return float(np.clip(tail, 0.0, 1.0))


def rejected(n: int, levels: tuple[int, int], shift: float, rng: np.random.Generator) -> list[bool]:
    """Draw a data set; return whether single p-value, rule and audit reject."""
    p = rng.random(n)
    groups = [rng.integers(size, size=n) for size in levels]
    off = (groups[0] == 0) & (groups[1] == 0)
    labels = (rng.random(n) < np.clip(p + shift * off, 0, 1)).astype(int)
    sigmas = largest_range(p, labels, groups)
    audit = cr.audit(
        np.stack([1 - p, p], axis=1),
        labels,
        groups=dict(zip("ab", (one.astype(str) for one in groups), strict=True)),
        min_size=1,
        n_resamples=REPLICATES,
        rng=rng,
    )
    return [kuiper_pvalue(sigmas) <= LEVEL, sigmas > SIGMAS, audit.pvalue <= LEVEL]


def main(repetitions: int) -> None:
    """Print sizes and power."""
    print("| world | runs | p of one segment | five sigmas | audit |\n|---|---|---|---|---|")
    worlds = [(f"calibrated, {cells} segments", n, (a, b), 0.0) for cells, (n, a, b) in SEGMENTS.items()]
    worlds.append(("one cell of 16 of 2000 rows off by .15", 2000, (4, 4), 0.15))
    for name, n, levels, shift in worlds:
        rng = np.random.default_rng(7)
        runs = max(1, repetitions // 10) if n > 10_000 else repetitions
        rates = np.mean([rejected(n, levels, shift, rng) for _ in range(runs)], axis=0)
        print(f"| {name} | {runs} | " + " | ".join(f"{rate:.3f}" for rate in rates) + " |", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000)
