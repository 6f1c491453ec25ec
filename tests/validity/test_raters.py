"""Decompositions over raters: unbiased from two raters on, and intervals that cover.

D21 Figure 1 (ideal predictor, few raters, coarse and fine bins), and three worlds whose truth is a
distribution of labels per instance: the ideal predictor, a prediction that is calibrated but does not tell
instances apart, and one that is wrong in both ways. Kinds of instances are finite, so every estimand is an
exact sum.
"""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import credibly as cr
from credibly_studies import d21
from validity import worlds

pytestmark = pytest.mark.validity

REPETITIONS = worlds.repetitions(20, 2000)
LOSS = ("expected", "epistemic", "irreducible", "calibration", "dispersion", "refinement")
DISAGREEMENT = ("expected", "calibration", "refinement", "predicted", "observed")


@dataclasses.dataclass(frozen=True)
class World:
    """Kinds of instances, equally likely: what is predicted and what raters draw from, (kinds, k)."""

    predicted: np.ndarray
    truth: np.ndarray

    def estimands(self, n_bins: int) -> dict[str, float]:
        """All terms over the kinds themselves, without noise."""
        z, q = self.predicted, self.truth
        epistemic, irreducible = ((z - q) ** 2).sum(axis=1).mean(), (q * (1 - q)).sum(axis=1).mean()
        calibration = squared_gaps(z, q, n_bins).sum()
        values = {
            "expected": epistemic + irreducible,
            "epistemic": epistemic,
            "irreducible": irreducible,
            "calibration": calibration,
            "dispersion": epistemic - calibration,
            "refinement": epistemic + irreducible - calibration,
        }
        phi, d = 1 - (z**2).sum(axis=1, keepdims=True), 1 - (q**2).sum(axis=1, keepdims=True)
        loss, numbers = (d * (1 - 2 * phi) + phi**2).mean(), squared_gaps(phi, d, n_bins).sum()
        pairs = {"expected": loss, "calibration": numbers, "refinement": loss - numbers}
        pairs |= {"predicted": phi.mean(), "observed": d.mean()}
        return values | {f"disagreement {name}": value for name, value in pairs.items()}

    def sample(self, n: int, raters: tuple[int, int], rng: np.random.Generator) -> tuple:
        kind = rng.integers(0, len(self.truth), size=n)
        numbers = rng.integers(raters[0], raters[1] + 1, size=n)
        return self.predicted[kind], cr.LabelCounts(rng.multinomial(numbers, self.truth[kind]))


def squared_gaps(predicted: np.ndarray, truth: np.ndarray, n_bins: int) -> np.ndarray:
    """P(bin) times squared gap, summed over the bins of every column."""
    values = np.zeros(predicted.shape[1])
    for c, (z, q) in enumerate(zip(predicted.T, truth.T, strict=True)):
        bins = np.minimum((z * n_bins).astype(int), n_bins - 1)
        for b in range(n_bins):
            inside = bins == b
            if inside.any():
                values[c] += inside.mean() * (q[inside].mean() - z[inside].mean()) ** 2
    return values


def make(name: str) -> World:
    rng = np.random.default_rng(11)
    z = rng.dirichlet(np.full(3, 0.8), size=40)
    if name == "ideal":
        return World(z, z)
    spread = rng.dirichlet(np.ones(3), size=(40, 4)) - 1 / 3
    spread -= spread.mean(axis=1, keepdims=True)  # the four instances behind a prediction average to it
    room = z.min(axis=1)[:, None, None]
    centre = z if name == "dispersed" else worlds.temper(z, 0.6)
    truth = centre[:, None, :] * (1 - room) + room / 3 if name != "dispersed" else centre[:, None, :]
    truth = np.clip(truth + 0.9 * room * spread, 0, 1)
    truth /= truth.sum(axis=2, keepdims=True)
    return World(np.repeat(z, 4, axis=0), truth.reshape(-1, 3))


WORLDS = ("ideal", "dispersed", "wrong")


def estimates(predicted: np.ndarray, counts: cr.LabelCounts, n_bins: int) -> dict[str, cr.results.Estimate]:
    loss = cr.raters.decompose_loss(predicted, counts, n_bins=n_bins)
    pairs = cr.raters.decompose_disagreement(predicted, counts, n_bins=n_bins)
    found = {name: getattr(loss, name) for name in LOSS}
    return found | {f"disagreement {name}": getattr(pairs, name) for name in DISAGREEMENT}


@pytest.mark.parametrize("n_bins", [3, 15])
@pytest.mark.parametrize("raters", [(2, 2), (5, 5)])
def test_figure_1_of_d21(raters: tuple[int, int], n_bins: int) -> None:
    """Ideal predictor: every epistemic term is 0, and only the debiased ones say so, at every N."""
    rng = np.random.default_rng(1)
    for n in (100, 1000, 10_000):
        repetitions = max(12, REPETITIONS * 100 // n)
        found = {name: [] for name in ("epistemic", "calibration", "dispersion")}
        plugin = {name: [] for name in found}
        for _ in range(repetitions):
            probs = worlds.predictions(n, 3, rng)
            counts = cr.LabelCounts(rng.multinomial(raters[0], probs))
            parts = cr.raters.decompose_loss(probs, counts, n_bins=n_bins)
            for name in found:
                found[name].append(getattr(parts, name).value)
                plugin[name].append(getattr(parts.plugin, name).value)
        for name in found:
            error = np.std(found[name], ddof=1) / repetitions**0.5
            assert abs(np.mean(found[name])) < 4.5 * error, (n, name)
        # the plug-in epistemic loss is IL / raters whatever N: 0.5 / raters for uniform predictions
        assert np.mean(plugin["epistemic"]) == pytest.approx(0.5 / raters[0], rel=0.05)
        assert np.mean(plugin["calibration"]) > 4.5 * np.std(plugin["calibration"]) / repetitions**0.5


@pytest.mark.parametrize("n_bins", [2, 15])
@pytest.mark.parametrize("world", WORLDS)
def test_terms_are_unbiased(world: str, n_bins: int) -> None:
    made, rng = make(world), np.random.default_rng(2)
    values: dict[str, list[float]] = {}
    for _ in range(REPETITIONS):
        for name, estimate in estimates(*made.sample(400, (2, 4), rng), n_bins).items():
            values.setdefault(name, []).append(estimate.value)
    for name, truth in made.estimands(n_bins).items():
        error = np.std(values[name], ddof=1) / REPETITIONS**0.5
        # bins that a sample leaves with one instance take a little calibration loss away
        slack = 0.02 * truth if "calibration" in name or name in ("dispersion", "refinement") else 0.0
        assert abs(np.mean(values[name]) - truth) < 4.5 * error + slack, name


@pytest.mark.parametrize("n_bins", [1, 15])
@pytest.mark.parametrize("world", WORLDS)
def test_intervals_cover(world: str, n_bins: int) -> None:
    made, rng = make(world), np.random.default_rng(3)
    truths = made.estimands(n_bins)
    covered = dict.fromkeys(truths, 0)
    for _ in range(REPETITIONS):
        for name, estimate in estimates(*made.sample(300, (2, 5), rng), n_bins).items():
            refused = estimate.interval_refusal is not None
            assert refused == (n_bins == 1 and "calibration" in name)  # one bin is no normal law
            low, high = (-np.inf, np.inf) if refused else estimate.interval(0.95)
            covered[name] += low <= truths[name] <= high
    low, _ = worlds.bounds(REPETITIONS, 0.93)
    _, high = worlds.bounds(REPETITIONS, 0.97)
    for name, count in covered.items():
        assert count >= low, name
        if "calibration" not in name:  # near calibration these are conservative, see the docs
            assert count <= high, name


def test_intervals_of_classes_and_of_the_class_average_cover() -> None:
    made, rng = make("wrong"), np.random.default_rng(4)
    gaps = squared_gaps(made.predicted, made.truth, 15)
    z, q = 2 * made.predicted * (1 - made.predicted), 2 * made.truth * (1 - made.truth)
    average = squared_gaps(z, q, 15).mean()
    covered, covered_average = np.zeros(3), 0
    for _ in range(REPETITIONS):
        predicted, counts = made.sample(300, (2, 5), rng)
        low, high = cr.raters.decompose_loss(predicted, counts).per_class.calibration.interval()
        covered += (low <= gaps) & (gaps <= high)
        parts = cr.raters.decompose_disagreement(predicted, counts).class_average
        low, high = parts.calibration.interval()
        covered_average += low <= average <= high
    least, _ = worlds.bounds(REPETITIONS, 0.93)
    assert (covered >= least).all()
    assert covered_average >= least


def test_weighting_by_raters_keeps_coverage() -> None:
    """Rater numbers that have nothing to do with the instance: the estimand stays the same."""
    made, rng = make("wrong"), np.random.default_rng(5)
    truths = made.estimands(15)
    covered = dict.fromkeys(LOSS, 0)
    for _ in range(REPETITIONS):
        predicted, counts = made.sample(300, (2, 8), rng)
        parts = cr.raters.decompose_loss(predicted, counts, sample_weight=counts.totals)
        for name in LOSS:
            low, high = getattr(parts, name).interval()
            covered[name] += low <= truths[name] <= high
    least, _ = worlds.bounds(REPETITIONS, 0.93)
    assert min(covered.values()) >= least, covered


def test_full_debiasing_is_right_where_the_papers_is_not() -> None:
    """Two wide bins: eq. 13 takes the spread of the predictions for noise and subtracts it."""
    made, rng = make("ideal"), np.random.default_rng(6)
    repetitions = worlds.repetitions(35, 2000)
    values: dict[str, list[float]] = {"full": [], "paper": []}
    for _ in range(repetitions):
        predicted, counts = made.sample(200, (5, 5), rng)
        for debias, decompose in (("full", cr.raters.decompose_loss), ("paper", d21.decompose_loss)):
            values[debias].append(decompose(predicted, counts, n_bins=2).calibration.value)
    for debias, unbiased in (("full", True), ("paper", False)):
        error = np.std(values[debias], ddof=1) / repetitions**0.5
        assert (abs(np.mean(values[debias])) < 4.5 * error) == unbiased
    assert np.mean(values["paper"]) < 0


def test_one_drawn_rater_keeps_the_level_where_all_of_them_do_not() -> None:
    """Raters of an instance share its truth: as independent draws they reject a calibrated model."""
    rng = np.random.default_rng(8)
    repetitions, rejected = worlds.repetitions(15, 1000), {"one": 0, "all": 0}
    for _ in range(repetitions):
        z = worlds.predictions(100, 3, rng)
        gammas = rng.standard_gamma(5 * z) + 1e-300  # truths spread around their predictions
        counts = cr.LabelCounts(rng.multinomial(10, gammas / gammas.sum(axis=1, keepdims=True)))
        rows = np.repeat(np.arange(100), 10)
        every = np.concatenate([np.repeat(np.arange(3), row) for row in counts.counts])
        for key, probs, labels in (("one", z, counts.draw(rng)), ("all", z[rows], every)):
            result = cr.calibration_test(probs, labels, statistics="classwise_ece", n_resamples=99, rng=rng)
            rejected[key] += result.rejects(0.05)
    assert rejected["one"] <= worlds.bounds(repetitions, 0.05)[1]
    assert rejected["all"] > repetitions / 2
