"""Rows of the validity board: predictions and labels of rows that belong together.

Labels are drawn through ranks that share a normal part inside a cluster: every row is calibrated given its
prediction, and the correlation of ranks is that of the world's name. Time series have ranks of an
autoregression, and blocks stand for clusters.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from scipy.special import ndtr

import credibly as cr
from validity.report import REPLICATES, Numbers, Row
from validity.worlds import temper

Clustered = tuple[np.ndarray, np.ndarray, np.ndarray]
"""Predictions, labels, ids."""

UNEQUAL = [int(8 * 1.25**step) for step in range(1, 16)] + [5] * 5
"""Twenty clusters of 5 to 227 rows: as much as nine of equal size."""
MANY_UNEQUAL = [1 + (7 * step) % 12 for step in range(400)]
HUNDRED = [5 + (17 * step) % 30 for step in range(100)]

LINEAR = ("accuracy", "confidence_gap", "brier", "log_loss", "spiegelhalter_z")
CELLS = ("confidence_ece", "classwise_ece", "top_label_ece", "hosmer_lemeshow", "t_cal")
ALL = (*LINEAR, *CELLS, "ecce", "truthful_ce", "skce")
LARGE = (*LINEAR, *CELLS, "ecce")
"""Without those that compare pairs or sort every class: ten thousand rows take seconds with them."""


def drawn(probs: np.ndarray, ranks: np.ndarray) -> np.ndarray:
    """Return the class that a rank between 0 and 1 falls into."""
    return (ranks[:, None] > probs.cumsum(axis=1)[:, :-1]).sum(axis=1)


def in_clusters(
    sizes: Sequence[int], correlation: float, *, k: int = 3, alike: bool = False, exponent: float = 1.0
) -> Callable[[int], Clustered]:
    """Clusters of these sizes; `alike` rows of one share their prediction; `exponent` as in `temper`."""

    def world(seed: int) -> Clustered:
        rng = np.random.default_rng([21, seed])
        ids = np.repeat(np.arange(len(sizes)), sizes)
        probs = rng.dirichlet(np.ones(k), size=len(sizes) if alike else ids.size)
        probs = probs[ids] if alike else probs
        shared, own = rng.standard_normal(len(sizes))[ids], rng.standard_normal(ids.size)
        ranks = ndtr(np.sqrt(correlation) * shared + np.sqrt(1 - correlation) * own)
        return probs, drawn(temper(probs, exponent), ranks), ids

    return world


def in_time(n: int, memory: float, *, k: int = 3) -> Callable[[int], Clustered]:
    """Ranks of an autoregression, which forgets by `memory` from row to row; ids are the times."""

    def world(seed: int) -> Clustered:
        rng = np.random.default_rng([22, seed])
        steps = np.sqrt(1 - memory**2) * rng.standard_normal(n)
        series = np.empty(n)
        last = rng.standard_normal()
        for at, step in enumerate(steps):
            last = memory * last + step
            series[at] = last
        probs = rng.dirichlet(np.ones(k), size=n)
        return probs, drawn(probs, ndtr(series)), np.arange(n)

    return world


def pvalues(
    world: Callable[[int], Clustered], statistics: Sequence[str] = ALL, blocks: int | None = None
) -> Callable[[int], Numbers]:
    def run(seed: int) -> Numbers:
        probs, labels, ids = world(seed)
        how = {"clusters": ids} if blocks is None else {"blocks": blocks}
        result = cr.calibration_test(
            probs, labels, statistics=statistics, n_resamples=REPLICATES, rng=seed, **how
        )
        return {
            **{name: component.pvalue for name, component in result.components.items()},
            "omnibus": result.pvalue,
        }

    return run


def real_values(n_clusters: int, size: int, correlation: float) -> Callable[[int], Numbers]:
    def run(seed: int) -> Numbers:
        rng = np.random.default_rng([23, seed])
        ids = np.repeat(np.arange(n_clusters), size)
        shared, tested = rng.standard_normal(n_clusters)[ids], rng.standard_normal(ids.size)
        mean, std = rng.normal(size=ids.size), rng.uniform(0.5, 2.0, size=ids.size)
        labels = mean + std * (np.sqrt(correlation) * shared + np.sqrt(1 - correlation) * tested)
        result = cr.calibration_test(
            cr.Gaussian(mean, std),
            labels,
            statistics=["picp", "quantile_calibration_error"],
            n_resamples=REPLICATES,
            clusters=ids,
            rng=seed,
        )
        pvalues = {name: component.pvalue for name, component in result.components.items()}
        for curve in (cr.pit_test, cr.coverage_curve):
            tested = curve(
                cr.Gaussian(mean, std), labels, levels=20, n_resamples=REPLICATES, clusters=ids, rng=seed
            )
            pvalues[curve.__name__] = tested.pvalue
        return {**pvalues, "omnibus": result.pvalue}

    return run


SPREADS = ("mean_slope", "spread_ratio", "spread_slope", "ence")
SCORES = ("crps", "rmse", "mae", "interval_score")


def spreads(n_clusters: int, size: int, draws: int, shared: str) -> Callable[[int], Numbers]:
    """Stated spreads that differ by row; clusters share a part of their labels, or the scale of all.

    With `draws` the predictions are so many draws of every row, otherwise Gaussians.
    """

    def run(seed: int) -> Numbers:
        rng = np.random.default_rng([28, seed])
        ids = np.repeat(np.arange(n_clusters), size)
        mean, std = rng.normal(size=ids.size), np.exp(0.5 * rng.normal(size=ids.size))
        own = rng.standard_normal(ids.size)
        if shared == "scale":  # Student's t with six degrees of freedom
            away = own / np.sqrt(rng.chisquare(6, size=n_clusters)[ids] / 6)
            drawn = rng.standard_t(6, size=(ids.size, draws))
        else:
            away = np.sqrt(0.3) * rng.standard_normal(n_clusters)[ids] + np.sqrt(0.7) * own
            drawn = rng.standard_normal((ids.size, draws))
            if shared == "skewed part":
                away, drawn = np.exp(0.6 * away), np.exp(0.6 * drawn)
        predictions = cr.Gaussian(mean, std)
        if draws:
            predictions = cr.Samples(mean[:, None] + std[:, None] * drawn, member_axis=1)
        result = cr.calibration_test(
            predictions,
            mean + std * away,
            statistics=[*SPREADS, *SCORES] if draws else SPREADS,
            n_resamples=REPLICATES,
            clusters=ids,
            rng=seed,
        )
        return {
            **{name: component.pvalue for name, component in result.components.items()},
            "omnibus": result.pvalue,
        }

    return run


SPREAD_WORLDS = {
    f"{n_clusters} clusters of {size}, {draws or 'no'} draws, shared {shared}": spreads(
        n_clusters, size, draws, shared
    )
    for n_clusters, size in ((20, 5), (40, 10))
    for draws, shared in ((0, "part"), (8, "part"), (20, "part"), (20, "scale"), (20, "skewed part"))
}


def rare_events(correlation: float) -> Callable[[int], Clustered]:
    """Forty clusters of five rows, in which six events are expected."""

    def world(seed: int) -> Clustered:
        rng = np.random.default_rng([25, seed])
        ids = np.repeat(np.arange(40), 5)
        p = rng.beta(1, 30, size=200)
        shared, own = rng.standard_normal(40)[ids], rng.standard_normal(200)
        ranks = ndtr(np.sqrt(correlation) * shared + np.sqrt(1 - correlation) * own)
        probs = np.stack([1 - p, p], axis=1)
        return probs, drawn(probs, ranks), ids

    return world


SHARPNESS = (0.5, 0.8, 1.0, 1.3, 1.7)


def checked(sizes: Sequence[int], correlation: float) -> Callable[[int], Numbers]:
    """Five members of different sharpness: one of them drew the labels, or their mean did."""

    def run(seed: int) -> Numbers:
        probs, _, ids = in_clusters(sizes, 0.0)(seed)
        rng = np.random.default_rng([26, seed])
        members = np.stack([temper(probs, one) for one in SHARPNESS], axis=1)
        shared, own = rng.standard_normal(len(sizes))[ids], rng.standard_normal(ids.size)
        ranks = ndtr(np.sqrt(correlation) * shared + np.sqrt(1 - correlation) * own)
        truths = {"bayesian": members[:, rng.integers(5)], "independent": members.mean(axis=1)}
        found = {}
        for name, truth in truths.items():
            check = cr.predictive_check(
                members,
                drawn(truth, ranks),
                statistics=["accuracy", "brier", "confidence_ece", "classwise_ece"],
                hypothesis=name,
                n_resamples=REPLICATES,
                clusters=ids,
                rng=seed,
            ).under(name)
            found |= {f"{one}, {name}": result.pvalue for one, result in check.checks.items()}
        return found

    return run


def curves_covered(sizes: Sequence[int], correlation: float) -> Callable[[int], Numbers]:
    """Slope 1 and intercept 0 of calibrated rows, and what acting at three thresholds costs."""
    even = (np.arange(1_000_000) + 0.5) / 1_000_000 * 0.9 + 0.05
    truth = {t: float(np.mean(np.where(even > t, t * (1 - even), (1 - t) * even))) for t in (0.25, 0.5, 0.75)}

    def run(seed: int) -> Numbers:
        rng = np.random.default_rng([27, seed])
        ids = np.repeat(np.arange(len(sizes)), sizes)
        p = rng.uniform(0.05, 0.95, size=ids.size)
        shared, own = rng.standard_normal(len(sizes))[ids], rng.standard_normal(ids.size)
        labels = (ndtr(np.sqrt(correlation) * shared + np.sqrt(1 - correlation) * own) < p).astype(int)
        probs = np.stack([1 - p, p], axis=1)
        fit = cr.statistics.logistic_calibration(probs, labels, clusters=ids)
        found = {}
        for estimate, value in ((fit.slope, 1.0), (fit.intercept, 0.0), (fit.in_the_large, 0.0)):
            low, high = estimate.interval() if estimate.has_interval else (np.nan, np.nan)
            found[estimate.name] = float(low <= value <= high) if np.isfinite(low) else np.nan
        curve = cr.selection.murphy_curve(probs, labels, n_points=3, clusters=ids)
        for t, value, low, high in zip(truth, truth.values(), *curve.band, strict=True):
            found[f"cost at {t}"] = float(low <= value <= high) if np.isfinite(low) else np.nan
        return found

    return run


def independent_rows(seed: int) -> Numbers:
    """Rows that are independent, tested as forty clusters and as what they are."""
    probs, labels, ids = in_clusters([25] * 40, 0.0, exponent=0.75)(seed)
    pvalues = {}
    for words, how in {"as clusters": {"clusters": ids}, "as rows": {}}.items():
        for name in ("brier", "confidence_ece", "skce"):
            result = cr.calibration_test(
                probs, labels, statistics=name, n_resamples=REPLICATES, rng=seed, **how
            )
            pvalues[f"{name}, {words}"] = result.pvalue
    return pvalues


NULL = {
    "40 clusters of 25, correlation .1": pvalues(in_clusters([25] * 40, 0.1)),
    "40 clusters of 25, correlation .3": pvalues(in_clusters([25] * 40, 0.3)),
    "20 clusters of 500, correlation .05": pvalues(in_clusters([500] * 20, 0.05), LARGE),
    "20 clusters of 500, correlation .1": pvalues(in_clusters([500] * 20, 0.1), LARGE),
    "20 unequal clusters, correlation .3": pvalues(in_clusters(UNEQUAL, 0.3)),
    "12 clusters of 25, correlation .3": pvalues(in_clusters([25] * 12, 0.3)),
    "100 unequal clusters, two classes, correlation .2": pvalues(in_clusters(HUNDRED, 0.2, k=2), LARGE),
    "400 unequal clusters, ten classes, correlation .3": pvalues(in_clusters(MANY_UNEQUAL, 0.3, k=10), LARGE),
    "30 clusters of 20 with one prediction each, correlation .5": pvalues(
        in_clusters([20] * 30, 0.5, alike=True)
    ),
    "40 clusters of 10 that share one rank": pvalues(in_clusters([10] * 40, 1.0)),
    "1000 rows in time, memory .7, blocks of 40": pvalues(in_time(1000, 0.7), blocks=40),
    "6000 rows in time, memory .9, two classes, blocks of 200": pvalues(
        in_time(6000, 0.9, k=2), LARGE, blocks=200
    ),
}


# Intervals


def expected(k: int) -> dict[str, float]:
    """Return what the scores are for calibrated predictions that are uniform on the simplex."""
    probs = np.random.default_rng(0).dirichlet(np.ones(k), size=1_000_000)
    return {
        "accuracy": float(probs.max(axis=1).mean()),
        "brier": float(1 - (probs**2).sum(axis=1).mean()),
        "log_loss": float(-(probs * np.log(np.maximum(probs, 1e-300))).sum(axis=1).mean()),
        "confidence_gap": 0.0,
    }


def covered(world: Callable[[int], Clustered], k: int) -> Callable[[int], Numbers]:
    truth: dict[str, float] = {}

    def run(seed: int) -> Numbers:
        truth.update({} if truth else expected(k))
        probs, labels, ids = world(seed)
        values = {}
        for name, value in truth.items():
            estimate = getattr(cr, name)(probs, labels, clusters=ids)
            values[name] = float("nan")
            if estimate.has_interval:
                low, high = estimate.interval()
                values[name] = float(low <= value <= high)
        return values

    return run


RATERS = 5
PATIENT = 0.7
"""Spread of what a patient adds to the logits of the truth, which the model does not know."""


def patients(n_clusters: int, size: int, rng: np.random.Generator) -> tuple[np.ndarray, ...]:
    ids = np.repeat(np.arange(n_clusters), size)
    logits = rng.normal(size=(ids.size, 3))
    truth = temper(np.exp(logits + PATIENT * rng.normal(size=(n_clusters, 3))[ids]), 1.0)
    return temper(np.exp(logits), 1.0), truth, ids


def raters_covered(n_clusters: int, size: int) -> Callable[[int], Numbers]:
    known: list[float] = []

    def run(seed: int) -> Numbers:
        if not known:
            model, truth, _ = patients(100_000, 5, np.random.default_rng(1))
            known.append(float(((model - truth) ** 2).sum(axis=1).mean()))
        rng = np.random.default_rng([24, seed])
        model, truth, ids = patients(n_clusters, size, rng)
        counts = cr.LabelCounts(rng.multinomial(RATERS, truth))
        estimate = cr.raters.decompose_loss(model, counts, clusters=ids).epistemic
        if not estimate.has_interval:
            return {"epistemic": float("nan")}
        low, high = estimate.interval()
        return {"epistemic": float(low <= known[0] <= high)}

    return run


COVERED = {
    "20 clusters of 25, correlation .3": covered(in_clusters([25] * 20, 0.3), 3),
    "60 clusters of 10, correlation .3": covered(in_clusters([10] * 60, 0.3), 3),
    "20 unequal clusters, correlation .3": covered(in_clusters(UNEQUAL, 0.3), 3),
    "20 unequal clusters of independent rows": covered(in_clusters(UNEQUAL, 0.0), 3),
    "20 clusters of 500, two classes, correlation .1": covered(in_clusters([500] * 20, 0.1, k=2), 2),
    "400 unequal clusters, ten classes, correlation .3": covered(in_clusters(MANY_UNEQUAL, 0.3, k=10), 10),
}

CLUSTER_ROWS = (
    *(
        Row(
            "calibration_test",
            f"clusters: {name}",
            "null",
            run,
            conservative=True,
            few=0 if "00 rows" in name or "500" in name else 3,
        )
        for name, run in NULL.items()
    ),
    Row(
        "calibration_test",
        "clusters: 6 clusters of 25, correlation .3",
        "null",
        pvalues(in_clusters([25] * 6, 0.3)),
        conservative=True,
        slack=0.02,
        few=3,
    ),
    Row(
        "calibration_test",
        "clusters: 40 clusters of 25 real values, correlation .3",
        "null",
        real_values(40, 25, 0.3),
        conservative=True,
        few=3,
    ),
    *(
        Row("calibration_test", f"clusters: spread, {name}", "null", run, conservative=True, few=2)
        for name, run in SPREAD_WORLDS.items()
    ),
    *(
        Row(
            "calibration_test",
            f"clusters: six events in 40 clusters of 5, correlation {correlation}",
            "null",
            pvalues(rare_events(correlation), (*LINEAR, *CELLS, "ecce")),
            conservative=True,
            few=6,
        )
        for correlation in (0.0, 0.2)
    ),
    *(
        Row("predictive_check", f"clusters: {name}", "null", checked(sizes, 0.3), conservative=True, few=few)
        for name, sizes, few in (("50 patients of 12", [12] * 50, 6), ("20 unequal", UNEQUAL, 0))
    ),
    Row(
        "calibration_test",
        "clusters: independent rows, overconfident",
        "alternative",
        independent_rows,
        few=4,
    ),
    *(
        Row(
            "Estimate.interval",
            f"clusters: {name}",
            "interval",
            run,
            slack=0.01,
            few=0 if "00 rows" in name or "500" in name else 3,
        )
        for name, run in COVERED.items()
    ),
    *(
        Row(
            "logistic_calibration",
            f"clusters: {name}",
            "interval",
            curves_covered(sizes, 0.3),
            slack=0.01,
            few=few,
        )
        for name, sizes, few in (("50 patients of 12", [12] * 50, 6), ("20 unequal", UNEQUAL, 0))
    ),
    *(
        Row(
            "decompose_loss",
            f"clusters: {n_clusters} patients of {size} images",
            "interval",
            raters_covered(n_clusters, size),
            slack=0.01,
            few=3,
        )
        for n_clusters, size in ((60, 10), (20, 25))
    ),
)
