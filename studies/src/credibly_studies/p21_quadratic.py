"""P21 Figs. 3-5 and 10, Table 1: a quadratic with a gap in its data, and who knows about the gap.

Every network is trained on the data that the exact posterior of the same draw was computed from.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from credibly._arrays.namespace import HostArray
from credibly._arrays.philox import Seed
from credibly.hypotests import member_functions, predictive_check
from credibly.plots.curves import FunctionsDisplay
from credibly.plots.hypotests import NullDisplay
from credibly.predictions import Gaussian
from credibly.results.curves import MemberFunctions
from credibly.simulate import QuadraticWorld
from credibly_studies.descent import Layers
from credibly_studies.inputs import trained
from credibly_studies.p21_quadratic_tables import CALIBRATION, LEVEL, Check, claims, tables
from credibly_studies.perceptrons import (
    Training,
    fit_perceptrons,
    masks,
    networks_of,
    outputs_of,
    repeated,
)
from credibly_studies.regressors import gaussian_loss, mean_and_std
from credibly_studies.results import Drawing, Findings, drawn
from credibly_studies.study import Run, Study

STATISTICS = ("picp", CALIBRATION)
MODELS = ("exact posterior", "single network", "ensemble", "dropout", "dropout, mask per instance")
_DROPOUT = 0.1
_WORLD = QuadraticWorld(n_train=40)
_HALF_GAP = _WORLD.gap[1]


@dataclasses.dataclass(frozen=True)
class QuadraticSize:
    """How large the study is.

    Parameters
    ----------
    data_sets : int
        Quadratics, each with training and test data of its own.
    n : int
        Test instances.
    members : int
        Networks of an ensemble, masks of dropout, draws from the posterior.
    steps : int
        Of training.
    replicates : int
        Of each check.
    """

    data_sets: int
    n: int
    members: int
    steps: int
    replicates: int


@dataclasses.dataclass(frozen=True)
class _Task:
    size: QuadraticSize
    seed: Seed
    data_set: int
    ensemble: Layers
    dropout: Layers


@dataclasses.dataclass(frozen=True)
class _Found:
    checks: list[Check]
    spread: dict[str, tuple[float, float]]
    functions: dict[str, MemberFunctions]
    drawings: dict[str, Any]


def work(size: QuadraticSize, run: Run) -> Findings:
    """Train on all data sets at once, then check every model on each."""
    ensemble, dropout = _networks(size, run.seed)
    tasks = [
        _Task(size, run.seed, at, networks_of(ensemble, at, size.members), networks_of(dropout, at, 1))
        for at in range(size.data_sets)
    ]
    found = run.map(_data_set, tasks)
    checks = [check for one in found for check in one.checks]
    drawings: dict[str, Drawing] = {
        name: drawn(FunctionsDisplay(functions)) for name, functions in found[0].functions.items()
    }
    drawings |= {name: drawn(NullDisplay(result)) for name, result in found[0].drawings.items()}
    spread = {name: np.array([one.spread[name] for one in found]) for name in MODELS}
    return Findings(tables(checks, spread), claims(checks, spread), drawings)


def _sample_seed(seed: Seed, data_set: int) -> np.random.SeedSequence:
    return np.random.SeedSequence([*seed, data_set])


def _networks(size: QuadraticSize, seed: Seed) -> tuple[Layers, Layers]:
    """Return the networks of all data sets: ensembles, and one network with dropout each."""
    training = Training(hidden=(30, 30), steps=size.steps, batch=50)
    settings = {"size": size, "training": training, "seed": seed, "world": _WORLD.settings()}

    def make() -> dict[str, HostArray]:
        data = [_WORLD.training_data(rng=_sample_seed(seed, at)) for at in range(size.data_sets)]
        x, y = np.stack([x[:, None] for x, _ in data]), np.stack([y for _, y in data])
        generator = np.random.default_rng([*seed, 1])
        arrays: dict[str, HostArray] = {}
        for name, members, rate in (("ensemble", size.members, 0.0), ("dropout", 1, _DROPOUT)):
            layers = fit_perceptrons(
                x,
                y,
                members=members,
                outputs=2,
                loss=gaussian_loss,
                training=dataclasses.replace(training, dropout=rate),
                generator=generator,
            )
            for at, (weight, offset) in enumerate(layers):
                arrays |= {f"{name}-weight{at}": weight, f"{name}-offset{at}": offset}
        return arrays

    found = trained("p21-quadratic", settings, make)
    places = range(len(training.hidden) + 1)
    ensemble, dropout = (
        tuple((found[f"{name}-weight{at}"], found[f"{name}-offset{at}"]) for at in places)
        for name in ("ensemble", "dropout")
    )
    return ensemble, dropout


def _data_set(task: _Task) -> _Found:
    size = task.size
    world = dataclasses.replace(_WORLD, n_members=size.members)
    sample = world.draw(size.n, rng=_sample_seed(task.seed, task.data_set))
    x, labels = sample.features[:, 0], sample.labels
    generator = np.random.default_rng([*task.seed, 2, task.data_set])
    copies = repeated(task.dropout, size.members)
    rows = (1, size.n)
    drop, per_instance = (
        _gaussian(outputs_of(copies, sample.features, masks(copies, _DROPOUT, generator, each)))
        for each in rows
    )
    whole = _gaussian(outputs_of(task.ensemble, sample.features))
    posterior = sample.predictions
    assert isinstance(posterior, Gaussian)
    single = Gaussian(whole.mean[:, :1], whole.std[:, :1])
    predictions = dict(zip(MODELS, (posterior, single, whole, drop, per_instance), strict=True))
    region = np.where(np.abs(x) < _HALF_GAP, "gap", "seen")
    checks: list[Check] = []
    nulls: dict[str, Any] = {}
    for model, given in predictions.items():
        found = predictive_check(
            given,
            labels,
            statistics=STATISTICS,
            n_resamples=size.replicates,
            groups=region,
            paper="P21",
            rng=generator,
        )
        for hypothesis, part in found.hypotheses.items():
            regions = {"all": part.checks, **part.groups}
            checks += [
                Check(model, hypothesis, where, name, one.pvalue <= LEVEL, one.paper_rules["p is 0 or 1"])
                for where, own in regions.items()
                for name, one in own.items()
            ]
            if model == MODELS[0] and task.data_set == 0:
                nulls[f"replicates-{hypothesis}"] = part.checks[CALIBRATION]
    spread = {name: _spread(given, region) for name, given in predictions.items()}
    functions = {}
    if task.data_set == 0:
        functions = {
            f"functions-{name.partition(',')[0].replace(' ', '-')}": member_functions(
                predictions[name], labels, x=x, rng=0
            )
            for name in ("exact posterior", "ensemble", "dropout")
        }
    return _Found(checks, spread, functions, nulls)


def _gaussian(outputs: HostArray) -> Gaussian:
    mean, std = mean_and_std(outputs)
    return Gaussian(np.ascontiguousarray(mean.T), np.ascontiguousarray(std.T), member_axis=1)


def _spread(given: Gaussian, region: HostArray) -> tuple[float, float]:
    """Return the standard deviation of the members' means in the gap and where there were data."""
    spread = given.mean.std(axis=1)
    return float(spread[region == "gap"].mean()), float(spread[region == "seen"].mean())


QUADRATIC = Study(
    name="p21-quadratic",
    title="A quadratic with a gap: ensemble, dropout and exact posterior under both hypotheses",
    reference="P21 Figs. 3-5 and 10, Table 1",
    small=QuadraticSize(data_sets=8, n=150, members=10, steps=150, replicates=99),
    full=QuadraticSize(data_sets=25, n=400, members=50, steps=400, replicates=299),
    work=work,
)
