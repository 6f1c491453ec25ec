"""Everything public that takes arrays, as functions of where arrays are made."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from typing import Any

import array_api_compat
import numpy as np

import credibly as cr
from credibly.predictions import PredictionIntervals
from credibly_studies.p21 import member_functions, observation_check
from credibly_studies.simplex_maps import error_over_simplex, error_over_weights

N, M, K = 36, 3, 3
LEVELS = (np.arange(1, 20) / 20).tolist()

Make = Callable[..., Any]
"""Turns a NumPy array into one of another library, on a device."""
Case = Callable[[Make], Any]

_rng = np.random.default_rng(3)
MEMBERS = _rng.dirichlet(np.ones(K), size=(N, M))
OTHERS = _rng.dirichlet(np.ones(K), size=(N, M))
LABELS = np.where(_rng.random(N) < 0.6, MEMBERS.mean(axis=1).argmax(axis=1), _rng.integers(K, size=N))
COUNTS = _rng.multinomial(4, np.full(K, 1 / K), size=N)
FEATURES = _rng.normal(size=(N, 2))
MEANS, STDS = _rng.normal(size=(N, M)), _rng.uniform(0.5, 1.5, size=(N, M))
DRAWS = _rng.normal(size=(N, M, 60))
REALS = 1.3 * _rng.normal(size=N)
WEIGHTS = np.arange(N) % 3 + 1.0
MASSES = _rng.dirichlet(np.ones(4), size=N)
JOINT = _rng.normal(size=(N, 60))
FOCAL_SETS = [(0,), (1,), (0, 2), (0, 1, 2)]


def ensemble(make: Make) -> cr.Ensemble:
    return cr.Ensemble(make(MEMBERS))


def intervals(make: Make) -> cr.Intervals:
    return cr.Intervals(make(MEMBERS.min(axis=1)), make(MEMBERS.max(axis=1)))


def belief(make: Make) -> cr.Belief:
    return cr.Belief(make(MASSES), FOCAL_SETS, K)


def gaussian(make: Make) -> cr.Gaussian:
    return cr.Gaussian(make(MEANS), make(STDS))


def samples(make: Make) -> cr.Samples:
    return cr.Samples(make(DRAWS))


def quantiles(make: Make) -> cr.Quantiles:
    return cr.Quantiles(make(np.sort(DRAWS[:, 0, : len(LEVELS)], axis=1)), LEVELS)


def audited(predictions: Any, labels: Any, clustered: bool = False) -> cr.results.AuditResult:
    """Audit two groups, of single rows or of pairs."""
    rows = np.arange(len(predictions))
    settings: dict[str, Any] = {"groups": rows % 2, "min_size": 1, "n_resamples": 39, "rng": 7}
    return cr.audit(predictions, labels, clusters=rows // 2 if clustered else None, **settings)


def _share(predictions: Any, labels: Any) -> Any:
    xp = predictions.xp
    return xp.mean(xp.astype(labels == 0, xp.float64))


def _shares(predictions: Any, labels: Any) -> Any:
    xp = predictions.xp
    return xp.mean(xp.astype(labels == 0, xp.float64), axis=1)


USER = cr.statistic(_share, tail="two-sided", name="share")
BATCHED = cr.statistic(_shares, tail="two-sided", batched=True, name="shares")


def _statistics() -> Iterator[tuple[str, Case]]:
    """Yield every registered statistic: its value, and its test by resampling."""
    for name, statistic in {**cr.statistics.registered(), "share": USER, "shares": BATCHED}.items():
        real = "classes" not in statistic.traits.labels
        predictions, labels = (gaussian, REALS) if real else (ensemble, LABELS)

        def value(make: Make, one: Any = statistic, given: Any = predictions, labels: Any = labels) -> Any:
            return one(given(make), make(labels))

        def weighted(make: Make, one: Any = statistic, given: Any = predictions, labels: Any = labels) -> Any:
            return one(given(make), make(labels), sample_weight=make(WEIGHTS))

        def test(make: Make, one: Any = statistic, given: Any = predictions, labels: Any = labels) -> Any:
            return cr.calibration_test(given(make), make(labels), statistics=one, n_resamples=39, rng=7)

        yield name, value
        if statistic.traits.multiplicities:
            yield f"{name} weighted", weighted
        yield f"calibration_test {name}", test


def _tests() -> Iterator[tuple[str, Case]]:
    def calibration(**settings: Any) -> Case:
        return lambda make: cr.calibration_test(
            ensemble(make), make(LABELS), n_resamples=39, rng=7, **settings
        )

    yield "calibration_test omnibus", calibration(statistics="omnibus")
    for name, given in (("samples", samples), ("quantiles", quantiles)):
        yield (
            f"calibration_test {name}",
            lambda make, given=given: cr.calibration_test(given(make), make(REALS), n_resamples=39, rng=7),
        )

    def credal(**settings: Any) -> Case:
        return lambda make: cr.hypotests.weights_test(
            ensemble(make), make(LABELS), features=make(FEATURES), rng=7, n_resamples=9, **settings
        )

    for weights in ("mean", "constant"):
        yield f"weights_test {weights}", credal(weights=weights)
    for learner in ("boundary", "gating"):
        yield f"weights_test {learner}", credal(learner=learner, refit=False, split=0.5)
    yield (
        "credal_test",
        lambda make: cr.credal_test(ensemble(make), make(LABELS), n_resamples=9, rng=7),
    )
    yield (
        "witness_test",
        lambda make: cr.hypotests.witness_test(ensemble(make), make(LABELS), features=make(FEATURES), rng=7),
    )
    yield "weights_test omnibus", credal(weights="mean", statistics=("skce", "brier"))
    yield (
        "validity_test",
        lambda make: cr.validity_test(ensemble(make), cr.LabelCounts(make(COUNTS)), n_resamples=39, rng=7),
    )
    yield (
        "predictive_check",
        lambda make: cr.predictive_check(ensemble(make), make(LABELS), n_resamples=39, rng=7),
    )
    yield (
        "predictive_check reals",
        lambda make: cr.predictive_check(gaussian(make), make(REALS), n_resamples=39, rng=7),
    )
    yield "audit", lambda make: audited(ensemble(make), make(LABELS))
    yield "audit clusters", lambda make: audited(ensemble(make), make(LABELS), clustered=True)
    for name, kind in (("intervals", intervals), ("belief", belief)):
        yield f"audit {name}", lambda make, kind=kind: audited(kind(make), make(LABELS))
    for name, kind in (("gaussian", gaussian), ("samples", samples), ("quantiles", quantiles)):
        yield f"audit {name}", lambda make, kind=kind: audited(kind(make), make(REALS))
    for name in ("pit_test", "coverage_curve"):
        test = getattr(cr, name)
        yield name, lambda make, test=test: test(gaussian(make), make(REALS), n_resamples=39, rng=7)
    yield "plan_labels", lambda make: cr.plan_labels(ensemble(make), gap=0.05)
    yield (
        "detection",
        lambda make: cr.selection.detection(ensemble(make), make(LABELS), n_resamples=39, rng=7),
    )
    yield (
        "decision_costs",
        lambda make: cr.selection.decision_costs(ensemble(make), make(LABELS), costs=1.0 - np.eye(K)),
    )
    yield (
        "murphy_curve",
        lambda make: cr.selection.murphy_curve(
            make(MEMBERS[:, :, :2].mean(axis=1) / MEMBERS[:, :, :2].mean(axis=1).sum(axis=1, keepdims=True)),
            make(LABELS % 2),
        ),
    )
    yield (
        "set_coverage reals",
        lambda make: cr.hypotests.set_coverage(
            PredictionIntervals(make(MEANS[:, 0] - 1.0), make(MEANS[:, 0] + 1.0), 0.7), make(REALS), rng=7
        ),
    )
    yield (
        "set_coverage",
        lambda make: cr.hypotests.set_coverage(
            cr.PredictionSets(make(MEMBERS.mean(axis=1) > 0.2), 0.8), make(LABELS), rng=7
        ),
    )
    yield (
        "spread_curve",
        lambda make: cr.hypotests.spread_curve(gaussian(make), make(REALS), n_resamples=39, rng=7),
    )
    yield "decompose_crps", lambda make: cr.hypotests.decompose_crps(gaussian(make), make(REALS))
    yield "observation_check", lambda make: observation_check(gaussian(make), make(REALS))
    yield (
        "reliability_curve",
        lambda make: cr.reliability_curve(ensemble(make), make(LABELS), n_resamples=39, rng=7),
    )
    yield (
        "logistic_calibration",
        lambda make: cr.statistics.logistic_calibration(
            make(MEMBERS[:, 0, :2] / MEMBERS[:, 0, :2].sum(1, keepdims=True)), make(LABELS % 2)
        ),
    )
    for bins in (1, 4):
        yield (
            f"certificate {bins}",
            lambda make, bins=bins: cr.hypotests.certificate(
                ensemble(make), make(LABELS), statistic=cr.confidence_ece.with_(n_bins=bins)
            ),
        )
    yield (
        "corp_curve",
        lambda make: cr.corp_curve(ensemble(make), make(LABELS), n_resamples=39, rng=7),
    )
    yield (
        "inflate",
        lambda make: cr.inflate(ensemble(make), make(LABELS), resolution=0.5, n_draws=1, rng=7),
    )
    yield (
        "member_functions",
        lambda make: member_functions(gaussian(make), make(REALS), x=make(FEATURES[:, 0]), rng=7),
    )


def _credal() -> Iterator[tuple[str, Case]]:
    for kind, given in {"hull": ensemble, "intervals": intervals, "belief": belief}.items():
        for name in (
            "upper_probability",
            "lower_probability",
            "upper_entropy",
            "lower_entropy",
            "size",
            "uncertainty",
            "decision",
            "mass_function",
        ):
            yield (
                f"{name} {kind}",
                lambda make, given=given, name=name: getattr(cr.credal, name)(given(make), rng=7),
            )
        yield f"vertices {kind}", lambda make, given=given: cr.credal.vertices(given(make))
        yield (
            f"contains {kind}",
            lambda make, given=given: cr.credal.contains(given(make), make(OTHERS[:, 0]), rng=7),
        )
        yield (
            f"boundary {kind}",
            lambda make, given=given: cr.credal.boundary(given(make), make(OTHERS[:, 0]), rng=7),
        )
        for measure in ("hartley", "dubois_prade", "smets", "koerner", "pal"):
            yield (
                f"nonspecificity {measure} {kind}",
                lambda make, given=given, measure=measure: cr.credal.nonspecificity(
                    given(make), measure=measure, negative="clamp" if measure == "smets" else "keep"
                ),
            )
        yield (
            f"nonspecificity_estimate {kind}",
            lambda make, given=given: (
                cr.credal.nonspecificity_estimate(given(make), n_events=64, rng=7).values
            ),
        )
        yield (
            f"distance {kind}",
            lambda make, given=given: cr.credal.distance(given(make), make(LABELS), rng=7),
        )
        yield (
            f"epistemic_score {kind}",
            lambda make, given=given: cr.epistemic_score(given(make), make(LABELS)),
        )
    yield "focal_budget", lambda make: cr.credal.focal_budget(ensemble(make), 5)
    yield (
        "as_set",
        lambda make: cr.credal.as_set(cr.Dirichlet(make(8.0 * MEMBERS[:, 0])), n_samples=5, rng=7).probs,
    )
    yield (
        "rank_models",
        lambda make: cr.rank_models(
            {"a": ensemble(make), "b": cr.Ensemble(make(OTHERS))}, make(LABELS), n_resamples=100
        ),
    )
    yield "score_from_parts", own_score
    yield "rank_scores", lambda make: cr.selection.rank_scores({"a": own_score(make)}, n_resamples=100)
    yield (
        "replicate_test",
        lambda make: cr.hypotests.replicate_test(
            point(make),
            make(LABELS),
            [(point(make), make(np.roll(LABELS, shift))) for shift in range(1, 20)],
            statistics="brier",
        ),
    )


def own_score(make: Make) -> object:
    """Return a score with the imprecision of its own: twice the size of the set."""
    given = ensemble(make)
    parts = cr.credal.distance(given, make(LABELS), rng=7), 2.0 * cr.credal.nonspecificity(given)
    return cr.selection.score_from_parts(given, make(LABELS), *parts)


RECALIBRATIONS: dict[str, Callable[[], cr.recalibrate.Recalibration]] = {
    "TemperatureScaling": cr.recalibrate.TemperatureScaling,
    "MemberTemperatures": cr.recalibrate.MemberTemperatures,
    "BiasScaling": cr.recalibrate.BiasScaling,
    "PlattScaling": cr.recalibrate.PlattScaling,
    "NoiseScaling": cr.recalibrate.NoiseScaling,
    "ColumnOrder": cr.recalibrate.ColumnOrder,
}
OF_ONE_DISTRIBUTION: dict[str, Callable[[], cr.recalibrate.Recalibration]] = {
    "CurveScaling": cr.recalibrate.CurveScaling,
    "BetaScaling": cr.recalibrate.BetaScaling,
    "IsotonicRecalibration of classes": cr.recalibrate.IsotonicRecalibration,
    "VectorScaling": cr.recalibrate.VectorScaling,
    "MatrixScaling": cr.recalibrate.MatrixScaling,
    "Chain": lambda: cr.recalibrate.Chain(
        [cr.recalibrate.TemperatureScaling(), cr.recalibrate.VectorScaling()]
    ),
}


def point(make: Make) -> cr.Point:
    return cr.Point(make(MEMBERS.mean(axis=1)))


def fitted(method: Callable[[], cr.recalibrate.Recalibration], given: Callable[[Make], Any]) -> Case:
    """Return what a fitted recalibration makes of the predictions it was fitted on."""
    return lambda make: method().fit(given(make), make(LABELS)).apply(given(make))._leading


OF_REALS: dict[str, Callable[[], cr.recalibrate.Recalibration]] = {
    "SpreadScaling": cr.recalibrate.SpreadScaling,
    "LocationScaling": cr.recalibrate.LocationScaling,
    "TailScaling": cr.recalibrate.TailScaling,
    "SkewScaling": cr.recalibrate.SkewScaling,
    "IsotonicRecalibration": cr.recalibrate.IsotonicRecalibration,
    "QuantileShift": cr.recalibrate.QuantileShift,
}


def _others() -> Iterator[tuple[str, Case]]:
    for name, method in OF_REALS.items():
        yield (
            name,
            lambda make, method=method: (
                method().fit(gaussian(make), make(REALS)).apply(gaussian(make)).quantile([0.1, 0.5, 0.9])
            ),
        )
    for name, method in RECALIBRATIONS.items():
        yield name, fitted(method, ensemble)
    for name, method in OF_ONE_DISTRIBUTION.items():
        yield name, fitted(method, point)
    yield (
        "VennAbers",
        lambda make: (
            cr.recalibrate.VennAbers()
            .fit(cr.Point.from_logits(make(MEMBERS[:, 0, :2])), make(LABELS % 2))
            .apply(cr.Point.from_logits(make(MEMBERS[:, 1, :2])))
        ),
    )
    for method, given in (
        (cr.recalibrate.AlphaCalibration, lambda make: cr.Point(make(MEMBERS[:, 0]))),
        (cr.recalibrate.IgnoranceCalibration, ensemble),
    ):
        yield (
            method.__name__,
            lambda make, method=method, given=given: (
                method().fit(given(make), cr.LabelCounts(make(COUNTS))).apply(given(make)).alpha
            ),
        )
    yield (
        "CredalRecalibration",
        fitted(lambda: cr.recalibrate.CredalRecalibration(temperatures="shared", rng=7), ensemble),
    )
    yield "decompose_brier", lambda make: cr.decompose_brier(ensemble(make), make(LABELS))
    for name in ("decompose_loss", "decompose_disagreement"):
        yield (
            name,
            lambda make, name=name: getattr(cr.raters, name)(ensemble(make), cr.LabelCounts(make(COUNTS))),
        )
        yield (
            f"{name} scan",
            lambda make, name=name: getattr(cr.raters, name)(
                cr.scan([(ensemble(make), cr.LabelCounts(make(COUNTS)))] * 2, engine="serial")
            ),
        )
    yield from _second_labels()
    yield "disagreement", lambda make: cr.credal.disagreement(ensemble(make))
    for score in (cr.statistics.energy_score, cr.statistics.variogram_score):
        yield score.__name__, lambda make, score=score: score(make(DRAWS), make(JOINT))
    yield (
        "joint_test",
        lambda make: cr.hypotests.joint_test(make(DRAWS), make(JOINT), n_resamples=39, rng=7),
    )
    yield "pit", lambda make: cr.pit(gaussian(make), make(REALS))
    yield "risk_coverage_curve", lambda make: cr.risk_coverage_curve(ensemble(make), make(LABELS))
    yield (
        "mean_over",
        lambda make: cr.credal.mean_over(
            cr.scan([(ensemble(make), make(LABELS))] * 2, engine="serial"), cr.credal.distance
        ),
    )
    yield (
        "error_over_simplex",
        lambda make: error_over_simplex(ensemble(make), make(LABELS), n_steps=4),
    )
    yield (
        "error_over_weights",
        lambda make: error_over_weights(ensemble(make), make(LABELS), n_steps=4),
    )
    yield (
        "recalibration_report",
        lambda make: cr.recalibration_report(ensemble(make), make(LABELS), n_resamples=9),
    )
    yield (
        "evaluate",
        lambda make: cr.evaluate(ensemble(make), make(LABELS), n_resamples=9, rng=7),
    )
    few = slice(0, 7)  # too few to learn weights from, which `evaluate` above does
    yield (
        "evaluate counts",
        lambda make: cr.evaluate(
            cr.Ensemble(make(MEMBERS[few])), cr.LabelCounts(make(COUNTS[few])), n_resamples=9, rng=7
        ),
    )
    yield "diagnose", _diagnosed
    yield (
        "diagnose counts",
        lambda make: cr.diagnose(ensemble(make), cr.LabelCounts(make(COUNTS)), n_resamples=39, rng=7),
    )
    yield (
        "diagnose reals",
        lambda make: cr.diagnose(
            cr.Gaussian(make(MEANS), make(0.2 * STDS)), make(REALS), n_resamples=39, rng=7
        ),
    )
    yield "evaluate reals", lambda make: cr.evaluate(gaussian(make), make(REALS), n_resamples=9, rng=7)
    yield (
        "compare",
        lambda make: cr.compare(
            {"a": ensemble(make), "b": cr.Ensemble(make(OTHERS))}, make(LABELS), n_resamples=100
        ),
    )
    yield "scan", lambda make: cr.brier(cr.scan(ensemble(make), make(LABELS), chunk_rows=10, engine="serial"))
    yield "RunningStatistic", _running
    yield "Basis", lambda make: cr.learners.Basis().fit(make(FEATURES)).columns(make(FEATURES))


def _second_labels() -> Iterator[tuple[str, Case]]:
    draws: dict[str, Any] = {"n_resamples": 39, "rng": 7}
    for name in ("ignorance", "spread_test"):
        yield (
            name,
            lambda make, name=name: getattr(cr.raters, name)(
                ensemble(make), cr.LabelCounts(make(COUNTS)), **draws
            ),
        )
    yield "entropy_split", lambda make: cr.raters.entropy_split(ensemble(make), cr.LabelCounts(make(COUNTS)))
    yield "plan_second_labels", lambda make: cr.raters.plan_second_labels(ensemble(make), 5)


def _diagnosed(make: Make) -> cr.diagnosis.Diagnosis:
    """Diagnose an overconfident model, on enough rows for the test to find it and for repairs to be tried."""
    sharp = MEMBERS[:, 0] ** 2 / (MEMBERS[:, 0] ** 2).sum(axis=1, keepdims=True)
    point, labels = cr.Point(make(np.tile(sharp, (4, 1)))), make(np.tile(LABELS, 4))
    return cr.diagnose(point, labels, groups=np.arange(len(point)) % 2, n_resamples=39, rng=7)


def _running(make: Make) -> Any:
    running = cr.statistics.RunningStatistic("confidence_ece")
    for rows in (slice(0, 20), slice(20, N)):
        running.update(make(MEMBERS[rows]), make(LABELS[rows]))
    return running.compute()


LINEAR_PROGRAMS = "linear programs"
DRAWS_OF_SETS = "draws of distributions"
CORNERS = "the search of corners"
OPTIMISERS = "optimisers"
WITNESSES = "witnesses of sets"
RATERS = "how many raters a row has"
SECOND = "laws of several labels, and what they show"
JOINTLY = "distances between joint draws"
BOOTSTRAP = "the bootstrap of scores"
PICTURES = "what the studies only draw"
PLACES = "places of labels in their predictions"
DECIDED = "one uncertainty, answer and label per instance"
DIAGNOSED = "the search for faults and their repairs"
AUDITED = "audits of sets, draws and quantiles"
LEAVES: dict[str, str] = {
    "audit clusters": "residuals of clusters",
    **dict.fromkeys(("audit intervals", "audit belief", "audit samples", "audit quantiles"), AUDITED),
    "risk_coverage_curve": "the order of answers by confidence",
    "corp_curve": "isotonic regression",
    "decompose_crps": "isotonic regression",
    **dict.fromkeys(("diagnose", "diagnose counts", "diagnose reals"), DIAGNOSED),
    "detection": DECIDED,
    "decision_costs": DECIDED,
    "murphy_curve": DECIDED,
    "set_coverage": "sets with a claimed coverage",
    "set_coverage reals": "sets with a claimed coverage",
    "logistic_calibration": OPTIMISERS,
    "contains hull": LINEAR_PROGRAMS,
    "boundary hull": LINEAR_PROGRAMS,
    "as_set": DRAWS_OF_SETS,
    "lower_entropy intervals": CORNERS,
    "uncertainty intervals": CORNERS,
    "focal_budget": "clustering of classes",
    "TemperatureScaling": OPTIMISERS,
    "SpreadScaling": OPTIMISERS,
    "LocationScaling": OPTIMISERS,
    "TailScaling": PLACES,
    "SkewScaling": PLACES,
    "IsotonicRecalibration": PLACES,
    "QuantileShift": PLACES,
    "MemberTemperatures": OPTIMISERS,
    "BiasScaling": OPTIMISERS,
    "PlattScaling": OPTIMISERS,
    "NoiseScaling": OPTIMISERS,
    "ColumnOrder": OPTIMISERS,
    "CurveScaling": OPTIMISERS,
    "BetaScaling": OPTIMISERS,
    "IsotonicRecalibration of classes": "isotonic regression",
    "VennAbers": "isotonic regression",
    "VectorScaling": OPTIMISERS,
    "MatrixScaling": OPTIMISERS,
    "Chain": OPTIMISERS,
    **dict.fromkeys(("AlphaCalibration", "IgnoranceCalibration"), OPTIMISERS),
    "weights_test constant": OPTIMISERS,
    "credal_test": WITNESSES,
    "witness_test": WITNESSES,
    "validity_test": RATERS,
    "decompose_loss": RATERS,
    "decompose_loss scan": RATERS,
    "decompose_disagreement": RATERS,
    "decompose_disagreement scan": RATERS,
    **dict.fromkeys(("ignorance", "spread_test", "entropy_split", "plan_second_labels"), SECOND),
    **dict.fromkeys(("energy_score", "variogram_score", "joint_test"), JOINTLY),
    "augrc": "the order of answers by confidence",
    "rank_models": BOOTSTRAP,
    "rank_scores": BOOTSTRAP,
    "member_functions": PICTURES,
    "error_over_simplex": PICTURES,
    "Basis": "knots of a basis",
}
"""What moves its rows to the host and brings its result back, and why; docs/scale.md lists the reasons."""

LEARNED = ("weights_test", "credal_test", "CredalRecalibration", "evaluate", "inflate")
"""Where weights are learned again for every replicate, by steps that stop where they gain no more."""


def every() -> dict[str, Case]:
    """Return all cases by name, of the predictions that `ensemble`, `gaussian` and `samples` make now."""
    found = [*_statistics(), *_tests(), *_credal(), *_others()]
    cases = dict(found)
    assert len(cases) == len(found)  # no case hides another of its name
    return cases


CASES = every()


def facts(value: Any, name: str = "result") -> Iterator[tuple[str, Any]]:
    """Yield every number, text and array inside a result, with the way to it."""
    if array_api_compat.is_array_api_obj(value):
        yield name, value
    elif isinstance(value, dict):
        for key, one in value.items():
            yield from facts(one, f"{name}[{key!r}]")
    elif isinstance(value, frozenset):
        yield from facts(sorted(value), name)
    elif isinstance(value, (tuple, list)):
        for place, one in enumerate(value):
            yield from facts(one, f"{name}[{place}]")
    elif hasattr(value, "row_fields"):  # predictions: their arrays
        for field in value.row_fields:
            yield f"{name}.{field}", getattr(value, field)
    elif dataclasses.is_dataclass(value) and not isinstance(value, (type, cr.statistics.Statistic)):
        for field in dataclasses.fields(value):
            yield from facts(getattr(value, field.name), f"{name}.{field.name}")
    elif isinstance(value, (float, int, str)) or value is None:
        yield name, value
