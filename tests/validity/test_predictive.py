"""Under each hypothesis a predictive check rejects as often as its level says, with each statistic.

39 replicates make 5 % and 20 % possible two-sided p-values (2 * 1 / 40 and 2 * 4 / 40).
"""

from __future__ import annotations

import numpy as np
import pytest

import credibly as cr
from validity import worlds

pytestmark = pytest.mark.validity

REPETITIONS = worlds.repetitions(20, 1000)
REPLICATES = 39
CLASSES = ("accuracy", "brier", "log_loss", "confidence_ece", "classwise_ece", "hosmer_lemeshow")
REALS = ("picp", "quantile_calibration_error", "crps", "rmse", "mae", "gaussian_log_loss")
DISCRETE = {"accuracy", "picp"}  # ties make the check conservative
HYPOTHESES = ("bayesian", "independent")


def class_world(hypothesis: str, rng: np.random.Generator) -> tuple[cr.Ensemble, np.ndarray]:
    members = rng.dirichlet(np.ones(3), size=(30, 4))
    truth = members[:, rng.integers(4)] if hypothesis == "bayesian" else members.mean(axis=1)
    return cr.Ensemble(members), worlds.draw(truth, rng)


def real_world(hypothesis: str, rng: np.random.Generator) -> tuple[cr.Gaussian, np.ndarray]:
    mean = rng.normal(size=(25, 1)) + rng.normal(size=(1, 4))
    std = np.exp(0.3 * rng.normal(size=(25, 4)))
    chosen = np.full(25, rng.integers(4)) if hypothesis == "bayesian" else rng.integers(4, size=25)
    rows = np.arange(25)
    return cr.Gaussian(mean, std), mean[rows, chosen] + std[rows, chosen] * rng.normal(size=25)


@pytest.fixture(scope="module", params=HYPOTHESES)
def pvalues(request: pytest.FixtureRequest) -> dict[str, np.ndarray]:
    """The p-values of all statistics, of the smallest of them, and of the worst of three groups."""
    hypothesis = request.param
    rng = np.random.default_rng(20250)
    found: dict[str, list[float]] = {
        name: [] for name in (*CLASSES, *REALS, "smallest class", "smallest real", "group")
    }
    for _ in range(REPETITIONS):
        for make, names, kind in ((class_world, CLASSES, "class"), (real_world, REALS, "real")):
            predictions, labels = make(hypothesis, rng)
            groups = np.arange(len(predictions)) % 3 if kind == "class" else None
            check = cr.predictive_check(
                predictions,
                labels,
                statistics=names,
                hypothesis=hypothesis,
                groups=groups,
                n_resamples=REPLICATES,
                rng=rng,
            )
            part = check.under(hypothesis)
            for name in names:
                found[name].append(part.checks[name].pvalue)
            found[f"smallest {kind}"].append(part.omnibus_pvalue)
            if groups is not None:
                cells = [
                    result.adjusted_pvalue for group in part.groups.values() for result in group.values()
                ]
                found["group"].append(min(cells))
    return {name: np.array(values) for name, values in found.items()}


@pytest.mark.parametrize("level", [0.05, 0.2])
@pytest.mark.parametrize("name", [*CLASSES, *REALS])
def test_size(name: str, level: float, pvalues: dict[str, np.ndarray]) -> None:
    rejected = int((pvalues[name] <= level + 1e-12).sum())
    low, high = worlds.bounds(REPETITIONS, level)
    assert (0 if name in DISCRETE else low) <= rejected <= high


@pytest.mark.parametrize("level", [0.05, 0.2])
@pytest.mark.parametrize("name", ["smallest class", "smallest real", "group"])
def test_adjusted_p_values_bound_the_chance_of_any_false_conflict(
    name: str, level: float, pvalues: dict[str, np.ndarray]
) -> None:
    # ties of discrete statistics count as extreme, so the family-wise error is at most the level
    assert int((pvalues[name] <= level + 1e-12).sum()) <= worlds.bounds(REPETITIONS, level)[1]


def test_members_that_are_draws_need_the_p_value_that_counts_the_truth() -> None:
    """Where the truth is another draw from the posterior of which few members are stored."""
    rng = np.random.default_rng(1)
    average = cr.statistic(lambda p, y: y.mean(axis=1), tail="two-sided", batched=True, name="mean")
    plain, counted = [], []
    for _ in range(REPETITIONS):
        centres = rng.normal(size=6)  # five members and the truth, exchangeable
        gaussian = cr.Gaussian(np.tile(centres[:5], (60, 1)), np.full((60, 5), 0.3))
        labels = centres[5] + 0.3 * rng.normal(size=60)
        result = cr.predictive_check(
            gaussian,
            labels,
            statistics=[average],
            hypothesis="bayesian",
            n_resamples=99,
            rng=rng,
        ).checks["mean"]
        plain.append(result.pvalue)
        counted.append(result.details.member_pvalue)
    # outside all five with probability 2 / 6, so the plain p-value is far from uniform
    assert np.mean(np.array(plain) <= 0.05) > 0.25
    for level in (0.05, 0.2, 0.34):
        assert (np.array(counted) <= level).sum() <= worlds.bounds(REPETITIONS, level)[1]
