"""P21 Figs. 3-5 and 10, Table 1: a quadratic with a gap in its data, and who knows about the gap.

Every network is trained on the data that the exact posterior of the same draw was computed from.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from credibly._arrays.member_functions import MemberFunctions
from credibly._arrays.philox import Seed
from credibly.evaluation import title
from credibly.hypotests import member_functions, predictive_check
from credibly.plots import functions_data, null_data
from credibly.predictions import Gaussian
from credibly.simulate import QuadraticWorld
from credibly.studies.inputs import trained
from credibly.studies.outcomes import Share, all_of, more_than, near
from credibly.studies.perceptrons import (
    Layers,
    Training,
    fit_perceptrons,
    masks,
    networks_of,
    outputs_of,
    repeated,
)
from credibly.studies.regressors import gaussian_loss, mean_and_std
from credibly.studies.results import Claim, Drawing, Findings, StudyTable, drawn
from credibly.studies.study import Run, Study

HostArray = np.ndarray[Any, Any]

LEVEL = 0.05
STATISTICS = ("picp", "quantile_calibration_error")
CALIBRATION = STATISTICS[1]
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
class Check:
    """One check of one model on one data set.

    Parameters
    ----------
    model, hypothesis, region, statistic : str
        What was checked, and where.
    fails, certain : bool
        Two-sided p at most 5 %; P21's p is 0 or 1.
    """

    model: str
    hypothesis: str
    region: str
    statistic: str
    fails: bool
    certain: bool


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
        name: drawn(functions_data(functions)) for name, functions in found[0].functions.items()
    }
    drawings |= {name: drawn(null_data(result)) for name, result in found[0].drawings.items()}
    spread = {name: np.array([one.spread[name] for one in found]) for name in MODELS}
    return Findings((*_rates(checks), _spreads(spread)), _claims(checks, spread), drawings)


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
                predictions[name], x, labels, rng=0
            )
            for name in ("exact posterior", "ensemble", "dropout")
        }
    return _Found(checks, spread, functions, nulls)


def _gaussian(outputs: HostArray) -> Gaussian:
    mean, std = mean_and_std(outputs)
    return Gaussian(np.ascontiguousarray(mean.T), np.ascontiguousarray(std.T))


def _spread(given: Gaussian, region: HostArray) -> tuple[float, float]:
    """Return the standard deviation of the members' means in the gap and where there were data."""
    spread = given.mean.std(axis=1)
    return float(spread[region == "gap"].mean()), float(spread[region == "seen"].mean())


def _rates(checks: list[Check]) -> tuple[StudyTable, StudyTable]:
    """Return failures on all test data, and within and outside the gap."""
    rows = []
    for key in dict.fromkeys(map(_key, checks)):
        own = [one for one in checks if _key(one) == key]
        fails, certain = (
            Share(sum(getattr(one, rule) for one in own), len(own)) for rule in ("fails", "certain")
        )
        model, hypothesis, region, statistic = key
        rows.append((model, hypothesis, region, title(statistic), fails.rate, fails.interval, certain.rate))
    columns = ("model", "hypothesis", "where", "check", "fails", "interval", "p is 0 or 1")
    whole = [row for row in rows if row[2] == "all"]
    heading = f"Share of data sets whose check fails at level {LEVEL:g}"
    return (
        StudyTable("rates", heading, columns, whole),
        StudyTable("rates-by-region", f"{heading}, by region", columns, rows, on_page=False),
    )


def _spreads(spread: dict[str, HostArray]) -> StudyTable:
    rows = []
    for name, values in spread.items():
        wider = _wider(values)
        rows.append(
            (name, float(values[:, 0].mean()), float(values[:, 1].mean()), wider.rate, wider.interval)
        )
    columns = ("model", "in the gap", "where data were", "wider in the gap", "interval")
    return StudyTable("spread", "Spread of the members' means, averaged over data sets", columns, rows)


def _wider(spread: HostArray) -> Share:
    return Share(int((spread[:, 0] > spread[:, 1]).sum()), len(spread))


def _claims(checks: list[Check], spread: dict[str, HostArray]) -> list[Claim]:
    def outcomes(model: str, hypothesis: str) -> HostArray:
        key = (model, hypothesis, "all", CALIBRATION)
        return np.array([one.fails for one in checks if _key(one) == key])

    def failing(model: str, hypothesis: str) -> Share:
        found = outcomes(model, hypothesis)
        return Share(int(found.sum()), len(found))

    exact = {name: failing("exact posterior", name) for name in ("bayesian", "independent")}
    claims = [
        Claim(
            "P21 Figs. 3-5, Table 1",
            "calibration error mistrusts a good model: of the exact posterior the independent check fails, "
            "the Bayesian check has its level",
            "not at hand",
            f"independent {exact['independent']}, Bayesian {exact['bayesian']}",
            all_of(more_than(exact["independent"], LEVEL), near(exact["bayesian"], LEVEL)),
        )
    ]
    for model in ("ensemble", "dropout"):
        bayesian, independent = outcomes(model, "bayesian"), outcomes(model, "independent")
        only = Share(int((independent & ~bayesian).sum()), len(bayesian))
        reverse = Share(int((bayesian & ~independent).sum()), len(bayesian))
        claims.append(
            Claim(
                "P21 Figs. 3-5, Table 1",
                f"{model}: the two hypotheses give different answers; only the independent check fails",
                "not at hand",
                f"only the independent check fails in {only}, only the Bayesian in {reverse}; "
                f"the Bayesian check fails in {failing(model, 'bayesian')}",
                more_than(only, LEVEL),
            )
        )
    per_instance = "dropout, mask per instance"
    same = outcomes(per_instance, "bayesian") == outcomes(per_instance, "independent")
    claims.append(
        Claim(
            "P21 section 3",
            "labels of one member per instance are labels of the mean prediction: with a mask per instance "
            "dropout has no functions, and the Bayesian check becomes the independent one",
            "not at hand",
            f"with a mask per instance the same answer in {Share(int(same.sum()), same.size)}",
            more_than(Share(int(same.sum()), same.size), 0.5),
        )
    )
    for name, values in spread.items():
        if name not in ("exact posterior", "ensemble", "dropout"):
            continue
        wider = _wider(values)
        claims.append(
            Claim(
                "P21 Figs. 4 and 10",
                f"{name}: members disagree more in the gap than where data were",
                "not at hand",
                f"in {wider}",
                more_than(wider, 0.5),
                "dropout's spread follows the size of the activations, not the data"
                if name == "dropout"
                else "",
            )
        )
    return claims


def _key(check: Check) -> tuple[str, str, str, str]:
    return check.model, check.hypothesis, check.region, check.statistic


QUADRATIC = Study(
    name="p21-quadratic",
    title="A quadratic with a gap: ensemble, dropout and exact posterior under both hypotheses",
    reference="P21 Figs. 3-5 and 10, Table 1",
    small=QuadraticSize(data_sets=8, n=150, members=10, steps=150, replicates=99),
    full=QuadraticSize(data_sets=30, n=500, members=50, steps=500, replicates=499),
    work=work,
    needs=("studies",),
)
