"""P21 App. A, Tables 2 and 3: five kinds of models on eight UCI data sets, 20 splits each: what they pass.

As printed: 72 % of the cases to train, 18 % to choose settings by the mean loss over splits, 10 % to test;
two layers of 128 units; 1000 draws of SQR and of MC dropout, whose passes have no noise; standardised
targets, 95 % intervals, 100 levels. `AS_PRINTED` has the paper's grid (3 rates, 4 decays) and 2000 epochs,
which take days; the results on record have fewer steps and a smaller grid: another design. The flow is
another one in both (sinh-arcsinh).
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from credibly._arrays.namespace import HostArray
from credibly._arrays.philox import Seed
from credibly.hypotests import pit_test
from credibly.plots import picture
from credibly.predictions import RealPredictions
from credibly.results.curves import EnvelopeCurve
from credibly.results.tests import CheckDetails, HypotestResult
from credibly.statistics import picp, quantile_calibration_error, rmse
from credibly_studies.inputs import public_arrays, trained
from credibly_studies.p21 import is_beyond_quantiles, predictive_check
from credibly_studies.p21_uci_tables import LEVEL, Row, claims, tables
from credibly_studies.paper_settings import as_in
from credibly_studies.perceptrons import Training
from credibly_studies.regressors import (
    MODELS,
    NETWORKS,
    Arrays,
    Grid,
    Splits,
    predictions,
    ridge,
    standardised,
    tuned,
)
from credibly_studies.results import Claim, Design, Drawing, Findings, drawn
from credibly_studies.study import Run, Study, Tables

# the largest first, so that no worker is left alone with it
DATA_SETS = (
    "naval-propulsion-plant",
    "power-plant",
    "kin8nm",
    "wine-quality-red",
    "concrete",
    "energy",
    "bostonHousing",
    "yacht",
)
STATISTICS = ("picp", "quantile_calibration_error")
_SHOWN = "MC dropout"
_BATCH = 128


@dataclasses.dataclass(frozen=True)
class UciSize:
    """How large the study is.

    Parameters
    ----------
    data_sets : tuple of str
        Which.
    splits : int
        The first of the 20.
    draws : int
        Of SQR, and masks of dropout.
    steps : int
        Of training, with 128 cases each.
    replicates : int
        Of each check.
    hidden : tuple of int
        Units of the hidden layers.
    rates, decays, dropouts : tuple of float
        Settings to choose from: learning rate of Adam, and its weight decay or, of MC dropout, the rate of
        dropout.
    epochs : int, optional
        Epochs of training, instead of `steps`; the paper has 2000.
    """

    data_sets: tuple[str, ...]
    splits: int
    draws: int
    steps: int
    replicates: int
    hidden: tuple[int, ...] = (128, 128)
    rates: tuple[float, ...] = (1e-2, 1e-3)
    decays: tuple[float, ...] = (0.0, 1e-2)
    dropouts: tuple[float, ...] = (0.1, 0.25, 0.5, 0.75)
    epochs: int | None = None

    def steps_on(self, cases: int) -> int:
        """Return the steps of training on so many cases."""
        return self.steps if self.epochs is None else self.epochs * math.ceil(cases / _BATCH)


@dataclasses.dataclass(frozen=True)
class _Task:
    name: str
    model: str
    size: UciSize
    seed: Seed


def work(size: UciSize, run: Run) -> Findings:
    """Train all models on all splits and check them on the test parts."""
    # the dearest model first, so that no worker is left alone with it
    tasks = [_Task(name, model, size, run.seed) for model in reversed(MODELS) for name in size.data_sets]
    parts = run.map(_one_model, tasks)
    rows = [row for rows_of_model, _, _ in parts for row in rows_of_model]
    rows.sort(key=lambda row: (size.data_sets.index(row.data), MODELS.index(row.model)))
    curves = parts[len(size.data_sets) - 1][2]  # of the last model on the last, smallest data set
    chosen = {(task.name, task.model): setting for task, (_, setting, _) in zip(tasks, parts, strict=True)}
    drawings: dict[str, Drawing] = {f"pit-{name}": drawn(picture(curve)) for name, curve in curves.items()}
    return Findings(tables(rows, chosen), (), drawings)


def splits_of(name: str, count: int) -> Splits:
    """Read the first splits of a data set, standardised.

    Parameters
    ----------
    name : str
        One of `DATA_SETS`.
    count : int
        How many of the 20.

    Returns
    -------
    Splits
        All parts of each.
    """
    path = f"uci/{name}/data.npz"
    data, features, target = public_arrays(path, "data", "features", "target")
    train, test = (
        np.stack(public_arrays(path, *(f"{part}_{at}" for at in range(count)))) for part in ("train", "test")
    )
    return standardised(data[:, features], data[:, int(target)], train, test)


def _one_model(task: _Task) -> tuple[list[Row], str, dict[str, EnvelopeCurve]]:
    """Return one row per split, hypothesis and statistic, the setting, and curves of the first split."""
    size = task.size
    splits = splits_of(task.name, size.splits)
    place = MODELS.index(task.model)
    arrays = _fitted(task, splits)
    rows: list[Row] = []
    curves: dict[str, EnvelopeCurve] = {}
    for split in range(size.splits):
        predicted = predictions({name: values[split] for name, values in arrays.items() if name != "setting"})
        seed = np.random.default_rng([*task.seed, DATA_SETS.index(task.name), place, split, 1])
        rows += _checked(task, split, predicted, splits.test_y[split], seed)
        if task.model == _SHOWN and split == 0:
            labels = splits.test_y[0]
            curves = {
                "bayesian": pit_test(predicted, labels, hypothesis="bayesian", levels=20, rng=0),
                "independent": pit_test(predicted, labels, hypothesis="independent", levels=20, rng=0),
            }
    rate, decay, dropout = map(float, arrays["setting"])
    chosen = f"rate {rate:g}, decay {decay:g}" + (f", dropout {dropout:g}" if dropout else "")
    return rows, chosen if task.model in NETWORKS else "", curves


def _fitted(task: _Task, splits: Splits) -> Arrays:
    """Fit one model to all splits, or read what it gave before."""
    size = task.size
    training = Training(hidden=size.hidden, steps=size.steps_on(splits.train_y.shape[1]), batch=_BATCH)
    grid = Grid(size.rates, size.decays, size.dropouts)
    address = [*task.seed, DATA_SETS.index(task.name), MODELS.index(task.model), 0]
    settings: dict[str, Any] = {
        "data": task.name,
        "model": task.model,
        "splits": size.splits,
        "draws": size.draws,
        "training": training,
        "grid": grid,
        "seed": address,
    }

    def make() -> Arrays:
        if task.model not in NETWORKS:
            return {**ridge(splits), "setting": np.zeros(3)}
        network, generator = NETWORKS[task.model], np.random.default_rng(address)
        layers, training_chosen = tuned(network, splits, training, grid, generator)
        output = network.says(layers, splits.test_x, size.draws, training_chosen.dropout, generator)
        return {
            **output,
            "setting": np.array(
                [training_chosen.learning_rate, training_chosen.decay, training_chosen.dropout]
            ),
        }

    return dict(trained("p21-uci", settings, make))


def _checked(
    task: _Task, split: int, predictions: RealPredictions, labels: HostArray, generator: np.random.Generator
) -> Sequence[Row]:
    single = predictions.n_members == 1
    check = predictive_check(
        predictions,
        labels,
        statistics=list(STATISTICS),
        hypothesis="independent" if single else "both",
        n_resamples=task.size.replicates,
        rng=generator,
    )
    values = {
        "mse": float(rmse(predictions, labels)) ** 2,  # of standardised targets, as printed
        "picp": float(as_in("P21", picp)(predictions, labels)),
        "calibration": float(as_in("P21", quantile_calibration_error)(predictions, labels)),
    }
    return [
        Row(
            data=task.name,
            model=task.model,
            split=split,
            hypothesis="both (one member)" if single else hypothesis,
            statistic=name,
            values=values,
            paper_fails=is_beyond_quantiles(result),
            fails=result.pvalue <= LEVEL,
            adjusted_fails=_adjusted(result) <= LEVEL,
            member_fails=_counting_the_truth(result) <= LEVEL,
            direction=result.details.direction,
        )
        for hypothesis, part in check.hypotheses.items()
        for name, result in part.checks.items()
    ]


def _adjusted(result: HypotestResult) -> float:
    return result.pvalue if result.adjusted_pvalue is None else result.adjusted_pvalue


def _counting_the_truth(result: HypotestResult[CheckDetails]) -> float:
    """Return the p-value that counts the truth as one more member, where members were drawn."""
    return result.pvalue if result.details.member_pvalue is None else result.details.member_pvalue


AS_PRINTED = UciSize(
    DATA_SETS,
    splits=20,
    draws=1000,
    steps=0,
    replicates=999,
    rates=(1e-2, 1e-3, 1e-4),
    decays=(0.0, 1e-3, 1e-2, 1e-1),
    epochs=2000,
)
"""The printed training: ``dataclasses.replace(UCI, full=AS_PRINTED).run("full")``."""


def judge(tables: Tables, size: UciSize) -> list[Claim]:
    """Judge the tables; only the printed grid and epochs are the printed design."""
    design: Design = "as printed" if size == AS_PRINTED else "another"
    return [dataclasses.replace(claim, design=design) for claim in claims(tables, size)]


UCI = Study(
    name="p21-uci",
    title="Five kinds of models on UCI data: mean squared errors, coverage, and which checks they pass",
    reference="P21 App. A, Tables 2 and 3",
    small=UciSize(
        ("yacht",),
        splits=3,
        draws=50,
        steps=200,
        replicates=99,
        hidden=(50,),
        rates=(1e-2,),
        decays=(0.0,),
        dropouts=(0.1, 0.25),
    ),
    full=UciSize(DATA_SETS, splits=20, draws=1000, steps=1500, replicates=999),
    work=work,
    needs=("data",),
    judge=judge,
)
