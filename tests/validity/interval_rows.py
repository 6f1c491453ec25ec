"""Rows of the validity board: intervals, where the truth that they should hold is known."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.special import ndtr

import credibly as cr
from kinds import REAL_STATISTICS
from validity import test_coverage, test_raters, test_ties, worlds
from validity.report import REPLICATES, Numbers, Row


def held(estimate: cr.results.Estimate, truth: float) -> float:
    """1 where the 95 % interval holds the truth, 0 where not, NaN where there is none."""
    if estimate.interval_refusal is not None:
        return math.nan
    low, high = estimate.interval(0.95)
    return float(low <= truth <= high)


@functools.cache
def class_estimands(exponent: float) -> dict[str, float]:
    truth = worlds.temper(test_coverage.KINDS, exponent)
    settings = {name: test_coverage.population(cr.statistics.registered()[name], truth) for name in MEANS}
    for name in DEBIASED:
        settings[name] = test_coverage.population(cr.statistics.registered()[name].with_(p=2), truth) ** 2
    calibration = 3 * settings["classwise_ece"]
    return {**settings, "calibration": calibration, "refinement": settings["brier"] - calibration}


MEANS = ("accuracy", "brier", "log_loss")
DEBIASED = ("confidence_ece", "classwise_ece", "top_label_ece")


def kinds_sample(exponent: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng([14, seed])
    kind = rng.integers(0, 6, size=500)
    truth = worlds.temper(test_coverage.KINDS, exponent)
    return test_coverage.KINDS[kind], worlds.draw(truth[kind], rng)


def class_estimates(exponent: float) -> Callable[[int], Numbers]:
    def run(seed: int) -> Numbers:
        probs, labels = kinds_sample(exponent, seed)
        truths = class_estimands(exponent)
        found = {name: held(cr.statistics.registered()[name](probs, labels), truths[name]) for name in MEANS}
        for name in DEBIASED:
            squared = cr.statistics.registered()[name](probs, labels, p=2, debiased=True)
            found[f"{name}, debiased"] = held(squared, truths[name])
        return found

    return run


def brier_parts(exponent: float) -> Callable[[int], Numbers]:
    def run(seed: int) -> Numbers:
        parts = cr.decompose_brier(*kinds_sample(exponent, seed))
        truths = class_estimands(exponent)
        settings = {name: held(getattr(parts, name), truths[name]) for name in ("calibration", "refinement")}
        return {**settings, "loss": held(parts.loss, truths["brier"])}

    return run


@functools.cache
def real_estimands() -> dict[str, float]:
    rng = np.random.default_rng(15)
    mean, std = rng.normal(size=(60_000, 3)), rng.uniform(0.5, 1.5, size=(60_000, 3))
    chosen, rows = rng.integers(3, size=60_000), np.arange(60_000)
    labels = mean[rows, chosen] + 1.3 * std[rows, chosen] * rng.normal(size=60_000)
    gaussian = cr.Gaussian(mean, std)
    return {name: float(cr.statistics.registered()[name](gaussian, labels)) for name in REAL_MEANS}


REAL_MEANS = tuple(name for name in REAL_STATISTICS if name not in ("quantile_calibration_error", "skce"))


def real_estimates(seed: int) -> Numbers:
    rng = np.random.default_rng([16, seed])
    mean, std = rng.normal(size=(300, 3)), rng.uniform(0.5, 1.5, size=(300, 3))
    chosen, rows = rng.integers(3, size=300), np.arange(300)
    labels = mean[rows, chosen] + 1.3 * std[rows, chosen] * rng.normal(size=300)
    gaussian, truths = cr.Gaussian(mean, std), real_estimands()
    return {
        name: held(cr.statistics.registered()[name](gaussian, labels), truths[name]) for name in REAL_MEANS
    }


@functools.cache
def rater_world(name: str) -> tuple[test_raters.World, dict[str, float]]:
    made = test_raters.make(name)
    return made, made.estimands(15)


def rater_estimates(test: str, world: str) -> Callable[[int], Numbers]:
    def run(seed: int) -> Numbers:
        made, truths = rater_world(world)
        predicted, counts = made.sample(300, (2, 5), np.random.default_rng([17, seed]))
        found = test_raters.estimates(predicted, counts, 15)
        wanted = test == "decompose_disagreement"
        return {
            name.removeprefix("disagreement "): held(one, truths[name])
            for name, one in found.items()
            if name.startswith("disagreement") == wanted
        }

    return run


@functools.cache
def confident_population() -> tuple[np.ndarray, np.ndarray, float, float]:
    rng = np.random.default_rng(18)
    confidence = np.clip(rng.beta(4, 1.5, size=20_000), 0.5, 1)
    labels = (rng.random(20_000) > confidence).astype(int)
    probs = np.stack([confidence, 1 - confidence], axis=1)
    curve = cr.risk_coverage_curve(probs, labels)
    return probs, labels, float(curve.area), float(curve.excess)


def risk_coverage(seed: int) -> Numbers:
    probs, labels, area, excess = confident_population()
    rows = np.random.default_rng([19, seed]).integers(0, len(probs), size=600)
    curve = cr.risk_coverage_curve(probs[rows], labels[rows])
    return {"area": held(curve.area, area), "excess": held(curve.excess, excess)}


def isotonic(n: int, exponent: float) -> Callable[[int], Numbers]:
    """Two classes whose true curve increases: what the bands and intervals of the curve hold."""

    def run(seed: int) -> Numbers:
        rng = np.random.default_rng([24, seed])
        predicted = rng.beta(1.2, 1.2, size=n)
        truth = worlds.temper(np.stack([1 - predicted, predicted], axis=1), exponent)[:, 1]
        labels = (rng.random(n) < truth).astype(int)
        probs = np.stack([1 - predicted, predicted], axis=1)
        curve = cr.corp_curve(probs, labels, target=1, n_resamples=39, rng=seed)
        assert curve.confidence_band is not None
        assert curve.miscalibration_interval is not None
        assert curve.discrimination_interval is not None
        assert curve.gap_interval is not None
        order = np.argsort(predicted)
        there = np.interp(curve.at, predicted[order], truth[order])
        low, high = curve.confidence_band
        gap = np.abs(predicted - truth)

        def inside(interval: tuple[float, float], value: float) -> float:
            return float(interval[0] - 1e-12 <= value <= interval[1] + 1e-12)

        return {
            "confidence band, everywhere": float(((low <= there) & (there <= high)).all()),
            "miscalibration": inside(curve.miscalibration_interval, float((gap**2).mean())),
            "discrimination": inside(curve.discrimination_interval, float(truth.var())),
            "mean gap": inside(curve.gap_interval, float(gap.mean())),
            "skill": held(curve.skill, true_skill(exponent)),
        }

    return run


def isotonic_classes(n: int, k: int) -> Callable[[int], Numbers]:
    """Calibrated confidence of k classes, whose true curve is the diagonal: what both bands hold."""

    def run(seed: int) -> Numbers:
        rng = np.random.default_rng([27, seed])
        probs = worlds.predictions(n, k, rng)
        curve = cr.corp_curve(probs, worlds.draw(probs, rng), n_resamples=REPLICATES, rng=seed)
        assert curve.confidence_band is not None
        assert curve.band is not None
        assert curve.gap_interval is not None
        low, high = curve.confidence_band
        middle = len(curve.at) // 2
        return {
            "confidence band, everywhere": float(((low <= curve.at) & (curve.at <= high)).all()),
            "consistency band, in the middle": float(curve.beyond[middle] == 0),
            "mean gap": float(curve.gap_interval[0] <= 1e-12),
        }

    return run


@functools.cache
def true_skill(exponent: float) -> float:
    """The variance of the event minus the expected Brier score, by a sum over the law of predictions."""
    places = (np.arange(20_000) + 0.5) / 20_000
    chance = (places * (1 - places)) ** 0.2
    chance /= chance.sum()
    truth = worlds.temper(np.stack([1 - places, places], axis=1), exponent)[:, 1]
    share = float(chance @ truth)
    loss = float(chance @ (truth * (1 - truth) + (places - truth) ** 2))
    return share * (1 - share) - loss


def slopes(n: int, exponent: float) -> Callable[[int], Numbers]:
    """Two classes whose true logit is the predicted one times the exponent."""

    def run(seed: int) -> Numbers:
        rng = np.random.default_rng([25, seed])
        predicted = rng.beta(2, 2, size=n)
        probs = np.stack([1 - predicted, predicted], axis=1)
        labels = worlds.draw(worlds.temper(probs, exponent), rng)
        found = cr.statistics.logistic_calibration(probs, labels)
        return {
            "slope": held(found.slope, exponent),
            "intercept": held(found.intercept, 0.0),
            "in the large": held(found.in_the_large, 0.0),
        }

    return run


CERTIFIED = {
    "mean gap": cr.confidence_gap,
    "confidence_ece": cr.confidence_ece,
    "classwise_ece": cr.classwise_ece,
    "smooth_ece": cr.smooth_ece.with_(target="classwise"),
    "ecce": cr.ecce.with_(target="classwise"),
}


def certificates(exponent: float, n: int, k: int) -> Callable[[int], Numbers]:
    """Whether the error of the true distributions, in place of labels, is below its bound."""

    def run(seed: int) -> Numbers:
        rng = np.random.default_rng([26, seed])
        probs = worlds.predictions(n, k, rng)
        truth = worlds.temper(probs, exponent)
        labels, true = worlds.draw(truth, rng), shares(truth)
        return {
            name: float(
                abs(float(one(probs, true))) <= cr.hypotests.certificate(probs, labels, statistic=one).upper
            )
            for name, one in CERTIFIED.items()
        }

    return run


def shares(truth: np.ndarray) -> cr.LabelCounts:
    """The true distributions as shares of a million raters."""
    counts = np.floor(1e6 * truth).astype(int)
    counts[:, 0] += 1_000_000 - counts.sum(axis=1)
    return cr.LabelCounts(counts)


def entropy_mean(seed: int) -> Numbers:
    """The mean entropy of a uniform distribution over the simplex with k classes: 1/2 + ... + 1/k."""
    probs = worlds.predictions(300, 3, np.random.default_rng([20, seed]))
    in_nats = functools.partial(cr.credal.upper_entropy, base=math.e)
    return {
        "upper_entropy": held(
            cr.credal.mean_over(cr.Point(probs), {"entropy": in_nats})["entropy"], 1 / 2 + 1 / 3
        )
    }


@functools.cache
def temperature_gain(exponent: float) -> float:
    """How much smaller the expected log loss is where the temperature is right, from predictions alone."""
    probs = worlds.predictions(200_000, 3, np.random.default_rng(21))
    truth = worlds.temper(probs, exponent)
    return float((truth * (np.log(probs) - np.log(truth))).sum(axis=1).mean())


def recalibrated(seed: int) -> Numbers:
    probs, labels = worlds.tempered(0.5, n=400)(seed)
    report = cr.recalibration_report(
        probs, labels, ["temperature"], statistics=["log_loss"], n_resamples=19, rng=seed
    )
    change = report.methods["temperature"].changes["log_loss"]
    return {"temperature, change of log_loss": held(change.difference, temperature_gain(0.5))}


def ties(seed: int) -> Numbers:
    """Joint 95 % intervals of models that are equal in law: none is told apart."""
    return {"no false difference": float(not test_ties.separated(seed)[0])}


def equal_real_models(n: int) -> Callable[[int], Numbers]:
    """Three Gaussian models with independent errors of one size: none is told apart by any score."""

    def run(seed: int) -> Numbers:
        rng = np.random.default_rng([20, seed])
        mean = rng.normal(size=n)
        off = 0.5 * rng.normal(size=(3, n))
        models = {str(j): cr.Gaussian(mean + off[j], np.full(n, 1.1)) for j in range(3)}
        scores = ["crps", "gaussian_log_loss", "interval_score"]
        labels = mean + rng.normal(size=n)
        ranking = cr.rank_models(models, labels, statistics=scores, n_resamples=300, rng=seed)
        return {name: float((ranking.at(name).best_ranks == 1).all()) for name in scores}

    return run


def crossing_models(n: int, rng: np.random.Generator) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """A poor single prediction against the hull of four better ones."""
    truth = rng.dirichlet(np.ones(3), size=n)
    noise = rng.dirichlet(np.ones(3), size=(n, 5))
    members = 0.7 * truth[:, None] + 0.3 * noise[:, :4]
    models = {"point": 0.3 * truth + 0.7 * noise[:, 4], "set": members}
    return models, worlds.draw(truth, rng)


def only_crossing(models: dict[str, np.ndarray], labels: np.ndarray, seed: int) -> Any:
    crossings = cr.rank_models(models, labels, averages=False, n_resamples=300, rng=seed).lines.crossings
    return crossings[0] if crossings else None


@functools.cache
def true_crossing() -> float:
    return float(only_crossing(*crossing_models(40_000, np.random.default_rng(22)), 0).tradeoff)


def crossing(seed: int) -> Numbers:
    estimate = only_crossing(*crossing_models(300, np.random.default_rng([23, seed])), seed)
    if estimate is None:
        return {"crossing": math.nan}
    return {"crossing": float(estimate.interval[0] <= true_crossing() <= estimate.interval[1])}


COSTS = ((0.0, 5.0, 9.0), (1.0, 0.0, 4.0), (2.0, 2.0, 0.0))


def calibrated(n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    probs = worlds.predictions(n, 3, rng)
    return probs, worlds.draw(probs, rng)


@functools.cache
def calibrated_population() -> tuple[Any, Any, Any]:
    """What detection, decisions and Murphy curves find in 400 000 instances."""
    probs, labels = calibrated(400_000, np.random.default_rng(28))
    return (
        cr.selection.detection(probs, labels, by="confidence", n_resamples=1, rng=0).scores["confidence"],
        cr.selection.decision_costs(probs, labels, costs=COSTS),
        cr.selection.murphy_curve(probs, labels, n_points=3),
    )


def detected(seed: int) -> Numbers:
    probs, labels = calibrated(400, np.random.default_rng([29, seed]))
    result = cr.selection.detection(probs, labels, n_resamples=REPLICATES, rng=seed)
    truth, score = calibrated_population()[0], result.scores["confidence"]
    return {name: held(getattr(score, name), getattr(truth, name).value) for name in ("auroc", "aupr", "fpr")}


def decided(seed: int) -> Numbers:
    probs, labels = calibrated(400, np.random.default_rng([30, seed]))
    found, truth = cr.selection.decision_costs(probs, labels, costs=COSTS), calibrated_population()[1]
    names = ("cost", "stated", "net_benefit", "regret")
    gaps = {f"gap of action {name}": held(one, 0.0) for name, one in found.gap_by_action.items()}
    means = {name: held(getattr(found, name), getattr(truth, name).value) for name in names}
    return {**means, "gap": held(found.gap, 0.0), **gaps}


def murphy(seed: int) -> Numbers:
    probs, labels = calibrated(400, np.random.default_rng([31, seed]))
    curve, truth = cr.selection.murphy_curve(probs, labels, n_points=3), calibrated_population()[2]
    low, high = curve.band
    return {
        f"threshold {t:g}": float(low[place] <= truth.cost[place] <= high[place])
        for place, t in enumerate(curve.thresholds)
    }


def crps_parts(n: int, std: float) -> Callable[[int], Numbers]:
    """N(m, std) is predicted and labels are N(m, 1), with m standard normal."""
    u = np.linspace(-30.0, 30.0, 20001)
    wrong = float(np.trapezoid((ndtr(u / std) - ndtr(u)) ** 2, u))
    apart = math.sqrt(2 / math.pi) - 1 / math.sqrt(math.pi)  # CRPS of N(0, 2) minus that of N(m, 1)

    def run(seed: int) -> Numbers:
        rng = np.random.default_rng([31, n, int(10 * std), seed])
        mean = rng.normal(size=n)
        parts = cr.hypotests.decompose_crps(cr.Gaussian(mean, np.full(n, std)), mean + rng.normal(size=n))
        found = {
            "miscalibration": (wrong, parts.miscalibration_interval),
            "discrimination": (apart, parts.discrimination_interval),
        }
        return {name: float(low <= truth <= high) for name, (truth, (low, high)) in found.items()}

    return run


INTERVAL_ROWS = [
    *(
        Row(
            "Estimate.interval", f"six kinds, {name}", "interval", class_estimates(exponent), True, slack=0.03
        )
        for name, exponent in test_coverage.WORLDS.items()
    ),
    *(
        Row("decompose_brier", f"six kinds, {name}", "interval", brier_parts(exponent), True, slack=0.03)
        for name, exponent in test_coverage.WORLDS.items()
    ),
    Row("Estimate.interval", "Gaussians, labels too spread", "interval", real_estimates, True, slack=0.03),
    *(
        Row(test, f"raters, {world}", "interval", rater_estimates(test, world), True, slack=0.03, few=3)
        for test in ("decompose_loss", "decompose_disagreement")
        for world in test_raters.WORLDS
    ),
    Row("risk_coverage_curve", "confident and calibrated", "interval", risk_coverage, True, slack=0.015),
    *(
        Row("corp_curve", f"n = {n}, exponent {exponent:g}", "interval", isotonic(n, exponent), True, 0.03)
        for n, exponent in ((100, 1.0), (400, 2.0), (400, 1.0), (2000, 2.0), (2000, 1.0))
    ),
    *(
        Row("logistic_calibration", f"n = {n}, exponent {e:g}", "interval", slopes(n, e), slack=0.03)
        for n in (100, 400, 2000)
        for e in (0.5, 1.0, 2.0)
    ),
    *(
        Row("corp_curve", f"n = {n}, k = {k}", "interval", isotonic_classes(n, k), True, 0.03, few=few)
        for n, k, few in worlds.SIZES
    ),
    *(
        Row(
            "certificate",
            f"exponent {e:g}, n = {n}, k = {k}",
            "interval",
            certificates(e, n, k),
            True,
            few=few,
        )
        for n, k, few in worlds.SIZES
        for e in (1.0, 0.5)
    ),
    Row("detection", "calibrated, k = 3", "interval", detected, True, slack=0.03),
    Row("decision_costs", "calibrated, k = 3", "interval", decided, True, slack=0.03),
    Row("murphy_curve", "calibrated, k = 3", "interval", murphy, True, slack=0.03),
    *(
        Row("decompose_crps", f"n = {n}, spread {std:g}", "interval", crps_parts(n, std), True, few=2)
        for n in (100, 400)
        for std in (0.6, 1.0, 1.5)
    ),
    Row("mean_over", "predictions over the simplex", "interval", entropy_mean, slack=0.015),
    Row("recalibration_report", "overconfident", "interval", recalibrated, True, slack=0.03, few=3),
    Row("rank_models", "four models, equal in law", "interval", ties, True, share=0.5, few=3),
    *(
        Row(
            "rank_models",
            f"three Gaussian models, equal in law, n = {n}",
            "interval",
            equal_real_models(n),
            True,
            slack=0.02,
            few=few,
        )
        for n, few in ((100, 3), (400, 0))
    ),
    Row("rank_models", "a point and a set that cross", "interval", crossing, True, slack=0.03, few=3),
]
