"""Every public call that `tools/record_results.py` records: a path and what to call."""

from __future__ import annotations

import contextlib
import functools
import io
import itertools
import json
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from recorded_inputs import (
    CLASS_KINDS,
    COLUMNS,
    DRAWS,
    EVERYWHERE,
    FOCAL_SETS,
    KINDS,
    MEAN,
    MEANS,
    MEMBERS,
    MEMORY,
    OTHERS,
    PLACES,
    REAL_KINDS,
    ROWS,
    SETS,
    STDS,
    Given,
    K,
    N,
    as_dask,
    as_numpy,
    as_torch,
    column,
    cr,
)

Case = tuple[str, Callable[[], Any]]
"""Path and call of one recorded result."""
FEW = {"n_resamples": 29, "rng": 7}
UNNAMED = ("rng", "n_resamples", "n_draws")
"""Settings that stand in no path: they only make a call quick and repeatable."""
BINNED = (
    {"n_bins": 5},
    {"binning": "equal_mass"},
    {"closed": "right"},
    {"p": 2.0},
    {"p": 2.0, "debiased": True},
)
PAIRED = ({"kernel": "gaussian"}, {"bandwidth": 0.5})
STATISTICS: dict[str, tuple[dict[str, Any], ...]] = {
    "accuracy": (),
    "brier": (),
    "log_loss": ({"clip": 1e-3}, {"clip": 1e-10}),
    "confidence_ece": (*BINNED, {"n_bins": 10, "closed": "right"}),
    "classwise_ece": (*BINNED, {"n_bins": 10, "closed": "right"}),
    "top_label_ece": BINNED,
    "hosmer_lemeshow": ({"n_bins": 5}, {"grouping": "confidence"}, {"n_bins": 5, "binning": "equal_mass"}),
    "skce": PAIRED,
    "mmd_ce": (*PAIRED, {"label_kernel": "ordinal"}),
    "kde_ce": ({"bandwidth": 0.1}, {"p": 1.0}),
    "kl_ce": ({"bandwidth": 0.1}, {"clip": 1e-3}),
    **dict.fromkeys(
        ("confidence_gap", "ecce", "ici", "rps", "smooth_ece", "spiegelhalter_z", "t_cal", "truthful_ce"), ()
    ),
    **dict.fromkeys(("e50", "e90", "emax"), ({"target": 1},)),
    **dict.fromkeys(("brier_skill", "log_loss_skill", "augrc"), ()),
    "net_benefit": ({"threshold": 0.2},),
}
REAL_STATISTICS: dict[str, tuple[dict[str, Any], ...]] = {
    "picp": ({"level": 0.5},),
    "quantile_calibration_error": ({"levels": 10},),
    "crps": ({"estimator": "fair"},),
    "gaussian_log_loss": (),
    "interval_score": ({"level": 0.5},),
    "pinball_loss": ({"level": 0.5},),
    "wis": (),
    "sharpness": ({"level": 0.5},),
    "rmse": (),
    "mae": (),
    "mean_slope": (),
    "spread_ratio": (),
    "spread_slope": (),
    "ence": ({"n_bins": 5},),
    "skce": (
        {"label_bandwidth": "median"},
        {"label_bandwidth": 0.5, "bandwidth": 0.5},
    ),
}
WITH_MEMBERS = ("ensemble", "weighted", "dirichlets", "gaussians", "member_samples")
WEIGHTED = ("numpy", "torch", "chunks", "dask")
"""Places that take weights: files and lists of parts do not."""
DIFFERENTIABLE = ("brier", "log_loss", "skce", "mmd_ce", "kde_ce", "kl_ce")


def words(settings: dict[str, Any]) -> str:
    """Write settings as one part of a path; what is no word, number or list of words is "given"."""

    def word(value: Any) -> str:
        if isinstance(value, list | tuple) and all(isinstance(one, str) for one in value):
            return "+".join(value)
        return str(value) if isinstance(value, str | int | float) else "given"

    return (
        ",".join(f"{name}={word(value)}" for name, value in settings.items() if name not in UNNAMED)
        or "default"
    )


def over(function: str, given: Given, places: tuple[str, ...] = MEMORY, /, **settings: Any) -> Iterator[Case]:
    """Yield one call of a function for every place where its rows may be."""
    for place in places:
        path = "/".join(
            (function, *filter(None, (given.kind, given.labels, *given.beside)), words(settings), place)
        )
        yield path, functools.partial(called, function, given, place, settings)


def called(function: str, given: Given, place: str, settings: dict[str, Any]) -> Any:
    """Call a public function on rows in their place."""
    arguments, beside = PLACES[place](given)
    return getattr(cr, function)(*arguments, **beside, **settings)


def statistics() -> Iterator[Case]:
    """Yield every statistic over kinds, labels, weights and places, and each setting on one kind."""
    for names, kinds, labels in (
        (STATISTICS, CLASS_KINDS, ("classes", "counts")),
        (REAL_STATISTICS, REAL_KINDS, ("reals",)),
    ):
        one = "samples" if "samples" in kinds else "point"
        for name, settings in names.items():
            for kind, seen in itertools.product(kinds, labels):
                places = (
                    EVERYWHERE if (kind, seen) in {("point", "classes"), ("ensemble", "classes")} else ROWS
                )
                yield from over(name, Given(kind, seen), places)
                yield from over(name, Given(kind, seen, ("sample_weight",)), ROWS)
            for arguments in settings:
                yield from over(name, Given(one, labels[0]), ROWS, **arguments)
    for name in {**STATISTICS, **REAL_STATISTICS}:
        yield f"registered/{name}", functools.partial(registered, name)
        yield f"RunningStatistic/{name}", functools.partial(running, name)
    for name in DIFFERENTIABLE:
        yield f"gradient/{name}/torch", functools.partial(gradient, name)
    for name in ("skce", "brier", "confidence_ece", "classwise_ece"):
        yield (
            f"bind/{name}",
            functools.partial(bound_value, name, KINDS["point"](as_numpy), COLUMNS["classes"]),
        )
    yield "with_/skce", lambda: cr.skce.with_(bandwidth=0.3)(MEAN, COLUMNS["classes"])
    yield "interval/brier", lambda: cr.brier(MEAN, COLUMNS["classes"]).interval(0.9)
    yield "interval/accuracy", lambda: cr.accuracy(MEAN, COLUMNS["classes"]).interval(0.9)
    yield "statistic/value", lambda: user_statistic()(cr.Point(MEAN), COLUMNS["classes"])
    yield "memory_limit/skce", limited


def registered(name: str) -> dict[str, Any]:
    """Return what a statistic declares about itself."""
    statistic = cr.registered()[name]
    traits = {
        field: getattr(statistic.traits, field) for field in ("reduction", "tail", "range", "differentiable")
    }
    return {
        "settings": statistic.settings(),
        "reference": statistic.reference,
        **traits,
        "labels": sorted(statistic.traits.labels),
    }


def running(name: str) -> Any:
    """Return a statistic of rows that come in two batches."""
    kind, labels = ("point", "classes") if name in STATISTICS else ("gaussians", "reals")
    found, predictions = cr.RunningStatistic(name), KINDS[kind](as_numpy)
    for rows in (slice(0, 40), slice(40, N)):
        found.update(predictions[rows], column(labels)[rows])
    return found.compute()


def gradient(name: str) -> Any:
    """Return the derivative of a statistic by the probabilities."""
    probs = as_torch(MEAN).requires_grad_()
    bound_value(name, cr.Point(probs), as_torch(COLUMNS["classes"])).sum().backward()
    return probs.grad


def bound_value(name: str, predictions: Any, labels: Any) -> Any:
    """Return a statistic by its two steps, without leaving the array library."""
    statistic = getattr(cr, name)
    return statistic.bind(predictions)(statistic.labels(predictions, labels))


def user_statistic() -> Any:
    """Return a statistic of a user's own."""

    def share(predictions: Any, labels: Any) -> float:
        return float((predictions.mean().probs[:, 0] - (labels == 0)).mean())

    return cr.statistic(share, tail="two-sided", name="share")


def limited() -> Any:
    """Return a pairwise statistic computed in small tiles."""
    with cr.memory_limit(2**20):
        return cr.skce(np.tile(MEAN, (6, 1)), np.tile(COLUMNS["classes"], 6))


def tests() -> Iterator[Case]:
    """Yield every test and check."""
    classes, ensemble = Given("point", "classes"), Given("ensemble", "classes")
    for name in STATISTICS:
        yield from over("calibration_test", ensemble, ROWS, statistics=name, **FEW)
    for name in REAL_STATISTICS:
        yield from over("calibration_test", Given("gaussians", "reals"), ROWS, statistics=name, **FEW)
    for kind in CLASS_KINDS:
        yield from over("calibration_test", Given(kind, "classes"), ROWS, **FEW)
    for kind in REAL_KINDS:
        yield from over("calibration_test", Given(kind, "reals"), ROWS, **FEW)
    for statistic in ("brier", "skce"):
        yield from over(
            "calibration_test",
            Given("point", "classes", ("sample_weight",)),
            WEIGHTED,
            statistics=statistic,
            **FEW,
        )
    yield from over("calibration_test", classes, ROWS, statistics="omnibus", **FEW)
    yield from over(
        "calibration_test", ensemble, EVERYWHERE, statistics=["skce", "brier", "classwise_ece"], **FEW
    )
    yield (
        "calibration_test/user",
        lambda: cr.calibration_test(cr.Point(MEAN), COLUMNS["classes"], statistics=user_statistic(), **FEW),
    )

    learnt = Given("ensemble", "classes", ("features",))
    for weights in ("mean", "constant"):
        yield from over("weights_test", ensemble, MEMORY, weights=weights, **FEW)
    for kind in SETS[1:]:
        given = Given(kind, "classes")
        yield from over("weights_test", given, MEMORY, weights="constant", n_resamples=9, rng=7)
    for kind in SETS:
        yield from over("credal_test", Given(kind, "classes"), ("numpy",), n_resamples=9, rng=7)
        yield from over("witness_test", Given(kind, "classes", ("features",)), MEMORY, rng=7)
    for name in ("credal_test", "witness_test"):
        yield from over(name, ensemble, ("numpy",), blocks=3, rng=7)
    for learner in ("boundary", "gating"):
        settings = {"learner": learner, "n_resamples": 9, "rng": 7}
        yield from over("weights_test", learnt, MEMORY, refit=False, split=0.5, **settings)
        yield from over("weights_test", ensemble, ("numpy",), **settings)
    yield from over("weights_test", learnt, ("numpy",), cv=3, refit=False, n_resamples=9, rng=7)
    yield from over("weights_test", ensemble, MEMORY, weights="mean", statistics=("skce", "brier"), **FEW)
    for name in ("BoundaryLearner", "GatingLearner"):
        yield f"weights_test/{name}", functools.partial(learned, name)
    for name in ("combine", "regions"):
        yield f"WeightsDetails/{name}", functools.partial(of_combination, name)
    for by in ("vacuous", "ball"):
        yield f"inflate/{by}", functools.partial(inflated, by)
    for basis in ("auto", "raw", "polynomial"):
        yield (
            f"Basis/{basis}",
            lambda basis=basis: cr.Basis(basis).fit(COLUMNS["features"]).columns(COLUMNS["features"]),
        )

    yield from over("pit", classes, MEMORY, rng=7)
    yield from over("calibration_test", Given("point", "counts"), ROWS, **FEW)
    yield from over("predictive_check", Given("ensemble", "counts"), ROWS, **FEW)
    for kind in ("point", "ensemble", "weighted", "intervals", "belief"):
        yield from over("validity_test", Given(kind, "counts"), MEMORY, **FEW)
    groups = ("groups",)
    for kinds, labels in ((CLASS_KINDS, "classes"), (REAL_KINDS, "reals")):
        for kind in kinds:
            yield from over("predictive_check", Given(kind, labels), ROWS, hypothesis="independent", **FEW)
        for kind in (kind for kind in kinds if kind in WITH_MEMBERS):
            yield from over("predictive_check", Given(kind, labels), ROWS, **FEW)
    for hypothesis in ("bayesian", "independent"):
        checked = {"hypothesis": hypothesis, **FEW}
        yield from over("predictive_check", Given("ensemble", "classes", groups), ROWS, **checked)
        yield from over("predictive_check", Given("gaussians", "reals", groups), ROWS, **checked)
    for name in ("power", "summary", "count_verdicts"):
        yield f"PredictiveCheck/{name}", functools.partial(of_check, name)
    for kind in REAL_KINDS:
        yield from over("pit", Given(kind, "reals"))
        yield from over("observation_check", Given(kind, "reals"), instance=3)
        hypotheses = ("independent", "bayesian") if kind in WITH_MEMBERS else ("independent",)
        for hypothesis, name in itertools.product(hypotheses, ("pit_test", "coverage_curve")):
            yield from over(name, Given(kind, "reals"), ROWS, hypothesis=hypothesis, levels=10, **FEW)
        yield from over("audit", Given(kind, "reals", groups), ROWS, min_size=5, **FEW)
        yield from over("calibration_test", Given(kind, "reals"), ROWS, blocks=3, **FEW)
    yield from over("audit", Given("ensemble", "classes", groups), ROWS, min_size=5, **FEW)
    for statistic in ("confidence_ece", "classwise_ece"):
        yield from over("certificate", classes, ROWS, statistic=statistic)
    for settings in ({"width": 0.1}, {"gap": 0.1}, {"margin": 0.1}):
        yield from over("plan_labels", Given("point"), MEMORY, **settings)
    sets = cr.PredictionSets(MEAN > 0.25, claimed=0.8)
    yield (
        "set_coverage/sets",
        lambda: cr.set_coverage(sets, COLUMNS["classes"], groups=COLUMNS["groups"], **FEW),
    )
    yield (
        "set_coverage/intervals",
        lambda: cr.set_coverage(cr.Gaussian(MEANS[:, 0], STDS[:, 0]), COLUMNS["reals"], claimed=0.8, **FEW),
    )


def learned(name: str) -> Any:
    """Return a test whose weights a learner with settings of its own finds."""
    return cr.weights_test(
        cr.Ensemble(MEMBERS),
        COLUMNS["classes"],
        features=COLUMNS["features"],
        learner=getattr(cr, name)(basis=cr.Basis(degree=2)),
        refit=False,
        n_resamples=9,
        rng=7,
    )


def of_combination(name: str) -> Any:
    """Return what a test of weights says of the combination that it found."""
    given = cr.Ensemble(MEMBERS), COLUMNS["classes"], COLUMNS["features"]
    result = cr.weights_test(*given[:2], features=given[2], refit=False, n_resamples=9, rng=7)
    return getattr(result.details, name)(*given[: 1 if name == "combine" else 2], features=given[2])


def inflated(by: str) -> Any:
    """Return how far a set is enlarged until it is no longer rejected, and the enlarged set."""
    ensemble = cr.Ensemble(OTHERS)
    inflation = cr.inflate(ensemble, COLUMNS["classes"], by=by, resolution=0.2, n_draws=2, rng=7)
    return {"found": inflation, "applied": inflation.apply(ensemble)}


def of_check(name: str) -> Any:
    """Return what a predictive check says beyond its p-values."""
    check = cr.predictive_check(
        cr.Ensemble(MEMBERS),
        COLUMNS["classes"],
        groups=COLUMNS["groups"],
        statistics=["brier", "accuracy"],
        **FEW,
    )
    settings = {"grid": (0.5, 1.0, 2.0), "n_repeats": 9} if name == "power" else {}
    return getattr(check, name)(**settings)


def _second(name: str, predictions: Any, **settings: Any) -> Any:
    """Return what a function of second labels says of the counts."""
    return getattr(cr.raters, name)(predictions, column("counts"), **settings)


def curves() -> Iterator[Case]:
    """Yield curves, decompositions, maps and statistics of raters."""
    for target in ("top_label", 1):
        yield from over("reliability_curve", Given("ensemble", "classes"), ROWS, target=target, **FEW)
        yield from over("corp_curve", Given("ensemble", "classes"), ROWS, target=target, **FEW)
    for settings in ({"n_bins": 5}, {"binning": "equal_mass"}, {"closed": "right"}):
        yield from over(
            "reliability_curve", Given("point", "classes", ("sample_weight",)), ROWS, **settings, **FEW
        )
        yield from over("reliability_curve", Given("point", "counts"), ROWS, level=None, **settings)
        yield from over("decompose_brier", Given("point", "classes"), ROWS, **settings)
    for kind in CLASS_KINDS:
        yield from over("risk_coverage_curve", Given(kind, "classes"), ROWS, n_points=20)
        yield from over(
            "decompose_brier", Given(kind, "classes"), EVERYWHERE[: 6 if kind == "ensemble" else 5]
        )
        for name in ("decompose_loss", "decompose_disagreement"):
            yield from over(name, Given(kind, "counts"), ROWS, n_bins=6)
    for name in ("decompose_loss", "decompose_disagreement"):
        yield from over(name, Given("ensemble", "counts"), ROWS, binning="equal_mass")
        yield from over(name, Given("ensemble", "counts", ("sample_weight",)), MEMORY)
    yield (
        "decompose_disagreement/own",
        lambda: cr.decompose_disagreement(
            cr.Ensemble(MEMBERS), column("counts"), statistic=cr.rater_statistic(same, order=2, name="same")
        ),
    )
    table = np.where(np.arange(40)[:, None] % np.arange(2, 6) == 0, np.arange(40)[:, None] % 3, 1)
    rated = cr.LabelCounts.from_table(table, n_classes=3)
    plain = cr.Ensemble(MEMBERS)
    for name in ("ignorance", "spread_test"):
        yield f"{name}/members", functools.partial(_second, name, plain, n_resamples=29, rng=7)
    yield "entropy_split/members", functools.partial(_second, "entropy_split", plain)
    yield "plan_second_labels/members", lambda: cr.raters.plan_second_labels(plain, 5)
    yield "rater_test/four raters", lambda: cr.raters.rater_test(rated, n_resamples=29, rng=7)
    yield "agreement/four raters", lambda: cr.raters.agreement(rated)
    yield (
        "leaving_raters_out/four raters",
        lambda: cr.raters.leaving_raters_out(np.full((40, 3), 1 / 3), rated, cr.brier),
    )
    for kind in REAL_KINDS:
        yield from over("decompose_crps", Given(kind, "reals"), MEMORY)
        yield from over("spread_curve", Given(kind, "reals"), ROWS, n_bins=5, **FEW)
    yield (
        "logistic_calibration/two classes",
        lambda: cr.logistic_calibration(
            np.stack([1.0 - MEAN[:, 0], MEAN[:, 0]], axis=1), COLUMNS["classes"] == 0
        ),
    )
    draws, seen = (
        np.random.default_rng(7).normal(size=(40, 6, 2)),
        np.random.default_rng(8).normal(size=(40, 2)),
    )
    yield from over("hsic", Given("gaussian", "reals"), MEMORY)
    yield from over("disagreement", Given("ensemble"), MEMORY)
    yield "energy_score/joint draws", lambda: cr.statistics.energy_score(draws, seen)
    yield "variogram_score/joint draws", lambda: cr.statistics.variogram_score(draws, seen)
    yield "joint_test/joint draws", lambda: cr.hypotests.joint_test(draws, seen, n_resamples=29, rng=7)
    yield from over("murphy_curve", Given("point", "classes"), ROWS, n_points=9)
    yield from over("decision_costs", Given("point", "classes"), ROWS, costs=1.0 - np.eye(K))
    yield from over("detection", Given("ensemble", "classes"), MEMORY, n_resamples=29, rng=7)
    for name in ("error_over_simplex", "error_over_weights"):
        yield from over(name, Given("ensemble", "classes"), MEMORY, n_steps=5)
    for kind in ("gaussians", "member_samples"):
        yield (
            f"member_functions/{kind}",
            lambda kind=kind: cr.member_functions(
                KINDS[kind](as_numpy), COLUMNS["reals"], x=COLUMNS["features"][:, 0], rng=7
            ),
        )


def same(labels: tuple[int, ...]) -> int:
    """Tell whether two raters agree."""
    return int(labels[0] == labels[1])


MEASURES: dict[str, tuple[dict[str, Any], ...]] = {
    "upper_probability": ({}, {"events": [[0, 1], [2]]}),
    "lower_probability": ({}, {"events": [[0, 1], [2]]}),
    "upper_entropy": ({}, {"base": 2.0}),
    "lower_entropy": ({}, {"base": 2.0}),
    "credal_size": ({}, {"of": "predicted"}),
    "uncertainty": ({}, *({"decomposition": name} for name in ("entropy", "credal", "dirichlet", "belief"))),
    "credal_vertices": ({}, {"which": "C25"}),
    "credal_decision": tuple({"rule": name} for name in ("interval_dominance", "maximality", "maximin")),
    "mass_function": ({}, {"budget": FOCAL_SETS}, {"negative": "clamp"}),
    "nonspecificity": (
        *({"measure": name} for name in ("hartley", "dubois_prade", "koerner", "pal")),
        {"measure": "smets", "negative": "clamp"},
        {"n_events": 64},
    ),
    "nonspecificity_estimate": ({"n_events": 64}, {"measure": "dubois_prade", "budget": FOCAL_SETS}),
    "focal_budget": ({"n_sets": 5},),
    "credal_set": ({"n_samples": 8},),
    "credal_sample": tuple({"n": 2, "method": name} for name in ("dirichlet", "hit_and_run")),
}
SEEDLESS = ("credal_vertices",)


def sets() -> Iterator[Case]:
    """Yield measures of credal sets, distances, decisions and points."""
    for kind, (name, listed) in itertools.product(SETS, MEASURES.items()):
        for settings in listed:
            seed = {} if name in SEEDLESS else {"rng": 7}
            yield from over(name, Given(kind), MEMORY, **settings, **seed)
    for kind in SETS:
        yield from over("credal_distance", Given(kind, "classes"), MEMORY, rng=7)
        for name in ("credal_contains", "credal_boundary"):
            for place, make in (("numpy", as_numpy), ("torch", as_torch)):
                yield (
                    f"{name}/{kind}/{place}",
                    lambda name=name, kind=kind, make=make: getattr(cr, name)(
                        KINDS[kind](make), make(OTHERS[:, 0]), rng=7
                    ),
                )
        yield (
            f"credal_boundary/{kind}/fraction",
            lambda kind=kind: list(
                cr.credal_boundary(
                    KINDS[kind](as_numpy), OTHERS[:, 0], return_fraction=True, n_samples=8, rng=7
                )
            ),
        )
    for name in ("belief", "plausibility", "pignistic", "to_belief"):
        yield f"MassFunction/{name}", functools.partial(of_masses, name)
    for place in ("chunks", "parts", "files", "dask"):
        yield from over("mean_over", Given("ensemble", "classes"), (place,), measures=measures())


def measures() -> dict[str, Any]:
    """Return measures whose mean over chunks is taken."""
    return {
        name: getattr(cr, name)
        for name in ("uncertainty", "credal_distance", "nonspecificity", "credal_size")
    }


def of_masses(name: str) -> Any:
    """Return a set function of a mass function, or the predictions that it is."""
    masses = cr.mass_function(cr.Belief(*belief()))
    found = getattr(masses, name)
    return found() if callable(found) else found


def belief() -> tuple[Any, ...]:
    """Return masses, focal sets and number of classes."""
    given = KINDS["belief"](as_numpy)
    return given.masses, FOCAL_SETS, K


def models() -> dict[str, Any]:
    """Return three models of the same instances."""
    return {"a": cr.Ensemble(MEMBERS), "b": cr.Ensemble(OTHERS), "c": cr.Point(MEAN)}


def selection() -> Iterator[Case]:
    """Yield scores and comparisons of models."""
    for kind in SETS:
        yield from over("epistemic_score", Given(kind, "classes"), MEMORY)
    for settings in (
        *(
            {"measure": name}
            for name in ("dubois_prade", "koerner", "entropy_gap", "credal_size", "u65", "u80")
        ),
        {"tradeoff": 0.5},
    ):
        yield from over("epistemic_score", Given("ensemble", "classes"), MEMORY, **settings)
    own: dict[str, dict[str, Any]] = {
        "default": {},
        "koerner": {"measure": "koerner"},
    }
    for (name, settings), function in itertools.product(own.items(), ("rank_models", "compare")):
        yield (
            f"{function}/{name}",
            lambda function=function, settings=settings: getattr(cr, function)(
                models(), COLUMNS["classes"], n_resamples=100, **settings
            ),
        )
    yield (
        "compare/torch",
        lambda: cr.compare(
            {name: KINDS[name](as_torch) for name in ("ensemble", "other")},
            as_torch(COLUMNS["classes"]),
            n_resamples=100,
        ),
    )
    for place in ("chunks", "parts", "files"):
        yield (
            f"compare/{place}",
            lambda place=place: cr.compare(
                {
                    name: PLACES[place](Given(name, "classes"))[0][0]
                    for name in ("ensemble", "other", "point")
                },
                n_resamples=100,
            ),
        )
    yield (
        "compare/dask",
        lambda: cr.compare(
            {"a": as_dask(MEMBERS), "b": as_dask(OTHERS)}, as_dask(COLUMNS["classes"]), n_resamples=100
        ),
    )
    yield (
        "compare/reals",
        lambda: cr.compare(
            {kind: KINDS[kind](as_numpy) for kind in REAL_KINDS}, COLUMNS["reals"], n_resamples=100
        ),
    )
    for name, arguments in (("at", {"tradeoff": 0.7}), ("leaders", {}), ("order", {"tradeoff": 0.7})):
        yield (
            f"Ranking/{name}",
            lambda name=name, arguments=arguments: getattr(
                cr.rank_models(models(), COLUMNS["classes"], n_resamples=100).lines, name
            )(**arguments),
        )
    for abstention in (True, False):
        yield (
            f"Ranking/recommend,{abstention}",
            lambda abstention=abstention: cr.rank_models(
                models(), COLUMNS["classes"], n_resamples=100
            ).lines.recommend(abstention=abstention),
        )


def methods() -> dict[str, tuple[Callable[[], Any], Given]]:
    """Return every recalibration, and what it is fitted on."""
    rated = Given("point", "counts")
    return {
        "temperature": (cr.TemperatureScaling, Given("point", "classes")),
        "temperature of an ensemble": (cr.TemperatureScaling, Given("ensemble", "classes")),
        "temperature of a Dirichlet": (cr.TemperatureScaling, Given("dirichlet", "classes")),
        "vector": (lambda: cr.VectorScaling(penalty=0.1), Given("point", "classes")),
        "vector by folds": (lambda: cr.VectorScaling(penalty="cv"), Given("point", "classes")),
        **{
            name: (lambda name=name: getattr(cr, name)(), Given("point", "classes"))
            for name in (
                "BetaScaling",
                "BiasScaling",
                "ColumnOrder",
                "CurveScaling",
                "IsotonicRecalibration",
                "NoiseScaling",
                "PlattScaling",
                "VectorScaling",
            )
        },
        "temperature by group": (cr.TemperatureScaling, Given("point", "classes", ("groups",))),
        "PlattScaling by group": (cr.PlattScaling, Given("point", "classes", ("groups",))),
        "PlattScaling of an ensemble": (cr.PlattScaling, Given("ensemble", "classes")),
        "VennAbers": (cr.VennAbers, Given("event", "events")),
        "matrix": (cr.MatrixScaling, Given("point", "classes")),
        "members": (cr.MemberTemperatures, Given("ensemble", "classes")),
        "credal": (
            lambda: cr.CredalRecalibration(temperatures="shared"),
            Given("ensemble", "classes"),
        ),
        "credal, margin": (
            lambda: cr.CredalRecalibration(spreads=(0.0,), margin="vacuous"),
            Given("ensemble", "classes"),
        ),
        "alpha": (cr.AlphaCalibration, rated),
        "alpha, linear": (lambda: cr.AlphaCalibration(head="linear", penalty="cv"), rated),
        "alpha, features": (cr.AlphaCalibration, Given("point", "counts", ("features",))),
        "alpha, neural": (
            lambda: cr.AlphaCalibration(head="neural", hidden=(4,)),
            Given("point", "counts", ("features",)),
        ),
        "chain": (lambda: cr.TemperatureScaling().then(cr.AlphaCalibration()), rated),
        **{
            f"{name} of {kind}": (lambda name=name: getattr(cr, name)(), Given(kind, "reals"))
            for name, kind in itertools.product(
                (
                    "SpreadScaling",
                    "LocationScaling",
                    "TailScaling",
                    "SkewScaling",
                    "IsotonicRecalibration",
                    "QuantileShift",
                ),
                REAL_KINDS,
            )
        },
        "Chain": (lambda: cr.Chain([cr.TemperatureScaling(), cr.VectorScaling()]), Given("point", "classes")),
    }


def recalibrations() -> Iterator[Case]:
    """Yield what is fitted, what it makes of predictions, and what its file gives back."""
    for name, place in itertools.product(methods(), MEMORY):
        yield f"recalibration/{name}/{place}", functools.partial(recalibrated, name, place)
    for kind, labels in (("point", "classes"), ("ensemble", "classes"), ("ensemble", "counts")):
        listed = ["temperature", "vector" if kind == "point" else "members"]
        yield from over(
            "recalibration_report", Given(kind, labels), MEMORY, methods=listed, cv=3, n_resamples=19
        )


def recalibrated(name: str, place: str) -> dict[str, Any]:
    """Fit, apply, write and read again."""
    method, given = methods()[name]
    arguments, beside = PLACES[place](given)
    fitted = method().fit(*arguments, **beside)
    fitted.save(path := Path("recalibration.json"), overwrite=True)
    again = cr.load_recalibration(path)
    return {
        "fitted": fitted,
        "describe": fitted.describe(),
        "digest": fitted.digest,
        "applied": fitted.apply(arguments[0], **beside),
        "read again": again.apply(arguments[0], **beside),
    }


def evaluations() -> Iterator[Case]:
    """Yield evaluations over kinds, labels and places."""
    few = {"n_resamples": 19, "rng": 3}
    every = ("groups", "features")
    for kind in CLASS_KINDS:
        for labels in ("classes", "counts"):
            yield from over("evaluate", Given(kind, labels), ROWS, tests=False, **few)
    for kind, places in {
        "point": ROWS,
        "ensemble": ROWS,
        **dict.fromkeys(SETS[1:], ("numpy", "chunks")),
    }.items():
        yield from over("evaluate", Given(kind, "classes"), places, **few)
    for kind in REAL_KINDS:
        yield from over("evaluate", Given(kind, "reals", ("groups",)), ROWS, **few)
        yield from over(
            "evaluate", Given(kind, "reals"), ("numpy",), blocks=3, recalibrate=["scale", "isotonic"], **few
        )
    yield from over("evaluate", Given("ensemble", "counts"), ROWS, **few)
    yield from over("evaluate", Given("ensemble", "classes", every), EVERYWHERE[:5], **few)
    yield from over("evaluate", Given("point", "classes"), EVERYWHERE, pairwise_rows=50, n_bins=5, **few)
    yield from over(
        "evaluate", Given("point", "classes"), ROWS, recalibrate=["temperature"], tests=False, **few
    )
    yield from over("evaluate", Given("point", "classes"), ROWS, statistics=["skce", "brier"], **few)
    yield (
        "evaluate/to_frame",
        lambda: json.loads(
            cr.evaluate(MEAN, COLUMNS["classes"], tests=False).to_frame().to_json(orient="split")
        ),
    )
    yield "evaluate/dask arrays", lambda: cr.evaluate(as_dask(MEAN), as_dask(COLUMNS["classes"]), **few)


def worlds() -> dict[str, Callable[[], Any]]:
    """Return every world and hypothesis by name."""
    return {
        **{
            f"binary {name}": lambda one=name: cr.BinaryWorld(one)
            for name in ("H0,1", "H0,2", "H1,1", "H1,2", "H1,3")
        },
        **{f"multiclass {name}": lambda one=name: cr.MulticlassWorld(one) for name in ("H0,1", "H0,2")},
        **{
            f"multiclass H1 {name}": lambda one=name: cr.MulticlassWorld("H1", delta=0.5, corner=one)
            for name in ("dataset", "features", "closest", "instance")
        },
        **{f"ensemble {name}": lambda one=name: cr.EnsembleWorld(one) for name in ("S1", "S2", "S3")},
        "histograms": cr.HistogramWorld,
        "location": cr.LocationWorld,
        "quadratic": cr.QuadraticWorld,
    }


def simulations() -> Iterator[Case]:
    """Yield draws of every world and a small study of power."""
    for name, world in worlds().items():
        yield f"world/{name}", functools.partial(sample, world)
    yield "power_study", study
    yield "paired_difference", lambda: cr.paired_difference(study(), "outside", "truth", "mean", level=0.1)
    yield "world_picture", lambda: cr.world_picture(cr.BinaryWorld().draw(30, rng=7))


def sample(world: Callable[[], Any]) -> dict[str, Any]:
    """Return everything that one draw of a world holds."""
    drawn = world().draw(20, rng=7)
    parts = ("predictions", "labels", "features", "truth", "notes")
    return {"name": world().name, "null": world().null, **{name: getattr(drawn, name) for name in parts}}


def study() -> Any:
    """Return a study of two tests in two worlds."""
    return cr.power_study(
        {name: cr.CalibrationTest(name, "brier", n_resamples=19) for name in ("truth", "mean")},
        {
            "inside": cr.MulticlassWorld("H0,1", n_members=3, n_classes=3),
            "outside": cr.MulticlassWorld("H1", delta=0.5, n_members=3, n_classes=3),
        },
        levels=[0.1, 0.5],
        repetitions=10,
        n=20,
        rng=3,
    )


def files() -> Iterator[Case]:
    """Yield what is read back from every format, and predictions made in other ways."""
    for ending in ("npz", "parquet", "csv"):
        for kind, labels in (
            ("point", "classes"),
            ("ensemble", "classes"),
            ("point", "counts"),
            ("gaussians", "reals"),
        ):
            yield f"save/{kind}/{labels}/{ending}", functools.partial(written, kind, labels, ending)
    for kind in ("weighted", "dirichlet", "dirichlets", "intervals", "belief"):
        yield f"save/{kind}/classes/npz", functools.partial(written, kind, "classes", "npz")
    for kind in ("gaussian", "samples", "member_samples", "quantiles"):
        yield f"save/{kind}/reals/npz", functools.partial(written, kind, "reals", "npz")
    logits = np.log(MEMBERS)
    yield "Point/from_logits", lambda: cr.Point.from_logits(logits[:, 0])
    yield "Point/from_scores", lambda: cr.Point.from_scores(3.0 * MEAN)
    yield "Point/logits", lambda: cr.Point.from_logits(logits[:, 0]).logits
    yield "Ensemble/from_logits", lambda: cr.Ensemble.from_logits(logits)
    yield "Ensemble/from_members", lambda: cr.Ensemble.from_members(list(MEMBERS.transpose(1, 0, 2)))
    yield "Ensemble/to_intervals", lambda: cr.Ensemble(MEMBERS).to_intervals()
    yield "Dirichlet/from_evidence", lambda: cr.Dirichlet.from_evidence(5.0 * MEAN)
    yield "Dirichlet/sample", lambda: cr.Dirichlet(6.0 * MEAN).sample(3, rng=7)
    yield "Intervals/reachable", lambda: KINDS["intervals"](as_numpy).reachable()
    yield "Belief/pignistic", lambda: KINDS["belief"](as_numpy).pignistic()
    yield "LabelCounts/draw", lambda: column("counts").draw(rng=7)
    yield "LabelCounts/subsample", lambda: column("counts").subsample(2, rng=7)
    yield "LabelCounts/frequencies", lambda: column("counts").frequencies()
    yield (
        "LabelCounts/from_table",
        lambda: cr.LabelCounts.from_table([[0, 1, -1], [2, 2, 0]], n_classes=3, missing=-1),
    )
    yield "LabelCounts/from_soft", lambda: cr.LabelCounts.from_soft([[0.25, 0.75], [1.0, 0.0]], 4)
    for kind, place in itertools.product(CLASS_KINDS, MEMORY):
        yield f"mean/{kind}/{place}", lambda kind=kind, place=place: PLACES[place](Given(kind))[0][0].mean()
    for kind, place in itertools.product(REAL_KINDS, MEMORY):
        yield f"cdf/{kind}/{place}", functools.partial(distribution, kind, place)
    yield "as_predictions/array", lambda: cr.as_predictions(MEMBERS)
    yield "as_predictions/member_axis", lambda: cr.as_predictions(MEMBERS.transpose(1, 0, 2), member_axis=0)
    yield "from_posterior_predictive", posterior


def written(kind: str, labels: str, ending: str) -> Any:
    """Return what a saved file gives back, without its bytes' digest."""
    path = cr.save(f"{kind}-{labels}.{ending}", KINDS[kind](as_numpy), column(labels), overwrite=True)
    read = cr.load(path)
    return {name: getattr(read, name) for name in ("predictions", "labels", "classes", "notes", "source")}


def distribution(kind: str, place: str) -> dict[str, Any]:
    """Return distribution function, quantile and mean of predictions of real values."""
    (predictions, labels), _ = PLACES[place](Given(kind, "reals"))
    return {
        "cdf": predictions.cdf(labels),
        "quantile": predictions.quantile([0.3, 0.8]),
        "expectation": predictions.expectation(),
    }


def posterior() -> Any:
    """Return predictions made from draws with dimensions of chains, draws and instances."""
    xarray = import_module("xarray")
    draws = DRAWS.transpose(1, 2, 0)[:2]
    predicted = xarray.Dataset({"height": (("chain", "draw", "person"), draws)})
    observed = xarray.Dataset({"height": ("person", COLUMNS["reals"])})
    output = SimpleNamespace(posterior_predictive=predicted, observed_data=observed)
    return list(cr.from_posterior_predictive(output))


FEW_WORDS = ["--n-resamples", "19"]
COMMANDS: tuple[str, ...] = (
    "list",
    "inspect point.npz",
    "inspect members.npz rated.npz gaussian.npz",
    "evaluate point.npz",
    "evaluate members.npz --statistic brier --statistic skce --n-bins 5",
    "evaluate rated.npz",
    "evaluate gaussian.npz",
    "evaluate shard*.npz",
    "evaluate members.npy --labels labels.npy --stream --chunk-rows 41",
    "test point.npz --statistic brier --statistic skce",
    "test members.npz --no-refit",
    "test members.npz --weights constant",
    "test members.npz --weights mean --stream",
    "test rated.npz",
    "test gaussian.npz",
    "check members.npz --power temperature",
    "check gaussian.npz --hypothesis independent",
    "check shard*.npz",
    "compare members.npz point.npz",
    "compare members.npz point.npz --stream --tradeoff 0 --tradeoff 1",
    "compare members.npz point.npz --measure koerner",
    "calibrate compare point.npz --method temperature --method vector --folds 3",
    "raters rated.npz",
    "raters rated.npz --debias paper --weights raters",
    "convert members.npz members.csv --force",
    "convert point.npz point.json --force",
    "evaluate missing.npz",
    "test point.npz --statistic nonsense",
    "convert point.npz point.npz",
)
RESAMPLING = ("evaluate", "test", "check", "compare", "calibrate")


def commands() -> Iterator[Case]:
    """Yield verbs of the command line with JSON, and two as tables."""
    for line in COMMANDS:
        arguments = line.split()
        few = FEW_WORDS if arguments[0] in RESAMPLING else []
        yield f"credibly/{line}", functools.partial(command, [*arguments, *few, "--json"])
    for line in ("evaluate point.npz", "check members.npz", "compare members.npz point.npz"):
        yield f"credibly/{line} (table)", functools.partial(command, [*line.split(), *FEW_WORDS])


def command(given: list[str]) -> dict[str, Any]:
    """Return exit code, stdout and stderr of a command in this process."""
    command_files()
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as err:
        code = cr.main(given)
    said = out.getvalue()
    shown = json.loads(said) if "--json" in given and said.strip() else said.splitlines()
    return {"code": code, "out": shown, "err": err.getvalue().splitlines()}


@functools.cache
def command_files() -> None:
    """Write what the commands read into the current directory."""
    labels, groups = COLUMNS["classes"], COLUMNS["groups"]
    cr.save("point.npz", cr.Point(MEAN), labels)
    cr.save("members.npz", cr.Ensemble(MEMBERS), labels, groups=groups, features=COLUMNS["features"])
    cr.save("rated.npz", cr.Ensemble(MEMBERS), column("counts"))
    cr.save("gaussian.npz", cr.Gaussian(MEANS, STDS), COLUMNS["reals"])
    for place, rows in enumerate((slice(0, 50), slice(50, N))):
        cr.save(f"shard{place}.npz", cr.Ensemble(MEMBERS[rows]), labels[rows], groups=groups[rows])
    np.save("members.npy", MEMBERS)
    np.save("labels.npy", labels)


REFUSED: dict[str, Callable[[], Any]] = {
    "rows that do not sum to 1": lambda: cr.Point(2.0 * MEAN),
    "negative probabilities": lambda: cr.Ensemble(MEMBERS - 0.5),
    "alpha of 0": lambda: cr.Dirichlet(0.0 * MEAN),
    "lower above upper": lambda: cr.Intervals(MEAN + 0.1, MEAN),
    "masses without sets": lambda: cr.Belief(MEAN, [(0,)], K),
    "negative std": lambda: cr.Gaussian(MEANS, -STDS),
    "levels that fall": lambda: cr.Quantiles(DRAWS[:, 0, :2], [0.9, 0.1]),
    "NaN": lambda: cr.Samples(np.full((3, 4), np.nan)),
    "negative counts": lambda: cr.LabelCounts(-COLUMNS["counts"]),
    "too few labels": lambda: cr.brier(MEAN, COLUMNS["classes"][:5]),
    "unknown classes": lambda: cr.brier(MEAN, COLUMNS["classes"] + 7),
    "no labels": lambda: cr.brier(MEAN),
    "labels beside chunks": lambda: cr.brier(cr.scan(MEAN, COLUMNS["classes"]), COLUMNS["classes"]),
    "reals for classes": lambda: cr.brier(cr.Gaussian(MEANS, STDS), COLUMNS["reals"]),
    "unknown setting": lambda: cr.brier(MEAN, COLUMNS["classes"], n_bins=3),
    "negative weights": lambda: cr.brier(MEAN, COLUMNS["classes"], sample_weight=-np.ones(N)),
    "raters of hosmer_lemeshow": lambda: cr.hosmer_lemeshow(MEAN, column("counts")),
    "pairs in batches": lambda: cr.RunningStatistic("skce").update(MEAN, COLUMNS["classes"]),
    "weights of parts": lambda: cr.scan([(MEAN, COLUMNS["classes"])], sample_weight=np.ones(N)),
    "fair score without draws": lambda: cr.crps(cr.Gaussian(MEANS, STDS), COLUMNS["reals"], estimator="fair"),
    "no bins": lambda: cr.confidence_ece(MEAN, COLUMNS["classes"], n_bins=0),
    "unknown statistic": lambda: cr.calibration_test(MEAN, COLUMNS["classes"], statistics="nonsense"),
    "no replicates": lambda: cr.calibration_test(MEAN, COLUMNS["classes"], n_resamples=0),
    "a Dirichlet as a set": lambda: cr.credal_vertices(cr.Dirichlet(6.0 * MEAN)),
    "credal test of chunks": lambda: cr.credal_test(cr.scan(MEMBERS, COLUMNS["classes"]), None),
    "unknown learner": lambda: cr.weights_test(cr.Ensemble(MEMBERS), COLUMNS["classes"], learner="nonsense"),
    "split and folds": lambda: cr.weights_test(cr.Ensemble(MEMBERS), COLUMNS["classes"], split=0.5, cv=3),
    "raters as classes": lambda: cr.validity_test(cr.Ensemble(MEMBERS), COLUMNS["classes"]),
    "unknown hypothesis": lambda: cr.predictive_check(MEAN, COLUMNS["classes"], hypothesis="nonsense"),
    "bayesian check of a point": lambda: cr.predictive_check(MEAN, COLUMNS["classes"], hypothesis="bayesian"),
    "power of chunks": lambda: cr.predictive_check(cr.scan(MEAN, COLUMNS["classes"]), **FEW).power(),
    "own statistic of chunks": lambda: user_statistic()(cr.scan(MEAN, COLUMNS["classes"])),
    "no models": lambda: cr.rank_models({}, COLUMNS["classes"]),
    "unknown measure": lambda: cr.nonspecificity(cr.Ensemble(MEMBERS), measure="nonsense"),
    "unknown rule": lambda: cr.credal_decision(cr.Ensemble(MEMBERS), rule="nonsense"),
    "negative trade-off": lambda: cr.epistemic_score(cr.Ensemble(MEMBERS), COLUMNS["classes"], tradeoff=-1.0),
    "member temperatures of a point": lambda: cr.MemberTemperatures().fit(cr.Point(MEAN), COLUMNS["classes"]),
    "not fitted": lambda: cr.TemperatureScaling().apply(cr.Point(MEAN)),
    "missing file": lambda: cr.load("missing.npz"),
    "missing shards": lambda: cr.scan("missing*.npz"),
    "missing recalibration": lambda: cr.load_recalibration("missing.json"),
    "unknown format": lambda: cr.save("point.xyz", cr.Point(MEAN), COLUMNS["classes"]),
    "no memory": lambda: cr.memory_limit(0).__enter__(),
    "unknown kind": lambda: cr.brier(cr.scan(MEAN, COLUMNS["classes"], kind="nonsense")),
    "strings": lambda: cr.as_predictions("nonsense"),
    "unknown world": lambda: cr.BinaryWorld("nonsense"),
}
"""Calls that an error must answer; its type and its sentence are recorded."""


def cases() -> Iterator[Case]:
    """Yield every case."""
    for some in (
        statistics,
        tests,
        curves,
        sets,
        selection,
        recalibrations,
        evaluations,
        simulations,
        files,
        commands,
    ):
        yield from some()
    for name, call in REFUSED.items():
        yield f"refused/{name}", call
