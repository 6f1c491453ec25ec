"""Rows of the validity board: single predictors of classes and of real values, and what a model expects."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.stats

import credibly as cr
from credibly.predictions import PredictionIntervals
from credibly_studies.p21 import observation_check
from kinds import CLASS_STATISTICS, REAL_STATISTICS
from validity import draw_worlds, worlds
from validity.report import REPLICATES, Numbers, Row


def components(result: cr.results.HypotestResult) -> Numbers:
    """The p-values of all statistics of a test and of the test itself."""
    return {
        **{name: component.pvalue for name, component in result.components.items()},
        "omnibus": result.pvalue,
    }


def all_class_statistics(world: worlds.World) -> Callable[[int], Numbers]:
    def run(seed: int) -> Numbers:
        probs, labels = world(seed)
        return components(
            cr.calibration_test(probs, labels, statistics=CLASS_STATISTICS, n_resamples=REPLICATES, rng=seed)
        )

    return run


METHODS: dict[str, dict[str, Any]] = {
    "debiased confidence_ece": {
        "statistics": cr.confidence_ece.with_(p=2, debiased=True),
        "n_resamples": REPLICATES,
    },
    "equal-mass classwise_ece": {
        "statistics": cr.classwise_ece.with_(binning="equal_mass", n_bins=5),
        "n_resamples": REPLICATES,
    },
}


def other_methods(world: worlds.World) -> Callable[[int], Numbers]:
    def run(seed: int) -> Numbers:
        probs, labels = world(seed)
        return {
            name: cr.calibration_test(probs, labels, rng=seed, **settings).pvalue
            for name, settings in METHODS.items()
        }

    return run


def reliability_bands(n: int, k: int) -> Callable[[int], Numbers]:
    """One filled bin drawn per data set: the band of each bin holds 95 % of what it shows."""

    def run(seed: int) -> Numbers:
        rng = np.random.default_rng([2, seed])
        probs, labels = worlds.tempered(1.0, n=n, k=k)(seed)
        curve = cr.reliability_curve(probs, labels, n_bins=10, n_resamples=REPLICATES, rng=seed)
        assert curve.band is not None
        chosen = rng.choice(np.flatnonzero(curve.weight >= 10))
        return {"band": float(curve.band[0][chosen] <= curve.observed[chosen] <= curve.band[1][chosen])}

    return run


BIN_FREE = {
    "smooth_ece": cr.smooth_ece,
    "smooth_ece, classwise": cr.smooth_ece.with_(target="classwise"),
    "ecce": cr.ecce,
    "ecce, classwise": cr.ecce.with_(target="classwise"),
    "ecce, largest step": cr.ecce.with_(kind="max"),
    "truthful_ce": cr.truthful_ce,
    "t_cal": cr.t_cal,
    "ici": cr.statistics.ici,
    "spiegelhalter_z": cr.spiegelhalter_z,
    "confidence_ece, p=inf": cr.confidence_ece.with_(p=math.inf),
}


def bin_free(n: int, k: int) -> Callable[[int], Numbers]:
    """Every error without bins, and the largest gap of a bin, of calibrated predictions."""

    def run(seed: int) -> Numbers:
        rng = np.random.default_rng([4, seed])
        probs = worlds.predictions(n, k, rng)
        labels = worlds.draw(probs, rng)
        return {
            name: cr.calibration_test(probs, labels, statistics=one, n_resamples=REPLICATES, rng=seed).pvalue
            for name, one in BIN_FREE.items()
        }

    return run


def at_the_margin(n: int, k: int) -> Callable[[int], Numbers]:
    """The mean gap is the margin itself: all other probability of a class went to the top one's neighbour."""

    def run(seed: int) -> Numbers:
        rng = np.random.default_rng([3, seed])
        probs = worlds.predictions(n, k, rng)
        top, rows = probs.argmax(axis=1), np.arange(n)
        truth = probs.copy()
        truth[rows, top] -= 0.05
        truth[rows, (top + 1) % k] += 0.05
        labels = worlds.draw(truth, rng)
        names = ["confidence_gap", "confidence_ece", "ecce"]  # binned errors are 5 points at least, too
        return components(cr.calibration_test(probs, labels, statistics=names, margin=0.05))

    return run


DISCRETE = frozenset({"accuracy", "picp"})
BOUNDS = frozenset({"skce, bound"})

CLASS_ROWS = [
    Row("calibration_test", "calibrated", "null", all_class_statistics(worlds.tempered(1.0)), DISCRETE),
    *(
        Row(
            "calibration_test",
            f"calibrated, rounded to {digits} digits",
            "null",
            all_class_statistics(worlds.rounded(digits, n=150, k=4)),
            DISCRETE,
        )
        for digits in worlds.DIGITS
    ),
    Row("calibration_test", "overconfident", "alternative", all_class_statistics(worlds.tempered(0.5))),
    Row("calibration_test", "underconfident", "alternative", all_class_statistics(worlds.tempered(2.0))),
    Row(
        "calibration_test",
        "overconfident, rounded to 2 digits",
        "alternative",
        all_class_statistics(worlds.rounded(2, n=150, k=4, overconfidence=2.0)),
    ),
    Row("calibration_test", "calibrated, other methods", "null", other_methods(worlds.tempered(1.0)), BOUNDS),
    Row(
        "calibration_test", "overconfident, other methods", "alternative", other_methods(worlds.tempered(0.5))
    ),
    *(
        Row("calibration_test", f"gap = margin, n = {n}, k = {k}", "null", at_the_margin(n, k), True, few=few)
        for n, k, few in worlds.SIZES
    ),
    *(
        Row(
            "calibration_test", f"without bins, calibrated, n = {n}, k = {k}", "null", bin_free(n, k), few=few
        )
        for n, k, few in worlds.SIZES
    ),
    *(
        Row(
            "reliability_curve",
            f"calibrated, n = {n}, k = {k}",
            "interval",
            reliability_bands(n, k),
            True,
            few=few,
        )
        for n, k, few in worlds.SIZES
    ),
]


# Single predictors of real values


REAL_SIZES = ((100, 3), (400, 0))
"""Numbers of instances that every test of real values is run with, and the runs of the small copy."""


def gaussians(
    rng: np.random.Generator, n: int, shared: bool, spread: float = 1.0
) -> tuple[cr.Gaussian, np.ndarray]:
    """Members with a mean and a width; one of them draws every label, or one of them all labels."""
    mean, std = rng.normal(size=(n, 3)), rng.uniform(0.5, 1.5, size=(n, 3))
    chosen = np.full(n, rng.integers(3)) if shared else rng.integers(3, size=n)
    rows = np.arange(n)
    labels = mean[rows, chosen] + spread * std[rows, chosen] * rng.normal(size=n)
    return cr.Gaussian(mean, std), labels


def all_real_statistics(n: int, spread: float = 1.0) -> Callable[[int], Numbers]:
    tested = [name for name in REAL_STATISTICS if name != "sharpness"]  # which no label changes

    def run(seed: int) -> Numbers:
        predictions, labels = gaussians(np.random.default_rng([3, seed]), n, False, spread)
        return components(
            cr.calibration_test(predictions, labels, statistics=tested, n_resamples=REPLICATES, rng=seed)
        )

    return run


def too_extreme(n: int) -> Callable[[int], Numbers]:
    """Noisy means, of which a right forecaster states 0.8, with the spread that their errors have."""

    def run(seed: int) -> Numbers:
        rng = np.random.default_rng([33, n, seed])
        truth, noise, error = rng.normal(size=(3, n))
        gaussian = cr.Gaussian(truth + 0.5 * error, np.full(n, np.sqrt(1.25)))
        return components(cr.calibration_test(gaussian, truth + noise, n_resamples=REPLICATES, rng=seed))

    return run


def envelope(
    test: Callable[..., cr.results.EnvelopeCurve], n: int, spread: float = 1.0
) -> Callable[[int], Numbers]:
    def run(seed: int) -> Numbers:
        pvalues = {}
        for hypothesis in ("independent", "bayesian"):
            rng = np.random.default_rng([4, seed])
            predictions, labels = gaussians(rng, n, hypothesis == "bayesian", spread)
            curve = test(
                predictions, labels, levels=10, hypothesis=hypothesis, n_resamples=REPLICATES, rng=seed
            )
            pvalues[hypothesis] = curve.pvalue
        return pvalues

    return run


def ordered_classes(n: int, moved: float) -> Callable[[int], Numbers]:
    """Five grades, each label a grade too high with the probability `moved`."""

    def run(seed: int) -> Numbers:
        rng = np.random.default_rng([17, seed])
        probs = rng.dirichlet(np.ones(5), size=n)
        drawn = (rng.random((n, 1)) > probs.cumsum(axis=1)).sum(axis=1)
        labels = np.minimum(drawn + (rng.random(n) < moved), 4)
        return {
            "ordered classes": cr.pit_test(probs, labels, levels=20, n_resamples=REPLICATES, rng=seed).pvalue
        }

    return run


def of_test(name: str, world: Callable[..., dict[str, float]], **settings: Any) -> Callable[[int], Numbers]:
    """The p-values that a world of draws or quantiles has of one public test; statistics are its settings."""
    public = ("pit_test", "coverage_curve")

    def run(seed: int) -> Numbers:
        found = world(seed, **settings)
        if name in public:
            return {name: found[name]}
        return {key: value for key, value in found.items() if key not in public}

    return run


def draws_and_quantiles(test: str) -> list[Row]:
    loose = frozenset({"picp", "pit_test", "coverage_curve"})
    made = []
    for s in (1, 5, 20):
        for n, few in REAL_SIZES:
            run = of_test(test, draw_worlds.draws, n=n, s=s)
            made.append(Row(test, f"{s} perfect draws, n = {n}", "null", run, s < 3 or loose, few=few))
    for q in (1, 9, 39):
        for n, few in REAL_SIZES:
            run = of_test(test, draw_worlds.quantiles, n=n, q=q)
            made.append(Row(test, f"{q} perfect quantiles, n = {n}", "null", run, q == 1 or loose, few=few))
    run = of_test(test, draw_worlds.tied_draws, n=100, s=5)
    made.append(Row(test, "5 draws of whole numbers", "null", run, loose, few=3))
    run = of_test(test, draw_worlds.draws, n=200, s=5, spread=1.5)
    made.append(Row(test, "5 draws, labels too spread", "alternative", run, few=3))
    run = of_test(test, draw_worlds.quantiles, n=200, q=9, spread=1.5)
    made.append(Row(test, "9 quantiles, labels too spread", "alternative", run, few=3))
    return made


def one_observation(sigmas: float) -> Callable[[int], Numbers]:
    def run(seed: int) -> Numbers:
        rng = np.random.default_rng([5, seed])
        gaussian = cr.Gaussian(rng.normal(size=1), np.ones(1))
        label = np.asarray(gaussian.mean) + (rng.normal(size=1) if sigmas == 0 else sigmas)
        return {"Gaussian": observation_check(gaussian, label).pvalue}

    return run


def own_replicates(power: float) -> Callable[[int], Numbers]:
    """Replicates that the user makes: labels of the predictions, on rows in a new order."""

    def run(seed: int) -> Numbers:
        rng = np.random.default_rng([12, seed])
        probs = rng.dirichlet(np.ones(3), size=100)
        truth = probs**power / (probs**power).sum(axis=1, keepdims=True)

        def drawn(given: np.ndarray) -> np.ndarray:
            return (rng.random((100, 1)) > given.cumsum(axis=1)).sum(axis=1)

        orders = (rng.permutation(100) for _ in range(REPLICATES))
        pairs = ((probs[order], drawn(probs[order])) for order in orders)
        statistics = ["brier", "log_loss", "skce"]
        result = cr.hypotests.replicate_test(probs, drawn(truth), pairs, statistics=statistics)
        return components(result)

    return run


def spread_bands(n: int) -> Callable[[int], Numbers]:
    """One bin drawn per data set: its band holds 95 % of what labels of the predictions show."""

    def run(seed: int) -> Numbers:
        rng = np.random.default_rng([9, seed])
        predictions, labels = gaussians(rng, n, False)
        curve = cr.hypotests.spread_curve(predictions, labels, n_bins=4, n_resamples=REPLICATES, rng=seed)
        assert curve.band is not None
        chosen = rng.integers(curve.weight.size)
        return {"band": float(curve.band[0][chosen] <= curve.observed[chosen] <= curve.band[1][chosen])}

    return run


def kernel_errors_of_reals(n: int) -> Callable[[int], Numbers]:
    """Every kind of prediction, by replicates of labels and by random signs."""

    def run(seed: int) -> Numbers:
        rng = np.random.default_rng([10, seed])
        mean, std = rng.normal(size=(n, 1)), rng.uniform(0.5, 1.5, size=(n, 1))
        labels = (mean + std * rng.normal(size=(n, 1)))[:, 0]
        levels = np.array([0.1, 0.3, 0.5, 0.7, 0.9])
        kinds = {
            "Gaussian": cr.Gaussian(mean[:, 0], std[:, 0]),
            "10 draws": cr.Samples(mean + std * rng.normal(size=(n, 10))),
            "5 quantiles": cr.Quantiles(mean + std * scipy.stats.norm.ppf(levels), levels),
        }
        settings: Any = {"statistics": "skce", "n_resamples": REPLICATES, "rng": seed}
        return {kind: cr.calibration_test(given, labels, **settings).pvalue for kind, given in kinds.items()}

    return run


def claimed_coverage(n: int, missed: float) -> Callable[[int], Numbers]:
    """Intervals that claim 90 % and miss a share of the labels, more of them where a feature is large."""

    def run(seed: int) -> Numbers:
        rng = np.random.default_rng([11, seed])
        features, width = rng.normal(size=(n, 2)), rng.uniform(1, 2, size=n)
        miss = rng.random(n) < np.where(features[:, 0] > 0, 0.1 + missed, 0.1 - missed)
        labels = np.where(miss, 3.0, 0.0)
        coverage = cr.hypotests.set_coverage(
            PredictionIntervals(-width, width, 0.9),
            labels,
            features=features,
            n_resamples=REPLICATES,
            rng=seed,
        )
        assert coverage.features_pvalue is not None
        return {
            "marginal": coverage.pvalue,
            "by size": coverage.by_size.pvalue,
            "features": coverage.features_pvalue,
            "smallest adjusted": min(test.deciding_pvalue for test in coverage.tests.values()),
        }

    return run


def clustered_coverage(number: int, mean: float) -> Callable[[int], Numbers]:
    """Clusters of ten intervals that claim 90 %; each has a probability of its own, `mean` on average."""

    def run(seed: int) -> Numbers:
        rng = np.random.default_rng([18, seed])
        values = np.repeat(rng.beta(10 * mean, 10 * (1 - mean), size=number), 10)
        labels = np.where(rng.random(10 * number) < values, 0.0, 3.0)
        width = rng.uniform(1, 2, size=10 * number)
        coverage = cr.hypotests.set_coverage(
            PredictionIntervals(-width, width, 0.9), labels, blocks=10, n_resamples=REPLICATES, rng=seed
        )
        assert coverage.pvalue is not None
        assert coverage.by_size.pvalue is not None
        return {"marginal": coverage.pvalue, "by size": coverage.by_size.pvalue}

    return run


def features_in_clusters(
    number: int, size: int, *, alike: bool, missed: float = 0.0
) -> Callable[[int], Numbers]:
    """Clusters of intervals that claim 90 %, correlation .3; `alike` rows of one share their features."""

    def run(seed: int) -> Numbers:
        rng = np.random.default_rng([19, seed])
        ids = np.repeat(np.arange(number), size)
        features = rng.normal(size=(ids.size, 3))[ids if alike else slice(None)]
        shared, own = rng.standard_normal(number)[ids], rng.standard_normal(ids.size)
        ranks = scipy.stats.norm.cdf(np.sqrt(0.3) * shared + np.sqrt(0.7) * own)
        labels = np.where(ranks < np.where(features[:, 0] > 0, 0.9 - missed, 0.9 + missed), 0.0, 3.0)
        width = rng.uniform(1, 2, size=ids.size)
        coverage = cr.hypotests.set_coverage(
            PredictionIntervals(-width, width, 0.9),
            labels,
            features=features,
            clusters=ids,
            n_resamples=REPLICATES,
            rng=seed,
        )
        assert coverage.features_pvalue is not None
        return {
            "features": coverage.features_pvalue,
            "smallest adjusted": min(test.deciding_pvalue for test in coverage.tests.values()),
        }

    return run


REAL_ROWS = [
    *(
        Row(
            "set_coverage",
            f"features {'of' if alike else 'in'} {number} clusters of {size}",
            "null",
            features_in_clusters(number, size, alike=alike),
            True,
            few=2,
        )
        for number, size in ((20, 5), (40, 10))
        for alike in (False, True)
    ),
    Row(
        "set_coverage",
        "features in 40 clusters of 10, 90 % on average only",
        "alternative",
        features_in_clusters(40, 10, alike=False, missed=0.1),
        few=3,
    ),
    Row("set_coverage", "90 % in 40 clusters of 10", "null", clustered_coverage(40, 0.9), few=8),
    Row("set_coverage", "80 % in 40 clusters of 10", "alternative", clustered_coverage(40, 0.8), few=8),
    Row("set_coverage", "90 % as claimed, n = 100", "null", claimed_coverage(100, 0.0), True, few=3),
    Row("set_coverage", "90 % as claimed, n = 400", "null", claimed_coverage(400, 0.0), True, few=3),
    Row("set_coverage", "90 % on average only", "alternative", claimed_coverage(400, 0.1), few=3),
    *(
        row
        for n, few in REAL_SIZES
        for row in (
            Row(
                "calibration_test",
                f"skce of real values, n = {n}",
                "null",
                kernel_errors_of_reals(n),
                few=few,
            ),
            Row(
                "calibration_test",
                f"calibrated Gaussians, n = {n}",
                "null",
                all_real_statistics(n),
                DISCRETE,
                few=few,
            ),
            Row(
                "calibration_test",
                f"10 draws of different widths, n = {n}",
                "null",
                of_test("calibration_test", draw_worlds.spread_of_draws, n=n, s=10),
                few=few,
            ),
            Row("spread_curve", f"calibrated Gaussians, n = {n}", "interval", spread_bands(n), True, few=few),
        )
    ),
    Row(
        "calibration_test",
        "Gaussians, labels too spread, n = 100",
        "alternative",
        all_real_statistics(100, 1.6),
    ),
    *(
        Row(
            "calibration_test",
            f"Gaussians, means too extreme, n = {n}",
            "alternative",
            too_extreme(n),
            few=few,
        )
        for n, few in REAL_SIZES
    ),
    *draws_and_quantiles("calibration_test"),
    *draws_and_quantiles("pit_test"),
    Row("pit_test", "five grades, n = 100", "null", ordered_classes(100, 0.0), True, few=8),
    Row("pit_test", "five grades, n = 400", "null", ordered_classes(400, 0.0), True, few=8),
    Row("pit_test", "five grades, some too high", "alternative", ordered_classes(200, 0.3), few=8),
    *(
        row
        for test in (cr.pit_test, cr.coverage_curve)
        for row in (
            *(
                Row(test.__name__, f"calibrated Gaussians, n = {n}", "null", envelope(test, n), True, few=few)
                for n, few in REAL_SIZES
            ),
            Row(
                test.__name__,
                "Gaussians, labels too spread, n = 100",
                "alternative",
                envelope(test, 100, 1.6),
            ),
        )
    ),
    Row("observation_check", "one label of the prediction", "null", one_observation(0.0), few=100),
    Row("observation_check", "one label three widths away", "alternative", one_observation(3.0)),
    Row("replicate_test", "labels of the predictions, n = 100, k = 3", "null", own_replicates(1.0)),
    Row(
        "replicate_test",
        "overconfident by a power of 0.5, n = 100, k = 3",
        "alternative",
        own_replicates(0.5),
    ),
]


# What a model expects its own metrics to be


CHECKED = ("accuracy", "brier", "log_loss", "confidence_ece", "classwise_ece", "hosmer_lemeshow")
CHECKED_REALS = (
    "picp",
    "quantile_calibration_error",
    "crps",
    "interval_score",
    "gaussian_log_loss",
    "rmse",
    "mae",
)


def checked(exponent: float, digits: int | None = None) -> Callable[[int], Numbers]:
    """Labels from a member drawn for all instances (bayesian), or from the mean (independent)."""

    def run(seed: int) -> Numbers:
        found: dict[str, float] = {}
        for hypothesis in ("bayesian", "independent"):
            rng = np.random.default_rng([6, seed])
            members = rng.dirichlet(np.ones(3), size=(60, 4))
            if digits is not None:
                members = np.round(members, digits)
                members /= members.sum(axis=2, keepdims=True)
            truth = members[:, rng.integers(4)] if hypothesis == "bayesian" else members.mean(axis=1)
            check = cr.predictive_check(
                members,
                worlds.draw(worlds.temper(truth, exponent), rng),
                statistics=CHECKED,
                hypothesis=hypothesis,
                groups=np.arange(60) % 3,
                n_resamples=REPLICATES,
                rng=seed,
            ).under(hypothesis)
            found |= {f"{hypothesis}: {name}": result.pvalue for name, result in check.checks.items()}
            cells = [result.adjusted_pvalue for group in check.groups.values() for result in group.values()]
            found |= {f"{hypothesis}: any": check.omnibus_pvalue, f"{hypothesis}: any group": min(cells)}
        return found

    return run


def checked_reals(n: int) -> Callable[[int], Numbers]:
    """The same for members that predict real values."""

    def run(seed: int) -> Numbers:
        found: dict[str, float] = {}
        for hypothesis in ("bayesian", "independent"):
            predictions, labels = gaussians(np.random.default_rng([19, seed]), n, hypothesis == "bayesian")
            check = cr.predictive_check(
                predictions,
                labels,
                statistics=CHECKED_REALS,
                hypothesis=hypothesis,
                n_resamples=REPLICATES,
                rng=seed,
            ).under(hypothesis)
            found |= {f"{hypothesis}: {name}": result.pvalue for name, result in check.checks.items()}
            found[f"{hypothesis}: any"] = check.omnibus_pvalue
        return found

    return run


LOOSE_CHECKS = frozenset(
    f"{hypothesis}: {name}"
    for hypothesis in ("bayesian", "independent")
    for name in ("accuracy", "picp", "any", "any group")
)

PREDICTIVE_ROWS = [
    Row("predictive_check", "calibrated members", "null", checked(1.0), LOOSE_CHECKS),
    *(
        Row(
            "predictive_check",
            f"calibrated members, rounded to {digits} digits",
            "null",
            checked(1.0, digits),
            LOOSE_CHECKS,
            few=3,
        )
        for digits in worlds.DIGITS
    ),
    Row("predictive_check", "overconfident members", "alternative", checked(0.2)),
    *(
        Row(
            "predictive_check",
            f"calibrated Gaussian members, n = {n}",
            "null",
            checked_reals(n),
            LOOSE_CHECKS,
            few=few,
        )
        for n, few in REAL_SIZES
    ),
    *(
        Row(
            "predictive_check",
            f"3 members with 5 draws each, {hypothesis}",
            "null",
            of_test("predictive_check", draw_worlds.members, n=100, m=3, s=5, hypothesis=hypothesis),
            True,
            few=3,
        )
        for hypothesis in ("independent", "bayesian")
    ),
]

SINGLE_ROWS = [*CLASS_ROWS, *REAL_ROWS, *PREDICTIVE_ROWS]
