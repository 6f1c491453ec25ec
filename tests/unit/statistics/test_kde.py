"""KDE and KL calibration errors against loops over SciPy's Dirichlet density, and at the corners."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import dirichlet

import credibly as cr
import kernel_oracles as oracle
from credibly.predictions import Classes
from credibly.statistics.kernels import flushed
from credibly.statistics.pairwise import in_single_precision
from credibly.statistics.smoother import (
    BANDWIDTHS,
    kernel_keys,
    kernel_logs,
    leave_one_out_likelihoods,
    likelihood_bandwidth,
)
from optional import torch
from strategies import points
from validity import worlds


@pytest.mark.parametrize("k", [2, 3, 6])
@pytest.mark.parametrize("bandwidth", [0.02, 0.3])
@pytest.mark.parametrize("p", [1, 2, 3.5])
def test_double_loop(p: float, bandwidth: float, k: int) -> None:
    probs, labels = oracle.example(17, k)
    value = float(cr.kde_ce(probs, labels, p=p, bandwidth=bandwidth))
    assert value == pytest.approx(oracle.kde_ce(probs, labels, bandwidth, p), rel=1e-10)


@pytest.mark.parametrize("k", [2, 3, 6])
@pytest.mark.parametrize("bandwidth", [0.02, 0.3])
def test_double_loop_of_the_divergence(bandwidth: float, k: int) -> None:
    probs, labels = oracle.example(17, k)
    value = float(cr.kl_ce(probs, labels, bandwidth=bandwidth))
    assert value == pytest.approx(oracle.kl_ce(probs, labels, bandwidth), rel=1e-10)


def test_two_instances_learn_from_each_other() -> None:
    # E[y | f_0] = e_1 and E[y | f_1] = e_0
    probs = np.array([[0.9, 0.1], [0.2, 0.8]])
    expected = math.sqrt((2 * 0.9**2 + 2 * 0.8**2) / 2)
    assert float(cr.kde_ce(probs, [0, 1], bandwidth=0.1)) == pytest.approx(expected)
    divergence = (-math.log(0.1) - math.log(0.2)) / 2
    assert float(cr.kl_ce(probs, [0, 1], bandwidth=0.1)) == pytest.approx(divergence)


def test_log_density_is_that_of_scipy() -> None:
    probs, _ = oracle.example(6, 4)
    queries, zeros = kernel_logs(probs)
    keys = kernel_keys(probs, 0.1)
    assert zeros is None
    for j in range(6):
        for i in range(6):
            expected = dirichlet.logpdf(probs[j], probs[i] / 0.1 + 1)
            assert queries[j] @ keys[i][:-1] + keys[i][-1] == pytest.approx(expected, rel=1e-12)


@pytest.mark.slow
def test_likelihood_bandwidth_is_the_best_of_the_grid() -> None:
    probs = np.random.default_rng(0).dirichlet([6.0, 3.0, 1.0], size=20)
    scores = []
    for bandwidth in BANDWIDTHS:
        total = 0.0
        for j in range(20):
            density = [dirichlet.pdf(probs[j], probs[i] / bandwidth + 1) for i in range(20) if i != j]
            total += math.log(np.mean(density)) if sum(density) > 0 else -math.inf
        scores.append(total / 20)
    found, notes = likelihood_bandwidth(probs)
    assert found == BANDWIDTHS[int(np.argmax(scores))]
    finite = np.isfinite(scores)
    np.testing.assert_allclose(
        leave_one_out_likelihoods(probs, BANDWIDTHS)[finite], np.array(scores)[finite], rtol=1e-9
    )
    assert notes == (
        f"bandwidth {found:.4g} has the largest leave-one-out likelihood of 20 distinct predictions",
    )
    assert cr.kde_ce(probs, [0] * 20).settings["bandwidth"] == found


def test_bandwidth_at_the_end_of_the_grid_is_noted_and_duplicates_do_not_pull_it_down() -> None:
    flat = np.random.default_rng(0).dirichlet(np.ones(3), size=60)
    value = cr.kde_ce(flat, [0] * 60)
    assert value.settings["bandwidth"] == 1.0
    assert "it is the largest of the grid 0.0001 to 1" in value.notes
    twice = cr.kde_ce(np.concatenate([flat, flat]), [0] * 120)
    assert twice.settings["bandwidth"] == 1.0
    same = cr.kde_ce([[0.5, 0.5]] * 3, [0, 1, 1])
    assert "all predictions are equal" in same.notes[0]


def test_bandwidth_rule_looks_at_a_thousand_rows_of_many() -> None:
    probs = np.random.default_rng(0).dirichlet([4.0, 2.0], size=5000)
    _, notes = likelihood_bandwidth(probs)
    assert "1000 distinct predictions" in notes[0]


# Corners


def test_isolated_predictions_still_have_neighbours() -> None:
    # densities underflow to 0 in every row; the shifted logarithms do not
    probs = np.array([[1 - 1e-9, 1e-9], [0.5, 0.5], [1e-9, 1 - 1e-9]])
    value = float(cr.kde_ce(probs, [0, 1, 1], bandwidth=1e-4))
    assert math.isfinite(value)
    # rows 0 and 2 learn from row 1 (class 1); row 1 from both ends, which are equally far: (.5, .5)
    gaps = 2 * (1 - 1e-9) ** 2 + 0.0 + 2 * 1e-18
    assert value == pytest.approx(math.sqrt(gaps / 3), rel=1e-9)


def test_zeros_and_ones_are_counted_not_hidden() -> None:
    probs = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0], [0.0, 1.0]])
    value = cr.kde_ce(probs, [0, 1, 0, 1], bandwidth=0.1)
    assert float(value) == 0.0  # neighbours at the same corner have the same label
    assert any("4 of 8 probabilities are 0" in note for note in value.notes)
    assert float(cr.kl_ce(probs, [0, 1, 0, 1], bandwidth=0.1)) == 0.0


def boundary_loop(probs: np.ndarray, labels: np.ndarray, h: float) -> tuple[float, float]:
    """CE_2 and CE_KL by a double loop over SciPy's densities on the faces that rows share."""
    squares, divergences = [], []
    for j, at in enumerate(probs):
        inside = at > 0
        weights = np.zeros(len(probs))
        for i, of in enumerate(probs):
            if i != j and not (of[~inside] > 0).any():  # 0^0 = 1 where both are 0, else 0^(f / h) = 0
                # the density at a zero with parameter 1: a limit that stays off the boundary
                lifted = np.where(inside, at, 1e-300)
                weights[i] = np.exp(dirichlet.logpdf(lifted / lifted.sum(), of / h + 1))
        if not weights.any():
            continue
        estimate = np.eye(len(at))[labels].T @ weights / weights.sum()
        squares.append(((estimate - at) ** 2).sum())
        seen = estimate > 0
        divergences.append(
            (estimate[seen] * np.log(estimate[seen] / at[seen])).sum() if inside[seen].all() else math.inf
        )
    return math.sqrt(np.mean(squares)), float(np.mean(divergences))


@pytest.mark.parametrize("library", [np.asarray, torch.tensor])
@pytest.mark.parametrize("digits", [1, 2])
def test_zeros_have_exact_weights(digits: int, library: Any) -> None:
    probs = np.round(np.random.default_rng(0).dirichlet(np.full(4, 0.4), size=30), digits)
    probs = probs / probs.sum(axis=1, keepdims=True)
    labels = probs.argmax(axis=1)
    assert (probs == 0).any()
    root, divergence = boundary_loop(probs, labels, 0.1)
    settings = {"bandwidth": 0.1}
    assert float(cr.kde_ce(library(probs), library(labels), **settings)) == pytest.approx(root, rel=1e-9)
    assert float(cr.kl_ce(library(probs), library(labels), **settings)) == pytest.approx(divergence, rel=1e-9)
    # weights equal repetition here too, with rows left out
    weights = np.arange(30) % 3
    for statistic in (cr.kde_ce, cr.kl_ce):
        repeated = statistic(probs.repeat(weights, axis=0), labels.repeat(weights), **settings)
        estimate = statistic(probs, labels, sample_weight=weights, **settings)
        assert float(estimate) == pytest.approx(float(repeated), rel=1e-9)


def test_a_row_with_zeros_of_its_own_is_left_out_and_said() -> None:
    probs = np.array([[0.5, 0.5, 0.0], [0.4, 0.3, 0.3], [0.3, 0.3, 0.4]])
    value = cr.kde_ce(probs, [0, 0, 1], bandwidth=0.1)
    # row 0 would learn from none; rows 1 and 2 learn from row 0 too
    assert "left out: 1 instance has no neighbour with the same zeros" in value.notes
    assert math.isfinite(float(cr.kl_ce(probs, [2, 0, 1], bandwidth=0.1)))
    with pytest.raises(cr.InputError, match="no two have the same zeros"):
        cr.kde_ce([[1.0, 0.0], [0.0, 1.0]], [0, 1], bandwidth=0.1)
    # beside a sum of 1 a probability of 1e-17 is none
    saturated = np.array([[1.0, 0.0], [1.0, 1e-17], [0.5, 0.5]])
    assert not any("left out" in note for note in cr.kde_ce(saturated, [0, 0, 1], bandwidth=0.1).notes[2:])


@pytest.mark.parametrize("digits", worlds.DIGITS)
def test_rounded_predictions_are_rejected_as_full_ones_are(digits: int) -> None:
    """With log 0 read as log 2e-308 the p-values were .99, .83, .71 and .61: all replicates were infinite."""
    probs, labels = worlds.rounded(digits, overconfidence=3.0)(0)
    full, _ = worlds.rounded(None, overconfidence=3.0)(0)
    settings = {"statistics": cr.kl_ce.with_(bandwidth=0.1), "n_resamples": 199, "rng": 0}
    result = cr.calibration_test(probs, labels, **settings)
    assert cr.calibration_test(full, labels, **settings).pvalue == 1 / 200
    assert result.pvalue == 1 / 200
    assert np.isfinite(result.null_distribution).all()  # what is impossible is not drawn


def test_divergence_is_infinite_where_it_is() -> None:
    probs = np.array([[1.0, 0.0], [1.0, 0.0], [0.5, 0.5]])
    value = cr.kl_ce(probs, [0, 1, 0], bandwidth=0.1)  # row 0 learns class 1 from row 1
    assert float(value) == math.inf
    assert any("infinite: 2 predicted probabilities are 0" in note for note in value.notes)
    clipped = float(cr.kl_ce(probs, [0, 1, 0], bandwidth=0.1, clip=1e-6))
    assert 0 < clipped < 10
    # weight zero: row 1 is not there, so nobody has learnt class 1
    assert math.isfinite(float(cr.kl_ce(probs, [0, 1, 0], bandwidth=0.1, sample_weight=[1, 0, 1])))


@pytest.mark.slow
@given(points(k=3), st.sampled_from([1e-3, 0.1, 2.0]), st.integers(0, 2**31))
def test_never_nan(point: cr.Point, bandwidth: float, seed: int) -> None:
    if len(point) < 2:
        return
    labels = np.random.default_rng(seed).integers(0, 3, size=len(point))
    for statistic in (cr.skce, cr.mmd_ce, cr.kde_ce, cr.kl_ce):
        assert not math.isnan(float(statistic(point, labels, bandwidth=bandwidth)))
        assert not math.isnan(float(statistic(point, labels)))
    # a mean over instances of at most 2
    assert 0 <= float(cr.kde_ce(point, labels, bandwidth=bandwidth, p=1)) <= 2 + 1e-12
    assert float(cr.kl_ce(point, labels, bandwidth=bandwidth)) >= -1e-5 * 3  # rows sum to 1 within 1e-6


@pytest.mark.parametrize("statistic", [cr.kde_ce, in_single_precision(cr.kde_ce)])
def test_many_classes_at_a_corner(statistic: cr.Statistic) -> None:
    # exponentials of unshifted logarithms overflow float32 here from 20 classes on
    rng = np.random.default_rng(0)
    probs = rng.dirichlet(np.full(1000, 0.005), size=30)
    labels = rng.integers(0, 1000, size=30)
    value = float(statistic(probs, labels, bandwidth=0.01))
    assert 0 < value < math.sqrt(2)


@pytest.mark.parametrize("name", ["kde_ce", "kl_ce"])
def test_single_precision_is_within_its_rounding(name: str) -> None:
    probs, labels = oracle.example(300, 5)
    statistic = cr.statistics.registered()[name]
    double = float(statistic(probs, labels, bandwidth=0.02))
    single = float(in_single_precision(statistic)(probs, labels, bandwidth=0.02))
    # 300 weights, each rounded to a multiple of 2^-23 = 1.2e-7
    assert single == pytest.approx(double, rel=1e-5)
    assert single != double


@pytest.mark.parametrize("name", ["kde_ce", "kl_ce"])
def test_equal_frequencies_tie_in_single_precision(name: str) -> None:
    rng = np.random.default_rng(0)
    probs = np.repeat(rng.dirichlet(np.ones(4), size=3), 40, axis=0)
    labels = rng.integers(0, 4, size=120)
    orders = [
        np.lexsort((rng.random(120), np.arange(120) // 40)) for _ in range(20)
    ]  # within equal predictions
    single = in_single_precision(cr.statistics.registered()[name])
    values = [float(single(probs, labels[order], bandwidth=0.05)) for order in orders]
    assert np.ptp(values) < 1e-14  # differences of 1e-8 where weights are not rounded


def test_denormal_weights_are_flushed_and_nothing_else() -> None:
    for dtype, least in ((np.float64, 1e-292), (np.float32, 9.9e-32)):
        weights = np.array([0.0, 1e-40, 2 * least, 0.5 * least, 1.0], dtype=dtype)
        kept = flushed(weights.copy())
        assert (kept == np.where(weights < least, 0, weights)).all()
        assert (np.asarray(flushed(torch.tensor(weights))) == kept).all()
    probs = np.random.default_rng(0).dirichlet(np.ones(5), size=50)
    bound = cr.kde_ce.bind(probs, bandwidth=1e-3)
    tile = bound.tile(slice(0, 50), bound, 0, None)
    assert (tile.weights.diagonal() == 0).all()
    assert ((tile.weights == 0) | (tile.weights > 1e-292)).all()
    assert (tile.weights == 0).sum() > 100  # the case is one where flushing matters
    assert (tile.weights.max(axis=1) == 1).all()


# Batches, tiles, multiplicities


@pytest.mark.parametrize("name", ["kde_ce", "kl_ce"])
@pytest.mark.parametrize("weighted", [False, True])
def test_tiles_equal_whole(name: str, weighted: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    from credibly.statistics import pairwise

    probs, _ = oracle.example(120, 3)
    rng = np.random.default_rng(4)
    weights = rng.integers(0, 4, size=(1, 120)).astype(float) if weighted else None
    labels = Classes(rng.integers(0, 3, size=(7, 120)).astype(np.uint8), 3, weights)
    statistic = cr.statistics.registered()[name].with_(bandwidth=0.05)
    whole = statistic.bind(probs)(labels)
    monkeypatch.setattr(pairwise.PairBound, "_replicates_per_batch", lambda self, columns: 3)
    monkeypatch.setattr(pairwise.PairBound, "_rows_per_tile", lambda self, *given: 50)
    for keep in (True, False):
        monkeypatch.setattr(pairwise.PairBound, "_keeps_tiles", lambda self, keep=keep: keep)
        np.testing.assert_allclose(statistic.bind(probs)(labels), whole, rtol=1e-12)


def test_multiplicities_leave_one_copy_out() -> None:
    probs, labels = oracle.example(9, 3)
    weights = np.array([3, 0, 1, 2, 1, 0, 5, 1, 1])
    for name in ("kde_ce", "kl_ce"):
        statistic = cr.statistics.registered()[name].with_(bandwidth=0.05)
        expected = float(statistic(probs.repeat(weights, axis=0), labels.repeat(weights)))
        assert float(statistic(probs, labels, sample_weight=weights)) == pytest.approx(expected, rel=1e-11)
    plain = float(cr.kde_ce(probs, labels, bandwidth=0.05))
    bound = cr.kde_ce.bind(probs, bandwidth=0.05)
    both = Classes(labels[None].astype(np.uint8), 3, weights[None].astype(float))
    bound(both)  # a weighted call must leave nothing behind
    assert bound(Classes(labels[None].astype(np.uint8), 3))[0] == pytest.approx(plain, rel=1e-14)


def test_rows_whose_weights_vanish_are_found_again() -> None:
    # seen from row 0, its twin (row 1, weight zero) is so much nearer that rows 2 and 3 vanish next to it
    probs = np.array([[0.98, 0.02], [0.98, 0.02], [0.3, 0.7], [0.1, 0.9]])
    labels, weights = np.array([0, 0, 1, 0]), np.array([1, 0, 1, 1])
    kept = weights > 0
    for bandwidth in (1e-4, 1e-3):
        expected = float(cr.kde_ce(probs[kept], labels[kept], bandwidth=bandwidth))
        value = float(cr.kde_ce(probs, labels, bandwidth=bandwidth, sample_weight=weights))
        assert value == pytest.approx(expected, rel=1e-9)
    bound = cr.kde_ce.bind(probs, bandwidth=1e-4)
    tile = bound.tile(slice(0, 4), bound, 0, None)
    assert tile.weights[0] @ weights == 0  # the case is the one it claims to be
    with pytest.raises(cr.InputError, match="only one instance has a positive weight"):
        cr.kde_ce(probs, labels, bandwidth=1e-3, sample_weight=[1, 0, 0, 0])


def test_gradient_goes_through_both_logarithms() -> None:
    probs, labels = oracle.example(7, 3)
    batch = Classes(torch.tensor(labels[None].astype(np.uint8)), 3)
    for statistic in (cr.kl_ce.with_(bandwidth=0.1), cr.kde_ce.with_(bandwidth=0.1, p=1)):
        logits = torch.tensor(np.log(probs), requires_grad=True)

        def value(values: torch.Tensor, statistic=statistic) -> torch.Tensor:
            return statistic.bind(cr.Point(torch.softmax(values, dim=1)))(batch)

        assert torch.autograd.gradcheck(value, (logits,), fast_mode=True)


@pytest.mark.parametrize(
    ("statistic", "settings", "message"),
    [
        ("kde_ce", {"p": 0.5}, "`p` must be at least 1"),
        ("kde_ce", {"p": math.inf}, "`p` must be at least 1 and finite"),
        ("kde_ce", {"bandwidth": "median"}, "`bandwidth` must be one of 'likelihood'"),
        ("kl_ce", {"bandwidth": 0}, "`bandwidth` must be positive or 'likelihood'"),
        ("kl_ce", {"clip": 1.0}, "`clip` must be at least 0 and below 1"),
    ],
)
def test_bad_settings(statistic: str, settings: dict, message: str) -> None:
    with pytest.raises(cr.InputError, match=message):
        cr.statistics.registered()[statistic].with_(**settings)


def test_no_interval() -> None:
    probs, labels = oracle.example(20, 3)
    with pytest.raises(cr.UnsupportedError, match="bias it upwards near calibration"):
        cr.kde_ce(probs, labels).interval()
