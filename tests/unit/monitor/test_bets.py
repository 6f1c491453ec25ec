"""Every bet pays at most 1 on average, whatever law the predictions allow: checked outcome by outcome."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats

import credibly as cr
from credibly.monitor.bets import _POWERS, Book, Payoffs
from credibly.predictions import Dataset, PredictionIntervals, Predictions, as_rows

SEED = (1, 2)


def payoffs(
    predictions: Predictions, labels: object, hypothesis: str | None = None, **more: object
) -> Payoffs:
    data: Dataset = as_rows(predictions, labels).example
    return Book.of(data.predictions, hypothesis).payoffs(data, SEED, None, **more)


def every_class(predictions: Predictions, hypothesis: str | None = None) -> np.ndarray:
    """What every bet pays on each row for each class, (a, n, k)."""
    k, n = predictions.n_classes, len(predictions)  # type: ignore[attr-defined]
    return np.stack([np.exp(payoffs(predictions, np.full(n, j), hypothesis).logs) for j in range(k)], axis=2)


@pytest.mark.parametrize("k", [2, 3, 7, 30])
def test_bets_on_classes_are_fair(k: int) -> None:
    probs = np.random.default_rng(0).dirichlet(np.full(k, 0.5), size=6)
    paid = every_class(cr.Point(probs))
    assert len(paid) == len(Book.of(cr.Point(probs), None).bets)
    assert np.allclose((paid * probs).sum(axis=2), 1.0)
    bets = [at for at, bet in enumerate(Book.of(cr.Point(probs), None).bets) if bet.family != "confidence"]
    assert np.ptp(paid[bets], axis=2).max(axis=1).min() > 0  # a range of confidence may be empty


def test_powers_are_those_that_their_factors_make() -> None:
    probs = np.array([[0.7, 0.2, 0.1]])
    paid = every_class(cr.Point(probs))[:, 0, :]
    for row, power in enumerate(_POWERS):
        assert np.allclose(paid[row], probs[0] ** (power - 1) / (probs[0] ** power).sum())


def test_a_label_that_cannot_be_is_counted_and_bets_nothing() -> None:
    paid = payoffs(cr.Point([[1.0, 0.0], [0.5, 0.5]]), np.array([1, 1]))
    assert paid.impossible.tolist() == [True, False]
    assert (paid.logs[:, 0] == 0).all()
    assert (paid.logs[:, 1] != 0).any()


@pytest.mark.parametrize("kind", ["ensemble", "intervals", "belief", "dirichlet"])
def test_no_law_in_the_set_gains_on_average(kind: str) -> None:
    rng = np.random.default_rng(3)
    members = rng.dirichlet(np.ones(3), size=(40, 4))
    focal = [{0}, {1}, {2}, {0, 1}, {1, 2}, {0, 1, 2}]
    masses = rng.dirichlet(np.ones(6), size=40)
    sets: dict[str, Predictions] = {
        "ensemble": cr.Ensemble(members),
        "intervals": cr.Ensemble(members).to_intervals(),
        "belief": cr.Belief(masses, focal),
        "dirichlet": cr.Dirichlet(1.0 + rng.random((40, 3)) * 4),
    }
    paid = every_class(sets[kind], "set")
    if kind == "belief":
        shares = [rng.dirichlet(np.ones(len(one)), size=(50, 40)) for one in focal]
        laws = np.zeros((50, 40, 3))
        for column, (members_of, share) in enumerate(zip(focal, shares, strict=True)):
            laws[:, :, sorted(members_of)] += masses[:, column, None] * share
    elif kind == "dirichlet":
        drawn = sets[kind].sample(30, rng=SEED).probs  # type: ignore[attr-defined]
        laws = np.moveaxis(drawn, 1, 0)
    else:
        laws = np.einsum("bm,nmk->bnk", rng.dirichlet(np.full(4, 0.3), size=50), members)
        laws = np.concatenate([laws, np.moveaxis(members, 1, 0)])
    gains = np.einsum("ank,bnk->abn", paid, laws)
    assert gains.max() <= 1.0 + 1e-9
    assert gains.max(axis=(1, 2)).min() > 0.9  # no bet is weaker than it must be


@pytest.mark.parametrize("levels", [[0.5], [0.1, 0.5, 0.9], np.arange(1, 20) / 20])
def test_bets_on_cells_between_quantiles_are_fair(levels: object) -> None:
    heights = np.asarray(levels)
    table = np.tile(np.arange(len(heights), dtype=float), (len(heights) + 1, 1))
    labels = np.arange(len(heights) + 1) - 0.5  # one row per cell
    paid = np.exp(payoffs(cr.Quantiles(table, heights), labels).logs)
    assert np.allclose(paid @ np.diff(heights, prepend=0.0, append=1.0), 1.0)


@pytest.mark.parametrize("zeros", [0.0, 0.3, 0.62])
def test_quantiles_of_counts_pay_at_most_1_on_average(zeros: float) -> None:
    counts = np.arange(40.0)
    chances = (1.0 - zeros) * scipy.stats.poisson(1.7).pmf(counts)
    chances[0] += zeros
    heights = np.array([0.05, 0.25, 0.5, 0.75, 0.95])
    quantiles = np.searchsorted(chances.cumsum(), heights).astype(float)  # several equal 0, labels too
    paid = np.exp(payoffs(cr.Quantiles(np.tile(quantiles, (40, 1)), heights), counts).logs)
    assert (paid @ chances).max() <= 1.0 + 1e-9


def test_bets_on_gaussians_are_fair() -> None:
    levels = (np.arange(200_000) + 0.5) / 200_000
    labels = cr.Gaussian([2.0], [3.0]).quantile(levels)[0]
    paid = payoffs(cr.Gaussian(np.full(200_000, 2.0), np.full(200_000, 3.0)), labels)
    assert np.allclose(np.exp(paid.logs).mean(axis=1), 1.0, atol=2e-3)  # cells hold whole numbers of points
    assert np.allclose(paid.observed.mean(axis=1), paid.expected.mean(axis=1), atol=1e-4)


def test_a_label_and_its_draws_can_be_exchanged() -> None:
    pool = np.array([0.3, 1.0, 1.0, 2.0, 2.0, 2.0, 5.0])  # with ties
    draws = np.stack([np.delete(pool, at) for at in range(len(pool))])
    paid = np.exp(payoffs(cr.Samples(draws, member_axis=1), pool).logs)
    assert np.allclose(paid.mean(axis=1), 1.0)


def test_drawn_classes_and_their_label_can_be_exchanged() -> None:
    pool = np.array([0, 0, 1, 1, 1, 2])
    votes = np.stack([np.eye(3)[np.delete(pool, at)] for at in range(len(pool))])
    paid = payoffs(cr.Ensemble(votes), pool)
    assert not paid.impossible.any()
    assert np.allclose(np.exp(paid.logs).mean(axis=1), 1.0)


def test_bets_on_coverage_are_fair() -> None:
    sets = cr.PredictionSets([[True, False], [True, False]], 0.9)
    paid = np.exp(payoffs(sets, np.array([0, 1])).logs)
    assert np.allclose(paid @ [0.9, 0.1], 1.0)
    ends = PredictionIntervals([0.0, 0.0], [1.0, 1.0], 0.9)
    assert np.allclose(np.exp(payoffs(ends, np.array([0.5, 2.0])).logs), paid)


def test_several_raters_pay_the_mean_of_their_labels() -> None:
    probs = np.array([[0.5, 0.3, 0.2]])
    counts = cr.LabelCounts([[3, 1, 0]])
    each = every_class(cr.Point(probs))[:, 0, :]
    paid = np.exp(payoffs(cr.Point(probs), counts).logs)[:, 0]
    assert np.allclose(paid, 0.75 * each[:, 0] + 0.25 * each[:, 1])
    both = cr.Intervals([[0.3, 0.2, 0.1]], [[0.6, 0.4, 0.3]])
    each = every_class(both)[:, 0, :]
    assert np.allclose(np.exp(payoffs(both, counts).logs)[:, 0], 0.75 * each[:, 0] + 0.25 * each[:, 1])


def test_one_member_that_draws_all_labels_pays_1_on_average() -> None:
    # two members, three rows, two classes: all 8 label vectors, each with the probability of the mixture
    probs = np.array([[[0.9, 0.1], [0.4, 0.6]], [[0.7, 0.3], [0.2, 0.8]], [[0.6, 0.4], [0.1, 0.9]]])
    ensemble = cr.Ensemble(probs)
    book = Book.of(ensemble, "bayesian")
    total, mass = 0.0, 0.0
    for code in range(8):
        labels = np.array([code >> at & 1 for at in range(3)])
        chance = np.prod(probs[np.arange(3), :, labels], axis=0).mean()
        posterior = np.zeros(2)
        paid = book.payoffs(as_rows(ensemble, labels).example, SEED, posterior)
        total += chance * np.exp(paid.logs.sum(axis=1))
        mass += chance
        if code == 0:
            # 0.9 0.7 0.6 against 0.4 0.2 0.1
            assert np.allclose(np.exp(posterior[1] - posterior[0]), 0.008 / 0.378)
    assert mass == pytest.approx(1.0)
    assert np.allclose(total, 1.0)


def test_many_classes_are_bet_on_by_those_that_are_predicted_most() -> None:
    probs = np.random.default_rng(0).dirichlet(np.linspace(0.1, 2.0, 50), size=200)
    tilted = Book.of(cr.Point(probs), None).tilted
    assert len(tilted) == 20
    assert set(tilted) == set(np.argsort(-probs.sum(axis=0))[:20].tolist())


@pytest.mark.parametrize(
    ("predictions", "hypothesis"),
    [
        (cr.Point([[0.5, 0.5]]), "set"),
        (cr.Dirichlet([[1.0, 2.0]]), "bayesian"),
        (cr.Gaussian([0.0], [1.0]), "set"),
    ],
)
def test_a_hypothesis_that_a_kind_has_not_is_refused(predictions: Predictions, hypothesis: str) -> None:
    with pytest.raises(cr.UnsupportedError, match=f'hypothesis="{hypothesis}"'):
        Book.of(predictions, hypothesis)
