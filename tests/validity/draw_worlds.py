"""Worlds of draws and quantiles whose truth is known: a seed in, p-values by name out.

Labels are `spread` times as far from the predicted centre as predicted, and shifted by `shift`; with 1 and 0
predictions are perfect and every p-value must keep its level.
"""

from __future__ import annotations

import numpy as np
import scipy.stats

import credibly as cr

DRAWN = ("crps", "rmse", "mae", "picp", "quantile_calibration_error", "interval_score")
SPREADS = ("mean_slope", "spread_ratio", "spread_slope", "ence")
CELLS = ("quantile_calibration_error",)
DRAW_COUNTS = (1, 2, 3, 5, 10, 20, 100)
LEVEL_COUNTS = (1, 2, 3, 9, 19, 39)
SIZES = (100, 400, 2000, 20_000)


def _labels(rng: np.random.Generator, centre: np.ndarray, shift: float, spread: float) -> np.ndarray:
    return (
        centre + shift + spread * rng.standard_exponential(len(centre)) * rng.choice([-1.0, 1.0], len(centre))
    )


def _laplace(rng: np.random.Generator, centre: np.ndarray, *shape: int) -> np.ndarray:
    """Draw from a distribution with tails longer than normal ones, around every centre."""
    values = rng.standard_exponential((len(centre), *shape)) * rng.choice([-1.0, 1.0], (len(centre), *shape))
    return centre.reshape(-1, *(1 for _ in shape)) + values


def _tested(samples: cr.Samples, labels: np.ndarray, names: tuple[str, ...], reps: int, seed: int) -> dict:
    result = cr.calibration_test(samples, labels, statistics=names, n_resamples=reps, rng=seed)
    pvalues = {name: component.pvalue for name, component in result.components.items()}
    curve = cr.pit_test(samples, labels, n_resamples=reps, rng=seed)
    return {**pvalues, "omnibus": result.pvalue, "pit_test": curve.pvalue}


def draws(
    seed: int, *, n: int, s: int, shift: float = 0.0, spread: float = 1.0, reps: int = 199
) -> dict[str, float]:
    """Samples (n, s) with heavy tails."""
    rng = np.random.default_rng((1, seed))
    centre = rng.normal(size=n)
    samples = cr.Samples(_laplace(rng, centre, s), member_axis=1)
    return _tested(samples, _labels(rng, centre, shift, spread), DRAWN, reps, seed)


def spread_of_draws(seed: int, *, n: int, s: int, spread: float = 1.0, reps: int = 199) -> dict[str, float]:
    """Samples (n, s) of different widths."""
    rng = np.random.default_rng((7, seed))
    centre, width = rng.normal(size=n), np.exp(0.5 * rng.normal(size=n))
    zero = np.zeros(n)
    samples = cr.Samples(centre[:, None] + width[:, None] * _laplace(rng, zero, s), member_axis=1)
    labels = centre + width * _labels(rng, zero, 0.0, spread)
    return _tested(samples, labels, (*SPREADS, "skce"), reps, seed)


def tied_draws(seed: int, *, n: int, s: int, reps: int = 199) -> dict[str, float]:
    """Samples (n, s) and labels of whole numbers, many of them equal."""
    rng = np.random.default_rng((2, seed))
    rate = rng.gamma(2.0, size=n)
    samples = cr.Samples(rng.poisson(rate[:, None], size=(n, s)).astype(float), member_axis=1)
    return _tested(samples, rng.poisson(rate).astype(float), DRAWN, reps, seed)


def members(
    seed: int, *, n: int, m: int, s: int, hypothesis: str, shift: float = 0.0, reps: int = 199
) -> dict[str, float]:
    """Samples (n, m, s), members apart from each other; one drew every label, or one drew all of them."""
    rng = np.random.default_rng((3, seed))
    values = rng.normal(size=(n, 1)) + 2.0 * rng.normal(size=(1, m)) + 0.5 * rng.normal(size=(n, m))
    samples = cr.Samples(values[:, :, None] + rng.normal(size=(n, m, s)), member_axis=1)
    chosen = rng.integers(m, size=n) if hypothesis == "independent" else np.full(n, rng.integers(m))
    labels = values[np.arange(n), chosen] + shift + rng.normal(size=n)
    settings = {"hypothesis": hypothesis, "n_resamples": reps, "rng": seed}
    check = cr.predictive_check(samples, labels, statistics=DRAWN, **settings).under(hypothesis)
    pvalues = {name: result.pvalue for name, result in check.checks.items()}
    return {
        **pvalues,
        "omnibus": check.omnibus_pvalue,
        "pit_test": cr.pit_test(samples, labels, **settings).pvalue,
    }


def joint_draws(seed: int, *, n: int, m: int, shift: float = 0.0, reps: int = 199) -> dict[str, float]:
    """Samples (n, m, 1) of a posterior: the truth is one more set of parameters."""
    rng = np.random.default_rng((4, seed))
    theta = rng.normal(size=m + 1)
    every = theta[None, :] + rng.normal(size=(n, m + 1))
    samples, labels = cr.Samples(every[:, 1:, None], member_axis=1), every[:, 0] + shift
    settings = {"hypothesis": "bayesian", "n_resamples": reps, "rng": seed}
    check = cr.predictive_check(samples, labels, statistics=DRAWN, **settings).bayesian
    pvalues = {name: result.pvalue for name, result in check.checks.items()}
    return {
        **pvalues,
        "omnibus": check.omnibus_pvalue,
        "pit_test": cr.pit_test(samples, labels, **settings).pvalue,
    }


def quantiles(
    seed: int, *, n: int, q: int, shift: float = 0.0, spread: float = 1.0, reps: int = 199
) -> dict[str, float]:
    """Quantiles at j / (q + 1); `picp` and coverage between the outermost levels where there are two."""
    rng = np.random.default_rng((5, seed))
    levels = np.arange(1, q + 1) / (q + 1)
    centre = rng.normal(size=n)
    predictions = cr.Quantiles(centre[:, None] + scipy.stats.laplace.ppf(levels), levels)
    labels = _labels(rng, centre, shift, spread)
    settings = {"n_resamples": reps, "rng": seed}
    pvalues = {
        "quantile_calibration_error": cr.calibration_test(
            predictions, labels, statistics="quantile_calibration_error", **settings
        ).pvalue,
        "pit_test": cr.pit_test(predictions, labels, **settings).pvalue,
    }
    if q > 1:
        widest = cr.picp.with_(level=float(1 - 2 * levels[0]))
        pvalues["picp"] = cr.calibration_test(predictions, labels, statistics=widest, **settings).pvalue
        pvalues["coverage_curve"] = cr.coverage_curve(predictions, labels, **settings).pvalue
    return pvalues


def rain(seed: int, *, n: int, q: int, shift: float = 0.0, reps: int = 199) -> dict[str, float]:
    """Quantiles of labels that are 0 with probability 0.6: many quantiles and labels are equal."""
    rng = np.random.default_rng((6, seed))
    levels = np.arange(1, q + 1) / (q + 1)
    size = rng.gamma(2.0, size=n)
    above = np.maximum(levels, 0.6)
    quantiles = cr.Quantiles(np.where(levels <= 0.6, 0.0, -np.log((1 - above) / 0.4)) * size[:, None], levels)
    labels = np.where(rng.random(n) < 0.6, 0.0, rng.standard_exponential(n)) * size + shift
    return {
        "quantile_calibration_error": cr.calibration_test(
            quantiles, labels, statistics="quantile_calibration_error", n_resamples=reps, rng=seed
        ).pvalue,
        "pit_test": cr.pit_test(quantiles, labels, n_resamples=reps, rng=seed).pvalue,
    }
