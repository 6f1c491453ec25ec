"""What should `calibration_test` compare where real values are tested and no statistic is named?

Worlds whose truth is known: right, shifted, too narrow, another shape, spread wrong at both ends, Gneiting's
unfocused forecaster, and a forecaster that forgets that labels depend on the label before. Every data set is
tested with all candidates on shared replicates; families are read off the same replicates.

    python studies/scripts/real_defaults.py --repetitions 400 --workers 16 --out build/real-defaults.json

Prints one table per number of instances: rejections at 5 %, and how often the best possible test rejects the
unfocused forecaster.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np

import credibly as cr
from credibly.hypotests.resampling.pvalues import pooled_pvalues, westfall_young

Pair = tuple[cr.Gaussian, np.ndarray]
LEVEL = 0.05
RESAMPLES = 199
SINGLE = ("skce", "quantile_calibration_error", "crps", "gaussian_log_loss", "spread_slope", "ucme")
FAMILIES = (
    ("skce", "quantile_calibration_error"),
    ("skce", "gaussian_log_loss"),
    ("skce", "quantile_calibration_error", "gaussian_log_loss"),
)


def plain(rng: np.random.Generator, n: int, shift: float = 0.0, spread: float = 1.0) -> Pair:
    mean, std = rng.normal(size=n), rng.uniform(0.5, 1.5, size=n)
    return cr.Gaussian(mean, std), mean + shift + spread * std * rng.normal(size=n)


def shape(rng: np.random.Generator, n: int) -> Pair:
    """Student's t with three degrees of freedom, scaled to the variance that is stated."""
    mean, std = rng.normal(size=n), rng.uniform(0.5, 1.5, size=n)
    return cr.Gaussian(mean, std), mean + std * rng.standard_t(3, size=n) / np.sqrt(3)


def both_ends(rng: np.random.Generator, n: int) -> Pair:
    """Too wide where wide, too narrow where narrow, right on average."""
    mean, std = rng.normal(size=n), rng.uniform(0.5, 1.5, size=n)
    return cr.Gaussian(mean, std), mean + np.sqrt(std * 0.96) * rng.normal(size=n)


def unfocused(rng: np.random.Generator, n: int) -> Pair:
    """Gneiting, Balabdaoui and Raftery 2007, example 1."""
    centre, side = rng.normal(size=n), rng.choice([-1.0, 1.0], size=n)
    return cr.Gaussian(np.stack([centre, centre + side], axis=1), np.ones((n, 2))), centre + rng.normal(
        size=n
    )


def best_against_unfocused(n: int, draws: int = 20_000) -> float:
    """Return the power of the likelihood ratio that knows the truth; no test of the distributions has more.

    The distribution with centre c = mu + tau / 2 is stated for mu = c - 1/2 and for mu = c + 1/2 alike, which
    are in truth as likely as exp(c) to 1 and not as 1 to 1.
    """
    rng = np.random.default_rng(n)

    def ratio(centre: np.ndarray, labels: np.ndarray) -> np.ndarray:
        low, high = (np.exp(-0.5 * (labels - centre + side) ** 2) for side in (0.5, -0.5))
        weight = 1 / (1 + np.exp(-centre))
        return np.log((weight * low + (1 - weight) * high) / (low + high)).sum(axis=1)

    mu, side = rng.normal(size=(draws, n)), rng.choice([-0.5, 0.5], size=(draws, n))
    stated = mu + side + rng.choice([-0.5, 0.5], size=(draws, n)) + rng.normal(size=(draws, n))
    limit = np.quantile(ratio(mu + side, stated), 1 - LEVEL)
    return float(np.mean(ratio(mu + side, mu + rng.normal(size=(draws, n))) > limit))


def autocorrelated(rng: np.random.Generator, n: int) -> Pair:
    """Labels follow y' = 0.6 y + noise; the forecast regresses on the label before with a slope of 0.3."""
    y = np.zeros(n + 1)
    for t in range(n):
        y[t + 1] = 0.6 * y[t] + rng.normal()
    # the residual variance of that forecast, so that it is right on average
    return cr.Gaussian(0.3 * y[:-1], np.full(n, np.sqrt(1 + 0.09 / 0.64))), y[1:]


WORLDS: dict[str, Callable[[np.random.Generator, int], Pair]] = {
    "right": plain,
    "location": partial(plain, shift=0.15),
    "spread": partial(plain, spread=1.2),
    "shape": shape,
    "both ends": both_ends,
    "unfocused": unfocused,
    "autocorrelated": autocorrelated,
}


def one(world: str, n: int, seed: int) -> dict[str, float]:
    """Test one data set with every candidate."""
    given, labels = WORLDS[world](np.random.default_rng([n, sorted(WORLDS).index(world), seed]), n)
    parts = cr.calibration_test(given, labels, statistics=SINGLE, n_resamples=RESAMPLES, rng=seed).components
    found = {name: part.pvalue for name, part in parts.items()}
    for family in FAMILIES:  # smallest p on the same replicates
        own = [parts[name] for name in family]
        values = np.stack([np.append(part.statistic, part.null_distribution) for part in own])
        pooled = pooled_pvalues(values, tuple(part.tail for part in own))
        found[" + ".join(family)] = westfall_young(pooled)[0]
    found["pit_test"] = cr.pit_test(given, labels, n_resamples=RESAMPLES, rng=seed).pvalue
    return found


def main() -> None:
    """Run all worlds and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repetitions", type=int, default=40)
    parser.add_argument("--instances", type=int, nargs="*", default=[100, 400])
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    rates: dict[str, dict[str, dict[str, float]]] = {}
    with ProcessPoolExecutor(given.workers) as pool:
        for n in given.instances:
            for world in WORLDS:
                runs = list(pool.map(partial(one, world, n), range(given.repetitions)))
                own = {name: float(np.mean([run[name] <= LEVEL for run in runs])) for name in runs[0]}
                rates.setdefault(str(n), {})[world] = own
                print(n, world, own, flush=True)
            print(f"\nn = {n}, {given.repetitions} data sets\n\n| | {' | '.join(WORLDS)} |")
            print(f"|---|{'---|' * len(WORLDS)}")
            for name in next(iter(rates[str(n)].values())):
                cells = " | ".join(f"{rates[str(n)][world][name]:.2f}" for world in WORLDS)
                print(f"| {name} | {cells} |", flush=True)
            print(f"\nunfocused, best possible: {best_against_unfocused(n):.2f}", flush=True)
    if given.out is not None:
        given.out.parent.mkdir(parents=True, exist_ok=True)
        given.out.write_text(json.dumps(rates, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
