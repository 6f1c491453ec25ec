"""What should `calibration_test` compare where real values are tested and no statistic is named?

Worlds whose truth is known. In those of CHOICE the kernels of `skce` were chosen: right, shifted, too narrow,
another shape, spread wrong at both ends, Gneiting's unfocused forecaster, a forecaster that forgets that
labels depend on the label before, and two whose bias is a curve in what is stated. Those of FRESH were first
run when that choice was made, and with CHOICE they decided that `mean_slope` joins the default; those of NEW
were first run after that. Every data set is tested with all candidates on shared replicates; families are
read off the same replicates. "plain skce" compares labels as they are, by the median distance.

    python studies/scripts/real_defaults.py --repetitions 400 --workers 16 --out build/real-defaults.json

Prints three tables of rejections at 5 %, a cell for every number of instances, and how often the best
possible test rejects the unfocused forecaster. `--statistics skce quantile_calibration_error` leaves out the
others.
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
SINGLE = (
    "skce",
    "quantile_calibration_error",
    "mean_slope",
    "crps",
    "gaussian_log_loss",
    "spread_slope",
)
PLAIN = "plain skce"
FAMILIES = (
    ("skce", "quantile_calibration_error", "mean_slope"),
    ("skce", "quantile_calibration_error"),
    (PLAIN, "quantile_calibration_error"),
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


def stated(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return means, standard deviations, and standard normal noise."""
    return rng.normal(size=n), rng.uniform(0.5, 1.5, size=n), rng.normal(size=n)


def bent(rng: np.random.Generator, n: int) -> Pair:
    """Too low at both ends of what is stated, too high between."""
    mean, std, noise = stated(rng, n)
    return cr.Gaussian(mean, std), mean + std * (0.25 * (mean**2 - 1) + noise)


def wavy(rng: np.random.Generator, n: int) -> Pair:
    """A bias that changes its sign every 1.05."""
    mean, std, noise = stated(rng, n)
    return cr.Gaussian(mean, std), mean + std * (0.6 * np.sin(3 * mean) + noise)


def fan(rng: np.random.Generator, n: int) -> Pair:
    """Too narrow where the mean is high, too wide where it is low."""
    mean, std, noise = stated(rng, n)
    return cr.Gaussian(mean, std), mean + std * np.exp(0.2 * mean) * noise


def skewed(rng: np.random.Generator, n: int) -> Pair:
    """Gamma noise with the stated mean and spread; skewness 1."""
    mean, std, _ = stated(rng, n)
    return cr.Gaussian(mean, std), mean + std * (rng.gamma(4.0, size=n) - 4.0) / 2.0


def signs(rng: np.random.Generator, n: int) -> Pair:
    """Too high above 0 and too low below, by a fifth of the spread: a step, not a slope."""
    mean, std, noise = stated(rng, n)
    return cr.Gaussian(mean, std), mean + std * (noise - 0.2 * np.sign(mean))


def wide_only(rng: np.random.Generator, n: int) -> Pair:
    """Too wide where the spread is in its upper third, right elsewhere."""
    mean, std, noise = stated(rng, n)
    return cr.Gaussian(mean, std), mean + np.where(std > 7 / 6, 0.6, 1.0) * std * noise


def patch(rng: np.random.Generator, n: int) -> Pair:
    """Shifted by 0.8 spreads for the tenth of instances around a mean of 1; right elsewhere."""
    mean, std, noise = stated(rng, n)
    return cr.Gaussian(mean, std), mean + std * (noise + 0.8 * (np.abs(mean - 1) < 0.2))


def wrong_weights(rng: np.random.Generator, n: int) -> Pair:
    """Three members, equally likely in what is stated, a half, a third and a sixth in truth."""
    mean, std, noise = stated(rng, n)
    members = mean[:, None] + np.array([-1.5, 0.0, 1.5])
    own = members[np.arange(n), rng.choice(3, size=n, p=[1 / 3, 1 / 2, 1 / 6])]
    return cr.Gaussian(members, np.tile(0.6 * std[:, None], (1, 3))), own + 0.6 * std * noise


def heavy_tails(rng: np.random.Generator, n: int) -> Pair:
    """One label in twenty has three times the stated spread."""
    mean, std, noise = stated(rng, n)
    return cr.Gaussian(mean, std), mean + std * np.where(rng.random(n) < 0.05, 3.0, 1.0) * noise


def counts(rng: np.random.Generator, n: int) -> Pair:
    """Overdispersed counts, which are stated as Poisson, by normal distributions."""
    rate = rng.lognormal(2.0, 0.5, size=n)
    return cr.Gaussian(rate, np.sqrt(rate)), rng.poisson(rate * rng.gamma(30.0, 1 / 30.0, size=n)) * 1.0


def ensemble(rng: np.random.Generator, n: int) -> Pair:
    """Five members around the truth: their mean is a noisy guess, which a right forecaster would shrink."""
    truth, noise = rng.normal(size=(2, n))
    members = truth[:, None] + 0.6 * rng.normal(size=(n, 5))
    return cr.Gaussian(members, np.full((n, 5), 0.9)), truth + noise


def right_mixture(rng: np.random.Generator, n: int) -> Pair:
    """Two members with weights 0.3 and 0.7, far apart in some rows: calibrated."""
    mean, std, noise = stated(rng, n)
    members = mean[:, None] + np.stack([np.zeros(n), rng.exponential(2.0, size=n)], axis=1)
    second = (rng.random(n) < 0.7).astype(int)
    spread = np.stack([std, 0.5 * std], axis=1)
    at = np.arange(n)
    given = cr.Gaussian(members, spread, weights=[0.3, 0.7])
    return given, members[at, second] + spread[at, second] * noise


def timid(rng: np.random.Generator, n: int) -> Pair:
    """States 0.7 of the mean, and the spread that its errors then have."""
    mean, _, noise = stated(rng, n)
    return cr.Gaussian(0.7 * mean, np.full(n, np.sqrt(1.09))), mean + noise


def cut_off(rng: np.random.Generator, n: int) -> Pair:
    """Never states a mean beyond one standard deviation of all."""
    mean, std, noise = stated(rng, n)
    return cr.Gaussian(np.clip(mean, -1.0, 1.0), std), mean + std * noise


def two_humps(rng: np.random.Generator, n: int) -> Pair:
    """Labels have two humps with the stated mean and spread."""
    mean, std, noise = stated(rng, n)
    side = rng.choice([-1.0, 1.0], size=n)
    return cr.Gaussian(mean, std), mean + std * (np.sqrt(0.6) * side + np.sqrt(0.4) * noise)


def yesterday(rng: np.random.Generator, n: int) -> Pair:
    """Labels y' = 0.8 y + noise are forecast to stay as they are, with the right spread of errors."""
    y = np.zeros(n + 1)
    for t in range(n):
        y[t + 1] = 0.8 * y[t] + rng.normal()
    return cr.Gaussian(y[:-1], np.full(n, np.sqrt(1 + 0.04 / 0.36))), y[1:]


def half_too_wide(rng: np.random.Generator, n: int) -> Pair:
    """Too wide by a third for negative means, too narrow by a fifth for the others."""
    mean, std, noise = stated(rng, n)
    return cr.Gaussian(mean, std), mean + np.where(mean < 0, 0.75, 1.25) * std * noise


def noisy_spread(rng: np.random.Generator, n: int) -> Pair:
    """States the right mean and a spread that is right on average only."""
    mean, std, noise = stated(rng, n)
    return cr.Gaussian(mean, std * np.exp(0.4 * rng.normal(size=n))), mean + std * noise


def saw(rng: np.random.Generator, n: int) -> Pair:
    """Rounds to whole numbers what it states."""
    mean, std, noise = stated(rng, n)
    return cr.Gaussian(np.round(mean), 0.5 * std), mean + 0.5 * std * noise


CHOICE: dict[str, Callable[[np.random.Generator, int], Pair]] = {
    "right": plain,
    "location": partial(plain, shift=0.15),
    "spread": partial(plain, spread=1.2),
    "shape": shape,
    "both ends": both_ends,
    "unfocused": unfocused,
    "autocorrelated": autocorrelated,
    "bent": bent,
    "wavy": wavy,
}
FRESH: dict[str, Callable[[np.random.Generator, int], Pair]] = {
    "fan": fan,
    "skewed": skewed,
    "signs": signs,
    "wide only": wide_only,
    "patch": patch,
    "wrong weights": wrong_weights,
    "heavy tails": heavy_tails,
    "counts": counts,
    "ensemble": ensemble,
}
NEW: dict[str, Callable[[np.random.Generator, int], Pair]] = {
    "right mixture": right_mixture,
    "timid": timid,
    "cut off": cut_off,
    "two humps": two_humps,
    "yesterday": yesterday,
    "half too wide": half_too_wide,
    "noisy spread": noisy_spread,
    "saw": saw,
}
WORLDS = CHOICE | FRESH | NEW


def one(world: str, n: int, statistics: tuple[str, ...], seed: int) -> dict[str, float]:
    """Test one data set with every candidate."""
    given, labels = WORLDS[world](np.random.default_rng([n, list(WORLDS).index(world), seed]), n)
    test = partial(cr.calibration_test, given, labels, n_resamples=RESAMPLES, rng=seed)
    plain = test(statistics=cr.skce.with_(label_bandwidth="median"))  # of the same drawn labels
    parts = {**test(statistics=statistics).components, PLAIN: plain}
    found = {name: part.pvalue for name, part in parts.items()}
    for family in FAMILIES:  # smallest p on the same replicates
        if not set(family) <= set(parts):
            continue
        own = [parts[name] for name in family]
        values = np.stack([np.append(part.statistic, part.null_distribution) for part in own])
        pooled = pooled_pvalues(values, tuple(part.tail for part in own))
        found[" + ".join(family)] = westfall_young(pooled)[0]
    found["pit_test"] = cr.pit_test(given, labels, n_resamples=RESAMPLES, rng=seed).pvalue
    return found


def _print_table(rates: dict[str, dict[str, dict[str, float]]], worlds: list[str]) -> None:
    """Print a row for every candidate, a column for every world, in it all numbers of instances."""
    if not worlds:
        return
    print(f"\n| | {' | '.join(worlds)} |\n|---|{'---|' * len(worlds)}")
    for name in next(iter(rates.values()))[worlds[0]]:
        cells = (" / ".join(f"{own[world][name]:.2f}" for own in rates.values()) for world in worlds)
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


def main() -> None:
    """Run all worlds and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repetitions", type=int, default=40)
    parser.add_argument("--instances", type=int, nargs="*", default=[100, 400])
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--statistics", nargs="*", default=list(SINGLE))
    parser.add_argument("--worlds", nargs="*", default=list(WORLDS), choices=list(WORLDS))
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    rates: dict[str, dict[str, dict[str, float]]] = {}
    with ProcessPoolExecutor(given.workers) as pool:
        for n in given.instances:
            for world in given.worlds:
                runs = list(
                    pool.map(partial(one, world, n, tuple(given.statistics)), range(given.repetitions))
                )
                own = {name: float(np.mean([run[name] <= LEVEL for run in runs])) for name in runs[0]}
                rates.setdefault(str(n), {})[world] = own
                print(n, world, own, flush=True)
            print(f"\n{n} unfocused, best possible: {best_against_unfocused(n):.2f}", flush=True)
    for worlds in (CHOICE, FRESH, NEW):
        _print_table(rates, [world for world in worlds if world in given.worlds])
    if given.out is not None:
        given.out.parent.mkdir(parents=True, exist_ok=True)
        given.out.write_text(json.dumps(rates, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
