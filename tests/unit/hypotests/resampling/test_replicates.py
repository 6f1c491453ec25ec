"""Labels drawn from predictions: right frequencies, and no tile, order or device changes one."""

from __future__ import annotations

from fractions import Fraction

import array_api_strict
import numpy as np
import pytest
import scipy.stats

from credibly._arrays.namespace import to_host
from credibly._arrays.philox import Stream, Uniforms, as_seed
from credibly.hypotests.resampling.replicates import Replicates, _steps
from optional import torch

SEED = as_seed(3)


def draw(probs, reps: int) -> np.ndarray:
    return to_host(Replicates(probs, SEED).labels(slice(0, reps)).values)


def test_frequencies_follow_the_probabilities() -> None:
    probs = np.array([[0.5, 0.3, 0.2], [0.05, 0.05, 0.9], [1 / 3, 1 / 3, 1 / 3]])
    drawn = draw(probs, 6000)
    for column, row in zip(drawn.T, probs, strict=True):
        counts = np.bincount(column, minlength=3)
        assert scipy.stats.chisquare(counts, 6000 * row).pvalue > 1e-3


def test_instances_and_replicates_are_independent() -> None:
    drawn = draw(np.full((2, 2), 0.5), 6001)
    for first, second in ((drawn[:, 0], drawn[:, 1]), (drawn[:-1, 0], drawn[1:, 0])):
        table = np.histogram2d(first, second, bins=2)[0]
        assert scipy.stats.chi2_contingency(table).pvalue > 1e-3


def test_impossible_classes_are_never_drawn_and_certain_ones_always() -> None:
    probs = np.array([[0.0, 0.5, 0.0, 0.5, 0.0], [0.0, 0.0, 1.0, 0.0, 0.0]])
    drawn = draw(probs, 500)
    assert set(drawn[:, 0].tolist()) == {1, 3}
    assert set(drawn[:, 1].tolist()) == {2}


def test_rows_that_sum_to_a_little_less_than_one_draw_no_extra_class() -> None:
    probs = np.full((1, 3), (1 - 9e-7) / 3)
    assert _steps(probs)[:, 0].tolist() == pytest.approx([1 / 3, 2 / 3], abs=1e-15)
    assert set(draw(probs, 300)[:, 0].tolist()) == {0, 1, 2}


def test_few_classes_by_the_definition_in_whole_numbers() -> None:
    """label = #{steps <= u}, u = (piece + rest) / 2^16, compared as fractions, so without rounding."""
    rng = np.random.default_rng(0)
    n, reps = 1500, 25
    probs = rng.dirichlet(np.ones(6), size=n)
    probs[::5] = [0.25, 0.25, 0.0, 0.5, 0.0, 0.0]  # steps that a piece can hit exactly
    own = Replicates(probs, SEED)
    pieces = np.empty((reps, n), dtype=np.uint16)
    for d, row in enumerate(pieces):
        Uniforms(SEED, Stream.PIECES).fill_pieces(row, d, 0)
    rests = Uniforms(SEED, Stream.RESTS).draw(slice(0, reps), slice(0, n))
    steps, drawn = _steps(probs), own.labels(slice(0, reps)).values
    scaled = steps[:, None, :] * 2.0**16  # (k - 1, 1, n); a power of two: exact
    close = (np.abs(scaled - pieces) <= 1).any(axis=0)
    assert (drawn == (pieces > scaled).sum(axis=0))[~close].all()
    ties = 0
    for d, i in zip(*np.nonzero(close), strict=True):
        u = Fraction(int(pieces[d, i])) + Fraction(float(rests[d, i]))
        assert drawn[d, i] == sum(u >= Fraction(float(step)) for step in scaled[:, 0, i])
        ties += bool((np.floor(scaled[:, 0, i]) == pieces[d, i]).any())
    assert ties > 1  # the rest was needed at least twice


@pytest.mark.parametrize("k", [49, 50, 64, 65, 66, 128, 1000])
def test_many_classes_are_found_by_bisection_as_by_comparison(k: int) -> None:
    probs = np.random.default_rng(k).dirichlet(np.full(k, 0.05), size=40)
    probs[:, ::3] = 0  # exact repeats of the cumulative sum
    probs /= probs.sum(axis=1, keepdims=True)
    uniform = Uniforms(SEED, Stream.RESTS).draw(slice(0, 20), slice(0, 40))
    by_comparison = (uniform[None, :, :] >= _steps(probs)[:, None, :]).sum(axis=0)
    assert np.array_equal(draw(probs, 20), by_comparison)


def test_any_window_is_a_window_of_the_whole() -> None:
    probs = np.random.default_rng(1).dirichlet(np.ones(4), size=37)
    whole = draw(probs, 30)
    for reps, rows in (
        (slice(0, 1), slice(0, 37)),
        (slice(7, 12), slice(5, 6)),
        (slice(29, 30), slice(3, 30)),
    ):
        own = Replicates(probs[rows], SEED, rows.start)
        assert np.array_equal(own.labels(reps).values, whole[reps, rows])


@pytest.mark.parametrize("start", [0, 1, 2, 3, 4, 17])
def test_a_chunk_draws_what_the_whole_draws_there(start: int) -> None:
    probs = np.random.default_rng(2).dirichlet(np.ones(4), size=37)
    chunk = Replicates(probs[start:], SEED, first_row=start).labels(slice(0, 9))
    assert np.array_equal(chunk.values, draw(probs, 9)[:, start:])


def test_the_array_library_does_not_matter() -> None:
    probs = np.random.default_rng(3).dirichlet(np.ones(4), size=25)
    own = draw(probs, 11)
    for given in (
        torch.tensor(probs),
        array_api_strict.asarray(probs),
        array_api_strict.asarray(probs, device=array_api_strict.Device("device1")),
    ):
        labels = Replicates(given, SEED).labels(slice(0, 11))
        assert type(labels.values) is type(given)
        assert str(labels.values.device) == str(given.device)
        assert np.array_equal(to_host(labels.values), own)
