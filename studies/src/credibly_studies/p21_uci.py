"""P21 Tables 2 and 3: six kinds of models on eight UCI data sets, 20 splits each, and what they fail."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from credibly._arrays.philox import Seed
from credibly.hypotests import pit_test, predictive_check
from credibly.plots.curves import EnvelopeDisplay
from credibly.predictions import Gaussian, Quantiles, RealPredictions
from credibly.results.curves import EnvelopeCurve
from credibly.results.tests import CheckResult
from credibly.statistics import crps, picp, rmse
from credibly_studies.inputs import public_arrays, trained
from credibly_studies.p21_uci_tables import LEVEL, Row, claims, tables
from credibly_studies.perceptrons import Training
from credibly_studies.regressors import MODELS, Arrays, Splits, standardised
from credibly_studies.results import Drawing, Findings, drawn
from credibly_studies.study import Run, Study

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
STATISTICS = ("rmse", "picp", "quantile_calibration_error")
_EPOCHS = 40
_SHOWN = "deep ensemble"


@dataclasses.dataclass(frozen=True)
class UciSize:
    """How large the study is.

    Parameters
    ----------
    data_sets : tuple of str
        Which.
    splits : int
        The first of the 20.
    members : int
        Networks of the ensemble.
    draws : int
        Members of dropout (masks) and of Bayesian ridge regression (coefficients).
    steps : tuple of int
        Fewest and most steps of training; 40 epochs between them.
    replicates : int
        Of each check.
    hidden : tuple of int
        Units of the hidden layers; the paper has two of 128, and 2000 epochs with a tuned rate.
    """

    data_sets: tuple[str, ...]
    splits: int
    members: int
    draws: int
    steps: tuple[int, int]
    replicates: int
    hidden: tuple[int, ...]


@dataclasses.dataclass(frozen=True)
class _Task:
    name: str
    size: UciSize
    seed: Seed


def work(size: UciSize, run: Run) -> Findings:
    """Train all models on all splits and check them on the test parts."""
    parts = run.map(_data_set, [_Task(name, size, run.seed) for name in size.data_sets])
    rows = [row for own, _ in parts for row in own]
    curves = parts[-1][1]  # of the smallest data set
    drawings: dict[str, Drawing] = {
        f"pit-{name}": drawn(EnvelopeDisplay(curve)) for name, curve in curves.items()
    }
    return Findings(tables(rows), claims(rows), drawings)


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
        Both parts of each.
    """
    path = f"uci/{name}/data.npz"
    data, features, target = public_arrays(path, "data", "features", "target")
    train, test = (
        np.stack(public_arrays(path, *(f"{part}_{at}" for at in range(count)))) for part in ("train", "test")
    )
    return standardised(data[:, features], data[:, int(target)], train, test)


def _data_set(task: _Task) -> tuple[list[Row], dict[str, EnvelopeCurve]]:
    """Return one row per model, split, hypothesis and statistic, and curves of the first split."""
    size = task.size
    splits = splits_of(task.name, size.splits)
    rows: list[Row] = []
    curves: dict[str, EnvelopeCurve] = {}
    for place, model in enumerate(MODELS):
        found = _fitted(task, splits, place)
        for split in range(size.splits):
            given = MODELS[model].read({name: values[split] for name, values in found.items()})
            seed = np.random.default_rng([*task.seed, DATA_SETS.index(task.name), place, split, 1])
            rows += _checked(task, model, split, given, splits, seed)
            if model == _SHOWN and split == 0:
                labels = splits.test_y[0]
                curves = {
                    "bayesian": pit_test(given, labels, hypothesis="bayesian", levels=20, rng=0),
                    "independent": pit_test(given, labels, hypothesis="independent", levels=20, rng=0),
                }
    return rows, curves


def _fitted(task: _Task, splits: Splits, place: int) -> Arrays:
    """Fit one model to all splits, or read what it gave before."""
    size, model = task.size, list(MODELS)[place]
    fewest, most = task.size.steps
    training = Training(
        hidden=size.hidden,
        steps=int(np.clip(_EPOCHS * splits.train_y.shape[1] // Training.batch, fewest, most)),
    )
    members = size.members if model == _SHOWN else size.draws
    address = [*task.seed, DATA_SETS.index(task.name), place, 0]
    settings = {
        "data": task.name,
        "model": model,
        "splits": size.splits,
        "members": members,
        "training": training,
        "seed": address,
    }

    def make() -> Arrays:
        found = MODELS[model].fit(splits, members, training, np.random.default_rng(address))
        return {name: values.astype(np.float32) for name, values in found.items()}

    return trained("p21-uci", settings, make)


def _checked(
    task: _Task,
    model: str,
    split: int,
    given: RealPredictions,
    splits: Splits,
    generator: np.random.Generator,
) -> Sequence[Row]:
    labels = splits.test_y[split]
    single = not isinstance(given, Gaussian) or given.n_members == 1
    # labels of quantiles are drawn as cells, which have no distance to a mean
    tested = [name for name in STATISTICS if name != "rmse" or not isinstance(given, Quantiles)]
    check = predictive_check(
        given,
        labels,
        statistics=tested,
        hypothesis="independent" if single else "both",
        n_resamples=task.size.replicates,
        paper="P21",
        rng=generator,
    )
    values = {
        "mse": float(rmse(given, labels)) ** 2,  # of standardised targets, as printed
        "picp": float(picp(given, labels, paper="P21")),
        "crps": float(crps(given, labels)),
    }
    return [
        Row(
            data=task.name,
            model=model,
            split=split,
            hypothesis="both (one member)" if single else hypothesis,
            statistic=name,
            values=values,
            value=result.statistic,
            paper_fails=result.paper_rules["outside the central 95 %"],
            fails=result.pvalue <= LEVEL,
            adjusted_fails=_adjusted(result) <= LEVEL,
            member_fails=_counting_the_truth(result) <= LEVEL,
            direction=result.direction,
        )
        for hypothesis, part in check.hypotheses.items()
        for name, result in part.checks.items()
    ]


def _adjusted(result: CheckResult) -> float:
    return result.pvalue if result.adjusted_pvalue is None else result.adjusted_pvalue


def _counting_the_truth(result: CheckResult) -> float:
    """Return the p-value that counts the truth as one more member, where members were drawn."""
    return result.pvalue if result.member_pvalue is None else result.member_pvalue


UCI = Study(
    name="p21-uci",
    title="Six kinds of models on UCI data: mean squared errors, coverage, and which checks they fail",
    reference="P21 Tables 2 and 3",
    small=UciSize(("yacht",), splits=3, members=4, draws=20, steps=(200, 200), replicates=99, hidden=(50,)),
    full=UciSize(
        ("bostonHousing", "energy", "yacht"),
        splits=3,
        members=5,
        draws=20,
        steps=(300, 300),
        replicates=199,
        hidden=(128, 128),
    ),
    work=work,
    design="another",
    needs=("data",),
)
