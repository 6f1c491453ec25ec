"""P21 Sec. 3.1: one unknown mean, predicted by N(0, 2). Which check trusts which data?

theta ~ N(0, 1), y_i ~ N(theta, 1). Predictions are the same in all data sets, so replicates are drawn once
and every data set is ranked among them.   Gopal 2021 (P21), eq. 3.1.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.special import ndtr, ndtri

from credibly._arrays.namespace import HostArray
from credibly._arrays.philox import Seed
from credibly.evaluation import shown
from credibly.hypotests import predictive_check
from credibly.hypotests.resampling.pvalues import monte_carlo_pvalue, two_sided_pvalues
from credibly.plots import picture
from credibly.predictions import Gaussian, Reals
from credibly.statistics import quantile_calibration_error
from credibly_studies.outcomes import Share, all_of, at_most, near
from credibly_studies.p21_claims import MISTRUST, TRUST
from credibly_studies.results import Claim, Drawing, Findings, Outcome, StudyTable, drawn
from credibly_studies.simulate import LocationWorld
from credibly_studies.study import Run, Study

Rows = Callable[[np.random.Generator, int, int], HostArray]

NAME = quantile_calibration_error.name
LEVEL = 0.05
HYPOTHESES = ("bayesian", "independent")

_BELIEF = 100  # members that stand for N(0, 1), at its quantiles
_BLOCK = 50  # data sets held at once


def _at(theta: float) -> Rows:
    return lambda generator, sets, n: theta + generator.normal(size=(sets, n))


DATA: dict[str, tuple[Rows, tuple[float, float]]] = {
    "theta = 0.5": (_at(0.5), (0.0, 1.0)),
    "theta ~ N(0, 1)": (
        lambda generator, sets, n: generator.normal(size=(sets, 1)) + generator.normal(size=(sets, n)),
        (LEVEL, 1.0),
    ),
    "y ~ N(0, 2)": (lambda generator, sets, n: np.sqrt(2.0) * generator.normal(size=(sets, n)), (1.0, LEVEL)),
    "theta = 4": (_at(4.0), (1.0, 1.0)),
}
"""What was observed, and the share of data sets that the Bayesian and the independent check should reject."""


@dataclasses.dataclass(frozen=True)
class LocationSize:
    """How large the study is.

    Parameters
    ----------
    n : int
        Instances per data set.
    data_sets : int
        Data sets of each kind.
    replicates : int
        Of each check.
    members : tuple of int
        Numbers of members in the part on few members.
    few_n, repetitions : int
        Instances and data sets of that part.
    """

    n: int
    data_sets: int
    replicates: int
    members: tuple[int, ...]
    few_n: int
    repetitions: int


def work(size: LocationSize, run: Run) -> Findings:
    """Rank data sets of four kinds among the replicates of one model, then ask for fewer members."""
    theta = ndtri((np.arange(_BELIEF) + 0.5) / _BELIEF)
    predictions = Gaussian(np.tile(theta, (size.n, 1)), np.ones((size.n, _BELIEF)), member_axis=1)
    example = 0.5 + run.generator(0).normal(size=size.n)
    check = predictive_check(
        predictions, example, statistics=[NAME], n_resamples=size.replicates, rng=run.seed
    )
    nulls = {name: check.under(name).checks[NAME].null_distribution for name in HYPOTHESES}
    bound = quantile_calibration_error.bind(predictions)
    shares: dict[tuple[str, str], Share] = {}
    rows = []
    for place, (data, (draw, expected)) in enumerate(DATA.items()):
        values = _values(bound, draw, run.generator(1, place), size)
        for hypothesis, wanted in zip(HYPOTHESES, expected, strict=True):
            null = nulls[hypothesis]
            assert null is not None
            rejected = two_sided_pvalues(values, null) <= LEVEL
            share = shares[data, hypothesis] = Share(int(rejected.sum()), len(values))
            side = "below" if np.median(values) < np.median(null) else "above"
            rows.append((data, hypothesis, wanted, share.rate, share.interval, side))
    columns = ("data", "hypothesis", "expected", "rejected", "interval", "side of the replicates")
    title = f"Share of {size.data_sets} data sets rejected at level {LEVEL:g}, n = {size.n}"
    few, ranks = _few_members(size, run)
    drawings: dict[str, Drawing] = {
        name: drawn(picture(check.under(name).checks[NAME], "null")) for name in HYPOTHESES
    }
    return Findings(
        (StudyTable("rows", title, columns, rows), few),
        (*_claims(shares, size), _one_observation(size, run), *_member_claims(ranks)),
        drawings,
    )


def _values(bound: Any, draw: Rows, generator: np.random.Generator, size: LocationSize) -> HostArray:
    """Return the statistic of all data sets, some at a time."""
    counts = [min(_BLOCK, size.data_sets - start) for start in range(0, size.data_sets, _BLOCK)]
    return np.concatenate([np.asarray(bound(Reals(draw(generator, sets, size.n)))) for sets in counts])


def _claims(shares: dict[tuple[str, str], Share], size: LocationSize) -> list[Claim]:
    """Compare all data with what eq. 3.1 implies; a rate of 5 % is right to the Monte-Carlo error."""
    error = 2.0 * float(np.sqrt(LEVEL * (1 - LEVEL) / size.replicates))  # of the level the replicates reach

    def outcome(data: str, hypothesis: str) -> Outcome:
        wanted = DATA[data][1][HYPOTHESES.index(hypothesis)]
        return near(shares[data, hypothesis], wanted, error)

    def rejected(data: str) -> str:
        bayesian, independent = (shares[data, hypothesis] for hypothesis in HYPOTHESES)
        words = f"rejected by the Bayesian check {bayesian}, by the independent one {independent}"
        return f"eq. 3.1, {data}: {words}"

    def both(data: str) -> Outcome:
        return all_of(*(outcome(data, hypothesis) for hypothesis in HYPOTHESES))

    single = [data for data in DATA if data != "y ~ N(0, 2)"]
    return [
        Claim(*MISTRUST, "", rejected("theta = 0.5"), both("theta = 0.5")),
        Claim(*TRUST, "", rejected("y ~ N(0, 2)"), both("y ~ N(0, 2)")),
        Claim(
            "P21 Sec. 3.1, eq. 3.1",
            "F(y) of many observations is never uniform for any single theta",
            "argued",
            "uniformity rejected: " + "; ".join(f"{data} {shares[data, 'independent']}" for data in single),
            all_of(*(outcome(data, "independent") for data in single)),
        ),
        Claim(
            "P21 Sec. 3.1",
            "if theta is a draw of the model, the Bayesian check has its level",
            "",
            rejected("theta ~ N(0, 1)"),
            both("theta ~ N(0, 1)"),
            further=True,
        ),
        Claim(
            "P21 Sec. 3.1",
            "a theta that the model excludes is a conflict either way",
            "",
            rejected("theta = 4"),
            both("theta = 4"),
            further=True,
        ),
    ]


def _one_observation(size: LocationSize, run: Run) -> Claim:
    """Judge App. D: F of one observation per draw of theta is uniform (Kolmogorov and Smirnov's test)."""
    from scipy.stats import kstest

    generator = run.generator(3)
    labels = generator.normal(size=size.data_sets) + generator.normal(size=size.data_sets)
    result = kstest(ndtr(labels / np.sqrt(2.0)), "uniform")
    return Claim(
        "P21 Sec. 3.1, App. D",
        "F(y) of a single observation is uniformly distributed",
        "proved",
        f"eq. 3.1, {size.data_sets} draws of theta with one observation each: largest distance from uniform "
        f"{shown(float(result.statistic))}, p {shown(float(result.pvalue))}",
        "confirmed" if result.pvalue > LEVEL else "not confirmed",
    )


@dataclasses.dataclass(frozen=True)
class _FewTask:
    members: int
    n: int
    replicates: int
    seed: Seed
    repetition: int


def _few_ranks(task: _FewTask) -> tuple[float, float, float, bool]:
    """Return p-values of labels by a new mean, exact and counting the truth, and by a member.

    Last stands whether P21's p of the labels by a member is 0 or 1.
    """
    generator = np.random.default_rng([*task.seed, task.members, task.repetition])
    sample = LocationWorld(n_members=task.members).draw(task.n, rng=generator)
    predictions = sample.predictions
    assert isinstance(predictions, Gaussian)
    check = predictive_check(
        predictions,
        sample.labels,
        statistics=[NAME],
        hypothesis="bayesian",
        n_resamples=task.replicates,
        rng=generator,
    ).checks[NAME]
    replicate = predictions.mean[:, generator.integers(task.members)] + generator.normal(size=task.n)
    value = float(quantile_calibration_error(predictions, replicate))
    null = check.null_distribution
    assert null is not None and check.details.member_pvalue is not None
    extreme = bool((null < value).all() or (null > value).all())
    return check.pvalue, check.details.member_pvalue, monte_carlo_pvalue(value, null, "two-sided")[0], extreme


def _few_members(size: LocationSize, run: Run) -> tuple[StudyTable, dict[int, dict[str, Share]]]:
    """Draw the model's members at random, fewer and fewer: does the check keep its level?"""
    tasks = [
        _FewTask(members, size.few_n, size.replicates, run.seed, repetition)
        for members in size.members
        for repetition in range(size.repetitions)
    ]
    ranks = np.array(run.map(_few_ranks, tasks), dtype=float).reshape(len(size.members), size.repetitions, 4)
    shares = {}
    for members, ranks_of in zip(size.members, ranks, strict=True):
        counts = [*(ranks_of[:, :3] <= LEVEL).sum(axis=0), ranks_of[:, 3].sum()]
        names = ("a member", "new mean", "new mean, member p", "p is 0 or 1")
        order = (counts[2], counts[0], counts[1], counts[3])
        shares[members] = {
            name: Share(int(count), size.repetitions) for name, count in zip(names, order, strict=True)
        }
    rows = [
        (members, case, share.rate, share.interval)
        for members, shares_of in shares.items()
        for case, share in shares_of.items()
    ]
    title = (
        f"Bayesian check with few members (n = {size.few_n}, {size.repetitions} data sets, {size.replicates} "
        "replicates): labels by one of the members, by a new mean, and P21's rule for the former"
    )
    return StudyTable(
        "few-members", title, ("members", "labels and rule", "rejected", "interval"), rows
    ), shares


def _member_claims(shares: dict[int, dict[str, Share]]) -> list[Claim]:
    fewest = min(shares)
    few = shares[fewest]
    return [
        Claim(
            "P21 Sec. 2.4, Algorithm 1",
            "with few members the check also keeps its level for a new draw from the posterior",
            "",
            f"with {fewest} members a new mean is rejected in {few['new mean']}, counting the truth as one "
            f"more member in {few['new mean, member p']}, and labels of a member in {few['a member']}",
            at_most(few["new mean"], LEVEL),
            "for the paper p(theta) of an ensemble is the mixture of its members; a new draw from the "
            "posterior lies outside all of m members in up to 2 / (m + 1)",
            further=True,
        )
    ]


LOCATION = Study(
    name="p21-location",
    title="One unknown mean: which data the Bayesian and the independent check reject; few members",
    reference="P21 Sec. 3.1, eq. 3.1",
    small=LocationSize(n=300, data_sets=100, replicates=199, members=(5, 50), few_n=60, repetitions=40),
    full=LocationSize(
        n=1000, data_sets=1000, replicates=999, members=(5, 10, 20, 50), few_n=100, repetitions=200
    ),
    work=work,
    design="as printed",
)
