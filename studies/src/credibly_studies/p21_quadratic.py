"""P21 section 4.1 and App. F, Figs. 3-5, Table 1: a quadratic with a gap in its data, and who knows about it.

x ~ N(0, 1), y ~ N((x - 1)^2, .5), no training data between -1.5 and 0. An ensemble of Gaussian networks, read
as one of its members (Bayesian) or as their mean (independent), and a network with dropout, one mask for all
rows, are checked by their calibration error on data like those of the training and on data in the gap.
Printed: 50 networks of three layers of 128 ELU units, 128 masks, 500 epochs of 10 000 cases, tests of 1000
and 10 000, one data set; here fewer and smaller networks, fewer steps, and several data sets.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

import numpy as np

from credibly._arrays.namespace import HostArray
from credibly._arrays.philox import Seed
from credibly.plots import picture
from credibly.predictions import Gaussian
from credibly_studies.d21_mode_claims import over_repetitions
from credibly_studies.descent import Activation, Layers
from credibly_studies.inputs import trained
from credibly_studies.judging import Interval, above, denied, told
from credibly_studies.outcomes import Share, all_of, any_of, more_than
from credibly_studies.p21 import (
    MemberFunctions,
    is_beyond_replicates,
    member_functions,
    paper_pvalue,
    predictive_check,
)
from credibly_studies.p21_claims import GAP_FAILS, GAP_PASSES, SEEN_PASSES, SHARPER
from credibly_studies.p21_printed import TABLE_1
from credibly_studies.perceptrons import Training, fit_perceptrons, masks, outputs_of, repeated
from credibly_studies.regressors import gaussian_loss, mean_and_std
from credibly_studies.results import Cell, Claim, Drawing, Findings, Outcome, StudyTable, drawn
from credibly_studies.simulate import QuadraticWorld
from credibly_studies.study import Run, Study

CALIBRATION = "quantile_calibration_error"
MODELS = ("independent ensemble", "Bayesian ensemble", "MC dropout")
REGIONS = {"in distribution": "seen", "in the gap": "gap"}
_DROPOUT = 0.1
_ACTIVATION: Activation = "elu"


@dataclasses.dataclass(frozen=True)
class QuadraticSize:
    """How large the study is.

    Parameters
    ----------
    data_sets : int
        Training sets, each with networks and test data of its own; the paper has one.
    n_train : int
        Cases to train on.
    n, n_gap : int
        Test instances in distribution and in the gap.
    members, masks : int
        Networks of an ensemble, masks of dropout.
    hidden : tuple of int
        Units of the hidden layers.
    steps : int
        Of training.
    replicates : int
        Of each check.
    """

    data_sets: int
    n_train: int
    n: int
    n_gap: int
    members: int
    masks: int
    hidden: tuple[int, ...]
    steps: int
    replicates: int


@dataclasses.dataclass(frozen=True)
class _Task:
    size: QuadraticSize
    seed: Seed
    data_set: int


@dataclasses.dataclass(frozen=True)
class Checked:
    """One check: P21's p, sharpness, and whether the value is beyond all replicates.

    Then the value, and at which share of the places the means of members enclose the truth.
    """

    pvalue: float
    sharpness: float
    fails: bool
    value: float = 0.0
    enclosed: float = 0.0


@dataclasses.dataclass(frozen=True)
class _Found:
    checks: dict[tuple[str, str], Checked]
    functions: dict[str, MemberFunctions]


def work(size: QuadraticSize, run: Run) -> Findings:
    """Train on every data set, then check every model in both regions."""
    data_sets = run.map(_data_set, [_Task(size, run.seed, at) for at in range(size.data_sets)])
    checks = {key: [data_set.checks[key] for data_set in data_sets] for key in data_sets[0].checks}
    drawings: dict[str, Drawing] = {
        name: drawn(picture(functions)) for name, functions in data_sets[0].functions.items()
    }
    return Findings((_table(checks),), claims(checks), drawings)


def _networks(task: _Task) -> tuple[Layers, Layers]:
    """Return the networks of one data set: the ensemble, and one network with dropout."""
    size = task.size
    training = Training(
        hidden=size.hidden, steps=size.steps, batch=128, learning_rate=5e-3, activation=_ACTIVATION
    )
    settings = {
        "n_train": size.n_train,
        "members": size.members,
        "training": training,
        "seed": [*task.seed, task.data_set],
    }

    def make() -> dict[str, HostArray]:
        world = QuadraticWorld(n_train=size.n_train)
        x, y = world.training_data(rng=np.random.SeedSequence([*task.seed, task.data_set]))
        generator = np.random.default_rng([*task.seed, 1, task.data_set])
        arrays: dict[str, HostArray] = {}
        for name, members, rate in (("ensemble", size.members, 0.0), ("dropout", 1, _DROPOUT)):
            layers = fit_perceptrons(
                x[None, :, None],
                y[None],
                members=members,
                outputs=2,
                loss=gaussian_loss,
                training=dataclasses.replace(training, dropout=rate),
                generator=generator,
            )
            for at, (weight, offset) in enumerate(layers):
                arrays |= {f"{name}-weight{at}": weight, f"{name}-offset{at}": offset}
        return arrays

    trained_layers = trained("p21-quadratic", settings, make)
    places = range(len(size.hidden) + 1)
    ensemble, dropout = (
        tuple((trained_layers[f"{name}-weight{at}"], trained_layers[f"{name}-offset{at}"]) for at in places)
        for name in ("ensemble", "dropout")
    )
    return ensemble, dropout


def _data_set(task: _Task) -> _Found:
    size = task.size
    generator = np.random.default_rng([*task.seed, 2, task.data_set])
    ensemble, dropout = _networks(task)
    copies = repeated(dropout, size.masks)
    kept = masks(copies, _DROPOUT, generator)
    checks: dict[tuple[str, str], Checked] = {}
    functions: dict[str, MemberFunctions] = {}
    for region, test in REGIONS.items():
        # one training set belongs to a seed: test data of another seed are new
        world = QuadraticWorld(n_train=1, n_members=1, test="seen" if test == "seen" else "gap")
        sample = world.draw(size.n if test == "seen" else size.n_gap, rng=generator)
        whole = _gaussian(outputs_of(ensemble, sample.features, activation=_ACTIVATION))
        drop = _gaussian(outputs_of(copies, sample.features, kept, _ACTIVATION))
        for model, predictions, hypothesis in (
            ("independent ensemble", whole, "independent"),
            ("Bayesian ensemble", whole, "bayesian"),
            ("MC dropout", drop, "bayesian"),
        ):
            check = predictive_check(
                predictions,
                sample.labels,
                statistics=[CALIBRATION],
                hypothesis=hypothesis,
                n_resamples=size.replicates,
                rng=generator,
            ).checks[CALIBRATION]
            fails = is_beyond_replicates(check)
            checks[model, region] = Checked(
                paper_pvalue(check),
                check.details.sharpness,
                fails,
                check.statistic,
                _enclosed(predictions, sample.features[:, 0]),
            )
        if task.data_set == 0 and test == "gap":
            x, labels = sample.features[:, 0], sample.labels
            functions = {
                f"functions-{name}": member_functions(predictions, labels, x=x, rng=0)
                for name, predictions in (("ensemble", whole), ("dropout", drop))
            }
    return _Found(checks, functions)


def _gaussian(outputs: HostArray) -> Gaussian:
    mean, std = mean_and_std(outputs)
    return Gaussian(np.ascontiguousarray(mean.T), np.ascontiguousarray(std.T), member_axis=1)


def _enclosed(gaussian: Gaussian, x: HostArray) -> float:
    """Return at which share of the places the true mean, (x - 1)^2, lies between means of members."""
    means, truth = np.asarray(gaussian.mean), (x - 1.0) ** 2
    return float(((means.min(axis=1) <= truth) & (truth <= means.max(axis=1))).mean())


Checks = Mapping[tuple[str, str], Sequence[Checked]]


def _table(checks: Checks) -> StudyTable:
    rows: list[tuple[Cell, ...]] = []
    for (model, region), outcomes in checks.items():
        printed = TABLE_1[model][list(REGIONS).index(region)]
        share = Share(sum(outcome.fails for outcome in outcomes), len(outcomes))
        medians = (
            float(np.median([getattr(outcome, name) for outcome in outcomes]))
            for name in ("pvalue", "sharpness")
        )
        rows.append((model, region, *medians, share.rate, share.interval, *printed))
    columns = (
        "model", "where", "p, median", "sharpness, median", "beyond all replicates", "interval", "p, printed",
        "sharpness, printed",
    )  # fmt: skip
    return StudyTable("checks", "Calibration error: p and sharpness beside Table 1", columns, rows)


def claims(checks: Checks) -> list[Claim]:
    """Return what the checks say about Table 1.

    Parameters
    ----------
    checks : mapping of (model, region) to sequence of Checked
        Over data sets.

    Returns
    -------
    list of Claim
        Claims with outcomes.
    """

    def failing(model: str, region: str) -> Share:
        outcomes = checks[model, region]
        return Share(sum(outcome.fails for outcome in outcomes), len(outcomes))

    def wider(model: str, other: str, region: str, other_region: str) -> tuple[float, Interval | None]:
        first, second = (
            np.log([outcome.sharpness for outcome in checks[name, where]])
            for name, where in ((model, region), (other, other_region))
        )
        return over_repetitions(first - second)

    seen, gap = REGIONS
    grown = {name: wider(name, name, gap, seen) for name in ("Bayesian ensemble", "MC dropout")}
    blunt = wider("MC dropout", "Bayesian ensemble", gap, gap)
    passing = {name: failing(name, gap) for name in grown}
    inside = {name: failing(name, seen) for name in MODELS}
    worse = over_repetitions(
        np.array(
            [
                dropout.value - ensemble.value
                for dropout, ensemble in zip(
                    checks["MC dropout", seen], checks["Bayesian ensemble", seen], strict=True
                )
            ]
        )
    )
    enclosed = {
        name: over_repetitions(np.array([one.enclosed for one in checks[name, gap]])) for name in grown
    }
    return [
        Claim(
            *GAP_FAILS,
            "",
            f"beyond all replicates in {failing('independent ensemble', gap)}",
            more_than(failing("independent ensemble", gap), 0.5),
        ),
        Claim(
            *GAP_PASSES,
            "",
            "beyond all replicates in " + ", ".join(f"{name} {share}" for name, share in passing.items()),
            all_of(*(_rare(share) for share in passing.values())),
            "briefly trained networks agree too much where they saw nothing",
        ),
        Claim(
            *SEEN_PASSES,
            "",
            "beyond all replicates in " + ", ".join(f"{name} {share}" for name, share in inside.items()),
            all_of(*(_rare(share) for share in inside.values())),
        ),
        Claim(
            "P21 Sec. 4.1, Fig. 5a",
            "in distribution MC dropout has the worse calibration error, within what it expects",
            "drawn",
            f"calibration error of dropout minus that of the ensemble {told(*worse)}; beyond all "
            f"replicates in {inside['MC dropout']}",
            all_of(above(worse[1]), _rare(inside["MC dropout"])),
        ),
        Claim(
            "P21 Sec. 4.1, Fig. 4",
            "in the gap the means of MC dropout and of the Bayesian ensemble encompass the true function",
            "drawn",
            "share of the gap between the lowest and the highest mean: "
            + "; ".join(f"{name} {told(*one)}" for name, one in enclosed.items()),
            any_of(all_of(*(above(one[1], 0.5) for one in enclosed.values()))),
            "ten briefly trained networks cannot deny it; the independent reading has the same band, but "
            "no member that is a function",
        ),
        Claim(
            *SHARPER,
            "",
            f"ln of the ratio, dropout to ensemble: {told(*blunt)}",
            above(blunt[1]),
        ),
        Claim(
            "P21 Table 1",
            "both Bayesian readings are less sharp where there were no data",
            "",
            "ln of the ratio: "
            + "; ".join(f"{name} {told(*one)}" for name, one in grown.items())
            + " (printed 0.008 to 0.396, 0.057 to 1.319)",
            all_of(*(above(ends) for _, ends in grown.values())),
            further=True,
        ),
    ]


def _rare(share: Share) -> Outcome:
    """Judge "it does not fail": in fewer than half of the data sets."""
    return denied(more_than(share, 0.5))


QUADRATIC = Study(
    name="p21-quadratic",
    title="A quadratic with a gap: ensemble and dropout, in distribution and where there were no data",
    reference="P21 Sec. 4.1, App. F, Figs. 3-5, Table 1",
    small=QuadraticSize(4, 2000, 300, 500, 10, 20, (64, 64), 400, 199),
    full=QuadraticSize(10, 10_000, 500, 800, 10, 20, (64, 64), 800, 199),
    work=work,
    design="smaller",
)
