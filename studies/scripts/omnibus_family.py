"""Which statistics should an omnibus calibration test combine?

Simulates worlds whose truth is known, tests every data set with all candidate statistics on shared
replicates, and reads the power of every family of up to four statistics off the same replicates (smallest
p, Westfall-Young).

    python studies/scripts/omnibus_family.py --repetitions 200 --out build/omnibus-family.json

Prints the tables of studies/pages/omnibus-family.md.
"""

from __future__ import annotations

import argparse
import itertools
import json
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import credibly as cr
from credibly._arrays.binomial import clopper_pearson
from credibly.hypotests.resampling.pvalues import pooled_pvalues, westfall_young

Array = np.ndarray
STATISTICS = ("skce", "kde_ce", "kl_ce", "log_loss", "brier", "classwise_ece", "confidence_ece")
LEVEL = 0.05


def temper(probs: Array, exponent: float) -> Array:
    """Return p^exponent, normalised."""
    powered = probs**exponent
    return powered / powered.sum(axis=1, keepdims=True)


def towards(probs: Array, classes: Array, share: float) -> Array:
    """Move a share of every row's mass to one class."""
    return (1 - share) * probs + share * np.eye(probs.shape[1])[classes]


def biased(probs: Array, factor: float) -> Array:
    """Multiply the odds of class 0 and divide those of class 1: the classes trade mass."""
    scaled = probs * np.array([factor, 1 / factor, *[1.0] * (probs.shape[1] - 2)])
    return scaled / scaled.sum(axis=1, keepdims=True)


# world -> (predictions, generator) -> true probabilities
WORLDS: dict[str, Callable[[Array, np.random.Generator], Array]] = {
    "calibrated": lambda probs, rng: probs,
    "shift to class 0, 8 %": lambda probs, rng: towards(probs, np.zeros(len(probs), dtype=int), 0.08),
    "overconfident, exponent 0.7": lambda probs, rng: temper(probs, 0.7),
    "underconfident, exponent 1.4": lambda probs, rng: temper(probs, 1.4),
    "class-wise bias, odds 1.5": lambda probs, rng: biased(probs, 1.5),
    "corner noise, 10 %": lambda probs, rng: towards(
        probs, rng.integers(0, probs.shape[1], size=len(probs)), 0.10
    ),
}
SHAPES = {"spread": 1.0, "sharp": 0.3}
"""Concentration of the Dirichlet distribution predictions come from: uniform, or near the corners."""


def simulate(n: int, k: int, n_resamples: int, repetitions: int) -> dict[str, Array]:
    """Return pooled p-values (repetitions, statistics, 1 + n_resamples) of every world and shape."""
    found = {}
    for (shape, concentration), (world, truth) in itertools.product(SHAPES.items(), WORLDS.items()):
        began = time.monotonic()
        tails = tuple(cr.statistics.registered()[name].traits.tail for name in STATISTICS)
        pooled = np.empty((repetitions, len(STATISTICS), 1 + n_resamples))
        for repetition in range(repetitions):
            rng = np.random.default_rng([7, n, k, repetition])
            # far from 0, so that no log loss is infinite for lack of digits
            probs = 0.999 * rng.dirichlet(np.full(k, concentration), size=n) + 0.001 / k
            steps = truth(probs, rng).cumsum(axis=1)[:, :-1]
            labels = (rng.random((n, 1)) >= steps).sum(axis=1)
            result = cr.calibration_test(
                probs, labels, statistics=STATISTICS, n_resamples=n_resamples, rng=repetition
            )
            parts = [result.components[name] for name in STATISTICS]
            values = np.stack([np.append(part.statistic, part.null_distribution) for part in parts])
            pooled[repetition] = pooled_pvalues(values, tails)
        found[f"{shape}: {world}"] = pooled
        print(f"{shape}: {world}: {time.monotonic() - began:.0f} s", flush=True)
    return found


def power(pooled: Array, family: tuple[str, ...]) -> tuple[float, float, float]:
    """Return the share of rejections of a family and its 95 % interval."""
    rows = [STATISTICS.index(name) for name in family]
    rejected = sum(westfall_young(one[rows])[0] <= LEVEL + 1e-12 for one in pooled)
    low, high = clopper_pearson(rejected, len(pooled))
    return rejected / len(pooled), low, high


def main() -> None:
    """Simulate, rank the families, print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n", type=int, default=400)
    parser.add_argument("--k", type=int, default=5)
    parser.add_argument("--resamples", type=int, default=199)
    parser.add_argument("--repetitions", type=int, default=200)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    found = simulate(given.n, given.k, given.resamples, given.repetitions)
    families = [family for size in range(1, 5) for family in itertools.combinations(STATISTICS, size)]
    table = {
        " + ".join(family): {world: power(found[world], family) for world in found} for family in families
    }

    # what an omnibus test is for: the worst alternative, then the mean over alternatives
    def rank(family: str) -> tuple[float, float]:
        powers = [value[0] for world, value in table[family].items() if "calibrated" not in world]
        return min(powers), float(np.mean(powers))

    ranked = sorted(table, key=rank, reverse=True)
    singles = [family for family in table if "+" not in family]
    default = "skce + kl_ce + log_loss"
    shown = [*singles, default, *[family for family in ranked[:8] if family != default]]
    print("\n| family | worst | mean | " + " | ".join(found) + " |")
    print("|---" * (3 + len(found)) + "|")
    for family in shown:
        worst, mean = rank(family)
        cells = " | ".join(f"{value[0]:.2f}" for value in table[family].values())
        print(f"| {family} | {worst:.2f} | {mean:.2f} | {cells} |")
    print(f"\n{default} is number {ranked.index(default) + 1} of {len(ranked)}")
    if given.out is not None:
        given.out.parent.mkdir(parents=True, exist_ok=True)
        settings = {name: str(value) for name, value in vars(given).items() if name != "out"}
        given.out.write_text(json.dumps({"settings": settings, "power": table}, indent=1))


if __name__ == "__main__":
    main()
